//! Bytes in the JSON of a sequence, and fields of messages as comparable text.

use std::collections::BTreeMap;

/// Values that a client has learned from replies, by name.
pub(super) type Learned = BTreeMap<&'static str, Vec<u8>>;

/// Fields of a message or lease by name, as comparable text.
pub(super) type Fields = BTreeMap<String, String>;

/// Returns the bytes of `text`: hexadecimal digits with names of learned values among them, as
/// `3d07$mac`. A name without a learned value adds nothing.
pub(super) fn octets(text: &str, learned: &Learned) -> Vec<u8> {
    let mut octets = Vec::new();
    for (number, part) in text.split('$').enumerate() {
        let mut digits = part;
        if number > 0 {
            let len = part.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(part.len());
            let (name, rest) = part.split_at(len);
            octets.extend(learned.get(name).into_iter().flatten());
            digits = rest.strip_prefix('.').unwrap_or(rest);
        }
        let pairs = digits.as_bytes().chunks_exact(2);
        let pairs = pairs.map(|pair| std::str::from_utf8(pair).unwrap_or_default());
        octets.extend(pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap_or_default()));
    }
    octets
}

/// Returns the hexadecimal digits of `octets`.
pub(super) fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Returns the names of the fields for which `is_alike` returns false.
pub(super) fn differing(
    ours: &Fields,
    theirs: &Fields,
    is_alike: impl Fn(&str, Option<&String>, Option<&String>) -> bool,
) -> Vec<String> {
    let names = ours.keys().chain(theirs.keys());
    let is_different = |name: &&String| {
        let [ours, theirs] = [ours, theirs].map(|fields| fields.get(*name));
        ours != theirs && !is_alike(name, ours, theirs)
    };
    let mut differing: Vec<String> = names.filter(is_different).cloned().collect();
    differing.sort();
    differing.dedup();
    differing
}

/// Returns true if two texts have the same hexadecimal numbers within `slack_s`. Zero equals only
/// zero, because it ends a lease.
pub(super) fn are_close(ours: Option<&String>, theirs: Option<&String>, slack_s: u64) -> bool {
    let numbers = |text: Option<&String>| -> Option<Vec<u64>> {
        let parts = text?.split(|c: char| !c.is_ascii_hexdigit()).filter(|part| !part.is_empty());
        parts.map(|part| u64::from_str_radix(part, 16).ok()).collect()
    };
    let (Some(ours), Some(theirs)) = (numbers(ours), numbers(theirs)) else { return false };
    let is_close = |(ours, theirs): (&u64, &u64)| {
        ours == theirs || (ours.min(theirs) > &0 && ours.abs_diff(*theirs) <= slack_s)
    };
    ours.len() == theirs.len() && ours.iter().zip(&theirs).all(is_close)
}

/// Returns the values of both in the fields `names`.
pub(super) fn values(ours: &Fields, theirs: &Fields, names: &[String]) -> Vec<String> {
    let shown = |fields: &Fields, name: &String| fields.get(name).map_or("none", |v| v).to_owned();
    let value = |name| format!("{name}: {}, Kea {}", shown(ours, name), shown(theirs, name));
    names.iter().map(value).collect()
}
