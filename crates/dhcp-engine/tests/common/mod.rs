//! A server on a virtual clock for tests: one table, shards over hand-settled stores, and messages
//! built field by field.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use base::Now;
use base::time::NS_PER_S;
use dhcp_config::IncludeResolver;
use dhcp_engine::InFlight;
use dhcp_engine::Transmit;
use dhcp_engine::v4::{Destination, DropReason, Ingress, Shard, ShardCounters, Snapshot};
use dhcp_lease::v4::testing::{ManualLog, ManualStore};
use dhcp_lease::v4::{LeaseTable, V4};
use dhcp_wire::v4::{Header, Message, MessageType, MessageWriter, option};

pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const RELAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// One subnet of four addresses with options; timers explicit.
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

struct NoIncludes;

impl IncludeResolver for NoIncludes {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        Err(format!("no file {path}"))
    }
}

#[derive(Default)]
pub(crate) struct Sink(pub(crate) Vec<(Destination, Vec<u8>)>);

impl Transmit<V4> for Sink {
    fn transmit(&mut self, to: Destination, _ingress: Ingress, octets: &[u8]) -> bool {
        self.0.push((to, octets.to_vec()));
        true
    }
}

pub(crate) struct Server {
    pub(crate) now: Now,
    pub(crate) shards: Vec<Shard<ManualStore>>,
    pub(crate) counters: Vec<Arc<ShardCounters>>,
    pub(crate) log: Arc<ManualLog>,
    pub(crate) auto_settle: bool,
}

pub(crate) fn compile(text: &str, table: &LeaseTable) -> Arc<Snapshot> {
    let checked = dhcp_config::parse_dhcp4("test.conf", text, &mut NoIncludes)
        .unwrap_or_else(|problems| panic!("{}", problems[0]));
    Arc::new(Snapshot::compile(&checked.config, |specs| table.configure(specs)))
}

impl Server {
    pub(crate) fn new(text: &str) -> Self {
        Self::with_shards(text, 1)
    }

    pub(crate) fn with_shards(text: &str, count: usize) -> Self {
        let table = Arc::new(LeaseTable::new(7));
        let snapshot = compile(text, &table);
        let in_flight = Arc::new(InFlight::new(7, 64));
        let log = Arc::new(ManualLog::default());
        let shards: Vec<_> = (0..count)
            .map(|_| ManualStore::new(Arc::clone(&table), Arc::clone(&log)))
            .map(|store| Shard::new(store, Arc::clone(&snapshot), Arc::clone(&in_flight)))
            .collect();
        let counters = shards.iter().map(Shard::counters).collect();
        let now = Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 };
        Self { now, shards, counters, log, auto_settle: true }
    }

    pub(crate) fn pass_s(&mut self, seconds: u64) {
        self.now = self.now.after_ns(seconds * NS_PER_S);
        for shard in &mut self.shards {
            while shard.housekeeping(self.now, 1_000).is_more_due {}
        }
    }

    /// Gives a message to a shard and ends the batch; the replies that leave.
    pub(crate) fn send_to(&mut self, shard: usize, octets: &[u8]) -> Vec<(Destination, Vec<u8>)> {
        let ingress = Ingress::routed(SocketAddrV4::new(RELAY, 67), SERVER);
        self.send_by(shard, octets, ingress)
    }

    /// The same for a message that came in another way than through the relay.
    pub(crate) fn send_by(
        &mut self,
        shard: usize,
        octets: &[u8],
        ingress: Ingress,
    ) -> Vec<(Destination, Vec<u8>)> {
        let mut sink = Sink::default();
        self.shards[shard].handle(self.now, octets, ingress, &mut sink);
        self.shards[shard].end_batch(self.now, &mut sink);
        if self.auto_settle {
            self.settle(&mut sink);
        }
        sink.0
    }

    /// All rows become safe; waiting replies leave into `sink`.
    pub(crate) fn settle(&mut self, sink: &mut Sink) {
        self.log.settle_all();
        for shard in &mut self.shards {
            shard.end_batch(self.now, sink);
        }
    }

    /// Sends a message that must get exactly one reply.
    pub(crate) fn ask(&mut self, message: &Build) -> Vec<u8> {
        let mut replies = self.send_to(0, &message.octets());
        assert_eq!(replies.len(), 1, "{:?}", self.counters[0].entries().collect::<Vec<_>>());
        replies.remove(0).1
    }

    /// Sends a message that must get no reply.
    pub(crate) fn tell(&mut self, message: &Build) {
        assert!(self.send_to(0, &message.octets()).is_empty());
    }

    pub(crate) fn dropped(&self, reason: DropReason) -> u64 {
        self.counters.iter().map(|counters| counters.dropped_for(reason)).sum()
    }

    /// DISCOVER to ACK for client `n`; the address.
    pub(crate) fn lease(&mut self, n: u8) -> Ipv4Addr {
        let offer = self.ask(&Build::new(MessageType::Discover, n));
        let offered = Message::parse(&offer).expect("a reply parses").yiaddr();
        let ack = self.ask(&Build::new(MessageType::Request, n).requested(offered).server(SERVER));
        let ack = Message::parse(&ack).expect("a reply parses");
        assert_eq!(ack.message_type(), Some(MessageType::Ack));
        assert_eq!(ack.yiaddr(), offered);
        offered
    }
}

pub(crate) fn kind(reply: &[u8]) -> Option<MessageType> {
    Message::parse(reply).expect("a reply parses").message_type()
}

/// A message to be built.
#[derive(Clone)]
pub(crate) struct Build {
    pub(crate) header: Header,
    pub(crate) options: Vec<(u8, Vec<u8>)>,
}

impl Build {
    /// A relayed message of client `n`.
    pub(crate) fn new(kind: MessageType, n: u8) -> Self {
        let mut chaddr = [0; 16];
        chaddr[..6].copy_from_slice(&[2, 0, 0, 0, 0, n]);
        let nowhere = Ipv4Addr::UNSPECIFIED;
        let header = Header {
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

    /// The same message sent by a client on the server's own link.
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
