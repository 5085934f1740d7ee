//! Tests of `godwit dns` as a user sees it: load against the responder, as two processes whose
//! counts agree to the packet; load against dnsmasq, whose answers are known; messages about
//! mistakes.

use crate::common;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

use crate::common::link::{CLIENT_END, LinkNamespaces, SERVER_END};
use crate::common::{PATIENCE, TempFolder, require, waited_until};
use serde_json::Value;

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");

/// Responder in a process of its own.
pub(crate) struct DnsEchoProcess {
    child: Option<Child>,
    /// Standard error of the responder, kept open because a closed pipe would break its output.
    stderr: BufReader<ChildStderr>,
    pub(crate) address: String,
}

impl DnsEchoProcess {
    pub(crate) fn start(flags: &[&str]) -> Self {
        let mut command = Command::new(GODWIT);
        command.args(["dns", "echo", "--listen", "127.0.0.1:0", "--json"]).args(flags);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("the responder speaks");
        let address = line.trim().strip_prefix("dns echo: answering on ").expect("an address");
        Self { child: Some(child), address: address.to_owned(), stderr }
    }

    /// Ends the responder by SIGTERM and returns its counts.
    fn end(mut self) -> Value {
        let child = self.child.take().expect("it was started");
        let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(kill.expect("kill starts").success());
        let output = child.wait_with_output().expect("it was started");
        let mut output_text = String::new();
        std::io::Read::read_to_string(&mut self.stderr, &mut output_text).expect("plain text");
        assert!(output.status.success() && output_text.is_empty(), "{output_text}");
        serde_json::from_slice(&output.stdout).expect("one document")
    }
}

impl Drop for DnsEchoProcess {
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
    let echo =
        DnsEchoProcess::start(&["--drop", "10%", "--duplicate", "10%", "--rcode", "SERVFAIL=10%"]);
    let words = ["-s", &echo.address, "--rate", "500", "--duration", "2", "--linger-s", "2"];
    // No answer is late.
    let more = ["--deadline-s", "20", "--ports", "8", "--json", "-"];
    let output = load(&[&words[..], &more].concat());
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

/// Private dnsmasq with a few names.
struct Dnsmasq {
    child: Child,
    pub(crate) address: String,
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
        wait_for(&dnsmasq.address);
        dnsmasq
    }
}

/// Sends queries for `a.example.org A` to the server at `address` until it answers.
fn wait_for(address: &str) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    socket.connect(address).expect("loopback is there");
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a plain timeout");
    let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\x07example\x03org\0\0\x01\0\x01";
    let answers = waited_until(|| {
        socket.send(query).ok();
        socket.recv(&mut [0; 512]).is_ok()
    });
    assert!(answers, "no server answers at {address}");
}

