//! Pools: ranges of addresses that leases are given from.

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::family::PoolIndex;
use crate::table::leased::{Leased, Places};

/// Where a pool's search for a free address starts, as a place; alone in its cache lines, since
/// every shard that gives addresses from the pool writes it.
#[derive(Debug)]
#[repr(align(128))]
struct Cursor(AtomicU32);

/// Which free address of a pool is given next (Kea's `allocator`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocator {
    /// The next after the one given last, from the start again after the end.
    #[default]
    Iterative,
    /// One after the other in an order that nobody foresees, each once before any comes again.
    Random,
    /// The one that has been free longest.
    FreeLeaseQueue,
}

/// The pools of one configuration snapshot, in its order, each with the position that its next
/// address is looked for at.
pub struct PoolSet<F: Leased> {
    specs: Vec<F::Spec>,
    runs: Vec<<F::Places as Places<F>>::Run>,
    /// Positions in `specs`, ascending by first address.
    by_first: Vec<u32>,
    /// Highest last address of the pools up to here in `by_first`.
    reach: Vec<F::Address>,
    cursors: Vec<Cursor>,
}

impl<F: Leased> PoolSet<F> {
    /// The pools `specs`, which are at `runs`. A pool that `before` had with the same bounds goes
    /// on where it was.
    pub(crate) fn new(
        specs: &[F::Spec],
        runs: Vec<<F::Places as Places<F>>::Run>,
        before: Option<&Self>,
    ) -> Self {
        let mut by_first: Vec<u32> = (0..specs.len() as u32).collect();
        by_first.sort_by_key(|&position| F::bounds(&specs[position as usize]).0);
        let mut reach: Vec<F::Address> = Vec::with_capacity(specs.len());
        for &position in &by_first {
            let last = F::bounds(&specs[position as usize]).1;
            reach.push(reach.last().map_or(last, |&highest| highest.max(last)));
        }
        let cursors = specs
            .iter()
            .zip(&runs)
            .map(|(spec, run)| {
                let position = before.and_then(|before| before.position_of(spec));
                Cursor(AtomicU32::new(position.unwrap_or_else(|| F::Places::start(spec, run))))
            })
            .collect();
        Self { specs: specs.to_vec(), runs, by_first, reach, cursors }
    }

    /// The pools, in the order of [`PoolIndex`].
    #[must_use]
    pub fn specs(&self) -> &[F::Spec] {
        &self.specs
    }

    /// The pool that holds `address`; of overlapping pools the one that starts last.
    #[must_use]
    pub fn find(&self, address: F::Address) -> Option<PoolIndex> {
        let starts_before =
            self.by_first.partition_point(|&position| self.bounds(position).0 <= address);
        self.by_first[..starts_before]
            .iter()
            .zip(&self.reach)
            .rev()
            .take_while(|&(_, &reach)| reach >= address)
            .find(|&(&position, _)| self.bounds(position).1 >= address)
            .map(|(&position, _)| PoolIndex(position))
    }

    /// Where the addresses of `pool` are.
    pub(crate) fn run(&self, pool: PoolIndex) -> &<F::Places as Places<F>>::Run {
        &self.runs[pool.0 as usize]
    }

    /// Whether `address` is one of `pool`'s.
    pub(crate) fn contains(&self, pool: PoolIndex, address: F::Address) -> bool {
        let (first, last) = self.bounds(pool.0);
        first <= address && address <= last
    }

    /// The place at which the search in `pool` starts.
    pub(crate) fn cursor(&self, pool: PoolIndex) -> u32 {
        self.cursors[pool.0 as usize].0.load(Ordering::Relaxed)
    }

    /// Lets the next search in `pool` start after `given`. Two shards may set it at the same time
    /// and the earlier address win: the search then passes what the other has taken.
    pub(crate) fn advance(&self, pool: PoolIndex, given: u32) {
        self.cursors[pool.0 as usize].0.store(given.wrapping_add(1), Ordering::Relaxed);
    }

    fn bounds(&self, position: u32) -> (F::Address, F::Address) {
        F::bounds(&self.specs[position as usize])
    }

    fn position_of(&self, wanted: &F::Spec) -> Option<u32> {
        let (first, last) = F::bounds(wanted);
        let start = self.by_first.partition_point(|&at| self.bounds(at).0 < first);
        self.by_first[start..]
            .iter()
            .take_while(|&&at| self.bounds(at).0 == first)
            .find(|&&at| self.bounds(at).1 == last)
            .map(|&at| self.cursor(PoolIndex(at)))
    }
}

impl<F: Leased> fmt::Debug for PoolSet<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolSet").field("specs", &self.specs).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv6Addr;

    use super::*;
    use crate::sample::Sample as _;
    use crate::v4::{self, V4};
    use crate::v6::{self, IaKind, Resource, V6};

    fn spec(first: u32, last: u32) -> v4::PoolSpec {
        V4::pool(first, last)
    }

    fn set(specs: &[v4::PoolSpec], before: Option<&PoolSet<V4>>) -> PoolSet<V4> {
        PoolSet::new(specs, vec![(); specs.len()], before)
    }

    #[test]
    fn an_address_finds_its_pool_also_behind_a_nested_one() {
        let set = set(&[spec(500, 600), spec(100, 400), spec(150, 160)], None);
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
        let old = set(&[spec(100, 200), spec(300, 400)], None);
        old.advance(PoolIndex(1), 349);
        let new = set(&[spec(300, 400), spec(100, 201)], Some(&old));
        assert_eq!(new.cursor(PoolIndex(0)), 350);
        assert_eq!(new.cursor(PoolIndex(1)), 100);
    }

    #[test]
    fn addresses_and_prefixes_of_every_length_have_pools_of_their_own() {
        let spec = |kind, len, first: u128, last: u128| v6::PoolSpec {
            kind,
            len,
            first: Ipv6Addr::from_bits(first),
            last: Ipv6Addr::from_bits(last),
            ..V6::pool(0, 0)
        };
        let specs = [
            spec(IaKind::Prefix, 120, 0x100, 0x900),
            spec(IaKind::Address, 128, 0x100, 0x1ff),
            spec(IaKind::Prefix, 124, 0x100, 0x1f0),
        ];
        let runs = (0..specs.len()).map(|_| Default::default()).collect();
        let set = PoolSet::<V6>::new(&specs, runs, None);
        let found = |resource| set.find(resource).map(|PoolIndex(index)| index);
        assert_eq!(found(Resource::address(Ipv6Addr::from_bits(0x150))), Some(1));
        assert_eq!(found(Resource::address(Ipv6Addr::from_bits(0x200))), None);
        assert_eq!(found(Resource::prefix(Ipv6Addr::from_bits(0x900), 120)), Some(0));
        assert_eq!(found(Resource::prefix(Ipv6Addr::from_bits(0x150), 124)), Some(2));
        assert_eq!(found(Resource::prefix(Ipv6Addr::from_bits(0x150), 128)), None);
    }
}
