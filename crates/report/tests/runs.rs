//! Tests of plans with several runs in the simulated lab, whose truth is known: nine values, their
//! mean without the best and the worst, and the treatment of unfinished runs.

use crate::simulated::{Lab, MODELS, ServerFault, full_plan};
use measure::plan::{DroppedRuns, UnconfirmedRunRule};
use measure::record::{LIMIT_SERVER, Purpose, RunRecord, TrialRecord};
use measure::summary::{DroppedAs, RunFigure, RunState, RunSummary, ServerResult, digest};

/// Measures Godwit and Kea nine times in the simulated lab, with these faults of servers in some
/// runs.
fn measured(mishaps: &[(&'static str, u32, ServerFault)]) -> (Lab, RunSummary) {
    let mut lab = Lab::new(full_plan());
    lab.plan.curve.fractions = Vec::new();
    lab.mishaps = mishaps.to_vec();
    lab.measure(&[MODELS[0], MODELS[1], MODELS[4]]);
    let summary = digest(&lab.run(), &lab.trials);
    (lab, summary)
}

fn states(result: &ServerResult) -> Vec<RunState> {
    result.runs.iter().map(|run| run.state).collect()
}

fn counted(result: &ServerResult) -> Vec<f64> {
    let is_counted = |run: &&RunFigure| run.dropped.is_none();
    result.runs.iter().filter(is_counted).filter_map(|run| run.counts_as).collect()
}

fn within(got: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&got), "{got} is not from {low} to {high}");
}

#[test]
fn nine_values_are_kept_and_the_mean_is_of_seven() {
    let (lab, summary) = measured(&[("godwit-none", 3, ServerFault::Slowed(0.5))]);
    assert_eq!((summary.runs_done, summary.results.len()), (9, 2));
    let godwit = &summary.results[0];
    assert_eq!(states(godwit), [RunState::Confirmed; 9]);
    for (index, run) in godwit.runs.iter().enumerate() {
        assert_eq!(run.run as usize, index);
        let confirmed = lab.trials.iter().find(|trial| {
            trial.server == "godwit-none"
                && trial.round == run.run
                && trial.purpose == Purpose::Confirm
                && trial.meets(2.5)
        });
        assert_eq!(run.leases_per_s, confirmed.map(TrialRecord::achieved_per_s));
        assert_eq!(run.counts_as, run.leases_per_s);
        assert!(run.leases_per_cpu_s.is_some());
    }
    assert_eq!(godwit.runs[3].dropped, Some(DroppedAs::Worst));
    assert_eq!(godwit.runs.iter().filter(|r| r.dropped == Some(DroppedAs::Best)).count(), 1);
    let (counted, mean) = (counted(godwit), godwit.mean.unwrap());
    assert_eq!((counted.len(), mean.values, mean.dropped, mean.freedom), (7, 9, 1, 6));
    within(mean.mean / (counted.iter().sum::<f64>() / 7.0), 1.0 - 1e-12, 1.0 + 1e-12);
    assert_eq!(godwit.leases_per_s, Some(mean.mean));
    // The found rate was met, so it is a few percent below the capacity, which drifts by 4 %.
    within(mean.mean, 182_000.0 * 0.9, 182_000.0 * 1.03);
    assert!(mean.low < mean.mean && mean.mean < mean.high);
    assert!(!godwit.is_at_least);
    let ratio = summary.ratios[0].leases_per_s.unwrap();
    assert_eq!(ratio.pairs, 9);
    assert!(ratio.low < 182.0 / 14.2 && 182.0 / 14.2 < ratio.high, "{ratio:?}");
    let limit = summary.limit.unwrap();
    assert_eq!((limit.runs.len(), limit.mean.unwrap().mean), (9, limit.leases_per_s));
    assert_eq!(summary.warnings, Vec::<String>::new());
}

#[test]
fn runs_do_not_all_try_the_same_rates() {
    let (_, summary) = measured(&[]);
    let mut offered: Vec<u64> =
        summary.results[1].runs.iter().map(|run| run.offered_per_s as u64).collect();
    offered.sort_unstable();
    offered.dedup();
    assert!(offered.len() >= 8, "{offered:?}");
}

