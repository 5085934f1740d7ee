//! Orders in which a pool's free addresses are leased: random (Kea's allocator `random`), and by
//! the time for which they have been free (`flq`).
//!
//! Both orders only lead to free bits (`address_map`), which decide, and both fall back to the next
//! free bit, so that neither ever misses an address. Every claim takes a bounded number of steps,
//! however full the pool is.
//!
//! **Random.** The allocator steps through a permutation of the pool by a Feistel network, another
//! one in each pass, and takes an address that is free. When [`TRIES`] in a row were not, it takes
//! the next free address after the last of them. So in a pass every address comes up once, and none
//! is leased twice in it unless it was released and its neighbors were taken when a search came by.
//!
//! **Queue.** Free addresses wait in queues in the order in which they became free, at first in
//! that of a random permutation as in Kea. There are several queues, each with a lock of its own,
//! which consecutive addresses use in turn; a claim takes from the queue whose first address has
//! been free longest. Addresses that a pool opens later are added little by little (`filling`).

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::filling::Filling;

/// Largest number of addresses that a claim tries in the allocator's order, or takes out of queues
/// in vain, before it searches for the next free one.
pub(super) const TRIES: usize = 8;
/// Number of parts into which the queue of a pool is divided.
const PARTS: usize = 16;
/// Value of a link in a queue that leads to no position.
const NONE: u32 = u32::MAX;
/// Stamp of the first address of a queue that becomes free; an address given back unused gets a
/// lower one.
const MIDDLE: u64 = 1 << 62;
const ROUNDS: u64 = 4;

/// Returns a position in a permutation of `0..count` that `seed` chooses; `index` is below `count`.
pub(super) fn permuted(index: u64, count: u64, seed: u64) -> u64 {
    debug_assert!(index < count, "positions are below the count");
    let bits = (64 - (count - 1).leading_zeros()).max(2);
    let low_bits = bits / 2;
    let (low_mask, high_mask) = ((1 << low_bits) - 1, (1 << (bits - low_bits)) - 1);
    let mut at = index;
    // The range is at most twice as large as `count`: two turns on average. The walk returns to its
    // start at the latest.
    loop {
        #[cfg(test)]
        steps::count();
        let (mut low, mut high) = (at & low_mask, at >> low_bits);
        for round in 0..ROUNDS {
            if round % 2 == 0 {
                high ^= mixed(low, seed.wrapping_add(round)) & high_mask;
            } else {
                low ^= mixed(high, seed.wrapping_add(round)) & low_mask;
            }
        }
        at = high << low_bits | low;
        if at < count {
            return at;
        }
    }
}

