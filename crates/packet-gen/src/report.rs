//! Report on the frames sent, as text in the form of trafgen and as a JSON document with a version.

use std::fmt;

use base::Figure;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON documents of `godwit trafgen`.
pub const SCHEMA: &str = "godwit.trafgen.v1";

/// Report on the frames sent so far, or in total.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafgenReport {
    /// Name and version of the JSON document, [`SCHEMA`].
    pub schema: String,
    /// Kind of the report: `interval` during the run, `total` at the end.
    pub kind: String,
    /// Name of the interface or file that the frames are written to.
    pub output: String,
    /// Name of the path by which frames reach the output.
    pub path: String,
    /// Seed of the random numbers in frames.
    pub seed: u32,
    /// Time since the start in seconds.
    pub elapsed_s: f64,
    /// Number of frames that have left since the start.
    pub sent: u64,
    /// Number of bytes in the frames sent.
    pub sent_bytes: u64,
    /// Frames per second since the last report; in the total, since the start.
    pub rate_pps: f64,
    /// Bits of frames per second since the last report; in the total, since the start.
    pub rate_bps: f64,
    /// Number of frames that the interface refused for good.
    pub refused: u64,
    /// Number of times that a sender waited for a full queue.
    pub stalled: u64,
    /// Number of frames that were passed to the kernel and not known to have left at the end.
    pub unsent: u64,
    /// Lateness of frames that had a due time; in the total only.
    pub late: Option<LatenessSummary>,
    /// Gaps between frames that had a due time; in the total only.
    pub gaps: Option<Gaps>,
    /// Figures of the datagrams that each carried several frames by segmentation (GSO); `None` if
    /// each frame left alone. With segmentation the other figures are not comparable with those of
    /// frames that left alone.
    pub segmentation: Option<SegmentationFigures>,
    /// Result for the host that was pinged after each frame, if one was; in the total only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoke_test: Option<SmokeTest>,
    /// Figures of each sending processor.
    pub processors: Vec<ProcessorFigures>,
}

/// Lateness of frames: times in microseconds from the due time of a frame until it was passed to
/// the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatenessSummary {
    /// Median of the frames' lateness, in microseconds: half of the frames do not exceed it.
    pub median_us: f64,
    /// Lateness that 99 of 100 frames do not exceed, in microseconds.
    pub p99_us: f64,
    /// Lateness of the latest frame, in microseconds.
    pub max_us: f64,
}

/// Gaps between frames: times in microseconds between the moments at which the frames of a thread
/// left. The frames of one system call leave in even steps from its begin to its end; segments of
/// one datagram leave at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gaps {
    /// Median of the gaps between frames, in microseconds: half of the gaps do not exceed it.
    pub median_us: f64,
    /// Gap between frames that 90 of 100 gaps do not exceed, in microseconds.
    pub p90_us: f64,
    /// Gap between frames that 99 of 100 gaps do not exceed, in microseconds.
    pub p99_us: f64,
    /// Longest gap between frames, in microseconds.
    pub max_us: f64,
    /// Share of the gaps that are inside bursts of more than four frames, 0 to 1. A frame is in a
    /// burst with the one before when less than half of the scheduled time was between them.
    pub burst_share: f64,
    /// Number of frames of the longest burst.
    pub longest_burst: u64,
}

/// Datagrams that carried frames as segments, single frames included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SegmentationFigures {
    /// Number of datagrams that have left since the start. Counters of the interface show these
    /// datagrams if it cuts them up itself or passes them on whole, and frames if the kernel cuts
    /// them up before.
    pub datagrams: u64,
    /// Mean number of frames per datagram.
    pub frames_per_datagram: f64,
}

impl fmt::Display for SegmentationFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { datagrams, frames_per_datagram } = self;
        write!(f, "{datagrams} datagrams of {frames_per_datagram:.1} segments")
    }
}

/// Result for a host that was pinged after each frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmokeTest {
    /// Address of the pinged host.
    pub host: String,
    /// Number of pings to the host, those before the first frame included.
    pub pings: u64,
    /// Number of pings that the host answered.
    pub answers: u64,
    /// Last frame before the host stopped answering pings; `None` while the host answers.
    pub silent_after: Option<LastFrame>,
}

/// Last frame before a host stopped answering pings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFrame {
    /// Number of the frame in the run, from 1 on.
    pub number: u64,
    /// Bytes of the frame as a packet of the packet language.
    pub text: String,
}

/// Figures of one sending thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessorFigures {
    /// Number of the processor that the thread is bound to.
    pub cpu: u32,
    /// Number of frames that the thread sent.
    pub sent: u64,
    /// Number of bytes in the frames that the thread sent.
    pub sent_bytes: u64,
    /// Time in seconds that the thread took.
    pub elapsed_s: f64,
}

