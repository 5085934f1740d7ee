//! Processor time of the DHCPv4 server for one exchange, by thread, without lines of leases in its
//! log and with them (Linux):
//!
//! ```sh
//! cargo run --release -p dhcp-server --example log_cost [ROUNDS]
//! ```
//!
//! The server runs in a process of its own with one shard and durability `none`, so that the shard
//! writes leases itself. Clients behind a relay agent send over the loopback interface, 64 at a
//! time. Rounds without and with lines alternate and the example prints medians.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dhcp_server::{ConfigurationReadOptions, DaemonSettings, run_dhcp4};
use dhcp_wire::v4::{Dhcp4Header, Message, MessageType, MessageWriter, option};

/// Clients with an exchange under way at the same time.
const WINDOW: u32 = 64;
/// Exchanges per round.
const EXCHANGES: u32 = 64_000;
const ROUNDS: u32 = 5;
/// Kernel ticks of `/proc/PID/stat` per second, equal on every Linux.
const TICKS_PER_S: f64 = 100.0;
const SERVER: Ipv4Addr = Ipv4Addr::LOCALHOST;
const VARIANTS: [&str; 2] = ["without lines of leases", "with lines of leases"];

fn configuration(folder: &Path, has_lines: bool) -> PathBuf {
    let output = folder.join("server.log");
    let logger = |name: &str| {
        format!(
            r#"{{ "name": "{name}", "severity": "INFO", "output-options":
                  [ {{ "output": "{}", "maxsize": 0 }} ] }}"#,
            output.display()
        )
    };
    let leases =
        if has_lines { format!(", {}", logger("kea-dhcp4.leases")) } else { String::new() };
    let text = format!(
        r#"{{ "Dhcp4": {{
            "interfaces-config": {{ "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" }},
            "lease-database": {{ "type": "memfile", "name": "{}", "lfc-interval": 0 }},
            "loggers": [ {}{leases} ],
            "user-context": {{ "godwit": {{ "shards": 1, "durability": "none" }} }},
            "valid-lifetime": 4000, "cache-threshold": 0.0,
            "subnet4": [ {{ "id": 1, "subnet": "127.0.0.0/8",
                            "pools": [ {{ "pool": "127.16.0.0 - 127.254.255.255" }} ] }} ] }} }}"#,
        folder.join("leases.csv").display(),
        logger("kea-dhcp4"),
    );
    let path = folder.join("dhcp4.conf");
    fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}

/// Writes a message through a relay agent at 127.0.0.1 and returns its length in bytes.
fn message(buffer: &mut [u8], kind: MessageType, client: u32, address: Option<Ipv4Addr>) -> usize {
    let mut chaddr = [0; 16];
    chaddr[0] = 2;
    chaddr[2..6].copy_from_slice(&client.to_be_bytes());
    let nowhere = Ipv4Addr::UNSPECIFIED;
    let header = Dhcp4Header {
        op: 1,
        htype: 1,
        hlen: 6,
        hops: 1,
        xid: client,
        secs: 0,
        flags: 0,
        ciaddr: nowhere,
        yiaddr: nowhere,
        siaddr: nowhere,
        giaddr: SERVER,
        chaddr,
    };
    let mut writer = MessageWriter::new(buffer, &header);
    writer.option(option::MESSAGE_TYPE, &[kind.code()]);
    if let Some(address) = address {
        writer.option(option::REQUESTED_IP_ADDRESS, &address.octets());
        writer.option(option::SERVER_IDENTIFIER, &SERVER.octets());
    }
    writer.finish(300).expect("the buffer is large")
}

/// Runs complete exchanges of all clients from number `first` on and repeats lost messages.
fn exchange(socket: &UdpSocket, server: SocketAddrV4, first: u32) {
    for first in (first..first + EXCHANGES).step_by(WINDOW as usize) {
        let mut pending: BTreeMap<u32, Option<Ipv4Addr>> =
            (first..first + WINDOW).map(|client| (client, None)).collect();
        let mut buffer = [0; 1_500];
        while !pending.is_empty() {
            for (&client, &offered) in &pending {
                let kind =
                    if offered.is_some() { MessageType::Request } else { MessageType::Discover };
                let len = message(&mut buffer, kind, client, offered);
                socket.send_to(&buffer[..len], server).expect("the loopback interface takes it");
            }
            let mut remaining = pending.len();
            while remaining > 0
                && let Ok(len) = socket.recv(&mut buffer)
            {
                let reply = Message::parse(&buffer[..len]).expect("the server sent it");
                match reply.message_type() {
                    Some(MessageType::Offer) => {
                        pending.insert(reply.xid(), Some(reply.yiaddr()));
                    }
                    _ => {
                        pending.remove(&reply.xid());
                    }
                }
                remaining -= 1;
            }
        }
    }
}

