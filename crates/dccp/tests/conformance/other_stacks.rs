//! Peers that behave like other implementations, mainly Linux 6.1: they send nothing while they
//! have no data, and ignore Changes after the handshake. Paths reorder the first packets.

use dccp::connection::{ConnectionConfig, ConnectionEvent, ConnectionState};
use dccp::feature::{Disagreement, Feature, number as feature_number};
use dccp::header::{PacketType, ResetCode};
use dccp::option::{DccpOptionIterator, number};

use crate::conformance::world::{
    ConformanceSimulation, D_ISS, DevicePacket, MS, RTT, SECOND, T_ISS, VECTORS, config, config_2,
};

/// Changes of a Linux server in its Response.
const CHANGES: [u8; 10] = [1, 32, 4, 2, 0, 1, 32, 4, 4, 1];

fn config_3() -> ConnectionConfig {
    ConnectionConfig { tx_ccids: vec![3], rx_ccids: vec![3], ..config() }
}

/// Returns the options of a Linux server's Response to a client with this CCID.
fn response_options(ccid: u8) -> Vec<u8> {
    let agreed: &[u8] = match ccid {
        2 => &[33, 5, 6, 1, 1, 35, 5, 6, 1, 1, 34, 4, 6, 1, 32, 4, 6, 1],
        _ => &[33, 5, 1, 3, 3, 35, 5, 1, 3, 3, 1, 32, 4, 192, 1, 1, 34, 4, 192, 1, 32, 4, 7, 1],
    };
    [agreed, &CHANGES].concat()
}

fn configs() -> [(u8, ConnectionConfig); 2] {
    [(2, config_2()), (3, config_3())]
}

/// Returns a client that has received a Response with Changes and receives nothing more.
fn client(ccid: u8, config: ConnectionConfig) -> ConformanceSimulation {
    let mut world = ConformanceSimulation::client(config);
    world.take();
    world.now_ns += 10 * MS;
    world.send(PacketType::Response, &response_options(ccid), &[]);
    assert_eq!(world.d.poll_event(), Some(ConnectionEvent::Connected), "the application may send");
    world
}

fn has_confirms(out: &DevicePacket) -> bool {
    let answered = |feature| {
        let mut options = DccpOptionIterator::new(&out.options);
        options.any(|raw| raw.number == 35 && raw.value.first() == Some(&feature))
    };
    answered(2) && answered(4)
}

/// RFC 4340 §8.1.5: data goes in DataAcks, after the Ack and with the Confirms.
#[test]
fn a_client_sends_though_its_server_is_silent() {
    for (ccid, config) in configs() {
        let mut world = client(ccid, config);
        world.d.send(&[7; 100], 0).unwrap();
        let packets = world.take();
        let types: Vec<_> = packets.iter().map(DevicePacket::packet_type).collect();
        assert_eq!(types, [PacketType::Ack, PacketType::DataAck], "CCID {ccid}");
        assert!(packets.iter().all(has_confirms));
        assert_eq!(world.d.state(), ConnectionState::PartOpen);
    }
}

/// RFC 4340 §8.1.5: every packet until OPEN has the Confirms. A datagram that leaves no room for
/// them waits, and the client sends a Sync to get a packet that opens.
#[test]
fn a_datagram_without_room_for_the_confirms_waits_for_the_server() {
    for (ccid, config) in configs() {
        let config = ConnectionConfig { options_bytes: 12, ..config };
        let longest = config.data_bytes_max();
        let mut world = client(ccid, config);
        world.d.send(&vec![7; longest], 0).unwrap();
        let packets = world.pass(300 * MS);
        let types: Vec<_> = packets.iter().map(|(_, out)| out.packet_type()).collect();
        assert_eq!(types, [PacketType::Ack, PacketType::Ack, PacketType::Sync], "CCID {ccid}");
        assert!(packets.iter().all(|(_, out)| has_confirms(out)));
        world.send(PacketType::SyncAck, &[], &[]);
        assert_eq!(world.d.state(), ConnectionState::Open);
        assert_eq!(world.take()[0].data.len(), longest);
    }
}

