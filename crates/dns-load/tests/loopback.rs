//! Tests of the generator against the responder over loopback: their ledgers agree to the packet,
//! with each fault and with all of them. No assertion depends on the speed of the machine: only
//! counts are compared, and queries are watched for longer than any machine takes to answer them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use base::ToolError;
use base::time::{NS_PER_MS, NS_PER_S};
use dns_load::echo::{self, EchoFaults, EchoResponder, QueryShare};
use dns_load::{DnsLoadReport, DnsLoadSettings, QueryWorkload, run};
use dns_wire::{Edns, Query, Rcode};
use load::{ExchangeTimeLimits, LoadRate, LoadShape};

const QUERIES: u64 = 1_000;
/// Watched time of queries that all have an answer: a run ends with the last of them.
const ANSWERED: ExchangeTimeLimits = ExchangeTimeLimits { deadline_ns: 60 * NS_PER_S, grace_ns: 0 };
/// Watched time of queries when not all have an answer: each run lasts that long.
const UNANSWERED: ExchangeTimeLimits =
    ExchangeTimeLimits { deadline_ns: 30 * NS_PER_S, grace_ns: 0 };
const QUERY: Query<'_> = Query {
    edns: Some(Edns { udp_payload_bytes: 1_232, extended_rcode: 0, version: 0, dnssec_ok: false }),
    ..Query::PLAIN
};

fn workload() -> QueryWorkload {
    let text = b"www.google.com AAAA\nexample.org MX\n. NS\nA.rather.LONG.name.example TXT\n";
    QueryWorkload::parse("queries", text, QUERY).unwrap()
}

/// Returns the settings of a run against a responder with these faults.
fn settings(server: SocketAddr, faults: &EchoFaults) -> DnsLoadSettings {
    let is_answered = [faults.drop, faults.wrong, faults.malformed] == [QueryShare::default(); 3];
    let is_doubled = faults.duplicate != QueryShare::default();
    DnsLoadSettings {
        duration_ns: NS_PER_S / 2,
        limits: if is_answered { ANSWERED } else { UNANSWERED },
        // Second answers come after the last query's end.
        linger_ns: if is_doubled { 5 * NS_PER_S } else { NS_PER_S / 4 },
        ..DnsLoadSettings::new(
            server,
            workload(),
            LoadRate::per_second(2.0 * QUERIES as f64).unwrap(),
        )
    }
}

/// Runs generator and responder once, with settings changed by `change`, and checks that their
/// ledgers agree.
fn both(
    responder: echo::EchoSettings,
    change: impl FnOnce(DnsLoadSettings) -> DnsLoadSettings,
) -> (DnsLoadReport, echo::EchoReport) {
    let faults = responder.faults;
    let responder = EchoResponder::open(responder).unwrap();
    let stop = AtomicBool::new(false);
    let (load, echo) = thread::scope(|scope| {
        let echo = scope.spawn(|| responder.run(&stop).unwrap());
        let settings = change(settings(responder.address(), &faults));
        let load = run(&settings, &AtomicBool::new(false)).unwrap();
        stop.store(true, Ordering::Relaxed);
        (load, echo.join().unwrap())
    });
    agree(&load, &echo);
    (load, echo)
}

fn responder(faults: EchoFaults) -> echo::EchoSettings {
    let listen = "127.0.0.1:0".parse().unwrap();
    echo::EchoSettings { seed: 7, faults, ..echo::EchoSettings::at(listen) }
}

fn with(faults: EchoFaults) -> (DnsLoadReport, echo::EchoReport) {
    both(responder(faults), |settings| settings)
}

/// Asserts the rules of the ledgers of any generator and responder: no message is counted twice or
/// not at all on either side, and each side receives everything that the other one sent.
fn agree(load: &DnsLoadReport, echo: &echo::EchoReport) {
    let (queries, messages, answers) = (load.load.exchanges, load.load.messages, &load.answers);
    assert_eq!((load.load.own_socket_drops, echo.socket_drops), (0, 0), "{load} {echo}");
    assert_eq!((load.load.send_refused, echo.refused), (0, 0));
    assert_eq!((queries.due, queries.sent, messages.sent), (QUERIES, QUERIES, QUERIES));
    assert_eq!(messages.sent, echo.received);
    assert_eq!(messages.received, echo.sent, "{load} {echo}");
    assert_eq!(echo.received, echo.counts.not_queries + echo.counts.dropped + echo.counts.answered);
    let answers_made = echo.counts.answered + echo.counts.duplicated;
    assert_eq!(answers_made, echo.sent + echo.refused + echo.overflowed + echo.held_at_end);
    let classes = [
        queries.on_time,
        queries.late,
        queries.lost,
        queries.nak,
        queries.invalid,
        queries.wrong_client,
        queries.duplicate_answered,
        queries.in_flight_at_end,
    ];
    assert_eq!(classes.iter().sum::<u64>(), queries.due);
    let first: u64 = answers.rcodes.values().sum();
    let faulty = answers.faults.values().sum::<u64>() + answers.malformed.values().sum::<u64>();
    let others = answers.repeated + answers.unmatched + answers.foreign;
    assert_eq!(first + faulty + others, messages.received, "{answers:?}");
    assert_eq!((answers.foreign, answers.unmatched, answers.too_long), (0, 0, 0));
}

