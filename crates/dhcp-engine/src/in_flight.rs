//! Clients in flight: at most one transaction for each client at a time, by any of its identities,
//! across batches and shards.
//!
//! From the moment a message enters until its reply has left, the client is in flight. The shard
//! that receives one more message of the client holds it and tries it again later; further ones are
//! duplicates. Seeded 64-bit hashes identify clients: a collision only makes two unrelated clients
//! wait for each other.
//!
//! Few clients are in flight at a time unless rows wait for a disk, so the first ones of a stripe
//! are next to its lock: entering and leaving touch two cache lines that stay in the cache.

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::Prefetch;
use base::prefetch::prefetch_value;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

const STRIPES: usize = 512;
/// Number of client keys that a stripe stores next to its lock, without a hash table.
const FEW: usize = 9;

/// Keys of a client under both of its identities, for [`InFlight`]; equal when it has only one
/// identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientKeys([u64; 2]);

/// Admission of a message by [`InFlight::enter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlightAdmission {
    /// Admission: the message has entered; [`InFlight::leave`] must follow.
    Entered,
    /// Delay: the client is in flight and no message of it is held so far; the caller holds the
    /// message.
    Hold,
    /// Refusal: the client is in flight and a message is already held for it; the caller drops the
    /// message.
    Duplicate,
}

/// Key of a client in flight. The lowest bit, which is equal for all keys of a stripe, is instead 1
/// if a message is held for the client.
#[derive(Clone, Copy)]
struct InFlightClient(u64);

impl InFlightClient {
    const fn from_key(key: u64) -> Self {
        Self(key & !1)
    }

    const fn has_key(self, key: u64) -> bool {
        self.0 | 1 == key | 1
    }

    const fn holds_one(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns the hash under which the stripe's table stores the key of the client.
    const fn hash(&self) -> u64 {
        self.0 & !1
    }
}

/// Clients in flight whose keys belong to one stripe.
struct InFlightClients {
    few: [InFlightClient; FEW],
    few_count: usize,
    more: HashTable<InFlightClient>,
}

impl InFlightClients {
    fn find_mut(&mut self, key: u64) -> Option<&mut InFlightClient> {
        let mut few = self.few[..self.few_count].iter_mut();
        let occupant = few.find(|occupant| occupant.has_key(key));
        if occupant.is_some() || self.more.is_empty() {
            return occupant;
        }
        self.more.find_mut(InFlightClient::from_key(key).hash(), |occupant| occupant.has_key(key))
    }

    /// Adds the key of a client that the stripe does not have.
    fn insert(&mut self, key: u64) {
        let occupant = InFlightClient::from_key(key);
        if self.few_count < FEW {
            self.few[self.few_count] = occupant;
            self.few_count += 1;
        } else {
            self.more.insert_unique(occupant.hash(), occupant, InFlightClient::hash);
        }
    }

    fn remove(&mut self, key: u64) {
        if let Some(at) = self.few[..self.few_count].iter().position(|one| one.has_key(key)) {
            self.few_count -= 1;
            self.few[at] = self.few[self.few_count];
            return;
        }
        let entry =
            self.more.find_entry(InFlightClient::from_key(key).hash(), |one| one.has_key(key));
        if let Ok(entry) = entry {
            entry.remove();
        }
    }

    fn len(&self) -> usize {
        self.few_count + self.more.len()
    }
}

#[repr(align(128))]
struct InFlightStripe(Mutex<InFlightClients>);

const _: () = assert!(size_of::<InFlightStripe>() == 128, "a stripe is two cache lines");

impl core::fmt::Debug for InFlight {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("InFlight").finish_non_exhaustive()
    }
}

/// Set of the clients in flight, shared by all shards and split into stripes with a lock each.
pub struct InFlight {
    hasher: FixedState,
    stripes: Box<[InFlightStripe]>,
}

impl InFlight {
    /// Returns an empty set with room for `capacity` clients without allocating; `seed` makes the
    /// hashes unpredictable to clients.
    #[must_use]
    pub fn new(seed: u64, capacity: usize) -> Self {
        let room = 2 * capacity / STRIPES + 16;
        Self {
            hasher: FixedState::with_seed(seed),
            stripes: (0..STRIPES)
                .map(|_| {
                    let more = HashTable::with_capacity(room);
                    let few = [InFlightClient(0); FEW];
                    InFlightStripe(Mutex::new(InFlightClients { few, few_count: 0, more }))
                })
                .collect(),
        }
    }

    /// Returns the keys of the client with this hardware address and client identifier.
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

    /// Prefetches the memory that [`InFlight::enter`] reads for a client.
    pub fn prefetch(&self, keys: ClientKeys, prefetch: Prefetch) {
        for key in keys.0 {
            prefetch_value(prefetch, &self.stripes[key as usize % STRIPES], 2);
        }
    }

