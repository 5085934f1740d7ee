//! Errors of the network for sent datagrams: ICMP errors with the part of the datagram that they
//! quote (`IP_RECVERR`, `ip(7)`; `IPV6_RECVERR`, `ipv6(7)`), and the longest packet that passes the
//! path.
#![allow(unsafe_code, reason = "recvmsg")]

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use crate::control;
use crate::name::{NAME_BYTES, SocketAddressBuffer};
use crate::socket_option::SocketOptions;
use crate::udp::DatagramSocket;
use crate::{NetError, check};

/// Size in bytes of the control messages of an error: `struct sock_extended_err`, the address of
/// the error's sender, and packet info.
const CONTROL_BYTES: usize = 256;

/// Error of the network for a sent datagram that did not arrive.
#[derive(Debug)]
pub struct PathError {
    /// Destination of the datagram that did not arrive.
    pub destination: SocketAddr,
    /// Cause of the error: `ECONNREFUSED` and similar errors of other machines, or `EMSGSIZE` for a
    /// datagram that was too long.
    pub cause: io::Error,
    /// Length in bytes of the longest IP packet that passes, if the cause is `EMSGSIZE`.
    pub mtu_bytes: u32,
    /// Number of bytes of the quoted payload at the front of the buffer, without the headers of IP
    /// and UDP.
    pub quoted_len: usize,
}

/// Makes the kernel keep errors of the network for the socket, and never fragment a datagram: it
/// refuses one that is too long with `EMSGSIZE`.
///
/// # Errors
///
/// The option that the kernel refuses.
pub fn report(socket: &impl DatagramSocket, is_v4: bool) -> Result<(), NetError> {
    let options = if is_v4 {
        [
            (libc::IPPROTO_IP, libc::IP_RECVERR, 1, "IP_RECVERR"),
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO, "IP_MTU_DISCOVER"),
        ]
    } else {
        let discover = libc::IPV6_MTU_DISCOVER;
        [
            (libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1, "IPV6_RECVERR"),
            (libc::IPPROTO_IPV6, discover, libc::IPV6_PMTUDISC_DO, "IPV6_MTU_DISCOVER"),
        ]
    };
    for (level, option, value, name) in options {
        socket.set(level, option, value).map_err(NetError::on("set", name))?;
    }
    Ok(())
}

/// Returns the next error of the network for the socket, if there is one, and puts the payload that
/// the error quotes at the front of `buffer`.
pub fn receive(socket: &impl DatagramSocket, buffer: &mut [u8]) -> Option<PathError> {
    let mut name = SocketAddressBuffer::EMPTY;
    let mut room = [0_u8; CONTROL_BYTES];
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: an all-zero msghdr is a valid, empty one.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = (&raw mut name).cast();
    header.msg_namelen = NAME_BYTES;
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = room.as_mut_ptr().cast();
    header.msg_controllen = CONTROL_BYTES as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the header leads to `name`, `vector` with `buffer`, and `room`, with their true
    // lengths; all of them outlive the call.
    let len = check(unsafe { libc::recvmsg(fd, &raw mut header, flags) as libc::c_int }).ok()?;
    #[allow(clippy::unnecessary_cast, reason = "the type differs between C libraries")]
    let used = (header.msg_controllen as usize).min(CONTROL_BYTES);
    let (code, mtu_bytes) = control::path_error(&room[..used])?;
    Some(PathError {
        destination: name.address(),
        cause: io::Error::from_raw_os_error(code),
        mtu_bytes,
        quoted_len: len.cast_unsigned() as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PollFd, SendBatch, UdpOptions, UdpSocket, poll};

    const LONG_NS: u64 = 300_000_000_000;

    #[test]
    fn a_port_that_nobody_has_is_said_with_what_was_sent() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let bind: SocketAddr = address.parse().unwrap();
            // A socket with a peer keeps the port from others, and takes nothing of anybody else.
            let deaf = std::net::UdpSocket::bind(bind).unwrap();
            let closed = deaf.local_addr().unwrap();
            deaf.connect(closed).unwrap();
            let socket = UdpSocket::open(&UdpOptions::at(bind)).unwrap();
            report(&socket, bind.is_ipv4()).unwrap();
            let mut batch = SendBatch::new(1, 100, false);
            batch.slot().unwrap()[..4].copy_from_slice(b"data");
            batch.commit(4, closed, None);
            assert_eq!(batch.flush(&socket).sent, 1);
            assert_eq!(poll(&mut [PollFd::readable(&socket)], Some(LONG_NS)).unwrap(), 1);
            let mut buffer = [0; 100];
            let error = receive(&socket, &mut buffer).unwrap();
            assert_eq!(error.cause.kind(), io::ErrorKind::ConnectionRefused);
            assert_eq!((error.destination, &buffer[..error.quoted_len]), (closed, &b"data"[..]));
            assert!(receive(&socket, &mut buffer).is_none());
        }
    }

    #[test]
    fn an_error_of_one_datagram_keeps_none_of_the_others_from_being_sent() {
        const COUNT: usize = 20;
        let deaf = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let closed = deaf.local_addr().unwrap();
        deaf.connect(closed).unwrap();
        let bind: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let socket = UdpSocket::open(&UdpOptions::at(bind)).unwrap();
        report(&socket, true).unwrap();
        let mut batch = SendBatch::new(COUNT, 100, false).with_path_errors();
        for _ in 0..COUNT {
            batch.slot().unwrap()[..4].copy_from_slice(b"data");
            batch.commit(4, closed, None);
        }
        let flushed = batch.flush(&socket);
        assert_eq!((flushed.sent, flushed.refused), (COUNT, 0));
    }
}
