//! Tests of the conformance suite over IP, between two network namespaces that the test creates and
//! that end with it.

use std::net::IpAddr;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use dccp_link::CarrierKind;
use dccp_tools::conformance::ConformanceTarget;
use dccp_tools::options::CarrierName;

use crate::conformance::{ConformanceListener, PORT, all_pass};

/// Runs ip(8) with `words` in the network namespace of this thread.
fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the kernel's thread id of this thread, by which ip(8) names its namespace.
fn thread_id() -> String {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_string_lossy().into_owned()
}

fn set_up(side: u8) {
    ip("link set lo up");
    ip(&format!("addr add 10.9.0.{side}/24 dev conf{side}"));
    ip(&format!("addr add fd00:9::{side}/64 dev conf{side} nodad"));
    ip(&format!("link set conf{side} up"));
}

/// Runs `test` in one network namespace while Godwit's listener is in another one, at `address`.
/// Prints a message when namespaces are not permitted here.
fn between(address: &str, test: impl FnOnce(ConformanceTarget) + Send) {
    let address: IpAddr = address.parse().unwrap();
    let has_ip = Command::new("ip").arg("-V").output().is_ok();
    let is_allowed = std::thread::scope(|scope| {
        let (tell_thread, thread) = mpsc::channel();
        let (tell_link, link) = mpsc::channel::<()>();
        let (tell_listening, listening) = mpsc::channel();
        let (tell_end, end) = mpsc::channel::<()>();
        scope.spawn(move || {
            if !has_ip || netio::namespace::enter_new().is_err() {
                return;
            }
            tell_thread.send(thread_id()).unwrap();
            if link.recv().is_err() {
                return;
            }
            set_up(2);
            let kind = CarrierKind::Raw { answers_all_ports: true };
            let _listening = ConformanceListener::start(kind, address, false);
            tell_listening.send(()).unwrap();
            // The listener stays until the test is over.
            let _ = end.recv();
        });
        let tester = scope.spawn(move || {
            let Ok(other) = thread.recv() else { return false };
            netio::namespace::enter_new().unwrap();
            ip(&format!("link add conf1 type veth peer name conf2 netns {other}"));
            set_up(1);
            tell_link.send(()).unwrap();
            listening.recv().unwrap();
            // The kernel drops packets sent to an interface until it has noticed that it is up.
            while !netio::interface::named("conf1").unwrap().is_up {
                std::thread::sleep(Duration::from_millis(1));
            }
            test(ConformanceTarget {
                address,
                scope: 0,
                port: PORT,
                udp_port: 0,
                carrier: CarrierName::Raw,
            });
            drop(tell_end);
            true
        });
        tester.join().unwrap()
    });
    if !is_allowed {
        testkit::skip("making a network namespace needs root and iproute2");
    }
}

#[test]
fn our_listener_passes_over_ipv4() {
    between("10.9.0.2", |target| drop(all_pass(target, &[], 100)));
}

#[test]
fn our_listener_passes_over_ipv6() {
    between("fd00:9::2", |target| drop(all_pass(target, &[], 100)));
}
