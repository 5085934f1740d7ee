//! Parser for lease file rows as servers write nearly all of them: it reads them byte by byte in
//! one pass and keeps nothing on the way. A row that is not plain (escapes, odd digits, a carriage
//! return, any fault) is left to `value`, which decides its meaning: this module only reports that
//! the row is not plain.

use std::net::{Ipv4Addr, Ipv6Addr};

use dhcp_lease::identity::CLIENT_ID_INLINE_MAX;
use dhcp_lease::{ClientId, HardwareAddress, HostName, LeaseState};

use super::value::DIGITS;

/// Maximum number of bytes of a client's identity that the plain parser reads.
const IDENTITY_MAX: usize = CLIENT_ID_INLINE_MAX;
/// Number of bytes of an Ethernet address as text, its separator included.
const ETHERNET_TEXT: usize = 18;

/// Row of a lease file that is being read. Reading a value also takes its separator or the line
/// end.
pub struct PlainRow<'a> {
    /// Bytes of the row that is being read, and of the rows after it.
    rows: &'a [u8],
    at: usize,
    has_ended: bool,
}

/// Identity of a client (identifier, DUID or hardware address) of at most [`IDENTITY_MAX`] bytes.
#[derive(Clone, Copy)]
pub(super) struct ShortIdentity {
    /// Bytes of the client's identity; zero after `len`.
    octets: [u8; IDENTITY_MAX],
    len: u8,
}

impl ShortIdentity {
    pub(super) const NONE: Self = Self { octets: [0; IDENTITY_MAX], len: 0 };

    pub(super) fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the client's identity as a client identifier or DUID.
    pub(super) const fn client_id(self) -> ClientId {
        ClientId::Inline { len: self.len, octets: self.octets }
    }

    /// Returns the client's identity as a hardware address; `None` if the identity is too long for
    /// one.
    pub(super) fn hardware(self, htype: u8) -> Option<HardwareAddress> {
        HardwareAddress::padded(htype, self.len, *self.octets.first_chunk()?)
    }
}

impl<'a> PlainRow<'a> {
    /// Returns a reader of the row at the front of `rows`; `rows` must end with a line end.
    pub(super) const fn new(rows: &'a [u8]) -> Self {
        Self { rows, at: 0, has_ended: false }
    }

    /// Returns the number of bytes of the row that were read.
    pub(super) const fn len(&self) -> usize {
        self.at
    }

    /// Returns true if the line of the row has ended.
    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn next(&mut self) -> Option<u8> {
        let octet = *self.rows.get(self.at)?;
        self.at += 1;
        Some(octet)
    }

    /// Records the byte `octet`, which follows a value of this line; returns `None` if it is no
    /// separator.
    fn end_value(&mut self, octet: u8) -> Option<()> {
        if self.has_ended {
            return None;
        }
        self.has_ended = octet == b'\n';
        matches!(octet, b',' | b'\n').then_some(())
    }

    /// Returns the next value of the row, read by `read`; `default` if the line has ended before.
    pub(super) fn or<T>(
        &mut self,
        default: T,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if self.has_ended { Some(default) } else { read(self) }
    }

