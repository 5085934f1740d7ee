//! Opening and closing of a measured lease store: in its folder, or by connections to its database
//! server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::{ToolError, ToolResult};
use dhcp_lease::MemoryStore;
use dhcp_lease::v4::V4;
use dhcp_store::database::{
    DatabaseThread, DatabaseThreadOptions, LeaseDatabaseConnection, OnLoss,
};
use dhcp_store::log::{self, CoreOptions, LogFailureReaction, LogThread, SharedLogState};
use dhcp_store::sql::{self, Schema, SharedLeases};
use dhcp_store::{DatabaseStore, Memfile, MemfileStore, OpenOptions, RowDurability};
use netio::Clock;

use crate::flush::{CountedDatabase, CountedStorage, StoreWriteCounters};
use crate::plain::{self, PlainStore};
use crate::server::DatabaseServer;
use crate::shared_path::{self, SharedPath};
use crate::subject::{BenchmarkSubject, ChangeSafety, SubjectBackend, Tables, TransactionSharing};
use crate::tally::StepRunResult;
use crate::workload::WorkloadStep;

/// Environment of a measured lease store: folder, database server and parameters of a run.
pub(crate) struct SubjectEnvironment<'p> {
    /// Folder that belongs to this run alone.
    pub(crate) folder: &'p Path,
    /// Path of the lease file or of SQLite's file, if it is outside the folder.
    pub(crate) file: Option<&'p Path>,
    /// Server of the database; `None` for a store without one.
    pub(crate) server: Option<&'p DatabaseServer>,
    /// Delay that the measurement adds to every flush.
    pub(crate) delay: Duration,
    pub(crate) records: u32,
    pub(crate) seed: u64,
}

/// Open store on which the steps of a benchmark can run.
pub(crate) enum Opened {
    Memory(SharedPath<MemoryStore<V4>>),
    Memfile(SharedPath<MemfileStore<V4>>, LogThread),
    Database(SharedPath<DatabaseStore<V4>>, DatabaseThread<V4>),
    Plain(PlainStore),
}

/// Opens the lease store of `subject`, which is empty at first. Counts its flushes and transactions
/// in `counts`.
pub(crate) fn open(
    subject: &BenchmarkSubject,
    environment: &SubjectEnvironment<'_>,
    counts: &Arc<StoreWriteCounters>,
) -> ToolResult<Opened> {
    if subject.tables == Tables::Ubench2012 {
        return plain::open(subject, environment, counts).map(Opened::Plain);
    }
    match subject.backend {
        SubjectBackend::Memory => {
            let (table, pools) = shared_path::table(environment.records, environment.seed);
            let store = MemoryStore::new(table);
            let is_emptied_first = subject.sharing != TransactionSharing::Adaptive;
            Ok(Opened::Memory(SharedPath::new(store, pools, subject.window(), is_emptied_first)))
        }
        SubjectBackend::Memfile => memfile(subject, environment, counts),
        SubjectBackend::Sqlite | SubjectBackend::Mysql | SubjectBackend::Pgsql => {
            database(subject, environment, counts)
        }
    }
}

/// Creates the state that a store shares with its shards, whose waker wakes the calling thread.
fn shards() -> Arc<SharedLogState> {
    let caller = std::thread::current();
    SharedLogState::new(1, move |_| caller.unpark())
}

const fn durability(mode: ChangeSafety) -> RowDurability {
    match mode {
        ChangeSafety::Sync => RowDurability::Always,
        ChangeSafety::Async => RowDurability::None,
        ChangeSafety::Other => RowDurability::Interval(1000),
    }
}

