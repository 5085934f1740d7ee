//! Headers (RFC 4340 §5.1 to §5.7).

use dccp::connection::{ConnectionEvent, ConnectionState};
use dccp::header::{DccpPacketDefect, PacketType, ResetCode};

use crate::conformance::world::{
    ConformanceSimulation, D_ISS, MS, SECOND, T_ISS, config, config_2, open_worlds, packet, seal,
};

/// Delivers bytes to the device D in OPEN, and checks that they change nothing.
fn assert_ignored(octets: &[u8], reason: DccpPacketDefect) {
    for mut world in open_worlds() {
        let before = world.d.greatest_numbers();
        world.deliver(octets);
        world.assert_quiet();
        assert_eq!(world.d.greatest_numbers(), before);
        assert_eq!(world.d.counts().malformed[reason.index()], 1, "{reason}");
        assert_eq!(world.received(), Vec::<Vec<u8>>::new());
    }
}

fn octets(packet_type: PacketType) -> Vec<u8> {
    let world = ConformanceSimulation::open_server(config_2());
    packet(world.header(packet_type, T_ISS + 10, D_ISS), &[], &[])
}

/// RFC 4340 §8.5 step 1: the packet is shorter than any header.
#[test]
fn hdr_01_eleven_octets_are_dropped() {
    assert_ignored(&octets(PacketType::Data)[..11], DccpPacketDefect::Truncated);
}

/// RFC 4340 §5.1: Data Offset is below the fixed header.
#[test]
fn hdr_02_a_data_offset_inside_of_the_header_is_dropped() {
    for packet_type in PacketType::ALL {
        let mut octets = octets(packet_type);
        octets[4] -= 1;
        seal(&mut octets);
        assert_ignored(&octets, DccpPacketDefect::DataOffset);
    }
}

/// RFC 4340 §5.1: Data Offset is beyond the packet's end.
#[test]
fn hdr_03_a_data_offset_behind_the_packet_is_dropped() {
    let mut octets = octets(PacketType::Ack);
    octets[4] += 1;
    seal(&mut octets);
    assert_ignored(&octets, DccpPacketDefect::DataOffset);
}

/// RFC 4340 §5.1: the device D neither acknowledges nor resets packets of reserved types.
#[test]
fn hdr_04_types_10_to_15_are_dropped() {
    for number in 10..16 {
        let mut octets = octets(PacketType::Ack);
        octets[8] = number << 1 | 1;
        seal(&mut octets);
        assert_ignored(&octets, DccpPacketDefect::Type);
    }
}

/// RFC 4340 §5.1: only Data, Ack and DataAck may have short numbers.
#[test]
fn hdr_05_short_numbers_on_other_types_are_dropped() {
    for packet_type in PacketType::ALL.into_iter().filter(|t| !t.may_be_short()) {
        let mut octets = octets(packet_type);
        octets[8] &= !1;
        seal(&mut octets);
        assert_ignored(&octets, DccpPacketDefect::ShortSequence);
    }
}

/// RFC 4340 §5.1: the device D ignores reserved bits.
#[test]
fn hdr_06_reserved_bits_do_not_matter() {
    for mut world in open_worlds() {
        let number = world.t_gss + 1;
        let mut octets = packet(world.header(PacketType::DataAck, number, world.t_gsr), &[], b"x");
        octets[8] |= 0xe0;
        octets[9] = 0xff;
        octets[16..18].fill(0xff);
        seal(&mut octets);
        world.deliver(&octets);
        assert_eq!(world.received(), [b"x"]);
        assert_eq!(world.gsr(), number);
    }
}

/// RFC 4340 §5.1, RFC 4341 §9: CCID 2 does not use CCVal.
#[test]
fn hdr_07_ccval_means_nothing_to_ccid_2() {
    for mut world in open_worlds() {
        let mut header = world.header(PacketType::Data, world.t_gss + 1, 0);
        header.ccval = 11;
        world.deliver(&packet(header, &[], b"x"));
        assert_eq!(world.received(), [b"x"]);
    }
}

/// RFC 4340 §5.4: bytes after an Ack's header are padding.
#[test]
fn hdr_08_data_on_an_ack_is_not_delivered() {
    for mut world in open_worlds() {
        world.send(PacketType::Ack, &[], b"padding");
        assert_eq!(world.received(), Vec::<Vec<u8>>::new());
        assert_eq!(world.gsr(), world.t_gss);
    }
}

