//! Bulk lease queries over TCP (RFC 6926, RFC 5460): a thread with an asynchronous runtime of its
//! own, which exists only while the configuration has `bulk-query-enabled`. Queries over UDP are
//! messages that shards answer.
//!
//! The thread reads the lease table. As with the control commands that show leases, a reply may
//! tell of a lease whose row is not durable yet.

mod connection;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dhcp_config::{BulkLeaseQuery, LeaseQuery};
use dhcp_engine::contain::run_contained;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, LocalSet, spawn_local, yield_now};

use crate::ServerError;
use crate::log;
use crate::loggers::DAEMON;
use crate::panics::{INTERNAL_ERROR, contained_task};
use crate::service::DaemonFamily;
use crate::shard_loop::SharedDaemonState;

/// Largest number of connections of all requesters together.
const CONNECTIONS_MAX: u32 = 1024;
/// Largest number of connections that wait to be accepted.
const BACKLOG: u32 = 128;
/// Wait after `accept(2)` failed for lack of a resource, such as a file descriptor.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Order to the thread.
enum BulkOrder {
    /// Settings to follow, and the channel for the outcome.
    Configure(BulkTerms, mpsc::Sender<Result<(), String>>),
    /// Request to end the thread.
    Stop,
}

/// Settings of bulk lease queries, with those of all lease queries.
#[derive(Clone, Debug)]
struct BulkTerms {
    queries: LeaseQuery,
    bulk: BulkLeaseQuery,
}

/// Handle of the thread that answers bulk lease queries.
pub(crate) struct BulkLeaseQueries<P: DaemonFamily> {
    shared: Arc<SharedDaemonState<P>>,
    running: Option<RunningThread>,
}

struct RunningThread {
    orders: UnboundedSender<BulkOrder>,
    thread: JoinHandle<()>,
}

impl<P: DaemonFamily> BulkLeaseQueries<P> {
    /// Returns the handle of a thread that does not run: no bulk query is answered.
    pub(crate) const fn new(shared: Arc<SharedDaemonState<P>>) -> Self {
        Self { shared, running: None }
    }

    /// Answers bulk lease queries as `settings` require, or none.
    ///
    /// # Errors
    ///
    /// The reason why queries cannot be accepted; the thread then continues as before.
    pub(crate) fn configure(&mut self, settings: Option<&LeaseQuery>) -> Result<(), ServerError> {
        let terms = settings.and_then(|queries| {
            let bulk = queries.bulk.clone()?;
            Some(BulkTerms { queries: queries.clone(), bulk })
        });
        let Some(terms) = terms else {
            self.stop();
            return Ok(());
        };
        let is_new = self.running.is_none();
        if is_new {
            self.running = Some(start(Arc::clone(&self.shared))?);
        }
        let Some(running) = &self.running else { return Ok(()) };
        let (sender, outcome) = mpsc::channel();
        running.orders.send(BulkOrder::Configure(terms, sender)).ok();
        let outcome = outcome.recv().expect("the thread runs until it is told to stop");
        if is_new && outcome.is_err() {
            self.stop();
        }
        outcome.map_err(ServerError::LeaseQuery)
    }

    /// Closes all connections and ends the thread, if it runs.
    pub(crate) fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.orders.send(BulkOrder::Stop).ok();
            running.thread.join().expect("the thread does not panic");
        }
    }
}

fn start<P: DaemonFamily>(shared: Arc<SharedDaemonState<P>>) -> Result<RunningThread, ServerError> {
    let system =
        |cause| ServerError::System { tried: "start the thread of bulk lease queries", cause };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    let (orders, received) = unbounded_channel();
    let thread = thread::Builder::new()
        .name("lease-query".to_owned())
        .spawn(move || {
            log::give_way("bulk lease queries");
            LocalSet::new().block_on(&runtime, execute_orders(received, shared));
        })
        .map_err(system)?;
    Ok(RunningThread { orders, thread })
}

