//! One trial: one server, one offered rate, a few seconds; and the run that trials belong to.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Exhaustion, LoadRecord, MachineSample, Polls, Queues, RestartTimes, SampleDigest, VoidReason,
};
use crate::plan::Plan;
use crate::profile::Profile;
use crate::search::SearchStopReason;

/// Value of the field `schema` in a [`TrialRecord`].
pub const TRIAL_SCHEMA: &str = "godwit.trial.v1";
/// Value of the field `schema` in a [`RunRecord`].
pub const RUN_SCHEMA: &str = "godwit.run.v1";
/// Name of the topology in an [`Environment`] whose server was already running, somewhere on the
/// network.
pub const NETWORK: &str = "network";
/// Name of the limit responder, a program that returns every datagram: its rate is the most that
/// kernel and generator can do.
pub const LIMIT_SERVER: &str = "limit";

base::named! {
    /// Purpose of a trial within its run. Names are words for tables.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Purpose {
        /// Trial as a step of the search for the highest rate.
        #[default]
        Search = "search",
        /// Longer trial that confirms the rate that the search found.
        Confirm = "confirm",
        /// Trial for a point of the load curve (completed over offered rate).
        Curve = "curve",
        /// Trial for a step of a ramp of rising rates, which are equal for every server.
        Ramp = "ramp",
        /// Trial of constant load under which the server is profiled; it enters no figure.
        Profile = "profile",
        /// Trial with clients that come all at once: as many as the highest rate would serve in the
        /// plan's time.
        Avalanche = "avalanche",
        /// Trial near the server's highest rate (a block), measured in turn with the same trial of
        /// the other servers.
        Pair = "pair",
        /// Trial of constant load, in whose middle the lab stops the server's database in order and
        /// starts it again.
        DatabaseStop = "database stopped",
        /// Trial of constant load, in whose middle the lab kills the server's database and starts
        /// it again.
        DatabaseKill = "database killed",
        /// Trial of constant load, in whose middle the server's address pool is used up; it enters
        /// no figure.
        Exhaustion = "pool exhausted",
    }
}

impl Purpose {
    /// Returns true if the lab ends the server's database in the middle of the trial.
    pub const fn ends_database(self) -> bool {
        matches!(self, Self::DatabaseStop | Self::DatabaseKill)
    }

    /// Returns true if the trial's load shows how much of an offered rate a server completes.
    pub const fn is_at_a_rate(self) -> bool {
        !matches!(self, Self::Profile | Self::Avalanche | Self::Exhaustion)
    }
}

