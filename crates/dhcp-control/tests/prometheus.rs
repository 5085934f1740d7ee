//! Tests of the text for Prometheus, with Prometheus's own tool.

use std::io::Write;
use std::process::{Command, Stdio};

use dhcp_control::statistics::{
    EventCounts, EventListenerCounts, LeaseCounts, PoolCounts, ServerCounts, SubnetCounts,
};
use dhcp_control::{IpVersion, Latency, MetricsSnapshot, ProcessFacts, prometheus};
use dhcp_ha::{HaMetrics, HaState};

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
    let listener = EventListenerCounts { name: "webhook", delivered: 9, dropped: 2, backlog: 1 };
    ServerCounts {
        server,
        subnets: vec![subnet, SubnetCounts { id: 8, ..SubnetCounts::default() }],
        events: EventCounts { listeners: vec![listener], subscribers: 3, cut_off: 4, lost: 5 },
    }
}

fn page(version: IpVersion) -> String {
    page_of(version, &[("server1".to_owned(), PAIR)])
}

/// Returns the page of a server with the relationships `pairs`.
fn page_of(version: IpVersion, pairs: &[(String, HaMetrics)]) -> String {
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
        legal_log: Some(&[("written", 7), ("lost", 0)]),
        name_changes: Some(&[("sent", 5)]),
        script_runs: Some(&[("succeeded", 8), ("not-started", 0)]),
        pairs,
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

const PAIR: HaMetrics = HaMetrics {
    state: HaState::PartnerDown,
    partner: None,
    entered: [0, 0, 2, 0, 0, 1, 0, 0, 1, 1, 0, 0],
    silent_s: 61,
    clock_skew_s: Some(-2),
    unsent_updates: 17,
    refused_updates: 5,
    refused_clients: 3,
    unacked_clients: 11,
};

#[test]
fn each_of_several_relationships_has_a_label() {
    let other = HaMetrics { state: HaState::HotStandby, clock_skew_s: None, ..PAIR };
    let pairs = [("server2".to_owned(), PAIR), ("a \"b\"".to_owned(), other)];
    let page = page_of(IpVersion::V4, &pairs);
    for line in [
        "godwit_dhcp4_ha_state{relationship=\"server2\",state=\"partner-down\"} 1",
        "godwit_dhcp4_ha_state{relationship=\"a \\\"b\\\"\",state=\"hot-standby\"} 1",
        "godwit_dhcp4_ha_clock_skew_seconds{relationship=\"server2\"} -2",
        "godwit_dhcp4_ha_unsent_updates{relationship=\"server2\"} 17",
    ] {
        assert!(page.lines().any(|other| other == line), "{line}: {page}");
    }
    let heads = page.lines().filter(|line| line.starts_with("# TYPE godwit_dhcp4_ha_"));
    assert_eq!(heads.count(), 9);
}

#[test]
fn a_pair_has_its_states_lag_and_conflicts() {
    let page = page(IpVersion::V6);
    for line in [
        "# TYPE godwit_dhcp6_ha_state gauge",
        "godwit_dhcp6_ha_state{state=\"partner-down\"} 1",
        "godwit_dhcp6_ha_state{state=\"hot-standby\"} 0",
        "godwit_dhcp6_ha_partner_state{state=\"waiting\"} 0",
        "godwit_dhcp6_ha_state_changes_total{state=\"hot-standby\"} 2",
        "godwit_dhcp6_ha_heartbeat_age_seconds 61",
        "godwit_dhcp6_ha_clock_skew_seconds -2",
        "godwit_dhcp6_ha_unsent_updates 17",
        "godwit_dhcp6_ha_refused_updates_total 5",
        "godwit_dhcp6_ha_refused_clients 3",
        "godwit_dhcp6_ha_unacked_clients 11",
    ] {
        assert!(page.lines().any(|other| other == line), "{line}: {page}");
    }
}

#[test]
fn the_size_of_the_lease_file_is_a_gauge() {
    let page = page(IpVersion::V6);
    assert!(page.contains("# TYPE godwit_dhcp6_lease_file_bytes gauge\n"));
    assert!(page.contains("\ngodwit_dhcp6_lease_file_bytes 4711\n"));
}

#[test]
fn listeners_of_lease_events_have_their_counts() {
    let page = page(IpVersion::V6);
    for line in [
        "godwit_dhcp6_event_listener_delivered_total{listener=\"webhook\"} 9",
        "godwit_dhcp6_event_listener_dropped_total{listener=\"webhook\"} 2",
        "godwit_dhcp6_event_listener_backlog{listener=\"webhook\"} 1",
        "godwit_dhcp6_event_subscribers 3",
        "godwit_dhcp6_event_subscribers_cut_off_total 4",
        "godwit_dhcp6_events_lost_total 5",
    ] {
        assert!(page.contains(&format!("\n{line}\n")), "{line}");
    }
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
        "godwit_legal_log_total{family=\"dhcp4\",reason=\"written\"} 7",
        "godwit_script_runs_total{family=\"dhcp4\",reason=\"succeeded\"} 8",
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
        match judged(&["check", "metrics"], &page(version)) {
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
    match judged(&["check", "rules", file], "") {
        Ok((is_good, text)) => assert!(is_good && text.contains("8 rules found"), "{text}"),
        Err(why) => {
            testkit::skip(format_args!("promtool: {why}"));
        }
    }
}

#[test]
fn alerts_fire_for_faults_and_for_nothing_else() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/alerts.test.yml");
    let tests = std::fs::read_to_string(file).expect("it is part of the tests");
    let rules = ALERTS.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    for rule in rules {
        assert!(tests.contains(&format!("alertname=\"{rule}\"")), "{rule} has no test");
    }
    match judged(&["test", "rules", file], "") {
        Ok((is_good, text)) => assert!(is_good && text.contains("SUCCESS"), "{text}"),
        Err(why) => {
            testkit::skip(format_args!("promtool: {why}"));
        }
    }
}
