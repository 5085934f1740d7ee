//! Reservations in DHCPv4 (Kea reference §5.5): addresses, names, options and classes of hosts.

use std::net::Ipv4Addr;

use crate::common::v4::{Dhcp4MessageBuilder, SERVER, Server, kind};
use dhcp_engine::v4::DropReason;
use dhcp_wire::v4::{Message, MessageType, option, relay};

/// Returns a configuration of two subnets of one network; `keys` at the top, reservations of the
/// first subnet.
fn configuration(keys: &str, reservations: &str) -> String {
    format!(
        r#"{{ "Dhcp4": {{
        "interfaces-config": {{ "interfaces": [ "*" ], "dhcp-socket-type": "udp" }},
        "valid-lifetime": 1000, "next-server": "10.0.0.7", {keys}
        "shared-networks": [ {{ "name": "link", "subnet4": [
            {{ "id": 1, "subnet": "10.0.0.0/24", "reservations": [ {reservations} ],
               "pools": [ {{ "pool": "10.0.0.10 - 10.0.0.11" }} ] }},
            {{ "id": 2, "subnet": "10.0.1.0/24", "reservations": [
                  {{ "hw-address": "02:00:00:00:00:09", "hostname": "nine" }} ],
               "pools": [ {{ "pool": "10.0.1.10 - 10.0.1.11" }} ] }} ] }} ]
    }} }}"#
    )
}

