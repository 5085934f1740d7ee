//! Lives of pairs on a network, under load by Kea's perfdhcp: kills of either server, a server that
//! the network loses, restarts of both, a maintenance, clocks that differ, a server with a wrong
//! certificate or password, and a copy of many leases. After each fault both servers have all
//! leases that a capture of the network shows as acknowledged, no address has two clients, and both
//! are in normal operation.
//!
//! The test command takes a sample: one life for each partner, with some of the faults.
//! `GODWIT_HA_LIVES` sets the number of lives of each suite, at most one of each mode and family;
//! with it, each life has all faults. `cargo xtask ha` sets it.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Stdio;

use base::Random;
use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::{Value, json};

use super::clocks::FakedClock;
use super::large_copies::{LoadProcess, assigned, lease_file};
use super::network::PairNetwork;
use super::{PairMode, PairSetup, ServerPair, tls};
use crate::common::capture::TcpdumpProcess;
use crate::common::{TempFolder, has_debian_13, require, wait_until, waited_until};
use crate::crash::from_environment;
use crate::subjects::process::{CREDENTIALS, Daemon, ServerMake};

const LIVES: &str = "GODWIT_HA_LIVES";
const SEED: &str = "GODWIT_HA_KILLS_SEED";
/// Number of faults of a life in the test command.
const FAULTS_OF_SAMPLE: usize = 2;
/// Numbers of leases that are copied: in the test command, and in a whole life.
const COPIED_OF_SAMPLE: u64 = 2_000;
const COPIED: u64 = 50_000;
/// Exchanges per second of perfdhcp, and seconds of a run.
const RATE: &str = "100";
const PERIOD_S: &str = "6";
/// Number of leases that a run of clients has before a fault happens.
const LEASES_BEFORE_FAULT: u64 = 20;
/// First addresses of the leases that are copied, outside of the pools.
const COPIED_4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 64, 0, 0));
const COPIED_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 1, 0, 0, 0));
/// Octets of hardware addresses of clients that tell them from servers.
const CLIENT_OCTETS: &str = "000c";

/// Change of a pair that its clients must not notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Kill of a server, which starts again when the other one serves alone.
    Kill(usize),
    /// Server whose frames the network drops for a time.
    Cut(usize),
    /// End of both servers by SIGTERM.
    RestartBoth,
    Maintenance,
    /// Difference between the clocks of the servers in seconds.
    Clock(i32),
    /// Server that starts with a certificate of another authority, or accepts another password.
    WrongSecret(usize),
    /// End of both servers; the primary one has many more leases afterwards, the other none.
    Copy,
}

const FAULTS: [Fault; 11] = [
    Fault::Kill(0),
    Fault::Cut(0),
    Fault::Maintenance,
    Fault::Kill(1),
    Fault::RestartBoth,
    Fault::Cut(1),
    Fault::Clock(90),
    Fault::WrongSecret(0),
    Fault::Clock(-90),
    Fault::WrongSecret(1),
    Fault::Copy,
];

/// Secret by which the servers of a pair know each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PairSecret {
    /// Certificates of one authority.
    Certificates,
    /// Passwords of HTTP control sockets, which Kea 2.2 does not have.
    Passwords,
}

/// Client of a lease: the last six octets of its identifier, in hexadecimal.
fn client_of(identifier: &str) -> Option<String> {
    let digits: String = identifier.chars().filter(char::is_ascii_hexdigit).collect();
    Some(digits.get(digits.len().checked_sub(12)?..)?.to_lowercase())
}

/// Returns the client that a capture names, of several identifiers with commas between.
fn captured_client(identifiers: &str) -> Option<String> {
    identifiers.split(',').filter_map(client_of).find(|client| client.starts_with(CLIENT_OCTETS))
}

/// Pair under load, with a capture of what its servers reply.
struct LivingPair {
    /// The pair ends before the folder of the capture.
    pair: ServerPair,
    capture: TcpdumpProcess,
    _folder: TempFolder,
    secret: PairSecret,
    /// Clock of the first server of Godwit.
    clock: FakedClock,
    copied: u64,
    seed: u64,
}

