//! The configuration as the packet path reads it: tables built once at load, never changed. A
//! transaction keeps the snapshot that it began with.

use core::net::Ipv4Addr;
use std::sync::Arc;

use dhcp_config::v4::{Dhcp4, Lifetime, Pool4, Subnet4};
use dhcp_config::{Hook, IdentifierKind, ReservationModes};
use dhcp_lease::v4::{PoolIndex, PoolSet, PoolSpec, V4};
use dhcp_wire::Parsing;
use dhcp_wire::v4::option;

use super::hosts::BootTerms;
use super::scopes::{self, ClassTerms};
use crate::adaptive;
use crate::classify::{ClassIndex, ClassSet, Classes, StringProgram};
use crate::client_name::NameTerms;
use crate::hosts::{HostTerms, Hosts};
use crate::links::{Links, PoolPlace, allocator};
use crate::options::ScopeOptions;
use crate::preference::Preference;
use crate::prefixes::{AddressBits, PrefixTable, SubnetIndex};
use crate::protocol::parsing_of;
use crate::repeat::RepeatPolicy;
use crate::scope_terms::ScopeTerms;
use crate::subnet_keys::SubnetKeys;

/// A compiled configuration.
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
    /// Whether any pool, subnet or network is for some clients only.
    has_guards: bool,
    /// Who is in which class.
    pub classes: Classes,
    /// In the order of `client-classes`.
    class_terms: Vec<ClassTerms>,
    /// For whom something is reserved.
    pub hosts: Hosts<V4, HostTerms<V4>>,
    /// Kinds of identifiers by which hosts are looked up, in order.
    pub host_identifiers: Vec<IdentifierKind>,
    /// Whether hosts of the global scope are looked up before the subnet is selected.
    pub looks_up_hosts_early: bool,
    /// What makes the flex-id hook's identifiers.
    pub flex_id: Option<StringProgram>,
    /// Whether they take the place of client identifiers.
    pub flex_id_replaces_client_id: bool,
    /// Whether those look like ones that hold a DUID.
    pub flex_id_is_like_a_duid: bool,
    /// Whether BOOTP clients are served.
    pub serves_bootp: bool,
    /// Options for everyone.
    pub options: ScopeOptions<u8>,
    /// Nanoseconds that an offer holds its address.
    pub hold_ns: u64,
    /// Seconds that a declined address stays out of use.
    pub decline_probation_s: u32,
    /// Whether replies repeat the client identifier (RFC 6842).
    pub echo_client_id: bool,
    /// Whether clients that no subnet serves are refused.
    pub is_authoritative: bool,
    /// Whether relay agents' link selection (RFC 3527) is not looked at.
    pub ignores_link_selection: bool,
    /// How options are read that are not as defined.
    pub parsing: Parsing,
    /// Whether clients that renew without their relay agent count as if it had sent them.
    pub stashes_agent_options: bool,
    /// Whether clients that chose another server are served like ours.
    ignores_server_id: bool,
    /// Server identifiers that the operator configured in any scope, ascending.
    server_ids: Vec<Ipv4Addr>,
    /// Where allocation begins in shared networks.
    pub preference: Preference,
}

/// One subnet with everything that replies in it need.
#[derive(Debug)]
pub struct Subnet {
    /// `id` in the configuration.
    pub id: u32,
    /// Whether it belongs to a shared network.
    pub is_in_network: bool,
    /// Whether anything on its link is for some clients only.
    is_link_guarded: bool,
    /// Mask of the prefix.
    pub mask: Ipv4Addr,
    /// Lifetimes.
    pub valid_lifetime: Lifetime,
    /// The part of its pools from which on leases are short; `None` when they never are.
    pub adaptive_threshold: Option<f64>,
    /// Explicit T1, seconds.
    pub renew_timer_s: Option<u32>,
    /// Explicit T2, seconds.
    pub rebind_timer_s: Option<u32>,
    /// T1 and T2 as parts of the lifetime, when they are calculated.
    pub tee_parts: Option<(f64, f64)>,
    /// Which leases are repeated instead of renewed.
    pub repeat: RepeatPolicy,
    /// RFC 2131 §4.3.2: may speak for the network.
    pub is_authoritative: bool,
    /// Whether client identifiers tell clients apart.
    pub match_client_id: bool,
    /// `siaddr`, `sname` and `file`.
    pub boot: BootTerms,
    /// What its clients are called.
    names: NameTerms,
    /// How long offers are leases, seconds; 0 = they are none.
    pub offer_lifetime_s: u32,
    /// Who may be served, and the subnet's own options.
    pub scope: ScopeTerms<u8>,
    /// Which reservations count.
    pub modes: ReservationModes,
    /// Whether leases keep what the relay agent said.
    pub stores_extended_info: bool,
    /// Whether leases of any subnet on its link do.
    pub is_link_storing: bool,
    /// First and last address of the prefix.
    bounds: (u32, u32),
    /// Position of its shared network among those of the configuration.
    pub network: Option<usize>,
}

