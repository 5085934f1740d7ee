//! Threads that pass events to listeners.
//!
//! A listener has one thread. One that defers events ([`EventListener::deferred_max`]) has two: the
//! idle thread has the lowest priority, so it takes events when no shard wants the processor; the
//! urgent thread takes those above the number that may wait, and the last ones. So the work of the
//! listener for a burst of leases is done after the burst, and under a lasting load it is done at
//! the priority of the shards. While any listener holds replies nothing is deferred, since all
//! share the lock of the feed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use dhcp_events::{Feed, LeaseEvent, ListenerId};

use super::{EventListener, FeedState, TAKEN_MAX, spawn};
use crate::ServerError;
use crate::loggers::DAEMON;
use crate::service::DaemonFamily;

/// Listener that defers events, as the thread of the feed sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeferringListener {
    id: ListenerId,
    /// Number of events that may wait for the idle thread.
    deferred_max: usize,
}

/// End of a listener, as its threads see it.
#[derive(Debug)]
pub(super) struct ListenerEnd {
    pub(super) is_ending: Arc<AtomicBool>,
    /// True if a listener of the same name goes on with other settings.
    pub(super) is_replaced: AtomicBool,
    /// Number of the last event that the listener gets.
    pub(super) last_number: AtomicU64,
}

impl Default for ListenerEnd {
    fn default() -> Self {
        let (is_ending, is_replaced) = (Arc::default(), AtomicBool::default());
        Self { is_ending, is_replaced, last_number: AtomicU64::new(u64::MAX) }
    }
}

impl<P: DaemonFamily> FeedState<P> {
    fn deferring(&self) -> MutexGuard<'_, Vec<DeferringListener>> {
        self.deferring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the thread of the feed forget the listener `id`.
    pub(super) fn forget_deferring(&self, id: ListenerId) {
        self.deferring().retain(|one| one.id != id);
    }

    /// Returns true if listeners may defer events now.
    fn is_deferring(&self) -> bool {
        self.gate.passed() == u64::MAX
    }

    /// Returns true if a listener has more events in `feed` than it may defer.
    pub(super) fn has_urgent_events(&self, feed: &Feed<P>) -> bool {
        let is_deferring = self.is_deferring();
        self.deferring().iter().any(|one| {
            let deferred_max = if is_deferring { one.deferred_max } else { 0 };
            unread(feed, one.id, u64::MAX) > deferred_max as u64
        })
    }

    /// Wakes the threads of all listeners. The caller has changed, under the lock of the feed, what
    /// they wait for.
    pub(super) fn wake_listeners(&self) {
        self.has_changed.notify_all();
        self.is_urgent.notify_all();
    }
}

/// Returns the number of events up to `last_number` that the listener `id` has not read.
fn unread<P: DaemonFamily>(feed: &Feed<P>, id: ListenerId, last_number: u64) -> u64 {
    let read = feed.listener(id).map_or(u64::MAX, |listener| listener.read);
    feed.last_number().min(last_number).saturating_sub(read)
}

/// Next step of a thread of a listener.
enum ListenerStep {
    /// Take the next events.
    Take,
    /// End without a word to the listener.
    Leave,
    /// End, and undo the listener's effects outside the server.
    Undo,
}

/// Position of a listener in the feed, with the listener, for its threads.
struct ListenerPosition<P: DaemonFamily> {
    state: Arc<FeedState<P>>,
    id: ListenerId,
    listener: Mutex<Box<dyn EventListener<P>>>,
    end: Arc<ListenerEnd>,
    deferred_max: Option<usize>,
}

/// Starts the threads of `listener`, which has the position `id`. Returns the one that ends last.
///
/// # Errors
///
/// [`ServerError::System`] if the system refuses a thread.
pub(super) fn start<P: DaemonFamily>(
    state: &Arc<FeedState<P>>,
    id: ListenerId,
    listener: Box<dyn EventListener<P>>,
    end: &Arc<ListenerEnd>,
) -> Result<JoinHandle<()>, ServerError> {
    let (name, deferred_max) = (listener.name(), listener.deferred_max());
    let position = Arc::new(ListenerPosition {
        state: Arc::clone(state),
        id,
        listener: Mutex::new(listener),
        end: Arc::clone(end),
        deferred_max,
    });
    let idle = match deferred_max {
        None => None,
        Some(deferred_max) => {
            state.deferring().push(DeferringListener { id, deferred_max });
            let position = Arc::clone(&position);
            Some(spawn(&format!("{name}-idle"), move || position.run_idle())?)
        }
    };
    spawn(name, move || position.run(idle))
}

