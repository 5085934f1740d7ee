//! Compilation of a DHCPv6 configuration, and the settings that only DHCPv6 has.

use base::AddressBits as _;
use core::net::Ipv6Addr;
use std::sync::Arc;

use dhcp_config::v6::{ClientClass6, Dhcp6, Lifetime, Subnet6};
use dhcp_config::{FlexId, MacSource};
use dhcp_lease::v6::{PoolIndex, PoolSet, PoolSpec, Resource, ResourceKind, Spans, V6};

use super::pools::Pools;
use super::prefix_order::{self, PrefixOrder};
use super::references;
use crate::adaptive;
use crate::classify::{ClassSet, Classes, StringProgram};
use crate::client_name::NameTerms;
use crate::hosts::Hosts;
use crate::links::{Links, PoolLocation};
use crate::options::ScopeOptions;
use crate::preference::Preference;
use crate::prefixes::{PrefixTable, SubnetIndex};
use crate::protocol::parsing_of;
use crate::repeat::RepeatPolicy;
use crate::scope_terms::ScopeTerms;
use crate::snapshot::ScopedProtocol;
use crate::subnet_keys::SubnetKeys;

/// Compiled DHCPv6 configuration.
pub type Snapshot = crate::snapshot::Snapshot<V6>;
/// Subnet of a compiled DHCPv6 configuration.
pub type Subnet = crate::snapshot::Subnet<V6>;

/// Settings that only DHCPv6 configurations have, compiled.
#[derive(Debug)]
pub struct Dhcp6SnapshotTerms {
    /// DUID of the server, which replies carry as Server Identifier (option 2).
    pub server_duid: Box<[u8]>,
    /// Codes of the options that relay agents may supply (RFC 6422, `relay-supplied-options`),
    /// ascending.
    pub relay_supplied: Vec<u16>,
    /// Sources from which clients' hardware addresses are derived, in order (`mac-sources`).
    pub mac_sources: Vec<MacSource>,
    /// Settings of Kea's flex-id hook for identifiers of clients.
    pub flex_id: FlexIdTerms,
    /// True if clients may register addresses of their own (RFC 9686).
    pub allows_registration: bool,
    /// Settings for the names of clients that belong to no subnet.
    pub default_names: NameTerms,
    /// Subnets at which allocation of prefixes begins in shared networks.
    pub prefix_preference: Preference,
    by_interface_id: SubnetKeys<Box<[u8]>>,
    /// Links with their pools of prefixes.
    prefixes: Links<u128>,
    prefix_orders: Vec<PrefixOrder>,
    /// Spans of the reserved addresses and prefixes that overlap pools of the other kind (addresses
    /// or prefixes) or of another prefix length.
    reserved_across: Spans<()>,
    /// Prefix that is excluded from those that each pool delegates (RFC 6603), as configured:
    /// address and length in bits.
    pub excluded: Vec<Option<(Ipv6Addr, u8)>>,
}

/// Settings that only DHCPv6 subnets have, compiled.
#[derive(Debug)]
pub struct Dhcp6SubnetTerms {
    /// Limits of the preferred lifetimes of the subnet's leases (`preferred-lifetime`).
    pub preferred_lifetime: Lifetime,
    /// True if clients of the subnet may get their leases in two messages (`rapid-commit`; RFC 9915
    /// §21.14).
    pub allows_rapid_commit: bool,
}

