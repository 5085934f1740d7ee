//! Tests that the tables of counts match the tables of leases, with any way of counting: triggers
//! for each row, for each statement, or the session that adds the leases.

use std::collections::BTreeMap;

use base::Random;
use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{Lease, LeaseState};
use dhcp_store::database::{DatabaseFault, LeaseDatabaseConnection, RoundChanges};
use dhcp_store::sql::{Schema, SharedLeases, SharedRows, SqlDatabaseKind, SqlSettings};

use crate::sql::schema::kea_admin;
use crate::sql::{SqlTestDatabases, open};

const CONTEXT: &str = r#"{ "ISC": { "client-classes": [ "gold" ] } }"#;
const ADDRESSES: u32 = 60;
const ROUNDS: u32 = 40;
const STATES: [LeaseState; 3] =
    [LeaseState::Assigned, LeaseState::Declined, LeaseState::ExpiredReclaimed];

/// Tables with leases that are added, changed and deleted at random, and the counts that they must
/// have.
struct LeaseCountsFixture<'p, F: SharedRows> {
    databases: &'p SqlTestDatabases,
    settings: SqlSettings,
    /// Number of the family, `4` or `6`.
    family: u8,
    schema: Schema,
    random: Random,
    shared: SharedLeases,
    leases: BTreeMap<u32, Lease<F>>,
}

impl<'p, F: SharedRows + SampleFamily> LeaseCountsFixture<'p, F> {
    fn new(
        databases: &'p SqlTestDatabases,
        settings: SqlSettings,
        family: u8,
        schema: Schema,
    ) -> Self {
        let mut shared = SharedLeases::new(settings.clone());
        LeaseDatabaseConnection::<F>::connect(&mut shared).unwrap();
        let random = Random::from_seed(u64::from(family));
        Self { databases, settings, family, schema, random, shared, leases: BTreeMap::new() }
    }

    fn lease(&mut self, address: u32, cltt_s: u64) -> Lease<F> {
        let random = &mut self.random;
        F::lease(&SampleLease {
            address,
            client: address,
            valid_lifetime_s: 4000,
            cltt_s,
            subnet_id: 1 + random.below(3) as u32,
            pool_id: if self.schema == Schema::Current { random.below(2) as u32 } else { 0 },
            hostname: "",
            state: STATES[random.below(3) as usize],
            user_context: if random.chance(1, 4) { CONTEXT } else { "" },
        })
    }

    /// Runs one transaction of a round: it adds some leases, and changes, renews or deletes others.
    fn round(&mut self, number: u32) {
        let mut changes = RoundChanges::<F>::default();
        let cltt_s = 1_700_000_000 + u64::from(number);
        for address in 1..=ADDRESSES {
            if !self.random.chance(1, 3) {
                continue;
            }
            let lease = self.lease(address, cltt_s);
            let Some(stored) = self.leases.get(&address).cloned() else {
                changes.inserts.push(lease.clone());
                self.leases.insert(address, lease);
                continue;
            };
            match self.random.below(3) {
                0 => {
                    changes.deletions.push(stored.address);
                    self.leases.remove(&address);
                }
                _ => {
                    changes.updates.push(lease.clone());
                    self.leases.insert(address, lease);
                }
            }
        }
        let (mut client_leases, mut address_leases) = (Vec::new(), Vec::new());
        let addresses: Vec<F::Address> =
            changes.updates.iter().map(|lease| lease.address).collect();
        LeaseDatabaseConnection::<F>::begin_and_lock(
            &mut self.shared,
            &[],
            &addresses,
            &mut client_leases,
            &mut address_leases,
        )
        .unwrap();
        assert_eq!(address_leases.len(), addresses.len());
        LeaseDatabaseConnection::<F>::write_and_commit(&mut self.shared, &changes).unwrap();
    }

    /// Runs a transaction that conflicts with another server and is rolled back.
    fn conflict(&mut self) {
        let there = self.leases.keys().next().copied();
        let free = (1..=ADDRESSES).find(|address| !self.leases.contains_key(address));
        let inserts = there.into_iter().chain(free).map(|address| self.lease(address, 9)).collect();
        let changes = RoundChanges::<F> { inserts, ..RoundChanges::default() };
        LeaseDatabaseConnection::<F>::begin(&mut self.shared).unwrap();
        let error =
            LeaseDatabaseConnection::<F>::write_and_commit(&mut self.shared, &changes).unwrap_err();
        assert_eq!(error.fault, DatabaseFault::Conflict);
        LeaseDatabaseConnection::<F>::roll_back(&mut self.shared);
    }

