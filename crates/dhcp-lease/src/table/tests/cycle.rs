//! How much sweeps reclaim in a cycle, and what becomes of what is over.

use base::Now;

use super::super::LeaseTable;
use super::audit::audit;
use super::{SECOND_NS, START, commit, for_both_families, lease_for, slot};
use crate::contract::Occupancy;
use crate::sample::Sample;
use crate::table::cycle::ReclaimLimits;
use crate::table::expiry::Expiry;
use crate::table::sweep::Sweep;

for_both_families! {
    a_cycle_reclaims_so_many_leases_and_the_next_one_goes_on,
    a_cycle_ends_when_its_time_is_spent,
    warnings_come_after_so_many_short_cycles_in_a_row,
    what_is_set_aside_is_flushed_renewed_and_taken_as_ever,
}

const FIRST: u32 = 0x0a00_0000;

fn later(seconds: u64) -> Now {
    START.after_ns(seconds * SECOND_NS)
}

/// A table with `count` leases that end after 5 seconds.
fn table<F: Sample>(count: u32, limits: ReclaimLimits) -> LeaseTable<F> {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[F::pool(FIRST, FIRST + 999)], &[]);
    table.set_reclaim_limits(limits);
    for address in FIRST..FIRST + count {
        let free = slot(&table, &pools, START, address).unwrap();
        commit(&table, START, address, &free, lease_for::<F>(5)).unwrap();
    }
    table
}

/// What the daemon's sweeps reclaim by `seconds`, until none has more to do.
fn reclaimed<F: Sample>(table: &LeaseTable<F>, seconds: u64) -> u32 {
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

fn a_cycle_reclaims_so_many_leases_and_the_next_one_goes_on<F: Sample>() {
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

fn a_cycle_ends_when_its_time_is_spent<F: Sample>() {
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

fn warnings_come_after_so_many_short_cycles_in_a_row<F: Sample>() {
    let table = table::<F>(10, ReclaimLimits { unwarned_cycles: 2, ..leases(10, 2) });
    let mut told = Vec::new();
    for cycle in 0..8 {
        reclaimed(&table, 5 + cycle * 10);
        told.push(table.take_reclaim_warnings().0);
    }
    // Four cycles leave something over; the third of them is told of when it has ended.
    assert_eq!(told, [0, 0, 0, 1, 0, 0, 0, 0]);
    let silent = self::table::<F>(10, leases(10, 1));
    for cycle in 0..8 {
        reclaimed(&silent, 5 + cycle * 10);
        assert_eq!(silent.take_reclaim_warnings(), (0, 0), "0 is never");
    }
}

fn what_is_set_aside_is_flushed_renewed_and_taken_as_ever<F: Sample>() {
    let table = table::<F>(10, leases(100, 2));
    table.set_expiry(Expiry { hold_reclaimed_s: 30, ..Expiry::default() });
    let pools = table.pools();
    assert_eq!(reclaimed(&table, 5), 2);
    let ended: Vec<u32> = (FIRST..FIRST + 10)
        .filter(|&address| {
            let slot = slot(&table, &pools, later(6), address).unwrap();
            slot.occupancy == Occupancy::Leased
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
    // Who is told to reclaim does.
    let sweep = Sweep { settled_epoch: 0, row_epoch: 0, budget: 3, forced: Some(false) };
    assert_eq!(table.sweep_logged(later(42), &sweep, &mut |_| {}).leases, 3);
    assert_eq!(reclaimed(&table, 105), 2);
    assert_eq!(reclaimed(&table, 205), 2);
    assert_eq!(reclaimed(&table, 540), 0);
    assert_eq!(reclaimed(&table, 541), 1);
    audit(&table, &Default::default());
}
