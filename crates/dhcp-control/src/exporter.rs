//! Statistics under the names of kea-exporter, the Prometheus exporter that most dashboards for Kea
//! read, with its labels: `kea_dhcp4_addresses_assigned_total{subnet="10.0.0.0/24",...}`.
//!
//! Names, labels and explanations are those of kea-exporter 0.7. All of its metrics are gauges, so
//! values that start again at 0 are no error.

use core::fmt::Write as _;

use serde_json::Value;

use crate::ip_version::IpVersion;
use crate::statistics::{ServerCounts, StatisticName, StatisticScope};

/// Labels of metrics for subnets and their pools, as the configuration spells them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExporterLabels {
    /// Labels of all subnets, ordered by the subnets' `id`.
    subnets: Vec<SubnetLabels>,
}

/// Labels of metrics for one subnet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SubnetLabels {
    id: u32,
    /// Prefix of the subnet: `subnet` of the configuration.
    prefix: String,
    /// Keys `pool-id` and `pool` of each address pool of the subnet.
    pools: Vec<(u32, String)>,
}

impl ExporterLabels {
    /// Returns the labels of the subnets in `document`, a configuration as `config-get` shows it.
    #[must_use]
    pub fn from_configuration(document: &Value, version: IpVersion) -> Self {
        let number = version.number();
        let (top, key) = (format!("Dhcp{number}"), format!("subnet{number}"));
        let items = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
        let top = &document[&top];
        let networks = items(top, "shared-networks");
        let inner = networks.iter().flat_map(|network| items(network, &key));
        let mut subnets: Vec<SubnetLabels> =
            items(top, &key).into_iter().chain(inner).filter_map(|it| labels(&it)).collect();
        subnets.sort_by_key(|subnet| subnet.id);
        Self { subnets }
    }

    fn of_subnet(&self, id: u32) -> Option<&SubnetLabels> {
        let at = self.subnets.binary_search_by_key(&id, |subnet| subnet.id).ok()?;
        self.subnets.get(at)
    }
}

/// Returns the labels of one subnet of a configuration; `None` if the subnet lacks a key for them.
fn labels(subnet: &Value) -> Option<SubnetLabels> {
    let number = |value: &Value| value.as_u64().and_then(|value| u32::try_from(value).ok());
    let pools = subnet["pools"].as_array().into_iter().flatten();
    let pools = pools.filter_map(|pool| {
        Some((number(&pool["pool-id"]).unwrap_or(0), pool["pool"].as_str()?.to_owned()))
    });
    Some(SubnetLabels {
        id: number(&subnet["id"])?,
        prefix: subnet["subnet"].as_str()?.to_owned(),
        pools: pools.collect(),
    })
}

/// Set of label names that a metric of kea-exporter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MetricLabels {
    /// The label `operation`.
    Operation,
    /// The labels `subnet` and `subnet_id`.
    Subnet,
    /// The labels `subnet`, `subnet_id` and `pool`, which is empty for the whole subnet.
    Pool,
    /// The labels `subnet`, `subnet_id` and `context`.
    Context,
}

/// Metric of kea-exporter: its name after `kea_dhcp4_`, its explanation and its labels.
type Metric = (&'static str, &'static str, MetricLabels);

const METRICS_4: [Metric; 10] = [
    ("packets_sent_total", "Packets sent", MetricLabels::Operation),
    ("packets_received_total", "Packets received", MetricLabels::Operation),
    ("allocations_failed_total", "Allocation fail count", MetricLabels::Context),
    ("addresses_assigned_total", "Assigned addresses", MetricLabels::Pool),
    ("addresses_declined_total", "Declined counts", MetricLabels::Pool),
    (
        "addresses_declined_reclaimed_total",
        "Declined addresses that were reclaimed",
        MetricLabels::Pool,
    ),
    ("addresses_reclaimed_total", "Expired addresses that were reclaimed", MetricLabels::Pool),
    ("addresses_total", "Size of subnet address pool", MetricLabels::Pool),
    ("reservation_conflicts_total", "Reservation conflict count", MetricLabels::Subnet),
    (
        "leases_reused_total",
        "Number of times an IPv4 lease has been renewed in memory",
        MetricLabels::Subnet,
    ),
];

const METRICS_6: [Metric; 15] = [
    ("packets_sent_total", "Packets sent", MetricLabels::Operation),
    ("packets_received_total", "Packets received", MetricLabels::Operation),
    ("packets_sent_dhcp4_total", "DHCPv4-over-DHCPv6 Packets received", MetricLabels::Operation),
    (
        "packets_received_dhcp4_total",
        "DHCPv4-over-DHCPv6 Packets received",
        MetricLabels::Operation,
    ),
    ("allocations_failed_total", "Allocation fail count", MetricLabels::Context),
    ("addresses_declined_total", "Declined addresses", MetricLabels::Pool),
    (
        "addresses_declined_reclaimed_total",
        "Declined addresses that were reclaimed",
        MetricLabels::Pool,
    ),
    ("addresses_reclaimed_total", "Expired addresses that were reclaimed", MetricLabels::Pool),
    ("reservation_conflicts_total", "Reservation conflict count", MetricLabels::Subnet),
    ("na_assigned_total", "Assigned non-temporary addresses (IA_NA)", MetricLabels::Pool),
    ("na_total", "Size of non-temporary address pool", MetricLabels::Pool),
    ("na_reuses_total", "Number of IA_NA lease reuses", MetricLabels::Pool),
    ("pd_assigned_total", "Assigned prefix delegations (IA_PD)", MetricLabels::Subnet),
    ("pd_total", "Size of prefix delegation pool", MetricLabels::Subnet),
    ("pd_reuses_total", "Number of IA_PD lease reuses", MetricLabels::Pool),
];

