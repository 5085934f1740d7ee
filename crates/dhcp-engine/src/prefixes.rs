//! Which subnet an address belongs to (Kea reference §5.4), by binary search instead of a scan.
//!
//! Addresses are numbers here, `u32` or `u128`. Prefixes nest or are disjoint, so the address space is cut once into intervals that each name
//! the first subnet, in configuration order, whose prefix contains them.

use core::cmp::Reverse;

/// An address as a number.
pub trait AddressBits: Copy + Ord {
    /// The number after this one; `None` after the last.
    fn next(self) -> Option<Self>;
    /// The number before this one; wraps around at 0, which is before none.
    fn previous(self) -> Self;
    /// First and last address of the prefix of `len` bits that this one lies in.
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

            fn bounds(self, len: u8) -> (Self, Self) {
                let host = Self::MAX.checked_shr(u32::from(len)).unwrap_or(0);
                (self & !host, self | host)
            }
        }
    )+};
}

address_bits!(u32, u128);

/// A subnet's position in the configuration.
pub type SubnetIndex = u32;

/// A sorted table from addresses to subnets.
#[derive(Clone, Debug, Default)]
pub struct PrefixTable<A> {
    /// (first address, last address, subnet), disjoint, ascending.
    intervals: Vec<(A, A, SubnetIndex)>,
}

impl<A: AddressBits> PrefixTable<A> {
    /// The table of `prefixes`: (first address, last address, subnet), in configuration order,
    /// each pair nested or disjoint.
    #[must_use]
    pub fn new(prefixes: &[(A, A, SubnetIndex)]) -> Self {
        let mut sorted = prefixes.to_vec();
        // Outer prefixes before inner ones, so that a stack mirrors the nesting.
        sorted.sort_by_key(|&(first, last, subnet)| (first, Reverse(last), subnet));
        let mut builder = Builder { stack: Vec::new(), covered: None, intervals: Vec::new() };
        for prefix in sorted {
            builder.close_before(prefix.0);
            builder.open(prefix);
        }
        builder.close_all();
        Self { intervals: builder.intervals }
    }

    /// The subnet whose prefix contains `address`.
    #[must_use]
    pub fn find(&self, address: A) -> Option<SubnetIndex> {
        let after = self.intervals.partition_point(|&(first, _, _)| first <= address);
        let &(_, last, subnet) = self.intervals.get(after.checked_sub(1)?)?;
        (address <= last).then_some(subnet)
    }
}

struct Builder<A> {
    /// Open prefixes, outermost first: (first address, last address, winner among this one and all
    /// outer ones).
    stack: Vec<(A, A, SubnetIndex)>,
    /// Last address that an interval covers so far.
    covered: Option<A>,
    intervals: Vec<(A, A, SubnetIndex)>,
}

impl<A: AddressBits> Builder<A> {
    fn open(&mut self, (first, last, subnet): (A, A, SubnetIndex)) {
        let outer = self.stack.last().copied();
        if let Some((outer_first, _, winner)) = outer
            && outer_first < first
        {
            self.emit(outer_first, first.previous(), winner);
        }
        let winner = outer.map_or(subnet, |(_, _, outer)| outer.min(subnet));
        self.stack.push((first, last, winner));
    }

    fn close_before(&mut self, address: A) {
        while self.stack.last().is_some_and(|&(_, last, _)| last < address) {
            self.close();
        }
    }

    fn close_all(&mut self) {
        while !self.stack.is_empty() {
            self.close();
        }
    }

    fn close(&mut self) {
        if let Some((first, last, winner)) = self.stack.pop() {
            self.emit(first, last, winner);
        }
    }

    /// Covers what of `first` to `last` no interval covers yet.
    fn emit(&mut self, first: A, last: A, winner: SubnetIndex) {
        let start = match self.covered {
            Some(covered) => match covered.next() {
                Some(next) => first.max(next),
                None => return,
            },
            None => first,
        };
        if start <= last {
            self.intervals.push((start, last, winner));
            self.covered = Some(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    #[test]
    fn a_prefix_has_bounds() {
        assert_eq!(0x0a01_0203_u32.bounds(8), (0x0a00_0000, 0x0aff_ffff));
        assert_eq!(7_u32.bounds(32), (7, 7));
        assert_eq!(7_u128.bounds(0), (0, u128::MAX));
    }

    #[test]
    fn agrees_with_a_linear_scan() {
        let mut random = Random::from_seed(11);
        for _ in 0..2_000 {
            let count = random.below(12);
            let prefixes: Vec<(u32, u32, SubnetIndex)> = (0..count)
                .map(|subnet| {
                    let len = random.below(9) as u32;
                    let size = 1_u32 << (8 - len);
                    let first = (random.below(256) as u32) / size * size;
                    (first, first + (size - 1), subnet as u32)
                })
                .collect();
            let table = PrefixTable::new(&prefixes);
            for address in 0..300_u32 {
                let scanned = prefixes.iter().find(|p| p.0 <= address && address <= p.1);
                assert_eq!(table.find(address), scanned.map(|p| p.2), "{address} in {prefixes:?}");
            }
        }
    }

    #[test]
    fn the_last_address_of_all_belongs_to_a_default_prefix() {
        let table = PrefixTable::new(&[(0, u128::MAX, 0), (u128::MAX, u128::MAX, 1)]);
        assert_eq!(table.find(u128::MAX), Some(0));
        assert_eq!(PrefixTable::default().find(7_u32), None);
    }
}
