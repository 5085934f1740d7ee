//! Statistics of a DHCP server for Prometheus, in its text format (version 0.0.4).
//!
//! Metrics have names `godwit_dhcp4_...` and `godwit_dhcp6_...`. One metric with labels replaces
//! several of Kea's names: `pkt4-discover-received` is
//! `godwit_dhcp4_packets_received_total{type="discover"}`. `godwit_drops_total` has reasons that
//! are finer than Kea's. Every number is a count since the start of the server; resets by control
//! commands do not affect it.

mod relationships;

use core::fmt::{Display, Write as _};

use dhcp_ha::HaMetrics;

use crate::exporter::{self, ExporterLabels};
use crate::ip_version::IpVersion;
use crate::statistics::{
    EventCounts, EventListenerCounts, LeaseCounts, PoolCounts, ServerCounts, SubnetCounts,
    always_shown, always_shown_of_subnets, merged,
};

/// Values of a DHCP server at one moment, to be shown as Prometheus metrics.
#[derive(Clone, Copy, Debug)]
pub struct MetricsSnapshot<'a> {
    /// Address family of the server.
    pub version: IpVersion,
    /// Counts of messages and leases of the server.
    pub counts: &'a ServerCounts,
    /// Drop reasons of the server, by their own names, which need no escape, each with its number
    /// of requests that got no reply.
    pub drops: &'a [(&'static str, u64)],
    /// Reasons why a lease or its reply lacks data that would not fit, by their own names, which
    /// need no escape, each with its count.
    pub omissions: &'a [(&'static str, u64)],
    /// Rows of `hosts-databases` that are no complete reservation, by their treatment, each with
    /// the number of times that such a row was read; `None` without such databases.
    pub host_rows: Option<&'a [(&'static str, u64)]>,
    /// Counts of entries of the legal log by result; `None` without one.
    pub legal_log: Option<&'a [(&'static str, u64)]>,
    /// Counts of name change requests by result; `None` if the server sends none.
    pub name_changes: Option<&'a [(&'static str, u64)]>,
    /// Numbers about the relationships with partners, each with the name of this server in it.
    pub pairs: &'a [(String, HaMetrics)],
    /// Calls of scripts by the hook library run_script, by their ends, each with its number; `None`
    /// if the server cannot run scripts.
    pub script_runs: Option<&'a [(&'static str, u64)]>,
    /// Times from request to reply, for each type of message.
    pub latencies: &'a [Latency],
    /// Size of the server's lease file, in bytes; `None` without one.
    pub lease_file_bytes: Option<u64>,
    /// Facts about the server's process: its build, its start and the resources that it uses.
    pub process: ProcessFacts,
    /// Labels of subnets and pools for metrics under kea-exporter's names; `None` to leave such
    /// metrics out.
    pub exporter: Option<&'a ExporterLabels>,
}

/// Facts about a server's process: its build, its configuration's age, and its use of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessFacts {
    /// Version of Godwit that the process runs.
    pub version: &'static str,
    /// Version of Kea that programs may take this server for.
    pub kea: &'static str,
    /// Time at which the process started, in seconds since 1970.
    pub started_s: f64,
    /// Time at which the server last applied a configuration, in seconds since 1970.
    pub configured_s: f64,
    /// True if the server's last attempt to apply a configuration succeeded.
    pub is_configured: bool,
    /// Number of threads of the server that serve clients.
    pub threads: usize,
    /// Processor time of all threads of the process, in seconds.
    pub cpu_s: f64,
    /// Resident memory of the process, in bytes.
    pub resident_bytes: u64,
    /// Address space of the process, in bytes.
    pub virtual_bytes: u64,
    /// Number of files and sockets that the process has open.
    pub open_files: u64,
    /// Maximum number of files and sockets that the process may have open at once; `None` without a
    /// limit.
    pub open_files_max: Option<u64>,
    /// Number of internal errors of the server after which it continued.
    pub internal_errors: u64,
}

