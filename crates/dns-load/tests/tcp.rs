//! Tests of queries over TCP against the responder and against servers that close, over loopback:
//! the ledgers of both ends agree to the message, and a query whose connection ended is lost,
//! counted and not forgotten.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base::ToolError;
use base::time::{NS_PER_MS, NS_PER_S};
use dns_load::echo::{self, EchoFaults, EchoResponder, QueryShare};
use dns_load::{DnsLoadReport, DnsLoadSettings, QueryWorkload, Transport, run};
use dns_wire::{Query, Rcode};
use load::{ExchangeTimeLimits, LoadRate};
use netio::UdpOptions;

const QUERIES: u64 = 1_000;
/// Watched time of queries that all have an answer: a run ends with the last of them.
const ANSWERED: ExchangeTimeLimits = ExchangeTimeLimits { deadline_ns: 60 * NS_PER_S, grace_ns: 0 };
/// Watched time of queries when not all have an answer: a run lasts that long.
const UNANSWERED: ExchangeTimeLimits =
    ExchangeTimeLimits { deadline_ns: 30 * NS_PER_S, grace_ns: 0 };
/// Timeout of a test: the time within which a busy machine lets a server run beside the generator
/// once.
const PATIENCE: Duration = Duration::from_secs(600);
const FOLLOW: Transport = Transport::Udp { tc_fallback: true };

fn settings(
    server: SocketAddr,
    transport: Transport,
    limits: ExchangeTimeLimits,
) -> DnsLoadSettings {
    let text = b"www.google.com AAAA\nexample.org MX\n. NS\nA.rather.LONG.name.example TXT\n";
    let query = Query::PLAIN;
    let workload = QueryWorkload::parse("queries", text, query).unwrap();
    DnsLoadSettings {
        duration_ns: NS_PER_S / 2,
        limits,
        linger_ns: NS_PER_S / 4,
        transport,
        ports: 6,
        ..DnsLoadSettings::new(
            server,
            workload,
            LoadRate::per_second(2.0 * QUERIES as f64).unwrap(),
        )
    }
}

fn load(settings: &DnsLoadSettings) -> DnsLoadReport {
    run(settings, &AtomicBool::new(false)).unwrap()
}

/// Runs generator and responder once, and asserts the rules of their ledgers.
fn both(
    faults: EchoFaults,
    transport: Transport,
    threads: u32,
) -> (DnsLoadReport, echo::EchoReport) {
    let listen = "127.0.0.1:0".parse().unwrap();
    let settings_of_echo =
        echo::EchoSettings { threads: 2, seed: 7, faults, ..echo::EchoSettings::at(listen) };
    let responder = EchoResponder::open(settings_of_echo).unwrap();
    let stop = AtomicBool::new(false);
    let is_answered = [faults.drop, faults.wrong, faults.malformed] == [QueryShare::default(); 3];
    let limits = if is_answered { ANSWERED } else { UNANSWERED };
    let (load, echo) = thread::scope(|scope| {
        let echo = scope.spawn(|| responder.run(&stop).unwrap());
        let settings = settings(responder.address(), transport, limits);
        // Second answers come after the last query's end.
        let is_doubled = faults.duplicate != QueryShare::default();
        let linger_ns = if is_doubled { 5 * NS_PER_S } else { settings.linger_ns };
        let load = load(&DnsLoadSettings { threads, linger_ns, ..settings });
        stop.store(true, Ordering::Relaxed);
        (load, echo.join().unwrap())
    });
    let (queries, answers) = (load.load.exchanges, &load.answers);
    let connections = load.connections.unwrap();
    assert_eq!((queries.due, queries.sent), (QUERIES, QUERIES), "{load} {echo}");
    assert_eq!((load.load.messages.sent, load.load.messages.received), (echo.received, echo.sent));
    assert_eq!((connections.sent, connections.received), (echo.tcp.received, echo.tcp.sent));
    assert_eq!((connections.opened, echo.refused), (echo.tcp.connections, 0), "{load} {echo}");
    assert_eq!((connections.failed, connections.ended, connections.unsent), (0, 0, 0), "{load}");
    let classes = [
        queries.on_time,
        queries.late,
        queries.lost,
        queries.nak,
        queries.invalid,
        queries.wrong_client,
        queries.duplicate_answered,
    ];
    assert_eq!(classes.iter().sum::<u64>(), QUERIES);
    let first: u64 = answers.rcodes.values().sum();
    let faulty = answers.faults.values().sum::<u64>() + answers.malformed.values().sum::<u64>();
    let others = answers.asked_again + answers.repeated + answers.unmatched + answers.foreign;
    assert_eq!(first + faulty + others, load.load.messages.received, "{answers:?}");
    (load, echo)
}

fn share(text: &str) -> QueryShare {
    text.parse().unwrap()
}

