//! DHCPv6 in tests.

use std::net::{Ipv6Addr, SocketAddrV6};

use dhcp_engine::v6::{Ingress, Snapshot};
use dhcp_lease::v6::{LeaseTable, V6};
use dhcp_wire::v6::{
    IaKind, Message, MessageType, MessageWriter, Packet, RelayWriter, StatusCode, option,
};

use super::{EngineTestIncludes, TestProtocol};

pub(crate) type Server = super::EngineTestServer<V6>;
pub(crate) type Sink = super::ReplyCollector<V6>;

pub(crate) const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 99];
pub(crate) const RELAY: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
pub(crate) const CLIENT: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xc);

/// Configuration of one subnet of four addresses and four prefixes with options; timers explicit.
pub(crate) const SMALL: &str = r#"{ "Dhcp6": {
    "interfaces-config": { "interfaces": [ "*" ] },
    "preferred-lifetime": 600, "min-preferred-lifetime": 300, "max-preferred-lifetime": 1200,
    "valid-lifetime": 1000, "min-valid-lifetime": 500, "max-valid-lifetime": 2000,
    "renew-timer": 250, "rebind-timer": 400,
    "decline-probation-period": 100,
    "cache-threshold": 0.25,
    "option-data": [
        { "name": "dns-servers", "data": "2001:db8::53" },
        { "name": "sntp-servers", "data": "2001:db8::123", "always-send": true } ],
    "user-context": { "godwit": { "hold-time-ms": 10000 } },
    "subnet6": [ { "id": 1, "subnet": "2001:db8:1::/64", "interface": "eth0",
        "pools": [ { "pool": "2001:db8:1::10 - 2001:db8:1::13",
                     "option-data": [ { "name": "dns-servers", "data": "2001:db8::54" } ] } ],
        "pd-pools": [ { "prefix": "2001:db8:100::", "prefix-len": 54, "delegated-len": 56,
                        "excluded-prefix": "2001:db8:100:ff::", "excluded-prefix-len": 64 } ],
        "rapid-commit": true } ]
} }"#;

impl TestProtocol for V6 {
    const INGRESS: Ingress = Ingress {
        source: SocketAddrV6::new(RELAY, 547, 0, 0),
        local: Ipv6Addr::LOCALHOST,
        interface: 0,
        is_multicast: false,
        listener_index: 0,
    };

    fn compile(text: &str, table: &LeaseTable) -> Snapshot {
        let checked = dhcp_config::parse_dhcp6("test.conf", text, &mut EngineTestIncludes)
            .unwrap_or_else(|problems| panic!("{}", problems[0]));
        Snapshot::compile(&checked.config, &SERVER_DUID, |specs, reserved| {
            table.configure(specs, reserved)
        })
    }
}

/// Returns the ingress of a datagram that a client multicast on the interface with this index.
pub(crate) const fn direct(interface: u32) -> Ingress {
    Ingress {
        source: SocketAddrV6::new(CLIENT, 546, 0, 0),
        local: Ipv6Addr::UNSPECIFIED,
        interface,
        is_multicast: true,
        listener_index: 0,
    }
}

/// Returns an address of the small subnet.
pub(crate) const fn address(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, last)
}

/// Returns a delegated prefix of the small subnet, by its number.
pub(crate) const fn prefix(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0x100, number << 8, 0, 0, 0, 0)
}

pub(crate) fn duid(n: u16) -> Vec<u8> {
    let [a, b] = n.to_be_bytes();
    vec![0, 3, 0, 1, 2, 0, 0, 0, a, b]
}

/// Address or prefix in an IA: itself, its length, preferred and valid lifetime.
pub(crate) type Leased = (Ipv6Addr, u8, u32, u32);

