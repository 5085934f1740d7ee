//! Preference of allocation among the subnets of a shared network: allocation begins with the
//! subnet that last gave an address, which is likely to have more (Kea reference §5.1).

use core::sync::atomic::{AtomicU32, Ordering};
use std::collections::BTreeMap;

use crate::prefixes::SubnetIndex;

/// Mark of a group of subnets in which none has given an address yet.
const NONE: u32 = u32::MAX;

/// Subnet that gave an address last, in each group of subnets that a client may be served from
/// alike. All shards read it; a shard writes it only when it took an address from another subnet
/// than the last time.
#[derive(Debug)]
pub struct Preference {
    group_of: Vec<usize>,
    last_used: Vec<AtomicU32>,
}

impl Preference {
    /// Returns a preference in which subnets with equal keys make a group. Kea's groups are the
    /// subnets of one shared network with the same `client-classes`.
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

    /// Continues where `previous` is, the preference of a snapshot with other reservations:
    /// allocation goes on in the same subnets. A preference among other groups is left as it is.
    pub fn follow(&self, previous: &Self) {
        if self.group_of != previous.group_of {
            return;
        }
        for (last, previous) in self.last_used.iter().zip(&previous.last_used) {
            last.store(previous.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Returns the subnet at which allocation begins for a client whose selected subnet is
    /// `selected`.
    #[must_use]
    pub fn first(&self, selected: SubnetIndex) -> SubnetIndex {
        match self.last_used[self.group_of[selected as usize]].load(Ordering::Relaxed) {
            NONE => selected,
            used => used,
        }
    }

    /// Records that allocation took an address from a pool of `subnet`.
    pub fn record_use(&self, subnet: SubnetIndex) {
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
        preference.record_use(2);
        assert_eq!([0, 1, 2].map(|subnet| preference.first(subnet)), [2, 1, 2]);
    }

    #[test]
    fn the_last_one_used_stays_first_in_the_next_snapshot_with_the_same_subnets() {
        let previous = Preference::new(["a", "b", "a"].into_iter());
        previous.record_use(2);
        let next = Preference::new(["a", "b", "a"].into_iter());
        next.follow(&previous);
        assert_eq!([0, 1, 2].map(|subnet| next.first(subnet)), [2, 1, 2]);
        let other = Preference::new(["a", "a"].into_iter());
        other.follow(&previous);
        assert_eq!([0, 1].map(|subnet| other.first(subnet)), [0, 1]);
    }
}
