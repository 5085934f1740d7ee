//! Tests of the leases that sweeps reclaim in a cycle, and of those left over.

use base::Now;

use super::super::LeaseTable;
use super::audit::audit;
use super::{SECOND_NS, START, commit, for_both_families, lease_for, slot};
use crate::contract::{Action, SlotOccupancy};
use crate::lease::LeaseState;
use crate::sample::{SampleFamily, SampleLease};
use crate::table::cycle::ReclaimLimits;
use crate::table::expiry::Expiry;
use crate::table::sweep_request::Sweep;

for_both_families! {
    a_cycle_reclaims_so_many_leases_and_the_next_one_goes_on,
    a_cycle_ends_when_its_time_is_spent,
    warnings_come_after_so_many_short_cycles_in_a_row,
    what_is_set_aside_is_flushed_renewed_and_taken_as_ever,
    a_reclaim_looks_at_no_more_slots_than_its_budget,
}

const FIRST: u32 = 0x0a00_0000;

fn later(seconds: u64) -> Now {
    START.after_ns(seconds * SECOND_NS)
}

/// Returns a table with `count` leases that end after 5 seconds.
fn table<F: SampleFamily>(count: u32, limits: ReclaimLimits) -> LeaseTable<F> {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[F::pool(FIRST, FIRST + 999)], &[]);
    table.set_reclaim_limits(limits);
    for address in FIRST..FIRST + count {
        let free = slot(&table, &pools, START, address).unwrap();
        commit(&table, START, address, &free, lease_for::<F>(5)).unwrap();
    }
    table
}

/// Returns the number of leases that the server's sweeps reclaim by `seconds`, until none has more
/// to do.
fn reclaimed<F: SampleFamily>(table: &LeaseTable<F>, seconds: u64) -> u32 {
    let mut count = 0;
    loop {
        let swept = table.sweep(later(seconds), 0, 2);
        count += swept.reclaimed();
        if !swept.is_more_due {
            return count;
        }
    }
}

fn leases(cycle_s: u32, leases: u32) -> ReclaimLimits {
    ReclaimLimits { cycle_s, leases, ..ReclaimLimits::default() }
}

fn a_cycle_reclaims_so_many_leases_and_the_next_one_goes_on<F: SampleFamily>() {
    let table = table::<F>(10, leases(10, 4));
    assert_eq!(reclaimed(&table, 4), 0);
    // The cycle began at second 4.
    assert_eq!(reclaimed(&table, 5), 4);
    for seconds in 6..14 {
        assert_eq!(reclaimed(&table, seconds), 0, "second {seconds}");
        assert!(!table.is_sweep_due(later(seconds), 0), "nobody looks again and again");
    }
    assert_eq!(reclaimed(&table, 14), 4);
    assert_eq!(reclaimed(&table, 23), 0);
    assert!(table.is_sweep_due(later(24), 0));
    assert_eq!(reclaimed(&table, 24), 2);
    assert_eq!(table.usage().leased, 0);
    audit(&table, &Default::default());
}

fn a_cycle_ends_when_its_time_is_spent<F: SampleFamily>() {
    let limits = ReclaimLimits { cycle_s: 10, time_ms: 3, ..ReclaimLimits::default() };
    let table = table::<F>(10, limits);
    let reclaimed = |seconds| {
        let mut count = 0;
        for _ in 0..20 {
            let swept = table.sweep(later(seconds), 0, 1);
            table.spend_reclaim_time(u64::from(swept.reclaimed()) * 1_000_000);
            count += swept.reclaimed();
        }
        count
    };
    assert_eq!(reclaimed(5), 3);
    assert_eq!(reclaimed(14), 0);
    assert_eq!(reclaimed(15), 3);
    table.set_reclaim_limits(ReclaimLimits::default());
    assert_eq!(reclaimed(16), 4, "no limits, as far as the leases go");
}

