//! Tests of messages as frames of an interface, over a veth pair to a responder in a namespace of
//! its own: the ledgers of both sides and the counters of the interface agree, to the message.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use crate::common::v6;
use crate::common::{Dhcp4TestRequest, MS};
use base::ToolError;
use base::time::NS_PER_S;
use clap::Parser;
use dhcp_load::v4::Dhcp4LoadTarget as Target4;
use dhcp_load::v6::{Access, Dhcp6LoadTarget as Target6, RequestedAssociations};
use dhcp_load::{
    DhcpLoadReport, DhcpLoadSettings, DhcpLoadTarget, Frames, Segmentation, perfdhcp, run_report,
};
use load::ExchangeTimeLimits;
use load::LoadRate;
use netio::{XdpSender, interface, namespace};
use testkit::{TempFolder, wait_until};

const SERVER4: &str = "10.9.0.2:67";
const SERVER6: &str = "[2001:db8::2]:547";
const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 5];
/// Number of exchanges of a run, at 2,000 per second.
const EXCHANGES: u64 = 400;

/// Counts of the responder's messages.
#[derive(Debug, Default)]
struct FrameResponderCounts {
    received: u64,
    sent: u64,
    sources: BTreeSet<SocketAddr>,
    /// Number of times that each message came.
    messages: BTreeMap<Vec<u8>, u64>,
}

/// Flag that is set when dropped, so that a failing test does not wait for its responder for ever.
struct FrameResponderStopGuard<'a>(&'a AtomicBool);

impl Drop for FrameResponderStopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Enters a network namespace of its own. Returns true if the machine allows that and has AF_XDP,
/// and prints the reason otherwise.
fn enter_a_namespace() -> bool {
    if Command::new("ip").arg("-V").output().is_err() || namespace::enter_new().is_err() {
        return testkit::skip("making a network namespace needs root and iproute2");
    }
    let has_xdp = XdpSender::probe().is_ok();
    has_xdp || testkit::skip_even_if_required("the kernel has no AF_XDP")
}

fn shell(script: &str) {
    assert!(Command::new("sh").args(["-ec", script]).status().unwrap().success(), "{script}");
}

/// Removes all traffic but the generator's: addresses are usable at once, and IPv6 is on only where
/// it is measured.
fn quiet(is_v6: bool) {
    shell(if is_v6 {
        "echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad; echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad"
    } else {
        "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"
    });
}

/// Replies at `server`, a station at the end of a veth pair, while `client` runs at the other end,
/// which has the addresses `own`.
fn against<R>(
    server: &str,
    own: &[&str],
    answer: impl Fn(&[u8]) -> Vec<u8> + Send,
    client: impl FnOnce() -> R,
) -> (R, FrameResponderCounts) {
    let server: SocketAddr = server.parse().unwrap();
    let is_v6 = server.is_ipv6();
    let (stop, queues) = (AtomicBool::new(false), "numtxqueues 2 numrxqueues 2");
    let (path_tx, path) = mpsc::channel();
    let (linked, linked_rx) = mpsc::channel();
    let (listening_tx, listening) = mpsc::channel();
    let (up_tx, up) = mpsc::channel();
    let is_over = &stop;
    thread::scope(|scope| {
        let responder = scope.spawn(move || {
            namespace::enter_new().unwrap();
            let link = fs::read_link("/proc/thread-self").unwrap();
            path_tx.send(format!("/proc/{}/ns/net", link.display())).unwrap();
            linked_rx.recv().unwrap();
            quiet(is_v6);
            let words = if is_v6 { "/64 dev in0 nodad" } else { "/24 dev in0" };
            // Neither side sends ARP requests, because they would be in the counters.
            let known: String = own
                .iter()
                .map(|own| format!("ip neigh replace {own} lladdr 02:00:00:00:00:06 dev in0; "))
                .collect();
            shell(&format!(
                "ip link set in0 address 02:00:00:00:00:05 up; ip addr add {}{words}; {known}",
                server.ip()
            ));
            let socket = roomy(server);
            socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            listening_tx.send(()).unwrap();
            wait_until(|| interface::named("in0").unwrap().is_up);
            up_tx.send(()).unwrap();
            respond(&socket, is_over, answer)
        });
        let stopping = FrameResponderStopGuard(&stop);
        let far: String = path.recv().unwrap();
        quiet(is_v6);
        shell(&format!("ip link add out0 {queues} type veth peer name in0 {queues} netns {far}"));
        linked.send(()).unwrap();
        listening.recv().unwrap();
        let words = if is_v6 { "/64 dev out0 nodad" } else { "/24 dev out0" };
        let adds: String = own.iter().map(|own| format!("ip addr add {own}{words}; ")).collect();
        shell(&format!(
            "ip link set out0 address 02:00:00:00:00:06 up; {adds} ip neigh replace {} lladdr 02:00:00:00:00:05 dev out0",
            server.ip()
        ));
        // The kernel drops what is sent to or by an interface until it has noticed that it is up,
        // for each end of the pair at a time of its own.
        wait_until(|| interface::named("out0").unwrap().is_up);
        up.recv().unwrap();
        let result = client();
        drop(stopping);
        (result, responder.join().unwrap())
    })
}

