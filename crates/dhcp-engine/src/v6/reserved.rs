//! Reservations of a DHCPv6 configuration as the lease table needs them.

use std::collections::BTreeMap;

use dhcp_config::ReservationModes;
use dhcp_config::v6::Dhcp6;
use dhcp_lease::v6::{Resource, ResourceKind, V6};

use crate::compile::Pools;
use crate::hosts::{HostTerms, Hosts, ReservationScope};

/// Returns the reserved addresses and prefixes, which clients only get by naming them. In a subnet
/// with `reservations-out-of-pool`, reservations inside of its pools do not count.
pub(super) fn reserved(
    config: &Dhcp6,
    hosts: &Hosts<V6, HostTerms<V6>>,
    pools: &Pools<V6>,
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
                ResourceKind::Address => &pools.links,
                ResourceKind::Prefix => &pools.own.links,
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
