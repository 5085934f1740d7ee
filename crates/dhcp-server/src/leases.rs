//! Lease backends that the shards serve from: opened from the lease file or from a database, or in
//! memory only.

mod database;
#[cfg(test)]
mod tests;

pub(crate) use database::settings as sql_settings;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use base::{Now, Prefetch};
use dhcp_config::{DhcpConfig, Durability, GlobalSettings, OnFail};
use dhcp_lease::contract::{ChangeOf, ExpectedSlot, Facts, FetchKeys, LeaseSearch};
use dhcp_lease::{
    Answer, ClockStart, ClockStep, CommitRefusal, ExchangeCell, ExchangeDetail, Lease, LeaseStore,
    LeaseTable, MemoryStore, PutMode, PutRefusal, Receipt, SweepCounts,
};
use dhcp_store::database::DatabaseThread;
use dhcp_store::log::{self, CoreOptions, LogThread, LogThreadOptions, SharedLogState};
use dhcp_store::memfile::{
    LeaseFileFamily, LoadReport, Memfile, OpenOptions, decode_row, encode_row, newest,
    rows_of_table,
};
use dhcp_store::sql::SharedRows;
use dhcp_store::storage::DiskStorage;
use dhcp_store::{DatabaseStore, MemfileStore, OpenError};
use netio::Clock;

use crate::ServerError;
use crate::events::DurabilityWakeup;
use crate::loading::LeaseTableIntake;
use crate::log::counted;
use crate::loggers::DHCPSRV;
use crate::service::DaemonFamily;

/// Time in milliseconds between attempts to write a new lease file after the old one was lost, and
/// minimum time between attempts to reconnect to the lease database when their number is unlimited.
const RETRY_MS: u32 = 1_000;
/// Minimum step of the wall clock that is logged, in seconds.
const LOGGED_STEP_S: u64 = 60;
/// Maximum number of attempts to write a new lease file before the server ends, if `on-fail`
/// demands that it ends.
const TRIES_MAX: u32 = 30;

/// Returns the lease in `row`, a row of a lease file with all columns and without its line end, as
/// partners send it; `None` if it is none.
pub(crate) fn lease_of_row<P: DaemonFamily>(row: &str) -> Option<Lease<P>> {
    let mut line = Vec::with_capacity(row.len() + 1);
    line.extend_from_slice(row.as_bytes());
    line.push(b'\n');
    decode_row(&line).ok()
}