/// Returns a socket with room for all messages of a test: on a busy machine the responder may not
/// run for a while.
fn roomy(bind: SocketAddr) -> UdpSocket {
    let options =
        netio::UdpOptions { receive_buffer_bytes: Some(8 << 20), ..netio::UdpOptions::at(bind) };
    let socket = netio::UdpSocket::open(&options).unwrap();
    let socket = UdpSocket::from(socket.as_fd().try_clone_to_owned().unwrap());
    socket.set_nonblocking(false).unwrap();
    socket
}

/// Replies until `stop` is set and no datagram waits any more.
fn respond(
    socket: &UdpSocket,
    stop: &AtomicBool,
    answer: impl Fn(&[u8]) -> Vec<u8>,
) -> FrameResponderCounts {
    let (mut seen, mut octets) = (FrameResponderCounts::default(), [0; 2_048]);
    loop {
        let is_over = stop.load(Ordering::Relaxed);
        let Ok((len, from)) = socket.recv_from(&mut octets) else {
            if is_over {
                return seen;
            }
            continue;
        };
        seen.received += 1;
        seen.sources.insert(from);
        *seen.messages.entry(octets[..len].to_vec()).or_default() += 1;
        let answer = answer(&octets[..len]);
        if !answer.is_empty() {
            socket.send_to(&answer, from).unwrap();
            seen.sent += 1;
        }
    }
}

/// Returns the numbers of frames that the generator's interface has sent and received.
fn counters() -> [u64; 2] {
    ["tx", "rx"].map(|direction| {
        let output =
            Command::new("ip").args(["-s", "-j", "link", "show", "out0"]).output().unwrap();
        let links: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        links[0]["stats64"][direction]["packets"].as_u64().unwrap()
    })
}

fn good4(octets: &[u8]) -> Vec<u8> {
    Dhcp4TestRequest { octets }.good()
}

fn good6(octets: &[u8]) -> Vec<u8> {
    v6::Dhcp6TestRequest { octets }.good().octets()
}

fn settings<T: DhcpLoadTarget>(target: T) -> DhcpLoadSettings<T> {
    DhcpLoadSettings {
        duration_ns: 200 * MS,
        limits: ExchangeTimeLimits { deadline_ns: 180 * NS_PER_S, grace_ns: NS_PER_S },
        seed: 5,
        frames: Some(Frames { interface: "out0".to_owned(), server_mac: Some(SERVER_MAC) }),
        ..DhcpLoadSettings::new(target, LoadRate::per_second(2_000.0).unwrap())
    }
}

fn settings4() -> DhcpLoadSettings<Target4> {
    settings(Target4::new(SERVER4.parse().unwrap(), "10.9.0.11:67".parse().unwrap()))
}

fn settings6(relays: &[&str]) -> DhcpLoadSettings<Target6> {
    let relays = relays.iter().map(|relay| SocketAddrV6::new(relay.parse().unwrap(), 547, 0, 0));
    settings(Target6 {
        server: SERVER6.parse().unwrap(),
        access: Access::Relayed { relays: relays.collect(), links: v6::LINKS.to_vec() },
        requested: RequestedAssociations::ADDRESS,
        renews: false,
    })
}

fn run<T: DhcpLoadTarget>(settings: &DhcpLoadSettings<T>) -> DhcpLoadReport {
    run_report(settings, &AtomicBool::new(false)).unwrap()
}

/// Asserts that all exchanges were completed by `each` messages each way.
fn assert_agreed(report: &DhcpLoadReport, seen: &FrameResponderCounts, each: u64) {
    let (exchanges, messages) = (report.load.exchanges, &report.load.messages);
    assert_eq!((exchanges.due, exchanges.on_time), (EXCHANGES, EXCHANGES), "{report}");
    assert_eq!((messages.sent, messages.received), (seen.received, seen.sent), "{report}");
    assert_eq!(messages.sent, each * EXCHANGES, "{report}");
    assert_eq!((report.load.own_socket_drops, report.load.send_refused), (0, 0));
    assert!(!report.load.segmentation);
}

#[test]
fn both_ledgers_and_the_interface_count_the_same() {
    if !enter_a_namespace() {
        return;
    }
    let own = ["10.9.0.11", "10.9.0.12"];
    let mut relays = BTreeSet::new();
    for threads in [1, 2] {
        let ((report, counted), seen) = against(SERVER4, &own, good4, || {
            let before = counters();
            let report = run(&DhcpLoadSettings { threads, ..settings4() });
            let counted = counters();
            shell("ip link del out0");
            (report, [counted[0] - before[0], counted[1] - before[1]])
        });
        assert_agreed(&report, &seen, 2);
        assert_eq!(counted, [seen.received, seen.sent]);
        relays.insert(format!("{}:67", own[threads as usize - 1]).parse::<SocketAddr>().unwrap());
        assert_eq!(seen.sources, relays, "each thread is a relay of its own");
    }
}

