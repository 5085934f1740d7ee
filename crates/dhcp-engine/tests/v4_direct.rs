//! Clients on the server's own link: their subnets (Kea reference §5.4) and the destinations of
//! their replies (RFC 2131 §4.1).

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use crate::common::v4::{Dhcp4MessageBuilder, Server, kind};
use dhcp_engine::InterfaceNames;
use dhcp_engine::v4::{Destination, DropReason, Ingress};
use dhcp_wire::v4::{Message, MessageType, option};

/// Addresses of the server on its two links.
const ON_ETH0: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const ON_ETH1: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);

const TWO_LINKS: &str = r#"{ "Dhcp4": {
    "interfaces-config": { "interfaces": [ "*" ] },
    "valid-lifetime": 1000, "authoritative": true,
    "subnet4": [
        { "id": 1, "subnet": "10.0.0.0/24", "pools": [ { "pool": "10.0.0.10 - 10.0.0.13" } ] },
        { "id": 2, "subnet": "10.0.1.0/24", "pools": [ { "pool": "10.0.1.10 - 10.0.1.13" } ] },
        { "id": 3, "subnet": "10.0.2.0/24", "interface": "eth2",
          "pools": [ { "pool": "10.0.2.10 - 10.0.2.13" } ] } ]
} }"#;

fn server() -> Server {
    let mut server = Server::new(TWO_LINKS);
    let names = InterfaceNames::new([(2, "eth0"), (3, "eth1"), (4, "eth2")]);
    server.shards[0].set_interfaces(Arc::new(names));
    server
}

/// Returns the ingress of a broadcast from a client without an address, over interface `interface`.
fn ingress_at(interface: u32, local: Ipv4Addr) -> Ingress {
    let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68);
    Ingress { source: nowhere, local, interface, is_broadcast: true, listener_index: 0, mac: None }
}

/// Returns the ingress of a datagram from `source` to the server's address on eth0.
fn sent_from(source: Ipv4Addr) -> Ingress {
    Ingress { interface: 2, ..Ingress::routed(SocketAddrV4::new(source, 68), ON_ETH0) }
}

fn direct(kind: MessageType, n: u8) -> Dhcp4MessageBuilder {
    Dhcp4MessageBuilder::new(kind, n).direct()
}

fn address(subnet: u8, last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, subnet, last)
}

fn at_client(address: Ipv4Addr) -> Destination {
    Destination::Client(SocketAddrV4::new(address, 68))
}

fn in_frame(n: u8, address: Ipv4Addr) -> Destination {
    let address = SocketAddrV4::new(address, 68);
    Destination::Hardware { mac: [2, 0, 0, 0, 0, n], address }
}

/// Returns destination, message type and `yiaddr` of the one reply.
fn reply(
    server: &mut Server,
    message: &Dhcp4MessageBuilder,
    ingress: Ingress,
) -> (Destination, Option<MessageType>, Ipv4Addr) {
    let mut replies = server.send_by(0, &message.octets(), ingress);
    assert_eq!(replies.len(), 1, "{:?}", server.counters[0].entries().collect::<Vec<_>>());
    let (destination, octets) = replies.remove(0);
    let yiaddr = Message::parse(&octets).expect("a reply parses").yiaddr();
    (destination, kind(&octets), yiaddr)
}

#[test]
fn a_client_without_an_address_is_answered_in_a_frame_or_by_broadcast_as_it_asks() {
    let mut server = server();
    let offer = Some(MessageType::Offer);
    let ingress = ingress_at(2, ON_ETH0);
    let quiet = direct(MessageType::Discover, 1);
    let expected = (in_frame(1, address(0, 10)), offer, address(0, 10));
    assert_eq!(reply(&mut server, &quiet, ingress), expected);
    let mut loud = direct(MessageType::Discover, 2);
    loud.header.flags = 0x8000;
    assert_eq!(reply(&mut server, &loud, ingress).0, Destination::Broadcast);
    let mut token_ring = direct(MessageType::Discover, 3);
    token_ring.header.htype = 6;
    assert_eq!(reply(&mut server, &token_ring, ingress).0, Destination::Broadcast);
    let mut long = direct(MessageType::Discover, 4);
    long.header.hlen = 8;
    assert_eq!(reply(&mut server, &long, ingress).0, Destination::Broadcast);
}

