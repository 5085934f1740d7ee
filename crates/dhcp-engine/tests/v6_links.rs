//! Subnets of DHCPv6 messages and destinations of replies: relay agents, interfaces, shared
//! networks.

use std::net::{Ipv6Addr, SocketAddrV6};
use std::sync::Arc;

use crate::common::TestProtocol;
use crate::common::v6::{
    Agent, CLIENT, Dhcp6MessageBuilder, ParsedDhcp6Reply, RELAY, SMALL, Server, address, direct,
};
use dhcp_engine::InterfaceNames;
use dhcp_engine::v6::{DropReason, Ingress};
use dhcp_lease::v6::V6;
use dhcp_wire::v6::{MessageType, Packet, StatusCode, option};

/// Subnets found by prefix, relay address, interface and Interface-Id; two share a link.
const LINKS: &str = r#"{ "Dhcp6": {
    "interfaces-config": { "interfaces": [ "*" ] },
    "option-data": [ { "name": "dns-servers", "data": "2001:db8::53" } ],
    "shared-networks": [ { "name": "both", "subnet6": [
        { "id": 1, "subnet": "2001:db8:1::/64", "pools": [ { "pool": "2001:db8:1::10/128" } ] },
        { "id": 2, "subnet": "2001:db8:2::/64", "pools": [ { "pool": "2001:db8:2::10/128" } ] } ] } ],
    "subnet6": [
        { "id": 3, "subnet": "2001:db8:3::/64", "interface": "eth0",
          "pools": [ { "pool": "2001:db8:3::/80" } ] },
        { "id": 4, "subnet": "2001:db8:4::/64", "interface-id": "port 7",
          "pools": [ { "pool": "2001:db8:4::/80" } ],
          "pd-pools": [ { "prefix": "2001:db8:40::", "prefix-len": 48, "delegated-len": 64 },
                        { "prefix": "2001:db8:41::", "prefix-len": 48, "delegated-len": 56 } ] },
        { "id": 5, "subnet": "2001:db8:5::/64", "relay": { "ip-addresses": [ "2001:db8:ff::1" ] },
          "pools": [ { "pool": "2001:db8:5::/80" } ] } ]
} }"#;

const NOWHERE: Ipv6Addr = Ipv6Addr::UNSPECIFIED;

