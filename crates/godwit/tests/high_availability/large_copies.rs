//! Copy of many leases while clients get new ones from the partner. `GODWIT_HA_COPY_LEASES` sets
//! the number of leases, `GODWIT_HA_COPY_RATE` the number of new leases per second; with either,
//! the copy between two servers of Kea 3 is measured, too. The test prints how long the copy took,
//! for how long the partner was silent, and the memory of the servers:
//!
//! ```text
//! GODWIT_HA_COPY_LEASES=1000000 GODWIT_HA_COPY_RATE=5000 cargo test -p godwit --test main \
//!     large_copies -- --nocapture --test-threads 1
//! ```

use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::json;

use super::{PairMode, PairSetup, ServerPair};
use crate::common::{has_debian_13, wait_until, waited_at_most};
use crate::crash::from_environment;
use crate::subjects::process::ServerMake;

/// Number of the server that copies, and of its partner.
const COPIER: usize = 1;
const PARTNER: usize = 0;
/// Maximum time of a copy.
const COPY_MAX: Duration = Duration::from_secs(1_800);
/// Lifetime of the leases that the partner has before the copy, in seconds.
const LIFETIME_S: u64 = 40_000;
/// Events of a copy in the log of the partner, with their names here.
const EVENTS: [(&str, CopyEvent); 4] = [
    ("-get-page'", CopyEvent::Page),
    ("'dhcp-disable'", CopyEvent::Disable),
    ("'dhcp-enable'", CopyEvent::End),
    ("'ha-sync-complete-notify'", CopyEvent::End),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopyEvent {
    Page,
    Disable,
    End,
}

/// Times of copies in the log of the partner, in milliseconds. Kea begins a new log after 10 MB.
#[derive(Clone, Copy, Debug, Default)]
struct CopyTimes {
    copies: u32,
    longest_ms: u64,
    longest_silence_ms: u64,
}

impl CopyTimes {
    fn read(log: &str) -> Self {
        let mut times = Self::default();
        let (mut begin, mut silent) = (None, None);
        for line in log.lines().filter(|line| line.contains("COMMAND_RECEIVED")) {
            let event = EVENTS.iter().find(|(text, _)| line.contains(text));
            let (Some((_, event)), Some(at_ms)) = (event, time_ms(line)) else { continue };
            begin = begin.or(Some(at_ms));
            match event {
                CopyEvent::Page => {}
                CopyEvent::Disable => silent = silent.or(Some(at_ms)),
                CopyEvent::End => {
                    let since = |at: Option<u64>| at.map_or(0, |at| at_ms.saturating_sub(at));
                    times.copies += 1;
                    times.longest_ms = times.longest_ms.max(since(begin.take()));
                    times.longest_silence_ms = times.longest_silence_ms.max(since(silent.take()));
                }
            }
        }
        times
    }
}

/// Returns the time of day of a line of a log, `2026-11-30 15:12:30.123 ...`.
fn time_ms(line: &str) -> Option<u64> {
    let time = line.split(' ').nth(1)?;
    let mut parts = time.split([':', '.']).map(|part| part.parse::<u64>().ok());
    let mut next = || parts.next().flatten();
    let (hours, minutes, seconds, ms) = (next()?, next()?, next()?, next()?);
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms)
}

/// Returns the largest memory of the process `pid` so far, in MiB.
pub(super) fn memory_mib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1_024
}

/// Returns a lease file of `leases` leases from the address `first` on, with the columns of
/// `header`.
pub(super) fn lease_file(first: IpAddr, header: &str, leases: u64) -> String {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right").as_secs();
    let expire = (now_s + LIFETIME_S).to_string();
    let columns: Vec<&str> = header.trim_end().split(',').collect();
    let mut text = format!("{}\n", header.trim_end());
    for number in 0..leases {
        let address: IpAddr = match first {
            IpAddr::V4(first) => Ipv4Addr::from_bits(first.to_bits() + number as u32).into(),
            IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits() + u128::from(number)).into(),
        };
        let octets = number.to_be_bytes().map(|octet| format!("{octet:02x}"));
        let hardware = format!("02:00:{}", octets[4..].join(":"));
        let value = |column: &&str| match *column {
            "address" => address.to_string(),
            "hwaddr" => hardware.clone(),
            "duid" => format!("00:03:00:01:{hardware}"),
            "valid_lifetime" | "pref_lifetime" => LIFETIME_S.to_string(),
            "expire" => expire.clone(),
            "subnet_id" | "iaid" => "1".to_owned(),
            "prefix_len" => "128".to_owned(),
            "lease_type" | "fqdn_fwd" | "fqdn_rev" | "state" | "pool_id" => "0".to_owned(),
            _ => String::new(),
        };
        let row: Vec<String> = columns.iter().map(value).collect();
        writeln!(text, "{}", row.join(",")).expect("a string has room");
    }
    text
}

/// Program that is killed when the value is dropped.
pub(super) struct LoadProcess(pub(super) Child);