/// Returns a reservation of `address` for client `n`.
fn reserve(n: u8, address: &str) -> String {
    format!(r#"{{ "hw-address": "02:00:00:00:00:0{n}", "ip-address": "{address}" }}"#)
}

fn discover(n: u8) -> Dhcp4MessageBuilder {
    Dhcp4MessageBuilder::new(MessageType::Discover, n)
}

fn request(n: u8) -> Dhcp4MessageBuilder {
    Dhcp4MessageBuilder::new(MessageType::Request, n)
}

fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

fn leased_address(octets: &[u8]) -> Ipv4Addr {
    Message::parse(octets).expect("a reply parses").yiaddr()
}

fn conflicts(server: &Server) -> (u64, u64) {
    let name = "v4-reservation-conflicts";
    let counters = &server.counters[0];
    let all = counters.statistics().iter().find(|(other, _)| other == name).expect("it is told").1;
    let of_first = |&&(id, other, _): &&(u32, &str, u64)| (id, other) == (1, name);
    (all, counters.subnet_statistics().iter().find(of_first).expect("it is told").2)
}

#[test]
fn the_owner_has_its_address_in_and_out_of_pools_and_nobody_else() {
    let both = format!("{}, {}", reserve(1, "10.0.0.10"), reserve(2, "10.0.0.200"));
    let mut server = Server::new(&configuration("", &both));
    // 10.0.0.10 is free and yet not for other clients.
    assert_eq!(server.lease(3), address(11));
    assert_eq!(server.lease(4), Ipv4Addr::new(10, 0, 1, 10));
    let offer = server.ask(&discover(5).requested(address(10)));
    assert_eq!(leased_address(&offer), Ipv4Addr::new(10, 0, 1, 11));
    for requested in [address(10), address(200)] {
        let nak = server.ask(&request(5).requested(requested).server(SERVER));
        assert_eq!(kind(&nak), Some(MessageType::Nak), "{requested}");
    }
    assert_eq!((server.lease(1), server.lease(2)), (address(10), address(200)));
    let rows = server.log.take_rows();
    let pooled = rows.iter().find(|row| row.address == address(200)).unwrap();
    assert_eq!((pooled.subnet_id, pooled.pool_id), (1, 0));
    // The client renews, releases and gets it again like any other.
    let ack = server.ask(&request(2).from(address(200)));
    assert_eq!(leased_address(&ack), address(200));
    server.tell(&Dhcp4MessageBuilder::new(MessageType::Release, 2).from(address(200)));
    server.pass_s(1);
    assert_eq!(server.lease(2), address(200));
    server.settle_down();
}

#[test]
fn a_client_is_moved_to_what_is_reserved_for_it_later() {
    let mut server = Server::new(&configuration("", ""));
    assert_eq!(server.lease(1), address(10));
    server.reload(&configuration("", &reserve(1, "10.0.0.200")));
    // The address that the client has is no longer the one reserved for it.
    let nak = server.ask(&request(1).from(address(10)));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    assert_eq!(server.lease(1), address(200));
    server.pass_s(1);
    let ack = server.ask(&request(2).requested(address(10)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack), "it is free");
    // Without the reservation the client loses the address: it is in no pool.
    server.reload(&configuration("", ""));
    server.tell(&request(1).from(address(200)));
    assert_eq!(server.dropped(DropReason::UnknownClient), 1);
    assert_eq!(server.lease(1), address(11));
}

#[test]
fn who_has_a_reserved_address_keeps_it_until_it_renews() {
    let mut server = Server::new(&configuration("", ""));
    assert_eq!(server.lease(2), address(10));
    server.reload(&configuration("", &reserve(1, "10.0.0.10")));
    let offer = server.ask(&discover(1));
    assert_eq!(leased_address(&offer), address(11));
    assert_eq!(conflicts(&server), (1, 1));
    let ack = server.ask(&request(1).requested(address(11)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    // The server refuses the other client's address, and gives it another one.
    let nak = server.ask(&request(2).from(address(10)));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    assert_eq!(server.lease(2), Ipv4Addr::new(10, 0, 1, 10));
    server.pass_s(1);
    let nak = server.ask(&request(1).from(address(11)));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    assert_eq!(server.lease(1), address(10));
}

#[test]
fn modes_say_which_reservations_count() {
    let reserved = reserve(1, "10.0.0.10");
    let in_pool = |keys: &str| {
        let mut server = Server::new(&configuration(keys, &reserved));
        (server.lease(2), server.lease(1))
    };
    assert_eq!(in_pool(""), (address(11), address(10)));
    assert_eq!(in_pool("\"reservations-in-subnet\": false,"), (address(10), address(11)));
    // The mode says that reservations lie outside of pools, so the one inside is ignored.
    assert_eq!(in_pool("\"reservations-out-of-pool\": true,"), (address(10), address(11)));
    let global = |address: &str| {
        let keys =
            format!(r#""reservations-global": true, "reservations": [ {} ],"#, reserve(1, address));
        Server::new(&configuration(&keys, "")).lease(1)
    };
    assert_eq!(global("10.0.0.77"), address(77));
    assert_eq!(global("10.0.1.77"), Ipv4Addr::new(10, 0, 1, 77));
    // An address that fits no subnet of the link is of no use.
    assert_eq!(global("172.16.0.1"), address(10));
    let keys =
        format!(r#""reservations-global": true, "reservations": [ {} ],"#, reserve(1, "10.0.0.77"));
    let mut server = Server::new(&configuration(&keys, &reserve(1, "10.0.0.66")));
    assert_eq!(server.lease(1), address(66), "that of the subnet comes first");
}

#[test]
fn identifiers_are_tried_in_their_order() {
    let hosts = r#"
        { "hw-address": "02:00:00:00:00:01", "ip-address": "10.0.0.51" },
        { "client-id": "01:aa:bb", "ip-address": "10.0.0.52" },
        { "duid": "00:03:00:01:02:02", "ip-address": "10.0.0.53" },
        { "circuit-id": "'port7'", "ip-address": "10.0.0.54" }"#;
    let duid = [255, 1, 2, 3, 4, 0, 3, 0, 1, 2, 2];
    let circuit = *b"\x01\x05port7";
    let plain = discover(9);
    let cases = [
        ("", discover(1), 51),
        ("", plain.clone().option(option::CLIENT_ID, &[1, 0xaa, 0xbb]), 52),
        ("", plain.clone().option(option::CLIENT_ID, &duid), 53),
        ("", plain.option(option::RELAY_AGENT_INFORMATION, &circuit), 54),
        (
            r#""host-reservation-identifiers": [ "circuit-id", "hw-address" ],"#,
            discover(1).option(option::RELAY_AGENT_INFORMATION, &circuit),
            54,
        ),
        (
            r#""host-reservation-identifiers": [ "hw-address", "circuit-id" ],"#,
            discover(1).option(option::RELAY_AGENT_INFORMATION, &circuit),
            51,
        ),
    ];
    for (keys, message, last) in cases {
        let mut server = Server::new(&configuration(keys, hosts));
        assert_eq!(leased_address(&server.ask(&message)), address(last), "{keys}");
    }
}

#[test]
fn hosts_have_names_options_fields_and_classes() {
    let keys = r#"
        "client-classes": [
            { "name": "given", "option-data": [ { "name": "log-servers", "data": "10.7.7.7" } ] },
            { "name": "known", "test": "member('KNOWN')", "valid-lifetime": 600 },
            { "name": "unknown", "test": "member('UNKNOWN')", "valid-lifetime": 300 } ],
        "option-data": [ { "name": "ntp-servers", "data": "10.9.9.9" } ],"#;
    let host = r#"{ "hw-address": "02:00:00:00:00:01", "ip-address": "10.0.0.60",
        "hostname": "Reserved.Example", "next-server": "10.0.0.9", "boot-file-name": "own.bin",
        "client-classes": [ "given" ],
        "option-data": [ { "name": "ntp-servers", "data": "10.6.6.6" } ] }"#;
    let mut server = Server::new(&configuration(keys, host));
    let requested_codes = [option::NETWORK_TIME_PROTOCOL_SERVERS, option::LOG_SERVER];
    let asking = |n| {
        discover(n)
            .option(option::PARAMETER_REQUEST_LIST, &requested_codes)
            .option(option::HOST_NAME, b"Own_Name")
    };
    let octets = server.ask(&asking(1));
    let offer = Message::parse(&octets).unwrap();
    let value = |code| offer.option(code).map(|value| value.as_slice().unwrap().to_vec());
    assert_eq!(value(option::HOST_NAME).unwrap(), b"reserved.example");
    assert_eq!(value(option::NETWORK_TIME_PROTOCOL_SERVERS).unwrap(), [10, 6, 6, 6]);
    assert_eq!(value(option::LOG_SERVER).unwrap(), [10, 7, 7, 7]);
    assert_eq!((offer.siaddr(), offer.file()), (address(9), &b"own.bin"[..]));
    assert_eq!(offer.lease_time(), Some(600));
    server.ask(&request(1).requested(address(60)).server(SERVER));
    assert_eq!(&*server.log.take_rows()[0].hostname, "reserved.example");
    let octets = server.ask(&asking(2));
    let offer = Message::parse(&octets).unwrap();
    assert_eq!(offer.lease_time(), Some(300));
    assert_eq!(offer.host_name().unwrap(), *b"ownname");
    assert_eq!(offer.option(option::LOG_SERVER), None);
    // A reservation counts in its own subnet, and chooses no subnet when it has no address.
    let octets = server.ask(&discover(9));
    let offer = Message::parse(&octets).unwrap();
    assert_eq!(offer.yiaddr(), address(11));
    assert_eq!(offer.host_name(), None);
    let mut server = Server::new(&configuration(keys, host));
    let octets = server.ask(&discover(9).requested(Ipv4Addr::new(10, 0, 1, 10)));
    let offer = Message::parse(&octets).unwrap();
    assert_eq!(offer.yiaddr(), Ipv4Addr::new(10, 0, 1, 10));
    assert_eq!(offer.host_name().unwrap(), *b"nine");
}

/// Each subnet of a shared network that the server tries has reservations of its own.
#[test]
fn a_reservation_without_an_address_hides_none_of_another_subnet() {
    let second = |hosts: &str| {
        let nine = r#"{ "hw-address": "02:00:00:00:00:09", "hostname": "nine" }"#;
        let text = configuration("", r#"{ "client-id": "01:aa:bb", "hostname": "bare" }"#);
        text.replacen(nine, hosts, 1)
    };
    let reserved = Ipv4Addr::new(10, 0, 1, 77);
    for hosts in [
        reserve(1, "10.0.1.77"),
        r#"{ "client-id": "01:aa:bb", "ip-address": "10.0.1.77" }"#.to_owned(),
    ] {
        let mut server = Server::new(&second(&hosts));
        let with_name =
            |message: Dhcp4MessageBuilder| message.option(option::CLIENT_ID, &[1, 0xaa, 0xbb]);
        assert_eq!(leased_address(&server.ask(&with_name(discover(1)))), reserved);
        let ack = server.ask(&with_name(request(1).requested(reserved).server(SERVER)));
        assert_eq!((kind(&ack), leased_address(&ack)), (Some(MessageType::Ack), reserved));
    }
}

/// All identifiers of a client are one client: no other client may have the address of any of its
/// reservations.
#[test]
fn what_a_further_reservation_of_a_client_holds_is_not_kept_from_it() {
    let with_name =
        |message: Dhcp4MessageBuilder| message.option(option::CLIENT_ID, &[1, 0xaa, 0xbb]);
    for (bare, holds) in [
        (r#""hw-address": "02:00:00:00:00:01""#, r#""client-id": "01:aa:bb""#),
        (r#""circuit-id": "'port7'""#, r#""client-id": "01:aa:bb""#),
    ] {
        let hosts = format!(
            r#"{{ {holds}, "ip-address": "10.0.0.11" }}, {{ {bare}, "hostname": "bare" }}"#
        );
        let text = configuration("", &hosts);
        let text = text.replacen(
            r#""pools": [ { "pool": "10.0.1.10 - 10.0.1.11" } ]"#,
            r#""pools": []"#,
            1,
        );
        let with_port = |message: Dhcp4MessageBuilder| {
            with_name(message).option(option::RELAY_AGENT_INFORMATION, b"\x01\x05port7")
        };
        // The client may have the address if it requests it.
        let mut server = Server::new(&text);
        let offer = server.ask(&with_port(discover(1)).requested(address(11)));
        assert_eq!(leased_address(&offer), address(11), "{hosts}");
        // For this client only this address is left, for other clients none at all.
        let mut server = Server::new(&text);
        assert_eq!(server.lease(2), address(10));
        server.tell(&discover(3));
        assert_eq!(server.dropped(DropReason::PoolExhausted), 1);
        let offer = server.ask(&with_port(discover(1)));
        assert_eq!(leased_address(&offer), address(11), "{hosts}");
        let ack = server.ask(&with_port(request(1).requested(address(11)).server(SERVER)));
        assert_eq!(kind(&ack), Some(MessageType::Ack));
        let ack = server.ask(&with_port(request(1).from(address(11))));
        assert_eq!(kind(&ack), Some(MessageType::Ack));
        // The second reservation does not count otherwise.
        let mut server = Server::new(&text);
        assert_eq!(leased_address(&server.ask(&with_port(discover(1)))), address(10), "{hosts}");
    }
}

#[test]
fn early_global_hosts_choose_subnets_and_are_dropped_before() {
    let keys = |early: bool| {
        format!(
            r#""early-global-reservations-lookup": {early}, "reservations-global": true,
            "client-classes": [ {{ "name": "second" }}, {{ "name": "bad" }},
                                {{ "name": "DROP", "test": "member('bad')" }} ],
            "reservations": [
                {{ "hw-address": "02:00:00:00:00:01", "client-classes": [ "second" ] }},
                {{ "hw-address": "02:00:00:00:00:02", "client-classes": [ "bad" ] }} ],"#
        )
    };
    let guarded = |early| {
        let text = configuration(&keys(early), "");
        text.replacen(r#""id": 1,"#, r#""id": 1, "client-classes": [ "second" ],"#, 1)
    };
    let mut server = Server::new(&guarded(true));
    assert_eq!(leased_address(&server.ask(&discover(1))), address(10));
    server.tell(&discover(2));
    assert_eq!(server.dropped(DropReason::Filtered), 1);
    server.tell(&discover(3));
    assert_eq!(server.dropped(DropReason::NoSubnet), 1);
    let mut server = Server::new(&guarded(false));
    server.tell(&discover(1));
    assert_eq!(server.dropped(DropReason::NoSubnet), 1);
}

#[test]
fn leases_keep_what_the_relay_agent_said() {
    let keys = r#""store-extended-info": true, "cache-threshold": 0.25,"#;
    let mut server = Server::new(&configuration(keys, ""));
    let relay_information = [relay::CIRCUIT_ID, 1, 7, relay::REMOTE_ID, 2, 0xab, 0xcd];
    let relayed = |message: Dhcp4MessageBuilder, relay_information: &[u8]| {
        message.option(option::RELAY_AGENT_INFORMATION, relay_information)
    };
    server.ask(&relayed(request(1).requested(address(10)).server(SERVER), &relay_information));
    let context = r#"{ "ISC": { "relay-agent-info": { "remote-id": "ABCD", "sub-options": "0x0101070202ABCD" } } }"#;
    assert_eq!(&*server.log.take_rows()[0].user_context, context);
    // The same information is not written again; other information is, and a message without any
    // keeps it.
    server.ask(&relayed(request(1).from(address(10)), &relay_information));
    assert!(server.log.take_rows().is_empty());
    server.ask(&request(1).from(address(10)));
    assert!(server.log.take_rows().is_empty());
    server.ask(&relayed(request(1).from(address(10)), &relay_information[..3]));
    let context = r#"{ "ISC": { "relay-agent-info": { "sub-options": "0x010107" } } }"#;
    assert_eq!(&*server.log.take_rows()[0].user_context, context);
}

#[test]
fn a_client_that_renews_past_its_relay_agent_is_still_known_by_what_that_said() {
    let keys = |stashes: bool| {
        format!(
            r#""store-extended-info": true, "stash-agent-options": {stashes},
            "cache-threshold": 0.0, "host-reservation-identifiers": [ "circuit-id" ],
            "client-classes": [ {{ "name": "p7", "test": "option[82].exists and relay4[1].hex == 0x07",
                "boot-file-name": "seven.bin" }} ],"#
        )
    };
    let host = r#"{ "circuit-id": "07", "hostname": "seven" }"#;
    let relay_information = [relay::CIRCUIT_ID, 1, 7];
    let renew = |n| request(n).from(address(10)).direct();
    // The answer shows class and host, and if it has the agent's information.
    let answer = |server: &mut Server, message: &Dhcp4MessageBuilder| {
        let octets = server.ask(message);
        let reply = Message::parse(&octets).expect("a reply parses");
        assert_eq!(reply.message_type(), Some(MessageType::Ack));
        let is_in_class = reply.file().starts_with(b"seven.bin");
        let row = server.log.take_rows().remove(0);
        (is_in_class, &*row.hostname == "seven", reply.relay_agent_information().is_some(), row)
    };
    for stashes in [true, false] {
        let mut server = Server::new(&configuration(&keys(stashes), host));
        let first = request(1).requested(address(10)).server(SERVER);
        let first = first.option(option::RELAY_AGENT_INFORMATION, &relay_information);
        let (is_in_class, has_name, is_echoed, row) = answer(&mut server, &first);
        assert!(is_in_class && has_name && is_echoed);
        for again in [renew(1), renew(1).option(option::RELAY_AGENT_INFORMATION, &[])] {
            let (is_in_class, has_name, is_echoed, now) = answer(&mut server, &again);
            assert_eq!((is_in_class, has_name, is_echoed), (stashes, stashes, false));
            if stashes {
                assert_eq!(now.user_context, row.user_context);
            }
        }
        // The relay agent's present information counts before that of the lease, and it may have
        // none.
        let others = renew(1).option(option::RELAY_AGENT_INFORMATION, &[relay::CIRCUIT_ID, 1, 8]);
        assert!(!answer(&mut server, &others).0);
        assert!(!answer(&mut server, &request(1).from(address(10))).0);
    }
}

#[test]
fn what_a_lease_keeps_of_a_relay_agent_is_for_its_client_alone() {
    let keys = r#""store-extended-info": true, "stash-agent-options": true,
        "client-classes": [ { "name": "DROP", "test": "relay4[1].hex == 0x08" } ],"#;
    let mut server = Server::new(&configuration(keys, ""));
    // In this way the lease has information with which its client would not have got it.
    let leased = server.lease(1);
    let mut lease = server.table.lease(leased).expect("it was leased");
    lease.user_context = r#"{"ISC":{"relay-agent-info":"0x010108"}}"#.into();
    server.table.load(lease);
    let renew = |n| request(n).from(leased).direct();
    let nak = server.ask(&renew(2));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    server.tell(&renew(1));
    assert_eq!(server.dropped(DropReason::Filtered), 1);
    // A message of another type is processed as it is.
    assert!(!server.send_to(0, &discover(1).from(leased).direct().octets()).is_empty());
}

#[test]
fn a_changed_name_is_written_and_the_same_is_repeated() {
    let mut server = Server::new(&configuration("\"cache-threshold\": 0.25,", ""));
    let with_name =
        |message: Dhcp4MessageBuilder, name: &[u8]| message.option(option::HOST_NAME, name);
    server.ask(&with_name(request(1).requested(address(10)).server(SERVER), b"one"));
    assert_eq!(server.log.take_rows().len(), 1);
    server.pass_s(100);
    let octets = server.ask(&with_name(request(1).from(address(10)), b"One"));
    assert_eq!(Message::parse(&octets).unwrap().lease_time(), Some(900));
    assert!(server.log.take_rows().is_empty());
    let octets = server.ask(&with_name(request(1).from(address(10)), b"two"));
    assert_eq!(Message::parse(&octets).unwrap().lease_time(), Some(1000));
    assert_eq!(&*server.log.take_rows()[0].hostname, "two");
}

#[test]
fn the_operators_expression_tells_hosts_and_takes_the_place_of_client_identifiers() {
    let keys = |replaces: bool| {
        format!(
            r#""hooks-libraries": [ {{ "library": "/usr/lib/libdhcp_flex_id.so", "parameters": {{
                "identifier-expression": "relay4[2].hex", "replace-client-id": {replaces} }} }} ],
            "host-reservation-identifiers": [ "flex-id", "hw-address" ],"#
        )
    };
    let host = r#"{ "flex-id": "'port7'", "ip-address": "10.0.0.77" }"#;
    let from_port = |message: Dhcp4MessageBuilder| {
        let port = *b"\x02\x05port7";
        message.option(option::RELAY_AGENT_INFORMATION, &port).option(option::CLIENT_ID, b"\x00own")
    };
    let mut server = Server::new(&configuration(&keys(false), host));
    let octets = server.ask(&from_port(request(1).requested(address(77)).server(SERVER)));
    assert_eq!(leased_address(&octets), address(77));
    let row = server.log.take_rows().remove(0);
    assert_eq!(row.client.client_id.unwrap().octets(), b"\x00own");
    let mut server = Server::new(&configuration(&keys(true), host));
    let octets = server.ask(&from_port(request(1).requested(address(77)).server(SERVER)));
    assert_eq!(Message::parse(&octets).unwrap().client_id().unwrap(), *b"\x00own");
    let row = server.log.take_rows().remove(0);
    assert_eq!(row.client.client_id.unwrap().octets(), b"\x00port7");
    // Another device at the port is the same client, and the old one elsewhere is not.
    assert_eq!(leased_address(&server.ask(&from_port(discover(2)))), address(77));
    let moved = discover(1).option(option::CLIENT_ID, b"\x00own");
    assert_eq!(leased_address(&server.ask(&moved)), address(10));
}

/// Firmware, boot loader and system send requests within seconds, each with another client
/// identifier.
#[test]
fn an_offer_of_a_reserved_address_binds_no_other_identifier_of_its_owner() {
    for reserved in ["10.0.0.10", "10.0.0.200"] {
        let mut server = Server::new(&configuration("", &reserve(1, reserved)));
        let expected: Ipv4Addr = reserved.parse().expect("an address");
        for id in [&[0, 1, 2, 3][..], &[1, 2, 0, 0, 0, 0, 1], &[255, 9, 9, 9, 9, 0, 3]] {
            let offer =
                server.ask_octets(&discover(1).option(option::CLIENT_IDENTIFIER, id).octets());
            assert_eq!(leased_address(&offer), expected, "{id:?}");
        }
    }
}
