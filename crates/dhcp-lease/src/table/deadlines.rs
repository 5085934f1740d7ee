//! Lists of the slots of one stripe of the lease table, by deadline. The links are in the slots, so
//! that linking allocates nothing and every slot is in one list at most.
//!
//! Holds and releases wait in queues, ordered by deadline and by row epoch. Both arrive almost in
//! order, so an insertion looks at a few slots from the end only; a slot further out of order comes
//! up late, by its displacement. Leases, probations and past leases that are remembered hang in a
//! wheel of 4096 buckets of one second. A slot in the wheel comes up in or before the second in
//! which it ends: longer terms come up once per turn and are hung again, and a renewal leaves its
//! slot where it is.

use super::expiry::Expiry;
use super::slot::LeaseSlot;
use super::slots::StripeSlots;
use super::table_family::TableFamily;
use crate::contract::SlotOccupancy;

/// Value of `prev` in a slot that is in no list.
pub(super) const UNLINKED: u32 = u32::MAX;
/// Bit of a link that leads to a list's end instead of a slot; the other bits are the number of the
/// list.
const END: u32 = 1 << 31;
/// Number of buckets in a stripe's timer wheel, one for each second of a turn.
const BUCKETS: u32 = 4096;
const DUE: u32 = END | BUCKETS;
const HOLDS: u32 = END | (BUCKETS + 1);
const RELEASES: u32 = END | (BUCKETS + 2);
const OVERDUE: u32 = END | (BUCKETS + 3);
/// Value of a link that leads to no slot.
const NOTHING: u32 = u32::MAX;
/// Largest number of slots that an insertion into a queue passes.
const LOOK_BACK: u32 = 16;
/// Time that the wall clock may be behind the timer wheel before the wheel is turned back, in
/// seconds: shards read the clock at different moments, and clocks are slewed.
const BACKLASH_S: u64 = 60;

/// Returns the last second, later than `wall_s`, in which the timer wheel may be due; a later one
/// means that the clock was set back.
pub(super) const fn last_due_s(wall_s: u64) -> u64 {
    wall_s + BACKLASH_S + 1
}

/// First slot of each bucket of a stripe's timer wheel.
///
/// Stored as complements, so that empty buckets are zeros: memory from the system is never written
/// before it is used, and a table of few leases stays small.
struct WheelBuckets {
    complements: Vec<u32>,
}

impl WheelBuckets {
    fn new() -> Self {
        Self { complements: vec![!NOTHING; BUCKETS as usize] }
    }

    /// Puts `head` first in `bucket` and returns the slot that was first, [`NOTHING`] in an empty
    /// bucket.
    fn replace(&mut self, bucket: usize, head: u32) -> u32 {
        !core::mem::replace(&mut self.complements[bucket], !head)
    }

    /// Returns the buckets of the wheel that have a slot, each with its first slot.
    #[cfg(test)]
    fn heads(&self) -> impl Iterator<Item = (usize, u32)> {
        // Almost all are empty, so whole words of 64 empty buckets are skipped.
        let words =
            self.complements.chunks(64).enumerate().filter(|(_, of_word)| *of_word != [0; 64]);
        words.flat_map(|(word, of_word)| {
            let buckets = (word * 64..).zip(of_word);
            buckets
                .filter(|&(_, &complement)| complement != 0)
                .map(|(bucket, &head)| (bucket, !head))
        })
    }
}

/// Doubly linked list of slots, ordered by a key of the slots such as the end of a hold.
struct SlotQueue<F: TableFamily> {
    head: u32,
    tail: u32,
    /// Key of the queue's first slot; `u64::MAX` when the queue is empty.
    first_key: u64,
    end: u32,
    key: fn(&LeaseSlot<F>) -> u64,
}

impl<F: TableFamily> SlotQueue<F> {
    const fn new(end: u32, key: fn(&LeaseSlot<F>) -> u64) -> Self {
        Self { head: NOTHING, tail: NOTHING, first_key: u64::MAX, end, key }
    }

