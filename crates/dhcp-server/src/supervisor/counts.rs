//! What the shards and the lease table have counted, added up.

use dhcp_control::statistics::{Counts, LeaseCounts, PoolCounts, SubnetCounts};

use super::Supervisor;
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
        Counts { server: Vec::new(), subnets }
    }
}
