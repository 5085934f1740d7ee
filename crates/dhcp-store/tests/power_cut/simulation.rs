//! Server of two shards with its clients, from one start to the moment when the power goes off.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base::time::NS_PER_MS;
use base::{Now, Random};
use dhcp_lease::{Expiry, Lease, LeaseStore, LeaseTable, PoolSet};
use dhcp_store::log::{CoreOptions, LogCore, ShardLog, SharedLogState};
use dhcp_store::memfile::{Cleanup, rows_of_table};
use dhcp_store::storage::{DiskAfterCut, PowerCutStorage, StorageFaults};
use dhcp_store::{Memfile, MemfileStore, OpenOptions, RowDurability};

use crate::power_cut::case::SimulatedFamily;
use crate::power_cut::clients::{act, pool};
use crate::power_cut::ledger::PromiseLedger;

const LEASE_FILE: &str = "/leases/leases.csv";
const SHARDS: usize = 2;
/// Number of actions in one life, unless the power goes off before.
const ACTIONS: u64 = 300;
/// Number of steps of the storage among which the power may go off.
const STEPS: u64 = 260;
/// Approximate number of steps of opening.
const OPENING_STEPS: u64 = 12;

/// Rules of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct PowerCutRules {
    pub durability: RowDurability,
    /// True if all settled rows must survive; else only those that are also flushed.
    pub promises_settled: bool,
    /// Number of successive starts on the same disk.
    pub server_runs: u64,
    /// Possible ends.
    pub ends: &'static [DiskAfterCut],
    /// True if writes and flushes fail, too.
    pub has_faults: bool,
    /// Planted defect: flushes that do nothing.
    pub lying_syncs: bool,
}

/// Sums over all server runs of a simulation.
#[derive(Clone, Copy, Debug, Default)]
pub struct PowerCutTally {
    pub acknowledged: u64,
    pub cut_while_running: u64,
    pub cut_while_opening: u64,
    pub rotations: u64,
    pub cleanups: u64,
    pub restarts: u64,
    pub reclaimed: u64,
    pub flushed: u64,
}

impl fmt::Display for PowerCutTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} acknowledgements, cut off {} times while running and {} times while opening",
            self.acknowledged, self.cut_while_running, self.cut_while_opening
        )
    }
}

struct PowerCutSimulation<'r, F: SimulatedFamily> {
    random: &'r mut Random,
    now: Now,
    storage: PowerCutStorage,
    table: Arc<LeaseTable<F>>,
    pools: Arc<PoolSet<F>>,
    stores: Vec<MemfileStore<F>>,
    core: LogCore,
    cleanup: Option<Cleanup>,
    ledger: PromiseLedger<F>,
    rules: PowerCutRules,
    promised: u64,
}

/// Simulates successive server runs on a disk; an error is a broken promise.
pub fn simulate<F: SimulatedFamily>(
    seed: u64,
    rules: PowerCutRules,
    tally: &mut PowerCutTally,
) -> Result<(), String> {
    let mut random = Random::from_seed(seed);
    let mut now = Now { mono_ns: 1, wall_us: 1_800_000_000_000_000 };
    let mut storage = PowerCutStorage::new(random.next_u64(), faults(&mut random, rules));
    let mut ledger = PromiseLedger::<F>::default();
    for _ in 0..rules.server_runs {
        match open::<F>(&storage, now, rules) {
            Ok((memfile, leases)) => {
                ledger.check(&leases, now.wall_s())?;
                let mut simulation = PowerCutSimulation::<F>::new(
                    &mut random,
                    now,
                    storage,
                    memfile,
                    &leases,
                    rules,
                );
                let lived = simulation.live(tally);
                (now, ledger, storage) = (simulation.now, simulation.ledger, simulation.storage);
                lived?;
                tally.acknowledged += ledger.acknowledged;
                tally.cut_while_running += u64::from(!storage.is_on());
            }
            Err(error) if storage.is_on() && !rules.has_faults => {
                return Err(format!("the lease file does not open: {error}"));
            }
            Err(_) => tally.cut_while_opening += 1,
        }
        let survival = *random.pick(rules.ends).expect("there is an end");
        let next = faults(&mut random, rules);
        storage = storage.after(survival, next);
        now = now.after_ns(random.below(3) * 10_000_000_000);
    }
    let storage = storage.after(DiskAfterCut::ProcessDied, StorageFaults::default());
    let (_, leases) =
        open::<F>(&storage, now, rules).map_err(|error| format!("at last: {error}"))?;
    ledger.check(&leases, now.wall_s())
}

fn faults(random: &mut Random, rules: PowerCutRules) -> StorageFaults {
    let steps = if random.chance(1, 3) { OPENING_STEPS } else { STEPS };
    let mut faults = StorageFaults {
        cut_at_step: random.chance(4, 5).then(|| random.below(steps)),
        short_writes: random.chance(1, 2),
        lying_syncs: rules.lying_syncs,
        ..StorageFaults::default()
    };
    if rules.has_faults {
        for plan in [
            &mut faults.failing_writes,
            &mut faults.failing_syncs,
            &mut faults.failing_folder_syncs,
        ] {
            let count = random.below(3);
            plan.extend((0..count).map(|_| random.below(60)));
        }
        if random.chance(1, 4) {
            faults.capacity_bytes = Some(4_000 + random.below(30_000));
        }
    }
    faults
}

