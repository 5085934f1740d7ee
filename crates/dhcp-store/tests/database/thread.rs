//! The thread around the rounds, with a connection that breaks on demand.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base::Now;
use dhcp_lease::contract::{ASKED_MAX, Action, Change, Facts, FetchKeys};
use dhcp_lease::sample::Sample;
use dhcp_lease::v4::V4;
use dhcp_lease::{LeaseStore, LeaseTable, PoolIndex, PoolSet};
use dhcp_store::DatabaseStore;
use dhcp_store::database::testing::{FakeConnection, FakeDatabase, FakeFaults};
use dhcp_store::database::{DatabaseThread, OnLoss, ThreadOptions};
use dhcp_store::log::Shards;

const NOW: Now = Now { mono_ns: 5_000_000_000, wall_us: 1_000_000_000_000_000 };
const FIRST: u32 = 0x0a00_0001;

struct Scene {
    database: Arc<FakeDatabase<V4>>,
    thread: DatabaseThread<V4>,
    store: DatabaseStore<V4>,
    pools: Arc<PoolSet<V4>>,
    woken: Receiver<()>,
}

fn scene(faults: FakeFaults, tries_max: u32) -> Scene {
    let database = Arc::<FakeDatabase<V4>>::default();
    let table = Arc::new(LeaseTable::new(1));
    let pools = table.configure(&[V4::pool(FIRST, FIRST + 99)], &[]);
    let (wake, woken) = channel();
    let shards = Shards::new(1, move |_| {
        // Nobody listens once the test is over.
        let _ = wake.send(());
    });
    let options = ThreadOptions { on_loss: OnLoss { tries_max, wait_ms: 0 }, is_shared: false };
    let connection = FakeConnection::new(database.clone(), faults, 3);
    let thread = DatabaseThread::start(shards, table, connection, options, Box::new(|| NOW))
        .expect("there is one more thread");
    let store = thread.store(0);
    Scene { database, thread, store, pools, woken }
}

impl Scene {
    fn lease(&mut self, client: u32) -> Option<u64> {
        let mut facts = Facts::default();
        let keys = FetchKeys {
            identity: V4::borrow(V4::client(client)),
            addresses: [None; ASKED_MAX],
            pools: &*self.pools,
            candidate_pools: &[PoolIndex(0)],
            is_candidate_spare: true,
        };
        self.store.fetch(NOW, &keys, &mut facts);
        let slot = facts.mine().next().copied().or(facts.candidate).expect("the pool is large");
        let change = Change {
            identity: keys.identity,
            address: slot.address,
            expected_version: slot.version,
            action: Action::Lease(V4::terms(60, 1, "")),
        };
        let result = self.store.commit(NOW, &[change]);
        self.store.submit(NOW);
        result.ok().map(|receipt| receipt.row_epoch)
    }

    /// Waits until the epoch is settled, or the connection is lost.
    fn wait(&self, epoch: u64) -> bool {
        while self.store.settled_epoch() < epoch {
            if self.store.has_failed() {
                return false;
            }
            self.woken.recv_timeout(Duration::from_secs(60)).expect("the thread wakes the shard");
        }
        true
    }
}

#[test]
fn what_was_submitted_is_in_the_database_when_it_is_settled() {
    let mut scene = scene(FakeFaults::default(), 0);
    for client in 0..20 {
        let epoch = scene.lease(client).unwrap();
        assert!(scene.wait(epoch));
        assert_eq!(scene.database.leases().len(), client as usize + 1);
    }
    let Scene { thread, store, .. } = scene;
    drop(store);
    thread.stop().unwrap();
}

#[test]
fn a_connection_that_breaks_is_made_again() {
    let faults = FakeFaults { lost_before: 200, lost_after: 200, ..FakeFaults::default() };
    let mut scene = scene(faults, u32::MAX);
    let mut acknowledged = 0;
    while acknowledged < 50 {
        // Between a loss and the next connection nothing can be promised.
        let Some(epoch) = scene.lease(acknowledged) else {
            let _ = scene.woken.recv_timeout(Duration::from_secs(60));
            continue;
        };
        acknowledged += u32::from(scene.wait(epoch));
    }
    assert!(scene.database.leases().len() >= 50);
    let problems = scene.thread.take_problems().join("\n");
    assert!(problems.contains("leases cannot be written: cannot commit"), "{problems}");
    assert!(problems.contains("connected to the lease database again"), "{problems}");
}

#[test]
fn a_connection_that_stays_away_ends_the_store() {
    let faults =
        FakeFaults { lost_before: 1000, refused_connections: 1000, ..FakeFaults::default() };
    let mut scene = scene(faults, 3);
    let epoch = scene.lease(1).unwrap();
    assert!(!scene.wait(epoch));
    while scene.thread.failure().is_none() {
        std::thread::yield_now();
    }
    let Scene { thread, store, .. } = scene;
    drop(store);
    let error = thread.stop().unwrap_err();
    assert_eq!(error.to_string(), "cannot connect: the connection is gone");
}
