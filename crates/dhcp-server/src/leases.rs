//! The leases that the shards serve from: opened from the lease file, or in memory only.

use std::path::PathBuf;
use std::sync::Arc;

use base::Now;
use dhcp_config::{Durability, ExtendedInfoChecks, LeaseChecks, OnFail};
use dhcp_control::{ExtendedInfo, IpVersion, check_extended_info};
use dhcp_lease::contract::{ChangeOf, Facts, FetchKeys};
use dhcp_lease::{
    LeaseStore, LeaseTable, MemoryStore, PutMode, PutRefusal, Receipt, Refusal, Swept,
};
use dhcp_store::log::{self, CoreOptions, LogThread, Shards, ThreadOptions};
use dhcp_store::memfile::{Memfile, OpenOptions, Rows, rows_of_table};
use dhcp_store::storage::DiskStorage;
use dhcp_store::{MemfileStore, OpenError};
use netio::Clock;

use crate::ServerError;
use crate::log::counted;
use crate::service::{Common, Service};

/// Folder of lease files that the configuration does not place, Kea's.
const DATA_FOLDER: &str = "/var/lib/kea";
/// Kea's variable for another one.
const DATA_FOLDER_VARIABLE: &str = "KEA_DHCP_DATA_DIR";
/// Time between attempts to write a new lease file after the old one was lost.
const RETRY_MS: u32 = 1_000;

/// The logger of all that has to do with leases and their files.
const DHCPSRV: &str = "dhcpsrv";

/// Where leases live.
pub(crate) enum Leases<P: Service> {
    /// In memory only (`persist: false`).
    Memory(Arc<LeaseTable<P>>),
    /// In a lease file, written by the log thread.
    File(Arc<LeaseTable<P>>, LogThread),
}

impl<P: Service> Leases<P> {
    /// Opens what `config` asks for, loads it into `table` and starts the log thread; `wake` is
    /// called with a shard's number when rows that it waits for are safe.
    pub(crate) fn open(
        config: &Common<'_>,
        table: &Arc<LeaseTable<P>>,
        snapshot: &P::Snapshot,
        shards: usize,
        wake: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<Self, ServerError> {
        let database = config.lease_database;
        if !database.persist {
            tracing::warn!(
                target: DHCPSRV,
                id = "DHCPSRV_MEMFILE_NO_STORAGE",
                "leases are kept in memory only and end with the server"
            );
            return Ok(Self::Memory(Arc::clone(table)));
        }
        let path = lease_file::<P>(config);
        let options = OpenOptions { max_row_errors: database.max_row_errors, threads: 0 };
        let (memfile, leases, report) =
            Memfile::open::<P>(Arc::new(DiskStorage), &path, options)
                .map_err(|error: OpenError| ServerError::Leases(error.to_string()))?;
        for error in &report.errors {
            tracing::warn!(target: DHCPSRV, id = "DHCPSRV_MEMFILE_LEASE_LOAD_ROW_ERROR", "{error}");
        }
        if report.torn_octets > 0 {
            tracing::warn!(
                target: DHCPSRV,
                "cut {} octets of an unfinished row off the end", report.torn_octets
            );
        }
        let count = leases.len();
        load::<P>(leases, table, snapshot, (config.lease_checks, config.extended_info_checks));
        let count = counted(count, "lease");
        tracing::info!(
            target: DHCPSRV,
            id = "DHCPSRV_MEMFILE_LEASE_FILE_LOAD",
            "loaded {count} from {}", path.display()
        );
        let thread = LogThread::start(
            // One more for the supervisor, which waits in its own way.
            Shards::new(shards + 1, move |shard| {
                if shard < shards {
                    wake(shard)
                }
            }),
            memfile,
            thread_options(config, table),
            Box::new(Clock::now),
        )
        .map_err(|cause| ServerError::System { tried: "start the log thread", cause })?;
        Ok(Self::File(Arc::clone(table), thread))
    }

    /// The handle of shard number `shard`; that behind the last one is the supervisor's.
    pub(crate) fn store(&self, shard: usize) -> ServerStore<P> {
        match self {
            Self::Memory(table) => ServerStore::Memory(MemoryStore::new(Arc::clone(table))),
            Self::File(table, thread) => {
                ServerStore::File(MemfileStore::new(Arc::clone(table), thread.shard(shard)))
            }
        }
    }

    /// Tells the operator what the log thread has met; true when it has given up.
    pub(crate) fn report_problems(&self) -> bool {
        let Self::File(_, thread) = self else { return false };
        for problem in thread.take_problems() {
            tracing::error!(target: DHCPSRV, "{problem}");
        }
        thread.failure().is_some()
    }

    /// Writes and flushes what was submitted. Shards must have ended.
    pub(crate) fn close(self) -> Result<(), ServerError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(_, thread) => {
                thread.stop().map_err(|failure| ServerError::LeaseFileLost(failure.to_string()))
            }
        }
    }
}

/// Where Kea keeps its files, unless the configuration or the environment says otherwise.
pub(crate) fn data_folder(configured: Option<&str>) -> PathBuf {
    let configured = configured.map(PathBuf::from);
    let from_environment = || std::env::var_os(DATA_FOLDER_VARIABLE).map(PathBuf::from);
    configured.or_else(from_environment).unwrap_or_else(|| DATA_FOLDER.into())
}

/// The lease file of `config`.
pub(crate) fn lease_file<P: Service>(config: &Common<'_>) -> PathBuf {
    // An absolute name replaces the folder.
    let name = config.lease_database.name.as_deref().unwrap_or(P::LEASE_FILE);
    data_folder(config.data_directory).join(name)
}

