//! Domain names: inside of DNS messages, compressed or not (RFC 1035 section 4.1.4), and as text
//! (RFC 1035 section 5.1). Comparison is that of RFC 4343: letters of ASCII in any case.
//!
//! A pointer must point before the run of labels that it ends. So each jump goes further to the
//! front, and reading ends for any content of a message, at the latest after the 255 bytes of the
//! longest name.

use alloc::vec::Vec;
use core::fmt;

use crate::DnsMessageDefect;

/// Largest length of a domain name, in bytes, with the lengths of labels and the root's (RFC 1035
/// section 3.1).
pub const NAME_BYTES_MAX: usize = 255;
/// Largest length of a domain name's label, in bytes.
pub const LABEL_BYTES_MAX: usize = 63;

/// Result of one step of reading a domain name in a message.
enum NameStep {
    Label { from: usize, to: usize },
    Jump(usize),
    End,
}

fn step(message: &[u8], at: usize) -> Result<NameStep, DnsMessageDefect> {
    let &first = message.get(at).ok_or(DnsMessageDefect::Truncated)?;
    match first >> 6 {
        0 if first == 0 => Ok(NameStep::End),
        0 => {
            let (from, to) = (at + 1, at + 1 + usize::from(first));
            if to > message.len() {
                Err(DnsMessageDefect::Truncated)
            } else {
                Ok(NameStep::Label { from, to })
            }
        }
        3 => {
            let &second = message.get(at + 1).ok_or(DnsMessageDefect::Truncated)?;
            Ok(NameStep::Jump(usize::from(first & 0x3f) << 8 | usize::from(second)))
        }
        _ => Err(DnsMessageDefect::Label),
    }
}

/// Checks the domain name at `start` and returns its end in the message itself, which is after its
/// first pointer if it has one.
pub(crate) fn check(message: &[u8], start: usize) -> Result<usize, DnsMessageDefect> {
    let (mut at, mut run, mut end, mut len) = (start, start, None, 1);
    loop {
        match step(message, at)? {
            NameStep::Label { from, to } => {
                len += 1 + to - from;
                if len > NAME_BYTES_MAX {
                    return Err(DnsMessageDefect::NameTooLong);
                }
                at = to;
            }
            NameStep::Jump(target) => {
                end.get_or_insert(at + 2);
                if target >= run {
                    return Err(DnsMessageDefect::Pointer);
                }
                (at, run) = (target, target);
            }
            NameStep::End => return Ok(end.unwrap_or(at + 1)),
        }
    }
}

/// Checked domain name, read in place from its message.
#[derive(Clone, Copy)]
pub struct DnsName<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> DnsName<'a> {
    /// Reads the domain name at `at` of `message`. Returns the name and its end.
    ///
    /// # Errors
    ///
    /// Returns the name's defect.
    pub fn parse(message: &'a [u8], at: usize) -> Result<(Self, usize), DnsMessageDefect> {
        check(message, at).map(|end| (Self { message, at }, end))
    }

    /// Wraps the domain name at `at`, which [`check`] has found sound.
    pub(crate) const fn checked(message: &'a [u8], at: usize) -> Self {
        Self { message, at }
    }

    /// Returns the labels of the domain name, without the root's.
    pub const fn labels(self) -> Labels<'a> {
        Labels { message: self.message, at: self.at }
    }

    /// Returns true if the domain name is the root.
    pub fn is_root(self) -> bool {
        self.labels().next().is_none()
    }
}

/// Labels of a domain name from left to right.
#[derive(Clone, Debug)]
pub struct Labels<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Labels<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            match step(self.message, self.at).ok()? {
                NameStep::Label { from, to } => {
                    self.at = to;
                    return Some(&self.message[from..to]);
                }
                NameStep::Jump(target) => self.at = target,
                NameStep::End => return None,
            }
        }
    }
}

impl PartialEq for DnsName<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (mut mine, mut theirs) = (self.labels(), other.labels());
        loop {
            match (mine.next(), theirs.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if a.eq_ignore_ascii_case(b) => {}
                _ => return false,
            }
        }
    }
}

impl Eq for DnsName<'_> {}

