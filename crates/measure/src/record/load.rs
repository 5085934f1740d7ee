//! Record that a load generator writes after one trial, in the JSON schema `godwit.load.v1`.

use std::collections::BTreeMap;

use base::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LoadTimeline;

/// Value of the field `schema` in a [`LoadRecord`].
pub const LOAD_SCHEMA: &str = "godwit.load.v1";

/// Record of one run of a generator at one offered rate. A field that a generator does not write
/// reads as zero or empty, so that records of other tools can be converted to this type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoadRecord {
    /// Name of the record's JSON schema, [`LOAD_SCHEMA`].
    pub schema: String,
    /// Name of the generator that wrote the record, e.g. `godwit load dhcp4`.
    pub tool: String,
    /// Version of the generator program that wrote the record.
    pub version: String,
    /// Seed of all random decisions of the generator in the run.
    pub seed: u64,
    /// Settings of the generator: the name of each with its value.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// Exchanges per second that the generator scheduled.
    pub offered_per_s: f64,
    /// Seconds during which exchanges came due, without the wait for late answers after them.
    pub duration_s: f64,
    /// Counts of the exchanges by outcome.
    pub exchanges: ExchangeCounts,
    /// Counts of the datagrams that the generator sent and received.
    pub messages: MessageCounts,
    /// Exchanges per second that were completed on time while others came due:
    /// `(exchanges.on_time - exchanges.behind) / duration_s`.
    pub completed_per_s: f64,
    /// Deadline: seconds from the due time within which an exchange must be complete to be on time.
    pub deadline_s: f64,
    /// Latency of completed exchanges, including late ones, counted from their due times.
    pub latency_due: LatencySummary,
    /// Latency of completed exchanges, including late ones, counted from the times at which their
    /// first messages left.
    pub latency_sent: LatencySummary,
    /// Distribution of `latency_due`: the largest value of each bucket in nanoseconds with its
    /// count, ascending, empty buckets left out.
    pub histogram_due: Vec<(u64, u64)>,
    /// Number of exchanges' first messages that left later than the schedule tolerates.
    pub late_sends: u64,
    /// Largest delay of an exchange's first message after its due time, in microseconds.
    pub late_send_max_us: f64,
    /// Number of datagrams that the kernel dropped at the generator's own socket.
    pub own_socket_drops: u64,
    /// Number of the generator's sends that the kernel refused (full buffers, no route).
    pub send_refused: u64,
    /// True if, by the generator's own judgment, the generator limited the rate and not the server.
    pub generator_limited: bool,
    /// Reason in words why the generator limited the rate; empty when it did not.
    pub generator_limited_reason: String,
    /// Processor seconds that the generator used, as the generator itself measured them.
    pub generator_cpu_s: f64,
    /// True if the generator used segmentation or coalescing offload of UDP (datagrams sent or
    /// received in groups).
    pub segmentation: bool,
    /// Number of distinct addresses that clients had leased at the end of the run.
    pub leases: u64,
    /// Number of times that a server granted an address or prefix to a client while another client
    /// held it.
    pub conflicts: u64,
    /// Path of the file with the leases as `address,mac` lines, if the user requested one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_list_path: Option<String>,
    /// Counts of exchanges by intervals of time, if the user requested them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<LoadTimeline>,
}

base::counts! {
    /// Counts of exchanges by outcome. Each due exchange is in exactly one of the classes
    /// `on_time`, `late`, `lost`, `nak`, `invalid`; the other fields count in addition.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    pub struct ExchangeCounts {
        /// Number of exchanges that came due by the schedule.
        pub due: u64,
        /// Number of exchanges whose first message left the generator.
        pub sent: u64,
        /// Number of exchanges that were complete within the deadline.
        pub on_time: u64,
        /// Number of exchanges on time that were queued too long: complete so long after the last
        /// one left (more than what the quickest took and 1 % of the offer, at least 10 and at most
        /// 50 ms) that they show a queue that grew while exchanges were offered.
        pub behind: u64,
        /// Number of exchanges that were complete after the deadline.
        pub late: u64,
        /// Number of exchanges that were not complete when the generator stopped waiting for
        /// answers.
        pub lost: u64,
        /// Number of exchanges that the server refused, such as by DHCPNAK.
        pub nak: u64,
        /// Number of exchanges that the server answered with a message that breaks the protocol.
        pub invalid: u64,
        /// Number of exchanges that the server answered with the data of another client.
        pub wrong_client: u64,
        /// Number of answers to messages that the server had answered before.
        pub duplicate_answered: u64,
        /// Number of exchanges still open when the record was written; 0 after the wait for late
        /// answers.
        pub in_flight_at_end: u64,
    }
}

