//! Tests of holds over many stripes and pools.

use base::Random;

use super::super::LeaseTable;
use super::audit::audit;
use super::{SECOND_NS, START, candidate, commit, for_both_families, slot};
use crate::contract::{Action, SlotOccupancy};
use crate::sample::SampleFamily;

for_both_families! {
    the_oldest_hold_is_broken_first_among_thousands,
    holds_that_come_in_out_of_order_end_in_order,
}

fn the_oldest_hold_is_broken_first_among_thousands<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(3);
    let (first, last) = (0x0a00_0000, 0x0a00_07ff);
    let pools = table.configure(&[F::pool(first, last)], &[]);
    let mut random = Random::from_seed(11);
    let mut order: Vec<u32> = (first..=last).collect();
    random.shuffle(&mut order);
    let mut now = START;
    for &address in &order {
        now = now.after_ns(1_000);
        let free = slot(&table, &pools, now, address).unwrap();
        let hold = Action::Hold { deadline_ns: now.mono_ns + 10 * SECOND_NS, subnet_id: 1 };
        commit(&table, now, address, &free, hold).unwrap();
    }
    for (client, &address) in order.iter().enumerate() {
        now = now.after_ns(1_000);
        let oldest = candidate(&table, &pools, now, client as u32).unwrap();
        assert_eq!(F::number(oldest.address), address);
        assert_eq!(oldest.occupancy, SlotOccupancy::Held);
        let hold = Action::Hold { deadline_ns: now.mono_ns + 10 * SECOND_NS, subnet_id: 1 };
        commit(&table, now, client as u32, &oldest, hold).unwrap();
    }
    audit(&table, &Default::default());
}

fn holds_that_come_in_out_of_order_end_in_order<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(3);
    // One stripe: every 256th address.
    let pools = table.configure(&[F::pool(0x0a00_0000, 0x0a00_3fff)], &[]);
    let mut deadlines: Vec<u64> = (1..=40).collect();
    let mut random = Random::from_seed(12);
    for swap in deadlines.chunks_mut(8) {
        random.shuffle(swap);
    }
    for (at, &deadline_s) in deadlines.iter().enumerate() {
        let address = 0x0a00_0000 + 256 * at as u32;
        let free = slot(&table, &pools, START, address).unwrap();
        let hold =
            Action::Hold { deadline_ns: START.mono_ns + deadline_s * SECOND_NS, subnet_id: 1 };
        commit(&table, START, at as u32, &free, hold).unwrap();
    }
    audit(&table, &Default::default());
    for passed in 1..=40 {
        let swept = table.sweep(START.after_ns(passed * SECOND_NS), 0, 100);
        assert_eq!((swept.holds, swept.is_more_due), (1, false), "after {passed} s");
    }
}
