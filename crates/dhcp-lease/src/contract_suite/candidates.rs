//! Tests of the candidates that lease stores offer to clients, and of concurrent offers.

use super::*;

/// Checks the slots of one client through DISCOVER and REQUEST.
pub fn a_candidate_is_held_and_then_leased<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 19)]);
    let candidate = bench.candidate(client::<B>(1)).expect("the pool is empty");
    assert_eq!((candidate.occupancy, candidate.owner), (SlotOccupancy::Free, SlotOwner::NoClient));
    let hold = hold_from::<B>(bench.now);
    let receipt = bench.commit(client::<B>(1), &candidate, hold).expect("nobody interferes");
    assert_eq!(receipt.row_epoch, 0, "holds are not logged");
    let facts = bench.fetch(client::<B>(1), Some(candidate.address), &[]);
    assert_eq!(facts.client_slot_count, 1);
    let held_slot = facts.address_slots[0].expect("it is pooled");
    assert_eq!(facts.client_slots[0], Some(held_slot));
    assert_eq!((held_slot.occupancy, held_slot.owner), (SlotOccupancy::Held, SlotOwner::Requester));
    assert_eq!(held_slot.hold_deadline_ns, bench.now.mono_ns + HOLD_NS);
    assert_ne!(held_slot.version, candidate.version);
    let receipt =
        bench.commit(client::<B>(1), &held_slot, lease_for::<B>(LIFETIME_S)).expect("it is held");
    assert_ne!(receipt.row_epoch, 0, "leases are logged");
    bench.settle();
    assert!(bench.store.settled_epoch() >= receipt.row_epoch);
    let leased = bench.slot(client::<B>(1), candidate.address);
    assert_eq!((leased.occupancy, leased.owner), (SlotOccupancy::Leased, SlotOwner::Requester));
    assert_eq!((leased.cltt_s, leased.valid_lifetime_s), (bench.now.wall_s(), LIFETIME_S));
    assert_eq!((leased.subnet_id, leased.row_epoch), (1, receipt.row_epoch));
    assert_eq!(bench.slot(client::<B>(2), candidate.address).owner, SlotOwner::Other);
}

/// Checks that a client gets the address after the last one given, and the first after the end.
pub fn addresses_are_given_in_order_and_wrap<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 13)]);
    for last in 10..=13 {
        let candidate = bench.candidate(client::<B>(last)).expect("there are four");
        assert_eq!(candidate.address, address::<B>(last));
        bench
            .commit(client::<B>(last), &candidate, lease_for::<B>(LIFETIME_S))
            .expect("it is free");
        bench.settle();
    }
    assert_eq!(bench.candidate(client::<B>(1)), None);
    for last in [12, 10] {
        bench.make(client::<B>(last), address::<B>(last), Action::Release);
        bench.settle();
        bench.sweep();
    }
    assert_eq!(bench.candidate(client::<B>(1)).map(|slot| slot.address), Some(address::<B>(10)));
    assert_eq!(bench.candidate(client::<B>(1)).map(|slot| slot.address), Some(address::<B>(12)));
}

/// Checks that a later pool gives addresses when the earlier ones have none.
pub fn pools_are_used_in_the_order_of_preference<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10), pool::<B>(20, 29)]);
    let addresses: Vec<_> = (0..3)
        .map(|_| bench.fetch(client::<B>(1), None, &[PoolIndex(0), PoolIndex(1)]).candidate)
        .map(|candidate| candidate.expect("there are eleven").address)
        .collect();
    assert_eq!(addresses, [address::<B>(10), address::<B>(20), address::<B>(21)]);
}

/// Checks that a candidate is claimed for its transaction, also against other shards.
pub fn two_fetches_get_different_candidates<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 11)]);
    let first = bench.candidate(client::<B>(1)).expect("there are two");
    bench.store = bench.backend.store();
    let second = bench.candidate(client::<B>(2)).expect("there are two");
    assert_ne!(first.address, second.address);
    assert_eq!(bench.candidate(client::<B>(3)), None);
}

/// Checks that a returning client takes no second address, not even for a moment.
pub fn a_spare_candidate_is_for_clients_without_a_slot<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 11)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    for (number, expected) in [(1, None), (2, Some(address::<B>(11)))] {
        let facts = bench.fetch_spare(client::<B>(number), &[PoolIndex(0)]);
        assert_eq!(facts.candidate.map(|slot| slot.address), expected);
    }
}

/// Checks that a free address claimed for a transaction that does not use it is free again after
/// the batch.
pub fn an_unused_claim_ends_with_the_batch<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    assert!(bench.candidate(client::<B>(1)).is_some());
    assert_eq!(bench.candidate(client::<B>(2)), None);
    let now = bench.now;
    bench.store.submit(now);
    assert!(bench.candidate(client::<B>(2)).is_some());
}

/// Checks that a claimed free address that is given back is free before the end of the batch of
/// messages.
pub fn a_candidate_given_back_is_there_at_once<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    let candidate = bench.candidate(client::<B>(1)).expect("there is one");
    bench.store.release_claim(candidate.address);
    let again = bench.candidate(client::<B>(2)).expect("it was given back");
    bench.commit(client::<B>(2), &again, lease_for::<B>(LIFETIME_S)).expect("it is free");
    bench.store.release_claim(again.address);
    assert_eq!(bench.candidate(client::<B>(3)), None, "what is leased cannot be given back");
}

