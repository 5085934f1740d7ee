//! Measures the cost of rounds over real databases:
//! `nice cargo run --release -p dhcp-store --example rounds -- [KEY=VALUE,...]`.
//!
//! Keys: `backends` (mysql, pgsql, sqlite), `families` (4, 6), `loads` (found, new, renewed),
//! `clients` (1, 8, 64, 256), `durable` (yes, no), `seconds`. For each combination, a shard keeps
//! `clients` clients in flight over a private server, and prints operations per second, operations
//! per round, and the processor time of the writing thread and of the server for one operation.
//! With `wire=yes` a server in between also counts bytes and round trips, so times mean nothing
//! then. The example measures the cost of a flush before each block, and for comparison also
//! commits as Kea does, one transaction for each lease.

mod database;
mod shard;
mod wire;

use std::time::{Duration, Instant};

use database::RoundsDatabase;
use dhcp_lease::LeaseState;
use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_store::sql::{Database, SharedRows, SqlDatabaseKind};
use shard::{RoundsLoad, RoundsShard};
use wire::WireCounters;

/// Number of clients that renew.
const RENEWING: u32 = 20_000;

/// Arguments of the command line, `KEY=VALUE,...` each.
struct RoundsArgs(Vec<String>);

impl RoundsArgs {
    fn list(&self, key: &str, default: &str) -> Vec<String> {
        let value = self.0.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        value.unwrap_or(default).split(',').map(str::to_owned).collect()
    }
}

fn main() {
    let arguments = RoundsArgs(std::env::args().skip(1).collect());
    for name in arguments.list("backends", "mysql,pgsql,sqlite") {
        let backend = SqlDatabaseKind::ALL.into_iter().find(|backend| backend.name() == name);
        let backend = backend.unwrap_or_else(|| panic!("no such database: {name}"));
        for durable in arguments.list("durable", "yes,no") {
            match RoundsDatabase::new(backend, durable == "yes") {
                Ok(database) => {
                    measure(&database, &arguments, &format!("{name} durable={durable}"))
                }
                Err(reason) => println!("skipped: {reason}"),
            }
        }
    }
}

fn measure(database: &RoundsDatabase, arguments: &RoundsArgs, name: &str) {
    let mut first = 0x0a00_0000;
    for family in arguments.list("families", "4,6") {
        println!("{name} v{family}: a flush of 4 KiB takes {:.0} us", database.flush_us());
        for load in arguments.list("loads", "found,new,renewed") {
            for clients in arguments.list("clients", "1,8,64,256") {
                let clients = clients.parse().expect("clients are counted");
                let name = format!("{name} v{family} {load} clients={clients}");
                let load = match load.as_str() {
                    "found" => RoundsLoad::Stored,
                    "new" => RoundsLoad::New,
                    _ => RoundsLoad::Renewed(RENEWING),
                };
                first += 0x0010_0000;
                match family.as_str() {
                    "4" => one::<V4>(database, arguments, &name, load, clients, first),
                    _ => one::<V6>(database, arguments, &name, load, clients, first),
                }
            }
        }
        first += 0x0010_0000;
        if arguments.list("kea", "yes")[0] == "yes" {
            match family.as_str() {
                "4" => one_by_one::<V4>(database, arguments, name, first),
                _ => one_by_one::<V6>(database, arguments, name, first),
            }
        }
    }
}

fn seconds(arguments: &RoundsArgs) -> f64 {
    arguments.list("seconds", "2")[0].parse().expect("seconds are a number")
}

/// Returns the processor time of the thread that writes, in milliseconds; 0 without such a thread.
fn thread_ms() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has /proc").flatten();
    let of_task = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let times = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        name.starts_with("lease-database").then(|| times.split(' ').next()?.parse::<f64>().ok())?
    };
    tasks.filter_map(of_task).sum::<f64>() / 1e6
}

fn one<F: SharedRows + SampleFamily>(
    database: &RoundsDatabase,
    arguments: &RoundsArgs,
    name: &str,
    load: RoundsLoad,
    clients: u32,
    first: u32,
) {
    let mut settings = database.settings.clone();
    let is_counted =
        arguments.list("wire", "no")[0] == "yes" && settings.backend != SqlDatabaseKind::Sqlite;
    let wire = is_counted.then(|| WireCounters::start(settings.port()));
    if let Some((_, port)) = &wire {
        settings.port = Some(*port);
    }
    let mut shard =
        RoundsShard::<F>::start(&settings, load, first).unwrap_or_else(|e| panic!("{e}"));
    let warm = u64::from(clients) * 10;
    shard.run(clients, |_, count| count >= warm);
    let limit = Duration::from_secs_f64(seconds(arguments));
    let statements = is_counted.then(|| database.statements()).flatten();
    let counts = wire.as_ref().map(|(wire, _)| wire.counts());
    let (rounds, thread, server) = (shard.rounds(), thread_ms(), database.server_ms());
    let (elapsed, count) = shard.run(clients, |elapsed, _| elapsed >= limit);
    let each = |ms: f64| ms * 1e3 / count as f64;
    let rounds = (shard.rounds() - rounds) as f64;
    println!(
        "{name}: {:.0}/s, {:.1} per round, {:.2} ms per round, thread {:.1} us, server {:.1} us",
        count as f64 / elapsed.as_secs_f64(),
        count as f64 / rounds,
        elapsed.as_secs_f64() * 1e3 / rounds,
        each(thread_ms() - thread),
        each((database.server_ms() - server) as f64),
    );
    if let (Some((wire, _)), Some(before)) = (&wire, counts) {
        let now = wire.counts();
        let statements = statements.zip(database.statements()).map(|(before, now)| now - before);
        println!(
            "    per round: {:.2} round trips, {:.0} octets out, {:.0} octets in, {} statements",
            (now.turns - before.turns) as f64 / rounds,
            (now.sent - before.sent) as f64 / rounds,
            (now.received - before.received) as f64 / rounds,
            statements.map_or_else(|| "?".to_owned(), |all| format!("{:.2}", all as f64 / rounds)),
        );
    }
    shard.stop();
}

/// Commits one transaction for each new lease, on one connection.
fn one_by_one<F: SharedRows + SampleFamily>(
    database: &RoundsDatabase,
    arguments: &RoundsArgs,
    name: &str,
    first: u32,
) {
    let limit = Duration::from_secs_f64(seconds(arguments) / 2.0);
    let mut database = Database::open(&database.settings).unwrap_or_else(|error| panic!("{error}"));
    let layout = database.layout().unwrap_or_else(|error| panic!("{error}"));
    let (begin, mut number) = (Instant::now(), 0);
    while begin.elapsed() < limit {
        number += 1;
        let lease = F::lease(&SampleLease {
            address: first + number,
            client: first + number,
            valid_lifetime_s: 4000,
            cltt_s: 1_700_000_000,
            subnet_id: 1,
            pool_id: 0,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: "",
        });
        let write = || {
            database.begin()?;
            database.insert_many::<F>(layout, &[lease])?;
            database.commit()
        };
        write().unwrap_or_else(|error| panic!("{error}"));
    }
    let rate = f64::from(number) / begin.elapsed().as_secs_f64();
    println!("{name} one by one: {rate:.0}/s");
}
