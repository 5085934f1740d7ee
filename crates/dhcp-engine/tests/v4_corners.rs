//! Corner cases of the protocol where Kea has a rule of its own (reference §5.3, §5.4, §5.8), and
//! their counts under Kea's names (reference §3.6).

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use crate::common::v4::{Dhcp4MessageBuilder, RELAY, SERVER, SMALL, Server, kind};
use dhcp_engine::EventGate;
use dhcp_engine::v4::{Destination, DropReason, Ingress};
use dhcp_lease::v4::{LeaseStore as _, MemoryStore};
use dhcp_lease::{HardwareAddress, INFINITE_LIFETIME_S, LeaseState, PutMode};
use dhcp_wire::v4::{Message, MessageType, option, relay};

fn discover(n: u8) -> Dhcp4MessageBuilder {
    Dhcp4MessageBuilder::new(MessageType::Discover, n)
}

fn request(n: u8) -> Dhcp4MessageBuilder {
    Dhcp4MessageBuilder::new(MessageType::Request, n)
}

fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

/// Returns `SMALL` with more keys at the top.
fn small_with(keys: &str) -> String {
    SMALL.replacen("\"valid-lifetime\"", &format!("{keys}, \"valid-lifetime\""), 1)
}

fn statistic(server: &Server, name: &str) -> u64 {
    let statistics = server.counters.iter().flat_map(|counters| counters.statistics());
    let values: Vec<u64> =
        statistics.filter(|(other, _)| other == name).map(|(_, value)| value).collect();
    assert!(!values.is_empty(), "{name} is told");
    values.iter().sum()
}

fn of_subnet(server: &Server, id: u32, name: &str) -> u64 {
    let statistics = server.counters.iter().flat_map(|counters| counters.subnet_statistics());
    let values: Vec<u64> = statistics
        .filter(|&(other_id, other, _)| (other_id, other) == (id, name))
        .map(|statistic| statistic.2)
        .collect();
    assert!(!values.is_empty(), "{name} of {id} is told");
    values.iter().sum()
}

