//! Values of options as dhcpd.conf(5) writes them.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::{OptionField, OptionLayout, put_number};
use crate::lexer::{DhcpdToken, DhcpdTokenKind};

/// Value of an option: its bytes, and its fields as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredValue {
    pub(crate) octets: Vec<u8>,
    /// Type and text of each field; empty if the value is known as bytes only.
    pub(crate) fields: Vec<(OptionField, String)>,
}

impl DeclaredValue {
    /// Creates a value of which only the bytes are known.
    pub(crate) const fn from_octets(octets: Vec<u8>) -> Self {
        Self { octets, fields: Vec::new() }
    }
}

/// Reason why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueFault {
    /// Value that dhcpd refuses, too.
    Wrong(String),
    /// Host name that dhcpd looks up when it starts.
    HostName(String),
}

/// Returns the value that `words` give an option with the layout `layout`.
///
/// # Errors
/// Returns the reason why the words are no such value.
pub(crate) fn parse(
    layout: &OptionLayout,
    words: &[DhcpdToken],
) -> Result<DeclaredValue, ValueFault> {
    let mut value = DeclaredValue { octets: Vec::new(), fields: Vec::new() };
    let mut rest = words;
    loop {
        for field in &layout.fields {
            rest = parse_field(*field, rest, &mut value)?;
            if rest.first().is_some_and(|word| word.is_sign(",")) && layout.fields.len() > 1 {
                rest = rest.get(1..).unwrap_or_default();
            }
        }
        if rest.is_empty() {
            return Ok(value);
        }
        if !layout.repeats || layout.fields.is_empty() {
            let first = rest.first().map_or_else(String::new, DhcpdToken::shown);
            return Err(ValueFault::Wrong(format!("`{first}` is one value too many")));
        }
        if rest.first().is_some_and(|word| word.is_sign(",")) {
            rest = rest.get(1..).unwrap_or_default();
        } else if layout.fields.len() == 1 {
            let first = rest.first().map_or_else(String::new, DhcpdToken::shown);
            return Err(ValueFault::Wrong(format!("a comma is missing before `{first}`")));
        }
    }
}

fn parse_field<'w>(
    field: OptionField,
    words: &'w [DhcpdToken],
    value: &mut DeclaredValue,
) -> Result<&'w [DhcpdToken], ValueFault> {
    let Some((first, rest)) = words.split_first() else {
        return Err(ValueFault::Wrong("a value is missing".to_owned()));
    };
    let wrong = |kind: &str| Err(ValueFault::Wrong(format!("`{}` is not {kind}", first.shown())));
    let text = match (field, &first.kind) {
        (OptionField::Octets, DhcpdTokenKind::Word(_)) => return colon_octets(words, value),
        (OptionField::Ipv4, DhcpdTokenKind::Word(word)) => {
            let address = ipv4(word)?;
            value.octets.extend(address.octets());
            address.to_string()
        }
        (OptionField::Ipv6, DhcpdTokenKind::Word(word)) => {
            let Ok(address) = word.parse::<Ipv6Addr>() else { return wrong("an IPv6 address") };
            value.octets.extend(address.octets());
            address.to_string()
        }
        (OptionField::Boolean, DhcpdTokenKind::Word(word)) => {
            let Some(is_on) = flag(word) else { return wrong("`on` or `off`") };
            value.octets.push(u8::from(is_on));
            is_on.to_string()
        }
        (OptionField::Unsigned(width) | OptionField::Signed(width), DhcpdTokenKind::Word(word)) => {
            let Some(number) = number(word, width) else {
                return wrong(&format!("an integer of {} bits", u32::from(width) * 8));
            };
            put_number(&mut value.octets, number.cast_unsigned(), usize::from(width));
            number.to_string()
        }
        (OptionField::Text | OptionField::Octets, DhcpdTokenKind::Text(octets)) => {
            value.octets.extend(octets);
            String::from_utf8_lossy(octets).into_owned()
        }
        // dhcpd takes a bare word for text.
        (OptionField::Text, DhcpdTokenKind::Word(word)) => {
            value.octets.extend(word.as_bytes());
            word.clone()
        }
        (OptionField::Name, DhcpdTokenKind::Word(word)) => return names(word, rest, value),
        (OptionField::Name, DhcpdTokenKind::Text(octets)) => {
            return names(&String::from_utf8_lossy(octets), rest, value);
        }
        _ => return wrong("a value of the option's type"),
    };
    value.fields.push((field, text));
    Ok(rest)
}