/// Returns the ticks of processor time of each thread of process `pid`, by thread name.
fn ticks(pid: u32) -> BTreeMap<String, u64> {
    let mut ticks = BTreeMap::new();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the server runs");
    for stat in tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok()) {
        let Some((name, rest)) = stat.rsplit_once(") ") else { continue };
        let name = name.split_once('(').map_or("", |(_, name)| name);
        let fields: Vec<u64> = rest.split(' ').map(|field| field.parse().unwrap_or(0)).collect();
        *ticks.entry(name.to_owned()).or_default() += fields[11] + fields[12];
    }
    ticks
}

struct LogCostServer {
    child: Child,
    address: SocketAddrV4,
    socket: UdpSocket,
    folder: PathBuf,
}

impl LogCostServer {
    fn start(has_lines: bool) -> Self {
        let name = format!("godwit-log-cost-{}-{has_lines}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{error}"));
        let config = configuration(&folder, has_lines);
        let socket = UdpSocket::bind((SERVER, 0)).expect("there is a free port");
        socket.set_read_timeout(Some(Duration::from_millis(500))).expect("it is no zero");
        let own_port = socket.local_addr().expect("it is bound").port();
        let port = UdpSocket::bind((SERVER, 0)).and_then(|free| free.local_addr());
        let port = port.expect("there is a free port").port();
        let program = std::env::current_exe().expect("this program has a file");
        let mut command = Command::new(program);
        command.args(["--serve", &port.to_string(), &own_port.to_string()]).arg(&config);
        for variable in ["KEA_DHCP_DATA_DIR", "KEA_LOG_FILE_DIR", "KEA_PIDFILE_DIR"] {
            command.env(variable, &folder);
        }
        command.env("KEA_CONTROL_SOCKET_DIR", &folder).stderr(Stdio::null());
        let child = command.spawn().expect("this program can be started");
        let address = SocketAddrV4::new(SERVER, port);
        let server = Self { child, address, socket, folder };
        let deadline = Instant::now() + Duration::from_secs(60);
        let log = server.folder.join("server.log");
        while !fs::read_to_string(&log).unwrap_or_default().contains("DHCP4_STARTED") {
            assert!(Instant::now() < deadline, "the server does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    /// Runs one round of new clients and returns microseconds of processor time per exchange, by
    /// thread.
    fn play(&self, round: u32) -> BTreeMap<String, f64> {
        let before = ticks(self.child.id());
        exchange(&self.socket, self.address, round * EXCHANGES);
        // Log lines still waiting to be written belong to the round.
        std::thread::sleep(Duration::from_millis(300));
        let after = ticks(self.child.id());
        let per_tick = 1e6 / TICKS_PER_S / f64::from(EXCHANGES);
        let spent = |name: &str, after: u64| after - before.get(name).copied().unwrap_or(0);
        after.iter().map(|(name, &t)| (name.clone(), spent(name, t) as f64 * per_tick)).collect()
    }
}

impl Drop for LogCostServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn serve(words: &[String]) {
    let [port, client_port, config] = words else { panic!("--serve PORT CLIENT_PORT FILE") };
    let settings = DaemonSettings {
        configuration: config.into(),
        port: port.parse().expect("a port"),
        client_port: client_port.parse().ok(),
        to_source: true,
        is_verbose: false,
        terms: ConfigurationReadOptions {
            is_unrestricted: true,
            ..ConfigurationReadOptions::default()
        },
        is_repairing: false,
        accept_inactive: Vec::new(),
    };
    if let Err(error) = run_dhcp4(&settings) {
        panic!("{error}");
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--serve") {
        return serve(&words[1..]);
    }
    let rounds = words.first().and_then(|word| word.parse().ok()).unwrap_or(ROUNDS);
    let servers = [false, true].map(LogCostServer::start);
    let mut spent: [BTreeMap<String, Vec<f64>>; 2] = Default::default();
    for round in 0..rounds {
        for (server, spent) in servers.iter().zip(&mut spent) {
            for (name, us) in server.play(round) {
                spent.entry(name).or_default().push(us);
            }
        }
    }
    for (variant, spent) in VARIANTS.into_iter().zip(&mut spent) {
        println!("{variant}, microseconds of processor time for one exchange:");
        for (name, values) in spent {
            let us = median(values);
            if us > 0.0 {
                println!("  {name:<12} {us:>7.2}");
            }
        }
    }
}
