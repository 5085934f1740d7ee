//! `godwit dccp` as a user runs it: two processes over loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn godwit(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.arg("dccp").args(words);
    command
}

/// A UDP port that nobody has just now.
fn free_port() -> String {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
    socket.local_addr().expect("it is bound").port().to_string()
}

/// A process that listens.
struct Listening {
    child: Child,
    port: String,
}

impl Listening {
    /// Starts it and waits until it says, to either output, that it listens.
    fn start(words: &[&str], says_to_stdout: bool) -> Self {
        let port = free_port();
        let mut child = godwit(words)
            .args(["--udp-port", &port])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        if says_to_stdout {
            let output = child.stdout.as_mut().expect("it is piped");
            BufReader::with_capacity(1, output).read_line(&mut line)
        } else {
            let output = child.stderr.as_mut().expect("it is piped");
            BufReader::with_capacity(1, output).read_line(&mut line)
        }
        .expect("it says something");
        assert!(line.contains("istening on DCCP port"), "{line}");
        Self { child, port }
    }

    /// Runs the other side.
    fn meet(&self, words: &[&str]) -> Output {
        godwit(words).args(["--udp-port", &self.port]).output().expect("the binary runs")
    }

    /// Its end: exit code and standard output.
    fn end(mut self) -> (Option<i32>, Vec<u8>) {
        let mut text = Vec::new();
        let output = self.child.stdout.as_mut().expect("it is piped");
        output.read_to_end(&mut text).expect("it can be read");
        (self.child.wait().expect("it was started here").code(), text)
    }
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

fn document(octets: &[u8]) -> Value {
    serde_json::from_slice(octets).unwrap_or_else(|error| panic!("{error}: {}", text(octets)))
}

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {value:#}"))
}

/// Both ends of a run tell the same of it: a document of each.
fn measured(words: &[&str]) -> [Value; 2] {
    let server = Listening::start(&["perf", "-s", "-1", "--json"], false);
    let client = server.meet(&[&["perf", "-c", "127.0.0.1", "--json"][..], words].concat());
    assert_eq!(client.status.code(), Some(0), "{}{}", text(&client.stdout), text(&client.stderr));
    let (code, output) = server.end();
    assert_eq!(code, Some(0), "{}", text(&output));
    [document(&client.stdout), document(&output)]
}

#[test]
fn perf_counts_what_the_receiver_read() {
    for ccid in ["2", "3"] {
        let words = ["-t", "0.5", "-i", "0.1", "-l", "1000", "-b", "4m", "--ccid", ccid];
        let [client, server] = measured(&words);
        for document in [&client, &server] {
            assert_eq!(number(document, "/schema_version"), 1.0);
            let direction = "/flows/0/directions/0";
            let sent = number(document, &format!("{direction}/sent/datagrams"));
            let never = number(document, &format!("{direction}/sent/never_sent"));
            let read = number(document, &format!("{direction}/received/datagrams"));
            let lost = number(document, &format!("{direction}/received/lost"));
            // Half a second of 4 Mbit/s in datagrams of 8,000 bits.
            assert_eq!(sent + never, 250.0, "{document:#}");
            assert_eq!(read + lost, sent, "{document:#}");
            assert_eq!(number(document, &format!("{direction}/received/bytes")), read * 1_000.0);
            assert_eq!(number(document, &format!("{direction}/ccid")).to_string(), ccid);
        }
        assert!(client["intervals"].as_array().is_some_and(|lines| lines.len() >= 3));
        assert_eq!((&client["role"], &server["role"]), (&"client".into(), &"server".into()));
    }
}

#[test]
fn the_server_sends_when_asked_to() {
    for words in [&["-R"][..], &["--bidir"], &["-R", "-P", "3", "--ccid", "3"]] {
        let words = [&["-t", "0.3", "-i", "0"], words].concat();
        let [client, server] = measured(&words);
        let flows = client["flows"].as_array().expect("there are flows");
        assert_eq!(flows.len(), if words.contains(&"-P") { 3 } else { 1 });
        for flow in flows {
            let from: Vec<_> =
                flow["directions"].as_array().expect("a list").iter().map(|d| &d["from"]).collect();
            let is_both = words.contains(&"--bidir");
            assert_eq!(from, if is_both { vec!["client", "server"] } else { vec!["server"] });
            for direction in flow["directions"].as_array().expect("a list") {
                assert!(number(direction, "/received/datagrams") > 10.0, "{client:#}");
                let sent = number(direction, "/sent/datagrams");
                let lost = number(direction, "/received/lost");
                assert_eq!(number(direction, "/received/datagrams") + lost, sent);
            }
        }
        assert_eq!(server["flows"].as_array().map(Vec::len), Some(flows.len()));
    }
}

#[test]
fn lines_are_for_people() {
    let server = Listening::start(&["perf", "-s", "-1", "-d", "-i", "0.2"], true);
    let client = server.meet(&["perf", "-d", "-c", "127.0.0.1", "-t", "0.5", "-i", "0.2"]);
    let said = text(&client.stdout);
    for part in ["bits/sec", "sec  ", "lost (", "sender: client, ccid 2", "receiver, cpu"] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    let (code, said) = server.end();
    assert_eq!(code, Some(0));
    assert!(text(&said).contains("receiver, cpu"), "{}", text(&said));
}

#[test]
fn a_rate_that_is_not_reached_falls_short() {
    let server = Listening::start(&["perf", "-s", "-1"], true);
    // One datagram in the send queue, and a window of four: far from a terabit.
    let words = ["-t", "0.2", "-b", "1000g", "--set", "tx_qlen=1"];
    let client = server.meet(&[&["perf", "-c", "127.0.0.1"][..], &words].concat());
    assert_eq!(client.status.code(), Some(3), "{}", text(&client.stderr));
    assert!(text(&client.stdout).contains("due and never sent"), "{}", text(&client.stdout));
    server.end();
}

#[test]
fn where_nobody_is_it_fails_and_says_why() {
    let port = free_port();
    let output =
        godwit(&["perf", "-c", "127.0.0.1", "--udp-port", &port]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("127.0.0.1 port 5001") && said.contains("refused"), "{said}");

    let server = Listening::start(&["perf", "-s", "-1", "--service-code", "SC:ABCD"], true);
    let output = server.meet(&["perf", "-c", "127.0.0.1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("Reset code 8"), "{}", text(&output.stderr));
    let output = server.meet(&["perf", "-c", "127.0.0.1", "-p", "5002"]);
    assert!(text(&output.stderr).contains("Reset code 7"), "{}", text(&output.stderr));
    let words = ["perf", "-c", "127.0.0.1", "-t", "0.1", "--service-code", "SC:ABCD"];
    assert_eq!(server.meet(&words).status.code(), Some(0));
    server.end();
}

#[test]
fn bad_arguments_are_told() {
    for words in [
        &["perf"][..],
        &["perf", "-s", "-c", "127.0.0.1"],
        &["perf", "-c", "127.0.0.1", "--ccid", "4"],
        &["perf", "-c", "127.0.0.1", "--ccid", "2", "--tx-ccid", "3"],
        &["perf", "-c", "127.0.0.1", "--set", "tx_qlen"],
        &["perf", "-c", "127.0.0.1", "--set", "seq_window=31"],
        &["perf", "-c", "127.0.0.1", "--set", "retries2=15"],
        &["perf", "-c", "127.0.0.1", "-b", "fast"],
        &["perf", "-c", "127.0.0.1", "-l", "20000"],
        &["ttcp", "-r", "-t", "127.0.0.1"],
        &["send"],
    ] {
        let output = godwit(words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_pipe_goes_through() {
    // No more than the receive queue holds, so that nothing is lost however slow the reader is.
    let input: Vec<u8> = (0..200_000_u32).map(|index| (index % 251) as u8).collect();
    let mut receiver = Listening::start(&["recv"], false);
    let mut sender = godwit(&["send", "127.0.0.1", "-l", "1000", "--udp-port", &receiver.port])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    sender.stdin.take().expect("it is piped").write_all(&input).expect("it is read");
    let sent = sender.wait_with_output().expect("it was started here");
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    assert!(text(&sent.stderr).contains("sent 200000 octets"), "{}", text(&sent.stderr));
    let mut said = String::new();
    let mut stderr = receiver.child.stderr.take().expect("it is piped");
    let (code, output) = receiver.end();
    stderr.read_to_string(&mut said).expect("it can be read");
    assert_eq!(code, Some(0), "{said}");
    assert!(output == input, "{} of {} octets: {said}", output.len(), input.len());
}

#[test]
fn ttcp_counts_at_both_ends() {
    let receiver = Listening::start(&["ttcp", "-c", "-l256", "-r"], true);
    let sender = receiver.meet(&["ttcp", "-c", "-l256", "-n1000", "-v", "-t", "127.0.0.1"]);
    let said = text(&sender.stdout);
    assert_eq!(sender.status.code(), Some(0), "{said}{}", text(&sender.stderr));
    assert!(said.contains("ttcp-t: 256000 bytes in ") && said.contains("1000 I/O calls"), "{said}");
    let (code, said) = receiver.end();
    assert_eq!(code, Some(0));
    let said = text(&said);
    assert!(said.contains("ttcp-r: ") && said.contains(" real seconds = "), "{said}");
}
