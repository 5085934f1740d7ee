//! A row on its way out: values as Kea writes them, into room that was made before.

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Appends a row of at most `most` octets, its line end included, to `out`.
pub(crate) fn append(out: &mut Vec<u8>, most: usize, fill: impl FnOnce(&mut Line<'_>)) {
    let start = out.len();
    out.resize(start + most, 0);
    let mut line = Line { octets: &mut out[start..], len: 0 };
    fill(&mut line);
    // The last separator becomes the line end.
    line.octets[line.len - 1] = b'\n';
    let len = line.len;
    out.truncate(start + len);
}

/// A line that is being filled; every value is followed by a separator.
pub struct Line<'b> {
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

/// Whether Kea writes this octet as `&#x` and two digits.
const fn is_escaped(octet: u8) -> bool {
    octet < 0x20 || octet > 0x7e || octet == b',' || octet == b'&'
}

impl Line<'_> {
    pub(crate) fn put(&mut self, octets: &[u8]) {
        self.octets[self.len..self.len + octets.len()].copy_from_slice(octets);
        self.len += octets.len();
    }

    pub(crate) fn octet(&mut self, octet: u8) {
        self.octets[self.len] = octet;
        self.len += 1;
    }

    /// An IPv4 address.
    pub(crate) fn address4(&mut self, address: Ipv4Addr) {
        for octet in address.octets() {
            self.digits(u64::from(octet));
            self.octet(b'.');
        }
        self.octets[self.len - 1] = b',';
    }

    /// An IPv6 address as RFC 5952 writes it.
    pub(crate) fn address6(&mut self, address: Ipv6Addr) {
        let mut rest = &mut self.octets[self.len..];
        let room = rest.len();
        write!(rest, "{address},").expect("a line has room for its values");
        self.len += room - rest.len();
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
        // A leading pair below 10 cannot be: then the loop would have ended before it.
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
    fn numbers_of_every_length_are_whole() {
        let mut value: u64 = 0;
        for digit in [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1] {
            for number in [value, value * 10, value * 10 + 1] {
                let mut octets = [0; 32];
                let mut line = Line { octets: &mut octets, len: 0 };
                line.digits(number);
                let len = line.len;
                assert_eq!(std::str::from_utf8(&octets[..len]).unwrap(), number.to_string());
            }
            value = value * 10 + digit;
        }
    }
}