/// Returns the address that `word` spells.
///
/// # Errors
/// A host name is a fault of its own.
pub(crate) fn ipv4(word: &str) -> Result<Ipv4Addr, ValueFault> {
    if let Ok(address) = word.parse() {
        return Ok(address);
    }
    // dhcpd takes parts with zeros in front.
    let parts: Vec<&str> = word.split('.').collect();
    if let [a, b, c, d] = parts[..]
        && let (Ok(a), Ok(b), Ok(c), Ok(d)) = (a.parse(), b.parse(), c.parse(), d.parse())
    {
        return Ok(Ipv4Addr::new(a, b, c, d));
    }
    if word.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Err(ValueFault::HostName(word.to_owned()));
    }
    Err(ValueFault::Wrong(format!("`{word}` is not an IPv4 address")))
}

/// Returns the value of a flag.
pub(crate) fn flag(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" | "true" => Some(true),
        "off" | "false" => Some(false),
        _ => None,
    }
}

/// Returns the number that `word` spells, decimal, hexadecimal (`0x`) or octal (`0`), if it fits
/// into `width` bytes.
fn number(word: &str, width: u8) -> Option<i64> {
    let number = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None if word.len() > 1 && word.starts_with('0') => i64::from_str_radix(word, 8).ok()?,
        None => word.parse().ok()?,
    };
    let bits = u32::from(width) * 8;
    let limit = 1_i64 << bits;
    (-limit / 2..limit).contains(&number).then_some(number)
}

/// Reads hexadecimal bytes with colons, which may have blanks around the colons.
fn colon_octets<'w>(
    words: &'w [DhcpdToken],
    value: &mut DeclaredValue,
) -> Result<&'w [DhcpdToken], ValueFault> {
    let count = words.iter().take_while(|word| word.word().is_some()).count();
    let (own, rest) = words.split_at(count);
    let text: String = own.iter().filter_map(DhcpdToken::word).collect();
    let octets = hexadecimal(&text)
        .ok_or_else(|| ValueFault::Wrong(format!("`{text}` is no list of hexadecimal bytes")))?;
    value.octets.extend(&octets);
    value.fields.push((OptionField::Octets, String::from_utf8_lossy(&octets).into_owned()));
    Ok(rest)
}

/// Returns the bytes that `text` lists in hexadecimal with colons between them.
pub(crate) fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect()
}

/// Reads the names of `text`, which may be several with commas or blanks between them.
fn names<'w>(
    text: &str,
    rest: &'w [DhcpdToken],
    value: &mut DeclaredValue,
) -> Result<&'w [DhcpdToken], ValueFault> {
    for name in text.split([',', ' ']).filter(|name| !name.is_empty()) {
        for label in name.trim_end_matches('.').split('.') {
            let len = u8::try_from(label.len()).ok().filter(|len| (1..=63).contains(len));
            let len =
                len.ok_or_else(|| ValueFault::Wrong(format!("`{name}` is not a domain name")))?;
            value.octets.push(len);
            value.octets.extend(label.as_bytes());
        }
        value.octets.push(0);
        value.fields.push((OptionField::Name, name.to_owned()));
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::tokens;

    fn parsed(fields: &[OptionField], repeats: bool, text: &str) -> Result<Vec<u8>, ValueFault> {
        let layout = OptionLayout::new(fields, repeats);
        parse(&layout, &tokens(text, 0).unwrap()).map(|value| value.octets)
    }

    #[test]
    fn values_become_the_bytes_on_the_wire() {
        use OptionField::{Boolean, Ipv4, Name, Octets, Signed, Text, Unsigned};
        for (fields, repeats, text, expected) in [
            (&[Ipv4][..], true, "10.0.0.1, 10.0.00.2", &[10, 0, 0, 1, 10, 0, 0, 2][..]),
            (
                &[Ipv4, Ipv4],
                true,
                "1.0.0.0 1.0.0.1, 2.0.0.0 1.0.0.1",
                &[1, 0, 0, 0, 1, 0, 0, 1, 2, 0, 0, 0, 1, 0, 0, 1],
            ),
            (&[Signed(4)], false, "-3600", &[255, 255, 241, 240]),
            (&[Unsigned(2)], false, "0x5dc", &[5, 220]),
            (&[Boolean, Text], false, "on \"x\"", b"\x01x"),
            (&[Octets], false, "01:a:FF", &[1, 10, 255]),
            (&[Octets], false, "\"text\"", b"text"),
            (&[Name], true, "\"a.b\", \"c\"", b"\x01a\x01b\0\x01c\0"),
        ] {
            assert_eq!(parsed(fields, repeats, text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn host_names_are_told_from_wrong_values() {
        let host = parsed(&[OptionField::Ipv4], true, "ns.example.org");
        assert!(matches!(host, Err(ValueFault::HostName(_))), "{host:?}");
        for (field, text) in [
            (OptionField::Ipv4, "10.0.0.300"),
            (OptionField::Unsigned(1), "256"),
            (OptionField::Ipv4, "10.0.0.1 10.0.0.2"),
            (OptionField::Ipv4, ""),
        ] {
            let fault = parsed(&[field], true, text);
            assert!(matches!(fault, Err(ValueFault::Wrong(_))), "{text}: {fault:?}");
        }
    }
}
