//! A port that takes connections.

use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

use super::{Connection, Shared, wait};
use crate::LinkError;

/// Connections to a port. Dropping it takes no more; those that nobody accepted are reset.
pub struct Listener {
    shared: Arc<Shared>,
    port: u16,
    arrived: Arc<Condvar>,
}

impl Listener {
    pub(super) const fn new(shared: Arc<Shared>, port: u16, arrived: Arc<Condvar>) -> Self {
        Self { shared, port, arrived }
    }

    /// The DCCP port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The next connection; waits for it.
    ///
    /// # Errors
    ///
    /// [`LinkError::Closed`] when the endpoint is gone.
    pub fn accept(&self) -> Result<Connection, LinkError> {
        self.accept_until(None).map_err(|late| late.unwrap_or(LinkError::Closed))
    }

    /// The next connection; waits for it, at most so long.
    ///
    /// # Errors
    ///
    /// [`LinkError::TimedOut`], or [`LinkError::Closed`] when the endpoint is gone.
    pub fn accept_within(&self, timeout: Duration) -> Result<Connection, LinkError> {
        self.accept_until(Some(Instant::now() + timeout))
            .map_err(|late| late.unwrap_or(LinkError::TimedOut(timeout)))
    }

    fn accept_until(&self, deadline: Option<Instant>) -> Result<Connection, Option<LinkError>> {
        let mut state = self.shared.lock();
        loop {
            let Some(door) = state.doors.get_mut(&self.port) else {
                return Err(Some(LinkError::Closed));
            };
            if let Some(key) = door.backlog.pop_front() {
                let entry = state.entries.get(&key).expect("entries stay until their handles go");
                let signal = Arc::clone(&entry.signal);
                return Ok(Connection::new(Arc::clone(&self.shared), key, signal));
            }
            state = wait(&self.arrived, state, deadline).ok_or(None)?;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.driver.stop_listening(self.port);
        if let Some(door) = state.doors.remove(&self.port) {
            for key in door.backlog {
                state.entries.remove(&key);
                state.driver.with(&key, dccp::connection::Connection::abort);
            }
        }
        drop(state);
        self.shared.wake();
    }
}
