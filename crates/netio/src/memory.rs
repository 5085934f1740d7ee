//! Counters of a socket's memory in the kernel (`SO_MEMINFO`, `sock_diag(7)`).
#![allow(unsafe_code, reason = "socket options")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::check;

/// Count of the numbers that `SO_MEMINFO` returns for a socket (`SK_MEMINFO_VARS`); the next
/// constant is the index of the one that counts dropped packets.
const NUMBERS: usize = 9;
const DROPS: usize = 8;

/// Returns the number of packets that the kernel dropped because the receive buffer of the socket
/// was full, since it was opened, modulo 2^32.
pub(crate) fn drops(socket: &impl AsFd) -> io::Result<u32> {
    let mut numbers = [0_u32; NUMBERS];
    let mut size = size_of_val(&numbers) as libc::socklen_t;
    let (fd, pointer) = (socket.as_fd().as_raw_fd(), numbers.as_mut_ptr().cast());
    let (level, option) = (libc::SOL_SOCKET, libc::SO_MEMINFO);
    // SAFETY: `pointer` is writable for `size` octets and `size` outlives the call.
    check(unsafe { libc::getsockopt(fd, level, option, pointer, &raw mut size) })?;
    Ok(numbers[DROPS])
}
