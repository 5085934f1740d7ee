//! Loading of leases into the table when the server starts.

use base::Prefetch;

use super::LeaseTable;
use super::commit_epochs::CommitEpochs;
use super::table_family::{SlotNumberMap, TableFamily};
use crate::lease::{Lease, LeaseState};

impl<F: TableFamily> LeaseTable<F> {
    /// Adds a lease read from storage to the table; of several rows of one address the last wins,
    /// in the order of the calls. A reclaimed row leaves the address free and the lease remembered;
    /// a row with a valid lifetime of 0 leaves the address free, with the client known. Several
    /// threads may load different addresses at once.
    pub fn load(&self, lease: Lease<F>) {
        self.load_row(lease);
    }

    /// Prefetches the memory that loading `lease` will read; the caller does this some leases
    /// ahead.
    pub fn prefetch_load(&self, lease: &Lease<F>, prefetch: Prefetch) {
        self.prefetch_client(&F::indexed_by(lease), prefetch);
    }

    /// Loads `lease` as [`LeaseTable::load`] does; returns true when its address had no lease
    /// before and has one now.
    pub fn load_row(&self, lease: Lease<F>) -> bool {
        let is_deletion = lease.is_deleted();
        self.slot_number_to_load(lease.address, is_deletion)
            .is_some_and(|slot_number| self.load_at(slot_number, lease) && !is_deletion)
    }

    /// Removes the lease loaded for `address`, as if there had never been a row of it. Returns true
    /// if it had a lease.
    pub fn unload(&self, address: F::Address) -> bool {
        let Some(slot_number) = self.slot_numbers.find(address) else { return false };
        let mut stripe = self.lock_of(slot_number);
        let Some(id) = stripe.find(slot_number) else { return false };
        if stripe.shown_state(slot_number).is_none() {
            return false;
        }
        stripe.end_term(id);
        stripe.vacate(id, CommitEpochs { row_epoch: 0, settled_epoch: 0 });
        true
    }

    /// Returns the number of the slot into which a lease of `address` is loaded. A deletion creates
    /// none outside the pools.
    fn slot_number_to_load(&self, address: F::Address, is_deletion: bool) -> Option<u32> {
        if !is_deletion {
            self.guard(address);
        }
        let existing = self.slot_numbers.find(address);
        if existing.is_some() || is_deletion {
            return existing;
        }
        self.cover(address);
        self.slot_numbers.make(address, true)
    }

    /// Loads `lease` into the slot `slot_number`. Returns true if there was no lease.
    fn load_at(&self, slot_number: u32, mut lease: Lease<F>) -> bool {
        let mut stripe = self.lock_of(slot_number);
        let is_deletion = lease.is_deleted();
        if is_deletion {
            // As in Kea, a row without a lifetime is a deletion in any state.
            lease.state = LeaseState::Assigned;
        }
        if is_deletion
            && stripe.find(slot_number).is_none_or(|id| stripe.slot(id).version == 0)
            && !stripe.is_leasable(slot_number, lease.address)
        {
            return true;
        }
        let id = stripe.make(slot_number, lease.address);
        let slot = stripe.slot(id);
        let is_first = slot.version == 0 || slot.shown_state().is_none();
        stripe.install(id, lease, 0);
        is_first
    }
}
