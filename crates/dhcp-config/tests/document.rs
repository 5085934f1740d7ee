//! Tests of the document of a configuration: it gives the same configuration again, and shows the
//! keys that Kea shows.

use crate::common::{accepted, accepted6, folder, parse, parse6, shipped_includes};
use base::Random;
use dhcp_config::testing::{DHCP4, DHCP6, Generator};
use dhcp_config::{CheckedConfig, parse_dhcp4, parse_dhcp6, render};
use serde_json::Value;

const CASES: u64 = 3000;

/// Checks that a configuration survives its document; returns the document.
fn survives<T: PartialEq + core::fmt::Debug>(
    text: &str,
    checked: &CheckedConfig<T>,
    again: fn(&str) -> CheckedConfig<T>,
) -> Value {
    let document = checked.document.to_json();
    let rendered = render(&document);
    let back = again(&rendered);
    assert_eq!(back.config, checked.config, "{text}\nbecame\n{rendered}");
    // A complete document stays unchanged.
    assert_eq!(back.document.to_json(), document, "{text}");
    // The writer of the text makes no difference.
    let answer = document.to_string();
    assert_eq!(again(&answer).config, checked.config, "{text}\nis shown as\n{answer}");
    let stand_in = |c: char| (0xef80..=0xefff).contains(&u32::from(c));
    let escaped =
        |c: char| if stand_in(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    let ascii: String = answer.chars().map(escaped).collect();
    if ascii != answer {
        assert_eq!(again(&ascii).config, checked.config, "{text}\nis shown as\n{ascii}");
    }
    document
}

fn generated<T: PartialEq + core::fmt::Debug>(
    generator: &Generator,
    parse: fn(&str) -> Option<CheckedConfig<T>>,
    again: fn(&str) -> CheckedConfig<T>,
) {
    let mut unseen: Vec<String> = generator.choices().collect();
    let mut accepted = 0;
    for seed in 0..CASES {
        let text = generator.configuration(&mut Random::from_seed(seed));
        if let Some(checked) = parse(&text) {
            survives(&text, &checked, again);
            unseen.retain(|pair| !text.contains(pair));
            accepted += 1;
        }
    }
    // Each choice is part of some accepted text, or its key is not tested.
    assert_eq!(unseen, [""; 0]);
    assert!(accepted > CASES / 2, "{accepted} of {CASES} are accepted");
}

#[test]
fn generated_configurations_survive_their_documents() {
    generated(&DHCP4, |text| parse(text).ok(), accepted);
}

#[test]
fn generated_configurations_of_dhcpv6_survive_their_documents() {
    generated(&DHCP6, |text| parse6(text).ok(), accepted6);
}

#[test]
fn shipped_configurations_survive_their_documents() {
    for (name, text) in folder("accepted") {
        let checked = parse_dhcp4(&name, &text, &mut shipped_includes()).expect("it is accepted");
        survives(&name, &checked, accepted);
    }
    for (name, text) in folder("accepted6") {
        let checked = parse_dhcp6(&name, &text, &mut shipped_includes()).expect("it is accepted");
        survives(&name, &checked, accepted6);
    }
}

/// Collects the paths at which `ours` lacks a value of `theirs` or has another one.
fn differences(path: &str, theirs: &Value, ours: Option<&Value>, list: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(theirs), Some(Value::Object(ours))) => {
            for (key, value) in theirs {
                differences(&format!("{path}/{key}"), value, ours.get(key), list);
            }
        }
        (Value::Array(theirs), Some(Value::Array(ours))) if theirs.len() == ours.len() => {
            for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                differences(&format!("{path}/{index}"), theirs, Some(ours), list);
            }
        }
        (theirs, ours) if Some(theirs) != ours => {
            let ours = ours.map_or_else(|| "absent".to_owned(), Value::to_string);
            list.push(format!("{path}: {theirs}, here {ours}"));
        }
        _ => {}
    }
}

/// Returns the differences from Kea 2.2.0's answer to `config-get`.
fn differences_from_kea(document: &Value, answer: &str) -> Vec<String> {
    let mut list = Vec::new();
    let theirs = serde_json::from_str(answer).expect("Kea answers in JSON");
    differences("", &theirs, Some(document), &mut list);
    list
}

