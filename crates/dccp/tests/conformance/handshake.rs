//! Beginning of connections (RFC 4340 §8.1). Listeners are in `dccp::endpoint`.

use dccp::connection::{ConnectionConfig, ConnectionEvent, ConnectionState, Ecn, SendError};
use dccp::header::{DccpHeader, PacketType, Reset, ResetCode};
use dccp::option::number;

use crate::conformance::world::{
    ConformanceSimulation, D_ISS, MS, RTT, SECOND, T_ISS, VECTORS, config_2, packet,
};

/// RFC 4340 §8.1.2 to §8.1.5: Request, Response and Ack open a connection.
#[test]
fn con_01_request_response_ack() {
    let mut world = ConformanceSimulation::server(config_2());
    assert_eq!(world.d.state(), ConnectionState::Respond);
    world.send(PacketType::Ack, &[], &[]);
    assert_eq!(world.d.state(), ConnectionState::Open);
    assert_eq!(world.d.poll_event(), Some(ConnectionEvent::Connected));
}

/// RFC 4340 §8.1.3: the connection is the same, the Response has another number.
#[test]
fn con_05_a_repeated_request_gets_another_response() {
    let mut world = ConformanceSimulation::server(config_2());
    world.send(PacketType::Request, &VECTORS, &[]);
    let response = world.take_one();
    assert_eq!(response.packet_type(), PacketType::Response);
    assert_eq!(response.header.sequence, D_ISS + 1);
    assert_eq!(response.header.acknowledgement, Some(T_ISS + 1));
    assert_eq!(world.d.state(), ConnectionState::Respond);
}

/// RFC 4340 §8.5 step 7: Data in RESPOND draws a Sync.
#[test]
fn con_06_data_before_the_handshake_is_done_draws_a_sync() {
    let mut world = ConformanceSimulation::server(config_2());
    world.send(PacketType::Data, &[], b"early");
    let sync = world.take_one();
    assert_eq!(sync.packet_type(), PacketType::Sync);
    assert_eq!(sync.header.acknowledgement, Some(world.t_gss));
    assert_eq!((world.d.state(), world.received().len()), (ConnectionState::Respond, 0));
}

/// RFC 4340 §8.1.5: a server accepts Data after the client's Ack.
#[test]
fn con_07_data_follows_the_ack() {
    for packet_type in [PacketType::Ack, PacketType::DataAck] {
        let mut world = ConformanceSimulation::server(config_2());
        world.send(packet_type, &[], b"first");
        world.send(PacketType::Data, &[], b"second");
        let expected = if packet_type == PacketType::Ack { 1 } else { 2 };
        assert_eq!(world.received().len(), expected);
    }
}

/// RFC 4340 §8.1.4: the client returns cookies in their order until the server has received them.
#[test]
fn con_08_init_cookies_are_given_back_until_open() {
    let mut world = ConformanceSimulation::client(config_2());
    world.take();
    let cookies = [&[36, 4, 7, 7][..], &[36, 5, 1, 2, 3], &VECTORS].concat();
    world.send(PacketType::Response, &cookies, &[]);
    world.d.send(b"early", 0).unwrap();
    let packets =
        [world.take(), world.pass(210 * MS).into_iter().map(|(_, o)| o).collect()].concat();
    assert!(packets.len() >= 2);
    for out in &packets {
        assert_eq!(out.options[..9], [36, 4, 7, 7, 36, 5, 1, 2, 3], "{:?}", out.packet_type());
    }
    world.send(PacketType::Ack, &[33, 4, 6, 1, 35, 4, 6, 1], &[]);
    assert_eq!(world.d.state(), ConnectionState::Open);
    world.send(PacketType::Sync, &[], &[]);
    world.d.send(b"later", 0).unwrap();
    assert!(world.take().iter().all(|out| out.option(number::INIT_COOKIE).is_none()));
}

/// RFC 4340 §8.1.1: the client doubles its waits from one second to 64, and then sends a Reset that
/// acknowledges nothing.
#[test]
fn con_10_a_client_backs_off_and_gives_up() {
    let mut world = ConformanceSimulation::client(config_2());
    let packets = world.pass(300 * SECOND);
    let times: Vec<_> = packets.iter().map(|(at_ns, _)| at_ns / SECOND - 1).collect();
    assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 127, 180]);
    let (last, requests) = packets.split_last().unwrap();
    assert!(requests.iter().all(|(_, out)| out.packet_type() == PacketType::Request));
    assert_eq!(last.1.reset().0, ResetCode::Aborted);
    assert_eq!(last.1.header.acknowledgement, Some(0));
    let aborted = Reset::plain(ResetCode::Aborted);
    assert_eq!(world.d.poll_event(), Some(ConnectionEvent::Failed(aborted)));
    assert_eq!((world.d.state(), world.d.poll_timeout()), (ConnectionState::Closed, None));
    let mut patient = ConformanceSimulation::client(ConnectionConfig {
        connect_timeout_ns: 1_000 * SECOND,
        ..config_2()
    });
    let times: Vec<_> = patient.pass(400 * SECOND).iter().map(|(at, _)| at / SECOND - 1).collect();
    assert_eq!(times[6..], [63, 127, 191, 255, 319, 383]);
}

