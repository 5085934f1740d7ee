//! Congestion control of a TCP connection in the kernel (`TCP_CONGESTION`, tcp(7)).
#![allow(unsafe_code, reason = "getsockopt")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::socket_option::SocketOptions;
use crate::{NetError, check};

/// Bytes of the longest name of a congestion control with its terminating zero: `TCP_CA_NAME_MAX`
/// of linux/tcp.h.
const NAME_BYTES: usize = 16;

/// Makes the TCP socket use the congestion control called `name` from now on.
///
/// # Errors
///
/// The kernel's error: `ENOENT` if it has no algorithm of that name, `EPERM` if this process may
/// not use it; `EINVAL` for a name that is too long.
pub fn set(socket: &impl AsFd, name: &str) -> Result<(), NetError> {
    let failed = NetError::on("have TCP use the congestion control", name);
    if name.len() >= NAME_BYTES {
        // The kernel would truncate the name.
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    }
    match socket.set_octets(libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let words = "only root may choose it, or an administrator by \
                         net.ipv4.tcp_allowed_congestion_control";
            Err(failed(io::Error::new(error.kind(), words)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(failed(io::Error::new(error.kind(), "this kernel does not have it")))
        }
        done => done.map_err(failed),
    }
}

/// Returns the name of the congestion control that the TCP socket uses.
///
/// # Errors
///
/// The socket is not a TCP socket.
pub fn get(socket: &impl AsFd) -> Result<String, NetError> {
    let mut name = [0_u8; NAME_BYTES];
    let mut size = NAME_BYTES as libc::socklen_t;
    let (fd, pointer) = (socket.as_fd().as_raw_fd(), name.as_mut_ptr().cast());
    // SAFETY: `pointer` is writable for `size` octets and both outlive the call.
    let result = unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, pointer, &raw mut size)
    };
    check(result).map_err(NetError::on("ask TCP for", "its congestion control"))?;
    let name = name.split(|&octet| octet == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    #[test]
    fn what_is_set_is_what_is_used() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        // Every kernel has reno and permits it to every process.
        set(&socket, "reno").unwrap();
        assert_eq!(get(&socket).unwrap(), "reno");
        let missing = set(&socket, "nonesuch").unwrap_err();
        assert!(missing.to_string().contains("nonesuch"), "{missing}");
        assert_eq!(missing.cause().kind(), io::ErrorKind::NotFound);
        let long = set(&socket, "reno_with_a_long_tail").unwrap_err();
        assert_eq!(long.cause().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(get(&socket).unwrap(), "reno");
    }

    #[test]
    fn only_tcp_has_one() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(set(&socket, "reno").is_err() && get(&socket).is_err());
    }
}
