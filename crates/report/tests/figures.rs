//! Tests of every figure of every result of all shipped plans, compared with the records that it is
//! made from. The second account here reads the records as JSON and knows one rule: an exchange is
//! carried when it is on time and not queued too long.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use measure::compare::compare;
use measure::plan::Plan;
use measure::record::{LIMIT_SERVER, TrialRecord};
use measure::stored::{SummaryHead, Trend};
use measure::suite::{Suite, judge};
use measure::summary::{CurvePoint, RunSummary, ServerResult, digest};
use report::render;
use serde_json::Value;

use crate::simulated::{Lab, MODELS};

/// Sums over the records of some trials: exchanges, seconds, and processor time of the server.
#[derive(Clone, Copy, Debug, Default)]
struct RecordSums {
    due: u64,
    carried: u64,
    behind: u64,
    seconds: f64,
    cpu_s: f64,
}

impl RecordSums {
    fn of<'t>(trials: impl IntoIterator<Item = &'t Value>) -> Self {
        trials.into_iter().fold(Self::default(), |sum, trial| {
            let (load, count) = (&trial["load"], |name: &str| {
                trial["load"]["exchanges"][name].as_u64().expect("it is there")
            });
            Self {
                due: sum.due + count("due"),
                carried: sum.carried + count("on_time") - count("behind"),
                behind: sum.behind + count("behind"),
                seconds: sum.seconds + load["duration_s"].as_f64().expect("it is there"),
                cpu_s: sum.cpu_s + trial["digest"]["server_cpu_s"].as_f64().expect("it is there"),
            }
        })
    }

    fn per_s(&self) -> f64 {
        self.carried as f64 / self.seconds
    }

    fn missed(&self) -> f64 {
        (self.due - self.carried) as f64 / self.due as f64
    }
}

fn same(actual: f64, truth: f64, what: &str) {
    let off = (actual - truth).abs();
    assert!(off <= 1e-9 * truth.abs().max(1e-9), "{what}: {actual} of {truth}");
}

/// Returns the latency at `quantile` of the merged histograms of some trials, in microseconds.
fn quantile(trials: &[&Value], quantile: f64) -> f64 {
    let mut entries: Vec<(u64, u64)> = Vec::new();
    for trial in trials {
        let histogram = trial["load"]["histogram_due"].as_array().expect("it is there");
        entries.extend(histogram.iter().map(|of| {
            (of[0].as_u64().expect("it is there"), of[1].as_u64().expect("it is there"))
        }));
    }
    entries.sort_unstable();
    let count: u64 = entries.iter().map(|entry| entry.1).sum();
    let rank = (quantile * count as f64).ceil() as u64;
    let mut seen = 0;
    let holder = entries.iter().find(|(_, count)| {
        seen += count;
        seen >= rank
    });
    holder.expect("it is there").0 as f64 / 1e3
}

/// Returns the shipped plans that have trials.
fn plans() -> Vec<Plan> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let mut names: Vec<PathBuf> = fs::read_dir(folder)
        .expect("it is there")
        .map(|entry| entry.expect("it is there").path())
        .collect();
    names.sort();
    let plan = |path: &PathBuf| {
        let name = path.file_name().expect("it is there").to_string_lossy().into_owned();
        Plan::parse(&name, &fs::read_to_string(path).expect("it is there")).ok()
    };
    let plans: Vec<Plan> = names.iter().filter_map(plan).collect();
    assert!(plans.len() > 40, "{}", plans.len());
    plans
}

/// Runs the plan with every server of the simulation, in one round or three runs.
fn measured(mut plan: Plan) -> (Vec<TrialRecord>, RunSummary) {
    plan.servers = vec!["godwit".to_owned(), "kea".to_owned()];
    plan.blocks.rounds = plan.blocks.rounds.min(1);
    plan.runs.count = plan.runs.count.min(3);
    plan.sampling_interval_ms = 2_000;
    plan.curve.fractions = vec![0.5, 0.8, 1.2, 3.0];
    plan.curve.dwell_s = plan.curve.dwell_s.max(0.4);
    plan.blocks.dwell_s = plan.blocks.dwell_s.max(0.4);
    let mut lab = Lab::new(plan);
    lab.void_one_in = 15;
    lab.latencies = 1_000;
    lab.measure(&MODELS);
    let summary = digest(&lab.run(), &lab.trials);
    (lab.trials, summary)
}

