//! The configuration as the packet path reads it: tables built once at load, never changed. A
//! transaction keeps the snapshot that it began with.

use core::net::Ipv4Addr;
use std::sync::Arc;

use dhcp_config::v4::{Dhcp4, Lifetime, OptionData, Subnet4};
use dhcp_lease::v4::{PoolIndex, PoolSet, PoolSpec};

use super::select::{PrefixTable, SubnetIndex};

/// A compiled configuration.
#[derive(Debug)]
pub struct Snapshot {
    subnets: Vec<Subnet>,
    groups: Vec<Group>,
    by_prefix: PrefixTable,
    by_relay: Vec<(Ipv4Addr, SubnetIndex)>,
    by_interface: Vec<(Box<str>, SubnetIndex)>,
    pools: Arc<PoolSet>,
    pool_options: Vec<Vec<SendOption>>,
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
    /// Part of the lifetime within which a lease is repeated instead of renewed; 0 = never.
    pub cache_threshold: f64,
    /// Seconds within which it is repeated at most.
    pub cache_max_age_s: Option<u32>,
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
    pub options: Vec<SendOption>,
    /// Position of its group.
    group: usize,
}

/// An option ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendOption {
    /// Option code.
    pub code: u8,
    /// Value.
    pub octets: Box<[u8]>,
    /// Sent even when the client does not ask for it.
    pub is_always_sent: bool,
    /// Never sent, whatever else says so.
    pub is_never_sent: bool,
}

/// Subnets that share a link: a shared network, or one subnet alone.
#[derive(Debug, Default)]
struct Group {
    members: Vec<SubnetIndex>,
    /// Pools of all members in their order: what allocation tries.
    pool_order: Vec<PoolIndex>,
    /// (first, last, pool, subnet), ascending.
    ranges: Vec<(u32, u32, PoolIndex, SubnetIndex)>,
}

/// Where an address lies within a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolPlace {
    /// The pool.
    pub pool: PoolIndex,
    /// The pool's subnet.
    pub subnet: SubnetIndex,
}

