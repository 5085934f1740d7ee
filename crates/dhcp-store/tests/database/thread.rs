//! Tests of the thread around the rounds, with a connection that breaks on demand.

use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::Now;
use dhcp_lease::contract::{Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys, SlotView};
use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::{
    LeaseState, LeaseStore, LeaseTable, PoolIndex, PoolSet, SlotOccupancy, SlotOwner,
};
use dhcp_store::DatabaseStore;
use dhcp_store::database::testing::{FakeConnection, FakeDatabase, FakeFaults, FakeFlush};
use dhcp_store::database::{DatabaseError, DatabaseThread, DatabaseThreadOptions, Flush, OnLoss};
use dhcp_store::log::SharedLogState;

const NOW: Now = Now { mono_ns: 5_000_000_000, wall_us: 1_000_000_000_000_000 };
const FIRST: u32 = 0x0a00_0001;
/// Time limit, longer than any test here takes on any machine.
const LIMIT: Duration = Duration::from_secs(300);

struct DatabaseThreadFixture {
    database: Arc<FakeDatabase<V4>>,
    thread: DatabaseThread<V4>,
    store: DatabaseStore<V4>,
    pools: Arc<PoolSet<V4>>,
    woken: Receiver<()>,
}

fn fixture(faults: FakeFaults, tries_max: u32) -> DatabaseThreadFixture {
    fixture_of(faults, tries_max, 100, false)
}

fn fixture_of(
    faults: FakeFaults,
    tries_max: u32,
    addresses: u32,
    is_shared: bool,
) -> DatabaseThreadFixture {
    let database = Arc::<FakeDatabase<V4>>::default();
    let connection = FakeConnection::new(database.clone(), faults, 3);
    fixture_with(database, connection, tries_max, addresses, is_shared)
}

/// Returns a fixture whose commits are flushed by `flush`.
fn flushed_fixture(flush: Arc<dyn Flush>, tries_max: u32) -> DatabaseThreadFixture {
    let database = Arc::<FakeDatabase<V4>>::default();
    let connection = FakeConnection::new(database.clone(), FakeFaults::default(), 3);
    fixture_with(database, connection.flushed_by(flush), tries_max, 100, false)
}

fn fixture_with(
    database: Arc<FakeDatabase<V4>>,
    connection: FakeConnection<V4>,
    tries_max: u32,
    addresses: u32,
    is_shared: bool,
) -> DatabaseThreadFixture {
    let table = Arc::new(LeaseTable::new(1));
    let pools = table.configure(&[V4::pool(FIRST, FIRST + addresses - 1)], &[]);
    let (wake, woken) = channel();
    let shards = SharedLogState::new(1, move |_| {
        // After the test no thread receives.
        let _ = wake.send(());
    });
    let options = DatabaseThreadOptions { on_loss: OnLoss { tries_max, wait_ms: 0 }, is_shared };
    let thread = DatabaseThread::start(shards, table, connection, options, Box::new(|| NOW))
        .expect("there is one more thread");
    let store = thread.store(0);
    DatabaseThreadFixture { database, thread, store, pools, woken }
}

impl DatabaseThreadFixture {
    fn fetch(&mut self, client: u32, requested: Option<Ipv4Addr>) -> Facts<V4> {
        let mut facts = Facts::default();
        let mut addresses = [None; FETCHED_ADDRESSES_MAX];
        addresses[0] = requested;
        let keys = FetchKeys {
            identity: V4::borrow(V4::client(client)),
            addresses,
            pools: &*self.pools,
            candidate_pools: &[PoolIndex(0)],
            is_candidate_spare: true,
        };
        self.store.fetch(NOW, &keys, &mut facts);
        facts
    }

    /// Returns the epoch of the lease's row, which is not handed over yet.
    fn take(&mut self, client: u32, slot: &SlotView<V4>) -> Option<u64> {
        let change = Change {
            identity: V4::borrow(V4::client(client)),
            address: slot.address,
            expected_version: slot.version,
            action: Action::Lease(V4::terms(60, 1, "")),
        };
        self.store.commit(NOW, &[change]).ok().map(|receipt| receipt.row_epoch)
    }

    fn lease(&mut self, client: u32) -> Option<u64> {
        let facts = self.fetch(client, None);
        let slot =
            facts.client_slots().next().copied().or(facts.candidate).expect("the pool is large");
        let epoch = self.take(client, &slot);
        self.store.submit(NOW);
        epoch
    }

    /// Gives leases until fifty are acknowledged, over connections that are lost for a cause that
    /// begins with `cause`.
    fn acknowledge_fifty(mut self, cause: &str) {
        let mut acknowledged = 0;
        while acknowledged < 50 {
            // Between a loss and the next connection the store can acknowledge nothing.
            let Some(epoch) = self.lease(acknowledged) else {
                let _ = self.woken.recv_timeout(LIMIT);
                continue;
            };
            acknowledged += u32::from(self.wait(epoch));
        }
        assert!(self.database.leases().len() >= 50);
        let problems = self.thread.take_problems().join("\n");
        assert!(problems.contains(&format!("leases cannot be written: {cause}")), "{problems}");
        assert!(problems.contains("connected to the lease database again"), "{problems}");
    }

    /// Waits until the epoch is settled; returns false if the connection is lost first.
    fn wait(&self, epoch: u64) -> bool {
        while self.store.settled_epoch() < epoch {
            if self.store.has_failed() {
                return false;
            }
            self.woken.recv_timeout(LIMIT).expect("the thread wakes the shard");
        }
        true
    }
}

