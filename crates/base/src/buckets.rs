//! Hash index that leads from part of a key's hash (the tag) to the slots of a table where the key
//! may be. A pair of tag and slot is a hint; seven hints lie in one cache line. A look-up among
//! millions of entries misses the cache once, and the address of the line that it will read follows
//! from the tag alone. The user of a hint compares the key of the entry in that slot.
//!
//! A hint lies in the first bucket with room, from the bucket that its tag selects (its home) on.
//! Each bucket counts the hints that passed it for a later bucket, so a look-up ends at the first
//! bucket with a count of 0, and a removed hint leaves no trace.

use alloc::boxed::Box;
use alloc::vec;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Number of hints in one bucket.
const ROOM: usize = 7;
/// Maximum load of [`Buckets`] as a fraction: with more than `LOAD.0` / `LOAD.1` of all hints'
/// places in use, the number of buckets grows.
const LOAD: (usize, usize) = (4, 5);

/// Bucket of [`ROOM`] hints, as large as one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct HintBucket {
    tags: [u32; ROOM],
    /// Bit mask of the bucket's entries in use.
    used: u32,
    slots: [u32; ROOM],
    /// Number of hints that lie in later buckets because this bucket, or one before it on their
    /// path, had no room.
    passed: u32,
}

const _: () = assert!(size_of::<HintBucket>() == 64, "a bucket is one cache line");

const EMPTY: HintBucket = HintBucket { tags: [0; ROOM], used: 0, slots: [0; ROOM], passed: 0 };

impl HintBucket {
    /// Returns a bit mask of the bucket's hints that have the tag `tag`.
    fn with_tag(&self, tag: u32) -> u32 {
        let mut bits = 0;
        for (at, &own) in self.tags.iter().enumerate() {
            bits |= u32::from(own == tag) << at;
        }
        bits & self.used
    }

    /// Returns a bit mask of the bucket's hints that have the tag `tag` and the slot `slot`.
    fn with(&self, tag: u32, slot: u32) -> u32 {
        let mut bits = 0;
        for (at, &own) in self.slots.iter().enumerate() {
            bits |= u32::from(own == slot) << at;
        }
        bits & self.with_tag(tag)
    }

    const fn is_full(&self) -> bool {
        self.used == (1 << ROOM) - 1
    }

    fn put(&mut self, tag: u32, slot: u32) {
        let at = self.used.trailing_ones() as usize;
        self.used |= 1 << at;
        (self.tags[at], self.slots[at]) = (tag, slot);
    }

    fn hints(&self) -> impl Iterator<Item = (u32, u32)> {
        bits(self.used).map(|at| (self.tags[at], self.slots[at]))
    }
}

/// Returns the positions of the bits that are set in `left`.
fn bits(mut left: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let at = (left != 0).then_some(left.trailing_zeros() as usize);
        left &= left.wrapping_sub(1);
        at
    })
}

/// Hash index from tags (parts of keys' hashes) to slots (indexes of entries in a table of the
/// caller); a tag may lead to several slots.
#[derive(Debug, Default)]
pub struct Buckets {
    buckets: Box<[HintBucket]>,
    len: usize,
}

impl Buckets {
    /// Returns the number of hints in all buckets.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if no bucket has a hint.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes room for `count` hints in total, so that inserting them moves no hint.
    pub fn reserve(&mut self, count: usize) {
        let wanted = (count * LOAD.1).div_ceil(LOAD.0 * ROOM);
        if wanted > self.buckets.len() {
            self.grow_to(wanted);
        }
    }

    fn grow_to(&mut self, buckets: usize) {
        let old = core::mem::replace(&mut self.buckets, vec![EMPTY; buckets].into());
        old.iter().flat_map(HintBucket::hints).for_each(|(tag, slot)| self.put(tag, slot));
    }

    const fn home(&self, tag: u32) -> usize {
        home(tag, self.buckets.len())
    }

    const fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    /// Returns the buckets that may hold a hint with the tag `tag`, in the order in which a look-up
    /// reads them.
    fn path(&self, tag: u32) -> impl Iterator<Item = &HintBucket> {
        let mut next = (!self.buckets.is_empty()).then(|| self.home(tag));
        let first = next;
        core::iter::from_fn(move || {
            let at = next?;
            let bucket = &self.buckets[at];
            let after = self.after(at);
            next = (bucket.passed > 0 && Some(after) != first).then_some(after);
            Some(bucket)
        })
    }

    /// Returns the slots of all hints with the tag `tag`.
    pub fn find(&self, tag: u32) -> impl Iterator<Item = u32> {
        self.path(tag).flat_map(move |bucket| bits(bucket.with_tag(tag)).map(|at| bucket.slots[at]))
    }

