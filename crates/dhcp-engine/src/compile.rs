//! Compilation of a configuration of either family to a [`Snapshot`]: the parts that both have.

use std::sync::Arc;

use base::AddressBits as _;
use dhcp_config::expression::TextExpression;
use dhcp_config::{
    AllocatorKind, ClassGuards, ClientClass, ConfigTypes, DhcpConfig, OptionData, SubnetConfig,
    SubnetHostname,
};
use dhcp_lease::{PoolIndex, PoolSpec};
use dhcp_wire::OptionParsing;

use crate::adaptive;
use crate::classify::{self, ClassIndex, Classes, StringProgram};
use crate::client_name::NameTerms;
use crate::hosts::{HostTerms, Hosts, ReservationOf, ReservationScope};
use crate::links::{Links, allocator};
use crate::name_tuning::TuningPrograms;
use crate::options::ScopeOptions;
use crate::preference::Preference;
use crate::prefixes::{PrefixTable, SubnetIndex};
use crate::repeat::RepeatPolicy;
use crate::scope_terms::ScopeTerms;
use crate::snapshot::{FlexIdTerms, PoolTerms, ScopedProtocol, Snapshot, Subnet};
use crate::subnet_keys::SubnetKeys;

/// Class guards and options of a scope; `F` is the family.
pub(crate) type ScopeSettings<'c, F> =
    (&'c ClassGuards, &'c [OptionData<<F as ConfigTypes>::OptionCode>]);

/// Family whose configurations are compiled: the parts that differ.
pub(crate) trait CompiledFamily: ScopedProtocol {
    /// Type of the data about pools that only this family has.
    type OwnPools;

    /// Returns the data about the pools of `config` before any pool is added.
    fn own_pools(config: &DhcpConfig<Self>) -> Self::OwnPools;

    /// Returns the address `ip` in the form of a lease.
    fn leased(ip: Self::IpAddress) -> Self::Address;

    /// Adds the pools of `subnet`, at position `at`, that are not pools of addresses.
    fn add_other_pools(
        _pools: &mut Pools<Self>,
        _at: SubnetIndex,
        _subnet: &SubnetConfig<Self>,
        _classes: &Classes,
    ) {
    }

    /// Returns the class guards and options of the pools of `subnet` that are not pools of
    /// addresses.
    fn other_pool_scopes(
        _subnet: &SubnetConfig<Self>,
    ) -> impl Iterator<Item = ScopeSettings<'_, Self>> {
        core::iter::empty()
    }

    /// Returns the allocator of the pools of `subnet` whose used part shortens leases.
    fn counting_allocator(subnet: &SubnetConfig<Self>) -> AllocatorKind;

    /// Compiles the terms that a client class sets for its members.
    fn class_terms(
        class: &ClientClass<Self::OptionCode, Self::OwnClass>,
        classes: &Classes,
    ) -> Self::ClassTerms;

    /// Compiles the settings that only this family's subnets have.
    fn subnet_terms(config: &DhcpConfig<Self>, subnet: &SubnetConfig<Self>) -> Self::SubnetTerms;
}

/// Pools of a configuration, while it is compiled.
pub(crate) struct Pools<F: CompiledFamily> {
    /// Specifications of the pools for the lease table.
    pub(crate) specs: Vec<PoolSpec<F>>,
    pub(crate) terms: Vec<PoolTerms<F::Code>>,
    /// Links with their pools of addresses.
    pub(crate) links: Links<F::Bits>,
    /// Data that only this family has.
    pub(crate) own: F::OwnPools,
}

impl<F: CompiledFamily> Pools<F> {
    /// Compiles the pools of `config`.
    pub(crate) fn compile(config: &DhcpConfig<F>, classes: &Classes) -> Self {
        let mut pools = Self {
            specs: Vec::new(),
            terms: Vec::new(),
            links: empty_links(config),
            own: F::own_pools(config),
        };
        for (at, subnet) in (0..).zip(&config.subnets) {
            for pool in &subnet.pools {
                let index = pools.next();
                pools.links.add_pool(at, index, pool.first.into(), pool.last.into());
                let sends = config.global.name_updates.is_some();
                let names = NameTerms::for_pool(&pool.names, &subnet.names, sends);
                let scope = ScopeTerms::compile(&pool.guards, &pool.options, classes);
                pools.specs.push(PoolSpec {
                    subnet_id: subnet.id,
                    pool_id: pool.pool_id,
                    allocator: allocator(subnet.allocator),
                    first: F::leased(pool.first),
                    last: F::leased(pool.last),
                });
                pools.terms.push(PoolTerms { id: pool.pool_id, subnet: at, scope, names });
            }
            F::add_other_pools(&mut pools, at, subnet, classes);
        }
        pools
    }

