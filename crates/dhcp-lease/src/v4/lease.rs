//! One DHCPv4 lease as it is stored: the columns of Kea's `lease4` (reference §3.4, §3.5).

use core::net::Ipv4Addr;

use base::HostName;

pub use crate::lease::{INFINITE_LIFETIME_S, LeaseState};
use crate::{ClientId, HardwareAddress};

/// A lease with everything that a lease file keeps of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The address that is leased.
    pub address: Ipv4Addr,
    /// The client's hardware address; empty after a decline.
    pub hardware: HardwareAddress,
    /// The client's identifier, when it sent one.
    pub client_id: Option<ClientId>,
    /// Seconds from `cltt_s` until the lease runs out; [`INFINITE_LIFETIME_S`] never does; 0 means
    /// that the lease is deleted.
    pub valid_lifetime_s: u32,
    /// Client's last transaction time: wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// The subnet's `id` in the configuration.
    pub subnet_id: u32,
    /// Whether the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// Whether the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
    /// Host name, possibly empty, as stored (lower case).
    pub hostname: HostName,
    /// Kea's state.
    pub state: LeaseState,
    /// JSON text kept with the lease, possibly empty.
    pub user_context: Box<str>,
    /// The pool's `pool-id` in the configuration; 0 when it has none.
    pub pool_id: u32,
}

impl Lease {
    /// Wall-clock second at which the lease has run out; `u64::MAX` for an infinite one.
    #[must_use]
    pub const fn expires_s(&self) -> u64 {
        if self.valid_lifetime_s == INFINITE_LIFETIME_S {
            u64::MAX
        } else {
            self.cltt_s + self.valid_lifetime_s as u64
        }
    }
}

/// The terms of a lease that is given or renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTerms<'a> {
    /// Seconds from now.
    pub valid_lifetime_s: u32,
    /// `id` of the subnet.
    pub subnet_id: u32,
    /// `pool-id` of the pool, 0 when it has none.
    pub pool_id: u32,
    /// Whether the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// Whether the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
    /// Host name to store, possibly empty.
    pub hostname: &'a str,
    /// JSON text to store; empty keeps what the client's lease had.
    pub user_context: &'a str,
}
