//! One shard's end of the lease table, and the store that keeps nothing beyond it.

use core::net::Ipv4Addr;
use std::sync::Arc;

use base::Now;

use super::V4;
use super::row::RowView;
use super::table::LeaseTable;
use super::{Change, Facts, FetchKeys, LeaseStore, Occupancy, Receipt, Refusal, Swept};

/// Claims that a shard keeps open at most; beyond, the oldest is given back.
const CLAIMS_MAX: usize = 64;

/// One shard's end of a [`LeaseTable`]: remembers which candidates the shard has claimed, so that
/// none stays claimed when its transaction takes another turn. Every store is built on one.
#[derive(Debug)]
pub struct TableShard {
    table: Arc<LeaseTable>,
    claims: Vec<Ipv4Addr>,
}

impl TableShard {
    /// A shard of `table`.
    #[must_use]
    pub fn new(table: Arc<LeaseTable>) -> Self {
        Self { table, claims: Vec::with_capacity(CLAIMS_MAX) }
    }

    /// The table.
    #[must_use]
    pub const fn table(&self) -> &Arc<LeaseTable> {
        &self.table
    }

    /// [`LeaseTable::fetch`], with the claim remembered.
    pub fn fetch(&mut self, now: Now, settled_epoch: u64, keys: &FetchKeys<'_>, facts: &mut Facts) {
        self.table.fetch(now, settled_epoch, keys, facts);
        if let Some(candidate) = facts.candidate
            && candidate.occupancy == Occupancy::Free
        {
            if self.claims.len() == CLAIMS_MAX {
                self.table.give_back(self.claims.remove(0));
            }
            self.claims.push(candidate.address);
        }
    }

    /// [`LeaseTable::apply`], which ends the claims on what was changed.
    ///
    /// # Errors
    ///
    /// As [`LeaseTable::apply`]; claims stay.
    pub fn apply(
        &mut self,
        now: Now,
        changes: &[Change<'_>],
        row_epoch: u64,
        settled_epoch: u64,
        log: &mut dyn FnMut(RowView<'_>),
    ) -> Result<Receipt, Refusal> {
        let receipt = self.table.apply(now, changes, row_epoch, settled_epoch, log)?;
        for change in changes {
            self.claims.retain(|&claim| claim != change.address);
        }
        Ok(receipt)
    }

    /// Ends the claim on `address` without a commit.
    pub fn give_back(&mut self, address: Ipv4Addr) {
        self.claims.retain(|&claim| claim != address);
        self.table.give_back(address);
    }

    /// Ends all claims; what a store does when a batch ends.
    pub fn end_batch(&mut self) {
        for address in self.claims.drain(..) {
            self.table.give_back(address);
        }
    }
}

/// A store without storage (`persist` false): every row settles at once, and a restart forgets
/// all leases.
#[derive(Debug)]
pub struct MemoryStore {
    shard: TableShard,
}

/// The one epoch of a store that writes nothing: settled from the start.
const SETTLED: u64 = 1;

impl MemoryStore {
    /// One shard's handle on `table`.
    #[must_use]
    pub fn new(table: Arc<LeaseTable>) -> Self {
        Self { shard: TableShard::new(table) }
    }
}

impl LeaseStore<V4> for MemoryStore {
    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_>, facts: &mut Facts) {
        self.shard.fetch(now, SETTLED, keys, facts);
    }

    fn commit(&mut self, now: Now, changes: &[Change<'_>]) -> Result<Receipt, Refusal> {
        self.shard.apply(now, changes, SETTLED, SETTLED, &mut |_| {})
    }

    fn give_back(&mut self, address: Ipv4Addr) {
        self.shard.give_back(address);
    }

    fn submit(&mut self, _now: Now) {
        self.shard.end_batch();
    }

    fn settled_epoch(&self) -> u64 {
        SETTLED
    }

    fn sweep(&mut self, now: Now, budget: u32) -> Swept {
        self.shard.table().sweep(now, SETTLED, budget)
    }

    fn has_failed(&self) -> bool {
        false
    }
}
