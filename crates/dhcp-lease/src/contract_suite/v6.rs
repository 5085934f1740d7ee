//! Tests of features that only DHCPv6 has: several associations in one message, prefixes, huge
//! pools.

use core::net::Ipv6Addr;

use super::*;
use crate::v6::{IaIdentity, PoolSpec, Resource, ResourceKind, V6};

const ADDRESS_POOL: PoolIndex = PoolIndex(0);
const PREFIX_POOL: PoolIndex = PoolIndex(1);

/// First address of a /64 of addresses: 2001:db8:0:1::/64.
const HUGE: u128 = 0x2001_0db8_0000_0001 << 64;

fn huge_pool() -> PoolSpec {
    PoolSpec { first: huge(0), last: huge(u64::MAX), ..V6::pool(0, 0) }
}

fn huge(offset: u64) -> Resource {
    Resource::address(Ipv6Addr::from_bits(HUGE | u128::from(offset)))
}

/// Returns a pool of 256 prefixes of length `len` from 2001:db8:100:: on, apart from all addresses.
fn prefix_pool(len: u8) -> PoolSpec {
    let first = Ipv6Addr::from_bits(0x2001_0db8_0100 << 80);
    let last = first.to_bits() | (0xff << (128 - len));
    let prefix = |address| Resource::prefix(address, len);
    PoolSpec { first: prefix(first), last: prefix(last.into()), ..V6::pool(0, 0) }
}

fn association(number: u32, kind: ResourceKind, iaid: u32) -> IaIdentity<'static> {
    IaIdentity { kind, iaid, ..V6::client(number) }
}

/// Checks that several IAIDs of one DUID count as different clients, in IA_NA and in IA_PD.
pub fn associations_of_one_client_are_told_apart<B: StoreFactory<Family = V6>>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19), prefix_pool(56)]);
    let who = [
        association(1, ResourceKind::Address, 7),
        association(1, ResourceKind::Address, 8),
        association(1, ResourceKind::Prefix, 7),
    ];
    let leased = [(0, ADDRESS_POOL), (1, ADDRESS_POOL), (2, PREFIX_POOL)].map(|(at, pool)| {
        let candidate = bench.fetch(who[at], None, &[pool]).candidate.expect("nobody has any");
        bench.commit(who[at], &candidate, lease_for::<B>(LIFETIME_S)).expect("it is free");
        bench.settle();
        candidate.address
    });
    for (number, &mine) in leased.iter().enumerate() {
        let facts = bench.fetch(who[number], Some(leased[(number + 1) % 3]), &[]);
        let addresses: Vec<_> = facts.client_slots().map(|view| view.address).collect();
        assert_eq!(addresses, [mine]);
        assert_eq!(facts.address_slots[0].map(|view| view.owner), Some(SlotOwner::Other));
    }
    assert_eq!(
        bench.fetch(association(1, ResourceKind::Prefix, 8), None, &[]).client_slot_count,
        0
    );
    assert_eq!(
        bench.fetch(association(2, ResourceKind::Address, 7), None, &[]).client_slot_count,
        0
    );
}

/// Checks that an address and a prefix requested in one message succeed together: the client gets
/// both or none.
pub fn several_associations_of_a_message_succeed_together<B: StoreFactory<Family = V6>>(
    backend: &mut B,
) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19), prefix_pool(56)]);
    let address = association(1, ResourceKind::Address, 1);
    let prefix = association(1, ResourceKind::Prefix, 1);
    let first = bench.fetch(address, None, &[ADDRESS_POOL]).candidate.expect("all are free");
    let second = bench.fetch(prefix, None, &[PREFIX_POOL]).candidate.expect("all are free");
    let changes = [
        change::<B>(address, &first, lease_for::<B>(LIFETIME_S)),
        change::<B>(prefix, &second, lease_for::<B>(LIFETIME_S)),
    ];
    let mut stale = changes;
    stale[1].expected_version += 1;
    assert_eq!(bench.store.commit(bench.now, &stale), Err(CommitRefusal::Stale));
    assert_eq!(bench.slot(address, first.address).occupancy, SlotOccupancy::Free);
    bench.store.commit(bench.now, &changes).expect("both are free");
    bench.settle();
    for (who, slot) in [(address, first), (prefix, second)] {
        let leased = bench.slot(who, slot.address);
        assert_eq!((leased.occupancy, leased.owner), (SlotOccupancy::Leased, SlotOwner::Requester));
    }
}

