//! Departure of a reply whose epoch has settled: it leaves unless somebody has refused its lease.

use dhcp_lease::LeaseStore;

use crate::counters::ShardCounters;
use crate::event_gate::EventGate;
use crate::outbox::Envelope;
use crate::protocol::{Notice, Protocol, ReplySink};
use crate::reason::DropReason;
use crate::shard::report;

/// Epoch that a reply depends on, which has settled, and those who may have refused it.
pub(crate) struct SettledGate<'g, S> {
    pub(crate) store: &'g S,
    pub(crate) gate: &'g EventGate,
    /// Epoch that the reply depends on; 0 if no refusal concerns it.
    pub(crate) epoch: u64,
}

impl<S> SettledGate<'_, S> {
    /// Returns the reason why the reply `octets` must not leave, if there is one.
    fn refusal<P: Protocol>(&self, octets: &[u8]) -> Option<DropReason>
    where
        S: LeaseStore<P>,
    {
        let Self { store, gate, epoch } = *self;
        if epoch == 0 {
            None
        } else if gate.is_refused(epoch, octets) {
            Some(DropReason::PartnerRefused)
        } else if !store.is_refused(epoch, octets) {
            None
        } else if store.is_refused_for_data(epoch, octets) {
            Some(DropReason::LeaseRefused)
        } else {
            Some(DropReason::LeasedElsewhere)
        }
    }

    /// Transmits a reply whose epoch has settled, or drops it because it has been refused.
    pub(crate) fn transmit<P: Protocol>(
        &self,
        counters: &ShardCounters<P>,
        reply: &Envelope<P::Destination, P::Ingress>,
        octets: &[u8],
        transmit: &mut impl ReplySink<P>,
    ) where
        S: LeaseStore<P>,
    {
        let Envelope { destination, ingress, request, kind, .. } = *reply;
        let dropped = match self.refusal::<P>(octets) {
            Some(reason) => reason,
            None if transmit.transmit(destination, ingress, octets) => {
                transmit.on_transmitted(request);
                counters.count_sent(kind);
                return report(transmit, Notice::Sent { destination, request }, octets, ingress);
            }
            None => DropReason::SendFailed,
        };
        counters.count_dropped(dropped);
        report(transmit, Notice::Dropped(dropped), octets, ingress);
    }
}
