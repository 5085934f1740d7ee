//! Lease store made of the shared lease table and a shard's part of a log. A [`StoreJournal`] turns
//! a change into log rows: rows of a lease file, or requests to a database.

use std::fmt::Debug;
use std::sync::Arc;

use base::{Now, Prefetch};
use dhcp_lease::contract::{ChangeOf, ExpectedSlot, Facts, FetchKeys, LeaseSearch};
use dhcp_lease::{
    Answer, CommitEpochs, CommitRefusal, ExchangeCell, ExchangeDetail, Lease, LeaseStore,
    LeaseTable, PutMode, PutRefusal, Receipt, RowView, Sweep, SweepCounts, TableShard,
};

use crate::database::SharedJournal;
use crate::log::{RowBuffer, ShardLog};
use crate::memfile::{LeaseFileFamily, encode_row};

/// Handle of one shard on leases in a lease file.
pub type MemfileStore<F> = LoggedStore<F, FileJournal>;
/// Handle of one shard on leases in a database.
pub type DatabaseStore<F> = LoggedStore<F, SharedJournal>;

/// Cause of a lease change that is logged as a row.
#[derive(Debug)]
pub enum Cause<'c, 'i, F: LeaseFileFamily> {
    /// Transaction of a client that changes its lease.
    Change(&'c ChangeOf<'i, F>),
    /// End of a lease that has expired.
    Sweep,
    /// Command of an operator that writes a lease.
    Put,
    /// Command of an operator that deletes a lease.
    Remove,
}

/// Journal that passes the changes of a shard's lease store to the store's writer.
pub trait StoreJournal<F: LeaseFileFamily>: Debug + Send {
    /// Appends the row to write because of `cause` to `buffer`; `row` is the lease after the
    /// change.
    fn append(&self, cause: Cause<'_, '_, F>, row: &RowView<'_, F>, buffer: &mut RowBuffer);

    /// Records that a transaction for the message `_number` begins; see
    /// [`LeaseStore::begin_message`].
    fn begin_message(&mut self, _number: u64) {}

    /// Makes the database writer read leases of the client that `_facts` may lack; returns the
    /// epoch that has them, 0 if `_facts` are complete.
    fn read_through(
        &mut self,
        _now: Now,
        _keys: &FetchKeys<'_, F>,
        _facts: &Facts<F>,
        _log: &ShardLog,
    ) -> u64 {
        0
    }

    /// Returns true if the reply `_reply` must not leave; see [`LeaseStore::is_refused`].
    fn is_refused(&self, _epoch: u64, _reply: &[u8]) -> bool {
        false
    }

    /// Returns true if the reply `_reply` is refused because the store has no room for its lease;
    /// see [`LeaseStore::is_refused_for_data`].
    fn is_refused_for_data(&self, _epoch: u64, _reply: &[u8]) -> bool {
        false
    }

    /// True if expired leases end in the lease table alone, without a row, once logging has failed.
    const SWEEPS_UNLOGGED: bool;
}

/// Journal that writes changes of leases as rows of a lease file.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileJournal;

impl<F: LeaseFileFamily> StoreJournal<F> for FileJournal {
    fn append(&self, _cause: Cause<'_, '_, F>, row: &RowView<'_, F>, buffer: &mut RowBuffer) {
        encode_row::<F>(row, buffer.columns(), &mut buffer.rows);
    }

    // No other server reads from the file that they have ended.
    const SWEEPS_UNLOGGED: bool = true;
}

/// Handle of one shard on leases that outlive the process, in a lease file or a database.
#[derive(Debug)]
pub struct LoggedStore<F: LeaseFileFamily, J> {
    shard: TableShard<F>,
    log: ShardLog,
    journal: J,
}

impl<F: LeaseFileFamily> MemfileStore<F> {
    /// Creates the handle on the leases of `table` for the shard that `log` belongs to.
    #[must_use]
    pub fn new(table: Arc<LeaseTable<F>>, log: ShardLog) -> Self {
        Self::with_journal(table, log, FileJournal)
    }
}

impl<F: LeaseFileFamily, J: StoreJournal<F>> LoggedStore<F, J> {
    /// Creates the handle on the leases of `table` for the shard that `log` belongs to, with the
    /// journal `journal`.
    #[must_use]
    pub fn with_journal(table: Arc<LeaseTable<F>>, log: ShardLog, journal: J) -> Self {
        Self { shard: TableShard::new(table), log, journal }
    }

    /// Submits the lease rows and lookups so far in the middle of a batch of messages. Unlike
    /// [`LeaseStore::submit`] it keeps free addresses claimed for the transactions that they were
    /// fetched for.
    pub fn submit_rows(&mut self, now: Now) {
        self.log.submit(now);
    }

    /// Requests that the shard is woken when the lease rows that `facts` show as unsettled are
    /// settled.
    fn await_unsettled(&self, settled_epoch: u64, facts: &Facts<F>) {
        let slots = facts.client_slots().chain(facts.address_slots.iter().flatten());
        let newest = slots.map(|slot| slot.row_epoch).max().unwrap_or(0);
        if newest > settled_epoch {
            self.log.await_epoch(newest);
        }
    }

