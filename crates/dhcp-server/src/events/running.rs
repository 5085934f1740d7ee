//! Listeners that run: their beginning and end when the configuration changes, without a gap
//! between the events of one configuration and those of the next.
//!
//! A new listener gets the events of all changes after its beginning, so it begins before its
//! configuration is in force. A listener that the new configuration does not have ends afterwards,
//! once it has the events of all changes under the old one. A listener with other settings replaces
//! the one of the same name at one number of the feed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dhcp_events::{FallBehindPolicy, ListenerId};
use dhcp_lease::{EventOverflow, ExchangeDetail};

use super::listening::{self, ListenerEnd};
use super::{EventListener, EventService, FeedFacts, FeedState, WAITING_MAX};
use crate::ServerError;
use crate::loggers::DAEMON;
use crate::service::DaemonFamily;

/// Longest time for which a reload waits until the last changes under the old configuration are
/// durable.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);
/// Time between two looks for that.
const DRAIN_LOOK: Duration = Duration::from_millis(5);

/// Properties of a listener that reloads and the recording of events need.
#[derive(Debug)]
struct ListenerFacts {
    id: ListenerId,
    name: &'static str,
    settings: String,
    policy: FallBehindPolicy,
    wants_answers: bool,
    exchange_detail: ExchangeDetail,
}

/// Listener that runs.
pub(super) struct RunningListener {
    facts: ListenerFacts,
    end: Arc<ListenerEnd>,
    thread: JoinHandle<()>,
}

/// Listener that has a position in the feed and does not run yet.
struct NewListener<P: DaemonFamily> {
    facts: ListenerFacts,
    /// Number of the last event before its first one.
    last_number: u64,
    listener: Box<dyn EventListener<P>>,
}

impl RunningListener {
    /// Ends the thread at the end of the server, and returns it: it takes the events in the feed.
    pub(super) fn stop(self) -> JoinHandle<()> {
        self.end.is_ending.store(true, Ordering::Release);
        self.thread
    }
}

impl<P: DaemonFamily> EventService<P> {
    /// Makes the listeners `wanted` the ones that run, as [`EventService::configure`] does.
    pub(super) fn run(
        &mut self,
        mut wanted: Vec<Box<dyn EventListener<P>>>,
    ) -> Result<(), ServerError> {
        let mut replaced = Vec::new();
        for running in core::mem::take(&mut self.listeners) {
            let facts = &running.facts;
            let is_same = |one: &dyn EventListener<P>| {
                one.name() == facts.name && one.settings() == facts.settings
            };
            if let Some(at) = wanted.iter().position(|one| is_same(&**one)) {
                drop(wanted.remove(at));
                self.listeners.push(running);
            } else if wanted.iter().any(|one| one.name() == facts.name) {
                replaced.push(running);
            } else {
                self.removed.push(running);
            }
        }
        let new: Vec<_> =
            wanted.into_iter().map(|listener| self.position(listener, &replaced)).collect();
        let others = self.listeners.iter().chain(&self.removed).map(|running| &running.facts);
        let all = others.chain(new.iter().map(|new| &new.facts));
        self.is_recording = self.state.record_for(all, self.is_recording)?;
        replaced.into_iter().for_each(|running| self.end_listener(running));
        for listener in new {
            let started = self.start_listener(listener)?;
            self.listeners.push(started);
        }
        Ok(())
    }

    /// Gives `listener` its position in the feed. It is the end of the listener in `replaced` with
    /// the same name.
    fn position(
        &self,
        listener: Box<dyn EventListener<P>>,
        replaced: &[RunningListener],
    ) -> NewListener<P> {
        let (name, policy) = (listener.name(), listener.policy());
        let mut feed = self.state.feed();
        let (id, last_number) = (feed.listen(policy), feed.last_number());
        for running in replaced.iter().filter(|running| running.facts.name == name) {
            running.end.is_replaced.store(true, Ordering::Release);
            running.end.last_number.store(last_number, Ordering::Release);
        }
        drop(feed);
        let facts = ListenerFacts {
            id,
            name,
            policy,
            settings: listener.settings(),
            wants_answers: listener.wants_answers(),
            exchange_detail: listener.exchange_detail(),
        };
        NewListener { facts, last_number, listener }
    }

