//! Sequence numbers and their windows (RFC 4340 §7).

use dccp::connection::{ConnectionConfig, ConnectionEvent, ConnectionState};
use dccp::header::PacketType;
use dccp::option::number;

use crate::conformance::world::{
    ConformanceSimulation, D_ISS, MS, SECOND, T_ISS, config_2, open_worlds, packet,
};

/// Returns open worlds whose windows have moved past the first numbers: the tester T is at 10,000,
/// and idle.
fn far_worlds() -> [ConformanceSimulation; 2] {
    open_worlds().map(|mut world| {
        for _ in 0..150 {
            world.t_gss += 60;
            world.send(PacketType::Data, &[], &[]);
            world.pass(SECOND);
        }
        world.received();
        world.pass(10 * SECOND);
        world
    })
}

/// Sends a packet of the tester T. Returns true if the device D counts its numbers as valid.
fn is_accepted(
    world: &mut ConformanceSimulation,
    packet_type: PacketType,
    sequence: u64,
    number: u64,
) -> bool {
    let before = world.d.counts().sequence_invalid;
    world.send_at(packet_type, sequence, number, &[], &[]);
    world.d.counts().sequence_invalid == before
}

/// RFC 4340 §7.5.1, §7.5.3: each type is tested at both ends of the window.
#[test]
fn seq_01_each_type_at_the_edges_of_the_window() {
    use PacketType::{Ack, Close, Data, DataAck, Reset, Sync, SyncAck};
    for packet_type in [Data, Ack, DataAck] {
        for (offset, expected) in [(-25, false), (-24, true), (75, true), (76, false)] {
            for mut world in far_worlds() {
                let sequence = world.t_gss.strict_add_signed(offset);
                let number = world.t_gsr;
                let accepted = is_accepted(&mut world, packet_type, sequence, number);
                assert_eq!(accepted, expected, "{packet_type:?} {offset}");
            }
        }
    }
    for packet_type in [Close, Reset] {
        for (offset, expected) in [(0, false), (1, true), (75, true), (76, false)] {
            for mut world in far_worlds() {
                let sequence = world.t_gss.strict_add_signed(offset);
                let number = world.t_gsr;
                let accepted = is_accepted(&mut world, packet_type, sequence, number);
                assert_eq!(accepted, expected, "{packet_type:?} {offset}");
            }
        }
    }
    // No valid packet came for long: any number ahead is valid.
    for packet_type in [Sync, SyncAck] {
        for (offset, expected) in [(-25, false), (-24, true), (76, true), (1 << 40, true)] {
            for mut world in far_worlds() {
                let sequence = world.t_gss.strict_add_signed(offset);
                let number = world.t_gsr;
                let accepted = is_accepted(&mut world, packet_type, sequence, number);
                assert_eq!(accepted, expected, "{packet_type:?} {offset}");
            }
        }
    }
}

/// RFC 4340 §7.5.1: acknowledgement numbers must have been sent, and be no older than the window.
#[test]
fn seq_02_acknowledgements_at_the_edges_of_the_window() {
    for packet_type in [PacketType::Ack, PacketType::DataAck, PacketType::Sync] {
        for (offset, expected) in [(-100, false), (-99, true), (0, true), (1, false)] {
            for mut world in far_worlds() {
                let number = world.d.greatest_numbers().0.value().strict_add_signed(offset);
                let sequence = world.t_gss + 1;
                let accepted = is_accepted(&mut world, packet_type, sequence, number);
                assert_eq!(accepted, expected, "{packet_type:?} {offset}");
            }
        }
    }
}

/// RFC 4340 §7.5.3, §7.5.4: a packet that ends a connection must be newer than all others.
#[test]
fn seq_03_an_old_close_or_reset_draws_a_sync() {
    for mut world in far_worlds() {
        world.send(PacketType::Ack, &[], &[]);
        let (gss, gsr) = (world.t_gss, world.t_gsr);
        world.send_at(PacketType::Close, gss, gsr, &[], &[]);
        let sync = world.take_one();
        assert_eq!(sync.packet_type(), PacketType::Sync);
        assert_eq!(sync.header.acknowledgement, Some(gss));
        world.now_ns += SECOND;
        world.send_at(PacketType::Close, gss + 1, gsr - 50, &[], &[]);
        assert_eq!(world.take_types(), [PacketType::Sync]);
        world.now_ns += SECOND;
        world.send_at(PacketType::Reset, gss - 3, gsr, &[], &[]);
        let sync = world.take_one();
        assert_eq!(sync.header.acknowledgement, Some(gss), "the greatest number, not the Reset's");
        assert_eq!(world.d.state(), ConnectionState::Open);
        // With that number T can send a valid Reset.
        world.send(PacketType::Reset, &[], &[]);
        assert_eq!(world.d.state(), ConnectionState::TimeWait);
    }
}

