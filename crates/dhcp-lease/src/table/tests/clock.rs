//! Tests of wall clocks that are set: no lease ends before its time has passed by the monotonic
//! clock.

use base::{Now, Random};

use super::super::LeaseTable;
use super::audit::audit;
use super::{CommitEpochs, SECOND_NS, START, change, commit, for_both_families, lease_for, slot};
use crate::contract::{CommitRefusal, SlotOccupancy};
use crate::sample::SampleFamily;

for_both_families! {
    a_step_forward_frees_no_lease_before_its_time,
    a_step_back_keeps_leases_for_their_time_and_no_longer,
    a_shard_with_a_reading_from_before_a_step_gives_times_from_after_it,
    leases_from_the_future_last_for_their_lifetime_from_the_start_on,
    leases_outlast_any_steps_and_end_at_last,
}

const FIRST: u32 = 0x0a00_0000;
const LIFETIME_S: u32 = 600;
const TEN_YEARS_S: i64 = 315_360_000;

fn later(now: Now, seconds: u64) -> Now {
    now.after_ns(seconds * SECOND_NS)
}

/// Returns the reading of clocks after the wall clock was set forward, or back.
fn stepped(now: Now, by_s: i64) -> Now {
    Now { wall_us: now.wall_us.strict_add_signed(by_s * 1_000_000), ..now }
}

/// Returns a table that follows the clocks, with one address.
fn one_address<F: SampleFamily>() -> LeaseTable<F> {
    let table = LeaseTable::<F>::new(1);
    table.configure(&[F::pool(FIRST, FIRST)], &[]);
    table.begin(START);
    table.follow_clock(START);
    table
}

fn lease<F: SampleFamily>(table: &LeaseTable<F>, now: Now, who: u32) {
    let free = slot(table, &table.pools(), now, FIRST).unwrap();
    commit(table, now, who, &free, lease_for::<F>(LIFETIME_S)).unwrap();
}

/// Returns true if another client can take the address, before and after a sweep.
fn is_free<F: SampleFamily>(table: &LeaseTable<F>, now: Now) -> bool {
    let is_available = || slot(table, &table.pools(), now, FIRST).unwrap().is_available(now);
    let before = is_available();
    table.sweep(now, 0, u32::MAX);
    assert_eq!(before, is_available());
    before
}

fn a_step_forward_frees_no_lease_before_its_time<F: SampleFamily>() {
    let table = one_address::<F>();
    lease(&table, START, 1);
    for (passed_s, is_over) in [(10, false), (300, false), (599, false), (602, true)] {
        let now = stepped(later(START, passed_s), TEN_YEARS_S);
        assert_eq!(is_free(&table, now), is_over, "after {passed_s} s");
    }
    let steps = table.take_clock_steps();
    assert_eq!(
        steps.iter().map(|step| (step.by_s, step.leases)).collect::<Vec<_>>(),
        [(TEN_YEARS_S, 1)]
    );
    assert_eq!(table.take_clock_steps(), []);
    audit(&table, &Default::default());
}

fn a_step_back_keeps_leases_for_their_time_and_no_longer<F: SampleFamily>() {
    let table = one_address::<F>();
    lease(&table, START, 1);
    for (passed_s, is_over) in [(10, false), (599, false), (602, true)] {
        let now = stepped(later(START, passed_s), -TEN_YEARS_S);
        assert_eq!(is_free(&table, now), is_over, "after {passed_s} s");
    }
    audit(&table, &Default::default());
}

fn a_shard_with_a_reading_from_before_a_step_gives_times_from_after_it<F: SampleFamily>() {
    let table = one_address::<F>();
    let before = later(START, 100);
    let after = stepped(before, TEN_YEARS_S);
    let free = slot(&table, &table.pools(), START, FIRST).unwrap();
    table.sweep(after, 0, 1);
    commit(&table, before, 1, &free, lease_for::<F>(LIFETIME_S)).unwrap();
    let view = slot(&table, &table.pools(), after, FIRST).unwrap();
    assert_eq!(view.cltt_s, after.wall_s());
    // One step, whatever the other shard has read.
    assert_eq!(table.take_clock_steps().len(), 1);
}

fn leases_from_the_future_last_for_their_lifetime_from_the_start_on<F: SampleFamily>() {
    let source = one_address::<F>();
    lease(&source, START, 1);
    let loaded = source.lease(slot(&source, &source.pools(), START, FIRST).unwrap().address);
    let table = LeaseTable::<F>::new(1);
    table.configure(&[F::pool(FIRST, FIRST)], &[]);
    // The clock of a machine without a battery, corrected a minute later.
    let start = stepped(later(START, 30), -TEN_YEARS_S);
    table.begin(start);
    table.load(loaded.unwrap());
    let change = table.follow_clock(start);
    assert_eq!((change.ahead_s as i64, change.leases), (TEN_YEARS_S - 30, 1));
    assert!(!is_free(&table, later(start, 59)));
    for (passed_s, is_over) in [(60, false), (599, false), (602, true)] {
        let now = stepped(later(start, passed_s), TEN_YEARS_S);
        assert_eq!(is_free(&table, now), is_over, "after {passed_s} s");
    }
    audit(&table, &Default::default());
}

fn leases_outlast_any_steps_and_end_at_last<F: SampleFamily>() {
    for seed in 0..50 {
        let mut random = Random::from_seed(seed);
        let table = one_address::<F>();
        let (mut mono, mut offset_s) = (START, 0);
        let mut held_until = None;
        let mut back_s = 0;
        for who in 0..200 {
            mono = later(mono, 1 + random.below(90));
            if random.chance(1, 4) {
                let by_s = random.below(100_000) as i64 - 50_000;
                offset_s += by_s;
                back_s += (-by_s).max(0);
            }
            let now = stepped(mono, offset_s);
            let is_free = is_free(&table, now);
            let is_over = held_until.is_none_or(|until| until <= now.mono_ns / SECOND_NS + 1);
            assert!(is_over || !is_free, "seed {seed}: freed too early");
            if is_free {
                lease(&table, now, who);
                held_until = Some(now.mono_ns / SECOND_NS + u64::from(LIFETIME_S));
            }
        }
        // Steps back may make it end late, by their size at most.
        let end = later(mono, u64::from(LIFETIME_S) + back_s as u64 + 2);
        assert!(is_free(&table, stepped(end, offset_s)), "seed {seed}: never freed");
        audit(&table, &Default::default());
    }
}

/// Checks that a fetch from before a step is not committed to a slot that the step has moved.
#[test]
fn a_transaction_that_a_step_interrupts_begins_again() {
    use crate::v4::V4;
    let table = one_address::<V4>();
    lease(&table, START, 1);
    let now = later(START, 10);
    let mine = slot(&table, &table.pools(), now, FIRST).unwrap();
    assert_eq!(mine.occupancy, SlotOccupancy::Leased);
    let after = stepped(now, 3_600);
    table.sweep(after, 0, 1);
    let renewal = change::<V4>(1, &mine, lease_for::<V4>(LIFETIME_S));
    let epochs = CommitEpochs { row_epoch: 1, settled_epoch: 0 };
    let refused = table.apply(after, &[renewal], epochs, &mut |_| {});
    assert_eq!(refused, Err(CommitRefusal::Stale));
}
