//! Codes of DHCP options, and sets of the codes below 256.

use core::fmt::Debug;
use core::ops::{BitAnd, BitOrAssign, Not};

/// Type of an option code: `u8` in DHCPv4, `u16` in DHCPv6.
pub trait OptionCode: Copy + Debug + Ord + Into<u16> + TryFrom<u16> {
    /// Code of the option that names vendor classes: 124 in DHCPv4 (RFC 3925), 16 in DHCPv6 (RFC
    /// 9915).
    const VENDOR_CLASS: u16;
    /// Code of the option with a vendor's sub-options: 125 in DHCPv4 (RFC 3925), 17 in DHCPv6 (RFC
    /// 9915).
    const VENDOR_OPTIONS: u16;
}

impl OptionCode for u8 {
    const VENDOR_CLASS: u16 = 124;
    const VENDOR_OPTIONS: u16 = 125;
}

impl OptionCode for u16 {
    const VENDOR_CLASS: u16 = 16;
    const VENDOR_OPTIONS: u16 = 17;
}

/// Set of DHCP option codes below 256: every code of DHCPv4, and all codes of DHCPv6 that have a
/// standard. Higher codes are never in the set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeSet([u64; 4]);

impl CodeSet {
    /// Returns the set of the option codes `codes`, all of them below 256.
    #[must_use]
    pub const fn from_codes(codes: &[u16]) -> Self {
        let mut words = [0; 4];
        let mut at = 0;
        while at < codes.len() {
            words[(codes[at] >> 6) as usize] |= 1 << (codes[at] & 63);
            at += 1;
        }
        Self(words)
    }

    /// Returns true if the set contains no option code.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Returns true if the option code `code` can be in a set: it is below 256.
    #[must_use]
    pub const fn can_hold(code: u16) -> bool {
        code < 256
    }

    /// Adds an option code to the set.
    pub const fn insert(&mut self, code: u16) {
        if Self::can_hold(code) {
            self.0[(code >> 6) as usize] |= 1 << (code & 63);
        }
    }

    /// Removes an option code from the set; returns true if the set contained it.
    pub const fn take(&mut self, code: u16) -> bool {
        let is_in = self.contains(code);
        if is_in {
            self.0[(code >> 6) as usize] &= !(1 << (code & 63));
        }
        is_in
    }

    /// Returns true if the option code `code` is in the set.
    #[must_use]
    pub const fn contains(&self, code: u16) -> bool {
        Self::can_hold(code) && self.0[(code >> 6) as usize] & (1 << (code & 63)) != 0
    }

    /// Returns the option codes in the set, ascending.
    pub fn iter(self) -> impl Iterator<Item = u16> + Clone {
        (0..4_u16).zip(self.0).flat_map(|(word, mut bits)| {
            core::iter::from_fn(move || {
                let bit = bits.trailing_zeros() as u16;
                (bits != 0).then(|| {
                    bits &= bits - 1;
                    word * 64 + bit
                })
            })
        })
    }
}

impl BitOrAssign for CodeSet {
    fn bitor_assign(&mut self, other: Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }
}

impl BitAnd for CodeSet {
    type Output = Self;

    fn bitand(mut self, other: Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= other;
        }
        self
    }
}

impl Not for CodeSet {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0.map(|word| !word))
    }
}

#[cfg(test)]
mod tests {
    use super::CodeSet;

    #[test]
    fn a_set_holds_what_was_put_in_and_not_taken_out() {
        let mut set = CodeSet::from_codes(&[255, 0, 64]);
        set.insert(63);
        set.insert(256);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 255]);
        assert!(set.take(64) && !set.take(64) && !set.take(256) && !set.contains(65_535));
        assert_eq!((set & !CodeSet::from_codes(&[0])).iter().collect::<Vec<_>>(), [63, 255]);
    }
}
