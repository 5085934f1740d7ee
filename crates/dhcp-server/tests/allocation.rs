//! The steady packet path allocates nothing: whole exchanges and renewals through a shard with a
//! lease file, counted by the allocator on the thread that serves.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use base::Now;
use base::time::NS_PER_S;
use dhcp_engine::v4::{Destination, Ingress, Shard, Snapshot};
use dhcp_engine::{InFlight, InterfaceNames, Transmit};
use dhcp_lease::v4::{LeaseTable, V4};
use dhcp_store::MemfileStore;
use dhcp_store::log::{CoreOptions, Durability, LogThread, Shards, ThreadOptions};
use dhcp_store::memfile::{Memfile, OpenOptions};
use dhcp_store::storage::DiskStorage;
use dhcp_wire::v4::{Header, Message, MessageType, MessageWriter, option};
use netio::PacketSendBatch;
use packet_wire::frame;

const CONFIGURATION: &str = r#"{ "Dhcp4": {
    "interfaces-config": { "interfaces": [ "*" ], "dhcp-socket-type": "udp" },
    "valid-lifetime": 4000, "cache-threshold": 0.0,
    "option-data": [ { "name": "domain-name-servers", "data": "10.0.0.2" } ],
    "subnet4": [ { "id": 1, "subnet": "10.0.0.0/8", "interface": "eth0",
                   "pools": [ { "pool": "10.1.0.0 - 10.1.255.255" } ] } ]
} }"#;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RELAY: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
/// Index of the interface with the direct clients.
const INTERFACE: u32 = 3;

/// Where clients are.
#[derive(Clone, Copy, PartialEq)]
enum Link {
    /// Behind [`RELAY`].
    Relayed,
    /// On the server's own link; their messages come in frames, and replies go out in frames.
    Direct,
}

/// Keeps the last reply.
struct Last {
    octets: [u8; 1500],
    len: usize,
    count: usize,
    frames: PacketSendBatch,
}

impl Transmit<V4> for Last {
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
        self.octets[..octets.len()].copy_from_slice(octets);
        self.len = octets.len();
        self.count += 1;
        true
    }
}

fn message(
    buffer: &mut [u8],
    link: Link,
    kind: MessageType,
    client: u32,
    options: &[(u8, &[u8])],
) -> usize {
    let mut chaddr = [0; 16];
    chaddr[..2].copy_from_slice(&[2, 0]);
    chaddr[2..6].copy_from_slice(&client.to_be_bytes());
    let nowhere = Ipv4Addr::UNSPECIFIED;
    let header = Header {
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
        giaddr: if link == Link::Relayed { RELAY } else { nowhere },
        chaddr,
    };
    let mut writer = MessageWriter::new(buffer, &header);
    writer.option(option::MESSAGE_TYPE, &[kind.code()]);
    writer.option(option::PARAMETER_REQUEST_LIST, &[1, 3, 6, 15]);
    writer.option(option::CLIENT_ID, &chaddr[..7]);
    for &(code, octets) in options {
        writer.option(code, octets);
    }
    writer.finish(300).expect("the buffer is large")
}

/// Hands over the message of `len` octets behind the headroom of `buffer`.
fn hand_over(
    shard: &mut Shard<MemfileStore<V4>>,
    link: Link,
    now: Now,
    buffer: &mut [u8],
    len: usize,
    last: &mut Last,
) {
    let end = frame::PACKET_HEADROOM + len;
    let mut ingress = Ingress::routed(SocketAddrV4::new(RELAY, 67), SERVER);
    let mut octets = &buffer[frame::PACKET_HEADROOM..end];
    if link == Link::Direct {
        let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68);
        let everyone = SocketAddrV4::new(Ipv4Addr::BROADCAST, 67);
        frame::seal_packet(buffer, len, nowhere, everyone);
        let datagram = frame::open_packet(&buffer[..end]).expect("it was just sealed");
        assert!(datagram.is_checksum_right());
        let source = datagram.source;
        ingress = Ingress { source, interface: INTERFACE, is_broadcast: true, ..ingress };
        octets = datagram.payload;
    }
    shard.handle(now, octets, ingress, last);
    shard.end_batch(now, last);
}

