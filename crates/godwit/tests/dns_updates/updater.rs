//! Updater as a process of a test: ours, or Kea 3's.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use ncr::NameChangeRequest;
use serde_json::{Value, json};
use testbed::Debian13;

use super::servers::{KEYS, TestZone};
use crate::common::{TempFolder, confine, waited_until};

/// Name of the control socket in the updater's folder.
const SOCKET: &str = "ddns.sock";
/// Seconds since 1970 for `lease-expires-on`, which no updater uses.
const NOW_S: u64 = 1_800_000_000;

/// Program that a test runs as updater.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdaterMake {
    Godwit,
    Kea3,
}

/// Running updater.
pub(super) struct UpdaterProcess {
    make: UpdaterMake,
    folder: PathBuf,
    port: u16,
    child: Option<Child>,
    socket: UdpSocket,
}

/// Returns the configuration of an updater at `port` for `zones` at the DNS servers `servers`.
pub(super) fn configuration(port: u16, servers: &[u16], zones: &[TestZone]) -> Value {
    let keys: Vec<Value> = KEYS
        .iter()
        .map(|key| json!({ "name": key.name, "algorithm": key.algorithm, "secret": key.secret }))
        .collect();
    let domains = |is_reverse: bool| -> Vec<Value> {
        let zones = zones.iter().filter(|zone| zone.name.ends_with("arpa.") == is_reverse);
        let server = |zone: &TestZone, port: &u16| {
            json!({ "ip-address": "127.0.0.1", "port": port,
                    "key-name": zone.key.unwrap_or_default() })
        };
        zones
            .map(|zone| {
                let servers: Vec<Value> = servers.iter().map(|port| server(zone, port)).collect();
                json!({ "name": zone.name, "dns-servers": servers })
            })
            .collect()
    };
    json!({ "DhcpDdns": {
        "ip-address": "127.0.0.1", "port": port, "dns-server-timeout": 1000,
        "control-socket": { "socket-type": "unix", "socket-name": SOCKET },
        "tsig-keys": keys,
        "forward-ddns": { "ddns-domains": domains(false) },
        "reverse-ddns": { "ddns-domains": domains(true) },
        "loggers": [ { "name": "kea-dhcp-ddns", "severity": "INFO",
                       "output-options": [ { "output": "ddns.log" } ] } ],
    } })
}

impl UpdaterProcess {
    /// Prepares an updater; it does not run yet.
    pub(super) fn new(
        make: UpdaterMake,
        folder: &TempFolder,
        port: u16,
        configuration: &Value,
    ) -> Self {
        let folder = folder.path().join(format!("updater-{port}"));
        fs::create_dir_all(&folder).expect("the folder is ours");
        // Kea refuses a folder of control sockets that others may enter.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).expect("it is ours");
        let mut text = configuration.to_string();
        if make == UpdaterMake::Kea3 {
            text = text.replace("\"control-socket\":{", "\"control-sockets\":[{");
            text = text.replace("\"socket-type\":\"unix\"}", "\"socket-type\":\"unix\"}]");
        }
        fs::write(folder.join("kea-dhcp-ddns.conf"), text).expect("the folder is ours");
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
        Self { make, folder, port, child: None, socket }
    }

    /// Starts the updater and waits until it receives requests.
    pub(super) fn start(&mut self) {
        let own = self.folder.join("kea-dhcp-ddns.conf");
        let mut command = match self.make {
            UpdaterMake::Godwit => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
                command.args(["ddns", "-X", "-c"]).arg(own);
                confine(&mut command, &self.folder);
                command
            }
            UpdaterMake::Kea3 => {
                let debian = Debian13::find().expect("the caller has looked");
                let command = debian.command(&self.folder, "kea-dhcp-ddns");
                let command = command.args(["-X", "-c", "/var/lib/kea/kea-dhcp-ddns.conf"]);
                command.to_command()
            }
        };
        let errors = fs::File::create(self.folder.join("stderr")).expect("the folder is ours");
        fs::remove_file(self.folder.join("ddns.log")).ok();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        self.child = Some(command.spawn().expect("the updater can be started"));
        let is_started = || self.log().contains("DHCP_DDNS_STARTED");
        assert!(waited_until(is_started), "{} {}", self.log(), self.errors());
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("ddns.log")).unwrap_or_default()
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap_or_default()
    }

    /// Sends a request.
    pub(super) fn send(&self, request: &NameChangeRequest) {
        let datagram = request.to_datagram(NOW_S);
        self.socket.send_to(&datagram, (Ipv4Addr::LOCALHOST, self.port)).expect("loopback sends");
    }

    /// Sends bytes that are no request.
    pub(super) fn send_bytes(&self, bytes: &[u8]) {
        self.socket.send_to(bytes, (Ipv4Addr::LOCALHOST, self.port)).expect("loopback sends");
    }

    /// Sends a command and returns the answer.
    pub(super) fn command(&self, command: &Value) -> Value {
        let mut stream = UnixStream::connect(self.folder.join(SOCKET)).expect("it listens");
        stream.write_all(command.to_string().as_bytes()).expect("the updater reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the updater answers");
        serde_json::from_str(&answer).expect("an answer is JSON")
    }

    /// Returns the value of a statistic.
    pub(super) fn statistic(&self, name: &str) -> u64 {
        let answer = self.command(&json!({ "command": "statistic-get",
                                           "arguments": { "name": name } }));
        let value = &answer["arguments"][name][0][0];
        value.as_u64().unwrap_or_else(|| panic!("no {name}: {answer}"))
    }

    /// Waits until `count` requests have an outcome in the log.
    pub(super) fn wait_for_outcomes(&self, count: usize) {
        let outcomes = || {
            let log = self.log();
            let words = [
                "_ADD_SUCCEEDED ",
                "_REMOVE_SUCCEEDED ",
                "_ADD_FAILED ",
                "_REMOVE_FAILED ",
                "_MATCH_ERROR ",
            ];
            words.iter().map(|word| log.matches(word).count()).sum::<usize>()
        };
        assert!(waited_until(|| outcomes() >= count), "{} of {count}\n{}", outcomes(), self.log());
    }

    /// Ends the updater at once.
    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }

    /// Ends the updater with SIGTERM; it must succeed.
    pub(super) fn stop(&mut self) {
        let mut child = self.child.take().expect("it runs");
        Command::new("kill").arg(child.id().to_string()).status().expect("kill runs");
        let status = child.wait().expect("it was started here");
        assert!(status.success() || self.make == UpdaterMake::Kea3, "{}", self.log());
        assert!(!self.log().contains("INTERNAL_ERROR"), "{}", self.log());
    }
}

impl Drop for UpdaterProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the text of a table of the records of several zones, for failures.
pub(super) fn shown(records: &std::collections::BTreeSet<String>) -> String {
    records.iter().fold(String::new(), |mut text, line| {
        writeln!(text, "{line}").expect("a string takes any text");
        text
    })
}
