//! Description of a frame in words and in hex, as `--dry-run` shows it.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use packet_wire::checksum;

/// Describes a frame in one line per known header, followed by the frame's bytes in hex, sixteen
/// per line.
pub fn describe(frame: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = ethernet(frame, &mut text);
    // The loop ends at the latest with the frame, also for headers inside of headers.
    while let Some((kind, at)) = rest {
        rest = header(kind, frame, at, &mut text);
    }
    for (row, octets) in frame.chunks(16).enumerate() {
        let hex: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        let characters = octets.iter().map(|octet| match octet {
            0x20..0x7f => char::from(*octet),
            _ => '.',
        });
        let characters: String = characters.collect();
        put(&mut text, format_args!("  {:04x}  {:<47}  {characters}", row * 16, hex.join(" ")));
    }
    text
}

#[derive(Clone, Copy)]
enum NextHeaderKind {
    Type(u16),
    Protocol(u8, EnclosingIpHeader),
    Dns,
}

/// IP header before a transport header, whose addresses the transport checksum covers.
#[derive(Clone, Copy)]
enum EnclosingIpHeader {
    V4 { at: usize, end: usize },
    V6 { at: usize, end: usize },
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

fn half(frame: &[u8], at: usize) -> Option<u16> {
    frame.get(at..at + 2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]))
}

fn mac(frame: &[u8], at: usize) -> String {
    let octets: Vec<String> = frame[at..at + 6].iter().map(|o| format!("{o:02x}")).collect();
    octets.join(":")
}

fn ethernet(frame: &[u8], text: &mut String) -> Option<(NextHeaderKind, usize)> {
    if frame.len() < 14 {
        put(text, format_args!("  {} bytes, too few for Ethernet", frame.len()));
        return None;
    }
    let kind = half(frame, 12)?;
    put(text, format_args!("  Ethernet {} -> {} type 0x{kind:04x}", mac(frame, 6), mac(frame, 0)));
    Some((NextHeaderKind::Type(kind), 14))
}

fn header(
    kind: NextHeaderKind,
    frame: &[u8],
    at: usize,
    text: &mut String,
) -> Option<(NextHeaderKind, usize)> {
    match kind {
        NextHeaderKind::Type(0x8100 | 0x88a8) => {
            let (tci, next) = (half(frame, at)?, half(frame, at + 2)?);
            put(
                text,
                format_args!(
                    "  VLAN id {} pcp {} dei {} type 0x{next:04x}",
                    tci & 0xfff,
                    tci >> 13,
                    tci >> 12 & 1
                ),
            );
            Some((NextHeaderKind::Type(next), at + 4))
        }
        NextHeaderKind::Type(0x8847) => {
            let word = u32::from(half(frame, at)?) << 16 | u32::from(half(frame, at + 2)?);
            let (label, last) = (word >> 12, word >> 8 & 1);
            put(text, format_args!("  MPLS label {label} last {last} ttl {}", word & 0xff));
            // The protocol after the last label has to be guessed by its first four bits.
            let next = match (last, frame.get(at + 4).map_or(0, |octet| octet >> 4)) {
                (0, _) => 0x8847,
                (_, 4) => 0x0800,
                (_, 6) => 0x86dd,
                _ => return None,
            };
            Some((NextHeaderKind::Type(next), at + 4))
        }
        NextHeaderKind::Type(0x0806) => {
            let body = frame.get(at..at + 28)?;
            let ip =
                |at: usize| Ipv4Addr::from([body[at], body[at + 1], body[at + 2], body[at + 3]]);
            put(
                text,
                format_args!(
                    "  ARP operation {}: {} ({}) for {} ({})",
                    body[7],
                    ip(14),
                    mac(body, 8),
                    ip(24),
                    mac(body, 18)
                ),
            );
            None
        }
        NextHeaderKind::Type(0x0800) => ip4(frame, at, text),
        NextHeaderKind::Type(0x86dd) => ip6(frame, at, text),
        NextHeaderKind::Type(_) => None,
        NextHeaderKind::Protocol(4, _) => ip4(frame, at, text),
        NextHeaderKind::Protocol(41, _) => ip6(frame, at, text),
        NextHeaderKind::Protocol(protocol, carrier) => {
            transport(protocol, carrier, frame, at, text)
        }
        NextHeaderKind::Dns => dns(frame, at, text),
    }
}

fn checksum_verdict(is_right: bool) -> &'static str {
    if is_right { "right" } else { "WRONG" }
}

fn ip4(frame: &[u8], at: usize, text: &mut String) -> Option<(NextHeaderKind, usize)> {
    let head = frame.get(at..at + 20)?;
    let (source, destination) = (
        Ipv4Addr::from([head[12], head[13], head[14], head[15]]),
        Ipv4Addr::from([head[16], head[17], head[18], head[19]]),
    );
    let len = usize::from(head[0] & 0xf) * 4;
    let is_right = frame.get(at..at + len).is_some_and(|head| checksum::checksum(head) == 0);
    put(
        text,
        format_args!(
            "  IPv4 {source} -> {destination} protocol {} ttl {} length {} id 0x{:04x} fragment \
             0x{:04x} checksum {}",
            head[9],
            head[8],
            half(head, 2)?,
            half(head, 4)?,
            half(head, 6)?,
            checksum_verdict(is_right)
        ),
    );
    // The first fragment has the header of its payload, but not all bytes that its checksum covers.
    if half(head, 6)? & 0x1fff != 0 || len < 20 {
        return None;
    }
    let end = (at + usize::from(half(head, 2)?)).min(frame.len());
    Some((NextHeaderKind::Protocol(head[9], EnclosingIpHeader::V4 { at, end }), at + len))
}

