//! DCCP endpoint with its own thread: the part that the blocking and the async interface share.
//!
//! One lock guards the core, the sockets and the wakers of applications. The thread holds it for a
//! batch at a time and never while it waits. An application's thread waits at a condition variable.
//! An application's task leaves its waker, which is called after the lock is released, because a
//! waker may run arbitrary code. Memory is bounded by the queues of a connection
//! ([`crate::ConnectionConfig::send_queue_len`], [`crate::ConnectionConfig::receive_queue_len`]),
//! by the backlog of a listener and by [`EndpointLimits::connections`].

mod handle;
mod turn;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker as TaskWaker};
use std::thread::JoinHandle;
use std::time::Duration;

use dccp::connection::{Connection, ConnectionConfig, ConnectionState as CoreState, SendError};
use dccp::endpoint::{ConnectionKey, EndpointLimits};
use dccp::feature::Disagreement;
use dccp::header::{Reset, ResetCode, ServiceCode};
use netio::{Clock, NetError, Waker};

use crate::carrier::{CarrierOptions, ConnectOptions, Peer, SocketWaiter};
use crate::{DccpError, Driver};

pub(crate) use handle::{ConnectionHandle, Port};

/// Time in nanoseconds that a dropped endpoint gives its connections to close.
const LINGER_NS: u64 = 3_000_000_000;

/// Reason why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEndReason {
    /// Normal end: one end closed the connection.
    Closed,
    /// Reset that the other end sent.
    Reset(FinalReset),
    /// Reset that this end sent, because of a packet or because none came in time.
    Failed(FinalReset),
    /// Report of the network that the peer is unreachable, with the error number of Linux.
    Unreachable(i32),
}

/// Reset that ended a connection, with the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FinalReset {
    reset: Reset,
    /// Feature that the Reset is about; `None` for other reasons.
    disagreement: Option<Disagreement>,
    /// State in which the connection ended.
    state: CoreState,
}

impl FinalReset {
    /// Returns the reason for the end of `connection` by `reset`, while the connection still
    /// exists.
    pub(crate) fn new(reset: Reset, connection: Option<&Connection>) -> Self {
        let disagreement = connection.and_then(|connection| connection.features().disagreement());
        let disagreement =
            if Disagreement::explains(&reset) { disagreement.copied() } else { None };
        let state = connection.and_then(Connection::ended_in).unwrap_or(CoreState::Closed);
        Self { reset, disagreement, state }
    }

    /// Returns the error for a connection that the other end has reset.
    pub(crate) fn by_other_end(self) -> DccpError {
        let Self { reset, disagreement, .. } = self;
        match disagreement {
            Some(disagreement) => DccpError::Disagreed { disagreement, reset, is_ours: false },
            None => DccpError::Reset(reset),
        }
    }

    /// Returns the error for a connection that this end has ended.
    pub(crate) fn by_this_end(self) -> DccpError {
        let Self { reset, disagreement, state } = self;
        match disagreement {
            Some(disagreement) => DccpError::Disagreed { disagreement, reset, is_ours: true },
            None => DccpError::Failed { reset, state },
        }
    }
}

impl ConnectionEndReason {
    /// Returns the error that an application gets when the connection has ended; `None` after a
    /// normal end.
    fn error(self) -> Option<DccpError> {
        match self {
            Self::Reset(ending) => Some(ending.by_other_end()),
            Self::Failed(ending) => Some(ending.by_this_end()),
            Self::Closed | Self::Unreachable(_) => None,
        }
    }
}

/// Condition variables of a connection, at which threads of the application wait.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    /// Condition variable for readers: a datagram arrived on the connection, or its state changed.
    pub(crate) readable: Condvar,
    /// Condition variable for writers: the connection's send queue may have room, or its state
    /// changed.
    pub(crate) writable: Condvar,
}

/// Wakers of async tasks that wait for an event of a connection or port.
#[derive(Debug, Default)]
pub(crate) struct TaskWakers(Vec<TaskWaker>);

impl TaskWakers {
    /// Adds the waker of a task that the next [`TaskWakers::ring`] wakes. A task that is added
    /// again takes no more room.
    pub(crate) fn add(&mut self, context: &Context<'_>) {
        if !self.0.iter().any(|waker| waker.will_wake(context.waker())) {
            self.0.push(context.waker().clone());
        }
    }

    /// Moves all wakers to `woken`; the thread wakes their tasks after it has released the lock.
    fn ring(&mut self, woken: &mut Vec<TaskWaker>) {
        woken.append(&mut self.0);
    }
}

/// State of a connection that an application has, or will get from a listener.
#[derive(Debug, Default)]
pub(crate) struct ConnectionEntry {
    received: VecDeque<Vec<u8>>,
    is_open: bool,
    end: Option<ConnectionEndReason>,
    /// Count of received datagrams that were dropped for lack of room, set when the connection has
    /// ended.
    unread_drops: u64,
    /// True if an application has found the connection's send queue full and waits for room.
    wants_room: bool,
    signal: Arc<Signal>,
    pub(crate) readers: TaskWakers,
    pub(crate) writers: TaskWakers,
}

