//! Replay of one side of the conversations of Linux kernels to a connection of this crate, at the
//! times of the capture. The connection's first sequence number is that of the missing kernel.
//! Acknowledgements of packets that it has not sent yet are lowered to its greatest number.

use crate::common;
use crate::common::CapturedDccpPacket;
use dccp::ccid::SenderFigures;
use dccp::connection::{
    Connection, ConnectionConfig, ConnectionEvent, ConnectionPath, ConnectionState, Ecn,
};
use dccp::feature::{Feature, number};
use dccp::header::{DccpHeader, DccpPacket, PacketType, ServiceCode};
use dccp::sequence::SequenceNumber;

const GOLD: ServiceCode = ServiceCode::new(0x676f_6c64);
const SERVER_PORT: u16 = 5_001;

/// Result of a replayed conversation.
struct ReplayedConversation {
    connection: Connection,
    received: Vec<Vec<u8>>,
    events: Vec<ConnectionEvent>,
    sent: Vec<DccpHeader>,
    /// Number of packets of the kernel that were replayed.
    count: usize,
}

fn parse(captured: &CapturedDccpPacket) -> DccpPacket<'_> {
    DccpPacket::parse(&captured.octets, captured.integrity()).unwrap()
}

fn path(packet: &CapturedDccpPacket) -> ConnectionPath {
    let header = parse(packet).header;
    ConnectionPath {
        local_port: header.destination_port,
        remote_port: header.source_port,
        integrity: packet.integrity().reversed(),
    }
}

/// Replays the kernel's packets to `connection`, which sends a datagram of `send` bytes at first.
fn play(
    mut connection: Connection,
    packets: &[&CapturedDccpPacket],
    send: usize,
) -> ReplayedConversation {
    let mut played = (Vec::new(), Vec::new(), Vec::new());
    let mut buffer = [0; 2_000];
    let mut to_send = send;
    let mut flush = |connection: &mut Connection, now_ns: u64| {
        while let Some(transmit) = connection.poll_transmit(now_ns, &mut buffer) {
            let integrity = packets[0].integrity().reversed();
            let packet = DccpPacket::parse(&buffer[..transmit.len], integrity).unwrap();
            played.2.push(packet.header);
        }
        while let Some(event) = connection.poll_event() {
            match event {
                ConnectionEvent::Received(data) => played.0.push(data),
                event => played.1.push(event),
            }
        }
        while to_send > 0 && connection.send(b"ours", 0).is_ok() {
            to_send -= 1;
        }
    };
    for captured in packets {
        while let Some(at_ns) = connection.poll_timeout()
            && at_ns < captured.time_ns
        {
            connection.handle_timeout(at_ns);
            flush(&mut connection, at_ns);
        }
        let mut packet = parse(captured);
        let gss = connection.greatest_numbers().0;
        if let Some(number) = &mut packet.header.acknowledgement
            && SequenceNumber::new(*number).is_after(gss)
        {
            *number = gss.value();
        }
        connection.handle_packet(captured.time_ns, Ecn::NotCapable, &packet);
        flush(&mut connection, captured.time_ns);
    }
    let (received, events, sent) = played;
    ReplayedConversation { connection, received, events, sent, count: packets.len() }
}

/// Replays a capture with this crate as the server.
fn as_server(name: &str, config: ConnectionConfig) -> ReplayedConversation {
    let packets = common::packets(name);
    let (up, down): (Vec<_>, Vec<_>) =
        packets.iter().partition(|captured| parse(captured).header.destination_port == SERVER_PORT);
    let iss = SequenceNumber::new(parse(down[0]).header.sequence);
    let config = ConnectionConfig { service_code: GOLD, receive_queue_len: 10_000, ..config };
    play(Connection::accept(path(up[0]), config, iss, &parse(up[0])), &up, 0)
}

/// Replays a capture with this crate as the client.
fn as_client(name: &str, config: ConnectionConfig, send: usize) -> ReplayedConversation {
    let packets = common::packets(name);
    let (up, down): (Vec<_>, Vec<_>) =
        packets.iter().partition(|captured| parse(captured).header.destination_port == SERVER_PORT);
    let iss = SequenceNumber::new(parse(up[0]).header.sequence);
    let config = ConnectionConfig { service_code: GOLD, receive_queue_len: 10_000, ..config };
    let begin_ns = up[0].time_ns;
    let mut connection = Connection::connect(begin_ns, path(down[0]), config, iss, &[]);
    let mut buffer = [0; 2_000];
    assert!(connection.poll_transmit(begin_ns, &mut buffer).is_some());
    play(connection, &down, send)
}

fn ccids(tx: &[u8], rx: &[u8]) -> ConnectionConfig {
    ConnectionConfig { tx_ccids: tx.to_vec(), rx_ccids: rx.to_vec(), ..ConnectionConfig::default() }
}

/// Checks the datagrams that the kernel's application sent: each has its number, and repeats it in
/// every byte.
fn assert_kernel_payload(datagrams: &[Vec<u8>]) {
    for data in datagrams.iter().filter(|data| data.len() >= 16) {
        let number = u64::from_be_bytes(data[..8].try_into().unwrap());
        for (offset, &octet) in data.iter().enumerate().skip(16) {
            assert_eq!(octet, (number + offset as u64) as u8);
        }
    }
}

