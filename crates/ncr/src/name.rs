//! Domain names of name change requests.

use core::fmt;

/// Maximum length of a domain name on the wire in bytes, with length bytes and final zero (RFC 1035
/// §2.3.4).
const NAME_MAX: usize = 255;
/// Maximum length of a label of a domain name in bytes (RFC 1035 §2.3.4).
const LABEL_MAX: usize = 63;

/// Absolute domain name of a name change request: labels of any bytes. Names that differ in case
/// only are different values; compare [`UpdateName::canonical_wire`] where case must not count.
///
/// It is displayed as text with a final dot and with escapes (RFC 1035 §5.1): `a\032b.example.`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpdateName {
    /// Labels as on the wire, each after its length; the last one is the empty label of the root.
    wire: Box<[u8]>,
}

impl UpdateName {
    /// Reads a name from text, with or without a final dot, and with `\X` and `\DDD` for special
    /// characters. Returns `None` if the text is empty, or if a label or the name is too long.
    pub fn from_text(text: &str) -> Option<Self> {
        if matches!(text, "." | "@") {
            return Some(Self { wire: Box::new([0]) });
        }
        let mut wire = Vec::with_capacity(text.len() + 2);
        let mut label = Vec::new();
        let mut letters = text.bytes();
        while let Some(letter) = letters.next() {
            match letter {
                b'.' => push_label(&mut wire, &mut label)?,
                b'\\' => label.push(escaped(&mut letters)?),
                letter => label.push(letter),
            }
        }
        if !label.is_empty() {
            push_label(&mut wire, &mut label)?;
        }
        wire.push(0);
        (wire.len() > 1 && wire.len() <= NAME_MAX).then(|| Self { wire: wire.into() })
    }

    /// Returns the name as on the wire, in the case that it was written in.
    pub const fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// Returns the name as on the wire with its ASCII letters in lower case (RFC 4034 §6.2), as
    /// DHCIDs use it.
    pub fn canonical_wire(&self) -> Vec<u8> {
        // Lengths are at most 63, so they are no letters.
        self.wire.to_ascii_lowercase()
    }

    /// Returns the labels of the name from left to right, without that of the root.
    pub fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &*self.wire;
        core::iter::from_fn(move || {
            let (&len, after) = rest.split_first()?;
            let (label, after) = after.split_at_checked(usize::from(len))?;
            rest = after;
            (len > 0).then_some(label)
        })
    }
}

impl fmt::Display for UpdateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.wire.len() <= 1 {
            return f.write_str(".");
        }
        for label in self.labels() {
            match core::str::from_utf8(label) {
                Ok(text) if label.iter().copied().all(is_plain) => f.write_str(text)?,
                _ => label.iter().try_for_each(|&octet| write_escaped(f, octet))?,
            }
            f.write_str(".")?;
        }
        Ok(())
    }
}

/// Returns true if `octet` is a special character of names in text, which has a backslash there.
const fn is_special(octet: u8) -> bool {
    matches!(octet, b'"' | b'$' | b'(' | b')' | b'.' | b';' | b'@' | b'\\')
}

/// Returns true if `octet` stands for itself in the text of a name.
const fn is_plain(octet: u8) -> bool {
    matches!(octet, b'!'..=b'~') && !is_special(octet)
}

fn write_escaped(f: &mut fmt::Formatter<'_>, octet: u8) -> fmt::Result {
    if is_special(octet) {
        write!(f, "\\{}", char::from(octet))
    } else if is_plain(octet) {
        write!(f, "{}", char::from(octet))
    } else {
        write!(f, "\\{octet:03}")
    }
}

/// Appends `label` with its length to `wire`, and empties it. Returns `None` if it is empty or too
/// long.
fn push_label(wire: &mut Vec<u8>, label: &mut Vec<u8>) -> Option<()> {
    if label.is_empty() || label.len() > LABEL_MAX {
        return None;
    }
    wire.push(label.len() as u8);
    wire.append(label);
    Some(())
}

/// Returns the byte that `\X` or `\DDD` stands for, from the letters after the backslash.
fn escaped(letters: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let first = letters.next()?;
    if !first.is_ascii_digit() {
        return Some(first);
    }
    let mut value = u16::from(first - b'0');
    for _ in 0..2 {
        let digit = letters.next().filter(u8::is_ascii_digit)?;
        value = value * 10 + u16::from(digit - b'0');
    }
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for (text, expected) in [
            ("pc.example.com", Some("pc.example.com.")),
            ("Pc.example.com.", Some("Pc.example.com.")),
            ("one", Some("one.")),
            (".", Some(".")),
            (r"a b\032c.d\.e", Some(r"a\032b\032c.d\.e.")),
            ("\u{fc}ber", Some(r"\195\188ber.")),
            (r"\000\255", Some(r"\000\255.")),
            ("a$(\"@;)", Some(r#"a\$\(\"\@\;\)."#)),
            ("", None),
            ("..", None),
            ("a..b", None),
            (".a", None),
            (r"a\", None),
            (r"a\25", None),
            (r"a\256", None),
        ] {
            let name = UpdateName::from_text(text);
            assert_eq!(name.as_ref().map(ToString::to_string).as_deref(), expected, "{text}");
            // A written name is read as the same name.
            if let Some(name) = name {
                assert_eq!(UpdateName::from_text(&name.to_string()), Some(name));
            }
        }
    }

    #[test]
    fn labels_and_names_have_limits() {
        let label = |len: usize| "a".repeat(len);
        assert!(UpdateName::from_text(&label(63)).is_some());
        assert!(UpdateName::from_text(&label(64)).is_none());
        let name = |last: usize| format!("{0}.{0}.{0}.{1}", label(63), label(last));
        let longest = UpdateName::from_text(&name(61)).unwrap();
        assert_eq!(longest.wire().len(), NAME_MAX);
        assert!(UpdateName::from_text(&name(62)).is_none());
    }

    #[test]
    fn wire_form_has_labels_with_lengths() {
        let name = UpdateName::from_text("Pc.Example").unwrap();
        assert_eq!(name.wire(), b"\x02Pc\x07Example\x00");
        assert_eq!(name.canonical_wire(), b"\x02pc\x07example\x00");
        assert_eq!(name.labels().collect::<Vec<_>>(), [&b"Pc"[..], b"Example"]);
    }
}
