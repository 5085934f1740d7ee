//! What an application does with a connection.

use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use dccp::ccid::SenderFigures;
use dccp::connection::SendError;
use dccp::endpoint::Key;
use dccp::feature::{Feature, number};

use super::{End, Shared, Signal, State, wait};
use crate::LinkError;

/// A connection. Dropping it closes it, after what waits in its send queue was sent.
pub struct Connection {
    shared: Arc<Shared>,
    key: Key,
    signal: Arc<Signal>,
    send_timeout: Option<Duration>,
    receive_timeout: Option<Duration>,
}

impl Connection {
    pub(super) const fn new(shared: Arc<Shared>, key: Key, signal: Arc<Signal>) -> Self {
        Self { shared, key, signal, send_timeout: None, receive_timeout: None }
    }

    /// Addresses and ports of both ends.
    #[must_use]
    pub const fn key(&self) -> &Key {
        &self.key
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
        let deadline = self.send_timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.shared.lock();
        loop {
            match self.try_send(&mut state, datagram, 0) {
                Err(LinkError::QueueFull) => {}
                done => {
                    drop(state);
                    self.shared.wake();
                    return done;
                }
            }
            self.count_sender(&mut state, 1);
            let awake = wait(&self.signal.writable, state, deadline);
            let is_late = awake.is_none();
            state = awake.unwrap_or_else(|| self.shared.lock());
            self.count_sender(&mut state, -1);
            if is_late {
                return Err(LinkError::TimedOut(self.send_timeout.unwrap_or_default()));
            }
        }
    }

    /// Hands a datagram over if there is room for it; `priority` counts with that policy.
    ///
    /// # Errors
    ///
    /// As [`Connection::send`], and [`LinkError::QueueFull`].
    pub fn send_prioritized(&self, datagram: &[u8], priority: u32) -> Result<(), LinkError> {
        let mut state = self.shared.lock();
        self.try_send(&mut state, datagram, priority)?;
        drop(state);
        self.shared.wake();
        Ok(())
    }

    fn try_send(&self, state: &mut State, datagram: &[u8], priority: u32) -> Result<(), LinkError> {
        let key = &self.key;
        let sent = state.driver.with(key, |connection| {
            connection.send(datagram, priority).map_err(|error| match error {
                SendError::TooLong => {
                    LinkError::TooLong { len: datagram.len(), max: connection.data_bytes_max() }
                }
                SendError::QueueFull => LinkError::QueueFull,
                SendError::Closed => LinkError::Closed,
            })
        });
        match sent.unwrap_or(Err(LinkError::Closed)) {
            Err(LinkError::Closed) => Err(self.end(state).unwrap_or(LinkError::Closed)),
            done => done,
        }
    }

    fn count_sender(&self, state: &mut State, by: isize) {
        if let Some(entry) = state.entries.get_mut(&self.key) {
            entry.senders_waiting = entry.senders_waiting.saturating_add_signed(by);
        }
    }

    /// The next datagram, which may be empty; `None` when the other end has closed and nothing is
    /// left. Waits for it.
    ///
    /// # Errors
    ///
    /// [`LinkError::TimedOut`], or how the connection ended.
    pub fn receive(&self) -> Result<Option<Vec<u8>>, LinkError> {
        let deadline = self.receive_timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.shared.lock();
        loop {
            let Some(entry) = state.entries.get_mut(&self.key) else {
                return Err(LinkError::Closed);
            };
            if let Some(datagram) = entry.received.pop_front() {
                let held = entry.received.len();
                state.driver.with(&self.key, |connection| connection.set_held_datagrams(held));
                return Ok(Some(datagram));
            }
            match entry.end {
                Some(End::Closed | End::Unreachable(_)) => return Ok(None),
                Some(End::Reset(reset) | End::Failed(reset)) => {
                    return Err(LinkError::Reset(reset));
                }
                None => {}
            }
            let Some(awake) = wait(&self.signal.readable, state, deadline) else {
                return Err(LinkError::TimedOut(self.receive_timeout.unwrap_or_default()));
            };
            state = awake;
        }
    }

    fn end(&self, state: &State) -> Option<LinkError> {
        match state.entries.get(&self.key)?.end? {
            End::Closed | End::Unreachable(_) => None,
            End::Reset(reset) | End::Failed(reset) => Some(LinkError::Reset(reset)),
        }
    }

    /// Octets that a datagram may have now: the current maximum packet size of RFC 4340 §14.
    #[must_use]
    pub fn packet_bytes_max(&self) -> usize {
        self.look(|connection| connection.data_bytes_max()).unwrap_or(0)
    }

    /// The congestion controls of what this end sends and receives.
    #[must_use]
    pub fn ccids(&self) -> (u8, u8) {
        let read = |connection: &dccp::connection::Connection| {
            let features = connection.features();
            let tx = features.value(Feature::local(number::CCID));
            let rx = features.value(Feature::remote(number::CCID));
            (tx as u8, rx as u8)
        };
        self.look(read).unwrap_or((0, 0))
    }

    /// The round-trip time, once it is known.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.look(dccp::connection::Connection::rtt_ns).flatten().map(Duration::from_nanos)
    }

    /// Figures of the congestion control of what this end sends.
    #[must_use]
    pub fn sender_figures(&self) -> Option<SenderFigures> {
        self.look(dccp::connection::Connection::sender_figures).flatten()
    }

    /// Lets `read` look at the core of the connection; `None` when it is gone.
    pub fn look<T>(&self, read: impl FnOnce(&dccp::connection::Connection) -> T) -> Option<T> {
        let state: MutexGuard<'_, State> = self.shared.lock();
        state.driver.connection(&self.key).map(read)
    }

    /// Closes it, after what waits in its send queue was sent; returns at once.
    /// [`super::Endpoint::wait_closed`] waits for that.
    pub fn close(self) {
        drop(self);
    }

    /// Ends it at once with a Reset.
    pub fn abort(self) {
        self.shared.lock().driver.with(&self.key, dccp::connection::Connection::abort);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let now_ns = netio::Clock::mono_ns();
        let mut state = self.shared.lock();
        state.entries.remove(&self.key);
        state.driver.with(&self.key, |connection| {
            // Nobody reads any more: what still comes needs no room.
            connection.stop_receiving();
            connection.close(now_ns);
        });
        drop(state);
        self.shared.wake();
    }
}
