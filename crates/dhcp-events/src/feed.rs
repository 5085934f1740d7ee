//! Feed: numbered events, and the listeners' positions in them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use dhcp_lease::{EventRef, Family};

use crate::listener::{FallBehindPolicy, ListenerId, ListenerState};

/// Event of a lease with its number in the feed.
#[derive(Clone, Debug)]
pub struct LeaseEvent<F: Family> {
    /// Number of the event: 1 for the first event of the server process, then one more for each.
    pub number: u64,
    /// Wall-clock time at which the event got its number, in microseconds since 1970.
    pub wall_us: u64,
    /// Change of the lease.
    pub change: EventRef<F>,
    /// True if no later event has the same exchange. All events of an exchange are appended at
    /// once, but not always one directly after the other.
    pub ends_exchange: bool,
}

impl<F: Family> LeaseEvent<F> {
    /// Returns the wall-clock time of the change in microseconds since 1970: that of the exchange
    /// that caused it, otherwise that at which the event got its number.
    #[must_use]
    pub fn changed_us(&self) -> u64 {
        let exchange = self.change.exchange.as_ref();
        exchange.and_then(|exchange| exchange.answered_us()).unwrap_or(self.wall_us)
    }
}

/// Epoch up to which all events are in the feed, with the number of the last of them.
#[derive(Clone, Copy, Debug)]
struct EpochMark {
    epoch: u64,
    last_number: u64,
}

/// Events of a server's leases that some listener has not acknowledged.
#[derive(Debug)]
pub struct Feed<F: Family> {
    events: VecDeque<LeaseEvent<F>>,
    /// Number of the last event that was appended; 0 before the first.
    last_number: u64,
    listeners: BTreeMap<ListenerId, ListenerState>,
    next_listener: u32,
    /// Epochs whose replies wait for listeners, in ascending order.
    marks: VecDeque<EpochMark>,
    /// Highest epoch whose events all listeners with held replies have acknowledged.
    passed_epoch: u64,
    /// True if no further event will be appended.
    has_ended: bool,
    /// Wall-clock time of the events that are appended next, in microseconds since 1970.
    wall_us: u64,
}

impl<F: Family> Default for Feed<F> {
    fn default() -> Self {
        Self {
            events: VecDeque::new(),
            last_number: 0,
            listeners: BTreeMap::new(),
            next_listener: 0,
            marks: VecDeque::new(),
            passed_epoch: 0,
            has_ended: false,
            wall_us: 0,
        }
    }
}

impl<F: Family> Feed<F> {
    /// Adds a listener, which reads the events from the next one on.
    pub fn listen(&mut self, policy: FallBehindPolicy) -> ListenerId {
        let id = ListenerId(self.next_listener);
        self.next_listener += 1;
        let (acknowledged, read) = (self.last_number, self.last_number);
        let state = ListenerState { policy, acknowledged, read, delivered: 0, dropped: 0 };
        self.listeners.insert(id, state);
        id
    }

    /// Adds a listener, which reads the events after `number` as long as the feed still has them.
    /// Returns `None` if it has not, or if there is no such number yet: then the listener must take
    /// a snapshot of the leases.
    pub fn listen_after(&mut self, number: u64, policy: FallBehindPolicy) -> Option<ListenerId> {
        if number + 1 < self.first_number() || number > self.last_number {
            return None;
        }
        let id = self.listen(policy);
        let listener = self.listeners.get_mut(&id)?;
        (listener.acknowledged, listener.read) = (number, number);
        Some(id)
    }

    /// Removes a listener.
    pub fn remove(&mut self, id: ListenerId) {
        self.listeners.remove(&id);
        self.advance();
    }

    /// Returns the position and the counts of a listener.
    #[must_use]
    pub fn listener(&self, id: ListenerId) -> Option<ListenerState> {
        self.listeners.get(&id).copied()
    }

    /// Returns the number of the last event; 0 before the first.
    #[must_use]
    pub const fn last_number(&self) -> u64 {
        self.last_number
    }

    /// Returns the number of the oldest event that the feed has, or of the next one if it has none.
    fn first_number(&self) -> u64 {
        self.last_number + 1 - self.events.len() as u64
    }

