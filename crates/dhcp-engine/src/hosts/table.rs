//! Hosts of a configuration, laid out for the packet path: finding a client's host, or that it has
//! none, reads one cache line of a table, and its reservation one more.
//!
//! The second line has the host's record: its identifier, to verify the match, and its reservation.
//! Long identifiers, further reservations and terms, which few hosts have, are in tables aside. A
//! million hosts of DHCPv4 take 32 bytes each for the record and about 12 in each of two tables.

use core::fmt::Debug;
use core::hash::BuildHasher;
use core::slice;

use base::prefetch::prefetch_value;
use base::{Buckets, Prefetch};
use dhcp_config::IdentifierKind;
use foldhash::fast::FixedState;

use super::{Host, HostIndex, IdentifierKinds, ReservationProtocol, ReservationScope};

/// Largest length, in bytes, of a host identifier that fits the host's compact record.
pub(super) const SHORT: usize = 16;
/// Number of host records in a group of one or two cache lines.
const TOGETHER: usize = 2;

/// Identifier and reservation of a host, in the compact form that suits most hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompactHostRecord<R> {
    /// Bytes of the host's identifier, when it is at most [`SHORT`] bytes long.
    pub(super) octets: [u8; SHORT],
    pub(super) scope: u32,
    /// Position of the host's further parts in [`Hosts::asides`], plus one; 0 = none.
    pub(super) aside: u32,
    /// Reserved address or prefix of the host, when it has exactly one.
    pub(super) reserved: R,
    pub(super) reserved_count: u16,
    pub(super) octets_len: u8,
    pub(super) kind: IdentifierKind,
}

const _: () =
    assert!(size_of::<CompactHostRecord<core::net::Ipv4Addr>>() == 32, "two records to a line");

/// Group of neighboring host records that share one or two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Group<R>(pub(super) [CompactHostRecord<R>; TOGETHER]);

/// Positions of the parts of a host that do not fit its compact record: long identifier, further
/// reservations, terms.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HostPartIndices {
    pub(super) octets_at: u32,
    pub(super) reserved_at: u32,
    /// Position of the host's terms in [`Hosts::terms`], plus one; 0 = none.
    pub(super) terms: u32,
}

/// Tables of all hosts of a configuration. See the module.
pub struct Hosts<F: ReservationProtocol, T> {
    pub(super) hasher: FixedState,
    pub(super) len: usize,
    pub(super) records: Vec<Group<F::Reserved>>,
    pub(super) asides: Vec<HostPartIndices>,
    pub(super) octets: Vec<u8>,
    pub(super) reserved: Vec<F::Reserved>,
    pub(super) terms: Vec<T>,
    pub(super) by_identifier: Buckets,
    pub(super) by_address: Buckets,
    /// Numbers of the scopes, ascending, each with the kinds of its hosts' identifiers.
    pub(super) kinds: Vec<(u32, IdentifierKinds)>,
}

/// Hash by which a look-up finds a host's identifier.
#[derive(Clone, Copy, Debug)]
pub struct HostHash(u32);

impl HostHash {
    pub(super) const fn tag(self) -> u32 {
        self.0
    }
}

