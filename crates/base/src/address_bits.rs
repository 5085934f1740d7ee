//! Arithmetic of IP addresses and prefixes, which are numbers here: `u32` or `u128`.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Type of an IP address as a number: `u32` for IPv4, `u128` for IPv6.
pub trait AddressBits: Copy + Ord {
    /// Returns the address after this one; `None` after the last.
    fn next(self) -> Option<Self>;
    /// Returns the address before this one; wraps around at 0.
    fn previous(self) -> Self;
    /// Returns the bits after the first `len` of an address; none if `len` is its width or more.
    fn host_mask(len: u8) -> Self;
    /// Returns the first and last address of the prefix of `len` bits that contains this address.
    fn bounds(self, len: u8) -> (Self, Self);
}

macro_rules! address_bits {
    ($($bits:ty),+) => {$(
        impl AddressBits for $bits {
            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }

            fn previous(self) -> Self {
                self.wrapping_sub(1)
            }

            fn host_mask(len: u8) -> Self {
                Self::MAX.checked_shr(u32::from(len)).unwrap_or(0)
            }

            fn bounds(self, len: u8) -> (Self, Self) {
                let host = Self::host_mask(len);
                (self & !host, self | host)
            }
        }
    )+};
}

address_bits!(u32, u128);

/// Returns the first `len` bits of an IPv6 address, as a mask; all if `len` is 128 or more.
pub const fn network_mask_v6(len: u8) -> u128 {
    // A trait has no constant functions.
    match u128::MAX.checked_shr(len as u32) {
        Some(host) => !host,
        None => u128::MAX,
    }
}

/// Returns the first and last address of the prefix of `len` bits that contains `address`; `None`
/// if `len` is more than the width of the address.
pub fn prefix_bounds(address: IpAddr, len: u8) -> Option<(IpAddr, IpAddr)> {
    match address {
        IpAddr::V4(address) if len <= 32 => {
            let (first, last) = address.to_bits().bounds(len);
            Some((Ipv4Addr::from_bits(first).into(), Ipv4Addr::from_bits(last).into()))
        }
        IpAddr::V6(address) if len <= 128 => {
            let (first, last) = address.to_bits().bounds(len);
            Some((Ipv6Addr::from_bits(first).into(), Ipv6Addr::from_bits(last).into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_every_length_have_bounds() {
        let address = 0xc000_0281_u32;
        assert_eq!(address.bounds(24), (0xc000_0200, 0xc000_02ff));
        assert_eq!(
            (address.bounds(32), address.bounds(200)),
            ((address, address), (address, address))
        );
        assert_eq!(address.bounds(0), (0, u32::MAX));
        assert_eq!(5_u128.bounds(127), (4, 5));
        for len in 0..=u8::MAX {
            assert_eq!(network_mask_v6(len), !u128::host_mask(len));
        }
    }

    #[test]
    fn the_address_space_has_ends() {
        assert_eq!((u32::MAX.next(), 6_u32.next(), 0_u128.previous()), (None, Some(7), u128::MAX));
    }
}
