//! Servers that give the addresses of one pool from one database, in order: a server that is alone
//! keeps to the order, several servers avoid each other's ranges.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::Now;
use dhcp_lease::contract::{Action, Change, FETCHED_ADDRESSES_MAX, Facts, FetchKeys};
use dhcp_lease::sample::SampleFamily;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{LeaseStore, LeaseTable, PoolIndex, PoolSet};
use dhcp_store::DatabaseStore;
use dhcp_store::database::testing::{FakeConnection, FakeDatabase, FakeFaults};
use dhcp_store::database::{
    DatabaseCore, Refusals, RoundEnd, SharedJournal, SharedLeaseFamily, blocked_lease,
};
use dhcp_store::log::{ShardLog, SharedLogState};

const NOW: Now = Now { mono_ns: 5_000_000_000, wall_us: 1_000_000_000_000_000 };
const FIRST: u32 = 0x0a00_0001;
const ADDRESSES: u32 = 60_000;
/// Number of clients whose requests a server serves in one round.
const BATCH: u32 = 32;

/// Server with several shards, which its clients use in turn.
struct SharingServer<F: SharedLeaseFamily> {
    table: Arc<LeaseTable<F>>,
    stores: Vec<DatabaseStore<F>>,
    core: DatabaseCore<F, FakeConnection<F>>,
    pools: Arc<PoolSet<F>>,
    facts: Facts<F>,
}

impl<F: SharedLeaseFamily + SampleFamily> SharingServer<F> {
    fn start(database: &Arc<FakeDatabase<F>>, seed: u64, shards: usize) -> Self {
        Self::start_as(database, seed, shards, false)
    }

    /// Starts a server; `is_shared`: it looks clients up in the database that it does not know.
    fn start_as(
        database: &Arc<FakeDatabase<F>>,
        seed: u64,
        shards: usize,
        is_shared: bool,
    ) -> Self {
        let table = Arc::new(LeaseTable::new(seed));
        let pools = table.configure(&[F::pool(FIRST, FIRST + ADDRESSES - 1)], &[]);
        let shards = SharedLogState::new(shards, |_| {});
        let refusals = Arc::<Refusals>::default();
        let store = |shard| {
            let log = ShardLog::new(shards.clone(), shard);
            let journal = SharedJournal::new(refusals.clone(), is_shared);
            DatabaseStore::with_journal(table.clone(), log, journal)
        };
        let stores = (0..shards.count()).map(store).collect();
        let connection = FakeConnection::new(database.clone(), FakeFaults::default(), seed);
        let core = DatabaseCore::new(shards, table.clone(), refusals, connection);
        Self { table, stores, core, pools, facts: Facts::default() }
    }

    /// Leases an address to each of a batch of clients, and returns the numbers of the clients that
    /// the database allowed.
    fn give(&mut self, first_client: u32) -> Vec<u32> {
        let clients = first_client..first_client + BATCH;
        let requested: Vec<_> = clients.map(|client| self.take(client)).collect();
        assert_eq!(self.core.round(NOW), RoundEnd::Done);
        let is_allowed = |&(address, epoch): &(F::Address, u64)| {
            let (octets, len) = F::octets_of(address);
            !self.stores[0].is_refused(epoch, &octets[..len])
        };
        requested.into_iter().filter(is_allowed).map(|(address, _)| F::number(address)).collect()
    }

    /// Looks up the facts about a client and a free address, and returns true if the client has to
    /// be looked up in the database first.
    fn must_read(&mut self, client: u32) -> bool {
        let shards = self.stores.len();
        let keys = FetchKeys {
            identity: F::borrow(F::client(client)),
            addresses: [None; FETCHED_ADDRESSES_MAX],
            pools: &*self.pools,
            candidate_pools: &[PoolIndex(0)],
            is_candidate_spare: true,
        };
        let store = &mut self.stores[client as usize % shards];
        store.fetch(NOW, &keys, &mut self.facts);
        if self.facts.unread_epoch > 0 {
            store.submit(NOW);
        }
        self.facts.unread_epoch > 0
    }

