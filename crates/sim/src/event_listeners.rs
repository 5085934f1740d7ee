//! Listeners of the simulated server's lease events: one that holds replies and sometimes crashes,
//! and one that is too slow and loses events. They check what they receive.

use core::ops::AddAssign;
use std::collections::BTreeMap;
use std::sync::Arc;

use base::Random;
use dhcp_engine::EventGate;
use dhcp_events::{FallBehindPolicy, Feed, LeaseEvent, ListenerId};
use dhcp_lease::{ExchangeDetail, Lease, LeaseEventKind, LeaseTable, RecordedEvent};

use crate::checker::Checker;
use crate::simulated_protocol::{Acknowledgment, SimulatedProtocol};

/// Number of events that the slow listener may have unread.
const SLOW_UNREAD_MAX: usize = 8;
/// Largest number of events that a listener reads at a time.
const READ_MAX: u64 = 6;

/// Lease events of a simulated server and their listeners.
pub(crate) struct EventListeners<P: SimulatedProtocol> {
    feed: Feed<P>,
    gate: Arc<EventGate>,
    random: Random,
    holding: ListenerId,
    /// Events that the holding listener has read and not acknowledged, which a crash loses.
    in_hand: Vec<LeaseEvent<P>>,
    /// Number of the last event that the holding listener has acknowledged.
    acknowledged: u64,
    /// Leases by the acknowledged events, without those that are only remembered.
    leases: BTreeMap<P::Address, Lease<P>>,
    slow: ListenerId,
    /// Number of events that the slow listener has read.
    slow_read: u64,
    /// Numbers of all events so far, and of the holding listener's crashes.
    pub(crate) counts: ListenerEventCounts,
}

/// Counts of events and of crashes of their listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerEventCounts {
    /// Number of events that the holding listener acknowledged.
    pub events: u64,
    /// Number of those events that changed no lease.
    pub answers: u64,
    /// Number of its crashes with events in hand.
    pub listener_crashes: u64,
    /// Number of events that the slow listener lost.
    pub lost_by_slow: u64,
}

impl AddAssign for ListenerEventCounts {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.answers += other.answers;
        self.listener_crashes += other.listener_crashes;
        self.lost_by_slow += other.lost_by_slow;
    }
}

fn running<P: SimulatedProtocol>(lease: Option<&Lease<P>>) -> Option<&Lease<P>> {
    lease.filter(|lease| !lease.state.is_past())
}

/// Checks an event of an exchange that changed no lease: the client's lease, if it has one, is
/// `known` by the events before.
fn check_answer<P: SimulatedProtocol>(
    change: &RecordedEvent<P>,
    known: Option<&Lease<P>>,
    checker: &mut Checker<P>,
) {
    let lease = change.before.as_ref();
    if lease.is_some() && running(lease) != known {
        checker.fail(format!("{change:?} comes after {known:?}"));
    }
    if change.exchange.as_ref().is_none_or(|exchange| exchange.record().is_none()) {
        checker.fail(format!("{change:?} has no message"));
    }
}

impl<P: SimulatedProtocol> EventListeners<P> {
    /// Begins to listen to the leases of `table`, as they are now.
    pub(crate) fn new(table: &LeaseTable<P>, gate: Arc<EventGate>, random: Random) -> Self {
        table.record_events(dhcp_lease::EventOverflow::Keep);
        table.record_exchanges(ExchangeDetail::Content);
        table.record_answers(true);
        let mut feed = Feed::default();
        let holding = feed.listen(FallBehindPolicy::HoldReplies);
        let slow = feed.listen(FallBehindPolicy::DropAbove(SLOW_UNREAD_MAX));
        let mut leases = BTreeMap::new();
        table.for_each_lease(|lease| {
            if !lease.state.is_past() {
                leases.insert(lease.address, lease);
            }
        });
        gate.pass(feed.passed_epoch());
        Self {
            feed,
            gate,
            random,
            holding,
            in_hand: Vec::new(),
            acknowledged: 0,
            leases,
            slow,
            slow_read: 0,
            counts: ListenerEventCounts::default(),
        }
    }

