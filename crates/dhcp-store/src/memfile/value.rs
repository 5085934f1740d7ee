//! Parser of lease file rows: converts one line of text to a lease, or to the reason why it is no
//! lease.

use std::fmt;
use std::str::FromStr;

use dhcp_lease::identity::CLIENT_ID_MAX;
use dhcp_lease::{HostName, Lease, LeaseState};

use super::columns::LeaseFileHeader;
use super::format::{LeaseFileFamily, RowFileFormat};

/// Reason why a row of a lease file or database table is no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFault {
    /// Bytes that no lease file has, left by a crash of the machine where nothing had ever been
    /// flushed.
    Rubbish,
    /// Wrong number of values in the lease row: too few or too many.
    ValueCount,
    /// Unreadable value in the column of this name.
    Value(&'static str),
    /// Missing identity of the client (hardware address, client identifier or DUID), in a lease
    /// that is not declined.
    NoClient,
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rubbish => f.write_str("bytes that are no row, as a power failure leaves them"),
            Self::ValueCount => f.write_str("the number of values does not match the header"),
            Self::Value(column) => write!(f, "cannot read {column}"),
            Self::NoClient => f.write_str("the lease has no client identity and is not declined"),
        }
    }
}

/// Parses a line of a lease file with this `header`, passed without its line end. Rows may have
/// fewer values than the header has columns if the missing ones have defaults, or more if the
/// further columns are known: two versions of Kea may have written the file in turn.
///
/// # Errors
///
/// Returns the first fault.
pub(crate) fn parse_row<F: LeaseFileFamily>(
    line: &[u8],
    format: &RowFileFormat,
    header: LeaseFileHeader,
) -> Result<Lease<F>, RowFault> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Kea 2.2 writes control characters of a host name unescaped, but never a zero.
    if line.contains(&0) {
        return Err(RowFault::Rubbish);
    }
    let parse = || {
        let mut values = Values::new(line);
        let lease = F::parse(&mut values)?;
        if format.names.len() + values.remaining() > header.most_values(format) {
            return Err(RowFault::ValueCount);
        }
        Ok(lease)
    };
    parse().map_err(|fault| match fault {
        _ if line.iter().any(|&octet| octet < 0x20 && octet != b'\t') => RowFault::Rubbish,
        fault => fault,
    })
}

/// Values of a lease file row, in order.
pub struct Values<'a> {
    line: Option<&'a [u8]>,
}

impl<'a> Values<'a> {
    /// Returns the values of the row `line`, passed without its end.
    pub(crate) const fn new(line: &'a [u8]) -> Self {
        Self { line: Some(line) }
    }

    /// Returns true if all values of the row were taken.
    pub(crate) const fn has_ended(&self) -> bool {
        self.line.is_none()
    }

    /// Returns the next value of the row, which is that of `column`.
    pub(crate) fn next(&mut self, column: &'static str) -> RowValue<'a> {
        let Some(line) = self.line else { return RowValue { text: None, column } };
        let (text, rest) = match line.iter().position(|&octet| octet == b',') {
            Some(at) => (&line[..at], Some(&line[at + 1..])),
            None => (line, None),
        };
        self.line = rest;
        RowValue { text: Some(text), column }
    }

    /// Returns the number of values of the row after those taken.
    fn remaining(&self) -> usize {
        self.line.map_or(0, |line| 1 + line.iter().filter(|&&octet| octet == b',').count())
    }
}

/// Bytes of a client's identity (hardware address, client identifier or DUID), at most
/// [`CLIENT_ID_MAX`].
pub(crate) struct Octets {
    octets: [u8; CLIENT_ID_MAX],
    len: usize,
}

impl Octets {
    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads pairs of hexadecimal digits, one for each byte, as all servers write them; returns
    /// false for any other text.
    fn fill_from_pairs(&mut self, text: &[u8]) -> bool {
        let len = text.len() / 3 + 1;
        if text.len() % 3 != 2 || len > self.octets.len() {
            return false;
        }
        let (mut high_bits, mut separators) = (0, 0);
        for (octet, digits) in self.octets.iter_mut().zip(text.chunks(3)) {
            let [high, low] = [digits[0], digits[1]].map(|digit| DIGITS[usize::from(digit)]);
            high_bits |= high | low;
            separators |= digits.get(2).map_or(0, |separator| separator ^ b':');
            *octet = high << 4 | low & 0xf;
        }
        self.len = len;
        high_bits <= 0xf && separators == 0
    }
}

/// Values of hexadecimal digits by character, [`u8::MAX`] for other characters.
pub(super) const DIGITS: [u8; 256] = {
    let mut digits = [u8::MAX; 256];
    let mut digit = 0_u8;
    while digit < u8::MAX {
        if let Some(value) = hex_digit(digit) {
            digits[digit as usize] = value;
        }
        digit += 1;
    }
    digits
};

/// Value in a lease file row; its text is `None` if the row has ended before.
#[derive(Clone, Copy)]
pub(crate) struct RowValue<'a> {
    text: Option<&'a [u8]>,
    column: &'static str,
}

