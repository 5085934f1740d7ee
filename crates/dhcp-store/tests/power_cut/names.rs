//! Changes of lease files by another program while the server runs: it removes, truncates, renames,
//! replaces and closes them, or fills the disk. The server detects the change within a second, and
//! every lease that it has acknowledged by then is in its files, also if the power fails
//! afterwards.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::time::NS_PER_S;
use base::{Now, Random};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{Expiry, Lease, LeaseStore, LeaseTable, PoolSet};
use dhcp_store::log::{CoreOptions, LogCore, ShardLog, SharedLogState};
use dhcp_store::memfile::{Cleanup, rows_of_table};
use dhcp_store::storage::{DiskAfterCut, PowerCutStorage, Storage, StorageFaults, write_all_at};
use dhcp_store::{Memfile, MemfileStore, OpenOptions, RowDurability};

use crate::power_cut::case::SimulatedFamily;
use crate::power_cut::clients::{act, pool};
use crate::power_cut::ledger::PromiseLedger;
use crate::power_cut::{cuts, from_environment};

const LEASE_FILE: &str = "/leases/leases.csv";
/// Name of the suite of `cargo xtask crash`.
const SUITE: &str = "lease-file-names";
/// Number of successive lives of a server on the same disk, each with one change.
const LIVES: u64 = 3;

/// Changes that other programs make, each with its name.
const KINDS: [(&str, Interfere); 9] = [
    ("removed", |storage, _| drop(storage.remove(live()))),
    ("cut", |storage, random| {
        let file = storage.open(live()).unwrap().unwrap();
        let len = file.len().unwrap();
        file.truncate(random.below(len)).unwrap();
    }),
    ("renamed", |storage, _| storage.rename(live(), &beside(".moved")).unwrap()),
    ("replaced by an empty file", |storage, _| {
        storage.create(&beside(".other")).unwrap();
        storage.rename(&beside(".other"), live()).unwrap();
    }),
    ("replaced by a copy", |storage, _| {
        let octets = storage.contents(live()).unwrap();
        let file = storage.create(&beside(".copy")).unwrap();
        write_all_at(&*file, 0, &octets[..octets.len() / 2]).unwrap();
        storage.rename(&beside(".copy"), live()).unwrap();
    }),
    ("written to", |storage, _| {
        let file = storage.open(live()).unwrap().unwrap();
        write_all_at(&*file, file.len().unwrap(), b"10.0.0.3,what is this\n").unwrap();
    }),
    ("closed", |storage, _| storage.close_to_owner(live())),
    ("robbed of an earlier file", |storage, random| {
        let earlier = [".1", ".2", ".completed"].map(beside);
        let mut there = earlier.iter().filter(|path| storage.contents(path).is_some());
        match there.next() {
            Some(path) if random.chance(1, 2) => drop(storage.remove(path)),
            Some(path) => {
                // An empty file has nothing to truncate.
                let file = storage.open(path).unwrap().unwrap();
                file.truncate(file.len().unwrap() - 1).unwrap();
            }
            None => drop(storage.remove(live())),
        }
    }),
    ("left without room", |storage, _| storage.set_capacity(Some(0))),
];

type Interfere = fn(&PowerCutStorage, &mut Random);

fn live() -> &'static Path {
    Path::new(LEASE_FILE)
}

fn beside(suffix: &str) -> PathBuf {
    PathBuf::from(format!("{LEASE_FILE}{suffix}"))
}

/// Sums over all simulations.
#[derive(Debug, Default)]
struct FileChangeTally {
    acknowledged: u64,
    counts: [u64; KINDS.len()],
}

impl fmt::Display for FileChangeTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} leases acknowledged", self.acknowledged)?;
        KINDS
            .iter()
            .zip(self.counts)
            .try_for_each(|((name, _), counts)| write!(f, ", {counts} {name}"))
    }
}

struct FileChangeRun<'r, F: SimulatedFamily> {
    random: &'r mut Random,
    now: Now,
    storage: PowerCutStorage,
    table: Arc<LeaseTable<F>>,
    pools: Arc<PoolSet<F>>,
    store: MemfileStore<F>,
    core: LogCore,
    cleanup: Option<Cleanup>,
    ledger: PromiseLedger<F>,
}

fn open<F: SimulatedFamily>(storage: &PowerCutStorage) -> Result<(Memfile, Vec<Lease<F>>), String> {
    let options = OpenOptions { threads: 1, ..OpenOptions::default() };
    let (memfile, leases, report) = Memfile::open::<F>(Arc::new(storage.clone()), live(), options)
        .map_err(|error| error.to_string())?;
    match report.damaged_copies.first() {
        Some(copy) => Err(format!("{} was set aside", copy.display())),
        None => Ok((memfile, leases)),
    }
}

