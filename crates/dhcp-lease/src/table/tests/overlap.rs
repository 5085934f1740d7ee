//! Tests of prefixes of several lengths and addresses in one region: no two that overlap are ever
//! in use, and free ones are found.

use core::net::Ipv6Addr;
use std::collections::BTreeSet;

use base::{Now, Random};

use super::super::commit_epochs::CommitEpochs;
use super::super::table_family::SlotNumberMap as _;
use super::super::{LeaseTable, STRIPES};
use super::{SECOND_NS, SETTLED, START};
use crate::contract::{
    Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, PutMode, PutRefusal, SlotOccupancy,
};
use crate::family::PoolIndex;
use crate::lease::LeaseState;
use crate::pool::{Allocator, PoolSet};
use crate::sample::{SampleFamily as _, SampleLease};
use crate::v6::{IaIdentity, Lease, LeaseTerms, PoolSpec, Resource, ResourceKind, SlotView, V6};

/// Prefix length of the region that all resources lie in.
const REGION_LEN: u8 = 114;
/// Epochs of a change that is not logged.
const EPOCHS: CommitEpochs = CommitEpochs { row_epoch: 0, settled_epoch: 0 };
const DUIDS: [&[u8]; 6] = [b"duid-1", b"duid-2", b"duid-3", b"duid-4", b"duid-5", b"duid-6"];

fn region() -> u128 {
    0x2001_0db8 << 96
}

/// Returns any address, or any prefix of up to 14 bits less than an address, in the region.
fn any_resource(random: &mut Random) -> Resource {
    let address = Ipv6Addr::from_bits(region() | u128::from(random.below(1 << 14)));
    match random.below(5) {
        0 => Resource::address(address),
        _ => Resource::prefix(address, REGION_LEN + random.below(15) as u8),
    }
}

/// Returns a pool of up to 256 resources in the region.
fn any_pool(random: &mut Random) -> PoolSpec {
    let prefix_len = REGION_LEN + random.below(9) as u8;
    let (kind, len) = match random.below(4) {
        0 => (ResourceKind::Address, 128),
        _ => (ResourceKind::Prefix, (prefix_len + random.below(9) as u8).min(128)),
    };
    let base = Ipv6Addr::from_bits(region() | u128::from(random.below(1 << 14)));
    let (first, last) = Resource::prefix(base, prefix_len).span();
    let last = if kind == ResourceKind::Address { last.min(first + 200) } else { last };
    let allocators = [Allocator::Iterative, Allocator::Random, Allocator::FreeLeaseQueue];
    PoolSpec {
        first: Resource { kind, len, address: first.into() },
        last: Resource { kind, len, address: Resource::prefix(last.into(), len).address },
        allocator: allocators[random.below(3) as usize],
        ..V6::pool(0, 0)
    }
}

/// Table, and the state that only the test knows.
struct OverlapFixture {
    table: LeaseTable<V6>,
    pools: std::sync::Arc<PoolSet<V6>>,
    reserved: Vec<Resource>,
    now: Now,
    random: Random,
    /// Leases that an operator put: they take precedence over offers.
    put: BTreeSet<Resource>,
}

impl OverlapFixture {
    fn new(seed: u64) -> Self {
        let table = LeaseTable::new(seed);
        let pools = table.configure(&[], &[]);
        let random = Random::from_seed(seed);
        Self { table, pools, reserved: Vec::new(), now: START, random, put: BTreeSet::new() }
    }

