//! Load balancing pairs: each server answers the clients that the hash of RFC 3074 assigns to it,
//! from its own pools, and those of a partner that is killed.

use std::fs;
use std::net::IpAddr;
use std::process::Output;

use dhcp_engine::balance::balance_hash;
use scenario::{ScenarioFamily, ScenarioServer};

use super::{EXCHANGES, PairMode, ServerPair};
use crate::common::perfdhcp::figures;
use crate::common::{TempFolder, has_debian_13, require};
use crate::subjects::process::ServerMake;

/// Number of clients from which perfdhcp takes those of a run: no client should be taken twice.
const LISTED: u32 = 50_000;
/// Number of exchanges of a run that at least are of different clients.
const DIFFERENT: usize = EXCHANGES - 5;

/// Returns the number of the scope to which the client with this hardware address belongs, by the
/// client identifier that perfdhcp makes of it.
fn scope_of(family: ScenarioFamily, mac: [u8; 6]) -> usize {
    let hash = match family {
        ScenarioFamily::V4 => balance_hash(&[&[1][..], &mac].concat()),
        // A DUID-LL.
        ScenarioFamily::V6 => balance_hash(&[&[0, 3, 0, 1][..], &mac].concat()),
    };
    usize::from(hash % 2)
}

/// Runs new clients of scope number `scope` at `server`. Returns the report of perfdhcp.
fn run(pair: &mut ServerPair, scope: usize, server: usize, wait_us: &str) -> Output {
    pair.runs += 1;
    let (family, run) = (pair.family, pair.runs);
    let macs = (0..LISTED).map(|number| {
        let [_, high, middle, low] = number.to_be_bytes();
        [0, 0x0c, run, high, middle, low]
    });
    let text = |mac: [u8; 6]| mac.map(|octet| format!("{octet:02x}")).join(":") + "\n";
    let list: String = macs.filter(|mac| scope_of(family, *mac) == scope).map(text).collect();
    let folder = TempFolder::new("ha-clients");
    let file = folder.path().join("clients");
    fs::write(&file, list).expect("the list of clients is written");
    pair.run_clients(server, &["-M", &file.display().to_string()], wait_us)
}

/// Lets new clients of scope number `scope` get leases of `server`, which must acknowledge each.
fn clients(pair: &mut ServerPair, scope: usize, server: usize) {
    let output = run(pair, scope, server, "20000000");
    pair.check_all_answered(server, &output);
}

/// Lets new clients of the other server ask `server`, which must answer none.
fn other_clients(pair: &mut ServerPair, server: usize) {
    let output = run(pair, 1 - server, server, "1000000");
    let report = String::from_utf8_lossy(&output.stdout);
    let answered = ["on time:", "late:"].map(|label| figures(&report, label)[0]);
    assert_eq!(answered, [0, 0], "{:?}: {report}", pair.makes);
}

/// Returns the number of the scope from whose pools the address or prefix is.
fn pool_of(address: &str) -> usize {
    match address.parse().expect("an address") {
        IpAddr::V4(address) => usize::from(address.octets()[1] - 1),
        IpAddr::V6(address) => match address.segments() {
            [_, _, 0, .., scope, _] => usize::from(scope - 1),
            [_, _, prefix, ..] => usize::from(prefix >> 11 & 1),
        },
    }
}

/// Checks that each lease is of the pool of the server to whose scope its client belongs, and that
/// both servers have all leases, of at least `count` clients.
fn check(pair: &mut ServerPair, count: usize) {
    let (each, identifier) = match pair.family {
        ScenarioFamily::V4 => (1, "client-id"),
        ScenarioFamily::V6 => (2, "duid"),
    };
    pair.check_leases(each * count);
    for (address, lease) in pair.leases(0) {
        let text = lease[identifier].as_str().expect("an identifier");
        let octets = text.split(':').map(|octet| u8::from_str_radix(octet, 16).expect("a byte"));
        let scope = usize::from(balance_hash(&octets.collect::<Vec<u8>>()) % 2);
        assert_eq!(scope, pool_of(&address), "{:?}: {text} has {address}", pair.makes);
    }
}

/// Takes a pair through its life: start, clients of both servers, take-over by each of them, and
/// copies of the leases.
fn a_pair_lives(family: ScenarioFamily, makes: [ServerMake; 2]) {
    let mut pair = ServerPair::start(family, PairMode::LoadBalancing, &makes, 2_000);
    pair.wait_until_normal();
    for server in 0..2 {
        clients(&mut pair, server, server);
        other_clients(&mut pair, server);
    }
    check(&mut pair, DIFFERENT * 2);
    for killed in 0..2 {
        let other = 1 - killed;
        pair.servers[killed].kill();
        pair.wait_for(other, ["partner-down", "unavailable"]);
        (0..2).for_each(|scope| clients(&mut pair, scope, other));
        pair.servers[killed].restart().unwrap();
        pair.wait_until_normal();
        check(&mut pair, DIFFERENT * (4 + 4 * killed));
        clients(&mut pair, killed, killed);
        clients(&mut pair, other, other);
        check(&mut pair, DIFFERENT * (6 + 4 * killed));
    }
}

fn with(make: ServerMake, family: ScenarioFamily) {
    a_pair_lives(family, [ServerMake::Godwit, make]);
    a_pair_lives(family, [make, ServerMake::Godwit]);
}

#[test]
fn a_balanced_dhcpv4_pair_of_godwit_lives() {
    a_pair_lives(ScenarioFamily::V4, [ServerMake::Godwit; 2]);
}

#[test]
fn a_balanced_dhcpv6_pair_of_godwit_lives() {
    a_pair_lives(ScenarioFamily::V6, [ServerMake::Godwit; 2]);
}

#[test]
fn a_balanced_dhcpv4_pair_with_kea_3_lives() {
    if has_debian_13() {
        with(ServerMake::Kea3, ScenarioFamily::V4);
    }
}

#[test]
fn a_balanced_dhcpv6_pair_with_kea_3_lives() {
    if has_debian_13() {
        with(ServerMake::Kea3, ScenarioFamily::V6);
    }
}

#[test]
fn a_balanced_dhcpv4_pair_with_kea_2_2_lives() {
    if require(&["kea-dhcp4"]) {
        with(ServerMake::Kea, ScenarioFamily::V4);
    }
}

#[test]
fn a_balanced_dhcpv6_pair_with_kea_2_2_lives() {
    if require(&["kea-dhcp6"]) {
        with(ServerMake::Kea, ScenarioFamily::V6);
    }
}
