//! Which addresses a client's identity leads to: a striped multi-map from a hash to addresses.
//!
//! Entries are hints. Whoever follows one verifies it at the slot.

use core::hash::{BuildHasher, Hash};
use std::sync::{Mutex, MutexGuard};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// Addresses that one identity leads to at most. A client has a few; hundreds of slots under one
/// hardware address are an attack or a hypervisor, and are found by their client identifiers.
pub(super) const FAN_OUT: usize = 32;
const STRIPES: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    hash: u64,
    address: u32,
}

#[repr(align(128))]
struct IndexStripe(Mutex<HashTable<Entry>>);

/// One index. Two clients may share a hash, not knowingly: the seed is secret.
pub(super) struct IdentityIndex {
    hasher: FixedState,
    stripes: Vec<IndexStripe>,
}

/// The addresses found, in no order that means anything.
pub(super) struct Found {
    addresses: [u32; FAN_OUT],
    len: usize,
}

impl Found {
    pub(super) const NONE: Self = Self { addresses: [0; FAN_OUT], len: 0 };

    pub(super) fn addresses(&self) -> &[u32] {
        &self.addresses[..self.len]
    }
}

impl IdentityIndex {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            hasher: FixedState::with_seed(seed),
            stripes: (0..STRIPES).map(|_| IndexStripe(Mutex::default())).collect(),
        }
    }

    /// Makes room for `count` entries, so that adding as many allocates nothing.
    pub(super) fn reserve(&self, count: usize) {
        // Entries fall on stripes at random: eight standard deviations more than their share.
        let share = count / STRIPES;
        let capacity = share + 8 * (share.isqrt() + 1) + 8;
        for stripe in &self.stripes {
            let mut table = stripe.0.lock().expect("no holder of an index stripe panics");
            let missing = capacity.saturating_sub(table.len());
            table.reserve(missing, |entry| entry.hash);
        }
    }

    fn locate<K: Hash + ?Sized>(&self, key: &K) -> (u64, MutexGuard<'_, HashTable<Entry>>) {
        let hash = self.hasher.hash_one(key);
        // The table inside uses the lowest and the seven highest bits.
        let stripe = &self.stripes[(hash >> 40) as usize % STRIPES];
        (hash, stripe.0.lock().expect("no holder of an index stripe panics"))
    }

    /// Adds that `key` leads to `address`.
    pub(super) fn insert<K: Hash + ?Sized>(&self, key: &K, address: u32) {
        let (hash, mut table) = self.locate(key);
        // Equal hashes lengthen each other's probes, hence the bound also for the table's sake.
        if table.iter_hash(hash).filter(|entry| entry.hash == hash).count() < FAN_OUT {
            table.insert_unique(hash, Entry { hash, address }, |entry| entry.hash);
        }
    }

    /// Takes back that `key` leads to `address`.
    pub(super) fn remove<K: Hash + ?Sized>(&self, key: &K, address: u32) {
        let (hash, mut table) = self.locate(key);
        if let Ok(entry) = table.find_entry(hash, |entry| *entry == Entry { hash, address }) {
            entry.remove();
        }
    }

    /// Where `key` leads to.
    pub(super) fn find<K: Hash + ?Sized>(&self, key: &K) -> Found {
        let (hash, table) = self.locate(key);
        let mut found = Found::NONE;
        for entry in table.iter_hash(hash).filter(|entry| entry.hash == hash).take(FAN_OUT) {
            found.addresses[found.len] = entry.address;
            found.len += 1;
        }
        found
    }

    /// Number of entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.stripes.iter().map(|stripe| stripe.0.lock().unwrap().len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_leads_to_all_its_addresses_until_they_are_taken_back() {
        let index = IdentityIndex::new(7);
        index.insert(&[1_u8, 2][..], 10);
        index.insert(&[1_u8, 2][..], 20);
        index.insert(&[3_u8][..], 30);
        let mut found = index.find(&[1_u8, 2][..]).addresses().to_vec();
        found.sort_unstable();
        assert_eq!(found, [10, 20]);
        index.remove(&[1_u8, 2][..], 10);
        index.remove(&[1_u8, 2][..], 30);
        assert_eq!(index.find(&[1_u8, 2][..]).addresses(), [20]);
        assert_eq!(index.find(&[3_u8][..]).addresses(), [30]);
    }

    #[test]
    fn one_identity_cannot_fill_the_index() {
        let index = IdentityIndex::new(7);
        for address in 0..10_000 {
            index.insert(&[9_u8][..], address);
        }
        assert_eq!(index.len(), FAN_OUT);
        assert_eq!(index.find(&[9_u8][..]).addresses().len(), FAN_OUT);
    }
}
