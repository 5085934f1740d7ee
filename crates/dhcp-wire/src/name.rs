//! Domain names in DHCP options: as labels (RFC 1035 §3.1) and as text (RFC 1035 §5.1). A name is
//! valid if Kea accepts it.

/// Maximum length of a domain name in bytes, with length bytes and final zero.
const NAME_MAX: usize = 255;
/// Maximum length of a label of a domain name in bytes.
const LABEL_MAX: usize = 63;
/// Both upper bits of the byte that begins a pointer to an earlier domain name (RFC 1035 §4.1.4).
const POINTER: u8 = 0xc0;

/// Calls `take` with the letters of a domain name made of labels, with a dot after each label. The
/// final zero may be missing; bytes after it are ignored. Returns false if the bytes are no name;
/// `take` was then called with the part before the fault. No bytes at all are an empty name.
pub fn read_labels(octets: impl IntoIterator<Item = u8>, mut take: impl FnMut(u8)) -> bool {
    let (mut left, mut room) = (0, NAME_MAX - 1);
    let (mut is_first, mut last) = (true, 1);
    for octet in octets {
        last = octet;
        if left > 0 {
            take(octet);
            left -= 1;
            if left == 0 {
                take(b'.');
            }
            continue;
        }
        if octet == 0 {
            if is_first {
                take(b'.');
            }
            return true;
        }
        left = usize::from(octet);
        if left > LABEL_MAX || left >= room {
            return false;
        }
        room -= left + 1;
        is_first = false;
    }
    // As in Kea a zero at the end belongs to the name, so a label cannot end in it.
    left == 0 && last != 0
}

/// Calls `take` with the letters of a domain name written as text, with a dot after each label, and
/// with `\X` and `\DDD` decoded. Returns false if the text is no name, as an empty text is none.
pub fn read_text(octets: impl IntoIterator<Item = u8>, mut take: impl FnMut(u8)) -> bool {
    let mut letters = octets.into_iter().peekable();
    let (mut label_len, mut room) = (0, NAME_MAX - 1);
    let mut is_first = true;
    while let Some(letter) = letters.next() {
        let is_alone = core::mem::take(&mut is_first) && letters.peek().is_none();
        let letter = match letter {
            b'.' | b'@' if is_alone => {
                take(b'.');
                return true;
            }
            b'.' if label_len == 0 => return false,
            b'.' => {
                take(b'.');
                label_len = 0;
                continue;
            }
            b'\\' => match escaped(label_len == 0, &mut letters) {
                Some(letter) => letter,
                None => return false,
            },
            letter => letter,
        };
        let taken = if label_len == 0 { 2 } else { 1 };
        if label_len == LABEL_MAX || taken > room {
            return false;
        }
        (label_len, room) = (label_len + 1, room - taken);
        take(letter);
    }
    if label_len > 0 {
        take(b'.');
    }
    !is_first
}

/// Returns the character that `\X` or `\DDD` in a domain name encodes, from the letters after the
/// backslash; `None` when they encode none.
fn escaped(is_label_begun: bool, letters: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let first = letters.next()?;
    if !first.is_ascii_digit() {
        // Bitstring labels (RFC 2673) are obsolete.
        return (!is_label_begun || first != b'[').then_some(first);
    }
    let mut value = u16::from(first - b'0');
    for _ in 0..2 {
        let digit = letters.next().filter(u8::is_ascii_digit)?;
        value = value * 10 + u16::from(digit - b'0');
    }
    u8::try_from(value).ok()
}

/// Returns true if `octets` are one domain name after another, in labels; later names may point to
/// earlier ones (compression, RFC 1035 §4.1.4).
pub(crate) fn are_names(octets: &[u8]) -> bool {
    let mut at = 0;
    while at < octets.len() {
        match end_of_name(octets, at) {
            Some(end) => at = end,
            None => return false,
        }
    }
    true
}

