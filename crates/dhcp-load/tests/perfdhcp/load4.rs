//! Tests of a DHCPv4 run with a server of limited capacity, and with stalls of the generator's
//! machine.

use base::Random;
use dhcp_load::identities::ExchangeIdentities;
use dhcp_load::perfdhcp::dialect::ExchangeKind;
use dhcp_load::perfdhcp::rules::RequestRules;
use load::{ExchangeClass, GeneratorVerdict, Health, LATE_SEND_NS};

use crate::common::{Dhcp4TestRequest, MS};
use crate::perfdhcp::v4::{dialect, kind_of};
use crate::perfdhcp::world::{
    DEADLINE_NS, ExchangeLoad, GeneratorMachine, Ledger, START_NS, play, play_on, rules,
};

/// Server that takes `1 / service_ns` requests per second and keeps up to `queue` waiting.
#[test]
fn a_server_of_capacity_c_with_queue_q_is_accounted_for_exactly() {
    for (capacity, queue) in [(500, 10), (500, 600), (1_500, 10)] {
        let service_ns = 1_000_000_000 / capacity;
        let roomy = RequestRules { capacity: 8_000, ..rules(3) };
        let (mut free_ns, mut ledger) = (0, Ledger::default());
        let played = play(
            dialect(2_000),
            2_000,
            roomy,
            ExchangeLoad::new(2_000, 1_000.0),
            [0.0; 2],
            |now_ns, octets| {
                let request = Dhcp4TestRequest { octets };
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
            },
        );
        assert_eq!(played.counts(), ledger, "{capacity} {queue}");
        let [first, second] = [ledger[0], ledger[1]];
        assert!(first.lost + first.late + second.lost > 0, "{capacity} {queue}: {ledger:?}");
        assert_eq!(first.late > 0, queue == 600, "{capacity} {queue}: {ledger:?}");
    }
}

#[test]
fn a_stall_of_the_server_makes_late_what_it_holds_up() {
    let stall_ns = START_NS + 500 * MS..START_NS + 2_000 * MS;
    let mut ledger = Ledger::default();
    let played = play(
        dialect(1_000),
        1_000,
        rules(3),
        ExchangeLoad::new(1_000, 500.0),
        [0.0; 2],
        |now_ns, octets| {
            let request = Dhcp4TestRequest { octets };
            let counts = &mut ledger[kind_of(&request).index()];
            counts.sent += 1;
            let delay_ns = if stall_ns.contains(&now_ns) { stall_ns.end - now_ns } else { 0 };
            if delay_ns + MS > DEADLINE_NS {
                counts.late += 1
            } else {
                counts.on_time += 1
            }
            vec![(delay_ns + MS, request.good())]
        },
    );
    assert_eq!(played.counts(), ledger);
    assert_eq!(ledger[0].late, 251, "half a second of requests, and one to the millisecond");
}

/// Requests that came due while the generator stood still leave at once when it goes on, late, and
/// their latencies count from the due times.
#[test]
fn a_stall_of_the_generator_is_its_own_and_not_the_servers() {
    let stall_ns = START_NS + 500 * MS..START_NS + 2_000 * MS;
    let machine =
        GeneratorMachine { stalls_ns: vec![stall_ns.clone()], ..GeneratorMachine::default() };
    let mut ledger = Ledger::default();
    let roomy = RequestRules { capacity: 4_000, ..rules(3) };
    let mut due_ns = (0..1_500).map(|number| START_NS + number * 2 * MS);
    let mut late_sends = 0;
    let server = |now_ns: u64, octets: &[u8]| {
        let request = Dhcp4TestRequest { octets };
        let kind = kind_of(&request);
        let counts = &mut ledger[kind.index()];
        counts.sent += 1;
        let waited_ns =
            if kind == ExchangeKind::First { now_ns - due_ns.next().unwrap() } else { 0 };
        let come_ns = now_ns + MS;
        let read_ns = if stall_ns.contains(&come_ns) { stall_ns.end } else { come_ns };
        late_sends += u64::from(waited_ns > LATE_SEND_NS);
        if waited_ns + read_ns - now_ns > DEADLINE_NS {
            counts.late += 1
        } else {
            counts.on_time += 1
        }
        vec![(MS, request.good())]
    };
    let mut played = play_on(
        &machine,
        dialect(1_500),
        1_500,
        roomy,
        ExchangeLoad::new(1_500, 500.0),
        [0.0; 2],
        server,
    );
    assert_eq!(played.counts(), ledger);
    assert_eq!(ledger[0].late, 251, "those due in the first half second of it, and one more");
    let first = &played.traffic.accounts[0].ledger;
    assert_eq!((first.late_sends(), first.late_send_max_ns()), (late_sends, 1_500 * MS));
    assert!(late_sends > 700, "{late_sends}");
    // The latency from sending does not show the stall.
    assert_eq!(first.latency_sent().max(), Some(MS));
    assert_eq!(first.latency_due().max(), Some(1_500 * MS + MS));
    assert!(matches!(first.verdict(Health::default()), GeneratorVerdict::GeneratorLimited(_)));
    assert_eq!(played.ending().code(), 3);
}

