//! Random bytes and random packets: parsing returns a packet or an error, and a packet that was
//! written is parsed to the same fields.

use base::Random;
use dccp::header::{
    DccpHeader, DccpPacket, DccpPacketDefect, Integrity, PacketType, Reset, ResetCode, ServiceCode,
};
use dccp::option::{DccpOption, DccpOptionIterator, DccpOptionWriter, FeatureOption};

fn octets(random: &mut Random, len_max: u64) -> Vec<u8> {
    let mut octets = vec![0; random.below(len_max + 1) as usize];
    random.fill(&mut octets);
    octets
}

fn integrity(random: &mut Random) -> Integrity {
    match random.below(3) {
        0 => Integrity::Carrier,
        1 => Integrity::Addresses {
            source: [10, 0, 0, random.next_u32() as u8].into(),
            destination: [10, 0, 1, random.next_u32() as u8].into(),
        },
        _ => Integrity::Addresses {
            source: [random.next_u32() as u16; 8].into(),
            destination: [random.next_u32() as u16; 8].into(),
        },
    }
}

/// Returns a header whose fields are those of its type, and data that its coverage fits.
fn packet(random: &mut Random) -> (DccpHeader, Vec<u8>) {
    let packet_type = *random.pick(&PacketType::ALL).unwrap();
    let is_extended = !packet_type.may_be_short() || random.chance(1, 2);
    let mask = if is_extended { (1 << 48) - 1 } else { (1 << 24) - 1 };
    let data = octets(random, 100);
    let words = (data.len() as u64 / 4 + 2).min(16);
    let header = DccpHeader {
        source_port: random.next_u32() as u16,
        destination_port: random.next_u32() as u16,
        ccval: random.below(16) as u8,
        coverage: random.below(words) as u8,
        packet_type,
        is_extended,
        sequence: random.next_u64() & mask,
        acknowledgement: packet_type.has_acknowledgement().then(|| random.next_u64() & mask),
        service_code: packet_type.has_service_code().then(|| ServiceCode::new(random.next_u32())),
        reset: (packet_type == PacketType::Reset).then(|| Reset {
            code: ResetCode::from_number(random.next_u32() as u8),
            data: [1, 2, random.next_u32() as u8],
        }),
    };
    (header, data)
}

fn option<'a>(random: &mut Random, value: &'a [u8]) -> DccpOption<'a> {
    let number = random.next_u64();
    match random.below(14) {
        0 => DccpOption::Padding,
        1 => DccpOption::Mandatory,
        2 => DccpOption::SlowReceiver,
        3 => DccpOption::Feature {
            kind: *random.pick(&[FeatureOption::ConfirmL, FeatureOption::ConfirmR]).unwrap(),
            feature: number as u8,
            value,
        },
        4 => {
            DccpOption::Feature { kind: FeatureOption::ChangeL, feature: number as u8, value: b"x" }
        }
        5 => DccpOption::InitCookie(value),
        6 => DccpOption::NdpCount(number >> 16 >> random.below(48)),
        7 => DccpOption::AckVector { nonce: number & 1 == 1, runs: value },
        8 => DccpOption::DataDropped(value),
        9 => DccpOption::Timestamp(number as u32),
        10 => DccpOption::TimestampEcho { echo: number as u32, elapsed_10us: number as u32 >> 17 },
        11 => DccpOption::ElapsedTime((number as u32) >> random.below(32)),
        12 => DccpOption::DataChecksum(number as u32),
        _ => DccpOption::Unknown { number: 45 + (number % 200) as u8, value },
    }
}

#[test]
fn what_is_written_is_what_is_read() {
    let mut random = Random::from_seed(0xdcc9);
    for round in 0..20_000 {
        let (header, data) = packet(&mut random);
        let integrity = integrity(&mut random);
        let values = octets(&mut random, 20);
        let expected: Vec<_> = (0..random.below(8)).map(|_| option(&mut random, &values)).collect();
        let mut area = [0; 600];
        let mut options = DccpOptionWriter::new(&mut area);
        assert!(expected.iter().all(|&option| options.put(option)));
        let mut buffer = [0; 2_000];
        let len = header.write(options.written(), &data, integrity, &mut buffer).unwrap();
        let read = DccpPacket::parse(&buffer[..len], integrity).unwrap();
        assert_eq!((read.header, read.data), (header, &data[..]), "round {round}");
        let options: Vec<_> = DccpOptionIterator::new(read.options).map(|raw| raw.option).collect();
        assert_eq!(options[..expected.len()], expected, "round {round}");
        assert!(options[expected.len()..].iter().all(|&option| option == DccpOption::Padding));
        assert!(options.len() < expected.len() + 4, "round {round}");
    }
}

#[test]
fn nothing_that_comes_in_is_too_strange_to_read() {
    let mut random = Random::from_seed(0xdcca);
    let mut reasons = [0; DccpPacketDefect::ALL.len()];
    for _ in 0..200_000 {
        let (header, data) = packet(&mut random);
        let mut buffer = [0; 500];
        let area = octets(&mut random, 40);
        let len = header.write(&area, &data, Integrity::Carrier, &mut buffer).unwrap();
        for _ in 0..random.below(4) {
            buffer[random.below(len as u64) as usize] = random.next_u32() as u8;
        }
        let len = if random.chance(1, 3) { random.below(len as u64 + 1) as usize } else { len };
        let integrity = integrity(&mut random);
        match DccpPacket::parse(&buffer[..len], integrity) {
            Ok(packet) => {
                let total: usize = DccpOptionIterator::new(packet.options)
                    .map(|raw| if raw.number < 32 { 1 } else { raw.value.len() + 2 })
                    .sum();
                assert!(total <= packet.options.len());
            }
            Err(reason) => reasons[reason.index()] += 1,
        }
    }
    assert!(reasons.iter().all(|&count| count > 50), "every reason is met: {reasons:?}");
}

#[test]
fn a_length_that_cannot_be_ends_the_options() {
    let read =
        |area: &[u8]| -> Vec<u8> { DccpOptionIterator::new(area).map(|raw| raw.number).collect() };
    assert_eq!(read(&[2, 37, 3, 1, 50, 0, 2, 2]), [2, 37]);
    assert_eq!(read(&[2, 37, 3, 1, 50, 1, 2, 2]), [2, 37]);
    assert_eq!(read(&[2, 37, 3, 1, 50, 5, 2, 2]), [2, 37]);
    assert_eq!(read(&[2, 37, 3, 1, 50, 4, 2, 2]), [2, 37, 50]);
    assert_eq!(read(&[2, 37]), [2]);
}

#[test]
fn options_with_a_wrong_length_are_as_good_as_unknown() {
    for octets in [
        &[41, 5, 0, 0, 0][..],
        &[41, 7, 0, 0, 0, 0, 0],
        &[42, 7, 0, 0, 0, 0, 0],
        &[43, 2],
        &[43, 5, 0, 0, 0],
        &[44, 4, 0, 0],
        &[37, 2],
        &[37, 9, 0, 0, 0, 0, 0, 0, 0],
        &[32, 2],
        &[32, 3, 1],
        &[33, 2],
    ] {
        let raw = DccpOptionIterator::new(octets).next().unwrap();
        assert_eq!(raw.option, DccpOption::Unknown { number: octets[0], value: &octets[2..] });
    }
}
