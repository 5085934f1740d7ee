//! DHCPv4 configuration as the packet path reads it: tables built once at load, never changed. A
//! transaction keeps the snapshot that it began with.

use base::AddressBits as _;
use core::net::Ipv4Addr;
use std::sync::Arc;

use dhcp_config::v4::{Dhcp4, Lifetime, Pool4, Subnet4};
use dhcp_config::{Hook, IdentifierKind, ReservationModes};
use dhcp_lease::v4::{PoolIndex, PoolSet, PoolSpec, V4};
use dhcp_wire::OptionParsing;
use dhcp_wire::v4::option;

use super::hosts::BootTerms;
use super::scopes::{self, CompiledClassTerms4};
use crate::adaptive;
use crate::classify::{ClassIndex, ClassSet, Classes, StringProgram};
use crate::client_name::NameTerms;
use crate::hosts::{HostTerms, Hosts};
use crate::links::{Links, PoolLocation, allocator};
use crate::options::ScopeOptions;
use crate::preference::Preference;
use crate::prefixes::{PrefixTable, SubnetIndex};
use crate::protocol::parsing_of;
use crate::repeat::RepeatPolicy;
use crate::scope_terms::ScopeTerms;
use crate::subnet_keys::SubnetKeys;

/// Compiled DHCPv4 configuration.
#[derive(Debug)]
pub struct Snapshot {
    subnets: Vec<Subnet>,
    links: Links<u32>,
    by_prefix: PrefixTable<u32>,
    by_relay: SubnetKeys<Ipv4Addr>,
    by_interface: SubnetKeys<Box<str>>,
    pools: Arc<PoolSet>,
    pool_terms: Vec<ScopeTerms<u8>>,
    pool_names: Vec<Option<Box<NameTerms>>>,
    pool_subnets: Vec<SubnetIndex>,
    networks: Vec<ScopeTerms<u8>>,
    /// True if any pool, subnet or shared network of the configuration is for clients of some
    /// classes only (`client-classes`).
    has_guards: bool,
    /// Client classes of the configuration, compiled.
    pub classes: Classes,
    /// Terms of the client classes, in the order of `client-classes`.
    class_terms: Vec<CompiledClassTerms4>,
    /// Hosts with reservations, of all scopes of the configuration.
    pub hosts: Hosts<V4, HostTerms<V4>>,
    /// Kinds of identifiers by which clients' hosts are looked up, in order
    /// (`host-reservation-identifiers`).
    pub host_identifiers: Vec<IdentifierKind>,
    /// True if hosts of the global scope are looked up before the subnet is selected
    /// (`early-global-reservations-lookup`).
    pub looks_up_global_host_early: bool,
    /// Expression that makes the identifiers of Kea's flex-id hook (`identifier-expression`);
    /// `None` when the hook is not active.
    pub flex_id: Option<StringProgram>,
    /// True if flex-id identifiers replace client identifiers (`replace-client-id`).
    pub flex_id_replaces_client_id: bool,
    /// True if flex-id identifiers look like client identifiers that hold a DUID.
    pub flex_id_is_like_a_duid: bool,
    /// True if the server serves BOOTP clients (Kea's hook library `libdhcp_bootp.so`).
    pub serves_bootp: bool,
    /// Options that the global scope sets.
    pub options: ScopeOptions<u8>,
    /// Time for which a DHCPOFFER holds its address in memory, in nanoseconds.
    pub hold_ns: u64,
    /// Time for which a declined address stays out of use, in seconds (`decline-probation-period`).
    pub decline_probation_s: u32,
    /// True if replies repeat the client identifier of the request (RFC 6842; `echo-client-id`).
    pub echo_client_id: bool,
    /// True if the server refuses clients that no subnet serves (global `authoritative`).
    pub is_authoritative: bool,
    /// True if the server ignores the link selection of relay agents (RFC 3527;
    /// `ignore-rai-link-selection`).
    pub ignores_link_selection: bool,
    /// Mode in which options that do not match their definitions are parsed
    /// (`lenient-option-parsing`).
    pub parsing: OptionParsing,
    /// True if messages of clients that renew past their relay agent count as if the agent had
    /// forwarded them (`stash-agent-options`).
    pub stashes_agent_options: bool,
    /// True if clients that chose another server (option 54) are served like those that chose this
    /// one (`ignore-dhcp-server-identifier`).
    ignores_server_id: bool,
    /// Server identifiers (option 54) that the operator configured in any scope, ascending.
    server_ids: Vec<Ipv4Addr>,
    /// Subnets at which allocation begins in shared networks.
    pub preference: Preference,
}

