//! Tests of the ends of holds, leases and probations.

use super::*;

/// Checks that a renewed lease outlives its first term, and a shortened one does not.
pub fn a_renewal_moves_the_end<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.make(client::<B>(2), address::<B>(11), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.sweep();
    bench.pass(300);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.make(client::<B>(2), address::<B>(11), lease_for::<B>(10));
    bench.settle();
    bench.pass(10);
    bench.sweep();
    assert_eq!(bench.slot(client::<B>(2), address::<B>(11)).occupancy, SlotOccupancy::Free);
    bench.pass(300);
    bench.sweep();
    assert_eq!(bench.slot(client::<B>(1), address::<B>(10)).occupancy, SlotOccupancy::Leased);
    bench.pass(290);
    bench.sweep();
    assert_eq!(bench.slot(client::<B>(1), address::<B>(10)).occupancy, SlotOccupancy::Free);
}

/// Checks that another client gets an ended lease's address without waiting for a sweep.
pub fn an_ended_lease_is_given_to_another<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.pass(u64::from(LIFETIME_S));
    let ended = bench.slot(client::<B>(2), address::<B>(10));
    assert_eq!(ended.occupancy, SlotOccupancy::Leased);
    assert!(ended.is_available(bench.now));
    bench.make(client::<B>(2), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.sweep();
    assert_eq!(bench.slot(client::<B>(2), address::<B>(10)).owner, SlotOwner::Requester);
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).client_slot_count, 0);
}

/// Checks that a returning client gets its address back.
pub fn a_swept_lease_is_free_and_remembers_its_client<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.pass(u64::from(LIFETIME_S) - 1);
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 0);
    assert_eq!(bench.slot(client::<B>(1), address::<B>(10)).occupancy, SlotOccupancy::Leased);
    bench.pass(1);
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 1);
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 0);
    let free = bench.slot(client::<B>(1), address::<B>(10));
    assert_eq!((free.occupancy, free.owner), (SlotOccupancy::Free, SlotOwner::Requester));
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).client_slots[0], Some(free));
    assert_eq!(bench.slot(client::<B>(2), address::<B>(10)).owner, SlotOwner::Other);
    assert_eq!(bench.candidate(client::<B>(2)).map(|slot| slot.address), Some(address::<B>(10)));
}

/// Checks that an offer that the client does not accept ends.
pub fn a_hold_ends_by_itself<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    let hold = hold_from::<B>(bench.now);
    bench.make(client::<B>(1), address::<B>(10), hold);
    bench.pass(9);
    assert_eq!(bench.store.sweep(bench.now, 64).holds, 0);
    assert!(!bench.slot(client::<B>(2), address::<B>(10)).is_available(bench.now));
    bench.pass(1);
    assert!(bench.slot(client::<B>(2), address::<B>(10)).is_available(bench.now));
    assert_eq!(bench.store.sweep(bench.now, 64).holds, 1);
    assert_eq!(bench.slot(client::<B>(2), address::<B>(10)).occupancy, SlotOccupancy::Free);
}

/// Checks that a released address stays taken until the row of the release is durable: a crash
/// before would bring the lease back.
pub fn a_release_is_free_once_settled<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    // A store that reads the other client from a database does so now: reading it settles rows.
    assert_eq!(bench.candidate(client::<B>(2)), None);
    let receipt = bench.make(client::<B>(1), address::<B>(10), Action::Release);
    assert_ne!(receipt.row_epoch, 0);
    if bench.store.settled_epoch() < receipt.row_epoch {
        bench.sweep();
        assert_eq!(
            bench.slot(client::<B>(2), address::<B>(10)).occupancy,
            SlotOccupancy::Releasing
        );
        assert!(!bench.slot(client::<B>(2), address::<B>(10)).is_available(bench.now));
        assert_eq!(bench.candidate(client::<B>(2)), None);
    }
    bench.settle();
    bench.sweep();
    let free = bench.slot(client::<B>(1), address::<B>(10));
    assert_eq!((free.occupancy, free.owner), (SlotOccupancy::Free, SlotOwner::Requester));
    assert_eq!(bench.candidate(client::<B>(2)).map(|slot| slot.address), Some(address::<B>(10)));
}

/// Checks DHCPDECLINE: no client gets the declined address until the probation ends, not even the
/// one that declined the address.
pub fn a_declined_address_is_nobodys_until_probation_ends<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    let receipt =
        bench.make(client::<B>(1), address::<B>(10), Action::Decline { probation_s: 10_000 });
    assert_ne!(receipt.row_epoch, 0);
    bench.settle();
    let declined = bench.slot(client::<B>(1), address::<B>(10));
    assert_eq!(
        (declined.occupancy, declined.owner),
        (SlotOccupancy::Declined, SlotOwner::NoClient)
    );
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).client_slot_count, 0);
    bench.pass(9_999);
    bench.sweep();
    assert_eq!(bench.candidate(client::<B>(1)), None);
    bench.pass(1);
    assert_eq!(bench.store.sweep(bench.now, 64).declined, 1);
    assert!(bench.candidate(client::<B>(1)).is_some());
}

/// Checks that a sweep keeps to its budget of slots, so that sweeping never holds up messages for
/// long.
pub fn a_sweep_keeps_to_its_budget<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 49)]);
    for last in 10..50 {
        bench.make(client::<B>(last), address::<B>(last), lease_for::<B>(LIFETIME_S));
    }
    bench.settle();
    bench.pass(u64::from(LIFETIME_S));
    let mut reclaimed = 0;
    for round in 0.. {
        let swept = bench.store.sweep(bench.now, 7);
        assert!(swept.leases <= 7);
        reclaimed += swept.leases;
        if !swept.is_more_due {
            break;
        }
        assert!(round < 40, "a sweep goes on where the last one stopped");
    }
    assert_eq!(reclaimed, 40);
}

