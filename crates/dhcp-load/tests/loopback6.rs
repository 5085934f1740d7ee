//! Whole DHCPv6 runs over loopback against a responder thread, and against the plain responder. No
//! assertion depends on the speed of the machine.

use std::fs;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::atomic::AtomicBool;

use crate::common::MS;
use crate::common::responder::{beside, respond};
use crate::common::v6;
use crate::common::v6::Dhcp6TestRequest;
use base::ToolError;
use base::time::NS_PER_S;
use dhcp_load::v6::{Access, Dhcp6LoadTarget, RequestedAssociations};
use dhcp_load::{DhcpLoadReport, DhcpLoadSettings, Expect, Segmentation, run_report};
use load::ExchangeTimeLimits;
use load::LoadRate;
use testkit::TempFolder;

const BOTH: RequestedAssociations =
    RequestedAssociations { na: true, pd: true, ias: 1, rapid_commit: false };

/// Runs `client` while `serve` replies on the address that `client` gets.
fn against<R>(
    serve: impl FnOnce(&netio::UdpSocket, &AtomicBool) + Send,
    client: impl FnOnce(SocketAddrV6) -> R,
) -> R {
    beside("::1", serve, |address| {
        let SocketAddr::V6(address) = address else { unreachable!() };
        client(address)
    })
}

fn good(socket: &netio::UdpSocket, stop: &AtomicBool) {
    respond(socket, stop, |octets| Dhcp6TestRequest { octets }.good().octets());
}

fn settings(server: SocketAddrV6, ask: RequestedAssociations) -> DhcpLoadSettings<Dhcp6LoadTarget> {
    let relays = vec![SocketAddrV6::new(Ipv6Addr::LOCALHOST, 0, 0, 0)];
    let access = Access::Relayed { relays, links: v6::LINKS.to_vec() };
    let rate = LoadRate::per_second(2_000.0).unwrap();
    DhcpLoadSettings {
        duration_ns: 200 * MS,
        limits: ExchangeTimeLimits { deadline_ns: 180 * NS_PER_S, grace_ns: NS_PER_S },
        ..DhcpLoadSettings::new(
            Dhcp6LoadTarget { server, access, requested: ask, renews: false },
            rate,
        )
    }
}

fn run(settings: &DhcpLoadSettings<Dhcp6LoadTarget>) -> DhcpLoadReport {
    run_report(settings, &AtomicBool::new(false)).unwrap()
}

#[test]
fn a_good_server_gets_every_exchange_and_every_lease_is_listed() {
    let folder = TempFolder::new("leases6");
    let list = folder.path().join("leases.csv");
    for segmentation in [Segmentation::Auto, Segmentation::Off] {
        let report = against(good, |server| {
            let leases = Some(list.clone());
            run(&DhcpLoadSettings { leases, segmentation, ..settings(server, BOTH) })
        });
        let exchanges = report.load.exchanges;
        assert_eq!((exchanges.due, exchanges.on_time, exchanges.in_flight_at_end), (400, 400, 0));
        assert_eq!((report.load.messages.sent, report.load.messages.received), (800, 800));
        assert_eq!((report.load.leases, report.load.conflicts), (800, 0));
        assert_eq!((report.stages["replies"], report.rejections.len()), (400, 0));
        assert_eq!(report.load.segmentation, segmentation == Segmentation::Auto);
        let rows = fs::read_to_string(&list).unwrap();
        fs::remove_file(&list).unwrap();
        assert_eq!(rows.lines().count(), 801);
        assert!(rows.starts_with("address,prefix_len,lease_type,duid,iaid\n"), "{rows}");
        for row in [
            "2001:db8:1::1:0:5,128,0,00:01:00:01:2a:00:00:00:02:67:00:00:00:05,1",
            "2001:db8:8001:0:5::,80,2,00:01:00:01:2a:00:00:00:02:67:00:00:00:05,1",
        ] {
            assert!(rows.contains(&format!("\n{row}\n")), "{row}: {rows}");
        }
        let json: serde_json::Value =
            serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
        assert_eq!(
            (&json["tool"], &json["settings"]["ia"]),
            (&"godwit load dhcp6".into(), &"na+pd".into())
        );
        let read: measure::record::LoadRecord = serde_json::from_value(json).unwrap();
        assert_eq!(read, report.load);
    }
}

#[test]
fn the_plain_responder_completes_exchanges_in_echo_mode_only() {
    let plain = |socket: &netio::UdpSocket, stop: &AtomicBool| {
        netio::limit::answer(socket, false, stop).unwrap();
    };
    let measured = against(plain, |server| {
        run(&DhcpLoadSettings { expect: Expect::Echo, ..settings(server, BOTH) })
    });
    assert_eq!((measured.load.exchanges.on_time, measured.load.leases), (400, 0));
    let judged = against(plain, |server| run(&settings(server, BOTH)));
    assert_eq!((judged.load.exchanges.on_time, judged.load.exchanges.invalid), (0, 400));
    assert_eq!(judged.invalid_reasons["relay"], 400);
}

#[test]
fn what_cannot_work_is_said_before_anything_is_sent() {
    let server = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 547, 0, 0);
    let problems = |change: &dyn Fn(&mut DhcpLoadSettings<Dhcp6LoadTarget>)| {
        let mut wrong = settings(server, BOTH);
        change(&mut wrong);
        match run_report(&wrong, &AtomicBool::new(false)) {
            Err(ToolError::Usage(problems)) => problems.lines().count(),
            other => panic!("{other:?}"),
        }
    };
    let relay = |text: &str| text.parse::<SocketAddrV6>().unwrap();
    let relays = |relays| Access::Relayed { relays, links: Vec::new() };
    assert_eq!(problems(&|wrong| wrong.target.requested.ias = 9), 1);
    assert_eq!(problems(&|wrong| wrong.target.access = relays(vec![])), 1);
    assert_eq!(problems(&|wrong| wrong.target.access = relays(vec![relay("[::]:547")])), 1);
    assert_eq!(
        problems(&|wrong| {
            wrong.threads = 3;
            wrong.target.access = relays(vec![relay("[::1]:547"), relay("[::2]:548")]);
        }),
        2
    );
    assert_eq!(
        problems(&|wrong| {
            wrong.threads = 2;
            wrong.target.access = Access::Direct { interface: "lo".into(), port: 0 };
        }),
        1
    );
    // Transaction identifiers distinguish 2^23 exchanges.
    assert_eq!(problems(&|wrong| wrong.rate = LoadRate::per_second(100_000.0).unwrap()), 1);
    let mut wrong = settings(server, BOTH);
    wrong.target.access = Access::Direct { interface: "lo".into(), port: 0 };
    let error = run_report(&wrong, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.starts_with("cannot find a link-local address on lo"), "{error}");
}
