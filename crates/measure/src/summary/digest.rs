//! Digest of a run's raw records to a summary.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    AvalancheResult, Bottleneck, LimitResult, Ratio, RoundResult, RunFigure, RunSummary,
    SUMMARY_SCHEMA, ServerProfile, ServerResult, curve, long_trials, notes, restarts, rows, runs,
    server,
};
use crate::plan::{Plan, ServerDurability};
use crate::record::{LIMIT_SERVER, Purpose, RunRecord, TrialRecord};
use crate::statistics::{
    NoiseFloor, lower_median, noise_floor, paired_ratio, trimmed_paired_ratio,
};

/// Share of processor time stolen by the hypervisor from which the summary warns, in percent.
const STEAL_WARNING_PERCENT: f64 = 5.0;
/// Share of the rate of the limit responder (a program that returns every datagram) above which the
/// summary warns that kernel and generator may have bounded a server's rate.
const LIMIT_WARNING_SHARE: f64 = 0.8;

/// Judges the records of a run and returns its summary. Equal records give an equal summary in any
/// order of the trials.
pub fn digest(run: &RunRecord, trials: &[TrialRecord]) -> RunSummary {
    let mut ordered: Vec<&TrialRecord> = trials.iter().collect();
    ordered.sort_by_key(|trial| trial.number);
    let loss_percent = run.plan.search.loss_percent;
    let mut by_server: BTreeMap<&str, Vec<&TrialRecord>> = BTreeMap::new();
    // Trials with a profile are no measurements.
    let measured = ordered.iter().filter(|trial| trial.purpose.is_at_a_rate());
    for trial in measured {
        by_server.entry(&trial.server).or_default().push(trial);
    }
    let limit = by_server.get(LIMIT_SERVER).and_then(|trials| limit(trials, run));
    let mut results: Vec<ServerResult> = by_server
        .iter()
        .filter(|(name, _)| **name != LIMIT_SERVER)
        .map(|(name, trials)| server::server_result(name, trials, run))
        .collect();
    results.sort_by_key(|result| {
        let name = &result.server;
        let (whole, durability) = ServerDurability::split_line(name);
        let order = &run.plan.server.durability;
        let at = order.iter().position(|of| *of == durability).unwrap_or(order.len());
        let feature = run.plan.feature_position(name);
        (server_position(&run.plan.servers, name), feature, whole.to_owned(), at)
    });
    for result in &mut results {
        result.avalanche = avalanche(&ordered, result);
        result.share_of_limit = limit
            .as_ref()
            .and_then(|limit| result.leases_per_s.map(|rate| rate / limit.leases_per_s));
        result.bottleneck = Bottleneck::from_limit_share(result);
    }
    let mut files: BTreeSet<String> = run.files.iter().cloned().collect();
    files.extend(ordered.iter().flat_map(|trial| trial.files.iter().cloned()));
    let mut summary = RunSummary {
        schema: SUMMARY_SCHEMA.to_owned(),
        title: run.plan.title.clone(),
        started: run.started.clone(),
        duration_s: run.duration_s,
        ratios: ratios(&results, &run.plan),
        noise: noise(&by_server, &results, loss_percent),
        runs_done: runs_done(run, &results, limit.as_ref()),
        limit,
        restarts: restarts::restarts(&ordered, run.plan.search.deadline_s),
        long_trials: long_trials::long_trials(&ordered, loss_percent),
        profiles: profiles(&ordered, &results),
        flushes: run.flushes.clone(),
        starts: run.starts.clone(),
        results,
        plan: run.plan.clone(),
        environment: run.environment.clone(),
        commands: rows::commands(run, &ordered),
        warnings: run.warnings.clone(),
        conflicts: conflicts(&ordered),
        trials: ordered.iter().map(|trial| rows::row(trial, run)).collect(),
        timeline: rows::timeline(&ordered),
        files: files.into_iter().collect(),
    };
    notes::compare(&mut summary);
    let further_warnings = warnings(&summary);
    summary.warnings.extend(further_warnings);
    summary
}

/// Counts leases that a server granted to two clients at a time, by server.
fn conflicts(trials: &[&TrialRecord]) -> BTreeMap<String, u64> {
    let mut conflicts = BTreeMap::new();
    for trial in trials {
        let count = trial.load.as_ref().map_or(0, |load| load.conflicts);
        if count > 0 {
            *conflicts.entry(trial.server.clone()).or_insert(0) += count;
        }
    }
    conflicts
}

