//! Tests with frames of interfaces: the responder on an interface, loaded over a veth pair, and
//! groups over loopback. The ledgers of both sides agree.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use base::time::NS_PER_S;
use dns_load::echo::{self, EchoFaults, EchoResponder, FrameResponder, QueryShare};
use dns_load::{DnsLoadReport, DnsLoadSettings, QueryWorkload, run};
use dns_wire::Query;
use load::{ExchangeTimeLimits, LoadRate, LoadShape};
use netio::{FrameRoute, interface, namespace};

const QUERIES: u64 = 2_000;
/// Time that no machine needs to answer a query, in nanoseconds.
const LONG_NS: u64 = 60 * NS_PER_S;
const QUERY: Query<'_> = Query::PLAIN;

/// Enters a new namespace with a veth pair for this thread, at whose far end no interface has the
/// address that queries go to. Returns false, and prints the reason, where that is impossible.
fn enter_a_link() -> bool {
    let is_possible = enter(
        "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; \
         ip link add out0 type veth peer name in0; \
         ip link set in0 address 02:00:00:00:00:05 up; ip link set out0 up; \
         ip addr add 10.9.0.1/24 dev out0; \
         ip neigh replace 10.9.0.2 lladdr 02:00:00:00:00:05 dev out0",
    );
    // The kernel drops frames sent to an interface until it has noticed that it is up.
    while is_possible && ["in0", "out0"].iter().any(|end| !interface::named(end).unwrap().is_up) {
        thread::sleep(Duration::from_millis(1));
    }
    is_possible
}

/// Enters a new namespace for this thread, as `script` makes it. Returns false, and prints the
/// reason, where that is impossible.
fn enter(script: &str) -> bool {
    if Command::new("ip").arg("-V").output().is_err() || namespace::enter_new().is_err() {
        return testkit::skip("making a network namespace needs root and iproute2");
    }
    Command::new("sh").args(["-ec", script]).status().unwrap().success()
}

/// Form in which the generator sends its queries.
#[derive(Clone, Copy, PartialEq)]
enum QuerySendForm {
    OneByOne,
    InGroups,
    AsFrames,
    /// Groups sent by sockets, with the answers from a ring.
    InGroupsToARing,
}

/// Runs generator and responder once, with these faults of the responder.
fn both(faults: EchoFaults, send_form: QuerySendForm) -> (DnsLoadReport, echo::EchoReport) {
    let listen = "10.9.0.2:53".parse().unwrap();
    let settings = echo::EchoSettings { seed: 7, faults, ..echo::EchoSettings::at(listen) };
    let responder = FrameResponder::open(settings, "in0").unwrap();
    let stop = AtomicBool::new(false);
    // Without answers a run lasts until they would be too late; otherwise it ends with the last
    // one.
    let deadline_ns = if faults.drop == QueryShare::default() { LONG_NS } else { NS_PER_S };
    thread::scope(|scope| {
        let echo = scope.spawn(|| responder.run(&stop).unwrap());
        let workload = QueryWorkload::parse("queries", b"www.google.com AAAA\n", QUERY).unwrap();
        let rate = LoadRate::per_second(4.0 * QUERIES as f64).unwrap();
        let settings = DnsLoadSettings {
            duration_ns: NS_PER_S / 4,
            limits: ExchangeTimeLimits { deadline_ns, grace_ns: 0 },
            linger_ns: NS_PER_S / 4,
            segmentation: matches!(
                send_form,
                QuerySendForm::InGroups | QuerySendForm::InGroupsToARing
            ),
            frames: matches!(send_form, QuerySendForm::AsFrames | QuerySendForm::InGroupsToARing)
                .then(|| FrameRoute {
                    interface: "out0".to_owned(),
                    queue: 0,
                    destination_mac: [2, 0, 0, 0, 0, 5],
                    source: "10.9.0.1".parse().unwrap(),
                }),
            ..DnsLoadSettings::new(listen, workload, rate)
        };
        let load = run(&settings, &AtomicBool::new(false)).unwrap();
        stop.store(true, Ordering::Relaxed);
        (load, echo.join().unwrap())
    })
}