/// Histogram of the times from request to reply, for requests of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Type of the requests, such as `discover`.
    pub message: &'static str,
    /// Upper bounds of reply times in microseconds, ascending, each with the number of replies that
    /// took longer than the bound before it and at most this one.
    pub buckets: Vec<(u64, u64)>,
    /// Number of replies that took longer than the last upper bound of [`Latency::buckets`].
    pub beyond: u64,
    /// Sum of all reply times, in microseconds.
    pub sum_us: u64,
}

/// Returns the text of the Prometheus page `/metrics`, of type `text/plain; version=0.0.4`.
#[must_use]
pub fn prometheus(snapshot: &MetricsSnapshot<'_>) -> String {
    let mut page = MetricsText { text: String::new(), version: snapshot.version };
    packets(&mut page, snapshot.counts);
    reasons(
        &mut page,
        "godwit_drops_total",
        "Messages that got no answer, by exact reason.",
        snapshot.drops,
    );
    reasons(
        &mut page,
        "godwit_omissions_total",
        "Leases that were shortened because data did not fit, by reason.",
        snapshot.omissions,
    );
    if let Some(rows) = snapshot.host_rows {
        let help = "Rows of hosts databases that are not complete reservations.";
        reasons(&mut page, "godwit_host_rows_total", help, rows);
    }
    if let Some(entries) = snapshot.legal_log {
        let help = "Entries of the legal log, and attempts to write some that failed.";
        reasons(&mut page, "godwit_legal_log_total", help, entries);
    }
    if let Some(requests) = snapshot.name_changes {
        let help = "Name change requests by result, and lease events that were dropped.";
        reasons(&mut page, "godwit_name_changes_total", help, requests);
    }
    if let Some(runs) = snapshot.script_runs {
        let help = "Calls of the script of run_script, by their ends.";
        reasons(&mut page, "godwit_script_runs_total", help, runs);
    }
    subnets(&mut page, &snapshot.counts.subnets);
    lease_events(&mut page, &snapshot.counts.events);
    relationships::write(&mut page, snapshot.pairs);
    latencies(&mut page, snapshot.latencies);
    if let Some(bytes) = snapshot.lease_file_bytes {
        page.head("lease_file_bytes", "gauge", "Size of the lease file.");
        page.value("lease_file_bytes", &[], &bytes);
    }
    process(&mut page, &snapshot.process);
    if let Some(labels) = snapshot.exporter {
        exporter::write(&mut page.text, snapshot.version, snapshot.counts, labels);
    }
    page.text
}

