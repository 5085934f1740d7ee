//! How holds, leases and probations end.

use super::*;

/// A renewed lease outlives its first term, and a shortened one does not.
pub fn a_renewal_moves_the_end<B: Backend>(backend: &mut B) {
    let mut bench = Bench::new(backend, &[pool::<B>(10, 19)]);
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
    assert_eq!(bench.slot(client::<B>(2), address::<B>(11)).occupancy, Occupancy::Free);
    bench.pass(300);
    bench.sweep();
    assert_eq!(bench.slot(client::<B>(1), address::<B>(10)).occupancy, Occupancy::Leased);
    bench.pass(290);
    bench.sweep();
    assert_eq!(bench.slot(client::<B>(1), address::<B>(10)).occupancy, Occupancy::Free);
}

/// Without waiting for a sweep.
pub fn an_ended_lease_is_given_to_another<B: Backend>(backend: &mut B) {
    let mut bench = Bench::new(backend, &[pool::<B>(10, 19)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.pass(u64::from(LIFETIME_S));
    let ended = bench.slot(client::<B>(2), address::<B>(10));
    assert_eq!(ended.occupancy, Occupancy::Leased);
    assert!(ended.is_available(bench.now));
    bench.make(client::<B>(2), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.sweep();
    assert_eq!(bench.slot(client::<B>(2), address::<B>(10)).owner, Owner::Asking);
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).mine_count, 0);
}

/// A client that comes back gets its address back.
pub fn a_swept_lease_is_free_and_remembers_its_client<B: Backend>(backend: &mut B) {
    let mut bench = Bench::new(backend, &[pool::<B>(10, 10)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    bench.pass(u64::from(LIFETIME_S) - 1);
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 0);
    assert_eq!(bench.slot(client::<B>(1), address::<B>(10)).occupancy, Occupancy::Leased);
    bench.pass(1);
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 1);
    assert_eq!(bench.store.sweep(bench.now, 64).leases, 0);
    let free = bench.slot(client::<B>(1), address::<B>(10));
    assert_eq!((free.occupancy, free.owner), (Occupancy::Free, Owner::Asking));
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).mine[0], Some(free));
    assert_eq!(bench.slot(client::<B>(2), address::<B>(10)).owner, Owner::Other);
    assert_eq!(bench.candidate(client::<B>(2)).map(|slot| slot.address), Some(address::<B>(10)));
}

/// An offer that nobody takes up.
pub fn a_hold_ends_by_itself<B: Backend>(backend: &mut B) {
    let mut bench = Bench::new(backend, &[pool::<B>(10, 10)]);
    let hold = hold_from::<B>(bench.now);
    bench.make(client::<B>(1), address::<B>(10), hold);
    bench.pass(9);
    assert_eq!(bench.store.sweep(bench.now, 64).holds, 0);
    assert!(!bench.slot(client::<B>(2), address::<B>(10)).is_available(bench.now));
    bench.pass(1);
    assert!(bench.slot(client::<B>(2), address::<B>(10)).is_available(bench.now));
    assert_eq!(bench.store.sweep(bench.now, 64).holds, 1);
    assert_eq!(bench.slot(client::<B>(2), address::<B>(10)).occupancy, Occupancy::Free);
}

/// Taken until the row is safe: a crash before would bring the lease back.
pub fn a_release_is_free_once_settled<B: Backend>(backend: &mut B) {
    let mut bench = Bench::new(backend, &[pool::<B>(10, 10)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    let receipt = bench.make(client::<B>(1), address::<B>(10), Action::Release);
    assert_ne!(receipt.row_epoch, 0);
    if bench.store.settled_epoch() < receipt.row_epoch {
        bench.sweep();
        assert_eq!(bench.slot(client::<B>(2), address::<B>(10)).occupancy, Occupancy::Releasing);
        assert!(!bench.slot(client::<B>(2), address::<B>(10)).is_available(bench.now));
        assert_eq!(bench.candidate(client::<B>(2)), None);
    }
    bench.settle();
    bench.sweep();
    let free = bench.slot(client::<B>(1), address::<B>(10));
    assert_eq!((free.occupancy, free.owner), (Occupancy::Free, Owner::Asking));
    assert_eq!(bench.candidate(client::<B>(2)).map(|slot| slot.address), Some(address::<B>(10)));
}

/// DHCPDECLINE: not even the client's that declined.
pub fn a_declined_address_is_nobodys_until_probation_ends<B: Backend>(backend: &mut B) {
    let mut bench = Bench::new(backend, &[pool::<B>(10, 10)]);
    bench.make(client::<B>(1), address::<B>(10), lease_for::<B>(LIFETIME_S));
    bench.settle();
    let receipt =
        bench.make(client::<B>(1), address::<B>(10), Action::Decline { probation_s: 10_000 });
    assert_ne!(receipt.row_epoch, 0);
    bench.settle();
    let declined = bench.slot(client::<B>(1), address::<B>(10));
    assert_eq!((declined.occupancy, declined.owner), (Occupancy::Declined, Owner::Nobody));
    assert_eq!(bench.fetch(client::<B>(1), None, &[]).mine_count, 0);
    bench.pass(9_999);
    bench.sweep();
    assert_eq!(bench.candidate(client::<B>(1)), None);
    bench.pass(1);
    assert_eq!(bench.store.sweep(bench.now, 64).declined, 1);
    assert!(bench.candidate(client::<B>(1)).is_some());
}

/// Sweeping never holds up packets for long.
pub fn a_sweep_keeps_to_its_budget<B: Backend>(backend: &mut B) {
    let mut bench = Bench::new(backend, &[pool::<B>(10, 49)]);
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