fn warnings_come_after_so_many_short_cycles_in_a_row<F: SampleFamily>() {
    let table = table::<F>(10, ReclaimLimits { unwarned_cycles: 2, ..leases(10, 2) });
    let mut warnings = Vec::new();
    for cycle in 0..8 {
        reclaimed(&table, 5 + cycle * 10);
        warnings.push(table.take_reclaim_warnings().0);
    }
    // Four cycles leave leases over; the warning comes when the third of them has ended.
    assert_eq!(warnings, [0, 0, 0, 1, 0, 0, 0, 0]);
    let silent = self::table::<F>(10, leases(10, 1));
    for cycle in 0..8 {
        reclaimed(&silent, 5 + cycle * 10);
        assert_eq!(silent.take_reclaim_warnings(), (0, 0), "0 is never");
    }
}

fn what_is_set_aside_is_flushed_renewed_and_taken_as_ever<F: SampleFamily>() {
    let table = table::<F>(10, leases(100, 2));
    table.set_expiry(Expiry { hold_reclaimed_s: 30, ..Expiry::default() });
    let pools = table.pools();
    assert_eq!(reclaimed(&table, 5), 2);
    let ended: Vec<u32> = (FIRST..FIRST + 10)
        .filter(|&address| {
            let slot = slot(&table, &pools, later(6), address).unwrap();
            slot.occupancy == SlotOccupancy::Leased
        })
        .collect();
    assert_eq!(ended.len(), 8);
    // Reclaimed leases are flushed although the cycle may reclaim no more.
    let swept = table.sweep(later(40), 0, 100);
    assert_eq!((swept.flushed, swept.reclaimed()), (2, 0));
    // One is renewed, and its new end counts.
    let view = slot(&table, &pools, later(41), ended[0]).unwrap();
    commit(&table, later(41), ended[0], &view, lease_for::<F>(500)).unwrap();
    audit(&table, &Default::default());
    // A sweep with `forced` reclaims them.
    let sweep = Sweep { settled_epoch: 0, row_epoch: 0, budget: 3, forced: Some(false) };
    assert_eq!(table.sweep_logged(later(42), &sweep, &mut |_| {}).leases, 3);
    assert_eq!(reclaimed(&table, 105), 2);
    assert_eq!(reclaimed(&table, 205), 2);
    assert_eq!(reclaimed(&table, 540), 0);
    assert_eq!(reclaimed(&table, 541), 1);
    audit(&table, &Default::default());
}

/// Checks the budget of a reclaim: the lock that rows are kept under is held for a call.
fn a_reclaim_looks_at_no_more_slots_than_its_budget<F: SampleFamily>() {
    const COUNT: u32 = 1_000;
    for (budget, is_removing) in [(1, false), (7, true), (64, false), (1 << 20, true)] {
        let table = LeaseTable::<F>::new(1);
        // Some have slots apart.
        let pools = table.configure(&[F::pool(FIRST, FIRST + COUNT - 1)], &[]);
        for number in (FIRST..FIRST + COUNT).chain([FIRST + 50_000]) {
            table.load(F::lease(&SampleLease {
                address: number,
                client: number,
                valid_lifetime_s: 5_000,
                cltt_s: START.wall_s(),
                subnet_id: 1,
                pool_id: 0,
                hostname: "",
                state: LeaseState::Assigned,
                user_context: "",
            }));
        }
        for number in [FIRST, FIRST + 255, FIRST + 400, FIRST + COUNT - 1, FIRST + 50_000] {
            let leased = slot(&table, &pools, START, number).unwrap();
            commit(&table, START, number, &leased, Action::Release).unwrap();
        }
        while table.sweep(later(1), 0, 64).is_more_due {}
        // The second time goes through the whole table again, and finds nothing.
        for expected in [5, 0] {
            let sweep = Sweep { settled_epoch: 0, row_epoch: 0, budget, forced: Some(is_removing) };
            let (mut released, mut calls) = (0, 0);
            loop {
                let swept = table.sweep_logged(later(2), &sweep, &mut |_| {});
                calls += 1;
                released += swept.released;
                assert!(swept.released <= budget);
                if !swept.is_more_due {
                    break;
                }
            }
            assert_eq!(released, expected, "budget {budget}");
            assert!(calls > COUNT / budget, "{calls} calls of {budget} slots each");
        }
        audit(&table, &Default::default());
    }
}