impl TrafgenReport {
    /// Returns the text line of an interval's report.
    pub fn line(&self) -> String {
        let segmented = self.segmentation.map(|carried| format!(", segmented: {carried}"));
        format!(
            "{:.1} s: {} packets, {} pps, {} Mbit/s, stalled {}{}",
            self.elapsed_s,
            self.sent,
            Figure(self.rate_pps),
            Figure(self.rate_bps / 1e6),
            self.stalled,
            segmented.unwrap_or_default()
        )
    }
}

impl fmt::Display for TrafgenReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:12} packets outgoing", self.sent)?;
        writeln!(f, "{:12} bytes outgoing", self.sent_bytes)?;
        for ProcessorFigures { cpu, sent, elapsed_s, .. } in &self.processors {
            let micros = (elapsed_s * 1e6) as u64;
            let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
            writeln!(f, "{seconds:12} sec, {rest} usec on CPU{cpu} ({sent} packets)")?;
        }
        if self.elapsed_s > 0.0 && self.sent > 0 {
            let megabits = Figure(self.rate_bps / 1e6);
            writeln!(f, "{:>12} packets per second, {megabits} Mbit/s", Figure(self.rate_pps))?;
        }
        if let Some(carried) = self.segmentation {
            writeln!(
                f,
                "SEGMENTED: sent as {carried}; interface counters may count the datagrams"
            )?;
        }
        if self.stalled > 0 {
            writeln!(f, "{:12} waits for a full queue", self.stalled)?;
        }
        if self.refused > 0 {
            writeln!(f, "{:12} packets REFUSED by {}", self.refused, self.output)?;
        }
        if self.unsent > 0 {
            writeln!(f, "{:12} packets still in the queue at the end", self.unsent)?;
        }
        if let Some(SmokeTest { host, pings, answers, silent_after }) = &self.smoke_test {
            writeln!(f, "{answers:12} of {pings} pings answered by {host}")?;
            if let Some(LastFrame { number, text }) = silent_after {
                let seed = self.seed;
                writeln!(
                    f,
                    "SMOKE TEST: {host} stopped answering after packet {number}, seed \
                     {seed}:\n{text}"
                )?;
            }
        }
        if let Some(LatenessSummary { median_us, p99_us, max_us }) = self.late {
            writeln!(
                f,
                "late by {median_us:.1} us (median), {p99_us:.1} us (99 %), {max_us:.1} us \
                 (maximum)"
            )?;
        }
        if let Some(gaps) = self.gaps {
            writeln!(
                f,
                "gaps of {:.1} us (median), {:.1} us (90 %), {:.1} us (99 %), {:.1} us \
                 (maximum)\n{:.3} % of them in bursts of more than 4 packets, the longest of {}",
                gaps.median_us,
                gaps.p90_us,
                gaps.p99_us,
                gaps.max_us,
                gaps.burst_share * 100.0,
                gaps.longest_burst
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
        let processors =
            vec![ProcessorFigures { cpu: 1, sent: 7, sent_bytes: 420, elapsed_s: 2.5 }];
        let report =
            TrafgenReport { sent: 7, sent_bytes: 420, processors, ..TrafgenReport::default() };
        let expected = "\n           7 packets outgoing\n         420 bytes outgoing\n           2 sec, \
                        500000 usec on CPU1 (7 packets)\n";
        assert_eq!(report.to_string(), expected);
        assert!(!report.to_string().contains("REFUSED"));
    }

    #[test]
    fn figures_of_segments_are_never_told_without_the_word() {
        let plain = TrafgenReport { sent: 640, ..TrafgenReport::default() };
        assert!(!plain.to_string().contains("SEGMENTED") && !plain.line().contains("segmented"));
        let segmentation = Some(SegmentationFigures { datagrams: 10, frames_per_datagram: 64.0 });
        let segmented = TrafgenReport { segmentation, ..plain };
        assert!(segmented.to_string().contains("SEGMENTED: sent as 10 datagrams of 64.0 segments"));
        assert!(segmented.line().ends_with(", segmented: 10 datagrams of 64.0 segments"));
    }

    #[test]
    fn gaps_are_told_with_their_bursts() {
        let gaps =
            Gaps { median_us: 10.0, burst_share: 0.0123, longest_burst: 9, ..Gaps::default() };
        let text = TrafgenReport { gaps: Some(gaps), ..TrafgenReport::default() }.to_string();
        let last = "1.230 % of them in bursts of more than 4 packets, the longest of 9\n";
        assert!(text.contains("gaps of 10.0 us (median)") && text.ends_with(last), "{text}");
    }
}
