//! Tests of subscribers of lease events under load, with a server and clients of their own.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::common::{ServerProcess, TempFolder, configuration, run_bounded, waited_until};

/// Copy of the server's leases by the entries of a stream.
#[derive(Debug, Default)]
struct LeaseReplica {
    leases: BTreeMap<String, Value>,
    /// Identifier of the last event.
    id: String,
    number: u64,
}

/// Returns the lease, or null if it has ended and is only remembered (reclaimed or released).
fn running(lease: &Value) -> Value {
    match lease["state"].as_u64() {
        Some(2 | 3) => Value::Null,
        _ => lease.clone(),
    }
}

impl LeaseReplica {
    /// Takes an entry: an event must follow the last one, and begin with the lease that is known.
    fn take(&mut self, entry: &Value) {
        let number = entry["number"].as_u64();
        match entry["kind"].as_str().unwrap() {
            "snapshot-begin" => *self = Self::default(),
            "snapshot-end" => self.number = number.unwrap(),
            "lease" => {
                let address = entry["lease"]["ip-address"].as_str().unwrap().to_owned();
                assert_eq!(self.leases.insert(address, entry["lease"].clone()), None);
                return;
            }
            "snapshot-needed" => panic!("{entry}"),
            _ => {
                self.number += 1;
                assert_eq!(number, Some(self.number), "{entry}");
                let address = entry["address"].as_str().unwrap();
                let before = self.leases.remove(address).unwrap_or_default();
                assert_eq!(before, running(&entry["before"]), "{entry}");
                let after = running(&entry["after"]);
                if !after.is_null() {
                    self.leases.insert(address.to_owned(), after);
                }
            }
        }
        if let Some(id) = entry["id"].as_str() {
            id.clone_into(&mut self.id);
        }
    }
}

/// Server with a control socket that shows leases.
struct EventServer {
    folder: TempFolder,
    server: ServerProcess,
    socket: PathBuf,
}