impl fmt::Display for DnsName<'_> {
    /// Writes the domain name with the dot of the root, and bytes that are no printable ASCII as
    /// `\DDD`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for label in self.labels() {
            for &octet in label {
                match octet {
                    b'.' | b'\\' | b'"' | b'(' | b')' | b';' | b'@' | b'$' => {
                        write!(f, "\\{}", char::from(octet))?;
                    }
                    b'!'..=b'~' => write!(f, "{}", char::from(octet))?,
                    _ => write!(f, "\\{octet:03}")?,
                }
            }
            f.write_str(".")?;
        }
        Ok(())
    }
}

impl fmt::Debug for DnsName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

base::worded! {
    /// Reason why a text is no domain name.
    pub enum NameError {
        /// The text, or the part between two dots, is empty.
        Empty = "an empty label between two dots",
        /// A label of the name has more than 63 bytes.
        LabelTooLong = "a label of more than 63 bytes",
        /// The name has more than 255 bytes.
        TooLong = "a name of more than 255 bytes",
        /// A backslash is followed by neither three digits up to 255 nor another character.
        Escape = "a backslash needs three digits, 255 at most, or a character after it",
    }
}

impl core::error::Error for NameError {}

/// Appends the domain name that `text` writes (RFC 1035 section 5.1) to `octets`, uncompressed. The
/// last dot may be missing: every name begins at the root. On an error `octets` are unchanged.
///
/// # Errors
///
/// Returns the reason why the text is no name.
pub fn append_text(octets: &mut Vec<u8>, text: &[u8]) -> Result<(), NameError> {
    let start = octets.len();
    let done = append(octets, text, start);
    if done.is_err() {
        octets.truncate(start);
    }
    done
}

fn append(octets: &mut Vec<u8>, text: &[u8], start: usize) -> Result<(), NameError> {
    if text == b"." {
        octets.push(0);
        return Ok(());
    }
    let mut rest = text;
    let mut label = open(octets);
    while let [first, behind @ ..] = rest {
        rest = behind;
        match first {
            b'.' => {
                close(octets, label)?;
                label = open(octets);
            }
            b'\\' => {
                let (octet, behind) = escape(rest)?;
                octets.push(octet);
                rest = behind;
            }
            &octet => octets.push(octet),
        }
    }
    // The label after a last dot is the root's and stays empty.
    if octets.len() > label + 1 || label == start {
        close(octets, label)?;
        open(octets);
    }
    if octets.len() - start > NAME_BYTES_MAX { Err(NameError::TooLong) } else { Ok(()) }
}

/// Appends a byte for the length of a label of a domain name, and returns its position.
fn open(octets: &mut Vec<u8>) -> usize {
    octets.push(0);
    octets.len() - 1
}

fn close(octets: &mut [u8], label: usize) -> Result<(), NameError> {
    match octets.len() - label - 1 {
        0 => Err(NameError::Empty),
        len @ 1..=LABEL_BYTES_MAX => {
            octets[label] = len as u8;
            Ok(())
        }
        _ => Err(NameError::LabelTooLong),
    }
}

