//! Hot-standby pairs: the standby takes over from a primary server that is killed, and no client
//! has a lease that the partner lacks.

use std::fs;

use scenario::{ScenarioFamily, ScenarioServer};

use super::{EXCHANGES, PairMode, ServerPair};
use crate::common::perfdhcp::figures;
use crate::common::{has_debian_13, require};
use crate::subjects::process::ServerMake;

/// Takes a pair with these servers through its life.
fn a_pair_lives(family: ScenarioFamily, makes: [ServerMake; 2]) {
    live(ServerPair::start(family, PairMode::HotStandby, &makes, 2_000));
}

/// Takes a pair through its life: start, updates, take-over by the standby, copy of the leases,
/// failure of the standby and its return.
pub(super) fn live(mut pair: ServerPair) {
    let family = pair.family;
    pair.wait_until_normal();
    let each = if family == ScenarioFamily::V4 { 1 } else { 2 };
    pair.clients(0);
    pair.check_leases(each * EXCHANGES);
    if family == ScenarioFamily::V4 && pair.makes.iter().all(|make| *make == ServerMake::Godwit) {
        let log = pair.servers[1].log();
        assert!(log.contains("'lease4-bulk-apply'") && !log.contains("'lease4-update'"), "{log}");
    }
    pair.servers[0].kill();
    pair.wait_for(1, ["partner-down", "unavailable"]);
    pair.clients(1);
    pair.servers[0].restart().unwrap();
    pair.wait_until_normal();
    pair.check_leases(each * EXCHANGES * 2);
    pair.clients(0);
    pair.check_leases(each * EXCHANGES * 3);
    pair.servers[1].kill();
    pair.wait_for(0, ["partner-down", "unavailable"]);
    pair.clients(0);
    pair.servers[1].restart().unwrap();
    pair.wait_until_normal();
    pair.check_leases(each * EXCHANGES * 4);
}

/// While the standby does not answer and is not taken for failed, no client gets an
/// acknowledgement, also one that asks again. When the standby goes on, it gets all leases.
fn no_client_has_a_lease_that_a_stopped_standby_lacks(
    family: ScenarioFamily,
    makes: [ServerMake; 2],
) {
    let mut pair = ServerPair::start(family, PairMode::HotStandby, &makes, 60_000);
    pair.wait_until_normal();
    pair.clients(0);
    pair.signal(1, "STOP");
    let clients = ["-R", "100000", "-b", "mac=00:0c:ff:00:00:00"];
    let output = pair.run_clients(0, &clients, "1000000");
    // The same clients ask again.
    let again = pair.run_clients(0, &clients, "1000000");
    pair.signal(1, "CONT");
    let mut has_offers = false;
    for output in [output, again] {
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        let [on_time, late] = ["on time:", "late:"].map(|label| figures(&report, label));
        // Clients that ask again may have to wait for the answer to their first request.
        has_offers |= on_time[0] > 0;
        assert_eq!([on_time[1], late[1]], [0, 0], "{makes:?}: {report}");
    }
    assert!(has_offers, "{makes:?}: nobody got an offer");
    pair.wait_until_normal();
    pair.clients(0);
    let each = if family == ScenarioFamily::V4 { 1 } else { 2 };
    pair.check_leases(each * EXCHANGES * 3);
}

fn with_kea_3(family: ScenarioFamily) {
    if has_debian_13() {
        a_pair_lives(family, [ServerMake::Godwit, ServerMake::Kea3]);
        a_pair_lives(family, [ServerMake::Kea3, ServerMake::Godwit]);
    }
}

fn with_kea_2(family: ScenarioFamily, program: &str) {
    if require(&[program]) {
        a_pair_lives(family, [ServerMake::Godwit, ServerMake::Kea]);
        a_pair_lives(family, [ServerMake::Kea, ServerMake::Godwit]);
    }
}

/// Returns the nice values of the threads named `name` of the process `pid`.
fn nice_values(pid: u32, name: &str) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("the server runs");
    let stats =
        threads.flatten().filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let value = |stat: String| {
        let (begin, fields) = stat.rsplit_once(") ")?;
        let is_it = begin.rsplit_once('(')?.1 == name;
        // The nice value is field 19 of proc(5), and the first one here is field 3.
        fields.split(' ').nth(16).filter(|_| is_it)?.parse().ok()
    };
    stats.filter_map(value).collect()
}

#[test]
fn the_thread_that_answers_a_partner_does_not_yield_to_others() {
    let pair = ServerPair::start(
        ScenarioFamily::V4,
        PairMode::HotStandby,
        &[ServerMake::Godwit; 2],
        60_000,
    );
    let pid = pair.servers[0].pid();
    assert_eq!(nice_values(pid, "control"), nice_values(pid, "ha"));
    assert_eq!(nice_values(pid, "control").len(), 1);
    assert!(nice_values(pid, "statistics").iter().all(|value| *value == 19));
}

#[test]
fn a_partner_may_send_only_the_commands_that_it_needs() {
    let pair = ServerPair::start(
        ScenarioFamily::V4,
        PairMode::HotStandby,
        &[ServerMake::Godwit; 2],
        60_000,
    );
    for (command, status) in [("ha-heartbeat", 200), ("config-get", 403), ("shutdown", 403)] {
        assert_eq!(pair.status_for_partner(0, command), status, "{command}");
    }
}

#[test]
fn a_dhcpv4_pair_of_godwit_lives() {
    a_pair_lives(ScenarioFamily::V4, [ServerMake::Godwit; 2]);
}

#[test]
fn a_dhcpv6_pair_of_godwit_lives() {
    a_pair_lives(ScenarioFamily::V6, [ServerMake::Godwit; 2]);
}

#[test]
fn no_dhcpv4_client_has_a_lease_that_a_stopped_standby_lacks() {
    let stopped = no_client_has_a_lease_that_a_stopped_standby_lacks;
    stopped(ScenarioFamily::V4, [ServerMake::Godwit; 2]);
    if has_debian_13() {
        stopped(ScenarioFamily::V4, [ServerMake::Godwit, ServerMake::Kea3]);
    }
}

#[test]
fn no_dhcpv6_client_has_a_lease_that_a_stopped_standby_lacks() {
    let stopped = no_client_has_a_lease_that_a_stopped_standby_lacks;
    stopped(ScenarioFamily::V6, [ServerMake::Godwit; 2]);
    if has_debian_13() {
        stopped(ScenarioFamily::V6, [ServerMake::Godwit, ServerMake::Kea3]);
    }
}

#[test]
fn a_dhcpv4_pair_with_kea_3_lives() {
    with_kea_3(ScenarioFamily::V4);
}

#[test]
fn a_dhcpv6_pair_with_kea_3_lives() {
    with_kea_3(ScenarioFamily::V6);
}

#[test]
fn a_dhcpv4_pair_with_kea_2_2_lives() {
    with_kea_2(ScenarioFamily::V4, "kea-dhcp4");
}

#[test]
fn a_dhcpv6_pair_with_kea_2_2_lives() {
    with_kea_2(ScenarioFamily::V6, "kea-dhcp6");
}
