//! A stripe: its lock, its slots with their lists, and what may be read without the lock.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use super::deadlines::Deadlines;
use super::slot::Slot;
use super::slots::Slots;
use super::{LeaseTable, Usage};
use crate::v4::{Occupancy, SlotView};
use crate::{ClientId, HardwareAddress, Identity};

/// What comes up next in a stripe, for those who look for a stripe worth locking.
pub(super) struct Hints {
    /// Deadline of the oldest hold; `u64::MAX` without one.
    pub(super) first_hold_ns: AtomicU64,
    /// Epoch of the oldest release that is not finished; `u64::MAX` without one.
    pub(super) first_release_epoch: AtomicU64,
    /// Second in which the wheel has to be looked at next.
    pub(super) wheel_due_s: AtomicU64,
}

/// What the lock protects.
pub(super) struct State {
    pub(super) slots: Slots,
    pub(super) deadlines: Deadlines,
    usage: Usage,
}

/// One of the table's parts, alone in its cache lines.
#[repr(align(128))]
pub(super) struct Stripe {
    pub(super) hints: Hints,
    state: Mutex<State>,
}

impl Stripe {
    pub(super) fn new() -> Self {
        Self {
            hints: Hints {
                first_hold_ns: AtomicU64::new(u64::MAX),
                first_release_epoch: AtomicU64::new(u64::MAX),
                wheel_due_s: AtomicU64::new(1),
            },
            state: Mutex::new(State {
                slots: Slots::default(),
                deadlines: Deadlines::new(),
                usage: Usage::default(),
            }),
        }
    }

    pub(super) fn lock<'t>(&'t self, table: &'t LeaseTable) -> Locked<'t> {
        let state = self.state.lock().expect("no holder of a stripe panics");
        Locked { table, hints: &self.hints, state }
    }
}

/// A stripe under its lock. Every change of a slot goes through here, which keeps lists, free
/// bits, indexes and counts in step with it.
pub(super) struct Locked<'t> {
    pub(super) table: &'t LeaseTable,
    hints: &'t Hints,
    pub(super) state: MutexGuard<'t, State>,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let (hints, deadlines) = (self.hints, &self.state.deadlines);
        hints.first_hold_ns.store(deadlines.first_hold_ns(), Ordering::Relaxed);
        hints.first_release_epoch.store(deadlines.first_release_epoch(), Ordering::Relaxed);
        hints.wheel_due_s.store(deadlines.wheel_due_s(), Ordering::Relaxed);
    }
}

