//! DHCPv4 clients.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use base::Random;
use dhcp_config::testing::{DHCP4, ENTERPRISE, Generator, HOSTS, VENDORS};
use dhcp_config::{CheckedConfig, ConfigProblem, Dhcp4, ExpiredLeases, NoIncludes, parse_dhcp4};
use dhcp_engine::v4::Ingress;
use dhcp_lease::v4::V4;
use dhcp_wire::v4::{Message, MessageType, option};

use super::unnoticed::unnoticed;
use super::{ComparableProtocol, counterparts_are_equal};
use crate::common::v4::{Dhcp4MessageBuilder, SERVER};

/// Link of a client.
#[derive(Clone)]
struct ComparisonLink4 {
    network: Ipv4Addr,
    relays: Vec<Ipv4Addr>,
    interface: Option<u32>,
}

#[derive(Clone, Default)]
struct ComparisonClient4 {
    offered: Option<Ipv4Addr>,
    leased: Option<Ipv4Addr>,
    server: Option<Ipv4Addr>,
    link: usize,
}

pub(super) struct ComparisonClients4 {
    links: Vec<ComparisonLink4>,
    clients: Vec<ComparisonClient4>,
    /// Client that got the last offer, and will request it.
    eager: Option<usize>,
}

impl ComparisonClients4 {
    /// Returns an address that this client may request.
    fn some_address(&self, random: &mut Random, n: usize) -> Ipv4Addr {
        let network = self.links[self.clients[n].link].network.to_bits();
        let last = *random.pick(&[1, 2, 3, 5, 101, 104, 203]).expect("some");
        Ipv4Addr::from_bits(network + last)
    }

    /// Returns a message of client `n` in its state.
    fn next_message(&mut self, random: &mut Random, n: usize) -> Dhcp4MessageBuilder {
        let any = self.some_address(random, n);
        let client = &mut self.clients[n];
        let new = |kind| Dhcp4MessageBuilder::new(kind, n as u8);
        let server = client.server.unwrap_or(SERVER);
        if let Some(offered) = client.offered.filter(|_| random.chance(7, 8)) {
            return new(MessageType::Request).requested(offered).server(server);
        }
        let Some(leased) = client.leased else {
            return match random.below(20) {
                0..=14 => new(MessageType::Discover),
                15 => new(MessageType::Discover).requested(any),
                16 => new(MessageType::Request).requested(any),
                17 => new(MessageType::Decline).requested(any).server(server),
                _ => new(MessageType::Inform).from(any),
            };
        };
        match random.below(20) {
            0..=8 => new(MessageType::Request).from(leased),
            9..=10 => new(MessageType::Request).requested(leased),
            11 | 12 => {
                client.leased = None;
                new(MessageType::Release).from(leased).server(server)
            }
            13 => {
                client.leased = None;
                new(MessageType::Decline).requested(leased).server(server)
            }
            14..=16 => new(MessageType::Inform).from(leased),
            17 => new(MessageType::Request).requested(any),
            _ => new(MessageType::Discover),
        }
    }
}

