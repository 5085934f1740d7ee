//! Pairs of servers, of Godwit and of Kea, that know each other's leases: they get to normal
//! operation, every acknowledged lease is at both, each takes over when the other is killed, and
//! copies the leases when it starts again. Backup servers get the leases, too.
//!
//! The servers are on loopback with ports of their own, and perfdhcp is the clients, as a relay
//! agent; or each is in a network namespace, and the clients broadcast (`lives`).

mod backups;
mod bad_partners;
mod clocks;
mod commands;
mod control_sockets;
mod copies;
mod hot_standby;
mod hub;
mod kills;
mod large_copies;
mod lives;
mod load_balancing;
mod maintenance;
mod network;
mod partner_link;
mod releases;
mod retransmissions;
mod serving_copies;
mod take_over;
mod tls;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output};

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::{Value, json};

use self::network::{PairNetwork, SERVER_INTERFACE};
use self::partner_link::PartnerLink;
use crate::common::perfdhcp::figures;
use crate::common::{PATIENCE, TempFolder, free_port, run_bounded, waited_until};
use crate::crash::LINK6;
use crate::subjects::process::{Daemon, ServedLink, ServerMake, Setup};

/// Number of exchanges of a run of clients.
const EXCHANGES: usize = 60;
/// Starts of the pools of the two servers, of 2^16 addresses each, or of eight.
const POOLS_4: [&str; 2] = ["127.1.0.0", "127.2.0.0"];
const NETWORK_POOLS_4: [&str; 2] = ["10.1.0.0", "10.2.0.0"];
const POOLS_6: [&str; 2] = ["2001:db8::1:0", "2001:db8::2:0"];
const PREFIXES: [&str; 2] = ["2001:db8:1000::", "2001:db8:1800::"];

/// Mode of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PairMode {
    HotStandby,
    LoadBalancing,
    PassiveBackup,
}

impl PairMode {
    /// Returns the name of the mode and of its state of normal operation.
    const fn name(self) -> &'static str {
        match self {
            Self::HotStandby => "hot-standby",
            Self::LoadBalancing => "load-balancing",
            Self::PassiveBackup => "passive-backup",
        }
    }

    /// Returns the role of server number `number`.
    const fn role(self, number: usize) -> &'static str {
        match (number, self) {
            (0, _) => "primary",
            (1, Self::HotStandby) => "standby",
            (1, Self::LoadBalancing) => "secondary",
            _ => "backup",
        }
    }
}

/// Settings with which the servers of a pair start.
struct PairSetup {
    family: ScenarioFamily,
    mode: PairMode,
    /// Time after which a server takes its partner for failed, in milliseconds.
    response_ms: u32,
    /// Parameters of each server's relationship in addition to the usual ones, in the order of the
    /// servers.
    further: Vec<Value>,
    /// Members of the configuration in addition to the usual ones.
    globals: &'static str,
    /// Port to which all servers send their replies; 0 for one of its own for each.
    client_port: u16,
    /// True if each pool has eight addresses or prefixes only.
    has_small_pools: bool,
    /// True if the pools have room for millions of leases.
    has_large_pools: bool,
    /// True if the servers reach each other by links that the test can cut.
    has_links: bool,
    /// True if the servers accept each other's commands at HTTP control sockets.
    uses_control_sockets: bool,
    /// Folder whose files each server has in its own folder.
    files: Option<PathBuf>,
    /// Network of the servers and clients; without it they are on loopback.
    network: Option<PairNetwork>,
}

impl PairSetup {
    fn new(family: ScenarioFamily, mode: PairMode, response_ms: u32) -> Self {
        Self {
            family,
            mode,
            response_ms,
            further: Vec::new(),
            globals: "",
            client_port: 0,
            has_small_pools: false,
            has_large_pools: false,
            has_links: false,
            uses_control_sockets: false,
            files: None,
            network: None,
        }
    }

    /// Starts server number `own`, which listens at its own port of `ports` and reaches the others
    /// at theirs.
    fn start_server(&self, own: usize, make: ServerMake, ports: &[u16]) -> Daemon {
        let config = &configuration(self, own, make, ports);
        let family = self.family;
        let has_commands = !self.uses_control_sockets;
        let interfaces = &format!("\"{SERVER_INTERFACE}\"");
        let link = self.network.as_ref().map(|network| ServedLink {
            namespace: network.namespace(own),
            interfaces,
            has_raw_sockets: true,
        });
        let setup = Setup { family, config, has_commands, persists: true, link };
        let folder = TempFolder::new(&format!("ha-{make:?}-{own}").to_lowercase());
        for file in self.files.iter().flat_map(|files| fs::read_dir(files).expect("it was made")) {
            let file = file.expect("it was made");
            fs::copy(file.path(), folder.path().join(file.file_name())).expect("there is room");
        }
        Daemon::start_with_clients(folder, make, setup, PATIENCE, self.client_port)
            .unwrap_or_else(|why| panic!("{make:?}: {why}"))
    }

