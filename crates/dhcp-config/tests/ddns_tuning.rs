//! Tests of the hook library ddns_tuning: its parameters, expressions of subnets, and Kea's errors.

use dhcp_config::{DdnsTuning, SubnetHostname};

use crate::common::{accepted, accepted6, check_marked, problems, problems6};

const LIBRARY: &str = r#""library": "libdhcp_ddns_tuning.so""#;

/// Returns a DHCPv4 configuration with the library, its `parameters`, and a subnet with `context`.
fn marked(parameters: &str, context: &str) -> String {
    format!(
        r#"{{ "Dhcp4": {{ "hooks-libraries": [ {{ {LIBRARY}, "parameters": {parameters} }} ],
            "subnet4": [ {{ "id": 1, "subnet": "10.0.0.0/8", "user-context": {context} }} ] }} }}"#
    )
}

fn read(parameters: &str, context: &str) -> (DdnsTuning, SubnetHostname) {
    let config = accepted(&marked(parameters, context)).config;
    let tuning = config.global.ddns_tuning.expect("the library is named");
    (tuning, config.subnets[0].hostname.clone())
}

#[test]
fn expressions_are_of_the_configuration_or_of_a_subnet() {
    let (tuning, of_subnet) =
        read(r#"{ "hostname-expr": "'a'" }"#, r#"{ "ddns-tuning": { "hostname-expr": "'b'" } }"#);
    assert!(tuning.hostname.is_some());
    assert!(matches!(of_subnet, SubnetHostname::Expression(_)));
    for parameters in [r#"{ }"#, r#"{ "hostname-expr": "" }"#] {
        assert_eq!(read(parameters, "{ }"), (DdnsTuning::default(), SubnetHostname::Inherited));
    }
    for context in [
        r#"{ "ddns-tuning": [ "hostname-expr" ] }"#,
        r#"{ "ddns-tuning": { "hostname-expr": 1 } }"#,
        r#"{ "ddns-tuning": { "other": "'b'" }, "hostname-expr": "'b'" }"#,
    ] {
        assert_eq!(read("{ }", context).1, SubnetHostname::Inherited, "{context}");
    }
    let empty = r#"{ "ddns-tuning": { "hostname-expr": "" } }"#;
    assert_eq!(read("{ }", empty).1, SubnetHostname::Off);
    let v6 = format!(
        r#"{{ "Dhcp6": {{ "hooks-libraries": [ {{ {LIBRARY}, "parameters": {{
            "hostname-expr": "hexstring(option[1].hex, '')" }} }} ] }} }}"#
    );
    assert!(accepted6(&v6).config.global.ddns_tuning.is_some_and(|own| own.hostname.is_some()));
}

#[test]
fn without_the_library_expressions_of_subnets_are_not_read() {
    let text = r#"{ "Dhcp4": { "subnet4": [ { "id": 1, "subnet": "10.0.0.0/8",
        "user-context": { "ddns-tuning": { "hostname-expr": "what?" } } } ] } }"#;
    let config = accepted(text).config;
    assert_eq!(config.global.ddns_tuning, None);
    assert_eq!(config.subnets[0].hostname, SubnetHostname::Inherited);
}

#[test]
fn faults_have_keas_words() {
    let config =
        |library: &str| format!(r#"{{ "Dhcp4": {{ "hooks-libraries": [ {library} ] }} }}"#);
    let lacks = r#"{ "library": ^"libdhcp_ddns_tuning.so" }"#;
    check_marked(problems, &config(lacks), &["error params must not be null"]);
    for (parameters, expected) in [
        (r#"{ "hostname-expr": ^5 }"#, "error 'hostname-expr' must be a string"),
        (
            r#"{ "hostname-expr": "pkt4.^what" }"#,
            "error global expression parsing failed: `w` is not allowed here",
        ),
        (r#"{ "hostname-expr": "'a'", ^"x": 1 }"#, "warning ddns_tuning has no parameter `x`"),
    ] {
        check_marked(problems, &marked(parameters, "{ }"), &[expected]);
    }
    check_marked(
        problems,
        &marked("{ }", r#"{ "ddns-tuning": { "hostname-expr": "pkt4.^what" } }"#),
        &[
            "error hostname expression for subnet: 10.0.0.0/8 parsing failed: `w` is not allowed here",
        ],
    );
    let v6 = format!(
        r#"{{ "Dhcp6": {{ "hooks-libraries": [ {{ {LIBRARY}, "parameters": {{
            "hostname-expr": "^pkt4.mac" }} }} ] }} }}"#
    );
    let fault = "error global expression parsing failed: `pkt4` exists in DHCPv4 only";
    check_marked(problems6, &v6, &[fault]);
}
