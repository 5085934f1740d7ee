//! Server that keeps its leases in SQLite, from one start to the moment when the power goes off.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::time::NS_PER_MS;
use base::{Now, Random};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{Lease, LeaseStore, LeaseTable, PoolSet};
use dhcp_store::database::{
    DatabaseCore, LeaseDatabaseConnection, Refusals, RoundEnd, SharedJournal,
};
use dhcp_store::log::{ShardLog, SharedLogState};
use dhcp_store::sql::{Database, Schema, SharedLeases, SharedRows, SqlDatabaseKind, SqlSettings};
use dhcp_store::storage::{DiskAfterCut, PowerCutStorage, StorageFaults};
use dhcp_store::{DatabaseStore, RowDurability};

use crate::power_cut::case::SimulatedFamily;
use crate::power_cut::clients::{act, pool};
use crate::power_cut::forgetful::Disks;
use crate::power_cut::from_environment;
use crate::power_cut::ledger::PromiseLedger;

const FOLDER: &str = "/leases";
const SHARDS: usize = 2;
/// Number of successive starts on the same disk.
const LIVES: u64 = 5;
/// Number of actions in one life, unless the power goes off before.
const ACTIONS: u64 = 600;
/// Number of pages of a log with a length: so few that it is copied into the database several times
/// in a life.
const LOG_PAGES: u32 = 40;
/// Number of steps of the disk among which the power may go off.
const STEPS: u64 = 900;
/// Approximate number of steps of opening: with a log to be read, and with lengthening the log.
const OPENING_STEPS: [u64; 2] = [12, 100];
/// Number of seeds in the test command.
const MOMENTS: u64 = 20;
/// Seeds that are always tried: a process dies before it has flushed its log, the next one reads
/// it, and the power goes off.
const UNFLUSHED_LOG: [u64; 2] = [95, 177];

/// Rules of a simulation.
#[derive(Clone, Copy, Debug)]
struct SqliteCutRules {
    durability: RowDurability,
    /// Planted defect: flushes that do nothing.
    lying_syncs: bool,
    /// True if some flushes fail, after which the process connects again; then the power stays on,
    /// since SQLite takes the contents that it reads from such a file for safe.
    failing_syncs: bool,
}

const DURABLE: SqliteCutRules =
    SqliteCutRules { durability: RowDurability::Always, lying_syncs: false, failing_syncs: false };

/// Sums over all lives.
#[derive(Clone, Copy, Debug, Default)]
struct SqliteCutTally {
    acknowledged: u64,
    /// Number of changes that were not acknowledged before the power went off.
    waiting: u64,
    cut_while_running: u64,
    cut_while_opening: u64,
    cut_while_closing: u64,
    /// Number of connections that were lost and replaced.
    reconnected: u64,
}

impl fmt::Display for SqliteCutTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} acknowledgements and {} changes not acknowledged, cut off {} times while running, \
             {} while opening, {} while closing, connected again {} times",
            self.acknowledged,
            self.waiting,
            self.cut_while_running,
            self.cut_while_opening,
            self.cut_while_closing,
            self.reconnected
        )
    }
}

struct SqliteCutSimulation<'r, F: SimulatedFamily + SharedRows> {
    random: &'r mut Random,
    now: Now,
    disk: PowerCutStorage,
    pools: Arc<PoolSet<F>>,
    stores: Vec<DatabaseStore<F>>,
    core: DatabaseCore<F, SharedLeases>,
    ledger: PromiseLedger<F>,
    /// True if flushes fail sometimes.
    syncs_fail: bool,
    reconnected: u64,
}

