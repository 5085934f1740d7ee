//! Tests of many leases at once, in all kinds of databases.

use std::collections::BTreeMap;

use base::Random;
use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::{Resource, V6};
use dhcp_lease::{Lease, LeaseState};
use dhcp_store::sql::row::RowLayout;
use dhcp_store::sql::{Database, Schema, SqlDatabaseKind, SqlError, SqlFamily, transfer};

use crate::sql::{SqlTestDatabases, open};

pub(crate) fn leases<F: SqlFamily + SampleFamily>(
    random: &mut Random,
    count: u32,
    schema: Schema,
) -> Vec<Lease<F>> {
    let states = if schema == Schema::Kea22 { 3 } else { 4 };
    let lease = |number: u32| {
        F::lease(&SampleLease {
            address: 0x0a00_0000 + number * 3,
            client: number,
            valid_lifetime_s: [600, 4000, u32::MAX][random.below(3) as usize],
            cltt_s: 1_700_000_000 + random.below(100_000_000),
            subnet_id: 1 + random.below(3) as u32,
            pool_id: 0,
            hostname: ["", "host-1.example.org", "gr\u{fc}n", "\u{1f600}"]
                [random.below(4) as usize],
            state: LeaseState::from_number(random.below(states) as u8).unwrap(),
            user_context: ["", "{ \"a\": [ 1, \"b\" ] }"][random.below(2) as usize],
        })
    };
    (0..count).map(lease).collect()
}

fn all<F: SqlFamily>(database: &mut Database, layout: RowLayout) -> Vec<Lease<F>> {
    let mut leases = Vec::new();
    let loaded = database.load_all::<F>(layout, |lease| {
        leases.push(lease);
        Ok(())
    });
    let loaded = loaded.unwrap();
    assert_eq!((loaded.leases, loaded.bad_rows), (leases.len() as u64, 0));
    // Tables that keep addresses as text sort them as text.
    leases.sort_by_key(|lease| lease.address);
    leases
}

/// Writes, reads, replaces and deletes leases; there are more than one page and one statement hold.
fn come_and_go<F: SqlFamily + SampleFamily>(database: &mut Database) {
    let layout = database.layout().unwrap();
    let mut random = Random::from_seed(8);
    let mut stored = leases::<F>(&mut random, 11_001, layout.schema);
    database.begin().unwrap();
    database.upsert_many::<F>(layout, &stored).unwrap();
    database.commit().unwrap();
    assert_eq!(all::<F>(database, layout), stored);

    // Half of them change, and the first one changes twice.
    let changed = leases::<F>(&mut random, 5000, layout.schema);
    let twice = [changed.as_slice(), &stored[..1]].concat();
    database.upsert_many::<F>(layout, &twice).unwrap();
    stored[1..5000].clone_from_slice(&changed[1..]);
    assert_eq!(all::<F>(database, layout), stored);

    // Leases that were rolled back never existed; missing leases are not deleted.
    let deleted: Vec<F::Address> = stored.drain(100..4200).map(|lease| lease.address).collect();
    database.begin().unwrap();
    database.delete_many::<F>(layout, &deleted).unwrap();
    database.roll_back().unwrap();
    assert_eq!(all::<F>(database, layout).len(), 11_001);
    database.delete_many::<F>(layout, &deleted).unwrap();
    database.delete_many::<F>(layout, &deleted).unwrap();
    assert_eq!(all::<F>(database, layout), stored);
    database.upsert_many::<F>(layout, &[]).unwrap();
    database.delete_many::<F>(layout, &[]).unwrap();
}

/// Checks that an error of the visitor ends the reading.
fn a_failing_visitor_is_heard(database: &mut Database) {
    let layout = database.layout().unwrap();
    let mut heard = 0;
    let stopped: Result<_, SqlError> = database.load_all::<V4>(layout, |_| {
        heard += 1;
        Err(Database::open(&dhcp_store::sql::SqlSettings::new(SqlDatabaseKind::Sqlite, "/no/such"))
            .unwrap_err())
    });
    assert!(stopped.unwrap_err().to_string().contains("/no/such"));
    assert_eq!(heard, 1);
}

/// Writes leases to a file and reads them back.
fn travel<F: SqlFamily + SampleFamily>(
    databases: &SqlTestDatabases,
    database: &mut Database,
    other: &mut Database,
) {
    let layout = database.layout().unwrap();
    let before = all::<F>(database, layout);
    let path = databases.folder().join("leases.csv");
    let dumped = transfer::dump::<F>(database, &path).unwrap();
    assert_eq!(dumped.leases, before.len() as u64);
    let uploaded = transfer::upload::<F>(other, &path).unwrap();
    let counts = (uploaded.leases, uploaded.refused, uploaded.file.bad_rows);
    assert_eq!(counts, (before.len() as u64, 0, 0));
    assert_eq!(all::<F>(other, layout), before);
}

