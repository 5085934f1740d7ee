//! Tests of the parameters of the hook library lease_query.

use crate::common::{accepted, check_marked, problems, problems6};
use dhcp_config::Dhcp4;

fn global(marked: &str, expected: &[&str]) {
    check_marked(problems, &format!("{{ \"Dhcp4\": {{\n {marked}\n}} }}"), expected);
}

fn global6(marked: &str, expected: &[&str]) {
    check_marked(problems6, &format!("{{ \"Dhcp6\": {{\n {marked}\n}} }}"), expected);
}

fn dhcp4(text: &str) -> Dhcp4 {
    accepted(&format!(r#"{{ "Dhcp4": {{ {text} }} }}"#)).config
}

#[test]
fn lease_queries_have_requesters_and_limits() {
    let library = |parameters: &str| {
        format!(r#""hooks-libraries": [ {{ "library": ^"libdhcp_lease_query.so" {parameters} }} ]"#)
    };
    let settings = |parameters: &str| {
        dhcp4(&library(parameters).replace('^', "")).global.lease_query.expect("it is loaded")
    };
    let plain = settings(r#", "parameters": { "requesters": [ "10.0.0.1", "10.1.0.0/16" ] }"#);
    assert_eq!((plain.bulk.clone(), plain.has_extended_info_tables), (None, false));
    for (address, is_admitted) in
        [("10.0.0.1", true), ("10.0.0.2", false), ("10.1.255.9", true), ("::ffff:10.0.0.1", false)]
    {
        assert_eq!(plain.admits(address.parse().unwrap()), is_admitted, "{address}");
    }
    let bulk = settings(
        r#", "parameters": { "requesters": [ "0.0.0.0/0" ], "advanced": {
            "bulk-query-enabled": true, "lease-query-ip": "10.0.0.9", "max-leases-per-fetch": 7,
            "max-requester-connections": 3, "max-requester-idle-time": 20 } }"#,
    );
    assert!(bulk.admits("10.0.0.2".parse().unwrap()) && bulk.has_extended_info_tables);
    let bulk = bulk.bulk.expect("it is enabled");
    assert_eq!(bulk.listen.to_string(), "10.0.0.9:67");
    assert_eq!((bulk.connections_max, bulk.idle_time_s), (3, 20));
    for (parameters, problem) in [
        ("", "error `requesters` of lease_query is missing"),
        (r#", "parameters": ^{ "requesters": [] }"#, "error `requesters` is empty"),
        (r#", "parameters": ^{ }"#, "error `requesters` is missing"),
        (
            r#", "parameters": { "requesters": [ ^"::1" ] }"#,
            "error `requesters`: `::1` is not an IPv4 address",
        ),
        (
            r#", "parameters": { "requesters": [ "10.0.0.1", ^"10.0.0.1" ] }"#,
            "error `requesters` lists `10.0.0.1` twice",
        ),
        (
            r#", "parameters": { "requesters": [ "10.0.0.1" ],
                 "advanced": { "active-query-enabled": ^true } }"#,
            "error active lease queries (RFC 7653, RFC 7724) are not supported",
        ),
        (
            r#", "parameters": { "requesters": [ "10.0.0.1" ],
                 "advanced": { "lease-query-ip": ^"::1" } }"#,
            "error `lease-query-ip`: `::1` is not an IPv4 address",
        ),
        (
            r#", "parameters": { "requesters": [ "10.0.0.1" ],
                 "advanced": { "max-requester-connections": ^0 } }"#,
            "error `max-requester-connections` is 0; it must be from 1 to 4294967295",
        ),
    ] {
        let text = library(parameters);
        let text = if parameters.is_empty() { text } else { text.replacen('^', "", 1) };
        global(&text, &[problem]);
    }
    global6(
        r#""hooks-libraries": [ { "library": "libdhcp_lease_query.so", "parameters": {
            "requesters": [ "2001:db8::1" ], "prefix-lengths": [ 56, ^129 ] } } ]"#,
        &["error `prefix-lengths` contains something that is no prefix length"],
    );
}
