//! Addresses that overlap others: prefixes of several lengths, and addresses inside of prefixes.
//!
//! No two of them are in use at a time. Where none can overlap, nothing is compared: the family says
//! which addresses are *guarded* ([`Overlaps::is_guarded`]), and the uses of those are entered in one
//! place. A change of a guarded slot is entered under the lock of its stripe; the lock of the entries
//! is taken last, and nothing waits under it. Free bits of what overlaps a use stay clear.

use base::Now;

use super::address_map::AddressMap;
use super::leased::Leased;
use super::slot::Slot;
use super::stripe::Locked;
use super::{Configuration, LeaseTable, STRIPES};
use crate::contract::{Occupancy, SlotView};
use crate::lease::LeaseState;

/// End of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseEnd {
    /// A lease or a probation: wall-clock second.
    At(u64),
    /// A hold: monotonic nanoseconds.
    Held(u64),
    /// Not known yet.
    Open,
}

impl UseEnd {
    /// Returns whether the use has ended.
    #[must_use]
    pub const fn is_over(self, now: Now) -> bool {
        match self {
            Self::At(wall_s) => wall_s <= now.wall_s(),
            Self::Held(mono_ns) => mono_ns <= now.mono_ns,
            Self::Open => false,
        }
    }
}

/// Receiver of addresses that may be given again.
pub(crate) type Freed<'f, F> = &'f mut dyn FnMut(<F as crate::family::Family>::Address);

/// Comparison of addresses with those that they overlap. By default none overlaps another.
pub trait Overlaps<F: Leased>: Send + Sync {
    /// Returns whether the uses of `address`, which is at `place`, are entered and compared. Once
    /// true, it stays so.
    fn is_guarded(&self, _place: u32, _address: F::Address) -> bool {
        false
    }

    /// Returns whether what overlaps the guarded `address` keeps it from being given or renewed. A
    /// lease that runs is renewed unless something inside of it is in use too.
    fn is_overlapped(&self, _now: Now, _address: F::Address) -> bool {
        false
    }

    /// Enters a use of the guarded `address`, unless [`Overlaps::is_overlapped`].
    fn admit(&self, _map: &AddressMap, _now: Now, _address: F::Address) -> bool {
        true
    }

    /// Enters a lease of the guarded `address` that an operator wants to be there, whoever is offered
    /// what overlaps it; false when that is leased. The time is the latest that a client was served.
    fn admit_put(&self, _map: &AddressMap, _address: F::Address) -> bool {
        true
    }

    /// Enters the end of the use of the guarded `address`; `None`: it is not in use.
    fn note(&self, _: &AddressMap, _address: F::Address, _end: Option<UseEnd>, _: Freed<'_, F>) {}

    /// Sets the free bit of the guarded `address` unless something that overlaps it is in use or
    /// reserved. True when it was set.
    fn set_unless_overlapped(&self, _: &AddressMap, _bit: u32, _address: F::Address) -> bool {
        true
    }

    /// Returns whether [`Overlaps::guard`] has to be called before `address` is used.
    fn needs_guard(&self, _address: F::Address) -> bool {
        false
    }

    /// Guards what overlaps `addresses`, which need not be in a pool. Returns the ranges of places
    /// whose uses are to be entered. Only under the configuration lock.
    fn guard(&self, _addresses: &[F::Address]) -> Vec<(u32, u32)> {
        Vec::new()
    }

    /// Guards pools that overlap each other or what is in use. Called, under the configuration lock,
    /// until it returns no ranges of places whose uses are to be entered.
    fn guard_pools(&self) -> Vec<(u32, u32)> {
        Vec::new()
    }

    /// Clears the free bits in `opened` ranges of places that overlap a use.
    fn clear_overlapped(&self, _map: &AddressMap, _opened: &[(u32, u32)]) {}

    /// Makes `addresses` what is reserved: nobody is given what overlaps them without asking for it.
    fn replace_reserved(&self, _map: &AddressMap, _addresses: &[F::Address], _freed: Freed<'_, F>) {
    }

    /// Reserves one more address, likewise.
    fn add_reserved(&self, _map: &AddressMap, _address: F::Address) {}
}

impl<F: Leased> LeaseTable<F> {
    /// Returns whether `address`, which is at `place`, may not be given because of what overlaps
    /// it.
    pub(super) fn is_overlapped(&self, now: Now, place: u32, address: F::Address) -> bool {
        self.places.is_guarded(place, address) && self.places.is_overlapped(now, address)
    }

