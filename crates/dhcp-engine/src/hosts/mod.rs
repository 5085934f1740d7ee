//! The hosts that something is reserved for, found by identifier and by address with one hash
//! look-up each (Kea's manual, "Host Reservations"; reference §5.5).
//!
//! A million hosts lie in a few arrays: 20 octets for each beside its identifier and what it has
//! reserved, and 4 in each of two tables. What few hosts have (options, classes, names) is kept
//! apart, as a type `T` of the caller's. What a host means for allocation is the transaction's.
//!
//! Hosts that stand in databases are looked up elsewhere and remembered for a while ([`HostCache`]);
//! a message sees both kinds through a [`HostBook`].

mod book;
mod build;
mod cache;
mod client;
mod source;
mod terms;

use core::fmt::Debug;
use core::hash::{BuildHasher, Hash};

use dhcp_config::IdentifierKind;
use dhcp_lease::Family;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

pub use book::HostBook;
pub use build::HostsBuilder;
pub use cache::{CACHE_KEYS_MIN, CacheLimits, FoundIndex, HostCache};
pub use client::{ClientHosts, HostSubnet, Identifiers};
pub use source::{FoundByKey, FoundHost, HostAnswer, HostKey, HostSource};
pub use terms::{HostTerms, ReservationOf};

use crate::options::OptionCode;

/// A family that things can be reserved of.
pub trait Reserving: Family {
    /// What one reservation of a host is kept as.
    type Reserved: Copy + Debug + Send + Sync + 'static;
    /// What the configuration says of a host.
    type Configured: Debug + Send + Sync + 'static;
    /// What reservations of different hosts must not share.
    type Place: Copy + Eq + Hash;
    /// The codes of its options.
    type Code: OptionCode + Send + Sync + 'static;
    /// What only this family's hosts have beside addresses; the default is nothing.
    type Own: Clone + Debug + Default + PartialEq + Send + Sync + 'static;

    /// What a host has that only this family's hosts have.
    fn own(configured: &Self::Configured) -> Self::Own;

    /// A host's name as replies and leases have it.
    fn hostname(configured: &str) -> Box<str> {
        configured.into()
    }

    /// The reservations of a host, in the order of the file.
    fn reserved(configured: &Self::Configured) -> impl Iterator<Item = Self::Reserved>;

    /// What is reserved, as it is leased.
    fn address(reserved: Self::Reserved) -> Self::Address;

    /// The place of an address.
    fn place(address: Self::Address) -> Self::Place;
}

/// Where a reservation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// At the top of the configuration.
    Global,
    /// In the subnet with this `id`.
    Subnet(u32),
}

impl Scope {
    /// Kea's number of a scope: that of the global one is 0, which no subnet has.
    const fn number(self) -> u32 {
        match self {
            Self::Global => 0,
            Self::Subnet(id) => id,
        }
    }
}

/// A host's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostIndex {
    /// In [`Hosts`].
    Configured(u32),
    /// In a [`HostCache`].
    Found(FoundIndex),
}

/// Kinds of identifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdentifierKinds(u8);

impl IdentifierKinds {
    const fn insert(&mut self, kind: IdentifierKind) {
        self.0 |= 1 << kind as u8;
    }

    /// Whether `kind` is one of them.
    #[must_use]
    pub const fn contains(self, kind: IdentifierKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// True when there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of both.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One host.
#[derive(Clone, Copy, Debug)]
pub struct Host<'h, F: Reserving, T> {
    /// Where its reservation stands.
    pub scope: Scope,
    /// Its identifier's kind.
    pub kind: IdentifierKind,
    /// Its identifier's octets.
    pub identifier: &'h [u8],
    /// What is reserved for it.
    pub reserved: &'h [F::Reserved],
    /// What else it has; `None` for a host with addresses alone.
    pub terms: Option<&'h T>,
}

impl<F: Reserving, T> Host<'_, F, T> {
    /// What is reserved for it, as it is leased.
    pub fn addresses(&self) -> impl Iterator<Item = F::Address> {
        self.reserved.iter().map(|&reserved| F::address(reserved))
    }
}

#[derive(Clone, Copy, Debug)]
struct Record {
    scope: u32,
    octets_at: u32,
    octets_len: u8,
    kind: IdentifierKind,
    reserved_count: u16,
    reserved_at: u32,
    /// One more than the position of its terms; 0 = none.
    terms: u32,
}

