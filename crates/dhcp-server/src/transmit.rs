//! Transmission of a shard's replies through the batches of its listeners.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::Arc;

use base::Now;
use dhcp_engine::v4::Destination;
use dhcp_engine::v4::destination::CLIENT_PORT;
use dhcp_engine::{MeasuredRequest, Notice, ReplySink, v4, v6};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use netio::send::SendSource;
use netio::{FlushResult, PacketSendBatch, PollFd, SendBatch};
use packet_wire::frame;

use crate::latency::Stopwatch;
use crate::listeners::{ListenerSocket, ListenerSocketKind, ShardListener};
use crate::log;
use crate::message_log::NoticeRecorder;

/// Number of reply slots of a batch: replies that one flush sends, and the most that may wait for
/// it.
const BATCH_SLOTS: usize = 256;
/// Size of the slot for a reply in bytes: the largest UDP payload of a 1,500-byte frame fits.
const SLOT_BYTES: usize = 1_472;
/// Size of the slot for longer replies in bytes: all that UDP carries, which the kernel sends in
/// fragments.
const LONG_SLOT_BYTES: usize = 65_535;
/// Maximum number of times that a flush of replies may wait for a full socket before it gives up
/// the rest; each wait takes at most [`STALL_WAIT_NS`].
const STALLS_MAX: usize = 20;
const STALL_WAIT_NS: u64 = 5 * base::time::NS_PER_MS;
/// Hardware address of Ethernet broadcasts.
const EVERYONE: [u8; 6] = [0xff; 6];

/// Addressing of replies: their source, and destinations other than the standard ones, for tests
/// and labs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addressing {
    /// UDP port from which the server sends replies.
    pub(crate) server_port: u16,
    /// UDP port of the destination instead of 67 or 68 (Kea's `-P`).
    pub(crate) client_port: Option<u16>,
    /// True if the server replies to the datagram's source (Kea's
    /// `KEA_TEST_SEND_RESPONSES_TO_SOURCE`).
    pub(crate) to_source: bool,
    /// True if replies to relay agents leave by the interface that the routing table chooses
    /// (`outbound-interface` `use-routing`).
    pub(crate) is_routed: bool,
}

/// Batch of replies that wait to be sent by one listener.
enum Batch {
    Udp(SendBatch),
    Packet(PacketSendBatch),
}

/// Batches of replies of a shard's listeners; a listener's batch stays when other listeners open
/// and close.
pub(crate) struct Batches {
    /// Batches of replies with the listeners' numbers, in the order of the listeners.
    batches: Vec<(u16, Batch)>,
    /// Batch with one slot for a reply that is longer than the others; allocated for the first such
    /// reply.
    long: Option<Batch>,
    segmentation: bool,
}

impl Batches {
    /// Creates an empty set of batches; with `segmentation`, replies of equal length to one relay
    /// agent are sent together (`UDP_SEGMENT`).
    pub(crate) const fn new(segmentation: bool) -> Self {
        Self { batches: Vec::new(), long: None, segmentation }
    }

    /// Returns true if replies of equal length to one relay agent are sent together
    /// (`UDP_SEGMENT`).
    pub(crate) const fn segmentation(&self) -> bool {
        self.segmentation
    }

    /// Keeps one batch of replies for each of `listeners`. Batches of closed listeners must have
    /// been flushed.
    pub(crate) fn follow(&mut self, listeners: &[Arc<ShardListener>]) {
        let mut old = std::mem::take(&mut self.batches);
        for listener in listeners {
            let batch = match old.iter().position(|&(id, _)| id == listener.id) {
                Some(at) => old.swap_remove(at),
                None => (listener.id, self.make(&listener.socket)),
            };
            self.batches.push(batch);
        }
    }

    fn make(&self, socket: &ListenerSocket) -> Batch {
        match socket {
            ListenerSocket::Udp(_) => {
                Batch::Udp(SendBatch::new(BATCH_SLOTS, SLOT_BYTES, self.segmentation))
            }
            ListenerSocket::Packet(_) => {
                let slot_bytes = frame::PACKET_HEADROOM + SLOT_BYTES;
                Batch::Packet(PacketSendBatch::new(BATCH_SLOTS, slot_bytes))
            }
        }
    }
}

impl Batch {
    fn is_full(&self) -> bool {
        match self {
            Self::Udp(batch) => batch.is_full(),
            Self::Packet(batch) => batch.is_full(),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Udp(batch) => batch.is_empty(),
            Self::Packet(batch) => batch.is_empty(),
        }
    }

    fn flush_once(&mut self, socket: &ListenerSocket) -> FlushResult {
        match (self, socket) {
            (Self::Udp(batch), ListenerSocket::Udp(socket)) => batch.flush(socket),
            (Self::Packet(batch), ListenerSocket::Packet(socket)) => batch.flush(socket),
            _ => unreachable!("a batch is made for its socket"),
        }
    }

