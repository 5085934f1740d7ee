//! Compilation of a DHCPv4 configuration, and the settings that only DHCPv4 has.

use base::AddressBits as _;
use core::net::Ipv4Addr;
use std::sync::Arc;

use dhcp_config::Hook;
use dhcp_config::v4::{Dhcp4, Pool4, Subnet4};
use dhcp_lease::v4::{PoolIndex, PoolSet, PoolSpec, V4};
use dhcp_wire::v4::option;

use super::hosts::BootTerms;
use super::scopes::{self, CompiledClassTerms4};
use crate::adaptive;
use crate::classify::{Classes, StringProgram};
use crate::client_name::NameTerms;
use crate::links::{Links, PoolLocation, allocator};
use crate::options::ScopeOptions;
use crate::preference::Preference;
use crate::prefixes::{PrefixTable, SubnetIndex};
use crate::protocol::parsing_of;
use crate::repeat::RepeatPolicy;
use crate::scope_terms::ScopeTerms;
use crate::snapshot::{PoolTerms, ScopedProtocol};
use crate::subnet_keys::SubnetKeys;

/// Compiled DHCPv4 configuration.
pub type Snapshot = crate::snapshot::Snapshot<V4>;
/// Subnet of a compiled DHCPv4 configuration.
pub type Subnet = crate::snapshot::Subnet<V4>;

/// Settings that only DHCPv4 configurations have, compiled.
#[derive(Debug)]
pub struct Dhcp4SnapshotTerms {
    /// Expression that makes the identifiers of Kea's flex-id hook (`identifier-expression`);
    /// `None` when the hook is not active.
    pub flex_id: Option<StringProgram>,
    /// True if flex-id identifiers replace client identifiers (`replace-client-id`).
    pub flex_id_replaces_client_id: bool,
    /// True if flex-id identifiers look like client identifiers that hold a DUID.
    pub flex_id_is_like_a_duid: bool,
    /// True if the server serves BOOTP clients (Kea's hook library `libdhcp_bootp.so`).
    pub serves_bootp: bool,
    /// True if replies repeat the client identifier of the request (RFC 6842; `echo-client-id`).
    pub echo_client_id: bool,
    /// True if the server refuses clients that no subnet serves (global `authoritative`).
    pub is_authoritative: bool,
    /// True if the server ignores the link selection of relay agents (RFC 3527;
    /// `ignore-rai-link-selection`).
    pub ignores_link_selection: bool,
    /// True if messages of clients that renew past their relay agent count as if the agent had
    /// forwarded them (`stash-agent-options`).
    pub stashes_agent_options: bool,
    /// True if clients that chose another server (option 54) are served like those that chose this
    /// one (`ignore-dhcp-server-identifier`).
    ignores_server_id: bool,
    /// Server identifiers (option 54) that the operator configured in any scope, ascending.
    server_ids: Vec<Ipv4Addr>,
}

/// Settings that only DHCPv4 subnets have, compiled.
#[derive(Debug)]
pub struct Dhcp4SubnetTerms {
    /// True if any pool, subnet or network on the subnet's link is for clients of some classes
    /// only.
    is_link_guarded: bool,
    /// Mask of the subnet's prefix.
    pub mask: Ipv4Addr,
    /// True if the server may refuse clients of the subnet whose leases it does not know (RFC 2131
    /// §4.3.2; `authoritative`).
    pub is_authoritative: bool,
    /// True if client identifiers distinguish the subnet's clients (`match-client-id`).
    pub match_client_id: bool,
    /// Boot fields of replies in the subnet: `siaddr`, `sname` and `file`.
    pub boot: BootTerms,
    /// Lifetime of the leases that DHCPOFFERs in the subnet make, in seconds (`offer-lifetime`); 0
    /// = offers make none.
    pub offer_lifetime_s: u32,
    /// True if leases of any subnet on the link store relay agent information
    /// (`store-extended-info`).
    pub is_link_storing: bool,
}