/// Returns the number of frames that have left by `interface`.
fn transmitted(interface: &str) -> u64 {
    let output = Command::new("ip").args(["-s", "-j", "link", "show", interface]).output().unwrap();
    let links: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    links[0]["stats64"]["tx"]["packets"].as_u64().unwrap()
}

#[test]
fn frames_are_answered_and_both_ledgers_agree() {
    // Grouped queries arrive whole, and the responder answers them one by one.
    for send_form in [
        QuerySendForm::OneByOne,
        QuerySendForm::InGroups,
        QuerySendForm::AsFrames,
        QuerySendForm::InGroupsToARing,
    ] {
        // Each run has a link of its own: the kernel gives a queue of AF_XDP back some time after
        // its socket was closed.
        if !enter_a_link() {
            return;
        }
        let before = transmitted("out0");
        let (load, echo) = both(EchoFaults::default(), send_form);
        let is_alone = matches!(send_form, QuerySendForm::OneByOne | QuerySendForm::AsFrames);
        // Groups form where several queries are due at a time, which does not always happen.
        let frames = transmitted("out0") - before;
        assert!(if is_alone { frames == QUERIES } else { frames <= QUERIES }, "{frames} frames");
        let (queries, messages) = (load.load.exchanges, load.load.messages);
        assert_eq!((queries.due, queries.on_time), (QUERIES, QUERIES), "{load} {echo}");
        assert_eq!((messages.sent, messages.received), (echo.received, echo.sent), "{load} {echo}");
        assert_eq!((echo.counts.answered, echo.refused, echo.socket_drops), (QUERIES, 0, 0));
        assert_eq!(echo.interface.as_deref(), Some("in0"));
        let is_form_printed = load.to_string().contains(" refused, frames\n");
        assert_eq!(is_form_printed, matches!(send_form, QuerySendForm::AsFrames), "{load}");
    }
    assert!(enter_a_link());
    let faults = EchoFaults { drop: QueryShare::ALL, ..EchoFaults::default() };
    let (load, echo) = both(faults, QuerySendForm::AsFrames);
    assert_eq!((load.load.exchanges.lost, echo.counts.dropped, echo.sent), (QUERIES, QUERIES, 0));
}

/// Returns the number of frames on loopback for the queries and answers of a run at `listen`, when
/// both sides group as much as they can.
fn in_groups(listen: &str) -> u64 {
    let settings = echo::EchoSettings {
        segmentation: true,
        ..echo::EchoSettings::at(listen.parse().unwrap())
    };
    let responder = EchoResponder::open(settings).unwrap();
    let (stop, before) = (AtomicBool::new(false), transmitted("lo"));
    let (load, echo) = thread::scope(|scope| {
        let echo = scope.spawn(|| responder.run(&stop).unwrap());
        let workload = QueryWorkload::parse("queries", b"www.google.com AAAA\n", QUERY).unwrap();
        let settings = DnsLoadSettings {
            duration_ns: NS_PER_S / 4,
            limits: ExchangeTimeLimits { deadline_ns: LONG_NS, grace_ns: 0 },
            linger_ns: NS_PER_S / 4,
            segmentation: true,
            shape: LoadShape::Burst(200),
            ..DnsLoadSettings::new(
                responder.address(),
                workload,
                LoadRate::per_second(8_000.0).unwrap(),
            )
        };
        let load = run(&settings, &AtomicBool::new(false)).unwrap();
        stop.store(true, Ordering::Relaxed);
        (load, echo.join().unwrap())
    });
    assert_eq!(load.load.exchanges.on_time, QUERIES, "{load} {echo}");
    assert_eq!((load.load.messages.sent, load.load.messages.received), (QUERIES, QUERIES));
    assert_eq!(
        (echo.received, echo.counts.answered, echo.sent),
        (QUERIES, QUERIES, QUERIES),
        "{echo}"
    );
    assert!(echo.segmentation && load.load.segmentation);
    transmitted("lo") - before
}

#[test]
fn groups_are_answered_in_groups() {
    if !enter("ip link set lo up") {
        return;
    }
    for listen in ["127.0.0.1:0", "[::1]:0"] {
        // Without groups there would be at least QUERIES frames in either direction.
        let frames = in_groups(listen);
        assert!((QUERIES / 100..QUERIES).contains(&frames), "{frames} frames");
    }
}
