//! Uses of DHCPv6 addresses and prefixes that may overlap others.
//!
//! Two resources overlap when they differ in kind or length and have an address in common. A
//! resource that is in no pool is guarded as soon as the table has any prefixes; a pool is guarded
//! when pools, uses or reservations of another kind or length reach into it. Most configurations
//! guard nothing.

use core::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard};

use base::Now;

use super::V6;
use super::resource::{Resource, ResourceKind};
use super::slot_number_map::{Dictionary, ExtentDirectory, SINGLE, add_range, is_in_ranges};
use super::spans::Spans;
use crate::table::address_map::AddressMap;
use crate::table::latest_value::LatestValue;
use crate::table::overlap::{Freed, Overlaps, UseEnd};

/// Level of comparison while the lease table has addresses only: nothing can overlap.
const NO_PREFIXES: u8 = 0;
/// Level of comparison while the lease table has prefixes, but no pool is guarded against overlaps.
const PREFIXES: u8 = 1;
/// Level of comparison at which pools are guarded against overlaps.
const GUARDED_POOLS: u8 = 2;

/// Pools of DHCPv6 that are guarded against overlaps, and the entries of uses in them.
pub(super) struct OverlapGuards {
    level: AtomicU8,
    /// First and last resource of each run of guarded pools: ascending, disjoint.
    guarded: LatestValue<Vec<(Resource, Resource)>>,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    in_use: Spans<UseEnd>,
    /// Reserved resources that reach into a pool of another kind or length.
    reserved: Spans<()>,
    /// Latest time at which a use of an address or prefix was entered or compared.
    now: Option<Now>,
}

impl Default for OverlapGuards {
    fn default() -> Self {
        Self {
            level: AtomicU8::new(NO_PREFIXES),
            guarded: LatestValue::new(Vec::new()),
            entries: Mutex::default(),
        }
    }
}

impl OverlapGuards {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().expect("no holder of the entries of uses panics")
    }

    /// Raises the level of comparison of overlapping addresses and prefixes to at least `level`.
    /// Returns true if it was lower.
    fn raise(&self, level: u8) -> bool {
        self.level.fetch_max(level, Ordering::AcqRel) < level
    }

    fn is_in_guarded_pool(&self, resource: Resource) -> bool {
        self.level.load(Ordering::Acquire) == GUARDED_POOLS
            && is_in_ranges(self.guarded.get(), resource)
    }

    /// Adds `pools` to the guarded pools; returns those that were not guarded.
    fn add_guarded(&self, pools: Vec<(Resource, Resource)>) -> Vec<(Resource, Resource)> {
        let mut guarded = self.guarded.get().clone();
        let is_guarded_already =
            |guarded: &[(Resource, Resource)], (first, last): (Resource, Resource)| {
                guarded.iter().any(|&(from, to)| from <= first && last <= to)
            };
        let mut new = Vec::new();
        for pool in pools {
            if !is_guarded_already(&guarded, pool) {
                add_range(&mut guarded, pool.0, pool.1);
                new.push(pool);
            }
        }
        if !new.is_empty() {
            self.guarded.publish(guarded);
            self.raise(GUARDED_POOLS);
        }
        new
    }
}

/// Returns true if the resource `other` lies inside `outer`, which it overlaps.
const fn is_inside(other: Resource, outer: Resource) -> bool {
    other.len > outer.len || (other.len == outer.len && matches!(other.kind, ResourceKind::Address))
}

impl Entries {
    /// Returns true if a resource that overlaps `resource` is reserved or in use, also when the
    /// time of its use is over.
    fn blocks(&self, resource: Resource) -> bool {
        self.in_use.overlapping(resource).next().is_some()
            || self.reserved.overlapping(resource).next().is_some()
    }

    fn is_overlapped(&self, now: Now, resource: Resource) -> bool {
        let own = self.in_use.get(resource).filter(|end| !end.is_over(now));
        let is_running = matches!(own, Some(UseEnd::At(_) | UseEnd::Open));
        let mut others = self.in_use.overlapping(resource);
        others.any(|(other, end)| !end.is_over(now) && (!is_running || is_inside(other, resource)))
    }

    /// Enters a use of a resource whose end is not known yet, unless an overlapping use has not
    /// ended.
    fn begin(
        &mut self,
        map: &AddressMap,
        directory: &ExtentDirectory,
        resource: Resource,
        now: Now,
    ) {
        match self.in_use.get(resource) {
            Some(end) if !end.is_over(now) => {}
            Some(_) => self.in_use.insert(resource, UseEnd::Open),
            None => {
                self.in_use.insert(resource, UseEnd::Open);
                directory.clear_around(map, resource);
            }
        }
    }