impl<'r, F: SimulatedFamily> FileChangeRun<'r, F> {
    fn begin(
        random: &'r mut Random,
        now: Now,
        storage: PowerCutStorage,
        memfile: Memfile,
        leases: &[Lease<F>],
    ) -> Self {
        let table = Arc::new(LeaseTable::new(7));
        table.set_expiry(Expiry { hold_reclaimed_s: 4, ..Expiry::default() });
        let pools = table.configure(&[pool::<F>()], &[]);
        leases.iter().for_each(|lease| table.load(lease.clone()));
        let shards = SharedLogState::new(1, |_| {});
        let options = CoreOptions { durability: RowDurability::Always, lfc_interval_s: 0 };
        Self {
            random,
            now,
            storage,
            store: MemfileStore::new(table.clone(), ShardLog::new(shards.clone(), 0)),
            table,
            pools,
            core: LogCore::new(shards, memfile, options, now),
            cleanup: None,
            ledger: PromiseLedger::begin(leases),
        }
    }

    fn acts(&mut self, count: u64) -> Result<(), String> {
        for _ in 0..count {
            match self.random.below(20) {
                0..13 => {
                    act(self.random, self.now, &self.pools, &mut self.store, &mut self.ledger)?;
                }
                13..17 => self.core.round(self.now),
                17 => self.now = self.now.after_ns(self.random.below(NS_PER_S)),
                18 => drop(self.store.sweep(self.now, 5)),
                _ if self.cleanup.is_some() => self.clean_up(),
                _ => self.cleanup = self.core.rotate(self.now),
            }
            self.ledger.settle_unless(self.store.settled_epoch(), |_, _| false);
        }
        Ok(())
    }

    fn clean_up(&mut self) {
        if let Some(cleanup) = self.cleanup.take() {
            self.core.cleaned(cleanup.run().is_ok());
        }
    }

    /// Runs the thread of the log for a second.
    fn repair(&mut self, kind: &str) -> Result<(), String> {
        self.clean_up();
        self.now = self.now.after_ns(NS_PER_S);
        let table = self.table.clone();
        let restart =
            |core: &mut LogCore, now| core.restart(now, &mut |sink| rows_of_table(&table, sink));
        let disturbance = self.core.watch_due(self.now);
        if self.core.failure().is_none() && disturbance.is_none() {
            // Without anything to write, a full disk does not show.
            self.storage.set_capacity(None);
            return match kind {
                "left without room" => Ok(()),
                _ => Err("not noticed within a second".to_owned()),
            };
        }
        if restart(&mut self.core, self.now).is_err() {
            self.storage.set_capacity(None);
            restart(&mut self.core, self.now).map_err(|failed| failed.to_string())?;
        }
        self.storage.set_capacity(None);
        self.ledger.settle_unless(self.store.settled_epoch(), |_, _| false);
        Ok(())
    }
}

fn simulate<F: SimulatedFamily>(seed: u64, tally: &mut FileChangeTally) -> Result<(), String> {
    let mut random = Random::from_seed(seed);
    let mut now = Now { mono_ns: 1, wall_us: 1_800_000_000_000_000 };
    let mut storage = PowerCutStorage::new(random.next_u64(), StorageFaults::default());
    let mut ledger = PromiseLedger::<F>::default();
    for _ in 0..LIVES {
        let (memfile, leases) = open::<F>(&storage)?;
        ledger.check(&leases, now.wall_s())?;
        let mut life = FileChangeRun::<F>::begin(&mut random, now, storage, memfile, &leases);
        let count = life.random.below(150);
        life.acts(count)?;
        let kind = life.random.below(KINDS.len() as u64) as usize;
        (KINDS[kind].1)(&life.storage, life.random);
        tally.counts[kind] += 1;
        let count = life.random.below(12);
        let with_kind = |broken| format!("{}: {broken}", KINDS[kind].0);
        life.acts(count).map_err(with_kind)?;
        life.repair(KINDS[kind].0).map_err(with_kind)?;
        let count = life.random.below(60);
        life.acts(count).map_err(with_kind)?;
        (now, ledger, storage) = (life.now, life.ledger, life.storage);
        tally.acknowledged += ledger.acknowledged;
        let survival =
            if random.chance(3, 4) { DiskAfterCut::PowerFailed } else { DiskAfterCut::ProcessDied };
        storage = storage.after(survival, StorageFaults::default());
        let (_, leases) = open::<F>(&storage).map_err(with_kind)?;
        ledger.check(&leases, now.wall_s()).map_err(with_kind)?;
    }
    Ok(())
}

#[test]
fn acknowledged_leases_survive_what_other_programs_do_to_the_lease_files() {
    let first = from_environment("GODWIT_CRASH_SEED", 1);
    let mut tally = FileChangeTally::default();
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
    println!("crash: names: {} seeds, {tally}", cuts());
    if cuts() >= 200 {
        assert!(
            tally.acknowledged > 10_000 && tally.counts.iter().all(|&counts| counts > 50),
            "{tally}"
        );
    }
}
