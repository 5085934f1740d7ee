//! Two servers with the same reservations, one in its configuration and one in a database, get the
//! same messages and send the same replies.

use base::Random;
use dhcp_engine::hosts::{HostCache, ReservationOf, ReservationScope};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_wire::v4::{Message, MessageType};
use dhcp_wire::v6::MessageType as MessageType6;

use crate::common::{EngineTestServer, ReplyCollector, TestProtocol, number, v4, v6};
use crate::elsewhere::LIMITS;
use crate::elsewhere::database::SharedHostDatabase;

/// Number of clients of a world.
const CLIENTS: u64 = 9;

struct Counterparts<P: TestProtocol> {
    configured: EngineTestServer<P>,
    looking: EngineTestServer<P>,
    database: SharedHostDatabase<P>,
}

impl<P: TestProtocol> Counterparts<P> {
    fn new(with: &str, without: &str, hosts: Vec<(ReservationScope, ReservationOf<P>)>) -> Self {
        let (configured, mut looking) =
            (EngineTestServer::new(with), EngineTestServer::new(without));
        let database = SharedHostDatabase::default();
        for (scope, host) in hosts {
            database.insert(scope, host);
        }
        let cache = HostCache::new(Box::new(database.clone()), LIMITS, 3);
        looking.shards[0].set_hosts(cache);
        Self { configured, looking, database }
    }

    /// Sends a message to both servers; returns their reply.
    fn send(&mut self, octets: &[u8]) -> Option<Vec<u8>> {
        let expected = self.configured.send_to(0, octets);
        let mut sink = ReplyCollector::default();
        sink.0.extend(self.looking.send_to(0, octets));
        while self.database.answer() {
            self.looking.settle(&mut sink);
            // The database wrote the reply's row in between.
            self.looking.settle(&mut sink);
        }
        let octets = |sent: Vec<(_, Vec<u8>)>| sent.into_iter().map(|(_, octets)| octets).next();
        let (expected, actual) = (octets(expected), octets(sink.0));
        assert_eq!(expected, actual);
        actual
    }

    fn pass(&mut self, seconds: u64) {
        self.configured.pass_s(seconds);
        self.looking.pass_s(seconds);
    }
}

