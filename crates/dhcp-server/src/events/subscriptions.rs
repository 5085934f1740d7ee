//! Subscribers of lease events: their common history of recent events, their number, and the texts
//! that they share.
//!
//! One listener of the feed keeps the recent events for all subscribers; a subscriber is only a
//! position. Its memory does not grow when it does not read: a subscriber whose next event has left
//! the history is cut off. Recording begins with the first subscriber. It goes on for
//! [`KEEP_NS`] after the last one has left, so that a subscriber that comes back misses nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::time::NS_PER_S;
use dhcp_control::statistics::{EventCounts, EventListenerCounts};
use dhcp_events::{FallBehindPolicy, ListenerId};
use dhcp_lease::{EventOverflow, ExchangeDetail};
use hyper::body::Bytes;
use netio::Clock;
use tokio::sync::watch;

use super::source::{EventSource, EventSubscription, SubscribeRefusal, SubscriptionRequest};
use super::subscription::Subscription;
use super::text::EventFormat;
use super::{FeedState, WAITING_MAX};
use crate::service::DaemonFamily;

/// Number of recent events from which subscribers can resume.
pub(super) const HISTORY_MAX: usize = 32_768;
/// Maximum number of subscribers of a server.
const SUBSCRIBERS_MAX: usize = 256;
/// Time for which events are recorded after the last subscriber has left, in nanoseconds.
const KEEP_NS: u64 = 60 * NS_PER_S;
/// Number of texts that subscribers share.
const SHARED_TEXTS: usize = 64;

/// Text of consecutive events, which all subscribers with the same position and format get.
#[derive(Clone, Debug)]
pub(super) struct SharedText {
    /// Number of the event before the first one.
    pub(super) after: u64,
    /// Number of the last event.
    pub(super) last: u64,
    /// Number of events in the text.
    pub(super) count: u64,
    pub(super) format: EventFormat,
    pub(super) text: Bytes,
    /// True if the text has as many events as a text may have.
    pub(super) is_full: bool,
}

/// Subscribers of one server.
#[derive(Debug)]
pub(super) struct Subscriptions {
    members: Mutex<SubscriptionMembers>,
    /// Number of the last event in the feed, which subscribers wait for.
    pub(super) progress: watch::Sender<u64>,
    /// Part of the instance that tells this process from others.
    process: u32,
    pub(super) delivered: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) cut_off: AtomicU64,
    /// Number of events that the lease table dropped.
    lost: AtomicU64,
}

/// Part of [`Subscriptions`] under a lock.
#[derive(Debug, Default)]
pub(super) struct SubscriptionMembers {
    /// Listener that keeps the recent events, while they are recorded for subscribers.
    history: Option<ListenerId>,
    /// Count of the times that the sequence of events was interrupted.
    pub(super) sequence: u32,
    /// Number of the last event that each subscriber has, by the subscriber's number.
    pub(super) positions: BTreeMap<u64, u64>,
    next_subscriber: u64,
    /// Monotonic time at which the last subscriber left, in nanoseconds.
    unused_since_ns: u64,
    pub(super) texts: VecDeque<SharedText>,
}

impl Default for Subscriptions {
    fn default() -> Self {
        use std::hash::{BuildHasher, Hasher, RandomState};
        Self {
            members: Mutex::default(),
            progress: watch::Sender::new(0),
            process: RandomState::new().build_hasher().finish() as u32,
            delivered: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            cut_off: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }
}

impl Subscriptions {
    pub(super) fn members(&self) -> MutexGuard<'_, SubscriptionMembers> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the instance of the events of the sequence number `sequence`: another one for each
    /// process, and for each interruption of the recording.
    pub(super) fn instance(&self, sequence: u32) -> String {
        format!("{:08x}.{sequence}", self.process)
    }

    /// Returns the number in the position `text`, which is `INSTANCE-NUMBER` or a number alone;
    /// `None` if it is not of the sequence number `sequence`.
    pub(super) fn number_of(&self, text: &str, sequence: u32) -> Option<u64> {
        let number = match text.rsplit_once('-') {
            Some((instance, number)) if instance == self.instance(sequence) => number,
            Some(_) => return None,
            None => text,
        };
        number.bytes().all(|octet| octet.is_ascii_digit()).then(|| number.parse().ok())?
    }

    /// Makes the subscribers learn that the feed has events up to `last_number`.
    pub(super) fn announce(&self, last_number: u64) {
        self.progress.send_if_modified(|known| {
            let is_new = *known != last_number;
            *known = last_number;
            is_new
        });
    }