#[test]
fn a_run_that_fails_counts_as_nothing_and_is_not_forgotten() {
    let (_, summary) = measured(&[("kea", 2, ServerFault::Fails)]);
    let kea = &summary.results[1];
    assert_eq!(kea.runs[2].state, RunState::Failed);
    assert_eq!((kea.runs[2].leases_per_s, kea.runs[2].counts_as), (None, Some(0.0)));
    assert_eq!(kea.runs[2].dropped, Some(DroppedAs::Worst));
    assert_eq!((kea.mean.unwrap().values, counted(kea).len()), (9, 7));
    let ratio = summary.ratios[0].leases_per_s.unwrap();
    assert!(ratio.pairs == 9 && ratio.high.is_finite(), "{ratio:?}");
    let warning_expected =
        "kea: run 3: confirmed no rate, because the server missed every one; counted as 0.";
    assert!(summary.warnings.iter().any(|w| w == warning_expected), "{:?}", summary.warnings);

    let (_, before) = measured(&[]);
    let twice = [("kea", 2, ServerFault::Fails), ("kea", 5, ServerFault::Fails)];
    let (_, summary) = measured(&twice);
    let (kea, whole) = (&summary.results[1], &before.results[1]);
    within(kea.leases_per_s.unwrap() / whole.leases_per_s.unwrap(), 0.83, 0.88);
    let mean = kea.mean.unwrap();
    assert!(mean.low < 0.5 * mean.mean, "an interval that says what it does not know: {mean:?}");
    assert_eq!(summary.ratios[0].leases_per_s, None, "two of nine pairs are out of all bounds");
}

#[test]
fn void_runs_are_counted_and_enter_no_figure() {
    let (_, summary) = measured(&[("kea", 4, ServerFault::Void), ("kea", 6, ServerFault::Void)]);
    let kea = &summary.results[1];
    assert_eq!((kea.runs[4].state, kea.runs[6].state), (RunState::Void, RunState::Void));
    assert!(kea.runs[4].is_void() && kea.runs[4].dropped.is_none());
    let mean = kea.mean.unwrap();
    assert_eq!((mean.values, mean.freedom), (7, 4));
    assert_eq!(summary.ratios[0].leases_per_s.unwrap().pairs, 7);
    let warning_expected = "kea: 7 of 9 runs count, the others are void.";
    assert!(summary.warnings.iter().any(|w| w == warning_expected), "{:?}", summary.warnings);
    assert!(summary.warnings.iter().any(|w| w.starts_with("kea: runs 5, 7: says nothing")));
}

#[test]
fn a_run_never_seen_to_fail_is_a_lower_bound_or_void_as_the_plan_says() {
    let (lab, summary) = measured(&[("godwit-none", 1, ServerFault::Blinded)]);
    let godwit = &summary.results[0];
    assert_eq!(godwit.runs[1].state, RunState::AtLeast);
    assert_eq!(godwit.runs[1].dropped, Some(DroppedAs::Worst));
    assert!(godwit.is_at_least && summary.ratios[0].is_at_least);

    let mut run: RunRecord = lab.run();
    run.plan.runs.unconfirmed = UnconfirmedRunRule::Void;
    let void = digest(&run, &lab.trials);
    let godwit = &void.results[0];
    assert_eq!((godwit.runs[1].state, godwit.runs[1].counts_as), (RunState::AtLeast, None));
    assert!(godwit.runs[1].leases_per_s.is_some(), "the raw value stays");
    assert_eq!(godwit.mean.unwrap().values, 8);
    assert!(!godwit.is_at_least);
    assert!(
        void.warnings
            .iter()
            .any(|w| w.contains("did not see the server miss") && w.ends_with("void."))
    );
}

