//! Tests of v6 slot numbers: pools that open as they are used, leases that existed before them.

use core::net::Ipv6Addr;
use std::collections::BTreeSet;
use std::sync::Mutex;

use base::Random;

use super::audit::audit;
use super::{SETTLED, START, commit, lease_for};
use crate::contract::{Action, FETCHED_ADDRESSES_MAX, FetchKeys, SlotOccupancy};
use crate::family::PoolIndex;
use crate::lease::LeaseState;
use crate::sample::{SampleFamily, SampleLease};
use crate::v6::{
    Facts, IaIdentity, Lease, LeaseTable, PoolSet, PoolSpec, Resource, ResourceKind, SlotView, V6,
};

const PREFIX: u128 = 0x2001_0db8 << 96;

/// Returns a pool; kinds and lengths lie apart, so that none overlaps a resource of another.
pub(super) fn pool(kind: ResourceKind, len: u8, first: u128, last: u128) -> PoolSpec {
    let apart = match len {
        56 => 1 << 14,
        64 => 1 << 16,
        _ => 0,
    };
    let base = (PREFIX >> (128 - len)) + apart;
    let first = Resource::from_number(kind, len, base + first);
    let last = Resource::from_number(kind, len, base + last);
    PoolSpec { first, last, ..V6::pool(0, 0) }
}

pub(super) fn huge() -> PoolSpec {
    pool(ResourceKind::Address, 128, 0, u128::from(u64::MAX))
}

pub(super) fn resource(spec: &PoolSpec, offset: u128) -> Resource {
    let first = spec.first;
    Resource::from_number(first.kind, first.len, first.number() + offset)
}

pub(super) fn candidate(
    table: &LeaseTable,
    pools: &PoolSet,
    pool: u32,
    who: u32,
) -> Option<SlotView> {
    let kind = pools.specs()[pool as usize].first.kind;
    let mut facts = Facts::default();
    let keys = FetchKeys {
        identity: IaIdentity { kind, ..V6::client(who) },
        addresses: [None; FETCHED_ADDRESSES_MAX],
        pools,
        candidate_pools: &[PoolIndex(pool)],
        is_candidate_spare: false,
    };
    table.fetch(START, 0, &keys, &mut facts);
    facts.candidate.filter(|slot| slot.occupancy == SlotOccupancy::Free)
}

pub(super) fn load(table: &LeaseTable, resource: Resource, who: u32) {
    let sample = SampleLease {
        address: 0,
        client: who,
        valid_lifetime_s: 100,
        cltt_s: START.wall_s(),
        subnet_id: 1,
        pool_id: 0,
        hostname: "",
        state: LeaseState::Assigned,
        user_context: "",
    };
    table.load(Lease { address: resource, ..V6::lease(&sample) });
}

#[test]
fn every_resource_is_given_once_whatever_was_there_before() {
    for seed in 0..300 {
        let mut random = Random::from_seed(seed);
        let table = LeaseTable::new(seed);
        let kinds =
            [(ResourceKind::Address, 128), (ResourceKind::Prefix, 56), (ResourceKind::Prefix, 64)];
        let mut leased = BTreeSet::new();
        let mut specs = Vec::new();
        for _ in 0..1 + random.below(4) {
            for _ in 0..random.below(20) {
                let &(kind, len) = random.pick(&kinds).unwrap();
                let at = resource(&pool(kind, len, 0, 0), u128::from(random.below(1_500)));
                if leased.insert(at) {
                    load(&table, at, leased.len() as u32);
                }
            }
            // Some pools stay, some are removed, some are added, and they overlap.
            specs.retain(|_| random.chance(2, 3));
            for _ in 0..random.below(4) {
                let &(kind, len) = random.pick(&kinds).unwrap();
                let first = u128::from(random.below(1_000));
                specs.push(pool(kind, len, first, first + u128::from(random.below(400))));
            }
            table.configure(&specs, &[]);
            audit(&table, &BTreeSet::new());
        }
        let pools = table.pools();
        let mut claimed = BTreeSet::new();
        for number in 0..specs.len() as u32 {
            while let Some(slot) = candidate(&table, &pools, number, 7) {
                assert!(claimed.insert(slot.address), "{} twice, seed {seed}", slot.address);
                // The index finds few leases of one client.
                let who = claimed.len() as u32 + 1_000;
                let changes = [super::change(who, &slot, lease_for::<V6>(100))];
                let changes = changes.map(|mut change| {
                    change.identity.kind = slot.address.kind;
                    change
                });
                table.apply(START, &changes, SETTLED, &mut |_| {}).unwrap();
            }
        }
        let pooled = specs.iter().flat_map(|spec| {
            let PoolSpec { first, last, .. } = spec;
            (0..=last.number() - first.number()).map(|offset| resource(spec, offset))
        });
        let expected: BTreeSet<_> = pooled.filter(|at| !leased.contains(at)).collect();
        assert_eq!(claimed, expected, "seed {seed}");
        // All end, and all can be leased again, also those that existed before their pool.
        let end = START.after_ns(1_000 * super::SECOND_NS);
        while table.sweep(end, 0, 64).is_more_due {}
        audit(&table, &BTreeSet::new());
        let again = (0..specs.len() as u32).flat_map(|number| {
            let (table, pools) = (&table, &pools);
            core::iter::from_fn(move || candidate(table, pools, number, 7))
        });
        let again: Vec<_> = again.map(|slot| slot.address).collect();
        let all: BTreeSet<_> = again.iter().copied().collect();
        assert_eq!(again.len(), all.len(), "seed {seed}");
        let is_pooled = |at: &&Resource| pools.find(**at).is_some();
        assert_eq!(all, expected.union(&leased).filter(is_pooled).copied().collect());
    }
}