    /// Sets the free bits of resources that overlapped `resource`, which is not in use or reserved
    /// any more, unless another use or reservation keeps them clear.
    fn release(
        &self,
        map: &AddressMap,
        directory: &ExtentDirectory,
        resource: Resource,
        freed: Freed<'_, V6>,
    ) {
        if self.in_use.get(resource).is_some() || self.reserved.get(resource).is_some() {
            return;
        }
        let (first, last) = resource.span();
        let is_alone = self.in_use.between(first, last).next().is_none()
            && self.reserved.between(first, last).next().is_none();
        directory.visit_around(resource, |slot_number, other| {
            let is_alone = is_alone && is_inside(other, resource);
            if is_alone || (self.in_use.get(other).is_none() && !self.blocks(other)) {
                map.set_free(slot_number);
                freed(other);
            }
        });
    }
}

impl ExtentDirectory {
    /// Calls `visit` with the open slot numbers, and their resources, that overlap `resource`.
    fn visit_around(&self, resource: Resource, mut visit: impl FnMut(u32, Resource)) {
        let (first, last) = resource.span();
        for (kind, len) in self.extent_classes().filter(|&class| class != resource.class()) {
            let at = |address: u128| Resource {
                kind,
                len,
                address: Resource::prefix(address.into(), len).address,
            };
            for stretch in self.stretches(at(first), at(last)) {
                let Some((from, to)) = stretch.open_slot_numbers() else { continue };
                (from..=to).for_each(|slot_number| {
                    visit(slot_number, stretch.extent.resource(slot_number))
                });
            }
        }
    }

    /// Clears the free bits of resources that overlap `resource`.
    fn clear_around(&self, map: &AddressMap, resource: Resource) {
        self.visit_around(resource, |slot_number, _| {
            map.clear_free(slot_number);
        });
    }

    /// Returns the pools of other kinds or lengths that have an address between the first of
    /// `resource` and `last`.
    fn pools_around(&self, resource: Resource, last: Resource) -> Vec<(Resource, Resource)> {
        let ((first, _), (_, last)) = (resource.span(), last.span());
        let mut pools_around = Vec::new();
        for (kind, len) in self.pooled_classes().filter(|&class| class != resource.class()) {
            let at = |address: u128| Resource {
                kind,
                len,
                address: Resource::prefix(address.into(), len).address,
            };
            let (first, last) = (at(first), at(last));
            let start = self.pooled.partition_point(|&(_, end)| end < first);
            let pools = self.pooled[start..].iter().take_while(|&&(from, _)| from <= last);
            pools_around.extend(pools.copied());
        }
        pools_around
    }
}

impl Dictionary {
    /// Returns the slot numbers of the single resources that are in no pool, as ranges.
    fn slot_numbers_outside_pools(&self) -> Vec<(u32, u32)> {
        let directory = self.directory.get();
        self.single_slot_numbers(|resource| !directory.is_pooled(resource))
    }

    /// Returns true if uses of `resource`, which has `slot_number`, are compared at the level
    /// `level`.
    fn is_guarded_at(&self, level: u8, slot_number: u32, resource: Resource) -> bool {
        let is_outside = slot_number & SINGLE != 0 && !self.directory.get().is_pooled(resource);
        is_outside || (level == GUARDED_POOLS && self.comparison.is_in_guarded_pool(resource))
    }

    /// Returns the slot numbers of the resources of `pools`, as ranges.
    fn slot_numbers_of_pools(&self, pools: &[(Resource, Resource)]) -> Vec<(u32, u32)> {
        if pools.is_empty() {
            return Vec::new();
        }
        let directory = self.directory.get();
        let stretches = pools.iter().flat_map(|&(first, last)| directory.stretches(first, last));
        let mut slot_numbers: Vec<_> =
            stretches.filter_map(|stretch| stretch.open_slot_numbers()).collect();
        slot_numbers.extend(self.single_slot_numbers(|resource| is_in_ranges(pools, resource)));
        slot_numbers
    }
}

impl Overlaps<V6> for Dictionary {
    #[inline]
    fn is_guarded(&self, slot_number: u32, resource: Resource) -> bool {
        let level = self.comparison.level.load(Ordering::Acquire);
        level != NO_PREFIXES && self.is_guarded_at(level, slot_number, resource)
    }

    fn is_overlapped(&self, now: Now, resource: Resource) -> bool {
        let mut entries = self.comparison.entries();
        entries.now = Some(now);
        entries.is_overlapped(now, resource)
    }

    fn admit(&self, map: &AddressMap, now: Now, resource: Resource) -> bool {
        let mut entries = self.comparison.entries();
        entries.now = Some(now);
        let is_admitted = !entries.is_overlapped(now, resource);
        if is_admitted {
            entries.begin(map, self.directory.get(), resource, now);
        }
        is_admitted
    }

    fn admit_put(&self, map: &AddressMap, resource: Resource) -> bool {
        let mut entries = self.comparison.entries();
        let now = entries.now.unwrap_or(Now { mono_ns: 0, wall_us: 0 });
        let is_in_force = |end: &UseEnd| !matches!(end, UseEnd::Hold(_)) && !end.is_over(now);
        let is_admitted = !entries.in_use.overlapping(resource).any(|(_, end)| is_in_force(end));
        if is_admitted {
            entries.begin(map, self.directory.get(), resource, now);
        }
        is_admitted
    }

