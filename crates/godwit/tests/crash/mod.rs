//! Tests with kills of the server, or of its database, at random times under load with durability
//! `always`, and restarts on the same leases: every acknowledged lease is there, and no address has
//! two clients.
//!
//! The seed determines the time of a kill as a number of acknowledgements and of further messages.
//! How far the server has got with those at SIGKILL depends on the machine. `GODWIT_CRASH_MOMENTS`
//! sets the number of kills, `GODWIT_CRASH_SEED` the first seed; `cargo xtask crash` sets both.

mod chronicle;
mod clients;
mod family;
mod galera;
mod ledger;
pub(crate) mod legal_log;
mod storage;
mod wanderers;

use std::path::Path;
use std::process::Command;

use crate::common::{ServerProcess, free_port};
use base::Random;
pub(crate) use clients::CrashClients;
pub(crate) use family::{
    CrashFamily, CrashMessage, CrashReply, CrashRequest, LINK6, V4, V6, replace,
};
pub(crate) use ledger::{AddressRecord, CrashLedger};
pub(crate) use storage::{LeaseStorage, LeaseStorageKind, LeaseStorageProcesses};
use testbed::database::{DatabaseEngine, PrivateDatabase};

/// Number of kills in the test command, unless the environment sets another.
const MOMENTS: u64 = 8;
/// Number of kills in the test command for servers with a legal log.
const LEGAL_MOMENTS: u64 = 10;
/// Number of kills with the same leases and clients.
const MOMENTS_OF_PLACE: u64 = 10;
/// Maximum of acknowledgements before a kill.
const ACKNOWLEDGEMENTS_MAX: u64 = 200;
/// Maximum of further messages before a kill.
const MESSAGES_MAX: u64 = 100;

/// Returns the number in the environment variable `name`, or `default`.
pub(crate) fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Counts of a suite's kills and of the messages around them.
#[derive(Debug, Default)]
struct CrashCounts {
    moments: u64,
    /// Number of kills of the database server.
    databases: u64,
    acknowledged: u64,
    sent: u64,
    leases_found: u64,
}

/// Check of further files in the server's folder after a kill, by the ledger of its replies.
type FurtherCheck = fn(&Path, &CrashLedger) -> Result<(), String>;

/// Kills the server or the database server as often as configured, and fails at the first broken
/// promise.
fn survives(suite: &str, kind: LeaseStorageKind, families: &[CrashFamily]) {
    survives_with(suite, kind, families, MOMENTS, |_, _| Ok(()));
}

/// Kills the server or the database server as often as configured, or else `moments` times, and
/// fails at the first broken promise about leases or about what `check` looks at.
fn survives_with(
    suite: &str,
    kind: LeaseStorageKind,
    families: &[CrashFamily],
    moments: u64,
    check: FurtherCheck,
) {
    let Some(mut backend) = LeaseStorageProcesses::start(kind) else { return };
    let moments = from_environment("GODWIT_CRASH_MOMENTS", moments);
    let first_seed = from_environment("GODWIT_CRASH_SEED", 1);
    let mut tally = CrashCounts::default();
    for seed in first_seed.. {
        let left = moments - tally.moments;
        if left == 0 {
            break;
        }
        // Also the test command plays all families.
        let count = left.min(MOMENTS_OF_PLACE.min(moments.div_ceil(families.len() as u64)));
        let family = families[seed as usize % families.len()];
        let label = format!("{suite}-{seed}");
        let run = CrashRun { family, label: &label, seed, count, check };
        if let Err(broken) = kill_again_and_again(&mut backend, run, &mut tally) {
            panic!(
                "seed {seed}: {broken}\nrepeat with: cargo xtask crash --only {suite} \
                 --moments {MOMENTS_OF_PLACE} --seed {seed}"
            );
        }
    }
    println!(
        "crash: {} moments, {} of the database; {} messages, {} acknowledgements, {} leases looked \
         for and found",
        tally.moments, tally.databases, tally.sent, tally.acknowledged, tally.leases_found
    );
    assert!(tally.acknowledged > tally.moments * ACKNOWLEDGEMENTS_MAX / 4, "{tally:?}");
}

/// Kills of a server with the same leases and clients.
struct CrashRun<'r> {
    family: CrashFamily,
    label: &'r str,
    seed: u64,
    /// Number of kills.
    count: u64,
    check: FurtherCheck,
}

