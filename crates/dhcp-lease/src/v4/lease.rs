//! DHCPv4 lease as stored: the columns of Kea's `lease4` (reference §3.4, §3.5).

use core::net::Ipv4Addr;

use base::HostName;

pub use crate::lease::{INFINITE_LIFETIME_S, LeaseState};
use crate::{ClientId, HardwareAddress};

/// Lease with all fields that a lease file keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Leased address.
    pub address: Ipv4Addr,
    /// Hardware address of the client; empty after a decline.
    pub hardware: HardwareAddress,
    /// Client identifier, if the client sent one.
    pub client_id: Option<ClientId>,
    /// Seconds from `cltt_s` until the lease expires; with [`INFINITE_LIFETIME_S`] it never does; 0
    /// means that the lease is deleted.
    pub valid_lifetime_s: u32,
    /// Client's last transaction time: wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// `id` of the subnet in the configuration.
    pub subnet_id: u32,
    /// True if the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
    /// Host name, possibly empty, as stored (lower case).
    pub hostname: HostName,
    /// Kea's lease state.
    pub state: LeaseState,
    /// JSON text kept with the lease, possibly empty.
    pub user_context: Box<str>,
    /// `pool-id` of the pool in the configuration; 0 when it has none.
    pub pool_id: u32,
}

impl Lease {
    /// Returns the wall-clock second at which the lease expires; `u64::MAX` for an infinite one.
    #[must_use]
    pub const fn expires_s(&self) -> u64 {
        if self.valid_lifetime_s == INFINITE_LIFETIME_S {
            u64::MAX
        } else {
            self.cltt_s + self.valid_lifetime_s as u64
        }
    }
}

/// Terms of a new or renewed lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTerms<'a> {
    /// Valid lifetime, seconds from now.
    pub valid_lifetime_s: u32,
    /// `id` of the subnet.
    pub subnet_id: u32,
    /// `pool-id` of the pool, 0 when it has none.
    pub pool_id: u32,
    /// True if the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
    /// Host name to store, possibly empty.
    pub hostname: &'a str,
    /// JSON text to store; with an empty one the lease keeps its text.
    pub user_context: &'a str,
}