/// Kea's names of message counts, each with the other name under which kea-exporter shows it.
const RECEIVED: [(&str, &str); 2] = [("parse-failed", "parse-failed"), ("receive-drop", "drop")];

/// Types of DHCPv4 messages that kea-exporter counts: those sent and those received.
const TYPES_4: (&[&str], &[&str]) = (
    &["ack", "nak", "offer"],
    &["discover", "offer", "request", "ack", "nak", "release", "decline", "inform", "unknown"],
);

/// Types of DHCPv6 messages that kea-exporter counts: those sent and those received.
const TYPES_6: (&[&str], &[&str]) = (
    &["advertise", "reply"],
    &[
        "solicit",
        "advertise",
        "request",
        "reply",
        "renew",
        "rebind",
        "release",
        "decline",
        "infrequest",
        "unknown",
    ],
);

/// Reasons of failed allocations that kea-exporter shows: ends of Kea's names after
/// `v4-allocation-fail-` or `v6-allocation-fail-`.
const CONTEXTS: [&str; 4] = ["shared-network", "subnet", "no-pools", "classes"];

/// Kea's statistics of DHCPv4 subnets and pools, each with the metric of kea-exporter that shows
/// it.
const OF_LEASES_4: [(&str, &str); 7] = [
    ("assigned-addresses", "addresses_assigned_total"),
    ("declined-addresses", "addresses_declined_total"),
    ("reclaimed-declined-addresses", "addresses_declined_reclaimed_total"),
    ("reclaimed-leases", "addresses_reclaimed_total"),
    ("total-addresses", "addresses_total"),
    ("v4-reservation-conflicts", "reservation_conflicts_total"),
    ("v4-lease-reuses", "leases_reused_total"),
];

const OF_LEASES_6: [(&str, &str); 10] = [
    ("assigned-nas", "na_assigned_total"),
    ("assigned-pds", "pd_assigned_total"),
    ("declined-addresses", "addresses_declined_total"),
    ("reclaimed-declined-addresses", "addresses_declined_reclaimed_total"),
    ("reclaimed-leases", "addresses_reclaimed_total"),
    ("total-nas", "na_total"),
    ("total-pds", "pd_total"),
    ("v6-reservation-conflicts", "reservation_conflicts_total"),
    ("v6-ia-na-lease-reuses", "na_reuses_total"),
    ("v6-ia-pd-lease-reuses", "pd_reuses_total"),
];

