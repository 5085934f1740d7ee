//! Raw records: files that generators, samplers and the lab write before any judgment.
//!
//! Every type here is the JSON shape of a file in a result folder.

mod ledger;
mod load;
mod merge;
mod polls;
mod queues;
mod restart;
mod sample;
mod side;
mod text;
mod trial;
mod void;

pub use load::{
    ExchangeCounts, LOAD_SCHEMA, LatencySummary, LoadRecord, MessageCounts, samples_for,
};
pub use polls::Polls;
pub use queues::{Qdisc, Queues};
pub use restart::{Exhaustion, LoadTimeline, RestartTimes};
pub use sample::{CpuSample, MachineSample, SampleDigest, server_cpu_s};
pub use side::{SideCounts, TrafficCounts};
pub use trial::{
    Environment, FlushCost, LIMIT_SERVER, NETWORK, Purpose, RUN_SCHEMA, RunRecord, SearchEnd,
    Start, TRIAL_SCHEMA, TrialRecord,
};
pub use void::{VoidReason, VoidRules};
