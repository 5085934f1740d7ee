//! Map from DHCPv6 addresses and prefixes to slot numbers: extents for the resources of pools,
//! single slot numbers for the rest.
//!
//! A pool's resources lie in extents, so that their free bits follow each other. Pools of up to
//! [`WHOLE`] resources are opened when they are configured. A larger pool reserves as many as its
//! share of the space of slot numbers permits (16 million at most) and opens them as they are used
//! up, twice as many each time, and as far as a loaded lease needs. Addresses that clients request
//! beyond the open part, and leases beyond the reserved part, get single slot numbers. They keep
//! them when an extent is opened over them: the extent has the free bit then, and the single slot
//! number the slot.
//!
//! Lookups do not wait where only extents are: the set of extents is published as a whole, and the
//! open part of an extent is a number. Single slot numbers are found in a striped map.

use core::hash::BuildHasher;
use core::net::Ipv6Addr;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::extent::{ExtentRange, ResourceExtent};
use super::overlap::OverlapGuards;
use super::resource::{Resource, ResourceKind};
use super::spans::Class;
use super::{PoolSpec, V6};
use crate::table::address_map::AddressMap;
use crate::table::latest_value::LatestValue;
use crate::table::table_family::{OpeningPlan, SlotNumberMap};

/// Largest number of addresses or prefixes of a pool that are all opened at once.
const WHOLE: u32 = 1 << 20;
/// Number of addresses or prefixes of a larger pool that are opened first.
const OPENED_FIRST: u32 = 1 << 12;
/// Largest number of slot numbers that are reserved for the addresses or prefixes of a larger pool.
const RESERVED_MAX: u32 = 1 << 24;
/// Bit of a single slot number; extents have the slot numbers below.
pub(super) const SINGLE: u32 = 1 << 31;
/// Largest number of single slot numbers for addresses that clients request. Beyond that number,
/// clients only get addresses with open slot numbers.
const REQUESTED_SINGLES_MAX: u32 = 1 << 20;
const STRIPES: usize = 256;

/// Extents of all pools, and ranges of the resources that a pool ever had.
#[derive(Clone, Debug, Default)]
pub(super) struct ExtentDirectory {
    /// Extents by their first resource, ascending, disjoint.
    extents: Vec<(Resource, Arc<ResourceExtent>)>,
    /// First and last resource of each range that a pool ever had, ascending, disjoint.
    pub(super) pooled: Vec<(Resource, Resource)>,
}

/// Adds a range of resources to ascending, disjoint ones, joined with those that it meets.
pub(super) fn add_range(
    ranges: &mut Vec<(Resource, Resource)>,
    mut first: Resource,
    mut last: Resource,
) {
    let start = ranges.partition_point(|&(_, end)| end < first);
    let end = ranges.partition_point(|&(from, _)| from <= last);
    if start < end {
        first = first.min(ranges[start].0);
        last = last.max(ranges[end - 1].1);
    }
    ranges.splice(start..end, [(first, last)]);
}

/// Returns true if `resource` is in one of the ranges, which are ascending and disjoint.
pub(super) fn is_in_ranges(ranges: &[(Resource, Resource)], resource: Resource) -> bool {
    let after = ranges.partition_point(|&(first, _)| first <= resource);
    after > 0 && resource <= ranges[after - 1].1
}

impl ExtentDirectory {
    /// Returns the extent that reserves a slot number for `resource`, and the offset of the
    /// resource in it.
    fn find(&self, resource: Resource) -> Option<(&Arc<ResourceExtent>, u32)> {
        let after = self.extents.partition_point(|(first, _)| *first <= resource);
        let (_, extent) = self.extents[..after].last()?;
        Some((extent, extent.offset(resource)?))
    }

    pub(super) fn is_pooled(&self, resource: Resource) -> bool {
        is_in_ranges(&self.pooled, resource) && resource.is_proper()
    }

