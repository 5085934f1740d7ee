//! Clients that request an address and a prefix in one message.

use std::net::{Ipv6Addr, SocketAddrV6};
use std::ops::Range;

use base::Now;
use dhcp_engine::ReplySink;
use dhcp_engine::v6::{Ingress, Shard, Snapshot};
use dhcp_lease::v6::{LeaseTable, V6};
use dhcp_store::MemfileStore;
use dhcp_wire::v6::{IaKind, MessageType, Packet, RelayWriter, option};

use super::{AllocationClients, ClientAttachment, INTERFACE, LastReply};

/// Configuration with classes of every kind, guards, tags, options of vendors and of relay agents,
/// a shared network, excluded prefixes, and reservations of some of the clients by every
/// identifier. It has no names and no stored relay options, which leases keep on the heap.
const CONFIGURATION: &str = r#"{ "Dhcp6": {
    "interfaces-config": { "interfaces": [ "*" ] },
    "valid-lifetime": 4000, "cache-threshold": 0.0,
    "hooks-libraries": [ { "library": "libdhcp_flex_id.so", "parameters": {
        "identifier-expression": "concat('client ', substring(option[1].hex, 6, all))" } },
        { "library": "libdhcp_ddns_tuning.so", "parameters": { "hostname-expr":
            "ifelse(member('nobody'), 'x', substring(hexstring(option[1].hex, ':'), 9000, all))" } } ],
    "host-reservation-identifiers": [ "flex-id", "hw-address", "duid" ],
    "option-data": [ { "name": "dns-servers", "data": "2001:db8::2" },
        { "name": "sntp-servers", "data": "2001:db8::3", "client-classes": [ "odd" ],
          "always-send": true } ],
    "client-classes": [
        { "name": "odd", "test": "substring(option[1].hex, 9, 1) == 0x07 or option[61].hex == 'none'",
          "valid-lifetime": 3000, "preferred-lifetime": 2000,
          "option-data": [ { "name": "nis-servers", "data": "2001:db8::4", "always-send": true } ] },
        { "name": "made", "template-test": "hexstring(substring(option[1].hex, 8, 1), ':')" },
        { "name": "known", "test": "member('KNOWN') and not member('odd')" },
        { "name": "late", "only-in-additional-list": true, "test": "relay6[0].linkaddr == 2001:db8:1::ffff",
          "option-data": [ { "name": "nisp-servers", "data": "2001:db8::5", "always-send": true } ] },
        { "name": "vendor", "test": "vendor-class[4491].data[0] == 'x' or vendor[4491].option[1].exists",
          "option-data": [ { "name": "domain-search", "data": "example.org" } ] },
        { "name": "port", "test": "relay6[0].option[37].exists and split(option[15].hex, ':', 2) == 'b'" },
        { "name": "SPAWN_made_07", "valid-lifetime": 3500 },
        { "name": "nobody", "test": "pkt6.msgtype == 250" } ],
    "relay-supplied-options": [ "100" ], "mac-sources": [ "client-link-addr-option", "any" ],
    "shared-networks": [ { "name": "link", "interface": "eth0", "subnet6": [
      { "id": 2, "subnet": "2001:db8:2::/64", "client-classes": [ "nobody" ],
        "pools": [ { "pool": "2001:db8:2::/120" } ] },
      { "id": 1, "subnet": "2001:db8:1::/64", "allocator": "random",
        "evaluate-additional-classes": [ "late" ],
        "pools": [ { "pool": "2001:db8:1::1:0/120", "client-classes": [ "nobody" ] },
                   { "pool": "2001:db8:1::/112", "client-classes": [ "ALL" ] } ],
        "pd-pools": [ { "prefix": "2001:db8:8000::", "prefix-len": 40, "delegated-len": 56,
                        "excluded-prefix": "2001:db8:8000:1::", "excluded-prefix-len": 64 } ],
        "reservations": [
            { "duid": "00:02:00:00:00:09:00:00:05:dc", "ip-addresses": [ "2001:db8:1::5" ] },
            { "duid": "00:02:00:00:00:09:00:00:05:dd", "ip-addresses": [ "2001:db8:1::7:1" ],
              "prefixes": [ "3000:1::/48" ], "client-classes": [ "late" ] },
            { "flex-id": "63:6c:69:65:6e:74:20:00:00:75:30",
              "option-data": [ { "name": "dns-servers", "data": "2001:db8::6" },
                  { "name": "vendor-opts", "data": "4491" , "always-send": true },
                  { "space": "vendor-4491", "code": 2000, "csv-format": false, "data": "01",
                    "always-send": true } ] },
            { "hw-address": "02:00:00:00:05:de", "ip-addresses": [ "2001:db8:1::9" ],
              "prefixes": [ "3000:2::/48" ], "excluded-prefixes": [ "3000:2:0:1::/64" ] } ] } ] } ]
} }"#;

