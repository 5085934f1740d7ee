//! State of database flushes next to the rounds: the commits that are not durable yet, and their
//! publication when they are.
//!
//! A database whose commits are safe when they return needs no flush: its commits are published at
//! once. A database that can flush its commits while it carries out the next transaction offers a
//! [`Flush`]; then a part of a round is published after a flush that began after its commit. One
//! flush makes all commits safe that happened before it began. The caller decides which thread
//! flushes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::contract::DatabaseError;
use crate::log::SharedLogState;

/// Flush that makes the commits of a database connection durable while the connection continues.
pub trait Flush: Send + Sync + fmt::Debug {
    /// Makes all commits of the database connection durable that happened before this call.
    ///
    /// # Errors
    ///
    /// It is unknown which commits are safe: connect again, and do again what was not published.
    fn flush(&self) -> Result<(), DatabaseError>;
}

/// State of a database connection's commits: made, durable, published. The committing and the
/// flushing thread share this value.
#[derive(Debug)]
pub struct Flushes {
    shards: Arc<SharedLogState>,
    /// Lock held during a flush: only one flush runs at a time.
    turn: Mutex<()>,
    state: Mutex<FlushState>,
}

#[derive(Debug, Default)]
struct FlushState {
    flush: Option<Arc<dyn Flush>>,
    /// Newest committed epoch; `written` is the newest epoch that wrote something, `flushed` the
    /// newest one that is durable and published.
    committed: u64,
    written: u64,
    flushed: u64,
    failure: Option<DatabaseError>,
}

impl Flushes {
    /// Creates the state of flushes for `shards`, without any commit.
    pub(super) fn new(shards: Arc<SharedLogState>, flush: Option<Arc<dyn Flush>>) -> Self {
        Self {
            shards,
            turn: Mutex::default(),
            state: Mutex::new(FlushState { flush, ..FlushState::default() }),
        }
    }

    /// Continues with a new database connection after the flush that may be running: all epochs up
    /// to `epoch` are durable or will be repeated.
    pub(super) fn restart(&self, flush: Option<Arc<dyn Flush>>, epoch: u64) {
        let _turn = self.turn();
        let (committed, written, flushed) = (epoch, epoch, epoch);
        *self.state() = FlushState { flush, committed, written, flushed, failure: None };
    }

    /// Returns true if the database's commits are durable only after a flush.
    #[must_use]
    pub fn needs_flush(&self) -> bool {
        self.state().flush.is_some()
    }

    /// Returns true if a commit of the database waits for a flush that may succeed.
    #[must_use]
    pub fn is_flush_pending(&self) -> bool {
        let state = self.state();
        state.committed > state.flushed && state.failure.is_none()
    }

    /// Returns true if a flush of the database is running.
    #[must_use]
    pub fn is_flushing(&self) -> bool {
        self.turn.try_lock().is_err()
    }

    /// Returns the error of the flush that failed: nothing is published until the store has a new
    /// connection.
    #[must_use]
    pub fn failure(&self) -> Option<DatabaseError> {
        self.state().failure.clone()
    }

    /// Records that the lease rows of all epochs up to `epoch` are committed, with new rows if it
    /// `has_written`. Publishes `epoch` if it needs no flush or is flushed already.
    pub(super) fn commit(&self, epoch: u64, has_written: bool) {
        let mut state = self.state();
        state.committed = epoch;
        if has_written {
            state.written = epoch;
        }
        if state.failure.is_none() && (state.flush.is_none() || state.written <= state.flushed) {
            self.publish(&mut state, epoch);
        }
    }

    /// Flushes all commits of the connection and publishes their epochs; does nothing after a
    /// failure. Returns true if there was anything to flush.
    ///
    /// # Errors
    ///
    /// Returns the error if this flush fails or an earlier one has failed.
    pub fn flush(&self) -> Result<bool, DatabaseError> {
        let _turn = self.turn();
        let (flush, committed) = {
            let state = self.state();
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            let flush = if state.written > state.flushed { state.flush.clone() } else { None };
            (flush, state.committed)
        };
        let result = flush.map_or(Ok(false), |flush| flush.flush().map(|()| true));
        let mut state = self.state();
        match &result {
            Ok(_) if committed > state.flushed => self.publish(&mut state, committed),
            Ok(_) => {}
            Err(error) => state.failure = Some(error.clone()),
        }
        result
    }

    /// Publishes `epoch` to the shards. The caller holds the lock, so that the published epoch
    /// never decreases.
    fn publish(&self, state: &mut FlushState, epoch: u64) {
        state.flushed = epoch;
        self.shards.publish(epoch, None);
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, FlushState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