    /// Returns the kinds and prefix lengths of the extents' resources.
    pub(super) fn extent_classes(&self) -> impl Iterator<Item = Class> {
        let class_at = |at: usize| self.extents.get(at).map(|(first, _)| first.class());
        core::iter::successors(class_at(0), move |&class| {
            class_at(self.extents.partition_point(|(first, _)| first.class() <= class))
        })
    }

    /// Returns the kinds and prefix lengths of resources that pools ever had.
    pub(super) fn pooled_classes(&self) -> impl Iterator<Item = Class> {
        let class_at = |at: usize| self.pooled.get(at).map(|(first, _)| first.class());
        core::iter::successors(class_at(0), move |&class| {
            class_at(self.pooled.partition_point(|(first, _)| first.class() <= class))
        })
    }

    /// Returns the resources at the slot numbers `first` and `last`, which belong to one extent.
    pub(super) fn resources_at(&self, first: u32, last: u32) -> Option<(Resource, Resource)> {
        let (_, extent) = self.extents.iter().find(|(_, extent)| extent.has_slot_number(first))?;
        Some((extent.resource(first), extent.resource(last)))
    }

    /// Returns the ranges of extents in a pool from `first` to `last`, ascending.
    pub(super) fn stretches(&self, first: Resource, last: Resource) -> Vec<ExtentRange> {
        let start = self.extents.partition_point(|(_, extent)| extent.bounds().1 < first);
        let overlapping = self.extents[start..].iter().take_while(|(from, _)| *from <= last);
        overlapping
            .map(|(from, extent)| ExtentRange {
                extent: Arc::clone(extent),
                first: (first.number().saturating_sub(from.number())) as u32,
                last: (last.number() - from.number()).min(u128::from(extent.reserved() - 1)) as u32,
            })
            .collect()
    }
}

/// State of the allocation of slot numbers that changes together with the single slot numbers.
#[derive(Debug, Default)]
struct SlotNumberAllocation {
    /// Lowest slot number that no extent has.
    next_extent: u32,
    /// Number of single slot numbers that were allocated.
    singles: u32,
}

/// Stripe of the map from resources to single slot numbers.
#[derive(Default)]
#[repr(align(128))]
struct Singles(Mutex<HashTable<(Resource, u32)>>);

/// Map from DHCPv6 resources to slot numbers, see the module.
pub struct Dictionary {
    pub(super) directory: LatestValue<ExtentDirectory>,
    pub(super) comparison: OverlapGuards,
    hasher: FixedState,
    singles: Vec<Singles>,
    /// Number of single slot numbers allocated to addresses that clients requested.
    requested_singles: AtomicU32,
    /// Lock that is held while single slot numbers are made and while slot numbers are published.
    allocation: Mutex<SlotNumberAllocation>,
}

/// Change of slot numbers that [`Dictionary`] publishes.
pub enum Publication {
    /// New configuration: the extents, and how much of each is to be opened.
    Directory(Box<DirectoryChange>),
    /// Extent of which more is opened, and the number of its open slot numbers.
    Growth(Arc<ResourceExtent>, u32),
}

/// Directory of extents to publish for a new configuration.
#[derive(Default)]
pub struct DirectoryChange {
    directory: Option<ExtentDirectory>,
    opened: Vec<(Arc<ResourceExtent>, u32)>,
}

impl Dictionary {
    fn locate(&self, resource: Resource) -> (u64, MutexGuard<'_, HashTable<(Resource, u32)>>) {
        let hash = self.hasher.hash_one(resource);
        let stripe = &self.singles[(hash >> 32) as usize % STRIPES];
        (hash, stripe.0.lock().expect("no holder of a stripe of places panics"))
    }

    fn single(&self, resource: Resource) -> Option<u32> {
        let (hash, table) = self.locate(resource);
        table.find(hash, |(other, _)| *other == resource).map(|&(_, slot_number)| slot_number)
    }