impl<F: ReservationProtocol, T> Debug for Hosts<F, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Hosts").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<F: ReservationProtocol, T> Hosts<F, T> {
    /// Returns the number of configured hosts.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the configuration has no hosts.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the kinds of identifiers that the hosts of a scope have; other kinds need no
    /// look-up.
    #[must_use]
    pub fn kinds(&self, scope: ReservationScope) -> IdentifierKinds {
        let position = self.kinds.binary_search_by_key(&scope.number(), |&(scope, _)| scope);
        position.map_or_else(|_| IdentifierKinds::default(), |at| self.kinds[at].1)
    }

    /// Returns the position of the host of a scope with this identifier.
    #[must_use]
    pub fn find(
        &self,
        scope: ReservationScope,
        kind: IdentifierKind,
        octets: &[u8],
    ) -> Option<HostIndex> {
        let HostHash(tag) = self.identifier_hash(scope, kind, octets);
        let scope = scope.number();
        let is_it = |&index: &u32| {
            let record = self.record(index);
            record.scope == scope && record.kind == kind && self.octets_of(record) == octets
        };
        self.by_identifier.find(tag).find(is_it).map(HostIndex::Configured)
    }

    /// Returns the hash that [`Hosts::find`] will look up for an identifier in a scope.
    #[must_use]
    pub fn identifier_hash(
        &self,
        scope: ReservationScope,
        kind: IdentifierKind,
        octets: &[u8],
    ) -> HostHash {
        HostHash(self.hasher.hash_one((scope.number(), kind as u8, octets)) as u32)
    }

    /// Prefetches the memory that a look-up of a host reads first.
    pub fn prefetch(&self, HostHash(tag): HostHash, prefetch: Prefetch) {
        prefetch(self.by_identifier.address_of(tag));
    }

    /// Prefetches the host record that a look-up reads second.
    pub fn prefetch_record(&self, HostHash(tag): HostHash, prefetch: Prefetch) {
        for index in self.by_identifier.find(tag) {
            let record = self.record(index);
            prefetch_value(prefetch, record, size_of_val(record).div_ceil(64));
        }
    }

    /// Returns the first reserved address, if any, of the first host with this hash, without
    /// comparing its identifier.
    pub(super) fn reserved_for_hash(&self, HostHash(tag): HostHash) -> Option<F::Address> {
        let index = self.by_identifier.find(tag).next()?;
        self.reserved_of(self.record(index)).first().map(|&reserved| F::address(reserved))
    }

    /// Returns the configured host at `index`.
    ///
    /// # Panics
    ///
    /// When `index` is not the index of a host of this table.
    #[must_use]
    pub fn get(&self, index: HostIndex) -> Host<'_, F, T> {
        let HostIndex::Configured(index) = index else {
            unreachable!("what was found elsewhere is not asked for here")
        };
        let record = self.record(index);
        Host {
            scope: match record.scope {
                0 => ReservationScope::Global,
                id => ReservationScope::Subnet(id),
            },
            kind: record.kind,
            identifier: self.octets_of(record),
            reserved: self.reserved_of(record),
            terms: self.aside_of(record).and_then(|aside| {
                let at = aside.terms.checked_sub(1)?;
                Some(&self.terms[at as usize])
            }),
        }
    }

    /// Returns the positions of the hosts for which a scope reserves an address or prefix: several
    /// where the configuration permits that (`ip-reservations-unique`), in arbitrary order.
    /// Prefixes are compared by their first address alone, as Kea does.
    pub fn owners_of(
        &self,
        scope: ReservationScope,
        address: F::Address,
    ) -> impl Iterator<Item = HostIndex> {
        let (scope, key) = (scope.number(), F::address_key(address));
        self.by_address.find(self.address_tag(scope, key)).filter_map(move |index| {
            let record = self.record(index);
            let mut reserved = self.reserved_of(record).iter();
            let is_it = record.scope == scope
                && reserved.any(|&reserved| F::address_key(F::address(reserved)) == key);
            is_it.then_some(HostIndex::Configured(index))
        })
    }

    /// Returns the position of the host for which a scope reserves an address or prefix; any of
    /// them where there are several.
    #[must_use]
    pub fn owner_of(&self, scope: ReservationScope, address: F::Address) -> Option<HostIndex> {
        self.owners_of(scope, address).next()
    }

    /// Returns all reserved addresses and prefixes, each with its scope: those of a host together,
    /// the hosts in the order in which they were added.
    pub fn reserved(&self) -> impl Iterator<Item = (ReservationScope, F::Address)> {
        (0..self.len as u32).flat_map(|index| {
            let host = self.get(HostIndex::Configured(index));
            host.reserved.iter().map(move |&reserved| (host.scope, F::address(reserved)))
        })
    }

    pub(super) fn address_tag(&self, scope: u32, key: F::Place) -> u32 {
        self.hasher.hash_one((scope, key)) as u32
    }

    pub(super) fn record(&self, index: u32) -> &CompactHostRecord<F::Reserved> {
        let index = index as usize;
        &self.records[index / TOGETHER].0[index % TOGETHER]
    }

    fn aside_of(&self, record: &CompactHostRecord<F::Reserved>) -> Option<&HostPartIndices> {
        record.aside.checked_sub(1).map(|at| &self.asides[at as usize])
    }

    fn octets_of<'h>(&'h self, record: &'h CompactHostRecord<F::Reserved>) -> &'h [u8] {
        let len = usize::from(record.octets_len);
        if len <= SHORT {
            return &record.octets[..len];
        }
        let first = self.aside_of(record).map_or(0, |aside| aside.octets_at) as usize;
        &self.octets[first..first + len]
    }

    pub(super) fn reserved_of<'h>(
        &'h self,
        record: &'h CompactHostRecord<F::Reserved>,
    ) -> &'h [F::Reserved] {
        match usize::from(record.reserved_count) {
            0 => &[],
            1 => slice::from_ref(&record.reserved),
            count => {
                let first = self.aside_of(record).map_or(0, |aside| aside.reserved_at) as usize;
                &self.reserved[first..first + count]
            }
        }
    }
}

