//! Tests of `godwit netem` as a user sees it: a link between namespaces, changed and read while it
//! is up, and messages about mistakes.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use crate::common::namespaces::Namespaces;
use crate::common::{TempFolder, is_root, require, wait_until};
use serde_json::Value;

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");
const LEFT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const PORT: u16 = 4_000;

/// Three namespaces in a row, left, middle and right, which the value removes when it is dropped.
struct NamespaceRow(Namespaces<3>);

impl NamespaceRow {
    /// Makes the namespaces. Returns `None`, with a message, if that is not possible.
    fn new() -> Option<Self> {
        if !require(&["ip", "tc"]) || !is_root() {
            return None;
        }
        let row = Self(Namespaces::make());
        for name in &*row.0 {
            let quiet = "cd /proc/sys/net/ipv6/conf 2>/dev/null || exit 0; \
                         echo 1 >all/disable_ipv6; echo 1 >default/disable_ipv6";
            run(Command::new("ip").args(["netns", "exec", name, "sh", "-ec", quiet]));
        }
        let [left, middle, right] = &*row.0;
        for (name, end, address) in [(left, "m0", LEFT), (right, "m1", RIGHT)] {
            ip(&format!("link add own0 netns {name} type veth peer name {end} netns {middle}"));
            ip(&format!("-n {middle} link set {end} up"));
            ip(&format!("-n {name} link set own0 up"));
            ip(&format!("-n {name} addr add {address}/24 dev own0"));
            // The kernel drops packets to an interface until it has noticed that it is up.
            for (name, end) in [(middle, end), (name, "own0")] {
                wait_until(|| ip(&format!("-n {name} link show {end}")).contains("state UP"));
            }
        }
        Some(row)
    }

    /// Returns the two interfaces in the middle, in the form of `--between`.
    fn between(&self) -> [String; 2] {
        ["m0", "m1"].map(|end| format!("{}:{end}", self.0[1]))
    }

    /// Returns a socket in the left (0) or right (2) namespace.
    fn socket(&self, at: usize, address: Ipv4Addr) -> UdpSocket {
        let path = format!("/run/netns/{}", self.0[at]);
        let open = || {
            netio::namespace::enter(Path::new(&path)).expect("root may");
            UdpSocket::bind((address, PORT)).expect("it is free")
        };
        let socket = std::thread::scope(|scope| scope.spawn(open).join()).expect("it binds");
        socket.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
        socket
    }
}

/// Running `godwit netem` with its link.
struct NetemProcess {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl NetemProcess {
    fn start(words: &[&str]) -> Self {
        let mut command = Command::new(GODWIT);
        command.arg("netem").args(words).stdin(Stdio::null());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("it says something");
        if !line.starts_with("netem: up between ") {
            stderr.read_to_string(&mut line).expect("it says more");
            panic!("{words:?}: {line}");
        }
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, output }
    }

    fn signal(&self, name: &str) {
        run(Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]));
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it reports");
        line
    }

    fn wait(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("it ends");
        (self.child.wait().expect("it ends"), rest)
    }
}

impl Drop for NetemProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).expect("plain text")
}

fn ip(words: &str) -> String {
    run(Command::new("ip").args(words.split(' ')))
}

fn netem(words: &[&str]) -> Output {
    let mut command = Command::new(GODWIT);
    command.arg("netem").args(words).stdin(Stdio::null()).output().expect("the binary starts")
}

