//! Numbers of leases by pool, for Kea's statistics: exact, and without a lock of their own.
//!
//! A pool has a few cache lines of counters; a stripe always uses the same one, under its lock, so
//! that no line ever loses or doubles a change, and shards that work on different stripes seldom
//! meet. Only the begin and the end of a lease count; a renewal changes no counter. A slot stores
//! which pool it is counted in, hence a configuration that moves addresses between pools moves
//! their counts with them.
//!
//! Leases outside the pools are counted in their stripe, by subnet. The rules are Kea's
//! (`alloc_engine.cc`): a declined address stays assigned; a release lowers the assigned number and
//! counts as reclaimed when the lease is reclaimed; a lease that its client takes up again after
//! the end counts as reclaimed and assigned anew. A lease that an operator puts counts as assigned,
//! but not as given. A DHCPv6 lease outside the pools, as a reservation may be, is not assigned,
//! since totals are those of the pools.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::address_map::STRIPES;
use super::order::FreeQueue;
use super::slot::LeaseSlot;
use super::table_family::{SlotNumberMap, TableFamily};
use crate::contract::SlotOccupancy;
use crate::family::{Family, PoolIndex};
use crate::lease::LeaseState;
use crate::pool::{PoolSet, PoolSpec};

/// Number of cache lines of the counters of each pool.
const CACHE_LINES: usize = 8;
/// Number of the counters for leases of addresses outside the pools.
pub(super) const OUTSIDE: u32 = 0;
/// Number of the counters for leases outside the pools that do not count as assigned (DHCPv6).
pub(super) const UNCOUNTED: u32 = 1;
/// Number of counters in each cache line.
const COUNTERS: usize = 7;

/// Counts of the leases of a pool, by state and by event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Number of leases of clients, including ended ones that were not reclaimed yet, and declined
    /// addresses.
    pub assigned: u64,
    /// Number of addresses that clients declined and that are on probation.
    pub declined: u64,
    /// Number of leases created since the start; renewals and loaded leases do not count.
    pub cumulative_assigned: u64,
    /// Number of ended leases, declined addresses and released leases that were reclaimed since the
    /// start.
    pub reclaimed: u64,
    /// Number of declined addresses that are counted in `reclaimed`.
    pub reclaimed_declined: u64,
    /// Number of addresses that clients chose themselves and registered (RFC 9686).
    pub registered: u64,
    /// Number of registrations since the start, renewals not counted.
    pub cumulative_registered: u64,
}

impl PoolStatistics {
    pub(super) const fn from_counters(counters: [u64; COUNTERS]) -> Self {
        let [assigned, declined, cumulative_assigned, reclaimed, reclaimed_declined, ..] = counters;
        let [.., registered, cumulative_registered] = counters;
        Self {
            assigned,
            declined,
            cumulative_assigned,
            reclaimed,
            reclaimed_declined,
            registered,
            cumulative_registered,
        }
    }

    /// Adds the counts of `other` to these.
    pub const fn add(&mut self, other: &Self) {
        self.assigned += other.assigned;
        self.declined += other.declined;
        self.cumulative_assigned += other.cumulative_assigned;
        self.reclaimed += other.reclaimed;
        self.reclaimed_declined += other.reclaimed_declined;
        self.registered += other.registered;
        self.cumulative_registered += other.cumulative_registered;
    }
}

/// Changes of a pool's counters, in the order of [`PoolStatistics`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delta([i8; COUNTERS + 1]);

impl Delta {
    /// Returns the counts of a slot in use as `occupancy` and `state`.
    pub(super) const fn for_slot(occupancy: SlotOccupancy, state: LeaseState) -> Self {
        match (occupancy, state) {
            (SlotOccupancy::Leased, LeaseState::Registered) => Self([0, 0, 0, 0, 0, 1, 0, 0]),
            (SlotOccupancy::Leased, _) => Self([1, 0, 0, 0, 0, 0, 0, 0]),
            (SlotOccupancy::Declined, _) => Self([1, 1, 0, 0, 0, 0, 0, 0]),
            _ => Self([0; COUNTERS + 1]),
        }
    }

