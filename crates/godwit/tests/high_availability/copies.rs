//! Copies of leases when a server of a pair starts again: leases that only one of the servers has
//! get to the other one, whichever of them copies.

use std::time::{SystemTime, UNIX_EPOCH};

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::{Value, json};

use super::{EXCHANGES, PairMode, ServerPair};
use crate::common::{has_debian_13, require};
use crate::subjects::process::ServerMake;

/// Lifetime of a lease, in seconds.
const LIFETIME_S: u64 = 4_000;

/// Calls `check` with pairs of a server of Godwit and another one, and the number of the former.
pub(super) fn with_each_partner(
    family: ScenarioFamily,
    check: impl Fn(ScenarioFamily, [ServerMake; 2], usize),
) {
    let program = if family == ScenarioFamily::V4 { "kea-dhcp4" } else { "kea-dhcp6" };
    let godwit = ServerMake::Godwit;
    let mut makes = vec![([godwit; 2], 0), ([godwit; 2], 1)];
    if has_debian_13() {
        makes.extend([([godwit, ServerMake::Kea3], 0), ([ServerMake::Kea3, godwit], 1)]);
    }
    if require(&[program]) {
        makes.extend([([godwit, ServerMake::Kea], 0), ([ServerMake::Kea, godwit], 1)]);
    }
    for (makes, server) in makes {
        check(family, makes, server);
    }
}

/// Returns an administrator's command that gives a lease to a client, whose last transaction was
/// `age_s` seconds ago. Its server does not send it to the partner.
fn lease_command(name: &str, family: ScenarioFamily, number: u8, age_s: u64) -> Value {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right").as_secs();
    let client = format!("00:01:00:0c:ee:00:00:{number:02x}");
    let expire = now_s - age_s + LIFETIME_S;
    match family {
        ScenarioFamily::V4 => json!({ "command": format!("lease4-{name}"), "arguments": {
            "ip-address": format!("127.1.9.{number}"), "hw-address": client, "subnet-id": 1,
            "valid-lft": LIFETIME_S, "expire": expire } }),
        ScenarioFamily::V6 => json!({ "command": format!("lease6-{name}"), "arguments": {
            "ip-address": format!("2001:db8::1:9{number:02x}"), "duid": client, "iaid": 1,
            "subnet-id": 1, "valid-lft": LIFETIME_S, "preferred-lft": LIFETIME_S,
            "expire": expire } }),
    }
}

/// A server whose updates do not get to its partner ends and starts again, and the partner, which
/// stays in normal operation, gets the leases: one that it lacks, and one of which it has an
/// earlier transaction.
fn a_partner_gets_what_it_lacks(family: ScenarioFamily, makes: [ServerMake; 2], server: usize) {
    let mut pair = ServerPair::start(family, PairMode::HotStandby, &makes, 60_000);
    pair.wait_until_normal();
    for at in [server, 1 - server] {
        let answer = pair.command(at, &lease_command("add", family, 1, 20));
        assert_eq!(answer["result"], 0, "{makes:?}: {answer}");
    }
    let [new, later] =
        [("add", 2), ("update", 1)].map(|(name, number)| lease_command(name, family, number, 0));
    for command in [new, later] {
        let answer = pair.command(server, &command);
        assert_eq!(answer["result"], 0, "{makes:?}: {answer}");
    }
    let before = pair.leases(server);
    pair.servers[server].kill();
    pair.servers[server].restart().unwrap();
    pair.wait_until_normal();
    pair.check_leases(2);
    assert_eq!(pair.leases(server), before, "{makes:?}");
}

/// The partner has leases of clients that it served alone and ends; a server that starts alone then
/// has them before both are in normal operation.
fn a_server_that_started_alone_gets_all(
    family: ScenarioFamily,
    makes: [ServerMake; 2],
    server: usize,
) {
    let mut pair = ServerPair::start(family, PairMode::HotStandby, &makes, 2_000);
    pair.wait_until_normal();
    pair.servers[server].kill();
    pair.wait_for(1 - server, ["partner-down", "unavailable"]);
    pair.clients(1 - server);
    pair.servers[1 - server].kill();
    pair.servers[server].restart().unwrap();
    pair.wait_for(server, ["partner-down", "unavailable"]);
    pair.clients(server);
    pair.servers[1 - server].restart().unwrap();
    pair.wait_until_normal();
    let each = if family == ScenarioFamily::V4 { 1 } else { 2 };
    pair.check_leases(each * EXCHANGES);
}

#[test]
fn a_dhcpv4_partner_gets_leases_that_it_lacks() {
    with_each_partner(ScenarioFamily::V4, a_partner_gets_what_it_lacks);
}

#[test]
fn a_dhcpv6_partner_gets_leases_that_it_lacks() {
    with_each_partner(ScenarioFamily::V6, a_partner_gets_what_it_lacks);
}

#[test]
fn a_dhcpv4_server_that_started_alone_gets_all_leases() {
    with_each_partner(ScenarioFamily::V4, a_server_that_started_alone_gets_all);
}

#[test]
fn a_dhcpv6_server_that_started_alone_gets_all_leases() {
    with_each_partner(ScenarioFamily::V6, a_server_that_started_alone_gets_all);
}
