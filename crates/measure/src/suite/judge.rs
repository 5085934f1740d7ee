//! Judgment of the rows of a suite's table: verdicts on targets, from the summaries of the suite's
//! plans.

use super::{
    FigureKind, PartResult, RowPlan, RowResult, SUITE_SCHEMA, Suite, SuiteSummary, SummaryLine,
    TargetVerdict,
};
use crate::record::{LIMIT_SERVER, Start};
use crate::statistics::{RatioInterval, paired_ratio};
use crate::summary::{Bottleneck, Ratio, RoundResult, RunSummary, ServerResult, pairs};

/// Factor within which a point of the load curve represents a load that a target names.
const NEAR: f64 = 1.25;

/// Value of a figure that a target of a suite judges, with its interval if it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FigureEstimate {
    value: f64,
    interval: Option<(f64, f64)>,
    /// Cause of the figure's value, if it was not the servers.
    bottleneck: Option<Bottleneck>,
}

impl FigureEstimate {
    /// Returns the estimate of a figure without interval.
    const fn plain(value: f64) -> Self {
        Self { value, interval: None, bottleneck: None }
    }
}

impl From<RatioInterval> for FigureEstimate {
    fn from(of: RatioInterval) -> Self {
        let interval = (of.pairs > 1).then_some((of.low, of.high));
        Self { value: of.ratio, interval, bottleneck: None }
    }
}

/// Compares the figures of the plans that were run with the targets of `suite`. `parts` has the
/// result folder (relative to the suite's) and the summary of each plan in the suite's order, or
/// the reason why there is none.
#[must_use]
pub fn judge(suite: &Suite, parts: &[Result<(String, RunSummary), String>]) -> SuiteSummary {
    let rows = suite.rows.iter().map(|row| judge_row(suite, row, parts)).collect();
    let parts = suite.parts.iter().zip(parts).map(|(part, ran)| match ran {
        Ok((folder, summary)) => PartResult {
            plan: part.plan.clone(),
            title: summary.title.clone(),
            folder: folder.clone(),
            failed: None,
            warnings: summary.warnings.clone(),
            lines: lines(summary),
        },
        Err(why) => PartResult {
            plan: part.plan.clone(),
            failed: Some(why.clone()),
            ..PartResult::default()
        },
    });
    SuiteSummary {
        schema: SUITE_SCHEMA.to_owned(),
        name: suite.name.clone(),
        title: suite.title.clone(),
        rows,
        parts: parts.collect(),
        ..SuiteSummary::default()
    }
}

fn lines(summary: &RunSummary) -> Vec<SummaryLine> {
    let limit = summary.limit.as_ref().map(|limit| SummaryLine {
        server: LIMIT_SERVER.to_owned(),
        leases_per_s: Some(limit.leases_per_s),
        ..SummaryLine::default()
    });
    summary.results.iter().map(SummaryLine::from_result).chain(limit).collect()
}

fn judge_row(
    suite: &Suite,
    row: &RowPlan,
    parts: &[Result<(String, RunSummary), String>],
) -> RowResult {
    let estimate = match &row.not_measured {
        Some(why) => Err(why.clone()),
        None => match suite.parts.iter().zip(parts).find(|(part, _)| part.plan == row.part) {
            Some((_, Ok((_, summary)))) => row_figure(row, summary),
            Some((_, Err(why))) => Err(why.clone()),
            None => Err("the plan was not run".to_owned()),
        },
    };
    let of = match (row.not_measured.is_some(), row.to.is_empty()) {
        (true, _) => String::new(),
        (_, true) => format!("{}: {}", row.of, row.figure.words()),
        (_, false) => format!("{} over {}: {}", row.of, row.to, row.figure.words()),
    };
    let (sign, bound) = match (row.at_least, row.at_most) {
        (Some(bound), _) => ("≥", bound),
        (_, Some(bound)) => ("≤", bound),
        _ => ("", f64::NAN),
    };
    let (estimate, note) = match estimate {
        Ok(estimate) => {
            let why = estimate.bottleneck.map(Bottleneck::words).unwrap_or_default();
            (Some(estimate), why.to_owned())
        }
        Err(why) => (None, why),
    };
    RowResult {
        name: row.name.clone(),
        of,
        target: if bound.is_nan() { String::new() } else { format!("{sign} {bound}") },
        value: estimate.map(|estimate| estimate.value),
        low: estimate.and_then(|estimate| Some(estimate.interval?.0)),
        high: estimate.and_then(|estimate| Some(estimate.interval?.1)),
        verdict: estimate.map_or(TargetVerdict::NotMeasured, |estimate| verdict(estimate, row)),
        note,
    }
}

