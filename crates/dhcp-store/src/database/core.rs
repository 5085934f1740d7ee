//! Rounds, without a thread and without a clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Now;
use dhcp_lease::LeaseTable;

use super::contract::{DatabaseError, Fault, LeaseDatabase};
use super::family::Shared;
use super::refusals::Refusals;
use super::round::{Outcome, Round};
use crate::log::Shards;
use crate::memfile::newest;

/// Conflicts that one round meets before the connection is thought to be of no use.
const CONFLICTS_MAX: u32 = 50;

/// How a round ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoundEnd {
    /// All that was wanted is written or refused, and published.
    Done,
    /// The connection is lost, or of no use: [`DatabaseCore::reconnect`] before the next round.
    Lost(DatabaseError),
    /// There is no connection since an earlier round.
    StillLost,
}

/// The sole writer of one server.
#[derive(Debug)]
pub struct DatabaseCore<F: Shared, D> {
    shards: Arc<Shards>,
    table: Arc<LeaseTable<F>>,
    refusals: Arc<Refusals>,
    database: D,
    /// What the shards wrote; kept for its room.
    batch: Vec<u8>,
    /// The round to be done next.
    epoch: u64,
    /// A round that was lost with its connection, to be done again.
    pending: Option<(u64, Round<F>)>,
    is_lost: bool,
    /// Rounds that were done again since others were in the way.
    conflicts: Arc<AtomicU64>,
}

impl<F: Shared, D: LeaseDatabase<F>> DatabaseCore<F, D> {
    /// Rounds over a connected `database` for `shards`, whose leases are in `table`.
    #[must_use]
    pub fn new(
        shards: Arc<Shards>,
        table: Arc<LeaseTable<F>>,
        refusals: Arc<Refusals>,
        database: D,
    ) -> Self {
        Self {
            shards,
            table,
            refusals,
            database,
            batch: Vec::new(),
            epoch: 1,
            pending: None,
            is_lost: false,
            conflicts: Arc::default(),
        }
    }

    /// Counts how often a round was done again at once since others were in the way.
    #[must_use]
    pub fn conflicts(&self) -> Arc<AtomicU64> {
        self.conflicts.clone()
    }

    /// The connection.
    pub const fn database(&mut self) -> &mut D {
        &mut self.database
    }

    /// Does what the shards want, and publishes it.
    pub fn round(&mut self, now: Now) -> RoundEnd {
        if self.is_lost {
            return RoundEnd::StillLost;
        }
        self.batch.clear();
        let epoch = self.epoch;
        self.epoch += 1;
        self.shards.take(&mut self.batch, self.epoch, newest::<F>());
        let round = Round::read(&self.batch).expect("the shards write lines that can be read");
        match self.run(&round, now) {
            Ok(outcome) => {
                self.learn(epoch, outcome);
                self.shards.publish(epoch, None);
                RoundEnd::Done
            }
            Err(error) => {
                self.pending = Some((epoch, round));
                self.is_lost = true;
                self.shards.fail();
                RoundEnd::Lost(error)
            }
        }
    }

    /// Connects again, and does the round again that was lost.
    ///
    /// # Errors
    ///
    /// There is still no connection, or the round was lost again.
    pub fn reconnect(&mut self, now: Now) -> Result<Vec<String>, DatabaseError> {
        let notes = self.database.connect()?;
        if let Some((epoch, round)) = self.pending.take() {
            match self.run(&round, now) {
                Ok(outcome) => {
                    self.learn(epoch, outcome);
                    self.shards.recover(epoch);
                }
                Err(error) => {
                    self.pending = Some((epoch, round));
                    return Err(error);
                }
            }
        }
        self.is_lost = false;
        Ok(notes)
    }

    /// Does a round, as often as others are in the way.
    fn run(&mut self, round: &Round<F>, now: Now) -> Result<Outcome<F>, DatabaseError> {
        if round.is_empty() {
            return Ok(Outcome::default());
        }
        let mut conflicts = 0;
        loop {
            match round.run(&mut self.database, now.wall_s()) {
                Err(error) if error.fault == Fault::Conflict && conflicts < CONFLICTS_MAX => {
                    conflicts += 1;
                    self.conflicts.fetch_add(1, Ordering::Relaxed);
                }
                result => return result,
            }
        }
    }

    /// Puts the table right, before anybody hears that the round is done.
    fn learn(&self, epoch: u64, outcome: Outcome<F>) {
        for (address, found) in outcome.refused {
            self.refusals.add(epoch, F::octets_of(address));
            self.table.correct(address, found, epoch);
        }
        for (address, found) in outcome.kept {
            self.table.correct(address, found, epoch);
        }
        for (address, found) in outcome.answers {
            // What this round wrote itself is newer than what it read.
            self.table.correct(address, found, epoch - 1);
        }
    }
}
