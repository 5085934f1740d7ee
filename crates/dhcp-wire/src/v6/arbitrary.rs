//! DHCPv6 datagrams for tests: valid packets, packets with errors, changed captures, noise.
//!
//! The seeded generator that the caller passes is the only source of randomness, so a failure
//! repeats from its seed. The bytes are written by hand here, not by [`super::MessageWriter`], so
//! that reader and writer cannot agree on a mistake.

use base::{ByteWriter, Random};

use super::layout::{MESSAGE_LEN, OPTION_LEN};
use super::{MessageType, RELAYS_MAX, option};
use crate::arbitrary::DatagramGenerator;
pub use crate::arbitrary::{BUFFER_LEN, DatagramKind};

/// DHCPv6 option codes that readers treat specially: test messages have them more often than a
/// random choice among all codes would.
const FAVORED: [u16; 16] = [
    option::CLIENTID,
    option::SERVERID,
    option::IA_NA,
    option::IA_NA,
    option::IA_TA,
    option::IA_PD,
    option::IA_PD,
    option::ORO,
    option::ELAPSED_TIME,
    option::STATUS_CODE,
    option::RAPID_COMMIT,
    option::USER_CLASS,
    option::VENDOR_CLASS,
    option::VENDOR_OPTS,
    option::CLIENT_FQDN,
    option::RECONF_ACCEPT,
];
/// Codes of DHCPv6 options in identity associations, addresses and prefixes.
const INNER: [u16; 6] = [
    option::IAADDR,
    option::IAADDR,
    option::IAPREFIX,
    option::IAPREFIX,
    option::STATUS_CODE,
    option::PD_EXCLUDE,
];
/// Codes of DHCPv6 options that relay agents add.
const RELAYED: [u16; 7] = [
    option::INTERFACE_ID,
    option::REMOTE_ID,
    option::SUBSCRIBER_ID,
    option::RELAY_ID,
    option::RELAY_PORT,
    option::CLIENT_LINKLAYER_ADDR,
    option::RSOO,
];

/// Functions and constants that make DHCPv6 test datagrams.
const MAKER: DatagramGenerator = DatagramGenerator {
    sound,
    header,
    options_at: MESSAGE_LEN,
    edges: &[0, 1, 2, 3, 4, 5, 6, 8, 9, 12, 13, 16, 18, 24, 25, 26, 37, 127, 128, 255],
    change_an_option,
};

/// Fills the front of `buffer` with a DHCPv6 datagram of a random kind and returns the kind and its
/// length in bytes. `captures` are packets to change, possibly none.
pub fn datagram(
    random: &mut Random,
    captures: &[&[u8]],
    buffer: &mut [u8],
) -> (DatagramKind, usize) {
    MAKER.datagram(random, captures, buffer)
}

/// Changes the datagram of `len` bytes at the front of `buffer` at one position: a bit, a byte, a
/// length, its end, or a stretch duplicated or removed. Returns its new length.
pub fn change(random: &mut Random, buffer: &mut [u8], len: usize) -> usize {
    MAKER.change(random, buffer, len)
}

/// Writes a DHCPv6 packet that the reader accepts into `buffer`, with up to [`RELAYS_MAX`] relay
/// levels, with options in IAs and repeated options, and now and then cut off. Returns its length;
/// 0 when `buffer` has no room for a message.
pub fn sound(random: &mut Random, buffer: &mut [u8]) -> usize {
    if buffer.len() < MESSAGE_LEN {
        return 0;
    }
    let mut place = ByteWriter::new(buffer);
    // Offsets of the lengths of Relay Message options, and number of bytes after them in their
    // levels.
    let mut lengths = [(0, 0); RELAYS_MAX];
    let levels = match random.below(20) {
        0..10 => 0,
        10..19 => random.below(5) as usize,
        _ => random.below(RELAYS_MAX as u64 + 1) as usize,
    };
    let relay_type =
        if random.chance(1, 2) { MessageType::RelayForw } else { MessageType::RelayRepl };
    let mut used = 0;
    for length in &mut lengths[..levels] {
        // Room for the following parts is kept free.
        if place.room() < 150 + 20 * levels {
            break;
        }
        level(random, relay_type, &mut place);
        place.u16(option::RELAY_MSG);
        let behind = if random.chance(1, 8) { random.below(12) as usize } else { 0 };
        *length = (place.len(), behind);
        place.u16(0);
        used += 1;
    }
    let kept: usize = lengths[..used].iter().map(|&(_, behind)| behind).sum();
    let room = place.room() - kept;
    message(random, &mut place, room);
    for &(at, behind) in lengths[..used].iter().rev() {
        let len = (place.len() - at - 2) as u16;
        place.written()[at..at + 2].copy_from_slice(&len.to_be_bytes());
        if behind >= OPTION_LEN {
            put(&mut place, option::INTERFACE_ID, &[7; 12][..behind - OPTION_LEN]);
        } else {
            place.fill(0, behind);
        }
    }
    place.len()
}

