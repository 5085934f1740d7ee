//! Result of a DNS load run: the record `godwit.load.v1`, fields that only DNS has, and the summary
//! for a person.

use std::collections::BTreeMap;
use std::fmt;

use base::time::seconds;
use dns_wire::{DnsMessageDefect, Rcode};
use load::{Health, LoadShape};
use measure::record::{LoadRecord, MessageCounts};
use netio::Clock;
use netio::send::SendCounts;
use serde::Serialize;
use serde_json::{Value, json};

use crate::drive::DnsThreadResult;
use crate::exchanges::{Answered, ResponseLatency};
use crate::run::port_buffer_bytes;
use crate::settings::{DnsLoadSettings, Transport};
use crate::tally::{AnswerFault, DnsMessageTally};
use crate::tcp::ConnectionCounts;

/// Load record with the details of a DNS run. In JSON all fields are in one object; readers of
/// `godwit.load.v1` skip fields that they do not know. In this record `nak` is an answer in time
/// with another response code than NOERROR and NXDOMAIN, and `wrong_client` one with another
/// question or another answer than the expected one.
#[derive(Clone, Debug, Serialize)]
pub struct DnsLoadReport {
    /// Load record in the form that all generators write.
    #[serde(flatten)]
    pub load: LoadRecord,
    /// Due time of the run's first query, in nanoseconds since 1970.
    pub started_ns: u64,
    /// True if the run was ended before its planned end.
    pub interrupted: bool,
    /// Counts of received datagrams and messages, by kind.
    pub answers: AnswerCounts,
    /// Latency of every answer that `answers.rcodes` counts, from the due time.
    #[serde(skip)]
    pub response_latency: ResponseLatency,
    /// Time from sending to answer of every query in `load.latency_sent`.
    #[serde(skip)]
    pub latency_sent: ResponseLatency,
    /// Time from the first due time to the end of the schedule or the last answer, whichever is
    /// later, in seconds.
    #[serde(skip)]
    pub run_time_s: f64,
    /// Counts of the run's TCP connections; `None` over UDP alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<ConnectionCounts>,
    /// Size of each port's receive buffer, in bytes of kernel memory; 0 over TCP alone.
    pub receive_buffer_bytes: u64,
    /// Number of the run's `sendmmsg` calls.
    pub send_calls: u64,
    /// Number of the run's sends that found the socket or the device full and had to wait.
    pub send_stalls: u64,
    /// Warnings about the run that the reader must know before believing the figures.
    pub warnings: Vec<String>,
}

/// Counts of received datagrams, and of messages over TCP, each counted once in `rcodes`,
/// `asked_again`, `repeated`, `faults`, `malformed`, `unmatched` or `foreign`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AnswerCounts {
    /// Numbers of first answers to queries, also late ones, by response code.
    pub rcodes: BTreeMap<String, u64>,
    /// Number of truncated datagrams after which the query was sent again over TCP.
    pub asked_again: u64,
    /// Number of further answers to queries that had an answer already.
    pub repeated: u64,
    /// Numbers of messages with port and identifier of a query that are no valid answer to it, by
    /// the fault.
    pub faults: BTreeMap<&'static str, u64>,
    /// Numbers of received datagrams that are no valid DNS messages, by the defect.
    pub malformed: BTreeMap<&'static str, u64>,
    /// Number of messages that belong to no query that is watched.
    pub unmatched: u64,
    /// Number of datagrams from other addresses than the server's.
    pub foreign: u64,
    /// Number of first answers with the flag TC (truncated) set.
    pub truncated: u64,
    /// Number of first answers that came after their deadline.
    pub late: u64,
    /// Number of datagrams longer than the largest accepted answer, which no other count includes.
    pub too_long: u64,
}

/// Sum of the results of all generator threads.
#[derive(Default)]
struct DnsResultSum {
    answered: Answered,
    sends: SendCounts,
    connections: ConnectionCounts,
    health: Health,
    too_long: u64,
    cpu_ns: u64,
    segmentation: bool,
    stopped_ns: Option<u64>,
    /// Time at which the last of a limited number of queries was begun, in nanoseconds of the
    /// monotonic clock, if every thread has begun all of its queries.
    ran_out_ns: Option<u64>,
}

