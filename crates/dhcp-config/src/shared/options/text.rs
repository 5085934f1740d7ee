//! Encoder of an option's text to bytes, by the option's type.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use super::definition::{Definition, Field};
use super::hex::binary_field;
use super::resolvers;
use crate::address::{first_of, prefix};

/// Maximum length of a domain name on the wire, in bytes (RFC 1035 §3.1).
const MAX_NAME: usize = 255;
/// Maximum length of a label of a domain name, in bytes.
const MAX_LABEL: usize = 63;

/// Bytes of an option's value, and the part of the configured value that was left over.
pub(super) struct EncodedOptionBytes {
    pub(super) octets: Vec<u8>,
    /// Number of bytes of the option's own fields; the others are of sub-options.
    pub(super) fields_len: usize,
    pub(super) unused: Option<UnsentText>,
}

impl EncodedOptionBytes {
    pub(super) const fn from_octets(octets: Vec<u8>) -> Self {
        Self { fields_len: octets.len(), octets, unused: None }
    }
}

/// Part of an option's configured value that is not sent, or not as written. Kea drops it without a
/// message.
#[derive(Clone, Copy)]
pub(super) enum UnsentText {
    /// All values of the option from this one on, counted from 1.
    ValuesFrom(usize),
    /// Number of bytes at the end of the option's value.
    Octets(usize),
    /// Separators in the option's text: names with blanks or semicolons between them are sent as
    /// separate names.
    Separators,
}

impl UnsentText {
    pub(super) fn message(self) -> String {
        match self {
            Self::ValuesFrom(first) => {
                format!("the option takes fewer values: those from number {first} on are not sent")
            }
            Self::Octets(count) => {
                format!("bytes too many in the value: {count}; its end is not sent")
            }
            Self::Separators => "blanks and `;` do not belong between domain names".to_owned(),
        }
    }

    pub(super) const fn help(self) -> &'static str {
        match self {
            Self::ValuesFrom(_) => "a comma that belongs to a value is written `\\\\,`",
            Self::Octets(_) => "the type of the option has a fixed length",
            Self::Separators => "write commas: each name is sent separately",
        }
    }
}

/// Encodes the option values that `text` lists between commas. `may_be_empty` are the types of
/// which a list without elements can be sent.
pub(super) fn octets(
    definition: &Definition,
    text: &[u8],
    may_be_empty: &[Field],
) -> Result<EncodedOptionBytes, String> {
    if let [field @ (Field::Resolver | Field::Resolvers)] = *definition.fields {
        return resolvers::from_text(field, text).map(EncodedOptionBytes::from_octets);
    }
    let (values, unused) =
        if is_of_names(definition) { split_names(split(text)) } else { (split(text), None) };
    let fields = match &*definition.fields {
        [fields @ .., Field::SubOptions] => fields,
        fields => fields,
    };
    if matches!(fields, [] | [Field::Opaque]) {
        return if values.is_empty() {
            Ok(EncodedOptionBytes::from_octets(Vec::new()))
        } else if fields.is_empty() && definition.encapsulates.is_none() {
            Err("it takes no value".to_owned())
        } else {
            let message = "it takes no text; give bytes, with `\"csv-format\": false`";
            Err(message.to_owned())
        };
    }
    if fields == [Field::Routes] {
        return routes(&values).map(EncodedOptionBytes::from_octets);
    }
    let may_be_empty =
        definition.array && matches!(fields, [field] if may_be_empty.contains(field));
    if values.len() < fields.len() && !may_be_empty {
        return Err(if values.is_empty() {
            "it has no value".to_owned()
        } else {
            format!("it takes {} values, not {}", fields.len(), values.len())
        });
    }
    let repeated = if definition.array { fields.last() } else { None };
    let mut octets = Vec::new();
    for (index, value) in values.iter().enumerate() {
        match fields.get(index).or(repeated) {
            Some(&field) => encode(field, value, &mut octets)?,
            None => {
                let unused = Some(UnsentText::ValuesFrom(index + 1));
                return Ok(EncodedOptionBytes {
                    unused,
                    ..EncodedOptionBytes::from_octets(octets)
                });
            }
        }
    }
    Ok(EncodedOptionBytes { unused, ..EncodedOptionBytes::from_octets(octets) })
}

/// Returns true if the option is a list of domain names and nothing else.
fn is_of_names(definition: &Definition) -> bool {
    definition.array && *definition.fields == [Field::Name]
}

/// Splits the option values `values` at blanks and semicolons, which users write between names.
fn split_names(values: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, Option<UnsentText>) {
    let is_between = |octet: &u8| octet.is_ascii_whitespace() || *octet == b';';
    if !values.iter().flatten().any(is_between) {
        return (values, None);
    }
    let names = values.iter().flat_map(|value| value.split(is_between));
    let names = names.filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
    (names, Some(UnsentText::Separators))
}

