//! Tests of commands about subnets, shared networks and classes.

use crate::common::Fake;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use serde_json::json;

/// Compares a table with the answers of both families.
fn both(table: &str) {
    Fake::<V4>::new(json!({})).answers_of(table);
    Fake::<V6>::new(json!({})).answers_of(table);
}

#[test]
fn subnets_are_added_changed_shown_and_deleted() {
    both(include_str!("answers/subnets.jsonl"));
}

#[test]
fn shared_networks_take_subnets_in_and_let_them_go() {
    both(include_str!("answers/networks.jsonl"));
}

#[test]
fn classes_are_added_changed_shown_and_deleted() {
    both(include_str!("answers/classes.jsonl"));
}

#[test]
fn a_change_that_is_no_configuration_is_refused() {
    let mut server = Fake::<V4>::with_subnets();
    let before = server.document.clone();
    let wrong = json!({ "subnet4": [{ "id": 9, "subnet": "10.9.0.0/16", "wrong": 1 }] });
    let answer = server.call("subnet4-add", wrong);
    assert_eq!(answer["result"], 1);
    assert_eq!(server.document, before);
    let half = json!({ "client-classes": [{ "name": "a", "half": 1 }] });
    assert_eq!(server.call("class-add", half)["result"], 5);
}

#[test]
fn an_updated_subnet_keeps_its_reservations() {
    let mut server = Fake::<V4>::with_subnets();
    server.document["Dhcp4"]["subnet4"][0]["reservations"] = json!([{ "hw-address": "01:02" }]);
    server.call("subnet4-update", json!({ "subnet4": [{ "id": 1, "subnet": "192.0.2.0/24" }] }));
    let expected =
        json!({ "id": 1, "subnet": "192.0.2.0/24", "reservations": [{ "hw-address": "01:02" }] });
    assert_eq!(server.document["Dhcp4"]["subnet4"][0], expected);
    let answer = server.call("subnet4-get", json!({ "id": 1 }));
    assert!(answer["arguments"]["subnet4"][0].get("reservations").is_none());
}

#[test]
fn an_updated_dhcpv6_subnet_does_not_follow_its_network() {
    let subnet = json!({ "id": 1, "subnet": "2001:db8:1::/64" });
    let network = json!({ "name": "n", "rapid-commit": true, "subnet6": [subnet] });
    let mut server = Fake::<V6>::new(json!({ "shared-networks": [network] }));
    let update = |rapid_commit: Option<bool>| {
        let mut subnet = subnet.clone();
        if let Some(rapid_commit) = rapid_commit {
            subnet["rapid-commit"] = json!(rapid_commit);
        }
        json!({ "subnet6": [subnet] })
    };
    for (sent, expected) in [(Some(true), true), (None, false), (Some(false), false)] {
        assert_eq!(server.call("subnet6-update", update(sent))["result"], 0);
        let stored = &server.document["Dhcp6"]["shared-networks"][0]["subnet6"][0];
        assert_eq!(stored["rapid-commit"], expected, "{sent:?}");
    }
    let change = json!({ "subnet6": [{ "id": 1, "rapid-commit": false }] });
    assert_eq!(server.call("subnet6-delta-del", change)["result"], 0);
    let stored = &server.document["Dhcp6"]["shared-networks"][0]["subnet6"][0];
    assert_eq!(stored["rapid-commit"], false);
}

#[test]
fn an_updated_dhcpv6_subnet_agrees_with_the_others_of_its_network() {
    let subnet = |id: u32| json!({ "id": id, "subnet": format!("2001:db8:{id}::/64") });
    for (of_network, expected) in [(true, json!(null)), (false, json!(false))] {
        let network = json!({
            "name": "n", "rapid-commit": of_network, "subnet6": [subnet(1), subnet(2)] });
        let mut server = Fake::<V6>::new(json!({ "shared-networks": [network] }));
        let update = json!({ "subnet6": [subnet(2)] });
        assert_eq!(server.call("subnet6-update", update)["result"], 0);
        let stored = &server.document["Dhcp6"]["shared-networks"][0]["subnet6"];
        assert_eq!(
            (&stored[0]["rapid-commit"], &stored[1]["rapid-commit"]),
            (&json!(null), &expected)
        );
    }
}

/// Checks that subnets are listed by their ids, as in Kea, those of shared networks between the
/// others.
#[test]
fn subnets_are_listed_in_the_order_of_their_ids() {
    let one = |id: u32, prefix: &str| json!({ "id": id, "subnet": prefix });
    let mut server = Fake::<V4>::new(json!({
        "subnet4": [one(22, "10.0.22.0/24"), one(3, "10.0.3.0/24")],
        "shared-networks": [{ "name": "n", "subnet4": [one(9, "10.0.9.0/24")] }],
    }));
    let answer = server.call("subnet4-list", json!({}));
    let listed = answer["arguments"]["subnets"].as_array().unwrap().iter();
    let ids: Vec<_> = listed.map(|subnet| subnet["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [3, 9, 22]);
}
