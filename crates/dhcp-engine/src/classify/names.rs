//! Names of client classes that are made from data of clients: `SPAWN_<template>_<value>` and
//! `VENDOR_CLASS_<text>`. Only names that the configuration refers to exist. A table finds them by
//! the client's bytes, so that classification builds no text.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::ClassIndex;
use super::texts::digits;

/// Prefix of the names of the classes that clients of a vendor are in (`VENDOR_CLASS_<text>`).
pub(super) const VENDOR_CLASS: &str = "VENDOR_CLASS_";

/// Returns the prefix of the names of the classes that the template class `template` spawns.
pub(super) fn spawned_by(template: &str) -> String {
    format!("SPAWN_{template}_")
}

/// Class indexes, by the bytes that follow a common prefix in the names of the classes.
#[derive(Debug, Default)]
pub(super) struct ClassesByOctets {
    by_octets: HashMap<Box<[u8]>, ClassIndex, FixedState>,
}

impl ClassesByOctets {
    /// Returns the table of the classes in `names` that begin with the prefix `beginning`.
    pub(super) fn new<'n>(
        beginning: &str,
        names: impl Iterator<Item = (&'n str, ClassIndex)>,
    ) -> Self {
        let mut by_octets = HashMap::default();
        for (name, class) in names {
            let Some(rest) = name.strip_prefix(beginning) else { continue };
            // Kea before 3.3 makes names of clients' bytes without escapes.
            by_octets.entry(rest.as_bytes().into()).or_insert(class);
            if let Some(octets) = unescaped(rest.as_bytes()) {
                by_octets.insert(octets.into(), class);
            }
        }
        Self { by_octets }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_octets.is_empty()
    }

    /// Returns the class whose name the client's bytes `octets` make.
    pub(super) fn find(&self, octets: &[u8]) -> Option<ClassIndex> {
        self.by_octets.get(octets).copied()
    }
}

/// Returns the bytes that Kea writes as the class name `name`: `%%` for a percent sign, `%` and two
/// digits for any byte that is neither a letter, a digit nor one of `!#$%&*+-./:?@^_|~`. `None`
/// when Kea would write them in another way.
fn unescaped(name: &[u8]) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    let mut rest = name;
    loop {
        rest = match rest {
            [] => return Some(octets),
            [b'%', b'%', rest @ ..] => {
                octets.push(b'%');
                rest
            }
            [b'%', high, low, rest @ ..] => {
                let digit = |digit: u8| char::from(digit).to_digit(16);
                let octet = (digit(*high)? << 4 | digit(*low)?) as u8;
                if octet == b'%' || is_plain(octet) || [*high, *low] != digits(octet) {
                    return None;
                }
                octets.push(octet);
                rest
            }
            [octet, rest @ ..] if is_plain(*octet) => {
                octets.push(*octet);
                rest
            }
            _ => return None,
        }
    }
}

fn is_plain(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"!#$&*+-./:?@^_|~".contains(&octet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_the_octets_that_make_them() {
        let names = ["SPAWN_t_", "SPAWN_t_a%20b", "SPAWN_t_50%%", "SPAWN_t_x y", "SPAWN_u_z", "t"];
        let indexed = names.iter().zip(0..).map(|(name, index)| (*name, ClassIndex(index)));
        let classes = ClassesByOctets::new(&spawned_by("t"), indexed);
        let class_of = |octets: &[u8]| classes.find(octets).map(|class| class.0);
        assert_eq!(class_of(b"a b"), Some(1));
        assert_eq!(class_of(b"50%"), Some(2));
        assert_eq!(class_of(b"x y"), Some(3));
        assert_eq!(class_of(b"z"), None);
        assert_eq!(unescaped(b"%f"), None);
        assert_eq!(unescaped(b"%ff"), Some(vec![255]));
        assert!([&b"%FF"[..], b"%41", b"%25", b"a b"].iter().all(|name| unescaped(name).is_none()));
    }
}
