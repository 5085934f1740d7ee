//! Steps of the wall clock while a server runs and while it does not: every acknowledged lease
//! lasts for its lifetime by the monotonic clock, also after the death of the process and a power
//! cut.
//!
//! The server does not promise this for leases of a server that ends within a second of a step
//! forward, before its file has the new times, and of one that starts after its clock was set too
//! far forward.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base::time::NS_PER_S;
use base::{Now, Random};
use dhcp_lease::contract::{Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, SlotView};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{
    Expiry, LeaseState, LeaseStore, LeaseTable, PoolIndex, PoolSet, SlotOccupancy, SlotOwner,
};
use dhcp_store::log::{CoreOptions, LogCore, ShardLog, SharedLogState};
use dhcp_store::memfile::rows_of_table;
use dhcp_store::storage::{DiskAfterCut, PowerCutStorage, StorageFaults};
use dhcp_store::{Memfile, MemfileStore, OpenOptions, RowDurability};

use crate::power_cut::case::SimulatedFamily;
use crate::power_cut::clients::pool;
use crate::power_cut::{cuts, from_environment};

const LEASE_FILE: &str = "/leases/leases.csv";
/// Name of the suite of `cargo xtask crash`.
const SUITE: &str = "clock-steps";
const LIVES: u64 = 3;
const CLIENTS: u64 = 40;
/// Tolerance, because times are kept in whole seconds.
const SLACK_NS: u64 = 2 * NS_PER_S;
const YEAR_S: u64 = 31_536_000;

/// Clocks of a machine.
#[derive(Clone, Copy)]
struct Clocks {
    mono_ns: u64,
    /// Wall clock minus monotonic clock, seconds.
    difference_s: i64,
}

impl Clocks {
    fn now(self) -> Now {
        let wall_us = (self.mono_ns / 1_000).strict_add_signed(self.difference_s * 1_000_000);
        Now { mono_ns: self.mono_ns, wall_us }
    }

    /// Sets the wall clock.
    fn step(&mut self, random: &mut Random, may_be_forward: bool) {
        let by_s = match random.below(3) {
            0 => 1 + random.below(100),
            1 => 1 + random.below(100_000),
            _ => 10 * YEAR_S,
        };
        let is_forward = may_be_forward && random.chance(1, 2);
        let by_s = if is_forward { by_s.cast_signed() } else { -by_s.cast_signed() };
        // The clock stays between 2000 and 2100.
        let wall_s = self.now().wall_s().saturating_add_signed(by_s);
        if (30 * YEAR_S..130 * YEAR_S).contains(&wall_s) {
            self.difference_s += by_s;
        }
    }
}

/// Sums over all simulations.
#[derive(Debug, Default)]
struct ClockStepTally {
    acknowledged: u64,
    steps: u64,
    starts_behind: u64,
}

impl fmt::Display for ClockStepTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} leases acknowledged, {} steps of the clock, {} starts with leases from the future",
            self.acknowledged, self.steps, self.starts_behind
        )
    }
}

/// Acknowledged leases: the client, and the monotonic end, in nanoseconds.
type Promised<F> = BTreeMap<<F as dhcp_lease::Family>::Address, (Vec<u8>, u64)>;

struct ClockStepRun<'r, F: SimulatedFamily> {
    random: &'r mut Random,
    clocks: Clocks,
    table: Arc<LeaseTable<F>>,
    pools: Arc<PoolSet<F>>,
    store: MemfileStore<F>,
    core: LogCore,
    promised: Promised<F>,
}

impl<'r, F: SimulatedFamily> ClockStepRun<'r, F> {
    fn begin(
        random: &'r mut Random,
        clocks: Clocks,
        storage: &PowerCutStorage,
        promised: Promised<F>,
        tally: &mut ClockStepTally,
    ) -> Result<Self, String> {
        let options = OpenOptions { threads: 1, ..OpenOptions::default() };
        let opened = Memfile::open::<F>(Arc::new(storage.clone()), Path::new(LEASE_FILE), options);
        let (memfile, leases, _) = opened.map_err(|error| error.to_string())?;
        let now = clocks.now();
        let table = Arc::new(LeaseTable::new(7));
        table.set_expiry(Expiry { hold_reclaimed_s: 4, ..Expiry::default() });
        let pools = table.configure(&[pool::<F>()], &[]);
        table.begin(now);
        leases.iter().for_each(|lease| table.load(lease.clone()));
        let start = table.follow_clock(now);
        tally.starts_behind += u64::from(start.leases > 0);
        let shards = SharedLogState::new(1, |_| {});
        let options = CoreOptions { durability: RowDurability::Always, lfc_interval_s: 0 };
        let store = MemfileStore::new(table.clone(), ShardLog::new(shards.clone(), 0));
        let core = LogCore::new(shards, memfile, options, now);
        let mut life = Self { random, clocks, table, pools, store, core, promised };
        life.write_moved_times(start.leases > 0)?;
        life.check()?;
        Ok(life)
    }

    /// Runs server and log thread for a second after a step.
    fn write_moved_times(&mut self, have_moved: bool) -> Result<(), String> {
        if !have_moved {
            return Ok(());
        }
        self.core.request_rewrite();
        let now = self.clocks.now();
        self.core.watch_due(now).ok_or("the file is to be written anew")?;
        let table = &self.table;
        let mut snapshot = |sink: &mut dyn FnMut(&[u8])| rows_of_table(table, sink);
        self.core.restart(now, &mut snapshot).map_err(|failed| failed.to_string())
    }

