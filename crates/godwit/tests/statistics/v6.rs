//! Script of DHCPv6.

use serde_json::json;

use crate::statistics::player::ScriptedServer;

/// Configuration like that of DHCPv4, with prefixes as well as addresses.
pub(crate) const CONFIG: &str = r#"
    "preferred-lifetime": 3000, "valid-lifetime": 4000, "cache-threshold": 0.0,
    "decline-probation-period": 15,
    "expired-leases-processing": { "reclaim-timer-wait-time": 0 },
    "client-classes": [ { "name": "DROP", "test": "option[1500].exists" },
                        { "name": "gold", "test": "option[1501].exists" } ],
    "subnet6": [
      { "id": 1, "subnet": "2001:db8:1::/64",
        "pools": [ { "pool-id": 1, "pool": "2001:db8:1::10-2001:db8:1::1f" },
                   { "pool-id": 2, "pool": "2001:db8:1::30-2001:db8:1::37",
                     "client-class": "gold" } ],
        "pd-pools": [ { "pool-id": 3, "prefix": "2001:db8:100::", "prefix-len": 40,
                        "delegated-len": 48 } ] },
      { "id": 2, "subnet": "2001:db8:2::/64",
        "pools": [ { "pool": "2001:db8:2::10-2001:db8:2::10" } ] },
      { "id": 3, "subnet": "2001:db8:3::/64" },
      { "id": 4, "subnet": "2001:db8:4::/64", "preferred-lifetime": 1, "valid-lifetime": 1,
        "pools": [ { "pool-id": 9, "pool": "2001:db8:4::10-2001:db8:4::1f" } ],
        "pd-pools": [ { "pool-id": 9, "prefix": "2001:db8:400::", "prefix-len": 40,
                        "delegated-len": 48 } ] },
      { "id": 5, "subnet": "2001:db8:5::/64", "cache-threshold": 0.9,
        "pools": [ { "pool": "2001:db8:5::10-2001:db8:5::1f" } ],
        "pd-pools": [ { "prefix": "2001:db8:500::", "prefix-len": 40, "delegated-len": 48 } ] },
      { "id": 8, "subnet": "2001:db8:8::/64",
        "pools": [ { "pool": "2001:db8:8::10-2001:db8:8::1f", "client-class": "gold" } ] } ],
    "shared-networks": [ { "name": "two", "subnet6": [
      { "id": 6, "subnet": "2001:db8:6::/64",
        "pools": [ { "pool": "2001:db8:6::10-2001:db8:6::10" } ] },
      { "id": 7, "subnet": "2001:db8:7::/64",
        "pools": [ { "pool": "2001:db8:7::10-2001:db8:7::10" } ] } ] } ]"#;

const SOLICIT: u8 = 1;
const ADVERTISE: u8 = 2;
const REQUEST: u8 = 3;
const CONFIRM: u8 = 4;
const RENEW: u8 = 5;
const REBIND: u8 = 6;
const REPLY: u8 = 7;
const RELEASE: u8 = 8;
const DECLINE: u8 = 9;
const RECONFIGURE: u8 = 10;
const INFORMATION_REQUEST: u8 = 11;
const RELAY_FORWARD: u8 = 12;
const LEASE_QUERY: u8 = 14;
const DHCPV4_QUERY: u8 = 20;
const DHCPV4_RESPONSE: u8 = 21;
const ADDR_REG_INFORM: u8 = 36;
const ADDR_REG_REPLY: u8 = 37;
const UNKNOWN: u8 = 200;

const CLIENT_ID: u16 = 1;
const SERVER_ID: u16 = 2;
const IA_NA: u16 = 3;
const IA_ADDRESS: u16 = 5;
const RELAY_MESSAGE: u16 = 9;
const IA_PD: u16 = 25;
/// Option that puts a client into the class `DROP`.
const DROPPED: u16 = 1500;

fn option(code: u16, content: &[u8]) -> Vec<u8> {
    let len = content.len() as u16;
    [&code.to_be_bytes()[..], &len.to_be_bytes(), content].concat()
}

/// Returns the address 2001:db8:`subnet`::`last`.
fn address(subnet: u8, last: u8) -> [u8; 16] {
    [0x20, 1, 0xd, 0xb8, 0, subnet, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]
}

/// Returns `inner` relayed from subnet `subnet` for the client at `peer`.
fn relayed(inner: &[u8], subnet: u8, peer: [u8; 16]) -> Vec<u8> {
    let head = [RELAY_FORWARD, 0];
    [&head[..], &address(subnet, 1), &peer, &option(RELAY_MESSAGE, inner)].concat()
}

