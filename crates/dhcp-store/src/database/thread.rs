//! Thread that runs rounds over a lease database when shards request them, and connects to the
//! database again after a lost connection. With a database that can be flushed during the next
//! round, a second thread flushes.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use base::time::NS_PER_MS;
use dhcp_lease::LeaseTable;

use super::contract::{DatabaseError, LeaseDatabaseConnection};
use super::core::{DatabaseCore, RoundEnd};
use super::family::SharedLeaseFamily;
use super::flusher::Flusher;
use super::journal::SharedJournal;
use super::refusals::Refusals;
use crate::log::{Clock, ShardLog, SharedLogState, ThreadWakeup};
use crate::store::DatabaseStore;

/// Reaction of the store to a lost database connection (Kea's `max-reconnect-tries`,
/// `reconnect-wait-time`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnLoss {
    /// Maximum number of attempts to connect to the database again before the store gives up;
    /// `u32::MAX` for no limit (Kea's `max-reconnect-tries`).
    pub tries_max: u32,
    /// Time between attempts to connect to the database again, in milliseconds (Kea's
    /// `reconnect-wait-time`).
    pub wait_ms: u32,
}

/// Options of the database thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseThreadOptions {
    /// Reaction to a lost database connection.
    pub on_loss: OnLoss,
    /// True if other servers write to the database as well.
    pub is_shared: bool,
}

/// Running database thread. It stops when the value is dropped.
#[derive(Debug)]
pub struct DatabaseThread<F: SharedLeaseFamily> {
    state: Arc<DatabaseThreadState>,
    table: Arc<LeaseTable<F>>,
    refusals: Arc<Refusals>,
    conflicts: Arc<AtomicU64>,
    transactions: Arc<AtomicU64>,
    rejections: Arc<AtomicU64>,
    is_shared: bool,
    thread: Option<JoinHandle<()>>,
    flushing: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct DatabaseThreadState {
    shards: Arc<SharedLogState>,
    wakeup: Arc<ThreadWakeup>,
    stops: AtomicBool,
    is_disconnected: AtomicBool,
    messages: Mutex<OperatorMessages>,
    flusher: Flusher,
}

/// Messages of the database thread for the operator, kept until the server takes them.
#[derive(Debug, Default)]
struct OperatorMessages {
    problems: Vec<String>,
    failure: Option<DatabaseError>,
}

/// Maximum number of messages of the database thread that are kept until the server takes them.
const PROBLEMS_MAX: usize = 64;

impl<F: SharedLeaseFamily> DatabaseThread<F> {
    /// Starts the database thread over a connected `database` for `shards`, whose leases are in
    /// `table`.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if it cannot create a thread.
    pub fn start(
        shards: Arc<SharedLogState>,
        table: Arc<LeaseTable<F>>,
        database: impl LeaseDatabaseConnection<F> + 'static,
        options: DatabaseThreadOptions,
        clock: Clock,
    ) -> io::Result<Self> {
        let refusals = Arc::<Refusals>::default();
        let mut core = DatabaseCore::new(shards.clone(), table.clone(), refusals.clone(), database);
        core.reconnect_at_once();
        let (conflicts, transactions) = (core.conflicts(), core.transactions());
        let rejections = core.rejections();
        let flushes = core.flushes();
        let is_flushed_beside = flushes.needs_flush();
        let state = Arc::new(DatabaseThreadState {
            shards,
            wakeup: Arc::default(),
            stops: AtomicBool::new(false),
            is_disconnected: AtomicBool::new(false),
            messages: Mutex::default(),
            flusher: Flusher::new(flushes),
        });
        let is_shared = options.is_shared;
        let mut started = Self {
            state: state.clone(),
            table,
            refusals,
            conflicts,
            transactions,
            rejections,
            is_shared,
            thread: None,
            flushing: None,
        };
        let clock = Arc::new(clock);
        if is_flushed_beside {
            let (running, clock) = (state.clone(), clock.clone());
            let flushing = std::thread::Builder::new()
                .name("lease-flush".into())
                .spawn(move || running.flusher.run(&running.wakeup, &clock))?;
            started.flushing = Some(flushing);
        }
        let thread = std::thread::Builder::new()
            .name("lease-database".into())
            .spawn(move || state.run(core, options.on_loss, is_flushed_beside, &clock))?;
        started.thread = Some(thread);
        Ok(started)
    }

    /// Returns the lease store of shard number `shard`.
    #[must_use]
    pub fn store(&self, shard: usize) -> DatabaseStore<F> {
        assert!(shard < self.state.shards.count(), "shards are numbered from 0");
        let log = ShardLog::with_writer_wakeup(
            self.state.shards.clone(),
            shard,
            self.state.wakeup.clone(),
        );
        let journal = SharedJournal::new(self.refusals.clone(), self.is_shared);
        DatabaseStore::with_journal(self.table.clone(), log, journal)
    }

    /// Returns the number of rounds that were repeated at once after a conflict with other writers
    /// (deadlocks, writes at another node of a cluster).
    #[must_use]
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// Returns the number of database transactions that wrote something.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }

    /// Returns the number of leases that were not written to the database because their contents do
    /// not fit it.
    #[must_use]
    pub fn rejections(&self) -> u64 {
        self.rejections.load(Ordering::Relaxed)
    }

    /// Returns the database error after which the store gave up.
    #[must_use]
    pub fn failure(&self) -> Option<DatabaseError> {
        self.state.messages().failure.clone()
    }

    /// Returns true if the store has no database connection at present.
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.state.is_disconnected.load(Ordering::Relaxed)
    }