#[test]
fn a_kernels_client_is_served_with_either_ccid() {
    for (name, ccid, datagrams) in [
        ("ccid2-basic-a", 2, 40),
        ("ccid3-basic-a", 3, 60),
        ("ccid2-v6-a", 2, 40),
        ("ccid3-v6-a", 3, 60),
        ("zero-length-a", 2, 5),
    ] {
        let played = as_server(name, ccids(&[2, 3], &[2, 3]));
        let counts = played.connection.counts();
        assert_eq!((counts.sequence_invalid, counts.unexpected), (0, 0), "{name}");
        assert_eq!(played.received.len(), datagrams, "{name}");
        assert_kernel_payload(&played.received);
        assert_eq!(played.events, [ConnectionEvent::Connected, ConnectionEvent::Closed], "{name}");
        let features = played.connection.features();
        for feature in [Feature::local(number::CCID), Feature::remote(number::CCID)] {
            assert_eq!(features.value(feature), ccid, "{name}");
        }
        assert!(features.is_on(Feature::remote(number::ECN_INCAPABLE)), "{name}");
        assert!(features.is_on(Feature::local(if ccid == 2 { 6 } else { 192 })), "{name}");
        let last = played.sent.last().unwrap();
        assert_eq!(last.packet_type, PacketType::Reset, "{name}");
        assert!(played.sent.len() >= 3 && played.count >= 5);
    }
}

#[test]
fn a_kernels_request_that_was_lost_comes_again() {
    let played = as_server("request-lost-a", ccids(&[2, 3], &[2, 3]));
    assert_eq!(played.connection.counts().sequence_invalid, 0);
    assert_eq!(played.connection.state(), ConnectionState::Closed);
    assert!(!played.received.is_empty());
}

#[test]
fn a_kernel_with_a_different_ccid_in_each_direction_is_served() {
    let played = as_server("ccid-asym-c3s2-a", ccids(&[2, 3], &[2, 3]));
    assert_eq!(played.connection.counts().sequence_invalid, 0);
    let features = played.connection.features();
    assert_eq!(features.value(Feature::remote(number::CCID)), 3);
    assert_eq!(features.value(Feature::local(number::CCID)), 2);
    assert!(matches!(played.connection.sender_figures(), Some(SenderFigures::Window { .. })));
    assert_kernel_payload(&played.received);
}

#[test]
fn a_kernels_partial_coverage_needs_a_minimum_that_allows_it() {
    let played =
        as_server("cscov-a", ConnectionConfig { minimum_coverage: 1, ..ccids(&[2, 3], &[2, 3]) });
    assert_eq!(played.connection.counts().sequence_invalid, 0);
    assert_eq!(played.events.last(), Some(&ConnectionEvent::Closed));
}

#[test]
fn a_kernels_server_is_spoken_to_with_either_ccid() {
    for (name, ccid) in [
        ("ccid2-basic-a", 2),
        ("ccid3-basic-a", 3),
        ("ccid2-v6-a", 2),
        ("ccid3-v6-a", 3),
        ("ccid3-echo-a", 3),
    ] {
        let played = as_client(name, ccids(&[ccid], &[ccid]), 30);
        let counts = played.connection.counts();
        assert_eq!((counts.sequence_invalid, counts.unexpected), (0, 0), "{name}");
        assert_eq!(played.events[0], ConnectionEvent::Connected, "{name}");
        let features = played.connection.features();
        assert_eq!(features.value(Feature::local(number::CCID)), u64::from(ccid), "{name}");
        assert_kernel_payload(&played.received);
        // The kernel's Reset "Closed" answers the Close of the missing client.
        assert!(matches!(played.events[1], ConnectionEvent::Reset(_)), "{name}");
        assert_eq!(played.connection.state(), ConnectionState::TimeWait, "{name}");
        assert!(played.sent.iter().any(|header| header.packet_type.is_data_packet()), "{name}");
    }
}

#[test]
fn a_kernels_server_that_closes_is_answered() {
    let closes = as_client("server-closes-a", ccids(&[2], &[2]), 0);
    let types: Vec<_> = closes.sent.iter().map(|header| header.packet_type).collect();
    assert!(types.contains(&PacketType::Close), "{types:?}");
    assert_eq!(closes.connection.state(), ConnectionState::TimeWait);
    let holds = as_client("server-timewait-a", ccids(&[2], &[2]), 0);
    assert_eq!(holds.sent.last().unwrap().packet_type, PacketType::Reset);
    assert_eq!(holds.events.last(), Some(&ConnectionEvent::Closed));
}

#[test]
fn a_kernels_refusals_are_understood() {
    for (name, code) in [("refused-a", 3), ("ccid-mismatch-a", 5)] {
        let played = as_client(name, ccids(&[2], &[2]), 0);
        let [ConnectionEvent::Reset(reset)] = played.events[..] else {
            panic!("{name}: {:?}", played.events)
        };
        assert_eq!(reset.code.number(), code, "{name}");
    }
}