fn ip6(frame: &[u8], at: usize, text: &mut String) -> Option<(NextHeaderKind, usize)> {
    let head = frame.get(at..at + 40)?;
    let address = |from: usize| {
        let octets: [u8; 16] = head[from..from + 16].try_into().unwrap_or_default();
        Ipv6Addr::from(octets)
    };
    put(
        text,
        format_args!(
            "  IPv6 {} -> {} next header {} hop limit {} length {}",
            address(8),
            address(24),
            head[6],
            head[7],
            half(head, 4)?
        ),
    );
    let end = (at + 40 + usize::from(half(head, 4)?)).min(frame.len());
    Some((NextHeaderKind::Protocol(head[6], EnclosingIpHeader::V6 { at, end }), at + 40))
}

/// Returns true if the checksum of the transport header (UDP, TCP, ICMP) at offset `at` of the
/// frame is right.
fn is_right(protocol: u8, carrier: EnclosingIpHeader, frame: &[u8], at: usize) -> bool {
    let (EnclosingIpHeader::V4 { end, .. } | EnclosingIpHeader::V6 { end, .. }) = carrier;
    let Some(segment) = frame.get(at..end) else { return false };
    let len = segment.len() as u32;
    let pseudo = |from: usize, to: usize| {
        checksum::ChecksumAccumulator::new()
            .with(&frame[from..to])
            .with(&u32::from(protocol).to_be_bytes())
            .with(&len.to_be_bytes())
    };
    let sum = match carrier {
        _ if protocol == 1 => checksum::ChecksumAccumulator::new(),
        EnclosingIpHeader::V4 { at, .. } => pseudo(at + 12, at + 20),
        EnclosingIpHeader::V6 { at, .. } => pseudo(at + 8, at + 40),
    };
    sum.with(segment).finish() == 0
}

fn transport(
    protocol: u8,
    carrier: EnclosingIpHeader,
    frame: &[u8],
    at: usize,
    text: &mut String,
) -> Option<(NextHeaderKind, usize)> {
    let verdict = checksum_verdict(is_right(protocol, carrier, frame, at));
    match protocol {
        17 => {
            let (source, destination) = (half(frame, at)?, half(frame, at + 2)?);
            let verdict = if half(frame, at + 6)? == 0 { "left out" } else { verdict };
            put(
                text,
                format_args!(
                    "  UDP {source} -> {destination} length {} checksum {verdict}",
                    half(frame, at + 4)?
                ),
            );
            (source == 53 || destination == 53).then_some((NextHeaderKind::Dns, at + 8))
        }
        6 => {
            let names = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
            let flags = *frame.get(at + 13)?;
            let set = names.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1);
            let set: Vec<&str> = set.map(|(_, name)| *name).collect();
            put(
                text,
                format_args!(
                    "  TCP {} -> {} flags [{}] window {} checksum {verdict}",
                    half(frame, at)?,
                    half(frame, at + 2)?,
                    set.join(" "),
                    half(frame, at + 14)?
                ),
            );
            None
        }
        1 | 58 => {
            let name = if protocol == 1 { "ICMP" } else { "ICMPv6" };
            let (kind, code) = (*frame.get(at)?, *frame.get(at + 1)?);
            put(text, format_args!("  {name} type {kind} code {code} checksum {verdict}"));
            None
        }
        _ => None,
    }
}

fn dns(frame: &[u8], at: usize, text: &mut String) -> Option<(NextHeaderKind, usize)> {
    let [id, flags, questions, answers, authorities, additional] =
        [0, 2, 4, 6, 8, 10].map(|offset| half(frame, at + offset));
    put(
        text,
        format_args!(
            "  DNS id 0x{:04x} flags 0x{:04x} questions {} answers {} authorities {} additional {}",
            id?, flags?, questions?, answers?, authorities?, additional?
        ),
    );
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameStream;
    use crate::language::{PacketParserSettings, compile};

    fn decoded(text: &str) -> String {
        let program = compile(text.as_bytes(), &PacketParserSettings::default()).unwrap();
        let mut stream = FrameStream::new(&program, None, program.random.clone(), false);
        describe(stream.frame().unwrap())
    }

    #[test]
    fn headers_are_named_down_to_the_question() {
        let text = decoded(
            "{ vlan(id=5), ipv4(sa=192.0.2.1, da=192.0.2.2, ttl=64), dns(qry(name=\"a\")) }",
        );
        let lines: Vec<&str> = text.lines().take(5).map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "Ethernet 00:00:00:00:00:00 -> 00:00:00:00:00:00 type 0x8100",
                "VLAN id 5 pcp 0 dei 0 type 0x0800",
                "IPv4 192.0.2.1 -> 192.0.2.2 protocol 17 ttl 64 length 47 id 0x0000 fragment 0x0000 \
                 checksum right",
                "UDP 0 -> 53 length 27 checksum right",
                "DNS id 0x0000 flags 0x0000 questions 1 answers 0 authorities 0 additional 0",
            ]
        );
    }

    #[test]
    fn wrong_checksums_are_loud_and_cut_frames_no_trouble() {
        assert!(decoded("{ ipv6(), udp(csum=7), 1 }").contains("checksum WRONG"));
        assert!(decoded("{ ipv4(csum=1), tcp(syn) }").contains("WRONG"));
        assert!(decoded("{ 1, 2 }").contains("too few"));
        let program =
            compile(b"{ mpls(), ipv6(), icmp6(), 1, 2 }", &PacketParserSettings::default())
                .unwrap();
        let frame = &program.packets[0].octets;
        for len in 0..frame.len() {
            assert!(!describe(&frame[..len]).contains("right"), "{len}");
        }
    }
}
