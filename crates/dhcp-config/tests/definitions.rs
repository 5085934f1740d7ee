//! Tests of options that operators define, and of sub-options: bytes that Kea sent.

use crate::common::{accepted, check_marked, lines, parse, parse6, problems, spelled};
use base::Random;
use dhcp_config::{OptionData, OptionSpace};

/// Returns the bytes of the standard option `code`, as the vectors write them.
fn octets_of<C: Copy + Into<u16>>(options: &[OptionData<C>], code: u16) -> String {
    let mut standard = options.iter().filter(|option| option.space == OptionSpace::Standard);
    let option = standard.find(|option| option.code.into() == code);
    option.map_or_else(|| "none".to_owned(), |option| spelled(&option.octets))
}

/// Checks a file of vectors: the bytes that Kea sent, Godwit's bytes, the option compared, and the
/// definitions and options. Returns the number of equal and of different ones.
fn check(vectors: &str, octets_of: fn(&str, u16) -> String) -> (u32, u32) {
    let mut counts = (0, 0);
    let mut wrong = Vec::new();
    for line in vectors.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [kea, godwit, code, keys] = columns[..] else { panic!("{line}") };
        let expected = if godwit == "=" { kea } else { godwit };
        let octets = octets_of(keys, code.parse().expect("a code"));
        if octets != expected {
            wrong.push(format!("{octets} instead of {expected}: {keys}"));
        }
        if godwit == "=" { counts.0 += 1 } else { counts.1 += 1 }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    counts
}

#[test]
fn octets_are_those_that_kea_sends() {
    let vectors = include_str!("data/definition-vectors.txt");
    let counts = check(vectors, |keys, code| match parse(&format!("{{\"Dhcp4\":{{{keys}}}}}")) {
        Ok(checked) => octets_of(&checked.config.options, code),
        Err(_) => "refused".to_owned(),
    });
    assert_eq!(counts, (209, 4), "equal and different");
}

#[test]
fn octets_are_those_that_kea_sends_in_dhcpv6() {
    let vectors = include_str!("data/definition6-vectors.txt");
    let counts = check(vectors, |keys, code| match parse6(&format!("{{\"Dhcp6\":{{{keys}}}}}")) {
        Ok(checked) => octets_of(&checked.config.options, code),
        Err(_) => "refused".to_owned(),
    });
    assert_eq!(counts, (206, 5), "equal and different");
}

/// Checks the problems of a global `option-def`, marked with `^` at their places.
fn defined(definition: &str, expected: &[&str]) {
    let text = format!("{{ \"Dhcp4\": {{ \"option-def\": [ {definition} ] }} }}");
    check_marked(problems, &text, expected);
}

