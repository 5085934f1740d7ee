//! The configuration as the packet path reads it: tables built once at load, never changed. A
//! transaction keeps the snapshot that it began with.

use core::net::Ipv4Addr;
use std::sync::Arc;

use dhcp_config::v4::{Dhcp4, Lifetime, Subnet4};
use dhcp_lease::v4::{PoolIndex, PoolSet, PoolSpec};

use crate::links::{Links, PoolPlace, allocator};
use crate::prefixes::{AddressBits, PrefixTable, SubnetIndex};
use crate::repeat::RepeatPolicy;
use crate::send_option::{SendOption, send_options};
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
    pool_options: Vec<Vec<SendOption<u8>>>,
    /// Nanoseconds that an offer holds its address.
    pub hold_ns: u64,
    /// Seconds that a declined address stays out of use.
    pub decline_probation_s: u32,
    /// Whether replies repeat the client identifier (RFC 6842).
    pub echo_client_id: bool,
}

/// One subnet with everything that replies in it need.
#[derive(Debug)]
pub struct Subnet {
    /// `id` in the configuration.
    pub id: u32,
    /// Mask of the prefix.
    pub mask: Ipv4Addr,
    /// Lifetimes.
    pub valid_lifetime: Lifetime,
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
    /// `siaddr`.
    pub next_server: Ipv4Addr,
    /// `sname`, possibly empty.
    pub server_hostname: Box<[u8]>,
    /// `file`, possibly empty.
    pub boot_file_name: Box<[u8]>,
    /// Options of subnet, network and globals, ascending by code.
    pub options: Vec<SendOption<u8>>,
}

impl Snapshot {
    /// Compiles `config`. `configure` is given the pools and makes the pool set (the lease table
    /// does).
    pub fn compile(
        config: &Dhcp4,
        configure: impl FnOnce(&[PoolSpec], &[Ipv4Addr]) -> Arc<PoolSet>,
    ) -> Self {
        let (specs, pool_options) = pools_of(config);
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
            subnets: config.subnets.iter().map(compile_subnet).collect(),
            links: links_of(config),
            by_prefix: PrefixTable::new(&prefixes),
            by_relay: SubnetKeys::new(relays),
            by_interface: SubnetKeys::new(interfaces),
            pools: configure(&specs, &[]),
            pool_options,
            hold_ns: u64::from(config.godwit.hold_time_ms) * base::time::NS_PER_MS,
            decline_probation_s: config.decline_probation_period_s,
            echo_client_id: config.echo_client_id,
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

    /// Options of a pool, ascending by code.
    #[must_use]
    pub fn pool_options(&self, pool: PoolIndex) -> &[SendOption<u8>] {
        &self.pool_options[pool.0 as usize]
    }

    /// The subnet whose prefix holds `address`.
    #[must_use]
    pub fn subnet_by_prefix(&self, address: Ipv4Addr) -> Option<SubnetIndex> {
        self.by_prefix.find(u32::from(address))
    }

    /// The subnet that names `relay` among its relay addresses.
    #[must_use]
    pub fn subnet_by_relay(&self, relay: Ipv4Addr) -> Option<SubnetIndex> {
        self.by_relay.find(&relay)
    }

    /// The first subnet whose direct clients come over the interface called `name`.
    #[must_use]
    pub fn subnet_by_interface(&self, name: &str) -> Option<SubnetIndex> {
        self.by_interface.find(name)
    }

    /// The pools that allocation may use for a message selected into `subnet`, in order.
    #[must_use]
    pub fn pool_order(&self, subnet: SubnetIndex) -> &[PoolIndex] {
        self.links.pool_order(subnet)
    }

    /// The pool that holds `address`, among those that share a link with `subnet`.
    #[must_use]
    pub fn place(&self, subnet: SubnetIndex, address: Ipv4Addr) -> Option<PoolPlace> {
        self.links.place(subnet, u32::from(address))
    }

    /// Whether `address` lies in a prefix of the link that `subnet` is on.
    #[must_use]
    pub fn is_on_link(&self, subnet: SubnetIndex, address: Ipv4Addr) -> bool {
        self.subnet_by_prefix(address).is_some_and(|found| self.links.is_shared(subnet, found))
    }
}

fn bounds((address, len): (Ipv4Addr, u8)) -> (u32, u32) {
    u32::from(address).bounds(len)
}

fn pools_of(config: &Dhcp4) -> (Vec<PoolSpec>, Vec<Vec<SendOption<u8>>>) {
    config
        .subnets
        .iter()
        .flat_map(|subnet| subnet.pools.iter().map(move |pool| (subnet, pool)))
        .map(|(subnet, pool)| {
            let spec = PoolSpec {
                subnet_id: subnet.id,
                pool_id: pool.pool_id,
                allocator: allocator(subnet.allocator),
                first: pool.first,
                last: pool.last,
            };
            (spec, send_options(&pool.options))
        })
        .unzip()
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

fn compile_subnet(subnet: &Subnet4) -> Subnet {
    let (first, last) = bounds(subnet.prefix);
    Subnet {
        id: subnet.id,
        mask: Ipv4Addr::from(!(first ^ last)),
        valid_lifetime: subnet.valid_lifetime,
        renew_timer_s: subnet.renew_timer_s,
        rebind_timer_s: subnet.rebind_timer_s,
        tee_parts: subnet.calculate_tee_times.then_some((subnet.t1_percent, subnet.t2_percent)),
        repeat: RepeatPolicy {
            threshold: subnet.cache_threshold,
            max_age_s: subnet.cache_max_age_s,
        },
        is_authoritative: subnet.authoritative,
        match_client_id: subnet.match_client_id,
        next_server: subnet.next_server,
        server_hostname: subnet.server_hostname.as_bytes().into(),
        boot_file_name: subnet.boot_file_name.as_bytes().into(),
        options: send_options(&subnet.options),
    }
}
