//! Map of the addresses that were ever in a pool, of the free ones among them, and of the rows
//! (memory locations) of their slots: a lock-free tree over the whole space of slot numbers, filled
//! in where pools are. A slot number is a 32-bit number that belongs to an address; in DHCPv4 it is
//! the address itself, so this module calls it an address.
//!
//! A free bit is a hint; the slot decides. The bits of an address are the same for every
//! configuration, so an address that becomes free is found at once by transactions on old and new
//! snapshots alike, and a reconfiguration touches only addresses that no pool had before.
//!
//! Five levels of 64-way words lead from an address to the root: a bit of a summary word says that
//! the word below it is not empty. Finding the next free address reads at most nine words, at any
//! fill. No operation waits: a thread that empties a word clears its summary bit, looks at the word
//! again and puts the bit back if the word has been refilled meanwhile, so that a quiet tree never
//! hides a free address. The opposite (a summary bit over an empty word) can remain; a search that
//! meets it clears it.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

/// Number of stripes of the lease table: parts, by address, each with its own lock. Consecutive
/// addresses lie in different ones.
pub(super) const STRIPES: usize = 256;
/// Number of bits of an address within a region of the map: a region covers a /12.
const REGION_BITS: u32 = 20;
const REGIONS: usize = 1 << (32 - REGION_BITS);
/// Number of bits of an address within a part of a region: a part covers a /18.
const PART_BITS: u32 = 14;
const PARTS: usize = 1 << (REGION_BITS - PART_BITS);
const PART_WORDS: usize = 1 << (PART_BITS - 6);
const PART_BLOCKS: usize = 1 << (PART_BITS - 8);
/// Highest summary level of the tree of free bits.
const TOP_LEVEL: u32 = 4;

/// State of the addresses of one /12 that contains a pool; with all its parts about 290 kB.
struct Region {
    parts: [OnceLock<Box<RegionPart>>; PARTS],
    /// Summary bits of levels 1 and 2 of the region.
    first_summary: [AtomicU64; 1 << (REGION_BITS - 12)],
    second_summary: [AtomicU64; 1 << (REGION_BITS - 18)],
}

/// State of the addresses of a /18 that contains a pool.
struct RegionPart {
    /// Bits of the addresses that have been in a pool, never cleared.
    pooled: [AtomicU64; PART_WORDS],
    /// Bits of level 0 of the tree: set while the address is free and no thread is about to take
    /// it.
    free: [AtomicU64; PART_WORDS],
    /// Bits of the addresses that are reserved, whose free bits stay clear.
    reserved: [AtomicU64; PART_WORDS],
    /// Row (memory location) of the slots of each block of 256 addresses, plus one; 0 = none.
    rows: [AtomicU32; PART_BLOCKS],
}

impl Region {
    fn new() -> Self {
        Self {
            parts: [const { OnceLock::new() }; PARTS],
            first_summary: [const { AtomicU64::new(0) }; 1 << (REGION_BITS - 12)],
            second_summary: [const { AtomicU64::new(0) }; 1 << (REGION_BITS - 18)],
        }
    }
}

impl RegionPart {
    fn new() -> Self {
        Self {
            pooled: [const { AtomicU64::new(0) }; PART_WORDS],
            free: [const { AtomicU64::new(0) }; PART_WORDS],
            reserved: [const { AtomicU64::new(0) }; PART_WORDS],
            rows: [const { AtomicU32::new(0) }; PART_BLOCKS],
        }
    }
}

/// Tree of the free bits of all addresses, see the module.
pub struct AddressMap {
    regions: Vec<OnceLock<Box<Region>>>,
    /// Summary bits of level 3 of the tree.
    inner: Vec<AtomicU64>,
    /// Summary bits of level 4 of the tree.
    top: [AtomicU64; 4],
}

const fn bit_of(key: u64) -> u64 {
    1 << (key & 63)
}

impl AddressMap {
    pub(crate) fn new() -> Self {
        Self {
            regions: (0..REGIONS).map(|_| OnceLock::new()).collect(),
            inner: (0..256).map(|_| AtomicU64::new(0)).collect(),
            top: [const { AtomicU64::new(0) }; 4],
        }
    }

