//! The memfile behind the lease store contract: the shared table, and a shard's part of the log.

use std::sync::Arc;

use base::Now;
use dhcp_lease::contract::{ChangeOf, Facts, FetchKeys};
use dhcp_lease::{
    LeaseStore, LeaseTable, PutMode, PutRefusal, Receipt, Refusal, Sweep, Swept, TableShard,
};

use crate::log::ShardLog;
use crate::memfile::{Rows, encode_row};

/// One shard's handle on leases that are kept in a lease file.
#[derive(Debug)]
pub struct MemfileStore<F: Rows> {
    shard: TableShard<F>,
    log: ShardLog,
}

impl<F: Rows> MemfileStore<F> {
    /// The handle of the shard that `log` belongs to, on the leases of `table`.
    #[must_use]
    pub fn new(table: Arc<LeaseTable<F>>, log: ShardLog) -> Self {
        Self { shard: TableShard::new(table), log }
    }

    /// Has the shard woken when what it has seen unsettled is settled.
    fn await_unsettled(&self, settled_epoch: u64, facts: &Facts<F>) {
        let slots = facts.mine().chain(facts.asked.iter().flatten());
        let newest = slots.map(|slot| slot.row_epoch).max().unwrap_or(0);
        if newest > settled_epoch {
            self.log.await_epoch(newest);
        }
    }
}

impl<F: Rows> MemfileStore<F> {
    fn sweep_as(&mut self, now: Now, forced: Option<bool>, budget: u32) -> Swept {
        let table = self.shard.table();
        if self.log.has_failed() {
            // Leases end all the same; their rows say so.
            return table.sweep(now, self.log.settled(), budget);
        }
        let mut buffer = self.log.buffer();
        let (row_epoch, columns) = (buffer.epoch(), buffer.columns());
        let settled_epoch = self.log.settled();
        let sweep = Sweep { settled_epoch, row_epoch, budget, forced };
        let before = buffer.rows.len();
        let swept = table.sweep_logged(now, &sweep, &mut |row| {
            encode_row::<F>(&row, columns, &mut buffer.rows);
        });
        let has_logged = buffer.rows.len() > before;
        drop(buffer);
        if has_logged {
            // No batch may follow for long, and others may wait for these rows.
            self.log.submit(now);
        }
        swept
    }

    /// A change that an operator makes.
    fn administer(
        &mut self,
        change: impl FnOnce(
            &LeaseTable<F>,
            (u64, u64),
            &mut dyn FnMut(F::Row<'_>),
        ) -> Result<Receipt, PutRefusal>,
    ) -> Result<Receipt, PutRefusal> {
        if self.log.has_failed() {
            return Err(PutRefusal::Failed);
        }
        let mut buffer = self.log.buffer();
        let (epoch, columns) = (buffer.epoch(), buffer.columns());
        let settled_epoch = self.log.settled();
        let mut log = |row: F::Row<'_>| encode_row::<F>(&row, columns, &mut buffer.rows);
        let result = change(self.shard.table(), (epoch, settled_epoch), &mut log);
        drop(buffer);
        if let Ok(Receipt { row_epoch }) | Err(PutRefusal::Unsettled(row_epoch)) = result {
            self.log.await_epoch(row_epoch);
        }
        result
    }
}

impl<F: Rows> LeaseStore<F> for MemfileStore<F> {
    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_, F>, facts: &mut Facts<F>) {
        let settled_epoch = self.log.settled();
        self.shard.fetch(now, settled_epoch, keys, facts);
        self.await_unsettled(settled_epoch, facts);
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

    fn commit(&mut self, now: Now, changes: &[ChangeOf<'_, F>]) -> Result<Receipt, Refusal> {
        if self.log.has_failed() {
            return Err(Refusal::Failed);
        }
        // Held over the change: the row must go out with the epoch that the slot is given.
        let mut buffer = self.log.buffer();
        let (epoch, columns) = (buffer.epoch(), buffer.columns());
        let settled_epoch = self.log.settled();
        let result = self.shard.apply(now, changes, epoch, settled_epoch, &mut |row| {
            encode_row::<F>(&row, columns, &mut buffer.rows);
        });
        drop(buffer);
        match result {
            Ok(Receipt { row_epoch }) | Err(Refusal::Unsettled(row_epoch)) => {
                self.log.await_epoch(row_epoch);
            }
            Err(Refusal::Stale | Refusal::NoSuchSlot | Refusal::Failed) => {}
        }
        result
    }

    fn give_back(&mut self, address: F::Address) {
        self.shard.give_back(address);
    }

    fn submit(&mut self, now: Now) {
        self.shard.end_batch();
        self.log.submit(now);
    }

    fn settled_epoch(&self) -> u64 {
        self.log.settled()
    }

    fn sweep(&mut self, now: Now, budget: u32) -> Swept {
        if !self.shard.table().is_sweep_due(now, self.log.settled()) {
            return Swept::default();
        }
        self.sweep_as(now, None, budget)
    }

    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> Swept {
        self.sweep_as(now, Some(is_removing), budget)
    }

    fn put(&mut self, lease: &F::Lease, mode: PutMode) -> Result<Receipt, PutRefusal> {
        self.administer(|table, epochs, log| table.put(lease, mode, epochs, log))
    }

    fn remove(&mut self, address: F::Address) -> Result<Receipt, PutRefusal> {
        self.administer(|table, epochs, log| table.remove(address, epochs, log))
    }

    fn has_failed(&self) -> bool {
        self.log.has_failed()
    }
}