/// RFC 4340 §8.1.5, §8.3: a Close must not reach a server before the handshake is over.
#[test]
fn a_client_that_closes_at_once_says_its_ack_and_its_data_before() {
    for (ccid, config) in configs() {
        let mut world = client(ccid, config);
        let now_ns = world.now_ns;
        world.d.send(b"all", 0).unwrap();
        world.d.close(now_ns);
        let expected = [PacketType::Ack, PacketType::DataAck, PacketType::Close];
        assert_eq!(world.take_types(), expected, "CCID {ccid}");
    }
    let mut world = client(2, config_2());
    let now_ns = world.now_ns;
    world.d.close(now_ns);
    assert_eq!(world.take_types(), [PacketType::Ack, PacketType::Close]);
}

/// A client gives up a server without a packet after its Response within the time to connect, and
/// sends Syncs before that (RFC 4340 §5.7: a Sync must be answered).
#[test]
fn part_open_ends_after_the_time_to_connect() {
    let limited = ConnectionConfig { connect_timeout_ns: 5 * SECOND, ..config_2() };
    let mut world = client(2, limited);
    let begin_ns = world.now_ns;
    let packets = world.pass(60 * SECOND);
    assert!(packets.iter().any(|(_, out)| out.packet_type() == PacketType::Sync));
    let (at_ns, last) = packets.last().unwrap();
    assert_eq!((at_ns - begin_ns, last.reset().0), (5 * SECOND, ResetCode::Aborted));
    assert!(matches!(world.d.poll_event(), Some(ConnectionEvent::Failed(_))));
    assert_eq!(world.d.ended_in(), Some(ConnectionState::PartOpen));
}

/// Options of a Linux client that offers both CCIDs; they do not mention Ack Vectors.
const OFFERS_BOTH: [u8; 10] = [32, 5, 1, 2, 3, 34, 5, 1, 2, 3];

/// RFC 4341 §4, RFC 4340 §8.1.3: the server negotiates Ack Vectors during the handshake.
#[test]
fn a_server_asks_in_its_response_for_what_the_request_left_open() {
    let mut world = ConformanceSimulation::server_with(config(), D_ISS, &OFFERS_BOTH, &[]);
    let response = world.take_one();
    let option_value = |option| response.option(option).unwrap();
    assert_eq!(option_value(number::CHANGE_R), [feature_number::SEND_ACK_VECTOR, 1]);
    assert_eq!(option_value(number::CHANGE_L), [feature_number::SEND_ACK_VECTOR, 1]);
    // The server requests nothing that the client has requested itself.
    let response = ConformanceSimulation::server_with(config_2(), D_ISS, &VECTORS, &[]).take_one();
    assert_eq!(response.option(number::CHANGE_R), None);
    assert_eq!(response.option(number::CHANGE_L), None);
    // The server requests CCID 3 from a client without CCID options (§10).
    let response = ConformanceSimulation::server_with(config_3(), D_ISS, &[], &[]).take_one();
    assert_eq!(response.option(number::CHANGE_R).unwrap(), [feature_number::CCID, 3]);
    assert_eq!(response.option(number::CHANGE_L).unwrap(), [feature_number::CCID, 3]);
    assert!(response.option(number::MANDATORY).is_some());
    // With CCID 3 the sender of data wants Loss Event Rates.
    let asks_3 = [32, 4, 1, 3, 34, 4, 1, 3];
    let response = ConformanceSimulation::server_with(config_3(), D_ISS, &asks_3, &[]).take_one();
    assert_eq!(response.option(number::CHANGE_R).unwrap(), [192, 1]);
}

/// A doubled Request draws two Responses, and the client may receive either of them first: each has
/// all Changes (RFC 4340 §6.6.3).
#[test]
fn every_response_asks_for_what_is_not_answered() {
    let mut world = ConformanceSimulation::server_with(config_3(), D_ISS, &[], &[]);
    world.send_at(PacketType::Request, T_ISS, 0, &[], &[]);
    let responses = world.take();
    assert_eq!(responses.len(), 2);
    for response in responses {
        assert_eq!(response.packet_type(), PacketType::Response);
        assert_eq!(response.option(number::CHANGE_R), Some(vec![feature_number::CCID, 3]));
        assert_eq!(response.option(number::CHANGE_L), Some(vec![feature_number::CCID, 3]));
        assert!(response.option(number::MANDATORY).is_some());
    }
}

