//! Tests that stores over real databases keep the contract of all lease stores. Tests that run at
//! the same time share servers; they use each database one after the other.

use std::net::Ipv6Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

use base::Now;
use dhcp_lease::LeaseState::Declined;
use dhcp_lease::contract_suite::StoreFactory as Contract;
use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::{self, V4};
use dhcp_lease::v6::{self, Resource, V6};
use dhcp_lease::{Lease, LeaseState, LeaseStore, LeaseTable, PoolIndex, PutMode, PutRefusal};
use dhcp_store::DatabaseStore;
use dhcp_store::database::{
    DatabaseCore, LeaseDatabaseConnection, Refusals, RoundEnd, SharedJournal,
};
use dhcp_store::log::{ShardLog, SharedLogState};
use dhcp_store::sql::{Schema, SharedLeases, SharedRows, SqlDatabaseKind, SqlSettings};

use crate::sql::{SqlTestDatabases, open};

const SHARDS: usize = 4;

/// Server with its databases that no test uses now.
struct DatabasePool {
    databases: Arc<SqlTestDatabases>,
    free: Mutex<(Vec<SqlSettings>, u32)>,
    keeper: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Number of pools that were made, so that each has a name of its own.
static POOLS: AtomicU32 = AtomicU32::new(0);

impl DatabasePool {
    /// Starts a server. Servers end with the thread that started them, and threads of tests end
    /// soon, so the pool has a thread of its own.
    fn new(backend: SqlDatabaseKind) -> Option<Self> {
        let (started, databases) = channel();
        let (end, ended) = channel::<()>();
        let label = format!("contract{}", POOLS.fetch_add(1, Ordering::Relaxed));
        let keeper = std::thread::spawn(move || {
            let databases = SqlTestDatabases::new(backend, &label).map(Arc::new);
            started.send(databases.clone()).unwrap();
            // The thread waits until the pool is dropped.
            ended.recv().unwrap_err();
        });
        let databases = databases.recv().unwrap()?;
        Some(Self { databases, free: Mutex::default(), keeper: Some((end, keeper)) })
    }
}

impl Drop for DatabasePool {
    fn drop(&mut self) {
        if let Some((end, keeper)) = self.keeper.take() {
            drop(end);
            // Its panic has printed the reason.
            let _ = keeper.join();
        }
    }
}

/// Running servers, by the position of their kind.
static RUNNING: [Mutex<Weak<DatabasePool>>; 3] = [const { Mutex::new(Weak::new()) }; 3];

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Empty database, returned to the pool with the value.
struct Lent {
    pool: Arc<DatabasePool>,
    settings: SqlSettings,
}

impl Lent {
    /// Takes a database of this kind; one of SQLite where the server is not installed.
    fn new(backend: SqlDatabaseKind) -> Self {
        let mut running = lock(&RUNNING[backend as usize]);
        let pool = running.upgrade().or_else(|| DatabasePool::new(backend).map(Arc::new));
        let Some(pool) = pool else {
            drop(running);
            return Self::new(SqlDatabaseKind::Sqlite);
        };
        *running = Arc::downgrade(&pool);
        drop(running);
        let mut free = lock(&pool.free);
        let settings = free.0.pop();
        free.1 += 1;
        let number = free.1;
        drop(free);
        let settings = settings.unwrap_or_else(|| {
            let settings = pool.databases.create(&format!("contract{number}"));
            open(&settings).install(Schema::Current).unwrap();
            settings
        });
        Self { pool, settings }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // No other test uses a database that a failed test has left.
        if !std::thread::panicking() {
            lock(&self.pool.free).0.push(self.settings.clone());
        }
    }
}

struct SqlBackend<F: SharedRows> {
    table: Arc<LeaseTable<F>>,
    shards: Arc<SharedLogState>,
    refusals: Arc<Refusals>,
    core: DatabaseCore<F, SharedLeases>,
    stores: usize,
    lent: Lent,
}

impl<F: SharedRows> SqlBackend<F> {
    fn new(backend: SqlDatabaseKind) -> Self {
        let lent = Lent::new(backend);
        if lent.settings.backend != backend {
            testkit::skip("played with SQLite");
        }
        let mut database = SharedLeases::new(lent.settings.clone());
        LeaseDatabaseConnection::<F>::connect(&mut database).unwrap();
        let mut there = Vec::new();
        LeaseDatabaseConnection::<F>::load(&mut database, &mut |lease| there.push(lease.address))
            .unwrap();
        LeaseDatabaseConnection::<F>::delete(&mut database, &there).unwrap();
        let shards = SharedLogState::new(SHARDS, |_| {});
        let table = Arc::new(LeaseTable::new(3));
        let refusals = Arc::<Refusals>::default();
        let core = DatabaseCore::new(shards.clone(), table.clone(), refusals.clone(), database);
        Self { table, shards, refusals, core, stores: 0, lent }
    }
}

impl<F: SharedRows + SampleFamily> SqlBackend<F> {
    fn settle_when(&mut self, is_due: bool) {
        if is_due {
            self.settle();
        }
    }
}

impl<F: SharedRows + SampleFamily> Contract for SqlBackend<F> {
    type Family = F;
    type Store = DatabaseStore<F>;

