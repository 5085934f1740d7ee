//! Tests of blocks without pools that are reserved for the most part: they are added, removed, and
//! get pools.

use std::collections::{BTreeMap, BTreeSet};

use base::Random;

use super::super::LeaseTable;
use super::audit::audit;
use super::{START, candidate, commit, for_both_families, lease_for, slot};
use crate::contract::Action;
use crate::sample::SampleFamily;

for_both_families! {
    reserved_blocks_agree_with_a_model,
    slots_of_reserved_blocks_are_not_looked_for,
}

const FIRST: u32 = 0x0a00_0000;
const WINDOW: u32 = 1_600;

/// Returns a run of addresses of the window.
fn run(random: &mut Random, len_max: u64) -> std::ops::RangeInclusive<u32> {
    let first = FIRST + random.below(1_024) as u32;
    first..=first + random.below(len_max) as u32
}

fn reserved_blocks_agree_with_a_model<F: SampleFamily>() {
    for seed in 0..40 {
        let mut random = Random::from_seed(seed);
        let table = LeaseTable::<F>::new(seed);
        let (mut pooled, mut touched) = (BTreeSet::new(), BTreeSet::new());
        let mut leased = BTreeMap::new();
        for _ in 0..12 {
            let pool = random.chance(1, 3).then(|| run(&mut random, 300));
            pooled.extend(pool.clone().into_iter().flatten());
            let runs = (0..random.below(3)).map(|_| run(&mut random, 500)).collect::<Vec<_>>();
            let reserved: BTreeSet<u32> = runs.into_iter().flatten().collect();
            let addresses: Vec<_> = reserved.iter().rev().map(|&at| F::address(at)).collect();
            let specs: Vec<_> =
                pool.iter().map(|pool| F::pool(*pool.start(), *pool.end())).collect();
            let pools = table.configure(&specs, &addresses);
            for number in FIRST..FIRST + WINDOW {
                let is_leasable = pooled.contains(&number) || reserved.contains(&number);
                let expected = is_leasable || touched.contains(&number);
                let has_slot = slot(&table, &pools, START, number).is_some();
                assert_eq!(has_slot, expected, "seed {seed}, {number:#x}");
            }
            for _ in 0..80 {
                let number = FIRST + random.below(u64::from(WINDOW)) as u32;
                let Some(view) = slot(&table, &pools, START, number) else { continue };
                if let Some(who) = leased.remove(&number) {
                    commit(&table, START, who, &view, Action::Release).unwrap();
                } else {
                    commit(&table, START, number, &view, lease_for::<F>(100)).unwrap();
                    leased.insert(number, number);
                }
                touched.insert(number);
            }
            let free = specs.iter().flat_map(|_| 0..20);
            for number in free.filter_map(|_| candidate(&table, &pools, START, 1)) {
                let number = F::number(number.address);
                let is_nobodys = !reserved.contains(&number) && !leased.contains_key(&number);
                assert!(is_nobodys, "seed {seed}, {number:#x} is given");
                table.release_claim(F::address(number));
            }
            audit(&table, &BTreeSet::new());
            let listed = table.page(None, 5_000);
            let listed = listed.iter().map(F::sample).filter(|lease| lease.valid_lifetime_s > 0);
            let listed: Vec<u32> = listed.map(|lease| F::number(lease.address)).collect();
            assert_eq!(listed, leased.keys().copied().collect::<Vec<_>>(), "seed {seed}");
        }
    }
}

/// Checks that slots of reserved blocks have rows: a slot of a block without a row is looked up in
/// a table of its stripe.
fn slots_of_reserved_blocks_are_not_looked_for<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let reserved: Vec<_> = (FIRST..FIRST + 1_024).map(F::address).collect();
    let pools = table.configure(&[], &reserved);
    for number in FIRST..FIRST + 1_024 {
        let view = slot(&table, &pools, START, number).unwrap();
        commit(&table, START, number, &view, lease_for::<F>(100)).unwrap();
    }
    let sparse = (0..256).map(|stripe| table.lock(stripe).sparse().count()).sum::<usize>();
    assert_eq!(sparse, 0);
    assert_eq!(table.usage().leased, 1_024);
}
