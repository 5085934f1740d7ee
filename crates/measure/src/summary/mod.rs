//! Summary of a run: `summary.json`, from which the report is drawn.
//!
//! [`digest()`] judges raw records; it reads nothing else and does not depend on their order, so a
//! later version can judge a stored run again.

mod bottleneck;
mod curve;
mod digest;
mod kernel;
mod long_trials;
mod notes;
mod restarts;
mod rows;
mod runs;
mod server;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use bottleneck::Bottleneck;
pub use digest::digest;
pub use kernel::KernelCounts;
pub use long_trials::{LongTrial, LongTrialPoint};
pub use notes::TrialNote;
pub use restarts::RestartResult;
pub use runs::{DroppedAs, RunFigure, RunState};

use crate::plan::Plan;
use crate::profile::Profile;
use crate::record::{Environment, FlushCost, LatencySummary, Purpose, Queues, Start, VoidReason};
use crate::statistics::{MeanInterval, NoiseFloor, RatioInterval};

/// Value of `schema` in a [`RunSummary`].
pub const SUMMARY_SCHEMA: &str = "godwit.summary.v1";

/// Whole run in figures. Rates are exchanges per second, of which each makes one lease; in plans of
/// DNS, fields named after leases contain answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSummary {
    /// Name of the schema, [`SUMMARY_SCHEMA`].
    pub schema: String,
    /// Title of the plan.
    pub title: String,
    /// Begin of the run, RFC 3339.
    pub started: String,
    /// Length of the run, in seconds.
    pub duration_s: f64,
    /// Results of the servers, in the order of the plan; without the limit responder.
    pub results: Vec<ServerResult>,
    /// Ratios of every server over every later one of `results`.
    pub ratios: Vec<Ratio>,
    /// Limit responder: the most that kernel and generator can do; `None` when it was not measured.
    pub limit: Option<LimitResult>,
    /// Noise floor, which a ratio must exceed to mean anything; `None` without two rounds.
    pub noise: Option<NoiseFloor>,
    /// Runs of every server that are finished; 0 when the plan measures in rounds.
    pub runs_done: u32,
    /// Plan as it was run.
    pub plan: Plan,
    /// Environment in which the run took place.
    pub environment: Environment,
    /// Distinct command lines: the lab's own first, then each server's.
    pub commands: Vec<CommandRecord>,
    /// Warnings that the reader must know before believing the figures.
    pub warnings: Vec<String>,
    /// Leases that a server granted to a client while another one held the address, over all of its
    /// trials, by server; servers without such leases are left out. Generators detect them for
    /// every server.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub conflicts: BTreeMap<String, u64>,
    /// Trials, in the order of the run.
    pub trials: Vec<TrialRow>,
    /// Restarts of databases, with the clients' results.
    pub restarts: Vec<RestartResult>,
    /// Long trials second by second, with those in which a pool ran out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub long_trials: Vec<LongTrial>,
    /// Profiles of servers, by server in the order of `results`, then by rate.
    pub profiles: Vec<ServerProfile>,
    /// Costs of flushes, in the order of the run.
    pub flushes: Vec<FlushCost>,
    /// First starts of the servers, in the order of the run.
    pub starts: Vec<Start>,
    /// Processors and memory over the run, thinned out for drawing.
    pub timeline: Vec<TimePoint>,
    /// Raw files of the run, relative to the result folder.
    pub files: Vec<String>,
}