    /// Change of a pool's counters for a new lease.
    pub(super) const GIVEN: Self = Self([0, 0, 1, 0, 0, 0, 0, 0]);
    /// Change of a pool's counters for a registered address (RFC 9686).
    pub(super) const REGISTERED: Self = Self([0, 0, 0, 0, 0, 0, 1, 0]);
    /// Change of a pool's counters for a reclaimed lease.
    pub(super) const RECLAIMED: Self = Self([0, 0, 0, 1, 0, 0, 0, 0]);
    /// Change of a pool's counters for a declined address that is reclaimed.
    pub(super) const RECOVERED: Self = Self([0, 0, 0, 1, 1, 0, 0, 0]);

    pub(super) const fn is_zero(self) -> bool {
        u64::from_ne_bytes(self.octets()) == 0
    }

    const fn octets(self) -> [u8; COUNTERS + 1] {
        let mut octets = [0; COUNTERS + 1];
        let mut at = 0;
        while at < octets.len() {
            octets[at] = self.0[at].cast_unsigned();
            at += 1;
        }
        octets
    }

    /// Returns the counters that change, each with the value to add to it, which wraps below zero.
    pub(super) fn changes(self) -> impl Iterator<Item = (usize, u64)> {
        let mut remaining_octets = u64::from_le_bytes(self.octets());
        core::iter::from_fn(move || {
            let at = remaining_octets.trailing_zeros() as usize / 8;
            remaining_octets &= !(0xff_u64.checked_shl(8 * at as u32)?);
            Some((at, i64::from(self.0[at]).cast_unsigned()))
        })
    }

    /// Returns the changes of the counters without those of the assigned numbers.
    pub(super) const fn without_assigned(mut self) -> Self {
        self.0[0] = 0;
        self.0[2] = 0;
        self
    }

    /// Returns the changes of the counters minus those of `other`.
    pub(super) fn less(self, other: Self) -> Self {
        Self(core::array::from_fn(|at| self.0[at] - other.0[at]))
    }
}

#[derive(Default)]
#[repr(align(64))]
struct TallyCacheLine([AtomicU64; COUNTERS]);

/// Counters of the leases of one pool.
#[derive(Default)]
pub(crate) struct PoolTally {
    cache_lines: [TallyCacheLine; CACHE_LINES],
}

impl PoolTally {
    pub(super) fn add(&self, stripe: usize, delta: Delta) {
        for (at, change) in delta.changes() {
            self.cache_lines[stripe % CACHE_LINES].0[at].fetch_add(change, Ordering::Relaxed);
        }
    }

    /// Returns the number of the pool's assigned leases alone ([`PoolStatistics::assigned`]).
    pub(crate) fn assigned(&self) -> u64 {
        let cache_lines = self.cache_lines.iter().map(|line| line.0[0].load(Ordering::Relaxed));
        cache_lines.fold(0, u64::wrapping_add)
    }

    pub(super) fn sum(&self) -> PoolStatistics {
        PoolStatistics::from_counters(core::array::from_fn(|at| {
            let cache_lines =
                self.cache_lines.iter().map(|line| line.0[at].load(Ordering::Relaxed));
            cache_lines.fold(0, u64::wrapping_add)
        }))
    }
}

/// Key that distinguishes one pool's counters from those of others: its ids and its bounds.
type Key<F> = ((u32, u32), (<F as Family>::Address, <F as Family>::Address));

fn key_of<F: TableFamily>(spec: &PoolSpec<F>) -> Key<F> {
    ((spec.subnet_id, spec.pool_id), (spec.first, spec.last))
}

/// Counters of the pools of one configuration, and of the previous one while slots are moved.
pub(super) struct Tallies<F: TableFamily> {
    pools: Arc<PoolSet<F>>,
    /// Number of each pool's counters in [`TallyKey`]; no pool has [`OUTSIDE`] or [`UNCOUNTED`].
    pub(super) numbers: Vec<u32>,
    pub(super) by_number: Vec<Option<Arc<PoolTally>>>,
    has_queues: bool,
}

