//! DHCPv6 lease as stored: the columns of Kea's `lease6` (Kea reference §3.4, §3.5).

use base::HostName;

use super::resource::Resource;
use crate::lease::{INFINITE_LIFETIME_S, LeaseState};
use crate::{ClientId, HardwareAddress};

/// Source from which the server learned a DHCPv6 client's hardware address, with Kea's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HardwareSource {
    /// No source: no hardware address is known.
    #[default]
    Unknown = 0,
    /// Source address of the link-layer frame.
    Raw = 1,
    /// DUID that contains a link-layer address.
    Duid = 2,
    /// Link-local source address of the client's datagram.
    LinkLocal = 4,
    /// Option Client Link-Layer Address (79) of a relay agent (RFC 6939).
    ClientLinkAddress = 8,
    /// Option Remote-ID (37) of a relay agent (RFC 4649).
    RemoteId = 16,
    /// Option Subscriber-ID (38) of a relay agent (RFC 4580).
    SubscriberId = 32,
    /// DOCSIS options that a cable modem termination system (CMTS) adds.
    DocsisCmts = 64,
    /// DOCSIS options that a cable modem sends.
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

/// Lease of DHCPv6 with all fields that a lease file keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Leased address or prefix.
    pub resource: Resource,
    /// DUID of the client; empty after a decline.
    pub duid: ClientId,
    /// IAID of the client's identity association.
    pub iaid: u32,
    /// Valid lifetime of the lease, in seconds from `cltt_s`; with [`INFINITE_LIFETIME_S`] the
    /// lease never expires; 0 means that the lease is deleted.
    pub valid_lifetime_s: u32,
    /// Preferred lifetime of the lease, in seconds from `cltt_s`.
    pub preferred_lifetime_s: u32,
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
    /// Hardware address of the client as far as known.
    pub hardware: HardwareAddress,
    /// Source from which the server learned the hardware address.
    pub hardware_source: HardwareSource,
    /// Kea's state of the lease.
    pub state: LeaseState,
    /// JSON text of the lease's user context, possibly empty.
    pub user_context: Box<str>,
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

/// Terms of a new or renewed DHCPv6 lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTerms<'a> {
    /// Valid lifetime of the lease, in seconds from now.
    pub valid_lifetime_s: u32,
    /// Preferred lifetime of the lease, in seconds from now, at most the valid lifetime.
    pub preferred_lifetime_s: u32,
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
    /// Hardware address of the client as far as known.
    pub hardware: HardwareAddress,
    /// Source from which the server learned the hardware address.
    pub hardware_source: HardwareSource,
}
