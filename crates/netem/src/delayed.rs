//! The queue of the netem stage: packets in the order in which they are due, those that overtake
//! before all others.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::chance::Chance;
use crate::pool::{Place, Pool};
use crate::slots::Slots;

/// Packets under way. A time may lie before the start of the clock, when the jitter is greater than
/// the delay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delayed {
    /// Packets that overtake, the last one first.
    ahead: VecDeque<Place>,
    /// By time, and of the same time in the order in which they came.
    by_due: BinaryHeap<Reverse<(i64, u64, Place)>>,
    serial: u64,
    /// When the last packet is due.
    latest_ns: i64,
    bytes: usize,
}

impl Delayed {
    pub(crate) fn len(&self) -> usize {
        self.ahead.len() + self.by_due.len()
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// When the last of the packets that wait is due; `None` when none waits.
    pub(crate) fn latest_ns(&self) -> Option<i64> {
        (!self.by_due.is_empty()).then_some(self.latest_ns)
    }

    /// A packet that is due at a time.
    pub(crate) fn push(&mut self, due_ns: i64, place: Place, packet_bytes: usize) {
        self.latest_ns = self.latest_ns().map_or(due_ns, |latest_ns| latest_ns.max(due_ns));
        self.by_due.push(Reverse((due_ns, self.serial, place)));
        self.serial += 1;
        self.bytes += packet_bytes;
    }

    /// A packet that goes before all others.
    pub(crate) fn push_ahead(&mut self, place: Place, packet_bytes: usize) {
        self.ahead.push_front(place);
        self.bytes += packet_bytes;
    }

    fn next_due_ns(&self) -> Option<i64> {
        self.by_due.peek().map(|&Reverse((due_ns, ..))| due_ns)
    }

    /// Something changed: the slot that was to open next may be too early.
    pub(crate) fn settle(&self, now_ns: u64, slots: Option<&mut Slots>, chance: &mut Chance) {
        if let (Some(slots), Some(due_ns)) = (slots, self.next_due_ns()) {
            slots.look_at(now_ns, due_ns, chance);
        }
    }

    /// Takes the next packet, if it may leave.
    pub(crate) fn pop(
        &mut self,
        now_ns: u64,
        pool: &Pool,
        mut slots: Option<&mut Slots>,
        chance: &mut Chance,
    ) -> Option<Place> {
        if let Some(place) = self.ahead.pop_front() {
            self.bytes -= pool.bytes(place);
            return Some(place);
        }
        let due_ns = self.next_due_ns()?;
        if due_ns > now_ns as i64 {
            return None;
        }
        if let Some(slots) = &mut slots {
            slots.look_at(now_ns, due_ns, chance);
            if slots.opens_ns() > now_ns {
                return None;
            }
        }
        let Reverse((_, _, place)) = self.by_due.pop()?;
        let packet_bytes = pool.bytes(place);
        self.bytes -= packet_bytes;
        if let Some(slots) = slots {
            slots.spend(now_ns, packet_bytes, chance);
            self.settle(now_ns, Some(slots), chance);
        }
        Some(place)
    }

    /// When [`Delayed::pop`] has something; a time that has passed when it has it already.
    pub(crate) fn ready_ns(&self, slots: Option<&Slots>) -> Option<u64> {
        if !self.ahead.is_empty() {
            return Some(0);
        }
        let due_ns = self.next_due_ns()?.max(0) as u64;
        Some(slots.map_or(due_ns, |slots| due_ns.max(slots.opens_ns())))
    }
}