/// Returns a message of client `client`, relayed from subnet `subnet`.
fn message(kind: u8, client: u8, subnet: u8, options: &[Vec<u8>]) -> Vec<u8> {
    let duid = option(CLIENT_ID, &[0, 3, 0, 1, 2, 0, 0, 0, 0, client]);
    let inner = [vec![kind, 0, kind, client], duid, options.concat()].concat();
    let mut peer = address(0, client);
    peer[..2].copy_from_slice(&[0xfe, 0x80]);
    relayed(&inner, subnet, peer)
}

/// Returns an empty identity association.
fn empty_ia(code: u16) -> Vec<u8> {
    option(code, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
}

/// Sends a message, and returns the options of the reply inside the relay agent's, which must be of
/// type `kind`.
fn answer(player: &ScriptedServer, octets: &[u8], kind: u8) -> Vec<(u16, Vec<u8>)> {
    let answer = player.ask(octets);
    let relayed = options(&answer[34..]);
    let (_, inner) = relayed.iter().find(|(code, _)| *code == RELAY_MESSAGE).expect("relayed");
    assert_eq!(inner[0], kind, "answer to {octets:02x?}");
    options(&inner[4..])
}

fn options(mut rest: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut found = Vec::new();
    while let [a, b, c, d, content @ ..] = rest {
        let (content, after) = content.split_at(u16::from_be_bytes([*c, *d]).into());
        found.push((u16::from_be_bytes([*a, *b]), content.to_vec()));
        rest = after;
    }
    found
}

/// Returns those of `options` that a client sends back, as options of its own: the server's
/// identifier and the associations.
fn echoed(options: &[(u16, Vec<u8>)]) -> Vec<Vec<u8>> {
    let identifying = options.iter().filter(|(code, _)| [SERVER_ID, IA_NA, IA_PD].contains(code));
    identifying.map(|(code, content)| option(*code, content)).collect()
}

/// Plays SOLICIT, ADVERTISE, REQUEST, REPLY for `associations`, and returns the options that the
/// client sends about its lease from then on.
fn lease(player: &ScriptedServer, client: u8, subnet: u8, associations: &[u16]) -> Vec<Vec<u8>> {
    let wanted: Vec<_> = associations.iter().map(|&code| empty_ia(code)).collect();
    let offered = answer(player, &message(SOLICIT, client, subnet, &wanted), ADVERTISE);
    let request = message(REQUEST, client, subnet, &echoed(&offered));
    echoed(&answer(player, &request, REPLY))
}

/// Returns `leased` without the server's identifier.
fn to_any_server(leased: &[Vec<u8>]) -> Vec<Vec<u8>> {
    leased.iter().filter(|option| option[..2] != SERVER_ID.to_be_bytes()).cloned().collect()
}

/// Requests the lease of client 6 three times at once: the server holds the second until it has
/// answered the first.
pub(crate) fn hurry(player: &ScriptedServer) {
    let offered = answer(player, &message(SOLICIT, 6, 2, &[empty_ia(IA_NA)]), ADVERTISE);
    let request = message(REQUEST, 6, 2, &echoed(&offered));
    player.tell_at_once(&[&request, &request, &request]);
    for _ in 0..2 {
        player.answer();
    }
}

/// Statistics that moved in [`hurry`].
pub(crate) const HURRIED: &[(&str, u64)] = &[
    ("pkt6-received", 4),
    ("pkt6-solicit-received", 1),
    ("pkt6-request-received", 3),
    ("pkt6-sent", 3),
    ("pkt6-advertise-sent", 1),
    ("pkt6-reply-sent", 2),
    ("pkt6-duplicate", 1),
    ("pkt6-receive-drop", 1),
    ("assigned-nas", 1),
    ("cumulative-assigned-nas", 1),
    ("subnet[2].assigned-nas", 1),
    ("subnet[2].cumulative-assigned-nas", 1),
    ("subnet[2].pool[0].assigned-nas", 1),
    ("subnet[2].pool[0].cumulative-assigned-nas", 1),
];

/// Number of messages that [`play`] sends.
pub(crate) const SENT: u64 = 44;

/// Plays everything except the end of leases.
pub(crate) fn play(player: &ScriptedServer) {
    // Client 1 gets an address and a prefix, renews them in every way, and releases them.
    let leased = lease(player, 1, 1, &[IA_NA, IA_PD]);
    answer(player, &message(RENEW, 1, 1, &leased), REPLY);
    let unaddressed = to_any_server(&leased);
    answer(player, &message(REBIND, 1, 1, &unaddressed), REPLY);
    let only_address = |option: &Vec<u8>| option[..2] == IA_NA.to_be_bytes();
    let addresses: Vec<_> = unaddressed.iter().filter(|one| only_address(one)).cloned().collect();
    answer(player, &message(CONFIRM, 1, 1, &addresses), REPLY);
    answer(player, &message(INFORMATION_REQUEST, 1, 1, &[]), REPLY);
    answer(player, &message(RELEASE, 1, 1, &leased), REPLY);
    // Client 2 declines its lease, client 4 keeps its own, client 3 registers an address of its
    // own.
    let held_by_2 = lease(player, 2, 1, &[IA_NA]);
    answer(player, &message(DECLINE, 2, 1, &held_by_2), REPLY);
    lease(player, 4, 1, &[IA_NA, IA_PD]);
    let lifetimes = [0, 0, 3, 0, 0, 0, 3, 0];
    let registered = option(IA_ADDRESS, &[&address(1, 0x99)[..], &lifetimes].concat());
    let duid = option(CLIENT_ID, &[0, 3, 0, 1, 2, 0, 0, 0, 0, 3]);
    let inform = [vec![ADDR_REG_INFORM, 0, 0, 3], duid, registered].concat();
    let inform = relayed(&inform, 1, address(1, 0x99));
    if !player.is_kea() {
        answer(player, &inform, ADDR_REG_REPLY);
        // Once more: a registration is renewed, not made.
        answer(player, &inform, ADDR_REG_REPLY);
    } else {
        player.tell(&inform);
        player.tell(&inform);
    }
    dropped(player, &leased);
    // One client for the only address of subnet 2, one too many, and one that requests a prefix
    // there; no client gets anything in 3 and 8.
    lease(player, 6, 2, &[IA_NA]);
    for (client, subnet, association) in
        [(7, 2, IA_NA), (7, 2, IA_PD), (8, 3, IA_NA), (9, 8, IA_NA)]
    {
        answer(player, &message(SOLICIT, client, subnet, &[empty_ia(association)]), ADVERTISE);
    }
    // Two clients fit into the shared network.
    lease(player, 10, 6, &[IA_NA]);
    lease(player, 11, 6, &[IA_NA]);
    answer(player, &message(SOLICIT, 12, 6, &[empty_ia(IA_NA)]), ADVERTISE);
    // Client 13 requests its lease again.
    let leased = lease(player, 13, 5, &[IA_NA, IA_PD]);
    answer(player, &message(RENEW, 13, 5, &leased), REPLY);
    // Leases that end soon.
    lease(player, 14, 4, &[IA_NA, IA_PD]);
    player.wait_for_received(SENT - 1);
    assert_eq!(player.command("dhcp-disable", &json!({}))["result"], 0);
    player.tell(&message(SOLICIT, 15, 1, &[empty_ia(IA_NA)]));
    player.wait_for_received(SENT);
    assert_eq!(player.command("dhcp-enable", &json!({}))["result"], 0);
}

/// Sends messages that the server drops, each for another reason.
fn dropped(player: &ScriptedServer, leased: &[Vec<u8>]) {
    // Too short to be a message.
    player.tell(&[1; 3]);
    // For another server; for a server without naming one.
    let other = [option(SERVER_ID, &[9; 10]), empty_ia(IA_NA)];
    player.tell(&message(REQUEST, 5, 1, &other));
    player.tell(&message(RENEW, 5, 1, &to_any_server(leased)));
    // In the class DROP.
    player.tell(&message(SOLICIT, 5, 1, &[empty_ia(IA_NA), option(DROPPED, &[1])]));
    // Messages of servers, of no type, or for another kind of server.
    for kind in [
        ADVERTISE,
        REPLY,
        RECONFIGURE,
        LEASE_QUERY,
        DHCPV4_QUERY,
        DHCPV4_RESPONSE,
        ADDR_REG_REPLY,
        UNKNOWN,
    ] {
        player.tell(&message(kind, 5, 1, &[]));
    }
    // From a link without a subnet: the reply grants nothing.
    answer(player, &message(SOLICIT, 5, 99, &[empty_ia(IA_NA)]), ADVERTISE);
}

/// Statistics that moved before leases ended. 44 messages came: 15 SOLICITs (the one while service
/// was off was not read), nine REQUESTs (one for another server), three RENEWs (one without a
/// server).
pub(crate) const PLAYED: &[(&str, u64)] = &[
    ("pkt6-addr-reg-inform-received", 2),
    ("pkt6-addr-reg-reply-received", 1),
    ("pkt6-addr-reg-reply-sent", 2),
    ("pkt6-admin-filtered", 1),
    ("pkt6-advertise-received", 1),
    ("pkt6-advertise-sent", 14),
    ("pkt6-confirm-received", 1),
    ("pkt6-decline-received", 1),
    ("pkt6-dhcpv4-query-received", 1),
    ("pkt6-dhcpv4-response-received", 1),
    ("pkt6-infrequest-received", 1),
    ("pkt6-reconfigure-received", 1),
    ("pkt6-not-for-us", 1),
    ("pkt6-parse-failed", 1),
    ("pkt6-rebind-received", 1),
    ("pkt6-receive-drop", 13),
    ("pkt6-received", 44),
    ("pkt6-release-received", 1),
    ("pkt6-renew-received", 3),
    ("pkt6-reply-received", 1),
    ("pkt6-reply-sent", 15),
    ("pkt6-request-received", 9),
    // A RENEW without a server, and eight that are not for servers.
    ("pkt6-rfc-violation", 9),
    // 14 ADVERTISEs (one SOLICIT was filtered); REPLYs to eight REQUESTs, two RENEWs and one each
    // of REBIND, CONFIRM, INFORMATION-REQUEST, RELEASE, DECLINE; two answers to registrations.
    ("pkt6-sent", 31),
    ("pkt6-service-disabled", 1),
    ("pkt6-solicit-received", 15),
    // The lease query, which the server does not support, and 200.
    ("pkt6-unknown-received", 2),
    // 7 and 12 found full pools; 7 (a prefix), 8 and 9 no pool for them; 12 is in a shared network.
    ("v6-allocation-fail", 2),
    ("v6-allocation-fail-classes", 5),
    ("v6-allocation-fail-no-pools", 3),
    ("v6-allocation-fail-shared-network", 1),
    ("v6-allocation-fail-subnet", 4),
    ("v6-ia-na-lease-reuses", 1),
    ("v6-ia-pd-lease-reuses", 1),
    // Eight addresses and four prefixes were given, one of each was released.
    ("assigned-nas", 7),
    ("assigned-pds", 3),
    ("cumulative-assigned-nas", 8),
    ("cumulative-assigned-pds", 4),
    ("cumulative-registered-nas", 1),
    ("declined-addresses", 1),
    ("registered-nas", 1),
    ("subnet[1].assigned-nas", 2),
    ("subnet[1].assigned-pds", 1),
    ("subnet[1].cumulative-assigned-nas", 3),
    ("subnet[1].cumulative-assigned-pds", 2),
    ("subnet[1].cumulative-registered-nas", 1),
    ("subnet[1].declined-addresses", 1),
    ("subnet[1].pd-pool[3].assigned-pds", 1),
    ("subnet[1].pd-pool[3].cumulative-assigned-pds", 2),
    ("subnet[1].pd-pool[3].total-pds", 256),
    ("subnet[1].pool[1].assigned-nas", 2),
    ("subnet[1].pool[1].cumulative-assigned-nas", 3),
    ("subnet[1].pool[1].declined-addresses", 1),
    ("subnet[1].pool[1].total-nas", 16),
    ("subnet[1].pool[2].total-nas", 8),
    ("subnet[1].registered-nas", 1),
    ("subnet[1].total-nas", 24),
    ("subnet[1].total-pds", 256),
    ("subnet[2].assigned-nas", 1),
    ("subnet[2].cumulative-assigned-nas", 1),
    ("subnet[2].pool[0].assigned-nas", 1),
    ("subnet[2].pool[0].cumulative-assigned-nas", 1),
    ("subnet[2].pool[0].total-nas", 1),
    ("subnet[2].total-nas", 1),
    ("subnet[2].v6-allocation-fail", 1),
    ("subnet[2].v6-allocation-fail-classes", 2),
    ("subnet[2].v6-allocation-fail-no-pools", 1),
    ("subnet[2].v6-allocation-fail-subnet", 2),
    ("subnet[3].v6-allocation-fail-classes", 1),
    ("subnet[3].v6-allocation-fail-no-pools", 1),
    ("subnet[3].v6-allocation-fail-subnet", 1),
    ("subnet[4].assigned-nas", 1),
    ("subnet[4].assigned-pds", 1),
    ("subnet[4].cumulative-assigned-nas", 1),
    ("subnet[4].cumulative-assigned-pds", 1),
    ("subnet[4].pd-pool[9].assigned-pds", 1),
    ("subnet[4].pd-pool[9].cumulative-assigned-pds", 1),
    ("subnet[4].pd-pool[9].total-pds", 256),
    ("subnet[4].pool[9].assigned-nas", 1),
    ("subnet[4].pool[9].cumulative-assigned-nas", 1),
    ("subnet[4].pool[9].total-nas", 16),
    ("subnet[4].total-nas", 16),
    ("subnet[4].total-pds", 256),
    ("subnet[5].assigned-nas", 1),
    ("subnet[5].assigned-pds", 1),
    ("subnet[5].cumulative-assigned-nas", 1),
    ("subnet[5].cumulative-assigned-pds", 1),
    ("subnet[5].pd-pool[0].assigned-pds", 1),
    ("subnet[5].pd-pool[0].cumulative-assigned-pds", 1),
    ("subnet[5].pd-pool[0].total-pds", 256),
    ("subnet[5].pool[0].assigned-nas", 1),
    ("subnet[5].pool[0].cumulative-assigned-nas", 1),
    ("subnet[5].pool[0].total-nas", 16),
    ("subnet[5].total-nas", 16),
    ("subnet[5].total-pds", 256),
    ("subnet[5].v6-ia-na-lease-reuses", 1),
    ("subnet[5].v6-ia-pd-lease-reuses", 1),
    ("subnet[6].assigned-nas", 1),
    ("subnet[6].cumulative-assigned-nas", 1),
    ("subnet[6].pool[0].assigned-nas", 1),
    ("subnet[6].pool[0].cumulative-assigned-nas", 1),
    ("subnet[6].pool[0].total-nas", 1),
    ("subnet[6].total-nas", 1),
    ("subnet[7].assigned-nas", 1),
    ("subnet[7].cumulative-assigned-nas", 1),
    ("subnet[7].pool[0].assigned-nas", 1),
    ("subnet[7].pool[0].cumulative-assigned-nas", 1),
    ("subnet[7].pool[0].total-nas", 1),
    ("subnet[7].total-nas", 1),
    // Client 11 had the last lease from a pool of the network, in 7: there the search began.
    ("subnet[7].v6-allocation-fail", 1),
    ("subnet[7].v6-allocation-fail-classes", 1),
    ("subnet[7].v6-allocation-fail-shared-network", 1),
    ("subnet[8].pool[0].total-nas", 16),
    ("subnet[8].total-nas", 16),
    ("subnet[8].v6-allocation-fail-classes", 1),
    ("subnet[8].v6-allocation-fail-no-pools", 1),
    ("subnet[8].v6-allocation-fail-subnet", 1),
];

/// Statistics that the end of leases changes: the address and the prefix of client 14 and the
/// declined address expired, and the server no longer keeps the released lease for client 1.
pub(crate) const ENDED: &[(&str, u64)] = &[
    ("assigned-nas", 5),
    ("assigned-pds", 2),
    ("declined-addresses", 0),
    ("reclaimed-declined-addresses", 1),
    ("reclaimed-leases", 5),
    ("subnet[1].assigned-nas", 1),
    ("subnet[1].declined-addresses", 0),
    ("subnet[1].pd-pool[3].reclaimed-leases", 1),
    ("subnet[1].pool[1].assigned-nas", 1),
    ("subnet[1].pool[1].declined-addresses", 0),
    ("subnet[1].pool[1].reclaimed-declined-addresses", 1),
    ("subnet[1].pool[1].reclaimed-leases", 2),
    ("subnet[1].reclaimed-declined-addresses", 1),
    ("subnet[1].reclaimed-leases", 3),
    ("subnet[4].assigned-nas", 0),
    ("subnet[4].assigned-pds", 0),
    ("subnet[4].pd-pool[9].assigned-pds", 0),
    ("subnet[4].pd-pool[9].reclaimed-leases", 1),
    ("subnet[4].pool[9].assigned-nas", 0),
    ("subnet[4].pool[9].reclaimed-leases", 1),
    ("subnet[4].reclaimed-leases", 2),
];
