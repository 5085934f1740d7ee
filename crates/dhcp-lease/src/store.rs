//! One shard's end of the lease table, and the store that keeps nothing beyond it.

use std::sync::Arc;

use base::{Now, Prefetch};

use crate::contract::{
    ChangeOf, Facts, FetchKeys, LeaseStore, Occupancy, PutMode, PutRefusal, Receipt, Refusal, Swept,
};
use crate::table::LeaseTable;
use crate::table::leased::Leased;
use crate::table::sweep::Sweep;

/// Claims that a shard keeps open at most; beyond, the oldest is given back.
const CLAIMS_MAX: usize = 64;

/// One shard's end of a [`LeaseTable`]: remembers which candidates the shard has claimed, so that
/// none stays claimed when its transaction takes another turn. Every store is built on one.
#[derive(Debug)]
pub struct TableShard<F: Leased> {
    table: Arc<LeaseTable<F>>,
    claims: Vec<F::Address>,
    /// The place of the last candidate, when it came right after the one before.
    last_place: u32,
    is_in_order: bool,
    /// Candidates that are expected since.
    expected: u32,
}

impl<F: Leased> TableShard<F> {
    /// A shard of `table`.
    #[must_use]
    pub fn new(table: Arc<LeaseTable<F>>) -> Self {
        Self {
            table,
            claims: Vec::with_capacity(CLAIMS_MAX),
            last_place: 0,
            is_in_order: false,
            expected: 0,
        }
    }

    /// The table.
    #[must_use]
    pub const fn table(&self) -> &Arc<LeaseTable<F>> {
        &self.table
    }

    /// [`LeaseTable::fetch`], with the claim remembered.
    pub fn fetch(
        &mut self,
        now: Now,
        settled_epoch: u64,
        keys: &FetchKeys<'_, F>,
        facts: &mut Facts<F>,
    ) {
        self.table.fetch(now, settled_epoch, keys, facts);
        if let Some(candidate) = facts.candidate
            && candidate.occupancy == Occupancy::Free
        {
            if self.claims.len() == CLAIMS_MAX {
                self.table.give_back(self.claims.remove(0));
            }
            self.claims.push(candidate.address);
            self.note_order(candidate.address);
        }
    }

    fn note_order(&mut self, candidate: F::Address) {
        if let Some(place) = self.table.place_of(candidate) {
            self.is_in_order = place.wrapping_sub(self.last_place) == 1;
            self.last_place = place;
            self.expected = 0;
        }
    }

    /// See [`LeaseStore::expect`]. Where candidates come in order, the next ones are foreseen.
    pub fn expect(
        &mut self,
        identity: &F::Identity<'_>,
        address: Option<F::Address>,
        prefetch: Prefetch,
    ) {
        self.table.expect_client(identity, prefetch);
        let place = match address {
            Some(address) => self.table.place_of(address),
            None if self.is_in_order => {
                self.expected += 1;
                Some(self.last_place.wrapping_add(self.expected))
            }
            None => None,
        };
        if let Some(place) = place {
            self.table.expect_slot(place, prefetch);
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
        changes: &[ChangeOf<'_, F>],
        row_epoch: u64,
        settled_epoch: u64,
        log: &mut dyn FnMut(F::Row<'_>),
    ) -> Result<Receipt, Refusal> {
        let receipt = self.table.apply(now, changes, row_epoch, settled_epoch, log)?;
        for change in changes {
            self.claims.retain(|&claim| claim != change.address);
        }
        Ok(receipt)
    }

    /// Ends the claim on `address` without a commit.
    pub fn give_back(&mut self, address: F::Address) {
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
pub struct MemoryStore<F: Leased> {
    shard: TableShard<F>,
}

/// The one epoch of a store that writes nothing: settled from the start.
const SETTLED: u64 = 1;

impl<F: Leased> MemoryStore<F> {
    /// One shard's handle on `table`.
    #[must_use]
    pub fn new(table: Arc<LeaseTable<F>>) -> Self {
        Self { shard: TableShard::new(table) }
    }
}

impl<F: Leased> LeaseStore<F> for MemoryStore<F> {
    fn fetch(&mut self, now: Now, keys: &FetchKeys<'_, F>, facts: &mut Facts<F>) {
        self.shard.fetch(now, SETTLED, keys, facts);
    }

    fn expect(
        &mut self,
        identity: &F::Identity<'_>,
        address: Option<F::Address>,
        prefetch: Prefetch,
    ) {
        self.shard.expect(identity, address, prefetch);
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
        self.shard.apply(now, changes, SETTLED, SETTLED, &mut |_| {})
    }

    fn give_back(&mut self, address: F::Address) {
        self.shard.give_back(address);
    }

    fn set_aside(&mut self, address: F::Address) {
        self.shard.table().set_aside(address);
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

    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> Swept {
        let forced = Some(is_removing);
        let sweep = Sweep { settled_epoch: SETTLED, row_epoch: SETTLED, budget, forced };
        self.shard.table().sweep_logged(now, &sweep, &mut |_| {})
    }

    fn put(&mut self, lease: &F::Lease, mode: PutMode) -> Result<Receipt, PutRefusal> {
        self.shard.table().put(lease, mode, (SETTLED, SETTLED), &mut |_| {})
    }

    fn remove(&mut self, address: F::Address) -> Result<Receipt, PutRefusal> {
        self.shard.table().remove(address, (SETTLED, SETTLED), &mut |_| {})
    }

    fn has_failed(&self) -> bool {
        false
    }
}