#[test]
fn frames_carry_the_messages_that_datagrams_do() {
    if !enter_a_namespace() {
        return;
    }
    let messages = [true, false].map(|as_frames| {
        let (report, seen) = against(SERVER4, &["10.9.0.11"], good4, || {
            let frames = settings4().frames.filter(|_| as_frames);
            let report =
                run(&DhcpLoadSettings { frames, segmentation: Segmentation::Off, ..settings4() });
            shell("ip link del out0");
            report
        });
        assert_agreed(&report, &seen, 2);
        seen.messages
    });
    assert_eq!(messages[0].len() as u64, 2 * EXCHANGES);
    assert_eq!(messages[0], messages[1]);
}

#[test]
fn renewals_and_repeated_messages_leave_as_frames_too() {
    if !enter_a_namespace() {
        return;
    }
    let (report, seen) = against(SERVER4, &["10.9.0.11"], good4, || {
        let mut settings = settings4();
        settings.target.renews = true;
        let report = run(&settings);
        shell("ip link del out0");
        report
    });
    assert_agreed(&report, &seen, 3);
    assert_eq!(report.stages["renewed"], EXCHANGES);
    let (report, seen) = against(SERVER4, &["10.9.0.11"], good4, || {
        run(&DhcpLoadSettings { chatty: true, ..settings4() })
    });
    let (exchanges, messages) = (report.load.exchanges, &report.load.messages);
    assert_eq!((exchanges.due, exchanges.on_time), (EXCHANGES, EXCHANGES), "{report}");
    assert_eq!((messages.sent, seen.received), (4 * EXCHANGES, 4 * EXCHANGES));
    assert!(seen.messages.values().all(|count| *count == 2), "everything comes twice");
}

#[test]
fn relays_of_one_thread_keep_their_addresses() {
    if !enter_a_namespace() {
        return;
    }
    let own = ["2001:db8::11", "2001:db8::12", "2001:db8::13"];
    for relays in [&own[..1], &own] {
        let (report, seen) = against(SERVER6, &own, good6, || {
            let report = run(&settings6(relays));
            shell("ip link del out0");
            report
        });
        assert_agreed(&report, &seen, 2);
        let expected = relays.iter().map(|relay| relay.parse::<IpAddr>().unwrap());
        let expected: BTreeSet<_> = expected.map(|relay| SocketAddr::new(relay, 547)).collect();
        assert_eq!(seen.sources, expected);
    }
}

#[test]
fn perfdhcp_sends_frames_as_well() {
    let folder = TempFolder::new("perfdhcp-frames");
    let file = folder.path().join("result.json");
    let v4 = "-4 -l 10.9.0.11 10.9.0.2";
    let v6 = "-6 -A 1 -l 2001:db8::11 --server-mac 02:00:00:00:00:05 2001:db8::2";
    for (server, own, words) in [(SERVER4, "10.9.0.11", v4), (SERVER6, "2001:db8::11", v6)] {
        if !enter_a_namespace() {
            return;
        }
        let line = format!(
            "perfdhcp --interface out0 -r 2000 -n 400 -R 400 -s 5 -d 60 --json {} {words}",
            file.display()
        );
        let (counted, seen) =
            against(server, &[own], if server == SERVER4 { good4 } else { good6 }, || {
                let before = counters();
                let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
                let _ = perfdhcp::PerfdhcpArgs::try_parse_from(&words).unwrap().run(&words[1..]);
                let counted = counters();
                shell("ip link del out0");
                counted[0] - before[0]
            });
        let report: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!((seen.received, seen.sent), (2 * EXCHANGES, 2 * EXCHANGES), "{report}");
        assert_eq!(report["leases"], EXCHANGES, "{report}");
        if server == SERVER4 {
            assert_eq!(counted, 2 * EXCHANGES);
        }
        assert_eq!(seen.sources.iter().next().unwrap().ip(), own.parse::<IpAddr>().unwrap());
    }
}

#[test]
fn what_frames_cannot_do_is_said_before_anything_is_sent() {
    let problems = |settings: &DhcpLoadSettings<Target4>| match run_report(
        settings,
        &AtomicBool::new(false),
    ) {
        Err(ToolError::Usage(problems)) => problems,
        other => panic!("{other:?}"),
    };
    let grouped = DhcpLoadSettings { segmentation: Segmentation::On, ..settings4() };
    assert!(problems(&grouped).contains("never leave in groups"));
    let mut everyone = settings4();
    everyone.target =
        Target4::new("255.255.255.255:67".parse().unwrap(), "127.0.3.1:0".parse().unwrap());
    assert!(problems(&everyone).contains("go to one server"));
    let mut unknown = settings4();
    unknown.target =
        Target4::new("203.0.113.9:67".parse().unwrap(), "127.0.3.1:0".parse().unwrap());
    unknown.frames.as_mut().unwrap().server_mac = None;
    assert!(problems(&unknown).contains("--server-mac"), "{}", problems(&unknown));
}
