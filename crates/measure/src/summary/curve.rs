//! Load curves: grouping of trials at about the same rate, and reading of a curve.

use std::collections::BTreeMap;

use super::{CurvePoint, LatencyAt};
use crate::record::{ExchangeCounts, LatencySummary, LoadRecord, TrialRecord};

/// Factor of the lowest rate of a group of trials up to which a trial's rate belongs to the same
/// point of the load curve.
const SAME_RATE: f64 = 1.02;
/// Range of fractions of a server's highest rate that count as half of it.
const ABOUT_HALF: core::ops::RangeInclusive<f64> = 0.35..=0.65;

/// Returns the load curve (completed over offered rate) of the trials that count, ascending by
/// offered rate.
pub(super) fn curve(trials: &[&TrialRecord]) -> Vec<CurvePoint> {
    let mut counted: Vec<&TrialRecord> =
        trials.iter().copied().filter(|trial| !trial.is_void()).collect();
    counted.sort_by(|a, b| {
        a.rate_per_s.total_cmp(&b.rate_per_s).then_with(|| a.number.cmp(&b.number))
    });
    let mut points = Vec::new();
    let mut rest = counted.as_slice();
    while let Some(first) = rest.first() {
        let same = rest
            .iter()
            .take_while(|trial| trial.rate_per_s <= first.rate_per_s * SAME_RATE)
            .count();
        let (group, others) = rest.split_at(same);
        points.push(point(group));
        rest = others;
    }
    points
}

/// Makes one point of the load curve from trials at about the same rate.
fn point(group: &[&TrialRecord]) -> CurvePoint {
    let loads = || group.iter().filter_map(|trial| trial.load.as_ref());
    let seconds: f64 = loads().map(|load| load.duration_s).sum();
    let counts = counts(loads());
    let cpu_s: f64 = group.iter().map(|trial| trial.digest.server_cpu_s).sum();
    let per_s = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    CurvePoint {
        offered_per_s: per_s(loads().map(|load| load.offered_per_s * load.duration_s).sum()),
        achieved_per_s: per_s(counts.carried() as f64),
        loss: counts.shortfall(),
        behind: counts.queued_too_long_share(),
        trials: group.len() as u32,
        latency: latency(loads()),
        server_cpus_busy: group
            .iter()
            .all(|trial| trial.has_server_usage())
            .then(|| busy(cpu_s, group.iter().map(|t| t.end_s - t.start_s).sum())),
    }
}

fn busy(cpu_s: f64, elapsed_s: f64) -> f64 {
    if elapsed_s > 0.0 { cpu_s / elapsed_s } else { 0.0 }
}

/// Adds up the counts of exchanges of several generator records.
pub(super) fn counts<'t>(loads: impl Iterator<Item = &'t LoadRecord>) -> ExchangeCounts {
    loads.fold(ExchangeCounts::default(), |mut sum, load| {
        sum.merge(&load.exchanges);
        sum
    })
}

/// Returns the latency of several generator records: a single record's own figures, else those of
/// the added histograms. A record without a histogram cannot be combined; of several such records,
/// the one with the most exchanges is used.
pub(super) fn latency<'t>(loads: impl Iterator<Item = &'t LoadRecord>) -> LatencySummary {
    let loads: Vec<&LoadRecord> = loads.collect();
    if let [only] = loads.as_slice() {
        return only.latency_due.without_unsupported_percentiles();
    }
    let mut entries = BTreeMap::new();
    for &(upper_ns, count) in loads.iter().flat_map(|load| &load.histogram_due) {
        *entries.entry(upper_ns).or_insert(0) += count;
    }
    if !entries.is_empty() {
        return LatencySummary::from_entries(&entries);
    }
    loads
        .iter()
        .map(|load| load.latency_due.without_unsupported_percentiles())
        .max_by_key(|latency| latency.count)
        .unwrap_or_default()
}

/// Returns the latency at the point of the load curve nearest to half of `highest_per_s`.
pub(super) fn half(curve: &[CurvePoint], highest_per_s: f64) -> Option<LatencyAt> {
    let distance = |point: &CurvePoint| (point.offered_per_s / highest_per_s - 0.5).abs();
    curve
        .iter()
        .filter(|point| ABOUT_HALF.contains(&(point.offered_per_s / highest_per_s)))
        .filter(|point| point.latency.count > 0)
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .map(|point| LatencyAt {
            offered_per_s: point.offered_per_s,
            latency: point.latency,
            loss: point.loss,
        })
}
