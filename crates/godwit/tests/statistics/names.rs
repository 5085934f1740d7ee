//! Names of all of Kea's statistics (its manual, chapters on statistics), and their metrics in
//! Prometheus.

const PACKETS_4: &[&str] = &[
    "received",
    "discover-received",
    "offer-received",
    "request-received",
    "ack-received",
    "nak-received",
    "release-received",
    "decline-received",
    "inform-received",
    "lease-query-received",
    "unknown-received",
    "sent",
    "offer-sent",
    "ack-sent",
    "nak-sent",
    "lease-query-response-unassigned-sent",
    "lease-query-response-unknown-sent",
    "lease-query-response-active-sent",
];
const PACKETS_6: &[&str] = &[
    "received",
    "solicit-received",
    "advertise-received",
    "request-received",
    "reply-received",
    "renew-received",
    "rebind-received",
    "confirm-received",
    "release-received",
    "decline-received",
    "infrequest-received",
    "lease-query-received",
    "reconfigure-received",
    "dhcpv4-query-received",
    "dhcpv4-response-received",
    "addr-reg-inform-received",
    "addr-reg-reply-received",
    "unknown-received",
    "sent",
    "advertise-sent",
    "reply-sent",
    "lease-query-reply-sent",
    "dhcpv4-response-sent",
    "addr-reg-reply-sent",
];
const DROPS: &[&str] = &[
    "service-disabled",
    "parse-failed",
    "queue-full",
    "duplicate",
    "rfc-violation",
    "admin-filtered",
    "not-for-us",
    "processing-failed",
    "limit-exceeded",
    "receive-drop",
];
/// Statistics of the server and of each subnet.
const EVENTS_4: &[&str] = &[
    "v4-allocation-fail",
    "v4-allocation-fail-shared-network",
    "v4-allocation-fail-subnet",
    "v4-allocation-fail-no-pools",
    "v4-allocation-fail-classes",
    "v4-lease-reuses",
    "v4-reservation-conflicts",
];
const EVENTS_6: &[&str] = &[
    "v6-allocation-fail",
    "v6-allocation-fail-shared-network",
    "v6-allocation-fail-subnet",
    "v6-allocation-fail-no-pools",
    "v6-allocation-fail-classes",
    "v6-ia-na-lease-reuses",
    "v6-ia-pd-lease-reuses",
];
/// Statistics of the server and of each subnet and pool.
const LEASES_4: &[&str] = &[
    "assigned-addresses",
    "cumulative-assigned-addresses",
    "declined-addresses",
    "reclaimed-declined-addresses",
    "reclaimed-leases",
];
const LEASES_6: &[&str] = &[
    "assigned-nas",
    "cumulative-assigned-nas",
    "declined-addresses",
    "reclaimed-declined-addresses",
    "reclaimed-leases",
];
/// Further statistics of the server and of each subnet.
const FURTHER_6: &[&str] =
    &["assigned-pds", "cumulative-assigned-pds", "registered-nas", "cumulative-registered-nas"];
const PREFIXES: &[&str] =
    &["total-pds", "assigned-pds", "cumulative-assigned-pds", "reclaimed-leases"];
/// Subnets of both scripts with their pools, by number.
const SUBNETS: &[(u32, &[u32])] =
    &[(1, &[1, 2]), (2, &[0]), (3, &[]), (4, &[9]), (5, &[0]), (6, &[0]), (7, &[0]), (8, &[0])];
/// Pools of prefixes, with their subnets.
const PREFIX_POOLS: &[(u32, u32)] = &[(1, 3), (4, 9), (5, 0)];

/// Statistics that no script here moves, each with the reason.
pub(crate) const UNMOVED: &[(&str, &str)] = &[
    ("pkt4-queue-full", "takes more messages than are sure to come in: overload.rs of dhcp-engine"),
    ("pkt6-queue-full", "the same"),
    ("pkt6-processing-failed", "takes a reply that is too late: overload.rs of dhcp-engine"),
    ("pkt4-limit-exceeded", "the hook libdhcp_limits.so is not there yet"),
    ("pkt6-limit-exceeded", "the same"),
    ("pkt4-lease-query-received", "only libdhcp_lease_query.so counts it: tests/kea3/lease_query"),
    ("pkt6-lease-query-received", "the same"),
    ("pkt4-lease-query-response-unassigned-sent", "the same"),
    ("pkt4-lease-query-response-unknown-sent", "the same"),
    ("pkt4-lease-query-response-active-sent", "the same"),
    ("pkt6-lease-query-reply-sent", "the same"),
    ("pkt6-dhcpv4-response-sent", "DHCPv4 over DHCPv6 is not there yet"),
];

/// Returns `name` without the numbers of subnets and pools.
pub(crate) fn without_numbers(name: &str) -> String {
    let mut parts = name.split('[');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += part.split_once(']').map_or("", |(_, rest)| rest);
    }
    text
}