/// Writes the counts of lease events, once the server has had a listener of them.
fn lease_events(page: &mut MetricsText, events: &EventCounts) {
    type OfListener = (&'static str, &'static str, &'static str, fn(&EventListenerCounts) -> u64);
    const OF_LISTENERS: [OfListener; 3] = [
        ("delivered_total", "counter", "Lease events that a listener has taken.", |one| {
            one.delivered
        }),
        ("dropped_total", "counter", "Lease events that a listener lost.", |one| one.dropped),
        ("backlog", "gauge", "Lease events that a listener has not taken yet.", |one| one.backlog),
    ];
    if events.listeners.is_empty() {
        return;
    }
    for (name, kind, help, count) in OF_LISTENERS {
        let name = format!("event_listener_{name}");
        page.head(&name, kind, help);
        for listener in &events.listeners {
            page.value(&name, &[("listener", &listener.name)], &count(listener));
        }
    }
    let mut one = |name: &str, kind: &str, help: &str, count: u64| {
        page.head(name, kind, help);
        page.value(name, &[], &count);
    };
    one("event_subscribers", "gauge", "Subscribers of lease events.", events.subscribers);
    let help = "Subscribers that were cut off because they did not keep up.";
    one("event_subscribers_cut_off_total", "counter", help, events.cut_off);
    let help = "Lease events that no listener got, because too many waited.";
    one("events_lost_total", "counter", help, events.lost);
}

/// Writes the metrics of the process under the names that Prometheus's own libraries use, the
/// build, and the state of its configuration.
fn process(page: &mut MetricsText, facts: &ProcessFacts) {
    let family = page.version.number();
    let _ = writeln!(
        page.text,
        "# HELP godwit_build_info Version of the server; always 1.\n\
         # TYPE godwit_build_info gauge\n\
         godwit_build_info{{family=\"dhcp{family}\",version=\"{}\",kea=\"{}\"}} 1",
        facts.version, facts.kea
    );
    let help = "Errors of the server itself after which it continued; its log has the positions.";
    page.head("internal_errors_total", "counter", help);
    page.value("internal_errors_total", &[], &facts.internal_errors);
    let mut own = |name: &str, help: &str, value: &dyn Display| {
        page.head(name, "gauge", help);
        page.value(name, &[], value);
    };
    own("threads", "Threads that serve clients.", &facts.threads);
    own(
        "config_last_reload_successful",
        "Whether the server uses the last configuration that it read.",
        &u8::from(facts.is_configured),
    );
    own(
        "config_last_reload_success_timestamp_seconds",
        "Time at which the server last began to use a configuration.",
        &facts.configured_s,
    );
    let mut shared = |name: &str, kind: &str, help: &str, value: &dyn Display| {
        let _ = writeln!(
            page.text,
            "# HELP process_{name} {help}\n# TYPE process_{name} {kind}\nprocess_{name} {value}"
        );
    };
    shared("start_time_seconds", "gauge", "Time at which the process started.", &facts.started_s);
    shared("cpu_seconds_total", "counter", "Processor time.", &facts.cpu_s);
    shared("resident_memory_bytes", "gauge", "Memory in use.", &facts.resident_bytes);
    shared("virtual_memory_bytes", "gauge", "Address space.", &facts.virtual_bytes);
    shared("open_fds", "gauge", "Open files and sockets.", &facts.open_files);
    if let Some(most) = facts.open_files_max {
        shared("max_fds", "gauge", "Files and sockets that may be open.", &most);
    }
}

/// Text of the Prometheus page, as far as it has been written.
struct MetricsText {
    text: String,
    version: IpVersion,
}

impl MetricsText {
    fn prefix(&self) -> &'static str {
        match self.version {
            IpVersion::V4 => "godwit_dhcp4",
            IpVersion::V6 => "godwit_dhcp6",
        }
    }

    /// Begins a metric: writes its name, explanation (`help`) and type (`kind`).
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let prefix = self.prefix();
        let _ = writeln!(self.text, "# HELP {prefix}_{name} {help}");
        let _ = writeln!(self.text, "# TYPE {prefix}_{name} {kind}");
    }

    /// Writes one value of a metric with its labels. Labels contain no characters that need an
    /// escape.
    fn value(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: &dyn Display) {
        let _ = write!(self.text, "{}_{name}", self.prefix());
        for (index, (label, content)) in labels.iter().enumerate() {
            let opening = if index == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{opening}{label}=\"{content}\"");
        }
        let closing = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{closing} {value}");
    }
}

/// Prometheus metrics made from Kea's statistics: name, label that distinguishes Kea's names of one
/// metric, and explanation.
const METRICS: [(&str, &str, &str); 8] = [
    ("received_total", "", "Messages received."),
    ("packets_received_total", "type", "Messages received, by type."),
    ("sent_total", "", "Messages sent."),
    ("packets_sent_total", "type", "Messages sent, by type."),
    ("packets_dropped_total", "reason", "Messages received and not answered, by reason."),
    ("allocation_failures_total", "", "Lease requests for which the server found no lease."),
    (
        "allocation_failure_reasons_total",
        "reason",
        "Reasons why the server found no lease for a request; one request can have several.",
    ),
    ("lease_reuses_total", "kind", "Leases that the server returned again without writing them."),
];
/// Index of the first of [`METRICS`] that subnets have as well as the whole server.
const OF_CLIENTS: usize = 5;
/// Kea's name of the statistic that [`CONFLICTS`] shows.
const CONFLICTS_COUNTED: &str = "v4-reservation-conflicts";
/// Prometheus metric of reservation conflicts, after [`METRICS`], which only DHCPv4 has.
const CONFLICTS: (&str, &str) =
    ("reservation_conflicts_total", "Reserved addresses that another client had.");

