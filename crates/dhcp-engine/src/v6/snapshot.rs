//! The configuration as the packet path reads it: tables built once at load, never changed. A
//! transaction keeps the snapshot that it began with.

use core::net::Ipv6Addr;
use std::sync::Arc;

use dhcp_config::v6::{Dhcp6, Lifetime, PdPool, Pool6, Subnet6};
use dhcp_config::{MacSource, OptionData6};
use dhcp_lease::v6::{IaKind, PoolIndex, PoolSet, PoolSpec, Resource};

use super::prefix_order::PrefixOrder;
use crate::links::{Links, PoolPlace, allocator};
use crate::options::ScopeOptions;
use crate::prefixes::{AddressBits, PrefixTable, SubnetIndex};
use crate::repeat::RepeatPolicy;
use crate::subnet_keys::SubnetKeys;

/// A compiled configuration.
#[derive(Debug)]
pub struct Snapshot {
    /// Our DUID.
    pub server_duid: Box<[u8]>,
    /// Options for everyone.
    pub options: ScopeOptions<u16>,
    /// Options that relay agents may supply, ascending.
    pub relay_supplied: Vec<u16>,
    /// Where hardware addresses of clients are looked for, in order.
    pub mac_sources: Vec<MacSource>,
    /// Nanoseconds that an offer holds what it offers.
    pub hold_ns: u64,
    /// Seconds that a declined address stays out of use.
    pub decline_probation_s: u32,
    subnets: Vec<Subnet>,
    by_prefix: PrefixTable<u128>,
    by_relay: SubnetKeys<Ipv6Addr>,
    by_interface: SubnetKeys<Box<str>>,
    by_interface_id: SubnetKeys<Box<[u8]>>,
    addresses: Links<u128>,
    prefixes: Links<u128>,
    prefix_orders: Vec<PrefixOrder>,
    pools: Arc<PoolSet>,
    pool_terms: Vec<PoolTerms>,
    network_options: Vec<ScopeOptions<u16>>,
}

/// One subnet with everything that replies in it need.
#[derive(Debug)]
pub struct Subnet {
    /// `id` in the configuration.
    pub id: u32,
    /// Preferred lifetimes.
    pub preferred_lifetime: Lifetime,
    /// Valid lifetimes.
    pub valid_lifetime: Lifetime,
    /// Explicit T1, seconds.
    pub renew_timer_s: Option<u32>,
    /// Explicit T2, seconds.
    pub rebind_timer_s: Option<u32>,
    /// T1 and T2 as parts of the preferred lifetime, when they are calculated.
    pub tee_parts: Option<(f64, f64)>,
    /// Which leases are repeated instead of renewed.
    pub repeat: RepeatPolicy,
    /// Whether clients may have their lease in two messages.
    pub allows_rapid_commit: bool,
    /// Position of its shared network among those of the configuration.
    pub network: Option<usize>,
    /// The subnet's own options.
    pub options: ScopeOptions<u16>,
}

/// What a pool adds to its subnet.
#[derive(Debug)]
pub struct PoolTerms {
    /// `pool-id` in the configuration.
    pub id: u32,
    /// The pool's own options.
    pub options: ScopeOptions<u16>,
    /// The prefix that is kept out of a delegated one (RFC 6603), as configured.
    pub excluded: Option<(Ipv6Addr, u8)>,
}

