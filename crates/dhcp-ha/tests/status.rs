//! Member `high-availability` of the answer to `status-get`.

use dhcp_config::{HaMode, HaRole};
use dhcp_ha::{PartnerQuery, Relationship};
use serde_json::{Value, json};

use crate::states::{DATE, NOW, at, heartbeat};
use crate::world::config;

/// Returns the members `local` and `remote` of the status at `ms` milliseconds after the start.
fn servers(one: &Relationship, ms: u64) -> [Value; 2] {
    let status = one.status(at(ms));
    ["local", "remote"].map(|name| status["ha-servers"][name].clone())
}

#[test]
fn both_clocks_are_those_of_the_last_heartbeat() {
    let mut one = Relationship::new(config(0, HaMode::HotStandby), NOW);
    let nothing = [Value::Null, Value::Null, Value::Null];
    let clocks = |[local, remote]: [Value; 2]| {
        [&local["system-time"], &remote["system-time"], &remote["clock-skew"]].map(Clone::clone)
    };
    assert_eq!(clocks(servers(&one, 0)), nothing);
    one.poll(NOW);
    one.receive(NOW, heartbeat("waiting", "Thu, 26 Nov 2026 14:31:35 GMT"));
    let ahead = [json!("2026-11-26 14:31:32"), json!("2026-11-26 14:31:35"), json!(3)];
    assert_eq!(clocks(servers(&one, 0)), ahead);
    assert_eq!(clocks(servers(&one, 2_500)), ahead, "the clocks go on, the comparison is old");
    one.record_update_failure(at(2_600), "no connection".to_owned());
    assert_eq!(clocks(servers(&one, 2_700)), nothing);
}

#[test]
fn the_age_counts_from_the_start_until_a_heartbeat_succeeds() {
    let mut one = Relationship::new(config(1, HaMode::HotStandby), NOW);
    let seen = |one: &Relationship, ms| {
        let remote = servers(one, ms)[1].clone();
        ["in-touch", "age", "last-state", "communication-interrupted"]
            .map(|key| remote[key].clone())
    };
    assert_eq!(seen(&one, 1_500), [json!(false), json!(0), json!(""), json!(false)]);
    one.poll(NOW);
    one.receive(at(1_600), Err("no connection".to_owned()));
    assert_eq!(seen(&one, 2_500), [json!(true), json!(2), json!("unavailable"), json!(false)]);
    assert_eq!(seen(&one, 7_500), [json!(true), json!(7), json!("unavailable"), json!(true)]);
    one.poll(at(8_000));
    one.receive(at(8_000), heartbeat("waiting", DATE));
    assert_eq!(seen(&one, 9_000), [json!(true), json!(1), json!("waiting"), json!(false)]);
}

#[test]
fn clients_without_an_answer_of_the_partner_are_counted_down() {
    let mut one = Relationship::new(config(1, HaMode::HotStandby), NOW);
    let counts = |one: &Relationship, ms| {
        let remote = servers(one, ms)[1].clone();
        ["analyzed-packets", "connecting-clients", "unacked-clients", "unacked-clients-left"]
            .map(|key| remote[key].as_u64())
    };
    one.record_query(at(1_000), PartnerQuery { client: 1, elapsed_ms: 9_000 });
    assert_eq!(counts(&one, 1_000), [Some(0); 4], "the communication is not interrupted yet");
    for (client, elapsed_ms) in [(1, 900), (2, 1_100), (2, 1_200), (3, 1_001)] {
        one.record_query(at(3_500), PartnerQuery { client, elapsed_ms });
    }
    assert_eq!(counts(&one, 3_500), [Some(4), Some(3), Some(2), Some(2)]);
    for client in 4..9 {
        one.record_query(at(3_600), PartnerQuery { client, elapsed_ms: 2_000 });
    }
    assert_eq!(counts(&one, 3_600), [Some(9), Some(8), Some(7), Some(0)]);
}

#[test]
fn a_server_without_a_partner_shows_none() {
    let mut backup = config(0, HaMode::HotStandby);
    backup.own.role = HaRole::Backup;
    let mut passive = config(0, HaMode::PassiveBackup);
    passive.peers[0].role = HaRole::Backup;
    for (config, role) in [(backup, "backup"), (passive, "primary")] {
        let status = Relationship::new(config, NOW).status(NOW);
        let servers = status["ha-servers"].as_object().expect("it is a map");
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["local"], "{status}");
        assert_eq!(servers["local"]["role"], role);
    }
}
