//! From a decided reply to a socket's transmit batch.

use std::net::SocketAddrV4;

use dhcp_engine::v4::{Ingress, Transmit};
use netio::send::Source;
use netio::{SendBatch, UdpSocket};

/// Replies of one batch, sorted by the socket that their messages came through.
pub(crate) struct Replies<'s> {
    sockets: &'s [UdpSocket],
    batches: Vec<SendBatch>,
    addressing: Addressing,
}

/// Where replies go when not to the standard place; both are for tests and labs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addressing {
    /// Kea's `-P`: this port instead of 67 or 68.
    pub(crate) client_port: Option<u16>,
    /// Kea's `KEA_TEST_SEND_RESPONSES_TO_SOURCE`: back to where the datagram came from.
    pub(crate) to_source: bool,
}

impl Addressing {
    fn apply(self, destination: SocketAddrV4, ingress: Ingress) -> SocketAddrV4 {
        if self.to_source {
            return ingress.source;
        }
        match self.client_port {
            Some(port) => SocketAddrV4::new(*destination.ip(), port),
            None => destination,
        }
    }
}

impl<'s> Replies<'s> {
    /// Empty batches, one per socket. `segmentation` joins equal replies to one relay.
    pub(crate) fn new(
        sockets: &'s [UdpSocket],
        segmentation: bool,
        addressing: Addressing,
    ) -> Self {
        let batch = || SendBatch::new(BATCH_SLOTS, SLOT_BYTES, segmentation);
        Self { sockets, batches: sockets.iter().map(|_| batch()).collect(), addressing }
    }

    /// Hands everything to the kernel. What it does not take at once is tried again a bounded
    /// number of times, then given up and counted: a full send buffer means that the link is the
    /// bottleneck, and clients send again. Returns how many replies were given up.
    pub(crate) fn flush(&mut self) -> usize {
        let pairs = self.batches.iter_mut().zip(self.sockets);
        pairs.map(|(batch, socket)| flush_one(batch, socket)).sum()
    }
}

/// Replies per system call, and room for one batch's releases before a flush is forced.
const BATCH_SLOTS: usize = 256;
/// Octets of a slot: the largest UDP payload of a 1,500-octet frame fits.
const SLOT_BYTES: usize = 1_472;
/// Flushes that may stall before the rest is given up; each waits at most [`STALL_WAIT_NS`].
const STALLS_MAX: usize = 20;
const STALL_WAIT_NS: u64 = 5 * base::time::NS_PER_MS;

fn flush_one(batch: &mut SendBatch, socket: &UdpSocket) -> usize {
    let mut given_up = 0;
    for _ in 0..STALLS_MAX {
        if batch.is_empty() {
            return given_up;
        }
        let sent = batch.flush(socket);
        given_up += sent.refused;
        if sent.left == 0 {
            return given_up;
        }
        // A failed wait only means that the next flush comes early.
        netio::poll(&mut [netio::PollFd::writable(socket)], Some(STALL_WAIT_NS)).ok();
    }
    given_up + batch.discard()
}

impl Transmit for Replies<'_> {
    fn transmit(&mut self, destination: SocketAddrV4, ingress: Ingress, octets: &[u8]) -> bool {
        let door = usize::from(ingress.door);
        if self.batches[door].is_full() {
            flush_one(&mut self.batches[door], &self.sockets[door]);
        }
        let destination = self.addressing.apply(destination, ingress);
        let batch = &mut self.batches[door];
        let Some(slot) = batch.slot() else { return false };
        let Some(place) = slot.get_mut(..octets.len()) else { return false };
        place.copy_from_slice(octets);
        let source = Source { address: ingress.local.into(), interface: 0 };
        let source = (!ingress.local.is_unspecified()).then_some(source);
        batch.commit(octets.len(), destination, source);
        true
    }
}