    fn insert(&mut self, slots: &mut StripeSlots<F>, id: u32) {
        let key = (self.key)(slots.get(id));
        let (mut before, mut after) = (self.tail, self.end);
        for _ in 0..LOOK_BACK {
            if before == NOTHING || (self.key)(slots.get(before)) <= key {
                break;
            }
            after = before;
            let prev = slots.get(before).prev;
            before = if prev & END == 0 { prev } else { NOTHING };
        }
        let slot = slots.get_mut(id);
        slot.prev = if before == NOTHING { self.end } else { before };
        slot.next = after;
        if before == NOTHING {
            self.head = id;
            self.first_key = key;
        } else {
            slots.get_mut(before).next = id;
        }
        if after == self.end {
            self.tail = id;
        } else {
            slots.get_mut(after).prev = id;
        }
    }

    /// Makes slot `head` the first of the queue after the previous first slot was taken out.
    fn set_head(&mut self, slots: &StripeSlots<F>, head: u32) {
        self.head = head;
        self.first_key = if head == NOTHING { u64::MAX } else { (self.key)(slots.get(head)) };
    }
}

/// Lists of one stripe's slots by deadline: queues and the wheel.
pub(super) struct Deadlines<F: TableFamily> {
    holds: SlotQueue<F>,
    releases: SlotQueue<F>,
    /// Slots whose lease has ended and that may not be reclaimed before the next reclaim cycle, in
    /// the order in which they ended.
    overdue: SlotQueue<F>,
    buckets: WheelBuckets,
    /// Bits of the wheel's buckets in which slots may hang.
    occupied_buckets: [u64; BUCKETS as usize / 64],
    /// First slot of the wheel's bucket that is being processed.
    due: u32,
    /// Wall-clock second whose bucket was taken off the wheel last.
    wheel_s: u64,
    /// Settings for the time for which ended leases are remembered (`expired-leases-processing`).
    pub(super) expiry: Expiry,
}

impl<F: TableFamily> Deadlines<F> {
    pub(super) fn new() -> Self {
        Self {
            holds: SlotQueue::new(HOLDS, |slot| slot.hold_deadline_ns),
            releases: SlotQueue::new(RELEASES, |slot| slot.row_epoch),
            overdue: SlotQueue::new(OVERDUE, |_| 0),
            buckets: WheelBuckets::new(),
            occupied_buckets: [0; BUCKETS as usize / 64],
            due: NOTHING,
            wheel_s: 0,
            expiry: Expiry::default(),
        }
    }

    /// Starts the wheel at wall-clock second `wall_s`, before any slot is linked: otherwise the
    /// first look at the wheel looks at every slot that hangs in it.
    pub(super) fn begin(&mut self, wall_s: u64) {
        if self.occupied_buckets == [0; BUCKETS as usize / 64] && self.due == NOTHING {
            self.wheel_s = wall_s;
        }
    }

    /// Links slot `id`, which is in no list, into the list of its occupancy.
    pub(super) fn link(&mut self, slots: &mut StripeSlots<F>, id: u32) {
        let slot = slots.get(id);
        debug_assert_eq!(slot.prev, UNLINKED, "a slot is in one list at most");
        match slot.occupancy {
            SlotOccupancy::Held => self.holds.insert(slots, id),
            SlotOccupancy::Releasing => self.releases.insert(slots, id),
            SlotOccupancy::Free | SlotOccupancy::Leased | SlotOccupancy::Declined => {
                let due_s = slot.due_s(&self.expiry);
                if due_s != u64::MAX {
                    self.insert_in_wheel(slots, id, due_s.max(self.wheel_s + 1));
                }
            }
        }
    }

    /// Hangs slot `id`, which is in no list, into the wheel so that it comes up again no earlier
    /// than in second `at_s`.
    pub(super) fn postpone(&mut self, slots: &mut StripeSlots<F>, id: u32, at_s: u64) {
        self.insert_in_wheel(slots, id, at_s.max(self.wheel_s + 1));
    }

    /// Hangs slot `id` into the wheel's bucket of second `at_s`.
    fn insert_in_wheel(&mut self, slots: &mut StripeSlots<F>, id: u32, at_s: u64) {
        let bucket = (at_s % u64::from(BUCKETS)) as u32;
        self.occupied_buckets[bucket as usize / 64] |= 1 << (bucket % 64);
        let head = self.buckets.replace(bucket as usize, id);
        let slot = slots.get_mut(id);
        slot.prev = END | bucket;
        slot.next = head;
        if head != NOTHING {
            slots.get_mut(head).prev = id;
        }
    }

