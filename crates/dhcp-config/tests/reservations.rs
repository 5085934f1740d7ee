//! Tests of reservations of both families: accepted ones, and those that Kea refuses.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::common::{accepted, accepted6, check_marked, problems, problems6};
use dhcp_config::{HostIdentifier, IdentifierKind, ReservedPrefix};

fn subnet4(rest: &str) -> String {
    format!(
        "{{ \"Dhcp4\": {{ \"subnet4\": [ {{ \"id\": 1, \"subnet\": \"10.0.0.0/24\",\n{rest} }} ] }} }}"
    )
}

fn subnet6(rest: &str) -> String {
    format!(
        "{{ \"Dhcp6\": {{ \"subnet6\": [ {{ \"id\": 1, \"subnet\": \"2001:db8::/64\",\n{rest} }} ] }} }}"
    )
}

fn hosts4(marked: &str, expected: &[&str]) {
    check_marked(problems, &subnet4(&format!("\"reservations\": [ {marked} ]")), expected);
}

fn hosts6(marked: &str, expected: &[&str]) {
    check_marked(problems6, &subnet6(&format!("\"reservations\": [ {marked} ]")), expected);
}

fn identifier(kind: IdentifierKind, octets: &[u8]) -> HostIdentifier {
    HostIdentifier { kind, octets: octets.to_vec() }
}

#[test]
fn each_spelling_of_an_identifier_gives_its_octets() {
    for (key, text, kind, octets) in [
        (
            "hw-address",
            "1a:1B:1c:1d:1e:1f",
            IdentifierKind::HardwareAddress,
            &[0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f][..],
        ),
        ("hw-address", "1:2", IdentifierKind::HardwareAddress, &[1, 2]),
        ("duid", "0x010203", IdentifierKind::Duid, &[1, 2, 3]),
        ("duid", "1020304", IdentifierKind::Duid, &[1, 2, 3, 4]),
        ("client-id", "01 0a 0b", IdentifierKind::ClientId, &[1, 10, 11]),
        ("circuit-id", " ' port 7 ' ", IdentifierKind::CircuitId, b"port 7"),
        ("flex-id", "'s0m''e'", IdentifierKind::FlexId, b"s0m''e"),
    ] {
        let text = subnet4(&format!(r#""reservations": [ {{ "{key}": "{text}" }} ]"#));
        let config = accepted(&text).config;
        assert_eq!(
            config.subnets[0].reservations[0].identifier,
            identifier(kind, octets),
            "{text}"
        );
    }
}

#[test]
fn a_reservation_of_dhcpv4_is_read_whole() {
    let text = r#"{ "Dhcp4": {
        "reservations": [ { "duid": "00:01:00:01", "ip-address": "192.0.2.1", "hostname": "far" } ],
        "subnet4": [ { "id": 7, "subnet": "10.0.0.0/24", "reservations": [ {
            "hw-address": "1a:1b:1c:1d:1e:1f", "ip-address": "10.0.0.5", "hostname": "Near.example",
            "next-server": "10.0.0.1", "server-hostname": "boot", "boot-file-name": "/pxe.0",
            "client-classes": [ "gold", " silver ", "gold", "" ],
            "option-data": [ { "name": "domain-name-servers", "data": "10.0.0.53" } ],
            "user-context": { "floor": 3 }, "comment": "x"
        }, { "circuit-id": "0102", "next-server": "0.0.0.0" } ] } ] } }"#;
    let config = accepted(text).config;
    let [global] = &config.reservations[..] else { panic!("one global reservation") };
    assert_eq!(global.identifier, identifier(IdentifierKind::Duid, &[0, 1, 0, 1]));
    assert_eq!(global.reserved.address, Some(Ipv4Addr::new(192, 0, 2, 1)));
    assert_eq!(global.hostname, "far");
    let [near, bare] = &config.subnets[0].reservations[..] else { panic!("two of the subnet") };
    assert_eq!(near.reserved.address, Some(Ipv4Addr::new(10, 0, 0, 5)));
    assert_eq!(near.reserved.next_server, Some(Ipv4Addr::new(10, 0, 0, 1)));
    assert_eq!(near.reserved.server_hostname, "boot");
    assert_eq!(near.reserved.boot_file_name, "/pxe.0");
    assert_eq!(near.hostname, "Near.example");
    assert_eq!(near.client_classes, ["gold", "silver"]);
    assert_eq!((near.options[0].code, &near.options[0].octets[..]), (6, &[10, 0, 0, 53][..]));
    assert_eq!((bare.reserved.address, bare.reserved.next_server), (None, None));
}

