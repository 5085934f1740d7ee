//! Counts of lease events and of the programs that listen to them.

use super::names::{StatisticName, StatisticScope};

/// Counts of a server's lease events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Counts of each listener; the subscribers count as one.
    pub listeners: Vec<EventListenerCounts>,
    /// Number of subscribers at the control sockets.
    pub subscribers: u64,
    /// Number of subscribers that were cut off because they did not keep up.
    pub cut_off: u64,
    /// Number of events that no listener got, because too many waited.
    pub lost: u64,
}

/// Counts of one listener of lease events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventListenerCounts {
    /// Name of the listener.
    pub name: &'static str,
    /// Number of events that the listener has taken.
    pub delivered: u64,
    /// Number of events that the listener lost because it did not keep up.
    pub dropped: u64,
    /// Number of events that the listener has not taken yet.
    pub backlog: u64,
}

impl EventCounts {
    /// Calls `visit` with the name and the value of every statistic of lease events.
    pub(super) fn for_each(&self, visit: &mut dyn FnMut(StatisticName, u128)) {
        for listener in &self.listeners {
            let scope = StatisticScope::EventListener(listener.name);
            let mut show = |counted, count: u64| {
                visit(StatisticName { scope, counted }, count.into());
            };
            show("delivered", listener.delivered);
            show("dropped", listener.dropped);
            show("backlog", listener.backlog);
        }
    }
}
