//! Clients behind a relay agent, and direct ones whose messages and replies are frames.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;

use base::Now;
use dhcp_engine::ReplySink;
use dhcp_engine::v4::{Destination, Ingress, Shard, Snapshot};
use dhcp_lease::v4::{LeaseTable, V4};
use dhcp_store::MemfileStore;
use dhcp_wire::v4::{Dhcp4Header, Message, MessageType, MessageWriter, option};
use netio::PacketSendBatch;
use packet_wire::frame;

use super::{AllocationClients, ClientAttachment, INTERFACE, LastReply};

/// Configuration with classes of every kind, guards, tags, vendor options, a shared network, agent
/// options found in leases, and reservations of some of the clients by every identifier. It has no
/// names and no stored relay options, which leases keep on the heap.
const CONFIGURATION: &str = r#"{ "Dhcp4": {
    "interfaces-config": { "interfaces": [ "*" ], "dhcp-socket-type": "udp" },
    "valid-lifetime": 4000, "cache-threshold": 0.0, "stash-agent-options": true,
    "hooks-libraries": [ { "library": "libdhcp_flex_id.so", "parameters": {
        "identifier-expression": "concat('client ', substring(pkt4.mac, 2, all))" } },
        { "library": "libdhcp_ddns_tuning.so", "parameters": { "hostname-expr":
            "ifelse(member('nobody'), 'x', substring(hexstring(pkt4.mac, ':'), 9000, all))" } } ],
    "host-reservation-identifiers": [ "flex-id", "circuit-id", "duid", "client-id", "hw-address" ],
    "option-data": [ { "name": "domain-name-servers", "data": "10.0.0.2" },
        { "name": "vivso-suboptions", "data": "9" },
        { "space": "vendor-9", "code": 3, "csv-format": false, "data": "03", "always-send": true },
        { "space": "vendor-4491", "name": "tftp-servers", "data": "10.1.1.2" },
        { "name": "log-servers", "data": "10.0.0.3", "client-classes": [ "odd" ] } ],
    "client-classes": [
        { "name": "odd", "test": "substring(pkt4.mac, 5, 1) == 0x07 or option[61].hex == 'none'",
          "valid-lifetime": 3000,
          "option-data": [ { "name": "time-servers", "data": "10.0.0.4", "always-send": true } ] },
        { "name": "made", "template-test": "hexstring(substring(pkt4.mac, 4, 1), ':')" },
        { "name": "known", "test": "member('KNOWN') and not member('odd')", "next-server": "10.0.0.9" },
        { "name": "late", "only-in-additional-list": true, "test": "pkt4.giaddr == 10.255.0.1",
          "option-data": [ { "name": "cookie-servers", "data": "10.0.0.5", "always-send": true } ] },
        { "name": "vendor", "test": "vendor-class[4491].exists and vendor[*].exists",
          "offer-lifetime": 0, "boot-file-name": "vendor",
          "option-data": [ { "name": "routers", "data": "10.0.0.7" } ] },
        { "name": "port", "test": "relay4[1].hex == 'port' or split(option[60].hex, ':', 2) == 'b'" },
        { "name": "SPAWN_made_07", "server-hostname": "made" },
        { "name": "nobody", "test": "pkt4.hlen == 7" } ],
    "shared-networks": [ { "name": "link", "interface": "eth0", "subnet4": [
      { "id": 2, "subnet": "11.0.0.0/8", "client-classes": [ "nobody" ],
        "pools": [ { "pool": "11.0.0.0/24" } ] },
      { "id": 1, "subnet": "10.0.0.0/8", "allocator": "random",
        "evaluate-additional-classes": [ "late" ],
        "pools": [ { "pool": "10.3.0.0 - 10.3.0.255", "client-classes": [ "nobody" ] },
                   { "pool": "10.1.0.0 - 10.1.255.255", "client-classes": [ "ALL" ] } ],
        "reservations": [
            { "hw-address": "02:00:00:00:05:dc", "ip-address": "10.1.0.5" },
            { "hw-address": "02:00:00:00:05:dd", "ip-address": "10.2.0.6",
              "client-classes": [ "late" ] },
            { "client-id": "02:00:00:00:75:30:00",
              "option-data": [ { "name": "cookie-servers", "data": "10.0.0.6" } ] },
            { "flex-id": "63:6c:69:65:6e:74:20:00:00:05:de", "ip-address": "10.1.0.7" },
            { "duid": "00:03:00:01:02:00:00:00:05:df", "ip-address": "10.1.0.8" } ] } ] } ]
} }"#;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RELAY: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
/// Keeper of the last reply; replies to direct clients go through frames.
pub struct LastReplyOutlet {
    last: LastReply,
    frames: PacketSendBatch,
}

