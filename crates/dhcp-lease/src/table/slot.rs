//! Slot of one address or prefix: its fields, and its view for the requesting client.

use base::HostName;

use super::deadlines::UNLINKED;
use super::expiry::Expiry;
use super::table_family::{FamilySlotFields, TableFamily};
use crate::HardwareAddress;
use crate::contract::{SlotOccupancy, SlotOwner, SlotView, TextView, text_hash};
use crate::lease::{LeaseState, LeaseTerms, RowView, expires_s};

/// Fields of a slot that few leases have, stored outside of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RareLeaseFields {
    /// Host name of the lease, possibly empty.
    pub hostname: HostName,
    /// JSON text of the lease's user context, possibly empty.
    pub user_context: Box<str>,
    /// True if the server keeps the forward DNS entry of the lease.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry of the lease.
    pub fqdn_rev: bool,
    /// Hardware address of the client that has no room in the slot (DHCPv6).
    pub hardware: HardwareAddress,
}

impl RareLeaseFields {
    /// Returns the memory that the rare fields take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.hostname.len() + self.user_context.len()
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Fields of a lease that few leases have, borrowed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RareLeaseFieldsRef<'a> {
    pub(crate) hostname: &'a str,
    pub(crate) user_context: &'a str,
    pub(crate) fqdn_fwd: bool,
    pub(crate) fqdn_rev: bool,
    pub(crate) hardware: HardwareAddress,
}

/// State of a slot's lease, and number of the pool counters that count the lease, in three bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks([u8; 3]);

impl Marks {
    /// Largest number of pools whose counters can be distinguished.
    pub(super) const TALLIES: u32 = 1 << 21;

    /// Returns the state of the slot's lease or, in a slot that is free, held or being released, of
    /// the past lease that it remembers; [`LeaseState::Assigned`] when it remembers none.
    pub(super) fn state(self) -> LeaseState {
        LeaseState::from_number(self.0[0] >> 5).expect("only states are put in")
    }

    pub(super) const fn set_state(&mut self, state: LeaseState) {
        self.0[0] = (self.0[0] & 0x1f) | ((state as u8) << 5);
    }

    /// Returns the number of the counters that count the slot's lease, as in `tally`.
    pub(super) const fn tally(self) -> u32 {
        u32::from_be_bytes([0, self.0[0] & 0x1f, self.0[1], self.0[2]])
    }

    pub(super) const fn set_tally(&mut self, number: u32) {
        debug_assert!(number < Self::TALLIES, "fewer pools than numbers");
        let [_, first, second, third] = number.to_be_bytes();
        self.0 = [(self.0[0] & 0xe0) | first, second, third];
    }
}

/// Slot of one address or prefix, in two cache lines, so that the work on a message misses the
/// cache twice, not three times.
#[derive(Debug)]
#[repr(align(64))]
pub struct LeaseSlot<F: TableFamily> {
    /// Number of the slot in the lease table.
    pub number: u32,
    /// Version of the slot for compare-and-set; 0: never touched.
    pub version: u32,
    /// Link to the previous slot in the list by deadline that the slot is in, see `deadlines`.
    pub prev: u32,
    /// Link to the next slot in the list by deadline that the slot is in, see `deadlines`.
    pub next: u32,
    /// `id` of the subnet under which the slot was last leased or held.
    pub subnet_id: u32,
    /// `pool-id` of the pool under which the slot was last leased.
    pub pool_id: u32,
    /// Valid lifetime of the lease, in seconds from `cltt_s`.
    pub valid_lifetime_s: u32,
    /// Use of the slot: free, held, leased, declined or releasing.
    pub occupancy: SlotOccupancy,
    /// State of the lease as in Kea, and the number of the counters of the lease.
    pub marks: Marks,
    /// Fields of the slot that only its family has, with the client.
    pub family_fields: F::SlotFields,
    /// Client's last transaction time (cltt), wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// Monotonic time at which a hold of the offered slot ends, in nanoseconds.
    pub hold_deadline_ns: u64,
    /// Epoch of the slot's last lease row.
    pub row_epoch: u64,
    /// Fields of the lease that few leases have; `None` when all are empty.
    pub extra: Option<Box<RareLeaseFields>>,
}

