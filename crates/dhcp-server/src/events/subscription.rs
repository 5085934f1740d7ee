//! One subscription to lease events: a snapshot of the leases if the subscriber wants one, then the
//! events after it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dhcp_events::LeaseEvent;
use dhcp_lease::{Lease, TableCursor};
use serde_json::{Value, json};

use super::FeedState;
use super::source::{EventSubscription, SubscriptionRequest, SubscriptionText};
use super::subscriptions::SharedText;
use super::text::{EventFormat, snapshot_entry, write_event};
use crate::service::DaemonFamily;

/// Maximum number of events in one text.
const TEXT_EVENTS: usize = 64;
/// Length of the text of a snapshot, in bytes, from which on it is sent.
const SNAPSHOT_TEXT_BYTES: usize = 32 << 10;
/// Maximum number of parts of the lease table that one text of a snapshot is made of.
const SNAPSHOT_PARTS: usize = 16;

/// Reason why a subscriber cannot go on without a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GapReason {
    /// Position of another process, or from before an interruption of the recording.
    OtherInstance,
    /// Position that is no longer in the history, or not yet.
    NumberGone,
    /// Subscriber that read more slowly than events came.
    TooSlow,
    /// Events that the server could not keep for anybody.
    EventsLost,
}

impl GapReason {
    const fn name(self) -> &'static str {
        match self {
            Self::OtherInstance => "other-instance",
            Self::NumberGone => "number-gone",
            Self::TooSlow => "too-slow",
            Self::EventsLost => "events-lost",
        }
    }
}

/// Stage of a subscription.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Stage in which the stream begins with the next event.
    Begin,
    /// Stage in which the stream begins with a snapshot.
    BeginSnapshot,
    /// Stage of a snapshot, with the number of leases so far.
    Snapshot(TableCursor, u64),
    /// Stage in which the subscriber gets events.
    Follow,
    /// Last stage: the subscriber needs a snapshot.
    Gap(GapReason),
}

/// Subscription of one client.
pub(super) struct Subscription<P: DaemonFamily> {
    state: Arc<FeedState<P>>,
    /// Number of the subscriber.
    subscriber: u64,
    /// Sequence of events that the position belongs to.
    sequence: u32,
    instance: String,
    /// Number of the last event that the subscriber has.
    position: u64,
    format: EventFormat,
    stage: Stage,
}

impl<P: DaemonFamily> Drop for Subscription<P> {
    fn drop(&mut self) {
        self.state.unsubscribe(self.subscriber);
    }
}

impl<P: DaemonFamily> Subscription<P> {
    /// Returns the subscription number `subscriber` by `request`, at the position `last_number` of
    /// the sequence `sequence`.
    pub(super) fn new(
        state: Arc<FeedState<P>>,
        subscriber: u64,
        sequence: u32,
        last_number: u64,
        request: &SubscriptionRequest,
    ) -> Self {
        let instance = state.subscriptions.instance(sequence);
        let after = request.after.as_deref();
        let number = after.map(|text| state.subscriptions.number_of(text, sequence));
        let is_there = |number: u64| state.feed().events_after(number).is_some();
        let (position, stage) = match number {
            Some(Some(number)) if is_there(number) => (number, Stage::Follow),
            None if !request.wants_snapshot => (last_number, Stage::Begin),
            _ if request.wants_snapshot => (last_number, Stage::BeginSnapshot),
            Some(None) => (last_number, Stage::Gap(GapReason::OtherInstance)),
            _ => (last_number, Stage::Gap(GapReason::NumberGone)),
        };
        Self { state, subscriber, sequence, instance, position, format: request.format, stage }
    }

    fn id(&self) -> String {
        format!("{}-{}", self.instance, self.position)
    }

    /// Appends to `text` the entry `kind` with `fields`, which begins or ends a part of the stream;
    /// `id` is the position from which a subscriber can resume, empty if it cannot.
    fn mark(&self, text: &mut String, kind: &str, id: &str, mut fields: Value) {
        fields["kind"] = kind.into();
        fields["family"] = P::NAME.into();
        fields["instance"] = self.instance.as_str().into();
        fields["number"] = self.position.into();
        if !id.is_empty() {
            fields["id"] = id.into();
        }
        self.format.append(text, kind, Some(id), &fields.to_string());
    }

    /// Returns the text of the entry `kind` that begins the stream.
    fn beginning(&self, kind: &str, id: &str) -> SubscriptionText {
        let mut text = String::new();
        self.mark(&mut text, kind, id, json!({}));
        SubscriptionText::Text { text: text.into(), is_more: true }
    }

    /// Returns the last text: the subscriber needs a snapshot.
    fn gap(&self, reason: GapReason) -> SubscriptionText {
        let fields = json!({
            "reason": reason.name(),
            "text": "changes of leases are missing: subscribe again with snapshot=true",
        });
        let mut text = String::new();
        self.mark(&mut text, "snapshot-needed", "", fields);
        SubscriptionText::End(text.into())
    }