impl Drop for Dnsmasq {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Private BIND named that answers no query with only a client's part of a cookie.
struct BindProcess {
    child: Child,
    pub(crate) address: String,
}

impl BindProcess {
    fn start(folder: &Path) -> Self {
        let (port, folder_path) = (common::free_port(), folder.display());
        let config = format!(
            "options {{ directory \"{folder_path}\"; listen-on port {port} {{ 127.0.0.1; }};
             listen-on-v6 {{ none; }}; pid-file none; session-keyfile none; recursion no;
             dnssec-validation no; require-server-cookie yes; }};
             controls {{ }};
             zone \"example.org\" {{ type primary; file \"zone\"; notify no; }};\n"
        );
        let zone = "@ 60 SOA ns a 1 2 3 4 5\n@ 60 NS ns\nns 60 A 127.0.0.1\na 60 A 192.0.2.7\n";
        fs::write(folder.join("zone"), zone).expect("the folder can be written");
        fs::write(folder.join("named.conf"), config).expect("the folder can be written");
        let log = fs::File::create(folder.join("named.log")).expect("the folder can be written");
        let mut command = Command::new("named");
        command.arg("-g").arg("-c").arg(folder.join("named.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("named starts");
        let named = Self { child, address: format!("127.0.0.1:{port}") };
        wait_for(&named.address);
        named
    }
}

impl Drop for BindProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_server_is_asked_at_the_address_of_its_link_whatever_names_the_interface() {
    let Some(link) = LinkNamespaces::new() else { return };
    link.join_by_ipv6(SERVER_END, CLIENT_END);
    let mut command = link.at_server();
    command.args([GODWIT, "dns", "echo", "--listen", &format!("[fe80::1%{SERVER_END}]:5300")]);
    let mut child =
        command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("the responder speaks");
    let _echo = DnsEchoProcess { child: Some(child), address: String::new(), stderr };
    assert!(line.starts_with("dns echo: answering on [fe80::1%"), "{line}");
    let index =
        link.opened_at_client(|| netio::interface::named(CLIENT_END).expect("it is there").index);
    let asking = |words: &str| {
        let mut command = link.at_client();
        command.args([GODWIT, "dns", "load"]).args(words.split(' '));
        command.args(["--rate", "50", "--duration", "0.1", "--deadline-s", "120", "--json", "-"]);
        command.output().expect("the binary starts")
    };
    let output = asking("-s fe80::1 -p 5300");
    assert_eq!(output.status.code(), Some(2), "no interface is named: {output:?}");
    for words in [
        format!("-s [fe80::1%{CLIENT_END}]:5300"),
        format!("-s fe80::1%{CLIENT_END} -p 5300"),
        format!("-s fe80::1%{index} -p 5300"),
        format!("-s fe80::1%{CLIENT_END} -p 5300 --tcp"),
        format!("-s fe80::1 -p 5300 -a fe80::2%{CLIENT_END}"),
    ] {
        let output = asking(&words);
        let rcodes = &record(&output)["answers"]["rcodes"];
        assert_eq!(rcodes, &serde_json::json!({ "NOERROR": 5 }), "{words}");
    }
}

#[test]
fn bind_takes_the_cookies_that_it_gave() {
    if !require(&["named"]) {
        return;
    }
    let folder = TempFolder::new("cookie");
    let named = BindProcess::start(folder.path());
    let words = ["-s", &named.address, "--query", "a.example.org A", "--rate", "50"];
    let more = ["--duration", "0.2", "--deadline-s", "120", "--json", "-"];
    let rcodes = |option: &[&str]| {
        let output = load(&[&words[..], &more, option].concat());
        let output_text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && output_text.is_empty(), "{output_text}");
        record(&output)["answers"]["rcodes"].clone()
    };
    assert_eq!(rcodes(&["--cookie"]), serde_json::json!({ "NOERROR": 10 }));
    assert_eq!(rcodes(&["--cookie", "--tcp"]), serde_json::json!({ "NOERROR": 10 }));
    // Only a client's part, and a server's part of another server.
    for cookie in ["10:0011223344556677", "10:00112233445566770011223344556677"] {
        assert_eq!(rcodes(&["-E", cookie]), serde_json::json!({ "BADCOOKIE": 10 }));
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
        // 500 queries, few at a time: dnsmasq's socket holds less than 300.
        "-q",
        "20",
        "-n",
        "100",
        "--dnssec",
        "--edns",
        "1232",
        "--deadline-s",
        "120",
        "--max-loss",
        "21",
        "--json",
        json.to_str().expect("a plain path"),
    ]);
    let output_text = String::from_utf8(output.stdout.clone()).expect("plain text");
    assert!(output.status.success(), "{output_text} {output:?}");
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
    assert!(
        output_text.contains("NOERROR 300, NXDOMAIN 100, REFUSED 100; truncated 100"),
        "{output_text}"
    );
    // Over TCP the long answer is whole: the load sends either all queries there or only those with
    // a truncated answer. Dnsmasq closes a connection after 100 queries, which eight connections do
    // not reach.
    for (flag, asked_again) in [("--tcp", 0), ("--tc-fallback", 100)] {
        let words = ["-s", &dnsmasq.address, "-d", queries, "-q", "20", "-n", "100"];
        let more = ["--edns", "1232", "--deadline-s", "120", "--ports", "8", "--json", "-", flag];
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
    fs::write(
        &queries,
        "www.example.com A
example.com MX
",
    )
    .expect("it can be written");
    let echo = DnsEchoProcess::start(&["--truncate", "100%"]);
    let (address, port) = echo.address.split_once(':').expect("address and port");
    let mut command = Command::new("dnsperf");
    command.args(["-f", "inet", "-m", "tcp", "-s", address, "-p", port]);
    command.args(["-n", "250", "-c", "5", "-t", "300", "-d"]);
    let output = command.arg(&queries).stdin(Stdio::null()).output().expect("dnsperf starts");
    let [output_text, error] =
        [&output.stdout, &output.stderr].map(|octets| String::from_utf8_lossy(octets));
    let is_whole = output_text.contains("NOERROR 500 (100.00%)");
    assert!(is_whole, "dnsperf: {}\n{output_text}\n{error}", output.status);
    let ledger = echo.end();
    assert_eq!((number(&ledger, "/tcp/received"), number(&ledger, "/tcp/sent")), (500, 500));
    assert_eq!((number(&ledger, "/tcp/connections"), number(&ledger, "/truncated")), (5, 0));
}

