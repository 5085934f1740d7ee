//! Tests of the text for Prometheus, with Prometheus's own tool.

use std::io::Write;
use std::process::{Command, Stdio};

use dhcp_control::statistics::{LeaseCounts, PoolCounts, ServerCounts, SubnetCounts};
use dhcp_control::{IpVersion, Latency, MetricsSnapshot, ProcessFacts, prometheus};

fn counts(version: IpVersion) -> ServerCounts {
    let leases =
        LeaseCounts { assigned: 3, declined: 1, cumulative_assigned: 9, ..LeaseCounts::default() };
    let pool = |id| PoolCounts { id, total: 1 << 70, leases };
    let server = match version {
        IpVersion::V4 => vec![
            ("pkt4-received", 10),
            ("pkt4-discover-received", 4),
            ("pkt4-queue-full", 2),
            ("v4-allocation-fail", 1),
            ("v4-allocation-fail-no-pools", 1),
            ("v4-lease-reuses", 5),
        ],
        IpVersion::V6 => vec![("pkt6-solicit-received", 4), ("v6-ia-pd-lease-reuses", 5)],
    };
    let subnet = SubnetCounts {
        id: 7,
        pools: vec![pool(1), pool(0), pool(1)],
        prefix_pools: vec![pool(0)],
        outside: leases,
        ..SubnetCounts::default()
    };
    ServerCounts {
        server,
        subnets: vec![subnet, SubnetCounts { id: 8, ..SubnetCounts::default() }],
    }
}

fn page(version: IpVersion) -> String {
    let latencies = [
        Latency { message: "discover", buckets: vec![(10, 2), (1000, 3)], beyond: 1, sum_us: 2500 },
        Latency { message: "request", ..Latency::default() },
    ];
    let drops = [("no-subnet", 3), ("held-full", 0)];
    let counts = counts(version);
    let (omissions, lease_file_bytes) = ([("suffix-too-long", 2)], Some(4711));
    prometheus(&MetricsSnapshot {
        exporter: None,
        version,
        counts: &counts,
        drops: &drops,
        omissions: &omissions,
        host_rows: Some(&[("left-out", 0), ("taken-in-part", 5)]),
        latencies: &latencies,
        lease_file_bytes,
        process: ProcessFacts {
            version: "1.2.3",
            kea: "3.0.3",
            started_s: 1_700_000_000.5,
            configured_s: 1_700_000_100.0,
            is_configured: true,
            threads: 2,
            cpu_s: 0.25,
            resident_bytes: 1 << 20,
            virtual_bytes: 1 << 30,
            open_files: 17,
            open_files_max: Some(1024),
            internal_errors: 3,
        },
    })
}

#[test]
fn the_size_of_the_lease_file_is_a_gauge() {
    let page = page(IpVersion::V6);
    assert!(page.contains("# TYPE godwit_dhcp6_lease_file_bytes gauge\n"));
    assert!(page.contains("\ngodwit_dhcp6_lease_file_bytes 4711\n"));
}

#[test]
fn build_process_and_the_last_reload_are_told() {
    let page = page(IpVersion::V6);
    for line in [
        "godwit_build_info{family=\"dhcp6\",version=\"1.2.3\",kea=\"3.0.3\"} 1",
        "godwit_dhcp6_threads 2",
        "godwit_dhcp6_internal_errors_total 3",
        "godwit_dhcp6_config_last_reload_successful 1",
        "godwit_dhcp6_config_last_reload_success_timestamp_seconds 1700000100",
        "process_start_time_seconds 1700000000.5",
        "process_cpu_seconds_total 0.25",
        "process_resident_memory_bytes 1048576",
        "process_virtual_memory_bytes 1073741824",
        "process_open_fds 17",
        "process_max_fds 1024",
    ] {
        assert!(page.lines().any(|own| own == line), "{line}: {page}");
    }
}

