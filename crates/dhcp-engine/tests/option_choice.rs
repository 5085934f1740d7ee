//! Choice of the configured options in replies: scopes, flags, class tags, vendors (Kea reference
//! §1.4).

use std::collections::{BTreeMap, BTreeSet};

use crate::common::v4::{Dhcp4MessageBuilder, Server, kind};
use crate::common::v6;
use base::Random;
use dhcp_config::{OptionData, OptionSpace};
use dhcp_engine::classify::{ClassIndex, ClassSet};
use dhcp_engine::options::{
    CodeSet, OptionCode, OptionSelection, ScopeOptions, select_options, selected_entry,
};
use dhcp_wire::v4::{Message, MessageType, option};
use dhcp_wire::v6::MessageType as MessageType6;

/// Computes the options of a reply slowly: every code, looked for in every scope.
fn expected<C: OptionCode>(
    scopes: &[Vec<OptionData<C>>],
    requested: &[C],
    unconditional: &[u16],
    withheld: &[u16],
    classes: &[&str],
) -> BTreeMap<u16, Vec<u8>> {
    let mut carried = BTreeMap::new();
    let codes: BTreeSet<u16> = scopes.iter().flatten().map(|option| option.code.into()).collect();
    for code in codes {
        let of_code = |option: &&OptionData<C>| option.code.into() == code;
        if withheld.contains(&code) {
            continue;
        }
        let all: Vec<_> = scopes.iter().flatten().filter(of_code).collect();
        let is_requested = requested.iter().any(|&requested| requested.into() == code)
            || unconditional.contains(&code);
        if all.iter().any(|o| o.never_send) || !(is_requested || all.iter().any(|o| o.always_send))
        {
            continue;
        }
        let has_class =
            |o: &OptionData<C>| o.client_classes.iter().any(|c| classes.contains(&&**c));
        for scope in scopes {
            let inside: Vec<_> = scope.iter().filter(of_code).collect();
            let tagged = inside.iter().find(|option| has_class(option));
            let open = inside.iter().find(|option| option.client_classes.is_empty());
            if let Some(option) = tagged.or(open) {
                carried.insert(code, option.octets.clone());
                break;
            }
        }
    }
    carried
}

const CLASSES: [&str; 3] = ["a", "b", "c"];

fn class(name: &str) -> Option<ClassIndex> {
    CLASSES.iter().position(|class| *class == name).map(|at| ClassIndex(at as u16))
}

/// Returns scopes with few codes, so that they meet; at most one option of a code without tags in
/// each.
fn scopes<C: OptionCode>(random: &mut Random, codes: &[C]) -> Vec<Vec<OptionData<C>>> {
    let scope = |random: &mut Random| {
        let mut options: Vec<OptionData<C>> = Vec::new();
        for _ in 0..random.below(6) {
            let code = *random.pick(codes).expect("there are codes");
            let names = ["a", "b", "c", "nobody"];
            let tags: Vec<String> = (0..random.below(3))
                .filter_map(|_| random.pick(&names))
                .map(|n| (*n).into())
                .collect();
            let is_open =
                |option: &OptionData<C>| option.code == code && option.client_classes.is_empty();
            if tags.is_empty() && options.iter().any(is_open) {
                continue;
            }
            options.push(OptionData {
                code,
                space: OptionSpace::Standard,
                octets: vec![random.below(256) as u8; random.below(4) as usize],
                always_send: random.below(5) == 0,
                never_send: random.below(12) == 0,
                client_classes: tags,
            });
        }
        options
    };
    (0..random.below(7)).map(|_| scope(random)).collect()
}