    fn allocation(&self) -> MutexGuard<'_, SlotNumberAllocation> {
        self.allocation.lock().expect("no holder of the given places panics")
    }

    /// Returns the number of slot numbers that the extents reserve.
    #[cfg(test)]
    pub(crate) fn reserved(&self) -> u32 {
        self.allocation().next_extent
    }

    /// Returns the number of single slot numbers that were allocated.
    #[cfg(test)]
    pub(crate) fn singles(&self) -> u32 {
        self.allocation().singles
    }

    /// Returns true if any resource of `extent` has a single slot number.
    fn has_singles_in(&self, extent: &ResourceExtent) -> bool {
        self.singles.iter().any(|stripe| {
            let table = stripe.0.lock().expect("no holder of a stripe of places panics");
            table.iter().any(|&(resource, _)| extent.offset(resource).is_some())
        })
    }

    /// Returns the slot numbers of the single resources for which `is_selected` is true, each as a
    /// range.
    pub(super) fn single_slot_numbers(
        &self,
        is_selected: impl Fn(Resource) -> bool,
    ) -> Vec<(u32, u32)> {
        let mut slot_numbers = Vec::new();
        for stripe in &self.singles {
            let table = stripe.0.lock().expect("no holder of a stripe of places panics");
            let selected = table.iter().filter(|(resource, _)| is_selected(*resource));
            slot_numbers.extend(selected.map(|&(_, slot_number)| (slot_number, slot_number)));
        }
        slot_numbers
    }

    /// Returns the plan that opens the first `opened` slot numbers of `extent`.
    fn growth(extent: &Arc<ResourceExtent>, opened: u32) -> OpeningPlan<Publication> {
        let before = extent.opened();
        OpeningPlan {
            ranges: vec![extent.slot_numbers(before, opened - before)],
            publication: Publication::Growth(Arc::clone(extent), opened),
        }
    }

    /// Reserves slot numbers for the resources of `spec` that have none, `share` at most.
    fn reserve(
        &self,
        directory: &mut ExtentDirectory,
        change: &mut DirectoryChange,
        spec: &PoolSpec,
        share: u32,
    ) {
        let PoolSpec { first, last, .. } = *spec;
        let size = (last.number() - first.number()).saturating_add(1);
        let stretches = directory.stretches(first, last);
        let covered: u32 = stretches.iter().map(|stretch| stretch.last - stretch.first + 1).sum();
        let mut missing = size.min(u128::from(share)).saturating_sub(u128::from(covered)) as u32;
        let mut next = first.number();
        let mut allocation = self.allocation();
        let ends = stretches.iter().map(|stretch| stretch.extent.bounds());
        let ends = ends.map(|(from, to)| (from.number(), Some(to.number())));
        for (from, to) in ends.chain([(last.number().saturating_add(1), None)]) {
            let gap = from.saturating_sub(next);
            // Otherwise the last of all numbers would end no gap.
            let gap =
                if to.is_none() && last.number() == u128::MAX { u128::MAX - next } else { gap };
            let remaining = (SINGLE - allocation.next_extent) & !0xff;
            let count = gap.min(u128::from(missing.min(remaining))) as u32;
            if count > 0 {
                let start = Resource::from_number(first.kind, first.len, next);
                let extent = Arc::new(ResourceExtent::new(start, count, allocation.next_extent));
                allocation.next_extent += count.next_multiple_of(256);
                missing -= count;
                let is_whole = size <= u128::from(WHOLE);
                let opened = if is_whole { count } else { count.min(OPENED_FIRST) };
                change.opened.push((Arc::clone(&extent), opened));
                let at = directory.extents.partition_point(|(first, _)| *first < start);
                directory.extents.insert(at, (start, extent));
            }
            let Some(to) = to else { break };
            next = to.saturating_add(1);
        }
    }

    /// Returns the number of slot numbers that each pool may reserve: all for small ones, an equal
    /// part of half of the remaining slot numbers for large ones.
    fn share(&self, specs: &[PoolSpec]) -> u32 {
        let is_large = |spec: &&PoolSpec| {
            let PoolSpec { first, last, .. } = *spec;
            last.number() - first.number() >= u128::from(WHOLE)
        };
        let large = specs.iter().filter(is_large).count() as u32;
        let remaining = SINGLE - self.allocation().next_extent;
        let share = (remaining / 2).checked_div(large).unwrap_or(0).min(RESERVED_MAX);
        if share == 0 { 0 } else { 1 << share.ilog2() }
    }
}