/// Queue of the connections that wait to be accepted at a port.
#[derive(Debug)]
pub(crate) struct AcceptQueue {
    backlog: VecDeque<ConnectionKey>,
    backlog_max: usize,
    arrived: Arc<Condvar>,
    pub(crate) acceptors: TaskWakers,
}

/// State of an endpoint that its lock guards: driver, connections, listeners.
pub(crate) struct EndpointState {
    pub(crate) driver: Driver,
    pub(crate) entries: BTreeMap<ConnectionKey, ConnectionEntry>,
    pub(crate) listeners: BTreeMap<u16, AcceptQueue>,
    /// Async tasks that wait until all connections are closed.
    pub(crate) closers: TaskWakers,
    /// Wakers of async tasks to be called after the lock is released.
    woken: Vec<TaskWaker>,
    /// Latest time at which the thread of a dropped endpoint ends, in nanoseconds; `None` while the
    /// endpoint exists.
    leaving_ns: Option<u64>,
}

/// State of an endpoint that its thread and all handles share.
pub(crate) struct SharedEndpoint {
    state: Mutex<EndpointState>,
    is_sleeping: AtomicBool,
    sleeper: SocketWaiter,
    /// Condition variable for threads that wait until connections of the endpoint have ended.
    pub(crate) ended: Condvar,
}