    /// Returns the memory that the map takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let of = |region: &Region| {
            let parts = region.parts.iter().filter(|part| part.get().is_some()).count();
            size_of::<Region>() + parts * size_of::<RegionPart>()
        };
        let regions = self.regions.iter().filter_map(OnceLock::get);
        size_of_val(&self.regions[..])
            + size_of_val(&self.inner[..])
            + regions.map(|region| of(region)).sum::<usize>()
    }

    fn part(&self, address: u32) -> Option<&RegionPart> {
        let region = self.regions[(address >> REGION_BITS) as usize].get()?;
        region.parts[(address >> PART_BITS) as usize % PARTS].get().map(Box::as_ref)
    }

    /// Returns word `index` of the bits of tree level `level`; `None` where no pool is, and past
    /// the end of the space of slot numbers.
    fn word(&self, level: u32, index: u64) -> Option<&AtomicU64> {
        let region = |per_region: u64| self.regions.get((index / per_region) as usize)?.get();
        match level {
            0 => {
                let part = &region(1 << 14)?.parts[(index >> (PART_BITS - 6)) as usize % PARTS];
                part.get().map(|part| &part.free[index as usize % PART_WORDS])
            }
            1 => region(1 << 8).map(|region| &region.first_summary[(index & 0xff) as usize]),
            2 => region(4).map(|region| &region.second_summary[(index & 3) as usize]),
            3 => self.inner.get(index as usize),
            _ => self.top.get(index as usize),
        }
    }

    fn load(&self, level: u32, index: u64) -> u64 {
        #[cfg(test)]
        super::order::steps::count();
        self.word(level, index).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Returns the row (memory location) of the slots of the block of 256 addresses that contains
    /// `address`; `None` when the block never had a pool.
    pub(crate) fn row(&self, address: u32) -> Option<u32> {
        let rows = &self.part(address)?.rows;
        let row = rows[(address >> 8) as usize % PART_BLOCKS].load(Ordering::Acquire);
        row.checked_sub(1)
    }

    /// Gives the block of 256 addresses that contains `address` the slots at row `row`. Callers
    /// hold the configuration lock.
    pub(crate) fn set_row(&self, address: u32, row: u32) {
        let region =
            self.regions[(address >> REGION_BITS) as usize].get_or_init(|| Box::new(Region::new()));
        let part = &region.parts[(address >> PART_BITS) as usize % PARTS];
        let rows = &part.get_or_init(|| Box::new(RegionPart::new())).rows;
        rows[(address >> 8) as usize % PART_BLOCKS].store(row + 1, Ordering::Release);
    }

    /// Returns the blocks of 256 addresses from `start` on that have rows of slots, ascending.
    pub(crate) fn blocks(&self, start: u32) -> impl Iterator<Item = u32> {
        let first = start >> (PART_BITS - 8);
        let parts = (first..1 << (32 - PART_BITS)).filter(|part| {
            let region = self.regions[(part >> (REGION_BITS - PART_BITS)) as usize].get();
            region.is_some_and(|region| region.parts[*part as usize % PARTS].get().is_some())
        });
        parts
            .flat_map(|part| part << (PART_BITS - 8)..(part + 1) << (PART_BITS - 8))
            .filter(move |&block| block >= start && self.row(block << 8).is_some())
    }

    /// Returns true if a pool ever contained `address`.
    pub(crate) fn is_pooled(&self, address: u32) -> bool {
        self.part(address).is_some_and(|part| {
            let word = &part.pooled[(address >> 6) as usize % PART_WORDS];
            word.load(Ordering::Acquire) & bit_of(u64::from(address)) != 0
        })
    }

    /// Marks those of `first..=last` (within one word of 64, the block has a row) that no pool had
    /// before as pooled and, unless they are reserved, free. Returns their bits. Callers hold the
    /// configuration lock.
    pub(crate) fn pool_word(&self, first: u32, last: u32) -> u64 {
        debug_assert_eq!(first >> 6, last >> 6, "one word at a time");
        let part = self.part(first).expect("a block with a row is in a part");
        let index = (first >> 6) as usize % PART_WORDS;
        let range = (u64::MAX << (first & 63)) & (u64::MAX >> (63 - (last & 63)));
        // Pooled first: a slot that becomes free from now on sets its bit itself.
        let new = range & !part.pooled[index].fetch_or(range, Ordering::AcqRel);
        let free = new & !part.reserved[index].load(Ordering::Acquire);
        if free != 0 && part.free[index].fetch_or(free, Ordering::AcqRel) == 0 {
            self.raise(1, u64::from(first >> 6));
        }
        new
    }

    fn reserved_word(&self, address: u32) -> Option<&AtomicU64> {
        self.part(address).map(|part| &part.reserved[(address >> 6) as usize % PART_WORDS])
    }

    /// Reserves `address`: its free bit stays clear, whatever its slot is used for. Does nothing
    /// where no pool is.
    pub(crate) fn reserve(&self, address: u32) {
        let Some(reserved) = self.reserved_word(address) else { return };
        let key = u64::from(address);
        reserved.fetch_or(bit_of(key), Ordering::AcqRel);
        // Written even when it seems clear: a thread that sets the bit at the same time either
        // comes before, and the bit is cleared here, or after, and sees above that the address is
        // reserved.
        let word = self.word(0, key >> 6).expect("a part has both words");
        if word.fetch_and(!bit_of(key), Ordering::AcqRel) == bit_of(key) {
            self.lower(1, key >> 6);
        }
    }

    /// Ends the reservation of `address` by [`AddressMap::reserve`]. The free bit stays unchanged.
    pub(crate) fn unreserve(&self, address: u32) {
        if let Some(reserved) = self.reserved_word(address) {
            reserved.fetch_and(!bit_of(u64::from(address)), Ordering::AcqRel);
        }
    }

    /// Returns true if `address` is reserved, so that its free bit stays clear.
    pub(crate) fn is_reserved(&self, address: u32) -> bool {
        self.reserved_word(address)
            .is_some_and(|word| word.load(Ordering::Acquire) & bit_of(u64::from(address)) != 0)
    }

    /// Returns true if the free bit of `address` is set.
    pub(crate) fn is_free(&self, address: u32) -> bool {
        self.load(0, u64::from(address >> 6)) & bit_of(u64::from(address)) != 0
    }

    /// Marks `address` free, if a pool ever contained it and it is not reserved.
    pub(crate) fn set_free(&self, address: u32) {
        if !self.is_pooled(address) || self.is_reserved(address) {
            return;
        }
        let key = u64::from(address);
        let word = self.word(0, key >> 6).expect("a pooled address is in a region");
        if word.fetch_or(bit_of(key), Ordering::AcqRel) == 0 {
            self.raise(1, key >> 6);
        }
        if self.is_reserved(address) {
            self.clear_free(address);
        }
    }

    /// Marks `address` as not free for other threads. Returns true if it was marked free: of
    /// several threads that clear it at the same time, exactly one gets true.
    pub(crate) fn clear_free(&self, address: u32) -> bool {
        let key = u64::from(address);
        let bit = bit_of(key);
        let Some(word) = self.word(0, key >> 6) else { return false };
        if word.load(Ordering::Relaxed) & bit == 0 {
            return false;
        }
        let before = word.fetch_and(!bit, Ordering::AcqRel);
        if before == bit {
            self.lower(1, key >> 6);
        }
        before & bit != 0
    }

    /// Sets the summary bit `key` of tree level `level`, and the bits of higher levels that may be
    /// missing.
    fn raise(&self, mut level: u32, mut key: u64) {
        while level <= TOP_LEVEL {
            let word = self.word(level, key >> 6).expect("a used word has its summary");
            if word.fetch_or(bit_of(key), Ordering::AcqRel) != 0 {
                return;
            }
            key >>= 6;
            level += 1;
        }
    }

    /// Clears the summary bit `key` of tree level `level` because the word of the level below was
    /// seen empty.
    fn lower(&self, mut level: u32, mut key: u64) {
        while level <= TOP_LEVEL {
            let word = self.word(level, key >> 6).expect("a used word has its summary");
            let before = word.fetch_and(!bit_of(key), Ordering::AcqRel);
            if self.load(level - 1, key) != 0 {
                self.raise(level, key);
                return;
            }
            if before != bit_of(key) {
                return;
            }
            key >>= 6;
            level += 1;
        }
    }

    /// Returns the lowest free address in `from..=last`.
    pub(crate) fn next(&self, from: u32, last: u32) -> Option<u32> {
        let mut start = u64::from(from);
        loop {
            match self.descend(start) {
                Ok(lowest) => return (lowest <= u64::from(last)).then_some(lowest as u32),
                Err(None) => return None,
                Err(Some(again)) => start = again,
            }
        }
    }

    /// Returns the lowest set free bit at or after `from`. The error is the slot number at which to
    /// search again after a stale summary bit was cleared, or `None` when there is no free bit.
    fn descend(&self, from: u64) -> Result<u64, Option<u64>> {
        let (mut level, mut key) = (0, from);
        loop {
            let index = key >> 6;
            let rest = self.load(level, index) & (u64::MAX << (key & 63));
            if rest != 0 {
                key = (index << 6) | u64::from(rest.trailing_zeros());
                break;
            }
            if level < TOP_LEVEL {
                level += 1;
                key = index + 1;
            } else if index + 1 < self.top.len() as u64 {
                key = (index + 1) << 6;
            } else {
                return Err(None);
            }
        }
        while level > 0 {
            let word = self.load(level - 1, key);
            if word == 0 {
                self.lower(level, key);
                return Err(Some(key << (6 * level)));
            }
            key = (key << 6) | u64::from(word.trailing_zeros());
            level -= 1;
        }
        Ok(key)
    }

    /// Takes a free address of `first..=last`, so that no other thread gets it: the next at or
    /// after `start`, wrapping around once.
    pub(crate) fn claim(&self, first: u32, last: u32, start: u32) -> Option<u32> {
        let start = if (first..=last).contains(&start) { start } else { first };
        let mut from = start;
        while let Some(free) = self.next(from, last) {
            if self.clear_free(free) {
                return Some(free);
            }
            if free == last {
                break;
            }
            from = free + 1;
        }
        let mut from = first;
        while from < start {
            let free = self.next(from, start - 1)?;
            if self.clear_free(free) {
                return Some(free);
            }
            from = free + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicUsize;

    use base::Random;

    use super::*;

    fn map_of(ranges: &[(u32, u32)]) -> AddressMap {
        let map = AddressMap::new();
        for &(first, last) in ranges {
            pool(&map, first, last);
        }
        map
    }

    fn pool(map: &AddressMap, first: u32, last: u32) {
        let mut from = u64::from(first);
        while from <= u64::from(last) {
            let end = (from | 63).min(u64::from(last));
            map.set_row(from as u32, (from >> 8) as u32);
            map.pool_word(from as u32, end as u32);
            from = end + 1;
        }
    }

    #[test]
    fn agrees_with_a_sorted_set() {
        for seed in 0..300 {
            let mut random = Random::from_seed(seed);
            let spread = [8, 12, 16, 20, 32][random.below(5) as usize];
            let mut naive = BTreeSet::new();
            let map = AddressMap::new();
            let mut pooled = Vec::new();
            for _ in 0..=random.below(4) {
                let first = (random.next_u64() & ((1 << spread) - 1)) as u32;
                let last = first.saturating_add(random.below(400) as u32);
                pool(&map, first, last);
                naive.extend(first..=last);
                pooled.push((first, last));
            }
            for _ in 0..600 {
                let &(first, last) = random.pick(&pooled).unwrap();
                let address = first + random.below(u64::from(last - first) + 1) as u32;
                match random.below(4) {
                    0 => {
                        map.set_free(address);
                        naive.insert(address);
                    }
                    1 => assert_eq!(map.clear_free(address), naive.remove(&address)),
                    2 => {
                        let (from, to) = (random.next_u32().min(address), last);
                        assert_eq!(map.next(from, to), naive.range(from..=to).next().copied());
                    }
                    _ => {
                        let expected =
                            naive.range(address..=last).chain(naive.range(first..address)).next();
                        let expected = expected.copied();
                        assert_eq!(map.claim(first, last, address), expected, "seed {seed}");
                        expected.map(|expected| naive.remove(&expected));
                    }
                }
            }
        }
    }

    #[test]
    fn the_ends_of_the_space_are_addresses_too() {
        let map = map_of(&[(0, 0), (u32::MAX, u32::MAX)]);
        assert_eq!(map.next(0, u32::MAX), Some(0));
        assert_eq!(map.next(1, u32::MAX), Some(u32::MAX));
        assert_eq!(map.claim(u32::MAX, u32::MAX, u32::MAX), Some(u32::MAX));
        assert_eq!(map.claim(u32::MAX, u32::MAX, u32::MAX), None);
        assert_eq!(map.claim(0, 0, 0), Some(0));
        assert_eq!(map.next(0, u32::MAX), None);
    }

    #[test]
    fn what_no_pool_had_is_never_free() {
        let map = map_of(&[(70, 80)]);
        map.set_free(69);
        map.set_free(1 << 30);
        assert_eq!(map.next(0, u32::MAX), Some(70));
        assert_eq!(map.pool_word(64, 72), 0b11_1111);
        assert_eq!(map.next(0, u32::MAX), Some(64));
    }

    #[test]
    fn a_stale_summary_bit_is_passed_and_cleared() {
        let map = map_of(&[(0x1000, 0x103f), (0x9000, 0x9000)]);
        for address in 0x1000..=0x103f {
            map.clear_free(address);
        }
        map.raise(1, 0x1000 >> 6);
        assert_eq!(map.next(0, u32::MAX), Some(0x9000));
        assert_eq!(map.load(1, 0x1000 >> 12), 0);
    }

    #[test]
    fn a_word_refilled_before_its_summary_was_cleared_stays_found() {
        let map = map_of(&[(0x1000, 0x1000)]);
        // One thread clears the only bit, and another sets it again before the first has reached
        // the summary: the first continues.
        map.lower(1, 0x1000 >> 6);
        assert_eq!(map.next(0, u32::MAX), Some(0x1000));
        map.lower(3, 0x1000 >> 18);
        assert_eq!(map.next(0, u32::MAX), Some(0x1000));
    }

    #[test]
    fn two_never_claim_the_same_and_nothing_free_gets_lost() {
        for seed in 0..40 {
            let ranges = [(0x0a00_0000, 0x0a00_00ff), (0x0a00_1fc0, 0x0a00_2010)];
            let map = map_of(&ranges);
            let owners: Vec<AtomicUsize> = (0..0x3000).map(|_| AtomicUsize::new(0)).collect();
            std::thread::scope(|scope| {
                for thread in 1..=3 {
                    let (map, owners) = (&map, &owners);
                    scope.spawn(move || {
                        let mut random = Random::from_seed(seed * 16 + thread as u64);
                        let mut mine = Vec::new();
                        for _ in 0..3_000 {
                            let (first, last) = ranges[random.below(2) as usize];
                            if random.chance(3, 5) {
                                let Some(got) = map.claim(first, last, first) else { continue };
                                let owner = &owners[(got & 0xffff) as usize];
                                assert_eq!(owner.swap(thread, Ordering::AcqRel), 0);
                                mine.push(got);
                            } else if !mine.is_empty() {
                                let at = random.below(mine.len() as u64) as usize;
                                let address: u32 = mine.swap_remove(at);
                                owners[(address & 0xffff) as usize].store(0, Ordering::Release);
                                map.set_free(address);
                            }
                        }
                    });
                }
            });
            let total: u32 = ranges.iter().map(|(first, last)| last - first + 1).sum();
            let owned_count =
                owners.iter().filter(|owner| owner.load(Ordering::Relaxed) != 0).count();
            let free_counts = ranges.iter().map(|&(first, last)| {
                std::iter::from_fn(|| map.claim(first, last, first)).count() as u32
            });
            assert_eq!(free_counts.sum::<u32>() + owned_count as u32, total);
        }
    }
}
