//! Server on loopback, Godwit or Kea, and the socket from which a script plays all relay agents and
//! clients.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::common::{PATIENCE, TempFolder, free_port, waited_until};

/// Make of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatisticsServerMake {
    Godwit,
    Kea,
}

/// Server under a script.
pub(crate) struct ScriptedServer {
    make: StatisticsServerMake,
    is_v6: bool,
    child: Child,
    folder: TempFolder,
    socket: UdpSocket,
    http_port: u16,
}

/// Members of a configuration that a test states.
struct GlobalMembers<'c> {
    /// Global members, as text.
    config: &'c str,
    /// Godwit's `durability`.
    durability: &'c str,
}

impl ScriptedServer {
    /// Starts `make` with a configuration whose global members are `config`. Replies of ours do not
    /// wait for their rows: one that waited too long would be dropped, and counted.
    pub(crate) fn start(make: StatisticsServerMake, is_v6: bool, config: &str) -> Self {
        Self::start_with("none", make, is_v6, config)
    }

    /// Starts `make` with a configuration whose global members are `config`, ours with
    /// `durability`.
    pub(crate) fn start_with(
        durability: &str,
        make: StatisticsServerMake,
        is_v6: bool,
        config: &str,
    ) -> Self {
        let name = if is_v6 { "dhcp6" } else { "dhcp4" };
        let folder = TempFolder::new(&format!("statistics-{name}-{make:?}").to_lowercase());
        let address: IpAddr =
            if is_v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
        let socket = UdpSocket::bind((address, 0)).expect("loopback has free ports");
        socket.set_read_timeout(Some(PATIENCE)).expect("it is a socket");
        let own_port = socket.local_addr().expect("it is bound").port();
        let [port, http_port] = [free_port(), free_port()];
        socket.connect((address, port)).expect("loopback is there");
        let file = folder.path().join("server.conf");
        let text = document(make, is_v6, &folder, http_port, &GlobalMembers { config, durability });
        fs::write(&file, text).expect("the test's folder can be written");
        let mut command = match make {
            StatisticsServerMake::Kea => Command::new(format!("kea-{name}")),
            StatisticsServerMake::Godwit => Command::new(env!("CARGO_BIN_EXE_godwit")),
        };
        if make == StatisticsServerMake::Godwit {
            // The HTTP socket has no authentication.
            command.arg(name).arg("-X");
        }
        command.arg("-c").arg(&file).args(["-p", &port.to_string(), "-P", &own_port.to_string()]);
        crate::common::confine(&mut command, folder.path());
        command.env("KEA_TEST_SEND_RESPONSES_TO_SOURCE", "1");
        let log = fs::File::create(folder.path().join("stderr")).expect("the folder is there");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("the daemon is there");
        let mut player = Self { make, is_v6, child, folder, socket, http_port };
        player.wait_until_serving();
        player
    }

    fn wait_until_serving(&mut self) {
        let mark = if self.make == StatisticsServerMake::Kea { "_STARTED " } else { "serving" };
        let is_serving = waited_until(|| {
            self.log().contains(mark) || matches!(self.child.try_wait(), Ok(Some(_)))
        });
        assert!(is_serving && self.log().contains(mark), "it does not start: {}", self.log());
    }

    /// Returns the log of the server.
    pub(crate) fn log(&self) -> String {
        let read = |name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        read("stderr") + &read("kea.log")
    }

    /// Returns the last log lines about messages.
    fn tail(&self) -> String {
        let log = self.log();
        let lines = log.lines().filter(|line| !line.contains("COMMAND_RECEIVED"));
        let last: Vec<&str> = lines.rev().take(6).collect();
        last.join("\n")
    }

    /// Sends a message that gets no reply.
    pub(crate) fn tell(&self, octets: &[u8]) {
        self.socket.send(octets).expect("loopback takes it");
    }

    /// Sends a message and returns its reply. It sends nothing twice, because the server counts
    /// everything.
    pub(crate) fn ask(&self, octets: &[u8]) -> Vec<u8> {
        self.tell(octets);
        self.answer()
    }

    /// Sends all of `messages` while the server is stopped, so that it receives them at once.
    pub(crate) fn tell_at_once(&self, messages: &[&[u8]]) {
        self.signal("-STOP");
        let stands = waited_until(|| {
            let threads = fs::read_dir(format!("/proc/{}/task", self.child.id()));
            threads.expect("the daemon runs").flatten().all(|thread| {
                let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
                stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
            })
        });
        assert!(stands, "the daemon does not stop");
        messages.iter().for_each(|message| self.tell(message));
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([name, &pid]).status().expect("kill runs");
        assert!(status.success());
    }

    /// Returns the next reply.
    pub(crate) fn answer(&self) -> Vec<u8> {
        let mut buffer = vec![0; 65_536];
        let Ok(len) = self.socket.recv(&mut buffer) else { panic!("no answer: {}", self.tail()) };
        buffer.truncate(len);
        buffer
    }

