//! Script of DHCPv4.

use serde_json::json;

use crate::statistics::player::ScriptedServer;

/// Configuration in which each subnet moves other statistics. 1: everything ordinary; the two hosts
/// share a reserved address. 2: one address. 3: no pool. 4: leases of a second. 5: leases are
/// repeated. 6 and 7: one address each, in a shared network. 8: a pool for a class without clients.
pub(crate) const CONFIG: &str = r#"
    "valid-lifetime": 4000, "cache-threshold": 0.0, "decline-probation-period": 15,
    "authoritative": true, "ip-reservations-unique": false,
    "expired-leases-processing": { "reclaim-timer-wait-time": 0 },
    "client-classes": [ { "name": "DROP", "test": "option[60].text == 'drop-me'" },
                        { "name": "gold", "test": "option[60].text == 'gold'" } ],
    "subnet4": [
      { "id": 1, "subnet": "10.1.0.0/24",
        "pools": [ { "pool-id": 1, "pool": "10.1.0.10-10.1.0.19" },
                   { "pool-id": 2, "pool": "10.1.0.30-10.1.0.34", "client-class": "gold" } ],
        "reservations": [
          { "hw-address": "02:00:00:00:00:20", "ip-address": "10.1.0.200" },
          { "hw-address": "02:00:00:00:00:21", "ip-address": "10.1.0.200" } ] },
      { "id": 2, "subnet": "10.2.0.0/24", "pools": [ { "pool": "10.2.0.10-10.2.0.10" } ] },
      { "id": 3, "subnet": "10.3.0.0/24" },
      { "id": 4, "subnet": "10.4.0.0/24", "valid-lifetime": 1,
        "pools": [ { "pool-id": 9, "pool": "10.4.0.10-10.4.0.19" } ] },
      { "id": 5, "subnet": "10.5.0.0/24", "cache-threshold": 0.9,
        "pools": [ { "pool": "10.5.0.10-10.5.0.19" } ] },
      { "id": 8, "subnet": "10.8.0.0/24",
        "pools": [ { "pool": "10.8.0.10-10.8.0.19", "client-class": "gold" } ] } ],
    "shared-networks": [ { "name": "two", "subnet4": [
      { "id": 6, "subnet": "10.6.0.0/24", "pools": [ { "pool": "10.6.0.10-10.6.0.10" } ] },
      { "id": 7, "subnet": "10.7.0.0/24", "pools": [ { "pool": "10.7.0.10-10.7.0.10" } ] } ] } ]"#;

const DISCOVER: u8 = 1;
const OFFER: u8 = 2;
const REQUEST: u8 = 3;
const DECLINE: u8 = 4;
const ACK: u8 = 5;
const NAK: u8 = 6;
const RELEASE: u8 = 7;
const INFORM: u8 = 8;
const LEASE_QUERY: u8 = 10;
const UNKNOWN: u8 = 77;
const REQUESTED_ADDRESS: u8 = 50;
const SERVER_ID: u8 = 54;
const VENDOR_CLASS: u8 = 60;
const CLIENT_ID: u8 = 61;

/// Returns a message of client `client`, relayed from subnet `subnet`.
fn message(kind: u8, client: u8, subnet: u8, ciaddr: [u8; 4], options: &[(u8, &[u8])]) -> Vec<u8> {
    let mut octets = vec![0; 236];
    octets[..8].copy_from_slice(&[1, 1, 6, 1, 0, 0, kind, client]);
    octets[12..16].copy_from_slice(&ciaddr);
    octets[24..28].copy_from_slice(&[10, subnet, 0, 1]);
    octets[28..34].copy_from_slice(&[2, 0, 0, 0, 0, client]);
    octets.extend([99, 130, 83, 99]);
    if kind != 0 {
        octets.extend([53, 1, kind]);
    }
    for (code, content) in options {
        octets.extend([*code, content.len() as u8]);
        octets.extend(*content);
    }
    octets.push(255);
    octets
}

/// Returns a message with only its sender.
fn plain(kind: u8, client: u8, subnet: u8) -> Vec<u8> {
    message(kind, client, subnet, [0; 4], &[])
}