impl<'a> RowValue<'a> {
    pub(crate) fn or(self, default: &'a str) -> Self {
        Self { text: Some(self.text.unwrap_or(default.as_bytes())), ..self }
    }

    pub(crate) const fn fault(self) -> RowFault {
        RowFault::Value(self.column)
    }

    fn octets(self) -> Result<&'a [u8], RowFault> {
        self.text.ok_or(RowFault::ValueCount)
    }

    pub(crate) fn address<A: FromStr>(self) -> Result<A, RowFault> {
        let text = self.octets()?;
        let text = std::str::from_utf8(text).map_err(|_| self.fault())?;
        text.parse().map_err(|_| self.fault())
    }

    pub(crate) fn number<T: TryFrom<u64>>(self) -> Result<T, RowFault> {
        let text = self.octets()?;
        if text.is_empty() {
            return Err(self.fault());
        }
        let mut value: u64 = 0;
        for &digit in text {
            if !digit.is_ascii_digit() {
                return Err(self.fault());
            }
            let more =
                value.checked_mul(10).and_then(|ten| ten.checked_add(u64::from(digit - b'0')));
            value = more.ok_or_else(|| self.fault())?;
        }
        T::try_from(value).map_err(|_| self.fault())
    }

    /// Parses the value as a number; returns `default` for an empty value.
    pub(crate) fn number_or<T: TryFrom<u64>>(self, default: T) -> Result<T, RowFault> {
        if self.octets()?.is_empty() { Ok(default) } else { self.number() }
    }

    /// Parses the value as a single byte.
    pub(crate) fn octet(self) -> Result<u8, RowFault> {
        match self.octets()? {
            [octet] => Ok(*octet),
            _ => Err(self.fault()),
        }
    }

    pub(crate) fn flag(self) -> Result<bool, RowFault> {
        match self.octets()? {
            b"0" => Ok(false),
            b"1" => Ok(true),
            _ => Err(self.fault()),
        }
    }

    pub(crate) fn state(self) -> Result<LeaseState, RowFault> {
        LeaseState::from_number(self.number()?).ok_or_else(|| self.fault())
    }

    /// Parses the value as bytes of one or two digits each, separated by colons.
    pub(crate) fn colon_hex(self) -> Result<Octets, RowFault> {
        let text = self.octets()?;
        let mut octets = Octets { octets: [0; CLIENT_ID_MAX], len: 0 };
        if text.is_empty() || octets.fill_from_pairs(text) {
            return Ok(octets);
        }
        octets.len = 0;
        for digits in text.split(|&octet| octet == b':') {
            let value = match *digits {
                [low] => hex_digit(low),
                [high, low] => hex_digit(high).zip(hex_digit(low)).map(|(h, l)| h << 4 | l),
                _ => None,
            };
            let slot = octets.octets.get_mut(octets.len).ok_or_else(|| self.fault())?;
            *slot = value.ok_or_else(|| self.fault())?;
            octets.len += 1;
        }
        Ok(octets)
    }

    fn unescaped(self) -> Result<String, RowFault> {
        let text = self.octets()?;
        if !text.contains(&b'&') {
            return Ok(String::from_utf8_lossy(text).into_owned());
        }
        let mut octets = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some((&first, after)) = rest.split_first() {
            let escape = rest.strip_prefix(b"&#x").and_then(|digits| {
                let (&[high, low], after) = digits.split_first_chunk::<2>()?;
                Some((hex_digit(high)? << 4 | hex_digit(low)?, after))
            });
            let (octet, after) = escape.unwrap_or((first, after));
            octets.push(octet);
            rest = after;
        }
        Ok(String::from_utf8_lossy(&octets).into_owned())
    }

    /// Parses the value as a host name in lower case, truncated if it is too long: earlier versions
    /// of this program wrote such names.
    pub(crate) fn hostname(self) -> Result<HostName, RowFault> {
        Ok(HostName::from(self.unescaped()?).into_lower_case())
    }

    pub(crate) fn json(self) -> Result<String, RowFault> {
        let text = self.unescaped()?;
        if text.is_empty() || text.trim_start().starts_with('{') {
            Ok(text)
        } else {
            Err(self.fault())
        }
    }
}

const fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<u8>> {
        let value = RowValue { text: Some(text.as_bytes()), column: "hwaddr" };
        value.colon_hex().ok().map(|octets| octets.octets().to_vec())
    }

    #[test]
    fn octets_have_one_or_two_digits() {
        assert_eq!(read(""), Some(vec![]));
        assert_eq!(read("02:67:Aa:fF"), Some(vec![2, 0x67, 0xaa, 0xff]));
        assert_eq!(read("7f"), Some(vec![0x7f]));
        // This text is as long as pairs would be, and has one digit each.
        assert_eq!(read("a:b:c"), Some(vec![10, 11, 12]));
        assert_eq!(read("2:67:a"), Some(vec![2, 0x67, 10]));
        for wrong in ["02-67", "02:6g", "02::67", "02:67:", "026:7", ":02:6", "02:67:1:111"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let longest = vec!["fe"; 255].join(":");
        assert_eq!(read(&longest), Some(vec![0xfe; 255]));
        assert_eq!(read(&(longest + ":fe")), None);
    }
}
