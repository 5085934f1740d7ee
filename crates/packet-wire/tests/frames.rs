//! Tests with random and mutated packets: nothing panics, and a packet that opens is the one that
//! was sealed or is reported as different.
//!
//! `GODWIT_FUZZ_CASES=n` sets the number of cases, `GODWIT_SIM_SEED=s` the seed.

use std::net::{Ipv4Addr, SocketAddrV4};

use base::Random;
use packet_wire::ethernet::MacAddress;
use packet_wire::frame::{self, Endpoints, HEADROOM, PACKET_HEADROOM};

pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Writes a sealed frame with a random payload into `buffer`; returns its endpoints and its length.
fn sealed(random: &mut Random, buffer: &mut [u8]) -> (Endpoints, usize) {
    let payload_len = random.below(600) as usize;
    random.fill(&mut buffer[HEADROOM..HEADROOM + payload_len]);
    let mut mac = || {
        let mut octets = [0; 6];
        random.fill(&mut octets);
        MacAddress(octets)
    };
    let (source_mac, destination_mac) = (mac(), mac());
    let mut address = || {
        let ip = Ipv4Addr::from_bits(random.next_u64() as u32);
        SocketAddrV4::new(ip, random.next_u64() as u16)
    };
    let endpoints =
        Endpoints { source_mac, destination_mac, source: address(), destination: address() };
    let len = frame::seal(buffer, payload_len, &endpoints);
    (endpoints, len)
}

/// Changes a frame at random: flips bits, cuts or overwrites it; returns its new length.
fn mutate(random: &mut Random, frame: &mut [u8]) -> usize {
    let mut len = frame.len();
    for _ in 0..=random.below(3) {
        let at = random.below(frame.len() as u64) as usize;
        match random.below(4) {
            0 => len = at.min(len),
            1 => frame[at] = random.next_u64() as u8,
            2 => frame[at] ^= 1 << random.below(8),
            // The place of lengths, fragments and protocols.
            _ => frame[random.below(HEADROOM as u64) as usize] = random.next_u64() as u8,
        }
    }
    len
}

#[test]
fn any_octets_open_or_are_refused() {
    let cases = number("GODWIT_FUZZ_CASES", 300_000);
    let seed = number("GODWIT_SIM_SEED", 1);
    println!(
        "seed {seed}; repeat with: GODWIT_SIM_SEED={seed} GODWIT_FUZZ_CASES={cases} \
         cargo test -p packet-wire --test main frames::any_octets"
    );
    let mut random = Random::from_seed(seed);
    let mut buffer = [0; 700];
    let (mut opened, mut sound) = (0_u64, 0_u64);
    for _ in 0..cases {
        let (endpoints, len) = sealed(&mut random, &mut buffer);
        let original = buffer;
        let (read, payload) = frame::open(&buffer[..len]).expect("it was sealed");
        assert_eq!((read, payload), (endpoints, &original[HEADROOM..len]));
        let packet = &buffer[HEADROOM - PACKET_HEADROOM..len];
        assert!(frame::open_packet(packet).expect("it was sealed").is_checksum_right());
        let len = mutate(&mut random, &mut buffer[..len]);
        let packet = buffer.get(HEADROOM - PACKET_HEADROOM..len).unwrap_or_default();
        let Ok(datagram) = frame::open_packet(packet) else { continue };
        opened += 1;
        assert!(datagram.payload.len() + PACKET_HEADROOM <= packet.len());
        if datagram.is_checksum_right() {
            sound += 1;
        }
    }
    println!("{cases} cases, {opened} opened, {sound} of them with a right checksum");
    // The UDP checksum finds most of the damage that the IP checksum does not cover.
    assert!(opened * 10 > cases && sound * 2 < opened, "{opened} {sound}");
}

#[test]
fn octets_without_any_order_are_refused() {
    let mut random = Random::from_seed(number("GODWIT_SIM_SEED", 1));
    let mut buffer = [0; 700];
    for _ in 0..100_000 {
        let len = random.below(buffer.len() as u64) as usize;
        random.fill(&mut buffer[..len]);
        if random.chance(1, 2) && len > 0 {
            buffer[0] = 0x45;
        }
        // A checksum over 16 bits is right now and then; the packet must then still fit.
        if let Ok(datagram) = frame::open_packet(&buffer[..len]) {
            assert!(datagram.payload.len() + PACKET_HEADROOM <= len);
        }
        frame::open(&buffer[..len]).ok();
    }
}
