//! Internet checksum (RFC 1071): the complement of the one's complement sum of 16-bit words. Also
//! CRC-32C, of SCTP and DCCP.

use core::net::{Ipv4Addr, Ipv6Addr};

/// Internet checksum (RFC 1071) in progress. Callers add pieces of the data in order; every piece
/// but the last has an even length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChecksumAccumulator {
    total: u64,
}

impl ChecksumAccumulator {
    /// Creates a checksum of no bytes.
    pub const fn new() -> Self {
        Self { total: 0 }
    }

    /// Returns the checksum in progress over the pseudo-header of an IPv4 datagram with `len` bytes
    /// after the IP header (RFC 768).
    pub fn pseudo_v4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, len: u16) -> Self {
        Self::new()
            .word(u64::from(source.to_bits()))
            .word(u64::from(destination.to_bits()))
            .word(u64::from(protocol) + u64::from(len))
    }

    /// Returns the checksum in progress over the pseudo-header of an IPv6 packet whose upper-layer
    /// packet has `len` bytes (RFC 8200 §8.1).
    pub fn pseudo_v6(source: Ipv6Addr, destination: Ipv6Addr, next_header: u8, len: u32) -> Self {
        Self::new()
            .with(&source.octets())
            .with(&destination.octets())
            .word(u64::from(len))
            .word(u64::from(next_header))
    }

    /// Adds the bytes `octets` to the checksum; an odd last byte counts as the high half of a word.
    #[must_use]
    pub fn with(self, octets: &[u8]) -> Self {
        let (words, rest) = octets.as_chunks::<4>();
        let mut total = self.total;
        // 2^32 additions of 32 bits fit, and no packet has as many words.
        for word in words {
            total += u64::from(u32::from_be_bytes(*word));
        }
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Self { total: total + u64::from(u32::from_be_bytes(last)) }
    }

    /// Returns the internet checksum (RFC 1071): the complement of the folded sum.
    pub const fn finish(self) -> u16 {
        let mut folded = self.total;
        while folded >> 16 != 0 {
            folded = (folded & 0xffff) + (folded >> 16);
        }
        !(folded as u16)
    }

    const fn word(self, value: u64) -> Self {
        Self { total: self.total + value }
    }
}

/// Returns the internet checksum (RFC 1071) of the bytes `octets`. Over bytes that include their
/// own correct checksum it is 0.
#[must_use]
pub fn checksum(octets: &[u8]) -> u16 {
    ChecksumAccumulator::new().with(octets).finish()
}

/// Returns the CRC-32C (Castagnoli) of `octets`, by which SCTP (RFC 9260 Appendix A) and DCCP's
/// Data Checksum option (RFC 4340 §9.3) protect data; both send its least significant byte first.
pub fn crc32c(octets: &[u8]) -> u32 {
    const TABLE: [u32; 256] = crc32c_table();
    let crc = octets.iter().fold(u32::MAX, |crc, &octet| {
        (crc >> 8) ^ TABLE[((crc ^ u32::from(octet)) & 0xff) as usize]
    });
    !crc
}

const fn crc32c_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    #[test]
    fn crc_of_the_check_string_and_of_nothing() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn the_example_of_rfc_1071() {
        // §3: the words 0001 f203 f4f5 f6f7 add up to ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn equals_the_sum_word_by_word_for_any_length() {
        let mut random = Random::from_seed(1071);
        let mut octets = [0; 2_000];
        for len in 0..600 {
            random.fill(&mut octets[..len]);
            let slowly = octets[..len].chunks(2).fold(0_u32, |sum, pair| {
                let word = u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low));
                let sum = sum + word;
                (sum & 0xffff) + (sum >> 16)
            });
            assert_eq!(checksum(&octets[..len]), !(slowly as u16), "{len}");
        }
    }

    #[test]
    fn pieces_of_even_length_add_up() {
        let octets: [u8; 37] = core::array::from_fn(|n| n as u8 * 7);
        for cut in (0..37).step_by(2) {
            let (head, tail) = octets.split_at(cut);
            assert_eq!(
                ChecksumAccumulator::new().with(head).with(tail).finish(),
                checksum(&octets),
                "{cut}"
            );
        }
    }
}
