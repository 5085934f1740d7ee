//! Names that were requested for the addresses of leases, and their comparison with the leases: a
//! server that was killed finds in it the requests that it had not made yet.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use ncr::{Dhcid, NameChangeKind, NameChangeRequest};

/// Name that a lease has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    /// Request to add the name.
    pub addition: NameChangeRequest,
    /// Time of the client's last message about the lease, in seconds since 1970.
    pub since_s: u64,
    /// True if one exchange adds the name of one of its leases only.
    pub is_one_of_exchange: bool,
}

/// Last addition that was requested for each address, without those that were removed since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameRegistry(BTreeMap<IpAddr, NameChangeRequest>);

impl NameRegistry {
    /// Takes a request that is carried out after all earlier ones.
    pub fn follow(&mut self, request: &NameChangeRequest) {
        match request.kind {
            NameChangeKind::Add => drop(self.0.insert(request.address, request.clone())),
            NameChangeKind::Remove => {
                let is_known =
                    self.0.get(&request.address).is_some_and(|known| is_same(known, request));
                if is_known {
                    self.0.remove(&request.address);
                }
            }
        }
    }

    /// Returns the additions, by their addresses.
    pub fn iter(&self) -> impl Iterator<Item = &NameChangeRequest> {
        self.0.values()
    }

    /// Begins a comparison with the names of all leases.
    #[must_use]
    pub fn compare(&self) -> NameComparison<'_> {
        NameComparison {
            registry: self,
            present: BTreeSet::new(),
            exchanges: BTreeSet::new(),
            missing: Vec::new(),
        }
    }
}

/// Comparison of a registry with the names of all leases.
#[derive(Debug)]
pub struct NameComparison<'r> {
    registry: &'r NameRegistry,
    /// Addresses whose leases have the name that is known.
    present: BTreeSet<IpAddr>,
    /// Times and clients of exchanges that have added their one name.
    exchanges: BTreeSet<(u64, Dhcid)>,
    missing: Vec<LeaseName>,
}

impl NameComparison<'_> {
    /// Takes the name of a lease. Each address has one at most.
    pub fn take(&mut self, lease: LeaseName) {
        let known = self.registry.0.get(&lease.addition.address);
        if !known.is_some_and(|known| is_equal(known, &lease.addition)) {
            self.missing.push(lease);
            return;
        }
        self.present.insert(lease.addition.address);
        if lease.is_one_of_exchange {
            self.exchanges.insert((lease.since_s, lease.addition.dhcid));
        }
    }

    /// Returns the requests that are missing so that the names are those of the leases: removals
    /// first, then additions in the order of the leases' times. Of leases of one exchange that adds
    /// one name only, the result adds one, unless one is known.
    #[must_use]
    pub fn finish(mut self) -> Vec<NameChangeRequest> {
        let outdated = self.registry.0.values();
        let outdated = outdated.filter(|known| !self.present.contains(&known.address));
        let removal = |known: &NameChangeRequest| NameChangeRequest {
            kind: NameChangeKind::Remove,
            ..known.clone()
        };
        let mut requests: Vec<NameChangeRequest> = outdated.map(removal).collect();
        self.missing.sort_by_key(|lease| (lease.since_s, lease.addition.address));
        for LeaseName { addition, since_s, is_one_of_exchange } in self.missing {
            // A DHCID is made of the client and the name.
            if !is_one_of_exchange || self.exchanges.insert((since_s, addition.dhcid.clone())) {
                requests.push(addition);
            }
        }
        requests
    }
}

/// Returns true if both requests are about the same name of the same client.
fn is_same(one: &NameChangeRequest, other: &NameChangeRequest) -> bool {
    one.dhcid == other.dhcid && one.name.canonical_wire() == other.name.canonical_wire()
}

/// Returns true if both additions ask for the same records, except for their times to live.
fn is_equal(one: &NameChangeRequest, other: &NameChangeRequest) -> bool {
    is_same(one, other) && one.forward == other.forward && one.reverse == other.reverse
}

#[cfg(test)]
mod tests {
    use base::Random;
    use ncr::{ConflictMode, UpdateName};

    use super::*;
    use crate::journal::{JournalEntries, JournalLine};

