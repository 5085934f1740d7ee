//! UDP sockets over IPv4 and IPv6: opening with every option that the products need, joining of
//! groups, and counters. This module is for set-up and counters only; datagrams move through
//! [`crate::RecvBatch`] and [`crate::SendBatch`]. See `ip(7)`, `ipv6(7)`, RFC 3493, RFC 3542.
#![allow(unsafe_code, reason = "socket, bind, getsockname")]

use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::name::{NAME_BYTES, SocketAddressBuffer};
use crate::socket_option::SocketOptions;
use crate::{NetError, check, memory};

/// Socket option `IPV6_MULTICAST_ALL` of linux/in6.h, which not every C library names.
const IPV6_MULTICAST_ALL: libc::c_int = 29;

/// Options of a UDP socket. `UdpOptions::at(address)` has none of them set.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches of one socket")]
pub struct UdpOptions {
    /// Address and port to bind the socket to; the kernel chooses a port instead of port 0. Its
    /// family is the socket's: an IPv6 socket receives no IPv4 (`IPV6_V6ONLY`). A link-local
    /// address needs its scope.
    pub bind: SocketAddr,
    /// Option `SO_REUSEPORT`: several sockets share the port, the kernel spreads flows over them.
    pub reuse_port: bool,
    /// Option `SO_REUSEADDR`: wildcard and specific addresses may share the port.
    pub reuse_address: bool,
    /// Option `SO_BROADCAST`: the socket may send to broadcast addresses.
    pub broadcast: bool,
    /// Option `SO_BINDTODEVICE`: name of the only interface whose datagrams the socket receives.
    pub device: Option<String>,
    /// Size of the socket's receive buffer, in bytes of kernel memory (a 300-byte datagram takes
    /// 768 on loopback). Set by `SO_RCVBUFFORCE` if permitted, else by `SO_RCVBUF`, which
    /// `rmem_max` caps.
    pub receive_buffer_bytes: Option<usize>,
    /// Size of the socket's send buffer, in bytes of kernel memory. Set by `SO_SNDBUFFORCE` if
    /// permitted, else by `SO_SNDBUF`, which `wmem_max` caps.
    pub send_buffer_bytes: Option<usize>,
    /// Options `IP_PKTINFO`, `IPV6_RECVPKTINFO`: deliver each datagram's destination address and
    /// interface.
    pub packet_info: bool,
    /// Options `IP_RECVTOS`, `IPV6_RECVTCLASS`: deliver each datagram's ECN field.
    pub ecn: bool,
    /// Option `SO_TIMESTAMPNS`: deliver the time when the kernel received each datagram (wall
    /// clock).
    pub kernel_times: bool,
    /// Option `UDP_GRO`: the kernel delivers trains, consecutive datagrams of equal size, in one
    /// piece. Use it with [`crate::RecvBatch::coalescing`] only.
    pub coalesce: bool,
}

impl UdpOptions {
    /// Creates options of a UDP socket bound to `bind`, with every option off.
    pub fn at(bind: impl Into<SocketAddr>) -> Self {
        Self {
            bind: bind.into(),
            reuse_port: false,
            reuse_address: false,
            broadcast: false,
            device: None,
            receive_buffer_bytes: None,
            send_buffer_bytes: None,
            packet_info: false,
            ecn: false,
            kernel_times: false,
            coalesce: false,
        }
    }
}

/// Socket whose datagrams [`crate::RecvBatch`] and [`crate::SendBatch`] move: UDP or raw.
pub trait DatagramSocket: AsFd {}

impl DatagramSocket for UdpSocket {}

/// Non-blocking UDP socket over IPv4 or IPv6.
#[derive(Debug)]
pub struct UdpSocket {
    fd: OwnedFd,
}

impl From<OwnedFd> for UdpSocket {
    /// Wraps the descriptor of a UDP socket that is open already.
    fn from(fd: OwnedFd) -> Self {
        Self { fd }
    }
}

