//! Cache of one shard for hosts that a [`HostSource`] looked up outside of the configuration: a
//! bounded number of keys, for a short time each, also keys that lead to no host.
//!
//! The shard reads the cache while it serves a message. The cache records keys that it does not
//! have and requests them from the source together with those of all other messages of the batch.
//! It finds known keys without allocating.

use core::cell::{Cell, RefCell};
use core::fmt::{self, Debug};
use core::hash::{BuildHasher, Hash};

use base::Now;
use dhcp_config::IdentifierKind;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::{
    ChangedHosts, Host, HostIndex, HostKey, HostSource, HostTerms, ReservationOf,
    ReservationProtocol, ReservationScope,
};
use crate::classify::Classes;
use crate::held_messages::HELD_CAPACITY;

/// Smallest number of keys that a host cache has room for: more than held messages can wait for.
pub const CACHE_KEYS_MIN: usize = 8 * HELD_CAPACITY as usize;

/// Limits of a host cache: number of keys, and lifetime of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLimits {
    /// Largest number of keys in the cache, each with its hosts; at least [`CACHE_KEYS_MIN`].
    pub keys_max: usize,
    /// Lifetime of a key in the cache, in nanoseconds; after that, the key is looked up again.
    pub lifetime_ns: u64,
}

/// Key of a host look-up, borrowed from the message.
#[derive(Clone, Copy, Debug)]
enum BorrowedHostKey<'k, A> {
    Identifier(IdentifierKind, &'k [u8]),
    Address(A),
}

impl<A: Copy + Eq + Hash> BorrowedHostKey<'_, A> {
    fn from_key(key: &HostKey<A>) -> BorrowedHostKey<'_, A> {
        match key {
            HostKey::Identifier(kind, octets) => BorrowedHostKey::Identifier(*kind, octets),
            HostKey::Address(address) => BorrowedHostKey::Address(*address),
        }
    }

    fn is(&self, key: &HostKey<A>) -> bool {
        match (self, key) {
            (Self::Identifier(kind, octets), HostKey::Identifier(other, others)) => {
                kind == other && **octets == **others
            }
            (Self::Address(address), HostKey::Address(other)) => address == other,
            _ => false,
        }
    }

    fn to_key(self) -> HostKey<A> {
        match self {
            Self::Identifier(kind, octets) => HostKey::Identifier(kind, octets.into()),
            Self::Address(address) => HostKey::Address(address),
        }
    }

    fn hash(&self, hasher: &FixedState) -> u64 {
        match self {
            Self::Identifier(kind, octets) => hasher.hash_one((*kind as u8, octets)),
            Self::Address(address) => hasher.hash_one(address),
        }
    }
}

/// State of a key in the host cache.
#[derive(Clone, Copy, Debug)]
enum HostCacheState {
    /// Key of a host look-up that the batch with this number requests from the source.
    Requested(u64),
    /// Key that leads to the hosts of its entry, until the monotonic time `until_ns`, in
    /// nanoseconds.
    Valid { until_ns: u64 },
}

struct HostCacheEntry<F: ReservationProtocol> {
    key: HostKey<F::Address>,
    state: HostCacheState,
    hosts: Vec<CachedHost<F>>,
}

/// Host that was looked up, in the form that the packet path reads.
struct CachedHost<F: ReservationProtocol> {
    scope: ReservationScope,
    kind: IdentifierKind,
    identifier: Box<[u8]>,
    reserved: Box<[F::Reserved]>,
    terms: Option<HostTerms<F>>,
}

/// Position of a host in the cache: that of its key's entry, and that of the host within the entry.
/// It is valid for one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CachedHostIndex {
    entry: u32,
    at: u32,
}

/// Cache of one shard for hosts that were looked up outside of the configuration. See the module.
pub struct HostCache<F: ReservationProtocol> {
    source: Option<Box<dyn HostSource<F>>>,
    limits: CacheLimits,
    now_ns: u64,
    hasher: FixedState,
    table: HashTable<u32>,
    entries: Vec<HostCacheEntry<F>>,
    /// Position of the cache entry at which the next search for an entry to replace begins.
    hand: usize,
    /// Keys that the current message missed in the cache and that are not requested yet.
    missed: RefCell<Vec<HostKey<F::Address>>>,
    /// Number of the newest batch that requests a key which the current message missed.
    awaited: Cell<u64>,
    /// Keys that the next batch will request from the source.
    requested_keys: Vec<HostKey<F::Address>>,
    next_batch: u64,
    answered_batch: u64,
    is_failing: bool,
}

impl<F: ReservationProtocol> Debug for HostCache<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostCache").field("keys", &self.entries.len()).finish_non_exhaustive()
    }
}