#[test]
fn several_threads_open_a_huge_pool_without_giving_anything_twice() {
    let table = LeaseTable::new(5);
    let pools = table.configure(&[huge()], &[]);
    for offset in [4_100, 9_000, 50_000] {
        let sample = slot(&table, &pools, resource(&huge(), offset)).unwrap();
        commit(&table, START, 77, &sample, lease_for::<V6>(100)).unwrap();
    }
    let leased = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (table, pools, leased) = (&table, &pools, &leased);
            scope.spawn(move || {
                for number in 0..10_000 {
                    let who = thread * 10_000 + number;
                    let slot = candidate(table, pools, 0, who).expect("it has more");
                    commit(table, START, who, &slot, lease_for::<V6>(100)).unwrap();
                    assert!(leased.lock().unwrap().insert(slot.address), "{} twice", slot.address);
                }
            });
        }
    });
    // The first ones, except for those that were taken.
    let expected = (0..30_002).filter(|offset| ![4_100, 9_000].contains(offset));
    let expected: BTreeSet<_> = expected.map(|offset| resource(&huge(), offset)).collect();
    assert_eq!(leased.into_inner().unwrap(), expected);
    audit(&table, &BTreeSet::new());
}

fn slot(table: &LeaseTable, pools: &PoolSet, at: Resource) -> Option<SlotView> {
    let mut facts = Facts::default();
    let identity = IaIdentity { kind: at.kind, ..V6::client(0) };
    let keys = FetchKeys {
        identity,
        addresses: [Some(at), None, None, None],
        pools,
        candidate_pools: &[],
        is_candidate_spare: false,
    };
    table.fetch(START, 0, &keys, &mut facts);
    facts.address_slots[0]
}

#[test]
fn what_is_loaded_in_a_huge_pool_is_given_again_when_it_ends() {
    let table = LeaseTable::new(5);
    let pools = table.configure(&[huge()], &[]);
    for offset in 0..30_000 {
        load(&table, resource(&huge(), offset), offset as u32);
    }
    assert_eq!(table.slot_numbers.singles(), 0, "places are opened for them");
    assert_eq!(candidate(&table, &pools, 0, 1).unwrap().address, resource(&huge(), 30_000));
    let ended = START.after_ns(200 * super::SECOND_NS);
    while table.sweep(ended, 0, 1 << 16).is_more_due {}
    // The search continues to the end of the open part, then it comes around.
    let leased: BTreeSet<_> = (0..32_000)
        .filter_map(|_| candidate(&table, &pools, 0, 1))
        .map(|slot| slot.address)
        .collect();
    assert_eq!(leased.last(), Some(&resource(&huge(), 32_767)));
    assert!(leased.contains(&resource(&huge(), 0)));
}

#[test]
fn a_pool_within_a_huge_one_has_slot_numbers_of_its_own() {
    let table = LeaseTable::new(5);
    let inner = pool(ResourceKind::Address, 128, 1 << 40, (1 << 40) + 9);
    let first = table.configure(&[huge()], &[]);
    let far = slot(&table, &first, resource(&inner, 3)).unwrap();
    commit(&table, START, 1, &far, lease_for::<V6>(100)).unwrap();
    let pools = table.configure(&[huge(), inner], &[]);
    let addresses: Vec<_> =
        core::iter::from_fn(|| candidate(&table, &pools, 1, 2)).map(|slot| slot.address).collect();
    let expected = (0..10).filter(|&offset| offset != 3).map(|offset| resource(&inner, offset));
    assert_eq!(addresses, expected.collect::<Vec<_>>());
    assert_eq!(candidate(&table, &pools, 0, 3).unwrap().address, resource(&huge(), 0));
    let leased = slot(&table, &pools, resource(&inner, 3)).unwrap();
    commit(&table, START, 1, &leased, Action::Release).unwrap();
    assert_eq!(candidate(&table, &pools, 1, 2).unwrap().address, resource(&inner, 3));
    audit(
        &table,
        &addresses.into_iter().chain([resource(&huge(), 0), resource(&inner, 3)]).collect(),
    );
}

#[test]
fn the_whole_space_and_its_last_address_are_pools_too() {
    let table = LeaseTable::new(5);
    let address = |bits| Resource::address(Ipv6Addr::from_bits(bits));
    let all = PoolSpec { first: address(0), last: address(u128::MAX), ..huge() };
    let last = PoolSpec { first: all.last, ..all };
    let pools = table.configure(&[all, last], &[]);
    let from_all = candidate(&table, &pools, 0, 1).unwrap();
    assert_eq!(from_all.address, Resource::address(Ipv6Addr::UNSPECIFIED));
    assert!(slot(&table, &pools, last.last).is_some());
}

#[test]
fn thousands_of_huge_pools_cost_little_until_they_are_used() {
    let table = LeaseTable::new(1);
    let specs: Vec<_> = (0..2_000)
        .map(|number| pool(ResourceKind::Address, 128, number << 64, (number << 64) | (1 << 60)))
        .collect();
    let info = allocation_counter::measure(|| {
        table.configure(&specs, &[]);
    });
    assert!(info.bytes_max < 40 << 20, "{} bytes for 2,000 /64", info.bytes_max);
    // Configuring the same pools again reserves nothing more.
    let (before, again) = (table.slot_numbers.reserved(), table.configure(&specs, &[]));
    assert_eq!(table.slot_numbers.reserved(), before);
    for number in [0, 1_999] {
        let leased = candidate(&table, &again, number, 1).unwrap();
        assert_eq!(leased.address, resource(&specs[number as usize], 0));
    }
}
