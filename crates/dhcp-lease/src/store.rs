//! Handle of one shard on the lease table, and the lease store without storage.

use std::sync::Arc;

use base::{Now, Prefetch};

use crate::contract::{
    ChangeOf, CommitRefusal, ExpectedSlot, Facts, FetchKeys, LeaseSearch, LeaseStore, PutMode,
    PutRefusal, Receipt, SlotOccupancy, SweepCounts,
};
use crate::event::{Answer, ExchangeCell, ExchangeDetail};
use crate::family::PoolIndex;
use crate::lease::{Lease, RowView};
use crate::pool::{Allocator, PoolSet};
use crate::table::LeaseTable;
use crate::table::commit_epochs::CommitEpochs;
use crate::table::sweep_request::Sweep;
use crate::table::table_family::TableFamily;

/// Largest number of claims on candidates that a shard keeps open; the oldest one is given back
/// beyond that.
const CLAIMS_MAX: usize = 64;

/// Number of pools whose free addresses a shard prefetches at the same time, and number of
/// addresses of each pool.
const PREFETCHED_POOLS: usize = 16;
const PREFETCHED_PER_POOL: u32 = 64;

/// Free addresses of one pool whose slots a shard has prefetched and has not claimed yet.
#[derive(Clone, Copy, Debug, Default)]
struct AnnouncedCandidates {
    pool: u32,
    /// Slot number at which the search in the pool started when the candidates were announced.
    start: u32,
    count: u32,
}

/// Handle of one shard on a [`LeaseTable`]. Remembers which candidates the shard has claimed, so
/// that none stays claimed when its transaction does something else. Every store is built on one.
#[derive(Debug)]
pub struct TableShard<F: TableFamily> {
    table: Arc<LeaseTable<F>>,
    claims: Vec<F::Address>,
    /// Candidates that were announced for prefetching, by pool.
    prefetched: [AnnouncedCandidates; PREFETCHED_POOLS],
    /// Exchange that events of the shard's changes refer to.
    exchange: Option<Arc<ExchangeCell>>,
}

impl<F: TableFamily> TableShard<F> {
    /// Returns a shard's handle on `table`.
    #[must_use]
    pub fn new(table: Arc<LeaseTable<F>>) -> Self {
        Self {
            table,
            claims: Vec::with_capacity(CLAIMS_MAX),
            prefetched: [AnnouncedCandidates::default(); PREFETCHED_POOLS],
            exchange: None,
        }
    }

    /// Makes `exchange` the exchange that events of the shard's changes refer to, from here on;
    /// see [`LeaseStore::set_exchange`].
    pub fn set_exchange(&mut self, exchange: Option<&Arc<ExchangeCell>>) {
        self.exchange = exchange.cloned();
    }

    /// Records `answer` as an event of the shard's exchange; see [`LeaseStore::record_answer`].
    pub fn record_answer(&self, now: Now, answer: &Answer<'_, F>) {
        self.table.record_answer(now, answer, self.exchange.as_ref());
    }

    /// Returns the lease table that the handle is on.
    #[must_use]
    pub const fn table(&self) -> &Arc<LeaseTable<F>> {
        &self.table
    }

    /// Calls [`LeaseTable::fetch`] and remembers the claim on the free address (candidate) that it
    /// returns.
    pub fn fetch(
        &mut self,
        now: Now,
        settled_epoch: u64,
        keys: &FetchKeys<'_, F>,
        facts: &mut Facts<F>,
    ) {
        self.table.look_up(now, settled_epoch, keys, facts);
        self.add_candidate(now, settled_epoch, keys, facts);
    }

