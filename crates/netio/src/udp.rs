//! UDP sockets over IPv4: opening them with every option the products need, and asking them what
//! became of it. Set-up and questions only; datagrams move through [`crate::RecvBatch`] and
//! [`crate::SendBatch`]. IPv6 sockets come with their first user.
#![allow(unsafe_code, reason = "socket, bind, setsockopt, getsockopt, getsockname")]

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::{NetError, check};

/// How a socket is opened. `UdpOptions::at(address)` is a plain one.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches of one socket")]
pub struct UdpOptions {
    /// The address and port to bind; port 0 lets the kernel choose.
    pub bind: SocketAddrV4,
    /// `SO_REUSEPORT`: several sockets share the port, the kernel spreads flows over them.
    pub reuse_port: bool,
    /// `SO_REUSEADDR`: wildcard and specific addresses may share the port.
    pub reuse_address: bool,
    /// `SO_BROADCAST`.
    pub broadcast: bool,
    /// `SO_BINDTODEVICE`: only datagrams of this interface.
    pub device: Option<String>,
    /// Receive buffer wanted, in octets of kernel memory (a 300-octet datagram takes 768 on
    /// loopback). `SO_RCVBUFFORCE` where permitted, else `SO_RCVBUF`, which `rmem_max` caps.
    pub receive_buffer_bytes: Option<usize>,
    /// Send buffer wanted; as above.
    pub send_buffer_bytes: Option<usize>,
    /// `IP_PKTINFO`: learn each datagram's destination address and interface.
    pub packet_info: bool,
    /// `SO_TIMESTAMPNS`: learn when the kernel received each datagram (wall clock).
    pub kernel_times: bool,
    /// `UDP_GRO`: let the kernel hand over trains of equal-sized datagrams in one piece. Use it
    /// with [`crate::RecvBatch::coalescing`] only.
    pub coalesce: bool,
}

impl UdpOptions {
    /// All options off, bound to `bind`.
    #[must_use]
    pub const fn at(bind: SocketAddrV4) -> Self {
        Self {
            bind,
            reuse_port: false,
            reuse_address: false,
            broadcast: false,
            device: None,
            receive_buffer_bytes: None,
            send_buffer_bytes: None,
            packet_info: false,
            kernel_times: false,
            coalesce: false,
        }
    }
}

/// A non-blocking UDP socket over IPv4.
#[derive(Debug)]
pub struct UdpSocket {
    fd: OwnedFd,
}

pub(crate) fn to_sockaddr(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    }
}

pub(crate) fn from_sockaddr(raw: &libc::sockaddr_in) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::from(raw.sin_addr.s_addr.to_ne_bytes()), u16::from_be(raw.sin_port))
}

