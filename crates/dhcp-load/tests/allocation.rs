//! Test that the steady path of both families allocates nothing, counted by the allocator itself:
//! an exchange begins, takes up its offer, gets its lease, expires.

use std::hint::black_box;

use crate::common::v6;
use crate::common::{Dhcp4TestRequest, MS, RELAY};
use dhcp_load::Expect;
use dhcp_load::identities::ExchangeIdentities;
use dhcp_load::leases::LeaseLog;
use dhcp_load::population::Population;
use dhcp_load::protocol::DhcpLoadProtocol;
use dhcp_load::v4::protocol::RelayedMessages;
use dhcp_load::v6::RequestedAssociations;
use load::ExchangeTimeLimits;

/// Returns the population's allocations over 1,000 exchanges with the server `answer`, and its
/// leases.
fn count<P: DhcpLoadProtocol>(protocol: P, answer: impl Fn(&[u8]) -> Vec<u8>) -> (u64, u64) {
    let identities = ExchangeIdentities {
        thread: 0,
        threads: 1,
        client_offset: 0,
        clients: 0,
        xid_base: 7,
        xid_bits: P::XID_BITS,
    };
    let limits = ExchangeTimeLimits { deadline_ns: 100 * MS, grace_ns: 0 };
    let mut buffer = vec![0; protocol.message_bytes_max()];
    let log = LeaseLog::with_capacity(2_000);
    let mut population = Population::new(identities, limits, Expect::Dhcp, protocol, 128, log);
    let mut allocations = 0;
    for turn in 1..=1_000 {
        let now_ns = turn * MS;
        let mut outgoing = None;
        let mut counted = |work: &mut dyn FnMut()| {
            allocations += allocation_counter::measure(work).count_total;
        };
        counted(&mut || outgoing = population.begin(now_ns, &mut buffer));
        while let Some(sent) = outgoing {
            let octets = answer(&buffer[..sent.len]);
            counted(&mut || {
                population.record_sent(sent.number, now_ns);
                outgoing = population.process_datagram(now_ns, &octets, &mut buffer);
                population.expire(now_ns);
            });
        }
    }
    assert!(population.is_settled());
    let mut finished = population.finish();
    assert_eq!(finished.ledger.count(load::ExchangeClass::OnTime), 1_000);
    (allocations, finished.leases.summarize(0).leased)
}

#[test]
fn the_counter_counts() {
    let counted = allocation_counter::measure(|| drop(black_box(Box::new(1))));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn an_exchange_allocates_nothing() {
    let relayed = RelayedMessages::new(RELAY, Expect::Dhcp);
    assert_eq!(count(relayed, |octets| Dhcp4TestRequest { octets }.good()), (0, 1_000));
    let ask = RequestedAssociations { pd: true, ..RequestedAssociations::ADDRESS };
    let good = |octets: &[u8]| v6::Dhcp6TestRequest { octets }.good().octets();
    assert_eq!(count(v6::relayed(ask), good), (0, 2_000));
}
