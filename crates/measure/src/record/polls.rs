//! Requests for a server's statistics while the server was loaded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of the requests for all statistics of a server during one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Polls {
    /// Number of statistics requests that were due: one for each tenth of a second begun.
    pub due: u64,
    /// Number of statistics requests that the server answered with success.
    pub answered: u64,
    /// Bytes of all successful answers to statistics requests.
    pub octets: u64,
    /// Longest time from a statistics request to its whole answer, in seconds.
    pub longest_s: f64,
}

impl Polls {
    /// Adds the statistics requests of another trial.
    pub fn add(&mut self, other: Self) {
        self.due += other.due;
        self.answered += other.answered;
        self.octets += other.octets;
        self.longest_s = self.longest_s.max(other.longest_s);
    }
}
