//! What a run amounts to: `summary.json`, from which the report is drawn.
//!
//! [`digest`] judges raw records; it reads nothing else and does not depend on their order, so a
//! stored run can be judged again by a later version.

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
pub use notes::Note;
pub use restarts::RestartResult;
pub use runs::{DroppedAs, RunFigure, RunState};

use crate::plan::Plan;
use crate::profile::Profile;
use crate::record::{Environment, FlushCost, LatencySummary, Purpose, Queues, Start, VoidReason};
use crate::statistics::{MeanInterval, NoiseFloor, RatioInterval};

/// Value of `schema` in a [`Summary`].
pub const SUMMARY_SCHEMA: &str = "godwit.summary.v1";

/// A whole run in figures. Rates are exchanges per second, of which each makes one lease; in plans of
/// DNS, fields named after leases hold answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// [`SUMMARY_SCHEMA`].
    pub schema: String,
    /// The plan's title.
    pub title: String,
    /// When the run began, RFC 3339.
    pub started: String,
    /// How long it took, seconds.
    pub duration_s: f64,
    /// One entry per server, in the order of the plan; the limit responder is not among them.
    pub results: Vec<ServerResult>,
    /// Every server against every later one of `results`.
    pub ratios: Vec<Ratio>,
    /// What kernel and generator can do at most; `None` when it was not measured.
    pub limit: Option<Limit>,
    /// What a ratio must exceed to mean anything; `None` without two rounds.
    pub noise: Option<NoiseFloor>,
    /// Runs of every server that came to their end; 0 when the plan measures in rounds.
    pub runs_done: u32,
    /// The plan as it was run.
    pub plan: Plan,
    /// Where it ran.
    pub environment: Environment,
    /// Distinct command lines: the lab's own first, then each server's.
    pub commands: Vec<Command>,
    /// What the reader must know before believing the figures.
    pub warnings: Vec<String>,
    /// Leases that a server granted to a client while another one held the address, over all of its
    /// trials, by server; none where there were none. Generators see it whatever the server is.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub conflicts: BTreeMap<String, u64>,
    /// Every trial, in the order of the run.
    pub trials: Vec<TrialRow>,
    /// What clients saw of databases that were ended and started again.
    pub restarts: Vec<RestartResult>,
    /// Long trials second by second, those in which a pool ran out among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub long_trials: Vec<LongTrial>,
    /// Where servers' time went, by server in the order of `results`, then by rate.
    pub profiles: Vec<ServerProfile>,
    /// What flushing cost, in the order of the run.
    pub flushes: Vec<FlushCost>,
    /// How long servers took to start for the first time, in the order of the run.
    pub starts: Vec<Start>,
    /// Processors and memory over the run, thinned out to what can be drawn.
    pub timeline: Vec<TimePoint>,
    /// Raw files of the run, relative to the result folder.
    pub files: Vec<String>,
}

/// What was found about one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerResult {
    /// The server's name.
    pub server: String,
    /// The variant that the figures are of: the best of those tried; empty when there is only one.
    pub variant: String,
    /// All variants tried, the chosen one too.
    pub variants: Vec<VariantResult>,
    /// The highest rate achieved in a confirming trial that met the criterion: of one round that
    /// round's, of several the lower median over the rounds. Of a plan with runs, the mean of
    /// `mean`. `None` when nothing was confirmed.
    pub leases_per_s: Option<f64>,
    /// Lowest of the rounds' figures; `None` of one round, which is no range.
    pub leases_per_s_low: Option<f64>,
    /// Highest of the rounds' figures; `None` of one round.
    pub leases_per_s_high: Option<f64>,
    /// True when the server was never seen to miss the criterion above that rate: the plan, the
    /// generator or the time ended the search, and the figure says "at least".
    pub is_at_least: bool,
    /// The least share, 0 to 1, that the server did not carry in any trial, when that was more than
    /// the criterion allows at every rate, far below what it answered too: it has no highest rate
    /// and is not slow. `None` otherwise.
    pub loses_at_every_rate: Option<f64>,
    /// Leases per processor second of the server near its highest rate.
    pub leases_per_cpu_s: Option<f64>,
    /// The cause of the rate, when it was not the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// `leases_per_s` over the limit responder's, 0 to 1.
    pub share_of_limit: Option<f64>,
    /// The server's largest resident memory, bytes; 0 when unknown.
    pub rss_bytes: u64,
    /// Latency at about half the highest rate.
    pub latency_half: Option<LatencyAt>,
    /// Latency at the highest rate.
    pub latency_max: Option<LatencyAt>,
    /// What the link carried at the highest rate; `None` when it was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried_max: Option<Carried>,
    /// The load curve by offered rate.
    pub curve: Vec<CurvePoint>,
    /// All clients at once, where that was tried and all got a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avalanche: Option<AvalancheResult>,
    /// Each round's confirmed rate.
    pub rounds: Vec<Round>,
    /// Every run that came to its end, void ones too; empty when the plan measures in rounds.
    pub runs: Vec<RunFigure>,
    /// The mean over the runs that count, without those dropped.
    pub mean: Option<MeanInterval>,
    /// The same of the leases per processor second.
    pub mean_per_cpu: Option<MeanInterval>,
    /// Whether messages to the server left in groups (UDP segmentation); `None` when that is not
    /// known or differs from trial to trial.
    pub segmentation: Option<bool>,
    /// Trials of all variants.
    pub trials: u32,
    /// Those that were void.
    pub voids: u32,
    /// Void trials by reason; one trial may have several.
    pub void_reasons: BTreeMap<VoidReason, u32>,
}