impl<F: TableFamily> LeaseSlot<F> {
    /// Returns a slot that belongs to no address yet.
    pub(super) fn unused() -> Self {
        Self {
            number: 0,
            version: 0,
            prev: UNLINKED,
            next: UNLINKED,
            subnet_id: 0,
            pool_id: 0,
            valid_lifetime_s: 0,
            occupancy: SlotOccupancy::Free,
            marks: Marks::default(),
            family_fields: F::SlotFields::default(),
            cltt_s: 0,
            hold_deadline_ns: 0,
            row_epoch: 0,
            extra: None,
        }
    }

    /// Returns the slot of the untouched address `address`.
    pub(super) fn fresh(slot_number: u32, address: F::Address) -> Self {
        let mut slot = Self::unused();
        slot.settle_at(slot_number, address);
        slot
    }

    /// Makes the slot that of `address` with `slot_number`; repeated calls change nothing.
    pub(super) fn settle_at(&mut self, slot_number: u32, address: F::Address) {
        self.number = slot_number;
        self.family_fields.settle_at(address);
    }

    /// Returns the address of the slot.
    pub(crate) fn address(&self) -> F::Address {
        self.family_fields.address(self.number)
    }

    /// Changes the version of the slot, with every change that a fetch could see; never to 0, which
    /// means untouched.
    pub(super) const fn touch(&mut self) {
        self.version = match self.version.wrapping_add(1) {
            0 => 1,
            version => version,
        };
    }

    /// Returns the wall-clock second at which the slot's lease or probation ends.
    pub(super) const fn expires_s(&self) -> u64 {
        expires_s(self.cltt_s, self.valid_lifetime_s)
    }

    /// Returns the wall-clock second in which the slot comes up to be swept, when reclaimed leases
    /// are remembered as `expiry` configures; `u64::MAX` for never.
    pub(super) fn due_s(&self, expiry: &Expiry) -> u64 {
        match (self.occupancy, self.marks.state()) {
            (SlotOccupancy::Leased | SlotOccupancy::Declined, _) => self.expires_s(),
            (SlotOccupancy::Free, LeaseState::ExpiredReclaimed) => {
                self.expires_s().saturating_add(u64::from(expiry.hold_reclaimed_s))
            }
            (SlotOccupancy::Free, LeaseState::Released) => {
                self.cltt_s.saturating_add(u64::from(expiry.reclaim_wait_s))
            }
            _ => u64::MAX,
        }
    }

    /// Returns the state of the slot's lease that operators see; `None` when there is no lease.
    pub(crate) fn shown_state(&self) -> Option<LeaseState> {
        match (self.occupancy, self.marks.state()) {
            (SlotOccupancy::Leased | SlotOccupancy::Declined, state) => Some(state),
            (_, state) => state.is_past().then_some(state),
        }
    }

    /// Returns the use of the slot, given that lease rows of epochs up to `settled_epoch` are
    /// settled.
    pub(super) fn occupancy_at(&self, settled_epoch: u64) -> SlotOccupancy {
        match self.occupancy {
            SlotOccupancy::Releasing if self.row_epoch <= settled_epoch => SlotOccupancy::Free,
            occupancy => occupancy,
        }
    }

    /// Returns true if the slot's client is the client `identity`.
    pub(super) fn is_owned_by(&self, identity: &F::Identity<'_>) -> bool {
        self.family_fields.is_owned_by(self.subnet_id, identity)
    }

    /// Returns the view of the slot for the client `identity`.
    pub(super) fn view(&self, identity: &F::Identity<'_>, settled_epoch: u64) -> SlotView<F> {
        let owner = if !self.family_fields.has_client() {
            SlotOwner::NoClient
        } else if self.is_owned_by(identity) {
            SlotOwner::Requester
        } else {
            SlotOwner::Other
        };
        let occupancy = self.occupancy_at(settled_epoch);
        let has_term = matches!(occupancy, SlotOccupancy::Leased | SlotOccupancy::Declined);
        let is_held = occupancy == SlotOccupancy::Held;
        let is_leased = occupancy == SlotOccupancy::Leased;
        SlotView {
            address: self.address(),
            version: self.version,
            occupancy,
            owner,
            state: self.marks.state(),
            subnet_id: self.subnet_id,
            cltt_s: if has_term { self.cltt_s } else { 0 },
            valid_lifetime_s: if has_term { self.valid_lifetime_s } else { 0 },
            hold_deadline_ns: if is_held { self.hold_deadline_ns } else { 0 },
            row_epoch: self.row_epoch,
            text: if is_leased { self.text_view() } else { TextView::default() },
            is_overlapped: false,
            detail: self.family_fields.detail(identity, is_leased),
        }
    }