/// Subnet of the configuration with all data that replies in it need.
#[derive(Debug)]
pub struct Subnet {
    /// `id` of the subnet in the configuration.
    pub id: u32,
    /// True if the subnet belongs to a shared network.
    pub is_in_network: bool,
    /// True if any pool, subnet or network on the subnet's link is for clients of some classes
    /// only.
    is_link_guarded: bool,
    /// Mask of the subnet's prefix.
    pub mask: Ipv4Addr,
    /// Limits of the lifetimes of the subnet's leases (`valid-lifetime`).
    pub valid_lifetime: Lifetime,
    /// Used part of the subnet's pools, 0 to 1, from which on leases are short
    /// (`adaptive-lease-time-threshold`); `None` when they never are.
    pub adaptive_threshold: Option<f64>,
    /// Configured T1 of the subnet's leases, in seconds (`renew-timer`).
    pub renew_timer_s: Option<u32>,
    /// Configured T2 of the subnet's leases, in seconds (`rebind-timer`).
    pub rebind_timer_s: Option<u32>,
    /// T1 and T2 as parts of the lease's lifetime, 0 to 1, when they are calculated
    /// (`calculate-tee-times`).
    pub tee_parts: Option<(f64, f64)>,
    /// Policy for repeating the subnet's leases instead of renewing them (`cache-threshold`).
    pub repeat: RepeatPolicy,
    /// True if the server may refuse clients of the subnet whose leases it does not know (RFC 2131
    /// §4.3.2; `authoritative`).
    pub is_authoritative: bool,
    /// True if client identifiers distinguish the subnet's clients (`match-client-id`).
    pub match_client_id: bool,
    /// Boot fields of replies in the subnet: `siaddr`, `sname` and `file`.
    pub boot: BootTerms,
    /// Settings for the names of the subnet's clients.
    names: NameTerms,
    /// Lifetime of the leases that DHCPOFFERs in the subnet make, in seconds (`offer-lifetime`); 0
    /// = offers make none.
    pub offer_lifetime_s: u32,
    /// Required client classes, additional classes and options of the subnet.
    pub scope: ScopeTerms<u8>,
    /// Reservation modes of the subnet (`reservations-global` and others).
    pub reservation_modes: ReservationModes,
    /// True if the subnet's leases store relay agent information (`store-extended-info`).
    pub stores_extended_info: bool,
    /// True if leases of any subnet on the link store relay agent information
    /// (`store-extended-info`).
    pub is_link_storing: bool,
    /// First and last address of the subnet's prefix, as numbers.
    bounds: (u32, u32),
    /// Position of the subnet's shared network among those of the configuration; `None` outside of
    /// shared networks.
    pub network: Option<usize>,
}

