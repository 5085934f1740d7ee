//! A run as "DNS metrics": the schema of DNS-OARC that several tools write
//! (<https://github.com/DNS-OARC/dns-metrics>, of 2024-05-30), a JSON object per line: a header, statistics by
//! intervals where those were counted, and those of the whole run.

use base::time::NS_PER_S;
use serde_json::{Value, json};

use crate::record::Report;

/// The schema's version, the day of its last change.
const SCHEMA_VERSION: u32 = 20_240_530;

/// The lines for a run that was asked for with the words `params`.
pub(crate) fn lines(report: &Report, params: &[String]) -> String {
    let run_id = format!("{}-{}", report.started_ns, report.load.seed);
    let mut objects = vec![header(report, params)];
    objects.extend(periodic(report));
    objects.push(summary(report));
    let lines = objects.into_iter().map(|mut object| {
        object["runid"] = Value::from(run_id.as_str());
        object.to_string() + "\n"
    });
    lines.collect()
}

fn header(report: &Report, params: &[String]) -> Value {
    let load = &report.load;
    let interval_s = load.timeline.as_ref().map_or(load.duration_s, |timeline| timeline.interval_s);
    json!({
        "type": "header",
        "schema_version": SCHEMA_VERSION,
        "generator": load.tool,
        "generator_version": load.version,
        "generator_params": params,
        "time_units_per_sec": NS_PER_S,
        "stats_interval": interval_s,
        "timeout": load.deadline_s,
    })
}

/// The intervals: queries by when they came due, answers on time by when they came.
fn periodic(report: &Report) -> impl Iterator<Item = Value> {
    let timeline = report.load.timeline.clone().unwrap_or_default();
    let interval_ns = (timeline.interval_s * NS_PER_S as f64) as u64;
    let started_ns = report.started_ns;
    timeline.points.into_iter().zip(0..).map(move |([due, completed, missed], index)| {
        json!({
            "type": "stats_periodic",
            "since": started_ns + index * interval_ns,
            "until": started_ns + (index + 1) * interval_ns,
            "queries": due,
            "responses": completed,
            "timeouts": missed,
        })
    })
}

fn summary(report: &Report) -> Value {
    let (load, answers) = (&report.load, &report.answers);
    let counts = load.exchanges;
    let faults = answers.faults.values().sum::<u64>() + answers.malformed.values().sum::<u64>();
    json!({
        "type": "stats_sum",
        "since": report.started_ns,
        "until": report.started_ns + (load.duration_s * NS_PER_S as f64) as u64,
        "queries": counts.sent,
        "responses": answers.rcodes.values().sum::<u64>(),
        "timeouts": counts.lost,
        "interrupted": counts.in_flight_at_end,
        "unexpected": faults + answers.repeated + answers.unmatched + answers.foreign,
        "discarded": counts.due - counts.sent,
        "response_rcodes": answers.rcodes,
        "response_latency": latency(report),
        "conn_info": connections(report),
    })
}

/// Latency from the due time, nanoseconds; a bucket is its lowest and highest value and its count.
fn latency(report: &Report) -> Value {
    let (summary, entries) = (&report.load.latency_due, &report.load.histogram_due);
    let ns = |us: f64| (us * 1e3).round() as u64;
    let mean = summary.mean_us * 1e3;
    let squares: f64 = entries
        .iter()
        .map(|&(highest, count)| (middle(highest) - mean).powi(2) * count as f64)
        .sum();
    let deviation = (squares / summary.count.max(1) as f64).sqrt();
    let buckets = entries.iter().map(|&(highest, count)| [lowest(highest), highest, count]);
    json!({
        "avg": ns(summary.mean_us),
        "min": ns(summary.min_us),
        "max": ns(summary.max_us),
        "stddev": deviation.round() as u64,
        "buckets": buckets.collect::<Vec<_>>(),
    })
}

/// The lowest value of the bucket of a histogram whose highest is this ([`base::Histogram`]: 1024 buckets
/// for each power of two).
const fn lowest(highest: u64) -> u64 {
    let bits = u64::BITS - highest.leading_zeros();
    if bits <= 11 { highest } else { highest - ((1 << (bits - 11)) - 1) }
}

fn middle(highest: u64) -> f64 {
    f64::midpoint(lowest(highest) as f64, highest as f64)
}

/// What carried the queries; of a run with both, the datagrams.
fn connections(report: &Report) -> Value {
    let (messages, errors) = (
        report.load.messages,
        report.load.send_refused + report.load.own_socket_drops + report.answers.too_long,
    );
    let tcp = report.connections.unwrap_or_default();
    if report.load.settings["transport"] == "tcp" {
        return json!({
            "type": "tcp",
            "packets_sent": tcp.sent,
            "packets_received": tcp.received,
            "socket_errors": tcp.ended,
            "handshakes": tcp.opened,
            "handshakes_failed": tcp.failed,
        });
    }
    json!({
        "type": "udp",
        "packets_sent": messages.sent - tcp.sent,
        "packets_received": messages.received - tcp.received,
        "socket_errors": errors,
    })
}

#[cfg(test)]
mod tests {
    use base::Histogram;

    use super::*;

    #[test]
    fn buckets_are_those_of_the_histogram() {
        for value in [0, 1, 2_047, 2_048, 2_049, 4_095, 4_096, 4_099, 1_000_000, 123_456_789_012] {
            let mut histogram = Histogram::up_to(1 << 40);
            histogram.record(value);
            let (highest, _) = histogram.entries().next().unwrap();
            let lowest = lowest(highest);
            assert!((lowest..=highest).contains(&value), "{value}: {lowest} to {highest}");
            // The next value below is in another bucket, unless there is none.
            let mut below = Histogram::up_to(1 << 40);
            below.record(lowest.saturating_sub(1));
            assert!(lowest == 0 || below.entries().next().unwrap().0 == lowest - 1, "{value}");
        }
    }
}