    fn addition(random: &mut Random) -> NameChangeRequest {
        let client = random.below(3) as u8;
        let forward = random.chance(3, 4);
        NameChangeRequest {
            kind: NameChangeKind::Add,
            forward,
            reverse: !forward || random.chance(1, 2),
            name: UpdateName::from_text(random.pick(&["a.", "A.", "b."]).unwrap()).unwrap(),
            address: IpAddr::from([10, 0, 0, random.below(4) as u8]),
            dhcid: Dhcid::from_bytes(&[0, 1, 1, client]).unwrap(),
            ttl_s: 600 + random.below(5) as u32,
            conflict_mode: ConflictMode::default(),
        }
    }

    /// Returns leases of some addresses.
    fn leases(random: &mut Random, is_one_of_exchange: bool) -> Vec<LeaseName> {
        let count = random.below(6);
        let lease = |random: &mut Random| LeaseName {
            addition: addition(random),
            since_s: random.below(3),
            is_one_of_exchange,
        };
        let leases = (0..count).map(|_| lease(random));
        let by_address: BTreeMap<IpAddr, LeaseName> =
            leases.map(|lease| (lease.addition.address, lease)).collect();
        by_address.into_values().collect()
    }

    fn difference(registry: &NameRegistry, leases: &[LeaseName]) -> Vec<NameChangeRequest> {
        let mut comparison = registry.compare();
        leases.iter().for_each(|lease| comparison.take(lease.clone()));
        comparison.finish()
    }

    #[test]
    fn after_the_difference_the_names_are_those_of_the_leases() {
        for seed in 0..5_000 {
            let mut random = Random::from_seed(seed);
            let mut registry = NameRegistry::default();
            for _ in 0..3 {
                let leases = leases(&mut random, false);
                let requests = difference(&registry, &leases);
                requests.iter().for_each(|request| registry.follow(request));
                let pairs = registry.iter().zip(&leases);
                let are_equal = pairs.into_iter().all(|(one, lease)| {
                    one.address == lease.addition.address && is_equal(one, &lease.addition)
                });
                assert!(are_equal && registry.0.len() == leases.len(), "seed {seed}");
                assert_eq!(difference(&registry, &leases), [], "seed {seed}");
            }
        }
    }

    #[test]
    fn a_client_that_gets_several_addresses_at_once_has_the_name_of_one() {
        for seed in 0..5_000 {
            let mut random = Random::from_seed(seed);
            let mut registry = NameRegistry::default();
            for _ in 0..3 {
                let leases = leases(&mut random, true);
                let requests = difference(&registry, &leases);
                requests.iter().for_each(|request| registry.follow(request));
                assert_eq!(difference(&registry, &leases), [], "seed {seed}");
                let exchange = |lease: &LeaseName| (lease.since_s, lease.addition.dhcid.clone());
                let exchanges: BTreeSet<_> = leases.iter().map(exchange).collect();
                let named = leases.iter().filter(|lease| {
                    let known = registry.0.get(&lease.addition.address);
                    known.is_some_and(|known| is_equal(known, &lease.addition))
                });
                let named: BTreeSet<_> = named.map(exchange).collect();
                assert_eq!(named, exchanges, "seed {seed}: an exchange has no name");
            }
        }
    }

    #[test]
    fn a_journal_that_is_written_anew_leads_to_the_same_names() {
        for seed in 0..2_000 {
            let mut random = Random::from_seed(seed);
            let (mut registry, mut text) = (NameRegistry::default(), String::new());
            let requests: Vec<_> = (0..random.below(12))
                .map(|_| {
                    let kinds = [NameChangeKind::Add, NameChangeKind::Remove];
                    let kind = *random.pick(&kinds).unwrap();
                    NameChangeRequest { kind, ..addition(&mut random) }
                })
                .collect();
            for (number, request) in (1..).zip(&requests) {
                registry.follow(request);
                JournalLine::Arrived(number, request).write(&mut text);
            }
            assert_eq!(JournalEntries::read(text.as_bytes()).names, registry, "seed {seed}");
            // With the names in front, and the last requests unfinished.
            let unfinished = random.below(requests.len() as u64 + 1) as usize;
            let mut anew = String::new();
            registry.iter().for_each(|name| JournalLine::Name(name).write(&mut anew));
            for (number, request) in (1..).zip(&requests).skip(unfinished) {
                JournalLine::Arrived(number, request).write(&mut anew);
            }
            let entries = JournalEntries::read(anew.as_bytes());
            assert_eq!((&entries.names, entries.damaged_lines), (&registry, 0), "seed {seed}");
            assert_eq!(entries.pending.len(), requests.len() - unfinished);
        }
    }
}
