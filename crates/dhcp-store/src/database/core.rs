//! Rounds over a lease database (the shards' lease rows, written in transactions), without a thread
//! and without a clock: [`DatabaseCore`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Now;
use dhcp_lease::{Lease, LeaseTable};

use super::contract::{DatabaseError, DatabaseFault, LeaseDatabaseConnection};
use super::family::{SharedLeaseFamily, blocked_lease};
use super::flushes::Flushes;
use super::refusals::Refusals;
use super::round::{RoundRequests, RoundResults, unreadable_row_message};
use crate::log::{PARTS_MAX, SharedLogState, UNPARTED};
use crate::memfile::newest;

/// Maximum number of conflicts with other writers in one round; after more, the database connection
/// is considered useless.
const CONFLICTS_MAX: u32 = 50;

/// Maximum number of conflicts with other writers over a lease that is written alone; after more,
/// the round leaves the lease out.
const LONE_CONFLICTS_MAX: u32 = 5;

/// Maximum number of messages kept for the operator; further ones are only counted.
const PROBLEMS_MAX: usize = 16;

/// Result of a round over the lease database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoundEnd {
    /// Round complete: every request of the shards is written to the database or refused, and its
    /// epoch is published.
    Done,
    /// Database connection lost or useless: call [`DatabaseCore::reconnect`] before the next round.
    ConnectionLost(DatabaseError),
    /// Database connection missing since an earlier round: nothing was done.
    StillDisconnected,
}

/// Part of the rows that a round takes from the shards; the database writes it in one transaction.
#[derive(Debug)]
struct RoundTransaction<F: SharedLeaseFamily> {
    /// Epoch of the rows in this part.
    epoch: u64,
    round: RoundRequests<F>,
}

/// Sole writer of one server's leases to a database: takes the shards' requests and carries them
/// out in rounds.
#[derive(Debug)]
pub struct DatabaseCore<F: SharedLeaseFamily, D> {
    shards: Arc<SharedLogState>,
    table: Arc<LeaseTable<F>>,
    refusals: Arc<Refusals>,
    database: D,
    flushes: Arc<Flushes>,
    /// Rows that the shards wrote, by part of the round; the buffers are kept to reuse their
    /// memory.
    batches: [Vec<u8>; PARTS_MAX],
    /// First epoch to which the rows belong that the shards log now.
    epoch: u64,
    /// Maximum number of changes that each shard puts into the first part of a round.
    changes_max: u32,
    /// Parts of the round that wait for their transaction, in order.
    waiting_parts: VecDeque<RoundTransaction<F>>,
    /// Parts of the round that are committed and not flushed yet: after a lost connection they have
    /// to be repeated.
    unflushed: VecDeque<RoundTransaction<F>>,
    is_disconnected: bool,
    /// True if a lost connection is replaced before its loss is reported.
    reconnects_at_once: bool,
    /// Number of round parts that were repeated after a conflict with other writers to the
    /// database.
    conflicts: Arc<AtomicU64>,
    /// Number of round parts that wrote something to the database.
    transactions: Arc<AtomicU64>,
    /// Number of leases that the database refused because they do not fit its columns or rules;
    /// `problems` has the messages about them.
    rejections: Arc<AtomicU64>,
    problems: Vec<String>,
}

impl<F: SharedLeaseFamily, D: LeaseDatabaseConnection<F>> DatabaseCore<F, D> {
    /// Creates the core for rounds over the connected database `database`, for the shards of
    /// `shards`, whose leases are in `table`.
    #[must_use]
    pub fn new(
        shards: Arc<SharedLogState>,
        table: Arc<LeaseTable<F>>,
        refusals: Arc<Refusals>,
        database: D,
    ) -> Self {
        let flushes = Arc::new(Flushes::new(shards.clone(), database.flush()));
        Self {
            shards,
            table,
            refusals,
            database,
            flushes,
            batches: Default::default(),
            epoch: 1,
            changes_max: UNPARTED,
            waiting_parts: VecDeque::new(),
            unflushed: VecDeque::new(),
            is_disconnected: false,
            reconnects_at_once: false,
            conflicts: Arc::default(),
            transactions: Arc::default(),
            rejections: Arc::default(),
            problems: Vec::new(),
        }
    }

