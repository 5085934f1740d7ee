//! Lease events in the daemon: one thread moves the events of durable changes from the lease table
//! into the feed, and each listener has a thread of its own.
//!
//! Without listeners nothing is recorded, and there is no thread before the first one. A listener
//! that holds replies opens the shards' gate as it acknowledges events; others never slow the
//! shards down. Subscribers at the control sockets come and go: see [`subscriptions`].

mod exchange_collector;
mod legal_log;
mod listening;
mod local_names;
mod name_changes;
mod prefix_routes;
mod recording;
mod run_script;
mod running;
mod script_pool;
mod scripts;
mod signal;
mod source;
mod subscription;
mod subscriptions;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod webhook;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use dhcp_config::DhcpConfig;
use dhcp_engine::EventGate;
use dhcp_events::{FallBehindPolicy, Feed, LeaseEvent, ListenerId};
use dhcp_lease::{EventRef, ExchangeDetail, LeaseStore, LeaseTable};
use netio::Clock;

use crate::ServerError;
use crate::ha::{HaServices, PARTNER_LISTENER};
use crate::leases::ServerStore;
use crate::service::{DaemonFamily, SubnetSummary};
pub(crate) use legal_log::{LegalLogCounts, LegalLogFamily, LegalLogListener, LegalLogService};
use listening::{Deferral, DeferringListener};
use local_names::LocalNamesListener;
pub(crate) use name_changes::{LeaseUpdateTerms, NameChangeFamily, NameChangeService};
use name_changes::{LeasesForUpdater, NameChangeListener};
pub(crate) use prefix_routes::DelegatedPrefix;
use prefix_routes::PrefixRouteListener;
use recording::EventRecorder;
use run_script::SubnetList;
pub(crate) use run_script::{CallContext, ScriptFamily};
use running::RunningListener;
pub(crate) use script_pool::ScriptPool;
pub(crate) use scripts::{check, start_runner};
pub(crate) use signal::{DurabilityWakeup, EventReporter};
pub(crate) use source::{
    EventSource, EventSubscription, SubscribeRefusal, SubscriptionRequest, SubscriptionText,
};
use subscriptions::{FeedSource, Subscriptions};
pub(crate) use text::EventFormat;

/// Time after which the thread of the feed looks for durable events that no shard has reported.
const LOOK: Duration = Duration::from_millis(20);
/// Time for which the thread of the feed waits while nothing is recorded.
const REST: Duration = Duration::from_secs(3_600);
/// Time for which the thread of the feed rests after it has moved events if no reply waits for
/// them. The shards and the listeners share processors with it, and each wake-up costs them more
/// than the events.
const GATHERING: Duration = Duration::from_millis(2);
/// Maximum number of events in the feed while a listener holds replies; further ones stay in the
/// lease table, and replies wait for them.
const FEED_MAX: usize = 65_536;
/// Maximum number of events in the lease table if no listener holds replies; further ones are
/// dropped and counted.
const WAITING_MAX: usize = 262_144;
/// Maximum number of events that a listener takes at a time.
const TAKEN_MAX: usize = 256;

/// Listener of lease events, which runs on a thread of its own.
pub(crate) trait EventListener<P: DaemonFamily>: Send {
    /// Returns the name of the listener in log lines and statistics.
    fn name(&self) -> &'static str;

    /// Returns the treatment of the listener when it falls behind.
    fn policy(&self) -> FallBehindPolicy;

    /// Returns true if the listener wants events of messages that changed no lease
    /// ([`LeaseEventKind::Answered`](dhcp_lease::LeaseEventKind::Answered)).
    fn wants_answers(&self) -> bool {
        false
    }

    /// Returns what the listener reads of the exchanges that cause events. If no listener reads
    /// messages and replies, they are not kept, and an event costs much less.
    fn exchange_detail(&self) -> ExchangeDetail {
        ExchangeDetail::Content
    }

    /// Returns the deferral of events while the shards need the processor; `None` if the listener
    /// gets each event at once ([`listening`]).
    fn deferral(&self) -> Option<Deferral> {
        None
    }

    /// Returns a text of the listener's settings: on a reload, a listener with the same name and
    /// settings stays.
    fn settings(&self) -> String {
        String::new()
    }

    /// Prepares the listener before its first events.
    fn begin(&mut self, _context: &FeedFacts) {}

    /// Takes the next events, in their order. When the call returns, they are acknowledged.
    fn take(&mut self, events: &[LeaseEvent<P>]);