impl EventServer {
    fn start(label: &str) -> Self {
        let folder = TempFolder::new(label);
        let config = configuration(folder.path(), "always", 2);
        let socket = folder.path().join("socket");
        let sockets = json!([{ "socket-type": "unix", "socket-name": socket }]);
        let hooks = r#"[ { "library": "/usr/lib/kea/hooks/libdhcp_lease_cmds.so" } ]"#;
        let keys = format!("\"control-sockets\": {sockets}, \"hooks-libraries\": {hooks},");
        let text = fs::read_to_string(&config).unwrap();
        let text = text.replace(r#""interfaces-config""#, &format!("{keys} \"interfaces-config\""));
        fs::write(&config, text).unwrap();
        let server = ServerProcess::start(&config, folder.path());
        Self { folder, server, socket }
    }

    fn command(&self, command: &Value) -> Value {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(command.to_string().as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    /// Returns the leases that the command `lease4-get-all` shows and that have not ended, by
    /// address.
    fn leases(&self) -> BTreeMap<String, Value> {
        let answer = self.command(&json!({ "command": "lease4-get-all" }));
        let leases = answer["arguments"]["leases"].as_array().cloned().unwrap_or_default();
        let address = |lease: &Value| lease["ip-address"].as_str().unwrap().to_owned();
        let leases = leases.into_iter().filter(|lease| !running(lease).is_null());
        leases.map(|lease| (address(&lease), lease)).collect()
    }

    /// Lets clients get leases, renew and release them, and returns when all have been answered.
    fn load(&self, exchanges: u32) {
        let output = run_bounded(
            Command::new(env!("CARGO_BIN_EXE_godwit"))
                .args(["perfdhcp", "-4", "-r", "400", "-n", &exchanges.to_string(), "-R", "900"])
                .args(["-f", "40", "-F", "40", "-W", "1000000", "-l", "127.0.0.1"])
                .args(["-L", &self.server.relay_port.to_string()])
                .args(["-N", &self.server.port.to_string(), "127.0.0.1"]),
        );
        assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    }

    fn subscribe(&self) -> BufReader<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        let request = "GET /events?snapshot=true HTTP/1.0\r\nHost: x\r\n\
                       Accept: application/x-ndjson\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    /// Returns the number of the last event: that of a snapshot without its leases.
    fn last_number(&self) -> u64 {
        let end = self.subscribe().lines().map(Result::unwrap);
        let mut ends = end.filter(|line| line.contains("\"snapshot-end\""));
        serde_json::from_str::<Value>(&ends.next().unwrap()).unwrap()["number"].as_u64().unwrap()
    }

    fn metric(&self, name: &str) -> f64 {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let mut values = page.lines().filter_map(|line| line.strip_prefix(name));
        values.next().unwrap().trim().parse().unwrap()
    }
}

/// Follows a stream up to the event `number`.
fn read_to(lines: &mut impl BufRead, copy: &mut LeaseReplica, number: impl Fn() -> Option<u64>) {
    for line in lines.lines() {
        let line = line.unwrap();
        if line.starts_with('{') {
            copy.take(&serde_json::from_str(&line).unwrap());
        }
        // Heartbeats come without changes, too.
        if number().is_some_and(|number| !copy.id.is_empty() && copy.number >= number) {
            return;
        }
    }
    panic!("the stream ended after {}", copy.number);
}

#[test]
fn a_hundred_subscribers_of_which_ten_do_not_read_get_every_change() {
    let server = EventServer::start("subscribers");
    server.load(500);
    let memory = server.metric("process_resident_memory_bytes ");
    let silent: Vec<_> = (0..10).map(|_| server.subscribe()).collect();
    let target = std::sync::OnceLock::new();
    let before = thread::scope(|scope| {
        let readers: Vec<_> = (0..90)
            .map(|_| {
                let (mut lines, target) = (server.subscribe(), &target);
                scope.spawn(move || {
                    let mut copy = LeaseReplica::default();
                    read_to(&mut lines, &mut copy, || target.get().copied());
                    copy
                })
            })
            .collect();
        let before = server.last_number();
        server.load(2_000);
        target.set(server.last_number()).unwrap();
        let leases = server.leases();
        for reader in readers {
            let copy = reader.join().unwrap();
            assert_eq!(copy.leases, leases);
        }
        before
    });
    // A busy machine does not complete every exchange.
    let last = *target.get().unwrap();
    assert!(last > before + 100, "{before} to {last}");
    let delivered =
        server.metric("godwit_dhcp4_event_listener_delivered_total{listener=\"subscribers\"}");
    assert!(delivered >= 90.0 * (last - before) as f64, "{delivered} of {before} to {last}");
    assert_eq!(server.metric("godwit_dhcp4_events_lost_total "), 0.0);
    // A silent subscriber costs a few texts; the events themselves are kept once.
    let grown = server.metric("process_resident_memory_bytes ") - memory;
    assert!(grown < 100e6, "{grown} bytes more");
    drop(silent);
    server.server.stop();
}

/// Runs `godwit events` with its output in `file`, until it has printed some events or `is_over`;
/// then kills it. Returns the lines that are whole.
fn killed_subscriber(
    server: &EventServer,
    file: &Path,
    flags: &[&str],
    is_over: impl Fn() -> bool,
) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_godwit"))
        .arg("events")
        .arg("--socket")
        .arg(&server.socket)
        .args(flags)
        .stdout(fs::File::create(file).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = || fs::read_to_string(file).unwrap().matches('\n').count();
    assert!(waited_until(|| lines() > 40 || is_over()), "it prints nothing");
    child.kill().unwrap();
    child.wait().unwrap();
    let text = fs::read_to_string(file).unwrap();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_subscriber_that_is_killed_again_and_again_sees_each_change_once() {
    let server = EventServer::start("killed");
    let file = server.folder.path().join("events");
    let mut copy = LeaseReplica::default();
    thread::scope(|scope| {
        let load = scope.spawn(|| (0..4).for_each(|_| server.load(1_000)));
        let mut kills = 0;
        while !load.is_finished() {
            let id = copy.id.clone();
            let flags = if id.is_empty() { vec!["--snapshot"] } else { vec!["--after", &id] };
            let entries = killed_subscriber(&server, &file, &flags, || load.is_finished());
            entries.iter().for_each(|entry| copy.take(entry));
            kills += 1;
        }
        assert!(kills > 2, "{kills} kills");
    });
    let after = format!("GET /events?after={} HTTP/1.0\r\nHost: x\r\n", copy.id);
    let mut stream = UnixStream::connect(&server.socket).unwrap();
    stream.write_all(after.as_bytes()).unwrap();
    stream.write_all(b"Accept: application/x-ndjson\r\n\r\n").unwrap();
    let last = server.last_number();
    if copy.number < last {
        read_to(&mut BufReader::new(stream), &mut copy, || Some(last));
    }
    assert_eq!((copy.number, copy.leases), (last, server.leases()));
    server.server.stop();
}
