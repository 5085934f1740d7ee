//! Queries against servers on virtual time: every query and every datagram has the class that a
//! second, slower account of the same events gives it, and the steady path allocates nothing.

use std::collections::BTreeMap;
use std::sync::mpsc;

use base::Random;
use base::time::NS_PER_MS;
use dns_load::{AnswerFault, DnsMessageTally, Exchanges, QueryIdentities, QueryWorkload};
use dns_wire::{DnsMessageDefect, Query, Rcode};
use load::{ExchangeClass, ExchangeLedger, ExchangeTimeLimits, ThreadShare};

const DEADLINE_MS: u64 = 100;
const GRACE_MS: u64 = 50;
const LIMITS: ExchangeTimeLimits =
    ExchangeTimeLimits { deadline_ns: DEADLINE_MS * NS_PER_MS, grace_ns: GRACE_MS * NS_PER_MS };
const PORTS: u64 = 3;

fn workload() -> QueryWorkload {
    let text = b"a.example A\nb.example AAAA\nc.example MX\n";
    QueryWorkload::parse("queries", text, Query::PLAIN).unwrap()
}

fn exchanges(workload: &QueryWorkload) -> Exchanges<'_> {
    let identities = QueryIdentities { ports: PORTS, id_base: 0xfff0 };
    let share = ThreadShare { thread: 1, threads: 2 };
    Exchanges::new(identities, LIMITS, workload, share, 4_096)
}

/// Kind of datagram that a server may send for a query.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sends {
    Good,
    OtherCase,
    Failure,
    BareFailure,
    OtherQuestion,
    QueryBack,
    Update,
    Cut,
}

const ALL: [Sends; 8] = [
    Sends::Good,
    Sends::OtherCase,
    Sends::Failure,
    Sends::BareFailure,
    Sends::OtherQuestion,
    Sends::QueryBack,
    Sends::Update,
    Sends::Cut,
];

impl Sends {
    fn octets(self, query: &[u8]) -> Vec<u8> {
        let mut octets = query.to_vec();
        octets[2] |= 0x80;
        match self {
            Self::Good => {}
            Self::OtherCase => octets[13].make_ascii_uppercase(),
            Self::Failure => octets[3] = 2,
            Self::BareFailure => {
                octets.truncate(12);
                octets[3] = 2;
                octets[5] = 0;
            }
            Self::OtherQuestion => octets[13] ^= 3,
            Self::QueryBack => octets[2] &= !0x80,
            Self::Update => octets[2] |= 5 << 3,
            Self::Cut => drop(octets.pop()),
        }
        octets
    }
}

/// Accounts for one query a second time: its events, in order, each with its delay in milliseconds.
fn account(events: &[(u64, Sends)], ledger: &mut BTreeMap<&str, u64>) -> ExchangeClass {
    let mut class = None;
    let mut count = |name| *ledger.entry(name).or_insert(0) += 1;
    for &(delay_ms, sends) in events {
        if sends == Sends::Cut {
            count("malformed");
            continue;
        }
        if delay_ms > DEADLINE_MS + GRACE_MS {
            count("unmatched");
            continue;
        }
        let is_failure = matches!(sends, Sends::Failure | Sends::BareFailure);
        match sends {
            Sends::OtherQuestion => {
                count("question");
                class.get_or_insert(ExchangeClass::WrongClient);
            }
            Sends::QueryBack | Sends::Update => {
                count("invalid");
                class.get_or_insert(ExchangeClass::Invalid);
            }
            _ if class.is_some() => {
                count("repeated");
                if class == Some(ExchangeClass::OnTime) {
                    class = Some(ExchangeClass::DuplicateAnswered);
                }
            }
            _ => {
                count(if is_failure { "SERVFAIL" } else { "NOERROR" });
                class = Some(match (delay_ms > DEADLINE_MS, is_failure) {
                    (true, _) => ExchangeClass::Late,
                    (false, true) => ExchangeClass::Nak,
                    (false, false) => ExchangeClass::OnTime,
                });
            }
        }
    }
    class.unwrap_or(ExchangeClass::Lost)
}

