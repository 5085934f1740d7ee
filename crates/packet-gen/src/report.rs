//! What was sent, as text in the form of the reference and as a document with a version.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Name and version of the JSON documents.
pub const SCHEMA: &str = "godwit.trafgen.v1";

/// What has been sent so far, or in the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// `interval` while it runs, `total` at the end.
    pub kind: String,
    /// The interface or file.
    pub output: String,
    /// How frames go there.
    pub path: String,
    /// What random numbers began with.
    pub seed: u32,
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Frames that have left, since the start.
    pub sent: u64,
    /// Their octets.
    pub sent_bytes: u64,
    /// Frames per second since the last report; in the total since the start.
    pub rate_pps: f64,
    /// Bits of frames per second, over the same time.
    pub rate_bps: f64,
    /// Frames that the interface refused for good.
    pub refused: u64,
    /// Times that a full queue was waited for.
    pub stalled: u64,
    /// Frames that were handed over and not known to have left at the end.
    pub unsent: u64,
    /// How late frames left, when they had a time; in the total only.
    pub late: Option<Lateness>,
    /// By processor.
    pub processors: Vec<Processor>,
}

/// By how much frames were handed over after they were due, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Half of the frames.
    pub median_us: f64,
    /// 99 of 100 frames.
    pub p99_us: f64,
    /// The latest.
    pub max_us: f64,
}

/// What one thread sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Processor {
    /// The processor that it is bound to.
    pub cpu: u32,
    /// Frames.
    pub sent: u64,
    /// Their octets.
    pub sent_bytes: u64,
    /// Seconds that it took.
    pub elapsed_s: f64,
}

impl Report {
    /// One line for an interval.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{:.1} s: {} packets, {:.0} pps, {:.3} Mbit/s, stalled {}",
            self.elapsed_s,
            self.sent,
            self.rate_pps,
            self.rate_bps / 1e6,
            self.stalled
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:12} packets outgoing", self.sent)?;
        writeln!(f, "{:12} bytes outgoing", self.sent_bytes)?;
        for Processor { cpu, sent, elapsed_s, .. } in &self.processors {
            let micros = (elapsed_s * 1e6) as u64;
            let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
            writeln!(f, "{seconds:12} sec, {rest} usec on CPU{cpu} ({sent} packets)")?;
        }
        if self.elapsed_s > 0.0 && self.sent > 0 {
            let megabits = self.rate_bps / 1e6;
            writeln!(f, "{:12.0} packets per second, {megabits:.3} Mbit/s", self.rate_pps)?;
        }
        if self.stalled > 0 {
            writeln!(f, "{:12} times a full queue was waited for", self.stalled)?;
        }
        if self.refused > 0 {
            writeln!(f, "{:12} packets REFUSED by {}", self.refused, self.output)?;
        }
        if self.unsent > 0 {
            writeln!(f, "{:12} packets still in the queue at the end", self.unsent)?;
        }
        if let Some(Lateness { median_us, p99_us, max_us }) = self.late {
            writeln!(
                f,
                "late by {median_us:.1} us (half), {p99_us:.1} us (99 %), {max_us:.1} us at most"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_reference_come_first() {
        let processors = vec![Processor { cpu: 1, sent: 7, sent_bytes: 420, elapsed_s: 2.5 }];
        let report = Report { sent: 7, sent_bytes: 420, processors, ..Report::default() };
        let expected = "\n           7 packets outgoing\n         420 bytes outgoing\n           2 sec, \
                        500000 usec on CPU1 (7 packets)\n";
        assert_eq!(report.to_string(), expected);
        assert!(!report.to_string().contains("REFUSED"));
    }
}
