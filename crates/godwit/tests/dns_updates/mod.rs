//! DNS updater, `godwit ddns`, with DNS servers of Debian's packages: after scripts of name change
//! requests the zones hold exactly the records of the leases, and the same as after Kea's updater.

mod check;
mod fault_table;
mod faults;
mod inside;
mod life;
mod modes;
mod rate;
mod sender;
mod servers;
mod updater;
mod zone;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::common::{TempFolder, free_port, require};
use life::ClientLife;
use servers::{DnsServerProcess, KEYS, TestZone};
use updater::{UpdaterMake, UpdaterProcess, configuration};

/// Writes a configuration of an updater without zones in `folder`, and returns its path.
pub(crate) fn updater_configuration(folder: &Path) -> PathBuf {
    let path = folder.join("kea-dhcp-ddns.conf");
    let text = json!({ "DhcpDdns": { "port": free_port() } });
    fs::write(&path, text.to_string()).expect("the test's folder can be written");
    path
}

/// Zones of one key: for names, IPv4 addresses and IPv6 addresses.
const KEY_ZONES: [[&str; 3]; 6] = [
    ["md5.example.", "0.10.in-addr.arpa.", "0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."],
    ["sha1.example.", "1.10.in-addr.arpa.", "1.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."],
    ["sha224.example.", "2.10.in-addr.arpa.", "2.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."],
    ["sha256.example.", "3.10.in-addr.arpa.", "3.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."],
    ["sha384.example.", "4.10.in-addr.arpa.", "4.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."],
    ["sha512.example.", "5.10.in-addr.arpa.", "5.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."],
];

/// Returns the zones of all keys, each changed with its own.
fn zones_of_all_keys() -> Vec<TestZone> {
    let with_key = |(key, zones): (&servers::TestKey, &[&'static str; 3])| {
        let key = Some(key.name);
        zones.map(|name| TestZone { name, key, records: "" })
    };
    KEYS.iter().zip(&KEY_ZONES).flat_map(with_key).collect()
}

/// Number of clients of a scripted life.
const CLIENTS: u16 = 200;

/// Plays the life of clients to an updater with this DNS server, and compares the zones.
fn play_life(folder: &TempFolder, server: &mut DnsServerProcess, zones: &[TestZone]) {
    server.start();
    let config = configuration(free_port(), &[server.port], zones);
    let port = config["DhcpDdns"]["port"].as_u64().expect("it was set") as u16;
    let mut updater = UpdaterProcess::new(UpdaterMake::Godwit, folder, port, &config);
    updater.start();
    let mut life = ClientLife::new(CLIENTS);
    for request in life.requests() {
        updater.send(&request);
    }
    updater.wait_for_outcomes(life.count());
    for zone in zones {
        let (actual, expected) = (server.records(zone.name), life.expected(zone.name));
        assert_eq!(actual, expected, "{}:\n{}", zone.name, updater.log());
    }
    assert_eq!(updater.statistic("update-unsigned"), 0);
    for key in KEYS {
        let count = |what: &str| updater.statistic(&format!("key[{}.].update-{what}", key.name));
        assert!(count("success") > 50, "{}", key.name);
        assert_eq!(count("error"), 0, "{}", key.name);
    }
    updater.stop();
}

#[test]
fn zones_of_bind_hold_exactly_the_records_of_the_leases() {
    if !require(&["named"]) {
        return;
    }
    let folder = TempFolder::new("ddns-bind");
    let zones = zones_of_all_keys();
    let mut server = DnsServerProcess::bind(&folder, free_port(), &zones);
    play_life(&folder, &mut server, &zones);
}

#[test]
fn zones_of_knot_hold_exactly_the_records_of_the_leases() {
    if !require(&["knotd"]) {
        return;
    }
    let folder = TempFolder::new("ddns-knot");
    let zones = zones_of_all_keys();
    let mut server = DnsServerProcess::knot(&folder, free_port(), &zones);
    play_life(&folder, &mut server, &zones);
}

#[test]
fn zones_of_powerdns_hold_exactly_the_records_of_the_leases() {
    if !require(&["pdns_server"]) {
        return;
    }
    let folder = TempFolder::new("ddns-powerdns");
    let zones = zones_of_all_keys();
    let mut server = DnsServerProcess::powerdns(&folder, free_port(), &zones);
    play_life(&folder, &mut server, &zones);
}
