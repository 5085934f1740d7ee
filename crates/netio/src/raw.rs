//! Raw sockets of one IP protocol (`raw(7)`). Datagrams move through [`crate::RecvBatch`] and
//! [`crate::SendBatch`] as those of UDP do. A datagram received over IPv4 begins with the IP
//! header, one received over IPv6 does not; a sent one never has an IP header, the kernel writes
//! it.
//!
//! With each datagram the socket delivers addresses, interface and ECN field.
//!
//! Every raw socket of a protocol gets every packet of the protocol that the machine receives: a
//! program that shares the protocol with others must ignore their packets.
#![allow(unsafe_code, reason = "socket, bind")]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::name::{NAME_BYTES, SocketAddressBuffer};
use crate::socket_option::SocketOptions;
use crate::{NetError, check, memory};

/// Options of a raw socket.
#[derive(Clone, Copy, Debug)]
pub struct RawOptions {
    /// IP address to bind the raw socket to, which determines the family; the unspecified address
    /// receives packets for any own address.
    pub bind: IpAddr,
    /// Number of the raw socket's protocol over IP.
    pub protocol: u8,
    /// Size of the raw socket's receive buffer, in bytes of kernel memory.
    pub receive_buffer_bytes: usize,
    /// Size of the raw socket's send buffer, in bytes of kernel memory.
    pub send_buffer_bytes: usize,
}

/// Non-blocking raw socket over IPv4 or IPv6 for one IP protocol.
#[derive(Debug)]
pub struct RawSocket {
    fd: OwnedFd,
}

impl RawSocket {
    /// Opens, configures and binds a raw socket.
    ///
    /// # Errors
    ///
    /// The step that failed, and its object; `EPERM` without the capability `CAP_NET_RAW`.
    pub fn open(options: &RawOptions) -> Result<Self, NetError> {
        Self::open_in_scope(options, 0)
    }

    /// Opens, configures and binds a raw socket at a link-local address of the interface with index
    /// `scope` (`ipv6(7)`).
    ///
    /// # Errors
    ///
    /// The errors of [`RawSocket::open`].
    pub fn open_in_scope(options: &RawOptions, scope: u32) -> Result<Self, NetError> {
        let subject = format!("a raw socket of protocol {} at {}", options.protocol, options.bind);
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let family = if options.bind.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        // SAFETY: no pointers; the result is checked.
        let raw = check(unsafe { libc::socket(family, kind, options.protocol.into()) })
            .map_err(NetError::on("open", &subject))?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        let socket = Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } };
        let (level, info, class) = if options.bind.is_ipv4() {
            (libc::IPPROTO_IP, libc::IP_PKTINFO, libc::IP_RECVTOS)
        } else {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, libc::IPV6_RECVTCLASS)
        };
        socket.set(level, info, 1).map_err(NetError::on("ask for addresses at", &subject))?;
        socket.set(level, class, 1).map_err(NetError::on("ask for ECN at", &subject))?;
        let buffers = [
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, options.receive_buffer_bytes),
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, options.send_buffer_bytes),
        ];
        for (forced, capped, bytes) in buffers {
            socket
                .set_buffer(forced, capped, bytes)
                .map_err(NetError::on("set the buffers of", &subject))?;
        }
        let mut address = SocketAddr::new(options.bind, 0);
        if let SocketAddr::V6(address) = &mut address {
            address.set_scope_id(scope);
        }
        let name = SocketAddressBuffer::from_address(address);
        // SAFETY: `name` has NAME_BYTES octets, laid out as its family's sockaddr, and outlives
        // the call.
        check(unsafe { libc::bind(raw, (&raw const name).cast(), NAME_BYTES) })
            .map_err(NetError::on("bind", &subject))?;
        Ok(socket)
    }

    /// Returns the number of packets that the kernel dropped because the raw socket's receive
    /// buffer was full, since the socket was opened, modulo 2^32.
    ///
    /// # Errors
    ///
    /// The kernel does not report it.
    pub fn drops(&self) -> io::Result<u32> {
        memory::drops(self)
    }
}

impl AsFd for RawSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl crate::udp::DatagramSocket for RawSocket {}
