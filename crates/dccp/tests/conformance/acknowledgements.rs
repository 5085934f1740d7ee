//! Acknowledgements and congestion control through a connection (RFC 4340 §11, RFC 4341, RFC 4342),
//! and path MTU (§14). Most of these cases are unit tests, next to the code.

use dccp::ccid::SenderFigures;
use dccp::connection::{ConnectionConfig, ConnectionState, Ecn, SendError};
use dccp::feature::{Feature, number as feature};
use dccp::header::{PacketType, ResetCode};
use dccp::option::number;

use crate::conformance::world::{
    ConformanceSimulation, D_ISS, MS, RTT, SECOND, config_2, open_worlds,
};

fn window(world: &ConformanceSimulation) -> (u32, u32) {
    match world.d.sender_figures() {
        Some(SenderFigures::Window { cwnd, pipe, .. }) => (cwnd, pipe),
        other => panic!("CCID 2, not {other:?}"),
    }
}

/// RFC 4340 §11.4: every valid packet is in the vector, invalid ones are not.
#[test]
fn ack_01_acknowledgements_carry_a_vector() {
    for mut world in open_worlds() {
        world.send(PacketType::Data, &[], b"a");
        world.t_gss += 2;
        world.send(PacketType::Data, &[], b"b");
        let ack = world.take().pop().unwrap();
        assert_eq!(ack.packet_type(), PacketType::Ack);
        assert_eq!(ack.header.acknowledgement, Some(world.t_gss));
        assert_eq!(ack.option(number::ACK_VECTOR_0).unwrap()[..2], [0, 193]);
    }
}

/// RFC 4340 §11.4.2: the device D does not report packets again whose report the tester T has
/// acknowledged.
#[test]
fn ack_03_an_acknowledged_acknowledgement_shortens_the_vector() {
    for mut world in open_worlds() {
        for packet in 0..20 {
            world.t_gss += 1;
            world.send(PacketType::Data, &[], &[packet]);
        }
        let long = world.pass(SECOND).pop().unwrap().1;
        assert!(long.option(number::ACK_VECTOR_0).unwrap().len() > 30);
        world.send(PacketType::DataAck, &[], b"x");
        let short = world.pass(SECOND).pop().unwrap().1;
        assert!(short.option(number::ACK_VECTOR_0).unwrap().len() < 4);
    }
}

/// RFC 4340 §11.4: packets that were never sent cannot have arrived.
#[test]
fn ack_04_a_vector_that_reaches_before_the_first_packet_is_cut() {
    for mut world in open_worlds() {
        world.send(PacketType::Ack, &[38, 6, 63, 63, 63, 63], &[]);
        world.assert_quiet();
        assert_eq!(world.d.state(), ConnectionState::Open);
    }
}

/// RFC 4341 §6.1: the tester T sets the ratio, the device D keeps to it.
#[test]
fn ack_05_the_ack_ratio_is_kept() {
    for ratio in [1_u8, 2, 4] {
        for mut world in open_worlds() {
            world.send(PacketType::Ack, &[32, 5, 5, 0, ratio], &[]);
            world.take();
            let mut acks = 0;
            for packet in 0..8 {
                world.send(PacketType::Data, &[], &[packet]);
                acks += world.take().len();
            }
            assert_eq!(acks, 8 / usize::from(ratio), "{ratio}");
            if ratio > 1 {
                let begin_ns = world.now_ns;
                world.send(PacketType::Data, &[], b"alone");
                let late = world.pass(SECOND);
                assert_eq!((late.len(), late[0].0 - begin_ns), (1, 200 * MS));
            }
        }
    }
}

/// RFC 4341 §5: the device D sends the initial window, and no more until an acknowledgement.
#[test]
fn ack_07_three_packets_at_first() {
    for mut world in open_worlds() {
        for data in 0..5 {
            world.d.send(&[data], 0).unwrap();
        }
        assert_eq!(world.take().len(), 3);
        assert_eq!(window(&world), (3, 3));
        world.now_ns += RTT;
        world.send(PacketType::Ack, &[38, 3, 0], &[]);
        assert_eq!(world.take().len(), 1);
        assert_eq!(window(&world), (3, 3));
    }
}

/// RFC 4341 §5: a timeout frees the window, and the device D sends one packet after it.
#[test]
fn ack_09_a_timeout_frees_the_window() {
    for mut world in open_worlds() {
        for data in 0..5 {
            world.d.send(&[data], 0).unwrap();
        }
        let packets = world.pass(10 * SECOND);
        let data: Vec<_> =
            packets.iter().filter(|(_, out)| out.header.packet_type.is_data_packet()).collect();
        assert_eq!(data.len(), 5);
        assert!(data[3].0 > data[2].0, "after the timeout");
        assert_eq!(window(&world).0, 1);
    }
}