fn thread_options<P: Service>(config: &Common<'_>, table: &Arc<LeaseTable<P>>) -> ThreadOptions {
    let durability = match config.godwit.durability {
        Durability::None => log::Durability::None,
        Durability::Interval => log::Durability::Interval(config.godwit.flush_interval_ms),
        Durability::Always => log::Durability::Always,
    };
    let lfc_interval_s = config.lease_database.lfc_interval_s;
    let on_fail = match config.lease_database.on_fail {
        OnFail::StopRetryExit | OnFail::ServeRetryExit => log::OnFail::Stop,
        OnFail::ServeRetryContinue => {
            let table = Arc::clone(table);
            let snapshot =
                Box::new(move |visit: &mut dyn FnMut(&[u8])| rows_of_table(&table, visit));
            log::OnFail::Restart { snapshot, retry_ms: RETRY_MS }
        }
    };
    ThreadOptions { core: CoreOptions { durability, lfc_interval_s }, on_fail }
}

/// Puts loaded leases into the table, with Kea's `sanity-checks` (reference §5.11).
fn load<P: Service>(
    leases: Vec<P::Lease>,
    table: &LeaseTable<P>,
    snapshot: &P::Snapshot,
    (checks, extended_checks): (LeaseChecks, ExtendedInfoChecks),
) {
    let (mut wrong, mut dropped, mut upgraded) = (0_u64, 0_u64, 0);
    for mut lease in leases {
        let (named, fitting) = P::subnets_of_lease(snapshot, &mut lease);
        if fitting != Some(*named) {
            wrong += 1;
            match (checks, fitting) {
                (LeaseChecks::Fix | LeaseChecks::FixDel, Some(id)) => *named = id,
                (LeaseChecks::Del, _) | (LeaseChecks::FixDel, None) => {
                    dropped += 1;
                    continue;
                }
                (LeaseChecks::None | LeaseChecks::Warn, _) | (LeaseChecks::Fix, None) => {}
            }
        }
        upgraded += usize::from(is_upgraded::<P>(&mut lease, extended_checks));
        table.load(lease);
    }
    if upgraded > 0 {
        let count = counted(upgraded, "lease");
        tracing::info!(
            target: DHCPSRV,
            "what {count} kept of relay agents was in an older form; it is written in the present \
             one when the leases are written again"
        );
    }
    if wrong > 0 && checks != LeaseChecks::None {
        tracing::warn!(
            target: DHCPSRV,
            id = "DHCPSRV_LEASE_SANITY_FAIL",
            "{wrong} leases name a subnet that does not hold them; {dropped} dropped"
        );
    }
}

/// Checks what `lease` keeps of relay agents; whether it was in an older form.
fn is_upgraded<P: Service>(lease: &mut P::Lease, checks: ExtendedInfoChecks) -> bool {
    let outcome = check_extended_info::<P>(lease, checks);
    if let ExtendedInfo::Dropped(why) = &outcome {
        let id = match P::VERSION {
            IpVersion::V4 => "DHCPSRV_LEASE4_EXTENDED_INFO_SANITY_FAIL",
            IpVersion::V6 => "DHCPSRV_LEASE6_EXTENDED_INFO_SANITY_FAIL",
        };
        let what = P::described(lease);
        tracing::error!(target: DHCPSRV, id, "what {what} kept of relay agents is dropped: {why}");
    }
    outcome == ExtendedInfo::Upgraded
}

/// The store of a shard; one branch decides between the two kinds.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per shard, moved once")]
pub(crate) enum ServerStore<F: Rows> {
    Memory(MemoryStore<F>),
    File(MemfileStore<F>),
}

macro_rules! either {
    ($self:expr, $store:ident => $call:expr) => {
        match $self {
            ServerStore::Memory($store) => $call,
            ServerStore::File($store) => $call,
        }
    };
}

impl<F: Rows> LeaseStore<F> for ServerStore<F> {
    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_, F>, facts: &mut Facts<F>) {
        either!(self, store => store.fetch(now, keys, facts));
    }

    fn user_context(
        &mut self,
        now: Now,
        address: F::Address,
        identity: &F::Identity<'_>,
        target: &mut String,
    ) -> bool {
        either!(self, store => store.user_context(now, address, identity, target))
    }

    fn commit(&mut self, now: Now, changes: &[ChangeOf<'_, F>]) -> Result<Receipt, Refusal> {
        either!(self, store => store.commit(now, changes))
    }

    fn give_back(&mut self, address: F::Address) {
        either!(self, store => store.give_back(address));
    }

    fn submit(&mut self, now: Now) {
        either!(self, store => store.submit(now));
    }

    fn settled_epoch(&self) -> u64 {
        either!(self, store => store.settled_epoch())
    }

    fn sweep(&mut self, now: Now, budget: u32) -> Swept {
        either!(self, store => store.sweep(now, budget))
    }

    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> Swept {
        either!(self, store => store.reclaim(now, is_removing, budget))
    }

    fn put(&mut self, lease: &F::Lease, mode: PutMode) -> Result<Receipt, PutRefusal> {
        either!(self, store => store.put(lease, mode))
    }

    fn remove(&mut self, address: F::Address) -> Result<Receipt, PutRefusal> {
        either!(self, store => store.remove(address))
    }

    fn has_failed(&self) -> bool {
        either!(self, store => store.has_failed())
    }
}
