//! UDP sockets of the updater: one for requests, and one of each family for DNS servers.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use netio::UdpOptions;

use crate::ServerError;

/// Size of the receive buffer for requests, in bytes of kernel memory: a server that restarts may
/// send one for each of its leases.
const REQUEST_BUFFER_BYTES: usize = 32 << 20;
/// Maximum number of datagrams that one turn of the loop takes from a socket.
const DATAGRAMS_PER_TURN: usize = 256;
/// Size of the largest datagram.
const DATAGRAM_MAX: usize = 65_535;

/// Socket for name change requests.
#[derive(Debug)]
pub(super) struct RequestSocket {
    pub(super) socket: UdpSocket,
    pub(super) address: SocketAddr,
}

impl RequestSocket {
    /// Opens the socket at `address`.
    ///
    /// # Errors
    ///
    /// The step that failed, and the address.
    pub(super) fn open(address: SocketAddr) -> Result<Self, ServerError> {
        let mut options = UdpOptions::at(address);
        options.receive_buffer_bytes = Some(REQUEST_BUFFER_BYTES);
        let socket = netio::UdpSocket::open(&options).map_err(ServerError::Socket)?;
        let descriptor = socket.as_fd().try_clone_to_owned().map_err(|cause| {
            ServerError::System { tried: "open a socket for name change requests", cause }
        })?;
        Ok(Self { socket: UdpSocket::from(descriptor), address })
    }
}

/// Sockets for DNS servers. The kernel chooses their ports.
#[derive(Debug)]
pub(super) struct ServerSockets {
    pub(super) v4: Option<UdpSocket>,
    pub(super) v6: Option<UdpSocket>,
}

impl ServerSockets {
    /// Opens both sockets. A machine may lack one family.
    ///
    /// # Errors
    ///
    /// The error of the operating system if there is neither.
    pub(super) fn open() -> Result<Self, ServerError> {
        let v4 = bound(Ipv4Addr::UNSPECIFIED.into());
        let v6 = bound(Ipv6Addr::UNSPECIFIED.into());
        match (v4, v6) {
            (Err(cause), Err(_)) => {
                Err(ServerError::System { tried: "open a socket for DNS servers", cause })
            }
            (v4, v6) => Ok(Self { v4: v4.ok(), v6: v6.ok() }),
        }
    }

    /// Sends a datagram. One that cannot be sent is lost: the update is repeated after its time.
    pub(super) fn send(&self, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        let socket = if to.is_ipv4() { &self.v4 } else { &self.v6 };
        let socket = socket.as_ref().ok_or(ErrorKind::Unsupported)?;
        socket.send_to(bytes, to).map(drop)
    }
}

fn bound(address: IpAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((address, 0))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Calls `take` with the datagrams that wait at `socket`, up to a number, and their sources.
/// Returns false if there may be more.
pub(super) fn receive(socket: &UdpSocket, mut take: impl FnMut(SocketAddr, &[u8])) -> bool {
    let mut buffer = vec![0; DATAGRAM_MAX];
    for _ in 0..DATAGRAMS_PER_TURN {
        match socket.recv_from(&mut buffer) {
            Ok((len, from)) => take(from, &buffer[..len]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            // The error of an earlier datagram, such as an ICMP message about it.
            Err(_) => {}
        }
    }
    false
}