/// Relay agent: its link address, and the options that it adds.
pub(crate) type Agent<'a> = (Ipv6Addr, &'a [(u16, &'a [u8])]);
/// Relay agent with bytes of its own.
type Level = (Ipv6Addr, Vec<(u16, Vec<u8>)>);

#[derive(Clone)]
enum Dhcp6MessagePart {
    Option(u16, Vec<u8>),
    Ia(IaKind, u32, Vec<Leased>),
}

/// Message to be built.
#[derive(Clone)]
pub(crate) struct Dhcp6MessageBuilder {
    kind: MessageType,
    transaction_id: u32,
    parts: Vec<Dhcp6MessagePart>,
    /// Relay levels, the outermost first.
    relays: Vec<Level>,
}

impl Dhcp6MessageBuilder {
    /// Returns a message of client `n` through the relay.
    pub(crate) fn new(kind: MessageType, n: u16) -> Self {
        Self::anonymous(kind, n).option(option::CLIENTID, &duid(n))
    }

    /// Returns a message of client `n` through the relay without Client Identifier.
    pub(crate) fn anonymous(kind: MessageType, n: u16) -> Self {
        let relays = vec![(RELAY, Vec::new())];
        Self { kind, transaction_id: 0x1000 + u32::from(n), parts: Vec::new(), relays }
    }

    pub(crate) fn option(mut self, code: u16, octets: &[u8]) -> Self {
        self.parts.push(Dhcp6MessagePart::Option(code, octets.to_vec()));
        self
    }

    pub(crate) fn for_us(self) -> Self {
        self.option(option::SERVERID, &SERVER_DUID)
    }

    pub(crate) fn wants(self, codes: &[u16]) -> Self {
        let octets: Vec<u8> = codes.iter().flat_map(|code| code.to_be_bytes()).collect();
        self.option(option::ORO, &octets)
    }

    pub(crate) fn rapidly(self) -> Self {
        self.option(option::RAPID_COMMIT, &[])
    }

    pub(crate) fn ia(mut self, kind: IaKind, iaid: u32, leased: &[Leased]) -> Self {
        self.parts.push(Dhcp6MessagePart::Ia(kind, iaid, leased.to_vec()));
        self
    }

    /// Adds an IA_NA with these addresses that requests no lifetimes.
    pub(crate) fn na(self, iaid: u32, addresses: &[Ipv6Addr]) -> Self {
        let leased: Vec<_> = addresses.iter().map(|&address| (address, 128, 0, 0)).collect();
        self.ia(IaKind::Na, iaid, &leased)
    }

    /// Adds an IA_PD with these prefixes that requests no lifetimes.
    pub(crate) fn pd(self, iaid: u32, prefixes: &[(Ipv6Addr, u8)]) -> Self {
        let leased: Vec<_> = prefixes.iter().map(|&(prefix, len)| (prefix, len, 0, 0)).collect();
        self.ia(IaKind::Pd, iaid, &leased)
    }

    /// Sends the message through these agents instead, the outermost first.
    pub(crate) fn through(mut self, relays: &[Agent<'_>]) -> Self {
        let owned = |options: &[(u16, &[u8])]| {
            options.iter().map(|&(code, octets)| (code, octets.to_vec())).collect()
        };
        self.relays = relays.iter().map(|&(link, options)| (link, owned(options))).collect();
        self
    }

    /// Sends the message without any agent.
    pub(crate) fn direct(self) -> Self {
        self.through(&[])
    }

    pub(crate) fn octets(&self) -> Vec<u8> {
        let mut buffer = [0; 4000];
        let mut levels = RelayWriter::forward(&mut buffer);
        for (at, (link, options)) in self.relays.iter().enumerate() {
            let hops = (self.relays.len() - 1 - at) as u8;
            levels = levels.level(hops, *link, if hops == 0 { CLIENT } else { RELAY });
            for (code, octets) in options {
                levels = levels.option(*code, octets);
            }
        }
        let mut writer = levels.message(self.kind, self.transaction_id);
        for part in &self.parts {
            match part {
                Dhcp6MessagePart::Option(code, octets) => {
                    writer.option(*code, octets);
                }
                Dhcp6MessagePart::Ia(kind, iaid, leased) => {
                    write_ia(&mut writer, *kind, *iaid, leased)
                }
            }
        }
        let len = writer.finish().expect("the buffer is large");
        buffer[..len].to_vec()
    }
}

fn write_ia(writer: &mut MessageWriter<'_>, kind: IaKind, iaid: u32, leased: &[Leased]) {
    let mark = writer.ia(kind, iaid, 0, 0);
    for &(address, len, preferred_s, valid_s) in leased {
        if kind == IaKind::Pd {
            writer.ia_prefix(address, len, preferred_s, valid_s);
        } else {
            writer.ia_address(address, preferred_s, valid_s);
        }
    }
    writer.end(mark);
}

/// Parsed reply.
#[derive(Debug)]
pub(crate) struct ParsedDhcp6Reply {
    pub(crate) kind: MessageType,
    pub(crate) transaction_id: u32,
    pub(crate) status: Option<StatusCode>,
    pub(crate) ias: Vec<AnswerIa>,
    pub(crate) options: Vec<(u16, Vec<u8>)>,
}

#[derive(Debug)]
pub(crate) struct AnswerIa {
    pub(crate) kind: IaKind,
    pub(crate) iaid: u32,
    pub(crate) timers_s: (u32, u32),
    pub(crate) leased: Vec<Leased>,
    pub(crate) excluded: Option<(Ipv6Addr, u8)>,
    pub(crate) status: Option<StatusCode>,
}

impl ParsedDhcp6Reply {
    pub(crate) fn parse(octets: &[u8]) -> Self {
        let packet = Packet::parse(octets).expect("a reply parses");
        Self::of(&packet.message())
    }

    pub(crate) fn of(message: &Message<'_>) -> Self {
        let ias = message.ias().map(|ia| AnswerIa {
            kind: ia.kind,
            iaid: ia.iaid,
            timers_s: (ia.t1_s, ia.t2_s),
            leased: ia
                .addresses()
                .map(|a| (a.address, 128, a.preferred_s, a.valid_s))
                .chain(ia.prefixes().map(|p| (p.prefix, p.len, p.preferred_s, p.valid_s)))
                .collect(),
            excluded: ia.prefixes().find_map(|prefix| prefix.excluded()),
            status: code_of(ia.status()),
        });
        Self {
            kind: message.message_type(),
            transaction_id: message.transaction_id(),
            status: code_of(message.status()),
            ias: ias.collect(),
            options: message.options().map(|(code, value)| (code, value.to_vec())).collect(),
        }
    }

    pub(crate) fn option(&self, code: u16) -> Option<&[u8]> {
        self.options.iter().find(|(other, _)| *other == code).map(|(_, value)| &**value)
    }

    /// Returns the first address or prefix of the IA at `at`.
    pub(crate) fn leased(&self, at: usize) -> Ipv6Addr {
        self.ias[at].leased[0].0
    }

    /// Returns the status in each IA.
    pub(crate) fn statuses(&self) -> Vec<Option<StatusCode>> {
        self.ias.iter().map(|ia| ia.status).collect()
    }
}

fn code_of(status: Option<(u16, &[u8])>) -> Option<StatusCode> {
    status.map(|(code, _)| StatusCode::from_code(code).expect("a registered code"))
}

impl Server {
    /// Sends a message that must get exactly one reply.
    pub(crate) fn ask(&mut self, message: &Dhcp6MessageBuilder) -> ParsedDhcp6Reply {
        ParsedDhcp6Reply::parse(&self.ask_octets(&message.octets()))
    }

    /// Sends a message that must get no reply.
    pub(crate) fn tell(&mut self, message: &Dhcp6MessageBuilder) {
        let sent = self.send_to(0, &message.octets());
        assert!(sent.is_empty(), "{:?}", ParsedDhcp6Reply::parse(&sent[0].1));
    }

    /// Runs an exchange from SOLICIT to REPLY for one address of client `n`; returns the address.
    pub(crate) fn lease(&mut self, n: u16) -> Ipv6Addr {
        let advertise = self.ask(&Dhcp6MessageBuilder::new(MessageType::Solicit, n).na(1, &[]));
        assert_eq!(advertise.kind, MessageType::Advertise);
        let offered = advertise.leased(0);
        let reply =
            self.ask(&Dhcp6MessageBuilder::new(MessageType::Request, n).for_us().na(1, &[offered]));
        assert_eq!((reply.kind, reply.leased(0)), (MessageType::Reply, offered));
        offered
    }
}
