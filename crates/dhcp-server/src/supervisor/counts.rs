//! Sums of the server's counters over the shards and the lease table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Now;
use dhcp_control::statistics::{LeaseCounts, PoolCounts, ServerCounts, SubnetCounts, always_shown};
use dhcp_control::{ExporterLabels, MetricsSnapshot, prometheus};
use dhcp_engine::Omission;
use dhcp_lease::{LeaseTable, PoolIndex, PoolStatistics};

use super::ShardCounterSources;
use super::process::{self, ReloadRecord};
use crate::events::{EventSource, LegalLogCounts, NameChangeService, ScriptPool};
use crate::ha::PairState;
use crate::hosts::HostRowCounts;
use crate::latency::Latencies;
use crate::service::{DaemonFamily, SubnetSummary};

/// Sources of all counters of the server, with the data that they are shown with.
#[derive(Debug)]
pub(super) struct CounterSources<P: DaemonFamily> {
    pub(super) table: Arc<LeaseTable<P>>,
    pub(super) shards: Vec<ShardCounterSources<P>>,
    /// Summaries of the subnets, sorted by `id`.
    pub(super) outlines: Arc<[SubnetSummary]>,
    /// Size of the lease file, in bytes.
    pub(super) lease_file: Option<Arc<AtomicU64>>,
    /// Counts of rows of hosts databases that are not complete reservations; `None` without such
    /// databases.
    pub(super) host_rows: Option<Arc<HostRowCounts>>,
    /// Counts of entries of the legal log.
    pub(super) legal_log: Arc<LegalLogCounts>,
    /// Sender of name change requests.
    pub(super) name_changes: Arc<NameChangeService>,
    /// Relationships with partners.
    pub(super) pairs: Vec<Arc<PairState>>,
    /// Scripts of the hook library run_script; `None` if the server cannot run any.
    pub(super) scripts: Option<Arc<ScriptPool>>,
    pub(super) started: Now,
    pub(super) reloads: Arc<ReloadRecord>,
    /// Labels for the metric names of kea-exporter, if the configuration has such labels.
    pub(super) exporter: Option<Arc<ExporterLabels>>,
    /// Source of the counts of lease events and their listeners.
    pub(super) events: Arc<dyn EventSource>,
}

impl<P: DaemonFamily> Clone for CounterSources<P> {
    fn clone(&self) -> Self {
        Self {
            table: Arc::clone(&self.table),
            shards: self.shards.clone(),
            outlines: Arc::clone(&self.outlines),
            lease_file: self.lease_file.clone(),
            host_rows: self.host_rows.clone(),
            legal_log: Arc::clone(&self.legal_log),
            name_changes: Arc::clone(&self.name_changes),
            pairs: self.pairs.clone(),
            scripts: self.scripts.clone(),
            started: self.started,
            reloads: Arc::clone(&self.reloads),
            exporter: self.exporter.clone(),
            events: Arc::clone(&self.events),
        }
    }
}

impl<P: DaemonFamily> CounterSources<P> {
    /// Returns the size of the lease file in bytes; `None` if the server has no lease file.
    pub(super) fn lease_file_bytes(&self) -> Option<u64> {
        self.lease_file.as_ref().map(|bytes| bytes.load(Ordering::Relaxed))
    }

    /// Returns the present values of all counters of the server.
    pub(super) fn counts(&self) -> ServerCounts {
        let mut subnets: Vec<SubnetCounts> = self.outlines.iter().map(empty).collect();
        let mut add = |id: u32, is_prefix: bool, pool: Option<u32>, statistics: PoolStatistics| {
            let Ok(at) = subnets.binary_search_by_key(&id, |subnet| subnet.id) else { return };
            let subnet = &mut subnets[at];
            let leases = lease_counts(statistics);
            match (pool, is_prefix) {
                // Pools with equal numbers are shown as one, so their leases may arrive separately.
                (Some(id), false) => subnet.pools.push(PoolCounts { id, total: 0, leases }),
                (Some(id), true) => subnet.prefix_pools.push(PoolCounts { id, total: 0, leases }),
                (None, false) => subnet.outside = leases,
                (None, true) => subnet.outside_prefixes = leases,
            }
        };
        let table = &self.table;
        for (index, spec) in (0..).zip(table.pools().specs()) {
            let is_prefix = P::counts_prefixes(P::kind(spec.first));
            add(spec.subnet_id, is_prefix, Some(spec.pool_id), table.statistics(PoolIndex(index)));
        }
        for ((subnet, kind), statistics) in table.statistics_outside() {
            add(subnet, P::counts_prefixes(kind), None, statistics);
        }
        self.add_events(&mut subnets);
        ServerCounts { server: self.server_counts(), subnets, events: self.events.counts() }
    }

