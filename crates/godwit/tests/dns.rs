//! `godwit dns` as a user meets it: load against the responder, two processes whose ledgers agree to the
//! packet; load against dnsmasq, whose answers are known; what is said of mistakes.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

use common::{TempFolder, require};
use serde_json::Value;

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");

/// A responder in a process of its own.
struct Echo {
    child: Option<Child>,
    /// Kept open, or the responder would write into nothing.
    said: BufReader<ChildStderr>,
    address: String,
}

impl Echo {
    fn start(flags: &[&str]) -> Self {
        let mut command = Command::new(GODWIT);
        command.args(["dns", "echo", "--listen", "127.0.0.1:0", "--json"]).args(flags);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("the responder speaks");
        let address = line.trim().strip_prefix("dns echo: answering on ").expect("an address");
        Self { child: Some(child), address: address.to_owned(), said }
    }

    /// Ends it by SIGTERM; its ledger.
    fn end(mut self) -> Value {
        let child = self.child.take().expect("it was started");
        let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(kill.expect("kill starts").success());
        let output = child.wait_with_output().expect("it was started");
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.said, &mut said).expect("plain text");
        assert!(output.status.success() && said.is_empty(), "{said}");
        serde_json::from_slice(&output.stdout).expect("one document")
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

fn load(flags: &[&str]) -> Output {
    let mut command = Command::new(GODWIT);
    command.args(["dns", "load"]).args(flags).stdin(Stdio::null());
    command.output().expect("the binary starts")
}

fn record(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

#[test]
fn two_ledgers_agree_to_the_packet() {
    let echo = Echo::start(&["--drop", "10%", "--duplicate", "10%", "--rcode", "SERVFAIL=10%"]);
    let words = ["-s", &echo.address, "--rate", "4000", "--duration", "0.25", "--linger-s", "0.5"];
    let output = load(&[&words[..], &["--ports", "8", "--json", "-"]].concat());
    assert!(output.status.success(), "{output:?}");
    let (load, echo) = (record(&output), echo.end());
    assert_eq!(load["schema"], "godwit.load.v1");
    assert_eq!(echo["schema"], "godwit.dns-echo.v1");
    assert_eq!(number(&load, "/messages/sent"), 1_000);
    assert_eq!(load["messages"]["sent"], echo["received"]);
    assert_eq!(load["messages"]["received"], echo["sent"]);
    assert_eq!(load["exchanges"]["lost"], echo["dropped"]);
    assert_eq!(load["answers"]["repeated"], echo["duplicated"]);
    assert_eq!(load["answers"]["rcodes"]["SERVFAIL"], echo["rcode_set"]);
    for fault in ["dropped", "duplicated", "rcode_set"] {
        assert!(echo[fault].as_u64() > Some(50), "{echo}");
    }
}

/// A private dnsmasq with a few names.
struct Dnsmasq {
    child: Child,
    address: String,
}

impl Dnsmasq {
    fn start(folder: &Path) -> Self {
        let port = common::free_port();
        let long = vec!["y".repeat(200); 30].join(",");
        let mut command = Command::new("dnsmasq");
        command.args(["-k", "-C", "/dev/null", "-a", "127.0.0.1", "--bind-interfaces", "-R", "-h"]);
        command.args([
            "--no-hosts",
            "--pid-file=",
            "--local=/example.org/",
            "-p",
            &port.to_string(),
        ]);
        command.arg("--host-record=a.example.org,192.0.2.7,2001:db8::7");
        command.arg(format!("--txt-record=long.example.org,{long}"));
        let log = fs::File::create(folder.join("dnsmasq.log")).expect("the folder can be written");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("dnsmasq starts");
        let dnsmasq = Self { child, address: format!("127.0.0.1:{port}") };
        dnsmasq.wait();
        dnsmasq
    }

    /// Asks until it answers.
    fn wait(&self) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
        socket.connect(&self.address).expect("loopback is there");
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a plain timeout");
        let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\x07example\x03org\0\0\x01\0\x01";
        let answers = (0..100).any(|_| {
            socket.send(query).ok();
            let refused_or_silent = socket.recv(&mut [0; 512]).is_err();
            if refused_or_silent {
                std::thread::sleep(Duration::from_millis(20));
            }
            !refused_or_silent
        });
        assert!(answers, "dnsmasq does not answer at {}", self.address);
    }
}

impl Drop for Dnsmasq {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_real_server_gives_the_answers_that_are_known() {
    if !require(&["dnsmasq"]) {
        return;
    }
    let folder = TempFolder::new("dns");
    let queries = folder.path().join("queries.txt");
    let text = "; five queries\na.example.org A\nA.EXAMPLE.org aaaa\nnone.example.org A\n\
                long.example.org TXT\nelsewhere.test MX\n";
    fs::write(&queries, text).expect("the folder can be written");
    let dnsmasq = Dnsmasq::start(folder.path());
    let queries = queries.to_str().expect("a plain path");
    let json = folder.path().join("record.json");
    let output = load(&[
        "-s",
        &dnsmasq.address,
        "-d",
        queries,
        "--rate",
        "1000",
        "--duration",
        "0.5",
        "--dnssec",
        "--edns",
        "1232",
        "--deadline-s",
        "20",
        "--max-loss",
        "21",
        "--json",
        json.to_str().expect("a plain path"),
    ]);
    let said = String::from_utf8(output.stdout.clone()).expect("plain text");
    assert!(output.status.success(), "{said} {output:?}");
    let text = fs::read_to_string(&json).expect("the record was written");
    let record: Value = serde_json::from_str(&text).expect("one document");
    let answers = &record["answers"];
    assert_eq!(number(&record, "/exchanges/sent"), 500);
    assert_eq!(
        answers["rcodes"],
        serde_json::json!({ "NOERROR": 300, "NXDOMAIN": 100, "REFUSED": 100 }),
        "{answers}"
    );
    assert_eq!((number(answers, "/truncated"), number(answers, "/unmatched")), (100, 0));
    assert_eq!(number(&record, "/exchanges/on_time"), 400);
    assert_eq!(number(&record, "/exchanges/nak"), 100);
    assert!(said.contains("NOERROR 300, NXDOMAIN 100, REFUSED 100; truncated 100"), "{said}");
    // Over TCP the long answer is whole: all of it is asked for there, or what was truncated is.
    for (flag, asked_again) in [("--tcp", 0), ("--tc-fallback", 100)] {
        let words = ["-s", &dnsmasq.address, "-d", queries, "--rate", "1000", "--duration", "0.5"];
        let more = ["--edns", "1232", "--deadline-s", "20", "--ports", "4", "--json", "-", flag];
        let output = load(&[&words[..], &more].concat());
        let record = self::record(&output);
        let answers = &record["answers"];
        let codes = serde_json::json!({ "NOERROR": 300, "NXDOMAIN": 100, "REFUSED": 100 });
        assert_eq!(answers["rcodes"], codes, "{flag} {record}");
        assert_eq!(number(answers, "/truncated"), 0, "{flag} {record}");
        assert_eq!(number(answers, "/asked_again"), asked_again, "{flag} {record}");
        assert_eq!(number(&record, "/exchanges/on_time"), 400, "{flag} {record}");
    }
}

#[test]
fn a_client_by_others_is_answered_over_tcp() {
    if !require(&["dnsperf"]) {
        return;
    }
    let folder = TempFolder::new("dns-tcp");
    let queries = folder.path().join("queries.txt");
    fs::write(&queries, "www.example.com A
example.com MX
").expect("it can be written");
    let echo = Echo::start(&["--truncate", "100%"]);
    let (address, port) = echo.address.split_once(':').expect("address and port");
    let mut command = Command::new("dnsperf");
    command.args(["-m", "tcp", "-s", address, "-p", port, "-n", "250", "-c", "5", "-d"]);
    let output = command.arg(&queries).stdin(Stdio::null()).output().expect("dnsperf starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("NOERROR 500 (100.00%)"), "{said}");
    let ledger = echo.end();
    assert_eq!((number(&ledger, "/tcp/received"), number(&ledger, "/tcp/sent")), (500, 500));
    assert_eq!((number(&ledger, "/tcp/connections"), number(&ledger, "/truncated")), (5, 0));
}

#[test]
fn a_service_that_falls_short_is_exit_code_3() {
    let echo = Echo::start(&["--rcode", "refused"]);
    let words = ["-s", &echo.address, "--rate", "100", "--duration", "0.1", "--max-loss"];
    assert_eq!(load(&[&words[..], &["99"]].concat()).status.code(), Some(3));
    assert_eq!(load(&[&words[..], &["100"]].concat()).status.code(), Some(0));
    assert_eq!(number(&echo.end(), "/rcode_set"), 20);
}

#[test]
fn mistakes_are_told() {
    let folder = TempFolder::new("dns-mistakes");
    let queries = folder.path().join("queries.txt");
    fs::write(&queries, "a.example A\n\nb..example A\nc.example\n").expect("it can be written");
    let queries = queries.to_str().expect("a plain path");
    let server = ["-s", "127.0.0.1:9", "--rate", "10"];
    for (flags, expected) in [
        (&["-d", queries][..], format!("error: {queries}:3:1: nothing between two dots\n")),
        (&["-d", queries], format!("error: {queries}:4:10: a type is missing\n")),
        (&["-d", "/nonexistent"], "error: cannot read /nonexistent: ".to_owned()),
        (&["--query", "x NOPE"], "error: --query:1:3: no type of record".to_owned()),
        (&["--dnssec", "--edns", "0"], "error: --dnssec takes EDNS".to_owned()),
        (&["--threads", "3"], "error: --ports 16: must be a multiple of --threads".to_owned()),
        (&["--rate", "1000001"], "error: the argument '--rate".to_owned()),
    ] {
        let output = load(&[&server[..], flags].concat());
        let said = String::from_utf8(output.stderr).expect("plain text");
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(&expected), "{flags:?}: {said}");
    }
    let echo = Echo::start(&[]);
    let mut command = Command::new(GODWIT);
    let second = command.args(["dns", "echo", "-l", &echo.address]).output().expect("it starts");
    let said = String::from_utf8(second.stderr).expect("plain text");
    let expected = format!("error: cannot bind a UDP socket to {}: ", echo.address);
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(said.starts_with(&expected), "{said}");
}