impl Snapshot {
    /// Compiles the configuration `config` to a snapshot. `configure` gets the pools and makes the
    /// pool set (the lease table does so).
    pub fn compile(
        config: &Dhcp4,
        configure: impl FnOnce(&[PoolSpec], &[Ipv4Addr]) -> Arc<PoolSet>,
    ) -> Self {
        let classes = scopes::classes_of(config);
        let specs = pools_of(config);
        let aside = scopes::set_aside(config, &specs);
        let prefixes: Vec<_> = (0..)
            .zip(&config.subnets)
            .map(|(index, subnet)| {
                let (first, last) = bounds(subnet.prefix.0, subnet.prefix.1);
                (first, last, index)
            })
            .collect();
        let indexed = || (0..).zip(&config.subnets);
        let relays = indexed()
            .flat_map(|(index, subnet)| subnet.relay_addresses.iter().map(move |&a| (a, index)));
        let interfaces = indexed()
            .filter_map(|(index, subnet)| Some((subnet.interface.as_deref()?.into(), index)));
        Self {
            subnets: config.subnets.iter().map(|s| compile_subnet(config, s, &classes)).collect(),
            links: links_of(config),
            by_prefix: PrefixTable::new(&prefixes),
            by_relay: SubnetKeys::new(relays),
            by_interface: SubnetKeys::new(interfaces),
            pools: configure(&specs, &aside),
            pool_terms: config
                .subnets
                .iter()
                .flat_map(|subnet| &subnet.pools)
                .map(|pool| ScopeTerms::compile(&pool.guards, &pool.options, &classes))
                .collect(),
            pool_names: pool_names_of(config),
            pool_subnets: indexed()
                .flat_map(|(at, subnet)| subnet.pools.iter().map(move |_| at))
                .collect(),
            networks: networks_of(config, &classes),
            has_guards: config.subnets.iter().any(|subnet| is_guarded(config, subnet)),
            options: ScopeOptions::compile(&config.options, |name| classes.index(name)),
            hosts: scopes::hosts_of(config, &classes),
            host_identifiers: config.global.host_identifiers.clone(),
            looks_up_global_host_early: config.global.early_global_reservations_lookup,
            class_terms: config
                .client_classes
                .iter()
                .map(|class| CompiledClassTerms4::compile(class, &classes))
                .collect(),
            flex_id: scopes::flex_id_of(config, &classes),
            flex_id_replaces_client_id: config.global.flex_id.replaces_client_id,
            flex_id_is_like_a_duid: config.global.flex_id.is_like_a_duid,
            classes,
            serves_bootp: config.global.hooks.contains(&Hook::Bootp),
            hold_ns: u64::from(config.global.godwit.hold_time_ms) * base::time::NS_PER_MS,
            decline_probation_s: config.global.decline_probation_period_s,
            echo_client_id: config.echo_client_id,
            is_authoritative: config.authoritative,
            parsing: parsing_of(config.compatibility.lenient_option_parsing),
            stashes_agent_options: config.stash_agent_options,
            ignores_link_selection: config.compatibility.ignore_rai_link_selection,
            ignores_server_id: config.compatibility.ignore_dhcp_server_identifier,
            server_ids: server_ids_of(config),
            preference: Preference::new(indexed().map(|(index, subnet)| match subnet.network {
                Some(network) => (Some(network), 0, &*subnet.guards.required),
                None => (None, index, &[][..]),
            })),
        }
    }

    /// Continues allocation in the subnets of shared networks in which `previous` allocated last.
    pub fn follow(&self, previous: &Self) {
        self.preference.follow(&previous.preference);
    }

    /// Returns the subnet at `index`.
    #[must_use]
    pub fn subnet(&self, index: SubnetIndex) -> &Subnet {
        &self.subnets[index as usize]
    }

    /// Returns the number of subnets in the configuration.
    #[must_use]
    pub fn subnet_count(&self) -> usize {
        self.subnets.len()
    }

    /// Returns the lease pools of the configuration.
    #[must_use]
    pub fn pools(&self) -> &PoolSet {
        &self.pools
    }

    /// Returns the `pool-id` of the pool at an index.
    #[must_use]
    pub fn pool_id(&self, pool: PoolIndex) -> u32 {
        self.pools.specs()[pool.0 as usize].pool_id
    }

    /// Returns the subnet that the pool at an index belongs to.
    #[must_use]
    pub fn subnet_of(&self, pool: PoolIndex) -> SubnetIndex {
        self.pool_subnets[pool.0 as usize]
    }

    /// Returns the terms of the pool at an index: its required client classes, additional classes
    /// and options.
    #[must_use]
    pub fn pool(&self, pool: PoolIndex) -> &ScopeTerms<u8> {
        &self.pool_terms[pool.0 as usize]
    }

    /// Returns the terms of the shared network of a subnet; `None` outside of shared networks.
    #[must_use]
    pub fn network(&self, subnet: SubnetIndex) -> Option<&ScopeTerms<u8>> {
        self.subnet(subnet).network.map(|network| &self.networks[network])
    }

    /// Returns the terms of a client class; `None` when the class is not configured.
    #[must_use]
    pub fn class(&self, class: ClassIndex) -> Option<&CompiledClassTerms4> {
        self.classes.position(class).map(|position| &self.class_terms[position])
    }

    /// Returns true if clients in these classes may be served from `subnet`.
    #[must_use]
    pub fn admits(&self, subnet: SubnetIndex, classes: &ClassSet) -> bool {
        !self.has_guards
            || self.subnet(subnet).scope.guard.admits(classes)
                && self.network(subnet).is_none_or(|network| network.guard.admits(classes))
    }

    /// Returns the subnets that share a link with `subnet`, beginning with itself.
    #[must_use]
    pub fn link_subnets(&self, subnet: SubnetIndex) -> &[SubnetIndex] {
        self.links.subnets_from(subnet)
    }

    /// Returns the subnet whose prefix contains `address`.
    #[must_use]
    pub fn subnet_by_prefix(&self, address: Ipv4Addr) -> Option<SubnetIndex> {
        self.by_prefix.find(u32::from(address))
    }

