//! Judges subnets, pools and shared networks, with the leases of a lease file and the rate of a
//! stored result.

use crate::source::SourcePosition;

use super::facts::{ConfigFacts, PoolFacts, SubnetConfigFacts};
use super::fault::PerformanceFault;
use super::measured::{self, Cost, ShareMeaning, grouped};
use super::{FindingCollector, LeasedResources, MeasuredRate, ServerObservations, grouped_count};

/// Fraction of leased addresses from which on a pool is nearly full. In ISC's published chart the
/// rate collapses at 96 %; the search for a free address takes longer below that already.
const NEARLY_FULL: f64 = 0.90;
/// Number of addresses up to which the pools of a subnet are small: one client that changes its
/// identity a few times fills them.
const SMALL: u128 = 16;
/// Number of addresses up to which a subnet counts as small; a configuration should not have many
/// small subnets.
const SMALL_SUBNET: u128 = 256;
/// Number of small subnets from which on a configuration has many: Kea goes through its subnets one
/// by one for each message.
const MANY_SUBNETS: usize = 64;
/// Number of pools above which a subnet has many.
const MANY_POOLS: usize = 8;
/// Number of addresses in pools up to which, without a lease file, the number of clients is assumed
/// to equal it.
const MOST_CLIENTS: u128 = 1 << 24;

pub(super) fn judge(
    facts: &ConfigFacts<'_>,
    observed: &ServerObservations,
    report: &mut FindingCollector,
) {
    if let Some(leases) = &observed.leases {
        full_pools(facts, leases, report);
    }
    sizes(facts, report);
    if !facts.networks.is_empty() {
        report.add(
            PerformanceFault::SharedNetwork,
            facts.networks.iter().map(|network| network.at).collect(),
            measured::advised(),
            format!(
                "{}: a client may belong to any subnet of its network, so the server searches one \
                 after the other for its lease, its reservation and a free address",
                grouped_count(facts.networks.len(), "shared network", "shared networks")
            ),
            "replace its subnets by one of the whole size; remove a shared network that has only \
             one subnet",
        );
    }
    if let Some(carried) = &observed.carried {
        lease_times(facts, observed.leases.as_ref(), carried, report);
    }
}

fn full_pools(facts: &ConfigFacts<'_>, leases: &LeasedResources, report: &mut FindingCollector) {
    let part = |pool: &PoolFacts| {
        let leased = if pool.is_of_prefixes {
            leases.prefixes_in(pool.range)
        } else {
            leases.addresses_in(pool.range)
        };
        leased as f64 / pool.count as f64
    };
    let pools = facts.subnets.iter().flat_map(|subnet| &subnet.pools);
    let pools = pools.filter(|pool| !pool.has_queue);
    let full: Vec<(SourcePosition, f64)> =
        pools.map(|pool| (pool.at, part(pool))).filter(|&(_, part)| part >= NEARLY_FULL).collect();
    let fullest = full.iter().map(|&(_, part)| part).fold(0.0, f64::max);
    report.add(
        PerformanceFault::NearlyFullPool,
        full.iter().map(|&(at, _)| at).collect(),
        measured::full_pool(),
        format!(
            "{} according to the lease file, the fullest {:.1} % full: the search for a free \
             address passes all leased ones",
            grouped_count(full.len(), "pool is nearly full", "pools are nearly full"),
            fullest * 100.0
        ),
        "give the subnet more addresses or shorter leases, or set `\"allocator\": \"flq\"`, which \
         keeps a queue of free addresses",
    );
}