impl LivingPair {
    /// Returns the number of leases that the statistics of both servers count.
    fn assigned(&mut self) -> u64 {
        [0, 1].into_iter().map(|server| assigned(&mut self.pair, server)).sum()
    }

    /// Starts clients, which are others in each run, and waits until some have leases. They go on
    /// for some seconds.
    fn load(&mut self) -> LoadProcess {
        let before = self.assigned();
        self.pair.runs += 1;
        let base = format!("mac=00:0c:{:02x}:00:00:00", self.pair.runs);
        let network = self.pair.network.as_ref().expect("it was made");
        let mut command = network.perfdhcp(self.pair.family);
        command.args(["-r", RATE, "-p", PERIOD_S, "-R", "1000000", "-b", &base]);
        command.args(["-s", &self.seed.to_string()]);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let clients = LoadProcess(command.spawn().expect("perfdhcp is there"));
        wait_until(|| self.assigned() >= before + LEASES_BEFORE_FAULT);
        clients
    }

    /// Returns the client of each address that was acknowledged, with the last address of a client,
    /// since perfdhcp may take a client twice. No lease ends, so no address may go to a client
    /// while another one has it.
    fn acknowledged(&self) -> BTreeMap<IpAddr, String> {
        let (filter, fields): (_, &[&str]) = match self.pair.family {
            ScenarioFamily::V4 => ("dhcp.option.dhcp == 5", &["dhcp.hw.mac_addr", "dhcp.ip.your"]),
            ScenarioFamily::V6 => (
                "dhcpv6.msgtype == 7",
                &["dhcpv6.duid.bytes", "dhcpv6.iaaddr.ip", "dhcpv6.iaprefix.pref_addr"],
            ),
        };
        let options = fields.iter().flat_map(|field| ["-e", field]);
        let options: Vec<&str> = ["-T", "fields"].into_iter().chain(options).collect();
        let mut leases: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
        let mut owners: BTreeMap<IpAddr, String> = BTreeMap::new();
        for line in self.capture.so_far().packets(&options, filter) {
            let mut columns = line.split('\t');
            let Some(client) = columns.next().and_then(captured_client) else { continue };
            let addresses: Vec<IpAddr> = columns.filter_map(|column| column.parse().ok()).collect();
            if let Some(earlier) = leases.insert(client.clone(), addresses) {
                earlier.iter().for_each(|address| _ = owners.remove(address));
            }
            for address in leases.get(&client).into_iter().flatten() {
                let owner =
                    owners.insert(*address, client.clone()).unwrap_or_else(|| client.clone());
                let (makes, logs) = (&self.pair.makes, || self.logs());
                assert_eq!(owner, client, "{makes:?}: both have {address}: {}", logs());
            }
        }
        owners
    }

    /// Returns the clients of a server's leases.
    fn clients_at(&mut self, server: usize) -> BTreeMap<IpAddr, String> {
        let key = if self.pair.family == ScenarioFamily::V4 { "hw-address" } else { "duid" };
        let entry = |(address, lease): (String, Value)| {
            let client = client_of(lease[key].as_str()?)?;
            (lease["state"] == 0).then_some((address.parse().ok()?, client))
        };
        self.pair.leases(server).into_iter().filter_map(entry).collect()
    }

    /// Checks that `stored`, the leases of `server`, have the leases that were acknowledged.
    fn check_stored(
        &self,
        server: usize,
        stored: &BTreeMap<IpAddr, String>,
        acknowledged: &BTreeMap<IpAddr, String>,
        fault: Option<Fault>,
    ) {
        for (address, client) in acknowledged {
            let holder = stored.get(address);
            assert!(
                holder == Some(client),
                "{:?}, {fault:?}: {address} was acknowledged to {client}; server {server} has \
                 {holder:?}: {}",
                self.pair.makes,
                self.logs()
            );
        }
    }

