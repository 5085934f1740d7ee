//! Tests of whole lives of clients on virtual time: every message that they send is due when it
//! should be, and both ledgers are equal, kind by kind.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use base::time::NS_PER_S;
use dhcp_load::perfdhcp::dialect::ExchangeKind;
use dhcp_load::perfdhcp::lifecycle::LifecycleSettings;
use dhcp_load::perfdhcp::part::GeneratorPart;
use dhcp_load::perfdhcp::rules::RequestRules;
use dhcp_load::v4::answer::kind;
use dhcp_load::v6::RequestedAssociations;
use dhcp_load::v6::answer::kind as kind6;

use crate::common::v6 as server;
use crate::common::{Dhcp4TestRequest, FIXED, MS};
use crate::perfdhcp::v4::dialect;
use crate::perfdhcp::v6::dialect as dialect6;
use crate::perfdhcp::world::{ExchangeKindCounts, live, rules};

const HABITS: LifecycleSettings = LifecycleSettings {
    clients: 200,
    speed: 1.0,
    stay_s: Some(6_000.0),
    away_s: 1_500.0,
    releasing_percent: 30,
    informing_percent: 40,
    declining_percent: 10,
};
const INFORM: u8 = 8;
const RELEASE: u8 = 7;
const DECLINE: u8 = 4;

fn populated(seed: u64) -> RequestRules {
    RequestRules { habits: Some(HABITS), ..rules(seed) }
}

/// Returns the value of an option of four bytes.
fn word_of(octets: &[u8], code: u8) -> Option<u32> {
    let mut at = FIXED;
    while octets[at] != 255 {
        if octets[at] == code {
            return Some(u32::from_be_bytes(octets[at + 2..at + 6].try_into().unwrap()));
        }
        at += 2 + usize::from(octets[at + 1]);
    }
    None
}

/// Returns the ACK to an INFORM: no address, no lease time.
fn parameters(request: &Dhcp4TestRequest<'_>) -> Vec<u8> {
    let mut octets = request.answer(kind::ACK, Ipv4Addr::UNSPECIFIED);
    octets.drain(FIXED + 9..FIXED + 15);
    octets
}

/// Returns the kind of a request by a DHCPv4 client that has an address or not and is before T2 or
/// not.
fn kind_v4(request: &Dhcp4TestRequest<'_>, holds: bool, is_before_t2: bool) -> ExchangeKind {
    match request.kind() {
        kind::DISCOVER => ExchangeKind::First,
        kind::REQUEST if holds && is_before_t2 => ExchangeKind::Renewal,
        kind::REQUEST if holds => ExchangeKind::Rebinding,
        kind::REQUEST if word_of(request.octets, 54).is_some() => ExchangeKind::Second,
        kind::REQUEST => ExchangeKind::Reboot,
        INFORM => ExchangeKind::Information,
        RELEASE => ExchangeKind::Release,
        DECLINE => ExchangeKind::Decline,
        other => panic!("message type {other}"),
    }
}

#[test]
fn clients_of_dhcpv4_live_as_rfc_2131_says() {
    // Lease times of 3,600 s; the server sends neither T1 nor T2.
    let (t1_ns, t2_ns, ends_ns) = (1_800 * NS_PER_S, 3_150 * NS_PER_S, 3_600 * NS_PER_S);
    let mut ledger = [ExchangeKindCounts::default(); ExchangeKind::COUNT];
    let mut granted_ns: HashMap<u32, u64> = HashMap::new();
    let mut gaps = Vec::new();
    let until_ns = 8 * 3_600 * NS_PER_S;
    let played = live(dialect(200), populated(3), 20.0, until_ns, |now_ns, octets| {
        let request = Dhcp4TestRequest { octets };
        let client = request.client();
        let holds = octets[12..16] != [0; 4];
        let since_ns = granted_ns.get(&client).map_or(u64::MAX, |granted_ns| now_ns - granted_ns);
        let kind = kind_v4(&request, holds, since_ns < t2_ns);
        let own = u32::from(request.own_address());
        if matches!(
            kind,
            ExchangeKind::Renewal
                | ExchangeKind::Rebinding
                | ExchangeKind::Information
                | ExchangeKind::Release
        ) {
            assert_eq!(octets[12..16], own.to_be_bytes());
        }
        if matches!(kind, ExchangeKind::Second | ExchangeKind::Reboot | ExchangeKind::Decline) {
            assert_eq!(word_of(octets, 50), Some(own), "{kind:?}");
        }
        let counts = &mut ledger[kind.index()];
        counts.sent += 1;
        match kind {
            ExchangeKind::First => assert!(since_ns > ends_ns || !granted_ns.contains_key(&client)),
            ExchangeKind::Second => drop(granted_ns.insert(client, now_ns)),
            ExchangeKind::Renewal | ExchangeKind::Rebinding => {
                assert!((t1_ns..ends_ns).contains(&since_ns), "{kind:?} {since_ns}");
                if client % 7 == 3 {
                    counts.lost += 1;
                    return vec![];
                }
                gaps.push(since_ns);
                granted_ns.insert(client, now_ns);
            }
            ExchangeKind::Reboot => {
                assert!(since_ns < ends_ns, "what it asks for is valid");
                if client % 7 == 5 {
                    counts.refused += 1;
                    granted_ns.remove(&client);
                    return vec![(MS, request.answer(kind::NAK, Ipv4Addr::UNSPECIFIED))];
                }
                granted_ns.insert(client, now_ns);
            }
            ExchangeKind::Release | ExchangeKind::Decline => {
                granted_ns.remove(&client);
                return vec![];
            }
            ExchangeKind::Information => {
                counts.on_time += 1;
                return vec![(MS, parameters(&request))];
            }
        }
        counts.on_time += 1;
        vec![(MS, request.good())]
    });
    assert_eq!(played.all_counts(), ledger);
    assert!(ledger.iter().all(|counts| counts.sent > 20), "{ledger:?}");
    // The time from the reply to the renewal is T1, not more: the reply takes a millisecond.
    assert!(gaps.len() > 500, "{}", gaps.len());
    assert!(gaps.iter().all(|&gap_ns| gap_ns == t1_ns + MS), "{gaps:?}");
    let mut leases = played.traffic.leases;
    assert_eq!(leases[0].summarize(played.end_ns).conflicts, 0);
}