    /// Cuts the subscriber off, whose next events are gone.
    fn cut_off(&self) -> SubscriptionText {
        let subscriptions = &self.state.subscriptions;
        let is_interrupted = subscriptions.members().sequence != self.sequence;
        let missed = self.state.feed().last_number().saturating_sub(self.position);
        subscriptions.dropped.fetch_add(missed, Ordering::Relaxed);
        let reason = if is_interrupted {
            GapReason::EventsLost
        } else {
            subscriptions.cut_off.fetch_add(1, Ordering::Relaxed);
            GapReason::TooSlow
        };
        self.gap(reason)
    }

    /// Returns the next leases at `cursor` as they were at the subscription's position; `None`
    /// after the last ones.
    ///
    /// # Errors
    ///
    /// The events since the position are gone.
    fn leases_before(&self, cursor: &mut TableCursor) -> Result<Option<Vec<Lease<P>>>, GapReason> {
        // Nothing is moved into the feed meanwhile.
        let _mover = self.state.mover();
        let mut is_there = true;
        let leases = self.state.table.leases_before(cursor, |undo| {
            let feed = self.state.feed();
            match feed.events_after(self.position) {
                Some(events) => events.rev().for_each(|event| undo(&event.change)),
                None => is_there = false,
            }
        });
        let is_same_sequence = self.state.subscriptions.members().sequence == self.sequence;
        if is_there && is_same_sequence { Ok(leases) } else { Err(GapReason::TooSlow) }
    }

    /// Returns the next leases of a snapshot, or its end.
    fn snapshot_text(&mut self, mut cursor: TableCursor, mut count: u64) -> SubscriptionText {
        let mut text = String::new();
        for _ in 0..SNAPSHOT_PARTS {
            if text.len() >= SNAPSHOT_TEXT_BYTES {
                break;
            }
            let Ok(leases) = self.leases_before(&mut cursor) else { return self.cut_off() };
            let Some(leases) = leases else {
                self.stage = Stage::Follow;
                self.mark(&mut text, "snapshot-end", &self.id(), json!({ "leases": count }));
                return SubscriptionText::Text { text: text.into(), is_more: true };
            };
            count += leases.len() as u64;
            for lease in &leases {
                self.format.append(&mut text, "lease", None, &snapshot_entry::<P>(lease));
            }
        }
        self.stage = Stage::Snapshot(cursor, count);
        SubscriptionText::Text { text: text.into(), is_more: true }
    }

    /// Returns the next events.
    fn next_events(&mut self) -> SubscriptionText {
        let subscriptions = &self.state.subscriptions;
        let mut members = subscriptions.members();
        if members.sequence != self.sequence {
            drop(members);
            return self.cut_off();
        }
        let mut shared = members.shared_text(self.position, self.format);
        if shared.is_none() {
            let feed = self.state.feed();
            let Some(events) = feed.events_after(self.position) else {
                drop((feed, members));
                return self.cut_off();
            };
            let events: Vec<LeaseEvent<P>> = events.take(TEXT_EVENTS).cloned().collect();
            drop(feed);
            shared = self.write(&events);
            if let Some(text) = &shared {
                members.share(text.clone());
            }
        }
        let Some(text) = shared else { return SubscriptionText::Wait };
        subscriptions.delivered.fetch_add(text.count, Ordering::Relaxed);
        self.position = text.last;
        members.positions.insert(self.subscriber, self.position);
        SubscriptionText::Text { text: text.text, is_more: text.is_full }
    }

    /// Returns the text of `events`, which follow the position; `None` without events.
    fn write(&self, events: &[LeaseEvent<P>]) -> Option<SharedText> {
        let last = events.last()?.number;
        let (mut text, mut json, mut count) = (String::new(), String::new(), 0);
        // Answers that change nothing are recorded for other listeners.
        for event in events.iter().filter(|event| event.change.is_change()) {
            count += 1;
            json.clear();
            write_event(&mut json, &self.instance, event);
            let id = format!("{}-{}", self.instance, event.number);
            self.format.append(&mut text, event.change.kind.name(), Some(&id), &json);
        }
        let is_full = events.len() == TEXT_EVENTS;
        let (after, format, text) = (self.position, self.format, text.into());
        Some(SharedText { after, last, count, format, text, is_full })
    }
}

impl<P: DaemonFamily> EventSubscription for Subscription<P> {
    fn next(&mut self) -> SubscriptionText {
        match self.stage {
            Stage::Begin => {
                self.stage = Stage::Follow;
                self.beginning("begin", &self.id())
            }
            Stage::BeginSnapshot => {
                self.stage = Stage::Snapshot(TableCursor::default(), 0);
                // A snapshot that is not complete cannot be resumed.
                self.beginning("snapshot-begin", "")
            }
            Stage::Snapshot(cursor, count) => self.snapshot_text(cursor, count),
            Stage::Follow => self.next_events(),
            Stage::Gap(reason) => self.gap(reason),
        }
    }

    fn is_in_snapshot(&self) -> bool {
        matches!(self.stage, Stage::BeginSnapshot | Stage::Snapshot(..))
    }
}
