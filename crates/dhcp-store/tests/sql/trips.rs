//! Number of round trips that a round needs, counted by a server in between.

use std::sync::Arc;

use base::Now;
use dhcp_lease::contract::{FETCHED_ADDRESSES_MAX, Facts, FetchKeys};
use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{Lease, LeaseState, LeaseStore, LeaseTable, PoolSet, PutMode};
use dhcp_store::DatabaseStore;
use dhcp_store::database::{
    DatabaseCore, LeaseDatabaseConnection, Refusals, RoundEnd, SharedJournal,
};
use dhcp_store::log::{ShardLog, SharedLogState};
use dhcp_store::sql::{Schema, SharedLeases, SharedRows, SqlDatabaseKind, SqlSettings};

use crate::sql::wire::{WireCounters, WireCounts};
use crate::sql::{SqlTestDatabases, open};

/// Number of leases in one round.
const LEASES: u32 = 300;
/// Most rounds in which turns are counted.
const ATTEMPTS: u64 = 100;
/// Turns of rounds that renew some leases, change leases, renew all, and look up clients: one to
/// read and to lock, one to write and to commit; one for lookups.
const FEWEST: [u64; 4] = [2, 2, 2, 1];
const NOW: Now = Now { mono_ns: 0, wall_us: 1_700_000_000_000_000 };

struct DatabaseTripsFixture<F: SharedRows> {
    wire: Arc<WireCounters>,
    core: DatabaseCore<F, SharedLeases>,
    store: DatabaseStore<F>,
    pools: Arc<PoolSet<F>>,
}

impl<F: SharedRows + SampleFamily> DatabaseTripsFixture<F> {
    fn new(settings: &SqlSettings) -> Self {
        let (wire, port) = WireCounters::start(settings.port());
        let settings = SqlSettings { port: Some(port), ..settings.clone() };
        let mut database = SharedLeases::new(settings);
        LeaseDatabaseConnection::<F>::connect(&mut database).unwrap();
        let shards = SharedLogState::new(1, |_| {});
        let table = Arc::new(LeaseTable::new(3));
        let pools = table.configure(&[F::pool(1, LEASES)], &[]);
        let refusals = Arc::<Refusals>::default();
        let log = ShardLog::new(shards.clone(), 0);
        let journal = SharedJournal::new(refusals.clone(), true);
        let store = DatabaseStore::with_journal(table.clone(), log, journal);
        let core = DatabaseCore::new(shards, table, refusals, database);
        Self { wire, core, store, pools }
    }

    /// Returns the traffic of a round in which all addresses are leased since `cltt_s`, with
    /// `lifetimes` different lifetimes. Checks the database afterwards.
    fn leases(&mut self, cltt_s: u64, lifetimes: u32) -> WireCounts {
        let lease = |number: u32| {
            F::lease(&SampleLease {
                address: number,
                client: number,
                valid_lifetime_s: 4000 + number % lifetimes,
                cltt_s,
                subnet_id: 1,
                pool_id: 0,
                hostname: "",
                state: LeaseState::Assigned,
                user_context: "",
            })
        };
        let leases: Vec<Lease<F>> = (1..=LEASES).map(lease).collect();
        for lease in &leases {
            self.store.put(lease, PutMode::Force).unwrap();
        }
        let counts = self.round();
        let mut there = Vec::new();
        LeaseDatabaseConnection::<F>::load(self.core.database(), &mut |lease| there.push(lease))
            .unwrap();
        there.sort_by_key(|lease| lease.address);
        assert!(there == leases, "the leases are there as they were written");
        counts
    }

    /// Returns the traffic of a round that looks up a hundred clients, `after_s` seconds from the
    /// start: the result of a lookup is valid for one second.
    fn look_up_clients(&mut self, after_s: u64) -> WireCounts {
        let now = NOW.after_ns(after_s * 1_000_000_000);
        let mut facts = Facts::default();
        for client in 1..=100 {
            let keys = FetchKeys {
                identity: F::borrow(F::client(1000 + client)),
                addresses: [None; FETCHED_ADDRESSES_MAX],
                pools: &*self.pools,
                candidate_pools: &[],
                is_candidate_spare: false,
            };
            self.store.begin_message(after_s * 100 + u64::from(client));
            self.store.fetch(now, &keys, &mut facts);
            assert!(facts.unread_epoch > 0);
        }
        self.round()
    }

    fn round(&mut self) -> WireCounts {
        let before = self.wire.counts();
        assert_eq!(self.core.round(NOW), RoundEnd::Done);
        let after = self.wire.counts();
        WireCounts {
            sent: after.sent - before.sent,
            received: after.received - before.received,
            turns: after.turns - before.turns,
        }
    }
}

fn trips<F: SharedRows + SampleFamily>(settings: &SqlSettings) {
    let mut fixture = DatabaseTripsFixture::<F>::new(settings);
    // The first rounds prepare PostgreSQL's statements, one of each kind.
    fixture.leases(1_700_000_000, 1);
    fixture.leases(1_700_000_001, 1);
    fixture.look_up_clients(0);
    // The server in between counts one turn too many if the database answers the beginning of data
    // that the client still sends. A client that waits for an answer makes one turn each time.
    let mut fewest = [u64::MAX; 4];
    for attempt in 0..ATTEMPTS {
        let cltt_s = 1_700_000_002 + 4 * attempt;
        fixture.leases(cltt_s, 12);
        let some_renewed = fixture.leases(cltt_s + 1, 12);
        let changed = fixture.leases(cltt_s + 2, 1);
        let renewed = fixture.leases(cltt_s + 3, 1);
        let lookups = fixture.look_up_clients(2 + 2 * attempt);
        // A renewed lease travels as its address, not as a row.
        assert!(renewed.sent * 2 < changed.sent && some_renewed.sent < changed.sent);
        assert!(renewed.received > u64::from(LEASES) * 16);
        let turns = [some_renewed, changed, renewed, lookups].map(|counts| counts.turns);
        fewest = std::array::from_fn(|index| fewest[index].min(turns[index]));
        if fewest == FEWEST {
            break;
        }
    }
    assert_eq!(fewest, FEWEST);
    assert_eq!(fixture.round().turns, 0);
}

fn of(backend: SqlDatabaseKind) {
    let Some(databases) = SqlTestDatabases::new(backend, "trips") else { return };
    let settings = databases.create("leases");
    open(&settings).install(Schema::Current).unwrap();
    trips::<V4>(&settings);
    trips::<V6>(&settings);
}

#[test]
fn a_round_is_two_round_trips_to_mariadb() {
    of(SqlDatabaseKind::Mysql);
}

#[test]
fn a_round_is_two_round_trips_to_postgresql() {
    of(SqlDatabaseKind::Postgresql);
}
