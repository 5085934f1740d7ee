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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use bottleneck::Bottleneck;
pub use digest::digest;
pub(crate) use digest::pairs;
pub use kernel::KernelCounts;
pub use long_trials::{LongTrial, LongTrialPoint};
pub use notes::TrialNote;
pub use restarts::RestartResult;
pub use runs::{DroppedAs, RunFigure, RunState};

use crate::plan::Plan;
use crate::profile::Profile;
use crate::record::{Environment, FlushCost, LatencySummary, Purpose, Queues, Start, VoidReason};
use crate::statistics::{MeanInterval, NoiseFloor, RatioInterval};

/// Value of the field `schema` in a [`RunSummary`].
pub const SUMMARY_SCHEMA: &str = "godwit.summary.v1";

/// Summary of a whole run in figures. Rates are exchanges per second, of which each makes one
/// lease; in plans of DNS, fields named after leases contain answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunSummary {
    /// Name of the run summary's JSON schema, [`SUMMARY_SCHEMA`].
    pub schema: String,
    /// Title of the plan that was run.
    pub title: String,
    /// Begin of the run, in the format of RFC 3339.
    pub started: String,
    /// Length of the run, in seconds.
    pub duration_s: f64,
    /// Results of the servers, in the order of the plan; without the limit responder, a program
    /// that returns every datagram.
    pub results: Vec<ServerResult>,
    /// Ratios of every server over every later one of `results`.
    pub ratios: Vec<Ratio>,
    /// Result of the limit responder (a program that returns every datagram): the most that kernel
    /// and generator can do; `None` when it was not measured.
    pub limit: Option<LimitResult>,
    /// Noise floor, which a ratio must exceed to mean anything; `None` without two rounds.
    pub noise: Option<NoiseFloor>,
    /// Number of runs that every server finished; 0 when the plan measures in rounds.
    pub runs_done: u32,
    /// Plan as it was run, overrides of the command line included.
    pub plan: Plan,
    /// Environment of the run: machine and software.
    pub environment: Environment,
    /// Distinct command lines of the run: the lab's own first, then each server's.
    pub commands: Vec<CommandRecord>,
    /// Warnings that the reader must know before believing the run's figures.
    pub warnings: Vec<String>,
    /// Number of leases that each server granted to a client while another one held the address,
    /// over all of its trials; servers without such leases are left out. Generators detect them for
    /// every server.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub conflicts: BTreeMap<String, u64>,
    /// Rows of the table of trials, in the order of the run.
    pub trials: Vec<TrialRow>,
    /// Results of the trials in which database servers were ended and started again.
    pub restarts: Vec<RestartResult>,
    /// Trials by intervals of about a second, including those in which an address pool ran out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub long_trials: Vec<LongTrial>,
    /// Profiles of servers, by server in the order of `results`, then by rate.
    pub profiles: Vec<ServerProfile>,
    /// Costs of flushes to the disks, in the order of the run.
    pub flushes: Vec<FlushCost>,
    /// Time and memory of each server's first start in the run.
    pub starts: Vec<Start>,
    /// Use of processors and memory over the run, joined to a number of points that can be drawn.
    pub timeline: Vec<TimePoint>,
    /// Raw files of the run, relative to the result folder.
    pub files: Vec<String>,
}

