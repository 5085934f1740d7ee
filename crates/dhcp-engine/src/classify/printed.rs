//! Texts of options in class expressions (`.text`), as Kea prints them.

use core::fmt::{self, Write};
use core::net::{Ipv4Addr, Ipv6Addr};

use dhcp_config::Field;
use dhcp_config::expression::Print;
use dhcp_wire::name::read_labels;
use dhcp_wire::v4::{self, OptionValue};
use dhcp_wire::v6;

use crate::name_characters::escaped;

/// Largest length of an option 81 (DHCPv4) or 39 (DHCPv6) that is printed with its name, in bytes:
/// flags, two codes and a name.
const FQDN_MAX: usize = 3 + 255;

/// Replaces the bytes of `target` after `start` by the text that Kea prints of an option `code`
/// with that value. `width` is the minimal number of digits of code and length. A value that does
/// not match its option's definition is printed as bytes.
pub(super) fn print(print: Print, code: u16, width: usize, start: usize, target: &mut Vec<u8>) {
    let value_end = target.len();
    let is_printed = match print {
        Print::Octets => false,
        Print::ClientFqdn4 => print_fqdn4(code, start, target),
        Print::ClientFqdn6 => print_fqdn6(code, start, target),
        Print::Values { field, is_array } => {
            print_values(field, is_array, code, width, start, target)
        }
    };
    if !is_printed {
        target.truncate(value_end);
        print_octets(code, width, start, target);
    }
    target.drain(start..value_end);
}

/// Writer that appends formatted text to a vector of bytes.
struct TextAppender<'t>(&'t mut Vec<u8>);

impl Write for TextAppender<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Appends the formatted `text` to the bytes `target`.
fn append(target: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    TextAppender(target).write_fmt(text).expect("a vector takes everything");
}

fn print_header(code: u16, width: usize, len: usize, target: &mut Vec<u8>) {
    append(target, format_args!("type={code:0width$}, len={len:0width$}:"));
}

/// Replaces the bytes after `start` by the text that Kea prints of options of unknown contents:
/// hexadecimal digits, and characters when all bytes are printable.
fn print_octets(code: u16, width: usize, start: usize, target: &mut Vec<u8>) {
    let value = start..target.len();
    print_header(code, width, value.len(), target);
    target.push(b' ');
    for at in value.clone() {
        if at > start {
            target.push(b':');
        }
        target.extend_from_slice(&super::texts::digits(target[at]));
    }
    if value.is_empty() {
        target.extend_from_slice(b"''");
    } else if target[value.clone()].iter().all(|octet| (b' '..=b'~').contains(octet)) {
        target.extend_from_slice(b" '");
        target.extend_from_within(value);
        target.push(b'\'');
    }
}

/// Appends to `target` the values of an option's field, each with its type; returns false when the
/// bytes are no such values.
fn print_values(
    field: Field,
    is_array: bool,
    code: u16,
    width: usize,
    start: usize,
    target: &mut Vec<u8>,
) -> bool {
    let value = start..target.len();
    if field == Field::Name {
        return !is_array && print_name(code, width, start, target);
    }
    let Some((len, name)) = kind(field) else { return false };
    let count = value.len() / len;
    if count * len != value.len() || count == 0 || (!is_array && count != 1) {
        return false;
    }
    print_header(code, width, value.len(), target);
    let is_address = matches!(field, Field::Ipv4 | Field::Ipv6);
    for at in value.step_by(len) {
        let mut octets = [0; 16];
        let Some(source) = target.get(at..at + len) else { return false };
        octets[..len].copy_from_slice(source);
        target.push(b' ');
        print_value(field, octets, target);
        match (is_array, is_address || field == Field::Boolean) {
            (true, true) if is_address => {}
            (true, false) => append(target, format_args!("({name})")),
            _ => append(target, format_args!(" ({name})")),
        }
    }
    true
}

/// Returns the length in bytes of a value of the option field `field` and the name of its type;
/// `None` for fields that are printed otherwise.
const fn kind(field: Field) -> Option<(usize, &'static str)> {
    Some(match field {
        Field::Boolean => (1, "boolean"),
        Field::I8 => (1, "int8"),
        Field::I16 => (2, "int16"),
        Field::I32 => (4, "int32"),
        Field::U8 => (1, "uint8"),
        Field::U16 => (2, "uint16"),
        Field::U32 => (4, "uint32"),
        Field::Ipv4 => (4, "ipv4-address"),
        Field::Ipv6 => (16, "ipv6-address"),
        _ => return None,
    })
}

