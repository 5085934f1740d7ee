//! Tests of several hosts of one database: hosts that cannot be written to are passed over, a host
//! that becomes so is left, and notes report settings with which a server forgets data.

use dhcp_lease::LeaseState;
use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::{self, V4};
use dhcp_store::database::{DatabaseError, DatabaseFault, LeaseDatabaseConnection};
use dhcp_store::sql::{Schema, SharedLeases, SqlDatabaseKind, SqlSettings};

use crate::sql::{SqlTestDatabases, open};

/// Starts a server with tables, and returns it with the settings to reach it.
fn server(
    backend: SqlDatabaseKind,
    label: &str,
    options: &[&str],
) -> Option<(SqlTestDatabases, SqlSettings)> {
    let options = options.iter().map(|&option| option.to_owned()).collect();
    let databases = SqlTestDatabases::with(backend, label, |_| options)?;
    let settings = databases.create("leases");
    Some((databases, settings))
}

fn with_tables(backend: SqlDatabaseKind, label: &str) -> Option<(SqlTestDatabases, SqlSettings)> {
    let (databases, settings) = server(backend, label, &[])?;
    open(&settings).install(Schema::Current).unwrap();
    Some((databases, settings))
}

/// Returns the leases of the first database, with the others as further hosts.
fn together(all: &[&SqlSettings]) -> SharedLeases {
    let hosts = all[1..].iter().map(|one| (one.host.clone(), one.port)).collect();
    SharedLeases::new(SqlSettings { hosts, ..all[0].clone() })
}

fn connect(leases: &mut SharedLeases) -> Result<Vec<String>, DatabaseError> {
    LeaseDatabaseConnection::<V4>::connect(leases)
}

fn lease(number: u32) -> v4::Lease {
    V4::lease(&SampleLease {
        address: 0x0a00_0000 + number,
        client: number,
        valid_lifetime_s: 3600,
        cltt_s: 1_700_000_000,
        subnet_id: 1,
        pool_id: 0,
        hostname: "",
        state: LeaseState::Assigned,
        user_context: "",
    })
}

/// Writes one lease in a transaction of its own.
fn write(leases: &mut SharedLeases, number: u32) -> Result<(), DatabaseError> {
    LeaseDatabaseConnection::<V4>::begin(leases)?;
    LeaseDatabaseConnection::<V4>::insert(leases, &[lease(number)])?;
    LeaseDatabaseConnection::<V4>::commit(leases)
}

fn count(databases: &SqlTestDatabases) -> String {
    databases.server().query("leases", "SELECT count(*) FROM lease4").unwrap().trim().to_owned()
}

#[test]
fn a_read_only_mariadb_is_passed_over() {
    let Some((writable, two)) = with_tables(SqlDatabaseKind::Mysql, "writable") else { return };
    let Some((_databases, one)) = server(SqlDatabaseKind::Mysql, "readonly", &["read-only=ON"])
    else {
        return;
    };
    let mut leases = together(&[&one, &two]);
    let notes = connect(&mut leases).unwrap().join("\n");
    assert!(notes.contains("skipped: ") && notes.contains("read-only (read_only)"), "{notes}");
    write(&mut leases, 1).unwrap();
    assert_eq!(count(&writable), "1");
    // No host remains: the error has the reason for each.
    drop(writable);
    let error = write(&mut leases, 2).unwrap_err();
    assert_eq!(error.fault, DatabaseFault::ConnectionLost, "{error}");
    let error = connect(&mut leases).unwrap_err();
    assert_eq!(error.fault, DatabaseFault::ConnectionLost, "{error}");
    let text = error.to_string();
    assert!(text.contains("any of the 2 hosts") && text.contains("read-only"), "{text}");
}

#[test]
fn a_standby_of_postgresql_is_passed_over() {
    let Some((writable, two)) = with_tables(SqlDatabaseKind::Postgresql, "primary") else { return };
    let Some((mut standby, one)) = server(SqlDatabaseKind::Postgresql, "standby", &[]) else {
        return;
    };
    standby.server_mut().stop().unwrap();
    // It has no primary to follow, so it remains a standby for ever.
    std::fs::write(standby.server().socket().join("data/standby.signal"), "").unwrap();
    standby.server_mut().launch().unwrap();
    let mut leases = together(&[&one, &two]);
    let notes = connect(&mut leases).unwrap().join("\n");
    assert!(notes.contains("it is a standby"), "{notes}");
    write(&mut leases, 1).unwrap();
    assert_eq!(count(&writable), "1");
}

