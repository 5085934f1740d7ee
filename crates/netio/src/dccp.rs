//! Sockets of the kernel's own DCCP, which Linux had from 2.6.14 to 6.15
//! (`Documentation/networking/dccp.rst` of its source). The operations of these sockets never
//! block.
#![allow(unsafe_code, reason = "socket, bind, connect, listen, accept, socket options")]

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::name::{NAME_BYTES, SocketAddressBuffer};
use crate::socket_option::SocketOptions;
use crate::{NetError, check, memory};

/// Longest time in seconds for which closing a DCCP socket waits until the send queue is empty
/// (`SO_LINGER`, `socket(7)`).
const LINGER_S: libc::c_int = 5;
/// Size of a DCCP socket's receive buffer in bytes of kernel memory, enough for thousands of
/// datagrams. The kernel drops datagrams that a reader is too slow for, and its congestion controls
/// do not slow the sender down before.
const RECEIVE_BUFFER_BYTES: libc::c_int = 8 << 20;

/// Options of a DCCP connection that the kernel needs before the connection exists.
#[derive(Clone, Debug, Default)]
pub struct DccpOptions {
    /// Service code of the DCCP connection (RFC 4340 §8.1.2).
    pub service_code: u32,
    /// Congestion control identifiers (CCIDs) for sent data, in descending preference; the kernel's
    /// choice if empty.
    pub tx_ccids: Vec<u8>,
    /// Congestion control identifiers (CCIDs) for received data, in descending preference; the
    /// kernel's choice if empty.
    pub rx_ccids: Vec<u8>,
    /// Checksum coverage of sent DCCP packets (RFC 4340 §9.2), 0 to 15.
    pub send_coverage: u8,
    /// Least checksum coverage of received DCCP packets (RFC 4340 §9.2.1), 0 to 15.
    pub minimum_coverage: u8,
    /// Largest number of datagrams that wait in the DCCP socket to be sent; the kernel's number if
    /// absent, no bound if 0.
    pub send_queue_len: Option<u32>,
}

/// State of a sender with CCID 3: `struct tfrc_tx_info` in `linux/tfrc.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct TfrcInfo {
    /// Allowed sending rate and rate at the receiver, in units of 1/64 byte per second.
    rates: [u64; 2],
    /// Rate by the throughput equation, in bytes per second.
    calculated_rate: u32,
    rtt_us: u32,
    /// Loss event rate in millionths, timeout and interval between packets in microseconds.
    others: [u32; 3],
}

/// Non-blocking DCCP socket: a listener, or one end of a connection. Closing the socket first sends
/// the datagrams in its queue, for five seconds at most.
#[derive(Debug)]
pub struct DccpSocket {
    fd: OwnedFd,
}