impl Snapshot {
    /// Compiles `config`. `configure` is given the pools and makes the pool set (the lease table
    /// does).
    pub fn compile(config: &Dhcp4, configure: impl FnOnce(&[PoolSpec]) -> Arc<PoolSet>) -> Self {
        let (specs, pool_options) = pools_of(config);
        let (groups, group_of) = groups_of(config);
        let subnets = config
            .subnets
            .iter()
            .zip(&group_of)
            .map(|(subnet, &group)| compile_subnet(subnet, group))
            .collect();
        let prefixes: Vec<_> = (0..)
            .zip(&config.subnets)
            .map(|(index, subnet)| {
                let (first, last) = bounds(subnet.prefix);
                (first, last, index)
            })
            .collect();
        let mut by_relay: Vec<_> = (0..)
            .zip(&config.subnets)
            .flat_map(|(index, subnet)| subnet.relay_addresses.iter().map(move |&a| (a, index)))
            .collect();
        by_relay.sort_unstable();
        let mut by_interface: Vec<(Box<str>, SubnetIndex)> = (0..)
            .zip(&config.subnets)
            .filter_map(|(index, subnet)| Some((subnet.interface.as_deref()?.into(), index)))
            .collect();
        by_interface.sort_unstable();
        Self {
            subnets,
            groups,
            by_prefix: PrefixTable::new(&prefixes),
            by_relay,
            by_interface,
            pools: configure(&specs),
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
    pub fn pool_options(&self, pool: PoolIndex) -> &[SendOption] {
        &self.pool_options[pool.0 as usize]
    }

    /// The subnet whose prefix holds `address`.
    #[must_use]
    pub fn subnet_by_prefix(&self, address: Ipv4Addr) -> Option<SubnetIndex> {
        self.by_prefix.find(address)
    }

    /// The subnet that names `relay` among its relay addresses.
    #[must_use]
    pub fn subnet_by_relay(&self, relay: Ipv4Addr) -> Option<SubnetIndex> {
        let at = self.by_relay.partition_point(|&(address, _)| address < relay);
        self.by_relay.get(at).filter(|&&(address, _)| address == relay).map(|&(_, index)| index)
    }

    /// The first subnet whose direct clients come over the interface called `name`.
    #[must_use]
    pub fn subnet_by_interface(&self, name: &str) -> Option<SubnetIndex> {
        let at = self.by_interface.partition_point(|(known, _)| **known < *name);
        self.by_interface.get(at).filter(|(known, _)| **known == *name).map(|&(_, index)| index)
    }

    /// The pools that allocation may use for a message selected into `subnet`, in order.
    #[must_use]
    pub fn pool_order(&self, subnet: SubnetIndex) -> &[PoolIndex] {
        &self.group(subnet).pool_order
    }

    /// The pool that holds `address`, among those that share a link with `subnet`.
    #[must_use]
    pub fn place(&self, subnet: SubnetIndex, address: Ipv4Addr) -> Option<PoolPlace> {
        let ranges = &self.group(subnet).ranges;
        let address = u32::from(address);
        let after = ranges.partition_point(|&(first, ..)| first <= address);
        let &(_, last, pool, subnet) = ranges.get(after.checked_sub(1)?)?;
        (address <= last).then_some(PoolPlace { pool, subnet })
    }

    /// Whether `address` lies in a prefix of the link that `subnet` is on.
    #[must_use]
    pub fn is_on_link(&self, subnet: SubnetIndex, address: Ipv4Addr) -> bool {
        let group = self.group(subnet);
        self.subnet_by_prefix(address).is_some_and(|found| group.members.contains(&found))
    }

    fn group(&self, subnet: SubnetIndex) -> &Group {
        &self.groups[self.subnet(subnet).group]
    }
}

fn bounds((address, len): (Ipv4Addr, u8)) -> (u32, u32) {
    let host = u32::MAX.checked_shr(u32::from(len)).unwrap_or(0);
    let first = u32::from(address) & !host;
    (first, first | host)
}

fn pools_of(config: &Dhcp4) -> (Vec<PoolSpec>, Vec<Vec<SendOption>>) {
    config
        .subnets
        .iter()
        .flat_map(|subnet| subnet.pools.iter().map(move |pool| (subnet, pool)))
        .map(|(subnet, pool)| {
            let spec = PoolSpec {
                subnet_id: subnet.id,
                pool_id: pool.pool_id,
                first: pool.first,
                last: pool.last,
            };
            (spec, send_options(&pool.options))
        })
        .unzip()
}

/// The groups, and the group of each subnet.
fn groups_of(config: &Dhcp4) -> (Vec<Group>, Vec<usize>) {
    let mut groups: Vec<Group> = config.networks.iter().map(|_| Group::default()).collect();
    let mut group_of = Vec::with_capacity(config.subnets.len());
    let mut pool = 0;
    for (index, subnet) in (0..).zip(&config.subnets) {
        let group = subnet.network.unwrap_or_else(|| {
            groups.push(Group::default());
            groups.len() - 1
        });
        groups[group].members.push(index);
        for range in &subnet.pools {
            groups[group].pool_order.push(PoolIndex(pool));
            let (first, last) = (u32::from(range.first), u32::from(range.last));
            groups[group].ranges.push((first, last, PoolIndex(pool), index));
            pool += 1;
        }
        group_of.push(group);
    }
    for group in &mut groups {
        group.ranges.sort_unstable_by_key(|&(first, ..)| first);
    }
    (groups, group_of)
}

fn compile_subnet(subnet: &Subnet4, group: usize) -> Subnet {
    let (first, last) = bounds(subnet.prefix);
    Subnet {
        id: subnet.id,
        mask: Ipv4Addr::from(!(first ^ last)),
        valid_lifetime: subnet.valid_lifetime,
        renew_timer_s: subnet.renew_timer_s,
        rebind_timer_s: subnet.rebind_timer_s,
        tee_parts: subnet.calculate_tee_times.then_some((subnet.t1_percent, subnet.t2_percent)),
        cache_threshold: subnet.cache_threshold,
        cache_max_age_s: subnet.cache_max_age_s,
        is_authoritative: subnet.authoritative,
        match_client_id: subnet.match_client_id,
        next_server: subnet.next_server,
        server_hostname: subnet.server_hostname.as_bytes().into(),
        boot_file_name: subnet.boot_file_name.as_bytes().into(),
        options: send_options(&subnet.options),
        group,
    }
}

fn send_options(options: &[OptionData]) -> Vec<SendOption> {
    let mut sent: Vec<SendOption> = options
        .iter()
        .map(|option| SendOption {
            code: option.code,
            octets: option.octets.as_slice().into(),
            is_always_sent: option.always_send,
            is_never_sent: option.never_send,
        })
        .collect();
    sent.sort_by_key(|option| option.code);
    sent
}