    /// Returns the first subnet whose prefix contains `address` and that serves clients in these
    /// classes.
    #[must_use]
    pub fn subnet_of_address(&self, address: Ipv4Addr, set: &ClassSet) -> Option<SubnetIndex> {
        self.by_prefix.find_where(u32::from(address), |subnet| self.admits(subnet, set))
    }

    /// Returns the first subnet that has `relay` among its relay addresses and serves clients in
    /// these classes.
    #[must_use]
    pub fn subnet_of_relay(&self, relay: Ipv4Addr, set: &ClassSet) -> Option<SubnetIndex> {
        self.by_relay.find_where(&relay, |subnet| self.admits(subnet, set))
    }

    /// Returns the first subnet whose direct clients are on the interface `name` and that serves
    /// clients in these classes.
    #[must_use]
    pub fn subnet_of_interface(&self, name: &str, set: &ClassSet) -> Option<SubnetIndex> {
        self.by_interface.find_where(name, |subnet| self.admits(subnet, set))
    }

    /// Returns the pools of the link that `first` is on, in the order of a search that begins
    /// there.
    #[must_use]
    pub fn pool_order(&self, first: SubnetIndex) -> &[PoolIndex] {
        self.links.pool_order_from(first)
    }

    /// Returns the pools of `subnet` itself.
    pub fn pools_of(&self, subnet: SubnetIndex) -> impl Iterator<Item = PoolIndex> {
        let order = self.pool_order(subnet).iter().copied();
        order.take_while(move |&pool| self.subnet_of(pool) == subnet)
    }

    /// Returns true if every client may use every pool of the link that `subnet` is on, and so
    /// [`Self::pool_order`] as it is.
    #[must_use]
    pub fn is_open(&self, subnet: SubnetIndex) -> bool {
        !self.subnet(subnet).is_link_guarded
    }

    /// Returns true if clients in these classes may use a pool.
    #[must_use]
    pub fn admits_to_pool(&self, pool: PoolIndex, set: &ClassSet) -> bool {
        !self.has_guards
            || self.pool(pool).guard.admits(set) && self.admits(self.subnet_of(pool), set)
    }

    /// Returns the settings for the names of clients with an address of `subnet`, from `pool`.
    #[must_use]
    pub fn names(&self, subnet: SubnetIndex, pool: Option<PoolIndex>) -> &NameTerms {
        let of_pool = pool.and_then(|pool| self.pool_names[pool.0 as usize].as_deref());
        of_pool.unwrap_or_else(|| &self.subnet(subnet).names)
    }

    /// Returns true if a client that names the server identifier `address` means this server.
    #[must_use]
    pub fn is_server_id(&self, address: Ipv4Addr) -> bool {
        self.ignores_server_id || self.server_ids.binary_search(&address).is_ok()
    }

    /// Returns the pool that contains `address`, among the pools of the subnets that share a link
    /// with `subnet`.
    #[must_use]
    pub fn find_pool(&self, subnet: SubnetIndex, address: Ipv4Addr) -> Option<PoolLocation> {
        self.links.find_pool(subnet, u32::from(address))
    }

    /// Returns true if `address` lies in the prefix of `subnet`.
    #[must_use]
    pub fn contains(&self, subnet: SubnetIndex, address: Ipv4Addr) -> bool {
        let (first, last) = self.subnet(subnet).bounds;
        (first..=last).contains(&u32::from(address))
    }

    /// Returns true if `address` lies in a prefix of the link that `subnet` is on.
    #[must_use]
    pub fn is_on_link(&self, subnet: SubnetIndex, address: Ipv4Addr) -> bool {
        self.link_subnets(subnet).iter().any(|&neighbor| self.contains(neighbor, address))
    }
}

fn bounds(address: Ipv4Addr, len: u8) -> (u32, u32) {
    u32::from(address).bounds(len)
}

fn networks_of(config: &Dhcp4, classes: &Classes) -> Vec<ScopeTerms<u8>> {
    let networks = config.networks.iter();
    networks.map(|own| ScopeTerms::compile(&own.guards, &own.options, classes)).collect()
}

fn pools_of(config: &Dhcp4) -> Vec<PoolSpec> {
    config
        .subnets
        .iter()
        .flat_map(|subnet| subnet.pools.iter().map(move |pool| (subnet, pool)))
        .map(|(subnet, pool)| PoolSpec {
            subnet_id: subnet.id,
            pool_id: pool.pool_id,
            allocator: allocator(subnet.allocator),
            first: pool.first,
            last: pool.last,
        })
        .collect()
}

