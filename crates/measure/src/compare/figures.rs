//! Figures of one server in two results, and ratios of the second result over the first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::{RatioInterval, ratio_of_means};
use crate::summary::{LatencyAt, LimitResult, RoundResult, RunFigure, RunSummary, ServerResult};

/// Comparison of one server that is in both results: its figures in each, and their ratios.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerComparison {
    /// Name of the server in both results.
    pub server: String,
    /// Figures of the server in the first result.
    pub a: Figures,
    /// Figures of the server in the second result.
    pub b: Figures,
    /// Ratio of the server's highest rates, second result over first. `None` when one of the
    /// results has no rate of the server, or too many failed runs.
    pub leases_per_s: Option<RatioInterval>,
    /// Ratio of the server's leases per processor second, second result over first.
    pub leases_per_cpu_s: Option<RatioInterval>,
    /// Ratio of the server's highest rates, second result over first, each as a share of the limit
    /// responder's rate in the same run (the limit responder is a program that returns every
    /// datagram). A change of the whole machine's speed between the two results cancels out.
    pub of_limit: Option<RatioInterval>,
    /// Ratio of the server's leases per processor second, second result over first, each as a share
    /// of the limit responder's in the same run (the limit responder is a program that returns
    /// every datagram).
    pub cpu_of_limit: Option<RatioInterval>,
}

/// Figures of one server in one of the two results that are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Figures {
    /// Variant of the server that the figures belong to, which is the way in which it was run, such
    /// as `multi-threaded`.
    pub variant: String,
    /// Highest rate of the server in this result, in leases per second.
    pub leases_per_s: Option<f64>,
    /// True if the server's highest rate is a lower bound ("at least").
    pub is_at_least: bool,
    /// Lower end of the 95 % interval of the highest rate if there is one, else the lowest round,
    /// in leases per second.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval of the highest rate if there is one, else the highest round,
    /// in leases per second.
    pub high: Option<f64>,
    /// True when `low` and `high` are the ends of a 95 % interval.
    pub is_interval: bool,
    /// Highest rates of the server in all runs that count (a failed run as 0), or in all rounds, in
    /// leases per second.
    pub values: Vec<f64>,
    /// Leases per processor second of the server at its highest rate.
    pub leases_per_cpu_s: Option<f64>,
    /// Latency and loss of the server at about half of its highest rate.
    pub latency_half: Option<LatencyAt>,
    /// Latency and loss of the server at its highest rate.
    pub latency_max: Option<LatencyAt>,
    /// Largest resident memory of the server, in bytes; 0 when unknown.
    pub rss_bytes: u64,
    /// Number of trials (loads at one rate for some seconds) of the server in this result.
    pub trials: u32,
    /// Number of void trials of the server in this result, which say nothing about the server.
    pub voids: u32,
}

/// Change of the rate of the limit responder (a program that returns every datagram) between two
/// results: of the most that kernel and generator can do without a server's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LimitChange {
    /// Rate of the limit responder (a program that returns every datagram) in the first result, in
    /// exchanges per second.
    pub a_per_s: f64,
    /// Rate of the limit responder (a program that returns every datagram) in the second result, in
    /// exchanges per second.
    pub b_per_s: f64,
    /// Ratio of the rates of the limit responder (a program that returns every datagram), second
    /// result over first.
    pub ratio: Option<RatioInterval>,
}

/// Figures of a server or of the limit responder (a program that returns every datagram), each with
/// the number of its run or round.
type Values = Vec<(u32, f64)>;

fn values(
    runs: &[RunFigure],
    rounds: &[RoundResult],
    of_run: impl Fn(&RunFigure) -> Option<f64>,
    of_round: impl Fn(&RoundResult) -> Option<f64>,
) -> Values {
    if runs.is_empty() {
        rounds.iter().filter_map(|round| Some((round.round, of_round(round)?))).collect()
    } else {
        runs.iter().filter_map(|run| Some((run.run, of_run(run)?))).collect()
    }
}

fn rates(result: &ServerResult) -> Values {
    values(&result.runs, &result.rounds, |run| run.counts_as, |round| Some(round.leases_per_s))
}

fn limit_rates(limit: Option<&LimitResult>) -> Values {
    let of = |limit: &LimitResult| {
        values(&limit.runs, &limit.rounds, |run| run.counts_as, |round| Some(round.leases_per_s))
    };
    limit.map(of).unwrap_or_default()
}

fn per_cpu(runs: &[RunFigure], rounds: &[RoundResult]) -> Values {
    let of_run = |run: &RunFigure| if run.is_void() { None } else { run.leases_per_cpu_s };
    values(runs, rounds, of_run, |round| round.leases_per_cpu_s)
}

/// Divides figures of a server's runs or rounds by the figures of the limit responder (a program
/// that returns every datagram) in the runs or rounds with the same numbers.
fn shares_of_limit(figures: &Values, limits: &Values) -> Values {
    let share = |&(number, figure): &(u32, f64)| {
        let (_, limit) = limits.iter().find(|(other, limit)| *other == number && *limit > 0.0)?;
        Some((number, figure / limit))
    };
    figures.iter().filter_map(share).collect()
}