/// Kills the server as often as `run` says, with the same leases and clients.
fn kill_again_and_again(
    backend: &mut LeaseStorageProcesses,
    run: CrashRun<'_>,
    tally: &mut CrashCounts,
) -> Result<(), String> {
    let CrashRun { family, label, seed, count, check } = run;
    let storage = LeaseStorage::new(backend, family, label);
    let mut random = Random::from_seed(seed);
    let ports = [free_port(), free_port()];
    let start = || {
        let (config, folder) = (&storage.config, storage.folder.path());
        ServerProcess::launch_on(Command::new("env"), family.server, ports, config, folder)
    };
    let mut clients = CrashClients::new(family, ports, random.next_u64());
    let mut running = None;
    for _ in 0..count {
        let server = running.take().unwrap_or_else(start);
        let acknowledgements = random.below(ACKNOWLEDGEMENTS_MAX);
        clients.act(acknowledgements, random.below(MESSAGES_MAX))?;
        match backend.server().filter(|_| random.chance(1, 2)) {
            Some(database) => {
                kill_database(database, &mut clients)?;
                tally.databases += 1;
                running = Some(server);
            }
            None => {
                server.kill();
                clients.lose_server()?;
            }
        }
        clients.ledger.check(&storage.stored_leases())?;
        check(storage.folder.path(), &clients.ledger)?;
        tally.moments += 1;
        tally.leases_found += clients.ledger.leases() as u64;
    }
    let server = running.unwrap_or_else(start);
    clients.renew_all()?;
    server.stop();
    clients.ledger.check(&storage.stored_leases())?;
    check(storage.folder.path(), &clients.ledger)?;
    tally.acknowledged += clients.ledger.acknowledged;
    tally.sent += clients.sent;
    Ok(())
}

/// Kills the database server while clients continue, and starts it again.
fn kill_database(database: &mut PrivateDatabase, clients: &mut CrashClients) -> Result<(), String> {
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| database.kill());
        clients.act_while(|| !killer.is_finished())
    })?;
    database.launch().map_err(|error| error.to_string())
}

#[test]
fn acknowledged_dhcpv4_leases_survive_the_death_of_the_server() {
    survives("server-v4", LeaseStorageKind::Memfile, &[V4]);
}

#[test]
fn acknowledged_dhcpv6_leases_survive_the_death_of_the_server() {
    survives("server-v6", LeaseStorageKind::Memfile, &[V6]);
}

#[test]
fn every_acknowledged_lease_has_its_line_in_the_legal_log_when_the_server_dies() {
    let families = [legal_log::LEGAL_V4, legal_log::LEGAL_V6];
    survives_with(
        "legal-log",
        LeaseStorageKind::Memfile,
        &families,
        LEGAL_MOMENTS,
        legal_log::check,
    );
}

#[test]
fn acknowledged_leases_in_sqlite_survive_the_death_of_the_server() {
    survives("server-sqlite", LeaseStorageKind::Sqlite, &[V4, V6]);
}

#[test]
fn acknowledged_leases_in_mariadb_survive_the_death_of_either_server() {
    survives("server-mariadb", LeaseStorageKind::Server(DatabaseEngine::MariaDb), &[V4, V6]);
}

#[test]
fn acknowledged_leases_in_postgresql_survive_the_death_of_either_server() {
    survives("server-postgresql", LeaseStorageKind::Server(DatabaseEngine::PostgreSql), &[V4, V6]);
}

#[test]
fn leases_that_were_in_memory_only_are_missed() {
    const IN_MEMORY: [CrashFamily; 2] = [
        CrashFamily {
            configuration: |folder| {
                let path = (V4.configuration)(folder);
                replace(
                    &path,
                    "\"type\": \"memfile\",",
                    "\"type\": \"memfile\", \"persist\": false,",
                );
                path
            },
            ..V4
        },
        CrashFamily {
            configuration: |folder| {
                let path = (V6.configuration)(folder);
                replace(
                    &path,
                    "\"type\": \"memfile\",",
                    "\"type\": \"memfile\", \"persist\": false,",
                );
                path
            },
            ..V6
        },
    ];
    for family in IN_MEMORY {
        let label = format!("memory-{}", family.server);
        let mut backend = LeaseStorageProcesses::start(LeaseStorageKind::Memfile).unwrap();
        let mut tally = CrashCounts::default();
        let run = CrashRun { family, label: &label, seed: 1, count: 3, check: |_, _| Ok(()) };
        let result = kill_again_and_again(&mut backend, run, &mut tally);
        assert!(result.unwrap_err().contains("kept None"));
    }
}