#[test]
fn every_query_is_answered_over_tcp() {
    for threads in [1, 3] {
        let (load, echo) = both(EchoFaults::default(), Transport::Tcp, threads);
        assert_eq!((load.load.exchanges.on_time, echo.tcp.received), (QUERIES, QUERIES));
        assert_eq!((echo.tcp.connections, echo.received), (6, QUERIES));
        assert_eq!(load.load.latency_due.count, QUERIES);
        assert_eq!(load.load.settings["transport"], "tcp");
        assert!(load.warnings.is_empty(), "{load}");
    }
}

#[test]
fn faults_over_tcp_are_told_as_over_udp_and_answers_are_whole() {
    let faults = EchoFaults {
        capacity: None,
        drop: share("10%"),
        duplicate: share("10%"),
        delay: (5 * NS_PER_MS, share("50%")),
        rcode: (Rcode::REFUSED, share("10%")),
        truncate: share("100%"),
        wrong: share("10%"),
        malformed: share("10%"),
    };
    let (load, echo) = both(faults, Transport::Tcp, 2);
    assert_eq!((load.answers.truncated, echo.counts.truncated), (0, 0));
    for count in [
        echo.counts.dropped,
        echo.counts.duplicated,
        echo.counts.delayed,
        echo.counts.rcode_set,
        echo.counts.wrong,
    ] {
        assert!(count > 50, "{echo}");
    }
    let queries = load.load.exchanges;
    assert!(queries.wrong_client > 50 && queries.lost > 100 && queries.nak > 50, "{load}");
    assert!(load.answers.malformed["truncated"] > 50 && load.answers.repeated > 30, "{load}");
}

#[test]
fn truncated_answers_are_asked_for_again() {
    let faults = EchoFaults { truncate: share("100%"), ..EchoFaults::default() };
    let (load, echo) = both(faults, FOLLOW, 2);
    assert_eq!((echo.counts.truncated, echo.received), (QUERIES, 2 * QUERIES), "{echo}");
    assert_eq!((load.answers.asked_again, load.answers.truncated), (QUERIES, 0));
    assert_eq!((load.load.exchanges.on_time, load.answers.rcodes["NOERROR"]), (QUERIES, QUERIES));
    let (load, echo) = both(EchoFaults { truncate: share("20%"), ..faults }, FOLLOW, 1);
    assert!((100..300).contains(&echo.counts.truncated), "{echo}");
    assert_eq!(
        (load.answers.asked_again, echo.tcp.received),
        (echo.counts.truncated, echo.counts.truncated)
    );
    assert_eq!(load.load.exchanges.on_time, QUERIES);
    // The latency covers the whole: from the datagram's due time to the answer over TCP.
    let faults = EchoFaults {
        truncate: QueryShare::ALL,
        delay: (40 * NS_PER_MS, QueryShare::ALL),
        ..faults
    };
    let (load, _) = both(faults, FOLLOW, 1);
    assert!(load.load.latency_due.min_us >= 80_000.0, "{load}");
}

/// Answers `per_connection` queries of each connection and closes it. Ends when `stop` is set and
/// one more connection comes.
fn closing_server(listener: &TcpListener, per_connection: usize, stop: &AtomicBool) -> u64 {
    let mut answered = 0;
    thread::scope(|scope| {
        let mut clients = Vec::new();
        for socket in listener.incoming() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut socket: TcpStream = socket.unwrap();
            clients.push(scope.spawn(move || {
                let mut count = 0;
                while count < per_connection {
                    let mut length = [0; 2];
                    if socket.read_exact(&mut length).is_err() {
                        break;
                    }
                    let mut message = vec![0; u16::from_be_bytes(length).into()];
                    socket.read_exact(&mut message).unwrap();
                    message[2] |= 0x80;
                    socket.write_all(&[&length[..], &message].concat()).unwrap();
                    count += 1;
                }
                count as u64
            }));
        }
        for client in clients {
            answered += client.join().unwrap();
        }
    });
    answered
}

#[test]
fn what_a_closed_connection_takes_along_is_lost_and_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let until = Instant::now() + PATIENCE;
    loop {
        let stop = AtomicBool::new(false);
        let (load, answered) = thread::scope(|scope| {
            let server = scope.spawn(|| closing_server(&listener, 20, &stop));
            let load = load(&settings(address, Transport::Tcp, UNANSWERED));
            stop.store(true, Ordering::Relaxed);
            drop(TcpStream::connect(address).unwrap());
            (load, server.join().unwrap())
        });
        let (queries, connections) = (load.load.exchanges, load.connections.unwrap());
        assert_eq!((queries.due, queries.on_time + queries.lost), (QUERIES, QUERIES), "{load}");
        assert_eq!(queries.lost, connections.cut_off, "{load}");
        assert!(connections.ended > 0, "{load}");
        assert_eq!(connections.sent + connections.unsent, QUERIES, "nothing is sent twice");
        assert!(queries.on_time <= answered, "{load} {answered}");
        // A busy machine may hold the server up until all queries have left: then none opens a
        // connection again. A close with unread queries becomes a reset, which may discard answers.
        if connections.reopened > 0 && queries.on_time > 0 {
            return;
        }
        assert!(Instant::now() < until, "{load} {answered}");
    }
}

