//! Tests of commands about reservations in databases: which sources a command means, and in which
//! order.

use dhcp_lease::v4::V4;
use serde_json::{Value, json};

use crate::common::Fake;

/// Returns the arguments of a change of the reservation of client `n`.
fn reservation(n: u8, target: Option<&str>) -> Value {
    let address = format!("192.0.2.{n}");
    let host =
        json!({ "subnet-id": 1, "hw-address": format!("02:{n:02x}"), "ip-address": address });
    let mut arguments = json!({ "reservation": host });
    if let Some(target) = target {
        arguments["operation-target"] = json!(target);
    }
    arguments
}

/// Returns the arguments that name the reservation of client `n`.
fn named(n: u8, target: &str) -> Value {
    json!({ "subnet-id": 1, "ip-address": format!("192.0.2.{n}"), "operation-target": target })
}

/// Creates a server with as many databases, all empty.
fn server(databases: usize) -> Fake<V4> {
    let mut server = Fake::<V4>::with_subnets();
    server.host_databases.0 = (0..databases).map(|_| (Vec::new(), None)).collect();
    server
}

/// Returns the numbers of reservations in the configuration and in each database.
fn counts(server: &Fake<V4>) -> Vec<usize> {
    let own = server.document["Dhcp4"]["subnet4"][0]["reservations"].as_array().map_or(0, Vec::len);
    core::iter::once(own)
        .chain(server.host_databases.0.iter().map(|(hosts, _)| hosts.len()))
        .collect()
}

fn result(answer: &Value) -> (u64, &str) {
    (answer["result"].as_u64().unwrap(), answer["text"].as_str().unwrap())
}

#[test]
fn a_reservation_is_added_to_the_sources_that_the_command_means() {
    let mut server = server(2);
    for (n, target, expected) in [
        (1, None, [0, 1, 1]),
        (2, Some("default"), [0, 2, 2]),
        (3, Some("database"), [0, 3, 3]),
        (4, Some("memory"), [1, 3, 3]),
        (5, Some("all"), [2, 4, 4]),
    ] {
        let answer = server.call("reservation-add", reservation(n, target));
        assert_eq!(result(&answer), (0, "Host added."));
        assert_eq!(counts(&server), expected, "{target:?}");
    }
    // The first source that fails ends the command; the earlier ones keep the reservation.
    server.host_databases.0[1].1 = Some("it is full");
    let answer = server.call("reservation-add", reservation(6, Some("all")));
    assert_eq!(result(&answer), (1, "it is full"));
    assert_eq!(counts(&server), [3, 5, 4]);
    let answer = server.call("reservation-add", reservation(6, Some("all")));
    assert_eq!(answer["result"], 1);
    assert_eq!(counts(&server), [3, 5, 4], "the configuration has it already");
    let global = json!({ "reservation": { "flex-id": "'a'" } });
    let text = "Host added. subnet-id not specified, assumed global (subnet-id 0).";
    server.host_databases.0[1].1 = None;
    assert_eq!(result(&server.call("reservation-add", global)), (0, text));
    assert_eq!(server.host_databases.0[0].0[5].subnet_id, 0);
}

#[test]
fn a_reservation_is_deleted_from_every_source_that_the_command_means() {
    let mut server = server(2);
    for (target, expected) in
        [("memory", [0, 1, 1]), ("database", [1, 0, 0]), ("default", [1, 0, 0]), ("all", [0, 0, 0])]
    {
        server.document["Dhcp4"]["subnet4"][0]["reservations"] = json!([]);
        server.host_databases.0.iter_mut().for_each(|(hosts, _)| hosts.clear());
        server.call("reservation-add", reservation(1, Some("all")));
        assert_eq!(counts(&server), [1, 1, 1]);
        let answer = server.call("reservation-del", named(1, target));
        assert_eq!(result(&answer), (0, "Host deleted."));
        assert_eq!(counts(&server), expected, "{target}");
    }
    // One database that has it is enough.
    server.call("reservation-add", reservation(1, None));
    server.host_databases.0[0].0.clear();
    assert_eq!(result(&server.call("reservation-del", named(1, "all"))), (0, "Host deleted."));
    // A failure comes after the deletions before it.
    server.call("reservation-add", reservation(1, Some("all")));
    server.host_databases.0[0].1 = Some("it is full");
    assert_eq!(result(&server.call("reservation-del", named(1, "all"))), (1, "it is full"));
    assert_eq!(counts(&server), [0, 1, 1]);
    server.host_databases.0[0].1 = None;
    server.call("reservation-del", named(1, "all"));
    let answer = server.call("reservation-del", named(1, "all"));
    assert_eq!(result(&answer), (3, "Host not deleted (not found)."));
    server.call("reservation-add", reservation(1, Some("memory")));
    for target in ["database", "default"] {
        let answer = server.call("reservation-del", named(1, target));
        assert_eq!(result(&answer), (3, "Host not deleted (not found)."));
    }
    assert_eq!(counts(&server), [1, 0, 0]);
}

