//! Pools of a configuration: ranges of addresses to lease from.

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use base::Firsts;

use crate::contract::{SlotOccupancy, SlotView};
use crate::family::{Family, PoolIndex};
use crate::table::order::FreeQueue;
use crate::table::table_family::{SlotNumberMap, TableFamily};
use crate::table::tally::PoolTally;

/// Slot number at which a pool's search for a free address starts; alone in its cache lines, since
/// every shard (server thread) that leases addresses from the pool writes the number.
#[derive(Debug)]
#[repr(align(128))]
struct PoolCursor(AtomicU32);

/// Rule that chooses the next free address of a pool (Kea's `allocator`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocator {
    /// Iterative: the address after the address leased last; after the end of the pool, the pool's
    /// first address.
    #[default]
    Iterative,
    /// Random: one address after the other in an unpredictable order, each once before any is
    /// repeated.
    Random,
    /// Free lease queue: the address that has been free longest.
    FreeLeaseQueue,
}

/// Pool as configured: a range of addresses, or of delegated prefixes of one length, to lease from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSpec<F: Family> {
    /// `id` of the subnet that the pool belongs to.
    pub subnet_id: u32,
    /// `pool-id` of the pool in the configuration, 0 when it has none.
    pub pool_id: u32,
    /// Rule that chooses the next free address or prefix of the pool.
    pub allocator: Allocator,
    /// First address, or first prefix, of the pool.
    pub first: F::Address,
    /// Last address, or last prefix, of the pool, included; of the kind and length of the first.
    pub last: F::Address,
}

impl<F: Family> PoolSpec<F> {
    /// Returns true if `address` belongs to the pool.
    #[must_use]
    pub fn contains(&self, address: F::Address) -> bool {
        self.first <= address && address <= self.last
    }
}

/// Pools of one configuration snapshot, in its order, each with the position at which the search
/// for its next address starts.
pub struct PoolSet<F: TableFamily> {
    specs: Vec<PoolSpec<F>>,
    runs: Vec<<F::SlotNumbers as SlotNumberMap<F>>::Run>,
    /// First address of each pool, ascending.
    firsts: Firsts<F::Address>,
    /// Position in `specs` of the pool that begins at each address of `firsts`.
    by_first: Vec<u32>,
    /// Highest last address of the pools up to each position in `by_first`.
    reach: Vec<F::Address>,
    cursors: Vec<PoolCursor>,
    /// Queue of the free addresses of each pool whose allocator is [`Allocator::FreeLeaseQueue`].
    queues: Vec<Option<Arc<FreeQueue>>>,
    /// Counters of each pool's leases, which the table updates.
    tallies: OnceLock<Vec<Arc<PoolTally>>>,
}

impl<F: TableFamily> PoolSet<F> {
    /// Creates a set of the pools `specs`, whose slot numbers are `runs`. A pool that `before` had
    /// with the same bounds keeps its position.
    pub(crate) fn new(
        specs: &[PoolSpec<F>],
        runs: Vec<<F::SlotNumbers as SlotNumberMap<F>>::Run>,
        before: Option<&Self>,
    ) -> Self {
        let mut by_first: Vec<u32> = (0..specs.len() as u32).collect();
        let first = |&position: &u32| specs[position as usize].first;
        by_first.sort_by_key(first);
        let firsts = Firsts::new(by_first.iter().map(first));
        let mut reach: Vec<F::Address> = Vec::with_capacity(specs.len());
        for &position in &by_first {
            let last = specs[position as usize].last;
            reach.push(reach.last().map_or(last, |&highest| highest.max(last)));
        }
        let mut cursors = Vec::with_capacity(specs.len());
        let mut queues = Vec::with_capacity(specs.len());
        for (spec, run) in specs.iter().zip(&runs) {
            let same_pool = before.and_then(|before| Some((before, before.same_as(spec)?)));
            let start = || match spec.allocator {
                Allocator::Iterative => F::SlotNumbers::start(spec, run),
                Allocator::Random | Allocator::FreeLeaseQueue => 0,
            };
            let position = same_pool.map(|(before, pool)| before.cursor(pool));
            cursors.push(PoolCursor(AtomicU32::new(position.unwrap_or_else(start))));
            let queue = same_pool.and_then(|(before, pool)| before.queue(pool).cloned());
            let is_queued = spec.allocator == Allocator::FreeLeaseQueue;
            queues.push(is_queued.then(|| queue.unwrap_or_default()));
        }
        Self {
            specs: specs.to_vec(),
            runs,
            firsts,
            by_first,
            reach,
            cursors,
            queues,
            tallies: OnceLock::new(),
        }
    }

