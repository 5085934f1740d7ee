//! Kills of either server of a pair, and cuts of the link between them, at random moments under
//! load: the other one has every lease that was acknowledged, no address has two clients, and the
//! pair becomes normal again. During a cut the clients reach one of the servers only.
//!
//! The seed determines the fault, the server, and the moment as a number of acknowledgements and of
//! further messages. `GODWIT_HA_KILLS` sets the number of faults, `GODWIT_HA_KILLS_SEED` the first
//! seed; `cargo xtask ha` sets both.

use std::collections::BTreeMap;
use std::net::IpAddr;

use base::Random;
use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::{Value, json};

use super::partner_link::PartnerLink;
use super::{PairMode, PairSetup, ServerPair};
use crate::common::{free_port, has_debian_13, require};
use crate::crash::{self, AddressRecord, CrashClients, from_environment};
use crate::subjects::process::{Daemon, ServerMake};

/// Number of faults in the test command, unless the environment sets another: one in each family.
const KILLS: u64 = 2;
/// Number of faults of the same pair.
const KILLS_OF_PAIR: u64 = 5;
/// Maximum of acknowledgements before a fault.
const ACKNOWLEDGEMENTS_MAX: u64 = 200;
/// Maximum of further messages before a fault.
const MESSAGES_MAX: u64 = 60;

/// Counts of a suite.
#[derive(Debug, Default)]
struct KillCounts {
    /// Number of kills and cuts.
    faults: u64,
    cuts: u64,
    take_overs: u64,
    /// Number of kills of a server that had its leases to itself for the moment: on a busy machine
    /// a partner may be slow enough to be taken for failed.
    alone: u64,
    acknowledged: u64,
    leases_found: u64,
}

/// Returns the leases of a server by address, with the clients that their identifiers name.
fn stored_leases(pair: &mut ServerPair, server: usize) -> BTreeMap<IpAddr, AddressRecord> {
    let entry = |(address, lease): (String, Value)| {
        let key = if lease.get("duid").is_some() { "duid" } else { "hw-address" };
        let text = lease[key].as_str()?;
        let octets: Vec<u8> =
            text.split(':').filter_map(|octet| u8::from_str_radix(octet, 16).ok()).collect();
        let record = AddressRecord {
            client: u32::from_be_bytes(*octets.last_chunk()?),
            is_assigned: lease["state"] == 0,
            heard_s: lease["cltt"].as_u64()?,
        };
        Some((address.parse().ok()?, record))
    };
    pair.leases(server).into_iter().filter_map(entry).collect()
}

/// Returns the state that a server's log names last.
fn last_state(log: &str) -> Option<String> {
    let line = log.lines().rfind(|line| line.contains("HA_STATE_TRANSITION"))?;
    let (_, end) = line.split_once(" to ")?;
    let state = end.split([' ', ',', ':']).next()?;
    Some(state.to_lowercase())
}

/// Pair with its clients, and the random choice of faults.
struct FaultyPair {
    pair: ServerPair,
    clients: CrashClients,
    random: Random,
}

impl FaultyPair {
    /// Starts the servers and waits until they are in normal operation.
    fn start(setup: PairSetup, makes: &[ServerMake], seed: u64) -> Self {
        let family = match setup.family {
            ScenarioFamily::V4 => crash::V4,
            ScenarioFamily::V6 => crash::V6,
        };
        let relay_port = setup.client_port;
        let mut pair = setup.start(makes);
        let mut random = Random::from_seed(seed);
        let ports = [pair.servers[0].ports()[0], relay_port];
        let mut clients = CrashClients::new(family, ports, random.next_u64());
        clients.ledger.may_move_clients = makes.iter().any(|make| *make != ServerMake::Godwit);
        clients.use_servers(&pair.servers.iter().map(|one| one.ports()[0]).collect::<Vec<_>>());
        pair.wait_until_normal();
        Self { pair, clients, random }
    }

    /// Lets clients get and release leases.
    fn act(&mut self) -> Result<(), String> {
        let acknowledgements = self.random.below(ACKNOWLEDGEMENTS_MAX);
        self.clients.act(acknowledgements, self.random.below(MESSAGES_MAX))
    }

    /// Kills a server, perhaps lets the other one take over, and starts it again.
    fn kill(&mut self, counts: &mut KillCounts) -> Result<(), String> {
        let killed = self.random.below(2) as usize;
        let other = 1 - killed;
        self.pair.servers[killed].kill();
        self.clients.lose_server()?;
        if last_state(&self.pair.servers[killed].log()).as_deref() == Some(self.pair.mode.name()) {
            self.check(other, counts)?;
        } else {
            counts.alone += 1;
        }
        if self.random.chance(1, 2) {
            self.pair.wait_for(other, ["partner-down", "unavailable"]);
            self.act()?;
            self.clients.lose_server()?;
            counts.take_overs += 1;
        }
        self.pair.servers[killed].restart().map_err(|why| format!("{why:?}"))
    }