/// Returns `lease` as a row of a lease file with all columns and without its line end.
pub(crate) fn row_of_lease<P: DaemonFamily>(lease: &Lease<P>) -> String {
    let mut row = Vec::new();
    encode_row(&lease.row(), newest::<P>(), &mut row);
    row.pop();
    // The texts of a lease are UTF-8, so that nothing is replaced.
    String::from_utf8(row)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Lease backend: the place that keeps the server's leases.
pub(crate) enum LeaseBackend<P: DaemonFamily> {
    /// Lease table in memory only (Kea's `persist: false`).
    Memory(Arc<LeaseTable<P>>),
    /// Lease table in memory, with a lease file that the log thread writes.
    File(Arc<LeaseTable<P>>, LogThread),
    /// Database of leases, with the thread that writes it.
    Database(DatabaseThread<P>),
}

impl<P: DaemonFamily> LeaseBackend<P> {
    /// Opens the lease backend of `config`, loads its leases into `table` through `loading`, and
    /// starts its writer, which wakes the shards that wait for rows by `wakeup`.
    pub(crate) fn open(
        config: &DhcpConfig<P>,
        loading: LeaseTableIntake<'_, P>,
        table: &Arc<LeaseTable<P>>,
        wakeup: DurabilityWakeup,
    ) -> Result<Self, ServerError> {
        let global = &config.global;
        let database = &global.lease_database;
        // The supervisor, the feed of events and the synchronization with each partner have one
        // more shard number each, and wait without being woken.
        let (shards, is_database) = (wakeup.shards.len(), database.sql.is_some());
        let woken = move |shard| {
            if is_database {
                wakeup.wake_shard(shard);
            } else if shard < shards {
                wakeup.wake_for_replies(shard);
            }
        };
        let log_shards = SharedLogState::new(shards + 2 + global.high_availability.len(), woken);
        if let Some(sql) = &database.sql {
            let opened = database::open(global, sql, loading)?;
            let thread = database::start(global, sql, opened, log_shards, Arc::clone(table))?;
            follow_clock(table);
            return Ok(Self::Database(thread));
        }
        if !database.persist {
            tracing::warn!(
                target: DHCPSRV,
                id = "DHCPSRV_MEMFILE_NO_STORAGE",
                "leases are kept in memory only and end with the server"
            );
            follow_clock(table);
            return Ok(Self::Memory(Arc::clone(table)));
        }
        let path = lease_file::<P>(config);
        let options = OpenOptions {
            max_row_errors: database.max_row_errors,
            threads: 0,
            skips_flush: global.godwit.durability == Durability::None,
            wall_s: Clock::now().wall_s(),
        };
        let (memfile, report) =
            Memfile::open_into::<P>(Arc::new(DiskStorage), &path, options, &loading)
                .map_err(|error: OpenError| ServerError::Leases(error.to_string()))?;
        log_report(&report, &path);
        let count = counted(loading.finish(), "lease");
        tracing::info!(
            target: DHCPSRV,
            id = "DHCPSRV_MEMFILE_LEASE_FILE_LOAD",
            "loaded {count} from {}", path.display()
        );
        let has_moved = follow_clock(table);
        let thread = LogThread::start(
            log_shards,
            memfile,
            thread_options(global, table),
            Box::new(Clock::now),
        )
        .map_err(|cause| ServerError::System { tried: "start the log thread", cause })?;
        if has_moved {
            thread.request_rewrite();
        }
        Ok(Self::File(Arc::clone(table), thread))
    }

    /// Returns true if the leases are in memory only.
    pub(crate) const fn is_volatile(&self) -> bool {
        matches!(self, Self::Memory(_))
    }

    /// Returns the lease store of shard number `shard`. The number after the last shard is the
    /// supervisor's, the next one that of the feed of lease events, and the one after that is for
    /// leases of a partner, the first one if there are several.
    pub(crate) fn store(&self, shard: usize) -> ServerStore<P> {
        match self {
            Self::Memory(table) => ServerStore::Memory(MemoryStore::new(Arc::clone(table))),
            Self::File(table, thread) => {
                ServerStore::File(MemfileStore::new(Arc::clone(table), thread.shard(shard)))
            }
            Self::Database(thread) => ServerStore::Database(thread.store(shard)),
        }
    }

    /// Logs the problems of the lease writer's thread; returns true if the thread has given up.
    pub(crate) fn report_problems(&self) -> bool {
        let (problems, has_given_up) = match self {
            Self::Memory(_) => return false,
            Self::File(_, thread) => (thread.take_problems(), thread.has_given_up()),
            Self::Database(thread) => (thread.take_problems(), thread.failure().is_some()),
        };
        for problem in problems {
            tracing::error!(target: DHCPSRV, id = "DHCPSRV_LEASE_STORE_FAILED", "{problem}");
        }
        has_given_up
    }

    /// Logs steps of the wall clock, and requests that the lease file is rewritten if the steps
    /// have moved times of leases.
    #[must_use]
    pub(crate) fn follow_clock_steps(&self, table: &LeaseTable<P>) -> bool {
        let mut is_any_moved = false;
        for ClockStep { by_s, leases } in table.take_clock_steps() {
            if by_s.unsigned_abs() >= LOGGED_STEP_S {
                let direction = if by_s > 0 { "forward" } else { "back" };
                tracing::warn!(
                    target: DHCPSRV,
                    id = "DHCPSRV_CLOCK_SET",
                    "the clock was set {direction} by {} s: {} moved with it, so that each lease \
                     lasts for its lifetime",
                    by_s.unsigned_abs(),
                    counted(leases as usize, "lease")
                );
            }
            is_any_moved |= leases > 0;
            if let Self::File(_, thread) = self
                && leases > 0
            {
                thread.request_rewrite();
            }
        }
        is_any_moved
    }

    /// Returns the counter with the present size of the lease file in bytes; `None` if there is no
    /// lease file.
    pub(crate) fn file_size(&self) -> Option<Arc<AtomicU64>> {
        match self {
            Self::File(_, thread) => Some(thread.size()),
            Self::Memory(_) | Self::Database(_) => None,
        }
    }

    /// Returns true while the server has lost its lease database and tries to reconnect.
    pub(crate) fn is_disconnected(&self) -> bool {
        matches!(self, Self::Database(thread) if thread.is_disconnected())
    }

    /// Writes and flushes all submitted lease rows. Shards must have ended.
    pub(crate) fn close(self) -> Result<(), ServerError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(_, thread) => {
                thread.stop().map_err(|failure| ServerError::LeasesLost(failure.to_string()))
            }
            Self::Database(thread) => {
                thread.stop().map_err(|failure| ServerError::LeasesLost(failure.to_string()))
            }
        }
    }
}

