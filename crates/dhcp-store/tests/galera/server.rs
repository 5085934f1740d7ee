//! One server: a lease table, the thread that writes to the cluster, and a shard that serves
//! requests.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::{Now, Random};
use dhcp_lease::contract::{Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, SlotView};
use dhcp_lease::sample::SampleFamily;
use dhcp_lease::v4::V4;
use dhcp_lease::{LeaseStore, LeaseTable, PoolIndex, PoolSet, SlotOccupancy, SlotOwner};
use dhcp_store::DatabaseStore;
use dhcp_store::database::{
    DatabaseThread, DatabaseThreadOptions, LeaseDatabaseConnection, OnLoss,
};
use dhcp_store::log::SharedLogState;
use dhcp_store::sql::{SharedLeases, SqlSettings};

use crate::galera::ledger::{CLIENTS, GaleraEvent, GaleraEventKind, GaleraLedger, LIFETIME_S};

const FIRST: u32 = 0x0a00_0001;
/// Number of addresses, fewer than clients, so that servers want the same ones.
const ADDRESSES: u32 = 48;
/// Number of clients that send requests at once.
const BATCH: u64 = 6;
/// Time between two batches of slow clients.
const SLOW: Duration = Duration::from_millis(20);
/// Time limit. A round may wait for an unreachable node; the thread wakes its shard in the end.
const LIMIT: Duration = Duration::from_secs(600);

/// Counts of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GaleraServerCounts {
    pub(crate) acknowledged: u64,
    pub(crate) refused: u64,
    pub(crate) released: u64,
    /// Batches whose outcome is unknown.
    pub(crate) connection_losses: u64,
    pub(crate) conflicts: u64,
}

/// Running server.
pub(crate) struct GaleraLeaseServer {
    writer: DatabaseThread<V4>,
    driver: JoinHandle<GaleraServerCounts>,
}

impl GaleraLeaseServer {
    /// Connects, loads the leases, and begins to serve requests.
    pub(crate) fn start(
        number: usize,
        settings: SqlSettings,
        ledger: Arc<GaleraLedger>,
        random: Random,
    ) -> Self {
        let mut database = SharedLeases::new(settings);
        LeaseDatabaseConnection::<V4>::connect(&mut database).unwrap();
        let table = Arc::new(LeaseTable::new(number as u64));
        let pools = table.configure(&[V4::pool(FIRST, FIRST + ADDRESSES - 1)], &[]);
        LeaseDatabaseConnection::<V4>::load(&mut database, &mut |lease| table.load(lease)).unwrap();
        let (wake, woken) = channel();
        let shards = SharedLogState::new(1, move |_| {
            // After the end of the driver no thread receives.
            let _ = wake.send(());
        });
        let on_loss = OnLoss { tries_max: u32::MAX, wait_ms: 50 };
        let options = DatabaseThreadOptions { on_loss, is_shared: true };
        let started = Instant::now();
        let clock_of = |ledger: Arc<GaleraLedger>| {
            move || Now {
                mono_ns: started.elapsed().as_nanos() as u64 + 1,
                wall_us: ledger.now_s() * 1_000_000,
            }
        };
        let clock = clock_of(ledger.clone());
        let writer =
            DatabaseThread::start(shards, table, database, options, Box::new(clock)).unwrap();
        let driver = GaleraClientDriver {
            number,
            store: writer.store(0),
            pools,
            woken,
            clock: Box::new(clock_of(ledger.clone())),
            ledger,
            random,
            waiting: Vec::new(),
            tally: GaleraServerCounts::default(),
        };
        let driver = std::thread::spawn(move || driver.run());
        Self { writer, driver }
    }

    /// Returns the number of conflicts of this server's writes with other servers.
    pub(crate) fn conflicts(&self) -> u64 {
        self.writer.conflicts()
    }

    /// Returns true if a connection ended during a round since the last call, and was replaced.
    pub(crate) fn has_replaced(&self) -> bool {
        let problems = self.writer.take_problems();
        problems.iter().any(|problem| problem.contains("the server has opened a new one"))
    }

    /// Ends the server; all writes must have succeeded.
    pub(crate) fn stop(self) -> GaleraServerCounts {
        let mut tally = self.driver.join().unwrap();
        tally.conflicts = self.writer.conflicts();
        self.writer.stop().unwrap();
        tally
    }
}

/// Reply to a client, which it gets when its row is settled.
struct GaleraReply {
    client: u32,
    address: Ipv4Addr,
    epoch: u64,
    is_lease: bool,
    at_s: u64,
}

