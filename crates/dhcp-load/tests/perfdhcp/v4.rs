//! Tests with DHCPv4 responders.

use std::net::Ipv4Addr;

use dhcp_load::perfdhcp::dialect::ExchangeKind;
use dhcp_load::perfdhcp::dialect4::Dialect4;
use dhcp_load::perfdhcp::resend::Resend;
use dhcp_load::v4::answer::kind;
use dhcp_load::v4::template::Dhcp4MessageExtras;
use dhcp_load::wire::ReceivedDatagram;

use crate::common::{Dhcp4TestRequest, MS, RELAY};
use crate::perfdhcp::world::{ExchangeKindCounts, ExchangeLoad, Ledger, personas, play, rules};

pub(crate) fn dialect(clients: u32) -> Dialect4 {
    Dialect4::new(personas(clients), vec![RELAY], &Dhcp4MessageExtras::default(), false)
}

/// Returns the kind of a request, as a server recognizes it.
pub(crate) fn kind_of(request: &Dhcp4TestRequest<'_>) -> ExchangeKind {
    let holds = request.octets[12..16] != [0; 4];
    match request.kind() {
        kind::DISCOVER => ExchangeKind::First,
        kind::REQUEST if holds => ExchangeKind::Renewal,
        kind::REQUEST => ExchangeKind::Second,
        _ => ExchangeKind::Release,
    }
}

#[test]
fn renewals_and_releases_have_their_own_ledger() {
    let mut ledger = Ledger::default();
    let mut naks = 0;
    let rules = dhcp_load::perfdhcp::rules::RequestRules { keeps_leases: true, ..rules(4) };
    let mut played =
        play(dialect(400), 400, rules, ExchangeLoad::new(400, 200.0), [50.0, 20.0], |_, octets| {
            let request = Dhcp4TestRequest { octets };
            let kind = kind_of(&request);
            let counts = &mut ledger[kind.index()];
            counts.sent += 1;
            match kind {
                ExchangeKind::Release => vec![],
                ExchangeKind::Renewal if counts.sent.is_multiple_of(4) => {
                    counts.refused += 1;
                    naks += 1;
                    vec![(MS, request.answer(kind::NAK, Ipv4Addr::UNSPECIFIED))]
                }
                ExchangeKind::Renewal if counts.sent.is_multiple_of(7) => {
                    counts.lost += 1;
                    vec![]
                }
                ExchangeKind::Renewal if counts.sent.is_multiple_of(9) => {
                    counts.invalid += 1;
                    vec![(MS, request.answer(kind::OFFER, request.own_address()))]
                }
                ExchangeKind::Renewal => {
                    counts.on_time += 1;
                    assert_eq!(request.octets[12..16], request.own_address().octets());
                    vec![(MS, request.good())]
                }
                _ => {
                    counts.on_time += 1;
                    vec![(MS, request.good())]
                }
            }
        });
    assert_eq!(played.counts(), ledger);
    let [renewals, releases] = [2, 3].map(|index| &played.traffic.accounts[index]);
    assert_eq!(ledger[2].sent + renewals.without_lease, 100);
    assert_eq!(ledger[3].sent + releases.without_lease, 40);
    assert!(naks > 20 && ledger[3].sent > 30, "{ledger:?}");
    let summary = played.traffic.leases[0].summarize(played.end_ns);
    // A lease that was given back is no lease any more.
    assert_eq!((summary.leased, summary.conflicts), (400 - ledger[3].sent, 0));
}

#[test]
fn the_same_seed_sends_the_same_octets_and_another_one_does_not() {
    let sent = |seed| {
        let rules = dhcp_load::perfdhcp::rules::RequestRules { keeps_leases: true, ..rules(seed) };
        play(dialect(50), 50, rules, ExchangeLoad::new(100, 100.0), [20.0, 10.0], |_, octets| {
            let request = Dhcp4TestRequest { octets };
            if request.kind() == 7 { vec![] } else { vec![(MS, request.good())] }
        })
        .sent
    };
    assert_eq!(sent(5), sent(5));
    assert_ne!(sent(5), sent(6));
}

#[test]
fn under_total_loss_memory_stays_and_every_request_is_counted() {
    let rules = dhcp_load::perfdhcp::rules::RequestRules { capacity: 100, ..rules(1) };
    let played =
        play(dialect(9), 9, rules, ExchangeLoad::new(1_000, 100.0), [0.0; 2], |_, _| vec![]);
    let account = &played.traffic.accounts[0];
    // The ring has room for 128 requests, which stay four seconds.
    assert_eq!(account.ledger.due(), 1_000);
    assert_eq!(account.sent() + played.traffic.local_limit, 1_000);
    assert_eq!(account.ledger.count(load::ExchangeClass::Lost), 1_000);
    assert!(played.traffic.local_limit > 0 && account.sent() > 256, "{}", account.sent());
}

