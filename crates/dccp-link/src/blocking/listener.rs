//! DCCP port that accepts connections, with blocking calls.

use std::time::{Duration, Instant};

use super::{BlockingConnection, wait_for};
use crate::DccpError;
use crate::service::Port;

/// Listener of a DCCP port that accepts connections. Dropping the value stops listening, and resets
/// connections that were not accepted.
pub struct BlockingListener {
    port: Port,
}

impl BlockingListener {
    pub(super) const fn new(port: Port) -> Self {
        Self { port }
    }

    /// Returns the DCCP port of the listener.
    pub const fn port(&self) -> u16 {
        self.port.number
    }

    /// Waits for the next connection to the listener's port and returns it.
    ///
    /// # Errors
    ///
    /// Returns [`DccpError::Closed`] when the endpoint is gone.
    pub fn accept(&self) -> Result<BlockingConnection, DccpError> {
        self.accept_until(None).expect("without a deadline")
    }

    /// Waits at most `timeout` for the next connection to the listener's port and returns it.
    ///
    /// # Errors
    ///
    /// Returns [`DccpError::TimedOut`], or [`DccpError::Closed`] when the endpoint is gone.
    pub fn accept_within(&self, timeout: Duration) -> Result<BlockingConnection, DccpError> {
        let accepted = self.accept_until(Some(Instant::now() + timeout));
        accepted.unwrap_or(Err(DccpError::TimedOut(timeout)))
    }

    fn accept_until(
        &self,
        deadline: Option<Instant>,
    ) -> Option<Result<BlockingConnection, DccpError>> {
        let port = &self.port;
        let came = wait_for(&port.shared, &port.arrived, deadline, |state| {
            state.poll_accept(port.number)
        })?;
        Some(came.map(|(key, signal)| BlockingConnection::new(port.handle(key, signal))))
    }
}
