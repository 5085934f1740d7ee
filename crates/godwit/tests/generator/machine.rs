//! Tests of disturbances of the generator's machine: the process is stopped and continued, its
//! socket gets more than it holds, its clock is set back and forth.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use serde_json::Value;

use super::responder::{ClientTreatment, DhcpResponder};
use super::{figures, send_args, words};
use crate::common::link::{inside, ip, within};
use crate::common::namespaces::Namespaces;
use crate::common::{TempFolder, free_port, is_root, require, run_bounded, waited_until};

/// Run of Godwit's generator under `wrapper`, which ends with the value.
struct GeneratorProcess {
    child: Child,
    port: u16,
}

impl GeneratorProcess {
    fn start(wrapper: &str, line: &str, responder: &DhcpResponder) -> Self {
        let mut all = words(wrapper).chain([env!("CARGO_BIN_EXE_godwit"), "perfdhcp"]);
        let mut command = Command::new(all.next().unwrap());
        command.args(all).args(words(line)).args(["--json", "-"]);
        let port = free_port();
        command.args(send_args(responder, port)).stdout(Stdio::piped());
        Self { child: command.spawn().unwrap(), port }
    }

    fn signal(&self, name: &str) {
        run_bounded(Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]));
    }

    /// Stops the process, and waits until it has stopped.
    fn stop(&self) {
        self.signal("STOP");
        let path = format!("/proc/{}/stat", self.child.id());
        let stands = || fs::read_to_string(&path).is_ok_and(|stat| stat.contains(") T "));
        assert!(waited_until(stands), "SIGSTOP stops it");
    }

    /// Returns true if the generator's socket has no unread data.
    fn has_read_all(&self) -> bool {
        let table = fs::read_to_string(format!("/proc/{}/net/udp", self.child.id())).unwrap();
        let local = format!("0100007F:{:04X}", self.port);
        let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = rows.find(|row| row[1] == local).expect("it runs");
        row[4].ends_with(":00000000")
    }

    fn goes_on(&self) {
        self.signal("CONT");
    }

    fn end(mut self) -> (Value, i32) {
        let mut text = String::new();
        let mut output = self.child.stdout.take().unwrap();
        std::io::Read::read_to_string(&mut output, &mut text).unwrap();
        let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        (json, self.child.wait().unwrap().code().unwrap())
    }
}

impl Drop for GeneratorProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_stall_of_the_generator_is_told_from_a_slow_server() {
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let run = GeneratorProcess::start("env", "-r 100 -n 1000 -R 1000 -d 60", &responder);
    responder.wait_for(20);
    run.stop();
    // The stall itself, which may become longer; exchanges that come due meanwhile leave after it.
    thread::sleep(Duration::from_millis(600));
    run.goes_on();
    let (json, code) = run.end();
    assert_eq!((code, responder.counts()), (0, [1_000, 1_000, 0, 0]), "{json}");
    assert_eq!(figures(&json, 0, ["due", "sent", "on_time"]), [1_000; 3]);
    assert_eq!(figures(&json, 1, ["due", "sent", "on_time"]), [1_000; 3]);
    assert_eq!(json["generator_limited"], true, "{json}");
    assert!(json["late_sends"].as_u64().unwrap() >= 30, "{json}");
    assert!(json["exchanges"][0]["latency_due"]["max_us"].as_f64().unwrap() > 400_000.0);
}

#[test]
fn of_a_burst_that_the_socket_does_not_hold_each_datagram_is_accounted_for() {
    if !require(&["setpriv", "ip"]) || !is_root() {
        return;
    }
    // Without this right a socket has at most `rmem_max`, which the kernel doubles.
    let wrapper = "setpriv --bounding-set=-net_admin --inh-caps=-net_admin";
    let most = fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    let held: u32 = 2 * most.trim().parse::<u32>().unwrap() / 768;
    let copies = (held * 3 / 2).div_ceil(300);
    // A loopback of the test: packets that it drops on the way to the socket are of this burst.
    let namespace = Namespaces::<1>::make();
    ip(&format!("-n {} link set lo up", namespace[0]));
    let socket = within(&namespace[0], || UdpSocket::bind("127.0.0.1:0").unwrap());
    let wrapper = format!("ip netns exec {} {wrapper}", namespace[0]);
    let responder = DhcpResponder::on(socket, false, |_| ClientTreatment::Good);
    responder.hold(copies);
    // No deadline passes while it reads its socket: it would leave the rest unread.
    let run = GeneratorProcess::start(&wrapper, "-i -r 300 -n 300 -R 300 -d 1800", &responder);
    responder.wait_for(300);
    run.stop();
    responder.release();
    run.goes_on();
    assert!(waited_until(|| run.has_read_all()), "it reads all that its socket holds");
    run.signal("INT");
    let (json, code) = run.end();
    let names = ["on_time", "late", "lost", "in_flight", "duplicates", "unmatched"];
    let [on_time, late, lost, in_flight, duplicates, unmatched] = figures(&json, 0, names);
    let drops = json["own_socket_drops"].as_u64().unwrap();
    let received = json["messages_received"].as_u64().unwrap();
    let path = "/sys/class/net/lo/statistics/rx_dropped";
    let output = inside(&namespace[0]).args(["cat", path]).output().unwrap();
    let on_the_way: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    let sent = u64::from(300 * copies);
    assert_eq!(received + drops + on_the_way, sent, "{on_the_way} {json}");
    assert_eq!(on_time + late + duplicates + unmatched, received, "{json}");
    assert_eq!((on_time + in_flight, late + lost, code), (300, 0, 130), "{json}");
    assert!(drops > 0 && in_flight > 0, "{json}");
    assert_eq!(json["generator_limited"], true, "{json}");
    assert!(json["generator_limited_reason"].as_str().unwrap().contains("own socket"), "{json}");
}

/// Library that makes the time of day jump by an hour, back and forth, at each call.
const UNSTEADY_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    static unsigned looks;
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME && ++looks % 2)
        now->tv_sec -= 3600;
    return result;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec time;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}
"#;

/// Builds [`UNSTEADY_CLOCK`] in `folder`.
fn unsteady_clock(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, UNSTEADY_CLOCK).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
    let built = run_bounded(&mut cc);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

#[test]
fn a_clock_that_is_set_changes_nothing_of_ours_and_ends_debians() {
    if !require(&["cc", "perfdhcp"]) {
        return;
    }
    let folder = TempFolder::new("perfdhcp-clock");
    let library = unsteady_clock(folder.path());
    let responder = DhcpResponder::start(false, |client| {
        if client % 10 == 3 { ClientTreatment::Nothing } else { ClientTreatment::Good }
    });
    let wrapper = format!("env LD_PRELOAD={}", library.display());
    let (json, code) =
        GeneratorProcess::start(&wrapper, "-r 300 -n 300 -R 300 -d 20", &responder).end();
    assert_eq!((code, responder.counts()), (3, [300, 270, 0, 0]), "{json}");
    let names = ["sent", "on_time", "late", "lost"];
    assert_eq!(figures(&json, 0, names), [300, 270, 0, 30], "{json}");
    assert_eq!(figures(&json, 1, names), [270, 270, 0, 0], "{json}");
    let responder = DhcpResponder::start(false, |_| ClientTreatment::Good);
    let mut debians = Command::new("/usr/sbin/perfdhcp");
    debians.env("LD_PRELOAD", &library);
    debians.args(words("-4 -r 300 -n 300 -R 300 -W 1000000"));
    let output = run_bounded(debians.args(send_args(&responder, free_port())));
    assert_ne!(output.status.code(), Some(0), "it looks at the time of day");
}