    /// Returns the counter of round parts that were done again at once after a conflict with other
    /// writers.
    #[must_use]
    pub fn conflicts(&self) -> Arc<AtomicU64> {
        self.conflicts.clone()
    }

    /// Returns the counter of database transactions that wrote something.
    #[must_use]
    pub fn transactions(&self) -> Arc<AtomicU64> {
        self.transactions.clone()
    }

    /// Returns the state of the flushes, which make committed round parts durable and publish them.
    #[must_use]
    pub fn flushes(&self) -> Arc<Flushes> {
        self.flushes.clone()
    }

    /// Returns the database connection.
    pub const fn database(&mut self) -> &mut D {
        &mut self.database
    }

    /// Splits the shards' changes into parts from the next [`DatabaseCore::take_requests`] on: the
    /// first part has about `changes_max` changes of all shards together. `None` takes all changes
    /// at once.
    pub fn set_changes_max(&mut self, changes_max: Option<u32>) {
        let of_each = |changes_max: u32| changes_max.div_ceil(self.shards.count() as u32);
        self.changes_max = changes_max.map_or(UNPARTED, of_each);
    }

    /// Makes the core replace a lost connection at once, without a report to the shards: databases,
    /// proxies and administrators end idle sessions.
    pub const fn reconnect_at_once(&mut self) {
        self.reconnects_at_once = true;
    }

    /// Runs a round: carries out the requests of the shards, flushes the changes if necessary, and
    /// publishes the result.
    pub fn round(&mut self, now: Now) -> RoundEnd {
        self.take_requests();
        while let Some(end) = self.run_next_part(now) {
            if end != RoundEnd::Done {
                return end;
            }
        }
        match self.flushes.flush() {
            Ok(_) => RoundEnd::Done,
            Err(error) => self.lose(error),
        }
    }

    /// Takes the requests of the shards for [`DatabaseCore::run_next_part`]. Does nothing without a
    /// database connection.
    pub fn take_requests(&mut self) {
        if self.is_disconnected {
            return;
        }
        let first_epoch = self.epoch;
        self.epoch += PARTS_MAX as u64;
        let columns = newest::<F>();
        self.shards.take_parts(&mut self.batches, self.epoch, columns, self.changes_max);
        let count = self.batches.iter().take_while(|batch| !batch.is_empty()).count().max(1);
        let mut problems = Vec::new();
        for (batch, epoch) in self.batches[..count].iter_mut().zip(first_epoch..) {
            let round = RoundRequests::read(batch);
            batch.clear();
            let faults = round.unreadable().iter();
            problems.extend(faults.map(|(fault, _)| format!("a lease was not written: {fault}")));
            self.waiting_parts.push_back(RoundTransaction { epoch, round });
        }
        problems.into_iter().for_each(|problem| self.reject(problem));
    }

    /// Returns the number of leases that the next waiting part writes; `None` if no part waits.
    #[must_use]
    pub fn next_writes(&self) -> Option<usize> {
        self.waiting_parts.front().map(|part| part.round.writes())
    }

    /// Carries out the next waiting part of the round; returns `None` if no part waits. Rows that
    /// are durable on return are published then, the others after their flush.
    pub fn run_next_part(&mut self, now: Now) -> Option<RoundEnd> {
        if self.is_disconnected {
            return Some(RoundEnd::StillDisconnected);
        }
        if let Some(error) = self.flushes.failure() {
            return Some(self.lose(error));
        }
        let part = self.waiting_parts.pop_front()?;
        match self.run(&part.round, now) {
            Ok(outcome) => {
                self.apply_results(&part, outcome);
                self.flushes.commit(part.epoch, part.round.writes() > 0);
                self.unflushed.push_back(part);
                self.forget_flushed();
                Some(RoundEnd::Done)
            }
            Err(error) => {
                self.waiting_parts.push_front(part);
                Some(self.replace_connection(error, now))
            }
        }
    }