    fn discard(&mut self) -> usize {
        match self {
            Self::Udp(batch) => batch.discard(),
            Self::Packet(batch) => batch.discard(),
        }
    }

    /// Passes all replies of the batch to the kernel. Replies that it does not accept at once are
    /// tried again a bounded number of times, then given up: a full send buffer means that the link
    /// is the bottleneck, and clients send again. Returns the number of replies given up.
    fn flush(&mut self, socket: &ListenerSocket) -> usize {
        let mut unsent = 0;
        for _ in 0..STALLS_MAX {
            if self.is_empty() {
                return unsent;
            }
            let result = self.flush_once(socket);
            unsent += result.refused;
            if result.left == 0 {
                return unsent;
            }
            // A failed wait only means that the next flush comes early.
            netio::poll(&mut [PollFd::writable(socket)], Some(STALL_WAIT_NS)).ok();
        }
        unsent + self.discard()
    }
}

/// Route of a message, from its ingress, by which its reply leaves.
#[derive(Clone, Copy)]
struct ReplyRoute {
    listener_id: u16,
    interface: u32,
    /// Address that the message was sent to; unspecified if it is not one of the server's
    /// addresses.
    local: IpAddr,
    /// True if the reply goes to a link-local address.
    is_on_link: bool,
}

impl From<v4::Ingress> for ReplyRoute {
    fn from(ingress: v4::Ingress) -> Self {
        let (listener_id, interface) = (ingress.listener_index, ingress.interface);
        Self { listener_id, interface, local: ingress.local.into(), is_on_link: false }
    }
}

/// Transmitter of a shard's replies of one batch, sorted by their listener.
pub(crate) struct ReplyTransmitter<'d> {
    listeners: &'d [Arc<ShardListener>],
    batches: &'d mut Batches,
    addressing: Addressing,
    stopwatch: &'d mut Stopwatch,
    /// Recorder of notices about single DHCP messages, as far as loggers take notices.
    recorder: &'d mut NoticeRecorder,
    unsent: usize,
}

impl<'d> ReplyTransmitter<'d> {
    /// Creates an empty transmitter of replies through `listeners`, which `batches` follows.
    pub(crate) const fn new(
        listeners: &'d [Arc<ShardListener>],
        batches: &'d mut Batches,
        addressing: Addressing,
        stopwatch: &'d mut Stopwatch,
        recorder: &'d mut NoticeRecorder,
    ) -> Self {
        Self { listeners, batches, addressing, stopwatch, recorder, unsent: 0 }
    }

    /// Reads which notices about messages of the next batch the loggers take.
    pub(crate) fn read_topic_levels(&mut self) {
        self.recorder.set_topic_levels(log::topic_levels());
    }

    /// Sets the time at which the kernel accepted the flushed replies to the reading `now` of the
    /// clocks.
    pub(crate) fn settle(&mut self, now: Now) {
        self.stopwatch.settle(now.mono_ns);
        self.recorder.set_time(now.wall_us);
    }

    /// Passes all replies of the shard to the kernel. Returns the number of replies given up since
    /// the last call.
    pub(crate) fn flush(&mut self) -> usize {
        for (listener, (_, batch)) in self.listeners.iter().zip(&mut self.batches.batches) {
            self.unsent += batch.flush(&listener.socket);
        }
        std::mem::take(&mut self.unsent)
    }

    /// Returns the index of the listener of `kind` for a reply to a message that came by `route`:
    /// the same if it is of that kind, else one that reaches the same interface, preferably with
    /// the same address.
    fn listener_index(&self, kind: ListenerSocketKind, route: ReplyRoute) -> Option<usize> {
        let same = self.listeners.iter().position(|listener| listener.id == route.listener_id);
        if same.is_some_and(|at| self.listeners[at].endpoint.kind == kind) {
            return same;
        }
        let fits = |listener: &ShardListener| {
            listener.endpoint.kind == kind && listener.endpoint.reaches(route.interface)
        };
        let position = |is_preferred: &dyn Fn(&ShardListener) -> bool| {
            self.listeners.iter().position(|listener| fits(listener) && is_preferred(listener))
        };
        position(&|listener| listener.endpoint.address == route.local)
            .or_else(|| {
                position(&|listener| is_link_local(listener.endpoint.address) == route.is_on_link)
            })
            .or_else(|| position(&|_| true))
    }

