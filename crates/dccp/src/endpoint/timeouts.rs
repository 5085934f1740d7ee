//! When something is due at which connection.
//!
//! A time moves with every packet, mostly forward, so the heap is not told of each move: it has an entry
//! for each connection with a time, which may be too early, and is put right when it comes to the front.
//! An entry that was overtaken by an earlier one is passed over then. Nothing is allocated once the heap
//! has been as long as it gets, twice the number of connections.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{Key, Slot};

/// Entries that a short heap may have beside those that count.
const STALE_MAX: usize = 64;

/// When a connection is due, and where the heap looks for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Due {
    at_ns: Option<u64>,
    /// Time of its entry that counts; never later than `at_ns`.
    queued_ns: Option<u64>,
}

impl Due {
    pub(super) const fn at_ns(&self) -> Option<u64> {
        self.at_ns
    }

    /// Whether the heap has to be told that it is due then.
    pub(super) fn is_not(&self, at_ns: Option<u64>) -> bool {
        self.at_ns != at_ns || (at_ns.is_some() && self.queued_ns.is_none())
    }
}

/// The times of all connections.
#[derive(Debug, Default)]
pub(super) struct Timeouts {
    heap: BinaryHeap<Reverse<(u64, Key)>>,
}

impl Timeouts {
    /// The connection with this key and these times is due at another time. [`Timeouts::settle`] comes
    /// behind.
    pub(super) fn set(&mut self, due: &mut Due, key: Key, at_ns: Option<u64>) {
        due.at_ns = at_ns;
        if let Some(at_ns) = at_ns
            && due.queued_ns.is_none_or(|queued_ns| at_ns < queued_ns)
        {
            due.queued_ns = Some(at_ns);
            self.heap.push(Reverse((at_ns, key)));
        }
    }

    /// Puts right what is in front, so that [`Timeouts::first_ns`] tells the truth.
    pub(super) fn settle(&mut self, slots: &mut BTreeMap<Key, Slot>) {
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

    /// The first time.
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Adds to `due` the connections whose time has come, the longest due first. Each must be told of its
    /// time again, also when that is the same.
    pub(super) fn take_due(
        &mut self,
        now_ns: u64,
        slots: &mut BTreeMap<Key, Slot>,
        due: &mut Vec<Key>,
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
