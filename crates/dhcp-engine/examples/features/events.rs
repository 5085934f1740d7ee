//! Listener of lease events that only counts them.

use std::sync::Arc;

use dhcp_events::{FallBehindPolicy, Feed, LeaseEvent, ListenerId};
use dhcp_lease::{EventOverflow, EventRef, LeaseTable, TableFamily};

/// Number of exchanges after which the feed takes their events, as between two batches.
pub const EXCHANGES_PER_TURN: u32 = 32;
/// Number of events that may wait.
const WAITING_MAX: usize = 1 << 16;

/// Feed of a table's events, with a listener that counts them.
pub struct CountedEvents<F: TableFamily> {
    table: Arc<LeaseTable<F>>,
    feed: Feed<F>,
    listener: ListenerId,
    changes: Vec<EventRef<F>>,
    events: Vec<LeaseEvent<F>>,
    count: u64,
}

impl<F: TableFamily> CountedEvents<F> {
    /// Begins to record and count the events of `table`.
    pub fn new(table: Arc<LeaseTable<F>>) -> Self {
        table.record_events(EventOverflow::DropAbove(WAITING_MAX));
        let mut feed = Feed::default();
        let listener = feed.listen(FallBehindPolicy::DropAbove(WAITING_MAX));
        Self { table, feed, listener, changes: Vec::new(), events: Vec::new(), count: 0 }
    }

    /// Passes the events so far to the listener.
    pub fn turn(&mut self) {
        let complete_epoch = self.table.take_events(u64::MAX, &mut self.changes);
        self.feed.append(self.changes.drain(..), complete_epoch);
        self.feed.read(self.listener, usize::MAX, &mut self.events);
        self.count += self.events.len() as u64;
        if let Some(last) = self.events.last() {
            self.feed.acknowledge(self.listener, last.number);
        }
        self.events.clear();
    }

    /// Returns the number of events so far.
    pub const fn count(&self) -> u64 {
        self.count
    }
}
