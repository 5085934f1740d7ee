//! DHCPv4.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use base::HostName;
use base::time::NS_PER_S;
use dhcp_config::{
    Dhcp4, HostIdentifier, IdentifierKind, NoIncludes, Reservation4, Reserved4, parse_dhcp4,
};
use dhcp_engine::v4::{Destination, Ingress, Snapshot};
use dhcp_engine::{InFlight, ReplySink, Shard};
use dhcp_lease::MemoryStore;
use dhcp_lease::v4::{LeaseTable, V4};
use dhcp_wire::v4::{Dhcp4Header, Message, MessageType, MessageWriter, option};

use super::events::{CountedEvents, EXCHANGES_PER_TURN};
use super::lists::{classes, flex_id, list};
use super::{FeatureServer, MeasuredFeature, START};

const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Number of clients that renew.
const RENEWING: u32 = 500;

/// Returns the address of a client, if clients were served in order.
fn address_of(client: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + client)
}

/// Behaviour of a feature's clients.
#[derive(Clone, Copy)]
struct Dhcp4ClientBehavior {
    /// First byte of their relay agent's address.
    network: u8,
    /// Number of subnets that clients come from in turn; 0: all from the first.
    subnets: u32,
    /// True if each exchange is a renewal of the same clients.
    renews: bool,
    /// True if renewals go past the relay agent.
    is_direct: bool,
    /// Number of clients with a reservation each, by identifiers of all kinds in turn or by
    /// hardware address.
    hosts: u32,
    hosts_are_mixed: bool,
    /// True if a listener counts lease events.
    has_listener: bool,
}

struct Dhcp4FeatureServer {
    shard: Shard<V4, MemoryStore<V4>>,
    /// Listener of lease events, if there is one.
    events: Option<CountedEvents<V4>>,
    manner: Dhcp4ClientBehavior,
    next: u32,
    last: Dhcp4LastReply,
}

struct Dhcp4LastReply([u8; 1500], usize);

impl ReplySink<V4> for Dhcp4LastReply {
    fn transmit(&mut self, _: Destination, _: Ingress, octets: &[u8]) -> bool {
        self.0[..octets.len()].copy_from_slice(octets);
        self.1 = octets.len();
        true
    }
}

/// Returns the hosts of the first clients.
fn hosts(manner: Dhcp4ClientBehavior) -> impl Iterator<Item = Reservation4> {
    let kinds = [
        IdentifierKind::HardwareAddress,
        IdentifierKind::Duid,
        IdentifierKind::CircuitId,
        IdentifierKind::ClientId,
        IdentifierKind::FlexId,
    ];
    (0..manner.hosts).map(move |n| {
        let kind = if manner.hosts_are_mixed { kinds[n as usize % 5] } else { kinds[0] };
        let [a, b, c, d] = n.to_be_bytes();
        let octets = match kind {
            IdentifierKind::HardwareAddress => vec![2, 0, a, b, c, d],
            IdentifierKind::Duid => vec![0, 3, 0, 1, 2, 0, a, b, c, d],
            IdentifierKind::CircuitId => vec![b'p', a, b, c, d],
            IdentifierKind::ClientId => vec![255, 0, 0, 0, 1, 0, 3, 0, 1, 2, 0, a, b, c, d],
            IdentifierKind::FlexId => vec![b'f', a, b, c, d],
        };
        let address = Ipv4Addr::from_bits(Ipv4Addr::new(10, 128, 0, 0).to_bits() + n);
        Reservation4 {
            identifier: HostIdentifier { kind, octets },
            hostname: HostName::default(),
            options: Vec::new(),
            client_classes: Vec::new(),
            reserved: Reserved4 { address: Some(address), ..Reserved4::default() },
        }
    })
}

impl Dhcp4FeatureServer {
    fn new(text: &str, manner: Dhcp4ClientBehavior) -> Self {
        let mut config: Dhcp4 = parse_dhcp4("example", text, &mut NoIncludes)
            .unwrap_or_else(|problems| panic!("{}", problems[0]))
            .config;
        config.subnets[0].reservations.extend(hosts(manner));
        let table = Arc::new(LeaseTable::new(7));
        let snapshot =
            Snapshot::compile(&config, |specs, reserved| table.configure(specs, reserved));
        let in_flight = Arc::new(InFlight::new(7, 64));
        let shard = Shard::new(MemoryStore::new(table.clone()), Arc::new(snapshot), in_flight);
        let events = manner.has_listener.then(|| CountedEvents::new(table));
        Self { shard, events, manner, next: 0, last: Dhcp4LastReply([0; 1500], 0) }
    }

