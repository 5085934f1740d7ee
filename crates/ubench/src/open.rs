//! Opens and closes a subject: the store in its folder, or the connections to its server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dhcp_lease::MemoryStore;
use dhcp_lease::v4::V4;
use dhcp_store::database::{DatabaseThread, LeaseDatabase, OnLoss, ThreadOptions};
use dhcp_store::log::{self, CoreOptions, LogThread, OnFail, Shards};
use dhcp_store::sql::{self, Schema, SharedLeases};
use dhcp_store::{DatabaseStore, Durability, Memfile, MemfileStore, OpenOptions};
use netio::Clock;

use crate::error::UbenchError;
use crate::flush::{CountedDatabase, CountedStorage, Counts};
use crate::plain::{self, Plain};
use crate::server::Server;
use crate::shared_path::{self, SharedPath};
use crate::subject::{Backend, Mode, Sharing, Subject, Tables};
use crate::tally::Tally;
use crate::workload::Step;

/// Environment of a subject: folder, server and parameters of a run.
pub(crate) struct Place<'p> {
    /// Folder of this run alone.
    pub(crate) folder: &'p Path,
    /// Path of the lease file or SQLite's file, if it is outside the folder.
    pub(crate) file: Option<&'p Path>,
    /// Server of the database, if it has one.
    pub(crate) server: Option<&'p Server>,
    /// Delay added to every flush.
    pub(crate) delay: Duration,
    pub(crate) records: u32,
    pub(crate) seed: u64,
}

/// Open store that steps can run on.
pub(crate) enum Opened {
    Memory(SharedPath<MemoryStore<V4>>),
    Memfile(SharedPath<MemfileStore<V4>>, LogThread),
    Database(SharedPath<DatabaseStore<V4>>, DatabaseThread<V4>),
    Plain(Plain),
}

/// Opens `subject`, empty. Counts its flushes and transactions in `counts`.
pub(crate) fn open(
    subject: &Subject,
    place: &Place<'_>,
    counts: &Arc<Counts>,
) -> Result<Opened, UbenchError> {
    if subject.tables == Tables::Ubench2012 {
        return plain::open(subject, place, counts).map(Opened::Plain);
    }
    match subject.backend {
        Backend::Memory => {
            let (table, pools) = shared_path::table(place.records, place.seed);
            let store = MemoryStore::new(table);
            let is_emptied_first = subject.sharing != Sharing::Adaptive;
            Ok(Opened::Memory(SharedPath::new(store, pools, subject.window(), is_emptied_first)))
        }
        Backend::Memfile => memfile(subject, place, counts),
        Backend::Sqlite | Backend::Mysql | Backend::Pgsql => database(subject, place, counts),
    }
}

/// Creates shards that wake the calling thread.
fn shards() -> Arc<Shards> {
    let caller = std::thread::current();
    Shards::new(1, move |_| caller.unpark())
}

const fn durability(mode: Mode) -> Durability {
    match mode {
        Mode::Sync => Durability::Always,
        Mode::Async => Durability::None,
        Mode::Other => Durability::Interval(1000),
    }
}

fn memfile(
    subject: &Subject,
    place: &Place<'_>,
    counts: &Arc<Counts>,
) -> Result<Opened, UbenchError> {
    let path = match place.file {
        Some(path) => path.to_owned(),
        None => place.folder.join("leases4.csv"),
    };
    let tried = || format!("open {}", path.display());
    let storage = Arc::new(CountedStorage::new(counts.clone(), place.delay));
    let options = OpenOptions { threads: 1, ..OpenOptions::default() };
    let (file, leases, _) = Memfile::open::<V4>(storage, &path, options)
        .map_err(|error| UbenchError::failed(tried(), error))?;
    if !leases.is_empty() {
        return Err(UbenchError::failed(tried(), format!("it holds {} leases", leases.len())));
    }
    let (table, pools) = shared_path::table(place.records, place.seed);
    let core = CoreOptions { durability: durability(subject.mode), lfc_interval_s: 0 };
    let options = log::ThreadOptions { core, on_fail: OnFail::Stop };
    let thread = LogThread::start(shards(), file, options, Box::new(Clock::now))
        .map_err(|error| UbenchError::failed("start a thread", error))?;
    let store = MemfileStore::new(table, thread.shard(0));
    let is_emptied_first = subject.sharing != Sharing::Adaptive;
    let path = SharedPath::new(store, pools, subject.window(), is_emptied_first);
    Ok(Opened::Memfile(path, thread))
}

fn database(
    subject: &Subject,
    place: &Place<'_>,
    counts: &Arc<Counts>,
) -> Result<Opened, UbenchError> {
    let settings = match place.server {
        Some(server) => server.settings(subject)?,
        None => sqlite(subject, place)?,
    };
    let mut database =
        CountedDatabase::new(SharedLeases::new(settings), counts.clone(), place.delay);
    LeaseDatabase::<V4>::connect(&mut database).map_err(UbenchError::said)?;
    let mut found = 0;
    LeaseDatabase::<V4>::load(&mut database, &mut |_| found += 1).map_err(UbenchError::said)?;
    if found > 0 {
        return Err(UbenchError::failed("begin", format!("the table holds {found} leases")));
    }
    let (table, pools) = shared_path::table(place.records, place.seed);
    let options = ThreadOptions { on_loss: OnLoss { tries_max: 0, wait_ms: 0 }, is_shared: false };
    let thread = DatabaseThread::start(shards(), table, database, options, Box::new(Clock::now))
        .map_err(|error| UbenchError::failed("start a thread", error))?;
    let is_emptied_first = subject.sharing != Sharing::Adaptive;
    let path = SharedPath::new(thread.store(0), pools, subject.window(), is_emptied_first);
    Ok(Opened::Database(path, thread))
}

/// Creates a file with Kea's tables, and returns its settings.
fn sqlite(subject: &Subject, place: &Place<'_>) -> Result<sql::Settings, UbenchError> {
    let path = match place.file {
        Some(path) => path.to_owned(),
        None => place.folder.join("leases.sqlite"),
    };
    let settings = sql::Settings {
        durability: durability(subject.mode),
        ..sql::Settings::new(sql::Backend::Sqlite, path.display().to_string())
    };
    let mut database = sql::Database::open(&settings).map_err(UbenchError::said)?;
    database.install(Schema::Current).map_err(UbenchError::said)?;
    Ok(settings)
}

impl Opened {
    /// Runs `step` for the records of these numbers.
    pub(crate) fn step(
        &mut self,
        step: Step,
        numbers: &[u32],
        tally: &mut Tally,
    ) -> Result<(), UbenchError> {
        match self {
            Self::Memory(path) => path.step(step, numbers, tally),
            Self::Memfile(path, thread) => {
                let done = path.step(step, numbers, tally);
                done.map_err(|error| thread.failure().map_or(error, UbenchError::said))
            }
            Self::Database(path, thread) => {
                let done = path.step(step, numbers, tally);
                let problems = thread.take_problems();
                done.map_err(|error| match problems.is_empty() {
                    true => error,
                    false => UbenchError::said(problems.join("; ")),
                })
            }
            Self::Plain(plain) => plain.step(step, numbers, tally),
        }
    }

    /// Writes the remaining rows, and closes the store.
    pub(crate) fn close(self) -> Result<(), UbenchError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Memfile(path, thread) => {
                drop(path);
                thread.stop().map_err(UbenchError::said)
            }
            Self::Database(path, thread) => {
                drop(path);
                thread.stop().map_err(UbenchError::said)
            }
            Self::Plain(plain) => plain.close(),
        }
    }
}