/// RFC 4340 §7.5.1: at first the windows begin with the first numbers.
#[test]
fn seq_04_numbers_before_the_first_are_invalid() {
    for mut world in open_worlds() {
        let number = world.t_gsr;
        assert!(!is_accepted(&mut world, PacketType::Data, T_ISS - 1, number));
        assert!(!is_accepted(&mut world, PacketType::Ack, T_ISS + 9, D_ISS - 1));
        assert!(is_accepted(&mut world, PacketType::Ack, T_ISS + 9, D_ISS));
    }
}

/// RFC 4340 §7.2: both ends count past zero.
#[test]
fn seq_05_numbers_wrap_around() {
    let iss = (1 << 48) - 3;
    let mut world = ConformanceSimulation::server_with(
        config_2(),
        iss,
        &crate::conformance::world::VECTORS,
        &[],
    );
    world.t_gss = T_ISS;
    world.take();
    world.send(PacketType::Ack, &[], &[]);
    world.settle();
    for _ in 0..10 {
        world.send(PacketType::Data, &[], b"x");
        world.pass(SECOND);
    }
    assert_eq!(world.received().len(), 10);
    assert!(world.d.greatest_numbers().0.value() < 20);
    assert_eq!(world.d.counts().sequence_invalid, 0);
    // T's numbers wrap, too: Syncs move them forward, because the distance is long.
    for _ in 0..5 {
        world.pass(10 * SECOND);
        world.t_gss = (world.t_gss + (1 << 46) - 1) & ((1 << 48) - 1);
        let (gss, gsr) = (world.t_gss, world.t_gsr);
        world.send_at(PacketType::Sync, gss, gsr, &[], &[]);
        assert_eq!(world.gsr(), world.t_gss);
        world.take();
        world.send(PacketType::Data, &[], b"x");
        assert_eq!(world.received().len(), 1);
    }
}

/// RFC 4340 §7.5.4: a Sync acknowledges the invalid packet.
#[test]
fn seq_06_a_sync_acknowledges_the_invalid_packet() {
    for mut world in open_worlds() {
        let (gss, gsr) = world.d.greatest_numbers();
        let sequence = world.t_gss + 1_000;
        world.send_at(PacketType::Data, sequence, 0, &[], b"far");
        let sync = world.take_one();
        assert_eq!(sync.packet_type(), PacketType::Sync);
        assert_eq!(sync.header.acknowledgement, Some(sequence));
        assert_eq!(sync.header.sequence, gss.next().value());
        assert_eq!(world.d.greatest_numbers().1, gsr);
        assert_eq!(world.received(), Vec::<Vec<u8>>::new());
    }
}

/// RFC 4340 §7.5.4: otherwise two ends could Sync forever.
#[test]
fn seq_07_an_invalid_sync_draws_nothing() {
    for packet_type in [PacketType::Sync, PacketType::SyncAck] {
        for mut world in open_worlds() {
            let sequence = world.t_gss + 1;
            world.send_at(packet_type, sequence, D_ISS + 9_999, &[], &[]);
            world.assert_quiet();
            assert_ne!(world.gsr(), sequence);
        }
    }
}

/// RFC 4340 §5.7, §8.5 step 15: the device D answers a Sync and moves its window.
#[test]
fn seq_08_a_sync_is_answered_and_moves_the_window() {
    for mut world in open_worlds() {
        world.pass(10 * SECOND);
        world.t_gss += 5_000;
        world.send(PacketType::Sync, &[], &[]);
        let answer = world.take_one();
        assert_eq!(answer.packet_type(), PacketType::SyncAck);
        assert_eq!(answer.header.acknowledgement, Some(world.t_gss));
        world.send(PacketType::Data, &[], b"there");
        assert_eq!(world.received(), [b"there"]);
    }
}