/// Simulates successive lives on a disk; an error is a broken promise.
fn simulate<F: SimulatedFamily + SharedRows>(
    seed: u64,
    rules: SqliteCutRules,
    disks: &Disks,
    vfs: &str,
    tally: &mut SqliteCutTally,
) -> Result<(), String> {
    let mut random = Random::from_seed(seed);
    let mut now = Now { mono_ns: 1, wall_us: 1_800_000_000_000_000 };
    let folder = PathBuf::from(FOLDER);
    let has_length = random.chance(2, 3);
    let log_pages = if has_length { LOG_PAGES } else { 0 };
    let settings = settings(vfs, rules.durability, log_pages);
    let faults = StorageFaults { lying_syncs: rules.lying_syncs, ..StorageFaults::default() };
    let mut disk = PowerCutStorage::new(random.next_u64(), faults.clone());
    disks.mount(&folder, disk.clone());
    let mut database = Database::open(&settings).map_err(|error| error.to_string())?;
    database.install(Schema::Current).map_err(|error| error.to_string())?;
    drop(database);
    let mut ledger = PromiseLedger::<F>::default();
    for _ in 0..LIVES {
        let survival = if rules.failing_syncs || random.chance(1, 4) {
            DiskAfterCut::ProcessDied
        } else {
            DiskAfterCut::PowerFailed
        };
        let opening_steps = OPENING_STEPS[usize::from(has_length)];
        let steps = if random.chance(1, 3) { opening_steps } else { STEPS };
        let is_cut = !rules.failing_syncs && random.chance(4, 5);
        let cut_at_step = is_cut.then(|| random.below(steps));
        let failing_syncs = if rules.failing_syncs {
            (0..8).map(|_| 4 + random.below(160)).collect()
        } else {
            Vec::new()
        };
        disk = disk.after(survival, StorageFaults { cut_at_step, failing_syncs, ..faults.clone() });
        disks.mount(&folder, disk.clone());
        match open::<F>(&settings, &disk) {
            Ok((connection, leases)) => {
                ledger.check(&leases, now.wall_s())?;
                let mut simulation = SqliteCutSimulation::<F>::new(
                    &mut random,
                    now,
                    disk.clone(),
                    connection,
                    &leases,
                );
                simulation.syncs_fail = rules.failing_syncs;
                simulation.live()?;
                tally.reconnected += simulation.reconnected;
                tally.cut_while_running += u64::from(!disk.is_on());
                tally.cut_while_closing += u64::from(simulation.is_cut_when_closing());
                (now, ledger) = (simulation.now, simulation.ledger);
                tally.acknowledged += ledger.acknowledged;
                tally.waiting += ledger.waiting();
            }
            Err(error) if disk.is_on() && !rules.failing_syncs => {
                return Err(format!("it does not open: {error}"));
            }
            Err(_) => tally.cut_while_opening += 1,
        }
        now = now.after_ns(random.below(3) * 10_000_000_000);
    }
    let survival =
        if rules.failing_syncs { DiskAfterCut::ProcessDied } else { DiskAfterCut::PowerFailed };
    disk = disk.after(survival, StorageFaults::default());
    disks.mount(&folder, disk.clone());
    let (_, leases) = open::<F>(&settings, &disk).map_err(|error| format!("at last: {error}"))?;
    ledger.check(&leases, now.wall_s())
}

fn settings(vfs: &str, durability: RowDurability, log_pages: u32) -> SqlSettings {
    let name = format!("file:{FOLDER}/leases.db?vfs={vfs}");
    SqlSettings { durability, log_pages, ..SqlSettings::new(SqlDatabaseKind::Sqlite, name) }
}

type Opened<F> = (SharedLeases, Vec<Lease<F>>);

fn open<F: SharedRows>(
    settings: &SqlSettings,
    disk: &PowerCutStorage,
) -> Result<Opened<F>, String> {
    let mut connection = SharedLeases::with_storage(settings.clone(), Arc::new(disk.clone()));
    let mut leases = Vec::new();
    let connected = LeaseDatabaseConnection::<F>::connect(&mut connection).map(drop);
    connected
        .and_then(|()| {
            LeaseDatabaseConnection::<F>::load(&mut connection, &mut |lease| leases.push(lease))
        })
        .map_err(|error| error.to_string())?;
    Ok((connection, leases))
}