/// Result of one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerResult {
    /// Name of the server.
    pub server: String,
    /// Variant that the figures belong to: the best of those tried; empty when there is only one.
    pub variant: String,
    /// Variants tried, with the chosen one.
    pub variants: Vec<VariantResult>,
    /// Highest rate achieved in a confirming trial that met the criterion, in exchanges per second:
    /// that of a single round, or the lower median over several rounds. In a plan with runs, the
    /// mean of `mean`. `None` when nothing was confirmed.
    pub leases_per_s: Option<f64>,
    /// Lowest of the rounds' figures; `None` for one round, which is no range.
    pub leases_per_s_low: Option<f64>,
    /// Highest of the rounds' figures; `None` for one round.
    pub leases_per_s_high: Option<f64>,
    /// True if the server never missed the criterion above that rate: the plan, the generator or
    /// the time ended the search, and the figure is a lower bound.
    pub is_at_least: bool,
    /// Least share, 0 to 1, that the server did not carry in any trial, when that was more than the
    /// criterion allows at every rate, far below what it answered too: it has no highest rate and
    /// is not slow. `None` otherwise.
    pub loses_at_every_rate: Option<f64>,
    /// Leases per processor second of the server near its highest rate.
    pub leases_per_cpu_s: Option<f64>,
    /// Cause of the rate, if it was not the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// `leases_per_s` over the limit responder's, 0 to 1.
    pub share_of_limit: Option<f64>,
    /// Largest resident memory of the server, in bytes; 0 when unknown.
    pub rss_bytes: u64,
    /// Latency at about half the highest rate.
    pub latency_half: Option<LatencyAt>,
    /// Latency at the highest rate.
    pub latency_max: Option<LatencyAt>,
    /// Traffic of the link at the highest rate; `None` when it was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried_max: Option<LinkTraffic>,
    /// Load curve by offered rate.
    pub curve: Vec<CurvePoint>,
    /// Result of all clients at once, if that was tried and all got a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avalanche: Option<AvalancheResult>,
    /// Each round's confirmed rate.
    pub rounds: Vec<RoundResult>,
    /// Runs that are finished, void ones too; empty when the plan measures in rounds.
    pub runs: Vec<RunFigure>,
    /// Mean over the runs that count, without those dropped.
    pub mean: Option<MeanInterval>,
    /// Mean of the leases per processor second over the runs that count, without those dropped.
    pub mean_per_cpu: Option<MeanInterval>,
    /// True if messages to the server left in groups (UDP segmentation); `None` when that is
    /// unknown or differs from trial to trial.
    pub segmentation: Option<bool>,
    /// Number of trials of all variants.
    pub trials: u32,
    /// Number of void trials of all variants.
    pub voids: u32,
    /// Void trials by reason; one trial may have several.
    pub void_reasons: BTreeMap<VoidReason, u32>,
}

impl ServerResult {
    /// Returns both ends of the highest rate: of the 95 % interval if there is one, else the lowest
    /// and the highest round; and true if they are an interval.
    #[must_use]
    pub fn range(&self) -> (Option<f64>, Option<f64>, bool) {
        match self.mean.filter(MeanInterval::has_interval) {
            Some(mean) => (Some(mean.low), Some(mean.high), true),
            // Results of older versions have both ends for one round, which is no range.
            None if self.rounds.len() == 1 => (None, None, false),
            None => (self.leases_per_s_low, self.leases_per_s_high, false),
        }
    }
}

/// Traffic of a link, in megabits per second of Ethernet frames, without the bits on the wire
/// between frames and after them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkTraffic {
    /// Traffic to the server, in Mbit/s.
    pub to_server_mbit_s: f64,
    /// Traffic from the server, in Mbit/s.
    pub from_server_mbit_s: f64,
}

/// Result of clients that all came at once and sent again until they were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AvalancheResult {
    /// Number of clients.
    pub clients: u64,
    /// Time until all of them had a lease, in seconds.
    pub took_s: f64,
}

/// Variant: one way of running a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VariantResult {
    /// Name of the variant.
    pub variant: String,
    /// Highest rate of the variant, as in [`ServerResult::leases_per_s`].
    pub leases_per_s: Option<f64>,
    /// Leases per processor second of the variant, as in [`ServerResult::leases_per_cpu_s`].
    pub leases_per_cpu_s: Option<f64>,
}

/// Result of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoundResult {
    /// Number of the round, from 0.
    pub round: u32,
    /// Rate offered in the confirming trial, in exchanges per second.
    pub offered_per_s: f64,
    /// Rate achieved in the confirming trial, in exchanges per second.
    pub leases_per_s: f64,
    /// Leases per processor second in this round.
    pub leases_per_cpu_s: Option<f64>,
    /// Exchanges per second that the generator's processor was busy, in this round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanges_per_generator_cpu_s: Option<f64>,
}

/// Latency from the due time of an exchange, at one offered rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyAt {
    /// Exchanges offered per second.
    pub offered_per_s: f64,
    /// Distribution of the latency.
    pub latency: LatencySummary,
    /// Share of these exchanges that were not carried, 0 to 1.
    pub loss: f64,
}

/// Trials of a server at about the same offered rate, combined to one point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CurvePoint {
    /// Exchanges offered per second.
    pub offered_per_s: f64,
    /// Exchanges carried per second: completed on time, and not out of a queue that grew.
    pub achieved_per_s: f64,
    /// Share of exchanges that were not carried, 0 to 1; the criterion limits this share.
    pub loss: f64,
    /// Part of `loss` that was completed on time, out of a queue that grew.
    pub behind: f64,
    /// Number of trials in the point.
    pub trials: u32,
    /// Latency from the due time of an exchange, from the added histograms.
    pub latency: LatencySummary,
    /// Processors that the server kept busy; `None` when unknown.
    pub server_cpus_busy: Option<f64>,
}

