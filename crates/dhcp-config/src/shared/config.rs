//! Checked configuration of a server of either family as values.

use core::fmt::Debug;

use super::options::data::OptionData;
use super::{
    AllocatorKind, ClassGuards, ClientClass, GlobalSettings, InterfaceSelection, Lifetime,
    NameKeys, Pool, Reservation, ReservationModes, SubnetHostname,
};

/// Family of a configuration, [`V4`](base::V4) or [`V6`](base::V6): the types of the values that
/// differ.
pub trait ConfigTypes: Copy + Debug + PartialEq + 'static {
    /// Type of an IP address of the family.
    type IpAddress: Copy + Debug + Ord + Send + Sync;
    /// Type of an option code of the family.
    type OptionCode: Copy + Debug + Ord + Send + Sync;
    /// Addresses and other resources that a reservation of the family keeps for its client.
    type OwnReserved: Clone + Debug + PartialEq + Send + Sync;
    /// Settings that only this family's client classes have.
    type OwnClass: Clone + Debug + PartialEq;
    /// Settings that only this family's subnets have.
    type OwnSubnet: Clone + Debug + PartialEq;
    /// Settings that only this family's shared networks have.
    type OwnNetwork: Clone + Debug + PartialEq;
    /// Settings that only this family's sockets have.
    type OwnSockets: Clone + Debug + Default + PartialEq;
    /// Settings that only the global scope of this family has.
    type OwnGlobal: Clone + Debug + PartialEq;
}

/// Whole configuration of a server, checked, inheritance resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct DhcpConfig<F: ConfigTypes> {
    /// Global settings that both families have.
    pub global: GlobalSettings,
    /// Subnets of the configuration by `id`, as Kea keeps them.
    pub subnets: Vec<SubnetConfig<F>>,
    /// Shared networks of the configuration, in the order of the file.
    pub networks: Vec<NetworkConfig<F>>,
    /// Interfaces on which the server listens, and its sockets.
    pub interfaces: InterfacesConfig<F>,
    /// Options of the global scope, ordered by space and code.
    pub options: Vec<OptionData<F::OptionCode>>,
    /// Configured deviations from the standards (`compatibility`).
    pub compatibility: Compatibility,
    /// Client classes, in the order of the file, which is that of evaluation (`client-classes`).
    pub client_classes: Vec<ClientClass<F::OptionCode, F::OwnClass>>,
    /// Reservations of the global scope.
    pub reservations: Vec<Reservation<F::OptionCode, F::OwnReserved>>,
    /// Kinds of reservations that the server looks up for clients that belong to no subnet yet.
    pub reservation_modes: ReservationModes,
    /// Settings that only the global scope of this family has.
    pub own: F::OwnGlobal,
}

