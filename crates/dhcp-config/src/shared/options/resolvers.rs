//! Options with encrypted DNS resolvers (`v4-dnr`, `v6-dnr`), from text and from bytes.
//!
//! Text is `priority, name, addresses, parameters`; without addresses the client looks the name up
//! itself. DHCPv6 has one option (144) for each resolver; DHCPv4 has one (162) for all, separated
//! by `|` in text, each after its length on the wire. RFCs to read first: 9463 (the options), 9460
//! §2.2 (service parameters), 9461 §5 (`dohpath`).

use core::net::{Ipv4Addr, Ipv6Addr};

use super::check::name_length;
use super::definition::Field;
use super::text::{name, parsed, pieces, quoted};

/// Service parameters that Kea takes for encrypted DNS resolvers, ordered by their keys (RFC 9460
/// §14.3.2).
const PARAMETERS: [(&str, u16); 3] = [("alpn", 1), ("port", 3), ("dohpath", 7)];

/// Names of permitted application protocols of a resolver (IANA's registry of ALPN protocols), in
/// order.
const PROTOCOLS: [&str; 33] = [
    "acme-tls/1",
    "c-webrtc",
    "coap",
    "dicom",
    "doq",
    "dot",
    "ftp",
    "h2",
    "h2c",
    "h3",
    "http/0.9",
    "http/1.0",
    "http/1.1",
    "imap",
    "irc",
    "managesieve",
    "mqtt",
    "nnsp",
    "nntp",
    "ntske/1",
    "pop3",
    "sip/2",
    "smb",
    "spdy/1",
    "spdy/2",
    "spdy/3",
    "stun.nat-discovery",
    "stun.turn",
    "sunrpc",
    "tds/8.0",
    "webrtc",
    "xmpp-client",
    "xmpp-server",
];

/// Error message about a resolver that has no name.
const NAMELESS: &str = "the name of the resolver is missing";

/// Wire format of an encrypted DNS resolver in the options of one family.
#[derive(Clone, Copy)]
struct ResolverFormat {
    /// Number of bytes of the two lengths, that of the name and that of the addresses.
    width: usize,
    /// Number of bytes of one address of the resolver.
    address_len: usize,
    /// Function that encodes an address of the resolver from text.
    address: fn(&[u8]) -> Result<Vec<u8>, String>,
}

impl ResolverFormat {
    const V4: Self = Self {
        width: 1,
        address_len: 4,
        address: |text| parsed::<Ipv4Addr>(text, "an IPv4 address").map(|a| a.octets().to_vec()),
    };
    const V6: Self = Self {
        width: 2,
        address_len: 16,
        address: |text| parsed::<Ipv6Addr>(text, "an IPv6 address").map(|a| a.octets().to_vec()),
    };
}

/// Returns the option's bytes that a text of resolvers describes; `field` is [`Field::Resolver`] or
/// [`Field::Resolvers`].
pub(super) fn from_text(field: Field, text: &[u8]) -> Result<Vec<u8>, String> {
    // Kea splits every option at its commas first, which leaves backslashes before other
    // characters.
    let mut joined = Vec::new();
    for value in pieces(text, b',') {
        if !joined.is_empty() {
            joined.push(b',');
        }
        for octet in value {
            if octet == b',' {
                joined.push(b'\\');
            }
            joined.push(octet);
        }
    }
    if joined.is_empty() {
        return Err("it has no value".to_owned());
    }
    match field {
        Field::Resolver => resolver(ResolverFormat::V6, &joined),
        _ => numbered(pieces(&joined, b'|'), |text| resolver(ResolverFormat::V4, &text)),
    }
}

/// Checks the option's bytes, given as such, and returns them as they are sent: with names in lower
/// case.
pub(super) fn from_octets(field: Field, value: &[u8]) -> Result<Vec<u8>, String> {
    match field {
        Field::Resolver => checked(ResolverFormat::V6, value),
        _ => {
            let mut rest = value;
            let instances = core::iter::from_fn(|| (!rest.is_empty()).then(|| take(&mut rest, 2)));
            numbered(instances, |instance| checked(ResolverFormat::V4, instance?))
        }
    }
}