impl ScopedProtocol for V6 {
    type Bits = u128;
    type SnapshotTerms = Dhcp6SnapshotTerms;
    type SubnetTerms = Dhcp6SubnetTerms;
    type ClassTerms = CompiledClassTerms6;
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
            own: Dhcp6SnapshotTerms {
                server_duid: server_duid.into(),
                relay_supplied: config.relay_supplied_options.clone(),
                mac_sources: config.mac_sources.clone(),
                flex_id: compile_flex_id(config, &classes),
                allows_registration: config.allow_address_registration,
                default_names: NameTerms::default(),
                prefix_preference: preference(config),
                by_interface_id: SubnetKeys::new(interface_ids),
                reserved_across: pools.reserved_across(&reserved),
                prefix_orders: pools.prefix_orders(),
                prefixes: pools.prefixes,
                excluded: pools.excluded,
            },
            options: ScopeOptions::compile(&config.options, |name| classes.index(name)),
            host_identifiers: config.global.host_identifiers.clone(),
            looks_up_global_host_early: config.global.early_global_reservations_lookup,
            parsing: parsing_of(config.lenient_option_parsing),
            hold_ns: u64::from(config.global.godwit.hold_time_ms) * base::time::NS_PER_MS,
            decline_probation_s: config.global.decline_probation_period_s,
            preference: preference(config),
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
            links: pools.addresses,
            pools: configure(&pools.specs, &reserved),
            pool_terms: pools.terms,
            classes,
            hosts,
        }
    }

    /// Returns the first subnet, of those that `admits` accepts, whose configured `interface-id` is
    /// `id`, by which relay agents name the interface towards the client.
    pub fn subnet_by_interface_id(
        &self,
        id: &[u8],
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex> {
        self.own.by_interface_id.find_where(id, admits)
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
            ResourceKind::Address => self.links.pool_order_from(first),
            ResourceKind::Prefix => {
                let orders = &self.own.prefix_orders[self.own.prefixes.link_of(first)];
                requested_len
                    .and_then(|len| orders.for_len(len))
                    .unwrap_or_else(|| self.own.prefixes.pool_order_from(first))
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
        self.links.pool_order_from(first).first().copied()
    }

    /// Returns the pools of one kind on the link of `subnet`, in order.
    #[must_use]
    pub fn pools_of_link(&self, subnet: SubnetIndex, kind: ResourceKind) -> &[PoolIndex] {
        match kind {
            ResourceKind::Address => self.links.pool_order(subnet),
            ResourceKind::Prefix => self.own.prefixes.pool_order(subnet),
        }
    }

    /// Returns the prefix pools of `subnet` itself that delegate prefixes of at most `len_max`
    /// bits.
    pub fn prefix_pools_of(
        &self,
        subnet: SubnetIndex,
        len_max: u8,
    ) -> impl Iterator<Item = PoolIndex> {
        let order = self.own.prefixes.pool_order_from(subnet).iter().copied();
        let own = order.take_while(move |&pool| self.pool_terms(pool).subnet == subnet);
        own.filter(move |pool| self.pools.specs()[pool.0 as usize].len <= len_max)
    }

    /// Returns true if a reserved address or prefix of another kind or length overlaps `resource`.
    #[must_use]
    pub fn overlaps_reserved(&self, resource: Resource) -> bool {
        !self.own.reserved_across.is_empty()
            && self.own.reserved_across.overlapping(resource).next().is_some()
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
        self.own.prefix_preference.follow(&previous.own.prefix_preference);
    }

    /// Returns the preference for the subnet of a shared network at which allocation of addresses
    /// or of prefixes begins.
    #[must_use]
    pub const fn preference_of(&self, kind: ResourceKind) -> &Preference {
        match kind {
            ResourceKind::Address => &self.preference,
            ResourceKind::Prefix => &self.own.prefix_preference,
        }
    }

    /// Returns the pool on the link of `subnet` that contains `resource`, whatever prefix length
    /// the pool delegates.
    #[must_use]
    pub fn pool_around(&self, subnet: SubnetIndex, resource: Resource) -> Option<PoolLocation> {
        let links = match resource.kind {
            ResourceKind::Address => &self.links,
            ResourceKind::Prefix => &self.own.prefixes,
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
        let all = self.own.prefixes.pool_order(subnet).iter().copied();
        let lens = all.filter(|&pool| self.admits_to_pool(pool, classes)).map(len);
        let best = lens.min_by_key(|&len| prefix_order::rank(len, requested.len));
        if names_len && best.is_some_and(|best| best != len(location.pool)) {
            return requested;
        }
        Resource::prefix(requested.address, len(location.pool))
    }

    /// Returns the first subnet of the link of `subnet`, beginning with `subnet` itself, whose
    /// prefix contains `address`.
    #[must_use]
    pub fn subnet_on_link(&self, subnet: SubnetIndex, address: Ipv6Addr) -> Option<SubnetIndex> {
        let mut link = self.link_subnets(subnet).iter().copied();
        link.find(|&member| self.contains(member, address))
    }
}

fn bounds(subnet: &Subnet6) -> (u128, u128) {
    u128::from(subnet.prefix.0).bounds(subnet.prefix.1)
}

fn compile_subnet(config: &Dhcp6, subnet: &Subnet6, classes: &Classes) -> Subnet {
    Subnet {
        own: Dhcp6SubnetTerms {
            preferred_lifetime: subnet.preferred_lifetime,
            allows_rapid_commit: subnet.rapid_commit,
        },
        id: subnet.id,
        bounds: bounds(subnet),
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
