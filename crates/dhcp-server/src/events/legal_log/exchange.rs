//! Exchanges of clients in a batch of lease events: the leases that each has granted and ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use dhcp_events::LeaseEvent;
use dhcp_lease::{ExchangeRecord, Family, Lease, LeaseEventKind, RecordedEvent};

use super::entry::LogAction;

/// Exchange of a client, with events that it caused.
pub(crate) struct ExchangeEvents<'e, F: Family> {
    /// Message and reply of the exchange.
    pub(super) record: &'e ExchangeRecord,
    events: Vec<&'e RecordedEvent<F>>,
}

/// Lease of an exchange that the legal log reports.
#[derive(Debug)]
pub(super) struct LoggedLease<'e, F: Family> {
    pub(super) action: LogAction,
    /// Lease as the client knows it: after a grant, before its end.
    pub(super) lease: &'e Lease<F>,
}

impl<'e, F: Family> ExchangeEvents<'e, F> {
    /// Returns the leases that the exchange has granted, then those that it has ended. A lease that
    /// the reply only repeats is neither, as in Kea, which passes it to no hook.
    pub(super) fn leases(&self) -> Vec<LoggedLease<'e, F>> {
        let granted = self.events.iter().filter_map(|event| match event.kind {
            LeaseEventKind::Allocated | LeaseEventKind::Renewed | LeaseEventKind::Registered => {
                let lease = event.after.as_ref()?;
                Some(LoggedLease { action: LogAction::Assigned, lease })
            }
            _ => None,
        });
        let ended = self.events.iter().filter_map(|event| match event.kind {
            LeaseEventKind::Released | LeaseEventKind::Declined => {
                let lease = event.before.as_ref()?;
                Some(LoggedLease { action: LogAction::Released, lease })
            }
            _ => None,
        });
        granted.chain(ended).collect()
    }
}

/// Returns the exchanges in `events`, in their order. The feed may have events of one exchange
/// apart from each other; they come together unless that changed the order for an address.
pub(super) fn exchanges<F: Family>(events: &[LeaseEvent<F>]) -> Vec<ExchangeEvents<'_, F>> {
    let mut exchanges: Vec<ExchangeEvents<'_, F>> = Vec::new();
    let mut places = BTreeMap::new();
    let mut last_places = BTreeMap::new();
    for event in events {
        let change = &event.change;
        let Some(cell) = &change.exchange else { continue };
        let Some(record) = cell.record() else { continue };
        let exchange = Arc::as_ptr(cell);
        let last_place: Option<usize> = last_places.get(&change.address).copied();
        let place = places.get(&exchange).copied();
        let place = place.filter(|place| last_place.is_none_or(|last| last <= *place));
        let place = place.unwrap_or(exchanges.len());
        places.insert(exchange, place);
        last_places.insert(change.address, place);
        match exchanges.get_mut(place) {
            Some(earlier) => earlier.events.push(change),
            None => exchanges.push(ExchangeEvents { record, events: vec![change] }),
        }
    }
    exchanges
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use dhcp_lease::v4::{LeaseClient, V4};
    use dhcp_lease::{ExchangeOwner, LeaseState, RecordedIngress};

    use super::*;

    fn lease(last: u8, valid_lifetime_s: u32) -> Lease<V4> {
        Lease {
            address: Ipv4Addr::new(10, 0, 0, last),
            client: LeaseClient::default(),
            valid_lifetime_s,
            cltt_s: 0,
            subnet_id: 1,
            pool_id: 0,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname: "".into(),
            state: LeaseState::Assigned,
            user_context: "".into(),
            extra: (),
        }
    }

    /// Returns the events with kind and address, each of the exchange with the given number; an
    /// event with number 0 belongs to none.
    fn events(changes: &[(LeaseEventKind, u8, usize)]) -> Vec<LeaseEvent<V4>> {
        let owners: Vec<ExchangeOwner> = (0..9).map(|_| ExchangeOwner::default()).collect();
        let event = |&(kind, last, number): &(LeaseEventKind, u8, usize)| {
            let change = RecordedEvent {
                kind,
                address: Ipv4Addr::new(10, 0, 0, last),
                before: Some(lease(last, 1)),
                after: Some(lease(last, 2)),
                row_epoch: 1,
                exchange: (number > 0).then(|| Arc::clone(owners[number].cell())),
            };
            LeaseEvent { number: 1, wall_us: 0, change: change.into(), ends_exchange: false }
        };
        let events = changes.iter().map(event).collect();
        for (owner, number) in owners.into_iter().zip(0..) {
            let nowhere = (Ipv4Addr::UNSPECIFIED, 0).into();
            let record = ExchangeRecord {
                message: Box::new([number]),
                reply: Box::default(),
                ingress: RecordedIngress {
                    source: nowhere,
                    local: nowhere.ip(),
                    interface: 0,
                    is_multicast: false,
                    mac: None,
                },
                wall_us: 0,
            };
            owner.complete(record, 1);
        }
        events
    }

    /// Returns the number of each exchange with the last bytes of its addresses.
    fn grouped(changes: &[(LeaseEventKind, u8, usize)]) -> Vec<(u8, Vec<u8>)> {
        let events = events(changes);
        let last = |event: &&RecordedEvent<V4>| event.address.octets()[3];
        exchanges(&events)
            .iter()
            .map(|one| (one.record.message[0], one.events.iter().map(last).collect()))
            .collect()
    }

    #[test]
    fn events_of_an_exchange_come_together_in_the_order_of_their_addresses() {
        use LeaseEventKind::{Added, Allocated};
        let of = |last, number| (Allocated, last, number);
        let apart = [of(1, 1), of(1, 2), of(2, 1), (Added, 3, 0), of(2, 2)];
        assert_eq!(grouped(&apart), [(1, vec![1, 2]), (2, vec![1, 2])]);
        // The second exchange has had address 2 later than the first.
        let crossed = [of(1, 2), of(2, 1), of(2, 2)];
        assert_eq!(grouped(&crossed), [(2, vec![1]), (1, vec![2]), (2, vec![2])]);
        let rest = [of(1, 2), of(2, 1), of(2, 2), of(3, 2)];
        assert_eq!(grouped(&rest)[2], (2, vec![2, 3]));
    }

    #[test]
    fn grants_come_before_ends_and_what_the_server_did_alone_is_left_out() {
        let kinds = [
            LeaseEventKind::Released,
            LeaseEventKind::Reclaimed,
            LeaseEventKind::Allocated,
            LeaseEventKind::Forgotten,
            LeaseEventKind::Renewed,
            LeaseEventKind::Declined,
            LeaseEventKind::Registered,
            LeaseEventKind::Answered,
        ];
        let changes: Vec<_> = kinds.iter().zip(1..).map(|(&kind, last)| (kind, last, 1)).collect();
        let events = events(&changes);
        let exchanges = exchanges(&events);
        let logged = exchanges[0].leases();
        let logged = logged.iter().map(|LoggedLease { action, lease }| {
            (*action, lease.address.octets()[3], lease.valid_lifetime_s)
        });
        let (assigned, released) = (LogAction::Assigned, LogAction::Released);
        let granted = [3, 5, 7].map(|last| (assigned, last, 2));
        let ended = [1, 6].map(|last| (released, last, 1));
        let expected = granted.into_iter().chain(ended);
        assert_eq!(logged.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}