    fn transmit_udp(
        &mut self,
        destination: SocketAddr,
        source: Option<SendSource>,
        route: ReplyRoute,
        octets: &[u8],
    ) -> bool {
        if octets.len() > SLOT_BYTES {
            return self.transmit_udp_fragmented(destination, source, route, octets);
        }
        let Some(Batch::Udp(batch)) = self.batch_with_room(ListenerSocketKind::Udp, route) else {
            return false;
        };
        let Some(slot) = batch.slot().and_then(|slot| slot.get_mut(..octets.len())) else {
            return false;
        };
        slot.copy_from_slice(octets);
        batch.commit(octets.len(), destination, source);
        true
    }

    /// Sends a reply that is longer than a frame to `destination` at once, in fragments.
    fn transmit_udp_fragmented(
        &mut self,
        destination: SocketAddr,
        source: Option<SendSource>,
        route: ReplyRoute,
        octets: &[u8],
    ) -> bool {
        let Some(at) = self.listener_index(ListenerSocketKind::Udp, route) else { return false };
        let make = || Batch::Udp(SendBatch::new(1, LONG_SLOT_BYTES, false));
        let long = self.batches.long.get_or_insert_with(make);
        let Batch::Udp(batch) = long else { return false };
        let Some(slot) = batch.slot().and_then(|slot| slot.get_mut(..octets.len())) else {
            return false;
        };
        slot.copy_from_slice(octets);
        batch.commit(octets.len(), destination, source);
        self.unsent += long.flush(&self.listeners[at].socket);
        true
    }

    fn transmit_packet(
        &mut self,
        mac: [u8; 6],
        destination: SocketAddrV4,
        ingress: v4::Ingress,
        octets: &[u8],
    ) -> bool {
        let source = SocketAddrV4::new(ingress.local, self.addressing.server_port);
        let Some(Batch::Packet(batch)) =
            self.batch_with_room(ListenerSocketKind::Packet, ReplyRoute::from(ingress))
        else {
            return false;
        };
        let payload = frame::PACKET_HEADROOM..frame::PACKET_HEADROOM + octets.len();
        let Some(slot) = batch.slot().filter(|slot| payload.end <= slot.len()) else {
            return false;
        };
        slot[payload].copy_from_slice(octets);
        let len = frame::seal_packet(slot, octets.len(), source, destination);
        batch.commit(len, ingress.interface, mac);
        true
    }

    fn batch_with_room(
        &mut self,
        kind: ListenerSocketKind,
        route: ReplyRoute,
    ) -> Option<&mut Batch> {
        let at = self.listener_index(kind, route)?;
        let batch = &mut self.batches.batches[at].1;
        if batch.is_full() {
            self.unsent += batch.flush(&self.listeners[at].socket);
        }
        Some(batch)
    }

    /// Returns true if an open packet socket reaches the interface of `ingress`; the socket that
    /// received the message may have been closed.
    fn has_packet_listener(&self, ingress: v4::Ingress) -> bool {
        ingress.interface != 0
            && self.listener_index(ListenerSocketKind::Packet, ReplyRoute::from(ingress)).is_some()
    }

    /// Sends a reply to a station of the link, in a frame that the server makes or, without a
    /// packet socket, by broadcast.
    fn on_link(
        &mut self,
        mac: [u8; 6],
        address: SocketAddrV4,
        ingress: v4::Ingress,
        octets: &[u8],
    ) -> bool {
        if self.has_packet_listener(ingress) {
            return self.transmit_packet(mac, address, ingress, octets);
        }
        let everyone = SocketAddrV4::new(Ipv4Addr::BROADCAST, address.port());
        let source = SendSource { address: ingress.local.into(), interface: ingress.interface };
        self.transmit_udp(everyone.into(), Some(source), ReplyRoute::from(ingress), octets)
    }
}

impl ReplySink<V4> for ReplyTransmitter<'_> {
    fn on_transmitted(&mut self, request: MeasuredRequest) {
        self.stopwatch.note(request);
    }

    fn is_listening(&self) -> bool {
        self.recorder.is_enabled()
    }

    fn on_notice(&self, notice: Notice<Destination>, octets: &[u8], ingress: v4::Ingress) {
        self.recorder.note_v4(notice, octets, ingress);
    }

    fn transmit(&mut self, destination: Destination, ingress: v4::Ingress, octets: &[u8]) -> bool {
        let to_source = self.addressing.to_source && !ingress.source.ip().is_unspecified();
        let port = |standard: u16| self.addressing.client_port.unwrap_or(standard);
        let is_routed = self.addressing.is_routed && matches!(destination, Destination::Relay(_));
        let interface = if is_routed { 0 } else { ingress.interface };
        let source = SendSource { address: ingress.local.into(), interface };
        let source = (!ingress.local.is_unspecified()).then_some(source);
        match destination {
            _ if to_source => {
                self.transmit_udp(ingress.source.into(), source, ReplyRoute::from(ingress), octets)
            }
            Destination::Relay(to) | Destination::Client(to) | Destination::PastRelay(to) => {
                let to = SocketAddrV4::new(*to.ip(), port(to.port()));
                let is_past_relay = matches!(destination, Destination::PastRelay(_));
                let fits = octets.len() <= SLOT_BYTES && self.has_packet_listener(ingress);
                match ingress.mac {
                    // As in Kea: no ARP, which not every link and client answers, and no route.
                    Some(mac) if fits && !is_routed && !is_past_relay => {
                        self.transmit_packet(mac, to, ingress, octets)
                    }
                    _ => self.transmit_udp(to.into(), source, ReplyRoute::from(ingress), octets),
                }
            }
            Destination::Hardware { mac, address } => {
                let address = SocketAddrV4::new(*address.ip(), port(address.port()));
                self.on_link(mac, address, ingress, octets)
            }
            Destination::Broadcast => {
                let everyone = SocketAddrV4::new(Ipv4Addr::BROADCAST, port(CLIENT_PORT));
                self.on_link(EVERYONE, everyone, ingress, octets)
            }
        }
    }
}