/// Sends a message, and returns the address and server identifier of the reply, which must be of
/// type `kind`.
fn answer(player: &ScriptedServer, octets: &[u8], kind: u8) -> ([u8; 4], [u8; 4]) {
    let answer = player.ask(octets);
    let (mut found, mut server) = (0, [0; 4]);
    let mut rest = &answer[240..];
    while let [code, len, content @ ..] = rest {
        let (content, after) = content.split_at((*len).into());
        match *code {
            53 => found = content[0],
            SERVER_ID => server.copy_from_slice(content),
            _ => {}
        }
        rest = if after.first() == Some(&255) { &[] } else { after };
    }
    assert_eq!(found, kind, "answer to {octets:02x?}");
    (answer[16..20].try_into().expect("four octets"), server)
}

/// Plays DISCOVER, OFFER, REQUEST, ACK, and returns the address and the server's identifier.
fn lease(player: &ScriptedServer, client: u8, subnet: u8) -> ([u8; 4], [u8; 4]) {
    let (offered, server) = answer(player, &plain(DISCOVER, client, subnet), OFFER);
    let options: [(u8, &[u8]); 2] = [(REQUESTED_ADDRESS, &offered), (SERVER_ID, &server)];
    let request = message(REQUEST, client, subnet, [0; 4], &options);
    assert_eq!(answer(player, &request, ACK).0, offered);
    (offered, server)
}

/// Plays everything except the end of leases.
pub(crate) fn play(player: &ScriptedServer) {
    // Client 1 gets an address, renews it, requests a wrong one, and releases its own.
    let (address, server) = lease(player, 1, 1);
    answer(player, &message(REQUEST, 1, 1, address, &[]), ACK);
    let wrong: [(u8, &[u8]); 1] = [(REQUESTED_ADDRESS, &[10, 1, 0, 250])];
    answer(player, &message(REQUEST, 1, 1, [0; 4], &wrong), NAK);
    player.tell(&message(RELEASE, 1, 1, address, &[(SERVER_ID, &server)]));
    // Client 2 declines its address, client 3 has an address of its own.
    let (address, _) = lease(player, 2, 1);
    let declined: [(u8, &[u8]); 2] = [(REQUESTED_ADDRESS, &address), (SERVER_ID, &server)];
    player.tell(&message(DECLINE, 2, 1, [0; 4], &declined));
    answer(player, &message(INFORM, 3, 1, [127, 0, 0, 1], &[]), ACK);
    // Client 4 keeps its lease.
    lease(player, 4, 1);
    dropped(player, server);
    // One client for the only address of subnet 2, one too many; no client gets anything in 3
    // and 8.
    lease(player, 6, 2);
    for (client, subnet) in [(7, 2), (8, 3), (9, 8)] {
        player.tell(&plain(DISCOVER, client, subnet));
    }
    // Two clients fit into the shared network.
    lease(player, 10, 6);
    lease(player, 11, 6);
    player.tell(&plain(DISCOVER, 12, 6));
    // Client 13 requests its lease again: once as a renewal, once from the beginning.
    let (address, _) = lease(player, 13, 5);
    answer(player, &message(REQUEST, 13, 5, address, &[]), ACK);
    answer(player, &plain(DISCOVER, 13, 5), OFFER);
    // Two hosts with one reserved address: the second client gets an offer of another.
    assert_eq!(lease(player, 0x20, 1).0, [10, 1, 0, 200]);
    assert_ne!(answer(player, &plain(DISCOVER, 0x21, 1), OFFER).0, [10, 1, 0, 200]);
    // A lease that ends soon.
    lease(player, 14, 4);
    player.wait_for_received(SENT - 1);
    if player.is_kea() {
        // Kea 2.2 does not even count messages while its service is off.
        return;
    }
    assert_eq!(player.command("dhcp-disable", &json!({}))["result"], 0);
    player.tell(&plain(DISCOVER, 15, 1));
    player.wait_for_received(SENT);
    assert_eq!(player.command("dhcp-enable", &json!({}))["result"], 0);
}

/// Requests the lease of client 6 three times at once: the server holds the second until it has
/// answered the first.
pub(crate) fn hurry(player: &ScriptedServer) {
    let (offered, server) = answer(player, &plain(DISCOVER, 6, 2), OFFER);
    let options: [(u8, &[u8]); 2] = [(REQUESTED_ADDRESS, &offered), (SERVER_ID, &server)];
    let request = message(REQUEST, 6, 2, [0; 4], &options);
    player.tell_at_once(&[&request, &request, &request]);
    for _ in 0..2 {
        player.answer();
    }
}