fn verdict(estimate: FigureEstimate, row: &RowPlan) -> TargetVerdict {
    let meets = |value: f64| {
        row.at_least.is_none_or(|least| value >= least)
            && row.at_most.is_none_or(|most| value <= most)
    };
    if row.is_stated {
        return TargetVerdict::Stated;
    }
    if estimate.bottleneck.is_some() {
        return TargetVerdict::NotJudged;
    }
    let ends = estimate.interval.map(|(low, high)| (meets(low), meets(high)));
    match (meets(estimate.value), ends) {
        (true, Some((true, true))) => TargetVerdict::Met,
        (true, _) => TargetVerdict::MetByFigure,
        (false, Some((false, false))) => TargetVerdict::Missed,
        (false, _) => TargetVerdict::MissedByFigure,
    }
}

fn row_figure(row: &RowPlan, summary: &RunSummary) -> Result<FigureEstimate, String> {
    let line = |name: &str| {
        let result = summary.results.iter().find(|result| result.server == name);
        result.ok_or_else(|| format!("nothing was measured of {name}"))
    };
    let of = line(&row.of);
    match row.figure {
        FigureKind::LeasesPerSecond => {
            of?;
            let estimate = ratio(row, summary, |ratio| ratio.leases_per_s)?;
            Ok(FigureEstimate { bottleneck: bottleneck(row, summary), ..estimate })
        }
        FigureKind::LeasesPerCpuSecond => {
            of?;
            ratio(row, summary, |ratio| ratio.leases_per_cpu_s)
        }
        FigureKind::ExchangesPerGeneratorCpuSecond => generators(of?, line(&row.to)?),
        FigureKind::ShareOfLimit => {
            let of = of?;
            // This row asks whether a server reaches the limit, so that bottleneck is no objection.
            let bottleneck = of.bottleneck.filter(|of| *of == Bottleneck::Generator);
            Ok(FigureEstimate { bottleneck, ..share_of_limit(of, summary)? })
        }
        FigureKind::ShareOfLimitPerCpuSecond => share_per_cpu_second(of?, summary),
        FigureKind::LatencyAtHalf => {
            let p99_us = |result: &ServerResult| {
                result
                    .latency_half
                    .and_then(|at| at.latency.p99_us)
                    .ok_or_else(|| format!("no latency of {} at half load", result.server))
            };
            Ok(FigureEstimate::plain(p99_us(of?)? / p99_us(line(&row.to)?)?))
        }
        FigureKind::LatencyAtSameRate => latency_at_same_rate(of?, line(&row.to)?),
        FigureKind::OfferedOverLimit => offered_over_limit(summary),
        FigureKind::StartUp => {
            let took_s = |line: &str| start(line, summary).map(|start| start.took_s);
            Ok(FigureEstimate::plain(took_s(&row.of)? / took_s(&row.to)?))
        }
        FigureKind::BytesPerLease => {
            let bytes = |line: &str| start(line, summary).map(|start| start.rss_bytes as f64);
            Ok(FigureEstimate::plain((bytes(&row.of)? - bytes(&row.to)?) / row.leases))
        }
        FigureKind::Goodput => goodput(of?, row.fraction),
        FigureKind::Avalanche => avalanche(of?),
    }
}

/// Returns the first start of the server of a line (a server as configured); the fastest one if
/// there are several variants.
fn start<'s>(line: &str, summary: &'s RunSummary) -> Result<&'s Start, String> {
    let of_line = summary.starts.iter().filter(|start| start.server == line && start.took_s > 0.0);
    of_line
        .min_by(|a, b| a.took_s.total_cmp(&b.took_s))
        .ok_or_else(|| format!("the time of no start of {line} was measured"))
}

