//! The steady packet path allocates nothing: whole exchanges and renewals through a shard with a
//! lease file, counted by the allocator on the thread that serves.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use base::Now;
use base::time::NS_PER_S;
use dhcp_engine::InFlight;
use dhcp_engine::v4::{Ingress, Shard, Snapshot, Transmit};
use dhcp_lease::v4::{LeaseTable, V4};
use dhcp_store::MemfileStore;
use dhcp_store::log::{CoreOptions, Durability, LogThread, Shards, ThreadOptions};
use dhcp_store::memfile::{Memfile, OpenOptions};
use dhcp_store::storage::DiskStorage;
use dhcp_wire::v4::{Header, Message, MessageType, MessageWriter, option};

const CONFIGURATION: &str = r#"{ "Dhcp4": {
    "interfaces-config": { "interfaces": [ "*" ], "dhcp-socket-type": "udp" },
    "valid-lifetime": 4000, "cache-threshold": 0.0,
    "option-data": [ { "name": "domain-name-servers", "data": "10.0.0.2" } ],
    "subnet4": [ { "id": 1, "subnet": "10.0.0.0/8",
                   "pools": [ { "pool": "10.1.0.0 - 10.1.255.255" } ] } ]
} }"#;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RELAY: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);

/// Keeps the last reply.
struct Last {
    octets: [u8; 1500],
    len: usize,
    count: usize,
}

impl Transmit for Last {
    fn transmit(&mut self, _to: SocketAddrV4, _ingress: Ingress, octets: &[u8]) -> bool {
        self.octets[..octets.len()].copy_from_slice(octets);
        self.len = octets.len();
        self.count += 1;
        true
    }
}

fn message(buffer: &mut [u8], kind: MessageType, client: u32, options: &[(u8, &[u8])]) -> usize {
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
        giaddr: RELAY,
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

/// One exchange and one renewal for each of `clients`; how many were acknowledged.
fn serve(shard: &mut Shard<MemfileStore<V4>>, now: Now, clients: std::ops::Range<u32>) -> usize {
    let mut buffer = [0; 600];
    let mut last = Last { octets: [0; 1500], len: 0, count: 0 };
    let ingress = Ingress { source: SocketAddrV4::new(RELAY, 67), local: SERVER, door: 0 };
    let mut acknowledged = 0;
    for client in clients {
        let len = message(&mut buffer, MessageType::Discover, client, &[]);
        shard.handle(now, &buffer[..len], ingress, &mut last);
        shard.end_batch(now, &mut last);
        let offer = Message::parse(&last.octets[..last.len]).expect("the server sent it");
        let wanted = offer.yiaddr().octets();
        let options: [(u8, &[u8]); 2] = [
            (option::REQUESTED_IP_ADDRESS, &wanted),
            (option::SERVER_IDENTIFIER, &SERVER.octets()),
        ];
        for _ in 0..2 {
            let len = message(&mut buffer, MessageType::Request, client, &options);
            shard.handle(now, &buffer[..len], ingress, &mut last);
            shard.end_batch(now, &mut last);
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
    let (memfile, ..) =
        Memfile::open(Arc::new(DiskStorage), &path, OpenOptions::default()).expect("it opens");
    // Without a flush in between the shard writes its rows itself, so one thread does it all.
    let core = CoreOptions { durability: Durability::None, lfc_interval_s: 0 };
    let options = ThreadOptions { core, ..ThreadOptions::default() };
    let clock = Box::new(netio::Clock::now);
    let log = LogThread::start(Shards::new(1, |_| ()), memfile, options, clock).expect("it starts");
    let store = MemfileStore::new(Arc::clone(&table), log.shard(0));
    let mut shard = Shard::new(store, snapshot, Arc::new(InFlight::new(1, 1024)));
    let now = Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 };

    // The first ones grow buffers to their working size.
    assert_eq!(serve(&mut shard, now, 0..2_000), 4_000);
    let mut acknowledged = 0;
    let counted = allocation_counter::measure(|| {
        acknowledged = serve(&mut shard, now.after_ns(NS_PER_S), 1_000..22_000);
    });
    assert_eq!(acknowledged, 42_000);
    assert_eq!(counted.count_total, 0, "{counted:?}");
    drop(shard);
    log.stop().expect("all is written");
    std::fs::remove_dir_all(&folder).expect("it was made here");
}
