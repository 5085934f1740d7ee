//! Sets of DHCPv6 addresses and prefixes ordered by first address, so that those that overlap
//! another are found.

use base::AddressBits as _;
use core::net::Ipv6Addr;
use std::collections::BTreeMap;

use super::resource::{Resource, ResourceKind};

/// Kind and prefix length of a resource: resources of the same class overlap only when they are
/// equal.
pub(super) type Class = (ResourceKind, u8);

/// First address, kind and prefix length of a resource, by which [`Spans`] orders it.
type Key = (u128, ResourceKind, u8);

/// Set of DHCPv6 addresses and prefixes, each with a value.
#[derive(Clone, Debug)]
pub struct Spans<T> {
    by_first: BTreeMap<Key, T>,
    /// Number of resources in the set, by class.
    classes: BTreeMap<Class, usize>,
}

impl<T> Default for Spans<T> {
    fn default() -> Self {
        Self { by_first: BTreeMap::new(), classes: BTreeMap::new() }
    }
}

impl Resource {
    /// Returns the first and the last address of the resource, as numbers.
    #[must_use]
    pub fn span(self) -> (u128, u128) {
        self.address.to_bits().bounds(self.len)
    }

    pub(super) const fn class(self) -> Class {
        (self.kind, self.len)
    }

    /// Returns true if this resource and `other` are different and have an address in common.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        let ((first, last), (other_first, other_last)) = (self.span(), other.span());
        self.class() != other.class() && first <= other_last && other_first <= last
    }
}

const fn resource(&(first, kind, len): &Key) -> Resource {
    Resource { kind, len, address: Ipv6Addr::from_bits(first) }
}

impl<T> Spans<T> {
    /// Returns true if the set contains no resource.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_first.is_empty()
    }

    /// Adds `resource` with `value` to the set, or replaces its value.
    pub fn insert(&mut self, resource: Resource, value: T) {
        let key = (resource.span().0, resource.kind, resource.len);
        if self.by_first.insert(key, value).is_none() {
            *self.classes.entry(resource.class()).or_default() += 1;
        }
    }

    /// Removes `resource` from the set. Returns true if the set had it.
    pub fn remove(&mut self, resource: Resource) -> bool {
        let was_present = self.by_first.remove(&Self::key(resource)).is_some();
        if was_present && let Some(count) = self.classes.get_mut(&resource.class()) {
            *count -= 1;
            if *count == 0 {
                self.classes.remove(&resource.class());
            }
        }
        was_present
    }

    /// Returns the value of `resource` in the set.
    #[must_use]
    pub fn get(&self, resource: Resource) -> Option<&T> {
        self.by_first.get(&Self::key(resource))
    }

    /// Returns all resources of the set with their values, in the order of first addresses.
    pub fn iter(&self) -> impl Iterator<Item = (Resource, &T)> {
        self.by_first.iter().map(|(key, value)| (resource(key), value))
    }

    /// Returns all resources of the set that have an address between `first` and `last`.
    pub fn between(&self, first: u128, last: u128) -> impl Iterator<Item = (Resource, &T)> {
        let inside = self
            .by_first
            .range((first, ResourceKind::Address, 0)..=(last, ResourceKind::Prefix, 255));
        let around = self.classes.keys().filter_map(move |&(kind, len)| {
            let around = Resource { kind, len, address: Ipv6Addr::from_bits(first) };
            let (start, _) = around.span();
            // A resource that begins with `first` is inside.
            if start < first { self.by_first.get_key_value(&(start, kind, len)) } else { None }
        });
        around.chain(inside).map(|(key, value)| (resource(key), value))
    }

    /// Returns all resources of the set, of other classes, that overlap `resource`.
    pub fn overlapping(&self, resource: Resource) -> impl Iterator<Item = (Resource, &T)> {
        let (first, last) = resource.span();
        self.between(first, last).filter(move |(other, _)| other.class() != resource.class())
    }

    fn key(resource: Resource) -> Key {
        (resource.span().0, resource.kind, resource.len)
    }
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    #[test]
    fn what_overlaps_is_what_a_comparison_with_each_finds() {
        let mut random = Random::from_seed(5);
        for _ in 0..300 {
            let mut spans = Spans::default();
            let mut all = Vec::new();
            for number in 0..random.below(20) {
                let resource = any(&mut random);
                spans.insert(resource, number);
                all.retain(|&(other, _)| other != resource);
                all.push((resource, number));
            }
            if random.chance(1, 2) && !all.is_empty() {
                let (removed, _) = all.swap_remove(random.below(all.len() as u64) as usize);
                assert!(spans.remove(removed) && !spans.remove(removed));
            }
            let resource = any(&mut random);
            let mut overlapping: Vec<_> =
                spans.overlapping(resource).map(|(resource, &number)| (resource, number)).collect();
            let mut compared: Vec<_> =
                all.iter().copied().filter(|&(other, _)| other.overlaps(resource)).collect();
            overlapping.sort_unstable();
            compared.sort_unstable();
            assert_eq!(overlapping, compared, "{resource} among {all:?}");
            assert_eq!(spans.iter().count(), all.len());
        }
    }

    /// Returns an address or a prefix of 120 to 128 bits; all results lie close together.
    fn any(random: &mut Random) -> Resource {
        let address = Ipv6Addr::from_bits((0x2001_0db8 << 96) | u128::from(random.below(256)));
        match random.below(3) {
            0 => Resource::address(address),
            _ => Resource::prefix(address, 120 + random.below(9) as u8),
        }
    }
}
