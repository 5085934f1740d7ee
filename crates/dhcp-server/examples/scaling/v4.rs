//! DHCPv4 clients behind a relay agent.

use std::net::{Ipv4Addr, SocketAddrV4};

use dhcp_config::NoIncludes;
use dhcp_engine::v4::{Ingress, Snapshot};
use dhcp_lease::v4::{LeaseTable, V4};
use dhcp_wire::v4::{Dhcp4Header, Message, MessageType, MessageWriter, option};

use super::ScalingClients;

const CONFIGURATION: &str = r#"{ "Dhcp4": {
    "interfaces-config": { "interfaces": [ "*" ], "dhcp-socket-type": "udp" },
    "valid-lifetime": 4000, "cache-threshold": 0.0,
    "option-data": [ { "name": "domain-name-servers", "data": "10.0.0.2" },
                     { "name": "routers", "data": "10.0.0.1" } ],
    "subnet4": [ { "id": 1, "subnet": "10.0.0.0/8",
                   "pools": [ { "pool": "10.16.0.0 - 10.254.255.255" } ] } ]
} }"#;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RELAY: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);

impl ScalingClients for V4 {
    const NAME: &'static str = "DHCPv4";

    fn compile(table: &LeaseTable) -> Snapshot {
        let checked = dhcp_config::parse_dhcp4("example", CONFIGURATION, &mut NoIncludes);
        let config = checked.unwrap_or_else(|problems| panic!("{}", problems[0])).config;
        Snapshot::compile(&config, |specs, reserved| table.configure(specs, reserved))
    }

    fn ingress() -> Ingress {
        Ingress::routed(SocketAddrV4::new(RELAY, 67), SERVER)
    }

    fn ask(buffer: &mut [u8], client: u32) -> usize {
        message(buffer, MessageType::Discover, client, None)
    }

    fn take(buffer: &mut [u8], offer: &[u8]) -> usize {
        let offer = Message::parse(offer).expect("the server sent it");
        message(buffer, MessageType::Request, offer.xid(), Some(offer.yiaddr()))
    }

    fn is_granted(reply: &[u8]) -> bool {
        let reply = Message::parse(reply).expect("the server sent it");
        reply.message_type() == Some(MessageType::Ack)
    }
}

fn message(buffer: &mut [u8], kind: MessageType, client: u32, address: Option<Ipv4Addr>) -> usize {
    let mut chaddr = [0; 16];
    chaddr[0] = 2;
    chaddr[2..6].copy_from_slice(&client.to_be_bytes());
    let nowhere = Ipv4Addr::UNSPECIFIED;
    let header = Dhcp4Header {
        op: 1,
        htype: 1,
        hlen: 6,
        hops: 1,
        xid: client,
        secs: 0,
        flags: 0,
        ciaddr: nowhere,
        yiaddr: nowhere,
        siaddr: nowhere,
        giaddr: RELAY,
        chaddr,
    };
    let mut writer = MessageWriter::new(buffer, &header);
    writer.option(option::MESSAGE_TYPE, &[kind.code()]);
    writer.option(option::PARAMETER_REQUEST_LIST, &[1, 3, 6, 15]);
    if let Some(address) = address {
        writer.option(option::REQUESTED_IP_ADDRESS, &address.octets());
        writer.option(option::SERVER_IDENTIFIER, &SERVER.octets());
    }
    writer.finish(300).expect("the buffer is large")
}