#[test]
fn an_exchange_names_the_interfaces_address_as_the_server() {
    let mut server = server();
    let ingress = ingress_at(3, ON_ETH1);
    let offers = server.send_by(0, &direct(MessageType::Discover, 1).octets(), ingress);
    let offer = Message::parse(&offers[0].1).unwrap();
    assert_eq!(offer.server_identifier(), Some(ON_ETH1));
    let request_message = direct(MessageType::Request, 1).requested(offer.yiaddr()).server(ON_ETH1);
    let expected = (in_frame(1, address(1, 10)), Some(MessageType::Ack), address(1, 10));
    assert_eq!(reply(&mut server, &request_message, ingress), expected);
}

#[test]
fn the_interface_tells_the_subnet_of_whoever_has_no_address() {
    let mut server = server();
    for (interface, local, subnet) in
        [(2, ON_ETH0, 0), (3, ON_ETH1, 1), (4, ON_ETH1, 2), (9, ON_ETH0, 0)]
    {
        let discover = direct(MessageType::Discover, 10 + interface as u8);
        let (_, _, yiaddr) = reply(&mut server, &discover, ingress_at(interface, local));
        assert_eq!(yiaddr.octets()[2], subnet, "interface {interface}");
    }
    let elsewhere = ingress_at(2, Ipv4Addr::new(192, 0, 2, 1));
    assert!(server.send_by(0, &direct(MessageType::Discover, 9).octets(), elsewhere).is_empty());
    assert_eq!(server.dropped(DropReason::NoSubnet), 1);
}

#[test]
fn a_datagram_to_our_address_tells_its_subnet_by_its_own() {
    let mut server = server();
    // These come from a client of another link, through a router: the subnet follows from ciaddr,
    // then from the source address.
    let renewal = direct(MessageType::Request, 1).from(address(1, 12));
    let expected = (at_client(address(1, 12)), Some(MessageType::Ack), address(1, 12));
    assert_eq!(reply(&mut server, &renewal, sent_from(address(0, 99))), expected);
    let discover = direct(MessageType::Discover, 2);
    let (_, _, yiaddr) = reply(&mut server, &discover, sent_from(address(1, 99)));
    assert_eq!(yiaddr.octets()[2], 1);
    // In a broadcast the address proves nothing: the client may come from another link.
    let rebinding = direct(MessageType::Request, 3).from(address(1, 13));
    let ingress =
        Ingress { source: SocketAddrV4::new(address(1, 13), 68), ..ingress_at(2, ON_ETH0) };
    assert!(server.send_by(0, &rebinding.octets(), ingress).is_empty());
    assert_eq!(server.dropped(DropReason::UnknownClient), 1);
}

#[test]
fn a_client_keeps_its_lease_by_unicast_and_by_broadcast_and_gives_it_up() {
    let mut server = server();
    let ingress = ingress_at(2, ON_ETH0);
    let boot = direct(MessageType::Request, 1).requested(address(0, 12));
    assert_eq!(reply(&mut server, &boot, ingress).1, Some(MessageType::Nak));
    let select = direct(MessageType::Request, 1).requested(address(0, 12)).server(ON_ETH0);
    assert_eq!(reply(&mut server, &select, ingress).0, in_frame(1, address(0, 12)));
    let keep = direct(MessageType::Request, 1).from(address(0, 12));
    let rebinding = Ingress { source: SocketAddrV4::new(address(0, 12), 68), ..ingress };
    for ingress in [sent_from(address(0, 12)), rebinding] {
        let expected = (at_client(address(0, 12)), Some(MessageType::Ack), address(0, 12));
        assert_eq!(reply(&mut server, &keep, ingress), expected);
    }
    let release = direct(MessageType::Release, 1).from(address(0, 12)).server(ON_ETH0);
    assert!(server.send_by(0, &release.octets(), sent_from(address(0, 12))).is_empty());
    server.pass_s(1);
    let select = direct(MessageType::Request, 2).requested(address(0, 12)).server(ON_ETH0);
    assert_eq!(reply(&mut server, &select, ingress).1, Some(MessageType::Ack));
    let decline = direct(MessageType::Decline, 2).requested(address(0, 12)).server(ON_ETH0);
    assert!(server.send_by(0, &decline.octets(), ingress).is_empty());
    server.pass_s(1);
    let select = direct(MessageType::Request, 3).requested(address(0, 12)).server(ON_ETH0);
    assert_eq!(reply(&mut server, &select, ingress).1, Some(MessageType::Nak));
}

