//! Tests of `godwit dccp` as a user runs it: two processes over loopback.

mod flags;
mod interrupts;
mod link_local;
mod linux;
mod plain;
mod searches;
mod stages;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common::{self, TempFolder};
use serde_json::Value;

fn godwit(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.arg("dccp").args(words);
    command
}

/// Returns a free UDP port for the test.
fn free_port() -> String {
    common::free_port().to_string()
}

/// Process of `godwit dccp` that listens for connections.
struct DccpListenerProcess {
    child: Child,
    port: String,
}

impl DccpListenerProcess {
    /// Starts the process and waits until it prints, to either output, that it listens.
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
        assert!(line.contains("istening on DCCP port") || line.contains("on UDP port"), "{line}");
        Self { child, port }
    }

    /// Runs `godwit dccp` with `words`, which connects to the listening process.
    fn meet(&self, words: &[&str]) -> Output {
        godwit(words).args(["--udp-port", &self.port]).output().expect("the binary runs")
    }

    /// Waits for the end of the process, and returns exit code and standard output.
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

/// Returns the JSON documents of both ends of a run, which must agree.
fn measured(words: &[&str]) -> [Value; 2] {
    let server = DccpListenerProcess::start(&["perf", "-s", "-1", "--json"], false);
    let client = server.meet(&[&["perf", "-c", "127.0.0.1", "--json"][..], words].concat());
    // On a busy machine less than 95 % of a rate may arrive, which both ends report by exit code 3.
    let is_sound = |code| code == Some(0) || (code == Some(3) && words.contains(&"-b"));
    let output_text = format!("{}{}", text(&client.stdout), text(&client.stderr));
    assert!(is_sound(client.status.code()), "{:?}: {output_text}", client.status);
    let (code, output) = server.end();
    assert!(is_sound(code), "{code:?}: {}", text(&output));
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
        assert!(client["intervals"].as_array().is_some_and(|lines| !lines.is_empty()));
        assert_eq!((&client["role"], &server["role"]), (&"client".into(), &"server".into()));
    }
}

#[test]
fn plain_udp_is_measured_the_same_way() {
    let server = DccpListenerProcess::start(&["perf", "-u", "-s", "-1", "--json"], false);
    let words = ["perf", "-u", "-c", "127.0.0.1", "--json", "-t", "0.3", "-l", "1000"];
    let client = server.meet(&words);
    assert_eq!(client.status.code(), Some(0), "{}{}", text(&client.stdout), text(&client.stderr));
    let (code, output) = server.end();
    assert_eq!(code, Some(0), "{}", text(&output));
    for document in [document(&client.stdout), document(&output)] {
        assert_eq!(document["carrier"], "none, plain UDP");
        let direction = document.pointer("/flows/0/directions/0").expect("there is one");
        assert!(direction.get("ccid").is_none(), "{direction:#}");
        let [sent, read] =
            ["sent", "received"].map(|end| number(direction, &format!("/{end}/datagrams")));
        assert!(read > 0.0, "{direction:#}");
        assert_eq!(number(direction, "/received/lost"), sent - read);
        assert_eq!(number(direction, "/received/bytes"), read * 1_000.0);
    }
}

