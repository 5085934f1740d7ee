//! The steady path allocates nothing.

use std::net::Ipv4Addr;
use std::sync::Arc;

use base::{Now, Random};
use dhcp_lease::v4::{
    Action, Change, Facts, FetchKeys, LeaseStore, LeaseTable, LeaseTerms, MemoryStore, PoolIndex,
    PoolSet, PoolSpec, SlotView,
};
use dhcp_lease::{HardwareAddress, Identity};

const CLIENTS: u32 = 60_000;
const START: Now = Now { mono_ns: 1_000_000_000, wall_us: 1_700_000_000_000_000 };
const SECOND_NS: u64 = 1_000_000_000;

struct Server {
    store: MemoryStore,
    pools: Arc<PoolSet>,
    facts: Facts,
    now: Now,
}

impl Server {
    fn new() -> Self {
        let table = Arc::new(LeaseTable::new(1));
        let pools = table.configure(&[PoolSpec {
            subnet_id: 1,
            pool_id: 0,
            first: Ipv4Addr::new(10, 0, 0, 10),
            last: Ipv4Addr::new(10, 0, 255, 250),
        }]);
        Self { store: MemoryStore::new(table), pools, facts: Facts::default(), now: START }
    }

    fn fetch(&mut self, identity: &Identity<'_>, wants_candidate: bool) {
        let keys = FetchKeys {
            identity: *identity,
            addresses: [None; 2],
            pools: &self.pools,
            candidate_pools: if wants_candidate { &[PoolIndex(0)] } else { &[] },
            is_candidate_spare: false,
        };
        self.store.fetch(self.now, &keys, &mut self.facts);
    }

    fn commit(&mut self, identity: &Identity<'_>, slot: SlotView, action: Action<'_>) {
        let (address, expected_version) = (slot.address, slot.version);
        let change = Change { identity: *identity, address, expected_version, action };
        self.store.commit(self.now, &[change]).expect("the steady path");
    }

    /// DISCOVER and REQUEST.
    fn give(&mut self, identity: &Identity<'_>, hostname: &str) {
        self.fetch(identity, true);
        let candidate = self.facts.candidate.expect("the steady path");
        let deadline_ns = self.now.mono_ns + 10 * SECOND_NS;
        self.commit(identity, candidate, Action::Hold { deadline_ns, subnet_id: 1 });
        self.renew(identity, hostname);
    }

    /// REQUEST of a client that has an address.
    fn renew(&mut self, identity: &Identity<'_>, hostname: &str) {
        self.fetch(identity, false);
        let mine = self.facts.mine().next().copied().expect("the steady path");
        let terms = LeaseTerms { valid_lifetime_s: 3_600, subnet_id: 1, pool_id: 0, hostname };
        self.commit(identity, mine, Action::Lease(terms));
    }

    fn pass(&mut self, ns: u64) {
        self.now = self.now.after_ns(ns);
        self.store.submit(self.now);
        self.store.sweep(self.now, 256);
    }
}

/// The client `number` with a client identifier of `len` octets.
fn with_client<T>(number: u32, len: usize, use_it: impl FnOnce(&Identity<'_>) -> T) -> T {
    let mut client_id = [7; 64];
    client_id[..4].copy_from_slice(&number.to_be_bytes());
    let mut octets = [2, 0, 0, 0, 0, 0];
    octets[2..].copy_from_slice(&number.to_be_bytes());
    let hardware = HardwareAddress::new(1, &octets);
    use_it(&Identity { hardware, client_id: Some(&client_id[..len]), match_client_id: true })
}

#[test]
fn the_steady_path_allocates_nothing() {
    let mut server = Server::new();
    let mut random = Random::from_seed(1);
    let counted = allocation_counter::measure(|| {
        for number in 0..CLIENTS {
            with_client(number, 22, |client| server.give(client, ""));
            server.pass(20_000);
        }
        for _ in 0..CLIENTS {
            let number = random.below(u64::from(CLIENTS)) as u32;
            with_client(number, 22, |client| server.renew(client, ""));
            server.pass(100_000);
        }
        // All leases end, and the clients come back to other addresses.
        server.pass(4_000 * SECOND_NS);
        while server.store.sweep(server.now, 256).is_more_due {}
        for number in (0..CLIENTS).rev() {
            with_client(number + 5_000, 22, |client| server.give(client, ""));
            server.pass(20_000);
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

#[test]
fn long_identifiers_and_names_are_what_allocates() {
    let mut server = Server::new();
    let long = allocation_counter::measure(|| {
        with_client(1, 23, |client| server.give(client, ""));
    });
    assert!(long.count_total > 0, "the counter counts");
    let named = allocation_counter::measure(|| {
        with_client(2, 22, |client| server.give(client, "a.example"));
    });
    assert!(named.count_total > 0);
    let renewed = allocation_counter::measure(|| {
        with_client(1, 23, |client| server.renew(client, ""));
        with_client(2, 22, |client| server.renew(client, "a.example"));
    });
    assert_eq!(renewed.count_total, 0, "what is known is not copied again");
}