#[test]
fn one_of_two_generators_plays_every_other_client_all_its_life() {
    let habits = Some(LifecycleSettings { clients: 100, ..HABITS });
    let rules = RequestRules { habits, part: GeneratorPart { index: 1, of: 2 }, ..rules(6) };
    let mut requests: BTreeMap<u32, u64> = BTreeMap::new();
    let played = live(dialect(200), rules, 20.0, 4 * 3_600 * NS_PER_S, |_, octets| {
        let request = Dhcp4TestRequest { octets };
        *requests.entry(request.client()).or_default() += 1;
        match request.kind() {
            INFORM => vec![(MS, parameters(&request))],
            RELEASE | DECLINE => vec![],
            _ => vec![(MS, request.good())],
        }
    });
    assert!(requests.keys().copied().eq((0..100).map(|position| 2 * position + 1)), "{requests:?}");
    for kind in [
        ExchangeKind::Second,
        ExchangeKind::Renewal,
        ExchangeKind::Reboot,
        ExchangeKind::Information,
    ] {
        let counts = &played.all_counts()[kind.index()];
        assert!(counts.sent > 20 && counts.on_time == counts.sent, "{kind:?} {counts:?}");
    }
}

#[test]
fn clients_of_dhcpv6_live_as_rfc_9915_says() {
    let mut ledger = [ExchangeKindCounts::default(); ExchangeKind::COUNT];
    let mut granted_ns: HashMap<u32, u64> = HashMap::new();
    let until_ns = 6 * 3_600 * NS_PER_S;
    let clients = dialect6(200, RequestedAssociations::ADDRESS);
    let played = live(clients, populated(4), 20.0, until_ns, |now_ns, octets| {
        let request = server::Dhcp6TestRequest { octets };
        let client = request.client();
        let mut reply = request.good();
        let (kind, goes_on) = match request.kind() {
            kind6::SOLICIT => (ExchangeKind::First, true),
            kind6::REQUEST => (ExchangeKind::Second, true),
            kind6::RENEW => (ExchangeKind::Renewal, true),
            kind6::REBIND => (ExchangeKind::Rebinding, true),
            kind6::CONFIRM => (ExchangeKind::Reboot, false),
            kind6::INFORMATION_REQUEST => (ExchangeKind::Information, false),
            kind6::RELEASE => (ExchangeKind::Release, false),
            kind6::DECLINE => (ExchangeKind::Decline, false),
            other => panic!("message type {other}"),
        };
        let is_for_any =
            [kind6::SOLICIT, kind6::REBIND, kind6::CONFIRM, kind6::INFORMATION_REQUEST];
        assert_eq!(request.names_a_server(), !is_for_any.contains(&request.kind()), "{kind:?}");
        let counts = &mut ledger[kind.index()];
        counts.sent += 1;
        let since_ns = granted_ns.get(&client).map(|granted_ns| now_ns - granted_ns);
        // T1 and T2 are the server's here: 900 and 1,440 s, valid for 3,600.
        match (kind, since_ns) {
            (ExchangeKind::Renewal, Some(ns)) => assert!((900..1_440).contains(&(ns / NS_PER_S))),
            (ExchangeKind::Rebinding, Some(ns)) => {
                assert!((1_440..3_600).contains(&(ns / NS_PER_S)))
            }
            _ => {}
        }
        if client % 7 == 3 && matches!(kind, ExchangeKind::Renewal | ExchangeKind::Rebinding) {
            counts.lost += 1;
            return vec![];
        }
        if client % 7 == 5 && kind == ExchangeKind::Reboot {
            counts.refused += 1;
            reply.ias.clear();
            reply.status = Some(4);
            return vec![(MS, reply.octets())];
        }
        if goes_on {
            granted_ns.insert(client, now_ns);
        } else {
            reply.ias.clear();
            reply.status = Some(0);
        }
        counts.on_time += 1;
        vec![(MS, reply.octets())]
    });
    assert_eq!(played.all_counts(), ledger);
    assert!(ledger.iter().all(|counts| counts.sent > 20), "{ledger:?}");
}

#[test]
fn the_same_seed_is_the_same_lives() {
    let sent = |seed| {
        let until_ns = 3_600 * NS_PER_S;
        live(dialect(200), populated(seed), 20.0, until_ns, |_, octets| {
            let request = Dhcp4TestRequest { octets };
            match request.kind() {
                RELEASE | DECLINE => vec![],
                INFORM => vec![(MS, parameters(&request))],
                _ => vec![(MS, request.good())],
            }
        })
        .sent
    };
    assert_eq!(sent(5), sent(5));
    assert_ne!(sent(5), sent(6));
}