impl<F: ReservationProtocol> Default for HostCache<F> {
    fn default() -> Self {
        Self {
            source: None,
            limits: CacheLimits { keys_max: CACHE_KEYS_MIN, lifetime_ns: 0 },
            now_ns: 0,
            hasher: FixedState::with_seed(0),
            table: HashTable::new(),
            entries: Vec::new(),
            hand: 0,
            missed: RefCell::default(),
            awaited: Cell::new(0),
            requested_keys: Vec::new(),
            next_batch: 1,
            answered_batch: 0,
            is_failing: false,
        }
    }
}

impl<F: ReservationProtocol> HostCache<F> {
    /// Returns an empty cache over `source`. `seed` makes the hashes of keys unpredictable.
    #[must_use]
    pub fn new(source: Box<dyn HostSource<F>>, limits: CacheLimits, seed: u64) -> Self {
        Self {
            source: Some(source),
            limits: CacheLimits { keys_max: limits.keys_max.max(CACHE_KEYS_MIN), ..limits },
            hasher: FixedState::with_seed(seed),
            ..Self::default()
        }
    }

    /// Returns true if the cache has a source of hosts.
    #[must_use]
    pub const fn is_in_use(&self) -> bool {
        self.source.is_some()
    }

    /// Returns the number of keys in the cache.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the cache contains no key.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all keys from the cache: the cached hosts were compiled for another configuration.
    pub fn clear(&mut self) {
        self.table.clear();
        self.entries.clear();
        self.hand = 0;
    }

    /// Begins to serve a message at `now`: no key counts as missed any more.
    pub fn begin(&mut self, now: Now) {
        self.now_ns = now.mono_ns;
        self.missed.get_mut().clear();
        self.awaited.set(0);
        match self.source.as_mut().map(|source| source.take_changed()) {
            Some(ChangedHosts::Keys(keys)) => keys.iter().for_each(|key| self.forget(key)),
            Some(ChangedHosts::All) => self.clear(),
            None => {}
        }
    }

    /// Makes the hosts of `key` unknown. An answer to an earlier request for them does not count.
    fn forget(&mut self, key: &HostKey<F::Address>) {
        let Some(at) = self.position(BorrowedHostKey::from_key(key)) else { return };
        if let Some(entry) = self.entries.get_mut(at) {
            entry.state = HostCacheState::Valid { until_ns: 0 };
        }
    }

    /// Returns true if the current message looked for a key that the cache does not have.
    #[must_use]
    pub fn has_missed(&self) -> bool {
        self.awaited.get() > 0 || !self.missed.borrow().is_empty()
    }

    /// Returns true if the source of hosts, such as a database, could not look up the last batch of
    /// keys.
    #[must_use]
    pub const fn is_failing(&self) -> bool {
        self.is_failing
    }

    /// Returns the number of the newest batch of keys that the source has answered.
    #[must_use]
    pub const fn answered_batch(&self) -> u64 {
        self.answered_batch
    }

    /// Requests the keys that the current message missed; returns the number of the batch that it
    /// has to wait for.
    pub fn request_missed(&mut self) -> u64 {
        let mut awaited = self.awaited.get();
        for key in core::mem::take(self.missed.get_mut()) {
            awaited = self.next_batch;
            let requested = HostCacheState::Requested(self.next_batch);
            match self.position(BorrowedHostKey::from_key(&key)) {
                Some(at) if matches!(self.entries[at].state, HostCacheState::Requested(_)) => {
                    continue;
                }
                Some(at) => self.entries[at].state = requested,
                None => self.remember(key.clone(), requested),
            }
            self.requested_keys.push(key);
        }
        awaited
    }

    /// Sends the requested keys to the source of hosts, at the end of a batch of received messages.
    pub fn submit(&mut self) {
        if !self.requested_keys.is_empty()
            && let Some(source) = self.source.as_mut()
        {
            let batch = source.request(core::mem::take(&mut self.requested_keys));
            debug_assert_eq!(batch, self.next_batch, "batches are counted alike");
            self.next_batch = batch + 1;
        }
    }

    /// Takes the answers of the source of hosts into the cache; `classes` are those of the
    /// configuration in force.
    pub fn take_answers(&mut self, now: Now, classes: &Classes) {
        let until_ns = now.mono_ns.saturating_add(self.limits.lifetime_ns).max(now.mono_ns + 1);
        while let Some(answer) = self.source.as_mut().and_then(|source| source.take()) {
            self.answered_batch = answer.batch;
            self.is_failing = answer.is_failed;
            for (key, hosts) in answer.hosts_by_key {
                // The answer belongs to an earlier request when the configuration changed in
                // between.
                let Some(at) = self.position(BorrowedHostKey::from_key(&key)) else { continue };
                let entry = &mut self.entries[at];
                if !matches!(entry.state, HostCacheState::Requested(batch) if batch <= answer.batch)
                {
                    continue;
                }
                entry.hosts.clear();
                if answer.is_failed {
                    entry.state = HostCacheState::Valid { until_ns: 0 };
                    continue;
                }
                entry.state = HostCacheState::Valid { until_ns };
                let hosts = hosts
                    .iter()
                    .map(|(scope, host)| CachedHost::from_reservation(*scope, host, classes));
                entry.hosts.extend(hosts);
                entry.hosts.shrink_to_fit();
            }
        }
    }

