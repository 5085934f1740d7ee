//! Elements of a packet text that are bytes: numbers, strings, constants, fillings, counters,
//! random bytes, checksums.

use super::expression;
use super::headers::PacketBuilder;
use super::parser::Parser;
use super::source::{Parsed, fault, is_word};
use crate::packet::{ChecksumUpdate, Counter, PseudoHeader};

/// Names of all functions of the packet language, for error messages.
const KNOWN: &str = "eth pause pfc vlan mpls arp ip4 ipv4 ip6 ipv6 icmp4 icmpv4 icmp6 icmpv6 udp tcp dns, \
                     c8 const8 c16 const16 c32 const32 c64 const64, fill rnd drnd seqinc seqdec dinc \
                     ddec, csum16 csumip csumip4 csumicmp csumicmp4 csumudp csumtcp csumudp6 csumtcp6 \
                     csumicmp6";

/// Parses a number that is an element, and appends its lowest eight bits to the packet.
pub(crate) fn octet(parser: &mut Parser<'_>, builder: &mut PacketBuilder) -> Parsed<()> {
    let at = parser.cursor.at;
    if parser.cursor.word().is_empty() {
        let next = parser.cursor.describe_next();
        let message = if next == "`-`" {
            "a sign is allowed inside c8(), c16(), c32() and c64() only".to_owned()
        } else {
            format!("an element expected, found {next}")
        };
        parser.cursor.at += 1;
        return fault(at, message);
    }
    let Ok(number) = expression::plain(&mut parser.cursor, parser.settings.quirks) else {
        // Invalid numbers have their own message; other words are taken for functions without
        // arguments.
        let word = parser.cursor.word();
        let message = match super::source::number(word, parser.settings.quirks) {
            Some(Err(message)) => message,
            _ => format!("`{word}` is neither a number nor a function; functions are {KNOWN}"),
        };
        parser.cursor.take_word();
        return fault(at, message);
    };
    if number > 0xff {
        parser.warn(at, format!("{number} does not fit into a byte: {} is sent", number & 0xff));
    }
    builder.append(&[number as u8], at)
}

/// Parses a string element; a string that consists of `\xHH` only appends the bytes that it names.
pub(crate) fn string(parser: &mut Parser<'_>, builder: &mut PacketBuilder) -> Parsed<()> {
    let at = parser.cursor.at;
    let text = parser.cursor.string()?;
    match shellcode(text) {
        Some(octets) => {
            // The reference takes the length of a C string, and one byte less if it has a zero.
            let octets = match octets.iter().position(|octet| *octet == 0) {
                Some(len) if parser.settings.quirks => &octets[..len.saturating_sub(1)],
                _ => &octets[..],
            };
            builder.append(octets, at)
        }
        None => builder.append(text, at),
    }
}

fn shellcode(text: &[u8]) -> Option<Vec<u8>> {
    let (groups, rest) = text.as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let octet = |group: &[u8; 4]| {
        let digits = group.strip_prefix(b"\\x")?;
        let digits = std::str::from_utf8(digits).ok()?;
        if digits.starts_with('+') {
            return None;
        }
        u8::from_str_radix(digits, 16).ok()
    };
    groups.iter().map(octet).collect()
}

/// Parses a call of the function `name`, which is next in the text.
pub(crate) fn function(
    parser: &mut Parser<'_>,
    builder: &mut PacketBuilder,
    name: &str,
) -> Parsed<()> {
    let at = parser.cursor.at;
    parser.cursor.take_word();
    match name {
        "c8" | "const8" => constant(parser, builder, 1),
        "c16" | "const16" => constant(parser, builder, 2),
        "c32" | "const32" => constant(parser, builder, 4),
        "c64" | "const64" => constant(parser, builder, 8),
        "fill" => {
            let [value, count] = exactly(parser, at, "fill(octet, count)")?;
            repeat(builder, count, at, |_| value as u8)
        }
        "rnd" => {
            let [count] = exactly(parser, at, "rnd(count)")?;
            // Filled from the end, as in trafgen.
            builder.check_room(count, at)?;
            let random = &mut parser.random;
            let mut octets: Vec<u8> = (0..count).map(|_| random.octet()).collect();
            octets.reverse();
            not_empty(count, at)?;
            builder.append(&octets, at)
        }
        "drnd" => random(parser, builder, at),
        "seqinc" | "seqdec" => {
            let usage = format!("{name}(start, count[, step])");
            let (start, count, step) = match arguments(parser, at)?[..] {
                [start, count] => (start, count, 1),
                [start, count, step] => (start, count, step),
                _ => return fault(at, usage),
            };
            let is_up = name == "seqinc";
            repeat(builder, count, at, |n| {
                let moved = n.wrapping_mul(step);
                let value =
                    if is_up { start.wrapping_add(moved) } else { start.wrapping_sub(moved) };
                value as u8
            })
        }
        "dinc" | "ddec" => counter(parser, builder, name, at),
        _ => match checksum_of(name) {
            Some(kind) => checksum(parser, builder, name, kind, at),
            None => fault(at, format!("unknown function `{name}`; functions are {KNOWN}")),
        },
    }
}