    fn take(&mut self, client: u32) -> (F::Address, u64) {
        assert!(!self.must_read(client));
        let shards = self.stores.len();
        let store = &mut self.stores[client as usize % shards];
        let slot = self.facts.candidate.expect("the pool is large");
        let change = Change {
            identity: F::borrow(F::client(client)),
            address: slot.address,
            expected_version: slot.version,
            action: Action::Lease(F::terms(60, 1, "")),
        };
        let receipt = store.commit(NOW, &[change]).expect("nobody else is here");
        store.submit(NOW);
        (slot.address, receipt.row_epoch)
    }
}

/// Returns the number of clients that `count` servers, which take turns, refused in total.
fn refused<F: SharedLeaseFamily + SampleFamily>(count: u32, batches: u32) -> u32 {
    let database = Arc::<FakeDatabase<F>>::default();
    let mut servers: Vec<SharingServer<F>> =
        (0..count).map(|seed| SharingServer::start(&database, seed.into(), 1)).collect();
    let mut allowed = 0;
    for batch in 0..batches {
        let server = &mut servers[(batch % count) as usize];
        allowed += server.give(batch * BATCH).len() as u32;
    }
    batches * BATCH - allowed
}

#[test]
fn servers_that_share_a_pool_part_ways() {
    // A third of the pool is given; a server that reaches another server's addresses is refused a
    // batch.
    for refused in [refused::<V4>(3, 600), refused::<V6>(3, 600)] {
        assert!((BATCH..20 * BATCH).contains(&refused), "{refused} of {}", 600 * BATCH);
    }
}

#[test]
fn a_server_that_is_alone_keeps_to_the_order() {
    let database = Arc::<FakeDatabase<V4>>::default();
    let mut server = SharingServer::start(&database, 1, 1);
    let leased = (0..100).flat_map(|batch| server.give(batch * BATCH));
    assert!(leased.eq(FIRST..FIRST + 100 * BATCH));
}

/// Checks the order of a server that may have others beside it: it looks each client up in the
/// database before it takes an address for the client.
fn order_is_kept_after_reads<F: SharedLeaseFamily + SampleFamily>() {
    let database = Arc::<FakeDatabase<F>>::default();
    let mut server = SharingServer::start_as(&database, 1, 1, true);
    // A client has a number of one octet.
    for batch in 0..8 {
        let clients = batch * BATCH..(batch + 1) * BATCH;
        let unread: Vec<u32> = clients.clone().filter(|&client| server.must_read(client)).collect();
        assert_eq!(unread, clients.clone().collect::<Vec<_>>());
        assert_eq!(server.core.round(NOW), RoundEnd::Done);
        let leased = server.give(clients.start);
        let expected = clients.map(|client| FIRST + client);
        assert!(leased.iter().copied().eq(expected), "batch {batch}: {leased:?}");
    }
}

#[test]
fn a_server_that_is_alone_keeps_to_the_order_after_reads() {
    order_is_kept_after_reads::<V4>();
    order_is_kept_after_reads::<V6>();
}

/// Checks leases of a round that have no room in the database: only they are refused, and nothing
/// is lost.
fn leases_without_room_are_refused_alone<F: SharedLeaseFamily + SampleFamily>(
    without_room: &[u32],
) {
    let database = Arc::<FakeDatabase<F>>::default();
    let mut server = SharingServer::start(&database, 1, 4);
    let addresses = without_room.iter().map(|&number| <F as SampleFamily>::address(FIRST + number));
    database.without_room().extend(addresses);
    let expected = (0..BATCH).filter(|number| !without_room.contains(number));
    let expected: Vec<u32> = expected.map(|number| FIRST + number).collect();
    assert_eq!(server.give(0), expected);
    let written: Vec<u32> = database.leases().keys().map(|&address| F::number(address)).collect();
    assert_eq!(written, expected);
    assert_eq!(server.core.rejections().load(Ordering::Relaxed), without_room.len() as u64);
    let problems = server.core.take_problems();
    assert_eq!(problems.len(), without_room.len().min(16), "{problems:?}");
    for &number in without_room {
        let address = <F as SampleFamily>::address(FIRST + number);
        assert_eq!(server.table.lease(address), None);
        let is_reported = |problem: &String| problem.contains(&format!("the lease of {address} "));
        assert!(without_room.len() > 16 || problems.iter().any(is_reported), "{problems:?}");
    }
    // The database serves the next round as usual.
    let next: Vec<u32> = (FIRST + BATCH..FIRST + 2 * BATCH).collect();
    assert_eq!(server.give(BATCH), next);
}

