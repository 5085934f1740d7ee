//! Counts of events of clients in one shard, for the whole server and for each subnet. The shard
//! writes without a lock; any thread may read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base::Counters;

use crate::prefixes::SubnetIndex;
use crate::statistic::StatisticEvent;

/// Counts of clients' events in the subnets of one configuration.
#[derive(Debug, Default)]
pub struct SubnetEvents {
    /// Pairs of a subnet's `id` and its event counts, in the order of [`SubnetIndex`].
    subnets: Box<[(u32, Counters<{ StatisticEvent::COUNT }>)]>,
}

/// Event counts of one shard: of the whole server and of each subnet.
#[derive(Debug, Default)]
pub struct EventCounters {
    all: Counters<{ StatisticEvent::COUNT }>,
    /// Event counts of the current configuration's subnets. The map is replaced when the
    /// configuration changes, never because of a message.
    subnets: Mutex<Arc<SubnetEvents>>,
}

impl EventCounters {
    /// Counts an event of a client in the subnet at `subnet`. Only the owning shard may call this,
    /// with the `subnets` that [`Self::set_subnets`] returned.
    pub fn count(&self, event: StatisticEvent, subnets: &SubnetEvents, subnet: SubnetIndex) {
        self.all.add(event.index(), 1);
        if let Some((_, counts)) = subnets.subnets.get(subnet as usize) {
            counts.add(event.index(), 1);
        }
    }

    /// Replaces the counted subnets by those with these `id`s, and returns their counts. Subnets
    /// that stay keep their counts, as in Kea.
    pub fn set_subnets(&self, ids: impl Iterator<Item = u32>) -> Arc<SubnetEvents> {
        let mut current = self.subnets.lock().unwrap_or_else(PoisonError::into_inner);
        let before: BTreeMap<u32, _> =
            current.subnets.iter().map(|(id, counts)| (*id, counts.snapshot())).collect();
        let subnets = ids
            .map(|id| {
                let counts = Counters::default();
                let earlier_counts = before.get(&id).copied().unwrap_or_default();
                for (event, count) in earlier_counts.into_iter().enumerate() {
                    counts.add(event, count);
                }
                (id, counts)
            })
            .collect();
        *current = Arc::new(SubnetEvents { subnets });
        Arc::clone(&current)
    }

    /// Returns the number of times that an event happened at this shard, in any subnet.
    #[must_use]
    pub fn total(&self, event: StatisticEvent) -> u64 {
        self.all.value(event.index())
    }

    /// Returns the number of times that each event happened at this shard, in the order of
    /// [`StatisticEvent`].
    #[must_use]
    pub fn totals(&self) -> [u64; StatisticEvent::COUNT] {
        self.all.snapshot()
    }

    /// Returns the counts of each subnet by its `id`, in the order of [`StatisticEvent`].
    #[must_use]
    pub fn by_subnet(&self) -> Vec<(u32, [u64; StatisticEvent::COUNT])> {
        let current = Arc::clone(&self.subnets.lock().unwrap_or_else(PoisonError::into_inner));
        current.subnets.iter().map(|(id, counts)| (*id, counts.snapshot())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subnets_that_stay_keep_their_counts() {
        let events = EventCounters::default();
        let subnets = events.set_subnets([7, 9].into_iter());
        events.count(StatisticEvent::LeaseReuse, &subnets, 0);
        events.count(StatisticEvent::LeaseReuse, &subnets, 1);
        events.count(StatisticEvent::AllocationFail, &subnets, 1);
        let subnets = events.set_subnets([9, 11].into_iter());
        events.count(StatisticEvent::LeaseReuse, &subnets, 0);
        let reuses: Vec<_> = events
            .by_subnet()
            .into_iter()
            .map(|(id, counts)| (id, counts[StatisticEvent::LeaseReuse.index()]))
            .collect();
        assert_eq!(reuses, [(9, 2), (11, 0)]);
        assert_eq!(events.total(StatisticEvent::LeaseReuse), 3);
        assert_eq!(events.by_subnet()[0].1[StatisticEvent::AllocationFail.index()], 1);
    }
}
