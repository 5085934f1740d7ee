//! Messages of steps: their bytes, the values that a client learns from replies, and names of
//! messages.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;

use dhcp_wire::v6::{IaKind, MessageType, MessageWriter, RelayWriter, option};
use serde_json::Value;

use super::super::networks::AssociationCounts;
use super::super::value::{Fields, Learned, hex, octets};
use super::fields::{self, fields};

/// Longest message of a sequence.
const MESSAGE_LEN_MAX: usize = 4096;

/// Kinds of associations and their IAIDs, each with the name of its learned value.
const LEASED: [(&str, u32, &str); 4] =
    [("na", 1, "naa"), ("na", 2, "nab"), ("pd", 1, "pda"), ("pd", 2, "pdb")];

/// Fields with leased addresses and prefixes.
pub(super) const LEASED_FIELDS: [&str; 2] = ["na addresses", "pd prefixes"];

/// Fields with the lifetimes of [`LEASED_FIELDS`], in the same order.
const LIFETIME_FIELDS: [&str; 2] = ["na lifetimes", "pd lifetimes"];

/// Fields with status codes.
pub(super) const STATUSES: [&str; 3] = ["status", "na status", "pd status"];

/// Status codes of an association for which nothing is left: NoAddrsAvail and NoPrefixAvail (RFC
/// 9915 §21.13).
const NOTHING_LEFT: [&str; 2] = ["2", "6"];

/// Returns the bytes of the message of `step` under `xid` within the levels of `relay`, the one
/// nearest to the client first. A client sends its identifier unless the step has another option 1.
pub(super) fn message(step: &Value, relay: &Value, xid: u32, learned: &Learned) -> Vec<u8> {
    let mut inner = [0; MESSAGE_LEN_MAX];
    let kind = u8::try_from(number(&step["type"])).ok().and_then(MessageType::from_code);
    let mut writer = MessageWriter::new(&mut inner, kind.unwrap_or(MessageType::Solicit), xid);
    let own = options(&step["options"], learned);
    if !own.iter().any(|(code, _)| *code == option::CLIENTID)
        && let Some(duid) = learned.get("duid")
    {
        writer.option(option::CLIENTID, duid);
    }
    for (code, value) in own.iter().filter(|(_, value)| value != b"none") {
        writer.option(*code, value);
    }
    for (at, ia) in (0..).zip(step["ias"].as_array().into_iter().flatten()) {
        put_ia(&mut writer, at, ia, learned);
    }
    let len = writer.finish().expect("sequences have short messages");
    let mut message = inner[..len].to_vec();
    for (hop_count, level) in (0..).zip(relay.as_array().into_iter().flatten()) {
        let further = if hop_count == 0 { &step["relay-options"] } else { &Value::Null };
        message = relayed(hop_count, level, further, &message, learned);
    }
    message
}

/// Appends association number `at` with its addresses or prefixes, except those that the client
/// never learned.
fn put_ia(writer: &mut MessageWriter<'_>, at: u64, ia: &Value, learned: &Learned) {
    let kind = if ia["kind"] == "pd" { IaKind::Pd } else { IaKind::Na };
    let mark = writer.ia(kind, ia["iaid"].as_u64().unwrap_or(at + 1) as u32, 0, 0);
    for item in ia["items"].as_array().into_iter().flatten() {
        let named = octets(item["named"].as_str().unwrap_or_default(), learned);
        let [preferred_s, valid_s] =
            [&item["preferred"], &item["valid"]].map(|value| number(value) as u32);
        if let (IaKind::Pd, [len, prefix @ ..]) = (kind, &named[..])
            && let Ok(prefix) = <[u8; 16]>::try_from(prefix)
        {
            writer.ia_prefix(prefix.into(), *len, preferred_s, valid_s);
        } else if let Ok(address) = <[u8; 16]>::try_from(&named[..]) {
            writer.ia_address(address.into(), preferred_s, valid_s);
        }
    }
    writer.end(mark);
}