struct GaleraClientDriver {
    number: usize,
    store: DatabaseStore<V4>,
    pools: Arc<PoolSet<V4>>,
    woken: Receiver<()>,
    clock: Box<dyn Fn() -> Now + Send>,
    ledger: Arc<GaleraLedger>,
    random: Random,
    waiting: Vec<GaleraReply>,
    tally: GaleraServerCounts,
}

impl GaleraClientDriver {
    fn run(mut self) -> GaleraServerCounts {
        while !self.ledger.has_ended() {
            if self.ledger.is_slow() {
                std::thread::sleep(SLOW);
            }
            for _ in 0..BATCH {
                let client = self.random.below(CLIENTS as u64) as u32;
                if self.ledger.begin(client) && !self.ask(client) {
                    self.ledger.finish(client);
                }
            }
            let now = (self.clock)();
            self.store.submit(now);
            self.hear();
            if self.store.has_failed() {
                self.wait_for_word();
            }
        }
        self.tally
    }

    /// Lets a client request an address or give its own back; returns true if there will be a
    /// reply.
    fn ask(&mut self, client: u32) -> bool {
        let mut facts = Facts::default();
        let unread = self.fetch(client, &mut facts);
        if unread > 0 {
            let now = (self.clock)();
            self.store.submit(now);
            if !self.is_settled(unread) || self.fetch(client, &mut facts) > 0 {
                return false;
            }
        }
        let is_had = |slot: &&SlotView<V4>| {
            matches!(slot.occupancy, SlotOccupancy::Leased | SlotOccupancy::Held)
                && slot.owner == SlotOwner::Requester
        };
        let had = facts.client_slots().find(is_had).copied();
        let leased = had.filter(|slot| slot.occupancy == SlotOccupancy::Leased);
        match (leased, had.or(facts.candidate)) {
            (Some(slot), _) if self.random.chance(1, 3) => {
                self.ledger.give_back(client, slot.address);
                let is_committed = self.commit(client, &slot, false);
                self.ledger.tick();
                is_committed
            }
            (_, Some(slot)) => self.commit(client, &slot, true),
            (_, None) => false,
        }
    }

    fn fetch(&mut self, client: u32, facts: &mut Facts<V4>) -> u64 {
        let keys = FetchKeys {
            identity: V4::borrow(V4::client(client)),
            addresses: [None; FETCHED_ADDRESSES_MAX],
            pools: &*self.pools,
            candidate_pools: &[PoolIndex(0)],
            is_candidate_spare: true,
        };
        self.store.fetch((self.clock)(), &keys, facts);
        facts.unread_epoch
    }

    fn commit(&mut self, client: u32, slot: &SlotView<V4>, is_lease: bool) -> bool {
        let terms = V4::terms(LIFETIME_S, 1, "");
        let change = Change {
            identity: V4::borrow(V4::client(client)),
            address: slot.address,
            expected_version: slot.version,
            action: if is_lease { Action::Lease(terms) } else { Action::Release },
        };
        let now = (self.clock)();
        let Ok(receipt) = self.store.commit(now, &[change]) else { return false };
        let (address, epoch) = (slot.address, receipt.row_epoch);
        let reply = GaleraReply { client, address, epoch, is_lease, at_s: now.wall_s() };
        self.note(
            if is_lease { GaleraEventKind::AsksForLease } else { GaleraEventKind::GivesBack },
            &reply,
        );
        self.waiting.push(reply);
        true
    }

    fn note(&self, what: GaleraEventKind, reply: &GaleraReply) {
        let &GaleraReply { client, address, epoch, at_s, .. } = reply;
        self.ledger.note(GaleraEvent { what, server: self.number, client, address, at_s, epoch });
    }

    /// Handles the replies of the batch when it is settled.
    fn hear(&mut self) {
        for reply in std::mem::take(&mut self.waiting) {
            let (what, count) = if !self.is_settled(reply.epoch) {
                (GaleraEventKind::ConnectionLost, &mut self.tally.connection_losses)
            } else if self.store.is_refused(reply.epoch, &reply.address.octets()) {
                (GaleraEventKind::Refused, &mut self.tally.refused)
            } else if reply.is_lease {
                (GaleraEventKind::Acknowledged, &mut self.tally.acknowledged)
            } else {
                (GaleraEventKind::Released, &mut self.tally.released)
            };
            *count += 1;
            self.note(what, &reply);
            self.ledger.finish(reply.client);
        }
    }

    /// Waits until `epoch` is settled; returns false if the connection was lost first.
    fn is_settled(&mut self, epoch: u64) -> bool {
        while self.store.settled_epoch() < epoch {
            if self.store.has_failed() {
                return false;
            }
            self.wait_for_word();
        }
        true
    }

    fn wait_for_word(&self) {
        self.woken.recv_timeout(LIMIT).expect("the thread wakes its shard");
    }
}