/// Returns all names that a server under its script has.
pub(crate) fn all(is_v6: bool) -> Vec<String> {
    let (packets, word, events, leases, total) = if !is_v6 {
        (PACKETS_4, "pkt4", EVENTS_4, LEASES_4, "total-addresses")
    } else {
        (PACKETS_6, "pkt6", EVENTS_6, LEASES_6, "total-nas")
    };
    let further: &[&str] = if is_v6 { FURTHER_6 } else { &[] };
    let mut all = Vec::new();
    let mut add = |scope: &str, lists: &[&[&str]]| {
        all.extend(lists.iter().copied().flatten().map(|name| format!("{scope}{name}")));
    };
    add(&format!("{word}-"), &[packets, DROPS]);
    add("", &[events, leases, further]);
    for (subnet, pools) in SUBNETS {
        let scope = format!("subnet[{subnet}].");
        add(&scope, &[&[total], events, leases, further]);
        if is_v6 {
            add(&scope, &[&["total-pds"]]);
        }
        for pool in *pools {
            add(&format!("{scope}pool[{pool}]."), &[&[total], leases]);
        }
    }
    for (subnet, pool) in PREFIX_POOLS.iter().filter(|_| is_v6) {
        add(&format!("subnet[{subnet}].pd-pool[{pool}]."), &[PREFIXES]);
    }
    all
}

/// Returns the value of the statistic `name` in `metrics`; `None` if metrics do not contain it.
pub(crate) fn in_metrics(is_v6: bool, name: &str, metrics: &str) -> Option<u64> {
    let (scope, counted) = name.rsplit_once('.').unwrap_or(("", name));
    let mut labels = Vec::new();
    for (word, number) in scope.split('.').filter_map(|part| part.split_once('[')) {
        let number = number.trim_end_matches(']');
        labels.push(match word {
            "subnet" => format!("subnet=\"{number}\""),
            _ => format!("pool=\"{number}\""),
        });
        if let Some(kind) =
            [("pool", "address"), ("pd-pool", "prefix")].iter().find(|k| k.0 == word)
        {
            labels.push(format!("kind=\"{}\"", kind.1));
        }
    }
    let (metric, label) = metric_and_label(counted);
    labels.extend(label);
    let is_of_clients = counted.starts_with("v4-") || counted.starts_with("v6-");
    let of_subnet = if is_of_clients && !scope.is_empty() { "subnet_" } else { "" };
    let family = if is_v6 { 6 } else { 4 };
    let metric = format!("godwit_dhcp{family}_{of_subnet}{metric}");
    let values = metrics.lines().filter_map(|line| {
        let (key, value) = line.rsplit_once(' ')?;
        let (found, given) = key.split_once('{').unwrap_or((key, ""));
        let is_it = found == metric && labels.iter().all(|label| given.contains(label));
        is_it.then(|| value.parse::<u64>().ok()).flatten()
    });
    let values: Vec<u64> = values.collect();
    // A server or subnet without pools has no leases to show.
    let may_be_missing = metric.contains("_pool_") && !scope.contains("pool");
    (may_be_missing || !values.is_empty()).then(|| values.iter().sum())
}

/// Returns the metric of the statistic `counted`, and the label that distinguishes it there.
fn metric_and_label(counted: &str) -> (&'static str, Option<String>) {
    let label =
        |name: &str, content: &str| Some(format!("{name}=\"{}\"", content.replace('-', "_")));
    if let Some(rest) = counted.strip_prefix("pkt4-").or_else(|| counted.strip_prefix("pkt6-")) {
        return match rest {
            "received" => ("received_total", None),
            "sent" => ("sent_total", None),
            "receive-drop" => ("packets_dropped_total", None),
            _ => match (rest.strip_suffix("-received"), rest.strip_suffix("-sent")) {
                (Some(kind), _) => ("packets_received_total", label("type", kind)),
                (_, Some(kind)) => ("packets_sent_total", label("type", kind)),
                _ => ("packets_dropped_total", label("reason", rest)),
            },
        };
    }
    let kind =
        |counted: &str| label("kind", if counted.ends_with("-pds") { "prefix" } else { "address" });
    match counted {
        "v4-lease-reuses" => ("lease_reuses_total", label("kind", "address")),
        "v6-ia-na-lease-reuses" => ("lease_reuses_total", label("kind", "ia_na")),
        "v6-ia-pd-lease-reuses" => ("lease_reuses_total", label("kind", "ia_pd")),
        "v4-reservation-conflicts" => ("reservation_conflicts_total", None),
        "reclaimed-leases" => ("pool_leases_reclaimed_total", None),
        "declined-addresses" => ("pool_declined", label("kind", "address")),
        "reclaimed-declined-addresses" => {
            ("pool_declined_reclaimed_total", label("kind", "address"))
        }
        "registered-nas" => ("subnet_registered", None),
        "cumulative-registered-nas" => ("subnet_registrations_total", None),
        _ => match counted.split_once("allocation-fail") {
            Some((_, "")) => ("allocation_failures_total", None),
            Some((_, reason)) => {
                let reason = reason.trim_start_matches('-');
                ("allocation_failure_reasons_total", label("reason", reason))
            }
            None if counted.starts_with("total-") => ("pool_size", kind(counted)),
            None if counted.starts_with("assigned-") => ("pool_leases", kind(counted)),
            None => ("pool_leases_given_total", kind(counted)),
        },
    }
}
