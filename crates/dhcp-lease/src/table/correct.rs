//! Leases that others have given: what a database shared with other servers says of an address.

use super::LeaseTable;
use super::leased::{Leased, Places};
use crate::contract::Occupancy;
use crate::lease::LeaseState;

impl<F: Leased> LeaseTable<F> {
    /// Makes the slot of `address` what a shared database says of it, `None` when it says nothing.
    /// `row_epoch` is the epoch in which it was read, not settled yet. A slot with a row of a later
    /// epoch stays as it is, since the database has that row still to judge; so does the hold of an
    /// address that the database does not know, and a slot that says the same already.
    pub fn correct(&self, address: F::Address, found: Option<F::Lease>, row_epoch: u64) {
        let place = match &found {
            Some(_) => {
                self.cover(address);
                self.places.make(address, true)
            }
            None => self.places.find(address),
        };
        let Some(place) = place else { return };
        let mut stripe = self.lock_of(place);
        let known = stripe.find(place).filter(|&id| stripe.slot(id).version != 0);
        if known.is_some_and(|id| stripe.slot(id).row_epoch > row_epoch) {
            return;
        }
        match (known, found) {
            (_, Some(lease)) => {
                let id = stripe.make(place, address);
                let slot = stripe.slot(id);
                let is_same = slot.shown_state().is_some_and(|state| {
                    slot.occupancy != Occupancy::Held && F::to_lease(&F::row(slot, state)) == lease
                });
                if !is_same {
                    stripe.install(id, F::take_apart(lease), row_epoch);
                }
            }
            (Some(id), None) if stripe.slot(id).occupancy != Occupancy::Held => {
                stripe.transition(id, Occupancy::Free, |slot| {
                    slot.row_epoch = row_epoch;
                    slot.marks.set_state(LeaseState::Assigned);
                });
                stripe.forget_client(id);
            }
            (_, None) => {}
        }
    }
}
