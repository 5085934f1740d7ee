//! DHCPv6 servers that behave and misbehave, on virtual time, each with the exact ledger that it
//! must produce. The test of DHCPv4 has the cases that both families share.

use std::net::Ipv6Addr;

use crate::common::v6::{
    Dhcp6TestReply, Dhcp6TestRequest, LINKS, TestIaLease, hundred, hundred_of, relayed,
};
use crate::common::{MS, play_world};
use base::Random;
use dhcp_load::fault::{ReplyFault, ServerRefusal};
use dhcp_load::v6::RequestedAssociations;
use dhcp_load::v6::answer::kind;

const BOTH: RequestedAssociations =
    RequestedAssociations { na: true, pd: true, ias: 1, rapid_commit: false };
const RAPID: RequestedAssociations =
    RequestedAssociations { rapid_commit: true, ..RequestedAssociations::ADDRESS };

#[test]
fn a_good_server_completes_everything_that_is_asked_for() {
    let prefix = RequestedAssociations { na: false, pd: true, ..BOTH };
    let asks = [
        (RequestedAssociations::ADDRESS, 1),
        (prefix, 1),
        (BOTH, 2),
        (RequestedAssociations { ias: 8, ..BOTH }, 16),
    ];
    for (ask, leases) in asks {
        let outcome = hundred(ask, |request| {
            assert_eq!(request.link(), LINKS[request.client() as usize % 2]);
            vec![(3 * MS, request.good().octets())]
        });
        assert_eq!(outcome.classes(), [100, 0, 0, 0, 0, 0, 0], "{:?}", outcome.tally);
        assert_eq!((outcome.leases.leased, outcome.leases.conflicts), (100 * leases, 0));
        assert_eq!((outcome.tally.offers, outcome.tally.grants), (100, 100));
        assert_eq!((outcome.tally.moved, outcome.tally.unmatched), (0, 0));
        assert_eq!(outcome.requests[&kind::REQUEST], 100);
        let latency = outcome.ledger.latency_due();
        assert_eq!((latency.min(), latency.max()), (Some(6 * MS), Some(6 * MS)));
    }
}

#[test]
fn a_lease_that_is_renewed_at_once_counts_when_the_renewal_is_answered() {
    for ask in [RequestedAssociations::ADDRESS, BOTH, RAPID] {
        let clients = || relayed(ask).renewing(true);
        let good = hundred_of(clients(), |request| vec![(3 * MS, request.rapid().octets())]);
        assert_eq!(good.classes(), [100, 0, 0, 0, 0, 0, 0], "{:?}", good.tally);
        assert_eq!(good.requests[&kind::RENEW], 100);
        assert_eq!((good.tally.renewed, good.tally.grants), (100, 100));
        let each = u64::from(ask.addresses() + ask.prefixes());
        assert_eq!((good.leases.leased, good.leases.conflicts), (100 * each, 0));

        let silent = hundred_of(clients(), |request| match request.kind() {
            kind::RENEW => Vec::new(),
            _ => vec![(MS, request.rapid().octets()), (2 * MS, request.rapid().octets())],
        });
        assert_eq!(silent.classes(), [0, 0, 100, 0, 0, 0, 0], "{:?}", silent.tally);

        let refused = hundred_of(clients(), |request| {
            let mut reply = request.rapid();
            if request.kind() == kind::RENEW {
                reply.status = Some(3);
            }
            vec![(MS, reply.octets())]
        });
        assert_eq!(refused.classes(), [0, 0, 0, 100, 0, 0, 0], "{:?}", refused.tally);

        // No client has requested a renewal yet.
        let early = hundred_of(clients(), |request| {
            let mut reply = request.rapid();
            reply.xid |= 1 << 23;
            vec![(MS, reply.octets())]
        });
        assert_eq!((early.classes()[2], early.tally.unmatched), (100, 100));
    }
}

#[test]
fn rapid_commit_ends_an_exchange_with_two_messages_where_both_sides_want_it() {
    let both_want = hundred(RAPID, |request| vec![(MS, request.rapid().octets())]);
    assert_eq!(both_want.classes(), [100, 0, 0, 0, 0, 0, 0]);
    assert_eq!((both_want.requests.get(&kind::REQUEST), both_want.leases.leased), (None, 100));
    let client_wants = hundred(RAPID, |request| vec![(MS, request.good().octets())]);
    assert_eq!(client_wants.classes(), [100, 0, 0, 0, 0, 0, 0]);
    assert_eq!(client_wants.requests[&kind::REQUEST], 100);
    // A REPLY to a SOLICIT without the option, or without a request for Rapid Commit.
    for (ask, has_option) in [(RAPID, false), (RequestedAssociations::ADDRESS, true)] {
        let outcome = hundred(ask, |request| {
            let mut reply = request.good();
            (reply.kind, reply.rapid) = (kind::REPLY, has_option);
            vec![(MS, reply.octets())]
        });
        assert_eq!(outcome.classes(), [0, 0, 0, 0, 100, 0, 0]);
        assert_eq!(outcome.tally.faults[ReplyFault::Kind.index()], 100);
    }
}

