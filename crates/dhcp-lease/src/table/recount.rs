//! Counts of leases by pool, as changes of slots and new configurations change them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::LeaseTable;
use super::address_map::STRIPES;
use super::stripe::Locked;
use super::table_family::TableFamily;
use super::tally::{Delta, OUTSIDE, Outside, PoolStatistics, Tallies, TallyKey, UNCOUNTED};
use crate::family::PoolIndex;
use crate::pool::PoolSet;

impl<F: TableFamily> Locked<'_, F> {
    /// Adds `delta` to the counters of the pool of slot `id`.
    pub(super) fn count(&mut self, id: u32, delta: Delta) {
        let slot = self.slot(id);
        if Delta::for_slot(slot.occupancy, slot.marks.state()).is_zero() {
            let number = self.state.tallies.number_of(slot.address());
            self.slot_mut(id).marks.set_tally(number);
        }
        let account = TallyKey::from_slot(self.slot(id));
        self.count_in(&account, delta);
    }

    /// Counts a change of slot `id` from `before`, in the counters `account`, by `event`.
    pub(super) fn count_change(
        &mut self,
        id: u32,
        account: TallyKey<F>,
        before: Delta,
        event: Delta,
    ) {
        let slot = self.slot(id);
        let after = Delta::for_slot(slot.occupancy, slot.marks.state());
        if before.is_zero() {
            if after.is_zero() {
                debug_assert!(event.is_zero(), "what happens to a lease leaves one behind");
                return;
            }
            let number = self.state.tallies.number_of(slot.address());
            self.slot_mut(id).marks.set_tally(number);
        }
        if !F::COUNTS_OUTSIDE && event == Delta::GIVEN && self.slot(id).marks.tally() == OUTSIDE {
            self.slot_mut(id).marks.set_tally(UNCOUNTED);
        }
        let new = TallyKey::from_slot(self.slot(id));
        let after = event.less(Delta::default().less(after));
        if before.is_zero() || new == account {
            self.count_in(&new, after.less(before));
        } else {
            self.count_in(&account, Delta::default().less(before));
            self.count_in(&new, after);
        }
    }

    fn count_in(&mut self, account: &TallyKey<F>, delta: Delta) {
        if delta.is_zero() {
            return;
        }
        let state = &mut *self.state;
        if let Some(tally) = &state.tallies.by_number[account.number as usize] {
            tally.add(account.stripe, delta);
            return;
        }
        let is_uncounted = account.number == UNCOUNTED;
        let delta = if is_uncounted { delta.without_assigned() } else { delta };
        let sums = state.outside.entry((account.subnet_id, account.kind)).or_default();
        for (at, change) in delta.changes() {
            sums[at] = sums[at].wrapping_add(change);
        }
    }

    /// Moves the lease counts of the slots of one part of the stripe to the present pools of their
    /// addresses; returns false when the stripe has no such part.
    fn recount_part(&mut self, part: usize) -> bool {
        let Some(ids) = self.state.slots.part_ids(part) else { return false };
        let mut next = ids.start;
        loop {
            let id = self.state.slots.next_made(next, ids.end);
            if id >= ids.end {
                return true;
            }
            next = id + 1;
            let slot = self.slot(id);
            if slot.version == 0 {
                continue;
            }
            let standing = Delta::for_slot(slot.occupancy, slot.marks.state());
            let before = TallyKey::from_slot(slot);
            let number = self.state.tallies.number_of(slot.address());
            let stays_outside = before.number == UNCOUNTED && number == OUTSIDE;
            if before.number != number && !stays_outside {
                self.slot_mut(id).marks.set_tally(number);
                self.count_in(&before, Delta::default().less(standing));
                self.count(id, standing);
            }
        }
    }
}

impl<F: TableFamily> LeaseTable<F> {
    /// Counts leases in the pools `pools` from here on.
    pub(super) fn recount(&self, tallies: &mut Arc<Tallies<F>>, pools: &Arc<PoolSet<F>>) {
        let Some(new) = tallies.after(pools) else { return };
        for stripe in 0..STRIPES {
            self.lock(stripe).state.tallies = Arc::clone(&new);
            for part in 0.. {
                if !self.lock(stripe).recount_part(part) {
                    break;
                }
            }
        }
        *tallies = new;
    }

    /// Returns the counts of leases in `pool` of the newest configuration; all zero when it has no
    /// such pool.
    #[must_use]
    pub fn statistics(&self, PoolIndex(pool): PoolIndex) -> PoolStatistics {
        let tallies = Arc::clone(&self.lock_configuration().tallies);
        let number = tallies.numbers.get(pool as usize).copied().unwrap_or(OUTSIDE);
        tallies.by_number[number as usize]
            .as_ref()
            .map_or_else(PoolStatistics::default, |tally| tally.sum())
    }

    /// Returns the counts of leases outside the pools, for each subnet (and, in DHCPv6, each kind
    /// of lease).
    #[must_use]
    pub fn statistics_outside(&self) -> BTreeMap<(u32, F::Kind), PoolStatistics> {
        let mut sums: Outside<F> = BTreeMap::new();
        for stripe in 0..STRIPES {
            for (key, counters) in &self.lock(stripe).state.outside {
                let sums = sums.entry(*key).or_default();
                for (sum, counter) in sums.iter_mut().zip(counters) {
                    *sum = sum.wrapping_add(*counter);
                }
            }
        }
        sums.into_iter().map(|(key, sums)| (key, PoolStatistics::from_counters(sums))).collect()
    }
}
