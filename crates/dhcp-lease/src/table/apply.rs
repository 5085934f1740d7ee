//! Changes of slots by compare-and-set, several in one commit.

use std::sync::Arc;

use base::Now;

use super::LeaseTable;
use super::clock::ClockReading;
use super::commit_epochs::CommitEpochs;
use super::slot::LeaseSlot;
use super::stripe::Locked;
use super::table_family::{FamilySlotFields, SlotNumberMap, TableFamily};
use super::tally::Delta;
use crate::contract::{Action, CHANGES_MAX, ChangeOf, CommitRefusal, Receipt, SlotOccupancy};
use crate::event::{EventCause, ExchangeCell, LeaseEventKind};
use crate::lease::{INFINITE_LIFETIME_S, LeaseState, LeaseTerms, RowView};

/// Locks of the lease table's stripes that one commit changes, in ascending order.
struct Guards<'t, F: TableFamily> {
    stripes: [Option<Locked<'t, F>>; CHANGES_MAX],
    numbers: [u8; CHANGES_MAX],
    len: usize,
}

impl<'t, F: TableFamily> Guards<'t, F> {
    fn lock(table: &'t LeaseTable<F>, slot_numbers: &[u32]) -> Self {
        let mut numbers = [0; CHANGES_MAX];
        let mut len = 0;
        for &slot_number in slot_numbers {
            let number = slot_number as u8;
            let at = numbers[..len].partition_point(|&other| other < number);
            if at == len || numbers[at] != number {
                numbers.copy_within(at..len, at + 1);
                numbers[at] = number;
                len += 1;
            }
        }
        let mut stripes = [const { None }; CHANGES_MAX];
        for (stripe, &number) in stripes.iter_mut().zip(&numbers[..len]) {
            *stripe = Some(table.lock(usize::from(number)));
        }
        Self { stripes, numbers, len }
    }

    fn stripe(&mut self, slot_number: u32) -> &mut Locked<'t, F> {
        let at = self.numbers[..self.len]
            .binary_search(&(slot_number as u8))
            .expect("every change's stripe is locked");
        self.stripes[at].as_mut().expect("every change's stripe is locked")
    }
}

