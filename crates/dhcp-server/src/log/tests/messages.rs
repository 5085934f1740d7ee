//! Tests of the lines about single messages, from the notice to the line.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use dhcp_engine::v4::Destination;
use dhcp_engine::{DropReason, InterfaceNames, MeasuredRequest, Notice, Protocol};
use dhcp_lease::v6::V6;
use dhcp_wire::v4::{Dhcp4Header, MessageType, MessageWriter};
use dhcp_wire::v6::{self, IaKind, StatusCode};

use super::*;
use crate::loggers::LogTopic;
use crate::message_log::{MessageLogWriter, PendingRequests, log_notice_v4, log_notice_v6};

/// Returns the lines that `log` writes when loggers take everything up to `debug_level`.
fn logged_lines(
    family: &'static str,
    debug_level: u8,
    log: impl Fn(MessageLogWriter<'_>),
) -> Vec<String> {
    let folder = TempFolder::new("log-messages");
    let path = folder.path().join("log");
    let mut logger = to_file(&path, "%c %m");
    logger.name = format!("kea-{family}");
    (logger.severity, logger.debug_level) = (LogSeverity::Debug, debug_level);
    let names = InterfaceNames::new([(3, "eth0")]);
    let with = |topic_levels: LogTopicLevels, topic| topic_levels.with(topic, debug_level);
    let topic_levels = LogTopic::ALL.into_iter().fold(LogTopicLevels::NONE, with);
    let text = written(family, &path, &[logger], || {
        log(MessageLogWriter { topic_levels, names: &names, at_us: 0 })
    });
    text.lines().map(str::to_owned).collect()
}

fn message4(kind: MessageType, address: Ipv4Addr, lease_s: Option<u32>) -> Vec<u8> {
    let mut header = Dhcp4Header { xid: 0xabc, yiaddr: address, ..Dhcp4Header::default() };
    header.chaddr[..6].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
    let mut buffer = [0; 600];
    let mut writer = MessageWriter::new(&mut buffer, &header);
    writer.message_type(kind).option(61, &[1, 9]);
    if let Some(lease_s) = lease_s {
        writer.option_u32(51, lease_s);
    }
    let len = writer.finish(0).unwrap();
    buffer[..len].to_vec()
}

const INGRESS4: dhcp_engine::v4::Ingress = dhcp_engine::v4::Ingress {
    source: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 67),
    local: Ipv4Addr::new(10, 0, 0, 2),
    interface: 3,
    is_broadcast: false,
    listener_index: 0,
    mac: None,
};

fn log_exchange(writer: MessageLogWriter<'_>) {
    let (unspecified, address) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::new(10, 0, 0, 9));
    let request = MeasuredRequest::default();
    let sent = Notice::Sent { destination: Destination::Relay(INGRESS4.source), request };
    let log = |notice, octets: &[u8]| log_notice_v4(writer, notice, octets, INGRESS4);
    log(Notice::Received, &message4(MessageType::Discover, unspecified, None));
    log(sent, &message4(MessageType::Offer, address, Some(60)));
    log(sent, &message4(MessageType::Ack, address, Some(60)));
    log(sent, &message4(MessageType::Ack, unspecified, None));
    log(sent, &message4(MessageType::Nak, unspecified, None));
    log(Notice::Silent, &message4(MessageType::Release, unspecified, None));
    log(Notice::Malformed(0), &[1, 2, 3]);
    let discover = message4(MessageType::Discover, unspecified, None);
    log(Notice::Dropped(DropReason::Filtered), &discover);
    log(Notice::Dropped(DropReason::PoolExhausted), &discover);
    log(Notice::Dropped(DropReason::ServiceDisabled), &[0; 4]);
}

#[test]
fn messages_of_v4_are_told_under_keas_names() {
    let client = "[hwtype=1 02:00:00:00:00:07], cid=[01:09], tid=0xabc";
    let of_packets = |rest: &str| format!("kea-dhcp4.packets {}", rest.replace("CLIENT", client));
    let of_leases = |rest: &str| format!("kea-dhcp4.leases {}", rest.replace("CLIENT", client));
    let always = vec![
        of_packets(
            "DHCP4_PACKET_RECEIVED CLIENT: DHCPDISCOVER (type 1) received from 10.0.0.1 to 10.0.0.2 on \
             interface eth0",
        ),
        of_leases("DHCP4_LEASE_OFFER CLIENT: lease 10.0.0.9 will be offered"),
        of_packets("DHCP4_PACKET_SEND CLIENT: DHCPOFFER (type 2) to relay agent 10.0.0.1:67"),
        of_leases("DHCP4_LEASE_ALLOC CLIENT: lease 10.0.0.9 has been allocated for 60 seconds"),
        of_packets("DHCP4_PACKET_SEND CLIENT: DHCPACK (type 5) to relay agent 10.0.0.1:67"),
        of_packets("DHCP4_PACKET_SEND CLIENT: DHCPACK (type 5) to relay agent 10.0.0.1:67"),
        of_packets("DHCP4_PACKET_SEND CLIENT: DHCPNAK (type 6) to relay agent 10.0.0.1:67"),
        of_leases("DHCP4_RELEASE CLIENT: address 0.0.0.0 was released properly."),
        of_leases("DHCP4_RELEASE_DELETED CLIENT: address 0.0.0.0 was deleted on release."),
    ];
    assert_eq!(logged_lines("dhcp4", 0, log_exchange), always);
    let finer = logged_lines("dhcp4", 99, log_exchange);
    let rest: Vec<&String> = finer.iter().filter(|line| !always.contains(line)).collect();
    let bad = |rest: &str| format!("kea-dhcp4.bad-packets {}", rest.replace("CLIENT", client));
    let arrival = " bytes from 10.0.0.1 port 67 to 10.0.0.2 on interface eth0";
    assert!(rest[0].starts_with("kea-dhcp4.packets DHCP4_BUFFER_RECEIVED 2"), "{rest:?}");
    assert!(rest[0].ends_with(arrival), "{rest:?}");
    assert_eq!(*rest[1], bad("DHCP4_PACKET_NAK_0004 CLIENT: refused"));
    assert_eq!(*rest[2], of_packets(&format!("DHCP4_BUFFER_RECEIVED 3{arrival}")));
    let malformed = bad("DHCP4_PACKET_DROP_0001 3 bytes from 10.0.0.1:67 on interface eth0: ");
    assert!(rest[3].starts_with(&malformed), "{rest:?}");
    assert_eq!(*rest[4], of_packets("DHCP4_PACKET_DROP_0010 CLIENT: no answer: filtered"));
    assert_eq!(*rest[5], bad("DHCP4_PACKET_NAK_0003 CLIENT: no answer: pool-exhausted"));
    let disabled = "DHCP4_PACKET_DROP_0008 from 10.0.0.1:67: no answer: service-disabled";
    assert_eq!(*rest[6], bad(disabled));
    assert_eq!(rest.len(), 7, "{rest:?}");
}