#[test]
fn a_server_that_turns_read_only_is_left() {
    let Some((first, one)) = with_tables(SqlDatabaseKind::Postgresql, "first") else { return };
    let Some((second, two)) = with_tables(SqlDatabaseKind::Postgresql, "second") else { return };
    let mut leases = together(&[&one, &two]);
    connect(&mut leases).unwrap();
    write(&mut leases, 1).unwrap();
    let ask = "ALTER SYSTEM SET default_transaction_read_only = on";
    first.server().query("postgres", ask).unwrap();
    first.server().query("postgres", "SELECT pg_reload_conf()").unwrap();
    let mut number = 2;
    // Sessions notice the new setting some time after the signal.
    let error = loop {
        match write(&mut leases, number) {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.fault, DatabaseFault::ConnectionLost, "{error}");
    LeaseDatabaseConnection::<V4>::roll_back(&mut leases);
    connect(&mut leases).unwrap();
    write(&mut leases, number).unwrap();
    assert_eq!((count(&first), count(&second)), ((number - 1).to_string(), "1".to_owned()));
    // A new connection begins after the host that was used last: the first one is tried, and passed
    // over.
    let notes = connect(&mut leases).unwrap().join("\n");
    assert!(notes.contains("default_transaction_read_only"), "{notes}");
}

#[test]
fn a_server_that_ends_is_left_for_the_next_and_for_the_first_again() {
    for backend in [SqlDatabaseKind::Mysql, SqlDatabaseKind::Postgresql] {
        let Some((mut first, one)) = with_tables(backend, "ends") else { continue };
        let Some((second, two)) = with_tables(backend, "stays") else { continue };
        let mut leases = together(&[&one, &two]);
        connect(&mut leases).unwrap();
        write(&mut leases, 1).unwrap();
        first.server_mut().kill();
        let error = write(&mut leases, 2).unwrap_err();
        assert_eq!(error.fault, DatabaseFault::ConnectionLost, "{error}");
        connect(&mut leases).unwrap();
        write(&mut leases, 2).unwrap();
        assert_eq!(count(&second), "1");
        first.server_mut().launch().unwrap();
        // The server may have forgotten data that its settings do not protect.
        let row_count: u32 = count(&first).parse().unwrap();
        // As after a loss, the connection begins after the host that was used.
        connect(&mut leases).unwrap();
        write(&mut leases, 3).unwrap();
        assert_eq!((count(&first), count(&second)), ((row_count + 1).to_string(), "1".to_owned()));
    }
}

const STRONG_MYSQL: [&str; 5] = [
    "innodb-flush-log-at-trx-commit=1",
    "log-bin=log",
    "log-bin-trust-function-creators=ON",
    "sync-binlog=1",
    "innodb-doublewrite=ON",
];
const WEAK_MYSQL: [&str; 5] = [
    "innodb-flush-log-at-trx-commit=2",
    "log-bin=log",
    "log-bin-trust-function-creators=ON",
    "sync-binlog=0",
    "innodb-doublewrite=OFF",
];
const STRONG_POSTGRESQL: [&str; 3] = ["fsync=on", "synchronous_commit=on", "full_page_writes=on"];
const WEAK_POSTGRESQL: [&str; 3] = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];

#[test]
fn settings_by_which_a_server_forgets_are_told() {
    for (backend, options, weak) in [
        (SqlDatabaseKind::Mysql, STRONG_MYSQL.as_slice(), &[][..]),
        (
            SqlDatabaseKind::Mysql,
            &WEAK_MYSQL,
            &[
                "innodb_flush_log_at_trx_commit is 2",
                "innodb_doublewrite is OFF",
                "log_bin is on and sync_binlog is 0",
            ],
        ),
        (SqlDatabaseKind::Postgresql, &STRONG_POSTGRESQL, &[]),
        (
            SqlDatabaseKind::Postgresql,
            &WEAK_POSTGRESQL,
            &["fsync is off", "synchronous_commit is off", "full_page_writes is off"],
        ),
    ] {
        let Some((_databases, settings)) = server(backend, "flushing", options) else { continue };
        open(&settings).install(Schema::Current).unwrap();
        let notes = connect(&mut SharedLeases::new(settings)).unwrap();
        assert_eq!(notes.len(), weak.len(), "{notes:?}");
        for words in weak {
            let line = notes.iter().find(|note| note.starts_with(words));
            let line = line.unwrap_or_else(|| panic!("{words}: {notes:?}"));
            assert!(line.ends_with(": a power cut may lose acknowledged leases"), "{line}");
        }
    }
}