/// Result of one server in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerResult {
    /// Name of the server that was measured.
    pub server: String,
    /// Name of the variant that the figures belong to, the best of those tried: a way to run the
    /// server, such as `multi-threaded`; empty when there is only one.
    pub variant: String,
    /// Results of the server's variants that were tried, including the chosen one.
    pub variants: Vec<VariantResult>,
    /// Highest rate that the server achieved in a confirming trial that met the criterion, in
    /// exchanges per second: that of a single round, or the lower median over several rounds. In a
    /// plan with runs, the value of `mean`. `None` when nothing was confirmed.
    pub leases_per_s: Option<f64>,
    /// Lowest of the rounds' highest rates of the server, in exchanges per second; `None` for one
    /// round, which is no range.
    pub leases_per_s_low: Option<f64>,
    /// Highest of the rounds' highest rates of the server, in exchanges per second; `None` for one
    /// round.
    pub leases_per_s_high: Option<f64>,
    /// True if the server never missed the criterion (the plan's largest share of missed exchanges)
    /// above `leases_per_s`: the plan, the generator or the time ended the search, and the figure
    /// is a lower bound.
    pub is_at_least: bool,
    /// Least share of exchanges, 0 to 1, that the server did not carry in any trial, when that was
    /// more than the criterion allows at every rate, even far below what it answered: such a server
    /// has no highest rate and is not slow. `None` otherwise.
    pub loses_at_every_rate: Option<f64>,
    /// Leases per processor second of the server at about its highest rate.
    pub leases_per_cpu_s: Option<f64>,
    /// Cause of the server's highest rate, if it was not the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// Quotient of the server's highest rate and the rate of the limit responder (a program that
    /// returns every datagram), 0 to 1.
    pub share_of_limit: Option<f64>,
    /// Largest resident memory of the server, in bytes; 0 when unknown.
    pub rss_bytes: u64,
    /// Latency of the server at about half of its highest rate.
    pub latency_half: Option<LatencyAt>,
    /// Latency of the server at its highest rate.
    pub latency_max: Option<LatencyAt>,
    /// Traffic between generator and server at the server's highest rate; `None` when it was not
    /// counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried_max: Option<LinkTraffic>,
    /// Points of the server's load curve, by offered rate.
    pub curve: Vec<CurvePoint>,
    /// Result of the avalanche, clients that all came at once, if the plan has one and all got a
    /// lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avalanche: Option<AvalancheResult>,
    /// Confirmed rates of the server, one entry per round.
    pub rounds: Vec<RoundResult>,
    /// Figures of the server's finished runs, void ones included; empty when the plan measures in
    /// rounds.
    pub runs: Vec<RunFigure>,
    /// Mean of the highest rates over the runs that count, without those dropped.
    pub mean: Option<MeanInterval>,
    /// Mean of the leases per processor second over the runs that count, without those dropped.
    pub mean_per_cpu: Option<MeanInterval>,
    /// True if messages to the server left in groups (UDP segmentation); `None` when that is
    /// unknown or differs from trial to trial.
    pub segmentation: Option<bool>,
    /// Number of trials of the server, in all its variants together.
    pub trials: u32,
    /// Number of void trials of the server, in all its variants together.
    pub voids: u32,
    /// Numbers of the server's void trials by reason; one trial may have several.
    pub void_reasons: BTreeMap<VoidReason, u32>,
}

impl ServerResult {
    /// Returns both ends of the server's highest rate: of the 95 % interval if there is one, else
    /// the lowest and the highest round; and true if they are an interval.
    pub fn range(&self) -> (Option<f64>, Option<f64>, bool) {
        match self.mean.filter(MeanInterval::has_interval) {
            Some(mean) => (Some(mean.low), Some(mean.high), true),
            // Results of older versions have both ends for one round, which is no range.
            None if self.rounds.len() == 1 => (None, None, false),
            None => (self.leases_per_s_low, self.leases_per_s_high, false),
        }
    }
}

/// Traffic of the link between generator and server, in megabits per second of Ethernet frames,
/// without the preamble, check sequence and gap of each frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LinkTraffic {
    /// Traffic of the link towards the server, in Mbit/s of Ethernet frames.
    pub to_server_mbit_s: f64,
    /// Traffic of the link from the server, in Mbit/s of Ethernet frames.
    pub from_server_mbit_s: f64,
}

/// Result of an avalanche: clients that all came at once and sent again until they were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AvalancheResult {
    /// Number of clients that came at once.
    pub clients: u64,
    /// Time until all clients had a lease, in seconds.
    pub took_s: f64,
}

/// Result of one variant, which is one way to run a server, such as `multi-threaded`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VariantResult {
    /// Name of the server's variant, such as `multi-threaded`.
    pub variant: String,
    /// Highest rate of the variant, as in [`ServerResult::leases_per_s`].
    pub leases_per_s: Option<f64>,
    /// Leases per processor second of the variant, as in [`ServerResult::leases_per_cpu_s`].
    pub leases_per_cpu_s: Option<f64>,
}

