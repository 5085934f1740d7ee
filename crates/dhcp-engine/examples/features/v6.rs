//! DHCPv6.

use std::net::{Ipv6Addr, SocketAddrV6};
use std::sync::Arc;

use base::HostName;
use base::time::NS_PER_S;
use dhcp_config::{
    Dhcp6, HostIdentifier, IdentifierKind, NoIncludes, Reservation6, Reserved6, parse_dhcp6,
};
use dhcp_engine::v6::{Ingress, Snapshot};
use dhcp_engine::{InFlight, ReplySink, Shard};
use dhcp_lease::MemoryStore;
use dhcp_lease::v6::{LeaseTable, V6};
use dhcp_wire::v6::{IaKind, MessageType, Packet, RelayWriter, option};

use super::events::{CountedEvents, EXCHANGES_PER_TURN};
use super::lists::{classes, flex_id, list};
use super::{FeatureServer, MeasuredFeature, START};

const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 1];
const CLIENT: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xc);

/// Behaviour of a feature's clients.
#[derive(Clone, Copy)]
struct Dhcp6ClientBehavior {
    /// Second group of their relay agent's address.
    network: u16,
    /// Number of subnets that clients come from in turn; 0: all from the first.
    subnets: u32,
    /// True if each exchange is a renewal of the same clients.
    renews: bool,
    /// Number of clients with a reservation each, by identifiers of all kinds in turn or by DUID.
    hosts: u32,
    hosts_are_mixed: bool,
    /// True if a listener counts lease events.
    has_listener: bool,
}

struct Dhcp6FeatureServer {
    shard: Shard<V6, MemoryStore<V6>>,
    /// Listener of lease events, if there is one.
    events: Option<CountedEvents<V6>>,
    manner: Dhcp6ClientBehavior,
    next: u32,
    last: Dhcp6LastReply,
}

struct Dhcp6LastReply([u8; 1500], usize);

impl ReplySink<V6> for Dhcp6LastReply {
    fn transmit(&mut self, _: SocketAddrV6, _: Ingress, octets: &[u8]) -> bool {
        self.0[..octets.len()].copy_from_slice(octets);
        self.1 = octets.len();
        true
    }
}

/// Returns the hosts of the first clients.
fn hosts(manner: Dhcp6ClientBehavior) -> impl Iterator<Item = Reservation6> {
    let kinds = [IdentifierKind::Duid, IdentifierKind::HardwareAddress, IdentifierKind::FlexId];
    (0..manner.hosts).map(move |n| {
        let kind = if manner.hosts_are_mixed { kinds[n as usize % 3] } else { kinds[0] };
        let [a, b, c, d] = n.to_be_bytes();
        let octets = match kind {
            IdentifierKind::HardwareAddress => vec![2, 0, a, b, c, d],
            IdentifierKind::FlexId => vec![b'f', a, b, c, d],
            _ => vec![0, 3, 0, 1, 2, 0, a, b, c, d],
        };
        let address = Ipv6Addr::from_bits((0x2001_0db8_u128 << 96) + (1 << 40) + u128::from(n));
        Reservation6 {
            identifier: HostIdentifier { kind, octets },
            hostname: HostName::default(),
            options: Vec::new(),
            client_classes: Vec::new(),
            reserved: Reserved6 { addresses: vec![address], prefixes: Vec::new() },
        }
    })
}

impl Dhcp6FeatureServer {
    fn new(text: &str, manner: Dhcp6ClientBehavior) -> Self {
        let mut config: Dhcp6 = parse_dhcp6("example", text, &mut NoIncludes)
            .unwrap_or_else(|problems| panic!("{}", problems[0]))
            .config;
        config.subnets[0].reservations.extend(hosts(manner));
        let table = Arc::new(LeaseTable::new(7));
        let snapshot = Snapshot::compile(&config, &SERVER_DUID, |specs, reserved| {
            table.configure(specs, reserved)
        });
        let in_flight = Arc::new(InFlight::new(7, 64));
        let shard = Shard::new(MemoryStore::new(table.clone()), Arc::new(snapshot), in_flight);
        let events = manner.has_listener.then(|| CountedEvents::new(table));
        Self { shard, events, manner, next: 0, last: Dhcp6LastReply([0; 1500], 0) }
    }

