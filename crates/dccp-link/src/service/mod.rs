//! An endpoint with a thread of its own: what both fronts share.
//!
//! One lock guards the core, the sockets and what applications wait for; the thread holds it for a batch
//! at a time and never while it waits. An application's thread waits at a condition variable, an
//! application's task leaves its waker, which is called after the lock is given back: what a waker does is
//! not known here. Memory is bounded: by the queues of a connection
//! ([`crate::Config::send_queue_len`], [`crate::Config::receive_queue_len`]), by the backlog of a listener
//! and by [`Limits::connections`].

mod handle;
mod turn;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker as TaskWaker};
use std::thread::JoinHandle;
use std::time::Duration;

use dccp::connection::{Config, Connection, SendError, State as CoreState};
use dccp::endpoint::{Key, Limits};
use dccp::feature::Disagreement;
use dccp::header::{Reset, ResetCode, ServiceCode};
use netio::{Clock, NetError, Waker};

use crate::carrier::{CarrierOptions, ConnectOptions, Peer, Sleeper};
use crate::{Driver, LinkError};

pub(crate) use handle::{Handle, Port};

/// How long an endpoint that goes lets its connections close.
const LINGER_NS: u64 = 3_000_000_000;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should.
    Closed,
    /// The other end reset it.
    Reset(Ending),
    /// This end gave up.
    Failed(Ending),
    /// Nobody takes packets there, by an error number of Linux.
    Unreachable(i32),
}

/// A Reset and what led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    reset: Reset,
    /// The feature that the Reset is about.
    disagreement: Option<Disagreement>,
    /// Where the connection was.
    state: CoreState,
}

impl Ending {
    /// The end of `connection` by `reset`, while the connection still exists.
    pub(crate) fn new(reset: Reset, connection: Option<&Connection>) -> Self {
        let disagreement = connection.and_then(|connection| connection.features().disagreement());
        let disagreement = disagreement.copied().filter(|_| Disagreement::explains(&reset));
        let state = connection.and_then(Connection::ended_in).unwrap_or(CoreState::Closed);
        Self { reset, disagreement, state }
    }

    /// The error of a connection that the other end has reset.
    pub(crate) fn by_other_end(self) -> LinkError {
        let Self { reset, disagreement, .. } = self;
        match disagreement {
            Some(disagreement) => LinkError::Disagreed { disagreement, reset, is_ours: false },
            None => LinkError::Reset(reset),
        }
    }

    /// The error of a connection that this end has given up.
    pub(crate) fn by_this_end(self) -> LinkError {
        let Self { reset, disagreement, state } = self;
        match disagreement {
            Some(disagreement) => LinkError::Disagreed { disagreement, reset, is_ours: true },
            None => LinkError::Failed { reset, state },
        }
    }
}

impl End {
    /// The error that an application gets; `None` when it ended as it should.
    fn error(self) -> Option<LinkError> {
        match self {
            Self::Reset(ending) => Some(ending.by_other_end()),
            Self::Failed(ending) => Some(ending.by_this_end()),
            Self::Closed | Self::Unreachable(_) => None,
        }
    }
}

/// What threads wait for at a connection.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    /// A datagram came, or the state changed.
    pub(crate) readable: Condvar,
    /// There may be room in the send queue, or the state changed.
    pub(crate) writable: Condvar,
}

/// Tasks that wait for something.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Vec<TaskWaker>);

impl Tasks {
    /// Has the task woken with the next [`Tasks::ring`]. A task that asks again takes no more room.
    pub(crate) fn add(&mut self, context: &Context<'_>) {
        if !self.0.iter().any(|waker| waker.will_wake(context.waker())) {
            self.0.push(context.waker().clone());
        }
    }

    /// Puts them among those to be woken.
    fn ring(&mut self, woken: &mut Vec<TaskWaker>) {
        woken.append(&mut self.0);
    }
}