    /// Adds leases in other ways: in the same session, and in one that counts nothing.
    fn put_beside(&mut self, number: u32) {
        let free = (1..=ADDRESSES).filter(|address| !self.leases.contains_key(address));
        let free: Vec<u32> = free.take(2).collect();
        let leases: Vec<Lease<F>> =
            free.iter().map(|&address| self.lease(address, u64::from(number))).collect();
        if let [first, ..] = leases.as_slice() {
            LeaseDatabaseConnection::<F>::insert(&mut self.shared, std::slice::from_ref(first))
                .unwrap();
        }
        if let [_, second] = leases.as_slice() {
            let mut database = open(&self.settings);
            let layout = database.layout().unwrap();
            database.upsert_many::<F>(layout, std::slice::from_ref(second)).unwrap();
        }
        self.leases.extend(free.into_iter().zip(leases));
    }

    /// Compares the counts with the leases. Triggers of Kea 2.2 miss classes that are added to or
    /// removed from a lease that stays, so the test does not compare `classes` there.
    fn check(&self, classes: bool) {
        let family = self.family;
        let kind = if family == 6 { "lease_type, " } else { "" };
        let pool = (self.schema == Schema::Current).then_some("pool_id, ");
        for (table, pool) in [("stat", Some("")), ("pool_stat", pool)] {
            let Some(pool) = pool else { continue };
            let columns = format!("subnet_id, {pool}{kind}state");
            let counted = self.ask(&format!(
                "SELECT {columns}, leases FROM lease{family}_{table} WHERE leases <> 0 \
                 ORDER BY {columns}"
            ));
            let there = self.ask(&format!(
                "SELECT {columns}, COUNT(*) FROM lease{family} WHERE state IN (0, 1) \
                 GROUP BY {columns} ORDER BY {columns}"
            ));
            assert_eq!(counted, there, "lease{family}_{table}");
        }
        if !classes {
            return;
        }
        let counted =
            self.ask(&format!("SELECT SUM(leases) FROM lease{family}_stat_by_client_class"));
        let there = self.ask(&format!(
            "SELECT COUNT(*) FROM lease{family} WHERE state = 0 AND user_context LIKE '%gold%'"
        ));
        assert_eq!(counted, there, "leases of the class");
    }

    fn ask(&self, query: &str) -> String {
        self.databases.server().query(&self.settings.name, query).unwrap()
    }
}

fn counts_are_right<F: SharedRows + SampleFamily>(
    databases: &SqlTestDatabases,
    settings: &SqlSettings,
    family: u8,
    schema: Schema,
    classes: bool,
) {
    let mut fixture = LeaseCountsFixture::<F>::new(databases, settings.clone(), family, schema);
    for number in 1..=ROUNDS {
        fixture.round(number);
        if number % 5 == 0 {
            fixture.conflict();
            fixture.put_beside(number);
            fixture.check(classes);
        }
    }
    assert!(fixture.leases.len() > 10, "leases stay");
}

fn all_counts_are_right(backend: SqlDatabaseKind) {
    let Some(databases) = SqlTestDatabases::new(backend, "counts") else { return };
    for schema in Schema::ALL {
        let settings = databases.create(&format!("counts_{schema:?}").to_lowercase());
        open(&settings).install(schema).unwrap();
        counts_are_right::<V4>(&databases, &settings, 4, schema, true);
        counts_are_right::<V6>(&databases, &settings, 6, schema, true);
    }
    // The triggers of these tables count all leases themselves.
    let theirs = databases.create("theirs");
    if kea_admin(&["db-init", backend.name()], &theirs).is_none() {
        testkit::skip("kea-admin is not installed");
        return;
    }
    counts_are_right::<V4>(&databases, &theirs, 4, Schema::Kea22, false);
    counts_are_right::<V6>(&databases, &theirs, 6, Schema::Kea22, false);
}

#[test]
fn leases_in_mariadb_are_counted() {
    all_counts_are_right(SqlDatabaseKind::Mysql);
}

#[test]
fn leases_in_postgresql_are_counted() {
    all_counts_are_right(SqlDatabaseKind::Postgresql);
}