    /// Undoes the listener's effects outside the server, when a reload ends the listener. They stay
    /// when the server ends, as the leases do, and when a listener with other settings goes on.
    fn end(&mut self) {}
}

/// Facts about the feed for a listener.
pub(crate) struct FeedFacts {
    /// Instance of the numbers of events.
    pub(crate) instance: String,
    /// Number of the last event before those that the listener gets.
    pub(crate) last_number: u64,
    /// True from the moment on at which the server, or the listener, ends.
    pub(crate) is_ending: Arc<AtomicBool>,
}

/// Running parts of the server that listeners need.
#[derive(Default)]
pub(crate) struct ListenerParts {
    /// Scripts that run; `None` if this process cannot run any.
    pub(crate) scripts: Option<Arc<ScriptPool>>,
    /// UDP port at which the server listens.
    pub(crate) server_port: u16,
    /// Subnets of the configuration in force.
    subnets: Arc<SubnetList>,
    /// Sender of name change requests.
    pub(crate) name_changes: Arc<NameChangeService>,
}

impl ListenerParts {
    /// Returns the parts of a server at `server_port` that runs scripts by `scripts`.
    pub(crate) fn new(server_port: u16, scripts: Option<Arc<ScriptPool>>) -> Self {
        Self { scripts, server_port, subnets: Arc::default(), name_changes: Arc::default() }
    }
}

/// Services of the server that take lease events in addition to the configured listeners.
#[derive(Clone, Copy, Default)]
pub(crate) struct EventConsumers<'s, P: DaemonFamily> {
    /// Legal log, which listens if the configuration has one.
    pub(crate) legal_log: Option<&'s Arc<LegalLogService>>,
    /// Relationships with partners, if the configuration has any.
    pub(crate) ha: Option<&'s HaServices<P>>,
}

/// Returns the listeners that the configuration `config` asks for, and those of `services`, which
/// may refuse replies at `gate`.
fn listeners_of<P: DaemonFamily>(
    table: &Arc<LeaseTable<P>>,
    config: &DhcpConfig<P>,
    parts: &ListenerParts,
    services: EventConsumers<'_, P>,
    gate: &Arc<EventGate>,
) -> Vec<Box<dyn EventListener<P>>> {
    let global = &config.global;
    let legal_log = services.legal_log.filter(|_| global.legal_log.is_some());
    let legal_log = legal_log.map(|log| Box::new(LegalLogListener::new(Arc::clone(log))) as _);
    let partners = services.ha.map(|ha| ha.listeners(gate, table)).unwrap_or_default();
    let partners = partners.into_iter().map(|one| Box::new(one) as _);
    let context = CallContext::new(parts.server_port, global, Arc::clone(&parts.subnets));
    let run_script = run_script::listener(global, parts.scripts.as_ref(), context);
    let name_changes = global.name_updates.map(|settings| match global.godwit.ddns {
        Some(_) => {
            Box::new(LeasesForUpdater::new(&parts.name_changes, table, P::data_folder(config)))
                as Box<dyn EventListener<P>>
        }
        None => Box::new(NameChangeListener::<P>::new(&parts.name_changes, settings)),
    });
    let routes = global.godwit.prefix_routes.then(|| {
        Box::new(PrefixRouteListener::new(Arc::clone(table), P::data_folder(config))) as _
    });
    let webhooks = webhook::listeners_of(&global.godwit.webhooks);
    let local_names = LocalNamesListener::new(table, config).map(|names| Box::new(names) as _);
    webhooks
        .chain(legal_log)
        .chain(run_script)
        .chain(name_changes)
        .chain(routes)
        .chain(local_names)
        .chain(partners)
        .collect()
}