/// Replies that come while the generator stands still, more than its socket holds.
#[test]
fn of_a_burst_that_the_socket_does_not_hold_the_rest_is_lost_here() {
    for room in [0, 1, 99, 300, 301] {
        let stall_ns = START_NS + 400 * MS..START_NS + 500 * MS;
        let machine = GeneratorMachine { stalls_ns: vec![stall_ns], socket_datagrams: room };
        let mut answers = 0;
        // All 300 answers arrive at one moment, in the middle of the stall.
        let burst_ns = START_NS + 450 * MS;
        let rules = RequestRules { is_offer_only: true, ..rules(5) };
        let served = ExchangeLoad::new(300, 1_000.0);
        let mut played =
            play_on(&machine, dialect(300), 300, rules, served, [0.0; 2], |now_ns, octets| {
                answers += 1;
                vec![(burst_ns - now_ns, Dhcp4TestRequest { octets }.good())]
            });
        let first = &played.traffic.accounts[0];
        let received = room.min(300) as u64;
        assert_eq!((answers, played.traffic.received), (300, received), "{room}");
        assert_eq!(
            (first.on_time(), first.ledger.count(ExchangeClass::Lost)),
            (received, 300 - received)
        );
        assert_eq!(played.socket_drops, 300 - received);
        let health = Health { socket_drops: played.socket_drops, sends_refused: 0 };
        let is_sound = first.ledger.verdict(health) == GeneratorVerdict::Sound;
        assert_eq!(
            (is_sound, played.ending().code()),
            (room >= 300, if room < 300 { 3 } else { 0 })
        );
    }
}

/// Identifiers repeat after 2^29 exchanges; a reply to an earlier exchange then belongs to no
/// request.
#[test]
fn identifiers_wrap_around_and_answers_of_the_round_before_are_strangers() {
    let mask = u32::MAX >> 3;
    let seed =
        (1..).find(|&seed| ExchangeIdentities::xid_base_of(seed) & mask > mask - 100).unwrap();
    let (mut ledger, mut first) = (Ledger::default(), None);
    let played = play(
        dialect(300),
        300,
        rules(seed),
        ExchangeLoad::new(300, 300.0),
        [0.0; 2],
        |_, octets| {
            let request = Dhcp4TestRequest { octets };
            let kind = kind_of(&request);
            ledger[kind.index()].sent += 1;
            ledger[kind.index()].on_time += 1;
            ledger[kind.index()].unmatched += 1;
            let good = request.good();
            let xid = u32::from_be_bytes(good[4..8].try_into().unwrap());
            let first = *first.get_or_insert(xid);
            // The generator has not used the number before the first one in this round.
            let mut old = good.clone();
            old[4..8].copy_from_slice(&first.wrapping_sub(8).to_be_bytes());
            vec![(0, old), (MS, good)]
        },
    );
    assert_eq!(played.counts(), ledger);
    assert_eq!(ledger[1].on_time, 300);
    let tops: Vec<u8> = played.sent.iter().map(|octets| octets[4]).collect();
    assert!(tops.contains(&0xff) && tops.contains(&0), "the identifiers wrapped");
}

/// Latencies with known delays: all figures of their distribution are right within 1/1024.
#[test]
fn the_distribution_of_latencies_is_the_responders() {
    let mut random = Random::from_seed(17);
    let mut delays: [Vec<u64>; 2] = Default::default();
    let roomy = RequestRules { capacity: 40_000, ..rules(3) };
    let played = play(
        dialect(20_000),
        20_000,
        roomy,
        ExchangeLoad::new(20_000, 10_000.0),
        [0.0; 2],
        |_, octets| {
            let request = Dhcp4TestRequest { octets };
            // The delays are from a nanosecond to a second, each order of magnitude as often.
            let delay_ns = (random.below(DEADLINE_NS) >> random.below(30)).max(1);
            delays[kind_of(&request).index()].push(delay_ns);
            vec![(delay_ns, request.good())]
        },
    );
    for (account, delays) in played.traffic.accounts.iter().zip(&mut delays) {
        delays.sort_unstable();
        assert_eq!(delays.len(), 20_000);
        for histogram in [account.ledger.latency_due(), account.ledger.latency_sent()] {
            assert_eq!(histogram.count(), 20_000);
            assert_eq!(
                (histogram.min(), histogram.max()),
                (Some(delays[0]), delays.last().copied())
            );
            let mean = delays.iter().sum::<u64>() as f64 / 20_000.0;
            assert!((histogram.mean().unwrap() / mean - 1.0).abs() < 1e-9);
            for per_mille in [1, 10, 250, 500, 900, 990, 999] {
                let quantile = f64::from(per_mille) / 1_000.0;
                let truth = delays[(quantile * 20_000.0).ceil() as usize - 1];
                let got = histogram.quantile(quantile).unwrap();
                let off = got - truth;
                assert!(got >= truth && off <= truth / 1_024, "{per_mille}: {got} {truth}");
            }
        }
    }
}