fn choice_is_that_of_the_model<C: OptionCode>(seed: u64, codes: &[C]) {
    let mut random = Random::from_seed(seed);
    let mut carried_in_all = 0;
    for _ in 0..3_000 {
        let scopes = scopes(&mut random, codes);
        let compiled: Vec<_> =
            scopes.iter().map(|scope| ScopeOptions::compile(scope, class)).collect();
        let some = |random: &mut Random, count| -> Vec<C> {
            (0..random.below(count)).filter_map(|_| random.pick(codes).copied()).collect()
        };
        let requested = some(&mut random, 6);
        let low = |codes: Vec<C>| -> Vec<u16> {
            codes.into_iter().map(Into::into).filter(|&code| CodeSet::can_hold(code)).collect()
        };
        let (unconditional, withheld) = (low(some(&mut random, 3)), low(some(&mut random, 3)));
        let mut classes = ClassSet::default();
        let names: Vec<&str> = CLASSES.into_iter().filter(|_| random.chance(1, 2)).collect();
        for name in &names {
            classes.insert(class(name).expect("it is one"));
        }
        let selection = OptionSelection {
            requested: requested.iter().copied(),
            unconditional: CodeSet::from_codes(&unconditional),
            withheld: CodeSet::from_codes(&withheld),
            classes: &classes,
        };
        let lists = || compiled.iter().map(ScopeOptions::standard);
        let mut carried = Vec::new();
        select_options(lists, &selection, |code: C, octets| {
            carried.push((code.into(), octets.to_vec()))
        });
        let expected = expected(&scopes, &requested, &unconditional, &withheld, &names);
        assert_eq!(carried.len(), expected.len(), "each code once: {scopes:?}");
        carried_in_all += carried.len();
        let carried: BTreeMap<u16, Vec<u8>> = carried.into_iter().collect();
        assert_eq!(carried, expected, "{scopes:?} {names:?} {requested:?}");
        for &code in codes {
            let octets = selected_entry(lists, &selection, code).map(|entry| entry.octets.to_vec());
            assert_eq!(octets, expected.get(&code.into()).cloned(), "{code:?} of {scopes:?}");
        }
    }
    assert!(carried_in_all > 1_000, "the cases say nothing: {carried_in_all}");
}

#[test]
fn the_choice_is_that_of_a_slow_model() {
    choice_is_that_of_the_model::<u8>(1, &[0, 3, 6, 63, 64, 255]);
    choice_is_that_of_the_model::<u16>(2, &[3, 23, 255, 256, 1000, 65_535]);
}

#[test]
fn options_come_in_the_order_in_which_they_are_asked_for() {
    let option = |code: u8, always_send| OptionData {
        code,
        space: OptionSpace::Standard,
        octets: vec![code],
        always_send,
        never_send: false,
        client_classes: Vec::new(),
    };
    let scope =
        ScopeOptions::compile(&[option(3, true), option(6, false), option(42, true)], |_| None);
    let classes = ClassSet::default();
    let selection = OptionSelection {
        requested: [42, 6, 42, 7].into_iter(),
        unconditional: CodeSet::default(),
        withheld: CodeSet::default(),
        classes: &classes,
    };
    let mut codes = Vec::new();
    select_options(|| [scope.standard()].into_iter(), &selection, |code, _| codes.push(code));
    assert_eq!(codes, [42, 6, 3]);
}

/// Returns a server with these global options.
fn server(options: &str) -> Server {
    Server::new(&format!(
        r#"{{ "Dhcp4": {{ "option-data": [ {options} ],
            "subnet4": [ {{ "id": 1, "subnet": "10.0.0.0/24",
                "pools": [ {{ "pool": "10.0.0.10 - 10.0.0.250" }} ] }} ] }} }}"#
    ))
}

/// Returns option 125 of the offer to a client that sends these options.
fn vendor_options(server: &mut Server, options: &[(u8, &[u8])]) -> Option<Vec<u8>> {
    let mut discover = Dhcp4MessageBuilder::new(MessageType::Discover, 1);
    for (code, octets) in options {
        discover = discover.option(*code, octets);
    }
    let octets = server.ask(&discover);
    assert_eq!(kind(&octets), Some(MessageType::Offer));
    let offer = Message::parse(&octets).expect("a reply parses");
    let value = offer.option(option::VENDOR_IDENTIFYING_VENDOR_SPECIFIC_INFORMATION)?;
    Some(value.octets().collect())
}

const DOCSIS: [u8; 4] = 4491_u32.to_be_bytes();

fn vendor(enterprise: u32, data: &[u8]) -> Vec<u8> {
    [&enterprise.to_be_bytes()[..], &[data.len() as u8], data].concat()
}

#[test]
fn cable_modems_get_the_sub_options_that_they_ask_for() {
    let mut server = server(
        r#"{ "space": "vendor-4491", "name": "tftp-servers", "data": "10.1.1.2" },
           { "space": "vendor-4491", "code": 5, "csv-format": false, "data": "0a0b" }"#,
    );
    let request = vendor(4491, &[1, 2, 2, 9]);
    let tftp = vendor(4491, &[2, 4, 10, 1, 1, 2]);
    assert_eq!(vendor_options(&mut server, &[(125, &request)]), Some(tftp));
    // These requests come from another vendor's client, from a client that names no sub-option, and
    // for the option as a whole.
    assert_eq!(vendor_options(&mut server, &[(125, &vendor(9, &[1, 1, 2]))]), None);
    assert_eq!(vendor_options(&mut server, &[(125, &vendor(4491, &[]))]), None);
    assert_eq!(vendor_options(&mut server, &[(55, &[125])]), None);
}