/// One exchange and one renewal for each of `clients`; how many were acknowledged.
fn serve(
    shard: &mut Shard<MemfileStore<V4>>,
    link: Link,
    now: Now,
    clients: std::ops::Range<u32>,
    last: &mut Last,
) -> usize {
    let mut buffer = [0; 600];
    let mut acknowledged = 0;
    for client in clients {
        let room = &mut buffer[frame::PACKET_HEADROOM..];
        let len = message(room, link, MessageType::Discover, client, &[]);
        hand_over(shard, link, now, &mut buffer, len, last);
        let offer = Message::parse(&last.octets[..last.len]).expect("the server sent it");
        let wanted = offer.yiaddr().octets();
        let options: [(u8, &[u8]); 2] = [
            (option::REQUESTED_IP_ADDRESS, &wanted),
            (option::SERVER_IDENTIFIER, &SERVER.octets()),
        ];
        for _ in 0..2 {
            let room = &mut buffer[frame::PACKET_HEADROOM..];
            let len = message(room, link, MessageType::Request, client, &options);
            hand_over(shard, link, now, &mut buffer, len, last);
            let ack = Message::parse(&last.octets[..last.len]).expect("the server sent it");
            acknowledged += usize::from(ack.message_type() == Some(MessageType::Ack));
        }
    }
    acknowledged
}

#[test]
fn exchanges_and_renewals_allocate_nothing() {
    let folder = std::env::temp_dir().join(format!("godwit-allocation-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the temporary folder can be written");
    let checked = dhcp_config::parse_dhcp4("test.conf", CONFIGURATION, &mut dhcp_server::Files)
        .expect("sound");
    let table = Arc::new(LeaseTable::new(1));
    let snapshot = Arc::new(Snapshot::compile(&checked.config, |pools| table.configure(pools)));
    let path = folder.join("leases.csv");
    let (memfile, ..) = Memfile::open::<V4>(Arc::new(DiskStorage), &path, OpenOptions::default())
        .expect("it opens");
    // Without a flush in between the shard writes its rows itself, so one thread does it all.
    let core = CoreOptions { durability: Durability::None, lfc_interval_s: 0 };
    let options = ThreadOptions { core, ..ThreadOptions::default() };
    let clock = Box::new(netio::Clock::now);
    let log = LogThread::start(Shards::new(1, |_| ()), memfile, options, clock).expect("it starts");
    let store = MemfileStore::new(Arc::clone(&table), log.shard(0));
    let mut shard = Shard::new(store, snapshot, Arc::new(InFlight::new(1, 1024)));
    let now = Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 };

    shard.set_interfaces(Arc::new(InterfaceNames::new([(INTERFACE, "eth0")])));
    let frames = PacketSendBatch::new(4, 1_500);
    let mut last = Last { octets: [0; 1500], len: 0, count: 0, frames };

    // The first ones grow buffers to their working size.
    assert_eq!(serve(&mut shard, Link::Relayed, now, 0..2_000, &mut last), 4_000);
    for (link, clients) in [(Link::Relayed, 1_000..22_000), (Link::Direct, 21_000..42_000)] {
        let mut acknowledged = 0;
        let counted = allocation_counter::measure(|| {
            let later = now.after_ns(NS_PER_S);
            acknowledged = serve(&mut shard, link, later, clients, &mut last);
        });
        assert_eq!(acknowledged, 42_000);
        assert_eq!(counted.count_total, 0, "{counted:?}");
    }
    drop(shard);
    log.stop().expect("all is written");
    std::fs::remove_dir_all(&folder).expect("it was made here");
}