/// Checks that an expired lease is shown as reclaimed, and is removed after Kea's
/// `hold-reclaimed-time`.
pub fn an_ended_lease_is_reclaimed_and_flushed<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.pass(u64::from(LIFETIME_S));
    assert_eq!(bench.state(address::<B>(10)), Some(LeaseState::Assigned));
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 1);
    bench.settle();
    assert_eq!(bench.state(address::<B>(10)), Some(LeaseState::ExpiredReclaimed));
    bench.pass(3_600);
    assert_eq!(bench.store.sweep(bench.now, 64).flushed, 1);
    bench.settle();
    assert_eq!(bench.state(address::<B>(10)), None);
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).client_slot_count, 0, "and forgotten");
    let counted = bench.backend.table().statistics(PoolIndex(0));
    let expected =
        PoolStatistics { cumulative_assigned: 1, reclaimed: 1, ..PoolStatistics::default() };
    assert_eq!(counted, expected);
}

/// Checks lease affinity: a released lease waits for its client as long as no other client needs
/// it.
pub fn a_released_lease_waits_for_its_client<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.make(client::<B>(1), address::<B>(10), Action::Release);
    bench.settle();
    bench.sweep();
    assert_eq!(bench.state(address::<B>(10)), Some(LeaseState::Released));
    bench.pass(10);
    assert_eq!(bench.store.sweep(bench.now, 64).released, 1);
    bench.settle();
    assert_eq!(bench.state(address::<B>(10)), Some(LeaseState::ExpiredReclaimed));
    let mine = bench.slot(client::<B>(1), address::<B>(10));
    assert_eq!((mine.occupancy, mine.owner), (SlotOccupancy::Free, SlotOwner::Requester));
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    let counted = bench.backend.table().statistics(PoolIndex(0));
    let expected = PoolStatistics {
        assigned: 1,
        cumulative_assigned: 2,
        reclaimed: 1,
        ..PoolStatistics::default()
    };
    assert_eq!(counted, expected);
}

/// Checks that without affinity a released lease has no client.
pub fn without_affinity_a_release_deletes<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    let expiry = Expiry { is_remembering: false, ..Expiry::default() };
    bench.backend.table().set_expiry(expiry);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.make(client::<B>(1), address::<B>(10), Action::Release);
    bench.settle();
    bench.sweep();
    assert_eq!(bench.state(address::<B>(10)), None);
    assert_eq!(bench.slot(client::<B>(1), address::<B>(10)).owner, SlotOwner::NoClient);
}

/// Checks that a sweep leaves ended leases alone when configured so, and that a reclaim takes these
/// leases at once.
pub fn leases_are_reclaimed_on_demand<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 11)]);
    let expiry = Expiry { reclaim_wait_s: 0, ..Expiry::default() };
    bench.backend.table().set_expiry(expiry);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.pass(u64::from(LIFETIME_S) + 5);
    bench.sweep();
    assert_eq!(bench.state(address::<B>(10)), Some(LeaseState::Assigned));
    assert_eq!(bench.store.reclaim(bench.now, false, 64).leases, 1);
    bench.settle();
    assert_eq!(bench.state(address::<B>(10)), Some(LeaseState::ExpiredReclaimed));
    bench.make(client::<B>(2), address::<B>(11), lease_for::<B>(5));
    bench.settle();
    bench.pass(5);
    assert_eq!(bench.store.reclaim(bench.now, true, 64).leases, 1);
    bench.settle();
    assert_eq!(bench.state(address::<B>(11)), None, "deleted");
}

/// Checks that released leases have ended, however long they would wait for their clients (Kea's
/// `leases-reclaim`).
pub fn released_leases_are_reclaimed_on_demand<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 13)]);
    let mut released = 0;
    for (is_removing, state) in [(false, Some(LeaseState::ExpiredReclaimed)), (true, None)] {
        for number in [1, 2] {
            bench.make(client::<B>(number), address::<B>(9 + number), lease_for::<B>(LIFETIME_S));
        }
        bench.make(client::<B>(3), address::<B>(12), lease_for::<B>(LIFETIME_S));
        bench.settle();
        for number in [1, 2] {
            bench.make(client::<B>(number), address::<B>(9 + number), Action::Release);
        }
        bench.settle();
        bench.sweep();
        assert_eq!(bench.state(address::<B>(10)), Some(LeaseState::Released));
        loop {
            let swept = bench.store.reclaim(bench.now, is_removing, 1);
            released += swept.released;
            if !swept.is_more_due {
                break;
            }
        }
        bench.settle();
        assert_eq!([10, 11].map(|last| bench.state(address::<B>(last))), [state; 2]);
        assert_eq!(bench.state(address::<B>(12)), Some(LeaseState::Assigned));
    }
    assert_eq!(released, 4);
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).client_slot_count, 0, "and forgotten");
}

/// Checks `offer-lifetime`: an offer stored as a lease of a few seconds is overwritten by the
/// lease.
pub fn an_offer_can_be_a_short_lease<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 11)]);
    for number in [1, 2] {
        bench.make(client::<B>(number), address::<B>(9 + number), lease_for::<B>(30));
    }
    bench.settle();
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.pass(30);
    bench.sweep();
    bench.settle();
    assert_eq!(bench.state(address::<B>(10)), Some(LeaseState::Assigned));
    assert_eq!(bench.state(address::<B>(11)), Some(LeaseState::ExpiredReclaimed));
    assert_eq!(
        bench.fetch(client::<B>(2), None, &[]).client_slots[0].map(|slot| slot.address),
        Some(address::<B>(11))
    );
    assert_eq!(bench.candidate(client::<B>(3)).map(|slot| slot.address), Some(address::<B>(11)));
}
