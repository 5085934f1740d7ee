//! Tests of a database that other clients write to, and that vanishes under a running server, and
//! comes back or does not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::perfdhcp::{exact_run, figures};
use crate::common::{
    ServerProcess, TempFolder, configuration, free_port, require, run_bounded, waited_until,
};
use testbed::database::{DatabaseEngine, PASSWORD, PrivateDatabase, PrivateDatabaseSettings, USER};

/// Number of clients in each run of perfdhcp.
const CLIENTS: u64 = 5;
/// Maximum number of runs until all clients have their replies.
const RUNS: usize = 5;

/// Private database server with Kea's tables, and a configuration that names it.
struct DatabaseLossSetup {
    database: PrivateDatabase,
    folder: TempFolder,
    config: PathBuf,
}

impl DatabaseLossSetup {
    /// Starts the database and writes the configuration, with further `keys` of `lease-database`.
    fn set(engine: DatabaseEngine, name: &str, keys: &str) -> Option<Self> {
        if !require(&["perfdhcp"]) {
            return None;
        }
        if let Some(reason) = engine.missing() {
            testkit::skip(reason);
            return None;
        }
        let settings = PrivateDatabaseSettings {
            is_durable: true,
            on_loopback: true,
            ..PrivateDatabaseSettings::default()
        };
        let database = PrivateDatabase::start(engine, settings).expect("the server starts");
        database.create("leases").expect("a database can be made");
        let port = database.port().expect("it listens on loopback");
        let [kind, admin] = match engine {
            DatabaseEngine::MariaDb => ["mysql", "mysql"],
            DatabaseEngine::PostgreSql => ["postgresql", "pgsql"],
        };
        let folder = TempFolder::new(&format!("lost-{kind}-{name}"));
        let mut init = Command::new(env!("CARGO_BIN_EXE_godwit"));
        init.args(["db", "init", admin, "-n", "leases", "-u", USER, "-p", PASSWORD]);
        let output = run_bounded(init.args(["-h", "127.0.0.1", "-P", &port.to_string()]));
        assert!(output.status.success(), "{output:?}");
        let config = configuration(folder.path(), "always", 1);
        let text = fs::read_to_string(&config).expect("it was written here");
        let leases = folder.path().join("leases.csv");
        let memfile =
            format!(r#""type": "memfile", "name": "{}", "lfc-interval": 0"#, leases.display());
        assert!(text.contains(&memfile), "{text}");
        let sql = format!(
            r#""type": "{kind}", "name": "leases", "host": "127.0.0.1", "port": {port},
               "user": "{USER}", "password": "{PASSWORD}"{keys}"#
        );
        fs::write(&config, text.replace(&memfile, &sql)).expect("the folder can be written");
        Some(Self { database, folder, config })
    }

    fn start(&self) -> ServerProcess {
        ServerProcess::start(&self.config, self.folder.path())
    }

    /// Returns the addresses in the table, with their clients.
    fn leases(&self) -> Vec<String> {
        let rows = self
            .database
            .query("leases", "SELECT address, state FROM lease4 ORDER BY address")
            .expect("it answers");
        rows.lines().map(str::to_owned).collect()
    }
}

/// Returns the number of ACKs for perfdhcp's clients, which wait as long as a busy disk may need.
/// It tries several runs: the server drops a reply that waits too long for its row.
fn acknowledged(server: &ServerProcess, clients: u8) -> u64 {
    let run = || acknowledged_within(server, clients, "60000000");
    let mut given = run();
    for _ in 1..RUNS {
        if given == CLIENTS {
            break;
        }
        given = run();
    }
    given
}

/// Returns the number of ACKs for perfdhcp's clients, which wait only briefly because no ACK should
/// come.
fn acknowledged_at_once(server: &ServerProcess, clients: u8) -> u64 {
    acknowledged_within(server, clients, "2000000")
}

fn acknowledged_within(server: &ServerProcess, clients: u8, wait_us: &str) -> u64 {
    let mac = format!("mac=00:0c:{clients:02x}:00:00:00");
    let run = |_| {
        let output = run_bounded(
            Command::new("perfdhcp")
                .args(["-4", "-r", "20", "-n", "5", "-n", "5", "-R", "5", "-W", wait_us])
                .args(["-d", "60", "-d", "60"])
                .args(["-b", &mac, "-l", "127.0.0.1", "-L", &server.relay_port.to_string()])
                .args(["-N", &server.port.to_string(), "127.0.0.1"]),
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    figures(&exact_run(CLIENTS, run).report, "received packets:")[1]
}

/// Stops the database for a while: no client gets a lease meanwhile, every client does afterwards.
fn goes_on(engine: DatabaseEngine, name: &str, keys: &str) {
    let Some(mut setup) = DatabaseLossSetup::set(engine, name, keys) else { return };
    let server = setup.start();
    assert_eq!(acknowledged(&server, 1), CLIENTS);
    let before = setup.leases();
    assert_eq!(before.len() as u64, CLIENTS);
    setup.database.kill();
    assert_eq!(acknowledged_at_once(&server, 2), 0);
    server.wait_for("leases cannot be written");
    // The client's lease is safe, but only the database knows whether another client requested it
    // meanwhile.
    assert_eq!(acknowledged_at_once(&server, 1), 0);
    setup.database.launch().expect("it starts again");
    server.wait_for("connected to the lease database again");
    assert_eq!(acknowledged(&server, 1), CLIENTS);
    assert_eq!(setup.leases()[..before.len()], before);
    assert_eq!(acknowledged(&server, 2), CLIENTS);
    let after = setup.leases();
    assert_eq!(after.len() as u64, 2 * CLIENTS);
    server.stop();
    // The server still has every lease.
    let server = setup.start();
    server.wait_for(&format!("loaded {} leases", after.len()));
    assert_eq!(acknowledged(&server, 2), CLIENTS);
    assert_eq!(setup.leases(), after);
    server.stop();
}

#[test]
fn mariadb_is_waited_for() {
    let keys = r#", "max-reconnect-tries": 10000, "reconnect-wait-time": 20"#;
    goes_on(DatabaseEngine::MariaDb, "waited", keys);
}

#[test]
fn postgresql_is_waited_for() {
    let keys = r#", "max-reconnect-tries": 10000, "reconnect-wait-time": 20,
                  "on-fail": "serve-retry-exit""#;
    goes_on(DatabaseEngine::PostgreSql, "waited", keys);
}

#[test]
fn a_database_is_waited_for_without_end_when_the_server_is_to_continue() {
    goes_on(DatabaseEngine::PostgreSql, "continues", r#", "on-fail": "serve-retry-continue""#);
}

/// Runs `godwit dhcp4`, which fails to start or ends by itself.
fn ended(config: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    crate::common::confine(&mut command, config.parent().expect("it lies in a folder"));
    run_bounded(command.args(["dhcp4", "-p", &free_port().to_string(), "-c"]).arg(config))
}

#[test]
fn a_server_ends_when_its_database_does_not_come_back() {
    let keys = r#", "max-reconnect-tries": 2, "reconnect-wait-time": 1"#;
    let Some(mut setup) = DatabaseLossSetup::set(DatabaseEngine::PostgreSql, "ends", keys) else {
        return;
    };
    let mut server = setup.start();
    setup.database.kill();
    assert_eq!(acknowledged_at_once(&server, 1), 0);
    server.wait_for("stopping, since leases can no longer be stored: cannot connect");
    // Until then its PID file prevents the start of another server.
    assert!(waited_until(|| server.has_ended()), "{}", server.log());
    // Nor does the server start.
    let output = ended(&setup.config);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("cannot connect to the lease database: "), "{text}");
    assert!(!text.contains(PASSWORD), "{text}");
}

#[test]
fn a_server_waits_for_its_database_when_it_starts() {
    let keys = r#", "retry-on-startup": true, "max-reconnect-tries": 10000,
                  "reconnect-wait-time": 20"#;
    let Some(mut setup) = DatabaseLossSetup::set(DatabaseEngine::PostgreSql, "start", keys) else {
        return;
    };
    setup.database.kill();
    let (config, folder) = (&setup.config, setup.folder.path());
    let database = &mut setup.database;
    let server = std::thread::scope(|threads| {
        let server = threads.spawn(|| ServerProcess::start(config, folder));
        let log = folder.join("server.log");
        let has_tried = || fs::read_to_string(&log).unwrap_or_default().contains("attempts left");
        assert!(waited_until(has_tried), "{:?}", fs::read_to_string(&log));
        database.launch().expect("it starts again");
        server.join().expect("it serves")
    });
    assert_eq!(acknowledged(&server, 1), CLIENTS);
    server.stop();
}

#[test]
fn what_another_server_has_given_away_is_not_given_again() {
    let Some(setup) = DatabaseLossSetup::set(DatabaseEngine::MariaDb, "given", "") else { return };
    let server = setup.start();
    assert_eq!(acknowledged(&server, 1), CLIENTS);
    let update = "UPDATE lease4 SET client_id = NULL, hwaddr = INSERT(hwaddr, 1, 1, UNHEX('02'))";
    setup.database.query("leases", update).expect("it answers");
    let given = acknowledged_within(&server, 1, "20000000");
    assert_eq!(given, 0, "the leases are young, and no longer theirs");
    assert_eq!(acknowledged(&server, 1), CLIENTS);
    assert_eq!(setup.leases().len() as u64, 2 * CLIENTS);
    let log = server.stop();
    assert!(log.contains("given-elsewhere 5"), "{log}");
}

#[test]
fn tables_that_are_not_there_are_one_clear_sentence() {
    let Some(setup) = DatabaseLossSetup::set(DatabaseEngine::MariaDb, "tables", "") else { return };
    setup.database.create("nothing").expect("a database can be made");
    let text = fs::read_to_string(&setup.config).expect("it was written here");
    fs::write(&setup.config, text.replace(r#""name": "leases""#, r#""name": "nothing""#))
        .expect("the folder can be written");
    let output = ended(&setup.config);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("godwit db init"), "{text}");
}