/// Ratio of one server over another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Server in the numerator.
    pub server: String,
    /// Server in the denominator.
    pub to: String,
    /// Ratio of the highest rates, one pair per round.
    pub leases_per_s: Option<RatioInterval>,
    /// Ratio of the leases per processor second, one pair per round.
    pub leases_per_cpu_s: Option<RatioInterval>,
    /// True if the denominator is only a lower bound: the ratio may be smaller.
    pub is_at_most: bool,
    /// True if the numerator is only a lower bound: the ratio may be larger.
    pub is_at_least: bool,
    /// Cause of either server's rate, if it was not the server: the ratio is not that of the
    /// servers then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
}

/// Limit responder: the most that kernel and generator can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitResult {
    /// Exchanges per second; for DHCP half of the responder's answers, as an exchange takes two.
    pub leases_per_s: f64,
    /// Answers per second.
    pub answers_per_s: f64,
    /// True if the limit responder never missed the criterion.
    pub is_at_least: bool,
    /// Runs of the limit responder, as in [`ServerResult::runs`].
    pub runs: Vec<RunFigure>,
    /// Mean of the limit responder, as in [`ServerResult::mean`].
    pub mean: Option<MeanInterval>,
    /// Each round's confirmed rate.
    pub rounds: Vec<RoundResult>,
    /// Load curve of the limit responder.
    pub curve: Vec<CurvePoint>,
    /// Number of trials of the limit responder.
    pub trials: u32,
    /// Number of its void trials.
    pub voids: u32,
}

/// A command line that was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandRecord {
    /// Owner of the command: `lab`, or a server with its variant and role.
    pub whose: String,
    /// Words as a shell would take them.
    pub command: String,
}

/// One trial as a line of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrialRow {
    /// Position of the trial in the run.
    pub number: u32,
    /// Name of the server.
    pub server: String,
    /// Variant of the server.
    pub variant: String,
    /// Purpose of the trial.
    pub purpose: Purpose,
    /// Number of the round, from 0.
    pub round: u32,
    /// Begin of the trial, in seconds since the run began.
    pub start_s: f64,
    /// End of the trial, in seconds since the run began.
    pub end_s: f64,
    /// Exchanges offered per second.
    pub offered_per_s: f64,
    /// Exchanges carried per second: completed on time, and not out of a queue that grew.
    pub achieved_per_s: f64,
    /// Share of exchanges that were not carried, 0 to 1; the criterion limits this share.
    pub loss: f64,
    /// Part of `loss` that was completed on time, out of a queue that grew.
    pub behind: f64,
    /// Median latency, in microseconds; `None` for too few exchanges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// 99 % latency, in microseconds; `None` for too few exchanges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// Processor seconds of the server; `None` when unknown.
    pub server_cpu_s: Option<f64>,
    /// Share of the server's processors that was used while exchanges came due, 0 to 1; stolen time
    /// counts neither as used nor as available. `None` when unknown.
    pub server_load: Option<f64>,
    /// Share of the processors' time that was stolen, 0 to 1.
    pub steal_share: f64,
    /// Datagrams dropped at the server's sockets; `None` when unknown.
    pub server_socket_drops: Option<u64>,
    /// True if the criterion was met (never for a void trial).
    pub meets: bool,
    /// Reasons why the trial is void; empty when it counts.
    pub void: Vec<VoidReason>,
    /// Counters of the kernel during the trial; `None` in records of versions that did not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelCounts>,
    /// Queues in which messages waited during the trial, in plans that are about queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    /// Notes on wrong figures, or on places where load was lost; in plans of DNS.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<TrialNote>,
    /// Seed of the generator.
    pub seed: u64,
    /// Command lines by role.
    pub commands: BTreeMap<String, String>,
}

/// Profile of a server at one offered rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerProfile {
    /// Number of the trial.
    pub trial: u32,
    /// Name of the server.
    pub server: String,
    /// Variant of the server.
    pub variant: String,
    /// Exchanges offered per second.
    pub offered_per_s: f64,
    /// Exchanges carried per second.
    pub achieved_per_s: f64,
    /// Profile of the trial.
    pub profile: Profile,
}

/// State of the machine at one moment of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimePoint {
    /// Seconds since the run began.
    pub at_s: f64,
    /// Number of the trial that was running.
    pub trial: u32,
    /// Processors that the server kept busy; `None` when unknown.
    pub server_cpus_busy: Option<f64>,
    /// Processors that the generator kept busy.
    pub generator_cpus_busy: f64,
    /// Stolen time, as a number of processors.
    pub stolen_cpus: f64,
    /// Resident memory of the server, in bytes.
    pub server_rss_bytes: u64,
    /// Datagrams dropped at the server's sockets since the point before.
    pub server_socket_drops: u64,
    /// Packets dropped at a processor's backlog since the point before.
    pub softnet_drops: u64,
}