    /// Returns the specifications of the pools, in the order of [`PoolIndex`].
    #[must_use]
    pub fn specs(&self) -> &[PoolSpec<F>] {
        &self.specs
    }

    /// Returns the pool that contains `address`; of overlapping pools the one that starts last.
    #[must_use]
    pub fn find(&self, address: F::Address) -> Option<PoolIndex> {
        let starts_before = self.firsts.count_through(address);
        self.by_first[..starts_before]
            .iter()
            .zip(&self.reach)
            .rev()
            .take_while(|&(_, &reach)| reach >= address)
            .find(|&(&position, _)| self.specs[position as usize].last >= address)
            .map(|(&position, _)| PoolIndex(position))
    }

    /// Returns the share of `pools`' addresses that are taken, counting the address of `slot` as
    /// taken: a fraction of 1, as Kea's `FreeLeaseQueueAllocator::getOccupancyRate` has it. Offers
    /// do not count. The result is 0 when no pool holds the address or the pools have 2^64 or more
    /// addresses. The function takes no lock and may miss leases that begin or end meanwhile.
    #[must_use]
    pub fn occupancy(&self, pools: impl Iterator<Item = PoolIndex>, slot: &SlotView<F>) -> f64 {
        let is_counted = matches!(slot.occupancy, SlotOccupancy::Leased | SlotOccupancy::Declined);
        let (mut total, mut in_use_count, mut is_inside) = (0_u128, u64::from(!is_counted), false);
        for pool in pools {
            let at = pool.0 as usize;
            total = total.saturating_add(F::capacity(&self.specs[at]));
            let tally = self.tallies.get().map(|tallies| &tallies[at]);
            in_use_count = in_use_count.wrapping_add(tally.map_or(0, |tally| tally.assigned()));
            is_inside |= self.contains(pool, slot.address);
        }
        if !is_inside || total >= u64::MAX.into() {
            0.0
        } else {
            in_use_count as f64 / total as f64
        }
    }

    /// Sets the counters that [`PoolSet::occupancy`] reads, one for each pool.
    pub(crate) fn count_by(&self, tallies: Vec<Arc<PoolTally>>) {
        // A set is configured once.
        let _ = self.tallies.set(tallies);
    }

    /// Returns the location of the slot numbers (32-bit numbers of lease slots) of `pool`'s
    /// addresses.
    pub(crate) fn run(&self, pool: PoolIndex) -> &<F::SlotNumbers as SlotNumberMap<F>>::Run {
        &self.runs[pool.0 as usize]
    }

    /// Returns true if `address` belongs to `pool`.
    pub(crate) fn contains(&self, pool: PoolIndex, address: F::Address) -> bool {
        self.specs[pool.0 as usize].contains(address)
    }

    /// Returns the slot number at which the search for a free address in `pool` starts.
    pub(crate) fn cursor(&self, pool: PoolIndex) -> u32 {
        self.cursors[pool.0 as usize].0.load(Ordering::Relaxed)
    }

    /// Sets the start of the next search in `pool` to the slot number after `slot_number`. Two
    /// shards may set it at the same time and the earlier address win: the search then skips the
    /// address that the other shard has taken.
    pub(crate) fn advance(&self, pool: PoolIndex, slot_number: u32) {
        self.cursors[pool.0 as usize].0.store(slot_number.wrapping_add(1), Ordering::Relaxed);
    }

    /// Sets the start of the next search in `pool` to `slot_number`.
    pub(crate) fn turn_to(&self, pool: PoolIndex, slot_number: u32) {
        self.cursors[pool.0 as usize].0.store(slot_number, Ordering::Relaxed);
    }