impl ServerResult {
    /// Both ends of what the highest rate may be: of the 95 % interval where there is one, else the
    /// lowest and the highest round; and whether they are an interval.
    #[must_use]
    pub fn range(&self) -> (Option<f64>, Option<f64>, bool) {
        match self.mean.filter(MeanInterval::has_interval) {
            Some(mean) => (Some(mean.low), Some(mean.high), true),
            // Results of older versions have both ends of one round, which is no range.
            None if self.rounds.len() == 1 => (None, None, false),
            None => (self.leases_per_s_low, self.leases_per_s_high, false),
        }
    }
}

/// What a link carried, megabits per second of Ethernet frames, without what is on the wire between frames
/// and after them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carried {
    /// To the server.
    pub to_server_mbit_s: f64,
    /// From the server.
    pub from_server_mbit_s: f64,
}

/// Clients that all came at once and sent again until they were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AvalancheResult {
    /// How many.
    pub clients: u64,
    /// Seconds until all of them had a lease.
    pub took_s: f64,
}

/// One way of running a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VariantResult {
    /// Its name.
    pub variant: String,
    /// As in [`ServerResult::leases_per_s`].
    pub leases_per_s: Option<f64>,
    /// As in [`ServerResult::leases_per_cpu_s`].
    pub leases_per_cpu_s: Option<f64>,
}

/// What one round found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Round {
    /// The round, from 0.
    pub round: u32,
    /// Rate offered in the confirming trial.
    pub offered_per_s: f64,
    /// Rate achieved in it.
    pub leases_per_s: f64,
    /// Leases per processor second in this round.
    pub leases_per_cpu_s: Option<f64>,
    /// Exchanges per second that the generator's processor was busy, in this round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanges_per_generator_cpu_s: Option<f64>,
}

/// Latency from when an exchange was due, at one offered rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyAt {
    /// Exchanges offered per second.
    pub offered_per_s: f64,
    /// The distribution.
    pub latency: LatencySummary,
    /// Share of the same exchanges that were not carried, 0 to 1.
    pub loss: f64,
}

/// All trials of a server at about the same offered rate, put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CurvePoint {
    /// Exchanges offered per second.
    pub offered_per_s: f64,
    /// Exchanges carried per second: completed on time, and not out of a queue that grew.
    pub achieved_per_s: f64,
    /// Share of exchanges that were not carried, 0 to 1: what the criterion limits.
    pub loss: f64,
    /// The part of `loss` that was completed on time, out of a queue that grew.
    pub behind: f64,
    /// Trials put together.
    pub trials: u32,
    /// Latency from when an exchange was due, from the histograms put together.
    pub latency: LatencySummary,
    /// Processors that the server kept busy; `None` when they were not seen.
    pub server_cpus_busy: Option<f64>,
}

