//! Reservations of DHCPv6: addresses, prefixes, modes, names, classes and options of hosts.

use crate::common;
use std::net::Ipv6Addr;

use crate::common::v6::{Dhcp6MessageBuilder, ParsedDhcp6Reply, RELAY, Server, address};
use dhcp_lease::v6::{Lease, Resource};
use dhcp_wire::v6::{MessageType, StatusCode, option};

const DUID_1: &str = "00:03:00:01:02:00:00:00:00:01";
const DUID_2: &str = "00:03:00:01:02:00:00:00:00:02";

/// Returns a configuration of global keys and the inside of one subnet with four addresses and four
/// prefixes.
fn config(global: &str, inner: &str) -> String {
    format!(
        r#"{{ "Dhcp6": {{
            "interfaces-config": {{ "interfaces": [ "*" ] }},
            "preferred-lifetime": 600, "valid-lifetime": 1000, "cache-threshold": 0.0, {global}
            "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64", {inner}
                "pools": [ {{ "pool": "2001:db8:1::10-2001:db8:1::13" }} ],
                "pd-pools": [ {{ "prefix": "2001:db8:100::", "prefix-len": 54,
                    "delegated-len": 56, "excluded-prefix": "2001:db8:100:ff::",
                    "excluded-prefix-len": 64 }} ] }} ] }} }}"#
    )
}

