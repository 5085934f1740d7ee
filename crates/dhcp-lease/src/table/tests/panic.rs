//! Tests that a panic while a part of the table is changed is seen afterwards, also where panics
//! are caught.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::LeaseTable;
use super::{CommitEpochs, START, candidate, change, for_both_families, lease_for};
use crate::sample::SampleFamily;

for_both_families! {
    a_table_in_which_a_change_panicked_is_not_sound,
}

fn a_table_in_which_a_change_panicked_is_not_sound<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(3);
    let pools = table.configure(&[F::pool(0x0a00_0000, 0x0a00_00ff)], &[]);
    let free = candidate(&table, &pools, START, 1).unwrap();
    let lease = [change(1, &free, lease_for::<F>(600))];
    assert!(table.is_sound());
    let epochs = CommitEpochs { row_epoch: 1, settled_epoch: 0 };
    let change = || table.apply(START, &lease, epochs, &mut |_| panic!("a mistake"));
    assert!(catch_unwind(AssertUnwindSafe(change)).is_err());
    assert!(!table.is_sound());
}