async fn execute_orders<P: DaemonFamily>(
    mut orders: UnboundedReceiver<BulkOrder>,
    shared: Arc<SharedDaemonState<P>>,
) {
    let mut server: Option<BulkServer<P>> = None;
    while let Some(BulkOrder::Configure(terms, outcome)) = orders.recv().await {
        let configured = run_contained(|| follow(&mut server, terms, &shared));
        outcome.send(configured.unwrap_or_else(|| Err(INTERNAL_ERROR.to_owned()))).ok();
    }
}

/// Makes `server` follow `terms`; it keeps its connections if its address is the same.
fn follow<P: DaemonFamily>(
    server: &mut Option<BulkServer<P>>,
    terms: BulkTerms,
    shared: &Arc<SharedDaemonState<P>>,
) -> Result<(), String> {
    let address = terms.bulk.listen;
    if let Some(open) = server
        && open.address == address
    {
        *open.requesters.terms.borrow_mut() = Rc::new(terms);
        return Ok(());
    }
    let listener = listen(address)
        .map_err(|cause| format!("cannot accept bulk lease queries at {address}: {cause}"))?;
    let requesters = Rc::new(Requesters {
        shared: Arc::clone(shared),
        terms: RefCell::new(Rc::new(terms)),
        open: RefCell::default(),
    });
    let accepting = spawn_local(accept(listener, Rc::clone(&requesters))).abort_handle();
    tracing::info!(
        target: DAEMON,
        id = "DHCPX_BULK_LEASE_QUERY_STARTED",
        "accepting bulk lease queries at {address}"
    );
    *server = Some(BulkServer { address, requesters, accepting });
    Ok(())
}

/// Socket at which bulk lease queries are accepted.
struct BulkServer<P: DaemonFamily> {
    address: SocketAddr,
    requesters: Rc<Requesters<P>>,
    accepting: AbortHandle,
}

impl<P: DaemonFamily> Drop for BulkServer<P> {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Requesters with their connections.
struct Requesters<P: DaemonFamily> {
    shared: Arc<SharedDaemonState<P>>,
    terms: RefCell<Rc<BulkTerms>>,
    /// Number of open connections of each requester.
    open: RefCell<BTreeMap<IpAddr, u32>>,
}

impl<P: DaemonFamily> Requesters<P> {
    fn terms(&self) -> Rc<BulkTerms> {
        Rc::clone(&self.terms.borrow())
    }

    /// Registers a connection of `requester`; `None` if the requester is not configured or has
    /// enough connections.
    fn register(self: &Rc<Self>, requester: IpAddr) -> Option<RequesterRegistration<P>> {
        let terms = self.terms();
        let mut open = self.open.borrow_mut();
        if !terms.queries.admits(requester) || open.values().sum::<u32>() >= CONNECTIONS_MAX {
            return None;
        }
        let count = open.entry(requester).or_default();
        if *count >= terms.bulk.connections_max {
            return None;
        }
        *count += 1;
        Some(RequesterRegistration { requesters: Rc::clone(self), requester })
    }
}

/// Registration of one connection, which ends when it is dropped.
struct RequesterRegistration<P: DaemonFamily> {
    requesters: Rc<Requesters<P>>,
    requester: IpAddr,
}

impl<P: DaemonFamily> Drop for RequesterRegistration<P> {
    fn drop(&mut self) {
        let mut open = self.requesters.open.borrow_mut();
        if let Some(count) = open.get_mut(&self.requester) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.requester);
            }
        }
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept<P: DaemonFamily>(listener: TcpListener, requesters: Rc<Requesters<P>>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => accepted(stream, peer, &requesters),
            Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
        }
        yield_now().await;
    }
}

fn accepted<P: DaemonFamily>(stream: TcpStream, peer: SocketAddr, requesters: &Rc<Requesters<P>>) {
    // Kea closes the connections of others, too.
    let Some(registration) = requesters.register(peer.ip()) else { return };
    stream.set_nodelay(true).ok();
    spawn_local(contained_task(connection::serve(stream, registration)));
}
