//! Test with a responder that sends every reply twice, the second time a while later (`dup`): the
//! second reply to the last request is counted as those to all others are.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::responder::beside;
use crate::common::{Dhcp4TestRequest, MS};
use crate::perfdhcp::v4::dialect;
use crate::perfdhcp::world::{personas, rules};
use base::time::NS_PER_S;
use dhcp_load::perfdhcp::drive::{PerfdhcpRun, RequestPacing};
use dhcp_load::perfdhcp::traffic::RequestTraffic;
use dhcp_load::v4::Dhcp4LoadTarget;
use dhcp_load::wire::GeneratorSocket;
use dhcp_load::{DhcpLoadSettings, run_report};
use load::ExchangeTimeLimits;
use load::{LoadRate, Schedule};
use netio::{Clock, MessageOutbox, MessageRoute, UdpOptions};

const COUNT: u64 = 20;
/// Silence that ends a run here. A busy machine may hold the responder up for longer, but not each
/// time.
const LINGER_NS: u64 = NS_PER_S;
/// Time within which the responder is in time once, on any machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// Replies well to each request, and again when the next one has come, or when none has for 20 ms.
/// `gap_ns` is the time from the reply to the last request to its second reply.
fn twice(socket: &netio::UdpSocket, stop: &AtomicBool, gap_ns: &AtomicU64) {
    let socket = UdpSocket::from(socket.as_fd().try_clone_to_owned().unwrap());
    socket.set_nonblocking(false).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut octets = [0; 2_048];
    let mut again: Option<(Vec<u8>, SocketAddr, u64)> = None;
    let mut is_over = false;
    while !is_over {
        is_over = stop.load(Ordering::Relaxed);
        let come = socket.recv_from(&mut octets);
        if let Some((answer, to, since_ns)) = again.take() {
            socket.send_to(&answer, to).unwrap();
            gap_ns.store(Clock::mono_ns() - since_ns, Ordering::Relaxed);
        }
        if let Ok((len, from)) = come {
            let answer = Dhcp4TestRequest { octets: &octets[..len] }.good();
            let since_ns = Clock::mono_ns();
            socket.send_to(&answer, from).unwrap();
            again = Some((answer, from, since_ns));
        }
    }
}

/// Returns the result of `client` beside [`twice`], of the first run in which the last reply came
/// before the silence was long enough to end the run.
fn beside_twice<R>(client: impl Fn(SocketAddr) -> R) -> R {
    let until = Instant::now() + PATIENCE;
    loop {
        let gap_ns = AtomicU64::new(u64::MAX);
        let serve = |socket: &netio::UdpSocket, stop: &AtomicBool| twice(socket, stop, &gap_ns);
        let result = beside("127.0.0.1", serve, &client);
        if gap_ns.into_inner() < LINGER_NS {
            return result;
        }
        assert!(Instant::now() < until, "the responder is late each time");
    }
}

#[test]
fn a_second_answer_to_the_last_request_is_counted_by_load() {
    let report = beside_twice(|server| {
        let SocketAddr::V4(server) = server else { unreachable!() };
        let target = Dhcp4LoadTarget::new(server, "127.0.3.40:0".parse().unwrap());
        let settings = DhcpLoadSettings {
            duration_ns: 100 * MS,
            limits: ExchangeTimeLimits { deadline_ns: 180 * NS_PER_S, grace_ns: NS_PER_S },
            linger_ns: LINGER_NS,
            ..DhcpLoadSettings::new(target, LoadRate::per_second(10.0 * COUNT as f64).unwrap())
        };
        run_report(&settings, &AtomicBool::new(false)).unwrap()
    });
    let exchanges = report.load.exchanges;
    assert_eq!((exchanges.due, exchanges.duplicate_answered), (COUNT, COUNT), "{report}");
    assert_eq!(report.load.messages.received, 4 * COUNT, "{report}");
}