/// A connection that an application has, or will get.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    received: VecDeque<Vec<u8>>,
    is_open: bool,
    end: Option<End>,
    /// Datagrams for which there was no room, once it has ended.
    unread_drops: u64,
    /// Somebody has found the send queue full.
    wants_room: bool,
    signal: Arc<Signal>,
    pub(crate) readers: Tasks,
    pub(crate) writers: Tasks,
}

/// A port that takes connections.
#[derive(Debug)]
pub(crate) struct Door {
    backlog: VecDeque<Key>,
    backlog_max: usize,
    arrived: Arc<Condvar>,
    pub(crate) acceptors: Tasks,
}

/// What the lock guards.
pub(crate) struct State {
    pub(crate) driver: Driver,
    pub(crate) entries: BTreeMap<Key, Entry>,
    pub(crate) doors: BTreeMap<u16, Door>,
    /// Tasks that wait until all is closed.
    pub(crate) closers: Tasks,
    /// Tasks to wake when the lock is given back.
    woken: Vec<TaskWaker>,
    /// The endpoint goes, by this time at the latest.
    leaving_ns: Option<u64>,
}

/// What the thread and all handles have in common.
pub(crate) struct Shared {
    state: Mutex<State>,
    is_sleeping: AtomicBool,
    sleeper: Sleeper,
    /// A connection ended.
    pub(crate) ended: Condvar,
}