/// Answers the queries of every connection until the client closes it; returns the number of
/// queries that each carried. Ends when `stop` is set and one more connection comes.
fn counting_server(listener: &TcpListener, stop: &AtomicBool) -> Vec<u64> {
    thread::scope(|scope| {
        let mut clients = Vec::new();
        for socket in listener.incoming() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut socket: TcpStream = socket.unwrap();
            clients.push(scope.spawn(move || {
                let mut count = 0;
                let mut length = [0; 2];
                while socket.read_exact(&mut length).is_ok() {
                    let mut message = vec![0; u16::from_be_bytes(length).into()];
                    socket.read_exact(&mut message).unwrap();
                    message[2] |= 0x80;
                    socket.write_all(&[&length[..], &message].concat()).unwrap();
                    count += 1;
                }
                count
            }));
        }
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

#[test]
fn a_connection_carries_as_many_queries_as_it_may_and_none_is_lost_with_it() {
    const EACH: u32 = 7;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for window in [None, Some(20)] {
        let stop = AtomicBool::new(false);
        let (load, carried) = thread::scope(|scope| {
            let server = scope.spawn(|| counting_server(&listener, &stop));
            let settings = DnsLoadSettings {
                queries_per_connection: Some(EACH),
                window,
                count: Some(QUERIES),
                duration_ns: 600 * NS_PER_S,
                ..settings(address, Transport::Tcp, ANSWERED)
            };
            let load = load(&settings);
            stop.store(true, Ordering::Relaxed);
            drop(TcpStream::connect(address).unwrap());
            (load, server.join().unwrap())
        });
        let (queries, connections) = (load.load.exchanges, load.connections.unwrap());
        assert_eq!((queries.on_time, connections.sent), (QUERIES, QUERIES), "{load}");
        assert_eq!(
            (connections.ended, connections.cut_off, connections.unsent),
            (0, 0, 0),
            "{load}"
        );
        assert_eq!(carried.iter().sum::<u64>(), QUERIES);
        assert_eq!(carried.len() as u64, connections.opened, "{load}");
        let whole = carried.iter().filter(|&&count| count == u64::from(EACH)).count();
        assert_eq!(whole as u64, connections.retired, "{carried:?}");
        // The last connection in each place may have carried fewer queries.
        assert!(
            carried.len() - whole <= 6 && carried.iter().all(|&count| count <= 7),
            "{carried:?}"
        );
        assert_eq!(load.load.settings["queries_per_connection"], EACH);
    }
    let udp = Transport::Udp { tc_fallback: false };
    let settings = settings(address, udp, ANSWERED);
    let settings = DnsLoadSettings { queries_per_connection: Some(EACH), ..settings };
    assert!(settings.problems()[0].starts_with("--queries-per-connection"));
}

#[test]
fn a_server_without_tcp_is_told() {
    // At this address no other test listens, and no connection has it at both ends. With room for
    // all queries: on a busy machine the server may not run for a while.
    let bind: SocketAddr = "127.0.9.1:0".parse().unwrap();
    let options = UdpOptions { receive_buffer_bytes: Some(8 << 20), ..UdpOptions::at(bind) };
    let roomy = netio::UdpSocket::open(&options).unwrap();
    let socket = UdpSocket::from(roomy.as_fd().try_clone_to_owned().unwrap());
    socket.set_nonblocking(false).unwrap();
    let address = socket.local_addr().unwrap();
    let error =
        run(&settings(address, Transport::Tcp, UNANSWERED), &AtomicBool::new(false)).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, ToolError::Failed(_)), "{message}");
    assert!(message.starts_with(&format!("cannot connect over TCP to {address}: ")), "{message}");
    // The server truncates everything over UDP, and no process listens over TCP.
    let stop = AtomicBool::new(false);
    let load = thread::scope(|scope| {
        scope.spawn(|| {
            let mut octets = [0; 512];
            while !stop.load(Ordering::Relaxed) {
                let Ok((len, from)) = socket.recv_from(&mut octets) else { continue };
                octets[2] |= 0x82;
                socket.send_to(&octets[..len], from).unwrap();
            }
        });
        let load = load(&settings(address, FOLLOW, UNANSWERED));
        stop.store(true, Ordering::Relaxed);
        let wake = UdpSocket::bind("127.0.0.1:0").unwrap();
        wake.send_to(&[0; 12], address).unwrap();
        load
    });
    let (answers, connections) = (&load.answers, load.connections.unwrap());
    assert_eq!((load.load.exchanges.lost, answers.asked_again), (QUERIES, QUERIES), "{load}");
    assert_eq!((connections.cut_off, connections.unsent), (QUERIES, QUERIES), "{load}");
    assert!(connections.failed > 0 && connections.opened == 0, "{load}");
}
