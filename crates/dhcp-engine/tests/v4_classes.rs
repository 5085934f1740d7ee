//! Client classes in DHCPv4: the time of their evaluation, the clients that guards admit, the
//! options of members (Kea reference §1.4, §2.2, §2.3).

use std::net::Ipv4Addr;

use crate::common::v4::{Dhcp4MessageBuilder, SERVER, Server, kind};
use dhcp_engine::v4::DropReason;
use dhcp_wire::v4::{Message, MessageType, option};

/// Returns a configuration with one network of two subnets and a subnet outside of it, where
/// `classes` are evaluated; `keys` come after them.
fn configuration(classes: &str, first: &str, second: &str, pool: &str) -> String {
    format!(
        r#"{{ "Dhcp4": {{
        "interfaces-config": {{ "interfaces": [ "*" ], "dhcp-socket-type": "udp" }},
        "valid-lifetime": 1000, "cache-threshold": 0.0,
        "next-server": "10.0.0.7", "boot-file-name": "subnet.bin",
        "option-data": [ {{ "name": "ntp-servers", "data": "10.9.9.9" }} ],
        "client-classes": [ {classes} ],
        "shared-networks": [ {{ "name": "link", "subnet4": [
            {{ "id": 1, "subnet": "10.0.0.0/24", {first}
               "pools": [ {{ "pool": "10.0.0.10 - 10.0.0.11" }} ] }},
            {{ "id": 2, "subnet": "10.0.1.0/24", {second}
               "pools": [ {{ "pool": "10.0.1.10 - 10.0.1.11" {pool} }},
                          {{ "pool": "10.0.1.20 - 10.0.1.21" }} ] }} ] }} ]
    }} }}"#
    )
}

fn message(kind: MessageType, n: u8, class: &str) -> Dhcp4MessageBuilder {
    Dhcp4MessageBuilder::new(kind, n).option(option::VENDOR_CLASS_IDENTIFIER, class.as_bytes())
}

fn discover(n: u8, class: &str) -> Dhcp4MessageBuilder {
    message(MessageType::Discover, n, class)
}

fn request(n: u8, class: &str) -> Dhcp4MessageBuilder {
    message(MessageType::Request, n, class)
}

fn leased_address(octets: &[u8]) -> Ipv4Addr {
    Message::parse(octets).expect("a reply parses").yiaddr()
}

fn value(octets: &[u8], code: u8) -> Option<Vec<u8>> {
    let message = Message::parse(octets).expect("a reply parses");
    message.option(code).map(|value| value.octets().collect())
}

const GOLD: &str = r#"{ "name": "gold", "test": "option[60].text == 'gold'" }"#;

