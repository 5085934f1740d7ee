//! Leases that clients have released and that another server may still have. The slot of such a
//! lease remembers the release only until its address is offered to another client; if the other
//! server then copies the leases, it is to learn of the release all the same.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::family::Family;
use crate::lease::Lease;

/// Maximum number of releases in the list. Each takes about 300 bytes, and its texts.
const RELEASES_MAX: usize = 65_536;
/// Time by which a release may be ahead of the clock, in seconds. One that is further ahead comes
/// from a clock that was wrong.
const AHEAD_MAX_S: u64 = 60;

/// Release in the list.
#[derive(Debug)]
struct ReleaseEntry<F: Family> {
    lease: Lease<F>,
    /// Wall-clock second at which the lease would have ended without the release.
    until_s: u64,
}

impl<F: Family> ReleaseEntry<F> {
    /// Returns true if the lease would not have ended at `now_s`, and the time of the release is
    /// plausible.
    const fn counts(&self, now_s: u64) -> bool {
        self.until_s > now_s && self.lease.cltt_s <= now_s.saturating_add(AHEAD_MAX_S)
    }
}

/// Releases by address, and the earliest second at which one of them may be removed.
#[derive(Debug)]
struct ReleaseEntries<F: Family> {
    by_address: BTreeMap<F::Address, ReleaseEntry<F>>,
    next_end_s: u64,
}

/// Releases that another server may not know: the last one of each address.
#[derive(Debug)]
pub struct ReleasedLeases<F: Family>(Mutex<ReleaseEntries<F>>);

impl<F: Family> Default for ReleasedLeases<F> {
    fn default() -> Self {
        Self(Mutex::new(ReleaseEntries { by_address: BTreeMap::new(), next_end_s: 0 }))
    }
}

impl<F: Family> ReleasedLeases<F> {
    fn entries(&self) -> MutexGuard<'_, ReleaseEntries<F>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the release of `lease`, whose last transaction is the release, until `until_s`, the
    /// second at which the lease would have ended without it; `now_s` is the present second. When
    /// the list has 65,536 that have not ended, it takes no further address.
    pub fn add(&self, lease: Lease<F>, until_s: u64, now_s: u64) {
        let mut entries = self.entries();
        let entries = &mut *entries;
        let is_known = entries.by_address.contains_key(&lease.address);
        if !is_known && entries.by_address.len() >= RELEASES_MAX && entries.next_end_s <= now_s {
            entries.by_address.retain(|_, entry| entry.until_s > now_s);
            let ends = entries.by_address.values().map(|entry| entry.until_s);
            entries.next_end_s = ends.min().unwrap_or(u64::MAX);
        }
        if is_known || entries.by_address.len() < RELEASES_MAX {
            entries.next_end_s = entries.next_end_s.min(until_s);
            entries.by_address.insert(lease.address, ReleaseEntry { lease, until_s });
        }
    }

    /// Removes the release of the lease of `address`: a client has the address again.
    pub fn remove(&self, address: F::Address) {
        self.entries().by_address.remove(&address);
    }

    /// Removes the releases of leases in the subnets for which `is_known` returns true: the other
    /// server knows them.
    pub fn remove_known(&self, is_known: impl Fn(u32) -> bool) {
        self.entries().by_address.retain(|_, entry| !is_known(entry.lease.subnet_id));
    }

    /// Returns true if the client of `lease` has released it after its last transaction, and it
    /// would not have ended at `now_s`.
    #[must_use]
    pub fn has_later(&self, lease: &Lease<F>, now_s: u64) -> bool {
        let entries = self.entries();
        let entry = entries.by_address.get(&lease.address).filter(|entry| entry.counts(now_s));
        entry.is_some_and(|entry| {
            entry.lease.client == lease.client && entry.lease.cltt_s > lease.cltt_s
        })
    }