    /// Adds the counters that shards have by subnet to `subnets`.
    fn add_events(&self, subnets: &mut [SubnetCounts]) {
        for counted in &self.shards {
            for (id, name, count) in counted.messages.subnet_statistics() {
                let Ok(at) = subnets.binary_search_by_key(&id, |subnet| subnet.id) else {
                    continue;
                };
                let events = &mut subnets[at].events;
                match events.iter_mut().find(|(existing, _)| *existing == name) {
                    Some((_, sum)) => *sum += count,
                    None => events.push((name, count)),
                }
            }
        }
    }

    /// Returns the counters of the whole server, summed over the shards.
    fn server_counts(&self) -> Vec<(&'static str, u64)> {
        let mut sums: Vec<(&'static str, u64)> =
            always_shown(P::VERSION).iter().map(|&name| (name, 0)).collect();
        for counted in &self.shards {
            for (name, count) in counted.messages.statistics() {
                // Every name of a shard's counter is one of Kea's.
                if let Some((_, sum)) = sums.iter_mut().find(|(existing, _)| *existing == name) {
                    *sum += count;
                }
            }
        }
        sums
    }

    /// Returns all counters and measurements of the server in the format of Prometheus.
    pub(super) fn exposition(&self) -> String {
        let counts = self.counts();
        let shards = self.shards.iter().map(|counted| &*counted.latencies);
        let latencies = Latencies::total::<P>(shards);
        let host_rows = self.host_rows.as_ref().map(|rows| rows.entries());
        let legal_log = self.legal_log.entries();
        let name_changes = self.name_changes.counts();
        let script_runs = self.scripts.as_ref().map(|scripts| scripts.entries());
        let pairs: Vec<_> = self.pairs.iter().map(|pair| pair.metrics()).collect();
        prometheus(&MetricsSnapshot {
            version: P::VERSION,
            counts: &counts,
            drops: &self.drops(),
            omissions: &self.omissions(),
            host_rows: host_rows.as_ref().map(|rows| &rows[..]),
            legal_log: legal_log.as_ref().map(|log| &log[..]),
            name_changes: name_changes.as_ref().map(|counts| &counts[..]),
            pairs: &pairs,
            script_runs: script_runs.as_ref().map(|runs| &runs[..]),
            latencies: &latencies,
            lease_file_bytes: self.lease_file_bytes(),
            process: process::facts(self.started, &self.reloads, self.shards.len()),
            exporter: self.exporter.as_deref(),
        })
    }

    /// Returns the counts of messages that the server did not answer, by drop reason, summed over
    /// the shards, which all have the same reasons.
    fn drops(&self) -> Vec<(&'static str, u64)> {
        summed(self.shards.iter().map(|counted| counted.messages.drops()))
    }

    /// Returns the number of the server's replies that lack options which did not fit.
    pub(super) fn shortened_replies(&self) -> u64 {
        let name = Omission::Options.name();
        self.omissions()
            .iter()
            .find(|(omission, _)| *omission == name)
            .map_or(0, |(_, count)| *count)
    }

    /// Returns the counts of incomplete leases and replies by reason, summed over the shards.
    fn omissions(&self) -> Vec<(&'static str, u64)> {
        summed(self.shards.iter().map(|counted| counted.messages.omissions()))
    }
}

/// Sums the counters of shards that all have counters of the same names.
fn summed<C>(shards: impl Iterator<Item = C>) -> Vec<(&'static str, u64)>
where
    C: Iterator<Item = (&'static str, u64)>,
{
    let mut sums: Vec<(&'static str, u64)> = Vec::new();
    for counts in shards {
        for (at, (reason, count)) in counts.enumerate() {
            match sums.get_mut(at) {
                Some((_, sum)) => *sum += count,
                None => sums.push((reason, count)),
            }
        }
    }
    sums
}

/// Returns zero counters of the subnet `outline` with its pools.
fn empty(outline: &SubnetSummary) -> SubnetCounts {
    let pool =
        |&(id, total): &(u32, u128)| PoolCounts { id, total, leases: LeaseCounts::default() };
    SubnetCounts {
        id: outline.facts.id,
        pools: outline.pools.iter().map(pool).collect(),
        prefix_pools: outline.prefix_pools.iter().map(pool).collect(),
        ..SubnetCounts::default()
    }
}

const fn lease_counts(statistics: PoolStatistics) -> LeaseCounts {
    LeaseCounts {
        assigned: statistics.assigned,
        declined: statistics.declined,
        cumulative_assigned: statistics.cumulative_assigned,
        reclaimed: statistics.reclaimed,
        reclaimed_declined: statistics.reclaimed_declined,
        registered: statistics.registered,
        cumulative_registered: statistics.cumulative_registered,
    }
}
