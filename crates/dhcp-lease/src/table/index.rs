//! Index from a client's identity to slot numbers: a striped multi-map by hash.
//!
//! Entries are hints. A caller that follows one verifies it at the slot.

use core::hash::{BuildHasher, Hash};
use std::sync::{Mutex, MutexGuard};

use base::Prefetch;
use base::buckets::{Buckets, BucketsAddress};
use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// Largest number of slot numbers that the index has for one identity of a client. A client has a
/// few; hundreds of slots under one hardware address are an attack or a hypervisor, and are found
/// by their client identifiers.
const FAN_OUT: usize = 32;
const STRIPES: usize = 256;

/// Entries of one stripe of the index: slot numbers by a part of the hash of a client's identity.
#[derive(Default)]
struct IndexHints {
    table: Buckets,
    /// Tags (hash parts) of client identities for which the index refused an entry once: a look-up
    /// of such a tag may be incomplete.
    refused: HashTable<u32>,
}

impl IndexHints {
    fn has_refused(&self, tag: u32) -> bool {
        self.refused.find(spread(&tag), |&refused| refused == tag).is_some()
    }
}

/// Spreads a tag over 64 bits: the table of refused tags uses the lowest and the highest.
const fn spread(tag: &u32) -> u64 {
    let mixed = (*tag as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

#[repr(align(128))]
struct IndexStripe {
    hints: Mutex<IndexHints>,
    /// Address of the memory of the stripe's entries, for prefetching without the lock.
    home: BucketsAddress,
}

impl IndexStripe {
    fn lock(&self) -> MutexGuard<'_, IndexHints> {
        self.hints.lock().expect("no holder of an index stripe panics")
    }
}

/// Index from one kind of client identity to slot numbers. Two clients may share a hash, but cannot
/// choose to: the seed is secret.
pub(crate) struct IdentityIndex {
    hasher: FixedState,
    stripes: Vec<IndexStripe>,
}

/// Slot numbers that an index found for one identity, in arbitrary order.
pub(crate) struct SlotNumberList {
    slot_numbers: [u32; FAN_OUT],
    len: usize,
}

impl SlotNumberList {
    pub(crate) const NONE: Self = Self { slot_numbers: [0; FAN_OUT], len: 0 };

    pub(crate) fn slot_numbers(&self) -> &[u32] {
        &self.slot_numbers[..self.len]
    }

    /// Adds a slot number to the list if there is room.
    pub(crate) const fn push(&mut self, slot_number: u32) {
        if self.len < FAN_OUT {
            self.slot_numbers[self.len] = slot_number;
            self.len += 1;
        }
    }
}

impl IdentityIndex {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            hasher: FixedState::with_seed(seed),
            stripes: (0..STRIPES)
                .map(|_| IndexStripe { hints: Mutex::default(), home: BucketsAddress::default() })
                .collect(),
        }
    }

    /// Makes room for `count` entries in the index, so that adding that many allocates nothing.
    pub(crate) fn reserve(&self, count: usize) {
        // Entries fall on stripes at random: room for eight standard deviations above their share.
        let share = count / STRIPES;
        let capacity = share + 8 * (share.isqrt() + 1) + 8;
        for stripe in &self.stripes {
            let mut hints = stripe.lock();
            hints.table.reserve(capacity);
            stripe.home.note(&hints.table);
        }
    }

    /// Prefetches the memory that a look-up of the identity `key` reads.
    pub(crate) fn prefetch<K: Hash + ?Sized>(&self, key: &K, prefetch: Prefetch) {
        let (tag, stripe) = self.locate(key);
        prefetch(stripe.home.address_of(tag));
    }

    fn locate<K: Hash + ?Sized>(&self, key: &K) -> (u32, &IndexStripe) {
        let hash = self.hasher.hash_one(key);
        (hash as u32, &self.stripes[(hash >> 32) as usize % STRIPES])
    }

    /// Adds to the index that the identity `key` leads to `slot_number`; returns false when it
    /// leads to too many.
    pub(crate) fn insert<K: Hash + ?Sized>(&self, key: &K, slot_number: u32) -> bool {
        let (tag, stripe) = self.locate(key);
        let mut hints = stripe.lock();
        // Equal tags lengthen each other's paths, hence the bound protects the table, too.
        if hints.table.find(tag).count() < FAN_OUT {
            hints.table.insert(tag, slot_number);
            stripe.home.note(&hints.table);
            return true;
        }
        if !hints.has_refused(tag) {
            hints.refused.insert_unique(spread(&tag), tag, spread);
        }
        false
    }

    /// Removes the entry from the identity `key` to `slot_number`. Returns true if there was one.
    pub(crate) fn remove<K: Hash + ?Sized>(&self, key: &K, slot_number: u32) -> bool {
        let (tag, stripe) = self.locate(key);
        let mut hints = stripe.lock();
        hints.table.remove(tag, slot_number)
    }

    /// Returns the slot numbers that the identity `key` leads to.
    pub(crate) fn find<K: Hash + ?Sized>(&self, key: &K) -> SlotNumberList {
        let (tag, stripe) = self.locate(key);
        let hints = stripe.lock();
        let mut slot_numbers = SlotNumberList::NONE;
        hints.table.find(tag).for_each(|slot_number| slot_numbers.push(slot_number));
        slot_numbers
    }

    /// Returns the slot numbers that the identity `key` leads to, for administrators; `None` when
    /// the index may not have all of them.
    pub(crate) fn find_all<K: Hash + ?Sized>(&self, key: &K) -> Option<Vec<u32>> {
        let (tag, stripe) = self.locate(key);
        let hints = stripe.lock();
        if hints.has_refused(tag) {
            return None;
        }
        Some(hints.table.find(tag).collect())
    }

    /// Returns the memory of the index's entries and of the room for more, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let of = |stripe: &IndexStripe| {
            let hints = stripe.lock();
            hints.table.bytes() + hints.refused.allocation_size()
        };
        self.stripes.iter().map(of).sum()
    }

    /// Returns the number of entries in the index.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.stripes.iter().map(|stripe| stripe.lock().table.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_leads_to_all_its_slot_numbers_until_they_are_taken_back() {
        let index = IdentityIndex::new(7);
        index.insert(&[1_u8, 2][..], 10);
        index.insert(&[1_u8, 2][..], 20);
        index.insert(&[3_u8][..], 30);
        let mut slot_numbers = index.find(&[1_u8, 2][..]).slot_numbers().to_vec();
        slot_numbers.sort_unstable();
        assert_eq!(slot_numbers, [10, 20]);
        index.remove(&[1_u8, 2][..], 10);
        index.remove(&[1_u8, 2][..], 30);
        assert_eq!(index.find(&[1_u8, 2][..]).slot_numbers(), [20]);
        assert_eq!(index.find(&[3_u8][..]).slot_numbers(), [30]);
    }

    #[test]
    fn one_identity_cannot_fill_the_index() {
        let index = IdentityIndex::new(7);
        for slot_number in 0..10_000 {
            index.insert(&[9_u8][..], slot_number);
        }
        assert_eq!(index.len(), FAN_OUT);
        assert_eq!(index.find(&[9_u8][..]).slot_numbers().len(), FAN_OUT);
        // The identity's list stays incomplete, also when one slot number has been removed.
        index.remove(&[9_u8][..], 0);
        assert!(index.find_all(&[9_u8][..]).is_none());
        assert_eq!(index.find_all(&[8_u8][..]), Some(Vec::new()));
    }
}
