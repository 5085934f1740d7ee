//! Value of a DHCPv4 option, which may be in pieces (RFC 3396).

use core::fmt;
use core::net::Ipv4Addr;

use super::Instances;

/// Value of a DHCPv4 option: all pieces with its code, joined in the order of RFC 3396 §7, without
/// a copy. Nearly always there is one piece, which [`OptionValue::as_slice`] returns.
#[derive(Clone, Copy)]
pub struct OptionValue<'a> {
    first: &'a [u8],
    /// Options among which further pieces of the option `code` may be.
    rest: Instances<'a>,
    code: u8,
    len: usize,
}

impl<'a> OptionValue<'a> {
    /// Returns the value `octets` in one piece, not part of a message.
    pub const fn from_slice(octets: &'a [u8]) -> Self {
        Self { first: octets, rest: Instances::NONE, code: 0, len: octets.len() }
    }

    /// Returns the value of option `code` whose first piece is `first`; `rest` are the options
    /// after that piece.
    #[cold]
    pub(super) fn joined(code: u8, first: &'a [u8], rest: Instances<'a>) -> Self {
        let more: usize =
            rest.filter(|&(other, _)| other == code).map(|(_, piece)| piece.len()).sum();
        Self { first, rest, code, len: first.len() + more }
    }

    /// Returns the length of the option's value in bytes, all pieces together.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the option's value has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the option's value as one slice; `None` when it is in several pieces.
    pub const fn as_slice(&self) -> Option<&'a [u8]> {
        if self.first.len() == self.len { Some(self.first) } else { None }
    }

    /// Returns the pieces of the option's value, in order; some may be empty.
    pub const fn fragments(&self) -> Fragments<'a> {
        Fragments { next: Some(self.first), rest: self.rest, code: self.code, left: self.len }
    }

    /// Returns the bytes of the option's value, one by one.
    pub fn octets(&self) -> impl Iterator<Item = u8> + Clone + use<'a> {
        self.fragments().flatten().copied()
    }

    /// Copies the option's value to the front of `target` and returns its length in bytes; `None`
    /// when it does not fit.
    #[must_use]
    pub fn copy_to(&self, target: &mut [u8]) -> Option<usize> {
        let mut target = target.get_mut(..self.len)?;
        for piece in self.fragments() {
            let (head, tail) = target.split_at_mut_checked(piece.len())?;
            head.copy_from_slice(piece);
            target = tail;
        }
        Some(self.len)
    }

    /// Returns `len` bytes of the option's value from `start` on; `None` when the value is too
    /// short.
    #[must_use]
    pub fn range(&self, start: usize, len: usize) -> Option<Self> {
        if start.checked_add(len)? > self.len {
            return None;
        }
        // Nearly always, and always for an empty range.
        if let Some(piece) = self.first.get(start..start + len) {
            return Some(OptionValue::from_slice(piece));
        }
        if len == 0 {
            return Some(OptionValue::from_slice(&[]));
        }
        let mut skip = start;
        let mut pieces = self.fragments();
        while let Some(piece) = pieces.next() {
            if let Some(tail) = piece.get(skip..).filter(|tail| !tail.is_empty()) {
                let first = tail.get(..len).unwrap_or(tail);
                return Some(Self { first, rest: pieces.rest, code: self.code, len });
            }
            skip -= piece.len();
        }
        None
    }

    /// Returns the first `N` bytes of the option's value; `None` when there are fewer.
    #[inline]
    pub fn leading<const N: usize>(&self) -> Option<[u8; N]> {
        if let Some(octets) = self.first.first_chunk::<N>() {
            return Some(*octets);
        }
        let mut octets = [0; N];
        self.range(0, N)?.copy_to(&mut octets)?;
        Some(octets)
    }

    /// Returns the option's value as a number; `None` when it is not one byte long.
    #[inline]
    pub fn u8(&self) -> Option<u8> {
        self.exactly::<1>().map(|[octet]| octet)
    }

    /// Returns the option's value as a number; `None` when it is not two bytes long.
    #[inline]
    pub fn u16(&self) -> Option<u16> {
        self.exactly().map(u16::from_be_bytes)
    }

    /// Returns the option's value as a number; `None` when it is not four bytes long.
    #[inline]
    pub fn u32(&self) -> Option<u32> {
        self.exactly().map(u32::from_be_bytes)
    }

    /// Returns the option's value as an IPv4 address; `None` when it is not four bytes long.
    #[inline]
    pub fn address(&self) -> Option<Ipv4Addr> {
        self.exactly::<4>().map(Ipv4Addr::from)
    }

    #[inline]
    fn exactly<const N: usize>(&self) -> Option<[u8; N]> {
        if self.len == N { self.leading() } else { None }
    }
}

/// Compares the bytes of two option values, however they are cut into pieces.
impl PartialEq for OptionValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.as_slice(), other.as_slice()) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => self.octets().eq(other.octets()),
        }
    }
}

impl Eq for OptionValue<'_> {}

impl PartialEq<[u8]> for OptionValue<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        *self == OptionValue::from_slice(other)
    }
}

impl<const N: usize> PartialEq<[u8; N]> for OptionValue<'_> {
    fn eq(&self, other: &[u8; N]) -> bool {
        *self == other[..]
    }
}

impl fmt::Debug for OptionValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.octets().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// Iterator over the pieces of a DHCPv4 option's value.
#[derive(Clone, Copy, Debug)]
pub struct Fragments<'a> {
    next: Option<&'a [u8]>,
    rest: Instances<'a>,
    code: u8,
    left: usize,
}

impl<'a> Iterator for Fragments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let piece = match self.next.take() {
            Some(piece) => piece,
            None if self.left == 0 => return None,
            None => {
                let code = self.code;
                self.rest.find(|&(other, _)| other == code)?.1
            }
        };
        let piece = piece.get(..self.left).unwrap_or(piece);
        self.left -= piece.len();
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_exact_length() {
        let value = OptionValue::from_slice(&[1, 2, 3, 4]);
        assert_eq!(value.u32(), Some(0x0102_0304));
        assert_eq!(value.address(), Some(Ipv4Addr::new(1, 2, 3, 4)));
        assert_eq!((value.u16(), value.u8()), (None, None));
        assert_eq!(value.leading::<2>(), Some([1, 2]));
        assert_eq!(value.leading::<5>(), None);
        assert_eq!(OptionValue::from_slice(&[9]).u8(), Some(9));
    }

    #[test]
    fn ranges_stay_inside() {
        let value = OptionValue::from_slice(b"godwit");
        assert_eq!(value.range(3, 3).unwrap(), *b"wit");
        assert_eq!(value.range(6, 0).unwrap(), *b"");
        assert_eq!(value.range(6, 1), None);
        assert_eq!(value.range(usize::MAX, 2), None);
        assert_eq!(value.range(0, 4).unwrap().range(3, 2), None);
        let mut short = [0; 5];
        assert_eq!(value.copy_to(&mut short), None);
    }
}
