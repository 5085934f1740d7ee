//! Warnings about clients that got no lease from the pools.
//!
//! Kea logs three lines for each such message, which fill a log when a pool is empty. Here a subnet
//! has at most two lines a second, with Kea's identifiers and the number of messages; a message
//! itself costs nothing.

use std::collections::HashMap;

use dhcp_control::IpVersion;
use dhcp_control::statistics::SubnetCounts;

use crate::service::SubnetSummary;

/// Maximum number of subnets without free leases that the log names per second; of further ones it
/// has only the number.
const NAMED_MAX: usize = 10;

/// Numbers of messages that led to no lease, of one subnet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Failures {
    /// Number of messages for which all pools of the subnet were exhausted.
    searched: u64,
    /// Number of messages of clients that may use no pool of the subnet.
    no_pools: u64,
}

impl Failures {
    /// Reads the failures to get a lease from the counts of a subnet.
    fn from_counts(subnet: &SubnetCounts) -> Self {
        let count = |end: &str| {
            let mut counts = subnet.events.iter().filter(|(name, _)| {
                // The names exist for both families: `v4-allocation-fail`.
                name.get(2..) == Some(end)
            });
            counts.next().map_or(0, |&(_, count)| count)
        };
        Self { searched: count("-allocation-fail"), no_pools: count("-allocation-fail-no-pools") }
    }

    /// Returns the failures of the subnet since `earlier`. If a count restarted at zero, all of it
    /// is new.
    fn since(self, earlier: Self) -> Self {
        let new = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now);
        Self {
            searched: new(self.searched, earlier.searched),
            no_pools: new(self.no_pools, earlier.no_pools),
        }
    }
}

/// Failures to get a lease that were logged already, by the `id` of the subnet.
#[derive(Debug, Default)]
pub(super) struct ExhaustionLog {
    logged: HashMap<u32, Failures>,
}

/// Subnet with new failures to get a lease.
#[derive(Debug)]
pub(super) struct ExhaustedSubnet<'o> {
    outline: &'o SubnetSummary,
    failures: Failures,
}

impl ExhaustionLog {
    /// Returns the subnets whose clients failed to get a lease since the last call, with the
    /// numbers of such messages. `outlines` are the subnets by `id`.
    pub(super) fn new_failures<'o>(
        &mut self,
        subnets: &[SubnetCounts],
        outlines: &'o [SubnetSummary],
    ) -> Vec<ExhaustedSubnet<'o>> {
        let mut exhausted = Vec::new();
        for subnet in subnets {
            let now = Failures::from_counts(subnet);
            if now == Failures::default() {
                continue;
            }
            let earlier = self.logged.insert(subnet.id, now).unwrap_or_default();
            let failures = now.since(earlier);
            let outline = outlines.binary_search_by_key(&subnet.id, |outline| outline.facts.id);
            if let Ok(at) = outline
                && failures != Failures::default()
            {
                exhausted.push(ExhaustedSubnet { outline: &outlines[at], failures });
            }
        }
        exhausted
    }
}

/// Logs a warning for each kind of failure in each of `subnets`.
pub(super) fn warn(version: IpVersion, subnets: &[ExhaustedSubnet<'_>]) {
    let family = version.number();
    for ExhaustedSubnet { outline, failures } in subnets.iter().take(NAMED_MAX) {
        let Failures { searched, no_pools } = *failures;
        let facts = &outline.facts;
        let location =
            format!("in the subnet {}/{}, subnet-id {}", facts.prefix, facts.length, facts.id);
        let messages = searched + no_pools;
        match &outline.network {
            Some(network) => tracing::warn!(
                target: "alloc-engine",
                id = "ALLOC_ENGINE_VX_ALLOC_FAIL_SHARED_NETWORK",
                "{messages} messages: failed to allocate an IPv{family} address in the shared \
                 network {network}, {location}"
            ),
            None => tracing::warn!(
                target: "alloc-engine",
                id = "ALLOC_ENGINE_VX_ALLOC_FAIL_SUBNET",
                "{messages} messages: failed to allocate an IPv{family} lease {location}, shared \
                 network (none)"
            ),
        }
        if searched > 0 {
            tracing::warn!(
                target: "alloc-engine",
                id = "ALLOC_ENGINE_VX_ALLOC_FAIL",
                "{searched} messages: no lease is free in the pools {location}"
            );
        }
        if no_pools > 0 {
            tracing::warn!(
                target: "alloc-engine",
                id = "ALLOC_ENGINE_VX_ALLOC_FAIL_NO_POOLS",
                "{no_pools} messages: no pools were available for the address allocation {location}"
            );
        }
    }
    let others = subnets.len().saturating_sub(NAMED_MAX);
    if others > 0 {
        tracing::warn!(
            target: "alloc-engine",
            id = "ALLOC_ENGINE_VX_ALLOC_FAIL",
            "messages failed to get a lease in {others} more subnets"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use dhcp_control::SubnetFacts;

    use super::*;

    fn outline(id: u32) -> SubnetSummary {
        let facts = SubnetFacts {
            id,
            prefix: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)),
            length: 24,
            valid_lifetime_s: 60,
        };
        let (pools, prefix_pools) = (Vec::new(), Vec::new());
        SubnetSummary { facts, network: None, pools, prefix_pools, relationship: None }
    }

    fn counts(id: u32, searched: u64, no_pools: u64) -> SubnetCounts {
        let events = vec![
            ("v4-lease-reuses", 9),
            ("v4-allocation-fail-subnet", searched + no_pools),
            ("v4-allocation-fail", searched),
            ("v4-allocation-fail-no-pools", no_pools),
        ];
        SubnetCounts { id, events, ..SubnetCounts::default() }
    }

    #[test]
    fn new_failures_are_those_since_the_last_call_of_subnets_that_are_there() {
        let outlines = [outline(1), outline(7)];
        let mut log = ExhaustionLog::default();
        let mut exhausted = |subnets: &[SubnetCounts]| -> Vec<(u32, Failures)> {
            let new = log.new_failures(subnets, &outlines);
            new.iter().map(|subnet| (subnet.outline.facts.id, subnet.failures)).collect()
        };
        let failures = |searched, no_pools| Failures { searched, no_pools };
        assert_eq!(exhausted(&[counts(1, 0, 0), counts(7, 3, 2)]), [(7, failures(3, 2))]);
        assert_eq!(exhausted(&[counts(1, 0, 0), counts(7, 3, 2)]), []);
        let both = [(1, failures(0, 1)), (7, failures(1, 0))];
        assert_eq!(exhausted(&[counts(1, 0, 1), counts(7, 4, 2)]), both);
        assert_eq!(exhausted(&[counts(2, 5, 0)]), [], "a subnet that is gone");
        assert_eq!(exhausted(&[counts(7, 1, 0)]), [(7, failures(1, 0))], "counts that began anew");
    }
}
