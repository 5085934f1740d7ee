//! Tests of pools that are added, removed and changed while leases continue.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeSet;

use base::Random;

use super::super::LeaseTable;
use super::audit::audit;
use super::{START, candidate, commit, for_both_families, lease_for, slot};
use crate::contract::{Action, SlotOccupancy};
use crate::lease::LeaseState;
use crate::sample::{SampleFamily, SampleLease};

for_both_families! {
    what_is_freed_under_one_set_serves_the_other,
    leases_outlive_their_pool_and_are_taken_when_a_pool_comes_to_them,
    large_pools_cost_little_until_they_are_used,
    pools_change_while_others_allocate,
}

const FIRST: u32 = 0x0a00_0000;

fn what_is_freed_under_one_set_serves_the_other<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let old = table.configure(&[F::pool(FIRST, FIRST)], &[]);
    let free = candidate(&table, &old, START, 1).unwrap();
    commit(&table, START, 1, &free, lease_for::<F>(100)).unwrap();
    let new = table.configure(&[F::pool(FIRST, FIRST + 1)], &[]);
    let leased = slot(&table, &new, START, FIRST).unwrap();
    commit(&table, START, 1, &leased, Action::Release).unwrap();
    let for_old = candidate(&table, &old, START, 2).unwrap();
    assert_eq!(for_old.occupancy, SlotOccupancy::Free);
    let for_new = candidate(&table, &new, START, 2).unwrap();
    assert_eq!(F::number(for_new.address), FIRST + 1);
    table.release_claim(for_old.address);
    assert!(candidate(&table, &new, START, 2).is_some());
}

fn leases_outlive_their_pool_and_are_taken_when_a_pool_comes_to_them<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let none = table.configure(&[F::pool(FIRST + 512, FIRST + 512)], &[]);
    for address in [FIRST + 1, FIRST + 520] {
        table.load(F::lease(&SampleLease {
            address,
            client: 1,
            valid_lifetime_s: 100,
            cltt_s: START.wall_s(),
            subnet_id: 1,
            pool_id: 0,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: "",
        }));
    }
    let pools =
        table.configure(&[F::pool(FIRST, FIRST + 2), F::pool(FIRST + 518, FIRST + 522)], &[]);
    audit(&table, &BTreeSet::new());
    let addresses: Vec<_> =
        (0..2).map(|_| F::number(candidate(&table, &pools, START, 2).unwrap().address)).collect();
    assert_eq!(addresses, [FIRST, FIRST + 2]);
    assert_eq!(candidate(&table, &pools, START, 2), None);
    let leased = slot(&table, &none, START, FIRST + 1).unwrap();
    commit(&table, START, 1, &leased, Action::Release).unwrap();
    let freed = candidate(&table, &pools, START, 2).unwrap();
    assert_eq!(F::number(freed.address), FIRST + 1);
}

fn large_pools_cost_little_until_they_are_used<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let info = allocation_counter::measure(|| {
        table.configure(
            &[F::pool(0x0a00_0000, 0x0aff_ffff), F::pool(0x0b00_0000, 0x0bff_ffff)],
            &[],
        );
    });
    assert!(info.bytes_max < 80 << 20, "{} bytes for two /8", info.bytes_max);
    let pools = table.pools();
    let used = allocation_counter::measure(|| {
        let mut random = Random::from_seed(1);
        for who in 0..256 {
            let address = 0x0a00_0000 + random.below(1 << 25) as u32;
            let free = slot(&table, &pools, START, address).unwrap();
            commit(&table, START, who, &free, lease_for::<F>(100)).unwrap();
        }
    });
    assert!(used.bytes_max < 2 << 20, "{} bytes for 256 leases", used.bytes_max);
}

fn pools_change_while_others_allocate<F: SampleFamily>() {
    for seed in 0..20 {
        let table = LeaseTable::<F>::new(seed);
        let sizes = [40, 300, 700, 1_000];
        table.configure(&[F::pool(FIRST + 20, FIRST + 39)], &[]);
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (table, is_done) = (&table, &is_done);
                scope.spawn(move || {
                    let mut random = Random::from_seed(seed * 8 + thread);
                    let mut mine = Vec::new();
                    let mut who = thread as u32 + 10;
                    while !is_done.load(Ordering::Relaxed) || mine.len() < 5 {
                        let pools = table.pools();
                        if random.chance(2, 3) {
                            let Some(free) = candidate(table, &pools, START, who) else {
                                // The other thread may have all free addresses.
                                if is_done.load(Ordering::Relaxed) {
                                    break;
                                }
                                continue;
                            };
                            who += 2;
                            if commit(table, START, who, &free, lease_for::<F>(100)).is_ok() {
                                mine.push((who, F::number(free.address)));
                            }
                        } else if let Some((who, address)) = mine.pop() {
                            let leased = slot(table, &pools, START, address).unwrap();
                            commit(table, START, who, &leased, Action::Release).unwrap();
                        }
                    }
                });
            }
            let mut random = Random::from_seed(seed + 1_000);
            for _ in 0..60 {
                let last = FIRST + *random.pick(&sizes).unwrap() - 1;
                let first = FIRST + random.below(40) as u32;
                table.configure(&[F::pool(first.min(last), last)], &[]);
            }
            table.configure(&[F::pool(FIRST, FIRST + 999)], &[]);
            is_done.store(true, Ordering::Relaxed);
        });
        audit(&table, &BTreeSet::new());
    }
}
