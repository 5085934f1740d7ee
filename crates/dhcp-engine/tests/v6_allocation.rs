//! Test that the steady path of DHCPv6 allocates nothing: exchanges, renewals and releases of an
//! address and a prefix at once, counted by the allocator.

use std::sync::Arc;

use crate::common::TestProtocol;
use crate::common::v6::{RELAY, SERVER_DUID};
use base::Now;
use base::time::NS_PER_S;
use dhcp_engine::v6::{Ingress, Shard};
use dhcp_engine::{InFlight, ReplySink};
use dhcp_lease::v6::{LeaseTable, MemoryStore, V6};
use dhcp_wire::v6::{IaKind, MessageType, Packet, RelayWriter, option};

const CONFIGURATION: &str = r#"{ "Dhcp6": {
    "interfaces-config": { "interfaces": [ "*" ] },
    "valid-lifetime": 4000, "cache-threshold": 0.0,
    "option-data": [ { "name": "dns-servers", "data": "2001:db8::53" } ],
    "subnet6": [ { "id": 1, "subnet": "2001:db8:1::/64",
        "pools": [ { "pool": "2001:db8:1::/100" } ],
        "pd-pools": [ { "prefix": "2001:db8:8000::", "prefix-len": 34, "delegated-len": 56 } ] } ]
} }"#;

/// Receiver that keeps the last reply.
struct LastReplyReceiver {
    octets: [u8; 1500],
    len: usize,
    count: usize,
}

impl ReplySink<V6> for LastReplyReceiver {
    fn transmit(&mut self, _: std::net::SocketAddrV6, _: Ingress, octets: &[u8]) -> bool {
        self.octets[..octets.len()].copy_from_slice(octets);
        self.len = octets.len();
        self.count += 1;
        true
    }
}

/// Writes a relayed message with both associations, which name what the last reply granted.
fn message(buffer: &mut [u8], kind: MessageType, client: u32, last: &LastReplyReceiver) -> usize {
    let mut duid = [0, 3, 0, 1, 2, 0, 0, 0, 0, 0];
    duid[6..].copy_from_slice(&client.to_be_bytes());
    let levels = RelayWriter::forward(buffer).level(0, RELAY, RELAY);
    let mut writer = levels.option(option::INTERFACE_ID, b"port").message(kind, client);
    writer.option(option::CLIENTID, &duid).option(option::ORO, &[0, 23, 0, 24]);
    let last_reply = Packet::parse(&last.octets[..last.len]).ok().map(|packet| packet.message());
    let last_reply = last_reply.filter(|_| kind != MessageType::Solicit);
    if last_reply.is_some() {
        writer.option(option::SERVERID, &SERVER_DUID);
    }
    for ia_kind in [IaKind::Na, IaKind::Pd] {
        let mark = writer.ia(ia_kind, 1, 0, 0);
        for ia in
            last_reply.iter().flat_map(|message| message.ias()).filter(|ia| ia.kind == ia_kind)
        {
            for address in ia.addresses() {
                writer.ia_address(address.address, 0, 0);
            }
            for prefix in ia.prefixes() {
                writer.ia_prefix(prefix.prefix, prefix.len, 0, 0);
            }
        }
        writer.end(mark);
    }
    writer.finish().expect("the buffer is large")
}

/// Runs the whole life of each of `clients`; returns the number of replies.
fn serve(shard: &mut Shard<MemoryStore>, now: Now, clients: std::ops::Range<u32>) -> usize {
    let mut buffer = [0; 600];
    let mut last = LastReplyReceiver { octets: [0; 1500], len: 0, count: 0 };
    for client in clients {
        let kinds = [MessageType::Solicit, MessageType::Request, MessageType::Renew];
        let end = (client % 2 == 0).then_some(MessageType::Release);
        for kind in kinds.into_iter().chain(end) {
            let len = message(&mut buffer, kind, client, &last);
            shard.handle(now, &buffer[..len], V6::INGRESS, &mut last);
            shard.end_batch(now, &mut last);
        }
    }
    last.count
}

#[test]
fn exchanges_renewals_and_releases_allocate_nothing() {
    let table = Arc::new(LeaseTable::new(1));
    let snapshot = Arc::new(V6::compile(CONFIGURATION, &table));
    let store = MemoryStore::new(Arc::clone(&table));
    let mut shard = Shard::new(store, snapshot, Arc::new(InFlight::new(1, 1024)));
    let now = Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 };

    // The first clients grow buffers to their working size.
    assert_eq!(serve(&mut shard, now, 0..30_000), 105_000);
    let mut replies = 0;
    let counted = allocation_counter::measure(|| {
        replies = serve(&mut shard, now.after_ns(NS_PER_S), 1_000..21_000);
    });
    assert_eq!(replies, 70_000);
    assert_eq!(counted.count_total, 0, "{counted:?}");
}