/// Returns `message` inside a relay level. The relay agent next to a client names it by its
/// link-local address.
fn relayed(
    hop_count: u8,
    level: &Value,
    further: &Value,
    message: &[u8],
    learned: &Learned,
) -> Vec<u8> {
    let address = |name: &str| level[name].as_str().and_then(|text| text.parse().ok());
    let link = address("link").unwrap_or(Ipv6Addr::UNSPECIFIED);
    let own = learned.get("mac").and_then(|mac| link_local(mac));
    let none = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);
    let peer = address("peer").or(own).unwrap_or(none);
    let mut buffer = vec![0; MESSAGE_LEN_MAX];
    let mut writer = RelayWriter::forward(&mut buffer).level(hop_count, link, peer);
    for (code, value) in
        options(&level["options"], learned).iter().chain(&options(further, learned))
    {
        writer = writer.option(*code, value);
    }
    let len = writer.carry(message).expect("sequences have short messages");
    buffer.truncate(len);
    buffer
}

/// Returns the link-local address for a link-layer address (RFC 4291 appendix A).
pub(super) fn link_local(mac: &[u8]) -> Option<Ipv6Addr> {
    let &[a, b, c, d, e, f] = mac else { return None };
    let begin = u128::from(0xfe80_u16) << 112;
    let id = [a ^ 2, b, c, 0xff, 0xfe, d, e, f];
    Some(Ipv6Addr::from(begin | u128::from(u64::from_be_bytes(id))))
}

