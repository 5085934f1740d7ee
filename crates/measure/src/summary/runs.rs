//! Runs of a server: whole measurements done several times, of which the best and the worst may be
//! dropped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RoundResult;
use crate::plan::{Plan, UnconfirmedRunRule};
use crate::record::SearchEnd;
use crate::search::SearchStopReason;
use crate::statistics::{LEAST_TO_DROP, MeanInterval, trimmed_interval};

base::worded! {
    /// State of one run of one server: how its search for the highest rate ended.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum RunState {
        /// A rate was confirmed in the run, and the server missed more exchanges than the plan's
        /// criterion allows at a higher rate.
        Confirmed = "confirmed",
        /// A rate was confirmed in the run, but the server never missed the plan's criterion above
        /// it: the plan, the generator or the time ended the search.
        AtLeast = "at least: no higher rate was seen to fail",
        /// The server missed every rate that the run's search tried to confirm.
        Failed = "failed: no rate could be confirmed",
        /// The run has no known result: trials were void, or the time was up before a rate was
        /// confirmed.
        #[default]
        Void = "void: no result",
    }
}

base::recorded! {
    /// End of the order of runs by rate at which a run was dropped from the mean.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum DroppedAs {
        /// Run dropped from the mean as the best.
        Best = "best",
        /// Run dropped from the mean as the worst.
        Worst = "worst",
    }
}

/// Figures of one run of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunFigure {
    /// Number of the run, from 0; runs of different servers with the same number make a pair.
    pub run: u32,
    /// State of the run: how its search for the highest rate ended.
    pub state: RunState,
    /// Rate offered in the run's confirming trial, in exchanges per second; 0 when none was
    /// confirmed.
    pub offered_per_s: f64,
    /// Rate achieved in the run's confirming trial, in exchanges per second; `None` when none was
    /// confirmed.
    pub leases_per_s: Option<f64>,
    /// Rate that the run has in the mean by the plan's rule, in exchanges per second; `None` when
    /// the run is void.
    pub counts_as: Option<f64>,
    /// Leases per processor second of the server near the run's highest rate.
    pub leases_per_cpu_s: Option<f64>,
    /// End at which the run was dropped before the mean was computed; `None` when it was not.
    pub dropped: Option<DroppedAs>,
}

impl RunFigure {
    /// Returns true if the run is void, and therefore in no figure.
    pub const fn is_void(&self) -> bool {
        self.counts_as.is_none()
    }
}

/// Returns the finished runs of one server, ascending by number, and the mean of their rates.
pub(super) fn runs(
    plan: &Plan,
    searches: &[&SearchEnd],
    rounds: &[RoundResult],
) -> (Vec<RunFigure>, Option<MeanInterval>) {
    let mut runs: Vec<RunFigure> = searches
        .iter()
        .map(|end| {
            let round = rounds.iter().find(|round| round.round == end.round);
            run(plan.runs.unconfirmed, end, round)
        })
        .collect();
    runs.sort_by_key(|run| run.run);
    let at_each_end = plan.runs.drop.at_each_end();
    let counted: Vec<f64> = runs.iter().filter_map(|run| run.counts_as).collect();
    if at_each_end > 0 && counted.len() >= LEAST_TO_DROP {
        mark_dropped(&mut runs, at_each_end);
    }
    let mean = trimmed_interval(&counted, at_each_end);
    // A rate below 0 does not exist: the interval ends there.
    (runs, mean.map(|mean| MeanInterval { low: mean.low.max(0.0), ..mean }))
}

fn run(unconfirmed: UnconfirmedRunRule, end: &SearchEnd, round: Option<&RoundResult>) -> RunFigure {
    let state = match (round, end.stop) {
        (Some(_), SearchStopReason::Server) => RunState::Confirmed,
        (Some(_), _) => RunState::AtLeast,
        (None, SearchStopReason::Unconfirmed | SearchStopReason::EveryRate) => RunState::Failed,
        (None, _) => RunState::Void,
    };
    let leases_per_s = round.map(|round| round.leases_per_s);
    let counts_as = match (state, unconfirmed) {
        (RunState::Confirmed, _) | (RunState::AtLeast, UnconfirmedRunRule::LowerBound) => {
            leases_per_s
        }
        (RunState::Failed, UnconfirmedRunRule::LowerBound) => Some(0.0),
        (RunState::Void, _) | (_, UnconfirmedRunRule::Void) => None,
    };
    RunFigure {
        run: end.round,
        state,
        offered_per_s: round.map_or(0.0, |round| round.offered_per_s),
        leases_per_s,
        counts_as,
        leases_per_cpu_s: round.and_then(|round| round.leases_per_cpu_s),
        dropped: None,
    }
}

/// Marks the dropped runs at both ends of the order of rates; of equal ones the earlier is the
/// worse.
fn mark_dropped(runs: &mut [RunFigure], at_each_end: usize) {
    let mut counted: Vec<(f64, usize)> =
        runs.iter().enumerate().filter_map(|(index, run)| Some((run.counts_as?, index))).collect();
    counted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for &(_, index) in &counted[..at_each_end] {
        runs[index].dropped = Some(DroppedAs::Worst);
    }
    for &(_, index) in &counted[counted.len() - at_each_end..] {
        runs[index].dropped = Some(DroppedAs::Best);
    }
}

/// Returns the mean of the runs' leases per processor second, those of void runs left out.
pub(super) fn per_cpu(plan: &Plan, runs: &[RunFigure]) -> Option<MeanInterval> {
    let figures: Vec<f64> =
        runs.iter().filter(|run| !run.is_void()).filter_map(|run| run.leases_per_cpu_s).collect();
    trimmed_interval(&figures, plan.runs.drop.at_each_end())
        .map(|mean| MeanInterval { low: mean.low.max(0.0), ..mean })
}

/// Returns true if the mean of `runs` may be larger because it contains a run that is a lower
/// bound. A run dropped as the best would also have been dropped with any larger figure.
pub(super) fn is_at_least(runs: &[RunFigure]) -> bool {
    let open = |run: &&RunFigure| run.state == RunState::AtLeast && !run.is_void();
    runs.iter().filter(open).any(|run| run.dropped != Some(DroppedAs::Best))
}

/// Adds the warnings about the runs of `server` to `warnings`.
pub(super) fn warnings(server: &str, runs: &[RunFigure], warnings: &mut Vec<String>) {
    let numbers = |state: RunState| -> Vec<String> {
        let of_state = runs.iter().filter(|run| run.state == state);
        of_state.map(|run| (run.run + 1).to_string()).collect()
    };
    let counted = runs.iter().filter(|run| !run.is_void()).count();
    for (state, what) in [
        (RunState::Failed, "confirmed no rate, because the server missed every one"),
        (RunState::AtLeast, "did not see the server miss the criterion"),
        (RunState::Void, "says nothing about the server"),
    ] {
        let numbers = numbers(state);
        if numbers.is_empty() {
            continue;
        }
        let is_counted = runs.iter().any(|run| run.state == state && !run.is_void());
        let counts = match state {
            _ if !is_counted => "void".to_owned(),
            RunState::Failed => "counted as 0".to_owned(),
            _ => "counted with what was confirmed, a lower bound".to_owned(),
        };
        let (word, numbers) = (if numbers.len() == 1 { "run" } else { "runs" }, numbers.join(", "));
        warnings.push(format!("{server}: {word} {numbers}: {what}; {counts}."));
    }
    if counted < runs.len() {
        warnings.push(format!(
            "{server}: {counted} of {} runs count, the others are void.",
            runs.len()
        ));
    }
}