#[test]
fn a_second_answer_to_the_last_request_is_counted_by_perfdhcp() {
    let accounts = beside_twice(|server| {
        let socket = netio::UdpSocket::open(&UdpOptions::at((
            "127.0.3.41".parse::<std::net::IpAddr>().unwrap(),
            0,
        )))
        .unwrap();
        let route = MessageRoute { destination: server, sources: Vec::new(), segmentation: false };
        let wire = GeneratorSocket::new(socket, MessageOutbox::new(route, 1_500), false);
        let mut rules = rules(1);
        rules.deadlines_ns = [180 * NS_PER_S; 2];
        let traffic = RequestTraffic::new(dialect(COUNT as u32), personas(COUNT as u32), rules);
        let start_ns = Clock::mono_ns() + MS;
        let rate = LoadRate::per_second(200.0).unwrap();
        let pacing = RequestPacing::Scheduled(Schedule::even(rate, start_ns, NS_PER_S, 0, 1));
        let mut run = PerfdhcpRun::new(wire, traffic, pacing, start_ns);
        run.limits.counts[0] = Some(COUNT);
        run.linger_ns = LINGER_NS;
        run.run(&AtomicBool::new(false), |_, _| Ok(())).unwrap();
        run.traffic.accounts
    });
    let duplicates = [0, 1].map(|kind| accounts[kind].duplicates);
    assert_eq!((accounts[1].on_time(), duplicates), (COUNT, [COUNT; 2]));
}

#[test]
fn requests_that_the_generator_did_not_begin_within_the_period_are_due_and_not_sent() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let local: std::net::IpAddr = "127.0.3.43".parse().unwrap();
    let socket = netio::UdpSocket::open(&UdpOptions::at((local, 0))).unwrap();
    let destination = server.local_addr().unwrap();
    let route = MessageRoute { destination, sources: Vec::new(), segmentation: false };
    let wire = GeneratorSocket::new(socket, MessageOutbox::new(route, 1_500), false);
    let traffic = RequestTraffic::new(dialect(1_000), personas(1_000), rules(1));
    // The period was over before the first turn: a machine that stood still.
    let start_ns = Clock::mono_ns() - 2 * NS_PER_S;
    let even = |per_s| {
        let rate = LoadRate::per_second(per_s).unwrap();
        Schedule::even(rate, start_ns, NS_PER_S, 0, 1)
    };
    let mut run =
        PerfdhcpRun::new(wire, traffic, RequestPacing::Scheduled(even(1_000.0)), start_ns);
    run.lease_schedules = [Some(even(10.0)), None];
    run.limits.period_ns = Some(NS_PER_S);
    run.run(&AtomicBool::new(false), |_, _| Ok(())).unwrap();
    let ledger = &run.traffic.accounts[0].ledger;
    // One batch leaves late; the others are counted.
    assert_eq!((ledger.due(), ledger.sent(), ledger.in_flight()), (1_000, 128, 0));
    assert_eq!(ledger.count(load::ExchangeClass::Lost), 1_000);
    let renewals = &run.traffic.accounts[2].ledger;
    assert_eq!((renewals.due(), renewals.sent()), (10, 0));
}

#[test]
fn a_port_at_which_nothing_listens_is_told_from_loss() {
    // A connected socket receives from its peer alone: for all others the port is closed, and no
    // other program takes it.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect("127.0.0.1:9").unwrap();
    let SocketAddr::V4(server) = socket.local_addr().unwrap() else { unreachable!() };
    let settings = DhcpLoadSettings {
        duration_ns: 20 * MS,
        limits: ExchangeTimeLimits { deadline_ns: 20 * MS, grace_ns: 0 },
        ..DhcpLoadSettings::new(
            Dhcp4LoadTarget::new(server, "127.0.3.42:0".parse().unwrap()),
            LoadRate::per_second(200.0).unwrap(),
        )
    };
    let warning = format!("nothing listens at {server} (ICMP: port unreachable)");
    // On a busy machine the message may come later than a run waits for it.
    let until = Instant::now() + PATIENCE;
    loop {
        let report = run_report(&settings, &AtomicBool::new(false)).unwrap();
        assert!(report.is_unanswered(), "{report}");
        if report.warnings.contains(&warning) {
            return;
        }
        assert!(Instant::now() < until, "{report}");
    }
}