/// Result of one server in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RoundResult {
    /// Number of the server's round, from 0.
    pub round: u32,
    /// Rate offered in the confirming trial of the server's round, in exchanges per second.
    pub offered_per_s: f64,
    /// Rate achieved in the confirming trial of the server's round, in exchanges per second.
    pub leases_per_s: f64,
    /// Leases per processor second of the server in this round.
    pub leases_per_cpu_s: Option<f64>,
    /// Exchanges per busy second of the generator's processor, in this round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanges_per_generator_cpu_s: Option<f64>,
}

/// Latency of a server from the due time of an exchange, at one offered rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LatencyAt {
    /// Rate at which the latency was measured, in exchanges offered per second.
    pub offered_per_s: f64,
    /// Distribution of the latency from the due time of an exchange.
    pub latency: LatencySummary,
    /// Share of the exchanges at this rate that were not carried, 0 to 1.
    pub loss: f64,
}

/// Point of a server's load curve: trials at about the same offered rate, combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CurvePoint {
    /// Rate of the point, in exchanges offered per second.
    pub offered_per_s: f64,
    /// Exchanges carried per second at this point of the load curve: completed on time, and not out
    /// of a queue that grew.
    pub achieved_per_s: f64,
    /// Share of exchanges that were not carried at this point of the load curve, 0 to 1; the
    /// criterion limits this share.
    pub loss: f64,
    /// Part of `loss` whose exchanges were completed on time, but out of a queue that grew.
    pub behind: f64,
    /// Number of trials that are combined in the point of the load curve.
    pub trials: u32,
    /// Latency at this point from the due time of an exchange, from the added histograms.
    pub latency: LatencySummary,
    /// Number of processors that the server kept busy at this point; `None` when unknown.
    pub server_cpus_busy: Option<f64>,
}

/// Ratios of the figures of one server over those of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// Name of the server in the numerator.
    pub server: String,
    /// Name of the server in the denominator.
    pub to: String,
    /// Ratio of the servers' highest rates, one pair per round.
    pub leases_per_s: Option<RatioInterval>,
    /// Ratio of the servers' leases per processor second, one pair per round.
    pub leases_per_cpu_s: Option<RatioInterval>,
    /// True if the denominator is only a lower bound: the ratio may be smaller.
    pub is_at_most: bool,
    /// True if the numerator is only a lower bound: the ratio may be larger.
    pub is_at_least: bool,
    /// Cause of either server's rate, if it was not the server: then the ratio is not one of the
    /// servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
}

/// Result of the limit responder, a program that returns every datagram: the most that kernel and
/// generator can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LimitResult {
    /// Exchanges per second of the limit responder; for DHCP half of its answers, as an exchange
    /// takes two.
    pub leases_per_s: f64,
    /// Answers per second of the limit responder, a program that returns every datagram.
    pub answers_per_s: f64,
    /// True if the limit responder, a program that returns every datagram, never missed the plan's
    /// criterion, so that its rate is a lower bound.
    pub is_at_least: bool,
    /// Runs of the limit responder (a program that returns every datagram), as in
    /// [`ServerResult::runs`].
    pub runs: Vec<RunFigure>,
    /// Mean of the runs of the limit responder (a program that returns every datagram), as in
    /// [`ServerResult::mean`].
    pub mean: Option<MeanInterval>,
    /// Confirmed rates of the limit responder (a program that returns every datagram), one entry
    /// per round.
    pub rounds: Vec<RoundResult>,
    /// Points of the load curve of the limit responder, a program that returns every datagram.
    pub curve: Vec<CurvePoint>,
    /// Number of trials of the limit responder, a program that returns every datagram.
    pub trials: u32,
    /// Number of void trials of the limit responder, a program that returns every datagram.
    pub voids: u32,
}

