//! Reaction of the lease table to steps of the wall clock: it moves the times of its leases.

use core::sync::atomic::Ordering;
use std::sync::PoisonError;

use base::Now;
use base::time::US_PER_S;

use super::LeaseTable;
use super::address_map::STRIPES;
use super::clock::{
    ClockReading, ClockStart, ClockStep, MOVING, NOT_FOLLOWED, STALE_NS, STEP_US, STEPS_MAX,
    difference_us,
};
use super::stripe::Locked;
use super::table_family::TableFamily;
use crate::contract::SlotOccupancy;

impl<F: TableFamily> LeaseTable<F> {
    /// Makes the table follow the clocks from `now` on. A loaded lease from the future was created
    /// under another clock: at most its whole lifetime remains, so its lifetime starts at `now`.
    pub fn follow_clock(&self, now: Now) -> ClockStart {
        let mut following =
            self.wall_clock.following.lock().unwrap_or_else(PoisonError::into_inner);
        let wall_s = now.wall_s();
        let mut ahead_s = 0;
        let leases = self.move_times(|cltt_s| {
            (cltt_s > wall_s).then(|| {
                ahead_s = ahead_s.max(cltt_s - wall_s);
                wall_s
            })
        });
        following.since_ns = now.mono_ns;
        following.difference_us = difference_us(now);
        self.wall_clock.difference_us.store(following.difference_us, Ordering::Relaxed);
        ClockStart { ahead_s, leases }
    }

    /// Returns the steps of the wall clock since the last call, for the log.
    #[must_use]
    pub fn take_clock_steps(&self) -> Vec<ClockStep> {
        let following = self.wall_clock.following.lock();
        core::mem::take(&mut following.unwrap_or_else(PoisonError::into_inner).steps)
    }

    /// Compares `now` with the known difference of the clocks, and corrects leases after a step.
    pub(super) fn check_clock(&self, now: Now) -> ClockReading {
        let previous_us = self.wall_clock.difference_us.load(Ordering::Relaxed);
        let is_unchanged = difference_us(now).abs_diff(previous_us) < STEP_US;
        if is_unchanged || previous_us == NOT_FOLLOWED {
            return ClockReading { now, difference_us: previous_us };
        }
        self.follow_step(now)
    }

    #[cold]
    fn follow_step(&self, now: Now) -> ClockReading {
        let clock = &self.wall_clock;
        let mut following = clock.following.lock().unwrap_or_else(PoisonError::into_inner);
        let previous_us = following.difference_us;
        let new_us = difference_us(now);
        if new_us.abs_diff(previous_us) < STEP_US {
            return ClockReading { now, difference_us: previous_us };
        }
        let previous_wall_us = (now.mono_ns / 1_000).checked_add_signed(previous_us).unwrap_or(0);
        if now.mono_ns <= following.since_ns + STALE_NS {
            // Read before the step that another shard has followed.
            return ClockReading {
                now: Now { wall_us: previous_wall_us, ..now },
                difference_us: previous_us,
            };
        }
        clock.difference_us.store(MOVING, Ordering::Relaxed);
        // Another server that copies the leases has times from before the step.
        self.changed.invalidate();
        let by_s = (new_us - previous_us) / US_PER_S.cast_signed();
        // Clock readings differ by less than a second.
        let before_s = previous_wall_us / US_PER_S + 1;
        let wall_s = now.wall_s();
        let leases = self.move_times(|cltt_s| {
            let is_moved = if by_s > 0 { cltt_s <= before_s } else { cltt_s > wall_s };
            is_moved.then(|| cltt_s.saturating_add_signed(by_s))
        });
        if following.steps.len() < STEPS_MAX {
            following.steps.push(ClockStep { by_s, leases });
        }
        (following.since_ns, following.difference_us) = (now.mono_ns, new_us);
        clock.difference_us.store(new_us, Ordering::Relaxed);
        ClockReading { now, difference_us: new_us }
    }

    /// Replaces the time (cltt) of each lease by the result of `moved`, if any; returns the number
    /// of leases changed.
    fn move_times(&self, mut moved: impl FnMut(u64) -> Option<u64>) -> u64 {
        let mut count = 0;
        for number in 0..STRIPES {
            for part in 0.. {
                let mut stripe = self.lock(number);
                let Some(ids) = stripe.state.slots.part_ids(part) else { break };
                let mut next = ids.start;
                loop {
                    let id = stripe.state.slots.next_made(next, ids.end);
                    if id >= ids.end {
                        break;
                    }
                    next = id + 1;
                    let slot = stripe.slot(id);
                    if slot.version != 0
                        && slot.shown_state().is_some()
                        && let Some(cltt_s) = moved(slot.cltt_s)
                    {
                        stripe.set_time(id, cltt_s);
                        count += 1;
                    }
                }
            }
        }
        count
    }
}

impl<F: TableFamily> Locked<'_, F> {
    /// Makes the term of the lease in slot `id` begin at `cltt_s`.
    fn set_time(&mut self, id: u32, cltt_s: u64) {
        let state = &mut *self.state;
        let slot = state.slots.get_mut(id);
        let is_earlier = cltt_s < slot.cltt_s;
        slot.cltt_s = cltt_s;
        slot.touch();
        // A slot that ends later comes up in time in its present bucket, and is hung again.
        let hangs = !matches!(slot.occupancy, SlotOccupancy::Held | SlotOccupancy::Releasing);
        if is_earlier && hangs {
            state.deadlines.unlink(&mut state.slots, id);
            state.deadlines.link(&mut state.slots, id);
        }
        self.record_use(id);
    }
}