fn compare(tally: &DnsMessageTally, expected: &BTreeMap<&str, u64>) {
    let of = |name| expected.get(name).copied().unwrap_or(0);
    let rcode = |code: Rcode| tally.rcodes[usize::from(code.0)];
    assert_eq!(rcode(Rcode::NOERROR), of("NOERROR"));
    assert_eq!(rcode(Rcode::SERVFAIL), of("SERVFAIL"));
    assert_eq!(tally.repeated, of("repeated"));
    assert_eq!(tally.unmatched, of("unmatched"));
    assert_eq!(tally.malformed[DnsMessageDefect::Truncated.index()], of("malformed"));
    assert_eq!(tally.faults[AnswerFault::Question as usize], of("question"));
    let invalid = tally.faults[AnswerFault::NotAResponse as usize]
        + tally.faults[AnswerFault::Opcode as usize];
    assert_eq!(invalid, of("invalid"));
    let sum: u64 = expected.values().sum();
    assert_eq!(tally.received, sum);
}

#[test]
fn two_accounts_of_the_same_events_agree() {
    let workload = workload();
    for seed in 0..20 {
        let mut random = Random::from_seed(seed);
        let mut exchanges = exchanges(&workload);
        let mut buffer = [0; 512];
        // Datagrams on their way, by time and order.
        let mut in_flight: BTreeMap<(u64, u64), (usize, Vec<u8>)> = BTreeMap::new();
        let (mut order, mut classes) = (0, Vec::new());
        let mut expected = BTreeMap::new();
        for now_ms in 1..1_000 {
            exchanges.expire(now_ms * NS_PER_MS);
            for _ in 0..random.below(4) {
                let port = exchanges.next_port();
                let sent = exchanges.begin(now_ms * NS_PER_MS, &mut buffer).unwrap();
                exchanges.record_departure(sent.number, now_ms * NS_PER_MS);
                let mut events: Vec<_> = (0..random.below(4))
                    .map(|_| (1 + random.below(200), *random.pick(&ALL).unwrap()))
                    .collect();
                events.sort_by_key(|event| event.0);
                for &(delay_ms, sends) in &events {
                    order += 1;
                    let octets = sends.octets(&buffer[..sent.len]);
                    in_flight.insert((now_ms + delay_ms, order), (port, octets));
                }
                classes.push(account(&events, &mut expected));
            }
            while let Some(entry) = in_flight.first_entry().filter(|entry| entry.key().0 == now_ms)
            {
                let (port, octets) = entry.remove();
                exchanges.handle_datagram(now_ms * NS_PER_MS, port, &octets);
            }
        }
        for ((at_ms, _), (port, octets)) in in_flight {
            exchanges.expire(at_ms * NS_PER_MS);
            exchanges.handle_datagram(at_ms * NS_PER_MS, port, &octets);
        }
        let answered = exchanges.finish();
        compare(&answered.tally, &expected);
        let ledger: &ExchangeLedger = &answered.ledger;
        for class in ExchangeClass::ALL {
            let count = classes.iter().filter(|&&each| each == class).count() as u64;
            assert_eq!(ledger.count(class), count, "{class:?}, seed {seed}");
            assert!(count > 0, "{class:?} does not happen with seed {seed}");
        }
        assert_eq!((ledger.due(), ledger.in_flight()), (classes.len() as u64, 0));
    }
}

#[test]
fn an_answer_to_another_port_or_with_another_identifier_belongs_to_nobody() {
    let workload = workload();
    let mut exchanges = exchanges(&workload);
    let mut buffer = [0; 512];
    let sent = exchanges.begin(NS_PER_MS, &mut buffer).unwrap();
    let mut octets = Sends::Good.octets(&buffer[..sent.len]);
    exchanges.handle_datagram(NS_PER_MS, 1, &octets);
    octets[1] ^= 1;
    exchanges.handle_datagram(NS_PER_MS, 0, &octets);
    exchanges.count_foreign();
    assert!(!exchanges.is_settled());
    let answered = exchanges.finish();
    assert_eq!((answered.tally.unmatched, answered.tally.foreign), (2, 1));
    assert_eq!((answered.tally.received, answered.tally.answered()), (3, 0));
    assert_eq!(answered.ledger.count(ExchangeClass::Lost), 1);
}

