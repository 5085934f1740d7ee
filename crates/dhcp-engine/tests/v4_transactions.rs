//! Transactions of RFC 2131 §4.3 and Kea's deviations (reference §5.3), message by message.

use std::net::Ipv4Addr;

use crate::common::v4::{Dhcp4MessageBuilder, RELAY, SERVER, SMALL, Server, Sink, kind};
use dhcp_engine::v4::{Destination, DropReason};
use dhcp_wire::v4::{Message, MessageType, option};

const OTHER_SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 99);

fn discover(n: u8) -> Dhcp4MessageBuilder {
    Dhcp4MessageBuilder::new(MessageType::Discover, n)
}

fn request(n: u8) -> Dhcp4MessageBuilder {
    Dhcp4MessageBuilder::new(MessageType::Request, n)
}

fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

#[test]
fn an_offer_carries_terms_and_options() {
    let mut server = Server::new(SMALL);
    let requested_codes = [option::ROUTER, 42, 66];
    let octets = server.ask(
        &discover(1)
            .option(option::PARAMETER_REQUEST_LIST, &requested_codes)
            .option(option::CLIENT_ID, b"\x00me")
            .option(option::RELAY_AGENT_INFORMATION, &[1, 2, 9, 9]),
    );
    let offer = Message::parse(&octets).unwrap();
    assert_eq!(offer.op(), 2);
    assert_eq!(offer.message_type(), Some(MessageType::Offer));
    assert_eq!((offer.xid(), offer.giaddr(), offer.yiaddr()), (0x1001, RELAY, address(10)));
    assert_eq!(offer.siaddr(), address(7));
    assert!(offer.sname().starts_with(b"files") && offer.file().starts_with(b"boot.bin"));
    assert_eq!(offer.server_identifier(), Some(SERVER));
    assert_eq!(offer.lease_time(), Some(1000));
    let value = |code| offer.option(code).map(|value| value.as_slice().unwrap().to_vec());
    assert_eq!(value(option::SUBNET_MASK).unwrap(), [255, 255, 255, 0]);
    assert_eq!(value(option::ROUTER).unwrap(), [10, 0, 0, 1]);
    assert_eq!(value(42).unwrap(), [10, 0, 0, 4]);
    // The server sends these without a request (Kea reference §1.4).
    assert_eq!(value(option::DOMAIN_NAME_SERVER).unwrap(), [10, 0, 0, 2, 10, 0, 0, 3]);
    assert_eq!(value(option::RENEWAL_TIME).unwrap(), 400_u32.to_be_bytes());
    assert_eq!(value(option::REBINDING_TIME).unwrap(), 800_u32.to_be_bytes());
    assert_eq!(value(option::CLIENT_ID).unwrap(), b"\x00me");
    assert_eq!(value(option::RELAY_AGENT_INFORMATION).unwrap(), [1, 2, 9, 9]);
    let last = offer.options().last().map(|(code, _)| code);
    assert_eq!(last, Some(option::RELAY_AGENT_INFORMATION));
}

/// A client or its driver repeats an option: the server accepts it if both values are equal, as in
/// Kea.
#[test]
fn a_request_that_names_its_address_and_type_twice_is_answered() {
    let mut server = Server::new(SMALL);
    server.ask(&discover(1));
    let twice = request(1).requested(address(10)).server(SERVER).requested(address(10));
    let twice = twice.option(option::MESSAGE_TYPE, &[MessageType::Request.code()]);
    let ack = server.ask(&twice.server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    assert_eq!(Message::parse(&ack).unwrap().yiaddr(), address(10));
}

/// Configured values of T1 and T2 apply in place of timers that are not set.
#[test]
fn options_58_and_59_are_sent_to_those_that_ask() {
    let text = |keys: &str, always: bool| {
        format!(
            r#"{{ "Dhcp4": {{ "interfaces-config": {{ "interfaces": [ "*" ] }}, {keys}
            "valid-lifetime": 1000, "option-data": [
                {{ "name": "dhcp-renewal-time", "data": "77", "always-send": {always} }},
                {{ "name": "dhcp-rebinding-time", "data": "88" }} ],
            "subnet4": [ {{ "id": 1, "subnet": "10.0.0.0/24",
                            "pools": [ {{ "pool": "10.0.0.10 - 10.0.0.13" }} ] }} ] }} }}"#
        )
    };
    let requesting_times = |message: Dhcp4MessageBuilder| {
        message
            .option(option::PARAMETER_REQUEST_LIST, &[option::RENEWAL_TIME, option::REBINDING_TIME])
    };
    let times = |keys: &str, always: bool, message: &Dhcp4MessageBuilder| {
        let octets = Server::new(&text(keys, always)).ask(message);
        let reply = Message::parse(&octets).unwrap();
        [option::RENEWAL_TIME, option::REBINDING_TIME]
            .map(|code| reply.option(code).map(|value| value.u32().expect("four octets, once")))
    };
    let inform = Dhcp4MessageBuilder::new(MessageType::Inform, 1).from(address(99));
    for message in
        [requesting_times(discover(1)), requesting_times(request(1)), requesting_times(inform)]
    {
        assert_eq!(times("", false, &message), [Some(77), Some(88)]);
    }
    assert_eq!(times("", false, &discover(1)), [None, None]);
    assert_eq!(times("", true, &discover(1)), [Some(77), None]);
    let own = r#""renew-timer": 100,"#;
    assert_eq!(times(own, true, &requesting_times(discover(1))), [Some(100), Some(88)]);
    let calculated = r#""calculate-tee-times": true,"#;
    assert_eq!(times(calculated, true, &requesting_times(discover(1))), [Some(500), Some(875)]);
}

