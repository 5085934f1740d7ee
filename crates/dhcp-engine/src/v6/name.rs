//! The client's name: what its Client FQDN option says of it, what it is told and what its lease
//! keeps (RFC 4704; Kea reference §5.9). Updates of DNS are not done, so the answer is always that
//! nobody here does them.

use core::fmt::Write;
use core::net::Ipv6Addr;

use dhcp_wire::v6::{MessageWriter, option};

/// The client wants the server to make the forward entry.
const FLAG_S: u8 = 1;
/// The server decides otherwise than the client wants.
const FLAG_O: u8 = 2;
/// The server makes no entry.
const FLAG_N: u8 = 4;
/// Octets of a name on the wire (RFC 1035 §3.1).
const NAME_MAX: usize = 255;
/// Kea's `ddns-generated-prefix` when it is not set.
const GENERATED_PREFIX: &str = "myhost";

/// A Client FQDN option that says both that the server is to make an entry and that it is not to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contradiction;

/// Makes the name of a client in `name`: the `reserved` one, else the one that its option gives,
/// cleaned. It is empty when there is none. Gives the flags of the answer, `None` when the answer
/// has no such option.
pub(super) fn make(
    fqdn: Option<&[u8]>,
    reserved: &str,
    name: &mut String,
) -> Result<Option<u8>, Contradiction> {
    name.clear();
    let Some((&flags, wire)) = fqdn.and_then(|fqdn| fqdn.split_first()) else {
        name.push_str(reserved);
        return Ok(None);
    };
    if flags & (FLAG_N | FLAG_S) == FLAG_N | FLAG_S {
        return Err(Contradiction);
    }
    if !reserved.is_empty() {
        name.extend(reserved.chars().map(|letter| letter.to_ascii_lowercase()));
        if !name.ends_with('.') {
            name.push('.');
        }
    } else if !read(wire, name) {
        // Nothing is left of it: no answer about it either, as in Kea.
        name.clear();
        return Ok(None);
    }
    let is_overridden = flags & FLAG_S != 0;
    Ok(Some(FLAG_N | if is_overridden { FLAG_O } else { 0 }))
}

/// Appends the name in `wire` as text that ends in a dot, lower case, without the characters that
/// Kea's `hostname-char-set` leaves out by default. An empty name is one. False when `wire` is no
/// name or nothing is left of a label.
fn read(wire: &[u8], name: &mut String) -> bool {
    let mut rest = wire;
    while let Some((&len, after)) = rest.split_first() {
        if len == 0 {
            return after.is_empty();
        }
        let Some((label, after)) = after.split_at_checked(usize::from(len)) else { return false };
        let kept = label.iter().filter(|octet| octet.is_ascii_alphanumeric() || **octet == b'-');
        let before = name.len();
        name.extend(kept.map(|octet| char::from(octet.to_ascii_lowercase())));
        if len > 63 || name.len() == before {
            return false;
        }
        name.push('.');
        rest = after;
    }
    wire.len() <= NAME_MAX
}

/// The name of a client that gave an empty one, after its address, as in Kea.
pub(super) fn generate(address: Ipv6Addr, name: &mut String) {
    name.clear();
    let before = GENERATED_PREFIX.len() + 1;
    write!(name, "{GENERATED_PREFIX}-{address}.").expect("a string takes everything");
    while let Some(at) = name[before..].find(':') {
        name.replace_range(before + at..=before + at, "-");
    }
}

/// Writes the option: a name that ends in a dot, or none.
pub(super) fn put(flags: u8, name: &str, writer: &mut MessageWriter<'_>) {
    let mark = writer.begin(option::CLIENT_FQDN);
    writer.octets(&[flags]);
    for label in name.split('.').filter(|label| !label.is_empty()) {
        let octets = &label.as_bytes()[..label.len().min(63)];
        writer.octets(&[octets.len() as u8]).octets(octets);
    }
    if !name.is_empty() {
        writer.octets(&[0]);
    }
    writer.end(mark);
}

#[cfg(test)]
mod tests {
    use dhcp_wire::v6::{Message, MessageType};

    use super::*;

    fn made(fqdn: Option<&[u8]>, reserved: &str) -> (Result<Option<u8>, Contradiction>, String) {
        let mut name = "before".to_owned();
        (make(fqdn, reserved, &mut name), name)
    }

    #[test]
    fn a_name_is_cleaned_completed_and_answered() {
        for (fqdn, flags, name) in [
            (&b"\x00\x03Foo\x07example\x00"[..], FLAG_N, "foo.example."),
            (b"\x01\x04f_o!", FLAG_N | FLAG_O, "fo."),
            (b"\x04\x03foo\x02ba", FLAG_N, "foo.ba."),
            (b"\x01", FLAG_N | FLAG_O, ""),
            (b"\x01\x00", FLAG_N | FLAG_O, ""),
        ] {
            assert_eq!(made(Some(fqdn), ""), (Ok(Some(flags)), name.to_owned()), "{fqdn:?}");
        }
        for fqdn in [&b"\x00\x03__!"[..], b"\x00\x09foo", b"\x00\x03foo\x00\x03foo"] {
            assert_eq!(made(Some(fqdn), ""), (Ok(None), String::new()), "{fqdn:?}");
        }
        assert_eq!(made(Some(b"\x05\x03foo"), "").0, Err(Contradiction));
    }

    #[test]
    fn a_reserved_name_wins() {
        assert_eq!(made(None, "Host.Example"), (Ok(None), "Host.Example".to_owned()));
        assert_eq!(made(None, ""), (Ok(None), String::new()));
        let answered = (Ok(Some(FLAG_N)), "host.example.".to_owned());
        assert_eq!(made(Some(b"\x00\x03foo"), "Host.Example"), answered);
    }

    #[test]
    fn a_nameless_client_is_named_after_its_address() {
        let mut name = String::new();
        generate("2001:db8::1f".parse().unwrap(), &mut name);
        assert_eq!(name, "myhost-2001-db8--1f.");
    }

    #[test]
    fn the_option_holds_flags_and_labels() {
        let option_of = |name: &str| {
            let mut buffer = [0; 100];
            let mut writer = MessageWriter::new(&mut buffer, MessageType::Reply, 1);
            put(FLAG_N, name, &mut writer);
            let len = writer.finish().unwrap();
            let message = Message::parse(&buffer[..len]).unwrap();
            message.option(option::CLIENT_FQDN).unwrap().to_vec()
        };
        assert_eq!(option_of("foo.example."), b"\x04\x03foo\x07example\x00");
        assert_eq!(option_of(""), [FLAG_N]);
    }
}
