//! Tests of the timer wheel: long terms, clocks that jump, sweeps that come late.

use base::{Now, Random};

use super::super::LeaseTable;
use super::audit::audit;
use super::{
    CommitEpochs, SECOND_NS, START, candidate_at, change, commit, for_both_families, lease_for,
    slot,
};
use crate::contract::{Action, SlotOccupancy};
use crate::lease::INFINITE_LIFETIME_S;
use crate::sample::SampleFamily;

for_both_families! {
    every_term_ends_in_its_second_over_many_turns,
    a_renewed_lease_is_moved_lazily_and_an_infinite_one_leaves,
    a_wall_clock_set_back_delays_no_lease_beyond_its_end,
    a_shard_with_an_older_clock_does_not_turn_the_wheel_back,
    what_was_released_does_not_wait_for_the_wheel,
    a_table_that_has_begun_looks_at_what_is_due_alone,
}

const FIRST: u32 = 0x0a00_0000;

fn later(now: Now, seconds: u64) -> Now {
    now.after_ns(seconds * SECOND_NS)
}

fn occupancy<F: SampleFamily>(table: &LeaseTable<F>, now: Now, address: u32) -> SlotOccupancy {
    slot(table, &table.pools(), now, address).unwrap().occupancy
}

fn every_term_ends_in_its_second_over_many_turns<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[F::pool(FIRST, FIRST + 4_095)], &[]);
    let mut random = Random::from_seed(5);
    let mut ends = Vec::new();
    for address in FIRST..FIRST + 4_096 {
        let lifetime_s = match random.below(4) {
            0 => 1 + random.below(10),
            1 => 4_090 + random.below(12),
            2 => 4_096 * (1 + random.below(4)),
            _ => 1 + random.below(20_000),
        };
        let free = slot(&table, &pools, START, address).unwrap();
        commit(&table, START, address, &free, lease_for::<F>(lifetime_s as u32)).unwrap();
        ends.push(lifetime_s);
    }
    ends.sort_unstable();
    let mut reclaimed = 0;
    for passed in 0..20_010 {
        // Now and then no sweep runs for a while.
        if passed % 997 < 3 {
            continue;
        }
        let swept = table.sweep(later(START, passed), 0, u32::MAX);
        reclaimed += swept.leases as usize;
        assert_eq!(reclaimed, ends.partition_point(|&end| end <= passed), "after {passed} s");
    }
    assert_eq!(reclaimed, ends.len());
    audit(&table, &Default::default());
}

fn a_renewed_lease_is_moved_lazily_and_an_infinite_one_leaves<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[F::pool(FIRST, FIRST + 2)], &[]);
    for (offset, terms) in [(0, [100, 100]), (1, [100, INFINITE_LIFETIME_S])] {
        for (turn, lifetime_s) in terms.into_iter().enumerate() {
            let now = later(START, 60 * turn as u64);
            let current = slot(&table, &pools, now, FIRST + offset).unwrap();
            commit(&table, now, 7, &current, lease_for::<F>(lifetime_s)).unwrap();
        }
    }
    assert_eq!(table.sweep(later(START, 159), 0, 100).leases, 0);
    assert_eq!(table.sweep(later(START, 160), 0, 100).leases, 1);
    let now = later(START, 1 << 33);
    assert_eq!(table.sweep(now, 0, 100).leases, 0);
    let current = slot(&table, &pools, now, FIRST + 1).unwrap();
    assert_eq!(current.occupancy, SlotOccupancy::Leased);
    commit(&table, now, 7, &current, lease_for::<F>(5)).unwrap();
    assert_eq!(table.sweep(later(now, 5), 0, 100).leases, 1);
}

fn a_wall_clock_set_back_delays_no_lease_beyond_its_end<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[F::pool(FIRST, FIRST)], &[]);
    // The clock was a year ahead at boot.
    let ahead = later(START, 365 * 86_400);
    table.sweep(ahead, 0, 100);
    let set_back = Now { wall_us: START.wall_us, ..later(ahead, 1) };
    table.sweep(set_back, 0, 100);
    let free = slot(&table, &pools, set_back, FIRST).unwrap();
    commit(&table, set_back, 7, &free, lease_for::<F>(60)).unwrap();
    table.sweep(later(set_back, 59), 0, 100);
    assert_eq!(occupancy(&table, set_back, FIRST), SlotOccupancy::Leased);
    table.sweep(later(set_back, 60), 0, 100);
    assert_eq!(occupancy(&table, set_back, FIRST), SlotOccupancy::Free);
}

fn a_shard_with_an_older_clock_does_not_turn_the_wheel_back<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[F::pool(FIRST, FIRST)], &[]);
    table.sweep(later(START, 10), 0, 100);
    // Ends before the second that the wheel has reached.
    let free = slot(&table, &pools, START, FIRST).unwrap();
    commit(&table, START, 7, &free, lease_for::<F>(5)).unwrap();
    for passed in [6, 10] {
        let swept = table.sweep(later(START, passed), 0, 100);
        assert_eq!((swept.leases, swept.is_more_due), (0, false));
    }
    assert_eq!(table.sweep(later(START, 11), 0, 100).leases, 1);
}

/// Returns a table all of whose addresses are leased for half a day.
fn full<F: SampleFamily>(begun: Option<Now>) -> LeaseTable<F> {
    let table = LeaseTable::<F>::new(1);
    if let Some(now) = begun {
        table.begin(now);
    }
    let pools = table.configure(&[F::pool(FIRST, FIRST + 8_191)], &[]);
    for address in FIRST..FIRST + 8_192 {
        let free = slot(&table, &pools, START, address).unwrap();
        commit(&table, START, address, &free, lease_for::<F>(43_200)).unwrap();
    }
    table
}

fn what_was_released_does_not_wait_for_the_wheel<F: SampleFamily>() {
    let table = full::<F>(None);
    let pools = table.pools();
    // The wheel has not been turned: the first sweep looks at every slot in it once.
    for (epoch, address) in (1..).zip([FIRST + 77, FIRST + 8_000, FIRST + 4_001]) {
        let leased = slot(&table, &pools, START, address).unwrap();
        let released = [change(address, &leased, Action::Release)];
        let unsettled = CommitEpochs { row_epoch: epoch, settled_epoch: epoch - 1 };
        table.apply(START, &released, unsettled, &mut |_| {}).unwrap();
        assert!(candidate_at(&table, &pools, START, epoch - 1, 9_999).is_none());
        let offered = candidate_at(&table, &pools, START, epoch, address).unwrap();
        assert_eq!(offered.address, F::address(address));
        let leased = [change(address, &offered, lease_for::<F>(43_200))];
        let settled = CommitEpochs { row_epoch: epoch, settled_epoch: epoch };
        table.apply(START, &leased, settled, &mut |_| {}).unwrap();
    }
}

fn a_table_that_has_begun_looks_at_what_is_due_alone<F: SampleFamily>() {
    assert!(full::<F>(None).is_sweep_due(START, 0));
    let table = full::<F>(Some(START));
    assert!(!table.is_sweep_due(START, 0));
    let swept = table.sweep(later(START, 10), 0, 1);
    assert!(!swept.is_more_due && swept.leases == 0, "{swept:?}");
    let swept = table.sweep(later(START, 43_200), 0, u32::MAX);
    assert_eq!(swept.leases, 8_192);
}