/// Appends to `target` the text of the value of `field` that `octets` begin with.
fn print_value(field: Field, octets: [u8; 16], target: &mut Vec<u8>) {
    let [a, b, c, d, ..] = octets;
    let (two, four) = ([a, b], [a, b, c, d]);
    match field {
        Field::Boolean => append(target, format_args!("{}", a != 0)),
        Field::I8 => append(target, format_args!("{}", a.cast_signed())),
        Field::I16 => append(target, format_args!("{}", i16::from_be_bytes(two))),
        Field::I32 => append(target, format_args!("{}", i32::from_be_bytes(four))),
        Field::U8 => append(target, format_args!("{a}")),
        Field::U16 => append(target, format_args!("{}", u16::from_be_bytes(two))),
        Field::U32 => append(target, format_args!("{}", u32::from_be_bytes(four))),
        Field::Ipv4 => append(target, format_args!("{}", Ipv4Addr::from(four))),
        Field::Ipv6 => append(target, format_args!("{}", Ipv6Addr::from(octets))),
        _ => {}
    }
}

/// Appends to `target` the text of a domain name that `read` reads, without its final dot when
/// `is_partial`; returns false when it is no name.
fn push_name(
    is_partial: bool,
    target: &mut Vec<u8>,
    read: impl FnOnce(&mut dyn FnMut(u8)) -> bool,
) -> bool {
    let before = target.len();
    let is_name = read(&mut |octet| {
        let (text, len) = escaped(octet.to_ascii_lowercase());
        target.extend_from_slice(&text[..len]);
    });
    if is_partial && target.len() > before && target.ends_with(b".") {
        target.pop();
    }
    is_name
}

/// Replaces the bytes after `start` by the text of an option whose value is a domain name in
/// labels.
fn print_name(code: u16, width: usize, start: usize, target: &mut Vec<u8>) -> bool {
    let Some((octets, len)) = copied(start, target) else { return false };
    print_header(code, width, len, target);
    target.extend_from_slice(b" \"");
    let is_name = push_name(false, target, |take| read_labels(octets[..len].iter().copied(), take));
    target.extend_from_slice(b"\" (fqdn)");
    is_name && len > 0
}

/// Returns a copy of the option value after `start`, with its length; `None` when it is longer than
/// a name with flags and codes.
fn copied(start: usize, target: &[u8]) -> Option<([u8; FQDN_MAX], usize)> {
    let value = target.get(start..)?;
    let mut octets = [0; FQDN_MAX];
    octets.get_mut(..value.len())?.copy_from_slice(value);
    Some((octets, value.len()))
}

fn bit(flags: u8, bit: u8) -> u8 {
    u8::from(flags & bit != 0)
}

/// Appends to `target` the end of the text of an option that contains a client's name.
fn finish_fqdn(
    is_partial: bool,
    target: &mut Vec<u8>,
    read: impl FnOnce(&mut dyn FnMut(u8)) -> bool,
) -> bool {
    target.extend_from_slice(b"domain-name='");
    let is_name = push_name(is_partial, target, read);
    let kind = if is_partial { "partial" } else { "full" };
    append(target, format_args!("' ({kind})"));
    is_name
}

/// Replaces the bytes after `start` by the text of the DHCPv4 option Client FQDN (81, RFC 4702).
fn print_fqdn4(code: u16, start: usize, target: &mut Vec<u8>) -> bool {
    let Some((octets, len)) = copied(start, target) else { return false };
    let Some(fqdn) = v4::ClientFqdn::parse(OptionValue::from_slice(&octets[..len])) else {
        return false;
    };
    let [n, e, o, s] = [8, 4, 2, 1].map(|flag| bit(octets[0], flag));
    append(
        target,
        format_args!("type={code} (CLIENT_FQDN), flags: (N={n}, E={e}, O={o}, S={s}), "),
    );
    finish_fqdn(fqdn.is_partial(), target, |take| fqdn.read_name(take))
}

