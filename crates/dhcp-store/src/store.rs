//! The memfile behind the lease store contract: the shared table, and a shard's part of the log.

use std::sync::Arc;

use base::Now;
use dhcp_lease::contract::{ChangeOf, Facts, FetchKeys};
use dhcp_lease::{LeaseStore, LeaseTable, Receipt, Refusal, Swept, TableShard};

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

impl<F: Rows> LeaseStore<F> for MemfileStore<F> {
    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_, F>, facts: &mut Facts<F>) {
        let settled_epoch = self.log.settled();
        self.shard.fetch(now, settled_epoch, keys, facts);
        self.await_unsettled(settled_epoch, facts);
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
        self.shard.table().sweep(now, self.log.settled(), budget)
    }

    fn has_failed(&self) -> bool {
        self.log.has_failed()
    }
}