/// Parses numbers in parentheses, the arguments of a function.
pub(crate) fn arguments(parser: &mut Parser<'_>, at: usize) -> Parsed<Vec<u64>> {
    parser.cursor.expect(b'(')?;
    let mut numbers = Vec::new();
    parser.cursor.skip_blanks();
    if parser.cursor.take(b')') {
        return Ok(numbers);
    }
    loop {
        parser.cursor.skip_blanks();
        numbers.push(expression::plain(&mut parser.cursor, parser.settings.quirks)?);
        parser.cursor.skip_blanks();
        if parser.cursor.take(b')') {
            return Ok(numbers);
        }
        // Blanks separate numbers as a comma does.
        if !parser.cursor.take(b',') && !parser.cursor.peek().is_some_and(is_word) {
            let next = parser.cursor.describe_next();
            return fault(
                parser.cursor.at,
                format!("`,` or `)` expected, found {next}; only c8() to c64() take expressions"),
            );
        }
        if numbers.len() > 8 {
            return fault(at, "no function takes that many numbers");
        }
    }
}

fn exactly<const N: usize>(parser: &mut Parser<'_>, at: usize, usage: &str) -> Parsed<[u64; N]> {
    let numbers = arguments(parser, at)?;
    numbers.try_into().map_or_else(|_| fault(at, format!("the form is {usage}")), Ok)
}

fn not_empty(count: u64, at: usize) -> Parsed<()> {
    if count == 0 { fault(at, "the count must not be 0") } else { Ok(()) }
}

fn repeat(
    builder: &mut PacketBuilder,
    count: u64,
    at: usize,
    value: impl Fn(u64) -> u8,
) -> Parsed<()> {
    not_empty(count, at)?;
    builder.check_room(count, at)?;
    builder.append(&(0..count).map(value).collect::<Vec<_>>(), at)
}

fn constant(parser: &mut Parser<'_>, builder: &mut PacketBuilder, len: usize) -> Parsed<()> {
    parser.cursor.expect(b'(')?;
    parser.cursor.skip_blanks();
    let at = parser.cursor.at;
    let value = expression::read(&mut parser.cursor, parser.settings.quirks)?;
    parser.cursor.expect(b')')?;
    if value.is_surprising {
        let message = "all operators have the same precedence, from left to right; parentheses \
                       make the order clear";
        parser.warn(at, message);
    }
    let bits = 8 * len as u32;
    let fits = bits == 64 || (-1_i64 << (bits - 1)..1_i64 << bits).contains(&value.bits);
    if !fits {
        parser.warn(at, format!("{} does not fit into {bits} bits", value.bits));
    }
    builder.append(&value.bits.to_be_bytes()[8 - len..], at)
}

fn random(parser: &mut Parser<'_>, builder: &mut PacketBuilder, at: usize) -> Parsed<()> {
    let count = match arguments(parser, at)?[..] {
        [] => 1,
        [count] => count,
        _ => return fault(at, "the form is drnd() or drnd(count)"),
    };
    not_empty(count, at)?;
    builder.check_room(count, at)?;
    let offset = builder.packet.octets.len();
    builder.append(&vec![0; count as usize], at)?;
    builder.packet.randoms.push((offset, count as usize));
    Ok(())
}

fn counter(
    parser: &mut Parser<'_>,
    builder: &mut PacketBuilder,
    name: &str,
    at: usize,
) -> Parsed<()> {
    let numbers = arguments(parser, at)?;
    let (min, max, step) = match numbers[..] {
        [min, max] => (min, max, 1),
        [min, max, step] => (min, max, step),
        _ => {
            return fault(
                at,
                format!("the form is {name}(min, max[, step]), with numbers of one byte"),
            );
        }
    };
    let quirks = parser.settings.quirks;
    if !quirks {
        if min > max {
            return fault(at, format!("{min} to {max} is not a valid range"));
        }
        if max > 0xff || step > 0xff {
            return fault(at, "the counter is one byte, 0 to 255");
        }
    }
    let (min, max, step) = (min as u8, max as u8, step as u8);
    let range = i32::from(max) - i32::from(min) + 1;
    if range == 0 {
        return fault(at, format!("{min} to {max} is not a valid range"));
    }
    let is_down = name == "ddec";
    let value = if is_down { (range - 1) as u8 } else { 0 };
    let offset = builder.packet.octets.len();
    builder.append(&[0], at)?;
    let counter = Counter { at: offset, min, range, step, is_down, value, quirk: quirks };
    builder.packet.counters.push(counter);
    Ok(())
}

