//! Arbitrary datagrams into shards: no panic, every message counted, every reply well formed and
//! returned to its sender, and no lease acknowledged that is not durable in the log as its
//! client's.
//!
//! `GODWIT_FUZZ_CASES=n` sends more, `GODWIT_SIM_SEED=s` starts elsewhere.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddrV6};
use std::sync::Arc;

use crate::common::number;
use crate::common::v6::{Dhcp6MessageBuilder, Leased, RELAY, Server, Sink, direct};
use base::Random;
use dhcp_engine::InterfaceNames;
use dhcp_engine::v6::Ingress;
use dhcp_lease::LeaseState;
use dhcp_lease::v6::{Lease, Resource};
use dhcp_wire::v6::{IaKind, MessageType, Packet, arbitrary, option};

const LINKS: &str = r#"{ "Dhcp6": {
    "interfaces-config": { "interfaces": [ "*" ] },
    "preferred-lifetime": 40, "valid-lifetime": 60, "max-valid-lifetime": 90,
    "decline-probation-period": 100,
    "user-context": { "godwit": { "hold-time-ms": 2000 } },
    "mac-sources": [ "client-link-addr-option", "any" ], "relay-supplied-options": [ "100" ],
    "hooks-libraries": [ { "library": "libdhcp_flex_id.so", "parameters": {
        "identifier-expression": "concat('f', substring(option[1].hex, 9, 1))" } } ],
    "host-reservation-identifiers": [ "flex-id", "hw-address", "duid" ],
    "option-def": [ { "name": "own", "code": 251, "type": "record", "record-types": "uint8, fqdn",
        "encapsulate": "inner" }, { "name": "in", "code": 1, "space": "inner", "type": "string" } ],
    "option-data": [ { "name": "dns-servers", "data": "2001:db8::53" },
        { "name": "own", "data": "7, example.org", "client-classes": [ "odd", "v" ] },
        { "space": "inner", "name": "in", "data": "text" },
        { "name": "vendor-opts", "data": "4491" },
        { "space": "vendor-4491", "code": 77, "csv-format": false, "data": "01", "always-send": true } ],
    "client-classes": [
        { "name": "odd", "test": "substring(option[1].hex, 9, 1) == 0x05 or not option[6].exists",
          "valid-lifetime": 50, "preferred-lifetime": 30 },
        { "name": "v", "test": "vendor.enterprise == 4491 or option[15].text == 'x'" },
        { "name": "t", "template-test": "substring(option[1].hex, 9, 1)" },
        { "name": "SPAWN_t_%07", "option-data": [ { "name": "nis-servers", "data": "2001:db8::7" } ] },
        { "name": "k", "test": "member('KNOWN') and not (relay6[0].peeraddr == ::)" },
        { "name": "late", "only-in-additional-list": true, "test": "relay6[0].option[18].hex == 'port'",
          "option-data": [ { "name": "sntp-servers", "data": "2001:db8::9", "always-send": true } ] },
        { "name": "REJECT", "test": "substring(option[1].hex, 9, 1) == 0x0b" } ],
    "reservations-global": true, "ip-reservations-unique": false,
    "reservations": [
        { "duid": "00:03:00:01:02:00:00:00:00:01", "hostname": "one",
          "ip-addresses": [ "2001:db8:1::10" ] },
        { "hw-address": "02:00:00:00:00:02", "client-classes": [ "odd", "late" ],
          "prefixes": [ "2001:db8:100:100::/56" ] },
        { "flex-id": "66:08", "ip-addresses": [ "2001:db8:1::12" ] } ],
    "shared-networks": [ { "name": "link", "rapid-commit": true,
        "option-data": [ { "name": "domain-search", "data": "example.org" } ], "subnet6": [
        { "id": 1, "evaluate-additional-classes": [ "late" ], "store-extended-info": true, "subnet": "2001:db8:1::/64",
          "pools": [ { "pool": "2001:db8:1::10 - 2001:db8:1::28" } ],
          "pd-pools": [ { "prefix": "2001:db8:100::", "prefix-len": 53, "delegated-len": 56,
                          "excluded-prefix": "2001:db8:100:1::", "excluded-prefix-len": 64 },
                        { "prefix": "2001:db8:101::", "prefix-len": 60, "delegated-len": 62,
                          "client-classes": [ "v" ] } ],
          "reservations": [
            { "duid": "00:03:00:01:02:00:00:00:00:03", "ip-addresses": [ "2001:db8:1::13", "2001:db8:1::ff" ],
              "prefixes": [ "2001:db8:100:200::/56", "2001:db8:102::/48" ],
              "excluded-prefixes": [ "", "2001:db8:102:1::/64" ] },
            { "hw-address": "02:00:00:00:00:04", "hostname": "four.example.org",
              "ip-addresses": [ "2001:db8:1::14" ] },
            { "flex-id": "66:06", "option-data": [ { "name": "dns-servers", "data": "2001:db8::54" } ],
              "ip-addresses": [ "2001:db8:1::15" ] } ] },
        { "id": 2, "subnet": "2001:db8:2::/64",
          "allocator": "random", "adaptive-lease-time-threshold": 0.5,
          "pools": [ { "pool": "2001:db8:2::10 - 2001:db8:2::14", "client-classes": [ "k", "odd" ],
                       "option-data": [ { "name": "dns-servers", "never-send": true } ] } ] } ] } ],
    "subnet6": [
        { "id": 3, "subnet": "2001:db8:3::/64", "interface": "eth1", "cache-threshold": 0.0,
          "pools": [ { "pool": "2001:db8:3::10 - 2001:db8:3::12" } ] } ]
} }"#;