/// Returns the first avalanche (a trial in which all clients come at once) of a server in which
/// every client got a lease.
fn avalanche(trials: &[&TrialRecord], result: &ServerResult) -> Option<AvalancheResult> {
    let is_it = |trial: &&&TrialRecord| {
        trial.purpose == Purpose::Avalanche
            && (&trial.server, &trial.variant) == (&result.server, &result.variant)
            && !trial.is_void()
            && trial
                .load
                .as_ref()
                .is_some_and(|load| load.exchanges.carried() == load.exchanges.due)
    };
    let load = trials.iter().find(is_it)?.load.as_ref()?;
    Some(AvalancheResult { clients: load.exchanges.carried(), took_s: load.duration_s })
}

/// Returns the profiles of all servers: by server in the order of `results`, then by rate.
fn profiles(trials: &[&TrialRecord], results: &[ServerResult]) -> Vec<ServerProfile> {
    let of = |trial: &&TrialRecord| {
        Some(ServerProfile {
            trial: trial.number,
            server: trial.server.clone(),
            variant: trial.variant.clone(),
            offered_per_s: trial.rate_per_s,
            achieved_per_s: trial.achieved_per_s(),
            profile: trial.profile.clone()?,
        })
    };
    let mut profiles: Vec<ServerProfile> = trials.iter().filter_map(of).collect();
    let position = |name: &str| results.iter().position(|result| result.server == name);
    profiles.sort_by(|a, b| {
        let order = position(&a.server).cmp(&position(&b.server));
        order.then(a.offered_per_s.total_cmp(&b.offered_per_s))
    });
    profiles
}

