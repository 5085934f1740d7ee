//! Tests of reading a configuration without the parts that have errors.

use base::V6;

use crate::common::{IncludeFiles, accepted, lines, parse_leniently};
use dhcp_config::{CheckedConfig, ConfigProblem, Dhcp4, NoIncludes, parse_dhcp4, render};

fn lenient(text: &str) -> Result<CheckedConfig<Dhcp4>, Vec<ConfigProblem>> {
    parse_leniently("t", &format!("{{ \"Dhcp4\": {{ {text} }} }}"), &mut NoIncludes)
}

fn ids(checked: &CheckedConfig<Dhcp4>) -> Vec<u32> {
    checked.config.subnets.iter().map(|subnet| subnet.id).collect()
}

#[test]
fn subnets_with_errors_are_left_out_and_named() {
    let checked = lenient(
        r#""subnet4": [
 { "id": 1, "subnet": "10.0.0.0/24" },
 { "id": 2, "subnet": "10.0.1.0/24", "pools": [ { "pool": "10.0.2.1-10.0.2.2" } ], "valid": 1 },
 { "id": 3, "subnet": "10.0.1.0/24", "pools": [ { "pool": "10.0.1.0/25" } ] },
 { "id": 1, "subnet": "10.0.3.0/24" }, 7, { "id": 3, "subnet": "10.0.6.0/24" } ], "shared-networks": [ { "name": "n", "subnet4": [
 { "id": 4, "subnet": "10.0.4.0/24", "interface": "a" },
 { "id": 5, "subnet": "10.0.5.0/24", "interface": "b" } ] } ]"#,
    )
    .unwrap_or_else(|problems| panic!("{:?}", lines(&problems)));
    // Of the two with the same prefix the first is left out for its own error.
    assert_eq!(ids(&checked), [1, 3, 4]);
    let expected = [
        "3:59 warning subnet 10.0.1.0/24 is left out: pool 10.0.2.1 - 10.0.2.2 is not inside \
         subnet 10.0.1.0/24",
        "3:84 warning subnet 10.0.1.0/24 is left out: unknown key `valid` in a subnet",
        "5:10 warning subnet 10.0.3.0/24 is left out: subnet id 1 is used already",
        "5:40 warning a subnet is left out: a subnet must be a map, not an integer",
        "5:51 warning subnet 10.0.6.0/24 is left out: subnet id 3 is used already",
        "7:51 warning subnet 10.0.5.0/24 is left out: interface `b` differs from `a` elsewhere in \
         the shared network",
    ];
    assert_eq!(lines(&checked.warnings), expected);
    let again = accepted(&render(&checked.document.to_json()));
    assert_eq!(again.config, checked.config);
}

#[test]
fn an_error_elsewhere_is_fatal() {
    for text in [
        r#""valid-lifetime": -1, "subnet4": [ { "id": 1, "subnet": "x" } ]"#,
        // Invalid JSON.
        r#""subnet4": [ { "id": 1, "subnet": "10.0.0.0/24", "authoritative": True } ]"#,
        // An error in the network itself.
        r#""shared-networks": [ { "name": "n", "subnet4": [], "what": 1 } ]"#,
        // The others without identifier would be renumbered.
        r#""subnet4": [ { "subnet": "x" }, { "subnet": "10.0.0.0/24" } ]"#,
        r#""subnet4": [ { "id": 0, "subnet": "x" } ]"#,
    ] {
        let problems = lenient(text).expect_err(text);
        assert!(lines(&problems).iter().all(|line| !line.contains("is left out")), "{text}");
    }
}

#[test]
fn what_is_right_is_read_as_ever() {
    let text = r#""subnet4": [ { "subnet": "10.0.0.1/24" } ], "dhcp4o6-port": 9"#;
    let checked = lenient(text).expect("it is right");
    let strict = accepted(&format!("{{ \"Dhcp4\": {{ {text} }} }}"));
    assert_eq!(checked.config, strict.config);
    assert_eq!(lines(&checked.warnings), lines(&strict.warnings));
}

#[test]
fn the_configuration_itself_may_have_what_is_wrong_left_out() {
    let (bad, good) = (r#"{ "id": 1, "subnet": "x" }"#, r#"{ "id": 2, "subnet": "10.0.0.0/24" }"#);
    let parsed = |context: &str| {
        let text = format!(
            r#"{{ "Dhcp4": {{ "user-context": {context}, "subnet4": [ {bad}, {good} ] }} }}"#
        );
        parse_dhcp4("t", &text, &mut NoIncludes)
    };
    let checked = parsed(r#"{ "godwit": { "lenient": true } }"#).expect("one subnet is left");
    assert_eq!(ids(&checked), [2]);
    assert!(lines(&checked.warnings)[0].contains("subnet x is left out"), "{:?}", checked.warnings);
    for context in [
        r#"{ "godwit": { "lenient": false } }"#,
        r#"{ "godwit": { "lenient": 1 } }"#,
        r#"{ "lenient": true }"#,
    ] {
        parsed(context).expect_err(context);
    }
}

#[test]
fn places_in_included_files_count() {
    let mut files = IncludeFiles::default();
    let bad = r#"{ "id": 2, "subnet": "2001:db8::1" }"#;
    files.0.insert("bad.json".to_owned(), bad.to_owned());
    let text = r#"{ "Dhcp6": { "subnet6": [ { "id": 1, "subnet": "2001:db8::/64" },
        <?include "bad.json"?> ] } }"#;
    let checked = parse_leniently::<V6>("t", text, &mut files).expect("one subnet is left");
    assert_eq!(checked.config.subnets.len(), 1);
    let [problem] = &checked.warnings[..] else { panic!("{:?}", checked.warnings) };
    assert_eq!((problem.file.as_str(), problem.line, problem.column), ("bad.json", 1, 22));
}