/// Statistics that moved in [`hurry`].
pub(crate) const HURRIED: &[(&str, u64)] = &[
    ("pkt4-received", 4),
    ("pkt4-discover-received", 1),
    ("pkt4-request-received", 3),
    ("pkt4-sent", 3),
    ("pkt4-offer-sent", 1),
    ("pkt4-ack-sent", 2),
    ("pkt4-duplicate", 1),
    ("pkt4-receive-drop", 1),
    ("assigned-addresses", 1),
    ("cumulative-assigned-addresses", 1),
    ("subnet[2].assigned-addresses", 1),
    ("subnet[2].cumulative-assigned-addresses", 1),
    ("subnet[2].pool[0].assigned-addresses", 1),
    ("subnet[2].pool[0].cumulative-assigned-addresses", 1),
];

/// Number of messages that [`play`] sends.
pub(crate) const SENT: u64 = 43;

/// Sends messages that the server drops, each for another reason.
fn dropped(player: &ScriptedServer, server: [u8; 4]) {
    // Without the magic cookie.
    let mut malformed = plain(DISCOVER, 5, 1);
    malformed[236] = 0;
    player.tell(&malformed);
    // For another server.
    let other: [(u8, &[u8]); 2] = [(REQUESTED_ADDRESS, &[10, 1, 0, 12]), (SERVER_ID, &[9; 4])];
    player.tell(&message(REQUEST, 5, 1, [0; 4], &other));
    // In the class DROP.
    player.tell(&message(DISCOVER, 5, 1, [0; 4], &[(VENDOR_CLASS, b"drop-me")]));
    // Messages of servers or of no type, and of BOOTP clients.
    for kind in [OFFER, ACK, NAK, LEASE_QUERY, UNKNOWN, 0] {
        player.tell(&plain(kind, 5, 1));
    }
    // A client identifier longer than a lease can hold, in two parts (RFC 3396).
    let long: [(u8, &[u8]); 2] = [(CLIENT_ID, &[7; 200]), (CLIENT_ID, &[7; 200])];
    player.tell(&message(DISCOVER, 5, 1, [0; 4], &long));
    // From a link without a subnet.
    player.tell(&plain(DISCOVER, 5, 99));
    // A DECLINE without an address.
    player.tell(&message(DECLINE, 5, 1, [0; 4], &[(SERVER_ID, &server)]));
}