/// Returns the index in [`METRICS`] for one of Kea's names, and its label; `None` for a sum that
/// Kea has in addition to its parts.
fn metric_index(name: &str) -> Option<(usize, &str)> {
    let behind = |word: &str| name.strip_prefix(word);
    if let Some(rest) = behind("pkt4-").or_else(|| behind("pkt6-")) {
        return match rest {
            "received" => Some((0, "")),
            "sent" => Some((2, "")),
            "receive-drop" => None,
            _ => Some(match (rest.strip_suffix("-received"), rest.strip_suffix("-sent")) {
                (Some(kind), _) => (1, kind),
                (_, Some(kind)) => (3, kind),
                (None, None) => (4, rest),
            }),
        };
    }
    match behind("v4-").or_else(|| behind("v6-"))? {
        "allocation-fail" => Some((5, "")),
        "lease-reuses" => Some((7, "address")),
        rest => match (rest.strip_prefix("allocation-fail-"), rest.strip_suffix("-lease-reuses")) {
            (Some(reason), _) => Some((6, reason)),
            (_, Some(kind)) => Some((7, kind)),
            (None, None) => None,
        },
    }
}

fn packets(page: &mut MetricsText, counts: &ServerCounts) {
    let counted = |name: &str| counts.server.iter().find(|(known, _)| *known == name);
    let always = always_shown(page.version);
    let missing = always.iter().filter(|name| counted(name).is_none()).map(|&name| (name, 0));
    let all: Vec<(&str, u64)> = counts.server.iter().copied().chain(missing).collect();
    for (index, (metric, label, help)) in METRICS.iter().enumerate() {
        page.head(metric, "counter", help);
        for (name, count) in &all {
            match metric_index(name) {
                Some((number, "")) if number == index => page.value(metric, &[], count),
                Some((number, content)) if number == index => {
                    page.value(metric, &[(label, &content.replace('-', "_"))], count);
                }
                _ => {}
            }
        }
    }
    if page.version == IpVersion::V4 {
        let (metric, help) = CONFLICTS;
        let conflicts = counted(CONFLICTS_COUNTED).map_or(0, |&(_, count)| count);
        page.head(metric, "counter", help);
        page.value(metric, &[], &conflicts);
    }
}

/// Writes the server's own reasons of drops or omissions as one metric for both families; Kea's
/// names of drops are coarser sums.
fn reasons(page: &mut MetricsText, metric: &str, help: &str, counted: &[(&str, u64)]) {
    let family = page.version.service();
    let _ = writeln!(page.text, "# HELP {metric} {help}");
    let _ = writeln!(page.text, "# TYPE {metric} counter");
    for (reason, count) in counted {
        let _ = writeln!(page.text, "{metric}{{family=\"{family}\",reason=\"{reason}\"}} {count}");
    }
}

