//! Interface between the runner, which chooses trials, and the processes or the simulation that
//! runs them: requests for trials, and their ends.

use measure::plan::SearchPlan;
use measure::record::{Purpose, TrialRecord};

use crate::error::LabResult;
use crate::subject_id::SubjectId;

/// Request to run one trial: a load at one rate against one server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialRequest {
    /// Number of the requested trial among all trials of the run.
    pub number: u32,
    /// Subject (server, variant or limit responder) that the trial loads.
    pub subject: SubjectId,
    /// Purpose of the trial within its run.
    pub purpose: Purpose,
    /// Number of the trial's round (one search for every server), from 0.
    pub round: u32,
    /// Number of rounds in the plan of the trial.
    pub rounds: u32,
    /// Rate of the trial, in exchanges offered per second.
    pub rate_per_s: f64,
    /// Time of the trial's load, during which exchanges come due, in seconds.
    pub dwell_s: f64,
}

#[cfg(test)]
impl TrialRequest {
    /// Makes a request for the first trial of the first subject.
    pub(crate) fn for_test(rate_per_s: f64, dwell_s: f64) -> Self {
        let (subject, purpose) = (SubjectId(0), Purpose::Search);
        Self { number: 0, subject, purpose, round: 0, rounds: 1, rate_per_s, dwell_s }
    }
}

/// Time without an answer that ends a confirming trial, in seconds. An exchange that is answered
/// later was queued too long, since the generator sent its last request a second before: it is
/// missed either way.
const CONFIRM_QUIET_S: f64 = 1.0;

/// Returns the seconds without an answer after which a trial for `purpose` stops waiting for late
/// answers; `None` if it waits for the deadline.
pub(crate) fn quiet_s(search: &SearchPlan, purpose: Purpose) -> Option<f64> {
    let waits = purpose == Purpose::Exhaustion || purpose.ends_database();
    match purpose {
        _ if waits || search.quiet_s <= 0.0 => None,
        Purpose::Confirm => Some(search.quiet_s.max(CONFIRM_QUIET_S)),
        _ => Some(search.quiet_s),
    }
}

/// End of a trial: its record, or the end of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialEnd {
    /// Record of a trial that ended; the trial may be void.
    Trial(Box<TrialRecord>),
    /// Description of the end of a server that ended by itself, one sentence; no further trial of
    /// the server makes sense.
    ServerEnded(String),
}

/// Bench that runs trials for the runner: real processes, or a simulation for forecasts and tests.
pub trait TrialRunner {
    /// Returns the seconds since the run began.
    fn elapsed_s(&self) -> f64;

    /// Starts the servers of `subjects` anew, with no leases, as before their first trial.
    ///
    /// # Errors
    /// A server does not start again, or the user interrupts.
    fn start_anew(&mut self, subjects: &[SubjectId]) -> LabResult<()>;

    /// Returns true if trials can profile servers with perf, as far as is known.
    fn can_profile(&self) -> bool;

    /// Records the end of a stage of the run, by which the forecast of the remaining time is
    /// corrected.
    fn record_stage_end(&mut self, stage: RunStage);

    /// Runs the trial of `request` to its end.
    ///
    /// # Errors
    /// The run cannot go on.
    fn trial(&mut self, request: &TrialRequest) -> LabResult<TrialEnd>;
}

/// Stage of a run whose end the runner reports, such as a round or the load curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunStage {
    /// Start of the run's servers.
    Started,
    /// Round (one search for every server) of this number, from 0.
    Round(u32),
    /// Trials of the load curve, and avalanches (all clients at once).
    Curve,
    /// Trials of the ramp, at rates that rise in steps.
    Ramp,
    /// Trials in which servers are profiled.
    Profiles,
    /// Trials with restarts of database servers.
    Restarts,
    /// End of the run's last trial.
    Trials,
}
