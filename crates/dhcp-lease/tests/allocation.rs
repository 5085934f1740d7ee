//! Tests that the steady path allocates nothing, in neither family.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use base::{Now, Random};
use dhcp_lease::contract::{Action, Change, Facts, FetchKeys, SlotView};
use dhcp_lease::v4::{self, V4};
use dhcp_lease::v6::{self, HardwareSource, IaIdentity, Resource, ResourceKind, V6};
use dhcp_lease::{
    Allocator, FETCHED_ADDRESSES_MAX, HardwareAddress, Identity, LeaseStore, LeaseTable,
    LeaseTerms, MemoryStore, PoolIndex, PoolSet, PoolSpec, TableFamily,
};

const CLIENTS: u32 = 60_000;
const START: Now = Now { mono_ns: 1_000_000_000, wall_us: 1_700_000_000_000_000 };
const SECOND_NS: u64 = 1_000_000_000;

/// Family with clients.
trait AllocationTestFamily: TableFamily {
    /// Bytes of the longest identity that a slot has room for.
    const ROOM: usize = 22;

    fn pool() -> PoolSpec<Self>;
    fn identity(octets: &[u8], hardware: HardwareAddress) -> Self::Identity<'_>;
    fn terms(hostname: &str, hardware: HardwareAddress) -> LeaseTerms<'_, Self>;
}

impl AllocationTestFamily for V4 {
    fn pool() -> v4::PoolSpec {
        let (first, last) = (Ipv4Addr::new(10, 0, 0, 10), Ipv4Addr::new(10, 0, 255, 250));
        v4::PoolSpec { subnet_id: 1, pool_id: 0, allocator: Allocator::Iterative, first, last }
    }

    fn identity(octets: &[u8], hardware: HardwareAddress) -> Identity<'_> {
        Identity {
            hardware,
            client_id: Some(octets),
            match_client_id: true,
            hardware_only_subnets: &[],
        }
    }

    fn terms(hostname: &str, _hardware: HardwareAddress) -> v4::LeaseTerms<'_> {
        v4::LeaseTerms {
            valid_lifetime_s: 3_600,
            subnet_id: 1,
            pool_id: 0,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname,
            user_context: "",
            extra: (),
        }
    }
}

impl AllocationTestFamily for V6 {
    fn pool() -> v6::PoolSpec {
        let first = Ipv6Addr::from_bits((0x2001_0db8 << 96) | 10);
        v6::PoolSpec {
            subnet_id: 1,
            pool_id: 0,
            allocator: Allocator::Iterative,
            first: Resource::address(first),
            last: Resource::address(Ipv6Addr::from_bits(first.to_bits() + 0xfff0)),
        }
    }

    fn identity(octets: &[u8], _hardware: HardwareAddress) -> IaIdentity<'_> {
        IaIdentity { duid: octets, kind: ResourceKind::Address, iaid: 1 }
    }

    fn terms(hostname: &str, hardware: HardwareAddress) -> v6::LeaseTerms<'_> {
        v6::LeaseTerms {
            valid_lifetime_s: 3_600,
            subnet_id: 1,
            pool_id: 0,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname,
            user_context: "",
            extra: v6::LeaseExtra {
                preferred_lifetime_s: 1_800,
                hardware,
                hardware_source: HardwareSource::ClientLinkAddress,
            },
        }
    }
}

/// Identity and hardware address of client `number`.
struct AllocationClient {
    octets: [u8; 64],
    len: usize,
    hardware: HardwareAddress,
}

impl AllocationClient {
    fn new(number: u32, len: usize) -> Self {
        let mut octets = [7; 64];
        octets[..4].copy_from_slice(&number.to_be_bytes());
        let mut address = [2, 0, 0, 0, 0, 0];
        address[2..].copy_from_slice(&number.to_be_bytes());
        Self { octets, len, hardware: HardwareAddress::new(1, &address) }
    }

    fn identity<F: AllocationTestFamily>(&self) -> F::Identity<'_> {
        F::identity(&self.octets[..self.len], self.hardware)
    }
}

struct AllocationServer<F: AllocationTestFamily> {
    store: MemoryStore<F>,
    pools: Arc<PoolSet<F>>,
    facts: Facts<F>,
    now: Now,
}

