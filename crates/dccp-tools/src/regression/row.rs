//! What came of the runs: rows of a table, for people and as JSON.

use std::time::Duration;

use measure::statistics::{standard_deviation, trimmed_interval};
use serde::Serialize;

use super::case::{Case, Wrapping};
use crate::units;

/// Of the documents.
const SCHEMA_VERSION: u32 = 2;
/// What is desired where losses limit.
pub(super) const FORMULA: &str =
    "X = s / (R f(p)), f(p) = sqrt(2p/3) + 12 sqrt(3p/8) p (1 + 32 p^2)";

/// By which a run lasts as long as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Clock {
    Real,
    Virtual,
}

impl Clock {
    /// For people.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Real => "real time",
            Self::Virtual => "virtual clock",
        }
    }
}

/// A line of the table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) case: &'static str,
    #[serde(skip)]
    pub(super) words: &'static str,
    pub(super) link: &'static str,
    pub(super) clock: Clock,
    pub(super) ccid: u8,
    pub(super) desired_bits_per_s: f64,
    /// Round-trip time in seconds and packet loss, where what is desired comes of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rtt_s_and_loss: Option<(f64, f64)>,
    pub(super) runs_bits_per_s: Vec<f64>,
    pub(super) mean_bits_per_s: f64,
    /// Of the runs; none of one.
    pub(super) standard_deviation_bits_per_s: Option<f64>,
    /// Of the mean, 95 % (Student).
    pub(super) interval_bits_per_s: Option<[f64; 2]>,
    /// Of Linux in 2007, with CCID 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) linux_2007_bits_per_s: Option<[f64; 3]>,
    /// Least and most of the mean of CCID 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) accepted_bits_per_s: Option<[f64; 2]>,
}

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Document<'a> {
    tool: &'static str,
    schema_version: u32,
    carrier: &'static str,
    ip_version: u8,
    #[serde(skip)]
    pub(super) wrapping: Wrapping,
    pub(super) datagram_bytes: usize,
    pub(super) seconds: f64,
    pub(super) runs: u32,
    formula: &'static str,
    pub(super) rows: &'a [Row],
}

impl<'a> Document<'a> {
    pub(super) const fn new(
        wrapping: Wrapping,
        time: Duration,
        runs: u32,
        rows: &'a [Row],
    ) -> Self {
        Self {
            tool: "godwit dccp regression",
            schema_version: SCHEMA_VERSION,
            carrier: wrapping.carrier.name(),
            ip_version: if wrapping.is_v6 { 6 } else { 4 },
            wrapping,
            datagram_bytes: wrapping.datagram_bytes(),
            seconds: time.as_secs_f64(),
            runs,
            formula: FORMULA,
            rows,
        }
    }
}

pub(super) fn head(wrapping: Wrapping, time: Duration, runs: u32) -> String {
    let (bytes, words, seconds) = (wrapping.datagram_bytes(), wrapping.words(), time.as_secs_f64());
    let plural = if runs == 1 { "" } else { "s" };
    format!(
        "datagrams of {bytes} octets, tx_qlen 5, {words}, {runs} run{plural} of {seconds} s\n\
         {:<22} ccid {:<13} {:>14} {:>14} {:>14}  runs\n",
        "", "clock", "desired", "measured", "spread"
    )
}

/// What the columns are.
pub(super) const FOOT: &str = "\
desired: what the line takes without losses; with them X = s / (R f(p)), f(p) = sqrt(2p/3) +
12 sqrt(3p/8) p (1 + 32 p^2), of TFRC (RFC 5348 with b = 1), where p is the packet loss. Losses
within a round trip are one loss event, so a right CCID 3 comes out above it; CCID 2 does not follow it.
spread: the standard deviation of the runs.
";

impl Row {
    pub(super) fn new(
        case: &Case,
        clock: Clock,
        ccid: u8,
        wrapping: Wrapping,
        rates: Vec<f64>,
    ) -> Self {
        let is_tfrc = ccid == 3;
        let interval = trimmed_interval(&rates, 0).filter(|interval| interval.has_interval());
        Self {
            case: case.name,
            words: case.words,
            link: case.link,
            clock,
            ccid,
            desired_bits_per_s: case.desired(wrapping),
            rtt_s_and_loss: case.loss,
            mean_bits_per_s: rates.iter().sum::<f64>() / rates.len().max(1) as f64,
            standard_deviation_bits_per_s: standard_deviation(&rates),
            interval_bits_per_s: interval.map(|interval| [interval.low, interval.high]),
            runs_bits_per_s: rates,
            linux_2007_bits_per_s: is_tfrc.then(|| case.linux_mbps.map(|mbps| mbps * 1e6)),
            accepted_bits_per_s: is_tfrc.then(|| case.accepted(wrapping)),
        }
    }

    pub(super) fn is_accepted(&self) -> bool {
        self.accepted_bits_per_s
            .is_none_or(|[least, most]| (least..=most).contains(&self.mean_bits_per_s))
    }

    pub(super) fn text(&self) -> String {
        let list = |rates: &[f64]| {
            let words: Vec<_> = rates.iter().map(|&rate| units::rate(rate)).collect();
            words.join(", ")
        };
        let spread = self.standard_deviation_bits_per_s.map_or_else(|| "-".to_owned(), units::rate);
        let mut text = format!(
            "{:<22} {:>4} {:<13} {:>14} {:>14} {spread:>14}  {}",
            self.words,
            self.ccid,
            self.clock.words(),
            units::rate(self.desired_bits_per_s),
            units::rate(self.mean_bits_per_s),
            list(&self.runs_bits_per_s)
        );
        if let Some(linux) = self.linux_2007_bits_per_s {
            text += &format!("; Linux in 2007: {}", list(&linux));
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::case;
    use super::*;
    use crate::options::CarrierName;

    #[test]
    fn only_ccid_3_is_judged() {
        let case = &case::all()[3];
        let wrapping = Wrapping { carrier: CarrierName::Raw, is_v6: false };
        let row = |ccid, rates: &[f64]| Row::new(case, Clock::Real, ccid, wrapping, rates.to_vec());
        let is_accepted = |ccid, rate| row(ccid, &[rate]).is_accepted();
        assert!(is_accepted(3, 3.2e6) && !is_accepted(3, 2.8e6) && !is_accepted(3, 3.8e6));
        assert!(is_accepted(2, 1.0));
        let row = row(3, &[3.1e6, 3.3e6]);
        let text = row.text();
        assert!(
            text.contains("3.20 Mbits/sec 3.20 Mbits/sec  141 Kbits/sec  3.10 Mbits/sec, 3.30"),
            "{text}"
        );
        assert!(text.contains("Linux in 2007: 3.28 Mbits/sec, 3.08 Mbits/sec, 3.03"), "{text}");
        // Student's t of one degree of freedom is 12.706, over a standard error of 0.1.
        let [low, high] = row.interval_bits_per_s.unwrap();
        assert!((low - 1_929_380.0).abs() < 100.0 && (high - 4_470_620.0).abs() < 100.0, "{low}");
    }

    #[test]
    fn one_run_has_no_spread() {
        let wrapping = Wrapping { carrier: CarrierName::Raw, is_v6: false };
        let row = Row::new(&case::all()[0], Clock::Virtual, 2, wrapping, vec![95e6]);
        assert_eq!((row.standard_deviation_bits_per_s, row.interval_bits_per_s), (None, None));
        assert!(row.text().contains(" - "), "{}", row.text());
    }
}
