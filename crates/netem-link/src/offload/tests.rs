//! Tests of trains and checksums: every resulting packet is one that the train's sender might have
//! sent.

use super::*;

const VLAN: [u8; 4] = [0x81, 0, 0, 7];

/// Properties of a train (several segments under one header) in a test.
#[derive(Clone, Copy)]
struct TrainCase {
    is_v4: bool,
    is_tagged: bool,
    kind: TrainKind,
    payload_len: usize,
    payload_bytes: usize,
}

/// Returns the headers of a train and its payload, a frame in the form of a packet socket.
fn train(case: TrainCase) -> (Vec<u8>, PendingChecksum) {
    let mut frame = vec![2; 12];
    if case.is_tagged {
        frame.extend(VLAN);
    }
    frame.extend(if case.is_v4 { [8, 0] } else { [0x86, 0xdd] });
    let number = if case.kind == TrainKind::Tcp { TCP } else { protocol::UDP };
    if case.is_v4 {
        // The header has four bytes of options.
        frame.extend([0x46, 1, 0, 0, 0xff, 0xff, 0x40, 0, 64, number, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 0]);
    } else {
        frame.extend([0x60, 0x10, 0, 0, 0, 0, number, 64]);
        frame.extend((0..32).collect::<Vec<u8>>());
    }
    let start = frame.len();
    let offset = match case.kind {
        TrainKind::Tcp => {
            frame.extend([0, 80, 0, 81, 0xff, 0xff, 0xff, 0, 1, 2, 3, 4]);
            frame.extend([0x80, FIN | PSH | CWR | 0x10, 9, 9, 0, 0, 0, 0]);
            frame.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
            16
        }
        TrainKind::Udp => {
            frame.extend([0, 80, 0, 81, 0, 0, 0, 0]);
            6
        }
    };
    frame.extend((0..case.payload_len).map(|at| (at * 7 % 251) as u8));
    (frame, PendingChecksum { start, offset })
}

fn unpacked(frame: &ReceivedFrame<'_>) -> Result<Vec<Vec<u8>>, FrameDescriptionError> {
    let (mut scratch, mut packets) = (vec![0; 70_000], Vec::new());
    unpack(frame, &mut scratch, |packet| packets.push(packet.to_vec()))?;
    Ok(packets)
}

fn cases() -> impl Iterator<Item = TrainCase> {
    let sizes = [(1, 1_000), (1_000, 1_000), (1_001, 1_000), (64_000, 1_448), (3_000, 1_000)];
    sizes.into_iter().flat_map(|(payload_len, payload_bytes)| {
        (0..8).map(move |bits| TrainCase {
            is_v4: bits & 1 != 0,
            is_tagged: bits & 2 != 0,
            kind: if bits & 4 != 0 { TrainKind::Tcp } else { TrainKind::Udp },
            payload_len,
            payload_bytes,
        })
    })
}

/// Returns true if the TCP or UDP checksum of `segment` is right, computed in another way than it
/// was written.
fn is_right(case: TrainCase, network: &[u8], segment: &[u8]) -> bool {
    let addresses = if case.is_v4 { &network[12..20] } else { &network[8..40] };
    let number = if case.kind == TrainKind::Tcp { TCP } else { protocol::UDP };
    let len = (segment.len() as u16).to_be_bytes();
    checksum(&[addresses, &[0, number], &len[..], segment].concat()) == 0
}

#[test]
fn every_piece_is_a_packet_of_its_own_and_the_payload_is_whole() {
    for case in cases() {
        let (octets, pending) = train(case);
        let of = Train { kind: case.kind, payload_bytes: case.payload_bytes };
        let frame = ReceivedFrame { octets: &octets, checksum: Some(pending), train: Some(of) };
        let packets = unpacked(&frame).unwrap();
        assert_eq!(packets.len(), case.payload_len.div_ceil(case.payload_bytes));
        let network_at = if case.is_tagged { 18 } else { 14 };
        let header_len = if case.kind == TrainKind::Tcp { 32 } else { 8 };
        let mut payload = Vec::new();
        for (index, packet) in packets.iter().enumerate() {
            let (network, segment) = packet[network_at..].split_at(pending.start - network_at);
            assert_eq!(packet[..network_at], octets[..network_at]);
            let half = |octets: &[u8], at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
            if case.is_v4 {
                assert_eq!(usize::from(half(network, 2)), packet.len() - network_at);
                assert_eq!(half(network, 4), 0xffff_u16.wrapping_add(index as u16));
                assert_eq!(checksum(network), 0);
            } else {
                assert_eq!(usize::from(half(network, 4)), segment.len());
            }
            assert!(is_right(case, network, segment), "packet {index}");
            if case.kind == TrainKind::Tcp {
                let is_last = index + 1 == packets.len();
                let ends = if is_last { FIN | PSH } else { 0 };
                let begins = if index == 0 { CWR } else { 0 };
                assert_eq!(segment[13], 0x10 | ends | begins, "packet {index}");
                let sequence = u32::from_be_bytes(array(segment, 4));
                let skipped = (index * case.payload_bytes) as u32;
                assert_eq!(sequence, 0xffff_ff00_u32.wrapping_add(skipped));
            } else {
                assert_eq!(usize::from(half(segment, 4)), segment.len());
            }
            payload.extend_from_slice(&segment[header_len..]);
        }
        assert_eq!(payload, octets[octets.len() - case.payload_len..]);
    }
}

