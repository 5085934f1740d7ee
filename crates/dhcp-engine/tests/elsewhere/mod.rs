//! Hosts in databases: a server that looks them up replies like one that has them in its
//! configuration, waits for them without delaying other clients, and caches them for a while only.

use crate::common;
mod changed;
mod counterparts;
mod database;

use std::net::Ipv4Addr;

use crate::common::v4::{Dhcp4MessageBuilder, SERVER, Server, Sink, kind};
use base::time::{NS_PER_MS, NS_PER_S};
use database::SharedHostDatabase;
use dhcp_config::IdentifierKind;
use dhcp_engine::hosts::{CACHE_KEYS_MIN, CacheLimits, HostCache, HostKey, ReservationScope};
use dhcp_engine::shard::HELD_DEADLINE_NS;
use dhcp_engine::v4::DropReason;
use dhcp_lease::v4::V4;
use dhcp_wire::v4::{Message, MessageType, option};

const LIFETIME_NS: u64 = 2 * NS_PER_S;

pub(crate) const LIMITS: CacheLimits = CacheLimits { keys_max: 0, lifetime_ns: LIFETIME_NS };

/// Returns a configuration of one subnet of four addresses with `keys`.
fn configuration(keys: &str) -> String {
    format!(
        r#"{{ "Dhcp4": {{
        "interfaces-config": {{ "interfaces": [ "*" ], "dhcp-socket-type": "udp" }},
        "valid-lifetime": 1000,
        "subnet4": [ {{ "id": 1, "subnet": "10.0.0.0/24", {keys}
           "pools": [ {{ "pool": "10.0.0.10 - 10.0.0.13" }} ] }} ]
    }} }}"#
    )
}

