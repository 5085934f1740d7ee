//! What was done in the middle of a trial, and what happened when: a database that was ended and started
//! again, a pool that ran out.

use serde::{Deserialize, Serialize};

/// Exchanges by intervals of equal length, as the generator counted them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadTimeline {
    /// When the first interval begins and exchanges come due, nanoseconds of the machine's monotonic
    /// clock.
    pub start_ns: u64,
    /// Length of an interval, seconds.
    pub interval_s: f64,
    /// Per interval: exchanges that came due in it, that were completed on time in it, and that came
    /// due in it and were not completed on time.
    pub points: Vec<[u64; 3]>,
    /// Per interval: exchanges that were rejected in it by an answer without a lease, in place of the
    /// offer and in place of the grant. Empty when there was none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<[u64; 2]>,
    /// Per interval: exchanges that came due in it and were lost, without an offer and without the
    /// grant. Empty when there was none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<[u64; 2]>,
    /// Per interval: exchanges that came due in it and left, that were answered in it, late or with
    /// a refusal too, and that left and were never answered. Empty when that was not counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<[u64; 3]>,
}

/// A pool that was made to run out in the middle of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Exhaustion {
    /// Addresses that there were for clients when the trial began.
    pub pool_size: u32,
}

/// When a database was ended and when it was there again. Seconds count from when the first exchange
/// was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Restart {
    /// The order to end was given, or the processes were killed.
    pub ended_at_s: f64,
    /// It was started again.
    pub started_at_s: f64,
    /// It answered its own client.
    pub answered_at_s: f64,
}
