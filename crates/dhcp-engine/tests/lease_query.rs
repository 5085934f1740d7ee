//! Lease queries over UDP: which requesters get a reply, and when it may leave. Their content is
//! compared with Kea's in the twin `kea3/lease_query` of `godwit`.

use crate::common::{ReplyCollector, v4, v6};
use dhcp_engine::DropReason;
use dhcp_wire::v4::{MessageType as Kind4, option as option4};
use dhcp_wire::v6::{MessageType as Kind6, option as option6};

/// Returns `config` with the library for the requesters `list`.
fn with_library(config: &str, list: &str) -> String {
    let library = format!(
        r#""hooks-libraries": [ {{ "library": "libdhcp_lease_query.so",
               "parameters": {{ "requesters": [ {list} ] }} }} ], "interfaces-config""#
    );
    config.replacen("\"interfaces-config\"", &library, 1)
}

fn query4(n: u8) -> v4::Dhcp4MessageBuilder {
    v4::Dhcp4MessageBuilder::new(Kind4::LeaseQuery, n)
}

#[test]
fn a_reply_waits_until_the_row_of_its_lease_is_durable() {
    let mut server = v4::Server::new(&with_library(v4::SMALL, "\"10.0.0.0/24\""));
    assert_eq!(v4::kind(&server.ask(&query4(1))), Some(Kind4::LeaseUnknown));
    let address = server.lease(1);
    // Later than the time for which a lease is repeated without a row.
    server.pass_s(300);
    server.auto_settle = false;
    server.tell(&v4::Dhcp4MessageBuilder::new(Kind4::Request, 1).from(address));
    server.tell(&query4(1));
    let mut sink = ReplyCollector::default();
    server.settle(&mut sink);
    let kinds: Vec<_> = sink.0.iter().map(|(_, reply)| v4::kind(reply)).collect();
    assert_eq!(kinds, [Some(Kind4::Ack), Some(Kind4::LeaseActive)]);
    server.settle_down();
}

#[test]
fn a_dhcpv6_reply_waits_until_the_rows_of_its_leases_are_durable() {
    let config = with_library(v6::SMALL, "\"2001:db8:1::1\"");
    let mut server: v6::Server = v6::Server::new(&config);
    let query = [&[2], &[0; 16][..], &[0, 1, 0, v6::duid(1).len() as u8], &v6::duid(1)].concat();
    let query = v6::Dhcp6MessageBuilder::new(Kind6::LeaseQuery, 9)
        .direct()
        .option(option6::LQ_QUERY, &query);
    assert_eq!(server.ask(&query).option(option6::CLIENT_DATA), None);
    server.auto_settle = false;
    let request = v6::Dhcp6MessageBuilder::new(Kind6::Request, 1).for_us();
    server.tell(&request.na(1, &[]).pd(1, &[]));
    server.tell(&query);
    let mut sink = ReplyCollector::default();
    server.settle(&mut sink);
    let [_, (_, reply)] = &sink.0[..] else { panic!("two replies: {:?}", sink.0) };
    let reply = v6::ParsedDhcp6Reply::parse(reply);
    assert_eq!(reply.kind, Kind6::LeaseQueryReply);
    assert!(reply.option(option6::CLIENT_DATA).is_some(), "{reply:?}");
    server.settle_down();
}

#[test]
fn only_configured_requesters_with_one_query_are_answered() {
    let mut server = v4::Server::new(&with_library(v4::SMALL, "\"10.0.0.0/31\""));
    let two = query4(1).option(option4::CLIENT_ID, &[1, 2]);
    server.tell(&two);
    server.tell(&query4(1).direct());
    assert_eq!(server.dropped(DropReason::MalformedLeaseQuery), 2);
    let mut stranger = query4(1);
    stranger.header.giaddr = "10.0.0.2".parse().unwrap();
    server.tell(&stranger);
    assert_eq!(server.dropped(DropReason::LeaseQueryRefused), 1);
    server.tell(&query4(1).server("10.0.0.9".parse().unwrap()));
    assert_eq!(server.dropped(DropReason::ClientChoseOtherServer), 1);
    server.ask(&query4(1));
    server.reload(v4::SMALL);
    server.tell(&query4(1));
    assert_eq!(server.dropped(DropReason::UnexpectedMessageType), 1);
    server.settle_down();
    let mut server: v6::Server = v6::Server::new(&with_library(v6::SMALL, "\"2001:db8:1::2\""));
    server.tell(&v6::Dhcp6MessageBuilder::new(Kind6::LeaseQuery, 9));
    assert_eq!(server.dropped(DropReason::LeaseQueryRefused), 1);
    server.settle_down();
}
