//! Leases in as whole values: loading at the start.

use super::LeaseTable;
use super::leased::{Leased, Loaded, Places};

impl<F: Leased> LeaseTable<F> {
    /// Takes over a lease read from storage; of several rows of one address the last wins, in the
    /// order of the calls. A row that was reclaimed leaves the address free and the lease
    /// remembered; one with a valid lifetime of 0 leaves the address free, with the client known.
    /// Several threads may load different addresses at once.
    pub fn load(&self, lease: F::Lease) {
        let lease = F::take_apart(lease);
        if let Some(place) = self.place_to_load(lease.address, lease.valid_lifetime_s == 0) {
            self.load_at(place, lease);
        }
    }

    /// The place for a lease of `address`. A deletion makes none outside the pools.
    fn place_to_load(&self, address: F::Address, is_deletion: bool) -> Option<u32> {
        if let Some(place) = self.places.find(address) {
            return Some(place);
        }
        if is_deletion {
            return None;
        }
        self.cover(address);
        self.places.make(address, true)
    }

    fn load_at(&self, place: u32, lease: Loaded<F>) {
        let mut stripe = self.lock_of(place);
        if lease.valid_lifetime_s == 0
            && stripe.find(place).is_none_or(|id| stripe.slot(id).version == 0)
            && !stripe.is_given(place, lease.address)
        {
            return;
        }
        let id = stripe.make(place, lease.address);
        stripe.install(id, lease, 0);
    }
}