impl DccpSocket {
    /// Opens a DCCP socket of the address family of `address`.
    ///
    /// # Errors
    ///
    /// The step that failed, and its object. `ESOCKTNOSUPPORT` or `EPROTONOSUPPORT`: this kernel
    /// has no DCCP ([`is_absent`]).
    fn open(address: SocketAddr, options: &DccpOptions) -> Result<Self, NetError> {
        let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let kind = libc::SOCK_DCCP | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers; the result is checked.
        let raw = check(unsafe { libc::socket(family, kind, libc::IPPROTO_DCCP) })
            .map_err(NetError::on("open", "a kernel DCCP socket"))?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        let socket = Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } };
        socket.configure(options)?;
        Ok(socket)
    }

    fn configure(&self, options: &DccpOptions) -> Result<(), NetError> {
        let number = |value: u32| value.to_ne_bytes().to_vec();
        let mut wanted = vec![(
            libc::DCCP_SOCKOPT_SERVICE,
            "DCCP_SOCKOPT_SERVICE",
            options.service_code.to_be_bytes().to_vec(),
        )];
        let ccids = [
            (libc::DCCP_SOCKOPT_TX_CCID, "DCCP_SOCKOPT_TX_CCID", &options.tx_ccids),
            (libc::DCCP_SOCKOPT_RX_CCID, "DCCP_SOCKOPT_RX_CCID", &options.rx_ccids),
        ];
        for (option, name, value) in ccids.into_iter().filter(|(_, _, value)| !value.is_empty()) {
            wanted.push((option, name, value.clone()));
        }
        let coverages = [
            (libc::DCCP_SOCKOPT_SEND_CSCOV, "DCCP_SOCKOPT_SEND_CSCOV", options.send_coverage),
            (libc::DCCP_SOCKOPT_RECV_CSCOV, "DCCP_SOCKOPT_RECV_CSCOV", options.minimum_coverage),
        ];
        for (option, name, value) in coverages.into_iter().filter(|(_, _, value)| *value > 0) {
            wanted.push((option, name, number(value.into())));
        }
        if let Some(len) = options.send_queue_len {
            let name = "DCCP_SOCKOPT_QPOLICY_TXQLEN";
            wanted.push((libc::DCCP_SOCKOPT_QPOLICY_TXQLEN, name, number(len)));
        }
        for (option, name, value) in wanted {
            self.set_octets(libc::SOL_DCCP, option, &value).map_err(NetError::on("set", name))?;
        }
        self.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
            .or_else(|_| self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER_BYTES))
            .map_err(NetError::on("set", "SO_RCVBUF"))?;
        self.set_linger(LINGER_S).map_err(NetError::on("set", "SO_LINGER"))
    }

    /// Sets the time in seconds for which closing waits until the send queue is empty; with 0,
    /// closing resets the connection.
    fn set_linger(&self, seconds: libc::c_int) -> io::Result<()> {
        // `struct linger`: a flag whether it applies, and the time.
        self.set_struct(libc::SOL_SOCKET, libc::SO_LINGER, &[1, seconds])
    }

    /// Begins to connect to the DCCP server `server`. The connection is open once the socket is
    /// writable and [`DccpSocket::take_error`] reports no error.
    ///
    /// # Errors
    ///
    /// Errors that the kernel reports at once.
    pub fn connect(server: SocketAddr, options: &DccpOptions) -> Result<Self, NetError> {
        let socket = Self::open(server, options)?;
        let name = SocketAddressBuffer::from_address(server);
        let fd = socket.fd.as_raw_fd();
        // SAFETY: `name` has NAME_BYTES octets, laid out as its family's sockaddr, and outlives the
        // call.
        match check(unsafe { libc::connect(fd, (&raw const name).cast(), NAME_BYTES) }) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                Err(NetError::new("connect to", server.to_string(), error))
            }
            Ok(_) | Err(_) => Ok(socket),
        }
    }

    /// Listens for DCCP connections at `address`; at most `backlog` connections wait to be
    /// accepted. At the unspecified address of IPv6 the socket accepts IPv4 as well, unless
    /// `is_v6_only`.
    ///
    /// # Errors
    ///
    /// The step that failed, and its object.
    pub fn listen(
        address: SocketAddr,
        is_v6_only: bool,
        backlog: u16,
        options: &DccpOptions,
    ) -> Result<Self, NetError> {
        let socket = Self::open(address, options)?;
        socket
            .set(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)
            .map_err(NetError::on("set", "SO_REUSEADDR"))?;
        if address.is_ipv6() {
            socket
                .set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, is_v6_only.into())
                .map_err(NetError::on("set", "IPV6_V6ONLY"))?;
        }
        let name = SocketAddressBuffer::from_address(address);
        let fd = socket.fd.as_raw_fd();
        let subject = || format!("a DCCP socket at {address}");
        // SAFETY: as in `connect`.
        check(unsafe { libc::bind(fd, (&raw const name).cast(), NAME_BYTES) })
            .map_err(|error| NetError::new("bind", subject(), error))?;
        // SAFETY: no pointers; the result is checked.
        check(unsafe { libc::listen(fd, backlog.into()) })
            .map_err(|error| NetError::new("listen at", subject(), error))?;
        Ok(socket)
    }

    /// Accepts a waiting DCCP connection and returns its socket with the address of its other end.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if none waits, or the kernel's error.
    pub fn accept(&self) -> io::Result<(Self, SocketAddr)> {
        let (mut name, mut len) = (SocketAddressBuffer::EMPTY, NAME_BYTES);
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let fd = self.fd.as_raw_fd();
        // SAFETY: `name` has `len` writable octets; both outlive the call.
        let raw = unsafe { libc::accept4(fd, (&raw mut name).cast(), &raw mut len, flags) };
        let raw = check(raw)?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        Ok((Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } }, name.address()))
    }

    /// Removes and returns the pending error of the DCCP socket, such as the reason for which a
    /// connection was refused.
    ///
    /// # Errors
    ///
    /// The error cannot be read.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let code = self.number(libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
    }

    /// Sends a datagram over the DCCP connection.
    ///
    /// # Errors
    ///
    /// `WouldBlock` while the send queue is full, which `poll(2)` does not show: such a socket is
    /// writable. Otherwise the reason for which the connection ended.
    pub fn send(&self, datagram: &[u8]) -> io::Result<()> {
        let (fd, len) = (self.fd.as_raw_fd(), datagram.len());
        // SAFETY: `datagram` is readable for `len` octets during the call.
        let sent = unsafe { libc::send(fd, datagram.as_ptr().cast(), len, libc::MSG_NOSIGNAL) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Receives the next datagram of the DCCP connection into `buffer`; returns the number of bytes
    /// that the datagram fills. Bytes that do not fit are lost. 0 is an empty datagram or, if
    /// [`DccpSocket::has_ended`], the end.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is none, or the reason for which the connection ended.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (fd, len) = (self.fd.as_raw_fd(), buffer.len());
        // SAFETY: `buffer` is writable for `len` octets during the call.
        let got = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), len, 0) };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }

    /// Returns true if the other end has closed the DCCP connection, so that nothing follows the
    /// datagrams that wait to be received.
    ///
    /// # Errors
    ///
    /// The kernel cannot report the state.
    pub fn has_ended(&self) -> io::Result<bool> {
        let ends = libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;
        let mut poll = libc::pollfd { fd: self.fd.as_raw_fd(), events: ends, revents: 0 };
        // SAFETY: `poll` is one entry that outlives the call.
        check(unsafe { libc::poll(&raw mut poll, 1, 0) })?;
        Ok(poll.revents & ends != 0)
    }

    /// Returns the largest payload of a datagram of the DCCP connection at present, in bytes (RFC
    /// 4340 §14).
    ///
    /// # Errors
    ///
    /// The kernel does not report it.
    pub fn packet_bytes_max(&self) -> io::Result<usize> {
        let bytes = self.number(libc::SOL_DCCP, libc::DCCP_SOCKOPT_GET_CUR_MPS)?;
        Ok(usize::try_from(bytes).unwrap_or(0))
    }

    /// Returns the bytes of kernel memory of the datagrams that wait in the DCCP socket to be sent
    /// (`SIOCOUTQ`).
    ///
    /// # Errors
    ///
    /// The kernel does not report it.
    pub fn queued_bytes(&self) -> io::Result<usize> {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the request writes one int, which outlives the call.
        check(unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
        Ok(usize::try_from(bytes).unwrap_or(0))
    }

    /// Returns the number of packets that the kernel dropped because the DCCP socket's receive
    /// buffer was full, since the socket was opened, modulo 2^32.
    ///
    /// # Errors
    ///
    /// The kernel does not report it.
    pub fn drops(&self) -> io::Result<u32> {
        memory::drops(self)
    }

    /// Returns the own address and port of the DCCP socket.
    ///
    /// # Errors
    ///
    /// The kernel does not report them.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        let (mut name, mut len) = (SocketAddressBuffer::EMPTY, NAME_BYTES);
        let fd = self.fd.as_raw_fd();
        // SAFETY: `name` has `len` writable octets; both outlive the call.
        check(unsafe { libc::getsockname(fd, (&raw mut name).cast(), &raw mut len) })?;
        Ok(name.address())
    }

    /// Returns the congestion control identifier (CCID) of the data that this end sends.
    ///
    /// # Errors
    ///
    /// The kernel does not report it, for example before the connection is open.
    pub fn tx_ccid(&self) -> io::Result<u8> {
        self.number(libc::SOL_DCCP, libc::DCCP_SOCKOPT_TX_CCID).map(|ccid| ccid as u8)
    }

    /// Returns the congestion control identifier (CCID) of the data that this end receives.
    ///
    /// # Errors
    ///
    /// The errors of [`DccpSocket::tx_ccid`].
    pub fn rx_ccid(&self) -> io::Result<u8> {
        self.number(libc::SOL_DCCP, libc::DCCP_SOCKOPT_RX_CCID).map(|ccid| ccid as u8)
    }

    /// Returns the round-trip time that CCID 3 of this end has measured, in microseconds
    /// (`tfrctx_rtt` in `linux/tfrc.h`); 0 before the first measurement.
    ///
    /// # Errors
    ///
    /// This end does not send with CCID 3, or the kernel does not report it.
    pub fn tfrc_rtt_us(&self) -> io::Result<u32> {
        let mut info = TfrcInfo::default();
        let mut len = size_of::<TfrcInfo>() as libc::socklen_t;
        let (fd, option) = (self.fd.as_raw_fd(), libc::DCCP_SOCKOPT_CCID_TX_INFO);
        let target = (&raw mut info).cast();
        // SAFETY: `info` is writable for `len` octets; both outlive the call.
        let got = unsafe { libc::getsockopt(fd, libc::SOL_DCCP, option, target, &raw mut len) };
        check(got).map(|_| info.rtt_us)
    }

    /// Resets the DCCP connection at once.
    pub fn abort(self) {
        // If the kernel does not accept that, closing still ends the connection.
        drop(self.set_linger(0));
    }

    fn number(&self, level: libc::c_int, option: libc::c_int) -> io::Result<libc::c_int> {
        Ok(self.get::<1>(level, option)?[0].cast_signed())
    }
}

