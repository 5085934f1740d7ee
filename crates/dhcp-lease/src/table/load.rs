//! Loading of leases at the start.

use base::Prefetch;

use super::LeaseTable;
use super::commit_epochs::CommitEpochs;
use super::table_family::{LeaseParts, PlaceMap, TableFamily};

impl<F: TableFamily> LeaseTable<F> {
    /// Adds a lease read from storage; of several rows of one address the last wins, in the order
    /// of the calls. A reclaimed row leaves the address free and the lease remembered; a row with a
    /// valid lifetime of 0 leaves the address free, with the client known. Several threads may load
    /// different addresses at once.
    pub fn load(&self, lease: F::Lease) {
        self.load_row(lease);
    }

    /// Prefetches the memory that loading `lease` will read, some leases ahead.
    pub fn prefetch_load(&self, lease: &F::Lease, prefetch: Prefetch) {
        self.prefetch_client(&F::indexed_by(lease), prefetch);
    }

    /// Loads as [`LeaseTable::load`] does; returns true when the address had no lease before and
    /// has one now.
    pub fn load_row(&self, lease: F::Lease) -> bool {
        let lease = F::split_lease(lease);
        let is_deletion = lease.valid_lifetime_s == 0;
        self.place_to_load(lease.address, is_deletion)
            .is_some_and(|place| self.load_at(place, lease) && !is_deletion)
    }

    /// Removes the lease loaded for `address`, as if there had never been a row of it. Returns true
    /// if it had a lease.
    pub fn unload(&self, address: F::Address) -> bool {
        let Some(place) = self.places.find(address) else { return false };
        let mut stripe = self.lock_of(place);
        let Some(id) = stripe.find(place).filter(|_| stripe.shown_state(place).is_some()) else {
            return false;
        };
        stripe.end_term(id);
        stripe.vacate(id, CommitEpochs { row_epoch: 0, settled_epoch: 0 });
        true
    }

    /// Returns the place for a lease of `address`. A deletion creates none outside the pools.
    fn place_to_load(&self, address: F::Address, is_deletion: bool) -> Option<u32> {
        if !is_deletion {
            self.guard(address);
        }
        let found = self.places.find(address);
        if found.is_some() || is_deletion {
            return found;
        }
        self.cover(address);
        self.places.make(address, true)
    }

    /// Loads `lease` at `place`. Returns true if there was no lease.
    fn load_at(&self, place: u32, lease: LeaseParts<F>) -> bool {
        let mut stripe = self.lock_of(place);
        let is_deletion = lease.valid_lifetime_s == 0;
        if is_deletion
            && stripe.find(place).is_none_or(|id| stripe.slot(id).version == 0)
            && !stripe.is_leasable(place, lease.address)
        {
            return true;
        }
        let id = stripe.make(place, lease.address);
        let slot = stripe.slot(id);
        let is_first = slot.version == 0 || slot.shown_state().is_none();
        stripe.install(id, lease, 0);
        is_first
    }
}