/// Writes type and transaction identifier of a DHCPv6 message that the reader accepts. Returns its
/// length; 0 without room.
fn header(random: &mut Random, buffer: &mut [u8]) -> usize {
    let Some(fixed) = buffer.first_chunk_mut::<MESSAGE_LEN>() else { return 0 };
    random.fill(fixed);
    fixed[0] = client_or_server(random).code();
    MESSAGE_LEN
}

fn client_or_server(random: &mut Random) -> MessageType {
    let picked = random.pick(&MessageType::ALL).copied().filter(|picked| !picked.is_relay());
    picked.unwrap_or(MessageType::Solicit)
}

/// Writes a relay level (RELAY-FORW or RELAY-REPL) up to its Relay Message option (option 9).
fn level(random: &mut Random, relay_type: MessageType, place: &mut ByteWriter<'_>) {
    let mut addresses = [0; 33];
    random.fill(&mut addresses);
    place.u8(relay_type.code()).put(&addresses);
    for _ in 0..random.below(3) {
        let code = random.pick(&RELAYED).copied().unwrap_or(option::INTERFACE_ID);
        let mut value = [0; 20];
        random.fill(&mut value);
        let len = if code == option::RELAY_PORT { 2 } else { 4 + random.below(16) as usize };
        put(place, code, &value[..len]);
    }
}

