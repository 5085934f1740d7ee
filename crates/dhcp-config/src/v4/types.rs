//! The checked configuration as values.

use core::net::Ipv4Addr;

use super::options::OptionData;
use crate::shared::{
    Allocator, ClassGuards, ClientClass, ControlSocket, ExpiredLeases, ExtendedInfoChecks, FlexId,
    GodwitSettings, Hook, IdentifierKind, InactiveFeature, InterfaceSelection, LeaseChecks,
    LeaseDatabase, Lifetime, Logger, NameKeys, Pool, Reservation, ReservationModes, SqlDatabase,
};

/// A range of addresses to give leases from.
pub type Pool4 = Pool<Ipv4Addr, u8>;

/// A client class.
pub type ClientClass4 = ClientClass<u8, ClassTerms4>;

/// What only DHCPv4's classes set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTerms4 {
    /// `siaddr` of replies to members.
    pub next_server: Option<Ipv4Addr>,
    /// `sname` of replies to members.
    pub server_hostname: Option<String>,
    /// `file` of replies to members.
    pub boot_file_name: Option<String>,
    /// How long an offer to members is kept as a lease, in seconds.
    pub offer_lifetime_s: Option<u32>,
}

/// A reservation.
pub type Reservation4 = Reservation<u8, Reserved4>;

/// What is reserved for a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved4 {
    /// Its address.
    pub address: Option<Ipv4Addr>,
    /// `siaddr` of replies.
    pub next_server: Option<Ipv4Addr>,
    /// `sname` of replies, empty when not set.
    pub server_hostname: String,
    /// `file` of replies, empty when not set.
    pub boot_file_name: String,
}

/// The whole configuration of a DHCPv4 server.
#[derive(Clone, Debug, PartialEq)]
pub struct Dhcp4 {
    /// Every subnet, those of shared networks first, as Kea numbers them.
    pub subnets: Vec<Subnet4>,
    /// Shared networks, in the order of the file.
    pub networks: Vec<Network4>,
    /// Where to listen.
    pub interfaces: InterfacesConfig,
    /// Where leases are kept.
    pub lease_database: LeaseDatabase,
    /// `hosts-databases`, or the one `hosts-database`, in the order of the look-up.
    pub hosts_databases: Vec<SqlDatabase>,
    /// What only godwit has, from `user-context.godwit`.
    pub godwit: GodwitSettings,
    /// Global options, ordered by space and code.
    pub options: Vec<OptionData>,
    /// Global `authoritative`, for clients that belong to no subnet. Default false.
    pub authoritative: bool,
    /// Whether replies repeat the client identifier (RFC 6842). Default true.
    pub echo_client_id: bool,
    /// How long a declined address is set aside, in seconds. Default 86400.
    pub decline_probation_period_s: u32,
    /// Reclamation of expired leases.
    pub expired_leases: ExpiredLeases,
    /// What to do with leases that do not fit the configuration when they are loaded.
    pub lease_checks: LeaseChecks,
    /// Deviations from the standards that were asked for.
    pub compatibility: Compatibility,
    /// Loggers, in the order of the file.
    pub loggers: Vec<Logger>,
    /// `client-classes`, in the order of the file, which is that of evaluation.
    pub client_classes: Vec<ClientClass4>,
    /// Global reservations.
    pub reservations: Vec<Reservation4>,
    /// Which reservations count for clients that belong to no subnet yet.
    pub reservation_modes: ReservationModes,
    /// `host-reservation-identifiers`: kinds in the order in which they are looked up.
    pub host_identifiers: Vec<IdentifierKind>,
    /// Whether global reservations are looked up before the subnet is selected. Default false.
    pub early_global_reservations_lookup: bool,
    /// Whether an address is reserved for one host only. Default true.
    pub ip_reservations_unique: bool,
    /// Where commands come in.
    pub control_sockets: Vec<ControlSocket>,
    /// Hook libraries that are built in here, in the order of the file.
    pub hooks: Vec<Hook>,
    /// What the flex-id hook is told.
    pub flex_id: FlexId,
    /// Whether statistics keep as many samples: `statistic-default-sample-count`. Default 20.
    pub statistic_sample_count: u32,
    /// `statistic-default-sample-age`, in seconds; 0 (the default) is no limit.
    pub statistic_sample_age_s: u32,
    /// `server-tag`: the server's name in configuration databases; empty when not set.
    pub server_tag: String,
    /// What to do with what relay agents said, in leases that are loaded.
    pub extended_info_checks: ExtendedInfoChecks,
    /// What is configured and not done, ordered by name.
    pub inactive: Vec<InactiveFeature>,
    /// Whether a client that renews without its relay agent is treated by what the agent said
    /// before: `stash-agent-options`. Default false.
    pub stash_agent_options: bool,
}

