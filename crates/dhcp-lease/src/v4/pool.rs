//! Pools: ranges of addresses that leases are given from.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::family::PoolIndex;

/// A range of addresses to give leases from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSpec {
    /// `id` of the subnet that the pool belongs to.
    pub subnet_id: u32,
    /// `pool-id` in the configuration, 0 when it has none.
    pub pool_id: u32,
    /// First address.
    pub first: Ipv4Addr,
    /// Last address, included.
    pub last: Ipv4Addr,
}

impl PoolSpec {
    /// Whether `address` is one of the pool's.
    #[must_use]
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.first <= address && address <= self.last
    }
}

/// Where a pool's search for a free address starts; alone in its cache lines, since every shard
/// that gives addresses from the pool writes it.
#[derive(Debug)]
#[repr(align(128))]
struct Cursor(AtomicU32);

/// The pools of one configuration snapshot, in its order, each with the position that its next
/// address is looked for at.
#[derive(Debug)]
pub struct PoolSet {
    specs: Vec<PoolSpec>,
    /// Positions in `specs`, ascending by first address.
    by_first: Vec<u32>,
    /// Highest last address of the pools up to here in `by_first`.
    reach: Vec<Ipv4Addr>,
    cursors: Vec<Cursor>,
}

impl PoolSet {
    /// The pools `specs`. A pool that `before` had with the same bounds goes on where it was.
    pub(super) fn new(specs: &[PoolSpec], before: Option<&Self>) -> Self {
        let mut by_first: Vec<u32> = (0..specs.len() as u32).collect();
        by_first.sort_by_key(|&position| specs[position as usize].first);
        let reach = by_first
            .iter()
            .scan(Ipv4Addr::UNSPECIFIED, |highest, &position| {
                *highest = specs[position as usize].last.max(*highest);
                Some(*highest)
            })
            .collect();
        let cursors = specs
            .iter()
            .map(|spec| {
                let position = before.and_then(|before| before.position_of(spec));
                Cursor(AtomicU32::new(position.unwrap_or_else(|| u32::from(spec.first))))
            })
            .collect();
        Self { specs: specs.to_vec(), by_first, reach, cursors }
    }

    /// The pools, in the order of [`PoolIndex`].
    #[must_use]
    pub fn specs(&self) -> &[PoolSpec] {
        &self.specs
    }

    /// The pool that holds `address`; of overlapping pools the one that starts last.
    #[must_use]
    pub fn find(&self, address: Ipv4Addr) -> Option<PoolIndex> {
        let starts_before =
            self.by_first.partition_point(|&position| self.spec(position).first <= address);
        self.by_first[..starts_before]
            .iter()
            .zip(&self.reach)
            .rev()
            .take_while(|&(_, &reach)| reach >= address)
            .find(|&(&position, _)| self.spec(position).last >= address)
            .map(|(&position, _)| PoolIndex(position))
    }

    /// The address at which the search in `pool` starts.
    pub(super) fn cursor(&self, pool: PoolIndex) -> u32 {
        self.cursors[pool.0 as usize].0.load(Ordering::Relaxed)
    }

    /// Lets the next search in `pool` start after `given`. Two shards may set it at the same time
    /// and the earlier address win: the search then passes what the other has taken.
    pub(super) fn advance(&self, pool: PoolIndex, given: u32) {
        self.cursors[pool.0 as usize].0.store(given.wrapping_add(1), Ordering::Relaxed);
    }

    fn spec(&self, position: u32) -> &PoolSpec {
        &self.specs[position as usize]
    }

    fn position_of(&self, wanted: &PoolSpec) -> Option<u32> {
        let start = self.by_first.partition_point(|&at| self.spec(at).first < wanted.first);
        self.by_first[start..]
            .iter()
            .take_while(|&&at| self.spec(at).first == wanted.first)
            .find(|&&at| self.spec(at).last == wanted.last)
            .map(|&at| self.cursor(PoolIndex(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(first: u32, last: u32) -> PoolSpec {
        PoolSpec { subnet_id: 1, pool_id: 0, first: first.into(), last: last.into() }
    }

    #[test]
    fn an_address_finds_its_pool_also_behind_a_nested_one() {
        let set = PoolSet::new(&[spec(500, 600), spec(100, 400), spec(150, 160)], None);
        let found = |address: u32| set.find(address.into()).map(|PoolIndex(index)| index);
        assert_eq!(found(99), None);
        assert_eq!(found(100), Some(1));
        assert_eq!(found(155), Some(2));
        assert_eq!(found(161), Some(1));
        assert_eq!(found(450), None);
        assert_eq!(found(600), Some(0));
        assert_eq!(found(601), None);
    }

    #[test]
    fn a_pool_that_stays_keeps_its_position() {
        let old = PoolSet::new(&[spec(100, 200), spec(300, 400)], None);
        old.advance(PoolIndex(1), 349);
        let new = PoolSet::new(&[spec(300, 400), spec(100, 201)], Some(&old));
        assert_eq!(new.cursor(PoolIndex(0)), 350);
        assert_eq!(new.cursor(PoolIndex(1)), 100);
    }
}