/// Makes the database `name` refuse leases of the subnet 77.
fn refuse_subnet_77(databases: &SqlTestDatabases, name: &str) {
    let statement = "ALTER TABLE lease6 ADD CONSTRAINT allowed CHECK (subnet_id <> 77)";
    databases.server().query(name, statement).unwrap();
}

/// Checks that a lease that the table refuses is left out and named, and that all others are
/// written.
fn a_refused_lease_is_left_out(
    databases: &SqlTestDatabases,
    name: &str,
    one: &mut Database,
    two: &mut Database,
) {
    let (from, to) = (one.layout().unwrap(), two.layout().unwrap());
    let mut before = all::<V6>(one, from);
    let row = before.len() / 3;
    before[row].subnet_id = 77;
    one.begin().unwrap();
    one.upsert_many::<V6>(from, &before[row..=row]).unwrap();
    one.commit().unwrap();
    let path = databases.folder().join("refused.csv");
    transfer::dump::<V6>(one, &path).unwrap();

    let deleted: Vec<_> = all::<V6>(two, to).iter().map(|lease| lease.address).collect();
    two.begin().unwrap();
    two.delete_many::<V6>(to, &deleted).unwrap();
    two.commit().unwrap();
    refuse_subnet_77(databases, name);
    let uploaded = transfer::upload::<V6>(two, &path).unwrap();
    assert_eq!((uploaded.leases, uploaded.refused), (before.len() as u64 - 1, 1));
    let refused = before.remove(row);
    let address = refused.address.to_string();
    assert!(uploaded.refusals[0].contains(&address), "{:?}", uploaded.refusals);
    assert_eq!(all::<V6>(two, to), before);
}

fn in_all_tables(backend: SqlDatabaseKind) {
    let Some(databases) = SqlTestDatabases::new(backend, "bulk") else { return };
    for schema in Schema::ALL {
        if schema.statements(backend).is_none() {
            continue;
        }
        let names = ["one", "two"].map(|name| format!("{name}_{schema:?}").to_lowercase());
        let [mut one, mut two] = names.each_ref().map(|name| {
            let mut database = open(&databases.create(name));
            database.install(schema).unwrap();
            database
        });
        come_and_go::<V4>(&mut one);
        come_and_go::<V6>(&mut one);
        a_failing_visitor_is_heard(&mut one);
        travel::<V4>(&databases, &mut one, &mut two);
        travel::<V6>(&databases, &mut one, &mut two);
        prefixes_are_kept(&mut one);
        // SQLite's tables cannot get a constraint later.
        if backend != SqlDatabaseKind::Sqlite {
            a_refused_lease_is_left_out(&databases, &names[1], &mut one, &mut two);
        }
    }
}

fn prefixes_are_kept(database: &mut Database) {
    let layout = database.layout().unwrap();
    let lengths: BTreeMap<u8, Resource> = (1..=128)
        .map(|len| (len, Resource::prefix((u128::MAX << (128 - u32::from(len))).into(), len)))
        .collect();
    let sample = &leases::<V6>(&mut Random::from_seed(1), 1, layout.schema)[0];
    let prefixes: Vec<_> = lengths
        .values()
        .map(|&resource| dhcp_lease::v6::Lease { address: resource, ..sample.clone() })
        .collect();
    database.upsert_many::<V6>(layout, &prefixes).unwrap();
    let stored = all::<V6>(database, layout);
    assert!(prefixes.iter().all(|prefix| stored.contains(prefix)));
}

#[test]
fn leases_come_and_go_in_mariadb() {
    in_all_tables(SqlDatabaseKind::Mysql);
}

#[test]
fn leases_come_and_go_in_postgresql() {
    in_all_tables(SqlDatabaseKind::Postgresql);
}

#[test]
fn leases_come_and_go_in_sqlite() {
    in_all_tables(SqlDatabaseKind::Sqlite);
}

#[test]
fn a_wrong_password_and_a_missing_server_are_told() {
    for backend in [SqlDatabaseKind::Mysql, SqlDatabaseKind::Postgresql] {
        let Some(databases) = SqlTestDatabases::new(backend, "refused") else { continue };
        let mut settings = databases.create("leases");
        settings.password = "guessed".to_owned();
        let error = Database::open(&settings).unwrap_err();
        assert!(!error.to_string().contains("guessed"), "{error}");
        assert!(!error.is_connection_lost(), "{error}");
        let mut database = open(&dhcp_store::sql::SqlSettings {
            password: testbed::database::PASSWORD.into(),
            ..settings.clone()
        });
        drop(databases);
        assert!(database.version().unwrap_err().is_connection_lost());
        assert!(Database::open(&settings).unwrap_err().is_connection_lost());
    }
}
