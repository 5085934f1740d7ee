//! What an application does with a connection.

use std::task::Poll;
use std::time::{Duration, Instant};

use dccp::ccid::SenderFigures;
use dccp::endpoint::Key;

use super::wait_for;
use crate::LinkError;
use crate::service::Handle;

/// What was done, or that it was not done in time.
fn in_time<T>(
    done: Option<Result<T, LinkError>>,
    timeout: Option<Duration>,
) -> Result<T, LinkError> {
    done.unwrap_or_else(|| Err(LinkError::TimedOut(timeout.unwrap_or_default())))
}

/// A connection. Dropping it closes it, after what waits in its send queue was sent.
pub struct Connection {
    handle: Handle,
    send_timeout: Option<Duration>,
    receive_timeout: Option<Duration>,
}

impl Connection {
    pub(super) const fn new(handle: Handle) -> Self {
        Self { handle, send_timeout: None, receive_timeout: None }
    }

    /// Addresses and ports of both ends.
    #[must_use]
    pub const fn key(&self) -> &Key {
        &self.handle.key
    }

    /// How long [`Connection::send`] waits for room in the queue; without end unless set.
    pub const fn set_send_timeout(&mut self, timeout: Option<Duration>) {
        self.send_timeout = timeout;
    }

    /// How long [`Connection::receive`] waits; without end unless set.
    pub const fn set_receive_timeout(&mut self, timeout: Option<Duration>) {
        self.receive_timeout = timeout;
    }

    /// Hands a datagram over, which may be empty, and waits for room in the send queue. With the
    /// priority policy it never waits ([`Connection::send_prioritized`]).
    ///
    /// # Errors
    ///
    /// [`LinkError::TooLong`], [`LinkError::TimedOut`] (the datagram was not taken), or how the
    /// connection ended.
    pub fn send(&self, datagram: &[u8]) -> Result<(), LinkError> {
        let Handle { shared, key, signal } = &self.handle;
        let deadline = self.send_timeout.map(|timeout| Instant::now() + timeout);
        let sent = wait_for(shared, &signal.writable, deadline, |state| {
            match state.send(key, datagram, 0) {
                Err(LinkError::QueueFull) => Poll::Pending,
                done => Poll::Ready(done),
            }
        });
        shared.wake();
        in_time(sent, self.send_timeout)
    }

    /// Hands a datagram over if there is room for it; `priority` counts with that policy.
    ///
    /// # Errors
    ///
    /// As [`Connection::send`], and [`LinkError::QueueFull`].
    pub fn send_prioritized(&self, datagram: &[u8], priority: u32) -> Result<(), LinkError> {
        self.handle.try_send(datagram, priority)
    }

    /// The next datagram, which may be empty; `None` when the other end has closed and nothing is
    /// left. Waits for it.
    ///
    /// # Errors
    ///
    /// [`LinkError::TimedOut`], or how the connection ended.
    pub fn receive(&self) -> Result<Option<Vec<u8>>, LinkError> {
        let Handle { shared, key, signal } = &self.handle;
        let deadline = self.receive_timeout.map(|timeout| Instant::now() + timeout);
        let done = wait_for(shared, &signal.readable, deadline, |state| state.poll_receive(key));
        in_time(done, self.receive_timeout)
    }

    /// As [`Connection::receive`], into `buffer`; false when the other end has closed and nothing is
    /// left. The buffer's memory is used again for what comes later, so nothing is allocated.
    ///
    /// # Errors
    ///
    /// As [`Connection::receive`].
    pub fn receive_into(&self, buffer: &mut Vec<u8>) -> Result<bool, LinkError> {
        let Handle { shared, key, signal } = &self.handle;
        let deadline = self.receive_timeout.map(|timeout| Instant::now() + timeout);
        let done = wait_for(shared, &signal.readable, deadline, |state| {
            state.poll_receive_into(key, buffer)
        });
        in_time(done, self.receive_timeout)
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

    /// Lets `read` look at the core of the connection; `None` when it is gone.
    pub fn look<T>(&self, read: impl FnOnce(&dccp::connection::Connection) -> T) -> Option<T> {
        self.handle.look(read)
    }

    /// Datagrams that were dropped here since those before them were not read in time
    /// ([`Config::receive_queue_len`](dccp::connection::Config::receive_queue_len)).
    #[must_use]
    pub fn unread_drops(&self) -> u64 {
        self.handle.unread_drops()
    }

    /// Closes it, after what waits in its send queue was sent; returns at once.
    /// [`super::Endpoint::wait_closed`] waits for that.
    pub fn close(self) {
        drop(self);
    }

    /// Ends it at once with a Reset.
    pub fn abort(self) {
        self.handle.abort();
    }
}