    /// Returns the number of the next step in `pool`'s order, for allocators that count steps, such
    /// as the random one.
    pub(crate) fn step(&self, pool: PoolIndex) -> u32 {
        self.cursors[pool.0 as usize].0.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the queue of `pool`'s free addresses, if its allocator has one.
    pub(crate) fn queue(&self, pool: PoolIndex) -> Option<&Arc<FreeQueue>> {
        self.queues[pool.0 as usize].as_ref()
    }

    /// Returns true if any pool has a queue of free addresses.
    pub(crate) fn has_queues(&self) -> bool {
        self.queues.iter().any(Option::is_some)
    }

    /// Returns the pool of this set that has the bounds and the allocator of `wanted`.
    fn same_as(&self, wanted: &PoolSpec<F>) -> Option<PoolIndex> {
        let end = self.firsts.count_through(wanted.first);
        let pools = self.by_first[..end].iter().rev().map(|&at| (at, &self.specs[at as usize]));
        pools
            .take_while(|(_, spec)| spec.first == wanted.first)
            .filter(|(_, spec)| spec.last == wanted.last && spec.allocator == wanted.allocator)
            .last()
            .map(|(at, _)| PoolIndex(at))
    }
}

impl<F: TableFamily> fmt::Debug for PoolSet<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolSet").field("specs", &self.specs).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv6Addr;

    use super::*;
    use crate::sample::SampleFamily as _;
    use crate::v4::V4;
    use crate::v6::{Resource, ResourceKind, V6};

    fn spec(first: u32, last: u32) -> PoolSpec<V4> {
        V4::pool(first, last)
    }

    fn set(specs: &[PoolSpec<V4>], before: Option<&PoolSet<V4>>) -> PoolSet<V4> {
        PoolSet::new(specs, vec![(); specs.len()], before)
    }

    #[test]
    fn an_address_finds_its_pool_also_behind_a_nested_one() {
        let set = set(&[spec(500, 600), spec(100, 400), spec(150, 160)], None);
        let pool_index = |address: u32| set.find(address.into()).map(|PoolIndex(index)| index);
        assert_eq!(pool_index(99), None);
        assert_eq!(pool_index(100), Some(1));
        assert_eq!(pool_index(155), Some(2));
        assert_eq!(pool_index(161), Some(1));
        assert_eq!(pool_index(450), None);
        assert_eq!(pool_index(600), Some(0));
        assert_eq!(pool_index(601), None);
    }

    #[test]
    fn a_pool_that_stays_keeps_its_position() {
        let old = set(&[spec(100, 200), spec(300, 400)], None);
        old.advance(PoolIndex(1), 349);
        let new = set(&[spec(300, 400), spec(100, 201)], Some(&old));
        assert_eq!(new.cursor(PoolIndex(0)), 350);
        assert_eq!(new.cursor(PoolIndex(1)), 100);
    }

    #[test]
    fn addresses_and_prefixes_of_every_length_have_pools_of_their_own() {
        let spec = |kind, len, first: u128, last: u128| {
            let resource = |bits| Resource { kind, len, address: Ipv6Addr::from_bits(bits) };
            PoolSpec { first: resource(first), last: resource(last), ..V6::pool(0, 0) }
        };
        let specs = [
            spec(ResourceKind::Prefix, 120, 0x100, 0x900),
            spec(ResourceKind::Address, 128, 0x100, 0x1ff),
            spec(ResourceKind::Prefix, 124, 0x100, 0x1f0),
        ];
        let runs = (0..specs.len()).map(|_| Default::default()).collect();
        let set = PoolSet::<V6>::new(&specs, runs, None);
        let pool_index = |resource| set.find(resource).map(|PoolIndex(index)| index);
        assert_eq!(pool_index(Resource::address(Ipv6Addr::from_bits(0x150))), Some(1));
        assert_eq!(pool_index(Resource::address(Ipv6Addr::from_bits(0x200))), None);
        assert_eq!(pool_index(Resource::prefix(Ipv6Addr::from_bits(0x900), 120)), Some(0));
        assert_eq!(pool_index(Resource::prefix(Ipv6Addr::from_bits(0x150), 124)), Some(2));
        assert_eq!(pool_index(Resource::prefix(Ipv6Addr::from_bits(0x150), 128)), None);
    }
}
