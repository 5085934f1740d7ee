//! Replacement of characters in the names that clients send, by `hostname-char-set` and
//! `hostname-char-replacement` (Kea reference §5.9), byte by byte.

use core::ops::Range;

use base::host_name::HOST_NAME_MAX;
use dhcp_config::CharacterSet;
use dhcp_wire::name::read_text;

/// Characters that a scope replaces in its clients' names, and their replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameCharacters {
    set: CharacterSet,
    replacement: Box<[ReplacementPart]>,
}

/// Part of the text `hostname-char-replacement`, which replaces a match in a client's name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ReplacementPart {
    Text(Box<[u8]>),
    /// Matched text itself (`$&`, `$0`).
    Match,
    /// Text of the name before the match.
    Before,
    /// Text of the name after the match.
    After,
}

impl NameCharacters {
    /// Compiles `hostname-char-set` with the configured `hostname-char-replacement`, in which Kea's
    /// library takes `$&` or `$0` for the match, `` $` `` and `$'` for the text before and after
    /// it, and `$$` for a dollar sign. Kea's library does not store groups: `$1` is replaced by an
    /// empty text.
    #[must_use]
    pub fn new(set: CharacterSet, replacement: &str) -> Self {
        Self { set, replacement: pieces(replacement.as_bytes()) }
    }

    /// Replaces characters in each of the labels of `raw`, each of which ends in a dot. Writes the
    /// name as text to `name`: with `\X` and `\DDD` for characters that are not plain, without the
    /// final dot when `is_partial`. Returns false when the result is empty or no name.
    pub(crate) fn clean_labels(&self, raw: &[u8], is_partial: bool, name: &mut String) -> bool {
        name.clear();
        let mut cleaned = NameOctets::new();
        if self.set.is_empty() {
            raw.iter().for_each(|&octet| push_escaped(octet, &mut cleaned));
        } else {
            for (at, label) in raw.split(|&octet| octet == b'.').enumerate() {
                if at > 0 {
                    cleaned.push(b".");
                }
                self.replace(label, &mut cleaned);
            }
        }
        let Some(mut octets) = cleaned.get() else { return false };
        if !self.set.is_empty() {
            if octets == b"." {
                return false;
            }
            // Kea strips blanks from the beginning of a name, too.
            let is_blank = |octet: &u8| matches!(octet, b' ' | b'\t' | b'\n');
            let first = octets.iter().position(|octet| !is_blank(octet));
            octets = octets.get(first.unwrap_or(octets.len())..).unwrap_or_default();
        }
        if is_partial {
            octets = octets.strip_suffix(b".").unwrap_or(octets);
        }
        let ends_in_dot = octets.ends_with(b".");
        let mut text = NameOctets::new();
        if !read_text(octets.iter().copied(), |octet| push_escaped(octet, &mut text)) {
            return false;
        }
        // A dot that was escaped is an ordinary dot now.
        let Some(octets) = text.get() else { return false };
        if !read_text(octets.iter().copied(), |_| ()) {
            return false;
        }
        // As in Kea, a label that ended in a dot leaves a name that needs no suffix.
        let octets = if is_partial && !ends_in_dot {
            octets.strip_suffix(b".").unwrap_or(octets)
        } else {
            octets
        };
        push_text(octets, name);
        true
    }

    /// Replaces characters in the client's host name `raw` and writes it to `name`, in lower case.
    /// Returns false when the result is empty or longer than a name may be.
    pub(crate) fn clean_host_name(&self, raw: &[u8], name: &mut String) -> bool {
        name.clear();
        let mut cleaned = NameOctets::new();
        self.replace(raw, &mut cleaned);
        let Some(octets) = cleaned.get() else { return false };
        push_text(octets, name);
        name.make_ascii_lowercase();
        !name.is_empty()
    }

    /// Appends `text` to `target`, with the replacement for each match of the character set, empty
    /// matches included.
    fn replace(&self, text: &[u8], target: &mut NameOctets) {
        let (mut from, mut copied) = (0, 0);
        while let Some(matched) = self.set.find(text, from) {
            target.push(text.get(copied..matched.start).unwrap_or_default());
            self.put_replacement(text, &matched, target);
            copied = matched.end;
            from = if matched.is_empty() { matched.end + 1 } else { matched.end };
        }
        target.push(text.get(copied..).unwrap_or_default());
    }