#[test]
fn queries_that_time_out_are_reported_and_the_last_answer_ends_the_run() {
    let workload = workload();
    let mut exchanges = exchanges(&workload);
    let (timed_out, ids) = mpsc::channel();
    exchanges.report_timeouts(timed_out);
    let mut buffer = [0; 512];
    let mut lost = Vec::new();
    for number in 0..6 {
        let port = exchanges.next_port();
        let sent = exchanges.begin(NS_PER_MS, &mut buffer).unwrap();
        if number % 2 == 0 {
            let octets = Sends::Good.octets(&buffer[..sent.len]);
            exchanges.handle_datagram((2 + number) * NS_PER_MS, port, &octets);
            exchanges.handle_datagram(20 * NS_PER_MS, port, &octets);
        } else {
            lost.push(u16::from_be_bytes([buffer[0], buffer[1]]));
        }
    }
    exchanges.expire((2 + DEADLINE_MS + GRACE_MS) * NS_PER_MS);
    assert_eq!(ids.try_iter().collect::<Vec<_>>(), lost);
    assert_eq!(exchanges.finish().answered_ns, 6 * NS_PER_MS, "the last of the first answers");
}

#[test]
fn a_query_and_its_answer_allocate_nothing() {
    let workload = workload();
    let mut exchanges = exchanges(&workload);
    let mut buffer = [0; 512];
    let mut allocations = 0;
    for now_ms in 1..=1_000 {
        let now_ns = now_ms * NS_PER_MS;
        allocations += allocation_counter::measure(|| {
            let port = exchanges.next_port();
            let sent = exchanges.begin(now_ns, &mut buffer).unwrap();
            exchanges.record_departure(sent.number, now_ns);
            buffer[2] |= 0x80;
            exchanges.handle_datagram(now_ns, port, &buffer[..sent.len]);
            exchanges.expire(now_ns);
        })
        .count_total;
    }
    assert_eq!(allocations, 0);
    assert_eq!(exchanges.finish().ledger.count(ExchangeClass::OnTime), 1_000);
}

#[test]
fn a_query_goes_on_over_tcp_when_its_answer_was_truncated() {
    let workload = workload();
    let mut exchanges = exchanges(&workload);
    exchanges.follow_truncation();
    let (mut buffer, mut again) = ([0; 512], [0; 512]);
    let sent = exchanges.begin(NS_PER_MS, &mut buffer).unwrap();
    exchanges.record_departure(sent.number, NS_PER_MS);
    let whole = Sends::Good.octets(&buffer[..sent.len]);
    let mut cut = whole.clone();
    cut[2] |= 0x02;
    assert_eq!(exchanges.next_tcp_retry(&mut again), None);
    exchanges.handle_datagram(2 * NS_PER_MS, 0, &cut);
    // A second copy of the datagram does not queue the query again.
    exchanges.handle_datagram(3 * NS_PER_MS, 0, &cut);
    assert_eq!(exchanges.next_tcp_retry(&mut again), Some((0, sent.len)));
    assert_eq!(again[..sent.len], buffer[..sent.len]);
    assert_eq!(exchanges.next_tcp_retry(&mut again), None);
    assert_eq!(exchanges.unsettled(), 1);
    exchanges.handle_tcp_message(9 * NS_PER_MS, 0, &whole);
    assert_eq!(exchanges.unsettled(), 0);
    // A truncated answer after the deadline comes too late to be followed.
    let late = exchanges.begin(10 * NS_PER_MS, &mut buffer).unwrap();
    exchanges.record_departure(late.number, 10 * NS_PER_MS);
    let mut cut = Sends::Good.octets(&buffer[..late.len]);
    cut[2] |= 0x02;
    exchanges.handle_datagram((11 + DEADLINE_MS) * NS_PER_MS, 0, &cut);
    assert_eq!(exchanges.next_tcp_retry(&mut again), None);
    let answered = exchanges.finish();
    let tally = &answered.tally;
    assert_eq!(
        (tally.asked_again, tally.repeated, tally.truncated, tally.answered()),
        (1, 1, 1, 2)
    );
    assert_eq!(tally.received, 4);
    let ledger = &answered.ledger;
    assert_eq!((ledger.count(ExchangeClass::OnTime), ledger.count(ExchangeClass::Late)), (1, 1));
    let latency = ledger.latency_due();
    let late_ns = (1 + DEADLINE_MS) * NS_PER_MS;
    assert_eq!((latency.min(), latency.max()), (Some(8 * NS_PER_MS), Some(late_ns)));
}
