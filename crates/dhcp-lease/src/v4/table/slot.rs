//! One address's slot: what is kept of it and how it looks to a client that asks.

use core::net::Ipv4Addr;

use super::deadlines::UNLINKED;
use crate::v4::lease::{INFINITE_LIFETIME_S, LeaseState};
use crate::v4::row::RowView;
use crate::v4::{Occupancy, Owner, SlotView};
use crate::{ClientId, HardwareAddress, Identity};

/// What few leases have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extra {
    pub(super) hostname: Box<str>,
    pub(super) user_context: Box<str>,
    pub(super) fqdn_fwd: bool,
    pub(super) fqdn_rev: bool,
}

impl Extra {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The slot of one address. Two cache lines: a packet's work on it misses the cache twice, not
/// three times.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Slot {
    pub(super) address: u32,
    /// 0: never touched.
    pub(super) version: u32,
    /// Links of the one list that the slot is in, see `deadlines`.
    pub(super) prev: u32,
    pub(super) next: u32,
    pub(super) subnet_id: u32,
    pub(super) pool_id: u32,
    pub(super) valid_lifetime_s: u32,
    pub(super) occupancy: Occupancy,
    pub(super) hardware: HardwareAddress,
    pub(super) client_id: Option<ClientId>,
    pub(super) cltt_s: u64,
    pub(super) hold_deadline_ns: u64,
    pub(super) row_epoch: u64,
    pub(super) extra: Option<Box<Extra>>,
}

const _: () = assert!(size_of::<Slot>() == 128, "a slot is two cache lines");

impl Slot {
    /// The slot of an address that nothing has happened to.
    pub(super) const fn fresh(address: u32) -> Self {
        Self {
            address,
            version: 0,
            prev: UNLINKED,
            next: UNLINKED,
            subnet_id: 0,
            pool_id: 0,
            valid_lifetime_s: 0,
            occupancy: Occupancy::Free,
            hardware: HardwareAddress::NONE,
            client_id: None,
            cltt_s: 0,
            hold_deadline_ns: 0,
            row_epoch: 0,
            extra: None,
        }
    }

    /// Called with every change that a fetch could see; 0 stays what it means.
    pub(super) const fn touch(&mut self) {
        self.version = match self.version.wrapping_add(1) {
            0 => 1,
            version => version,
        };
    }

    /// Wall-clock second at which lease or probation ends.
    pub(super) const fn expires_s(&self) -> u64 {
        if self.valid_lifetime_s == INFINITE_LIFETIME_S {
            u64::MAX
        } else {
            self.cltt_s + self.valid_lifetime_s as u64
        }
    }

    pub(super) fn client_id(&self) -> Option<&[u8]> {
        self.client_id.as_ref().map(ClientId::octets)
    }

    /// Whether a client is known: the one that has it or the last that had it.
    pub(super) const fn has_client(&self) -> bool {
        !self.hardware.is_empty() || self.client_id.is_some()
    }

    pub(super) fn is_owned_by(&self, identity: &Identity<'_>) -> bool {
        identity.owns(&self.hardware, self.client_id())
    }

    /// Whether exactly the identities of `identity` are kept.
    pub(super) fn has_identity(&self, identity: &Identity<'_>) -> bool {
        self.hardware == identity.hardware && self.client_id() == identity.client_id
    }

    /// What the slot is used for, once rows through `settled_epoch` are settled.
    pub(super) fn occupancy_at(&self, settled_epoch: u64) -> Occupancy {
        match self.occupancy {
            Occupancy::Releasing if self.row_epoch <= settled_epoch => Occupancy::Free,
            occupancy => occupancy,
        }
    }

    /// The slot as the client `identity` sees it.
    pub(super) fn view(&self, identity: &Identity<'_>, settled_epoch: u64) -> SlotView {
        let owner = if !self.has_client() {
            Owner::Nobody
        } else if self.is_owned_by(identity) {
            Owner::Asking
        } else {
            Owner::Other
        };
        let occupancy = self.occupancy_at(settled_epoch);
        let has_term = matches!(occupancy, Occupancy::Leased | Occupancy::Declined);
        let is_held = occupancy == Occupancy::Held;
        SlotView {
            address: Ipv4Addr::from(self.address),
            version: self.version,
            occupancy,
            owner,
            subnet_id: self.subnet_id,
            cltt_s: if has_term { self.cltt_s } else { 0 },
            valid_lifetime_s: if has_term { self.valid_lifetime_s } else { 0 },
            hold_deadline_ns: if is_held { self.hold_deadline_ns } else { 0 },
            row_epoch: self.row_epoch,
            detail: (),
        }
    }

    /// The slot's lease as a row in `state`.
    pub(super) fn row(&self, state: LeaseState) -> RowView<'_> {
        let extra = self.extra.as_deref();
        RowView {
            address: Ipv4Addr::from(self.address),
            hardware: &self.hardware,
            client_id: self.client_id(),
            valid_lifetime_s: self.valid_lifetime_s,
            cltt_s: self.cltt_s,
            subnet_id: self.subnet_id,
            fqdn_fwd: extra.is_some_and(|extra| extra.fqdn_fwd),
            fqdn_rev: extra.is_some_and(|extra| extra.fqdn_rev),
            hostname: extra.map_or("", |extra| &extra.hostname),
            state,
            user_context: extra.map_or("", |extra| &extra.user_context),
            pool_id: self.pool_id,
        }
    }

    /// Keeps `hostname`; allocates only when it is another than before.
    pub(super) fn set_hostname(&mut self, hostname: &str) {
        let known = self.extra.as_deref().map_or("", |extra| &extra.hostname);
        if known != hostname {
            let mut extra = self.extra.take().unwrap_or_default();
            extra.hostname = hostname.into();
            self.set_extra(*extra);
        }
    }

    /// Keeps `extra`, when there is anything in it.
    pub(super) fn set_extra(&mut self, extra: Extra) {
        self.extra = (!extra.is_empty()).then(|| Box::new(extra));
    }
}