    /// Calls [`LeaseTable::add_candidate`] and remembers the claim on the free address (candidate)
    /// that it adds.
    pub fn add_candidate(
        &mut self,
        now: Now,
        settled_epoch: u64,
        keys: &FetchKeys<'_, F>,
        facts: &mut Facts<F>,
    ) {
        self.table.add_candidate(now, settled_epoch, keys, facts);
        if let Some(candidate) = facts.candidate
            && candidate.occupancy == SlotOccupancy::Free
        {
            if self.claims.len() == CLAIMS_MAX {
                self.table.release_claim(self.claims.remove(0));
            }
            self.claims.push(candidate.address);
        }
    }

    /// Prefetches the slots and index entries for a message, see [`LeaseStore::prefetch_message`],
    /// also the next address of an iterative allocator.
    pub fn prefetch_message(
        &mut self,
        identity: Option<&F::Identity<'_>>,
        expected: ExpectedSlot<'_, F>,
        prefetch: Prefetch,
    ) {
        if let Some(identity) = identity {
            self.table.prefetch_client(identity, prefetch);
        }
        let slot_number = match expected {
            ExpectedSlot::Nothing => None,
            ExpectedSlot::Address(address) => self.table.slot_number_of(address),
            ExpectedSlot::Candidate(pools, pool) => self.next_prefetched_slot_number(pools, pool),
        };
        if let Some(slot_number) = slot_number {
            self.table.prefetch_slot(slot_number, prefetch);
        }
    }

    /// Returns the slot number at which the search in `pool` will end after the candidates
    /// announced before, if the slot numbers up to that one are free.
    fn next_prefetched_slot_number(&mut self, pools: &PoolSet<F>, pool: PoolIndex) -> Option<u32> {
        if pools.specs()[pool.0 as usize].allocator != Allocator::Iterative {
            return None;
        }
        let start = pools.cursor(pool);
        let announced = &mut self.prefetched[pool.0 as usize % PREFETCHED_POOLS];
        if (announced.pool, announced.start) != (pool.0, start) {
            *announced = AnnouncedCandidates { pool: pool.0, start, count: 0 };
        }
        let slot_number = start.wrapping_add(announced.count);
        // A client that had a lease already took no candidate.
        announced.count = (announced.count + 1) % PREFETCHED_PER_POOL;
        Some(slot_number)
    }

