//! What somebody was told who asked a server for its statistics while it was loaded.

use serde::{Deserialize, Serialize};

/// Questions for all statistics during one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Polls {
    /// Questions that were to be asked: one for each tenth of a second begun.
    pub due: u64,
    /// Questions that were answered with success.
    pub answered: u64,
    /// Octets of all those answers.
    pub octets: u64,
    /// Seconds from the question to the whole answer, at most.
    pub longest_s: f64,
}

impl Polls {
    /// Adds the questions of another trial.
    pub fn add(&mut self, other: Self) {
        self.due += other.due;
        self.answered += other.answered;
        self.octets += other.octets;
        self.longest_s = self.longest_s.max(other.longest_s);
    }
}