    /// Sends a message that requests `address`, if any.
    fn send(&mut self, kind: MessageType, client: u32, address: Option<Ipv6Addr>) {
        let [a, b, c, d] = client.to_be_bytes();
        let subnet = client.checked_rem(self.manner.subnets).unwrap_or(0) as u16;
        let link = Ipv6Addr::new(0x2001, self.manner.network, subnet, 0, 0xffff, 0, 0, 1);
        let mut buffer = [0; 600];
        let levels = RelayWriter::forward(&mut buffer).level(0, link, CLIENT);
        let mut writer = levels.message(kind, client);
        writer
            .option(option::CLIENTID, &[0, 3, 0, 1, 2, 0, a, b, c, d])
            .option(option::USER_CLASS, b"\x00\x0bvendor:none")
            .option(option::ORO, &[0, 23, 0, 24, 0, 31]);
        if kind != MessageType::Solicit {
            writer.option(option::SERVERID, &SERVER_DUID);
        }
        let mark = writer.ia(IaKind::Na, 1, 0, 0);
        if let Some(address) = address {
            writer.ia_address(address, 0, 0);
        }
        writer.end(mark);
        let len = writer.finish().expect("there is room");
        let ingress = Ingress {
            source: SocketAddrV6::new(link, 547, 0, 0),
            local: link,
            interface: 0,
            is_multicast: false,
            listener_index: 0,
        };
        let now = START.after_ns(u64::from(self.next) * NS_PER_S / 1_000);
        self.last.1 = 0;
        self.shard.handle(now, &buffer[..len], ingress, &mut self.last);
        self.shard.end_batch(now, &mut self.last);
        assert!(self.last.1 > 0, "client {client} is not answered");
    }

    fn granted(&self) -> Option<Ipv6Addr> {
        let packet = Packet::parse(&self.last.0[..self.last.1]).expect("it is sound");
        packet.message().ias().flat_map(|ia| ia.addresses()).map(|address| address.address).next()
    }
}

impl FeatureServer for Dhcp6FeatureServer {
    fn exchange(&mut self, count: u32) {
        for number in 1..=count {
            if number % EXCHANGES_PER_TURN == 0
                && let Some(events) = &mut self.events
            {
                events.turn();
            }
            let client = if self.manner.renews { self.next % 500 } else { self.next };
            self.next += 1;
            if self.manner.renews && self.next > 500 {
                // Clients were served in order.
                let first = 0x2001_0db8_u128 << 96;
                let address = Ipv6Addr::from_bits(first + u128::from(client));
                self.send(MessageType::Renew, client, Some(address));
            } else {
                self.send(MessageType::Solicit, client, None);
                let offered = self.granted();
                self.send(MessageType::Request, client, offered);
            }
        }
        assert!(self.granted().is_some());
        assert!(self.events.as_ref().is_none_or(|events| events.count() > 0));
    }
}

/// Returns a configuration of one subnet with `keys` at the top.
fn with(keys: &str) -> String {
    let comma = if keys.is_empty() { "" } else { "," };
    format!(
        r#"{{ "Dhcp6": {{ "valid-lifetime": 4000 {comma} {keys},
        "subnet6": [ {{ "id": 1, "subnet": "2001:db8::/32",
            "pools": [ {{ "pool": "2001:db8::/100" }} ] }} ] }} }}"#
    )
}

/// Returns `count` subnets of the length 64; `pool` makes the pool of each from its network.
fn subnets(count: u32, pool: impl Fn(String) -> String) -> String {
    let subnet = |n: u32| {
        let network = format!("2001:db8:{n:x}");
        let pool = pool(network.clone());
        format!(
            "{{ \"id\": {}, \"subnet\": \"{network}::/64\", \"pools\": [ {{ \"pool\": \"{pool}\" }} ] }}",
            n + 1
        )
    };
    list(count, subnet)
}

fn network(subnets: &str, last: &str) -> String {
    format!(
        r#"{{ "Dhcp6": {{ "valid-lifetime": 4000, "shared-networks": [ {{ "name": "n",
            "subnet6": [ {subnets}, {last} ] }} ] }} }}"#
    )
}

const LARGE: &str = r#"{ "id": 99999, "subnet": "2001:db9::/64",
    "pools": [ { "pool": "2001:db9::/100" } ] }"#;
