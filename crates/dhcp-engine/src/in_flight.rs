//! One transaction in flight per client, by any of its identities, across batches and shards.
//!
//! From the moment a message enters until its reply has left, the client is in flight. One more
//! message of the client is held by the shard that received it and tried again later; further ones
//! are duplicates. Clients are told apart by seeded 64-bit hashes: a collision only makes two
//! strangers wait for each other.

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

const STRIPES: usize = 256;

/// A client under both of its identities; equal when it has only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientKeys([u64; 2]);

/// Whether a message may enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It has entered; [`InFlight::leave`] must follow.
    Entered,
    /// The client is in flight and nothing was held for it so far: hold the message.
    Hold,
    /// The client is in flight and a message is already held for it.
    Duplicate,
}

#[derive(Clone, Copy)]
struct Occupant {
    key: u64,
    holds_one: bool,
}

#[repr(align(128))]
struct Stripe(Mutex<HashTable<Occupant>>);

impl core::fmt::Debug for InFlight {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("InFlight").finish_non_exhaustive()
    }
}

/// The clients in flight, shared by all shards in 256 stripes.
pub struct InFlight {
    hasher: FixedState,
    stripes: Box<[Stripe]>,
}

impl InFlight {
    /// An empty set with room for `capacity` clients without allocating; `seed` makes the hashes
    /// unpredictable to clients.
    #[must_use]
    pub fn new(seed: u64, capacity: usize) -> Self {
        let room = 2 * capacity / STRIPES + 16;
        Self {
            hasher: FixedState::with_seed(seed),
            stripes: (0..STRIPES)
                .map(|_| Stripe(Mutex::new(HashTable::with_capacity(room))))
                .collect(),
        }
    }

    /// The keys of the client with this hardware address and client identifier.
    #[must_use]
    pub fn keys(&self, hardware: &[u8], client_id: Option<&[u8]>) -> ClientKeys {
        let by_hardware = self.hasher.hash_one((0_u8, hardware));
        let by_id = client_id.map(|id| self.hasher.hash_one((1_u8, id)));
        match (hardware.is_empty(), by_id) {
            (true, Some(id)) => ClientKeys([id, id]),
            (_, None) => ClientKeys([by_hardware, by_hardware]),
            (false, Some(id)) => ClientKeys([by_hardware.min(id), by_hardware.max(id)]),
        }
    }

    /// Lets a message in, or says what to do with it.
    pub fn enter(&self, keys: ClientKeys) -> Entry {
        self.with_tables(keys, |tables, places| {
            let mut entry = Entry::Entered;
            for &(table, key) in places {
                if let Some(occupant) = tables[table].find(key, |o| o.key == key) {
                    entry = match (entry, occupant.holds_one) {
                        (Entry::Duplicate, _) | (_, true) => Entry::Duplicate,
                        (_, false) => Entry::Hold,
                    };
                }
            }
            for &(table, key) in places {
                match entry {
                    Entry::Entered => {
                        let occupant = Occupant { key, holds_one: false };
                        tables[table].insert_unique(key, occupant, |o| o.key);
                    }
                    Entry::Hold => {
                        if let Some(occupant) = tables[table].find_mut(key, |o| o.key == key) {
                            occupant.holds_one = true;
                        }
                    }
                    Entry::Duplicate => {}
                }
            }
            entry
        })
    }

    /// Ends a client's transaction.
    pub fn leave(&self, keys: ClientKeys) {
        self.with_tables(keys, |tables, places| {
            for &(table, key) in places {
                if let Ok(found) = tables[table].find_entry(key, |o| o.key == key) {
                    found.remove();
                }
            }
        });
    }

    /// Clients in flight, counted by identity. For tests and statistics.
    #[must_use]
    pub fn identity_count(&self) -> usize {
        self.stripes.iter().map(|stripe| lock(stripe).len()).sum()
    }

    /// Runs `body` with the tables that hold the keys, locked in order, and the place (table,
    /// key) of each distinct key.
    fn with_tables<R>(
        &self,
        keys: ClientKeys,
        body: impl FnOnce(&mut [Table<'_>], &[Place]) -> R,
    ) -> R {
        let ClientKeys([a, b]) = keys;
        let (stripe_a, stripe_b) = (a as usize % STRIPES, b as usize % STRIPES);
        if stripe_a == stripe_b {
            let places = [(0, a), (0, b)];
            let distinct = if a == b { &places[..1] } else { &places[..] };
            return body(&mut [lock(&self.stripes[stripe_a])], distinct);
        }
        let (low, high) = (stripe_a.min(stripe_b), stripe_a.max(stripe_b));
        let mut tables = [lock(&self.stripes[low]), lock(&self.stripes[high])];
        let places = [(usize::from(stripe_a > stripe_b), a), (usize::from(stripe_b > stripe_a), b)];
        body(&mut tables, &places)
    }
}

type Table<'a> = MutexGuard<'a, HashTable<Occupant>>;
type Place = (usize, u64);

fn lock(stripe: &Stripe) -> Table<'_> {
    stripe.0.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    #[test]
    fn one_enters_one_is_held_the_rest_are_duplicates() {
        let clients = InFlight::new(1, 16);
        let both = clients.keys(&[1, 2], Some(b"id"));
        let by_hardware = clients.keys(&[1, 2], None);
        let by_other_hardware = clients.keys(&[9], Some(b"id"));
        assert_eq!(clients.enter(both), Entry::Entered);
        assert_eq!(clients.enter(by_hardware), Entry::Hold);
        assert_eq!(clients.enter(by_hardware), Entry::Duplicate);
        assert_eq!(clients.enter(by_other_hardware), Entry::Hold);
        assert_eq!(clients.enter(both), Entry::Duplicate);
        clients.leave(both);
        assert_eq!(clients.identity_count(), 0);
        assert_eq!(clients.enter(by_other_hardware), Entry::Entered);
    }

    #[test]
    fn many_clients_come_and_go_without_leaving_anything() {
        let mut random = Random::from_seed(5);
        let clients = InFlight::new(2, 64);
        let mut inside = Vec::new();
        for _ in 0..100_000 {
            let keys = clients.keys(&[random.below(50) as u8], Some(&[random.below(50) as u8]));
            if random.chance(1, 2) && clients.enter(keys) == Entry::Entered {
                inside.push(keys);
            } else if !inside.is_empty() {
                let index = random.below(inside.len() as u64) as usize;
                clients.leave(inside.swap_remove(index));
            }
        }
        for keys in inside {
            clients.leave(keys);
        }
        assert_eq!(clients.identity_count(), 0);
    }
}
