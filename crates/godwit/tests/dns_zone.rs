//! Tests of `godwit dns zone` as a user sees it: third-party servers read the zone and give, over
//! UDP and TCP, the answers that `godwit dns load --zone-like` expects; it reports answers from
//! another zone as wrong.

use crate::common;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common::{TempFolder, require, waited_until};
use serde_json::Value;

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");

fn godwit(words: &[&str]) -> Output {
    Command::new(GODWIT).args(words).stdin(Stdio::null()).output().expect("the binary starts")
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

/// Third-party server with the zone `godwit.test` from `FOLDER/zone`.
struct ZoneServer {
    child: Child,
    address: String,
}

impl ZoneServer {
    fn start(program: &str, folder: &Path) -> Self {
        let port = common::free_port();
        let folder_path = folder.display();
        let (file, text, words) = match program {
            "named" => (
                "named.conf",
                format!(
                    "options {{ directory \"{folder_path}\"; pid-file \"{folder_path}/pid\"; recursion no; \
                     session-keyfile \"{folder_path}/session.key\"; listen-on-v6 {{ none; }}; \
                     listen-on port {port} {{ 127.0.0.1; }}; dnssec-validation no; \
                     empty-zones-enable no; minimal-responses yes; }}; controls {{ }};\n\
                     zone \"godwit.test\" {{ type primary; file \"zone\"; }};\n"
                ),
                vec!["-g", "-n", "1", "-c"],
            ),
            _ => (
                "nsd.conf",
                format!(
                    "server:\n  ip-address: 127.0.0.1@{port}\n  username: \"\"\n  chroot: \"\"\n  \
                     zonesdir: \"{folder_path}\"\n  database: \"\"\n  pidfile: \"{folder_path}/pid\"\n  \
                     xfrdfile: \"{folder_path}/xfrd\"\n  xfrdir: \"{folder_path}\"\n  \
                     zonelistfile: \"{folder_path}/list\"\n  cookie-secret-file: \"{folder_path}/cookies\"\n  \
                     rrl-ratelimit: 0\n  rrl-whitelist-ratelimit: 0\n\
                     remote-control:\n  control-enable: no\n\
                     zone:\n  name: \"godwit.test\"\n  zonefile: \"zone\"\n"
                ),
                vec!["-d", "-c"],
            ),
        };
        let path = folder.join(file);
        fs::write(&path, text).expect("the folder can be written");
        let log = fs::File::create(folder.join(format!("{program}.log"))).expect("a log");
        let mut command = Command::new(format!("/usr/sbin/{program}"));
        command.args(words).arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("the server starts");
        let server = Self { child, address: format!("127.0.0.1:{port}") };
        assert!(server.answers(), "{program} does not answer at {}", server.address);
        server
    }

    /// Queries the zone's first name server, and returns true once the server answers.
    fn answers(&self) -> bool {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
        socket.connect(&self.address).expect("loopback is there");
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a plain timeout");
        let query = b"\x12\x34\0\0\0\x01\0\0\0\0\0\0\x03ns1\x06godwit\x04test\0\0\x01\0\x01";
        let mut answer = [0; 512];
        waited_until(|| {
            socket.send(query).ok();
            socket.recv(&mut answer).is_ok_and(|len| len > 40 && answer[7] == 1)
        })
    }

    /// Returns the record of a run that queries the zone of `seed`.
    fn load(&self, seed: &str, words: &[&str]) -> Value {
        let all = ["dns", "load", "-s", &self.address, "--zone-like", seed, "--names", "1000"];
        // Every query of the zone once, few at a time: these servers' sockets hold less than 300.
        let rest = ["-q", "20", "-n", "1", "--deadline-s", "120", "--json", "-"];
        let output = godwit(&[&all[..], &rest, words].concat());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("one document")
    }
}

impl Drop for ZoneServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Writes the zone of seed 7 to `FOLDER/zone`, and returns the command's output.
fn write_zone(folder: &Path) -> String {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (zone, queries, expected) = (path("zone"), path("queries"), path("expected"));
    let words = ["dns", "zone", "--seed", "7", "--names", "1000", "-o", &zone];
    let files = ["--queries", &queries, "--expected", &expected];
    let output = godwit(&[&words[..], &files].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("plain text")
}

#[test]
fn servers_by_others_answer_as_expected_and_another_zone_is_told() {
    for program in ["named", "nsd"] {
        if !require(&[program]) {
            continue;
        }
        let folder = TempFolder::new(&format!("dns-zone-{program}"));
        assert!(write_zone(folder.path()).starts_with("1000 names, "));
        let server = ZoneServer::start(program, folder.path());
        let record = server.load("7", &[]);
        assert_eq!(number(&record, "/exchanges/on_time"), 1_000, "{program}: {record}");
        let over_tcp = server.load("7", &["--tcp", "--ports", "4"]);
        assert_eq!(number(&over_tcp, "/exchanges/on_time"), 1_000, "{program}: {over_tcp}");
        assert_eq!(number(&over_tcp, "/connections/sent"), 1_000, "{program}");
        assert_eq!(over_tcp["answers"]["rcodes"], record["answers"]["rcodes"]);
        let text = fs::read_to_string(folder.path().join("expected")).expect("it was written");
        let missing = text.lines().filter(|line| line.contains("\tNXDOMAIN\t")).count() as u64;
        assert_eq!(number(&record, "/answers/rcodes/NXDOMAIN"), missing, "{program}");
        assert_eq!(record["settings"]["zone_like"]["seed"], 7);
        // Names of another seed do not exist, and only few of them are expected not to exist.
        let record = server.load("8", &[]);
        let (wrong, on_time) =
            (number(&record, "/exchanges/wrong_client"), number(&record, "/exchanges/on_time"));
        assert_eq!(number(&record, "/answers/faults/response_code"), wrong, "{record}");
        assert!(wrong > 800 && wrong + on_time == 1_000, "{program}: {record}");
    }
}

#[test]
fn an_answer_from_a_zone_that_was_changed_is_wrong() {
    if !require(&["nsd"]) {
        return;
    }
    let folder = TempFolder::new("dns-zone-changed");
    write_zone(folder.path());
    let path = folder.path().join("zone");
    let zone = fs::read_to_string(&path).expect("it was written");
    // Every text is a different one.
    fs::write(&path, zone.replace("v=spf1", "v=spf2")).expect("it can be written");
    let expected = fs::read_to_string(folder.path().join("expected")).expect("it was written");
    let texts = expected.lines().filter(|line| line.contains("v=spf1")).count() as u64;
    let server = ZoneServer::start("nsd", folder.path());
    let record = server.load("7", &[]);
    assert!(texts > 0, "some query is for a text");
    assert_eq!(number(&record, "/answers/faults/records"), texts, "{record}");
    assert_eq!(number(&record, "/exchanges/wrong_client"), texts);
    assert_eq!(number(&record, "/exchanges/on_time"), 1_000 - texts);
}

#[test]
fn mistakes_are_told() {
    let zone = ["dns", "zone", "--seed", "1", "-o"];
    let load = ["dns", "load", "-s", "127.0.0.1:9", "--rate", "1"];
    for (first, rest, code, expected) in [
        (&zone[..], &["/nonexistent/zone"][..], 1, "error: cannot write /nonexistent/zone: "),
        (&zone, &["-", "--names", "0"], 2, "0 is not in 1..=1000000"),
        (&zone, &["-", "--zone", "a..b"], 2, "invalid zone name: must be letters, digits"),
        (&load, &["--names", "5"], 2, "error: --names and --zone need --zone-like"),
        (&load, &["--zone-like", "1", "--query", "x A"], 2, "cannot be used with"),
    ] {
        let output = godwit(&[first, rest].concat());
        let output_text = String::from_utf8(output.stderr).expect("plain text");
        assert_eq!(output.status.code(), Some(code), "{rest:?}: {output_text}");
        assert!(output_text.contains(expected), "{rest:?}: {output_text}");
    }
}