fn open<F: SimulatedFamily>(
    storage: &PowerCutStorage,
    now: Now,
    rules: PowerCutRules,
) -> Result<(Memfile, Vec<Lease<F>>), String> {
    let options = OpenOptions {
        threads: 1 + (now.wall_us % 2) as usize,
        skips_flush: rules.durability == RowDurability::None,
        ..OpenOptions::default()
    };
    let opened = Memfile::open::<F>(Arc::new(storage.clone()), Path::new(LEASE_FILE), options);
    let (memfile, leases, report) = opened.map_err(|error| error.to_string())?;
    // Rubbish may contain a line end and otherwise look like a bad row.
    if report.bad_rows > 0 && !rules.ends.contains(&DiskAfterCut::PowerFailed) {
        return Err(format!("bad rows: {:?}", report.errors));
    }
    Ok((memfile, leases))
}

impl<'r, F: SimulatedFamily> PowerCutSimulation<'r, F> {
    fn new(
        random: &'r mut Random,
        now: Now,
        storage: PowerCutStorage,
        memfile: Memfile,
        leases: &[Lease<F>],
        rules: PowerCutRules,
    ) -> Self {
        let table = Arc::new(LeaseTable::new(7));
        // This time is so short that reclaimed leases are flushed within a life.
        table.set_expiry(Expiry { hold_reclaimed_s: 4, ..Expiry::default() });
        let pools = table.configure(&[pool::<F>()], &[]);
        leases.iter().for_each(|lease| table.load(lease.clone()));
        let shards = SharedLogState::new(SHARDS, |_| {});
        let options = CoreOptions { durability: rules.durability, lfc_interval_s: 0 };
        let stores = (0..SHARDS)
            .map(|shard| MemfileStore::new(table.clone(), ShardLog::new(shards.clone(), shard)))
            .collect();
        let core = LogCore::new(shards, memfile, options, now);
        let ledger = PromiseLedger::begin(leases);
        Self {
            random,
            now,
            storage,
            table,
            pools,
            stores,
            core,
            cleanup: None,
            ledger,
            rules,
            promised: 0,
        }
    }

    /// Acts until the power goes off or the life ends.
    fn live(&mut self, tally: &mut PowerCutTally) -> Result<(), String> {
        for _ in 0..self.random.below(ACTIONS) {
            if !self.storage.is_on() {
                break;
            }
            match self.random.below(100) {
                0..70 => self.client_acts()?,
                70..92 => self.core.round(self.now),
                92..94 => self.rotate(tally),
                94..96 => self.clean_up(tally),
                96 => self.restart(tally),
                97 => {
                    if let Some(file) = self.core.flush_due(self.now) {
                        self.core.flushed(dhcp_store::storage::LogFile::sync_data(&*file));
                    }
                }
                98 => self.sweep(tally),
                _ => self.now = self.now.after_ns(self.random.below(8_000) * NS_PER_MS),
            }
            let promised = self.promised_epoch();
            self.ledger.settle_unless(promised, |_, _| false);
        }
        Ok(())
    }

    /// Returns the epoch that the next start must find. With flushes by time, it is the epoch that
    /// was settled when nothing waited for a flush.
    fn promised_epoch(&mut self) -> u64 {
        let is_all_flushed = self.core.next_deadline_ns().is_none() && !self.stores[0].has_failed();
        if self.rules.promises_settled || is_all_flushed {
            self.promised = self.stores[0].settled_epoch();
        }
        self.promised
    }

    /// Sometimes turns the power off during the next operation.
    fn may_be_cut_during(&mut self, steps: u64) {
        if self.random.chance(1, 10) {
            self.storage.cut_after(self.random.below(steps));
        }
    }

    fn sweep(&mut self, tally: &mut PowerCutTally) {
        let shard = self.random.below(SHARDS as u64) as usize;
        let swept = self.stores[shard].sweep(self.now, 1 + self.random.below(20) as u32);
        tally.reclaimed += u64::from(swept.leases);
        tally.flushed += u64::from(swept.flushed);
    }

    fn rotate(&mut self, tally: &mut PowerCutTally) {
        self.may_be_cut_during(10);
        if let Some(cleanup) = self.core.rotate(self.now) {
            tally.rotations += 1;
            self.cleanup = Some(cleanup);
        }
    }

    fn clean_up(&mut self, tally: &mut PowerCutTally) {
        if let Some(cleanup) = self.cleanup.take() {
            self.may_be_cut_during(10);
            let result = cleanup.run();
            tally.cleanups += u64::from(result.is_ok());
            self.core.cleaned(result.is_ok());
        }
    }

    fn restart(&mut self, tally: &mut PowerCutTally) {
        if self.core.failure().is_none() {
            return;
        }
        self.clean_up(tally);
        self.may_be_cut_during(16);
        let table = self.table.clone();
        let result = self.core.restart(self.now, &mut |sink| rows_of_table(&table, sink));
        tally.restarts += u64::from(result.is_ok());
    }

    fn client_acts(&mut self) -> Result<(), String> {
        let shard = self.random.below(SHARDS as u64) as usize;
        act(self.random, self.now, &self.pools, &mut self.stores[shard], &mut self.ledger)
    }
}
