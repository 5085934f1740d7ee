//! Uses of addresses and prefixes, which the lease table enters so that overlapping uses are found.

use base::Now;

use super::address_map::STRIPES;
use super::overlap::{Overlaps, UseEnd};
use super::slot::LeaseSlot;
use super::stripe::Locked;
use super::table_family::TableFamily;
use super::{Configuration, LeaseTable};
use crate::contract::{SlotOccupancy, SlotView};
use crate::lease::LeaseState;

impl<F: TableFamily> LeaseTable<F> {
    /// Returns true if an overlapping use keeps `address`, which has `slot_number`, from being
    /// leased.
    pub(super) fn is_overlapped(&self, now: Now, slot_number: u32, address: F::Address) -> bool {
        self.slot_numbers.is_guarded(slot_number, address)
            && self.slot_numbers.is_overlapped(now, address)
    }

    /// Returns `view` with its mark `is_overlapped` set: true if an overlapping address or prefix
    /// is in use.
    pub(super) fn compared(
        &self,
        now: Now,
        slot_number: u32,
        mut view: SlotView<F>,
    ) -> SlotView<F> {
        view.is_overlapped = self.is_overlapped(now, slot_number, view.address);
        view
    }

    /// Enters a use of `address`; returns false when an overlapping use forbids that.
    pub(super) fn admit(&self, now: Now, slot_number: u32, address: F::Address) -> bool {
        !self.slot_numbers.is_guarded(slot_number, address)
            || self.slot_numbers.admit(&self.map, now, address)
    }

    /// Starts to compare `address`, which may be in no pool, with the addresses that overlap it.
    pub(super) fn guard(&self, address: F::Address) {
        if self.slot_numbers.needs_guard(address) {
            let _configuration = self.lock_configuration();
            self.enter_uses(&self.slot_numbers.guard(&[address]));
        }
    }

    /// Starts to compare the pools and the reserved addresses of a new configuration.
    pub(super) fn guard_configured(
        &self,
        configuration: &Configuration<F>,
        reserved: &[F::Address],
    ) {
        loop {
            let slot_numbers = self.slot_numbers.guard_pools();
            if slot_numbers.is_empty() {
                break;
            }
            self.enter_uses(&slot_numbers);
        }
        self.enter_uses(&self.slot_numbers.guard(reserved));
        self.slot_numbers.replace_reserved(&self.map, reserved, &mut |address| {
            if let Some((queue, position)) = configuration.tallies.queue_of(address) {
                queue.push(position, false);
            }
        });
    }

    /// Enters the uses of the slots in the ranges `slot_numbers`, so that overlapping uses are
    /// found.
    fn enter_uses(&self, slot_numbers: &[(u32, u32)]) {
        for &(first, last) in slot_numbers {
            let end = u64::from(last);
            for start in u64::from(first)..=end.min(u64::from(first) + STRIPES as u64 - 1) {
                let mut stripe = self.lock_of(start as u32);
                for slot_number in (start..=end).step_by(STRIPES) {
                    if let Some(id) = stripe.find(slot_number as u32) {
                        stripe.record_use(id);
                    }
                }
            }
        }
    }
}

impl<F: TableFamily> Locked<'_, F> {
    /// Enters the use of slot `id` as it is now, when its address is guarded.
    pub(super) fn record_use(&mut self, id: u32) {
        let slot = self.slot(id);
        let (slot_number, address) = (slot.number, slot.address());
        if self.table.slot_numbers.is_guarded(slot_number, address) {
            self.record_end(address, if slot.version == 0 { None } else { end_of(slot) });
        }
    }

    /// Removes the entry of a use of `address` that did not happen.
    pub(super) fn remove_use(&mut self, slot_number: u32, address: F::Address) {
        match self.find(slot_number) {
            Some(id) => self.record_use(id),
            None if self.table.slot_numbers.is_guarded(slot_number, address) => {
                self.record_end(address, None)
            }
            None => {}
        }
    }

    fn record_end(&self, address: F::Address, end: Option<UseEnd>) {
        let table = self.table;
        table.slot_numbers.record_end(&table.map, address, end, &mut |freed| {
            if let Some((queue, position)) = self.state.tallies.queue_of(freed) {
                queue.push(position, false);
            }
        });
    }
}

/// Returns the end of the use of a slot's address; `None` when the server leased it to no client.
fn end_of<F: TableFamily>(slot: &LeaseSlot<F>) -> Option<UseEnd> {
    match slot.occupancy {
        SlotOccupancy::Free => None,
        SlotOccupancy::Held => Some(UseEnd::Hold(slot.hold_deadline_ns)),
        // Clients choose such addresses themselves (RFC 9686).
        SlotOccupancy::Leased if slot.marks.state() == LeaseState::Registered => None,
        SlotOccupancy::Leased | SlotOccupancy::Declined => Some(UseEnd::At(slot.expires_s())),
        SlotOccupancy::Releasing => Some(UseEnd::Open),
    }
}
