//! Tests of the tables: they equal those that Debian's `kea-admin` makes, have equal counts, and
//! are upgraded with their leases.

use std::process::Command;

use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{Lease, LeaseState};
use dhcp_store::sql::{Schema, SchemaVersion, SqlDatabaseKind, SqlSettings};
use testbed::database::DatabaseEngine;

use crate::sql::{SqlTestDatabases, open};

/// Tables that both sides have to agree on.
const TABLES: &str = "'schema_version', 'lease_state', 'lease6_types', 'lease_hwaddr_source', \
    'host_identifier_type', 'dhcp_option_scope', 'lease4', 'lease6', 'lease4_stat', \
    'lease6_stat', 'lease4_stat_by_client_class', 'lease6_stat_by_client_class', 'hosts', \
    'ipv6_reservations', 'dhcp4_options', 'dhcp6_options', 'logs'";

/// Returns a description of those tables: columns with their types, indexes, the rows of the small
/// ones.
fn described(databases: &SqlTestDatabases, database: &str) -> String {
    let server = databases.server();
    let ask = |query: &str| server.query(database, query).unwrap();
    let of_tables = match server.engine() {
        DatabaseEngine::MariaDb => [
            format!(
                "SELECT table_name, ordinal_position, column_name, column_type, is_nullable, \
                 COALESCE(column_default, '-'), extra FROM information_schema.columns \
                 WHERE table_schema = DATABASE() AND table_name IN ({TABLES}) ORDER BY 1, 2"
            ),
            format!(
                "SELECT table_name, index_name, non_unique, seq_in_index, column_name \
                 FROM information_schema.statistics \
                 WHERE table_schema = DATABASE() AND table_name IN ({TABLES}) ORDER BY 1, 2, 4"
            ),
        ],
        DatabaseEngine::PostgreSql => [
            format!(
                "SELECT table_name, ordinal_position, column_name, data_type, \
                 character_maximum_length, is_nullable, column_default \
                 FROM information_schema.columns \
                 WHERE table_schema = 'public' AND table_name IN ({TABLES}) ORDER BY 1, 2"
            ),
            format!(
                "SELECT tablename, indexdef FROM pg_indexes \
                 WHERE schemaname = 'public' AND tablename IN ({TABLES}) ORDER BY 1, 2"
            ),
        ],
    };
    let small = ["lease_state", "lease6_types", "lease_hwaddr_source", "host_identifier_type"];
    let small = small.map(|table| format!("SELECT * FROM {table} ORDER BY 1"));
    let rest = ["SELECT * FROM dhcp_option_scope ORDER BY 1", "SELECT * FROM schema_version"];
    let queries = of_tables.iter().chain(&small).map(String::as_str).chain(rest);
    queries.map(|query| ask(query) + "--\n").collect()
}

/// Runs Debian's `kea-admin` and returns its output; `None` where it is not installed.
pub(crate) fn kea_admin(words: &[&str], settings: &SqlSettings) -> Option<String> {
    let port = settings.port().to_string();
    let mut command = Command::new("kea-admin");
    command.args(words).args(["-h", "127.0.0.1", "-P", &port, "-u", &settings.user]);
    command.args(["-p", &settings.password, "-n", &settings.name]);
    if settings.backend == SqlDatabaseKind::Mysql {
        // `kea-admin` forgets the port when it runs its script.
        command.args(["-x", &format!("--port={port} --protocol=tcp")]);
    }
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kea-admin {words:?}: {text}\n{errors}");
    Some(text)
}

fn is_like_keas(backend: SqlDatabaseKind) {
    let Some(databases) = SqlTestDatabases::new(backend, "schema") else { return };
    let (theirs, ours) = (databases.create("theirs"), databases.create("ours"));
    if kea_admin(&["db-init", backend.name()], &theirs).is_none() {
        testkit::skip("kea-admin is not installed");
        return;
    }
    let mut database = open(&ours);
    assert_eq!(database.version().unwrap(), None);
    database.install(Schema::Kea22).unwrap();
    let (expected, actual) = (described(&databases, "theirs"), described(&databases, "ours"));
    let differing =
        expected.lines().zip(actual.lines()).find(|(expected, actual)| expected != actual);
    assert_eq!(differing, None);
    assert_eq!(expected.lines().count(), actual.lines().count());
    // Both programs read the version of both databases.
    let version = Schema::Kea22.version(backend);
    assert_eq!(database.version().unwrap(), Some(version));
    assert_eq!(open(&theirs).version().unwrap(), Some(version));
    let answer = kea_admin(&["db-version", backend.name()], &ours).unwrap();
    assert!(answer.contains(&version.to_string()), "{answer}");
    // The program refuses a second installation, and an upgrade that only kea-admin can do.
    assert!(database.install(Schema::Kea22).unwrap_err().to_string().contains("not empty"));
    let refusal = open(&theirs).upgrade().unwrap_err().to_string();
    assert!(refusal.contains("configuration backend"), "{refusal}");
}

#[test]
fn tables_in_mariadb_are_like_keas() {
    is_like_keas(SqlDatabaseKind::Mysql);
}