impl Snapshot {
    /// Compiles `config`. `configure` is given the pools and makes the pool set (the lease table
    /// does).
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
                let (first, last) = bounds(subnet.prefix);
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
            host_identifiers: config.host_identifiers.clone(),
            looks_up_hosts_early: config.early_global_reservations_lookup,
            class_terms: config
                .client_classes
                .iter()
                .map(|class| ClassTerms::compile(class, &classes))
                .collect(),
            flex_id: scopes::flex_id_of(config, &classes),
            flex_id_replaces_client_id: config.flex_id.replaces_client_id,
            flex_id_is_like_a_duid: config.flex_id.is_like_a_duid,
            classes,
            serves_bootp: config.hooks.contains(&Hook::Bootp),
            hold_ns: u64::from(config.godwit.hold_time_ms) * base::time::NS_PER_MS,
            decline_probation_s: config.decline_probation_period_s,
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

    /// The subnet at `index`.
    #[must_use]
    pub fn subnet(&self, index: SubnetIndex) -> &Subnet {
        &self.subnets[index as usize]
    }

    /// How many subnets there are.
    #[must_use]
    pub fn subnet_count(&self) -> usize {
        self.subnets.len()
    }

    /// The pools.
    #[must_use]
    pub fn pools(&self) -> &PoolSet {
        &self.pools
    }

    /// `pool-id` of a pool.
    #[must_use]
    pub fn pool_id(&self, pool: PoolIndex) -> u32 {
        self.pools.specs()[pool.0 as usize].pool_id
    }

    /// The subnet that a pool belongs to.
    #[must_use]
    pub fn subnet_of(&self, pool: PoolIndex) -> SubnetIndex {
        self.pool_subnets[pool.0 as usize]
    }

    /// What a pool says.
    #[must_use]
    pub fn pool(&self, pool: PoolIndex) -> &ScopeTerms<u8> {
        &self.pool_terms[pool.0 as usize]
    }

    /// What the shared network of a subnet says.
    #[must_use]
    pub fn network(&self, subnet: SubnetIndex) -> Option<&ScopeTerms<u8>> {
        self.subnet(subnet).network.map(|network| &self.networks[network])
    }

    /// What a configured class says.
    #[must_use]
    pub fn class(&self, class: ClassIndex) -> Option<&ClassTerms> {
        self.classes.position(class).map(|position| &self.class_terms[position])
    }

    /// Whether clients in these classes may be served from `subnet`.
    #[must_use]
    pub fn admits(&self, subnet: SubnetIndex, classes: &ClassSet) -> bool {
        !self.has_guards
            || self.subnet(subnet).scope.guard.admits(classes)
                && self.network(subnet).is_none_or(|network| network.guard.admits(classes))
    }

    /// The subnets that share a link with `subnet`, beginning with itself.
    #[must_use]
    pub fn neighbors(&self, subnet: SubnetIndex) -> &[SubnetIndex] {
        self.links.subnets_from(subnet)
    }

    /// The subnet whose prefix holds `address`.
    #[must_use]
    pub fn subnet_by_prefix(&self, address: Ipv4Addr) -> Option<SubnetIndex> {
        self.by_prefix.find(u32::from(address))
    }

    /// The first subnet whose prefix holds `address` and that serves clients in these classes.
    #[must_use]
    pub fn subnet_of_address(&self, address: Ipv4Addr, set: &ClassSet) -> Option<SubnetIndex> {
        self.by_prefix.find_where(u32::from(address), |subnet| self.admits(subnet, set))
    }

    /// The first subnet that names `relay` among its relay addresses and serves these clients.
    #[must_use]
    pub fn subnet_of_relay(&self, relay: Ipv4Addr, set: &ClassSet) -> Option<SubnetIndex> {
        self.by_relay.find_where(&relay, |subnet| self.admits(subnet, set))
    }

    /// The first subnet whose direct clients come over the interface called `name` and that serves
    /// these.
    #[must_use]
    pub fn subnet_of_interface(&self, name: &str, set: &ClassSet) -> Option<SubnetIndex> {
        self.by_interface.find_where(name, |subnet| self.admits(subnet, set))
    }

