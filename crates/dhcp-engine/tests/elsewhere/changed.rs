//! Tests of hosts that a command changes in a database: each message after the command meets the
//! new hosts, whatever the shard has cached or is about to get.

use dhcp_config::IdentifierKind;
use dhcp_engine::hosts::{HostKey, ReservationScope};
use dhcp_wire::v4::{Message, MessageType};

use super::{address, discover, host, leased, offered, patiently, request, served};
use crate::common::v4::{Sink, kind};

type Key = HostKey<std::net::Ipv4Addr>;

/// Returns the key of client `n`.
fn client(n: u8) -> Key {
    HostKey::Identifier(IdentifierKind::HardwareAddress, Box::new([2, 0, 0, 0, 0, n]))
}

#[test]
fn a_host_counts_for_the_message_after_the_command_that_added_or_deleted_it() {
    let (mut server, database) = served("");
    assert_eq!(leased(&mut server, &database, 1), address(10));
    assert_eq!(leased(&mut server, &database, 2), address(11));
    let requests = database.content().requests.len();
    database.insert(ReservationScope::Subnet(1), host(1, r#""ip-address": "10.0.0.200""#));
    let keys = [client(1), HostKey::Address(address(200))];
    database.announce(Some(&keys));
    assert_eq!(offered(&mut server, &database, &discover(1)), address(200));
    let nak = patiently(&mut server, &database, &request(1, address(10))).unwrap();
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    // The other client's absence from the database is cached still.
    assert_eq!(offered(&mut server, &database, &discover(2)), address(11));
    let content = database.content();
    let later = content.requests[requests..].iter().flatten();
    assert_eq!(later.filter(|key| **key == client(2)).count(), 0);
    drop(content);
    database.content().hosts.clear();
    database.announce(Some(&keys));
    assert_eq!(offered(&mut server, &database, &discover(1)), address(10));
    server.settle_down();
}

#[test]
fn a_reserved_address_is_kept_from_others_after_the_command() {
    let (mut server, database) = served("");
    assert_eq!(offered(&mut server, &database, &discover(1)), address(10));
    database.insert(ReservationScope::Subnet(1), host(9, r#""ip-address": "10.0.0.10""#));
    database.announce(Some(&[client(9), HostKey::Address(address(10))]));
    assert_eq!(offered(&mut server, &database, &discover(1)), address(11));
    let nak = patiently(&mut server, &database, &request(2, address(10))).unwrap();
    assert_eq!(kind(&nak), Some(MessageType::Nak));
    server.settle_down();
}

#[test]
fn an_answer_from_before_the_command_does_not_count() {
    for announces_all in [false, true] {
        let (mut server, database) = served("");
        let mut sink = Sink::default();
        sink.0.extend(server.send_to(0, &discover(1).octets()));
        // The database has answered that there is no host; the shard has not taken the answer.
        assert!(database.answer());
        database.insert(ReservationScope::Subnet(1), host(1, r#""ip-address": "10.0.0.200""#));
        let keys = [client(1)];
        database.announce(if announces_all { None } else { Some(&keys) });
        server.settle(&mut sink);
        while database.answer() {
            server.settle(&mut sink);
            server.settle(&mut sink);
        }
        let (_, offer) = sink.0.pop().expect("there is an offer");
        assert_eq!(Message::parse(&offer).expect("it can be read").yiaddr(), address(200));
        server.settle_down();
    }
}