#[test]
fn tables_in_postgresql_are_like_keas() {
    is_like_keas(SqlDatabaseKind::Postgresql);
}

fn lease<F: SampleFamily>(address: u32, state: LeaseState, user_context: &str) -> Lease<F> {
    F::lease(&SampleLease {
        address,
        client: address,
        valid_lifetime_s: 4000,
        cltt_s: 1_700_000_000,
        subnet_id: 7,
        pool_id: 0,
        hostname: "",
        state,
        user_context,
    })
}

/// Fills tables of 2.2, upgrades them, and checks the leases and the counts.
fn survives_upgrade(backend: SqlDatabaseKind) {
    const CONTEXT: &str = r#"{ "ISC": { "client-classes": [ "a", "b" ] } }"#;
    let Some(databases) = SqlTestDatabases::new(backend, "upgrade") else { return };
    let settings = databases.create("leases");
    let mut database = open(&settings);
    database.install(Schema::Kea22).unwrap();
    let layout = database.layout().unwrap();
    let leases4 = [
        lease::<V4>(1, LeaseState::Assigned, CONTEXT),
        lease::<V4>(2, LeaseState::Assigned, ""),
        lease::<V4>(3, LeaseState::Declined, ""),
    ];
    let leases6 = [
        lease::<V6>(1, LeaseState::Assigned, CONTEXT),
        lease::<V6>(2, LeaseState::ExpiredReclaimed, ""),
    ];
    database.upsert_many::<V4>(layout, &leases4).unwrap();
    database.upsert_many::<V6>(layout, &leases6).unwrap();
    let ask = |query: &str| databases.server().query("leases", query).unwrap();
    let counts = "SELECT subnet_id, state, leases FROM lease4_stat ORDER BY state";
    let classes = "SELECT client_class, leases FROM lease4_stat_by_client_class ORDER BY 1";
    assert_eq!(ask(counts), "7\t0\t2\n7\t1\t1\n");
    assert_eq!(ask(classes), "a\t1\nb\t1\n");

    assert!(database.upgrade().unwrap());
    assert!(!database.upgrade().unwrap(), "it is upgraded already");
    assert_eq!(database.version().unwrap(), Some(Schema::Current.version(backend)));
    let layout = database.layout().unwrap();
    assert_eq!(layout.schema, Schema::Current);
    let mut loaded = Vec::new();
    database
        .load_all::<V6>(layout, |lease| {
            loaded.push(lease);
            Ok(())
        })
        .unwrap();
    assert_eq!(loaded, leases6);
    let counts6 = "SELECT subnet_id, pool_id, lease_type, state, leases FROM lease6_pool_stat";
    assert_eq!(ask(counts6), "7\t0\t0\t0\t1\n");
    // The new triggers count changes from now on.
    database.delete_many::<V4>(layout, &[V4::address(1)]).unwrap();
    let released = lease::<V4>(2, LeaseState::Released, CONTEXT);
    database.upsert_many::<V4>(layout, &[released]).unwrap();
    assert_eq!(ask(counts), "7\t0\t0\n7\t1\t1\n");
    assert_eq!(ask(classes), "a\t0\nb\t0\n");
    let pools = "SELECT subnet_id, pool_id, state, leases FROM lease4_pool_stat ORDER BY state";
    assert_eq!(ask(pools), "7\t0\t0\t0\n7\t0\t1\t1\n");
}

#[test]
fn leases_in_mariadb_survive_an_upgrade() {
    survives_upgrade(SqlDatabaseKind::Mysql);
}

#[test]
fn leases_in_postgresql_survive_an_upgrade() {
    survives_upgrade(SqlDatabaseKind::Postgresql);
}

