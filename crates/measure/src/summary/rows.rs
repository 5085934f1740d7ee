//! Parts of a summary that list rather than judge: rows of trials, the timeline, command lines.

use std::collections::BTreeSet;

use super::{CommandRecord, KernelCounts, TimePoint, TrialRow, notes};
use crate::record::{MachineSample, RunRecord, TrialRecord, server_cpu_s};

/// Largest number of points in the timeline of a summary; a screen is hardly wider.
const TIME_POINTS: usize = 900;

/// Number of samples at a trial's beginning in which the generator starts.
const STARTING_SAMPLES: usize = 2;

/// Makes the row of `trial` in the table of trials.
pub(super) fn row(trial: &TrialRecord, run: &RunRecord) -> TrialRow {
    let latency = trial
        .load
        .as_ref()
        .map(|load| load.latency_due.without_unsupported_percentiles())
        .unwrap_or_default();
    TrialRow {
        number: trial.number,
        server: trial.server.clone(),
        variant: trial.variant.clone(),
        purpose: trial.purpose,
        round: trial.round,
        start_s: trial.start_s,
        end_s: trial.end_s,
        offered_per_s: trial.rate_per_s,
        achieved_per_s: trial.achieved_per_s(),
        loss: trial.shortfall(),
        behind: trial.queued_too_long_share(),
        p50_us: latency.p50_us,
        p99_us: latency.p99_us,
        server_cpu_s: trial.has_server_usage().then_some(trial.digest.server_cpu_s),
        server_load: trial.has_server_usage().then(|| thousandths(server_load(trial))),
        steal_share: trial.digest.steal_share,
        server_socket_drops: trial.has_server_usage().then_some(trial.digest.server_socket_drops),
        meets: trial.meets(run.plan.search.loss_percent),
        void: trial.void.clone(),
        kernel: KernelCounts::from_trial(trial),
        queues: trial.queues.clone(),
        notes: notes::trial_notes(trial, run),
        seed: trial.seed,
        commands: trial.commands.clone(),
    }
}

/// Returns the share of its processors that the server used while exchanges came due. The wait for
/// late answers afterwards and the generator's start are left out, because they would dilute the
/// share.
fn server_load(trial: &TrialRecord) -> f64 {
    let duration_s = trial.load.as_ref().map_or(0.0, |load| load.duration_s);
    let (from_s, until_s) = (trial.start_s, trial.start_s + duration_s);
    let within = |sample: &&MachineSample| {
        sample.at_s - sample.interval_s >= from_s
            && sample.at_s <= until_s + sample.interval_s / 2.0
    };
    let samples: Vec<&MachineSample> = trial.samples.iter().filter(within).collect();
    // The first intervals may be before the due time of the first exchange.
    let later = &samples[(samples.len() / 4).min(STARTING_SAMPLES)..];
    let cpus = later.iter().flat_map(|sample| &sample.cpus);
    let server_cpus = cpus.filter(|cpu| trial.server_cpus.contains(&cpu.cpu));
    let there_s: f64 = server_cpus.map(|cpu| cpu.busy_s + cpu.idle_s).sum();
    let used_s = server_cpu_s(later.iter().copied(), &trial.server_cpus);
    if there_s > 0.0 { used_s / there_s } else { 0.0 }
}

/// Returns the timeline of a run: the samples of all trials, neighbors of the same trial joined
/// until they can be drawn.
pub(super) fn timeline(trials: &[&TrialRecord]) -> Vec<TimePoint> {
    let total: usize = trials.iter().map(|trial| trial.samples.len()).sum();
    let joined = total.div_ceil(TIME_POINTS).max(1);
    let mut points = Vec::new();
    for trial in trials {
        points.extend(trial.samples.chunks(joined).map(|samples| join(trial, samples)));
    }
    points
}

/// Joins neighboring samples of `trial` to one point of the timeline: busy time over elapsed time,
/// the larger memory.
fn join(trial: &TrialRecord, samples: &[MachineSample]) -> TimePoint {
    let elapsed_s: f64 = samples.iter().map(|sample| sample.interval_s).sum();
    let rate = |seconds: f64| if elapsed_s > 0.0 { seconds / elapsed_s } else { 0.0 };
    let cpus = || samples.iter().flat_map(|sample| &sample.cpus);
    let busy = |cpu_numbers: &[u32]| {
        rate(cpus().filter(|cpu| cpu_numbers.contains(&cpu.cpu)).map(|cpu| cpu.busy_s).sum())
    };
    TimePoint {
        at_s: thousandths(samples.last().map_or(0.0, |sample| sample.at_s)),
        trial: trial.number,
        server_cpus_busy: trial
            .has_server_usage()
            .then(|| thousandths(rate(server_cpu_s(samples.iter(), &trial.server_cpus)))),
        generator_cpus_busy: thousandths(busy(&trial.generator_cpus)),
        stolen_cpus: thousandths(rate(cpus().map(|cpu| cpu.steal_s).sum())),
        server_rss_bytes: samples.iter().map(|s| s.server_rss_bytes).max().unwrap_or(0),
        server_socket_drops: samples.iter().map(|s| s.server_socket_drops).sum(),
        softnet_drops: samples.iter().map(|s| s.softnet_drops).sum(),
    }
}

/// Rounds `value` to thousandths: drawing needs no more digits, and the summary stays small.
fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Returns every distinct command line of a run that is not a generator's; those differ by rate and
/// seed and stay with their trials.
pub(super) fn commands(run: &RunRecord, trials: &[&TrialRecord]) -> Vec<CommandRecord> {
    let mut seen = BTreeSet::new();
    let mut commands: Vec<CommandRecord> = run
        .commands
        .iter()
        .map(|command| CommandRecord { whose: "lab".to_owned(), command: command.clone() })
        .collect();
    for trial in trials {
        for (role, command) in trial.commands.iter().filter(|(role, _)| *role != "generator") {
            let mut whose = trial.server.clone();
            for part in [&trial.variant, role].into_iter().filter(|part| !part.is_empty()) {
                whose.push_str(", ");
                whose.push_str(part);
            }
            if seen.insert((whose.clone(), command.clone())) {
                commands.push(CommandRecord { whose, command: command.clone() });
            }
        }
    }
    commands
}
