//! Corrections of slots from a database that the server shares with other servers.

use super::LeaseTable;
use super::order;
use super::table_family::{SlotNumberMap, TableFamily};
use crate::contract::SlotOccupancy;
use crate::lease::{Lease, LeaseState};
use crate::pool::Allocator;

/// Distance, in slot numbers before the next address to lease, within which an address counts as
/// leased lately: more than clients have been offered and have not requested yet.
const LATELY: u32 = 4096;

/// Cause of a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Correction {
    /// Lease that was read in the database.
    Read,
    /// Row of this server that the database refused.
    Refused,
}

impl<F: TableFamily> LeaseTable<F> {
    /// Corrects the slot of `address` from the lease in a shared database, `None` when the database
    /// has none. `row_epoch` is the epoch in which the lease was read; it is not settled yet. A
    /// slot with a row of a later epoch stays as it is, since the database has not yet accepted or
    /// refused that row; so do a held slot without a lease in the database, and a slot that has the
    /// same lease already.
    pub fn correct(&self, address: F::Address, lease: Option<Lease<F>>, row_epoch: u64) {
        self.replace(address, lease, row_epoch, Correction::Read);
    }

    /// Corrects the slot of `address` as [`LeaseTable::correct`] does, after the database has
    /// refused the row of `row_epoch`. The events of that row are discarded: it never was in the
    /// database.
    pub fn refuse(&self, address: F::Address, lease: Option<Lease<F>>, row_epoch: u64) {
        self.replace(address, lease, row_epoch, Correction::Refused);
    }

    fn replace(
        &self,
        address: F::Address,
        lease: Option<Lease<F>>,
        row_epoch: u64,
        correction: Correction,
    ) {
        let slot_number = match &lease {
            Some(_) => {
                self.guard(address);
                self.cover(address);
                self.slot_numbers.make(address, true)
            }
            None => self.slot_numbers.find(address),
        };
        let Some(slot_number) = slot_number else { return };
        let mut stripe = self.lock_of(slot_number);
        let touched_id = stripe.find(slot_number).filter(|&id| stripe.slot(id).version != 0);
        if touched_id.is_some_and(|id| stripe.slot(id).row_epoch > row_epoch) {
            return;
        }
        let refused = match correction {
            Correction::Refused => stripe.discard_refused(address, row_epoch),
            Correction::Read => None,
        };
        let shown = touched_id.and_then(|id| stripe.recorded_lease(id));
        let before = refused.map_or_else(|| shown.clone(), |event| event.before.clone());
        let corrected_id = match (touched_id, lease) {
            (_, Some(lease)) => {
                let id = stripe.make(slot_number, address);
                let slot = stripe.slot(id);
                let is_same = slot.shown_state().is_some_and(|state| {
                    slot.occupancy != SlotOccupancy::Held && slot.row(state).to_lease() == lease
                });
                if !is_same {
                    stripe.install(id, lease, row_epoch);
                }
                Some(id)
            }
            (Some(id), None) if stripe.slot(id).occupancy != SlotOccupancy::Held => {
                stripe.transition(id, SlotOccupancy::Free, |slot| {
                    slot.row_epoch = row_epoch;
                    slot.marks.set_state(LeaseState::Assigned);
                });
                stripe.forget_client(id);
                Some(id)
            }
            (touched_id, None) => touched_id,
        };
        if let Some(id) = corrected_id {
            stripe.note_correction(id, shown.as_ref());
            stripe.record_correction(id, before);
        }
    }

    /// Moves the search of an iterative pool to another slot number, when `address`, which was
    /// leased lately, turned out to be leased by another server: that server goes through the pool
    /// in the same order, so the next addresses are likely its own too. The new slot number is
    /// unpredictable, so servers separate; a server that is alone continues in its order.
    pub fn leave_occupied_range(&self, address: F::Address) {
        let pools = self.lock_configuration().current.clone();
        let Some(slot_number) = self.slot_numbers.find(address) else { return };
        let Some(pool) = pools.find(address) else { return };
        let (spec, run) = (&pools.specs()[pool.0 as usize], pools.run(pool));
        let next = pools.cursor(pool);
        // A server that has moved already still gets refusals of addresses that it took before.
        if spec.allocator != Allocator::Iterative || next.wrapping_sub(slot_number) > LATELY {
            return;
        }
        let position =
            order::mixed(next.into(), self.seed) % F::SlotNumbers::count(spec, run).max(1);
        if let Some((new_slot_number, _)) = F::SlotNumbers::at(spec, run, position) {
            pools.turn_to(pool, new_slot_number);
        }
    }
}
