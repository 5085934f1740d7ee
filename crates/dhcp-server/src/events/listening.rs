//! Threads that pass events to listeners.
//!
//! A listener has one thread. One that defers events ([`EventListener::deferral`]) has two. The
//! idle thread has the lowest priority, so it takes events when no shard wants the processor; the
//! urgent thread takes those above the number that may wait, those that have waited for too long,
//! and the last ones. So the work of the listener for a burst of leases is done after the burst,
//! and under a lasting load it is done at the priority of the shards. While any listener holds
//! replies nothing is deferred, since all share the lock of the feed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dhcp_events::{Feed, LeaseEvent, ListenerId};

use super::{EventListener, FeedState, TAKEN_MAX, spawn};
use crate::ServerError;
use crate::loggers::DAEMON;
use crate::service::DaemonFamily;

/// Time that events may wait for the idle thread. Some wait twice as long, since the urgent thread
/// looks this often.
const DEFERRED_TIME_MAX: Duration = Duration::from_secs(5);

/// Deferral of events while the shards need the processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deferral {
    /// Number of events that may wait for the idle thread.
    pub(crate) waiting_max: usize,
    /// Maximum number of events that the listener takes at a time after they were deferred.
    pub(crate) taken_max: usize,
    /// Time between two of these calls. A receiver that keeps pace with the leases may lose what it
    /// gets much faster afterwards.
    pub(crate) rest: Duration,
}

impl Deferral {
    /// Returns the deferral of `waiting_max` events to a listener that may take them as fast as it
    /// can.
    pub(crate) const fn at_full_speed(waiting_max: usize) -> Self {
        Self { waiting_max, taken_max: TAKEN_MAX, rest: Duration::ZERO }
    }
}

/// Listener that defers events, as the thread of the feed sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeferringListener {
    id: ListenerId,
    waiting_max: usize,
}