/// Returns the byte that the text after a backslash stands for, and the rest of the text.
fn escape(text: &[u8]) -> Result<(u8, &[u8]), NameError> {
    match text {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', rest @ ..] => {
            let digit = |octet: &u8| u16::from(octet - b'0');
            let number = 100 * digit(a) + 10 * digit(b) + digit(c);
            u8::try_from(number).map(|octet| (octet, rest)).map_err(|_| NameError::Escape)
        }
        [b'0'..=b'9', ..] | [] => Err(NameError::Escape),
        [octet, rest @ ..] => Ok((*octet, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec;
    use base::Random;

    fn wire(text: &str) -> Result<Vec<u8>, NameError> {
        let mut octets = vec![0xee];
        append_text(&mut octets, text.as_bytes()).map(|()| octets.split_off(1))
    }

    #[test]
    fn text_becomes_octets_as_the_rfc_has_them() {
        // F.ISI.ARPA of RFC 1035 section 4.1.4.
        assert_eq!(wire("F.ISI.ARPA").unwrap(), b"\x01F\x03ISI\x04ARPA\0");
        assert_eq!(wire("F.ISI.ARPA."), wire("F.ISI.ARPA"));
        assert_eq!(wire(".").unwrap(), [0]);
        assert_eq!(wire(r"a\.b\046\\.c\000").unwrap(), b"\x05a.b.\\\x02c\0\0");
        let label = "x".repeat(63);
        let longest = [&label[..], &label, &label, &label[..61]].join(".");
        assert_eq!(wire(&longest).unwrap().len(), NAME_BYTES_MAX);
        let too_long = [longest.as_str(), "y"].concat();
        for (text, error) in [
            ("", NameError::Empty),
            (".a", NameError::Empty),
            ("a..b", NameError::Empty),
            ("a..", NameError::Empty),
            ("..", NameError::Empty),
            (&"x".repeat(64), NameError::LabelTooLong),
            (&too_long, NameError::TooLong),
            (r"a\25", NameError::Escape),
            (r"a\256", NameError::Escape),
            ("a\\", NameError::Escape),
        ] {
            assert_eq!(wire(text), Err(error), "{text}");
        }
    }

    #[test]
    fn the_example_of_the_rfc_is_read() {
        // RFC 1035 section 4.1.4: F.ISI.ARPA at 20, FOO.F.ISI.ARPA at 40, ARPA at 64, the root at
        // 92.
        let mut message = vec![0; 93];
        message[20..32].copy_from_slice(b"\x01F\x03ISI\x04ARPA\0");
        message[40..46].copy_from_slice(b"\x03FOO\xc0\x14");
        message[64..66].copy_from_slice(b"\xc0\x1a");
        let read = |at| {
            let (name, end) = DnsName::parse(&message, at).unwrap();
            (name.to_string(), end)
        };
        assert_eq!(read(20), ("F.ISI.ARPA.".to_string(), 32));
        assert_eq!(read(40), ("FOO.F.ISI.ARPA.".to_string(), 46));
        assert_eq!(read(64), ("ARPA.".to_string(), 66));
        assert_eq!(read(92), (".".to_string(), 93));
        let lower = b"\x01f\x03isi\x04arpa\0";
        let (name, _) = DnsName::parse(lower, 0).unwrap();
        assert_eq!(name, DnsName::parse(&message, 20).unwrap().0);
        assert_ne!(name, DnsName::parse(&message, 40).unwrap().0);
        assert_ne!(name, DnsName::parse(&message, 64).unwrap().0);
    }

    #[test]
    fn pointers_to_themselves_forward_and_in_circles_are_refused() {
        let refused =
            |octets: &[u8], at| DnsName::parse(octets, at).map(|(_, end)| end).unwrap_err();
        assert_eq!(refused(b"\xc0\x00", 0), DnsMessageDefect::Pointer);
        assert_eq!(refused(b"\x01a\xc0\x00", 0), DnsMessageDefect::Pointer);
        assert_eq!(refused(b"\xc0\x02\0", 0), DnsMessageDefect::Pointer);
        assert_eq!(refused(b"\x01a\xc0\x04\x01b\xc0\x00", 4), DnsMessageDefect::Pointer);
        assert_eq!(refused(b"\xc0", 0), DnsMessageDefect::Truncated);
        assert_eq!(refused(b"\x02a", 0), DnsMessageDefect::Truncated);
        assert_eq!(refused(b"", 0), DnsMessageDefect::Truncated);
        assert_eq!(refused(b"\x40a\0", 0), DnsMessageDefect::Label);
        assert_eq!(refused(b"\x80a\0", 0), DnsMessageDefect::Label);
        let mut long = [1_u8; 258];
        long[256] = 0;
        assert_eq!(refused(&long, 0), DnsMessageDefect::NameTooLong);
        assert_eq!(DnsName::parse(&long[2..], 0).unwrap().1, 255);
    }

    #[test]
    fn any_octets_are_read_to_an_end_and_what_is_shown_is_read_back() {
        let mut random = Random::from_seed(1_035);
        for _ in 0..50_000 {
            let mut octets = [0; 64];
            random.fill(&mut octets);
            // Short labels and near pointers make names likely in random bytes.
            for octet in &mut octets {
                *octet = match random.below(8) {
                    0 => 0xc0,
                    1 => 0,
                    2..6 => random.below(6) as u8,
                    _ => *octet,
                };
            }
            let at = random.below(64) as usize;
            let Ok((name, end)) = DnsName::parse(&octets, at) else { continue };
            assert!(end <= octets.len() && end > at);
            let shown: String = name.to_string();
            let mut again = Vec::new();
            append_text(&mut again, shown.as_bytes()).unwrap();
            let (read, len) = DnsName::parse(&again, 0).unwrap();
            assert!(read == name && len == again.len(), "{shown}");
        }
    }
}