    /// Interrupts the sequence of events after the table has dropped `count` of them, or has
    /// changed leases without: nobody can go on without a snapshot.
    pub(super) fn interrupt(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
        let mut members = self.members();
        if members.history.is_none() {
            return;
        }
        members.sequence += 1;
        members.texts.clear();
        drop(members);
        self.progress.send_modify(|_| {});
    }
}

impl SubscriptionMembers {
    /// Returns the shared text after the event `after`, if there is one.
    pub(super) fn shared_text(&self, after: u64, format: EventFormat) -> Option<SharedText> {
        let fits = |text: &&SharedText| text.after == after && text.format == format;
        self.texts.iter().rev().find(fits).cloned()
    }

    pub(super) fn share(&mut self, text: SharedText) {
        if self.texts.len() >= SHARED_TEXTS {
            self.texts.pop_front();
        }
        self.texts.push_back(text);
    }
}

impl<P: DaemonFamily> FeedState<P> {
    /// Ends the recording for subscribers if there has been none for a while.
    pub(super) fn end_unused_history(&self, now_ns: u64) {
        let mut members = self.subscriptions.members();
        let is_unused = members.positions.is_empty() && now_ns >= members.unused_since_ns + KEEP_NS;
        let Some(history) = members.history.take_if(|_| is_unused) else { return };
        members.texts.clear();
        self.feed().remove(history);
        self.end_recording();
    }

    /// Removes a subscriber.
    pub(super) fn unsubscribe(&self, subscriber: u64) {
        let mut members = self.subscriptions.members();
        members.positions.remove(&subscriber);
        members.unused_since_ns = Clock::mono_ns();
    }

    fn listener_counts(&self) -> Vec<EventListenerCounts> {
        let feed = self.feed();
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = names.iter().filter_map(|&(name, id)| {
            let state = feed.listener(id)?;
            let backlog = feed.last_number() - state.acknowledged;
            let (delivered, dropped) = (state.delivered, state.dropped);
            Some(EventListenerCounts { name, delivered, dropped, backlog })
        });
        counts.collect()
    }
}

/// Feed of a family's lease events, as the control thread sees it.
pub(super) struct FeedSource<P: DaemonFamily>(pub(super) Arc<FeedState<P>>);

impl<P: DaemonFamily> std::fmt::Debug for FeedSource<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FeedSource").field(&self.0.subscriptions).finish()
    }
}

impl<P: DaemonFamily> EventSource for FeedSource<P> {
    fn subscribe(
        &self,
        request: &SubscriptionRequest,
    ) -> Result<Box<dyn EventSubscription>, SubscribeRefusal> {
        let state = &self.0;
        let mut members = state.subscriptions.members();
        if members.positions.len() >= SUBSCRIBERS_MAX {
            return Err(SubscribeRefusal::TooMany);
        }
        if members.history.is_none() {
            let overflow = EventOverflow::DropAbove(WAITING_MAX);
            let begun = state.begin_recording(overflow, ExchangeDetail::Content);
            begun.map_err(|_| SubscribeRefusal::NoThread)?;
            let history = state.feed().listen(FallBehindPolicy::DropAbove(HISTORY_MAX));
            members.history = Some(history);
            members.sequence += 1;
        }
        let subscriber = members.next_subscriber;
        members.next_subscriber += 1;
        let last_number = state.feed().last_number();
        members.positions.insert(subscriber, last_number);
        let sequence = members.sequence;
        drop(members);
        let state = Arc::clone(state);
        Ok(Box::new(Subscription::new(state, subscriber, sequence, last_number, request)))
    }

    fn progress(&self) -> watch::Receiver<u64> {
        self.0.subscriptions.progress.subscribe()
    }

    fn count_cut_off(&self) {
        self.0.subscriptions.cut_off.fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> EventCounts {
        let mut listeners = self.0.listener_counts();
        let Subscriptions { delivered, dropped, cut_off, lost, .. } = &self.0.subscriptions;
        let last_number = self.0.feed().last_number();
        let members = self.0.subscriptions.members();
        let oldest = members.positions.values().min().copied().unwrap_or(last_number);
        if members.sequence > 0 {
            listeners.push(EventListenerCounts {
                name: "subscribers",
                delivered: delivered.load(Ordering::Relaxed),
                dropped: dropped.load(Ordering::Relaxed),
                backlog: last_number.saturating_sub(oldest),
            });
        }
        EventCounts {
            listeners,
            subscribers: members.positions.len() as u64,
            cut_off: cut_off.load(Ordering::Relaxed),
            lost: lost.load(Ordering::Relaxed),
        }
    }
}
