//! Checked DHCPv6 configuration as values.

use core::net::Ipv6Addr;

use crate::shared::options::data::OptionData;
use crate::shared::{
    AllocatorKind, ClassGuards, ClientClass, GlobalSettings, InterfaceSelection, Lifetime,
    NameKeys, Pool, Reservation, ReservationModes,
};

/// Option of DHCPv6.
pub type OptionData6 = OptionData<u16>;

/// Range of IPv6 addresses to lease from.
pub type Pool6 = Pool<Ipv6Addr, u16>;

/// Client class of DHCPv6.
pub type ClientClass6 = ClientClass<u16, ClassTerms6>;

/// Settings that only DHCPv6's classes have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTerms6 {
    /// Preferred lifetime of members; takes precedence over those of subnets and networks.
    pub preferred_lifetime: Option<Lifetime>,
}

/// Reservation of DHCPv6.
pub type Reservation6 = Reservation<u16, Reserved6>;

/// Resources reserved for a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved6 {
    /// Reserved addresses.
    pub addresses: Vec<Ipv6Addr>,
    /// Reserved prefixes.
    pub prefixes: Vec<ReservedPrefix>,
}

/// Reserved prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedPrefix {
    /// Prefix with its host bits cleared.
    pub prefix: (Ipv6Addr, u8),
    /// Part of the prefix that is excluded (RFC 6603).
    pub excluded: Option<(Ipv6Addr, u8)>,
}

/// Element of `mac-sources`, with Kea's numbers in leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacSource {
    /// Link-layer frame (`raw`).
    Raw,
    /// DUID that contains a hardware address (`duid`).
    Duid,
    /// Link-local source address (`ipv6-link-local`).
    Ipv6LinkLocal,
    /// Option 79 of the relay agent (RFC 6939; `client-link-addr-option`, `rfc6939`).
    ClientLinkAddress,
    /// Option 37 of the relay agent (RFC 4649; `remote-id`, `rfc4649`).
    RemoteId,
    /// Option 38 of the relay agent (RFC 4580; `subscriber-id`, `rfc4580`).
    SubscriberId,
    /// The relay agent's DOCSIS option (`docsis-cmts`).
    DocsisCmts,
    /// The modem's DOCSIS option (`docsis-modem`).
    DocsisModem,
}

/// Whole configuration of a DHCPv6 server.
#[derive(Clone, Debug, PartialEq)]
pub struct Dhcp6 {
    /// Settings that both families have.
    pub global: GlobalSettings,
    /// All subnets, those of shared networks first, as Kea numbers them.
    pub subnets: Vec<Subnet6>,
    /// Shared networks, in the order of the file.
    pub networks: Vec<Network6>,
    /// Interfaces to listen on.
    pub interfaces: InterfacesConfig6,
    /// Global options, ordered by space and code.
    pub options: Vec<OptionData6>,
    /// Source of the server's own identifier.
    pub server_id: ServerIdConfig,
    /// Options that relay agents may supply for the client (RFC 6422), ascending. Default only 65.
    pub relay_supplied_options: Vec<u16>,
    /// `compatibility.lenient-option-parsing`. Default false.
    pub lenient_option_parsing: bool,
    /// Folder of the lease file and of the stored server identifier; the server's own when `None`.
    pub data_directory: Option<String>,
    /// `client-classes`, in the order of the file, which is that of evaluation.
    pub client_classes: Vec<ClientClass6>,
    /// Global reservations.
    pub reservations: Vec<Reservation6>,
    /// Reservations that count for clients that belong to no subnet yet.
    pub reservation_modes: ReservationModes,
    /// True if clients may register addresses of their own (RFC 9686). Default true.
    pub allow_address_registration: bool,
    /// `mac-sources`: sources of a client's hardware address, in order.
    pub mac_sources: Vec<MacSource>,
}