/// Returns the kea-exporter metric that shows a statistic of the whole server, and the metric's
/// operation.
fn packet_metric(
    version: IpVersion,
    counted: &'static str,
) -> Option<(&'static str, &'static str)> {
    let rest = counted.strip_prefix("pkt4-").or_else(|| counted.strip_prefix("pkt6-"))?;
    let (sent, received) = if version == IpVersion::V4 { TYPES_4 } else { TYPES_6 };
    let listed = |types: &[&'static str], name: &str| types.iter().copied().find(|t| *t == name);
    if let Some((_, operation)) = RECEIVED.iter().find(|(name, _)| *name == rest) {
        return Some(("packets_received_total", operation));
    }
    match rest {
        "dhcpv4-response-sent" => return Some(("packets_sent_dhcp4_total", "response")),
        "dhcpv4-query-received" => return Some(("packets_received_dhcp4_total", "query")),
        "dhcpv4-response-received" => return Some(("packets_received_dhcp4_total", "response")),
        _ => {}
    }
    match (rest.strip_suffix("-sent"), rest.strip_suffix("-received")) {
        (Some(kind), _) => listed(sent, kind).map(|kind| ("packets_sent_total", kind)),
        (_, Some(kind)) => listed(received, kind).map(|kind| ("packets_received_total", kind)),
        (None, None) => None,
    }
}

/// Returns the kea-exporter metric that shows a statistic of a subnet or pool, and the metric's
/// context if it has one.
fn lease_metric(version: IpVersion, counted: &'static str) -> Option<(&'static str, &'static str)> {
    let fails = ["v4-allocation-fail-", "v6-allocation-fail-"];
    if let Some(reason) = fails.iter().find_map(|begin| counted.strip_prefix(begin)) {
        let context = CONTEXTS.iter().find(|context| **context == reason)?;
        return Some(("allocations_failed_total", context));
    }
    let known: &[(&str, &str)] = if version == IpVersion::V4 { &OF_LEASES_4 } else { &OF_LEASES_6 };
    let (_, metric) = known.iter().find(|(name, _)| *name == counted)?;
    Some((metric, ""))
}

/// Returns the labels of a statistic as Prometheus text in braces; `None` for a statistic that
/// kea-exporter does not show.
fn braces(
    labels: &ExporterLabels,
    name: StatisticName,
    kind: MetricLabels,
    detail: &str,
) -> Option<String> {
    let of = |id: u32, pool: &str| {
        let subnet = labels.of_subnet(id)?;
        let begin = format!("{{subnet=\"{}\",subnet_id=\"{id}\"", subnet.prefix);
        Some(match kind {
            MetricLabels::Operation | MetricLabels::Subnet => format!("{begin}}}"),
            MetricLabels::Pool => format!("{begin},pool=\"{pool}\"}}"),
            MetricLabels::Context => format!("{begin},context=\"{detail}\"}}"),
        })
    };
    match name.scope {
        StatisticScope::Global => Some(format!("{{operation=\"{detail}\"}}")),
        StatisticScope::Subnet(id) => of(id, ""),
        StatisticScope::Pool(id, number) => {
            let pools = &labels.of_subnet(id)?.pools;
            let (_, pool) = pools.iter().find(|(known, _)| *known == number)?;
            of(id, pool)
        }
        StatisticScope::PrefixPool(..) | StatisticScope::EventListener(_) => None,
    }
}

/// Appends the metrics of `counts` to `text` under the names of kea-exporter.
pub(crate) fn write(
    text: &mut String,
    version: IpVersion,
    counts: &ServerCounts,
    labels: &ExporterLabels,
) {
    let metrics: &[Metric] = if version == IpVersion::V4 { &METRICS_4 } else { &METRICS_6 };
    let mut values: Vec<String> = vec![String::new(); metrics.len()];
    counts.for_each(version, &mut |name, count| {
        let metric_and_detail = match name.scope {
            StatisticScope::Global => packet_metric(version, name.counted),
            _ => lease_metric(version, name.counted),
        };
        let Some((metric, detail)) = metric_and_detail else { return };
        let Some(at) = metrics.iter().position(|(known, ..)| *known == metric) else { return };
        if let Some(braces) = braces(labels, name, metrics[at].2, detail) {
            let family = version.number();
            let _ = writeln!(values[at], "kea_dhcp{family}_{metric}{braces} {count}");
        }
    });
    for ((metric, help, _), values) in metrics.iter().zip(&values) {
        let name = format!("kea_dhcp{}_{metric}", version.number());
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{values}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::statistics::{LeaseCounts, PoolCounts, SubnetCounts};

    #[test]
    fn statistics_have_the_names_and_labels_of_the_exporter() {
        let document = json!({ "Dhcp4": {
            "subnet4": [{ "id": 7, "subnet": "10.7.0.0/24",
                          "pools": [{ "pool": "10.7.0.1-10.7.0.9", "pool-id": 2 }] }],
            "shared-networks": [{ "subnet4": [{ "id": 3, "subnet": "10.3.0.0/24" }] }],
        } });
        let labels = ExporterLabels::from_configuration(&document, IpVersion::V4);
        let leases = LeaseCounts { assigned: 5, ..LeaseCounts::default() };
        let counts = ServerCounts {
            server: vec![("pkt4-ack-sent", 4), ("pkt4-receive-drop", 1), ("pkt4-sent", 9)],
            subnets: vec![
                SubnetCounts { id: 3, ..SubnetCounts::default() },
                SubnetCounts {
                    id: 7,
                    pools: vec![PoolCounts { id: 2, total: 9, leases }],
                    events: vec![("v4-allocation-fail-classes", 6), ("v4-allocation-fail", 6)],
                    ..SubnetCounts::default()
                },
            ],
            ..ServerCounts::default()
        };
        let mut text = String::new();
        write(&mut text, IpVersion::V4, &counts, &labels);
        for line in [
            "# TYPE kea_dhcp4_packets_sent_total gauge",
            "kea_dhcp4_packets_sent_total{operation=\"ack\"} 4",
            "kea_dhcp4_packets_received_total{operation=\"drop\"} 1",
            "kea_dhcp4_addresses_assigned_total{subnet=\"10.7.0.0/24\",subnet_id=\"7\",pool=\"\"} 5",
            "kea_dhcp4_addresses_total{subnet=\"10.7.0.0/24\",subnet_id=\"7\",\
             pool=\"10.7.0.1-10.7.0.9\"} 9",
            "kea_dhcp4_allocations_failed_total{subnet=\"10.7.0.0/24\",subnet_id=\"7\",\
             context=\"classes\"} 6",
            "kea_dhcp4_leases_reused_total{subnet=\"10.3.0.0/24\",subnet_id=\"3\"} 0",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} in {text}");
        }
        assert!(!text.contains("pkt4") && !text.contains("cumulative"), "{text}");
    }
}