#[test]
fn what_was_submitted_is_in_the_database_when_it_is_settled() {
    let mut fixture = fixture(FakeFaults::default(), 0);
    for client in 0..20 {
        let epoch = fixture.lease(client).unwrap();
        assert!(fixture.wait(epoch));
        assert_eq!(fixture.database.leases().len(), client as usize + 1);
    }
    let DatabaseThreadFixture { thread, store, .. } = fixture;
    drop(store);
    thread.stop().unwrap();
}

#[test]
fn a_connection_that_breaks_is_made_again() {
    let faults = FakeFaults { lost_before: 200, lost_after: 200, ..FakeFaults::default() };
    fixture(faults, u32::MAX).acknowledge_fifty("cannot commit");
}

/// Flush that reports when it begins, and ends when the test lets it.
#[derive(Debug)]
struct GatedFlush {
    begins: Sender<()>,
    may_end: Mutex<Receiver<()>>,
}

impl Flush for GatedFlush {
    fn flush(&self) -> Result<(), DatabaseError> {
        self.begins.send(()).expect("the test waits for it");
        let may_end = self.may_end.lock().expect("nobody panics with it");
        may_end.recv().expect("the test lets every flush end");
        Ok(())
    }
}

#[test]
fn leases_are_written_while_others_are_flushed_and_settled_by_a_flush_that_began_later() {
    let (begins, begun) = channel();
    let (end, may_end) = channel();
    let gated_flush = GatedFlush { begins, may_end: Mutex::new(may_end) };
    let mut fixture = flushed_fixture(Arc::new(gated_flush), 0);
    let first = fixture.lease(1).unwrap();
    begun.recv_timeout(LIMIT).expect("what is written is flushed");
    let second = fixture.lease(2).unwrap();
    while fixture.database.leases().len() < 2 {
        std::thread::yield_now();
    }
    assert!(fixture.store.settled_epoch() < first, "its flush has not ended");
    end.send(()).unwrap();
    assert!(fixture.wait(first));
    begun.recv_timeout(LIMIT).expect("the first flush is none of the second");
    assert!(fixture.store.settled_epoch() < second, "its flush has not ended");
    end.send(()).unwrap();
    assert!(fixture.wait(second));
    let DatabaseThreadFixture { thread, store, .. } = fixture;
    drop(store);
    thread.stop().unwrap();
}

#[test]
fn a_flush_that_fails_is_done_again_over_a_new_connection() {
    let flush = Arc::new(FakeFlush::new(300, 5));
    flushed_fixture(flush, u32::MAX).acknowledge_fifty("cannot flush");
}

#[test]
fn a_connection_that_stays_away_ends_the_store() {
    let faults =
        FakeFaults { lost_before: 1000, refused_connections: 1000, ..FakeFaults::default() };
    let mut fixture = fixture(faults, 3);
    let epoch = fixture.lease(1).unwrap();
    assert!(!fixture.wait(epoch));
    while fixture.thread.failure().is_none() {
        std::thread::yield_now();
    }
    let DatabaseThreadFixture { thread, store, .. } = fixture;
    drop(store);
    let error = thread.stop().unwrap_err();
    assert_eq!(error.to_string(), "cannot connect: the connection is gone");
}

/// Checks a client with an address from another server that is free in this server's table. While
/// the database looks it up, another client takes the address here; the database has yet to refuse
/// that client.
#[test]
fn a_client_is_not_refused_for_what_the_database_has_still_to_judge() {
    const HERE: u32 = 158;
    const THERE: u32 = 176;
    let mut fixture = fixture_of(FakeFaults::default(), 0, 1, true);
    let address = Ipv4Addr::from(FIRST);
    let lookup_epoch = fixture.fetch(HERE, None).unread_epoch;
    fixture.store.submit(NOW);
    assert!(lookup_epoch > 0 && fixture.wait(lookup_epoch));
    let offered = fixture.fetch(HERE, None).candidate.expect("the address is free here");
    let lease = V4::lease(&SampleLease {
        address: FIRST,
        client: THERE,
        valid_lifetime_s: 60,
        cltt_s: NOW.wall_s(),
        subnet_id: 1,
        pool_id: 0,
        hostname: "",
        state: LeaseState::Assigned,
        user_context: "",
    });
    let database = fixture.database.clone();
    let mut leases = database.leases();
    leases.insert(address, lease);
    // The thread takes the lookup, and cannot continue.
    let lookup_epoch = fixture.fetch(THERE, Some(address)).unread_epoch;
    fixture.store.submit(NOW);
    let others = (1000..).map(|client| fixture.fetch(client, None).unread_epoch);
    let pause = Duration::from_millis(1);
    let open_epoch =
        others.inspect(|_| std::thread::sleep(pause)).find(|&epoch| epoch > lookup_epoch);
    let lease_epoch = fixture.take(HERE, &offered).expect("nobody knows better here");
    assert_eq!(Some(lease_epoch), open_epoch);
    drop(leases);
    assert!(fixture.wait(lookup_epoch));
    let facts = fixture.fetch(THERE, Some(address));
    assert_eq!(facts.address_slots[0].map(|slot| slot.owner), Some(SlotOwner::Other));
    assert_eq!(facts.unread_epoch, lease_epoch, "what the table says of it is not true yet");
    fixture.store.submit(NOW);
    assert!(fixture.wait(lease_epoch));
    let facts = fixture.fetch(THERE, Some(address));
    let slot = facts.address_slots[0].expect("the address is in the pool");
    assert_eq!(
        (facts.unread_epoch, slot.owner, slot.occupancy),
        (0, SlotOwner::Requester, SlotOccupancy::Leased)
    );
}