fn reserved(hosts: &str) -> String {
    config("", &format!(r#""reservations": [ {hosts} ],"#))
}

fn ip(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

fn solicit(n: u16) -> Dhcp6MessageBuilder {
    Dhcp6MessageBuilder::new(MessageType::Solicit, n).na(1, &[])
}

fn request(n: u16, address: Ipv6Addr) -> Dhcp6MessageBuilder {
    Dhcp6MessageBuilder::new(MessageType::Request, n).for_us().na(1, &[address])
}

fn renew(n: u16, address: Ipv6Addr) -> Dhcp6MessageBuilder {
    Dhcp6MessageBuilder::new(MessageType::Renew, n).for_us().na(1, &[address])
}

fn lease(server: &Server, address: Ipv6Addr) -> Lease {
    let mut stored = None;
    server.table.for_each_lease(|lease| {
        if lease.address == Resource::address(address) {
            stored = Some(lease);
        }
    });
    stored.expect("it is leased")
}

#[test]
fn a_host_gets_its_address_inside_and_outside_of_pools_and_nobody_else_does() {
    let hosts = format!(
        r#"{{ "duid": "{DUID_1}", "ip-addresses": [ "2001:db8:1::10" ] }},
           {{ "duid": "{DUID_2}", "ip-addresses": [ "2001:db8:1::77" ] }}"#
    );
    let mut server = Server::new(&reserved(&hosts));
    for n in 3..6 {
        let solicitation =
            Dhcp6MessageBuilder::new(MessageType::Solicit, n).na(1, &[address(0x10)]);
        assert_ne!(server.ask(&solicitation).leased(0), address(0x10));
        assert_ne!(server.lease(n), address(0x10));
    }
    let exhausted = server.ask(&solicit(6));
    assert_eq!(exhausted.statuses(), [Some(StatusCode::NoAddrsAvail)]);
    assert_eq!(server.lease(1), address(0x10));
    assert_eq!(server.lease(2), address(0x77));
    let renewed = server.ask(&renew(2, address(0x77)));
    assert_eq!(renewed.ias[0].leased, [(address(0x77), 128, 600, 1000)]);
}

#[test]
fn a_hosts_lease_moves_to_what_is_reserved_for_it() {
    let mut server = Server::new(&config("", ""));
    let old = server.lease(1);
    assert_eq!(old, address(0x10));
    let host = format!(r#"{{ "duid": "{DUID_1}", "ip-addresses": [ "2001:db8:1::77" ] }}"#);
    server.reload(&reserved(&host));
    assert_eq!(server.ask(&solicit(1)).leased(0), address(0x77));
    let moved = server.ask(&renew(1, old));
    assert_eq!(moved.ias[0].leased, [(address(0x77), 128, 600, 1000), (old, 128, 0, 0)]);
    let solicitation = Dhcp6MessageBuilder::new(MessageType::Solicit, 2).na(1, &[old]);
    assert_eq!(server.ask(&solicitation).leased(0), old);
}

#[test]
fn a_lease_of_what_is_reserved_for_another_ends_with_its_renewal() {
    let mut server = Server::new(&config("", ""));
    let old = server.lease(1);
    let host = format!(r#"{{ "duid": "{DUID_2}", "ip-addresses": [ "{old}" ] }}"#);
    server.reload(&reserved(&host));
    // Before that, the host has another address.
    let other = server.lease(2);
    assert_ne!(other, old);
    let moved = server.ask(&renew(1, old));
    assert_eq!(moved.ias[0].leased[1], (old, 128, 0, 0));
    assert_eq!(server.ask(&renew(2, other)).ias[0].leased[0].0, old);
}

#[test]
fn associations_share_out_what_a_host_has() {
    let host = format!(
        r#"{{ "duid": "{DUID_1}", "ip-addresses": [ "2001:db8:1::71", "2001:db8:1::72" ],
              "prefixes": [ "3000:1::/48" ] }}"#
    );
    let mut server = Server::new(&reserved(&host));
    let solicitation =
        Dhcp6MessageBuilder::new(MessageType::Solicit, 1).na(1, &[]).na(2, &[]).na(3, &[]);
    let answer = server.ask(&solicitation.pd(4, &[]).pd(5, &[]));
    let leased: Vec<Ipv6Addr> = (0..5).map(|at| answer.leased(at)).collect();
    let expected = [address(0x71), address(0x72), address(0x10), ip("3000:1::")];
    assert_eq!(leased[..4], expected);
    assert_eq!(answer.ias[3].leased[0].1, 48);
    assert_eq!(answer.ias[4].leased[0].1, 56);
}

#[test]
fn excluded_prefixes_are_told_to_those_who_ask() {
    let host = format!(
        r#"{{ "duid": "{DUID_1}", "prefixes": [ "3000:1::/48" ],
              "excluded-prefixes": [ "3000:1:0:f::/64" ] }}"#
    );
    let mut server = Server::new(&reserved(&host));
    let pd = |n| Dhcp6MessageBuilder::new(MessageType::Solicit, n).pd(1, &[]);
    let asking = |n| pd(n).wants(&[option::PD_EXCLUDE]);
    assert_eq!(server.ask(&pd(1)).ias[0].excluded, None);
    assert_eq!(server.ask(&asking(1)).ias[0].excluded, Some((ip("3000:1:0:f::"), 64)));
    assert_eq!(server.ask(&asking(2)).ias[0].excluded, Some((ip("2001:db8:100:ff::"), 64)));
}

/// A reserved prefix in a pool has the excluded prefix of its reservation, or none, whatever its
/// length, also in another subnet of the shared network than the one that is selected.
#[test]
fn reserved_prefixes_of_all_lengths_in_a_pool_have_no_excluded_prefix_of_the_pool() {
    for len in 55..=64 {
        let prefix = ip(if len == 55 { "2001:db8:8000::" } else { "2001:db8:8000:100::" });
        for (excluded, hosts) in [
            (None, format!(r#""prefixes": [ "{prefix}/{len}" ]"#)),
            (
                Some((prefix, 80)),
                format!(
                    r#""prefixes": [ "{prefix}/{len}" ], "excluded-prefixes": [ "{prefix}/80" ]"#
                ),
            ),
        ] {
            let mut server = Server::new(&format!(
                r#"{{ "Dhcp6": {{ "interfaces-config": {{ "interfaces": [ "*" ] }},
                    "shared-networks": [ {{ "name": "n", "subnet6": [
                      {{ "id": 1, "subnet": "2001:db8:1::/64", "reservations": [
                        {{ "duid": "{DUID_1}", "ip-addresses": [ "2001:db8:1::77" ] }} ] }},
                      {{ "id": 2, "subnet": "2001:db8:2::/64",
                        "reservations": [ {{ "duid": "{DUID_1}", {hosts} }} ],
                        "pd-pools": [ {{ "prefix": "2001:db8:8000::", "prefix-len": 50,
                          "delegated-len": 56, "excluded-prefix": "2001:db8:8000:1::",
                          "excluded-prefix-len": 64 }} ] }} ] }} ] }} }}"#
            ));
            for kind in [MessageType::Request, MessageType::Renew] {
                let message = Dhcp6MessageBuilder::new(kind, 1).for_us().na(1, &[address(0x77)]);
                let message = message.pd(1, &[(prefix, len)]).wants(&[option::PD_EXCLUDE]);
                let reply = server.ask(&message);
                let given = reply.ias[1].leased[0];
                assert_eq!((given.0, given.1), (prefix, len));
                assert_eq!(reply.ias[1].excluded, excluded, "/{len}");
            }
        }
    }
}