fn ip(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

fn server() -> Server {
    let mut server = Server::new(LINKS);
    server.shards[0].set_interfaces(Arc::new(InterfaceNames::new([(2, "eth0"), (3, "eth1")])));
    server
}

/// Returns the third group of the offered address: the number of the subnet.
fn subnet_of(server: &mut Server, n: u16, relays: &[Agent<'_>]) -> Option<u16> {
    let solicit = Dhcp6MessageBuilder::new(MessageType::Solicit, n).na(1, &[]).through(relays);
    let answer = server.ask(&solicit);
    answer.ias[0].leased.first().map(|(address, ..)| address.segments()[2])
}

#[test]
fn a_relayed_message_belongs_to_the_link_that_its_agents_name() {
    let mut server = server();
    let port: (u16, &[u8]) = (option::INTERFACE_ID, b"port 7");
    let unknown: (u16, &[u8]) = (option::INTERFACE_ID, b"port 8");
    let link_local = ip("fe80::1");
    for (relays, expected) in [
        (&[(ip("2001:db8:3::1"), &[][..])][..], Some(3)),
        (&[(ip("2001:db8:ff::1"), &[])], Some(5)),
        (&[(ip("2001:db8:9::1"), &[port])], Some(4)),
        // Interface-Id goes before link address, and the link address counts when the Interface-Id
        // is not known.
        (&[(ip("2001:db8:3::1"), &[port])], Some(4)),
        (&[(ip("2001:db8:3::1"), &[unknown])], Some(3)),
        (&[(ip("2001:db8:99::1"), &[])], None),
        // Among several agents, the one nearest to the client that names a link counts.
        (&[(ip("2001:db8:5::1"), &[]), (ip("2001:db8:3::1"), &[])], Some(3)),
        (&[(ip("2001:db8:5::1"), &[]), (NOWHERE, &[])], Some(5)),
        (&[(ip("2001:db8:5::1"), &[]), (link_local, &[]), (NOWHERE, &[])], Some(5)),
        // The Interface-Id of an outer agent is not the client's link.
        (&[(ip("2001:db8:5::1"), &[port]), (NOWHERE, &[])], Some(5)),
        (&[(ip("2001:db8:5::1"), &[]), (NOWHERE, &[port])], Some(4)),
        (&[(ip("2001:db8:5::1"), &[]), (NOWHERE, &[unknown])], Some(5)),
    ] {
        assert_eq!(subnet_of(&mut server, 1, relays), expected, "{relays:?}");
    }
}

#[test]
fn agents_that_name_no_link_leave_the_message_to_the_interface_and_their_own_address() {
    let mut server = server();
    let port: (u16, &[u8]) = (option::INTERFACE_ID, b"port 7");
    let unknown: (u16, &[u8]) = (option::INTERFACE_ID, b"port 8");
    let link_local = ip("fe80::1");
    let (port, unknown) = ([port], [unknown]);
    let chains: [Vec<Agent<'_>>; 6] = [
        vec![(NOWHERE, &[])],
        vec![(link_local, &[])],
        // As in Kea, an Interface-Id counts only together with a link address.
        vec![(NOWHERE, &port)],
        vec![(link_local, &unknown)],
        vec![(NOWHERE, &[]), (NOWHERE, &port)],
        vec![(NOWHERE, &unknown), (link_local, &[]), (NOWHERE, &port)],
    ];
    let (n, sources) = (&mut 0, [("fe80::2", 2, Some(3)), ("fe80::2", 3, None)]);
    let by_source = [("2001:db8:1::2", 3, Some(1)), ("2001:db8:4::2", 3, Some(4))];
    for (source, interface, expected) in sources.into_iter().chain(by_source) {
        let source = SocketAddrV6::new(ip(source), 547, 0, 0);
        let ingress = Ingress { source, ..direct(interface) };
        for relays in &chains {
            *n += 1;
            let case = format!("{source} {interface} {relays:?}");
            let mut ask = |message: Dhcp6MessageBuilder| {
                let octets = message.through(relays).octets();
                let replies = server.send_by(0, &octets, ingress);
                replies.first().map(|(_, octets)| ParsedDhcp6Reply::parse(octets))
            };
            let answer =
                ask(Dhcp6MessageBuilder::new(MessageType::Solicit, *n).na(1, &[])).expect(&case);
            let leased_address = answer.ias[0].leased.first().map(|(address, ..)| *address);
            let on_pool = leased_address.map(|address| address.segments()[2]);
            // Subnets 1 and 2 share a network, and have an address each.
            let is_expected = match (on_pool, expected) {
                (Some(2) | None, Some(1)) => true,
                (on_pool, expected) => on_pool == expected,
            };
            assert!(is_expected, "{case}: {on_pool:?}");
            let subnet = expected.unwrap_or(3);
            let link_address = Ipv6Addr::new(0x2001, 0xdb8, subnet, 0, 0, 0, 0, 0x77);
            let confirm =
                ask(Dhcp6MessageBuilder::new(MessageType::Confirm, *n).na(1, &[link_address]));
            let status = confirm.and_then(|answer| answer.status);
            assert_eq!(status, expected.map(|_| StatusCode::Success), "{case}");
            let rebind =
                ask(Dhcp6MessageBuilder::new(MessageType::Rebind, *n).na(1, &[link_address]));
            assert_eq!(rebind.is_some(), expected.is_some(), "{case}");
        }
    }
}

#[test]
fn a_shared_network_offers_what_any_of_its_subnets_has() {
    let mut server = server();
    let second: &[Agent<'_>] = &[(ip("2001:db8:2::1"), &[])];
    // The subnet of the link address comes first.
    assert_eq!(subnet_of(&mut server, 1, second), Some(2));
    assert_eq!(subnet_of(&mut server, 2, second), Some(1));
    let confirm = Dhcp6MessageBuilder::new(MessageType::Confirm, 1).na(1, &[ip("2001:db8:1::77")]);
    assert_eq!(server.ask(&confirm.through(second)).status, Some(StatusCode::Success));
}

#[test]
fn a_prefix_of_the_length_asked_for_is_preferred() {
    let mut server = server();
    let relays: &[Agent<'_>] = &[(ip("2001:db8:4::1"), &[])];
    for (n, (requested_len, expected_len)) in
        [(0, 64), (56, 56), (64, 64), (60, 56), (48, 56)].iter().enumerate()
    {
        let solicit = Dhcp6MessageBuilder::new(MessageType::Solicit, n as u16)
            .pd(1, &[(NOWHERE, *requested_len)]);
        assert_eq!(
            server.ask(&solicit.through(relays)).ias[0].leased[0].1,
            *expected_len,
            "{requested_len}"
        );
    }
}

#[test]
fn a_client_on_the_link_is_found_by_its_interface_and_answered_there() {
    let mut server = server();
    let solicit = Dhcp6MessageBuilder::new(MessageType::Solicit, 1).na(1, &[]).direct().octets();
    let replies = server.send_by(0, &solicit, direct(2));
    assert_eq!(replies[0].0.to_string(), format!("[{CLIENT}%2]:546"));
    assert_eq!(ParsedDhcp6Reply::parse(&replies[0].1).leased(0).segments()[2], 3);
    let packet = Packet::parse(&replies[0].1).unwrap();
    assert_eq!(packet.relay_count(), 0);
    let elsewhere = server.send_by(0, &solicit, direct(3));
    assert_eq!(
        ParsedDhcp6Reply::parse(&elsewhere[0].1).statuses(),
        [Some(StatusCode::NoAddrsAvail)]
    );
}

#[test]
fn a_client_that_sends_to_our_own_address_is_not_answered_but_an_agent_is() {
    let mut server = server();
    let solicit = Dhcp6MessageBuilder::new(MessageType::Solicit, 1).na(1, &[]);
    let unicast = Ingress { is_multicast: false, ..direct(2) };
    assert!(server.send_by(0, &solicit.clone().direct().octets(), unicast).is_empty());
    assert_eq!(server.dropped(DropReason::UnicastFromClient), 1);
    assert_eq!(server.send_by(0, &solicit.octets(), V6::INGRESS).len(), 1);
    let multicast = Ingress { is_multicast: true, ..V6::INGRESS };
    assert_eq!(server.send_by(0, &solicit.octets(), multicast).len(), 1);
}

#[test]
fn replies_go_back_through_the_agents_that_brought_the_message() {
    let mut server = Server::new(SMALL);
    let inner: &[(u16, &[u8])] = &[(option::INTERFACE_ID, b"ge-0/0/1"), (37, b"\0\0\0\x09remote")];
    let solicit = Dhcp6MessageBuilder::new(MessageType::Solicit, 1).na(1, &[]);
    let replies =
        server.send_to(0, &solicit.clone().through(&[(NOWHERE, &[]), (RELAY, inner)]).octets());
    assert_eq!(replies[0].0.to_string(), format!("[{RELAY}]:547"));
    let packet = Packet::parse(&replies[0].1).unwrap();
    assert_eq!(packet.relay_type(), Some(MessageType::RelayRepl));
    assert_eq!(packet.relay_count(), 2);
    assert_eq!((packet.relay(0).hop_count, packet.relay(0).peer_address), (1, RELAY));
    assert_eq!((packet.relay(1).link_address, packet.relay(1).peer_address), (RELAY, CLIENT));
    assert_eq!(packet.relay(1).interface_id(), Some(&b"ge-0/0/1"[..]));
    // RFC 8357: this agent does not listen on port 547.
    let ported = solicit.through(&[(RELAY, &[(option::RELAY_PORT, &[0, 0])])]).octets();
    let mut ingress = V6::INGRESS;
    ingress.source.set_port(5_547);
    let replies = server.send_by(0, &ported, ingress);
    assert_eq!(replies[0].0.to_string(), format!("[{RELAY}]:5547"));
}

#[test]
fn an_answer_of_a_relay_agent_is_no_question() {
    let mut server = Server::new(SMALL);
    let mut octets = Dhcp6MessageBuilder::new(MessageType::Solicit, 1).na(1, &[]).octets();
    octets[0] = MessageType::RelayRepl.code();
    assert!(server.send_to(0, &octets).is_empty());
    assert_eq!(server.dropped(DropReason::UnexpectedMessageType), 1);
}

#[test]
fn without_a_subnet_a_client_learns_that_there_is_nothing_for_it() {
    let mut server = server();
    let foreign_relays: &[Agent<'_>] = &[(ip("2001:db8:99::1"), &[])];
    let mut ask = |kind: MessageType| {
        let mut message =
            Dhcp6MessageBuilder::new(kind, 1).wants(&[option::DNS_SERVERS]).through(foreign_relays);
        if !matches!(kind, MessageType::Solicit | MessageType::InformationRequest) {
            message = message.for_us();
        }
        if kind != MessageType::InformationRequest {
            message = message.na(1, &[address(0x10)]).pd(2, &[]);
        }
        server.ask(&message)
    };
    let none = [Some(StatusCode::NoAddrsAvail), Some(StatusCode::NoPrefixAvail)];
    assert_eq!(ask(MessageType::Solicit).statuses(), none);
    assert_eq!(ask(MessageType::Request).statuses(), none);
    for kind in [MessageType::Renew, MessageType::Release, MessageType::Decline] {
        assert_eq!(ask(kind).statuses(), [Some(StatusCode::NoBinding); 2], "{}", kind.name());
    }
    assert!(ask(MessageType::InformationRequest).option(option::DNS_SERVERS).is_some());
    for kind in [MessageType::Confirm, MessageType::Rebind] {
        server.tell(
            &Dhcp6MessageBuilder::new(kind, 1).na(1, &[address(0x10)]).through(foreign_relays),
        );
    }
    assert_eq!(server.dropped(DropReason::NoSubnet), 2);
}

#[test]
fn agents_supply_options_that_are_allowed_and_that_we_do_not_have() {
    let text = SMALL.replacen(
        "\"decline-probation-period\"",
        "\"relay-supplied-options\": [ \"31\", \"65\" ], \"decline-probation-period\"",
        1,
    );
    let mut server = Server::new(&text);
    let supplied = |values: &[(u16, u8)]| -> Vec<u8> {
        values
            .iter()
            .flat_map(|&(code, value)| [(code >> 8) as u8, code as u8, 0, 1, value])
            .collect()
    };
    // The options are 65 twice, 31 (which we always send ourselves), and one that is not allowed.
    let outer = supplied(&[(65, 1), (23, 9)]);
    let inner = supplied(&[(65, 2), (31, 9)]);
    let solicit = Dhcp6MessageBuilder::new(MessageType::Solicit, 1)
        .na(1, &[])
        .through(&[(NOWHERE, &[(option::RSOO, &outer)]), (RELAY, &[(option::RSOO, &inner)])]);
    let answer = server.ask(&solicit);
    let values = |code| -> Vec<&[u8]> {
        answer.options.iter().filter(|(c, _)| *c == code).map(|(_, value)| &**value).collect()
    };
    assert_eq!(values(65), [&[2]]);
    assert_eq!(values(23).len(), 0);
    assert_eq!(values(31), [ip("2001:db8::123").octets()]);
}

/// Kea orders subnets by their ids: of those that fit, it takes the lowest one.
#[test]
fn of_subnets_that_fit_the_lowest_id_is_taken() {
    let relay = r#""relay": { "ip-addresses": [ "2001:db8:1::1" ] },"#;
    let one = |id: u32, fits: &str| {
        format!(
            r#"{{ "id": {id}, "subnet": "2001:db8:{id}::/64", {fits}
                "pools": [ {{ "pool": "2001:db8:{id}::10-2001:db8:{id}::1f" }} ] }}"#
        )
    };
    let guard = r#""client-classes": [ "KNOWN" ],"#;
    let network = |name: &str, subnets: &[String]| {
        let subnets = subnets.join(",");
        format!(r#"{{ "name": "{name}", {relay} "subnet6": [ {subnets} ] }}"#)
    };
    for [first, last] in [[22, 3], [3, 22]] {
        let guarded = one(2, &format!("{relay} {guard}"));
        let alone = [one(first, relay), guarded, one(last, relay)].join(",");
        let shared = network("n", &[one(first, ""), one(2, guard), one(last, "")]);
        let [m, n] = [(first, "m"), (last, "n")].map(|(id, name)| {
            let other = if id == 3 { one(2, guard) } else { one(id + 1, "") };
            network(name, &[one(id, ""), other])
        });
        for subnets in [
            format!(r#""subnet6": [ {alone} ]"#),
            format!(r#""shared-networks": [ {shared} ]"#),
            format!(r#""shared-networks": [ {m}, {n} ]"#),
        ] {
            let text = format!(
                r#"{{ "Dhcp6": {{ "interfaces-config": {{ "interfaces": [ "*" ] }}, {subnets} }} }}"#
            );
            let mut server = Server::new(&text);
            let segments = server.lease(1).segments();
            assert_eq!(segments[2], 3, "{subnets}");
        }
    }
}

/// RFC 8168 §3.2: the length that a client requests goes before the prefix that it names.
#[test]
fn the_length_of_a_hint_goes_before_its_prefix() {
    let pool = |prefix: &str, len: u8| {
        format!(r#"{{ "prefix": "{prefix}", "prefix-len": 80, "delegated-len": {len} }}"#)
    };
    let pools =
        [pool("2001:db8:0:0:1::", 88), pool("2001:db8:0:0:3::", 96), pool("2001:db8:0:0:5::", 104)];
    let text = format!(
        r#"{{ "Dhcp6": {{ "interfaces-config": {{ "interfaces": [ "*" ] }},
            "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64", "pd-pools": [ {} ] }} ] }} }}"#,
        pools.join(",")
    );
    let address: Ipv6Addr = "2001:db8:0:0:3::".parse().unwrap();
    for (requested_len, expected_len) in
        [(92, 88), (96, 96), (100, 96), (64, 88), (104, 104), (120, 104)]
    {
        let mut server = Server::new(&text);
        let solicit =
            Dhcp6MessageBuilder::new(MessageType::Solicit, 1).pd(1, &[(address, requested_len)]);
        assert_eq!(server.ask(&solicit).ias[0].leased[0].1, expected_len, "/{requested_len}");
    }
}