#[test]
fn a_refusal_is_for_all_stations_even_when_the_client_names_an_address() {
    let mut server = server();
    let ingress = ingress_at(2, ON_ETH0);
    let first = direct(MessageType::Request, 1).requested(address(0, 12)).server(ON_ETH0);
    reply(&mut server, &first, ingress);
    let other = direct(MessageType::Request, 2).from(address(0, 12));
    let expected = (Destination::Broadcast, Some(MessageType::Nak), Ipv4Addr::UNSPECIFIED);
    assert_eq!(reply(&mut server, &other, sent_from(address(0, 12))), expected);
    let mut relayed = Dhcp4MessageBuilder::new(MessageType::Request, 2).from(address(0, 12));
    relayed.header.giaddr = address(0, 2);
    let (destination, ..) = reply(&mut server, &relayed, sent_from(address(0, 2)));
    assert_eq!(destination, Destination::Relay(SocketAddrV4::new(address(0, 2), 67)));
}

#[test]
fn parameters_go_to_the_address_that_the_client_has() {
    let mut server = server();
    let ack = Some(MessageType::Ack);
    let nothing = Ipv4Addr::UNSPECIFIED;
    let inform = direct(MessageType::Inform, 1);
    let with_address = inform.clone().from(address(0, 77));
    for ingress in [ingress_at(2, ON_ETH0), sent_from(address(0, 76))] {
        let expected = (at_client(address(0, 77)), ack, nothing);
        assert_eq!(reply(&mut server, &with_address, ingress), expected);
    }
    let expected = (at_client(address(0, 76)), ack, nothing);
    assert_eq!(reply(&mut server, &inform, sent_from(address(0, 76))), expected);
    assert!(server.send_by(0, &inform.octets(), ingress_at(2, ON_ETH0)).is_empty());
    assert_eq!(server.dropped(DropReason::NoAddress), 1);
}

#[test]
fn a_named_link_counts_more_than_the_interface() {
    let mut server = server();
    let link = address(1, 0).octets();
    let discover = direct(MessageType::Discover, 1).option(option::SUBNET_SELECTION, &link);
    assert_eq!(reply(&mut server, &discover, ingress_at(2, ON_ETH0)).2, address(1, 10));
}

/// Returns messages of every type that a client sends.
fn of_every_type(n: u8, server: Ipv4Addr) -> Vec<Dhcp4MessageBuilder> {
    let at = address(0, 12);
    vec![
        direct(MessageType::Discover, n),
        direct(MessageType::Request, n),
        direct(MessageType::Request, n).requested(at),
        direct(MessageType::Request, n).requested(at).server(server),
        direct(MessageType::Request, n).from(at),
        direct(MessageType::Inform, n).from(at),
        direct(MessageType::Release, n).from(at).server(server),
        direct(MessageType::Decline, n).requested(at).server(server),
    ]
}

#[test]
fn a_broadcast_from_a_client_that_no_subnet_fits_is_dropped_without_a_word() {
    const GUARDED: &str = r#"{ "Dhcp4": {
        "interfaces-config": { "interfaces": [ "*" ] }, "authoritative": true,
        "client-classes": [ { "name": "mine", "test": "option[60].text == 'mine'" } ],
        "subnet4": [ { "id": 1, "subnet": "10.0.0.0/24", "client-classes": [ "mine" ],
                       "pools": [ { "pool": "10.0.0.10 - 10.0.0.13" } ] } ] } }"#;
    let elsewhere = ingress_at(2, Ipv4Addr::new(192, 0, 2, 1));
    // The last client names a link that has no subnet.
    let cases = [
        (TWO_LINKS, elsewhere, false),
        (GUARDED, ingress_at(2, ON_ETH0), false),
        (TWO_LINKS, ingress_at(2, ON_ETH0), true),
    ];
    for (config, ingress, names_link) in cases {
        let mut server = Server::new(config);
        let from_client = Ingress { source: SocketAddrV4::new(address(0, 12), 68), ..ingress };
        let mut sent = 0;
        for message in of_every_type(1, ingress.local) {
            let link = [172, 16, 0, 0];
            let message =
                if names_link { message.option(option::SUBNET_SELECTION, &link) } else { message };
            for ingress in [ingress, from_client] {
                let replies = server.send_by(0, &message.octets(), ingress);
                assert!(replies.is_empty(), "{:?}", kind(&replies[0].1));
                sent += 1;
            }
        }
        assert_eq!(server.dropped(DropReason::NoSubnet), sent);
    }
}