    fn put_replacement(&self, text: &[u8], matched: &Range<usize>, target: &mut NameOctets) {
        for piece in &self.replacement {
            target.push(match piece {
                ReplacementPart::Text(octets) => octets,
                ReplacementPart::Match => text.get(matched.clone()).unwrap_or_default(),
                ReplacementPart::Before => text.get(..matched.start).unwrap_or_default(),
                ReplacementPart::After => text.get(matched.end..).unwrap_or_default(),
            });
        }
    }
}

/// Splits the text of a configured replacement into its parts.
fn pieces(replacement: &[u8]) -> Box<[ReplacementPart]> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut rest = replacement;
    while let Some((&octet, behind)) = rest.split_first() {
        rest = behind;
        let next = if octet == b'$' { rest.first().copied() } else { None };
        let piece = match next {
            Some(b'&') => ReplacementPart::Match,
            Some(b'`') => ReplacementPart::Before,
            Some(b'\'') => ReplacementPart::After,
            Some(b'$') => ReplacementPart::Text(b"$".as_slice().into()),
            Some(digit @ b'0'..=b'9') => {
                // A second digit belongs to the group number.
                let second = rest.get(1).copied().filter(u8::is_ascii_digit);
                rest = rest.get(usize::from(second.is_some())..).unwrap_or_default();
                let is_match = digit == b'0' && second.is_none_or(|second| second == b'0');
                if is_match {
                    ReplacementPart::Match
                } else {
                    ReplacementPart::Text(Box::default())
                }
            }
            _ => {
                text.push(octet);
                continue;
            }
        };
        rest = rest.get(1..).unwrap_or_default();
        if !text.is_empty() {
            pieces.push(ReplacementPart::Text(core::mem::take(&mut text).into()));
        }
        pieces.push(piece);
    }
    if !text.is_empty() {
        pieces.push(ReplacementPart::Text(text.into()));
    }
    pieces.into()
}

/// Appends a byte of a name label to the text of the name, escaped where needed (RFC 1035 §5.1).
/// Dots separate labels.
fn push_escaped(octet: u8, text: &mut NameOctets) {
    let (escaped, len) = escaped(octet);
    text.push(&escaped[..len]);
}

/// Returns the escaped text of a byte of a name label, and the length of that text. A dot ends a
/// label.
pub(crate) fn escaped(octet: u8) -> ([u8; 4], usize) {
    match octet {
        b'"' | b'(' | b')' | b';' | b'\\' | b'@' | b'$' => ([b'\\', octet, 0, 0], 2),
        b'!'..=b'~' => ([octet, 0, 0, 0], 1),
        _ => {
            let [hundreds, tens, ones] = [octet / 100, octet / 10 % 10, octet % 10];
            ([b'\\', b'0' + hundreds, b'0' + tens, b'0' + ones], 4)
        }
    }
}

/// Appends to `name` the characters of `octets` that leases can store: zeros and bytes that are not
/// UTF-8 are left out.
pub(crate) fn push_text(octets: &[u8], name: &mut String) {
    for chunk in octets.utf8_chunks() {
        name.extend(chunk.valid().chars().filter(|&letter| letter != '\0'));
    }
}

/// Bytes of a client's name, at most as many as a name may have.
pub(crate) struct NameOctets {
    octets: [u8; HOST_NAME_MAX],
    len: usize,
    is_too_long: bool,
}

impl NameOctets {
    pub(crate) const fn new() -> Self {
        Self { octets: [0; HOST_NAME_MAX], len: 0, is_too_long: false }
    }

    /// Appends `octets` to the name. If they do not fit, none of them is appended.
    pub(crate) fn push(&mut self, octets: &[u8]) {
        match self.octets.get_mut(self.len..self.len + octets.len()) {
            Some(target) => {
                target.copy_from_slice(octets);
                self.len += octets.len();
            }
            None => self.is_too_long = true,
        }
    }

