//! Benchmark of one fetch and one commit in nanoseconds, by size of the pool and number of threads:
//! `cargo run --release -p dhcp-lease --example fetch_commit [THREADS [CLIENTS]]`. Counts the time
//! that the threads had a processor (Linux), so that other work on the machine disturbs little.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use base::{Now, Random};
use dhcp_lease::v4::{
    Action, Allocator, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, LeaseStore, LeaseTable,
    LeaseTerms, MemoryStore, PoolIndex, PoolSet, PoolSpec,
};
use dhcp_lease::{HardwareAddress, Identity};

const START: Now = Now { mono_ns: 1_000_000_000, wall_us: 1_700_000_000_000_000 };
const FIRST: u32 = 0x0a00_0000;
const TERMS: LeaseTerms<'static> = LeaseTerms {
    valid_lifetime_s: 3_600,
    subnet_id: 1,
    pool_id: 0,
    fqdn_fwd: false,
    fqdn_rev: false,
    hostname: "",
    user_context: "",
    extra: (),
};

struct FetchCommitShard<'p> {
    store: MemoryStore,
    pools: &'p PoolSet,
    facts: Facts,
    now: Now,
}

impl FetchCommitShard<'_> {
    fn fetch(&mut self, identity: &Identity<'_>, candidate_pools: &[PoolIndex]) {
        let keys = FetchKeys {
            identity: *identity,
            addresses: [None; FETCHED_ADDRESSES_MAX],
            pools: self.pools,
            candidate_pools,
            is_candidate_spare: false,
        };
        self.store.fetch(self.now, &keys, &mut self.facts);
    }

    fn discover(&mut self, identity: &Identity<'_>) {
        self.fetch(identity, &[PoolIndex(0)]);
        let slot = self.facts.candidate.expect("the pool is large enough");
        let hold = Action::Hold { deadline_ns: self.now.mono_ns + 10_000_000_000, subnet_id: 1 };
        let (address, expected_version) = (slot.address, slot.version);
        let change = Change { identity: *identity, address, expected_version, action: hold };
        let _ = black_box(self.store.commit(self.now, &[change]));
    }

    fn request(&mut self, identity: &Identity<'_>) {
        self.fetch(identity, &[]);
        let slot = self.facts.client_slots().next().copied().expect("the client has an address");
        let change = Change {
            identity: *identity,
            address: slot.address,
            expected_version: slot.version,
            action: Action::Lease(TERMS),
        };
        let _ = black_box(self.store.commit(self.now, &[change]));
    }
}

fn identity(number: u32, client_id: &mut [u8; 7]) -> Identity<'_> {
    client_id[3..].copy_from_slice(&number.to_be_bytes());
    Identity {
        hardware: HardwareAddress::new(1, &client_id[1..]),
        client_id: Some(client_id),
        match_client_id: true,
        hardware_only_subnets: &[],
    }
}

/// Returns the nanoseconds that this thread has had a processor.
fn processor_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

/// Runs `work` for each number of each thread's share; returns the nanoseconds for one number on
/// one thread.
fn timed(
    threads: u32,
    count: u32,
    table: &Arc<LeaseTable>,
    pools: &PoolSet,
    work: impl Fn(&mut FetchCommitShard<'_>, u32) + Sync,
) -> f64 {
    let share = count / threads;
    let sum_ns = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (work, sum_ns) = (&work, &sum_ns);
            scope.spawn(move || {
                let store = MemoryStore::new(Arc::clone(table));
                let mut shard =
                    FetchCommitShard { store, pools, facts: Facts::default(), now: START };
                let started_ns = processor_ns();
                for number in thread * share..(thread + 1) * share {
                    work(&mut shard, number);
                    if number % 64 == 0 {
                        shard.now = shard.now.after_ns(20_000);
                        shard.store.submit(shard.now);
                        shard.store.sweep(shard.now, 128);
                    }
                }
                sum_ns.fetch_add(processor_ns() - started_ns, Ordering::Relaxed);
            });
        }
    });
    sum_ns.load(Ordering::Relaxed) as f64 / f64::from(share * threads)
}

fn measure(clients: u32, threads: u32) {
    let table = Arc::new(LeaseTable::new(7));
    let spec = PoolSpec {
        subnet_id: 1,
        pool_id: 0,
        allocator: Allocator::Iterative,
        first: FIRST.into(),
        last: (FIRST + clients - 1).into(),
    };
    let started = Instant::now();
    let pools = table.configure(&[spec], &[]);
    let configured_ms = started.elapsed().as_secs_f64() * 1e3;
    let discover = timed(threads, clients, &table, &pools, |shard, number| {
        shard.discover(&identity(number, &mut [0; 7]));
    });
    let request = timed(threads, clients, &table, &pools, |shard, number| {
        shard.request(&identity(number, &mut [0; 7]));
    });
    let renew = timed(threads, clients, &table, &pools, |shard, number| {
        let seed = u64::from(number);
        let number = Random::from_seed(seed).below(u64::from(clients)) as u32;
        shard.request(&identity(number, &mut [0; 7]));
    });
    println!(
        "{clients:>9} clients, {threads} threads: configure {configured_ms:.1} ms, discover \
         {discover:.0} ns, request {request:.0} ns, renewal in random order {renew:.0} ns"
    );
}

fn main() {
    let argument = |at| std::env::args().nth(at).and_then(|count| count.parse().ok());
    let threads = argument(1).unwrap_or(1);
    let sizes =
        argument(2).map_or_else(|| vec![1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22], |n| vec![n]);
    for clients in sizes {
        measure(clients, threads);
    }
}
