//! Registration of addresses by their users (RFC 9686).

use crate::common;
use std::net::Ipv6Addr;

use crate::common::v6::{CLIENT, Dhcp6MessageBuilder, ParsedDhcp6Reply, Server, address, direct};
use dhcp_engine::v6::{DropReason, Ingress};
use dhcp_lease::LeaseState;
use dhcp_lease::v6::Lease;
use dhcp_wire::v6::{MessageType, option};

const TEXT: &str = r#"{ "Dhcp6": {
    "interfaces-config": { "interfaces": [ "*" ] },
    "option-data": [ { "name": "addr-reg-enable" } ],
    "subnet6": [ { "id": 1, "subnet": "2001:db8:1::/64", "interface": "eth0",
        "pools": [ { "pool": "2001:db8:1::10-2001:db8:1::13" } ],
        "reservations": [ { "duid": "01:02:03", "ip-addresses": [ "2001:db8:1::77" ] } ] } ] } }"#;

fn iaaddr(address: Ipv6Addr) -> Vec<u8> {
    [&address.octets()[..], &[0, 0, 0, 100], &[0, 0, 0, 200]].concat()
}

fn inform(n: u16, address: Ipv6Addr) -> Dhcp6MessageBuilder {
    Dhcp6MessageBuilder::new(MessageType::AddrRegInform, n)
        .option(option::IAADDR, &iaaddr(address))
        .direct()
}

/// Sends a message from `source` on the link.
fn send(
    server: &mut Server,
    source: Ipv6Addr,
    message: &Dhcp6MessageBuilder,
) -> Option<ParsedDhcp6Reply> {
    let mut ingress: Ingress = direct(0);
    ingress.source.set_ip(source);
    let sent = server.send_by(0, &message.octets(), ingress);
    sent.first().map(|(_, octets)| ParsedDhcp6Reply::parse(octets))
}

fn leases(server: &Server) -> Vec<Lease> {
    let mut leases = Vec::new();
    server.table.for_each_lease(|lease| leases.push(lease));
    leases
}

#[test]
fn an_address_is_registered_for_its_last_user() {
    let mut server = Server::new(TEXT);
    let own = address(0xabcd);
    let message = inform(1, own).wants(&[option::DNS_SERVERS]);
    let reply = send(&mut server, own, &message.option(option::CLIENT_FQDN, b"\0\x03foo\0"));
    let reply = reply.expect("it is answered");
    assert_eq!(reply.kind, MessageType::AddrRegReply);
    assert_eq!(reply.option(option::IAADDR), Some(&iaaddr(own)[..]));
    assert_eq!(reply.option(option::CLIENTID), Some(&common::v6::duid(1)[..]));
    assert!(reply.option(option::SERVERID).is_some());
    let [lease] = &leases(&server)[..] else { panic!("one lease") };
    assert_eq!((lease.address.address, lease.state), (own, LeaseState::Registered));
    assert_eq!((lease.extra.preferred_lifetime_s, lease.valid_lifetime_s), (100, 200));
    assert_eq!((&*lease.hostname, lease.client.iaid, lease.subnet_id), ("foo.", 0, 1));

    assert!(send(&mut server, own, &inform(2, own)).is_some());
    let [lease] = &leases(&server)[..] else { panic!("one lease") };
    assert_eq!(lease.client.duid.octets(), common::v6::duid(2));
    assert_eq!(server.counters[0].sent_total(), 2);
}

#[test]
fn what_cannot_be_registered_is_not_answered() {
    let mut server = Server::new(TEXT);
    let leased = server.lease(3);
    let own = address(0xabcd);
    for (source, message) in [
        (own, inform(1, address(0xabce))),
        (CLIENT, inform(1, own)),
        ("2001:db8:2::1".parse().unwrap(), inform(1, "2001:db8:2::1".parse().unwrap())),
        (address(0x77), inform(1, address(0x77))),
        (leased, inform(1, leased)),
        (own, inform(1, own).option(option::IAADDR, &iaaddr(own))),
        (own, Dhcp6MessageBuilder::new(MessageType::AddrRegInform, 1).direct()),
    ] {
        assert!(send(&mut server, source, &message).is_none());
    }
    // Messages from links that are not served count as such.
    let invalid = server.dropped(DropReason::InvalidRegistration);
    let unserved = server.dropped(DropReason::NoSubnet);
    assert_eq!((invalid, unserved), (5, 2));
    assert!(send(&mut server, own, &inform(1, own).na(1, &[])).is_none());
    assert_eq!(server.dropped(DropReason::UnexpectedAssociation), 1);
    assert!(send(&mut server, own, &inform(1, own).for_us()).is_none());
    assert_eq!(leases(&server).len(), 1);

    let off =
        TEXT.replace("\"option-data\"", "\"allow-address-registration\": false, \"option-data\"");
    server.reload(&off);
    assert!(send(&mut server, own, &inform(1, own)).is_none());
    assert_eq!(server.dropped(DropReason::Filtered), 1);
}

#[test]
fn clients_that_ask_learn_that_they_may_register() {
    let mut server = Server::new(TEXT);
    let asking = Dhcp6MessageBuilder::new(MessageType::InformationRequest, 1).wants(&[148]);
    assert_eq!(server.ask(&asking).option(148), Some(&[][..]));
}

#[test]
fn a_registered_address_is_nobodys_lease() {
    let mut server = Server::new(TEXT);
    let own = address(0x10);
    assert!(send(&mut server, own, &inform(1, own)).is_some());
    assert_ne!(server.lease(2), own);
    assert_ne!(server.lease(1), own);
}
