//! Lease store for tests and simulations: lease rows become durable (settle) when the test says so.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Now, Prefetch};

use crate::contract::{
    ChangeOf, CommitRefusal, ExpectedSlot, Facts, FetchKeys, LeaseSearch, LeaseStore, PutMode,
    PutRefusal, Receipt, SweepCounts,
};
use crate::event::{Answer, ExchangeCell, ExchangeDetail};
use crate::lease::{Lease, RowView};
use crate::store::TableShard;
use crate::table::LeaseTable;
use crate::table::commit_epochs::CommitEpochs;
use crate::table::sweep_request::Sweep;
use crate::table::table_family::TableFamily;

#[derive(Debug)]
struct LoggedRows<F: TableFamily> {
    open_epoch: u64,
    logged: Vec<Lease<F>>,
}

/// Log that collects the rows of a test's stores, in the order of the commits. Epochs start at 1; a
/// submit closes the open epoch if a lease row was logged since the last submit.
#[derive(Debug)]
pub struct ManualLog<F: TableFamily> {
    rows: Mutex<LoggedRows<F>>,
    is_epoch_used: AtomicBool,
    settled: AtomicU64,
    has_failed: AtomicBool,
    refused: Mutex<Vec<u64>>,
}

impl<F: TableFamily> Default for ManualLog<F> {
    fn default() -> Self {
        Self {
            rows: Mutex::new(LoggedRows { open_epoch: 1, logged: Vec::new() }),
            is_epoch_used: AtomicBool::new(false),
            settled: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            refused: Mutex::default(),
        }
    }
}

impl<F: TableFamily> ManualLog<F> {
    fn rows(&self) -> MutexGuard<'_, LoggedRows<F>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last epoch of the log that takes no more rows.
    #[must_use]
    pub fn closed_epoch(&self) -> u64 {
        self.rows().open_epoch - 1
    }

    /// Returns the last epoch that is settled.
    #[must_use]
    pub fn settled_epoch(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    /// Settles all epochs of the log through `epoch`.
    pub fn settle_through(&self, epoch: u64) {
        let mut rows = self.rows();
        rows.open_epoch = rows.open_epoch.max(epoch + 1);
        self.settled.fetch_max(epoch, Ordering::AcqRel);
    }

    /// Closes the open epoch of the log and settles it with all earlier ones.
    pub fn settle_all(&self) {
        let open = self.rows().open_epoch;
        self.settle_through(open);
    }

    /// Refuses every reply that depends on `epoch`, as a store with a shared database does.
    pub fn refuse(&self, epoch: u64) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).push(epoch);
    }

    /// Makes logging fail from now on: no more rows are logged, and no epoch settles by itself.
    pub fn fail(&self) {
        self.has_failed.store(true, Ordering::Release);
    }

    /// Returns the rows that the stores logged since the last call, oldest first.
    #[must_use]
    pub fn take_rows(&self) -> Vec<Lease<F>> {
        core::mem::take(&mut self.rows().logged)
    }
}

/// Store of one shard on a table whose rows go to a [`ManualLog`].
#[derive(Debug)]
pub struct ManualStore<F: TableFamily> {
    shard: TableShard<F>,
    log: Arc<ManualLog<F>>,
}

impl<F: TableFamily> ManualStore<F> {
    /// Returns a store of one shard on `table` that logs to `log`.
    #[must_use]
    pub fn new(table: Arc<LeaseTable<F>>, log: Arc<ManualLog<F>>) -> Self {
        Self { shard: TableShard::new(table), log }
    }

    /// Returns the lease table of the store.
    #[must_use]
    pub const fn table(&self) -> &Arc<LeaseTable<F>> {
        self.shard.table()
    }
}

impl<F: TableFamily> ManualStore<F> {
    /// Sweeps the table, without logging once the log has failed.
    fn sweep_as(&mut self, now: Now, forced: Option<bool>, budget: u32) -> SweepCounts {
        if self.has_failed() {
            // Leases end also when logging has failed; their rows record the end.
            return self.shard.table().sweep(now, self.settled_epoch(), budget);
        }
        let settled_epoch = self.settled_epoch();
        let mut rows = self.log.rows();
        let LoggedRows { open_epoch, logged } = &mut *rows;
        let sweep = Sweep { settled_epoch, row_epoch: *open_epoch, budget, forced };
        let before = logged.len();
        let swept = self.shard.table().sweep_logged(now, &sweep, &mut |row| {
            logged.push(row.to_lease());
        });
        if logged.len() > before {
            self.log.is_epoch_used.store(true, Ordering::Relaxed);
        }
        swept
    }

