//! Tests of the order in which addresses are leased.

use std::collections::BTreeSet;

use base::Random;

use super::super::LeaseTable;
use super::super::order::steps;
use super::audit::audit;
use super::{START, candidate, commit, for_both_families, lease_for, slot};
use crate::Allocator;
use crate::contract::Action;
use crate::pool::{PoolSet, PoolSpec};
use crate::sample::SampleFamily;

for_both_families! {
    a_random_order_gives_every_address_once_and_differs_from_pass_to_pass,
    a_queue_gives_what_has_been_free_longest,
    a_queue_is_filled_in_a_random_order,
    a_queue_outlives_a_configuration_and_begins_with_what_is_free,
    a_claim_takes_few_steps_at_any_fill,
    an_order_goes_on_elsewhere_when_another_server_is_in_the_way,
    servers_that_are_in_each_others_way_part,
}

const FIRST: u32 = 0x0a00_0030;

fn pool<F: SampleFamily>(count: u32, allocator: Allocator) -> PoolSpec<F> {
    PoolSpec { allocator, ..F::pool(FIRST, FIRST + count - 1) }
}

/// Leases the next address to `who` and returns its number.
fn give<F: SampleFamily>(table: &LeaseTable<F>, pools: &PoolSet<F>, who: u32) -> u32 {
    let free = candidate(table, pools, START, who).expect("the pool has a free address");
    commit(table, START, who, &free, lease_for::<F>(100)).expect("it was claimed");
    F::number(free.address)
}

fn release<F: SampleFamily>(table: &LeaseTable<F>, pools: &PoolSet<F>, who: u32, number: u32) {
    let leased = slot(table, pools, START, number).expect("a pooled address has a slot");
    commit(table, START, who, &leased, Action::Release).expect("it is the client's");
}

fn a_random_order_gives_every_address_once_and_differs_from_pass_to_pass<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[pool::<F>(1_000, Allocator::Random)], &[]);
    let pass = || {
        let claims = (0..1_000).map(|who| {
            let claimed = candidate(&table, &pools, START, who).unwrap();
            table.release_claim(claimed.address);
            F::number(claimed.address)
        });
        claims.collect::<Vec<_>>()
    };
    let (first, second) = (pass(), pass());
    for pass in [&first, &second] {
        assert_eq!(pass.iter().collect::<BTreeSet<_>>().len(), 1_000, "none twice in a pass");
        let neighbors = pass.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(neighbors < 20, "{neighbors} in order");
    }
    assert_ne!(first, second);
    let leased: BTreeSet<u32> = (0..1_000).map(|who| give(&table, &pools, who)).collect();
    assert_eq!(leased.len(), 1_000, "a pool that fills up is used up");
    assert_eq!(candidate(&table, &pools, START, 1_000), None);
    audit(&table, &BTreeSet::new());
}

fn a_queue_gives_what_has_been_free_longest<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[pool::<F>(40, Allocator::FreeLeaseQueue)], &[]);
    let order: Vec<u32> = (0..40).map(|who| give(&table, &pools, who)).collect();
    let who = |number| order.iter().position(|&other| other == number).unwrap() as u32;
    for at in [17, 3, 30, 4] {
        release(&table, &pools, who(FIRST + at), FIRST + at);
    }
    // One is taken on request and becomes the youngest.
    let requested = slot(&table, &pools, START, FIRST + 3).unwrap();
    commit(&table, START, 50, &requested, lease_for::<F>(100)).unwrap();
    release(&table, &pools, 50, FIRST + 3);
    // One is claimed and not used: it stays the oldest.
    let unused = candidate(&table, &pools, START, 51).unwrap();
    table.release_claim(unused.address);
    let leased: Vec<u32> = (60..64).map(|who| give(&table, &pools, who) - FIRST).collect();
    assert_eq!(leased, [17, 30, 4, 3]);
    audit(&table, &BTreeSet::new());
}

/// Checks that a queue is filled by a random permutation, as in Kea: addresses cannot be guessed.
fn a_queue_is_filled_in_a_random_order<F: SampleFamily>() {
    let leased = |seed, count: u32| -> Vec<u32> {
        let table = LeaseTable::<F>::new(seed);
        let pools = table.configure(&[pool::<F>(count, Allocator::FreeLeaseQueue)], &[]);
        let leased = (0..count).map(|who| give(&table, &pools, who)).collect();
        assert_eq!(candidate(&table, &pools, START, count), None);
        leased
    };
    // The second is larger than the part that is opened at once where pools grow.
    for count in [1_000, 5_000] {
        let (first, second) = (leased(1, count), leased(2, count));
        assert_ne!(first, second);
        for leased in [&first, &second] {
            let all: BTreeSet<u32> = leased.iter().copied().collect();
            assert!(all.iter().copied().eq(FIRST..FIRST + count), "each once");
            let neighbors = leased.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
            assert!(neighbors < count as usize / 50, "{neighbors} of {count} in order");
        }
    }
    assert_eq!(leased(1, 1), [FIRST]);
}

