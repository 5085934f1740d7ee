//! DHCPv6 configuration as the packet path reads it: tables built once at load, never changed. A
//! transaction keeps the snapshot that it began with.

use base::AddressBits as _;
use core::net::Ipv6Addr;
use std::sync::Arc;

use dhcp_config::v6::{ClientClass6, Dhcp6, Lifetime, Subnet6};
use dhcp_config::{FlexId, IdentifierKind, MacSource, ReservationModes};
use dhcp_lease::v6::{PoolIndex, PoolSet, PoolSpec, Resource, ResourceKind, Spans, V6};
use dhcp_wire::OptionParsing;

use super::pools::Pools;
use super::prefix_order::{self, PrefixOrder};
use super::references;
use crate::adaptive;
use crate::classify::{ClassIndex, ClassSet, Classes, StringProgram};
use crate::client_name::NameTerms;
use crate::hosts::{HostTerms, Hosts};
use crate::links::{Links, PoolLocation};
use crate::options::ScopeOptions;
use crate::preference::Preference;
use crate::prefixes::{PrefixTable, SubnetIndex};
use crate::protocol::parsing_of;
use crate::repeat::RepeatPolicy;
use crate::scope_terms::ScopeTerms;
use crate::subnet_keys::SubnetKeys;

/// Compiled DHCPv6 configuration.
#[derive(Debug)]
pub struct Snapshot {
    /// DUID of the server, which replies carry as Server Identifier (option 2).
    pub server_duid: Box<[u8]>,
    /// Options that the global scope sets.
    pub options: ScopeOptions<u16>,
    /// Codes of the options that relay agents may supply (RFC 6422, `relay-supplied-options`),
    /// ascending.
    pub relay_supplied: Vec<u16>,
    /// Sources from which clients' hardware addresses are derived, in order (`mac-sources`).
    pub mac_sources: Vec<MacSource>,
    /// Client classes of the configuration, compiled.
    pub classes: Classes,
    /// Hosts with reservations, of all scopes of the configuration.
    pub hosts: Hosts<V6, HostTerms<V6>>,
    /// Kinds of identifiers by which clients' hosts are looked up, in order
    /// (`host-reservation-identifiers`).
    pub host_identifiers: Vec<IdentifierKind>,
    /// True if the client's global host is looked up before the subnet is selected
    /// (`early-global-reservations-lookup`).
    pub looks_up_global_host_early: bool,
    /// Settings of Kea's flex-id hook for identifiers of clients.
    pub flex_id: FlexIdTerms,
    /// True if clients may register addresses of their own (RFC 9686).
    pub allows_registration: bool,
    /// Settings for the names of clients that belong to no subnet.
    pub default_names: NameTerms,
    /// Mode in which options that do not match their definitions are parsed
    /// (`lenient-option-parsing`).
    pub parsing: OptionParsing,
    /// Time for which an ADVERTISE holds its address or prefix in memory, in nanoseconds.
    pub hold_ns: u64,
    /// Time for which a declined address stays out of use, in seconds (`decline-probation-period`).
    pub decline_probation_s: u32,
    /// Subnets at which allocation of addresses begins in shared networks.
    pub preference: Preference,
    /// Subnets at which allocation of prefixes begins in shared networks.
    pub prefix_preference: Preference,
    subnets: Vec<Subnet>,
    networks: Vec<ScopeTerms<u16>>,
    class_terms: Vec<CompiledClassTerms6>,
    /// True if any pool, subnet or shared network of the configuration is for clients of some
    /// classes only (`client-classes`).
    has_guards: bool,
    by_prefix: PrefixTable<u128>,
    by_relay: SubnetKeys<Ipv6Addr>,
    by_interface: SubnetKeys<Box<str>>,
    by_interface_id: SubnetKeys<Box<[u8]>>,
    addresses: Links<u128>,
    prefixes: Links<u128>,
    prefix_orders: Vec<PrefixOrder>,
    /// Spans of the reserved addresses and prefixes that overlap pools of the other kind (addresses
    /// or prefixes) or of another prefix length.
    reserved_across: Spans<()>,
    pools: Arc<PoolSet>,
    pool_terms: Vec<PoolTerms>,
}

