//! DNS messages on a byte stream, each after its length in two bytes (RFC 1035 section 4.2.2, RFC
//! 7766 section 8).

/// Length of the length field before a DNS message on a stream, in bytes.
pub const LENGTH_BYTES: usize = 2;
/// Largest length of a DNS message on a stream, in bytes, without its length field.
pub const MESSAGE_BYTES_MAX: usize = u16::MAX as usize;

/// Returns the DNS message that `octets`, read from a stream, begin with, and the bytes after it;
/// `None` when the message is not complete yet.
pub fn split(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = octets.split_first_chunk::<LENGTH_BYTES>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_whole_or_not_at_all() {
        let octets = b"\0\x03abc\0\0\x01\x00rest";
        let (first, rest) = split(octets).unwrap();
        assert_eq!(first, b"abc");
        let (second, rest) = split(rest).unwrap();
        assert_eq!((second, rest), (&b""[..], &b"\x01\x00rest"[..]));
        assert_eq!(split(rest), None, "256 octets were announced");
        for cut in 0..5 {
            assert_eq!(split(&octets[..cut]), None, "{cut}");
        }
    }
}