/// Splits the text of an option at commas; `\,` is a comma and `\\` a backslash of a value. Values
/// are trimmed, empty ones dropped.
fn split(text: &[u8]) -> Vec<Vec<u8>> {
    let trimmed = pieces(text, b',').map(|value| value.trim_ascii().to_vec());
    trimmed.filter(|value| !value.is_empty()).collect()
}

/// Splits a text at the delimiter `delimiter`, unless a backslash precedes it; two backslashes are
/// one of the value. Empty pieces are dropped.
pub(super) fn pieces(text: &[u8], delimiter: u8) -> impl Iterator<Item = Vec<u8>> {
    let mut pieces = vec![Vec::new()];
    let mut octets = text.iter().copied().peekable();
    while let Some(octet) = octets.next() {
        let piece = pieces.last_mut().expect("there is always a last piece");
        match octet {
            _ if octet == delimiter => pieces.push(Vec::new()),
            b'\\' => {
                let escaped = octets.next_if(|&next| next == delimiter || next == b'\\');
                piece.push(escaped.unwrap_or(b'\\'));
            }
            _ => piece.push(octet),
        }
    }
    pieces.into_iter().filter(|piece| !piece.is_empty())
}

fn encode(field: Field, value: &[u8], octets: &mut Vec<u8>) -> Result<(), String> {
    match field {
        Field::Binary => octets.extend(binary_field(value)?),
        Field::Boolean => octets.push(boolean(value)?),
        Field::I8 => octets.extend((integer(value, -0x80..=0x7f)? as i8).to_be_bytes()),
        Field::I16 => octets.extend((integer(value, -0x8000..=0x7fff)? as i16).to_be_bytes()),
        Field::I32 => {
            let range = i64::from(i32::MIN)..=i64::from(i32::MAX);
            octets.extend((integer(value, range)? as i32).to_be_bytes());
        }
        Field::U8 => octets.push(integer(value, 0..=0xff)? as u8),
        Field::U16 => octets.extend((integer(value, 0..=0xffff)? as u16).to_be_bytes()),
        Field::U32 => octets.extend((integer(value, 0..=0xffff_ffff)? as u32).to_be_bytes()),
        Field::Enterprise => {
            octets.extend((integer(value, 0..=0xffff_ffff)? as u32).to_be_bytes());
            octets.push(0);
        }
        Field::Ipv4 => octets.extend(parsed::<Ipv4Addr>(value, "an IPv4 address")?.octets()),
        Field::Ipv6 => octets.extend(parsed::<Ipv6Addr>(value, "an IPv6 address")?.octets()),
        Field::Ipv6Prefix => ipv6_prefix(value, octets)?,
        Field::Name => name(value, octets)?,
        Field::Psid => psid(value, octets)?,
        Field::Text => octets.extend(trim_zeros(value, octets.is_empty())?),
        Field::Tuple => {
            let length = u16::try_from(value.len())
                .map_err(|_| "a value is longer than 65535 bytes".to_owned())?;
            octets.extend(length.to_be_bytes());
            octets.extend(value);
        }
        Field::ShortTuple => {
            let length = u8::try_from(value.len())
                .map_err(|_| "a value is longer than 255 bytes".to_owned())?;
            octets.push(length);
            octets.extend(value);
        }
        Field::Opaque | Field::Resolver | Field::Resolvers | Field::Routes | Field::SubOptions => {
            unreachable!("not a value of its own")
        }
    }
    Ok(())
}

/// Returns the option value `value` as error messages quote it.
pub(super) fn quoted(value: &[u8]) -> impl fmt::Display {
    String::from_utf8_lossy(value).into_owned()
}

pub(super) fn parsed<T: FromStr>(value: &[u8], what: &str) -> Result<T, String> {
    let text = core::str::from_utf8(value).ok();
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| format!("`{}` is not {what}", quoted(value)))
}

/// Reads a decimal number within `range`, or else a hexadecimal one, with or without `0x`.
fn integer(value: &[u8], range: core::ops::RangeInclusive<i64>) -> Result<i64, String> {
    let text = core::str::from_utf8(value).unwrap_or("");
    let hexadecimal = || {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text),
        };
        let bare = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let digits = bare.unwrap_or(digits);
        let good = digits.bytes().all(|b| b.is_ascii_hexdigit());
        good.then(|| i64::from_str_radix(digits, 16).ok().map(|number| sign * number)).flatten()
    };
    let number = text.parse().ok().or_else(hexadecimal);
    let number = number.ok_or_else(|| format!("`{}` is not an integer", quoted(value)))?;
    if range.contains(&number) {
        return Ok(number);
    }
    let (low, high) = range.into_inner();
    Err(format!("`{}` is not from {low} to {high}", quoted(value)))
}

