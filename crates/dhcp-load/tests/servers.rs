//! Servers that behave and misbehave, on virtual time, each with the exact ledger that it must
//! produce: on time, late, lost, NAK, invalid, wrong client, duplicate-answered.

use std::net::Ipv4Addr;

use crate::common::{Dhcp4TestRequest, FIXED, MS, RELAY, VirtualRunOutcome, play, play_as};
use base::Random;
use dhcp_load::Expect;
use dhcp_load::fault::ReplyFault;
use dhcp_load::v4::answer::kind;
use dhcp_load::v4::protocol::RelayedMessages;
use load::ExchangeClass;

/// Plays 100 exchanges within one second.
fn hundred(server: impl FnMut(&Dhcp4TestRequest<'_>) -> Vec<(u64, Vec<u8>)>) -> VirtualRunOutcome {
    play(100.0, 1_000 * MS, server)
}

#[test]
fn a_good_server_completes_everything_and_nobody_waits_for_nothing() {
    let outcome = hundred(|request| vec![(3 * MS, request.good())]);
    assert_eq!(outcome.classes(), [100, 0, 0, 0, 0, 0, 0]);
    assert_eq!((outcome.ledger.due(), outcome.ledger.sent()), (100, 100));
    let latency = outcome.ledger.latency_due();
    assert_eq!((latency.min(), latency.max()), (Some(6 * MS), Some(6 * MS)));
    assert_eq!((outcome.leases.leased, outcome.leases.conflicts), (100, 0));
    assert_eq!(outcome.requests[&kind::REQUEST], 100);
    // The last exchange came due at 990 ms.
    assert_eq!(outcome.took_ns, 996 * MS);
}

#[test]
fn a_server_that_delays_everything_by_two_and_a_half_seconds_is_late_altogether() {
    let outcome = hundred(|request| vec![(2_500 * MS, request.good())]);
    assert_eq!(outcome.classes(), [0, 100, 0, 0, 0, 0, 0]);
    assert_eq!(outcome.requests.get(&kind::REQUEST), None, "nothing is sent for the late");
    let latency = outcome.ledger.latency_due();
    assert_eq!(
        (latency.count(), latency.min()),
        (100, Some(2_500 * MS)),
        "late, and known how late"
    );
}

#[test]
fn the_deadline_counts_for_the_whole_exchange_and_to_the_nanosecond() {
    let exact = hundred(|request| vec![(1_000 * MS, request.good())]);
    assert_eq!(exact.classes(), [100, 0, 0, 0, 0, 0, 0]);
    let over = hundred(|request| {
        vec![(1_000 * MS + u64::from(request.kind() == kind::REQUEST), request.good())]
    });
    assert_eq!(over.classes(), [0, 100, 0, 0, 0, 0, 0]);
    assert_eq!(over.leases.leased, 100, "late leases are leases");
}

#[test]
fn a_server_that_stops_answering_loses_what_comes_after() {
    let mut answers = 0;
    let outcome = hundred(|request| {
        answers += 1;
        if answers <= 100 { vec![(MS, request.good())] } else { Vec::new() }
    });
    assert_eq!(outcome.classes(), [50, 0, 50, 0, 0, 0, 0]);
    assert_eq!((outcome.tally.lost_before_offer, outcome.tally.lost_before_grant), (50, 0));
    assert_eq!(outcome.unanswered(), [[50, 0], [0, 0], [0, 0], [0, 0], [0, 0]]);
    // The exchanges are lost for good when the deadline and the grace of the last one are over.
    assert!((4_990 * MS..=5_010 * MS).contains(&outcome.took_ns), "{}", outcome.took_ns);
    let outcome = hundred(|request| {
        let is_discover = request.kind() == kind::DISCOVER;
        if is_discover { vec![(MS, request.good())] } else { Vec::new() }
    });
    assert_eq!(outcome.classes(), [0, 0, 100, 0, 0, 0, 0]);
    assert_eq!(outcome.tally.lost_before_grant, 100);
    assert_eq!(outcome.unanswered()[0], [0, 100]);
}

#[test]
fn an_answer_after_the_grace_is_unmatched_and_the_exchange_lost() {
    let outcome = hundred(|request| vec![(4_020 * MS, request.good())]);
    assert_eq!(outcome.classes(), [0, 0, 100, 0, 0, 0, 0]);
    // The run ends when the last exchange is lost; replies still on their way are not awaited.
    assert!((90..=100).contains(&outcome.tally.unmatched), "{}", outcome.tally.unmatched);
}

#[test]
fn a_refusal_is_a_nak_whenever_it_comes() {
    for delay_ns in [MS, 2_500 * MS] {
        let outcome = hundred(|request| match request.kind() {
            kind::DISCOVER => vec![(MS, request.good())],
            _ => vec![(delay_ns, request.answer(kind::NAK, Ipv4Addr::UNSPECIFIED))],
        });
        assert_eq!(outcome.classes(), [0, 0, 0, 100, 0, 0, 0]);
        assert_eq!(outcome.leases.leased, 0);
        let rejected: u64 =
            outcome.rejected().iter().map(|[_, instead_of_ack]| instead_of_ack).sum();
        assert_eq!((rejected, outcome.tally.refused_grants), (100, 100));
    }
}

#[test]
fn answers_that_break_the_protocol_are_invalid_by_their_fault() {
    type Spoil = fn(&Dhcp4TestRequest<'_>, Vec<u8>) -> Vec<u8>;
    let cut = |octets: Vec<u8>, code: u8| {
        let mut rest = octets;
        let at = (FIXED..).find(|&at| rest[at] == code && rest[at + 1] == 4).unwrap();
        rest.drain(at..at + 6);
        rest
    };
    let cut: fn(Vec<u8>, u8) -> Vec<u8> = cut;
    let faults: [(ReplyFault, Spoil); 6] = [
        (ReplyFault::Op, |_, mut octets| {
            octets[0] = 1;
            octets
        }),
        (ReplyFault::Hardware, |_, mut octets| {
            octets[1] = 6;
            octets
        }),
        (ReplyFault::Relay, |_, mut octets| {
            octets[27] ^= 1;
            octets
        }),
        (ReplyFault::Kind, |request, _| request.answer(4, request.own_address())),
        (ReplyFault::NoAddress, |_, mut octets| {
            octets[16..20].fill(0);
            octets
        }),
        (ReplyFault::Kind, |request, octets| match request.kind() {
            kind::DISCOVER => request.answer(kind::ACK, request.own_address()),
            _ => octets,
        }),
    ];
    for (fault, spoil) in faults {
        for stage in [kind::DISCOVER, kind::REQUEST] {
            let outcome = hundred(|request| {
                let good = request.good();
                vec![(MS, if request.kind() == stage { spoil(request, good) } else { good })]
            });
            if fault == ReplyFault::Kind && outcome.classes()[0] == 100 {
                // An ACK is wrong for a DISCOVER only.
                assert_eq!(stage, kind::REQUEST);
                continue;
            }
            assert_eq!(outcome.classes(), [0, 0, 0, 0, 100, 0, 0], "{fault:?} {stage}");
            assert_eq!(outcome.tally.faults[fault.index()], 100, "{fault:?} {stage}");
        }
    }
    for (fault, code) in [(ReplyFault::NoServer, 54), (ReplyFault::NoLeaseTime, 51)] {
        let outcome = hundred(|request| vec![(MS, cut(request.good(), code))]);
        assert_eq!(outcome.classes(), [0, 0, 0, 0, 100, 0, 0]);
        assert_eq!(outcome.tally.faults[fault.index()], 100);
    }
}

#[test]
fn an_ack_must_be_for_what_was_offered() {
    let moved = hundred(|request| match request.kind() {
        kind::DISCOVER => vec![(MS, request.good())],
        _ => vec![(MS, request.answer(kind::ACK, Ipv4Addr::new(10, 1, 1, 1)))],
    });
    assert_eq!(moved.classes(), [0, 0, 0, 0, 100, 0, 0]);
    assert_eq!(moved.tally.faults[ReplyFault::AddressChanged.index()], 100);
    let spoofed = hundred(|request| {
        let mut good = request.good();
        if request.kind() == kind::REQUEST {
            good[FIXED + 8] ^= 1;
        }
        vec![(MS, good)]
    });
    assert_eq!(spoofed.classes(), [0, 0, 0, 0, 100, 0, 0]);
    assert_eq!(spoofed.tally.faults[ReplyFault::ServerChanged.index()], 100);
}

#[test]
fn an_answer_for_another_client_is_told_by_chaddr_and_by_client_identifier() {
    for (at, stage) in [(33, 1), (33, 3), (FIXED + 23, 1), (FIXED + 23, 3)] {
        let outcome = hundred(|request| {
            let mut good = request.good();
            good[at] ^= u8::from(request.kind() == stage);
            vec![(MS, good)]
        });
        assert_eq!(outcome.classes(), [0, 0, 0, 0, 0, 100, 0], "{at} {stage}");
    }
}

#[test]
fn a_message_answered_twice_spoils_an_exchange_that_was_on_time_and_no_other() {
    for twice in [kind::DISCOVER, kind::REQUEST] {
        for again_ns in [MS, 2 * MS, 500 * MS] {
            let outcome = play(1_000.0, 1_000 * MS, |request| {
                let mut answers = vec![(MS, request.good())];
                if request.kind() == twice && request.client().is_multiple_of(2) {
                    answers.push((again_ns, request.good()));
                }
                answers
            });
            // The run does not wait for the second replies to the last exchanges.
            let missed = again_ns.saturating_sub(2 * MS) / (2 * MS);
            let spoiled = 500 - missed;
            let counted = outcome.classes()[ExchangeClass::DuplicateAnswered.index()];
            assert!(counted.abs_diff(spoiled) <= 1, "{counted} {spoiled} {twice} {again_ns}");
            assert_eq!(outcome.classes()[0], 1_000 - counted);
            assert_eq!(outcome.ledger.latency_due().count(), 1_000);
            assert_eq!(outcome.requests[&kind::REQUEST], 1_000, "one for each exchange");
        }
    }
    let refused_twice = hundred(|request| match request.kind() {
        kind::DISCOVER => vec![(MS, request.good())],
        _ => vec![(MS, request.answer(kind::NAK, Ipv4Addr::UNSPECIFIED)), (MS, request.good())],
    });
    assert_eq!(refused_twice.classes(), [0, 0, 0, 100, 0, 0, 0]);
    assert_eq!(refused_twice.tally.repeated, 100);
}

#[test]
fn strangers_and_garbage_are_counted_and_change_nothing() {
    let outcome = hundred(|request| {
        let good = request.good();
        let mut stranger = good.clone();
        stranger[4] ^= 0x80;
        let not_begun = {
            let mut octets = good.clone();
            let xid = u32::from_be_bytes(octets[4..8].try_into().unwrap()).wrapping_add(1);
            octets[4..8].copy_from_slice(&xid.to_be_bytes());
            octets
        };
        vec![(0, vec![7; 50]), (0, Vec::new()), (0, stranger), (0, not_begun), (MS, good)]
    });
    assert_eq!(outcome.classes(), [100, 0, 0, 0, 0, 0, 0]);
    assert_eq!((outcome.tally.malformed, outcome.tally.unmatched), (400, 400));
    let wrong_xid = hundred(|request| {
        let mut octets = request.good();
        octets[5] ^= 1;
        vec![(MS, octets)]
    });
    assert_eq!(wrong_xid.classes(), [0, 0, 100, 0, 0, 0, 0]);
}

#[test]
fn one_address_for_two_clients_is_a_conflict() {
    let outcome = hundred(|request| {
        let address = Ipv4Addr::from(0x0a80_0000 + request.client() / 2);
        let kind = if request.kind() == kind::DISCOVER { kind::OFFER } else { kind::ACK };
        vec![(MS, request.answer(kind, address))]
    });
    assert_eq!(outcome.classes(), [100, 0, 0, 0, 0, 0, 0]);
    // Clients 7 to 106: all but the first and the last share an address with their neighbour.
    assert_eq!((outcome.leases.leased, outcome.leases.conflicts), (51, 49));
    assert_eq!(outcome.leases.examples.len(), 10);
    assert_eq!(outcome.leases.examples[0].address, "10.128.0.4");
    assert_eq!(outcome.leases.examples[0].second, "02:67:00:00:00:09");
}

/// Returns true for a renewal, which names its address in `ciaddr` (RFC 2131 section 4.3.2).
fn is_renewal(request: &Dhcp4TestRequest<'_>) -> bool {
    request.octets[12..16] != [0; 4]
}

/// Plays 100 exchanges within one second, of clients that renew their leases at once.
fn renewing(server: impl FnMut(&Dhcp4TestRequest<'_>) -> Vec<(u64, Vec<u8>)>) -> VirtualRunOutcome {
    play_as(RelayedMessages::new(RELAY, Expect::Dhcp).renewing(true), 100.0, 1_000 * MS, server)
}

#[test]
fn a_lease_that_is_renewed_at_once_counts_when_the_renewal_is_acknowledged() {
    let good = renewing(|request| {
        if is_renewal(request) {
            assert_eq!(request.octets[12..16], request.own_address().octets());
        }
        vec![(3 * MS, request.good())]
    });
    assert_eq!(good.classes(), [100, 0, 0, 0, 0, 0, 0]);
    assert_eq!(good.requests[&kind::REQUEST], 200);
    let tally = good.tally;
    assert_eq!((tally.offers, tally.renewed, tally.grants), (100, 100, 100));
    assert_eq!((good.leases.leased, good.leases.conflicts), (100, 0));
    let latency = good.ledger.latency_due();
    assert_eq!((latency.min(), latency.max()), (Some(9 * MS), Some(9 * MS)));

    let silent =
        renewing(
            |request| {
                if is_renewal(request) { Vec::new() } else { vec![(MS, request.good())] }
            },
        );
    assert_eq!(silent.classes(), [0, 0, 100, 0, 0, 0, 0]);
    assert_eq!((silent.tally.lost_before_grant, silent.leases.leased), (100, 100));

    // A repetition of the first grant is no grant of the renewal.
    let repeated = renewing(|request| match (request.kind(), is_renewal(request)) {
        (kind::REQUEST, false) => vec![(MS, request.good()), (2 * MS, request.good())],
        (_, true) => Vec::new(),
        _ => vec![(MS, request.good())],
    });
    assert_eq!(repeated.classes(), [0, 0, 100, 0, 0, 0, 0]);
    assert_eq!(repeated.tally.repeated, 100);

    let refused = renewing(|request| {
        let nak = request.answer(kind::NAK, Ipv4Addr::UNSPECIFIED);
        vec![(MS, if is_renewal(request) { nak } else { request.good() })]
    });
    assert_eq!(refused.classes(), [0, 0, 0, 100, 0, 0, 0]);

    let moved = renewing(|request| {
        let other = request.answer(kind::ACK, Ipv4Addr::new(10, 1, 1, 1));
        vec![(MS, if is_renewal(request) { other } else { request.good() })]
    });
    assert_eq!(moved.tally.faults[ReplyFault::AddressChanged.index()], 100);

    // No client has requested a renewal yet.
    let early = renewing(|request| {
        let mut octets = request.good();
        octets[4] |= 0x80;
        vec![(MS, octets)]
    });
    assert_eq!((early.classes()[2], early.tally.unmatched), (100, 100));

    let late = renewing(|request| vec![(900 * MS, request.good())]);
    assert_eq!(late.classes(), [0, 100, 0, 0, 0, 0, 0]);
}

/// Every exchange ends in exactly one class, for any behaviour of the server.
#[test]
fn every_exchange_ends_once_under_any_server() {
    for seed in 0..60 {
        let mut random = Random::from_seed(seed);
        let outcome = play(2_000.0, 1_000 * MS, |request| {
            let mut answers = Vec::new();
            while random.chance(9, 10) && answers.len() < 3 {
                let mut octets = if random.chance(1, 10) {
                    request.answer(random.below(9) as u8, RELAY)
                } else {
                    request.good()
                };
                if random.chance(1, 10) {
                    let at = random.below(octets.len() as u64) as usize;
                    octets[at] = random.next_u32() as u8;
                }
                answers.push((random.next_u64() >> (31 + random.below(30)), octets));
            }
            answers
        });
        assert_eq!(outcome.classes().iter().sum::<u64>(), 2_000, "seed {seed}");
        assert!(outcome.classes().iter().all(|&count| count > 0), "{:?}", outcome.classes());
        let [on_time, late, .., twice] = outcome.classes();
        assert_eq!(outcome.ledger.latency_due().count(), on_time + late + twice, "seed {seed}");
        assert!(outcome.took_ns <= 5_020 * MS, "seed {seed}: {}", outcome.took_ns);
    }
}
