//! What a store writes when a v6 lease changes.

use super::lease::{HardwareSource, Lease};
use super::resource::Resource;
use crate::lease::LeaseState;
use crate::{ClientId, HardwareAddress};

/// The columns of one changed lease, borrowed from its slot. A row with `valid_lifetime_s` 0 says
/// that the lease is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowView<'a> {
    /// The address or prefix.
    pub resource: Resource,
    /// The client's DUID; empty after a decline.
    pub duid: &'a [u8],
    /// The identity association.
    pub iaid: u32,
    /// Seconds from `cltt_s`.
    pub valid_lifetime_s: u32,
    /// Seconds from `cltt_s`.
    pub preferred_lifetime_s: u32,
    /// Client's last transaction time: wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// The subnet's `id`.
    pub subnet_id: u32,
    /// The pool's `pool-id`; 0 when it has none.
    pub pool_id: u32,
    /// Whether the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// Whether the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
    /// Host name, possibly empty.
    pub hostname: &'a str,
    /// The client's hardware address as far as known.
    pub hardware: HardwareAddress,
    /// How it is known.
    pub hardware_source: HardwareSource,
    /// Kea's state.
    pub state: LeaseState,
    /// JSON text, possibly empty.
    pub user_context: &'a str,
}

impl RowView<'_> {
    /// A copy that outlives the slot's lock.
    #[must_use]
    pub fn to_lease(&self) -> Lease {
        Lease {
            resource: self.resource,
            duid: ClientId::new(self.duid),
            iaid: self.iaid,
            valid_lifetime_s: self.valid_lifetime_s,
            preferred_lifetime_s: self.preferred_lifetime_s,
            cltt_s: self.cltt_s,
            subnet_id: self.subnet_id,
            pool_id: self.pool_id,
            fqdn_fwd: self.fqdn_fwd,
            fqdn_rev: self.fqdn_rev,
            hostname: self.hostname.into(),
            hardware: self.hardware,
            hardware_source: self.hardware_source,
            state: self.state,
            user_context: self.user_context.into(),
        }
    }
}