impl UdpSocket {
    /// Opens, configures and binds a UDP socket.
    ///
    /// # Errors
    ///
    /// The step that failed, and the address.
    pub fn open(options: &UdpOptions) -> Result<Self, NetError> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let family = if options.bind.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        // SAFETY: no pointers; the result is checked.
        let raw = check(unsafe { libc::socket(family, kind, 0) })
            .map_err(NetError::on("open", "a UDP socket"))?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        let socket = Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } };
        socket.configure(options)?;
        let name = SocketAddressBuffer::from_address(options.bind);
        // SAFETY: `name` has NAME_BYTES octets, laid out as its family's sockaddr, and outlives
        // the call.
        check(unsafe { libc::bind(raw, (&raw const name).cast(), NAME_BYTES) })
            .map_err(NetError::on("bind a UDP socket to", options.bind.to_string()))?;
        Ok(socket)
    }

    /// Permits sockets opened with `reuse_port` to share this socket's port. Since this socket was
    /// opened without that option, no other socket had the port before.
    ///
    /// # Errors
    ///
    /// The error of `setsockopt(2)`.
    pub fn share_port(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)
    }

    fn configure(&self, options: &UdpOptions) -> Result<(), NetError> {
        let on = |name: &str| format!("{name} for {}", options.bind);
        let is_v6 = options.bind.is_ipv6();
        let (v4_info, v6_info) = (options.packet_info && !is_v6, options.packet_info && is_v6);
        let (v4_ecn, v6_ecn) = (options.ecn && !is_v6, options.ecn && is_v6);
        let switches = [
            (options.reuse_port, libc::SOL_SOCKET, libc::SO_REUSEPORT, "SO_REUSEPORT"),
            (options.reuse_address, libc::SOL_SOCKET, libc::SO_REUSEADDR, "SO_REUSEADDR"),
            (options.broadcast, libc::SOL_SOCKET, libc::SO_BROADCAST, "SO_BROADCAST"),
            (is_v6, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, "IPV6_V6ONLY"),
            (v4_info, libc::IPPROTO_IP, libc::IP_PKTINFO, "IP_PKTINFO"),
            (v6_info, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, "IPV6_RECVPKTINFO"),
            (v4_ecn, libc::IPPROTO_IP, libc::IP_RECVTOS, "IP_RECVTOS"),
            (v6_ecn, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, "IPV6_RECVTCLASS"),
            (options.kernel_times, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, "SO_TIMESTAMPNS"),
            (options.coalesce, libc::SOL_UDP, libc::UDP_GRO, "UDP_GRO"),
        ];
        for (wanted, level, option, name) in switches {
            if wanted {
                self.set(level, option, 1).map_err(NetError::on("set", on(name)))?;
            }
        }
        if is_v6 {
            // Without this a wildcard socket gets datagrams for groups that another process joined.
            // Kernels before 4.20 do not know the option; they have that defect and work.
            self.set(libc::IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0).ok();
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

    /// Returns the address and port that the UDP socket is bound to.
    ///
    /// # Errors
    ///
    /// The error of `getsockname(2)`.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        let (mut name, mut size) = (SocketAddressBuffer::EMPTY, NAME_BYTES);
        let (fd, pointer) = (self.fd.as_raw_fd(), (&raw mut name).cast());
        // SAFETY: `pointer` is writable for `size` octets and both outlive the call.
        check(unsafe { libc::getsockname(fd, pointer, &raw mut size) })?;
        Ok(name.address())
    }

    /// Sets the size of the socket's receive buffer in bytes of kernel memory, as
    /// [`UdpOptions::receive_buffer_bytes`] does. Waiting datagrams stay, even if they are more.
    ///
    /// # Errors
    ///
    /// The error of `setsockopt(2)`.
    pub fn set_receive_buffer(&self, bytes: usize) -> io::Result<()> {
        self.set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, bytes)
    }

    /// Returns the size of the socket's receive buffer that the kernel granted, in bytes of its
    /// memory.
    ///
    /// # Errors
    ///
    /// The error of `getsockopt(2)`.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        Ok(self.get::<1>(libc::SOL_SOCKET, libc::SO_RCVBUF)?[0] as usize)
    }

    /// Returns the size of the socket's send buffer that the kernel granted, in bytes of its
    /// memory.
    ///
    /// # Errors
    ///
    /// The error of `getsockopt(2)`.
    pub fn send_buffer_bytes(&self) -> io::Result<usize> {
        Ok(self.get::<1>(libc::SOL_SOCKET, libc::SO_SNDBUF)?[0] as usize)
    }

    /// Returns the number of datagrams that the kernel dropped because this socket's receive buffer
    /// was full (or a checksum failed), since it was opened, modulo 2^32. It can be read at any
    /// time, unlike `SO_RXQ_OVFL`, which comes only with a later datagram and hence not after the
    /// last one.
    ///
    /// # Errors
    ///
    /// The error of `getsockopt(2)`.
    pub fn drops(&self) -> io::Result<u32> {
        memory::drops(self)
    }

    /// Returns the bytes of kernel memory that the datagrams waiting in the socket use now.
    ///
    /// # Errors
    ///
    /// The error of `getsockopt(2)`.
    pub fn receive_queued_bytes(&self) -> io::Result<usize> {
        Ok(self.get::<9>(libc::SOL_SOCKET, libc::SO_MEMINFO)?[0] as usize)
    }

    /// Joins `group` on the interface with index `interface` (`IPV6_JOIN_GROUP`). A socket gets
    /// datagrams for the groups that it joined itself and no others.
    ///
    /// # Errors
    ///
    /// The error of `setsockopt(2)`: EADDRINUSE if it had joined, ENODEV for an unknown index.
    pub fn join_group(&self, group: Ipv6Addr, interface: u32) -> io::Result<()> {
        self.set_membership(libc::IPV6_ADD_MEMBERSHIP, group, interface)
    }

    /// Leaves the multicast group `group` on the interface with index `interface`; ends
    /// [`UdpSocket::join_group`].
    ///
    /// # Errors
    ///
    /// The error of `setsockopt(2)`: EADDRNOTAVAIL if it had not joined.
    pub fn leave_group(&self, group: Ipv6Addr, interface: u32) -> io::Result<()> {
        self.set_membership(libc::IPV6_DROP_MEMBERSHIP, group, interface)
    }

    fn set_membership(&self, option: i32, group: Ipv6Addr, interface: u32) -> io::Result<()> {
        // struct ipv6_mreq: the group, then the interface's index.
        let mut request = [0; 20];
        request[..16].copy_from_slice(&group.octets());
        request[16..].copy_from_slice(&interface.to_ne_bytes());
        self.set_octets(libc::IPPROTO_IPV6, option, &request)
    }

    /// Makes the socket send multicast through `interface` unless the destination or source names
    /// another one, over at most `hops` routers (`IPV6_MULTICAST_IF`, `IPV6_MULTICAST_HOPS`).
    ///
    /// # Errors
    ///
    /// The error of `setsockopt(2)`.
    pub fn set_multicast_route(&self, interface: u32, hops: u8) -> io::Result<()> {
        let level = libc::IPPROTO_IPV6;
        self.set_octets(level, libc::IPV6_MULTICAST_IF, &interface.to_ne_bytes())?;
        self.set(level, libc::IPV6_MULTICAST_HOPS, hops.into())
    }

    /// Makes the kernel deliver trains (consecutive datagrams in one piece, `UDP_GRO`) on the open
    /// socket, as [`UdpOptions::coalesce`] does.
    ///
    /// # Errors
    ///
    /// The kernel has no `UDP_GRO`.
    pub fn coalesce(&self) -> io::Result<()> {
        self.set(libc::SOL_UDP, libc::UDP_GRO, 1)
    }

    /// Returns true if the kernel knows `UDP_SEGMENT`, so that a [`crate::SendBatch`] may group
    /// datagrams.
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

    use std::net::Ipv4Addr;
    use std::time::{Duration, Instant};

    use crate::RecvBatch;

    fn loopback(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    #[test]
    fn the_kernel_tells_what_it_granted() {
        let options = UdpOptions {
            receive_buffer_bytes: Some(100_000),
            send_buffer_bytes: Some(50_000),
            ..UdpOptions::at(loopback(0))
        };
        let socket = UdpSocket::open(&options).unwrap();
        assert_eq!(socket.local_address().unwrap().ip(), Ipv4Addr::LOCALHOST);
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
        // Most find the buffer full; the last ones may still be on their way.
        let mut batch = RecvBatch::default();
        let (mut received, ends) = (0, Instant::now() + Duration::from_secs(300));
        while socket.drops().unwrap() < 50 {
            assert!(Instant::now() < ends, "{} drops", socket.drops().unwrap());
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(socket.receive_queued_bytes().unwrap() > 0);
        while received + socket.drops().unwrap() < 100 {
            received += batch.receive(&socket).unwrap() as u32;
            assert!(Instant::now() < ends, "{received} received, {}", socket.drops().unwrap());
        }
        assert_eq!(received + socket.drops().unwrap(), 100);
        assert!(received > 0);
    }

    #[test]
    fn an_unknown_interface_is_refused_by_name() {
        let options =
            UdpOptions { device: Some("nonesuch0".into()), ..UdpOptions::at(loopback(0)) };
        let error = UdpSocket::open(&options).unwrap_err().to_string();
        assert!(error.contains("nonesuch0"), "{error}");
    }
}
