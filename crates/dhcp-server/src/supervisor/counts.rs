//! What the shards and the lease table have counted, added up.

use dhcp_control::statistics::{Counts, LeaseCounts, PoolCounts, SubnetCounts, always_shown};
use dhcp_control::{Snapshot, prometheus};

use super::Supervisor;
use crate::latency::Latencies;
use crate::service::{Outline, Service};

impl<P: Service> Supervisor<P> {
    /// Everything that is counted, as of now.
    pub(super) fn collect_counts(&self) -> Counts {
        let usage = self.parts.table.usage_by_subnet();
        let pool =
            |&(id, total): &(u32, u128)| PoolCounts { id, total, leases: LeaseCounts::default() };
        let subnet = |outline: &Outline| {
            let usage = usage.get(&outline.facts.id).copied().unwrap_or_default();
            SubnetCounts {
                id: outline.facts.id,
                pools: outline.pools.iter().map(pool).collect(),
                prefix_pools: outline.prefix_pools.iter().map(pool).collect(),
                outside: LeaseCounts {
                    assigned: usage.leased + usage.declined,
                    declined: usage.declined,
                    ..LeaseCounts::default()
                },
                ..SubnetCounts::default()
            }
        };
        let subnets = self.parts.in_force.outlines.iter().map(subnet).collect();
        Counts { server: self.server_counts(), subnets }
    }

    /// What is counted for the whole server, added up over the shards.
    fn server_counts(&self) -> Vec<(&'static str, u64)> {
        let mut sums: Vec<(&'static str, u64)> =
            always_shown(P::VERSION).iter().map(|&name| (name, 0)).collect();
        for counted in &self.counted {
            for (name, count) in counted.messages.statistics() {
                // Every name that a shard counts under is one of Kea's.
                if let Some((_, sum)) = sums.iter_mut().find(|(known, _)| *known == name) {
                    *sum += count;
                }
            }
        }
        sums
    }

    /// Everything that is counted and measured, as Prometheus reads it.
    pub(super) fn exposition(&self) -> String {
        let counts = self.collect_counts();
        let shards = self.counted.iter().map(|counted| &*counted.latencies);
        let latencies = Latencies::total::<P>(shards);
        prometheus(&Snapshot { version: P::VERSION, counts: &counts, latencies: &latencies })
    }
}