    /// Adds a hint with the tag `tag` that leads to `slot`.
    pub fn insert(&mut self, tag: u32, slot: u32) {
        if (self.len + 1) * LOAD.1 > self.buckets.len() * LOAD.0 * ROOM {
            self.grow_to(self.buckets.len() + self.buckets.len() / 2 + 2);
        }
        self.put(tag, slot);
        self.len += 1;
    }

    fn put(&mut self, tag: u32, slot: u32) {
        let mut at = self.home(tag);
        while self.buckets[at].is_full() {
            self.buckets[at].passed += 1;
            at = self.after(at);
        }
        self.buckets[at].put(tag, slot);
    }

    /// Removes one hint with the tag `tag` and the slot `slot`; returns false if none exists.
    pub fn remove(&mut self, tag: u32, slot: u32) -> bool {
        let Some(steps) = self.path(tag).position(|bucket| bucket.with(tag, slot) != 0) else {
            return false;
        };
        let mut at = self.home(tag);
        for _ in 0..steps {
            self.buckets[at].passed -= 1;
            at = self.after(at);
        }
        let bucket = &mut self.buckets[at];
        let matches = bucket.with(tag, slot);
        bucket.used &= !(matches & matches.wrapping_neg());
        self.len -= 1;
        true
    }

    /// Returns the address of the first bucket that a look-up of `tag` reads, for a prefetch.
    pub fn address_of(&self, tag: u32) -> usize {
        self.buckets.as_ptr().addr() + self.home(tag) * size_of::<HintBucket>()
    }

    /// Returns the size of the memory of all buckets in bytes.
    pub const fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }
}

/// Returns the index, among `count` buckets, of the bucket at which look-ups of `tag` begin.
const fn home(tag: u32, count: usize) -> usize {
    ((tag as u64 * count as u64) >> 32) as usize
}

/// Address and number of the buckets of a [`Buckets`], as last recorded. A reader uses them to
/// prefetch a bucket without access to the [`Buckets`] themselves, for example while a lock
/// protects them.
#[derive(Debug, Default)]
pub struct BucketsAddress {
    address: AtomicUsize,
    count: AtomicUsize,
}

impl BucketsAddress {
    /// Records the address and the number of the buckets of `buckets`.
    pub fn note(&self, buckets: &Buckets) {
        self.address.store(buckets.buckets.as_ptr().addr(), Ordering::Relaxed);
        self.count.store(buckets.buckets.len(), Ordering::Relaxed);
    }

    /// Returns the address of the first bucket that a look-up of `tag` reads. The address may be
    /// outdated, so the caller must only prefetch it.
    pub fn address_of(&self, tag: u32) -> usize {
        let at = home(tag, self.count.load(Ordering::Relaxed));
        self.address.load(Ordering::Relaxed).wrapping_add(at * size_of::<HintBucket>())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::Random;

    /// Checks that every hint that is put in is found until it is removed, against a list, with
    /// tags that crowd into the same buckets.
    #[test]
    fn it_is_a_multi_map() {
        for seed in 0..20 {
            let mut random = Random::from_seed(seed);
            let mut buckets = Buckets::default();
            let mut model: Vec<(u32, u32)> = Vec::new();
            let tags = 1 + random.below(300);
            let spread = if seed % 2 == 0 { 1 } else { u32::MAX / 301 };
            for _ in 0..4_000 {
                let tag = u32::MAX - random.below(tags) as u32 * spread;
                let slot = random.below(20) as u32;
                let known = model.iter().position(|&hint| hint == (tag, slot));
                if random.chance(2, 3) && model.len() < 600 {
                    buckets.insert(tag, slot);
                    model.push((tag, slot));
                } else {
                    assert_eq!(buckets.remove(tag, slot), known.is_some(), "seed {seed}");
                    known.map(|at| model.swap_remove(at));
                }
                let mut found: Vec<u32> = buckets.find(tag).collect();
                let of_tag = model.iter().filter(|hint| hint.0 == tag);
                let mut expected: Vec<u32> = of_tag.map(|hint| hint.1).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "seed {seed}");
                assert_eq!(buckets.len(), model.len());
            }
            for (tag, slot) in model {
                assert!(buckets.remove(tag, slot), "seed {seed}");
            }
            assert!(buckets.buckets.iter().all(|bucket| bucket.passed == 0 && bucket.used == 0));
        }
    }

    #[test]
    fn what_is_reserved_allocates_nothing() {
        let mut buckets = Buckets::default();
        buckets.reserve(1_000);
        let bytes = buckets.bytes();
        let mut random = Random::from_seed(3);
        for slot in 0..1_000 {
            buckets.insert(random.below(1 << 32) as u32, slot);
        }
        assert_eq!(buckets.bytes(), bytes);
        assert!(bytes / 1_000 <= 12, "{bytes} octets");
    }
}
