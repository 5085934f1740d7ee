//! Judgment of all trials of one server, with its variants (ways to run it) and rounds.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Bottleneck, LatencyAt, LinkTraffic, RoundResult, RunFigure, ServerResult, VariantResult, curve,
    runs,
};
use crate::record::{LoadRecord, Purpose, RunRecord, SearchEnd, TrialRecord, VoidReason};
use crate::search::SearchStopReason;
use crate::statistics::{MeanInterval, lower_median, trimmed_mean};

/// Figures of one server in one variant (way to run it, such as `multi-threaded`), with its trials.
struct Variant<'t> {
    name: &'t str,
    trials: Vec<&'t TrialRecord>,
    rounds: Vec<RoundResult>,
    runs: Vec<RunFigure>,
    mean: Option<MeanInterval>,
    mean_per_cpu: Option<MeanInterval>,
    leases_per_s: Option<f64>,
    leases_per_cpu_s: Option<f64>,
}

/// Judges the trials of one server, with its variants (ways to run it) and rounds, and returns its
/// result.
pub(super) fn server_result(
    server: &str,
    trials: &[&TrialRecord],
    run: &RunRecord,
) -> ServerResult {
    let loss_percent = run.plan.search.loss_percent;
    let names: BTreeSet<&str> = trials.iter().map(|trial| trial.variant.as_str()).collect();
    let variants: Vec<Variant<'_>> =
        names.iter().map(|name| variant(server, name, trials, run)).collect();
    // The variant that was better in the first round is the one that was measured further; its
    // median over more rounds is not beaten by another's single round.
    let best = variants
        .iter()
        .rev()
        .max_by(|a, b| {
            let rate = |v: &Variant<'_>| v.leases_per_s.unwrap_or(0.0);
            a.rounds.len().cmp(&b.rounds.len()).then(rate(a).total_cmp(&rate(b)))
        })
        .expect("a server has at least one trial");
    let rates = || best.rounds.iter().map(|round| round.leases_per_s);
    let is_range = best.rounds.len() > 1;
    // In a trial whose database was ended, the load does not cause the loss.
    let undisturbed: Vec<&TrialRecord> =
        best.trials.iter().copied().filter(|trial| !trial.purpose.ends_database()).collect();
    let load_curve = curve::curve(&undisturbed);
    ServerResult {
        server: server.to_owned(),
        variant: best.name.to_owned(),
        variants: variants
            .iter()
            .map(|variant| VariantResult {
                variant: variant.name.to_owned(),
                leases_per_s: variant.leases_per_s,
                leases_per_cpu_s: variant.leases_per_cpu_s,
            })
            .collect(),
        leases_per_s: best.leases_per_s,
        leases_per_s_low: if is_range { rates().min_by(f64::total_cmp) } else { None },
        leases_per_s_high: if is_range { rates().max_by(f64::total_cmp) } else { None },
        is_at_least: if run.plan.has_runs() {
            runs::is_at_least(&best.runs)
        } else {
            is_at_least(&best.trials, &best.rounds, loss_percent)
        },
        mean: best.mean,
        mean_per_cpu: best.mean_per_cpu,
        runs: best.runs.clone(),
        segmentation: segmentation(&best.trials),
        leases_per_cpu_s: best.leases_per_cpu_s,
        loses_at_every_rate: loses_at_every_rate(server, best, run),
        bottleneck: if best.leases_per_s.is_some() {
            Bottleneck::from_searches(server, best.name, &best.trials, run)
        } else {
            None
        },
        share_of_limit: None,
        rss_bytes: best.trials.iter().map(|t| t.digest.server_rss_bytes).max().unwrap_or(0),
        latency_half: best.leases_per_s.and_then(|rate| curve::half(&load_curve, rate)),
        latency_max: latency_at_highest(best, loss_percent),
        carried_max: carried_at_highest(best, run),
        curve: load_curve,
        avalanche: None,
        rounds: best.rounds.clone(),
        trials: trials.len() as u32,
        voids: trials.iter().filter(|trial| trial.is_void()).count() as u32,
        void_reasons: void_reasons(trials),
    }
}

