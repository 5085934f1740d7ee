//! One socket of an endpoint, UDP or raw, and the batches that move its datagrams.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dccp::connection::Ecn;
use dccp::endpoint::{Carrier, ConnectionKey};
use dccp::header::checksum::PROTOCOL;
use netio::{
    InboundDatagram, NetError, PollFd, RawOptions, RawSocket, ReadyList, RecvBatch, SendBatch,
    SendSource, UdpOptions, UdpSocket, path_error,
};

use netio::path_error::PathError;

use super::{CarrierKind, PACKET_BYTES_MAX};
use super::{is_link_local, socket_address};

/// Packets that one system call receives from a raw socket at most.
const SLOTS: usize = 64;
/// Packets in each batch of a socket for a single connection; its batches take 300 KiB.
const SMALL_SLOTS: usize = 16;
/// Largest number of packets of a socket that wait for the kernel at once.
const SEND_SLOTS: usize = 128;
/// Code point ECT(0) of the ECN field, which permits the network to mark a packet (RFC 3168 §5).
const ECT_0: u8 = 2;
/// Longest IPv4 header, in bytes.
const IP_HEADER_MAX: usize = 60;

pub(super) enum CarrierSocket {
    Udp(UdpSocket),
    Raw(RawSocket),
}

impl CarrierSocket {
    pub(super) fn poll_fd(&self, wants_room: bool) -> PollFd<'_> {
        match self {
            Self::Udp(socket) if wants_room => PollFd::readable_or_writable(socket),
            Self::Udp(socket) => PollFd::readable(socket),
            Self::Raw(socket) if wants_room => PollFd::readable_or_writable(socket),
            Self::Raw(socket) => PollFd::readable(socket),
        }
    }
}

/// Socket of one address family with its batches for sending and receiving.
pub(super) struct AddressFamilySocket {
    pub(super) socket: Arc<CarrierSocket>,
    pub(super) receive: RecvBatch,
    pub(super) send: SendBatch,
    bound: SocketAddr,
    /// Count of datagrams of the last receive call that were passed on.
    delivered: usize,
}

impl AddressFamilySocket {
    /// Opens a UDP or raw socket at `address`, on the interface `scope` if the address is
    /// link-local.
    pub(super) fn open(
        kind: CarrierKind,
        address: IpAddr,
        scope: u32,
        buffer_bytes: usize,
    ) -> Result<Self, NetError> {
        match kind {
            CarrierKind::Udp { port } => {
                Self::open_udp(socket_address(address, port, scope), buffer_bytes, true)
            }
            CarrierKind::Raw { .. } => {
                let options = RawOptions {
                    bind: address,
                    protocol: PROTOCOL,
                    receive_buffer_bytes: buffer_bytes,
                    send_buffer_bytes: buffer_bytes,
                };
                let socket = RawSocket::open_in_scope(&options, scope)?;
                path_error::report(&socket, address.is_ipv4())?;
                Ok(Self {
                    socket: Arc::new(CarrierSocket::Raw(socket)),
                    receive: RecvBatch::new(SLOTS, PACKET_BYTES_MAX + IP_HEADER_MAX),
                    send: SendBatch::new(SEND_SLOTS, PACKET_BYTES_MAX, false).with_path_errors(),
                    bound: socket_address(address, 0, scope),
                    delivered: 0,
                })
            }
        }
    }

    /// Opens a UDP socket, with large batches for many connections or small ones for a single
    /// connection.
    fn open_udp(bind: SocketAddr, buffer_bytes: usize, is_large: bool) -> Result<Self, NetError> {
        let socket = UdpSocket::open(&UdpOptions {
            packet_info: true,
            ecn: true,
            coalesce: is_large,
            receive_buffer_bytes: Some(buffer_bytes),
            send_buffer_bytes: Some(buffer_bytes),
            ..UdpOptions::at(bind)
        })?;
        path_error::report(&socket, bind.is_ipv4())?;
        let failed = |cause| NetError::new("get the address of", bind.to_string(), cause);
        let bound = socket.local_address().map_err(failed)?;
        let slots = if is_large { SEND_SLOTS } else { SMALL_SLOTS };
        let send = SendBatch::new(slots, PACKET_BYTES_MAX, socket.supports_segmentation())
            .with_path_errors();
        let receive = if is_large {
            RecvBatch::coalescing()
        } else {
            RecvBatch::new(SMALL_SLOTS, PACKET_BYTES_MAX)
        };
        Ok(Self {
            socket: Arc::new(CarrierSocket::Udp(socket)),
            receive,
            send,
            bound,
            delivered: 0,
        })
    }

    /// Opens another UDP socket at the same address, for a single connection, with a port that the
    /// kernel chooses.
    pub(super) fn open_another(&self, buffer_bytes: usize) -> Result<Self, NetError> {
        let mut bind = self.bound;
        bind.set_port(0);
        Self::open_udp(bind, buffer_bytes, false)
    }

    /// Adds the socket to `list` under `number`; the list then reports received packets.
    pub(super) fn watch(&self, list: &ReadyList, number: u32) -> std::io::Result<()> {
        match &*self.socket {
            CarrierSocket::Udp(socket) => list.add(socket, number),
            CarrierSocket::Raw(socket) => list.add(socket, number),
        }
    }

