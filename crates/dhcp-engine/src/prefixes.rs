//! Table from addresses to the subnets that they belong to (Kea reference §5.4), by binary search
//! instead of a scan.
//!
//! Addresses are numbers here, `u32` or `u128`. Prefixes nest or are disjoint, so the address space
//! is cut once into intervals that each name the first subnet, in configuration order, whose prefix
//! contains them, and the innermost one, from which all others are found.

use core::cmp::Reverse;

use base::{AddressBits, Firsts};

/// Position of a subnet in the configuration.
pub type SubnetIndex = u32;

/// Sorted table from addresses to the subnets that contain them.
#[derive(Clone, Debug, Default)]
pub struct PrefixTable<A> {
    /// First address of each interval, ascending: a search reads only these of the intervals that
    /// it passes.
    firsts: Firsts<A>,
    /// Disjoint intervals of addresses, in the order of `firsts`.
    intervals: Vec<PrefixInterval<A>>,
    /// Subnet with the next larger prefix that contains each subnet's own prefix, by
    /// [`SubnetIndex`].
    outer: Vec<Option<SubnetIndex>>,
}

/// Run of addresses that are in the same subnet prefixes.
#[derive(Clone, Copy, Debug)]
struct PrefixInterval<A> {
    first: A,
    last: A,
    /// Subnet that is first in the configuration, of all that contain the interval.
    winner: SubnetIndex,
    /// Subnet with the longest prefix, of all that contain the interval.
    inner: SubnetIndex,
}

impl<A: AddressBits> PrefixTable<A> {
    /// Returns the table of `prefixes`: (first address, last address, subnet), in configuration
    /// order, each pair nested or disjoint.
    #[must_use]
    pub fn new(prefixes: &[(A, A, SubnetIndex)]) -> Self {
        let mut sorted = prefixes.to_vec();
        // Outer prefixes come before inner ones, so that a stack mirrors the nesting.
        sorted.sort_by_key(|&(first, last, subnet)| (first, Reverse(last), subnet));
        let subnets = prefixes.iter().map(|&(_, _, subnet)| subnet as usize + 1).max();
        let mut builder = PrefixTableBuilder {
            stack: Vec::new(),
            covered: None,
            intervals: Vec::new(),
            outer: vec![None; subnets.unwrap_or(0)],
        };
        for (first, last, subnet) in sorted {
            builder.close_before(first);
            builder.open(first, last, subnet);
        }
        builder.close_all();
        let PrefixTableBuilder { intervals, outer, .. } = builder;
        Self { firsts: Firsts::new(intervals.iter().map(|one| one.first)), intervals, outer }
    }

    /// Returns the first subnet in the configuration whose prefix contains `address`.
    #[must_use]
    pub fn find(&self, address: A) -> Option<SubnetIndex> {
        self.interval(address).map(|interval| interval.winner)
    }

    /// Returns the first subnet in the configuration, among those that `admits` accepts, whose
    /// prefix contains `address`.
    pub fn find_where(
        &self,
        address: A,
        admits: impl Fn(SubnetIndex) -> bool,
    ) -> Option<SubnetIndex> {
        let PrefixInterval { winner, inner, .. } = *self.interval(address)?;
        if admits(winner) {
            return Some(winner);
        }
        core::iter::successors(Some(inner), |&subnet| self.outer[subnet as usize])
            .filter(|&subnet| admits(subnet))
            .min()
    }

    fn interval(&self, address: A) -> Option<&PrefixInterval<A>> {
        let after = self.firsts.count_through(address);
        let interval = self.intervals.get(after.checked_sub(1)?)?;
        (address <= interval.last).then_some(interval)
    }
}

struct PrefixTableBuilder<A> {
    /// Subnet prefixes whose end the builder has not reached yet, outermost first, each as an
    /// interval.
    stack: Vec<PrefixInterval<A>>,
    /// Last address that the emitted intervals cover so far.
    covered: Option<A>,
    intervals: Vec<PrefixInterval<A>>,
    outer: Vec<Option<SubnetIndex>>,
}

impl<A: AddressBits> PrefixTableBuilder<A> {
    fn open(&mut self, first: A, last: A, subnet: SubnetIndex) {
        let outer = self.stack.last().copied();
        if let Some(outer) = outer
            && outer.first < first
        {
            self.emit(PrefixInterval { last: first.previous(), ..outer });
        }
        let winner = outer.map_or(subnet, |outer| outer.winner.min(subnet));
        self.outer[subnet as usize] = outer.map(|outer| outer.inner);
        self.stack.push(PrefixInterval { first, last, winner, inner: subnet });
    }

    fn close_before(&mut self, address: A) {
        while self.stack.last().is_some_and(|open| open.last < address) {
            self.close();
        }
    }

    fn close_all(&mut self) {
        while !self.stack.is_empty() {
            self.close();
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.stack.pop() {
            self.emit(open);
        }
    }

    /// Adds to the table the part of `interval` that no other interval covers yet.
    fn emit(&mut self, interval: PrefixInterval<A>) {
        let first = match self.covered {
            Some(covered) => match covered.next() {
                Some(next) => interval.first.max(next),
                None => return,
            },
            None => interval.first,
        };
        if first <= interval.last {
            self.intervals.push(PrefixInterval { first, ..interval });
            self.covered = Some(interval.last);
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
                let shut = random.below(12) as SubnetIndex;
                let holds = |p: &&(u32, u32, _)| p.0 <= address && address <= p.1 && p.2 != shut;
                assert_eq!(
                    table.find_where(address, |subnet| subnet != shut),
                    prefixes.iter().find(holds).map(|p| p.2),
                    "{address} in {prefixes:?} without {shut}"
                );
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
