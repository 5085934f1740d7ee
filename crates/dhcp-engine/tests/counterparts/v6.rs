//! DHCPv6 clients.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr, SocketAddrV6};

use base::Random;
use dhcp_config::testing::{DHCP6, ENTERPRISE, Generator, HOSTS, VENDORS};
use dhcp_config::{CheckedConfig, ConfigProblem, Dhcp6, ExpiredLeases, NoIncludes, parse_dhcp6};
use dhcp_engine::v6::Ingress;
use dhcp_lease::v6::V6;
use dhcp_wire::v6::{IaKind, MessageType, Packet, option};

use super::unnoticed::unnoticed;
use super::{ComparableProtocol, counterparts_are_equal};
use crate::common::v6::{
    CLIENT, Dhcp6MessageBuilder, Leased, ParsedDhcp6Reply, RELAY, SERVER_DUID, direct,
};

/// Link of a client.
struct ComparisonLink6 {
    network: Ipv6Addr,
    relays: Vec<Ipv6Addr>,
    interface: Option<u32>,
    interface_id: Option<Vec<u8>>,
}

/// Association: its kind, its number and its contents.
type Association = (IaKind, u32, Vec<Leased>);

#[derive(Clone, Default)]
struct ComparisonClient6 {
    offered: Vec<Association>,
    leased: Vec<Association>,
    link: usize,
}

pub(super) struct ComparisonClients6 {
    links: Vec<ComparisonLink6>,
    clients: Vec<ComparisonClient6>,
    /// Client that got the last offer, and will request it.
    eager: Option<usize>,
}

fn with(mut build: Dhcp6MessageBuilder, associations: &[Association]) -> Dhcp6MessageBuilder {
    for (kind, iaid, leased) in associations {
        build = build.ia(*kind, *iaid, leased);
    }
    build
}

impl ComparisonClients6 {
    /// Returns the associations that client `n` requests when it has none.
    fn hints(&self, random: &mut Random, n: usize) -> Vec<Association> {
        let network = self.links[self.clients[n].link].network.to_bits();
        let lifetime = *random.pick(&[0, 0, 0, 60, 700, 8_000, u32::MAX]).expect("some");
        let mut hints = Vec::new();
        if random.chance(7, 8) {
            let last = *random.pick(&[1, 3, 5, 0x2_0001, 0x1_0003]).expect("some");
            let address = Ipv6Addr::from_bits(network + last);
            let hint = random.chance(1, 4).then_some((address, 128, lifetime, lifetime));
            hints.push((IaKind::Na, 1, hint.into_iter().collect()));
        }
        if random.chance(1, 2) || hints.is_empty() {
            let hint = (Ipv6Addr::UNSPECIFIED, 60, lifetime, lifetime);
            let hint = random.chance(1, 4).then_some(hint);
            hints.push((IaKind::Pd, 1, hint.into_iter().collect()));
        }
        hints
    }

    /// Returns a message of client `n` in its state.
    fn next_message(&mut self, random: &mut Random, n: usize) -> Dhcp6MessageBuilder {
        let hints = self.hints(random, n);
        let client = &mut self.clients[n];
        let new = |kind| Dhcp6MessageBuilder::new(kind, n as u16);
        if !client.offered.is_empty() && random.chance(7, 8) {
            return with(new(MessageType::Request).for_us(), &client.offered);
        }
        if client.leased.is_empty() {
            let solicit = with(new(MessageType::Solicit), &hints);
            return match random.below(20) {
                0..=12 => solicit,
                13..=16 => solicit.rapidly(),
                17 => with(new(MessageType::Rebind), &hints),
                _ => new(MessageType::InformationRequest),
            };
        }
        let leased = client.leased.clone();
        match random.below(20) {
            0..=8 => with(new(MessageType::Renew).for_us(), &leased),
            9..=11 => with(new(MessageType::Rebind), &leased),
            12 | 13 => {
                client.leased.clear();
                with(new(MessageType::Release).for_us(), &leased)
            }
            14 => {
                client.leased.clear();
                with(new(MessageType::Decline).for_us(), &leased)
            }
            15 => with(new(MessageType::Confirm), &leased),
            16 => with(new(MessageType::Renew).for_us(), &hints),
            17 => new(MessageType::InformationRequest),
            _ => with(new(MessageType::Solicit), &hints),
        }
    }
}

