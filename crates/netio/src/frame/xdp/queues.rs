//! Number of transmit queues of an interface.
#![allow(unsafe_code, reason = "ioctl")]

use std::io;
use std::os::fd::AsRawFd;

use crate::frame::{FrameSocket, request, subject};
use crate::interface::Interface;
use crate::{NetError, check};

/// Command `ETHTOOL_GCHANNELS` of ethtool, which reads the numbers of an interface's queues.
const GET_CHANNELS: u32 = 0x3c;

/// Structure `ethtool_channels` of the kernel: numbers of an interface's queues.
#[derive(Default)]
#[repr(C)]
struct Channels {
    command: u32,
    /// Largest possible numbers of queues of each kind: to receive, to send, for other purposes,
    /// combined.
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// Returns the number of queues through which `interface` sends now; 1 if the interface does not
/// report it.
///
/// # Errors
///
/// The step that failed; `EPERM` without the capability to open a packet socket (`CAP_NET_RAW`).
pub fn transmit_queues(interface: &Interface) -> Result<u32, NetError> {
    let socket = FrameSocket::open(&subject(interface))?;
    match channels(&socket, &interface.name) {
        Ok(channels) => Ok((channels.transmit + channels.combined).max(1)),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(1),
        Err(error) => Err(NetError::new("ask for the queues of", &interface.name, error)),
    }
}

fn channels(socket: &FrameSocket, name: &str) -> io::Result<Channels> {
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    let mut request = request(name);
    request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    // SAFETY: `request` is an ifreq whose name ends in a zero and whose pointer leads to the
    // structure that the command writes; both outlive the call.
    check(unsafe { libc::ioctl(socket.fd.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) })?;
    Ok(channels)
}
