//! References between the parts of a DHCPv6 configuration: names of classes, and reservations.

use std::collections::BTreeMap;

use dhcp_config::v6::Dhcp6;
use dhcp_config::{ClassGuards, ReservationModes};
use dhcp_lease::v6::{Resource, ResourceKind, V6};

use super::pools::Pools;
use crate::hosts::{HostTerms, Hosts, ReservationOf, ReservationScope};
use crate::scope_terms::referred_class_names;

/// Returns the class guards of all networks, subnets and pools, each with the options of its scope.
fn guarded(
    config: &Dhcp6,
) -> impl Iterator<Item = (&ClassGuards, &[dhcp_config::v6::OptionData6])> {
    let networks = config.networks.iter().map(|network| (&network.guards, &*network.options));
    let subnets = config.subnets.iter();
    let of_subnets = subnets.clone().map(|subnet| (&subnet.guards, &*subnet.options));
    let pools = subnets.clone().flat_map(|subnet| &subnet.pools);
    let pd_pools = subnets.flat_map(|subnet| &subnet.pd_pools);
    networks
        .chain(of_subnets)
        .chain(pools.map(|pool| (&pool.guards, &*pool.options)))
        .chain(pd_pools.map(|pool| (&pool.guards, &*pool.options)))
}

/// Returns the names of client classes that the configuration refers to.
pub(super) fn names(config: &Dhcp6) -> impl Iterator<Item = &str> {
    let of_scopes =
        guarded(config).flat_map(|(guards, options)| referred_class_names(guards, options));
    let of_classes = config.client_classes.iter().map(|class| &*class.options);
    let of_hosts = reservations(config)
        .flat_map(|(_, reservations)| reservations)
        .map(|reservation| &*reservation.options);
    let options = of_classes.chain(of_hosts).chain([&*config.options]).flatten();
    of_scopes.chain(options.flat_map(|option| &option.client_classes).map(String::as_str))
}

/// Returns true if any pool, subnet or shared network is for clients of some classes only
/// (`client-classes`).
pub(super) fn has_guards(config: &Dhcp6) -> bool {
    guarded(config).any(|(guards, _)| !guards.required.is_empty())
}

/// Returns the scopes of the configuration, each with its reservations.
pub(super) fn reservations(
    config: &Dhcp6,
) -> impl Iterator<Item = (ReservationScope, &[ReservationOf<V6>])> + Clone {
    let subnets = config.subnets.iter();
    let of_subnets =
        subnets.map(|subnet| (ReservationScope::Subnet(subnet.id), &*subnet.reservations));
    core::iter::once((ReservationScope::Global, &*config.reservations)).chain(of_subnets)
}

/// Returns the reserved addresses and prefixes, which clients only get by naming them. In a subnet
/// with `reservations-out-of-pool`, reservations inside of its pools do not count.
pub(super) fn reserved(
    config: &Dhcp6,
    hosts: &Hosts<V6, HostTerms<V6>>,
    pools: &Pools,
) -> Vec<Resource> {
    let subnets: BTreeMap<u32, (u32, ReservationModes)> = (0..)
        .zip(&config.subnets)
        .map(|(index, subnet)| (subnet.id, (index, subnet.reservation_modes)))
        .collect();
    let is_global_used = config.subnets.iter().any(|subnet| subnet.reservation_modes.global);
    let counts = |scope: ReservationScope, resource: Resource| match scope {
        ReservationScope::Global => is_global_used,
        ReservationScope::Subnet(id) => {
            let Some(&(index, modes)) = subnets.get(&id) else { return false };
            let links = match resource.kind {
                ResourceKind::Address => &pools.addresses,
                ResourceKind::Prefix => &pools.prefixes,
            };
            let is_in_pool = || links.find_pool(index, resource.address.into()).is_some();
            modes.in_subnet && !(modes.out_of_pool && is_in_pool())
        }
    };
    hosts
        .reserved()
        .filter(|&(scope, resource)| counts(scope, resource))
        .map(|(_, resource)| resource)
        .collect()
}