    fn sweep_as(&mut self, now: Now, forced: Option<bool>, budget: u32) -> SweepCounts {
        let table = self.shard.table();
        if self.log.has_failed() {
            return if J::SWEEPS_UNLOGGED {
                table.sweep(now, self.log.settled(), budget)
            } else {
                SweepCounts::default()
            };
        }
        let mut buffer = self.log.buffer();
        let row_epoch = buffer.epoch();
        let settled_epoch = self.log.settled();
        let sweep = Sweep { settled_epoch, row_epoch, budget, forced };
        let before = buffer.rows.len();
        let swept = table.sweep_logged(now, &sweep, &mut |row| {
            self.journal.append(Cause::Sweep, &row, &mut buffer);
        });
        let has_logged = buffer.rows.len() > before;
        drop(buffer);
        if has_logged {
            // The next batch may come late, and other shards may wait for these rows.
            self.log.submit(now);
        }
        swept
    }

    /// Applies a change of leases that an operator makes, and logs its rows.
    fn administer(
        &self,
        change: impl FnOnce(
            &LeaseTable<F>,
            CommitEpochs,
            &mut dyn FnMut(bool, RowView<'_, F>),
        ) -> Result<Receipt, PutRefusal>,
    ) -> Result<Receipt, PutRefusal> {
        if self.log.has_failed() {
            return Err(PutRefusal::Failed);
        }
        let mut buffer = self.log.buffer();
        let epochs = CommitEpochs { row_epoch: buffer.epoch(), settled_epoch: self.log.settled() };
        let mut log = |is_put, row: RowView<'_, F>| {
            let cause = if is_put { Cause::Put } else { Cause::Remove };
            self.journal.append(cause, &row, &mut buffer);
        };
        let result = change(self.shard.table(), epochs, &mut log);
        drop(buffer);
        if let Ok(Receipt { row_epoch }) | Err(PutRefusal::Unsettled(row_epoch)) = result {
            self.log.await_epoch(row_epoch);
        }
        result
    }
}

impl<F: LeaseFileFamily, J: StoreJournal<F>> LeaseStore<F> for LoggedStore<F, J> {
    fn begin_message(&mut self, number: u64) {
        self.journal.begin_message(number);
    }

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
        let settled_epoch = self.log.settled();
        self.shard.table().look_up(now, settled_epoch, keys, facts);
        self.await_unsettled(settled_epoch, facts);
        facts.unread_epoch = self.journal.read_through(now, keys, facts, &self.log);
        if facts.unread_epoch == 0 {
            // The transaction is repeated after a read. A claim before that would move an iterative
            // allocator on, so that a server alone would skip every other address.
            self.shard.add_candidate(now, settled_epoch, keys, facts);
        }
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
        let newest_epoch = self.shard.table().find_leases(search, leases);
        if newest_epoch > self.log.settled() {
            self.log.await_epoch(newest_epoch);
        }
        newest_epoch
    }

    fn commit(&mut self, now: Now, changes: &[ChangeOf<'_, F>]) -> Result<Receipt, CommitRefusal> {
        if self.log.has_failed() {
            return Err(CommitRefusal::Failed);
        }
        // The buffer is held over the change: the row must leave with the epoch that the slot gets.
        let mut buffer = self.log.buffer();
        let epochs = CommitEpochs { row_epoch: buffer.epoch(), settled_epoch: self.log.settled() };
        let before = buffer.rows.len();
        let mut logged = changes.iter().filter(|change| change.action.is_logged());
        let result = self.shard.apply(now, changes, epochs, &mut |row| {
            let change = logged.next().expect("there is a row for each change that is logged");
            self.journal.append(Cause::Change(change), &row, &mut buffer);
        });
        if buffer.rows.len() > before {
            buffer.end_change();
        }
        drop(buffer);
        match result {
            Ok(Receipt { row_epoch }) | Err(CommitRefusal::Unsettled(row_epoch)) => {
                self.log.await_epoch(row_epoch);
            }
            Err(CommitRefusal::Stale | CommitRefusal::NoSuchSlot | CommitRefusal::Failed) => {}
        }
        result
    }

    fn release_claim(&mut self, address: F::Address) {
        self.shard.release_claim(address);
    }

    fn reserve_address(&mut self, address: F::Address) {
        self.shard.table().reserve_address(address);
    }

    fn submit(&mut self, now: Now) {
        self.shard.end_batch();
        self.log.submit(now);
    }

    fn settled_epoch(&self) -> u64 {
        self.log.settled()
    }

    fn sweep(&mut self, now: Now, budget: u32) -> SweepCounts {
        if !self.shard.table().is_sweep_due(now, self.log.settled()) {
            return SweepCounts::default();
        }
        self.sweep_as(now, None, budget)
    }

    fn reclaim(&mut self, now: Now, is_removing: bool, budget: u32) -> SweepCounts {
        self.sweep_as(now, Some(is_removing), budget)
    }

    fn put(&mut self, lease: &Lease<F>, mode: PutMode) -> Result<Receipt, PutRefusal> {
        self.administer(|table, epochs, log| {
            table.put(lease, mode, epochs, &mut |row| log(true, row))
        })
    }

    fn remove(&mut self, address: F::Address) -> Result<Receipt, PutRefusal> {
        self.administer(|table, epochs, log| {
            table.remove(address, epochs, &mut |row| log(false, row))
        })
    }

    fn is_sound(&self) -> bool {
        self.shard.table().is_sound()
    }

    fn has_failed(&self) -> bool {
        self.log.has_failed()
    }

    fn is_refused(&self, epoch: u64, reply: &[u8]) -> bool {
        self.journal.is_refused(epoch, reply)
    }

    fn is_refused_for_data(&self, epoch: u64, reply: &[u8]) -> bool {
        self.journal.is_refused_for_data(epoch, reply)
    }
}
