//! Stores over real databases keep the contract of all lease stores. Servers and databases are shared
//! by the tests that run at the same time, a database by one after the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use base::Now;
use dhcp_lease::LeaseTable;
use dhcp_lease::contract_suite::Backend as Contract;
use dhcp_lease::sample::Sample;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_store::DatabaseStore;
use dhcp_store::database::{DatabaseCore, LeaseDatabase, Refusals, RoundEnd, SharedJournal};
use dhcp_store::log::{ShardLog, Shards};
use dhcp_store::sql::{Backend, Schema, Settings, SharedLeases, SharedRows};

use crate::{Place, open, skip};

const SHARDS: usize = 4;

/// A server with its databases that nobody uses now.
struct Pool {
    place: Place,
    free: Mutex<(Vec<Settings>, u32)>,
}

/// The servers that run, by the position of their kind.
static RUNNING: [Mutex<Weak<Pool>>; 3] = [const { Mutex::new(Weak::new()) }; 3];

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An empty database, given back with the value.
struct Lent {
    pool: Arc<Pool>,
    settings: Settings,
}

impl Lent {
    /// One of this kind; one of SQLite's where its server is not installed.
    fn new(backend: Backend) -> Self {
        let mut running = lock(&RUNNING[backend as usize]);
        let pool = running.upgrade().or_else(|| {
            let place = Place::new(backend, "contract")?;
            Some(Arc::new(Pool { place, free: Mutex::default() }))
        });
        let Some(pool) = pool else {
            drop(running);
            return Self::new(Backend::Sqlite);
        };
        *running = Arc::downgrade(&pool);
        drop(running);
        let mut free = lock(&pool.free);
        let settings = free.0.pop();
        free.1 += 1;
        let number = free.1;
        drop(free);
        let settings = settings.unwrap_or_else(|| {
            let settings = pool.place.create(&format!("contract{number}"));
            open(&settings).install(Schema::Current).unwrap();
            settings
        });
        Self { pool, settings }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // A database that a failed test has left alone is nobody's any more.
        if !std::thread::panicking() {
            lock(&self.pool.free).0.push(self.settings.clone());
        }
    }
}

struct SqlBackend<F: SharedRows> {
    table: Arc<LeaseTable<F>>,
    shards: Arc<Shards>,
    refusals: Arc<Refusals>,
    core: DatabaseCore<F, SharedLeases>,
    stores: usize,
    _lent: Lent,
}

impl<F: SharedRows> SqlBackend<F> {
    fn new(backend: Backend) -> Self {
        let lent = Lent::new(backend);
        if lent.settings.backend != backend {
            skip("played with SQLite");
        }
        let mut database = SharedLeases::new(lent.settings.clone());
        LeaseDatabase::<F>::connect(&mut database).unwrap();
        let mut there = Vec::new();
        LeaseDatabase::<F>::load(&mut database, &mut |lease| there.push(F::address(&lease)))
            .unwrap();
        LeaseDatabase::<F>::delete(&mut database, &there).unwrap();
        let shards = Shards::new(SHARDS, |_| {});
        let table = Arc::new(LeaseTable::new(3));
        let refusals = Arc::<Refusals>::default();
        let core = DatabaseCore::new(shards.clone(), table.clone(), refusals.clone(), database);
        Self { table, shards, refusals, core, stores: 0, _lent: lent }
    }
}

impl<F: SharedRows + Sample> Contract for SqlBackend<F> {
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
        // Later than all that the suite does.
        let now = Now { mono_ns: 0, wall_us: 2_000_000_000_000_000 };
        assert_eq!(self.core.round(now), RoundEnd::Done);
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
                dhcp_lease::lease_store_contract!(v6: SqlBackend::<V6>::new($backend));
            }
        }
    };
}

contract_of!(mariadb, Backend::Mysql);
contract_of!(postgresql, Backend::Postgresql);
contract_of!(sqlite, Backend::Sqlite);