#[test]
fn refusals_are_counted_by_their_status_wherever_it_stands() {
    for status in [1, 2, 3, 4, 5, 6, 9] {
        for stage in [kind::SOLICIT, kind::REQUEST] {
            for in_message in [false, true] {
                let outcome = hundred(RequestedAssociations::ADDRESS, |request| {
                    let mut reply = request.good();
                    if request.kind() == stage && in_message {
                        (reply.status, reply.ias) = (Some(status), Vec::new());
                    } else if request.kind() == stage {
                        (reply.ias[0].status, reply.ias[0].leases) = (Some(status), Vec::new());
                    }
                    vec![(MS, reply.octets())]
                });
                assert_eq!(outcome.classes(), [0, 0, 0, 100, 0, 0, 0], "{status} {stage}");
                let how = ServerRefusal::from_status(status).unwrap();
                assert_eq!(outcome.tally.refusals[how.index()], 100);
                assert_eq!(outcome.leases.leased, 0);
            }
        }
    }
    let success = hundred(BOTH, |request| {
        let mut reply = request.good();
        reply.status = Some(0);
        reply.ias[0].status = Some(0);
        vec![(MS, reply.octets())]
    });
    assert_eq!(success.classes(), [100, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_pool_that_runs_out_is_seen_in_that_second_by_the_exchange_that_is_rejected() {
    let kind_of = |octets: &[u8]| Dhcp6TestRequest { octets }.kind();
    for (stage, expected) in [
        (kind::SOLICIT, [[0, 0], [49, 0], [100, 0], [1, 0], [0, 0]]),
        (kind::REQUEST, [[0, 0], [0, 48], [0, 100], [0, 2], [0, 0]]),
    ] {
        let mut free = 150;
        // A hundred clients a second; the server refuses those for which nothing is left, after 10
        // ms.
        let outcome = play_world(
            relayed(RequestedAssociations::ADDRESS),
            100.0,
            3_000 * MS,
            kind_of,
            |_, octets| {
                let request = Dhcp6TestRequest { octets };
                let mut reply = request.good();
                if request.kind() == stage {
                    if free == 0 {
                        (reply.ias[0].status, reply.ias[0].leases) = (Some(2), Vec::new());
                    }
                    free -= i32::from(free > 0);
                }
                vec![(10 * MS, reply.octets())]
            },
        );
        assert_eq!(outcome.classes(), [150, 0, 0, 150, 0, 0, 0]);
        assert_eq!(outcome.rejected(), expected);
        assert_eq!(outcome.unanswered(), [[0, 0]; 5]);
    }
}

#[test]
fn what_is_granted_beside_a_refusal_is_a_lease() {
    let outcome = hundred(BOTH, |request| {
        let mut reply = request.good();
        if request.kind() == kind::REQUEST {
            (reply.ias[1].status, reply.ias[1].leases) = (Some(6), Vec::new());
        }
        vec![(MS, reply.octets())]
    });
    assert_eq!(outcome.classes(), [0, 0, 0, 100, 0, 0, 0]);
    assert_eq!(outcome.tally.refusals[ServerRefusal::NoPrefixAvail.index()], 100);
    assert_eq!(outcome.leases.leased, 100, "the addresses");
}

#[test]
fn answers_that_break_the_protocol_are_invalid_by_their_fault() {
    type Spoil = fn(&mut Dhcp6TestReply);
    let faults: [(ReplyFault, Spoil); 16] = [
        (ReplyFault::NoClient, |reply| reply.client_id = None),
        (ReplyFault::NoServer, |reply| reply.server_id = None),
        (ReplyFault::Relay, |reply| reply.relay[2] ^= 1),
        (ReplyFault::Relay, |reply| reply.relay[1] = 1),
        (ReplyFault::Relay, |reply| reply.relay[0] = kind::RELAY_FORW),
        (ReplyFault::Relay, |reply| reply.relay.clear()),
        (ReplyFault::Kind, |reply| reply.kind = 10),
        (ReplyFault::Transaction, |reply| reply.xid ^= 1),
        (ReplyFault::Association, |reply| reply.ias[0].iaid = 2),
        (ReplyFault::Association, |reply| reply.ias[0].iaid = 33),
        (ReplyFault::Association, |reply| reply.ias.push(reply.ias[0].clone())),
        (ReplyFault::NoAddress, |reply| drop(reply.ias.pop())),
        (ReplyFault::NoAddress, |reply| reply.ias[0].leases.clear()),
        (ReplyFault::NoAddress, |reply| {
            let lease = &mut reply.ias[1].leases[0];
            (lease.preferred_s, lease.valid_s) = (0, 0);
        }),
        (ReplyFault::Timers, |reply| reply.ias[0].t1_s = 1_441),
        (ReplyFault::Lifetimes, |reply| reply.ias[1].leases[0].preferred_s = 3_601),
    ];
    for (number, (fault, spoil)) in faults.into_iter().enumerate() {
        for stage in [kind::SOLICIT, kind::REQUEST] {
            let outcome = hundred(BOTH, |request| {
                let mut reply = request.good();
                if request.kind() == stage {
                    spoil(&mut reply);
                }
                vec![(MS, reply.octets())]
            });
            let counts = outcome.classes();
            assert_eq!(counts, [0, 0, 0, 0, 100, 0, 0], "{fault:?} {number} {stage}");
            assert_eq!(outcome.tally.faults[fault.index()], 100, "{fault:?} {number} {stage}");
        }
    }
    let endless = hundred(RequestedAssociations::ADDRESS, |request| {
        let mut reply = request.good();
        reply.ias[0].leases = vec![reply.ias[0].leases[0].clone(); 3];
        vec![(MS, reply.octets())]
    });
    assert_eq!(endless.tally.faults[ReplyFault::TooLong.index()], 100);
    let spoofed = hundred(RequestedAssociations::ADDRESS, |request| {
        let mut reply = request.good();
        if request.kind() == kind::REQUEST {
            reply.server_id.as_mut().unwrap()[10] ^= 1;
        }
        vec![(MS, reply.octets())]
    });
    assert_eq!(spoofed.tally.faults[ReplyFault::ServerChanged.index()], 100);
}

#[test]
fn an_answer_for_another_client_is_told_by_duid_and_by_peer_address() {
    type Spoil = fn(&mut Dhcp6TestReply);
    let spoils: [Spoil; 3] = [
        |reply| reply.relay[33] ^= 1,
        |reply| reply.client_id.as_mut().unwrap()[13] ^= 1,
        |reply| reply.client_id.as_mut().unwrap().truncate(13),
    ];
    for spoil in spoils {
        for stage in [kind::SOLICIT, kind::REQUEST] {
            let outcome = hundred(RequestedAssociations::ADDRESS, |request| {
                let mut reply = request.good();
                if request.kind() == stage {
                    spoil(&mut reply);
                }
                vec![(MS, reply.octets())]
            });
            assert_eq!(outcome.classes(), [0, 0, 0, 0, 0, 100, 0]);
        }
    }
}

#[test]
fn another_transaction_identifier_belongs_to_nobody() {
    let outcome = hundred(RequestedAssociations::ADDRESS, |request| {
        let mut reply = request.good();
        reply.xid ^= 0x80_0000;
        vec![(0, vec![1; 3]), (0, vec![12; 40]), (MS, reply.octets())]
    });
    assert_eq!(outcome.classes(), [0, 0, 100, 0, 0, 0, 0]);
    assert_eq!((outcome.tally.malformed, outcome.tally.unmatched), (200, 100));
}

#[test]
fn a_server_may_grant_something_else_than_it_advertised() {
    let outcome = hundred(BOTH, |request| {
        let mut reply = request.good();
        // Leases in another order are the same leases.
        reply.ias.reverse();
        if request.kind() == kind::REQUEST && request.client().is_multiple_of(2) {
            reply.ias[0].leases[0].prefix_len = 72;
        }
        vec![(MS, reply.octets())]
    });
    assert_eq!(outcome.classes(), [100, 0, 0, 0, 0, 0, 0]);
    assert_eq!(outcome.tally.moved, 50);
    let reversed = hundred(BOTH, |request| {
        let mut reply = request.good();
        if request.kind() == kind::REQUEST {
            reply.ias.reverse();
        }
        vec![(MS, reply.octets())]
    });
    assert_eq!((reversed.classes()[0], reversed.tally.moved), (100, 0));
}

#[test]
fn a_message_answered_twice_spoils_an_exchange() {
    for twice in [kind::SOLICIT, kind::REQUEST] {
        let outcome = hundred(RequestedAssociations::ADDRESS, |request| {
            let mut answers = vec![(MS, request.good().octets())];
            if request.kind() == twice && request.client().is_multiple_of(2) {
                answers.push((MS, request.good().octets()));
            }
            answers
        });
        // The run does not wait for the second reply to the last exchange.
        let spoiled = outcome.classes()[6];
        assert!((49..=50).contains(&spoiled), "{:?}", outcome.classes());
        assert_eq!((outcome.classes()[0], outcome.requests[&kind::REQUEST]), (100 - spoiled, 100));
    }
    // Two servers reply with Rapid Commit: the second grant is superfluous.
    let twice = hundred(RAPID, |request| {
        let mut answers = vec![(MS, request.good().octets())];
        if request.kind() == kind::SOLICIT {
            answers.push((2 * MS - 1, request.rapid().octets()));
        }
        answers
    });
    assert_eq!((twice.classes()[6], twice.tally.repeated), (100, 100));
}

#[test]
fn one_prefix_for_two_clients_is_a_conflict() {
    let outcome = hundred(BOTH, |request| {
        let mut reply = request.good();
        let half = (request.client() / 2) as u16;
        reply.ias[1].leases[0].address = Ipv6Addr::new(0x2001, 0xdb8, 0x9000, half, 0, 0, 0, 0);
        vec![(MS, reply.octets())]
    });
    assert_eq!(outcome.classes(), [100, 0, 0, 0, 0, 0, 0]);
    // Clients 7 to 106: all but the first and the last share a prefix with their neighbour.
    assert_eq!((outcome.leases.leased, outcome.leases.conflicts), (100 + 51, 49));
    assert_eq!(outcome.leases.examples[0].address, "2001:db8:9000:4::/80");
    assert!(outcome.leases.examples[0].second.ends_with(":00:09 IAID 1"));
    // The same address for two associations of one client is one as well.
    let same =
        hundred(RequestedAssociations { ias: 2, ..RequestedAssociations::ADDRESS }, |request| {
            let mut reply = request.good();
            reply.ias[1].leases = reply.ias[0].leases.clone();
            vec![(MS, reply.octets())]
        });
    assert_eq!((same.leases.leased, same.leases.conflicts), (100, 100));
}

/// Every exchange ends in exactly one class, for any behaviour of the server.
#[test]
fn every_exchange_ends_once_under_any_server() {
    let read_kind = |octets: &[u8]| Dhcp6TestRequest { octets }.kind();
    for seed in 0..40 {
        let mut random = Random::from_seed(seed);
        let ask = RequestedAssociations { ias: 2, rapid_commit: seed % 2 == 0, ..BOTH };
        let outcome = play_world(relayed(ask), 2_000.0, 1_000 * MS, read_kind, |_, octets| {
            let request = Dhcp6TestRequest { octets };
            let mut answers = Vec::new();
            while random.chance(9, 10) && answers.len() < 3 {
                let mut reply = if random.chance(1, 2) { request.good() } else { request.rapid() };
                if random.chance(1, 10) {
                    reply.ias[0].status = Some(random.below(8) as u16);
                }
                if random.chance(1, 20) {
                    let address = Ipv6Addr::from(u128::from(random.next_u64()));
                    let more = TestIaLease { address, prefix_len: 64, preferred_s: 0, valid_s: 1 };
                    reply.ias[1].leases.push(more);
                }
                let mut octets = reply.octets();
                if random.chance(1, 10) {
                    let at = random.below(octets.len() as u64) as usize;
                    octets[at] = random.next_u32() as u8;
                }
                octets.truncate(octets.len() - usize::from(random.chance(1, 50)));
                answers.push((random.next_u64() >> (31 + random.below(30)), octets));
            }
            answers
        });
        assert_eq!(outcome.classes().iter().sum::<u64>(), 2_000, "seed {seed}");
        assert!(outcome.classes().iter().all(|&count| count > 0), "{:?}", outcome.classes());
        let sum = |counts: Vec<[u64; 2]>| {
            counts.iter().fold([0, 0], |sum, of| [sum[0] + of[0], sum[1] + of[1]])
        };
        let (rejected, tally) = (sum(outcome.rejected()), outcome.tally);
        assert_eq!(rejected, [tally.refused_offers, tally.refused_grants], "seed {seed}");
        assert_eq!(rejected.iter().sum::<u64>(), outcome.classes()[3], "seed {seed}");
        let lost = [tally.lost_before_offer, tally.lost_before_grant];
        assert_eq!(sum(outcome.unanswered()), lost, "seed {seed}");
        assert_eq!(lost.iter().sum::<u64>(), outcome.classes()[2], "seed {seed}");
        let [on_time, late, .., twice] = outcome.classes();
        assert_eq!(outcome.ledger.latency_due().count(), on_time + late + twice, "seed {seed}");
    }
}