/// Groups the trials by points of the load curve: trials whose rates are at most 2 % apart.
fn by_point<'t>(trials: &[&'t Value]) -> Vec<Vec<&'t Value>> {
    let rate = |trial: &Value| trial["rate_per_s"].as_f64().expect("it is there");
    let mut sorted = trials.to_vec();
    sorted.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let mut points: Vec<Vec<&Value>> = Vec::new();
    for trial in sorted {
        match points.last_mut() {
            Some(point) if rate(trial) <= rate(point[0]) * 1.02 => point.push(trial),
            _ => points.push(vec![trial]),
        }
    }
    points
}

fn check_curve(curve: &[CurvePoint], trials: &[&Value], what: &str) {
    assert!(!curve.is_empty(), "{what}");
    let groups = by_point(trials);
    assert_eq!(groups.len(), curve.len(), "{what}");
    for (point, group) in curve.iter().zip(groups) {
        assert_eq!(point.trials as usize, group.len(), "{what}");
        let truth = RecordSums::of(group.iter().copied());
        for (actual, of) in [(point.latency.p50_us, 0.5), (point.latency.p99_us, 0.99)] {
            // The largest value of a histogram is known exactly, not as the end of its bucket.
            let share = actual.expect("it is there") / quantile(&group, of);
            assert!((0.998..=1.0).contains(&share), "{what}: {share}");
        }
        let what = format!("{what} at {}/s", point.offered_per_s);
        same(point.achieved_per_s, truth.per_s(), &what);
        same(point.loss, truth.missed(), &what);
        same(point.behind, truth.behind as f64 / truth.due as f64, &what);
    }
}

fn check_rows(summary: &RunSummary, trials: &[Value]) {
    let limit = summary.plan.search.loss_percent;
    for (row, trial) in summary.trials.iter().zip(trials) {
        let truth = RecordSums::of([trial]);
        let what = format!("{} trial {}", summary.plan.name, row.number);
        same(row.achieved_per_s, truth.per_s(), &what);
        same(row.loss, truth.missed(), &what);
        let is_void = !trial["void"].as_array().expect("it is there").is_empty();
        assert_eq!(row.meets, !is_void && row.loss * 100.0 <= limit, "{what}");
    }
}

fn check_result(summary: &RunSummary, result: &ServerResult, trials: &[Value]) {
    let limit = summary.plan.search.loss_percent;
    let what = format!("{} {}", summary.plan.name, result.server);
    let of_variant: Vec<&Value> = trials
        .iter()
        .filter(|trial| trial["server"] == *result.server && trial["variant"] == *result.variant)
        .filter(|trial| trial["void"].as_array().expect("it is there").is_empty())
        .collect();
    check_curve(&result.curve, &of_variant, &what);
    let meets = |trial: &&&Value| RecordSums::of([**trial]).missed() * 100.0 <= limit;
    let is = |trial: &Value, purpose: &str| trial["purpose"] == purpose;
    let confirming: Vec<&Value> =
        of_variant.iter().copied().filter(|trial| is(trial, "confirm")).collect();
    for round in &result.rounds {
        let met = confirming.iter().filter(meets).map(|trial| RecordSums::of([*trial]).per_s());
        assert!(met.into_iter().any(|per_s| per_s == round.leases_per_s), "{what}: {round:?}");
    }
    if let Some(at) = result.latency_max {
        let there = confirming.iter().filter(|trial| trial["rate_per_s"] == at.offered_per_s);
        let truth = RecordSums::of(there.filter(meets).copied());
        same(at.loss, truth.missed(), &what);
    }
    if let Some(at) = result.latency_half {
        let point = result.curve.iter().find(|point| point.offered_per_s == at.offered_per_s);
        same(at.loss, point.expect("it is there").loss, &what);
    }
    let near = of_variant.iter().filter(|trial| is(trial, "confirm") || is(trial, "pair"));
    let per_cpu: Vec<f64> = near
        .filter(meets)
        .map(|trial| RecordSums::of([*trial]))
        .map(|truth| truth.carried as f64 / truth.cpu_s)
        .collect();
    let ends = per_cpu
        .iter()
        .fold((f64::MAX, 0.0), |(low, high), &value: &f64| (value.min(low), value.max(high)));
    if let Some(actual) = result.leases_per_cpu_s {
        assert!((ends.0..=ends.1).contains(&actual), "{what}: {actual} outside of {ends:?}");
    }
}

/// Returns the value of an attribute of a mark in the load curve's markup.
fn attribute<'p>(mark: &'p str, name: &str) -> Option<&'p str> {
    mark.split_once(&format!("{name}=\""))?.1.split('"').next()
}