    /// Returns the index that the pool added next has.
    pub(crate) fn next(&self) -> PoolIndex {
        PoolIndex(self.specs.len() as u32)
    }
}

/// Returns the links of `config`, without pools.
pub(crate) fn empty_links<F: CompiledFamily>(config: &DhcpConfig<F>) -> Links<F::Bits> {
    Links::new(config.networks.len(), config.subnets.iter().map(|subnet| subnet.network))
}

/// Returns the class guards of a subnet and its pools, each with the options of its scope.
pub(crate) fn subnet_scopes<F: CompiledFamily>(
    subnet: &SubnetConfig<F>,
) -> impl Iterator<Item = ScopeSettings<'_, F>> {
    let pools = subnet.pools.iter().map(|pool| (&pool.guards, &*pool.options));
    let own = [(&subnet.guards, &*subnet.options)];
    pools.chain(F::other_pool_scopes(subnet)).chain(own)
}

/// Returns the class guards of all networks, subnets and pools, each with the options of its scope.
fn scopes<F: CompiledFamily>(config: &DhcpConfig<F>) -> impl Iterator<Item = ScopeSettings<'_, F>> {
    let networks = config.networks.iter().map(|network| (&network.guards, &*network.options));
    networks.chain(config.subnets.iter().flat_map(subnet_scopes))
}

/// Returns the scopes of the configuration, each with its reservations.
fn reservations<F: CompiledFamily>(
    config: &DhcpConfig<F>,
) -> impl Iterator<Item = (ReservationScope, &[ReservationOf<F>])> + Clone {
    let subnets = config.subnets.iter();
    let of_subnets =
        subnets.map(|subnet| (ReservationScope::Subnet(subnet.id), &*subnet.reservations));
    core::iter::once((ReservationScope::Global, &*config.reservations)).chain(of_subnets)
}

/// Returns the compiled client classes of `config`.
pub(crate) fn classes<F: CompiledFamily>(config: &DhcpConfig<F>) -> Classes {
    let guards =
        scopes(config).flat_map(|(guards, _)| guards.required.iter().chain(&guards.additional));
    let of_scopes = scopes(config).map(|(_, options)| options);
    let of_classes = config.client_classes.iter().map(|class| &*class.options);
    let of_hosts = reservations(config)
        .flat_map(|(_, reservations)| reservations)
        .map(|reservation| &*reservation.options);
    let options = of_scopes.chain(of_classes).chain(of_hosts).chain([&*config.options]).flatten();
    let tags = options.flat_map(|option| &option.client_classes);
    let mut named = Vec::new();
    for text in hostname_expressions(config) {
        classify::visit_members(text, &mut |name| named.push(name.to_owned()));
    }
    let referred = guards.chain(tags).chain(&named).map(String::as_str);
    let classes = Classes::compile(&config.client_classes, referred);
    match &*config.global.high_availability {
        [only] => classes.with_scopes(only),
        _ => classes,
    }
}

/// Returns the classes of the scopes of the relationships of `config`, if there are several.
fn scope_classes<F: CompiledFamily>(
    config: &DhcpConfig<F>,
    classes: &Classes,
) -> Vec<Option<ClassIndex>> {
    match &*config.global.high_availability {
        [] | [_] => Vec::new(),
        several => several.iter().map(|relationship| classes.primary_scope(relationship)).collect(),
    }
}

/// Returns the expressions of the configuration that compute names of clients.
fn hostname_expressions<F: CompiledFamily>(
    config: &DhcpConfig<F>,
) -> impl Iterator<Item = &TextExpression> {
    let of_subnets = config.subnets.iter().filter_map(|subnet| match &subnet.hostname {
        SubnetHostname::Expression(text) => Some(text),
        SubnetHostname::Inherited | SubnetHostname::Off => None,
    });
    let global = config.global.ddns_tuning.iter().filter_map(|tuning| tuning.hostname.as_ref());
    global.chain(of_subnets)
}

/// Returns the tables of the hosts that `config` reserves for.
pub(crate) fn hosts<F: CompiledFamily>(
    config: &DhcpConfig<F>,
    classes: &Classes,
) -> Hosts<F, HostTerms<F>> {
    Hosts::compile(reservations(config), classes)
}

/// Returns an initial preference among the subnets of `config`: of the subnets of one shared
/// network with the same `client-classes`, the one that gave an address or prefix last comes first.
pub(crate) fn preference<F: CompiledFamily>(config: &DhcpConfig<F>) -> Preference {
    let subnets = (0..).zip(&config.subnets);
    Preference::new(subnets.map(|(index, subnet): (usize, _)| match subnet.network {
        Some(network) => (Some(network), 0, &*subnet.guards.required),
        None => (None, index, &[][..]),
    }))
}