    /// Reads the next value of the row as [`PlainRow::or`] does, with the default of its type.
    pub(super) fn or_default<T: Default>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        self.or(T::default(), read)
    }

    /// Reads the next value as a number of up to 19 digits, which always fits in 64 bits.
    pub(super) fn number<T: TryFrom<u64>>(&mut self) -> Option<T> {
        let start = self.at;
        let mut value: u64 = 0;
        loop {
            let octet = self.next()?;
            let digit = octet.wrapping_sub(b'0');
            if digit > 9 {
                let digits = self.at - 1 - start;
                if !(1..=19).contains(&digits) {
                    return None;
                }
                self.end_value(octet)?;
                return T::try_from(value).ok();
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        }
    }

    /// Reads the next value as a number; returns `default` for an empty value.
    pub(super) fn number_or<T: TryFrom<u64>>(&mut self, default: T) -> Option<T> {
        match self.rows.get(self.at)? {
            b',' | b'\n' => {
                let octet = self.next()?;
                self.end_value(octet)?;
                Some(default)
            }
            _ => self.number(),
        }
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        let flag = self.next()?;
        let end = self.next()?;
        self.end_value(end)?;
        matches!(flag, b'0' | b'1').then_some(flag == b'1')
    }

    pub(super) fn state(&mut self) -> Option<LeaseState> {
        LeaseState::from_number(self.number()?)
    }

    pub(super) fn address4(&mut self) -> Option<Ipv4Addr> {
        let mut octets = [0; 4];
        for (at, target) in octets.iter_mut().enumerate() {
            let start = self.at;
            let mut value: u32 = 0;
            let end = loop {
                let octet = self.next()?;
                let digit = octet.wrapping_sub(b'0');
                if digit > 9 {
                    break octet;
                }
                value = value.wrapping_mul(10).wrapping_add(u32::from(digit));
            };
            let digits = self.at - 1 - start;
            let has_leading_zero = digits > 1 && self.rows[start] == b'0';
            if !(1..=3).contains(&digits) || has_leading_zero || value > 255 {
                return None;
            }
            *target = value as u8;
            if at < 3 && end != b'.' {
                return None;
            }
            if at == 3 {
                self.end_value(end)?;
            }
        }
        Some(octets.into())
    }

    /// Reads the next value as an IPv6 address: groups of hexadecimal digits, with `::` or without.
    pub(super) fn address6(&mut self) -> Option<Ipv6Addr> {
        let mut groups = [0_u16; 8];
        let (mut count, mut gap) = (0, None);
        if self.rows.get(self.at..self.at + 2)? == b"::" {
            gap = Some(0);
            self.at += 2;
        }
        loop {
            let start = self.at;
            let mut value: u32 = 0;
            let end = loop {
                let octet = self.next()?;
                let digit = DIGITS[usize::from(octet)];
                if digit > 15 {
                    break octet;
                }
                value = value.wrapping_shl(4) | u32::from(digit);
            };
            let digits = self.at - 1 - start;
            if digits == 0 && gap == Some(count) && end != b':' {
                // No group follows the gap.
                self.end_value(end)?;
                break;
            }
            if !(1..=4).contains(&digits) || count == groups.len() {
                return None;
            }
            groups[count] = value as u16;
            count += 1;
            if end != b':' {
                self.end_value(end)?;
                break;
            }
            if self.rows.get(self.at) == Some(&b':') {
                if gap.is_some() {
                    return None;
                }
                gap = Some(count);
                self.at += 1;
            }
        }
        match gap {
            None if count < groups.len() => return None,
            None => {}
            Some(_) if count == groups.len() => return None,
            Some(gap) => {
                let len = groups.len();
                groups.copy_within(gap..count, len - (count - gap));
                groups[gap..len - (count - gap)].fill(0);
            }
        }
        Some(groups.into())
    }

    /// Reads the next value as bytes of two digits each, separated by colons; returns no bytes for
    /// an empty value.
    pub(super) fn identity(&mut self) -> Option<ShortIdentity> {
        let mut identity = ShortIdentity::NONE;
        if let b',' | b'\n' = self.rows.get(self.at)? {
            let octet = self.next()?;
            self.end_value(octet)?;
            return Some(identity);
        }
        for target in &mut identity.octets {
            let &[high, low, end] = self.rows.get(self.at..)?.first_chunk()?;
            let [high, low] = [high, low].map(|digit| DIGITS[usize::from(digit)]);
            if high | low > 15 {
                return None;
            }
            *target = high << 4 | low;
            identity.len += 1;
            self.at += 3;
            if end != b':' {
                self.end_value(end)?;
                return Some(identity);
            }
        }
        None
    }

    /// Reads the next value as [`PlainRow::identity`] does, fastest if it is an Ethernet address.
    pub(super) fn hardware(&mut self) -> Option<ShortIdentity> {
        let Some(text) = self.rows.get(self.at..)?.first_chunk::<ETHERNET_TEXT>() else {
            return self.identity();
        };
        let mut identity = ShortIdentity { len: 6, ..ShortIdentity::NONE };
        let mut high_bits = 0;
        for (octet, digits) in identity.octets.iter_mut().zip(text.chunks_exact(3)) {
            let [high, low] = [digits[0], digits[1]].map(|digit| DIGITS[usize::from(digit)]);
            high_bits |= high | low;
            *octet = high << 4 | low & 0xf;
        }
        let &[_, _, a, _, _, b, _, _, c, _, _, d, _, _, e, _, _, last] = text;
        if high_bits > 15 || [a, b, c, d, e, last] != *b":::::," {
            return self.identity();
        }
        self.at += ETHERNET_TEXT;
        Some(identity)
    }

    /// Reads the next value as text of printable characters without escapes.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        let start = self.at;
        loop {
            match self.next()? {
                end @ (b',' | b'\n') => {
                    let text = &self.rows[start..self.at - 1];
                    self.end_value(end)?;
                    return std::str::from_utf8(text).ok();
                }
                b'&' | ..0x20 | 0x7f.. => return None,
                _ => {}
            }
        }
    }

    /// Reads the next value as a host name in lower case; returns `None` if the name is too long.
    pub(super) fn hostname(&mut self) -> Option<HostName> {
        HostName::new(self.text()?).ok().map(HostName::into_lower_case)
    }

    /// Reads the next value as a JSON object, or as nothing if it is empty.
    pub(super) fn json(&mut self) -> Option<Box<str>> {
        let text = self.text()?;
        (text.is_empty() || text.starts_with('{')).then(|| text.into())
    }
}

