//! Counts of messages and leases of a DHCP server, as plain numbers.

use super::event_counts::EventCounts;
use super::names::{self, ADDRESSES, LeaseNames, NAS, PDS, StatisticName, StatisticScope};
use crate::ip_version::IpVersion;

/// All counts of a DHCP server at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Counts of the whole server, under Kea's names (`pkt4-received`, `v4-allocation-fail`):
    /// messages, drops, failed allocations. A missing count is 0.
    pub server: Vec<(&'static str, u64)>,
    /// Counts of leases and events of every subnet of the configuration.
    pub subnets: Vec<SubnetCounts>,
    /// Counts of lease events and their listeners.
    pub events: EventCounts,
}

/// Counts of leases and events of one subnet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubnetCounts {
    /// Number (`id`) of the subnet.
    pub id: u32,
    /// Counts of the subnet's address pools. Pools with equal numbers are shown as one.
    pub pools: Vec<PoolCounts>,
    /// Counts of the subnet's pools of delegated prefixes.
    pub prefix_pools: Vec<PoolCounts>,
    /// Counts of the subnet's leased addresses that belong to no pool.
    pub outside: LeaseCounts,
    /// Counts of the subnet's delegated prefixes that belong to no pool.
    pub outside_prefixes: LeaseCounts,
    /// Other counts of the subnet, under Kea's names without `subnet[].`: `v4-lease-reuses`.
    pub events: Vec<(&'static str, u64)>,
}

/// Counts of leases of one pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Number (`pool-id`) of the pool.
    pub id: u32,
    /// Number of addresses or prefixes in the pool.
    pub total: u128,
    /// Counts of the pool's leases.
    pub leases: LeaseCounts,
}

/// Counts of leases of a pool, or of those outside all pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseCounts {
    /// Number of leases that exist now, declined ones included.
    pub assigned: u64,
    /// Number of declined leases that exist now.
    pub declined: u64,
    /// Number of leases given since the start of the server.
    pub cumulative_assigned: u64,
    /// Number of leases reclaimed since the start of the server.
    pub reclaimed: u64,
    /// Number of declined leases that were reclaimed since the start of the server.
    pub reclaimed_declined: u64,
    /// Number of addresses that clients have registered now, for DHCPv6 (RFC 9686).
    pub registered: u64,
    /// Number of addresses registered since the start of the server, for DHCPv6.
    pub cumulative_registered: u64,
}

impl LeaseCounts {
    /// Adds each count of `other` to this one's.
    fn add(&mut self, other: &Self) {
        self.assigned += other.assigned;
        self.declined += other.declined;
        self.cumulative_assigned += other.cumulative_assigned;
        self.reclaimed += other.reclaimed;
        self.reclaimed_declined += other.reclaimed_declined;
        self.registered += other.registered;
        self.cumulative_registered += other.cumulative_registered;
    }
}

/// Number of addresses or prefixes, and counts of leases, summed over several pools.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PoolTotals {
    pub(crate) total: u128,
    pub(crate) leases: LeaseCounts,
}

impl PoolTotals {
    fn add(&mut self, total: u128, leases: &LeaseCounts) {
        self.total = self.total.saturating_add(total);
        self.leases.add(leases);
    }

    fn from_pools(pools: &[PoolCounts], outside: &LeaseCounts) -> Self {
        let mut sum = Self::default();
        for pool in pools {
            sum.add(pool.total, &pool.leases);
        }
        sum.add(0, outside);
        sum
    }
}

impl SubnetCounts {
    /// Returns the sum of the counts of all addresses of the subnet, in pools and outside.
    pub(crate) fn addresses(&self) -> PoolTotals {
        PoolTotals::from_pools(&self.pools, &self.outside)
    }

    /// Returns the sum of the counts of all delegated prefixes of the subnet, in pools and outside.
    pub(crate) fn prefixes(&self) -> PoolTotals {
        PoolTotals::from_pools(&self.prefix_pools, &self.outside_prefixes)
    }
}

/// Function that gets the name and the value of each statistic.
type Visit<'a> = &'a mut dyn FnMut(StatisticName, u128);