    /// Continues over another database connection after `error`, or reports the loss. No change is
    /// lost: parts of the round that were not published are repeated.
    fn replace_connection(&mut self, error: DatabaseError, now: Now) -> RoundEnd {
        if !self.reconnects_at_once || error.fault != DatabaseFault::ConnectionLost {
            return self.lose(error);
        }
        match self.reconnect(now) {
            Ok(notes) => {
                let ended = "the database closed the connection; the server has opened a new one";
                self.note(format!("{ended}: {error}"));
                notes.into_iter().for_each(|note| self.note(note));
                RoundEnd::Done
            }
            Err(_) => self.lose(error),
        }
    }

    /// Connects to the database again, and repeats the parts of the round that were lost.
    ///
    /// # Errors
    ///
    /// Returns the error if the connection attempt fails or the new connection is lost.
    pub fn reconnect(&mut self, now: Now) -> Result<Vec<String>, DatabaseError> {
        let notes = self.database.connect()?;
        // The flush that runs over the old connection may still publish its parts.
        self.flushes.restart(self.database.flush(), self.shards.settled());
        self.forget_flushed();
        while let Some(part) = self.unflushed.pop_back() {
            self.waiting_parts.push_front(part);
        }
        let mut settled_epoch = self.shards.settled();
        while let Some(part) = self.waiting_parts.pop_front() {
            match self.run(&part.round, now) {
                Ok(outcome) => self.apply_results(&part, outcome),
                Err(error) => {
                    self.waiting_parts.push_front(part);
                    return Err(error);
                }
            }
            settled_epoch = part.epoch;
            self.unflushed.push_back(part);
        }
        if let Some(flush) = self.database.flush() {
            flush.flush()?;
        }
        self.unflushed.clear();
        self.flushes.restart(self.database.flush(), settled_epoch);
        self.shards.recover(settled_epoch);
        self.is_disconnected = false;
        Ok(notes)
    }

    fn lose(&mut self, error: DatabaseError) -> RoundEnd {
        self.is_disconnected = true;
        self.shards.fail();
        RoundEnd::ConnectionLost(error)
    }

    fn forget_flushed(&mut self) {
        let settled_epoch = self.shards.settled();
        while self.unflushed.pop_front_if(|part| part.epoch <= settled_epoch).is_some() {}
    }

    /// Runs a part of a round, without the leases that the database refuses.
    fn run(
        &mut self,
        round: &RoundRequests<F>,
        now: Now,
    ) -> Result<RoundResults<F>, DatabaseError> {
        match self.run_whole(round, now) {
            Err(error) if is_of_a_row(&error) => self.isolate(round, now),
            result => result,
        }
    }

    /// Runs a round part that contains something that the database refuses: first its lookups, then
    /// its leases, halved again and again until each refused lease is alone. After a lost
    /// connection the part is repeated, and finds the leases that were committed before.
    fn isolate(
        &mut self,
        round: &RoundRequests<F>,
        now: Now,
    ) -> Result<RoundResults<F>, DatabaseError> {
        let mut outcome = match self.run_whole(&round.lookups(), now) {
            Err(error) if is_of_a_row(&error) => {
                self.reject(format!(
                    "the lease database did not look up the leases of clients: {error}"
                ));
                RoundResults::default()
            }
            result => result?,
        };
        let mut waiting = vec![round.leases()];
        while let Some(writes) = waiting.pop() {
            let conflicts_max = if writes.len() > 1 { 0 } else { LONE_CONFLICTS_MAX };
            match self.run_up_to(conflicts_max, &RoundRequests::from_writes(writes), now) {
                Err(error) if is_of_a_row(&error) => {
                    if let [write] = writes {
                        let address = write.lease.address;
                        let stored = self.read_lease(address)?;
                        self.reject(format!("the lease of {address} was not written: {error}"));
                        outcome.rejected.push((address, stored));
                    } else {
                        let (first, second) = writes.split_at(writes.len() / 2);
                        waiting.extend([second, first]);
                    }
                }
                result => outcome.add(result?),
            }
        }
        Ok(outcome)
    }

