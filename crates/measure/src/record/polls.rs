//! Requests for a server's statistics while it was loaded.

use serde::{Deserialize, Serialize};

/// Requests for all statistics during one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Polls {
    /// Requests that were due: one for each tenth of a second begun.
    pub due: u64,
    /// Requests that the server answered with success.
    pub answered: u64,
    /// Bytes of all those answers.
    pub octets: u64,
    /// Longest time from a request to its whole answer, in seconds.
    pub longest_s: f64,
}

impl Polls {
    /// Adds the requests of another trial.
    pub fn add(&mut self, other: Self) {
        self.due += other.due;
        self.answered += other.answered;
        self.octets += other.octets;
        self.longest_s = self.longest_s.max(other.longest_s);
    }
}