const KINDS: [MessageType; 9] = [
    MessageType::Solicit,
    MessageType::Request,
    MessageType::Confirm,
    MessageType::Renew,
    MessageType::Rebind,
    MessageType::Release,
    MessageType::Decline,
    MessageType::InformationRequest,
    MessageType::Reply,
];

fn address(random: &mut Random) -> Leased {
    let lifetime = *random.pick(&[0, 1, 50, 70, u32::MAX]).expect("five of them");
    let (subnet, last) = (1 + random.below(4) as u16, 0x10 + random.below(0x20) as u16);
    (Ipv6Addr::new(0x2001, 0xdb8, subnet, 0, 0, 0, 0, last), 128, lifetime, lifetime)
}

fn prefix(random: &mut Random) -> Leased {
    let len = *random.pick(&[0, 56, 56, 56, 62, 64]).expect("six of them");
    let number = (random.below(10) as u16) << 8;
    (Ipv6Addr::new(0x2001, 0xdb8, 0x100, number, 0, 0, 0, 0), len, 0, 0)
}

/// Returns a message as one of a few clients would send it, sometimes with a mistake.
fn plausible(random: &mut Random) -> Dhcp6MessageBuilder {
    let kind = *random.pick(&KINDS).expect("nine of them");
    let client = random.below(24) as u16;
    let mut build = if random.chance(1, 20) {
        Dhcp6MessageBuilder::anonymous(kind, client)
    } else {
        Dhcp6MessageBuilder::new(kind, client)
    };
    let is_for_one =
        !matches!(kind, MessageType::Solicit | MessageType::Confirm | MessageType::Rebind);
    if is_for_one != random.chance(1, 20) && kind != MessageType::InformationRequest {
        build = build.for_us();
    }
    if random.chance(1, 3) {
        build = build.rapidly().wants(&[option::DNS_SERVERS, option::PD_EXCLUDE, 17, 24, 27, 251]);
    }
    if random.chance(1, 4) {
        build = build
            .option(option::VENDOR_CLASS, &[0, 0, 0x11, 0x8b, 0, 1, b'x'])
            .option(option::CLIENT_FQDN, b"\x00\x04name");
    }
    let ias = if kind == MessageType::InformationRequest { 0 } else { random.below(5) };
    for _ in 0..ias {
        let iaid = random.below(3) as u32;
        let count = random.below(4);
        build = match random.below(9) {
            0 => build.ia(IaKind::Ta, iaid, &[address(random)]),
            1..=3 => {
                let leased: Vec<_> = (0..count).map(|_| prefix(random)).collect();
                build.ia(IaKind::Pd, iaid, &leased)
            }
            _ => {
                let leased: Vec<_> = (0..count).map(|_| address(random)).collect();
                build.ia(IaKind::Na, iaid, &leased)
            }
        };
    }
    let link = Ipv6Addr::new(0x2001, 0xdb8, 1 + random.below(4) as u16, 0, 0, 0, 0, 1);
    match random.below(4) {
        0 => build.direct(),
        1 => build.through(&[(Ipv6Addr::UNSPECIFIED, &[]), (link, &[(18, b"port")])]),
        _ => build.through(&[(link, &[])]),
    }
}

fn ingress(random: &mut Random) -> Ingress {
    if random.chance(1, 3) {
        return direct(random.below(3) as u32);
    }
    let is_multicast = random.chance(1, 2);
    let source = SocketAddrV6::new(RELAY, 547, 0, 0);
    Ingress { source, local: RELAY, interface: 1, is_multicast, listener_index: 0 }
}

/// Rows of the log for every address and prefix.
#[derive(Default)]
struct Books {
    /// Rows that are committed and not yet settled.
    pending: Vec<Lease>,
    settled: BTreeMap<Resource, Lease>,
}

impl Books {
    fn commit(&mut self, rows: Vec<Lease>, now_s: u64) {
        for row in &rows {
            let before = self.settled.get(&row.address);
            let is_owned = before.is_some_and(|before| {
                before.state == LeaseState::Assigned
                    && before.expires_s() > now_s
                    && (&before.client.duid, before.client.iaid)
                        != (&row.client.duid, row.client.iaid)
            });
            assert!(!is_owned || row.state == LeaseState::Declined, "{row:?} takes {before:?}");
            let is_twice = self.pending.iter().any(|other| other.address == row.address);
            assert!(!is_twice, "{row:?} overtakes a row of its own");
            self.pending.push(row.clone());
        }
    }

