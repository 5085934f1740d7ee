//! Copy of the table's leases that is kept by events alone.

use std::collections::BTreeMap;

use super::super::super::LeaseTable;
use super::super::modelled::Modelled;
use crate::event::{LeaseEventKind, RecordedEvent};
use crate::lease::Lease;

/// Leases by address, without those that are only remembered.
pub(super) struct EventShadow<F: Modelled> {
    leases: BTreeMap<u32, Lease<F>>,
}

impl<F: Modelled> Default for EventShadow<F> {
    fn default() -> Self {
        Self { leases: BTreeMap::new() }
    }
}

fn running<F: Modelled>(lease: Option<&Lease<F>>) -> Option<&Lease<F>> {
    lease.filter(|lease| !lease.state.is_past())
}

impl<F: Modelled> EventShadow<F> {
    /// Follows an event, whose lease before must be the one that the events so far have made.
    fn follow(&mut self, event: &RecordedEvent<F>) {
        let number = F::number(event.address);
        assert_eq!(running(event.before.as_ref()), self.leases.get(&number), "{event:?}");
        let is_end = matches!(event.kind, LeaseEventKind::Reclaimed | LeaseEventKind::Recovered);
        assert!(!is_end || event.before.is_some(), "{event:?}");
        match running(event.after.as_ref()) {
            Some(lease) => self.leases.insert(number, lease.clone()),
            None => self.leases.remove(&number),
        };
    }

    /// Follows all events of `table`, and checks that its leases are those of the events.
    pub(super) fn check(&mut self, table: &LeaseTable<F>) {
        let mut events = Vec::new();
        table.take_events(u64::MAX, &mut events);
        events.iter().for_each(|event| self.follow(event));
        let mut leases = BTreeMap::new();
        table.for_each_lease(|lease| {
            if !lease.state.is_past() {
                leases.insert(F::number(lease.address), lease);
            }
        });
        assert_eq!(self.leases, leases);
        assert_eq!(table.waiting_events(), 0);
    }

    /// Takes the lease of the address `number` over from `table`, which has loaded it.
    pub(super) fn load(&mut self, table: &LeaseTable<F>, number: u32) {
        let lease = table.lease(F::address(number)).filter(|lease| !lease.state.is_past());
        match lease {
            Some(lease) => self.leases.insert(number, lease),
            None => self.leases.remove(&number),
        };
    }
}
