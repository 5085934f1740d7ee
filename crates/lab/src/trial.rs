//! Trials: requests, ends, and the contract of a bench that runs them.

use measure::record::{Purpose, TrialRecord};

use crate::error::LabError;

/// Request of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialRequest {
    /// Position of the trial in the run.
    pub number: u32,
    /// Position of the subject.
    pub subject: usize,
    /// Purpose of the trial.
    pub purpose: Purpose,
    /// Number of the round, from 0.
    pub round: u32,
    /// Number of rounds in the plan.
    pub rounds: u32,
    /// Rate, in exchanges per second.
    pub rate_per_s: f64,
    /// Time during which exchanges come due, in seconds.
    pub dwell_s: f64,
}

/// Result of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialEnd {
    /// The trial ended; it may be void.
    Trial(Box<TrialRecord>),
    /// The server ended by itself; no further trial of it makes sense. The text describes the end
    /// in one sentence.
    ServerEnded(String),
}

/// Bench that runs trials.
pub trait TrialRunner {
    /// Returns the seconds since the run began.
    fn elapsed_s(&self) -> f64;

    /// Starts `subjects` (positions) anew, with no leases, as they were before their first trial.
    ///
    /// # Errors
    /// A server does not start again, or the user interrupts.
    fn start_anew(&mut self, subjects: &[usize]) -> Result<(), LabError>;

    /// Returns true if servers can be profiled, as far as is known.
    fn can_profile(&self) -> bool;

    /// Records the end of a part of the run.
    fn record_stage_end(&mut self, stage: RunStage);

    /// Runs one trial to its end.
    ///
    /// # Errors
    /// The run cannot go on.
    fn trial(&mut self, request: &TrialRequest) -> Result<TrialEnd, LabError>;
}

/// Part of a run that has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunStage {
    /// Start of the servers.
    Started,
    /// Round of this number, from 0.
    Round(u32),
    /// Load curve, avalanches included.
    Curve,
    /// Ramp.
    Ramp,
    /// Profiles.
    Profiles,
    /// Restarts of databases.
    Restarts,
    /// Trials of the whole run.
    Trials,
}