/// Adds the options by which client `n` identifies itself.
fn introduce(random: &mut Random, mut build: Dhcp4MessageBuilder, n: u8) -> Dhcp4MessageBuilder {
    build = match n % 4 {
        0 => build,
        1 => build.option(option::CLIENT_IDENTIFIER, &[1, 2, 0, 0, 0, 0, n]),
        2 => {
            let id = [255, 0, 0, 0, 1, 0, 3, 0, 1, 2, 0, 0, 0, 0, n];
            build.option(option::CLIENT_IDENTIFIER, &id)
        }
        _ => build.option(option::CLIENT_IDENTIFIER, &[b'n', n]),
    };
    if random.chance(7, 8) {
        let codes = [1, 3, 4, 6, 7, 8, 15, 28, 42, 43, 66, 67, 125, 250, 251, 252];
        let requested_codes: Vec<u8> = codes.into_iter().filter(|_| random.chance(2, 3)).collect();
        build = build.option(option::PARAMETER_REQUEST_LIST, &requested_codes);
    }
    if random.chance(1, 2) {
        let rare = u64::from(random.chance(1, 8));
        let vendor = VENDORS[random.below(VENDORS.len() as u64 - 1 + rare) as usize];
        build = build.option(option::VENDOR_CLASS_IDENTIFIER, vendor.as_bytes());
    }
    if random.chance(1, 6) {
        let seconds = *random.pick(&[0, 60, 700, 8_000, u32::MAX]).expect("five of them");
        build = build.option(option::IP_ADDRESS_LEASE_TIME, &seconds.to_be_bytes());
    }
    if random.chance(1, 4) {
        build = build.option(option::HOST_NAME, b"name");
    }
    if random.chance(1, 6) {
        let mut octets = ENTERPRISE.to_be_bytes().to_vec();
        octets.extend([3, 1, 1, 77]);
        build = build.option(*random.pick(&[124, 125]).expect("two"), &octets);
    }
    if random.chance(1, 4) {
        build.header.flags = 0x8000;
    }
    build
}

/// Returns the options that a relay agent adds.
fn relay_information(random: &mut Random, n: u8, network: Ipv4Addr) -> Option<Vec<u8>> {
    if random.chance(1, 4) {
        return None;
    }
    let circuit =
        if random.chance(1, 3) { vec![0xe9, b'0' + n] } else { format!("port-{n}").into_bytes() };
    let mut octets = vec![1, circuit.len() as u8];
    octets.extend(circuit);
    if random.chance(1, 2) {
        octets.extend([2, 1, b'r']);
    }
    if random.chance(1, 12) {
        octets.extend([5, 4]);
        octets.extend(network.octets());
    }
    Some(octets)
}

impl ComparableProtocol for V4 {
    const NAME: &'static str = "v4";
    type Config = Dhcp4;
    type Clients = ComparisonClients4;

    fn generator() -> &'static Generator {
        &DHCP4
    }

    fn read(text: &str) -> Result<CheckedConfig<Dhcp4>, Vec<ConfigProblem>> {
        parse_dhcp4("t", text, &mut NoIncludes)
    }

    fn expired(config: &Dhcp4) -> ExpiredLeases {
        config.global.expired_leases
    }

    fn reserved(config: &Dhcp4) -> BTreeSet<IpAddr> {
        let of_subnets = config.subnets.iter().flat_map(|subnet| &subnet.reservations);
        let hosts = config.reservations.iter().chain(of_subnets);
        hosts.filter_map(|host| host.reserved.address.map(IpAddr::V4)).collect()
    }

    fn clients(config: &Dhcp4) -> ComparisonClients4 {
        let index = |name: &String| match name.as_str() {
            "eth0" => 1,
            _ => 2,
        };
        let links = config.subnets.iter().map(|subnet| ComparisonLink4 {
            network: subnet.prefix.0,
            relays: subnet.relay_addresses.clone(),
            interface: subnet.interface.as_ref().map(index),
        });
        let clients = vec![ComparisonClient4::default(); HOSTS as usize];
        ComparisonClients4 { links: links.collect(), clients, eager: None }
    }

    fn next(clients: &mut ComparisonClients4, random: &mut Random) -> (Vec<u8>, Ingress) {
        let eager = clients.eager.take().filter(|_| random.chance(5, 6));
        let n = eager.unwrap_or_else(|| random.below(HOSTS) as usize);
        if eager.is_none() && random.chance(1, 5) {
            clients.clients[n].link = random.below(clients.links.len() as u64) as usize;
        }
        let build = clients.next_message(random, n);
        let mut build = introduce(random, build, n as u8);
        let link = &clients.links[clients.clients[n].link];
        let ciaddr = build.header.ciaddr;
        let routed = |ip| Ingress::routed(SocketAddrV4::new(ip, 67), SERVER);
        if !ciaddr.is_unspecified() && random.chance(1, 3) {
            // The client renews from the leased address.
            return (build.direct().octets(), routed(ciaddr));
        }
        if let Some(interface) = link.interface.filter(|_| random.chance(1, 2)) {
            let ingress =
                Ingress { interface, is_broadcast: true, ..routed(Ipv4Addr::UNSPECIFIED) };
            return (build.direct().octets(), ingress);
        }
        let own = Ipv4Addr::from_bits(link.network.to_bits() + 254);
        build.header.giaddr = random.pick(&link.relays).copied().unwrap_or(own);
        if let Some(octets) = relay_information(random, n as u8, link.network) {
            build = build.option(option::RELAY_AGENT_INFORMATION, &octets);
        }
        let from = build.header.giaddr;
        (build.octets(), routed(from))
    }

    fn on_reply(clients: &mut ComparisonClients4, reply: &[u8]) -> (&'static str, Vec<IpAddr>) {
        let message = Message::parse(reply).expect("replies are well formed");
        let n = usize::from(message.chaddr()[5]);
        let client = &mut clients.clients[n];
        let address = message.yiaddr();
        client.offered = None;
        let server = message.option(option::SERVER_IDENTIFIER).and_then(|value| value.address());
        client.server = server.or(client.server);
        let kind = match message.message_type() {
            Some(MessageType::Offer) => {
                client.offered = Some(address);
                clients.eager = Some(n);
                "offer"
            }
            Some(MessageType::Nak) => {
                client.leased = None;
                "nak"
            }
            _ if address.is_unspecified() => "ack to inform",
            _ => {
                client.leased = Some(address);
                "ack"
            }
        };
        (kind, vec![IpAddr::V4(address)])
    }
}

