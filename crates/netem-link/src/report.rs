//! Report of a link's two directions, as a JSON document with a version and as text.

use std::fmt;

use netem::{Backlog, LinkCounters};
use serde::{Deserialize, Serialize};

/// Name and version of the JSON document with a link's report.
pub const SCHEMA: &str = "godwit.netem.v1";

/// State and counters of an emulated link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkReport {
    /// Name and version of the document, [`SCHEMA`].
    pub schema: String,
    /// Seed of the link's random numbers, unless the settings have a `seed` of their own.
    pub seed: u64,
    /// Time since the start of the link, in seconds.
    pub elapsed_s: f64,
    /// Reports of the link's directions: forward, then backward.
    pub directions: Vec<DirectionReport>,
}

/// Report of one direction of a link. At any time the sum of `received` and `duplicated` equals the
/// sum of `sent`, `lost`, `over_limit`, `over_bucket_limit`, `too_long` and `waiting_packets`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// Name of the direction: `forward` or `backward`.
    pub name: String,
    /// Interface from which the direction receives packets.
    pub from: String,
    /// Interface through which the direction sends packets.
    pub to: String,
    /// Present settings of the direction, in the words of `tc`.
    pub settings: String,
    /// Count of packets that the link received, after trains (several segments under one header)
    /// were cut.
    pub received: u64,
    /// Bytes of the packets that the link received, including Ethernet headers.
    pub received_bytes: u64,
    /// Count of packets that left the link in this direction.
    pub sent: u64,
    /// Bytes of the packets that left the link in this direction, including Ethernet headers.
    pub sent_bytes: u64,
    /// Count of packets that the loss model dropped.
    pub lost: u64,
    /// Count of copies that the link made of packets.
    pub duplicated: u64,
    /// Count of packets that overtook others by `reorder`; those that overtake because of their
    /// jitter do not count.
    pub reordered: u64,
    /// Count of packets in which the link changed a bit.
    pub corrupted: u64,
    /// Count of packets that the link marked (ECN) instead of dropping them.
    pub marked: u64,
    /// Count of packets dropped because the link held `limit` packets.
    pub over_limit: u64,
    /// Count of packets dropped because the queue of the token bucket was full.
    pub over_bucket_limit: u64,
    /// Count of packets dropped because they need more tokens than the token bucket can hold
    /// (`burst`).
    pub too_long: u64,
    /// Count of packets that wait in the link at the time of the report.
    pub waiting_packets: u64,
    /// Bytes of the packets that wait in the link at the time of the report.
    pub waiting_bytes: u64,
    /// Effects of the machine on packets in addition to the link; all but the first two should stay
    /// 0.
    pub machine: MachineCounts,
    /// Time by which packets left the link after their due times.
    pub lateness: Lateness,
}

/// Counts of packets that the machine, not the link, changed or dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCounts {
    /// Count of trains (several segments under one header) that were cut into packets.
    pub trains: u64,
    /// Count of checksums that Godwit filled in because the sender's kernel had left them to a
    /// device.
    pub checksums: u64,
    /// Count of received frames that the kernel dropped because the link was too slow for them.
    pub missed: u64,
    /// Count of received frames that were longer than an Ethernet frame can be.
    pub truncated: u64,
    /// Count of received frames that could not be parsed: trains (several segments under one
    /// header) of unknown protocols.
    pub unreadable: u64,
    /// Count of packets that the output interface did not accept: they were longer than its MTU, or
    /// its queue stayed full.
    pub refused: u64,
    /// Count of times that the input interface went down.
    pub downs: u64,
}

/// Lateness of delayed packets in microseconds, measured when the link woke up for a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Count of times that the link woke up for a packet.
    pub count: u64,
    /// Median of the packets' lateness, in microseconds.
    pub median_us: u64,
    /// 99th percentile of the packets' lateness, in microseconds.
    pub p99_us: u64,
    /// Maximum of the packets' lateness, in microseconds.
    pub max_us: u64,
}

impl DirectionReport {
    /// Returns the report with the counters and the backlog of the link's core.
    pub(crate) fn with_counters(mut self, counters: &LinkCounters, backlog: Backlog) -> Self {
        self.received = counters.received;
        self.sent = counters.sent;
        self.sent_bytes = counters.sent_bytes;
        self.lost = counters.lost;
        self.duplicated = counters.duplicated;
        self.reordered = counters.reordered;
        self.corrupted = counters.corrupted;
        self.marked = counters.marked;
        self.over_limit = counters.over_limit;
        self.over_bucket_limit = counters.over_bucket_limit;
        self.too_long = counters.too_long;
        self.waiting_packets = backlog.packets as u64;
        self.waiting_bytes = backlog.bytes as u64;
        self
    }
}

impl fmt::Display for LinkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "after {:.1} s, seed {}", self.elapsed_s, self.seed)?;
        self.directions.iter().try_for_each(|direction| direction.fmt(f))
    }
}

impl fmt::Display for DirectionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} -> {}: {}", self.name, self.from, self.to, self.settings)?;
        writeln!(
            f,
            "  received {} packets ({} bytes), sent {} ({} bytes), under way {} ({} bytes)",
            self.received,
            self.received_bytes,
            self.sent,
            self.sent_bytes,
            self.waiting_packets,
            self.waiting_bytes
        )?;
        writeln!(
            f,
            "  lost {}, duplicated {}, reordered {}, corrupted {}, marked by ECN {}",
            self.lost, self.duplicated, self.reordered, self.corrupted, self.marked
        )?;
        writeln!(
            f,
            "  dropped over limit {}, over the bucket's limit {}, longer than the bucket {}",
            self.over_limit, self.over_bucket_limit, self.too_long
        )?;
        let MachineCounts { trains, checksums, missed, truncated, unreadable, refused, downs } =
            self.machine;
        writeln!(f, "  large packets split {trains}, checksums filled in {checksums}")?;
        if missed + truncated + unreadable + refused + downs > 0 {
            writeln!(
                f,
                "  NOT CAUSED BY THE LINK: missed {missed}, truncated {truncated}, unreadable \
                 {unreadable}, refused by {} {refused}, {} down {downs} times",
                self.to, self.from
            )?;
        }
        let Lateness { count, median_us, p99_us, max_us } = self.lateness;
        if count > 0 {
            writeln!(
                f,
                "  sent late by {median_us} us (median), {p99_us} us (99 %), {max_us} us (maximum)"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_did_is_loud_only_when_it_did_something() {
        let mut direction = DirectionReport { to: "eth2".to_owned(), ..Default::default() };
        assert!(!direction.to_string().contains("NOT CAUSED BY THE LINK"));
        direction.machine.trains = 1;
        assert!(!direction.to_string().contains("NOT CAUSED BY THE LINK"));
        direction.machine.refused = 7;
        assert!(direction.to_string().contains("refused by eth2 7,"), "{direction}");
    }

    #[test]
    fn the_document_is_read_as_it_was_written() {
        let report = LinkReport {
            schema: SCHEMA.to_owned(),
            seed: u64::MAX,
            elapsed_s: 1.5,
            directions: vec![DirectionReport { lost: 3, ..Default::default() }; 2],
        };
        let text = serde_json::to_string(&report).unwrap();
        assert!(text.contains(r#""schema":"godwit.netem.v1","seed":18446744073709551615"#));
        assert_eq!(serde_json::from_str::<LinkReport>(&text).unwrap(), report);
    }
}
