//! Merging of the records of several generators that divided one load into one record.

use std::collections::BTreeMap;

use super::{LatencySummary, LoadRecord};

impl LoadRecord {
    /// Merges the records of generators that sent at the same time, as if one had sent all: counts
    /// and distributions add up. For `latency_sent`, whose distributions are not kept, each
    /// percentile is the highest of the parts, so the true value is not above it. `None` without
    /// any record.
    pub fn merged(parts: Vec<Self>) -> Option<Self> {
        let mut entries = BTreeMap::new();
        for (upper_ns, count) in parts.iter().flat_map(|part| &part.histogram_due) {
            *entries.entry(*upper_ns).or_insert(0) += count;
        }
        let count = parts.len();
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        if count == 1 {
            return Some(whole);
        }
        for part in parts {
            whole.offered_per_s += part.offered_per_s;
            whole.duration_s = whole.duration_s.max(part.duration_s);
            whole.exchanges.merge(&part.exchanges);
            whole.messages.merge(&part.messages);
            whole.completed_per_s += part.completed_per_s;
            whole.latency_due = whole.latency_due.combined_with(&part.latency_due);
            whole.latency_sent = whole.latency_sent.combined_with(&part.latency_sent);
            whole.late_sends += part.late_sends;
            whole.late_send_max_us = whole.late_send_max_us.max(part.late_send_max_us);
            whole.own_socket_drops += part.own_socket_drops;
            whole.send_refused += part.send_refused;
            whole.generator_limited |= part.generator_limited;
            if !part.generator_limited_reason.is_empty() {
                let between = if whole.generator_limited_reason.is_empty() { "" } else { "; " };
                whole.generator_limited_reason += between;
                whole.generator_limited_reason += &part.generator_limited_reason;
            }
            whole.generator_cpu_s += part.generator_cpu_s;
            whole.segmentation |= part.segmentation;
            whole.leases += part.leases;
            whole.conflicts += part.conflicts;
        }
        let exact = whole.latency_due;
        whole.latency_due = LatencySummary {
            min_us: exact.min_us,
            mean_us: exact.mean_us,
            max_us: exact.max_us,
            ..LatencySummary::from_entries(&entries)
        };
        whole.histogram_due = entries.into_iter().collect();
        whole.settings.insert("generators".to_owned(), count.into());
        (whole.timeline, whole.lease_list_path) = (None, None);
        Some(whole)
    }
}

impl LatencySummary {
    /// Combines two latency summaries without their distributions: count, extremes and mean
    /// exactly, and the higher one of every percentile.
    fn combined_with(&self, other: &Self) -> Self {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { *other } else { *self };
        }
        let count = self.count + other.count;
        let sum_us = self.mean_us * self.count as f64 + other.mean_us * other.count as f64;
        Self {
            count,
            min_us: self.min_us.min(other.min_us),
            mean_us: sum_us / count as f64,
            max_us: self.max_us.max(other.max_us),
            p50_us: higher(self.p50_us, other.p50_us),
            p90_us: higher(self.p90_us, other.p90_us),
            p99_us: higher(self.p99_us, other.p99_us),
            p999_us: higher(self.p999_us, other.p999_us),
        }
    }
}

/// Returns the higher one of two percentiles of latency; `None` unless both are known.
fn higher(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one?.max(other?))
}

#[cfg(test)]
mod tests {
    use base::{Histogram, Random};

    use super::*;
    use crate::record::{ExchangeCounts, MessageCounts};

    fn record(of: &Histogram, due: u64, reason: &str) -> LoadRecord {
        let latency = LatencySummary::from_histogram(of);
        LoadRecord {
            offered_per_s: due as f64,
            duration_s: 1.0,
            exchanges: ExchangeCounts { due, sent: due, on_time: of.count(), ..Default::default() },
            messages: MessageCounts {
                sent: 2 * due,
                received: 2 * of.count(),
                ..Default::default()
            },
            completed_per_s: of.count() as f64,
            latency_due: latency,
            latency_sent: latency,
            histogram_due: of.entries().collect(),
            generator_limited: !reason.is_empty(),
            generator_limited_reason: reason.to_owned(),
            leases: of.count(),
            ..LoadRecord::default()
        }
    }

    #[test]
    fn two_parts_are_what_one_generator_would_have_written() {
        let mut random = Random::from_seed(5);
        let [mut one, mut two, mut both] = [(); 3].map(|()| Histogram::up_to(1_000_000_000));
        for number in 0..9_000_u64 {
            let value = random.below(1_000_000) + number;
            both.record(value);
            if number % 3 == 0 { one.record(value) } else { two.record(value) }
        }
        let parts = vec![record(&one, 3_100, ""), record(&two, 6_000, "full")];
        let merged = LoadRecord::merged(parts).unwrap();
        let whole = record(&both, 9_100, "full");
        assert_eq!((merged.exchanges, merged.messages), (whole.exchanges, whole.messages));
        assert_eq!(merged.histogram_due, whole.histogram_due);
        assert_eq!((merged.offered_per_s, merged.completed_per_s), (9_100.0, 9_000.0));
        assert_eq!((merged.leases, merged.generator_limited), (9_000, true));
        assert_eq!(merged.generator_limited_reason, "full");
        let (latency, exact) = (merged.latency_due, whole.latency_due);
        assert!((latency.mean_us / exact.mean_us - 1.0).abs() < 1e-9);
        assert_eq!(LatencySummary { mean_us: exact.mean_us, ..latency }, exact);
        assert!(merged.latency_sent.p99_us >= exact.p99_us);
        assert_eq!(merged.settings["generators"], 2);
    }

    #[test]
    fn one_part_is_itself_and_none_is_nothing() {
        let mut one = Histogram::up_to(1_000);
        one.record(7);
        let alone = record(&one, 1, "");
        assert_eq!(LoadRecord::merged(vec![alone.clone()]), Some(alone));
        assert_eq!(LoadRecord::merged(Vec::new()), None);
    }
}