    /// Puts slot `id`, which is in no list, into the list that waits for the next reclaim cycle.
    pub(super) fn push_overdue(&mut self, slots: &mut StripeSlots<F>, id: u32) {
        self.overdue.insert(slots, id);
    }

    /// Makes slot `id` come up at once if the wheel has passed the second in which its lease ended,
    /// so that no client waits for the next second.
    pub(super) fn hurry(&mut self, slots: &mut StripeSlots<F>, id: u32) {
        if slots.get(id).due_s(&self.expiry) <= self.wheel_s {
            self.unlink(slots, id);
            self.push_overdue(slots, id);
        }
    }

    /// Returns true if a slot waits for the next reclaim cycle.
    pub(super) const fn has_overdue(&self) -> bool {
        self.overdue.head != NOTHING
    }

    /// Takes out the slot that has waited longest for a reclaim cycle, and returns its id.
    pub(super) fn next_overdue(&mut self, slots: &mut StripeSlots<F>) -> Option<u32> {
        let id = self.overdue.head;
        (id != NOTHING).then(|| {
            self.unlink(slots, id);
            id
        })
    }

    /// Relinks the slot `id` of a renewed lease: it stays where it hangs if it still comes up in
    /// time.
    pub(super) fn relink_renewed(&mut self, slots: &mut StripeSlots<F>, id: u32, expired_s: u64) {
        let slot = slots.get(id);
        // A slot that is set aside does not come up by itself.
        if slot.prev == UNLINKED || slot.expires_s() < expired_s || self.has_overdue() {
            self.unlink(slots, id);
            self.link(slots, id);
        }
    }

    /// Takes slot `id` out of the list that it is in, if any.
    pub(super) fn unlink(&mut self, slots: &mut StripeSlots<F>, id: u32) {
        let slot = slots.get_mut(id);
        let (prev, next) = (slot.prev, slot.next);
        if prev == UNLINKED {
            return;
        }
        slot.prev = UNLINKED;
        slot.next = UNLINKED;
        // In a queue the last slot links to the queue's end, in the wheel to nothing.
        if next & END == 0 {
            slots.get_mut(next).prev = prev;
        } else if matches!(next, HOLDS | RELEASES | OVERDUE) {
            self.queue(next).tail = if prev & END == 0 { prev } else { NOTHING };
        }
        if prev & END == 0 {
            slots.get_mut(prev).next = next;
            return;
        }
        let follower = if next & END == 0 { next } else { NOTHING };
        match prev {
            HOLDS | RELEASES | OVERDUE => self.queue(prev).set_head(slots, follower),
            DUE => self.due = follower,
            bucket => {
                self.buckets.replace((bucket & !END) as usize, follower);
            }
        }
    }

    const fn queue(&mut self, end: u32) -> &mut SlotQueue<F> {
        match end {
            HOLDS => &mut self.holds,
            RELEASES => &mut self.releases,
            _ => &mut self.overdue,
        }
    }

    /// Returns the monotonic deadline of the oldest hold in nanoseconds; `u64::MAX` without one.
    pub(super) const fn first_hold_ns(&self) -> u64 {
        self.holds.first_key
    }

    /// Returns the row epoch of the oldest release; `u64::MAX` without one.
    pub(super) const fn first_release_epoch(&self) -> u64 {
        self.releases.first_key
    }

    /// Returns the wall-clock second in which the wheel has to be looked at next.
    pub(super) const fn wheel_due_s(&self) -> u64 {
        if self.due == NOTHING { self.wheel_s + 1 } else { 0 }
    }

    /// Returns the slot whose hold ended first, if that hold has ended at `mono_ns`.
    pub(super) fn ended_hold(&self, mono_ns: u64) -> Option<u32> {
        (self.holds.head != NOTHING && self.holds.first_key <= mono_ns).then_some(self.holds.head)
    }

