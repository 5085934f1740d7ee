//! Checked configuration of a DHCPv4 server as values.

use core::net::Ipv4Addr;

use crate::shared::options::data::OptionData;
use crate::shared::{
    AllocatorKind, ClassGuards, ClientClass, GlobalSettings, InterfaceSelection, Lifetime,
    NameKeys, Pool, Reservation, ReservationModes,
};

/// Pool of IPv4 addresses to lease from.
pub type Pool4 = Pool<Ipv4Addr, u8>;

/// Client class of DHCPv4.
pub type ClientClass4 = ClientClass<u8, ClassTerms4>;

/// Settings that only client classes of DHCPv4 have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTerms4 {
    /// Address in the field `siaddr` of replies to members of the class (`next-server`).
    pub next_server: Option<Ipv4Addr>,
    /// Server name in the field `sname` of replies to members of the class (`server-hostname`).
    pub server_hostname: Option<String>,
    /// Boot file name in the field `file` of replies to members of the class (`boot-file-name`).
    pub boot_file_name: Option<String>,
    /// Time for which the server stores a DHCPOFFER to members of the class as a lease, in seconds
    /// (`offer-lifetime`).
    pub offer_lifetime_s: Option<u32>,
}

/// Reservation of a DHCPv4 client.
pub type Reservation4 = Reservation<u8, Reserved4>;

/// Address and header fields that a DHCPv4 reservation sets for its client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved4 {
    /// IPv4 address that the reservation keeps for its client.
    pub address: Option<Ipv4Addr>,
    /// Address in the field `siaddr` of replies to the reservation's client (`next-server`).
    pub next_server: Option<Ipv4Addr>,
    /// Server name in the field `sname` of replies to the reservation's client, empty when not set.
    pub server_hostname: String,
    /// Boot file name in the field `file` of replies to the reservation's client, empty when not
    /// set.
    pub boot_file_name: String,
}

/// Whole configuration of a DHCPv4 server, checked, inheritance resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Dhcp4 {
    /// Global settings that both families have.
    pub global: GlobalSettings,
    /// Subnets of the configuration, those of shared networks first, as Kea numbers them.
    pub subnets: Vec<Subnet4>,
    /// Shared networks of the configuration, in the order of the file.
    pub networks: Vec<Network4>,
    /// Interfaces on which the server listens, and its sockets.
    pub interfaces: InterfacesConfig,
    /// Options of the global scope, ordered by space and code.
    pub options: Vec<OptionData>,
    /// True if the server refuses clients that belong to no subnet and request an address again:
    /// the global `authoritative`. Default false.
    pub authoritative: bool,
    /// True if DHCPv4 replies repeat the client identifier (RFC 6842): `echo-client-id`. Default
    /// true.
    pub echo_client_id: bool,
    /// Configured deviations from the standards (`compatibility`).
    pub compatibility: Compatibility,
    /// Client classes, in the order of the file, which is that of evaluation (`client-classes`).
    pub client_classes: Vec<ClientClass4>,
    /// Reservations of the global scope.
    pub reservations: Vec<Reservation4>,
    /// Kinds of reservations that the server looks up for clients that belong to no subnet yet.
    pub reservation_modes: ReservationModes,
    /// True if the server treats a client that renews without its relay agent by the relay agent
    /// information stored with the lease: `stash-agent-options`. Default false.
    pub stash_agent_options: bool,
}