/// Returns the number of trials that are void for each reason.
fn void_reasons(trials: &[&TrialRecord]) -> BTreeMap<VoidReason, u32> {
    let mut counts = BTreeMap::new();
    for reason in trials.iter().flat_map(|trial| &trial.void) {
        *counts.entry(*reason).or_insert(0) += 1;
    }
    counts
}

fn variant<'t>(
    server: &str,
    name: &'t str,
    trials: &[&'t TrialRecord],
    run: &RunRecord,
) -> Variant<'t> {
    let loss_percent = run.plan.search.loss_percent;
    let trials: Vec<&TrialRecord> =
        trials.iter().copied().filter(|trial| trial.variant == name).collect();
    let rounds = rounds(&trials, loss_percent);
    if run.plan.has_runs() {
        let (runs, mean) = variant_runs(server, name, &rounds, run);
        let mean_per_cpu = runs::per_cpu(&run.plan, &runs);
        return Variant {
            name,
            trials,
            rounds,
            leases_per_s: mean.map(|of| of.mean).filter(|mean| *mean > 0.0),
            leases_per_cpu_s: mean_per_cpu.map(|of| of.mean),
            runs,
            mean,
            mean_per_cpu,
        };
    }
    let rates: Vec<f64> = rounds.iter().map(|round| round.leases_per_s).collect();
    let per_cpu: Vec<f64> = near_highest(&trials, loss_percent)
        .iter()
        .filter_map(|trial| trial.leases_per_cpu_s())
        .collect();
    Variant {
        name,
        trials,
        rounds,
        runs: Vec::new(),
        mean: None,
        mean_per_cpu: None,
        leases_per_s: lower_median(&rates),
        leases_per_cpu_s: trimmed_mean(&per_cpu),
    }
}

/// Returns the runs of one variant of one server (such as `multi-threaded`), and the mean of their
/// rates.
pub(super) fn variant_runs(
    server: &str,
    variant: &str,
    rounds: &[RoundResult],
    run: &RunRecord,
) -> (Vec<RunFigure>, Option<MeanInterval>) {
    let is_of = |end: &&SearchEnd| end.server == server && end.variant == variant;
    let searches: Vec<&SearchEnd> = run.searches.iter().filter(is_of).collect();
    runs::runs(&run.plan, &searches, rounds)
}

/// Returns the least shortfall (share of exchanges not carried) of a server's variant whose
/// searches found that it loses at every rate.
fn loses_at_every_rate(server: &str, variant: &Variant<'_>, run: &RunRecord) -> Option<f64> {
    let is_of = |end: &&SearchEnd| end.server == server && end.variant == variant.name;
    let is_met_nowhere =
        run.searches.iter().filter(is_of).any(|end| end.stop == SearchStopReason::EveryRate);
    if !is_met_nowhere || variant.leases_per_s.is_some() {
        return None;
    }
    let counted = variant.trials.iter().filter(|trial| !trial.is_void());
    counted.map(|trial| trial.shortfall()).min_by(f64::total_cmp)
}

/// Returns true if messages to the server left in groups in `trials`; `None` when that is unknown
/// or differs.
fn segmentation(trials: &[&TrialRecord]) -> Option<bool> {
    let mut used = trials.iter().filter_map(|trial| Some(trial.load.as_ref()?.segmentation));
    let first = used.next()?;
    used.all(|other| other == first).then_some(first)
}

