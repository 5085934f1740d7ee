//! Connection of a client that waits for its server's answer.

use std::time::{Duration, Instant};

use dccp::connection::ConnectionConfig;
use dccp::endpoint::ConnectionKey;

use super::{BlockingConnection, wait_for};
use crate::DccpError;
use crate::carrier::Peer;
use crate::service::ConnectionHandle;

/// Connection whose server may not have answered yet. Dropping it gives the connection up.
pub struct PendingConnection {
    handle: ConnectionHandle,
    peer: Peer,
    config: ConnectionConfig,
}

impl PendingConnection {
    pub(super) const fn new(
        handle: ConnectionHandle,
        peer: Peer,
        config: ConnectionConfig,
    ) -> Self {
        Self { handle, peer, config }
    }

    /// Returns the addresses and ports of both ends of the connection.
    pub const fn key(&self) -> &ConnectionKey {
        &self.handle.key
    }

    /// Waits at most `timeout` for the server's answer to the Request. Returns true when the answer
    /// has come: [`PendingConnection::into_connection`] has the connection then.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`super::BlockingEndpoint::connect`].
    pub fn wait_within(&mut self, timeout: Duration) -> Result<bool, DccpError> {
        self.wait_until(Some(Instant::now() + timeout))
    }

    pub(super) fn wait_until(&mut self, deadline: Option<Instant>) -> Result<bool, DccpError> {
        let Self { handle, peer, config } = self;
        let done = wait_for(&handle.shared, &handle.signal.readable, deadline, |state| {
            state.poll_open(&handle.key, *peer, config)
        });
        done.transpose().map(|done| done.is_some())
    }

    /// Calls `read` with the state machine of the connection; returns `None` when the connection is
    /// gone.
    pub fn with_core<T>(&self, read: impl FnOnce(&dccp::connection::Connection) -> T) -> Option<T> {
        self.handle.with_core(read)
    }

    /// Returns the connection with blocking calls. It refuses to send before the server has
    /// answered.
    #[must_use]
    pub fn into_connection(self) -> BlockingConnection {
        BlockingConnection::new(self.handle)
    }
}
