//! Storage of a server's leases, and its contents.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::database::{DatabaseEngine, PASSWORD, PrivateDatabase, PrivateDatabaseSettings, USER};

use crate::common::{TempFolder, run_bounded};
use crate::crash::family::{CrashFamily, replace};
use crate::crash::ledger::AddressRecord;

/// Kind of storage for leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseStorageKind {
    /// Lease file of Kea's format.
    Memfile,
    /// SQLite file.
    Sqlite,
    /// Database server.
    Server(DatabaseEngine),
}

/// Processes that this kind of storage needs, for several storages one after another.
pub(crate) struct LeaseStorageProcesses {
    kind: LeaseStorageKind,
    server: Option<PrivateDatabase>,
}

impl LeaseStorageProcesses {
    /// Starts the database server, if any. Returns `None`, with a message, if it is not installed.
    pub(crate) fn start(kind: LeaseStorageKind) -> Option<Self> {
        let LeaseStorageKind::Server(engine) = kind else {
            return Some(Self { kind, server: None });
        };
        if let Some(reason) = engine.missing() {
            testkit::skip(reason);
            return None;
        }
        let settings = PrivateDatabaseSettings {
            is_durable: true,
            on_loopback: true,
            ..PrivateDatabaseSettings::default()
        };
        Some(Self { kind, server: Some(PrivateDatabase::start(engine, settings).unwrap()) })
    }

    /// Returns the database server, if any.
    pub(crate) fn server(&mut self) -> Option<&mut PrivateDatabase> {
        self.server.as_mut()
    }

    fn port(&self) -> u16 {
        self.server.as_ref().and_then(PrivateDatabase::port).unwrap()
    }
}

/// Files, or database, with the leases of one server.
pub(crate) struct LeaseStorage {
    pub(crate) folder: TempFolder,
    pub(crate) config: PathBuf,
    /// Flag of `godwit db` for the family: `-4` or `-6`.
    flag: &'static str,
    /// Kind and flags by which `godwit db` finds the leases; empty for a lease file.
    database: Vec<String>,
}

impl LeaseStorage {
    /// Makes an empty storage called `label`, and a configuration that names it.
    pub(crate) fn new(backend: &LeaseStorageProcesses, family: CrashFamily, label: &str) -> Self {
        let folder = TempFolder::new(label);
        let config = (family.configuration)(folder.path());
        let mut database = Vec::new();
        let name = label.replace('-', "_");
        match backend.kind {
            LeaseStorageKind::Memfile => {}
            LeaseStorageKind::Sqlite => {
                let path = folder.path().join("leases.db").display().to_string();
                let shards = "\"shards\": 2";
                let setting = format!("{shards}, \"lease-database\": {{ \"sqlite\": \"{path}\" }}");
                replace(&config, shards, &setting);
                database.extend(["sqlite".to_owned(), "-n".to_owned(), path]);
            }
            LeaseStorageKind::Server(engine) => {
                backend.server.as_ref().unwrap().create(&name).unwrap();
                let [kind, admin] = match engine {
                    DatabaseEngine::MariaDb => ["mysql", "mysql"],
                    DatabaseEngine::PostgreSql => ["postgresql", "pgsql"],
                };
                let port = backend.port().to_string();
                let setting = format!(
                    r#""type": "{kind}", "name": "{name}", "host": "127.0.0.1", "port": {port},
                       "user": "{USER}", "password": "{PASSWORD}",
                       "max-reconnect-tries": 1000000, "reconnect-wait-time": 5"#
                );
                replace_memfile(&config, &setting);
                let flags =
                    ["-n", &name, "-u", USER, "-p", PASSWORD, "-h", "127.0.0.1", "-P", &port];
                database.extend([admin].iter().chain(&flags).map(|&word| word.to_owned()));
            }
        }
        let flag = if family.server == "dhcp4" { "-4" } else { "-6" };
        let storage = Self { folder, config, flag, database };
        if !storage.database.is_empty() {
            godwit_db("init", &storage.database, &[]);
        }
        storage
    }

    /// Returns the stored lease of every address.
    pub(crate) fn stored_leases(&self) -> BTreeMap<IpAddr, AddressRecord> {
        let file = self.folder.path().join("leases.csv");
        if !self.database.is_empty() {
            let flags = [self.flag, "-y", "-o", &file.display().to_string()];
            godwit_db("dump", &self.database, &flags);
        }
        kept_in(&file)
    }
}

/// Runs `godwit db` with `verb` on the database that the flags in `database` name.
pub(crate) fn godwit_db(verb: &str, database: &[String], further: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.args(["db", verb]).args(database).args(further);
    let output = run_bounded(&mut command);
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Replaces the lease file in the configuration by `setting`.
pub(crate) fn replace_memfile(config: &Path, setting: &str) {
    let text = fs::read_to_string(config).unwrap();
    let start = text.find("\"type\": \"memfile\"").unwrap();
    let last = "\"lfc-interval\": 0";
    let end = text.find(last).unwrap() + last.len();
    fs::write(config, format!("{}{setting}{}", &text[..start], &text[end..])).unwrap();
}

/// Returns the leases of a lease file: the last row of an address counts, and an incomplete row
/// does not.
pub(crate) fn kept_in(path: &Path) -> BTreeMap<IpAddr, AddressRecord> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap_or_default();
    let column = |name| header.iter().position(|column| *column == name).unwrap_or(0);
    let columns = ["state", "expire", "valid_lifetime"].map(column);
    lines.filter_map(|row| row_of(&row, columns)).collect()
}

/// Reads a row. The last four bytes of the hardware address or DUID are the client's number.
fn row_of(row: &[&str], [state, expire, lifetime]: [usize; 3]) -> Option<(IpAddr, AddressRecord)> {
    let octets: Vec<u8> =
        row.get(1)?.split(':').filter_map(|text| u8::from_str_radix(text, 16).ok()).collect();
    let client = u32::from_be_bytes(*octets.last_chunk()?);
    let is_assigned = *row.get(state)? == "0";
    let number = |column: usize| row.get(column)?.parse::<u64>().ok();
    let heard_s = number(expire)?.saturating_sub(number(lifetime)?);
    Some((row[0].parse().ok()?, AddressRecord { client, is_assigned, heard_s }))
}
