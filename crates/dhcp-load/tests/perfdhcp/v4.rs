//! DHCPv4 responders.

use std::net::Ipv4Addr;

use dhcp_load::fault::Fault;
use dhcp_load::perfdhcp::dialect::Kind;
use dhcp_load::perfdhcp::dialect4::Dialect4;
use dhcp_load::perfdhcp::resend::Resend;
use dhcp_load::v4::answer::kind;
use dhcp_load::v4::template::Extras;

use crate::common::{FIXED, MS, RELAY, Request};
use crate::world::{Counts, DEADLINE_NS, Ledger, Played, personas, play, rules};

fn dialect(clients: u32) -> Dialect4 {
    Dialect4::new(personas(clients), vec![RELAY], &Extras::default(), false)
}

/// The kind of a request, as a server tells it.
fn kind_of(request: &Request<'_>) -> Kind {
    let holds = request.octets[12..16] != [0; 4];
    match request.kind() {
        kind::DISCOVER => Kind::First,
        kind::REQUEST if holds => Kind::Renewal,
        kind::REQUEST => Kind::Second,
        _ => Kind::Release,
    }
}

/// What a responder does with one request in three of a kind, and enters into its ledger for it.
type Fault4 = fn(&Request<'_>, &mut Ledger, usize) -> Vec<(u64, Vec<u8>)>;

/// Cuts the option of four octets out.
fn without(mut octets: Vec<u8>, code: u8) -> Vec<u8> {
    let at = (FIXED..).find(|&at| octets[at] == code && octets[at + 1] == 4).unwrap();
    octets.drain(at..at + 6);
    octets
}

fn changed(mut octets: Vec<u8>, at: usize, by: u8) -> Vec<u8> {
    octets[at] ^= by;
    octets
}

/// 300 exchanges against a server that answers clients 0, 3, 6 … with `fault` at stage `stage`, and
/// all other requests well.
fn against(stage: Kind, fault: Fault4) -> (Played<Dialect4>, Ledger) {
    let mut ledger = Ledger::default();
    let played = play(dialect(300), 300, rules(9), (300, 300.0), [0.0; 2], |_, octets| {
        let request = Request { octets };
        let index = kind_of(&request).index();
        ledger[index].sent += 1;
        if index == stage.index() && request.client().is_multiple_of(3) {
            return fault(&request, &mut ledger, index);
        }
        ledger[index].on_time += 1;
        vec![(2 * MS, request.good())]
    });
    (played, ledger)
}

/// Answers that each make an exchange fail in one known way, at either stage.
const FAULTS: [(&str, Fault4); 26] = [
    ("drops", |_, ledger, at| {
        ledger[at].lost += 1;
        vec![]
    }),
    ("answers at the deadline", |request, ledger, at| {
        ledger[at].on_time += 1;
        vec![(DEADLINE_NS, request.good())]
    }),
    ("answers a nanosecond late", |request, ledger, at| {
        ledger[at].late += 1;
        vec![(DEADLINE_NS + 1, request.good())]
    }),
    ("answers when nobody listens any more", |request, ledger, at| {
        ledger[at].lost += 1;
        ledger[at].unmatched += 1;
        vec![(2 * DEADLINE_NS + 50 * MS, request.good())]
    }),
    ("answers twice", |request, ledger, at| {
        ledger[at].on_time += 1;
        ledger[at].duplicates += 1;
        vec![(MS, request.good()), (2 * MS, request.good())]
    }),
    ("answers again much later", |request, ledger, at| {
        ledger[at].on_time += 1;
        ledger[at].duplicates += 2;
        vec![(MS, request.good()), (900 * MS, request.good()), (1_500 * MS, request.good())]
    }),
    ("late and twice", |request, ledger, at| {
        ledger[at].late += 1;
        ledger[at].duplicates += 1;
        vec![(1_100 * MS, request.good()), (1_200 * MS, request.good())]
    }),
    ("wrong transaction", |request, ledger, at| {
        ledger[at].lost += 1;
        ledger[at].unmatched += 1;
        vec![(MS, changed(request.good(), 4, 0x40))]
    }),
    ("other hardware address", |request, ledger, at| {
        ledger[at].wrong_client += 1;
        vec![(MS, changed(request.good(), 33, 1))]
    }),
    ("other client identifier", |request, ledger, at| {
        ledger[at].wrong_client += 1;
        vec![(MS, changed(request.good(), FIXED + 23, 1))]
    }),
    ("wrong client first, right one second", |request, ledger, at| {
        ledger[at].wrong_client += 1;
        ledger[at].duplicates += 1;
        vec![(MS, changed(request.good(), 33, 1)), (2 * MS, request.good())]
    }),
    ("DHCPNAK", |request, ledger, at| {
        ledger[at].refused += 1;
        vec![(MS, request.answer(kind::NAK, Ipv4Addr::UNSPECIFIED))]
    }),
    ("late DHCPNAK", |request, ledger, at| {
        ledger[at].refused += 1;
        vec![(1_500 * MS, request.answer(kind::NAK, Ipv4Addr::UNSPECIFIED))]
    }),
    ("empty address", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, request.answer(request.good()[FIXED + 2], Ipv4Addr::UNSPECIFIED))]
    }),
    ("no server identifier", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, without(request.good(), 54))]
    }),
    ("no lease time", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, without(request.good(), 51))]
    }),
    ("a request for an answer", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, changed(request.good(), 0, 3))]
    }),
    ("other hardware type", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, changed(request.good(), 1, 7))]
    }),
    ("other relay", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, changed(request.good(), 27, 1))]
    }),
    ("no known message type", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, request.answer(13, request.own_address()))]
    }),
    ("cut in an option", |request, ledger, at| {
        ledger[at].lost += 1;
        ledger[at].malformed += 1;
        let mut octets = request.good();
        octets.truncate(FIXED + 6);
        vec![(MS, octets)]
    }),
    ("cut in the fixed part", |request, ledger, at| {
        ledger[at].lost += 1;
        ledger[at].malformed += 1;
        vec![(MS, request.good()[..200].to_vec())]
    }),
    ("cut, then whole", |request, ledger, at| {
        ledger[at].on_time += 1;
        ledger[at].malformed += 1;
        vec![(MS, request.good()[..200].to_vec()), (2 * MS, request.good())]
    }),
    ("an empty datagram beside the answer", |request, ledger, at| {
        ledger[at].on_time += 1;
        vec![(0, Vec::new()), (MS, request.good())]
    }),
    ("noise beside the answer", |request, ledger, at| {
        ledger[at].on_time += 1;
        vec![(0, vec![7; 80]), (MS, request.good())]
    }),
    ("no magic cookie", |request, ledger, at| {
        ledger[at].lost += 1;
        ledger[at].malformed += 1;
        vec![(MS, changed(request.good(), 236, 1))]
    }),
];

