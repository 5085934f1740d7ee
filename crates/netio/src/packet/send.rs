//! Sending of many IPv4 packets, each through its interface to its hardware address, with one
//! system call.
//!
//! Budget: one `sendmmsg` per batch, nothing allocated after construction. No packet is lost
//! silently: packets that the kernel did not accept are still in the batch or counted as refused.

use super::{PacketSocket, link_address};
use crate::FlushResult;
use crate::slots::MessageSlots;

/// Pool of transmit slots, with the packets waiting in them to be sent.
pub struct PacketSendBatch {
    slots: MessageSlots<libc::sockaddr_ll>,
    /// Number of the first packet in the batch that was not sent.
    next: usize,
    len: usize,
}

impl PacketSendBatch {
    /// Creates a pool of `slots` transmit slots (at most 1,024) of `slot_bytes` bytes each.
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        Self {
            slots: MessageSlots::new(slots, slot_bytes, 0, link_address(0, [0; 6])),
            next: 0,
            len: 0,
        }
    }

    /// Returns the next free slot of the batch to write a packet into; `None` if the batch is full.
    /// Nothing is queued until [`PacketSendBatch::commit`].
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        (self.len < self.slots.len()).then(|| self.slots.buffer(self.len))
    }

    /// Queues the first `len` bytes of the slot that [`PacketSendBatch::slot`] returned, an IPv4
    /// packet for the station `mac` on `interface`.
    ///
    /// # Panics
    ///
    /// If the batch is full or `len` exceeds the slot.
    pub fn commit(&mut self, len: usize, interface: u32, mac: [u8; 6]) {
        assert!(self.len < self.slots.len(), "commit without a slot");
        self.slots.address(self.len, len, link_address(interface, mac));
        self.len += 1;
    }

    /// Returns true if no packet waits to be flushed.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns true if the batch has no free slot.
    pub const fn is_full(&self) -> bool {
        self.len == self.slots.len()
    }

    /// Passes all waiting packets to the kernel, without waiting itself. Call it again later while
    /// [`FlushResult::left`] is not 0.
    pub fn flush(&mut self, socket: &PacketSocket) -> FlushResult {
        let result = self.slots.flush(socket, &mut self.next, self.len, |_| {});
        if result.left == 0 {
            self.discard();
        }
        result
    }

    /// Drops the packets waiting in the batch and returns their number.
    pub const fn discard(&mut self) -> usize {
        let count = self.len - self.next;
        self.len = 0;
        self.next = 0;
        count
    }
}