#[test]
fn the_server_sends_when_asked_to() {
    for words in [&["-R"][..], &["--bidir"], &["-R", "-P", "3", "--ccid", "3"]] {
        // So long that something is sent and arrives in it, on a machine that is held up, too.
        let words = [&["-t", "2", "-i", "0", "-b", "1m"], words].concat();
        let [client, server] = measured(&words);
        let flows = client["flows"].as_array().expect("there are flows");
        assert_eq!(flows.len(), if words.contains(&"-P") { 3 } else { 1 });
        for flow in flows {
            let from: Vec<_> =
                flow["directions"].as_array().expect("a list").iter().map(|d| &d["from"]).collect();
            let is_both = words.contains(&"--bidir");
            assert_eq!(from, if is_both { vec!["client", "server"] } else { vec!["server"] });
            for direction in flow["directions"].as_array().expect("a list") {
                assert!(number(direction, "/received/datagrams") > 0.0, "{client:#}");
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
    let server = DccpListenerProcess::start(&["perf", "-s", "-1", "-d", "-i", "0.2"], true);
    let client = server.meet(&["perf", "-d", "-c", "127.0.0.1", "-t", "0.5", "-i", "0.2"]);
    let output_text = text(&client.stdout);
    for part in ["bits/sec", "sec  ", "lost (", "sender: client, ccid 2", "receiver, cpu"] {
        assert!(output_text.contains(part), "no {part} in {output_text}");
    }
    let (code, output_text) = server.end();
    // In a moment nothing may arrive on a busy machine, which is told by 3.
    assert!(matches!(code, Some(0 | 3)), "{code:?}: {}", text(&output_text));
    assert!(text(&output_text).contains("receiver, cpu"), "{}", text(&output_text));
}

#[test]
fn a_rate_that_is_not_reached_falls_short() {
    let server = DccpListenerProcess::start(&["perf", "-s", "-1"], true);
    // One datagram in the send queue, and a window of four: far less than a terabit.
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
    let output_text = text(&output.stderr);
    assert!(
        output_text.contains("127.0.0.1 port 5001") && output_text.contains("refused"),
        "{output_text}"
    );

    let server =
        DccpListenerProcess::start(&["perf", "-s", "-1", "--service-code", "SC:ABCD"], true);
    let output = server.meet(&["perf", "-c", "127.0.0.1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("Reset code 8"), "{}", text(&output.stderr));
    let output = server.meet(&["perf", "-c", "127.0.0.1", "-p", "5002"]);
    assert!(text(&output.stderr).contains("Reset code 7"), "{}", text(&output.stderr));
    let words = ["perf", "-c", "127.0.0.1", "-t", "0.1", "--service-code", "SC:ABCD"];
    // In a moment nothing may arrive on a busy machine, which is told by 3.
    let code = server.meet(&words).status.code();
    assert!(matches!(code, Some(0 | 3)), "{code:?}");
    server.end();
}

#[test]
fn bad_arguments_are_told() {
    for words in [
        &["perf"][..],
        &["perf", "-s", "-c", "127.0.0.1"],
        &["perf", "-c", "127.0.0.1", "--ccid", "4"],
        &["perf", "-u", "-c", "127.0.0.1", "--ccid", "2"],
        &["perf", "-u", "-c", "127.0.0.1", "-b", "1m"],
        &["perf", "-c", "127.0.0.1", "--ccid", "2", "--tx-ccid", "3"],
        &["perf", "-c", "127.0.0.1", "--set", "tx_qlen"],
        &["perf", "-c", "127.0.0.1", "--set", "seq_window=31"],
        &["perf", "-c", "127.0.0.1", "--set", "retries2=15"],
        &["perf", "-c", "127.0.0.1", "-b", "fast"],
        &["perf", "-c", "127.0.0.1", "-l", "20000"],
        &["ttcp", "-r", "-t", "127.0.0.1"],
        &["conformance"],
        &["conformance", "--listen", "--target", "127.0.0.1"],
        &["conformance", "--listen", "--carrier", "raw"],
        &["conformance", "--target", "127.0.0.1", "--only", "HDR-99"],
        &["send"],
    ] {
        let output = godwit(words).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_pipe_goes_through() {
    // At most as much as the receive queue holds, so that a slow reader loses nothing.
    let input: Vec<u8> = (0..200_000_u32).map(|index| (index % 251) as u8).collect();
    let mut receiver = DccpListenerProcess::start(&["recv"], false);
    let mut sender = godwit(&["send", "127.0.0.1", "-l", "1000", "--udp-port", &receiver.port])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    sender.stdin.take().expect("it is piped").write_all(&input).expect("it is read");
    let sent = sender.wait_with_output().expect("it was started here");
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    assert!(text(&sent.stderr).contains("sent 200000 bytes"), "{}", text(&sent.stderr));
    let mut output_text = String::new();
    let mut stderr = receiver.child.stderr.take().expect("it is piped");
    let (code, output) = receiver.end();
    stderr.read_to_string(&mut output_text).expect("it can be read");
    assert_eq!(code, Some(0), "{output_text}");
    assert!(output == input, "{} of {} octets: {output_text}", output.len(), input.len());
}

/// Checks that a receiver reports its drops: DCCP has no flow control, so it drops datagrams after
/// 4,096 that its reader has not taken.
#[test]
fn recv_tells_what_it_dropped() {
    let mut receiver = DccpListenerProcess::start(&["recv"], false);
    let mut sender = godwit(&["send", "127.0.0.1", "-l", "100", "--udp-port", &receiver.port])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // No process reads its output: a pipe takes 64 KiB.
    let all = 6_000;
    let input = vec![7; all * 100];
    sender.stdin.take().expect("it is piped").write_all(&input).expect("it is read");
    let sent = sender.wait_with_output().expect("it was started here");
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent.stderr));
    let mut stderr = receiver.child.stderr.take().expect("it is piped");
    let (code, output) = receiver.end();
    let mut output_text = String::new();
    stderr.read_to_string(&mut output_text).expect("it can be read");
    assert_eq!(code, Some(0), "{output_text}");
    let line = output_text.lines().find(|line| line.ends_with("were not written in time"));
    let dropped = line.and_then(|line| line.split(' ').next()?.parse::<usize>().ok());
    let dropped = dropped.unwrap_or_else(|| panic!("{output_text}"));
    let read = output.len() / 100;
    // The kernel may have dropped some on the way.
    assert!(
        (1..=all - read).contains(&dropped),
        "{dropped} dropped and {read} read: {output_text}"
    );
}

#[test]
fn ttcp_counts_at_both_ends() {
    let receiver = DccpListenerProcess::start(&["ttcp", "-c", "-l256", "-r"], true);
    let sender = receiver.meet(&["ttcp", "-c", "-l256", "-n1000", "-v", "-t", "127.0.0.1"]);
    let output_text = text(&sender.stdout);
    assert_eq!(sender.status.code(), Some(0), "{output_text}{}", text(&sender.stderr));
    assert!(
        output_text.contains("ttcp-t: 256000 bytes in ") && output_text.contains("1000 I/O calls"),
        "{output_text}"
    );
    assert!(
        output_text.contains("\nttcp-t: cwnd ") && output_text.contains(", ssthresh "),
        "{output_text}"
    );
    let (code, output_text) = receiver.end();
    assert_eq!(code, Some(0));
    let output_text = text(&output_text);
    assert!(
        output_text.contains("ttcp-r: ") && output_text.contains(" real seconds = "),
        "{output_text}"
    );
}

#[test]
fn conformance_judges_our_own_listener() {
    let words = ["conformance", "--listen", "--service-code", "SC:CONF"];
    let listener = DccpListenerProcess::start(&words, true);
    let folder = TempFolder::new("conformance");
    let file = file_in(&folder, "result.json");
    let client = ["conformance", "--target", "127.0.0.1", "--service-code", "SC:CONF"];
    let only = ["--only", "hdr", "--only", "CON-18", "--wait", "10", "--json", &file];
    let output = listener.meet(&[&client[..], &only].concat());
    let output_text = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output_text}{}", text(&output.stderr));
    assert!(
        output_text.contains("pass HDR-12") && output_text.contains("n/a  CON-18"),
        "{output_text}"
    );
    assert!(output_text.ends_with("12 passed, 0 failed, 1 not applicable\n"), "{output_text}");
    let octets = std::fs::read(&file).expect("the file was written");
    let document = document(&octets);
    assert_eq!(number(&document, "/schema_version"), 1.0);
    assert_eq!(number(&document, "/passed"), 12.0);
    assert_eq!(document["cases"][0]["case"], "HDR-01");
    assert_eq!(document["cases"][0]["packets"][0]["from_target"], false);

    let output = listener.meet(&[&client[..4], &["SC:ELSE", "--wait", "0.2"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let error_text = text(&output.stderr);
    assert!(error_text.contains("no connection to 127.0.0.1"), "{error_text}");
    a_lost_refusal_fails_the_case(listener, client);
}

/// Plays the cases of refused connections through a relay that drops the refusal of a service.
fn a_lost_refusal_fails_the_case(listener: DccpListenerProcess, client: [&str; 5]) {
    // A relay that drops the refusal of a service.
    let relay = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
    let far_socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
    let port = relay.local_addr().expect("it is bound").port().to_string();
    let behind = format!("127.0.0.1:{}", listener.port);
    std::thread::scope(|scope| {
        let suite = scope.spawn(move || {
            let words =
                ["--udp-port", &port, "--only", "CON-02", "--only", "CON-03", "--wait", "10"];
            godwit(&[&client[..], &words].concat()).output().expect("the binary runs")
        });
        let mut buffer = [0; 2_000];
        for socket in [&relay, &far_socket] {
            socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket may wait");
        }
        let mut client = None;
        while !suite.is_finished() {
            if let Ok((len, source)) = relay.recv_from(&mut buffer) {
                client = Some(source);
                far_socket.send_to(&buffer[..len], &behind).expect("loopback takes it");
            }
            // An answer may come long after its question.
            while let Ok(len) = far_socket.recv(&mut buffer) {
                let is_passed_on = buffer[8] >> 1 != 7 || buffer[24] != 8;
                if let Some(client) = client.filter(|_| is_passed_on) {
                    relay.send_to(&buffer[..len], client).expect("loopback takes it");
                }
            }
        }
        let output = suite.join().expect("it does not panic");
        let output_text = text(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{output_text}{}", text(&output.stderr));
        assert!(
            output_text.contains("pass CON-02") && output_text.contains("FAIL CON-03"),
            "{output_text}"
        );
        assert!(
            output_text.contains("expected: Reset code 8") && output_text.contains("> Request seq"),
            "{output_text}"
        );
    });
    let mut listener = listener;
    listener.child.kill().expect("it was started here");
    listener.child.wait().expect("it was started here");
}

#[test]
fn conformance_lists_its_cases() {
    let output = godwit(&["conformance", "--list"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    let output_text = text(&output.stdout);
    assert_eq!(output_text.lines().count(), 147);
    assert!(
        output_text.lines().filter(|line| line.ends_with("[outside]")).count() >= 80,
        "{output_text}"
    );
    let output = godwit(&["conformance", "--list", "--only", "SEQ"]).output().expect("it runs");
    assert_eq!(text(&output.stdout).lines().count(), 18);
}

/// Returns the path of the file `name` in `folder`, as an argument of a command.
fn file_in(folder: &TempFolder, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

#[test]
fn a_probe_tells_what_congestion_control_knew() {
    let folder = TempFolder::new("probe");
    for (profile, known) in [(2_u64, "cwnd"), (3, "x_recv")] {
        let ccid = &profile.to_string();
        let (file, page) = (file_in(&folder, ccid), file_in(&folder, "page.html"));
        let flags = ["-t", "0.5", "-b", "8m", "--ccid", ccid, "-P", "2"];
        let [client, _] =
            measured(&[&flags[..], &["--probe", &file, "--probe-interval", "0.005"]].concat());
        let shown = godwit(&["probe", &file, "--json", "--html", &page]).output().expect("it runs");
        assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
        let shown = document(&shown.stdout);
        let samples = shown["samples"].as_array().expect("samples");
        assert!(!samples.is_empty());
        assert!(samples.iter().all(|sample| sample["ccid"] == profile));
        assert!(samples.iter().all(|sample| sample["rtt_us"].is_u64() && sample[known].is_u64()));
        // The samples' sum is the amount that was sent.
        for flow in 0..2 {
            let local = client["flows"][flow]["local"].as_str().expect("an address");
            let source = local.replace(" port ", ":");
            let mut before_us = 0;
            let mut bytes = 0.0;
            for sample in samples.iter().filter(|sample| sample["source"] == source.as_str()) {
                let at_us = sample["at_us"].as_u64().expect("a time");
                bytes += number(sample, "/rate") * (at_us - before_us) as f64 / 1e6;
                before_us = at_us;
            }
            let pointer = format!("/flows/{flow}/directions/0/sent/bytes");
            let share = bytes / number(&client, &pointer);
            // Data sent after the last sample, which may be long before the end, is missing in the
            // sum.
            assert!(share > 0.0 && share < 1.001, "{share} of what was sent by {source}");
        }
        let page = std::fs::read_to_string(page).expect("the page was written");
        assert!(page.contains("data-chart=\"rate\"") && page.contains("data-chart=\"rtt\""));
        let lines = godwit(&["probe", &file, "-i", "0.1"]).output().expect("it runs");
        assert!(text(&lines.stdout).contains("bits/sec  rtt "), "{}", text(&lines.stdout));
    }
    let no_probe = file_in(&folder, "text");
    std::fs::write(&no_probe, "this is no probe\nat all\n").expect("it can be written");
    let refused = godwit(&["probe", &no_probe]).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("1: this is not a time"), "{}", text(&refused.stderr));
}
