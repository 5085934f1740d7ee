//! Tests of two servers over a Galera cluster of three nodes. The test kills the nodes in turn
//! under load and restarts them. Every second time it also kills a server and starts it while a
//! node is missing. Clients wander between the servers, which begin at different nodes. No address
//! has two clients at any time, the tables of all nodes have every acknowledged lease, and no
//! server refuses a client its lease.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Random;
use testbed::database::galera::{Cluster, NODES};
use testbed::database::{PASSWORD, USER};

use crate::common::{ServerProcess, TempFolder, free_port};
use crate::crash::chronicle::HistoryEvent;
use crate::crash::family::{V4, replace};
use crate::crash::from_environment;
use crate::crash::ledger::AddressRecord;
use crate::crash::storage::{godwit_db, kept_in, replace_memfile};
use crate::crash::wanderers::{FEW, MANY, Wanderers};

/// Number of servers of the link.
pub(crate) const SERVERS: usize = 2;
/// Number of kills in the test command, unless the environment sets another.
const MOMENTS: u64 = 1;
/// Number of kills with the same tables and clients.
const MOMENTS_OF_SITE: u64 = 20;
/// Maximum of acknowledgements of each server before a kill.
const ACKNOWLEDGEMENTS_MAX: u64 = 200;
/// Minimum of acknowledgements of each server before a kill and before the dead node is back.
const ACKNOWLEDGEMENTS_MIN: u64 = 20;

/// Counts over all kills.
#[derive(Debug, Default)]
struct GaleraCounts {
    moments: u64,
    /// Number of kills that hit a server as well as a node.
    servers: u64,
    acknowledged: u64,
    sent: u64,
    abandoned: u64,
    wandered: u64,
    passed_on: u64,
    leases_found: u64,
}

/// Tables in the cluster's database, and the files of the two servers that share them.
struct Site {
    name: String,
    folders: [TempFolder; SERVERS],
    configs: [PathBuf; SERVERS],
    ports: [u16; SERVERS],
    relay_port: u16,
    /// Ports of the nodes.
    database_ports: [u16; NODES],
}

impl Site {
    /// Makes empty tables named after `label`.
    fn new(cluster: &Cluster, label: &str) -> Self {
        let name = label.replace('-', "_");
        let database_ports = std::array::from_fn(|node| cluster.node(node).port().unwrap());
        let folders = folders_of(label);
        let configs = std::array::from_fn(|server| {
            let config = configuration(&folders[server], server);
            let port = |node: usize| database_ports[node % NODES];
            let setting = format!(
                r#""type": "mysql", "name": "{name}", "host": "127.0.0.1", "port": {},
                   "user": "{USER}", "password": "{PASSWORD}", "retry-on-startup": true,
                   "max-reconnect-tries": 1000000, "reconnect-wait-time": 20"#,
                port(server)
            );
            replace_memfile(&config, &setting);
            let others: Vec<String> =
                (1..NODES).map(|n| format!("\"127.0.0.1:{}\"", port(server + n))).collect();
            let hosts = format!(
                "\"shards\": 2, \"lease-database\": {{ \"hosts\": [{}] }}",
                others.join(",")
            );
            replace(&config, "\"shards\": 2", &hosts);
            config
        });
        let ports = [free_port(), free_port()];
        let site = Self { name, folders, configs, ports, relay_port: free_port(), database_ports };
        cluster.node(0).create(&site.name).unwrap();
        godwit_db("init", &site.flags(0), &[]);
        site
    }

    /// Returns the flags of `godwit db` for a node.
    fn flags(&self, node: usize) -> Vec<String> {
        let port = self.database_ports[node].to_string();
        let words =
            ["mysql", "-n", &self.name, "-u", USER, "-p", PASSWORD, "-h", "127.0.0.1", "-P"];
        words.iter().copied().chain([port.as_str()]).map(str::to_owned).collect()
    }

    fn start(&self, server: usize) -> ServerProcess {
        let ports = [self.ports[server], self.relay_port];
        let (config, folder) = (&self.configs[server], self.folders[server].path());
        ServerProcess::launch_on(Command::new("env"), V4.server, ports, config, folder)
    }

    /// Returns a node's record of every address.
    fn stored_leases(&self, cluster: &Cluster, node: usize) -> BTreeMap<IpAddr, AddressRecord> {
        // Commits of other nodes may still be on their way.
        let wait =
            format!("SET SESSION wsrep_sync_wait = 15; SELECT count(*) FROM {}.lease4", self.name);
        cluster.node(node).query("mysql", &wait).unwrap();
        let file = self.folders[0].path().join("dump.csv");
        godwit_db("dump", &self.flags(node), &["-4", "-y", "-o", &file.display().to_string()]);
        kept_in(&file)
    }