impl SlotNumberMap<V6> for Dictionary {
    type Run = Vec<ExtentRange>;
    type Publication = Publication;
    const CAN_GROW: bool = true;
    const FIRST_APART: Option<u32> = Some(SINGLE);

    fn new(seed: u64) -> Self {
        Self {
            directory: LatestValue::new(ExtentDirectory::default()),
            comparison: OverlapGuards::default(),
            hasher: FixedState::with_seed(seed.rotate_left(16)),
            singles: (0..STRIPES).map(|_| Singles::default()).collect(),
            requested_singles: AtomicU32::new(0),
            allocation: Mutex::default(),
        }
    }

    fn find(&self, resource: Resource) -> Option<u32> {
        if let Some((extent, offset)) = self.directory.get().find(resource)
            && offset < extent.opened()
        {
            if extent.has_others()
                && let Some(single) = self.single(resource)
            {
                return Some(single);
            }
            return resource.is_proper().then(|| extent.slot_number(offset));
        }
        self.single(resource)
    }

    fn make(&self, resource: Resource, is_loaded: bool) -> Option<u32> {
        let existing = self.find(resource);
        if existing.is_some() || !resource.is_proper() {
            return existing;
        }
        if !is_loaded && !self.can_be_made(resource) {
            return None;
        }
        let mut allocation = self.allocation();
        // An extent may have been opened over it, or another thread may have made it.
        let existing = self.find(resource);
        if existing.is_some() {
            return existing;
        }
        if let Some((extent, _)) = self.directory.get().find(resource) {
            extent.set_has_others();
        }
        let slot_number = SINGLE | allocation.singles;
        allocation.singles += 1;
        if !is_loaded {
            self.requested_singles.fetch_add(1, Ordering::Relaxed);
        }
        let (hash, mut table) = self.locate(resource);
        let rehash = |(other, _): &(Resource, u32)| self.hasher.hash_one(other);
        table.insert_unique(hash, (resource, slot_number), rehash);
        Some(slot_number)
    }

    fn can_be_made(&self, resource: Resource) -> bool {
        self.requested_singles.load(Ordering::Relaxed) < REQUESTED_SINGLES_MAX
            && self.directory.get().is_pooled(resource)
    }

    fn is_pooled(&self, _map: &AddressMap, slot_number: u32, resource: Resource) -> bool {
        slot_number & SINGLE == 0 || self.directory.get().is_pooled(resource)
    }

    fn bit(&self, slot_number: u32, resource: Resource) -> Option<u32> {
        if slot_number & SINGLE == 0 {
            return Some(slot_number);
        }
        let (extent, offset) = self.directory.get().find(resource)?;
        (offset < extent.opened()).then(|| extent.slot_number(offset))
    }

    fn bit_to_be(&self, _map: &AddressMap, resource: Resource) -> Option<u32> {
        let (extent, offset) = self.directory.get().find(resource)?;
        resource.is_proper().then(|| extent.slot_number(offset))
    }

    fn runs(
        &self,
        map: &AddressMap,
        after: Option<(Ipv6Addr, u8, ResourceKind)>,
    ) -> Vec<Vec<(u32, Resource)>> {
        let mut runs: Vec<Vec<(u32, Resource)>> = Vec::new();
        let mut before = None;
        for (first, extent) in &self.directory.get().extents {
            // Extents ascend within a kind and a length.
            if before.replace((first.kind, first.len)) != Some((first.kind, first.len)) {
                runs.push(Vec::new());
            }
            let run = runs.last_mut().expect("one was pushed for the first extent");
            run.extend(extent.blocks(after.map(|(address, ..)| address)));
        }
        // Single slot numbers are in no order: each block of them may hold the next resource.
        let lowest = Resource::address(Ipv6Addr::UNSPECIFIED);
        runs.extend(map.blocks(SINGLE >> 8).map(|block| vec![(block, lowest)]));
        runs
    }

