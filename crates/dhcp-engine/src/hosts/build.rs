//! Builder of the tables of hosts, used once for each configuration.

use std::collections::BTreeMap;

use base::Buckets;
use dhcp_config::HostIdentifier;
use foldhash::fast::FixedState;

use super::table::{CompactHostRecord, Group, HostPartIndices, SHORT};
use super::{HostIndex, Hosts, IdentifierKinds, ReservationProtocol, ReservationScope};

/// Builder of the tables of a configuration's hosts.
#[derive(Debug)]
pub struct HostsBuilder<F: ReservationProtocol, T> {
    hosts: Hosts<F, T>,
    kinds: BTreeMap<u32, IdentifierKinds>,
}

impl<F: ReservationProtocol, T> HostsBuilder<F, T> {
    /// Returns a builder without hosts, with room for `capacity` of them. `seed` makes the hashes
    /// of identifiers unpredictable.
    #[must_use]
    pub fn new(seed: u64, capacity: usize) -> Self {
        let hosts = Hosts {
            hasher: FixedState::with_seed(seed),
            len: 0,
            records: Group::room(capacity),
            asides: Vec::new(),
            octets: Vec::new(),
            reserved: Vec::new(),
            terms: Vec::new(),
            by_identifier: Buckets::default(),
            by_address: Buckets::default(),
            kinds: Vec::new(),
        };
        Self { hosts, kinds: BTreeMap::new() }
    }

    /// Adds a host to the tables; no other host of the scope may have its identifier.
    ///
    /// # Panics
    ///
    /// When the number of bytes of all identifiers needs more than 32 bits, or the identifier is
    /// longer than 255 bytes: the check of the configuration excludes both.
    pub fn add(
        &mut self,
        scope: ReservationScope,
        identifier: &HostIdentifier,
        configured: &F::Configured,
        terms: Option<T>,
    ) {
        let hosts = &mut self.hosts;
        let count = |len: usize| u32::try_from(len).expect("counted in 32 bits");
        let octets = &identifier.octets;
        let mut aside = HostPartIndices {
            octets_at: count(hosts.octets.len()),
            reserved_at: count(hosts.reserved.len()),
            terms: 0,
        };
        let mut short = [0; SHORT];
        match short.get_mut(..octets.len()) {
            Some(target) => target.copy_from_slice(octets),
            None => hosts.octets.extend_from_slice(octets),
        }
        // Reservations beyond `u16::MAX`, which no message could carry, are left out.
        hosts.reserved.extend(F::reserved(configured).take(usize::from(u16::MAX)));
        let reserved_count = hosts.reserved.len() - aside.reserved_at as usize;
        let reserved = match reserved_count {
            1 => hosts.reserved.pop().unwrap_or(F::NOTHING),
            _ => F::NOTHING,
        };
        if let Some(terms) = terms {
            hosts.terms.push(terms);
            aside.terms = count(hosts.terms.len());
        }
        let has_aside = octets.len() > SHORT || reserved_count > 1 || aside.terms > 0;
        hosts.asides.extend(has_aside.then_some(aside));
        let record = CompactHostRecord {
            octets: short,
            scope: scope.number(),
            aside: if has_aside { count(hosts.asides.len()) } else { 0 },
            reserved,
            reserved_count: u16::try_from(reserved_count).expect("limited above"),
            octets_len: u8::try_from(octets.len()).expect("at most 255 octets"),
            kind: identifier.kind,
        };
        count(hosts.len);
        Group::push(&mut hosts.records, hosts.len, record);
        hosts.len += 1;
        self.kinds.entry(scope.number()).or_default().insert(identifier.kind);
    }

    /// Returns the tables of all hosts that were added.
    #[must_use]
    pub fn finish(self) -> Hosts<F, T> {
        let mut hosts = self.hosts;
        hosts.kinds = self.kinds.into_iter().collect();
        hosts.asides.shrink_to_fit();
        hosts.octets.shrink_to_fit();
        hosts.reserved.shrink_to_fit();
        hosts.terms.shrink_to_fit();
        let (mut by_identifier, mut by_address) = (Buckets::default(), Buckets::default());
        let indexes = || 0..hosts.len as u32;
        let of = |index| usize::from(hosts.record(index).reserved_count);
        by_identifier.reserve(hosts.len);
        by_address.reserve(indexes().map(of).sum());
        for index in indexes() {
            let host = hosts.get(HostIndex::Configured(index));
            let host_hash = hosts.identifier_hash(host.scope, host.kind, host.identifier);
            by_identifier.insert(host_hash.tag(), index);
            for address in host.addresses() {
                by_address
                    .insert(hosts.address_tag(host.scope.number(), F::address_key(address)), index);
            }
        }
        hosts.by_identifier = by_identifier;
        hosts.by_address = by_address;
        hosts
    }
}
