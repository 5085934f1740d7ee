//! Tests with hostile datagrams at servers over each store, with debug logging: the server
//! survives, its memory does not grow with the datagrams, and it serves honest clients all the
//! time, who keep their leases.
//!
//! Honest and hostile clients are on links of their own. After each burst of hostile datagrams an
//! honest client must get a reply, so the test sends nothing faster than the server reads it.
//! `GODWIT_HOSTILE_DATAGRAMS` sets the number of datagrams, `GODWIT_SIM_SEED` their seed;
//! `cargo xtask hostile` sets both.

mod commands;
mod family;
mod judge;

use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use base::Random;
use testbed::database::DatabaseEngine;

use crate::common::{ServerProcess, free_port};
use crate::crash::{
    CrashClients, CrashFamily, LeaseStorage, LeaseStorageKind, LeaseStorageProcesses,
    from_environment,
};
use family::{HostileFamily, V4, V6};
use judge::{AttackedServer, attack};

/// Number of datagrams in the test command.
const DATAGRAMS: u64 = 10_000;
/// Returns the resident memory of a process in KiB (proc_pid_status(5)).
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Returns the number of datagrams that the sockets at `port` had no room for (proc_net(5)).
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

/// Running server with honest clients.
struct Live<'s> {
    family: CrashFamily,
    socket: UdpSocket,
    server: &'s mut ServerProcess,
    clients: &'s mut CrashClients,
    started: Instant,
}

impl AttackedServer for Live<'_> {
    fn strike(&mut self, datagram: &[u8]) {
        // An empty datagram counts, too.
        self.socket.send_to(datagram, (self.family.loopback, self.server.port)).unwrap();
    }

    fn serve_honest(&mut self) -> Result<(), String> {
        self.clients.act_if(1, 0, &mut || !self.server.has_ended())
    }

    fn renew_all(&mut self) -> Result<(), String> {
        self.clients.renew_all()
    }

    fn has_ended(&mut self) -> bool {
        self.server.has_ended()
    }

    fn resident_kib(&self) -> u64 {
        resident_kib(self.server.pid())
    }

    fn dropped(&self) -> u64 {
        dropped(self.server.pid(), self.server.port)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Attacks a server of one family over one store, and checks all leases of honest clients after a
/// restart.
fn withstands(suite: &str, kind: LeaseStorageKind, hostile: &HostileFamily) {
    let Some(backend) = LeaseStorageProcesses::start(kind) else { return };
    let count = from_environment("GODWIT_HOSTILE_DATAGRAMS", DATAGRAMS);
    let seed = from_environment("GODWIT_SIM_SEED", 1);
    let repeat = format!(
        "seed {seed}; repeat with: cargo xtask hostile --only {suite} --count {count} --seed {seed}"
    );
    println!("{repeat}");
    let family: CrashFamily = hostile.family;
    let storage = LeaseStorage::new(&backend, family, &format!("hostile-{suite}"));
    let ports = [free_port(), free_port()];
    let start = || {
        let (config, folder) = (&storage.config, storage.folder.path());
        ServerProcess::launch_on(Command::new("env"), family.server, ports, config, folder)
    };
    let mut random = Random::from_seed(seed);
    let mut server = start();
    let mut clients = CrashClients::new(family, ports, random.next_u64());
    let mut live = Live {
        family,
        socket: UdpSocket::bind((family.loopback, 0)).unwrap(),
        server: &mut server,
        clients: &mut clients,
        started: Instant::now(),
    };
    let report = attack(hostile.datagram, &mut live, &mut random, count)
        .unwrap_or_else(|broken| panic!("{broken}; {repeat}\n{}", server.log()));
    server.stop();
    clients
        .ledger
        .check(&storage.stored_leases())
        .unwrap_or_else(|broken| panic!("{broken}; {repeat}"));
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
    report.verdict().unwrap_or_else(|broken| panic!("{broken}; {repeat}"));
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv4_over_a_lease_file() {
    withstands("dhcp4-memfile", LeaseStorageKind::Memfile, &V4);
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv4_over_mariadb() {
    withstands("dhcp4-mariadb", LeaseStorageKind::Server(DatabaseEngine::MariaDb), &V4);
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv4_over_postgresql() {
    withstands("dhcp4-postgresql", LeaseStorageKind::Server(DatabaseEngine::PostgreSql), &V4);
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv6_over_a_lease_file() {
    withstands("dhcp6-memfile", LeaseStorageKind::Memfile, &V6);
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv6_over_mariadb() {
    withstands("dhcp6-mariadb", LeaseStorageKind::Server(DatabaseEngine::MariaDb), &V6);
}

#[test]
fn hostile_datagrams_do_no_harm_to_dhcpv6_over_postgresql() {
    withstands("dhcp6-postgresql", LeaseStorageKind::Server(DatabaseEngine::PostgreSql), &V6);
}
