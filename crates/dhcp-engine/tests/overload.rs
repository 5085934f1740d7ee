//! Overload of a shard, as the statistics show it: the messages that it drops, their order, and
//! Kea's names for them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use crate::common::{EngineTestServer, TestProtocol, v4, v6};
use dhcp_engine::shard::{HELD_CAPACITY, OUTBOX_CAPACITY};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_wire::{v4 as wire4, v6 as wire6};

const WIDE_4: &str = r#"{ "Dhcp4": {
    "interfaces-config": { "interfaces": [ "*" ], "dhcp-socket-type": "udp" },
    "subnet4": [ { "id": 1, "subnet": "10.0.0.0/16",
                   "pools": [ { "pool": "10.0.0.10 - 10.0.255.250" } ] } ] } }"#;
const WIDE_6: &str = r#"{ "Dhcp6": {
    "interfaces-config": { "interfaces": [ "*" ] },
    "subnet6": [ { "id": 1, "subnet": "2001:db8:1::/64",
                   "pools": [ { "pool": "2001:db8:1::1:0 - 2001:db8:1::2:0" } ] } ] } }"#;

fn message_4(kind: wire4::MessageType, client: u16) -> v4::Dhcp4MessageBuilder {
    let mut message = v4::Dhcp4MessageBuilder::new(kind, 0);
    message.header.chaddr[4..6].copy_from_slice(&client.to_be_bytes());
    message
}

fn discover(client: u16) -> Vec<u8> {
    message_4(wire4::MessageType::Discover, client).octets()
}

fn request_4(client: u16) -> Vec<u8> {
    let [high, low] = (client + 100).to_be_bytes();
    let requested = Ipv4Addr::new(10, 0, high, low);
    message_4(wire4::MessageType::Request, client).requested(requested).server(v4::SERVER).octets()
}

fn solicit(client: u16) -> Vec<u8> {
    v6::Dhcp6MessageBuilder::new(wire6::MessageType::Solicit, client).na(1, &[]).octets()
}

fn request_6(client: u16) -> Vec<u8> {
    v6::Dhcp6MessageBuilder::new(wire6::MessageType::Request, client).for_us().na(1, &[]).octets()
}

/// Returns Kea's statistics of the messages of the only shard.
fn statistics_of<P: TestProtocol>(server: &EngineTestServer<P>, names: &[&str]) -> Vec<u64> {
    let all: BTreeMap<String, u64> = server.counters[0].statistics().into_iter().collect();
    names.iter().map(|name| all[&format!("{}-{name}", P::PACKETS)]).collect()
}

/// Checks the drops of an overloaded shard. Messages from `begin` begin an exchange of a client,
/// those from `end` end one.
fn sheds_and_counts<P: TestProtocol>(
    config: &str,
    begin: fn(u16) -> Vec<u8>,
    end: fn(u16) -> Vec<u8>,
) {
    const DROPS: [&str; 4] = ["duplicate", "queue-full", "processing-failed", "receive-drop"];
    let mut server: EngineTestServer<P> = EngineTestServer::new(config);
    server.auto_settle = false;
    let held_count = HELD_CAPACITY as u16;
    let room = OUTBOX_CAPACITY as u16;
    let mut sent = 0;
    let mut send = |server: &mut EngineTestServer<P>, octets: Vec<u8>| {
        assert!(server.send_to(0, &octets).is_empty(), "no row settles");
        sent += 1;
    };
    // Each client waits for its row, and so does its second message; one of these is too many.
    for client in (0..=held_count).chain(0..=held_count) {
        send(&mut server, end(client));
    }
    assert_eq!(statistics_of(&server, &DROPS), [0, 1, 0, 1]);
    send(&mut server, end(0));
    assert_eq!(statistics_of(&server, &DROPS), [1, 1, 0, 2]);
    // With a quarter of the room left, only messages that begin an exchange are dropped.
    for client in held_count + 1..=room / 4 * 3 {
        send(&mut server, end(client));
    }
    send(&mut server, begin(room));
    assert_eq!(statistics_of(&server, &DROPS), [1, 2, 0, 3]);
    for client in room / 4 * 3 + 1..room {
        send(&mut server, end(client));
    }
    assert_eq!(statistics_of(&server, &DROPS), [1, 2, 0, 3]);
    send(&mut server, end(room));
    assert_eq!(statistics_of(&server, &DROPS), [1, 3, 0, 4]);
    // The rows never settle: all waiting messages are dropped when no client waits for them any
    // more.
    server.pass_s(5);
    let waiting_count = u64::from(room + held_count);
    assert_eq!(statistics_of(&server, &DROPS), [1, 3, waiting_count, waiting_count + 4]);
    assert_eq!(statistics_of(&server, &["received", "sent"]), [sent, 0]);
    assert!(server.shards[0].is_idle());
}

/// Checks that the names of all reasons are different, and that labels may contain them.
fn has_a_name_for_each_reason<P: TestProtocol>(config: &str) {
    let server: EngineTestServer<P> = EngineTestServer::new(config);
    let names: Vec<&str> = server.counters[0].drops().map(|(name, _)| name).collect();
    let different: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
    let is_plain =
        |name: &&str| name.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-');
    assert!(names.iter().all(is_plain), "{names:?}");
}

#[test]
fn every_reason_for_a_drop_has_a_name_of_its_own() {
    has_a_name_for_each_reason::<V4>(WIDE_4);
    has_a_name_for_each_reason::<V6>(WIDE_6);
}

#[test]
fn overload_of_dhcpv4_is_shed_and_counted() {
    sheds_and_counts::<V4>(WIDE_4, discover, request_4);
}

#[test]
fn overload_of_dhcpv6_is_shed_and_counted() {
    sheds_and_counts::<V6>(WIDE_6, solicit, request_6);
}
