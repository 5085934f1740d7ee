//! What both directions have done so far, as a document with a version and as text.

use std::fmt;

use netem::{Backlog, Counters};
use serde::{Deserialize, Serialize};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "godwit.netem.v1";

/// The state of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// What the numbers drawn come from, unless the settings have a `seed` of their own.
    pub seed: u64,
    /// How long the link has been up, in seconds.
    pub elapsed_s: f64,
    /// Forward, then backward.
    pub directions: Vec<DirectionReport>,
}

/// One direction. At any time `received` and `duplicated` together are `sent`, `lost`, `over_limit`,
/// `over_bucket_limit`, `too_long` and `waiting_packets`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// `forward` or `backward`.
    pub name: String,
    /// The interface that packets come in by.
    pub from: String,
    /// The interface that they go out by.
    pub to: String,
    /// What holds now, in words.
    pub settings: String,
    /// Packets that came into the link, whole ones: trains are cut before.
    pub received: u64,
    /// Their octets, Ethernet headers included.
    pub received_bytes: u64,
    /// Packets that left the link.
    pub sent: u64,
    /// Their octets.
    pub sent_bytes: u64,
    /// Dropped by the loss model.
    pub lost: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets that overtook the others by `reorder`; those that do by their jitter are not counted.
    pub reordered: u64,
    /// Packets that had a bit changed.
    pub corrupted: u64,
    /// Packets marked (ECN) in place of a loss.
    pub marked: u64,
    /// Dropped because the `limit` was reached.
    pub over_limit: u64,
    /// Dropped because the queue of the token bucket was full.
    pub over_bucket_limit: u64,
    /// Dropped because they are longer than the token bucket is deep.
    pub too_long: u64,
    /// Packets under way.
    pub waiting_packets: u64,
    /// Their octets.
    pub waiting_bytes: u64,
    /// What the machine did to packets beside the link; all but the first two should stay 0.
    pub machine: Machine,
    /// How late packets left.
    pub lateness: Lateness,
}

/// Packets by what happened to them before and behind the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Trains of segments that were cut into packets.
    pub trains: u64,
    /// Checksums filled in that the sender's kernel had left out.
    pub checksums: u64,
    /// Frames that came in and were dropped by the kernel because the link was too slow for them.
    pub missed: u64,
    /// Frames that came in longer than an Ethernet frame can be.
    pub truncated: u64,
    /// Frames that came in and could not be made out: trains of unknown protocols.
    pub unreadable: u64,
    /// Packets that left the link and were not taken by the interface: longer than its MTU, or its
    /// queue stayed full.
    pub refused: u64,
    /// Times that the interface that packets come in by went down.
    pub downs: u64,
}

/// By how much packets that were held left after their time, in microseconds: of those that the link
/// woke up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// How often the link woke up for a packet.
    pub count: u64,
    /// Half of the times.
    pub median_us: u64,
    /// 99 of 100 times.
    pub p99_us: u64,
    /// The greatest.
    pub max_us: u64,
}

impl DirectionReport {
    /// Takes over what the core has counted.
    pub(crate) fn with_counters(mut self, counters: &Counters, backlog: Backlog) -> Self {
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

impl fmt::Display for Report {
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
            "  lost {}, duplicated {}, reordered {}, corrupted {}, marked {}",
            self.lost, self.duplicated, self.reordered, self.corrupted, self.marked
        )?;
        writeln!(
            f,
            "  dropped over limit {}, over the bucket's limit {}, longer than the bucket {}",
            self.over_limit, self.over_bucket_limit, self.too_long
        )?;
        let Machine { trains, checksums, missed, truncated, unreadable, refused, downs } =
            self.machine;
        writeln!(f, "  trains cut {trains}, checksums filled in {checksums}")?;
        if missed + truncated + unreadable + refused + downs > 0 {
            writeln!(
                f,
                "  NOT BY THE LINK: missed {missed}, truncated {truncated}, unreadable \
                 {unreadable}, refused by {} {refused}, {} down {downs} times",
                self.to, self.from
            )?;
        }
        let Lateness { count, median_us, p99_us, max_us } = self.lateness;
        if count > 0 {
            writeln!(
                f,
                "  late by {median_us} us (half), {p99_us} us (99 %), {max_us} us at most"
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
        assert!(!direction.to_string().contains("NOT BY THE LINK"));
        direction.machine.trains = 1;
        assert!(!direction.to_string().contains("NOT BY THE LINK"));
        direction.machine.refused = 7;
        assert!(direction.to_string().contains("refused by eth2 7,"), "{direction}");
    }

    #[test]
    fn the_document_is_read_as_it_was_written() {
        let report = Report {
            schema: SCHEMA.to_owned(),
            seed: u64::MAX,
            elapsed_s: 1.5,
            directions: vec![DirectionReport { lost: 3, ..Default::default() }; 2],
        };
        let text = serde_json::to_string(&report).unwrap();
        assert!(text.contains(r#""schema":"godwit.netem.v1","seed":18446744073709551615"#));
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}
