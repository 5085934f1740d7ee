//! Leases that clients have released and that another server may still have. The slot of such a
//! lease remembers the release only until its address is offered to another client; if the other
//! server then copies the leases, it is to learn of the release all the same.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::family::Family;
use crate::lease::Lease;

/// Maximum number of leases that are kept, of about 300 bytes each.
const RELEASES_MAX: usize = 65_536;

#[derive(Debug)]
struct KeptRelease<F: Family> {
    lease: Lease<F>,
    /// Wall-clock second at which the lease would have ended without the release.
    until_s: u64,
}

/// Releases that another server may not know, one for each address at most.
#[derive(Debug)]
pub struct ReleasedLeases<F: Family> {
    releases: Mutex<BTreeMap<F::Address, KeptRelease<F>>>,
}

impl<F: Family> Default for ReleasedLeases<F> {
    fn default() -> Self {
        Self { releases: Mutex::default() }
    }
}

impl<F: Family> ReleasedLeases<F> {
    fn releases(&self) -> MutexGuard<'_, BTreeMap<F::Address, KeptRelease<F>>> {
        self.releases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the release of `lease`, whose last transaction is the release, until `until_s`, the
    /// second at which the lease would have ended without it; `now_s` is the present second. When
    /// 65,536 are kept that have not ended, a further one is not.
    pub fn keep(&self, lease: Lease<F>, until_s: u64, now_s: u64) {
        let mut releases = self.releases();
        if releases.len() >= RELEASES_MAX {
            releases.retain(|_, release| release.until_s > now_s);
        }
        if releases.len() < RELEASES_MAX || releases.contains_key(&lease.address) {
            releases.insert(lease.address, KeptRelease { lease, until_s });
        }
    }

    /// Forgets the release of the lease of `address`: the other server knows it, or a client has
    /// the address again.
    pub fn forget(&self, address: F::Address) {
        self.releases().remove(&address);
    }

    /// Returns true if the client of `lease` has released it after its last transaction.
    #[must_use]
    pub fn has_later(&self, lease: &Lease<F>) -> bool {
        let releases = self.releases();
        let release = releases.get(&lease.address).map(|release| &release.lease);
        release
            .is_some_and(|release| release.client == lease.client && release.cltt_s > lease.cltt_s)
    }

    /// Calls `visit` with every lease that would not have ended at the second `now_s`, in no useful
    /// order.
    pub fn for_each(&self, now_s: u64, visit: &mut dyn FnMut(&Lease<F>)) {
        let releases = self.releases();
        let running = releases.values().filter(|release| release.until_s > now_s);
        running.for_each(|release| visit(&release.lease));
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
        releases.keep(lease(1, 7, 100), 200, 100);
        assert!(releases.has_later(&lease(1, 7, 99)));
        for other in [lease(1, 7, 100), lease(1, 8, 99), lease(2, 7, 99)] {
            assert!(!releases.has_later(&other), "{other:?}");
        }
        releases.forget(Ipv4Addr::from_bits(1));
        assert!(!releases.has_later(&lease(1, 7, 99)));
    }

    #[test]
    fn a_release_counts_until_the_lease_would_have_ended() {
        let releases = ReleasedLeases::default();
        releases.keep(lease(1, 7, 100), 200, 100);
        releases.keep(lease(2, 8, 100), 300, 100);
        assert_eq!((addresses(&releases, 199), addresses(&releases, 200)), (vec![1, 2], vec![2]));
    }

    #[test]
    fn a_full_list_makes_room_for_those_that_have_ended_only() {
        let releases = ReleasedLeases::default();
        for address in 1..=RELEASES_MAX as u32 {
            releases.keep(lease(address, 7, 100), if address == 9 { 150 } else { 300 }, 100);
        }
        releases.keep(lease(u32::MAX, 7, 100), 300, 149);
        assert!(!releases.has_later(&lease(u32::MAX, 7, 99)));
        releases.keep(lease(5, 8, 100), 300, 149);
        assert!(releases.has_later(&lease(5, 8, 99)));
        releases.keep(lease(u32::MAX, 7, 150), 300, 150);
        assert!(releases.has_later(&lease(u32::MAX, 7, 99)));
        assert_eq!(addresses(&releases, 100).len(), RELEASES_MAX);
    }
}