/// Watch over the time that events wait for the idle thread.
struct DeferralWatch {
    /// Number of the last event that was in the feed at the time `since`.
    last_number: u64,
    since: Instant,
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
        self.wakeup.gate.passed() == u64::MAX
    }

    /// Returns true if a listener has more events in `feed` than it may defer.
    pub(super) fn has_urgent_events(&self, feed: &Feed<P>) -> bool {
        let is_deferring = self.is_deferring();
        self.deferring().iter().any(|one| {
            let waiting_max = if is_deferring { one.waiting_max } else { 0 };
            unread(feed, one.id, u64::MAX) > waiting_max as u64
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

impl DeferralWatch {
    /// Returns true if the listener `id` has not read events that have waited for `time_max`. Looks
    /// at later events when it has read those.
    fn is_late<P: DaemonFamily>(
        &mut self,
        feed: &Feed<P>,
        id: ListenerId,
        time_max: Duration,
    ) -> bool {
        if unread(feed, id, self.last_number) > 0 {
            return self.since.elapsed() >= time_max;
        }
        *self = Self { last_number: feed.last_number(), since: Instant::now() };
        false
    }
}

/// Next step of a thread of a listener.
enum ListenerStep {
    /// Take the next events.
    Take,
    /// Take events that were deferred.
    TakeDeferred,
    /// End without a word to the listener.
    Leave,
    /// End, and undo the listener's effects outside the server.
    Undo,
}

/// Position of a listener in the feed, with the listener, for its threads.
pub(super) struct ListenerPosition<P: DaemonFamily> {
    state: Arc<FeedState<P>>,
    id: ListenerId,
    listener: Mutex<Box<dyn EventListener<P>>>,
    end: Arc<ListenerEnd>,
    deferral: Option<Deferral>,
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
    let (name, deferral) = (listener.name(), listener.deferral());
    let position = Arc::new(ListenerPosition::new(state, id, listener, end));
    let idle = match deferral {
        None => None,
        Some(deferral) => {
            let waiting_max = deferral.waiting_max;
            state.deferring().push(DeferringListener { id, waiting_max });
            let position = Arc::clone(&position);
            Some(spawn(&format!("{name}-idle"), move || position.run_idle(deferral))?)
        }
    };
    spawn(name, move || position.run(idle, DEFERRED_TIME_MAX))
}

impl<P: DaemonFamily> ListenerPosition<P> {
    pub(super) fn new(
        state: &Arc<FeedState<P>>,
        id: ListenerId,
        listener: Box<dyn EventListener<P>>,
        end: &Arc<ListenerEnd>,
    ) -> Self {
        let (state, end, deferral) = (Arc::clone(state), Arc::clone(end), listener.deferral());
        Self { state, id, listener: Mutex::new(listener), end, deferral }
    }

    fn last_number(&self) -> u64 {
        self.end.last_number.load(Ordering::Acquire)
    }

    /// Passes events to the listener until the feed has ended, or the listener is to end, and it
    /// has all of them. Deferred events wait for about `deferred_time_max`.
    pub(super) fn run(&self, idle: Option<JoinHandle<()>>, deferred_time_max: Duration) {
        let mut events = Vec::with_capacity(TAKEN_MAX);
        let mut watch = DeferralWatch { last_number: 0, since: Instant::now() };
        let mut is_attending = false;
        loop {
            let step = self.next_step(&mut watch, &mut is_attending, deferred_time_max);
            match (&step, self.deferral) {
                (ListenerStep::Take | ListenerStep::TakeDeferred, None)
                | (ListenerStep::Take, Some(_)) => self.take(TAKEN_MAX, &mut events),
                (ListenerStep::TakeDeferred, Some(deferral)) => {
                    self.take_deferred(deferral, &mut events);
                }
                (ListenerStep::Leave | ListenerStep::Undo, _) => {
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
        }
    }

    /// Waits for the next step of the listener's own thread. If the listener is the only one that
    /// holds replies, it attends to the feed while it has events to take: it moves the next ones
    /// into the feed itself.
    fn next_step(
        &self,
        watch: &mut DeferralWatch,
        is_attending: &mut bool,
        deferred_time_max: Duration,
    ) -> ListenerStep {
        let (state, end) = (&self.state, &self.end);
        let mut feed = state.feed();
        loop {
            let unread = unread(&feed, self.id, self.last_number());
            let waiting_max = self.deferral.filter(|_| state.is_deferring());
            let is_ending = end.is_ending.load(Ordering::Acquire);
            let may_attend = !is_ending && state.has_epochs && feed.is_only_holder(self.id);
            if *is_attending && !may_attend {
                *is_attending = false;
                state.wakeup.signal.set_attended(false);
            }
            if unread > waiting_max.map_or(0, |deferral| deferral.waiting_max as u64) {
                if may_attend && !*is_attending {
                    *is_attending = true;
                    state.wakeup.signal.set_attended(true);
                }
                return ListenerStep::Take;
            }
            if *is_attending {
                drop(feed);
                *is_attending = state.pull_events();
                feed = state.feed();
                continue;
            }
            let is_last = is_ending || feed.has_ended();
            if unread > 0 && (is_last || watch.is_late(&feed, self.id, deferred_time_max)) {
                return ListenerStep::TakeDeferred;
            }
            // At the end of the server, the feed ends after its last events.
            if feed.has_ended() {
                return ListenerStep::Leave;
            }
            if is_ending && !state.is_ending() {
                let is_replaced = end.is_replaced.load(Ordering::Acquire);
                return if is_replaced { ListenerStep::Leave } else { ListenerStep::Undo };
            }
            feed = if self.deferral.is_some() {
                let woken = state.is_urgent.wait_timeout(feed, deferred_time_max);
                woken.unwrap_or_else(PoisonError::into_inner).0
            } else {
                state.has_changed.wait(feed).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    /// Passes events to the listener when no shard wants the processor, until the end is near.
    fn run_idle(&self, deferral: Deferral) {
        if let Err(cause) = netio::thread::give_way() {
            tracing::debug!(
                target: DAEMON,
                id = "DHCPX_LISTENER_PRIORITY",
                "the thread of a listener keeps its priority: {cause}"
            );
        }
        let mut events = Vec::with_capacity(TAKEN_MAX);
        while self.wait_for_idle_step() {
            self.take_deferred(deferral, &mut events);
        }
    }

    /// Passes the next events to the listener and rests, as `deferral` says.
    fn take_deferred(&self, deferral: Deferral, events: &mut Vec<LeaseEvent<P>>) {
        self.take(deferral.taken_max, events);
        if !deferral.rest.is_zero() {
            std::thread::sleep(deferral.rest);
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

    /// Passes the next events, at most `taken_max`, to the listener. `events` is empty before and
    /// after.
    fn take(&self, taken_max: usize, events: &mut Vec<LeaseEvent<P>>) {
        let mut listener = self.listener();
        let mut feed = self.state.feed();
        feed.read(self.id, taken_max, events);
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