    /// Returns the events after `number`, in their order; `None` if the feed no longer has them
    /// all, or if there is no such number yet.
    #[must_use]
    pub fn events_after(
        &self,
        number: u64,
    ) -> Option<impl DoubleEndedIterator<Item = &LeaseEvent<F>>> {
        let first_number = self.first_number();
        let is_known = number <= self.last_number && number + 1 >= first_number;
        is_known.then(|| self.events.range((number + 1 - first_number) as usize..))
    }

    /// Returns the number of events that the feed keeps for its listeners.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns true if no listener has events to acknowledge.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Makes `wall_us` the wall-clock time of the events that are appended next, in microseconds
    /// since 1970.
    pub const fn set_time(&mut self, wall_us: u64) {
        self.wall_us = wall_us;
    }

    /// Appends `changes` in their order. With them all changes of rows up to `complete_epoch` are
    /// in the feed.
    pub fn append(&mut self, changes: impl IntoIterator<Item = EventRef<F>>, complete_epoch: u64) {
        let (count, wall_us) = (self.events.len(), self.wall_us);
        let numbers = self.last_number + 1..;
        self.events.extend(numbers.zip(changes).map(|(number, change)| LeaseEvent {
            number,
            wall_us,
            change,
            ends_exchange: true,
        }));
        self.last_number += (self.events.len() - count) as u64;
        let mut later_exchanges = BTreeSet::new();
        for event in self.events.range_mut(count..).rev() {
            if let Some(exchange) = &event.change.exchange {
                event.ends_exchange = later_exchanges.insert(Arc::as_ptr(exchange));
            }
        }
        for listener in self.listeners.values_mut() {
            let FallBehindPolicy::DropAbove(count) = listener.policy else { continue };
            let oldest_kept = self.last_number.saturating_sub(count as u64);
            if listener.acknowledged < oldest_kept {
                let unread_from = listener.acknowledged.max(listener.read).min(oldest_kept);
                listener.delivered += unread_from - listener.acknowledged;
                listener.dropped += oldest_kept - unread_from;
                listener.acknowledged = oldest_kept;
                listener.read = listener.read.max(oldest_kept);
            }
        }
        let mark = EpochMark { epoch: complete_epoch, last_number: self.last_number };
        match self.marks.back_mut() {
            Some(last) if last.last_number == mark.last_number => {
                last.epoch = last.epoch.max(mark.epoch);
            }
            _ => self.marks.push_back(mark),
        }
        self.advance();
    }

    /// Appends to `events` the next events for the listener `id`, at most `count`.
    pub fn read(&mut self, id: ListenerId, count: usize, events: &mut Vec<LeaseEvent<F>>) {
        let first_number = self.first_number();
        let Some(listener) = self.listeners.get_mut(&id) else { return };
        let unread = (listener.read + 1).saturating_sub(first_number) as usize;
        let before = events.len();
        events.extend(self.events.iter().skip(unread).take(count).cloned());
        listener.read += (events.len() - before) as u64;
    }

    /// Records that the listener `id` has taken the events up to `number`, which it has read: it
    /// will not read them again.
    pub fn acknowledge(&mut self, id: ListenerId, number: u64) {
        if let Some(listener) = self.listeners.get_mut(&id) {
            let taken = number.min(listener.read).max(listener.acknowledged);
            listener.delivered += taken - listener.acknowledged;
            listener.acknowledged = taken;
        }
        self.advance();
    }

    /// Makes the listener `id` read again after the last event that it acknowledged, because it has
    /// lost those that it read since.
    pub fn restart(&mut self, id: ListenerId) {
        if let Some(listener) = self.listeners.get_mut(&id) {
            listener.read = listener.acknowledged;
        }
    }

    /// Returns the highest epoch whose replies may leave: every listener that holds replies has
    /// acknowledged its events. `u64::MAX` if no listener holds replies.
    #[must_use]
    pub fn passed_epoch(&self) -> u64 {
        let holds = |listener: &ListenerState| listener.policy == FallBehindPolicy::HoldReplies;
        if self.listeners.values().any(holds) { self.passed_epoch } else { u64::MAX }
    }

