//! Tests of operators' changes to leases, and of addresses that clients register.

use super::*;

fn sample<B: StoreFactory>(number: u32, state: LeaseState) -> Lease<B::Family> {
    sample_of::<B>(number, 7, state)
}

fn sample_of<B: StoreFactory>(number: u32, client: u32, state: LeaseState) -> Lease<B::Family> {
    B::Family::lease(&SampleLease {
        address: number,
        client,
        valid_lifetime_s: LIFETIME_S,
        cltt_s: START.wall_s(),
        subnet_id: 1,
        pool_id: 0,
        hostname: "",
        state,
        user_context: "{ \"a\": 1 }",
    })
}

/// Checks that an operator can put, replace and delete leases, in a pool and outside of all.
pub fn an_operator_puts_and_removes_leases<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    for number in [BASE + 10, OUTSIDE] {
        let at = B::Family::address(number);
        let lease = sample::<B>(number, LeaseState::Assigned);
        assert_eq!(bench.store.put(&lease, PutMode::Update), Err(PutRefusal::Missing));
        assert_eq!(bench.store.remove(at), Err(PutRefusal::Missing));
        let receipt = bench.store.put(&lease, PutMode::Add).expect("nothing is there");
        if bench.store.settled_epoch() < receipt.row_epoch {
            let again = bench.store.put(&lease, PutMode::Force);
            assert_eq!(again, Err(PutRefusal::Unsettled(receipt.row_epoch)));
        }
        bench.settle();
        assert_eq!(bench.store.put(&lease, PutMode::Add), Err(PutRefusal::Exists));
        assert_eq!(bench.backend.table().lease(at), Some(lease));
        let slot = bench.slot(client::<B>(7), at);
        assert_eq!((slot.occupancy, slot.owner), (SlotOccupancy::Leased, SlotOwner::Requester));
        let declined = sample::<B>(number, LeaseState::Declined);
        assert!(bench.store.put(&declined, PutMode::Update).is_ok());
        bench.settle();
        assert_eq!(bench.state(at), Some(LeaseState::Declined));
        assert!(bench.store.remove(at).is_ok());
        bench.settle();
        bench.sweep();
        assert_eq!(bench.state(at), None);
    }
    assert!(bench.candidate(client::<B>(8)).is_some());
}

/// Checks that a lease stays if a lease with an earlier transaction is put for a partner, unless it
/// has ended and the other one has another client.
pub fn a_lease_gives_way_to_a_later_one_only<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    let at = |client: u32, later_s: u64, state: LeaseState| {
        let lease = sample_of::<B>(BASE + 10, client, state);
        Lease { cltt_s: START.wall_s() + later_s, ..lease }
    };
    let mut put = |lease: &Lease<B::Family>, mode: PutMode| {
        let outcome = bench.store.put(lease, mode).map(|_| ());
        bench.settle();
        outcome
    };
    let (assigned, released) = (LeaseState::Assigned, LeaseState::Released);
    for (client, later_s, state, outcome) in [
        (7, 10, assigned, Ok(())),
        (7, 9, assigned, Err(PutRefusal::Later)),
        (8, 9, assigned, Err(PutRefusal::Later)),
        (7, 9, released, Err(PutRefusal::Later)),
        (8, 10, assigned, Ok(())),
        (8, 20, released, Ok(())),
        (8, 19, assigned, Err(PutRefusal::Later)),
        (7, 19, assigned, Ok(())),
        (7, 18, LeaseState::Declined, Err(PutRefusal::Later)),
    ] {
        let got = put(&at(client, later_s, state), PutMode::UnlessLater);
        assert_eq!(got, outcome, "{client} {later_s} {state:?}");
    }
    // Another client may have the reply to a request of the same second.
    for (client, later_s, state, outcome) in [
        (7, 19, assigned, Ok(())),
        (8, 19, assigned, Err(PutRefusal::Later)),
        (8, 19, released, Err(PutRefusal::Later)),
        (8, 20, assigned, Ok(())),
        (8, 19, assigned, Err(PutRefusal::Later)),
        (8, 20, released, Ok(())),
        (7, 20, assigned, Ok(())),
    ] {
        let got = put(&at(client, later_s, state), PutMode::UnlessTaken);
        assert_eq!(got, outcome, "{client} {later_s} {state:?}");
    }
}

