//! What a store writes when a lease changes.

use core::net::Ipv4Addr;

use super::lease::{Lease, LeaseState};
use crate::{ClientId, HardwareAddress};

/// The columns of one changed lease, borrowed from its slot. A row with `valid_lifetime_s` 0 says
/// that the lease is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowView<'a> {
    /// The address.
    pub address: Ipv4Addr,
    /// The client's hardware address; empty after a decline.
    pub hardware: &'a HardwareAddress,
    /// The client's identifier, when it sent one.
    pub client_id: Option<&'a [u8]>,
    /// Seconds from `cltt_s`.
    pub valid_lifetime_s: u32,
    /// Client's last transaction time: wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// The subnet's `id`.
    pub subnet_id: u32,
    /// Whether the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// Whether the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
    /// Host name, possibly empty.
    pub hostname: &'a str,
    /// Kea's state.
    pub state: LeaseState,
    /// JSON text, possibly empty.
    pub user_context: &'a str,
    /// The pool's `pool-id`; 0 when it has none.
    pub pool_id: u32,
}

impl RowView<'_> {
    /// A copy that outlives the slot's lock.
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