#[test]
fn a_checksum_that_was_left_out_is_filled_in() {
    for case in cases().filter(|case| case.payload_len <= case.payload_bytes) {
        let (mut octets, pending) = train(case);
        // The sender's kernel leaves the sum of the pseudo-header in the field.
        let network_at = if case.is_tagged { 18 } else { 14 };
        let network = octets[network_at..pending.start].to_vec();
        let number = if case.kind == TrainKind::Tcp { TCP } else { protocol::UDP };
        let len = (octets.len() - pending.start) as u16;
        let addresses = if case.is_v4 { &network[12..20] } else { &network[8..40] };
        let pseudo = !checksum(&[addresses, &[0, number], &len.to_be_bytes()].concat());
        let field = pending.start + pending.offset;
        octets[field..field + 2].copy_from_slice(&pseudo.to_be_bytes());
        let frame = ReceivedFrame { octets: &octets, checksum: Some(pending), train: None };
        let packets = unpacked(&frame).unwrap();
        let [packet] = &packets[..] else { panic!("{} packets", packets.len()) };
        if case.kind == TrainKind::Udp {
            // The length field, which the train lacks.
            assert_eq!(packet[pending.start + 4..pending.start + 6], [0, 0]);
        }
        assert_eq!(packet[..field], octets[..field]);
        assert_eq!(packet[field + 2..], octets[field + 2..]);
        let segment = &packet[pending.start..];
        let all = [addresses, &[0, number], &len.to_be_bytes(), segment].concat();
        assert_eq!(checksum(&all), 0);
    }
}

#[test]
fn the_checksum_of_sctp_is_another_one() {
    // The check value of CRC-32C.
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    let mut frame = vec![0; 12];
    frame.extend([8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, SCTP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0, 7, 0, 8, 0, 0, 0, 1, 0xaa, 0xbb, 0xcc, 0xdd, 1, 2, 3, 4]);
    let pending = PendingChecksum { start: 34, offset: 8 };
    let packets =
        unpacked(&ReceivedFrame { octets: &frame, checksum: Some(pending), train: None }).unwrap();
    let expected = crc32c(&[&frame[34..42], &[0; 4], &frame[46..]].concat());
    assert_eq!(packets[0][42..46], expected.to_le_bytes());
}

#[test]
fn what_cannot_be_is_refused_and_never_a_panic() {
    let mut random = base::Random::from_seed(5);
    for case in cases().filter(|case| case.payload_len < 4_000) {
        let (octets, pending) = train(case);
        let of = Train { kind: case.kind, payload_bytes: case.payload_bytes };
        let headless = ReceivedFrame { octets: &octets, checksum: None, train: Some(of) };
        assert_eq!(unpacked(&headless), Err(FrameDescriptionError));
        for _ in 0..200 {
            let mut octets = octets[..random.below(octets.len() as u64) as usize].to_vec();
            for _ in 0..random.below(4) {
                if let Some(last) = octets.len().checked_sub(1) {
                    octets[random.below(last as u64 + 1) as usize] = random.next_u32() as u8;
                }
            }
            let start = random.below(100) as usize;
            let pending = [pending, PendingChecksum { start, ..pending }];
            let pending = pending[random.below(2) as usize];
            let payload_bytes = random.below(2_000) as usize;
            for train in [None, Some(Train { payload_bytes, ..of })] {
                let frame = ReceivedFrame { octets: &octets, checksum: Some(pending), train };
                unpacked(&frame).ok();
            }
        }
    }
}
