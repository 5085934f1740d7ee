//! Arbitrary datagrams into a shard: no panic, every message counted, every reply well formed and
//! addressed to its client, and no state left that was not intended.
//!
//! `GODWIT_FUZZ_CASES=n` sends more, `GODWIT_SIM_SEED=s` starts elsewhere.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use crate::common::number;
use crate::common::v4::{RELAY, SERVER, Server, Sink};
use base::Random;
use dhcp_engine::InterfaceNames;
use dhcp_engine::v4::{Destination, Ingress};
use dhcp_wire::v4::{Message, MessageType, arbitrary, option};

const TWO_SUBNETS: &str = r#"{ "Dhcp4": {
    "interfaces-config": { "interfaces": [ "*" ], "dhcp-socket-type": "udp" },
    "valid-lifetime": 60, "decline-probation-period": 100,
    "user-context": { "godwit": { "hold-time-ms": 2000 } },
    "stash-agent-options": true,
    "hooks-libraries": [ { "library": "libdhcp_flex_id.so", "parameters": { "replace-client-id": true,
        "identifier-expression": "ifelse(option[12].exists, substring(pkt4.mac, 5, 1), '')" } } ],
    "host-reservation-identifiers": [ "flex-id", "circuit-id", "duid", "client-id", "hw-address" ],
    "option-data": [ { "name": "domain-name-servers", "data": "10.0.0.2" },
        { "space": "vendor-4491", "code": 77, "csv-format": false, "data": "01", "always-send": true },
        { "name": "routers", "data": "10.0.0.9", "client-classes": [ "odd" ] } ],
    "client-classes": [
        { "name": "odd", "test": "substring(pkt4.mac, 5, 1) == 0x05 or option[55].exists",
          "boot-file-name": "odd", "offer-lifetime": 20 },
        { "name": "t", "template-test": "substring(option[60].hex, 0, 2)" },
        { "name": "k", "test": "member('KNOWN') or relay4[1].exists" },
        { "name": "late", "only-in-additional-list": true, "test": "option[61].exists",
          "option-data": [ { "name": "log-servers", "data": "10.0.0.8", "always-send": true } ] },
        { "name": "DROP", "test": "pkt4.mac == 0x020000000020" } ],
    "reservations-global": true,
    "reservations": [ { "hw-address": "02:00:00:00:00:01", "hostname": "one", "ip-address": "10.0.0.12" },
        { "flex-id": "02", "client-classes": [ "late" ] } ],
    "shared-networks": [ { "name": "link", "subnet4": [
        { "id": 1, "evaluate-additional-classes": [ "late" ], "store-extended-info": true,
          "reservations": [ { "hw-address": "02:00:00:00:00:03", "ip-address": "10.0.0.13" },
            { "client-id": "02", "ip-address": "10.0.0.200", "next-server": "10.0.0.7" } ], "subnet": "10.0.0.0/24", "interface": "eth0", "pools": [ { "pool": "10.0.0.10 - 10.0.0.40" } ] },
        { "id": 2, "subnet": "10.0.1.0/24", "allocator": "random", "pools": [
            { "pool": "10.0.1.10 - 10.0.1.20", "client-classes": [ "k" ],
              "option-data": [ { "name": "routers", "data": "10.0.1.1" } ] } ] } ] } ],
    "subnet4": [
        { "id": 3, "subnet": "10.0.2.0/24", "interface": "eth1", "match-client-id": false, "authoritative": true,
          "pools": [ { "pool": "10.0.2.10 - 10.0.2.12" } ] } ]
} }"#;

/// Changes a datagram so that it passes the first checks, most of the time: our relay, a request of
/// few clients about few addresses.
fn aim(random: &mut Random, octets: &mut [u8]) {
    if octets.len() < 240 || random.chance(1, 10) {
        return;
    }
    octets[0] = 1;
    octets[1] = 1;
    octets[2] = 6;
    let last = 10 + random.below(40) as u8;
    let subnet = random.below(3) as u8;
    let address = [10, 0, subnet, last];
    octets[12..16].copy_from_slice(if random.chance(1, 3) { &address } else { &[0; 4] });
    let relay = [10, 0, random.below(3) as u8, 1];
    octets[24..28].copy_from_slice(if random.chance(1, 3) { &[0; 4] } else { &relay });
    octets[28..34].copy_from_slice(&[2, 0, 0, 0, 0, random.below(48) as u8]);
    let codes = [option::REQUESTED_IP_ADDRESS, option::SERVER_IDENTIFIER];
    for at in 240..octets.len().saturating_sub(6) {
        if octets[at + 1] == 4 && codes.contains(&octets[at]) && random.chance(3, 4) {
            let value = if octets[at] == codes[0] { address } else { SERVER.octets() };
            octets[at + 2..at + 6].copy_from_slice(&value);
        }
    }
}