/// Keys that affect this family's servers.
const KEYS: [&str; 46] = [
    "allocator",
    "authoritative",
    "boot-file-name",
    "cache-threshold",
    "calculate-tee-times",
    "client-classes/boot-file-name",
    "client-classes/option-data",
    "client-classes/test",
    "client-classes/valid-lifetime",
    "compatibility",
    "decline-probation-period",
    "early-global-reservations-lookup",
    "echo-client-id",
    "evaluate-additional-classes",
    "expired-leases-processing/flush-reclaimed-timer-wait-time",
    "hooks-libraries/parameters",
    "host-reservation-identifiers",
    "interface",
    "match-client-id",
    "max-valid-lifetime",
    "min-valid-lifetime",
    "next-server",
    "offer-lifetime",
    "only-in-additional-list",
    "option-data",
    "option-data/always-send",
    "option-data/client-classes",
    "option-data/never-send",
    "pools/client-class",
    "pools/option-data",
    "rebind-timer",
    "relay",
    "renew-timer",
    "reservations",
    "reservations/boot-file-name",
    "reservations/client-classes",
    "reservations/hostname",
    "reservations/ip-address",
    "reservations/option-data",
    "reservations-global",
    "reservations-in-subnet",
    "reservations-out-of-pool",
    "server-hostname",
    "stash-agent-options",
    "template-test",
    "valid-lifetime",
];

#[test]
fn v4_counterparts_are_equal() {
    let tally = counterparts_are_equal::<V4>();
    let keys = [
        "adaptive-lease-time-threshold",
        "allocator",
        "authoritative",
        "cache-max-age",
        "cache-threshold",
        "client-id",
        "circuit-id",
        "duid",
        "evaluate-additional-classes",
        "flex-id",
        "hooks-libraries",
        "host-reservation-identifiers",
        "hw-address",
        "interface",
        "match-client-id",
        "max-valid-lifetime",
        "offer-lifetime",
        "pool-id",
        "relay",
        "reservation-mode",
        "stash-agent-options",
        "store-extended-info",
        "template-test",
    ];
    tally.check(&["offer", "ack", "nak", "ack to inform"], &keys);
}

#[test]
fn v4_servers_miss_what_a_document_has_lost() {
    assert_eq!(unnoticed::<V4>(&KEYS), [""; 0]);
}
