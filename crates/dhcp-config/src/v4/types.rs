//! Checked DHCPv4 configuration as values.

use core::net::Ipv4Addr;

use crate::shared::options::data::OptionData;
use crate::shared::{
    AllocatorKind, ClassGuards, ClientClass, GlobalSettings, InterfaceSelection, Lifetime,
    NameKeys, Pool, Reservation, ReservationModes,
};

/// Range of IPv4 addresses to lease from.
pub type Pool4 = Pool<Ipv4Addr, u8>;

/// Client class of DHCPv4.
pub type ClientClass4 = ClientClass<u8, ClassTerms4>;

/// Settings that only DHCPv4's classes have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTerms4 {
    /// `siaddr` of replies to members.
    pub next_server: Option<Ipv4Addr>,
    /// `sname` of replies to members.
    pub server_hostname: Option<String>,
    /// `file` of replies to members.
    pub boot_file_name: Option<String>,
    /// Time for which an offer to members is kept as a lease, in seconds.
    pub offer_lifetime_s: Option<u32>,
}

/// Reservation of DHCPv4.
pub type Reservation4 = Reservation<u8, Reserved4>;

/// Resources and header fields reserved for a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved4 {
    /// Reserved address.
    pub address: Option<Ipv4Addr>,
    /// `siaddr` of replies.
    pub next_server: Option<Ipv4Addr>,
    /// `sname` of replies, empty when not set.
    pub server_hostname: String,
    /// `file` of replies, empty when not set.
    pub boot_file_name: String,
}

/// Whole configuration of a DHCPv4 server.
#[derive(Clone, Debug, PartialEq)]
pub struct Dhcp4 {
    /// Settings that both families have.
    pub global: GlobalSettings,
    /// All subnets, those of shared networks first, as Kea numbers them.
    pub subnets: Vec<Subnet4>,
    /// Shared networks, in the order of the file.
    pub networks: Vec<Network4>,
    /// Interfaces to listen on.
    pub interfaces: InterfacesConfig,
    /// Global options, ordered by space and code.
    pub options: Vec<OptionData>,
    /// Global `authoritative`, for clients that belong to no subnet. Default false.
    pub authoritative: bool,
    /// True if replies repeat the client identifier (RFC 6842). Default true.
    pub echo_client_id: bool,
    /// Configured deviations from the standards.
    pub compatibility: Compatibility,
    /// `client-classes`, in the order of the file, which is that of evaluation.
    pub client_classes: Vec<ClientClass4>,
    /// Global reservations.
    pub reservations: Vec<Reservation4>,
    /// Reservations that count for clients that belong to no subnet yet.
    pub reservation_modes: ReservationModes,
    /// True if a client that renews without its relay agent is treated by the stored relay agent
    /// information: `stash-agent-options`. Default false.
    pub stash_agent_options: bool,
}

/// Subnet with all values that hold for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subnet4 {
    /// Unique identifier, 1 to 4294967294; stored with each lease.
    pub id: u32,
    /// Network address and prefix length, host bits cleared.
    pub prefix: (Ipv4Addr, u8),
    /// Index of the shared network in [`Dhcp4::networks`].
    pub network: Option<usize>,
    /// Pools, in the order of the file.
    pub pools: Vec<Pool4>,
    /// Relay agents whose messages belong to the subnet, whatever their address; the subnet's own
    /// list, else its network's.
    pub relay_addresses: Vec<Ipv4Addr>,
    /// Interface whose direct clients belong to the subnet; its own, else its network's.
    pub interface: Option<String>,
    /// Lease time and its bounds.
    pub valid_lifetime: Lifetime,
    /// T1 in seconds; sent when set.
    pub renew_timer_s: Option<u32>,
    /// T2 in seconds; sent when set.
    pub rebind_timer_s: Option<u32>,
    /// True if unset T1 and T2 are computed from the lease time. Default false.
    pub calculate_tee_times: bool,
    /// T1 as a part of the lease time. Default 0.5.
    pub t1_percent: f64,
    /// T2 as a part of the lease time. Default 0.875.
    pub t2_percent: f64,
    /// Age, as a part of the lifetime, below which a lease is given again unchanged; 0 switches
    /// that off. Default 0.25.
    pub cache_threshold: f64,
    /// Upper bound of that age, in seconds.
    pub cache_max_age_s: Option<u32>,
    /// Time for which an offer is kept as a lease, in seconds; 0 (the default) keeps it in memory
    /// only.
    pub offer_lifetime_s: u32,
    /// True if unknown clients that request an address again are refused. Default false.
    pub authoritative: bool,
    /// True if the client identifier tells clients apart. Default true.
    pub match_client_id: bool,
    /// `siaddr` of replies. Default 0.0.0.0.
    pub next_server: Ipv4Addr,
    /// `sname` of replies, at most 63 bytes. Default empty.
    pub server_hostname: String,
    /// `file` of replies, at most 127 bytes. Default empty.
    pub boot_file_name: String,
    /// Options of the subnet, ordered by space and code; they take precedence over the network's.
    pub options: Vec<OptionData>,
    /// Classes of clients that may be served from the subnet, and classes tested once it has
    /// served.
    pub guards: ClassGuards,
    /// Reservations of the subnet.
    pub reservations: Vec<Reservation4>,
    /// Reservations that count.
    pub reservation_modes: ReservationModes,
    /// Allocator that chooses the next free address.
    pub allocator: AllocatorKind,
    /// Share of leased addresses above which new leases get their shortest lifetime; 1.0 (the
    /// default) never.
    pub adaptive_lease_time_threshold: f64,
    /// True if leases keep the relay agent information of the client. Default false.
    pub store_extended_info: bool,
    /// Settings of the names of its clients.
    pub names: NameKeys,
}

/// Subnets that share one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network4 {
    /// Unique name.
    pub name: String,
    /// Indexes of the network's subnets in [`Dhcp4::subnets`].
    pub subnets: Vec<usize>,
    /// Interface whose direct clients belong to the network.
    pub interface: Option<String>,
    /// Relay agents whose messages belong to the network.
    pub relay_addresses: Vec<Ipv4Addr>,
    /// True if the network is authoritative, after inheritance.
    pub authoritative: bool,
    /// Options of the network, ordered by space and code; they take precedence over the global
    /// ones.
    pub options: Vec<OptionData>,
    /// Classes of clients that may be served from the network, and classes tested once it has
    /// served.
    pub guards: ClassGuards,
}

/// `interfaces-config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfacesConfig {
    /// Interfaces to listen on; none when empty.
    pub interfaces: Vec<InterfaceSelection>,
    /// Type of the sockets. Default raw.
    pub socket_type: SocketType,
    /// Interface at which replies leave. Default the interface of the request.
    pub outbound: OutboundInterface,
    /// True if a reload looks for interfaces again. Default true.
    pub re_detect: bool,
    /// True if a socket that cannot be opened ends the server. Default false.
    pub require_all_sockets: bool,
    /// Number of further attempts to open a socket. Default 0.
    pub socket_max_retries: u32,
    /// Time between such attempts. Default 5000 ms.
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
    /// UDP sockets: for relayed clients and those that have an address.
    Udp,
}

/// `outbound-interface`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutboundInterface {
    /// The interface at which the request was received.
    SameAsInbound,
    /// The interface that the routing table selects.
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
