//! Checked configuration of a DHCPv6 server as values.

use core::net::Ipv6Addr;

use crate::shared::options::data::OptionData;
use crate::shared::{
    AllocatorKind, ClassGuards, ClientClass, GlobalSettings, InterfaceSelection, Lifetime,
    NameKeys, Pool, Reservation, ReservationModes,
};

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

/// Whole configuration of a DHCPv6 server, checked, inheritance resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Dhcp6 {
    /// Global settings that both families have.
    pub global: GlobalSettings,
    /// Subnets of the configuration, those of shared networks first, as Kea numbers them.
    pub subnets: Vec<Subnet6>,
    /// Shared networks of the configuration, in the order of the file.
    pub networks: Vec<Network6>,
    /// Interfaces on which the server listens.
    pub interfaces: InterfacesConfig6,
    /// Options of the global scope, ordered by space and code.
    pub options: Vec<OptionData6>,
    /// Source of the server's own DUID (`server-id`).
    pub server_id: ServerIdConfig,
    /// Codes of options that relay agents may supply for the client (RFC 6422), ascending. Default
    /// only 65.
    pub relay_supplied_options: Vec<u16>,
    /// True if the server accepts some malformed options (`compatibility.lenient-option-parsing`).
    /// Default false.
    pub lenient_option_parsing: bool,
    /// Path of the folder of the lease file and of the stored server identifier (`data-directory`);
    /// the server's default when `None`.
    pub data_directory: Option<String>,
    /// Client classes, in the order of the file, which is that of evaluation (`client-classes`).
    pub client_classes: Vec<ClientClass6>,
    /// Reservations of the global scope.
    pub reservations: Vec<Reservation6>,
    /// Kinds of reservations that the server looks up for clients that belong to no subnet yet.
    pub reservation_modes: ReservationModes,
    /// True if clients may register addresses that they chose themselves (RFC 9686;
    /// `allow-address-registration`). Default true.
    pub allow_address_registration: bool,
    /// Sources of a client's hardware address, in the order of their use (`mac-sources`).
    pub mac_sources: Vec<MacSource>,
}