/// State that the threads of the feed and of its listeners share.
struct FeedState<P: DaemonFamily> {
    table: Arc<LeaseTable<P>>,
    feed: Mutex<Feed<P>>,
    /// Signal of new events in the feed, and of the end.
    has_changed: Condvar,
    /// Signal to the urgent threads of listeners that defer events: a listener has more of them
    /// than it defers, or an end is near.
    is_urgent: Condvar,
    is_ending: Arc<AtomicBool>,
    wakeup: DurabilityWakeup,
    /// True if the store counts epochs: a change of the last settled one shows that events may be
    /// durable.
    has_epochs: bool,
    /// Mover, whose lock is held while events move from the table into the feed.
    mover: Mutex<EventMover<P>>,
    recorder: Mutex<EventRecorder>,
    /// Listeners that defer events.
    deferring: Mutex<Vec<DeferringListener>>,
    /// Names of the listeners of the configuration.
    names: Mutex<Vec<(&'static str, ListenerId)>>,
    subscriptions: Subscriptions,
}

/// Mover of events from the lease table into the feed.
struct EventMover<P: DaemonFamily> {
    /// Store that tells which rows are durable.
    store: ServerStore<P>,
    /// Events on their way; empty between moves.
    changes: Vec<EventRef<P>>,
    /// Last settled epoch at the last move.
    settled_epoch: u64,
}

/// Feed of lease events with its listeners.
pub(crate) struct EventService<P: DaemonFamily> {
    state: Arc<FeedState<P>>,
    parts: ListenerParts,
    listeners: Vec<RunningListener>,
    /// Listeners that run until the configuration without them is in force.
    removed: Vec<RunningListener>,
    /// True if events are recorded for the listeners.
    is_recording: bool,
}

impl<P: DaemonFamily> FeedState<P> {
    fn feed(&self) -> MutexGuard<'_, Feed<P>> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the mover, whose lock keeps events where they are: in the table, or in the feed.
    fn mover(&self) -> MutexGuard<'_, EventMover<P>> {
        self.mover.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the feed has room for further events. A feed that nobody's replies wait for
    /// is as long as its listeners let it be.
    fn has_room(&self) -> bool {
        self.wakeup.gate.passed() == u64::MAX || self.feed().len() < FEED_MAX
    }

    /// Moves the events of durable changes into the feed.
    fn move_events(&self, mut mover: MutexGuard<'_, EventMover<P>>) {
        let EventMover { store, changes, settled_epoch } = &mut *mover;
        *settled_epoch = store.settled_epoch();
        let complete_epoch = self.table.take_events(*settled_epoch, changes);
        changes.retain(|change| {
            let (octets, len) = P::octets_of(change.address);
            change.row_epoch == 0 || !store.is_refused(change.row_epoch, &octets[..len])
        });
        let mut feed = self.feed();
        feed.set_time(Clock::now().wall_us);
        feed.append(changes.drain(..), complete_epoch);
        let last_number = feed.last_number();
        let is_urgent = self.has_urgent_events(&feed);
        drop(feed);
        let dropped = self.table.take_dropped_events();
        if dropped > 0 {
            self.subscriptions.interrupt(dropped);
        }
        drop(mover);
        self.has_changed.notify_all();
        if is_urgent {
            self.is_urgent.notify_all();
        }
        self.subscriptions.announce(last_number);
        self.open_gate();
    }

    /// Moves events into the feed if rows have become durable since the last move. Returns false if
    /// none have: then the thread of the feed is signalled again.
    fn pull_events(&self) -> bool {
        let pull = || {
            let mover = self.mover();
            let has_settled = mover.store.settled_epoch() != mover.settled_epoch;
            let is_possible = has_settled && self.has_room();
            if is_possible {
                self.move_events(mover);
            }
            is_possible
        };
        if pull() {
            return true;
        }
        self.wakeup.signal.set_attended(false);
        // The writer of rows that are durable now may not have seen that yet.
        let has_pulled = pull();
        self.wakeup.signal.set_attended(has_pulled);
        has_pulled
    }

    /// Lets replies leave up to the epoch that the feed has passed.
    fn open_gate(&self) {
        // Under the lock, so that no thread sets an older epoch after another one.
        let feed = self.feed();
        let passed_epoch = feed.passed_epoch();
        let has_moved = self.wakeup.gate.passed() != passed_epoch;
        self.wakeup.gate.pass(passed_epoch);
        drop(feed);
        if has_moved {
            self.wakeup.shards.iter().for_each(|waker| waker.wake());
        }
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }
}

impl<P: DaemonFamily> EventService<P> {
    /// Returns the service without listeners; `store` tells the feed which rows are durable, and
    /// `wakeup` wakes it when they are.
    pub(crate) fn new(
        table: Arc<LeaseTable<P>>,
        wakeup: DurabilityWakeup,
        store: ServerStore<P>,
        parts: ListenerParts,
    ) -> Self {
        let state = FeedState {
            table,
            feed: Mutex::default(),
            has_changed: Condvar::new(),
            is_urgent: Condvar::new(),
            is_ending: Arc::default(),
            wakeup,
            has_epochs: !matches!(store, ServerStore::Memory(_)),
            mover: Mutex::new(EventMover { store, changes: Vec::new(), settled_epoch: 0 }),
            recorder: Mutex::default(),
            deferring: Mutex::default(),
            names: Mutex::default(),
            subscriptions: Subscriptions::default(),
        };
        let (listeners, removed) = (Vec::new(), Vec::new());
        Self { state: Arc::new(state), parts, listeners, removed, is_recording: false }
    }

