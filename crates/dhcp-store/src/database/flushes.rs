//! Flushes beside the rounds: what is committed and not safe yet, and who may hear of it when it is.
//!
//! A database whose commits are safe when they return has none of this: what it commits is published at
//! once. One that can flush what it committed while it carries out the next transaction offers a
//! [`Flush`]; then a part of a round is published when a flush has begun after its commit and ended.
//! One flush makes all safe that was committed before it began. Who flushes is left to the caller.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::contract::DatabaseError;
use crate::log::Shards;

/// Makes safe what a connection has committed, while the connection goes on.
pub trait Flush: Send + Sync + fmt::Debug {
    /// Makes all safe that was committed before this was called.
    ///
    /// # Errors
    ///
    /// It is not known what is safe: connect again, and do again what was not published.
    fn flush(&self) -> Result<(), DatabaseError>;
}

/// What is committed, and what of it is published. Shared by who commits and who flushes.
#[derive(Debug)]
pub struct Flushes {
    shards: Arc<Shards>,
    /// Held over a flush: there is one at a time.
    turn: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    flush: Option<Arc<dyn Flush>>,
    /// Epochs: the newest that is committed, the newest of those that wrote something, and the newest
    /// that is safe and published.
    committed: u64,
    written: u64,
    flushed: u64,
    failure: Option<DatabaseError>,
}

impl Flushes {
    /// Nothing is committed yet for `shards`.
    pub(super) fn new(shards: Arc<Shards>, flush: Option<Arc<dyn Flush>>) -> Self {
        Self {
            shards,
            turn: Mutex::default(),
            state: Mutex::new(State { flush, ..State::default() }),
        }
    }

    /// Goes on with a new connection, after the flush that may be going on: all through `epoch` is safe
    /// or will be done again.
    pub(super) fn restart(&self, flush: Option<Arc<dyn Flush>>, epoch: u64) {
        let _turn = self.turn();
        let (committed, written, flushed) = (epoch, epoch, epoch);
        *self.state() = State { flush, committed, written, flushed, failure: None };
    }

    /// Whether commits are safe only after a flush.
    #[must_use]
    pub fn are_beside(&self) -> bool {
        self.state().flush.is_some()
    }

    /// Whether something waits for a flush that may succeed.
    #[must_use]
    pub fn are_wanted(&self) -> bool {
        let state = self.state();
        state.committed > state.flushed && state.failure.is_none()
    }

    /// Whether one is going on.
    #[must_use]
    pub fn are_busy(&self) -> bool {
        self.turn.try_lock().is_err()
    }

    /// Why nothing will be published any more before a new connection.
    #[must_use]
    pub fn failure(&self) -> Option<DatabaseError> {
        self.state().failure.clone()
    }

    /// All through `epoch` is committed, something new with it if it `has_written`. Published when this
    /// returns if it is safe by then.
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

    /// Flushes what is committed and publishes it; after a failure, nothing. Whether there was anything
    /// to flush.
    ///
    /// # Errors
    ///
    /// The flush failed, this one or an earlier one.
    pub fn flush(&self) -> Result<bool, DatabaseError> {
        let _turn = self.turn();
        let (flush, committed) = {
            let state = self.state();
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            (state.flush.clone().filter(|_| state.written > state.flushed), state.committed)
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

    /// Under the lock, so that what is published never goes down.
    fn publish(&self, state: &mut State, epoch: u64) {
        state.flushed = epoch;
        self.shards.publish(epoch, None);
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