    fn logs(&self) -> String {
        self.pair.servers.iter().map(Daemon::log).collect::<Vec<_>>().join("\n---\n")
    }

    /// Checks that `server`, which is alone during `fault`, has the leases that were acknowledged.
    fn check_at(&mut self, server: usize, fault: Fault) {
        let acknowledged = self.acknowledged();
        let stored = self.clients_at(server);
        self.check_stored(server, &stored, &acknowledged, Some(fault));
    }

    /// Checks after `fault` that both servers have the leases that were acknowledged, and no
    /// address has two clients. Returns the number of these leases.
    fn check(&mut self, fault: Option<Fault>) -> usize {
        let acknowledged = self.acknowledged();
        let [first, second] = [0, 1].map(|server| self.clients_at(server));
        for (server, stored) in [&first, &second].into_iter().enumerate() {
            self.check_stored(server, stored, &acknowledged, fault);
        }
        for (address, client) in &first {
            let other = second.get(address).unwrap_or(client);
            assert_eq!(
                client,
                other,
                "{:?}, {fault:?}: {address}: {}",
                self.pair.makes,
                self.logs()
            );
        }
        acknowledged.len()
    }

    /// Waits until both servers are in normal operation.
    fn wait_until_normal(&mut self) {
        if self.pair.mode == PairMode::PassiveBackup {
            self.pair.wait_for(0, ["passive-backup", ""]);
            self.pair.wait_for(1, ["backup", ""]);
        } else {
            self.pair.wait_until_normal();
        }
    }

    /// Waits until `server` serves all clients, if the pair has such a state.
    fn wait_until_alone(&mut self, server: usize) {
        if self.pair.mode != PairMode::PassiveBackup {
            self.pair.wait_for(server, ["partner-down", "unavailable"]);
        }
    }

    /// Lets a backup server copy the leases that it missed, which it does not do by itself.
    fn copy_to_backup(&mut self) {
        if self.pair.mode == PairMode::PassiveBackup {
            let arguments = json!({ "server-name": "server1" });
            let command = json!({ "command": "ha-sync", "arguments": arguments });
            let answer = self.pair.command(1, &command);
            assert_eq!(answer["result"], 0, "{:?}: {answer}", self.pair.makes);
        }
    }

    fn restart(&mut self, server: usize) {
        let started = self.pair.servers[server].restart();
        started.unwrap_or_else(|why| panic!("{:?}: {why:?}", self.pair.makes));
    }

    /// Lets `fault` happen under load, and waits until it is over.
    fn suffer(&mut self, fault: Fault) {
        let clients = self.load();
        match fault {
            Fault::Kill(server) => {
                self.pair.servers[server].kill();
                self.wait_until_alone(1 - server);
                self.check_at(1 - server, fault);
                clients.wait();
                self.restart(server);
            }
            Fault::Cut(server) => {
                self.network().cut(server);
                self.wait_until_alone(1 - server);
                self.check_at(1 - server, fault);
                clients.wait();
                self.network().mend(server);
            }
            Fault::RestartBoth => {
                [0, 1].into_iter().for_each(|server| self.restart(server));
                clients.wait();
            }
            Fault::Maintenance => {
                self.pair.maintain("ha-maintenance-start");
                self.pair.wait_for_maintenance();
                clients.wait();
                self.pair.servers[0].kill();
                if self.pair.makes[1].is_kea() {
                    // In Kea the maintenance goes on if no heartbeat finds the server away.
                    self.wait_until_alone(1);
                }
                self.restart(0);
            }
            Fault::Clock(seconds) => {
                self.let_clocks_differ(seconds);
                clients.wait();
                self.clock.set(0);
                if self.pair.makes.iter().any(|make| make.is_kea()) {
                    // As Kea's manual says.
                    [0, 1].into_iter().for_each(|server| self.pair.servers[server].kill());
                    [0, 1].into_iter().for_each(|server| self.restart(server));
                }
            }
            Fault::WrongSecret(server) => {
                clients.wait();
                self.start_with_wrong_secret(server);
                self.check_at(1 - server, fault);
                self.pair.servers[server].kill();
                self.set_secret(server, true);
                self.restart(server);
            }
            Fault::Copy => {
                clients.wait();
                self.wait_until_normal();
                self.add_leases();
            }
        }
        self.wait_until_normal();
        self.copy_to_backup();
    }

