//! Operations that IPv4 and IPv6 addresses have in common: bits, prefixes, spelling.

use base::AddressBits as _;
use core::fmt::{Debug, Display};
use core::net::{Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// IP address of one family, as the shared readers of configurations use it.
pub(crate) trait Address: Copy + Ord + Debug + Display + FromStr {
    /// Number of bits of an address: 32 or 128.
    const BITS: u8;
    /// Kind of address in messages, with its article.
    const KIND: &'static str;

    /// Returns the address as a number, in the low [`Self::BITS`] bits.
    fn to_bits(self) -> u128;

    /// Returns the address whose low [`Self::BITS`] bits are those of `bits`.
    fn from_bits(bits: u128) -> Self;

    /// Returns true if the address is a multicast address, which names a group of receivers.
    fn is_group(self) -> bool;
}

impl Address for Ipv4Addr {
    const BITS: u8 = 32;
    const KIND: &'static str = "an IPv4 address";

    fn to_bits(self) -> u128 {
        Self::to_bits(self).into()
    }

    fn from_bits(bits: u128) -> Self {
        Self::from_bits(bits as u32)
    }

    fn is_group(self) -> bool {
        self.is_multicast()
    }
}

impl Address for Ipv6Addr {
    const BITS: u8 = 128;
    const KIND: &'static str = "an IPv6 address";

    fn to_bits(self) -> u128 {
        Self::to_bits(self)
    }

    fn from_bits(bits: u128) -> Self {
        Self::from_bits(bits)
    }

    fn is_group(self) -> bool {
        self.is_multicast()
    }
}

/// Returns a mask of the host bits of an address, those after a prefix of `length` bits.
fn host_bits<A: Address>(length: u8) -> u128 {
    u128::host_mask((128 - A::BITS).saturating_add(length))
}

/// Returns the address with its host bits cleared: the first address of its prefix.
pub(crate) fn first_of<A: Address>(address: A, length: u8) -> A {
    A::from_bits(address.to_bits() & !host_bits::<A>(length))
}

/// Returns the address with its host bits set: the last address of its prefix.
pub(crate) fn last_of<A: Address>(address: A, length: u8) -> A {
    A::from_bits(address.to_bits() | host_bits::<A>(length))
}

/// Returns true if the range from `first` to `last` is the whole address space of the family.
pub(crate) fn is_everything<A: Address>(first: A, last: A) -> bool {
    first.to_bits() == 0 && last.to_bits() == host_bits::<A>(0)
}

/// Reads an address and a prefix length from the text `address/length`; host bits may be set.
pub(crate) fn prefix<A: Address>(text: &str) -> Option<(A, u8)> {
    let (address, length) = text.split_once('/')?;
    let length = length.trim().parse().ok().filter(|length| *length <= A::BITS)?;
    Some((address.trim().parse().ok()?, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_a_first_and_a_last_address() {
        for (text, first, last) in [
            ("2001:db8::1/64", "2001:db8::", "2001:db8::ffff:ffff:ffff:ffff"),
            ("2001:db8::1/128", "2001:db8::1", "2001:db8::1"),
            ("2001:db8::1/0", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2001:db8:ffff::/47", "2001:db8:fffe::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
        ] {
            let (address, length) = prefix::<Ipv6Addr>(text).unwrap();
            assert_eq!(first_of(address, length), first.parse::<Ipv6Addr>().unwrap(), "{text}");
            assert_eq!(last_of(address, length), last.parse::<Ipv6Addr>().unwrap(), "{text}");
        }
        let (address, length) = prefix::<Ipv4Addr>("10.1.2.3/23").unwrap();
        assert_eq!(first_of(address, length), Ipv4Addr::new(10, 1, 2, 0));
        assert_eq!(last_of(address, length), Ipv4Addr::new(10, 1, 3, 255));
        assert_eq!(last_of(address, 32), address);
        assert!(is_everything(Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST));
        assert!(!is_everything(Ipv6Addr::UNSPECIFIED, Ipv6Addr::LOCALHOST));
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0/8", "2001:db8::/64", "/8", "10.0.0.0/"] {
            assert_eq!(prefix::<Ipv4Addr>(text), None, "{text}");
        }
        for text in ["2001:db8::", "2001:db8::/129", "2001:db8/32", "10.0.0.0/8", "::/-1"] {
            assert_eq!(prefix::<Ipv6Addr>(text), None, "{text}");
        }
    }
}