const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 1];
/// Address of the relay agent that is nearer to the clients, and so of their link.
const NEAR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0xffff);
const FAR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 0xffff);
const CLIENT: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xc);

impl ReplySink<V6> for LastReply {
    fn transmit(&mut self, _: SocketAddrV6, _: Ingress, octets: &[u8]) -> bool {
        self.keep(octets);
        true
    }
}

impl AllocationClients for V6 {
    const NAME: &'static str = "v6";
    type Outlet = LastReply;

    fn compile(table: &LeaseTable) -> Snapshot {
        let checked = dhcp_config::parse_dhcp6(
            "test.conf",
            CONFIGURATION,
            &mut dhcp_server::FileIncludeResolver::default(),
        );
        let config = checked.expect("sound").config;
        Snapshot::compile(&config, &SERVER_DUID, |specs, reserved| table.configure(specs, reserved))
    }

    fn outlet() -> LastReply {
        LastReply::NONE
    }

    fn attend(
        shard: &mut Shard<MemfileStore<Self>>,
        link: ClientAttachment,
        now: Now,
        clients: Range<u32>,
        last: &mut LastReply,
    ) -> usize {
        let mut buffer = [0; 600];
        let mut acknowledged = 0;
        for client in clients {
            last.len = 0;
            for kind in [MessageType::Solicit, MessageType::Request, MessageType::Renew] {
                let len = message(&mut buffer, link, kind, client, last.octets());
                shard.handle(now, &buffer[..len], ingress(link), last);
                shard.end_batch(now, last);
                acknowledged += usize::from(is_granted(last.octets()));
            }
        }
        acknowledged
    }
}

fn ingress(link: ClientAttachment) -> Ingress {
    let is_direct = link == ClientAttachment::Direct;
    let (source, port) = if is_direct { (CLIENT, 546) } else { (FAR, 547) };
    Ingress {
        source: SocketAddrV6::new(source, port, 0, 0),
        local: Ipv6Addr::UNSPECIFIED,
        interface: if is_direct { INTERFACE } else { 0 },
        is_multicast: is_direct,
        listener_index: 0,
    }
}

/// Writes a message that requests the leases of the last reply, `granted`, or any lease if
/// `granted` is empty.
fn message(
    buffer: &mut [u8],
    link: ClientAttachment,
    kind: MessageType,
    client: u32,
    granted: &[u8],
) -> usize {
    let mut duid = [0, 2, 0, 0, 0, 9, 0, 0, 0, 0];
    duid[6..].copy_from_slice(&client.to_be_bytes());
    let mut levels = RelayWriter::forward(buffer);
    if link == ClientAttachment::Relayed {
        levels = levels.level(1, Ipv6Addr::UNSPECIFIED, NEAR).option(option::INTERFACE_ID, b"far");
        let mut hardware = [0, 1, 2, 0, 0, 0, 0, 0];
        hardware[4..].copy_from_slice(&client.to_be_bytes());
        levels = levels
            .level(0, NEAR, CLIENT)
            .option(option::INTERFACE_ID, b"port")
            .option(option::REMOTE_ID, b"\x00\x00\x00\x09remote")
            .option(option::CLIENT_LINKLAYER_ADDR, &hardware)
            .option(option::RSOO, &[0, 65, 0, 2, 0, 0, 0, 100, 0, 1, 7]);
    }
    let mut writer = levels.message(kind, client);
    writer.option(option::CLIENTID, &duid).option(option::ORO, &[0, 17, 0, 23, 0, 24, 0, 67]);
    writer.option(option::USER_CLASS, b"a:b");
    writer.option(option::VENDOR_CLASS, &[0, 0, 0x11, 0x8b, 0, 1, b'x']);
    writer.option(option::VENDOR_OPTS, &[0, 0, 0x11, 0x8b, 0, 1, 0, 2, 7, 208]);
    if kind == MessageType::Solicit {
        for ia_kind in [IaKind::Na, IaKind::Pd] {
            let mark = writer.ia(ia_kind, client, 0, 0);
            writer.end(mark);
        }
    } else {
        let reply = Packet::parse(granted).expect("the server sent it").message();
        for (code, value) in reply.options() {
            if [option::SERVERID, option::IA_NA, option::IA_PD].contains(&code) {
                writer.option(code, value);
            }
        }
    }
    writer.finish().expect("the buffer is large")
}

/// Returns true if the message is a REPLY with an address and a prefix.
fn is_granted(octets: &[u8]) -> bool {
    let reply = Packet::parse(octets).expect("the server sent it").message();
    let granted = reply.ias().filter(|ia| ia.addresses().count() + ia.prefixes().count() == 1);
    reply.message_type() == MessageType::Reply && granted.count() == 2
}
