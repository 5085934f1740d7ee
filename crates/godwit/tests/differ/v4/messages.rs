//! DHCPv4 messages of steps, and the fields of replies, read by the test's own code.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde_json::Value;

use super::super::held::ClientMessage;
use super::super::value::{Fields, Learned, hex, octets};

/// Length of the fixed fields with the magic cookie (RFC 2131 §2, §3).
const HEADER_LEN: usize = 240;

/// Returns the bytes of the message of `step` under `xid`, sent through the relay agent `relay`.
pub(super) fn message(step: &Value, relay: Ipv4Addr, xid: u32, learned: &Learned) -> Vec<u8> {
    let mut message = vec![0; 236];
    let text = |name: &str| step[name].as_str().unwrap_or(if name == "mac" { "$mac" } else { "" });
    let field = |name: &str| octets(text(name), learned);
    let number = |name: &str| step[name].as_u64().unwrap_or_default();
    message[..4].copy_from_slice(&[1, 1, 6, 1]);
    message[4..8].copy_from_slice(&xid.to_be_bytes());
    message[8..10].copy_from_slice(&(number("secs") as u16).to_be_bytes());
    message[10..12].copy_from_slice(&(number("flags") as u16).to_be_bytes());
    for (at, octets) in [(12, field("ciaddr")), (24, relay.octets().to_vec()), (28, field("mac"))] {
        let len = octets.len().min(16);
        message[at..at + len].copy_from_slice(&octets[..len]);
    }
    message.extend([0x63, 0x82, 0x53, 0x63]);
    if let Some(kind) = step["type"].as_u64() {
        message.extend([53, 1, kind as u8]);
    }
    for option in step["options"].as_array().into_iter().flatten() {
        let (Some(code), Some(value)) = (option[0].as_u64(), option[1].as_str()) else { continue };
        let value = octets(value, learned);
        message.extend([code as u8, value.len().min(255) as u8]);
        message.extend(value.iter().take(255));
    }
    message.push(255);
    message.resize(message.len().max(300), 0);
    message
}

/// Returns the transaction id of a message.
pub(super) fn xid(message: &[u8]) -> Option<u32> {
    message.get(4..8).and_then(|octets| octets.try_into().ok()).map(u32::from_be_bytes)
}

/// Returns the fields of a reply; data that is not a message becomes one field.
pub(super) fn fields(reply: &[u8]) -> Fields {
    let mut fields = Fields::new();
    let Some((header, options)) = reply.split_at_checked(HEADER_LEN) else {
        fields.insert("short".to_owned(), hex(reply));
        return fields;
    };
    for (name, from, len) in [
        ("hops", 3, 1),
        ("secs", 8, 2),
        ("flags", 10, 2),
        ("ciaddr", 12, 4),
        ("yiaddr", 16, 4),
        ("siaddr", 20, 4),
        ("giaddr", 24, 4),
        ("chaddr", 28, 16),
        ("sname", 44, 64),
        ("file", 108, 128),
    ] {
        fields.insert(name.to_owned(), hex(&header[from..from + len]));
    }
    let mut values: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
    read_options(options, &mut values);
    let overload = values.get(&52).and_then(|value| value.first().copied()).unwrap_or_default();
    if overload & 1 != 0 {
        read_options(&header[108..236], &mut values);
    }
    if overload & 2 != 0 {
        read_options(&header[44..108], &mut values);
    }
    let named = values.iter().map(|(code, value)| (format!("option {code}"), hex(value)));
    fields.extend(named);
    fields
}

/// Adds the options of one field to `values`, and joins parts of an option (RFC 3396).
fn read_options(mut octets: &[u8], values: &mut BTreeMap<u8, Vec<u8>>) {
    while let [code, rest @ ..] = octets {
        octets = rest;
        match (code, rest) {
            (0, _) => {}
            (255, _) => return,
            (code, [len, rest @ ..]) => {
                let (value, rest) = rest.split_at(rest.len().min(usize::from(*len)));
                values.entry(*code).or_default().extend(value);
                octets = rest;
            }
            _ => return,
        }
    }
}