/// Returns the position of the server in the plan; further lines of a server (`godwit-none`) come
/// after it, unknown ones at the end.
fn server_position(servers: &[String], name: &str) -> usize {
    let is_of = |server: &String| {
        name.strip_prefix(server.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    servers
        .iter()
        .position(|server| server == name)
        .or_else(|| servers.iter().position(is_of))
        .unwrap_or(servers.len())
}

/// Returns the result of the limit responder (a program that returns every datagram): the median of
/// its confirmed rates, else the highest rate that it achieved in any trial that met the criterion.
fn limit(trials: &[&TrialRecord], run: &RunRecord) -> Option<LimitResult> {
    let loss_percent = run.plan.search.loss_percent;
    let rounds = server::rounds(trials, loss_percent);
    let confirmed: Vec<f64> = rounds.iter().map(|round| round.leases_per_s).collect();
    let most = trials
        .iter()
        .filter(|trial| trial.meets(loss_percent))
        .map(|trial| trial.achieved_per_s())
        .max_by(f64::total_cmp);
    let (runs, mean) = server::variant_runs(LIMIT_SERVER, "", &rounds, run);
    let has_runs = run.plan.has_runs();
    let middle = if has_runs { mean.map(|of| of.mean) } else { lower_median(&confirmed) };
    let leases_per_s = middle.filter(|rate| *rate > 0.0).or(most).filter(|rate| *rate > 0.0)?;
    let is_open = if has_runs {
        runs::is_at_least(&runs)
    } else {
        server::is_at_least(trials, &rounds, loss_percent)
    };
    Some(LimitResult {
        leases_per_s,
        answers_per_s: leases_per_s * run.plan.protocol.answers_per_exchange(),
        is_at_least: rounds.is_empty() || is_open,
        runs: if has_runs { runs } else { Vec::new() },
        mean: if has_runs { mean } else { None },
        rounds,
        curve: curve::curve(trials),
        trials: trials.len() as u32,
        voids: trials.iter().filter(|trial| trial.is_void()).count() as u32,
    })
}

/// Returns the number of runs that every server of a plan with runs finished.
fn runs_done(run: &RunRecord, results: &[ServerResult], limit: Option<&LimitResult>) -> u32 {
    if !run.plan.has_runs() {
        return 0;
    }
    let all = results.iter().map(|result| &result.runs).chain(limit.map(|limit| &limit.runs));
    all.map(|runs| runs.len() as u32).min().unwrap_or(0)
}

/// Returns the ratios of every two servers' figures, round by round; if stores are measured, of
/// servers with an equal store; if features are measured, of each feature over its baseline.
///
/// In rounds that begin where the last one ended, a rate is known to within the search's
/// resolution, alike in every round, which the spread of the rounds does not show: the resolution
/// widens the interval. Runs begin at rates of their own, so their spread shows it by itself.
fn ratios(results: &[ServerResult], plan: &Plan) -> Vec<Ratio> {
    let mut ratios = Vec::new();
    for (index, above) in results.iter().enumerate() {
        // Each feature is compared with a baseline, which comes before it.
        let first = if plan.names_features() { 0 } else { index + 1 };
        let is_pair = |below: &&ServerResult| plan.is_pair(&above.server, &below.server);
        for below in results[first..].iter().filter(is_pair) {
            let (leases_per_s, leases_per_cpu_s) = if plan.has_runs() {
                let drop = plan.runs.drop.at_each_end();
                let of = |figure: fn(&RunFigure) -> Option<f64>| {
                    trimmed_paired_ratio(
                        &pairs(&above.runs, &below.runs, |run| run.run, figure),
                        drop,
                    )
                };
                (of(|run| run.counts_as), of(|run| run.leases_per_cpu_s))
            } else {
                let of = |figure: fn(&RoundResult) -> Option<f64>| {
                    paired_ratio(&pairs(&above.rounds, &below.rounds, |round| round.round, figure))
                };
                let rates = of(|round| Some(round.leases_per_s));
                let rates = rates.map(|interval| interval.widened(plan.search.resolution()));
                (rates, of(|round| round.leases_per_cpu_s))
            };
            ratios.push(Ratio {
                server: above.server.clone(),
                to: below.server.clone(),
                leases_per_s,
                leases_per_cpu_s,
                is_at_most: below.is_at_least,
                is_at_least: above.is_at_least,
                bottleneck: above.bottleneck.or(below.bottleneck),
            });
        }
    }
    ratios
}

/// Returns the pairs of a figure of rounds (or runs) with the same number.
pub(crate) fn pairs<R>(
    above: &[R],
    below: &[R],
    number: impl Fn(&R) -> u32,
    figure: impl Fn(&R) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let pair = |a: &R| {
        let b = below.iter().find(|b| number(b) == number(a))?;
        Some((figure(a)?, figure(b)?))
    };
    above.iter().filter_map(pair).collect()
}

/// Returns the noise floor: the differences between neighboring rounds of the same server and
/// variant, which measured the same twice.
fn noise(
    by_server: &BTreeMap<&str, Vec<&TrialRecord>>,
    results: &[ServerResult],
    loss_percent: f64,
) -> Option<NoiseFloor> {
    let limit = by_server.get(LIMIT_SERVER).map(|trials| server::rounds(trials, loss_percent));
    let all = results.iter().map(|result| &result.rounds).chain(&limit);
    let pairs: Vec<(f64, f64)> = all
        .flat_map(|rounds| rounds.as_chunks::<2>().0)
        .map(|[first, second]| (first.leases_per_s, second.leases_per_s))
        .collect();
    noise_floor(&pairs)
}

/// Returns the warnings that the summary itself gives reason for.
fn warnings(summary: &RunSummary) -> Vec<String> {
    let mut warnings = Vec::new();
    let planned = summary.plan.runs.count;
    if summary.runs_done < planned {
        warnings.push(format!(
            "{} of {planned} runs were done; the figures come from these.",
            summary.runs_done
        ));
    }
    for (name, count) in &summary.conflicts {
        warnings.push(format!(
            "{name}: {count} leases were granted to a client while another one held the address: \
             its rates are not those of a DHCP service."
        ));
    }
    for result in &summary.results {
        let name = &result.server;
        if let Some(least) = result.loses_at_every_rate {
            warnings.push(format!(
                "{name}: never meets the criterion of at most {} % missed exchanges: it misses \
                 {:.1} % or more at every rate, also far below the rate that it answers, so load \
                 is not the cause.",
                summary.plan.search.loss_percent,
                least * 100.0
            ));
        } else if result.leases_per_s.is_none() {
            warnings.push(format!("{name}: no rate could be confirmed."));
        } else if result.runs.is_empty() && result.is_at_least {
            warnings.push(format!(
                "{name}: lower bound: the plan, the generator or the time ended the search before \
                 the server missed the criterion."
            ));
        }
        runs::warnings(name, &result.runs, &mut warnings);
        if result.voids > 0 {
            warnings.push(format!(
                "{name}: {} of {} trials void; no figure includes void trials.",
                result.voids, result.trials
            ));
        }
        notes::warnings(&summary.trials, result, &mut warnings);
        if result.share_of_limit.is_some_and(|share| share > LIMIT_WARNING_SHARE) {
            warnings.push(format!(
                "{name}: close to the limit responder's rate, so kernel and generator may limit \
                 its rate as much as the server does."
            ));
        }
    }
    let lasting = |ratio: &Ratio| ratio.leases_per_s.is_some_and(|interval| interval.pairs < 2);
    if summary.ratios.iter().any(lasting) {
        warnings.push("One round only: ratios have no interval.".to_owned());
    }
    let steal = summary.trials.iter().map(|row| row.steal_share * 100.0).fold(0.0, f64::max);
    if steal > STEAL_WARNING_PERCENT {
        warnings.push(format!(
            "The hypervisor took up to {steal:.0} % of the processors' time during a trial."
        ));
    }
    warnings
}