    /// Returns the fields of the slot that few leases have, as the columns of a row.
    pub(crate) fn rare(&self) -> RareLeaseFieldsRef<'_> {
        self.extra.as_deref().map_or_else(RareLeaseFieldsRef::default, |extra| RareLeaseFieldsRef {
            hostname: &extra.hostname,
            user_context: &extra.user_context,
            fqdn_fwd: extra.fqdn_fwd,
            fqdn_rev: extra.fqdn_rev,
            hardware: extra.hardware,
        })
    }

    /// Returns the lease in the slot as a row in `state`.
    #[inline]
    pub(crate) fn row(&self, state: LeaseState) -> RowView<'_, F> {
        let rare = self.rare();
        RowView {
            address: self.address(),
            client: self.family_fields.client(),
            valid_lifetime_s: self.valid_lifetime_s,
            cltt_s: self.cltt_s,
            subnet_id: self.subnet_id,
            pool_id: self.pool_id,
            fqdn_fwd: rare.fqdn_fwd,
            fqdn_rev: rare.fqdn_rev,
            hostname: rare.hostname,
            state,
            user_context: rare.user_context,
            extra: self.family_fields.extra(rare.hardware),
        }
    }

    /// Stores the names and the user context of a lease in the slot; allocates only when they
    /// differ from the present ones.
    pub(super) fn set_text(&mut self, terms: &LeaseTerms<'_, F>) {
        let is_empty = terms.hostname.is_empty()
            && terms.user_context.is_empty()
            && !terms.fqdn_fwd
            && !terms.fqdn_rev;
        if self.extra.is_none() && is_empty {
            return;
        }
        let stored = self.rare();
        let has_hostname = stored.hostname == terms.hostname;
        let has_context =
            terms.user_context.is_empty() || stored.user_context == terms.user_context;
        let has_flags = (stored.fqdn_fwd, stored.fqdn_rev) == (terms.fqdn_fwd, terms.fqdn_rev);
        if has_hostname && has_context && has_flags {
            return;
        }
        self.change_extra(|extra| {
            if !has_hostname {
                extra.hostname = terms.hostname.into();
            }
            if !has_context {
                extra.user_context = terms.user_context.into();
            }
            extra.fqdn_fwd = terms.fqdn_fwd;
            extra.fqdn_rev = terms.fqdn_rev;
        });
    }

    fn text_view(&self) -> TextView {
        self.extra.as_deref().map_or_else(TextView::default, |extra| TextView {
            hostname: text_hash(&extra.hostname),
            user_context: text_hash(&extra.user_context),
            fqdn_fwd: extra.fqdn_fwd,
            fqdn_rev: extra.fqdn_rev,
        })
    }

    /// Stores the client's hardware address outside the slot; allocates only when it differs from
    /// the present address.
    pub(crate) fn set_boxed_hardware(&mut self, hardware: HardwareAddress) {
        let stored = self.extra.as_deref().map_or(HardwareAddress::NONE, |extra| extra.hardware);
        if stored != hardware {
            self.change_extra(|extra| extra.hardware = hardware);
        }
    }

    /// Removes the names of the slot's lease that was reclaimed: the server has removed its DNS
    /// entries.
    pub(super) fn forget_names(&mut self) {
        if self.extra.is_some() {
            self.change_extra(|extra| {
                extra.hostname = HostName::default();
                (extra.fqdn_fwd, extra.fqdn_rev) = (false, false);
            });
        }
    }

    fn change_extra(&mut self, change: impl FnOnce(&mut RareLeaseFields)) {
        let mut extra = self.extra.take().unwrap_or_default();
        change(&mut extra);
        self.extra = (!extra.is_empty()).then_some(extra);
    }

    /// Stores the rare fields `extra` outside the slot unless they are all empty.
    pub(super) fn set_rare(&mut self, extra: RareLeaseFields) {
        self.extra = (!extra.is_empty()).then(|| Box::new(extra));
    }
}
