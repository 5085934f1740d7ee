//! Events in the middle of a trial, with their times: a database server that was ended and started
//! again, an address pool that ran out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of exchanges by intervals of equal length, as the generator counted them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoadTimeline {
    /// Begin of the first interval, from which exchanges come due, in nanoseconds of the machine's
    /// monotonic clock.
    pub start_ns: u64,
    /// Length of an interval of the timeline, in seconds.
    pub interval_s: f64,
    /// Counts of exchanges, three per interval: those that came due in it, that were completed on
    /// time in it, and that came due in it and were not completed on time.
    pub points: Vec<[u64; 3]>,
    /// Counts of exchanges that the server rejected by an answer without a lease, two per interval:
    /// instead of the offer, and instead of the grant (ACK, REPLY). Empty when there was none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<[u64; 2]>,
    /// Counts of exchanges that came due in an interval and were lost, two per interval: those
    /// without an offer, and those without the grant (ACK, REPLY). Empty when there was none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<[u64; 2]>,
    /// Counts of exchanges, three per interval: those that came due in it and left, that were
    /// answered in it (also late or by a refusal), and that left and were never answered. Empty
    /// when the generator did not count them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<[u64; 3]>,
}

/// Size of the address pool that ran out in the middle of a trial by the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Exhaustion {
    /// Number of free addresses in the server's pool when the trial began.
    pub pool_size: u32,
}

/// Times at which a database server was ended and was available again, in seconds from the due time
/// of the first exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RestartTimes {
    /// Time of the lab's order to the database server to end, or of the kill of its processes, in
    /// seconds from the due time of the first exchange.
    pub ended_at_s: f64,
    /// Time at which the database server was started again, in seconds from the due time of the
    /// first exchange.
    pub started_at_s: f64,
    /// Time at which the database server answered its own client program, in seconds from the due
    /// time of the first exchange.
    pub answered_at_s: f64,
}
