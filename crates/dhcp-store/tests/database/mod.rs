//! Tests of stores over a database: the contract of all lease stores, and several servers that
//! share one database whose connections break.

mod leased_elsewhere;
mod sharing;
mod simulation;
mod thread;

use std::sync::Arc;

use base::Now;
use dhcp_lease::LeaseTable;
use dhcp_lease::contract_suite::StoreFactory;
use dhcp_lease::sample::SampleFamily;
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_store::DatabaseStore;
use dhcp_store::database::testing::{FakeConnection, FakeDatabase, FakeFaults};
use dhcp_store::database::{DatabaseCore, Refusals, RoundEnd, SharedJournal, SharedLeaseFamily};
use dhcp_store::log::{ShardLog, SharedLogState};

const SHARDS: usize = 4;

struct DatabaseBackend<F: SharedLeaseFamily> {
    table: Arc<LeaseTable<F>>,
    shards: Arc<SharedLogState>,
    refusals: Arc<Refusals>,
    core: DatabaseCore<F, FakeConnection<F>>,
    is_shared: bool,
    stores: usize,
}

impl<F: SharedLeaseFamily> DatabaseBackend<F> {
    fn new(is_shared: bool) -> Self {
        let shards = SharedLogState::new(SHARDS, |_| {});
        let table = Arc::new(LeaseTable::new(3));
        let refusals = Arc::<Refusals>::default();
        let database = Arc::<FakeDatabase<F>>::default();
        let connection = FakeConnection::new(database, FakeFaults::default(), 1);
        let core = DatabaseCore::new(shards.clone(), table.clone(), refusals.clone(), connection);
        Self { table, shards, refusals, core, is_shared, stores: 0 }
    }
}

impl<F: SharedLeaseFamily + SampleFamily> StoreFactory for DatabaseBackend<F> {
    type Family = F;
    type Store = DatabaseStore<F>;

    fn table(&self) -> &LeaseTable<F> {
        &self.table
    }

    fn store(&mut self) -> DatabaseStore<F> {
        assert!(self.stores < SHARDS, "the suite makes few stores");
        self.stores += 1;
        let log = ShardLog::new(self.shards.clone(), self.stores - 1);
        let journal = SharedJournal::new(self.refusals.clone(), self.is_shared);
        DatabaseStore::with_journal(self.table.clone(), log, journal)
    }

    fn settle(&mut self) {
        // This time is later than all times of the suite: the simulation tests if a lease has
        // ended.
        let now = Now { mono_ns: 0, wall_us: 2_000_000_000_000_000 };
        assert_eq!(self.core.round(now), RoundEnd::Done);
    }

    fn read(&mut self, store: &mut DatabaseStore<F>, now: Now) {
        store.submit_rows(now);
        self.settle();
    }
}

mod alone {
    mod v4 {
        use super::super::*;
        dhcp_lease::lease_store_contract!(v4: DatabaseBackend::<V4>::new(false));
    }

    mod v6 {
        use super::super::*;
        dhcp_lease::lease_store_contract!(v6: DatabaseBackend::<V6>::new(false));
    }
}

mod shared {
    mod v4 {
        use super::super::*;
        dhcp_lease::lease_store_contract!(v4: DatabaseBackend::<V4>::new(true));
    }

    mod v6 {
        use super::super::*;
        dhcp_lease::lease_store_contract!(v6: DatabaseBackend::<V6>::new(true));
    }
}