fn reply6(kind: v6::MessageType) -> Vec<u8> {
    let mut buffer = [0; 600];
    let mut writer = v6::MessageWriter::new(&mut buffer, kind, 0x123);
    writer.option(1, &[0, 3, 0, 1, 2, 7]);
    let mark = writer.ia(IaKind::Na, 5, 0, 0);
    writer.ia_address("2001:db8::1".parse().unwrap(), 30, 60).end(mark);
    let mark = writer.ia(IaKind::Pd, 6, 0, 0);
    writer.ia_prefix("2001:db8:1::".parse().unwrap(), 56, 30, 60).end(mark);
    let mark = writer.ia(IaKind::Na, 7, 0, 0);
    writer.status(StatusCode::NoAddrsAvail, "").end(mark);
    let len = writer.finish().unwrap();
    buffer[..len].to_vec()
}

#[test]
fn messages_of_v6_are_told_under_keas_names() {
    let source = SocketAddrV6::new(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 7), 546, 0, 3);
    let ingress = dhcp_engine::v6::Ingress {
        source,
        local: Ipv6Addr::UNSPECIFIED,
        interface: 4,
        is_multicast: true,
        listener_index: 0,
    };
    let kind = |name: &str| V6::RECEIVED.iter().position(|kind| *kind == name).unwrap();
    let lines = logged_lines("dhcp6", 50, |writer| {
        let mut pending_requests = PendingRequests::default();
        let mut log = |notice, octets: &[u8]| {
            log_notice_v6(writer, notice, octets, ingress, &mut pending_requests)
        };
        for (request_type, answer) in [
            ("SOLICIT", v6::MessageType::Advertise),
            ("REQUEST", v6::MessageType::Reply),
            ("REBIND", v6::MessageType::Reply),
        ] {
            let request =
                MeasuredRequest { kind: kind(request_type), ..MeasuredRequest::default() };
            log(Notice::Sent { destination: source, request }, &reply6(answer));
        }
        log(Notice::Received, &reply6(v6::MessageType::Solicit));
        log(Notice::Dropped(DropReason::UnicastFromClient), &reply6(v6::MessageType::Request));
        log(Notice::Malformed(0), &[1]);
    });
    let ids: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    let expected = [
        "DHCP6_LEASE_ADVERT",
        "DHCP6_PD_LEASE_ADVERT",
        "DHCP6_LEASE_ADVERT_FAIL",
        "DHCP6_PACKET_SEND",
        "DHCP6_LEASE_ALLOC",
        "DHCP6_PD_LEASE_ALLOC",
        "DHCP6_LEASE_ALLOC_FAIL",
        "DHCP6_PACKET_SEND",
        "DHCP6_LEASE_RENEW",
        "DHCP6_PD_LEASE_RENEW",
        "DHCP6_LEASE_ALLOC_FAIL",
        "DHCP6_PACKET_SEND",
        "DHCP6_BUFFER_RECEIVED",
        "DHCP6_PACKET_RECEIVED",
        "DHCP6_PACKET_DROP_UNICAST",
        "DHCP6_BUFFER_RECEIVED",
        "DHCP6_PACKET_DROP_PARSE_FAIL",
    ];
    assert_eq!(ids, expected);
    let client = "duid=[00:03:00:01:02:07], [no hwaddr info], tid=0x123";
    let leased = "lease for address 2001:db8::1 and iaid=5 has been allocated for 60 seconds";
    assert_eq!(lines[4], format!("kea-dhcp6.leases DHCP6_LEASE_ALLOC {client}: {leased}"));
    let delegated = "lease for prefix 2001:db8:1::/56 and iaid=6 has been allocated";
    assert_eq!(lines[9], format!("kea-dhcp6.leases DHCP6_PD_LEASE_RENEW {client}: {delegated}"));
    let received = "SOLICIT (type 1) received from fe80::7 to :: on interface number 4";
    assert_eq!(lines[13], format!("kea-dhcp6.packets DHCP6_PACKET_RECEIVED {client}: {received}"));
}
