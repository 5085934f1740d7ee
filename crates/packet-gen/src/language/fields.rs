//! Arguments of header functions in a packet text: fields, their values, and functions that change
//! them.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::elements;
use super::expression;
use super::headers::PacketBuilder;
use super::parser::Parser;
use super::protocol::{DNS_ZERO_QUIRK, HeaderField, HeaderFieldKind, HeaderProtocol};
use super::records::{self, Section};
use super::source::{Cursor, Parsed, fault, is_word};
use crate::packet::{BitField, FieldChange, FieldChangeRule};

/// Parses the arguments of the header function for `protocol`, whose name was already read, and
/// appends the header.
pub(crate) fn header(
    parser: &mut Parser<'_>,
    builder: &mut PacketBuilder,
    protocol: HeaderProtocol,
    at: usize,
) -> Parsed<()> {
    builder.open(protocol, at)?;
    let mut records = records::DnsRecordSections::default();
    parser.cursor.expect(b'(')?;
    parser.cursor.skip_blanks();
    let mut is_done = parser.cursor.take(b')');
    while !is_done {
        parser.cursor.skip_blanks();
        // After a wrong argument the others are still read.
        if let Err(fault) = argument(parser, builder, protocol, &mut records) {
            parser.faults.push(fault);
            parser.cursor.skip_argument();
        }
        is_done = is_last(parser)?;
    }
    if protocol == HeaderProtocol::Dns {
        records.append(builder, at)?;
    }
    Ok(())
}

/// Reads the `,` after an argument of a header function, or the `)` after the last one, before
/// which a `,` may be. Blanks separate arguments as well. Returns true after the last one.
pub(crate) fn is_last(parser: &mut Parser<'_>) -> Parsed<bool> {
    parser.cursor.skip_blanks();
    let has_comma = parser.cursor.take(b',');
    parser.cursor.skip_blanks();
    if parser.cursor.take(b')') {
        return Ok(true);
    }
    if has_comma || parser.cursor.peek().is_some_and(is_word) {
        return Ok(false);
    }
    let next = parser.cursor.describe_next();
    fault(parser.cursor.at, format!("`,` or `)` expected, found {next}"))
}

fn argument(
    parser: &mut Parser<'_>,
    builder: &mut PacketBuilder,
    protocol: HeaderProtocol,
    records: &mut records::DnsRecordSections,
) -> Parsed<()> {
    let at = parser.cursor.at;
    let name = parser.cursor.take_word().to_ascii_lowercase();
    parser.cursor.skip_blanks();
    if parser.cursor.peek() == Some(b'(') {
        if protocol == HeaderProtocol::Dns
            && let Some(section) = Section::named(&name)
        {
            return records.read(parser, section);
        }
        if protocol == HeaderProtocol::Pfc {
            let field = priority_field(parser, &name, at)?;
            return assign(parser, builder, &field, at);
        }
    }
    let field = protocol.fields().iter().find(|field| field.names.contains(&name.as_str()));
    let Some(field) = field else {
        let known: Vec<_> = protocol.fields().iter().map(|field| field.names.join("|")).collect();
        let known = known.join(" ");
        let described =
            if name.is_empty() { parser.cursor.describe_next() } else { format!("`{name}`") };
        let message =
            format!("{}() has no field {described}; its fields are {known}", protocol.name());
        return fault(at, message);
    };
    let mut field = *field;
    if parser.settings.quirks && protocol == HeaderProtocol::Dns && field.names == ["zero"] {
        field.mask = DNS_ZERO_QUIRK;
    }
    assign(parser, builder, &field, at)
}

/// Parses `prio(n)` and `time(n)` of the header function `pfc()`, and returns their field.
fn priority_field(parser: &mut Parser<'_>, name: &str, at: usize) -> Parsed<HeaderField> {
    let number = match elements::arguments(parser, at)?[..] {
        [number @ 0..8] => number as u32,
        _ => return fault(at, "a priority is a number from 0 to 7"),
    };
    let (at_octet, shift, mask) = match name {
        "prio" | "pri" => (2, number, 1),
        "time" => (4 + 2 * number as isize, 0, 0xffff),
        _ => {
            return fault(
                at,
                format!("pfc() has no field `{name}(...)`; such fields are prio and time"),
            );
        }
    };
    Ok(HeaderField { names: &[], at: at_octet, len: 2, shift, mask, kind: HeaderFieldKind::Number })
}