/// Checks the functions by which Kea's servers query if a client may have one more lease.
fn limits_are_kept(backend: SqlDatabaseKind) {
    let Some(databases) = SqlTestDatabases::new(backend, "limits") else { return };
    for schema in Schema::ALL {
        let name = format!("limits_{schema:?}").to_lowercase();
        let settings = databases.create(&name);
        let mut database = open(&settings);
        database.install(schema).unwrap();
        let layout = database.layout().unwrap();
        let classes = r#"{ "ISC": { "client-classes": [ "gold" ] } }"#;
        let leases = [1, 2].map(|n| lease::<V4>(n, LeaseState::Assigned, classes));
        database.upsert_many::<V4>(layout, &leases).unwrap();
        let leases = [1, 2].map(|n| lease::<V6>(n, LeaseState::Assigned, classes));
        database.upsert_many::<V6>(layout, &leases).unwrap();
        let check = |family: u8, limits: &str| {
            let context = format!(r#"{{ "ISC": {{ "limits": {{ {limits} }} }} }}"#);
            let query = format!("SELECT checkLease{family}Limits('{context}')");
            databases.server().query(&name, &query).unwrap()
        };
        for family in [4, 6] {
            let of_class = |limit: u32| {
                format!(r#""client-classes": [ {{ "name": "gold", "address-limit": {limit} }} ]"#)
            };
            let of_subnet =
                |limit: u32| format!(r#""subnet": {{ "id": 7, "address-limit": {limit} }}"#);
            let reached = "address limit 2 for client class \"gold\", current lease count 2\n";
            assert_eq!(check(family, &of_class(2)), reached);
            assert_eq!(check(family, &of_class(3)), "\n");
            let reached = "address limit 1 for subnet ID 7, current lease count 2\n";
            assert_eq!(check(family, &of_subnet(1)), reached);
            assert_eq!(check(family, &of_subnet(3)), "\n");
            assert_eq!(check(family, ""), "\n");
        }
        let prefixes = r#""subnet": { "id": 7, "prefix-limit": 0 }"#;
        let reached = "prefix limit 0 for subnet ID 7, current lease count 0\n";
        assert_eq!(check(6, prefixes), reached);
    }
}

#[test]
fn limits_are_kept_in_mariadb() {
    limits_are_kept(SqlDatabaseKind::Mysql);
}

#[test]
fn limits_are_kept_in_postgresql() {
    limits_are_kept(SqlDatabaseKind::Postgresql);
}

/// Checks the queues of free leases that current servers of Kea keep in the database.
fn free_leases_are_queued(backend: SqlDatabaseKind) {
    let Some(databases) = SqlTestDatabases::new(backend, "queues") else { return };
    let settings = databases.create("queues");
    let mut database = open(&settings);
    database.install(Schema::Current).unwrap();
    let layout = database.layout().unwrap();
    database.upsert_many::<V4>(layout, &[lease::<V4>(12, LeaseState::Assigned, "")]).unwrap();
    let ask = |query: &str| databases.server().query("queues", query).unwrap();
    let make = |family: u8, arguments: &str| {
        let word = if backend == SqlDatabaseKind::Mysql { "CALL" } else { "SELECT" };
        ask(&format!("{word} sflqCreateFlqPool{family}({arguments})"));
    };
    make(4, if backend == SqlDatabaseKind::Mysql { "10, 16, 7, 0" } else { "10, 16, 7, false" });
    let free = "SELECT address FROM free_lease4 ORDER BY 1";
    assert_eq!(ask(free), "10\n11\n13\n14\n15\n16\n");
    let pick = "SELECT sflqPickFreeLease4(10, 16)";
    assert_eq!([ask(pick), ask(pick), ask(pick)], ["10\n", "11\n", "13\n"]);
    let row =
        "13, NULL, NULL, 60, '2030-01-01 00:00:00', 7, false, false, '', 0, NULL, NULL, NULL, 0";
    assert_eq!(ask(&format!("SELECT sflqInsertLease4({row})")), "1\n");
    assert_eq!(ask(free), "10\n11\n14\n15\n16\n");
    assert_eq!(ask("SELECT sflqDeleteLease4(13, '2030-01-01 00:00:01')"), "0\n");
    assert_eq!(ask("SELECT sflqDeleteLease4(13, '2030-01-01 00:00:00')"), "1\n");
    assert_eq!(ask(free), "10\n11\n13\n14\n15\n16\n");

    if backend == SqlDatabaseKind::Postgresql {
        // Kea's statements call the function by this name.
        let octets = ask("SELECT encode(inetToBytea('2001:db8::1'), 'hex')");
        assert_eq!(octets, "20010db8000000000000000000000001\n");
    }
    let prefixes = "'2001:db8:0:fe00::', '2001:db8:1:ff::'";
    let (types, casts) = match backend {
        SqlDatabaseKind::Mysql => ("2, 56, 7, 0", ""),
        _ => ("2::smallint, 56::smallint, 7, false", "::inet"),
    };
    make(6, &format!("{prefixes}, {types}"));
    assert_eq!(ask("SELECT COUNT(*) FROM free_lease6"), "3\n");
    let pick = "SELECT sflqPickFreeLease6('2001:db8:0:fe00::', '2001:db8:1:ff::')";
    let pick = pick.replace("::'", &format!("::'{casts}"));
    let picked = [ask(&pick), ask(&pick), ask(&pick), ask(&pick)];
    let expected = ["0:fe00", "0:ff00", "1", "0:fe00"];
    assert_eq!(picked, expected.map(|middle| format!("2001:db8:{middle}::\n")));
}

#[test]
fn free_leases_are_queued_in_mariadb() {
    free_leases_are_queued(SqlDatabaseKind::Mysql);
}

#[test]
fn free_leases_are_queued_in_postgresql() {
    free_leases_are_queued(SqlDatabaseKind::Postgresql);
}

#[test]
fn sqlite_has_current_tables_only() {
    let databases = SqlTestDatabases::new(SqlDatabaseKind::Sqlite, "schema").unwrap();
    let mut database = open(&databases.create("leases.db"));
    assert!(database.install(Schema::Kea22).is_err());
    assert!(database.layout().is_err());
    database.install(Schema::Current).unwrap();
    assert_eq!(database.version().unwrap(), Some(SchemaVersion { major: 35, minor: 0 }));
    assert!(!database.upgrade().unwrap());
}