/// Returns the highest confirmed rate of each round, ascending by round.
pub(super) fn rounds(trials: &[&TrialRecord], loss_percent: f64) -> Vec<RoundResult> {
    let mut rounds: BTreeMap<u32, RoundResult> = BTreeMap::new();
    let confirmed = trials
        .iter()
        .filter(|trial| trial.purpose == Purpose::Confirm && trial.meets(loss_percent));
    for trial in confirmed {
        let round = RoundResult {
            round: trial.round,
            offered_per_s: trial.rate_per_s,
            leases_per_s: trial.achieved_per_s(),
            ..RoundResult::default()
        };
        let best = rounds.entry(trial.round).or_insert(round);
        if round.leases_per_s > best.leases_per_s {
            *best = round;
        }
    }
    let blocks = near_highest(trials, loss_percent);
    for round in rounds.values_mut() {
        let of_round = |figure: fn(&TrialRecord) -> Option<f64>| {
            let of_round = blocks.iter().filter(|trial| trial.round == round.round);
            trimmed_mean(&of_round.filter_map(|trial| figure(trial)).collect::<Vec<f64>>())
        };
        let per_generator = of_round(TrialRecord::exchanges_per_generator_cpu_s);
        round.leases_per_cpu_s = of_round(TrialRecord::leases_per_cpu_s);
        round.exchanges_per_generator_cpu_s = per_generator;
    }
    rounds.into_values().collect()
}

/// Returns the trials from which figures per processor second are computed: confirming trials, and
/// blocks at a fixed rate near the highest, that met the criterion (at most the plan's share of
/// exchanges missed).
fn near_highest<'t>(trials: &[&'t TrialRecord], loss_percent: f64) -> Vec<&'t TrialRecord> {
    let near = |trial: &&TrialRecord| matches!(trial.purpose, Purpose::Confirm | Purpose::Pair);
    trials.iter().copied().filter(near).filter(|trial| trial.meets(loss_percent)).collect()
}

/// Returns true if no valid trial above the highest confirmed rate missed the criterion, the plan's
/// largest share of missed exchanges.
pub(super) fn is_at_least(
    trials: &[&TrialRecord],
    rounds: &[RoundResult],
    loss_percent: f64,
) -> bool {
    let highest = rounds.iter().map(|round| round.offered_per_s).fold(0.0, f64::max);
    let missed_above = trials
        .iter()
        .any(|trial| !trial.is_void() && !trial.meets(loss_percent) && trial.rate_per_s > highest);
    highest > 0.0 && !missed_above
}

/// Returns the round whose figure is the highest rate, and the generator's records of its
/// confirming trials.
fn at_highest<'t>(
    variant: &Variant<'t>,
    loss_percent: f64,
) -> Option<(RoundResult, Vec<&'t LoadRecord>)> {
    let highest = variant.leases_per_s?;
    // A median is a round's own figure; for a mean the nearest run is used.
    let away = |round: &&RoundResult| (round.leases_per_s - highest).abs();
    let round = variant.rounds.iter().min_by(|a, b| away(a).total_cmp(&away(b)))?;
    let confirming = variant.trials.iter().filter(|trial| {
        trial.purpose == Purpose::Confirm
            && trial.rate_per_s == round.offered_per_s
            && trial.meets(loss_percent)
    });
    Some((*round, confirming.filter_map(|trial| trial.load.as_ref()).collect()))
}

/// Returns the latency of a server's variant in the confirming trials of the round with its highest
/// rate, from their added histograms.
fn latency_at_highest(variant: &Variant<'_>, loss_percent: f64) -> Option<LatencyAt> {
    let (round, loads) = at_highest(variant, loss_percent)?;
    Some(LatencyAt {
        offered_per_s: round.offered_per_s,
        latency: curve::latency(loads.iter().copied()),
        loss: curve::counts(loads.into_iter()).shortfall(),
    })
}

/// Returns the mean traffic of the link in the confirming trials of the round with the variant's
/// highest rate.
fn carried_at_highest(variant: &Variant<'_>, run: &RunRecord) -> Option<LinkTraffic> {
    let (_, loads) = at_highest(variant, run.plan.search.loss_percent)?;
    let header_bytes = run.plan.protocol.header_bytes();
    let rates: Vec<[f64; 2]> = loads
        .iter()
        .filter_map(|load| load.messages.mbit_per_s(header_bytes, load.duration_s))
        .collect();
    let mean = |direction: usize| {
        rates.iter().map(|rate| rate[direction]).sum::<f64>() / rates.len() as f64
    };
    (!rates.is_empty())
        .then(|| LinkTraffic { to_server_mbit_s: mean(0), from_server_mbit_s: mean(1) })
}
