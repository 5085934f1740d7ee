//! DHCPv6 lease as stored: the columns of Kea's `lease6` (reference §3.4, §3.5).

use base::HostName;

use super::resource::Resource;
use crate::lease::{INFINITE_LIFETIME_S, LeaseState};
use crate::{ClientId, HardwareAddress};

/// Source from which the server learned a hardware address, with Kea's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HardwareSource {
    /// No hardware address is known.
    #[default]
    Unknown = 0,
    /// Link-layer frame.
    Raw = 1,
    /// Link-layer DUID.
    Duid = 2,
    /// Link-local source address.
    LinkLocal = 4,
    /// Client link-layer address option (RFC 6939).
    ClientLinkAddress = 8,
    /// Remote-id option (RFC 4649).
    RemoteId = 16,
    /// Subscriber-id option (RFC 4580).
    SubscriberId = 32,
    /// DOCSIS options of a cable modem termination system.
    DocsisCmts = 64,
    /// DOCSIS options of a modem.
    DocsisModem = 128,
}

impl HardwareSource {
    /// Returns the source with Kea's number `value`; an unknown number counts as [`Self::Unknown`].
    #[must_use]
    pub const fn from_number(value: u32) -> Self {
        match value {
            1 => Self::Raw,
            2 => Self::Duid,
            4 => Self::LinkLocal,
            8 => Self::ClientLinkAddress,
            16 => Self::RemoteId,
            32 => Self::SubscriberId,
            64 => Self::DocsisCmts,
            128 => Self::DocsisModem,
            _ => Self::Unknown,
        }
    }
}

/// Lease with all fields that a lease file keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Leased address or prefix.
    pub resource: Resource,
    /// DUID of the client; empty after a decline.
    pub duid: ClientId,
    /// IAID of the identity association.
    pub iaid: u32,
    /// Seconds from `cltt_s` until the lease expires; with [`INFINITE_LIFETIME_S`] it never does; 0
    /// means that the lease is deleted.
    pub valid_lifetime_s: u32,
    /// Preferred lifetime, seconds from `cltt_s`.
    pub preferred_lifetime_s: u32,
    /// Client's last transaction time: wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// `id` of the subnet in the configuration.
    pub subnet_id: u32,
    /// `pool-id` of the pool in the configuration; 0 when it has none.
    pub pool_id: u32,
    /// True if the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// True if the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
    /// Host name, possibly empty, as stored (lower case).
    pub hostname: HostName,
    /// Hardware address of the client as far as known.
    pub hardware: HardwareAddress,
    /// Source of the hardware address.
    pub hardware_source: HardwareSource,
    /// Kea's lease state.
    pub state: LeaseState,
    /// JSON text kept with the lease, possibly empty.
    pub user_context: Box<str>,
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
    /// Preferred lifetime, seconds from now, at most the valid lifetime.
    pub preferred_lifetime_s: u32,
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
    /// Hardware address of the client as far as known.
    pub hardware: HardwareAddress,
    /// Source of the hardware address.
    pub hardware_source: HardwareSource,
}