#[test]
fn a_service_that_falls_short_is_exit_code_3() {
    let echo = DnsEchoProcess::start(&["--rcode", "refused"]);
    let words =
        ["-s", &echo.address, "--rate", "100", "--duration", "0.1", "-t", "120", "--max-loss"];
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
        (&["-d", queries][..], format!("error: {queries}:3:1: an empty label between two dots\n")),
        (&["-d", queries], format!("error: {queries}:4:10: the type is missing\n")),
        (&["-d", "/nonexistent"], "error: cannot read /nonexistent: ".to_owned()),
        (&["--query", "x NOPE"], "error: --query:1:3: invalid record type".to_owned()),
        (&["--dnssec", "--edns", "0"], "error: --dnssec needs EDNS".to_owned()),
        (
            &["--threads", "20"],
            "error: --ports 16: must be 20 to 20480 with --threads 20".to_owned(),
        ),
        (&["--rate", "1000001"], "error: the argument '--rate".to_owned()),
    ] {
        let output = load(&[&server[..], flags].concat());
        let output_text = String::from_utf8(output.stderr).expect("plain text");
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {output_text}");
        assert!(output_text.contains(&expected), "{flags:?}: {output_text}");
    }
    let echo = DnsEchoProcess::start(&[]);
    let mut command = Command::new(GODWIT);
    let second = command.args(["dns", "echo", "-l", &echo.address]).output().expect("it starts");
    let output_text = String::from_utf8(second.stderr).expect("plain text");
    let expected = format!("error: cannot bind a UDP socket to {}: ", echo.address);
    assert_eq!(second.status.code(), Some(1), "{output_text}");
    assert!(output_text.starts_with(&expected), "{output_text}");
}

/// Returns a classic pcap file of bare IPv4 packets: queries to port 53 from loopback, each with
/// its time.
fn capture(queries: &[(u64, &[u8])]) -> Vec<u8> {
    use base::ByteWriter;
    use packet_wire::pcap::{self, ByteOrder, LINK_RAW_IP, Resolution};
    use packet_wire::{ipv4, protocol, udp};
    let address = std::net::Ipv4Addr::LOCALHOST;
    let mut file = pcap::CaptureWriter::new(LINK_RAW_IP, ByteOrder::Big, Resolution::Microseconds);
    for (time_ns, query) in queries {
        let mut buffer = [0; 512];
        let mut writer = ByteWriter::new(&mut buffer);
        let bytes = udp::HEADER_LEN + query.len();
        ipv4::Header::new(protocol::UDP, address, address).emit(bytes, &mut writer);
        let (from, to) = ((address, 999).into(), (address, 53).into());
        writer.put(&udp::header_for(from, to, query)).put(query);
        file.packet(*time_ns, writer.written());
    }
    file.into_octets()
}

