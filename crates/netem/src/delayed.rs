//! Queue of the netem stage: packets in the order of their due times, after packets that overtake.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::chance::Chance;
use crate::pool::{BufferIndex, PacketPool};
use crate::slots::SlotState;

/// Packets that the link holds until their due times. A due time may be before time 0 of the clock,
/// if the jitter is greater than the delay.
#[derive(Clone, Debug, Default)]
pub(crate) struct DelayedPackets {
    /// Packets that overtake all others, the last one first.
    ahead: VecDeque<BufferIndex>,
    /// Packets ordered by due time; packets with equal due times in order of arrival.
    by_due: BinaryHeap<Reverse<(i64, u64, BufferIndex)>>,
    serial: u64,
    /// Due time of the packet that leaves last, in nanoseconds.
    latest_ns: i64,
    bytes: usize,
}

impl DelayedPackets {
    pub(crate) fn len(&self) -> usize {
        self.ahead.len() + self.by_due.len()
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the due time in nanoseconds of the waiting packet that leaves last; `None` if no
    /// packet waits.
    pub(crate) fn latest_ns(&self) -> Option<i64> {
        (!self.by_due.is_empty()).then_some(self.latest_ns)
    }

    /// Adds a packet with its due time to the queue.
    pub(crate) fn push(&mut self, due_ns: i64, index: BufferIndex, packet_bytes: usize) {
        self.latest_ns = self.latest_ns().map_or(due_ns, |latest_ns| latest_ns.max(due_ns));
        self.by_due.push(Reverse((due_ns, self.serial, index)));
        self.serial += 1;
        self.bytes += packet_bytes;
    }

    /// Adds a packet that overtakes all others to the queue.
    pub(crate) fn push_ahead(&mut self, index: BufferIndex, packet_bytes: usize) {
        self.ahead.push_front(index);
        self.bytes += packet_bytes;
    }

    fn next_due_ns(&self) -> Option<i64> {
        self.by_due.peek().map(|&Reverse((due_ns, ..))| due_ns)
    }

    /// Opens a later slot if the present one opens before the next packet is due.
    pub(crate) fn update_slot(
        &self,
        now_ns: u64,
        slots: Option<&mut SlotState>,
        chance: &mut Chance,
    ) {
        if let (Some(slots), Some(due_ns)) = (slots, self.next_due_ns()) {
            slots.replace_if_early(now_ns, due_ns, chance);
        }
    }

    /// Removes and returns the next packet of the queue, if it may leave now.
    pub(crate) fn pop(
        &mut self,
        now_ns: u64,
        pool: &PacketPool,
        mut slots: Option<&mut SlotState>,
        chance: &mut Chance,
    ) -> Option<BufferIndex> {
        if let Some(index) = self.ahead.pop_front() {
            self.bytes -= pool.bytes(index);
            return Some(index);
        }
        let due_ns = self.next_due_ns()?;
        if due_ns > now_ns as i64 {
            return None;
        }
        if let Some(slots) = &mut slots {
            slots.replace_if_early(now_ns, due_ns, chance);
            if slots.opens_ns() > now_ns {
                return None;
            }
        }
        let Reverse((_, _, index)) = self.by_due.pop()?;
        let packet_bytes = pool.bytes(index);
        self.bytes -= packet_bytes;
        if let Some(slots) = slots {
            slots.spend(now_ns, packet_bytes, chance);
            self.update_slot(now_ns, Some(slots), chance);
        }
        Some(index)
    }

    /// Returns the time in nanoseconds when [`DelayedPackets::pop`] has a packet; a past time if it
    /// has one already.
    pub(crate) fn ready_ns(&self, slots: Option<&SlotState>) -> Option<u64> {
        if !self.ahead.is_empty() {
            return Some(0);
        }
        let due_ns = self.next_due_ns()?.max(0) as u64;
        Some(slots.map_or(due_ns, |slots| due_ns.max(slots.opens_ns())))
    }
}