fn add_up(results: Vec<DnsThreadResult>) -> DnsResultSum {
    let mut sum =
        DnsResultSum { segmentation: true, ran_out_ns: Some(0), ..DnsResultSum::default() };
    for result in results {
        sum.answered.ledger.merge(&result.answered.ledger);
        sum.answered.tally.merge(&result.answered.tally);
        sum.answered.timeline.merge(&result.answered.timeline);
        sum.answered.answered_ns = sum.answered.answered_ns.max(result.answered.answered_ns);
        sum.answered.response_latency.0.merge(&result.answered.response_latency.0);
        sum.sends.merge(&result.sends);
        sum.connections.merge(&result.connections);
        sum.health.socket_drops += result.socket_drops;
        sum.too_long += result.too_long;
        sum.cpu_ns += result.cpu_ns;
        sum.segmentation &= result.segmentation;
        sum.stopped_ns = sum.stopped_ns.max(result.stopped_ns);
        sum.ran_out_ns = sum.ran_out_ns.zip(result.ran_out_ns).map(|(ns, own)| ns.max(own));
    }
    sum.health.sends_refused = sum.sends.refused;
    sum
}

impl DnsLoadReport {
    /// Builds the report of a run whose queries came due from `start_ns` on.
    pub(crate) fn from_threads(
        settings: &DnsLoadSettings,
        start_ns: u64,
        results: Vec<DnsThreadResult>,
        receive_buffer_bytes: Option<usize>,
    ) -> Self {
        let sum = add_up(results);
        let planned_end_ns = start_ns + settings.duration_ns;
        // The time of a query is that until the next one would be due.
        let gap_ns = match settings.shape {
            _ if settings.window.is_some() => 0,
            LoadShape::Replay(_) => 0,
            LoadShape::Burst(count) => settings.rate.offset_ns(count.into()),
            _ => settings.rate.offset_ns(1),
        };
        let ended_ns = sum.ran_out_ns.map(|ns| ns + gap_ns).or(sum.stopped_ns);
        let end_ns = ended_ns.map_or(planned_end_ns, |ns| ns.clamp(start_ns, planned_end_ns));
        let requested_bytes = port_buffer_bytes(settings);
        let granted_bytes = receive_buffer_bytes.unwrap_or(requested_bytes);
        let mut warnings = Vec::new();
        if granted_bytes < requested_bytes {
            warnings.push(format!(
                "the kernel granted a receive buffer of {granted_bytes} bytes instead of \
                 {requested_bytes}; raise net.core.rmem_max or run with CAP_NET_ADMIN"
            ));
        }
        if sum.too_long > 0 {
            warnings.push(format!(
                "{} answers were longer than {} bytes and count as lost",
                sum.too_long, settings.answer_bytes
            ));
        }
        Self {
            load: load_record(settings, &sum, end_ns - start_ns),
            started_ns: wall_ns(start_ns),
            interrupted: sum.stopped_ns.is_some(),
            answers: answers(&sum.answered.tally, sum.too_long),
            latency_sent: ResponseLatency(sum.answered.ledger.latency_sent().clone()),
            response_latency: sum.answered.response_latency,
            run_time_s: seconds(sum.answered.answered_ns.max(end_ns) - start_ns),
            connections: (settings.transport != Transport::Udp { tc_fallback: false })
                .then_some(sum.connections),
            receive_buffer_bytes: receive_buffer_bytes.unwrap_or(0) as u64,
            send_calls: sum.sends.calls,
            send_stalls: sum.sends.stalled,
            warnings,
        }
    }
}

/// Returns the counts that are not 0, by name.
fn nonzero_by_name<N: Ord>(counts: impl Iterator<Item = (N, u64)>) -> BTreeMap<N, u64> {
    counts.filter(|&(_, count)| count > 0).collect()
}

fn answers(tally: &DnsMessageTally, too_long: u64) -> AnswerCounts {
    let rcodes = tally.rcodes.iter().zip(0..);
    let faults = AnswerFault::ALL.into_iter().zip(tally.faults);
    let malformed = DnsMessageDefect::ALL.into_iter().zip(tally.malformed);
    AnswerCounts {
        rcodes: nonzero_by_name(rcodes.map(|(&count, code)| (Rcode(code).to_string(), count))),
        asked_again: tally.asked_again,
        repeated: tally.repeated,
        faults: nonzero_by_name(faults.map(|(fault, count)| (fault.name(), count))),
        malformed: nonzero_by_name(malformed.map(|(reason, count)| (reason.name(), count))),
        unmatched: tally.unmatched,
        foreign: tally.foreign,
        truncated: tally.truncated,
        late: tally.late,
        too_long,
    }
}