fn memfile(
    subject: &BenchmarkSubject,
    environment: &SubjectEnvironment<'_>,
    counts: &Arc<StoreWriteCounters>,
) -> ToolResult<Opened> {
    let path = match environment.file {
        Some(path) => path.to_owned(),
        None => environment.folder.join("leases4.csv"),
    };
    let tried = || format!("open {}", path.display());
    let storage = Arc::new(CountedStorage::new(counts.clone(), environment.delay));
    let options = OpenOptions { threads: 1, ..OpenOptions::default() };
    let (file, leases, _) = Memfile::open::<V4>(storage, &path, options)
        .map_err(|error| ToolError::failed(tried(), error))?;
    if !leases.is_empty() {
        return Err(ToolError::failed(
            tried(),
            format!("the file already has {} leases", leases.len()),
        ));
    }
    let (table, pools) = shared_path::table(environment.records, environment.seed);
    let core = CoreOptions { durability: durability(subject.mode), lfc_interval_s: 0 };
    let options = log::LogThreadOptions { core, on_fail: LogFailureReaction::Stop };
    let thread = LogThread::start(shards(), file, options, Box::new(Clock::now))
        .map_err(|error| ToolError::failed("start a thread", error))?;
    let store = MemfileStore::new(table, thread.shard(0));
    let is_emptied_first = subject.sharing != TransactionSharing::Adaptive;
    let path = SharedPath::new(store, pools, subject.window(), is_emptied_first);
    Ok(Opened::Memfile(path, thread))
}

fn database(
    subject: &BenchmarkSubject,
    environment: &SubjectEnvironment<'_>,
    counts: &Arc<StoreWriteCounters>,
) -> ToolResult<Opened> {
    let settings = match environment.server {
        Some(server) => server.settings(subject)?,
        None => sqlite(subject, environment)?,
    };
    let mut database =
        CountedDatabase::new(SharedLeases::new(settings), counts.clone(), environment.delay);
    LeaseDatabaseConnection::<V4>::connect(&mut database).map_err(ToolError::from_message)?;
    let mut row_count = 0;
    LeaseDatabaseConnection::<V4>::load(&mut database, &mut |_| row_count += 1)
        .map_err(ToolError::from_message)?;
    if row_count > 0 {
        return Err(ToolError::failed(
            "begin",
            format!("the table already has {row_count} leases"),
        ));
    }
    let (table, pools) = shared_path::table(environment.records, environment.seed);
    let options =
        DatabaseThreadOptions { on_loss: OnLoss { tries_max: 0, wait_ms: 0 }, is_shared: false };
    let thread = DatabaseThread::start(shards(), table, database, options, Box::new(Clock::now))
        .map_err(|error| ToolError::failed("start a thread", error))?;
    let is_emptied_first = subject.sharing != TransactionSharing::Adaptive;
    let path = SharedPath::new(thread.store(0), pools, subject.window(), is_emptied_first);
    Ok(Opened::Database(path, thread))
}

/// Creates an SQLite file with Kea's tables, and returns the settings to open it.
fn sqlite(
    subject: &BenchmarkSubject,
    environment: &SubjectEnvironment<'_>,
) -> ToolResult<sql::SqlSettings> {
    let path = match environment.file {
        Some(path) => path.to_owned(),
        None => environment.folder.join("leases.sqlite"),
    };
    let settings = sql::SqlSettings {
        durability: durability(subject.mode),
        ..sql::SqlSettings::new(sql::SqlDatabaseKind::Sqlite, path.display().to_string())
    };
    let mut database = sql::Database::open(&settings).map_err(ToolError::from_message)?;
    database.install(Schema::Current).map_err(ToolError::from_message)?;
    Ok(settings)
}

impl Opened {
    /// Runs the operations of `step` on the records with these numbers.
    pub(crate) fn step(
        &mut self,
        step: WorkloadStep,
        numbers: &[u32],
        tally: &mut StepRunResult,
    ) -> ToolResult<()> {
        match self {
            Self::Memory(path) => path.step(step, numbers, tally),
            Self::Memfile(path, thread) => {
                let done = path.step(step, numbers, tally);
                done.map_err(|error| thread.failure().map_or(error, ToolError::from_message))
            }
            Self::Database(path, thread) => {
                let done = path.step(step, numbers, tally);
                let problems = thread.take_problems();
                done.map_err(|error| {
                    if problems.is_empty() {
                        error
                    } else {
                        ToolError::from_message(problems.join("; "))
                    }
                })
            }
            Self::Plain(plain) => plain.step(step, numbers, tally),
        }
    }

    /// Writes the rows that are still waiting, and closes the store.
    pub(crate) fn close(self) -> ToolResult<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Memfile(path, thread) => {
                drop(path);
                thread.stop().map_err(ToolError::from_message)
            }
            Self::Database(path, thread) => {
                drop(path);
                thread.stop().map_err(ToolError::from_message)
            }
            Self::Plain(plain) => plain.close(),
        }
    }
}
