//! Receiving of many datagrams with one system call into a pool of slots.
//!
//! Budget: one `recvmmsg` per up to 64 datagrams and about 15 ns per datagram of our own (resetting
//! three lengths, reading the control messages); nothing is allocated after construction.

use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::control::{self, RECEIVE_BYTES};
use crate::name::SocketAddressBuffer;
use crate::slots::MessageSlots;
use crate::udp::DatagramSocket;

/// Default number of slots of a [`RecvBatch`].
pub const DEFAULT_SLOTS: usize = 64;
/// Default size of a slot of a [`RecvBatch`] in bytes: the largest UDP payload of a 1,500-byte
/// frame fits.
pub const DEFAULT_SLOT_BYTES: usize = 2_048;
/// Number of slots of a coalescing [`RecvBatch`]; each holds a train: datagrams that the kernel
/// joined (`UDP_GRO`).
const TRAIN_SLOTS: usize = 16;
const TRAIN_BYTES: usize = 65_536;
/// Largest number of datagrams that the kernel joins to a train (`UDP_GRO_CNT_MAX`).
const TRAIN_DATAGRAMS: usize = 64;

/// Pool of receive slots, with the datagrams of the last call of [`RecvBatch::receive`].
pub struct RecvBatch {
    slots: MessageSlots<SocketAddressBuffer>,
    datagrams: Vec<DatagramPosition>,
    coalesced: bool,
    /// True if the last call has filled every slot of the pool.
    full: bool,
    truncated: u64,
}

/// Position of a datagram in the slots of a [`RecvBatch`], and the data received with it.
#[derive(Clone, Copy)]
struct DatagramPosition {
    slot: usize,
    at: usize,
    len: usize,
    source: SocketAddr,
    control: control::ControlMessageData,
}

/// Datagram that a [`RecvBatch`] received.
#[derive(Clone, Copy, Debug)]
pub struct InboundDatagram<'a> {
    /// Payload of the datagram.
    pub octets: &'a [u8],
    /// Address and port of the datagram's sender.
    pub source: SocketAddr,
    /// Destination address in the datagram's IP header, perhaps a broadcast or a group (needs
    /// `packet_info`).
    pub destination: Option<IpAddr>,
    /// Own unicast address that the datagram came to, to send the reply from (needs `packet_info`).
    /// `None` for a datagram to an IPv6 group: the interface has several addresses to choose from.
    pub local: Option<IpAddr>,
    /// Index of the interface that the datagram came through; 0 if unknown (needs `packet_info`).
    pub interface: u32,
    /// Time when the kernel received the datagram, in nanoseconds since 1970 (needs
    /// `kernel_times`).
    pub kernel_wall_ns: Option<u64>,
    /// ECN field of the datagram's IP header (RFC 3168 §5), 0 if unknown (needs `ecn`).
    pub ecn: u8,
}

impl Default for RecvBatch {
    fn default() -> Self {
        Self::new(DEFAULT_SLOTS, DEFAULT_SLOT_BYTES)
    }
}

impl RecvBatch {
    /// Creates a pool of `slots` receive slots (at most 1,024) of `slot_bytes` bytes each.
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        Self::build(slots, slot_bytes, false)
    }

    /// Creates a pool for a socket with `coalesce` set: slots of 64 KiB, whose trains (datagrams
    /// that the kernel joined) are split again, so one call may yield up to 1,024 datagrams. The
    /// pool takes 1 MiB.
    pub fn coalescing() -> Self {
        Self::coalescing_into(TRAIN_SLOTS)
    }

    /// Creates a coalescing pool with `slots` slots, for sockets that receive more single datagrams
    /// than trains. The memory of a slot is used only as far as the slot has ever been filled.
    pub fn coalescing_into(slots: usize) -> Self {
        Self::build(slots, TRAIN_BYTES, true)
    }

    fn build(slots: usize, slot_bytes: usize, coalesced: bool) -> Self {
        let most = if coalesced { slots * TRAIN_DATAGRAMS } else { slots };
        Self {
            slots: MessageSlots::new(slots, slot_bytes, RECEIVE_BYTES, SocketAddressBuffer::EMPTY),
            datagrams: Vec::with_capacity(most),
            coalesced,
            full: false,
            truncated: 0,
        }
    }

    /// Receives the waiting datagrams of `socket`, as many as there are slots, without waiting
    /// itself. Returns the number of datagrams, 0 if nothing waits; those of the last call are
    /// gone.
    ///
    /// # Errors
    ///
    /// The error of `recvmmsg(2)`, except EAGAIN and EINTR.
    pub fn receive(&mut self, socket: &impl DatagramSocket) -> io::Result<usize> {
        self.datagrams.clear();
        self.full = false;
        let filled = self.slots.receive(socket)?;
        self.full = filled == self.slots.len();
        for slot in 0..filled {
            self.record_datagrams(slot);
        }
        Ok(self.datagrams.len())
    }

    /// Records the positions of the datagrams in slot `slot`, several for a train (datagrams that
    /// the kernel joined).
    fn record_datagrams(&mut self, slot: usize) {
        let Some(received) = self.slots.received_len(slot) else {
            self.truncated += 1;
            return;
        };
        let beside = control::parse(self.slots.control(slot));
        let source = self.slots.name(slot).address();
        let whole = if self.coalesced { beside.segment.unwrap_or(received) } else { received };
        // An empty datagram has no first byte and still is one; a segment size is never 0.
        let piece = whole.max(1);
        let mut at = 0;
        loop {
            let len = piece.min(received - at);
            if self.datagrams.len() == self.datagrams.capacity() {
                self.truncated += 1;
                return;
            }
            self.datagrams.push(DatagramPosition { slot, at, len, source, control: beside });
            at += len;
            if at >= received {
                return;
            }
        }
    }

    /// Returns the number of datagrams that the last call received.
    pub fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// Returns true if the last call received no datagram.
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Returns true if the last call filled every slot, so that more datagrams may wait; otherwise
    /// the call emptied the socket.
    pub const fn is_full(&self) -> bool {
        self.full
    }

    /// Returns datagram `index` of those that the last call received.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`RecvBatch::len`].
    pub fn get(&self, index: usize) -> InboundDatagram<'_> {
        let placed = &self.datagrams[index];
        let info = placed.control.info;
        InboundDatagram {
            octets: self.slots.octets(placed.slot, placed.at, placed.len),
            source: placed.source,
            destination: info.map(|info| info.destination),
            local: info.and_then(|info| info.local),
            interface: info.map_or(0, |info| info.interface),
            kernel_wall_ns: placed.control.kernel_wall_ns,
            ecn: placed.control.ecn,
        }
    }

    /// Returns the datagrams that the last call received, in order of arrival.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = InboundDatagram<'_>> {
        (0..self.datagrams.len()).map(|index| self.get(index))
    }

    /// Returns the number of datagrams dropped because they were longer than a slot, since the pool
    /// was created.
    pub const fn truncated(&self) -> u64 {
        self.truncated
    }
}