/// RFC 4341 §6.2: data that goes one way carries one acknowledgement per window.
#[test]
fn ack_11_data_acknowledges_acknowledgements() {
    for mut world in open_worlds() {
        let mut types = Vec::new();
        for data in 0..40 {
            world.d.send(&[data], 0).unwrap();
            types.extend(world.take_types());
            world.now_ns += RTT;
            world.send(PacketType::Ack, &[38, 3, 0], &[]);
        }
        let acks = types.iter().filter(|&&t| t == PacketType::DataAck).count();
        let plain = types.iter().filter(|&&t| t == PacketType::Data).count();
        assert!(acks >= 5 && plain >= 20, "{acks} and {plain}");
    }
}

/// RFC 4340 §11.7.2: no application reads data at the tester T any more.
#[test]
fn ack_12_data_is_not_sent_to_an_application_that_is_gone() {
    for mut world in open_worlds() {
        for data in 0..5 {
            world.d.send(&[data], 0).unwrap();
        }
        assert_eq!(world.take().len(), 3);
        world.send(PacketType::Ack, &[38, 3, 2, 40, 3, 0x90], &[]);
        let later = world.pass(SECOND);
        assert!(later.iter().all(|(_, out)| out.packet_type() == PacketType::Ack), "features only");
        assert_eq!(world.d.send(b"more", 0), Err(SendError::Closed));
    }
}

/// RFC 4340 §11.7: the device D reports the data that it drops, with the reason.
#[test]
fn ack_12_dropped_data_is_reported_until_acknowledged() {
    let small = ConnectionConfig { receive_queue_len: 1, ..config_2() };
    let mut world = ConformanceSimulation::open_server(small);
    world.send(PacketType::Data, &[], b"room");
    world.send(PacketType::Data, &[], b"none");
    let ack = world.take_one();
    assert_eq!(ack.option(number::DATA_DROPPED), Some(vec![0xa0]));
    assert_eq!(world.d.counts().receive_queue_full, 1);
    world.received();
    world.t_gss += 1;
    world.send_at(PacketType::Data, world.t_gss, 0, &[], b"again");
    let packet = world.pass(SECOND).pop().unwrap().1;
    assert_eq!(packet.option(number::DATA_DROPPED), Some(vec![0, 0xa0]));
    world.received();
    world.send(PacketType::DataAck, &[], b"known");
    let quiet = world.pass(SECOND).pop().unwrap().1;
    assert_eq!(quiet.option(number::DATA_DROPPED), None);
    world.received();
    world.d.stop_receiving();
    world.send(PacketType::DataAck, &[], b"deaf");
    let packet = world.pass(SECOND).pop().unwrap().1;
    assert_eq!(packet.option(number::DATA_DROPPED), Some(vec![0x90]));
}

/// RFC 3168, RFC 4341 §5: the device D reports a mark at once and in state 1.
#[test]
fn ack_14_a_marked_packet_is_reported() {
    for mut world in open_worlds() {
        world.send(PacketType::Ack, &[32, 5, 5, 0, 8], &[]);
        world.take();
        world.ecn = Ecn::Marked;
        world.send(PacketType::Data, &[], b"marked");
        let ack = world.take_one();
        assert_eq!(ack.option(number::ACK_VECTOR_0).unwrap()[0], 64);
    }
}

/// RFC 4341 §4: data waits for Ack Vectors.
#[test]
fn ack_15_no_data_before_ack_vectors_are_confirmed() {
    let mut world = ConformanceSimulation::client(config_2());
    world.take();
    world.d.send(b"waits", 0).unwrap();
    world.send(PacketType::Response, &[], &[]);
    assert!(world.take_types().iter().all(|packet_type| !packet_type.is_data_packet()));
    world.send(PacketType::Ack, &[33, 4, 6, 1], &[]);
    assert_eq!(world.take().iter().filter(|out| out.data == b"waits").count(), 1);
}

/// RFC 4340 §6.4, §10: a CCID stays for a minute after a change.
#[test]
fn feat_22_a_ccid_changes_in_open_but_not_twice_in_a_minute() {
    let config = ConnectionConfig { rx_ccids: vec![2, 3], tx_ccids: vec![2], ..config_2() };
    let mut world = ConformanceSimulation::open_server(config);
    let ccid =
        |world: &ConformanceSimulation| world.d.features().value(Feature::remote(feature::CCID));
    // T uses one CCID after the other.
    for (wait_ns, wanted, agreed) in [(0, 3, 3), (30 * SECOND, 2, 3), (31 * SECOND, 2, 2)] {
        world.pass(wait_ns);
        world.send(PacketType::Ack, &[32, 4, 1, wanted], &[]);
        let confirm = world.take().into_iter().find_map(|out| out.option(35)).unwrap();
        assert_eq!((u64::from(confirm[1]), ccid(&world)), (agreed, agreed));
        world.settle();
    }
}

/// RFC 4340 §6.6.9: the device D resets for a Mandatory CCID that it does not have.
#[test]
fn feat_03_a_mandatory_ccid_that_nobody_has_resets() {
    for mut world in open_worlds() {
        world.send(PacketType::Ack, &[1, 32, 4, 1, 200], &[]);
        assert_eq!(world.take_one().reset(), (ResetCode::MandatoryError, [32, 1, 200]));
    }
}

