//! Values that only configurations of DHCPv6 servers have.

use core::net::Ipv6Addr;

use base::V6;

use crate::shared::options::data::OptionData;
use crate::shared::{
    AllocatorKind, ClassGuards, ClientClass, ConfigTypes, DhcpConfig, Lifetime, Pool, Reservation,
    SubnetConfig,
};

/// Whole configuration of a DHCPv6 server, checked, inheritance resolved.
pub type Dhcp6 = DhcpConfig<V6>;

/// DHCPv6 subnet with all values that hold for it, inherited ones included.
pub type Subnet6 = SubnetConfig<V6>;

impl ConfigTypes for V6 {
    type IpAddress = Ipv6Addr;
    type OptionCode = u16;
    type OwnReserved = Reserved6;
    type OwnClass = ClassTerms6;
    type OwnSubnet = SubnetTerms6;
    type OwnNetwork = NetworkTerms6;
    type OwnSockets = ();
    type OwnGlobal = GlobalTerms6;
}

/// Option of DHCPv6.
pub type OptionData6 = OptionData<u16>;

/// Pool of IPv6 addresses to lease from.
pub type Pool6 = Pool<Ipv6Addr, u16>;

/// Client class of DHCPv6.
pub type ClientClass6 = ClientClass<u16, ClassTerms6>;

/// Settings that only client classes of DHCPv6 have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTerms6 {
    /// Preferred lifetime of leases of the class's members, in seconds; takes precedence over those
    /// of subnets and networks.
    pub preferred_lifetime: Option<Lifetime>,
}

/// Reservation of a DHCPv6 client.
pub type Reservation6 = Reservation<u16, Reserved6>;

/// Addresses and prefixes that a DHCPv6 reservation keeps for its client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved6 {
    /// IPv6 addresses that the reservation keeps for its client.
    pub addresses: Vec<Ipv6Addr>,
    /// Prefixes that the reservation keeps for its client.
    pub prefixes: Vec<ReservedPrefix>,
}

/// Prefix that a DHCPv6 reservation keeps for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedPrefix {
    /// First address and length of the reserved prefix, host bits cleared.
    pub prefix: (Ipv6Addr, u8),
    /// Part of the reserved prefix that is excluded from it (RFC 6603).
    pub excluded: Option<(Ipv6Addr, u8)>,
}

/// Source of a DHCPv6 client's hardware address (`mac-sources`), with the numbers that Kea writes
/// into leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacSource {
    /// Source: link-layer frame of the message (`raw`).
    Raw,
    /// Source: DUID that contains a hardware address (`duid`).
    Duid,
    /// Source: link-local source address of the message (`ipv6-link-local`).
    Ipv6LinkLocal,
    /// Source: option 79 of the relay agent (RFC 6939; `client-link-addr-option`, `rfc6939`).
    ClientLinkAddress,
    /// Source: option 37 of the relay agent (RFC 4649; `remote-id`, `rfc4649`).
    RemoteId,
    /// Source: option 38 of the relay agent (RFC 4580; `subscriber-id`, `rfc4580`).
    SubscriberId,
    /// Source: DOCSIS option of the relay agent, a cable head end (`docsis-cmts`).
    DocsisCmts,
    /// Source: DOCSIS option of the cable modem (`docsis-modem`).
    DocsisModem,
}

/// Global settings that only DHCPv6 servers have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalTerms6 {
    /// Source of the server's own DUID (`server-id`).
    pub server_id: ServerIdConfig,
    /// Codes of options that relay agents may supply for the client (RFC 6422), ascending. Default
    /// only 65.
    pub relay_supplied_options: Vec<u16>,
    /// Path of the folder of the lease file and of the stored server identifier (`data-directory`);
    /// the server's default when `None`.
    pub data_directory: Option<String>,
    /// True if clients may register addresses that they chose themselves (RFC 9686;
    /// `allow-address-registration`). Default true.
    pub allow_address_registration: bool,
    /// Sources of a client's hardware address, in the order of their use (`mac-sources`).
    pub mac_sources: Vec<MacSource>,
}

/// Settings that only DHCPv6 subnets have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubnetTerms6 {
    /// Pools of prefixes that the subnet delegates, in the order of the file.
    pub pd_pools: Vec<PdPool>,
    /// Preferred lifetime of the subnet's leases and its bounds, in seconds. All are 0 when the
    /// file has none: then the preferred lifetime is five eighths of the valid lifetime that a
    /// client gets. `default_s` is not above that of `valid_lifetime`; the bounds may be.
    pub preferred_lifetime: Lifetime,
    /// True if clients of the subnet may get their lease in two messages (`rapid-commit`). Default
    /// false.
    pub rapid_commit: bool,
    /// Allocator that chooses the next free prefix of the subnet (`pd-allocator`).
    pub pd_allocator: AllocatorKind,
}

/// Settings that only shared networks of DHCPv6 have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkTerms6 {
    /// True if clients of the network may get their lease in two messages (`rapid-commit`); all its
    /// subnets agree on that.
    pub rapid_commit: bool,
}

/// Pool of prefixes of equal length that a DHCPv6 subnet delegates (element of `pd-pools`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdPool {
    /// Whole prefix of the pool, host bits cleared. It need not lie inside its subnet.
    pub prefix: (Ipv6Addr, u8),
    /// Length in bits of each prefix that the pool delegates (`delegated-len`); not below the
    /// length of `prefix`.
    pub delegated_len: u8,
    /// Part of a delegated prefix that is excluded from it (RFC 6603): longer than `delegated_len`,
    /// host bits cleared. It is written as in the first prefix that the pool delegates; its bits
    /// after `delegated_len` count for each.
    pub excluded: Option<(Ipv6Addr, u8)>,
    /// Number (`pool-id`) of the pool, default 0.
    pub pool_id: u32,
    /// Options of replies to clients of the pool, as those of [`Pool6`].
    pub options: Vec<OptionData6>,
    /// Classes of clients that may use the pool, and classes tested once it has been used.
    pub guards: ClassGuards,
}

/// Configured parts of the DHCPv6 server's own DUID (`server-id`). Unset parts are generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerIdConfig {
    /// Kind of the server's DUID. Default [`ServerIdType::Llt`].
    pub kind: ServerIdType,
    /// Link-layer address of a DUID-LLT or DUID-LL, or identifier of a DUID-EN (RFC 9915 §11;
    /// `identifier`).
    pub identifier: Option<Vec<u8>>,
    /// Time in a DUID-LLT, in seconds since 2000 modulo 2^32.
    pub time_s: Option<u32>,
    /// Hardware type in a DUID-LLT or DUID-LL.
    pub hardware_type: Option<u16>,
    /// Enterprise number in a DUID-EN.
    pub enterprise_id: Option<u32>,
    /// True if the server stores a DUID that it has generated, and uses a stored one again. Default
    /// true.
    pub persist: bool,
}

impl Default for ServerIdConfig {
    fn default() -> Self {
        Self {
            kind: ServerIdType::Llt,
            identifier: None,
            time_s: None,
            hardware_type: None,
            enterprise_id: None,
            persist: true,
        }
    }
}

/// Kind of DUID that can be configured for a server: `server-id.type` (RFC 9915 §11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerIdType {
    /// DUID-LLT: link-layer address plus time.
    Llt,
    /// DUID-EN: enterprise number with an identifier.
    En,
    /// DUID-LL: link-layer address.
    Ll,
}
