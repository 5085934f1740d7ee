//! Values in scenarios: text with a kind in front (`u32:3600`), and its conversion to bytes.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Values that earlier steps of a scenario have kept, by the name that `$` precedes.
pub(crate) type ScenarioVariables = BTreeMap<String, String>;

/// Returns `text` with each `$name` replaced by the value that an earlier step kept under that
/// name.
pub(crate) fn filled(text: &str, variables: &ScenarioVariables) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out += &rest[..at];
        let name: String =
            rest[at + 1..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let value = variables.get(&name).ok_or_else(|| format!("nothing was kept as `{name}`"))?;
        out += value;
        rest = &rest[at + 1 + name.len()..];
    }
    Ok(out + rest)
}

/// Converts a scenario's value `text` to bytes. Kinds: `u8:`, `u16:`, `u32:`, `ip:`, `ip6:`
/// (numbers and addresses separated by commas), `text:`, `name:` (a domain name in labels), `hex:`,
/// `prefix:` (length and address), `sub8:` and `sub16:` (sub-options `code=value` separated by
/// semicolons, with codes and lengths of 8 or 16 bits). Text without a kind is of the kind
/// `default`.
pub(crate) fn octets(text: &str, default: &str) -> Result<Vec<u8>, String> {
    let (kind, body) = match text.split_once(':') {
        Some((kind, body)) if KINDS.contains(&kind) => (kind, body),
        _ => (default, text),
    };
    match kind {
        "u8" => list(body, |item| Ok(vec![number::<u8>(item)?])),
        "u16" => list(body, |item| Ok(number::<u16>(item)?.to_be_bytes().to_vec())),
        "u32" => list(body, |item| Ok(number::<u32>(item)?.to_be_bytes().to_vec())),
        "ip" => list(body, |item| Ok(parsed::<Ipv4Addr>(item)?.octets().to_vec())),
        "ip6" => list(body, |item| Ok(parsed::<Ipv6Addr>(item)?.octets().to_vec())),
        "prefix" => prefix(body),
        "text" => Ok(body.as_bytes().to_vec()),
        "name" => Ok(labels(body)),
        "hex" => hex(body),
        "sub8" => sub_options(body, |code, value| {
            let len = u8::try_from(value.len()).map_err(|_| "a sub-option is too long")?;
            let mut octets = vec![number::<u8>(code)?, len];
            octets.extend(value);
            Ok(octets)
        }),
        "sub16" => sub_options(body, |code, value| {
            let len = u16::try_from(value.len()).map_err(|_| "a sub-option is too long")?;
            let mut octets = number::<u16>(code)?.to_be_bytes().to_vec();
            octets.extend(len.to_be_bytes());
            octets.extend(value);
            Ok(octets)
        }),
        _ => Err(format!("`{text}` has no kind in front, such as `u32:` or `hex:`")),
    }
}

/// Kinds of values in scenarios, which precede a value and a colon.
const KINDS: [&str; 11] =
    ["u8", "u16", "u32", "ip", "ip6", "prefix", "text", "name", "hex", "sub8", "sub16"];

/// Formats bytes as a scenario's value of the kind `hex:`.
pub(crate) fn hex_of(octets: &[u8]) -> String {
    octets.iter().fold("hex:".to_owned(), |text, octet| text + &format!("{octet:02x}"))
}

fn list(body: &str, item: impl Fn(&str) -> Result<Vec<u8>, String>) -> Result<Vec<u8>, String> {
    let items: Result<Vec<Vec<u8>>, String> =
        body.split(',').map(str::trim).filter(|text| !text.is_empty()).map(item).collect();
    Ok(items?.concat())
}

fn number<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let text = text.trim();
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let value = value.ok().and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| format!("`{text}` is not a number of that size"))
}

fn parsed<T: core::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not an address of that family"))
}

/// Converts an IPv6 prefix, `address/length`, to one byte of length and the address.
fn prefix(text: &str) -> Result<Vec<u8>, String> {
    let (address, len) = text.split_once('/').ok_or_else(|| format!("`{text}` is not a prefix"))?;
    let mut octets = vec![number::<u8>(len)?];
    octets.extend(parsed::<Ipv6Addr>(address)?.octets());
    Ok(octets)
}

/// Converts domain names, separated by spaces, to labels as in RFC 1035 §3.1.
fn labels(text: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    for name in text.split_whitespace() {
        for label in name.trim_end_matches('.').split('.').filter(|label| !label.is_empty()) {
            octets.push(label.len() as u8);
            octets.extend(label.as_bytes());
        }
        octets.push(0);
    }
    octets
}