/// Returns the ratio of the two lines of a suite's row, whichever of them is above the other in the
/// summary.
fn ratio(
    row: &RowPlan,
    summary: &RunSummary,
    figure: impl Fn(&Ratio) -> Option<RatioInterval>,
) -> Result<FigureEstimate, String> {
    let between = |above: &str, below: &str| {
        let summary_ratio = summary.ratios.iter().find(|r| r.server == above && r.to == below);
        summary_ratio.and_then(&figure).map(FigureEstimate::from)
    };
    let inverted = |estimate: FigureEstimate| FigureEstimate {
        value: 1.0 / estimate.value,
        interval: estimate.interval.map(|(low, high)| (1.0 / high, 1.0 / low)),
        ..estimate
    };
    between(&row.of, &row.to)
        .or_else(|| between(&row.to, &row.of).map(inverted))
        .ok_or_else(|| format!("no round has a figure of both {} and {}", row.of, row.to))
}

/// Returns the cause of the ratio of the two lines of a suite's row, if it was not the servers.
fn bottleneck(row: &RowPlan, summary: &RunSummary) -> Option<Bottleneck> {
    let is_between = |r: &&Ratio| {
        let names = (r.server.as_str(), r.to.as_str());
        names == (row.of.as_str(), row.to.as_str()) || names == (row.to.as_str(), row.of.as_str())
    };
    summary.ratios.iter().find(is_between)?.bottleneck
}

/// Compares the results of two load generators with the same server.
fn generators(of: &ServerResult, to: &ServerResult) -> Result<FigureEstimate, String> {
    let figure = |round: &RoundResult| round.exchanges_per_generator_cpu_s;
    paired_ratio(&pairs(&of.rounds, &to.rounds, |round| round.round, figure))
        .map(FigureEstimate::from)
        .ok_or_else(|| format!("no round has generators of both {} and {}", of.server, to.server))
}

/// Returns the share of the rate of the limit responder (a program that returns every datagram)
/// that `of` reached: round by round if both have rounds, else of the figures.
fn share_of_limit(of: &ServerResult, summary: &RunSummary) -> Result<FigureEstimate, String> {
    let pairs = pairs_with_limit(of, summary, |round| Some(round.leases_per_s))?;
    let share = || of.share_of_limit.map(FigureEstimate::plain);
    let widened = |of: RatioInterval| of.widened(summary.plan.search.resolution());
    let paired = paired_ratio(&pairs).map(|of| FigureEstimate::from(widened(of)));
    paired.or_else(share).ok_or_else(|| format!("no rate of {} was confirmed", of.server))
}

fn share_per_cpu_second(of: &ServerResult, summary: &RunSummary) -> Result<FigureEstimate, String> {
    let pairs = pairs_with_limit(of, summary, |round| round.leases_per_cpu_s)?;
    let paired = paired_ratio(&pairs).map(FigureEstimate::from);
    paired.ok_or_else(|| {
        format!("no round has processor time of {} and of the limit responder", of.server)
    })
}

/// Returns the pairs of a figure of the line `of` (a server as configured) and of the limit
/// responder (a program that returns every datagram), for each round that both have.
fn pairs_with_limit(
    of: &ServerResult,
    summary: &RunSummary,
    figure: impl Fn(&RoundResult) -> Option<f64>,
) -> Result<Vec<(f64, f64)>, String> {
    let limit = summary.limit.as_ref().ok_or("the limit responder was not measured")?;
    Ok(pairs(&of.rounds, &limit.rounds, |round| round.round, figure))
}

/// Compares latencies of the lines `of` and `to` at half of the highest rate of `to`, with the load
/// of `of` nearest to it.
fn latency_at_same_rate(of: &ServerResult, to: &ServerResult) -> Result<FigureEstimate, String> {
    let half = to.latency_half.and_then(|at| Some((at.offered_per_s, at.latency.p99_us?)));
    let (half_per_s, half_us) =
        half.ok_or_else(|| format!("no latency of {} at half load", to.server))?;
    let distance = |offered: f64| (offered / half_per_s).ln().abs();
    let points =
        of.curve.iter().filter_map(|point| Some((point.offered_per_s, point.latency.p99_us?)));
    let nearest = points
        .filter(|(offered, _)| distance(*offered) <= NEAR.ln())
        .min_by(|(a, _), (b, _)| distance(*a).total_cmp(&distance(*b)));
    let (_, us) = nearest
        .ok_or_else(|| format!("{} was not loaded with about {:.0}/s", of.server, half_per_s))?;
    Ok(FigureEstimate::plain(us / half_us))
}