    /// The view of a slot, with what overlaps it looked at.
    pub(super) fn compared(&self, now: Now, place: u32, mut view: SlotView<F>) -> SlotView<F> {
        view.is_overlapped = self.is_overlapped(now, place, view.address);
        view
    }

    /// Enters a use of `address`; false when what overlaps it forbids that.
    pub(super) fn admit(&self, now: Now, place: u32, address: F::Address) -> bool {
        !self.places.is_guarded(place, address) || self.places.admit(&self.map, now, address)
    }

    /// Has `address`, which may be in no pool, and what overlaps it compared from now on.
    pub(super) fn guard(&self, address: F::Address) {
        if self.places.needs_guard(address) {
            let _configuration = self.lock_configuration();
            self.enter_uses(&self.places.guard(&[address]));
        }
    }

    /// Has the pools and the reserved addresses of a new configuration compared.
    pub(super) fn guard_configured(
        &self,
        configuration: &Configuration<F>,
        reserved: &[F::Address],
    ) {
        loop {
            let places = self.places.guard_pools();
            if places.is_empty() {
                break;
            }
            self.enter_uses(&places);
        }
        self.enter_uses(&self.places.guard(reserved));
        self.places.replace_reserved(&self.map, reserved, &mut |address| {
            if let Some((queue, position)) = configuration.tallies.queue_of(address) {
                queue.push(position, false);
            }
        });
    }

    /// Enters the uses of the slots at `places`.
    fn enter_uses(&self, places: &[(u32, u32)]) {
        for &(first, last) in places {
            let end = u64::from(last);
            for start in u64::from(first)..=end.min(u64::from(first) + STRIPES as u64 - 1) {
                let mut stripe = self.lock_of(start as u32);
                for place in (start..=end).step_by(STRIPES) {
                    if let Some(id) = stripe.find(place as u32) {
                        stripe.note_use(id);
                    }
                }
            }
        }
    }
}

impl<F: Leased> Locked<'_, F> {
    /// Enters the use of slot `id` as it is now, when it is guarded.
    pub(super) fn note_use(&mut self, id: u32) {
        let slot = self.slot(id);
        let (place, address) = (slot.place, slot.address());
        if self.table.places.is_guarded(place, address) {
            self.enter(address, if slot.version == 0 { None } else { end_of(slot) });
        }
    }

    /// Takes back the entry of a use that did not come about.
    pub(super) fn note_unused(&mut self, place: u32, address: F::Address) {
        match self.find(place) {
            Some(id) => self.note_use(id),
            None if self.table.places.is_guarded(place, address) => self.enter(address, None),
            None => {}
        }
    }

    fn enter(&self, address: F::Address, end: Option<UseEnd>) {
        let table = self.table;
        table.places.note(&table.map, address, end, &mut |freed| {
            if let Some((queue, position)) = self.state.tallies.queue_of(freed) {
                queue.push(position, false);
            }
        });
    }
}

/// End of the use of a slot; `None` when nobody was given it.
fn end_of<F: Leased>(slot: &Slot<F>) -> Option<UseEnd> {
    match slot.occupancy {
        Occupancy::Free => None,
        Occupancy::Held => Some(UseEnd::Held(slot.hold_deadline_ns)),
        // Clients choose such addresses themselves (RFC 9686).
        Occupancy::Leased if slot.marks.state() == LeaseState::Registered => None,
        Occupancy::Leased | Occupancy::Declined => Some(UseEnd::At(slot.expires_s())),
        Occupancy::Releasing => Some(UseEnd::Open),
    }
}
