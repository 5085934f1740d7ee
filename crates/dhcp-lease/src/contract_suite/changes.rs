//! Tests of changes of slots by compare-and-set: accepted and refused changes.

use super::*;

/// Checks that the store refuses a change with an old version of the slot.
pub fn a_change_on_an_old_version_is_stale<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    let before = bench.slot(client::<B>(1), address::<B>(10));
    let hold = hold_from::<B>(bench.now);
    bench.commit(client::<B>(1), &before, hold).expect("it is free");
    assert_eq!(bench.commit(client::<B>(2), &before, hold), Err(CommitRefusal::Stale));
    let held_slot = bench.slot(client::<B>(2), address::<B>(10));
    assert_eq!((held_slot.occupancy, held_slot.owner), (SlotOccupancy::Held, SlotOwner::Other));
}

/// Checks that a commit with one stale change makes none of its changes.
pub fn a_commit_changes_all_or_nothing<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    let hold = hold_from::<B>(bench.now);
    let free: Vec<_> =
        [12, 10, 11].map(|last| bench.slot(client::<B>(1), address::<B>(last))).into();
    bench.make(client::<B>(2), address::<B>(11), hold);
    let changes = |slots: &[ViewOf<B>]| -> Vec<ChangeBy<B>> {
        let change = |slot| change::<B>(client::<B>(1), slot, hold);
        slots.iter().map(change).collect()
    };
    let now = bench.now;
    let refused = bench.store.commit(now, &changes(&free));
    assert_eq!(refused, Err(CommitRefusal::Stale));
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).client_slot_count, 0);
    assert_eq!(bench.slot(client::<B>(1), address::<B>(10)), free[1]);
    bench.store.commit(now, &changes(&free[..2])).expect("both are free");
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).client_slot_count, 2);
}

/// Checks that clients may request any address: one outside every pool has no slot.
pub fn an_address_outside_every_pool_has_no_slot<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    for outside in [address::<B>(9), address::<B>(20), outside::<B>()] {
        assert_eq!(bench.fetch(client::<B>(1), Some(outside), &[]).address_slots[0], None);
        let action = lease_for::<B>(LIFETIME_S);
        let identity = client::<B>(1);
        let change = Change { identity, address: outside, expected_version: 0, action };
        let refused = bench.store.commit(START, &[change]);
        assert_eq!(refused, Err(CommitRefusal::NoSuchSlot));
    }
}

/// Checks that a slot whose last row is not durable takes no change, so that rows of an address are
/// written in the order of its changes.
pub fn a_slot_with_an_unsettled_row_takes_no_change<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    let receipt = bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    if bench.store.settled_epoch() < receipt.row_epoch {
        let leased = bench.slot(client::<B>(1), address::<B>(10));
        let refused = bench.commit(client::<B>(1), &leased, lease_for::<B>(LIFETIME_S));
        assert_eq!(refused, Err(CommitRefusal::Unsettled(receipt.row_epoch)));
    }
    bench.settle();
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
}

/// Checks that the settled epoch never goes down.
pub fn settled_epochs_never_go_down<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    let mut settled = bench.store.settled_epoch();
    for last in 10..=19 {
        let receipt = bench.make(client::<B>(last), address::<B>(last), lease_for::<B>(LIFETIME_S));
        assert!(bench.store.settled_epoch() >= settled);
        settled = bench.store.settled_epoch();
        bench.settle();
        assert!(bench.store.settled_epoch() >= receipt.row_epoch);
        assert!(bench.store.settled_epoch() >= settled);
        settled = bench.store.settled_epoch();
    }
}

/// Checks that a running lease is refused to another client, also to one that knows the version.
pub fn a_running_lease_is_not_given_to_another<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    let leased = bench.slot(client::<B>(2), address::<B>(10));
    assert_eq!((leased.occupancy, leased.owner), (SlotOccupancy::Leased, SlotOwner::Other));
    let hold = hold_from::<B>(bench.now);
    for action in [lease_for::<B>(1), hold, Action::Release, Action::Decline { probation_s: 1 }] {
        assert_eq!(bench.commit(client::<B>(2), &leased, action), Err(CommitRefusal::Stale));
    }
    assert_eq!(bench.slot(client::<B>(2), address::<B>(10)), leased);
}