/// Returns the highest offered rate over the limit responder's highest rate. A generator that is
/// late makes its trial void, and a void trial is not in the curve.
fn offered_over_limit(summary: &RunSummary) -> Result<FigureEstimate, String> {
    let limit = summary.limit.as_ref().ok_or("the limit responder was not measured")?;
    let highest = limit.curve.iter().map(|point| point.offered_per_s).fold(0.0, f64::max);
    Ok(FigureEstimate::plain(highest / limit.leases_per_s))
}

fn goodput(of: &ServerResult, fraction: f64) -> Result<FigureEstimate, String> {
    let highest =
        of.leases_per_s.ok_or_else(|| format!("no rate of {} was confirmed", of.server))?;
    let distance = |offered: f64| (offered / (highest * fraction)).ln().abs();
    let nearest = of
        .curve
        .iter()
        .filter(|point| distance(point.offered_per_s) <= NEAR.ln())
        .min_by(|a, b| distance(a.offered_per_s).total_cmp(&distance(b.offered_per_s)));
    let point = nearest.ok_or_else(|| {
        format!("{} was not loaded with {fraction} × its highest rate", of.server)
    })?;
    Ok(FigureEstimate::plain(point.achieved_per_s / highest))
}

fn avalanche(of: &ServerResult) -> Result<FigureEstimate, String> {
    let none = || format!("{} did not serve all clients at once", of.server);
    let (all, highest) = of.avalanche.zip(of.leases_per_s).ok_or_else(none)?;
    Ok(FigureEstimate::plain(all.took_s * highest / all.clients as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::LatencySummary;
    use crate::summary::{AvalancheResult, CurvePoint, LatencyAt, LimitResult};

    fn row(of: &str, to: &str) -> RowPlan {
        RowPlan {
            name: "r".into(),
            part: "p".into(),
            of: of.into(),
            to: to.into(),
            at_least: Some(2.0),
            ..RowPlan::default()
        }
    }

    fn summary() -> RunSummary {
        let rounds = |rates: [f64; 2]| {
            let round = |(round, &leases_per_s): (usize, &f64)| RoundResult {
                round: round as u32,
                leases_per_s,
                ..RoundResult::default()
            };
            rates.iter().enumerate().map(round).collect::<Vec<_>>()
        };
        let result = |server: &str, rate| ServerResult {
            server: server.into(),
            leases_per_s: Some(rate),
            rounds: rounds([rate, rate]),
            curve: vec![CurvePoint {
                offered_per_s: 3.1 * rate,
                achieved_per_s: 0.9 * rate,
                ..CurvePoint::default()
            }],
            ..ServerResult::default()
        };
        let interval = RatioInterval { ratio: 3.0, low: 2.5, high: 3.5, pairs: 3 };
        RunSummary {
            title: "P".into(),
            results: vec![result("a", 30.0), result("b", 10.0)],
            ratios: vec![Ratio {
                server: "a".into(),
                to: "b".into(),
                leases_per_s: Some(interval),
                leases_per_cpu_s: None,
                is_at_most: false,
                bottleneck: None,
                is_at_least: false,
            }],
            limit: Some(LimitResult { rounds: rounds([40.0, 40.0]), ..LimitResult::default() }),
            ..RunSummary::default()
        }
    }

    fn judged(row: RowPlan) -> RowResult {
        let part =
            super::super::SuitePart { plan: "p".into(), ..super::super::SuitePart::default() };
        let suite = Suite { parts: vec![part], rows: vec![row], ..Suite::default() };
        judge(&suite, &[Ok(("f".into(), summary()))]).rows.remove(0)
    }

    #[test]
    fn a_verdict_says_no_more_than_the_interval_carries() {
        for (at_least, verdict) in [
            (2.0, TargetVerdict::Met),
            (2.8, TargetVerdict::MetByFigure),
            (3.2, TargetVerdict::MissedByFigure),
            (4.0, TargetVerdict::Missed),
        ] {
            let result = judged(RowPlan { at_least: Some(at_least), ..row("a", "b") });
            assert_eq!((result.value, result.verdict), (Some(3.0), verdict), "{at_least}");
        }
        let most = RowPlan { at_least: None, at_most: Some(0.5), ..row("b", "a") };
        let result = judged(most);
        assert_eq!((result.value, result.verdict), (Some(1.0 / 3.0), TargetVerdict::Met));
        assert_eq!((result.low, result.high), (Some(1.0 / 3.5), Some(1.0 / 2.5)));
        assert_eq!(result.target, "≤ 0.5");
    }

    #[test]
    fn a_ratio_that_generator_or_limit_have_set_is_not_judged_and_the_row_says_why() {
        let part =
            super::super::SuitePart { plan: "p".into(), ..super::super::SuitePart::default() };
        let share =
            RowPlan { figure: FigureKind::ShareOfLimit, at_least: Some(0.7), ..row("a", "") };
        let rows = vec![row("a", "b"), RowPlan { is_stated: true, ..row("b", "a") }, share];
        let suite = Suite { parts: vec![part], rows, ..Suite::default() };
        for bound in [Bottleneck::Generator, Bottleneck::Limit] {
            let mut summary = summary();
            summary.ratios[0].bottleneck = Some(bound);
            summary.results[0].bottleneck = Some(bound);
            let judged = judge(&suite, &[Ok(("f".into(), summary))]);
            let verdicts: Vec<TargetVerdict> = judged.rows.iter().map(|row| row.verdict).collect();
            let share = match bound {
                Bottleneck::Generator => TargetVerdict::NotJudged,
                Bottleneck::Limit => TargetVerdict::Met,
            };
            assert_eq!(verdicts, [TargetVerdict::NotJudged, TargetVerdict::Stated, share]);
            let first = &judged.rows[0];
            assert_eq!((first.value, first.note.as_str()), (Some(3.0), bound.words()));
            assert_eq!(first.words(), "not judged");
        }
    }

    #[test]
    fn shares_of_the_limit_are_taken_round_by_round() {
        let share = RowPlan { figure: FigureKind::ShareOfLimit, ..row("a", "") };
        let result = judged(RowPlan { at_least: Some(0.74), ..share });
        assert!((result.value.unwrap() - 0.75).abs() < 1e-9, "{result:?}");
        assert_eq!(result.verdict, TargetVerdict::MetByFigure, "the search tells no closer");
        let per_cpu = RowPlan { figure: FigureKind::ShareOfLimitPerCpuSecond, ..row("a", "") };
        let result = judged(per_cpu.clone());
        assert_eq!(result.note, "no round has processor time of a and of the limit responder");
        let mut summary = summary();
        let limit = summary.limit.as_mut().unwrap().rounds.iter_mut();
        for round in limit.chain(summary.results[0].rounds.iter_mut()) {
            round.leases_per_cpu_s = Some(round.leases_per_s * 2.0 - 20.0);
        }
        let estimate = row_figure(&per_cpu, &summary).unwrap();
        assert!((estimate.value - 40.0 / 60.0).abs() < 1e-9, "{estimate:?}");
    }

    #[test]
    fn generators_are_compared_round_by_round() {
        let row = RowPlan { figure: FigureKind::ExchangesPerGeneratorCpuSecond, ..row("a", "b") };
        assert_eq!(
            row_figure(&row, &summary()).unwrap_err(),
            "no round has generators of both a and b"
        );
        let mut summary = summary();
        for result in &mut summary.results {
            for round in &mut result.rounds {
                round.exchanges_per_generator_cpu_s = Some(2.0 * round.leases_per_s);
            }
        }
        assert!((row_figure(&row, &summary).unwrap().value - 3.0).abs() < 1e-9);
    }

    #[test]
    fn starts_and_memory_are_compared_line_by_line() {
        let start = |server: &str, took_s, rss_bytes| Start {
            server: server.into(),
            took_s,
            rss_bytes,
            ..Start::default()
        };
        let starts = vec![
            start("a", 9.0, 250_000_000),
            start("a", 6.0, 250_000_000),
            start("b", 0.2, 50_000_000),
        ];
        let summary = RunSummary { starts, ..summary() };
        let startup = RowPlan { figure: FigureKind::StartUp, ..row("a", "b") };
        assert_eq!(row_figure(&startup, &summary).unwrap().value, 6.0 / 0.2);
        let bytes = RowPlan { figure: FigureKind::BytesPerLease, leases: 1e6, ..row("a", "b") };
        assert_eq!(row_figure(&bytes, &summary).unwrap().value, 200.0);
    }

    #[test]
    fn latencies_are_compared_at_the_same_rate_where_both_had_it() {
        let same = RowPlan { figure: FigureKind::LatencyAtSameRate, ..row("a", "b") };
        let mut summary = summary();
        let at = |offered_per_s, p99_us| LatencyAt {
            offered_per_s,
            latency: LatencySummary {
                count: 9_000,
                p99_us: Some(p99_us),
                ..LatencySummary::default()
            },
            loss: 0.0,
        };
        summary.results[1].latency_half = Some(at(5.0, 800.0));
        let missing = row_figure(&same, &summary).unwrap_err();
        assert_eq!(missing, "a was not loaded with about 5/s");
        let point = |of: LatencyAt| CurvePoint {
            offered_per_s: of.offered_per_s,
            latency: of.latency,
            ..CurvePoint::default()
        };
        summary.results[0].curve.extend([point(at(5.1, 200.0)), point(at(5.9, 999.0))]);
        assert_eq!(row_figure(&same, &summary).unwrap().value, 0.25);
        let stated = RowPlan { is_stated: true, at_least: None, ..same };
        let estimate = FigureEstimate { value: 0.25, interval: None, bottleneck: None };
        assert_eq!(verdict(estimate, &stated), TargetVerdict::Stated);
    }

    #[test]
    fn a_generator_offers_more_than_the_limit_takes_or_it_is_the_limit() {
        let offered = RowPlan { figure: FigureKind::OfferedOverLimit, ..row("limit", "") };
        let mut summary = summary();
        let limit = summary.limit.as_mut().unwrap();
        limit.leases_per_s = 40.0;
        let point = |offered_per_s| CurvePoint { offered_per_s, ..CurvePoint::default() };
        limit.curve = vec![point(40.0), point(48.0), point(20.0)];
        assert_eq!(row_figure(&offered, &summary).unwrap().value, 1.2);
    }

    #[test]
    fn all_at_once_is_set_over_one_after_the_other() {
        let row = RowPlan { figure: FigureKind::Avalanche, ..row("a", "") };
        let mut summary = summary();
        assert_eq!(row_figure(&row, &summary).unwrap_err(), "a did not serve all clients at once");
        summary.results[0].avalanche = Some(AvalancheResult { clients: 300, took_s: 12.0 });
        assert_eq!(row_figure(&row, &summary).unwrap().value, 1.2);
    }

    #[test]
    fn goodput_is_that_of_the_nearest_load() {
        let goodput = RowPlan { figure: FigureKind::Goodput, fraction: 3.0, ..row("a", "") };
        let result = judged(RowPlan { at_least: Some(0.8), ..goodput.clone() });
        assert_eq!((result.value, result.verdict), (Some(0.9), TargetVerdict::MetByFigure));
        let far = judged(RowPlan { fraction: 6.0, ..goodput });
        assert_eq!(far.verdict, TargetVerdict::NotMeasured);
        assert!(far.note.contains("6 × its highest rate"), "{}", far.note);
    }

    #[test]
    fn what_was_not_measured_says_why() {
        assert!(judged(row("c", "b")).note.contains("nothing was measured of c"));
        let unmeasured = RowPlan { not_measured: Some("later".into()), ..row("a", "b") };
        let result = judged(unmeasured);
        assert_eq!((result.verdict, result.note.as_str()), (TargetVerdict::NotMeasured, "later"));
        let part =
            super::super::SuitePart { plan: "p".into(), ..super::super::SuitePart::default() };
        let suite = Suite { parts: vec![part], rows: vec![row("a", "b")], ..Suite::default() };
        let all = judge(&suite, &[Err("kea is missing".into())]);
        assert_eq!(all.rows[0].note, "kea is missing");
        assert_eq!(all.parts[0].failed.as_deref(), Some("kea is missing"));
    }
}