/// RFC 4340 §8.5 step 4: a client in REQUEST resets packets that are no answer.
#[test]
fn con_11_what_is_no_answer_to_a_request_is_reset() {
    for packet_type in [PacketType::Data, PacketType::Ack, PacketType::Sync, PacketType::Request] {
        let mut world = ConformanceSimulation::client(config_2());
        world.take();
        world.send(packet_type, &[], &[]);
        let reset = world.take_one();
        assert_eq!(reset.reset(), (ResetCode::PacketError, [packet_type.number(), 0, 0]));
        assert_eq!(reset.header.acknowledgement, Some(world.t_gss));
        let expected = if packet_type.has_acknowledgement() { D_ISS + 1 } else { 0 };
        assert_eq!(reset.header.sequence, expected);
        assert_eq!(world.d.state(), ConnectionState::Request);
    }
}

/// RFC 4340 §8.5 step 4: a Response to a number that was not sent draws a Reset.
#[test]
fn con_12_a_response_to_another_request_is_reset() {
    for number in [D_ISS - 1, D_ISS + 1] {
        let mut world = ConformanceSimulation::client(config_2());
        world.take();
        world.send_at(PacketType::Response, T_ISS, number, &[], &[]);
        assert_eq!(world.take_one().reset().0, ResetCode::PacketError);
        assert_eq!(world.d.state(), ConnectionState::Request);
        world.send_at(PacketType::Response, T_ISS, D_ISS, &[], &[]);
        assert_eq!(world.d.state(), ConnectionState::PartOpen);
    }
}

/// RFC 4340 §8.1.5: data carries acknowledgements until the client receives a packet of the server.
#[test]
fn con_13_part_open_repeats_its_ack_and_sends_no_data_alone() {
    let mut world = ConformanceSimulation::client(config_2());
    world.take();
    world.send(PacketType::Response, &[&VECTORS[..], &[33, 4, 6, 1, 35, 4, 6, 1]].concat(), &[]);
    let begin_ns = world.now_ns;
    let packets = world.pass(2 * SECOND);
    let times = |packet_type: PacketType| -> Vec<_> {
        let of_type = packets.iter().filter(|(_, out)| out.packet_type() == packet_type);
        of_type.map(|(at_ns, _)| (at_ns - begin_ns) / MS).collect()
    };
    assert_eq!(times(PacketType::Ack), [0, 200, 600, 1_400]);
    // A server may leave Acks without an answer, but not Syncs (§5.7).
    assert_eq!(times(PacketType::Sync), [600, 1_400]);
    assert_eq!(packets.len(), 6);
    world.d.send(b"early", 0).unwrap();
    assert_eq!(world.take_types(), [PacketType::DataAck]);
    // Eight minutes without a packet of the server.
    let packets = world.pass(500 * SECOND);
    assert_eq!(packets.last().unwrap().1.reset().0, ResetCode::Aborted);
}

/// RFC 4340 §8.5 step 12: the Ack was lost, so the server repeats its Response.
#[test]
fn con_14_another_response_gets_another_ack() {
    let mut world = ConformanceSimulation::client(config_2());
    world.take();
    world.send(PacketType::Response, &VECTORS, &[]);
    world.take();
    world.send(PacketType::Response, &VECTORS, &[]);
    assert_eq!(world.take_types(), [PacketType::Ack]);
    assert_eq!(world.d.state(), ConnectionState::PartOpen);
}

/// RFC 4340 §8.5 step 12: a Sync does not end PARTOPEN.
#[test]
fn con_15_a_sync_does_not_open() {
    let mut world = ConformanceSimulation::client(config_2());
    world.take();
    world.send(PacketType::Response, &VECTORS, &[]);
    world.take();
    world.send(PacketType::Sync, &[], &[]);
    assert_eq!(world.take_types(), [PacketType::SyncAck]);
    assert_eq!(world.d.state(), ConnectionState::PartOpen);
    world.send(PacketType::Ack, &[], &[]);
    assert_eq!(world.d.state(), ConnectionState::Open);
}

/// RFC 4340 §8.5 step 7: the handshake is over.
#[test]
fn con_16_requests_and_responses_after_the_handshake_draw_a_sync() {
    let server = (ConformanceSimulation::open_server(config_2()), PacketType::Request);
    let client = (ConformanceSimulation::open_client(config_2()), PacketType::Response);
    for (mut world, packet_type) in [server, client] {
        world.send(packet_type, &[], b"again");
        let sync = world.take_one();
        assert_eq!(sync.packet_type(), PacketType::Sync);
        assert_eq!(sync.header.acknowledgement, Some(world.t_gss));
        assert_eq!(world.received().len(), 0);
    }
    // Those of the other role draw a Sync at any time.
    let mut world = ConformanceSimulation::open_server(config_2());
    world.send(PacketType::Response, &[], &[]);
    assert_eq!(world.take_types(), [PacketType::Sync]);
    let mut world = ConformanceSimulation::open_client(config_2());
    world.send(PacketType::Request, &[], &[]);
    assert_eq!(world.take_types(), [PacketType::Sync]);
}