    /// Cuts the link between the servers, while clients reach one of them, and mends it.
    fn cut(&mut self, counts: &mut KillCounts) -> Result<(), String> {
        let stays = self.random.below(2) as usize;
        let ports: Vec<u16> = self.pair.servers.iter().map(|one| one.ports()[0]).collect();
        self.pair.links.iter().for_each(PartnerLink::cut);
        self.clients.lose_server()?;
        self.clients.use_servers(&ports[stays..=stays]);
        self.pair.wait_for(stays, ["partner-down", "unavailable"]);
        self.act()?;
        self.clients.lose_server()?;
        counts.cuts += 1;
        self.pair.links.iter().for_each(PartnerLink::mend);
        self.clients.use_servers(&ports);
        Ok(())
    }

    /// Checks that `server` has all leases that were acknowledged.
    fn check(&mut self, server: usize, counts: &mut KillCounts) -> Result<(), String> {
        let stored = stored_leases(&mut self.pair, server);
        self.check_stored(server, stored, counts)
    }

    /// Checks that `stored`, the leases of `server`, are those that were acknowledged.
    fn check_stored(
        &self,
        server: usize,
        mut stored: BTreeMap<IpAddr, AddressRecord>,
        counts: &mut KillCounts,
    ) -> Result<(), String> {
        let ledger = &self.clients.ledger;
        if self.pair.makes.iter().any(|make| *make != ServerMake::Godwit) {
            // Kea 2.2 deletes the lease of a release, and Kea 3 leaves it the time of the grant. A
            // partner that did not hear of the release, because of a cut or a kill, may have a
            // later renewal of the client, which nobody acknowledged; then both keep the lease.
            stored.retain(|address, record| !ledger.is_released_by(*address, record.client));
        }
        ledger.check(&stored).map_err(|broken| format!("server {server}: {broken}"))?;
        counts.leases_found += ledger.leases() as u64;
        Ok(())
    }

    /// Checks that both servers have all leases that were acknowledged.
    fn check_both(&mut self, counts: &mut KillCounts) -> Result<(), String> {
        let stored = [0, 1].map(|server| stored_leases(&mut self.pair, server));
        for server in [0, 1] {
            let records = stored[server].clone();
            self.check_stored(server, records, counts).map_err(|broken| {
                let of_each = [0, 1].map(|server| self.history(server, &stored[server], &broken));
                format!("{broken}; {}", of_each.join("; "))
            })?;
        }
        Ok(())
    }

    /// Returns the record of the address that `broken` begins with among `stored`, the leases of
    /// `server`, and the rows about it in the server's lease file.
    fn history(
        &self,
        server: usize,
        stored: &BTreeMap<IpAddr, AddressRecord>,
        broken: &str,
    ) -> String {
        let is_it = |address: &IpAddr| broken.contains(&format!(" {address}: "));
        let Some((address, record)) = stored.iter().find(|(address, _)| is_it(address)) else {
            return format!("server {server} has no lease");
        };
        let path = self.pair.servers[server].folder().join("leases.csv");
        let rows = std::fs::read_to_string(path).unwrap_or_default();
        let begin = format!("{address},");
        let rows: Vec<&str> = rows.lines().filter(|row| row.starts_with(&begin)).collect();
        format!("server {server} has {record:?}, after the rows {rows:#?}")
    }

    /// Disturbs the pair `count` times.
    fn disturb(&mut self, count: u64, counts: &mut KillCounts) -> Result<(), String> {
        for _ in 0..count {
            self.act()?;
            if self.random.chance(2, 3) { self.kill(counts) } else { self.cut(counts) }?;
            counts.faults += 1;
            self.pair.wait_until_normal();
            self.check_both(counts)?;
        }
        counts.acknowledged += self.clients.ledger.acknowledged;
        Ok(())
    }
}

/// Returns the setting with which no server answers from its cache, as Kea does before the partner
/// has the lease. Kea 2.2 refuses the value 0; the other one is less than a second of the lifetime.
fn without_cache(makes: &[ServerMake]) -> &'static str {
    if makes.contains(&ServerMake::Kea) {
        r#""cache-threshold": 0.00001,"#
    } else {
        r#""cache-threshold": 0.0,"#
    }
}

/// Returns the time after which a server takes its partner for failed, in milliseconds. Kea answers
/// no partner while it starts or copies leases.
fn response_ms(makes: &[ServerMake]) -> u32 {
    if makes.iter().all(|make| *make == ServerMake::Godwit) { 1_500 } else { 3_000 }
}

