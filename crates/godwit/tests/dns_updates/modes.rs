//! Conflict modes with records of others, next to Kea's updater: both leave the same zones.

use std::collections::BTreeSet;

use ncr::{ConflictMode, NameChangeRequest};

use super::life::{addition, removal};
use super::servers::{DnsServerProcess, TestZone};
use super::updater::{UpdaterMake, UpdaterProcess, configuration, shown};
use crate::common::{TempFolder, free_port, has_debian_13, require};

/// Records that are in the zones before: of an administrator, without a DHCID; and of another
/// client, whose DHCID is the one that `foreign` has.
const FORWARD: &str = "admin IN A 192.0.2.1\nadmin IN TXT \"kept\"\n\
                       other IN A 192.0.2.2\n\
                       other IN TYPE49 \\# 5 0002010203\n";
const REVERSE: &str = "9.0.0 IN PTR someone.example.\n";

const ZONES: [TestZone; 2] = [
    TestZone { name: "example.", key: Some("sha256"), records: FORWARD },
    TestZone { name: "10.in-addr.arpa.", key: None, records: REVERSE },
];

/// Returns the requests of one mode: for a name that is free, one of an administrator, one of
/// another client, and one that another client takes; each added and some removed.
fn requests(mode: ConflictMode) -> Vec<NameChangeRequest> {
    let lease = |name: &str, last: u8, client: u16| {
        let address = std::net::Ipv4Addr::new(10, 0, 0, last);
        NameChangeRequest {
            conflict_mode: mode,
            ..addition(&format!("{name}.example."), address.into(), client)
        }
    };
    let (free, kept) = (lease("free", 1, 1), lease("kept", 2, 2));
    let (admin, other) = (lease("admin", 3, 3), lease("other", 4, 4));
    let taken = lease("taken", 5, 5);
    let taker = lease("taken", 6, 6);
    let pointer = lease("pointer", 9, 9);
    let moved = lease("kept", 8, 2);
    vec![
        free.clone(),
        kept.clone(),
        admin.clone(),
        other.clone(),
        taken.clone(),
        taker.clone(),
        pointer.clone(),
        removal(&free),
        removal(&free),
        removal(&admin),
        removal(&other),
        removal(&taker),
        removal(&kept),
        moved.clone(),
        moved,
        removal(&lease("never", 7, 7)),
        removal(&NameChangeRequest { reverse: false, ..pointer }),
    ]
}

/// Returns the records of both zones after the requests of `mode` to the updater `make`.
fn zones_after(make: UpdaterMake, mode: ConflictMode) -> BTreeSet<String> {
    let folder = TempFolder::new("ddns-mode");
    let mut server = DnsServerProcess::bind(&folder, free_port(), &ZONES);
    server.start();
    let port = free_port();
    let config = configuration(port, &[server.port], &ZONES);
    let mut updater = UpdaterProcess::new(make, &folder, port, &config);
    updater.start();
    // Kea keeps the order of requests with the same DHCID only, so each waits for the one before.
    for (count, request) in (1..).zip(requests(mode)) {
        updater.send(&request);
        updater.wait_for_outcomes(count);
    }
    let records = ZONES.iter().flat_map(|zone| server.records(zone.name)).collect();
    updater.stop();
    records
}

#[test]
fn each_conflict_mode_leaves_the_same_zones_as_kea() {
    if !require(&["named"]) || !has_debian_13() {
        return;
    }
    let mut seen = BTreeSet::new();
    for mode in ConflictMode::ALL {
        let ours = zones_after(UpdaterMake::Godwit, mode);
        let kea = zones_after(UpdaterMake::Kea3, mode);
        assert_eq!(ours, kea, "{}:\nours:\n{}\nKea:\n{}", mode.name(), shown(&ours), shown(&kea));
        seen.insert(ours);
    }
    assert_eq!(seen.len(), ConflictMode::ALL.len(), "each mode differs from the others");
}
