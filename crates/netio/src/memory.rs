//! Counters of a socket's memory in the kernel (`SO_MEMINFO`, `sock_diag(7)`).

use std::io;
use std::os::fd::AsFd;

use crate::socket_option::SocketOptions;

/// Count of the numbers that `SO_MEMINFO` returns for a socket (`SK_MEMINFO_VARS`); the next
/// constant is the index of the one that counts dropped packets.
const NUMBERS: usize = 9;
const DROPS: usize = 8;

/// Returns the number of packets that the kernel dropped because the receive buffer of the socket
/// was full, since it was opened, modulo 2^32.
pub(crate) fn drops(socket: &impl AsFd) -> io::Result<u32> {
    Ok(socket.get::<NUMBERS>(libc::SOL_SOCKET, libc::SO_MEMINFO)?[DROPS])
}