/// Concatenates the bytes of resolvers, each after its length.
fn numbered<T>(
    resolvers: impl Iterator<Item = T>,
    octets: impl Fn(T) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    let mut all = Vec::new();
    for (number, resolver) in (1..).zip(resolvers) {
        let octets = octets(resolver).map_err(|reason| format!("resolver {number}: {reason}"))?;
        put(&mut all, 2, &octets)?;
    }
    if all.is_empty() { Err("it has no value".to_owned()) } else { Ok(all) }
}

/// Appends `value` to `octets` after its length in `width` bytes.
fn put(octets: &mut Vec<u8>, width: usize, value: &[u8]) -> Result<(), String> {
    let length = value.len().to_be_bytes();
    let (high, low) = length.split_at(length.len() - width);
    if high.iter().any(|&octet| octet != 0) {
        return Err(format!("a part of {} bytes is too long", value.len()));
    }
    octets.extend(low);
    octets.extend(value);
    Ok(())
}

/// Takes from `rest` a length of `width` bytes and the bytes that it counts.
fn take<'a>(rest: &mut &'a [u8], width: usize) -> Result<&'a [u8], String> {
    let cut = || "it ends inside of a field".to_owned();
    let (length, tail) = core::mem::take(rest).split_at_checked(width).ok_or_else(cut)?;
    let length = length.iter().fold(0, |sum, &octet| sum << 8 | usize::from(octet));
    let (value, tail) = tail.split_at_checked(length).ok_or_else(cut)?;
    *rest = tail;
    Ok(value)
}

/// Encodes one resolver from its text.
fn resolver(shape: ResolverFormat, text: &[u8]) -> Result<Vec<u8>, String> {
    let values: Vec<Vec<u8>> =
        pieces(text, b',').map(|value| value.trim_ascii().to_vec()).collect();
    let (priority, full_name, addresses, parameters) = match &values[..] {
        [priority, name] => (priority, name, None, None),
        [priority, name, addresses] => (priority, name, Some(addresses), None),
        [priority, name, addresses, parameters] => {
            (priority, name, Some(addresses), Some(parameters))
        }
        _ => {
            return Err(format!(
                "it takes a priority, a name, and if wanted addresses and parameters, not \
                 {} values; write a comma inside of a value as `\\\\,`",
                values.len()
            ));
        }
    };
    let mut octets = parsed::<u16>(priority, "a priority (0 to 65535)")?.to_be_bytes().to_vec();
    if full_name.is_empty() {
        return Err(NAMELESS.to_owned());
    }
    let mut labels = Vec::new();
    name(full_name, &mut labels)?;
    labels.make_ascii_lowercase();
    put(&mut octets, shape.width, &labels)?;
    if let Some(addresses) = addresses {
        let addresses = words(addresses, b' ').map(|text| (shape.address)(text.trim_ascii()));
        let addresses = addresses.collect::<Result<Vec<_>, _>>()?.concat();
        if addresses.is_empty() {
            return Err("its value for addresses is empty".to_owned());
        }
        put(&mut octets, shape.width, &addresses)?;
    }
    octets.extend(parameters.map_or(Ok(Vec::new()), |text| service_parameters(text))?);
    Ok(octets)
}

/// Returns the parts of a text between delimiters `delimiter`, without empty ones.
fn words(text: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    text.split(move |&octet| octet == delimiter).filter(|word| !word.is_empty())
}