/// Prometheus metric of a pool: name, type, explanation, and the function that reads its value.
type OfPool = (&'static str, &'static str, &'static str, fn(&PoolCounts) -> u128);

const OF_POOLS: [OfPool; 6] = [
    ("pool_size", "gauge", "Addresses or prefixes of a pool.", |pool| pool.total),
    ("pool_leases", "gauge", "Leases of a pool, declined ones too.", |pool| {
        pool.leases.assigned.into()
    }),
    ("pool_declined", "gauge", "Declined addresses of a pool.", |pool| pool.leases.declined.into()),
    ("pool_leases_given_total", "counter", "Leases assigned from a pool.", |pool| {
        pool.leases.cumulative_assigned.into()
    }),
    (
        "pool_leases_reclaimed_total",
        "counter",
        "Expired leases of a pool that were \
                                                reclaimed.",
        |pool| pool.leases.reclaimed.into(),
    ),
    ("pool_declined_reclaimed_total", "counter", "Declined addresses reclaimed.", |pool| {
        pool.leases.reclaimed_declined.into()
    }),
];

/// Writes the lease counts of each pool; the pool `none` means leases that belong to no pool.
fn subnets(page: &mut MetricsText, subnets: &[SubnetCounts]) {
    let kinds: &[&str] = match page.version {
        IpVersion::V4 => &["address"],
        IpVersion::V6 => &["address", "prefix"],
    };
    for (metric, kind, help, count) in OF_POOLS {
        page.head(metric, kind, help);
        for subnet in subnets {
            let of_kinds = [
                (&subnet.pools, &subnet.outside),
                (&subnet.prefix_pools, &subnet.outside_prefixes),
            ];
            for (name, (pools, outside)) in kinds.iter().zip(of_kinds) {
                for pool in merged(pools) {
                    let labels: [(&str, &dyn Display); 3] =
                        [("subnet", &subnet.id), ("pool", &pool.id), ("kind", name)];
                    page.value(metric, &labels, &count(&pool));
                }
                if *outside != LeaseCounts::default() {
                    let outside = PoolCounts { leases: *outside, ..PoolCounts::default() };
                    let labels: [(&str, &dyn Display); 3] =
                        [("subnet", &subnet.id), ("pool", &"none"), ("kind", name)];
                    page.value(metric, &labels, &count(&outside));
                }
            }
        }
    }
    events(page, subnets);
    if page.version == IpVersion::V6 {
        registered(page, subnets);
    }
}

/// Writes the counts of events of each subnet's clients, for those [`METRICS`] that exist for
/// subnets as for the whole server.
fn events(page: &mut MetricsText, subnets: &[SubnetCounts]) {
    let always = always_shown_of_subnets(page.version);
    for (index, (metric, label, help)) in METRICS.iter().enumerate().skip(OF_CLIENTS) {
        let metric = format!("subnet_{metric}");
        page.head(&metric, "counter", help);
        for subnet in subnets {
            let counted = |name| subnet.events.iter().any(|&(known, _)| known == name);
            let missing = always.iter().filter(|name| !counted(**name)).map(|&name| (name, 0));
            for (name, count) in subnet.events.iter().copied().chain(missing) {
                let Some((_, content)) = metric_index(name).filter(|(number, _)| *number == index)
                else {
                    continue;
                };
                let content = content.replace('-', "_");
                let labels: [(&str, &dyn Display); 2] = [("subnet", &subnet.id), (label, &content)];
                let own_labels = if content.is_empty() { &labels[..1] } else { &labels };
                page.value(&metric, own_labels, &count);
            }
        }
    }
    if page.version == IpVersion::V4 {
        let (metric, help) = CONFLICTS;
        let metric = format!("subnet_{metric}");
        page.head(&metric, "counter", help);
        for subnet in subnets {
            let event = subnet.events.iter().find(|(name, _)| *name == CONFLICTS_COUNTED);
            let count = event.map_or(0, |&(_, count)| count);
            page.value(&metric, &[("subnet", &subnet.id)], &count);
        }
    }
}

fn registered(page: &mut MetricsText, subnets: &[SubnetCounts]) {
    page.head("subnet_registered", "gauge", "Addresses that clients registered.");
    for subnet in subnets {
        let count = subnet.addresses().leases.registered;
        page.value("subnet_registered", &[("subnet", &subnet.id)], &count);
    }
    page.head("subnet_registrations_total", "counter", "Registrations of addresses by clients.");
    for subnet in subnets {
        let count = subnet.addresses().leases.cumulative_registered;
        page.value("subnet_registrations_total", &[("subnet", &subnet.id)], &count);
    }
}

fn latencies(page: &mut MetricsText, latencies: &[Latency]) {
    const METRIC: &str = "answer_duration_seconds";
    const BUCKET: &str = "answer_duration_seconds_bucket";
    page.head(METRIC, "histogram", "Time from receiving a message to answering it, by its type.");
    let seconds = |us: u64| us as f64 / 1e6;
    for latency in latencies {
        let mut answers = 0;
        for &(bound_us, count) in &latency.buckets {
            answers += count;
            let bound: [(&str, &dyn Display); 2] =
                [("type", &latency.message), ("le", &seconds(bound_us))];
            page.value(BUCKET, &bound, &answers);
        }
        answers += latency.beyond;
        page.value(BUCKET, &[("type", &latency.message), ("le", &"+Inf")], &answers);
        let sum = seconds(latency.sum_us);
        page.value("answer_duration_seconds_sum", &[("type", &latency.message)], &sum);
        page.value("answer_duration_seconds_count", &[("type", &latency.message)], &answers);
    }
}