/// Kills servers of pairs as often as configured, and fails at the first broken promise.
fn survives(suite: &str, mode: PairMode, makes: [ServerMake; 2]) {
    let kills = from_environment("GODWIT_HA_KILLS", KILLS);
    let first_seed = from_environment("GODWIT_HA_KILLS_SEED", 1);
    let mut counts = KillCounts::default();
    for seed in first_seed.. {
        let left = kills - counts.faults;
        if left == 0 {
            break;
        }
        let family = [ScenarioFamily::V4, ScenarioFamily::V6][seed as usize % 2];
        let count = left.min(KILLS_OF_PAIR).min(kills.div_ceil(2));
        let globals = without_cache(&makes);
        let usual = PairSetup::new(family, mode, response_ms(&makes));
        // Kea replies to a port of the configuration, not to the one that a message comes from.
        let client_port = free_port();
        // No reply leaves before the partner has the lease, also while it does not answer.
        let further = match mode {
            PairMode::LoadBalancing => vec![json!({ "delayed-updates-limit": 0 }); 2],
            PairMode::HotStandby | PairMode::PassiveBackup => Vec::new(),
        };
        let setup = PairSetup { globals, client_port, has_links: true, further, ..usual };
        let mut faulty = FaultyPair::start(setup, &makes, seed);
        if let Err(broken) = faulty.disturb(count, &mut counts) {
            let logs: Vec<String> = faulty.pair.servers.iter().map(Daemon::log).collect();
            panic!(
                "{}\nseed {seed}: {broken}\nrepeat with: cargo xtask ha --only {suite} --kills \
                 {KILLS_OF_PAIR} --seed {seed}",
                logs.join("\n---\n")
            );
        }
    }
    println!(
        "ha: {} faults, {} of them cuts, {} of servers alone; {} take-overs, {} acknowledgements, \
         {} leases looked for and found",
        counts.faults,
        counts.cuts,
        counts.alone,
        counts.take_overs,
        counts.acknowledged,
        counts.leases_found
    );
    assert!(counts.acknowledged > counts.faults * 20, "{counts:?}");
    assert!(counts.leases_found > 0, "{counts:?}");
}

const GODWIT: [ServerMake; 2] = [ServerMake::Godwit; 2];

#[test]
fn a_hot_standby_pair_of_godwit_survives_kills() {
    survives("hot-standby-godwit", PairMode::HotStandby, GODWIT);
}

#[test]
fn a_balanced_pair_of_godwit_survives_kills() {
    survives("load-balancing-godwit", PairMode::LoadBalancing, GODWIT);
}

/// Kills servers of pairs with Kea 3 if it is there.
fn survives_with_kea_3(suite: &str, mode: PairMode, makes: [ServerMake; 2]) {
    if has_debian_13() {
        survives(suite, mode, makes);
    }
}

/// Kills servers of pairs with Kea 2.2 if it is there.
fn survives_with_kea_2(suite: &str, mode: PairMode, makes: [ServerMake; 2]) {
    if require(&["kea-dhcp4", "kea-dhcp6"]) {
        survives(suite, mode, makes);
    }
}

#[test]
fn hot_standby_with_kea_3_as_standby_survives() {
    let makes = [ServerMake::Godwit, ServerMake::Kea3];
    survives_with_kea_3("hot-standby-kea-3-standby", PairMode::HotStandby, makes);
}

#[test]
fn hot_standby_with_kea_3_as_primary_survives() {
    let makes = [ServerMake::Kea3, ServerMake::Godwit];
    survives_with_kea_3("hot-standby-kea-3-primary", PairMode::HotStandby, makes);
}

#[test]
fn hot_standby_with_kea_2_2_as_standby_survives() {
    let makes = [ServerMake::Godwit, ServerMake::Kea];
    survives_with_kea_2("hot-standby-kea-2.2-standby", PairMode::HotStandby, makes);
}

#[test]
fn hot_standby_with_kea_2_2_as_primary_survives() {
    let makes = [ServerMake::Kea, ServerMake::Godwit];
    survives_with_kea_2("hot-standby-kea-2.2-primary", PairMode::HotStandby, makes);
}

#[test]
fn a_balanced_pair_with_kea_3_as_secondary_survives() {
    let makes = [ServerMake::Godwit, ServerMake::Kea3];
    survives_with_kea_3("load-balancing-kea-3-secondary", PairMode::LoadBalancing, makes);
}

#[test]
fn a_balanced_pair_with_kea_3_as_primary_survives() {
    let makes = [ServerMake::Kea3, ServerMake::Godwit];
    survives_with_kea_3("load-balancing-kea-3-primary", PairMode::LoadBalancing, makes);
}