    /// Returns the slot whose release was settled first, if its epoch is at most `settled_epoch`.
    pub(super) fn settled_release(&self, settled_epoch: u64) -> Option<u32> {
        (self.releases.head != NOTHING && self.releases.first_key <= settled_epoch)
            .then_some(self.releases.head)
    }

    /// Returns the ids of the held slots, oldest hold first.
    pub(super) fn holds<'s>(
        &self,
        slots: &'s StripeSlots<F>,
    ) -> impl Iterator<Item = u32> + use<'s, F> {
        let follow = |id: u32| (id & END == 0).then_some(id);
        core::iter::successors(follow(self.holds.head), move |&id| follow(slots.get(id).next))
    }

    /// Takes out the next slot that comes up in the wheel by second `wall_s`: its lease has ended,
    /// or the slot has to be linked again.
    pub(super) fn next_due(&mut self, slots: &mut StripeSlots<F>, wall_s: u64) -> Option<u32> {
        if self.wheel_s > wall_s + BACKLASH_S {
            self.wheel_s = wall_s;
        }
        // One turn brings up every slot, however long the wheel was not looked at.
        self.wheel_s = self.wheel_s.max(wall_s.saturating_sub(u64::from(BUCKETS)));
        while self.due == NOTHING {
            let Some(at_s) = self.next_hung(wall_s) else {
                self.wheel_s = self.wheel_s.max(wall_s);
                return None;
            };
            self.wheel_s = at_s;
            let bucket = (at_s % u64::from(BUCKETS)) as usize;
            self.occupied_buckets[bucket / 64] &= !(1 << (bucket % 64));
            self.due = self.buckets.replace(bucket, NOTHING);
            if self.due != NOTHING {
                slots.get_mut(self.due).prev = DUE;
            }
        }
        let id = self.due;
        self.unlink(slots, id);
        Some(id)
    }

    /// Returns the next second by `wall_s` in whose bucket slots may hang.
    fn next_hung(&self, wall_s: u64) -> Option<u64> {
        let mut at_s = self.wheel_s + 1;
        while at_s <= wall_s {
            let bits =
                self.occupied_buckets[(at_s % u64::from(BUCKETS)) as usize / 64] >> (at_s % 64);
            if bits == 0 {
                at_s = (at_s | 63) + 1;
                continue;
            }
            at_s += u64::from(bits.trailing_zeros());
            break;
        }
        (at_s <= wall_s).then_some(at_s)
    }

    /// Walks all lists of the stripe forward and back, as a check of the links. Returns the number
    /// of slots in them.
    #[cfg(test)]
    pub(super) fn audit(&self, slots: &StripeSlots<F>) -> usize {
        let walk = |end: u32, head: u32, tail: Option<u32>| {
            let (mut count, mut prev, mut id) = (0, end, head);
            while id & END == 0 {
                assert_eq!(slots.get(id).prev, prev);
                let is_right = match slots.get(id).occupancy {
                    SlotOccupancy::Free => {
                        (end < HOLDS || end == OVERDUE) && slots.get(id).marks.state().is_past()
                    }
                    SlotOccupancy::Held => end == HOLDS,
                    SlotOccupancy::Releasing => end == RELEASES,
                    SlotOccupancy::Leased | SlotOccupancy::Declined => {
                        end < HOLDS || end == OVERDUE
                    }
                };
                assert!(is_right, "list {end:#x}: {:?}", slots.get(id));
                count += 1;
                (prev, id) = (id, slots.get(id).next);
            }
            if let Some(tail) = tail {
                assert_eq!(tail, if prev == end { NOTHING } else { prev });
                assert!(id == end || (count == 0 && id == NOTHING));
            }
            count
        };
        let mut count = walk(DUE, self.due, None);
        for queue in [&self.holds, &self.releases, &self.overdue] {
            count += walk(queue.end, queue.head, Some(queue.tail));
            let first_key =
                if queue.head == NOTHING { u64::MAX } else { (queue.key)(slots.get(queue.head)) };
            assert_eq!(queue.first_key, first_key);
        }
        for (bucket, head) in self.buckets.heads() {
            assert_ne!(self.occupied_buckets[bucket / 64] & (1 << (bucket % 64)), 0);
            count += walk(END | bucket as u32, head, None);
        }
        count
    }
}