/// Returns the table from the keys that `keys` finds for each subnet of `config` to the subnets.
fn subnet_keys<'c, F: CompiledFamily, K: Ord, I: IntoIterator<Item = K>>(
    config: &'c DhcpConfig<F>,
    keys: impl Fn(&'c SubnetConfig<F>) -> I,
) -> SubnetKeys<K> {
    let subnets = (0..).zip(&config.subnets);
    SubnetKeys::new(
        subnets.flat_map(|(at, subnet)| keys(subnet).into_iter().map(move |key| (key, at))),
    )
}

/// Puts together the snapshot of `config` from its compiled parts. `own` are the settings that
/// only this family has; `links` and `pool_terms` are from [`Pools`], `pools` from the lease
/// table.
pub(crate) fn snapshot<F: CompiledFamily>(
    config: &DhcpConfig<F>,
    classes: Classes,
    hosts: Hosts<F, HostTerms<F>>,
    own: F::SnapshotTerms,
    links: Links<F::Bits>,
    pool_terms: Vec<PoolTerms<F::Code>>,
    pools: Arc<F::PoolSet>,
) -> Snapshot<F> {
    let tuning = TuningPrograms::compile(config.global.ddns_tuning.as_ref(), &classes);
    let subnets: Vec<Subnet<F>> =
        config.subnets.iter().map(|s| compile_subnet(config, s, &classes, &tuning)).collect();
    let prefixes: Vec<_> =
        (0..).zip(&subnets).map(|(at, s)| (s.bounds.0, s.bounds.1, at)).collect();
    let class_terms = config.client_classes.iter();
    let networks = config.networks.iter();
    let flex_id = &config.global.flex_id;
    Snapshot {
        own,
        flex_id: FlexIdTerms {
            program: flex_id.expression.as_ref().map(|e| StringProgram::compile(e, &classes)),
            replaces_client_id: flex_id.replaces_client_id,
            is_like_a_duid: flex_id.is_like_a_duid,
            ignores_iaid: flex_id.ignores_iaid,
        },
        tunes_names: config.global.ddns_tuning.is_some(),
        options: ScopeOptions::compile(&config.options, |name| classes.index(name)),
        hosts,
        host_identifiers: config.global.host_identifiers.clone(),
        looks_up_global_host_early: config.global.early_global_reservations_lookup,
        parsing: if config.compatibility.lenient_option_parsing {
            OptionParsing::Lenient
        } else {
            OptionParsing::Strict
        },
        hold_ns: u64::from(config.global.godwit.hold_time_ms) * base::time::NS_PER_MS,
        decline_probation_s: config.global.decline_probation_period_s,
        preference: preference(config),
        subnets,
        networks: networks
            .map(|own| ScopeTerms::compile(&own.guards, &own.options, &classes))
            .collect(),
        scope_classes: scope_classes(config, &classes),
        class_terms: class_terms.map(|class| F::class_terms(class, &classes)).collect(),
        has_guards: scopes(config).any(|(guards, _)| !guards.required.is_empty()),
        by_prefix: PrefixTable::new(&prefixes),
        by_relay: subnet_keys(config, |subnet| subnet.relay_addresses.iter().copied()),
        by_interface: subnet_keys(config, |subnet| subnet.interface.as_deref().map(Into::into)),
        by_interface_id: subnet_keys(config, |subnet| {
            subnet.interface_id.as_deref().map(Into::into)
        }),
        links,
        pools,
        pool_terms,
        classes,
    }
}

fn compile_subnet<F: CompiledFamily>(
    config: &DhcpConfig<F>,
    subnet: &SubnetConfig<F>,
    classes: &Classes,
    tuning: &TuningPrograms,
) -> Subnet<F> {
    Subnet {
        own: F::subnet_terms(config, subnet),
        id: subnet.id,
        bounds: F::Bits::from(subnet.prefix.0).bounds(subnet.prefix.1),
        valid_lifetime: subnet.valid_lifetime,
        adaptive_threshold: adaptive::threshold(
            subnet.adaptive_lease_time_threshold,
            F::counting_allocator(subnet),
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
        relationship: subnet.relationship,
        reservation_modes: subnet.reservation_modes,
        scope: ScopeTerms::compile(&subnet.guards, &subnet.options, classes),
        hostname: tuning.of_subnet(&subnet.hostname, classes),
        names: NameTerms::compile(&subnet.names, config.global.name_updates.is_some()),
    }
}