impl Locked<'_> {
    pub(super) fn reserve(&mut self, rows: usize, prefill: bool) {
        self.state.slots.reserve(rows, prefill);
    }

    /// Id of the slot of `address`, if it has been made.
    pub(super) fn find(&self, address: u32) -> Option<u32> {
        self.state.slots.find(address, self.table.map.row(address))
    }

    /// Id of the slot of `address`, made if need be.
    pub(super) fn make(&mut self, address: u32) -> u32 {
        self.state.slots.make(address, self.table.map.row(address))
    }

    pub(super) fn slot(&self, id: u32) -> &Slot {
        self.state.slots.get(id)
    }

    pub(super) fn slot_mut(&mut self, id: u32) -> &mut Slot {
        self.state.slots.get_mut(id)
    }

    /// The slot of `address` as `identity` sees it; `None` when no pool ever had the address and
    /// there is no lease.
    pub(super) fn view(
        &self,
        address: u32,
        identity: &Identity<'_>,
        settled_epoch: u64,
    ) -> Option<SlotView> {
        match self.find(address).map(|id| self.slot(id)) {
            Some(slot) if slot.version != 0 => Some(slot.view(identity, settled_epoch)),
            _ if self.table.map.is_pooled(address) => {
                Some(Slot::fresh(address).view(identity, settled_epoch))
            }
            _ => None,
        }
    }

    /// Puts the slot to another use: `change` sets what belongs to that. Lists, free bit and
    /// counts follow.
    pub(super) fn transition(
        &mut self,
        id: u32,
        occupancy: Occupancy,
        change: impl FnOnce(&mut Slot),
    ) {
        let State { slots, deadlines, usage } = &mut *self.state;
        deadlines.unlink(slots, id);
        let slot = slots.get_mut(id);
        let (before, address) = (slot.occupancy, slot.address);
        if let Some(count) = usage.of(before) {
            *count -= 1;
        }
        if let Some(count) = usage.of(occupancy) {
            *count += 1;
        }
        slot.occupancy = occupancy;
        slot.touch();
        change(slot);
        deadlines.link(slots, id);
        match (before, occupancy) {
            (_, Occupancy::Free) => self.table.map.set(address),
            (Occupancy::Free, _) => {
                self.table.map.clear(address);
            }
            _ => {}
        }
    }

    /// Makes the slot free. Its last client stays known.
    pub(super) fn free(&mut self, id: u32) {
        self.transition(id, Occupancy::Free, |slot| slot.extra = None);
    }

    /// Makes `identity` the slot's client.
    pub(super) fn take(&mut self, id: u32, identity: &Identity<'_>) {
        if !self.slot(id).has_identity(identity) {
            self.forget_client(id);
            self.remember_client(id, identity.hardware, identity.client_id.map(ClientId::new));
        }
    }

    /// Makes the slot nobody's.
    pub(super) fn forget_client(&mut self, id: u32) {
        let table = self.table;
        let slot = self.slot_mut(id);
        if !slot.hardware.is_empty() {
            table.by_hardware.remove(&slot.hardware, slot.address);
        }
        if let Some(client_id) = &slot.client_id {
            table.by_client_id.remove(client_id.octets(), slot.address);
        }
        slot.hardware = HardwareAddress::NONE;
        slot.client_id = None;
        slot.extra = None;
    }

    /// Gives a slot without a client one.
    pub(super) fn remember_client(
        &mut self,
        id: u32,
        hardware: HardwareAddress,
        client_id: Option<ClientId>,
    ) {
        let table = self.table;
        let slot = self.slot_mut(id);
        if !hardware.is_empty() {
            table.by_hardware.insert(&hardware, slot.address);
        }
        if let Some(client_id) = &client_id {
            table.by_client_id.insert(client_id.octets(), slot.address);
        }
        slot.hardware = hardware;
        slot.client_id = client_id;
    }

    pub(super) fn set_bit_if_free(&self, address: u32) {
        if self.occupancy(address) == Occupancy::Free {
            self.table.map.set(address);
        }
    }

    pub(super) fn clear_bit_if_taken(&self, address: u32) {
        if self.occupancy(address) != Occupancy::Free {
            self.table.map.clear(address);
        }
    }

    fn occupancy(&self, address: u32) -> Occupancy {
        self.find(address).map_or(Occupancy::Free, |id| self.slot(id).occupancy)
    }

    pub(super) fn sparse_addresses(&self) -> impl Iterator<Item = u32> {
        self.state.slots.sparse().iter().map(|slot| slot.address)
    }

    pub(super) fn add_usage(&self, sum: &mut Usage) {
        sum.held += self.state.usage.held;
        sum.leased += self.state.usage.leased;
        sum.declined += self.state.usage.declined;
        sum.releasing += self.state.usage.releasing;
    }

    /// Adds the slots of one part, see [`Slots::part`]; false when there is none.
    pub(super) fn add_usage_by_subnet(&self, part: usize, sums: &mut BTreeMap<u32, Usage>) -> bool {
        let Some(slots) = self.state.slots.part(part) else { return false };
        for slot in slots.filter(|slot| slot.occupancy != Occupancy::Free) {
            if let Some(count) = sums.entry(slot.subnet_id).or_default().of(slot.occupancy) {
                *count += 1;
            }
        }
        true
    }
}

impl Usage {
    const fn of(&mut self, occupancy: Occupancy) -> Option<&mut u64> {
        match occupancy {
            Occupancy::Free => None,
            Occupancy::Held => Some(&mut self.held),
            Occupancy::Leased => Some(&mut self.leased),
            Occupancy::Declined => Some(&mut self.declined),
            Occupancy::Releasing => Some(&mut self.releasing),
        }
    }
}