    /// Starts the servers of a pair, and waits for nothing.
    fn start(self, makes: &[ServerMake]) -> ServerPair {
        let ports: Vec<u16> = makes.iter().map(|_| free_port()).collect();
        let linked = ports.iter().filter(|_| self.has_links);
        let links: Vec<PartnerLink> = linked.map(|port| PartnerLink::new(*port)).collect();
        let start = |(own, make): (usize, &ServerMake)| {
            let mut reached = ports.clone();
            for (number, link) in links.iter().enumerate().filter(|(number, _)| *number != own) {
                reached[number] = link.port;
            }
            self.start_server(own, *make, &reached)
        };
        let mut servers: Vec<Daemon> = makes.iter().enumerate().map(start).collect();
        let client_ports = servers.iter_mut().map(Daemon::give_up_client_port).collect();
        let (family, mode, makes) = (self.family, self.mode, makes.to_vec());
        let network = self.network;
        ServerPair { servers, makes, family, mode, ports, client_ports, links, runs: 0, network }
    }
}

/// Pair of servers: the primary one, and the standby or secondary one. Backup servers follow.
struct ServerPair {
    servers: Vec<Daemon>,
    makes: Vec<ServerMake>,
    family: ScenarioFamily,
    mode: PairMode,
    /// Ports at which the servers accept commands of the others.
    ports: Vec<u16>,
    /// Ports to which the servers send their replies.
    client_ports: Vec<u16>,
    /// Links by which the others reach each server, if the test can cut them.
    links: Vec<PartnerLink>,
    /// Number of runs of clients, which have other addresses in each.
    runs: u8,
    /// Network of the servers, which end before it.
    network: Option<PairNetwork>,
}