fn share(text: &str) -> QueryShare {
    text.parse().unwrap()
}

#[test]
fn without_faults_every_query_is_answered_once() {
    let (load, echo) = with(EchoFaults::default());
    assert_eq!((load.load.exchanges.on_time, echo.counts.answered), (QUERIES, QUERIES));
    assert_eq!(
        load.answers.rcodes.clone().into_iter().collect::<Vec<_>>(),
        [("NOERROR".to_owned(), QUERIES)]
    );
    let latency = load.load.latency_due;
    assert_eq!(latency.count, QUERIES);
    assert!(latency.mean_us >= load.load.latency_sent.mean_us, "due comes before sent");
    assert!(!load.interrupted && echo.faults.is_empty());
}

#[test]
fn what_is_dropped_is_lost() {
    let (load, echo) = with(EchoFaults { drop: share("30%"), ..EchoFaults::default() });
    assert!((200..400).contains(&echo.counts.dropped), "{echo}");
    assert_eq!(load.load.exchanges.lost, echo.counts.dropped);
    assert_eq!(load.load.exchanges.on_time, QUERIES - echo.counts.dropped);
}

#[test]
fn what_is_doubled_is_repeated() {
    let (load, echo) = with(EchoFaults { duplicate: share("30%"), ..EchoFaults::default() });
    assert!(echo.counts.duplicated > 200, "{echo}");
    assert_eq!(load.answers.repeated, echo.counts.duplicated);
    assert_eq!(load.load.exchanges.duplicate_answered, echo.counts.duplicated);
    assert_eq!(load.load.exchanges.on_time, QUERIES - echo.counts.duplicated);
}

#[test]
fn what_is_delayed_takes_longer_or_is_late() {
    let faults = EchoFaults { delay: (50 * NS_PER_MS, QueryShare::ALL), ..EchoFaults::default() };
    let (load, echo) = with(faults);
    assert_eq!((load.load.exchanges.on_time, echo.counts.delayed), (QUERIES, QUERIES));
    assert!(load.load.latency_sent.min_us >= 50_000.0, "{load}");
    let (load, echo) = both(responder(faults), |settings| DnsLoadSettings {
        limits: ExchangeTimeLimits { deadline_ns: 20 * NS_PER_MS, grace_ns: 60 * NS_PER_S },
        ..settings
    });
    assert_eq!((load.load.exchanges.late, load.answers.late), (QUERIES, QUERIES), "{echo}");
    assert_eq!(load.load.latency_due.count, QUERIES, "late ones are in the latencies");
    assert!(load.load.latency_due.p50_us >= Some(50_000.0), "{load}");
    assert_eq!(echo.faults["delay"], "50ms=100%");
}

#[test]
fn response_codes_are_counted_and_failures_are_not_success() {
    let faults = EchoFaults { rcode: (Rcode::SERVFAIL, share("0.5")), ..EchoFaults::default() };
    let (load, echo) = with(faults);
    assert_eq!(load.answers.rcodes["SERVFAIL"], echo.counts.rcode_set);
    assert_eq!(load.load.exchanges.nak, echo.counts.rcode_set);
    assert_eq!(load.answers.rcodes["NOERROR"], QUERIES - echo.counts.rcode_set);
    let faults = EchoFaults { rcode: (Rcode::NXDOMAIN, QueryShare::ALL), ..EchoFaults::default() };
    let (load, _) = with(faults);
    assert_eq!((load.answers.rcodes["NXDOMAIN"], load.load.exchanges.on_time), (QUERIES, QUERIES));
}

#[test]
fn truncated_answers_are_seen() {
    let (load, echo) = with(EchoFaults { truncate: share("20%"), ..EchoFaults::default() });
    assert!(echo.counts.truncated > 100, "{echo}");
    assert_eq!(load.answers.truncated, echo.counts.truncated);
    assert_eq!(load.load.exchanges.on_time, QUERIES);
}