#[test]
fn guards_turn_selection_and_pools_to_what_is_open() {
    let guarded = r#""client-classes": [ "gold" ],"#;
    let mut server = Server::new(&configuration(GOLD, guarded, "", ""));
    assert_eq!(leased_address(&server.ask(&discover(1, "gold"))), Ipv4Addr::new(10, 0, 0, 10));
    // The relay agent is in the first subnet, which is not for other clients: no subnet contains
    // it.
    server.tell(&discover(2, "tin"));
    assert_eq!(server.dropped(DropReason::NoSubnet), 1);

    let pool = r#", "client-classes": [ "gold" ]"#;
    let mut server = Server::new(&configuration(GOLD, "", "", pool));
    let order: Vec<Ipv4Addr> =
        (1..=5).map(|n| leased_address(&server.ask(&discover(n, "tin")))).collect();
    let expected = [[0, 10], [0, 11], [1, 20], [1, 21]].map(|[s, n]| Ipv4Addr::new(10, 0, s, n));
    assert_eq!(order[..4], expected);
    // All addresses are held now, and the oldest hold is broken, but the pool of other clients
    // stays untouched.
    assert_eq!(order[4], expected[0]);
    let nak = server.ask(&request(6, "tin").requested(Ipv4Addr::new(10, 0, 1, 10)).server(SERVER));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    let ack = server.ask(&request(7, "gold").requested(Ipv4Addr::new(10, 0, 1, 10)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    // A client that has left the class loses the address with the next renewal.
    let nak = server.ask(&request(7, "tin").from(Ipv4Addr::new(10, 0, 1, 10)));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
}

#[test]
fn a_client_of_no_open_pool_fails_for_lack_of_pools() {
    let nobody = r#""client-classes": [ "silver" ],"#;
    let pool = r#", "client-classes": [ "silver" ]"#;
    let classes = r#"{ "name": "silver", "test": "option[60].text == 'silver'" }"#;
    let text = configuration(classes, "", nobody, pool).replacen(
        "10.0.0.10 - 10.0.0.11",
        "10.0.0.10/32",
        1,
    );
    let text = text.replacen(
        r#""pool": "10.0.0.10/32""#,
        r#""pool": "10.0.0.10/32", "client-classes": [ "silver" ]"#,
        1,
    );
    let mut server = Server::new(&text);
    server.tell(&discover(1, "tin"));
    let events = server.counters[0].statistics();
    let count = |name: &str| events.iter().find(|(other, _)| other == name).unwrap().1;
    assert_eq!(count("v4-allocation-fail-no-pools"), 1);
    assert_eq!(count("v4-allocation-fail"), 0);
    assert_eq!(count("v4-allocation-fail-shared-network"), 1);
}

#[test]
fn members_get_the_lifetimes_options_and_fields_of_the_first_class_that_has_any() {
    let classes = r#"
        { "name": "one", "test": "option[60].text == 'gold'", "valid-lifetime": 300,
          "boot-file-name": "one.bin" },
        { "name": "two", "test": "member('one')", "valid-lifetime": 200, "min-valid-lifetime": 100,
          "next-server": "10.0.0.8", "boot-file-name": "two.bin", "server-hostname": "files",
          "option-data": [ { "name": "ntp-servers", "data": "10.2.2.2" },
                           { "name": "log-servers", "data": "10.2.2.3", "always-send": true } ] }"#;
    let mut server = Server::new(&configuration(classes, "", "", ""));
    let requested_codes = [option::NETWORK_TIME_PROTOCOL_SERVERS];
    let asking =
        |class| discover(1, class).option(option::PARAMETER_REQUEST_LIST, &requested_codes);
    let octets = server.ask(&asking("gold"));
    let offer = Message::parse(&octets).unwrap();
    assert_eq!(offer.lease_time(), Some(300));
    assert_eq!((offer.siaddr(), offer.file()), (Ipv4Addr::new(10, 0, 0, 8), &b"one.bin"[..]));
    assert_eq!(offer.sname(), b"files");
    assert_eq!(value(&octets, option::NETWORK_TIME_PROTOCOL_SERVERS).unwrap(), [10, 2, 2, 2]);
    assert_eq!(value(&octets, option::LOG_SERVER).unwrap(), [10, 2, 2, 3]);
    let octets = server.ask(&asking("tin"));
    let offer = Message::parse(&octets).unwrap();
    assert_eq!(offer.lease_time(), Some(1000));
    assert_eq!((offer.siaddr(), offer.file()), (Ipv4Addr::new(10, 0, 0, 7), &b"subnet.bin"[..]));
    assert_eq!(value(&octets, option::NETWORK_TIME_PROTOCOL_SERVERS).unwrap(), [10, 9, 9, 9]);
    assert_eq!(value(&octets, option::LOG_SERVER), None);
}

#[test]
fn additional_classes_come_last_and_only_where_they_are_named() {
    let classes = r#"
        { "name": "extra", "only-in-additional-list": true, "valid-lifetime": 1,
          "boot-file-name": "extra.bin",
          "option-data": [ { "name": "ntp-servers", "data": "10.3.3.3" } ] },
        { "name": "gold", "test": "option[60].text == 'gold'", "boot-file-name": "gold.bin",
          "option-data": [ { "name": "ntp-servers", "data": "10.4.4.4" } ] }"#;
    let first = r#""evaluate-additional-classes": [ "extra" ],"#;
    let mut server = Server::new(&configuration(classes, first, "", ""));
    let requested_codes = [option::NETWORK_TIME_PROTOCOL_SERVERS];
    let mut answer_of = |n, class| {
        let octets = server
            .ask(&discover(n, class).option(option::PARAMETER_REQUEST_LIST, &requested_codes));
        let offer = Message::parse(&octets).unwrap();
        assert_eq!(offer.lease_time(), Some(1000));
        (offer.file().to_vec(), value(&octets, option::NETWORK_TIME_PROTOCOL_SERVERS).unwrap())
    };
    assert_eq!(answer_of(1, "tin"), (b"extra.bin".to_vec(), vec![10, 3, 3, 3]));
    assert_eq!(answer_of(2, "gold"), (b"gold.bin".to_vec(), vec![10, 4, 4, 4]));
    // The first subnet is full, and the second has no such class.
    assert_eq!(answer_of(3, "tin"), (b"subnet.bin".to_vec(), vec![10, 9, 9, 9]));
}

#[test]
fn drop_and_reject_are_classes() {
    let classes = r#"
        { "name": "DROP", "test": "option[60].text == 'noise'" },
        { "name": "REJECT", "test": "option[60].text == 'foe'" }"#;
    let mut server = Server::new(&configuration(classes, "", "", ""));
    for kind in [MessageType::Discover, MessageType::Request, MessageType::Inform] {
        server.tell(&message(kind, 1, "noise"));
    }
    server.tell(&message(MessageType::Release, 1, "noise").from(Ipv4Addr::new(10, 0, 0, 10)));
    assert_eq!(server.dropped(DropReason::Filtered), 4);
    server.tell(&discover(1, "foe"));
    assert_eq!(server.dropped(DropReason::Rejected), 1);
    let nak = server.ask(&request(1, "foe").requested(Ipv4Addr::new(10, 0, 0, 10)).server(SERVER));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    let statistics = server.counters[0].statistics();
    let count = |name: &str| statistics.iter().find(|(other, _)| other == name).unwrap().1;
    assert_eq!((count("pkt4-admin-filtered"), count("pkt4-receive-drop")), (4, 4));
}

#[test]
fn offers_may_be_leases() {
    let classes =
        r#"{ "name": "slow", "test": "option[60].text == 'slow'", "offer-lifetime": 50 }"#;
    let first = r#""offer-lifetime": 0,"#;
    let mut server = Server::new(&configuration(classes, first, "", ""));
    let octets = server.ask(&discover(1, "slow"));
    assert_eq!(Message::parse(&octets).unwrap().lease_time(), Some(1000));
    let rows = server.log.take_rows();
    assert_eq!((rows.len(), rows[0].valid_lifetime_s), (1, 50));
    let ack = server.ask(&request(1, "slow").requested(leased_address(&octets)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    let rows = server.log.take_rows();
    assert_eq!((rows.len(), rows[0].valid_lifetime_s), (1, 1000));
    // A lease that runs longer than the offer would is not shortened.
    let again = server.ask(&discover(1, "slow"));
    assert_eq!(leased_address(&again), leased_address(&octets));
    assert!(server.log.take_rows().is_empty());
    server.ask(&discover(2, "quick"));
    assert!(server.log.take_rows().is_empty());
}

#[test]
fn bootp_clients_are_served_when_the_hook_is_there() {
    let text = configuration("", "", "", "").replacen(
        "\"valid-lifetime\"",
        r#""hooks-libraries": [ { "library": "/usr/lib/libdhcp_bootp.so" } ],
           "client-classes": [ { "name": "old", "test": "member('BOOTP')", "boot-file-name": "old.bin",
             "option-data": [ { "name": "log-servers", "data": "10.5.5.5", "always-send": true } ] } ],
           "valid-lifetime""#,
        1,
    );
    let text = text.replacen("\"client-classes\": [  ],", "", 1);
    let mut server = Server::new(&text);
    let mut bootp = Dhcp4MessageBuilder::new(MessageType::Request, 1);
    bootp.options.clear();
    let octets = server.ask(&bootp);
    let reply = Message::parse(&octets).unwrap();
    assert_eq!((reply.op(), reply.message_type()), (2, None));
    assert_eq!(reply.yiaddr(), Ipv4Addr::new(10, 0, 0, 10));
    assert_eq!((reply.file(), octets.len()), (&b"old.bin"[..], 300));
    for code in [option::LEASE_TIME, option::SERVER_IDENTIFIER, option::RENEWAL_TIME] {
        assert!(reply.option(code).is_none(), "{code}");
    }
    assert!(reply.option(option::SUBNET_MASK).is_some());
    assert!(reply.option(option::LOG_SERVER).is_some());
    assert_eq!(server.log.take_rows()[0].valid_lifetime_s, u32::MAX);
    for n in 2..=6 {
        bootp.header.chaddr[5] = n;
        server.ask(&bootp);
    }
    // No address is left, and BOOTP has no message for that.
    bootp.header.chaddr[5] = 7;
    server.tell(&bootp);
    assert_eq!(server.dropped(DropReason::UnknownClient), 1);
}

#[test]
fn clients_may_do_without_ipv4() {
    let second = r#""option-data": [ { "name": "v6-only-preferred", "data": "1800" } ],"#;
    let mut server = Server::new(&configuration("", "", second, ""));
    let requested_codes = [option::IPV6_ONLY_PREFERRED];
    let octets =
        server.ask(&discover(1, "phone").option(option::PARAMETER_REQUEST_LIST, &requested_codes));
    let offer = Message::parse(&octets).unwrap();
    assert_eq!(offer.message_type(), Some(MessageType::Offer));
    assert!(offer.yiaddr().is_unspecified() && offer.lease_time().is_none());
    assert_eq!(value(&octets, option::IPV6_ONLY_PREFERRED).unwrap(), 1800_u32.to_be_bytes());
    assert!(value(&octets, option::SUBNET_MASK).is_none());
    let octets = server.ask(
        &request(1, "phone")
            .option(option::PARAMETER_REQUEST_LIST, &requested_codes)
            .requested(Ipv4Addr::new(10, 0, 0, 10))
            .server(SERVER),
    );
    assert_eq!(kind(&octets), Some(MessageType::Ack));
    assert!(leased_address(&octets).is_unspecified());
    assert!(server.log.take_rows().is_empty());
    // An option that is never sent is of no use to the client.
    let hidden = second.replacen("\"data\"", "\"never-send\": true, \"data\"", 1);
    server.reload(&configuration("", "", &hidden, ""));
    server.tell(&discover(1, "phone").option(option::PARAMETER_REQUEST_LIST, &requested_codes));
    assert_eq!(server.dropped(DropReason::NoIpv6OnlyTime), 1);
}

#[test]
fn the_first_and_last_address_of_a_24_are_left_out_when_asked() {
    let text = configuration("", "", "", "").replacen(
        "\"valid-lifetime\"",
        r#""compatibility": { "exclude-first-last-24": true }, "valid-lifetime""#,
        1,
    );
    let text = text.replacen("10.0.0.10 - 10.0.0.11", "10.0.0.254 - 10.0.0.255", 1);
    let text = text.replacen("10.0.1.10 - 10.0.1.11", "10.0.1.0 - 10.0.1.1", 1);
    let mut server = Server::new(&text);
    let order: Vec<Ipv4Addr> =
        (1..=3).map(|n| leased_address(&server.ask(&discover(n, "x")))).collect();
    assert_eq!(order, [[0, 254], [1, 1], [1, 20]].map(|[s, n]| Ipv4Addr::new(10, 0, s, n)));
    // Kea gives these addresses to clients that request them.
    let ack = server.ask(&request(9, "x").requested(Ipv4Addr::new(10, 0, 0, 255)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
}
