//! Leases that others have given: what a database shared with other servers says of an address.

use super::LeaseTable;
use super::leased::{Leased, Places};
use super::order;
use crate::contract::Occupancy;
use crate::lease::LeaseState;
use crate::pool::Allocator;

/// Places behind the one that is given next at which an address was given lately: more than clients
/// have been offered one and have not asked for it yet.
const LATELY: u32 = 4096;

impl<F: Leased> LeaseTable<F> {
    /// Makes the slot of `address` what a shared database says of it, `None` when it says nothing.
    /// `row_epoch` is the epoch in which it was read, not settled yet. A slot with a row of a later
    /// epoch stays as it is, since the database has that row still to judge; so does the hold of an
    /// address that the database does not know, and a slot that says the same already.
    pub fn correct(&self, address: F::Address, found: Option<F::Lease>, row_epoch: u64) {
        let place = match &found {
            Some(_) => {
                self.guard(address);
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

    /// Has the addresses of a pool that are given one after the other given from another place on, when
    /// `address`, which was given lately, turned out to be one that another server has given: it goes
    /// through the pool in the same order, so the next ones are likely its own too. Where that is can
    /// be foreseen by nobody, so servers part ways, and one that is alone goes on in its order.
    pub fn part_ways(&self, address: F::Address) {
        let pools = self.lock_configuration().current.clone();
        let Some(place) = self.places.find(address) else { return };
        let Some(pool) = pools.find(address) else { return };
        let (spec, run) = (&pools.specs()[pool.0 as usize], pools.run(pool));
        let next = pools.cursor(pool);
        // Who has parted already has many addresses on their way that are refused too.
        if F::allocator(spec) != Allocator::Iterative || next.wrapping_sub(place) > LATELY {
            return;
        }
        let position = order::mixed(next.into(), self.seed) % F::Places::count(spec, run).max(1);
        if let Some((elsewhere, _)) = F::Places::at(spec, run, position) {
            pools.turn_to(pool, elsewhere);
        }
    }
}
