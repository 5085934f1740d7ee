//! Row that a store writes when a DHCPv6 lease changes.

use super::lease::{HardwareSource, Lease};
use super::resource::Resource;
use crate::lease::LeaseState;
use crate::{ClientId, HardwareAddress};

/// Columns of one changed DHCPv6 lease, borrowed from its slot. In the row of a deleted lease
/// `valid_lifetime_s` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowView<'a> {
    /// Leased address or prefix.
    pub resource: Resource,
    /// DUID of the client; empty after a decline.
    pub duid: &'a [u8],
    /// IAID of the client's identity association.
    pub iaid: u32,
    /// Valid lifetime of the lease, in seconds from `cltt_s`.
    pub valid_lifetime_s: u32,
    /// Preferred lifetime of the lease, in seconds from `cltt_s`.
    pub preferred_lifetime_s: u32,
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
    /// Hardware address of the client as far as known.
    pub hardware: HardwareAddress,
    /// Source from which the server learned the hardware address.
    pub hardware_source: HardwareSource,
    /// Kea's state of the lease.
    pub state: LeaseState,
    /// JSON text of the lease's user context, possibly empty.
    pub user_context: &'a str,
}

impl RowView<'_> {
    /// Returns the lease in the row as a copy that outlives the slot's lock.
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