fn boolean(value: &[u8]) -> Result<u8, String> {
    match value {
        _ if value.eq_ignore_ascii_case(b"true") => Ok(1),
        _ if value.eq_ignore_ascii_case(b"false") => Ok(0),
        _ => parsed::<u8>(value, "`true` or `false`")
            .ok()
            .filter(|number| *number < 2)
            .ok_or_else(|| format!("`{}` is not `true` or `false`", quoted(value))),
    }
}

/// Returns the bytes of a text without the zeros at its end. `alone`: the text is the whole option,
/// which must not be empty.
pub(super) fn trim_zeros(value: &[u8], alone: bool) -> Result<&[u8], String> {
    let end = value.iter().rposition(|&octet| octet != 0).map_or(0, |last| last + 1);
    if alone && end == 0 { Err("it has no value".to_owned()) } else { Ok(&value[..end]) }
}

/// Encodes an IPv6 prefix `prefix/length` as one byte of length and the bytes of the prefix that it
/// covers.
fn ipv6_prefix(value: &[u8], octets: &mut Vec<u8>) -> Result<(), String> {
    let text = core::str::from_utf8(value).ok();
    let (address, length) = text
        .and_then(prefix::<Ipv6Addr>)
        .ok_or_else(|| format!("`{}` is not a prefix (`2001:db8::/48`)", quoted(value)))?;
    octets.push(length);
    octets.extend(&first_of(address, length).octets()[..usize::from(length.div_ceil(8))]);
    Ok(())
}

/// Encodes a domain name in labels to `octets`.
pub(super) fn name(value: &[u8], octets: &mut Vec<u8>) -> Result<(), String> {
    let bad = |why: &str| Err(format!("`{}` is not a domain name: {why}", quoted(value)));
    let body = value.strip_suffix(b".").unwrap_or(value);
    let start = octets.len();
    if !body.is_empty() {
        for label in body.split(|&octet| octet == b'.') {
            if label.is_empty() {
                return bad("a label is empty");
            }
            if label.len() > MAX_LABEL {
                return bad("a label has more than 63 bytes");
            }
            if !label.iter().all(u8::is_ascii_graphic) {
                return bad("blanks and characters beyond ASCII do not occur in one");
            }
            octets.push(label.len() as u8);
            octets.extend(label);
        }
    }
    octets.push(0);
    if octets.len() - start > MAX_NAME {
        return bad("it has more than 255 bytes");
    }
    Ok(())
}

/// Encodes a port set identifier `value/length` as one byte of length and two of value, the value
/// in the high bits.
fn psid(value: &[u8], octets: &mut Vec<u8>) -> Result<(), String> {
    let bad = || format!("`{}` is not a port set identifier (`value/length`)", quoted(value));
    let text = core::str::from_utf8(value).map_err(|_| bad())?;
    let (number, length) = text.split_once('/').ok_or_else(bad)?;
    let part = |text: &str, most| integer(text.trim().as_bytes(), 0..=most).map_err(|_| bad());
    let (number, length) = (part(number, 0xffff)? as u16, part(length, 0xff)? as u32);
    if length > 16 || u32::from(number) >> length != 0 {
        return Err(format!("`{text}`: the value does not fit the length, which is at most 16"));
    }
    octets.push(length as u8);
    octets.extend(((u32::from(number) << (16 - length)) as u16).to_be_bytes());
    Ok(())
}

/// Encodes classless routes, `prefix/length - router` each (RFC 3442: only the significant bytes of
/// the prefix).
fn routes(values: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    let mut octets = Vec::new();
    for value in values {
        let bad = || format!("`{}` is not a route (`10.0.0.0/8 - 192.0.2.1`)", quoted(value));
        let text = core::str::from_utf8(value).map_err(|_| bad())?;
        let (prefix, router) = text.split_once('-').ok_or_else(bad)?;
        let (network, length) = prefix.split_once('/').ok_or_else(bad)?;
        let network: Ipv4Addr = network.trim().parse().map_err(|_| bad())?;
        let length: u8 = length.trim().parse().ok().filter(|l| *l <= 32).ok_or_else(bad)?;
        let router: Ipv4Addr = router.trim().parse().map_err(|_| bad())?;
        octets.push(length);
        octets.extend(&network.octets()[..usize::from(length.div_ceil(8))]);
        octets.extend(router.octets());
    }
    if octets.is_empty() { Err("it has no value".to_owned()) } else { Ok(octets) }
}
