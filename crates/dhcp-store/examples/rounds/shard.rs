//! Shard with clients in flight, each of which sends its next request as soon as it has a reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::Now;
use dhcp_lease::contract::{
    Action, Change, CommitRefusal, FETCHED_ADDRESSES_MAX, Facts, FetchKeys,
};
use dhcp_lease::sample::SampleFamily;
use dhcp_lease::{LeaseStore, LeaseTable, PoolIndex, PoolSet};
use dhcp_store::DatabaseStore;
use dhcp_store::database::{DatabaseError, DatabaseThread, DatabaseThreadOptions, OnLoss};
use dhcp_store::log::SharedLogState;
use dhcp_store::sql::{SharedLeases, SharedRows, SqlSettings};

/// Valid lifetime of the leases, in seconds.
const LIFETIME_S: u32 = 86_400;
/// Start time of the clock, 2023-11-14T22:13:20Z, in seconds since 1970.
const START_S: u64 = 1_700_000_000;

/// Load: the clients that send the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundsLoad {
    /// A new client each time, which the shard has to look up in the database.
    Stored,
    /// A new client each time, while no other server writes to the database.
    New,
    /// Known clients, this many, again and again in an order that scatters them.
    Renewed(u32),
}

/// Time for the shard and the thread. Each reading advances it by a nanosecond.
#[derive(Debug, Default)]
pub(crate) struct RoundsClock {
    seconds: AtomicU64,
    looks: AtomicU64,
}

impl RoundsClock {
    fn now(&self) -> Now {
        let seconds = self.seconds.load(Ordering::Relaxed);
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        Now {
            mono_ns: 5_000_000_000 + seconds * 1_000_000_000 + looks,
            wall_us: (START_S + seconds) * 1_000_000,
        }
    }
}

struct RoundsClient {
    number: u32,
    /// Epoch that the client waits for.
    epoch: u64,
    is_written: bool,
}

/// Shard with its thread and the clients so far.
pub(crate) struct RoundsShard<F: SharedRows> {
    thread: DatabaseThread<F>,
    store: DatabaseStore<F>,
    pools: Arc<PoolSet<F>>,
    clock: Arc<RoundsClock>,
    facts: Facts<F>,
    load: RoundsLoad,
    first: u32,
    lease_count: u32,
}

impl<F: SharedRows + SampleFamily> RoundsShard<F> {
    /// Starts a shard whose clients and addresses have the numbers from `first` on.
    pub(crate) fn start(
        settings: &SqlSettings,
        load: RoundsLoad,
        first: u32,
    ) -> Result<Self, DatabaseError> {
        let mut database = SharedLeases::new(settings.clone());
        dhcp_store::database::LeaseDatabaseConnection::<F>::connect(&mut database)?;
        let table = Arc::new(LeaseTable::new(1));
        let pools = table.configure(&[F::pool(first, first + 0x000f_ffff)], &[]);
        let me = std::thread::current();
        let shards = SharedLogState::new(1, move |_| me.unpark());
        let clock = Arc::<RoundsClock>::default();
        let thread_clock = Arc::clone(&clock);
        let options = DatabaseThreadOptions {
            on_loss: OnLoss { tries_max: 0, wait_ms: 0 },
            is_shared: load == RoundsLoad::Stored,
        };
        let thread = DatabaseThread::start(
            shards,
            table,
            database,
            options,
            Box::new(move || thread_clock.now()),
        );
        let thread = thread.expect("there is one more thread");
        let store = thread.store(0);
        let mut shard = Self {
            thread,
            store,
            pools,
            clock,
            facts: Facts::default(),
            load,
            first,
            lease_count: 0,
        };
        if let RoundsLoad::Renewed(clients) = load {
            shard.load = RoundsLoad::New;
            shard.run(256, |_, count| count >= u64::from(clients));
            (shard.load, shard.lease_count) = (load, 0);
            // Within one second a renewal would change nothing.
            shard.clock.seconds.fetch_add(1, Ordering::Relaxed);
        }
        Ok(shard)
    }

    /// Returns the number of transactions so far that wrote something.
    pub(crate) fn rounds(&self) -> u64 {
        self.thread.transactions()
    }

    /// Keeps `in_flight` clients sending requests until `is_over` returns true for the elapsed time
    /// and the number of settled leases; returns both.
    pub(crate) fn run(
        &mut self,
        in_flight: u32,
        is_over: impl Fn(Duration, u64) -> bool,
    ) -> (Duration, u64) {
        let begin = Instant::now();
        let mut count = 0;
        let mut clients: Vec<RoundsClient> = (0..in_flight)
            .map(|_| RoundsClient { number: self.next(), epoch: 0, is_written: false })
            .collect();
        let mut ends = false;
        loop {
            let settled = self.store.settled_epoch();
            assert!(!self.store.has_failed(), "{:?}", self.thread.failure());
            let mut has_moved = false;
            for client in &mut clients {
                if client.epoch > settled {
                    continue;
                }
                has_moved = true;
                count += u64::from(client.is_written);
                if client.is_written && ends {
                    client.epoch = u64::MAX;
                    continue;
                }
                self.ask(client);
            }
            ends = ends || is_over(begin.elapsed(), count);
            if clients.iter().all(|client| client.epoch == u64::MAX) {
                return (begin.elapsed(), count);
            }
            self.store.submit(self.clock.now());
            if !has_moved {
                std::thread::park_timeout(Duration::from_millis(500));
            }
        }
    }

    fn next(&mut self) -> u32 {
        self.lease_count += 1;
        let RoundsLoad::Renewed(clients) = self.load else {
            return self.first + self.lease_count - 1;
        };
        // Time passes twice in each pass over the clients, so that renewals change their rows.
        if self.lease_count.is_multiple_of(clients / 2) {
            self.clock.seconds.fetch_add(1, Ordering::Relaxed);
        }
        // The order is scattered although numbers are consecutive: 7919 is a prime that divides no
        // count here.
        self.first + (u64::from(self.lease_count) * 7919 % u64::from(clients)) as u32
    }

    fn ask(&mut self, client: &mut RoundsClient) {
        if client.is_written {
            client.number = self.next();
            client.is_written = false;
        }
        let now = self.clock.now();
        let keys = FetchKeys {
            identity: F::borrow(F::client(client.number)),
            addresses: [None; FETCHED_ADDRESSES_MAX],
            pools: &*self.pools,
            candidate_pools: &[PoolIndex(0)],
            is_candidate_spare: true,
        };
        self.store.fetch(now, &keys, &mut self.facts);
        if self.facts.unread_epoch > 0 {
            client.epoch = self.facts.unread_epoch;
            return;
        }
        let slot = self.facts.client_slots().next().copied().or(self.facts.candidate);
        let slot = slot.expect("the pool is large");
        let change = Change {
            identity: keys.identity,
            address: slot.address,
            expected_version: slot.version,
            action: Action::Lease(F::terms(LIFETIME_S, 1, "")),
        };
        match self.store.commit(now, &[change]) {
            Ok(receipt) => {
                client.epoch = receipt.row_epoch;
                client.is_written = true;
            }
            Err(CommitRefusal::Unsettled(epoch)) => client.epoch = epoch,
            Err(refusal) => panic!("{refusal:?}"),
        }
    }

    /// Ends the thread.
    pub(crate) fn stop(self) {
        drop(self.store);
        self.thread.stop().expect("all was written");
    }
}
