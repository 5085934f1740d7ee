//! What an application does with a connection.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use dccp::ccid::SenderFigures;
use dccp::endpoint::Key;

use crate::LinkError;
use crate::service::{Handle, State};

/// A connection. Dropping it closes it, after what waits in its send queue was sent. Share it by
/// reference or in an `Arc`: tasks may send and receive at once.
pub struct Connection {
    handle: Handle,
}

impl Connection {
    pub(super) const fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// Addresses and ports of both ends.
    #[must_use]
    pub const fn key(&self) -> &Key {
        &self.handle.key
    }

    /// Hands a datagram over, which may be empty, when there is room in the send queue. With the
    /// priority policy there always is ([`Connection::send_prioritized`]).
    ///
    /// # Errors
    ///
    /// [`LinkError::TooLong`], or how the connection ended.
    pub async fn send(&self, datagram: &[u8]) -> Result<(), LinkError> {
        let Handle { shared, key, .. } = &self.handle;
        let sent = poll_fn(|context| {
            let mut state = shared.lock();
            match state.send(key, datagram, 0) {
                Err(LinkError::QueueFull) => {
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

    /// Hands a datagram over if there is room for it now; `priority` counts with that policy.
    ///
    /// # Errors
    ///
    /// As [`Connection::send`], and [`LinkError::QueueFull`].
    pub fn send_prioritized(&self, datagram: &[u8], priority: u32) -> Result<(), LinkError> {
        self.handle.try_send(datagram, priority)
    }

    /// The next datagram, which may be empty; `None` when the other end has closed and nothing is
    /// left.
    ///
    /// # Errors
    ///
    /// How the connection ended.
    pub async fn receive(&self) -> Result<Option<Vec<u8>>, LinkError> {
        let key = &self.handle.key;
        poll_fn(|context| self.poll_read(context, |state| state.poll_receive(key))).await
    }

    /// As [`Connection::receive`], into `buffer`; false when the other end has closed and nothing is
    /// left. The buffer's memory is used again for what comes later, so nothing is allocated.
    ///
    /// # Errors
    ///
    /// As [`Connection::receive`].
    pub async fn receive_into(&self, buffer: &mut Vec<u8>) -> Result<bool, LinkError> {
        let key = &self.handle.key;
        poll_fn(|context| self.poll_read(context, |state| state.poll_receive_into(key, buffer)))
            .await
    }

    fn poll_read<T>(
        &self,
        context: &Context<'_>,
        read: impl FnOnce(&mut State) -> Poll<T>,
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

    /// Octets that a datagram may have now: the current maximum packet size of RFC 4340 §14.
    #[must_use]
    pub fn packet_bytes_max(&self) -> usize {
        self.handle.packet_bytes_max()
    }

    /// The congestion controls of what this end sends and receives.
    #[must_use]
    pub fn ccids(&self) -> (u8, u8) {
        self.handle.ccids()
    }

    /// The round-trip time, once it is known.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.handle.rtt()
    }

    /// Figures of the congestion control of what this end sends.
    #[must_use]
    pub fn sender_figures(&self) -> Option<SenderFigures> {
        self.handle.sender_figures()
    }

    /// Closes it, after what waits in its send queue was sent; returns at once.
    /// [`super::Endpoint::closed`] tells when that is done.
    pub fn close(self) {
        drop(self);
    }

    /// Ends it at once with a Reset.
    pub fn abort(self) {
        self.handle.abort();
    }
}