#[test]
fn modes_say_which_reservations_count() {
    let host = |address: &str| {
        format!(r#""reservations": [ {{ "duid": "{DUID_1}", "ip-addresses": [ "{address}" ] }} ],"#)
    };
    let offered = |text: &str| Server::new(text).ask(&solicit(1)).leased(0);
    let (inside, outside) = (host("2001:db8:1::13"), host("2001:db8:1::77"));
    assert_eq!(offered(&config("", &inside)), address(0x13));
    let off = r#""reservations-in-subnet": false,"#;
    assert_eq!(offered(&config(off, &inside)), address(0x10));
    // With reservations out of pools, reserved addresses in a pool are ignored.
    let out = r#""reservations-out-of-pool": true,"#;
    assert_eq!(offered(&config(out, &inside)), address(0x10));
    assert_eq!(offered(&config(out, &outside)), address(0x77));
    let global = r#""reservations-global": true, "#;
    assert_eq!(offered(&config(&inside, "")), address(0x10));
    assert_eq!(offered(&config(&format!("{global}{inside}"), "")), address(0x13));
    assert_eq!(offered(&config(&format!("{global}{inside}"), &outside)), address(0x77));
    // A global address that fits no subnet of the link is skipped.
    let foreign = host("2001:db8:9::1");
    assert_eq!(offered(&config(&format!("{global}{foreign}"), "")), address(0x10));
}

#[test]
fn what_is_out_of_pools_by_mode_is_given_from_pools() {
    let host = format!(
        r#""reservations": [ {{ "duid": "{DUID_1}", "ip-addresses": [ "2001:db8:1::10" ] }} ],"#
    );
    let out = r#""reservations-out-of-pool": true,"#;
    let mut server = Server::new(&config(out, &host));
    assert_eq!(server.lease(2), address(0x10));
}

#[test]
fn hosts_are_told_by_hardware_address_and_by_flexible_identifier() {
    let by_hardware =
        r#"{ "hw-address": "02:00:00:00:00:01", "ip-addresses": [ "2001:db8:1::71" ] }"#;
    assert_eq!(Server::new(&reserved(by_hardware)).ask(&solicit(1)).leased(0), address(0x71));
    let hook = r#""hooks-libraries": [ { "library": "/usr/lib/libdhcp_flex_id.so", "parameters": {
        "identifier-expression": "relay6[0].option[18].hex" } } ],
        "host-reservation-identifiers": [ "flex-id", "duid" ],"#;
    let by_port = r#""reservations": [ { "flex-id": "'port 7'",
        "ip-addresses": [ "2001:db8:1::72" ] } ],"#;
    let mut server = Server::new(&config(hook, by_port));
    let through = |id: &[u8]| solicit(1).through(&[(RELAY, &[(option::INTERFACE_ID, id)])]);
    assert_eq!(server.ask(&through(b"port 8")).leased(0), address(0x10));
    assert_eq!(server.ask(&through(b"port 7")).leased(0), address(0x72));
}