/// Checks that a mark of the load curve is hollow exactly where its point missed the criterion, and
/// shows the figures of the summary.
fn check_page(summary: &RunSummary) {
    let page = render(summary);
    let limit = summary.plan.search.loss_percent;
    let mut curves: BTreeMap<&str, &[CurvePoint]> =
        summary.results.iter().map(|result| (&*result.server, &*result.curve)).collect();
    curves.extend(summary.limit.iter().map(|of| ("limit", &*of.curve)));
    let mut checked = 0;
    for mark in page.split("<path class=\"mark").skip(1) {
        let all = ["data-server", "data-offered", "data-achieved", "data-loss"];
        let [Some(server), Some(offered), Some(achieved), Some(_)] =
            all.map(|name| attribute(mark, name))
        else {
            continue;
        };
        let offered: f64 = offered.parse().expect("it is there");
        let curve = curves.get(server).expect("it is there");
        let point = curve.iter().min_by(|a, b| {
            let away = |point: &CurvePoint| (point.offered_per_s - offered).abs();
            away(a).total_cmp(&away(b))
        });
        let point = point.expect("it is there");
        let what = format!("{} {server} at {offered}", summary.plan.name);
        assert!(
            (achieved.parse::<f64>().expect("it is there") - point.achieved_per_s).abs() < 0.06,
            "{what}"
        );
        let is_hollow = mark.split('"').next().expect("it is there").contains("beyond");
        assert_eq!(is_hollow, point.loss * 100.0 > limit, "{what}: {point:?}");
        checked += 1;
    }
    assert!(checked > 0, "{}", summary.plan.name);
}

/// Checks that the list of runs, the trend, the comparison and the suite's page agree with the
/// summary.
fn check_elsewhere(summary: &RunSummary) {
    let text = serde_json::to_string(summary).expect("it is there");
    let line =
        serde_json::from_str::<SummaryHead>(&text).expect("it is there").into_stored_run("r");
    let trend = Trend::from_runs(&summary.plan.name, &[], std::slice::from_ref(&line))
        .expect("it is there");
    for (result, figure) in summary.results.iter().zip(&trend.runs[0].servers) {
        assert_eq!(
            (result.leases_per_s, result.leases_per_cpu_s),
            (figure.leases_per_s, figure.leases_per_cpu_s)
        );
    }
    let comparison = compare(("a", summary), ("b", summary), true);
    for (server, result) in comparison.servers.iter().zip(&summary.results) {
        assert_eq!(server.a.leases_per_s, result.leases_per_s);
        assert_eq!(
            (server.a.latency_half, server.b.latency_max),
            (result.latency_half, result.latency_max)
        );
    }
    let suite = "name = \"s\"\ntitle = \"S\"\n[[part]]\nplan = \"p\"\nquick_time_budget_s = 1.0\n[[row]]\n\
                 name = \"goodput\"\npart = \"p\"\nfigure = \"goodput\"\nof = \"kea\"\nfraction = 3.0\n\
                 at_least = 0.8\n";
    let suite = Suite::parse("s", suite).expect("it is there");
    let judged = judge(&suite, &[Ok(("p".to_owned(), summary.clone()))]);
    let kea = summary.results.iter().find(|result| result.server == "kea").expect("it is there");
    if let (Some(value), Some(highest)) = (judged.rows[0].value, kea.leases_per_s) {
        let is_it = |point: &&CurvePoint| {
            (point.achieved_per_s / highest / value - 1.0).abs() < 1e-12
                && (point.offered_per_s / highest / 3.0 - 1.0).abs() < 0.5
        };
        assert!(kea.curve.iter().any(|point| is_it(&point)), "{value}");
    }
}

#[test]
fn every_figure_of_every_plan_is_that_of_its_records() {
    let mut behind = 0;
    for plan in plans() {
        let (trials, summary) = measured(plan);
        let records: Vec<Value> =
            trials.iter().map(|trial| serde_json::to_value(trial).expect("it is there")).collect();
        behind += records.iter().filter(|trial| RecordSums::of([*trial]).behind > 0).count();
        check_rows(&summary, &records);
        for result in &summary.results {
            check_result(&summary, result, &records);
        }
        if let Some(limit) = &summary.limit {
            let of_limit: Vec<&Value> = records
                .iter()
                .filter(|trial| trial["server"] == LIMIT_SERVER)
                .filter(|trial| trial["void"].as_array().expect("it is there").is_empty())
                .collect();
            check_curve(&limit.curve, &of_limit, &format!("{} limit", summary.plan.name));
        }
        check_page(&summary);
        check_elsewhere(&summary);
    }
    assert!(behind > 500, "{behind} trials with something behind");
}
