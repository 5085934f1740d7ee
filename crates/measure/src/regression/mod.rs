//! Regressions of DCCP: emulated links, throughput reached over them before, and accepted
//! throughput.
//!
//! A plan is a TOML file with `protocol = "dccp"`. The crate `dccp-tools` builds the links and
//! measures, the lab writes result folders.

mod parse;
mod quantity;

use serde::{Deserialize, Serialize};
use toml::de::DeTable;

pub use quantity::{LineRate, LinkDelay};

use crate::plan::PlanProblem;

/// Plan of DCCP throughput regressions that has been checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegressionPlan {
    /// Short name of the plan: letters, digits and dashes. The name becomes part of the result
    /// folder's name.
    pub name: String,
    /// Title of the plan in one line, for people.
    pub title: String,
    /// Clocks (real or virtual) by which every case of the plan is measured, in this order; at
    /// least one.
    pub clocks: Vec<RegressionClock>,
    /// DCCP congestion controls (CCID 2 or 3) with which every case is measured, in this order; at
    /// least one.
    pub ccids: Vec<u8>,
    /// Carrier of the DCCP packets.
    pub carrier: RegressionCarrier,
    /// Size of a DCCP datagram, in bytes.
    pub datagram_bytes: usize,
    /// Number of datagrams that the DCCP send queue holds (Linux's `tx_qlen`).
    pub tx_qlen: u16,
    /// Length of a run of a case, in seconds.
    pub seconds: f64,
    /// Number of runs of each case of the plan with each clock and congestion control.
    pub runs: u32,
    /// Length of the single runs in a quick look (`--quick`), in seconds.
    pub quick_seconds: f64,
    /// Cases that the plan measures; at least one.
    #[serde(rename = "case")]
    pub cases: Vec<CasePlan>,
}

/// Time that a regression run in real time takes to build and to remove its links, in seconds, in
/// addition to its length.
const REAL_OVERHEAD_S: f64 = 0.8;
/// Time that a regression run on a virtual clock takes, as a share of the run's length.
const VIRTUAL_SHARE: f64 = 0.04;

impl RegressionPlan {
    /// Returns the seconds that the plan takes: with `is_quick` one short run of each case, clock
    /// and congestion control; else `runs` of each, or the plan's own number if `runs` is `None`.
    #[must_use]
    pub fn forecast_s(&self, is_quick: bool, runs: Option<u32>) -> f64 {
        let (runs, seconds) = if is_quick {
            (1, self.quick_seconds)
        } else {
            (runs.unwrap_or(self.runs), self.seconds)
        };
        let of_clock = |clock: &RegressionClock| match clock {
            RegressionClock::Real => seconds + REAL_OVERHEAD_S,
            RegressionClock::Virtual => seconds * VIRTUAL_SHARE,
        };
        let each_s: f64 = self.clocks.iter().map(of_clock).sum();
        each_s * f64::from(runs) * (self.cases.len() * self.ccids.len()) as f64
    }
}

impl Default for RegressionPlan {
    fn default() -> Self {
        Self {
            name: String::new(),
            title: String::new(),
            clocks: vec![RegressionClock::Virtual, RegressionClock::Real],
            ccids: vec![3, 2],
            carrier: RegressionCarrier::Raw,
            datagram_bytes: 1_424,
            tx_qlen: 5,
            seconds: 60.0,
            runs: 3,
            quick_seconds: 10.0,
            cases: Vec::new(),
        }
    }
}

/// Case of a regression: one emulated link, or two links with a router between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CasePlan {
    /// Short name of the case: letters, digits and dashes.
    pub name: String,
    /// Title of the case of the regression, for people.
    pub title: String,
    /// Time that a packet takes in each direction over a link of the case.
    pub delay: LinkDelay,
    /// Rate of the line of the case's emulated links; without it there is no limit.
    #[serde(default)]
    pub rate: Option<LineRate>,
    /// Bytes that a frame takes on the emulated line beyond its header and content.
    #[serde(default)]
    pub overhead_bytes: u32,
    /// Share of packets that are lost in each direction over a link of the case, in percent.
    #[serde(default)]
    pub loss_percent: Option<f64>,
    /// True if the case has two emulated links with a router between them.
    #[serde(default, rename = "routed")]
    pub is_routed: bool,
    /// Rates that runs of DCCP's CCID 3 reached between Linux machines in 2007, in Mbit/s; empty
    /// where there were none.
    #[serde(default)]
    pub linux_2007_mbps: Vec<f64>,
    /// Least and largest accepted mean rate of DCCP's CCID 3, in Mbit/s; without it the case is not
    /// judged.
    #[serde(default)]
    pub accepted_mbps: Option<[f64; 2]>,
}

base::worded! {
    /// Clock by which the length of a regression run is measured.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RegressionClock {
        /// Real clock, for regression runs over links between network namespaces; needs root.
        Real = "real time",
        /// Virtual clock of a simulation, in which a run takes a small share of its length.
        Virtual = "virtual clock",
    }
}

/// Carrier of the DCCP packets in a regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegressionCarrier {
    /// IP packets with protocol number 33 (DCCP).
    Raw,
    /// Carrier UDP: DCCP packets inside of UDP datagrams (RFC 6773).
    Udp,
}

impl RegressionPlan {
    /// Returns true if the text claims to be a plan of regressions, correct or not.
    #[must_use]
    pub fn is_regression(text: &str) -> bool {
        let (table, _) = DeTable::parse_recoverable(text);
        let protocol = table.get_ref().get("protocol");
        protocol.and_then(|value| value.get_ref().as_str()) == Some(parse::PROTOCOL)
    }

    /// Reads a plan of regressions from the text of the file called `file`.
    ///
    /// # Errors
    /// All mistakes of the text, in the order of the file.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<PlanProblem>> {
        parse::parse(file, text)
    }
}