impl<R: Copy> Group<R> {
    /// Adds a host record to `groups` after `len` others.
    pub(super) fn push(groups: &mut Vec<Self>, len: usize, record: CompactHostRecord<R>) {
        match groups.get_mut(len / TOGETHER) {
            Some(group) => group.0[len % TOGETHER] = record,
            None => groups.push(Self([record; TOGETHER])),
        }
    }

    /// Returns an empty vector of groups with room for `count` host records.
    pub(super) fn room(count: usize) -> Vec<Self> {
        Vec::with_capacity(count.div_ceil(TOGETHER))
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use dhcp_config::{HostIdentifier, Reserved4};
    use dhcp_lease::v4::V4;

    use super::*;
    use crate::hosts::HostsBuilder;

    /// Two tags are equal once in four thousand million times; this test makes them equal.
    #[test]
    fn what_an_equal_tag_leads_to_is_not_believed() {
        use IdentifierKind::{Duid, HardwareAddress};
        let address = Ipv4Addr::new(10, 0, 0, 1);
        let reserved = Reserved4 { address: Some(address), ..Reserved4::default() };
        let mut builder = HostsBuilder::<V4, ()>::new(1, 1);
        let own = HostIdentifier { kind: HardwareAddress, octets: vec![1, 2, 3] };
        builder.add(ReservationScope::Subnet(1), &own, &reserved, None);
        let mut hosts = builder.finish();
        let others: [(ReservationScope, IdentifierKind, &[u8]); 5] = [
            (ReservationScope::Subnet(2), HardwareAddress, &[1, 2, 3]),
            (ReservationScope::Global, HardwareAddress, &[1, 2, 3]),
            (ReservationScope::Subnet(1), Duid, &[1, 2, 3]),
            (ReservationScope::Subnet(1), HardwareAddress, &[1, 2, 4]),
            (ReservationScope::Subnet(1), HardwareAddress, &[1, 2]),
        ];
        for (scope, kind, octets) in others {
            hosts.by_identifier.insert(hosts.identifier_hash(scope, kind, octets).tag(), 0);
            assert_eq!(hosts.find(scope, kind, octets), None, "{scope:?}, {kind:?}, {octets:?}");
        }
        let others = [
            (ReservationScope::Subnet(2), address),
            (ReservationScope::Subnet(1), Ipv4Addr::new(10, 0, 0, 2)),
        ];
        for (scope, address) in others {
            hosts.by_address.insert(hosts.address_tag(scope.number(), address), 0);
            assert_eq!(hosts.owner_of(scope, address), None, "{scope:?}, {address}");
        }
        assert!(hosts.find(ReservationScope::Subnet(1), own.kind, &own.octets).is_some());
        assert!(hosts.owner_of(ReservationScope::Subnet(1), address).is_some());
    }
}