    /// Calls [`LeaseTable::apply`] and ends the claims on the changed addresses.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`LeaseTable::apply`]; the shard's claims on free addresses stay.
    pub fn apply(
        &mut self,
        now: Now,
        changes: &[ChangeOf<'_, F>],
        epochs: CommitEpochs,
        log: &mut dyn FnMut(RowView<'_, F>),
    ) -> Result<Receipt, CommitRefusal> {
        let exchange = self.exchange.as_ref();
        let receipt = self.table.apply_caused(now, changes, epochs, exchange, log)?;
        for change in changes {
            self.claims.retain(|&claim| claim != change.address);
        }
        Ok(receipt)
    }

    /// Ends the claim on the candidate `address` without a commit.
    pub fn release_claim(&mut self, address: F::Address) {
        self.claims.retain(|&claim| claim != address);
        self.table.release_claim(address);
    }

    /// Ends all claims of the shard on candidates; a store calls this when a batch ends.
    pub fn end_batch(&mut self) {
        for address in self.claims.drain(..) {
            self.table.release_claim(address);
        }
    }
}

/// Lease store without storage (Kea's `persist` false): every lease row counts as durable at once,
/// and a restart forgets all leases.
#[derive(Debug)]
pub struct MemoryStore<F: TableFamily> {
    shard: TableShard<F>,
}

/// Epoch of all lease rows of a store that writes nothing: settled from the start.
const SETTLED: u64 = 1;
/// Epochs of a change of slots that is not written.
const UNLOGGED: CommitEpochs = CommitEpochs { row_epoch: SETTLED, settled_epoch: SETTLED };

impl<F: TableFamily> MemoryStore<F> {
    /// Returns a store without storage for one shard on `table`.
    #[must_use]
    pub fn new(table: Arc<LeaseTable<F>>) -> Self {
        Self { shard: TableShard::new(table) }
    }
}

impl<F: TableFamily> LeaseStore<F> for MemoryStore<F> {
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
        self.shard.fetch(now, SETTLED, keys, facts);
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
        self.shard.apply(now, changes, UNLOGGED, &mut |_| {})
    }

    fn release_claim(&mut self, address: F::Address) {
        self.shard.release_claim(address);
    }

    fn reserve_address(&mut self, address: F::Address) {
        self.shard.table().reserve_address(address);
    }

    fn submit(&mut self, _now: Now) {
        self.shard.end_batch();
    }

    fn settled_epoch(&self) -> u64 {
        SETTLED
    }

    fn sweep(&mut self, now: Now, budget: u32) -> SweepCounts {
        self.shard.table().sweep(now, SETTLED, budget)
    }

    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> SweepCounts {
        let forced = Some(is_removing);
        let sweep = Sweep { settled_epoch: SETTLED, row_epoch: SETTLED, budget, forced };
        self.shard.table().sweep_logged(now, &sweep, &mut |_| {})
    }

    fn put(&mut self, lease: &Lease<F>, mode: PutMode) -> Result<Receipt, PutRefusal> {
        self.shard.table().put(lease, mode, UNLOGGED, &mut |_| {})
    }

    fn remove(&mut self, address: F::Address) -> Result<Receipt, PutRefusal> {
        self.shard.table().remove(address, UNLOGGED, &mut |_| {})
    }

    fn is_sound(&self) -> bool {
        self.shard.table().is_sound()
    }

    fn has_failed(&self) -> bool {
        false
    }

    fn is_refused(&self, _epoch: u64, _reply: &[u8]) -> bool {
        false
    }

    fn is_refused_for_data(&self, _epoch: u64, _reply: &[u8]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;

    use super::*;
    use crate::FETCHED_ADDRESSES_MAX;
    use crate::sample::SampleFamily;
    use crate::v4::V4;
    use crate::v6::V6;

    thread_local! {
        static ASKED_FOR: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    }

    fn note(address: usize) {
        ASKED_FOR.with_borrow_mut(|all| all.push(address));
    }

    /// Checks that the slots of clients of two pools, in turn, are prefetched.
    fn check_prefetch_order<F: SampleFamily>() {
        const FIRST: u32 = 0x0a00_0000;
        let table = Arc::new(LeaseTable::<F>::new(1));
        let specs = [F::pool(FIRST, FIRST + 99), F::pool(FIRST + 700, FIRST + 799)];
        let pools = table.configure(&specs, &[]);
        let pools = &*pools;
        let mut shard = TableShard::new(Arc::clone(&table));
        let now = Now { mono_ns: 1, wall_us: 1_700_000_000_000_000 };
        let turns = [0, 1, 1, 0, 1].map(PoolIndex);
        let mut facts = Facts::default();
        for round in 0..3 {
            ASKED_FOR.take();
            for pool in turns {
                shard.prefetch_message(None, ExpectedSlot::Candidate(pools, pool), note);
            }
            let prefetched_addresses = ASKED_FOR.take();
            for (at, pool) in turns.into_iter().enumerate() {
                let keys = FetchKeys {
                    identity: F::borrow(F::client(100 * round + at as u32)),
                    addresses: [None; FETCHED_ADDRESSES_MAX],
                    pools,
                    candidate_pools: &[pool],
                    is_candidate_spare: false,
                };
                shard.fetch(now, 0, &keys, &mut facts);
                let candidate = facts.candidate.expect("the pools are not used up").address;
                ASKED_FOR.take();
                shard.prefetch_message(None, ExpectedSlot::Address(candidate), note);
                assert_eq!(
                    ASKED_FOR.take(),
                    prefetched_addresses[2 * at..2 * at + 2],
                    "round {round}, {at}"
                );
            }
        }
    }

    #[test]
    fn what_pools_give_next_is_foreseen() {
        check_prefetch_order::<V4>();
        check_prefetch_order::<V6>();
    }
}
