//! Changes of leases by an operator.

use super::LeaseTable;
use super::commit_epochs::CommitEpochs;
use super::overlap::Overlaps as _;
use super::slot::RareLeaseFields;
use super::stripe::Locked;
use super::table_family::{FamilySlotFields, SlotNumberMap, TableFamily};
use super::tally::Delta;
use crate::contract::{PutMode, PutRefusal, Receipt, SlotOccupancy};
use crate::event::{EventCause, LeaseEventKind};
use crate::lease::{Lease, LeaseState, RowView};

impl<F: TableFamily> LeaseTable<F> {
    /// Makes `lease` the lease of its address for an operator; `epochs` and `log` are as for
    /// [`LeaseTable::apply`]. A lease with a valid lifetime of 0 is deleted.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`LeaseStore::put`](crate::LeaseStore::put).
    pub fn put(
        &self,
        lease: &Lease<F>,
        mode: PutMode,
        epochs: CommitEpochs,
        log: &mut dyn FnMut(RowView<'_, F>),
    ) -> Result<Receipt, PutRefusal> {
        let CommitEpochs { row_epoch, settled_epoch } = epochs;
        let mut lease = lease.clone();
        self.guard(lease.address);
        let slot_number =
            self.slot_number_to_put(lease.address, mode).ok_or(PutRefusal::Missing)?;
        let mut stripe = self.lock_of(slot_number);
        let has_lease = stripe.shown_state(slot_number).is_some();
        match mode {
            PutMode::Add if has_lease => return Err(PutRefusal::Exists),
            PutMode::Update if !has_lease => return Err(PutRefusal::Missing),
            PutMode::UnlessLater | PutMode::UnlessTaken
                if stripe.has_later(slot_number, &lease, mode == PutMode::UnlessTaken) =>
            {
                return Err(PutRefusal::Later);
            }
            _ => {}
        }
        let id = stripe.make(slot_number, lease.address);
        let unsettled = stripe.slot(id).row_epoch;
        if unsettled > settled_epoch {
            return Err(PutRefusal::Unsettled(unsettled));
        }
        let is_use =
            lease.occupancy() != SlotOccupancy::Free && lease.state != LeaseState::Registered;
        if is_use
            && self.slot_numbers.is_guarded(slot_number, lease.address)
            && !self.slot_numbers.admit_put(&self.map, lease.address)
        {
            return Err(PutRefusal::Overlaps);
        }
        let state = lease.state;
        let has_affinity = stripe.state.deadlines.expiry.has_affinity();
        let is_remembered = state == LeaseState::Released && has_affinity;
        let is_deletion = lease.is_deleted() && !is_remembered;
        if is_deletion {
            lease.state = LeaseState::Assigned;
        }
        let before = stripe.recorded_lease(id);
        let had = stripe.shown_state(slot_number).filter(|state| !state.is_past());
        let occupancy = stripe.install(id, lease, row_epoch);
        let is_registered = state == LeaseState::Registered;
        if occupancy == SlotOccupancy::Leased && is_registered && had != Some(state) {
            stripe.count(id, Delta::REGISTERED);
        }
        if matches!(occupancy, SlotOccupancy::Leased | SlotOccupancy::Declined) {
            let state = &mut *stripe.state;
            state.deadlines.hurry(&mut state.slots, id);
        }
        log(stripe.slot(id).row(state));
        let kind = match (is_deletion, has_lease) {
            (true, _) => LeaseEventKind::Deleted,
            (false, true) => LeaseEventKind::Updated,
            (false, false) => LeaseEventKind::Added,
        };
        let after = (!is_deletion).then_some(state);
        stripe.record(id, kind, before, after, EventCause::internal(row_epoch));
        Ok(Receipt { row_epoch })
    }

    fn slot_number_to_put(&self, address: F::Address, mode: PutMode) -> Option<u32> {
        match (self.slot_numbers.find(address), mode) {
            (None, PutMode::Update) => None,
            (None, PutMode::Add | PutMode::Force | PutMode::UnlessLater | PutMode::UnlessTaken) => {
                self.cover(address);
                self.slot_numbers.make(address, true)
            }
            (existing, _) => existing,
        }
    }

    /// Deletes the lease of `address` for an operator; `epochs` and `log` are as for
    /// [`LeaseTable::apply`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`LeaseStore::remove`](crate::LeaseStore::remove).
    pub fn remove(
        &self,
        address: F::Address,
        epochs: CommitEpochs,
        log: &mut dyn FnMut(RowView<'_, F>),
    ) -> Result<Receipt, PutRefusal> {
        let slot_number = self.slot_numbers.find(address).ok_or(PutRefusal::Missing)?;
        let mut stripe = self.lock_of(slot_number);
        let (Some(id), Some(state)) = (stripe.find(slot_number), stripe.shown_state(slot_number))
        else {
            return Err(PutRefusal::Missing);
        };
        let unsettled = stripe.slot(id).row_epoch;
        if unsettled > epochs.settled_epoch {
            return Err(PutRefusal::Unsettled(unsettled));
        }
        let before = stripe.recorded_lease(id);
        stripe.end_term(id);
        log(stripe.slot(id).row(state));
        stripe.vacate(id, epochs);
        let cause = EventCause::internal(epochs.row_epoch);
        stripe.record(id, LeaseEventKind::Deleted, before, None, cause);
        Ok(Receipt { row_epoch: epochs.row_epoch })
    }
}

impl<F: TableFamily> Locked<'_, F> {
    /// Returns the state of the lease in slot `slot_number` that operators see; `None` when the
    /// slot has no lease.
    pub(super) fn shown_state(&self, slot_number: u32) -> Option<LeaseState> {
        let slot = self.find(slot_number).map(|id| self.slot(id))?;
        if slot.version == 0 { None } else { slot.shown_state() }
    }

    /// Returns true if the slot has a lease with a later transaction than `lease`, and that lease
    /// is in use or has the same client; if `counts_equal`, also a lease of the same second that is
    /// in use by another client.
    fn has_later(&self, slot_number: u32, lease: &Lease<F>, counts_equal: bool) -> bool {
        let Some(state) = self.shown_state(slot_number) else { return false };
        let Some(slot) = self.find(slot_number).map(|id| self.slot(id)) else { return false };
        if slot.cltt_s > lease.cltt_s {
            return !state.is_past() || slot.row(state).to_lease().client == lease.client;
        }
        counts_equal
            && slot.cltt_s == lease.cltt_s
            && !state.is_past()
            && !F::may_be_one(&slot.row(state).to_lease().client, &lease.client)
    }

    /// Ends the term of the lease in slot `id` before its time.
    pub(super) fn end_term(&mut self, id: u32) {
        let slot = self.slot_mut(id);
        slot.valid_lifetime_s = 0;
        slot.family_fields.end_term();
    }

    /// Makes slot `id`, whose term was ended, free without a client or a remembered lease.
    pub(super) fn vacate(&mut self, id: u32, epochs: CommitEpochs) {
        self.free_when_settled(id, epochs, |slot| slot.marks.set_state(LeaseState::Assigned));
        self.forget_client(id);
    }

    /// Puts a whole lease that an operator sets into slot `id` and returns the slot's new use. A
    /// lease without a lifetime ends what the slot has, and is remembered if it was released.
    pub(super) fn install(&mut self, id: u32, lease: Lease<F>, row_epoch: u64) -> SlotOccupancy {
        let occupancy = lease.occupancy();
        let is_lease = lease.valid_lifetime_s > 0 || lease.state == LeaseState::Released;
        let (fields, hardware) = F::slot_fields(lease.address, lease.client, &lease.extra);
        self.replace_family_fields(id, fields);
        self.transition(id, occupancy, |slot| {
            slot.subnet_id = lease.subnet_id;
            slot.pool_id = lease.pool_id;
            slot.cltt_s = lease.cltt_s;
            slot.valid_lifetime_s = lease.valid_lifetime_s;
            slot.row_epoch = row_epoch;
            slot.marks.set_state(if is_lease { lease.state } else { LeaseState::Assigned });
            if is_lease {
                slot.set_rare(RareLeaseFields {
                    hostname: lease.hostname,
                    user_context: lease.user_context,
                    fqdn_fwd: lease.fqdn_fwd,
                    fqdn_rev: lease.fqdn_rev,
                    hardware,
                });
            } else {
                slot.extra = None;
            }
        });
        occupancy
    }
}