/// RFC 4340 §11.5: a client that answers no Change gets the Ack Vectors that its CCID 2 needs, and
/// the server stops repeating its Changes.
#[test]
fn a_client_that_ignores_changes_is_reported_to_by_ack_vector() {
    let mut world = ConformanceSimulation::server_with(config(), D_ISS, &OFFERS_BOTH, &[]);
    world.take();
    world.now_ns += RTT;
    world.send(PacketType::Ack, &[], &[]);
    world.take();
    for _ in 0..4 {
        world.send(PacketType::DataAck, &[], b"data");
    }
    let vector = world.take().iter().rev().find_map(|out| out.option(number::ACK_VECTOR_0));
    assert_eq!(vector, Some(vec![4]), "five packets received");
    let asks = |packets: &[(u64, DevicePacket)]| {
        let is_asking = |out: &DevicePacket| {
            let mut options = DccpOptionIterator::new(&out.options);
            options.any(|raw| matches!(raw.number, 32 | 34) && raw.value[0] == 6)
        };
        packets.iter().filter(|(_, out)| is_asking(out)).count()
    };
    let at_first = asks(&world.pass(120 * SECOND));
    assert!((1..20).contains(&at_first), "{at_first} times");
    assert_eq!(asks(&world.pass(10_000 * SECOND)), 0);
    assert_eq!(world.d.state(), ConnectionState::Open);
    // The server's own data cannot go without Ack Vectors (RFC 4341 §4): the event has the reason.
    world.received();
    world.d.send(b"mine", 0).unwrap();
    assert_eq!(world.take_one().reset(), (ResetCode::OptionError, [34, 6, 1]));
    let Some(ConnectionEvent::Failed(reset)) = world.d.poll_event() else { panic!("it fails") };
    assert!(Disagreement::explains(&reset));
    let why = world.d.features().disagreement().unwrap();
    assert_eq!(why.feature, Feature::remote(feature_number::SEND_ACK_VECTOR));
}

/// Returns the latest Ack Vector: numbers since the tester T's Request from the acknowledged one
/// on, each with true if its packet arrived.
fn reported(packets: &[DevicePacket]) -> Vec<(u64, bool)> {
    let vectors = packets.iter().rev().filter_map(|out| {
        let number = out.header.acknowledgement? - T_ISS;
        Some((number, out.option(number::ACK_VECTOR_0)?))
    });
    let Some((newest, octets)) = vectors.into_iter().next() else { return Vec::new() };
    let runs = octets.iter().flat_map(|octet| {
        let len = usize::from(octet & 63) + 1;
        std::iter::repeat_n(octet >> 6 == 0, len)
    });
    (0..=newest).rev().zip(runs).collect()
}

/// Returns orders of arrival of a client's packets since its Request.
fn arrivals() -> Vec<Vec<u64>> {
    vec![vec![3, 1, 2, 4, 5], vec![5, 4, 3, 2, 1], vec![2, 1, 3, 5, 4], vec![4, 3, 5, 1, 2]]
}

/// RFC 4340 §8.5 steps 8 and 16, §11.4: packets that the opening packet has overtaken count and are
/// delivered.
#[test]
fn what_arrives_behind_the_packet_that_opens_is_delivered_and_acknowledged() {
    for (ccid, config) in configs() {
        for order in arrivals() {
            let asks: &[u8] = if ccid == 2 {
                &VECTORS
            } else {
                &[32, 4, 1, 3, 34, 4, 1, 3, 32, 4, 6, 1, 34, 4, 6, 1]
            };
            let mut world = ConformanceSimulation::server_with(config.clone(), D_ISS, asks, &[]);
            world.take();
            let response = world.t_gsr;
            for &number in &order {
                let (packet_type, data) = match number {
                    1 => (PacketType::Ack, vec![]),
                    number => (PacketType::DataAck, vec![number as u8; 3]),
                };
                world.send_at(packet_type, T_ISS + number, response, &[], &data);
            }
            world.t_gss = T_ISS + 5;
            let expected: Vec<_> =
                order.iter().filter(|n| **n > 1).map(|n| vec![*n as u8; 3]).collect();
            assert_eq!(world.received(), expected, "CCID {ccid}, {order:?}");
            let reports = reported(&world.take());
            let all: Vec<_> = (1..=5).rev().map(|number| (number, true)).collect();
            assert_eq!(reports, all, "CCID {ccid}, {order:?}");
        }
    }
}

