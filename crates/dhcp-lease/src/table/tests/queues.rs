//! Tests of queues of pools that open as they are used.

use std::collections::BTreeSet;

use super::super::fill::LOOKS;
use super::super::order::steps;
use super::audit::audit;
use super::slot_numbers::{candidate, huge, load, pool, resource};
use crate::Allocator;
use crate::v6::{LeaseTable, PoolSet, PoolSpec, ResourceKind};

fn queued(pool: PoolSpec) -> PoolSpec {
    PoolSpec { allocator: Allocator::FreeLeaseQueue, ..pool }
}

/// Maximum number of steps of a claim: it continues filling before it looks, under the lock and
/// after growth; a position comes up in two turns on average.
const STEPS_MAX: u64 = 3 * (2 * LOOKS + LOOKS / 2);

/// Returns the numbers of the next `count` addresses of the first pool, none of which comes twice
/// or takes long.
fn leased(table: &LeaseTable, pools: &PoolSet, count: usize) -> Vec<u128> {
    let first = pools.specs()[0].first.number();
    let mut leased = Vec::new();
    for who in 0..count {
        steps::take();
        let slot = candidate(table, pools, 0, who as u32).expect("the pool has more");
        let steps = steps::take();
        assert!(steps < STEPS_MAX, "{steps} steps for address {who}");
        leased.push(slot.address.number() - first);
    }
    assert_eq!(leased.iter().collect::<BTreeSet<_>>().len(), count, "none twice");
    leased
}

fn count_in_order(leased: &[u128]) -> usize {
    leased.windows(2).filter(|pair| pair[1] == pair[0] + 1).count()
}

fn assert_unordered(leased: &[u128]) {
    let in_order = count_in_order(leased);
    assert!(in_order < leased.len() / 50, "{in_order} of {} in order", leased.len());
}

#[test]
fn growth_puts_a_few_addresses_into_the_queue_at_each_claim() {
    let table = LeaseTable::new(3);
    let pools = table.configure(&[queued(huge())], &[]);
    const LOADED: u128 = 1 << 16;
    for offset in 0..LOADED {
        load(&table, resource(&huge(), offset), offset as u32);
    }
    let leased = leased(&table, &pools, LOADED as usize);
    assert_unordered(&leased);
    assert_eq!(leased.iter().min(), Some(&LOADED));
    assert_eq!(leased.iter().max(), Some(&(2 * LOADED - 1)), "all that was opened, and no more");
}

#[test]
fn what_a_loaded_lease_opens_comes_in_no_order() {
    for loaded in [5_000, 60_000, 200_000] {
        let table = LeaseTable::new(3);
        let pools = table.configure(&[queued(huge())], &[]);
        load(&table, resource(&huge(), loaded), 1);
        let opened = (loaded + 1).next_power_of_two();
        let leased = leased(&table, &pools, opened as usize - 1);
        assert_unordered(&leased);
        assert_unordered(&leased[leased.len() - 1_000..]);
        assert_eq!(leased.iter().max(), Some(&(opened - 1)));
        assert!(!leased.contains(&loaded));
        audit(&table, &leased.iter().map(|&offset| resource(&huge(), offset)).collect());
    }
}

#[test]
fn a_pool_of_several_stretches_is_given_in_no_order() {
    for allocator in [Allocator::FreeLeaseQueue, Allocator::Random] {
        let table = LeaseTable::new(3);
        let inner = pool(ResourceKind::Address, 128, 10_000, 10_999);
        table.configure(&[inner], &[]);
        let outer = PoolSpec { allocator, ..pool(ResourceKind::Address, 128, 0, 1 << 22) };
        let pools = table.configure(&[outer], &[]);
        let leased = leased(&table, &pools, 60_000);
        if allocator == Allocator::Random {
            // Before more is opened, the allocator searches for the last ones.
            let in_order = count_in_order(&leased);
            assert!(in_order < leased.len() / 10, "{in_order} of {} in order", leased.len());
            continue;
        }
        for part in leased.chunks(1_000) {
            assert_unordered(part);
        }
    }
}

#[test]
fn what_is_given_back_stays_the_first_while_the_queue_is_filled() {
    let table = LeaseTable::new(3);
    let pools = table.configure(&[queued(huge())], &[]);
    load(&table, resource(&huge(), 60_000), 1);
    for who in 0..100 {
        let slot = candidate(&table, &pools, 0, who).expect("it has more");
        table.release_claim(slot.address);
        let again = candidate(&table, &pools, 0, who).expect("it has more");
        assert_eq!(again.address, slot.address);
    }
}

#[test]
fn several_threads_fill_a_queue_and_give_nothing_twice() {
    let table = LeaseTable::new(3);
    let pools = table.configure(&[queued(huge())], &[]);
    load(&table, resource(&huge(), 9_000), 1);
    let leased = std::thread::scope(|scope| {
        let claim = |thread: u32| {
            let (table, pools) = (&table, &pools);
            let next = move |number| candidate(table, pools, 0, thread << 16 | number);
            scope.spawn(move || (0..10_000).map(next).collect::<Vec<_>>())
        };
        let threads: Vec<_> = (0..3).map(claim).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let leased: Vec<_> =
        leased.iter().map(|slot| slot.expect("the pool has more").address).collect();
    assert_eq!(leased.iter().collect::<BTreeSet<_>>().len(), 30_000, "none twice");
}