    fn live(&mut self, tally: &mut ClockStepTally) -> Result<(), String> {
        for _ in 0..self.random.below(120) {
            let passed_ns = NS_PER_S / 50 + self.random.below(8 * NS_PER_S);
            self.clocks.mono_ns += passed_ns;
            if self.random.chance(1, 12) {
                self.clocks.step(self.random, true);
                tally.steps += 1;
            }
            if self.random.chance(1, 4) {
                self.store.sweep(self.clocks.now(), 20);
            } else {
                self.client_acts(tally)?
            }
            self.core.round(self.clocks.now());
            let steps = self.table.take_clock_steps();
            self.write_moved_times(steps.iter().any(|step| step.leases > 0))?;
            self.check()?;
        }
        // The next sweep handles a step that no packet has noticed.
        self.store.sweep(self.clocks.now(), 0);
        let steps = self.table.take_clock_steps();
        self.write_moved_times(steps.iter().any(|step| step.leases > 0))
    }

    fn client_acts(&mut self, tally: &mut ClockStepTally) -> Result<(), String> {
        let now = self.clocks.now();
        let octets = F::octets(self.random.below(CLIENTS) as u8);
        let identity = F::identity(&octets);
        let pools: &PoolSet<F> = &self.pools;
        let keys = FetchKeys {
            identity,
            addresses: [None; FETCHED_ADDRESSES_MAX],
            pools,
            candidate_pools: &[PoolIndex(0)],
            is_candidate_spare: true,
        };
        let mut facts = Facts::<F>::default();
        self.store.fetch(now, &keys, &mut facts);
        let is_mine = |slot: &&SlotView<F>| {
            slot.owner == SlotOwner::Requester && slot.occupancy == SlotOccupancy::Leased
        };
        let mine = facts.client_slots().find(is_mine).copied();
        let Some(slot) = mine.or(facts.candidate) else { return Ok(()) };
        let lifetime_s = 5 + self.random.below(100) as u32;
        let is_release = mine.is_some() && self.random.chance(1, 4);
        let action =
            if is_release { Action::Release } else { Action::Lease(F::terms(lifetime_s, 1, "")) };
        let (address, expected_version) = (slot.address, slot.version);
        let change = Change { identity, address, expected_version, action };
        if self.store.commit(now, &[change]).is_err() {
            return Ok(());
        }
        if is_release {
            self.promised.remove(&address);
            return Ok(());
        }
        let end_ns = now.mono_ns + u64::from(lifetime_s) * NS_PER_S;
        let before = self.promised.insert(address, (octets.clone(), end_ns));
        tally.acknowledged += 1;
        match before {
            Some((owner, end_ns)) if owner != octets && end_ns > now.mono_ns + SLACK_NS => {
                Err(format!("{address} has two holders"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that every lease exists whose time has not passed.
    fn check(&self) -> Result<(), String> {
        let now = self.clocks.now();
        for (&address, (owner, end_ns)) in &self.promised {
            let remaining_ns = end_ns.saturating_sub(now.mono_ns);
            if remaining_ns <= SLACK_NS {
                continue;
            }
            let Some(lease) = self.table.lease(address) else {
                return Err(format!("{address} is gone"));
            };
            let sample = F::sample(&lease);
            let ends_s = sample.cltt_s + u64::from(sample.valid_lifetime_s);
            let is_running = sample.state == LeaseState::Assigned && ends_s > now.wall_s();
            if !is_running || F::owner(&lease) != *owner {
                let remaining_s = remaining_ns / NS_PER_S;
                return Err(format!(
                    "{address} has {remaining_s} s left and is {sample:?} at {now:?}"
                ));
            }
        }
        Ok(())
    }
}

fn simulate<F: SimulatedFamily>(seed: u64, tally: &mut ClockStepTally) -> Result<(), String> {
    let mut random = Random::from_seed(seed);
    let mut clocks = Clocks { mono_ns: NS_PER_S, difference_s: (50 * YEAR_S).cast_signed() };
    let mut storage = PowerCutStorage::new(random.next_u64(), StorageFaults::default());
    let mut promised = Promised::<F>::new();
    for _ in 0..LIVES {
        let mut life = ClockStepRun::<F>::begin(&mut random, clocks, &storage, promised, tally)?;
        life.live(tally)?;
        (clocks, promised) = (life.clocks, life.promised);
        let survival =
            if random.chance(1, 2) { DiskAfterCut::PowerFailed } else { DiskAfterCut::ProcessDied };
        storage = storage.after(survival, StorageFaults::default());
        clocks.mono_ns += NS_PER_S / 50 + random.below(30 * NS_PER_S);
        if random.chance(1, 2) {
            clocks.step(&mut random, false);
        }
    }
    ClockStepRun::<F>::begin(&mut random, clocks, &storage, promised, tally).map(drop)
}

#[test]
fn acknowledged_leases_outlast_steps_of_the_clock() {
    let first = from_environment("GODWIT_CRASH_SEED", 1);
    let mut tally = ClockStepTally::default();
    for seed in first..first + cuts() {
        let v4 = simulate::<V4>(seed, &mut tally).map_err(|broken| format!("v4: {broken}"));
        let both = v4.and_then(|()| {
            simulate::<V6>(seed, &mut tally).map_err(|broken| format!("v6: {broken}"))
        });
        if let Err(broken) = both {
            panic!(
                "seed {seed}: {broken}\nrepeat with: cargo xtask crash --only {SUITE} --moments 1 \
                 --seed {seed}"
            );
        }
    }
    println!("crash: steps: {} seeds, {tally}", cuts());
    if cuts() >= 200 {
        assert!(tally.acknowledged > 10_000 && tally.steps > 1_000, "{tally}");
        assert!(tally.starts_behind > 100, "{tally}");
    }
}
