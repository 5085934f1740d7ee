//! Tests of private database servers: they answer, survive a crash, and leave nothing behind.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use testbed::database::galera::{Cluster, NODES};
use testbed::database::{DatabaseEngine, PASSWORD, PrivateDatabase, PrivateDatabaseSettings, USER};

/// Starts a private database server of `engine`. Returns `None`, with a message, if it cannot start
/// here.
fn start(engine: DatabaseEngine, settings: PrivateDatabaseSettings) -> Option<PrivateDatabase> {
    if let Some(reason) = engine.missing() {
        testkit::skip(reason);
        return None;
    }
    Some(PrivateDatabase::start(engine, settings).unwrap())
}

/// Commits a row in a private database server, crashes the server, and reads the row after its
/// restart.
fn crash_and_look(engine: DatabaseEngine) {
    let Some(mut database) = start(engine, PrivateDatabaseSettings::default()) else { return };
    let first = database.pid().unwrap();
    database.create("leases").unwrap();
    let statements = "CREATE TABLE t (n INT); INSERT INTO t VALUES (1), (2)";
    database.query("leases", statements).unwrap();
    database.kill();
    assert_eq!(database.pid(), None);
    assert!(database.query("leases", "SELECT 1").is_err(), "it answers after its death");
    database.launch().unwrap();
    assert_ne!(database.pid().unwrap(), first);
    assert_eq!(database.query("leases", "SELECT n FROM t ORDER BY n").unwrap(), "1\n2\n");
    database.stop().unwrap();
    database.launch().unwrap();
    assert_eq!(database.query("leases", "SELECT count(*) FROM t").unwrap(), "2\n");

    let folder = match engine {
        DatabaseEngine::MariaDb => database.socket().parent().map(PathBuf::from).unwrap(),
        DatabaseEngine::PostgreSql => database.socket(),
    };
    let pid = database.pid().unwrap();
    drop(database);
    assert!(!folder.exists(), "{}", folder.display());
    assert!(!PathBuf::from(format!("/proc/{pid}")).exists());
}

#[test]
fn mariadb_keeps_what_was_committed_and_leaves_nothing() {
    crash_and_look(DatabaseEngine::MariaDb);
}

#[test]
fn postgresql_keeps_what_was_committed_and_leaves_nothing() {
    crash_and_look(DatabaseEngine::PostgreSql);
}

#[test]
fn settings_reach_mariadb() {
    let settings = PrivateDatabaseSettings {
        is_durable: false,
        on_loopback: true,
        ..PrivateDatabaseSettings::default()
    };
    let Some(database) = start(DatabaseEngine::MariaDb, settings) else { return };
    let flush = database.query("mysql", "SELECT @@innodb_flush_log_at_trx_commit, @@port").unwrap();
    assert_eq!(flush, format!("2\t{}\n", database.port().unwrap()));
    let users = database.query("mysql", "SELECT count(*) FROM user WHERE user = 'kea'").unwrap();
    assert_eq!((users.as_str(), USER), ("2\n", "kea"));
}

#[test]
fn settings_reach_postgresql() {
    let settings = PrivateDatabaseSettings {
        is_durable: false,
        on_loopback: true,
        ..PrivateDatabaseSettings::default()
    };
    let Some(database) = start(DatabaseEngine::PostgreSql, settings) else { return };
    assert_eq!(database.query("postgres", "SHOW synchronous_commit").unwrap(), "off\n");
    assert_eq!(database.query("postgres", "SHOW listen_addresses").unwrap(), "127.0.0.1\n");
    // Over the network the server checks the password.
    let url = |password: &str| {
        let port = database.port().unwrap();
        format!("host=127.0.0.1 port={port} user={USER} password='{password}' dbname=postgres")
    };
    let ask = |password: &str| {
        let url = url(password);
        testbed::CommandLine::new("psql").args([url.as_str(), "-Atc", "SELECT 7"]).run()
    };
    assert_eq!(ask(PASSWORD).unwrap(), "7\n");
    assert!(ask("wrong").is_err());
}

#[test]
fn a_cluster_outlives_each_of_its_nodes() {
    if let Some(reason) = Cluster::missing() {
        testkit::skip(reason);
        return;
    }
    let mut cluster = Cluster::start(false).unwrap();
    // Whoever is asked has all that the others have said. While nodes miss one that stands still,
    // they refuse.
    let ask = |cluster: &Cluster, node: usize, statement: &str| {
        let statement = format!("SET SESSION wsrep_sync_wait = 15; {statement}");
        let until = Instant::now() + Duration::from_secs(300);
        loop {
            match cluster.node(node).query("mysql", &statement) {
                Ok(answer) => return answer,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    ask(&cluster, 0, "CREATE DATABASE IF NOT EXISTS leases");
    ask(&cluster, 1, "CREATE TABLE IF NOT EXISTS leases.t (n INT PRIMARY KEY)");
    for node in 0..NODES {
        let other = (node + 1) % NODES;
        cluster.kill(node);
        assert!(cluster.node(node).query("mysql", "SELECT 1").is_err());
        ask(&cluster, other, &format!("INSERT IGNORE INTO leases.t VALUES ({node})"));
        cluster.rejoin(node).unwrap();
        let rows = ask(&cluster, node, "SELECT count(*) FROM leases.t");
        assert_eq!(rows, format!("{}\n", node + 1));
    }
}