/// Adds the values that the client of a reply knows from then on.
pub(super) fn learn(reply: &Fields, learned: &mut Learned) {
    let bytes = |text: &String| octets(text, &Learned::new());
    if let Some(address) = reply.get("yiaddr").map(bytes)
        && address != [0; 4]
    {
        learned.insert("address", address);
    }
    if let Some(server) = reply.get("option 54").map(bytes) {
        learned.insert("server", server);
    }
}

/// Returns the name of a message type.
pub(super) fn type_name(kind: Option<u64>) -> String {
    let names = ["DISCOVER", "OFFER", "REQUEST", "DECLINE", "ACK", "NAK", "RELEASE", "INFORM"];
    let name = kind.and_then(|kind| names.get((kind as usize).checked_sub(1)?));
    match (name, kind) {
        (Some(name), _) => (*name).to_owned(),
        (None, Some(kind)) => format!("type {kind}"),
        (None, None) => "BOOTP".to_owned(),
    }
}

/// Returns the name of the type of a reply.
pub(super) fn name(fields: &Fields) -> String {
    let kind = fields.get("option 53");
    type_name(kind.and_then(|kind| u64::from_str_radix(kind, 16).ok()))
}

/// Returns the name of a message with its kind of request (RFC 2131 §4.3.2, §4.3.6), or with a note
/// if its client `was_offered` an address before.
fn sent_name(message: &[u8], was_offered: bool) -> String {
    let fields = fields(message);
    let octets = |name: &str| fields.get(name).filter(|text| text.contains(|c| c != '0'));
    // The message may have it twice.
    let kind = octets("option 53").and_then(|text| text.get(..2));
    let kind = kind.and_then(|text| u64::from_str_radix(text, 16).ok());
    let name = type_name(kind);
    let has = |name: &str| octets(name).is_some();
    let state = match (has("ciaddr"), has("option 54"), has("option 50")) {
        _ if kind == Some(1) && was_offered => return format!("{name} again"),
        _ if kind != Some(3) => return name,
        (true, _, _) => "renewing",
        (_, true, true) => "selecting",
        (_, false, true) => "rebooting",
        (_, _, false) => "naming no address",
    };
    format!("{name} {state}")
}

/// Returns the client and the address in a message. `was_offered` is true if the client got an
/// offer before.
pub(super) fn client_message(message: &[u8], was_offered: bool) -> ClientMessage {
    let fields = fields(message);
    let named = ["ciaddr", "option 50"].map(|name| fields.get(name));
    let is_some = |text: &&String| text.contains(|digit| digit != '0');
    let identities = ["chaddr", "option 61"].map(|name| fields.get(name));
    ClientMessage {
        name: sent_name(message, was_offered),
        identities: identities.into_iter().flatten().cloned().collect(),
        host_identifiers: Vec::new(),
        address: named
            .into_iter()
            .flatten()
            .find(is_some)
            .and_then(|text| text.get(..8))
            .map(str::to_owned),
        is_release: fields.get("option 53").is_some_and(|kind| kind.starts_with("07")),
        has_odd_name: fields.get("option 81").is_some_and(|value| has_dot_in_label(value)),
    }
}

/// Returns true if a label of an option 81, in hexadecimal digits, contains a dot, or makes one of
/// the dot behind it by its backslash.
fn has_dot_in_label(value: &str) -> bool {
    let octets = octets(value, &Learned::new());
    let [flags, _, _, rest @ ..] = &*octets else { return false };
    let mut rest = rest;
    if flags & 4 == 0 {
        return rest.windows(2).any(|two| two == b"\\.");
    }
    while let [len, labels @ ..] = rest {
        let (label, after) = labels.split_at(labels.len().min(usize::from(*len)));
        if label.contains(&b'.') || label.ends_with(b"\\") {
            return true;
        }
        rest = after;
    }
    false
}