impl<F: AllocationTestFamily> AllocationServer<F> {
    fn new() -> Self {
        let table = Arc::new(LeaseTable::new(1));
        let pools = table.configure(&[F::pool()], &[]);
        Self { store: MemoryStore::new(table), pools, facts: Facts::default(), now: START }
    }

    fn fetch(&mut self, client: &AllocationClient, wants_candidate: bool) {
        let keys = FetchKeys {
            identity: client.identity::<F>(),
            addresses: [None; FETCHED_ADDRESSES_MAX],
            pools: &*self.pools,
            candidate_pools: if wants_candidate { &[PoolIndex(0)] } else { &[] },
            is_candidate_spare: false,
        };
        self.store.fetch(self.now, &keys, &mut self.facts);
    }

    fn commit<'a>(
        &mut self,
        client: &'a AllocationClient,
        slot: SlotView<F>,
        action: Action<LeaseTerms<'a, F>>,
    ) {
        let (address, expected_version) = (slot.address, slot.version);
        let identity = client.identity::<F>();
        let change = Change { identity, address, expected_version, action };
        self.store.commit(self.now, &[change]).expect("the steady path");
    }

    /// Leases an address: DISCOVER and REQUEST, or SOLICIT and REQUEST.
    fn give<'a>(&mut self, client: &'a AllocationClient, hostname: &'a str) {
        self.fetch(client, true);
        let candidate = self.facts.candidate.expect("the steady path");
        let deadline_ns = self.now.mono_ns + 10 * SECOND_NS;
        self.commit(client, candidate, Action::Hold { deadline_ns, subnet_id: 1 });
        self.renew(client, hostname);
    }

    /// Renews a client's address by a REQUEST.
    fn renew<'a>(&mut self, client: &'a AllocationClient, hostname: &'a str) {
        self.fetch(client, false);
        let mine = self.facts.client_slots().next().copied().expect("the steady path");
        let terms: LeaseTerms<'a, F> = F::terms(hostname, client.hardware);
        self.commit(client, mine, Action::Lease(terms));
    }

    fn pass(&mut self, ns: u64) {
        self.now = self.now.after_ns(ns);
        self.store.submit(self.now);
        self.store.sweep(self.now, 256);
    }
}

fn count_steady_path<F: AllocationTestFamily>() {
    let mut server = AllocationServer::<F>::new();
    let mut random = Random::from_seed(1);
    let counted = allocation_counter::measure(|| {
        for number in 0..CLIENTS {
            server.give(&AllocationClient::new(number, F::ROOM), "");
            server.pass(20_000);
        }
        for _ in 0..CLIENTS {
            let number = random.below(u64::from(CLIENTS)) as u32;
            server.renew(&AllocationClient::new(number, F::ROOM), "");
            server.pass(100_000);
        }
        // All leases end, and the clients return to other addresses.
        server.pass(4_000 * SECOND_NS);
        while server.store.sweep(server.now, 256).is_more_due {}
        for number in (0..CLIENTS).rev() {
            server.give(&AllocationClient::new(number + 5_000, F::ROOM), "");
            server.pass(20_000);
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

#[test]
fn the_steady_path_allocates_nothing() {
    count_steady_path::<V4>();
}

#[test]
fn the_steady_path_of_v6_allocates_nothing() {
    count_steady_path::<V6>();
}

fn count_what_allocates<F: AllocationTestFamily>() {
    let mut server = AllocationServer::<F>::new();
    let (long, short) = (AllocationClient::new(1, F::ROOM + 1), AllocationClient::new(2, F::ROOM));
    let counted = allocation_counter::measure(|| server.give(&long, ""));
    assert!(counted.count_total > 0, "the counter counts");
    let named = allocation_counter::measure(|| server.give(&short, "a.example"));
    assert!(named.count_total > 0);
    let renewed = allocation_counter::measure(|| {
        server.renew(&long, "");
        server.renew(&short, "a.example");
    });
    assert_eq!(renewed.count_total, 0, "what is known is not copied again");
}

#[test]
fn long_identifiers_and_names_are_what_allocates() {
    count_what_allocates::<V4>();
    count_what_allocates::<V6>();
}
