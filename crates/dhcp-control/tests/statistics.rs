//! Tests of statistics and of the commands about them.

use crate::common::Fake;
use dhcp_control::IpVersion;
use dhcp_control::statistics::{
    EventCounts, EventListenerCounts, LeaseCounts, PoolCounts, ServerCounts, Statistics,
    SubnetCounts,
};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use serde_json::{Value, json};

const SECOND: u64 = 1_000_000;
fn names(statistics: &Value) -> Vec<String> {
    statistics.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn a_server_shows_the_names_that_kea_shows() {
    let mut server = Fake::<V4>::with_subnets();
    let all = server.run(&json!({ "command": "statistic-get-all" }))["arguments"].clone();
    // `kea-dhcp4` 2.2 showed these at its start with the same two subnets.
    for name in [
        "cumulative-assigned-addresses",
        "declined-addresses",
        "pkt4-ack-sent",
        "pkt4-parse-failed",
        "pkt4-receive-drop",
        "reclaimed-declined-addresses",
        "reclaimed-leases",
        "subnet[1].assigned-addresses",
        "subnet[1].cumulative-assigned-addresses",
        "subnet[1].declined-addresses",
        "subnet[1].reclaimed-declined-addresses",
        "subnet[1].reclaimed-leases",
        "subnet[1].total-addresses",
        "subnet[7].v4-reservation-conflicts",
        "v4-allocation-fail-shared-network",
        "v4-reservation-conflicts",
    ] {
        assert!(all.get(name).is_some(), "{name}");
    }
    assert_eq!(all["subnet[7].pool[0].total-addresses"][0][0], 10);
    assert!(all.get("subnet[1].v4-lease-reuses").is_some());
    let global = server.run(&json!({ "command": "statistic-global-get-all" }))["arguments"].clone();
    assert_eq!(names(&global).len(), 40);
    assert!(names(&global).iter().all(|name| !name.contains('[')));

    let mut server = Fake::<V6>::with_subnets();
    let all = server.run(&json!({ "command": "statistic-get-all" }))["arguments"].clone();
    for name in [
        "assigned-nas",
        "cumulative-assigned-pds",
        "pkt6-addr-reg-inform-received",
        "registered-nas",
        "subnet[1].cumulative-registered-nas",
        "subnet[1].pd-pool[0].assigned-pds",
        "subnet[1].pd-pool[0].reclaimed-leases",
        "subnet[1].pool[0].total-nas",
        "subnet[1].total-pds",
        "subnet[1].v6-ia-pd-lease-reuses",
        "v6-allocation-fail-classes",
        "v6-ia-na-lease-reuses",
    ] {
        assert!(all.get(name).is_some(), "{name}");
    }
    assert!(names(&all).iter().all(|name| !name.starts_with("v4-")));
}

#[test]
fn commands_about_statistics_answer_as_kea_s() {
    let table = include_str!("answers/statistics.jsonl");
    Fake::<V4>::with_subnets().answers_of(table);
    Fake::<V6>::with_subnets().answers_of(table);
}

/// Returns counts with the number `received`.
fn counted(received: u64) -> ServerCounts {
    ServerCounts { server: vec![("pkt4-received", received)], ..ServerCounts::default() }
}

fn values(statistics: &Statistics, name: &str) -> Vec<i64> {
    let samples = statistics.get(name).unwrap_or_default();
    let samples = samples.as_array().cloned().unwrap_or_default();
    samples.iter().map(|sample| sample[0].as_i64().unwrap()).collect()
}

#[test]
fn samples_are_of_changes_newest_first_and_not_too_many() {
    let mut statistics = Statistics::new(IpVersion::V4);
    for second in 0..30 {
        statistics.sample(second * SECOND, &counted(second / 2));
    }
    let samples = values(&statistics, "pkt4-received");
    assert_eq!(samples, (0..15).rev().collect::<Vec<_>>());
    for second in 30..60 {
        statistics.sample(second * SECOND, &counted(second));
    }
    assert_eq!(values(&statistics, "pkt4-received"), (40..60).rev().collect::<Vec<_>>());
    assert!(statistics.set_count("pkt4-received", 3));
    assert_eq!(values(&statistics, "pkt4-received"), [59, 58, 57]);
    assert!(statistics.set_age("pkt4-received", 5));
    for second in 60..80 {
        statistics.sample(second * SECOND, &counted(second));
    }
    assert_eq!(values(&statistics, "pkt4-received"), [79, 78, 77, 76, 75, 74]);
    assert!(statistics.set_count("pkt4-received", 0));
    assert_eq!(values(&statistics, "pkt4-received"), [79]);
    assert_eq!(statistics.get("pkt4-received").unwrap()[0][1], "1970-01-01 00:01:19.000000");
    assert_eq!(values(&statistics, "pkt4-sent"), [0]);
}

#[test]
fn a_reset_counts_from_there_and_a_removal_until_the_next_change() {
    let mut statistics = Statistics::new(IpVersion::V4);
    statistics.sample(SECOND, &counted(10));
    assert!(statistics.reset("pkt4-received"));
    assert_eq!(values(&statistics, "pkt4-received"), [0]);
    statistics.sample(2 * SECOND, &counted(13));
    assert_eq!(values(&statistics, "pkt4-received"), [3, 0]);
    assert!(statistics.remove("pkt4-received"));
    statistics.sample(3 * SECOND, &counted(13));
    assert_eq!(statistics.get("pkt4-received"), None);
    assert!(!statistics.reset("pkt4-received"));
    statistics.sample(4 * SECOND, &counted(15));
    assert_eq!(values(&statistics, "pkt4-received"), [2]);
}

/// Returns the counts of a subnet with two pools of one number.
fn subnet(id: u32, assigned: u64, total: u128) -> ServerCounts {
    let leases = LeaseCounts { assigned, declined: 1, ..LeaseCounts::default() };
    let pools = vec![PoolCounts { id: 2, total, leases }; 2];
    let subnet = SubnetCounts { id, pools, outside: leases, ..SubnetCounts::default() };
    ServerCounts { subnets: vec![subnet], ..ServerCounts::default() }
}

#[test]
fn a_subnet_is_the_sum_of_its_pools_and_gone_when_it_is_gone() {
    let mut statistics = Statistics::new(IpVersion::V6);
    statistics.sample(SECOND, &subnet(5, 7, 100));
    for (name, value) in [
        ("subnet[5].pool[2].assigned-nas", 14),
        ("subnet[5].pool[2].total-nas", 200),
        ("subnet[5].assigned-nas", 21),
        ("subnet[5].declined-addresses", 3),
        ("subnet[5].total-nas", 200),
        ("assigned-nas", 21),
    ] {
        assert_eq!(values(&statistics, name), [value], "{name}");
    }
    // A gauge that was reset can be negative, as in Kea.
    statistics.reset("subnet[5].assigned-nas");
    statistics.sample(2 * SECOND, &subnet(5, 6, 100));
    assert_eq!(values(&statistics, "subnet[5].assigned-nas"), [-3, 0]);
    statistics.sample(3 * SECOND, &subnet(6, 6, 1 << 80));
    assert_eq!(statistics.get("subnet[5].assigned-nas"), None);
    assert_eq!(statistics.get("subnet[6].total-nas").unwrap()[0][0], u64::MAX);
}

/// Returns the counts of a subnet with one pool, from which `count` leases were given; all still
/// exist.
fn leased(count: u64) -> ServerCounts {
    let leases = LeaseCounts { assigned: count, cumulative_assigned: count, ..Default::default() };
    let pools = vec![PoolCounts { id: 2, total: 100, leases }];
    let events = vec![("v4-lease-reuses", count)];
    let subnet = SubnetCounts { id: 5, pools, events, ..SubnetCounts::default() };
    ServerCounts {
        server: vec![("pkt4-received", count)],
        subnets: vec![subnet],
        ..ServerCounts::default()
    }
}

#[test]
fn a_new_configuration_ends_the_history_of_subnets() {
    let mut statistics = Statistics::new(IpVersion::V4);
    for second in 1..4 {
        statistics.sample(second * SECOND, &leased(second));
    }
    statistics.restart_subnets();
    for (name, expected) in [
        ("subnet[5].assigned-addresses", &[3][..]),
        ("subnet[5].total-addresses", &[100]),
        ("subnet[5].cumulative-assigned-addresses", &[0]),
        ("subnet[5].pool[2].assigned-addresses", &[3]),
        ("subnet[5].pool[2].cumulative-assigned-addresses", &[0]),
        // Counts of messages continue, and so do those of the whole server.
        ("subnet[5].v4-lease-reuses", &[3, 2, 1]),
        ("cumulative-assigned-addresses", &[3, 2, 1]),
        ("pkt4-received", &[3, 2, 1]),
    ] {
        assert_eq!(values(&statistics, name), expected, "{name}");
    }
    statistics.sample(5 * SECOND, &leased(5));
    assert_eq!(values(&statistics, "subnet[5].assigned-addresses"), [5, 3]);
    assert_eq!(values(&statistics, "subnet[5].cumulative-assigned-addresses"), [2, 0]);
}

#[test]
fn defaults_hold_for_statistics_that_are_new() {
    let mut statistics = Statistics::new(IpVersion::V4);
    statistics.set_default_limits(2, 0);
    for second in 0..5 {
        statistics.sample(second * SECOND, &counted(second));
    }
    assert_eq!(values(&statistics, "pkt4-received"), [4, 3]);
    let mut statistics = Statistics::new(IpVersion::V4);
    statistics.set_default_limits(0, 3);
    for second in 0..9 {
        statistics.sample(second * SECOND, &counted(second));
    }
    assert_eq!(values(&statistics, "pkt4-received"), [8, 7, 6, 5]);
    statistics.set_age_of_all(0);
    assert_eq!(values(&statistics, "pkt4-received"), [8]);
    statistics.set_count_of_all(4);
    statistics.reset_all();
    statistics.remove_all();
    assert_eq!(statistics.all(false), json!({}));
}

#[test]
fn listeners_of_lease_events_have_statistics_of_the_server() {
    let listener = EventListenerCounts { name: "webhook", delivered: 9, dropped: 2, backlog: 1 };
    let events = EventCounts { listeners: vec![listener], ..EventCounts::default() };
    let mut statistics = Statistics::new(IpVersion::V4);
    statistics.sample(SECOND, &ServerCounts { events, ..ServerCounts::default() });
    for (name, value) in [("delivered", 9), ("dropped", 2), ("backlog", 1)] {
        let name = format!("event-listener[webhook].{name}");
        assert_eq!(values(&statistics, &name), [value]);
        assert!(statistics.all(true).get(&name).is_some());
        assert!(statistics.reset(&name));
    }
    assert_eq!(statistics.get("event-listener[other].dropped"), None);
}