/// Checks that a lease that its client has released, and one that a partner has, is remembered, so
/// that an earlier lease of the client does not take its place.
pub fn a_released_lease_gives_way_to_a_later_one_only<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    let at = address::<B>(10);
    bench.make(client::<B>(7), at, lease_for::<B>(LIFETIME_S));
    bench.settle();
    let assigned = bench.backend.table().lease(at).expect("it is leased");
    bench.pass(5);
    bench.make(client::<B>(7), at, Action::Release);
    bench.settle();
    let released = bench.backend.table().lease(at).expect("it is remembered");
    assert_eq!(bench.store.put(&assigned, PutMode::UnlessLater), Err(PutRefusal::Later));
    assert!(bench.store.remove(at).is_ok());
    bench.settle();
    for lease in [&assigned, &released] {
        assert!(bench.store.put(lease, PutMode::UnlessLater).is_ok());
        bench.settle();
        assert_eq!(bench.backend.table().lease(at).as_ref(), Some(lease));
    }
    assert_eq!(bench.store.put(&assigned, PutMode::UnlessLater), Err(PutRefusal::Later));
}

/// Checks that a commit on a slot that an operator has changed is refused like any other.
pub fn what_an_operator_changed_is_fetched_again<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    let free = bench.slot(client::<B>(1), address::<B>(10));
    let lease = sample::<B>(BASE + 10, LeaseState::Assigned);
    assert!(bench.store.put(&lease, PutMode::Force).is_ok());
    bench.settle();
    let refused = bench.commit(client::<B>(1), &free, lease_for::<B>(LIFETIME_S));
    assert_eq!(refused, Err(CommitRefusal::Stale));
}

/// Checks that a lease that is put when it has ended leaves its address free for another client
/// without waiting for the next second.
pub fn a_lease_that_is_put_when_it_has_ended_is_free_at_once<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 10)]);
    for (round, is_swept_before) in [(1, true), (2, false)] {
        bench.pass(u64::from(LIFETIME_S) * 2);
        if is_swept_before {
            bench.sweep();
        }
        let lease = sample::<B>(BASE + 10, LeaseState::Assigned);
        assert!(bench.store.put(&lease, PutMode::Force).is_ok());
        bench.settle();
        assert_eq!(bench.state(address::<B>(10)), Some(LeaseState::Assigned));
        let candidate = bench.candidate(client::<B>(8)).map(|slot| slot.address);
        assert_eq!(candidate, Some(address::<B>(10)), "round {round}");
        bench.store.release_claim(address::<B>(10));
    }
}

/// Checks Kea's counters of leases: a lease that a command puts is assigned, and was given to no
/// client.
pub fn what_an_operator_puts_is_assigned_and_was_not_given<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    let assigned = PoolStatistics { assigned: 1, ..PoolStatistics::default() };
    for number in [BASE + 10, OUTSIDE] {
        for mode in [PutMode::Add, PutMode::Update] {
            let lease = sample::<B>(number, LeaseState::Assigned);
            assert!(bench.store.put(&lease, mode).is_ok());
            bench.settle();
        }
    }
    assert_eq!(bench.backend.table().statistics(PoolIndex(0)), assigned);
    let outside = bench.backend.table().statistics_outside();
    assert!(outside.into_values().eq([assigned]));
}

