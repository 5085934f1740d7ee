//! Server on a virtual clock for tests: one table, shards over hand-settled stores, and messages
//! built field by field.

pub(crate) mod v4;
pub(crate) mod v6;

use std::sync::Arc;

use base::Now;
use base::time::NS_PER_S;
use dhcp_config::IncludeResolver;
use dhcp_engine::{DropReason, InFlight, Protocol, ReplySink, Shard, ShardCounters};
use dhcp_lease::testing::{ManualLog, ManualStore};
use dhcp_lease::{LeaseTable, TableFamily};

struct EngineTestIncludes;

impl IncludeResolver for EngineTestIncludes {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        Err(format!("no file {path}"))
    }
}

/// Reply with its destination.
pub(crate) type Sent<P> = (<P as Protocol>::Destination, Vec<u8>);

/// Receiver of the replies that left.
pub(crate) struct ReplyCollector<P: Protocol>(pub(crate) Vec<Sent<P>>);

impl<P: Protocol> Default for ReplyCollector<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P: Protocol> ReplySink<P> for ReplyCollector<P> {
    fn transmit(&mut self, to: P::Destination, _ingress: P::Ingress, octets: &[u8]) -> bool {
        self.0.push((to, octets.to_vec()));
        true
    }
}

/// Parts of a protocol that its tests provide.
pub(crate) trait TestProtocol: Protocol + TableFamily {
    /// Ingress of messages unless a test sets another.
    const INGRESS: Self::Ingress;

    /// Returns the snapshot of a configuration text.
    fn compile(text: &str, table: &LeaseTable<Self>) -> dhcp_engine::snapshot::Snapshot<Self>;
}

pub(crate) struct EngineTestServer<P: TestProtocol> {
    pub(crate) now: Now,
    pub(crate) shards: Vec<Shard<P, ManualStore<P>>>,
    pub(crate) counters: Vec<Arc<ShardCounters<P>>>,
    pub(crate) log: Arc<ManualLog<P>>,
    pub(crate) table: Arc<LeaseTable<P>>,
    pub(crate) auto_settle: bool,
}

impl<P: TestProtocol> EngineTestServer<P> {
    pub(crate) fn new(text: &str) -> Self {
        Self::with_shards(text, 1)
    }

    pub(crate) fn with_shards(text: &str, count: usize) -> Self {
        let table = Arc::new(LeaseTable::new(7));
        let snapshot = Arc::new(P::compile(text, &table));
        let in_flight = Arc::new(InFlight::new(7, 64));
        let log = Arc::new(ManualLog::default());
        let shards: Vec<_> = (0..count)
            .map(|_| ManualStore::new(Arc::clone(&table), Arc::clone(&log)))
            .map(|store| Shard::new(store, Arc::clone(&snapshot), Arc::clone(&in_flight)))
            .collect();
        let counters = shards.iter().map(Shard::counters).collect();
        let now = Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 };
        Self { now, shards, counters, log, table, auto_settle: true }
    }

    /// Serves another configuration from now on.
    pub(crate) fn reload(&mut self, text: &str) {
        let snapshot = Arc::new(P::compile(text, &self.table));
        for shard in &mut self.shards {
            shard.reload(Arc::clone(&snapshot));
        }
    }

    pub(crate) fn pass_s(&mut self, seconds: u64) {
        self.now = self.now.after_ns(seconds * NS_PER_S);
        for shard in &mut self.shards {
            while shard.housekeeping(self.now, 1_000).is_more_due {}
        }
        // The leases that ended were logged, too.
        if self.auto_settle {
            self.log.settle_all();
        }
    }

    /// Passes a message to a shard and ends the batch; returns the replies that leave.
    pub(crate) fn send_to(&mut self, shard: usize, octets: &[u8]) -> Vec<Sent<P>> {
        self.send_by(shard, octets, P::INGRESS)
    }

    /// Passes a message with another ingress to a shard and ends the batch; returns the replies
    /// that leave.
    pub(crate) fn send_by(
        &mut self,
        shard: usize,
        octets: &[u8],
        ingress: P::Ingress,
    ) -> Vec<Sent<P>> {
        let mut sink = ReplyCollector::default();
        self.shards[shard].handle(self.now, octets, ingress, &mut sink);
        self.shards[shard].end_batch(self.now, &mut sink);
        if self.auto_settle {
            self.settle(&mut sink);
        }
        sink.0
    }

    /// Settles all rows; waiting replies leave into `sink`.
    pub(crate) fn settle(&mut self, sink: &mut ReplyCollector<P>) {
        self.log.settle_all();
        for shard in &mut self.shards {
            shard.end_batch(self.now, sink);
        }
    }

    /// Sends a message that must get exactly one reply.
    pub(crate) fn ask_octets(&mut self, octets: &[u8]) -> Vec<u8> {
        let mut replies = self.send_to(0, octets);
        assert_eq!(replies.len(), 1, "{:?}", self.counters[0].entries().collect::<Vec<_>>());
        replies.remove(0).1
    }

    pub(crate) fn dropped(&self, reason: DropReason) -> u64 {
        self.counters.iter().map(|counters| counters.dropped_for(reason)).sum()
    }

    /// Ends all waiting, and checks the counters: every message ended in a reply, in silence or in
    /// a counted drop.
    pub(crate) fn settle_down(&mut self) {
        for _ in 0..4 {
            let mut sink = ReplyCollector::default();
            self.settle(&mut sink);
            self.pass_s(5);
        }
        for (shard, counters) in self.shards.iter().zip(&self.counters) {
            assert!(shard.is_idle(), "{:?}", counters.entries().collect::<Vec<_>>());
            let ended = counters.sent_total() + counters.dropped_total() + counters.silent_total();
            assert_eq!(ended, counters.received_total());
        }
    }
}

/// Returns a number from the environment.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}