    fn table(&self) -> &LeaseTable<F> {
        &self.table
    }

    fn store(&mut self) -> DatabaseStore<F> {
        assert!(self.stores < SHARDS, "the suite makes few stores");
        self.stores += 1;
        let log = ShardLog::new(self.shards.clone(), self.stores - 1);
        let journal = SharedJournal::new(self.refusals.clone(), true);
        DatabaseStore::with_journal(self.table.clone(), log, journal)
    }

    fn settle(&mut self) {
        // This time is later than all times of the suite.
        let now = Now { mono_ns: 0, wall_us: 2_000_000_000_000_000 };
        assert_eq!(self.core.round(now), RoundEnd::Done);
    }

    fn read(&mut self, store: &mut DatabaseStore<F>, now: Now) {
        store.submit_rows(now);
        self.settle();
    }
}

macro_rules! contract_of {
    ($name:ident, $backend:expr) => {
        mod $name {
            mod v4 {
                use super::super::*;
                dhcp_lease::lease_store_contract!(v4: SqlBackend::<V4>::new($backend));
            }

            mod v6 {
                use super::super::*;
                dhcp_lease::lease_store_contract!(v6_by_number: SqlBackend::<V6>::new($backend));
            }
        }
    };
}

/// Checks that Kea's table of DHCPv6 leases, which has one row for each number, does not get a
/// second lease of a number: the lease table refuses it before.
#[test]
fn a_prefix_keeps_the_address_with_its_number_from_being_leased() {
    let mut backend = SqlBackend::<V6>::new(SqlDatabaseKind::Sqlite);
    let at: Ipv6Addr = "2001:db8::".parse().unwrap();
    let lease = |address| v6::Lease {
        address,
        ..V6::lease(&SampleLease {
            address: 1,
            client: 1,
            valid_lifetime_s: u32::MAX,
            cltt_s: 1_000_000_000,
            subnet_id: 1,
            pool_id: 0,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: "",
        })
    };
    let mut store = backend.store();
    store.put(&lease(Resource::prefix(at, 64)), PutMode::Add).unwrap();
    backend.settle();
    let refused = store.put(&lease(Resource::address(at)), PutMode::Add);
    assert_eq!(refused.err(), Some(PutRefusal::Overlaps));
    backend.settle();
    assert!(backend.table().lease(Resource::address(at)).is_none());
    assert!(backend.table().lease(Resource::prefix(at, 64)).is_some());
    // The same happens within one round.
    let at: Ipv6Addr = "2001:db8:1::".parse().unwrap();
    store.put(&lease(Resource::prefix(at, 64)), PutMode::Add).unwrap();
    let refused = store.put(&lease(Resource::address(at)), PutMode::Add);
    assert_eq!(refused.err(), Some(PutRefusal::Overlaps));
    backend.settle();
    assert!(backend.table().lease(Resource::address(at)).is_none());
    assert!(backend.table().lease(Resource::prefix(at, 64)).is_some());
}

/// Returns a lease of an address and a client of the same number.
fn lease<F: SampleFamily>(number: u32, user_context: &str) -> Lease<F> {
    F::lease(&SampleLease {
        address: 0x0a00_0000 + number,
        client: number,
        valid_lifetime_s: u32::MAX,
        cltt_s: 1_000_000_000,
        subnet_id: 1,
        pool_id: 0,
        hostname: "",
        state: LeaseState::Assigned,
        user_context,
    })
}

/// Checks a lease of a round whose contents the database refuses: only this lease is not written,
/// replies that name it are refused, and the connection stays.
fn a_lease_that_is_refused_is_alone<F: SharedRows + SampleFamily>(
    backend: SqlDatabaseKind,
    context: &str,
) {
    let mut backend_of = SqlBackend::<F>::new(backend);
    if backend_of.lent.settings.backend != backend {
        return;
    }
    let mut store = backend_of.store();
    for number in 0..20 {
        let lease = lease::<F>(number, if number == 13 { context } else { "" });
        let receipt = store.put(&lease, PutMode::Add).unwrap();
        backend_of.settle_when(number == 19);
        let (octets, len) = F::octets_of(lease.address);
        assert!(number < 19 || !store.is_refused(receipt.row_epoch, &octets[..len]));
    }
    let refused = lease::<F>(13, "").address;
    let (octets, len) = F::octets_of(refused);
    let is_refused = |epoch| store.is_refused_for_data(epoch, &octets[..len]);
    assert_eq!((1..=64).filter(|&epoch| is_refused(epoch)).count(), 1);
    assert_eq!(backend_of.table().lease(refused), None);
    assert_eq!(backend_of.core.rejections().load(Ordering::Relaxed), 1);
    let mut written = 0;
    let mut count = |lease: Lease<F>| {
        assert_ne!(lease.address, refused);
        written += 1;
    };
    LeaseDatabaseConnection::<F>::load(backend_of.core.database(), &mut count).unwrap();
    assert_eq!(written, 19);
}

#[test]
fn mariadb_refuses_a_lease_alone() {
    let long = format!(r#"{{ "a": "{}" }}"#, "x".repeat(70_000));
    a_lease_that_is_refused_is_alone::<V4>(SqlDatabaseKind::Mysql, &long);
    a_lease_that_is_refused_is_alone::<V6>(SqlDatabaseKind::Mysql, &long);
}

#[test]
fn postgresql_refuses_a_lease_alone() {
    a_lease_that_is_refused_is_alone::<V4>(SqlDatabaseKind::Postgresql, "{ this is no JSON");
    a_lease_that_is_refused_is_alone::<V6>(SqlDatabaseKind::Postgresql, "{ this is no JSON");
}

/// Checks a row that is no lease, as an operator may have made it: the server does not lease its
/// address to a client, the connection stays, and a command replaces the row.
fn a_row_that_is_no_lease_is_left_alone(backend: SqlDatabaseKind) {
    let mut backend_of = SqlBackend::<V4>::new(backend);
    let nobodys = v4::Lease { client: v4::LeaseClient::default(), ..lease::<V4>(1, "") };
    LeaseDatabaseConnection::<V4>::update(backend_of.core.database(), &[nobodys]).unwrap();
    // The notes name it, and a server that loads it does not offer its address.
    let mut blocked = Vec::new();
    let mut keep = |lease| blocked.push(lease);
    let notes = LeaseDatabaseConnection::<V4>::load(backend_of.core.database(), &mut keep).unwrap();
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert!(note.contains("10.0.0.1") && note.contains("does not assign"), "{note}");
    let [lease_of_nobody] = &blocked[..] else { panic!("{blocked:?}") };
    assert_eq!(
        (lease_of_nobody.address.octets(), lease_of_nobody.state),
        ([10, 0, 0, 1], Declined)
    );
    assert_eq!(lease_of_nobody.expires_s(), u64::MAX);
    let mut store = backend_of.store();
    let pool = V4::pool(0x0a00_0001, 0x0a00_0001);
    let pools = backend_of.table().configure(&[pool], &[]);
    let now = Now { mono_ns: 1, wall_us: 2_000_000_000_000_000 };
    let mut facts = v4::Facts::default();
    let give =
        |store: &mut DatabaseStore<V4>, facts: &mut v4::Facts, backend: &mut SqlBackend<V4>| {
            let keys = v4::FetchKeys {
                identity: V4::borrow(V4::client(5)),
                addresses: [None; dhcp_lease::FETCHED_ADDRESSES_MAX],
                pools: &pools,
                candidate_pools: &[PoolIndex(0)],
                is_candidate_spare: true,
            };
            store.fetch(now, &keys, facts);
            if facts.unread_epoch > 0 {
                backend.read(store, now);
                store.fetch(now, &keys, facts);
            }
            let slot = facts.candidate.unwrap();
            let change = v4::Change {
                identity: V4::borrow(V4::client(5)),
                address: slot.address,
                expected_version: slot.version,
                action: v4::Action::Lease(V4::terms(60, 1, "")),
            };
            store.commit(now, &[change]).unwrap().row_epoch
        };
    let epoch = give(&mut store, &mut facts, &mut backend_of);
    backend_of.settle();
    assert!(store.is_refused_for_data(epoch, &[10, 0, 0, 1]));
    assert_eq!(backend_of.table().lease([10, 0, 0, 1].into()).as_ref(), Some(lease_of_nobody));
    let ours = lease::<V4>(1, "");
    let receipt = store.put(&ours, PutMode::Force).unwrap();
    backend_of.settle();
    assert!(!store.is_refused(receipt.row_epoch, &[10, 0, 0, 1]));
    let mut written = Vec::new();
    let mut keep = |lease| written.push(lease);
    LeaseDatabaseConnection::<V4>::load(backend_of.core.database(), &mut keep).unwrap();
    assert_eq!(written, [ours]);
}

#[test]
fn a_row_that_is_no_lease_ends_no_connection() {
    for backend in [SqlDatabaseKind::Sqlite, SqlDatabaseKind::Mysql, SqlDatabaseKind::Postgresql] {
        a_row_that_is_no_lease_is_left_alone(backend);
    }
}

contract_of!(mariadb, SqlDatabaseKind::Mysql);
contract_of!(postgresql, SqlDatabaseKind::Postgresql);
contract_of!(sqlite, SqlDatabaseKind::Sqlite);
