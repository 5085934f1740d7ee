//! Lease as stored: the columns of Kea's `lease4` and `lease6` (Kea reference §3.4, §3.5), in a
//! form for each use: a whole lease, the row that a store writes, the terms that a transaction
//! grants.

use base::HostName;

use crate::contract::SlotOccupancy;
use crate::family::Family;

/// Lifetime of a lease that never ends, in seconds (RFC 2131 §3.3, RFC 9915 §7.7).
pub const INFINITE_LIFETIME_S: u32 = u32::MAX;

/// State of a lease as Kea numbers and stores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LeaseState {
    /// Lease that was given to a client, possibly expired since (Kea's state `default`).
    #[default]
    Assigned = 0,
    /// Lease of an address that a client found in use (DHCPDECLINE); no client gets the address
    /// until the probation ends.
    Declined = 1,
    /// Lease that expired and was reclaimed.
    ExpiredReclaimed = 2,
    /// Lease that the client released and that is remembered for it.
    Released = 3,
    /// Lease of an address that the client chose itself and registered with the server (RFC 9686).
    Registered = 4,
}

impl LeaseState {
    /// Returns true if a lease in this state has ended and is only remembered.
    #[must_use]
    pub const fn is_past(self) -> bool {
        matches!(self, Self::ExpiredReclaimed | Self::Released)
    }

    /// Returns the lease state with Kea's number `value`.
    #[must_use]
    pub const fn from_number(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::Assigned),
            1 => Some(Self::Declined),
            2 => Some(Self::ExpiredReclaimed),
            3 => Some(Self::Released),
            4 => Some(Self::Registered),
            _ => None,
        }
    }
}

/// Returns the wall-clock second at which a lease that was given for `valid_lifetime_s` seconds at
/// `cltt_s` expires; `u64::MAX` for an infinite lease.
pub(crate) const fn expires_s(cltt_s: u64, valid_lifetime_s: u32) -> u64 {
    if valid_lifetime_s == INFINITE_LIFETIME_S {
        u64::MAX
    } else {
        cltt_s.saturating_add(valid_lifetime_s as u64)
    }
}

/// Lease with all fields that a lease file keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease<F: Family> {
    /// Leased address (or delegated prefix).
    pub address: F::Address,
    /// Identifiers of the client; empty after a decline.
    pub client: F::LeaseClient,
    /// Valid lifetime of the lease, in seconds from `cltt_s`; with [`INFINITE_LIFETIME_S`] the
    /// lease never expires; 0 means that the lease is deleted.
    pub valid_lifetime_s: u32,
    /// Client's last transaction time (cltt), wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// `id` of the subnet in the configuration that the lease belongs to.
    pub subnet_id: u32,
    /// `pool-id` of the lease's pool in the configuration; 0 when it has none.
    pub pool_id: u32,
    /// True if the server keeps the forward DNS entry of the lease.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry of the lease.
    pub fqdn_rev: bool,
    /// Host name of the lease, possibly empty, as stored (lower case).
    pub hostname: HostName,
    /// Kea's state of the lease.
    pub state: LeaseState,
    /// JSON text of the lease's user context, possibly empty.
    pub user_context: Box<str>,
    /// Fields that only leases of this family have.
    pub extra: F::LeaseExtra,
}

impl<F: Family> Lease<F> {
    /// Returns the wall-clock second at which the lease expires; `u64::MAX` for an infinite lease.
    #[must_use]
    pub const fn expires_s(&self) -> u64 {
        expires_s(self.cltt_s, self.valid_lifetime_s)
    }

    /// Returns true if the lease, read from a row, stands for the deletion of its address's lease.
    #[must_use]
    pub const fn is_deleted(&self) -> bool {
        self.valid_lifetime_s == 0
    }

    /// Returns the kind of the leased resource: address or prefix.
    #[must_use]
    pub fn kind(&self) -> F::Kind {
        F::kind(self.address)
    }

    /// Returns all fields of the lease as a row.
    #[must_use]
    pub fn row(&self) -> RowView<'_, F> {
        RowView {
            address: self.address,
            client: &self.client,
            valid_lifetime_s: self.valid_lifetime_s,
            cltt_s: self.cltt_s,
            subnet_id: self.subnet_id,
            pool_id: self.pool_id,
            fqdn_fwd: self.fqdn_fwd,
            fqdn_rev: self.fqdn_rev,
            hostname: &self.hostname,
            state: self.state,
            user_context: &self.user_context,
            extra: self.extra,
        }
    }

    /// Returns the use of the slot that contains the lease.
    pub(crate) const fn occupancy(&self) -> SlotOccupancy {
        match self.state {
            _ if self.valid_lifetime_s == 0 => SlotOccupancy::Free,
            LeaseState::Assigned | LeaseState::Registered => SlotOccupancy::Leased,
            LeaseState::Declined => SlotOccupancy::Declined,
            LeaseState::ExpiredReclaimed | LeaseState::Released => SlotOccupancy::Free,
        }
    }
}

/// Columns of one changed lease, borrowed from its slot: the row that a store writes. In the row of
/// a deleted lease `valid_lifetime_s` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowView<'a, F: Family> {
    /// Leased address (or delegated prefix).
    pub address: F::Address,
    /// Identifiers of the client; empty after a decline.
    pub client: &'a F::LeaseClient,
    /// Valid lifetime of the lease, in seconds from `cltt_s`.
    pub valid_lifetime_s: u32,
    /// Client's last transaction time (cltt), wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// `id` of the subnet that the lease belongs to.
    pub subnet_id: u32,
    /// `pool-id` of the pool that the lease belongs to; 0 when it has none.
    pub pool_id: u32,
    /// True if the server keeps the forward DNS entry of the lease.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry of the lease.
    pub fqdn_rev: bool,
    /// Host name of the lease, possibly empty.
    pub hostname: &'a str,
    /// Kea's state of the lease.
    pub state: LeaseState,
    /// JSON text of the lease's user context, possibly empty.
    pub user_context: &'a str,
    /// Fields that only leases of this family have.
    pub extra: F::LeaseExtra,
}

impl<F: Family> RowView<'_, F> {
    /// Returns the lease in the row as a copy that outlives the slot's lock.
    #[must_use]
    // Compiled into its callers, a copy of a slot's lease takes a third fewer instructions: the
    // view of the slot is not made in memory first.
    #[inline(always)]
    pub fn to_lease(&self) -> Lease<F> {
        Lease {
            address: self.address,
            client: self.client.clone(),
            valid_lifetime_s: self.valid_lifetime_s,
            cltt_s: self.cltt_s,
            subnet_id: self.subnet_id,
            pool_id: self.pool_id,
            fqdn_fwd: self.fqdn_fwd,
            fqdn_rev: self.fqdn_rev,
            hostname: self.hostname.into(),
            state: self.state,
            user_context: self.user_context.into(),
            extra: self.extra,
        }
    }
}

/// Terms of a new or renewed lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTerms<'a, F: Family> {
    /// Valid lifetime of the lease, in seconds from now.
    pub valid_lifetime_s: u32,
    /// `id` of the subnet that the lease belongs to.
    pub subnet_id: u32,
    /// `pool-id` of the pool that the lease belongs to, 0 when it has none.
    pub pool_id: u32,
    /// True if the server keeps the forward DNS entry of the lease.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry of the lease.
    pub fqdn_rev: bool,
    /// Host name of the lease to store, possibly empty.
    pub hostname: &'a str,
    /// JSON text of the user context to store; with an empty one the lease keeps its present text.
    pub user_context: &'a str,
    /// Fields to store that only leases of this family have.
    pub extra: F::LeaseExtra,
}
