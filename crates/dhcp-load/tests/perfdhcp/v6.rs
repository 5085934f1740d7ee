//! Tests with DHCPv6 responders.

use base::Random;
use dhcp_load::fault::{ReplyFault, ServerRefusal};
use dhcp_load::perfdhcp::dialect::ExchangeKind;
use dhcp_load::perfdhcp::dialect6::Dialect6;
use dhcp_load::perfdhcp::rules::RequestRules;
use dhcp_load::v6::RequestedAssociations;
use dhcp_load::v6::answer::kind;
use dhcp_load::v6::template::Dhcp6MessageExtras;

use crate::common::MS;
use crate::common::v6::{self as server, Dhcp6TestReply, Dhcp6TestRequest};
use crate::perfdhcp::world::{ExchangeLoad, Ledger, VirtualPerfdhcpRun, personas, play, rules};

const BOTH: RequestedAssociations =
    RequestedAssociations { na: true, pd: true, ias: 1, rapid_commit: false };

pub(crate) fn dialect(clients: u32, ask: RequestedAssociations) -> Dialect6 {
    Dialect6::new(
        personas(clients),
        server::LINKS[..1].to_vec(),
        ask,
        Dhcp6MessageExtras::default(),
        false,
    )
}

fn kind_of(request: &Dhcp6TestRequest<'_>) -> ExchangeKind {
    match request.kind() {
        kind::SOLICIT => ExchangeKind::First,
        kind::REQUEST => ExchangeKind::Second,
        kind::RENEW => ExchangeKind::Renewal,
        _ => ExchangeKind::Release,
    }
}

/// Function that spoils a good reply, and enters the resulting class into the ledger.
type Fault6 = fn(&mut Dhcp6TestReply, &mut Ledger, usize);

fn against(
    stage: ExchangeKind,
    ask: RequestedAssociations,
    fault: Fault6,
) -> (VirtualPerfdhcpRun<Dialect6>, Ledger) {
    let mut ledger = Ledger::default();
    let played = play(
        dialect(300, ask),
        300,
        rules(9),
        ExchangeLoad::new(300, 300.0),
        [0.0; 2],
        |_, octets| {
            let request = Dhcp6TestRequest { octets };
            let index = kind_of(&request).index();
            ledger[index].sent += 1;
            let mut reply = request.good();
            if index == stage.index() && request.client().is_multiple_of(3) {
                fault(&mut reply, &mut ledger, index);
            } else {
                ledger[index].on_time += 1;
            }
            vec![(MS, reply.octets())]
        },
    );
    (played, ledger)
}

#[test]
fn every_refusal_is_counted_by_its_status_at_both_stages() {
    for stage in [ExchangeKind::First, ExchangeKind::Second] {
        let faults: [(ServerRefusal, Fault6); 8] = [
            (ServerRefusal::UnspecFail, |reply, _, _| reply.status = Some(1)),
            (ServerRefusal::NoAddrsAvail, |reply, _, _| reply.status = Some(2)),
            (ServerRefusal::NoBinding, |reply, _, _| reply.status = Some(3)),
            (ServerRefusal::NotOnLink, |reply, _, _| reply.status = Some(4)),
            (ServerRefusal::UseMulticast, |reply, _, _| reply.status = Some(5)),
            (ServerRefusal::OtherStatus, |reply, _, _| reply.status = Some(77)),
            (ServerRefusal::NoAddrsAvail, |reply, _, _| {
                reply.ias[0].leases.clear();
                reply.ias[0].status = Some(2);
            }),
            (ServerRefusal::NoPrefixAvail, |reply, _, _| {
                reply.ias[1].leases.clear();
                reply.ias[1].status = Some(6);
            }),
        ];
        for (refusal, fault) in faults {
            let (played, mut ledger) = against(stage, BOTH, fault);
            ledger[stage.index()].refused += 100;
            assert_eq!(played.counts(), ledger, "{refusal:?} {stage:?}");
            let account = &played.traffic.accounts[stage.index()];
            assert_eq!((account.refusals[refusal.index()], account.rejected()), (100, 100));
        }
    }
}

#[test]
fn answers_that_break_the_protocol_are_told_apart_at_both_stages() {
    for stage in [ExchangeKind::First, ExchangeKind::Second] {
        let faults: [(ReplyFault, Fault6); 9] = [
            (ReplyFault::NoServer, |reply, _, _| reply.server_id = None),
            (ReplyFault::NoClient, |reply, _, _| reply.client_id = None),
            (ReplyFault::Kind, |reply, _, _| reply.kind = 10),
            (ReplyFault::NoAddress, |reply, _, _| reply.ias[0].leases.clear()),
            (ReplyFault::NoAddress, |reply, _, _| drop(reply.ias.pop())),
            (ReplyFault::Association, |reply, _, _| reply.ias[0].iaid = 9),
            (ReplyFault::Timers, |reply, _, _| reply.ias[0].t1_s = reply.ias[0].t2_s + 1),
            (ReplyFault::Lifetimes, |reply, _, _| {
                reply.ias[0].leases[0].preferred_s = reply.ias[0].leases[0].valid_s + 1;
            }),
            (ReplyFault::Relay, |reply, _, _| reply.relay[5] ^= 1),
        ];
        for (fault, spoil) in faults {
            let (played, mut ledger) = against(stage, BOTH, spoil);
            ledger[stage.index()].invalid += 100;
            assert_eq!(played.counts(), ledger, "{fault:?} {stage:?}");
            let faults = played.traffic.accounts[stage.index()].faults;
            assert_eq!(faults[fault.index()], 100, "{fault:?} {stage:?}");
        }
    }
}