#[cfg(test)]
mod tests {

    use base::Random;
    use dhcp_lease::v4::V4;
    use dhcp_lease::v6::V6;

    use super::super::columns::LeaseFileHeader;
    use super::super::format::{LeaseFileFamily, RowFileFormat, newest};
    use super::super::value::parse_row;
    use super::*;

    /// Bytes that have a meaning in a row, and some that never do.
    const TELLING: &[u8] = b",,:&\r\n\t{09afAZ.\0\x7f\xc3";
    const NUMBERS: &[&str] = &[
        "0",
        "1",
        "2",
        "3600",
        "4294967295",
        "4294967296",
        "007",
        "",
        "-1",
        "18446744073709551616",
    ];
    const FLAGS: &[&str] = &["0", "1", "0", "1", "2", "01", ""];
    const NAMES: &[&str] = &["", "host", "Host.Example.ORG", "a&#x2cb", "b c", "x\u{7f}y"];
    const CONTEXTS: &[&str] =
        &["", "", "{ \"a\": 1 }", "{ \"a\": 1&#x2c \"b\": 2 }", "null", " { }"];
    const HARDWARE: &[&str] = &[
        "02:00:00:00:00:0a",
        "aB:cd:Ef:01:23:45",
        "02:00:00:00:00:00:0a",
        "2:0:0:0:0:a",
        "02:00:00:00:0000a",
        "02:0g:00:00:00:0a",
        "02",
        "",
    ];
    const LONG: &str = "01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:10:11:12:13:14:15:16:17";
    const SHORTER: &str = "01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:10:11:12:13:14:15:16";

    /// Values for each column, many of them valid.
    const V4_VALUES: [&[&str]; 13] = [
        &[
            "10.0.0.1",
            "255.255.255.255",
            "0.0.0.0",
            "01.2.3.4",
            "256.0.0.1",
            "1.2.3",
            "1.2.3.4.5",
            "",
        ],
        HARDWARE,
        &["01:02:00:00:00:00:0a", "", "01", LONG, SHORTER, "1:2", "0102"],
        NUMBERS,
        NUMBERS,
        NUMBERS,
        FLAGS,
        FLAGS,
        NAMES,
        &["0", "1", "2", "3", "5", ""],
        CONTEXTS,
        NUMBERS,
        &["red"],
    ];
    const V6_VALUES: [&[&str]; 19] = [
        &[
            "2001:db8::1",
            "2001:DB8:0:1::",
            "::",
            "::1",
            "1:2:3:4:5:6:7:8",
            "1::8",
            "1:2:3:4:5:6:7::",
            "::2:3:4:5:6:7:8",
            "1:2:3:4:5:6:7::8",
            "1::2::3",
            "1:2:3:4:5:6:7:",
            ":1",
            "1:::2",
            "12345::",
            "::ffff:10.0.0.1",
            "",
        ],
        &["00:01:00:01:32:94:f6:d8:02:00:00:00:00:0a", "00:00:00", "00", LONG, SHORTER, "0:1", ""],
        NUMBERS,
        NUMBERS,
        NUMBERS,
        NUMBERS,
        &["0", "0", "2", "1", "00", ""],
        NUMBERS,
        &["128", "56", "0", "129", "256", ""],
        FLAGS,
        FLAGS,
        NAMES,
        HARDWARE,
        &["0", "1", "2", "3", "5", ""],
        CONTEXTS,
        &["", "1", "6", "300"],
        &["", "0", "2", "4294967296"],
        NUMBERS,
        &["red"],
    ];