#[test]
fn problems_of_definitions_stand_at_the_key() {
    defined(r#"^{ "code": 224, "type": "string" }"#, &["error an option definition lacks `name`"]);
    defined("^1", &["error an option definition must be a map, not an integer"]);
    defined(
        r#"{ "name": ^"a.b", "code": ^300, "type": ^"text" }"#,
        &[
            "error `a.b` cannot be the name of an option",
            "error `code` is 300; it must be from 1 to 254",
            "error `text` is not an option type",
        ],
    );
    defined(
        r#"{ "name": "a", "code": 224, "type": ^"record" }"#,
        &["error an option of type `record` needs `record-types`"],
    );
    defined(
        r#"{ "name": "a", "code": 224, "type": "uint8", "record-types": ^"uint8, uint8" }"#,
        &["error `record-types` is for type `record` only"],
    );
    for (types, message) in [
        ("uint8", "error a record has at least two fields"),
        ("uint8, record", "error a record cannot have a field `record`"),
        ("string, uint8", "error `binary` and `string` can only be the last field of a record"),
        ("uint8, uint9", "error `uint9` is not an option type"),
    ] {
        let definition = format!(
            r#"{{ "name": "a", "code": 224, "type": "record", "record-types": ^"{types}" }}"#
        );
        defined(&definition, &[message]);
    }
    defined(
        r#"{ "name": "a", "code": 224, "type": "string", "array": ^true }"#,
        &["error an array needs elements with a known end"],
    );
    defined(
        r#"{ "name": "a", "code": 224, "type": "uint8", "array": true, "encapsulate": ^"s" }"#,
        &["error an array has no sub-options"],
    );
    defined(
        r#"{ "name": "a", "code": 1, "type": "uint8", "space": "s", "encapsulate": ^"s" }"#,
        &["error an option of space `s` cannot encapsulate it"],
    );
    defined(
        r#"{ "name": "a", "code": 224, "type": "string", "encapsulate": ^"s" }"#,
        &["warning options of space `s` cannot follow the value of an option of type `binary` or \
           `string`"],
    );
    let uint8 = r#""type": "uint8""#;
    defined(
        &format!(
            r#"{{ "name": "a", "code": 224, {uint8} }}, ^{{ "name": "b", "code": 224, {uint8} }}"#
        ),
        &["error option 224 of space `dhcp4` is defined already"],
    );
    defined(
        &format!(
            r#"{{ "name": "a", "code": 224, {uint8} }}, ^{{ "name": "a", "code": 225, {uint8} }}"#
        ),
        &["error option `a` of space `dhcp4` is defined already"],
    );
    defined(
        &format!(r#"^{{ "name": "routers", "code": 224, {uint8} }}"#),
        &["error option `routers` of space `dhcp4` is a standard option"],
    );
    defined(
        &format!(r#"^{{ "name": "x", "code": 2, "space": "vendor-4491", {uint8} }}"#),
        &["warning option 2 of space `vendor-4491` is a standard option"],
    );
    defined(&format!(r#"{{ "name": "x", "code": 43, {uint8} }}"#), &[]);
}

/// Checks options that Kea 3 has and Kea 2.2 leaves to operators: each can be defined, and the
/// definition counts.
#[test]
fn options_that_became_standard_after_kea_2_2_can_be_defined() {
    for code in [43, 121, 122, 143, 151, 152, 153, 154, 155, 156, 157, 162] {
        let definition = format!(r#"{{ "name": "mine", "code": {code}, "type": "uint8" }}"#);
        let expected = format!("warning option {code} of space `dhcp4` is standard in Kea 3");
        let marked = if code == 43 { definition } else { format!("^{definition}") };
        let expected = [&*expected];
        defined(&marked, if code == 43 { &[] } else { &expected });
    }
    let text = r#"{ "Dhcp4": {
        "option-def": [ { "name": "classless-static-route", "code": 121, "type": "uint8",
            "array": true } ],
        "option-data": [ { "name": "classless-static-route", "data": "8, 10, 192, 0, 2, 1" } ] } }"#;
    assert_eq!(octets_of(&accepted(text).config.options, 121), "080ac0000201");
    for code in [56, 136, 144, 148] {
        let text = format!(
            r#"{{ "Dhcp6": {{
            "option-def": [ {{ "name": "mine", "code": {code}, "type": "uint8" }} ],
            "option-data": [ {{ "name": "mine", "data": "7" }} ] }} }}"#
        );
        assert_eq!(octets_of(&parse6(&text).unwrap().config.options, code), "07");
    }
    defined(
        r#"^{ "name": "x", "code": 1, "space": "dhcp-agent-options-space", "type": "string" }"#,
        &["warning option 1 of space `dhcp-agent-options-space` is standard in Kea 3"],
    );
}

#[test]
fn problems_of_sub_options_stand_at_the_option() {
    let text = r#"{ "Dhcp4": {
        "option-def": [
            { "name": "a", "code": 224, "type": "empty", "encapsulate": "s" },
            { "name": "b", "code": 1, "type": "empty", "space": "s", "encapsulate": "t" },
            { "name": "c", "code": 1, "type": "empty", "space": "t", "encapsulate": "s" } ],
        "option-data": [
            { "name": "a" }, { "name": "b", "space": "s" }, ^{ "name": "c", "space": "t" } ] } }"#;
    check_marked(problems, text, &["error option spaces encapsulate each other: s, t, s"]);
    let text = r#"{ "Dhcp4": { "option-data": [
        { "code": 43 },
        { "code": 1, "space": "vendor-encapsulated-options-space", "csv-format": false },
        ^{ "code": 1, "space": "vendor-encapsulated-options-space", "csv-format": false },
        { "code": ^2, "space": "vendor-encapsulated-options-space" },
        ^{ "code": 1, "space": "elsewhere", "csv-format": false },
        { "code": 1, "space": ^"a b" } ] } }"#;
    check_marked(
        problems,
        text,
        &[
            "warning option 1 of space `vendor-encapsulated-options-space` is defined already",
            "error option 2 has no definition in space `vendor-encapsulated-options-space`",
            "warning no option of this list encapsulates space `elsewhere`",
            "error `a b` cannot be the name of an option space",
        ],
    );
}