impl UdpSocket {
    /// Opens, configures and binds a socket.
    ///
    /// # Errors
    ///
    /// Which step failed on which address.
    pub fn open(options: &UdpOptions) -> Result<Self, NetError> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers; the result is checked.
        let raw = check(unsafe { libc::socket(libc::AF_INET, kind, 0) })
            .map_err(NetError::on("open", "a UDP socket"))?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        let socket = Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } };
        socket.configure(options)?;
        let address = to_sockaddr(options.bind);
        let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        // SAFETY: `address` is a sockaddr_in of `size` octets and outlives the call.
        check(unsafe { libc::bind(raw, (&raw const address).cast(), size) })
            .map_err(NetError::on("bind a UDP socket to", options.bind.to_string()))?;
        Ok(socket)
    }

    fn configure(&self, options: &UdpOptions) -> Result<(), NetError> {
        let on = |name: &str| format!("{name} for {}", options.bind);
        let switches = [
            (options.reuse_port, libc::SOL_SOCKET, libc::SO_REUSEPORT, "SO_REUSEPORT"),
            (options.reuse_address, libc::SOL_SOCKET, libc::SO_REUSEADDR, "SO_REUSEADDR"),
            (options.broadcast, libc::SOL_SOCKET, libc::SO_BROADCAST, "SO_BROADCAST"),
            (options.packet_info, libc::IPPROTO_IP, libc::IP_PKTINFO, "IP_PKTINFO"),
            (options.kernel_times, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, "SO_TIMESTAMPNS"),
            (options.coalesce, libc::SOL_UDP, libc::UDP_GRO, "UDP_GRO"),
        ];
        for (wanted, level, option, name) in switches {
            if wanted {
                self.set(level, option, 1).map_err(NetError::on("set", on(name)))?;
            }
        }
        if let Some(bytes) = options.receive_buffer_bytes {
            self.set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, bytes)
                .map_err(NetError::on("set", on("SO_RCVBUF")))?;
        }
        if let Some(bytes) = options.send_buffer_bytes {
            self.set_buffer(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, bytes)
                .map_err(NetError::on("set", on("SO_SNDBUF")))?;
        }
        if let Some(device) = &options.device {
            self.set_octets(libc::SOL_SOCKET, libc::SO_BINDTODEVICE, device.as_bytes())
                .map_err(NetError::on("bind to interface", device.as_str()))?;
        }
        Ok(())
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        self.set_octets(level, option, &value.to_ne_bytes())
    }

    fn set_octets(&self, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
        let size = value.len() as libc::socklen_t;
        let fd = self.fd.as_raw_fd();
        // SAFETY: `value` is readable for `size` octets during the call.
        check(unsafe { libc::setsockopt(fd, level, option, value.as_ptr().cast(), size) }).map(drop)
    }

    fn set_buffer(&self, forced: i32, capped: i32, bytes: usize) -> io::Result<()> {
        // The kernel doubles what it is given, to pay for its own bookkeeping.
        let value = libc::c_int::try_from(bytes / 2).unwrap_or(libc::c_int::MAX / 2);
        self.set(libc::SOL_SOCKET, forced, value)
            .or_else(|_| self.set(libc::SOL_SOCKET, capped, value))
    }

    fn get<const N: usize>(&self, level: i32, option: i32) -> io::Result<[u32; N]> {
        let mut value = [0_u32; N];
        let mut size = size_of_val(&value) as libc::socklen_t;
        let (fd, place) = (self.fd.as_raw_fd(), value.as_mut_ptr().cast());
        // SAFETY: `place` is writable for `size` octets and `size` outlives the call.
        check(unsafe { libc::getsockopt(fd, level, option, place, &raw mut size) })?;
        Ok(value)
    }

    /// The address and port that the socket is bound to.
    ///
    /// # Errors
    ///
    /// What `getsockname(2)` reports.
    pub fn local_address(&self) -> io::Result<SocketAddrV4> {
        let mut raw = to_sockaddr(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        let mut size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let (fd, place) = (self.fd.as_raw_fd(), (&raw mut raw).cast());
        // SAFETY: `place` is writable for `size` octets and both outlive the call.
        check(unsafe { libc::getsockname(fd, place, &raw mut size) })?;
        Ok(from_sockaddr(&raw))
    }

    /// The receive buffer that the kernel granted, in octets of its memory.
    ///
    /// # Errors
    ///
    /// What `getsockopt(2)` reports.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        Ok(self.get::<1>(libc::SOL_SOCKET, libc::SO_RCVBUF)?[0] as usize)
    }

    /// The send buffer that the kernel granted, in octets of its memory.
    ///
    /// # Errors
    ///
    /// What `getsockopt(2)` reports.
    pub fn send_buffer_bytes(&self) -> io::Result<usize> {
        Ok(self.get::<1>(libc::SOL_SOCKET, libc::SO_SNDBUF)?[0] as usize)
    }

    /// Datagrams that the kernel dropped because this socket's receive buffer was full (or a
    /// checksum failed), since it was opened, modulo 2^32. Read at any time, unlike
    /// `SO_RXQ_OVFL`, which tells only with a later datagram and hence not after the last one.
    ///
    /// # Errors
    ///
    /// What `getsockopt(2)` reports.
    pub fn drops(&self) -> io::Result<u32> {
        // SO_MEMINFO, sock_diag(7): nine counts, SK_MEMINFO_DROPS the last.
        Ok(self.get::<9>(libc::SOL_SOCKET, libc::SO_MEMINFO)?[8])
    }

    /// Octets of kernel memory that wait in the receive buffer now.
    ///
    /// # Errors
    ///
    /// What `getsockopt(2)` reports.
    pub fn receive_queued_bytes(&self) -> io::Result<usize> {
        Ok(self.get::<9>(libc::SOL_SOCKET, libc::SO_MEMINFO)?[0] as usize)
    }

    /// True when the kernel knows `UDP_SEGMENT`, so that a [`crate::SendBatch`] may group.
    #[must_use]
    pub fn supports_segmentation(&self) -> bool {
        self.set(libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok()
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
    }

    #[test]
    fn the_kernel_tells_what_it_granted() {
        let options = UdpOptions {
            receive_buffer_bytes: Some(100_000),
            send_buffer_bytes: Some(50_000),
            ..UdpOptions::at(loopback(0))
        };
        let socket = UdpSocket::open(&options).unwrap();
        assert_eq!(*socket.local_address().unwrap().ip(), Ipv4Addr::LOCALHOST);
        assert_ne!(socket.local_address().unwrap().port(), 0);
        assert_eq!(socket.receive_buffer_bytes().unwrap(), 100_000);
        assert_eq!(socket.send_buffer_bytes().unwrap(), 50_000);
        assert_eq!((socket.drops().unwrap(), socket.receive_queued_bytes().unwrap()), (0, 0));
    }

    #[test]
    fn a_taken_port_is_named_and_can_be_shared_on_purpose() {
        let shared = UdpOptions { reuse_port: true, ..UdpOptions::at(loopback(0)) };
        let first = UdpSocket::open(&shared).unwrap();
        let address = first.local_address().unwrap();
        let error = UdpSocket::open(&UdpOptions::at(address)).unwrap_err();
        assert_eq!(error.cause().kind(), io::ErrorKind::AddrInUse);
        let expected = format!("cannot bind a UDP socket to {address}: ");
        assert!(error.to_string().starts_with(&expected), "{error}");
        UdpSocket::open(&UdpOptions { bind: address, ..shared }).unwrap();
    }

    #[test]
    fn a_full_receive_buffer_is_counted_as_drops() {
        let options =
            UdpOptions { receive_buffer_bytes: Some(4_608), ..UdpOptions::at(loopback(0)) };
        let socket = UdpSocket::open(&options).unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..100 {
            sender.send_to(&[0; 300], socket.local_address().unwrap()).unwrap();
        }
        let drops = socket.drops().unwrap();
        assert!((50..100).contains(&drops), "{drops}");
        assert!(socket.receive_queued_bytes().unwrap() > 0);
    }

    #[test]
    fn an_unknown_interface_is_refused_by_name() {
        let options =
            UdpOptions { device: Some("nonesuch0".into()), ..UdpOptions::at(loopback(0)) };
        let error = UdpSocket::open(&options).unwrap_err().to_string();
        assert!(error.contains("nonesuch0"), "{error}");
    }
}