impl<'r, F: SimulatedFamily + SharedRows> SqliteCutSimulation<'r, F> {
    fn new(
        random: &'r mut Random,
        now: Now,
        disk: PowerCutStorage,
        connection: SharedLeases,
        leases: &[Lease<F>],
    ) -> Self {
        let table = Arc::new(LeaseTable::new(7));
        let pools = table.configure(&[pool::<F>()], &[]);
        leases.iter().for_each(|lease| table.load(lease.clone()));
        let shards = SharedLogState::new(SHARDS, |_| {});
        let refusals = Arc::<Refusals>::default();
        let store = |shard| {
            let journal = SharedJournal::new(refusals.clone(), false);
            let log = ShardLog::new(shards.clone(), shard);
            DatabaseStore::with_journal(table.clone(), log, journal)
        };
        let stores = (0..SHARDS).map(store).collect();
        let core = DatabaseCore::new(shards, table, refusals, connection);
        let ledger = PromiseLedger::begin(leases);
        let (syncs_fail, reconnected) = (false, 0);
        Self { random, now, disk, pools, stores, core, ledger, syncs_fail, reconnected }
    }

    /// Acts until the power goes off or the life ends.
    fn live(&mut self) -> Result<(), String> {
        for _ in 0..self.random.below(ACTIONS) {
            if !self.disk.is_on() {
                break;
            }
            match self.random.below(100) {
                0..70 => {
                    let shard = self.random.below(SHARDS as u64) as usize;
                    let store = &mut self.stores[shard];
                    act(self.random, self.now, &self.pools, store, &mut self.ledger)?;
                }
                70..97 => self.round()?,
                97 => {
                    let shard = self.random.below(SHARDS as u64) as usize;
                    self.stores[shard].sweep(self.now, 1 + self.random.below(20) as u32);
                }
                _ => self.now = self.now.after_ns(self.random.below(8_000) * NS_PER_MS),
            }
            self.ledger.settle_unless(self.stores[0].settled_epoch(), |_, _| false);
        }
        Ok(())
    }

    /// Runs a round, of which some parts may not be done or not be flushed yet.
    fn round(&mut self) -> Result<(), String> {
        let end = match self.random.below(3) {
            0 => self.core.round(self.now),
            _ => self.parts(),
        };
        match end {
            RoundEnd::Done => Ok(()),
            _ if self.syncs_fail => {
                // This may take several attempts, and the power may go off.
                while self.disk.is_on() && self.core.reconnect(self.now).is_err() {}
                self.reconnected += 1;
                Ok(())
            }
            RoundEnd::ConnectionLost(error) if self.disk.is_on() => {
                Err(format!("a round fails: {error}"))
            }
            _ => Ok(()),
        }
    }

    fn parts(&mut self) -> RoundEnd {
        self.core.set_changes_max(Some(1 + self.random.below(3) as u32));
        self.core.take_requests();
        while self.random.chance(4, 5)
            && let Some(end) = self.core.run_next_part(self.now)
        {
            if end != RoundEnd::Done {
                return end;
            }
            if self.random.chance(1, 2) {
                // The next part reports the failure.
                let _ = self.core.flushes().flush();
            }
        }
        RoundEnd::Done
    }

    /// Ends the process: at once, or in order, while the power may go off. Returns true if it did.
    fn is_cut_when_closing(&mut self) -> bool {
        if !self.disk.is_on() {
            return false;
        }
        match self.random.below(3) {
            0 => self.disk.cut_after(0),
            1 => self.disk.cut_after(self.random.below(12)),
            _ => {}
        }
        // This copies the log into the database and removes it.
        *self.core.database() = SharedLeases::new(SqlSettings::new(SqlDatabaseKind::Sqlite, ""));
        !self.disk.is_on()
    }
}

/// Runs a simulation of each family with every seed, including those of `always`, and fails at the
/// first broken promise.
fn survives(
    always: &[u64],
    rules: SqliteCutRules,
    disks: &Disks,
    vfs: &str,
) -> (u64, SqliteCutTally) {
    let moments = from_environment("GODWIT_CRASH_MOMENTS", MOMENTS);
    let first = from_environment("GODWIT_CRASH_SEED", 1);
    let mut tally = SqliteCutTally::default();
    for seed in always.iter().copied().chain(first..first + moments) {
        let v4 = simulate::<V4>(seed, rules, disks, vfs, &mut tally);
        let both = v4.and_then(|()| simulate::<V6>(seed, rules, disks, vfs, &mut tally));
        if let Err(broken) = both {
            panic!(
                "seed {seed}: {broken}\nrepeat with: cargo xtask crash --only power-sqlite \
                 --moments 1 --seed {seed}"
            );
        }
    }
    println!("crash: {moments} seeds, {tally}");
    (moments, tally)
}