/// Subnet with all values that hold for it, inherited ones included.
#[derive(Clone, Debug, PartialEq)]
pub struct SubnetConfig<F: ConfigTypes> {
    /// Unique number (`id`) of the subnet, 1 to 4294967294; stored with each lease.
    pub id: u32,
    /// Network address and prefix length of the subnet, host bits cleared.
    pub prefix: (F::IpAddress, u8),
    /// Index of the subnet's shared network in [`DhcpConfig::networks`]; `None` without one.
    pub network: Option<usize>,
    /// Address pools of the subnet, in the order of the file.
    pub pools: Vec<Pool<F::IpAddress, F::OptionCode>>,
    /// Addresses of relay agents whose messages belong to the subnet, whatever its prefix; the
    /// subnet's own list, else its network's.
    pub relay_addresses: Vec<F::IpAddress>,
    /// Name of the interface whose direct clients belong to the subnet; its own, else its
    /// network's.
    pub interface: Option<String>,
    /// Value of the DHCPv6 option Interface-Id (18) of the relayed clients that belong to the
    /// subnet (`interface-id`); its own, else its network's. `None` in DHCPv4.
    pub interface_id: Option<Vec<u8>>,
    /// Valid lifetime of the subnet's leases and its bounds, in seconds (`valid-lifetime`): in
    /// DHCPv4 the lease time.
    pub valid_lifetime: Lifetime,
    /// Renewal time T1 of the subnet's leases in seconds (`renew-timer`); sent when set.
    pub renew_timer_s: Option<u32>,
    /// Rebinding time T2 of the subnet's leases in seconds (`rebind-timer`); sent when set.
    pub rebind_timer_s: Option<u32>,
    /// True if the server computes unset T1 and T2 from the valid lifetime, in DHCPv6 from the
    /// preferred one (`calculate-tee-times`). Default false in DHCPv4, true in DHCPv6.
    pub calculate_tee_times: bool,
    /// T1 as a fraction of the lifetime, when the server computes it (`t1-percent`). Default 0.5.
    pub t1_percent: f64,
    /// T2 as a fraction of the lifetime, when the server computes it (`t2-percent`). Default 0.875
    /// in DHCPv4, 0.8 in DHCPv6.
    pub t2_percent: f64,
    /// Age of a lease, as a fraction of its lifetime, below which the server repeats it instead of
    /// renewing it (`cache-threshold`); 0 switches that off. Default 0.25.
    pub cache_threshold: f64,
    /// Upper bound, in seconds, of the age below which the server repeats a lease instead of
    /// renewing it (`cache-max-age`).
    pub cache_max_age_s: Option<u32>,
    /// Options of the subnet, ordered by space and code; they take precedence over the network's.
    pub options: Vec<OptionData<F::OptionCode>>,
    /// Classes of clients that the server may serve from the subnet, and classes tested once the
    /// subnet serves the client.
    pub guards: ClassGuards,
    /// Reservations of the subnet's clients.
    pub reservations: Vec<Reservation<F::OptionCode, F::OwnReserved>>,
    /// Kinds of reservations that the server looks up for clients of the subnet.
    pub reservation_modes: ReservationModes,
    /// Allocator that chooses the next free address of the subnet (`allocator`).
    pub allocator: AllocatorKind,
    /// Fraction of leased addresses, in DHCPv6 of leased prefixes, above which new leases of the
    /// subnet get their shortest lifetime (`adaptive-lease-time-threshold`); 1.0 (the default)
    /// never.
    pub adaptive_lease_time_threshold: f64,
    /// True if the subnet's leases keep the relay agent information of the client
    /// (`store-extended-info`). Default false.
    pub store_extended_info: bool,
    /// Settings of the host names of the subnet's clients.
    pub names: NameKeys,
    /// Expression of the hook library ddns_tuning that computes the names of the subnet's clients.
    pub hostname: SubnetHostname,
    /// Index of the relationship of high availability that the subnet belongs to
    /// (`ha-server-name`), in [`GlobalSettings::high_availability`](super::GlobalSettings); `None`
    /// if the subnet names none.
    pub relationship: Option<usize>,
    /// Settings that only this family's subnets have.
    pub own: F::OwnSubnet,
}

/// Shared network: subnets that share one link.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfig<F: ConfigTypes> {
    /// Unique name of the shared network.
    pub name: String,
    /// Indexes of the network's subnets in [`DhcpConfig::subnets`].
    pub subnets: Vec<usize>,
    /// Name of the interface whose direct clients belong to the network.
    pub interface: Option<String>,
    /// Value of the DHCPv6 option Interface-Id (18) of the relayed clients that belong to the
    /// network (`interface-id`). `None` in DHCPv4.
    pub interface_id: Option<Vec<u8>>,
    /// Addresses of relay agents whose messages belong to the network.
    pub relay_addresses: Vec<F::IpAddress>,
    /// Options of the network, ordered by space and code; they take precedence over the global
    /// ones.
    pub options: Vec<OptionData<F::OptionCode>>,
    /// Classes of clients that the server may serve from the network, and classes tested once the
    /// network serves the client.
    pub guards: ClassGuards,
    /// Settings that only this family's shared networks have.
    pub own: F::OwnNetwork,
}

/// Interfaces and sockets of a server (`interfaces-config`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfacesConfig<F: ConfigTypes> {
    /// Interfaces on which the server listens; none when empty. In DHCPv6, a name opens a socket on
    /// the link-local address and joins the multicast groups; a name with an address opens one for
    /// that address.
    pub interfaces: Vec<InterfaceSelection<F::IpAddress>>,
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
    /// Settings that only this family's sockets have.
    pub own: F::OwnSockets,
}

impl<F: ConfigTypes> Default for InterfacesConfig<F> {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            re_detect: true,
            require_all_sockets: false,
            socket_max_retries: 0,
            socket_retry_wait_ms: 5000,
            own: F::OwnSockets::default(),
        }
    }
}

/// Deviations of a server from the standards (`compatibility`). All false by default; only the
/// first exists in DHCPv6.
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