/// Receives `count` queries at `socket`, sends them back as answers, and returns the queries
/// without their identifiers.
fn turned(socket: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
    let mut octets = [0; 512];
    let turn = |_| {
        let (len, from) = socket.recv_from(&mut octets).expect("a query comes");
        octets[2] |= 0x80;
        socket.send_to(&octets[..len], from).expect("loopback takes it");
        octets[2] &= !0x80;
        octets[2..len].to_vec()
    };
    (0..count).map(turn).collect()
}

/// Returns the queries that `godwit dns load` with these flags sends to a server that returns
/// `count` queries, and its record.
fn sent_by_load(flags: &[&str], count: usize) -> (Vec<Vec<u8>>, Value) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    socket.set_read_timeout(Some(PATIENCE)).expect("a plain timeout");
    let address = socket.local_addr().expect("it is bound").to_string();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| turned(&socket, count));
        let more = ["-s", &address, "--deadline-s", "120", "--json", "-"];
        let output = load(&[&more[..], flags].concat());
        assert!(output.status.success(), "{output:?}");
        (server.join().expect("queries came"), record(&output))
    })
}

#[test]
fn queries_of_a_capture_go_as_they_were_in_their_order() {
    // By dig: RD and AD, EDNS of 1232 bytes with a cookie; and a plain one without RD.
    let first: &[u8] = b"\x4a\x02\x01\x20\0\x01\0\0\0\0\0\x01\x03www\x07example\x03org\0\0\x1c\0\x01\
                         \0\0\x29\x04\xd0\0\0\0\0\0\x0c\0\x0a\0\x08\x61\xd3\x92\x24\xf6\x54\x1a\x0c";
    let second: &[u8] = b"\0\x07\0\0\0\x01\0\0\0\0\0\0\x07example\x03org\0\0\x0f\0\x01";
    let folder = TempFolder::new("dns-capture");
    let path = folder.path().join("queries.pcap");
    let ms = 1_000_000;
    let file =
        capture(&[(7 * ms, first), (8 * ms, second), (9 * ms, b"no query"), (60 * ms, first)]);
    fs::write(&path, file).expect("it can be written");
    let path = path.to_str().expect("a plain path");
    let expected = [&first[2..], &second[2..], &first[2..]];
    let (sent, record) = sent_by_load(&["-d", path, "--replay-times"], 3);
    assert_eq!(sent, expected);
    assert_eq!(record["settings"]["shape"], "replay of 3");
    assert_eq!(number(&record, "/exchanges/on_time"), 3, "{record}");
    // At a rate, over and over.
    let (sent, _) = sent_by_load(&["-d", path, "--rate", "100", "--duration", "0.07"], 7);
    assert_eq!(sent[3..6], expected);
    for (flags, expected_text) in [
        (&["-d", path, "--rate", "1", "--no-recursion"][..], "are sent unchanged"),
        (&["-d", "/dev/null", "--replay-times"], "--replay-times needs a capture; /dev/null"),
    ] {
        let output = load(&[&["-s", "127.0.0.1:9"][..], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected_text), "{output:?}");
    }
}

#[test]
fn the_query_of_the_slides_is_theirs_to_the_octet() {
    // The payload of the frame on the slides after its identifier.
    let slides: &[u8] = b"\x01\0\0\x01\0\0\0\0\0\x01\x03www\x06google\x03com\0\0\x1c\0\x01\
                          \0\0\x29\x10\0\0\0\0\0\0\0";
    let (sent, _) = sent_by_load(&["--slides", "--rate", "100", "--duration", "0.05"], 5);
    assert_eq!(sent, [slides; 5]);
    // Ethernet, IPv4 and UDP take 42 bytes, the identifier two.
    assert_eq!(42 + 2 + slides.len(), 85);
    for flag in [&["--query", "x A"][..], &["--edns", "512"], &["--dnssec"], &["-d", "x"]] {
        let words = ["-s", "127.0.0.1:9", "--rate", "1", "--slides"];
        assert_eq!(load(&[&words[..], flag].concat()).status.code(), Some(2), "{flag:?}");
    }
}

