//! Headline figure of a run for each server, as text.

use crate::format;
use measure::plan::Headline;
use measure::record::Start;
use measure::summary::{CurvePoint, LongTrial, RestartResult, RunSummary, ServerResult};

/// Headline figure of a server in the form that people read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadlineText {
    /// Number of the headline figure, after `≥` or `≤` if it is a bound.
    pub figure: String,
    /// Unit of the headline figure; empty where the number has it.
    pub unit: String,
    /// Load or range that belongs to the headline figure; empty for none.
    pub condition: String,
}

impl HeadlineText {
    fn new(figure: String, unit: &str, of: String) -> Self {
        Self { figure, unit: unit.to_owned(), condition: of }
    }
}

/// Returns the headline figure of `result` as text; `None` when it was not measured.
pub fn headline_text(summary: &RunSummary, result: &ServerResult) -> Option<HeadlineText> {
    match summary.plan.headline {
        Headline::HighestRate => {
            let sign = if result.is_at_least { "≥ " } else { "" };
            let figure = format!("{sign}{}", format::rate(result.leases_per_s?));
            let unit = format!("{}/s", summary.plan.protocol.result_noun());
            Some(HeadlineText::new(figure, &unit, String::new()))
        }
        Headline::StartUp => {
            let start = start(summary, result)?;
            Some(HeadlineText::new(format::seconds(start.took_s), "", String::new()))
        }
        Headline::StartMemory => {
            let start = start(summary, result).filter(|start| start.rss_bytes > 0)?;
            Some(HeadlineText::new(format::bytes(start.rss_bytes), "", String::new()))
        }
        Headline::Avalanche => {
            let all = result.avalanche?;
            let of = format!("{} clients", format::rate(all.clients as f64));
            Some(HeadlineText::new(format::seconds(all.took_s), "", of))
        }
        Headline::Goodput => {
            let (highest, point) = (result.leases_per_s?, last_point(result)?);
            let of = format!("of {}/s, offered {}/s", format::rate(highest), {
                format::rate(point.offered_per_s)
            });
            Some(HeadlineText::new(format::percent(point.achieved_per_s / highest), "", of))
        }
        Headline::LatencyAtHalf => {
            let at = result.latency_half.filter(|at| at.latency.p99_us.is_some())?;
            let of = format!("at {}/s", format::rate(at.offered_per_s));
            Some(HeadlineText::new(format::percentile_us(at.latency.p99_us), "", of))
        }
        Headline::ExchangesPerGeneratorCpuSecond => {
            let rates = result.rounds.iter().filter_map(|of| of.exchanges_per_generator_cpu_s);
            let mut rates: Vec<f64> = rates.collect();
            rates.sort_by(f64::total_cmp);
            let figure = rates.get(rates.len().saturating_sub(1) / 2)?;
            Some(HeadlineText::new(format::rate(*figure), "/CPU-s", String::new()))
        }
        Headline::DatabaseRestart => {
            let restart = longest_restart(summary, result)?;
            let first = restart.first_lease_s.map_or_else(|| "never".to_owned(), format::seconds);
            let of = format!("database away {}", format::seconds(restart.outage_s()));
            Some(HeadlineText::new(first, "", of))
        }
        Headline::PoolUsed => {
            let trial = exhausted(summary, result)?;
            let leases: u64 = trial.points.iter().map(|point| point.completed).sum();
            let size = f64::from(trial.pool_size?.max(1));
            let of = format!("{} of {}", format::rate(leases as f64), format::rate(size));
            Some(HeadlineText::new(format::percent(leases as f64 / size), "", of))
        }
    }
}

/// Returns the first start of the variant (way to run it) that represents the server of `result`,
/// else of its fastest variant.
fn start<'s>(summary: &'s RunSummary, result: &ServerResult) -> Option<&'s Start> {
    let of_server =
        summary.starts.iter().filter(|of| of.server == result.server && of.took_s > 0.0);
    let own = of_server.clone().find(|of| of.variant == result.variant);
    own.or_else(|| of_server.min_by(|a, b| a.took_s.total_cmp(&b.took_s)))
}

/// Returns the point of the server's load curve with the highest load.
fn last_point(result: &ServerResult) -> Option<&CurvePoint> {
    result.curve.iter().max_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s))
}

/// Returns the restart of the database after which the server's clients waited longest.
fn longest_restart<'s>(
    summary: &'s RunSummary,
    result: &ServerResult,
) -> Option<&'s RestartResult> {
    let waited_s = |of: &RestartResult| of.first_lease_s.unwrap_or(f64::INFINITY);
    let of_server = summary.restarts.iter().filter(|of| of.server == result.server);
    of_server.max_by(|a, b| waited_s(a).total_cmp(&waited_s(b)))
}

/// Returns the trial of the server in which the pool ran out.
fn exhausted<'s>(summary: &'s RunSummary, result: &ServerResult) -> Option<&'s LongTrial> {
    let mut of_server = summary.long_trials.iter().filter(|of| of.server == result.server);
    of_server.find(|of| of.pool_size.is_some())
}
