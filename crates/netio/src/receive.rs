//! Receiving many datagrams with one system call into pooled slots.
//!
//! Budget: one `recvmmsg` per up to 64 datagrams and about 15 ns per datagram of our own (resetting
//! three lengths, reading the control messages); nothing is allocated after construction.

use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::control::{self, RECEIVE_BYTES};
use crate::name::Name;
use crate::slots::Slots;
use crate::udp::DatagramSocket;

/// Slots of a batch unless asked otherwise.
pub const DEFAULT_SLOTS: usize = 64;
/// Octets of a slot unless asked otherwise: the largest UDP payload of a 1,500-octet frame fits.
pub const DEFAULT_SLOT_BYTES: usize = 2_048;
/// Slots of a coalescing batch; each holds a train of datagrams.
const TRAIN_SLOTS: usize = 16;
const TRAIN_BYTES: usize = 65_536;
/// Datagrams that the kernel joins at most (`UDP_GRO_CNT_MAX`).
const TRAIN_DATAGRAMS: usize = 64;

/// A pool of receive slots and the datagrams that the last call put there.
pub struct RecvBatch {
    slots: Slots<Name>,
    datagrams: Vec<Placed>,
    coalesced: bool,
    /// The last call has filled every slot.
    full: bool,
    truncated: u64,
}

/// Where a datagram lies and what came with it.
#[derive(Clone, Copy)]
struct Placed {
    slot: usize,
    at: usize,
    len: usize,
    source: SocketAddr,
    beside: control::Received,
}

/// One received datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The payload.
    pub octets: &'a [u8],
    /// Who sent it.
    pub source: SocketAddr,
    /// The destination address in its header, perhaps a broadcast or a group (needs
    /// `packet_info`).
    pub destination: Option<IpAddr>,
    /// The own unicast address that it came to, to answer from (needs `packet_info`). `None` for
    /// what came to an IPv6 group: the interface has several addresses to choose from.
    pub local: Option<IpAddr>,
    /// Index of the interface that it came through; 0 when unknown (needs `packet_info`).
    pub interface: u32,
    /// When the kernel received it, nanoseconds since 1970 (needs `kernel_times`).
    pub kernel_wall_ns: Option<u64>,
    /// The ECN field of its IP header (RFC 3168 §5), 0 when unknown (needs `ecn`).
    pub ecn: u8,
}

impl Default for RecvBatch {
    fn default() -> Self {
        Self::new(DEFAULT_SLOTS, DEFAULT_SLOT_BYTES)
    }
}

impl RecvBatch {
    /// A pool of `slots` slots (at most 1,024) of `slot_bytes` each.
    #[must_use]
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        Self::build(slots, slot_bytes, false)
    }

    /// A pool for a socket with `coalesce` set: slots of 64 KiB whose trains are split again, so
    /// one call may yield up to 1,024 datagrams. Takes 1 MiB.
    #[must_use]
    pub fn coalescing() -> Self {
        Self::coalescing_into(TRAIN_SLOTS)
    }

    /// The same with `slots` slots, for sockets that get more single datagrams than trains. Memory
    /// of slots is used as far as they have ever been filled.
    #[must_use]
    pub fn coalescing_into(slots: usize) -> Self {
        Self::build(slots, TRAIN_BYTES, true)
    }

    fn build(slots: usize, slot_bytes: usize, coalesced: bool) -> Self {
        let most = if coalesced { slots * TRAIN_DATAGRAMS } else { slots };
        Self {
            slots: Slots::new(slots, slot_bytes, RECEIVE_BYTES, Name::EMPTY),
            datagrams: Vec::with_capacity(most),
            coalesced,
            full: false,
            truncated: 0,
        }
    }

    /// Takes what waits in the socket, as much as there are slots for, and never waits itself.
    /// Returns the number of datagrams, 0 when nothing waits; those of the call before are gone.
    ///
    /// # Errors
    ///
    /// What `recvmmsg(2)` reports, except EAGAIN and EINTR.
    pub fn receive(&mut self, socket: &impl DatagramSocket) -> io::Result<usize> {
        self.datagrams.clear();
        self.full = false;
        let filled = self.slots.receive(socket)?;
        self.full = filled == self.slots.len();
        for slot in 0..filled {
            self.place(slot);
        }
        Ok(self.datagrams.len())
    }

    /// Notes the datagrams that slot `slot` holds.
    fn place(&mut self, slot: usize) {
        let Some(received) = self.slots.received_len(slot) else {
            self.truncated += 1;
            return;
        };
        let beside = control::parse(self.slots.control(slot));
        let source = self.slots.name(slot).address();
        let whole = if self.coalesced { beside.segment.unwrap_or(received) } else { received };
        // An empty datagram has no first octet and still is one; a segment size is never 0.
        let piece = whole.max(1);
        let mut at = 0;
        loop {
            let len = piece.min(received - at);
            if self.datagrams.len() == self.datagrams.capacity() {
                self.truncated += 1;
                return;
            }
            self.datagrams.push(Placed { slot, at, len, source, beside });
            at += len;
            if at >= received {
                return;
            }
        }
    }

    /// Datagrams of the last call.
    #[must_use]
    pub fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// True when the last call found nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// True when the last call filled every slot, so that more may wait; else it emptied the socket.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.full
    }

    /// Datagram `index` of the last call.
    ///
    /// # Panics
    ///
    /// When `index` is not below [`RecvBatch::len`].
    #[must_use]
    pub fn get(&self, index: usize) -> Datagram<'_> {
        let placed = &self.datagrams[index];
        let info = placed.beside.info;
        Datagram {
            octets: self.slots.octets(placed.slot, placed.at, placed.len),
            source: placed.source,
            destination: info.map(|info| info.destination),
            local: info.and_then(|info| info.local),
            interface: info.map_or(0, |info| info.interface),
            kernel_wall_ns: placed.beside.kernel_wall_ns,
            ecn: placed.beside.ecn,
        }
    }

    /// The datagrams of the last call in order of arrival.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Datagram<'_>> {
        (0..self.datagrams.len()).map(|index| self.get(index))
    }

    /// Datagrams that were longer than a slot and therefore left out, since construction.
    #[must_use]
    pub const fn truncated(&self) -> u64 {
        self.truncated
    }
}
