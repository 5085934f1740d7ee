//! Detection of changes of interfaces or their addresses, by a `NETLINK_ROUTE` socket
//! (`rtnetlink(7)`) whose messages only show that the list of interfaces is to be read again
//! ([`crate::interface::list`]).
#![allow(unsafe_code, reason = "socket, bind, recv")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::{NetError, check};

/// Descriptor that is readable when interfaces or addresses of its network namespace have changed.
/// The namespace is the one in which it was opened.
#[derive(Debug)]
pub struct InterfaceWatch {
    fd: OwnedFd,
}

impl InterfaceWatch {
    /// Opens a watch of the interfaces and the addresses of both families from now on.
    ///
    /// # Errors
    ///
    /// No descriptor is left.
    pub fn open() -> Result<Self, NetError> {
        let subject = "a socket for changes of interfaces";
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers; the result is checked.
        let raw = check(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })
            .map_err(NetError::on("open", subject))?;
        // SAFETY: `raw` was just opened and belongs to nobody else.
        let watch = Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } };
        // SAFETY: an all-zero sockaddr_nl is a valid one.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        let groups = libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
        address.nl_groups = groups.cast_unsigned();
        let size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: `address` is a sockaddr_nl of `size` octets and outlives the call.
        check(unsafe { libc::bind(raw, (&raw const address).cast(), size) })
            .map_err(NetError::on("bind", subject))?;
        Ok(watch)
    }

    /// Makes the descriptor unreadable again; returns true if interfaces or addresses had changed.
    pub fn drain(&self) -> bool {
        let (fd, mut has_changed) = (self.fd.as_raw_fd(), false);
        let mut octets = [0_u8; 4_096];
        loop {
            // SAFETY: `octets` is writable for its length.
            let result = unsafe {
                let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
                libc::recv(fd, octets.as_mut_ptr().cast(), octets.len(), flags)
            };
            if result >= 0 {
                has_changed = true;
                continue;
            }
            match std::io::Error::last_os_error().raw_os_error() {
                // Messages were lost, so there were some.
                Some(libc::ENOBUFS) => has_changed = true,
                Some(libc::EINTR) => {}
                _ => return has_changed,
            }
        }
    }
}

impl AsFd for InterfaceWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
