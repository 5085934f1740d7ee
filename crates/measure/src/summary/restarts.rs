//! Results of clients in trials in which a database server was ended and started again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{LoadTimeline, Purpose, RestartTimes, TrialRecord};

/// Result of one restart trial, in whose middle a database server was ended and started again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RestartResult {
    /// Name of the server whose database was restarted.
    pub server: String,
    /// Variant of the server whose database was restarted: the way in which it was run, such as
    /// `multi-threaded`.
    pub variant: String,
    /// Number of the restart trial among all trials of the run.
    pub trial: u32,
    /// Purpose of the trial: whether the database server was stopped in order or killed.
    pub how: Purpose,
    /// Rate of the trial, in exchanges offered per second.
    pub offered_per_s: f64,
    /// Times at which the lab ended the database and at which it was available again.
    pub restart: RestartTimes,
    /// Time from the end of the database to the first lease that was completed after the longest
    /// silence, in seconds, exact to an interval of the timeline; `None` when no lease was
    /// completed any more.
    pub first_lease_s: Option<f64>,
    /// Number of exchanges that came due in the restart trial.
    pub due: u64,
    /// Number of exchanges that were not completed on time in the trial.
    pub missed: u64,
    /// Number of missed exchanges that came due before the database was ended by more than the
    /// deadline, or after leases were completed again.
    pub missed_apart: u64,
    /// Number of exchanges that the server refused in the restart trial.
    pub refused: u64,
    /// Number of exchanges of the restart trial that the server answered with a message that breaks
    /// the protocol, or with another client's data.
    pub wrong: u64,
    /// Number of exchanges of the restart trial that the server answered more than once.
    pub answered_again: u64,
    /// Counts of the trial's exchanges by intervals.
    pub timeline: LoadTimeline,
}

impl RestartResult {
    /// Returns the seconds for which the database was unavailable in the trial.
    pub fn outage_s(&self) -> f64 {
        self.restart.answered_at_s - self.restart.ended_at_s
    }

    /// Returns the exchanges of the restart trial that were not completed on time, divided by the
    /// offered rate: seconds of load.
    pub fn missed_s(&self) -> f64 {
        if self.offered_per_s > 0.0 { self.missed as f64 / self.offered_per_s } else { 0.0 }
    }
}

/// Returns the results of every trial in which a database server was ended.
pub(super) fn restarts(trials: &[&TrialRecord], deadline_s: f64) -> Vec<RestartResult> {
    trials.iter().filter_map(|trial| result(trial, deadline_s)).collect()
}

fn result(trial: &TrialRecord, deadline_s: f64) -> Option<RestartResult> {
    let (restart, load) = (trial.restart?, trial.load.as_ref()?);
    let timeline = load.timeline.clone()?;
    let back_s = recovery_s(&timeline, restart.ended_at_s);
    let counts = load.exchanges;
    let until_s = back_s.unwrap_or(f64::INFINITY);
    let apart = |index: usize| {
        let at_s = index as f64 * timeline.interval_s;
        at_s + timeline.interval_s < restart.ended_at_s - deadline_s || at_s > until_s
    };
    let missed = |is_in: &dyn Fn(usize) -> bool| {
        let points = timeline.points.iter().enumerate();
        points.filter(|(index, _)| is_in(*index)).map(|(_, point)| point[2]).sum()
    };
    Some(RestartResult {
        server: trial.server.clone(),
        variant: trial.variant.clone(),
        trial: trial.number,
        how: trial.purpose,
        offered_per_s: trial.rate_per_s,
        restart,
        first_lease_s: back_s.map(|back_s| back_s - restart.ended_at_s),
        due: counts.due,
        missed: missed(&|_| true),
        missed_apart: missed(&apart),
        refused: counts.nak,
        wrong: counts.invalid + counts.wrong_client,
        answered_again: counts.duplicate_answered,
        timeline,
    })
}

/// Returns the time at which leases were completed again: the end of the longest silence without
/// leases that contains the end of the database, `ended_s`, or follows it. `ended_s` itself when
/// there was no silence; `None` when the silence never ended.
fn recovery_s(timeline: &LoadTimeline, ended_s: f64) -> Option<f64> {
    let first = (ended_s / timeline.interval_s).floor().max(0.0) as usize;
    let last_due = timeline.points.iter().rposition(|point| point[0] > 0)?;
    let (mut longest, mut run) = ((0, None), 0);
    for (index, point) in timeline.points.iter().enumerate().skip(first) {
        if point[1] == 0 {
            run += 1;
            continue;
        }
        // After the last due time silence is only the end of the trial.
        if run > longest.0 && index - run <= last_due {
            longest = (run, Some(index));
        }
        run = 0;
    }
    let open = timeline.points.len() - run;
    if run > longest.0 && open + 1 < last_due {
        return None;
    }
    Some(longest.1.map_or(ended_s, |index| index as f64 * timeline.interval_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ExchangeCounts, LoadRecord};

    /// Makes a restart trial of ten exchanges per interval of 0.1 s over 3 s, none completed in the
    /// intervals `silence`.
    fn trial(silence: std::ops::Range<usize>) -> TrialRecord {
        let mut points = vec![[10, 10, 0]; 30];
        for point in &mut points[silence.clone()] {
            (point[1], point[2]) = (0, 10);
        }
        points.extend([[0; 3]; 5]);
        let missed: u64 = points.iter().map(|point| point[2]).sum();
        TrialRecord {
            rate_per_s: 100.0,
            restart: Some(RestartTimes { ended_at_s: 1.05, started_at_s: 1.1, answered_at_s: 1.5 }),
            load: Some(LoadRecord {
                exchanges: ExchangeCounts { due: 300, lost: missed, ..Default::default() },
                timeline: Some(LoadTimeline {
                    start_ns: 7,
                    interval_s: 0.1,
                    points,
                    ..LoadTimeline::default()
                }),
                ..LoadRecord::default()
            }),
            ..TrialRecord::default()
        }
    }

    fn first_lease_s(trial: &TrialRecord) -> Option<f64> {
        let result = result(trial, 0.2).unwrap();
        result.first_lease_s.map(|s| (s * 100.0).round() / 100.0)
    }

    #[test]
    fn the_silence_ends_with_the_first_lease() {
        let result = result(&trial(11..18), 0.2).unwrap();
        assert!((result.first_lease_s.unwrap() - 0.75).abs() < 1e-9);
        assert_eq!((result.missed, result.missed_apart), (70, 0));
        assert!((result.outage_s() - 0.45).abs() < 1e-9 && (result.missed_s() - 0.7).abs() < 1e-9);
    }

    #[test]
    fn a_restart_that_nobody_noticed_and_one_that_never_ended_are_told_apart() {
        assert_eq!(first_lease_s(&trial(0..0)), Some(0.0));
        assert_eq!(first_lease_s(&trial(11..30)), None);
    }

    #[test]
    fn what_was_missed_long_before_or_after_is_told_apart() {
        let mut spoiled = trial(11..18);
        let timeline = spoiled.load.as_mut().unwrap().timeline.as_mut().unwrap();
        for (index, missed) in [(2, 3), (9, 4), (25, 5)] {
            timeline.points[index][2] = missed;
        }
        let result = result(&spoiled, 0.2).unwrap();
        assert_eq!((result.missed, result.missed_apart), (82, 8));
    }

    #[test]
    fn trials_without_a_restart_are_none() {
        let mut without = trial(0..0);
        without.restart = None;
        assert_eq!(restarts(&[&without, &trial(11..12)], 0.2).len(), 1);
    }
}
