//! Tests of a legal log that cannot be written for a while: on a full disk, and in a database that
//! is gone. No acknowledged lease lacks its line.

use std::fs;
use std::path::Path;
use std::process::Command;

use testbed::database::{DatabaseEngine, PASSWORD, PrivateDatabase, PrivateDatabaseSettings, USER};

use crate::common::small_disk::SmallDisk;
use crate::common::{
    ServerProcess, TempFolder, free_port, is_root, require, run_bounded, waited_until,
};
use crate::crash::legal_log::{
    AcknowledgedCounts, LEGAL_V4, LEGAL_V6, LegalLines, check, check_since, check_with_repeats,
};
use crate::crash::{CrashClients, CrashFamily, replace};

/// Line of the server's log about a legal log that cannot be written.
const FAILED: &str = "Could not write to the legal store:";
/// Line of the server's log about a legal log that can be written again.
const WRITTEN_AGAIN: &str = "the legal log is written again";
/// Number of acknowledgements that show that the server serves.
const SERVED: u64 = 40;

/// Makes clients act until no reply comes and the log of `server` has `text`.
fn act_until(clients: &mut CrashClients, server: &ServerProcess, text: &str) {
    // Replies are missing only once the server waits.
    let given_up = clients.act_if(u64::MAX / 2, 0, &mut || !server.log().contains(text));
    given_up.expect_err("the clients want more than there is");
    assert!(server.log().contains(text), "{}", server.log());
}

fn count(log: &str, text: &str) -> usize {
    log.matches(text).count()
}

/// Line of the server's log after each reload.
const RELOADED: &str = "reloaded, serving";
/// Library of the legal log in configurations of this module.
const LIBRARY: &str = r#"{ "library": "libdhcp_legal_log.so" }"#;

/// Returns the library of the legal log with files of the name `base_name`.
fn library(base_name: &str) -> String {
    format!(
        r#"{{ "library": "libdhcp_legal_log.so", "parameters": {{ "base-name": "{base_name}" }} }}"#
    )
}

/// Makes the server reload its configuration while clients act, and waits for all replies to
/// messages from before the end of the reload.
fn reload(clients: &mut CrashClients, server: &ServerProcess) {
    let before = count(&server.log(), RELOADED);
    server.signal("HUP");
    clients.act_while(|| count(&server.log(), RELOADED) == before).unwrap();
    clients.renew_all().unwrap();
}