    fn identity(&mut self, resource_kind: ResourceKind) -> IaIdentity<'static> {
        let duid = DUIDS[self.random.below(6) as usize];
        IaIdentity { duid, kind: resource_kind, iaid: self.random.below(3) as u32 }
    }

    fn fetch(
        &self,
        identity: IaIdentity<'_>,
        requested: Option<Resource>,
        candidate_pools: &[PoolIndex],
    ) -> Facts<V6> {
        let mut facts = Facts::default();
        let mut addresses = [None; FETCHED_ADDRESSES_MAX];
        addresses[0] = requested;
        let pools = &*self.pools;
        let keys =
            FetchKeys { identity, addresses, pools, candidate_pools, is_candidate_spare: false };
        self.table.fetch(self.now, 0, &keys, &mut facts);
        facts
    }

    /// Returns all resources in use: slots that are leased, on probation or held.
    fn in_use(&self) -> Vec<Resource> {
        let mut addresses = Vec::new();
        for stripe in 0..STRIPES {
            let stripe = self.table.lock(stripe);
            for slot in stripe.state.slots.iter() {
                let is_used = match slot.occupancy {
                    SlotOccupancy::Free | SlotOccupancy::Releasing => false,
                    SlotOccupancy::Held => slot.hold_deadline_ns > self.now.mono_ns,
                    SlotOccupancy::Leased | SlotOccupancy::Declined => {
                        slot.expires_s() > self.now.wall_s()
                    }
                };
                if is_used {
                    addresses.push(slot.address());
                }
            }
        }
        addresses
    }

    fn is_on_hold(&self, resource: Resource) -> bool {
        let slot_number = self.table.slot_numbers.find(resource).expect("it is in use");
        let stripe = self.table.lock_of(slot_number);
        let id = stripe.find(slot_number).expect("it is in use");
        stripe.slot(id).occupancy == SlotOccupancy::Held
    }

    fn configure(&mut self) {
        let pools: Vec<_> = (0..self.random.below(4)).map(|_| any_pool(&mut self.random)).collect();
        self.reserved = (0..self.random.below(3)).map(|_| any_resource(&mut self.random)).collect();
        self.pools = self.table.configure(&pools, &self.reserved);
    }

    fn action(&mut self) -> Action<LeaseTerms<'static>> {
        match self.random.below(3) {
            0 => Action::Hold { deadline_ns: self.now.mono_ns + 5 * SECOND_NS, subnet_id: 1 },
            _ => {
                let lifetime_s = 1 + self.random.below(40) as u32;
                Action::Lease(V6::terms(lifetime_s, 1, ""))
            }
        }
    }

    fn commit(&mut self, identity: IaIdentity<'_>, slot: &SlotView) -> bool {
        let action = self.action();
        let (address, expected_version) = (slot.address, slot.version);
        let change = Change { identity, address, expected_version, action };
        self.table.apply(self.now, &[change], SETTLED, &mut |_| {}).is_ok()
    }

    /// Requests, as a client, a resource of its own choice.
    fn ask(&mut self) {
        let resource = match self.random.below(3) {
            0 if !self.reserved.is_empty() => {
                self.reserved[self.random.below(self.reserved.len() as u64) as usize]
            }
            _ => any_resource(&mut self.random),
        };
        let identity = self.identity(resource.kind);
        let facts = self.fetch(identity, Some(resource), &[]);
        if let Some(slot) = facts.address_slots[0] {
            self.commit(identity, &slot);
        }
    }

    /// Makes two changes in one commit: all or none.
    fn ask_for_two(&mut self) {
        let resources = [any_resource(&mut self.random), any_resource(&mut self.random)];
        if resources[0] == resources[1] {
            return;
        }
        let identities = resources.map(|resource| self.identity(resource.kind));
        let mut changes = Vec::new();
        for (identity, resource) in identities.into_iter().zip(resources) {
            let Some(slot) = self.fetch(identity, Some(resource), &[]).address_slots[0] else {
                return;
            };
            let action = self.action();
            let (address, expected_version) = (slot.address, slot.version);
            changes.push(Change { identity, address, expected_version, action });
        }
        let _ = self.table.apply(self.now, &changes, SETTLED, &mut |_| {});
    }

    /// Renews or releases a client's own resource.
    fn go_on(&mut self) {
        for kind in [ResourceKind::Address, ResourceKind::Prefix] {
            let identity = self.identity(kind);
            let facts = self.fetch(identity, None, &[]);
            for slot in facts.client_slots() {
                if self.random.chance(1, 2) {
                    self.commit(identity, slot);
                } else if slot.occupancy == SlotOccupancy::Leased {
                    let (address, expected_version) = (slot.address, slot.version);
                    let action = Action::Release;
                    let change = Change { identity, address, expected_version, action };
                    self.table
                        .apply(self.now, &[change], SETTLED, &mut |_| {})
                        .expect("it is leased");
                }
            }
        }
    }

    /// Returns true if `pool` has a resource that no client has, that is not reserved, and that
    /// overlaps no such resource.
    fn has_free(&self, pool: &PoolSpec) -> bool {
        let in_use = self.in_use();
        let in_use: Vec<_> = in_use.iter().chain(&self.reserved).copied().collect();
        let PoolSpec { first, last, .. } = pool;
        (first.number()..=last.number()).any(|number| {
            let resource = Resource::from_number(pool.first.kind, pool.first.len, number);
            !in_use.iter().any(|&other| other == resource || other.overlaps(resource))
        })
    }

    /// Takes, as a client, a resource that a pool gives.
    fn take(&mut self) {
        self.table.sweep(self.now, 0, 10_000);
        let specs = self.pools.specs().to_vec();
        for (at, spec) in specs.iter().enumerate() {
            let identity = self.identity(spec.first.kind);
            let has_free = self.has_free(spec);
            let facts = self.fetch(identity, None, &[PoolIndex(at as u32)]);
            let free = facts.candidate.filter(|slot| slot.occupancy == SlotOccupancy::Free);
            assert_eq!(free.is_some(), has_free, "{spec:?}, reserved {:?}", self.reserved);
            let Some(slot) = free else { continue };
            let is_reserved =
                |&other: &Resource| other == slot.address || other.overlaps(slot.address);
            assert!(!self.reserved.iter().any(is_reserved), "{} is reserved", slot.address);
            if self.random.chance(1, 4) {
                self.table.release_claim(slot.address);
            } else {
                assert!(self.commit(identity, &slot), "{} is free", slot.address);
            }
        }
    }

    fn lease(&mut self, resource: Resource) -> Lease {
        let sample = SampleLease {
            address: 0,
            client: self.random.below(6) as u32,
            valid_lifetime_s: 1 + self.random.below(40) as u32,
            cltt_s: self.now.wall_s(),
            subnet_id: 1,
            pool_id: 0,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: "",
        };
        Lease { address: resource, ..V6::lease(&sample) }
    }

    /// Adds, replaces or deletes a lease, as an operator.
    fn administer(&mut self) {
        let resource = any_resource(&mut self.random);
        let lease = self.lease(resource);
        let modes = [PutMode::Add, PutMode::Force, PutMode::Update];
        let mode = modes[self.random.below(3) as usize];
        // An operator's change uses the time of the last operation.
        self.table.sweep(self.now, 0, 10_000);
        let in_use = self.in_use();
        let result = self.table.put(&lease, mode, EPOCHS, &mut |_| {});
        if result == Err(PutRefusal::Overlaps) {
            assert!(in_use.iter().any(|&other| other.overlaps(resource)), "{resource} is free");
        }
        if result.is_ok() {
            self.put.insert(resource);
        }
        if self.random.chance(1, 4)
            && let Some(&removed) = in_use.first()
        {
            let _ = self.table.remove(removed, EPOCHS, &mut |_| {});
        }
    }

    /// Loads another lease, as from a lease file or a database, also one that overlaps others.
    fn load(&mut self, is_overlapping: bool) {
        let resource = any_resource(&mut self.random);
        let in_use = self.in_use();
        if is_overlapping || !in_use.iter().any(|&other| other.overlaps(resource)) {
            let lease = self.lease(resource);
            self.table.load(lease);
        }
    }

    fn check(&self, what: &str) {
        let in_use = self.in_use();
        for (at, &one) in in_use.iter().enumerate() {
            for &other in &in_use[..at] {
                let is_offered = self.is_on_hold(one) || self.is_on_hold(other);
                let is_put = self.put.contains(&one) || self.put.contains(&other);
                assert!(!one.overlaps(other) || (is_offered && is_put), "{what}: {one}, {other}");
            }
        }
    }
}