/// Values of one server in one result that are compared with the other result's.
struct ComparedValues {
    rates: Values,
    per_cpu: Values,
    of_limit: Values,
    cpu_of_limit: Values,
}

impl ComparedValues {
    fn from_result(result: &ServerResult, limit: Option<&LimitResult>) -> Self {
        let limit_cpu = limit.map(|limit| per_cpu(&limit.runs, &limit.rounds)).unwrap_or_default();
        let (rates, per_cpu) = (rates(result), per_cpu(&result.runs, &result.rounds));
        Self {
            of_limit: shares_of_limit(&rates, &limit_rates(limit)),
            cpu_of_limit: shares_of_limit(&per_cpu, &limit_cpu),
            rates,
            per_cpu,
        }
    }
}

fn plain(values: &Values) -> Vec<f64> {
    values.iter().map(|(_, value)| *value).collect()
}

/// Method for a ratio of two results: number of best and worst runs dropped, and the resolution of
/// the searches for the highest rate.
#[derive(Clone, Copy)]
struct Method {
    drop: usize,
    resolution: f64,
}

impl Method {
    fn from_summaries(a: &RunSummary, b: &RunSummary) -> Self {
        let drop = |summary: &RunSummary| {
            if summary.plan.has_runs() { summary.plan.runs.drop.at_each_end() } else { 0 }
        };
        let resolution = |summary: &RunSummary| {
            if summary.plan.has_runs() { 1.0 } else { summary.plan.search.resolution() }
        };
        Self { drop: drop(a).min(drop(b)), resolution: resolution(a).max(resolution(b)) }
    }

    fn ratio(self, b: &Values, a: &Values) -> Option<RatioInterval> {
        ratio_of_means(&plain(b), &plain(a), self.drop)
    }

    fn ratio_of_rates(self, b: &Values, a: &Values) -> Option<RatioInterval> {
        self.ratio(b, a).map(|interval| interval.widened(self.resolution))
    }
}

/// Describes in one sentence how the ratios of two results are computed.
pub(super) fn method(a: &RunSummary, b: &RunSummary) -> String {
    let method = Method::from_summaries(a, b);
    let mut words = if method.drop > 0 {
        "B over A: the ratio of means over the logarithms of all runs that count, without the best \
         and the worst of each result, with Yuen's 95 % interval (Biometrika 61, 1974)"
            .to_owned()
    } else {
        "B over A: the ratio of geometric means over all rounds, with Welch's 95 % interval on \
         their logarithms (Biometrika 34, 1947)"
            .to_owned()
    };
    if method.resolution > 1.0 {
        words.push_str(&format!(
            ", widened for rates by the resolution of the search ({:.0} %)",
            (method.resolution - 1.0) * 100.0
        ));
    }
    words.push('.');
    words
}

/// Compares the figures of every server that is in both results.
pub(super) fn servers(a: &RunSummary, b: &RunSummary) -> Vec<ServerComparison> {
    let method = Method::from_summaries(a, b);
    let both = a
        .results
        .iter()
        .filter_map(|of_a| Some((of_a, b.results.iter().find(|of_b| of_b.server == of_a.server)?)));
    both.map(|(of_a, of_b)| {
        let counted_a = ComparedValues::from_result(of_a, a.limit.as_ref());
        let counted_b = ComparedValues::from_result(of_b, b.limit.as_ref());
        ServerComparison {
            server: of_a.server.clone(),
            a: figures(of_a),
            b: figures(of_b),
            leases_per_s: method.ratio_of_rates(&counted_b.rates, &counted_a.rates),
            leases_per_cpu_s: method.ratio(&counted_b.per_cpu, &counted_a.per_cpu),
            of_limit: method.ratio_of_rates(&counted_b.of_limit, &counted_a.of_limit),
            cpu_of_limit: method.ratio(&counted_b.cpu_of_limit, &counted_a.cpu_of_limit),
        }
    })
    .collect()
}

/// Compares the rates of the limit responder (a program that returns every datagram) in both
/// results, if both measured it.
pub(super) fn limit(a: &RunSummary, b: &RunSummary) -> Option<LimitChange> {
    let (of_a, of_b) = (a.limit.as_ref()?, b.limit.as_ref()?);
    let ratio = Method::from_summaries(a, b)
        .ratio_of_rates(&limit_rates(b.limit.as_ref()), &limit_rates(a.limit.as_ref()));
    Some(LimitChange { a_per_s: of_a.leases_per_s, b_per_s: of_b.leases_per_s, ratio })
}

fn figures(result: &ServerResult) -> Figures {
    let (low, high, is_interval) = result.range();
    Figures {
        variant: result.variant.clone(),
        leases_per_s: result.leases_per_s,
        is_at_least: result.is_at_least,
        low,
        high,
        is_interval,
        values: plain(&rates(result)),
        leases_per_cpu_s: result.leases_per_cpu_s,
        latency_half: result.latency_half,
        latency_max: result.latency_max,
        rss_bytes: result.rss_bytes,
        trials: result.trials,
        voids: result.voids,
    }
}