#[test]
fn replies_go_to_the_relay() {
    let mut server = Server::new(SMALL);
    let replies = server.send_to(0, &discover(1).octets());
    assert_eq!(replies[0].0, Destination::Relay("10.0.0.1:67".parse().unwrap()));
}

#[test]
fn a_client_keeps_its_address_and_a_wish_is_granted_when_free() {
    let mut server = Server::new(SMALL);
    assert_eq!(server.lease(1), address(10));
    assert_eq!(server.lease(2), address(11));
    assert_eq!(server.lease(1), address(10));
    let offer = server.ask(&discover(3).requested(address(13)));
    assert_eq!(Message::parse(&offer).unwrap().yiaddr(), address(13));
    let other_offer = server.ask(&discover(4).requested(address(10)));
    assert_eq!(Message::parse(&other_offer).unwrap().yiaddr(), address(12));
    let foreign = server.ask(&discover(4).requested(Ipv4Addr::new(172, 16, 0, 1)));
    assert_eq!(Message::parse(&foreign).unwrap().yiaddr(), address(12));
}

#[test]
fn lease_times_are_kept_within_the_limits() {
    let mut server = Server::new(SMALL);
    for (requested_s, expected_s) in [(10_u32, 500), (700, 700), (u32::MAX, 2000)] {
        let offer = server.ask(&discover(1).option(option::LEASE_TIME, &requested_s.to_be_bytes()));
        assert_eq!(Message::parse(&offer).unwrap().lease_time(), Some(expected_s));
    }
}