/// Checks that 2001:db8:: as an address and 2001:db8::/128 as a prefix are two slots, of which one
/// is leased at a time.
pub fn an_address_and_a_prefix_with_one_number_take_turns<B: StoreFactory<Family = V6>>(
    backend: &mut B,
) {
    let single = |kind| {
        let address = Ipv6Addr::from_bits(0x2001_0db8 << 96);
        let first = Resource { kind, len: 128, address };
        PoolSpec { first, last: first, ..V6::pool(0, 0) }
    };
    let specs = [single(ResourceKind::Address), single(ResourceKind::Prefix)];
    let mut bench = ContractFixture::new(backend, &specs);
    let [address, prefix] = specs.map(|spec| spec.first);
    let (first, second) =
        (association(1, ResourceKind::Address, 1), association(2, ResourceKind::Prefix, 1));
    bench.make(first, address, lease_for::<B>(LIFETIME_S));
    bench.settle();
    let slot = bench.slot(second, prefix);
    assert_eq!(slot.owner, SlotOwner::NoClient);
    assert_eq!(bench.commit(second, &slot, lease_for::<B>(LIFETIME_S)), Err(CommitRefusal::Stale));
    let lease_slot = bench.slot(first, address);
    assert_eq!(
        (lease_slot.occupancy, lease_slot.owner),
        (SlotOccupancy::Leased, SlotOwner::Requester)
    );
    bench.make(first, address, Action::Release);
    bench.settle();
    bench.sweep();
    bench.make(second, prefix, lease_for::<B>(LIFETIME_S));
    bench.settle();
    let lease_slot = bench.slot(second, prefix);
    assert_eq!(
        (lease_slot.occupancy, lease_slot.owner),
        (SlotOccupancy::Leased, SlotOwner::Requester)
    );
}

/// Checks that overlapping prefixes, which the operator configured, are different leases.
pub fn prefixes_of_another_length_are_others<B: StoreFactory<Family = V6>>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[prefix_pool(56), prefix_pool(60)]);
    let who = association(1, ResourceKind::Prefix, 1);
    let (wide, narrow) = (prefix_pool(56).first.address, prefix_pool(60).first.address);
    bench.make(who, Resource::prefix(wide, 56), lease_for::<B>(LIFETIME_S));
    let other = bench.slot(who, Resource::prefix(narrow, 60));
    assert_eq!(other.occupancy, SlotOccupancy::Free);
    for unknown in [Resource::prefix(wide, 64), Resource { len: 56, ..other.address }] {
        let facts = bench.fetch(who, Some(unknown), &[]);
        assert_eq!(facts.address_slots[0].is_some(), unknown.len == 56, "{unknown}");
    }
    let improper =
        Resource { address: Ipv6Addr::from_bits(wide.to_bits() | 1), len: 56, ..other.address };
    assert_eq!(bench.fetch(who, Some(improper), &[]).address_slots[0], None, "it has host bits");
}

/// Checks that the preferred lifetime is reported while the address is leased and not afterwards.
pub fn the_preferred_lifetime_is_told_while_leased<B: StoreFactory<Family = V6>>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    let (who, at) = (client::<B>(1), address::<B>(10));
    bench.make(who, at, lease_for::<B>(LIFETIME_S));
    bench.settle();
    assert_eq!(bench.slot(who, at).detail.preferred_lifetime_s, LIFETIME_S / 2);
    bench.make(who, at, Action::Release);
    bench.settle();
    bench.sweep();
    assert_eq!(bench.slot(who, at).detail.preferred_lifetime_s, 0);
}

