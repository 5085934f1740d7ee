//! Changes of leases by control commands.
//!
//! Changes use a store handle of the supervisor and become durable like any change of a client's
//! lease; the answer to a command waits until they are.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dhcp_config::DhcpConfig;
use dhcp_control::{ChangedLeasesPage, LeaseAdministration, PutFailure};
use dhcp_lease::{
    ChangesRequest, ClientKey, Lease, LeaseStore, LeaseTable, PutMode, PutRefusal, Receipt,
};
use dhcp_store::database::KeyOctets;
use dhcp_store::memfile::{Columns, RowFileFormat, rows_of_table};
use netio::Clock;

use super::files::{keep_backup, path_next_to, replace};
use super::in_use::FilesInUse;
use super::partner_page::add_released;
use crate::leases::{self, ServerStore, lease_file, lease_of_row, row_of_lease};
use crate::service::DaemonFamily;

/// Maximum time that a control command waits for its lease changes to be durable.
const SETTLE: Duration = Duration::from_secs(5);
/// Time until the first look if a change is durable; each further one comes after twice the time.
const FIRST_LOOK: Duration = Duration::from_micros(200);
/// Maximum time between two of these looks.
const LOOK_MAX: Duration = Duration::from_millis(1);
/// Number of changes, of a command or of a page of the partner's leases, whose rows are given to
/// the store at once.
const ROWS_AT_ONCE: usize = 256;
/// Number of lease slots reclaimed, and of leases copied, in one step of a control command.
const AT_ONCE: usize = 10_000;

/// Handle of the supervisor on the leases.
pub(crate) struct Administration<P: DaemonFamily> {
    table: Arc<LeaseTable<P>>,
    store: ServerStore<P>,
    /// Row epochs and addresses of lease changes for whose durability the command still has to
    /// wait.
    unsettled: Vec<(u64, KeyOctets)>,
    /// Path of the lease file; commands write leases to files next to it.
    file: PathBuf,
    /// True if a partner may copy the leases.
    has_partner: bool,
    /// Files that no control command may replace.
    pub(super) in_use: FilesInUse,
}

impl<P: DaemonFamily> Administration<P> {
    /// Creates the supervisor's handle on `leases`; its shard number follows those of `shards`
    /// shards.
    pub(crate) fn new(
        leases: &leases::LeaseBackend<P>,
        table: &Arc<LeaseTable<P>>,
        shards: usize,
        config: &DhcpConfig<P>,
    ) -> Self {
        Self {
            table: Arc::clone(table),
            store: leases.store(shards),
            unsettled: Vec::new(),
            file: lease_file::<P>(config),
            has_partner: !config.global.high_availability.is_empty(),
            in_use: FilesInUse::default(),
        }
    }

    /// Reclaims every expired lease of the server; deletes the reclaimed ones if `and_removes`.
    pub(super) fn reclaim(&mut self, and_removes: bool) {
        loop {
            let now = Clock::now();
            let swept = self.store.reclaim(now, and_removes, AT_ONCE as u32);
            self.store.submit(now);
            if !swept.is_more_due {
                return;
            }
        }
    }

    /// Drops the notes about changes during a copy by the partner if it no longer asks for them.
    pub(crate) fn end_unused_copy(&self) {
        self.table.changed().end_unused(Clock::mono_ns());
    }

    /// Waits until every lease change of a command is as durable as the store promises.
    ///
    /// # Errors
    ///
    /// The time ran out, or the store refused a change.
    pub(crate) fn wait_until_durable(&mut self) -> Result<(), &'static str> {
        let changes = std::mem::take(&mut self.unsettled);
        if !changes.is_empty() {
            self.store.submit(Clock::now());
        }
        let newest = changes.iter().map(|&(epoch, _)| epoch).max().unwrap_or(0);
        if !self.wait_for(newest) {
            return Err("the change was not durable in time: it is in memory, and may be lost");
        }
        let is_refused = |(epoch, (octets, len)): &(u64, KeyOctets)| {
            self.store.is_refused(*epoch, &octets[..*len])
        };
        if changes.iter().any(is_refused) {
            Err("the lease database refused the change; the log says why")
        } else {
            Ok(())
        }
    }

    fn wait_for(&self, epoch: u64) -> bool {
        let deadline = Instant::now() + SETTLE;
        let mut look = FIRST_LOOK;
        while self.store.settled_epoch() < epoch {
            if self.store.has_failed() || Instant::now() >= deadline {
                return false;
            }
            thread::sleep(look);
            look = LOOK_MAX.min(look * 2);
        }
        !self.store.has_failed()
    }

    /// Makes a change of the lease of `address`, and tries again while the last row of that lease
    /// is not durable yet.
    fn change(
        &mut self,
        address: P::Address,
        mut attempt: impl FnMut(&mut ServerStore<P>) -> Result<Receipt, PutRefusal>,
    ) -> Result<(), PutFailure> {
        let deadline = Instant::now() + SETTLE;
        loop {
            match attempt(&mut self.store) {
                Ok(receipt) => {
                    self.unsettled.push((receipt.row_epoch, P::octets_of(address)));
                    // The others leave together, when the command waits for them.
                    if self.unsettled.len().is_multiple_of(ROWS_AT_ONCE) {
                        self.store.submit(Clock::now());
                    }
                    return Ok(());
                }
                Err(PutRefusal::Exists) => return Err(PutFailure::Exists),
                Err(PutRefusal::Missing) => return Err(PutFailure::Missing),
                Err(PutRefusal::Later) => return Err(PutFailure::Later),
                Err(PutRefusal::Overlaps) => {
                    return Err(PutFailure::Failed(format!(
                        "{address} overlaps another lease that has not ended"
                    )));
                }
                Err(PutRefusal::Failed) => {
                    return Err(PutFailure::Failed(
                        "the lease backend has failed: the server can no longer store leases"
                            .to_owned(),
                    ));
                }
                Err(PutRefusal::Unsettled(epoch)) => {
                    self.store.submit(Clock::now());
                    if !self.wait_for(epoch) || Instant::now() >= deadline {
                        return Err(PutFailure::Busy);
                    }
                }
            }
        }
    }
}

