//! Iteration over DHCPv6 options: those of a message, of a relay level, of an IA, of an address.

use super::Malformed;
use super::layout::OPTION_LEN;

/// Iterator over consecutive DHCPv6 options, as code and value. It ends early at an option that is
/// cut off, which counts as not sent, as in Kea.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dhcp6OptionIterator<'a> {
    rest: &'a [u8],
}

impl<'a> Dhcp6OptionIterator<'a> {
    /// Returns an iterator over the DHCPv6 options in `octets`, which begin with the first option's
    /// code: such as the value of an option that contains others.
    pub const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    /// Returns the bytes of the options that the iterator has not returned yet.
    pub const fn octets(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the value of the first option with this code; `None` when there is none.
    #[inline]
    pub fn get(self, code: u16) -> Option<&'a [u8]> {
        self.all(code).next()
    }

    /// Returns the values of all options with this code, in order.
    #[inline]
    pub fn all(self, code: u16) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.filter(move |&(found, _)| found == code).map(|(_, value)| value)
    }

    /// Returns code and text of the Status Code option (option 13) among these options; `None` when
    /// there is none.
    pub fn status(self) -> Option<(u16, &'a [u8])> {
        let (code, text) = self.get(super::option::STATUS_CODE)?.split_first_chunk()?;
        Some((u16::from_be_bytes(*code), text))
    }
}

impl<'a> Iterator for Dhcp6OptionIterator<'a> {
    type Item = (u16, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&[c0, c1, l0, l1], tail) = self.rest.split_first_chunk::<OPTION_LEN>()?;
        let (value, rest) = tail.split_at_checked(usize::from(u16::from_be_bytes([l0, l1])))?;
        self.rest = rest;
        Some((u16::from_be_bytes([c0, c1]), value))
    }
}

/// Iterator over the pieces of data in a User Class or Vendor Class option (options 15 and 16),
/// each after its length of two bytes. It ends early at a piece that is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Tuples<'a> {
    rest: &'a [u8],
    /// True if the last piece of data may be cut off by the end of its option.
    is_to_the_end: bool,
}

impl<'a> Tuples<'a> {
    /// Returns an iterator over the pieces of data in `octets`.
    pub const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets, is_to_the_end: false }
    }

    /// Returns an iterator over the pieces of data in `octets`, where the last one extends to the
    /// end when its length exceeds the remaining bytes.
    pub const fn to_the_end(octets: &'a [u8]) -> Self {
        Self { rest: octets, is_to_the_end: true }
    }

    /// Returns true after the last piece of data, unless it is cut off.
    pub const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'a> Iterator for Tuples<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let (len, tail) = self.rest.split_first_chunk()?;
        let len = usize::from(u16::from_be_bytes(*len));
        let len = if self.is_to_the_end { len.min(tail.len()) } else { len };
        let (piece, rest) = tail.split_at_checked(len)?;
        self.rest = rest;
        Some(piece)
    }
}

/// Iterator over the options of a message, a relay level or an option while a DHCPv6 packet is
/// checked. It counts them against the number of options that the packet may still have.
#[derive(Debug)]
pub(super) struct CountedOptions<'a, 'n> {
    options: Dhcp6OptionIterator<'a>,
    left: &'n mut usize,
}

impl<'a, 'n> CountedOptions<'a, 'n> {
    pub(super) const fn new(octets: &'a [u8], left: &'n mut usize) -> Self {
        Self { options: Dhcp6OptionIterator::new(octets), left }
    }

    /// Returns the next DHCPv6 option, and counts it; fails when the packet has too many.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u16, &'a [u8])>, Malformed> {
        let Some(found) = self.options.next() else { return Ok(None) };
        *self.left = self.left.checked_sub(1).ok_or(Malformed::TooManyOptions)?;
        Ok(Some(found))
    }

    /// Returns the bytes after the last option that the iterator returned.
    #[inline]
    pub(super) const fn rest(&self) -> &'a [u8] {
        self.options.octets()
    }

    /// Returns the number of options that the packet may still have, for the options inside of one.
    #[inline]
    pub(super) const fn left(&mut self) -> &mut usize {
        self.left
    }
}
