//! One DHCPv4 lease as it is stored: the columns of Kea's `lease4` (reference §3.4, §3.5).

use core::net::Ipv4Addr;

use crate::{ClientId, HardwareAddress};

/// A lifetime that never ends (RFC 2131 §3.3).
pub const INFINITE_LIFETIME_S: u32 = u32::MAX;

/// Kea's lease states, with its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LeaseState {
    /// Given to a client (whether or not it has run out since).
    #[default]
    Assigned = 0,
    /// A client found the address in use (DHCPDECLINE); nobody gets it until the probation ends.
    Declined = 1,
    /// Run out and taken back.
    ExpiredReclaimed = 2,
    /// Given back by the client and kept for it.
    Released = 3,
}

impl LeaseState {
    /// The state with Kea's number `value`.
    #[must_use]
    pub const fn from_number(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::Assigned),
            1 => Some(Self::Declined),
            2 => Some(Self::ExpiredReclaimed),
            3 => Some(Self::Released),
            _ => None,
        }
    }
}

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
    pub hostname: Box<str>,
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
