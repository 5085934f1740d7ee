//! Pools of a DHCPv6 configuration: their specifications for the lease table, their positions in
//! links, and the settings that they add to their subnets.

use core::net::Ipv6Addr;

use base::AddressBits as _;
use dhcp_config::v6::{Dhcp6, PdPool, Pool6, Subnet6};
use dhcp_lease::v6::{PoolIndex, PoolSpec, Resource, ResourceKind, Spans};

use super::prefix_order::PrefixOrder;
use crate::classify::Classes;
use crate::client_name::NameTerms;
use crate::links::{Links, allocator};
use crate::prefixes::SubnetIndex;
use crate::scope_terms::ScopeTerms;
use crate::snapshot::PoolTerms;

/// Pools of a DHCPv6 configuration, while it is compiled.
pub(super) struct Pools {
    pub(super) specs: Vec<PoolSpec>,
    pub(super) terms: Vec<PoolTerms<u16>>,
    pub(super) excluded: Vec<Option<(Ipv6Addr, u8)>>,
    pub(super) addresses: Links<u128>,
    pub(super) prefixes: Links<u128>,
}

impl Pools {
    pub(super) fn compile(config: &Dhcp6, classes: &Classes) -> Self {
        let networks = || config.subnets.iter().map(|subnet| subnet.network);
        let mut pools = Self {
            specs: Vec::new(),
            terms: Vec::new(),
            excluded: Vec::new(),
            addresses: Links::new(config.networks.len(), networks()),
            prefixes: Links::new(config.networks.len(), networks()),
        };
        for (index, subnet) in (0..).zip(&config.subnets) {
            for pool in &subnet.pools {
                pools.add_addresses(index, subnet, pool, classes);
            }
            for pool in &subnet.pd_pools {
                pools.add_prefixes(index, subnet, pool, classes);
            }
        }
        pools
    }

    fn add_addresses(
        &mut self,
        at: SubnetIndex,
        subnet: &Subnet6,
        pool: &Pool6,
        classes: &Classes,
    ) {
        let index = PoolIndex(self.specs.len() as u32);
        self.addresses.add_pool(at, index, pool.first.into(), pool.last.into());
        self.specs.push(PoolSpec {
            subnet_id: subnet.id,
            pool_id: pool.pool_id,
            allocator: allocator(subnet.allocator),
            kind: ResourceKind::Address,
            len: 128,
            first: pool.first,
            last: pool.last,
        });
        let scope = ScopeTerms::compile(&pool.guards, &pool.options, classes);
        let names = NameTerms::for_pool(&pool.names, &subnet.names);
        self.terms.push(PoolTerms { id: pool.pool_id, subnet: at, scope, names });
        self.excluded.push(None);
    }

    fn add_prefixes(
        &mut self,
        at: SubnetIndex,
        subnet: &Subnet6,
        pool: &PdPool,
        classes: &Classes,
    ) {
        let index = PoolIndex(self.specs.len() as u32);
        let (first, end) = u128::from(pool.prefix.0).bounds(pool.prefix.1);
        let (last, _) = end.bounds(pool.delegated_len);
        self.prefixes.add_pool(at, index, first, last);
        self.specs.push(PoolSpec {
            subnet_id: subnet.id,
            pool_id: pool.pool_id,
            allocator: allocator(subnet.pd_allocator),
            kind: ResourceKind::Prefix,
            len: pool.delegated_len,
            first: first.into(),
            last: last.into(),
        });
        let scope = ScopeTerms::compile(&pool.guards, &pool.options, classes);
        self.terms.push(PoolTerms { id: pool.pool_id, subnet: at, scope, names: None });
        self.excluded.push(pool.excluded);
    }

    /// Returns the spans of the reserved addresses and prefixes that overlap pools of the other
    /// kind (addresses or prefixes) or of another prefix length.
    pub(super) fn reserved_across(&self, reserved: &[Resource]) -> Spans<()> {
        let mut across = Spans::default();
        let mut pools: Vec<_> = self.specs.iter().map(PoolSpec::bounds).collect();
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

    pub(super) fn prefix_orders(&self) -> Vec<PrefixOrder> {
        let with_len = |&pool: &PoolIndex| (pool, self.specs[pool.0 as usize].len);
        self.prefixes
            .pool_orders()
            .map(|order| PrefixOrder::new(&order.iter().map(with_len).collect::<Vec<_>>()))
            .collect()
    }
}
