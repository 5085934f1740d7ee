//! Tests of every repair in both families, and of the data that each level accepts.

use dhcp_config::ExtendedInfoChecks::{Fix, Pedantic, Strict};

use super::*;

/// Returns the remains of the user context `text` after a check at `level`, and the result in a
/// word.
fn after(version: IpVersion, text: &str, level: ExtendedInfoChecks) -> (String, &'static str) {
    let value = serde_json::from_str(text).unwrap();
    let (left, outcome) = checked(version, value, level);
    let left = if left.is_empty() { String::new() } else { kea_json(&Value::Object(left)) };
    let word = match outcome {
        ExtendedInfo::Unchanged => "kept",
        ExtendedInfo::Tidied => "tidied",
        ExtendedInfo::Upgraded => "upgraded",
        ExtendedInfo::Dropped(_) => "dropped",
    };
    (left, word)
}

/// Returns the remains of `isc`, which is below `ISC` before and after the check, and the result in
/// a word.
fn below(version: IpVersion, isc: &str, level: ExtendedInfoChecks) -> (String, &'static str) {
    let (left, word) = after(version, &format!(r#"{{ "ISC": {isc} }}"#), level);
    let inner = left.strip_prefix(r#"{ "ISC": "#).and_then(|left| left.strip_suffix(" }"));
    (inner.unwrap_or(&left).to_owned(), word)
}

fn without_info(word: &'static str) -> (String, &'static str) {
    (String::new(), word)
}

#[test]
fn surroundings_are_tidied_and_what_is_not_ours_stays() {
    for version in [IpVersion::V4, IpVersion::V6] {
        let after = |text| after(version, text, Fix);
        assert_eq!(after("[]"), without_info("dropped"));
        assert_eq!(after("{}"), without_info("tidied"));
        assert_eq!(after(r#"{ "ISC": {} }"#), without_info("tidied"));
        assert_eq!(after(r#"{ "ISC": 1, "a": 2 }"#), (r#"{ "a": 2 }"#.to_owned(), "dropped"));
        for context in [r#"{ "a": 2 }"#, r#"{ "ISC": { "client-classes": [ "x" ] } }"#] {
            assert_eq!(after(context), (context.to_owned(), "kept"));
        }
    }
}

#[test]
fn the_octets_of_option_82_get_a_map_with_their_identifiers() {
    let below = |isc, level| below(IpVersion::V4, isc, level);
    let old = r#"{ "relay-agent-info": "0x0104AABBCCDD02030102030C03C94A5A" }"#;
    let new = concat!(
        r#"{ "relay-agent-info": { "relay-id": "C94A5A", "remote-id": "010203", "#,
        r#""sub-options": "0x0104AABBCCDD02030102030C03C94A5A" } }"#
    );
    for level in [Fix, Strict, Pedantic] {
        assert_eq!(below(old, level), (new.to_owned(), "upgraded"));
        assert_eq!(below(new, level), (new.to_owned(), "kept"));
    }
    let bare = r#"{ "relay-agent-info": { "sub-options": "" } }"#;
    assert_eq!(below(r#"{ "relay-agent-info": "" }"#, Fix), (bare.to_owned(), "upgraded"));
    assert_eq!(below(r#"{ "relay-agent-info": "0xNO" }"#, Fix), without_info("dropped"));
    let beside = r#"{ "relay-agent-info": 1, "x": 1 }"#;
    assert_eq!(below(beside, Fix), (r#"{ "x": 1 }"#.to_owned(), "dropped"));
}

#[test]
fn each_level_of_v4_refuses_more() {
    let cases = [
        (r#"{ "sub-options": 1 }"#, Strict),
        (r#"{ "sub-options": "0xNO" }"#, Strict),
        (r#"{ "remote-id": 1 }"#, Strict),
        (r#"{ "remote-id": "" }"#, Strict),
        (r#"{ "relay-id": "ABC" }"#, Strict),
        (r#"{ "relay-id": "XY" }"#, Strict),
        (r#"{ "foo": 1 }"#, Pedantic),
    ];
    for (info, first) in cases {
        let isc = format!(r#"{{ "relay-agent-info": {info} }}"#);
        for (order, level) in [Fix, Strict, Pedantic].into_iter().enumerate() {
            let is_refused = order >= if first == Strict { 1 } else { 2 };
            let word = if is_refused { "dropped" } else { "kept" };
            assert_eq!(below(IpVersion::V4, &isc, level).1, word, "{isc} {level:?}");
        }
    }
}

#[test]
fn a_list_under_the_older_name_gets_the_newer_with_identifiers() {
    let below = |isc, level| below(IpVersion::V6, isc, level);
    let options = "0x00250006010203040506003500086464646464646464";
    let old = format!(
        r#"{{ "relays": [ {{ "hop": 3, "link": "2001:db8::4", "options": "{options}", "peer": "fe80::2" }} ] }}"#
    );
    let new = format!(
        r#"{{ "relay-info": [ {{ "hop": 3, "link": "2001:db8::4", "options": "{options}", "peer": "fe80::2", "relay-id": "6464646464646464", "remote-id": "010203040506" }} ] }}"#
    );
    for level in [Fix, Strict, Pedantic] {
        assert_eq!(below(&old, level), (new.clone(), "upgraded"));
        assert_eq!(below(&new, level), (new.clone(), "kept"));
    }
    let both = r#"{ "relay-info": [ { "link": "::" } ], "relays": [] }"#;
    assert_eq!(
        below(both, Fix),
        (r#"{ "relay-info": [ { "link": "::" } ] }"#.to_owned(), "tidied")
    );
    for wrong in [
        r#"{ "relays": {} }"#,
        r#"{ "relays": [] }"#,
        r#"{ "relay-info": "x" }"#,
        r#"{ "relay-info": [] }"#,
        r#"{ "relay-info": [ null ] }"#,
        r#"{ "relays": [ { "options": 1 } ] }"#,
        r#"{ "relay-info": [ { "options": "0xNO" } ] }"#,
    ] {
        assert_eq!(below(wrong, Fix), without_info("dropped"), "{wrong}");
    }
}

#[test]
fn each_level_of_v6_refuses_more() {
    let cases = [
        (r#"{ "hop": 1, "peer": "::" }"#, Strict),
        (r#"{ "hop": 1, "peer": "::", "link": 1 }"#, Strict),
        (r#"{ "hop": 1, "peer": "::", "link": "192.0.2.1" }"#, Strict),
        (r#"{ "hop": 1, "peer": "::", "link": "::", "relay-id": "" }"#, Strict),
        (r#"{ "hop": 1, "link": "::" }"#, Pedantic),
        (r#"{ "hop": 1, "link": "::", "peer": "x" }"#, Pedantic),
        (r#"{ "hop": "1", "link": "::", "peer": "::" }"#, Pedantic),
        (r#"{ "hop": 1, "link": "::", "peer": "::", "foo": 1 }"#, Pedantic),
    ];
    for (relay, first) in cases {
        let isc = format!(r#"{{ "relay-info": [ {relay} ] }}"#);
        for (order, level) in [Fix, Strict, Pedantic].into_iter().enumerate() {
            let is_refused = order >= if first == Strict { 1 } else { 2 };
            let word = if is_refused { "dropped" } else { "kept" };
            assert_eq!(below(IpVersion::V6, &isc, level).1, word, "{isc} {level:?}");
        }
    }
}