#[test]
fn a_lease_without_room_is_refused_alone() {
    for without_room in [&[0][..], &[7, 8, 31], &(0..BATCH).collect::<Vec<_>>()] {
        leases_without_room_are_refused_alone::<V4>(without_room);
        leases_without_room_are_refused_alone::<V6>(without_room);
    }
}

/// Checks a row that no server can read, at the address of a lease to be added: only that lease is
/// refused.
fn a_row_that_is_in_the_way_is_no_loss<F: SharedLeaseFamily + SampleFamily>() {
    let database = Arc::<FakeDatabase<F>>::default();
    let mut server = SharingServer::start(&database, 1, 4);
    let hidden = [3, 17].map(|number| <F as SampleFamily>::address(FIRST + number));
    database.hidden().extend(hidden);
    let expected = (0..BATCH).filter(|number| ![3, 17].contains(number));
    assert_eq!(server.give(0), expected.map(|number| FIRST + number).collect::<Vec<_>>());
    let problems = server.core.take_problems();
    for address in hidden {
        let is_reported = |problem: &String| problem.contains(&format!("the lease of {address} "));
        assert!(problems.iter().any(is_reported), "{problems:?}");
    }
}

#[test]
fn a_row_in_the_way_of_a_lease_is_no_lost_store() {
    a_row_that_is_in_the_way_is_no_loss::<V4>();
    a_row_that_is_in_the_way_is_no_loss::<V6>();
}

/// Checks addresses whose rows the database fails to read: the server leases them to no client.
fn a_row_that_is_not_read_is_no_free_address<F: SharedLeaseFamily + SampleFamily>() {
    let database = Arc::<FakeDatabase<F>>::default();
    let mut server = SharingServer::start(&database, 1, 4);
    let unreadable = [3, 17].map(|number| <F as SampleFamily>::address(FIRST + number));
    database.unreadable().extend(unreadable);
    let expected = (0..BATCH).filter(|number| ![3, 17].contains(number));
    assert_eq!(server.give(0), expected.map(|number| FIRST + number).collect::<Vec<_>>());
    for address in unreadable {
        assert_eq!(server.table.lease(address), Some(blocked_lease(address)));
    }
}

#[test]
fn what_the_database_fails_to_read_is_leased_to_no_one() {
    a_row_that_is_not_read_is_no_free_address::<V4>();
    a_row_that_is_not_read_is_no_free_address::<V6>();
}

#[test]
fn a_session_that_the_database_has_ended_costs_no_client_its_lease() {
    let database = Arc::<FakeDatabase<V4>>::default();
    let mut server = SharingServer::start(&database, 1, 4);
    server.core.reconnect_at_once();
    for batch in 0..3 {
        let expected: Vec<u32> = (0..BATCH).map(|number| FIRST + batch * BATCH + number).collect();
        assert_eq!(server.give(batch * BATCH), expected);
        assert!(!server.stores[0].has_failed());
        server.core.database().end();
    }
    let problems = server.core.take_problems();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("the database closed the connection"), "{problems:?}");
}

#[test]
fn parts_are_of_all_shards_together() {
    let database = Arc::<FakeDatabase<V4>>::default();
    let mut server = SharingServer::start(&database, 1, 4);
    server.core.set_changes_max(Some(8));
    server.give(0);
    let epochs: Vec<u64> = (BATCH..2 * BATCH).map(|client| server.take(client).1).collect();
    server.core.take_requests();
    let mut parts = Vec::new();
    while let Some(writes) = server.core.next_writes() {
        parts.push((writes, server.stores[0].settled_epoch()));
        assert_eq!(server.core.run_next_part(NOW), Some(RoundEnd::Done));
    }
    let first = epochs[0];
    assert_eq!(parts[1..], [(16, first), (8, first + 1)], "{epochs:?}");
    assert_eq!(parts[0].0, 8);
    assert_eq!(epochs[BATCH as usize - 1], first + 2);
}