/// Replaces the bytes after `start` by the text of the DHCPv6 option Client FQDN (39, RFC 4704).
fn print_fqdn6(code: u16, start: usize, target: &mut Vec<u8>) -> bool {
    let Some((octets, len)) = copied(start, target) else { return false };
    let Some(fqdn) = v6::ClientFqdn::parse(&octets[..len]) else { return false };
    let [n, o, s] = [4, 2, 1].map(|flag| bit(octets[0], flag));
    append(target, format_args!("type={code}(CLIENT_FQDN), flags: (N={n}, O={o}, S={s}), "));
    finish_fqdn(fqdn.is_partial(), target, |take| fqdn.read_name(take))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(how: Print, code: u16, width: usize, value: &[u8]) -> String {
        let mut target = [b"before", value].concat();
        print(how, code, width, 6, &mut target);
        let text = String::from_utf8(target).expect("characters");
        text.strip_prefix("before").expect("what stood before stays").to_owned()
    }

    #[test]
    fn octets_are_printed_as_kea_prints_them() {
        let printed = |code, width, value: &[u8]| printed(Print::Octets, code, width, value);
        assert_eq!(printed(61, 3, &[1, 0xab]), "type=061, len=002: 01:ab");
        assert_eq!(printed(1234, 5, b"a~"), "type=01234, len=00002: 61:7e 'a~'");
        assert_eq!(printed(61, 3, &[]), "type=061, len=000: ''");
    }

    #[test]
    fn values_are_printed_with_their_types() {
        for (field, is_array, code, value, expected) in [
            (Field::U32, false, 51, &[0, 0, 14, 16][..], "type=051, len=004: 3600 (uint32)"),
            (Field::U8, false, 53, &[1], "type=053, len=001: 1 (uint8)"),
            (Field::U8, true, 55, &[1, 3], "type=055, len=002: 1(uint8) 3(uint8)"),
            (Field::I8, false, 224, &[255], "type=224, len=001: -1 (int8)"),
            (Field::I16, false, 224, &[255, 254], "type=224, len=002: -2 (int16)"),
            (Field::I32, true, 224, &[0, 0, 0, 7], "type=224, len=004: 7(int32)"),
            (Field::U16, false, 57, &[5, 220], "type=057, len=002: 1500 (uint16)"),
            (Field::Boolean, false, 19, &[1], "type=019, len=001: true (boolean)"),
            (
                Field::Boolean,
                true,
                224,
                &[1, 0],
                "type=224, len=002: true (boolean) false (boolean)",
            ),
            (Field::Ipv4, false, 50, &[10, 0, 0, 1], "type=050, len=004: 10.0.0.1 (ipv4-address)"),
            (
                Field::Ipv4,
                true,
                6,
                &[10, 0, 0, 1, 10, 0, 0, 2],
                "type=006, len=008: 10.0.0.1 10.0.0.2",
            ),
            (Field::Name, false, 137, b"\x01A\x01b\0", "type=137, len=005: \"a.b.\" (fqdn)"),
            // These values do not match their definitions.
            (Field::U32, false, 51, &[1], "type=051, len=001: 01"),
            (Field::U32, true, 51, &[], "type=051, len=000: ''"),
            (Field::U8, false, 53, &[1, 2], "type=053, len=002: 01:02"),
            (Field::Name, false, 137, b"\x05a", "type=137, len=002: 05:61"),
            (Field::Routes, false, 121, &[8], "type=121, len=001: 08"),
        ] {
            let how = Print::Values { field, is_array };
            assert_eq!(printed(how, code, 3, value), expected);
        }
        let how = Print::Values { field: Field::Ipv6, is_array: true };
        let address = "2001:db8::1".parse::<Ipv6Addr>().unwrap().octets();
        assert_eq!(printed(how, 23, 5, &address), "type=00023, len=00016: 2001:db8::1");
    }

    #[test]
    fn names_of_clients_are_printed_with_their_flags() {
        for (value, expected) in [
            (
                &b"\x05\0\0\x03Foo\x02b.\0"[..],
                r"type=81 (CLIENT_FQDN), flags: (N=0, E=1, O=0, S=1), domain-name='foo.b..' (full)",
            ),
            (
                b"\0\0\0fo_o.ba",
                "type=81 (CLIENT_FQDN), flags: (N=0, E=0, O=0, S=0), domain-name='fo_o.ba' (partial)",
            ),
            (
                b"\x08\0\0",
                "type=81 (CLIENT_FQDN), flags: (N=1, E=0, O=0, S=0), domain-name='' (partial)",
            ),
            (b"\0\0", "type=081, len=002: 00:00"),
        ] {
            assert_eq!(printed(Print::ClientFqdn4, 81, 3, value), expected);
        }
        let expected = "type=39(CLIENT_FQDN), flags: (N=0, O=0, S=1), domain-name='x.' (full)";
        assert_eq!(printed(Print::ClientFqdn6, 39, 5, b"\x01\x01x\0"), expected);
        let expected =
            r"type=39(CLIENT_FQDN), flags: (N=1, O=0, S=0), domain-name='a\032b' (partial)";
        assert_eq!(printed(Print::ClientFqdn6, 39, 5, b"\x04\x03a b"), expected);
    }
}