    /// Enters a message of the client with these keys, or returns that the caller has to hold or
    /// drop it.
    pub fn enter(&self, keys: ClientKeys) -> InFlightAdmission {
        self.with_tables(keys, |tables, positions| {
            let mut entry = InFlightAdmission::Entered;
            for &(table, key) in positions {
                if let Some(occupant) = tables[table].find_mut(key) {
                    entry = match (entry, occupant.holds_one()) {
                        (InFlightAdmission::Duplicate, _) | (_, true) => {
                            InFlightAdmission::Duplicate
                        }
                        (_, false) => InFlightAdmission::Hold,
                    };
                }
            }
            for &(table, key) in positions {
                match entry {
                    InFlightAdmission::Entered => tables[table].insert(key),
                    InFlightAdmission::Hold => {
                        if let Some(occupant) = tables[table].find_mut(key) {
                            occupant.0 |= 1;
                        }
                    }
                    InFlightAdmission::Duplicate => {}
                }
            }
            entry
        })
    }

    /// Removes the client with these keys from the set of the clients in flight: its transaction
    /// has ended.
    pub fn leave(&self, keys: ClientKeys) {
        self.with_tables(keys, |tables, positions| {
            for &(table, key) in positions {
                tables[table].remove(key);
            }
        });
    }

    /// Returns the number of clients in flight, counted by identity (a client with hardware address
    /// and client identifier counts twice). For tests and statistics.
    #[must_use]
    pub fn identity_count(&self) -> usize {
        self.stripes.iter().map(|stripe| lock(stripe).len()).sum()
    }

    /// Runs `body` with the stripes that contain the keys, locked in order, and the position
    /// (stripe, key) of each distinct key.
    fn with_tables<R>(
        &self,
        keys: ClientKeys,
        body: impl FnOnce(&mut [Table<'_>], &[KeyPosition]) -> R,
    ) -> R {
        let ClientKeys([a, b]) = keys;
        let (stripe_a, stripe_b) = (a as usize % STRIPES, b as usize % STRIPES);
        if stripe_a == stripe_b {
            let positions = [(0, a), (0, b)];
            let distinct = if a == b { &positions[..1] } else { &positions[..] };
            return body(&mut [lock(&self.stripes[stripe_a])], distinct);
        }
        let (low, high) = (stripe_a.min(stripe_b), stripe_a.max(stripe_b));
        let mut tables = [lock(&self.stripes[low]), lock(&self.stripes[high])];
        let positions =
            [(usize::from(stripe_a > stripe_b), a), (usize::from(stripe_b > stripe_a), b)];
        body(&mut tables, &positions)
    }
}

type Table<'a> = MutexGuard<'a, InFlightClients>;
type KeyPosition = (usize, u64);

fn lock(stripe: &InFlightStripe) -> Table<'_> {
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
        assert_eq!(clients.enter(both), InFlightAdmission::Entered);
        assert_eq!(clients.enter(by_hardware), InFlightAdmission::Hold);
        assert_eq!(clients.enter(by_hardware), InFlightAdmission::Duplicate);
        assert_eq!(clients.enter(by_other_hardware), InFlightAdmission::Hold);
        assert_eq!(clients.enter(both), InFlightAdmission::Duplicate);
        clients.leave(both);
        assert_eq!(clients.identity_count(), 0);
        assert_eq!(clients.enter(by_other_hardware), InFlightAdmission::Entered);
    }

    #[test]
    fn many_clients_come_and_go_without_leaving_anything() {
        let mut random = Random::from_seed(5);
        let clients = InFlight::new(2, 64);
        let mut inside = Vec::new();
        for _ in 0..100_000 {
            let keys = clients.keys(&[random.below(50) as u8], Some(&[random.below(50) as u8]));
            if random.chance(1, 2) && clients.enter(keys) == InFlightAdmission::Entered {
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

    #[test]
    fn more_clients_than_lie_beside_the_locks() {
        let clients = InFlight::new(3, 64);
        let keys = |n: u32| clients.keys(&n.to_be_bytes(), Some(&n.to_le_bytes()));
        let all = 0..10_000;
        assert!(all.clone().all(|n| clients.enter(keys(n)) == InFlightAdmission::Entered));
        assert_eq!(clients.identity_count(), 20_000);
        assert!(all.clone().all(|n| clients.enter(keys(n)) == InFlightAdmission::Hold));
        assert!(all.clone().all(|n| clients.enter(keys(n)) == InFlightAdmission::Duplicate));
        all.clone().for_each(|n| clients.leave(keys(n)));
        assert_eq!(clients.identity_count(), 0);
        assert!(all.clone().all(|n| clients.enter(keys(n)) == InFlightAdmission::Entered));
    }
}