    /// Checks that every node has the leases that clients were granted.
    fn check(&self, cluster: &Cluster, clients: &Wanderers) -> Result<(), String> {
        (0..NODES).try_for_each(|node| {
            clients.chronicle.check(&format!("node {node}"), &self.stored_leases(cluster, node))
        })
    }

    /// Returns the nodes that a server is connected to.
    fn nodes_of(&self, server: &ServerProcess) -> Vec<usize> {
        let inodes: Vec<String> = fs::read_dir(format!("/proc/{}/fd", server.pid()))
            .into_iter()
            .flatten()
            .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
            .filter_map(|to| Some(to.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.into()))
            .collect();
        let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        let is_to = |port: u16, line: &str| {
            let mut fields = line.split_ascii_whitespace();
            let remote = fields.nth(2).and_then(|address| address.rsplit(':').next());
            let is_there = remote.and_then(|hex| u16::from_str_radix(hex, 16).ok()) == Some(port);
            is_there && fields.nth(6).is_some_and(|inode| inodes.iter().any(|own| own == inode))
        };
        let has = |node: &usize| {
            table.lines().skip(1).any(|line| is_to(self.database_ports[*node], line))
        };
        (0..NODES).filter(has).collect()
    }
}

fn folders_of(label: &str) -> [TempFolder; SERVERS] {
    std::array::from_fn(|server| TempFolder::new(&format!("{label}-{server}")))
}

/// Returns the identifiers of the servers, which differ although the servers have the same address.
fn server_ids() -> [Vec<u8>; SERVERS] {
    std::array::from_fn(|server| vec![127, 0, 0, 11 + server as u8])
}

/// Returns the configuration of a server with a lease file.
fn configuration(folder: &TempFolder, server: usize) -> PathBuf {
    let path = (V4.configuration)(folder.path());
    let option = format!(
        r#""option-data": [ {{ "name": "dhcp-server-identifier", "data": "127.0.0.{}" }} ],"#,
        11 + server
    );
    replace(&path, "\"subnet4\"", &format!("{option} \"subnet4\""));
    path
}

/// Cluster, servers and clients of a run.
struct GaleraRun<'r> {
    cluster: &'r mut Cluster,
    site: Site,
    servers: [Option<ServerProcess>; SERVERS],
    clients: Wanderers,
}

impl GaleraRun<'_> {
    /// Kills the node `node` under load, and a server if requested, and continues until they are
    /// back.
    fn moment(
        &mut self,
        node: usize,
        server: Option<usize>,
        acknowledgements: u64,
    ) -> Result<(), String> {
        self.clients.act_until_acknowledged(acknowledgements)?;
        self.tell(&format!("node {node} is killed"));
        while_acting(&mut self.clients, || self.cluster.kill(node))?;
        if let Some(server) = server {
            self.tell(&format!("server {server} is killed"));
            let running = &mut self.servers[server];
            running.take().unwrap().kill();
            *running = Some(while_acting(&mut self.clients, || self.site.start(server))?);
            self.tell(&format!("server {server} is back"));
        }
        self.clients.act_until_acknowledged(ACKNOWLEDGEMENTS_MIN)?;
        self.clients.in_flight_max = FEW;
        while_acting(&mut self.clients, || self.cluster.rejoin(node))?
            .map_err(|error| error.to_string())?;
        self.clients.in_flight_max = MANY;
        self.tell(&format!("node {node} is back"));
        self.clients.receive_all()?;
        self.site.check(self.cluster, &self.clients)
    }

    /// Records an event, with the nodes that the servers are connected to.
    fn tell(&mut self, what: &str) {
        let nodes = self.servers.each_ref().map(|server| {
            server.as_ref().map(|server| self.site.nodes_of(server)).unwrap_or_default()
        });
        let text = format!("{what}; the servers are at the nodes {nodes:?}");
        self.clients.chronicle.note(HistoryEvent::Incident(text));
    }

    /// Ends the servers and checks that all nodes have the same leases, as promised.
    fn end(mut self) -> Result<Wanderers, String> {
        self.clients.act_until_acknowledged(ACKNOWLEDGEMENTS_MIN)?;
        for server in self.servers.iter_mut().filter_map(Option::take) {
            server.stop();
        }
        self.clients.receive_all()?;
        self.site.check(self.cluster, &self.clients)?;
        let first = self.site.stored_leases(self.cluster, 0);
        let differs = (1..NODES).find(|&node| self.site.stored_leases(self.cluster, node) != first);
        differs.map_or(Ok(self.clients), |node| Err(format!("node {node} differs from node 0")))
    }

    /// Returns the last log lines of the servers.
    fn logs(&self) -> String {
        let logs = self.servers.iter().enumerate().filter_map(|(number, server)| {
            let log = server.as_ref()?.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(40)..].join("\n");
            Some(format!("server {number} says:\n{last}\n"))
        });
        logs.collect()
    }
}

