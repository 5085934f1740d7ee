//! Checksums and their coverage (RFC 4340 §9).

use dccp::connection::ConnectionConfig;
use dccp::header::checksum::crc32c;
use dccp::header::{DccpHeader, DccpPacket, DccpPacketDefect, Integrity, PacketType, ResetCode};
use dccp::option::number;

use crate::conformance::world::{ConformanceSimulation, config_2, open_worlds, packet, t_to_d};

/// Returns a data packet of the tester T whose checksum has this coverage.
fn covering(world: &ConformanceSimulation, coverage: u8, data: &[u8]) -> Vec<u8> {
    let mut header = world.header(PacketType::DataAck, world.t_gss + 1, world.t_gsr);
    header.coverage = coverage;
    packet(header, &[], data)
}

/// RFC 4340 §9: the device D drops the packet without an answer.
#[test]
fn csum_01_a_wrong_checksum_is_dropped() {
    for mut world in open_worlds() {
        let mut octets = covering(&world, 0, b"data");
        octets[7] ^= 1;
        world.deliver(&octets);
        world.assert_quiet();
        assert_eq!(world.d.counts().malformed[DccpPacketDefect::Checksum.index()], 1);
        assert_eq!(world.received(), Vec::<Vec<u8>>::new());
    }
}

/// RFC 4340 §9: the last byte of an odd length counts as the upper half of a word.
#[test]
fn csum_02_odd_lengths() {
    for mut world in open_worlds() {
        world.send(PacketType::Data, &[], b"odd");
        assert_eq!(world.received(), [b"odd"]);
        let mut octets = covering(&world, 0, b"odd");
        *octets.last_mut().unwrap() ^= 1;
        world.deliver(&octets);
        assert_eq!(world.received(), Vec::<Vec<u8>>::new());
    }
}

/// RFC 4340 §9.1: IPv6 has a pseudo-header of its own, with its addresses.
#[test]
fn csum_03_ipv6() {
    let integrity = |last: u16| Integrity::Addresses {
        source: [0xfd01, 1, 0, 0, 0, 0, 0, last].into(),
        destination: [0xfd01, 2, 0, 0, 0, 0, 0, 2].into(),
    };
    let mut buffer = [0; 64];
    let header = DccpHeader::new(PacketType::Data, 5);
    let len = header.write(&[], b"six", integrity(1), &mut buffer).unwrap();
    assert!(DccpPacket::parse(&buffer[..len], integrity(1)).is_ok());
    assert_eq!(DccpPacket::parse(&buffer[..len], integrity(2)), Err(DccpPacketDefect::Checksum));
    assert_eq!(DccpPacket::parse(&buffer[..len], t_to_d()), Err(DccpPacketDefect::Checksum));
}

/// RFC 4340 §9.2: data outside of the coverage may change on the way, if the receiver accepts
/// partial coverage.
#[test]
fn csum_04_changed_data_outside_of_the_coverage_is_delivered() {
    let mut world =
        ConformanceSimulation::open_server(ConnectionConfig { minimum_coverage: 1, ..config_2() });
    let mut octets = covering(&world, 1, b"data");
    *octets.last_mut().unwrap() ^= 1;
    world.deliver(&octets);
    assert_eq!(world.received(), [b"dat`"]);
}

/// RFC 4340 §9.2: the device D drops a packet whose coverage exceeds its data.
#[test]
fn csum_05_a_coverage_past_the_end_is_dropped() {
    for mut world in open_worlds() {
        let mut octets = covering(&world, 0, b"short");
        octets[5] |= 15;
        world.deliver(&octets);
        world.assert_quiet();
        assert_eq!(world.d.counts().malformed[DccpPacketDefect::Coverage.index()], 1);
    }
}

/// RFC 4340 §9.2.1: the header of the packet counts, its data does not.
#[test]
fn csum_06_without_partial_coverage_data_is_refused_and_reported() {
    for mut world in open_worlds() {
        world.deliver(&covering(&world, 1, b"data"));
        assert_eq!(world.received(), Vec::<Vec<u8>>::new());
        assert_eq!(world.gsr(), world.t_gss + 1);
        let packets = world.pass(200_000_000);
        assert_eq!(packets.len(), 1);
        assert_eq!(packets[0].1.header.acknowledgement, Some(world.t_gss + 1));
        assert_eq!(packets[0].1.option(number::DATA_DROPPED), Some(vec![0x80]));
    }
}