    /// Takes the database thread's messages for the operator since the last call.
    #[must_use]
    pub fn take_problems(&self) -> Vec<String> {
        std::mem::take(&mut self.state.messages().problems)
    }

    /// Writes all submitted rows to the database and ends the thread. Shards must have ended.
    ///
    /// # Errors
    ///
    /// Returns the error of the rows that could not be written.
    pub fn stop(mut self) -> Result<(), DatabaseError> {
        self.join();
        self.failure().map_or(Ok(()), Err)
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.state.stops.store(true, Ordering::SeqCst);
            thread.thread().unpark();
            // The panic was reported where it happened; it must not become a second one here.
            let _ = thread.join();
        }
        if let Some(flushing) = self.flushing.take() {
            self.state.flusher.stop();
            let _ = flushing.join();
        }
    }
}

impl<F: SharedLeaseFamily> Drop for DatabaseThread<F> {
    fn drop(&mut self) {
        self.join();
    }
}

impl DatabaseThreadState {
    fn messages(&self) -> std::sync::MutexGuard<'_, OperatorMessages> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, problem: String) {
        let mut messages = self.messages();
        if messages.problems.len() < PROBLEMS_MAX {
            messages.problems.push(problem);
        }
    }

    fn run<F: SharedLeaseFamily, D: LeaseDatabaseConnection<F>>(
        &self,
        mut core: DatabaseCore<F, D>,
        on_loss: OnLoss,
        is_flushed_beside: bool,
        clock: &Clock,
    ) {
        self.wakeup.register_thread();
        let mut retry: Option<Retry> = None;
        let mut has_work = false;
        while !self.stops.load(Ordering::SeqCst) {
            has_work |= self.wakeup.take_pending();
            match &mut retry {
                None if has_work => {
                    has_work = false;
                    let end = if is_flushed_beside {
                        self.parts(&mut core, clock)
                    } else {
                        core.round(clock())
                    };
                    core.take_problems().into_iter().for_each(|problem| self.report(problem));
                    if let RoundEnd::ConnectionLost(error) = end {
                        self.report(format!("leases cannot be written: {error}"));
                        self.is_disconnected.store(true, Ordering::Relaxed);
                        retry = Some(Retry { remaining_tries: on_loss.tries_max, at_ns: 0, error });
                        continue;
                    }
                }
                Some(waiting) if clock().mono_ns >= waiting.at_ns => {
                    if self.reconnect(&mut core, waiting, on_loss, clock) {
                        self.is_disconnected.store(false, Ordering::Relaxed);
                        retry = None;
                        continue;
                    }
                }
                None | Some(_) => {}
            }
            if self.messages().failure.is_some() {
                return;
            }
            self.sleep(retry.as_ref().map(|retry| retry.at_ns), clock);
        }
        let end = core.round(clock());
        match (end, retry) {
            (RoundEnd::ConnectionLost(error), _)
            | (RoundEnd::StillDisconnected, Some(Retry { error, .. })) => {
                self.messages().failure = Some(error);
            }
            _ => {}
        }
    }

    /// Runs a database round in parts, each of which is flushed while the next one runs.
    fn parts<F: SharedLeaseFamily, D: LeaseDatabaseConnection<F>>(
        &self,
        core: &mut DatabaseCore<F, D>,
        clock: &Clock,
    ) -> RoundEnd {
        core.set_changes_max(self.flusher.changes_max());
        core.take_requests();
        loop {
            let writes = core.next_writes().unwrap_or(0);
            let now = clock();
            match core.run_next_part(now) {
                None => return RoundEnd::Done,
                Some(RoundEnd::Done) => {
                    let time_ns = clock().mono_ns.saturating_sub(now.mono_ns);
                    let others_wait = core.next_writes().is_some() || self.wakeup.is_pending();
                    self.flusher.flush_part(writes, time_ns, others_wait, clock);
                }
                Some(end) => return end,
            }
        }
    }

    /// Tries once to connect to the database; returns false if that failed.
    fn reconnect<F: SharedLeaseFamily, D: LeaseDatabaseConnection<F>>(
        &self,
        core: &mut DatabaseCore<F, D>,
        retry: &mut Retry,
        on_loss: OnLoss,
        clock: &Clock,
    ) -> bool {
        if retry.remaining_tries == 0 {
            self.messages().failure = Some(retry.error.clone());
            return false;
        }
        match core.reconnect(clock()) {
            Ok(notes) => {
                notes.into_iter().for_each(|note| self.report(note));
                self.report("connected to the lease database again".to_owned());
                true
            }
            Err(error) => {
                if on_loss.tries_max != u32::MAX {
                    retry.remaining_tries -= 1;
                }
                retry.at_ns = clock().mono_ns + u64::from(on_loss.wait_ms) * NS_PER_MS;
                retry.error = error;
                false
            }
        }
    }

    /// Parks the database thread until a shard wakes it or it is time to connect to the database
    /// again.
    fn sleep(&self, until_ns: Option<u64>, clock: &Clock) {
        if self.stops.load(Ordering::SeqCst) || (until_ns.is_none() && self.wakeup.is_pending()) {
            return;
        }
        match until_ns {
            Some(until_ns) => {
                let remaining_ns = until_ns.saturating_sub(clock().mono_ns);
                std::thread::park_timeout(Duration::from_nanos(remaining_ns));
            }
            None => std::thread::park(),
        }
    }
}

/// Lost database connection, with its attempts to connect again.
struct Retry {
    remaining_tries: u32,
    at_ns: u64,
    error: DatabaseError,
}