/// Command line that the lab ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CommandRecord {
    /// Owner of the command: `lab`, or a server with its variant, and the role of the command.
    pub whose: String,
    /// Words of the command line as a shell would take them.
    pub command: String,
}

/// Row of a trial in the report's table of trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TrialRow {
    /// Position of the trial of this row in the run.
    pub number: u32,
    /// Name of the server of the trial.
    pub server: String,
    /// Variant of the server of the trial: the way in which it was run, such as `multi-threaded`.
    pub variant: String,
    /// Purpose of the trial within its run.
    pub purpose: Purpose,
    /// Number of the trial's round, from 0.
    pub round: u32,
    /// Begin of the trial, in seconds since the run began.
    pub start_s: f64,
    /// End of the trial, in seconds since the run began.
    pub end_s: f64,
    /// Rate of the trial, in exchanges offered per second.
    pub offered_per_s: f64,
    /// Exchanges carried per second in the trial: completed on time, and not out of a queue that
    /// grew.
    pub achieved_per_s: f64,
    /// Share of the trial's exchanges that were not carried, 0 to 1; the criterion limits this
    /// share.
    pub loss: f64,
    /// Part of `loss` whose exchanges were completed on time, but out of a queue that grew.
    pub behind: f64,
    /// Median latency of the trial's exchanges, in microseconds; `None` for too few exchanges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// Latency that 99 % of the trial's exchanges did not exceed, in microseconds; `None` for too
    /// few exchanges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// Processor seconds of the server in the trial; `None` when unknown.
    pub server_cpu_s: Option<f64>,
    /// Share of the server's processors that was used while exchanges came due, 0 to 1; stolen time
    /// counts neither as used nor as available. `None` when unknown.
    pub server_load: Option<f64>,
    /// Share of the processors' time that the hypervisor took in the trial, 0 to 1.
    pub steal_share: f64,
    /// Number of datagrams dropped at the server's sockets in the trial; `None` when unknown.
    pub server_socket_drops: Option<u64>,
    /// True if the server missed at most the plan's share of exchanges in the trial (the
    /// criterion); never true for a void trial.
    pub meets: bool,
    /// Reasons why the trial is void; empty when it counts.
    pub void: Vec<VoidReason>,
    /// Counters of the kernel during the trial; `None` in records of versions that did not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelCounts>,
    /// Queues in which messages waited during the trial, in plans that vary receive buffers or
    /// queueing disciplines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    /// Notes on wrong figures of the trial, or on places where load was lost; in plans of DNS.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<TrialNote>,
    /// Seed of the generator in the trial.
    pub seed: u64,
    /// Command lines of the trial by role, `server` or `generator`.
    pub commands: BTreeMap<String, String>,
}

/// Profile of a server in a trial at one offered rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerProfile {
    /// Number of the trial in which the server was profiled.
    pub trial: u32,
    /// Name of the server that was profiled.
    pub server: String,
    /// Variant of the server that was profiled: the way in which it was run, such as
    /// `multi-threaded`.
    pub variant: String,
    /// Rate of the trial, in exchanges offered per second.
    pub offered_per_s: f64,
    /// Exchanges carried per second in the trial.
    pub achieved_per_s: f64,
    /// Profile of the server's processes in the trial.
    pub profile: Profile,
}

/// State of the machine's processors and memory at one moment of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimePoint {
    /// Time of the point, in seconds since the run began.
    pub at_s: f64,
    /// Number of the trial that was running at this time.
    pub trial: u32,
    /// Number of processors that the server kept busy; `None` when unknown.
    pub server_cpus_busy: Option<f64>,
    /// Number of processors that the generator kept busy.
    pub generator_cpus_busy: f64,
    /// Processor time per second that the hypervisor took, as a number of processors.
    pub stolen_cpus: f64,
    /// Resident memory of the server at this time, in bytes.
    pub server_rss_bytes: u64,
    /// Number of datagrams dropped at the server's sockets since the timeline's point before.
    pub server_socket_drops: u64,
    /// Number of packets dropped at a full processor backlog since the timeline's point before.
    pub softnet_drops: u64,
}
