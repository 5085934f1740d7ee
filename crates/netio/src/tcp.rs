//! Opening of TCP connections without waiting. The standard library uses the connections once they
//! are open.
#![allow(unsafe_code, reason = "socket, bind, connect")]

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::name::{NAME_BYTES, SocketAddressBuffer};
use crate::{NetError, check, own_endpoint};

/// Begins to open a TCP connection to `server`, from the own address `local` if one is given. The
/// stream never blocks, and sends small messages at once (`TCP_NODELAY`). It is open once it is
/// writable and [`TcpStream::take_error`] reports no error.
///
/// # Errors
///
/// Errors that the kernel reports at once.
pub fn connect(server: SocketAddr, local: Option<IpAddr>) -> Result<TcpStream, NetError> {
    let family = if server.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers; the result is checked.
    let raw = check(unsafe { libc::socket(family, kind, 0) })
        .map_err(NetError::on("open", "a TCP socket"))?;
    // SAFETY: `raw` was just opened and belongs to nobody else.
    let stream = TcpStream::from(unsafe { OwnedFd::from_raw_fd(raw) });
    stream.set_nodelay(true).map_err(NetError::on("set", "TCP_NODELAY"))?;
    if let Some(local) = local {
        let name = SocketAddressBuffer::from_address(own_endpoint(local, server));
        // SAFETY: `name` has NAME_BYTES octets, laid out as its family's sockaddr, and outlives the
        // call.
        check(unsafe { libc::bind(stream.as_raw_fd(), (&raw const name).cast(), NAME_BYTES) })
            .map_err(NetError::on("bind a TCP socket to", local.to_string()))?;
    }
    let name = SocketAddressBuffer::from_address(server);
    // SAFETY: as above.
    match check(unsafe { libc::connect(raw, (&raw const name).cast(), NAME_BYTES) }) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
            Err(NetError::new("connect to", server.to_string(), error))
        }
        Ok(_) | Err(_) => Ok(stream),
    }
}

/// Waits until the TCP connection of a stream from [`connect`] is open, `timeout_ns` nanoseconds at
/// most.
///
/// # Errors
///
/// The reason why it cannot be opened; a timeout after `timeout_ns` nanoseconds.
pub fn wait_open(stream: &TcpStream, timeout_ns: u64) -> io::Result<()> {
    let mut fds = [crate::PollFd::writable(stream)];
    if crate::poll(&mut fds, Some(timeout_ns))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    stream.take_error()?.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const LONG_NS: u64 = 300_000_000_000;

    #[test]
    fn a_connection_is_opened_or_the_reason_told() {
        for address in ["127.0.0.1", "::1"] {
            let ip: IpAddr = address.parse().unwrap();
            let listener = TcpListener::bind((ip, 0)).unwrap();
            let server = listener.local_addr().unwrap();
            let stream = connect(server, Some(ip)).unwrap();
            wait_open(&stream, LONG_NS).unwrap();
            let (_, peer) = listener.accept().unwrap();
            assert_eq!(peer, stream.local_addr().unwrap());
            drop(listener);
            // A program that another test starts has a copy of the listener until it runs.
            let refused = loop {
                match connect(server, None).map(|stream| wait_open(&stream, LONG_NS)) {
                    Ok(Ok(())) => std::thread::yield_now(),
                    Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => {}
                    Ok(Err(error)) => break error.kind(),
                    Err(error) => break error.cause().kind(),
                }
            };
            assert_eq!(refused, io::ErrorKind::ConnectionRefused);
        }
    }
}
