//! Results of regression runs: rows of a table, for users and as JSON.

use measure::regression::RegressionClock;
use measure::statistics::{standard_deviation, trimmed_interval};
use serde::Serialize;

use super::case::{DatagramHeaders, RegressionCase};
use crate::units;

/// Schema version of the JSON documents of `dccp regression`.
const SCHEMA_VERSION: u32 = 2;
/// Formula of the desired rate where losses limit it, not the link's capacity.
pub(super) const FORMULA: &str =
    "X = s / (R f(p)), f(p) = sqrt(2p/3) + 12 sqrt(3p/8) p (1 + 32 p^2)";

/// Settings that all runs of a regression have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommonRunSettings {
    pub(super) wrapping: DatagramHeaders,
    /// Length of the send queue in datagrams.
    pub(super) tx_qlen: usize,
    pub(super) seconds: f64,
    /// Number of runs of each case.
    pub(super) runs: u32,
}

/// Row of the regression's table: one case with one clock and one congestion control.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RegressionRow {
    pub(super) case: String,
    #[serde(skip)]
    pub(super) words: String,
    pub(super) link: String,
    pub(super) clock: RegressionClock,
    pub(super) ccid: u8,
    pub(super) desired_bits_per_s: f64,
    /// Round-trip time in seconds and share of lost packets, if the desired rate follows from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rtt_s_and_loss: Option<(f64, f64)>,
    pub(super) runs_bits_per_s: Vec<f64>,
    pub(super) mean_bits_per_s: f64,
    /// Standard deviation of the runs' rates in bits per second; `None` for one run.
    pub(super) standard_deviation_bits_per_s: Option<f64>,
    /// Confidence interval of the mean rate in bits per second, 95 % (Student).
    pub(super) interval_bits_per_s: Option<[f64; 2]>,
    /// Rates of Linux with CCID 3 in 2007, in bits per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) linux_2007_bits_per_s: Option<Vec<f64>>,
    /// Least and greatest accepted mean of CCID 3, in bits per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) accepted_bits_per_s: Option<[f64; 2]>,
}

/// JSON document with all results of a regression.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RegressionDocument<'a> {
    pub(super) tool: &'a str,
    schema_version: u32,
    carrier: &'static str,
    ip_version: u8,
    #[serde(skip)]
    pub(super) wrapping: DatagramHeaders,
    pub(super) datagram_bytes: usize,
    pub(super) tx_qlen: usize,
    pub(super) seconds: f64,
    pub(super) runs: u32,
    formula: &'static str,
    pub(super) rows: &'a [RegressionRow],
}

impl<'a> RegressionDocument<'a> {
    pub(super) const fn new(
        tool: &'a str,
        common: CommonRunSettings,
        rows: &'a [RegressionRow],
    ) -> Self {
        let CommonRunSettings { wrapping, tx_qlen, seconds, runs } = common;
        Self {
            tool,
            schema_version: SCHEMA_VERSION,
            carrier: wrapping.carrier.name(),
            ip_version: if wrapping.is_v6 { 6 } else { 4 },
            wrapping,
            datagram_bytes: wrapping.datagram_bytes(),
            tx_qlen,
            seconds,
            runs,
            formula: FORMULA,
            rows,
        }
    }
}

pub(super) fn head(common: CommonRunSettings) -> String {
    let CommonRunSettings { wrapping, tx_qlen, seconds, runs } = common;
    let (bytes, words) = (wrapping.datagram_bytes(), wrapping.words());
    let plural = if runs == 1 { "" } else { "s" };
    format!(
        "datagrams of {bytes} bytes, tx_qlen {tx_qlen}, {words}, {runs} run{plural} of {seconds} \
         s\n{:<21} ccid {:<13} {:>12} {:>12} {:>12}\n",
        "", "clock", "desired", "measured", "spread"
    )
}

/// Explanation of the table's columns, printed below the table.
pub(super) const FOOT: &str = "\
desired: the capacity of the line without losses; with losses X = s / (R f(p)), f(p) = sqrt(2p/3) +
12 sqrt(3p/8) p (1 + 32 p^2), of TFRC (RFC 5348 with b = 1), where p is the packet loss. Losses
within a round trip are one loss event, so a correct CCID 3 is above it; CCID 2 does not follow it.
spread: the standard deviation of the runs.
";

impl RegressionRow {
    pub(super) fn new(
        case: &RegressionCase,
        clock: RegressionClock,
        ccid: u8,
        wrapping: DatagramHeaders,
        rates: Vec<f64>,
    ) -> Self {
        let is_tfrc = ccid == 3;
        let interval = trimmed_interval(&rates, 0).filter(|interval| interval.has_interval());
        Self {
            case: case.name.clone(),
            words: case.words.clone(),
            link: case.link.clone(),
            clock,
            ccid,
            desired_bits_per_s: case.desired(wrapping),
            rtt_s_and_loss: case.limiting_loss(wrapping),
            mean_bits_per_s: rates.iter().sum::<f64>() / rates.len().max(1) as f64,
            standard_deviation_bits_per_s: standard_deviation(&rates),
            interval_bits_per_s: interval.map(|interval| [interval.low, interval.high]),
            runs_bits_per_s: rates,
            linux_2007_bits_per_s: if is_tfrc { case.linux_bits_per_s.clone() } else { None },
            accepted_bits_per_s: if is_tfrc { case.accepted(wrapping) } else { None },
        }
    }