    /// Calls `visit` with every released lease that would not have ended at the second `now_s`. The
    /// order is that of the addresses in the list, not that of pages.
    pub fn for_each(&self, now_s: u64, visit: &mut dyn FnMut(&Lease<F>)) {
        let entries = self.entries();
        let counting = entries.by_address.values().filter(|entry| entry.counts(now_s));
        counting.for_each(|entry| visit(&entry.lease));
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use base::HostName;

    use super::*;
    use crate::lease::LeaseState;
    use crate::v4::{LeaseClient, V4};
    use crate::{ClientId, HardwareAddress};

    fn lease(address: u32, client: u8, cltt_s: u64) -> Lease<V4> {
        Lease {
            address: Ipv4Addr::from_bits(address),
            client: LeaseClient {
                hardware: HardwareAddress::NONE,
                client_id: Some(ClientId::new(&[client])),
            },
            valid_lifetime_s: 0,
            cltt_s,
            subnet_id: 1,
            pool_id: 0,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname: HostName::default(),
            state: LeaseState::Released,
            user_context: Box::default(),
            extra: (),
        }
    }

    fn addresses(releases: &ReleasedLeases<V4>, now_s: u64) -> Vec<u32> {
        let mut addresses = Vec::new();
        releases.for_each(now_s, &mut |lease| addresses.push(lease.address.to_bits()));
        addresses
    }

    #[test]
    fn a_release_is_later_than_what_its_client_had_before() {
        let releases = ReleasedLeases::default();
        releases.add(lease(1, 7, 100), 200, 100);
        assert!(releases.has_later(&lease(1, 7, 99), 150));
        for other in [lease(1, 7, 100), lease(1, 8, 99), lease(2, 7, 99)] {
            assert!(!releases.has_later(&other, 150), "{other:?}");
        }
        releases.remove(Ipv4Addr::from_bits(1));
        assert!(!releases.has_later(&lease(1, 7, 99), 150));
    }

    #[test]
    fn a_release_counts_until_the_lease_would_have_ended() {
        let releases = ReleasedLeases::default();
        releases.add(lease(1, 7, 100), 200, 100);
        releases.add(lease(2, 8, 100), 300, 100);
        assert_eq!((addresses(&releases, 199), addresses(&releases, 200)), (vec![1, 2], vec![2]));
    }

    #[test]
    fn a_release_of_a_clock_that_was_wrong_does_not_count() {
        let releases = ReleasedLeases::default();
        releases.add(lease(1, 7, 200), 900, 200);
        let counts = [139, 140].map(|now_s| releases.has_later(&lease(1, 7, 99), now_s));
        assert_eq!(counts, [false, true]);
        assert_eq!((addresses(&releases, 139), addresses(&releases, 140)), (vec![], vec![1]));
    }

    #[test]
    fn releases_that_the_other_server_knows_leave_the_list() {
        let releases = ReleasedLeases::default();
        releases.add(lease(1, 7, 100), 900, 100);
        releases.remove_known(|subnet_id| subnet_id == 2);
        assert_eq!(addresses(&releases, 100), [1]);
        releases.remove_known(|subnet_id| subnet_id == 1);
        assert_eq!(addresses(&releases, 100), []);
    }

    #[test]
    fn a_full_list_makes_room_for_those_that_have_ended_only() {
        let releases = ReleasedLeases::default();
        for address in 1..=RELEASES_MAX as u32 {
            releases.add(lease(address, 7, 100), if address == 9 { 150 } else { 300 }, 100);
        }
        releases.add(lease(u32::MAX, 7, 100), 300, 149);
        assert!(!releases.has_later(&lease(u32::MAX, 7, 99), 150));
        releases.add(lease(5, 8, 100), 300, 149);
        assert!(releases.has_later(&lease(5, 8, 99), 150));
        releases.add(lease(u32::MAX, 7, 150), 300, 150);
        assert!(releases.has_later(&lease(u32::MAX, 7, 99), 150));
        assert_eq!(addresses(&releases, 100).len(), RELEASES_MAX);
    }
}