/// Returns the options of a list of codes and values.
fn options(list: &Value, learned: &Learned) -> Vec<(u16, Vec<u8>)> {
    let read = |option: &Value| {
        let code = u16::try_from(option[0].as_u64()?).ok()?;
        let text = option[1].as_str()?;
        let value = if text == "none" { b"none".to_vec() } else { octets(text, learned) };
        Some((code, value))
    };
    list.as_array().into_iter().flatten().filter_map(read).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Adds the values that the client of a reply knows from then on: the server, and the lease of each
/// association.
pub(super) fn learn(reply: &[u8], learned: &mut Learned) {
    let fields = fields(reply);
    if let Some(server) = fields.get("option 2") {
        learned.insert("server", octets(server, &Learned::new()));
    }
    for (kind, iaid, name) in LEASED {
        let associations = fields::associations(reply, kind);
        let items = associations.iter().filter(|one| one.iaid == iaid).flat_map(|one| &one.items);
        if let Some(item) = items.clone().find(|item| item.valid_s > 0) {
            learned.insert(name, item.octets.clone());
            if type_name(&fields) == MessageType::Reply.name() {
                learned.insert("leased", Vec::new());
            }
        }
    }
}

/// Returns the numbers in a sequence of the subnets of the leases in a reply.
pub(super) fn given_numbers(reply: &Fields) -> impl Iterator<Item = u16> {
    let texts = LEASED_FIELDS.iter().filter_map(|name| reply.get(*name));
    let resources = texts.flat_map(|text| text.split([',', ' ']));
    let addresses = resources.filter_map(|text| text.split('/').next()?.parse::<Ipv6Addr>().ok());
    // Pools of prefixes begin at 8000 and 9000 and reservations at 8000 and c000, each plus 100 for
    // the second subnet.
    addresses.map(|address| match address.segments()[3] {
        number if number < 0x8000 => number,
        number => number >> 8 & 0xf,
    })
}

/// Returns the numbers of the associations in a reply.
pub(super) fn association_counts(reply: &Fields) -> AssociationCounts {
    let parts = |name: &'static str| reply.get(name).into_iter().flat_map(|text| text.split(", "));
    let gives = |lifetimes: &&str| lifetimes.split(' ').any(|one| !["-", "0/0"].contains(&one));
    let served = LIFETIME_FIELDS.into_iter().flat_map(parts).filter(gives).count();
    let statuses = ["na status", "pd status"].into_iter().flat_map(parts);
    let unserved = statuses.filter(|status| NOTHING_LEFT.contains(status)).count();
    AssociationCounts { served, unserved }
}

/// Returns the name of a message's type (RFC 9915 §7.3).
pub(super) fn type_name(fields: &Fields) -> String {
    let Some(kind) = fields.get("type") else { return "unreadable".to_owned() };
    let known = kind.parse().ok().and_then(MessageType::from_code);
    known.map_or_else(|| format!("type {kind}"), |kind| kind.name().to_owned())
}

/// Returns the name of a message's type with the status codes in it, and with a note if it gives
/// one address or prefix twice, or withdraws from one association what it gives to another.
pub(super) fn gist(fields: &Fields) -> String {
    let parts = |name: &str| -> Vec<String> {
        let text = fields.get(name).map_or("", String::as_str);
        let parts = text.split([',', ' ']).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let codes: BTreeSet<String> = STATUSES.iter().flat_map(|name| parts(name)).collect();
    let codes: Vec<String> = codes.into_iter().collect();
    let mut gist = type_name(fields);
    if !codes.is_empty() {
        gist += &format!(" of status {}", codes.join(", "));
    }
    let mut given: Vec<String> = Vec::new();
    let mut withdrawn: Vec<String> = Vec::new();
    for (leased, lifetimes) in LEASED_FIELDS.iter().zip(LIFETIME_FIELDS) {
        for (resource, lifetimes) in parts(leased).into_iter().zip(parts(lifetimes)) {
            if resource != "-" {
                let list = if lifetimes == "0/0" { &mut withdrawn } else { &mut given };
                list.push(resource);
            }
        }
    }
    let distinct: BTreeSet<&String> = given.iter().collect();
    if distinct.len() < given.len() {
        gist += " with one twice";
    }
    if withdrawn.iter().any(|resource| given.contains(resource)) {
        gist += " with one withdrawn and given";
    }
    gist
}

/// Returns the name of a client's message with the kinds of its associations, and with notes: if
/// there are several, if the client requests its lease at once, if it got something before (a
/// REQUEST: had a lease), and what its associations contain.
pub(super) fn sent_name(message: &[u8], learned: &Learned) -> String {
    let fields = fields(message);
    let mut words = vec![type_name(&fields)];
    let mut add = |condition: bool, word: &str| {
        if condition {
            words.push(word.to_owned());
        }
    };
    let is_solicit = fields.get("type").is_some_and(|kind| kind == "1");
    let is_rapid = fields.contains_key(&format!("option {}", option::RAPID_COMMIT));
    let was_given = LEASED.iter().any(|(_, _, leased)| learned.contains_key(leased));
    add(is_solicit && is_rapid, "rapid");
    let is_request = fields.get("type").is_some_and(|kind| kind == "3");
    add(is_solicit && was_given || is_request && learned.contains_key("leased"), "again");
    for kind in ["na", "pd"] {
        add(fields.contains_key(&format!("{kind} iaids")), kind);
    }
    let count: usize =
        ["na", "pd"].iter().map(|kind| fields::associations(message, kind).len()).sum();
    add(count > 1, "several");
    let own = learned.get("server").map(|server| hex(server));
    let server = fields.get("option 2");
    add(server.is_some() && server != own.as_ref(), "to another server");
    let (names_nothing, names_others) = naming(message, learned);
    add(names_nothing, "naming nothing");
    add(names_others, "naming others");
    words.join(" ")
}

/// Returns two flags: true if an association of a message does not contain the client's lease, and
/// true if one contains something else.
fn naming(message: &[u8], learned: &Learned) -> (bool, bool) {
    let mut found = (false, false);
    for (kind, iaid, name) in LEASED {
        let given = learned.get(name);
        let associations = fields::associations(message, kind);
        for association in associations.iter().filter(|one| one.iaid == iaid) {
            let mut named = association.items.iter().map(|item| &item.octets);
            found.0 |= given.is_some_and(|given| named.clone().all(|octets| octets != given));
            found.1 |= named.any(|octets| Some(octets) != given);
        }
    }
    found
}