#[test]
fn strangers_and_mistaken_numbers_are_no_answers() {
    let cases: [(ExchangeKind, Fault6); 4] = [
        (ExchangeKind::First, |reply, ledger, at| {
            reply.client_id.as_mut().unwrap()[13] ^= 1;
            ledger[at].wrong_client += 1;
        }),
        (ExchangeKind::Second, |reply, ledger, at| {
            reply.relay[33] ^= 1;
            ledger[at].wrong_client += 1;
        }),
        (ExchangeKind::Second, |reply, ledger, at| {
            // This is the SOLICIT's number, which already has its reply.
            reply.xid &= !7;
            ledger[ExchangeKind::First.index()].duplicates += 1;
            ledger[at].lost += 1;
        }),
        (ExchangeKind::Second, |reply, ledger, at| {
            reply.xid ^= 0x80_0000;
            ledger[at].lost += 1;
            ledger[at].unmatched += 1;
        }),
    ];
    for (stage, fault) in cases {
        let (played, ledger) = against(stage, BOTH, fault);
        assert_eq!(played.counts(), ledger, "{stage:?}");
    }
}

#[test]
fn a_cut_answer_is_malformed_and_its_request_lost() {
    let mut ledger = Ledger::default();
    let mut random = Random::from_seed(8);
    let played = play(
        dialect(300, BOTH),
        300,
        rules(9),
        ExchangeLoad::new(300, 300.0),
        [0.0; 2],
        |_, octets| {
            let request = Dhcp6TestRequest { octets };
            let counts = &mut ledger[kind_of(&request).index()];
            counts.sent += 1;
            let mut reply = request.good().octets();
            if random.chance(1, 3) {
                counts.lost += 1;
                // The cut is after the transaction identifier.
                reply.truncate(
                    server::RELAY_LEN + 4 + random.below(reply.len() as u64 - 50) as usize,
                );
                counts.malformed += 1;
            } else {
                counts.on_time += 1;
            }
            vec![(MS, reply)]
        },
    );
    assert_eq!(played.counts(), ledger);
    assert!(ledger[0].lost > 50 && ledger[1].lost > 30, "{ledger:?}");
}

#[test]
fn with_rapid_commit_the_first_exchange_is_the_whole() {
    let ask = RequestedAssociations { rapid_commit: true, ..RequestedAssociations::ADDRESS };
    let rules = RequestRules { is_offer_only: true, ..rules(5) };
    let mut played = play(
        dialect(100, ask),
        100,
        rules,
        ExchangeLoad::new(100, 100.0),
        [0.0; 2],
        |_, octets| vec![(MS, Dhcp6TestRequest { octets }.rapid().octets())],
    );
    let counts = played.counts();
    assert_eq!((counts[0].on_time, counts[1].sent), (100, 0));
    assert_eq!(played.traffic.leases[0].summarize(played.end_ns).leased, 100);
}

#[test]
fn leases_are_renewed_and_given_back_to_their_server() {
    let mut ledger = Ledger::default();
    let rules = RequestRules { keeps_leases: true, ..rules(6) };
    let mut played = play(
        dialect(400, BOTH),
        400,
        rules,
        ExchangeLoad::new(400, 200.0),
        [50.0, 20.0],
        |_, octets| {
            let request = Dhcp6TestRequest { octets };
            let kind = kind_of(&request);
            let counts = &mut ledger[kind.index()];
            counts.sent += 1;
            let mut reply = request.good();
            match kind {
                ExchangeKind::Release if counts.sent.is_multiple_of(3) => {
                    counts.refused += 1;
                    reply.status = Some(3);
                    reply.ias.clear();
                }
                ExchangeKind::Release => {
                    counts.on_time += 1;
                    reply.status = Some(0);
                    reply.ias.clear();
                }
                ExchangeKind::Renewal if counts.sent.is_multiple_of(5) => {
                    counts.refused += 1;
                    reply.ias[1].status = Some(3);
                    reply.ias[1].leases.clear();
                }
                _ => counts.on_time += 1,
            }
            vec![(MS, reply.octets())]
        },
    );
    assert_eq!(played.counts(), ledger);
    assert!(ledger[2].sent > 90 && ledger[3].sent > 35, "{ledger:?}");
    assert_eq!(played.traffic.leases[0].summarize(played.end_ns).conflicts, 0);
}

/// Identifiers repeat after 2,097,152 exchanges, with 21 bits for the number.
#[test]
fn answers_of_the_round_before_are_strangers() {
    let seed = (1..)
        .find(|&seed| {
            let base = dhcp_load::identities::ExchangeIdentities::xid_base_of(seed);
            base & 0x1f_ffff > 0x1f_ffff - 100
        })
        .unwrap();
    let mut ledger = Ledger::default();
    let mut first = None;
    let play = play(
        dialect(300, BOTH),
        300,
        rules(seed),
        ExchangeLoad::new(300, 300.0),
        [0.0; 2],
        |_, octets| {
            let request = Dhcp6TestRequest { octets };
            let counts = &mut ledger[kind_of(&request).index()];
            counts.sent += 1;
            counts.on_time += 1;
            let good = request.good();
            let first = *first.get_or_insert(good.xid);
            let mut old = good.clone();
            // The generator has not used the number before the first one in this round.
            old.xid = first.wrapping_sub(8) & 0xff_ffff;
            old.kind = kind::ADVERTISE;
            ledger[0].unmatched += 1;
            vec![(0, old.octets()), (MS, good.octets())]
        },
    );
    assert_eq!(play.counts(), ledger);
    assert_eq!(ledger[1].on_time, 300);
    let numbers: Vec<u8> = play.sent.iter().map(|octets| octets[server::RELAY_LEN + 1]).collect();
    assert!(numbers.contains(&0xff) && numbers.contains(&0), "the identifiers wrapped");
}