#[test]
fn a_request_moves_the_client_to_another_free_address() {
    let mut server = Server::new(SMALL);
    assert_eq!(server.lease(1), address(10));
    let ack = server.ask(&request(1).requested(address(12)).server(SERVER));
    assert_eq!(Message::parse(&ack).unwrap().yiaddr(), address(12));
    // One commit has ended the old lease.
    server.pass_s(1);
    let ack = server.ask(&request(2).requested(address(10)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    assert_eq!(server.lease(1), address(12));
}

/// Each server of a pair may have given the client an address while they could not talk; it has
/// heard of the last one.
#[test]
fn a_client_with_two_leases_is_offered_the_newest() {
    let mut server = Server::new(SMALL);
    let first = server.lease(1);
    let mut lease = server.table.page(None, 1).remove(0);
    (lease.address, lease.cltt_s) = (address(12), lease.cltt_s + 5);
    MemoryStore::new(Arc::clone(&server.table)).put(&lease, PutMode::Force).unwrap();
    assert!(first < lease.address);
    let offered = |server: &mut Server| {
        Message::parse(&server.ask(&discover(1))).expect("a reply parses").yiaddr()
    };
    assert_eq!(offered(&mut server), lease.address);
    // A renewal of the other one shows that the client has that.
    server.pass_s(6);
    server.ask(&request(1).from(first));
    assert_eq!(offered(&mut server), first);
}

/// A reply that waited for the database is dropped when the database refuses its row; later replies
/// about the same row, which the table has from the database, are not.
#[test]
fn what_was_refused_once_is_not_refused_for_good() {
    let mut server = Server::new(SMALL);
    server.auto_settle = false;
    let sent = server.send_to(0, &request(1).requested(address(12)).server(SERVER).octets());
    assert!(sent.is_empty(), "it waits");
    server.log.refuse(server.log.closed_epoch());
    server.auto_settle = true;
    server.tell(&request(2).requested(address(99)).server(SERVER));
    assert_eq!(server.dropped(DropReason::LeasedElsewhere), 1);
    // The lease exists, and its row has the epoch that was refused.
    for _ in 0..3 {
        let offer = server.ask(&discover(1));
        assert_eq!(kind(&offer), Some(MessageType::Offer));
        assert_eq!(Message::parse(&offer).unwrap().yiaddr(), address(12));
    }
}

#[test]
fn an_address_in_no_pool_is_left_to_other_servers() {
    let mut server = Server::new(SMALL);
    server.tell(&request(1).requested(address(99)).server(SERVER));
    server.tell(&request(1).requested(Ipv4Addr::new(172, 16, 0, 1)).server(SERVER));
    assert_eq!(server.dropped(DropReason::UnknownClient), 2);
    assert_eq!(statistic(&server, "pkt4-receive-drop"), 0);
}

#[test]
fn a_wish_of_no_time_is_no_wish_and_an_infinite_one_is_cut() {
    let mut server = Server::new(SMALL);
    for (requested_s, expected) in [(0_u32, 1000), (1, 500), (u32::MAX, 2000)] {
        let offer = server.ask(&discover(1).option(option::LEASE_TIME, &requested_s.to_be_bytes()));
        assert_eq!(Message::parse(&offer).unwrap().lease_time(), Some(expected));
    }
}

#[test]
fn leases_are_short_while_the_pool_is_nearly_full() {
    let seconds = |octets: Vec<u8>| Message::parse(&octets).expect("a reply parses").lease_time();
    let queue = r#""adaptive-lease-time-threshold": 0.5, "allocator": "flq""#;
    let mut server = Server::new(&small_with(queue));
    // Offers do not count, the offered address does.
    for n in 1..4 {
        assert_eq!(seconds(server.ask(&discover(n))), Some(1000), "{n}");
    }
    let first = server.lease(1);
    assert_eq!(seconds(server.ask(&discover(2))), Some(500));
    // The requested lifetime does not count, and the rest of a lease is not taken away.
    assert_eq!(seconds(server.ask(&discover(2).option(51, &[0, 0, 7, 0]))), Some(500));
    server.lease(2);
    server.pass_s(300);
    assert_eq!(seconds(server.ask(&request(1).from(first))), Some(700));
    // Released addresses make room.
    server.tell(
        &Dhcp4MessageBuilder::new(MessageType::Release, 2)
            .from(server.table.page(None, 4)[1].address),
    );
    server.pass_s(1);
    assert_eq!(seconds(server.ask(&request(1).from(first))), Some(1000));
    let mut server = Server::new(&small_with(r#""adaptive-lease-time-threshold": 0.5"#));
    server.lease(1);
    server.lease(2);
    assert_eq!(seconds(server.ask(&discover(3))), Some(1000), "only where a queue counts");
}

#[test]
fn timers_are_sent_when_they_are_in_order() {
    // (configuration, lifetime, T1, T2)
    let cases: [(&str, u32, Option<u32>, Option<u32>); 7] = [
        (r#""renew-timer": 400, "rebind-timer": 800"#, 1000, Some(400), Some(800)),
        (r#""renew-timer": 400, "rebind-timer": 800"#, 800, Some(400), None),
        (r#""renew-timer": 600, "rebind-timer": 800"#, 600, None, None),
        (r#""renew-timer": 0"#, 1000, None, None),
        (r#""calculate-tee-times": true"#, 1000, Some(500), Some(875)),
        (r#""calculate-tee-times": true, "renew-timer": 10"#, 1000, Some(10), Some(875)),
        (r#""calculate-tee-times": true"#, 501, Some(251), Some(438)),
    ];
    for (keys, lifetime_s, renew_s, rebind_s) in cases {
        let text = SMALL.replacen(r#""renew-timer": 400, "rebind-timer": 800"#, keys, 1);
        let mut server = Server::new(&text);
        let requested_s = lifetime_s.to_be_bytes();
        let octets = server.ask(&discover(1).option(option::LEASE_TIME, &requested_s));
        let offer = Message::parse(&octets).unwrap();
        let seconds = |code| offer.option(code).and_then(|value| value.u32());
        assert_eq!(seconds(option::RENEWAL_TIME), renew_s, "{keys}");
        assert_eq!(seconds(option::REBINDING_TIME), rebind_s, "{keys}");
    }
}

#[test]
fn an_offer_of_a_young_lease_says_what_is_left_of_it() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    server.pass_s(100);
    let offer = server.ask(&discover(1));
    assert_eq!(Message::parse(&offer).unwrap().lease_time(), Some(900));
    let renewed = server.ask(&request(1).from(address(10)));
    assert_eq!(Message::parse(&renewed).unwrap().lease_time(), Some(900));
    assert_eq!(statistic(&server, "v4-lease-reuses"), 2);
    assert_eq!(of_subnet(&server, 1, "v4-lease-reuses"), 2);
    let hasty = small_with("\"cache-max-age\": 99");
    server.reload(&hasty);
    let renewed = server.ask(&request(1).from(address(10)));
    assert_eq!(Message::parse(&renewed).unwrap().lease_time(), Some(1000));
    assert_eq!(of_subnet(&server, 1, "v4-lease-reuses"), 2);
}

#[test]
fn nobody_is_refused_by_whom_no_subnet_serves_unless_kea_refuses() {
    let nowhere = Ipv4Addr::new(172, 16, 0, 1);
    let elsewhere = |mut message: Dhcp4MessageBuilder| {
        message.header.giaddr = nowhere;
        message
    };
    let mut server = Server::new(SMALL);
    server.tell(&elsewhere(discover(1)));
    server.tell(&elsewhere(request(1).requested(address(10))));
    let nak = server.ask(&elsewhere(request(1).requested(address(10)).server(SERVER)));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    let nak = server.ask(&elsewhere(request(1).from(address(10))));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    assert_eq!(server.dropped(DropReason::NoSubnet), 2);
    let ack = server.ask(&elsewhere(Dhcp4MessageBuilder::new(MessageType::Inform, 1)));
    let ack = Message::parse(&ack).unwrap();
    assert_eq!(ack.message_type(), Some(MessageType::Ack));
    assert!(ack.option(option::DOMAIN_NAME_SERVER).is_none());
    // A client that asks all servers to renew its lease may be another server's.
    let ingress = Ingress {
        is_broadcast: true,
        ..Ingress::routed(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68), SERVER)
    };
    let rebinding = request(1).from(address(10)).direct();
    assert!(server.send_by(0, &rebinding.octets(), ingress).is_empty());
    assert_eq!(server.dropped(DropReason::NoSubnet), 3);

    let mut server = Server::new(&small_with("\"authoritative\": true"));
    let nak = server.ask(&elsewhere(request(1).requested(address(10))));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
}

#[test]
fn a_lease_is_given_up_from_anywhere_with_or_without_a_server_identifier() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    let mut release = Dhcp4MessageBuilder::new(MessageType::Release, 1).from(address(10));
    release.header.giaddr = Ipv4Addr::new(172, 16, 0, 1);
    server.tell(&release);
    server.pass_s(1);
    let ack = server.ask(&request(2).requested(address(10)).server(SERVER));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    server.tell(&Dhcp4MessageBuilder::new(MessageType::Decline, 2).requested(address(10)));
    assert_eq!(server.dropped(DropReason::NotTheClientsLease), 0);
    server.tell(&Dhcp4MessageBuilder::new(MessageType::Decline, 2));
    assert_eq!(server.dropped(DropReason::NothingDeclined), 1);
    // The client cannot decline a lease that has expired.
    assert_eq!(server.lease(3), address(11));
    server.now = server.now.after_ns(1_001 * base::time::NS_PER_S);
    server.tell(&Dhcp4MessageBuilder::new(MessageType::Decline, 3).requested(address(11)));
    assert_eq!(server.dropped(DropReason::NotTheClientsLease), 1);
}

#[test]
fn client_identifiers_are_kept_only_where_they_count() {
    for (keys, is_stored) in
        [("\"match-client-id\": true", true), ("\"match-client-id\": false", false)]
    {
        let mut server = Server::new(&small_with(keys));
        let with_id =
            |message: Dhcp4MessageBuilder, id: &[u8]| message.option(option::CLIENT_ID, id);
        let octets =
            server.ask(&with_id(request(1).requested(address(10)).server(SERVER), b"\x00a"));
        let ack = Message::parse(&octets).unwrap();
        // The server echoes the identifier in any case (RFC 6842).
        assert_eq!(ack.client_id().unwrap(), *b"\x00a");
        let rows = server.log.take_rows();
        assert_eq!(rows[0].client.client_id.is_some(), is_stored, "{keys}");
        // Another identifier from the same interface is another client only where identifiers
        // count.
        let offer = server.ask(&with_id(discover(1), b"\x00b"));
        let same = Message::parse(&offer).unwrap().yiaddr() == address(10);
        assert_eq!(same, !is_stored, "{keys}");
    }
    let mut server = Server::new(&small_with("\"echo-client-id\": false"));
    let octets = server.ask(&discover(1).option(option::CLIENT_ID, b"\x00a"));
    assert!(Message::parse(&octets).unwrap().client_id().is_none());
}

#[test]
fn clients_of_other_servers_are_told_apart_unless_that_is_switched_off() {
    let other = Ipv4Addr::new(192, 0, 2, 99);
    let mut server = Server::new(SMALL);
    server.tell(&request(1).requested(address(10)).server(other));
    server.tell(&Dhcp4MessageBuilder::new(MessageType::Inform, 1).from(address(10)).server(other));
    server.tell(&discover(1).server(SERVER));
    assert_eq!(server.dropped(DropReason::ClientChoseOtherServer), 2);
    assert_eq!(statistic(&server, "pkt4-not-for-us"), 2);
    assert_eq!(server.dropped(DropReason::UnexpectedServerId), 1);
    assert_eq!(statistic(&server, "pkt4-rfc-violation"), 1);
    let tolerant = small_with("\"compatibility\": { \"ignore-dhcp-server-identifier\": true }");
    let mut server = Server::new(&tolerant);
    let ack = server.ask(&request(1).requested(address(10)).server(other));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    // The relay agent has another identifier for us (RFC 5107).
    let mut server = Server::new(SMALL);
    let overridden = [relay::SERVER_IDENTIFIER_OVERRIDE, 4, 192, 0, 2, 99];
    let octets = server.ask(
        &request(1)
            .requested(address(10))
            .server(other)
            .option(option::RELAY_AGENT_INFORMATION, &overridden),
    );
    assert_eq!(Message::parse(&octets).unwrap().server_identifier(), Some(other));
}

#[test]
fn a_configured_server_identifier_is_ours() {
    let text = SMALL.replacen(
        r#"{ "name": "routers""#,
        r#"{ "name": "dhcp-server-identifier", "data": "192.0.2.77" }, { "name": "routers""#,
        1,
    );
    let mut server = Server::new(&text);
    let ours = Ipv4Addr::new(192, 0, 2, 77);
    let octets = server.ask(&discover(1));
    let offer = Message::parse(&octets).unwrap();
    assert_eq!(offer.server_identifier(), Some(ours));
    let ids = offer.instances().filter(|&(code, _)| code == option::SERVER_IDENTIFIER).count();
    assert_eq!(ids, 1);
    let ack = server.ask(&request(1).requested(offer.yiaddr()).server(ours));
    assert_eq!(kind(&ack), Some(MessageType::Ack));
}

#[test]
fn relay_agents_choose_the_subnet_and_the_port_of_replies() {
    let two = SMALL.replacen(
        r#""subnet4": ["#,
        r#""subnet4": [ { "id": 2, "subnet": "10.0.9.0/24",
            "pools": [ { "pool": "10.0.9.10 - 10.0.9.13" } ] },"#,
        1,
    );
    let link = [relay::LINK_SELECTION, 4, 10, 0, 9, 0, relay::RELAY_SOURCE_PORT, 0];
    let chosen = discover(1).option(option::RELAY_AGENT_INFORMATION, &link);
    let ingress = Ingress::routed(SocketAddrV4::new(RELAY, 4011), SERVER);
    let mut server = Server::new(&two);
    let replies = server.send_by(0, &chosen.octets(), ingress);
    assert_eq!(replies[0].0, Destination::Relay(SocketAddrV4::new(RELAY, 4011)));
    assert_eq!(Message::parse(&replies[0].1).unwrap().yiaddr(), Ipv4Addr::new(10, 0, 9, 10));
    let ignoring = two.replacen(
        "\"valid-lifetime\"",
        "\"compatibility\": { \"ignore-rai-link-selection\": true }, \"valid-lifetime\"",
        1,
    );
    let mut server = Server::new(&ignoring);
    let offer = server.ask(&chosen);
    assert_eq!(Message::parse(&offer).unwrap().yiaddr(), address(10));
    // RFC 3011: the server returns the option.
    let selected = discover(2).option(option::SUBNET_SELECTION, &[10, 0, 9, 0]);
    let octets = server.ask(&selected);
    let offer = Message::parse(&octets).unwrap();
    assert_eq!(offer.yiaddr(), Ipv4Addr::new(10, 0, 9, 10));
    assert_eq!(offer.subnet_selection(), Some(Ipv4Addr::new(10, 0, 9, 0)));
}

#[test]
fn parameters_go_past_the_relay_when_the_client_says_where_it_is() {
    let mut server = Server::new(SMALL);
    let information = [relay::CIRCUIT_ID, 1, 7];
    let inform = Dhcp4MessageBuilder::new(MessageType::Inform, 1)
        .option(option::RELAY_AGENT_INFORMATION, &information)
        .option(option::HOST_NAME, b"host");
    let replies = server.send_to(0, &inform.clone().from(address(77)).octets());
    assert_eq!(replies[0].0, Destination::PastRelay("10.0.0.77:68".parse().unwrap()));
    let ack = Message::parse(&replies[0].1).unwrap();
    assert_eq!((ack.giaddr(), ack.hops()), (Ipv4Addr::UNSPECIFIED, 0));
    assert_eq!(ack.ciaddr(), address(77));
    for code in [option::RELAY_AGENT_INFORMATION, option::SUBNET_MASK, option::HOST_NAME] {
        assert!(ack.option(code).is_none(), "{code}");
    }
    assert_eq!(ack.siaddr(), address(7));
    let replies = server.send_to(0, &inform.octets());
    assert_eq!(replies[0].0, Destination::Relay("10.0.0.1:67".parse().unwrap()));
    let ack = Message::parse(&replies[0].1).unwrap();
    assert!(ack.is_broadcast());
    assert_eq!(ack.relay_agent_information().unwrap(), information);
    assert_eq!(statistic(&server, "pkt4-ack-sent"), 2);
}

#[test]
fn a_network_gives_from_the_subnet_that_gave_last() {
    let mut server = Server::new(
        r#"{ "Dhcp4": {
        "interfaces-config": { "interfaces": [ "*" ], "dhcp-socket-type": "udp" },
        "shared-networks": [ { "name": "link", "subnet4": [
            { "id": 1, "subnet": "10.0.0.0/24", "pools": [ { "pool": "10.0.0.10 - 10.0.0.11" } ] },
            { "id": 2, "subnet": "10.0.1.0/24", "pools": [ { "pool": "10.0.1.10 - 10.0.1.11" } ] },
            { "id": 3, "subnet": "10.0.2.0/24", "pools": [ { "pool": "10.0.2.10 - 10.0.2.11" } ] }
        ] } ] } }"#,
    );
    let second = |mut message: Dhcp4MessageBuilder| {
        message.header.giaddr = Ipv4Addr::new(10, 0, 1, 1);
        message
    };
    let third_octet = |octets: &[u8]| Message::parse(octets).unwrap().yiaddr().octets()[2];
    // The relay agent's own subnet comes first, and then its neighbors in turn.
    let order: Vec<u8> = (1..=2).map(|n| third_octet(&server.ask(&second(discover(n))))).collect();
    assert_eq!(order, [1, 1]);
    // A client of the first subnet continues where the last one ended.
    let order: Vec<u8> = (3..=6).map(|n| third_octet(&server.ask(&discover(n)))).collect();
    assert_eq!(order, [2, 2, 0, 0]);
    for n in 1..=6 {
        server.lease(n);
    }
    server.tell(&discover(7));
    assert_eq!(server.dropped(DropReason::PoolExhausted), 1);
    let nak = server.ask(&request(8));
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    for (name, count) in [
        ("v4-allocation-fail", 2),
        ("v4-allocation-fail-shared-network", 2),
        ("v4-allocation-fail-subnet", 0),
        ("v4-allocation-fail-no-pools", 0),
        ("v4-allocation-fail-classes", 2),
    ] {
        assert_eq!(statistic(&server, name), count, "{name}");
    }
}

#[test]
fn a_subnet_without_pools_fails_in_its_own_way() {
    let text = SMALL.replacen(r#""pools": [ { "pool": "10.0.0.10 - 10.0.0.13" } ],"#, "", 1);
    let mut server = Server::new(&text);
    server.tell(&discover(1));
    for (name, count) in [
        ("v4-allocation-fail", 0),
        ("v4-allocation-fail-subnet", 1),
        ("v4-allocation-fail-no-pools", 1),
    ] {
        assert_eq!(
            (statistic(&server, name), of_subnet(&server, 1, name)),
            (count, count),
            "{name}"
        );
    }
}

#[test]
fn no_lease_changes_while_too_many_events_wait_for_their_listeners() {
    let mut server = Server::new(SMALL);
    server.shards[0].set_waiting_events(usize::MAX);
    // No listener holds replies.
    server.lease(1);
    let gate = Arc::new(EventGate::default());
    gate.pass(u64::MAX - 1);
    server.shards[0].set_event_gate(gate);
    server.shards[0].set_waiting_events(usize::MAX);
    server.tell(&discover(2));
    assert_eq!(server.dropped(DropReason::ListenersBehind), 1);
    assert_eq!(statistic(&server, "pkt4-queue-full"), 1);
    server.shards[0].set_waiting_events(0);
    server.lease(2);
}

#[test]
fn switched_off_it_reads_nothing() {
    let mut server = Server::new(SMALL);
    server.shards[0].set_disabled(true);
    server.tell(&discover(1));
    assert!(server.send_to(0, b"whatever").is_empty());
    assert_eq!(statistic(&server, "pkt4-service-disabled"), 2);
    assert_eq!(statistic(&server, "pkt4-received"), 2);
    assert_eq!(statistic(&server, "pkt4-discover-received"), 0);
    server.shards[0].set_disabled(false);
    server.lease(1);
    assert!(server.send_to(0, b"whatever").is_empty());
    let mut unknown = discover(1);
    unknown.options[0].1 = vec![99];
    server.tell(&unknown);
    let mut bootp = discover(1);
    bootp.options.clear();
    server.tell(&bootp);
    assert_eq!(server.dropped(DropReason::Bootp), 1);
    for (name, count) in [
        ("pkt4-received", 7),
        ("pkt4-discover-received", 1),
        ("pkt4-request-received", 1),
        ("pkt4-unknown-received", 2),
        ("pkt4-parse-failed", 1),
        ("pkt4-rfc-violation", 2),
        ("pkt4-receive-drop", 5),
        ("pkt4-offer-sent", 1),
        ("pkt4-ack-sent", 1),
        ("pkt4-sent", 2),
    ] {
        assert_eq!(statistic(&server, name), count, "{name}");
    }
    server.settle_down();
}

#[test]
fn a_row_that_the_store_cannot_read_refuses_no_client_its_address() {
    for keys in ["\"authoritative\": true", "\"authoritative\": false"] {
        let mut server = Server::new(&small_with(keys));
        let leased = server.lease(1);
        let mut lease = server.table.lease(leased).expect("it was leased");
        // This is the lease that the table has for such a row.
        lease.cltt_s = 0;
        lease.state = LeaseState::Declined;
        lease.valid_lifetime_s = INFINITE_LIFETIME_S;
        lease.client.hardware = HardwareAddress::default();
        lease.client.client_id = None;
        server.table.load(lease);
        let messages = [
            request(1).from(leased),
            request(1).requested(leased),
            request(1).requested(leased).server(SERVER),
        ];
        for (at, message) in (1..).zip(messages) {
            server.tell(&message);
            assert_eq!(server.dropped(DropReason::LeaseRefused), at, "{keys}");
        }
        // The address is free for no client.
        assert_ne!(server.lease(2), leased);
    }
}