#[test]
fn metrics_have_what_the_schema_of_dns_metrics_requires() {
    let folder = TempFolder::new("dns-metrics");
    let path = folder.path().join("metrics.json");
    let file = path.to_str().expect("a plain path");
    for transport in [&[][..], &["--tcp"]] {
        let echo = DnsEchoProcess::start(&["--rcode", "refused=20%", "--drop", "10%"]);
        let words = ["-s", &echo.address, "--rate", "1000", "--duration", "0.5", "--drain-s", "0"];
        // The generator waits this long for the replies to dropped queries.
        let more = ["-t", "10", "--timeline-s", "0.1", "--metrics", file, "--json", "-"];
        let output = load(&[&words[..], &more, transport].concat());
        assert!(output.status.success(), "{output:?}");
        let record = record(&output);
        let text = fs::read_to_string(&path).expect("it was written");
        let objects: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
        let kinds: Vec<_> = objects.iter().map(|object| object["type"].as_str()).collect();
        assert_eq!(
            (kinds[0], kinds[1], kinds.last()),
            (Some("header"), Some("stats_periodic"), Some(&Some("stats_sum")))
        );
        for object in &objects {
            assert!(object["runid"].is_string() && object["runid"] == objects[0]["runid"]);
            if object["type"] != "header" {
                let since = object["since"].as_u64().expect("it is required");
                assert!(object["until"].as_u64().expect("it is required") > since);
                // Nanoseconds since 1970: after 2020.
                assert!(since > 1_577_836_800_000_000_000, "{object}");
                assert!(object["queries"].is_u64() && object["responses"].is_u64(), "{object}");
            }
        }
        let header = &objects[0];
        assert!(header["schema_version"].is_u64() && header["generator"].is_string(), "{header}");
        assert!(header["generator_version"].is_string() && header["stats_interval"] == 0.1);
        assert_eq!(header["generator_params"][0], "dns");
        let sum = objects.last().expect("there are some");
        assert_eq!(sum["queries"], record["exchanges"]["sent"]);
        assert_eq!(sum["timeouts"], record["exchanges"]["lost"]);
        assert_eq!(sum["response_rcodes"], record["answers"]["rcodes"]);
        for name in ["/queries", "/responses", "/timeouts"] {
            let intervals = &objects[1..objects.len() - 1];
            let added: u64 = intervals.iter().map(|interval| number(interval, name)).sum();
            assert_eq!(added, number(sum, name), "{name}");
        }
        let latency = &sum["response_latency"];
        let numbers = ["avg", "min", "max", "stddev"].map(|name| latency[name].as_u64());
        assert!(numbers.iter().all(Option::is_some), "{latency}");
        let buckets = latency["buckets"].as_array().expect("a list");
        let counted: u64 = buckets.iter().map(|bucket| number(bucket, "/2")).sum();
        assert_eq!(counted, number(sum, "/responses"));
        let connections = &sum["conn_info"];
        assert_eq!(connections["type"], if transport.is_empty() { "udp" } else { "tcp" });
        assert_eq!(connections["packets_sent"], record["messages"]["sent"]);
        assert_eq!(connections["packets_received"], record["messages"]["received"]);
        assert_eq!(connections["handshakes"].is_u64(), !transport.is_empty());
    }
}

