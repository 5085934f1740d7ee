//! DHCPv4 datagrams for tests: valid messages, messages with errors, changed captures, noise.
//!
//! The seeded generator that the caller passes is the only source of randomness, so a failure
//! repeats from its seed. The bytes are written by hand here, not by [`super::MessageWriter`], so
//! that reader and writer cannot agree on a mistake.

use base::{ByteWriter, Random};

use super::layout::{COOKIE, FILE, OPTIONS_AT, OVERLOAD_FILE, OVERLOAD_SNAME, SNAME};
use super::lengths::{NAMES, scalar_len};
use super::option::{END, OPTION_OVERLOAD, PAD};
use super::{MessageType, option};
use crate::arbitrary::DatagramGenerator;
pub use crate::arbitrary::{BUFFER_LEN, DatagramKind};

/// DHCPv4 option codes that readers treat specially: test messages have them more often than a
/// random choice among all codes would.
const FAVORED: [u8; 20] = [
    option::SUBNET_MASK,
    option::ROUTER,
    option::DOMAIN_NAME_SERVER,
    option::HOST_NAME,
    option::DOMAIN_NAME,
    option::VENDOR_SPECIFIC_INFORMATION,
    option::REQUESTED_IP_ADDRESS,
    option::IP_ADDRESS_LEASE_TIME,
    option::SERVER_IDENTIFIER,
    option::PARAMETER_REQUEST_LIST,
    option::MAXIMUM_DHCP_MESSAGE_SIZE,
    option::RENEWAL_TIME,
    option::REBINDING_TIME,
    option::VENDOR_CLASS_IDENTIFIER,
    option::CLIENT_IDENTIFIER,
    option::RAPID_COMMIT,
    option::CLIENT_FQDN,
    option::RELAY_AGENT_INFORMATION,
    option::SUBNET_SELECTION,
    option::CLASSLESS_STATIC_ROUTE,
];

/// Functions and constants that make DHCPv4 test datagrams.
const MAKER: DatagramGenerator = DatagramGenerator {
    sound,
    header,
    options_at: OPTIONS_AT,
    edges: &[0, 1, 2, 3, 4, 52, 53, 61, 82, 127, 128, 254, END],
    change_an_option,
};

/// Fills the front of `buffer` with a DHCPv4 datagram of a random kind and returns the kind and its
/// length in bytes. `captures` are messages to change, possibly none.
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

/// Writes a DHCPv4 message that the reader accepts into `buffer`, with options in one to three
/// fields, split into pieces (RFC 3396) or whole, between padding (option 0), with and without END
/// (option 255). Returns its length; 0 when `buffer` has no room for a header.
pub fn sound(random: &mut Random, buffer: &mut [u8]) -> usize {
    let len = header(random, buffer);
    if len == 0 {
        return 0;
    }
    let overload = if random.chance(1, 6) { random.below(4) as u8 } else { 0 };
    let (fixed, rest) = buffer.split_at_mut(OPTIONS_AT);
    let limit = random.below(8);
    let mut main = ByteWriter::new(rest);
    if overload != 0 {
        put(&mut main, OPTION_OVERLOAD, &[overload]);
    }
    let mut used = [0_u64; 4];
    options(random, limit + 1, &mut used, &mut main);
    if random.chance(9, 10) && main.room() > 0 {
        main.u8(END);
        let trailing = random.below(20).min(main.room() as u64) as usize;
        main.fill(if random.chance(1, 2) { PAD } else { 0xa5 }, trailing);
    }
    let len = OPTIONS_AT + main.len();
    for (field, bit) in [(FILE, OVERLOAD_FILE), (SNAME, OVERLOAD_SNAME)] {
        let field = &mut fixed[field];
        if overload & bit != 0 {
            field.fill(0);
            let mut place = ByteWriter::new(field);
            options(random, 2, &mut used, &mut place);
            if place.room() > 0 {
                place.u8(END);
            }
        }
    }
    len
}

/// Writes a DHCPv4 header that the reader accepts, `sname` and `file` included. Returns its length;
/// 0 without room.
fn header(random: &mut Random, buffer: &mut [u8]) -> usize {
    let Some(fixed) = buffer.first_chunk_mut::<OPTIONS_AT>() else { return 0 };
    fixed.fill(0);
    fixed[0] = 1 + random.below(2) as u8;
    fixed[1] = if random.chance(9, 10) { 1 } else { random.next_u32() as u8 };
    fixed[2] = if random.chance(3, 4) { 6 } else { random.below(17) as u8 };
    fixed[3] = random.below(3) as u8;
    random.fill(&mut fixed[4..8]);
    if random.chance(1, 3) {
        random.fill(&mut fixed[8..28]);
    }
    random.fill(&mut fixed[28..44]);
    for field in [FILE, SNAME] {
        if random.chance(1, 8) {
            let name = &mut fixed[field];
            let len = random.below(name.len() as u64 + 1) as usize;
            name[..len].fill(b'n');
        }
    }
    fixed[OPTIONS_AT - COOKIE.len()..].copy_from_slice(&COOKIE);
    OPTIONS_AT
}

