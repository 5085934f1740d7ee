//! Backup servers: they get each lease of the servers that serve clients, and no client waits for
//! them, except in the mode passive-backup with `wait-backup-ack`.

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::json;

use super::{EXCHANGES, PairMode, ServerPair};
use crate::common::perfdhcp::figures;
use crate::common::{has_debian_13, require, waited_until};
use crate::subjects::process::ServerMake;

/// Number of the backup server of a pair.
const BACKUP: usize = 2;

/// Returns the number of leases that a client of perfdhcp gets.
const fn leases_per_client(family: ScenarioFamily) -> usize {
    match family {
        ScenarioFamily::V4 => 1,
        ScenarioFamily::V6 => 2,
    }
}

/// Waits until server number `backup` has the leases of the primary server, at least `count`.
fn wait_for_leases(pair: &mut ServerPair, backup: usize, count: usize) {
    waited_until(|| {
        let [primary, other] = [0, backup].map(|server| pair.leases(server));
        primary.len() >= count && primary == other
    });
    pair.check_leases_of([0, backup], count);
}

/// Lets server number `backup` copy the leases of server number `source`.
fn synchronize(pair: &mut ServerPair, backup: usize, source: usize) {
    let arguments = json!({ "server-name": format!("server{}", source + 1) });
    let answer = pair.command(backup, &json!({ "command": "ha-sync", "arguments": arguments }));
    assert_eq!(answer["result"], 0, "{:?}: {answer}", pair.makes);
}

/// A hot-standby pair with a backup server, which gets updates of both servers, also while one of
/// them is away, misses nothing while it does not answer, and copies the leases on demand after a
/// restart. It answers no client.
fn a_backup_server_follows_a_pair(family: ScenarioFamily, makes: [ServerMake; 3]) {
    let mut pair = ServerPair::start(family, PairMode::HotStandby, &makes, 2_000);
    pair.wait_until_normal();
    pair.wait_for(BACKUP, ["backup", ""]);
    let each = leases_per_client(family);
    pair.clients(0);
    wait_for_leases(&mut pair, BACKUP, each * EXCHANGES);
    pair.servers[0].kill();
    pair.wait_for(1, ["partner-down", "unavailable"]);
    pair.clients(1);
    pair.servers[0].restart().unwrap();
    pair.wait_until_normal();
    wait_for_leases(&mut pair, BACKUP, each * EXCHANGES * 2);
    pair.servers[BACKUP].kill();
    pair.clients(0);
    pair.servers[BACKUP].restart().unwrap();
    pair.wait_for(BACKUP, ["backup", ""]);
    pair.clients(0);
    synchronize(&mut pair, BACKUP, 0);
    wait_for_leases(&mut pair, BACKUP, each * EXCHANGES * 4);
    let unserved = pair.run_clients(BACKUP, &["-R", "100000"], "1000000");
    let report = String::from_utf8_lossy(&unserved.stdout);
    let answered = ["on time:", "late:"].map(|label| figures(&report, label)[0]);
    assert_eq!(answered, [0, 0], "{makes:?}: {report}");
}

/// A primary server with a backup server: no client has a lease that the backup server lacks, also
/// while that does not answer.
fn a_primary_server_waits_for_its_backup_server(family: ScenarioFamily, makes: [ServerMake; 2]) {
    let mut pair = ServerPair::start(family, PairMode::PassiveBackup, &makes, 60_000);
    pair.wait_for(0, ["passive-backup", ""]);
    pair.wait_for(1, ["backup", ""]);
    let each = leases_per_client(family);
    pair.clients(0);
    pair.check_leases_of([0, 1], each * EXCHANGES);
    pair.servers[1].kill();
    let output = pair.run_clients(0, &["-R", "100000", "-b", "mac=00:0c:ff:00:00:00"], "1000000");
    let report = String::from_utf8_lossy(&output.stdout);
    let acknowledged = ["on time:", "late:"].map(|label| figures(&report, label)[1]);
    assert_eq!(acknowledged, [0, 0], "{makes:?}: {report}");
    pair.servers[1].restart().unwrap();
    pair.wait_for(1, ["backup", ""]);
    synchronize(&mut pair, 1, 0);
    pair.clients(0);
    wait_for_leases(&mut pair, 1, each * EXCHANGES * 2);
}

const FAMILIES: [ScenarioFamily; 2] = [ScenarioFamily::V4, ScenarioFamily::V6];

#[test]
fn a_backup_server_follows_a_pair_of_godwit() {
    for family in FAMILIES {
        a_backup_server_follows_a_pair(family, [ServerMake::Godwit; 3]);
    }
}

#[test]
fn a_kea_3_backup_server_follows_a_pair_of_godwit() {
    if has_debian_13() {
        for family in FAMILIES {
            let makes = [ServerMake::Godwit, ServerMake::Godwit, ServerMake::Kea3];
            a_backup_server_follows_a_pair(family, makes);
        }
    }
}

#[test]
fn a_kea_2_2_backup_server_follows_a_pair_of_godwit() {
    if require(&["kea-dhcp4", "kea-dhcp6"]) {
        for family in FAMILIES {
            let makes = [ServerMake::Godwit, ServerMake::Godwit, ServerMake::Kea];
            a_backup_server_follows_a_pair(family, makes);
        }
    }
}

#[test]
fn a_backup_server_follows_pairs_of_kea_and_godwit() {
    if has_debian_13() && require(&["kea-dhcp4", "kea-dhcp6"]) {
        for family in FAMILIES {
            for other in [ServerMake::Kea3, ServerMake::Kea] {
                let makes = [other, ServerMake::Godwit, ServerMake::Godwit];
                a_backup_server_follows_a_pair(family, makes);
            }
        }
    }
}

#[test]
fn a_primary_server_waits_for_its_godwit_backup_server() {
    for family in FAMILIES {
        a_primary_server_waits_for_its_backup_server(family, [ServerMake::Godwit; 2]);
    }
}

#[test]
fn a_primary_server_waits_for_its_kea_backup_server() {
    if has_debian_13() && require(&["kea-dhcp4", "kea-dhcp6"]) {
        for family in FAMILIES {
            for backup in [ServerMake::Kea3, ServerMake::Kea] {
                let makes = [ServerMake::Godwit, backup];
                a_primary_server_waits_for_its_backup_server(family, makes);
            }
        }
    }
}

#[test]
fn a_kea_primary_server_waits_for_its_godwit_backup_server() {
    if has_debian_13() && require(&["kea-dhcp4", "kea-dhcp6"]) {
        for family in FAMILIES {
            for primary in [ServerMake::Kea3, ServerMake::Kea] {
                let makes = [primary, ServerMake::Godwit];
                a_primary_server_waits_for_its_backup_server(family, makes);
            }
        }
    }
}
