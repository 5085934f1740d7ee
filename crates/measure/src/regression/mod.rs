//! Regressions of DCCP: emulated links, what was reached over them before, and what is accepted.
//!
//! A plan is a TOML file with `protocol = "dccp"`. What is desired of a link and what comes of it belong to
//! the crate `dccp-tools`, result folders to the lab.

mod parse;
mod quantity;

use serde::{Deserialize, Serialize};
use toml::de::DeTable;

pub use quantity::{Delay, LineRate};

use crate::plan::Problem;

/// A plan that has been checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegressionPlan {
    /// Short name: letters, digits and dashes. It becomes part of the result folder's name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// By which clocks every case is measured, in this order; at least one.
    pub clocks: Vec<Clock>,
    /// The congestion controls that it is measured with, 2 or 3, in this order; at least one.
    pub ccids: Vec<u8>,
    /// What packets travel in.
    pub carrier: Carrier,
    /// Octets of a datagram.
    pub datagram_bytes: usize,
    /// Datagrams that the send queue holds.
    pub tx_qlen: u16,
    /// Seconds of a run.
    pub seconds: f64,
    /// Runs of each.
    pub runs: u32,
    /// Seconds of the one run of each that a quick look takes.
    pub quick_seconds: f64,
    /// What is measured; at least one.
    #[serde(rename = "case")]
    pub cases: Vec<CasePlan>,
}

/// Seconds that a run in real time takes besides, to build and to remove its links.
const REAL_OVERHEAD_S: f64 = 0.8;
/// Share of its seconds that a run on a virtual clock takes.
const VIRTUAL_SHARE: f64 = 0.04;

impl RegressionPlan {
    /// Seconds that the plan takes: a quick look with its one run of each, or `runs` of each, the
    /// plan's own number where none is given.
    #[must_use]
    pub fn forecast_s(&self, is_quick: bool, runs: Option<u32>) -> f64 {
        let (runs, seconds) = match is_quick {
            true => (1, self.quick_seconds),
            false => (runs.unwrap_or(self.runs), self.seconds),
        };
        let of_clock = |clock: &Clock| match clock {
            Clock::Real => seconds + REAL_OVERHEAD_S,
            Clock::Virtual => seconds * VIRTUAL_SHARE,
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
            clocks: vec![Clock::Virtual, Clock::Real],
            ccids: vec![3, 2],
            carrier: Carrier::Raw,
            datagram_bytes: 1_424,
            tx_qlen: 5,
            seconds: 60.0,
            runs: 3,
            quick_seconds: 10.0,
            cases: Vec::new(),
        }
    }
}

/// A link, or two with a router between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CasePlan {
    /// Short name: letters, digits and dashes.
    pub name: String,
    /// For people.
    pub title: String,
    /// How long a packet takes each way over a link.
    pub delay: Delay,
    /// What the line takes; without it there is no limit.
    #[serde(default)]
    pub rate: Option<LineRate>,
    /// What a frame takes of the line beyond its header and content, octets.
    #[serde(default)]
    pub overhead_bytes: u32,
    /// Packets that are lost each way over a link, percent.
    #[serde(default)]
    pub loss_percent: Option<f64>,
    /// Whether there are two links with a router between.
    #[serde(default, rename = "routed")]
    pub is_routed: bool,
    /// What runs of CCID 3 reached with Linux in 2007, in Mbit/s; empty where there were none.
    #[serde(default)]
    pub linux_2007_mbps: Vec<f64>,
    /// The least and the most that the mean of CCID 3 may be, in Mbit/s; without it nothing is judged.
    #[serde(default)]
    pub accepted_mbps: Option<[f64; 2]>,
}

/// By which a run lasts as long as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The real one, over network namespaces; needs root.
    Real,
    /// One that is as fast as the processor.
    Virtual,
}

impl Clock {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Real => "real time",
            Self::Virtual => "virtual clock",
        }
    }
}

/// What packets of DCCP travel in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// IP protocol 33.
    Raw,
    /// UDP (RFC 6773).
    Udp,
}

impl RegressionPlan {
    /// Whether a text says that it is such a plan, right or wrong otherwise.
    #[must_use]
    pub fn is_meant_by(text: &str) -> bool {
        let (table, _) = DeTable::parse_recoverable(text);
        let protocol = table.get_ref().get("protocol");
        protocol.and_then(|value| value.get_ref().as_str()) == Some(parse::PROTOCOL)
    }

    /// Reads a plan from the text of the file called `file`.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the file.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Problem>> {
        parse::parse(file, text)
    }
}
