//! Errors that a DHCPv4 responder can make in one message: a row for each error, at each stage.

use std::net::Ipv4Addr;

use dhcp_load::fault::ReplyFault;
use dhcp_load::perfdhcp::dialect::ExchangeKind;
use dhcp_load::perfdhcp::dialect4::Dialect4;
use dhcp_load::perfdhcp::ending::PerfdhcpRunEnd;
use dhcp_load::v4::answer::kind;

use crate::common::{Dhcp4TestRequest, FIXED, MS};
use crate::perfdhcp::v4::{dialect, kind_of};
use crate::perfdhcp::world::{
    DEADLINE_NS, ExchangeLoad, Ledger, VirtualPerfdhcpRun, failed, play, rules,
};

/// Error of a responder in one request in three of a kind, which also enters the error's class into
/// its ledger.
type Fault4 = fn(&Dhcp4TestRequest<'_>, &mut Ledger, usize) -> Vec<(u64, Vec<u8>)>;

/// Removes an option of four bytes.
fn without(mut octets: Vec<u8>, code: u8) -> Vec<u8> {
    let at = (FIXED..).find(|&at| octets[at] == code && octets[at + 1] == 4).unwrap();
    octets.drain(at..at + 6);
    octets
}

/// Removes the last byte of an option of four bytes.
fn shortened(mut octets: Vec<u8>, code: u8) -> Vec<u8> {
    let at = (FIXED..).find(|&at| octets[at] == code && octets[at + 1] == 4).unwrap();
    octets[at + 1] = 3;
    octets.remove(at + 5);
    octets
}

fn changed(mut octets: Vec<u8>, at: usize, by: u8) -> Vec<u8> {
    octets[at] ^= by;
    octets
}

/// Plays 300 exchanges against a server that replies to clients 0, 3, 6 … with `fault` at stage
/// `stage`, and to all other requests well.
fn against(stage: ExchangeKind, fault: Fault4) -> (VirtualPerfdhcpRun<Dialect4>, Ledger) {
    let mut ledger = Ledger::default();
    let played =
        play(dialect(300), 300, rules(9), ExchangeLoad::new(300, 300.0), [0.0; 2], |_, octets| {
            let request = Dhcp4TestRequest { octets };
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

/// Replies that each make an exchange fail in one known way, at either stage.
const FAULTS: [(&str, Fault4); 45] = [
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
    ("no options at all", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, request.good()[..FIXED].to_vec())]
    }),
    ("no message type", |request, ledger, at| {
        ledger[at].invalid += 1;
        let mut octets = request.good();
        octets.drain(FIXED..FIXED + 3);
        vec![(MS, octets)]
    }),
    ("hardware addresses of 16 octets", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, changed(request.good(), 2, 6 ^ 16))]
    }),
    ("server identifier of three octets", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, shortened(request.good(), 54))]
    }),
    ("lease time of three octets", |request, ledger, at| {
        ledger[at].invalid += 1;
        vec![(MS, shortened(request.good(), 51))]
    }),
    ("an option longer than the message", |request, ledger, at| {
        ledger[at].lost += 1;
        ledger[at].malformed += 1;
        let mut octets = request.good();
        octets[FIXED + 4] = 255;
        vec![(MS, octets)]
    }),
    ("hardware address of zeros", |request, ledger, at| {
        ledger[at].wrong_client += 1;
        let mut octets = request.good();
        octets[28..34].fill(0);
        vec![(MS, octets)]
    }),
    ("transaction 0", |request, ledger, at| {
        ledger[at].lost += 1;
        ledger[at].unmatched += 1;
        let mut octets = request.good();
        octets[4..8].fill(0);
        vec![(MS, octets)]
    }),
    ("transaction in the other byte order", |request, ledger, at| {
        ledger[at].lost += 1;
        ledger[at].unmatched += 1;
        let mut octets = request.good();
        octets[4..8].reverse();
        vec![(MS, octets)]
    }),
    ("wrong transaction first, right one second", |request, ledger, at| {
        ledger[at].on_time += 1;
        ledger[at].unmatched += 1;
        vec![(MS, changed(request.good(), 4, 0x40)), (2 * MS, request.good())]
    }),
    ("DHCPNAK first, what was asked for second", |request, ledger, at| {
        ledger[at].refused += 1;
        ledger[at].duplicates += 1;
        let nak = request.answer(kind::NAK, Ipv4Addr::UNSPECIFIED);
        vec![(MS, nak), (2 * MS, request.good())]
    }),
    ("two answers with two addresses", |request, ledger, at| {
        ledger[at].on_time += 1;
        ledger[at].duplicates += 1;
        let other = request.answer(request.good()[FIXED + 2], Ipv4Addr::new(10, 1, 1, 1));
        vec![(MS, request.good()), (2 * MS, other)]
    }),
    ("a hundred answers at once", |request, ledger, at| {
        ledger[at].on_time += 1;
        ledger[at].duplicates += 99;
        vec![(MS, request.good()); 100]
    }),
    ("every answer after another time", |request, ledger, at| {
        ledger[at].on_time += 1;
        vec![(MS * u64::from(request.client() * 7 % 990), request.good())]
    }),
    ("no client identifier, which older servers leave out", |request, ledger, at| {
        ledger[at].on_time += 1;
        let mut octets = request.good();
        octets.drain(FIXED + 15..FIXED + 24);
        vec![(MS, octets)]
    }),
    ("no end option", |request, ledger, at| {
        ledger[at].on_time += 1;
        let mut octets = request.good();
        octets.pop();
        vec![(MS, octets)]
    }),
    ("padding between options", |request, ledger, at| {
        ledger[at].on_time += 1;
        let mut octets = request.good();
        octets.splice(FIXED + 3..FIXED + 3, [0; 9]);
        vec![(MS, octets)]
    }),
    ("options in the field of the boot file", |request, ledger, at| {
        ledger[at].on_time += 1;
        let mut octets = request.good();
        let moved: Vec<u8> = octets.splice(FIXED + 3..FIXED + 15, [52, 1, 1]).collect();
        octets[108..120].copy_from_slice(&moved);
        octets[120] = 255;
        vec![(MS, octets)]
    }),
    ("as long as a frame takes", |request, ledger, at| {
        ledger[at].on_time += 1;
        let mut octets = request.good();
        let long: Vec<u8> =
            (224..228).flat_map(|code| [vec![code, 255], vec![1; 255]].concat()).collect();
        octets.splice(FIXED + 3..FIXED + 3, long);
        vec![(MS, octets)]
    }),
];