#[test]
fn a_relayed_inform_without_a_subnet_is_answered_with_what_classes_say_of_booting() {
    let mut server = Server::new(
        r#"{ "Dhcp4": { "interfaces-config": { "interfaces": [ "*" ] },
            "client-classes": [ { "name": "all", "test": "pkt4.msgtype == 8",
                "next-server": "10.0.0.77", "boot-file-name": "boot", "server-hostname": "host" } ],
            "subnet4": [ { "id": 1, "subnet": "10.9.0.0/24" } ] } }"#,
    );
    let mut inform = Dhcp4MessageBuilder::new(MessageType::Inform, 1);
    inform.header.giaddr = address(0, 2);
    let replies = server.send_by(0, &inform.octets(), sent_from(address(0, 2)));
    let reply = Message::parse(&replies[0].1).unwrap();
    assert_eq!(reply.siaddr(), Ipv4Addr::new(10, 0, 0, 77));
    assert!(replies[0].1[44..].starts_with(b"host\0"));
    assert!(replies[0].1[108..].starts_with(b"boot\0"));
}

#[test]
fn nothing_is_said_where_we_have_no_address_to_be_known_by() {
    let mut server = server();
    let ingress = ingress_at(4, Ipv4Addr::UNSPECIFIED);
    let messages = of_every_type(1, ON_ETH0);
    for message in &messages {
        assert!(server.send_by(0, &message.octets(), ingress).is_empty());
    }
    assert_eq!(server.dropped(DropReason::NoOwnAddress), messages.len() as u64);
}

/// Returns a server whose options together are longer than a frame, and a client's list of them.
fn verbose_server() -> (Server, Vec<u8>) {
    let long = |code: u8| {
        let data = "0123456789".repeat(if code < 230 { 3 } else { 40 });
        format!(
            "{{ \"code\": {code}, \"space\": \"dhcp4\", \"csv-format\": false, \"data\": \"{data}\" }}"
        )
    };
    let codes: Vec<u8> = (224..240).collect();
    let data: Vec<String> = codes.iter().map(|&code| long(code)).collect();
    let server = Server::new(&format!(
        r#"{{ "Dhcp4": {{ "interfaces-config": {{ "interfaces": [ "*" ] }}, "valid-lifetime": 1000,
            "option-data": [ {{ "name": "routers", "data": "10.0.0.1" }},
                {{ "name": "domain-name-servers", "data": "10.0.0.2" }}, {} ],
            "subnet4": [ {{ "id": 1, "subnet": "10.0.0.0/16",
                            "pools": [ {{ "pool": "10.0.4.0 - 10.0.9.255" }} ] }} ] }} }}"#,
        data.join(", ")
    ));
    // The client requests the most important options last.
    let requested_codes = codes.into_iter().rev().chain([3, 6, 1]).collect();
    (server, requested_codes)
}