    /// Returns the position of the cached host of a scope with this identifier.
    pub(super) fn find(
        &self,
        scope: ReservationScope,
        kind: IdentifierKind,
        octets: &[u8],
    ) -> Option<HostIndex> {
        let entry = self.look_up(BorrowedHostKey::Identifier(kind, octets))?;
        let mut hosts = self.entries[entry].hosts.iter();
        let at = hosts.position(|host| host.scope == scope)?;
        Some(index(entry, at))
    }

    /// Returns the positions of the cached hosts for which a scope reserves `address`.
    pub(super) fn owners_of(
        &self,
        scope: ReservationScope,
        address: F::Address,
    ) -> impl Iterator<Item = HostIndex> + use<'_, F> {
        let address_key = F::address_key(address);
        let entry = self.look_up(BorrowedHostKey::Address(address)).unwrap_or(usize::MAX);
        let hosts = self.entries.get(entry).map(|entry| entry.hosts.iter().enumerate());
        hosts.into_iter().flatten().filter_map(move |(at, host)| {
            let mut reserved = host.reserved.iter();
            let has = host.scope == scope
                && reserved.any(|&reserved| F::address_key(F::address(reserved)) == address_key);
            has.then(|| index(entry, at))
        })
    }

    /// Returns the host at `index` of the cache.
    pub(super) fn get(&self, index: CachedHostIndex) -> Host<'_, F, HostTerms<F>> {
        let host = &self.entries[index.entry as usize].hosts[index.at as usize];
        Host {
            scope: host.scope,
            kind: host.kind,
            identifier: &host.identifier,
            reserved: &host.reserved,
            terms: host.terms.as_ref(),
        }
    }

    /// Returns the position of a key's entry in the host cache; records a key that the cache does
    /// not have as missed.
    fn look_up(&self, key: BorrowedHostKey<'_, F::Address>) -> Option<usize> {
        let at = self.position(key);
        match at.map(|at| self.entries[at].state) {
            Some(HostCacheState::Valid { until_ns }) if self.now_ns < until_ns => return at,
            Some(HostCacheState::Requested(batch)) => {
                self.awaited.set(self.awaited.get().max(batch))
            }
            _ => self.missed.borrow_mut().push(key.to_key()),
        }
        None
    }

    fn position(&self, key: BorrowedHostKey<'_, F::Address>) -> Option<usize> {
        let is_it = |&at: &u32| key.is(&self.entries[at as usize].key);
        self.table.find(key.hash(&self.hasher), is_it).map(|&at| at as usize)
    }

    /// Adds an entry for `key` to the host cache, or replaces an old one when the cache is full;
    /// adds none when all entries are being requested.
    fn remember(&mut self, key: HostKey<F::Address>, state: HostCacheState) {
        let hash = BorrowedHostKey::from_key(&key).hash(&self.hasher);
        let entry = HostCacheEntry { key, state, hosts: Vec::new() };
        let at = if self.entries.len() < self.limits.keys_max {
            self.entries.push(entry);
            self.entries.len() - 1
        } else {
            let Some(at) = self.oldest() else { return };
            let old = core::mem::replace(&mut self.entries[at], entry);
            let old_hash = BorrowedHostKey::from_key(&old.key).hash(&self.hasher);
            if let Ok(table_entry) = self.table.find_entry(old_hash, |&other| other as usize == at)
            {
                table_entry.remove();
            }
            at
        };
        let (hasher, entries) = (&self.hasher, &self.entries);
        let hash_of = |&at: &u32| BorrowedHostKey::from_key(&entries[at as usize].key).hash(hasher);
        self.table.insert_unique(hash, at as u32, hash_of);
    }

    /// Returns the position of the entry of the host cache to replace next: round robin, without
    /// entries whose key is being requested.
    fn oldest(&mut self) -> Option<usize> {
        for _ in 0..self.entries.len() {
            let at = self.hand;
            self.hand = (at + 1) % self.entries.len();
            if matches!(self.entries[at].state, HostCacheState::Valid { .. }) {
                return Some(at);
            }
        }
        None
    }
}

impl<F: ReservationProtocol> CachedHost<F> {
    fn from_reservation(
        scope: ReservationScope,
        host: &ReservationOf<F>,
        classes: &Classes,
    ) -> Self {
        Self {
            scope,
            kind: host.identifier.kind,
            identifier: host.identifier.octets.as_slice().into(),
            reserved: F::reserved(&host.reserved).collect(),
            terms: HostTerms::from_reservation(host, classes),
        }
    }
}

const fn index(entry: usize, at: usize) -> HostIndex {
    HostIndex::Cached(CachedHostIndex { entry: entry as u32, at: at as u32 })
}
