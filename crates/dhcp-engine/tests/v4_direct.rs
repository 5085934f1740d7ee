//! Clients on the server's own link: which subnet they belong to (Kea reference §5.4) and where
//! their replies go (RFC 2131 §4.1).

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use crate::common::v4::{Build, Server, kind};
use dhcp_engine::InterfaceNames;
use dhcp_engine::v4::{Destination, DropReason, Ingress};
use dhcp_wire::v4::{Message, MessageType, option};

/// The server's addresses on its two links.
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

/// A broadcast from a client without an address, over interface `interface`.
fn heard(interface: u32, local: Ipv4Addr) -> Ingress {
    let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68);
    Ingress { source: nowhere, local, interface, is_broadcast: true, door: 0 }
}

/// A datagram from `source` to the server's address on eth0.
fn sent_from(source: Ipv4Addr) -> Ingress {
    Ingress { interface: 2, ..Ingress::routed(SocketAddrV4::new(source, 68), ON_ETH0) }
}

fn direct(kind: MessageType, n: u8) -> Build {
    Build::new(kind, n).direct()
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

/// The one reply: where it goes, what it is, and `yiaddr`.
fn reply(
    server: &mut Server,
    message: &Build,
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
    let ingress = heard(2, ON_ETH0);
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
    let ingress = heard(3, ON_ETH1);
    let offers = server.send_by(0, &direct(MessageType::Discover, 1).octets(), ingress);
    let offer = Message::parse(&offers[0].1).unwrap();
    assert_eq!(offer.server_identifier(), Some(ON_ETH1));
    let wanted = direct(MessageType::Request, 1).requested(offer.yiaddr()).server(ON_ETH1);
    let expected = (in_frame(1, address(1, 10)), Some(MessageType::Ack), address(1, 10));
    assert_eq!(reply(&mut server, &wanted, ingress), expected);
}

#[test]
fn the_interface_tells_the_subnet_of_whoever_has_no_address() {
    let mut server = server();
    for (interface, local, subnet) in
        [(2, ON_ETH0, 0), (3, ON_ETH1, 1), (4, ON_ETH1, 2), (9, ON_ETH0, 0)]
    {
        let discover = direct(MessageType::Discover, 10 + interface as u8);
        let (_, _, yiaddr) = reply(&mut server, &discover, heard(interface, local));
        assert_eq!(yiaddr.octets()[2], subnet, "interface {interface}");
    }
    let elsewhere = heard(2, Ipv4Addr::new(192, 0, 2, 1));
    assert!(server.send_by(0, &direct(MessageType::Discover, 9).octets(), elsewhere).is_empty());
    assert_eq!(server.dropped(DropReason::NoSubnet), 1);
}

#[test]
fn a_datagram_to_our_address_tells_its_subnet_by_its_own() {
    let mut server = server();
    // From a client of another link, through a router: by ciaddr, then by source address.
    let renewal = direct(MessageType::Request, 1).from(address(1, 12));
    let expected = (at_client(address(1, 12)), Some(MessageType::Ack), address(1, 12));
    assert_eq!(reply(&mut server, &renewal, sent_from(address(0, 99))), expected);
    let discover = direct(MessageType::Discover, 2);
    let (_, _, yiaddr) = reply(&mut server, &discover, sent_from(address(1, 99)));
    assert_eq!(yiaddr.octets()[2], 1);
    // The same in a broadcast says nothing: the client may come from another link.
    let rebinding = direct(MessageType::Request, 3).from(address(1, 13));
    let ingress = Ingress { source: SocketAddrV4::new(address(1, 13), 68), ..heard(2, ON_ETH0) };
    assert!(server.send_by(0, &rebinding.octets(), ingress).is_empty());
    assert_eq!(server.dropped(DropReason::UnknownClient), 1);
}

#[test]
fn a_client_keeps_its_lease_by_unicast_and_by_broadcast_and_gives_it_up() {
    let mut server = server();
    let ingress = heard(2, ON_ETH0);
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
    let ingress = heard(2, ON_ETH0);
    let first = direct(MessageType::Request, 1).requested(address(0, 12)).server(ON_ETH0);
    reply(&mut server, &first, ingress);
    let other = direct(MessageType::Request, 2).from(address(0, 12));
    let expected = (Destination::Broadcast, Some(MessageType::Nak), Ipv4Addr::UNSPECIFIED);
    assert_eq!(reply(&mut server, &other, sent_from(address(0, 12))), expected);
    let mut relayed = Build::new(MessageType::Request, 2).from(address(0, 12));
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
    let named = inform.clone().from(address(0, 77));
    for ingress in [heard(2, ON_ETH0), sent_from(address(0, 76))] {
        let expected = (at_client(address(0, 77)), ack, nothing);
        assert_eq!(reply(&mut server, &named, ingress), expected);
    }
    let expected = (at_client(address(0, 76)), ack, nothing);
    assert_eq!(reply(&mut server, &inform, sent_from(address(0, 76))), expected);
    assert!(server.send_by(0, &inform.octets(), heard(2, ON_ETH0)).is_empty());
    assert_eq!(server.dropped(DropReason::NoAddress), 1);
}

#[test]
fn a_named_link_counts_more_than_the_interface() {
    let mut server = server();
    let link = address(1, 0).octets();
    let discover = direct(MessageType::Discover, 1).option(option::SUBNET_SELECTION, &link);
    assert_eq!(reply(&mut server, &discover, heard(2, ON_ETH0)).2, address(1, 10));
}