#[test]
fn where_not_all_options_fit_those_that_matter_go_out_and_the_rest_is_counted() {
    let (mut server, requested_codes) = verbose_server();
    let mut shortened = 0;
    for (n, maximum) in
        [None, Some(0), Some(576), Some(800), Some(1200), Some(9000)].iter().enumerate()
    {
        for is_relayed in [false, true] {
            for id_len in [0, 20, 200] {
                let mut discover = Dhcp4MessageBuilder::new(MessageType::Discover, n as u8);
                let ingress = sent_from(address(0, 2));
                if is_relayed {
                    discover.header.giaddr = address(0, 2);
                } else {
                    discover = discover.direct();
                }
                discover = discover.option(option::PARAMETER_REQUEST_LIST, &requested_codes);
                if let Some(maximum) = maximum {
                    let maximum: u16 = *maximum;
                    discover = discover.option(57, &maximum.to_be_bytes());
                }
                if id_len > 0 {
                    discover = discover.option(option::CLIENT_ID, &vec![7; id_len]);
                }
                if is_relayed {
                    let circuit: Vec<u8> = [1, 60].into_iter().chain([9; 60]).collect();
                    discover = discover.option(option::RELAY_AGENT_INFORMATION, &circuit);
                }
                let ingress = if is_relayed { ingress } else { ingress_at(2, ON_ETH0) };
                let replies = server.send_by(0, &discover.octets(), ingress);
                let case = format!("{maximum:?} {is_relayed} {id_len}");
                let octets = &replies.first().expect(&case).1;
                let allowed = maximum.map_or(1472, |most| usize::from(most).max(576) - 28);
                assert!(octets.len() <= allowed.min(1472), "{case}: {}", octets.len());
                let reply = Message::parse(octets).unwrap();
                for code in [1, 3, 6, 51, 53, 54] {
                    assert!(reply.option(code).is_some(), "{case}: {code}");
                }
                assert_eq!(reply.option(82).is_some(), is_relayed, "{case}");
                assert_eq!(reply.option(61).is_some(), id_len > 0, "{case}");
                // The other options in the reply are the first that fit, in the client's order.
                let has = |code: &u8| reply.option(*code).is_some();
                let missing = requested_codes.iter().filter(|code| !has(code)).count();
                assert!(missing > 0, "{case}");
                shortened += 1;
            }
        }
    }
    let counted = server.counters[0].omissions().find(|(name, _)| *name == "options-left-out");
    assert_eq!(counted, Some(("options-left-out", shortened)));
}

/// Kea orders subnets by their ids: of those that fit, it takes the lowest one.
#[test]
fn of_subnets_that_fit_the_lowest_id_is_taken() {
    let one = |id: u32, fits: &str| {
        format!(
            r#"{{ "id": {id}, "subnet": "10.0.{id}.0/24", {fits}
                "pools": [ {{ "pool": "10.0.{id}.10 - 10.0.{id}.13" }} ] }}"#
        )
    };
    let on_eth0 = r#""interface": "eth0","#;
    let guarded = r#""interface": "eth0", "client-classes": [ "KNOWN" ],"#;
    let network = |name: &str, subnets: &[String]| {
        let subnets = subnets.join(",");
        format!(r#"{{ "name": "{name}", {on_eth0} "subnet4": [ {subnets} ] }}"#)
    };
    let inside = r#""client-classes": [ "KNOWN" ],"#;
    for [first, last] in [[22, 3], [3, 22]] {
        let alone = [one(first, on_eth0), one(2, guarded), one(last, on_eth0)].join(",");
        let shared = network("n", &[one(first, ""), one(2, inside), one(last, "")]);
        let [m, n] = [(first, "m"), (last, "n")].map(|(id, name)| {
            let other = if id == 3 { one(2, inside) } else { one(id + 1, "") };
            network(name, &[one(id, ""), other])
        });
        for subnets in [
            format!(r#""subnet4": [ {alone} ]"#),
            format!(r#""shared-networks": [ {shared} ]"#),
            format!(r#""shared-networks": [ {m}, {n} ]"#),
        ] {
            let text = format!(
                r#"{{ "Dhcp4": {{ "interfaces-config": {{ "interfaces": [ "*" ] }}, {subnets} }} }}"#
            );
            let mut server = Server::new(&text);
            server.shards[0].set_interfaces(Arc::new(InterfaceNames::new([(2, "eth0")])));
            let discover = direct(MessageType::Discover, 1).octets();
            let sent = server.send_by(0, &discover, ingress_at(2, ON_ETH0));
            let offer = Message::parse(&sent[0].1).expect("an offer");
            assert_eq!(offer.yiaddr(), address(3, 10), "{subnets}");
        }
    }
}