/// RFC 4340 §9.2.1: the device D accepts the agreed coverage and more.
#[test]
fn csum_07_a_minimum_of_4_takes_4_and_all_but_not_3() {
    let mut world =
        ConformanceSimulation::open_server(ConnectionConfig { minimum_coverage: 4, ..config_2() });
    for (coverage, is_accepted) in [(3, false), (4, true), (0, true), (15, true)] {
        let octets = covering(&world, coverage, &[coverage; 60]);
        world.t_gss += 1;
        world.deliver(&octets);
        assert_eq!(world.received().len(), usize::from(is_accepted), "{coverage}");
    }
}

/// RFC 4340 §9.2.1: the sender covers at least as much as the receiver wants.
#[test]
fn csum_08_the_agreed_minimum_bounds_what_is_sent() {
    let config = ConnectionConfig { send_coverage: 2, ..config_2() };
    let sent_with = |minimum: u8| {
        let mut world = ConformanceSimulation::open_server(config.clone());
        if minimum > 0 {
            world.send(PacketType::Ack, &[32, 4, 8, minimum], &[]);
            world.take();
        }
        world.d.send(&[0; 40], 0).unwrap();
        world.take_one().header.coverage
    };
    assert_eq!([0, 1, 2, 5, 15].map(sent_with), [0, 2, 2, 5, 0]);
}

/// RFC 4340 §9.3: the device D checks a right option, a wrong one, and ignores one with an
/// impossible length.
#[test]
fn csum_09_data_checksums_are_checked() {
    for mut world in open_worlds() {
        let right = crc32c(b"data").to_le_bytes();
        let with = |crc: &[u8]| [&[44, crc.len() as u8 + 2][..], crc].concat();
        world.send(PacketType::Data, &with(&right), b"data");
        world.send(PacketType::Data, &with(&right), b"date");
        world.send(PacketType::Data, &with(&right[..2]), b"any");
        assert_eq!(world.received(), [&b"data"[..], b"any"]);
        let packets = world.pass(200_000_000);
        let dropped: Vec<_> =
            packets.iter().filter_map(|(_, out)| out.option(number::DATA_DROPPED)).collect();
        assert_eq!(dropped[0].last(), Some(&0xb0), "corrupt");
    }
}

/// RFC 4340 §9.3.1: the device D can check Data Checksums, so it confirms the feature.
#[test]
fn csum_10_checking_of_data_checksums_can_be_asked_for() {
    let mut world = ConformanceSimulation::open_server(config_2());
    world.send(PacketType::Ack, &[1, 34, 4, 9, 1], &[]);
    assert_eq!(world.take_one().option(33), Some(vec![9, 1, 1, 0]));
    // D sends Data Checksums when T checks them.
    let config = ConnectionConfig { requests_data_checksum: true, ..config_2() };
    let mut world = ConformanceSimulation::open_client(config);
    world.d.send(b"data", 0).unwrap();
    let expected = crc32c(b"data").to_le_bytes().to_vec();
    assert_eq!(world.take_one().option(44), Some(expected));
    let mut world = ConformanceSimulation::client(ConnectionConfig {
        requests_data_checksum: true,
        ..config_2()
    });
    world.take();
    world.send(PacketType::Response, &[1, 34, 4, 77, 1], &[]);
    assert_eq!(world.take_one().reset().0, ResetCode::MandatoryError);
}

/// RFC 6773 §3.1: inside of UDP the field is not used. (The carrier ensures that UDP's own checksum
/// is not 0.)
#[test]
fn csum_11_inside_of_udp_the_checksum_field_does_not_matter() {
    let mut buffer = [0; 64];
    let header = DccpHeader::new(PacketType::Data, 5);
    let len = header.write(&[], b"udp", Integrity::Carrier, &mut buffer).unwrap();
    assert_eq!(buffer[6..8], [0, 0]);
    buffer[6..8].fill(0xaa);
    assert!(DccpPacket::parse(&buffer[..len], Integrity::Carrier).is_ok());
}