    fn start_listener(&self, new: NewListener<P>) -> Result<RunningListener, ServerError> {
        let NewListener { facts, last_number, mut listener } = new;
        let end = Arc::<ListenerEnd>::default();
        let names = self.state.names.lock();
        names.unwrap_or_else(PoisonError::into_inner).push((facts.name, facts.id));
        listener.begin(&FeedFacts {
            instance: self.state.subscriptions.instance(0),
            last_number,
            is_ending: Arc::clone(&end.is_ending),
        });
        let thread = listening::start(&self.state, facts.id, listener, &end)?;
        Ok(RunningListener { facts, end, thread })
    }

    /// Ends a listener once it has taken its events in the feed.
    fn end_listener(&self, running: RunningListener) {
        // Under the lock, so that the thread does not miss the signal.
        let feed = self.state.feed();
        running.end.is_ending.store(true, Ordering::Release);
        drop(feed);
        self.state.wake_listeners();
        running.thread.join().expect("a thread that panics ends the process");
        let id = running.facts.id;
        let mut names = self.state.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.retain(|(_, other)| *other != id);
        drop(names);
        self.state.forget_deferring(id);
        self.state.feed().remove(id);
    }

    /// Ends the listeners that the configuration in force does not have. Call it when no shard
    /// changes leases by an older configuration: they get the events of all changes so far, as far
    /// as those become durable within [`DRAIN_LIMIT`].
    ///
    /// # Errors
    ///
    /// [`ServerError::System`] if the system refuses the thread of the feed.
    pub(crate) fn end_removed(&mut self) -> Result<(), ServerError> {
        if self.removed.is_empty() {
            return Ok(());
        }
        let is_complete = self.state.drain();
        for running in core::mem::take(&mut self.removed) {
            if !is_complete {
                tracing::warn!(
                    target: DAEMON,
                    id = "DHCPX_LISTENER_ENDED_EARLY",
                    "the listener {} does not get the last events before its end: their leases \
                     are not durable yet",
                    running.facts.name
                );
            }
            self.end_listener(running);
        }
        let all = self.listeners.iter().map(|running| &running.facts);
        self.is_recording = self.state.record_for(all, self.is_recording)?;
        Ok(())
    }
}

impl<P: DaemonFamily> FeedState<P> {
    /// Records the events that `listeners` want; `is_recording` if events are recorded for
    /// listeners already. Returns true if events are recorded for them from here on.
    fn record_for<'l>(
        self: &Arc<Self>,
        listeners: impl Iterator<Item = &'l ListenerFacts>,
        is_recording: bool,
    ) -> Result<bool, ServerError> {
        let (mut is_any, mut wants_answers, mut is_holding) = (false, false, false);
        let mut exchange_detail = ExchangeDetail::None;
        for facts in listeners {
            is_any = true;
            exchange_detail = exchange_detail.max(facts.exchange_detail);
            wants_answers |= facts.wants_answers;
            is_holding |= facts.policy == FallBehindPolicy::HoldReplies;
        }
        let overflow =
            if is_holding { EventOverflow::Keep } else { EventOverflow::DropAbove(WAITING_MAX) };
        self.table.record_answers(wants_answers);
        self.open_gate();
        match (is_any, is_recording) {
            (true, true) => {
                self.table.record_exchanges(exchange_detail);
                self.table.record_events(overflow);
            }
            (true, false) => self.begin_recording(overflow, exchange_detail)?,
            (false, true) => self.end_recording(),
            (false, false) => {}
        }
        Ok(is_any)
    }

    /// Waits until the events of all changes so far are in the feed. Returns false if they are not
    /// within [`DRAIN_LIMIT`].
    fn drain(&self) -> bool {
        let order = self.table.take_event_order();
        let limit = Instant::now() + DRAIN_LIMIT;
        loop {
            self.wakeup.signal.notify();
            let mover = self.mover();
            let is_complete = !self.table.has_events_before(order);
            drop(mover);
            if is_complete || Instant::now() >= limit {
                return is_complete;
            }
            let waited = self.has_changed.wait_timeout(self.feed(), DRAIN_LOOK);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }
}