    fn plan(&self, specs: &[PoolSpec]) -> (Vec<Vec<ExtentRange>>, OpeningPlan<Publication>) {
        let current = self.directory.get();
        let mut directory = current.clone();
        let mut change = DirectoryChange::default();
        let share = self.share(specs);
        for spec in specs {
            let PoolSpec { first, last, .. } = *spec;
            let is_small = last.number() - first.number() < u128::from(WHOLE);
            self.reserve(&mut directory, &mut change, spec, if is_small { WHOLE } else { share });
            add_range(&mut directory.pooled, first, last);
        }
        let runs = specs.iter().map(|spec| {
            let PoolSpec { first, last, .. } = *spec;
            directory.stretches(first, last)
        });
        let runs = runs.collect();
        let ranges = change.opened.iter().map(|(extent, opened)| extent.slot_numbers(0, *opened));
        let ranges = ranges.collect();
        if !change.opened.is_empty() || directory.pooled != current.pooled {
            change.directory = Some(directory);
        }
        (runs, OpeningPlan { ranges, publication: Publication::Directory(Box::new(change)) })
    }

    fn plan_growth(&self, run: &Vec<ExtentRange>) -> Option<OpeningPlan<Publication>> {
        let ExtentRange { extent, .. } = run.iter().find(|stretch| stretch.can_grow())?;
        let opened = extent.opened().max(OPENED_FIRST / 2) * 2;
        Some(Self::growth(extent, opened.min(extent.reserved())))
    }

    fn plan_cover(&self, resource: Resource) -> Option<OpeningPlan<Publication>> {
        let (extent, offset) = self.directory.get().find(resource)?;
        if offset < extent.opened() {
            return None;
        }
        let opened = (offset + 1).next_power_of_two().max(OPENED_FIRST);
        Some(Self::growth(extent, opened.min(extent.reserved())))
    }

    fn publish(&self, publication: Publication) -> bool {
        let allocation = self.allocation();
        match publication {
            Publication::Directory(change) => {
                let mut has_others = false;
                for (extent, opened) in &change.opened {
                    if allocation.singles > 0 && self.has_singles_in(extent) {
                        extent.set_has_others();
                        has_others = true;
                    }
                    extent.set_opened(*opened);
                }
                if let Some(directory) = change.directory {
                    self.directory.publish(directory);
                }
                has_others
            }
            Publication::Growth(extent, opened) => {
                extent.set_opened(opened);
                extent.has_others()
            }
        }
    }

    fn bytes(&self) -> usize {
        let of = |stripe: &Singles| {
            let table = stripe.0.lock().expect("no holder of a stripe of places panics");
            table.allocation_size()
        };
        self.singles.iter().map(of).sum()
    }

    fn start(_spec: &PoolSpec, run: &Vec<ExtentRange>) -> u32 {
        run.first().map_or(0, |stretch| stretch.extent.slot_number(stretch.first))
    }

    fn count(_spec: &PoolSpec, run: &Vec<ExtentRange>) -> u64 {
        match &run[..] {
            [stretch] => {
                stretch.open_slot_numbers().map_or(0, |(first, last)| u64::from(last - first) + 1)
            }
            stretches => stretches.iter().map(ExtentRange::len).sum(),
        }
    }

    fn open_positions(
        _spec: &PoolSpec,
        run: &Vec<ExtentRange>,
    ) -> impl Iterator<Item = Range<u64>> {
        let mut before = 0;
        run.iter().map(move |stretch| {
            let start = before;
            before += stretch.len();
            let slot_numbers = stretch.open_slot_numbers();
            start..start + slot_numbers.map_or(0, |(first, last)| u64::from(last - first) + 1)
        })
    }