    /// Sets if `list` also reports that the socket has room for packets.
    pub(super) fn set_wants_room(
        &self,
        list: &ReadyList,
        number: u32,
        wants_room: bool,
    ) -> std::io::Result<()> {
        match &*self.socket {
            CarrierSocket::Udp(socket) => list.set_wants_room(socket, number, wants_room),
            CarrierSocket::Raw(socket) => list.set_wants_room(socket, number, wants_room),
        }
    }

    pub(super) const fn is_v4(&self) -> bool {
        self.bound.is_ipv4()
    }

    /// Returns the local UDP port of the socket; `None` for a raw socket.
    pub(super) fn udp_port(&self) -> Option<u16> {
        match *self.socket {
            CarrierSocket::Udp(_) => Some(self.bound.port()),
            CarrierSocket::Raw(_) => None,
        }
    }

    pub(super) fn receive(&mut self) -> usize {
        self.delivered = 0;
        let received = match &*self.socket {
            CarrierSocket::Udp(socket) => self.receive.receive(socket),
            CarrierSocket::Raw(socket) => self.receive.receive(socket),
        };
        // Errors that are reported here concern earlier packets, which were lost: the batch is
        // empty.
        received.unwrap_or(0)
    }

    /// Returns true if the last receive call has datagrams that were not passed on yet.
    pub(super) fn has_next(&self) -> bool {
        self.delivered < self.receive.len()
    }

    /// Returns the next datagram of the last receive call: the connection's key without DCCP ports,
    /// ECN field, and the bytes from the DCCP header on; the inner `None` is a datagram that is no
    /// DCCP packet.
    pub(super) fn next(&mut self) -> Option<Option<(ConnectionKey, Ecn, &[u8])>> {
        if !self.has_next() {
            return None;
        }
        let datagram = self.receive.get(self.delivered);
        self.delivered += 1;
        let octets = match *self.socket {
            CarrierSocket::Raw(_) if self.is_v4() => after_ip_header(datagram.octets),
            CarrierSocket::Udp(_) | CarrierSocket::Raw(_) => Some(datagram.octets),
        };
        let key = self.key(&datagram);
        let ecn = match datagram.ecn {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable1,
            ECT_0 => Ecn::Capable0,
            _ => Ecn::Marked,
        };
        Some(key.zip(octets).map(|(key, octets)| (key, ecn, octets)))
    }

    /// Returns an error that the network reports about a sent packet of this socket, and writes the
    /// quoted part of the packet to `buffer`.
    pub(super) fn path_error(&self, buffer: &mut [u8]) -> Option<PathError> {
        match &*self.socket {
            CarrierSocket::Udp(socket) => path_error::receive(socket, buffer),
            CarrierSocket::Raw(socket) => path_error::receive(socket, buffer),
        }
    }

    fn key(&self, datagram: &InboundDatagram<'_>) -> Option<ConnectionKey> {
        let carrier = match self.udp_port() {
            Some(local_port) => Carrier::Udp { local_port, remote_port: datagram.source.port() },
            None => Carrier::Ip,
        };
        // Connections are between two hosts: a packet to a multicast group belongs to none.
        if datagram.destination != datagram.local {
            return None;
        }
        let local = datagram.local?;
        let remote = datagram.source.ip();
        let scope = if is_link_local(remote) { datagram.interface } else { 0 };
        Some(ConnectionKey { local, remote, carrier, local_port: 0, remote_port: 0, scope })
    }

    /// Returns true if the socket's batch has room for one more packet.
    pub(super) fn has_room(&self) -> bool {
        !self.send.is_full()
    }

    /// Stages a packet of the connection `key`; with `is_ecn_capable` the network may mark it. The
    /// code point is never ECT(1): the remaining use of the nonce is its value 0 (RFC 8311 §4).
    pub(super) fn commit(&mut self, key: &ConnectionKey, packet: &[u8], is_ecn_capable: bool) {
        let port = match key.carrier {
            Carrier::Udp { remote_port, .. } => remote_port,
            Carrier::Ip => 0,
        };
        let slot = self.send.slot().expect("asked for room before");
        slot[..packet.len()].copy_from_slice(packet);
        let source = SendSource { address: key.local, interface: key.scope };
        let destination = socket_address(key.remote, port, key.scope);
        let ecn = if is_ecn_capable { ECT_0 } else { 0 };
        self.send.commit_ecn(packet.len(), destination, Some(source), ecn);
    }

    pub(super) fn flush(&mut self) {
        if self.send.is_empty() {
            return;
        }
        match &*self.socket {
            CarrierSocket::Udp(socket) => self.send.flush(socket),
            CarrierSocket::Raw(socket) => self.send.flush(socket),
        };
    }
}

/// Returns the bytes after the IPv4 header of a packet, whose length is in that header.
fn after_ip_header(packet: &[u8]) -> Option<&[u8]> {
    let words = usize::from(*packet.first()? & 0xf);
    packet.get(words * 4..)
}