#[test]
fn a_reservation_of_dhcpv6_is_read_whole() {
    let text = subnet6(
        r#""reservations": [ { "duid": "01:02:03:04:05:0A:0B:0C:0D:0E",
            "ip-addresses": [ "2001:db8::1", "2001:db8::2" ],
            "prefixes": [ "2001:db8:2:abcd::/64", "3000::/48" ],
            "excluded-prefixes": [ "2001:db8:2:abcd:1::/80", "" ],
            "hostname": "foo.example.com", "client-classes": [ "a" ],
            "option-data": [ { "name": "dns-servers", "data": "3000::53" } ] },
          { "hw-address": "00:01:02:03:04:05" } ]"#,
    );
    let config = accepted6(&text).config;
    let host = &config.subnets[0].reservations[0];
    let address = |text: &str| text.parse::<Ipv6Addr>().unwrap();
    assert_eq!(host.reserved.addresses, [address("2001:db8::1"), address("2001:db8::2")]);
    let prefixes = [
        ReservedPrefix {
            prefix: (address("2001:db8:2:abcd::"), 64),
            excluded: Some((address("2001:db8:2:abcd:1::"), 80)),
        },
        ReservedPrefix { prefix: (address("3000::"), 48), excluded: None },
    ];
    assert_eq!(host.reserved.prefixes, prefixes);
    assert_eq!(
        (&host.hostname[..], &host.client_classes[..]),
        ("foo.example.com", &["a".into()][..])
    );
    assert_eq!(host.options[0].code, 23);
}

#[test]
fn a_host_has_one_good_identifier() {
    hosts4(
        r#"^{ "ip-address": "10.0.0.1" },
           { "hw-address": "01:02", "duid": ^"01:02:03" },
           { "hw-address": ^"" }, { "hw-address": ^"01::02" }, { "hw-address": ^"'' " },
           { "duid": ^"0102" }, { "hw-address": ^7 },
           { "hw-address": ^"000102030405060708090a0b0c0d0e0f1011121314" }"#,
        &[
            "error a reservation needs an identifier",
            "error `duid` and `hw-address` exclude each other",
            "error `hw-address`: it is empty",
            "error `hw-address`: `01::02` is not hexadecimal",
            "error `hw-address`: `'' ` is not hexadecimal",
            "error `duid` has 2 bytes; it must have from 3 to 130",
            "error `hw-address` must be a string, not an integer",
            "error `hw-address` has 21 bytes; it must have from 1 to 20",
        ],
    );
    hosts6(
        r#"{ "hw-address": "01", ^"client-id": "01" }"#,
        &["error unknown key `client-id` in a reservation"],
    );
}

#[test]
fn addresses_fit_the_subnet_unless_they_are_global() {
    hosts4(
        r#"{ "hw-address": "01", "ip-address": ^"10.0.1.1" }, { "hw-address": "02", "ip-address":
           ^"0.0.0.0" }, { "hw-address": "03", "next-server": ^"255.255.255.255" }"#,
        &[
            "error reserved address 10.0.1.1 is not in 10.0.0.0/24",
            "error 0.0.0.0 cannot be reserved",
            "error `next-server` cannot be 255.255.255.255",
        ],
    );
    hosts6(
        r#"{ "hw-address": "01", "ip-addresses": [ ^"2001:db8:1::1", ^"ff02::1", ^"x" ] }"#,
        &[
            "error reserved address 2001:db8:1::1 is not in 2001:db8::/64",
            "error ff02::1 cannot be reserved",
            "error `ip-addresses`: `x` is not an IPv6 address",
        ],
    );
    accepted6(
        r#"{ "Dhcp6": { "reservations": [ { "hw-address": "01", "ip-addresses": [ "3000::1" ] } ] } }"#,
    );
}