#[test]
fn acknowledged_leases_in_sqlite_survive_power_cuts() {
    let disks = Disks::default();
    disks.register("forgetful");
    let (moments, tally) = survives(&UNFLUSHED_LOG, DURABLE, &disks, "forgetful");
    let writes = disks.database_writes();
    println!("{writes} pages written to databases");
    if moments >= MOMENTS {
        // Opening writes almost nothing, so a cut seldom occurs there.
        assert!(tally.cut_while_running > moments && tally.cut_while_closing > moments / 2);
        assert!(tally.acknowledged > 100 * moments && writes > 10 * moments, "{tally:?}");
    }
}

#[test]
fn what_could_not_be_flushed_is_done_again_over_a_new_connection() {
    let disks = Disks::default();
    disks.register("forgetful-broken");
    let rules = SqliteCutRules { failing_syncs: true, ..DURABLE };
    let (moments, tally) = survives(&[], rules, &disks, "forgetful-broken");
    if moments >= MOMENTS {
        assert!(tally.acknowledged > 50 * moments && tally.reconnected > 5 * moments, "{tally:?}");
    }
}

/// Returns the number of simulations that break a promise.
fn broken<F: SimulatedFamily + SharedRows>(
    rules: SqliteCutRules,
    disks: &Disks,
    vfs: &str,
) -> usize {
    let is_broken = |&seed: &u64| {
        simulate::<F>(seed, rules, disks, vfs, &mut SqliteCutTally::default()).is_err()
    };
    (1..=12).filter(is_broken).count()
}

#[test]
fn the_checker_finds_leases_that_sqlite_did_not_flush() {
    let disks = Disks::default();
    disks.register("forgetful-unflushed");
    let vfs = "forgetful-unflushed";
    for rules in [
        SqliteCutRules { durability: RowDurability::None, ..DURABLE },
        SqliteCutRules { durability: RowDurability::Interval(1_000), ..DURABLE },
        SqliteCutRules { lying_syncs: true, ..DURABLE },
    ] {
        let broken_counts = (broken::<V4>(rules, &disks, vfs), broken::<V6>(rules, &disks, vfs));
        assert!(broken_counts.0 > 6 && broken_counts.1 > 6, "{rules:?}: {broken_counts:?} of 12");
    }
}

#[test]
fn a_disk_without_room_for_the_whole_log_keeps_leases_all_the_same() {
    let disks = Disks::default();
    disks.register("forgetful-small");
    let settings = settings("forgetful-small", RowDurability::Always, 1000);
    let small = StorageFaults { capacity_bytes: Some(2 << 20), ..StorageFaults::default() };
    let disk = PowerCutStorage::new(5, small.clone());
    disks.mount(Path::new(FOLDER), disk.clone());
    Database::open(&settings).and_then(|mut new| new.install(Schema::Current)).unwrap();
    let (connection, leases) = open::<V4>(&settings, &disk).unwrap();
    let log = disk.contents(&Path::new(FOLDER).join("leases.db-wal"));
    assert!(log.is_none_or(|octets| octets.is_empty()), "room is given back");
    let now = Now { mono_ns: 1, wall_us: 1_800_000_000_000_000 };
    let mut random = Random::from_seed(6);
    let mut simulation =
        SqliteCutSimulation::<V4>::new(&mut random, now, disk.clone(), connection, &leases);
    for _ in 0..40 {
        let shards = &mut simulation.stores;
        act(simulation.random, now, &simulation.pools, &mut shards[0], &mut simulation.ledger)
            .unwrap();
        simulation.round().unwrap();
        simulation.ledger.settle_unless(simulation.stores[0].settled_epoch(), |_, _| false);
    }
    let ledger = simulation.ledger;
    assert!(ledger.acknowledged > 10, "{} acknowledged", ledger.acknowledged);
    let disk = disk.after(DiskAfterCut::PowerFailed, small);
    disks.mount(Path::new(FOLDER), disk.clone());
    let (_, leases) = open::<V4>(&settings, &disk).unwrap();
    ledger.check(&leases, now.wall_s()).unwrap();
}