#[test]
fn sub_options_that_are_always_sent_go_to_clients_that_name_their_vendor() {
    let mut server = server(
        r#"{ "space": "vendor-9", "code": 1, "csv-format": false, "data": "01", "always-send": true },
           { "space": "vendor-9", "code": 2, "csv-format": false, "data": "02" },
           { "space": "vendor-7", "code": 3, "csv-format": false, "data": "03", "always-send": true }"#,
    );
    let nine = vendor(9, &[1, 1, 1]);
    assert_eq!(vendor_options(&mut server, &[(124, &vendor(9, b"class"))]), Some(nine.clone()));
    assert_eq!(vendor_options(&mut server, &[(125, &vendor(9, &[2, 0]))]), Some(nine.clone()));
    let both = [vendor(9, b"x"), vendor(7, b"y")].concat();
    let answer = [vendor(7, &[3, 1, 3]), nine].concat();
    assert_eq!(vendor_options(&mut server, &[(124, &both)]), Some(answer));
    assert_eq!(vendor_options(&mut server, &[]), None);
    // This option is cut off in the middle: the part before counts.
    assert_eq!(vendor_options(&mut server, &[(124, &vendor(7, b"y")[..4])]), None);
}

#[test]
fn a_configured_vendor_option_brings_its_sub_options_along() {
    let mut server = server(
        r#"{ "name": "vivso-suboptions", "data": "9", "always-send": true },
           { "name": "vivso-suboptions", "csv-format": false, "data": "00000007020100" },
           { "space": "vendor-9", "code": 1, "csv-format": false, "data": "01", "always-send": true },
           { "space": "vendor-7", "code": 1, "csv-format": false, "data": "ff", "always-send": true },
           { "space": "vendor-7", "code": 2, "csv-format": false, "data": "02", "always-send": true }"#,
    );
    let answer = [vendor(7, &[1, 0, 2, 1, 2]), vendor(9, &[1, 1, 1])].concat();
    assert_eq!(vendor_options(&mut server, &[]), Some(answer));
}

#[test]
fn long_sub_options_go_in_pieces() {
    let long = "5a".repeat(300);
    let mut server = server(&format!(
        r#"{{ "space": "vendor-9", "code": 1, "csv-format": false, "data": "{long}",
            "always-send": true }}"#
    ));
    let value = vendor_options(&mut server, &[(124, &vendor(9, b"x"))]).expect("it is sent");
    let mut rest = &value[..];
    let mut sub_option: Vec<u8> = Vec::new();
    while let Some((&[0, 0, 0, 9, len, 1, inner], tail)) = rest.split_first_chunk::<7>() {
        assert_eq!(len, inner + 2);
        sub_option.extend(&tail[..usize::from(inner)]);
        rest = &tail[usize::from(inner)..];
    }
    assert!(rest.is_empty());
    assert_eq!(sub_option, [0x5a; 300]);
}

#[test]
fn each_vendor_class_is_sent_once() {
    let mut server = server(
        r#"{ "name": "vivco-suboptions", "data": "9, 0161", "always-send": true },
           { "name": "vivco-suboptions", "data": "7, 0162" }"#,
    );
    let octets = server.ask(&Dhcp4MessageBuilder::new(MessageType::Discover, 1));
    let offer = Message::parse(&octets).expect("a reply parses");
    let value: Vec<u8> = offer.option(124).expect("it is sent").octets().collect();
    assert_eq!(value, [0, 0, 0, 7, 1, b'b', 0, 0, 0, 9, 1, b'a']);
}

/// Returns options 17 of the advertisement to a client that sends these options.
fn vendor_options6(options: &str, requested: &[(u16, &[u8])]) -> Vec<Vec<u8>> {
    let mut server = v6::Server::new(&format!(
        r#"{{ "Dhcp6": {{ "option-data": [ {options} ],
            "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64",
                "pools": [ {{ "pool": "2001:db8:1::/80" }} ] }} ] }} }}"#
    ));
    let mut solicit = v6::Dhcp6MessageBuilder::new(MessageType6::Solicit, 1).na(1, &[]);
    for (code, octets) in requested {
        solicit = solicit.option(*code, octets);
    }
    let answer = server.ask(&solicit);
    let vendor = answer.options.into_iter().filter(|(code, _)| *code == 17);
    vendor.map(|(_, value)| value).collect()
}

