//! One trial: one server, one offered rate, a few seconds; and the run that trials belong to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Exhaustion, LoadRecord, Polls, Queues, Restart, Sample, SampleDigest, VoidReason};
use crate::plan::Plan;
use crate::profile::Profile;
use crate::search::Stop;

/// Value of `schema` in a [`Trial`].
pub const TRIAL_SCHEMA: &str = "godwit.trial.v1";
/// Value of `schema` in a [`Run`].
pub const RUN_SCHEMA: &str = "godwit.run.v1";
/// Topology of an [`Environment`] whose server ran already, somewhere on the network.
pub const NETWORK: &str = "network";
/// Name of the plain responder that marks what kernel and generator can do at most.
pub const LIMIT_SERVER: &str = "limit";

/// What a trial is for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A step of the search for the highest rate.
    #[default]
    Search,
    /// The longer trial at the rate that the search found.
    Confirm,
    /// A point of the load curve.
    Curve,
    /// A step of a ramp: a rate that is the same for every server.
    Ramp,
    /// Constant load under which the server is profiled; it enters no figure.
    Profile,
    /// As many clients at once as the highest rate would serve in so many seconds.
    Avalanche,
    /// A block at a fixed rate, taken in turn with the same block of the other servers.
    Pair,
    /// Constant load, in whose middle the server's database is ended in order and started again.
    DatabaseStop,
    /// The same with a database that is killed.
    DatabaseKill,
    /// Constant load, in whose middle the pool is used up; it enters no figure.
    Exhaustion,
}

impl Purpose {
    /// True when the server's database is ended in the middle of the trial.
    #[must_use]
    pub const fn ends_database(self) -> bool {
        matches!(self, Self::DatabaseStop | Self::DatabaseKill)
    }

    /// Whether it is load that tells what a server can do at a rate.
    #[must_use]
    pub const fn is_at_a_rate(self) -> bool {
        !matches!(self, Self::Profile | Self::Avalanche | Self::Exhaustion)
    }

    /// One word for a table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Confirm => "confirm",
            Self::Curve => "curve",
            Self::Ramp => "ramp",
            Self::Profile => "profile",
            Self::Avalanche => "avalanche",
            Self::Pair => "pair",
            Self::DatabaseStop => "database stopped",
            Self::DatabaseKill => "database killed",
            Self::Exhaustion => "pool exhausted",
        }
    }
}

/// Everything known about one trial. The lab writes one per trial folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trial {
    /// [`TRIAL_SCHEMA`].
    pub schema: String,
    /// Position in the run, from 0; unique.
    pub number: u32,
    /// The server's name in the plan, e.g. `kea`; [`LIMIT_SERVER`] for the limit responder.
    pub server: String,
    /// Which way of running it, e.g. `multi-threaded` or `durability always`; empty when there is
    /// only one.
    pub variant: String,
    /// What it is for.
    pub purpose: Purpose,
    /// Which time around, from 0: trials of different servers in the same round make a pair.
    pub round: u32,
    /// Exchanges per second that were to be offered.
    pub rate_per_s: f64,
    /// Seed of the generator.
    pub seed: u64,
    /// Seconds that were spent before on waiting until the server had worked off what earlier trials
    /// had left.
    pub wait_s: f64,
    /// Seconds since the run began when the first exchange was due.
    pub start_s: f64,
    /// Seconds since the run began when the drain had ended.
    pub end_s: f64,
    /// Seconds since the run began when the time line of `load` begins, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline_s: Option<f64>,
    /// The exact command lines, role (`server`, `generator`) to words as a shell would take them.
    pub commands: BTreeMap<String, String>,
    /// Processors that the server was given; empty when they are not this machine's, and nothing is
    /// known of what the server used.
    pub server_cpus: Vec<u32>,
    /// Processors that the generator was given.
    pub generator_cpus: Vec<u32>,
    /// What the generator reported; `None` when it left nothing.
    pub load: Option<LoadRecord>,
    /// The samples in a few figures.
    pub digest: SampleDigest,
    /// The sample stream. May be left out where it is kept in a file of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// Microseconds that the disk took to flush a small append, median, measured at most a minute
    /// before; 0 when it is not known.
    pub flush_us: f64,
    /// What came of asking for statistics, where the plan does that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polls: Option<Polls>,
    /// Where the server's time went, where that was the purpose and it could be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// When the server's database was ended and started again, where that was the purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// The pool, where it was to run out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exhaustion: Option<Exhaustion>,
    /// Where messages waited, where that is what the plan is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    /// Why the trial is void; empty when it counts.
    pub void: Vec<VoidReason>,
    /// Raw files of the trial, relative to the result folder.
    pub files: Vec<String>,
}

impl Trial {
    /// Whether what the server used was seen: its processors, its memory, its sockets.
    #[must_use]
    pub const fn sees_server(&self) -> bool {
        !self.server_cpus.is_empty()
    }