/// Kind of a checksum element, which determines the bytes that it covers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checksum {
    /// Checksum over the bytes from one position to another.
    Range,
    /// Checksum over a pseudo-header of IPv4, or of IPv6, and the rest of the packet.
    Transport { is_v6: bool, protocol: u8 },
}

fn checksum_of(name: &str) -> Option<Checksum> {
    Some(match name {
        "csumip" | "csumip4" | "csumicmp" | "csumicmp4" | "csum16" => Checksum::Range,
        "csumudp" | "csumudp4" => Checksum::Transport { is_v6: false, protocol: 17 },
        "csumtcp" | "csumtcp4" => Checksum::Transport { is_v6: false, protocol: 6 },
        "csumudp6" => Checksum::Transport { is_v6: true, protocol: 17 },
        "csumtcp6" => Checksum::Transport { is_v6: true, protocol: 6 },
        "csumicmp6" => Checksum::Transport { is_v6: true, protocol: 58 },
        _ => return None,
    })
}

fn checksum(
    parser: &mut Parser<'_>,
    builder: &mut PacketBuilder,
    name: &str,
    kind: Checksum,
    at: usize,
) -> Parsed<()> {
    let [first, second] = exactly(parser, at, &format!("{name}(from, to)"))?;
    if first == second {
        return fault(at, format!("{name}({first}, {second}) covers nothing"));
    }
    let (from, to) = (first.min(second), first.max(second));
    if to > super::FRAME_BYTES_MAX as u64 && kind != Checksum::Range {
        return fault(at, format!("byte {to} is beyond the end of any frame"));
    }
    let (from, to) = (from.min(1 << 30) as usize, to.min(1 << 30) as usize);
    let offset = builder.packet.octets.len();
    let quirks = parser.settings.quirks;
    if quirks && kind == Checksum::Range && to < offset && is_static(builder) {
        // The reference computes it at once, without the last byte, and swaps its bytes.
        let sum = ChecksumUpdate { at: offset, from, to, ..sum(kind, quirks) };
        let octets = sum.total(&builder.packet.octets).to_le_bytes();
        return builder.append(&octets, at);
    }
    builder.append(&[0; 2], at)?;
    builder.late_sums.push((at, ChecksumUpdate { at: offset, from, to, ..sum(kind, quirks) }));
    Ok(())
}

/// Returns a checksum of the kind `kind`, without a position.
fn sum(kind: Checksum, quirks: bool) -> ChecksumUpdate {
    let pseudo = match kind {
        Checksum::Range => PseudoHeader::None,
        Checksum::Transport { is_v6: false, protocol } => PseudoHeader::V4 { ip: 0, protocol },
        Checksum::Transport { is_v6: true, protocol } => PseudoHeader::V6 { ip: 0, protocol },
    };
    let is_udp = matches!(kind, Checksum::Transport { protocol: 17, .. });
    ChecksumUpdate {
        at: 0,
        from: 0,
        to: 0,
        pseudo,
        counts_odd: !quirks || pseudo != PseudoHeader::None,
        is_never_zero: is_udp && !quirks,
    }
}

/// Returns true if trafgen 0.6.8 treats the packet, as far as it was parsed, as one whose frames
/// are all alike.
fn is_static(builder: &PacketBuilder) -> bool {
    let packet = &builder.packet;
    packet.counters.is_empty() && packet.randoms.is_empty() && builder.late_sums.is_empty()
}

/// Adapts a checksum element to the length `total` of the packet, which is now known.
pub(crate) fn settle(
    sum: ChecksumUpdate,
    total: usize,
    quirks: bool,
) -> Result<ChecksumUpdate, String> {
    let (first, second) = (sum.from, sum.to);
    let beyond = |octet: usize| {
        Err(format!(
            "byte {octet}, counted from 0, is beyond the end of the packet, which has \
                     {total} bytes"
        ))
    };
    let (ip, header_bytes) = match sum.pseudo {
        PseudoHeader::None => {
            if first >= total && !quirks {
                return beyond(first);
            }
            let to = (second + 1).min(total);
            return Ok(ChecksumUpdate { from: first.min(to), to, ..sum });
        }
        PseudoHeader::V4 { .. } => (first, 20),
        PseudoHeader::V6 { .. } => (first, 40),
    };
    if second >= total {
        return beyond(second);
    }
    if ip + header_bytes > total {
        return Err(format!("the IP header at {ip} extends beyond the packet of {total} bytes"));
    }
    let pseudo = match sum.pseudo {
        PseudoHeader::V4 { protocol, .. } => PseudoHeader::V4 { ip, protocol },
        PseudoHeader::V6 { protocol, .. } => PseudoHeader::V6 { ip, protocol },
        PseudoHeader::None => PseudoHeader::None,
    };
    Ok(ChecksumUpdate { from: second, to: total, pseudo, ..sum })
}
