//! Row that a store writes when a DHCPv4 lease changes.

use core::net::Ipv4Addr;

use super::lease::{Lease, LeaseState};
use crate::{ClientId, HardwareAddress};

/// Columns of one changed DHCPv4 lease, borrowed from its slot. In the row of a deleted lease
/// `valid_lifetime_s` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowView<'a> {
    /// Leased address.
    pub address: Ipv4Addr,
    /// Hardware address of the client; empty after a decline.
    pub hardware: &'a HardwareAddress,
    /// Client identifier (option 61), if the client sent one.
    pub client_id: Option<&'a [u8]>,
    /// Valid lifetime of the lease, in seconds from `cltt_s`.
    pub valid_lifetime_s: u32,
    /// Client's last transaction time (cltt), wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// `id` of the subnet that the lease belongs to.
    pub subnet_id: u32,
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
    /// `pool-id` of the pool that the lease belongs to; 0 when it has none.
    pub pool_id: u32,
}

impl RowView<'_> {
    /// Returns the lease in the row as a copy that outlives the slot's lock.
    #[must_use]
    pub fn to_lease(&self) -> Lease {
        Lease {
            address: self.address,
            hardware: *self.hardware,
            client_id: self.client_id.map(ClientId::new),
            valid_lifetime_s: self.valid_lifetime_s,
            cltt_s: self.cltt_s,
            subnet_id: self.subnet_id,
            fqdn_fwd: self.fqdn_fwd,
            fqdn_rev: self.fqdn_rev,
            hostname: self.hostname.into(),
            state: self.state,
            user_context: self.user_context.into(),
            pool_id: self.pool_id,
        }
    }
}
