//! A lease store for tests and simulations: rows settle when the test says so.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Now;

use super::V4;
use super::lease::Lease;
use super::store::TableShard;
use super::table::LeaseTable;
use super::{Change, Facts, FetchKeys, LeaseStore, Receipt, Refusal, Swept};

#[derive(Debug)]
struct Rows {
    open_epoch: u64,
    logged: Vec<Lease>,
}

/// Where the stores of a test log their rows, in the order of the commits. Epochs start at 1; a
/// submit closes the open one if anything was logged since the last.
#[derive(Debug)]
pub struct ManualLog {
    rows: Mutex<Rows>,
    is_epoch_used: AtomicBool,
    settled: AtomicU64,
    has_failed: AtomicBool,
}

impl Default for ManualLog {
    fn default() -> Self {
        Self {
            rows: Mutex::new(Rows { open_epoch: 1, logged: Vec::new() }),
            is_epoch_used: AtomicBool::new(false),
            settled: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
        }
    }
}

impl ManualLog {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last epoch that takes no more rows.
    #[must_use]
    pub fn closed_epoch(&self) -> u64 {
        self.rows().open_epoch - 1
    }

    /// Settles all epochs through `epoch`.
    pub fn settle_through(&self, epoch: u64) {
        let mut rows = self.rows();
        rows.open_epoch = rows.open_epoch.max(epoch + 1);
        self.settled.fetch_max(epoch, Ordering::AcqRel);
    }

    /// Closes the open epoch and settles it with all before.
    pub fn settle_all(&self) {
        let open = self.rows().open_epoch;
        self.settle_through(open);
    }

    /// From now on nothing can be logged, and nothing more settles by itself.
    pub fn fail(&self) {
        self.has_failed.store(true, Ordering::Release);
    }

    /// The rows logged since the last call, oldest first.
    #[must_use]
    pub fn take_rows(&self) -> Vec<Lease> {
        core::mem::take(&mut self.rows().logged)
    }
}

/// One shard's handle on a table whose rows go to a [`ManualLog`].
#[derive(Debug)]
pub struct ManualStore {
    shard: TableShard,
    log: Arc<ManualLog>,
}

impl ManualStore {
    /// A shard of `table` that logs to `log`.
    #[must_use]
    pub fn new(table: Arc<LeaseTable>, log: Arc<ManualLog>) -> Self {
        Self { shard: TableShard::new(table), log }
    }

    /// The table.
    #[must_use]
    pub const fn table(&self) -> &Arc<LeaseTable> {
        self.shard.table()
    }
}

impl LeaseStore<V4> for ManualStore {
    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_>, facts: &mut Facts) {
        self.shard.fetch(now, self.settled_epoch(), keys, facts);
    }

    fn commit(&mut self, now: Now, changes: &[Change<'_>]) -> Result<Receipt, Refusal> {
        if self.has_failed() {
            return Err(Refusal::Failed);
        }
        let settled = self.settled_epoch();
        let mut rows = self.log.rows();
        let Rows { open_epoch, logged } = &mut *rows;
        let receipt = self.shard.apply(now, changes, *open_epoch, settled, &mut |row| {
            logged.push(row.to_lease());
        })?;
        if receipt.row_epoch != 0 {
            self.log.is_epoch_used.store(true, Ordering::Relaxed);
        }
        Ok(receipt)
    }

    fn give_back(&mut self, address: Ipv4Addr) {
        self.shard.give_back(address);
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

    fn sweep(&mut self, now: Now, budget: u32) -> Swept {
        self.shard.table().sweep(now, self.settled_epoch(), budget)
    }

    fn has_failed(&self) -> bool {
        self.log.has_failed.load(Ordering::Acquire)
    }
}