#[test]
fn leases_may_be_kept_under_the_flexible_identifier() {
    let hook = r#""hooks-libraries": [ { "library": "libdhcp_flex_id.so", "parameters": {
        "identifier-expression": "relay6[0].option[18].hex", "replace-client-id": true,
        "ignore-iaid": true } } ],"#;
    let mut server = Server::new(&config(hook, ""));
    let port =
        |build: Dhcp6MessageBuilder| build.through(&[(RELAY, &[(option::INTERFACE_ID, b"port")])]);
    let first = server.ask(&port(request(1, address(0x12))));
    assert_eq!((first.leased(0), first.ias[0].iaid), (address(0x12), 1));
    let stored_lease = lease(&server, address(0x12));
    assert_eq!(
        (stored_lease.client.duid.octets(), stored_lease.client.iaid),
        (&b"\0\0port"[..], 0)
    );
    // Another device at the same port has the same lease, and the reply has its own identifiers.
    let second = server.ask(&port(Dhcp6MessageBuilder::new(MessageType::Solicit, 2).na(9, &[])));
    assert_eq!((second.leased(0), second.ias[0].iaid), (address(0x12), 9));
    assert_eq!(second.option(option::CLIENTID), Some(&common::v6::duid(2)[..]));
}

#[test]
fn a_host_has_options_classes_and_a_name() {
    let class = r#""client-classes": [ { "name": "vip", "option-data": [
        { "name": "sntp-servers", "data": "2001:db8::7" } ] } ],"#;
    let host = format!(
        r#""reservations": [ {{ "duid": "{DUID_1}", "hostname": "Host.example",
            "client-classes": [ "vip" ],
            "option-data": [ {{ "name": "dns-servers", "data": "2001:db8::8" }} ] }} ],
           "option-data": [ {{ "name": "dns-servers", "data": "2001:db8::9" }} ],"#
    );
    let mut server = Server::new(&config(class, &host));
    let wants = [option::DNS_SERVERS, option::SNTP_SERVERS];
    let last = |answer: &ParsedDhcp6Reply, code| answer.option(code).map(|octets| octets[15]);
    let reply = server.ask(&request(1, address(0x10)).wants(&wants));
    assert_eq!(last(&reply, option::DNS_SERVERS), Some(8));
    assert_eq!(last(&reply, option::SNTP_SERVERS), Some(7));
    assert_eq!(&*lease(&server, reply.leased(0)).hostname, "Host.example");
    let stranger = server.ask(&solicit(2).wants(&wants));
    assert_eq!(last(&stranger, option::DNS_SERVERS), Some(9));
    assert_eq!(last(&stranger, option::SNTP_SERVERS), None);
}

#[test]
fn names_of_clients_are_answered_and_kept() {
    let mut server = Server::new(&config("", ""));
    let with_fqdn =
        |build: Dhcp6MessageBuilder, fqdn: &[u8]| build.option(option::CLIENT_FQDN, fqdn);
    let offer = server.ask(&with_fqdn(solicit(1), b"\x01\x03Foo\x02b!"));
    assert_eq!(offer.option(option::CLIENT_FQDN), Some(&b"\x06\x03foo\x01b\0"[..]));
    let leased = server.ask(&with_fqdn(request(1, address(0x10)), b"\x00\x03foo\x01b\0"));
    assert_eq!(leased.option(option::CLIENT_FQDN), Some(&b"\x04\x03foo\x01b\0"[..]));
    assert_eq!(&*lease(&server, address(0x10)).hostname, "foo.b.");
    server.ask(&with_fqdn(request(2, address(0x11)), b"\x01"));
    assert_eq!(&*lease(&server, address(0x11)).hostname, "myhost-2001-db8-1--11.");
    server.tell(&with_fqdn(solicit(3), b"\x05\x03foo"));
}