    /// The pools of the link that `first` is on, in the order of a search that begins there.
    #[must_use]
    pub fn pool_order(&self, first: SubnetIndex) -> &[PoolIndex] {
        self.links.pool_order_from(first)
    }

    /// The pools of `subnet` itself.
    pub fn pools_of(&self, subnet: SubnetIndex) -> impl Iterator<Item = PoolIndex> {
        let order = self.pool_order(subnet).iter().copied();
        order.take_while(move |&pool| self.subnet_of(pool) == subnet)
    }

    /// Whether every client may use every pool of the link that `subnet` is on, and so
    /// [`Self::pool_order`] as it is.
    #[must_use]
    pub fn is_open(&self, subnet: SubnetIndex) -> bool {
        !self.subnet(subnet).is_link_guarded
    }

    /// Whether clients in these classes may use a pool.
    #[must_use]
    pub fn admits_to_pool(&self, pool: PoolIndex, set: &ClassSet) -> bool {
        !self.has_guards
            || self.pool(pool).guard.admits(set) && self.admits(self.subnet_of(pool), set)
    }

    /// What clients are called that have an address of `subnet`, from `pool`.
    #[must_use]
    pub fn names(&self, subnet: SubnetIndex, pool: Option<PoolIndex>) -> &NameTerms {
        let of_pool = pool.and_then(|pool| self.pool_names[pool.0 as usize].as_deref());
        of_pool.unwrap_or_else(|| &self.subnet(subnet).names)
    }

    /// Whether a client that names this server means us.
    #[must_use]
    pub fn is_server_id(&self, address: Ipv4Addr) -> bool {
        self.ignores_server_id || self.server_ids.binary_search(&address).is_ok()
    }

    /// The pool that holds `address`, among those that share a link with `subnet`.
    #[must_use]
    pub fn place(&self, subnet: SubnetIndex, address: Ipv4Addr) -> Option<PoolPlace> {
        self.links.place(subnet, u32::from(address))
    }

    /// Whether `address` lies in the prefix of `subnet`.
    #[must_use]
    pub fn contains(&self, subnet: SubnetIndex, address: Ipv4Addr) -> bool {
        let (first, last) = self.subnet(subnet).bounds;
        (first..=last).contains(&u32::from(address))
    }

    /// Whether `address` lies in a prefix of the link that `subnet` is on.
    #[must_use]
    pub fn is_on_link(&self, subnet: SubnetIndex, address: Ipv4Addr) -> bool {
        self.neighbors(subnet).iter().any(|&neighbor| self.contains(neighbor, address))
    }
}

fn bounds((address, len): (Ipv4Addr, u8)) -> (u32, u32) {
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
        let of_pool = |pool: &Pool4| NameTerms::of_pool(&pool.names, &subnet.names);
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
        links.add_pool(subnet, pool, (range.first.into(), range.last.into()));
    }
    links
}

/// Every server identifier (option 54) that is configured where Kea looks for it: anywhere but in
/// pools and reservations.
fn server_ids_of(config: &Dhcp4) -> Vec<Ipv4Addr> {
    let subnets = config.subnets.iter().map(|subnet| &subnet.options);
    let networks = config.networks.iter().map(|network| &network.options);
    let classes = config.client_classes.iter().map(|class| &class.options);
    let mut found: Vec<Ipv4Addr> = subnets
        .chain(networks)
        .chain(classes)
        .chain([&config.options])
        .flatten()
        .filter(|option| option.code == option::SERVER_IDENTIFIER)
        .filter_map(|option| Some(<[u8; 4]>::try_from(&*option.octets).ok()?.into()))
        .collect();
    found.sort_unstable();
    found
}

/// Whether a subnet, its network or one of its pools is for some clients only.
fn is_guarded(config: &Dhcp4, subnet: &Subnet4) -> bool {
    let network = subnet.network.map(|network| &config.networks[network].guards);
    let pools = subnet.pools.iter().map(|pool| &pool.guards);
    let mut guards = pools.chain([&subnet.guards]).chain(network);
    guards.any(|guards| !guards.required.is_empty())
}

fn compile_subnet(config: &Dhcp4, subnet: &Subnet4, classes: &Classes) -> Subnet {
    let (first, last) = bounds(subnet.prefix);
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
        repeat: RepeatPolicy::of(
            subnet.cache_threshold,
            subnet.cache_max_age_s,
            (&config.lease_database, &config.godwit),
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
        modes: subnet.reservation_modes,
        stores_extended_info: subnet.store_extended_info,
        is_link_storing: is_any_on_link(&|subnet| subnet.store_extended_info),
        bounds: (first, last),
        network: subnet.network,
    }
}
