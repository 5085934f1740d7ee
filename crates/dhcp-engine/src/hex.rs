//! Hexadecimal digits of bytes as Kea writes them in texts that leases store.

/// Upper-case hexadecimal digits in the order of their values.
const DIGITS: [u8; 16] = *b"0123456789ABCDEF";

/// Appends the hexadecimal digits of `octets` to `target`, upper case, without separators. A lease
/// with relay agent information has about fifty bytes of it: formatting each took a sixth of a
/// whole exchange.
pub(crate) fn write_hex(octets: impl IntoIterator<Item = u8>, target: &mut String) {
    for octet in octets {
        for nibble in [octet >> 4, octet & 15] {
            target.push(char::from(DIGITS[usize::from(nibble)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use core::fmt::Write;

    use super::write_hex;

    #[test]
    fn every_octet_is_spelled_as_formatting_does() {
        let (mut ours, mut formatted) = (String::new(), String::new());
        write_hex(0..=255, &mut ours);
        (0..=255_u8).for_each(|octet| write!(formatted, "{octet:02X}").unwrap());
        assert_eq!(ours, formatted);
    }
}
