//! DNS load run in the schema "DNS metrics" of DNS-OARC, which several tools write
//! (<https://github.com/DNS-OARC/dns-metrics>, of 2024-05-30), a JSON object per line: a header,
//! statistics by intervals where the run counted them, and those of the whole run.

use std::iter;

use base::time::NS_PER_S;
use measure::record::LatencySummary;
use serde_json::{Value, json};

use crate::record::DnsLoadReport;

/// Version of the schema "DNS metrics": the day of its last change.
const SCHEMA_VERSION: u32 = 20_240_530;

/// Returns the lines of "DNS metrics" for a run with the command line `params`.
pub(crate) fn lines(report: &DnsLoadReport, params: &[String]) -> String {
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

fn header(report: &DnsLoadReport, params: &[String]) -> Value {
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

/// Returns the statistics of each interval: queries that left by their due times, answers by their
/// times of arrival. Their sums are those of [`summary`].
fn periodic(report: &DnsLoadReport) -> impl Iterator<Item = Value> {
    let timeline = report.load.timeline.clone().unwrap_or_default();
    let interval_ns = (timeline.interval_s * NS_PER_S as f64) as u64;
    let started_ns = report.started_ns;
    let answers = timeline.answers.into_iter().chain(iter::repeat([0; 3]));
    timeline.points.into_iter().zip(answers).zip(0..).map(move |((_, counts), index)| {
        let [sent, answered, silent] = counts;
        json!({
            "type": "stats_periodic",
            "since": started_ns + index * interval_ns,
            "until": started_ns + (index + 1) * interval_ns,
            "queries": sent,
            "responses": answered,
            "timeouts": silent,
        })
    })
}

fn summary(report: &DnsLoadReport) -> Value {
    let (load, answers) = (&report.load, &report.answers);
    let counts = load.exchanges;
    let faults = answers.faults.values().sum::<u64>() + answers.malformed.values().sum::<u64>();
    json!({
        "type": "stats_sum",
        "since": report.started_ns,
        "until": report.started_ns + (load.duration_s * NS_PER_S as f64) as u64,
        "queries": counts.sent,
        "responses": answers.rcodes.values().sum::<u64>(),
        "timeouts": counts.lost.saturating_sub(counts.due - counts.sent),
        "interrupted": counts.in_flight_at_end,
        "unexpected": faults + answers.repeated + answers.unmatched + answers.foreign,
        "discarded": counts.due - counts.sent,
        "response_rcodes": answers.rcodes,
        "response_latency": latency(report),
        "conn_info": connections(report),
    })
}

/// Returns the latency of all responses from the due time, in nanoseconds; a bucket is its lowest
/// and highest value and its count.
fn latency(report: &DnsLoadReport) -> Value {
    let histogram = &report.response_latency.0;
    let summary = LatencySummary::from_histogram(histogram);
    let entries: Vec<_> = histogram.entries().collect();
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

/// Returns the lowest value of a histogram's bucket whose highest value is `highest`
/// ([`base::Histogram`]: 1024 buckets for each power of two).
const fn lowest(highest: u64) -> u64 {
    let bits = u64::BITS - highest.leading_zeros();
    if bits <= 11 { highest } else { highest - ((1 << (bits - 11)) - 1) }
}

fn middle(highest: u64) -> f64 {
    f64::midpoint(lowest(highest) as f64, highest as f64)
}

/// Returns the counts of the run's transport; for a run with UDP and TCP, those of the datagrams.
fn connections(report: &DnsLoadReport) -> Value {
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
    use base::time::NS_PER_MS;
    use dns_wire::Query;
    use load::{ExchangeTimeLimits, LoadRate, ThreadShare};
    use netio::send::SendCounts;

    use super::*;
    use crate::drive::DnsThreadResult;
    use crate::exchanges::Exchanges;
    use crate::identities::QueryIdentities;
    use crate::queries::QueryWorkload;
    use crate::settings::DnsLoadSettings;
    use crate::tcp::ConnectionCounts;

    const QUERIES: u64 = 200;
    const LIMITS: ExchangeTimeLimits =
        ExchangeTimeLimits { deadline_ns: 100 * NS_PER_MS, grace_ns: 900 * NS_PER_MS };

    /// Plays queries that came due every 10 ms, every tenth refused (`refused10`), every tenth late
    /// (`delay10`), every tenth without an answer and every tenth never sent.
    fn played() -> (DnsLoadSettings, DnsThreadResult) {
        let query = Query::PLAIN;
        let workload = QueryWorkload::parse("queries", b"a.example A\n", query).unwrap();
        let rate = LoadRate::per_second(100.0).unwrap();
        let settings = DnsLoadSettings {
            limits: LIMITS,
            duration_ns: 2 * NS_PER_S,
            timeline_ns: Some(NS_PER_S / 2),
            ..DnsLoadSettings::new("192.0.2.1:53".parse().unwrap(), workload, rate)
        };
        let identities = QueryIdentities { ports: 1, id_base: 7 };
        let share = ThreadShare { thread: 0, threads: 1 };
        let mut exchanges =
            Exchanges::new(identities, LIMITS, &settings.workload, share, 4 * QUERIES);
        exchanges.keep_timeline(load::Timeline::new(0, NS_PER_S / 2, 8));
        let mut buffer = [0; 512];
        let mut in_flight = Vec::new();
        for number in 0..QUERIES {
            let due_ns = number * 10 * NS_PER_MS;
            let sent = exchanges.begin(due_ns, &mut buffer).unwrap();
            if number % 10 == 3 {
                continue;
            }
            exchanges.record_departure(sent.number, due_ns.max(1));
            let mut answer = buffer[..sent.len].to_vec();
            answer[2] |= 0x80;
            answer[3] |= if number % 10 == 5 { 5 } else { 0 };
            let delay_ns = if number % 10 == 7 { 500 * NS_PER_MS } else { NS_PER_MS };
            if number % 10 != 9 {
                in_flight.push((due_ns + delay_ns, answer));
            }
        }
        in_flight.sort_unstable();
        for (at_ns, answer) in in_flight {
            exchanges.handle_datagram(at_ns, 0, &answer);
        }
        let result = DnsThreadResult {
            answered: exchanges.finish(),
            sends: SendCounts::default(),
            connections: ConnectionCounts::default(),
            socket_drops: 0,
            too_long: 0,
            cpu_ns: 0,
            segmentation: false,
            stopped_ns: None,
            ran_out_ns: None,
        };
        (settings.clone(), result)
    }

    #[test]
    fn the_intervals_add_up_to_the_sum_and_every_response_has_a_latency() {
        let (settings, result) = played();
        let report = DnsLoadReport::from_threads(&settings, 0, vec![result], None);
        let objects: Vec<Value> =
            lines(&report, &[]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of_kind = |kind: &'static str| objects.iter().filter(move |one| one["type"] == kind);
        let sum = of_kind("stats_sum").next().unwrap();
        for (name, truth) in [("queries", 180), ("responses", 160), ("timeouts", 20)] {
            let intervals: u64 =
                of_kind("stats_periodic").map(|one| one[name].as_u64().unwrap()).sum();
            assert_eq!((sum[name].as_u64(), intervals), (Some(truth), truth), "{name}");
        }
        assert_eq!(sum["discarded"], 20);
        assert_eq!(sum["response_rcodes"]["REFUSED"], 20);
        let latency = &sum["response_latency"];
        let buckets = latency["buckets"].as_array().unwrap();
        let counted: u64 = buckets.iter().map(|bucket| bucket[2].as_u64().unwrap()).sum();
        assert_eq!((counted, latency["max"].as_u64()), (160, Some(500 * NS_PER_MS)));
    }

    #[test]
    fn buckets_are_those_of_the_histogram() {
        for value in [0, 1, 2_047, 2_048, 2_049, 4_095, 4_096, 4_099, 1_000_000, 123_456_789_012] {
            let mut histogram = Histogram::up_to(1 << 40);
            histogram.record(value);
            let (highest, _) = histogram.entries().next().unwrap();
            let lowest = lowest(highest);
            assert!((lowest..=highest).contains(&value), "{value}: {lowest} to {highest}");
            // The next lower value is in another bucket, unless there is none.
            let mut below = Histogram::up_to(1 << 40);
            below.record(lowest.saturating_sub(1));
            assert!(lowest == 0 || below.entries().next().unwrap().0 == lowest - 1, "{value}");
        }
    }
}