/// RFC 4340 §5.4: a Data packet without data is an empty datagram.
#[test]
fn hdr_09_an_empty_datagram_is_delivered() {
    for mut world in open_worlds() {
        world.send(PacketType::Data, &[], &[]);
        world.send(PacketType::DataAck, &[], &[]);
        assert_eq!(world.received(), [b"", b""]);
    }
}

/// RFC 4340 §5: the device D sends every type with its least header and zeros in reserved fields.
#[test]
fn hdr_10_what_is_sent_is_well_formed() {
    let mut seen = Vec::new();
    let mut client = ConformanceSimulation::client(config_2());
    seen.extend(client.take());
    client.send(PacketType::Response, &[], &[]);
    client.d.send(b"early", 0).unwrap();
    seen.extend(client.take());
    let mut client = ConformanceSimulation::open_client(config_2());
    client.d.send(b"data", 0).unwrap();
    client.send_at(PacketType::Sync, client.t_gss + 1, client.t_gsr, &[], &[]);
    client.send_at(PacketType::Ack, client.t_gss + 5_000, client.t_gsr, &[], &[]);
    seen.extend(client.take());
    client.now_ns += SECOND;
    client.d.close(client.now_ns);
    seen.extend(client.take());
    let mut server = ConformanceSimulation::server_with(config_2(), D_ISS, &[], &[]);
    seen.extend(server.take());
    let mut server = ConformanceSimulation::open_server(config_2());
    server.d.close(server.now_ns);
    seen.extend(server.take());
    server.send(PacketType::Close, &[], &[]);
    seen.extend(server.take());
    let mut server = ConformanceSimulation::open_server(config_2());
    server.d.send(b"data", 0).unwrap();
    for _ in 0..2 {
        server.send(PacketType::Data, &[], b"x");
    }
    seen.extend(server.take());
    for out in &seen {
        assert_eq!(out.octets[8] & 0xe1, 1, "reserved bits and X");
        assert_eq!(out.octets[9], 0);
        let offset = usize::from(out.octets[4]) * 4;
        assert_eq!(offset, out.header.fixed_len() + out.options.len());
        if out.header.acknowledgement.is_some() {
            assert_eq!(out.octets[16..18], [0, 0]);
        }
    }
    for packet_type in PacketType::ALL {
        let is_seen = seen.iter().any(|out| out.packet_type() == packet_type);
        assert!(is_seen, "{packet_type:?}");
    }
}

/// RFC 4340 §5.6, Table 2: Data 1 to 3 of a Reset depend on its code.
#[test]
fn hdr_11_the_data_of_a_reset_are_those_of_its_code() {
    let mut world = ConformanceSimulation::open_server(config_2());
    world.send(PacketType::Close, &[], &[]);
    assert_eq!(world.take_one().reset(), (ResetCode::Closed, [0; 3]));
    let mut world = ConformanceSimulation::open_server(config_2());
    world.send(PacketType::Ack, &[1, 50, 5, 7, 8, 9], &[]);
    assert_eq!(world.take_one().reset(), (ResetCode::MandatoryError, [50, 7, 8]));
    let mut world = ConformanceSimulation::client(config_2());
    world.take();
    world.send(PacketType::Ack, &[], &[]);
    assert_eq!(world.take_one().reset(), (ResetCode::PacketError, [3, 0, 0]));
}

/// RFC 4340 §5.3: a Response has the service code and the number of its Request.
#[test]
fn hdr_12_a_response_repeats_the_service_code_and_acknowledges_the_request() {
    let mut world = ConformanceSimulation::server_with(config(), D_ISS, &[], &[]);
    let response = world.take_one();
    assert_eq!(response.packet_type(), PacketType::Response);
    assert_eq!(response.header.service_code.map(|code| code.value()), Some(7));
    assert_eq!(response.header.acknowledgement, Some(T_ISS));
    assert_eq!(response.header.sequence, D_ISS);
    assert_eq!(world.d.state(), ConnectionState::Respond);
    assert_eq!(world.d.poll_event(), None::<ConnectionEvent>);
    assert!(world.d.poll_timeout().unwrap() > world.now_ns + 400_000 * MS);
}