#[test]
fn every_source_of_an_update_must_have_the_reservation() {
    let mut server = server(1);
    server.call("reservation-add", reservation(1, Some("database")));
    let mut update = reservation(1, None);
    update["reservation"]["hostname"] = json!("a");
    assert_eq!(result(&server.call("reservation-update", update.clone())), (0, "Host updated."));
    assert_eq!(server.host_databases.0[0].0[0].document["hostname"], "a");
    update["operation-target"] = json!("all");
    let answer = server.call("reservation-update", update.clone());
    assert_eq!(result(&answer), (1, "Host not updated (not found)."));
    server.call("reservation-add", reservation(1, Some("memory")));
    assert_eq!(result(&server.call("reservation-update", update.clone())), (0, "Host updated."));
    server.call("reservation-del", named(1, "database"));
    let answer = server.call("reservation-update", update);
    assert_eq!(result(&answer), (1, "Host not updated (not found)."));
}

#[test]
fn reservations_of_all_sources_are_found_and_the_configuration_comes_first() {
    let mut server = server(2);
    server.call("reservation-add", reservation(1, Some("memory")));
    server.call("reservation-add", reservation(1, Some("database")));
    server.call("reservation-add", reservation(2, Some("database")));
    let lists = [
        ("reservation-get-all", json!({ "subnet-id": 1 }), 5),
        ("reservation-get-all", json!({ "subnet-id": 1, "operation-target": "memory" }), 1),
        ("reservation-get-all", json!({ "subnet-id": 1, "operation-target": "database" }), 4),
        ("reservation-get-all", json!({ "subnet-id": 7 }), 0),
        ("reservation-get-by-address", json!({ "ip-address": "192.0.2.1" }), 3),
        ("reservation-get-by-address", json!({ "ip-address": "192.0.2.1", "subnet-id": 7 }), 0),
        (
            "reservation-get-by-id",
            json!({ "identifier-type": "hw-address", "identifier": "0202" }),
            2,
        ),
    ];
    for (name, arguments, count) in lists {
        let answer = server.call(name, arguments.clone());
        let text = format!("{count} IPv4 host(s) found.");
        let result_code = if count > 0 { 0 } else { 3 };
        assert_eq!(result(&answer), (result_code, text.as_str()), "{name} {arguments}");
        let hosts = answer["arguments"]["hosts"].as_array().unwrap();
        assert!(hosts.iter().all(|host| host["subnet-id"] == 1), "{hosts:?}");
    }
    // A database that does not answer fails the command, unless the answer is known before.
    server.host_databases.0[0].1 = Some("it is away");
    assert_eq!(result(&server.call("reservation-get", named(1, "all"))), (0, "Host found."));
    assert_eq!(result(&server.call("reservation-get", named(2, "all"))), (1, "it is away"));
    assert_eq!(result(&server.call("reservation-get", named(2, "memory"))), (3, "Host not found."));
    let all = server.call("reservation-get-all", json!({ "subnet-id": 1 }));
    assert_eq!(result(&all), (1, "it is away"));
    server.host_databases.0[0].1 = None;
    assert_eq!(result(&server.call("reservation-get", named(2, "all"))), (0, "Host found."));
}

#[test]
fn pages_lead_from_source_to_source() {
    let mut server = server(3);
    for n in 1..=3 {
        server.call("reservation-add", reservation(n, Some("memory")));
    }
    for n in 4..=6 {
        server.call("reservation-add", reservation(n, Some("database")));
    }
    // The second database is empty.
    server.host_databases.0[1].0.clear();
    let mut arguments = json!({ "limit": 2 });
    let mut pages = Vec::new();
    loop {
        let answer = server.call("reservation-get-page", arguments.clone());
        let hosts = answer["arguments"]["hosts"].as_array().unwrap();
        assert_eq!(answer["arguments"]["count"], hosts.len());
        let addresses: Vec<String> =
            hosts.iter().map(|host| host["ip-address"].as_str().unwrap().to_owned()).collect();
        if hosts.is_empty() {
            assert_eq!(answer["result"], 3);
            assert!(answer["arguments"]["next"].is_null());
            break;
        }
        let next = &answer["arguments"]["next"];
        pages.push((next["source-index"].as_u64().unwrap(), next["from"].as_u64().unwrap()));
        arguments["source-index"] = next["source-index"].clone();
        arguments["from"] = next["from"].clone();
        assert!(addresses.len() <= 2, "{addresses:?}");
    }
    assert_eq!(pages, [(0, 2), (0, 3), (1, 2), (1, 3), (3, 2), (3, 3)]);
    let last = json!({ "limit": 2, "source-index": 10 });
    assert_eq!(server.call("reservation-get-page", last)["result"], 3);
}
