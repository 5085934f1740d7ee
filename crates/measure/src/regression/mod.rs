//! Regressions of DCCP: emulated links, throughput reached over them before, and accepted
//! throughput.
//!
//! A plan is a TOML file with `protocol = "dccp"`. The crate `dccp-tools` builds the links and
//! measures, the lab writes result folders.

mod parse;
mod quantity;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::de::DeTable;

pub use quantity::{LineRate, LinkDelay};

use crate::plan::{PlanProblem, plan_section};

plan_section! {
    /// Plan of DCCP throughput regressions that has been checked.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct RegressionPlan in "" {
        /// Short name of the plan: letters, digits and dashes. The name becomes part of the result
        /// folder's name.
        name: String = String::new(), "", Name, "Short name; part of the result folder's name.";
        /// Title of the plan in one line, for people.
        title: String = String::new(), "", Text, "Title of the report, one line.";
        /// Clocks (real or virtual) by which every case of the plan is measured, in this order; at
        /// least one.
        clocks: Vec<RegressionClock> = vec![RegressionClock::Virtual, RegressionClock::Real],
            "[\"virtual\", \"real\"]", Choices(&["virtual", "real"]),
            "Clocks with which every case is measured.";
        /// DCCP congestion controls (CCID 2 or 3) with which every case is measured, in this order;
        /// at least one.
        ccids: Vec<u8> = vec![3, 2], "[3, 2]", Numbers(2.0, 3.0),
            "Congestion controls, each of 3 and 2 at most once.";
        /// Carrier of the DCCP packets.
        carrier: RegressionCarrier = RegressionCarrier::Raw, "\"raw\"", Choice(&["raw", "udp"]),
            "Carrier of DCCP packets.";
        /// Size of a DCCP datagram, in bytes.
        datagram_bytes: usize = 1_424, "1424", Whole(16, 1_424),
            "Bytes of a datagram; with 1424 each packet fills an Ethernet frame.";
        /// Number of datagrams that the DCCP send queue holds (Linux's `tx_qlen`).
        tx_qlen: u16 = 5, "5", Whole(1, 65_535), "Datagrams that the send queue holds.";
        /// Length of a run of a case, in seconds.
        seconds: f64 = 60.0, "60.0", Number(0.1, 86_400.0), "Seconds of a run.";
        /// Number of runs of each case of the plan with each clock and congestion control.
        runs: u32 = 3, "3", Whole(1, 1_000), "Number of runs of each case.";
        /// Length of the single runs in a quick look (`--quick`), in seconds.
        quick_seconds: f64 = 10.0, "10.0", Number(0.1, 86_400.0),
            "Seconds of a run with --quick.";
        /// Cases that the plan measures; at least one.
        #[serde(rename = "case")]
        cases: Vec<CasePlan>;
    }
}

/// Time that a regression run in real time takes to build and to remove its links, in seconds, in
/// addition to its length.
const REAL_OVERHEAD_S: f64 = 0.8;
/// Time that a regression run on a virtual clock takes, as a share of the run's length.
const VIRTUAL_SHARE: f64 = 0.04;

impl RegressionPlan {
    /// Returns the seconds that the plan takes: with `is_quick` one short run of each case, clock
    /// and congestion control; else `runs` of each, or the plan's own number if `runs` is `None`.
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

/// Case of a regression: one emulated link, or two links with a router between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CasePlan {
    /// Short name of the case: letters, digits and dashes.
    pub name: String,
    /// Title of the case of the regression, for people.
    pub title: String,
    /// Time that a packet takes in each direction over a link of the case.
    pub delay: LinkDelay,
    /// Rate of the line of the case's emulated links; without it there is no limit.
    pub rate: Option<LineRate>,
    /// Bytes that a frame takes on the emulated line beyond its header and content.
    #[serde(default)]
    pub overhead_bytes: u32,
    /// Share of packets that are lost in each direction over a link of the case, in percent.
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
    pub accepted_mbps: Option<[f64; 2]>,
}

base::worded! {
    /// Clock by which the length of a regression run is measured.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum RegressionClock {
        /// Real clock, for regression runs over links between network namespaces; needs root.
        Real = "real time",
        /// Virtual clock of a simulation, in which a run takes a small share of its length.
        Virtual = "virtual clock",
    }
}

/// Carrier of the DCCP packets in a regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RegressionCarrier {
    /// IP packets with protocol number 33 (DCCP).
    Raw,
    /// Carrier UDP: DCCP packets inside of UDP datagrams (RFC 6773).
    Udp,
}

impl RegressionPlan {
    /// Returns true if the text claims to be a plan of regressions, correct or not.
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