/// Encodes service parameters of a resolver from `key=value` pairs between blanks, in the order of
/// the keys' numbers.
fn service_parameters(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut values: [Option<Vec<u8>>; PARAMETERS.len()] = [const { None }; PARAMETERS.len()];
    let mut is_http = false;
    for pair in words(text, b' ') {
        let [key, value] = words(pair.trim_ascii(), b'=').collect::<Vec<_>>()[..] else {
            return Err(format!("`{}` is not a parameter (`key=value`)", quoted(pair)));
        };
        let index = PARAMETERS.iter().position(|(name, _)| name.as_bytes() == key);
        let index = index.ok_or_else(|| {
            let key = quoted(key);
            format!(
                "`{key}` is not a parameter of this option; it has `alpn`, `port` and \
                     `dohpath`"
            )
        })?;
        if values[index].is_some() {
            return Err(format!("parameter `{}` is given twice", quoted(key)));
        }
        values[index] = Some(match PARAMETERS[index].0 {
            "alpn" => {
                is_http |= words(value, b',').any(|protocol| protocol.starts_with(b"h"));
                protocols(value)?
            }
            "port" => parsed::<u16>(value, "a port (0 to 65535)")?.to_be_bytes().to_vec(),
            _ => template(value)?,
        });
    }
    if is_http && values[2].is_none() {
        return Err("with HTTP among its protocols it needs `dohpath`".to_owned());
    }
    let mut octets = Vec::new();
    for ((_, key), value) in PARAMETERS.iter().zip(values) {
        if let Some(value) = value {
            octets.extend(key.to_be_bytes());
            put(&mut octets, 2, &value)?;
        }
    }
    Ok(octets)
}

/// Encodes the value of the service parameter `alpn`: protocols, each after its length (RFC 9460
/// §7.1.1).
fn protocols(value: &[u8]) -> Result<Vec<u8>, String> {
    let mut octets = Vec::new();
    for protocol in words(value, b',') {
        if PROTOCOLS.binary_search_by(|name| name.as_bytes().cmp(protocol)).is_err() {
            return Err(format!("`{}` is not the name of a protocol (ALPN)", quoted(protocol)));
        }
        put(&mut octets, 1, protocol)?;
    }
    Ok(octets)
}

/// Encodes the value of the service parameter `dohpath`: a URI template, whose bytes Kea takes as
/// characters.
fn template(value: &[u8]) -> Result<Vec<u8>, String> {
    let variable = b"{?dns}";
    if !value.windows(variable.len()).any(|window| window == variable) {
        let value = quoted(value);
        return Err(format!("`dohpath` `{value}` lacks the variable of DNS queries, `{{?dns}}`"));
    }
    Ok(value.iter().map(|&octet| char::from(octet)).collect::<String>().into_bytes())
}

/// Checks one resolver given as bytes, and returns its bytes as they are sent.
fn checked(shape: ResolverFormat, value: &[u8]) -> Result<Vec<u8>, String> {
    let Some((priority, mut rest)) = value.split_at_checked(2) else {
        return Err("it ends inside of a field".to_owned());
    };
    let mut octets = priority.to_vec();
    let labels = take(&mut rest, shape.width)?;
    if labels.is_empty() {
        return Err(NAMELESS.to_owned());
    }
    if name_length(labels, 0)? != labels.len() {
        return Err("the name of the resolver is shorter than its length says".to_owned());
    }
    put(&mut octets, shape.width, &labels.to_ascii_lowercase())?;
    if rest.is_empty() {
        return Ok(octets);
    }
    octets.extend(rest);
    let addresses = take(&mut rest, shape.width)?;
    if addresses.is_empty() || !addresses.len().is_multiple_of(shape.address_len) {
        let (length, of_one) = (addresses.len(), shape.address_len);
        return Err(format!("{length} bytes are not addresses of {of_one} bytes each"));
    }
    let mut last = 0;
    while !rest.is_empty() {
        let Some((&key, tail)) = rest.split_first_chunk() else {
            return Err("it ends inside of a field".to_owned());
        };
        let key = u16::from_be_bytes(key);
        rest = tail;
        take(&mut rest, 2)?;
        if !PARAMETERS.iter().any(|&(_, number)| number == key) {
            return Err(format!("{key} is not a parameter of this option; it has 1, 3 and 7"));
        }
        if key <= last {
            return Err(format!(
                "parameter {key} is after {last}: write parameters in ascending \
                                order"
            ));
        }
        last = key;
    }
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::{PARAMETERS, PROTOCOLS};

    #[test]
    fn tables_are_in_order() {
        assert!(PROTOCOLS.is_sorted());
        assert!(PARAMETERS.is_sorted_by_key(|(_, key)| key));
    }
}