impl<P: DaemonFamily> LeaseAdministration<P> for Administration<P> {
    fn find(&self, ip: P::Ip, kind: P::Kind) -> Option<Lease<P>> {
        P::lease_at(&self.table, ip, kind)
    }

    fn page(&self, after: Option<P::Ip>, limit: usize) -> Vec<Lease<P>> {
        self.table.page(after.map(P::last_at), limit)
    }

    fn page_for_partner(&self, after: Option<P::Ip>, limit: usize) -> Vec<Lease<P>> {
        let mut leases = self.page(after, limit);
        let now_s = Clock::now().wall_s();
        add_released(&mut leases, self.table.released(), after, limit, now_s);
        leases
    }

    fn begin_copy(&mut self) -> Option<u64> {
        if !self.has_partner {
            return None;
        }
        // Random, so that another process of the server does not know it. JSON has 53 bits.
        let copy = RandomState::new().build_hasher().finish() >> 11;
        self.table.note_changes(copy, Clock::mono_ns());
        Some(copy)
    }

    fn changed_leases(&mut self, request: ChangesRequest) -> Option<ChangedLeasesPage<P>> {
        let page = self.table.changed().page(request, Clock::mono_ns())?;
        let leases = page.addresses.iter().filter_map(|address| self.table.lease(*address));
        let mut leases: Vec<Lease<P>> = leases.collect();
        leases.sort_by_key(|lease| P::ip(lease.address));
        Some(ChangedLeasesPage { leases, ended: page.ended, total: page.total })
    }

    fn read_row(&self, row: &str) -> Option<Lease<P>> {
        lease_of_row(row)
    }

    fn to_row(&self, lease: &Lease<P>) -> Option<String> {
        Some(row_of_lease(lease))
    }

    fn has_released_later(&self, lease: &Lease<P>) -> bool {
        self.table.released().has_later(lease, Clock::now().wall_s())
    }

    fn request_names(&self, address: P::Address) {
        self.table.record_names_request(address);
    }

    fn client_leases(&self, key: ClientKey<'_>) -> Vec<Lease<P>> {
        self.table.leases_of(key)
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Lease<P>)) {
        let mut after = None;
        loop {
            let page = self.table.page(after, AT_ONCE);
            page.iter().for_each(&mut *visit);
            match page.last() {
                Some(last) if page.len() == AT_ONCE => {
                    after = Some(last.address);
                }
                _ => return,
            }
        }
    }

    fn put(&mut self, lease: Lease<P>, mode: PutMode) -> Result<(), PutFailure> {
        self.change(lease.address, |store| store.put(&lease, mode))
    }

    fn remove(&mut self, address: P::Address) -> Result<bool, String> {
        match self.change(address, |store| store.remove(address)) {
            Ok(()) => Ok(true),
            Err(PutFailure::Missing | PutFailure::Exists | PutFailure::Later) => Ok(false),
            Err(PutFailure::Busy) => Err("a client is changing the lease".to_owned()),
            Err(PutFailure::Failed(why)) => Err(why),
        }
    }

    fn write(&mut self, file: &str) -> Result<String, String> {
        let path = path_next_to(&self.file, file.as_ref())?;
        self.in_use.check_lease_output(&path)?;
        keep_backup(&path);
        let format = RowFileFormat::for_family::<P>();
        let written = replace(&path, |target| {
            let mut header = Vec::new();
            Columns::newest(&format).encode_header(&format, &mut header);
            target.write_all(&header)?;
            let mut outcome: io::Result<()> = Ok(());
            rows_of_table(&self.table, &mut |row| {
                if outcome.is_ok() {
                    outcome = target.write_all(row);
                }
            });
            outcome
        });
        let path_text = path.display();
        written.map_err(|cause| format!("cannot write {path_text}: {cause}"))?;
        Ok(path_text.to_string())
    }
}