impl ExchangeCounts {
    /// Returns the share of due exchanges that were not completed within the deadline, 0 to 1:
    /// late, lost, refused and invalid ones alike, and those that were never sent. 0 when nothing
    /// was due. `--max-loss` limits this share; rates are judged by [`ExchangeCounts::shortfall`].
    pub fn loss(&self) -> f64 {
        self.share(self.due.saturating_sub(self.on_time))
    }

    /// Returns the number of exchanges that count as carried: on time and not queued too long.
    /// Every rate, share and figure per processor second is made from this count. Otherwise a queue
    /// that is long enough would make any rate look carried, until it is full.
    pub const fn carried(&self) -> u64 {
        self.on_time.saturating_sub(self.behind)
    }

    /// Returns the share of due exchanges that were not carried (late, lost, refused, invalid, or
    /// queued too long), 0 to 1, by which a rate is judged. 0 when nothing was due.
    #[must_use]
    pub fn shortfall(&self) -> f64 {
        self.share(self.due.saturating_sub(self.carried()))
    }

    /// Returns the share of due exchanges that were on time but queued too long, 0 to 1: the part
    /// of the shortfall that waited in a queue which grew.
    pub fn queued_too_long_share(&self) -> f64 {
        self.share(self.behind.min(self.on_time))
    }

    fn share(&self, count: u64) -> f64 {
        if self.due == 0 { 0.0 } else { count as f64 / self.due as f64 }
    }
}

base::counts! {
    /// Counts of a generator's datagrams in one run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    pub struct MessageCounts {
        /// Number of datagrams that the generator sent.
        pub sent: u64,
        /// Number of datagrams that the generator received.
        pub received: u64,
        /// Number of datagrams received that the generator could not parse.
        pub malformed: u64,
        /// Number of datagrams received that belong to no open exchange.
        pub unmatched: u64,
        /// Bytes of the datagrams that the generator sent, without their headers; 0 when not
        /// counted.
        #[serde(skip_serializing_if = "is_zero")]
        pub sent_bytes: u64,
        /// Bytes of the datagrams that the generator received, without their headers; 0 when not
        /// counted.
        #[serde(skip_serializing_if = "is_zero")]
        pub received_bytes: u64,
    }
}

impl MessageCounts {
    /// Returns the megabits per second of Ethernet frames, sent and received, in `duration_s`,
    /// without the preamble, check sequence and gap of each frame. `header_bytes` are the headers
    /// of one datagram, with the frame's. Groups count as the datagrams in them. `None` when bytes
    /// were not counted.
    pub fn mbit_per_s(&self, header_bytes: u64, duration_s: f64) -> Option<[f64; 2]> {
        let rate = |count: u64, bytes: u64| {
            ((bytes + count * header_bytes) * 8) as f64 / (duration_s * 1e6)
        };
        (self.sent_bytes > 0 && duration_s > 0.0)
            .then(|| [rate(self.sent, self.sent_bytes), rate(self.received, self.received_bytes)])
    }
}