    fn send(&mut self, kind: MessageType, client: u32, options: &[(u8, &[u8])]) {
        let [a, b, c, d] = client.to_be_bytes();
        let mut chaddr = [0; 16];
        chaddr[..6].copy_from_slice(&[2, 0, a, b, c, d]);
        let subnet = client.checked_rem(self.manner.subnets).unwrap_or(0);
        let base = Ipv4Addr::new(self.manner.network, 0, 0, 254).to_bits();
        let none = Ipv4Addr::UNSPECIFIED;
        let is_direct = self.manner.is_direct && self.next > RENEWING;
        let relay = Ipv4Addr::from_bits(base + (subnet << 8));
        let ciaddr = if is_direct { address_of(client) } else { none };
        let header = Dhcp4Header {
            op: 1,
            htype: 1,
            hlen: 6,
            hops: 1,
            xid: client,
            secs: 0,
            flags: 0,
            ciaddr,
            yiaddr: none,
            siaddr: none,
            giaddr: if is_direct { none } else { relay },
            chaddr,
        };
        let mut buffer = [0; 600];
        let mut writer = MessageWriter::new(&mut buffer, &header);
        writer
            .message_type(kind)
            .option(option::VENDOR_CLASS_IDENTIFIER, b"vendor:none")
            .option(option::CLIENT_IDENTIFIER, &[255, 0, 0, 0, 1, 0, 3, 0, 1, 2, 0, a, b, c, d])
            .option(option::PARAMETER_REQUEST_LIST, &[1, 3, 6, 15, 42]);
        for (code, value) in options {
            writer.option(*code, value);
        }
        let agent = [1, 5, b'p', a, b, c, d, 2, 6, b'r', b'e', b'm', b'o', b't', b'e'];
        if !is_direct {
            writer.option(option::RELAY_AGENT_INFORMATION, &agent);
        }
        let len = writer.finish(300).expect("there is room");
        let ingress =
            Ingress::routed(SocketAddrV4::new(if is_direct { ciaddr } else { relay }, 67), SERVER);
        let now = START.after_ns(u64::from(self.next) * NS_PER_S / 1_000);
        self.last.1 = 0;
        self.shard.handle(now, &buffer[..len], ingress, &mut self.last);
        self.shard.end_batch(now, &mut self.last);
        assert!(self.last.1 > 0, "client {client} is not answered");
    }
}

impl FeatureServer for Dhcp4FeatureServer {
    fn exchange(&mut self, count: u32) {
        for number in 1..=count {
            if number % EXCHANGES_PER_TURN == 0
                && let Some(events) = &mut self.events
            {
                events.turn();
            }
            let is_renewal = self.manner.renews && self.next >= RENEWING;
            let client = if is_renewal { self.next % RENEWING } else { self.next };
            self.next += 1;
            if is_renewal {
                let address = address_of(client).octets();
                let options: [(u8, &[u8]); 1] = [(option::REQUESTED_IP_ADDRESS, &address)];
                let options = if self.manner.is_direct { &[][..] } else { &options };
                self.send(MessageType::Request, client, options);
                continue;
            }
            self.send(MessageType::Discover, client, &[]);
            let reply = Message::parse(&self.last.0[..self.last.1]).expect("it is sound");
            let address = reply.yiaddr().octets();
            let options: [(u8, &[u8]); 2] = [
                (option::REQUESTED_IP_ADDRESS, &address),
                (option::SERVER_IDENTIFIER, &SERVER.octets()),
            ];
            self.send(MessageType::Request, client, &options);
        }
        let reply = Message::parse(&self.last.0[..self.last.1]).expect("it is sound");
        assert_eq!(reply.message_type(), Some(MessageType::Ack));
        assert!(self.events.as_ref().is_none_or(|events| events.count() > 0));
    }
}

/// Returns a configuration of one subnet with `keys` at the top.
fn with(keys: &str) -> String {
    let comma = if keys.is_empty() { "" } else { "," };
    format!(
        r#"{{ "Dhcp4": {{ "valid-lifetime": 4000 {comma} {keys},
        "subnet4": [ {{ "id": 1, "subnet": "10.0.0.0/8",
            "pools": [ {{ "pool": "10.0.0.1 - 10.100.255.255" }} ] }} ] }} }}"#
    )
}

/// Returns `count` subnets of 256 addresses; `pool` makes the pool of each.
fn subnets(count: u32, pool: impl Fn(String) -> String) -> String {
    let subnet = |n: u32| {
        let network = format!("10.{}.{}", n >> 8, n & 255);
        let pool = pool(network.clone());
        format!(
            "{{ \"id\": {}, \"subnet\": \"{network}.0/24\", \"pools\": [ {{ \"pool\": \"{pool}\" }} ] }}",
            n + 1
        )
    };
    list(count, subnet)
}

fn network(subnets: &str, last: &str) -> String {
    format!(
        r#"{{ "Dhcp4": {{ "valid-lifetime": 4000, "shared-networks": [ {{ "name": "n",
            "subnet4": [ {subnets}, {last} ] }} ] }} }}"#
    )
}