/// RFC 4340 §8.1.2: the device D delivers the data once, even if the Request comes often.
#[test]
fn con_17_data_on_a_request_is_delivered_once() {
    let mut world = ConformanceSimulation::server_with(config_2(), D_ISS, &VECTORS, b"hello");
    world.take();
    world.send(PacketType::Request, &VECTORS, b"hello");
    assert_eq!(world.d.poll_event(), None, "whether T lives is not known yet");
    world.take();
    world.now_ns += RTT;
    world.send(PacketType::Ack, &[34, 4, 6, 1, 33, 4, 6, 1], &[]);
    assert_eq!(world.d.poll_event(), Some(ConnectionEvent::Connected));
    assert_eq!(world.received(), [b"hello"]);
    let dropped = world.take().iter().find_map(|out| out.option(number::DATA_DROPPED)).unwrap();
    // The Ack is fine, the Request before it was dropped for protocol constraints.
    assert_eq!(dropped, [0, 0x80]);
    // D as a client repeats its own data.
    let mut client = ConformanceSimulation::client_from(config_2(), D_ISS, b"mine");
    let packets = client.pass(4 * SECOND);
    assert_eq!(packets.len(), 3);
    assert!(packets.iter().all(|(_, out)| out.data == b"mine"));
}

/// RFC 4340 §8.1.3: the client reports the reason for which a server refuses.
#[test]
fn con_18_refusals_are_told_apart() {
    for code in [
        ResetCode::ConnectionRefused,
        ResetCode::BadServiceCode,
        ResetCode::TooBusy,
        ResetCode::NoConnection,
    ] {
        let mut world = ConformanceSimulation::client(config_2());
        world.take();
        let reset = Reset::plain(code);
        // A server without a connection sends number 0 (§8.3.1).
        let header = DccpHeader { reset: Some(reset), ..world.header(PacketType::Reset, 0, D_ISS) };
        world.deliver(&packet(header, &[], &[]));
        assert_eq!(world.d.poll_event(), Some(ConnectionEvent::Reset(reset)));
        assert_eq!(world.d.state(), ConnectionState::TimeWait);
        world.assert_quiet();
        assert_eq!(world.d.send(b"x", 0), Err(SendError::Closed));
    }
}

/// RFC 4340 §8.5 step 2: the device D resets packets in TIMEWAIT, except for Resets.
#[test]
fn con_20_packets_in_time_wait_are_reset() {
    for packet_type in [PacketType::Data, PacketType::Ack, PacketType::Request, PacketType::Close] {
        let mut world = ConformanceSimulation::open_server(config_2());
        world.send(PacketType::Reset, &[], &[]);
        assert_eq!(world.d.state(), ConnectionState::TimeWait);
        world.send(packet_type, &[], &[]);
        assert_eq!(world.take_one().reset().0, ResetCode::NoConnection);
        assert_eq!(world.d.state(), ConnectionState::TimeWait);
    }
    let mut world = ConformanceSimulation::open_server(config_2());
    world.send(PacketType::Reset, &[], &[]);
    world.send(PacketType::Reset, &[], &[]);
    world.assert_quiet();
}

/// RFC 4340 §6.6.4, §8.1.1: the next Request repeats the Changes of a lost one, and answers to
/// either count.
#[test]
fn feat_15_a_lost_request_is_repeated_with_the_same_changes() {
    let config = ConnectionConfig { sequence_window: 500, ..config_2() };
    let mut world = ConformanceSimulation::client(config);
    let packets = world.pass(SECOND);
    let [first, second] = [&packets[0].1, &packets[1].1]
        .map(|out| [number::CHANGE_L, number::CHANGE_R].map(|number| out.option(number)));
    assert_eq!(first, second);
    world.send_at(PacketType::Response, T_ISS, D_ISS, &[35, 9, 3, 0, 0, 0, 0, 1, 244], &[]);
    let feature = dccp::feature::Feature::local(dccp::feature::number::SEQUENCE_WINDOW);
    assert_eq!(world.d.features().value(feature), 500);
}

/// RFC 4340 §12.1: the device D sends ECN-capable packets only to an end that can read ECN bits.
#[test]
fn feat_23_an_end_that_is_ecn_incapable_gets_packets_that_cannot_be_marked() {
    for mut world in crate::conformance::world::open_worlds() {
        world.send(PacketType::Sync, &[], &[]);
        assert!(world.take_one().transmit.is_ecn_capable);
        world.send(PacketType::Ack, &[1, 32, 4, 4, 1], &[]);
        let confirm = world.take_one();
        assert_eq!(confirm.option(35).unwrap()[..2], [4, 1]);
        assert!(!confirm.transmit.is_ecn_capable);
        world.ecn = Ecn::NotCapable;
    }
}