/// Returns the ingress of a datagram: through the relay, from a client, or to all stations.
fn ingress(random: &mut Random) -> Ingress {
    let client = Ipv4Addr::new(10, 0, 0, 12);
    let ip = *random.pick(&[RELAY, RELAY, client, Ipv4Addr::UNSPECIFIED]).expect("four of them");
    Ingress {
        interface: random.below(3) as u32,
        is_broadcast: random.chance(1, 3),
        ..Ingress::routed(SocketAddrV4::new(ip, 67), SERVER)
    }
}

/// Checks that a reply goes to the destination that its own fields require.
fn check_destination(destination: Destination, reply: &Message<'_>) {
    match destination {
        Destination::Relay(to) => assert_eq!(*to.ip(), reply.giaddr()),
        Destination::Client(to) | Destination::PastRelay(to) => {
            assert!(!to.ip().is_unspecified() && reply.giaddr().is_unspecified());
        }
        Destination::Hardware { mac, address } => {
            assert_eq!(reply.flags() & 0x8000, 0);
            assert_eq!((&mac[..], *address.ip()), (reply.chaddr(), reply.yiaddr()));
            assert!(reply.giaddr().is_unspecified() && !reply.yiaddr().is_unspecified());
        }
        Destination::Broadcast => assert!(reply.giaddr().is_unspecified()),
    }
}

fn check_reply(request: &[u8], destination: Destination, reply: &[u8]) {
    let reply = Message::parse(reply).expect("replies are well formed");
    assert_eq!(reply.op(), 2);
    check_destination(destination, &reply);
    let kind = reply.message_type().expect("replies have a type");
    assert!(matches!(kind, MessageType::Offer | MessageType::Ack | MessageType::Nak));
    // Held messages are answered later, so only the immediate ones can be compared.
    if let Ok(request) = Message::parse(request)
        && request.xid() == reply.xid()
        && request.chaddr() == reply.chaddr()
    {
        // Parameters go past the relay agent to a client that names its address.
        let is_direct = request.message_type() == Some(MessageType::Inform)
            && !request.ciaddr().is_unspecified();
        let relay = if is_direct { Ipv4Addr::UNSPECIFIED } else { request.giaddr() };
        assert_eq!(reply.giaddr(), relay);
        assert_eq!(reply.hlen(), request.hlen());
    }
}

#[test]
fn whatever_comes_in_is_accounted_for() {
    let cases = number("GODWIT_FUZZ_CASES", 400_000);
    let seed = number("GODWIT_SIM_SEED", 1);
    println!(
        "seed {seed}; repeat with: GODWIT_SIM_SEED={seed} GODWIT_FUZZ_CASES={cases} \
         cargo test -p dhcp-engine --test main v4_fuzz::"
    );
    let mut random = Random::from_seed(seed);
    let mut server = Server::with_shards(TWO_SUBNETS, 2);
    let mut buffer = vec![0; arbitrary::BUFFER_LEN];
    for shard in &mut server.shards {
        shard.set_interfaces(Arc::new(InterfaceNames::new([(1, "eth0"), (2, "eth1")])));
    }
    let (mut parsed, mut replies, mut direct) = (0_u64, 0_u64, 0_u64);
    for case in 0..cases {
        let (_, len) = arbitrary::datagram(&mut random, &[], &mut buffer);
        aim(&mut random, &mut buffer[..len]);
        parsed += u64::from(Message::parse(&buffer[..len]).is_ok());
        let shard = random.below(2) as usize;
        let ingress = ingress(&mut random);
        let mut sink = Sink::default();
        server.shards[shard].handle(server.now, &buffer[..len], ingress, &mut sink);
        server.shards[shard].end_batch(server.now, &mut sink);
        if random.chance(1, 3) {
            server.settle(&mut sink);
        }
        if case % 64 == 0 {
            server.now = server.now.after_ns(random.below(3_000_000_000));
            server.shards[shard].housekeeping(server.now, 16);
        }
        replies += sink.0.len() as u64;
        for (destination, reply) in &sink.0 {
            direct += u64::from(matches!(destination, Destination::Hardware { .. }));
            check_reply(&buffer[..len], *destination, reply);
        }
    }
    server.settle_down();
    println!("{cases} cases, {parsed} well formed, {replies} replies, {direct} in frames");
    assert!(parsed * 10 > cases * 3, "{parsed} of {cases} were well formed");
    assert!(replies * 20 > cases, "{replies} replies to {cases} cases");
    assert!(direct * 500 > cases, "{direct} replies in frames to {cases} cases");
}