    fn at(_spec: &PoolSpec, run: &Vec<ExtentRange>, mut position: u64) -> Option<(u32, Resource)> {
        for stretch in run {
            if position < stretch.len() {
                let slot_number = stretch.extent.slot_number(stretch.first + position as u32);
                let (_, last) = stretch.open_slot_numbers()?;
                return (slot_number <= last)
                    .then(|| (slot_number, stretch.extent.resource(slot_number)));
            }
            position -= stretch.len();
        }
        None
    }

    fn position(_spec: &PoolSpec, run: &Vec<ExtentRange>, resource: Resource) -> Option<u32> {
        let mut before = 0;
        for stretch in run {
            if let Some(offset) = stretch.extent.offset(resource)
                && (stretch.first..=stretch.last).contains(&offset)
            {
                return u32::try_from(before + u64::from(offset - stretch.first)).ok();
            }
            before += stretch.len();
        }
        None
    }

    fn claim(
        map: &AddressMap,
        _spec: &PoolSpec,
        run: &Vec<ExtentRange>,
        start: u32,
    ) -> Option<(u32, Resource)> {
        let claimed = |stretch: &ExtentRange, slot_number| {
            Some((slot_number, stretch.extent.resource(slot_number)))
        };
        if let [stretch] = &run[..] {
            let (first, last) = stretch.open_slot_numbers()?;
            return claimed(stretch, map.claim(first, last, start)?);
        }
        // The search continues in the stretch that the last leased slot number belongs to.
        let has_last = |stretch: &ExtentRange| {
            let (first, last) =
                stretch.extent.slot_numbers(stretch.first, stretch.last - stretch.first + 1);
            (first..=last).contains(&start.wrapping_sub(1))
        };
        let at = run.iter().position(has_last).unwrap_or(0);
        let turn = (0..=run.len()).map(|step| (step, &run[(at + step) % run.len().max(1)]));
        for (step, stretch) in turn.take(if run.is_empty() { 0 } else { run.len() + 1 }) {
            let Some((first, last)) = stretch.open_slot_numbers() else { continue };
            let (from, to) = match step {
                0 => (first.max(start), last),
                _ if step == run.len() => (first, last.min(start.saturating_sub(1))),
                _ => (first, last),
            };
            if from <= to
                && let Some(slot_number) = map.claim(from, to, from)
            {
                return claimed(stretch, slot_number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv6Addr;

    use super::*;
    use crate::sample::SampleFamily as _;

    fn huge(offset: u64) -> Resource {
        Resource::address(Ipv6Addr::from_bits((0x2001_0db8 << 96) | u128::from(offset)))
    }

    #[test]
    fn clients_that_ask_for_anything_get_a_bounded_number_of_slot_numbers() {
        let slot_numbers = Dictionary::new(1);
        let spec = PoolSpec { last: huge(u64::MAX), ..V6::pool(0, 0) };
        let (_, opening) = slot_numbers.plan(&[spec]);
        slot_numbers.publish(opening.publication);
        let far = |number: u32| huge((1 << 50) + u64::from(number));
        for number in 0..REQUESTED_SINGLES_MAX {
            assert!(slot_numbers.make(far(number), false).is_some());
        }
        assert_eq!(slot_numbers.make(far(REQUESTED_SINGLES_MAX), false), None);
        assert!(!slot_numbers.can_be_made(far(REQUESTED_SINGLES_MAX)));
        assert_eq!(slot_numbers.make(far(7), false), slot_numbers.find(far(7)));
        assert!(
            slot_numbers.make(far(REQUESTED_SINGLES_MAX), true).is_some(),
            "leases are loaded all the same"
        );
        assert!(slot_numbers.make(huge(3), false).is_some(), "and what is open can be had");
    }
}