#[test]
fn an_offered_address_is_held_and_then_lapses() {
    let mut server = Server::new(SMALL);
    let offer = server.ask(&discover(1));
    assert_eq!(Message::parse(&offer).unwrap().yiaddr(), address(10));
    let nak = server.ask(&request(2).requested(address(10)).server(SERVER));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    server.pass_s(11);
    let ack = server.ask(&request(2).requested(address(10)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
}

#[test]
fn an_exhausted_pool_breaks_the_oldest_hold_and_leaves_leases_alone() {
    let mut server = Server::new(SMALL);
    for n in 1..=3 {
        server.lease(n);
    }
    let first = server.ask(&discover(4));
    assert_eq!(Message::parse(&first).unwrap().yiaddr(), address(13));
    let second = server.ask(&discover(5));
    assert_eq!(Message::parse(&second).unwrap().yiaddr(), address(13));
    let ack = server.ask(&request(5).requested(address(13)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    let nak = server.ask(&request(4).requested(address(13)).server(SERVER));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    server.tell(&discover(6));
    assert_eq!(server.dropped(DropReason::PoolExhausted), 1);
}

#[test]
fn a_request_for_another_server_gives_the_hold_back() {
    let mut server = Server::new(SMALL);
    server.ask(&discover(1));
    server.tell(&request(1).requested(address(10)).server(OTHER_SERVER));
    let ack = server.ask(&request(2).requested(address(10)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
}

#[test]
fn init_reboot_confirms_denies_or_stays_silent() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    let ack = server.ask(&request(1).requested(address(10)));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    let wrong = server.ask(&request(1).requested(address(12)));
    assert_eq!(kind(&wrong), Some(MessageType::Nak));
    let wrong_net = server.ask(&request(1).requested(Ipv4Addr::new(172, 16, 0, 9)));
    assert_eq!(kind(&wrong_net), Some(MessageType::Nak));
    server.tell(&request(2).requested(address(12)));
    assert_eq!(server.dropped(DropReason::UnknownClient), 1);

    let authoritative =
        SMALL.replacen("\"valid-lifetime\"", "\"authoritative\": true, \"valid-lifetime\"", 1);
    let mut server = Server::new(&authoritative);
    let nak = server.ask(&request(2).requested(address(12)));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
}

#[test]
fn a_relayed_nak_asks_for_broadcast_and_carries_no_terms() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    let octets = server.ask(&request(2).requested(address(10)).server(SERVER));
    let nak = Message::parse(&octets).unwrap();
    assert_eq!(nak.message_type(), Some(MessageType::Nak));
    assert!(nak.is_broadcast());
    assert!(nak.yiaddr().is_unspecified() && nak.siaddr().is_unspecified());
    assert_eq!(nak.server_identifier(), Some(SERVER));
    assert_eq!(nak.lease_time(), None);
}

#[test]
fn a_renewal_extends_once_it_is_worth_it() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    server.pass_s(200);
    let early = server.ask(&request(1).from(address(10)));
    // 200 s are within a quarter of the lifetime: the lease is repeated, not renewed.
    assert_eq!(Message::parse(&early).unwrap().lease_time(), Some(800));
    server.pass_s(200);
    let due = server.ask(&request(1).from(address(10)));
    let due = Message::parse(&due).unwrap();
    assert_eq!(due.lease_time(), Some(1000));
    assert_eq!(due.ciaddr(), address(10));
    // Half an hour later the lease of the renewal has expired.
    server.pass_s(1001);
    assert_eq!(server.lease(2), address(11));
    let back = server.ask(&request(1).from(address(10)));
    assert_eq!(kind(&back), Some(MessageType::Ack));
}

#[test]
fn a_renewal_of_an_unknown_lease_is_served_when_the_address_is_free() {
    let mut server = Server::new(SMALL);
    let ack = server.ask(&request(1).from(address(12)));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    let nak = server.ask(&request(2).from(address(12)));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    server.tell(&request(3).from(address(99)));
    assert_eq!(server.dropped(DropReason::UnknownClient), 1);
}

#[test]
fn a_release_frees_the_address_for_others_but_is_remembered() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    server
        .tell(&Dhcp4MessageBuilder::new(MessageType::Release, 2).from(address(10)).server(SERVER));
    assert_eq!(server.dropped(DropReason::NotTheClientsLease), 1);
    server
        .tell(&Dhcp4MessageBuilder::new(MessageType::Release, 1).from(address(10)).server(SERVER));
    server.pass_s(1);
    assert_eq!(server.lease(1), address(10));
    server
        .tell(&Dhcp4MessageBuilder::new(MessageType::Release, 1).from(address(10)).server(SERVER));
    server.pass_s(1);
    let ack = server.ask(&request(2).from(address(10)));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
}

#[test]
fn a_declined_address_rests_until_its_probation_ends() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    server.tell(
        &Dhcp4MessageBuilder::new(MessageType::Decline, 1).requested(address(10)).server(SERVER),
    );
    for n in 1..=3 {
        assert_ne!(server.lease(n), address(10));
    }
    server.tell(&discover(4).requested(address(10)));
    server.pass_s(101);
    let offer = server.ask(&discover(4).requested(address(10)));
    assert_eq!(Message::parse(&offer).unwrap().yiaddr(), address(10));
}

#[test]
fn inform_gets_parameters_and_no_lease() {
    let mut server = Server::new(SMALL);
    let replies = server
        .send_to(0, &Dhcp4MessageBuilder::new(MessageType::Inform, 1).from(address(77)).octets());
    assert_eq!(replies[0].0, Destination::PastRelay("10.0.0.77:68".parse().unwrap()));
    let ack = Message::parse(&replies[0].1).unwrap();
    assert_eq!(ack.message_type(), Some(MessageType::Ack));
    assert!(ack.yiaddr().is_unspecified());
    assert_eq!(ack.lease_time(), None);
    assert!(ack.option(option::DOMAIN_NAME_SERVER).is_some());
}

#[test]
fn no_acknowledgment_leaves_before_its_row_is_safe() {
    let mut server = Server::new(SMALL);
    let offer = server.ask(&discover(1));
    assert_eq!(kind(&offer), Some(MessageType::Offer));
    server.auto_settle = false;
    let request_octets = request(1).requested(address(10)).server(SERVER).octets();
    assert!(server.send_to(0, &request_octets).is_empty());
    // The client sends again meanwhile: the server holds the message, then the next is a duplicate.
    assert!(server.send_to(0, &request_octets).is_empty());
    assert!(server.send_to(0, &request_octets).is_empty());
    assert_eq!(server.dropped(DropReason::DuplicateInFlight), 1);
    let mut sink = Sink::default();
    server.settle(&mut sink);
    server.settle(&mut sink);
    // The replies are the ACK, then the held message's repeated ACK.
    assert_eq!(sink.0.len(), 2);
    assert!(sink.0.iter().all(|(_, reply)| kind(reply) == Some(MessageType::Ack)));
    assert!(server.shards[0].is_idle());
}

#[test]
fn an_unsettled_release_is_not_free() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    server.auto_settle = false;
    server
        .tell(&Dhcp4MessageBuilder::new(MessageType::Release, 1).from(address(10)).server(SERVER));
    server.pass_s(1);
    let replies = server.send_to(0, &request(2).requested(address(10)).server(SERVER).octets());
    // A NAK reads the slot, so even it waits for the release's row.
    assert!(replies.is_empty());
    let mut sink = Sink::default();
    server.settle(&mut sink);
    assert_eq!(kind(&sink.0[0].1), Some(MessageType::Nak));
    server.pass_s(1);
    server.auto_settle = true;
    let ack = server.ask(&request(2).requested(address(10)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
}

/// Sends a RELEASE of the only address of a pool, then `message` of the same client before the
/// release is durable. Returns the kind and address of the reply.
fn reply_while_releasing(message: &[u8]) -> (Option<MessageType>, Ipv4Addr) {
    let mut server = Server::new(&SMALL.replace("10.0.0.10 - 10.0.0.13", "10.0.0.10/32"));
    server.lease(1);
    server.auto_settle = false;
    server
        .tell(&Dhcp4MessageBuilder::new(MessageType::Release, 1).from(address(10)).server(SERVER));
    server.pass_s(1);
    assert!(server.send_to(0, message).is_empty());
    let mut sink = Sink::default();
    server.settle(&mut sink);
    server.settle(&mut sink);
    assert_eq!(sink.0.len(), 1);
    (kind(&sink.0[0].1), Message::parse(&sink.0[0].1).unwrap().yiaddr())
}

#[test]
fn a_client_gets_the_address_again_that_it_has_just_released() {
    let offer = reply_while_releasing(&discover(1).octets());
    assert_eq!(offer, (Some(MessageType::Offer), address(10)));
    let any = reply_while_releasing(&request(1).octets());
    assert_eq!(any.1, address(10));
}

#[test]
fn a_client_is_in_flight_across_shards() {
    let mut server = Server::with_shards(SMALL, 2);
    server.ask(&discover(1));
    server.auto_settle = false;
    let request_octets = request(1).requested(address(10)).server(SERVER).octets();
    assert!(server.send_to(0, &request_octets).is_empty());
    assert!(server.send_to(1, &request_octets).is_empty());
    assert!(server.send_to(1, &request_octets).is_empty());
    assert_eq!(server.dropped(DropReason::DuplicateInFlight), 1);
    let mut sink = Sink::default();
    server.settle(&mut sink);
    server.settle(&mut sink);
    assert_eq!(sink.0.len(), 2);
    assert!(server.shards.iter().all(|shard| shard.is_idle()));
}

#[test]
fn strangers_are_counted_by_reason() {
    let mut server = Server::new(SMALL);
    let mut reply = discover(1);
    reply.header.op = 2;
    server.tell(&reply);
    let mut elsewhere = discover(1);
    elsewhere.header.giaddr = Ipv4Addr::new(172, 16, 0, 1);
    server.tell(&elsewhere);
    server.tell(&Dhcp4MessageBuilder::new(MessageType::Offer, 1));
    let mut nobody = discover(1);
    nobody.header.hlen = 0;
    server.tell(&nobody);
    for reason in [
        DropReason::NotARequest,
        DropReason::NoSubnet,
        DropReason::UnexpectedMessageType,
        DropReason::NoIdentity,
    ] {
        assert_eq!(server.dropped(reason), 1, "{}", reason.name());
    }
    assert!(server.send_to(0, b"not DHCP").is_empty());
    assert_eq!(server.counters[0].malformed_total(), 1);
}