/// Returns a reservation of client `n`, or none.
fn reservation4(random: &mut Random, n: u64, at: &str) -> Option<String> {
    let address = match random.below(4) {
        0 => return None,
        1 => String::new(),
        // The address lies in the pool or outside of it; no two hosts have the same.
        2 => format!(r#", "ip-address": "{at}.{}""#, 10 + n),
        _ => format!(r#", "ip-address": "{at}.{}""#, 100 + n),
    };
    let name =
        if random.chance(1, 2) { format!(r#", "hostname": "host-{n}""#) } else { String::new() };
    let class = if random.chance(1, 3) { r#", "client-classes": [ "gold" ]"# } else { "" };
    Some(format!(r#"{{ "hw-address": "02:00:00:00:00:0{n}"{address}{name}{class} }}"#))
}

fn configuration4(modes: &str, inner: [&str; 2], global: &str) -> String {
    format!(
        r#"{{ "Dhcp4": {{
        "interfaces-config": {{ "interfaces": [ "*" ], "dhcp-socket-type": "udp" }},
        "valid-lifetime": 100, "reservations": [ {global} ], {modes}
        "client-classes": [ {{ "name": "gold", "valid-lifetime": 70 }} ],
        "shared-networks": [ {{ "name": "link", "subnet4": [
            {{ "id": 1, "subnet": "10.0.0.0/24", "reservations": [ {} ],
               "pools": [ {{ "pool": "10.0.0.10 - 10.0.0.14" }} ] }},
            {{ "id": 2, "subnet": "10.0.1.0/24", "reservations": [ {} ],
               "pools": [ {{ "pool": "10.0.1.10 - 10.0.1.14" }} ] }} ] }} ]
    }} }}"#,
        inner[0], inner[1]
    )
}

const MODES: [&str; 4] = [
    "",
    r#""reservations-global": true,"#,
    r#""reservations-out-of-pool": true,"#,
    r#""reservations-global": true, "early-global-reservations-lookup": true,"#,
];

fn world4(seed: u64) {
    let mut random = Random::from_seed(seed);
    let mut list = |at: &str| {
        let all = (1..CLIENTS).filter_map(|n| reservation4(&mut random, n, at));
        all.collect::<Vec<_>>().join(", ")
    };
    let (first, second, global) = (list("10.0.0"), list("10.0.1"), list("10.0.0"));
    let modes = MODES[random.below(4) as usize];
    let with = configuration4(modes, [&first, &second], &global);
    let mut none = dhcp_config::NoIncludes;
    let checked = dhcp_config::parse_dhcp4("twin", &with, &mut none);
    let config = checked.unwrap_or_else(|problems| panic!("{}", problems[0])).config;
    let of_subnets = config.subnets.iter().flat_map(|subnet| {
        subnet.reservations.iter().map(|host| (ReservationScope::Subnet(subnet.id), host.clone()))
    });
    let of_all = config.reservations.iter().map(|host| (ReservationScope::Global, host.clone()));
    let hosts = of_subnets.chain(of_all).collect();
    let mut counterparts =
        Counterparts::<V4>::new(&with, &configuration4(modes, ["", ""], ""), hosts);
    let mut offered = [None; CLIENTS as usize];
    for _ in 0..120 {
        let n = 1 + random.below(CLIENTS - 1);
        let mut message = v4::Dhcp4MessageBuilder::new(MessageType::Discover, n as u8);
        let offered_address = offered[n as usize];
        match (random.below(5), offered_address) {
            (1 | 2, Some(address)) => {
                message = v4::Dhcp4MessageBuilder::new(MessageType::Request, n as u8);
                message = message.requested(address).server(v4::SERVER);
            }
            (3, Some(address)) => {
                message = v4::Dhcp4MessageBuilder::new(MessageType::Request, n as u8).from(address);
            }
            (4, Some(address)) if random.chance(1, 3) => {
                message = v4::Dhcp4MessageBuilder::new(MessageType::Release, n as u8).from(address);
                message = message.server(v4::SERVER);
            }
            _ => {}
        }
        if let Some(reply) = counterparts.send(&message.octets()) {
            let address = Message::parse(&reply).expect("a reply can be read").yiaddr();
            offered[n as usize] = (!address.is_unspecified()).then_some(address);
        }
        if random.chance(1, 3) {
            counterparts.pass(random.below(4));
        }
    }
    counterparts.looking.settle_down();
}

fn reservation6(random: &mut Random, n: u64) -> Option<String> {
    let address = match random.below(4) {
        0 => return None,
        1 => String::new(),
        2 => format!(r#", "ip-addresses": [ "2001:db8:1::1{n}" ]"#),
        _ => {
            format!(r#", "ip-addresses": [ "2001:db8:1::7{n}" ], "prefixes": [ "3000:{n}::/48" ]"#)
        }
    };
    let name =
        if random.chance(1, 2) { format!(r#", "hostname": "host-{n}""#) } else { String::new() };
    Some(format!(r#"{{ "duid": "00:03:00:01:02:00:00:00:00:0{n}"{address}{name} }}"#))
}

fn configuration6(modes: &str, hosts: &str) -> String {
    format!(
        r#"{{ "Dhcp6": {{
            "interfaces-config": {{ "interfaces": [ "*" ] }}, {modes}
            "preferred-lifetime": 60, "valid-lifetime": 100, "cache-threshold": 0.0,
            "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64", "reservations": [ {hosts} ],
                "pools": [ {{ "pool": "2001:db8:1::10-2001:db8:1::16" }} ],
                "pd-pools": [ {{ "prefix": "2001:db8:100::", "prefix-len": 53,
                                 "delegated-len": 56 }} ] }} ] }} }}"#
    )
}

fn world6(seed: u64) {
    let mut random = Random::from_seed(seed);
    let list: Vec<_> = (1..CLIENTS).filter_map(|n| reservation6(&mut random, n)).collect();
    let modes = MODES[random.below(3) as usize];
    let with = configuration6(modes, &list.join(", "));
    let mut none = dhcp_config::NoIncludes;
    let checked = dhcp_config::parse_dhcp6("twin", &with, &mut none);
    let config = checked.unwrap_or_else(|problems| panic!("{}", problems[0])).config;
    let hosts = config.subnets[0].reservations.iter();
    let hosts = hosts.map(|host| (ReservationScope::Subnet(1), host.clone())).collect();
    let mut counterparts = Counterparts::<V6>::new(&with, &configuration6(modes, ""), hosts);
    let mut had: [Vec<std::net::Ipv6Addr>; CLIENTS as usize] = Default::default();
    for _ in 0..120 {
        let n = 1 + random.below(CLIENTS - 1);
        let client_leases = had[n as usize].clone();
        let kind = match random.below(5) {
            1 | 2 if !client_leases.is_empty() => MessageType6::Request,
            3 if !client_leases.is_empty() => MessageType6::Renew,
            4 if !client_leases.is_empty() && random.chance(1, 3) => MessageType6::Release,
            _ => MessageType6::Solicit,
        };
        let mut message = v6::Dhcp6MessageBuilder::new(kind, n as u16);
        if kind != MessageType6::Solicit {
            message = message.for_us();
        }
        message = message.na(1, &client_leases);
        if random.chance(1, 2) {
            message = message.pd(1, &[]);
        }
        if let Some(reply) = counterparts.send(&message.octets()) {
            let answer = v6::ParsedDhcp6Reply::parse(&reply);
            let of_addresses = answer.ias.iter().take(1);
            let leased = of_addresses.flat_map(|ia| &ia.leased).filter(|leased| leased.3 > 0);
            had[n as usize] = leased.map(|leased| leased.0).collect();
        }
        if random.chance(1, 3) {
            counterparts.pass(random.below(4));
        }
    }
    counterparts.looking.settle_down();
}

#[test]
fn it_does_not_matter_where_reservations_of_v4_stand() {
    (0..number("GODWIT_HOST_WORLDS", 150)).for_each(world4);
}

#[test]
fn it_does_not_matter_where_reservations_of_v6_stand() {
    (0..number("GODWIT_HOST_WORLDS", 150)).for_each(world6);
}
