//! The hosts that something is reserved for, found by identifier and by address with one hash
//! look-up each (Kea's manual, "Host Reservations"; reference §5.5).
//!
//! What few hosts have (options, classes, names) is a type `T` of the caller's. What a host means for
//! allocation is the transaction's.
//!
//! Hosts that stand in databases are looked up elsewhere and remembered for a while ([`HostCache`]);
//! a message sees both kinds through a [`HostBook`].

mod book;
mod build;
mod cache;
mod client;
mod source;
mod table;
mod terms;
mod trails;

use core::fmt::Debug;
use core::hash::Hash;

use base::HostName;
use dhcp_config::IdentifierKind;
use dhcp_lease::Family;

pub use book::HostBook;
pub use build::HostsBuilder;
pub use cache::{CACHE_KEYS_MIN, CacheLimits, FoundIndex, HostCache};
pub use client::{ClientHosts, HostSubnet, Identifiers};
pub use source::{FoundByKey, FoundHost, HostAnswer, HostKey, HostSource};
pub use table::{HostTrail, Hosts};
pub use terms::{HostTerms, ReservationOf};
pub use trails::HostTrails;

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

    /// Stands where nothing is reserved.
    const NOTHING: Self::Reserved;

    /// What a host has that only this family's hosts have.
    fn own(configured: &Self::Configured) -> Self::Own;

    /// A host's name as replies and leases have it.
    fn hostname(configured: &HostName) -> HostName {
        configured.clone()
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