fn config_3() -> ConnectionConfig {
    ConnectionConfig { tx_ccids: vec![3], rx_ccids: vec![3], ..config_2() }
}

/// Tester T's Request for CCID 3 both ways, with NDP Counts.
const ASKS_CCID_3: [u8; 12] = [32, 4, 1, 3, 34, 4, 1, 3, 32, 4, 7, 1];

fn open_ccid_3() -> ConformanceSimulation {
    let mut world = ConformanceSimulation::server_with(config_3(), D_ISS, &ASKS_CCID_3, &[]);
    world.take();
    world.now_ns += RTT;
    world.send(PacketType::Ack, &[], &[]);
    world.settle();
    world.received();
    world
}

/// RFC 4342 §6: a feedback packet has Elapsed Time, Receive Rate and Loss Intervals.
#[test]
fn tfrc_01_feedback_through_a_connection() {
    let mut world = open_ccid_3();
    world.send(PacketType::Data, &[], &[0; 100]);
    world.now_ns += 3 * MS;
    let feedback = world.take_one();
    assert_eq!(feedback.packet_type(), PacketType::Ack);
    assert_eq!(feedback.option(number::ELAPSED_TIME), Some(vec![1, 44]), "3 ms");
    assert_eq!(feedback.option(number::RECEIVE_RATE), Some(vec![0; 4]));
    assert_eq!(feedback.option(number::LOSS_INTERVALS).unwrap().len(), 10);
    assert_eq!(feedback.option(number::LOSS_EVENT_RATE), None, "not asked for");
    world.send(PacketType::Ack, &[34, 4, 192, 1], &[]);
    world.take();
    let mut header = world.header(PacketType::Data, world.t_gss + 1, 0);
    header.ccval = 5;
    world.deliver(&crate::conformance::world::packet(header, &[], &[0; 100]));
    assert_eq!(world.take_one().option(number::LOSS_EVENT_RATE), Some(vec![255; 4]));
}

/// RFC 4342 §8: feedback options count on packets that acknowledge.
#[test]
fn tfrc_17_feedback_options_on_data_are_ignored() {
    let mut world = open_ccid_3();
    world.d.send(&[0; 100], 0).unwrap();
    world.take();
    world.now_ns += RTT;
    let figures = world.d.sender_figures();
    let feedback = [194, 6, 0, 0, 1, 0, 192, 6, 0, 0, 0, 10];
    world.send(PacketType::Data, &feedback, b"x");
    assert_eq!(world.d.sender_figures(), figures);
    world.send(PacketType::Ack, &feedback, &[]);
    let Some(SenderFigures::Rate { p, x_recv, .. }) = world.d.sender_figures() else {
        panic!("CCID 3")
    };
    assert_eq!((p, x_recv), (0.1, 256.0));
}

/// RFC 4340 §14.1: the device D believes the message if the quoted packet was sent lately.
#[test]
fn pmtu_01_a_packet_too_big_lowers_the_maximum() {
    for mut world in open_worlds() {
        assert_eq!(world.d.data_bytes_max(), 1_424);
        world.d.send(&[0; 1_424], 0).unwrap();
        let sent = world.take().pop().unwrap();
        assert_eq!(world.d.send(&[0; 1_425], 0), Err(SendError::TooLong));
        let mut forged = sent.octets.clone();
        forged[12] ^= 1;
        assert!(!world.d.handle_too_big(&forged, 1_200), "another number");
        forged.clone_from(&sent.octets);
        forged[0] ^= 1;
        assert!(!world.d.handle_too_big(&forged, 1_200), "another port");
        assert!(!world.d.handle_too_big(&sent.octets, 1_481), "wider");
        assert!(!world.d.handle_too_big(&sent.octets, 0));
        assert!(world.d.handle_too_big(&sent.octets[..16], 1_200));
        assert_eq!(world.d.data_bytes_max(), 1_144);
        assert_eq!(world.d.send(&[0; 1_145], 0), Err(SendError::TooLong));
    }
}

/// RFC 4340 §14.1: without a sequence number the device D cannot check that it sent the quoted
/// packet.
#[test]
fn pmtu_02_eight_quoted_octets_are_not_believed() {
    for mut world in open_worlds() {
        world.d.send(b"x", 0).unwrap();
        let sent = world.take().pop().unwrap();
        for len in [0, 8, 15] {
            assert!(!world.d.handle_too_big(&sent.octets[..len], 1_200));
        }
        assert_eq!(world.d.data_bytes_max(), 1_424);
    }
}

/// RFC 4340 §14.2: the device D answers the tester T's padded Sync, and does not deliver its
/// padding.
#[test]
fn pmtu_03_a_padded_sync_is_answered() {
    for mut world in open_worlds() {
        world.send(PacketType::Sync, &[], &[0; 1_400]);
        assert_eq!(world.take_types(), [PacketType::SyncAck]);
        assert_eq!(world.received().len(), 0);
    }
}
