//! Pools of prefixes of a DHCPv6 configuration: their specifications for the lease table, their
//! positions in links, and the settings that they add to their subnets.

use core::net::Ipv6Addr;

use base::AddressBits as _;
use dhcp_config::v6::{PdPool, Subnet6};
use dhcp_lease::v6::{PoolIndex, PoolSpec, Resource, ResourceKind, Spans, V6};

use super::prefix_order::PrefixOrder;
use crate::classify::Classes;
use crate::compile::Pools;
use crate::links::{Links, allocator};
use crate::prefixes::SubnetIndex;
use crate::scope_terms::ScopeTerms;
use crate::snapshot::PoolTerms;

/// Pools of prefixes of a DHCPv6 configuration, while it is compiled.
pub(crate) struct PrefixPools {
    /// Links with their pools of prefixes.
    pub(super) links: Links<u128>,
    /// Prefix that is excluded from those that each pool delegates (RFC 6603), by the pool's index.
    pub(super) excluded: Vec<Option<(Ipv6Addr, u8)>>,
}

/// Adds a pool of prefixes of `subnet`, at position `at`.
pub(super) fn add_prefixes(
    pools: &mut Pools<V6>,
    at: SubnetIndex,
    subnet: &Subnet6,
    pool: &PdPool,
    classes: &Classes,
) {
    let (first, end) = u128::from(pool.prefix.0).bounds(pool.prefix.1);
    let (last, _) = end.bounds(pool.delegated_len);
    let index = pools.next();
    pools.own.links.add_pool(at, index, first, last);
    pools.specs.push(PoolSpec {
        subnet_id: subnet.id,
        pool_id: pool.pool_id,
        allocator: allocator(subnet.own.pd_allocator),
        first: Resource::prefix(first.into(), pool.delegated_len),
        last: Resource::prefix(last.into(), pool.delegated_len),
    });
    let scope = ScopeTerms::compile(&pool.guards, &pool.options, classes);
    pools.terms.push(PoolTerms { id: pool.pool_id, subnet: at, scope, names: None });
    pools.own.excluded.push(pool.excluded);
}

/// Returns the spans of the reserved addresses and prefixes that overlap pools of the other
/// kind (addresses or prefixes) or of another prefix length.
pub(super) fn reserved_across(specs: &[PoolSpec], reserved: &[Resource]) -> Spans<()> {
    let mut across = Spans::default();
    let mut pools: Vec<_> = specs.iter().map(|spec| (spec.first, spec.last)).collect();
    pools.sort_unstable();
    let mut classes: Vec<_> = pools.iter().map(|(first, _)| (first.kind, first.len)).collect();
    classes.dedup();
    for &resource in reserved {
        let (from, to) = resource.span();
        let reaches_into = |&(kind, len): &(ResourceKind, u8)| {
            let at = |bits: u128| Resource {
                kind,
                len,
                address: Resource::prefix(bits.into(), len).address,
            };
            let (first, last) = (at(from), at(to));
            let after = pools.partition_point(|&(pool_first, _)| pool_first <= last);
            let pool = after.checked_sub(1).and_then(|before| pools.get(before));
            pool.is_some_and(|&(pool_first, pool_last)| {
                pool_first.kind == kind && pool_first.len == len && pool_last >= first
            })
        };
        let own = (resource.kind, resource.len);
        if classes.iter().filter(|&&class| class != own).any(reaches_into) {
            across.insert(resource, ());
        }
    }
    across
}

/// Returns the orders of each link's pools of prefixes.
pub(super) fn prefix_orders(pools: &Pools<V6>) -> Vec<PrefixOrder> {
    let with_len = |&pool: &PoolIndex| (pool, pools.specs[pool.0 as usize].first.len);
    let orders = pools.own.links.pool_orders();
    orders.map(|order| PrefixOrder::new(&order.iter().map(with_len).collect::<Vec<_>>())).collect()
}
