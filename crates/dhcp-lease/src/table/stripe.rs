//! Stripe of the lease table: its lock, its slots with their lists, and hints that are read without
//! the lock.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::LeaseTable;
use super::commit_epochs::CommitEpochs;
use super::deadlines::Deadlines;
use super::slot::LeaseSlot;
use super::slots::StripeSlots;
use super::table_family::{ClientIndex, FamilySlotFields, SlotNumberMap, TableFamily};
use super::tally::{Delta, Outside, Tallies, TallyKey};
use super::usage::Usage;
use crate::contract::{SlotOccupancy, SlotView};
use crate::event::{EventCause, LeaseEventKind, OrderedEvent};
use crate::lease::LeaseState;

/// Next events of a stripe of the lease table, readable without its lock: a sweep locks only
/// stripes with work.
pub(super) struct StripeHints {
    /// Monotonic deadline of the stripe's oldest hold in nanoseconds; `u64::MAX` without one.
    pub(super) first_hold_ns: AtomicU64,
    /// Row epoch of the stripe's oldest release whose address is not free yet; `u64::MAX` without
    /// one.
    pub(super) first_release_epoch: AtomicU64,
    /// Wall-clock second in which the stripe's wheel has to be looked at next.
    pub(super) wheel_due_s: AtomicU64,
    /// True if a slot of the stripe waits for the next reclaim cycle.
    pub(super) has_overdue: AtomicBool,
}

/// State of a stripe that its lock protects.
pub(super) struct StripeState<F: TableFamily> {
    pub(super) slots: StripeSlots<F>,
    pub(super) deadlines: Deadlines<F>,
    usage: Usage,
    /// Slot numbers of reserved addresses outside the pools that have no free bit, ascending.
    reserved: Vec<u32>,
    /// Counters of the leases of all pools.
    pub(super) tallies: Arc<Tallies<F>>,
    pub(super) outside: Outside<F>,
    /// Recorded events of the stripe's slots that were not taken.
    pub(super) events: Vec<OrderedEvent<F>>,
}

/// Part of the lease table with its own lock, alone in its cache lines.
#[repr(align(128))]
pub(super) struct Stripe<F: TableFamily> {
    /// Position of the stripe in the table.
    number: usize,
    pub(super) hints: StripeHints,
    state: Mutex<StripeState<F>>,
}

impl<F: TableFamily> Stripe<F> {
    pub(super) fn new(number: usize, tallies: Arc<Tallies<F>>) -> Self {
        Self {
            number,
            hints: StripeHints {
                first_hold_ns: AtomicU64::new(u64::MAX),
                first_release_epoch: AtomicU64::new(u64::MAX),
                wheel_due_s: AtomicU64::new(1),
                has_overdue: AtomicBool::new(false),
            },
            state: Mutex::new(StripeState {
                slots: StripeSlots::default(),
                deadlines: Deadlines::new(),
                usage: Usage::default(),
                reserved: Vec::new(),
                tallies,
                outside: Outside::<F>::new(),
                events: Vec::new(),
            }),
        }
    }

    /// Returns false once a thread has panicked while it held the stripe's lock.
    pub(super) fn is_sound(&self) -> bool {
        !self.state.is_poisoned()
    }

    pub(super) fn lock<'t>(&'t self, table: &'t LeaseTable<F>) -> Locked<'t, F> {
        let state = self.state.lock().expect("no holder of a stripe panics");
        Locked { table, number: self.number, hints: &self.hints, state }
    }
}

/// Stripe of the lease table under its lock. Every change of a slot is made through this type,
/// which updates lists, free bits, indexes and counts with it.
pub(super) struct Locked<'t, F: TableFamily> {
    pub(super) table: &'t LeaseTable<F>,
    /// Position of the stripe in the table.
    pub(super) number: usize,
    pub(super) hints: &'t StripeHints,
    pub(super) state: MutexGuard<'t, StripeState<F>>,
}

impl<F: TableFamily> Drop for Locked<'_, F> {
    fn drop(&mut self) {
        let (hints, deadlines) = (self.hints, &self.state.deadlines);
        hints.first_hold_ns.store(deadlines.first_hold_ns(), Ordering::Relaxed);
        hints.first_release_epoch.store(deadlines.first_release_epoch(), Ordering::Relaxed);
        hints.wheel_due_s.store(deadlines.wheel_due_s(), Ordering::Relaxed);
        hints.has_overdue.store(deadlines.has_overdue(), Ordering::Relaxed);
    }
}