#[test]
fn prefixes_are_whole_and_exclude_parts_of_themselves() {
    hosts6(
        r#"{ "hw-address": "01", "prefixes": [ ^"3000::", ^"3000::/0", ^"3000::1/64", ^"3000::/129" ] },
           { "hw-address": "02", "prefixes": [ "3000::/48" ], ^"excluded-prefixes": [] },
           { "hw-address": "03", "prefixes": [ "3001::/48", "3002::/48", "3003::/128" ],
             "excluded-prefixes": [ ^"3001::/48", ^"3001::/64", "" ] },
           { "hw-address": "04", ^"excluded-prefixes": [ "3001::/48" ] }"#,
        &[
            "error `prefixes`: `3000::` is not a prefix",
            "error `prefixes`: `3000::/0` is not a prefix",
            "error prefix 3000::1/64 has host bits",
            "error `prefixes`: `3000::/129` is not a prefix",
            "error `excluded-prefixes` has 0 elements, `prefixes` 1",
            "error excluded prefix 3001::/48 is not a part of 3001::/48",
            "error excluded prefix 3001::/64 is not a part of 3002::/48",
            "error `excluded-prefixes` has 1 elements, `prefixes` 0",
        ],
    );
}

#[test]
fn a_host_and_an_address_occur_once_in_a_scope() {
    hosts4(
        r#"{ "hw-address": "01:02:03", "ip-address": "10.0.0.1" }, { "duid": "01:02:03" },
           { "hw-address": ^"010203", "ip-address": ^"10.0.0.1" }"#,
        &[
            "error this host has a reservation in this scope already",
            "error 10.0.0.1 is reserved in this scope already",
        ],
    );
    // Kea compares only the first addresses of prefixes, also with addresses.
    hosts6(
        r#"{ "flex-id": "01", "ip-addresses": [ "2001:db8::1", ^"2001:db8::1", "2001:db8::" ] },
           { "flex-id": ^"01", "prefixes": [ ^"2001:db8::/48", ^"2001:db8::/64" ] }"#,
        &[
            "error 2001:db8::1 is reserved in this scope already",
            "error this host has a reservation in this scope already",
            "error 2001:db8:: is reserved in this scope already",
            "error 2001:db8:: is reserved in this scope already",
        ],
    );
}

#[test]
fn two_scopes_may_have_the_same_host() {
    let host = r#"{ "hw-address": "01", "ip-address": "10.0.0.1" }"#;
    let text = format!(
        r#"{{ "Dhcp4": {{ "reservations": [ {host} ], "subnet4": [
            {{ "id": 1, "subnet": "10.0.0.0/24", "reservations": [ {host} ] }},
            {{ "id": 2, "subnet": "10.0.0.0/16", "reservations": [ {host} ] }} ] }} }}"#
    );
    assert_eq!(accepted(&text).config.subnets[1].reservations.len(), 1);
}

#[test]
fn hosts_may_share_an_address_where_that_is_allowed() {
    let hosts = r#""reservations": [ { "hw-address": "01", "ip-address": "10.0.0.1" },
        { "hw-address": "02", "ip-address": "10.0.0.1" } ]"#;
    let text = format!(
        r#"{{ "Dhcp4": {{ "ip-reservations-unique": false, {hosts}, "subnet4": [
            {{ "id": 1, "subnet": "10.0.0.0/24", {hosts} }} ] }} }}"#
    );
    let config = accepted(&text).config;
    assert!(!config.global.ip_reservations_unique);
    assert_eq!(config.subnets[0].reservations.len() + config.reservations.len(), 4);
}