impl<P: DaemonFamily> ListenerPosition<P> {
    /// Returns the signal that the listener's own thread waits for.
    fn signal(&self) -> &Condvar {
        if self.deferred_max.is_some() { &self.state.is_urgent } else { &self.state.has_changed }
    }

    fn last_number(&self) -> u64 {
        self.end.last_number.load(Ordering::Acquire)
    }

    /// Passes events to the listener until the feed has ended, or the listener is to end, and it
    /// has all of them.
    fn run(&self, idle: Option<JoinHandle<()>>) {
        let mut events = Vec::with_capacity(TAKEN_MAX);
        loop {
            let step = self.next_step();
            if let ListenerStep::Take = step {
                self.take(&mut events);
                continue;
            }
            if let Some(idle) = idle {
                // It may be taking the last events.
                idle.join().expect("a thread that panics ends the process");
            }
            if let ListenerStep::Undo = step {
                self.listener().end();
            }
            return;
        }
    }

    /// Waits for the next step of the listener's own thread.
    fn next_step(&self) -> ListenerStep {
        let (state, end) = (&self.state, &self.end);
        let mut feed = state.feed();
        loop {
            let is_ending = end.is_ending.load(Ordering::Acquire);
            let defers = state.is_deferring() && !is_ending && !feed.has_ended();
            let deferred_max = self.deferred_max.filter(|_| defers).unwrap_or(0);
            if unread(&feed, self.id, self.last_number()) > deferred_max as u64 {
                return ListenerStep::Take;
            }
            // At the end of the server, the feed ends after its last events.
            if feed.has_ended() {
                return ListenerStep::Leave;
            }
            if is_ending && !state.is_ending() {
                let is_replaced = end.is_replaced.load(Ordering::Acquire);
                return if is_replaced { ListenerStep::Leave } else { ListenerStep::Undo };
            }
            feed = self.signal().wait(feed).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Passes events to the listener when no shard wants the processor, until the end is near.
    fn run_idle(&self) {
        if let Err(cause) = netio::thread::give_way() {
            tracing::debug!(
                target: DAEMON,
                id = "DHCPX_LISTENER_PRIORITY",
                "the thread of a listener keeps its priority: {cause}"
            );
        }
        let mut events = Vec::with_capacity(TAKEN_MAX);
        while self.wait_for_idle_step() {
            self.take(&mut events);
        }
    }

    /// Waits until the idle thread may take events. Returns false when it is to end.
    fn wait_for_idle_step(&self) -> bool {
        let mut feed = self.state.feed();
        loop {
            if feed.has_ended() || self.end.is_ending.load(Ordering::Acquire) {
                return false;
            }
            if self.state.is_deferring() && unread(&feed, self.id, self.last_number()) > 0 {
                return true;
            }
            feed = self.state.has_changed.wait(feed).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn listener(&self) -> MutexGuard<'_, Box<dyn EventListener<P>>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the next events, at most [`TAKEN_MAX`], to the listener. `events` is empty before and
    /// after.
    fn take(&self, events: &mut Vec<LeaseEvent<P>>) {
        let mut listener = self.listener();
        let mut feed = self.state.feed();
        feed.read(self.id, TAKEN_MAX, events);
        let last_number = self.last_number();
        events.truncate(events.partition_point(|event| event.number <= last_number));
        drop(feed);
        // The other thread may have taken them all.
        let Some(last) = events.last().map(|event| event.number) else { return };
        listener.take(events);
        events.clear();
        self.state.feed().acknowledge(self.id, last);
        drop(listener);
        self.state.open_gate();
    }
}