const LARGE: &str = r#"{ "id": 999, "subnet": "11.0.0.0/8",
    "pools": [ { "pool": "11.0.0.1 - 11.100.255.255" } ] }"#;
const KINDS: &str = r#""host-reservation-identifiers":
    [ "hw-address", "duid", "circuit-id", "client-id", "flex-id" ]"#;
const FLEX: &str = "concat('f', substring(pkt4.mac, 2, 4))";

/// Name, configuration and clients of a feature.
type FeatureRow = (&'static str, Box<dyn Fn() -> String>, Dhcp4ClientBehavior);

const PLAIN: Dhcp4ClientBehavior = Dhcp4ClientBehavior {
    network: 10,
    subnets: 0,
    renews: false,
    is_direct: false,
    hosts: 0,
    hosts_are_mixed: false,
    has_listener: false,
};

/// Returns one of twenty options that hold addresses.
fn servers(n: u32) -> String {
    let codes = [3, 4, 5, 6, 7, 8, 9, 10, 11, 33, 41, 42, 44, 45, 48, 49, 69, 70, 71, 72];
    let code = codes[n as usize];
    let data = if code == 33 { "10.9.0.1, 10.9.0.2" } else { "10.9.0.1" };
    format!("{{ \"code\": {code}, \"data\": \"{data}\", \"always-send\": true }}")
}

fn in_one_subnet() -> Vec<FeatureRow> {
    let counted = Dhcp4ClientBehavior { has_listener: true, ..PLAIN };
    let mixed = Dhcp4ClientBehavior { hosts: 100_000, hosts_are_mixed: true, ..PLAIN };
    let million = Dhcp4ClientBehavior { hosts: 1_000_000, ..PLAIN };
    let renews = Dhcp4ClientBehavior { renews: true, ..PLAIN };
    let direct = Dhcp4ClientBehavior { is_direct: true, ..renews };
    let hardware = |n: u32| format!("pkt4.mac == 0x0299{n:08x}");
    let simple = || classes(100, |n| format!("option[60].hex == 'vendor:{n}'"));
    let flex = "\"host-reservation-identifiers\": [ \"flex-id\" ]";
    vec![
        ("plain", Box::new(|| with("")), PLAIN),
        ("lease events counted", Box::new(|| with("")), counted),
        ("100 empty classes", Box::new(|| with(&classes(100, |_| String::new()))), PLAIN),
        ("100 simple classes", Box::new(move || with(&simple())), PLAIN),
        (
            "1,000 or-ed hardware addresses",
            Box::new(move || {
                let test = (0..1_000).map(hardware).collect::<Vec<_>>().join(" or ");
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
            Box::new(|| with(&format!("\"option-data\": [ {} ]", list(20, servers)))),
            PLAIN,
        ),
        ("store-extended-info", Box::new(|| with("\"store-extended-info\": true")), PLAIN),
        ("renewal alone", Box::new(|| with("\"cache-threshold\": 0")), renews),
        ("renewal alone, cached", Box::new(|| with("\"cache-threshold\": 0.9")), renews),
        (
            "renewal past the agent",
            Box::new(|| with("\"store-extended-info\": true, \"cache-threshold\": 0")),
            direct,
        ),
        (
            "the same, stash-agent-options",
            Box::new(|| {
                with(
                    "\"store-extended-info\": true, \"cache-threshold\": 0, \
                      \"stash-agent-options\": true",
                )
            }),
            direct,
        ),
    ]
}

fn in_many_subnets() -> Vec<FeatureRow> {
    let tenth = |network: String| format!("{network}.10 - {network}.19");
    let whole = |network: String| format!("{network}.1 - {network}.250");
    vec![
        (
            "shared network of 50 subnets",
            Box::new(move || network(LARGE, &subnets(49, whole))),
            Dhcp4ClientBehavior { network: 11, ..PLAIN },
        ),
        ("the same, 49 of them full", Box::new(move || network(&subnets(49, tenth), LARGE)), PLAIN),
        (
            "10,000 subnets",
            Box::new(move || {
                format!("{{ \"Dhcp4\": {{ \"subnet4\": [ {} ] }} }}", subnets(10_000, whole))
            }),
            Dhcp4ClientBehavior { subnets: 10_000, ..PLAIN },
        ),
    ]
}

/// Returns the measured features, the plain one first.
pub fn features() -> Vec<MeasuredFeature> {
    let feature = |(name, text, manner): FeatureRow| MeasuredFeature {
        family: "v4",
        name,
        make: Box::new(move || Box::new(Dhcp4FeatureServer::new(&text(), manner))),
    };
    in_one_subnet().into_iter().chain(in_many_subnets()).map(feature).collect()
}