    /// Lets the clocks of the servers differ until both have ended their relationship.
    fn let_clocks_differ(&mut self, seconds: i32) {
        self.clock.set(seconds);
        for server in [0, 1] {
            let has_ended = waited_until(|| self.pair.states(server)[0] == "terminated");
            assert!(has_ended, "{:?}: {seconds} s: {}", self.pair.makes, self.logs());
        }
    }

    /// Replaces the secret of `server`, which does not run, by one that `is_right` or wrong.
    fn set_secret(&self, server: usize, is_right: bool) {
        let folder = self.pair.servers[server].folder();
        match self.secret {
            PairSecret::Certificates => {
                let name = if is_right { "right" } else { "wrong" };
                for ending in ["crt", "key"] {
                    let from = folder.join(format!("{name}.{ending}"));
                    fs::copy(from, folder.join(format!("own.{ending}"))).expect("there is room");
                }
            }
            PairSecret::Passwords => {
                let password = if is_right { "user:password" } else { "user:another" };
                fs::write(folder.join(CREDENTIALS), password).expect("there is room");
            }
        }
    }

    /// Starts `server` again with a wrong secret, so that the other one takes it for failed. With a
    /// wrong certificate it reaches the other one no more, either; with a password that the other
    /// one does not know, it does, and leaves the clients to it.
    fn start_with_wrong_secret(&mut self, server: usize) {
        self.pair.servers[server].kill();
        self.set_secret(server, false);
        self.restart(server);
        self.wait_until_alone(1 - server);
        match self.secret {
            PairSecret::Certificates => self.wait_until_alone(server),
            PairSecret::Passwords => self.load().wait(),
        }
    }

    fn network(&self) -> &PairNetwork {
        self.pair.network.as_ref().expect("it was made")
    }

    /// Ends both servers, adds leases to the file of the primary one, and starts both.
    fn add_leases(&mut self) {
        [1, 0].into_iter().for_each(|server| self.pair.servers[server].kill());
        let path = |server: usize| self.pair.servers[server].folder().join("leases.csv");
        let mut text = fs::read_to_string(path(0)).expect("it has a lease file");
        let header = text.lines().next().expect("it has a header").to_owned();
        let first = if self.pair.family == ScenarioFamily::V4 { COPIED_4 } else { COPIED_6 };
        let further = lease_file(first, &header, self.copied);
        text += further.split_once('\n').expect("it has a header").1;
        fs::write(path(0), text).expect("there is room");
        fs::write(path(1), format!("{header}\n")).expect("there is room");
        self.restart(0);
        self.restart(1);
    }
}

/// Life of a pair.
#[derive(Clone, Copy, Debug)]
struct LifeCase {
    family: ScenarioFamily,
    mode: PairMode,
    makes: [ServerMake; 2],
}