/// Returns the configuration of server number `own` of those at `ports`.
fn configuration(setup: &PairSetup, own: usize, make: ServerMake, ports: &[u16]) -> String {
    let PairSetup { family, mode, response_ms, .. } = *setup;
    let peer = |(at, port): (usize, &u16)| {
        let host = match (&setup.network, family) {
            (None, _) => "127.0.0.1".to_owned(),
            (Some(_), ScenarioFamily::V4) => PairNetwork::address(family, at),
            (Some(_), ScenarioFamily::V6) => format!("[{}]", PairNetwork::address(family, at)),
        };
        let url = format!("http://{host}:{port}/");
        let name = format!("server{}", at + 1);
        let mut peer = json!({ "name": name, "url": url, "role": mode.role(at) });
        if setup.uses_control_sockets {
            peer["basic-auth-user"] = json!("user");
            peer["basic-auth-password"] = json!("password");
        }
        peer
    };
    let peers: Vec<Value> = ports.iter().enumerate().map(peer).collect();
    let mut relationship = json!({
        "this-server-name": format!("server{}", own + 1),
        "mode": mode.name(),
        "heartbeat-delay": 500,
        "max-response-delay": response_ms,
        "max-unacked-clients": 0,
        "sync-page-limit": 7,
        "peers": peers,
        "wait-backup-ack": mode == PairMode::PassiveBackup,
    });
    relationship["multi-threading"] = json!({
        "enable-multi-threading": true, "http-dedicated-listener": !setup.uses_control_sockets,
        "http-listener-threads": 2, "http-client-threads": 2,
    });
    for (key, value) in setup.further.get(own).and_then(Value::as_object).into_iter().flatten() {
        relationship[key] = value.clone();
    }
    let hooks = json!([
        { "library": "libdhcp_lease_cmds.so" },
        { "library": "libdhcp_ha.so", "parameters": { "high-availability": [relationship] } },
    ]);
    let number = if family == ScenarioFamily::V4 { 4 } else { 6 };
    let threads = if make == ServerMake::Godwit { "" } else { r#", "thread-pool-size": 2"# };
    let identifier = match family {
        ScenarioFamily::V4 => "",
        // Kea's DHCPv6 server makes no identifier if loopback is the only interface.
        ScenarioFamily::V6 if setup.network.is_some() => "",
        ScenarioFamily::V6 => {
            r#""server-id": { "type": "EN", "enterprise-id": 1, "identifier": "0102" },"#
        }
    };
    let (subnet, globals) = (subnet(setup), setup.globals);
    let sockets = if setup.uses_control_sockets {
        let address = match setup.network {
            None => "127.0.0.1".to_owned(),
            Some(_) => PairNetwork::address(family, own),
        };
        control_sockets::members(&address, ports[own])
    } else {
        String::new()
    };
    format!(
        r#"{globals} {sockets} {identifier} "multi-threading": {{ "enable-multi-threading": true {threads} }},
           "valid-lifetime": 4000, "hooks-libraries": {hooks},
           "subnet{number}": [ {subnet} ]"#
    )
}

/// Returns the subnet of the clients; in load balancing classes divide its pools.
fn subnet(setup: &PairSetup) -> Value {
    let PairSetup { family, mode, has_small_pools, has_large_pools, .. } = *setup;
    let scopes = |pools: [Value; 2]| -> Vec<Value> {
        let classed = |(mut pool, number): (Value, usize)| {
            if mode == PairMode::LoadBalancing {
                pool["client-class"] = json!(format!("HA_server{number}"));
            }
            pool
        };
        pools.into_iter().zip(1..).map(classed).collect()
    };
    let [len4, len6, prefix_len] = match (has_small_pools, has_large_pools) {
        (true, _) => [29, 125, 53],
        (_, true) => [11, 80, 37],
        _ => [16, 112, 37],
    };
    let (pools_4, pools_6) = if setup.network.is_some() {
        (NETWORK_POOLS_4, POOLS_6)
    } else if has_large_pools {
        (["127.32.0.0", "127.64.0.0"], ["2001:db8:0:0:1::", "2001:db8:0:0:2::"])
    } else {
        (POOLS_4, POOLS_6)
    };
    let prefix =
        |prefix: &str| json!({ "prefix": prefix, "prefix-len": prefix_len, "delegated-len": 56 });
    let has_network = setup.network.is_some();
    match family {
        ScenarioFamily::V4 => json!({ "id": 1,
            "subnet": if has_network { "10.0.0.0/8" } else { "127.0.0.0/8" },
            "pools": scopes(pools_4.map(|pool| json!({ "pool": format!("{pool}/{len4}") }))) }),
        ScenarioFamily::V6 => {
            let mut subnet = json!({ "id": 1, "subnet": "2001:db8::/64",
                "pools": scopes(pools_6.map(|pool| json!({ "pool": format!("{pool}/{len6}") }))),
                "pd-pools": scopes(PREFIXES.map(prefix)) });
            if has_network {
                subnet["interface"] = json!(SERVER_INTERFACE);
            } else {
                subnet["relay"] = json!({ "ip-addresses": [ "::1", LINK6.to_string() ] });
            }
            subnet
        }
    }
}

impl ServerPair {
    /// Starts servers of which the first two take a partner for failed after `response_ms`
    /// milliseconds.
    fn start(
        family: ScenarioFamily,
        mode: PairMode,
        makes: &[ServerMake],
        response_ms: u32,
    ) -> Self {
        PairSetup::new(family, mode, response_ms).start(makes)
    }

    fn command(&mut self, server: usize, command: &Value) -> Value {
        let text = self.servers[server].command(&command.to_string()).expect("it takes commands");
        serde_json::from_str(&text).unwrap_or_else(|why| panic!("{command}: {why}: {text}"))
    }

    /// Returns the state of a server and that of its partner as it knows it.
    fn states(&mut self, server: usize) -> [String; 2] {
        let answer = self.command(server, &json!({ "command": "status-get" }));
        let servers = &answer["arguments"]["high-availability"][0]["ha-servers"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        [text(&servers["local"]["state"]), text(&servers["remote"]["last-state"])]
    }

    /// Returns the HTTP status of the answer to `command` at the port for a server's partner.
    fn status_for_partner(&self, server: usize, command: &str) -> u16 {
        let body = json!({ "command": command }).to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[server])).expect("it listens");
        let head = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
        let request =
            format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers");
        answer.split(' ').nth(1).expect("a status").parse().expect("a status")
    }

    /// Waits until `server` is in `state` and knows its partner in `partner`.
    fn wait_for(&mut self, server: usize, [state, partner]: [&str; 2]) {
        let mut states = [String::new(), String::new()];
        let has_come = waited_until(|| {
            states = self.states(server);
            states == [state, partner]
        });
        let makes = &self.makes;
        let logs: Vec<String> = self.servers.iter().map(Daemon::log).collect();
        let logs = logs.join("\n---\n");
        assert!(has_come, "{makes:?}: server {server} is in {states:?}, not {state}: {logs}");
    }

    fn wait_until_normal(&mut self) {
        let normal = self.mode.name();
        for server in [0, 1] {
            self.wait_for(server, [normal, normal]);
        }
    }

    /// Lets new clients get leases of `server`, each of which must be acknowledged.
    fn clients(&mut self, server: usize) {
        self.runs += 1;
        let base = format!("mac=00:0c:{:02x}:00:00:00", self.runs);
        let output = self.run_clients(server, &["-R", "100000", "-b", &base], "20000000");
        self.check_all_answered(server, &output);
    }

    /// Checks that perfdhcp got an answer to all that it sent to `server`.
    fn check_all_answered(&self, server: usize, output: &Output) {
        let log = self.servers[server].log();
        // On a busy machine replies may come late.
        let report = String::from_utf8_lossy(&output.stdout);
        assert_eq!(figures(&report, "lost:"), [0, 0], "{:?}: {report}\n{log}", self.makes);
    }

    /// Sends a signal to a server.
    fn signal(&self, server: usize, name: &str) {
        let pid = self.servers[server].pid().to_string();
        Command::new("kill").args([&format!("-{name}"), &pid]).status().expect("kill runs");
    }

    /// Runs the clients that `clients` selects at `server`. They wait for `wait_us` microseconds
    /// after the last message.
    fn run_clients(&self, server: usize, clients: &[&str], wait_us: &str) -> Output {
        let [port, _] = self.servers[server].ports();
        let count = EXCHANGES.to_string();
        let all = [["-r", "50", "-n", &count].as_slice(), clients].concat();
        self.run_clients_from(self.client_ports[server], port, &all, wait_us)
    }

    /// Runs clients as [`Self::run_clients`] does; `clients` also has their number and rate, and
    /// they send their messages from the port `from` to the port `to`.
    fn run_clients_from(&self, from: u16, to: u16, clients: &[&str], wait_us: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        command.arg("perfdhcp");
        let host = match self.family {
            ScenarioFamily::V4 => {
                command.args(["-4", "-l", "127.0.0.1"]);
                "127.0.0.1"
            }
            ScenarioFamily::V6 => {
                command.args(["-6", "-A", "1", "-e", "address-and-prefix", "-l", "::1"]);
                "::1"
            }
        };
        let [from, to] = [from, to].map(|port| port.to_string());
        command.args(["-W", wait_us]);
        // An offer after its deadline gets no request, so that its client has no lease.
        command.args(["-d", "60", "-d", "60"]);
        command.args(["-L", &from, "-N", &to]).args(clients);
        run_bounded(command.arg(host))
    }

    /// Returns the leases of a server by address, without what each server counts for itself.
    fn leases(&mut self, server: usize) -> BTreeMap<String, Value> {
        let number = if self.family == ScenarioFamily::V4 { 4 } else { 6 };
        let answer = self.command(server, &json!({ "command": format!("lease{number}-get-all") }));
        let leases = answer["arguments"]["leases"].as_array().cloned().unwrap_or_default();
        let entry = |mut lease: Value| {
            let map = lease.as_object_mut().expect("a lease is a map");
            map.remove("pool-id");
            (lease["ip-address"].as_str().expect("an address").to_owned(), lease)
        };
        leases.into_iter().map(entry).collect()
    }

    /// Checks that the first two servers have the same leases, at least `count`.
    fn check_leases(&mut self, count: usize) {
        self.check_leases_of([0, 1], count);
    }

    /// Checks that two servers have the same leases, at least `count`.
    fn check_leases_of(&mut self, servers: [usize; 2], count: usize) {
        let [first, second] = servers.map(|server| self.leases(server));
        assert!(first.len() >= count, "{:?}: {} leases", self.makes, first.len());
        for (address, lease) in &first {
            let other = second.get(address);
            assert_eq!(Some(lease), other, "{:?}: {servers:?}: {address}", self.makes);
        }
        assert_eq!(first.len(), second.len(), "{:?}: {servers:?}", self.makes);
    }
}
