//! Handles with which an application refers to a connection or a port.

use std::sync::{Arc, Condvar};
use std::time::Duration;

use dccp::ccid::SenderFigures;
use dccp::connection::Connection;
use dccp::endpoint::ConnectionKey;
use dccp::feature::{Feature, number};

use super::{SharedEndpoint, Signal};
use crate::DccpError;

/// Handle of an application's connection. Dropping the handle closes the connection, after the
/// datagrams in its send queue were sent.
pub(crate) struct ConnectionHandle {
    pub(crate) shared: Arc<SharedEndpoint>,
    pub(crate) key: ConnectionKey,
    pub(crate) signal: Arc<Signal>,
}

impl ConnectionHandle {
    pub(super) const fn new(
        shared: Arc<SharedEndpoint>,
        key: ConnectionKey,
        signal: Arc<Signal>,
    ) -> Self {
        Self { shared, key, signal }
    }

    /// Queues a datagram on the connection if its send queue has room.
    pub(crate) fn try_send(&self, datagram: &[u8], priority: u32) -> Result<(), DccpError> {
        self.shared.lock().send(&self.key, datagram, priority)?;
        self.shared.wake();
        Ok(())
    }

    pub(crate) fn packet_bytes_max(&self) -> usize {
        self.with_core(Connection::data_bytes_max).unwrap_or(0)
    }

    pub(crate) fn ccids(&self) -> (u8, u8) {
        let read = |connection: &Connection| {
            let features = connection.features();
            let tx = features.value(Feature::local(number::CCID));
            let rx = features.value(Feature::remote(number::CCID));
            (tx as u8, rx as u8)
        };
        self.with_core(read).unwrap_or((0, 0))
    }

    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.with_core(Connection::rtt_ns).flatten().map(Duration::from_nanos)
    }

    pub(crate) fn sender_figures(&self) -> Option<SenderFigures> {
        self.with_core(Connection::sender_figures).flatten()
    }

    /// Returns the count of received datagrams that were dropped because the application had not
    /// read earlier ones in time.
    pub(crate) fn unread_drops(&self) -> u64 {
        let state = self.shared.lock();
        let ended = state.entries.get(&self.key).map_or(0, |entry| entry.unread_drops);
        let connection = state.driver.connection(&self.key);
        connection.map_or(ended, |core| core.counts().receive_queue_full)
    }

    pub(crate) fn with_core<T>(&self, read: impl FnOnce(&Connection) -> T) -> Option<T> {
        self.shared.lock().driver.connection(&self.key).map(read)
    }

    /// Ends the connection at once with a Reset to the other end.
    pub(crate) fn abort(self) {
        self.shared.lock().driver.with(&self.key, Connection::abort);
    }
}

impl Drop for ConnectionHandle {
    fn drop(&mut self) {
        let now_ns = netio::Clock::mono_ns();
        let mut state = self.shared.lock();
        let entry = state.entries.remove(&self.key);
        state.driver.with(&self.key, |connection| {
            // No application reads any more: later datagrams need no room.
            connection.stop_receiving();
            connection.close(now_ns);
        });
        drop(state);
        // Dropping the entry drops wakers, which may run arbitrary code.
        drop(entry);
        self.shared.wake();
    }
}

/// Handle of an application's DCCP port that accepts connections. Dropping it stops listening, and
/// resets connections that were not accepted.
pub(crate) struct Port {
    pub(crate) shared: Arc<SharedEndpoint>,
    pub(crate) number: u16,
    pub(crate) arrived: Arc<Condvar>,
}

impl Port {
    pub(super) const fn new(
        shared: Arc<SharedEndpoint>,
        number: u16,
        arrived: Arc<Condvar>,
    ) -> Self {
        Self { shared, number, arrived }
    }

    /// Returns the handle of a connection that was accepted at this port.
    pub(crate) fn handle(&self, key: ConnectionKey, signal: Arc<Signal>) -> ConnectionHandle {
        ConnectionHandle::new(Arc::clone(&self.shared), key, signal)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.driver.stop_listening(self.number);
        let queue = state.listeners.remove(&self.number);
        for key in queue.iter().flat_map(|queue| &queue.backlog) {
            state.entries.remove(key);
            state.driver.with(key, Connection::abort);
        }
        drop(state);
        drop(queue);
        self.shared.wake();
    }
}
