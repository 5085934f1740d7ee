//! An endpoint with a thread of its own, and calls that wait.
//!
//! One lock guards the core, the sockets and what applications wait for; the thread holds it for a batch
//! at a time and never while it waits. Memory is bounded: by the queues of a connection
//! ([`Config::send_queue_len`], [`Config::receive_queue_len`]), by the backlog of a listener and by
//! [`Limits::connections`].

mod connection;
mod listener;
mod service;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dccp::connection::{Config, State as CoreState};
use dccp::endpoint::{Answers, Key, Limits, Occupancy};
use dccp::header::{Reset, ServiceCode};
use netio::{NetError, Waker};

use crate::carrier::{CarrierOptions, Peer, Sleeper};
use crate::{Driver, LinkError};

pub use connection::Connection;
pub use listener::Listener;

/// How long [`Endpoint`] lets its connections close when it is dropped.
const LINGER: Duration = Duration::from_secs(3);

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// As it should.
    Closed,
    /// The other end reset it.
    Reset(Reset),
    /// This end gave up.
    Failed(Reset),
    /// Nobody takes packets there, by an error number of Linux.
    Unreachable(i32),
}

/// What applications wait for at a connection.
#[derive(Debug, Default)]
struct Signal {
    /// A datagram came, or the state changed.
    readable: Condvar,
    /// There may be room in the send queue, or the state changed.
    writable: Condvar,
}

/// A connection that an application has, or will get.
#[derive(Debug, Default)]
struct Entry {
    received: VecDeque<Vec<u8>>,
    is_open: bool,
    end: Option<End>,
    senders_waiting: usize,
    signal: Arc<Signal>,
}

/// A port that takes connections.
#[derive(Debug)]
struct Door {
    backlog: VecDeque<Key>,
    backlog_max: usize,
    arrived: Arc<Condvar>,
}

/// What the lock guards.
struct State {
    driver: Driver,
    entries: BTreeMap<Key, Entry>,
    doors: BTreeMap<u16, Door>,
    is_over: bool,
}

/// What the thread and all handles have in common.
struct Shared {
    state: Mutex<State>,
    is_sleeping: AtomicBool,
    sleeper: Sleeper,
    /// A connection ended.
    ended: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked with the lock has left the core between two packets.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the thread look at what was changed.
    fn wake(&self) {
        if self.is_sleeping.swap(false, Ordering::AcqRel) {
            self.waker().wake();
        }
    }

    fn waker(&self) -> &Waker {
        self.sleeper.waker()
    }
}

/// Waits at `condvar` until `deadline`; `None` when that has passed.
fn wait<'a>(
    condvar: &Condvar,
    guard: MutexGuard<'a, State>,
    deadline: Option<Instant>,
) -> Option<MutexGuard<'a, State>> {
    let Some(deadline) = deadline else {
        return Some(condvar.wait(guard).unwrap_or_else(PoisonError::into_inner));
    };
    let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
    Some(condvar.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0)
}

/// Connections over one set of sockets, with a thread that moves their packets. Dropping it gives
/// connections that are closing three seconds, and resets the others.
pub struct Endpoint {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Opens the sockets and starts the thread.
    ///
    /// # Errors
    ///
    /// What the kernel refuses: a taken port, a missing right.
    pub fn open(options: &CarrierOptions, limits: Limits) -> Result<Self, LinkError> {
        let driver = Driver::open(options, limits)?;
        let sleeper = driver.sleeper();
        let state =
            State { driver, entries: BTreeMap::new(), doors: BTreeMap::new(), is_over: false };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            is_sleeping: AtomicBool::new(false),
            sleeper,
            ended: Condvar::new(),
        });
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("dccp".to_owned())
            .spawn(move || service::serve(&served))
            .map_err(NetError::on("start", "a thread"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The own UDP port, of that carrier.
    #[must_use]
    pub fn udp_port(&self) -> Option<u16> {
        self.shared.lock().driver.udp_port()
    }

    /// Connects, and waits until both ends agree, the other one refuses, or
    /// [`Config::connect_timeout_ns`] has passed.
    ///
    /// # Errors
    ///
    /// [`LinkError::Refused`], [`LinkError::TimedOut`], or what the kernel says.
    pub fn connect(&self, peer: Peer, config: &Config) -> Result<Connection, LinkError> {
        let mut state = self.shared.lock();
        let key = state.driver.connect(peer, config, &[])?;
        let entry = Entry::default();
        let signal = Arc::clone(&entry.signal);
        state.entries.insert(key, entry);
        drop(state);
        self.shared.wake();
        let mut state = self.shared.lock();
        loop {
            let entry = state.entries.get(&key).expect("entries stay until their handles go");
            match entry.end {
                _ if entry.is_open => break,
                None => {}
                Some(end) => {
                    state.entries.remove(&key);
                    return Err(match end {
                        End::Reset(reset) => LinkError::Refused { peer, reset },
                        End::Failed(_) => {
                            LinkError::TimedOut(Duration::from_nanos(config.connect_timeout_ns))
                        }
                        End::Unreachable(code) => {
                            let cause = std::io::Error::from_raw_os_error(code);
                            LinkError::Unreachable { peer, cause }
                        }
                        End::Closed => LinkError::Closed,
                    });
                }
            }
            state = wait(&signal.readable, state, None).expect("without a deadline");
        }
        drop(state);
        Ok(Connection::new(Arc::clone(&self.shared), key, signal))
    }

    /// Takes connections at `port` for these services; as many as `backlog` wait to be accepted.
    pub fn listen(
        &self,
        port: u16,
        config: &Config,
        service_codes: Vec<ServiceCode>,
        backlog: usize,
    ) -> Listener {
        let arrived = Arc::new(Condvar::new());
        let mut state = self.shared.lock();
        state.driver.listen(port, config, service_codes);
        let door =
            Door { backlog: VecDeque::new(), backlog_max: backlog, arrived: Arc::clone(&arrived) };
        state.doors.insert(port, door);
        drop(state);
        Listener::new(Arc::clone(&self.shared), port, arrived)
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

    /// Waits until every connection that was closed is closed at both ends, at most for `timeout`;
    /// whether that is so.
    pub fn wait_closed(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.shared.lock();
        loop {
            if state.is_all_closed() {
                return true;
            }
            match wait(&self.shared.ended, state, Some(deadline)) {
                Some(again) => state = again,
                None => return self.shared.lock().is_all_closed(),
            }
        }
    }
}

impl State {
    /// Nothing is left but what only remembers that it is over, what an application still has, and
    /// clients that have asked and never answered, which no application ever had.
    fn is_all_closed(&self) -> bool {
        let is_nobodys = |state| matches!(state, CoreState::TimeWait | CoreState::Respond);
        let open = self.driver.states().filter(|(_, state)| !is_nobodys(*state));
        open.filter(|(key, _)| self.entries.get(key).is_none_or(|entry| entry.end.is_some()))
            .count()
            == 0
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.wait_closed(LINGER);
        self.shared.lock().is_over = true;
        self.shared.waker().wake();
        if let Some(thread) = self.thread.take() {
            // It ends by itself; a panic of it was shown.
            let _ = thread.join();
        }
    }
}