const _: () = assert!(FAULTS.len() >= 36, "issue 6 asks for 36 ways at least");

#[test]
fn both_ledgers_and_the_exit_code_are_right_for_every_fault_at_every_stage() {
    for (name, fault) in FAULTS {
        for stage in [ExchangeKind::First, ExchangeKind::Second] {
            let (mut played, ledger) = against(stage, fault);
            assert_eq!(ledger[stage.index()].sent % 50, 0, "{name} {stage:?}");
            assert_eq!(played.counts(), ledger, "{name} at {stage:?}");
            assert!(played.traffic.is_settled());
            assert_eq!(ledger[1].sent, ledger[0].on_time, "a REQUEST for each OFFER in time");
            let fell_short = ledger.iter().any(|counts| failed(counts) > 0);
            let code = if fell_short { 3 } else { 0 };
            assert_eq!(played.ending().code(), code, "{name} at {stage:?}");
        }
    }
}

#[test]
fn what_is_wrong_with_one_stage_only_is_found_there() {
    type Case = (&'static str, ExchangeKind, Fault4, Option<ReplyFault>);
    let cases: [Case; 5] = [
        (
            "an ACK for a DISCOVER",
            ExchangeKind::First,
            |request, ledger, at| {
                ledger[at].invalid += 1;
                vec![(MS, request.answer(kind::ACK, request.own_address()))]
            },
            Some(ReplyFault::Kind),
        ),
        (
            "another address acknowledged than offered",
            ExchangeKind::Second,
            |request, ledger, at| {
                ledger[at].invalid += 1;
                vec![(MS, request.answer(kind::ACK, Ipv4Addr::new(10, 1, 1, 1)))]
            },
            Some(ReplyFault::AddressChanged),
        ),
        (
            "acknowledged by another server",
            ExchangeKind::Second,
            |request, ledger, at| {
                ledger[at].invalid += 1;
                vec![(MS, changed(request.good(), FIXED + 8, 1))]
            },
            Some(ReplyFault::ServerChanged),
        ),
        (
            "the OFFER once more instead of an ACK",
            ExchangeKind::Second,
            |request, ledger, at| {
                ledger[at].lost += 1;
                ledger[ExchangeKind::First.index()].duplicates += 1;
                vec![(MS, request.answer(kind::OFFER, request.own_address()))]
            },
            None,
        ),
        (
            "a DHCPNAK after the ACK",
            ExchangeKind::Second,
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
fn one_address_for_two_clients_names_both_and_fails_the_run() {
    let address = |client: u32| Ipv4Addr::from(0x0a00_0000 + client / 2);
    let mut played =
        play(dialect(100), 100, rules(1), ExchangeLoad::new(100, 100.0), [0.0; 2], |_, octets| {
            let request = Dhcp4TestRequest { octets };
            let kind = if request.kind() == kind::DISCOVER { kind::OFFER } else { kind::ACK };
            vec![(MS, request.answer(kind, address(request.client())))]
        });
    assert_eq!(played.counts()[1].on_time, 100);
    assert_eq!((played.ending(), played.ending().code()), (PerfdhcpRunEnd::FellShort, 3));
    let summary =
        played.traffic.leases[0].summarize_with(played.end_ns, 0, |owner| owner.to_string());
    assert_eq!((summary.leased, summary.conflicts), (50, 50));
    assert_eq!((&*summary.examples[0].first, &*summary.examples[0].second), ("0", "1"));
}
