//! Writer of lease file rows: values as Kea writes them, into memory that the caller has reserved.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Appends a lease row of at most `most` bytes, its line end included, to `out`.
pub(crate) fn append(out: &mut Vec<u8>, most: usize, fill: impl FnOnce(&mut RowLineWriter<'_>)) {
    let start = out.len();
    out.resize(start + most, 0);
    let mut line = RowLineWriter { octets: &mut out[start..], len: 0 };
    fill(&mut line);
    // The last separator becomes the line end.
    line.octets[line.len - 1] = b'\n';
    let len = line.len;
    out.truncate(start + len);
}

/// Line of a lease file that is being written; a separator follows every value.
pub struct RowLineWriter<'b> {
    octets: &'b mut [u8],
    len: usize,
}

const HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut table = [[0; 2]; 256];
    let mut octet = 0;
    while octet < 256 {
        table[octet] = [digits[octet >> 4], digits[octet & 15]];
        octet += 1;
    }
    table
};

const PAIRS: [[u8; 2]; 100] = {
    let mut table = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        table[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    table
};

/// Returns start and length of the longest run of zero groups in an IPv6 address, the first of
/// equal ones (RFC 5952 §4.2).
fn longest_zeros(groups: &[u16; 8]) -> (usize, usize) {
    let (mut longest, mut run) = ((0, 0), 0);
    for (at, &group) in groups.iter().enumerate() {
        run = if group == 0 { run + 1 } else { 0 };
        if run > longest.1 {
            longest = (at + 1 - run, run);
        }
    }
    longest
}

/// Returns true if Kea writes the byte `octet` as `&#x` and two digits.
const fn is_escaped(octet: u8) -> bool {
    octet < 0x20 || octet > 0x7e || octet == b',' || octet == b'&'
}

impl RowLineWriter<'_> {
    pub(crate) fn put(&mut self, octets: &[u8]) {
        self.octets[self.len..self.len + octets.len()].copy_from_slice(octets);
        self.len += octets.len();
    }

    pub(crate) fn octet(&mut self, octet: u8) {
        self.octets[self.len] = octet;
        self.len += 1;
    }

    /// Writes an IPv4 address to the line.
    pub(crate) fn address4(&mut self, address: Ipv4Addr) {
        for octet in address.octets() {
            self.digits(u64::from(octet));
            self.octet(b'.');
        }
        self.octets[self.len - 1] = b',';
    }

    /// Writes an IPv6 address to the line, in the form of RFC 5952.
    pub(crate) fn address6(&mut self, address: Ipv6Addr) {
        let groups = address.segments();
        if groups[..5] == [0; 5] && (groups[5] == 0xffff || groups[5] == 0) {
            // Few addresses begin like this, and some of them end in IPv4 notation (§5).
            self.put(address.to_string().as_bytes());
            return self.octet(b',');
        }
        let (zeros_at, zeros) = longest_zeros(&groups);
        let mut at = 0;
        while at < groups.len() {
            if at == zeros_at && zeros > 1 {
                self.put(b"::");
                at += zeros;
                continue;
            }
            if at > 0 && (zeros < 2 || at != zeros_at + zeros) {
                self.octet(b':');
            }
            self.group(groups[at]);
            at += 1;
        }
        self.octet(b',');
    }

    /// Writes sixteen bits of an IPv6 address as hexadecimal digits without leading zeros.
    fn group(&mut self, value: u16) {
        let [high, low] = value.to_be_bytes().map(|octet| HEX[usize::from(octet)]);
        let digits = [high[0], high[1], low[0], low[1]];
        let skipped = (value.leading_zeros() / 4).min(3) as usize;
        self.put(&digits[skipped..]);
    }

    pub(crate) fn digits(&mut self, mut value: u64) {
        if value < 10 {
            return self.octet(b'0' + value as u8);
        }
        let mut digits = [0; 20];
        let mut at = digits.len();
        while value >= 10 {
            at -= 2;
            digits[at..at + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
            value /= 100;
        }
        if value > 0 {
            at -= 1;
            digits[at] = b'0' + value as u8;
        }
        // The leading pair is never below 10: then the loop would have ended before it.
        self.put(&digits[at..]);
    }

    pub(crate) fn decimal(&mut self, value: u64) {
        self.digits(value);
        self.octet(b',');
    }

    pub(crate) fn colon_hex(&mut self, octets: &[u8]) {
        let room = &mut self.octets[self.len..self.len + 3 * octets.len()];
        for (text, &octet) in room.chunks_exact_mut(3).zip(octets) {
            text[..2].copy_from_slice(&HEX[usize::from(octet)]);
            text[2] = b':';
        }
        if octets.is_empty() {
            self.octet(b',');
        } else {
            self.len += 3 * octets.len();
            self.octets[self.len - 1] = b',';
        }
    }

    pub(crate) fn escaped(&mut self, octets: &[u8]) {
        if octets.iter().any(|&octet| is_escaped(octet)) {
            for &octet in octets {
                if is_escaped(octet) {
                    self.put(b"&#x");
                    self.put(&HEX[usize::from(octet)]);
                } else {
                    self.octet(octet);
                }
            }
        } else {
            self.put(octets);
        }
        self.octet(b',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_the_standard_library_does() {
        let mut random = base::Random::from_seed(6);
        for _ in 0..100_000 {
            // Zero groups and short ones are as frequent as long ones.
            let group = |_| match random.below(3) {
                0 => 0,
                1 => random.below(0x100) as u16,
                _ => random.below(0x1_0000) as u16,
            };
            let groups: [u16; 8] = [0; 8].map(group);
            let address = Ipv6Addr::from(groups);
            let mut octets = [0; 48];
            let mut line = RowLineWriter { octets: &mut octets, len: 0 };
            line.address6(address);
            let len = line.len;
            assert_eq!(std::str::from_utf8(&octets[..len]).unwrap(), format!("{address},"));
        }
    }

    #[test]
    fn numbers_of_every_length_are_whole() {
        let mut value: u64 = 0;
        for digit in [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1] {
            for number in [value, value * 10, value * 10 + 1] {
                let mut octets = [0; 32];
                let mut line = RowLineWriter { octets: &mut octets, len: 0 };
                line.digits(number);
                let len = line.len;
                assert_eq!(std::str::from_utf8(&octets[..len]).unwrap(), number.to_string());
            }
            value = value * 10 + digit;
        }
    }
}