/// Record of one trial. The lab writes one per trial folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TrialRecord {
    /// Name of the trial record's JSON schema, [`TRIAL_SCHEMA`].
    pub schema: String,
    /// Position of the trial in the run, from 0; unique.
    pub number: u32,
    /// Name of the server in the plan, e.g. `kea`; [`LIMIT_SERVER`] for the limit responder, a
    /// program that returns every datagram.
    pub server: String,
    /// Variant of the server, which is the way in which it was run, e.g. `multi-threaded` or
    /// `durability always`; empty when there is only one.
    pub variant: String,
    /// Purpose of the trial within its run.
    pub purpose: Purpose,
    /// Number of the trial's round, from 0: trials of different servers in the same round make a
    /// pair.
    pub round: u32,
    /// Rate at which the generator was to offer exchanges, per second.
    pub rate_per_s: f64,
    /// Seed of the generator in the trial.
    pub seed: u64,
    /// Seconds for which the lab waited before the trial, until the server had processed the
    /// messages of earlier trials.
    pub wait_s: f64,
    /// Due time of the trial's first exchange, in seconds since the run began.
    pub start_s: f64,
    /// End of the trial's wait for late answers, in seconds since the run began.
    pub end_s: f64,
    /// Begin of the timeline of `load`, in seconds since the run began, if there is a timeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline_s: Option<f64>,
    /// Exact command lines of the trial: role (`server`, `generator`) to words as a shell would
    /// take them.
    pub commands: BTreeMap<String, String>,
    /// Numbers of the processors that the lab gave to the server; empty when they are not this
    /// machine's, and the server's use of them is unknown.
    pub server_cpus: Vec<u32>,
    /// Numbers of the processors that the lab gave to the generator.
    pub generator_cpus: Vec<u32>,
    /// Record that the generator wrote of the trial; `None` when it left nothing.
    pub load: Option<LoadRecord>,
    /// Digest of the trial's samples of the machine.
    pub digest: SampleDigest,
    /// Samples of the machine during the trial; empty when they are kept in a file of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<MachineSample>,
    /// Median time that the disk took to flush a small append, in microseconds, measured at most a
    /// minute before the trial; 0 when unknown.
    pub flush_us: f64,
    /// Counts of the requests for the server's statistics during the trial, if the plan has such
    /// requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polls: Option<Polls>,
    /// Profile of the server's functions, if that was the trial's purpose and the server's
    /// processes were visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Times at which the server's database was ended and started again, if that was the trial's
    /// purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<RestartTimes>,
    /// Size of the server's address pool, if the trial was to use it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exhaustion: Option<Exhaustion>,
    /// Queues in which messages waited during the trial, if the plan varies receive buffers or
    /// queueing disciplines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    /// Reasons why the trial is void; empty when it counts.
    pub void: Vec<VoidReason>,
    /// Raw files of the trial, relative to the result folder.
    pub files: Vec<String>,
}

impl TrialRecord {
    /// Returns true if the lab saw the server's use of the machine: its processors, its memory, its
    /// sockets.
    pub const fn has_server_usage(&self) -> bool {
        !self.server_cpus.is_empty()
    }

    /// Returns true if the trial is void, which means it says nothing about the server.
    pub fn is_void(&self) -> bool {
        !self.void.is_empty() || self.load.is_none()
    }

    /// Returns the exchanges per second that the server carried in the trial
    /// ([`ExchangeCounts::carried`](super::ExchangeCounts::carried)); 0 without a load record.
    pub fn achieved_per_s(&self) -> f64 {
        self.load.as_ref().map_or(0.0, |load| load.completed_per_s)
    }

    /// Returns the share of the trial's exchanges that were not completed on time, or were queued
    /// too long, 0 to 1; 1 without a load record
    /// ([`ExchangeCounts::shortfall`](super::ExchangeCounts::shortfall)).
    #[must_use]
    pub fn shortfall(&self) -> f64 {
        self.load.as_ref().map_or(1.0, |load| load.exchanges.shortfall())
    }

    /// Returns the share of the trial's exchanges that were on time but queued too long, 0 to 1: a
    /// part of the shortfall.
    pub fn queued_too_long_share(&self) -> f64 {
        self.load.as_ref().map_or(0.0, |load| load.exchanges.queued_too_long_share())
    }

    /// Returns true if the trial meets the plan's criterion: its shortfall (share of exchanges not
    /// carried) is at most `loss_percent`, and it is not void.
    pub fn meets(&self, loss_percent: f64) -> bool {
        !self.is_void() && self.shortfall() * 100.0 <= loss_percent
    }

    /// Returns the exchanges carried per processor second of the server; `None` when unknown.
    pub fn leases_per_cpu_s(&self) -> Option<f64> {
        let load = self.load.as_ref()?;
        (self.digest.server_cpu_s > 0.0)
            .then(|| load.exchanges.carried() as f64 / self.digest.server_cpu_s)
    }

    /// Returns the exchanges carried in the trial per busy second of the generator's processor.
    pub fn exchanges_per_generator_cpu_s(&self) -> Option<f64> {
        let load = self.load.as_ref()?;
        (self.digest.generator_cpu_s > 0.0)
            .then(|| load.exchanges.carried() as f64 / self.digest.generator_cpu_s)
    }
}

