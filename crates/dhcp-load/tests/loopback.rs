//! Whole runs over loopback against a responder thread. No assertion depends on the speed of the
//! machine: deadlines are minutes, and only counts are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::common::responder::{beside, respond};
use crate::common::{Dhcp4TestRequest, MS};
use base::ToolError;
use base::time::NS_PER_S;
use dhcp_load::v4::{ClientLinks, Dhcp4LoadTarget};
use dhcp_load::{DhcpLoadReport, DhcpLoadSettings, Expect, LoadShape, Segmentation, run_report};
use load::ExchangeTimeLimits;
use load::LoadRate;
use testkit::{TempFolder, wait_until};

/// Replies by `serve` while `client` runs.
fn against<R>(
    serve: impl Fn(&Dhcp4TestRequest<'_>) -> Vec<u8> + Sync,
    client: impl FnOnce(SocketAddrV4) -> R,
) -> R {
    let answer = |octets: &[u8]| serve(&Dhcp4TestRequest { octets });
    let serve = |socket: &_, stop: &_| respond(socket, stop, answer);
    beside("127.0.0.1", serve, |address| {
        let SocketAddr::V4(address) = address else { unreachable!() };
        client(address)
    })
}

fn good(request: &Dhcp4TestRequest<'_>) -> Vec<u8> {
    request.good()
}

fn settings(server: SocketAddrV4, relay: &str) -> DhcpLoadSettings<Dhcp4LoadTarget> {
    let rate = LoadRate::per_second(2_000.0).unwrap();
    DhcpLoadSettings {
        duration_ns: 200 * MS,
        limits: ExchangeTimeLimits { deadline_ns: 180 * NS_PER_S, grace_ns: NS_PER_S },
        ..DhcpLoadSettings::new(Dhcp4LoadTarget::new(server, relay.parse().unwrap()), rate)
    }
}

fn run(settings: &DhcpLoadSettings<Dhcp4LoadTarget>) -> DhcpLoadReport {
    run_report(settings, &AtomicBool::new(false)).unwrap()
}

#[test]
fn a_good_server_gets_every_exchange_and_every_lease_is_listed() {
    let folder = TempFolder::new("leases");
    let list = folder.path().join("leases.csv");
    let report = against(good, |server| {
        run(&DhcpLoadSettings { leases: Some(list.clone()), ..settings(server, "127.0.3.1:0") })
    });
    let exchanges = report.load.exchanges;
    assert_eq!((exchanges.due, exchanges.sent, exchanges.on_time), (400, 400, 400));
    assert_eq!(exchanges.in_flight_at_end, 0);
    assert_eq!((report.load.messages.sent, report.load.messages.received), (800, 800));
    // Replies that come after the time of the run, as on a busy machine, count in no rate.
    let completed_per_s = report.load.completed_per_s;
    assert!(completed_per_s > 0.0 && completed_per_s <= 2_000.0, "{completed_per_s}");
    assert_eq!((report.load.leases, report.load.conflicts, report.interrupted), (400, 0, false));
    let latency = &report.load.latency_due;
    assert_eq!((latency.count, report.load.latency_sent.count), (400, 400));
    assert!(latency.mean_us >= report.load.latency_sent.mean_us, "due comes before sent");
    let rows = fs::read_to_string(&list).unwrap();
    assert_eq!(rows.lines().count(), 401);
    assert!(rows.contains("\n10.128.0.5,02:67:00:00:00:05,01:02:67:00:00:00:05\n"), "{rows}");
}

#[test]
fn threads_share_the_load_whatever_its_shape_and_offload() {
    for segmentation in [Segmentation::Auto, Segmentation::Off] {
        for shape in [LoadShape::Even, LoadShape::Poisson] {
            let is_even = shape == LoadShape::Even;
            let report = against(good, |server| {
                let settings = settings(server, "127.0.3.16:0");
                run(&DhcpLoadSettings { threads: 3, shape, segmentation, seed: 9, ..settings })
            });
            let exchanges = report.load.exchanges;
            assert_eq!(exchanges.on_time, exchanges.due);
            if is_even {
                assert_eq!(exchanges.due, 400);
            } else {
                // 400 with a standard deviation of 20.
                assert!((300..500).contains(&exchanges.due), "{}", exchanges.due);
            }
            assert_eq!((report.load.leases, report.load.conflicts), (exchanges.due, 0));
            assert_eq!(report.load.segmentation, segmentation == Segmentation::Auto);
        }
    }
}

#[test]
fn turns_that_are_apart_send_more_in_each() {
    const TURN_NS: u64 = 5 * MS;
    let begun = Instant::now();
    let report = against(good, |server| {
        let settings = settings(server, "127.0.3.5:0");
        run(&DhcpLoadSettings { turn_ns: TURN_NS, segmentation: Segmentation::Off, ..settings })
    });
    let turns_max = begun.elapsed().as_nanos() as u64 / TURN_NS + 1;
    let exchanges = report.load.exchanges;
    assert_eq!((exchanges.due, exchanges.on_time), (400, 400));
    // 40 turns, of two calls or three. There are more turns where replies come late, and more calls
    // in a turn that has much to send.
    let calls_max = 4 * turns_max + 800 / 16;
    assert!(report.send_calls < calls_max, "{} calls for 800 messages", report.send_calls);
    assert_eq!(report.load.settings["turn_us"], 5_000);
}

#[test]
fn a_time_line_counts_every_exchange_where_it_was_due_and_answered() {
    let every_third = AtomicU64::new(0);
    let report = against(
        |request| {
            let number = every_third.fetch_add(1, Ordering::Relaxed);
            if number.is_multiple_of(3) { Vec::new() } else { request.good() }
        },
        |server| {
            let mut settings = settings(server, "127.0.3.24:0");
            settings.limits = ExchangeTimeLimits { deadline_ns: 500 * MS, grace_ns: 0 };
            settings.timeline_ns = Some(50 * MS);
            run(&settings)
        },
    );
    let timeline = report.load.timeline.expect("it was asked for");
    assert_eq!((timeline.interval_s, timeline.points.len()), (0.05, 15));
    let due: Vec<u64> = timeline.points.iter().map(|point| point[0]).collect();
    assert_eq!((&due[..4], due[4..].iter().sum::<u64>()), (&[100; 4][..], 0));
    let sum = |of: usize| timeline.points.iter().map(|point| point[of]).sum::<u64>();
    assert_eq!(sum(1), report.load.exchanges.on_time);
    assert!(sum(2) > 0 && sum(1) + sum(2) == 400, "{timeline:?}");
}

#[test]
fn two_servers_get_half_of_the_exchanges_each() {
    let report = against(good, |first| {
        against(good, |second| {
            let mut settings = settings(first, "127.0.3.25:0");
            (settings.threads, settings.target.second) = (2, Some(second));
            run(&settings)
        })
    });
    // Both servers give the same addresses, and every client got one.
    assert_eq!(report.load.exchanges.on_time, 400);
    assert_eq!(report.load.settings["second_server"].as_str().map(str::is_empty), Some(false));
}

#[test]
fn a_plain_responder_completes_exchanges_in_echo_mode_only() {
    let echo = |request: &Dhcp4TestRequest<'_>| request.octets.to_vec();
    let measured = against(echo, |server| {
        run(&DhcpLoadSettings { expect: Expect::Echo, ..settings(server, "127.0.3.32:0") })
    });
    assert_eq!((measured.load.exchanges.on_time, measured.load.leases), (400, 0));
    let judged = against(echo, |server| run(&settings(server, "127.0.3.32:0")));
    assert_eq!((judged.load.exchanges.on_time, judged.load.exchanges.invalid), (0, 400));
    assert_eq!(judged.invalid_reasons["op"], 400);
}

#[test]
fn a_stop_ends_the_schedule_and_leaves_a_valid_record() {
    let report = against(good, |server| {
        let mut settings = settings(server, "127.0.3.48:0");
        settings.duration_ns = 3_600 * NS_PER_S;
        settings.rate = LoadRate::per_second(10.0).unwrap();
        run_report(&settings, &AtomicBool::new(true)).unwrap()
    });
    assert!(report.interrupted);
    assert!(report.load.duration_s < 3_600.0);
    assert_eq!(report.load.exchanges.on_time, report.load.exchanges.due);
    let json: serde_json::Value =
        serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(json["schema"], "godwit.load.v1");
    assert_eq!(json["interrupted"], true);
    assert_eq!(json["exchanges"]["in_flight_at_end"], 0);
    let read: measure::record::LoadRecord = serde_json::from_value(json).unwrap();
    assert_eq!(read, report.load);
}

#[test]
fn what_cannot_work_is_said_before_anything_is_sent() {
    let server = "127.0.0.1:67".parse().unwrap();
    let mut wrong = settings(server, "0.0.0.0:0");
    (wrong.threads, wrong.duration_ns, wrong.client_offset) = (0, 0, u32::MAX);
    wrong.clients = 2;
    let Err(ToolError::Usage(problems)) = run_report(&wrong, &AtomicBool::new(false)) else {
        panic!("four problems")
    };
    assert_eq!(problems.lines().count(), 4, "{problems}");
    let elsewhere = settings(server, "192.0.2.1:0");
    let error = run_report(&elsewhere, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.contains("192.0.2.1"), "{error}");
}

#[test]
fn silence_ends_the_run_when_that_is_asked_for() {
    let mute = UdpSocket::bind("127.0.0.1:0").unwrap();
    let SocketAddr::V4(server) = mute.local_addr().unwrap() else { unreachable!() };
    let mut settings = settings(server, "127.0.0.1:0");
    // Without the silence rule this run would last an hour.
    settings.limits = ExchangeTimeLimits { deadline_ns: 3_600 * NS_PER_S, grace_ns: 0 };
    settings.quiet_ns = Some(50 * MS);
    let report = run_report(&settings, &AtomicBool::new(false)).unwrap();
    let exchanges = &report.load.exchanges;
    assert!(exchanges.due > 0);
    assert_eq!((exchanges.lost, exchanges.in_flight_at_end), (exchanges.due, 0));
}

#[test]
fn clients_are_on_links_in_turn_and_give_their_leases_back() {
    let (links, released) = (Mutex::new(BTreeMap::new()), Mutex::new(BTreeSet::new()));
    let received = AtomicU64::new(0);
    let serve = |request: &Dhcp4TestRequest<'_>| {
        received.fetch_add(1, Ordering::Relaxed);
        if request.kind() == 7 {
            let ciaddr = Ipv4Addr::from(<[u8; 4]>::try_from(&request.octets[12..16]).unwrap());
            assert_eq!(ciaddr, request.own_address());
            assert!(released.lock().unwrap().insert(ciaddr), "{ciaddr} is given back twice");
            return Vec::new();
        }
        let (_, link) = request.octets.split_last_chunk::<9>().unwrap();
        assert_eq!((&link[..4], link[8]), (&[82, 6, 5, 4][..], 255));
        *links.lock().unwrap().entry((link[5], link[6])).or_insert(0) += 1;
        request.good()
    };
    let report = against(serve, |server| {
        let mut settings = settings(server, "127.0.3.2:0");
        let first = Ipv4Addr::new(10, 128, 0, 1);
        settings.target.links = Some(ClientLinks { first, count: 4, step: 50 });
        settings.target.releases = true;
        let report = run(&settings);
        // The server sends no reply to the messages of the last turn, so the run may end before
        // they have come.
        wait_until(|| received.load(Ordering::Relaxed) == report.load.messages.sent);
        report
    });
    let exchanges = report.load.exchanges;
    assert_eq!((exchanges.due, exchanges.on_time), (400, 400));
    let links = links.into_inner().unwrap();
    assert_eq!(
        links,
        [((128, 0), 200), ((128, 50), 200), ((128, 100), 200), ((128, 150), 200)].into()
    );
    assert_eq!(released.into_inner().unwrap().len(), 400);
}

#[test]
fn chatty_clients_send_everything_twice_and_are_served_once() {
    let seen = Mutex::new(BTreeMap::new());
    let serve = |request: &Dhcp4TestRequest<'_>| {
        let key = (request.client(), request.kind());
        *seen.lock().unwrap().entry(key).or_insert(0) += 1;
        request.good()
    };
    let report = against(serve, |server| {
        let report = run(&DhcpLoadSettings { chatty: true, ..settings(server, "127.0.3.3:0") });
        // The last message may be on its way a second time when the run is over.
        wait_until(|| seen.lock().unwrap().values().sum::<u64>() == report.load.messages.sent);
        report
    });
    let exchanges = report.load.exchanges;
    assert_eq!((exchanges.due, exchanges.on_time), (400, 400));
    let seen = seen.into_inner().unwrap();
    // A message goes a second time where there is room.
    let twice = seen.values().filter(|&&count| count == 2).count();
    assert!(seen.len() == 800 && twice > 700, "{twice} of {}", seen.len());
}
