//! Fields of a message, read by the test's own code, which accepts everything that a server may
//! send.
//!
//! The contents of all associations of a kind become one field each, in the order of their IAIDs:
//! the number of associations in a message does not change the name of a difference.

use std::net::Ipv6Addr;

use super::super::value::{Fields, hex};

/// Options with their codes, in the order of the codes.
type Options<'m> = Vec<(u16, &'m [u8])>;

const IA_NA: u16 = 3;
const IA_ADDRESS: u16 = 5;
const RELAY_MESSAGE: u16 = 9;
const STATUS_CODE: u16 = 13;
const IA_PD: u16 = 25;
const IA_PREFIX: u16 = 26;

/// Length of the fields that a relay agent puts before its options (RFC 9915 §9).
const RELAY_LEN: usize = 34;

/// Returns the transaction id of the message inside all relay levels.
pub(super) fn xid(message: &[u8]) -> Option<u32> {
    let mut message = message;
    while let Some((_, inner)) = level(message) {
        message = inner;
    }
    let octets = message.get(..4)?;
    octets.try_into().ok().map(|octets| u32::from_be_bytes(octets) & 0xff_ffff)
}

/// Returns the fields of a message; the unreadable rest of a malformed one is in `malformed`.
pub(super) fn fields(message: &[u8]) -> Fields {
    let mut fields = Fields::new();
    let mut message = message;
    let mut number = 0;
    while let Some((options, inner)) = level(message) {
        fields.insert(format!("relay {number} head"), hex(&message[..RELAY_LEN]));
        for (code, value) in options.iter().filter(|(code, _)| *code != RELAY_MESSAGE) {
            add(&mut fields, format!("relay {number} option {code}"), &hex(value));
        }
        message = inner;
        number += 1;
    }
    let options = message.get(4..).and_then(options);
    let (Some(kind), Some(options)) = (message.first(), options) else {
        fields.insert("malformed".to_owned(), hex(message));
        return fields;
    };
    fields.insert("type".to_owned(), kind.to_string());
    for &(code, value) in &options {
        match code {
            IA_NA | IA_PD => {}
            STATUS_CODE => add(&mut fields, "status".to_owned(), &status(value)),
            _ => add(&mut fields, format!("option {code}"), &hex(value)),
        }
    }
    for (code, kind, resources) in [(IA_NA, "na", "addresses"), (IA_PD, "pd", "prefixes")] {
        let values = options.iter().filter(|(found, _)| *found == code);
        let mut associations: Vec<AssociationFields> = values
            .map(|(_, value)| {
                AssociationFields::read(value)
                    .unwrap_or_else(|| AssociationFields { rest: hex(value), ..Default::default() })
            })
            .collect();
        if !associations.is_empty() {
            associations.sort();
            put_associations(&mut fields, kind, resources, &associations);
        }
    }
    fields
}

/// Adds the fields of the associations of one kind.
fn put_associations(
    fields: &mut Fields,
    kind: &str,
    resources: &str,
    associations: &[AssociationFields],
) {
    let all = |text: &dyn Fn(&AssociationFields) -> String| {
        let texts: Vec<String> = associations.iter().map(text).collect();
        texts.join(", ")
    };
    let listed = |text: &dyn Fn(&AssociationItem) -> String| {
        all(&|one| {
            let texts: Vec<String> = one.items.iter().map(text).collect();
            if texts.is_empty() { "-".to_owned() } else { texts.join(" ") }
        })
    };
    let named = [
        ("iaids", all(&|one| format!("{:x}", one.iaid))),
        ("t1", all(&|one| format!("{:x}", one.t1_s))),
        ("t2", all(&|one| format!("{:x}", one.t2_s))),
        ("status", all(&|one| one.status.clone().unwrap_or_else(|| "-".to_owned()))),
        (resources, listed(&|item| item.resource.clone())),
        ("lifetimes", listed(&|item| format!("{:x}/{:x}", item.preferred_s, item.valid_s))),
        ("options", listed(&|item| item.rest.clone())),
        ("rest", all(&|one| one.rest.clone())),
    ];
    for (name, text) in named {
        // Timers of 0 count as missing.
        let nothing = if ["t1", "t2"].contains(&name) { "0, " } else { "-, " };
        if text.contains(|c: char| !nothing.contains(c)) {
            fields.insert(format!("{kind} {name}"), text);
        }
    }
}

/// Adds a value to the field `name`, which may exist already.
fn add(fields: &mut Fields, name: String, value: &str) {
    let field = fields.entry(name).or_default();
    if !field.is_empty() {
        field.push_str(", ");
    }
    field.push_str(value);
}

