//! Record of an exchange for the lease events that it caused.

use base::Now;
use dhcp_lease::{ExchangeDetail, ExchangeOwner, ExchangeRecord, LeaseStore};

use crate::protocol::Protocol;

/// Completes `exchange`, if an event refers to it: with the message `octets` and its `reply` if a
/// listener reads them.
pub(crate) fn complete<P: Protocol>(
    exchange: ExchangeOwner,
    store: &impl LeaseStore<P>,
    now: Now,
    octets: &[u8],
    reply: &[u8],
    ingress: P::Ingress,
) {
    if !exchange.is_used() {
        return;
    }
    if store.exchange_detail() == ExchangeDetail::Content {
        let record = ExchangeRecord {
            message: octets.into(),
            reply: reply.into(),
            ingress: P::recorded_ingress(ingress),
            wall_us: now.wall_us,
        };
        exchange.complete(record, store.take_event_order());
    } else {
        exchange.complete_without_content(now.wall_us, store.take_event_order());
    }
}
