//! Hosts with reservations, found by identifier and by address with one hash look-up each (Kea's
//! manual, "Host Reservations"; reference §5.5).
//!
//! Data that few hosts have (options, classes, names) is a type `T` of the caller. The transaction
//! decides how a host affects allocation.
//!
//! Hosts in databases are looked up elsewhere and cached for a while ([`HostCache`]); a message
//! sees both kinds through a [`HostBook`].

mod book;
mod build;
mod cache;
mod client;
mod host_hashes;
mod source;
mod table;
mod terms;

use core::fmt::Debug;
use core::hash::Hash;

use base::HostName;
use dhcp_config::IdentifierKind;
use dhcp_lease::Family;

pub use book::HostBook;
pub use build::HostsBuilder;
pub use cache::{CACHE_KEYS_MIN, CacheLimits, CachedHostIndex, HostCache};
pub use client::{ClientHosts, HostSubnet, Identifiers};
pub use host_hashes::HostHashes;
pub use source::{FoundByKey, FoundHost, HostAnswer, HostKey, HostSource};
pub use table::{HostHash, Hosts};
pub use terms::{HostTerms, ReservationOf};

use crate::options::OptionCode;

/// Family that has reservations.
pub trait ReservationProtocol: Family {
    /// One reservation of a host in the tables.
    type Reserved: Copy + Debug + Send + Sync + 'static;
    /// Family-specific part of a host's configuration.
    type Configured: Debug + Send + Sync + 'static;
    /// Part of an address that reservations of different hosts must not share.
    type Place: Copy + Eq + Hash;
    /// Type of the family's option codes.
    type Code: OptionCode + Send + Sync + 'static;
    /// Data other than addresses that only this family's hosts have; the default is none.
    type Own: Clone + Debug + Default + PartialEq + Send + Sync + 'static;

    /// Placeholder for no reservation.
    const NOTHING: Self::Reserved;

    /// Returns the data that only this family's hosts have.
    fn own(configured: &Self::Configured) -> Self::Own;

    /// Returns a host's name as replies and leases have it.
    fn hostname(configured: &HostName) -> HostName {
        configured.clone()
    }

    /// Returns the reservations of a host, in the order of the file.
    fn reserved(configured: &Self::Configured) -> impl Iterator<Item = Self::Reserved>;

    /// Returns the reserved address or prefix in the form of a lease.
    fn address(reserved: Self::Reserved) -> Self::Address;

    /// Returns the part of `address` that reservations of different hosts must not share.
    fn address_key(address: Self::Address) -> Self::Place;
}

/// Scope of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReservationScope {
    /// The top of the configuration.
    Global,
    /// The subnet with this `id`.
    Subnet(u32),
}

impl ReservationScope {
    /// Returns Kea's number of a scope: that of the global one is 0, which no subnet has.
    const fn number(self) -> u32 {
        match self {
            Self::Global => 0,
            Self::Subnet(id) => id,
        }
    }
}

/// Position of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostIndex {
    /// Position in [`Hosts`].
    Configured(u32),
    /// Position in a [`HostCache`].
    Cached(CachedHostIndex),
}

/// Set of kinds of identifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdentifierKinds(u8);

impl IdentifierKinds {
    const fn insert(&mut self, kind: IdentifierKind) {
        self.0 |= 1 << kind as u8;
    }

    /// Returns true if the set contains `kind`.
    #[must_use]
    pub const fn contains(self, kind: IdentifierKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the kinds of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One host.
#[derive(Clone, Copy, Debug)]
pub struct Host<'h, F: ReservationProtocol, T> {
    /// Scope of the reservation.
    pub scope: ReservationScope,
    /// Kind of the identifier.
    pub kind: IdentifierKind,
    /// Bytes of the identifier.
    pub identifier: &'h [u8],
    /// Reserved addresses or prefixes.
    pub reserved: &'h [F::Reserved],
    /// Other data of the host; `None` for a host with addresses alone.
    pub terms: Option<&'h T>,
}

impl<F: ReservationProtocol, T> Host<'_, F, T> {
    /// Returns the reserved addresses or prefixes in the form of leases.
    pub fn addresses(&self) -> impl Iterator<Item = F::Address> {
        self.reserved.iter().map(|&reserved| F::address(reserved))
    }
}