/// Checks that an exhausted pool gives the oldest hold, and that a commit may break that hold.
pub fn an_exhausted_pool_gives_the_oldest_hold<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12), pool::<B>(20, 20)]);
    for last in [20, 11, 12, 10] {
        let hold = hold_from::<B>(bench.now);
        bench.make(client::<B>(last), address::<B>(last), hold);
        bench.pass(1);
    }
    for last in [11, 12, 10, 11] {
        let oldest = bench.candidate(client::<B>(1)).expect("holds can be broken");
        assert_eq!((oldest.address, oldest.occupancy), (address::<B>(last), SlotOccupancy::Held));
        let hold = hold_from::<B>(bench.now);
        bench.commit(client::<B>(1), &oldest, hold).expect("holds can be broken");
        bench.pass(1);
    }
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    let other = bench.candidate(client::<B>(2)).expect("holds can be broken");
    assert_eq!(other.address, address::<B>(12));
}

/// Checks that no offer is broken while an ended lease exists.
pub fn an_exhausted_pool_prefers_an_ended_lease<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 11)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(5));
    bench.settle();
    bench.pass(5);
    let hold = hold_from::<B>(bench.now);
    bench.make(client::<B>(2), address::<B>(11), hold);
    let candidate = bench.candidate(client::<B>(3)).expect("a lease has ended");
    assert_eq!(candidate.address, address::<B>(10));
    assert!(candidate.is_available(bench.now));
    bench.commit(client::<B>(3), &candidate, hold).expect("the lease has ended");
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 1, "reclaimed leases are reported");
}

/// Checks that a client gets a reserved address only on request, also after the address had been
/// leased.
pub fn a_reserved_address_is_no_candidate<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    bench.make(client::<B>(1), address::<B>(11), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.reserve(&[pool::<B>(10, 12)], &[address::<B>(10), address::<B>(11)]);
    let other = bench.candidate(client::<B>(2)).expect("one is not reserved");
    assert_eq!(other.address, address::<B>(12));
    assert_eq!(bench.candidate(client::<B>(3)), None);
    let lease_slot = bench.slot(client::<B>(1), address::<B>(11));
    assert_eq!(
        (lease_slot.occupancy, lease_slot.owner),
        (SlotOccupancy::Leased, SlotOwner::Requester)
    );
    bench.make(client::<B>(1), address::<B>(11), Action::Release);
    bench.make(client::<B>(4), address::<B>(10), hold_from::<B>(START));
    bench.make(client::<B>(2), address::<B>(12), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.sweep();
    assert_eq!(bench.candidate(client::<B>(3)), None, "also a hold on it is not broken");
    bench.reserve(&[pool::<B>(10, 12)], &[]);
    let free = bench.candidate(client::<B>(3)).map(|slot| slot.address);
    assert_eq!(free, Some(address::<B>(11)));
}

/// Checks that an address that a transaction reserved at the lease table counts as reserved until
/// the next configuration.
pub fn what_is_set_aside_is_reserved<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    bench.make(client::<B>(1), address::<B>(11), hold_from::<B>(START));
    for reserved in [address::<B>(10), address::<B>(11), address::<B>(10), outside::<B>()] {
        bench.store.reserve_address(reserved);
    }
    bench.make(client::<B>(1), address::<B>(11), Action::Unhold);
    let other = bench.candidate(client::<B>(2)).map(|slot| slot.address);
    assert_eq!(other, Some(address::<B>(12)));
    assert_eq!(bench.candidate(client::<B>(3)), None);
    for own in [address::<B>(10), outside::<B>()] {
        bench.make(client::<B>(1), own, lease_for::<B>(LIFETIME_S));
        bench.settle();
    }
    bench.reserve(&[pool::<B>(10, 12)], &[]);
    assert_eq!(bench.candidate(client::<B>(3)).map(|slot| slot.address), Some(address::<B>(11)));
    assert_eq!(bench.slot(client::<B>(1), outside::<B>()).occupancy, SlotOccupancy::Leased);
}

/// Checks that the client of a reservation outside the pools can request and lease the address like
/// any other.
pub fn a_reserved_address_outside_the_pools_is_leased<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    bench.reserve(&[pool::<B>(10, 12)], &[outside::<B>()]);
    let slot = bench.slot(client::<B>(1), outside::<B>());
    assert_eq!((slot.occupancy, slot.owner), (SlotOccupancy::Free, SlotOwner::NoClient));
    bench.make(client::<B>(1), outside::<B>(), lease_for::<B>(LIFETIME_S));
    bench.settle();
    let mine =
        bench.fetch(client::<B>(1), None, &[]).client_slots().map(|slot| slot.address).next();
    assert_eq!(mine, Some(outside::<B>()));
    bench.reserve(&[pool::<B>(10, 12)], &[]);
    assert_eq!(bench.slot(client::<B>(1), outside::<B>()).occupancy, SlotOccupancy::Leased);
}

/// Checks that the hashes of names and user context follow the terms of a lease, and that changes
/// are visible.
pub fn a_slot_tells_whether_its_text_is_the_same<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    let lease_action = Action::Lease(B::Family::terms(LIFETIME_S, 1, "a.example"));
    bench.make(client::<B>(1), address::<B>(10), lease_action);
    bench.settle();
    let text = bench.slot(client::<B>(1), address::<B>(10)).text;
    assert_eq!(text.hostname, text_hash("a.example"));
    assert_ne!(text.hostname, text_hash("b.example"));
    assert_eq!((text.user_context, text.fqdn_fwd, text.fqdn_rev), (0, true, false));
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    assert_eq!(bench.slot(client::<B>(1), address::<B>(10)).text, TextView::default());
}