/// Returns the options of the outermost relay level and the message in it; `None` for a message
/// without levels.
fn level(message: &[u8]) -> Option<(Options<'_>, &[u8])> {
    if !matches!(message.first(), Some(12 | 13)) {
        return None;
    }
    let options = options(message.get(RELAY_LEN..)?)?;
    let (_, inner) = options.iter().find(|(code, _)| *code == RELAY_MESSAGE)?;
    Some((options.clone(), inner))
}

/// Returns the options in `octets`; `None` if one is cut off.
fn options(mut octets: &[u8]) -> Option<Options<'_>> {
    let mut options = Vec::new();
    while !octets.is_empty() {
        let (head, rest) = octets.split_at_checked(4)?;
        let [code, len] = [&head[..2], &head[2..]].map(|two| u16::from_be_bytes([two[0], two[1]]));
        let (value, rest) = rest.split_at_checked(usize::from(len))?;
        options.push((code, value));
        octets = rest;
    }
    options.sort_by_key(|(code, _)| *code);
    Some(options)
}

/// Returns the code of a status without its text, which is for people.
fn status(value: &[u8]) -> String {
    value.get(..2).map_or_else(|| "cut".to_owned(), |code| number(code).to_string())
}

fn number(octets: &[u8]) -> u32 {
    octets.iter().fold(0, |number, octet| number << 8 | u32::from(*octet))
}

/// Identity association.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AssociationFields {
    pub(super) iaid: u32,
    t1_s: u32,
    t2_s: u32,
    status: Option<String>,
    pub(super) items: Vec<AssociationItem>,
    /// Other options of the association.
    rest: String,
}

/// Address or prefix in an association.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AssociationItem {
    /// Address, or prefix with its length, as text.
    resource: String,
    pub(super) preferred_s: u32,
    pub(super) valid_s: u32,
    /// Bytes of the address, with the prefix length before them for a prefix.
    pub(super) octets: Vec<u8>,
    /// Options of the address or prefix.
    rest: String,
}

impl AssociationFields {
    fn read(value: &[u8]) -> Option<Self> {
        let (head, inner) = value.split_at_checked(12)?;
        let [iaid, t1_s, t2_s] = [0, 4, 8].map(|at| number(&head[at..at + 4]));
        let mut association = Self { iaid, t1_s, t2_s, ..Self::default() };
        for (code, value) in options(inner)? {
            match code {
                IA_ADDRESS => association.items.push(AssociationItem::read(value, 0)?),
                IA_PREFIX => association.items.push(AssociationItem::read(value, 1)?),
                STATUS_CODE => association.status = Some(status(value)),
                _ => association.rest += &format!("option {code}: {} ", hex(value)),
            }
        }
        association.items.sort();
        Some(association)
    }
}

impl AssociationItem {
    /// Reads an address, or a prefix after a length of `length_len` bytes.
    fn read(value: &[u8], length_len: usize) -> Option<Self> {
        let (lifetimes, value) = if length_len == 0 {
            let (address, rest) = value.split_at_checked(16)?;
            let (lifetimes, rest) = rest.split_at_checked(8)?;
            (lifetimes, (address, &[][..], rest))
        } else {
            let (lifetimes, rest) = value.split_at_checked(8)?;
            let (length, rest) = rest.split_at_checked(length_len)?;
            let (address, rest) = rest.split_at_checked(16)?;
            (lifetimes, (address, length, rest))
        };
        let (address, length, rest) = value;
        let octets: [u8; 16] = address.try_into().ok()?;
        let mut resource = Ipv6Addr::from(octets).to_string();
        if let Some(length) = length.first() {
            resource += &format!("/{length}");
        }
        let mut text = String::new();
        for (code, value) in options(rest)? {
            text += &format!("option {code}: {} ", hex(value));
        }
        Some(Self {
            resource,
            preferred_s: number(&lifetimes[..4]),
            valid_s: number(&lifetimes[4..]),
            octets: [length, address].concat(),
            rest: text.trim_end().to_owned(),
        })
    }
}

/// Returns the associations of a message by the code of their option.
pub(super) fn associations(message: &[u8], kind: &str) -> Vec<AssociationFields> {
    let wanted = if kind == "na" { IA_NA } else { IA_PD };
    let mut message = message;
    while let Some((_, inner)) = level(message) {
        message = inner;
    }
    let options = message.get(4..).and_then(options).unwrap_or_default();
    let values = options.into_iter().filter(|(code, _)| *code == wanted);
    values.filter_map(|(_, value)| AssociationFields::read(value)).collect()
}