/// Parses `[index:len] = value` after the name of a field of the last header, and sets the field.
fn assign(
    parser: &mut Parser<'_>,
    builder: &mut PacketBuilder,
    field: &HeaderField,
    at: usize,
) -> Parsed<()> {
    let Some(header) = builder.headers.last_mut() else {
        return fault(at, "a field without a header");
    };
    let whole = header.slot(field);
    if let HeaderFieldKind::Flag(value) = field.kind {
        header.note(field, false, parser.settings.quirks);
        whole.write(&mut builder.packet.octets, value);
        return Ok(());
    }
    let part = part(parser, &whole)?;
    parser.cursor.expect(b'=')?;
    parser.cursor.skip_blanks();
    let value_at = parser.cursor.at;
    let octets = &mut builder.packet.octets;
    if let Some(function) = function(parser)? {
        header.note(field, true, parser.settings.quirks);
        let slot = part.unwrap_or(whole);
        let change = function.change(&slot, octets, parser.settings.quirks, value_at)?;
        builder.packet.fields.push(FieldChange { slot, change });
        return Ok(());
    }
    if part.is_some() {
        return fault(value_at, "a part of a field accepts only dinc() or drnd()");
    }
    header.note(field, false, parser.settings.quirks);
    let value = value(parser, field)?;
    let HeaderFieldValue::Number(number) = value else {
        octets[whole.at..whole.at + whole.len].copy_from_slice(value.octets());
        return Ok(());
    };
    if number > u64::from(whole.max()) {
        let message = format!("{number} does not fit into the field: {} at most", whole.max());
        parser.warn(value_at, message);
    }
    whole.write(octets, number as u32);
    Ok(())
}

/// Parses `[index]` or `[index:len]`, and returns that part of the field `whole`.
fn part(parser: &mut Parser<'_>, whole: &BitField) -> Parsed<Option<BitField>> {
    parser.cursor.skip_blanks();
    let at = parser.cursor.at;
    if !parser.cursor.take(b'[') {
        return Ok(None);
    }
    let number = |parser: &mut Parser<'_>| {
        parser.cursor.skip_blanks();
        expression::plain(&mut parser.cursor, parser.settings.quirks)
    };
    let index = number(parser)?;
    parser.cursor.skip_blanks();
    let len = if parser.cursor.take(b':') { number(parser)? } else { 1 };
    parser.cursor.expect(b']')?;
    let mask = match len {
        1 => 0xff,
        2 => 0xffff,
        4 => u32::MAX,
        _ => return fault(at, "a part of a field has 1, 2 or 4 bytes"),
    };
    // The reference checks the first byte only.
    let behind = if parser.settings.quirks { index + 1 } else { index.saturating_add(len) };
    if index >= whole.len as u64 || behind > whole.len as u64 {
        return fault(at, format!("the field has only bytes 0 to {}", whole.len - 1));
    }
    Ok(Some(BitField { at: whole.at + index as usize, len: len as usize, shift: 0, mask }))
}

/// Call of `dinc()` or `drnd()` with its numbers, as the value of a field.
#[derive(Debug)]
pub(crate) struct Function {
    is_random: bool,
    numbers: Vec<u64>,
}

/// Parses a call of `dinc()` or `drnd()`, if one is next.
pub(crate) fn function(parser: &mut Parser<'_>) -> Parsed<Option<Function>> {
    let at = parser.cursor.at;
    let is_random = match parser.cursor.word().to_ascii_lowercase().as_str() {
        "dinc" => false,
        "drnd" => true,
        _ => return Ok(None),
    };
    parser.cursor.take_word();
    parser.cursor.skip_blanks();
    let numbers = elements::arguments(parser, at)?;
    let usage = match (is_random, numbers.len()) {
        (false, 0..=3) | (true, 0 | 2) => return Ok(Some(Function { is_random, numbers })),
        (false, _) => "the form is dinc(), dinc(step), dinc(min, max) or dinc(min, max, step)",
        (true, _) => "the form is drnd() or drnd(min, max)",
    };
    fault(at, usage)
}