    fn record_end(
        &self,
        map: &AddressMap,
        resource: Resource,
        end: Option<UseEnd>,
        freed: Freed<'_, V6>,
    ) {
        let directory = self.directory.get();
        let mut entries = self.comparison.entries();
        match end {
            Some(end) => {
                let is_new = entries.in_use.get(resource).is_none();
                entries.in_use.insert(resource, end);
                if is_new {
                    directory.clear_around(map, resource);
                }
            }
            None => {
                if entries.in_use.remove(resource) {
                    entries.release(map, directory, resource, freed);
                }
            }
        }
    }

    fn set_unless_overlapped(&self, map: &AddressMap, bit: u32, resource: Resource) -> bool {
        let entries = self.comparison.entries();
        let is_free = !entries.blocks(resource);
        if is_free {
            map.set_free(bit);
        }
        is_free
    }

    fn needs_guard(&self, resource: Resource) -> bool {
        let has_prefixes = self.comparison.level.load(Ordering::Acquire) != NO_PREFIXES;
        if !has_prefixes {
            return resource.kind == ResourceKind::Prefix;
        }
        let directory = self.directory.get();
        let is_guarded = |(first, _)| self.comparison.is_in_guarded_pool(first);
        !directory.is_pooled(resource)
            && !directory.pools_around(resource, resource).into_iter().all(is_guarded)
    }

    fn guard(&self, resources: &[Resource]) -> Vec<(u32, u32)> {
        let is_prefix = |resource: &Resource| resource.kind == ResourceKind::Prefix;
        let mut slot_numbers = Vec::new();
        if resources.iter().any(is_prefix) && self.comparison.raise(PREFIXES) {
            slot_numbers = self.slot_numbers_outside_pools();
        }
        if self.comparison.level.load(Ordering::Acquire) == NO_PREFIXES {
            return slot_numbers;
        }
        let directory = self.directory.get();
        let around = resources.iter().flat_map(|&one| directory.pools_around(one, one));
        let new = self.comparison.add_guarded(around.collect());
        slot_numbers.extend(self.slot_numbers_of_pools(&new));
        slot_numbers
    }

    fn guard_pools(&self) -> Vec<(u32, u32)> {
        let directory = self.directory.get();
        let comparison = &self.comparison;
        if directory.pooled.iter().any(|(first, _)| first.kind == ResourceKind::Prefix)
            && comparison.raise(PREFIXES)
        {
            let outside = self.slot_numbers_outside_pools();
            if !outside.is_empty() {
                return outside;
            }
        }
        if comparison.level.load(Ordering::Acquire) == NO_PREFIXES {
            return Vec::new();
        }
        let meets = {
            let entries = comparison.entries();
            let meets = |&(first, last): &(Resource, Resource)| {
                let ((from, _), (_, to)) = (first.span(), last.span());
                entries.in_use.between(from, to).next().is_some()
                    || !directory.pools_around(first, last).is_empty()
            };
            directory.pooled.iter().copied().filter(meets).collect()
        };
        self.slot_numbers_of_pools(&comparison.add_guarded(meets))
    }

    fn clear_overlapped(&self, map: &AddressMap, opened: &[(u32, u32)]) {
        let directory = self.directory.get();
        let entries = self.comparison.entries();
        if entries.in_use.is_empty() && entries.reserved.is_empty() {
            return;
        }
        for &(first, last) in opened {
            let Some((from, to)) = directory.resources_at(first, last) else { continue };
            let (from, to) = (from.span().0, to.span().1);
            let in_use = entries.in_use.between(from, to).map(|(resource, _)| resource);
            let reserved = entries.reserved.between(from, to).map(|(resource, ())| resource);
            in_use.chain(reserved).for_each(|resource| directory.clear_around(map, resource));
        }
    }

    fn replace_reserved(&self, map: &AddressMap, resources: &[Resource], freed: Freed<'_, V6>) {
        if self.comparison.level.load(Ordering::Acquire) == NO_PREFIXES {
            return;
        }
        let directory = self.directory.get();
        let mut reserved = Spans::default();
        for &resource in resources {
            if !directory.pools_around(resource, resource).is_empty() {
                reserved.insert(resource, ());
            }
        }
        let mut entries = self.comparison.entries();
        let old = core::mem::replace(&mut entries.reserved, reserved);
        for (resource, ()) in entries.reserved.iter() {
            directory.clear_around(map, resource);
        }
        for (resource, ()) in old.iter() {
            entries.release(map, directory, resource, freed);
        }
    }

    fn add_reserved(&self, map: &AddressMap, resource: Resource) {
        let directory = self.directory.get();
        if self.comparison.level.load(Ordering::Acquire) == NO_PREFIXES
            || directory.pools_around(resource, resource).is_empty()
        {
            return;
        }
        let mut entries = self.comparison.entries();
        if entries.reserved.get(resource).is_none() {
            entries.reserved.insert(resource, ());
            directory.clear_around(map, resource);
        }
    }
}