/// DHCPv4 subnet with all values that hold for it, inherited ones included.
#[derive(Clone, Debug, PartialEq)]
pub struct Subnet4 {
    /// Unique number (`id`) of the subnet, 1 to 4294967294; stored with each lease.
    pub id: u32,
    /// Network address and prefix length of the subnet, host bits cleared.
    pub prefix: (Ipv4Addr, u8),
    /// Index of the subnet's shared network in [`Dhcp4::networks`]; `None` without one.
    pub network: Option<usize>,
    /// Pools of the subnet, in the order of the file.
    pub pools: Vec<Pool4>,
    /// Addresses of relay agents (`giaddr`) whose messages belong to the subnet, whatever its
    /// prefix; the subnet's own list, else its network's.
    pub relay_addresses: Vec<Ipv4Addr>,
    /// Name of the interface whose direct clients belong to the subnet; its own, else its
    /// network's.
    pub interface: Option<String>,
    /// Lease time of the subnet's leases and its bounds, in seconds (`valid-lifetime`).
    pub valid_lifetime: Lifetime,
    /// Renewal time T1 of the subnet's leases in seconds (`renew-timer`); sent when set.
    pub renew_timer_s: Option<u32>,
    /// Rebinding time T2 of the subnet's leases in seconds (`rebind-timer`); sent when set.
    pub rebind_timer_s: Option<u32>,
    /// True if the server computes unset T1 and T2 from the lease time (`calculate-tee-times`).
    /// Default false.
    pub calculate_tee_times: bool,
    /// T1 as a fraction of the lease time, when the server computes it (`t1-percent`). Default 0.5.
    pub t1_percent: f64,
    /// T2 as a fraction of the lease time, when the server computes it (`t2-percent`). Default
    /// 0.875.
    pub t2_percent: f64,
    /// Age of a lease, as a fraction of its lifetime, below which the server repeats it instead of
    /// renewing it (`cache-threshold`); 0 switches that off. Default 0.25.
    pub cache_threshold: f64,
    /// Upper bound, in seconds, of the age below which the server repeats a lease instead of
    /// renewing it (`cache-max-age`).
    pub cache_max_age_s: Option<u32>,
    /// Time for which the server stores a DHCPOFFER as a lease, in seconds (`offer-lifetime`); 0
    /// (the default) holds the offered address in memory only.
    pub offer_lifetime_s: u32,
    /// True if the server refuses unknown clients that request an address again (`authoritative`).
    /// Default false.
    pub authoritative: bool,
    /// True if the client identifier tells clients of the subnet apart (`match-client-id`). Default
    /// true.
    pub match_client_id: bool,
    /// Address in the field `siaddr` of replies to clients of the subnet (`next-server`). Default
    /// 0.0.0.0.
    pub next_server: Ipv4Addr,
    /// Server name in the field `sname` of replies to clients of the subnet, at most 63 bytes
    /// (`server-hostname`). Default empty.
    pub server_hostname: String,
    /// Boot file name in the field `file` of replies to clients of the subnet, at most 127 bytes
    /// (`boot-file-name`). Default empty.
    pub boot_file_name: String,
    /// Options of the subnet, ordered by space and code; they take precedence over the network's.
    pub options: Vec<OptionData>,
    /// Classes of clients that the server may serve from the subnet, and classes tested once the
    /// subnet serves the client.
    pub guards: ClassGuards,
    /// Reservations of the subnet's clients.
    pub reservations: Vec<Reservation4>,
    /// Kinds of reservations that the server looks up for clients of the subnet.
    pub reservation_modes: ReservationModes,
    /// Allocator that chooses the next free address of the subnet (`allocator`).
    pub allocator: AllocatorKind,
    /// Fraction of leased addresses above which new leases of the subnet get their shortest
    /// lifetime (`adaptive-lease-time-threshold`); 1.0 (the default) never.
    pub adaptive_lease_time_threshold: f64,
    /// True if the subnet's leases keep the relay agent information of the client
    /// (`store-extended-info`). Default false.
    pub store_extended_info: bool,
    /// Settings of the host names of the subnet's clients.
    pub names: NameKeys,
}

/// Shared network of DHCPv4: subnets that share one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network4 {
    /// Unique name of the shared network.
    pub name: String,
    /// Indexes of the network's subnets in [`Dhcp4::subnets`].
    pub subnets: Vec<usize>,
    /// Name of the interface whose direct clients belong to the network.
    pub interface: Option<String>,
    /// Addresses of relay agents whose messages belong to the network.
    pub relay_addresses: Vec<Ipv4Addr>,
    /// True if the server refuses unknown clients of the network that request an address again
    /// (`authoritative`), after inheritance.
    pub authoritative: bool,
    /// Options of the network, ordered by space and code; they take precedence over the global
    /// ones.
    pub options: Vec<OptionData>,
    /// Classes of clients that the server may serve from the network, and classes tested once the
    /// network serves the client.
    pub guards: ClassGuards,
}

/// Interfaces and sockets of a DHCPv4 server (`interfaces-config`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfacesConfig {
    /// Interfaces on which the server listens; none when empty.
    pub interfaces: Vec<InterfaceSelection>,
    /// Type of the server's sockets (`dhcp-socket-type`). Default raw.
    pub socket_type: SocketType,
    /// Interface at which replies leave (`outbound-interface`). Default the interface of the
    /// request.
    pub outbound: OutboundInterface,
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

/// Type of a DHCPv4 server's sockets (`dhcp-socket-type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketType {
    /// Packet sockets, which reach clients that have no address yet.
    Raw,
    /// UDP sockets, which serve relayed clients and clients that have an address.
    Udp,
}

/// Interface at which replies of a DHCPv4 server leave (`outbound-interface`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutboundInterface {
    /// The interface at which the server received the request.
    SameAsInbound,
    /// The interface that the routing table selects for the reply.
    UseRouting,
}

/// Deviations of a DHCPv4 server from the standards (`compatibility`). All false by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compatibility {
    /// True if the server accepts some malformed options (`lenient-option-parsing`).
    pub lenient_option_parsing: bool,
    /// True if the server answers requests that name another server in option 54
    /// (`ignore-dhcp-server-identifier`).
    pub ignore_dhcp_server_identifier: bool,
    /// True if the server selects subnets without the link selection sub-option (RFC 3527;
    /// `ignore-rai-link-selection`).
    pub ignore_rai_link_selection: bool,
    /// True if the server leases no address that ends in .0 or .255 in subnets of /24 and larger
    /// (`exclude-first-last-24`).
    pub exclude_first_last_24: bool,
}