fn sizes(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    let has_pools = |subnet: &&SubnetConfigFacts<'_>| !subnet.pools.is_empty();
    let with_pools = || facts.subnets.iter().filter(has_pools);
    let small: Vec<SourcePosition> = with_pools()
        .filter(|subnet| subnet.capacity() <= SMALL_SUBNET)
        .map(|subnet| subnet.view.at)
        .collect();
    let are_many = small.len() >= MANY_SUBNETS;
    if are_many {
        report.add(
            PerformanceFault::ManySubnets,
            small[..1].to_vec(),
            measured::advised(),
            format!(
                "{} subnets have at most {SMALL_SUBNET} addresses each, the first of them here: \
                 small subnets fill sooner, and the server searches for the right one for each \
                 message",
                grouped(small.len() as f64)
            ),
            "join subnets of one link to a larger one with one pool",
        );
    } else {
        let tiny = with_pools().filter(|subnet| subnet.capacity() <= SMALL);
        let tiny: Vec<&SubnetConfigFacts<'_>> = tiny.collect();
        report.add(
            PerformanceFault::SmallPool,
            tiny.iter().map(|subnet| subnet.pools[0].at).collect(),
            measured::advised(),
            format!(
                "{} at most {SMALL} addresses: with a few more clients the pool is full, and the \
                 search for a free address takes long",
                match tiny.len() {
                    1 => "a subnet has".to_owned(),
                    count => format!("{} subnets have", grouped(count as f64)),
                }
            ),
            "make the pool as large as the subnet allows",
        );
    }
    let many = facts.subnets.iter().filter(|subnet| {
        subnet.pools.iter().filter(|pool| !pool.is_of_prefixes).count() > MANY_POOLS
    });
    report.add(
        PerformanceFault::ManyPools,
        many.map(|subnet| subnet.view.at_any(&["pools"])).collect(),
        measured::advised(),
        format!(
            "a subnet has more than {MANY_POOLS} pools, which are searched one after the other"
        ),
        "join neighbouring pools",
    );
}

/// Reports lease times so short that the server, by its measured rate, cannot keep up with the
/// renewals.
fn lease_times(
    facts: &ConfigFacts<'_>,
    leases: Option<&LeasedResources>,
    measured_rate: &MeasuredRate,
    report: &mut FindingCollector,
) {
    let clients = |subnet: &SubnetConfigFacts<'_>| match leases {
        Some(leases) => {
            let delegated = subnet.pools.iter().filter(|pool| pool.is_of_prefixes);
            let delegated: u128 = delegated.map(|pool| leases.prefixes_in(pool.range)).sum();
            Some(leases.addresses_in(subnet.range) + delegated)
        }
        None => Some(subnet.capacity()).filter(|&capacity| capacity <= MOST_CLIENTS),
    };
    let mut needed = 0.0;
    let mut total = 0;
    let mut busiest: Option<(f64, &SubnetConfigFacts<'_>)> = None;
    for subnet in &facts.subnets {
        let Some(count) = clients(subnet) else {
            report.note(
                "lease times were not judged: the pools do not show how many clients there are, since \
                 they have more addresses than there can be clients; give a lease file (--leases)",
            );
            return;
        };
        let Some(t1_s) = subnet.t1_s else { continue };
        let rate = count as f64 / t1_s;
        needed += rate;
        total += count;
        if busiest.is_none_or(|(most, _)| rate > most) {
            busiest = Some((rate, subnet));
        }
    }
    let is_overloaded = needed > measured_rate.leases_per_s;
    let Some((_, subnet)) = busiest else { return };
    if !is_overloaded {
        return;
    }
    let renewing = if leases.is_some() {
        "leases of the file"
    } else {
        "addresses of the pools, if all are leased"
    };
    let bound =
        if measured_rate.is_at_least { ShareMeaning::AtMost } else { ShareMeaning::Measured };
    let least = if measured_rate.is_at_least { "at least " } else { "" };
    let figures = format!(
        "{} renewals/s are needed, {least}{} leases/s were measured",
        grouped(needed),
        grouped(measured_rate.leases_per_s)
    );
    report.add(
        PerformanceFault::LeaseTime,
        vec![subnet.at_any(facts.global, &["renew-timer", "valid-lifetime"])],
        Cost::from_result(
            needed / measured_rate.leases_per_s,
            bound,
            figures,
            &measured_rate.source,
        ),
        format!(
            "{} {renewing} renew more often than the measured server can answer",
            grouped(total as f64)
        ),
        format!(
            "make lease times (or `renew-timer`) at least {:.1} times as long",
            needed / measured_rate.leases_per_s
        ),
    );
}