/// Checks that subnets are ordered by their ids, alone and in shared networks, as in Kea.
#[test]
fn a_document_has_subnets_in_the_order_of_their_ids() {
    let one = |n: u32, id: u32| match id {
        0 => format!(r#"{{ "subnet": "10.0.{n}.0/24" }}"#),
        _ => format!(r#"{{ "id": {id}, "subnet": "10.0.{n}.0/24" }}"#),
    };
    let text = format!(
        r#"{{ "Dhcp4": {{ "shared-networks": [ {{ "name": "n", "subnet4": [ {}, {}, {} ] }} ],
                "subnet4": [ {}, {}, {} ] }} }}"#,
        one(1, 22),
        one(2, 3),
        one(3, 0),
        one(4, 21),
        one(5, 0),
        one(6, 4),
    );
    let checked = accepted(&text);
    let document = survives(&text, &checked, accepted);
    let ids = |scope: &Value| -> Vec<_> {
        let subnets = scope["subnet4"].as_array().expect("a list");
        subnets.iter().map(|subnet| subnet["id"].as_u64()).collect()
    };
    let root = &document["Dhcp4"];
    assert_eq!(ids(&root["shared-networks"][0]), [Some(1), Some(3), Some(22)]);
    assert_eq!(ids(root), [Some(2), Some(4), Some(21)]);
}

#[test]
fn a_document_has_what_kea_shows() {
    let checked = accepted(include_str!("data/config-get/dhcp4.conf"));
    let document = checked.document.to_json();
    let list = differences_from_kea(&document, include_str!("data/config-get/dhcp4.json"));
    // Kea 3 has other keys for three of these and other defaults for two more.
    let expected = [
        r#"/Dhcp4/control-socket: {"socket-name":"/run/kea/s4","socket-type":"unix"}, here absent"#,
        "/Dhcp4/ddns-use-conflict-resolution: true, here absent",
        "/Dhcp4/interfaces-config/re-detect: false, here true",
        r#"/Dhcp4/loggers/0/output_options: [{"flush":true,"output":"stderr","pattern":""}], here absent"#,
        "/Dhcp4/multi-threading/enable-multi-threading: false, here true",
        "/Dhcp4/shared-networks/0/min-valid-lifetime: 4000, here absent",
    ];
    assert_eq!(list, expected);
}

#[test]
fn a_document_of_dhcpv6_has_what_kea_shows() {
    let checked = accepted6(include_str!("data/config-get/dhcp6.conf"));
    let document = checked.document.to_json();
    let list = differences_from_kea(&document, include_str!("data/config-get/dhcp6.json"));
    let expected = [
        r#"/Dhcp6/control-socket: {"socket-name":"/run/kea/s6","socket-type":"unix"}, here absent"#,
        "/Dhcp6/ddns-use-conflict-resolution: true, here absent",
        "/Dhcp6/interfaces-config/re-detect: false, here true",
        "/Dhcp6/multi-threading/enable-multi-threading: false, here true",
        "/Dhcp6/shared-networks/0/max-preferred-lifetime: 3000, here absent",
        "/Dhcp6/shared-networks/0/max-valid-lifetime: 7200, here absent",
        "/Dhcp6/shared-networks/0/min-preferred-lifetime: 3000, here absent",
        "/Dhcp6/shared-networks/0/min-valid-lifetime: 7200, here absent",
    ];
    assert_eq!(list, expected);
}

#[test]
fn reservations_and_option_data_are_spelled_as_kea_spells_them() {
    // Kea 3.0.3's answer to `config-get`, hosts in the order of the file. Networks without an
    // interface have no such key.
    let expected = [
        "/Dhcp4/shared-networks/0/max-valid-lifetime: 7200, here absent",
        "/Dhcp4/shared-networks/0/min-valid-lifetime: 7200, here absent",
    ];
    let document = accepted(include_str!("data/config-get/reservations4.conf")).document.to_json();
    let answer = include_str!("data/config-get/reservations4.json");
    assert_eq!(differences_from_kea(&document, answer), expected);
    let theirs = serde_json::from_str(answer).expect("Kea answers in JSON");
    assert_eq!(keys_beyond(&document, &theirs), Vec::<String>::new());

    let expected = [
        "/Dhcp6/shared-networks/0/max-valid-lifetime: 7200, here absent",
        "/Dhcp6/shared-networks/0/min-valid-lifetime: 7200, here absent",
    ];
    let document = accepted6(include_str!("data/config-get/reservations6.conf")).document.to_json();
    let answer = include_str!("data/config-get/reservations6.json");
    assert_eq!(differences_from_kea(&document, answer), expected);
    let theirs = serde_json::from_str(answer).expect("Kea answers in JSON");
    assert_eq!(keys_beyond(&document, &theirs), Vec::<String>::new());
}

/// Returns the keys of networks, subnets and reservations that Kea does not show.
fn keys_beyond(ours: &Value, theirs: &Value) -> Vec<String> {
    let (mut list, mut beyond) = (Vec::new(), Vec::new());
    differences("", ours, Some(theirs), &mut list);
    for difference in list {
        if difference.contains("/shared-networks/") || difference.contains("/subnet") {
            beyond.push(difference);
        }
    }
    beyond.retain(|text| text.ends_with("here absent"));
    beyond
}