const KINDS: &str = r#""host-reservation-identifiers": [ "duid", "hw-address", "flex-id" ]"#;
const FLEX: &str = "concat('f', substring(option[1].hex, 6, 4))";

/// Name, configuration and clients of a feature.
type FeatureRow = (&'static str, Box<dyn Fn() -> String>, Dhcp6ClientBehavior);

const PLAIN: Dhcp6ClientBehavior = Dhcp6ClientBehavior {
    network: 0xdb8,
    subnets: 0,
    renews: false,
    hosts: 0,
    hosts_are_mixed: false,
    has_listener: false,
};

/// Returns one of twenty options of four bytes.
fn option_of(n: u32) -> String {
    let code = 200 + n;
    format!(
        "{{ \"code\": {code}, \"csv-format\": false, \"data\": \"0a090001\", \
         \"always-send\": true }}"
    )
}

fn in_one_subnet() -> Vec<FeatureRow> {
    let counted = Dhcp6ClientBehavior { has_listener: true, ..PLAIN };
    let mixed = Dhcp6ClientBehavior { hosts: 100_000, hosts_are_mixed: true, ..PLAIN };
    let million = Dhcp6ClientBehavior { hosts: 1_000_000, ..PLAIN };
    let renews = Dhcp6ClientBehavior { renews: true, ..PLAIN };
    let duid = |n: u32| format!("option[1].hex == 0x000300010299{n:08x}");
    let simple = || classes(100, |n| format!("option[15].hex == 'vendor:{n}'"));
    let flex = "\"host-reservation-identifiers\": [ \"flex-id\" ]";
    vec![
        ("plain", Box::new(|| with("")), PLAIN),
        ("lease events counted", Box::new(|| with("")), counted),
        ("100 empty classes", Box::new(|| with(&classes(100, |_| String::new()))), PLAIN),
        ("100 simple classes", Box::new(move || with(&simple())), PLAIN),
        (
            "1,000 or-ed DUIDs",
            Box::new(move || {
                let test = (0..1_000).map(duid).collect::<Vec<_>>().join(" or ");
                with(&classes(1, |_| test.clone()))
            }),
            PLAIN,
        ),
        (
            "100,000 reservations of every identifier",
            Box::new(|| with(&format!("{KINDS}, {}", flex_id(FLEX)))),
            mixed,
        ),
        ("1,000,000 reservations", Box::new(|| with("")), million),
        ("flex-id", Box::new(move || with(&format!("{flex}, {}", flex_id(FLEX)))), PLAIN),
        (
            "20 options in each reply",
            Box::new(|| with(&format!("\"option-data\": [ {} ]", list(20, option_of)))),
            PLAIN,
        ),
        ("store-extended-info", Box::new(|| with("\"store-extended-info\": true")), PLAIN),
        ("renewal alone", Box::new(|| with("\"cache-threshold\": 0")), renews),
        ("renewal alone, cached", Box::new(|| with("\"cache-threshold\": 0.9")), renews),
    ]
}

fn in_many_subnets() -> Vec<FeatureRow> {
    let tenth = |network: String| format!("{network}::10 - {network}::19");
    let whole = |network: String| format!("{network}::/120");
    vec![
        (
            "shared network of 50 subnets",
            Box::new(move || network(LARGE, &subnets(49, whole))),
            Dhcp6ClientBehavior { network: 0xdb9, ..PLAIN },
        ),
        ("the same, 49 of them full", Box::new(move || network(&subnets(49, tenth), LARGE)), PLAIN),
        (
            "10,000 subnets",
            Box::new(move || {
                format!("{{ \"Dhcp6\": {{ \"subnet6\": [ {} ] }} }}", subnets(10_000, whole))
            }),
            Dhcp6ClientBehavior { subnets: 10_000, ..PLAIN },
        ),
    ]
}

/// Returns the measured features, the plain one first.
pub fn features() -> Vec<MeasuredFeature> {
    let feature = |(name, text, manner): FeatureRow| MeasuredFeature {
        family: "v6",
        name,
        make: Box::new(move || Box::new(Dhcp6FeatureServer::new(&text(), manner))),
    };
    in_one_subnet().into_iter().chain(in_many_subnets()).map(feature).collect()
}
