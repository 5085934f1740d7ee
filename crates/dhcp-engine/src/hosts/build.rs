//! Filling the tables of hosts, once for each configuration.

use core::hash::BuildHasher;
use std::collections::BTreeMap;

use dhcp_config::HostIdentifier;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::{Hosts, IdentifierKinds, Record, Reserving, Scope};

/// Hosts on their way into the tables.
#[derive(Debug)]
pub struct HostsBuilder<F: Reserving, T> {
    hosts: Hosts<F, T>,
    kinds: BTreeMap<u32, IdentifierKinds>,
}

impl<F: Reserving, T> HostsBuilder<F, T> {
    /// Without hosts, with room for `capacity` of them. `seed` makes the hashes unpredictable.
    #[must_use]
    pub fn new(seed: u64, capacity: usize) -> Self {
        let hosts = Hosts {
            hasher: FixedState::with_seed(seed),
            records: Vec::with_capacity(capacity),
            octets: Vec::new(),
            reserved: Vec::with_capacity(capacity),
            owners: Vec::with_capacity(capacity),
            terms: Vec::new(),
            by_identifier: HashTable::new(),
            by_place: HashTable::new(),
            kinds: Vec::new(),
        };
        Self { hosts, kinds: BTreeMap::new() }
    }

    /// Adds a host, whose identifier no other host of the scope has.
    ///
    /// # Panics
    ///
    /// When the octets of all identifiers need more than 32 bits to count, or the identifier is
    /// longer than 255 octets: the configuration is checked for that.
    pub fn add(
        &mut self,
        scope: Scope,
        identifier: &HostIdentifier,
        configured: &F::Configured,
        terms: Option<T>,
    ) {
        let hosts = &mut self.hosts;
        let count = |len: usize| u32::try_from(len).expect("counted in 32 bits");
        let (octets_at, reserved_at) = (count(hosts.octets.len()), count(hosts.reserved.len()));
        hosts.octets.extend_from_slice(&identifier.octets);
        // What is beyond a count that no message could carry is left out.
        hosts.reserved.extend(F::reserved(configured).take(usize::from(u16::MAX)));
        let reserved_count = hosts.reserved.len() - reserved_at as usize;
        hosts.owners.resize(hosts.reserved.len(), count(hosts.records.len()));
        let has_terms = terms.is_some();
        hosts.terms.extend(terms);
        hosts.records.push(Record {
            scope: scope.number(),
            octets_at,
            octets_len: u8::try_from(identifier.octets.len()).expect("at most 255 octets"),
            kind: identifier.kind,
            reserved_count: u16::try_from(reserved_count).expect("limited above"),
            reserved_at,
            terms: if has_terms { count(hosts.terms.len()) } else { 0 },
        });
        self.kinds.entry(scope.number()).or_default().insert(identifier.kind);
    }

    /// The tables.
    #[must_use]
    pub fn finish(self) -> Hosts<F, T> {
        let mut hosts = self.hosts;
        hosts.kinds = self.kinds.into_iter().collect();
        hosts.octets.shrink_to_fit();
        hosts.reserved.shrink_to_fit();
        hosts.owners.shrink_to_fit();
        hosts.terms.shrink_to_fit();
        let by_identifier = |&index: &u32| {
            let record = &hosts.records[index as usize];
            hosts.hasher.hash_one((record.scope, record.kind as u8, hosts.octets_of(record)))
        };
        let by_place = |&at: &u32| {
            let scope = hosts.records[hosts.owners[at as usize] as usize].scope;
            hosts.hasher.hash_one((scope, F::place(F::address(hosts.reserved[at as usize]))))
        };
        let (identifiers, places) =
            (table(hosts.records.len(), by_identifier), table(hosts.reserved.len(), by_place));
        hosts.by_identifier = identifiers;
        hosts.by_place = places;
        hosts
    }
}

/// A table of the numbers below `len`.
fn table(len: usize, hash: impl Fn(&u32) -> u64) -> HashTable<u32> {
    let mut table = HashTable::with_capacity(len);
    for at in 0..len as u32 {
        table.insert_unique(hash(&at), at, &hash);
    }
    table
}