/// One server against another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The one above the line.
    pub server: String,
    /// The one below it.
    pub to: String,
    /// Of the highest rates, one pair per round.
    pub leases_per_s: Option<RatioInterval>,
    /// Of the leases per processor second, one pair per round.
    pub leases_per_cpu_s: Option<RatioInterval>,
    /// True when the denominator is only "at least": the ratio may be smaller.
    pub is_at_most: bool,
    /// True when the numerator is only "at least": the ratio may be larger.
    pub is_at_least: bool,
    /// The cause of either server's rate, when it was not the server: the ratio is not theirs then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
}

/// The plain responder: what kernel and generator can do at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// Exchanges per second; of DHCP half of its answers, as an exchange takes two.
    pub leases_per_s: f64,
    /// Answers per second.
    pub answers_per_s: f64,
    /// True when it was never seen to miss the criterion.
    pub is_at_least: bool,
    /// As in [`ServerResult::runs`].
    pub runs: Vec<RunFigure>,
    /// As in [`ServerResult::mean`].
    pub mean: Option<MeanInterval>,
    /// Each round's confirmed rate.
    pub rounds: Vec<Round>,
    /// Its load curve.
    pub curve: Vec<CurvePoint>,
    /// Its trials.
    pub trials: u32,
    /// Those that were void.
    pub voids: u32,
}

/// A command line that was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Command {
    /// Whose it is: `lab`, or a server with its variant and role.
    pub whose: String,
    /// The words as a shell would take them.
    pub command: String,
}

/// One trial as a line of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrialRow {
    /// Position in the run.
    pub number: u32,
    /// The server.
    pub server: String,
    /// The variant.
    pub variant: String,
    /// What the trial was for.
    pub purpose: Purpose,
    /// Which time around.
    pub round: u32,
    /// Seconds since the run began when it began.
    pub start_s: f64,
    /// Seconds since the run began when it ended.
    pub end_s: f64,
    /// Exchanges offered per second.
    pub offered_per_s: f64,
    /// Exchanges carried per second: completed on time, and not out of a queue that grew.
    pub achieved_per_s: f64,
    /// Share of exchanges that were not carried, 0 to 1: what the criterion limits.
    pub loss: f64,
    /// The part of `loss` that was completed on time, out of a queue that grew.
    pub behind: f64,
    /// Median latency, microseconds; `None` of too few exchanges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// 99 % latency, microseconds; `None` of too few exchanges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// Processor seconds of the server; `None` when they were not seen.
    pub server_cpu_s: Option<f64>,
    /// The share of the server's processors that was used while exchanges came due, 0 to 1; stolen
    /// time counts neither as used nor as there. `None` when they were not seen.
    pub server_load: Option<f64>,
    /// Share of the processors' time that was stolen, 0 to 1.
    pub steal_share: f64,
    /// Datagrams dropped at the server's sockets; `None` when they were not seen.
    pub server_socket_drops: Option<u64>,
    /// Whether the criterion was met (never of a void trial).
    pub meets: bool,
    /// Why it is void; empty when it counts.
    pub void: Vec<VoidReason>,
    /// What the kernel counted meanwhile; `None` in records of versions that did not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelCounts>,
    /// Where messages waited meanwhile, in plans that are about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    /// What spoils its figures, or says where load was lost; of plans of DNS.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The generator's seed.
    pub seed: u64,
    /// Command lines by role.
    pub commands: BTreeMap<String, String>,
}

/// Where a server's time went at one offered rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerProfile {
    /// Number of the trial.
    pub trial: u32,
    /// The server.
    pub server: String,
    /// The variant.
    pub variant: String,
    /// Exchanges offered per second.
    pub offered_per_s: f64,
    /// Exchanges carried per second.
    pub achieved_per_s: f64,
    /// The profile.
    pub profile: Profile,
}

/// The machine at one moment of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimePoint {
    /// Seconds since the run began.
    pub at_s: f64,
    /// Number of the trial that was running.
    pub trial: u32,
    /// Processors that the server kept busy; `None` when they were not seen.
    pub server_cpus_busy: Option<f64>,
    /// Processors that the generator kept busy.
    pub generator_cpus_busy: f64,
    /// Processors' worth of time that was stolen.
    pub stolen_cpus: f64,
    /// The server's resident memory, bytes.
    pub server_rss_bytes: u64,
    /// Datagrams dropped at the server's sockets since the point before.
    pub server_socket_drops: u64,
    /// Packets dropped at a processor's backlog since the point before.
    pub softnet_drops: u64,
}
