//! DHCPv4 lease as stored: the columns of Kea's `lease4` (Kea reference §3.4, §3.5).

use core::net::Ipv4Addr;

use base::HostName;

pub use crate::lease::{INFINITE_LIFETIME_S, LeaseState};
use crate::{ClientId, HardwareAddress};

/// Lease of DHCPv4 with all fields that a lease file keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Leased address.
    pub address: Ipv4Addr,
    /// Hardware address of the client; empty after a decline.
    pub hardware: HardwareAddress,
    /// Client identifier (option 61), if the client sent one.
    pub client_id: Option<ClientId>,
    /// Valid lifetime of the lease, in seconds from `cltt_s`; with [`INFINITE_LIFETIME_S`] the
    /// lease never expires; 0 means that the lease is deleted.
    pub valid_lifetime_s: u32,
    /// Client's last transaction time (cltt), wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// `id` of the subnet in the configuration that the lease belongs to.
    pub subnet_id: u32,
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
    /// `pool-id` of the lease's pool in the configuration; 0 when it has none.
    pub pool_id: u32,
}

impl Lease {
    /// Returns the wall-clock second at which the lease expires; `u64::MAX` for an infinite lease.
    #[must_use]
    pub const fn expires_s(&self) -> u64 {
        if self.valid_lifetime_s == INFINITE_LIFETIME_S {
            u64::MAX
        } else {
            self.cltt_s + self.valid_lifetime_s as u64
        }
    }
}

/// Terms of a new or renewed DHCPv4 lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTerms<'a> {
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
}