#[test]
fn answers_to_other_questions_are_wrong() {
    let (load, echo) = with(EchoFaults { wrong: share("20%"), ..EchoFaults::default() });
    assert!(echo.counts.wrong > 100, "{echo}");
    assert_eq!(load.answers.faults["question"], echo.counts.wrong);
    assert_eq!(load.load.exchanges.wrong_client, echo.counts.wrong);
    assert_eq!(load.load.exchanges.on_time, QUERIES - echo.counts.wrong);
}

#[test]
fn answers_that_are_cut_short_are_malformed() {
    let (load, echo) = with(EchoFaults { malformed: share("20%"), ..EchoFaults::default() });
    assert!(echo.counts.malformed > 100, "{echo}");
    assert_eq!(load.answers.malformed["truncated"], echo.counts.malformed);
    assert_eq!(load.load.messages.malformed, echo.counts.malformed);
    assert_eq!(load.load.exchanges.lost, echo.counts.malformed);
}

#[test]
fn all_faults_at_once_add_up_whatever_threads_ports_and_arrivals() {
    let faults = EchoFaults {
        capacity: None,
        drop: share("10%"),
        duplicate: share("10%"),
        delay: (5 * NS_PER_MS, share("50%")),
        rcode: (Rcode::REFUSED, share("10%")),
        truncate: share("10%"),
        wrong: share("10%"),
        malformed: share("10%"),
    };
    for (listen, segmentation) in [("127.0.0.1:0", false), ("[::1]:0", true)] {
        let listen: SocketAddr = listen.parse().unwrap();
        let responder =
            echo::EchoSettings { listen, threads: 2, segmentation, ..responder(faults) };
        let (load, echo) = both(responder, |settings| DnsLoadSettings {
            threads: 2,
            ports: 6,
            segmentation,
            timeline_ns: Some(100 * NS_PER_MS),
            seed: 3,
            ..settings
        });
        let further: u64 = load.answers.rcodes.values().sum::<u64>() + load.answers.repeated;
        let wrong = load.answers.faults["question"];
        assert_eq!(further + wrong + load.load.messages.malformed, echo.sent, "{load} {echo}");
        assert!(load.answers.truncated > 0 && load.load.exchanges.nak > 0, "{load}");
        assert_eq!(load.load.timeline.unwrap().points.iter().map(|p| p[0]).sum::<u64>(), QUERIES);
    }
}

#[test]
fn queries_can_be_taken_one_by_one() {
    for batch in [1, 3] {
        let responder = echo::EchoSettings { batch, ..responder(EchoFaults::default()) };
        let (load, echo) =
            both(responder, |settings| DnsLoadSettings { shape: LoadShape::Burst(50), ..settings });
        assert_eq!((load.load.exchanges.on_time, echo.batch), (QUERIES, batch));
        assert!(echo.batches * batch as u64 >= QUERIES, "{} calls", echo.batches);
    }
}

#[test]
fn the_same_seed_does_the_same_damage() {
    let faults = EchoFaults { drop: share("10%"), wrong: share("10%"), ..EchoFaults::default() };
    let one = || {
        let (_, echo) = with(faults);
        (echo.counts.dropped, echo.counts.wrong)
    };
    assert_eq!(one(), one());
}

#[test]
fn settings_that_cannot_work_are_all_told() {
    let settings = DnsLoadSettings {
        threads: 3,
        ports: 2,
        duration_ns: 0,
        local: Some("::1".parse().unwrap()),
        shape: LoadShape::Poisson,
        rate: LoadRate::per_second(1e6).unwrap(),
        limits: ExchangeTimeLimits { deadline_ns: NS_PER_S, grace_ns: NS_PER_S },
        ..settings("127.0.0.1:53".parse().unwrap(), &EchoFaults::default())
    };
    let Err(ToolError::Usage(problems)) = run(&settings, &AtomicBool::new(false)) else {
        panic!("that cannot work")
    };
    let flags: Vec<_> =
        problems.lines().map(|problem| problem.split(' ').next().unwrap()).collect();
    assert_eq!(flags, ["--ports", "--local:", "--duration:"], "{problems}");
    // Queries are watched for two seconds, while they come due, and no more than there are.
    let whole = DnsLoadSettings { ports: 4, duration_ns: 10 * NS_PER_S, local: None, ..settings };
    let problems = whole.problems();
    assert!(problems.len() == 1 && problems[0].contains("this needs 63 ports"), "{problems:?}");
    let of_short_time = DnsLoadSettings { duration_ns: NS_PER_S / 20, ..whole };
    assert_eq!(of_short_time.problems(), Vec::<String>::new());
    let few = DnsLoadSettings { count: Some(100), duration_ns: 10 * NS_PER_S, ..of_short_time };
    assert_eq!(few.problems(), Vec::<String>::new());
}