/// RFC 4340 §7.5.3: while the connection is active, Syncs must be within the window, too.
#[test]
fn seq_09_an_active_connection_judges_syncs_strictly() {
    for mut world in open_worlds() {
        world.send(PacketType::Data, &[], b"x");
        world.pass(250 * MS);
        let (sequence, number) = (world.t_gss + 1_000, world.t_gsr);
        assert!(!is_accepted(&mut world, PacketType::Sync, sequence, number));
        world.assert_quiet();
        // It is idle three round trips after the last packet; they take 100 ms each, or 200 ms
        // where none is measured.
        world.pass(400 * MS);
        assert!(is_accepted(&mut world, PacketType::Sync, sequence, number));
    }
}

/// RFC 4340 §7.5.4: the device D sends at most eight Syncs per second, and does not accept the
/// packets without one.
#[test]
fn seq_10_syncs_are_limited() {
    for mut world in open_worlds() {
        let mut syncs = 0;
        for packet in 0..1_000 {
            world.send_at(PacketType::Data, world.t_gss + 1_000 + packet, 0, &[], b"far");
            syncs += world.take().len();
            world.now_ns += MS;
        }
        assert_eq!(syncs, 8);
        assert_eq!(world.received(), Vec::<Vec<u8>>::new());
    }
}

/// RFC 4340 §7.5.6: the tester T has lost more packets in a burst than the window has.
#[test]
fn seq_11_a_burst_of_losses_is_recovered_by_sync() {
    for mut world in open_worlds() {
        world.t_gss += 200;
        world.send(PacketType::Data, &[], b"lost to the window");
        let sync = world.take_one();
        // T's answer to the Sync carries its current number.
        assert_eq!(sync.header.acknowledgement, Some(world.t_gss));
        world.pass(SECOND);
        world.send(PacketType::SyncAck, &[], &[]);
        world.send(PacketType::Data, &[], b"back");
        assert_eq!(world.received(), [b"back"]);
    }
}

/// RFC 4340 §7.5.5, §7.5.6: an attacker's guess draws a Sync, whose answer changes nothing.
#[test]
fn seq_12_a_blind_attack_changes_nothing() {
    for mut world in open_worlds() {
        let gsr = world.gsr();
        world.send_at(PacketType::DataAck, world.t_gss + (1 << 30), 12, &[], b"forged");
        let sync = world.take_one();
        // T has not sent that number. It would answer the Sync's acknowledgement with a Reset only
        // without a connection; with one, it ignores the Sync.
        assert_eq!(sync.packet_type(), PacketType::Sync);
        assert_eq!((world.gsr(), world.d.state()), (gsr, ConnectionState::Open));
        world.send(PacketType::Data, &[], b"mine");
        assert_eq!(world.received(), [b"mine"]);
    }
}

/// RFC 4340 §7.5.6: the tester T has lost the connection and begins anew.
#[test]
fn seq_13_a_half_open_connection_is_cleared() {
    let mut world = ConformanceSimulation::open_server(config_2());
    world.send_at(PacketType::Request, 77_000, 0, &[], &[]);
    let sync = world.take_one();
    assert_eq!(sync.packet_type(), PacketType::Sync);
    assert_eq!(sync.header.acknowledgement, Some(77_000));
    // T in REQUEST answers a Sync with a Reset made from it (§8.5 step 4).
    let (number, sequence) = (sync.header.sequence, 77_001);
    world.send_at(PacketType::Reset, sequence, number, &[], &[]);
    // The Reset's number is not valid here, so D sends another Sync with its greatest number.
    world.now_ns += SECOND;
    world.send_at(PacketType::Reset, sequence, number, &[], &[]);
    let sync = world.take().pop().unwrap();
    let valid = sync.header.acknowledgement.unwrap() + 1;
    let number = sync.header.sequence;
    world.send_at(PacketType::Reset, valid, number, &[], &[]);
    assert_eq!(world.d.state(), ConnectionState::TimeWait);
    assert!(matches!(world.d.poll_event(), Some(ConnectionEvent::Reset(_))));
}