fn load_record(settings: &DnsLoadSettings, sum: &DnsResultSum, duration_ns: u64) -> LoadRecord {
    let Answered { ledger, tally, timeline, .. } = &sum.answered;
    LoadRecord {
        tool: "godwit dns load".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: settings.seed,
        settings: settings_map(settings),
        offered_per_s: match settings.window {
            Some(_) => ledger.due() as f64 / seconds(duration_ns.max(1)),
            None => settings.rate.as_per_second(),
        },
        messages: MessageCounts {
            sent: sum.sends.sent + sum.connections.sent,
            received: tally.received,
            received_bytes: tally.octets,
            malformed: tally.malformed.iter().sum(),
            unmatched: tally.unmatched + tally.foreign,
            ..MessageCounts::default()
        },
        deadline_s: seconds(settings.limits.deadline_ns),
        generator_cpu_s: seconds(sum.cpu_ns),
        segmentation: sum.segmentation,
        ..LoadRecord::from_ledger(ledger, timeline, sum.health, duration_ns)
    }
}

fn settings_map(settings: &DnsLoadSettings) -> BTreeMap<String, Value> {
    let entries = [
        ("server", json!(settings.server.to_string())),
        ("queries", json!(settings.workload.len())),
        ("zone_like", zone_like(settings)),
        ("transport", json!(settings.transport.name())),
        ("queries_per_connection", json!(settings.queries_per_connection)),
        ("rate", json!(settings.window.is_none().then(|| settings.rate.as_per_second()))),
        ("window", json!(settings.window)),
        ("count", json!(settings.count)),
        ("duration_s", json!(seconds(settings.duration_ns))),
        ("shape", json!(settings.shape.to_string())),
        ("deadline_s", json!(seconds(settings.limits.deadline_ns))),
        ("drain_s", json!(seconds(settings.limits.grace_ns))),
        ("linger_s", json!(seconds(settings.linger_ns))),
        ("threads", json!(settings.threads)),
        ("ports", json!(settings.ports)),
        ("cpus", json!(settings.cpus)),
        ("segmentation", json!(settings.segmentation)),
        ("interface", json!(settings.frames.as_ref().map(|frames| &frames.interface))),
    ];
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the parameters of the zone that the queries were made from; null without one.
fn zone_like(settings: &DnsLoadSettings) -> Value {
    settings.zone_like.as_ref().map_or(
        Value::Null,
        |like| json!({ "seed": like.seed, "names": like.names, "zone": like.origin.to_string() }),
    )
}

/// Converts a time of the monotonic clock to nanoseconds since 1970.
fn wall_ns(mono_ns: u64) -> u64 {
    let now = Clock::now();
    (1_000 * now.wall_us + mono_ns).saturating_sub(now.mono_ns)
}

/// Formats counts of a record as `NAME COUNT, NAME COUNT`.
fn listed<N: fmt::Display>(counts: &BTreeMap<N, u64>) -> String {
    let words: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

impl DnsLoadReport {
    fn write_connections(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(tcp) = &self.connections else { return Ok(()) };
        writeln!(
            f,
            "tcp        repeated over TCP {}, opened {}, reopened {}, failed {}, ended {}, retired \
             {}, cut off {}, unsent {}",
            self.answers.asked_again,
            tcp.opened,
            tcp.reopened,
            tcp.failed,
            tcp.ended,
            tcp.retired,
            tcp.cut_off,
            tcp.unsent
        )
    }
}

impl fmt::Display for DnsLoadReport {
    /// Writes the summary of the run for a person, about a dozen lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (load, queries, answers) = (&self.load, &self.load.exchanges, &self.answers);
        load.write_rates(f, "queries", "answered", self.interrupted)?;
        writeln!(
            f,
            "queries    due {}, sent {}, on time {}, late {}, lost {}, refused {}, wrong {}, \
             invalid {}, answered twice {}",
            queries.due,
            queries.sent,
            queries.on_time,
            queries.late,
            queries.lost,
            queries.nak,
            queries.wrong_client,
            queries.invalid,
            queries.duplicate_answered
        )?;
        let codes = listed(&answers.rcodes);
        writeln!(f, "answers    {codes}; truncated {}, late {}", answers.truncated, answers.late)?;
        load.write_latencies(f)?;
        writeln!(
            f,
            "datagrams  sent {}, received {}, repeated {}, malformed {}, unmatched {}",
            load.messages.sent,
            load.messages.received,
            answers.repeated,
            load.messages.malformed,
            load.messages.unmatched
        )?;
        for (what, counts) in [("malformed ", &answers.malformed), ("faults    ", &answers.faults)]
        {
            if !counts.is_empty() {
                writeln!(f, "{what} {}", listed(counts))?;
            }
        }
        self.write_connections(f)?;
        load.write_generator(f, &self.warnings)
    }
}