#[test]
fn classes_of_an_early_global_host_choose_the_subnet() {
    let text = format!(
        r#"{{ "Dhcp6": {{
            "interfaces-config": {{ "interfaces": [ "*" ] }},
            "early-global-reservations-lookup": true, "reservations-global": true,
            "client-classes": [ {{ "name": "vip" }} ],
            "reservations": [ {{ "duid": "{DUID_1}", "client-classes": [ "vip" ] }} ],
            "subnet6": [
              {{ "id": 1, "subnet": "2001:db8:1::/64", "client-classes": [ "vip" ],
                 "pools": [ {{ "pool": "2001:db8:1::10/128" }} ] }},
              {{ "id": 2, "subnet": "2001:db8:1::/63",
                 "pools": [ {{ "pool": "2001:db8:1:0:1::/80" }} ] }} ] }} }}"#
    );
    let mut server = Server::new(&text);
    assert_eq!(server.ask(&solicit(1)).leased(0), address(0x10));
    assert_ne!(server.ask(&solicit(2)).leased(0), address(0x10));
}

/// Reservations of a shared network belong to their subnets: a reservation chooses a subnet only if
/// it has an address or prefix there, and it counts only if an address or prefix comes from its
/// subnet.
#[test]
fn a_host_counts_in_its_own_subnet() {
    let text = |second: &str| {
        format!(
            r#"{{ "Dhcp6": {{
            "interfaces-config": {{ "interfaces": [ "*" ] }},
            "shared-networks": [ {{ "name": "n", "subnet6": [
              {{ "id": 1, "subnet": "2001:db8:1::/64", "reservations": [
                   {{ "hw-address": "02:00:00:00:00:01", "hostname": "first" }} ],
                 "pools": [ {{ "pool": "2001:db8:1::/80" }} ] }},
              {{ "id": 2, "subnet": "2001:db8:2::/64", "reservations": [
                   {{ "duid": "{DUID_1}", {second} "hostname": "second", "option-data": [
                      {{ "name": "dns-servers", "data": "2001:db8::8" }} ] }} ],
                 "pools": [ {{ "pool": "2001:db8:2::/80" }} ] }} ] }} ] }} }}"#
        )
    };
    let bare = text("");
    let mut server = Server::new(&bare);
    let answer = server.ask(&request(1, ip("2001:db8:1::1")).wants(&[option::DNS_SERVERS]));
    assert_eq!(answer.leased(0), ip("2001:db8:1::1"));
    assert_eq!(answer.option(option::DNS_SERVERS), None);
    assert_eq!(&*lease(&server, answer.leased(0)).hostname, "first");
    assert_eq!(Server::new(&bare).ask(&solicit(1)).leased(0).segments()[2], 1);
    let mut server = Server::new(&bare);
    let answer = server.ask(&request(1, ip("2001:db8:2::1")).wants(&[option::DNS_SERVERS]));
    assert_eq!(answer.leased(0), ip("2001:db8:2::1"));
    assert!(answer.option(option::DNS_SERVERS).is_some());
    assert_eq!(&*lease(&server, answer.leased(0)).hostname, "second");
    // A reservation without an address in the first subnet does not hide another one.
    let mut server = Server::new(&text(r#""ip-addresses": [ "2001:db8:2::77" ],"#));
    let answer = server.ask(&request(1, ip("2001:db8:2::77")));
    assert_eq!(answer.leased(0), ip("2001:db8:2::77"));
    assert_eq!(&*lease(&server, answer.leased(0)).hostname, "second");
}

/// All identifiers of a client are one client: no other client may have the resources of any of its
/// reservations.
#[test]
fn what_a_further_reservation_of_a_client_holds_is_not_kept_from_it() {
    let hosts = format!(
        r#""reservations": [ {{ "duid": "{DUID_1}", "ip-addresses": [ "2001:db8:1::11" ],
             "prefixes": [ "2001:db8:8100::/56" ] }},
           {{ "hw-address": "02:00:00:00:00:01", "hostname": "bare" }} ],"#
    );
    let text = format!(
        r#"{{ "Dhcp6": {{ "interfaces-config": {{ "interfaces": [ "*" ] }},
            "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64", {hosts}
              "pools": [ {{ "pool": "2001:db8:1::10 - 2001:db8:1::11" }} ],
              "pd-pools": [ {{ "prefix": "2001:db8:8000::", "prefix-len": 55, "delegated-len": 56 }},
                            {{ "prefix": "2001:db8:8100::", "prefix-len": 56, "delegated-len": 56 }} ]
            }} ] }} }}"#
    );
    let both = |n| Dhcp6MessageBuilder::new(MessageType::Request, n).for_us().na(1, &[]).pd(1, &[]);
    let mut server = Server::new(&text);
    for (n, prefix) in [(2, "2001:db8:8000::"), (3, "2001:db8:8000:100::")] {
        let reply = server.ask(&both(n));
        assert_eq!(reply.leased(1), ip(prefix));
    }
    assert_eq!(server.ask(&both(1)).leased(0), address(0x11));
    assert_eq!(server.ask(&both(1)).leased(1), ip("2001:db8:8100::"));
    let mut server = Server::new(&text);
    assert_eq!(server.ask(&request(1, address(0x11))).leased(0), address(0x11));
    // The second reservation does not count otherwise.
    assert_eq!(Server::new(&text).ask(&both(1)).leased(0), address(0x10));
}