/// RFC 4340 §7.6.1: the device D drops short numbers that it has not allowed.
#[test]
fn seq_14_short_numbers_that_are_not_allowed_are_dropped() {
    for mut world in open_worlds() {
        let mut header = world.header(PacketType::Data, (world.t_gss + 1) & 0xff_ffff, 0);
        header.is_extended = false;
        world.deliver(&packet(header, &[], b"short"));
        world.assert_quiet();
        assert_eq!(world.received(), Vec::<Vec<u8>>::new());
    }
}

/// RFC 4340 §7.6: 24 bits stand for the nearest number, even across their end.
#[test]
fn seq_15_short_numbers_extend_across_their_end() {
    let config = ConnectionConfig { allows_short_sequence: true, ..config_2() };
    let mut world = ConformanceSimulation::server_with(
        config,
        0x1ff_fffe,
        &crate::conformance::world::VECTORS,
        &[],
    );
    world.take();
    world.send(PacketType::Ack, &[32, 4, 2, 1], &[]);
    world.settle();
    // T moves to just below the end of 24 bits.
    world.pass(10 * SECOND);
    world.t_gss = 0x5ff_fffc;
    world.send(PacketType::Sync, &[], &[]);
    world.take();
    for _ in 0..6 {
        world.t_gss += 1;
        let mut header =
            world.header(PacketType::DataAck, world.t_gss & 0xff_ffff, world.t_gsr & 0xff_ffff);
        header.is_extended = false;
        world.deliver(&packet(header, &[], b"short"));
        world.pass(MS);
        assert_eq!(world.gsr(), world.t_gss);
    }
    assert_eq!(world.received().len(), 6);
    assert_eq!(world.t_gss, 0x600_0003);
}

/// RFC 4340 §7.5.1, §6.6.1: the window is wide as soon as the device D has confirmed it.
#[test]
fn seq_16_a_wider_window_counts_from_its_confirm_on() {
    for mut world in open_worlds() {
        world.send(PacketType::Ack, &[32, 9, 3, 0, 0, 0, 0, 4, 0], &[]);
        assert_eq!(world.take_one().option(35), Some(vec![3, 0, 0, 0, 0, 4, 0]));
        let (edge, number) = (world.t_gss + 768, world.t_gsr);
        assert!(!is_accepted(&mut world, PacketType::Data, edge + 1, number));
        assert!(is_accepted(&mut world, PacketType::Data, edge, number));
    }
}

/// RFC 4340 §8.1.1, §7.1: every packet has a number of its own.
#[test]
fn seq_17_a_repeated_request_has_the_next_number() {
    let mut world = ConformanceSimulation::client(config_2());
    let packets = world.pass(8 * SECOND);
    let numbers: Vec<_> = packets.iter().map(|(_, out)| out.header.sequence).collect();
    assert_eq!(numbers, [D_ISS, D_ISS + 1, D_ISS + 2, D_ISS + 3]);
}

/// RFC 4340 §7.7: each packet has the length of the run without data before it.
#[test]
fn seq_18_ndp_counts() {
    let mut world = ConformanceSimulation::open_server(config_2());
    world.send(PacketType::Ack, &[34, 4, 7, 1], &[]);
    world.take();
    // A packet of a known kind comes first.
    world.d.send(b"0", 0).unwrap();
    world.take();
    let mut counts = Vec::new();
    for kind in "NNDNDDNDDDDNND".chars() {
        world.now_ns += SECOND;
        if kind == 'N' {
            world.send(PacketType::Sync, &[], &[]);
        } else {
            // T acknowledges, so that the window is open.
            world.d.handle_timeout(world.now_ns);
            world.d.send(b"x", 0).unwrap();
        }
        let out = world.take_one();
        assert_eq!(out.header.packet_type.is_data_packet(), kind == 'D');
        counts.push(out.option(number::NDP_COUNT).map_or(0, |value| value[0]));
        if kind == 'D' {
            let runs = [0];
            let vector = [&[38, 3][..], &runs].concat();
            world.send(PacketType::Ack, &vector, &[]);
        }
    }
    assert_eq!(counts, [0, 1, 2, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 2]);
    for _ in 0..256 {
        world.now_ns += SECOND;
        world.send(PacketType::Sync, &[], &[]);
        world.take();
    }
    world.d.send(b"x", 0).unwrap();
    assert_eq!(world.take_one().option(number::NDP_COUNT), Some(vec![1, 0]));
}