/// End of a search for a server's highest rate, as stored in the run's record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchEnd {
    /// Name of the server whose highest rate was searched.
    pub server: String,
    /// Variant of the server (the way in which it was run, such as `multi-threaded`) whose highest
    /// rate was searched.
    pub variant: String,
    /// Number of the search's round, from 0.
    pub round: u32,
    /// Rate offered in the trial that confirmed the search's result, in exchanges per second;
    /// `None` when none did.
    pub rate_per_s: Option<f64>,
    /// Reason why the search did not try higher rates.
    pub stop: SearchStopReason,
}

/// Record of a run: the data that all its trials have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunRecord {
    /// Name of the run record's JSON schema, [`RUN_SCHEMA`].
    pub schema: String,
    /// Plan as it was run, overrides of the command line included.
    pub plan: Plan,
    /// Begin of the run, in the format of RFC 3339 with offset.
    pub started: String,
    /// Length of the run, in seconds, from its beginning to the end of its last trial.
    pub duration_s: f64,
    /// Environment of the run: machine and software.
    pub environment: Environment,
    /// Ends of all searches for highest rates that were not cut short, in the order of the run.
    pub searches: Vec<SearchEnd>,
    /// Costs of flushes to the disks, in the order of the run.
    pub flushes: Vec<FlushCost>,
    /// Time and memory of each server's first start in the run.
    pub starts: Vec<Start>,
    /// True if the user ended the run before all its trials were done.
    pub is_interrupted: bool,
    /// Command lines of the run that belong to no trial: the lab's own first, then set-up.
    pub commands: Vec<String>,
    /// Warnings that the reader must know before believing the run's figures.
    pub warnings: Vec<String>,
    /// Raw files of the run that belong to no trial, relative to the result folder.
    pub files: Vec<String>,
}

/// Time and memory of a server's first start in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Start {
    /// Name of the server that was started.
    pub server: String,
    /// Variant of the server that was started: the way in which it was run, such as
    /// `multi-threaded`.
    pub variant: String,
    /// Time from the start of the server's process until it answered a client, which sends a
    /// request every 50 ms, in seconds.
    pub took_s: f64,
    /// Resident memory of the server when it first answered, in bytes; 0 when unknown.
    pub rss_bytes: u64,
}

/// Cost at one moment of flushing a small append to the disk (`fdatasync`), which a durable lease
/// store pays for each of its commits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FlushCost {
    /// Time at which the flushes were measured, in seconds since the run began.
    pub at_s: f64,
    /// Name of the disk that was flushed: `results`, which has the lease files, or `databases`, if
    /// that is another one.
    pub disk: String,
    /// Number of appends that were flushed one by one.
    pub count: u32,
    /// Shortest flush of an append, in microseconds.
    pub min_us: f64,
    /// Median flush of an append, in microseconds.
    pub median_us: f64,
    /// Longest flush of an append, in microseconds.
    pub max_us: f64,
}

/// Machine and software that a run used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    /// Distribution of the machine's operating system, e.g. `Debian GNU/Linux 12`.
    pub os: String,
    /// Release of the machine's kernel.
    pub kernel: String,
    /// Model of the machine's processors.
    pub cpu_model: String,
    /// Number of the machine's processors that are online.
    pub cpus: u32,
    /// Memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// Hypervisor of the machine; empty when none is known.
    pub virtualization: String,
    /// Connection between server and generator in the run: `veth`, `loopback` or [`NETWORK`].
    pub topology: String,
    /// Version of Godwit that did the run.
    pub godwit: String,
    /// Commit that Godwit was built from; empty when the build did not know.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Name of the Cargo profile that Godwit was built with; empty if the run does not report it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// Versions of the servers measured: the name of each, and the version that it reports.
    pub servers: BTreeMap<String, String>,
    /// Kernel settings that matter for figures, name to value, e.g. `net.core.rmem_max`.
    pub settings: BTreeMap<String, String>,
}