/// Returns a number that depends on all bits of `value` and `seed`.
pub(super) const fn mixed(value: u64, seed: u64) -> u64 {
    let mut mixed = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.rotate_left(17);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Number of steps that a thread has taken in the search for free addresses, counted in tests.
#[cfg(test)]
pub(super) mod steps {
    use core::cell::Cell;

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    pub(in crate::table) fn count() {
        STEPS.set(STEPS.get() + 1);
    }

    /// Returns the number of steps of this thread since the last call.
    pub(in crate::table) fn take() -> u64 {
        STEPS.take()
    }
}

#[derive(Clone, Copy, Debug)]
struct FreeQueueLink {
    prev: u32,
    next: u32,
    /// Number of the address in the order in which addresses became free; 0: not in the queue.
    stamp: u64,
}

#[derive(Debug)]
struct FreeQueuePart {
    head: u32,
    tail: u32,
    /// Links of the queue's part by position in the pool, divided by [`PARTS`].
    links: Vec<FreeQueueLink>,
}

impl FreeQueuePart {
    fn unlink(&mut self, at: u32) {
        let FreeQueueLink { prev, next, stamp } = self.links[at as usize];
        if stamp == 0 {
            return;
        }
        self.links[at as usize].stamp = 0;
        match prev {
            NONE => self.head = next,
            prev => self.links[prev as usize].next = next,
        }
        match next {
            NONE => self.tail = prev,
            next => self.links[next as usize].prev = prev,
        }
    }

    fn link(&mut self, at: u32, stamp: u64, is_first: bool) {
        if self.links.len() <= at as usize {
            self.links.resize(at as usize + 1, FreeQueueLink { prev: NONE, next: NONE, stamp: 0 });
        }
        self.unlink(at);
        let (prev, next) = if is_first { (NONE, self.head) } else { (self.tail, NONE) };
        self.links[at as usize] = FreeQueueLink { prev, next, stamp };
        match prev {
            NONE => self.head = at,
            prev => self.links[prev as usize].next = at,
        }
        match next {
            NONE => self.tail = at,
            next => self.links[next as usize].prev = at,
        }
    }

    fn first_stamp(&self) -> u64 {
        if self.head == NONE { u64::MAX } else { self.links[self.head as usize].stamp }
    }
}

#[derive(Debug)]
#[repr(align(128))]
struct LockedQueuePart {
    part: Mutex<FreeQueuePart>,
    /// Stamp of the first address in the queue's part; `u64::MAX` when the part is empty.
    first_stamp: AtomicU64,
}

/// Queue of the free addresses of a pool, ordered by how long they have been free.
#[derive(Debug)]
pub(crate) struct FreeQueue {
    parts: Vec<LockedQueuePart>,
    last: AtomicU64,
    first: AtomicU64,
    filling: Mutex<Filling>,
    /// Number of open positions of the pool at the time when the queue had been filled with all of
    /// them.
    looked_at: AtomicU64,
}

impl Default for FreeQueue {
    fn default() -> Self {
        let part = || LockedQueuePart {
            part: Mutex::new(FreeQueuePart { head: NONE, tail: NONE, links: Vec::new() }),
            first_stamp: AtomicU64::new(u64::MAX),
        };
        Self {
            parts: (0..PARTS).map(|_| part()).collect(),
            last: AtomicU64::new(MIDDLE),
            first: AtomicU64::new(MIDDLE - 1),
            filling: Mutex::default(),
            looked_at: AtomicU64::new(0),
        }
    }
}

impl FreeQueue {
    fn with<T>(&self, part: usize, change: impl FnOnce(&mut FreeQueuePart) -> T) -> T {
        let locked = &self.parts[part];
        let mut part: MutexGuard<'_, FreeQueuePart> =
            locked.part.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut part);
        locked.first_stamp.store(part.first_stamp(), Ordering::Relaxed);
        result
    }

    /// Makes room in the queue for the first `count` positions of the pool.
    pub(super) fn reserve(&self, count: u32) {
        for part in 0..PARTS {
            self.with(part, |part| part.links.reserve_exact(count as usize / PARTS + 1));
        }
    }

    /// Adds the address at `position` of the pool, which became free, to the queue: at the end, or
    /// at the front when it was taken out and not used.
    pub(super) fn push(&self, position: u32, is_unused: bool) {
        let stamp = if is_unused {
            self.first.fetch_sub(1, Ordering::Relaxed)
        } else {
            self.last.fetch_add(1, Ordering::Relaxed)
        };
        let at = position / PARTS as u32;
        self.with(position as usize % PARTS, |part| part.link(at, stamp, is_unused));
    }

    /// Adds the free address at `position` of the pool at the end unless it is in the queue
    /// already.
    pub(super) fn push_new(&self, position: u32) {
        let at = position / PARTS as u32;
        self.with(position as usize % PARTS, |part| {
            if part.links.get(at as usize).is_none_or(|link| link.stamp == 0) {
                part.link(at, self.last.fetch_add(1, Ordering::Relaxed), false);
            }
        });
    }

    /// Returns the progress of putting the pool's positions into the queue, for one thread at a
    /// time.
    pub(super) fn filling(&self) -> MutexGuard<'_, Filling> {
        self.filling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of open positions of the pool when the filling had looked at all of them.
    pub(super) fn looked_at(&self) -> u64 {
        self.looked_at.load(Ordering::Relaxed)
    }

    /// Notes that the filling has looked at all open positions of the pool, `count` of them.
    pub(super) fn set_looked_at(&self, count: u64) {
        self.looked_at.store(count, Ordering::Relaxed);
    }

    /// Removes the address at `position` of the pool, which is no longer free, from the queue.
    pub(super) fn remove(&self, position: u32) {
        let at = position / PARTS as u32;
        self.with(position as usize % PARTS, |part| {
            if (at as usize) < part.links.len() {
                part.unlink(at);
            }
        });
    }

    /// Takes the position whose address has been free longest out of the queue.
    pub(super) fn pop(&self) -> Option<u32> {
        let stamp = |part: &LockedQueuePart| part.first_stamp.load(Ordering::Relaxed);
        let (number, part) = self.parts.iter().enumerate().min_by_key(|(_, part)| stamp(part))?;
        if stamp(part) == u64::MAX {
            return None;
        }
        #[cfg(test)]
        steps::count();
        self.with(number, |part| {
            let at = part.head;
            (at != NONE).then(|| {
                part.unlink(at);
                at * PARTS as u32 + number as u32
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, VecDeque};

    use base::Random;

    use super::*;

    #[test]
    fn every_position_comes_up_once_in_a_pass() {
        for count in [1, 2, 3, 5, 64, 65, 1_000, 4_096, 70_000] {
            for seed in 0..3 {
                let indexes: BTreeSet<u64> =
                    (0..count).map(|index| permuted(index, count, seed)).collect();
                assert_eq!(indexes.len() as u64, count);
                assert!(indexes.iter().all(|&at| at < count));
            }
        }
        let pass = |seed| (0..1_000).map(|index| permuted(index, 1_000, seed)).collect::<Vec<_>>();
        assert_ne!(pass(1), pass(2));
        let in_order = pass(1).windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(in_order < 10, "{in_order} neighbors");
    }

    #[test]
    fn the_queue_is_a_queue_from_which_anything_can_be_taken() {
        for seed in 0..50 {
            let (queue, mut random) = (FreeQueue::default(), Random::from_seed(seed));
            let mut model: VecDeque<u32> = VecDeque::new();
            for _ in 0..2_000 {
                let position = random.below(100) as u32;
                match random.below(4) {
                    0 => assert_eq!(queue.pop(), model.pop_front()),
                    1 => {
                        queue.remove(position);
                        model.retain(|&other| other != position);
                    }
                    end => {
                        queue.push(position, end == 3);
                        model.retain(|&other| other != position);
                        if end == 3 {
                            model.push_front(position);
                        } else {
                            model.push_back(position);
                        }
                    }
                }
            }
            while let Some(position) = model.pop_front() {
                assert_eq!(queue.pop(), Some(position));
            }
            assert_eq!(queue.pop(), None);
        }
    }
}