impl ReplySink<V4> for LastReplyOutlet {
    fn transmit(&mut self, to: Destination, ingress: Ingress, octets: &[u8]) -> bool {
        if let Destination::Hardware { mac, address } = to {
            let slot = self.frames.slot().expect("the batch is emptied after each message");
            let payload = frame::PACKET_HEADROOM..frame::PACKET_HEADROOM + octets.len();
            slot[payload].copy_from_slice(octets);
            let from = SocketAddrV4::new(ingress.local, 67);
            let len = frame::seal_packet(slot, octets.len(), from, address);
            self.frames.commit(len, ingress.interface, mac);
            self.frames.discard();
        }
        self.last.keep(octets);
        true
    }
}

impl AllocationClients for V4 {
    const NAME: &'static str = "v4";
    type Outlet = LastReplyOutlet;

    fn compile(table: &LeaseTable) -> Snapshot {
        let checked = dhcp_config::parse_dhcp4(
            "test.conf",
            CONFIGURATION,
            &mut dhcp_server::FileIncludeResolver::default(),
        );
        let config = checked.expect("sound").config;
        Snapshot::compile(&config, |specs, reserved| table.configure(specs, reserved))
    }

    fn outlet() -> LastReplyOutlet {
        LastReplyOutlet { last: LastReply::NONE, frames: PacketSendBatch::new(4, 1_500) }
    }

    fn attend(
        shard: &mut Shard<MemfileStore<Self>>,
        link: ClientAttachment,
        now: Now,
        clients: Range<u32>,
        outlet: &mut LastReplyOutlet,
    ) -> usize {
        let mut buffer = [0; 600];
        let mut acknowledged = 0;
        for client in clients {
            let room = &mut buffer[frame::PACKET_HEADROOM..];
            let len = message(room, link, MessageType::Discover, client, &[]);
            hand_over(shard, link, now, &mut buffer, len, outlet);
            let offer = Message::parse(outlet.last.octets()).expect("the server sent it");
            let offered = offer.yiaddr().octets();
            let options: [(u8, &[u8]); 2] = [
                (option::REQUESTED_IP_ADDRESS, &offered),
                (option::SERVER_IDENTIFIER, &SERVER.octets()),
            ];
            for _ in 0..2 {
                let room = &mut buffer[frame::PACKET_HEADROOM..];
                let len = message(room, link, MessageType::Request, client, &options);
                hand_over(shard, link, now, &mut buffer, len, outlet);
                let ack = Message::parse(outlet.last.octets()).expect("the server sent it");
                acknowledged += usize::from(ack.message_type() == Some(MessageType::Ack));
            }
        }
        acknowledged
    }
}

fn message(
    buffer: &mut [u8],
    link: ClientAttachment,
    kind: MessageType,
    client: u32,
    options: &[(u8, &[u8])],
) -> usize {
    let mut chaddr = [0; 16];
    chaddr[..2].copy_from_slice(&[2, 0]);
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
        giaddr: if link == ClientAttachment::Relayed { RELAY } else { nowhere },
        chaddr,
    };
    let mut writer = MessageWriter::new(buffer, &header);
    writer.option(option::MESSAGE_TYPE, &[kind.code()]);
    writer.option(option::PARAMETER_REQUEST_LIST, &[1, 3, 6, 15, 125]);
    writer.option(option::CLIENT_ID, &chaddr[..7]);
    writer.option(option::VENDOR_CLASS_IDENTIFIER, b"a:b");
    writer.option(option::VENDOR_IDENTIFYING_VENDOR_CLASS, &[0, 0, 0x11, 0x8b, 2, 1, b'x']);
    writer.option(
        option::VENDOR_IDENTIFYING_VENDOR_SPECIFIC_INFORMATION,
        &[0, 0, 0x11, 0x8b, 3, 1, 1, 2],
    );
    if link == ClientAttachment::Relayed {
        writer.option(option::RELAY_AGENT_INFORMATION, b"\x01\x04port\x02\x06remote");
    }
    for &(code, octets) in options {
        writer.option(code, octets);
    }
    writer.finish(300).expect("the buffer is large")
}

/// Passes the message of `len` bytes after the headroom of `buffer` to the shard.
fn hand_over(
    shard: &mut Shard<MemfileStore<V4>>,
    link: ClientAttachment,
    now: Now,
    buffer: &mut [u8],
    len: usize,
    outlet: &mut LastReplyOutlet,
) {
    let end = frame::PACKET_HEADROOM + len;
    let mut ingress = Ingress::routed(SocketAddrV4::new(RELAY, 67), SERVER);
    let mut octets = &buffer[frame::PACKET_HEADROOM..end];
    if link == ClientAttachment::Direct {
        let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68);
        let everyone = SocketAddrV4::new(Ipv4Addr::BROADCAST, 67);
        frame::seal_packet(buffer, len, nowhere, everyone);
        let datagram = frame::open_packet(&buffer[..end]).expect("it was just sealed");
        assert!(datagram.is_checksum_right());
        let source = datagram.source;
        ingress = Ingress { source, interface: INTERFACE, is_broadcast: true, ..ingress };
        octets = datagram.payload;
    }
    shard.handle(now, octets, ingress, outlet);
    shard.end_batch(now, outlet);
}
