//! The same calls for async programs: futures in the place of waiting.
//!
//! Packets are moved by the endpoint's own thread, as with [`crate::Endpoint`], since departures are
//! microseconds apart and the clock of a runtime is not; a future only takes and hands over datagrams,
//! and leaves its waker where there is nothing to do. So nothing here belongs to a certain runtime:
//! tokio's, any other, or a hand-made one runs it. A call holds the endpoint's lock for a datagram, and
//! waits for it while the thread moves a batch, some tens of microseconds.
//!
//! Every future can be dropped at any time (`tokio::select!`, `tokio::time::timeout`): a datagram was
//! taken from the connection or handed over only if the future was ready; a connection that is not there
//! yet is given up.

mod connection;
mod listener;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use dccp::connection::Config;
use dccp::endpoint::{Answers, Limits, Occupancy};
use dccp::header::ServiceCode;

use crate::LinkError;
use crate::carrier::{CarrierOptions, ConnectOptions, Peer};
use crate::service::Shared;

pub use connection::Connection;
pub use listener::Listener;

/// Connections over one set of sockets, with a thread that moves their packets. Dropping it returns at
/// once; the thread gives connections that are closing three seconds, and resets the others. A program
/// that ends earlier takes the thread with it: await [`Endpoint::closed`] before.
pub struct Endpoint {
    shared: Arc<Shared>,
}

impl Endpoint {
    /// Opens the sockets and starts the thread; does not wait.
    ///
    /// # Errors
    ///
    /// What the kernel refuses: a taken port, a missing right.
    pub fn open(options: &CarrierOptions, limits: Limits) -> Result<Self, LinkError> {
        // Nobody waits for the thread: it ends by itself when the endpoint goes.
        let (shared, _) = Shared::start(options, limits)?;
        Ok(Self { shared })
    }

    /// The own UDP port, of that carrier.
    #[must_use]
    pub fn udp_port(&self) -> Option<u16> {
        self.shared.lock().driver.udp_port()
    }

    /// Connects: done when the server has answered, as `connect(2)` of Linux, or
    /// [`Config::connect_timeout_ns`] has passed. A server that says nothing more for as long again ends the
    /// connection.
    ///
    /// # Errors
    ///
    /// [`LinkError::Refused`], [`LinkError::TimedOut`], or what the kernel says.
    pub async fn connect(&self, peer: Peer, config: &Config) -> Result<Connection, LinkError> {
        self.connect_with(peer, ConnectOptions::default(), config).await
    }

    /// The same on a way of its own: through a certain interface, from a UDP port of its own.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`], and when a link-local address comes without its interface, or no port
    /// can be opened.
    pub async fn connect_with(
        &self,
        peer: Peer,
        options: ConnectOptions,
        config: &Config,
    ) -> Result<Connection, LinkError> {
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
        Ok(Connection::new(handle))
    }

    /// Takes connections at `port` for these services; as many as `backlog` wait to be accepted.
    pub fn listen(
        &self,
        port: u16,
        config: &Config,
        service_codes: Vec<ServiceCode>,
        backlog: usize,
    ) -> Listener {
        Listener::new(self.shared.listen(port, config, service_codes, backlog))
    }

    /// Connections in any state, those that are only remembered for a while (TIMEWAIT) included.
    #[must_use]
    pub fn connections_count(&self) -> usize {
        self.shared.lock().driver.connections_count()
    }

    /// What all connections hold now. Datagrams that an application has not received count against
    /// [`Config::receive_queue_len`] and not here.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        self.shared.lock().driver.occupancy()
    }

    /// What became of packets that belonged to no connection.
    #[must_use]
    pub fn answers(&self) -> Answers {
        *self.shared.lock().driver.answers()
    }

    /// Done when every connection that was closed is closed at both ends.
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

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.leave();
    }
}