/// Statistics that moved before leases ended. 43 messages came: 18 DISCOVERs (the one while service
/// was off was not read), 13 REQUESTs, 2 DECLINEs (one without an address). Nine clients got a
/// lease; client 13 was offered its own again, 0x21 was offered another address than the reserved
/// one. Rule breakers: five messages not for servers, one without a type, the empty DECLINE. No
/// message was duplicate, queued or limited.
pub(crate) const PLAYED: &[(&str, u64)] = &[
    ("pkt4-received", 43),
    ("pkt4-discover-received", 18),
    ("pkt4-offer-received", 1),
    ("pkt4-request-received", 13),
    ("pkt4-ack-received", 1),
    ("pkt4-nak-received", 1),
    ("pkt4-release-received", 1),
    ("pkt4-decline-received", 2),
    ("pkt4-inform-received", 1),
    // The lease query, which the server does not support, 77, and none.
    ("pkt4-unknown-received", 3),
    // 11 OFFERs; ACKs to nine clients, to two renewals and the INFORM; a NAK.
    ("pkt4-sent", 24),
    ("pkt4-offer-sent", 11),
    ("pkt4-ack-sent", 12),
    ("pkt4-nak-sent", 1),
    ("pkt4-service-disabled", 1),
    ("pkt4-parse-failed", 1),
    ("pkt4-rfc-violation", 7),
    ("pkt4-admin-filtered", 1),
    ("pkt4-not-for-us", 1),
    ("pkt4-processing-failed", 1),
    ("pkt4-receive-drop", 12),
    // Clients 7 and 12 found full pools, 8 and 9 no pool for them; 12 is in a shared network.
    ("v4-allocation-fail", 2),
    ("v4-allocation-fail-shared-network", 1),
    ("v4-allocation-fail-subnet", 3),
    ("v4-allocation-fail-no-pools", 2),
    ("v4-allocation-fail-classes", 4),
    ("v4-lease-reuses", 2),
    ("v4-reservation-conflicts", 1),
    // Nine leases were given, and client 1 released one.
    ("assigned-addresses", 8),
    ("cumulative-assigned-addresses", 9),
    ("declined-addresses", 1),
    // Clients 1, 2 and 4 from a pool, 0x20 the reserved address outside of them.
    ("subnet[1].total-addresses", 15),
    ("subnet[1].assigned-addresses", 3),
    ("subnet[1].cumulative-assigned-addresses", 4),
    ("subnet[1].declined-addresses", 1),
    ("subnet[1].v4-reservation-conflicts", 1),
    ("subnet[1].pool[1].total-addresses", 10),
    ("subnet[1].pool[1].assigned-addresses", 2),
    ("subnet[1].pool[1].cumulative-assigned-addresses", 3),
    ("subnet[1].pool[1].declined-addresses", 1),
    ("subnet[1].pool[2].total-addresses", 5),
    ("subnet[2].total-addresses", 1),
    ("subnet[2].assigned-addresses", 1),
    ("subnet[2].cumulative-assigned-addresses", 1),
    ("subnet[2].v4-allocation-fail", 1),
    ("subnet[2].v4-allocation-fail-subnet", 1),
    ("subnet[2].v4-allocation-fail-classes", 1),
    ("subnet[2].pool[0].total-addresses", 1),
    ("subnet[2].pool[0].assigned-addresses", 1),
    ("subnet[2].pool[0].cumulative-assigned-addresses", 1),
    ("subnet[3].v4-allocation-fail-subnet", 1),
    ("subnet[3].v4-allocation-fail-no-pools", 1),
    ("subnet[3].v4-allocation-fail-classes", 1),
    ("subnet[4].total-addresses", 10),
    ("subnet[4].assigned-addresses", 1),
    ("subnet[4].cumulative-assigned-addresses", 1),
    ("subnet[4].pool[9].total-addresses", 10),
    ("subnet[4].pool[9].assigned-addresses", 1),
    ("subnet[4].pool[9].cumulative-assigned-addresses", 1),
    ("subnet[5].total-addresses", 10),
    ("subnet[5].assigned-addresses", 1),
    ("subnet[5].cumulative-assigned-addresses", 1),
    ("subnet[5].v4-lease-reuses", 2),
    ("subnet[5].pool[0].total-addresses", 10),
    ("subnet[5].pool[0].assigned-addresses", 1),
    ("subnet[5].pool[0].cumulative-assigned-addresses", 1),
    ("subnet[6].total-addresses", 1),
    ("subnet[6].assigned-addresses", 1),
    ("subnet[6].cumulative-assigned-addresses", 1),
    ("subnet[6].v4-allocation-fail", 1),
    ("subnet[6].v4-allocation-fail-shared-network", 1),
    ("subnet[6].v4-allocation-fail-classes", 1),
    ("subnet[6].pool[0].total-addresses", 1),
    ("subnet[6].pool[0].assigned-addresses", 1),
    ("subnet[6].pool[0].cumulative-assigned-addresses", 1),
    ("subnet[7].total-addresses", 1),
    ("subnet[7].assigned-addresses", 1),
    ("subnet[7].cumulative-assigned-addresses", 1),
    ("subnet[7].pool[0].total-addresses", 1),
    ("subnet[7].pool[0].assigned-addresses", 1),
    ("subnet[7].pool[0].cumulative-assigned-addresses", 1),
    ("subnet[8].total-addresses", 10),
    ("subnet[8].v4-allocation-fail-subnet", 1),
    ("subnet[8].v4-allocation-fail-no-pools", 1),
    ("subnet[8].v4-allocation-fail-classes", 1),
    ("subnet[8].pool[0].total-addresses", 10),
];

/// Statistics that the end of leases changes: the lease of client 14 and the declined address
/// expired, and the server no longer keeps the released lease for client 1.
pub(crate) const ENDED: &[(&str, u64)] = &[
    ("assigned-addresses", 6),
    ("declined-addresses", 0),
    ("reclaimed-leases", 3),
    ("reclaimed-declined-addresses", 1),
    ("subnet[1].assigned-addresses", 2),
    ("subnet[1].declined-addresses", 0),
    ("subnet[1].reclaimed-leases", 2),
    ("subnet[1].reclaimed-declined-addresses", 1),
    ("subnet[1].pool[1].assigned-addresses", 1),
    ("subnet[1].pool[1].declined-addresses", 0),
    ("subnet[1].pool[1].reclaimed-leases", 2),
    ("subnet[1].pool[1].reclaimed-declined-addresses", 1),
    ("subnet[4].assigned-addresses", 0),
    ("subnet[4].reclaimed-leases", 1),
    ("subnet[4].pool[9].assigned-addresses", 0),
    ("subnet[4].pool[9].reclaimed-leases", 1),
];