    /// Moves durable events into the feed and runs the listeners.
    pub(crate) fn run(
        &mut self,
        table: &LeaseTable<P>,
        settled_epoch: u64,
        checker: &mut Checker<P>,
    ) {
        let mut changes = Vec::new();
        let complete_epoch = table.take_events(settled_epoch, &mut changes);
        for change in &changes {
            if change.row_epoch > settled_epoch {
                checker.fail(format!("an event before its row is durable: {change:?}"));
            }
        }
        self.feed.append(changes, complete_epoch);
        self.run_holding(checker);
        self.run_slow(checker);
        self.gate.pass(self.feed.passed_epoch());
    }

    fn run_holding(&mut self, checker: &mut Checker<P>) {
        if self.random.chance(1, 4) {
            return;
        }
        let count = self.random.below(READ_MAX + 1) as usize;
        self.feed.read(self.holding, count, &mut self.in_hand);
        if self.random.chance(1, 10) {
            self.counts.listener_crashes += u64::from(!self.in_hand.is_empty());
            self.in_hand.clear();
            self.feed.restart(self.holding);
        }
        let count = self.random.below(self.in_hand.len() as u64 + 1) as usize;
        for event in self.in_hand.drain(..count) {
            self.counts.events += 1;
            if event.number != self.acknowledged + 1 {
                let after = self.acknowledged;
                checker.fail(format!("event {} after {after}", event.number));
            }
            self.acknowledged = event.number;
            let change = &event.change;
            if change.kind == LeaseEventKind::Answered {
                self.counts.answers += 1;
                check_answer(change, self.leases.get(&change.address), checker);
                continue;
            }
            if running(change.before.as_ref()) != self.leases.get(&change.address) {
                let known = self.leases.get(&change.address);
                checker.fail(format!("{change:?} comes after {known:?}"));
            }
            match running(change.after.as_ref()) {
                Some(lease) => self.leases.insert(change.address, lease.clone()),
                None => self.leases.remove(&change.address),
            };
        }
        self.feed.acknowledge(self.holding, self.acknowledged);
    }

    fn run_slow(&mut self, checker: &mut Checker<P>) {
        if self.random.chance(1, 3) {
            let mut events = Vec::new();
            self.feed.read(self.slow, self.random.below(READ_MAX) as usize, &mut events);
            self.slow_read += events.len() as u64;
            if let Some(last) = events.last() {
                self.feed.acknowledge(self.slow, last.number);
            }
        }
        let Some(state) = self.feed.listener(self.slow) else { return };
        self.counts.lost_by_slow = state.dropped;
        if self.slow_read + state.dropped != state.read {
            let read = self.slow_read;
            checker.fail(format!("the slow listener has {read} events and state {state:?}"));
        }
    }

    /// Checks that the holding listener has the event of a lease that a reply acknowledges.
    pub(crate) fn on_reply(
        &self,
        acknowledgment: Acknowledgment<P::Address>,
        checker: &mut Checker<P>,
    ) {
        let lease = self.leases.get(&acknowledgment.address);
        if lease.and_then(P::owner) != Some(acknowledgment.owner) {
            checker.fail(format!("{acknowledgment:?} left before its event; known: {lease:?}"));
        }
    }

    /// Checks, after the calm, that the listener knows the leases of `table`, and returns the
    /// counts.
    pub(crate) fn finish(
        mut self,
        table: &LeaseTable<P>,
        settled_epoch: u64,
        checker: &mut Checker<P>,
    ) -> ListenerEventCounts {
        while self.acknowledged < self.feed.last_number() || table.waiting_events() > 0 {
            let before = (self.acknowledged, table.waiting_events());
            (0..100).for_each(|_| self.run(table, settled_epoch, checker));
            if before == (self.acknowledged, table.waiting_events()) {
                checker.fail(format!("{} events stay in the table", table.waiting_events()));
                break;
            }
        }
        let mut leases = BTreeMap::new();
        table.for_each_lease(|lease| {
            if !lease.state.is_past() {
                leases.insert(lease.address, lease);
            }
        });
        if leases != self.leases {
            checker.fail(format!("leases by events {:?}, in the table {leases:?}", self.leases));
        }
        self.counts
    }
}