    pub(super) fn is_accepted(&self) -> bool {
        self.accepted_bits_per_s
            .is_none_or(|[least, most]| (least..=most).contains(&self.mean_bits_per_s))
    }

    /// Returns the name of the row: case, CCID and clock.
    pub(super) fn name(&self) -> String {
        format!("{}, CCID {}, {}", self.words, self.ccid, self.clock.words())
    }

    /// Returns the name of the row with its mean rate.
    pub(super) fn summary(&self) -> String {
        format!("{}: {}", self.name(), units::rate(self.mean_bits_per_s))
    }

    /// Returns a sentence if the row's mean rate is outside of the accepted range; `None` if it is
    /// within.
    pub(super) fn shortfall(&self) -> Option<String> {
        if self.is_accepted() {
            return None;
        }
        let [least, most] = self.accepted_bits_per_s?;
        Some(format!(
            "{}: the mean of {} is outside the accepted range of {} to {}",
            self.name(),
            units::rate(self.mean_bits_per_s),
            units::rate(least),
            units::rate(most)
        ))
    }

    pub(super) fn text(&self) -> String {
        let spread = self.standard_deviation_bits_per_s.map_or_else(|| "-".to_owned(), short);
        let mut text = format!(
            "{:<21} {:>4} {:<13} {:>12} {:>12} {spread:>12}\n",
            self.words,
            self.ccid,
            self.clock.words(),
            short(self.desired_bits_per_s),
            short(self.mean_bits_per_s),
        );
        text += &listed("runs", &self.runs_bits_per_s);
        if let Some(linux) = &self.linux_2007_bits_per_s {
            text += &listed("Linux in 2007", linux);
        }
        text
    }
}

/// Returns a rate as short text for columns: `3.20 Mbit/s`.
fn short(bits_per_s: f64) -> String {
    units::rate(bits_per_s).replace("bits/sec", "bit/s")
}

/// Width of a terminal line, in columns.
const WIDTH: usize = 80;

/// Returns rates as text after a label, in lines of a terminal's width.
fn listed(label: &str, rates: &[f64]) -> String {
    let mut line = format!("  {label}:");
    let mut text = String::new();
    for (index, &rate) in rates.iter().enumerate() {
        let comma = if index + 1 < rates.len() { "," } else { "" };
        let word = format!(" {}{comma}", short(rate));
        if line.chars().count() + word.chars().count() > WIDTH {
            text += &(line + "\n");
            line = "   ".to_owned();
        }
        line += &word;
    }
    text + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::case::tests::{RAW, named};
    use super::*;

    #[test]
    fn only_ccid_3_is_judged() {
        let case = named("loss1");
        let row = |ccid, rates: &[f64]| {
            RegressionRow::new(&case, RegressionClock::Real, ccid, RAW, rates.to_vec())
        };
        let is_accepted = |ccid, rate| row(ccid, &[rate]).is_accepted();
        assert!(is_accepted(3, 3.2e6) && !is_accepted(3, 2.8e6) && !is_accepted(3, 3.8e6));
        assert!(is_accepted(2, 1.0));
        assert_eq!((row(3, &[3.2e6]).shortfall(), row(2, &[1.0]).shortfall()), (None, None));
        assert_eq!(
            row(3, &[2.8e6]).shortfall().unwrap(),
            "1 % loss, 40 ms RTT, CCID 3, real time: the mean of 2.80 Mbits/sec is outside \
             the accepted range of 2.90 Mbits/sec \
             to 3.70 Mbits/sec"
        );
        let row = row(3, &[3.1e6, 3.3e6]);
        let text = row.text();
        assert!(
            text.contains(
                "3.20 Mbit/s  3.20 Mbit/s   141 Kbit/s\n  runs: 3.10 Mbit/s, 3.30 Mbit/s\n"
            ),
            "{text}"
        );
        assert!(text.contains("Linux in 2007: 3.28 Mbit/s, 3.08 Mbit/s, 3.03"), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        // Student's t of one degree of freedom is 12.706, over a standard error of 0.1.
        let [low, high] = row.interval_bits_per_s.unwrap();
        assert!((low - 1_929_380.0).abs() < 100.0 && (high - 4_470_620.0).abs() < 100.0, "{low}");
    }

    #[test]
    fn one_run_has_no_spread() {
        let row =
            RegressionRow::new(&named("direct"), RegressionClock::Virtual, 2, RAW, vec![95e6]);
        assert_eq!((row.standard_deviation_bits_per_s, row.interval_bits_per_s), (None, None));
        assert!(row.text().contains(" -\n"), "{}", row.text());
    }
}