impl Shared {
    /// Opens the sockets and starts the thread.
    pub(crate) fn start(
        options: &CarrierOptions,
        limits: Limits,
    ) -> Result<(Arc<Self>, JoinHandle<()>), LinkError> {
        let driver = Driver::open(options, limits)?;
        let sleeper = driver.sleeper();
        let state = State {
            driver,
            entries: BTreeMap::new(),
            doors: BTreeMap::new(),
            closers: Tasks::default(),
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

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked with the lock has left the core between two packets.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the thread look at what was changed.
    pub(crate) fn wake(&self) {
        if self.is_sleeping.swap(false, Ordering::AcqRel) {
            self.sleeper.waker().wake();
        }
    }

    /// A line that ends the thread's wait.
    fn waker(&self) -> &Waker {
        self.sleeper.waker()
    }

    /// Begins a connection. Dropping the handle ends it, also while it is not open.
    pub(crate) fn connect(
        self: &Arc<Self>,
        peer: Peer,
        options: ConnectOptions,
        config: &Config,
    ) -> Result<Handle, LinkError> {
        let mut state = self.lock();
        let key = state.driver.connect_with(peer, options, config, &[])?;
        let entry = Entry::default();
        let signal = Arc::clone(&entry.signal);
        state.entries.insert(key, entry);
        drop(state);
        self.wake();
        Ok(Handle::new(Arc::clone(self), key, signal))
    }

    /// Takes connections at `port`.
    pub(crate) fn listen(
        self: &Arc<Self>,
        port: u16,
        config: &Config,
        service_codes: Vec<ServiceCode>,
        backlog: usize,
    ) -> Port {
        let arrived = Arc::new(Condvar::new());
        let mut state = self.lock();
        state.driver.listen(port, config, service_codes);
        let door = Door {
            backlog: VecDeque::new(),
            backlog_max: backlog,
            arrived: Arc::clone(&arrived),
            acceptors: Tasks::default(),
        };
        state.doors.insert(port, door);
        drop(state);
        Port::new(Arc::clone(self), port, arrived)
    }

    /// Has the thread end when connections that are closing are closed, or after three seconds. What an
    /// application still has is reset then.
    pub(crate) fn leave(&self) {
        self.leave_by(Clock::mono_ns() + LINGER_NS);
    }

    /// Resets every connection, those that are closing too, and has the thread end at once.
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

impl State {
    /// Whether a client's connection is there, or why it is not.
    pub(crate) fn poll_open(
        &self,
        key: &Key,
        peer: Peer,
        config: &Config,
    ) -> Poll<Result<(), LinkError>> {
        let Some(entry) = self.entries.get(key) else {
            return Poll::Ready(Err(LinkError::Closed));
        };
        if entry.is_open {
            return Poll::Ready(Ok(()));
        }
        let Some(end) = entry.end else { return Poll::Pending };
        Poll::Ready(Err(match end {
            End::Reset(Ending { reset, disagreement: None, .. }) => {
                LinkError::Refused { peer, reset }
            }
            End::Failed(Ending { reset, state: CoreState::Request, .. })
                if reset.code == ResetCode::Aborted =>
            {
                LinkError::TimedOut(Duration::from_nanos(config.connect_timeout_ns))
            }
            End::Reset(ending) => ending.by_other_end(),
            End::Failed(ending) => ending.by_this_end(),
            End::Unreachable(code) => {
                LinkError::Unreachable { peer, cause: std::io::Error::from_raw_os_error(code) }
            }
            End::Closed => LinkError::Closed,
        }))
    }

    /// Hands a datagram over. When the queue is full, whoever waits for room is told of it.
    pub(crate) fn send(
        &mut self,
        key: &Key,
        datagram: &[u8],
        priority: u32,
    ) -> Result<(), LinkError> {
        let sent = self.driver.with(key, |connection| {
            connection.send(datagram, priority).map_err(|error| match error {
                SendError::TooLong => {
                    LinkError::TooLong { len: datagram.len(), max: connection.data_bytes_max() }
                }
                SendError::QueueFull => LinkError::QueueFull,
                SendError::Closed => LinkError::Closed,
            })
        });
        let entry = self.entries.get_mut(key);
        match sent.unwrap_or(Err(LinkError::Closed)) {
            Err(LinkError::Closed) => {
                let end = entry.and_then(|entry| entry.end);
                Err(end.and_then(End::error).unwrap_or(LinkError::Closed))
            }
            Err(LinkError::QueueFull) => {
                if let Some(entry) = entry {
                    entry.wants_room = true;
                }
                Err(LinkError::QueueFull)
            }
            done => done,
        }
    }

    /// The next datagram; `None` when the other end has closed and nothing is left.
    pub(crate) fn poll_receive(&mut self, key: &Key) -> Poll<Result<Option<Vec<u8>>, LinkError>> {
        let Some(entry) = self.entries.get_mut(key) else {
            return Poll::Ready(Err(LinkError::Closed));
        };
        if let Some(datagram) = entry.received.pop_front() {
            let held = entry.received.len();
            self.driver.with(key, |connection| connection.set_held_datagrams(held));
            return Poll::Ready(Ok(Some(datagram)));
        }
        match entry.end {
            Some(end) => Poll::Ready(end.error().map_or(Ok(None), Err)),
            None => Poll::Pending,
        }
    }

    /// The same into `buffer`, whose memory is used again for what comes later; false when the other end
    /// has closed and nothing is left.
    pub(crate) fn poll_receive_into(
        &mut self,
        key: &Key,
        buffer: &mut Vec<u8>,
    ) -> Poll<Result<bool, LinkError>> {
        let taken = self.poll_receive(key);
        taken.map_ok(|datagram| {
            let Some(datagram) = datagram else { return false };
            let used = std::mem::replace(buffer, datagram);
            self.driver.recycle(key, used);
            true
        })
    }

    /// The next connection that came to `port`.
    pub(crate) fn poll_accept(&mut self, port: u16) -> Poll<Result<(Key, Arc<Signal>), LinkError>> {
        let Some(door) = self.doors.get_mut(&port) else {
            return Poll::Ready(Err(LinkError::Closed));
        };
        let Some(key) = door.backlog.pop_front() else { return Poll::Pending };
        let entry = self.entries.get(&key).expect("entries stay until their handles go");
        Poll::Ready(Ok((key, Arc::clone(&entry.signal))))
    }

    /// Nothing is left but what only remembers that it is over, what an application still has, and
    /// clients that have asked and never answered, which no application ever had.
    pub(crate) fn is_all_closed(&self) -> bool {
        let is_nobodys = |state| matches!(state, CoreState::TimeWait | CoreState::Respond);
        let mut open = self.driver.states().filter(|(_, state)| !is_nobodys(*state));
        !open.any(|(key, _)| self.entries.get(&key).is_none_or(|entry| entry.end.is_some()))
    }
}