impl<F: TableFamily> Tallies<F> {
    /// Returns counters for a configuration without pools.
    pub(super) fn none(pools: Arc<PoolSet<F>>) -> Arc<Self> {
        let by_number = vec![None; UNCOUNTED as usize + 1];
        Arc::new(Self { pools, numbers: Vec::new(), by_number, has_queues: false })
    }

    /// Returns the counters of `pools`: a pool that existed before keeps its own; `None` when
    /// nothing changes.
    pub(super) fn after(&self, pools: &Arc<PoolSet<F>>) -> Option<Arc<Self>> {
        let keys = |pools: &PoolSet<F>| pools.specs().iter().map(key_of::<F>).collect::<Vec<_>>();
        let (old, new) = (keys(&self.pools), keys(pools));
        let allocators = |pools: &PoolSet<F>| {
            pools.specs().iter().map(|spec| spec.allocator).collect::<Vec<_>>()
        };
        if old == new && allocators(&self.pools) == allocators(pools) {
            return None;
        }
        let old_numbers: BTreeMap<Key<F>, u32> =
            old.into_iter().zip(self.numbers.iter().copied()).collect();
        // Numbers of the configuration before the last belong to no pool any more.
        let mut by_number: Vec<Option<Arc<PoolTally>>> = vec![None; self.by_number.len()];
        for &number in &self.numbers {
            by_number[number as usize].clone_from(&self.by_number[number as usize]);
        }
        let mut next = UNCOUNTED as usize + 1;
        let mut numbers = Vec::with_capacity(new.len());
        for key in new {
            let number = old_numbers.get(&key).copied().unwrap_or_else(|| {
                while by_number.get(next).is_some_and(Option::is_some) {
                    next += 1;
                }
                if next == by_number.len() {
                    by_number.push(None);
                }
                by_number[next] = Some(Arc::default());
                next as u32
            });
            numbers.push(number);
        }
        let has_queues = pools.has_queues();
        Some(Arc::new(Self { pools: Arc::clone(pools), numbers, by_number, has_queues }))
    }

    /// Returns the counters of each pool, in the order of the pools.
    pub(super) fn of_pools(&self) -> Vec<Arc<PoolTally>> {
        let tally = |&number: &u32| self.by_number[number as usize].clone();
        self.numbers.iter().map(|number| tally(number).unwrap_or_default()).collect()
    }

    /// Returns the queue of free addresses that has `address` while it is free, and its position in
    /// the queue.
    pub(super) fn queue_of(&self, address: F::Address) -> Option<(&FreeQueue, u32)> {
        if !self.has_queues {
            return None;
        }
        let pool = self.pools.find(address)?;
        let queue = self.pools.queue(pool)?;
        let spec = &self.pools.specs()[pool.0 as usize];
        Some((queue, F::SlotNumbers::position(spec, self.pools.run(pool), address)?))
    }

    /// Returns the number of the counters for `address`; [`OUTSIDE`] when the address is inside no
    /// pool.
    pub(super) fn number_of(&self, address: F::Address) -> u32 {
        F::pool_around(&self.pools, address)
            .map_or(OUTSIDE, |PoolIndex(pool)| self.numbers[pool as usize])
    }
}

/// Counts of leases outside the pools, by subnet and kind of lease.
pub(super) type Outside<F> = BTreeMap<(u32, <F as Family>::Kind), [u64; COUNTERS]>;

/// Key of the counters that count a slot's lease.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TallyKey<F: TableFamily> {
    pub(super) number: u32,
    pub(super) stripe: usize,
    /// `id` of the subnet, for counts outside the pools only.
    pub(super) subnet_id: u32,
    pub(super) kind: F::Kind,
}

impl<F: TableFamily> TallyKey<F> {
    pub(super) fn from_slot(slot: &LeaseSlot<F>) -> Self {
        let number = slot.marks.tally();
        Self {
            number,
            stripe: slot.number as usize % STRIPES,
            subnet_id: if number <= UNCOUNTED { slot.subnet_id } else { 0 },
            kind: F::kind(slot.address()),
        }
    }
}
