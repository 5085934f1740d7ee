//! DHCPv6 clients behind a relay agent that request an address.

use std::net::{Ipv6Addr, SocketAddrV6};

use dhcp_config::NoIncludes;
use dhcp_engine::v6::{Ingress, Snapshot};
use dhcp_lease::v6::{LeaseTable, V6};
use dhcp_wire::v6::{IaKind, MessageType, Packet, RelayWriter, option};

use super::ScalingClients;

const CONFIGURATION: &str = r#"{ "Dhcp6": {
    "interfaces-config": { "interfaces": [ "*" ] },
    "valid-lifetime": 4000, "cache-threshold": 0.0,
    "option-data": [ { "name": "dns-servers", "data": "2001:db8::2" } ],
    "subnet6": [ { "id": 1, "subnet": "2001:db8:1::/64",
                   "pools": [ { "pool": "2001:db8:1::/80" } ] } ]
} }"#;

const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 1];
const RELAY: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0xffff, 0, 0, 1);
const CLIENT: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xc);

impl ScalingClients for V6 {
    const NAME: &'static str = "DHCPv6";

    fn compile(table: &LeaseTable) -> Snapshot {
        let checked = dhcp_config::parse_dhcp6("example", CONFIGURATION, &mut NoIncludes);
        let config = checked.unwrap_or_else(|problems| panic!("{}", problems[0])).config;
        Snapshot::compile(&config, &SERVER_DUID, |specs, reserved| table.configure(specs, reserved))
    }

    fn ingress() -> Ingress {
        Ingress {
            source: SocketAddrV6::new(RELAY, 547, 0, 0),
            local: Ipv6Addr::UNSPECIFIED,
            interface: 0,
            is_multicast: false,
            listener_index: 0,
        }
    }

    fn ask(buffer: &mut [u8], client: u32) -> usize {
        message(buffer, MessageType::Solicit, client, None)
    }

    fn take(buffer: &mut [u8], offer: &[u8]) -> usize {
        let reply = Packet::parse(offer).expect("the server sent it").message();
        let duid = reply.client_id().expect("the server sends it back");
        let client = duid.last_chunk().map_or(0, |number| u32::from_be_bytes(*number));
        let offered = reply.ias().find_map(|ia| ia.addresses().next());
        message(buffer, MessageType::Request, client, offered.map(|offered| offered.address))
    }

    fn is_granted(reply: &[u8]) -> bool {
        let reply = Packet::parse(reply).expect("the server sent it").message();
        let has_address = reply.ias().any(|ia| ia.addresses().next().is_some());
        reply.message_type() == MessageType::Reply && has_address
    }
}

fn message(buffer: &mut [u8], kind: MessageType, client: u32, address: Option<Ipv6Addr>) -> usize {
    let mut duid = [0, 3, 0, 1, 2, 0, 0, 0, 0, 0];
    duid[6..].copy_from_slice(&client.to_be_bytes());
    let levels = RelayWriter::forward(buffer).level(0, RELAY, CLIENT);
    let mut writer = levels.message(kind, client & 0x00ff_ffff);
    writer.option(option::CLIENTID, &duid).option(option::ORO, &[0, 23, 0, 24]);
    if kind != MessageType::Solicit {
        writer.option(option::SERVERID, &SERVER_DUID);
    }
    let mark = writer.ia(IaKind::Na, 1, 0, 0);
    if let Some(address) = address {
        writer.ia_address(address, 0, 0);
    }
    writer.end(mark);
    writer.finish().expect("the buffer is large")
}