/// Subnet of the configuration with all data that replies in it need.
#[derive(Debug)]
pub struct Subnet {
    /// `id` of the subnet in the configuration.
    pub id: u32,
    /// First and last address of the subnet's prefix, as numbers.
    pub bounds: (u128, u128),
    /// Limits of the preferred lifetimes of the subnet's leases (`preferred-lifetime`).
    pub preferred_lifetime: Lifetime,
    /// Limits of the valid lifetimes of the subnet's leases (`valid-lifetime`).
    pub valid_lifetime: Lifetime,
    /// Used part of the subnet's prefix pools, 0 to 1, from which on leases of prefixes are short
    /// (`adaptive-lease-time-threshold`); `None` when they never are.
    pub adaptive_threshold: Option<f64>,
    /// Configured T1 of the subnet's leases, in seconds (`renew-timer`).
    pub renew_timer_s: Option<u32>,
    /// Configured T2 of the subnet's leases, in seconds (`rebind-timer`).
    pub rebind_timer_s: Option<u32>,
    /// T1 and T2 as parts of the lease's preferred lifetime, 0 to 1, when they are calculated
    /// (`calculate-tee-times`).
    pub tee_parts: Option<(f64, f64)>,
    /// Policy for repeating the subnet's leases instead of renewing them (`cache-threshold`).
    pub repeat: RepeatPolicy,
    /// True if clients of the subnet may get their leases in two messages (`rapid-commit`; RFC 9915
    /// §21.14).
    pub allows_rapid_commit: bool,
    /// True if the subnet's leases store relay agent information (`store-extended-info`).
    pub stores_relay_info: bool,
    /// Position of the subnet's shared network among those of the configuration; `None` outside of
    /// shared networks.
    pub network: Option<usize>,
    /// Reservation modes of the subnet (`reservations-global` and others).
    pub reservation_modes: ReservationModes,
    /// Required client classes, additional classes and options of the subnet.
    pub scope: ScopeTerms<u16>,
    /// Settings for the names of the subnet's clients.
    names: NameTerms,
}

/// Terms that a pool adds to its subnet.
#[derive(Debug)]
pub struct PoolTerms {
    /// `pool-id` of the pool in the configuration.
    pub id: u32,
    /// Subnet that the pool belongs to.
    pub subnet: SubnetIndex,
    /// Required client classes, additional classes and options of the pool.
    pub scope: ScopeTerms<u16>,
    /// Prefix that is excluded from those that the pool delegates (RFC 6603), as configured:
    /// address and length in bits.
    pub excluded: Option<(Ipv6Addr, u8)>,
    /// Settings for the names of clients with the pool's addresses, where they differ from the
    /// subnet's.
    pub names: Option<Box<NameTerms>>,
}

/// Terms that a DHCPv6 client class sets for its members, compiled.
#[derive(Debug)]
pub struct CompiledClassTerms6 {
    /// Options that the class sets for its members.
    pub options: ScopeOptions<u16>,
    /// Limits of the preferred lifetimes of the members' leases, with precedence over those of
    /// subnets.
    pub preferred_lifetime: Option<Lifetime>,
    /// Limits of the valid lifetimes of the members' leases, with precedence over those of subnets.
    pub valid_lifetime: Option<Lifetime>,
}

/// Settings of Kea's flex-id hook, compiled.
#[derive(Debug, Default)]
pub struct FlexIdTerms {
    /// Expression that makes the flexible identifier of a message (`identifier-expression`).
    pub program: Option<StringProgram>,
    /// True if leases are stored under the flexible identifier instead of the client's DUID
    /// (`replace-client-id`).
    pub replaces_client_id: bool,
    /// True if an identity association that is the only one of its kind counts as IAID 0
    /// (`ignore-iaid`).
    pub ignores_iaid: bool,
}

/// Returns an initial preference among the subnets of `config`: of the subnets of one shared
/// network with the same `client-classes`, the one that gave an address or prefix last comes first.
fn preference(config: &Dhcp6) -> Preference {
    let subnets = (0..).zip(&config.subnets);
    Preference::new(subnets.map(|(index, subnet): (usize, _)| match subnet.network {
        Some(network) => (Some(network), 0, &*subnet.guards.required),
        None => (None, index, &[][..]),
    }))
}