#[test]
fn no_two_that_overlap_are_in_use_and_what_is_free_is_found() {
    for seed in 0..200 {
        let mut fixture = OverlapFixture::new(seed);
        for step in 0..60 {
            let number = if step == 0 { 0 } else { fixture.random.below(12) };
            match number {
                0 => fixture.configure(),
                1 | 2 => fixture.ask(),
                3 => fixture.ask_for_two(),
                4 | 5 => fixture.go_on(),
                6 => fixture.administer(),
                7 => fixture.load(false),
                8 => fixture.now = fixture.now.after_ns(fixture.random.below(20) * SECOND_NS),
                _ => fixture.take(),
            }
            fixture.check(&format!("seed {seed}, step {step}, kind {number}"));
        }
    }
}

/// Checks that overlapping leases of a file end: the inner ones stay, the outer one is not renewed.
#[test]
fn of_loaded_leases_that_overlap_the_inner_ones_are_renewed() {
    let table = LeaseTable::<V6>::new(1);
    let prefix = |text: &str, len| Resource::prefix(text.parse().expect("an address"), len);
    let (outer, inner) = (prefix("2001:db8::", 48), prefix("2001:db8:0:ff00::", 56));
    let address = Resource::address("2001:db8::5".parse().expect("an address"));
    let mut fixture = OverlapFixture { table, ..OverlapFixture::new(1) };
    fixture.pools = fixture.table.configure(&[], &[]);
    for resource in [inner, outer, address] {
        let lease = Lease { valid_lifetime_s: 100, ..fixture.lease(resource) };
        fixture.table.load(lease);
    }
    let is_overlapped = |resource: Resource| {
        let identity = IaIdentity { duid: DUIDS[0], kind: resource.kind, iaid: 1 };
        fixture.fetch(identity, Some(resource), &[]).address_slots[0]
            .expect("it is leased")
            .is_overlapped
    };
    assert!(is_overlapped(outer));
    assert!(!is_overlapped(inner));
    assert!(!is_overlapped(address));
}

/// Checks that rows of a file that overlap each other block nothing but the resources that they
/// overlap.
#[test]
fn leases_that_overlap_when_they_are_loaded_block_what_they_overlap() {
    for seed in 0..100 {
        let mut fixture = OverlapFixture::new(seed);
        fixture.configure();
        for _ in 0..20 {
            fixture.load(true);
        }
        for _ in 0..20 {
            let before: BTreeSet<_> = fixture.in_use().into_iter().collect();
            fixture.take();
            fixture.ask();
            for new in fixture.in_use().into_iter().filter(|one| !before.contains(one)) {
                let others = fixture.in_use();
                assert!(!others.iter().any(|&other| other.overlaps(new)), "seed {seed}: {new}");
            }
        }
    }
}