impl<F: TableFamily> LeaseTable<F> {
    /// Applies all `changes` of slots or none (at most [`CHANGES_MAX`], distinct addresses), each
    /// only if its slot has the expected version, no unsettled row by `epochs`, and a use that
    /// permits the action at `now`. Logged rows belong to its row epoch; the table gives them to
    /// `log`, in the order of `changes`, while the slot is locked: `log` must not wait and must not
    /// use the table.
    ///
    /// A hold on the client's own lease that has not expired changes nothing. A release in an epoch
    /// that is settled already frees the address at once.
    ///
    /// # Errors
    ///
    /// Returns the first reason found; then no slot has changed.
    ///
    /// # Panics
    ///
    /// Panics with more than [`CHANGES_MAX`] changes.
    pub fn apply(
        &self,
        now: Now,
        changes: &[ChangeOf<'_, F>],
        epochs: CommitEpochs,
        log: &mut dyn FnMut(RowView<'_, F>),
    ) -> Result<Receipt, CommitRefusal> {
        self.apply_caused(now, changes, epochs, None, log)
    }

    /// Applies `changes` as [`LeaseTable::apply`] does; recorded events refer to `exchange`.
    ///
    /// # Errors
    ///
    /// See [`LeaseTable::apply`].
    ///
    /// # Panics
    ///
    /// See [`LeaseTable::apply`].
    pub fn apply_caused(
        &self,
        now: Now,
        changes: &[ChangeOf<'_, F>],
        epochs: CommitEpochs,
        exchange: Option<&Arc<ExchangeCell>>,
        log: &mut dyn FnMut(RowView<'_, F>),
    ) -> Result<Receipt, CommitRefusal> {
        assert!(changes.len() <= CHANGES_MAX, "a commit has at most {CHANGES_MAX} changes");
        let timed = self.check_clock(now);
        let cause = EventCause { row_epoch: epochs.row_epoch, exchange };
        let commit = Commit { now: timed.now, timed, epochs, cause };
        if let [change] = changes {
            let slot_number = self.slot_number_for(change).ok_or(CommitRefusal::NoSuchSlot)?;
            let mut stripe = self.lock_of(slot_number);
            let id = commit.check(&stripe, slot_number, change)?;
            if !commit.admits(self, slot_number, change) {
                return Err(CommitRefusal::Stale);
            }
            let id = id.unwrap_or_else(|| stripe.make(slot_number, change.address));
            return Ok(commit.receipt(commit.perform(&mut stripe, id, change, log)));
        }
        debug_assert!(
            changes.iter().enumerate().all(|(at, change)| {
                changes[..at].iter().all(|other| other.address != change.address)
            }),
            "a commit changes a slot once"
        );
        let mut slot_numbers = [0; CHANGES_MAX];
        let numbers = changes.iter().map_while(|change| self.slot_number_for(change));
        let count =
            slot_numbers.iter_mut().zip(numbers).map(|(target, number)| *target = number).count();
        let slot_numbers = &slot_numbers[..count];
        let mut guards = Guards::lock(self, slot_numbers);
        for (&slot_number, change) in slot_numbers.iter().zip(changes) {
            commit.check(guards.stripe(slot_number), slot_number, change)?;
        }
        if count < changes.len() {
            return Err(CommitRefusal::NoSuchSlot);
        }
        for (at, (&slot_number, change)) in slot_numbers.iter().zip(changes).enumerate() {
            if !commit.admits(self, slot_number, change) {
                for (&slot_number, change) in slot_numbers[..at].iter().zip(changes) {
                    guards.stripe(slot_number).remove_use(slot_number, change.address);
                }
                return Err(CommitRefusal::Stale);
            }
        }
        let mut is_logged = false;
        for (&slot_number, change) in slot_numbers.iter().zip(changes) {
            let stripe = guards.stripe(slot_number);
            let id = stripe.make(slot_number, change.address);
            is_logged |= commit.perform(stripe, id, change, log);
        }
        Ok(commit.receipt(is_logged))
    }
}

impl<F: TableFamily> LeaseTable<F> {
    fn slot_number_for(&self, change: &ChangeOf<'_, F>) -> Option<u32> {
        let is_any = matches!(change.action, Action::Register(_));
        self.slot_numbers.make(change.address, is_any)
    }
}

/// State of one commit of changes.
struct Commit<'c> {
    now: Now,
    timed: ClockReading,
    epochs: CommitEpochs,
    cause: EventCause<'c>,
}

impl Commit<'_> {
    const fn receipt(&self, is_logged: bool) -> Receipt {
        Receipt { row_epoch: if is_logged { self.epochs.row_epoch } else { 0 } }
    }

    /// Checks that `change` may be made to its slot. Returns the id of its slot, unless the slot is
    /// untouched.
    fn check<F: TableFamily>(
        &self,
        stripe: &Locked<'_, F>,
        slot_number: u32,
        change: &ChangeOf<'_, F>,
    ) -> Result<Option<u32>, CommitRefusal> {
        if stripe.table.wall_clock.has_moved(&self.timed) {
            return Err(CommitRefusal::Stale);
        }
        let is_registration = matches!(change.action, Action::Register(_));
        let id = stripe.find(slot_number);
        let Some(slot) = id.map(|id| stripe.slot(id)).filter(|slot| slot.version != 0) else {
            let is_leasable = stripe.is_leasable(slot_number, change.address);
            return match change.action {
                _ if change.expected_version == 0 && is_registration => Ok(None),
                _ if !is_leasable => Err(CommitRefusal::NoSuchSlot),
                Action::Hold { .. } | Action::Lease(_) if change.expected_version == 0 => Ok(None),
                _ => Err(CommitRefusal::Stale),
            };
        };
        if slot.version != change.expected_version {
            return Err(CommitRefusal::Stale);
        }
        if slot.row_epoch > self.epochs.settled_epoch {
            return Err(CommitRefusal::Unsettled(slot.row_epoch));
        }
        let is_mine = || slot.family_fields.has_client() && slot.is_owned_by(&change.identity);
        let is_over = || slot.expires_s() <= self.now.wall_s();
        let fits = match (change.action, slot.occupancy_at(self.epochs.settled_epoch)) {
            // The last client that registers an address is the one that uses it.
            (Action::Register(_), SlotOccupancy::Leased)
                if slot.marks.state() == LeaseState::Registered =>
            {
                true
            }
            (Action::Hold { .. } | Action::Lease(_) | Action::Register(_), occupancy) => {
                match occupancy {
                    // An exhausted pool breaks holds.
                    SlotOccupancy::Free | SlotOccupancy::Held => true,
                    SlotOccupancy::Leased => is_over() || is_mine(),
                    SlotOccupancy::Declined => is_over(),
                    SlotOccupancy::Releasing => false,
                }
            }
            (Action::Unhold, SlotOccupancy::Held) | (Action::Release, SlotOccupancy::Leased) => {
                is_mine()
            }
            (Action::Decline { .. }, SlotOccupancy::Leased | SlotOccupancy::Held) => is_mine(),
            (Action::Unhold | Action::Release | Action::Decline { .. }, _) => false,
        };
        // The fetched facts permitted the change: a clock moved between fetch and commit.
        if fits { Ok(id) } else { Err(CommitRefusal::Stale) }
    }

    /// Returns true if no lease of an overlapping prefix or address forbids `change`; then the new
    /// use of the address is entered.
    fn admits<F: TableFamily>(
        &self,
        table: &LeaseTable<F>,
        slot_number: u32,
        change: &ChangeOf<'_, F>,
    ) -> bool {
        let is_use = matches!(change.action, Action::Hold { .. } | Action::Lease(_));
        !is_use || table.admit(self.now, slot_number, change.address)
    }

    /// Makes a checked change of a slot. Returns true if it was logged.
    fn perform<F: TableFamily>(
        &self,
        stripe: &mut Locked<'_, F>,
        id: u32,
        change: &ChangeOf<'_, F>,
        log: &mut dyn FnMut(RowView<'_, F>),
    ) -> bool {
        match change.action {
            Action::Hold { deadline_ns, subnet_id } => {
                self.hold(stripe, id, &change.identity, deadline_ns, subnet_id);
                return false;
            }
            Action::Unhold => {
                stripe.free(id);
                return false;
            }
            Action::Lease(terms) => {
                self.lease(stripe, id, &change.identity, &terms, LeaseState::Assigned);
                log(stripe.slot(id).row(LeaseState::Assigned));
            }
            Action::Register(terms) => {
                self.lease(stripe, id, &change.identity, &terms, LeaseState::Registered);
                log(stripe.slot(id).row(LeaseState::Registered));
            }
            Action::Release => self.release(stripe, id, log),
            Action::Decline { probation_s } => {
                let before = stripe.recorded_lease(id);
                self.decline(stripe, id, probation_s);
                log(stripe.slot(id).row(LeaseState::Declined));
                let (kind, after) = (LeaseEventKind::Declined, Some(LeaseState::Declined));
                stripe.record(id, kind, before, after, self.cause);
            }
        }
        true
    }

    fn hold<F: TableFamily>(
        &self,
        stripe: &mut Locked<'_, F>,
        id: u32,
        identity: &F::Identity<'_>,
        deadline_ns: u64,
        subnet_id: u32,
    ) {
        let slot = stripe.slot(id);
        if slot.occupancy == SlotOccupancy::Leased && slot.expires_s() > self.now.wall_s() {
            return;
        }
        let is_mine = slot.family_fields.has_identity(identity);
        let is_ended = slot.occupancy == SlotOccupancy::Leased;
        // A released lease stays so for its client, until it is reclaimed.
        if !(is_mine && slot.marks.state() == LeaseState::Released) {
            // The offer writes no row: the lease's own row has its end.
            stripe.end_previous(id, self.now.wall_s(), EventCause::internal(0));
        }
        stripe.transition(id, SlotOccupancy::Held, |slot| {
            slot.hold_deadline_ns = deadline_ns;
            slot.subnet_id = subnet_id;
            if is_ended {
                slot.marks.set_state(LeaseState::ExpiredReclaimed);
                slot.forget_names();
            } else if !slot.marks.state().is_past() {
                slot.pool_id = 0;
                slot.marks.set_state(LeaseState::Assigned);
            }
        });
        stripe.set_client(id, identity);
    }

    fn lease<F: TableFamily>(
        &self,
        stripe: &mut Locked<'_, F>,
        id: u32,
        identity: &F::Identity<'_>,
        terms: &LeaseTerms<'_, F>,
        state: LeaseState,
    ) {
        let slot = stripe.slot(id);
        let is_same_client = slot.family_fields.has_identity(identity);
        let is_renewed = slot.occupancy == SlotOccupancy::Leased
            && slot.marks.state() == state
            && slot.expires_s() > self.now.wall_s()
            && (is_same_client || slot.is_owned_by(identity));
        let has_ended = !is_renewed && stripe.end_previous(id, self.now.wall_s(), self.cause);
        let before = if has_ended { None } else { stripe.recorded_lease(id) };
        let kind = match state {
            LeaseState::Registered => LeaseEventKind::Registered,
            _ if is_renewed => LeaseEventKind::Renewed,
            _ => LeaseEventKind::Allocated,
        };
        if !is_same_client {
            // A renewed lease keeps the relay agent information: this client may have come without
            // a relay.
            let extra = if is_renewed { stripe.slot_mut(id).extra.take() } else { None };
            stripe.change_client(id, identity);
            stripe.slot_mut(id).extra = extra;
        }
        let set_terms = |slot: &mut LeaseSlot<F>| {
            slot.cltt_s = self.now.wall_s();
            slot.valid_lifetime_s = terms.valid_lifetime_s;
            slot.subnet_id = terms.subnet_id;
            slot.pool_id = terms.pool_id;
            slot.row_epoch = self.epochs.row_epoch;
            slot.marks.set_state(state);
            slot.set_text(terms);
            F::set_extra(slot, &terms.extra);
        };
        if !is_renewed || stripe.slot(id).subnet_id != terms.subnet_id {
            let delta = match state {
                _ if is_renewed => Delta::default(),
                LeaseState::Registered => Delta::REGISTERED,
                _ => Delta::GIVEN,
            };
            stripe.transition_counted(id, SlotOccupancy::Leased, delta, set_terms);
            return stripe.record(id, kind, before, Some(state), self.cause);
        }
        let slot = stripe.slot_mut(id);
        let expired_s = slot.expires_s();
        slot.touch();
        set_terms(slot);
        let stripe_state = &mut *stripe.state;
        stripe_state.deadlines.relink_renewed(&mut stripe_state.slots, id, expired_s);
        stripe.record_use(id);
        stripe.record(id, kind, before, Some(state), self.cause);
    }

    fn release<F: TableFamily>(
        &self,
        stripe: &mut Locked<'_, F>,
        id: u32,
        log: &mut dyn FnMut(RowView<'_, F>),
    ) {
        let before = stripe.recorded_lease(id);
        let is_remembered = stripe.state.deadlines.expiry.has_affinity();
        let slot = stripe.slot_mut(id);
        let is_remembered = is_remembered && slot.valid_lifetime_s != INFINITE_LIFETIME_S;
        slot.cltt_s = self.now.wall_s();
        slot.valid_lifetime_s = 0;
        slot.family_fields.end_term();
        let row_state = if is_remembered { LeaseState::Released } else { slot.marks.state() };
        log(slot.row(row_state));
        stripe.free_when_settled(id, self.epochs, |slot| {
            let past = if is_remembered { LeaseState::Released } else { LeaseState::Assigned };
            slot.marks.set_state(past);
        });
        let after = is_remembered.then_some(LeaseState::Released);
        stripe.record(id, LeaseEventKind::Released, before, after, self.cause);
        if !is_remembered {
            stripe.forget_client(id);
        }
    }

    fn decline<F: TableFamily>(&self, stripe: &mut Locked<'_, F>, id: u32, probation_s: u32) {
        if stripe.slot(id).occupancy == SlotOccupancy::Held {
            stripe.end_previous(id, self.now.wall_s(), self.cause);
        }
        stripe.forget_client(id);
        stripe.transition(id, SlotOccupancy::Declined, |slot| {
            slot.cltt_s = self.now.wall_s();
            slot.valid_lifetime_s = probation_s;
            slot.row_epoch = self.epochs.row_epoch;
            slot.marks.set_state(LeaseState::Declined);
        });
    }
}