fn a_queue_outlives_a_configuration_and_begins_with_what_is_free<F: SampleFamily>() {
    let table = LeaseTable::<F>::new(1);
    let iterative = pool::<F>(10, Allocator::Iterative);
    let pools = table.configure(&[iterative], &[]);
    for who in 0..4 {
        give(&table, &pools, who);
    }
    let queued = pool::<F>(10, Allocator::FreeLeaseQueue);
    let pools = table.configure(&[queued], &[F::address(FIRST + 5)]);
    release(&table, &pools, 2, FIRST + 2);
    let other = F::pool(FIRST + 100, FIRST + 101);
    let pools = table.configure(&[other, queued], &[F::address(FIRST + 7)]);
    let mut leased = Vec::new();
    for who in 10..16 {
        let mut facts = crate::contract::Facts::default();
        let keys = crate::contract::FetchKeys {
            identity: F::borrow(F::client(who)),
            addresses: [None; crate::FETCHED_ADDRESSES_MAX],
            pools: &*pools,
            candidate_pools: &[crate::PoolIndex(1)],
            is_candidate_spare: false,
        };
        table.fetch(START, 0, &keys, &mut facts);
        leased.push(F::number(facts.candidate.unwrap().address) - FIRST);
    }
    leased.sort_unstable();
    assert_eq!(leased, [2, 4, 5, 6, 8, 9]);
}

/// Returns the most steps that a claim takes in a pool with `leased_count` of `count` addresses
/// leased.
fn steps_at<F: SampleFamily>(allocator: Allocator, leased_count: u32, count: u32) -> u64 {
    let table = LeaseTable::<F>::new(3);
    let pools = table.configure(&[pool::<F>(count, allocator)], &[]);
    let mut random = Random::from_seed(u64::from(leased_count));
    let mut numbers: Vec<u32> = (FIRST..FIRST + count).collect();
    random.shuffle(&mut numbers);
    for (who, &number) in (0..leased_count).zip(&numbers) {
        let free = slot(&table, &pools, START, number).unwrap();
        commit(&table, START, who, &free, lease_for::<F>(100)).unwrap();
    }
    let claims = (0..200).map(|who| {
        steps::take();
        if let Some(claimed) = candidate(&table, &pools, START, who) {
            let steps = steps::take();
            table.release_claim(claimed.address);
            return steps;
        }
        steps::take()
    });
    claims.max().unwrap_or(0)
}

/// Maximum number of steps of a search from the end to the beginning, twice: it passes five levels
/// up and down each time.
const SEARCH_STEPS: u64 = 2 * 10;

fn a_claim_takes_few_steps_at_any_fill<F: SampleFamily>() {
    const COUNT: u32 = 1 << 14;
    for leased_count in [0, COUNT / 2, COUNT * 9 / 10, COUNT - 40, COUNT - 1, COUNT] {
        for (allocator, most) in [
            (Allocator::Iterative, SEARCH_STEPS),
            // Eight tries, each of a few turns.
            (Allocator::Random, SEARCH_STEPS + 8 * 8),
            (Allocator::FreeLeaseQueue, SEARCH_STEPS + 8),
        ] {
            // An exhausted pool is searched again after a small sweep.
            let steps = steps_at::<F>(allocator, leased_count, COUNT);
            assert!(steps <= 2 * most, "{allocator:?}: {steps} steps with {leased_count} taken");
        }
    }
}

fn an_order_goes_on_elsewhere_when_another_server_is_in_the_way<F: SampleFamily>() {
    const COUNT: u32 = 50_000;
    let table = LeaseTable::<F>::new(1);
    let pools = table.configure(&[pool::<F>(COUNT, Allocator::Iterative)], &[]);
    let mut leased: Vec<u32> = (0..20).map(|who| give(&table, &pools, who) - FIRST).collect();
    assert_eq!(leased, (0..20).collect::<Vec<_>>());
    table.leave_occupied_range(F::address(FIRST + 12));
    leased.extend((20..40).map(|who| give(&table, &pools, who) - FIRST));
    let new_start = leased[20];
    assert!(new_start > 1_000, "{new_start}");
    assert!(leased[20..].iter().copied().eq(new_start..new_start + 20), "{leased:?}");
    // Other addresses already offered, addresses of no pool, and addresses far ahead.
    for number in [FIRST + 13, FIRST + 19, FIRST - 1, FIRST + COUNT, FIRST + new_start + 2_000] {
        table.leave_occupied_range(F::address(number));
        leased.push(give(&table, &pools, leased.len() as u32) - FIRST);
    }
    assert!(leased[20..].iter().copied().eq(new_start..new_start + 25), "{leased:?}");
    leased.extend((45..COUNT).map(|who| give(&table, &pools, who) - FIRST));
    assert_eq!(leased.iter().collect::<BTreeSet<_>>().len() as u32, COUNT, "all, and none twice");
    assert_eq!(candidate(&table, &pools, START, COUNT), None);
    audit(&table, &BTreeSet::new());
}

fn servers_that_are_in_each_others_way_part<F: SampleFamily>() {
    let addresses = (1..=20).map(|seed| {
        let table = LeaseTable::<F>::new(seed);
        let pools = table.configure(&[pool::<F>(50_000, Allocator::Iterative)], &[]);
        let first = give(&table, &pools, 0);
        table.leave_occupied_range(F::address(first));
        give(&table, &pools, 1)
    });
    let mut addresses: Vec<u32> = addresses.collect();
    addresses.sort_unstable();
    let near = addresses.windows(2).filter(|pair| pair[1] - pair[0] < 20).count();
    assert!(near <= 1, "{addresses:?}");
    for allocator in [Allocator::Random, Allocator::FreeLeaseQueue] {
        let in_order = |parts: bool| {
            let table = LeaseTable::<F>::new(1);
            let pools = table.configure(&[pool::<F>(300, allocator)], &[]);
            let mut next = |who| {
                let leased = give(&table, &pools, who);
                if parts {
                    table.leave_occupied_range(F::address(leased));
                }
                leased
            };
            (0..100).map(&mut next).collect::<Vec<_>>()
        };
        assert_eq!(in_order(true), in_order(false), "{allocator:?}");
    }
}
