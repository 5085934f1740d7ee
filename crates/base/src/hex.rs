//! Formatting of bytes in hexadecimal digits, for texts of any length.

use core::fmt;

/// Byte string that is displayed in hexadecimal digits without separators: `0102ff`.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'o>(pub &'o [u8]);

/// Byte string that is displayed in hexadecimal digits with colons between bytes: `01:02:ff`.
#[derive(Clone, Copy, Debug)]
pub struct ColonHex<'o>(pub &'o [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// Formats the bytes in capital hexadecimal digits: `0102FF`.
impl fmt::UpperHex for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02X}"))
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
    }
}
