//! Sockets of other processes: reading the receive buffer that the kernel gave them, and setting
//! another one, for measurements of programs that have no such setting. See `pidfd_getfd(2)`; Linux
//! 5.6 and later.
#![allow(unsafe_code, reason = "pidfd_open, pidfd_getfd")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::{UdpSocket, check};

/// Returns a copy of descriptor `fd` of process `pid`, which must be a UDP socket. Both processes
/// share the socket from now on; the other process's descriptor stays open when this one is
/// dropped.
///
/// # Errors
///
/// `ESRCH` and `EBADF` if there is no such process or descriptor, `EPERM` if the caller may not
/// trace the process, `ENOSYS` if the kernel is too old.
pub fn udp_socket_of(pid: u32, fd: RawFd) -> io::Result<UdpSocket> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: no pointers; the result is checked.
    let process = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: as above.
    let fd_number = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) };
    Ok(UdpSocket::from(owned(fd_number)?))
}

/// Converts the result of a system call that has just opened a descriptor into that descriptor, or
/// into the call's error.
fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    let fd = check(result as libc::c_int)?;
    // SAFETY: `fd` was just opened and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket as StdSocket};

    use super::*;

    #[test]
    fn a_socket_of_a_process_is_the_same_socket() {
        let own = StdSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let there = match udp_socket_of(std::process::id(), own.as_raw_fd()) {
            Ok(there) => there,
            // A sandbox may forbid it, which is the other legitimate outcome.
            Err(error) => {
                let known = [libc::EPERM, libc::ENOSYS];
                assert!(known.contains(&error.raw_os_error().unwrap()), "{error}");
                return;
            }
        };
        assert_eq!(there.local_address().unwrap(), own.local_addr().unwrap());
        there.set_receive_buffer(40_000).unwrap();
        drop(there);
        let again = udp_socket_of(std::process::id(), own.as_raw_fd()).unwrap();
        assert_eq!(again.receive_buffer_bytes().unwrap(), 40_000);
        let error = udp_socket_of(std::process::id(), 1 << 20).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    }
}
