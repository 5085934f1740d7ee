//! DCCP for async programs: the calls of [`crate::BlockingEndpoint`] as futures.
//!
//! The endpoint's own thread moves packets, as with [`crate::BlockingEndpoint`], because departures
//! are microseconds apart and the clock of a runtime is not that precise. A future only takes and
//! queues datagrams, and leaves its waker when there is nothing to do. So the futures do not depend
//! on a certain runtime: tokio's, any other, or a hand-made one runs them. A call holds the
//! endpoint's lock for a datagram, and waits for it while the thread moves a batch, some tens of
//! microseconds.
//!
//! Every future can be dropped at any time (`tokio::select!`, `tokio::time::timeout`): a datagram
//! was taken from the connection or queued only if the future was ready. Dropping the future of a
//! connection that is not open yet gives the connection up.

mod connection;
mod listener;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use dccp::connection::ConnectionConfig;
use dccp::endpoint::{EndpointAnswerCounts, EndpointLimits, Occupancy};
use dccp::header::ServiceCode;

use crate::DccpError;
use crate::carrier::{CarrierOptions, ConnectOptions, Peer};
use crate::service::SharedEndpoint;

pub use connection::AsyncConnection;
pub use listener::AsyncListener;

/// DCCP connections over one set of sockets, with a thread that moves their packets. Dropping the
/// value returns at once; the thread gives connections that are closing three seconds, and resets
/// the others. The end of the program ends the thread, too: await [`AsyncEndpoint::closed`] before.
pub struct AsyncEndpoint {
    shared: Arc<SharedEndpoint>,
}

impl AsyncEndpoint {
    /// Opens the sockets of an endpoint and starts its thread; does not wait.
    ///
    /// # Errors
    ///
    /// Returns the error of the kernel, for instance for a taken port or a missing right.
    pub fn open(options: &CarrierOptions, limits: EndpointLimits) -> Result<Self, DccpError> {
        // The thread needs no join: it ends by itself when the endpoint is dropped.
        let (shared, _) = SharedEndpoint::start(options, limits)?;
        Ok(Self { shared })
    }

    /// Returns the endpoint's local UDP port; `None` for another carrier.
    pub fn udp_port(&self) -> Option<u16> {
        self.shared.lock().driver.udp_port()
    }

    /// Connects to the server `peer`. The future is ready when the server has answered, as
    /// `connect(2)` of Linux, or [`ConnectionConfig::connect_timeout_ns`] has passed. If the server
    /// sends nothing more for the same time again, the connection ends.
    ///
    /// # Errors
    ///
    /// Returns [`DccpError::Refused`], [`DccpError::TimedOut`], or the error of the kernel.
    pub async fn connect(
        &self,
        peer: Peer,
        config: &ConnectionConfig,
    ) -> Result<AsyncConnection, DccpError> {
        self.connect_with(peer, ConnectOptions::default(), config).await
    }

    /// Connects to the server `peer` with options: through a certain interface, or from a UDP port
    /// of its own.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`AsyncEndpoint::connect`], and an error when a link-local address
    /// comes without its interface, or no port can be opened.
    pub async fn connect_with(
        &self,
        peer: Peer,
        options: ConnectOptions,
        config: &ConnectionConfig,
    ) -> Result<AsyncConnection, DccpError> {
        let handle = self.shared.connect(peer, options, config)?;
        let key = handle.key;
        poll_fn(|context| {
            let mut state = self.shared.lock();
            let done = state.poll_open(&key, peer, config);
            if done.is_pending()
                && let Some(entry) = state.entries.get_mut(&key)
            {
                entry.readers.add(context);
            }
            done
        })
        .await?;
        Ok(AsyncConnection::new(handle))
    }

    /// Listens at the DCCP port `port` for these services; at most `backlog` connections wait to be
    /// accepted.
    pub fn listen(
        &self,
        port: u16,
        config: &ConnectionConfig,
        service_codes: Vec<ServiceCode>,
        backlog: usize,
    ) -> AsyncListener {
        AsyncListener::new(self.shared.listen(port, config, service_codes, backlog))
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

    /// Waits until all connections that the application has closed are closed at both ends.
    pub async fn closed(&self) {
        poll_fn(|context| {
            let mut state = self.shared.lock();
            if state.is_all_closed() {
                return Poll::Ready(());
            }
            state.closers.add(context);
            Poll::Pending
        })
        .await;
    }
}

impl Drop for AsyncEndpoint {
    fn drop(&mut self) {
        self.shared.leave();
    }
}