#[test]
fn both_ledgers_are_equal_for_every_fault_at_every_stage() {
    for (name, fault) in FAULTS {
        for stage in [Kind::First, Kind::Second] {
            let (played, ledger) = against(stage, fault);
            assert_eq!(ledger[stage.index()].sent % 50, 0, "{name} {stage:?}");
            assert_eq!(played.counts(), ledger, "{name} at {stage:?}");
            assert!(played.traffic.is_settled());
            assert_eq!(ledger[1].sent, ledger[0].on_time, "a REQUEST for each OFFER in time");
        }
    }
}

#[test]
fn what_is_wrong_with_one_stage_only_is_found_there() {
    type Case = (&'static str, Kind, Fault4, Option<Fault>);
    let cases: [Case; 5] = [
        (
            "an ACK for a DISCOVER",
            Kind::First,
            |request, ledger, at| {
                ledger[at].invalid += 1;
                vec![(MS, request.answer(kind::ACK, request.own_address()))]
            },
            Some(Fault::Kind),
        ),
        (
            "another address acknowledged than offered",
            Kind::Second,
            |request, ledger, at| {
                ledger[at].invalid += 1;
                vec![(MS, request.answer(kind::ACK, Ipv4Addr::new(10, 1, 1, 1)))]
            },
            Some(Fault::AddressChanged),
        ),
        (
            "acknowledged by another server",
            Kind::Second,
            |request, ledger, at| {
                ledger[at].invalid += 1;
                vec![(MS, changed(request.good(), FIXED + 8, 1))]
            },
            Some(Fault::ServerChanged),
        ),
        (
            "the OFFER once more instead of an ACK",
            Kind::Second,
            |request, ledger, at| {
                ledger[at].lost += 1;
                ledger[Kind::First.index()].duplicates += 1;
                vec![(MS, request.answer(kind::OFFER, request.own_address()))]
            },
            None,
        ),
        (
            "a DHCPNAK after the ACK",
            Kind::Second,
            |request, ledger, at| {
                ledger[at].on_time += 1;
                ledger[at].duplicates += 1;
                let nak = request.answer(kind::NAK, Ipv4Addr::UNSPECIFIED);
                vec![(MS, request.good()), (2 * MS, nak)]
            },
            None,
        ),
    ];
    for (name, stage, fault, reason) in cases {
        let (played, ledger) = against(stage, fault);
        assert_eq!(played.counts(), ledger, "{name}");
        if let Some(reason) = reason {
            let faults = played.traffic.accounts[stage.index()].faults;
            assert_eq!(faults[reason.index()], 100, "{name}");
        }
    }
}

#[test]
fn one_address_for_two_clients_names_both() {
    let address = |client: u32| Ipv4Addr::from(0x0a00_0000 + client / 2);
    let mut played = play(dialect(100), 100, rules(1), (100, 100.0), [0.0; 2], |_, octets| {
        let request = Request { octets };
        let kind = if request.kind() == kind::DISCOVER { kind::OFFER } else { kind::ACK };
        vec![(MS, request.answer(kind, address(request.client())))]
    });
    assert_eq!(played.counts()[1].on_time, 100);
    let summary = played.traffic.leases[0].summarize_with(played.end_ns, |owner| owner.to_string());
    assert_eq!((summary.leased, summary.conflicts), (50, 50));
    assert_eq!((&*summary.examples[0].first, &*summary.examples[0].second), ("0", "1"));
}

#[test]
fn renewals_and_releases_have_their_own_ledger() {
    let mut ledger = Ledger::default();
    let mut naks = 0;
    let rules = dhcp_load::perfdhcp::rules::Rules { keeps_leases: true, ..rules(4) };
    let mut played = play(dialect(400), 400, rules, (400, 200.0), [50.0, 20.0], |_, octets| {
        let request = Request { octets };
        let kind = kind_of(&request);
        let counts = &mut ledger[kind.index()];
        counts.sent += 1;
        match kind {
            Kind::Release => vec![],
            Kind::Renewal if counts.sent.is_multiple_of(4) => {
                counts.refused += 1;
                naks += 1;
                vec![(MS, request.answer(kind::NAK, Ipv4Addr::UNSPECIFIED))]
            }
            Kind::Renewal if counts.sent.is_multiple_of(7) => {
                counts.lost += 1;
                vec![]
            }
            Kind::Renewal if counts.sent.is_multiple_of(9) => {
                counts.invalid += 1;
                vec![(MS, request.answer(kind::OFFER, request.own_address()))]
            }
            Kind::Renewal => {
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
    // What was given back is no lease any more.
    assert_eq!((summary.leased, summary.conflicts), (400 - ledger[3].sent, 0));
}

/// A server that takes `1 / service_ns` requests per second and keeps up to `queue` waiting.
#[test]
fn a_server_of_capacity_c_with_queue_q_is_accounted_for_exactly() {
    for (capacity, queue) in [(500, 10), (500, 600), (1_500, 10)] {
        let service_ns = 1_000_000_000 / capacity;
        let roomy = dhcp_load::perfdhcp::rules::Rules { capacity: 8_000, ..rules(3) };
        let (mut free_ns, mut ledger) = (0, Ledger::default());
        let played =
            play(dialect(2_000), 2_000, roomy, (2_000, 1_000.0), [0.0; 2], |now_ns, octets| {
                let request = Request { octets };
                let counts = &mut ledger[kind_of(&request).index()];
                counts.sent += 1;
                let begins_ns = free_ns.max(now_ns);
                if (begins_ns - now_ns) / service_ns >= queue {
                    counts.lost += 1;
                    return vec![];
                }
                free_ns = begins_ns + service_ns;
                let delay_ns = free_ns - now_ns;
                if delay_ns > DEADLINE_NS {
                    counts.late += 1
                } else {
                    counts.on_time += 1
                }
                vec![(delay_ns, request.good())]
            });
        assert_eq!(played.counts(), ledger, "{capacity} {queue}");
        let [first, second] = [ledger[0], ledger[1]];
        assert!(first.lost + first.late + second.lost > 0, "{capacity} {queue}: {ledger:?}");
        assert_eq!(first.late > 0, queue == 600, "{capacity} {queue}: {ledger:?}");
    }
}

#[test]
fn a_stall_of_the_server_makes_late_what_it_holds_up() {
    let stall_ns = crate::world::START_NS + 500 * MS..crate::world::START_NS + 2_000 * MS;
    let mut ledger = Ledger::default();
    let played =
        play(dialect(1_000), 1_000, rules(3), (1_000, 500.0), [0.0; 2], |now_ns, octets| {
            let request = Request { octets };
            let counts = &mut ledger[kind_of(&request).index()];
            counts.sent += 1;
            let held_ns = if stall_ns.contains(&now_ns) { stall_ns.end - now_ns } else { 0 };
            if held_ns + MS > DEADLINE_NS {
                counts.late += 1
            } else {
                counts.on_time += 1
            }
            vec![(held_ns + MS, request.good())]
        });
    assert_eq!(played.counts(), ledger);
    assert_eq!(ledger[0].late, 251, "half a second of requests, and one to the millisecond");
}

#[test]
fn the_same_seed_sends_the_same_octets_and_another_one_does_not() {
    let sent = |seed| {
        let rules = dhcp_load::perfdhcp::rules::Rules { keeps_leases: true, ..rules(seed) };
        play(dialect(50), 50, rules, (100, 100.0), [20.0, 10.0], |_, octets| {
            let request = Request { octets };
            if request.kind() == 7 { vec![] } else { vec![(MS, request.good())] }
        })
        .sent
    };
    assert_eq!(sent(5), sent(5));
    assert_ne!(sent(5), sent(6));
}

#[test]
fn under_total_loss_memory_stays_and_every_request_is_counted() {
    let rules = dhcp_load::perfdhcp::rules::Rules { capacity: 100, ..rules(1) };
    let played = play(dialect(9), 9, rules, (1_000, 100.0), [0.0; 2], |_, _| vec![]);
    let account = &played.traffic.accounts[0];
    // A ring of 128 for requests that stay four seconds.
    assert_eq!(account.ledger.due(), 1_000);
    assert_eq!(account.sent() + played.traffic.local_limit, 1_000);
    assert_eq!(account.ledger.count(load::Class::Lost), 1_000);
    assert!(played.traffic.local_limit > 0 && account.sent() > 256, "{}", account.sent());
}

/// A second request is found by the first one, which must stay for it.
#[test]
fn a_full_table_forgets_no_exchange_that_is_half_done() {
    let rules = dhcp_load::perfdhcp::rules::Rules { capacity: 16, ..rules(1) };
    let played = play(dialect(200), 200, rules, (200, 1_000.0), [0.0; 2], |_, octets| {
        let request = Request { octets };
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
    use dhcp_load::perfdhcp::traffic::Traffic;
    let mut traffic = Traffic::new(dialect(9), personas(9), rules(1));
    traffic.starts_at(0);
    let mut buffer = [0; 400];
    for due_ns in [0, 600 * MS, 1_500 * MS] {
        let outgoing = traffic.begin(due_ns, &mut buffer, true).unwrap();
        traffic.left(outgoing.number, due_ns);
    }
    // The first two are past their deadline, one of them still watched.
    traffic.finish(1_700 * MS);
    let counts = Counts::of(&traffic.accounts[0]);
    assert_eq!((counts.sent, counts.lost), (3, 2));
    assert_eq!((traffic.accounts[0].ledger.in_flight(), traffic.accounts[0].overdue), (1, 2));
}

#[test]
fn an_avalanche_sends_again_until_everybody_is_served() {
    for resend in [Resend::Rfc2131, Resend::Perfdhcp] {
        let mut first_octets = std::collections::HashMap::new();
        let rules = dhcp_load::perfdhcp::rules::Rules {
            deadlines_ns: [1_000_000 * MS; 4],
            grace_ns: 0,
            resend: Some(resend),
            ..rules(2)
        };
        let mut seen = std::collections::HashMap::new();
        let mut ages = std::collections::HashMap::new();
        // Everybody within a microsecond; the first two tries of each message are dropped.
        let played = play(dialect(50), 50, rules, (50, 50_000_000.0), [0.0; 2], |_, octets| {
            let request = Request { octets };
            let key = (request.client(), request.kind());
            let tries = seen.entry(key).or_insert(0);
            *tries += 1;
            let mut ageless = octets.to_vec();
            ageless[8..10].fill(0);
            assert_eq!(*first_octets.entry(key).or_insert_with(|| ageless.clone()), ageless);
            // Counted from the DISCOVER, by the RFC, and never going back.
            let age_s = u16::from_be_bytes([octets[8], octets[9]]);
            let last_s = ages.insert(request.client(), age_s).unwrap_or(0);
            assert!(age_s >= last_s, "{age_s} {last_s}");
            let is_again = *tries > 1 && resend == Resend::Rfc2131;
            assert!(!is_again || age_s > last_s, "{tries}: {age_s} {last_s}");
            if *tries > 2 { vec![(MS, request.good())] } else { vec![] }
        });
        let counts = played.counts();
        assert_eq!((counts[0].on_time, counts[1].on_time), (50, 50));
        assert_eq!(
            played.traffic.accounts.each_ref().map(|account| account.resent),
            [100, 100, 0, 0]
        );
        assert_eq!(played.sent.len(), 300);
    }
}

#[test]
fn what_is_sent_before_the_run_is_not_counted() {
    use dhcp_load::perfdhcp::traffic::Traffic;
    let mut traffic = Traffic::new(dialect(9), personas(9), rules(1));
    traffic.starts_at(0);
    let mut buffer = [0; 400];
    let outgoing = traffic.begin(0, &mut buffer, false).unwrap();
    traffic.left(outgoing.number, 0);
    let answer = Request { octets: &buffer[..outgoing.len] }.good();
    assert_eq!(traffic.answer(MS, &answer, &mut buffer), None);
    assert_eq!((traffic.preloaded, traffic.is_settled()), ([1, 1], true));
    traffic.finish(9_000 * MS);
    assert_eq!(Counts::of(&traffic.accounts[0]), Counts::default());
}
