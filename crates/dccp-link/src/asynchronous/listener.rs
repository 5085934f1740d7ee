//! DCCP port that accepts connections, with async calls.

use std::future::poll_fn;

use super::AsyncConnection;
use crate::DccpError;
use crate::service::Port;

/// Listener of a DCCP port that accepts connections. Dropping the value stops listening, and resets
/// connections that were not accepted.
pub struct AsyncListener {
    port: Port,
}

impl AsyncListener {
    pub(super) const fn new(port: Port) -> Self {
        Self { port }
    }

    /// Returns the DCCP port of the listener.
    pub const fn port(&self) -> u16 {
        self.port.number
    }

    /// Waits for the next connection to the listener's port, and returns it.
    ///
    /// # Errors
    ///
    /// Returns [`DccpError::Closed`] when the endpoint is gone.
    pub async fn accept(&self) -> Result<AsyncConnection, DccpError> {
        let port = &self.port;
        let came = poll_fn(|context| {
            let mut state = port.shared.lock();
            let came = state.poll_accept(port.number);
            if came.is_pending()
                && let Some(queue) = state.listeners.get_mut(&port.number)
            {
                queue.acceptors.add(context);
            }
            came
        });
        let (key, signal) = came.await?;
        Ok(AsyncConnection::new(port.handle(key, signal)))
    }
}