#[test]
fn a_legal_log_follows_reloads_while_clients_act() {
    for family in [LEGAL_V4, LEGAL_V6] {
        let folder = TempFolder::new(&format!("legal-reload-{}", family.server));
        let config = (family.configuration)(folder.path());
        replace(&config, LIBRARY, "");
        let ports = [free_port(), free_port()];
        let wrapper = Command::new("env");
        let server =
            ServerProcess::launch_on(wrapper, family.server, ports, &config, folder.path());
        let mut clients = CrashClients::new(family, ports, 1);
        clients.act(SERVED, 0).unwrap();
        replace(&config, r#""hooks-libraries": [  ]"#, r#""hooks-libraries": [ LIBRARY ]"#);
        replace(&config, "LIBRARY", &library("first"));
        reload(&mut clients, &server);
        let begun = AcknowledgedCounts::of(&clients.ledger);
        clients.act(SERVED, 0).unwrap();
        for [old, new] in [["first", "second"], ["second", "third"]] {
            replace(&config, &library(old), &library(new));
            reload(&mut clients, &server);
            clients.act(SERVED, 0).unwrap();
            check_since(folder.path(), &clients.ledger, &begun).unwrap();
        }
        let logged = AcknowledgedCounts::of(&clients.ledger);
        replace(&config, &library("third"), "");
        reload(&mut clients, &server);
        let lines = LegalLines::read(folder.path());
        clients.act(SERVED, 0).unwrap();
        let after = LegalLines::read(folder.path());
        assert_eq!((&after.assigned, &after.released), (&lines.assigned, &lines.released));
        lines.check(&logged, &begun).unwrap();
        assert!(!server.log().contains("DHCPX_LISTENER"), "{}", server.log());
        server.stop();
    }
}

/// Size of the disk of the legal log, in KiB.
const DISK_KIB: u32 = 512;
/// Size of a file on that disk that is removed to make room again, in KiB.
const FILLER_KIB: u32 = 448;

#[test]
fn replies_wait_while_the_disk_of_the_legal_log_is_full() {
    if !(require(&["unshare", "nsenter", "mount"]) && is_root()) {
        return;
    }
    for family in [LEGAL_V4, LEGAL_V6] {
        let folder = TempFolder::new(&format!("legal-full-{}", family.server));
        let small = folder.path().join("small");
        fs::create_dir(&small).unwrap();
        let disk = SmallDisk::mount(&small, DISK_KIB);
        fs::write(disk.file("filler"), vec![1; (FILLER_KIB << 10) as usize]).unwrap();
        let config = (family.configuration)(folder.path());
        let ports = [free_port(), free_port()];
        let mut wrapper = disk.wrapper();
        wrapper.env("KEA_LEGAL_LOG_DIR", &small);
        let server =
            ServerProcess::launch_on(wrapper, family.server, ports, &config, folder.path());
        let mut clients = CrashClients::new(family, ports, 1);
        act_until(&mut clients, &server, FAILED);
        assert!(server.log().contains("No space left on device"), "{}", server.log());
        let acknowledged = clients.ledger.acknowledged;
        assert!(acknowledged > SERVED, "{acknowledged} acknowledgements");
        copy_lines(&disk, folder.path());
        check(folder.path(), &clients.ledger).unwrap();
        assert_eq!(count(&server.log(), FAILED), 1, "{}", server.log());
        fs::remove_file(disk.file("filler")).unwrap();
        clients.act(SERVED, 0).unwrap();
        server.wait_for(WRITTEN_AGAIN);
        server.stop();
        copy_lines(&disk, folder.path());
        check(folder.path(), &clients.ledger).unwrap();
    }
}

/// Copies the files of the legal log from `disk` to `folder`.
fn copy_lines(disk: &SmallDisk, folder: &Path) {
    for entry in fs::read_dir(disk.file("")).unwrap().flatten() {
        let name = entry.file_name();
        if Path::new(&name).extension().is_some_and(|ending| ending == "txt") {
            fs::copy(entry.path(), folder.join(name)).unwrap();
        }
    }
}

/// Database with the table `logs`, and the configuration of a server that writes into it.
struct LogDatabase {
    database: PrivateDatabase,
    folder: TempFolder,
    config: std::path::PathBuf,
}

impl LogDatabase {
    fn start(engine: DatabaseEngine, family: CrashFamily) -> Option<Self> {
        if let Some(reason) = engine.missing() {
            testkit::skip(reason);
            return None;
        }
        let settings = PrivateDatabaseSettings {
            is_durable: true,
            on_loopback: true,
            ..PrivateDatabaseSettings::default()
        };
        let database = PrivateDatabase::start(engine, settings).unwrap();
        database.create("legal").unwrap();
        let port = database.port().unwrap();
        let [kind, admin] = match engine {
            DatabaseEngine::MariaDb => ["mysql", "mysql"],
            DatabaseEngine::PostgreSql => ["postgresql", "pgsql"],
        };
        let mut init = Command::new(env!("CARGO_BIN_EXE_godwit"));
        init.args(["db", "init", admin, "-n", "legal", "-u", USER, "-p", PASSWORD]);
        let output = run_bounded(init.args(["-h", "127.0.0.1", "-P", &port.to_string()]));
        assert!(output.status.success(), "{output:?}");
        let folder = TempFolder::new(&format!("legal-{kind}-{}", family.server));
        let config = (family.configuration)(folder.path());
        let library = r#"{ "library": "libdhcp_legal_log.so" }"#;
        let parameters = format!(
            r#"{{ "library": "libdhcp_legal_log.so", "parameters": {{ "type": "{kind}",
                 "name": "legal", "host": "127.0.0.1", "port": {port}, "user": "{USER}",
                 "password": "{PASSWORD}" }} }}"#
        );
        replace(&config, library, &parameters);
        Some(Self { database, folder, config })
    }

    /// Writes the rows of the table as lines of a file.
    fn write_lines(&self) {
        let query = "SELECT log FROM logs WHERE address <> ''";
        let rows = self.database.query("legal", query).unwrap();
        let lines: String = rows.lines().map(|row| format!("{row}\n")).collect();
        fs::write(self.folder.path().join("rows.txt"), lines).unwrap();
    }
}

#[test]
fn replies_wait_while_the_database_of_the_legal_log_is_gone() {
    for (engine, family) in
        [(DatabaseEngine::MariaDb, LEGAL_V4), (DatabaseEngine::PostgreSql, LEGAL_V6)]
    {
        let Some(mut setup) = LogDatabase::start(engine, family) else { continue };
        let ports = [free_port(), free_port()];
        let (wrapper, folder) = (Command::new("env"), setup.folder.path());
        let server = ServerProcess::launch_on(wrapper, family.server, ports, &setup.config, folder);
        let mut clients = CrashClients::new(family, ports, 1);
        clients.act(SERVED, 0).unwrap();
        setup.database.kill();
        act_until(&mut clients, &server, FAILED);
        setup.database.launch().unwrap();
        clients.act(SERVED, 0).unwrap();
        assert!(waited_until(|| server.log().contains(WRITTEN_AGAIN)), "{}", server.log());
        assert_eq!(count(&server.log(), FAILED), 1, "{}", server.log());
        server.stop();
        setup.write_lines();
        let (folder, none) = (setup.folder.path(), AcknowledgedCounts::default());
        check_with_repeats(folder, &clients.ledger, &none, 1).unwrap();
    }
}