    /// True when the trial says nothing about the server.
    #[must_use]
    pub fn is_void(&self) -> bool {
        !self.void.is_empty() || self.load.is_none()
    }

    /// Exchanges per second that were carried
    /// ([`ExchangeCounts::carried`](super::ExchangeCounts::carried)); 0 without a record.
    #[must_use]
    pub fn achieved_per_s(&self) -> f64 {
        self.load.as_ref().map_or(0.0, |load| load.completed_per_s)
    }

    /// Share of exchanges that were not completed on time or only when the offer was long over, 0 to 1;
    /// 1 without a record ([`ExchangeCounts::shortfall`](super::ExchangeCounts::shortfall)).
    #[must_use]
    pub fn shortfall(&self) -> f64 {
        self.load.as_ref().map_or(1.0, |load| load.exchanges.shortfall())
    }

    /// Share of exchanges that waited in a queue which grew, 0 to 1: a part of the shortfall.
    #[must_use]
    pub fn behind_share(&self) -> f64 {
        self.load.as_ref().map_or(0.0, |load| load.exchanges.behind_share())
    }

    /// Whether the shortfall is at most `loss_percent`, in a trial that is not void.
    #[must_use]
    pub fn meets(&self, loss_percent: f64) -> bool {
        !self.is_void() && self.shortfall() * 100.0 <= loss_percent
    }

    /// Exchanges carried per processor second of the server; `None` when it is not known.
    #[must_use]
    pub fn leases_per_cpu_s(&self) -> Option<f64> {
        let load = self.load.as_ref()?;
        (self.digest.server_cpu_s > 0.0)
            .then(|| load.exchanges.carried() as f64 / self.digest.server_cpu_s)
    }

    /// Exchanges carried per second that the generator's processor was busy.
    #[must_use]
    pub fn exchanges_per_generator_cpu_s(&self) -> Option<f64> {
        let load = self.load.as_ref()?;
        (self.digest.generator_cpu_s > 0.0)
            .then(|| load.exchanges.carried() as f64 / self.digest.generator_cpu_s)
    }
}

/// How a search for a server's highest rate ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchEnd {
    /// The server's name in the plan.
    pub server: String,
    /// Which way of running it.
    pub variant: String,
    /// Which time around, from 0.
    pub round: u32,
    /// The rate offered in the trial that confirmed; `None` when none did.
    pub rate_per_s: Option<f64>,
    /// Why it did not go higher.
    pub stop: Stop,
}

/// What all trials of a run have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// The plan as it was run, overrides of the command line included.
    pub plan: Plan,
    /// When the run began, RFC 3339 with offset.
    pub started: String,
    /// Seconds from the beginning to the end of the last trial.
    pub duration_s: f64,
    /// Where it ran.
    pub environment: Environment,
    /// How every search ended that was not cut short, in the order of the run.
    pub searches: Vec<SearchEnd>,
    /// What flushing cost, in the order of the run.
    pub flushes: Vec<FlushCost>,
    /// How long servers took to start for the first time, in the order of the run.
    pub starts: Vec<Start>,
    /// True when the user ended the run before it was done.
    pub is_interrupted: bool,
    /// Command lines that belong to no trial: the lab's own first, then set-up.
    pub commands: Vec<String>,
    /// What the reader must know before believing the figures.
    pub warnings: Vec<String>,
    /// Raw files that belong to no trial, relative to the result folder.
    pub files: Vec<String>,
}

/// A server's first start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Start {
    /// The server.
    pub server: String,
    /// The variant.
    pub variant: String,
    /// Seconds from starting the process until it answered a client, which is asked every 50 ms.
    pub took_s: f64,
    /// Its resident memory then, bytes; 0 when unknown.
    pub rss_bytes: u64,
}

/// What it cost at one moment to have a small append on the disk, which is what a durable store
/// pays for each of its commits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlushCost {
    /// Seconds since the run began.
    pub at_s: f64,
    /// Whose disk: `results`, where lease files are, or `databases`, where that is another one.
    pub disk: String,
    /// Appends that were flushed one by one.
    pub count: u32,
    /// Shortest, microseconds.
    pub min_us: f64,
    /// Median, microseconds.
    pub median_us: f64,
    /// Longest, microseconds.
    pub max_us: f64,
}

/// The machine and the software that a run used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Distribution, e.g. `Debian GNU/Linux 12`.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Processors online.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Hypervisor, when one is known; empty otherwise.
    pub virtualization: String,
    /// How server and generator were connected: `veth`, `loopback` or [`NETWORK`].
    pub topology: String,
    /// Godwit's version.
    pub godwit: String,
    /// The commit that Godwit was built from; empty when the build did not know.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Name of the Cargo profile that Godwit was built with; empty where a run does not tell it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// Versions of the servers measured, name to what they say of themselves.
    pub servers: BTreeMap<String, String>,
    /// Kernel settings that matter, name to value, e.g. `net.core.rmem_max`.
    pub settings: BTreeMap<String, String>,
}