/// Subnet with all values that hold for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subnet6 {
    /// Unique identifier, 1 to 4294967294; stored with each lease.
    pub id: u32,
    /// Network address and prefix length, host bits cleared.
    pub prefix: (Ipv6Addr, u8),
    /// Index of the shared network in [`Dhcp6::networks`].
    pub network: Option<usize>,
    /// Pools of addresses, in the order of the file.
    pub pools: Vec<Pool6>,
    /// Pools of prefixes to delegate, in the order of the file.
    pub pd_pools: Vec<PdPool>,
    /// Relay agents whose messages belong to the subnet, whatever the link address; the subnet's
    /// own list, else its network's.
    pub relay_addresses: Vec<Ipv6Addr>,
    /// Interface whose direct clients belong to the subnet; its own, else its network's.
    pub interface: Option<String>,
    /// Interface-Id option of the relayed clients that belong to the subnet; its own, else its
    /// network's.
    pub interface_id: Option<Vec<u8>>,
    /// Preferred lifetime and its bounds. All are 0 when the file has none: then the preferred
    /// lifetime is five eighths of the valid lifetime that a client gets. `default_s` is not above
    /// that of `valid_lifetime`; the bounds may be.
    pub preferred_lifetime: Lifetime,
    /// Valid lifetime and its bounds.
    pub valid_lifetime: Lifetime,
    /// T1 in seconds, when it is set.
    pub renew_timer_s: Option<u32>,
    /// T2 in seconds, when it is set.
    pub rebind_timer_s: Option<u32>,
    /// True if unset T1 and T2 are computed from the preferred lifetime; otherwise they are sent as
    /// 0. Default true.
    pub calculate_tee_times: bool,
    /// T1 as a part of the preferred lifetime. Default 0.5.
    pub t1_percent: f64,
    /// T2 as a part of the preferred lifetime. Default 0.8.
    pub t2_percent: f64,
    /// Age, as a part of the lifetime, below which a lease is given again unchanged; 0 switches
    /// that off. Default 0.25.
    pub cache_threshold: f64,
    /// Upper bound of that age, in seconds.
    pub cache_max_age_s: Option<u32>,
    /// True if clients may get their lease in two messages. Default false.
    pub rapid_commit: bool,
    /// Options of the subnet, ordered by space and code; they take precedence over the network's.
    pub options: Vec<OptionData6>,
    /// Classes of clients that may be served from the subnet, and classes tested once it has
    /// served.
    pub guards: ClassGuards,
    /// Reservations of the subnet.
    pub reservations: Vec<Reservation6>,
    /// Reservations that count.
    pub reservation_modes: ReservationModes,
    /// Allocator that chooses the next free address.
    pub allocator: AllocatorKind,
    /// Allocator that chooses the next free prefix.
    pub pd_allocator: AllocatorKind,
    /// Share of leased addresses above which new leases get their shortest lifetime; 1.0 (the
    /// default) never.
    pub adaptive_lease_time_threshold: f64,
    /// True if leases keep the relay agent information of the client. Default false.
    pub store_extended_info: bool,
    /// Settings of the names of its clients.
    pub names: NameKeys,
}

/// Prefix to delegate parts of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdPool {
    /// Whole prefix, host bits cleared. It need not lie inside its subnet.
    pub prefix: (Ipv6Addr, u8),
    /// Length of each delegated prefix; not below the length of `prefix`.
    pub delegated_len: u8,
    /// Part of a delegated prefix that is excluded from it (RFC 6603): longer than `delegated_len`,
    /// host bits cleared. It is written as in the first prefix that the pool delegates; its bits
    /// after `delegated_len` count for each.
    pub excluded: Option<(Ipv6Addr, u8)>,
    /// `pool-id`, default 0.
    pub pool_id: u32,
    /// Options of the pool, as those of [`Pool6`].
    pub options: Vec<OptionData6>,
    /// Classes of clients that may use the pool, and classes tested once it has been used.
    pub guards: ClassGuards,
}

/// Subnets that share one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network6 {
    /// Unique name.
    pub name: String,
    /// Indexes of the network's subnets in [`Dhcp6::subnets`].
    pub subnets: Vec<usize>,
    /// Interface whose direct clients belong to the network.
    pub interface: Option<String>,
    /// Interface-Id option of the relayed clients that belong to the network.
    pub interface_id: Option<Vec<u8>>,
    /// Relay agents whose messages belong to the network.
    pub relay_addresses: Vec<Ipv6Addr>,
    /// True if its clients may get their lease in two messages; its subnets agree.
    pub rapid_commit: bool,
    /// Options of the network, ordered by space and code; they take precedence over the global
    /// ones.
    pub options: Vec<OptionData6>,
    /// Classes of clients that may be served from the network, and classes tested once it has
    /// served.
    pub guards: ClassGuards,
}

/// `interfaces-config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfacesConfig6 {
    /// Interfaces to listen on; none when empty. A name opens a socket on the link-local address
    /// and joins the multicast groups; a name with an address opens one for that address.
    pub interfaces: Vec<InterfaceSelection<Ipv6Addr>>,
    /// True if a reload looks for interfaces again. Default true.
    pub re_detect: bool,
    /// True if a socket that cannot be opened ends the server. Default false.
    pub require_all_sockets: bool,
    /// Number of further attempts to open a socket. Default 0.
    pub socket_max_retries: u32,
    /// Time between such attempts. Default 5000 ms.
    pub socket_retry_wait_ms: u32,
}

impl Default for InterfacesConfig6 {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            re_detect: true,
            require_all_sockets: false,
            socket_max_retries: 0,
            socket_retry_wait_ms: 5000,
        }
    }
}

/// `server-id`: configured parts of the server's identifier. Unset parts are generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerIdConfig {
    /// Kind of DUID. Default [`ServerIdType::Llt`].
    pub kind: ServerIdType,
    /// Link-layer address of LLT and LL, identifier of EN.
    pub identifier: Option<Vec<u8>>,
    /// Time of LLT, in seconds since 2000 modulo 2^32.
    pub time_s: Option<u32>,
    /// Hardware type of LLT and LL.
    pub hardware_type: Option<u16>,
    /// Enterprise number of EN.
    pub enterprise_id: Option<u32>,
    /// True if a generated identifier is stored, and a stored one used again. Default true.
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

/// `server-id.type`: kind of DUID that can be configured (RFC 9915 §11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerIdType {
    /// Link-layer address plus time.
    Llt,
    /// Enterprise number.
    En,
    /// Link-layer address.
    Ll,
}