#[test]
fn a_run_without_any_answer_ends_with_3_and_its_cause() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let server = socket.local_addr().expect("it is bound").to_string();
    let words = ["--rate", "100", "--duration", "0.1", "--deadline-s", "0.1", "--drain-s", "0.1"];
    let output = load(&[&words[..], &["-s", &server]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output_text.contains("no answer at all from") && output_text.contains("firewall"),
        "{output_text}"
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("p50 -, p99 -"), "{text}");

    let port = socket.local_addr().expect("it is bound").port();
    drop(socket);
    // Programs that other tests have just started may have the socket, too, until they run.
    assert!(waited_until(|| !common::ports::is_taken(port)), "nobody has port {port} any more");
    let output = load(&[&words[..], &["-s", &server]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert!(output_text.contains(&format!("nothing listens at {server}")), "{output_text}");
}

#[test]
fn letters_and_host_names_are_taken_as_by_dnsperf() {
    let echo = DnsEchoProcess::start(&[]);
    let port = echo.address.rsplit(':').next().expect("a port").to_owned();
    let folder = TempFolder::new("dns-letters");
    let file = folder.path().join("queries");
    fs::write(&file, "a.example A\nb.example AAAA\n").expect("the folder can be written");
    let file = file.to_str().expect("a plain path");
    let words = ["-s", "localhost", "-a", "127.0.0.1", "-p", &port, "-d", file, "-Q", "200"];
    for (more, sent) in [
        (&["-l", "0.1", "-c", "2", "-t", "120", "-T", "2", "-m", "udp"][..], 20),
        (&["-n", "5", "-t", "120"], 10),
        (&["-n", "3", "-t", "120", "-m", "tcp", "-c", "1"], 6),
    ] {
        let output = load(&[&words[..], more, &["--json", "-"]].concat());
        assert!(output.status.success(), "{more:?}: {output:?}");
        assert_eq!(number(&record(&output), "/exchanges/on_time"), sent, "{more:?}");
    }
    // Closed loop: as many as it takes, five at a time.
    let words = ["-s", &echo.address, "-q", "5", "-n", "500", "-t", "120", "-d", file];
    let output = load(&[&words[..], &["--json", "-"]].concat());
    let record = record(&output);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(number(&record, "/exchanges/due"), 1_000);
    assert_eq!(number(&record, "/exchanges/lost"), 0, "{record}");
    for (words, expected_text) in [
        (&["-s", "no such host", "-Q", "1"][..], "neither an address nor the name of a known host"),
        (&["-s", "127.0.0.1:x", "-Q", "1"], "x is not a port"),
    ] {
        let output = load(words);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected_text), "{output:?}");
    }
}

#[test]
fn without_a_rate_the_highest_is_searched_for() {
    let echo = DnsEchoProcess::start(&["--capacity", "1500"]);
    let output = load(&["-s", &echo.address, "-l", "0.3", "--deadline-s", "0.5", "--json", "-"]);
    let output_text = String::from_utf8_lossy(&output.stderr).into_owned();
    // A busy machine may fail at any rate; the found rate must be at most that of the responder.
    let lines = output_text.lines().filter(|line| line.contains(" queries/s, ")).count();
    assert!(lines >= 2 && output_text.contains("% in time"), "{output_text}");
    if output.status.success() {
        let rate = record(&output)["offered_per_s"].as_f64().expect("a number");
        assert!(rate < 2_500.0, "{rate} {output_text}");
    } else {
        assert_eq!(output.status.code(), Some(3), "{output_text}");
    }
}

#[test]
fn more_ports_than_the_soft_limit_of_open_files_are_opened() {
    if !require(&["prlimit"]) {
        return;
    }
    let echo = DnsEchoProcess::start(&[]);
    let output = Command::new("prlimit")
        .args(["--nofile=80:2000", "--", GODWIT, "dns", "load", "-s", &echo.address])
        .args(["--rate", "1000", "--duration", "0.3", "--ports", "256"])
        .args(["--deadline-s", "120", "--json", "-"])
        .output()
        .expect("prlimit starts");
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{output_text}");
    assert_eq!(number(&record(&output), "/exchanges/due"), 300, "{output_text}");
    echo.end();
}
