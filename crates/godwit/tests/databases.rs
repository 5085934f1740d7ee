//! Tests of `godwit db` against Debian's Kea 2.2 and its `kea-admin`: Kea serves from tables that
//! Godwit made, both print the same version, and both write the same leases to a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::kea::KeaProcess;
use crate::common::perfdhcp::{PATIENT, exact_run};
use crate::common::{TempFolder, free_port, require, run_bounded};
use testbed::database::{DatabaseEngine, PASSWORD, PrivateDatabase, PrivateDatabaseSettings, USER};

/// Number of clients in each run of perfdhcp.
const CLIENTS: usize = 40;

/// First DHCPv6 client of perfdhcp, from which it counts up. Its DUID contains the hardware
/// address: for a lease without one kea-admin writes a zero or a word where lease files have an
/// empty field.
const SAME_CLIENTS: &str = "duid=00030001000c01020304";

/// Private database server with an empty database.
struct DatabaseTestSetup {
    server: PrivateDatabase,
    folder: TempFolder,
    /// Names of the database's type in `kea-admin` and in Kea's configuration.
    backend: [&'static str; 2],
    password: PathBuf,
}

impl DatabaseTestSetup {
    fn set(engine: DatabaseEngine) -> Option<Self> {
        if !require(&["perfdhcp", "kea-dhcp4", "kea-dhcp6", "kea-admin"]) {
            return None;
        }
        if let Some(reason) = engine.missing() {
            testkit::skip(reason);
            return None;
        }
        let settings = PrivateDatabaseSettings {
            is_durable: false,
            on_loopback: true,
            ..PrivateDatabaseSettings::default()
        };
        let server = PrivateDatabase::start(engine, settings).expect("the server starts");
        server.create("leases").expect("a database can be made");
        let backend = match engine {
            DatabaseEngine::MariaDb => ["mysql", "mysql"],
            DatabaseEngine::PostgreSql => ["pgsql", "postgresql"],
        };
        let folder = TempFolder::new(&format!("databases-{}", backend[0]));
        let password = folder.path().join("password");
        fs::write(&password, format!("{PASSWORD}\n")).expect("the test's folder can be written");
        Some(Self { server, folder, backend, password })
    }

    fn port(&self) -> u16 {
        self.server.port().expect("it listens on loopback")
    }

    /// Runs `godwit db` on the database.
    fn try_godwit(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        command.args(["db", words[0], self.backend[0], "-n", "leases", "-u", USER]);
        command.args(["-h", "127.0.0.1", "-P", &self.port().to_string(), "--password-file"]);
        run_bounded(command.arg(&self.password).args(&words[1..]))
    }