/// Adds the options by which a client identifies itself.
fn introduce(random: &mut Random, mut build: Dhcp6MessageBuilder) -> Dhcp6MessageBuilder {
    if random.chance(7, 8) {
        let codes = [7, 17, 22, 23, 24, 27, 28, 31, 67, 250, 251, 252, 253];
        let requested_codes: Vec<u16> = codes.into_iter().filter(|_| random.chance(2, 3)).collect();
        build = build.wants(&requested_codes);
    }
    if random.chance(1, 2) {
        // The classes here compare one piece without its length.
        let rare = u64::from(random.chance(1, 8));
        let vendor = VENDORS[random.below(VENDORS.len() as u64 - 1 + rare) as usize];
        build = build.option(option::USER_CLASS, vendor.as_bytes());
    }
    if random.chance(1, 3) {
        let mut octets = ENTERPRISE.to_be_bytes().to_vec();
        octets.extend([0, 1, b'x']);
        build = build.option(option::VENDOR_CLASS, &octets);
    }
    if random.chance(1, 6) {
        let mut octets = ENTERPRISE.to_be_bytes().to_vec();
        octets.extend([0, 1, 0, 2, 0, 77]);
        build = build.option(option::VENDOR_OPTS, &octets);
    }
    if random.chance(1, 6) {
        build = build.option(option::CLIENT_FQDN, b"\x00\x04name");
    }
    build
}

impl ComparableProtocol for V6 {
    const NAME: &'static str = "v6";
    type Config = Dhcp6;
    type Clients = ComparisonClients6;

    fn generator() -> &'static Generator {
        &DHCP6
    }

    fn read(text: &str) -> Result<CheckedConfig<Dhcp6>, Vec<ConfigProblem>> {
        parse_dhcp6("t", text, &mut NoIncludes)
    }

    fn expired(config: &Dhcp6) -> ExpiredLeases {
        config.global.expired_leases
    }

    fn reserved(config: &Dhcp6) -> BTreeSet<IpAddr> {
        let of_subnets = config.subnets.iter().flat_map(|subnet| &subnet.reservations);
        let hosts = config.reservations.iter().chain(of_subnets);
        let addresses = hosts.flat_map(|host| {
            let prefixes = host.reserved.prefixes.iter().map(|reserved| reserved.prefix.0);
            host.reserved.addresses.iter().copied().chain(prefixes)
        });
        addresses.map(IpAddr::V6).collect()
    }

    fn clients(config: &Dhcp6) -> ComparisonClients6 {
        let index = |name: &String| match name.as_str() {
            "eth0" => 1,
            _ => 2,
        };
        let links = config.subnets.iter().map(|subnet| ComparisonLink6 {
            network: subnet.prefix.0,
            relays: subnet.relay_addresses.clone(),
            interface: subnet.interface.as_ref().map(index),
            interface_id: subnet.interface_id.clone(),
        });
        let clients = vec![ComparisonClient6::default(); HOSTS as usize];
        ComparisonClients6 { links: links.collect(), clients, eager: None }
    }

    fn next(clients: &mut ComparisonClients6, random: &mut Random) -> (Vec<u8>, Ingress) {
        let eager = clients.eager.take().filter(|_| random.chance(5, 6));
        let n = eager.unwrap_or_else(|| random.below(HOSTS) as usize);
        if eager.is_none() && random.chance(1, 5) {
            clients.clients[n].link = random.below(clients.links.len() as u64) as usize;
        }
        let build = clients.next_message(random, n);
        let build = introduce(random, build);
        let link = &clients.links[clients.clients[n].link];
        if let Some(interface) = link.interface.filter(|_| random.chance(1, 2)) {
            return (build.direct().octets(), direct(interface));
        }
        let own = Ipv6Addr::from_bits(link.network.to_bits() + 0xffff);
        let address = random.pick(&link.relays).copied().unwrap_or(own);
        let hardware = [0, 1, 2, 0, 0, 0, 0, n as u8];
        let supplied = [0, 65, 0, 2, 0, 0, 0, 100, 0, 1, 7];
        let mut options: Vec<(u16, &[u8])> = Vec::new();
        if let Some(id) = &link.interface_id {
            options.push((option::INTERFACE_ID, id));
        } else if random.chance(1, 3) {
            options.push((option::INTERFACE_ID, b"port"));
        }
        if random.chance(1, 3) {
            options.push((option::REMOTE_ID, b"\x00\x00\x11\x8bremote"));
        }
        if random.chance(1, 4) {
            options.push((option::CLIENT_LINKLAYER_ADDR, &hardware));
        }
        if random.chance(1, 4) {
            options.push((option::RSOO, &supplied));
        }
        let near = (address, &options[..]);
        let build = match random.below(4) {
            0 => build.through(&[(Ipv6Addr::UNSPECIFIED, &[]), near]),
            _ => build.through(&[near]),
        };
        let ingress = Ingress {
            source: SocketAddrV6::new(RELAY, 547, 0, 0),
            local: CLIENT,
            interface: 0,
            is_multicast: false,
            listener_index: 0,
        };
        (build.octets(), ingress)
    }

    fn on_reply(clients: &mut ComparisonClients6, reply: &[u8]) -> (&'static str, Vec<IpAddr>) {
        let packet = Packet::parse(reply).expect("replies are well formed");
        let message = packet.message();
        let answer = ParsedDhcp6Reply::of(&message);
        assert_eq!(answer.option(option::SERVERID), Some(&SERVER_DUID[..]));
        let Some(n) = message.client_id().and_then(|duid| duid.last().copied()) else {
            return ("reply to nobody", Vec::new());
        };
        let n = usize::from(n);
        let granted = answer.ias.into_iter().filter_map(|ia| {
            let leased: Vec<Leased> = ia.leased.into_iter().filter(|leased| leased.3 > 0).collect();
            (!leased.is_empty()).then_some((ia.kind, ia.iaid, leased))
        });
        let granted: Vec<Association> = granted.collect();
        let addresses = granted.iter().flat_map(|(_, _, leased)| leased.iter().map(|l| l.0.into()));
        let addresses = addresses.collect();
        let client = &mut clients.clients[n];
        client.offered.clear();
        let kind = match (answer.kind, granted.is_empty()) {
            (MessageType::Advertise, true) => "advertise of nothing",
            (MessageType::Advertise, false) => {
                client.offered = granted;
                clients.eager = Some(n);
                "advertise"
            }
            (_, true) => "reply with nothing",
            (_, false) => {
                client.leased = granted;
                "reply"
            }
        };
        (kind, addresses)
    }
}

