//! Events of one exchange, or of a lease that ended in time: what both families need to know about
//! them.

use dhcp_events::LeaseEvent;
use dhcp_lease::{ExchangeRecord, Family, Lease, LeaseEventKind, LeaseState, RecordedEvent};

/// Events of one exchange in their order, or a single event without an exchange.
pub(super) struct ScriptExchange<'e, F: Family>(pub(super) &'e [LeaseEvent<F>]);

impl<'e, F: Family> ScriptExchange<'e, F> {
    /// Returns the changes in their order.
    pub(super) fn changes(&self) -> impl Iterator<Item = &'e RecordedEvent<F>> + use<'e, F> {
        self.0.iter().map(|event| &*event.change)
    }

    /// Returns message and reply of the exchange, if there is one.
    pub(super) fn record(&self) -> Option<&'e ExchangeRecord> {
        self.0.first()?.change.exchange.as_ref()?.record()
    }

    /// Returns the leases before changes of `kind`.
    pub(super) fn before(&self, kind: LeaseEventKind) -> impl Iterator<Item = &'e Lease<F>> {
        let changes = self.changes().filter(move |change| change.kind == kind);
        changes.filter_map(|change| change.before.as_ref())
    }

    /// Returns the leases that the exchange has written for its client.
    pub(super) fn written(&self) -> Vec<&'e Lease<F>> {
        let is_written = |change: &&RecordedEvent<F>| {
            matches!(
                change.kind,
                LeaseEventKind::Allocated
                    | LeaseEventKind::Renewed
                    | LeaseEventKind::Registered
                    | LeaseEventKind::Declined
            )
        };
        self.changes().filter(is_written).filter_map(|change| change.after.as_ref()).collect()
    }

    /// Returns the leases that the client has given up: as they are remembered, or else as they
    /// were.
    pub(super) fn deleted(&self) -> Vec<&'e Lease<F>> {
        let released = self.changes().filter(|change| change.kind == LeaseEventKind::Released);
        released.filter_map(|change| change.after.as_ref().or(change.before.as_ref())).collect()
    }

    /// Returns the leases that the client has lost, as they were.
    pub(super) fn lost(&self) -> Vec<&'e Lease<F>> {
        self.before(LeaseEventKind::Released).collect()
    }

    /// Returns true if the exchange has given `lease`, which had ended, to its client again.
    pub(super) fn gives_back(&self, lease: &Lease<F>) -> bool {
        let is_it =
            |after: &Lease<F>| after.address == lease.address && after.client == lease.client;
        self.written().into_iter().any(is_it)
    }

    /// Returns the lease that `change` renews for a client that had it before, also if it had
    /// ended.
    pub(super) fn renewed(&self, change: &'e RecordedEvent<F>) -> Option<&'e Lease<F>> {
        let after = change.after.as_ref()?;
        let is_renewed = match change.kind {
            LeaseEventKind::Renewed | LeaseEventKind::Answered => true,
            LeaseEventKind::Allocated => self
                .changes()
                .filter(|earlier| earlier.address == change.address)
                .filter_map(|earlier| earlier.before.as_ref())
                .any(|before| before.client == after.client),
            _ => false,
        };
        is_renewed.then_some(after)
    }

    /// Returns the leases that ended in time or before another client got their addresses.
    /// `removes_reclaimed`: the server remembers no reclaimed lease, which Kea does not call a
    /// removal.
    pub(super) fn ended(&self, removes_reclaimed: bool) -> Vec<EndedLease<'e, F>> {
        let ended = |change: &'e RecordedEvent<F>| {
            let is_probation = match change.kind {
                LeaseEventKind::Reclaimed => false,
                LeaseEventKind::Recovered => true,
                _ => return None,
            };
            let lease = change.before.as_ref()?;
            let is_taken_back = |later: &RecordedEvent<F>| {
                later.after.as_ref().is_some_and(|after| {
                    later.address == change.address
                        && after.client == lease.client
                        && after.cltt_s <= lease.expires_s()
                })
            };
            if lease.state == LeaseState::Released && self.changes().any(is_taken_back) {
                // The client has the lease again within the second of its release: for Kea it has
                // not ended.
                return None;
            }
            // A lease that ends because its address is needed is not removed: it gets a new client.
            let is_needed = change.exchange.is_some() || change.row_epoch == 0;
            let is_gone = change.after.is_none() && !is_probation && !removes_reclaimed;
            Some(EndedLease { lease, is_probation, is_removed: is_gone && !is_needed })
        };
        self.changes().filter_map(ended).collect()
    }
}

/// Lease that has ended.
pub(super) struct EndedLease<'e, F: Family> {
    /// Lease as it was.
    pub(super) lease: &'e Lease<F>,
    /// True if it was the probation of a declined address.
    pub(super) is_probation: bool,
    /// True if a command has deleted the lease.
    pub(super) is_removed: bool,
}