/// Logs the problems of the lease files that `report` contains.
fn log_report(report: &LoadReport, path: &Path) {
    for error in &report.errors {
        tracing::warn!(target: DHCPSRV, id = "DHCPSRV_MEMFILE_LEASE_LOAD_ROW_ERROR", "{error}");
    }
    if report.torn_octets > 0 {
        tracing::warn!(
            target: DHCPSRV,
            id = "DHCPSRV_MEMFILE_LEASE_FILE_CUT",
            "cut {} bytes off the end of the lease file: a row that a crash left unfinished",
            report.torn_octets
        );
    }
    for copy in &report.damaged_copies {
        tracing::warn!(
            target: DHCPSRV,
            id = "DHCPSRV_MEMFILE_LEASE_FILE_DAMAGED",
            "lease file {} is damaged: another program has cut or changed it, or one next to it; \
             set aside as {}, and its sound rows were loaded",
            path.display(),
            copy.display()
        );
    }
}

/// Makes the loaded lease table `table` follow steps of the wall clock; returns true if that moved
/// times of leases.
fn follow_clock<P: DaemonFamily>(table: &LeaseTable<P>) -> bool {
    let ClockStart { ahead_s, leases } = table.follow_clock(Clock::now());
    if ahead_s >= LOGGED_STEP_S {
        tracing::warn!(
            target: DHCPSRV,
            id = "DHCPSRV_CLOCK_BEHIND",
            "the clock is behind: the times of {} are up to {ahead_s} s in the future; these \
             leases last for their lifetimes from now on",
            counted(leases as usize, "lease")
        );
    }
    leases > 0
}

/// Returns the path of the lease file of `config`.
pub(crate) fn lease_file<P: DaemonFamily>(config: &DhcpConfig<P>) -> PathBuf {
    // An absolute name replaces the folder.
    let name = config.global.lease_database.name.as_deref().unwrap_or(P::LEASE_FILE);
    P::data_folder(config).join(name)
}

fn thread_options<P: DaemonFamily>(
    config: &GlobalSettings,
    table: &Arc<LeaseTable<P>>,
) -> LogThreadOptions {
    let durability = match config.godwit.durability {
        Durability::None => log::RowDurability::None,
        Durability::Interval => log::RowDurability::Interval(config.godwit.flush_interval_ms),
        Durability::Always => log::RowDurability::Always,
    };
    let lfc_interval_s = config.lease_database.lfc_interval_s;
    let table = Arc::clone(table);
    let on_fail = log::LogFailureReaction::Restart {
        snapshot: Box::new(move |visit: &mut dyn FnMut(&[u8])| rows_of_table(&table, visit)),
        retry_ms: RETRY_MS,
        tries_max: match config.lease_database.on_fail {
            OnFail::StopRetryExit | OnFail::ServeRetryExit => Some(TRIES_MAX),
            OnFail::ServeRetryContinue => None,
        },
    };
    LogThreadOptions { core: CoreOptions { durability, lfc_interval_s }, on_fail }
}