/// Writes a DHCPv6 message of at most `room` bytes.
fn message(random: &mut Random, place: &mut ByteWriter<'_>, room: usize) {
    let end = place.len() + room;
    let mut fixed = [0; MESSAGE_LEN];
    header(random, &mut fixed);
    place.put(&fixed);
    for _ in 0..random.below(9) {
        let code = match random.pick(&FAVORED) {
            Some(&favored) if random.chance(4, 5) => favored,
            _ => 200 + random.below(60_000) as u16,
        };
        let mut value = [0; 500];
        let mut inner = ByteWriter::new(&mut value);
        value_for(random, code, &mut inner);
        if inner.len() + OPTION_LEN <= end - place.len() {
            put(place, code, inner.written());
        }
    }
    if random.chance(1, 10) {
        // An option that is cut off: its length is more than the remaining bytes.
        let cut = (end - place.len()).min(random.below(20) as usize);
        let octets = [0, 3, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        place.put(&octets[..cut]);
    }
}

/// Writes a value that DHCPv6 option `code` may have.
fn value_for(random: &mut Random, code: u16, value: &mut ByteWriter<'_>) {
    let mut octets = [0; 40];
    random.fill(&mut octets);
    match code {
        option::CLIENTID | option::SERVERID => {
            value.u16(1 + random.below(4) as u16).put(&octets[..1 + random.below(30) as usize]);
        }
        option::IA_NA | option::IA_PD => {
            value.put(&octets[..12]);
            inner(random, 0, value);
        }
        option::IA_TA => {
            value.put(&octets[..4]);
            inner(random, 0, value);
        }
        option::IAADDR => {
            value.put(&octets[..24]);
            inner(random, 1, value);
        }
        option::IAPREFIX => {
            octets[8] = random.below(129) as u8;
            value.put(&octets[..25]);
            inner(random, 1, value);
        }
        option::ORO => {
            value.put(&octets[..2 + 2 * random.below(10) as usize]);
        }
        option::ELAPSED_TIME => {
            value.put(&octets[..2]);
        }
        option::PREFERENCE => {
            value.put(&octets[..1]);
        }
        option::STATUS_CODE | option::PD_EXCLUDE => {
            value.put(&octets[..2 + random.below(3) as usize]);
        }
        option::VENDOR_CLASS => {
            value.put(&octets[..4]);
            for _ in 0..random.below(3) {
                let len = random.below(9) as u16;
                value.u16(len).fill(b'v', usize::from(len));
            }
        }
        option::CLIENT_FQDN => {
            value.u8(0).put(b"\x06curlew");
        }
        _ => {
            value.put(&octets[..random.below(30) as usize]);
        }
    }
}

/// Writes DHCPv6 options into an identity association (IA, `depth` 0) or into an option of one.
fn inner(random: &mut Random, depth: u8, value: &mut ByteWriter<'_>) {
    for _ in 0..random.below(4) {
        let code = match random.pick(&INNER) {
            Some(&favored) if random.chance(4, 5) => favored,
            _ => option::PREFERENCE,
        };
        let mut octets = [0; 120];
        let mut place = ByteWriter::new(&mut octets);
        if depth == 0 {
            value_for(random, code, &mut place);
        } else {
            let len = if code == option::PREFERENCE { 1 } else { 25 + random.below(6) as usize };
            place.put(&[1; 30][..len]);
        }
        // An option that did not fit whole would not be valid.
        if !place.overflowed() && place.len() + OPTION_LEN <= value.room() {
            put(value, code, place.written());
        }
    }
    if random.chance(1, 12) && value.room() > 3 {
        value.put(&[0, 5, 0][..random.below(4) as usize]);
    }
}

fn put(place: &mut ByteWriter<'_>, code: u16, value: &[u8]) {
    place.u16(code).u16(value.len() as u16).put(value);
}

/// Changes code or length of one option of a DHCPv6 message, also inside some of the options that
/// contain others.
fn change_an_option(random: &mut Random, packet: &mut [u8]) {
    let mut at = if matches!(packet.first(), Some(12 | 13)) { 34 } else { MESSAGE_LEN };
    let mut skip = random.below(8);
    while let Some(&[_, code, high, low]) = packet.get(at..).and_then(<[u8]>::first_chunk) {
        if skip == 0 {
            if random.chance(1, 2) {
                packet[at + 1] = random.pick(&FAVORED).map_or(0, |&favored| favored as u8);
            } else {
                packet[at + 3] = low.wrapping_add(random.below(5) as u8).wrapping_sub(2);
            }
            return;
        }
        let inner_at = match u16::from(code) {
            option::IA_NA | option::IA_PD => 12,
            option::IA_TA => 4,
            option::IAADDR => 24,
            option::IAPREFIX => 25,
            option::RELAY_MSG => {
                if matches!(packet.get(at + OPTION_LEN), Some(12 | 13)) {
                    34
                } else {
                    MESSAGE_LEN
                }
            }
            _ => usize::from(u16::from_be_bytes([high, low])),
        };
        at += OPTION_LEN + inner_at;
        skip = skip.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{IaKind, Packet};
    use super::*;

    #[test]
    fn sound_packets_are_accepted_and_of_many_shapes() {
        let mut random = Random::from_seed(9915);
        let mut buffer = [0; BUFFER_LEN];
        let (mut levels, mut cut, mut addresses, mut prefixes) = (0, 0, 0, 0);
        for case in 0..20_000 {
            let len = sound(&mut random, &mut buffer);
            let packet = Packet::parse(&buffer[..len]);
            let packet = packet.unwrap_or_else(|reason| panic!("case {case}: {reason}"));
            let message = packet.message();
            levels += packet.relay_count();
            cut += usize::from(message.is_cut());
            for ia in message.ias() {
                match ia.kind {
                    IaKind::Na | IaKind::Ta => addresses += ia.addresses().count(),
                    IaKind::Pd => prefixes += ia.prefixes().count(),
                }
            }
        }
        assert!(levels > 20_000 && cut > 1_000, "{levels} {cut}");
        assert!(addresses > 3_000 && prefixes > 3_000, "{addresses} {prefixes}");
    }

    #[test]
    fn small_buffers_are_never_overrun() {
        let mut random = Random::from_seed(240);
        let mut buffer = [0; 300];
        for case in 0..30_000 {
            let room = case % buffer.len();
            let (_, len) = datagram(&mut random, &[&[1; 280]], &mut buffer[..room]);
            assert!(len <= room);
        }
    }
}