    /// Returns a line of values, most of them valid, and sometimes with damage.
    fn any_line(values: &[&[&'static str]], fewest: usize, random: &mut Random) -> Vec<u8> {
        let count = fewest - 1 + random.below((values.len() - fewest + 2) as u64) as usize;
        let value = |of: &&[&'static str]| {
            if random.chance(3, 4) { of[0] } else { of[random.below(of.len() as u64) as usize] }
        };
        let values: Vec<&str> = values[..count].iter().map(value).collect();
        let mut line = values.join(",").into_bytes();
        if random.chance(1, 4) {
            let at = random.below(line.len() as u64) as usize;
            let octet = *random.pick(TELLING).unwrap();
            match random.below(3) {
                0 => line.insert(at, octet),
                1 => line[at] = octet,
                _ => drop(line.remove(at)),
            }
        }
        line
    }

    /// Checks that a plain row has the same meaning as its values, and that the next row is not
    /// touched.
    fn plain_rows_are_read_as_their_values_are<F: LeaseFileFamily>(
        values: &'static [&'static [&'static str]],
    ) {
        const CASES: u64 = 40_000;
        let header = LeaseFileHeader { columns: newest::<F>(), unknown: 0 };
        let mut read = 0;
        for seed in 0..CASES {
            let line = any_line(values, F::FEWEST, &mut Random::from_seed(seed));
            let text = [&line[..], b"\n0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"].concat();
            let end = text.iter().position(|&octet| octet == b'\n').unwrap();
            let mut plain = PlainRow::new(&text);
            if let Some(lease) = F::parse_plain(&mut plain) {
                let line_text = String::from_utf8_lossy(&text[..end]);
                assert_eq!(plain.len(), end + 1, "seed {seed}: {line_text}");
                let expected =
                    parse_row::<F>(&text[..end], &RowFileFormat::for_family::<F>(), header);
                assert_eq!(Ok(lease), expected, "seed {seed}: {line_text}");
                read += 1;
            }
        }
        assert!(read > CASES / 20 && read < CASES / 2, "{read}");
    }

    #[test]
    fn plain_rows_of_v4_are_read_as_their_values_are() {
        plain_rows_are_read_as_their_values_are::<V4>(&V4_VALUES);
    }

    #[test]
    fn plain_rows_of_v6_are_read_as_their_values_are() {
        plain_rows_are_read_as_their_values_are::<V6>(&V6_VALUES);
    }

    #[test]
    fn usual_rows_are_plain() {
        let v4 = [
            "10.0.0.1,02:00:00:00:00:0a,01:02:00:00:00:00:0a,3600,1795297386,7,0,1,,0,,0\n",
            "10.0.0.1,02:00:00:00:00:0a,,3600,1795297386,7,0,0,a.example,0,\n",
            "10.0.0.1,02:00:00:00:00:0a,,3600,1795297386,7,0,0,A.example\n",
            "10.0.0.1,,,3600,1795297386,7,0,0,,1,,0\n",
            "10.0.0.1,,ff:01:02:03:04:00:02:00:00:ab:11,0,1795297386,7,0,0,,0,{ \"a\": 1 },0\n",
        ];
        for row in v4 {
            let mut plain = PlainRow::new(row.as_bytes());
            assert!(V4::parse_plain(&mut plain).is_some(), "{row}");
            assert_eq!(plain.len(), row.len());
        }
        let v6 = [
            "2001:db8::1,00:01:00:01:32:94:f6:d8:02:00:00:00:00:0a,86400,1795297386,1,86400,0,1,128,0,0,,02:00:00:00:00:0a,0,,1,2,0\n",
            "2001:db8:0:100::,00:03:00:01:02:00:00:00:00:0a,86400,1795297386,1,86400,2,1,56,0,0,a.example,,0,,,\n",
        ];
        for row in v6 {
            let mut plain = PlainRow::new(row.as_bytes());
            assert!(V6::parse_plain(&mut plain).is_some(), "{row}");
            assert_eq!(plain.len(), row.len());
        }
    }
}
