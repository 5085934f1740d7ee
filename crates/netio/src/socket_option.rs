//! Options of sockets (`setsockopt(2)`, `getsockopt(2)`).
#![allow(unsafe_code, reason = "setsockopt, getsockopt")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::check;

/// Socket whose options can be set and read.
pub(crate) trait SocketOptions: AsFd {
    /// Sets the option `option` to a number.
    fn set(&self, level: i32, option: i32, value: i32) -> io::Result<()> {
        self.set_octets(level, option, &value.to_ne_bytes())
    }

    /// Sets the option `option` to bytes.
    fn set_octets(&self, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
        let (fd, size) = (self.as_fd().as_raw_fd(), value.len() as libc::socklen_t);
        // SAFETY: `value` is readable for `size` octets during the call, which only reads it.
        check(unsafe { libc::setsockopt(fd, level, option, value.as_ptr().cast(), size) }).map(drop)
    }

    /// Sets the option `option` to a structure of the kernel.
    fn set_struct<V: Copy>(&self, level: i32, option: i32, value: &V) -> io::Result<()> {
        let (fd, size) = (self.as_fd().as_raw_fd(), size_of::<V>() as libc::socklen_t);
        let pointer = std::ptr::from_ref(value).cast();
        // SAFETY: `value` is readable for `size` octets during the call, which only reads it.
        check(unsafe { libc::setsockopt(fd, level, option, pointer, size) }).map(drop)
    }

    /// Sets the size of a buffer of the socket to `bytes` of kernel memory: with the option
    /// `forced` if this process may exceed the kernel's limit, otherwise with `capped`.
    fn set_buffer(&self, forced: i32, capped: i32, bytes: usize) -> io::Result<()> {
        // The kernel doubles the value, to pay for its own bookkeeping.
        let value = libc::c_int::try_from(bytes / 2).unwrap_or(libc::c_int::MAX / 2);
        self.set(libc::SOL_SOCKET, forced, value)
            .or_else(|_| self.set(libc::SOL_SOCKET, capped, value))
    }

    /// Returns the numbers of the option `option`.
    fn get<const N: usize>(&self, level: i32, option: i32) -> io::Result<[u32; N]> {
        let mut numbers = [0_u32; N];
        let mut size = size_of_val(&numbers) as libc::socklen_t;
        let (fd, pointer) = (self.as_fd().as_raw_fd(), numbers.as_mut_ptr().cast());
        // SAFETY: `pointer` is writable for `size` octets and both outlive the call.
        check(unsafe { libc::getsockopt(fd, level, option, pointer, &raw mut size) })?;
        Ok(numbers)
    }
}

impl<S: AsFd> SocketOptions for S {}