impl Snapshot {
    /// Compiles `config`. `configure` is given the pools and makes the pool set (the lease table
    /// does).
    pub fn compile(
        config: &Dhcp6,
        server_duid: &[u8],
        configure: impl FnOnce(&[PoolSpec], &[Resource]) -> Arc<PoolSet>,
    ) -> Self {
        let pools = Pools::of(config);
        let indexed = || (0..).zip(&config.subnets);
        let prefixes: Vec<_> = indexed()
            .map(|(index, subnet)| {
                let (first, last) = u128::from(subnet.prefix.0).bounds(subnet.prefix.1);
                (first, last, index)
            })
            .collect();
        let relays = indexed()
            .flat_map(|(index, subnet)| subnet.relay_addresses.iter().map(move |&a| (a, index)));
        let interfaces = indexed()
            .filter_map(|(index, subnet)| Some((subnet.interface.as_deref()?.into(), index)));
        let interface_ids = indexed()
            .filter_map(|(index, subnet)| Some((subnet.interface_id.as_deref()?.into(), index)));
        Self {
            server_duid: server_duid.into(),
            options: scope_options(&config.options),
            relay_supplied: config.relay_supplied_options.clone(),
            mac_sources: config.mac_sources.clone(),
            hold_ns: u64::from(config.godwit.hold_time_ms) * base::time::NS_PER_MS,
            decline_probation_s: config.decline_probation_period_s,
            subnets: config.subnets.iter().map(compile_subnet).collect(),
            by_prefix: PrefixTable::new(&prefixes),
            by_relay: SubnetKeys::new(relays),
            by_interface: SubnetKeys::new(interfaces),
            by_interface_id: SubnetKeys::new(interface_ids),
            prefix_orders: pools.prefix_orders(),
            addresses: pools.addresses,
            prefixes: pools.prefixes,
            pools: configure(&pools.specs, &[]),
            pool_terms: pools.terms,
            network_options: config.networks.iter().map(|n| scope_options(&n.options)).collect(),
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

    /// What a pool adds to its subnet.
    #[must_use]
    pub fn pool_terms(&self, pool: PoolIndex) -> &PoolTerms {
        &self.pool_terms[pool.0 as usize]
    }

    /// The own options of the shared network that a subnet is in.
    #[must_use]
    pub fn network_options(&self, subnet: &Subnet) -> Option<&ScopeOptions<u16>> {
        subnet.network.map(|network| &self.network_options[network])
    }

    /// The subnet whose prefix holds `address`.
    #[must_use]
    pub fn subnet_by_prefix(&self, address: Ipv6Addr) -> Option<SubnetIndex> {
        self.by_prefix.find(u128::from(address))
    }

    /// The first subnet that names `relay` among its relay addresses.
    #[must_use]
    pub fn subnet_by_relay(&self, relay: Ipv6Addr) -> Option<SubnetIndex> {
        self.by_relay.find(&relay)
    }

    /// The first subnet whose direct clients come over the interface called `name`.
    #[must_use]
    pub fn subnet_by_interface(&self, name: &str) -> Option<SubnetIndex> {
        self.by_interface.find(name)
    }

    /// The first subnet whose relay agents call the interface towards the client `id`.
    #[must_use]
    pub fn subnet_by_interface_id(&self, id: &[u8]) -> Option<SubnetIndex> {
        self.by_interface_id.find(id)
    }

    /// The pools that allocation may use for a message selected into `subnet`, in order; with the
    /// prefix length that the client asks for, if it asks for one.
    #[must_use]
    pub fn pool_order(
        &self,
        subnet: SubnetIndex,
        kind: IaKind,
        wanted_len: Option<u8>,
    ) -> &[PoolIndex] {
        if kind == IaKind::Address {
            return self.addresses.pool_order(subnet);
        }
        let orders = &self.prefix_orders[self.prefixes.link_of(subnet)];
        wanted_len
            .and_then(|len| orders.of(len))
            .unwrap_or_else(|| self.prefixes.pool_order(subnet))
    }

    /// The pool that holds `resource`, among those that share a link with `subnet`.
    #[must_use]
    pub fn place(&self, subnet: SubnetIndex, resource: Resource) -> Option<PoolPlace> {
        let links = match resource.kind {
            IaKind::Address => &self.addresses,
            IaKind::Prefix => &self.prefixes,
        };
        let place = links.place(subnet, u128::from(resource.address))?;
        let has_its_len = self.pools.specs()[place.pool.0 as usize].len == resource.len;
        has_its_len.then_some(place)
    }

    /// Whether `address` lies in a prefix of the link that `subnet` is on.
    #[must_use]
    pub fn is_on_link(&self, subnet: SubnetIndex, address: Ipv6Addr) -> bool {
        self.subnet_by_prefix(address).is_some_and(|found| self.addresses.is_shared(subnet, found))
    }
}

/// The pools of a configuration, while it is compiled.
struct Pools {
    specs: Vec<PoolSpec>,
    terms: Vec<PoolTerms>,
    addresses: Links<u128>,
    prefixes: Links<u128>,
}

impl Pools {
    fn of(config: &Dhcp6) -> Self {
        let networks = || config.subnets.iter().map(|subnet| subnet.network);
        let mut pools = Self {
            specs: Vec::new(),
            terms: Vec::new(),
            addresses: Links::new(config.networks.len(), networks()),
            prefixes: Links::new(config.networks.len(), networks()),
        };
        for (index, subnet) in (0..).zip(&config.subnets) {
            for pool in &subnet.pools {
                pools.add_addresses((index, subnet), pool);
            }
            for pool in &subnet.pd_pools {
                pools.add_prefixes((index, subnet), pool);
            }
        }
        pools
    }

    fn add_addresses(&mut self, (at, subnet): (SubnetIndex, &Subnet6), pool: &Pool6) {
        let index = PoolIndex(self.specs.len() as u32);
        self.addresses.add_pool(at, index, (pool.first.into(), pool.last.into()));
        self.specs.push(PoolSpec {
            subnet_id: subnet.id,
            pool_id: pool.pool_id,
            allocator: allocator(subnet.allocator),
            kind: IaKind::Address,
            len: 128,
            first: pool.first,
            last: pool.last,
        });
        let options = scope_options(&pool.options);
        self.terms.push(PoolTerms { id: pool.pool_id, options, excluded: None });
    }

    fn add_prefixes(&mut self, (at, subnet): (SubnetIndex, &Subnet6), pool: &PdPool) {
        let index = PoolIndex(self.specs.len() as u32);
        let (first, end) = u128::from(pool.prefix.0).bounds(pool.prefix.1);
        let (last, _) = end.bounds(pool.delegated_len);
        self.prefixes.add_pool(at, index, (first, last));
        self.specs.push(PoolSpec {
            subnet_id: subnet.id,
            pool_id: pool.pool_id,
            allocator: allocator(subnet.pd_allocator),
            kind: IaKind::Prefix,
            len: pool.delegated_len,
            first: first.into(),
            last: last.into(),
        });
        let options = scope_options(&pool.options);
        self.terms.push(PoolTerms { id: pool.pool_id, options, excluded: pool.excluded });
    }

    fn prefix_orders(&self) -> Vec<PrefixOrder> {
        let with_len = |&pool: &PoolIndex| (pool, self.specs[pool.0 as usize].len);
        self.prefixes
            .pool_orders()
            .map(|order| PrefixOrder::new(&order.iter().map(with_len).collect::<Vec<_>>()))
            .collect()
    }
}

/// Nobody is in a class here, so options for members of one go to nobody.
fn scope_options(options: &[OptionData6]) -> ScopeOptions<u16> {
    ScopeOptions::compile(options, |_| None)
}

fn compile_subnet(subnet: &Subnet6) -> Subnet {
    Subnet {
        id: subnet.id,
        preferred_lifetime: subnet.preferred_lifetime,
        valid_lifetime: subnet.valid_lifetime,
        renew_timer_s: subnet.renew_timer_s,
        rebind_timer_s: subnet.rebind_timer_s,
        tee_parts: subnet.calculate_tee_times.then_some((subnet.t1_percent, subnet.t2_percent)),
        repeat: RepeatPolicy {
            threshold: subnet.cache_threshold,
            max_age_s: subnet.cache_max_age_s,
        },
        allows_rapid_commit: subnet.rapid_commit,
        network: subnet.network,
        options: scope_options(&subnet.options),
    }
}
