//! Formatting of bytes in hexadecimal digits, for texts of any length.

use core::fmt;

/// Byte string that is displayed in hexadecimal digits without separators: `0102ff`.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'o>(pub &'o [u8]);

/// Byte string that is displayed in hexadecimal digits with colons between bytes: `01:02:ff`.
#[derive(Clone, Copy, Debug)]
pub struct ColonHex<'o>(pub &'o [u8]);

/// Number of bytes whose digits are written at once.
const CHUNK: usize = 32;

/// Writes the digits of `octets`, each of which is one of `digits`.
fn write_digits(f: &mut fmt::Formatter<'_>, octets: &[u8], digits: &[u8; 16]) -> fmt::Result {
    for chunk in octets.chunks(CHUNK) {
        let mut text = [0_u8; 2 * CHUNK];
        for (pair, octet) in text.chunks_exact_mut(2).zip(chunk) {
            pair.copy_from_slice(&[
                digits[usize::from(octet >> 4)],
                digits[usize::from(octet & 0xf)],
            ]);
        }
        let text = core::str::from_utf8(&text[..2 * chunk.len()]).map_err(|_| fmt::Error)?;
        f.write_str(text)?;
    }
    Ok(())
}

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_digits(f, self.0, b"0123456789abcdef")
    }
}

/// Formats the bytes in capital hexadecimal digits: `0102FF`.
impl fmt::UpperHex for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_digits(f, self.0, b"0123456789ABCDEF")
    }
}

impl fmt::Display for ColonHex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, octet) in self.0.iter().enumerate() {
            write!(f, "{}{octet:02x}", if index > 0 { ":" } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn octets_have_two_digits_each() {
        assert_eq!(format!("{}", Hex(&[1, 0, 255])), "0100ff");
        assert_eq!(format!("{:X}", Hex(&[1, 0, 255])), "0100FF");
        assert_eq!(format!("{}", ColonHex(&[1, 0, 255])), "01:00:ff");
        assert_eq!(format!("{}{}", Hex(&[]), ColonHex(&[])), "");
        let long: alloc::vec::Vec<u8> = (0..=255).collect();
        let expected: alloc::string::String =
            long.iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(format!("{}", Hex(&long)), expected);
    }
}
