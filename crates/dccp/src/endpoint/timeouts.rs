//! Timers of all connections of an endpoint, ordered by time.
//!
//! The time of a connection moves with every packet, mostly forward, so the heap is not updated on
//! each move. It has an entry for each connection with a time. The entry may be too early; it is
//! corrected when it comes to the front. An entry that an earlier one has replaced is skipped then.
//! The heap allocates nothing once it has reached its greatest length, twice the number of
//! connections.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{ConnectionKey, ConnectionSlot};

/// Stale entries that a short heap of timers may have before it is cleaned.
const STALE_MAX: usize = 64;

/// Time at which a connection's timer expires, and the time of its entry in the heap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConnectionDueTime {
    at_ns: Option<u64>,
    /// Time of the connection's valid entry in the heap; never later than `at_ns`.
    queued_ns: Option<u64>,
}

impl ConnectionDueTime {
    pub(super) const fn at_ns(&self) -> Option<u64> {
        self.at_ns
    }

    /// Returns true if [`Timeouts::set`] must be called for the time `at_ns`.
    pub(super) fn is_not(&self, at_ns: Option<u64>) -> bool {
        self.at_ns != at_ns || (at_ns.is_some() && self.queued_ns.is_none())
    }
}

/// Timers of all connections of an endpoint, in a heap.
#[derive(Debug, Default)]
pub(super) struct Timeouts {
    heap: BinaryHeap<Reverse<(u64, ConnectionKey)>>,
}

impl Timeouts {
    /// Sets the time at which the timer of the connection `key` expires. The caller calls
    /// [`Timeouts::settle`] afterwards.
    pub(super) fn set(
        &mut self,
        due: &mut ConnectionDueTime,
        key: ConnectionKey,
        at_ns: Option<u64>,
    ) {
        due.at_ns = at_ns;
        if let Some(at_ns) = at_ns
            && due.queued_ns.is_none_or(|queued_ns| at_ns < queued_ns)
        {
            due.queued_ns = Some(at_ns);
            self.heap.push(Reverse((at_ns, key)));
        }
    }

    /// Corrects the front of the heap of timers, so that [`Timeouts::first_ns`] returns the right
    /// time.
    pub(super) fn settle(&mut self, slots: &mut BTreeMap<ConnectionKey, ConnectionSlot>) {
        if self.heap.len() > 2 * slots.len() + STALE_MAX {
            self.heap.retain(|Reverse((at_ns, key))| {
                slots.get(key).is_some_and(|slot| slot.due.queued_ns == Some(*at_ns))
            });
        }
        while let Some(&Reverse((at_ns, key))) = self.heap.peek() {
            let due = slots.get_mut(&key).map(|slot| &mut slot.due);
            let Some(due) = due.filter(|due| due.queued_ns == Some(at_ns)) else {
                self.heap.pop();
                continue;
            };
            if due.at_ns == Some(at_ns) {
                break;
            }
            self.heap.pop();
            due.queued_ns = None;
            let moved_ns = due.at_ns;
            self.set(due, key, moved_ns);
        }
    }

    /// Returns the earliest time at which a timer expires, in nanoseconds.
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Appends the connections whose timers have expired to `due`, the longest expired first. The
    /// caller must call [`Timeouts::set`] for each of them again, even with the same time.
    pub(super) fn take_due(
        &mut self,
        now_ns: u64,
        slots: &mut BTreeMap<ConnectionKey, ConnectionSlot>,
        due: &mut Vec<ConnectionKey>,
    ) {
        while let Some(&Reverse((at_ns, key))) = self.heap.peek()
            && at_ns <= now_ns
        {
            self.heap.pop();
            if let Some(slot) = slots.get_mut(&key) {
                slot.due.queued_ns = None;
                due.push(key);
            }
            self.settle(slots);
        }
    }
}