impl SharedEndpoint {
    /// Opens the sockets of an endpoint and starts its thread.
    pub(crate) fn start(
        options: &CarrierOptions,
        limits: EndpointLimits,
    ) -> Result<(Arc<Self>, JoinHandle<()>), DccpError> {
        let driver = Driver::open(options, limits)?;
        let sleeper = driver.sleeper();
        let state = EndpointState {
            driver,
            entries: BTreeMap::new(),
            listeners: BTreeMap::new(),
            closers: TaskWakers::default(),
            woken: Vec::new(),
            leaving_ns: None,
        };
        let shared = Arc::new(Self {
            state: Mutex::new(state),
            is_sleeping: AtomicBool::new(false),
            sleeper,
            ended: Condvar::new(),
        });
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("dccp".to_owned())
            .spawn(move || turn::serve(&served))
            .map_err(NetError::on("start", "a thread"))?;
        Ok((shared, thread))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, EndpointState> {
        // A thread that panicked with the lock has left the core between two packets.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the endpoint's thread if it waits, so that it handles a change.
    pub(crate) fn wake(&self) {
        if self.is_sleeping.swap(false, Ordering::AcqRel) {
            self.sleeper.waker().wake();
        }
    }

    /// Returns the waker that ends the wait of the endpoint's thread.
    fn waker(&self) -> &Waker {
        self.sleeper.waker()
    }

    /// Begins a connection to the server `peer` and returns its handle. Dropping the handle ends
    /// the connection, even before it is open.
    pub(crate) fn connect(
        self: &Arc<Self>,
        peer: Peer,
        options: ConnectOptions,
        config: &ConnectionConfig,
    ) -> Result<ConnectionHandle, DccpError> {
        let mut state = self.lock();
        let key = state.driver.connect_with(peer, options, config, &[])?;
        let entry = ConnectionEntry::default();
        let signal = Arc::clone(&entry.signal);
        state.entries.insert(key, entry);
        drop(state);
        self.wake();
        Ok(ConnectionHandle::new(Arc::clone(self), key, signal))
    }

    /// Listens at the DCCP port `port` and returns its handle.
    pub(crate) fn listen(
        self: &Arc<Self>,
        port: u16,
        config: &ConnectionConfig,
        service_codes: Vec<ServiceCode>,
        backlog: usize,
    ) -> Port {
        let arrived = Arc::new(Condvar::new());
        let mut state = self.lock();
        state.driver.listen(port, config, service_codes);
        let queue = AcceptQueue {
            backlog: VecDeque::new(),
            backlog_max: backlog,
            arrived: Arc::clone(&arrived),
            acceptors: TaskWakers::default(),
        };
        state.listeners.insert(port, queue);
        drop(state);
        Port::new(Arc::clone(self), port, arrived)
    }

    /// Makes the endpoint's thread end when all closing connections are closed, or after three
    /// seconds. The thread then resets the connections that an application still has.
    pub(crate) fn leave(&self) {
        self.leave_by(Clock::mono_ns() + LINGER_NS);
    }

    /// Resets every connection of the endpoint, also those that are closing, and makes its thread
    /// end at once.
    pub(crate) fn leave_now(&self) {
        let mut state = self.lock();
        let keys: Vec<_> = state.driver.states().map(|(key, _)| key).collect();
        for key in &keys {
            state.driver.with(key, Connection::abort);
        }
        drop(state);
        self.leave_by(Clock::mono_ns());
    }

    fn leave_by(&self, at_ns: u64) {
        let mut state = self.lock();
        state.leaving_ns = Some(state.leaving_ns.map_or(at_ns, |known_ns| known_ns.min(at_ns)));
        drop(state);
        self.waker().wake();
    }
}

impl EndpointState {
    /// Returns ready when a client's connection is open, or with the error that ended it.
    pub(crate) fn poll_open(
        &self,
        key: &ConnectionKey,
        peer: Peer,
        config: &ConnectionConfig,
    ) -> Poll<Result<(), DccpError>> {
        let Some(entry) = self.entries.get(key) else {
            return Poll::Ready(Err(DccpError::Closed));
        };
        if entry.is_open {
            return Poll::Ready(Ok(()));
        }
        let Some(end) = entry.end else { return Poll::Pending };
        Poll::Ready(Err(match end {
            ConnectionEndReason::Reset(FinalReset { reset, disagreement: None, .. }) => {
                DccpError::Refused { peer, reset }
            }
            ConnectionEndReason::Failed(FinalReset {
                reset, state: CoreState::Request, ..
            }) if reset.code == ResetCode::Aborted => {
                DccpError::TimedOut(Duration::from_nanos(config.connect_timeout_ns))
            }
            ConnectionEndReason::Reset(ending) => ending.by_other_end(),
            ConnectionEndReason::Failed(ending) => ending.by_this_end(),
            ConnectionEndReason::Unreachable(code) => {
                DccpError::Unreachable { peer, cause: std::io::Error::from_raw_os_error(code) }
            }
            ConnectionEndReason::Closed => DccpError::Closed,
        }))
    }

    /// Queues a datagram on the connection `key`. When the send queue is full, the thread wakes
    /// waiting applications once there is room.
    pub(crate) fn send(
        &mut self,
        key: &ConnectionKey,
        datagram: &[u8],
        priority: u32,
    ) -> Result<(), DccpError> {
        let sent = self.driver.with(key, |connection| {
            connection.send(datagram, priority).map_err(|error| match error {
                SendError::TooLong => {
                    DccpError::TooLong { len: datagram.len(), max: connection.data_bytes_max() }
                }
                SendError::QueueFull => DccpError::QueueFull,
                SendError::Closed => DccpError::Closed,
            })
        });
        let entry = self.entries.get_mut(key);
        match sent.unwrap_or(Err(DccpError::Closed)) {
            Err(DccpError::Closed) => {
                let end = entry.and_then(|entry| entry.end);
                Err(end.and_then(ConnectionEndReason::error).unwrap_or(DccpError::Closed))
            }
            Err(DccpError::QueueFull) => {
                if let Some(entry) = entry {
                    entry.wants_room = true;
                }
                Err(DccpError::QueueFull)
            }
            done => done,
        }
    }

    /// Returns the next received datagram of the connection `key`; `None` when the other end has
    /// closed and no datagram is left.
    pub(crate) fn poll_receive(
        &mut self,
        key: &ConnectionKey,
    ) -> Poll<Result<Option<Vec<u8>>, DccpError>> {
        let Some(entry) = self.entries.get_mut(key) else {
            return Poll::Ready(Err(DccpError::Closed));
        };
        if let Some(datagram) = entry.received.pop_front() {
            let received_count = entry.received.len();
            self.driver.with(key, |connection| connection.set_held_datagrams(received_count));
            return Poll::Ready(Ok(Some(datagram)));
        }
        match entry.end {
            Some(end) => Poll::Ready(end.error().map_or(Ok(None), Err)),
            None => Poll::Pending,
        }
    }

    /// Receives the next datagram of the connection `key` into `buffer`, whose memory later
    /// datagrams reuse. Returns false when the other end has closed and nothing is left.
    pub(crate) fn poll_receive_into(
        &mut self,
        key: &ConnectionKey,
        buffer: &mut Vec<u8>,
    ) -> Poll<Result<bool, DccpError>> {
        let received = self.poll_receive(key);
        received.map_ok(|datagram| {
            let Some(datagram) = datagram else { return false };
            let used = std::mem::replace(buffer, datagram);
            self.driver.recycle(key, used);
            true
        })
    }

    /// Removes and returns the next connection from the accept queue of `port`.
    pub(crate) fn poll_accept(
        &mut self,
        port: u16,
    ) -> Poll<Result<(ConnectionKey, Arc<Signal>), DccpError>> {
        let Some(queue) = self.listeners.get_mut(&port) else {
            return Poll::Ready(Err(DccpError::Closed));
        };
        let Some(key) = queue.backlog.pop_front() else { return Poll::Pending };
        let entry = self.entries.get(&key).expect("entries stay until their handles go");
        Poll::Ready(Ok((key, Arc::clone(&entry.signal))))
    }

    /// Returns true if no connection is left to close: connections in TIMEWAIT or RESPOND, and
    /// those that an application still has open, do not count.
    pub(crate) fn is_all_closed(&self) -> bool {
        let is_nobodys = |state| matches!(state, CoreState::TimeWait | CoreState::Respond);
        let mut open = self.driver.states().filter(|(_, state)| !is_nobodys(*state));
        !open.any(|(key, _)| self.entries.get(&key).is_none_or(|entry| entry.end.is_some()))
    }
}