impl LoadProcess {
    /// Waits until the program has ended by itself.
    pub(super) fn wait(mut self) {
        self.0.wait().expect("it was started here");
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts clients that get `rate` new leases per second of the partner until they are dropped.
fn start_clients(pair: &ServerPair, rate: u64) -> LoadProcess {
    let [port, _] = pair.servers[PARTNER].ports();
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.arg("perfdhcp");
    let host = match pair.family {
        ScenarioFamily::V4 => {
            command.args(["-4", "-l", "127.0.0.1"]);
            "127.0.0.1"
        }
        ScenarioFamily::V6 => {
            command.args(["-6", "-A", "1", "-l", "::1"]);
            "::1"
        }
    };
    let from = pair.client_ports[PARTNER].to_string();
    command.args(["-r", &rate.to_string(), "-p", "3600", "-R", "10000000"]);
    command.args(["-L", &from, "-N", &port.to_string(), host]);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    LoadProcess(command.spawn().expect("the program is there"))
}

/// Returns the number of leases that the statistics of a server count.
pub(super) fn assigned(pair: &mut ServerPair, server: usize) -> u64 {
    let kind =
        if pair.family == ScenarioFamily::V4 { "assigned-addresses" } else { "assigned-nas" };
    let name = format!("subnet[1].{kind}");
    let command = json!({ "command": "statistic-get", "arguments": { "name": name } });
    let answer = pair.command(server, &command);
    answer["arguments"][&name][0][0].as_u64().unwrap_or(0)
}

/// One server of a pair starts without leases, and copies `leases` of its partner, which gives
/// `rate` new leases per second meanwhile.
fn copy_is_made(family: ScenarioFamily, make: ServerMake, leases: u64, rate: u64) -> CopyTimes {
    let further = json!({ "sync-page-limit": 10_000.min(leases / 10), "sync-timeout": 600_000 });
    let further = vec![further.clone(), further];
    let setup = PairSetup::new(family, PairMode::HotStandby, 2_000);
    let mut pair = PairSetup { further, has_large_pools: true, ..setup }.start(&[make; 2]);
    pair.wait_until_normal();
    for server in [COPIER, PARTNER] {
        pair.servers[server].kill();
    }
    let path = |server: usize| pair.servers[server].folder().join("leases.csv");
    let header = fs::read_to_string(path(PARTNER)).expect("it has a lease file");
    let header = header.lines().next().expect("it has a header");
    let first = match family {
        ScenarioFamily::V4 => Ipv4Addr::new(127, 32, 0, 0).into(),
        ScenarioFamily::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 1, 0, 0, 0).into(),
    };
    fs::write(path(PARTNER), lease_file(first, header, leases)).expect("there is room");
    fs::write(path(COPIER), format!("{header}\n")).expect("there is room");
    pair.servers[PARTNER].restart().unwrap();
    pair.wait_for(PARTNER, ["partner-down", "unavailable"]);
    assert_eq!(assigned(&mut pair, PARTNER), leases);
    let clients = start_clients(&pair, rate);
    wait_until(|| assigned(&mut pair, PARTNER) > leases + rate);
    let log_before = pair.servers[PARTNER].log().len();
    let before_mib = memory_mib(pair.servers[PARTNER].pid());
    let assigned_before = assigned(&mut pair, PARTNER);
    pair.servers[COPIER].restart().unwrap();
    let restarted = Instant::now();
    let is_normal =
        waited_at_most(COPY_MAX, || pair.states(COPIER) == ["hot-standby", "hot-standby"]);
    let normal_s = restarted.elapsed().as_secs_f64();
    assert!(is_normal, "{make:?}: {:?}", pair.states(COPIER));
    let new = assigned(&mut pair, PARTNER) - assigned_before;
    drop(clients);
    if make == ServerMake::Godwit {
        // Kea may drop an answer and keep its lease.
        wait_until(|| assigned(&mut pair, PARTNER) == assigned(&mut pair, COPIER));
    }
    let log = pair.servers[PARTNER].log();
    let times = CopyTimes::read(log.get(log_before..).unwrap_or_default());
    let [partner_mib, copier_mib] =
        [PARTNER, COPIER].map(|server| memory_mib(pair.servers[server].pid()));
    println!(
        "{family:?} {make:?}: normal operation {normal_s:.1} s after the start with {leases} leases \
         to copy, and {new} new ones of the partner until then; memory of the partner {before_mib} \
         MiB before and {partner_mib} MiB after, of the other server {copier_mib} MiB"
    );
    if make == ServerMake::Godwit {
        println!(
            "the copy took {} ms, the partner was silent for {} ms at most in {} copies",
            times.longest_ms, times.longest_silence_ms, times.copies
        );
    }
    if leases < 10_000 {
        pair.check_leases(leases as usize);
    }
    times
}

fn many_leases_are_copied(family: ScenarioFamily) {
    let (leases, rate) = ("GODWIT_HA_COPY_LEASES", "GODWIT_HA_COPY_RATE");
    let is_measured = [leases, rate].iter().any(|name| std::env::var_os(name).is_some());
    let [leases, rate] =
        [(leases, 2_000), (rate, 100)].map(|(name, default)| from_environment(name, default));
    let times = copy_is_made(family, ServerMake::Godwit, leases, rate);
    assert!(times.copies > 0 && times.longest_silence_ms < times.longest_ms, "{times:?}");
    if is_measured && has_debian_13() {
        copy_is_made(family, ServerMake::Kea3, leases, rate);
    }
}

#[test]
fn many_dhcpv4_leases_are_copied_while_clients_get_new_ones() {
    many_leases_are_copied(ScenarioFamily::V4);
}

#[test]
fn many_dhcpv6_leases_are_copied_while_clients_get_new_ones() {
    many_leases_are_copied(ScenarioFamily::V6);
}