impl Snapshot {
    /// Compiles the configuration `config` to a snapshot. `configure` gets the pools and the
    /// reserved addresses and prefixes, and makes the pool set (the lease table does so).
    pub fn compile(
        config: &Dhcp6,
        server_duid: &[u8],
        configure: impl FnOnce(&[PoolSpec], &[Resource]) -> Arc<PoolSet>,
    ) -> Self {
        let classes = Classes::compile(&config.client_classes, references::names(config));
        let hosts = Hosts::compile(references::reservations(config), &classes);
        let pools = Pools::compile(config, &classes);
        let indexed = || (0..).zip(&config.subnets);
        let relays = indexed()
            .flat_map(|(index, subnet)| subnet.relay_addresses.iter().map(move |&a| (a, index)));
        let interfaces = indexed()
            .filter_map(|(index, subnet)| Some((subnet.interface.as_deref()?.into(), index)));
        let interface_ids = indexed()
            .filter_map(|(index, subnet)| Some((subnet.interface_id.as_deref()?.into(), index)));
        let prefixes: Vec<_> = indexed()
            .map(|(index, subnet)| {
                let (first, last) = bounds(subnet);
                (first, last, index)
            })
            .collect();
        let reserved = references::reserved(config, &hosts, &pools);
        Self {
            server_duid: server_duid.into(),
            options: ScopeOptions::compile(&config.options, |name| classes.index(name)),
            relay_supplied: config.relay_supplied_options.clone(),
            mac_sources: config.mac_sources.clone(),
            host_identifiers: config.global.host_identifiers.clone(),
            looks_up_global_host_early: config.global.early_global_reservations_lookup,
            flex_id: compile_flex_id(config, &classes),
            allows_registration: config.allow_address_registration,
            default_names: NameTerms::default(),
            parsing: parsing_of(config.lenient_option_parsing),
            hold_ns: u64::from(config.global.godwit.hold_time_ms) * base::time::NS_PER_MS,
            decline_probation_s: config.global.decline_probation_period_s,
            preference: preference(config),
            prefix_preference: preference(config),
            subnets: config
                .subnets
                .iter()
                .map(|subnet| compile_subnet(config, subnet, &classes))
                .collect(),
            networks: config
                .networks
                .iter()
                .map(|network| ScopeTerms::compile(&network.guards, &network.options, &classes))
                .collect(),
            class_terms: config
                .client_classes
                .iter()
                .map(|class| compile_class(class, &classes))
                .collect(),
            has_guards: references::has_guards(config),
            by_prefix: PrefixTable::new(&prefixes),
            by_relay: SubnetKeys::new(relays),
            by_interface: SubnetKeys::new(interfaces),
            by_interface_id: SubnetKeys::new(interface_ids),
            reserved_across: pools.reserved_across(&reserved),
            prefix_orders: pools.prefix_orders(),
            addresses: pools.addresses,
            prefixes: pools.prefixes,
            pools: configure(&pools.specs, &reserved),
            pool_terms: pools.terms,
            classes,
            hosts,
        }
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

    /// Returns the settings for the names of clients with an address of `subnet`, from `pool`.
    #[must_use]
    pub fn names(&self, subnet: SubnetIndex, pool: Option<PoolIndex>) -> &NameTerms {
        let of_pool = pool.and_then(|pool| self.pool_terms(pool).names.as_deref());
        of_pool.unwrap_or_else(|| &self.subnet(subnet).names)
    }

    /// Returns the terms that a pool adds to its subnet.
    #[must_use]
    pub fn pool_terms(&self, pool: PoolIndex) -> &PoolTerms {
        &self.pool_terms[pool.0 as usize]
    }

    /// Returns the terms of the shared network that a subnet is in.
    #[must_use]
    pub fn network(&self, subnet: &Subnet) -> Option<&ScopeTerms<u16>> {
        subnet.network.map(|network| &self.networks[network])
    }

    /// Returns the terms of a client class; `None` for a class that is not configured.
    #[must_use]
    pub fn class(&self, class: ClassIndex) -> Option<&CompiledClassTerms6> {
        self.classes.position(class).map(|position| &self.class_terms[position])
    }

    /// Returns true if clients in these classes may be served from a subnet.
    #[must_use]
    pub fn admits(&self, subnet: SubnetIndex, classes: &ClassSet) -> bool {
        if !self.has_guards {
            return true;
        }
        let subnet = self.subnet(subnet);
        let network = self.network(subnet);
        subnet.scope.guard.admits(classes)
            && network.is_none_or(|network| network.guard.admits(classes))
    }

    /// Returns true if clients in these classes may be served from a pool.
    #[must_use]
    pub fn admits_to_pool(&self, pool: PoolIndex, classes: &ClassSet) -> bool {
        if !self.has_guards {
            return true;
        }
        let terms = self.pool_terms(pool);
        terms.scope.guard.admits(classes) && self.admits(terms.subnet, classes)
    }

    /// Returns the first subnet, of those that `admits` accepts, whose prefix contains `address`.
    pub fn subnet_by_prefix(
        &self,
        address: Ipv6Addr,
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex> {
        self.by_prefix.find_where(u128::from(address), admits)
    }

    /// Returns the first subnet, of those that `admits` accepts, that has `relay` among its relay
    /// addresses.
    pub fn subnet_by_relay(
        &self,
        relay: Ipv6Addr,
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex> {
        self.by_relay.find_where(&relay, admits)
    }

    /// Returns the first subnet, of those that `admits` accepts, whose direct clients are on the
    /// interface `name`.
    pub fn subnet_by_interface(
        &self,
        name: &str,
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex> {
        self.by_interface.find_where(name, admits)
    }

    /// Returns the first subnet, of those that `admits` accepts, whose configured `interface-id` is
    /// `id`, by which relay agents name the interface towards the client.
    pub fn subnet_by_interface_id(
        &self,
        id: &[u8],
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex> {
        self.by_interface_id.find_where(id, admits)
    }

    /// Returns the subnets that share a link with `first`, beginning with `first` itself.
    #[must_use]
    pub fn link_subnets(&self, first: SubnetIndex) -> &[SubnetIndex] {
        self.addresses.subnets_from(first)
    }

    /// Returns the pools that allocation may use for a message, those of `first` first, in the
    /// order for the prefix length that the client requests, if it requests one. Pools that are not
    /// for clients in `classes` are left out; `buffer` then has the list.
    pub fn pool_order<'p>(
        &'p self,
        first: SubnetIndex,
        kind: ResourceKind,
        requested_len: Option<u8>,
        classes: &ClassSet,
        buffer: &'p mut Vec<PoolIndex>,
    ) -> &'p [PoolIndex] {
        let order = match kind {
            ResourceKind::Address => self.addresses.pool_order_from(first),
            ResourceKind::Prefix => {
                let orders = &self.prefix_orders[self.prefixes.link_of(first)];
                requested_len
                    .and_then(|len| orders.for_len(len))
                    .unwrap_or_else(|| self.prefixes.pool_order_from(first))
            }
        };
        if !self.has_guards {
            return order;
        }
        buffer.clear();
        buffer.extend(order.iter().copied().filter(|&pool| self.admits_to_pool(pool, classes)));
        buffer
    }

    /// Returns the address pool at which a search from `first` begins, for clients that may use all
    /// pools.
    #[must_use]
    pub fn first_pool(&self, first: SubnetIndex) -> Option<PoolIndex> {
        self.addresses.pool_order_from(first).first().copied()
    }

    /// Returns the pools of one kind on the link of `subnet`, in order.
    #[must_use]
    pub fn pools_of_link(&self, subnet: SubnetIndex, kind: ResourceKind) -> &[PoolIndex] {
        match kind {
            ResourceKind::Address => self.addresses.pool_order(subnet),
            ResourceKind::Prefix => self.prefixes.pool_order(subnet),
        }
    }

    /// Returns the prefix pools of `subnet` itself that delegate prefixes of at most `len_max`
    /// bits.
    pub fn prefix_pools_of(
        &self,
        subnet: SubnetIndex,
        len_max: u8,
    ) -> impl Iterator<Item = PoolIndex> {
        let order = self.prefixes.pool_order_from(subnet).iter().copied();
        let own = order.take_while(move |&pool| self.pool_terms(pool).subnet == subnet);
        own.filter(move |pool| self.pools.specs()[pool.0 as usize].len <= len_max)
    }

    /// Returns true if a reserved address or prefix of another kind or length overlaps `resource`.
    #[must_use]
    pub fn overlaps_reserved(&self, resource: Resource) -> bool {
        !self.reserved_across.is_empty()
            && self.reserved_across.overlapping(resource).next().is_some()
    }

    /// Returns the pool that contains the address or prefix `resource`, among the pools of the
    /// subnets that share a link with `subnet`.
    #[must_use]
    pub fn find_pool(&self, subnet: SubnetIndex, resource: Resource) -> Option<PoolLocation> {
        let location = self.pool_around(subnet, resource)?;
        let has_its_len = self.pools.specs()[location.pool.0 as usize].len == resource.len;
        has_its_len.then_some(location)
    }

    /// Continues allocation in the subnets of shared networks in which `previous` allocated last.
    pub fn follow(&self, previous: &Self) {
        self.preference.follow(&previous.preference);
        self.prefix_preference.follow(&previous.prefix_preference);
    }

    /// Returns the preference for the subnet of a shared network at which allocation of addresses
    /// or of prefixes begins.
    #[must_use]
    pub const fn preference_of(&self, kind: ResourceKind) -> &Preference {
        match kind {
            ResourceKind::Address => &self.preference,
            ResourceKind::Prefix => &self.prefix_preference,
        }
    }

    /// Returns the pool on the link of `subnet` that contains `resource`, whatever prefix length
    /// the pool delegates.
    #[must_use]
    pub fn pool_around(&self, subnet: SubnetIndex, resource: Resource) -> Option<PoolLocation> {
        let links = match resource.kind {
            ResourceKind::Address => &self.addresses,
            ResourceKind::Prefix => &self.prefixes,
        };
        links.find_pool(subnet, u128::from(resource.address))
    }

    /// Returns the address or prefix that a client in these classes can have when it requests
    /// `requested`: the prefix of the pool's length around a requested prefix, unless another pool
    /// of the link delegates a length that has precedence for the requested length (RFC 8168 §3.2:
    /// the length counts more than the address).
    #[must_use]
    pub fn grantable(
        &self,
        subnet: SubnetIndex,
        requested: Resource,
        classes: &ClassSet,
    ) -> Resource {
        if requested.kind != ResourceKind::Prefix {
            return requested;
        }
        let Some(location) = self.pool_around(subnet, requested) else { return requested };
        let specs = self.pools.specs();
        let len = |pool: PoolIndex| specs[pool.0 as usize].len;
        let names_len = !matches!(requested.len, 0 | 128);
        let all = self.prefixes.pool_order(subnet).iter().copied();
        let lens = all.filter(|&pool| self.admits_to_pool(pool, classes)).map(len);
        let best = lens.min_by_key(|&len| prefix_order::rank(len, requested.len));
        if names_len && best.is_some_and(|best| best != len(location.pool)) {
            return requested;
        }
        Resource::prefix(requested.address, len(location.pool))
    }

    /// Returns true if `address` lies in a prefix of the link that `subnet` is on.
    #[must_use]
    pub fn is_on_link(&self, subnet: SubnetIndex, address: Ipv6Addr) -> bool {
        let is_shared = |other| self.addresses.is_shared(subnet, other);
        self.by_prefix.find_where(u128::from(address), is_shared).is_some()
    }

    /// Returns the first subnet of the link of `subnet`, beginning with `subnet` itself, whose
    /// prefix contains `address`.
    #[must_use]
    pub fn subnet_on_link(&self, subnet: SubnetIndex, address: Ipv6Addr) -> Option<SubnetIndex> {
        let address = u128::from(address);
        self.link_subnets(subnet).iter().copied().find(|&member| {
            let (first, last) = self.subnet(member).bounds;
            (first..=last).contains(&address)
        })
    }
}

fn bounds(subnet: &Subnet6) -> (u128, u128) {
    u128::from(subnet.prefix.0).bounds(subnet.prefix.1)
}

fn compile_subnet(config: &Dhcp6, subnet: &Subnet6, classes: &Classes) -> Subnet {
    Subnet {
        id: subnet.id,
        bounds: bounds(subnet),
        preferred_lifetime: subnet.preferred_lifetime,
        valid_lifetime: subnet.valid_lifetime,
        adaptive_threshold: adaptive::threshold(
            subnet.adaptive_lease_time_threshold,
            subnet.pd_allocator,
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
        allows_rapid_commit: subnet.rapid_commit,
        stores_relay_info: subnet.store_extended_info,
        network: subnet.network,
        reservation_modes: subnet.reservation_modes,
        scope: ScopeTerms::compile(&subnet.guards, &subnet.options, classes),
        names: NameTerms::compile(&subnet.names),
    }
}

fn compile_class(class: &ClientClass6, classes: &Classes) -> CompiledClassTerms6 {
    CompiledClassTerms6 {
        options: ScopeOptions::compile(&class.options, |name| classes.index(name)),
        preferred_lifetime: class.own.preferred_lifetime,
        valid_lifetime: class.valid_lifetime,
    }
}

fn compile_flex_id(config: &Dhcp6, classes: &Classes) -> FlexIdTerms {
    let FlexId { expression, replaces_client_id, ignores_iaid, .. } = &config.global.flex_id;
    FlexIdTerms {
        program: expression.as_ref().map(|text| StringProgram::compile(text, classes)),
        replaces_client_id: *replaces_client_id,
        ignores_iaid: *ignores_iaid,
    }
}
