//! Byte-order marks of text files that editors of other systems wrote.

/// Mark U+FEFF in UTF-8 that some editors put at the beginning of a text file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Returns `text` without a byte-order mark at its beginning.
pub fn without_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Returns advice for the user if `text` begins as text in UTF-16 does; the files that Godwit reads
/// are in UTF-8.
pub fn utf16_advice(text: &[u8]) -> Option<&'static str> {
    let is_utf16 = text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff]);
    is_utf16.then_some("the text is in UTF-16; `iconv -f UTF-16 -t UTF-8` makes UTF-8 of it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_utf_16_is_named() {
        assert_eq!(without_byte_order_mark("\u{feff}a A".as_bytes()), b"a A");
        assert_eq!(without_byte_order_mark(b"a A"), b"a A");
        assert!(utf16_advice(b"\xff\xfea\0").is_some() && utf16_advice(b"\xfe\xff\0a").is_some());
        assert!(utf16_advice(b"a A").is_none() && utf16_advice("\u{feff}a".as_bytes()).is_none());
    }
}
