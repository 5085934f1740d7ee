//! DCCP for programs with threads: endpoints, listeners and connections with blocking calls.

mod connecting;
mod connection;
mod listener;

use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dccp::connection::ConnectionConfig;
use dccp::endpoint::{EndpointAnswerCounts, EndpointLimits, Occupancy};
use dccp::header::ServiceCode;

use crate::DccpError;
use crate::carrier::{CarrierOptions, ConnectOptions, Peer};
use crate::service::{EndpointState, SharedEndpoint};

pub use connecting::PendingConnection;
pub use connection::BlockingConnection;
pub use listener::BlockingListener;

/// Waits at `condvar` until it is notified or `deadline` passes; returns `None` after the deadline.
fn wait<'a>(
    condvar: &Condvar,
    guard: MutexGuard<'a, EndpointState>,
    deadline: Option<Instant>,
) -> Option<MutexGuard<'a, EndpointState>> {
    let Some(deadline) = deadline else {
        return Some(condvar.wait(guard).unwrap_or_else(PoisonError::into_inner));
    };
    let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
    Some(condvar.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0)
}

/// Waits at `condvar` until `poll` is ready, and returns its value; `None` when `deadline` comes
/// first.
fn wait_for<T>(
    shared: &SharedEndpoint,
    condvar: &Condvar,
    deadline: Option<Instant>,
    mut poll: impl FnMut(&mut EndpointState) -> Poll<T>,
) -> Option<T> {
    let mut state = shared.lock();
    loop {
        match poll(&mut state) {
            Poll::Ready(done) => return Some(done),
            Poll::Pending => state = wait(condvar, state, deadline)?,
        }
    }
}

/// DCCP connections over one set of sockets, with a thread that moves their packets. Dropping the
/// value gives connections that are closing three seconds, and resets the others.
pub struct BlockingEndpoint {
    shared: Arc<SharedEndpoint>,
    thread: Option<JoinHandle<()>>,
}

impl BlockingEndpoint {
    /// Opens the sockets of an endpoint and starts its thread.
    ///
    /// # Errors
    ///
    /// Returns the error of the kernel, for instance for a taken port or a missing right.
    pub fn open(options: &CarrierOptions, limits: EndpointLimits) -> Result<Self, DccpError> {
        let (shared, thread) = SharedEndpoint::start(options, limits)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Returns the endpoint's local UDP port; `None` for another carrier.
    pub fn udp_port(&self) -> Option<u16> {
        self.shared.lock().driver.udp_port()
    }

    /// Connects to the server `peer`, and waits until it has answered, as `connect(2)` of Linux
    /// does, or [`ConnectionConfig::connect_timeout_ns`] has passed. If the server sends nothing
    /// more for the same time again, the connection ends.
    ///
    /// # Errors
    ///
    /// Returns [`DccpError::Refused`], [`DccpError::TimedOut`], or the error of the kernel.
    pub fn connect(
        &self,
        peer: Peer,
        config: &ConnectionConfig,
    ) -> Result<BlockingConnection, DccpError> {
        self.connect_with(peer, ConnectOptions::default(), config)
    }

    /// Connects to the server `peer` with options: through a certain interface, or from a UDP port
    /// of its own.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`BlockingEndpoint::connect`], and an error when a link-local address
    /// comes without its interface, or no port can be opened.
    pub fn connect_with(
        &self,
        peer: Peer,
        options: ConnectOptions,
        config: &ConnectionConfig,
    ) -> Result<BlockingConnection, DccpError> {
        let mut connecting = self.begin_connect(peer, options, config)?;
        connecting.wait_until(None)?;
        Ok(connecting.into_connection())
    }

    /// Begins a connection to the server `peer` without waiting for its answer.
    ///
    /// # Errors
    ///
    /// Returns the error of the kernel, for instance when no port can be opened.
    pub fn begin_connect(
        &self,
        peer: Peer,
        options: ConnectOptions,
        config: &ConnectionConfig,
    ) -> Result<PendingConnection, DccpError> {
        let handle = self.shared.connect(peer, options, config)?;
        Ok(PendingConnection::new(handle, peer, config.clone()))
    }

    /// Resets every connection of the endpoint, also those that are closing, and ends the endpoint
    /// without waiting for the other ends.
    pub fn abort(self) {
        self.shared.leave_now();
    }

    /// Listens at the DCCP port `port` for these services; at most `backlog` connections wait to be
    /// accepted.
    pub fn listen(
        &self,
        port: u16,
        config: &ConnectionConfig,
        service_codes: Vec<ServiceCode>,
        backlog: usize,
    ) -> BlockingListener {
        BlockingListener::new(self.shared.listen(port, config, service_codes, backlog))
    }

    /// Returns the count of the endpoint's connections in any state, those in TIMEWAIT included.
    #[must_use]
    pub fn connections_count(&self) -> usize {
        self.shared.lock().driver.connections_count()
    }

    /// Returns counts of what the endpoint's core holds now: connections, Resets, cookies, queued
    /// items. Datagrams that an application has not received count against
    /// [`ConnectionConfig::receive_queue_len`] and not here.
    pub fn occupancy(&self) -> Occupancy {
        self.shared.lock().driver.occupancy()
    }

    /// Returns the counts of packets that belonged to no connection, by the endpoint's answer.
    pub fn answers(&self) -> EndpointAnswerCounts {
        *self.shared.lock().driver.answers()
    }

    /// Waits at most `timeout` until all connections that the application has closed are closed at
    /// both ends. Returns true if they are.
    pub fn wait_closed(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let is_closed = |state: &mut EndpointState| {
            if state.is_all_closed() { Poll::Ready(()) } else { Poll::Pending }
        };
        wait_for(&self.shared, &self.shared.ended, Some(deadline), is_closed).is_some()
    }
}

impl Drop for BlockingEndpoint {
    fn drop(&mut self) {
        self.shared.leave();
        if let Some(thread) = self.thread.take() {
            // The thread ends by itself; its panic was printed.
            let _ = thread.join();
        }
    }
}