#[test]
fn kea_s_names_become_labels() {
    let text = page(IpVersion::V4);
    for line in [
        "godwit_dhcp4_received_total 10",
        "godwit_dhcp4_packets_received_total{type=\"discover\"} 4",
        "godwit_dhcp4_packets_received_total{type=\"lease_query\"} 0",
        "godwit_dhcp4_packets_dropped_total{reason=\"queue_full\"} 2",
        "godwit_drops_total{family=\"dhcp4\",reason=\"no-subnet\"} 3",
        "godwit_drops_total{family=\"dhcp4\",reason=\"held-full\"} 0",
        "godwit_omissions_total{family=\"dhcp4\",reason=\"suffix-too-long\"} 2",
        "godwit_host_rows_total{family=\"dhcp4\",reason=\"taken-in-part\"} 5",
        "godwit_dhcp4_allocation_failures_total 1",
        "godwit_dhcp4_allocation_failure_reasons_total{reason=\"no_pools\"} 1",
        "godwit_dhcp4_lease_reuses_total{kind=\"address\"} 5",
        "godwit_dhcp4_reservation_conflicts_total 0",
        "godwit_dhcp4_pool_leases{subnet=\"7\",pool=\"1\",kind=\"address\"} 6",
        "godwit_dhcp4_pool_leases{subnet=\"7\",pool=\"none\",kind=\"address\"} 3",
        "godwit_dhcp4_pool_size{subnet=\"7\",pool=\"0\",kind=\"address\"} 1180591620717411303424",
        "godwit_dhcp4_answer_duration_seconds_bucket{type=\"discover\",le=\"0.001\"} 5",
        "godwit_dhcp4_answer_duration_seconds_bucket{type=\"discover\",le=\"+Inf\"} 6",
        "godwit_dhcp4_answer_duration_seconds_sum{type=\"discover\"} 0.0025",
        "godwit_dhcp4_answer_duration_seconds_count{type=\"request\"} 0",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert!(lines.windows(2).all(|pair| pair[0] != pair[1]));
    let six = page(IpVersion::V6);
    assert!(six.contains("godwit_dhcp6_pool_leases{subnet=\"7\",pool=\"0\",kind=\"prefix\"} 3\n"));
    assert!(six.contains("godwit_drops_total{family=\"dhcp6\",reason=\"no-subnet\"} 3\n"));
    assert!(six.contains("godwit_dhcp6_lease_reuses_total{kind=\"ia_pd\"} 5\n"));
    assert!(six.contains("godwit_dhcp6_subnet_registered{subnet=\"8\"} 0\n"));
}

/// Returns promtool's verdict on what it reads from `input`; an error if it cannot be started.
fn judged(words: &[&str], input: &str) -> std::io::Result<(bool, String)> {
    let mut child = Command::new("promtool")
        .arg("check")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    child.stdin.take().unwrap().write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    let output_octets = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&output_octets).into_owned()))
}

#[test]
fn prometheus_s_own_tool_finds_nothing_wrong() {
    for version in [IpVersion::V4, IpVersion::V6] {
        match judged(&["metrics"], &page(version)) {
            Ok(verdict) => assert_eq!(verdict, (true, String::new())),
            Err(why) => {
                testkit::skip(format_args!("promtool: {why}"));
                return;
            }
        }
    }
}

/// Alert rules that the project ships.
const ALERTS: &str = include_str!("../../../contrib/prometheus-alerts.yml");

#[test]
fn alert_rules_name_metrics_of_the_page() {
    let pages = [IpVersion::V4, IpVersion::V6].map(page);
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = ALERTS.lines().filter(|line| !line.trim_start().starts_with(['#', 'd', 's']));
    let names = names.flat_map(|line| line.split(|c: char| !is_of_name(c)));
    let names: Vec<&str> = names
        .filter(|name| name.starts_with("godwit_dhcp") || name.starts_with("process_"))
        .collect();
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        // The name of a histogram's bucket has the suffix of its own lines.
        let begin = format!("\n{name}");
        assert!(pages.iter().any(|page| page.contains(&begin)), "{name}");
    }
}

#[test]
fn prometheus_s_own_tool_takes_the_alert_rules() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/prometheus-alerts.yml");
    match judged(&["rules", file], "") {
        Ok((is_good, text)) => assert!(is_good && text.contains("8 rules found"), "{text}"),
        Err(why) => {
            testkit::skip(format_args!("promtool: {why}"));
        }
    }
}
