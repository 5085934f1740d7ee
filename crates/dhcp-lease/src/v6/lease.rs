//! One DHCPv6 lease as it is stored: the columns of Kea's `lease6` (reference §3.4, §3.5).

use base::HostName;

use super::resource::Resource;
use crate::lease::{INFINITE_LIFETIME_S, LeaseState};
use crate::{ClientId, HardwareAddress};

/// Where the server learned a hardware address from, with Kea's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HardwareSource {
    /// There is none.
    #[default]
    Unknown = 0,
    /// From the frame.
    Raw = 1,
    /// From a link-layer DUID.
    Duid = 2,
    /// From a link-local source address.
    LinkLocal = 4,
    /// From RFC 6939's client link-layer address option.
    ClientLinkAddress = 8,
    /// From RFC 4649's remote-id option.
    RemoteId = 16,
    /// From RFC 4580's subscriber-id option.
    SubscriberId = 32,
    /// From DOCSIS options of a cable modem termination system.
    DocsisCmts = 64,
    /// From DOCSIS options of a modem.
    DocsisModem = 128,
}

impl HardwareSource {
    /// The source with Kea's number `value`; an unknown one counts as [`Self::Unknown`].
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

/// A lease with everything that a lease file keeps of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The address or prefix that is leased.
    pub resource: Resource,
    /// The client's DUID; empty after a decline.
    pub duid: ClientId,
    /// The identity association.
    pub iaid: u32,
    /// Seconds from `cltt_s` until the lease runs out; [`INFINITE_LIFETIME_S`] never does; 0 means
    /// that the lease is deleted.
    pub valid_lifetime_s: u32,
    /// Preferred lifetime, seconds from `cltt_s`.
    pub preferred_lifetime_s: u32,
    /// Client's last transaction time: wall-clock seconds since 1970.
    pub cltt_s: u64,
    /// The subnet's `id` in the configuration.
    pub subnet_id: u32,
    /// The pool's `pool-id` in the configuration; 0 when it has none.
    pub pool_id: u32,
    /// Whether the server keeps the forward DNS entry.
    pub fqdn_fwd: bool,
    /// Whether the server keeps the reverse DNS entry.
    pub fqdn_rev: bool,
    /// Host name, possibly empty, as stored (lower case).
    pub hostname: HostName,
    /// The client's hardware address as far as known.
    pub hardware: HardwareAddress,
    /// How it is known.
    pub hardware_source: HardwareSource,
    /// Kea's state.
    pub state: LeaseState,
    /// JSON text kept with the lease, possibly empty.
    pub user_context: Box<str>,
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
    /// Seconds from now, at most the valid lifetime.
    pub preferred_lifetime_s: u32,
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
    /// The client's hardware address as far as known.
    pub hardware: HardwareAddress,
    /// How it is known.
    pub hardware_source: HardwareSource,
}