/// RFC 4340 §8.5 step 7, §11.4: the device D acknowledges numbers of packets that it does not
/// process as missing, and an Ack Vector begins with the packet that is acknowledged.
#[test]
fn ack_vectors_count_from_the_packet_that_is_acknowledged() {
    // Data that overtakes the whole handshake draws a Sync; the Ack after it opens.
    let mut world = ConformanceSimulation::server(config_2());
    let response = world.t_gsr;
    world.send_at(PacketType::Data, T_ISS + 3, 0, &[], b"early");
    world.send_at(PacketType::Ack, T_ISS + 1, response, &[], &[]);
    world.send_at(PacketType::DataAck, T_ISS + 2, response, &[], b"two");
    assert_eq!(world.received(), [b"two"]);
    assert_eq!(reported(&world.take()), [(3, false), (2, true), (1, true)]);
    // A Sync before the opening packet, and one that is out of place in OPEN.
    let mut world = ConformanceSimulation::server(config_2());
    world.send_at(PacketType::Sync, T_ISS + 4, response, &[], &[]);
    for number in [2, 1, 3] {
        world.send_at(PacketType::DataAck, T_ISS + number, response, &[], &[number as u8]);
    }
    assert_eq!(world.received(), [[2], [1], [3]]);
    world.send_at(PacketType::CloseReq, T_ISS + 6, response, &[], &[]);
    world.send_at(PacketType::DataAck, T_ISS + 5, response, &[], &[5]);
    assert_eq!(world.received(), [[5]]);
    let reports = reported(&world.take());
    assert_eq!(reports[0], (6, false));
    assert_eq!(reports[1..], [5, 4, 3, 2, 1].map(|number| (number, true)));
}

/// A connection that ends in the handshake names the values that both ends wanted.
#[test]
fn a_failed_negotiation_names_the_feature_and_both_wishes() {
    // This client takes CCID 2 alone, the server CCID 3, whose feature 192 is Mandatory.
    for ccids in [&[32, 4, 1, 3, 34, 4, 1, 3][..], &[]] {
        let mut world = ConformanceSimulation::client(config_2());
        world.take();
        let options = [ccids, &[1, 34, 4, 192, 1], &CHANGES].concat();
        world.send(PacketType::Response, &options, &[]);
        let Some(ConnectionEvent::Failed(reset)) = world.d.poll_event() else {
            panic!("no CCID in common")
        };
        assert!(Disagreement::explains(&reset), "{reset:?}");
        let text = world.d.features().disagreement().unwrap().to_string();
        let has_preferences = text.contains("takes 2, ") && text.ends_with("takes 3");
        assert!(text.contains("CCID") && has_preferences, "{text}");
    }
    // The server takes no CCID of the client: its Reset repeats the client's Change.
    let mut world = ConformanceSimulation::client(config_3());
    world.take();
    let reset = dccp::header::Reset { code: ResetCode::MandatoryError, data: [32, 1, 3] };
    let header = dccp::header::DccpHeader {
        reset: Some(reset),
        ..world.header(PacketType::Reset, 0, D_ISS)
    };
    world.deliver(&crate::conformance::world::packet(header, &[], &[]));
    assert_eq!(world.d.poll_event(), Some(ConnectionEvent::Reset(reset)));
    let text = world.d.features().disagreement().unwrap().to_string();
    assert!(text.contains("data that this end sends: this end takes 3"), "{text}");
}