#[test]
fn classes_define_option_43_for_themselves() {
    let class = |name: &str, code: u16, kind: &str, data: &str| {
        format!(
            r#"{{ "name": "{name}", "option-def": [ {{ "name": "own", "code": {code},
                "type": "{kind}" }} ], "option-data": [ {{ "name": "own", "data": "{data}" }} ] }}"#
        )
    };
    let text = |classes: &str| format!(r#"{{ "Dhcp4": {{ "client-classes": [ {classes} ] }} }}"#);
    let two = [class("one", 43, "uint16", "258"), class("two", 43, "string", "ab")].join(", ");
    let config = accepted(&text(&two)).config;
    let octets: Vec<_> = config.client_classes.iter().map(|c| &*c.options[0].octets).collect();
    assert_eq!(octets, [&[1, 2][..], b"ab"]);
    let third = class("three", 100, "uint8", "1");
    let lines = lines(&problems(&text(&third)));
    assert!(
        lines[0].ends_with("error a client class cannot define option 100 of space `dhcp4`"),
        "{lines:?}"
    );
}

/// Returns one value of a type, as text and as bytes.
fn value(random: &mut Random, kind: &str) -> (String, Vec<u8>) {
    let number = random.next_u64();
    let [one, two, four] = [number as u8, (number >> 8) as u8, (number >> 16) as u8];
    match kind {
        "uint8" => (one.to_string(), vec![one]),
        "int8" => ((one as i8).to_string(), vec![one]),
        "uint16" => (format!("0x{:x}", number as u16), (number as u16).to_be_bytes().to_vec()),
        "int16" => ((number as i16).to_string(), (number as u16).to_be_bytes().to_vec()),
        "uint32" => ((number as u32).to_string(), (number as u32).to_be_bytes().to_vec()),
        "int32" => ((number as i32).to_string(), (number as u32).to_be_bytes().to_vec()),
        "boolean" => ((one % 2 == 0).to_string(), vec![u8::from(one % 2 == 0)]),
        "ipv4-address" => (format!("{one}.{two}.{four}.9"), vec![one, two, four, 9]),
        "fqdn" => (format!("h{one}.org"), {
            let label = format!("h{one}");
            [&[label.len() as u8][..], label.as_bytes(), b"\x03org\0"].concat()
        }),
        "tuple" => {
            let text = "x".repeat(usize::from(one % 9) + 1);
            (text.clone(), [&[text.len() as u8], text.as_bytes()].concat())
        }
        "psid" => {
            let (number, length) = (one % 16, 4 + two % 13);
            let [high, low] = (u16::from(number) << (16 - length)).to_be_bytes();
            (format!("{number}/{length}"), vec![length, high, low])
        }
        "ipv6-prefix" => (format!("{:x}::/16", u16::from(one) + 1), {
            vec![16, ((u16::from(one) + 1) >> 8) as u8, (u16::from(one) + 1) as u8]
        }),
        _ => unreachable!("{kind} is not asked for"),
    }
}

#[test]
fn random_records_are_encoded_field_by_field() {
    const KINDS: [&str; 12] = [
        "uint8",
        "int8",
        "uint16",
        "int16",
        "uint32",
        "int32",
        "boolean",
        "ipv4-address",
        "fqdn",
        "tuple",
        "psid",
        "ipv6-prefix",
    ];
    let mut random = Random::from_seed(4);
    for _ in 0..2_000 {
        let count = 2 + random.below(4) as usize;
        let kinds: Vec<&str> = (0..count).filter_map(|_| random.pick(&KINDS)).copied().collect();
        let is_array = random.chance(1, 2);
        let more = if is_array { random.below(3) as usize } else { 0 };
        let last = kinds[count - 1];
        let all = kinds.iter().copied().chain(core::iter::repeat_n(last, more));
        let (texts, octets): (Vec<_>, Vec<_>) = all.map(|kind| value(&mut random, kind)).unzip();
        let (types, data) = (kinds.join(", "), texts.join(" , "));
        let text = format!(
            r#"{{ "Dhcp4": {{ "option-def": [ {{ "name": "r", "code": 224, "type": "record",
                "record-types": "{types}", "array": {is_array} }} ],
                "option-data": [ {{ "name": "r", "data": "{data}" }} ] }} }}"#
        );
        assert_eq!(accepted(&text).config.options[0].octets, octets.concat(), "{text}");
    }
}