fn outcome(output: &Output) -> (Option<i32>, String, String) {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn mistakes_are_said_all_at_once_with_help_and_end_with_2() {
    let (code, _, text) = outcome(&netem(&["--between", "a", "b", "delay", "75mss", "lss", "10"]));
    assert_eq!(code, Some(2), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines.len() >= 2 && lines.iter().all(|line| line.starts_with("error: in `delay 75mss"))
    );
    assert!(text.contains("invalid value `75mss` of `delay`"), "{text}");
    let own = ["--between", "a", "b", "--forward", "dely 1ms", "--backward", "lss 1%"];
    let (code, _, text) = outcome(&netem(&own));
    assert!(code == Some(2) && text.contains("`dely`") && text.contains("`lss`"), "{text}");
    let (code, _, text) =
        outcome(&netem(&["--between", "no-such-if0", "no-such-if1", "delay", "1ms"]));
    assert!(
        code == Some(2) && text.contains("no-such-if0: no such interface; interfaces"),
        "{text}"
    );
    let (code, _, text) = outcome(&netem(&["--between", "x:", "y"]));
    assert!(code == Some(2) && text.contains("NAMESPACE:NAME"), "{text}");
    let nowhere = ["--socket", "/no/such/socket"];
    let (code, _, text) = outcome(&netem(&["show", nowhere[0], nowhere[1]]));
    assert!(code == Some(1) && text.contains("cannot query the link at /no/such/socket"), "{text}");
    let (code, _, text) = outcome(&netem(&["change", nowhere[0], nowhere[1], "loss", "ten"]));
    assert!(code == Some(2) && text.contains("`ten`"), "{text}");
}

#[test]
fn a_link_is_changed_and_read_while_it_is_up() {
    let Some(row) = NamespaceRow::new() else { return };
    let folder = TempFolder::new("netem");
    let socket = folder.path().join("link.sock").display().to_string();
    let [first, second] = row.between();
    let words = ["--between", &first, &second, "delay", "1ms", "--seed", "7", "--json"];
    let mut link = NetemProcess::start(&[&words[..], &["--socket", &socket]].concat());
    let (left, right) = (row.socket(0, LEFT), row.socket(2, RIGHT));
    // The first datagram waits for address resolution, which also goes over the link.
    for _ in 0..3 {
        wait_until(|| {
            // Sent again: the kernel drops packets whose address is not resolved in time.
            left.send_to(b"through", (RIGHT, PORT)).expect("it is sent");
            right.recv(&mut [0; 20]).is_ok_and(|len| len == 7)
        });
    }
    let show = || document(&outcome(&netem(&["show", "--socket", &socket, "--json"])).1);
    let report = show();
    assert_eq!((&report["schema"], &report["seed"]), (&"godwit.netem.v1".into(), &7.into()));
    assert_eq!(report["directions"][0]["from"], first.as_str());
    let received = report["directions"][0]["received"].as_u64();
    assert!(received >= Some(3) && report["directions"][0]["lost"] == 0, "{report}");

    let change = ["change", "--socket", &socket, "--forward", "loss", "100%"];
    let (code, text, _) = outcome(&netem(&change));
    assert_eq!(code, Some(0));
    assert!(text.contains(&format!("forward {first} -> {second}: limit 1000 loss 100%")), "{text}");
    assert!(
        text.contains(&format!("backward {second} -> {first}: limit 1000 delay 1ms")),
        "{text}"
    );
    // What was sent again may have come in until now, and requests for addresses may come at any
    // time: from here on all is lost.
    let changed = show();
    let since = |report: &Value, name: &str| {
        let count = |report: &Value| report["directions"][0][name].as_u64().expect("a number");
        count(report) - count(&changed)
    };
    wait_until(|| {
        left.send_to(b"lost", (RIGHT, PORT)).expect("it is sent");
        since(&show(), "lost") >= 5
    });
    let (code, _, text) = outcome(&netem(&["change", "--socket", &socket, "lss", "1%"]));
    assert!(code == Some(2) && text.contains("`lss`"), "{text}");

    link.signal("USR1");
    let answer = document(&link.line());
    assert_eq!(answer["directions"][0]["settings"], "limit 1000 loss 100%");
    link.signal("TERM");
    let last = document(&link.line());
    assert_eq!(since(&last, "lost"), since(&last, "received"));
    let (status, rest) = link.wait();
    assert!(status.success() && rest.is_empty(), "{status}: {rest}");
    assert!(!Path::new(&socket).exists(), "the socket's file is gone");
}

#[test]
fn directions_differ_and_it_ends_by_itself_with_a_text() {
    let Some(row) = NamespaceRow::new() else { return };
    let [first, second] = row.between();
    let words = ["--between", &first, &second, "--forward", "delay 10ms", "limit", "9"];
    let link = NetemProcess::start(&[&words[..], &["--duration", "3"]].concat());
    let (status, text) = link.wait();
    assert!(status.success(), "{text}");
    assert_eq!(text.matches("after ").count(), 1, "{text}");
    assert!(
        text.contains(&format!("forward {first} -> {second}: limit 1000 delay 10ms\n")),
        "{text}"
    );
    assert!(text.contains(&format!("backward {second} -> {first}: limit 9\n")), "{text}");
    let (code, _, text) = outcome(&netem(&["--between", &first, &first]));
    assert!(code == Some(2) && text.contains("needs two different interfaces"), "{text}");

    let mut link = NetemProcess::start(&["--between", &first, &second, "--interval", "0.1"]);
    for _ in 0..2 {
        while !link.line().starts_with("after ") {
            assert!(link.child.try_wait().expect("a child").is_none(), "it reports no more");
        }
    }
    link.signal("TERM");
    assert!(link.wait().0.success());
}

#[test]
fn the_kernels_netem_is_set_up_and_removed_or_its_absence_explained() {
    let Some(row) = NamespaceRow::new() else { return };
    let [first, second] = row.between();
    let between = ["--between", &first, &second];
    let words = ["--kernel", "delay", "75ms", "loss", "10%"];
    let (code, text, problem) = outcome(&netem(&[&between[..], &words].concat()));
    let show = || {
        let ends = ["m0", "m1"];
        ends.map(|end| run(Command::new("tc").args(["-n", &row.0[1], "qdisc", "show", "dev", end])))
    };
    if code == Some(0) {
        assert_eq!(text.matches("netem delay 75ms loss 10%").count(), 2, "{text}");
        assert!(show().iter().all(|shown| shown.starts_with("qdisc netem 1: root")));
    } else {
        assert_eq!(code, Some(1), "{problem}");
        assert!(problem.contains("this kernel has no netem"), "{problem}");
        assert!(problem.contains("modprobe sch_netem") && problem.contains("leave --kernel out"));
    }
    let (off, text, _) = outcome(&netem(&[&["off"], &between[..]].concat()));
    assert_eq!(off, Some(0));
    let removed = text.matches("removed: netem of").count();
    assert_eq!(removed, if code == Some(0) { 2 } else { 0 }, "{text}");
    assert!(show().iter().all(|shown| !shown.contains("netem")));
}