/// Returns true if `count` is 0, so that a record leaves it out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Distribution of exchanges' latencies in a few figures, in microseconds. All 0 when `count` is 0.
/// A percentile has a value only with enough samples ([`samples_for`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LatencySummary {
    /// Number of exchanges whose latency the summary counts.
    pub count: u64,
    /// Smallest latency of an exchange, in microseconds.
    pub min_us: f64,
    /// Arithmetic mean of the exchanges' latencies, in microseconds.
    pub mean_us: f64,
    /// Largest latency of an exchange, in microseconds.
    pub max_us: f64,
    /// Median latency, in microseconds: half of the exchanges took at most this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// Latency that 90 % of the exchanges did not exceed, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_us: Option<f64>,
    /// Latency that 99 % of the exchanges did not exceed, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// Latency that 99.9 % of the exchanges did not exceed, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999_us: Option<f64>,
}

/// Returns the least number of latencies for which the quantile (0 to 1) has a value, 10 / (1 −
/// quantile): ten samples are above it. 20 for the median, 10,000 for 99.9 %.
pub fn samples_for(quantile: f64) -> u64 {
    (10.0 / (1.0 - quantile)).round() as u64
}

impl LatencySummary {
    /// Returns the latency figures of a histogram of nanoseconds.
    pub fn from_histogram(histogram: &Histogram) -> Self {
        let us = |ns: Option<u64>| ns.unwrap_or(0) as f64 / 1e3;
        let at = |quantile| Some(us(histogram.quantile(quantile)));
        Self {
            count: histogram.count(),
            min_us: us(histogram.min()),
            mean_us: histogram.mean().unwrap_or(0.0) / 1e3,
            max_us: us(histogram.max()),
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
        }
        .without_unsupported_percentiles()
    }

    /// Returns the latency figures of stored histogram entries ([`LoadRecord::histogram_due`]),
    /// which may be those of several records added up: this is how percentiles are combined, never
    /// by averaging. Minimum, mean and maximum are exact to a bucket only.
    pub fn from_entries(entries: &BTreeMap<u64, u64>) -> Self {
        let count: u64 = entries.values().sum();
        let (Some((&first, _)), Some((&last, _))) =
            (entries.first_key_value(), entries.last_key_value())
        else {
            return Self::default();
        };
        let sum: f64 = entries.iter().map(|(&ns, &n)| ns as f64 * n as f64).sum();
        let at = |quantile: f64| {
            let rank = ((quantile * count as f64).ceil() as u64).max(1);
            let mut seen = 0;
            let holder = entries.iter().find(|&(_, &n)| {
                seen += n;
                seen >= rank
            });
            Some(holder.map_or(last, |(&ns, _)| ns) as f64 / 1e3)
        };
        Self {
            count,
            min_us: first as f64 / 1e3,
            mean_us: sum / count as f64 / 1e3,
            max_us: last as f64 / 1e3,
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
        }
        .without_unsupported_percentiles()
    }

    /// Returns the latency summary without percentiles that have too few samples, which records of
    /// older versions contain.
    #[must_use]
    pub fn without_unsupported_percentiles(self) -> Self {
        let of = |quantile, us: Option<f64>| {
            if self.count >= samples_for(quantile) { us } else { None }
        };
        Self {
            p50_us: of(0.5, self.p50_us),
            p90_us: of(0.9, self.p90_us),
            p99_us: of(0.99, self.p99_us),
            p999_us: of(0.999, self.p999_us),
            ..self
        }
    }

    /// Formats median, high percentiles and maximum in whole microseconds, for people; a dash for a
    /// value with too few samples.
    pub fn text(&self) -> String {
        let us = |us: Option<f64>| us.map_or_else(|| "-".to_owned(), |us| format!("{us:.0} µs"));
        let most = if self.count > 0 { Some(self.max_us) } else { None };
        let [p50, p99, p999, most] = [self.p50_us, self.p99_us, self.p999_us, most].map(us);
        format!("p50 {p50}, p99 {p99}, p99.9 {p999}, max {most}")
    }
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    #[test]
    fn loss_counts_everything_that_was_not_on_time() {
        let counts = ExchangeCounts {
            due: 1000,
            sent: 990,
            on_time: 970,
            late: 5,
            lost: 10,
            nak: 3,
            invalid: 2,
            ..ExchangeCounts::default()
        };
        assert_eq!(counts.loss(), 0.03);
        assert_eq!(ExchangeCounts::default().loss(), 0.0);
        let counts = ExchangeCounts { behind: 10, ..counts };
        assert_eq!(
            (counts.loss(), counts.shortfall()),
            (0.03, 0.04),
            "on time, in a queue that grew"
        );
        assert_eq!(ExchangeCounts::default().shortfall(), 0.0);
    }