/// DHCPv6 subnet with all values that hold for it, inherited ones included.
#[derive(Clone, Debug, PartialEq)]
pub struct Subnet6 {
    /// Unique number (`id`) of the subnet, 1 to 4294967294; stored with each lease.
    pub id: u32,
    /// Network address and prefix length of the subnet, host bits cleared.
    pub prefix: (Ipv6Addr, u8),
    /// Index of the subnet's shared network in [`Dhcp6::networks`]; `None` without one.
    pub network: Option<usize>,
    /// Address pools of the subnet, in the order of the file.
    pub pools: Vec<Pool6>,
    /// Pools of prefixes that the subnet delegates, in the order of the file.
    pub pd_pools: Vec<PdPool>,
    /// Addresses of relay agents whose messages belong to the subnet, whatever the link address;
    /// the subnet's own list, else its network's.
    pub relay_addresses: Vec<Ipv6Addr>,
    /// Name of the interface whose direct clients belong to the subnet; its own, else its
    /// network's.
    pub interface: Option<String>,
    /// Value of the option Interface-Id (18) of the relayed clients that belong to the subnet
    /// (`interface-id`); its own, else its network's.
    pub interface_id: Option<Vec<u8>>,
    /// Preferred lifetime of the subnet's leases and its bounds, in seconds. All are 0 when the
    /// file has none: then the preferred lifetime is five eighths of the valid lifetime that a
    /// client gets. `default_s` is not above that of `valid_lifetime`; the bounds may be.
    pub preferred_lifetime: Lifetime,
    /// Valid lifetime of the subnet's leases and its bounds, in seconds.
    pub valid_lifetime: Lifetime,
    /// Renewal time T1 of the subnet's identity associations in seconds (`renew-timer`); `None`
    /// when it is not set.
    pub renew_timer_s: Option<u32>,
    /// Rebinding time T2 of the subnet's identity associations in seconds (`rebind-timer`); `None`
    /// when it is not set.
    pub rebind_timer_s: Option<u32>,
    /// True if the server computes unset T1 and T2 from the preferred lifetime
    /// (`calculate-tee-times`); otherwise it sends zeros. Default true.
    pub calculate_tee_times: bool,
    /// T1 as a fraction of the preferred lifetime, when the server computes it (`t1-percent`).
    /// Default 0.5.
    pub t1_percent: f64,
    /// T2 as a fraction of the preferred lifetime, when the server computes it (`t2-percent`).
    /// Default 0.8.
    pub t2_percent: f64,
    /// Age of a lease, as a fraction of its lifetime, below which the server repeats it instead of
    /// renewing it (`cache-threshold`); 0 switches that off. Default 0.25.
    pub cache_threshold: f64,
    /// Upper bound, in seconds, of the age below which the server repeats a lease instead of
    /// renewing it (`cache-max-age`).
    pub cache_max_age_s: Option<u32>,
    /// True if clients of the subnet may get their lease in two messages (`rapid-commit`). Default
    /// false.
    pub rapid_commit: bool,
    /// Options of the subnet, ordered by space and code; they take precedence over the network's.
    pub options: Vec<OptionData6>,
    /// Classes of clients that the server may serve from the subnet, and classes tested once the
    /// subnet serves the client.
    pub guards: ClassGuards,
    /// Reservations of the subnet's clients.
    pub reservations: Vec<Reservation6>,
    /// Kinds of reservations that the server looks up for clients of the subnet.
    pub reservation_modes: ReservationModes,
    /// Allocator that chooses the next free address of the subnet (`allocator`).
    pub allocator: AllocatorKind,
    /// Allocator that chooses the next free prefix of the subnet (`pd-allocator`).
    pub pd_allocator: AllocatorKind,
    /// Fraction of leased prefixes above which new leases of the subnet get their shortest lifetime
    /// (`adaptive-lease-time-threshold`); 1.0 (the default) never.
    pub adaptive_lease_time_threshold: f64,
    /// True if the subnet's leases keep the relay agent information of the client
    /// (`store-extended-info`). Default false.
    pub store_extended_info: bool,
    /// Settings of the host names of the subnet's clients.
    pub names: NameKeys,
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

/// Shared network of DHCPv6: subnets that share one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network6 {
    /// Unique name of the shared network.
    pub name: String,
    /// Indexes of the network's subnets in [`Dhcp6::subnets`].
    pub subnets: Vec<usize>,
    /// Name of the interface whose direct clients belong to the network.
    pub interface: Option<String>,
    /// Value of the option Interface-Id (18) of the relayed clients that belong to the network
    /// (`interface-id`).
    pub interface_id: Option<Vec<u8>>,
    /// Addresses of relay agents whose messages belong to the network.
    pub relay_addresses: Vec<Ipv6Addr>,
    /// True if clients of the network may get their lease in two messages (`rapid-commit`); all its
    /// subnets agree on that.
    pub rapid_commit: bool,
    /// Options of the network, ordered by space and code; they take precedence over the global
    /// ones.
    pub options: Vec<OptionData6>,
    /// Classes of clients that the server may serve from the network, and classes tested once the
    /// network serves the client.
    pub guards: ClassGuards,
}

/// Interfaces and sockets of a DHCPv6 server (`interfaces-config`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfacesConfig6 {
    /// Interfaces on which the server listens; none when empty. A name opens a socket on the
    /// link-local address and joins the multicast groups; a name with an address opens one for that
    /// address.
    pub interfaces: Vec<InterfaceSelection<Ipv6Addr>>,
    /// True if a reload of the configuration detects interfaces again (`re-detect`). Default true.
    pub re_detect: bool,
    /// True if a socket that cannot be opened ends the server (`service-sockets-require-all`).
    /// Default false.
    pub require_all_sockets: bool,
    /// Number of further attempts to open a socket (`service-sockets-max-retries`). Default 0.
    pub socket_max_retries: u32,
    /// Time between two attempts to open a socket, in milliseconds
    /// (`service-sockets-retry-wait-time`). Default 5000 ms.
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
