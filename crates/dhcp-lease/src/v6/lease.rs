//! Fields that only DHCPv6 leases have.

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

/// Client of a DHCPv6 lease: its identity association.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseClient {
    /// DUID of the client; empty after a decline.
    pub duid: ClientId,
    /// IAID of the client's identity association.
    pub iaid: u32,
}

/// Fields that only DHCPv6 leases have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseExtra {
    /// Preferred lifetime of the lease, in seconds from the client's last transaction time, at most
    /// the valid lifetime.
    pub preferred_lifetime_s: u32,
    /// Hardware address of the client as far as known.
    pub hardware: HardwareAddress,
    /// Source from which the server learned the hardware address.
    pub hardware_source: HardwareSource,
}