impl AsFd for DccpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Returns true if `error` means that this kernel has no DCCP: it is newer than Linux 6.15, was
/// built without DCCP, or may not load the module.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ESOCKTNOSUPPORT | libc::EPROTONOSUPPORT))
}

/// Returns the code of the DCCP-Reset (RFC 4340 §5.6) for which Linux returns the error number of
/// `error` (`dccp_reset_code_convert` of its source). Codes 3 and 7 have one number.
pub fn reset_number(error: &io::Error) -> Option<u8> {
    match error.raw_os_error()? {
        libc::ECONNRESET => Some(2),
        libc::ECONNREFUSED => Some(3),
        libc::ENOMSG => Some(4),
        libc::EILSEQ => Some(5),
        libc::EOPNOTSUPP => Some(6),
        libc::EBADRQC => Some(8),
        libc::EUSERS => Some(9),
        libc::EBADR => Some(10),
        libc::EDQUOT => Some(11),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PollFd, poll};

    const LONG_NS: u64 = 300_000_000_000;

    #[test]
    fn an_error_number_is_that_of_the_reset_that_came() {
        for (error, reset) in
            [(libc::EBADRQC, Some(8)), (libc::ECONNREFUSED, Some(3)), (libc::EHOSTUNREACH, None)]
        {
            assert_eq!(reset_number(&io::Error::from_raw_os_error(error)), reset);
        }
    }

    /// Tests a connection, or the error of a kernel without DCCP. The tests of the commands cover
    /// kernels that have DCCP.
    #[test]
    fn a_connection_is_made_or_the_kernel_has_none() {
        let options = DccpOptions { service_code: 42, ..DccpOptions::default() };
        let address = SocketAddr::from(([127, 0, 0, 1], 5_009));
        let listener = match DccpSocket::listen(address, false, 1, &options) {
            Ok(listener) => listener,
            Err(error) => {
                assert!(is_absent(error.cause()), "{error}");
                assert!(error.to_string().starts_with("cannot open a kernel DCCP socket"));
                return;
            }
        };
        let client = DccpSocket::connect(address, &options).unwrap();
        poll(&mut [PollFd::readable(&listener)], Some(LONG_NS)).unwrap();
        let (server, _) = listener.accept().unwrap();
        client.send(b"over the kernel").unwrap();
        poll(&mut [PollFd::readable(&server)], Some(LONG_NS)).unwrap();
        let mut buffer = [0; 100];
        let len = server.receive(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"over the kernel");
        drop(client);
        poll(&mut [PollFd::readable(&server)], Some(LONG_NS)).unwrap();
        assert!(server.has_ended().unwrap());
    }
}