/// Runs `act` while clients continue on a thread of their own: the kernel ends nodes with the
/// thread that started them.
fn while_acting<T>(clients: &mut Wanderers, act: impl FnOnce() -> T) -> Result<T, String> {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let acting = scope.spawn(|| clients.act_while(|_| !is_done.load(Ordering::Relaxed)));
        let done = act();
        is_done.store(true, Ordering::Relaxed);
        acting.join().unwrap().map(|()| done)
    })
}

/// Kills `count` times, with the same tables and clients.
fn kill_in_turn(
    cluster: &mut Cluster,
    label: &str,
    seed: u64,
    count: u64,
    tally: &mut GaleraCounts,
) -> Result<(), String> {
    let site = Site::new(cluster, label);
    let mut random = Random::from_seed(seed);
    let seed = random.next_u64();
    let clients = Wanderers::new(V4, site.ports, site.relay_port, server_ids(), seed);
    let servers = std::array::from_fn(|server| Some(site.start(server)));
    let mut run = GaleraRun { cluster, site, servers, clients };
    let mut nodes = Vec::new();
    for moment in 0..count {
        if nodes.is_empty() {
            nodes.extend(0..NODES);
            random.shuffle(&mut nodes);
        }
        let node = nodes.pop().unwrap();
        let server = (moment % 2 == 0).then(|| random.below(SERVERS as u64) as usize);
        let acknowledgements = ACKNOWLEDGEMENTS_MIN + random.below(ACKNOWLEDGEMENTS_MAX);
        run.moment(node, server, acknowledgements).map_err(|broken| broken + &run.logs())?;
        tally.moments += 1;
        tally.servers += u64::from(server.is_some());
        tally.leases_found += run.clients.chronicle.leases() as u64;
    }
    let clients = run.end()?;
    tally.acknowledged += clients.chronicle.acknowledged.iter().sum::<u64>();
    tally.sent += clients.sent;
    tally.abandoned += clients.abandoned;
    tally.wandered += clients.chronicle.wandered;
    tally.passed_on += clients.chronicle.passed_on;
    Ok(())
}

#[test]
fn no_address_has_two_owners_whichever_node_of_a_cluster_dies() {
    if let Some(reason) = Cluster::missing() {
        testkit::skip(reason);
        return;
    }
    let moments = from_environment("GODWIT_CRASH_MOMENTS", MOMENTS);
    let first_seed = from_environment("GODWIT_CRASH_SEED", 1);
    let mut cluster = Cluster::start(true).unwrap();
    let mut tally = GaleraCounts::default();
    for seed in first_seed.. {
        let count = (moments - tally.moments).min(MOMENTS_OF_SITE);
        if count == 0 {
            break;
        }
        let label = format!("server-galera-{seed}");
        if let Err(broken) = kill_in_turn(&mut cluster, &label, seed, count, &mut tally) {
            panic!(
                "seed {seed}: {broken}\nrepeat with: cargo xtask crash --only server-galera \
                 --moments {MOMENTS_OF_SITE} --seed {seed}"
            );
        }
    }
    let GaleraCounts { moments, servers, sent, acknowledged, abandoned, .. } = tally;
    let GaleraCounts { wandered, passed_on, leases_found, .. } = tally;
    println!(
        "crash: {moments} moments, {servers} of a server too; {sent} messages, {acknowledged} \
         acknowledgements, {abandoned} messages given up; {wandered} leases kept by the other server, \
         {passed_on} addresses passed on by it; {leases_found} leases looked for and found"
    );
    let least = tally.moments * ACKNOWLEDGEMENTS_MIN;
    assert!(tally.acknowledged > least && tally.wandered > least, "{tally:?}");
    assert!(tally.passed_on > tally.moments, "{tally:?}");
}

#[test]
fn two_servers_that_share_nothing_are_found_out() {
    let label = "unshared";
    let folders = folders_of(label);
    let (ports, relay_port) = ([free_port(), free_port()], free_port());
    let servers: [ServerProcess; SERVERS] = std::array::from_fn(|server| {
        let config = configuration(&folders[server], server);
        let ports = [ports[server], relay_port];
        let folder = folders[server].path();
        ServerProcess::launch_on(Command::new("env"), V4.server, ports, &config, folder)
    });
    let mut clients = Wanderers::new(V4, ports, relay_port, server_ids(), 1);
    let broken = clients.act_until_acknowledged(1_000_000).unwrap_err();
    assert!(broken.contains(" too\n"), "{broken}");
    servers.into_iter().for_each(|server| drop(server.stop()));
}
