//! Sending many packets, each through its interface to its hardware address, with one system call.
//!
//! Budget: one `sendmmsg` per batch, nothing allocated after construction. No packet is lost
//! silently: what the kernel did not take is still in the batch or counted as refused.

use super::{PacketSocket, link_address};
use crate::Sent;
use crate::slots::Slots;

/// A pool of transmit slots and the packets waiting in them.
pub struct PacketSendBatch {
    slots: Slots<libc::sockaddr_ll>,
    /// Packets before this one have left.
    next: usize,
    len: usize,
}

impl PacketSendBatch {
    /// A pool of `slots` slots (at most 1,024) of `slot_bytes` each.
    #[must_use]
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        Self { slots: Slots::new(slots, slot_bytes, 0, link_address(0, [0; 6])), next: 0, len: 0 }
    }

    /// The next free slot to write a packet into, `None` when the batch is full. Nothing is queued
    /// until [`PacketSendBatch::commit`].
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        (self.len < self.slots.len()).then(|| self.slots.room(self.len))
    }

    /// Queues the first `len` octets of the slot that [`PacketSendBatch::slot`] gave, an IPv4 packet
    /// for the station `mac` behind `interface`.
    ///
    /// # Panics
    ///
    /// When the batch is full or `len` exceeds the slot.
    pub fn commit(&mut self, len: usize, interface: u32, mac: [u8; 6]) {
        assert!(self.len < self.slots.len(), "commit without a slot");
        self.slots.address(self.len, len, link_address(interface, mac));
        self.len += 1;
    }

    /// True when nothing waits to be flushed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True when there is no free slot.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.len == self.slots.len()
    }

    /// Hands everything that waits to the kernel, never waiting itself. Call it again later while
    /// [`Sent::left`] is not 0.
    pub fn flush(&mut self, socket: &PacketSocket) -> Sent {
        let result = self.slots.flush(socket, &mut self.next, self.len, |_| {});
        if result.left == 0 {
            self.discard();
        }
        result
    }

    /// Gives up what still waits. Returns how many packets.
    pub const fn discard(&mut self) -> usize {
        let count = self.len - self.next;
        self.len = 0;
        self.next = 0;
        count
    }
}