/// Returns the offset of the end of the domain name that begins at `start`; `None` when there is no
/// name.
pub(crate) fn end_of_name(octets: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut nearest, mut end) = (start, start, None);
    let mut room = NAME_MAX - 1;
    loop {
        let len = *octets.get(at)?;
        at += 1;
        if len == 0 {
            return Some(end.unwrap_or(at));
        }
        if len & POINTER == POINTER {
            let target = usize::from(len & !POINTER) << 8 | usize::from(*octets.get(at)?);
            if target >= nearest {
                return None;
            }
            end = end.or(Some(at + 1));
            (at, nearest) = (target, target);
            continue;
        }
        let len = usize::from(len);
        if len > LABEL_MAX || len >= room {
            return None;
        }
        room -= len + 1;
        at += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the output of a reader, and true if it accepted the name.
    fn given(read: impl FnOnce(&mut dyn FnMut(u8)) -> bool) -> ([u8; 300], usize, bool) {
        let (mut letters, mut len) = ([0; 300], 0);
        let is_name = read(&mut |letter| {
            letters[len] = letter;
            len += 1;
        });
        (letters, len, is_name)
    }

    fn assert_labels(octets: &[u8], expected: Option<&[u8]>) {
        let (letters, len, is_name) = given(|take| read_labels(octets.iter().copied(), take));
        assert_eq!(is_name.then_some(&letters[..len]), expected, "{octets:?}");
    }

    fn assert_text(octets: &[u8], expected: Option<&[u8]>) {
        let (letters, len, is_name) = given(|take| read_text(octets.iter().copied(), take));
        assert_eq!(is_name.then_some(&letters[..len]), expected, "{octets:?}");
    }

    #[test]
    fn labels_are_read_up_to_their_end() {
        assert_labels(b"\x03foo\x02Ba\x00", Some(b"foo.Ba."));
        assert_labels(b"\x03foo", Some(b"foo."));
        assert_labels(b"\x03foo\x00\x63x", Some(b"foo."));
        assert_labels(b"", Some(b""));
        assert_labels(b"\x00", Some(b"."));
        for bad in [&b"\x04foo"[..], b"\x03foo\xc0\x00", b"\x40"] {
            assert_labels(bad, None);
        }
        assert!(!read_labels([64; 65], |_| ()), "a label of 64 octets");
    }

    #[test]
    fn text_is_read_with_its_escapes() {
        for (text, expected) in [
            (&b"foo"[..], Some(&b"foo."[..])),
            (b"foo.ba.", Some(b"foo.ba.")),
            (b".", Some(b".")),
            (b"@", Some(b".")),
            (b"a@", Some(b"a@.")),
            (br"a\.b\065", Some(b"a.bA.")),
            (b"", None),
            (b".foo", None),
            (b"..", None),
            (b"foo..ba", None),
            (br"a\", None),
            (br"\[x", None),
            (br"a\[x", Some(b"a[x.")),
            (br"\25", None),
            (br"\2x5", None),
            (br"\256", None),
        ] {
            assert_text(text, expected);
        }
    }

    #[test]
    fn names_and_labels_have_their_longest() {
        let mut text = [b'a'; 260];
        (63..260).step_by(64).for_each(|at| text[at] = b'.');
        let is_name = |len: usize| read_text(text[..len].iter().copied(), |_| ());
        // 253 letters with their dots: 255 bytes on the wire.
        assert!(is_name(253) && !is_name(254));
        assert!(!read_text([b'a'; 64], |_| ()) && read_text([b'a'; 63], |_| ()));
        let mut labels = [b'a'; 260];
        (0..260).step_by(64).for_each(|at| labels[at] = 63);
        labels[192] = 61;
        assert!(read_labels(labels[..254].iter().copied(), |_| ()));
        labels[192] = 62;
        assert!(!read_labels(labels[..255].iter().copied(), |_| ()));
        assert_eq!(end_of_name(&labels, 0), None);
    }

    #[test]
    fn later_names_may_point_to_earlier_ones() {
        assert!(are_names(b"\x03foo\x00\x02ba\xc0\x00"));
        assert!(are_names(b""));
        for bad in [&b"\x03foo"[..], b"\xc0\x00", b"\x01a\x00\xc0\x03", b"\x01a\x00\x01b\xc0"] {
            assert!(!are_names(bad), "{bad:?}");
        }
        assert_eq!(end_of_name(b"\x01a\x00\x01b\xc0\x00", 3), Some(7));
    }
}