    /// Returns the lease that the database has of `address`. An unreadable row blocks the address:
    /// the server leases it to no client.
    fn read_lease(&mut self, address: F::Address) -> Result<Option<Lease<F>>, DatabaseError> {
        let (mut client_leases, mut address_leases) = (Vec::new(), Vec::new());
        let looked =
            self.database.read_unlocked(&[], &[address], &mut client_leases, &mut address_leases);
        if let Err(error) = looked {
            self.database.roll_back();
            let is_unreadable = error.fault == DatabaseFault::Data;
            return if is_unreadable { Ok(Some(blocked_lease(address))) } else { Err(error) };
        }
        if self.database.take_unreadable().contains(&F::octets_of(address)) {
            return Ok(Some(blocked_lease(address)));
        }
        Ok(address_leases.into_iter().find(|lease| lease.address == address))
    }

    /// Counts a request that was not carried out, and keeps the message `problem` for the operator.
    fn reject(&mut self, problem: String) {
        self.rejections.fetch_add(1, Ordering::Relaxed);
        self.note(problem);
    }

    /// Keeps the message `problem` for the operator.
    fn note(&mut self, problem: String) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    /// Takes the messages for the operator, and leaves none.
    pub fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// Returns the counter of leases that were not written to the database because their contents
    /// do not fit it.
    #[must_use]
    pub fn rejections(&self) -> Arc<AtomicU64> {
        self.rejections.clone()
    }

    /// Runs a whole round part, again after each conflict with other writers, up to
    /// [`CONFLICTS_MAX`].
    fn run_whole(
        &mut self,
        round: &RoundRequests<F>,
        now: Now,
    ) -> Result<RoundResults<F>, DatabaseError> {
        self.run_up_to(CONFLICTS_MAX, round, now)
    }

    /// Runs a round part with at most `conflicts_max` conflicts.
    fn run_up_to(
        &mut self,
        conflicts_max: u32,
        round: &RoundRequests<F>,
        now: Now,
    ) -> Result<RoundResults<F>, DatabaseError> {
        if round.is_empty() {
            return Ok(RoundResults::default());
        }
        let mut conflicts = 0;
        loop {
            match round.run(&mut self.database, now.wall_s()) {
                Err(error)
                    if error.fault == DatabaseFault::Conflict && conflicts < conflicts_max =>
                {
                    conflicts += 1;
                    self.conflicts.fetch_add(1, Ordering::Relaxed);
                }
                Ok(outcome) => {
                    self.transactions.fetch_add(u64::from(round.writes() > 0), Ordering::Relaxed);
                    for (address, _) in &outcome.rejected {
                        self.reject(unreadable_row_message(address));
                    }
                    return Ok(outcome);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Corrects the lease table by the results of a round part, before any shard sees that the part
    /// is done.
    fn apply_results(&self, part: &RoundTransaction<F>, outcome: RoundResults<F>) {
        let epoch = part.epoch;
        for &(_, octets) in part.round.unreadable() {
            self.refusals.add_data(epoch, octets);
        }
        for (address, stored) in outcome.rejected {
            self.refusals.add_data(epoch, Some(F::octets_of(address)));
            self.table.refuse(address, stored, epoch);
        }
        for (address, stored) in outcome.refused {
            self.refusals.add(epoch, F::octets_of(address));
            if stored.is_some() {
                self.table.leave_occupied_range(address);
            }
            self.table.refuse(address, stored, epoch);
        }
        for (address, stored) in outcome.superseded {
            self.table.correct(address, stored, epoch);
        }
        for (address, stored) in outcome.answers {
            // Rows that this part wrote are newer than those that it read.
            self.table.correct(address, stored, epoch - 1);
        }
    }
}

/// Returns true if a lease row may be the cause of the database's refusal: by its contents, or
/// because a row of the same key prevents the insert however often the part is repeated.
fn is_of_a_row(error: &DatabaseError) -> bool {
    matches!(error.fault, DatabaseFault::Data | DatabaseFault::Conflict)
}