/// Checks that a huge pool leases more addresses than it opened at first, in order, none twice.
pub fn a_huge_pool_gives_from_its_start_without_end<B: StoreFactory<Family = V6>>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[huge_pool()]);
    // One client has an address in a part that is opened later.
    let early = association(255, ResourceKind::Address, u32::MAX);
    bench.make(early, huge(5_000), lease_for::<B>(LIFETIME_S));
    let mut expected = 0;
    for number in 0..9_000 {
        expected += u64::from(expected == 5_000);
        let who = V6::client(number);
        let candidate = bench.candidate(who).expect("a huge pool has more");
        assert_eq!(candidate.address, huge(expected));
        bench.commit(who, &candidate, hold_from::<B>(bench.now)).expect("it is free");
        expected += 1;
        if number % 64 == 0 {
            bench.store.submit(bench.now);
        }
    }
    bench.settle();
    assert_eq!(bench.slot(early, huge(5_000)).owner, SlotOwner::Requester);
    bench.make(early, huge(5_000), Action::Release);
    bench.settle();
    bench.sweep();
    // Released addresses are leased again once the search has come around.
    let leased = core::iter::from_fn(|| {
        let candidate = bench.candidate(V6::client(9_000))?;
        bench.store.release_claim(candidate.address);
        bench.commit(V6::client(9_000), &candidate, hold_from::<B>(bench.now)).ok()?;
        Some(candidate.address)
    });
    assert!(leased.take(8_192).any(|address| address == huge(5_000)));
}

/// Checks that an address far out in a huge pool can be leased when a client requests it, or
/// another server leased it before.
pub fn an_address_far_out_in_a_huge_pool_can_be_had<B: StoreFactory<Family = V6>>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[huge_pool()]);
    for (number, offset) in [(1, 1 << 40), (2, u64::MAX), (3, 1 << 23)] {
        let (who, at) = (client::<B>(number), huge(offset));
        let fresh = bench.slot(who, at);
        assert_eq!(
            (fresh.occupancy, fresh.owner, fresh.version),
            (SlotOccupancy::Free, SlotOwner::NoClient, 0)
        );
        bench.make(who, at, lease_for::<B>(LIFETIME_S));
        bench.settle();
        let facts = bench.fetch(who, Some(at), &[]);
        assert_eq!(facts.client_slots[0], facts.address_slots[0]);
        assert_eq!(bench.slot(client::<B>(9), at).owner, SlotOwner::Other);
        bench.make(who, at, Action::Release);
        bench.settle();
        bench.sweep();
        let free = bench.slot(who, at);
        assert_eq!((free.occupancy, free.owner), (SlotOccupancy::Free, SlotOwner::Requester));
    }
    let facts = bench.fetch(client::<B>(1), Some(Resource::address(Ipv6Addr::LOCALHOST)), &[]);
    assert_eq!(facts.address_slots[0], None);
}

/// Checks that no address is leased twice when a pool is configured over leases of no pool.
pub fn nothing_is_given_twice_when_a_pool_opens_over_leases<B: StoreFactory<Family = V6>>(
    backend: &mut B,
) {
    for number in [12, 14] {
        backend.table().load(V6::lease(&SampleLease {
            address: BASE + number,
            client: number,
            valid_lifetime_s: LIFETIME_S,
            cltt_s: START.wall_s(),
            subnet_id: 1,
            pool_id: 0,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: "",
        }));
    }
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 14)]);
    for last in [10, 11, 13] {
        let candidate = bench.candidate(client::<B>(1)).expect("three are free");
        assert_eq!(candidate.address, address::<B>(last));
        bench.commit(client::<B>(1), &candidate, hold_from::<B>(bench.now)).expect("it is free");
    }
    let oldest = bench.candidate(client::<B>(2)).expect("holds can be broken");
    assert_eq!(oldest.occupancy, SlotOccupancy::Held);
    bench.make(client::<B>(12), address::<B>(12), Action::Release);
    bench.settle();
    bench.sweep();
    let freed = bench.candidate(client::<B>(2)).expect("one was given back");
    assert_eq!((freed.address, freed.occupancy), (address::<B>(12), SlotOccupancy::Free));
}