/// Checks the end of a hold when the client accepts another server's offer.
pub fn a_hold_is_given_up<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    let hold = hold_from::<B>(bench.now);
    bench.make(client::<B>(1), address::<B>(10), hold);
    let held_slot = bench.slot(client::<B>(2), address::<B>(10));
    assert_eq!(bench.commit(client::<B>(2), &held_slot, Action::Unhold), Err(CommitRefusal::Stale));
    let receipt = bench.make(client::<B>(1), address::<B>(10), Action::Unhold);
    assert_eq!(receipt.row_epoch, 0);
    let free = bench.candidate(client::<B>(2)).expect("it was given up");
    assert_eq!(free.occupancy, SlotOccupancy::Free);
}

/// Checks that a client may send a DISCOVER again while it has a lease.
pub fn a_hold_on_the_own_lease_changes_nothing<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    let leased = bench.slot(client::<B>(1), address::<B>(10));
    let hold = hold_from::<B>(bench.now);
    bench.make(client::<B>(1), address::<B>(10), hold);
    assert_eq!(bench.slot(client::<B>(1), address::<B>(10)), leased);
}

/// Checks that leases read at start-up are found, also outside the pools.
pub fn a_loaded_lease_is_found<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    for (at, number) in [(BASE + 10, 1), (OUTSIDE, 2)] {
        let sample = SampleLease {
            address: at,
            client: number,
            valid_lifetime_s: LIFETIME_S,
            cltt_s: START.wall_s(),
            subnet_id: 7,
            pool_id: 3,
            hostname: "a.example",
            state: LeaseState::Assigned,
            user_context: "{}",
        };
        let lease = B::Family::lease(&sample);
        bench.backend.table().load(lease.clone());
        let who = B::Family::client(number);
        let slot = bench.slot(who, B::Family::address(at));
        assert_eq!((slot.occupancy, slot.owner), (SlotOccupancy::Leased, SlotOwner::Requester));
        assert_eq!((slot.subnet_id, slot.expires_s()), (7, START.wall_s() + u64::from(LIFETIME_S)));
        assert_eq!(bench.fetch(who, None, &[]).client_slots[0], Some(slot));
        let mut listed = Vec::new();
        bench.backend.table().for_each_lease(|listing| listed.push(listing));
        assert!(listed.contains(&lease), "{listed:?}");
    }
    assert_eq!(bench.candidate(client::<B>(3)), None);
    bench.make(client::<B>(2), outside::<B>(), lease_for::<B>(LIFETIME_S));
}

/// Checks that only the client gets its user context, and only while the lease runs.
pub fn a_running_lease_tells_its_client_what_it_keeps<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 11)]);
    bench.backend.table().load(B::Family::lease(&SampleLease {
        address: BASE + 10,
        client: 1,
        valid_lifetime_s: LIFETIME_S,
        cltt_s: START.wall_s(),
        subnet_id: 7,
        pool_id: 3,
        hostname: "",
        state: LeaseState::Assigned,
        user_context: "{ \"a\": 1 }",
    }));
    bench.make(client::<B>(2), address::<B>(11), lease_for::<B>(2 * LIFETIME_S));
    let context_of = |bench: &mut ContractFixture<'_, B>, who, number| {
        let mut text = String::from("|");
        let (now, address) = (bench.now, address::<B>(number));
        let has_lease = bench.store.user_context(now, address, &client::<B>(who), &mut text);
        (has_lease, text)
    };
    assert_eq!(context_of(&mut bench, 1, 10), (true, "|{ \"a\": 1 }".into()));
    assert_eq!(context_of(&mut bench, 2, 10), (false, "|".into()));
    assert_eq!(context_of(&mut bench, 2, 11), (true, "|".into()));
    assert_eq!(context_of(&mut bench, 2, 12), (false, "|".into()));
    bench.pass(u64::from(LIFETIME_S));
    assert_eq!(context_of(&mut bench, 1, 10), (false, "|".into()));
}

/// Checks that all shards see a commit to the shared leases at once.
pub fn other_shards_see_a_commit_at_once<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    let before = bench.slot(client::<B>(2), address::<B>(10));
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.store = bench.backend.store();
    let after = bench.slot(client::<B>(1), address::<B>(10));
    assert_eq!((after.occupancy, after.owner), (SlotOccupancy::Leased, SlotOwner::Requester));
    let refused = bench.commit(client::<B>(2), &before, lease_for::<B>(LIFETIME_S));
    assert_eq!(refused, Err(CommitRefusal::Stale));
}
