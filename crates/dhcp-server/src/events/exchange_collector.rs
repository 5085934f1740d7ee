//! Collector of the events of exchanges, for listeners that need all events of an exchange at once.

use std::sync::Arc;

use dhcp_events::LeaseEvent;
use dhcp_lease::{ExchangeCell, Family};

/// Events of exchanges that are not complete yet.
pub(super) struct ExchangeCollector<F: Family> {
    exchanges: Vec<(Arc<ExchangeCell>, Vec<LeaseEvent<F>>)>,
    /// Number of the event that follows if none is lost; 0 before the first.
    next_number: u64,
}

impl<F: Family> Default for ExchangeCollector<F> {
    fn default() -> Self {
        Self { exchanges: Vec::new(), next_number: 0 }
    }
}

impl<F: Family> ExchangeCollector<F> {
    /// Makes `number` the last one before the events of the listener.
    pub(super) const fn begin_after(&mut self, number: u64) {
        self.next_number = number + 1;
    }

    /// Discards incomplete exchanges if events in front of `event` were dropped: the rest of their
    /// exchanges would be half of the truth. Returns the number of dropped events.
    pub(super) fn follow(&mut self, event: &LeaseEvent<F>) -> u64 {
        let dropped = match self.next_number {
            0 => 0,
            next_number => event.number.saturating_sub(next_number),
        };
        if dropped > 0 {
            self.exchanges.clear();
        }
        self.next_number = event.number + 1;
        dropped
    }

    /// Adds `event` to its exchange. Returns the events of an exchange that is complete, or `event`
    /// alone if it belongs to none.
    pub(super) fn collect(&mut self, event: &LeaseEvent<F>) -> Option<Vec<LeaseEvent<F>>> {
        let Some(exchange) = &event.change.exchange else { return Some(vec![event.clone()]) };
        let is_of = |(other, _): &(Arc<ExchangeCell>, _)| Arc::ptr_eq(other, exchange);
        let at = self.exchanges.iter().position(is_of).unwrap_or_else(|| {
            self.exchanges.push((Arc::clone(exchange), Vec::new()));
            self.exchanges.len() - 1
        });
        let (_, events) = self.exchanges.get_mut(at)?;
        events.push(event.clone());
        event.ends_exchange.then(|| self.exchanges.swap_remove(at).1)
    }
}
