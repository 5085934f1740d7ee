//! Functions of texts in class expressions. They run while a message is classified and, over
//! constants, when the configuration is loaded.

use core::fmt::Write;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::Range;

use dhcp_config::expression::Conversion;

/// Error of a class expression that has no value for the current message, such as a number or an
/// address of the wrong length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EvaluationError;

/// Returns the range of bytes of `substring(text, start, length)` in a text of `len` bytes; a
/// `length` of `None` means to the end.
pub(super) fn substring(len: usize, start: i32, length: Option<i32>) -> Range<usize> {
    let len = len as i64;
    let start = i64::from(start);
    if start < -len || start >= len {
        return 0..0;
    }
    let start = if start < 0 { len + start } else { start };
    let end = match length.map(i64::from) {
        None => len,
        Some(length) if length < 0 => return (start + length).max(0) as usize..start as usize,
        Some(length) => (start + length).min(len),
    };
    start as usize..end as usize
}

/// Returns the range of bytes of field `field` in a text that every byte of `delimiters` splits.
pub(super) fn split(text: &[u8], delimiters: &[u8], field: i32) -> Range<usize> {
    if delimiters.is_empty() {
        return 0..text.len();
    }
    let Ok(skip) = usize::try_from(i64::from(field) - 1) else { return 0..0 };
    let mut ends = (0..text.len()).filter(|&at| delimiters.contains(&text[at])).chain([text.len()]);
    let start = match skip.checked_sub(1) {
        None => 0,
        Some(before) => match ends.nth(before) {
            Some(end) if end < text.len() => end + 1,
            _ => return 0..0,
        },
    };
    start..ends.next().unwrap_or(text.len())
}

/// Returns the short text that the function `conversion` makes of the bytes `text`, such as the
/// text of an address or a number.
pub(super) fn convert(conversion: Conversion, text: &[u8]) -> Result<ShortText, EvaluationError> {
    let mut short = ShortText::EMPTY;
    if text.is_empty() {
        return Ok(short);
    }
    let written = match (conversion, text) {
        (Conversion::Address, &[a, b, c, d]) => write!(short, "{}", Ipv4Addr::new(a, b, c, d)),
        (Conversion::Address, text) => {
            let octets: [u8; 16] = text.try_into().map_err(|_| EvaluationError)?;
            write_v6(&mut short, octets)
        }
        (Conversion::I8, &[a]) => write!(short, "{}", a as i8),
        (Conversion::U8, &[a]) => write!(short, "{a}"),
        (Conversion::I16, &[a, b]) => write!(short, "{}", i16::from_be_bytes([a, b])),
        (Conversion::U16, &[a, b]) => write!(short, "{}", u16::from_be_bytes([a, b])),
        (Conversion::I32, &[a, b, c, d]) => write!(short, "{}", i32::from_be_bytes([a, b, c, d])),
        (Conversion::U32, &[a, b, c, d]) => write!(short, "{}", u32::from_be_bytes([a, b, c, d])),
        _ => return Err(EvaluationError),
    };
    written.map(|()| short).map_err(|_| EvaluationError)
}

/// Writes an IPv6 address to `short` as the C library prints it.
fn write_v6(short: &mut ShortText, octets: [u8; 16]) -> core::fmt::Result {
    let [front @ .., a, b, c, d] = octets;
    if front == [0; 12] && (a, b) != (0, 0) {
        return write!(short, "::{}", Ipv4Addr::new(a, b, c, d));
    }
    write!(short, "{}", Ipv6Addr::from(octets))
}

/// Text of a converted value, with room for the longest address.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortText {
    octets: [u8; Self::MAX],
    len: usize,
}

impl ShortText {
    const MAX: usize = 46;
    const EMPTY: Self = Self { octets: [0; Self::MAX], len: 0 };

    pub(super) fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let room = self.octets.get_mut(self.len..self.len + text.len()).ok_or(core::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// Returns the two hexadecimal digits of a byte, as the function `hexstring` writes it.
pub(super) fn digits(octet: u8) -> [u8; 2] {
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
    [digit(octet >> 4), digit(octet)]
}