impl ServerCounts {
    /// Calls `visit` with the name and the value of every statistic that a server of `version` has.
    pub fn for_each(&self, version: IpVersion, visit: Visit<'_>) {
        listed(StatisticScope::Global, names::always_shown(version), &self.server, visit);
        self.events.for_each(visit);
        let addresses = if version == IpVersion::V4 { &ADDRESSES } else { &NAS };
        let mut all = (PoolTotals::default(), PoolTotals::default());
        for subnet in &self.subnets {
            let (own, prefixes) = (subnet.addresses(), subnet.prefixes());
            all.0.add(own.total, &own.leases);
            all.1.add(prefixes.total, &prefixes.leases);
            let scope = StatisticScope::Subnet(subnet.id);
            visit(StatisticName { scope, counted: addresses.total }, own.total);
            if version == IpVersion::V6 {
                visit(StatisticName { scope, counted: PDS.total }, prefixes.total);
            }
            visit_lease_counts(scope, version, addresses, &own, &prefixes, visit);
            let events = names::always_shown_of_subnets(version);
            listed(scope, events, &subnet.events, visit);
            visit_pools(subnet, version, addresses, visit);
        }
        visit_lease_counts(StatisticScope::Global, version, addresses, &all.0, &all.1, visit);
    }
}

/// Calls `visit` with each count in `listed`, and with 0 for each name in `always` that is not
/// listed.
fn listed(
    scope: StatisticScope,
    always: &[&'static str],
    listed: &[(&'static str, u64)],
    visit: Visit<'_>,
) {
    for &counted in always {
        if !listed.iter().any(|&(name, _)| name == counted) {
            visit(StatisticName { scope, counted }, 0);
        }
    }
    for &(counted, count) in listed {
        visit(StatisticName { scope, counted }, count.into());
    }
}

/// Calls `visit` with the lease counts of a whole subnet or server.
fn visit_lease_counts(
    scope: StatisticScope,
    version: IpVersion,
    names: &LeaseNames,
    own: &PoolTotals,
    prefixes: &PoolTotals,
    visit: Visit<'_>,
) {
    let mut show = |counted, count: u64| visit(StatisticName { scope, counted }, count.into());
    show(names.assigned, own.leases.assigned);
    show(names.cumulative, own.leases.cumulative_assigned);
    show("declined-addresses", own.leases.declined);
    show("reclaimed-declined-addresses", own.leases.reclaimed_declined);
    show("reclaimed-leases", own.leases.reclaimed + prefixes.leases.reclaimed);
    if version == IpVersion::V6 {
        show(PDS.assigned, prefixes.leases.assigned);
        show(PDS.cumulative, prefixes.leases.cumulative_assigned);
        show("registered-nas", own.leases.registered);
        show("cumulative-registered-nas", own.leases.cumulative_registered);
    }
}

/// Calls `visit` with the lease counts of a subnet's pools; pools with equal numbers are summed.
fn visit_pools(subnet: &SubnetCounts, version: IpVersion, names: &LeaseNames, visit: Visit<'_>) {
    for pool in merged(&subnet.pools) {
        let scope = StatisticScope::Pool(subnet.id, pool.id);
        let mut show = |counted, count: u128| visit(StatisticName { scope, counted }, count);
        show(names.total, pool.total);
        show(names.assigned, pool.leases.assigned.into());
        show(names.cumulative, pool.leases.cumulative_assigned.into());
        show("declined-addresses", pool.leases.declined.into());
        show("reclaimed-declined-addresses", pool.leases.reclaimed_declined.into());
        show("reclaimed-leases", pool.leases.reclaimed.into());
    }
    if version == IpVersion::V4 {
        return;
    }
    for pool in merged(&subnet.prefix_pools) {
        let scope = StatisticScope::PrefixPool(subnet.id, pool.id);
        let mut show = |counted, count: u128| visit(StatisticName { scope, counted }, count);
        show(PDS.total, pool.total);
        show(PDS.assigned, pool.leases.assigned.into());
        show(PDS.cumulative, pool.leases.cumulative_assigned.into());
        show("reclaimed-leases", pool.leases.reclaimed.into());
    }
}

/// Returns the pools' counts summed per `pool-id`, ascending by that number.
pub(crate) fn merged(pools: &[PoolCounts]) -> Vec<PoolCounts> {
    let mut merged: Vec<PoolCounts> = Vec::with_capacity(pools.len());
    let mut sorted = pools.to_vec();
    sorted.sort_by_key(|pool| pool.id);
    for pool in sorted {
        match merged.last_mut() {
            Some(last) if last.id == pool.id => {
                last.total = last.total.saturating_add(pool.total);
                last.leases.add(&pool.leases);
            }
            _ => merged.push(pool),
        }
    }
    merged
}
