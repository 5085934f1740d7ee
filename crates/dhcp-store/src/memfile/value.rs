//! Values of a row: text in, numbers and octets out.

use std::fmt;
use std::str::FromStr;

use dhcp_lease::LeaseState;

/// Why a row is no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFault {
    /// Octets that no lease file has: left by a crash of the machine in what was never flushed.
    Rubbish,
    /// Too few or too many values.
    ValueCount,
    /// The value of this column cannot be read.
    Value(&'static str),
    /// No client, and not declined: in v4 neither hardware address nor client identifier, in v6 an
    /// empty DUID.
    NoClient,
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rubbish => f.write_str("rubbish, as a power failure leaves it"),
            Self::ValueCount => f.write_str("number of values does not go with the header"),
            Self::Value(column) => write!(f, "cannot read {column}"),
            Self::NoClient => f.write_str("no client (hwaddr, client_id, duid), and not declined"),
        }
    }
}

/// The values of a row, in the order of the columns.
#[derive(Debug)]
pub struct Values<'a> {
    rest: Option<&'a [u8]>,
    taken: usize,
    most: usize,
}

impl<'a> Values<'a> {
    /// The values of `line`, of which there may be `most`.
    pub(super) const fn new(line: &'a [u8], most: usize) -> Self {
        Self { rest: Some(line), taken: 0, most }
    }

    /// The next value, of the column with this name.
    pub fn next(&mut self, column: &'static str) -> Value<'a> {
        self.taken += 1;
        let Some(rest) = self.rest else { return Value { text: None, column } };
        let end = rest.iter().position(|&octet| octet == b',');
        self.rest = end.map(|end| &rest[end + 1..]);
        Value { text: Some(&rest[..end.unwrap_or(rest.len())]), column }
    }

    /// To be called after the last column.
    ///
    /// # Errors
    ///
    /// When there are more values than there may be.
    pub fn end(&self) -> Result<(), RowFault> {
        let more = self.rest.map_or(0, |rest| rest.split(|&octet| octet == b',').count());
        if self.taken + more > self.most { Err(RowFault::ValueCount) } else { Ok(()) }
    }
}

/// Octets of an identity: at most 255.
#[derive(Debug)]
pub struct Octets {
    octets: [u8; 255],
    len: usize,
}

impl Octets {
    /// The octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// One value of a row; `None` when the row has ended before.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    text: Option<&'a [u8]>,
    column: &'static str,
}

impl<'a> Value<'a> {
    /// The value, or `default` when the row has ended before.
    #[must_use]
    pub fn or(self, default: &'a str) -> Self {
        Self { text: Some(self.text.unwrap_or(default.as_bytes())), ..self }
    }

    /// The value, or `default` when it is empty or the row has ended before.
    #[must_use]
    pub fn or_if_empty(self, default: &'a str) -> Self {
        let text = self.text.filter(|text| !text.is_empty());
        Self { text: Some(text.unwrap_or(default.as_bytes())), ..self }
    }

    /// That this value cannot be read.
    #[must_use]
    pub const fn fault(self) -> RowFault {
        RowFault::Value(self.column)
    }

    fn octets(self) -> Result<&'a [u8], RowFault> {
        self.text.ok_or(RowFault::ValueCount)
    }

    /// An address as text.
    ///
    /// # Errors
    ///
    /// When there is no value, or another one.
    pub fn address<T: FromStr>(self) -> Result<T, RowFault> {
        let text = self.octets()?;
        let text = std::str::from_utf8(text).map_err(|_| self.fault())?;
        text.parse().map_err(|_| self.fault())
    }

    /// A decimal number.
    ///
    /// # Errors
    ///
    /// When there is no value, or another one.
    pub fn number<T: TryFrom<u64>>(self) -> Result<T, RowFault> {
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

    /// 0 or 1.
    ///
    /// # Errors
    ///
    /// When there is no value, or another one.
    pub fn flag(self) -> Result<bool, RowFault> {
        match self.octets()? {
            b"0" => Ok(false),
            b"1" => Ok(true),
            _ => Err(self.fault()),
        }
    }

    /// Kea's state.
    ///
    /// # Errors
    ///
    /// When there is no value, or another one.
    pub fn state(self) -> Result<LeaseState, RowFault> {
        LeaseState::from_number(self.number()?).ok_or_else(|| self.fault())
    }

    /// Octets of one or two digits, parted by colons.
    ///
    /// # Errors
    ///
    /// When there is no value, or another one.
    pub fn colon_hex(self) -> Result<Octets, RowFault> {
        let text = self.octets()?;
        let mut octets = Octets { octets: [0; 255], len: 0 };
        if text.is_empty() {
            return Ok(octets);
        }
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

    /// A host name, at most as long as a name can be (RFC 1035 §2.3.4).
    ///
    /// # Errors
    ///
    /// When there is no value, or another one.
    pub fn hostname(self) -> Result<String, RowFault> {
        let name = self.unescaped()?;
        if name.len() <= 255 { Ok(name) } else { Err(self.fault()) }
    }

    /// JSON, or nothing.
    ///
    /// # Errors
    ///
    /// When there is no value, or another one.
    pub fn json(self) -> Result<String, RowFault> {
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