#[test]
fn nothing_is_better_than_the_truth() {
    // Under the rule of lower bounds, the mean with any mishap is not above the one without.
    let (_, clean) = measured(&[]);
    let best = clean.results[1].leases_per_s.unwrap();
    for mishap in [ServerFault::Fails, ServerFault::Blinded, ServerFault::Slowed(0.7)] {
        for runs in 1..=4 {
            let mishaps: Vec<_> = (0..runs).map(|run| ("kea", run * 2, mishap)).collect();
            let (_, summary) = measured(&mishaps);
            let got = summary.results[1].leases_per_s.unwrap_or(0.0);
            // Other trials draw other noise afterwards: a few percent either way.
            assert!(got < best * 1.03, "{got} after {runs} mishaps, {best} without");
        }
    }
}

#[test]
fn an_interrupted_run_keeps_what_is_done_and_says_so() {
    let (lab, whole) = measured(&[]);
    // Cut in the middle of the sixth run, after Godwit's search and before Kea's ended.
    let cut = |run: &mut RunRecord, trials: &mut Vec<TrialRecord>, servers_done: &[&str]| {
        run.searches.retain(|end| {
            end.round < 5 || end.round == 5 && servers_done.contains(&end.server.as_str())
        });
        trials.retain(|trial| {
            trial.round < 5
                || trial.round == 5
                    && (servers_done.contains(&trial.server.as_str())
                        || trial.purpose == Purpose::Search)
        });
        run.is_interrupted = true;
    };
    let (mut run, mut trials) = (lab.run(), lab.trials.clone());
    cut(&mut run, &mut trials, &["godwit-none"]);
    let summary = digest(&run, &trials);
    assert_eq!(summary.runs_done, 5);
    assert_eq!(summary.results[0].runs.len(), 6);
    assert_eq!(summary.results[1].runs, whole.results[1].first_runs(5), "not void: undone");
    assert_eq!(summary.results[1].mean.unwrap().values, 5);
    assert_eq!(summary.ratios[0].leases_per_s.unwrap().pairs, 5);
    assert_eq!(summary.warnings[0], "5 of 9 runs were done; the figures come from these.");

    run.searches.retain(|end| end.round < 2);
    trials.retain(|trial| trial.round < 2);
    let summary = digest(&run, &trials);
    let mean = summary.results[0].mean.unwrap();
    assert_eq!((mean.values, mean.dropped, mean.freedom), (2, 0, 0));
    let least =
        summary.results[0].runs.iter().filter_map(|run| run.counts_as).fold(f64::MAX, f64::min);
    assert_eq!(mean.mean, least, "of two the lower one, never a mean that flatters");
}

/// Access to the first runs of a server, with the best and the worst of them marked.
trait FirstRuns {
    fn first_runs(&self, count: usize) -> Vec<RunFigure>;
}

impl FirstRuns for ServerResult {
    fn first_runs(&self, count: usize) -> Vec<RunFigure> {
        let mut runs = self.runs[..count].to_vec();
        let value = |run: &RunFigure| run.counts_as.unwrap_or(0.0);
        let best = (0..count).max_by(|&a, &b| value(&runs[a]).total_cmp(&value(&runs[b])));
        let worst = (0..count).min_by(|&a, &b| value(&runs[a]).total_cmp(&value(&runs[b])));
        for (index, run) in runs.iter_mut().enumerate() {
            run.dropped = match index {
                _ if Some(index) == best => Some(DroppedAs::Best),
                _ if Some(index) == worst => Some(DroppedAs::Worst),
                _ => None,
            };
        }
        runs
    }
}

#[test]
fn without_dropping_all_nine_are_in_the_mean() {
    let (lab, _) = measured(&[]);
    let mut run = lab.run();
    run.plan.runs.drop = DroppedRuns::None;
    let summary = digest(&run, &lab.trials);
    let godwit = &summary.results[0];
    assert!(godwit.runs.iter().all(|run| run.dropped.is_none()));
    assert_eq!((godwit.mean.unwrap().freedom, counted(godwit).len()), (8, 9));
}

#[test]
fn the_limit_responder_is_no_server() {
    let (_, summary) = measured(&[]);
    assert!(summary.results.iter().all(|result| result.server != LIMIT_SERVER));
}