    /// Returns true if the listener `id` is the only one that holds replies.
    #[must_use]
    pub fn is_only_holder(&self, id: ListenerId) -> bool {
        let holds = |listener: &ListenerState| listener.policy == FallBehindPolicy::HoldReplies;
        let mut holders = self.listeners.iter().filter(|(_, listener)| holds(listener));
        holders.next().is_some_and(|(holder, _)| *holder == id) && holders.next().is_none()
    }

    /// Records that no further event will be appended.
    pub const fn end(&mut self) {
        self.has_ended = true;
    }

    /// Returns true if no further event will be appended.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Drops events that all listeners have acknowledged, and passes epochs.
    fn advance(&mut self) {
        let all = self.listeners.values();
        let acknowledged = all.map(|listener| listener.acknowledged).min();
        let acknowledged = acknowledged.unwrap_or(self.last_number);
        let count = (acknowledged + 1).saturating_sub(self.first_number()) as usize;
        self.events.drain(..count.min(self.events.len()));
        let holding = self.listeners.values();
        let holding = holding.filter(|listener| listener.policy == FallBehindPolicy::HoldReplies);
        let held = holding.map(|listener| listener.acknowledged).min().unwrap_or(self.last_number);
        while let Some(mark) = self.marks.front().filter(|mark| mark.last_number <= held) {
            self.passed_epoch = self.passed_epoch.max(mark.epoch);
            self.marks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use dhcp_lease::v4::V4;
    use dhcp_lease::{ExchangeCell, LeaseEventKind, RecordedEvent};

    use super::*;

    fn changes(count: u8) -> Vec<EventRef<V4>> {
        let change = |number| {
            EventRef::from(RecordedEvent {
                kind: LeaseEventKind::Allocated,
                address: Ipv4Addr::new(10, 0, 0, number),
                before: None,
                after: None,
                row_epoch: 1,
                exchange: None,
            })
        };
        (0..count).map(change).collect()
    }

    fn read(feed: &mut Feed<V4>, id: ListenerId, count: usize) -> Vec<u64> {
        let mut events = Vec::new();
        feed.read(id, count, &mut events);
        events.iter().map(|event| event.number).collect()
    }

    #[test]
    fn a_listener_reads_on_where_it_stopped_and_again_after_a_restart() {
        let mut feed = Feed::<V4>::default();
        feed.append(changes(2), 1);
        let id = feed.listen(FallBehindPolicy::HoldReplies);
        feed.append(changes(4), 2);
        assert_eq!(read(&mut feed, id, 3), [3, 4, 5]);
        feed.acknowledge(id, 4);
        feed.restart(id);
        assert_eq!(read(&mut feed, id, 9), [5, 6]);
        feed.acknowledge(id, 6);
        assert!(feed.is_empty() && read(&mut feed, id, 9).is_empty());
    }

    #[test]
    fn replies_wait_for_the_slowest_listener_that_holds_them() {
        let mut feed = Feed::<V4>::default();
        assert_eq!(feed.passed_epoch(), u64::MAX);
        let slow = feed.listen(FallBehindPolicy::DropAbove(9));
        feed.append(changes(1), 1);
        assert_eq!(feed.passed_epoch(), u64::MAX);
        let ids = [(); 2].map(|()| feed.listen(FallBehindPolicy::HoldReplies));
        assert_eq!([ids[0], ids[1], slow].map(|id| feed.is_only_holder(id)), [false; 3]);
        feed.append(changes(2), 5);
        assert_eq!(feed.passed_epoch(), 1);
        feed.append([], 6);
        for (id, passed) in ids.into_iter().zip([1, 6]) {
            read(&mut feed, id, 9);
            feed.acknowledge(id, 3);
            assert_eq!(feed.passed_epoch(), passed);
        }
        feed.append(changes(1), 7);
        assert_eq!(feed.passed_epoch(), 6);
        feed.remove(ids[0]);
        assert_eq!([ids[1], slow].map(|id| feed.is_only_holder(id)), [true, false]);
        feed.remove(ids[1]);
        assert_eq!(feed.passed_epoch(), u64::MAX);
        assert_eq!(read(&mut feed, slow, 9), [1, 2, 3, 4]);
    }

    #[test]
    fn a_listener_that_is_too_slow_loses_the_oldest_events_and_no_more() {
        let mut feed = Feed::<V4>::default();
        let id = feed.listen(FallBehindPolicy::DropAbove(3));
        feed.append(changes(5), 1);
        assert_eq!(feed.len(), 3);
        assert_eq!(read(&mut feed, id, 2), [3, 4]);
        feed.append(changes(3), 2);
        let state = feed.listener(id).unwrap();
        assert_eq!((state.delivered, state.dropped), (2, 3));
        assert_eq!(read(&mut feed, id, 9), [6, 7, 8]);
        feed.acknowledge(id, 7);
        assert_eq!(feed.listener(id).map(|state| state.delivered), Some(4));
    }

    #[test]
    fn events_in_hand_of_a_slow_listener_are_not_dropped() {
        let mut feed = Feed::<V4>::default();
        let id = feed.listen(FallBehindPolicy::DropAbove(3));
        feed.append(changes(3), 1);
        assert_eq!(read(&mut feed, id, 9), [1, 2, 3]);
        feed.append(changes(2), 2);
        feed.acknowledge(id, 3);
        let state = feed.listener(id).unwrap();
        assert_eq!((state.delivered, state.dropped), (3, 0));
        assert_eq!(read(&mut feed, id, 9), [4, 5]);
    }

    #[test]
    fn events_are_found_by_number_while_a_listener_keeps_them() {
        let mut feed = Feed::<V4>::default();
        let numbers = |feed: &Feed<V4>, after| -> Option<Vec<u64>> {
            Some(feed.events_after(after)?.map(|event| event.number).collect())
        };
        assert_eq!(numbers(&feed, 0), Some(Vec::new()));
        assert_eq!(numbers(&feed, 1), None);
        feed.listen(FallBehindPolicy::DropAbove(3));
        feed.set_time(7);
        feed.append(changes(5), 1);
        assert_eq!(numbers(&feed, 1), None);
        assert_eq!(numbers(&feed, 2), Some(vec![3, 4, 5]));
        assert_eq!(numbers(&feed, 5), Some(Vec::new()));
        assert_eq!(numbers(&feed, u64::MAX), None);
        let newest = feed.events_after(4).unwrap().next_back().unwrap();
        assert_eq!((newest.number, newest.changed_us()), (5, 7));
    }

    #[test]
    fn the_last_event_of_an_exchange_is_marked() {
        let mut feed = Feed::<V4>::default();
        let id = feed.listen(FallBehindPolicy::DropAbove(9));
        let exchanges = [(); 2].map(|()| Arc::<ExchangeCell>::default());
        let of = [Some(0), Some(1), None, Some(0), Some(1)];
        let recorded = changes(5).into_iter().zip(of).map(|(change, exchange)| {
            let exchange = exchange.map(|at: usize| Arc::clone(&exchanges[at]));
            EventRef::from(RecordedEvent { exchange, ..(*change).clone() })
        });
        feed.append(recorded, 1);
        let mut events = Vec::new();
        feed.read(id, 9, &mut events);
        let ends: Vec<bool> = events.iter().map(|event| event.ends_exchange).collect();
        assert_eq!(ends, [false, false, true, true, true]);
    }

    #[test]
    fn a_listener_resumes_after_a_number_that_the_feed_still_has() {
        let mut feed = Feed::<V4>::default();
        let first = feed.listen(FallBehindPolicy::DropAbove(3));
        feed.append(changes(5), 1);
        let policy = FallBehindPolicy::DropAbove(3);
        assert!(feed.listen_after(1, policy).is_none() && feed.listen_after(6, policy).is_none());
        let id = feed.listen_after(2, policy).unwrap();
        assert_eq!(read(&mut feed, id, 9), [3, 4, 5]);
        let at_end = feed.listen_after(5, policy).unwrap();
        assert!(read(&mut feed, at_end, 9).is_empty());
        assert_eq!(read(&mut feed, first, 1), [3]);
    }
}