/// Checks that a DHCPv6 lease outside the pools does not count as assigned, so that no more leases
/// are assigned than the pools have addresses; a DHCPv4 lease outside the pools does, as in Kea.
pub fn what_is_given_outside_the_pools_is_assigned_in_dhcpv4_alone<B: StoreFactory>(
    backend: &mut B,
) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    let outside = B::Family::address(OUTSIDE);
    let counts = |bench: &ContractFixture<'_, B>| {
        let mut sum = PoolStatistics::default();
        bench.backend.table().statistics_outside().values().for_each(|one| sum.add(one));
        sum
    };
    bench.store.reserve_address(outside);
    bench.make(client::<B>(1), outside, lease_for::<B>(LIFETIME_S));
    bench.settle();
    let count = u64::from(<B::Family as TableFamily>::COUNTS_OUTSIDE);
    let counted =
        PoolStatistics { assigned: count, cumulative_assigned: count, ..PoolStatistics::default() };
    assert_eq!(counts(&bench), counted);
    bench.make(client::<B>(1), outside, lease_for::<B>(LIFETIME_S));
    bench.settle();
    assert_eq!(counts(&bench), counted, "a renewal changes nothing");
    bench.make(client::<B>(1), outside, Action::Release);
    bench.settle();
    bench.sweep();
    assert_eq!(counts(&bench).assigned, 0);
}

/// Checks that pages of leases ascend, and that every lease is on one page, whatever its state.
pub fn leases_are_listed_in_pages<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 250)]);
    let states = [LeaseState::Assigned, LeaseState::Declined, LeaseState::ExpiredReclaimed];
    let mut expected = Vec::new();
    for (at, number) in (BASE + 20..BASE + 240).step_by(3).chain([OUTSIDE]).enumerate() {
        let lease = sample::<B>(number, states[at % states.len()]);
        assert!(bench.store.put(&lease, PutMode::Add).is_ok());
        expected.push(lease);
    }
    let mut listed = Vec::new();
    loop {
        let after = listed.last().map(|lease| B::Family::sample(lease).address);
        let page = bench.backend.table().page(after, 10);
        let is_last = page.len() < 10;
        listed.extend(page);
        if is_last {
            break;
        }
    }
    assert_eq!(listed, expected);
}

/// Checks that a client's leases are found, also more than the indexes lead to.
pub fn the_leases_of_a_client_are_found<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 250)]);
    for count in [3, 60] {
        for number in BASE + 20..BASE + 20 + count {
            let lease = sample::<B>(number, LeaseState::Assigned);
            assert!(bench.store.put(&lease, PutMode::Force).is_ok());
        }
        bench.settle();
        let leases = bench.backend.table().leases_of(B::Family::key(&client::<B>(7)));
        let numbers =
            leases.iter().map(|lease| B::Family::number(B::Family::sample(lease).address));
        assert!(numbers.eq(BASE + 20..BASE + 20 + count));
    }
    assert!(bench.backend.table().leases_of(B::Family::key(&client::<B>(8))).is_empty());
}

/// Checks the registration of an address (RFC 9686): any address, no allocation, a state of its
/// own.
pub fn an_address_is_registered<B: StoreFactory>(backend: &mut B) {
    let mut bench = ContractFixture::new(backend, &[pool::<B>(10, 12)]);
    let terms = B::Family::terms(LIFETIME_S, 5, "");
    let registration = |who| Change {
        identity: client::<B>(who),
        address: outside::<B>(),
        expected_version: 0,
        action: Action::Register(terms),
    };
    assert!(bench.store.commit(bench.now, &[registration(1)]).is_ok());
    bench.settle();
    assert_eq!(bench.state(outside::<B>()), Some(LeaseState::Registered));
    assert_eq!(bench.store.commit(bench.now, &[registration(2)]), Err(CommitRefusal::Stale));
    let slot = bench.slot(client::<B>(2), outside::<B>());
    assert_eq!((slot.owner, slot.state), (SlotOwner::Other, LeaseState::Registered));
    assert!(bench.commit(client::<B>(2), &slot, Action::Register(terms)).is_ok());
    bench.settle();
    let slot = bench.slot(client::<B>(2), outside::<B>());
    assert_eq!((slot.owner, slot.state), (SlotOwner::Requester, LeaseState::Registered));
    let outside = bench.backend.table().statistics_outside();
    let counted: Vec<_> =
        outside.into_iter().map(|((subnet_id, _), sums)| (subnet_id, sums)).collect();
    let expected =
        PoolStatistics { registered: 1, cumulative_registered: 2, ..PoolStatistics::default() };
    assert_eq!(counted, [(5, expected)]);
}
