//! Which subnet of a shared network allocation tries first: the one that last gave an address, since
//! it is likely to have more (Kea reference §5.1).

use core::sync::atomic::{AtomicU32, Ordering};
use std::collections::BTreeMap;

use crate::prefixes::SubnetIndex;

/// No subnet has given anything yet.
const NONE: u32 = u32::MAX;

/// What was used last, in groups of subnets that may stand for each other. All shards read it; it
/// is written only when another subnet's turn has come.
#[derive(Debug)]
pub struct Preference {
    group_of: Vec<usize>,
    last_used: Vec<AtomicU32>,
}

impl Preference {
    /// Subnets with equal keys make a group. Kea's are those of one shared network with the same
    /// guards.
    pub fn new<K: Ord>(keys: impl Iterator<Item = K>) -> Self {
        let mut groups = BTreeMap::new();
        let group_of = keys
            .map(|key| {
                let next = groups.len();
                *groups.entry(key).or_insert(next)
            })
            .collect();
        Self { group_of, last_used: groups.iter().map(|_| AtomicU32::new(NONE)).collect() }
    }

    /// The subnet to begin with for a client that `selected` was found for.
    #[must_use]
    pub fn first(&self, selected: SubnetIndex) -> SubnetIndex {
        match self.last_used[self.group_of[selected as usize]].load(Ordering::Relaxed) {
            NONE => selected,
            used => used,
        }
    }

    /// An address was taken from a pool of `subnet`.
    pub fn used(&self, subnet: SubnetIndex) {
        let last = &self.last_used[self.group_of[subnet as usize]];
        if last.load(Ordering::Relaxed) != subnet {
            last.store(subnet, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_used_of_a_group_comes_first() {
        let preference = Preference::new(["a", "b", "a"].into_iter());
        assert_eq!([0, 1, 2].map(|subnet| preference.first(subnet)), [0, 1, 2]);
        preference.used(2);
        assert_eq!([0, 1, 2].map(|subnet| preference.first(subnet)), [2, 1, 2]);
    }
}