#[test]
fn sub_options_of_dhcpv6_come_in_one_option_for_each_vendor() {
    let options = r#"
        { "space": "vendor-4491", "name": "config-file", "data": "c" },
        { "space": "vendor-4491", "name": "device-type", "data": "d", "always-send": true },
        { "space": "vendor-9", "code": 1000, "csv-format": false, "data": "01", "always-send": true }"#;
    let oro = [&DOCSIS[..], &[0, 1, 0, 4, 0, 33, 0, 34]].concat();
    let docsis_device = [&DOCSIS[..], &[0, 2, 0, 1, b'd']].concat();
    let docsis_both = [&DOCSIS[..], &[0, 2, 0, 1, b'd', 0, 33, 0, 1, b'c']].concat();
    let nine = vec![0, 0, 0, 9, 0x03, 0xe8, 0, 1, 1];
    assert_eq!(vendor_options6(options, &[]), [] as [Vec<u8>; 0]);
    assert_eq!(vendor_options6(options, &[(17, &oro)]), std::slice::from_ref(&docsis_both));
    assert_eq!(vendor_options6(options, &[(16, &DOCSIS)]), [docsis_device]);
    let class = [0, 0, 0, 9, 0, 1, b'x'];
    assert_eq!(vendor_options6(options, &[(16, &class), (17, &oro)]), [nine, docsis_both]);
}

/// Options of a client.
type OfClient = Vec<(u16, Vec<u8>)>;

/// Checks a file of vectors: what Kea sent, what godwit sends, the code, options of the client and
/// global keys. Returns the number of equal and of different vectors.
fn check_vectors(
    vectors: &str,
    answer: fn(keys: &str, code: u16, sent: &OfClient) -> String,
) -> (u32, u32) {
    let mut counts = (0, 0);
    let mut wrong = Vec::new();
    for line in vectors.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [kea, godwit, code, sent, keys] = columns[..] else { panic!("{line}") };
        let sent = sent.split(' ').filter_map(|sent| sent.split_once(':'));
        let sent: OfClient = sent.map(|(code, digits)| of_client(code, digits)).collect();
        let expected = if godwit == "=" { kea } else { godwit };
        let actual = answer(keys, code.parse().expect("a code"), &sent);
        if actual != expected {
            wrong.push(format!("{actual} instead of {expected}: {sent:?} {keys}"));
        }
        if godwit == "=" { counts.0 += 1 } else { counts.1 += 1 }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    counts
}

/// Returns an option of the client from its code and its bytes in hexadecimal.
fn of_client(code: &str, digits: &str) -> (u16, Vec<u8>) {
    let octet = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    let octets = (0..digits.len()).step_by(2).map(octet).collect();
    (code.parse().expect("a code"), octets)
}

fn spelled(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[test]
fn vendor_options_are_those_that_kea_sends() {
    let counts = check_vectors(include_str!("data/vendor-vectors.txt"), |keys, code, sent| {
        let text = format!(
            r#"{{ "Dhcp4": {{ {keys}, "subnet4": [ {{ "id": 1, "subnet": "10.0.0.0/24",
                "pools": [ {{ "pool": "10.0.0.10 - 10.0.0.250" }} ] }} ] }} }}"#
        );
        if dhcp_config::parse_dhcp4("t", &text, &mut dhcp_config::NoIncludes).is_err() {
            return "refused".to_owned();
        }
        let mut discover = Dhcp4MessageBuilder::new(MessageType::Discover, 1);
        for (code, octets) in sent {
            discover = discover.option(*code as u8, octets);
        }
        let octets = Server::new(&text).ask(&discover);
        let offer = Message::parse(&octets).expect("a reply parses");
        let value = offer.option(code as u8).map(|value| value.octets().collect::<Vec<u8>>());
        value.map_or_else(|| "none".to_owned(), |octets| spelled(&octets))
    });
    assert_eq!(counts, (8, 9), "equal and different");
}

#[test]
fn vendor_options_of_dhcpv6_are_those_that_kea_sends() {
    let counts = check_vectors(include_str!("data/vendor6-vectors.txt"), |keys, code, sent| {
        let text = format!(
            r#"{{ "Dhcp6": {{ {keys}, "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64",
                "pools": [ {{ "pool": "2001:db8:1::/80" }} ] }} ] }} }}"#
        );
        if dhcp_config::parse_dhcp6("t", &text, &mut dhcp_config::NoIncludes).is_err() {
            return "refused".to_owned();
        }
        let mut solicit = v6::Dhcp6MessageBuilder::new(MessageType6::Solicit, 1).na(1, &[]);
        for (code, octets) in sent {
            solicit = solicit.option(*code, octets);
        }
        let answer = v6::Server::new(&text).ask(&solicit);
        let of_code = answer.options.iter().filter(|(other, _)| *other == code);
        let values: Vec<String> = of_code.map(|(_, octets)| spelled(octets)).collect();
        if values.is_empty() { "none".to_owned() } else { values.join(" ") }
    });
    assert_eq!(counts, (8, 3), "equal and different");
}