/// All hosts of a configuration. See the module.
pub struct Hosts<F: Reserving, T> {
    hasher: FixedState,
    records: Vec<Record>,
    octets: Vec<u8>,
    reserved: Vec<F::Reserved>,
    /// The host of each element of `reserved`.
    owners: Vec<u32>,
    terms: Vec<T>,
    by_identifier: HashTable<u32>,
    /// Positions in `reserved`.
    by_place: HashTable<u32>,
    /// (scope, kinds of its hosts' identifiers), rising.
    kinds: Vec<(u32, IdentifierKinds)>,
}

impl<F: Reserving, T> Debug for Hosts<F, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Hosts").field("len", &self.records.len()).finish_non_exhaustive()
    }
}

impl<F: Reserving, T> Hosts<F, T> {
    /// How many hosts there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.records.len()
    }

    /// True when nothing is reserved for anyone.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The kinds of identifiers that the hosts of a scope have: others need no look-up.
    #[must_use]
    pub fn kinds(&self, scope: Scope) -> IdentifierKinds {
        let found = self.kinds.binary_search_by_key(&scope.number(), |&(scope, _)| scope);
        found.map_or_else(|_| IdentifierKinds::default(), |at| self.kinds[at].1)
    }

    /// The host of a scope with this identifier.
    #[must_use]
    pub fn find(&self, scope: Scope, kind: IdentifierKind, octets: &[u8]) -> Option<HostIndex> {
        let scope = scope.number();
        let hash = self.hasher.hash_one((scope, kind as u8, octets));
        let is_it = |&index: &u32| {
            let record = &self.records[index as usize];
            record.scope == scope && record.kind == kind && self.octets_of(record) == octets
        };
        self.by_identifier.find(hash, is_it).map(|&index| HostIndex::Configured(index))
    }

    /// The host at `index`.
    ///
    /// # Panics
    ///
    /// When it is not the index of a host of these.
    #[must_use]
    pub fn get(&self, index: HostIndex) -> Host<'_, F, T> {
        let HostIndex::Configured(index) = index else {
            unreachable!("what was found elsewhere is not asked for here")
        };
        let record = &self.records[index as usize];
        let first = record.reserved_at as usize;
        Host {
            scope: match record.scope {
                0 => Scope::Global,
                id => Scope::Subnet(id),
            },
            kind: record.kind,
            identifier: self.octets_of(record),
            reserved: &self.reserved[first..first + usize::from(record.reserved_count)],
            terms: record.terms.checked_sub(1).map(|at| &self.terms[at as usize]),
        }
    }

    /// Whom a scope has an address or prefix reserved for: several where that is allowed
    /// (`ip-reservations-unique`), in no order that means anything. Prefixes are compared by their
    /// first address alone, as Kea does.
    pub fn owners_of(&self, scope: Scope, address: F::Address) -> impl Iterator<Item = HostIndex> {
        let (scope, place) = (scope.number(), F::place(address));
        let hash = self.hasher.hash_one((scope, place));
        self.by_place.iter_hash(hash).filter_map(move |&at| {
            let owner = self.owners[at as usize];
            let is_it = self.records[owner as usize].scope == scope
                && F::place(F::address(self.reserved[at as usize])) == place;
            is_it.then_some(HostIndex::Configured(owner))
        })
    }

    /// Whom a scope has an address or prefix reserved for; any of them where there are several.
    #[must_use]
    pub fn owner_of(&self, scope: Scope, address: F::Address) -> Option<HostIndex> {
        self.owners_of(scope, address).next()
    }

    /// Everything reserved, with its scope: those of one host stand together, hosts in the order
    /// in which they were added.
    pub fn reserved(&self) -> impl Iterator<Item = (Scope, F::Address)> {
        (0..self.records.len() as u32).flat_map(|index| {
            let host = self.get(HostIndex::Configured(index));
            host.reserved.iter().map(move |&reserved| (host.scope, F::address(reserved)))
        })
    }

    fn octets_of(&self, record: &Record) -> &[u8] {
        let first = record.octets_at as usize;
        &self.octets[first..first + usize::from(record.octets_len)]
    }
}
