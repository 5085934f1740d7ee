//! Octets as the JSON of a sequence has them: hexadecimal text, or the name of what a client learned.

use std::collections::BTreeMap;

/// What a client has learned from replies, by name.
pub(super) type Learned = BTreeMap<&'static str, Vec<u8>>;

/// Returns the octets that `text` stands for: hexadecimal digits with names of what was learned
/// among them, as `3d07$mac`. A name that nothing was learned for leaves nothing.
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

/// Returns hexadecimal digits of `octets`.
pub(super) fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