    /// Returns the bytes of the name; `None` if some did not fit.
    pub(crate) fn get(&self) -> Option<&[u8]> {
        if self.is_too_long {
            return None;
        }
        self.octets.get(..self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn characters(set: &str, replacement: &str) -> NameCharacters {
        NameCharacters::new(CharacterSet::new(set).expect("an expression"), replacement)
    }

    fn host_name(set: &str, replacement: &str, raw: &[u8]) -> Option<String> {
        let mut name = "before".to_owned();
        characters(set, replacement).clean_host_name(raw, &mut name).then_some(name)
    }

    fn labels(set: &str, replacement: &str, raw: &[u8], is_partial: bool) -> Option<String> {
        let mut name = "before".to_owned();
        characters(set, replacement).clean_labels(raw, is_partial, &mut name).then_some(name)
    }

    const KEA: &str = "[^A-Za-z0-9.-]";

    #[test]
    fn characters_of_host_names_are_replaced() {
        for (set, replacement, raw, expected) in [
            (KEA, "", &b"My_Host!"[..], Some("myhost")),
            (KEA, "x", b"My_Host!", Some("myxhostx")),
            (KEA, "x", "é".as_bytes(), Some("xx")),
            (KEA, "", b"__", None),
            ("[A-Z]", "", b"AbC", Some("b")),
            ("_+", "-", b"a___b_c", Some("a-b-c")),
            ("^_|_$", "", b"_a_b_", Some("a_b")),
            ("x*", "-", b"axb", Some("-a--b-")),
            ("", "x", b"A_b", Some("a_b")),
            ("[^a-z]", "<$&$$$0$1$9>", b"a_", Some("a<_$_>")),
            ("_", "$`$'", b"a_b", Some("aabb")),
            ("_", "$", b"a_b", Some("a$b")),
            ("_", "$x$", b"a_b", Some("a$x$b")),
            ("q", "", "é\0\u{ff}".as_bytes(), Some("é\u{ff}")),
            ("q", "", b"a\xff\xc3b", Some("ab")),
        ] {
            let name = host_name(set, replacement, raw);
            assert_eq!(name.as_deref(), expected, "{set} {replacement} {raw:?}");
        }
        assert_eq!(host_name("a", "ab", &[b'a'; 127]).map(|name| name.len()), Some(254));
        assert_eq!(host_name("a", "ab", &[b'a'; 128]), None);
        assert_eq!(host_name("a", &"b".repeat(4096), &[b'a'; 255]), None);
    }

    #[test]
    fn characters_of_labels_are_replaced_label_by_label() {
        for (set, replacement, raw, is_partial, expected) in [
            (KEA, "", &b"my_host.example."[..], false, Some("myhost.example.")),
            (KEA, "x", b"my_host.ex!.", false, Some("myxhost.exx.")),
            (KEA, "x", b"my_host.", true, Some("myxhost")),
            ("^.", "", b"foo.bar.", false, Some("oo.ar.")),
            ("[.]", "x", b"a.b.", false, Some("a.b.")),
            ("o", ".", b"foo.", true, None),
            ("f", "a.b", b"foo.", true, Some("a.boo")),
            (KEA, "", b"_.", false, None),
            (KEA, "", b"a._.b.", false, None),
            (KEA, "", b"_.b.", false, None),
            (KEA, "", b".", false, None),
            ("q", "", b"a b.c@d.\xe9.", false, Some(r"a\032b.c\@d.\233.")),
            ("q", "", b" \ta b.", false, Some(r"a\032b.")),
            ("q", "", b"  ", true, None),
            ("", "", b" a.", false, Some(r"\032a.")),
            ("q", "", b"a.b..", true, Some("a.b.")),
            ("q", "", br"a\b.", false, Some("ab.")),
            ("q", "", br"a\1.", false, None),
            ("q", "", br"a.\..b.", false, None),
            ("", "x", br"a\b_c.", false, Some(r"a\\b_c.")),
            ("", "x", b".", false, Some(".")),
        ] {
            let name = labels(set, replacement, raw, is_partial);
            assert_eq!(name.as_deref(), expected, "{set} {replacement} {raw:?}");
        }
        let raw = [&[b'a'; 63][..], b"."].concat();
        assert!(labels("b", "", &raw, false).is_some());
        assert_eq!(labels("^", "b", &raw, false), None, "a label of 64 octets");
        assert_eq!(
            labels("", "", &[&[b' '; 63][..], b"."].concat(), true).map(|n| n.len()),
            Some(252)
        );
        assert_eq!(
            labels("", "", &[&[b' '; 63][..], b".b."].concat(), false).map(|n| n.len()),
            Some(255)
        );
    }
}
