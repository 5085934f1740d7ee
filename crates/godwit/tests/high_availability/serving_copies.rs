//! Copies of leases between two Godwits: the partner serves clients while its leases are copied,
//! and what changes meanwhile is at both servers in the end.

use std::net::IpAddr;

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::{Value, json};

use super::releases::{Clients, has_lease};
use super::{PairMode, PairSetup, ServerPair};
use crate::common::{free_port, waited_until};
use crate::crash::{self, CrashRequest};
use crate::subjects::process::ServerMake;

/// Number of addresses, and of prefixes, in the two small pools of a pair.
const ADDRESSES: u32 = 16;
/// Number of the first client that comes during the copy.
const FIRST_NEW: u32 = 100;

/// Returns the command of an administrator that deletes a lease.
fn deletion(family: ScenarioFamily, address: IpAddr, is_prefix: bool) -> Value {
    match family {
        ScenarioFamily::V4 => {
            json!({ "command": "lease4-del", "arguments": { "ip-address": address } })
        }
        ScenarioFamily::V6 => {
            let kind = if is_prefix { "IA_PD" } else { "IA_NA" };
            json!({ "command": "lease6-del",
                    "arguments": { "ip-address": address, "type": kind } })
        }
    }
}

/// Returns the identifier of the client that has the lease of `address`.
fn client_of(pair: &mut ServerPair, server: usize, address: IpAddr) -> String {
    let leases = pair.leases(server);
    let lease = leases.get(&address.to_string()).unwrap_or_else(|| panic!("{address} is gone"));
    ["duid", "hw-address", "client-id"].map(|key| lease[key].to_string()).join(" ")
}

/// Server number `copier` starts again, and copies the leases of its partner. After the first page
/// clients get, renew and release leases of the partner, and an administrator deletes leases, whose
/// addresses other clients get. Clients of one kind have numbers `kind`, `kind + 2` and so on.
fn a_partner_serves_during_a_copy(family: ScenarioFamily, copier: usize, kind: u32) {
    let (relay_port, partner) = (free_port(), 1 - copier);
    let setup = PairSetup::new(family, PairMode::HotStandby, 2_000);
    // The test holds a page for as long as the clients need.
    let patient = json!({ "sync-timeout": 600_000 });
    let further = vec![patient.clone(), patient];
    let setup = PairSetup { has_small_pools: true, has_links: true, further, ..setup };
    let mut pair = PairSetup { client_port: relay_port, ..setup }.start(&[ServerMake::Godwit; 2]);
    let messages = if family == ScenarioFamily::V4 { crash::V4 } else { crash::V6 };
    let mut clients = Clients::new(messages, relay_port);
    pair.wait_until_normal();
    clients.port = pair.servers[0].ports()[0];
    // Pages have seven leases; one address stays free.
    let numbers = (kind..).step_by(2).take(ADDRESSES as usize - 1);
    let leased: Vec<(u32, IpAddr)> = numbers.map(|one| (one, clients.get(one))).collect();
    pair.servers[copier].kill();
    pair.wait_for(partner, ["partner-down", "unavailable"]);
    clients.port = pair.servers[partner].ports()[0];
    pair.links[partner].hold_pages_after(1);
    pair.servers[copier].restart().unwrap();
    let is_held = waited_until(|| pair.links[partner].holds_page());
    assert!(is_held, "no second page: {}", pair.servers[copier].log());
    pair.wait_for(copier, ["syncing", "partner-down"]);

    let is_prefix = family == ScenarioFamily::V6 && kind % 2 == 1;
    let mut rest = leased.iter().copied();
    let [released, deleted, renewed] = [(); 3].map(|()| rest.next().expect("there are more"));
    let free = clients.get(FIRST_NEW + kind);
    clients.ask(renewed.0, CrashRequest::Renewal(renewed.1));
    let answer = pair.command(partner, &deletion(family, deleted.1, is_prefix));
    assert_eq!(answer["result"], 0, "{answer}");
    let again = clients.get(FIRST_NEW + 2 + kind);
    assert_eq!(again, deleted.1, "no other address is free");
    clients.send(released.0, CrashRequest::Release(released.1));
    let is_released = waited_until(|| !has_lease(&mut pair, partner, released.1));
    assert!(is_released, "{} is not released", released.1);
    let answer = pair.command(partner, &deletion(family, leased[5].1, is_prefix));
    assert_eq!(answer["result"], 0, "{answer}");
    assert!(has_lease(&mut pair, copier, leased[5].1) && has_lease(&mut pair, copier, released.1));
    assert_eq!(pair.states(copier)[0], "syncing");

    pair.links[partner].pass_pages();
    pair.wait_until_normal();
    pair.check_leases(ADDRESSES as usize - 2);
    for server in [copier, partner] {
        assert!(has_lease(&mut pair, server, free), "{server} lacks {free}");
        for gone in [released.1, leased[5].1] {
            assert!(!has_lease(&mut pair, server, gone), "{server} has {gone}");
        }
    }
    let clients = [copier, partner].map(|server| client_of(&mut pair, server, deleted.1));
    assert_eq!(clients[0], clients[1]);
}

#[test]
fn a_dhcpv4_partner_serves_clients_while_its_leases_are_copied() {
    for copier in [0, 1] {
        a_partner_serves_during_a_copy(ScenarioFamily::V4, copier, 2);
    }
}

#[test]
fn a_dhcpv6_partner_serves_clients_while_its_leases_are_copied() {
    // Clients with even numbers have an address, the others a prefix.
    for (copier, kind) in [(0, 2), (1, 3)] {
        a_partner_serves_during_a_copy(ScenarioFamily::V6, copier, kind);
    }
}