    fn settle(&mut self) {
        for row in self.pending.drain(..) {
            self.settled.insert(row.address, row);
        }
    }

    /// Checks a reply that has left: every lease that it acknowledges must be settled and the
    /// client's.
    fn check(&self, octets: &[u8], now_s: u64) -> u64 {
        let packet = Packet::parse(octets).expect("replies are well formed");
        let message = packet.message();
        let is_reply = message.message_type() == MessageType::Reply;
        assert!(is_reply || message.message_type() == MessageType::Advertise);
        assert!(message.server_id().is_some());
        let mut acknowledged = 0;
        for ia in message.ias().filter(|_| is_reply) {
            let addresses = ia.addresses().map(|a| (Resource::address(a.address), a.valid_s));
            let prefixes = ia.prefixes().map(|p| (Resource::prefix(p.prefix, p.len), p.valid_s));
            for (resource, valid_s) in addresses.chain(prefixes).filter(|&(_, valid)| valid > 0) {
                let lease = self.settled.get(&resource).expect("it is in the log");
                assert_eq!(lease.state, LeaseState::Assigned);
                assert_eq!(Some(lease.client.duid.octets()), message.client_id(), "{resource}");
                assert_eq!(lease.client.iaid, ia.iaid);
                assert!(lease.expires_s() + 10 >= now_s + u64::from(valid_s), "{resource}");
                acknowledged += 1;
            }
        }
        acknowledged
    }
}

/// Counts of the cases by outcome.
#[derive(Debug, Default)]
struct FuzzOutcomeCounts {
    parsed: u64,
    replies: u64,
    acknowledged: u64,
}

/// Writes one datagram: of a plausible client, the same changed, or an arbitrary one.
fn datagram(random: &mut Random, buffer: &mut [u8]) -> usize {
    if random.chance(1, 4) {
        return arbitrary::datagram(random, &[], buffer).1;
    }
    let octets = plausible(random).octets();
    buffer[..octets.len()].copy_from_slice(&octets);
    if random.chance(1, 4) {
        return arbitrary::change(random, buffer, octets.len());
    }
    octets.len()
}

#[test]
fn whatever_comes_in_is_accounted_for() {
    let cases = number("GODWIT_FUZZ_CASES", 200_000);
    let seed = number("GODWIT_SIM_SEED", 1);
    println!(
        "seed {seed}; repeat with: GODWIT_SIM_SEED={seed} GODWIT_FUZZ_CASES={cases} \
         cargo test -p dhcp-engine --test main v6_fuzz::"
    );
    let mut random = Random::from_seed(seed);
    let mut server = Server::with_shards(LINKS, 2);
    for shard in &mut server.shards {
        shard.set_interfaces(Arc::new(InterfaceNames::new([(1, "eth0"), (2, "eth1")])));
    }
    let mut buffer = vec![0; 70_000];
    let mut books = Books::default();
    let mut tally = FuzzOutcomeCounts::default();
    for case in 0..cases {
        let len = datagram(&mut random, &mut buffer);
        tally.parsed += u64::from(Packet::parse(&buffer[..len]).is_ok());
        let shard = random.below(2) as usize;
        let mut sink = Sink::default();
        let ingress = ingress(&mut random);
        server.shards[shard].handle(server.now, &buffer[..len], ingress, &mut sink);
        server.shards[shard].end_batch(server.now, &mut sink);
        let now_s = server.now.wall_s();
        tally.replies += sink.0.len() as u64;
        for (_, reply) in &sink.0 {
            tally.acknowledged += books.check(reply, now_s);
        }
        books.commit(server.log.take_rows(), now_s);
        if case + 1_000 == cases {
            server.log.fail();
        }
        if random.chance(1, 3) && case + 1_000 < cases {
            settle(&mut server, &mut books, &mut tally);
        }
        if case % 64 == 0 {
            server.now = server.now.after_ns(random.below(3_000_000_000));
            server.shards[shard].housekeeping(server.now, 16);
        }
    }
    server.settle_down();
    println!("{cases} cases: {tally:?}");
    assert!(tally.parsed * 2 > cases, "{tally:?}");
    assert!(tally.replies * 5 > cases, "{tally:?}");
    assert!(tally.acknowledged * 30 > cases, "{tally:?}");
}

/// Settles rows: the replies that waited for them leave, and held messages run.
fn settle(server: &mut Server, books: &mut Books, tally: &mut FuzzOutcomeCounts) {
    let mut sink = Sink::default();
    server.log.settle_all();
    books.settle();
    for shard in &mut server.shards {
        shard.end_batch(server.now, &mut sink);
    }
    tally.replies += sink.0.len() as u64;
    for (_, reply) in &sink.0 {
        tally.acknowledged += books.check(reply, server.now.wall_s());
    }
    books.commit(server.log.take_rows(), server.now.wall_s());
}