/// A subnet with everything that holds for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subnet4 {
    /// Unique identifier, 1 to 4294967294; stored with each lease.
    pub id: u32,
    /// Network address and prefix length, host bits cleared.
    pub prefix: (Ipv4Addr, u8),
    /// Index of its shared network in [`Dhcp4::networks`].
    pub network: Option<usize>,
    /// Pools, in the order of the file.
    pub pools: Vec<Pool4>,
    /// Relay agents whose messages belong here, whatever their address; its own list, else its
    /// network's.
    pub relay_addresses: Vec<Ipv4Addr>,
    /// Interface whose direct clients belong here; its own, else its network's.
    pub interface: Option<String>,
    /// Lease time and its bounds.
    pub valid_lifetime: Lifetime,
    /// T1 in seconds; sent when set.
    pub renew_timer_s: Option<u32>,
    /// T2 in seconds; sent when set.
    pub rebind_timer_s: Option<u32>,
    /// Whether T1 and T2 that are not set are computed from the lease time. Default false.
    pub calculate_tee_times: bool,
    /// T1 as a part of the lease time. Default 0.5.
    pub t1_percent: f64,
    /// T2 as a part of the lease time. Default 0.875.
    pub t2_percent: f64,
    /// Leases younger than this part of their lifetime are given again unchanged; 0 switches that
    /// off. Default 0.25.
    pub cache_threshold: f64,
    /// Upper bound of that age, in seconds.
    pub cache_max_age_s: Option<u32>,
    /// How long an offer is kept as a lease, in seconds; 0 (the default) keeps it in memory only.
    pub offer_lifetime_s: u32,
    /// Whether unknown clients that ask for an address again are refused. Default false.
    pub authoritative: bool,
    /// Whether the client identifier tells clients apart. Default true.
    pub match_client_id: bool,
    /// `siaddr` of replies. Default 0.0.0.0.
    pub next_server: Ipv4Addr,
    /// `sname` of replies, at most 63 octets. Default empty.
    pub server_hostname: String,
    /// `file` of replies, at most 127 octets. Default empty.
    pub boot_file_name: String,
    /// The subnet's own options, ordered by space and code; they win over the network's.
    pub options: Vec<OptionData>,
    /// Who may be served from it, and classes tested once it has served.
    pub guards: ClassGuards,
    /// Reservations of the subnet.
    pub reservations: Vec<Reservation4>,
    /// Which reservations count.
    pub reservation_modes: ReservationModes,
    /// Which free address is given next.
    pub allocator: Allocator,
    /// Share of leased addresses above which new leases get their shortest lifetime; 1.0 (the
    /// default) never.
    pub adaptive_lease_time_threshold: f64,
    /// Whether leases keep what the relay agent said of the client. Default false.
    pub store_extended_info: bool,
    /// What its clients are called.
    pub names: NameKeys,
}

/// Subnets that share one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network4 {
    /// Unique name.
    pub name: String,
    /// Indexes of its subnets in [`Dhcp4::subnets`].
    pub subnets: Vec<usize>,
    /// Interface whose direct clients belong here.
    pub interface: Option<String>,
    /// Relay agents whose messages belong here.
    pub relay_addresses: Vec<Ipv4Addr>,
    /// Whether it is authoritative, after inheritance.
    pub authoritative: bool,
    /// The network's own options, ordered by space and code; they win over the global ones.
    pub options: Vec<OptionData>,
    /// Who may be served from it, and classes tested once it has served.
    pub guards: ClassGuards,
}

/// `interfaces-config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfacesConfig {
    /// Where to listen; nowhere when empty.
    pub interfaces: Vec<InterfaceSelection>,
    /// How to listen. Default raw.
    pub socket_type: SocketType,
    /// Where replies leave. Default the interface of the query.
    pub outbound: OutboundInterface,
    /// Whether a reload looks for interfaces again. Default true.
    pub re_detect: bool,
    /// Whether a socket that cannot be opened ends the server. Default false.
    pub require_all_sockets: bool,
    /// Further tries to open a socket. Default 0.
    pub socket_max_retries: u32,
    /// Time between such tries. Default 5000 ms.
    pub socket_retry_wait_ms: u32,
}

impl Default for InterfacesConfig {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            socket_type: SocketType::Raw,
            outbound: OutboundInterface::SameAsInbound,
            re_detect: true,
            require_all_sockets: false,
            socket_max_retries: 0,
            socket_retry_wait_ms: 5000,
        }
    }
}

/// `dhcp-socket-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketType {
    /// Packet sockets, which reach clients without an address.
    Raw,
    /// UDP sockets: relayed clients and those that have an address.
    Udp,
}

/// `outbound-interface`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutboundInterface {
    /// The reply leaves where the query came in.
    SameAsInbound,
    /// The routing table decides.
    UseRouting,
}

/// `compatibility`. All false by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compatibility {
    /// Accept some malformed options.
    pub lenient_option_parsing: bool,
    /// Answer requests that name another server.
    pub ignore_dhcp_server_identifier: bool,
    /// Select subnets without the link selection sub-option (RFC 3527).
    pub ignore_rai_link_selection: bool,
    /// Leave .0 and .255 out of pools in subnets of /24 and larger.
    pub exclude_first_last_24: bool,
}