/// Parses hexadecimal digits to bytes; colons, hyphens and spaces between them are ignored.
pub(crate) fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|octet| !b": -".contains(octet)).collect();
    let pairs = digits.chunks(2).map(|pair| {
        let text = core::str::from_utf8(pair).ok().filter(|text| text.len() == 2);
        text.and_then(|text| u8::from_str_radix(text, 16).ok())
    });
    pairs.collect::<Option<_>>().ok_or_else(|| format!("`{text}` is not hexadecimal"))
}

fn sub_options(
    body: &str,
    encode: impl Fn(&str, &[u8]) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    let mut all = Vec::new();
    for part in body.split(';').filter(|part| !part.trim().is_empty()) {
        let (code, value) =
            part.split_once('=').ok_or_else(|| format!("`{part}` is not `code=value`"))?;
        all.extend(encode(code, &octets(value.trim(), "")?)?);
    }
    Ok(all)
}

/// Returns true if the bytes `value` fit `expected`: a value, `absent`, `present`, `not VALUE`,
/// `has VALUE` (among other bytes), or `between VALUE and VALUE`. Text without a kind is of the
/// kind `default`.
pub(crate) fn fits(expected: &str, default: &str, value: Option<&[u8]>) -> Result<bool, String> {
    match (expected, value) {
        ("absent", value) => return Ok(value.is_none()),
        ("present", value) => return Ok(value.is_some()),
        (_, None) => return Ok(false),
        _ => {}
    }
    let value = value.expect("absence was dealt with");
    if let Some(rest) = expected.strip_prefix("not ") {
        return Ok(octets(rest, default)? != value);
    }
    if let Some(rest) = expected.strip_prefix("has ") {
        let wanted = octets(rest, default)?;
        return Ok(wanted.is_empty() || value.windows(wanted.len()).any(|part| part == wanted));
    }
    if let Some((low, high)) =
        expected.strip_prefix("between ").and_then(|rest| rest.split_once(" and "))
    {
        let (low, high) = (octets(low, default)?, octets(high, default)?);
        let is_inside = low.as_slice() <= value && value <= high.as_slice();
        return Ok(value.len() == low.len() && is_inside);
    }
    Ok(octets(expected, default)? == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_octets_by_its_kind() {
        assert_eq!(octets("u16:1, 0x203", "").unwrap(), [0, 1, 2, 3]);
        assert_eq!(octets("10.0.0.1", "ip").unwrap(), [10, 0, 0, 1]);
        assert_eq!(octets("name:a.bc. d", "").unwrap(), b"\x01a\x02bc\0\x01d\0");
        assert_eq!(
            octets("sub8:1=text:xy;5=ip:10.0.0.1", "").unwrap(),
            b"\x01\x02xy\x05\x04\x0a\0\0\x01"
        );
        assert_eq!(octets("sub16:1=u8:7", "").unwrap(), [0, 1, 0, 1, 7]);
        assert_eq!(octets("hex:0a:0B", "").unwrap(), [10, 11]);
        assert!(octets("u8:256", "").is_err());
        assert!(octets("hex:abc", "").is_err());
        assert!(octets("plain", "").is_err());
    }

    #[test]
    fn expectations_judge() {
        let value = Some(&[10, 0, 0, 7][..]);
        assert!(fits("10.0.0.7", "ip", value).unwrap());
        assert!(fits("between 10.0.0.1 and 10.0.0.9", "ip", value).unwrap());
        assert!(!fits("between 10.0.0.8 and 10.0.0.9", "ip", value).unwrap());
        assert!(fits("not 10.0.0.8", "ip", value).unwrap());
        assert!(fits("has u16:0", "ip", value).unwrap());
        assert!(!fits("absent", "ip", value).unwrap());
        assert!(!fits("10.0.0.7", "ip", None).unwrap());
        assert!(!fits("not 10.0.0.7", "ip", None).unwrap());
    }

    #[test]
    fn kept_values_fill_in() {
        let variables = ScenarioVariables::from([("a".to_owned(), "10.0.0.1".to_owned())]);
        assert_eq!(filled("ip:$a,10.0.0.2", &variables).unwrap(), "ip:10.0.0.1,10.0.0.2");
        assert!(filled("$b", &variables).is_err());
    }
}