    /// Sends a command and returns its answer.
    pub(crate) fn command(&self, name: &str, arguments: &Value) -> Value {
        let path = self.folder.path().join("control");
        let mut stream = UnixStream::connect(path).expect("the daemon takes commands");
        let command = json!({ "command": name, "arguments": arguments });
        stream.write_all(command.to_string().as_bytes()).expect("the daemon reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the daemon answers");
        serde_json::from_str(&answer).expect("an answer is JSON")
    }

    /// Returns the newest value of every statistic.
    pub(crate) fn statistics(&self) -> BTreeMap<String, u64> {
        let answer = self.command("statistic-get-all", &json!({}));
        let all = answer["arguments"].as_object().expect("statistics are a map");
        let newest = |samples: &Value| samples[0][0].as_u64().expect("none is below zero");
        all.iter().map(|(name, samples)| (name.clone(), newest(samples))).collect()
    }

    /// Returns the newest value of one statistic, requested alone.
    pub(crate) fn statistic(&self, name: &str) -> Option<u64> {
        let answer = self.command("statistic-get", &json!({ "name": name }));
        answer["arguments"][name][0][0].as_u64()
    }

    /// Returns true if the server is Kea 2.2.
    pub(crate) fn is_kea(&self) -> bool {
        self.make == StatisticsServerMake::Kea
    }

    /// Waits until the server has counted `count` messages.
    pub(crate) fn wait_for_received(&self, count: u64) {
        let name = if self.is_v6 { "pkt6-received" } else { "pkt4-received" };
        let mut last = None;
        let has_come = waited_until(|| {
            last = self.statistic(name);
            last == Some(count)
        });
        assert!(has_come, "{name} is {last:?}, not {count}: {}", self.tail());
    }

    /// Makes the server reclaim expired leases until it has reclaimed `count`.
    pub(crate) fn reclaim(&self, count: u64) {
        let mut last = None;
        let has_come = waited_until(|| {
            let answer = self.command("leases-reclaim", &json!({ "remove": true }));
            assert_eq!(answer["result"], 0, "{answer}");
            last = self.statistic("reclaimed-leases");
            last == Some(count)
        });
        assert!(has_come, "reclaimed-leases is {last:?}, not {count}: {}", self.tail());
    }

    /// Returns the text that Prometheus reads.
    pub(crate) fn metrics(&self) -> String {
        let address = (Ipv4Addr::LOCALHOST, self.http_port);
        let mut stream = TcpStream::connect(address).expect("the daemon serves HTTP");
        let get = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(get).expect("the daemon reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the daemon answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("HTTP has a head");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        body.to_owned()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Returns the whole configuration. One shard, and one thread of Kea's, take messages in order.
fn document(
    make: StatisticsServerMake,
    is_v6: bool,
    folder: &TempFolder,
    http_port: u16,
    members: &GlobalMembers<'_>,
) -> String {
    let &GlobalMembers { config, durability } = members;
    let path = folder.path().display();
    let (top, name, interfaces) = if !is_v6 {
        ("Dhcp4", "kea-dhcp4", r#"[ "lo/127.0.0.1" ], "dhcp-socket-type": "udp""#)
    } else {
        ("Dhcp6", "kea-dhcp6", r#"[ "lo/::1" ]"#)
    };
    let data = if is_v6 { format!(r#""data-directory": "{path}","#) } else { String::new() };
    let unix = format!(r#"{{ "socket-type": "unix", "socket-name": "{path}/control" }}"#);
    let own = match make {
        StatisticsServerMake::Kea => format!(
            r#""control-socket": {unix}, "multi-threading": {{ "enable-multi-threading": false }},
               "loggers": [ {{ "name": "{name}", "severity": "INFO",
                               "output_options": [ {{ "output": "{path}/kea.log" }} ] }} ],"#
        ),
        StatisticsServerMake::Godwit => format!(
            r#""control-sockets": [ {unix}, {{ "socket-type": "http",
                   "socket-address": "127.0.0.1", "socket-port": {http_port} }} ],
               "user-context": {{ "godwit": {{ "shards": 1, "durability": "{durability}" }} }},"#
        ),
    };
    // Kea 2.2 has no pool numbers, and repeats no leases by default.
    let config = match make {
        StatisticsServerMake::Kea => {
            without_pool_ids(config).replace(r#""cache-threshold": 0.0,"#, "")
        }
        StatisticsServerMake::Godwit => config.to_owned(),
    };
    format!(
        r#"{{ "{top}": {{ {own} {data}
            "interfaces-config": {{ "interfaces": {interfaces} }},
            "lease-database": {{ "type": "memfile", "name": "{path}/leases.csv",
                                 "lfc-interval": 0 }},
            {config} }} }}"#
    )
}

/// Returns `config` without `"pool-id": N, `.
fn without_pool_ids(config: &str) -> String {
    let mut parts = config.split(r#""pool-id": "#);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += part.split_once(',').map_or("", |(_, rest)| rest);
    }
    text
}
