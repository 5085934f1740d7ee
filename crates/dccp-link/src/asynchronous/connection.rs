//! Connection of an application, with async calls to send and receive datagrams.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use dccp::ccid::SenderFigures;
use dccp::endpoint::ConnectionKey;

use crate::DccpError;
use crate::service::{ConnectionHandle, EndpointState};

/// DCCP connection with async calls. Dropping it closes it, after the datagrams in its send queue
/// were sent. Share it by reference or in an `Arc`: tasks may send and receive at once.
pub struct AsyncConnection {
    handle: ConnectionHandle,
}

impl AsyncConnection {
    pub(super) const fn new(handle: ConnectionHandle) -> Self {
        Self { handle }
    }

    /// Returns the addresses and ports of both ends of the connection.
    pub const fn key(&self) -> &ConnectionKey {
        &self.handle.key
    }

    /// Queues a datagram, which may be empty, once there is room in the connection's send queue.
    /// With the priority policy there always is ([`AsyncConnection::send_prioritized`]).
    ///
    /// # Errors
    ///
    /// Returns [`DccpError::TooLong`], or the reason for which the connection ended.
    pub async fn send(&self, datagram: &[u8]) -> Result<(), DccpError> {
        let ConnectionHandle { shared, key, .. } = &self.handle;
        let sent = poll_fn(|context| {
            let mut state = shared.lock();
            match state.send(key, datagram, 0) {
                Err(DccpError::QueueFull) => {
                    if let Some(entry) = state.entries.get_mut(key) {
                        entry.writers.add(context);
                    }
                    Poll::Pending
                }
                done => Poll::Ready(done),
            }
        });
        sent.await?;
        shared.wake();
        Ok(())
    }

    /// Queues a datagram if the connection's send queue has room now; `priority` counts only with
    /// [`dccp::connection::QueuePolicy::Priority`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`AsyncConnection::send`], and [`DccpError::QueueFull`].
    pub fn send_prioritized(&self, datagram: &[u8], priority: u32) -> Result<(), DccpError> {
        self.handle.try_send(datagram, priority)
    }

    /// Returns the next received datagram, which may be empty; `None` when the other end has closed
    /// and no datagram is left.
    ///
    /// # Errors
    ///
    /// Returns the reason for which the connection ended.
    pub async fn receive(&self) -> Result<Option<Vec<u8>>, DccpError> {
        let key = &self.handle.key;
        poll_fn(|context| self.poll_read(context, |state| state.poll_receive(key))).await
    }

    /// Receives the next datagram into `buffer`. Returns false when the other end has closed and
    /// nothing is left. Later datagrams reuse the buffer's memory, so nothing is allocated.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`AsyncConnection::receive`].
    pub async fn receive_into(&self, buffer: &mut Vec<u8>) -> Result<bool, DccpError> {
        let key = &self.handle.key;
        poll_fn(|context| self.poll_read(context, |state| state.poll_receive_into(key, buffer)))
            .await
    }

    fn poll_read<T>(
        &self,
        context: &Context<'_>,
        read: impl FnOnce(&mut EndpointState) -> Poll<T>,
    ) -> Poll<T> {
        let mut state = self.handle.shared.lock();
        let done = read(&mut state);
        if done.is_pending()
            && let Some(entry) = state.entries.get_mut(&self.handle.key)
        {
            entry.readers.add(context);
        }
        done
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

    /// Closes the connection after the datagrams in its send queue were sent, without waiting for
    /// that. [`super::AsyncEndpoint::closed`] waits until all such connections are closed at both
    /// ends.
    pub fn close(self) {
        drop(self);
    }

    /// Ends the connection at once with a Reset to the other end.
    pub fn abort(self) {
        self.handle.abort();
    }
}