/// Keys that affect this family's servers.
const KEYS: [&str; 43] = [
    "allocator",
    "cache-threshold",
    "calculate-tee-times",
    "client-classes/option-data",
    "client-classes/preferred-lifetime",
    "client-classes/test",
    "client-classes/valid-lifetime",
    "decline-probation-period",
    "early-global-reservations-lookup",
    "evaluate-additional-classes",
    "expired-leases-processing/flush-reclaimed-timer-wait-time",
    "hooks-libraries/parameters",
    "host-reservation-identifiers",
    "interface",
    "interface-id",
    "mac-sources",
    "max-preferred-lifetime",
    "max-valid-lifetime",
    "min-valid-lifetime",
    "only-in-additional-list",
    "option-data",
    "option-data/always-send",
    "option-data/client-classes",
    "option-data/never-send",
    "pd-allocator",
    "pd-pools",
    "pd-pools/client-class",
    "pd-pools/option-data",
    "pools/client-class",
    "pools/option-data",
    "preferred-lifetime",
    "rapid-commit",
    "rebind-timer",
    "relay",
    "relay-supplied-options",
    "renew-timer",
    "reservations",
    "reservations/client-classes",
    "reservations/hostname",
    "reservations/prefixes",
    "reservations-global",
    "reservations-out-of-pool",
    "template-test",
];

#[test]
fn v6_counterparts_are_equal() {
    let tally = counterparts_are_equal::<V6>();
    let keys = [
        "adaptive-lease-time-threshold",
        "allocator",
        "cache-max-age",
        "cache-threshold",
        "delegated-len",
        "duid",
        "evaluate-additional-classes",
        "excluded-prefix",
        "excluded-prefixes",
        "flex-id",
        "hooks-libraries",
        "host-reservation-identifiers",
        "hw-address",
        "interface",
        "interface-id",
        "mac-sources",
        "max-valid-lifetime",
        "pd-allocator",
        "pool-id",
        "rapid-commit",
        "relay",
        "relay-supplied-options",
        "reservation-mode",
        "store-extended-info",
        "template-test",
    ];
    let kinds = ["advertise", "advertise of nothing", "reply", "reply with nothing"];
    tally.check(&kinds, &keys);
}

#[test]
fn v6_servers_miss_what_a_document_has_lost() {
    assert_eq!(unnoticed::<V6>(&KEYS), [""; 0]);
}