/// Takes a pair through the faults of a life. Returns the number of leases that were acknowledged.
fn live(case: LifeCase, seed: u64, is_whole: bool) -> Option<usize> {
    let LifeCase { family, mode, makes } = case;
    let mut random = Random::from_seed(seed);
    let mut faults = FAULTS.to_vec();
    random.shuffle(&mut faults);
    // A primary server that does not wait for states has none of these.
    let needs_states = |fault: &Fault| {
        matches!(fault, Fault::Maintenance | Fault::Clock(_) | Fault::WrongSecret(_))
    };
    faults.retain(|fault| mode != PairMode::PassiveBackup || !needs_states(fault));
    let secret = if makes.contains(&ServerMake::Kea) || random.chance(1, 2) {
        PairSecret::Certificates
    } else {
        PairSecret::Passwords
    };
    let copied = if is_whole {
        COPIED
    } else {
        faults.truncate(FAULTS_OF_SAMPLE);
        COPIED_OF_SAMPLE
    };
    println!("{case:?}: {secret:?}, {faults:?}");
    let folder = TempFolder::new("ha-capture");
    let network = PairNetwork::new()?;
    let capture = network.capture(&folder.path().join("replies.pcap"));
    let certificates = tls::certificates();
    for ending in ["crt", "key"] {
        let [from, to] = ["right", "own"].map(|name| format!("{name}.{ending}"));
        fs::copy(certificates.path().join(from), certificates.path().join(to)).ok()?;
    }
    let mut further = match secret {
        PairSecret::Certificates => tls::parameters("right", "own"),
        PairSecret::Passwords => json!({}),
    };
    further["sync-page-limit"] = json!(1_000);
    let setup = PairSetup {
        network: Some(network),
        further: vec![further; 2],
        files: Some(certificates.path().to_owned()),
        uses_control_sockets: secret == PairSecret::Passwords,
        ..PairSetup::new(family, mode, 3_000)
    };
    let (pair, clock) = (setup.start(&makes), FakedClock::new());
    let mut living = LivingPair { pair, capture, _folder: folder, secret, clock, copied, seed };
    let faked = makes.iter().position(|make| *make == ServerMake::Godwit)?;
    living.clock.restart(&mut living.pair, faked);
    living.wait_until_normal();
    living.load().wait();
    living.check(None);
    for fault in faults {
        living.suffer(fault);
        living.check(Some(fault));
        if fault == Fault::Copy {
            let stored = [0, 1].map(|server| living.clients_at(server).len() as u64);
            assert!(stored.iter().all(|leases| *leases > copied), "{case:?}: {stored:?}");
        }
    }
    living.load().wait();
    let acknowledged = living.check(None);
    assert!(acknowledged > 0, "{case:?}: nothing was acknowledged");
    Some(acknowledged)
}

/// Takes pairs of Godwit and `other` through their lives, in both roles. `label` gives each suite
/// another order of lives.
fn pairs_live(suite: &str, label: u64, other: ServerMake) {
    if !require(&["faketime", "openssl"]) {
        return;
    }
    let seed = from_environment(SEED, 1);
    let is_whole = std::env::var_os(LIVES).is_some();
    let godwit = ServerMake::Godwit;
    let mut cases = Vec::new();
    for mode in [PairMode::HotStandby, PairMode::LoadBalancing, PairMode::PassiveBackup] {
        for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
            cases.push(LifeCase { family, mode, makes: [godwit, other] });
            if other != godwit {
                cases.push(LifeCase { family, mode, makes: [other, godwit] });
            }
        }
    }
    Random::from_seed(seed).fork(label).shuffle(&mut cases);
    cases.truncate(from_environment(LIVES, 1) as usize);
    let mut acknowledged = 0;
    for (case, seed) in cases.iter().zip(seed..) {
        println!("{case:?}; repeat with: cargo xtask ha --only {suite} --seed {seed} --kills 1");
        let Some(leases) = live(*case, seed, is_whole) else { return };
        acknowledged += leases;
    }
    println!("ha: {} lives, {acknowledged} leases acknowledged, none lost", cases.len());
}

#[test]
fn pairs_of_godwit_live_on_a_network() {
    pairs_live("lives-godwit", 0, ServerMake::Godwit);
}

#[test]
fn pairs_with_kea_3_live_on_a_network() {
    if has_debian_13() {
        pairs_live("lives-kea-3", 6, ServerMake::Kea3);
    }
}

#[test]
fn pairs_with_kea_2_2_live_on_a_network() {
    if require(&["kea-dhcp4", "kea-dhcp6"]) {
        pairs_live("lives-kea-2.2", 8, ServerMake::Kea);
    }
}