impl ReplySink<V6> for ReplyTransmitter<'_> {
    fn on_transmitted(&mut self, request: MeasuredRequest) {
        self.stopwatch.note(request);
    }

    fn is_listening(&self) -> bool {
        self.recorder.is_enabled()
    }

    fn on_notice(&self, notice: Notice<SocketAddrV6>, octets: &[u8], ingress: v6::Ingress) {
        self.recorder.note_v6(notice, octets, ingress);
    }

    fn transmit(&mut self, destination: SocketAddrV6, ingress: v6::Ingress, octets: &[u8]) -> bool {
        let mut to = destination;
        if self.addressing.to_source {
            to = ingress.source;
        } else if let Some(port) = self.addressing.client_port {
            to.set_port(port);
        }
        // The reply to a multicast message comes from the address of the listener.
        let interface = if to.ip().is_unicast_link_local() { ingress.interface } else { 0 };
        let source = SendSource { address: ingress.local.into(), interface };
        let (listener_id, local) = (ingress.listener_index, ingress.local.into());
        let is_on_link = to.ip().is_unicast_link_local();
        let route = ReplyRoute { listener_id, interface: ingress.interface, local, is_on_link };
        self.transmit_udp(to.into(), Some(source), route, octets)
    }
}

const fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use netio::{RecvBatch, UdpOptions, UdpSocket};

    use super::*;
    use crate::latency::Latencies;
    use crate::listeners::ListenerEndpoint;
    use crate::message_log::MessageLog;

    #[test]
    fn where_the_packet_socket_is_gone_an_address_is_answered_by_udp() {
        let open = || UdpSocket::open(&UdpOptions::at((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let (socket, peer) = (ListenerSocket::Udp(open()), open());
        let SocketAddr::V4(to) = peer.local_address().unwrap() else { unreachable!() };
        let endpoint = ListenerEndpoint {
            kind: ListenerSocketKind::Udp,
            device: None,
            address: Ipv4Addr::LOCALHOST.into(),
        };
        let listeners =
            [Arc::new(ShardListener { id: 1, endpoint, socket, express: None, shard: (0, 1) })];
        let mut batches = Batches::new(false);
        batches.follow(&listeners);
        let mut stopwatch = Stopwatch::new(Arc::new(Latencies::new::<V4>()));
        let addressing = Addressing::default();
        let mut recorder = NoticeRecorder::new(MessageLog::new(1).mailbox(0));
        let mut replies = ReplyTransmitter::new(
            &listeners,
            &mut batches,
            addressing,
            &mut stopwatch,
            &mut recorder,
        );
        let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68);
        // The message came through a packet socket of another number on the loopback interface.
        let ingress = v4::Ingress {
            interface: 1,
            mac: Some([2, 0, 0, 0, 0, 1]),
            ..v4::Ingress::routed(nowhere, Ipv4Addr::LOCALHOST)
        };
        let destinations = [Destination::Client, Destination::Relay, Destination::PastRelay];
        for (destination, text) in destinations.into_iter().zip([b"1", b"2", b"3"]) {
            assert!(ReplySink::<V4>::transmit(&mut replies, destination(to), ingress, text));
        }
        assert_eq!(replies.flush(), 0, "none is given up");
        let mut batch = RecvBatch::default();
        let mut received = Vec::new();
        while received.len() < 3 {
            let mut fds = [PollFd::readable(&peer)];
            assert!(netio::poll(&mut fds, Some(300_000_000_000)).unwrap() > 0, "{received:?}");
            batch.receive(&peer).unwrap();
            received.extend(batch.iter().map(|datagram| datagram.octets.to_vec()));
        }
        // Where the sender changes processors, loopback may change the order.
        received.sort_unstable();
        assert_eq!(received, [b"1", b"2", b"3"]);
    }
}