/// Returns a reservation of client `n`.
fn host(n: u8, rest: &str) -> dhcp_config::Reservation4 {
    let keys =
        format!(r#""reservations": [ {{ "hw-address": "02:00:00:00:00:{n:02x}", {rest} }} ],"#);
    let mut none = dhcp_config::NoIncludes;
    let checked = dhcp_config::parse_dhcp4("host", &configuration(&keys), &mut none);
    checked.unwrap_or_else(|problems| panic!("{}", problems[0])).config.subnets[0]
        .reservations
        .remove(0)
}

fn served(keys: &str) -> (Server, SharedHostDatabase<V4>) {
    let mut server = Server::new(&configuration(keys));
    let database = SharedHostDatabase::default();
    server.shards[0].set_hosts(HostCache::new(Box::new(database.clone()), LIMITS, 3));
    (server, database)
}

/// Sends a message and lets the database answer until there are no more requests; returns the
/// reply.
fn patiently(
    server: &mut Server,
    database: &SharedHostDatabase<V4>,
    message: &Dhcp4MessageBuilder,
) -> Option<Vec<u8>> {
    let mut sink = Sink::default();
    sink.0.extend(server.send_to(0, &message.octets()));
    while database.answer() {
        server.settle(&mut sink);
        // The database wrote the reply's row in between.
        server.settle(&mut sink);
    }
    assert!(sink.0.len() < 2);
    sink.0.pop().map(|(_, octets)| octets)
}

fn discover(n: u8) -> Dhcp4MessageBuilder {
    Dhcp4MessageBuilder::new(MessageType::Discover, n)
}

fn request(n: u8, address: Ipv4Addr) -> Dhcp4MessageBuilder {
    Dhcp4MessageBuilder::new(MessageType::Request, n).requested(address).server(SERVER)
}

fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

/// Returns the address that a client is offered.
fn offered(
    server: &mut Server,
    database: &SharedHostDatabase<V4>,
    message: &Dhcp4MessageBuilder,
) -> Ipv4Addr {
    let offer = patiently(server, database, message).expect("there is an offer");
    assert_eq!(kind(&offer), Some(MessageType::Offer));
    Message::parse(&offer).expect("an offer can be read").yiaddr()
}

/// Runs an exchange from DISCOVER to ACK; returns the address.
fn leased(server: &mut Server, database: &SharedHostDatabase<V4>, n: u8) -> Ipv4Addr {
    let offered_address = offered(server, database, &discover(n));
    let ack =
        patiently(server, database, &request(n, offered_address)).expect("there is an answer");
    assert_eq!(kind(&ack), Some(MessageType::Ack));
    offered_address
}

#[test]
fn a_row_counts_for_the_first_message_after_what_is_remembered_has_gone_stale() {
    let (mut server, database) = served("");
    assert_eq!(leased(&mut server, &database, 1), address(10));
    database.insert(
        ReservationScope::Subnet(1),
        host(1, r#""ip-address": "10.0.0.200", "hostname": "one""#),
    );
    // The server caches that there was no host.
    assert_eq!(offered(&mut server, &database, &discover(1)), address(10));
    server.pass_s(LIFETIME_NS / NS_PER_S);
    let nak = patiently(&mut server, &database, &request(1, address(10))).unwrap();
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    assert_eq!(leased(&mut server, &database, 1), address(200));
    let message = discover(1).option(option::PARAMETER_REQUEST_LIST, &[option::HOST_NAME]);
    let offer = patiently(&mut server, &database, &message).unwrap();
    let name = Message::parse(&offer).unwrap().host_name().unwrap();
    assert_eq!(name.as_slice(), Some(&b"one"[..]));
    // The server also caches that the host is gone.
    database.content().hosts.clear();
    server.pass_s(LIFETIME_NS / NS_PER_S);
    assert_eq!(offered(&mut server, &database, &discover(1)), address(10));
    server.settle_down();
}

#[test]
fn what_is_reserved_in_a_database_is_for_nobody_else() {
    let (mut server, database) = served("");
    for last in [10, 12] {
        let rest = format!(r#""ip-address": "10.0.0.{last}""#);
        database.insert(ReservationScope::Subnet(1), host(100 + last, &rest));
    }
    assert_eq!(offered(&mut server, &database, &discover(1).requested(address(12))), address(11));
    let nak = patiently(&mut server, &database, &request(2, address(10))).unwrap();
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    assert_eq!(leased(&mut server, &database, 1), address(11));
    assert_eq!(leased(&mut server, &database, 2), address(13));
    assert_eq!(patiently(&mut server, &database, &discover(3)), None);
    assert_eq!(server.dropped(DropReason::PoolExhausted), 1);
    // Clients that were about to get these addresses do not delay their owners.
    assert_eq!(leased(&mut server, &database, 110), address(10));
    assert_eq!(leased(&mut server, &database, 112), address(12));
    server.settle_down();
}

#[test]
fn reservations_outside_of_pools_cost_no_question_about_addresses() {
    let (mut server, database) = served(r#""reservations-out-of-pool": true,"#);
    database.insert(ReservationScope::Subnet(1), host(1, r#""ip-address": "10.0.0.10""#));
    database.insert(ReservationScope::Subnet(1), host(2, r#""ip-address": "10.0.0.77""#));
    assert_eq!(leased(&mut server, &database, 3), address(10));
    assert_eq!(leased(&mut server, &database, 2), address(77));
    let content = database.content();
    let is_address = |key: &HostKey<Ipv4Addr>| matches!(key, HostKey::Address(address) if *address != Ipv4Addr::new(10, 0, 0, 77));
    assert!(!content.requests.iter().flatten().any(is_address), "{:?}", content.requests);
}

#[test]
fn the_configuration_goes_first_and_needs_no_database() {
    let own = r#""reservations": [ { "hw-address": "02:00:00:00:00:01",
                                     "ip-address": "10.0.0.50" } ],"#;
    let (mut server, database) = served(own);
    database.insert(ReservationScope::Subnet(1), host(1, r#""ip-address": "10.0.0.60""#));
    database.content().is_failing = true;
    assert_eq!(server.lease(1), address(50));
    assert_eq!(database.content().requests.len(), 0);
}

#[test]
fn one_question_is_asked_for_all_messages_of_a_batch() {
    let (mut server, database) = served("");
    let mut sink = Sink::default();
    for n in 0..50 {
        let octets = discover(n).octets();
        server.shards[0].handle(
            server.now,
            &octets,
            <V4 as common::TestProtocol>::INGRESS,
            &mut sink,
        );
    }
    server.shards[0].end_batch(server.now, &mut sink);
    assert_eq!(sink.0.len(), 0);
    let batches = database.content().requests.clone();
    assert_eq!(batches.len(), 1);
    let mut keys = batches[0].clone();
    keys.sort_unstable();
    keys.dedup();
    let hardware =
        |key: &HostKey<_>| matches!(key, HostKey::Identifier(IdentifierKind::HardwareAddress, _));
    assert_eq!((keys.len(), batches[0].len()), (50, 50));
    assert!(keys.iter().all(hardware));
    // Four addresses are available; each is looked up once, in one request.
    while database.answer() {
        server.settle(&mut sink);
    }
    assert_eq!(sink.0.len(), 50);
    let mut addresses = database.content().requests[1].clone();
    addresses.sort_unstable();
    assert_eq!(addresses, [10, 11, 12, 13].map(|last| HostKey::Address(address(last))));
    assert_eq!(database.content().requests.len(), 2);
}

#[test]
fn a_database_that_is_gone_costs_the_messages_that_need_it_and_is_asked_again() {
    let (mut server, database) = served("");
    database.insert(ReservationScope::Subnet(1), host(1, r#""ip-address": "10.0.0.60""#));
    database.content().is_failing = true;
    assert_eq!(patiently(&mut server, &database, &discover(1)), None);
    assert_eq!(server.dropped(DropReason::HostsUnavailable), 1);
    database.content().is_failing = false;
    database.answer();
    // The first message finds that the database is available again.
    let first = patiently(&mut server, &database, &discover(1));
    let offer = first.or_else(|| patiently(&mut server, &database, &discover(1))).unwrap();
    assert_eq!(Message::parse(&offer).expect("an offer can be read").yiaddr(), address(60));
    server.settle_down();
}

#[test]
fn who_is_never_answered_is_dropped_in_the_end() {
    let (mut server, database) = served("");
    server.tell(&discover(1));
    server.tell(&discover(1));
    server.pass_s(HELD_DEADLINE_NS / NS_PER_S + 1);
    assert!(server.shards[0].is_idle());
    assert_eq!(server.dropped(DropReason::GateDeadline), 2);
    database.answer();
    assert_eq!(offered(&mut server, &database, &discover(1)), address(10));
}

#[test]
fn a_client_that_is_remembered_costs_no_allocation() {
    let (mut server, database) = served("");
    database.insert(ReservationScope::Subnet(1), host(1, r#""ip-address": "10.0.0.60""#));
    assert_eq!(leased(&mut server, &database, 1), address(60));
    let batch_count = database.content().requests.len();
    let octets = discover(1).octets();
    let mut count = u64::MAX;
    for _ in 0..3 {
        let mut sink = Sink::default();
        sink.0.reserve(4);
        let (now, shard) = (server.now, &mut server.shards[0]);
        let counted = allocation_counter::measure(|| {
            shard.handle(
                now,
                &octets,
                <V4 as common::TestProtocol>::INGRESS,
                &mut Discard(&mut sink),
            );
            shard.end_batch(now, &mut Discard(&mut sink));
        });
        count = counted.count_total;
        server.now = server.now.after_ns(NS_PER_MS);
    }
    assert_eq!(count, 0);
    assert_eq!(database.content().requests.len(), batch_count);
}

/// Receiver that discards replies.
struct Discard<'s>(&'s mut Sink);

impl dhcp_engine::ReplySink<V4> for Discard<'_> {
    fn transmit(
        &mut self,
        _to: dhcp_engine::v4::Destination,
        _ingress: dhcp_engine::v4::Ingress,
        _octets: &[u8],
    ) -> bool {
        self.0.0.is_empty()
    }
}

#[test]
fn what_is_remembered_is_bounded() {
    let (mut server, database) = served("");
    for n in 0..3 * CACHE_KEYS_MIN as u32 {
        let mut message = discover(1);
        message.header.chaddr[..4].copy_from_slice(&n.to_be_bytes());
        let message =
            message.option(option::CLIENT_IDENTIFIER, &[&[9][..], &n.to_be_bytes()].concat());
        patiently(&mut server, &database, &message);
    }
    // Each client adds a hardware address and a client identifier, and there are four addresses.
    assert!(database.content().requests.iter().flatten().count() > 6 * CACHE_KEYS_MIN);
    assert_eq!(server.shards[0].hosts().len(), CACHE_KEYS_MIN);
}

#[test]
fn a_new_configuration_looks_everything_up_again() {
    let (mut server, database) = served("");
    database.insert(ReservationScope::Subnet(1), host(1, r#""client-classes": [ "gold" ]"#));
    assert_eq!(leased(&mut server, &database, 1), address(10));
    let gold = configuration(r#""require-client-classes": [],"#).replace(
        r#""valid-lifetime": 1000,"#,
        r#""valid-lifetime": 1000, "client-classes": [ { "name": "other" },
           { "name": "gold", "valid-lifetime": 77 } ],"#,
    );
    server.reload(&gold);
    let ack = patiently(&mut server, &database, &request(1, address(10))).unwrap();
    let time = Message::parse(&ack).unwrap().option(option::LEASE_TIME).unwrap();
    assert_eq!(time.as_slice(), Some(&77_u32.to_be_bytes()[..]));
}