    fn godwit(&self, words: &[&str]) -> String {
        let output = self.try_godwit(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs `kea-admin` on the database.
    fn kea_admin(&self, words: &[&str]) -> String {
        let port = self.port().to_string();
        let mut command = Command::new("kea-admin");
        command.args([words[0], self.backend[0], "-n", "leases", "-u", USER, "-p", PASSWORD]);
        command.args(["-h", "127.0.0.1", "-P", &port]).args(&words[1..]);
        if self.server.engine() == DatabaseEngine::MariaDb {
            // Some calls of both backends ignore the port.
            command.args(["-x", &format!("--port={port} --protocol=tcp")]);
        }
        command.env("PGPORT", &port);
        let output = command.output().expect("kea-admin runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {text}{errors}");
        text
    }

    /// Runs Kea for `family`, which serves perfdhcp's clients from the database.
    fn serve(&self, family: u8) {
        let (folder, backend) = (self.folder.path().display(), self.backend[1]);
        let (more, address, flags) = match family {
            4 => (
                r#""interfaces-config": { "interfaces": [ "lo/127.0.0.1" ],
                                          "dhcp-socket-type": "udp" },
                   "subnet4": [ { "id": 1, "subnet": "127.0.0.0/8",
                                  "pools": [ { "pool": "127.1.0.1 - 127.1.255.254" } ] } ]"#,
                "127.0.0.1",
                &["-4"][..],
            ),
            _ => (
                r#""interfaces-config": { "interfaces": [ "lo/::1" ] },
                   "server-id": { "type": "EN", "persist": false },
                   "subnet6": [ { "id": 1, "subnet": "2001:db8:1::/64",
                                  "relay": { "ip-addresses": [ "::1" ] },
                                  "pools": [ { "pool": "2001:db8:1::/112" } ],
                                  "pd-pools": [ { "prefix": "2001:db8:8000::", "prefix-len": 40,
                                                  "delegated-len": 56 } ] } ]"#,
                "::1",
                // By default perfdhcp puts the time into its clients' identifiers.
                &["-6", "-A", "1", "-e", "address-and-prefix", "-b", SAME_CLIENTS][..],
            ),
        };
        let database = format!(
            r#"{{ "type": "{backend}", "name": "leases", "host": "127.0.0.1", "port": {},
                  "user": "{USER}", "password": "{PASSWORD}" }}"#,
            self.port()
        );
        let text = format!(
            r#"{{ "Dhcp{family}": {{ "lease-database": {database}, "hosts-database": {database},
                "loggers": [ {{ "name": "kea-dhcp{family}", "severity": "INFO",
                                "output_options": [ {{ "output": "{folder}/kea.log" }} ] }} ],
                "valid-lifetime": 4000, {more} }} }}"#
        );
        let config = self.folder.path().join("kea.conf");
        fs::write(&config, text).expect("the test's folder can be written");
        let ports = [free_port(), free_port()];
        let program = format!("kea-dhcp{family}");
        let kea = KeaProcess::start(&program, &config, self.folder.path(), ports);
        let [port, relay_port] = ports.map(|port| port.to_string());
        let count = CLIENTS.to_string();
        let run = |_| {
            let output = run_bounded(
                Command::new("perfdhcp")
                    .args(flags)
                    .args(["-r", "100", "-R", &count, "-n", &count, "-n", &count])
                    .args(PATIENT)
                    .args(["-l", address, "-L", &relay_port, "-N", &port, address]),
            );
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let report = exact_run(CLIENTS as u64, run).report;
        let received = format!("received packets: {CLIENTS}");
        assert_eq!(report.matches(&received).count(), 2, "{report}");
        kea.stop();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn rows(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("the file was written");
    text.lines().map(str::to_owned).collect()
}

/// Checks that Kea fills tables made by Godwit, and that both tools write the same file, which can
/// be loaded again.
fn takes_turns_with_kea(engine: DatabaseEngine) {
    let Some(setup) = DatabaseTestSetup::set(engine) else { return };
    let version = if engine == DatabaseEngine::MariaDb { "14.0" } else { "13.0" };
    assert!(setup.try_godwit(&["version"]).status.code() == Some(1));
    let made = setup.godwit(&["init", "--schema", "2.2"]);
    assert_eq!(made, format!("created the tables, version {version}\n"));
    assert_eq!(setup.godwit(&["version"]), format!("{version}\n"));
    assert!(setup.kea_admin(&["db-version"]).contains(version));

    for (family, leases) in [("4", CLIENTS), ("6", 2 * CLIENTS)] {
        setup.serve(family.parse().expect("4 or 6"));
        let [ours, theirs] = ["ours", "theirs"].map(|name| setup.path(&format!("{name}{family}")));
        let [our, their] = [&ours, &theirs].map(|path| path.display().to_string());
        let flag = format!("-{family}");
        let output_text = setup.godwit(&["dump", &flag, "-o", &our]);
        assert!(output_text.starts_with(&format!("wrote {leases} leases")), "{output_text}");
        setup.kea_admin(&["lease-dump", &flag, "-o", &their, "-y"]);
        let our_rows = rows(&ours);
        assert_eq!(our_rows.len(), 1 + leases);
        assert_eq!(our_rows, rows(&theirs));
        // The dump does not overwrite an existing file.
        assert_eq!(setup.try_godwit(&["dump", &flag, "-o", &our]).status.code(), Some(1));

        // After the deletion and the upload: the same leases, counted as before.
        let ask = |query: &str| setup.server.query("leases", query).expect("it answers");
        let counts = format!("SELECT * FROM lease{family}_stat ORDER BY 1, 2, 3");
        let counted = ask(&counts);
        ask(&format!("DELETE FROM lease{family}"));
        setup.godwit(&["upload", &flag, "-i", &their]);
        setup.godwit(&["dump", &flag, "-y", "-o", &our]);
        assert_eq!(rows(&ours), our_rows);
        assert_eq!(ask(&counts), counted);
        // Kea serves from the loaded leases: the same clients keep them.
        setup.serve(family.parse().expect("4 or 6"));
        assert_eq!(ask(&format!("SELECT COUNT(*) FROM lease{family}")), format!("{leases}\n"));
    }

    let current = if engine == DatabaseEngine::MariaDb { "35.0" } else { "34.0" };
    let upgraded = setup.godwit(&["upgrade"]);
    assert_eq!(upgraded, format!("upgraded the tables to version {current}\n"));
    assert!(setup.godwit(&["upgrade"]).contains("already"));
    for family in ["4", "6"] {
        let before = rows(&setup.path(&format!("ours{family}")));
        let path = setup.path("upgraded").display().to_string();
        setup.godwit(&["dump", &format!("-{family}"), "-y", "-o", &path]);
        let after = rows(Path::new(&path));
        assert_eq!(after.len(), before.len());
    }
}

#[test]
fn kea_serves_from_mariadb_tables_made_here() {
    takes_turns_with_kea(DatabaseEngine::MariaDb);
}

#[test]
fn kea_serves_from_postgresql_tables_made_here() {
    takes_turns_with_kea(DatabaseEngine::PostgreSql);
}

#[test]
fn sqlite_files_hold_leases() {
    let folder = TempFolder::new("databases-sqlite");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, input, output) = (path("leases.db"), path("in.csv"), path("out.csv"));
    let header = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,\
                  hostname,state,user_context,pool_id";
    let rows = "10.0.0.1,02:00:00:00:00:01,01:02,3600,1795297386,7,0,1,host,0,,5\n\
                10.0.0.2,02:00:00:00:00:02,,4294967295,6090264681,7,0,1,,0,{ \"a\": 1 },5\n";
    fs::write(&input, format!("{header}\n{rows}")).expect("the test's folder can be written");
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
        run_bounded(command.args(["db", words[0], "sqlite", "-n", &file]).args(&words[1..]))
    };
    assert_eq!(run(&["version"]).status.code(), Some(1), "there is no file");
    assert!(!Path::new(&file).exists());
    assert_eq!(run(&["init", "--schema", "2.2"]).status.code(), Some(1));
    assert!(run(&["init"]).status.success());
    assert_eq!(run(&["init"]).status.code(), Some(1), "it is not empty");
    assert_eq!(run(&["version"]).stdout, b"35.0\n");
    assert!(run(&["upload", "-4", "-i", &input]).status.success());
    assert!(run(&["dump", "-4", "-o", &output]).status.success());
    assert_eq!(fs::read(&output).expect("it was written"), fs::read(&input).expect("it is there"));
    assert_eq!(run(&["upload", "-6", "-i", &input]).status.code(), Some(1), "not of DHCPv6");
}