    #[test]
    fn merged_entries_give_the_percentiles_of_one_histogram() {
        let mut random = Random::from_seed(11);
        let mut whole = Histogram::up_to(100_000_000_000);
        let mut entries = BTreeMap::new();
        for part in 1..4_u64 {
            let mut histogram = Histogram::up_to(100_000_000_000);
            for _ in 0..5_000 {
                let value = random.below(1_000_000 * part * part);
                histogram.record(value);
                whole.record(value);
            }
            for (upper, count) in histogram.entries() {
                *entries.entry(upper).or_insert(0) += count;
            }
        }
        let (merged, exact) =
            (LatencySummary::from_entries(&entries), LatencySummary::from_histogram(&whole));
        assert_eq!(merged.count, exact.count);
        for (merged, exact) in [
            (merged.p50_us, exact.p50_us),
            (merged.p90_us, exact.p90_us),
            (merged.p99_us, exact.p99_us),
            (merged.p999_us, exact.p999_us),
        ] {
            assert_eq!(merged, exact);
        }
        assert!((merged.mean_us / exact.mean_us - 1.0).abs() < 1e-3);
        assert_eq!(LatencySummary::from_entries(&BTreeMap::new()), LatencySummary::default());
    }

    #[test]
    fn a_percentile_is_told_of_enough_samples_only() {
        assert_eq!([0.5, 0.9, 0.99, 0.999].map(samples_for), [20, 100, 1_000, 10_000]);
        for (count, expected) in [(0, 0), (19, 0), (20, 1), (99, 1), (100, 2), (999, 2), (1_000, 3)]
            .into_iter()
            .chain([(9_999, 3), (10_000, 4)])
        {
            let mut histogram = Histogram::up_to(1_000_000);
            (0..count).for_each(|value| histogram.record(value));
            let entries = histogram.entries().collect();
            let old = LatencySummary {
                count,
                p50_us: Some(1.0),
                p90_us: Some(1.0),
                p99_us: Some(1.0),
                p999_us: Some(1.0),
                ..LatencySummary::default()
            };
            for summary in [
                LatencySummary::from_histogram(&histogram),
                LatencySummary::from_entries(&entries),
                old.without_unsupported_percentiles(),
            ] {
                let all = [summary.p50_us, summary.p90_us, summary.p99_us, summary.p999_us];
                assert_eq!(all.iter().flatten().count(), expected, "{count}: {summary:?}");
            }
        }
        assert_eq!(LatencySummary::default().text(), "p50 -, p99 -, p99.9 -, max -");
    }

    #[test]
    fn datagrams_are_counted_as_frames_and_old_records_have_none() {
        let counts = MessageCounts {
            sent: 1_000,
            received: 500,
            sent_bytes: 258_000,
            received_bytes: 154_000,
            ..MessageCounts::default()
        };
        // 300 and 350 bytes per frame.
        assert_eq!(counts.mbit_per_s(42, 0.1), Some([24.0, 14.0]));
        assert_eq!(
            (counts.mbit_per_s(42, 0.0), MessageCounts::default().mbit_per_s(42, 1.0)),
            (None, None)
        );
    }

    #[test]
    fn a_sparse_record_of_another_tool_is_read() {
        let record: LoadRecord =
            serde_json::from_str(r#"{"tool":"other","exchanges":{"due":4,"on_time":3}}"#).unwrap();
        assert_eq!(record.exchanges.loss(), 0.25);
        assert_eq!(record.histogram_due, []);
    }
}
