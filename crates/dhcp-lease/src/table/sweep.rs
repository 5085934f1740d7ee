//! Sweeps of the lease table: end holds, free released addresses whose rows are durable, reclaim
//! expired leases, and end probations of declined addresses.
//!
//! As in Kea an expired lease becomes *reclaimed*: it has no client, is shown as reclaimed, and is
//! remembered for its client until it is flushed; each of the two steps writes a row. A lease that
//! a fetch without a free address must reclaim at once gets no row: the lease's own row has its
//! end, and the row of its flush comes in any case.

use core::sync::atomic::Ordering;
use std::sync::PoisonError;

use base::Now;

use super::LeaseTable;
use super::address_map::STRIPES;
use super::cycle::Allowance;
use super::deadlines::last_due_s;
use super::slot::LeaseSlot;
use super::stripe::{Locked, Stripe, StripeHints};
use super::sweep_request::{Position, Sweep};
use super::table_family::{FamilySlotFields, TableFamily};
use crate::contract::{SlotOccupancy, SweepCounts};
use crate::event::{EventCause, LeaseEventKind};
use crate::lease::{LeaseState, RowView};

impl<F: TableFamily> LeaseTable<F> {
    /// Frees slots whose hold, lease or probation has ended at `now` and slots that were released
    /// in rows through the settled epoch. Later calls, by any shard, continue where this one
    /// stopped. Logged rows go to `log` under the conditions of [`LeaseTable::apply`].
    pub fn sweep_logged(
        &self,
        now: Now,
        sweep: &Sweep,
        log: &mut dyn FnMut(RowView<'_, F>),
    ) -> SweepCounts {
        let [holds, leases, declined] = self.swept_early.each_ref().map(|count| {
            // Read first: shards share the line, and there is hardly ever a count to take.
            if count.load(Ordering::Relaxed) == 0 { 0 } else { count.swap(0, Ordering::Relaxed) }
        });
        let mut pass = self.pass(self.check_clock(now).now, sweep, Some(log));
        pass.swept = SweepCounts { holds, leases, declined, ..SweepCounts::default() };
        self.sweep_stripes(&mut pass);
        pass.swept
    }

    /// Sweeps the table as [`LeaseTable::sweep_logged`] does, without logging rows.
    pub fn sweep(&self, now: Now, settled_epoch: u64, budget: u32) -> SweepCounts {
        let sweep = Sweep { settled_epoch, row_epoch: settled_epoch, budget, forced: None };
        self.sweep_logged(now, &sweep, &mut |_| {})
    }

    /// Returns true if a sweep of the table might find work, as far as can be seen without a lock.
    #[must_use]
    pub fn is_sweep_due(&self, now: Now, settled_epoch: u64) -> bool {
        let sweep = Sweep { settled_epoch, row_epoch: 0, budget: 0, forced: None };
        let pass = self.pass(self.check_clock(now).now, &sweep, None);
        self.stripes.iter().any(|stripe| pass.is_due(&stripe.hints))
            || self.swept_early.iter().any(|count| count.load(Ordering::Relaxed) > 0)
    }

    /// Frees slots whose hold or release has ended, for a fetch that found no free address. Returns
    /// true if it freed any.
    pub(super) fn free_early(&self, now: Now, settled_epoch: u64, budget: u32) -> bool {
        self.run_early_pass(now, settled_epoch, budget, |pass| {
            self.visit_stripes(pass, SweepPass::has_ended, SweepPass::free_ended);
        })
    }

    /// Sweeps at most `budget` slots for a fetch that found no free address after
    /// [`LeaseTable::free_early`]. Returns true if it freed any.
    pub(super) fn sweep_early(&self, now: Now, settled_epoch: u64, budget: u32) -> bool {
        self.run_early_pass(now, settled_epoch, budget, |pass| self.sweep_stripes(pass))
    }

    fn run_early_pass(
        &self,
        now: Now,
        settled_epoch: u64,
        budget: u32,
        visit: impl FnOnce(&mut SweepPass<'_, F>),
    ) -> bool {
        let sweep = Sweep { settled_epoch, row_epoch: 0, budget, forced: Some(false) };
        let mut pass = self.pass(now, &sweep, None);
        visit(&mut pass);
        let counts = [pass.swept.holds, pass.swept.leases, pass.swept.declined];
        for (early, count) in self.swept_early.iter().zip(counts) {
            early.fetch_add(count, Ordering::Relaxed);
        }
        pass.freed
    }

    fn pass<'l>(&'l self, now: Now, sweep: &Sweep, log: Option<Log<'l, F>>) -> SweepPass<'l, F> {
        let wall_s = now.wall_s();
        SweepPass {
            now,
            wall_s,
            last_due_s: last_due_s(wall_s),
            sweep: *sweep,
            turns_wheel: sweep.forced.is_some() || self.is_reclaiming.load(Ordering::Relaxed),
            allowance: match sweep.forced {
                Some(_) => Allowance::Unlimited,
                None => self.cycles.begin(now),
            },
            remaining_budget: sweep.budget,
            freed: false,
            swept: SweepCounts::default(),
            log,
        }
    }

    /// Frees ended holds and releases before it turns the wheels of all stripes: those of a large
    /// table may have many leases to look at and link again, and a client that needs a free address
    /// should not wait for that.
    fn sweep_stripes(&self, pass: &mut SweepPass<'_, F>) {
        let work = pass.find_work(&self.stripes);
        if work.has_ended {
            self.visit_stripes(pass, SweepPass::has_ended, SweepPass::free_ended);
        }
        if work.has_due {
            self.visit_stripes(pass, SweepPass::has_due, SweepPass::turn_wheel);
        }
        if pass.sweep.forced.is_some() && pass.log.is_some() {
            // An operator has requested it: released leases do not wait for their clients any
            // longer.
            self.reclaim_released(pass);
        }
        let is_overdue = |stripe: &Stripe<F>| stripe.hints.has_overdue.load(Ordering::Relaxed);
        if pass.allowance.remaining() == 0 && self.stripes.iter().any(is_overdue) {
            pass.allowance.fall_short();
        }
    }

    /// Reclaims the released leases that wait in the stripes' timer wheels (control command
    /// `leases-reclaim`), as far as the budget permits: no list leads to them, so the pass looks at
    /// all slots. The next pass continues where this one stopped; the pass that reaches the last
    /// slot reports that no more is due.
    fn reclaim_released(&self, pass: &mut SweepPass<'_, F>) {
        let cursor = || self.hurry_from.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = *cursor();
        while pass.remaining_budget > 0 && at.stripe < STRIPES {
            pass.reclaim_released(&mut self.lock(at.stripe), &mut at);
        }
        let is_over = at.stripe == STRIPES;
        pass.swept.is_more_due |= !is_over;
        *cursor() = if is_over { Position::default() } else { at };
    }

    /// Does `work` in the stripes for which `is` returns true, one after the other, as far as the
    /// pass's budget permits.
    fn visit_stripes<'p>(
        &self,
        pass: &mut SweepPass<'p, F>,
        is: fn(&SweepPass<'p, F>, &StripeHints) -> bool,
        work: fn(&mut SweepPass<'p, F>, &mut Locked<'_, F>),
    ) {
        let from = self.sweep_from();
        for step in 0..STRIPES {
            let at = (from + step) % STRIPES;
            if !is(pass, &self.stripes[at].hints) {
                continue;
            }
            if pass.remaining_budget > 0 {
                work(pass, &mut self.lock(at));
            }
            if pass.remaining_budget == 0 && is(pass, &self.stripes[at].hints) {
                pass.swept.is_more_due = true;
                self.sweep_from.store(at as u32, Ordering::Relaxed);
                break;
            }
        }
    }
}

/// Callback that receives the rows that a sweep logs.
type Log<'l, F> = &'l mut dyn FnMut(RowView<'_, F>);

/// Pass of a sweep over the stripes of the table.
struct SweepPass<'l, F: TableFamily> {
    now: Now,
    /// Wall-clock time of the pass, in whole seconds.
    wall_s: u64,
    /// Last second in which a timer wheel may be due; the pass also looks at a wheel that is due
    /// later, since that means that the clock was set back.
    last_due_s: u64,
    sweep: Sweep,
    /// True if the pass examines the leases whose timers are due, in the timer wheels of the lease
    /// table.
    turns_wheel: bool,
    /// Limit on the leases that the pass may reclaim.
    allowance: Allowance<'l>,
    remaining_budget: u32,
    freed: bool,
    swept: SweepCounts,
    /// Callback for the rows of the pass; `None`: the pass cannot log.
    log: Option<Log<'l, F>>,
}

/// Kinds of work that a sweep's pass has in at least one stripe.
#[derive(Default)]
struct SweepWork {
    /// True if a hold has ended or the row of a release is durable in any stripe.
    has_ended: bool,
    /// True if the timer wheel of any stripe is to be turned.
    has_due: bool,
}

impl<F: TableFamily> SweepPass<'_, F> {
    /// Returns the kinds of work that the stripes have, as far as can be seen without locks. Looks
    /// at each stripe once, as most passes find no work.
    fn find_work(&self, stripes: &[Stripe<F>]) -> SweepWork {
        let mut work = SweepWork::default();
        for stripe in stripes {
            work.has_ended |= self.has_ended(&stripe.hints);
            work.has_due |= self.has_due(&stripe.hints);
        }
        work
    }

    /// Returns true if a stripe has work, as far as can be seen without its lock.
    fn is_due(&self, hints: &StripeHints) -> bool {
        self.has_ended(hints) || self.has_due(hints)
    }

    /// Returns true if a hold of the stripe has ended or a release is settled.
    fn has_ended(&self, hints: &StripeHints) -> bool {
        hints.first_hold_ns.load(Ordering::Relaxed) <= self.now.mono_ns
            || hints.first_release_epoch.load(Ordering::Relaxed) <= self.sweep.settled_epoch
    }

    /// Returns true if the wheel of the stripe is to be turned.
    fn has_due(&self, hints: &StripeHints) -> bool {
        let wheel_due_s = hints.wheel_due_s.load(Ordering::Relaxed);
        self.turns_wheel
            && (wheel_due_s <= self.wall_s
                || wheel_due_s > self.last_due_s
                || (hints.has_overdue.load(Ordering::Relaxed) && self.allowance.remaining() > 0))
    }

    fn free_ended(&mut self, stripe: &mut Locked<'_, F>) {
        while self.remaining_budget > 0 {
            let deadlines = &stripe.state.deadlines;
            let id = if let Some(id) = deadlines.settled_release(self.sweep.settled_epoch) {
                id
            } else if let Some(id) = deadlines.ended_hold(self.now.mono_ns) {
                self.swept.holds += 1;
                id
            } else {
                break;
            };
            stripe.free(id);
            self.freed = true;
            self.remaining_budget -= 1;
        }
    }

    fn turn_wheel(&mut self, stripe: &mut Locked<'_, F>) {
        while self.turns_wheel && self.remaining_budget > 0 {
            let state = &mut *stripe.state;
            let overdue = match self.allowance.remaining() {
                0 => None,
                _ => state.deadlines.next_overdue(&mut state.slots),
            };
            let due = || state.deadlines.next_due(&mut state.slots, self.wall_s);
            let Some(id) = overdue.or_else(due) else { break };
            self.remaining_budget -= 1;
            self.process_due(stripe, id);
        }
    }

    /// Returns true if the pass reclaims the released lease in `slot` before its time in the timer
    /// wheel.
    fn is_reclaimed_early(&self, slot: &LeaseSlot<F>) -> bool {
        let is_released =
            slot.occupancy == SlotOccupancy::Free && slot.marks.state() == LeaseState::Released;
        is_released
            && self.sweep.forced.is_some()
            && self.log.is_some()
            && slot.row_epoch <= self.sweep.settled_epoch
    }

    /// Reclaims the released leases of the stripe that wait in its wheel, from position `at` on.
    fn reclaim_released(&mut self, stripe: &mut Locked<'_, F>, at: &mut Position) {
        while self.remaining_budget > 0 {
            let Some(ids) = stripe.state.slots.part_ids(at.part) else {
                *at = Position { stripe: at.stripe + 1, ..Position::default() };
                return;
            };
            self.remaining_budget -= 1;
            let id = stripe.state.slots.next_made(ids.start + at.offset, ids.end);
            if id >= ids.end {
                *at = Position { part: at.part + 1, offset: 0, ..*at };
                continue;
            }
            at.offset = id + 1 - ids.start;
            if self.is_reclaimed_early(stripe.slot(id)) {
                let state = &mut *stripe.state;
                state.deadlines.unlink(&mut state.slots, id);
                self.process_due(stripe, id);
            }
        }
    }

    /// Reclaims, remembers or deletes the lease of slot `id`, which was taken out of the wheel.
    fn process_due(&mut self, stripe: &mut Locked<'_, F>, id: u32) {
        let wall_s = self.wall_s;
        let state = &mut *stripe.state;
        let slot = state.slots.get(id);
        let expiry = state.deadlines.expiry;
        let due_s = slot.due_s(&expiry);
        if due_s > wall_s && !self.is_reclaimed_early(slot) {
            if due_s != u64::MAX {
                state.deadlines.postpone(&mut state.slots, id, due_s);
            }
            return;
        }
        let is_past = slot.occupancy == SlotOccupancy::Free;
        let is_unsettled = slot.row_epoch > self.sweep.settled_epoch;
        if (self.log.is_some() && is_unsettled) || (self.log.is_none() && is_past) {
            state.deadlines.postpone(&mut state.slots, id, wall_s + 1);
            return;
        }
        let hold_s = u64::from(expiry.hold_reclaimed_s);
        let is_removing = self.sweep.forced == Some(true) && self.log.is_some();
        // As in Kea an operator's request takes precedence over the configuration of sweeps.
        let is_forced_memory = self.sweep.forced == Some(false) && self.log.is_some();
        let is_remembered = (expiry.is_remembering || is_forced_memory)
            && !is_removing
            && slot.occupancy != SlotOccupancy::Declined
            && slot.marks.state() != LeaseState::ExpiredReclaimed
            && slot.expires_s() + hold_s > wall_s;
        let is_reclaimed = slot.marks.state() == LeaseState::ExpiredReclaimed;
        if !(is_past && is_reclaimed) {
            if self.allowance.remaining() == 0 {
                state.deadlines.push_overdue(&mut state.slots, id);
                return;
            }
            self.allowance.take();
        }
        match (slot.occupancy, slot.marks.state()) {
            (SlotOccupancy::Free, LeaseState::ExpiredReclaimed) => self.swept.flushed += 1,
            (SlotOccupancy::Free, _) => self.swept.released += 1,
            (SlotOccupancy::Declined, _) => self.swept.declined += 1,
            _ => self.swept.leases += 1,
        }
        let kind = stripe.count_ended(id, wall_s).unwrap_or(LeaseEventKind::Forgotten);
        let before = stripe.recorded_lease(id);
        self.freed |= !is_past;
        let row_epoch = if self.log.is_some() { self.sweep.row_epoch } else { 0 };
        let cause = EventCause::internal(row_epoch);
        if is_remembered {
            self.remember(stripe, id);
            stripe.record(id, kind, before, Some(LeaseState::ExpiredReclaimed), cause);
        } else {
            self.delete(stripe, id);
            stripe.record(id, kind, before, None, cause);
        }
    }

    /// Makes the lease in slot `id` a reclaimed one that is remembered.
    fn remember(&mut self, stripe: &mut Locked<'_, F>, id: u32) {
        let row_epoch = self.sweep.row_epoch;
        let is_logged = self.log.is_some();
        stripe.transition(id, SlotOccupancy::Free, |slot| {
            slot.marks.set_state(LeaseState::ExpiredReclaimed);
            slot.forget_names();
            if is_logged {
                slot.row_epoch = row_epoch;
            }
        });
        if let Some(log) = &mut self.log {
            log(stripe.slot(id).row(LeaseState::ExpiredReclaimed));
        }
    }

    /// Makes slot `id` free, without a client or a remembered lease.
    fn delete(&mut self, stripe: &mut Locked<'_, F>, id: u32) {
        let row_epoch = self.sweep.row_epoch;
        if let Some(log) = &mut self.log {
            let slot = stripe.slot_mut(id);
            slot.valid_lifetime_s = 0;
            slot.family_fields.end_term();
            slot.row_epoch = row_epoch;
            log(slot.row(slot.marks.state()));
        }
        stripe
            .transition(id, SlotOccupancy::Free, |slot| slot.marks.set_state(LeaseState::Assigned));
        stripe.forget_client(id);
    }
}