/// First requests, through which second requests are found, stay until those have ended.
#[test]
fn a_full_table_forgets_no_exchange_that_is_half_done() {
    let rules = dhcp_load::perfdhcp::rules::RequestRules { capacity: 16, ..rules(1) };
    let played =
        play(dialect(200), 200, rules, ExchangeLoad::new(200, 1_000.0), [0.0; 2], |_, octets| {
            let request = Dhcp4TestRequest { octets };
            let is_discover = request.kind() == kind::DISCOVER;
            vec![(if is_discover { MS } else { 50 * MS }, request.good())]
        });
    let [first, second, ..] = &played.traffic.accounts;
    assert_eq!((first.on_time(), second.on_time()), (first.sent(), first.sent()));
    assert_eq!((second.unmatched, played.traffic.local_limit), (0, 200 - first.sent()));
    assert!(first.sent() > 32 && first.sent() < 200, "{}", first.sent());
}

#[test]
fn what_is_within_its_deadline_at_the_end_is_in_flight_and_no_drop() {
    use dhcp_load::perfdhcp::traffic::RequestTraffic;
    let mut traffic = RequestTraffic::new(dialect(9), personas(9), rules(1));
    traffic.starts_at(0);
    let mut buffer = [0; 400];
    for due_ns in [0, 600 * MS, 1_500 * MS] {
        let outgoing = traffic.begin(due_ns, &mut buffer, true).unwrap();
        traffic.record_sent(outgoing.number, due_ns);
    }
    // The first two are past their deadline, one of them still watched.
    traffic.finish(1_700 * MS);
    let counts = ExchangeKindCounts::of(&traffic.accounts[0]);
    assert_eq!((counts.sent, counts.lost), (3, 2));
    assert_eq!((traffic.accounts[0].ledger.in_flight(), traffic.accounts[0].overdue), (1, 2));
}

#[test]
fn an_avalanche_sends_again_until_everybody_is_served() {
    for resend in [Resend::Rfc2131, Resend::Perfdhcp] {
        let mut first_octets = std::collections::HashMap::new();
        let rules = dhcp_load::perfdhcp::rules::RequestRules {
            deadlines_ns: [1_000_000 * MS; 2],
            grace_ns: 0,
            resend: Some(resend),
            ..rules(2)
        };
        let mut seen = std::collections::HashMap::new();
        let mut ages = std::collections::HashMap::new();
        // All clients begin within a microsecond; the server drops the first two tries of each
        // message.
        let played = play(
            dialect(50),
            50,
            rules,
            ExchangeLoad::new(50, 50_000_000.0),
            [0.0; 2],
            |_, octets| {
                let request = Dhcp4TestRequest { octets };
                let key = (request.client(), request.kind());
                let tries = seen.entry(key).or_insert(0);
                *tries += 1;
                let mut ageless = octets.to_vec();
                ageless[8..10].fill(0);
                assert_eq!(*first_octets.entry(key).or_insert_with(|| ageless.clone()), ageless);
                // The elapsed time counts from the DISCOVER, by the RFC, and never goes back.
                let age_s = u16::from_be_bytes([octets[8], octets[9]]);
                let last_s = ages.insert(request.client(), age_s).unwrap_or(0);
                assert!(age_s >= last_s, "{age_s} {last_s}");
                let is_again = *tries > 1 && resend == Resend::Rfc2131;
                assert!(!is_again || age_s > last_s, "{tries}: {age_s} {last_s}");
                if *tries > 2 { vec![(MS, request.good())] } else { vec![] }
            },
        );
        let counts = played.counts();
        assert_eq!((counts[0].on_time, counts[1].on_time), (50, 50));
        assert_eq!(
            played.traffic.accounts.each_ref().map(|account| account.resent),
            [100, 100, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(played.sent.len(), 300);
    }
}

#[test]
fn what_is_sent_before_the_run_is_not_counted() {
    use dhcp_load::perfdhcp::traffic::RequestTraffic;
    let mut traffic = RequestTraffic::new(dialect(9), personas(9), rules(1));
    traffic.starts_at(0);
    let mut buffer = [0; 400];
    let outgoing = traffic.begin(0, &mut buffer, false).unwrap();
    traffic.record_sent(outgoing.number, 0);
    let answer = Dhcp4TestRequest { octets: &buffer[..outgoing.len] }.good();
    assert_eq!(
        traffic.process_datagram(MS, &ReceivedDatagram::from_udp(&answer), &mut buffer),
        None
    );
    assert_eq!((traffic.preloaded, traffic.is_settled()), ([1, 1], true));
    traffic.finish(9_000 * MS);
    assert_eq!(ExchangeKindCounts::of(&traffic.accounts[0]), ExchangeKindCounts::default());
}