/// Lease store of a shard: in memory only, with a lease file, or in a database.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per shard, moved once")]
pub(crate) enum ServerStore<F: LeaseFileFamily> {
    Memory(MemoryStore<F>),
    File(MemfileStore<F>),
    Database(DatabaseStore<F>),
}

macro_rules! of_kind {
    ($self:expr, $store:ident => $call:expr) => {
        match $self {
            ServerStore::Memory($store) => $call,
            ServerStore::File($store) => $call,
            ServerStore::Database($store) => $call,
        }
    };
}

impl<F: SharedRows> LeaseStore<F> for ServerStore<F> {
    fn begin_message(&mut self, number: u64) {
        of_kind!(self, store => store.begin_message(number));
    }

    fn set_exchange(&mut self, exchange: Option<&Arc<ExchangeCell>>) {
        of_kind!(self, store => store.set_exchange(exchange));
    }

    fn exchange_detail(&self) -> ExchangeDetail {
        of_kind!(self, store => store.exchange_detail())
    }

    fn is_recording_answers(&self) -> bool {
        of_kind!(self, store => store.is_recording_answers())
    }

    fn record_answer(&mut self, now: Now, answer: &Answer<'_, F>) {
        of_kind!(self, store => store.record_answer(now, answer));
    }

    fn take_event_order(&self) -> u64 {
        of_kind!(self, store => store.take_event_order())
    }

    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_, F>, facts: &mut Facts<F>) {
        of_kind!(self, store => store.fetch(now, keys, facts));
    }

    fn prefetch_message(
        &mut self,
        identity: Option<&F::Identity<'_>>,
        expected: ExpectedSlot<'_, F>,
        prefetch: Prefetch,
    ) {
        of_kind!(self, store => store.prefetch_message(identity, expected, prefetch));
    }

    fn user_context(
        &mut self,
        now: Now,
        address: F::Address,
        identity: &F::Identity<'_>,
        target: &mut String,
    ) -> bool {
        of_kind!(self, store => store.user_context(now, address, identity, target))
    }

    fn find_leases(&mut self, search: LeaseSearch<'_, F>, leases: &mut Vec<Lease<F>>) -> u64 {
        of_kind!(self, store => store.find_leases(search, leases))
    }

    fn commit(&mut self, now: Now, changes: &[ChangeOf<'_, F>]) -> Result<Receipt, CommitRefusal> {
        of_kind!(self, store => store.commit(now, changes))
    }

    fn release_claim(&mut self, address: F::Address) {
        of_kind!(self, store => store.release_claim(address));
    }

    fn reserve_address(&mut self, address: F::Address) {
        of_kind!(self, store => store.reserve_address(address));
    }

    fn submit(&mut self, now: Now) {
        of_kind!(self, store => store.submit(now));
    }

    fn settled_epoch(&self) -> u64 {
        of_kind!(self, store => store.settled_epoch())
    }

    fn sweep(&mut self, now: Now, budget: u32) -> SweepCounts {
        of_kind!(self, store => store.sweep(now, budget))
    }

    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> SweepCounts {
        of_kind!(self, store => store.reclaim(now, is_removing, budget))
    }

    fn put(&mut self, lease: &Lease<F>, mode: PutMode) -> Result<Receipt, PutRefusal> {
        of_kind!(self, store => store.put(lease, mode))
    }

    fn remove(&mut self, address: F::Address) -> Result<Receipt, PutRefusal> {
        of_kind!(self, store => store.remove(address))
    }

    fn is_sound(&self) -> bool {
        of_kind!(self, store => store.is_sound())
    }

    fn has_failed(&self) -> bool {
        of_kind!(self, store => store.has_failed())
    }

    fn is_refused(&self, epoch: u64, reply: &[u8]) -> bool {
        of_kind!(self, store => store.is_refused(epoch, reply))
    }

    fn is_refused_for_data(&self, epoch: u64, reply: &[u8]) -> bool {
        of_kind!(self, store => store.is_refused_for_data(epoch, reply))
    }
}
