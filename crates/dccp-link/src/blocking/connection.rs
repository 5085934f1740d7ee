//! Connection of an application, with blocking calls to send and receive datagrams.

use std::task::Poll;
use std::time::{Duration, Instant};

use dccp::ccid::SenderFigures;
use dccp::endpoint::ConnectionKey;

use super::wait_for;
use crate::DccpError;
use crate::service::ConnectionHandle;

/// Returns the result of a wait; [`DccpError::TimedOut`] if the wait ended without one.
fn in_time<T>(
    done: Option<Result<T, DccpError>>,
    timeout: Option<Duration>,
) -> Result<T, DccpError> {
    done.unwrap_or_else(|| Err(DccpError::TimedOut(timeout.unwrap_or_default())))
}

/// DCCP connection with blocking calls. Dropping it closes it, after the datagrams in its send
/// queue were sent.
pub struct BlockingConnection {
    handle: ConnectionHandle,
    send_timeout: Option<Duration>,
    receive_timeout: Option<Duration>,
}

impl BlockingConnection {
    pub(super) const fn new(handle: ConnectionHandle) -> Self {
        Self { handle, send_timeout: None, receive_timeout: None }
    }

    /// Returns the addresses and ports of both ends of the connection.
    pub const fn key(&self) -> &ConnectionKey {
        &self.handle.key
    }

    /// Sets the longest time that [`BlockingConnection::send`] waits for room in the send queue;
    /// unlimited by default.
    pub const fn set_send_timeout(&mut self, timeout: Option<Duration>) {
        self.send_timeout = timeout;
    }

    /// Sets the longest time that [`BlockingConnection::receive`] waits for a datagram; unlimited
    /// by default.
    pub const fn set_receive_timeout(&mut self, timeout: Option<Duration>) {
        self.receive_timeout = timeout;
    }

    /// Queues a datagram, which may be empty; waits while the send queue has no room. With the
    /// priority policy it never waits ([`BlockingConnection::send_prioritized`]).
    ///
    /// # Errors
    ///
    /// Returns [`DccpError::TooLong`], [`DccpError::TimedOut`] (the datagram was not queued), or
    /// the reason for which the connection ended.
    pub fn send(&self, datagram: &[u8]) -> Result<(), DccpError> {
        let ConnectionHandle { shared, key, signal } = &self.handle;
        let deadline = self.send_timeout.map(|timeout| Instant::now() + timeout);
        let sent = wait_for(shared, &signal.writable, deadline, |state| {
            match state.send(key, datagram, 0) {
                Err(DccpError::QueueFull) => Poll::Pending,
                done => Poll::Ready(done),
            }
        });
        shared.wake();
        in_time(sent, self.send_timeout)
    }

    /// Queues a datagram if the send queue has room; `priority` counts only with
    /// [`dccp::connection::QueuePolicy::Priority`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`BlockingConnection::send`], and [`DccpError::QueueFull`].
    pub fn send_prioritized(&self, datagram: &[u8], priority: u32) -> Result<(), DccpError> {
        self.handle.try_send(datagram, priority)
    }

    /// Waits for the next datagram, which may be empty, and returns it; `None` when the other end
    /// has closed and no datagram is left.
    ///
    /// # Errors
    ///
    /// Returns [`DccpError::TimedOut`], or the reason for which the connection ended.
    pub fn receive(&self) -> Result<Option<Vec<u8>>, DccpError> {
        let ConnectionHandle { shared, key, signal } = &self.handle;
        let deadline = self.receive_timeout.map(|timeout| Instant::now() + timeout);
        let done = wait_for(shared, &signal.readable, deadline, |state| state.poll_receive(key));
        in_time(done, self.receive_timeout)
    }

    /// Receives the next datagram into `buffer`; waits until one arrives. Returns false when the
    /// other end has closed and nothing is left. Later datagrams reuse the buffer's memory, so
    /// nothing is allocated.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`BlockingConnection::receive`].
    pub fn receive_into(&self, buffer: &mut Vec<u8>) -> Result<bool, DccpError> {
        let ConnectionHandle { shared, key, signal } = &self.handle;
        let deadline = self.receive_timeout.map(|timeout| Instant::now() + timeout);
        let done = wait_for(shared, &signal.readable, deadline, |state| {
            state.poll_receive_into(key, buffer)
        });
        in_time(done, self.receive_timeout)
    }

    /// Returns the largest datagram in bytes that the connection accepts now: the current maximum
    /// packet size of RFC 4340 §14.
    pub fn packet_bytes_max(&self) -> usize {
        self.handle.packet_bytes_max()
    }

    /// Returns the CCIDs of the congestion controls of the data that this end sends and receives.
    pub fn ccids(&self) -> (u8, u8) {
        self.handle.ccids()
    }

    /// Returns the round-trip time of the connection; `None` before the first measurement.
    pub fn rtt(&self) -> Option<Duration> {
        self.handle.rtt()
    }

    /// Returns the figures of the congestion control of the data that this end sends; `None` when
    /// the connection is gone.
    pub fn sender_figures(&self) -> Option<SenderFigures> {
        self.handle.sender_figures()
    }

    /// Calls `read` with the state machine of the connection; returns `None` when the connection is
    /// gone.
    pub fn with_core<T>(&self, read: impl FnOnce(&dccp::connection::Connection) -> T) -> Option<T> {
        self.handle.with_core(read)
    }

    /// Returns the count of datagrams that this end dropped because the application had not read
    /// earlier ones in time
    /// ([`dccp::connection::ConnectionConfig::receive_queue_len`]).
    pub fn unread_drops(&self) -> u64 {
        self.handle.unread_drops()
    }

    /// Closes the connection after the datagrams in its send queue were sent, without waiting for
    /// that. [`super::BlockingEndpoint::wait_closed`] waits until all such connections are closed
    /// at both ends.
    pub fn close(self) {
        drop(self);
    }

    /// Ends the connection at once with a Reset to the other end.
    pub fn abort(self) {
        self.handle.abort();
    }
}
