//! Hosts with reservations, found by identifier and by address with one hash look-up each (Kea's
//! manual, "Host Reservations"; Kea reference §5.5).
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
pub use source::{ChangedHosts, FoundByKey, FoundHost, HostAnswer, HostKey, HostSource};
pub use table::{HostHash, Hosts};
pub use terms::{HostTerms, ReservationOf};

use crate::options::OptionCode;

/// Address family whose leases can be reserved for hosts: DHCPv4 or DHCPv6.
pub trait ReservationProtocol: Family {
    /// Type of one reservation of a host in the tables: an address, or in DHCPv6 also a prefix.
    type Reserved: Copy + Debug + Send + Sync + 'static;
    /// Type of the family-specific part of a host's configuration.
    type Configured: Debug + Send + Sync + 'static;
    /// Type of the part of an address or prefix that reservations of different hosts must not
    /// share.
    type Place: Copy + Debug + Ord + Hash + Send + Sync + 'static;
    /// Type of the option codes of the family.
    type Code: OptionCode + Send + Sync + 'static;
    /// Type of the data other than addresses that only this family's hosts have, such as the boot
    /// fields of DHCPv4; its default stands for no data.
    type Own: Clone + Debug + Default + PartialEq + Send + Sync + 'static;

    /// Placeholder in the tables for a host without a reservation.
    const NOTHING: Self::Reserved;

    /// Returns the data of a configured host that only this family's hosts have.
    fn own(configured: &Self::Configured) -> Self::Own;

    /// Returns the name of a configured host in the form that replies and lease rows have.
    fn hostname(configured: &HostName) -> HostName {
        configured.clone()
    }

    /// Returns the reserved addresses and prefixes of a configured host, in the order of the file.
    fn reserved(configured: &Self::Configured) -> impl Iterator<Item = Self::Reserved>;

    /// Returns a reserved address or prefix in the form of a lease.
    fn address(reserved: Self::Reserved) -> Self::Address;

    /// Returns the part of `address` that reservations of different hosts must not share.
    fn address_key(address: Self::Address) -> Self::Place;
}

/// Scope in which a host reservation counts: a subnet, or the whole configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReservationScope {
    /// Global scope: reservations at the top of the configuration.
    Global,
    /// Scope of the subnet with this `id`.
    Subnet(u32),
}

impl ReservationScope {
    /// Returns the number by which Kea stores a scope: 0 for the global one, which no subnet has.
    const fn number(self) -> u32 {
        match self {
            Self::Global => 0,
            Self::Subnet(id) => id,
        }
    }
}

/// Position of a host, in the configuration's tables or in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostIndex {
    /// Position of a configured host in [`Hosts`].
    Configured(u32),
    /// Position of a looked-up host in a [`HostCache`].
    Cached(CachedHostIndex),
}

/// Set of kinds of host identifiers, such as hardware address or DUID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdentifierKinds(u8);

impl IdentifierKinds {
    const fn insert(&mut self, kind: IdentifierKind) {
        self.0 |= 1 << kind as u8;
    }

    /// Returns true if the set contains the kind of identifier `kind`.
    #[must_use]
    pub const fn contains(self, kind: IdentifierKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Returns true if the set contains no kind of identifier.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the set of the kinds of identifiers in either set.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Host with its reservations, borrowed from the tables or the cache.
#[derive(Clone, Copy, Debug)]
pub struct Host<'h, F: ReservationProtocol, T> {
    /// Scope of the host's reservations.
    pub scope: ReservationScope,
    /// Kind of the host's identifier.
    pub kind: IdentifierKind,
    /// Bytes of the host's identifier.
    pub identifier: &'h [u8],
    /// Addresses or prefixes that are reserved for the host.
    pub reserved: &'h [F::Reserved],
    /// Name, options, classes and other terms of the host; `None` for a host with addresses alone.
    pub terms: Option<&'h T>,
}

impl<F: ReservationProtocol, T> Host<'_, F, T> {
    /// Returns the host's reserved addresses or prefixes in the form of leases.
    pub fn addresses(&self) -> impl Iterator<Item = F::Address> {
        self.reserved.iter().map(|&reserved| F::address(reserved))
    }
}
