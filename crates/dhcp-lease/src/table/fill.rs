//! Filling of the pools' queues of free addresses (Kea's allocator `flq`) with the pools' open
//! positions.

use core::ops::Range;
use std::sync::Arc;

use super::LeaseTable;
use super::order;
use super::table_family::{SlotNumberMap, TableFamily};
use crate::family::PoolIndex;
use crate::pool::{PoolSet, PoolSpec};

/// Largest number of positions of a pool that one claim of a free address looks at to fill the
/// pool's queue.
pub(super) const LOOKS: u64 = 1024;
/// Number of positions of a pool that are added to its queue of free addresses together, in a
/// random order.
const WINDOW: u64 = 1 << 16;

fn sum(ranges: impl Iterator<Item = Range<u64>>) -> u64 {
    ranges.map(|range| range.end - range.start).sum()
}

impl<F: TableFamily> LeaseTable<F> {
    /// Puts free addresses into the queues of pools that `old` did not have.
    pub(super) fn fill_queues(&self, pools: &PoolSet<F>, old: &PoolSet<F>) {
        let is_old = |queue: *const _| {
            let old_pools = (0..old.specs().len() as u32).map(PoolIndex);
            let queues = old_pools.filter_map(|pool| old.queue(pool));
            queues.map(Arc::as_ptr).any(|old_queue| old_queue == queue)
        };
        for (pool, spec) in (0..).map(PoolIndex).zip(pools.specs()) {
            let Some(queue) = pools.queue(pool) else { continue };
            if is_old(Arc::as_ptr(queue)) {
                continue;
            }
            let open = F::SlotNumbers::open_positions(spec, pools.run(pool));
            let end = open.map(|open| open.end).max().unwrap_or(0);
            queue.reserve(u32::try_from(end).unwrap_or(u32::MAX));
            self.fill_queue(pools, pool, u64::MAX, u64::MAX);
        }
    }

    /// Continues to fill the queue of `pool`, when more of the pool was opened than the filling has
    /// looked at.
    pub(super) fn go_on_filling(&self, pools: &PoolSet<F>, pool: PoolIndex) {
        let Some(queue) = pools.queue(pool) else { return };
        let spec = &pools.specs()[pool.0 as usize];
        if queue.looked_at() != sum(F::SlotNumbers::open_positions(spec, pools.run(pool))) {
            self.fill_queue(pools, pool, LOOKS, WINDOW);
        }
    }

    /// Puts the free ones of the next `most` open positions of `pool` into the queue of the pool,
    /// if the pool has one, in an order that depends on the table's seed.
    fn fill_queue(&self, pools: &PoolSet<F>, pool: PoolIndex, most: u64, window_max: u64) {
        let Some(queue) = pools.queue(pool) else { return };
        let (spec, run) = (&pools.specs()[pool.0 as usize], pools.run(pool));
        let mut filling = queue.filling();
        // Read under the lock: no other thread has looked at more.
        let open: Vec<Range<u64>> = F::SlotNumbers::open_positions(spec, run).collect();
        let seed = self.seed_of(pool);
        for _ in 0..most {
            let Some(position) = filling.next(&open, window_max, seed) else {
                queue.set_looked_at(sum(open.iter().cloned()));
                return;
            };
            if let Some((slot_number, _)) = F::SlotNumbers::at(spec, run, position)
                && self.map.is_free(slot_number)
            {
                queue.push_new(position as u32);
            }
        }
    }

    /// Takes a free address of `pool`, searching from an unpredictable slot number on.
    pub(super) fn claim_anywhere(
        &self,
        pools: &PoolSet<F>,
        pool: PoolIndex,
    ) -> Option<(u32, F::Address)> {
        let (spec, run) = (&pools.specs()[pool.0 as usize], pools.run(pool));
        let mut start = F::SlotNumbers::start(spec, run);
        for _ in 0..order::TRIES {
            let step = u64::from(pools.step(pool));
            let random = order::mixed(step, self.seed_of(pool));
            let (slot_number, address) = Self::open_slot_number(spec, run, random)?;
            if self.map.clear_free(slot_number) {
                return Some((slot_number, address));
            }
            start = slot_number;
        }
        F::SlotNumbers::claim(&self.map, spec, run, start)
    }

    /// Returns one of the open slot numbers of a pool, those that may be leased; `None` when the
    /// pool has none.
    fn open_slot_number(
        spec: &PoolSpec<F>,
        run: &<F::SlotNumbers as SlotNumberMap<F>>::Run,
        random: u64,
    ) -> Option<(u32, F::Address)> {
        let open = || F::SlotNumbers::open_positions(spec, run);
        let mut index = random.checked_rem(sum(open()))?;
        for range in open() {
            let len = range.end - range.start;
            if index < len {
                return F::SlotNumbers::at(spec, run, range.start + index);
            }
            index -= len;
        }
        None
    }

    fn seed_of(&self, pool: PoolIndex) -> u64 {
        self.seed.wrapping_add(u64::from(pool.0) << 40).rotate_left(8)
    }
}