/// Checks a number of hosts for which comparing each with each would not end in the time of a test
/// run.
#[test]
fn a_hundred_thousand_hosts_are_read() {
    const COUNT: u32 = 100_000;
    let first = u32::from(Ipv4Addr::new(10, 0, 0, 0));
    let mut text =
        String::from(r#"{"Dhcp4":{"subnet4":[{"id":1,"subnet":"10.0.0.0/8","reservations":["#);
    for number in (0..COUNT).rev() {
        let address = Ipv4Addr::from(first + number + 1);
        text.push_str(&format!(r#"{{"hw-address":"0200{number:08x}","ip-address":"{address}"}},"#));
    }
    text.pop();
    text.push_str("]}]}}");
    let config = accepted(&text).config;
    let hosts = &config.subnets[0].reservations;
    assert_eq!(hosts.len(), COUNT as usize);
    assert_eq!(hosts[0].reserved.address, Some(Ipv4Addr::from(first + COUNT)));
    assert_eq!(hosts[99_999].identifier.octets, [2, 0, 0, 0, 0, 0]);
}

#[test]
fn every_host_that_is_repeated_among_twenty_thousand_is_refused_at_its_place() {
    const COUNT: usize = 20_000;
    // One of a thousand repeats the identifier of an earlier one, one the address, far apart.
    let repeats = |number: usize| number % 1000 == 999;
    let mut text = String::new();
    for number in 0..COUNT {
        let host = if repeats(number) { number - 500 } else { number };
        let last = if number % 1000 == 998 { number - 700 } else { number } + 1;
        let (kind, comma) = if host.is_multiple_of(2) { ("duid", "") } else { ("hw-address", " ") };
        let end = if number + 1 == COUNT { "\n" } else { ",\n" };
        text.push_str(&format!(
            "{{{comma}\"{kind}\":\"02{host:08x}\",\"ip-address\":\"10.{}.{}.{}\"}}{end}",
            last >> 16,
            last >> 8 & 0xff,
            last & 0xff
        ));
    }
    let text = format!(
        "{{\"Dhcp4\":{{\"subnet4\":[{{\"id\":1,\"subnet\":\"10.0.0.0/8\",\"reservations\":[\n{text}]}}]}}}}"
    );
    let problems = problems(&text);
    let mut expected = Vec::new();
    for number in (0..COUNT).filter(|number| number % 1000 == 998 || repeats(*number)) {
        let is_host = repeats(number);
        // The first host is in line 2.
        let first = if is_host { number - 500 } else { number - 700 } + 2;
        expected.push((number + 2, is_host, first));
    }
    let seen: Vec<(usize, bool, usize)> = problems
        .iter()
        .map(|problem| {
            let help = problem.help.as_deref().expect("the other place");
            let first = help.split(':').nth(1).expect("file:line:column");
            let is_host = problem.message == "this host has a reservation in this scope already";
            (problem.line as usize, is_host, first.parse().expect("a line"))
        })
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_host_name_that_no_lease_keeps_is_reported_and_cut() {
    let long = "x".repeat(256);
    let text = format!(
        "{{ \"Dhcp4\": {{ \"subnet4\": [ {{ \"subnet\": \"10.0.0.0/8\", \"id\": 1 }} ],\n\"ddns-qualifying-suffix\": \"{long}\",\n\
         \"reservations\": [\n  {{ \"hw-address\": \"01:02\", \"hostname\": \"{long}\" }},\n\
         {{ \"hw-address\": \"01:03\", \"hostname\": \"a\\u0000b\" }} ] }} }}"
    );
    let checked = accepted(&text);
    let messages: Vec<_> = checked
        .warnings
        .iter()
        .filter(|warning| warning.message.contains("host name"))
        .map(|warning| (warning.line, warning.column, &*warning.message))
        .collect();
    let too_long = "host name has 256 bytes; at most 255 are allowed";
    assert_eq!(
        messages,
        [
            (2, 27, &*format!("`ddns-qualifying-suffix`: {too_long}; it has no effect")),
            (4, 40, &*format!("`hostname`: {too_long}; the server cuts off the rest")),
            (5, 38, "`hostname`: host name contains U+0000; the server cuts off the rest"),
        ]
    );
    assert_eq!(checked.config.subnets[0].names.qualifying_suffix.as_deref(), Some(""));
    let names: Vec<&str> = checked.config.reservations.iter().map(|host| &*host.hostname).collect();
    assert_eq!(names, [&long[..255], "ab"]);
}