/// Writes up to `count` DHCPv4 options, of codes not in `used` (pieces of one option excepted).
fn options(random: &mut Random, count: u64, used: &mut [u64; 4], place: &mut ByteWriter<'_>) {
    for _ in 0..count {
        if random.chance(1, 12) && place.room() > 8 {
            place.fill(PAD, random.below(8) as usize);
        }
        let code = match random.pick(&FAVORED) {
            _ if !is_used(used, option::DHCP_MESSAGE_TYPE) && random.chance(3, 4) => {
                option::DHCP_MESSAGE_TYPE
            }
            Some(&favored) if random.chance(3, 4) => favored,
            _ => 1 + random.below(254) as u8,
        };
        if is_used(used, code) || code == OPTION_OVERLOAD {
            continue;
        }
        used[usize::from(code >> 6)] |= 1 << (code & 63);
        let mut value = [0; 600];
        let len = value_for(random, code, &mut value);
        let value = &value[..len];
        if !random.chance(1, 8) {
            put(place, code, value);
        } else {
            pieces(random, place, code, value);
        }
    }
}

/// Writes a value that DHCPv4 option `code` may have; returns its length in bytes.
fn value_for(random: &mut Random, code: u8, value: &mut [u8; 600]) -> usize {
    random.fill(&mut value[..32]);
    match code {
        option::DHCP_MESSAGE_TYPE => {
            value[0] = random.pick(&MessageType::ALL).map_or(1, |known| known.code());
            1
        }
        option::CLIENT_IDENTIFIER => 3 + random.below(29) as usize,
        option::CLIENT_FQDN => {
            let len = random.below(29) as usize;
            value[..3].copy_from_slice(&[0, 255, 255]);
            value[3..3 + len].fill(b'f');
            3 + len
        }
        _ if NAMES.iter().any(|&(names, _)| names == code) => {
            value[..4].copy_from_slice(b"\x02fo\x00");
            4
        }
        _ if scalar_len(code).is_some() => scalar_len(code).map_or(0, usize::from),
        option::PARAMETER_REQUEST_LIST => 1 + random.below(31) as usize,
        option::RELAY_AGENT_INFORMATION => {
            let mut subs = ByteWriter::new(&mut value[..]);
            for _ in 0..random.below(4) {
                let code = 1 + random.below(19) as u8;
                let len = random.below(20) as usize;
                subs.u8(code).u8(len as u8).fill(code, len);
            }
            subs.len()
        }
        _ if random.chance(1, 40) => {
            random.fill(value);
            random.below(600) as usize
        }
        _ => random.below(32) as usize,
    }
}

/// Writes a DHCPv4 option, in pieces when its value is too long for one; writes nothing when there
/// is no room.
fn put(place: &mut ByteWriter<'_>, code: u8, value: &[u8]) {
    if value.len() + 2 * (value.len() / 255 + 1) > place.room() {
        return;
    }
    if value.is_empty() {
        place.u8(code).u8(0);
    }
    for piece in value.chunks(255) {
        place.u8(code).u8(piece.len() as u8).put(piece);
    }
}

/// Number of free bytes beyond the rest of the value that [`pieces`] needs to write one more piece;
/// with less room it writes the rest at once.
const PIECES_ROOM: usize = 80;

/// Writes a DHCPv4 option in pieces of random lengths, empty ones included, with other options
/// between.
fn pieces(random: &mut Random, place: &mut ByteWriter<'_>, code: u8, value: &[u8]) {
    let mut rest = value;
    while !rest.is_empty() {
        if place.room() < rest.len() + PIECES_ROOM {
            return put(place, code, rest);
        }
        let (piece, tail) = rest.split_at(random.below(rest.len().min(60) as u64 + 1) as usize);
        put(place, code, piece);
        rest = tail;
        if random.chance(1, 4) {
            // A code between the pieces of others that has no limits itself.
            put(place, option::MESSAGE, b"between");
        }
    }
}

fn is_used(used: &[u64; 4], code: u8) -> bool {
    used[usize::from(code >> 6)] & (1 << (code & 63)) != 0
}

/// Changes code or length of one option of a DHCPv4 message, if it has one.
fn change_an_option(random: &mut Random, message: &mut [u8]) {
    let mut at = OPTIONS_AT;
    let mut skip = random.below(8);
    while let Some(&[code, len]) = message.get(at..).and_then(<[u8]>::first_chunk) {
        if code == END {
            return;
        }
        if code != PAD && skip == 0 {
            if random.chance(1, 2) {
                message[at] = random.pick(&FAVORED).copied().unwrap_or(OPTION_OVERLOAD);
            } else {
                message[at + 1] = len.wrapping_add(random.below(5) as u8).wrapping_sub(2);
            }
            return;
        }
        at += if code == PAD { 1 } else { 2 + usize::from(len) };
        skip = skip.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Message;
    use super::*;

    #[test]
    fn sound_messages_are_accepted_and_of_many_shapes() {
        let mut random = Random::from_seed(2131);
        let mut buffer = [0; BUFFER_LEN];
        let mut overloaded = 0;
        let mut joined = 0;
        for case in 0..20_000 {
            let len = sound(&mut random, &mut buffer);
            let message = Message::parse(&buffer[..len]);
            let message = message.unwrap_or_else(|reason| panic!("case {case}: {reason}"));
            assert!(!message.is_cut(), "case {case}");
            overloaded += u32::from(message.option(OPTION_OVERLOAD).is_some());
            joined += u32::from(message.options().any(|(_, value)| value.fragments().count() > 1));
        }
        assert!(overloaded > 1_000 && joined > 1_000, "{overloaded} {joined}");
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