    /// Makes an operator's change of a lease, unless logging has failed.
    fn administer(
        &mut self,
        change: impl FnOnce(
            &LeaseTable<F>,
            CommitEpochs,
            &mut dyn FnMut(RowView<'_, F>),
        ) -> Result<Receipt, PutRefusal>,
    ) -> Result<Receipt, PutRefusal> {
        if self.has_failed() {
            return Err(PutRefusal::Failed);
        }
        let settled = self.settled_epoch();
        let mut rows = self.log.rows();
        let LoggedRows { open_epoch, logged } = &mut *rows;
        let mut log = |row: RowView<'_, F>| logged.push(row.to_lease());
        let epochs = CommitEpochs { row_epoch: *open_epoch, settled_epoch: settled };
        let receipt = change(self.shard.table(), epochs, &mut log)?;
        self.log.is_epoch_used.store(true, Ordering::Relaxed);
        Ok(receipt)
    }
}

impl<F: TableFamily> LeaseStore<F> for ManualStore<F> {
    fn begin_message(&mut self, _number: u64) {}

    fn set_exchange(&mut self, exchange: Option<&Arc<ExchangeCell>>) {
        self.shard.set_exchange(exchange);
    }

    fn exchange_detail(&self) -> ExchangeDetail {
        self.shard.table().exchange_detail()
    }

    fn is_recording_answers(&self) -> bool {
        self.shard.table().is_recording_answers()
    }

    fn record_answer(&mut self, now: Now, answer: &Answer<'_, F>) {
        self.shard.record_answer(now, answer);
    }

    fn take_event_order(&self) -> u64 {
        self.shard.table().take_event_order()
    }

    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_, F>, facts: &mut Facts<F>) {
        self.shard.fetch(now, self.settled_epoch(), keys, facts);
    }

    fn prefetch_message(
        &mut self,
        identity: Option<&F::Identity<'_>>,
        expected: ExpectedSlot<'_, F>,
        prefetch: Prefetch,
    ) {
        self.shard.prefetch_message(identity, expected, prefetch);
    }

    fn user_context(
        &mut self,
        now: Now,
        address: F::Address,
        identity: &F::Identity<'_>,
        target: &mut String,
    ) -> bool {
        self.shard.table().user_context(now, address, identity, target)
    }

    fn find_leases(&mut self, search: LeaseSearch<'_, F>, leases: &mut Vec<Lease<F>>) -> u64 {
        self.shard.table().find_leases(search, leases)
    }

    fn commit(&mut self, now: Now, changes: &[ChangeOf<'_, F>]) -> Result<Receipt, CommitRefusal> {
        if self.has_failed() {
            return Err(CommitRefusal::Failed);
        }
        let settled = self.settled_epoch();
        let mut rows = self.log.rows();
        let LoggedRows { open_epoch, logged } = &mut *rows;
        let epochs = CommitEpochs { row_epoch: *open_epoch, settled_epoch: settled };
        let receipt = self.shard.apply(now, changes, epochs, &mut |row| {
            logged.push(row.to_lease());
        })?;
        if receipt.row_epoch != 0 {
            self.log.is_epoch_used.store(true, Ordering::Relaxed);
        }
        Ok(receipt)
    }

    fn release_claim(&mut self, address: F::Address) {
        self.shard.release_claim(address);
    }

    fn reserve_address(&mut self, address: F::Address) {
        self.shard.table().reserve_address(address);
    }

    fn submit(&mut self, _now: Now) {
        self.shard.end_batch();
        let mut rows = self.log.rows();
        if self.log.is_epoch_used.swap(false, Ordering::Relaxed) {
            rows.open_epoch += 1;
        }
    }

    fn settled_epoch(&self) -> u64 {
        self.log.settled.load(Ordering::Acquire)
    }

    fn sweep(&mut self, now: Now, budget: u32) -> SweepCounts {
        self.sweep_as(now, None, budget)
    }

    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> SweepCounts {
        self.sweep_as(now, Some(is_removing), budget)
    }

    fn put(&mut self, lease: &Lease<F>, mode: PutMode) -> Result<Receipt, PutRefusal> {
        self.administer(|table, epochs, log| table.put(lease, mode, epochs, log))
    }

    fn remove(&mut self, address: F::Address) -> Result<Receipt, PutRefusal> {
        self.administer(|table, epochs, log| table.remove(address, epochs, log))
    }

    fn is_sound(&self) -> bool {
        self.shard.table().is_sound()
    }

    fn has_failed(&self) -> bool {
        self.log.has_failed.load(Ordering::Acquire)
    }

    fn is_refused(&self, epoch: u64, _reply: &[u8]) -> bool {
        self.log.refused.lock().unwrap_or_else(PoisonError::into_inner).contains(&epoch)
    }

    fn is_refused_for_data(&self, _epoch: u64, _reply: &[u8]) -> bool {
        false
    }
}