#[test]
fn what_relay_agents_said_is_kept_with_the_lease() {
    let mut server = Server::new(&config(r#""store-extended-info": true,"#, ""));
    let through =
        |build: Dhcp6MessageBuilder| build.through(&[(RELAY, &[(option::INTERFACE_ID, b"p")])]);
    server.ask(&through(request(1, address(0x10))));
    let expected = concat!(
        r#"{ "ISC": { "relay-info": [ { "hop": 0, "link": "2001:db8:1::1", "#,
        r#""options": "0x0012000170", "peer": "fe80::c" } ] } }"#
    );
    assert_eq!(&*lease(&server, address(0x10)).user_context, expected);
}

/// Kea completes a reserved name with or without a name from the client.
#[test]
fn a_reserved_name_is_completed_without_a_name_of_the_client() {
    let hosts = format!(
        r#""reservations": [ {{ "duid": "{DUID_1}", "ip-addresses": [ "2001:db8:1::77" ],
            "hostname": "Res" }} ],"#
    );
    let text = config(r#""ddns-qualifying-suffix": "suffix.example","#, &hosts);
    let mut server = Server::new(&text);
    assert_eq!(server.lease(1), address(0x77));
    assert_eq!(lease(&server, address(0x77)).hostname.to_lowercase(), "res.suffix.example");
}

/// Boot loader and system of one machine send requests within seconds, each as another association.
#[test]
fn an_offer_of_what_is_reserved_binds_no_other_association_of_its_owner() {
    let hosts = format!(
        r#"{{ "duid": "{DUID_1}", "ip-addresses": [ "2001:db8:1::77" ],
            "prefixes": [ "2001:db8:700::/56" ] }}"#
    );
    let mut server = Server::new(&reserved(&hosts));
    for iaid in 1..4 {
        let solicit = Dhcp6MessageBuilder::new(MessageType::Solicit, 1).na(iaid, &[]).pd(iaid, &[]);
        let advertise = server.ask(&solicit);
        assert_eq!(
            (advertise.leased(0), advertise.leased(1)),
            (address(0x77), ip("2001:db8:700::"))
        );
    }
    let request =
        Dhcp6MessageBuilder::new(MessageType::Request, 1).for_us().na(9, &[address(0x77)]);
    assert_eq!(server.ask(&request).leased(0), address(0x77));
    // A lease binds.
    let reply = server
        .ask(&Dhcp6MessageBuilder::new(MessageType::Request, 1).for_us().na(8, &[address(0x77)]));
    assert_ne!(reply.leased(0), address(0x77));
}
