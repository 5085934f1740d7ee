//! Hostile datagrams at servers over each store, at debug logging: the server lives, its memory does
//! not grow with what it was sent, and honest clients are served all the while and keep their leases.
//!
//! Honest clients and hostile ones are on links of their own. After each burst of hostile datagrams an
//! honest client has to be answered, so nothing is sent faster than the server takes it.
//! `GODWIT_HOSTILE_DATAGRAMS` says how many datagrams, `GODWIT_SIM_SEED` where they are drawn from;
//! `cargo xtask hostile` sets both.

mod commands;
mod family;

use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use base::Random;
use testbed::database::Engine;

use crate::common::{ServerProcess, free_port};
use crate::crash::{Backend, Clients, Family, Kind, Place, from_environment};
use family::{Hostile, V4, V6};

/// Datagrams in the test command.
const DATAGRAMS: u64 = 10_000;
/// Hostile datagrams between two answers to honest clients.
const BURST: u64 = 32;
/// Share of the datagrams after which memory is looked at first: by then the hostile clients have all
/// leases that they can get, and every buffer is in use.
const WARM_SHARE: f64 = 0.4;
/// What a server may grow after that, KiB, for fragmentation of the heap. Of a million datagrams 600,000
/// follow, so 17 octets kept of each would be more.
const GROWTH_MAX_KIB: u64 = 10_000;
/// Datagrams from which on honest clients must be served in each second: those of
/// `cargo xtask hostile`, which runs one suite at a time.
const WHOLE: u64 = 1_000_000;
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Resident memory of a process in KiB (proc_pid_status(5)).
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Datagrams that the sockets at `port` had no room for (proc_net(5)).
fn dropped(pid: u32, port: u16) -> u64 {
    let sockets = ["udp", "udp6"]
        .map(|name| std::fs::read_to_string(format!("/proc/{pid}/net/{name}")).unwrap_or_default());
    let is_at_port = |line: &&str| {
        let local = line.split_whitespace().nth(1).and_then(|local| local.rsplit(':').next());
        local.and_then(|port| u16::from_str_radix(port, 16).ok()) == Some(port)
    };
    let lines = sockets.iter().flat_map(|text| text.lines()).filter(is_at_port);
    lines.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok()).sum()
}

/// Memory, waits and drops of a server that was attacked.
struct AttackReport {
    /// Resident memory once warm, and at the end.
    warm_kib: u64,
    end_kib: u64,
    /// The longest time between two answers to honest clients.
    longest_wait: Duration,
    /// Datagrams that the server's sockets had no room for.
    dropped: u64,
}

/// Sends `count` hostile datagrams with honest clients between them.
fn attack(
    hostile: &Hostile,
    server: &mut ServerProcess,
    clients: &mut Clients,
    random: &mut Random,
    count: u64,
) -> Result<AttackReport, String> {
    let socket = UdpSocket::bind((hostile.family.loopback, 0)).unwrap();
    let mut report =
        AttackReport { warm_kib: 0, end_kib: 0, longest_wait: Duration::ZERO, dropped: 0 };
    let mut served = Instant::now();
    let mut buffer = vec![0; family::BUFFER_LEN];
    for number in 0..count {
        let len = (hostile.datagram)(random, &mut buffer);
        // A datagram without octets is one, too.
        socket.send_to(&buffer[..len], (hostile.family.loopback, server.port)).unwrap();
        if number % BURST == 0 {
            clients.act(1, 0)?;
            report.longest_wait = report.longest_wait.max(served.elapsed());
            served = Instant::now();
        }
        if number == (count as f64 * WARM_SHARE) as u64 {
            report.warm_kib = resident_kib(server.pid());
        }
    }
    clients.renew_all()?;
    if server.has_ended() {
        return Err("the server has ended".to_owned());
    }
    report.end_kib = resident_kib(server.pid());
    report.dropped = dropped(server.pid(), server.port);
    Ok(report)
}

/// Attacks a server of one family over one store, and looks for all leases of honest clients after a
/// restart.
fn withstands(suite: &str, kind: Kind, hostile: &Hostile) {
    let Some(backend) = Backend::start(kind) else { return };
    let count = from_environment("GODWIT_HOSTILE_DATAGRAMS", DATAGRAMS);
    let seed = from_environment("GODWIT_SIM_SEED", 1);
    let repeat = format!(
        "seed {seed}; repeat with: cargo xtask hostile --only {suite} --count {count} --seed {seed}"
    );
    println!("{repeat}");
    let family: Family = hostile.family;
    let place = Place::new(&backend, family, &format!("hostile-{suite}"));
    let ports = [free_port(), free_port()];
    let start = || {
        let (config, folder) = (&place.config, place.folder.path());
        ServerProcess::launch_on(Command::new("env"), family.server, ports, config, folder)
    };
    let mut random = Random::from_seed(seed);
    let mut server = start();
    let mut clients = Clients::new(family, ports, random.next_u64());
    let report = attack(hostile, &mut server, &mut clients, &mut random, count)
        .unwrap_or_else(|broken| panic!("{broken}; {repeat}\n{}", server.log()));
    server.stop();
    clients.ledger.check(&place.kept()).unwrap_or_else(|broken| panic!("{broken}; {repeat}"));
    let server = start();
    clients.renew_all().unwrap_or_else(|broken| panic!("{broken}; {repeat}"));
    server.stop();
    println!(
        "hostile: {count} datagrams, {} for which there was no room; {} answers to honest clients, {} ms without one at most; \
         {} KiB resident, {} KiB at the end",
        report.dropped,
        clients.ledger.acknowledged,
        report.longest_wait.as_millis(),
        report.warm_kib,
        report.end_kib
    );
    assert!(report.dropped * 10 < count, "{repeat}");
    // In a few datagrams beside other tests a wait says nothing of the server.
    assert!(count < WHOLE || report.longest_wait < LONGEST_WAIT, "{repeat}");
    assert!(report.end_kib < report.warm_kib + GROWTH_MAX_KIB, "{repeat}");
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv4_over_a_lease_file() {
    withstands("dhcp4-memfile", Kind::Memfile, &V4);
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv4_over_mariadb() {
    withstands("dhcp4-mariadb", Kind::Server(Engine::MariaDb), &V4);
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv4_over_postgresql() {
    withstands("dhcp4-postgresql", Kind::Server(Engine::PostgreSql), &V4);
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv6_over_a_lease_file() {
    withstands("dhcp6-memfile", Kind::Memfile, &V6);
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv6_over_mariadb() {
    withstands("dhcp6-mariadb", Kind::Server(Engine::MariaDb), &V6);
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv6_over_postgresql() {
    withstands("dhcp6-postgresql", Kind::Server(Engine::PostgreSql), &V6);
}