impl<F: TableFamily> Locked<'_, F> {
    pub(super) fn reserve(&mut self, rows: usize, prefill: bool) {
        self.state.slots.reserve(rows, prefill);
    }

    /// Returns the id of the slot `slot_number`, if the slot has been made.
    pub(super) fn find(&self, slot_number: u32) -> Option<u32> {
        self.state.slots.find(slot_number, self.table.map.row(slot_number))
    }

    /// Returns the id of the slot of `address` with `slot_number`, and creates the slot if
    /// necessary.
    pub(super) fn make(&mut self, slot_number: u32, address: F::Address) -> u32 {
        self.state.slots.make(slot_number, self.table.map.row(slot_number), address)
    }

    pub(super) fn slot(&self, id: u32) -> &LeaseSlot<F> {
        self.state.slots.get(id)
    }

    pub(super) fn slot_mut(&mut self, id: u32) -> &mut LeaseSlot<F> {
        self.state.slots.get_mut(id)
    }

    /// Returns true if a pool ever contained `address`, which has `slot_number`, or it is reserved.
    pub(super) fn is_leasable(&self, slot_number: u32, address: F::Address) -> bool {
        self.table.slot_numbers.is_pooled(&self.table.map, slot_number, address)
            || self.table.map.is_reserved(slot_number)
            || self.state.reserved.binary_search(&slot_number).is_ok()
    }

    /// Records if the address of `slot_number`, which is in no pool, is reserved.
    pub(super) fn reserve_outside(&mut self, slot_number: u32, is_reserved: bool) {
        let reserved = &mut self.state.reserved;
        match (reserved.binary_search(&slot_number), is_reserved) {
            (Err(at), true) => reserved.insert(at, slot_number),
            (Ok(at), false) => drop(reserved.remove(at)),
            _ => {}
        }
    }

    /// Returns the view of the slot of `address` with `slot_number` for `identity`; `None` when no
    /// pool ever had the address, it is not reserved and has no lease.
    pub(super) fn view(
        &self,
        slot_number: u32,
        address: F::Address,
        identity: &F::Identity<'_>,
        settled_epoch: u64,
    ) -> Option<SlotView<F>> {
        match self.find(slot_number).map(|id| self.slot(id)) {
            Some(slot) if slot.version != 0 => Some(slot.view(identity, settled_epoch)),
            _ if self.is_leasable(slot_number, address) => {
                Some(LeaseSlot::fresh(slot_number, address).view(identity, settled_epoch))
            }
            _ => None,
        }
    }

    /// Changes the use of slot `id`: `change` sets the fields of the new use, also the state.
    /// Lists, free bit and counts follow.
    pub(super) fn transition(
        &mut self,
        id: u32,
        occupancy: SlotOccupancy,
        change: impl FnOnce(&mut LeaseSlot<F>),
    ) {
        self.transition_counted(id, occupancy, Delta::default(), change);
    }

    /// Changes the use of slot `id` as [`Locked::transition`] does, and counts `event` also.
    pub(super) fn transition_counted(
        &mut self,
        id: u32,
        occupancy: SlotOccupancy,
        event: Delta,
        change: impl FnOnce(&mut LeaseSlot<F>),
    ) {
        let StripeState { slots, deadlines, usage, .. } = &mut *self.state;
        deadlines.unlink(slots, id);
        let slot = slots.get_mut(id);
        let (before, slot_number) = (slot.occupancy, slot.number);
        if let Some(count) = usage.counter(before) {
            *count -= 1;
        }
        if let Some(count) = usage.counter(occupancy) {
            *count += 1;
        }
        let account = TallyKey::from_slot(slot);
        let counted = Delta::for_slot(before, slot.marks.state());
        slot.occupancy = occupancy;
        slot.touch();
        change(slot);
        let address = slot.address();
        deadlines.link(slots, id);
        match (before, occupancy) {
            (_, SlotOccupancy::Free) => self.set_free(slot_number, address, false),
            (SlotOccupancy::Free, _) => {
                self.table.clear_bit(slot_number, address);
                if let Some((queue, position)) = self.state.tallies.queue_of(address) {
                    queue.remove(position);
                }
            }
            _ => {}
        }
        self.count_change(id, account, counted, event);
        self.record_use(id);
    }

    /// Makes slot `id` free. Its last client stays known, with the past lease that it remembers.
    pub(super) fn free(&mut self, id: u32) {
        self.transition(id, SlotOccupancy::Free, |slot| {
            if !slot.marks.state().is_past() {
                slot.extra = None;
            }
        });
    }

    /// Makes slot `id` free as soon as its last lease row, of `epochs`' row epoch, is settled;
    /// `change` sets the fields that are remembered.
    pub(super) fn free_when_settled(
        &mut self,
        id: u32,
        epochs: CommitEpochs,
        change: impl FnOnce(&mut LeaseSlot<F>),
    ) {
        let CommitEpochs { row_epoch, settled_epoch } = epochs;
        let is_settled = row_epoch <= settled_epoch;
        let occupancy = if is_settled { SlotOccupancy::Free } else { SlotOccupancy::Releasing };
        self.transition(id, occupancy, |slot| {
            slot.row_epoch = row_epoch;
            change(slot);
            if !slot.marks.state().is_past() {
                slot.extra = None;
            }
        });
    }

    /// Returns the way in which the lease in slot `id` ends at `wall_s`, unless it was counted as
    /// ended before.
    fn lease_end(&self, id: u32, wall_s: u64) -> Option<LeaseEventKind> {
        let slot = self.slot(id);
        match (slot.occupancy, slot.marks.state()) {
            (SlotOccupancy::Leased, _) if slot.expires_s() <= wall_s => {
                Some(LeaseEventKind::Reclaimed)
            }
            (SlotOccupancy::Declined, _) => Some(LeaseEventKind::Recovered),
            (SlotOccupancy::Leased, _) => None,
            (_, LeaseState::Released) => Some(LeaseEventKind::Reclaimed),
            _ => None,
        }
    }

    /// Counts the end of the lease in slot `id`, if it was not counted before. Returns the way in
    /// which it ended.
    pub(super) fn count_ended(&mut self, id: u32, wall_s: u64) -> Option<LeaseEventKind> {
        let kind = self.lease_end(id, wall_s)?;
        let is_probation = kind == LeaseEventKind::Recovered;
        self.count(id, if is_probation { Delta::RECOVERED } else { Delta::RECLAIMED });
        Some(kind)
    }

    /// Counts and records the end of the lease in slot `id` before another client gets the slot: no
    /// sweep has counted it. Returns true if a lease ended.
    pub(super) fn end_previous(&mut self, id: u32, wall_s: u64, cause: EventCause<'_>) -> bool {
        let Some(kind) = self.count_ended(id, wall_s) else { return false };
        let before = self.recorded_lease(id);
        self.record(id, kind, before, None, cause);
        true
    }

    /// Makes `identity` the client of slot `id`.
    pub(super) fn set_client(&mut self, id: u32, identity: &F::Identity<'_>) {
        if !self.slot(id).family_fields.has_identity(identity) {
            self.change_client(id, identity);
        }
    }

    /// Makes `identity` the client of slot `id`, which had another client or none.
    pub(super) fn change_client(&mut self, id: u32, identity: &F::Identity<'_>) {
        self.forget_client(id);
        let table = self.table;
        let slot = self.slot_mut(id);
        slot.family_fields.remember(identity);
        table.index.insert(&slot.family_fields, slot.number);
    }

    /// Removes the client of slot `id`.
    pub(super) fn forget_client(&mut self, id: u32) {
        let table = self.table;
        let slot = self.slot_mut(id);
        table.index.remove(&slot.family_fields, slot.number);
        slot.family_fields.forget();
        slot.extra = None;
        if slot.marks.state().is_past() {
            slot.marks.set_state(LeaseState::Assigned);
        }
    }

    /// Gives slot `id` the family's fields `fields` with the client in them.
    pub(super) fn replace_family_fields(&mut self, id: u32, fields: F::SlotFields) {
        // A fresh slot, as nearly all are during a load, has no client to forget.
        let is_fresh = self.slot(id).version == 0;
        let is_another = is_fresh || !self.slot(id).family_fields.has_client_of(&fields);
        if is_another && !is_fresh {
            self.forget_client(id);
        }
        let table = self.table;
        let slot = self.slot_mut(id);
        slot.family_fields = fields;
        if is_another {
            table.index.insert(&slot.family_fields, slot.number);
        }
    }

    /// Marks `address` free in the map and in its pool's queue; `is_unused`: no client had the
    /// address since it was free last.
    fn set_free(&self, slot_number: u32, address: F::Address, is_unused: bool) {
        if self.table.set_bit(slot_number, address)
            && let Some((queue, position)) = self.state.tallies.queue_of(address)
        {
            queue.push(position, is_unused);
        }
    }

    pub(super) fn set_bit_if_free(&self, slot_number: u32, address: F::Address) {
        let is_free = |id| self.slot(id).occupancy == SlotOccupancy::Free;
        if self.find(slot_number).is_none_or(is_free) {
            self.set_free(slot_number, address, true);
        }
    }

    pub(super) fn clear_bit_if_taken(&self, slot_number: u32) {
        if let Some(slot) = self.find(slot_number).map(|id| self.slot(id))
            && slot.occupancy != SlotOccupancy::Free
        {
            self.table.clear_bit(slot_number, slot.address());
        }
    }

    /// Returns the slot numbers of the slots outside the pages.
    pub(super) fn sparse(&self) -> impl Iterator<Item = u32> {
        self.state.slots.sparse().iter().map(|slot| slot.number)
    }

    pub(super) fn add_usage(&self, sum: &mut Usage) {
        sum.held += self.state.usage.held;
        sum.leased += self.state.usage.leased;
        sum.declined += self.state.usage.declined;
        sum.releasing += self.state.usage.releasing;
    }

    /// Adds the numbers of slots in use of one part to `sums`, by subnet, see
    /// [`StripeSlots::part`]; returns false when the stripe has no such part.
    pub(super) fn add_usage_by_subnet(&self, part: usize, sums: &mut BTreeMap<u32, Usage>) -> bool {
        let Some(slots) = self.state.slots.part(part) else { return false };
        for slot in slots.filter(|slot| slot.occupancy != SlotOccupancy::Free) {
            if let Some(count) = sums.entry(slot.subnet_id).or_default().counter(slot.occupancy) {
                *count += 1;
            }
        }
        true
    }
}
