//! One socket, of UDP or raw, and the batches that move its datagrams.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dccp::connection::Ecn;
use dccp::endpoint::{Carrier, Key};
use dccp::header::checksum::PROTOCOL;
use netio::{
    Datagram, NetError, PollFd, RawOptions, RawSocket, RecvBatch, SendBatch, Source, UdpOptions,
    UdpSocket, path_error,
};

use netio::path_error::PathError;

use super::{CarrierKind, PACKET_BYTES_MAX};

/// Packets in one system call without coalescing.
const SLOTS: usize = 64;
/// Packets that wait for the kernel at once.
const SEND_SLOTS: usize = 128;
/// An IPv4 header is never longer.
const IP_HEADER_MAX: usize = 60;

pub(super) enum Socket {
    Udp(UdpSocket),
    Raw(RawSocket),
}

impl Socket {
    pub(super) fn poll_fd(&self, wants_room: bool) -> PollFd<'_> {
        match self {
            Self::Udp(socket) if wants_room => PollFd::readable_or_writable(socket),
            Self::Udp(socket) => PollFd::readable(socket),
            Self::Raw(socket) if wants_room => PollFd::readable_or_writable(socket),
            Self::Raw(socket) => PollFd::readable(socket),
        }
    }
}

/// Socket and batches of one address family.
pub(super) struct Way {
    pub(super) socket: Arc<Socket>,
    pub(super) receive: RecvBatch,
    pub(super) send: SendBatch,
    bound: SocketAddr,
    /// Datagrams of the last call that were given on.
    delivered: usize,
}

impl Way {
    pub(super) fn open(
        kind: CarrierKind,
        address: IpAddr,
        buffer_bytes: usize,
    ) -> Result<Self, NetError> {
        match kind {
            CarrierKind::Udp { port } => {
                Self::open_udp(SocketAddr::new(address, port), buffer_bytes)
            }
            CarrierKind::Raw { .. } => {
                let socket = RawSocket::open(&RawOptions {
                    bind: address,
                    protocol: PROTOCOL,
                    receive_buffer_bytes: buffer_bytes,
                    send_buffer_bytes: buffer_bytes,
                })?;
                path_error::report(&socket, address.is_ipv4())?;
                Ok(Self {
                    socket: Arc::new(Socket::Raw(socket)),
                    receive: RecvBatch::new(SLOTS, PACKET_BYTES_MAX + IP_HEADER_MAX),
                    send: SendBatch::new(SEND_SLOTS, PACKET_BYTES_MAX, false),
                    bound: SocketAddr::new(address, 0),
                    delivered: 0,
                })
            }
        }
    }

    fn open_udp(bind: SocketAddr, buffer_bytes: usize) -> Result<Self, NetError> {
        let socket = UdpSocket::open(&UdpOptions {
            packet_info: true,
            coalesce: true,
            receive_buffer_bytes: Some(buffer_bytes),
            send_buffer_bytes: Some(buffer_bytes),
            ..UdpOptions::at(bind)
        })?;
        path_error::report(&socket, bind.is_ipv4())?;
        let asked = |cause| NetError::new("ask for the address of", bind.to_string(), cause);
        let bound = socket.local_address().map_err(asked)?;
        let send = SendBatch::new(SEND_SLOTS, PACKET_BYTES_MAX, socket.supports_segmentation());
        let receive = RecvBatch::coalescing();
        Ok(Self { socket: Arc::new(Socket::Udp(socket)), receive, send, bound, delivered: 0 })
    }

    pub(super) const fn is_v4(&self) -> bool {
        self.bound.is_ipv4()
    }

    /// The own UDP port.
    pub(super) fn udp_port(&self) -> Option<u16> {
        match *self.socket {
            Socket::Udp(_) => Some(self.bound.port()),
            Socket::Raw(_) => None,
        }
    }

    pub(super) fn receive(&mut self) -> usize {
        self.delivered = 0;
        let received = match &*self.socket {
            Socket::Udp(socket) => self.receive.receive(socket),
            Socket::Raw(socket) => self.receive.receive(socket),
        };
        // What is reported here are errors of earlier packets, which were lost: the batch is empty.
        received.unwrap_or(0)
    }

    /// The next datagram of the last call: its key without DCCP ports, and the octets from the DCCP
    /// header on; both are missing when it is nothing of DCCP.
    pub(super) fn next(&mut self) -> Option<Option<(Key, Ecn, &[u8])>> {
        if self.delivered == self.receive.len() {
            return None;
        }
        let datagram = self.receive.get(self.delivered);
        self.delivered += 1;
        let octets = match *self.socket {
            Socket::Raw(_) if self.is_v4() => behind_ip_header(datagram.octets),
            Socket::Udp(_) | Socket::Raw(_) => Some(datagram.octets),
        };
        let key = self.key(&datagram);
        Some(key.zip(octets).map(|(key, octets)| (key, Ecn::NotCapable, octets)))
    }

    /// What the network said of a packet that was sent: the error, and what is left of the packet.
    pub(super) fn path_error<'a>(&self, buffer: &'a mut [u8]) -> Option<(PathError, &'a [u8])> {
        let error = match &*self.socket {
            Socket::Udp(socket) => path_error::receive(socket, buffer),
            Socket::Raw(socket) => path_error::receive(socket, buffer),
        }?;
        let quoted = &buffer[..error.quoted_len];
        Some((error, quoted))
    }

    fn key(&self, datagram: &Datagram<'_>) -> Option<Key> {
        let carrier = match self.udp_port() {
            Some(local_port) => Carrier::Udp { local_port, remote_port: datagram.source.port() },
            None => Carrier::Ip,
        };
        // Connections are between two stations: what came to a group is nobody's.
        let local = datagram.local.filter(|_| datagram.destination == datagram.local)?;
        Some(Key { local, remote: datagram.source.ip(), carrier, local_port: 0, remote_port: 0 })
    }

    /// Whether one more packet can be staged.
    pub(super) fn has_room(&mut self) -> bool {
        !self.send.is_full()
    }

    pub(super) fn commit(&mut self, key: &Key, packet: &[u8]) {
        let port = match key.carrier {
            Carrier::Udp { remote_port, .. } => remote_port,
            Carrier::Ip => 0,
        };
        let slot = self.send.slot().expect("asked for room before");
        slot[..packet.len()].copy_from_slice(packet);
        let source = Source { address: key.local, interface: 0 };
        self.send.commit(packet.len(), SocketAddr::new(key.remote, port), Some(source));
    }

    pub(super) fn flush(&mut self) {
        if self.send.is_empty() {
            return;
        }
        match &*self.socket {
            Socket::Udp(socket) => self.send.flush(socket),
            Socket::Raw(socket) => self.send.flush(socket),
        };
    }
}

/// What follows the IPv4 header, whose length it says itself.
fn behind_ip_header(packet: &[u8]) -> Option<&[u8]> {
    let words = usize::from(*packet.first()? & 0xf);
    packet.get(words * 4..)
}
