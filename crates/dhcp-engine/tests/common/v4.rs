//! DHCPv4 in tests.

use std::net::{Ipv4Addr, SocketAddrV4};

use dhcp_engine::v4::{Ingress, Snapshot};
use dhcp_lease::v4::{LeaseTable, V4};
use dhcp_wire::v4::{Dhcp4Header, Message, MessageType, MessageWriter, option};

use super::{EngineTestIncludes, TestProtocol};

pub(crate) type Server = super::EngineTestServer<V4>;
pub(crate) type Sink = super::ReplyCollector<V4>;

pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const RELAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Configuration of one subnet of four addresses with options; timers explicit.
pub(crate) const SMALL: &str = r#"{ "Dhcp4": {
    "interfaces-config": { "interfaces": [ "*" ], "dhcp-socket-type": "udp" },
    "valid-lifetime": 1000, "min-valid-lifetime": 500, "max-valid-lifetime": 2000,
    "renew-timer": 400, "rebind-timer": 800,
    "decline-probation-period": 100,
    "cache-threshold": 0.25,
    "next-server": "10.0.0.7", "boot-file-name": "boot.bin", "server-hostname": "files",
    "option-data": [
        { "name": "domain-name-servers", "data": "10.0.0.2, 10.0.0.3" },
        { "name": "ntp-servers", "data": "10.0.0.4" } ],
    "user-context": { "godwit": { "hold-time-ms": 10000 } },
    "subnet4": [ { "id": 1, "subnet": "10.0.0.0/24",
        "pools": [ { "pool": "10.0.0.10 - 10.0.0.13" } ],
        "option-data": [ { "name": "routers", "data": "10.0.0.1" } ] } ]
} }"#;

impl TestProtocol for V4 {
    const INGRESS: Ingress = Ingress::routed(SocketAddrV4::new(RELAY, 67), SERVER);

    fn compile(text: &str, table: &LeaseTable) -> Snapshot {
        let checked = dhcp_config::parse_dhcp4("test.conf", text, &mut EngineTestIncludes)
            .unwrap_or_else(|problems| panic!("{}", problems[0]));
        Snapshot::compile(&checked.config, |specs, reserved| table.configure(specs, reserved))
    }
}

impl Server {
    /// Sends a message that must get exactly one reply.
    pub(crate) fn ask(&mut self, message: &Dhcp4MessageBuilder) -> Vec<u8> {
        self.ask_octets(&message.octets())
    }

    /// Sends a message that must get no reply.
    pub(crate) fn tell(&mut self, message: &Dhcp4MessageBuilder) {
        assert!(self.send_to(0, &message.octets()).is_empty());
    }

    /// Runs an exchange from DISCOVER to ACK for client `n`; returns the address.
    pub(crate) fn lease(&mut self, n: u8) -> Ipv4Addr {
        let offer = self.ask(&Dhcp4MessageBuilder::new(MessageType::Discover, n));
        let offered = Message::parse(&offer).expect("a reply parses").yiaddr();
        let ack = self.ask(
            &Dhcp4MessageBuilder::new(MessageType::Request, n).requested(offered).server(SERVER),
        );
        let ack = Message::parse(&ack).expect("a reply parses");
        assert_eq!(ack.message_type(), Some(MessageType::Ack));
        assert_eq!(ack.yiaddr(), offered);
        offered
    }
}

pub(crate) fn kind(reply: &[u8]) -> Option<MessageType> {
    Message::parse(reply).expect("a reply parses").message_type()
}

/// Message to be built.
#[derive(Clone)]
pub(crate) struct Dhcp4MessageBuilder {
    pub(crate) header: Dhcp4Header,
    pub(crate) options: Vec<(u8, Vec<u8>)>,
}

impl Dhcp4MessageBuilder {
    /// Returns a relayed message of client `n`.
    pub(crate) fn new(kind: MessageType, n: u8) -> Self {
        let mut chaddr = [0; 16];
        chaddr[..6].copy_from_slice(&[2, 0, 0, 0, 0, n]);
        let nowhere = Ipv4Addr::UNSPECIFIED;
        let header = Dhcp4Header {
            op: 1,
            htype: 1,
            hlen: 6,
            hops: 1,
            xid: 0x1000 + u32::from(n),
            secs: 3,
            flags: 0,
            ciaddr: nowhere,
            yiaddr: nowhere,
            siaddr: nowhere,
            giaddr: RELAY,
            chaddr,
        };
        Self { header, options: vec![(option::MESSAGE_TYPE, vec![kind.code()])] }
    }

    pub(crate) fn option(mut self, code: u8, octets: &[u8]) -> Self {
        self.options.push((code, octets.to_vec()));
        self
    }

    pub(crate) fn requested(self, address: Ipv4Addr) -> Self {
        self.option(option::REQUESTED_IP_ADDRESS, &address.octets())
    }

    pub(crate) fn server(self, address: Ipv4Addr) -> Self {
        self.option(option::SERVER_IDENTIFIER, &address.octets())
    }

    pub(crate) fn from(mut self, address: Ipv4Addr) -> Self {
        self.header.ciaddr = address;
        self
    }

    /// Changes the message to one that a client on the server's own link sends.
    pub(crate) fn direct(mut self) -> Self {
        self.header.giaddr = Ipv4Addr::UNSPECIFIED;
        self.header.hops = 0;
        self
    }

    pub(crate) fn octets(&self) -> Vec<u8> {
        let mut buffer = [0; 1400];
        let mut writer = MessageWriter::new(&mut buffer, &self.header);
        for (code, octets) in &self.options {
            writer.option(*code, octets);
        }
        let len = writer.finish(0).expect("a reply parses");
        buffer[..len].to_vec()
    }
}