impl Function {
    /// Returns the rule by which the call changes the field `slot`.
    pub(crate) fn change(
        &self,
        slot: &BitField,
        octets: &[u8],
        quirks: bool,
        at: usize,
    ) -> Parsed<FieldChangeRule> {
        let field_max = if self.is_random && slot.len > 4 { 0xff } else { slot.max() };
        let range = match self.numbers[..] {
            [min, max, ..] => Some((min, max)),
            _ => None,
        };
        if let Some((min, max)) = range {
            if min >= max {
                return fault(at, format!("{min} to {max} is not a valid range"));
            }
            let most = if quirks { u64::from(u32::MAX) - 1 } else { u64::from(field_max) };
            if max > most {
                return fault(at, format!("{max} does not fit into the field: {most} at most"));
            }
        }
        if self.is_random {
            return Ok(match range {
                Some((min, max)) => {
                    FieldChangeRule::Random { min: min as u32, range: max - min + 1 }
                }
                None => FieldChangeRule::RandomBits,
            });
        }
        let step = match self.numbers[..] {
            [step] | [_, _, step] => step,
            _ => 1,
        };
        if step > u64::from(u32::MAX) {
            return fault(at, format!("the step {step} is too large"));
        }
        let (min, modulus) = match range {
            Some((min, max)) => (min, max + 1),
            // The reference, which counts in 32 bits, omits the greatest number.
            None if quirks => (0, u64::from(u32::MAX)),
            None => (0, u64::from(field_max) + 1),
        };
        let value = match range {
            Some((min, _)) => min,
            // If the field reaches beyond the packet so far, the missing bytes are read as zeros.
            None => {
                let len = octets.len().saturating_sub(slot.at).min(slot.len);
                let mut read = vec![0; slot.len];
                read[..len].copy_from_slice(&octets[slot.at..slot.at + len]);
                u64::from(BitField { at: 0, ..*slot }.read(&read))
            }
        };
        Ok(FieldChangeRule::Increment { min, modulus, step, value, wraps_at_32: quirks })
    }
}

/// Value of a header field in a packet text: a number or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFieldValue {
    Number(u64),
    Mac([u8; 6]),
    Ip4([u8; 4]),
    Ip6([u8; 16]),
}

impl HeaderFieldValue {
    /// Returns the bytes of an address; no bytes for a number.
    pub(crate) fn octets(&self) -> &[u8] {
        match self {
            Self::Number(_) => &[],
            Self::Mac(octets) => octets,
            Self::Ip4(octets) => octets,
            Self::Ip6(octets) => octets,
        }
    }
}

fn value(parser: &mut Parser<'_>, field: &HeaderField) -> Parsed<HeaderFieldValue> {
    let at = parser.cursor.at;
    if let HeaderFieldKind::Named(names) = field.kind {
        let word = parser.cursor.word().to_ascii_lowercase();
        if let Some((_, number)) = names.iter().find(|(name, _)| *name == word) {
            parser.cursor.take_word();
            return Ok(HeaderFieldValue::Number((*number).into()));
        }
    }
    let address = address(&mut parser.cursor)?;
    match (field.kind, address) {
        (HeaderFieldKind::Mac, Some(value @ HeaderFieldValue::Mac(_)))
        | (HeaderFieldKind::Ip4, Some(value @ HeaderFieldValue::Ip4(_)))
        | (HeaderFieldKind::Ip6, Some(value @ HeaderFieldValue::Ip6(_))) => Ok(value),
        (HeaderFieldKind::Mac, _) => {
            fault(at, "a hardware address expected, like 02:00:00:00:00:01")
        }
        (HeaderFieldKind::Ip6, _) => fault(at, "an IPv6 address expected"),
        (HeaderFieldKind::Ip4, Some(_)) => fault(at, "an IPv4 address expected"),
        (_, Some(_)) => fault(at, "a number expected, found an address"),
        (_, None) => expression::plain(&mut parser.cursor, parser.settings.quirks)
            .map(HeaderFieldValue::Number),
    }
}

/// Parses an address, if one is next: six pairs of digits with colons, IPv4 with dots, IPv6.
pub(crate) fn address(cursor: &mut Cursor<'_>) -> Parsed<Option<HeaderFieldValue>> {
    let at = cursor.at;
    let text = cursor.run(|octet| octet.is_ascii_hexdigit() || matches!(octet, b':' | b'.'));
    if !text.contains([':', '.']) {
        cursor.at = at;
        return Ok(None);
    }
    if !text.contains(':') {
        let Ok(address) = text.parse::<Ipv4Addr>() else {
            return fault(at, format!("`{text}` is not an IPv4 address"));
        };
        return Ok(Some(HeaderFieldValue::Ip4(address.octets())));
    }
    if let Some(mac) = mac(text) {
        return Ok(Some(HeaderFieldValue::Mac(mac)));
    }
    let Ok(address) = text.parse::<Ipv6Addr>() else {
        return fault(at, format!("`{text}` is neither a hardware nor an IPv6 address"));
    };
    Ok(Some(HeaderFieldValue::Ip6(address.octets())))
}

fn mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut groups = text.split(':');
    for octet in &mut mac {
        let group = groups.next().filter(|group| matches!(group.len(), 1 | 2))?;
        *octet = u8::from_str_radix(group, 16).ok()?;
    }
    groups.next().is_none().then_some(mac)
}