fn pool_names_of(config: &Dhcp4) -> Vec<Option<Box<NameTerms>>> {
    let names = |subnet: &Subnet4| {
        let of_pool = |pool: &Pool4| NameTerms::for_pool(&pool.names, &subnet.names);
        subnet.pools.iter().map(of_pool).collect::<Vec<_>>()
    };
    config.subnets.iter().flat_map(names).collect()
}

fn links_of(config: &Dhcp4) -> Links<u32> {
    let networks = config.subnets.iter().map(|subnet| subnet.network);
    let mut links = Links::new(config.networks.len(), networks);
    let ranges = (0..)
        .zip(&config.subnets)
        .flat_map(|(index, subnet)| subnet.pools.iter().map(move |pool| (index, pool)));
    for (pool, (subnet, range)) in (0..).map(PoolIndex).zip(ranges) {
        links.add_pool(subnet, pool, range.first.into(), range.last.into());
    }
    links
}

/// Returns every server identifier (option 54) that the configuration sets in any scope but pools
/// and reservations, which Kea does not consider.
fn server_ids_of(config: &Dhcp4) -> Vec<Ipv4Addr> {
    let subnets = config.subnets.iter().map(|subnet| &subnet.options);
    let networks = config.networks.iter().map(|network| &network.options);
    let classes = config.client_classes.iter().map(|class| &class.options);
    let mut server_ids: Vec<Ipv4Addr> = subnets
        .chain(networks)
        .chain(classes)
        .chain([&config.options])
        .flatten()
        .filter(|option| option.code == option::SERVER_IDENTIFIER)
        .filter_map(|option| Some(<[u8; 4]>::try_from(&*option.octets).ok()?.into()))
        .collect();
    server_ids.sort_unstable();
    server_ids
}

/// Returns true if a subnet, its network or one of its pools is for clients of some classes only.
fn is_guarded(config: &Dhcp4, subnet: &Subnet4) -> bool {
    let network = subnet.network.map(|network| &config.networks[network].guards);
    let pools = subnet.pools.iter().map(|pool| &pool.guards);
    let mut guards = pools.chain([&subnet.guards]).chain(network);
    guards.any(|guards| !guards.required.is_empty())
}

fn compile_subnet(config: &Dhcp4, subnet: &Subnet4, classes: &Classes) -> Subnet {
    let (first, last) = bounds(subnet.prefix.0, subnet.prefix.1);
    let is_any_on_link = |is_it: &dyn Fn(&Subnet4) -> bool| match subnet.network {
        Some(network) => config.networks[network]
            .subnets
            .iter()
            .any(|&neighbor| is_it(&config.subnets[neighbor])),
        None => is_it(subnet),
    };
    Subnet {
        id: subnet.id,
        is_in_network: subnet.network.is_some(),
        is_link_guarded: is_any_on_link(&|subnet| is_guarded(config, subnet)),
        mask: Ipv4Addr::from(!(first ^ last)),
        valid_lifetime: subnet.valid_lifetime,
        adaptive_threshold: adaptive::threshold(
            subnet.adaptive_lease_time_threshold,
            subnet.allocator,
        ),
        renew_timer_s: subnet.renew_timer_s,
        rebind_timer_s: subnet.rebind_timer_s,
        tee_parts: subnet.calculate_tee_times.then_some((subnet.t1_percent, subnet.t2_percent)),
        repeat: RepeatPolicy::new(
            subnet.cache_threshold,
            subnet.cache_max_age_s,
            &config.global.lease_database,
            &config.global.godwit,
        ),
        is_authoritative: subnet.authoritative,
        match_client_id: subnet.match_client_id,
        boot: BootTerms {
            next_server: Some(subnet.next_server),
            server_hostname: subnet.server_hostname.as_str().into(),
            boot_file_name: subnet.boot_file_name.as_str().into(),
        },
        names: NameTerms::compile(&subnet.names),
        offer_lifetime_s: subnet.offer_lifetime_s,
        scope: ScopeTerms::compile(&subnet.guards, &subnet.options, classes),
        reservation_modes: subnet.reservation_modes,
        stores_extended_info: subnet.store_extended_info,
        is_link_storing: is_any_on_link(&|subnet| subnet.store_extended_info),
        bounds: (first, last),
        network: subnet.network,
    }
}
