//! Tests of a server of which each part panics once: it goes on, logs the panic and counts it. The
//! server is a process of its own, since its panic hook is global.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{PATIENCE, TempFolder};

use crate::free_port::free_port;
use crate::reload::ConfigurationReadOptions;
use crate::server::{DaemonSettings, run_dhcp4};

/// Environment variable with the points at which a process is to panic once, separated by commas.
pub(super) const PLANTED: &str = "GODWIT_PLANTED_PANICS";
/// Environment variable with the folder of the server that a process is to run.
const FOLDER: &str = "GODWIT_PLANTED_FOLDER";

/// Panics once at `location` if the environment names it; see [`super::planted`].
pub(super) fn plant(location: &str) {
    static DONE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let locations = std::env::var(PLANTED).unwrap_or_default();
    if locations.split(',').any(|one| one == location) {
        let is_first =
            DONE.lock().unwrap_or_else(PoisonError::into_inner).insert(location.to_owned());
        assert!(!is_first, "planted in {location}");
    }
}

/// Runs the server that the tests of this module start: this test program with another environment.
#[test]
fn planted_server() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let settings = DaemonSettings {
        configuration: PathBuf::from(folder).join("dhcp4.conf"),
        port: 0,
        client_port: None,
        to_source: false,
        is_verbose: false,
        // The setting permits an HTTP socket without a password.
        terms: ConfigurationReadOptions {
            is_unrestricted: true,
            ..ConfigurationReadOptions::default()
        },
        is_repairing: false,
        accept_inactive: Vec::new(),
    };
    let port = fs::read_to_string(settings.configuration.with_extension("port")).unwrap();
    run_dhcp4(&DaemonSettings { port: port.parse().unwrap(), ..settings }).unwrap();
}

/// A server of which some points panic once.
struct PanickingServer {
    child: Child,
    folder: TempFolder,
    http_port: u16,
}

impl PanickingServer {
    fn start(locations: &str) -> Self {
        let folder = TempFolder::new("planted");
        let http_port = free_port();
        let config = configuration(folder.path(), http_port);
        fs::write(folder.path().join("dhcp4.conf"), config.to_string()).unwrap();
        fs::write(folder.path().join("dhcp4.port"), http_port.to_string()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        for variable in ["PIDFILE", "CONTROL_SOCKET", "DHCP_DATA", "LOG_FILE"] {
            command.env(format!("KEA_{variable}_DIR"), folder.path());
        }
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let child = command
            .args(["--exact", "panics::tests::planted_server", "--nocapture"])
            .env(PLANTED, locations)
            .env(FOLDER, folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut server = Self { child, folder, http_port };
        server.wait_for("DHCP4_STARTED");
        server
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.log().contains(text) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended with {ended:?}: {}", self.log());
            assert!(Instant::now() < deadline, "no `{text}`: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the answer of the Unix socket to `command`; empty if the connection ends without
    /// one.
    fn unix(&self, command: &Value) -> String {
        let stream = UnixStream::connect(self.folder.path().join("ctl")).unwrap();
        exchange(stream, &command.to_string())
    }

    fn http(&self, request: &str) -> String {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.http_port)).unwrap();
        exchange(stream, request)
    }

    fn get(&self, path: &str) -> String {
        self.http(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}

impl Drop for PanickingServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn exchange(mut stream: impl Read + Write, octets: &str) -> String {
    stream.write_all(octets.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn configuration(folder: &Path, http_port: u16) -> Value {
    json!({ "Dhcp4": {
        "interfaces-config": { "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" },
        "control-sockets": [
            { "socket-type": "unix", "socket-name": folder.join("ctl") },
            { "socket-type": "http", "socket-address": "127.0.0.1", "socket-port": http_port }
        ],
        "lease-database": { "type": "memfile", "name": folder.join("leases.csv") },
        "subnet4": [ { "id": 1, "subnet": "127.0.0.0/8" } ]
    } })
}

/// Returns true if `answer` is that of a command that panicked.
fn is_internal_error(answer: &str) -> bool {
    answer.contains("\"result\": 1") && answer.contains(super::INTERNAL_ERROR)
}

#[test]
fn a_mistake_in_any_part_that_serves_commands_leaves_the_server_serving() {
    let locations = "unix,http,metrics,sample,check,command,reload,sockets";
    let mut server = PanickingServer::start(locations);
    let sound = |server: &PanickingServer| {
        let answer = server.unix(&json!({ "command": "version-get" }));
        assert!(answer.contains("\"result\": 0"), "{answer}");
    };
    server.wait_for("planted in sample");
    let version = json!({ "command": "version-get" });
    assert_eq!(server.unix(&version), "", "the connection ends");
    sound(&server);
    assert_eq!(server.get("/metrics"), "", "the connection ends");
    let page = server.get("/metrics");
    assert!(page.starts_with("HTTP/1.1 500 "), "no empty page of counters: {page}");
    let settings = configuration(server.folder.path(), server.http_port);
    let test = json!({ "command": "config-test", "arguments": settings });
    assert!(is_internal_error(&server.unix(&test)), "{}", server.unix(&test));
    assert!(server.unix(&test).contains("\"result\": 0"), "{}", server.unix(&test));
    let set = json!({ "command": "config-set", "arguments": settings });
    let answer = server.unix(&set);
    assert!(is_internal_error(&answer), "{answer}");
    let answer = server.unix(&set);
    assert!(answer.contains(super::INTERNAL_ERROR), "the sockets stay: {answer}");
    let answer = server.unix(&set);
    assert!(answer.contains("\"result\": 0"), "{answer}");
    server.signal("-HUP");
    server.wait_for("planted in reload");
    sound(&server);
    server.signal("-HUP");
    server.wait_for("DHCP4_CONFIG_COMPLETE");
    let page = server.get("/metrics");
    let count = locations.split(',').count();
    assert!(page.contains(&format!("\ngodwit_dhcp4_internal_errors_total {count}\n")), "{page}");
    for location in locations.split(',') {
        assert!(server.log().contains(&format!("planted in {location}")), "{location}");
    }
    server.signal("-TERM");
    let ended = server.child.wait().unwrap();
    assert!(ended.success(), "{ended}: {}", server.log());
    // Another thread of the server writes the log: all of it is there once the server has ended.
    assert_eq!(server.log().matches("DHCP4_INTERNAL_ERROR").count(), count);
}