    /// Returns the source of events for subscribers, and of counts.
    pub(crate) fn source(&self) -> Arc<dyn EventSource> {
        Arc::new(FeedSource(Arc::clone(&self.state)))
    }

    /// Returns the gate that replies wait for.
    pub(crate) fn gate(&self) -> Arc<EventGate> {
        Arc::clone(&self.state.wakeup.gate)
    }

    /// Returns the reporter of a shard; `is_volatile` if the leases are in memory only.
    pub(crate) fn reporter(&self, is_volatile: bool) -> EventReporter {
        EventReporter::new(&self.state.wakeup, is_volatile)
    }

    /// Returns true if a change of a lease has not come to those that send updates to partners: it
    /// is neither sent nor counted as unsent.
    pub(crate) fn are_partners_behind(&self) -> bool {
        let feed = self.state.feed();
        let names = self.state.names.lock().unwrap_or_else(PoisonError::into_inner);
        let mut partners = names.iter().filter(|(name, _)| name.starts_with(PARTNER_LISTENER));
        let is_behind = |id: ListenerId| {
            feed.listener(id).is_some_and(|state| state.acknowledged < feed.last_number())
        };
        partners.clone().next().is_some()
            && (self.state.table.waiting_events() > 0 || partners.any(|(_, id)| is_behind(*id)))
    }

    /// Interrupts the sequence of events for subscribers: a step of the clock has moved the times
    /// of all leases, for which there are no events.
    pub(crate) fn interrupt(&self) {
        self.state.subscriptions.interrupt(0);
    }

    /// Returns the parts of the server that listeners need.
    pub(crate) const fn parts(&self) -> &ListenerParts {
        &self.parts
    }

    /// Makes the listeners that `config` asks for, and those of `services`, the ones that run;
    /// `subnets` are those of the configuration. Listeners with the same settings stay. Those that
    /// `config` does not ask for run until [`EventService::end_removed`].
    ///
    /// # Errors
    ///
    /// [`ServerError::System`] if the system refuses a thread.
    pub(crate) fn configure(
        &mut self,
        config: &DhcpConfig<P>,
        subnets: &Arc<[SubnetSummary]>,
        services: EventConsumers<'_, P>,
    ) -> Result<(), ServerError> {
        self.parts.subnets.set(subnets);
        let terms = LeaseUpdateTerms::new::<P>(config);
        self.parts.name_changes.follow(terms, &config.global);
        let gate = &self.state.wakeup.gate;
        self.run(listeners_of::<P>(&self.state.table, config, &self.parts, services, gate))
    }

    /// Ends the threads once the listeners have taken the events of all durable changes. Shards
    /// must have ended.
    pub(crate) fn stop(&mut self) {
        self.state.is_ending.store(true, Ordering::Release);
        self.state.wakeup.signal.notify();
        let listeners = self.listeners.drain(..).chain(self.removed.drain(..));
        let listeners: Vec<_> = listeners.map(RunningListener::stop).collect();
        for thread in self.state.recorder().take_feeder().into_iter().chain(listeners) {
            thread.join().expect("a thread that panics ends the process");
        }
        self.state.table.stop_recording_events();
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, ServerError> {
    Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(|cause| ServerError::System { tried: "start a thread", cause })
}

/// Moves events of durable changes into the feed until the end.
fn feed_until_end<P: DaemonFamily>(state: &FeedState<P>) {
    loop {
        // Read first: what was durable then is moved before the end.
        let is_last = state.is_ending();
        if !is_last {
            state.wakeup.signal.wait(if state.table.is_recording_events() { LOOK } else { REST });
        }
        if is_last || state.has_room() {
            state.move_events(state.mover());
        }
        if is_last {
            // Listeners end when they have read all; they must not miss the last events.
            state.feed().end();
            state.wake_listeners();
            return;
        }
        state.end_unused_history(Clock::mono_ns());
        if state.wakeup.gate.passed() == u64::MAX {
            std::thread::sleep(GATHERING);
        }
    }
}