impl ScopedProtocol for V4 {
    type Bits = u32;
    type SnapshotTerms = Dhcp4SnapshotTerms;
    type SubnetTerms = Dhcp4SubnetTerms;
    type ClassTerms = CompiledClassTerms4;
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
            own: Dhcp4SnapshotTerms {
                flex_id: scopes::flex_id_of(config, &classes),
                flex_id_replaces_client_id: config.global.flex_id.replaces_client_id,
                flex_id_is_like_a_duid: config.global.flex_id.is_like_a_duid,
                serves_bootp: config.global.hooks.contains(&Hook::Bootp),
                echo_client_id: config.echo_client_id,
                is_authoritative: config.authoritative,
                stashes_agent_options: config.stash_agent_options,
                ignores_link_selection: config.compatibility.ignore_rai_link_selection,
                ignores_server_id: config.compatibility.ignore_dhcp_server_identifier,
                server_ids: server_ids_of(config),
            },
            subnets: config.subnets.iter().map(|s| compile_subnet(config, s, &classes)).collect(),
            links: links_of(config),
            by_prefix: PrefixTable::new(&prefixes),
            by_relay: SubnetKeys::new(relays),
            by_interface: SubnetKeys::new(interfaces),
            pools: configure(&specs, &aside),
            pool_terms: pool_terms_of(config, &classes),
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
            classes,
            hold_ns: u64::from(config.global.godwit.hold_time_ms) * base::time::NS_PER_MS,
            decline_probation_s: config.global.decline_probation_period_s,
            parsing: parsing_of(config.compatibility.lenient_option_parsing),
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

    /// Returns the pools of the link that `first` is on, in the order of a search that begins
    /// there.
    #[must_use]
    pub fn pool_order(&self, first: SubnetIndex) -> &[PoolIndex] {
        self.links.pool_order_from(first)
    }

    /// Returns the pools of `subnet` itself.
    pub fn pools_of(&self, subnet: SubnetIndex) -> impl Iterator<Item = PoolIndex> {
        let order = self.pool_order(subnet).iter().copied();
        order.take_while(move |&pool| self.pool_terms(pool).subnet == subnet)
    }

    /// Returns true if every client may use every pool of the link that `subnet` is on, and so
    /// [`Self::pool_order`] as it is.
    #[must_use]
    pub fn is_open(&self, subnet: SubnetIndex) -> bool {
        !self.subnet(subnet).own.is_link_guarded
    }

    /// Returns true if a client that names the server identifier `address` means this server.
    #[must_use]
    pub fn is_server_id(&self, address: Ipv4Addr) -> bool {
        self.own.ignores_server_id || self.own.server_ids.binary_search(&address).is_ok()
    }

    /// Returns the pool that contains `address`, among the pools of the subnets that share a link
    /// with `subnet`.
    #[must_use]
    pub fn find_pool(&self, subnet: SubnetIndex, address: Ipv4Addr) -> Option<PoolLocation> {
        self.links.find_pool(subnet, u32::from(address))
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

fn pool_terms_of(config: &Dhcp4, classes: &Classes) -> Vec<PoolTerms<u8>> {
    let indexed = (0..).zip(&config.subnets);
    let pools =
        indexed.flat_map(|(at, subnet)| subnet.pools.iter().map(move |pool| (at, subnet, pool)));
    let compile = |(subnet, around, pool): (SubnetIndex, &Subnet4, &Pool4)| PoolTerms {
        id: pool.pool_id,
        subnet,
        scope: ScopeTerms::compile(&pool.guards, &pool.options, classes),
        names: NameTerms::for_pool(&pool.names, &around.names),
    };
    pools.map(compile).collect()
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
        own: Dhcp4SubnetTerms {
            is_link_guarded: is_any_on_link(&|subnet| is_guarded(config, subnet)),
            mask: Ipv4Addr::from(!(first ^ last)),
            is_authoritative: subnet.authoritative,
            match_client_id: subnet.match_client_id,
            offer_lifetime_s: subnet.offer_lifetime_s,
            is_link_storing: is_any_on_link(&|subnet| subnet.store_extended_info),
            boot: BootTerms {
                next_server: Some(subnet.next_server),
                server_hostname: subnet.server_hostname.as_str().into(),
                boot_file_name: subnet.boot_file_name.as_str().into(),
            },
        },
        id: subnet.id,
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
        names: NameTerms::compile(&subnet.names),
        scope: ScopeTerms::compile(&subnet.guards, &subnet.options, classes),
        reservation_modes: subnet.reservation_modes,
        stores_relay_info: subnet.store_extended_info,
        bounds: (first, last),
        network: subnet.network,
    }
}
