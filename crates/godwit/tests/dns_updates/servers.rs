//! DNS servers of Debian's packages as processes of a test, on loopback with ports of their own.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use testbed::{ChildProcess, CommandLine};

use super::zone;
use crate::common::{TempFolder, waited_until};

/// TSIG key of a test: its name, its algorithm as configurations write it, and its secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct TestKey {
    pub(super) name: &'static str,
    pub(super) algorithm: &'static str,
    pub(super) secret: &'static str,
}

/// Secret of 24 bytes, in Base64.
const SECRET: &str = "bGlnaHRzLCBjYW1lcmEsIGFjdGlvbiEh";

/// Keys of all algorithms that Kea has.
pub(super) const KEYS: [TestKey; 6] = [
    TestKey { name: "md5", algorithm: "HMAC-MD5", secret: SECRET },
    TestKey { name: "sha1", algorithm: "HMAC-SHA1", secret: SECRET },
    TestKey { name: "sha224", algorithm: "HMAC-SHA224", secret: SECRET },
    TestKey { name: "sha256", algorithm: "HMAC-SHA256", secret: SECRET },
    TestKey { name: "sha384", algorithm: "HMAC-SHA384", secret: SECRET },
    TestKey { name: "sha512", algorithm: "HMAC-SHA512", secret: SECRET },
];

/// Zone of a test: its name, the key that may change it, and records that it has from the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct TestZone {
    pub(super) name: &'static str,
    /// Name of the key; `None` for updates without a signature.
    pub(super) key: Option<&'static str>,
    pub(super) records: &'static str,
}

/// Running DNS server.
pub(super) struct DnsServerProcess {
    pub(super) port: u16,
    program: &'static str,
    folder: PathBuf,
    process: Option<ChildProcess>,
    zones: Vec<&'static str>,
}

impl DnsServerProcess {
    /// Prepares BIND with `zones`; it does not run yet.
    pub(super) fn bind(folder: &TempFolder, port: u16, zones: &[TestZone]) -> Self {
        let folder = folder.path().join(format!("bind-{port}"));
        write_zones(&folder, zones);
        let shown = folder.display();
        let mut text = format!(
            "options {{ directory \"{shown}\"; pid-file none; session-keyfile none;\n\
             listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; recursion no;\n\
             dnssec-validation no; notify no; empty-zones-enable no; lock-file none; }};\n\
             controls {{ }};\n"
        );
        for TestKey { name, algorithm, secret } in KEYS {
            let algorithm = algorithm.to_lowercase();
            let key = format!("key {name} {{ algorithm {algorithm}; secret \"{secret}\"; }};\n");
            text.push_str(&key);
        }
        for TestZone { name, key, .. } in zones {
            let who = key.map_or_else(|| "127.0.0.1".to_owned(), |key| format!("key {key}"));
            writeln!(
                text,
                "zone \"{name}\" {{ type primary; file \"{name}zone\"; \
                 allow-update {{ {who}; }}; allow-transfer {{ any; }}; }};"
            )
            .expect("a string takes any text");
        }
        fs::write(folder.join("server.conf"), text).expect("the folder is ours");
        Self::new("named", folder, port, zones)
    }

    /// Prepares Knot with `zones`; it does not run yet.
    pub(super) fn knot(folder: &TempFolder, port: u16, zones: &[TestZone]) -> Self {
        let folder = folder.path().join(format!("knot-{port}"));
        write_zones(&folder, zones);
        let shown = folder.display();
        let mut text = format!(
            "server:\n  listen: 127.0.0.1@{port}\n  rundir: {shown}\n\
             database:\n  storage: {shown}\nlog:\n  - target: stderr\n    any: info\nkey:\n"
        );
        for TestKey { name, algorithm, secret } in KEYS {
            let algorithm = algorithm.to_lowercase();
            let key = format!("  - id: {name}\n    algorithm: {algorithm}\n    secret: {secret}\n");
            text.push_str(&key);
        }
        text.push_str("acl:\n  - id: anyone\n    action: [transfer]\n");
        for TestZone { name, key, .. } in zones {
            let who =
                key.map_or_else(|| "address: 127.0.0.1".to_owned(), |key| format!("key: {key}"));
            let acl = format!("  - id: \"u-{name}\"\n    action: [update]\n    {who}\n");
            text.push_str(&acl);
        }
        text.push_str("zone:\n");
        for TestZone { name, .. } in zones {
            let zone = format!(
                "  - domain: {name}\n    file: {shown}/{name}zone\n    \
                 acl: [anyone, \"u-{name}\"]\n    zonefile-sync: -1\n    \
                 journal-content: all\n    zonefile-load: difference-no-serial\n"
            );
            text.push_str(&zone);
        }
        fs::write(folder.join("server.conf"), text).expect("the folder is ours");
        Self::new("knotd", folder, port, zones)
    }

    /// Prepares PowerDNS with `zones`, which have no records at first; it does not run yet.
    pub(super) fn powerdns(folder: &TempFolder, port: u16, zones: &[TestZone]) -> Self {
        let folder = folder.path().join(format!("powerdns-{port}"));
        fs::create_dir_all(&folder).expect("the folder is ours");
        let database = folder.join("zones.sqlite");
        fill_powerdns(&database, zones).unwrap_or_else(|why| panic!("{why}"));
        let text = format!(
            "launch=gsqlite3\ngsqlite3-database={}\nlocal-address=127.0.0.1\nlocal-port={port}\n\
             socket-dir={}\ndnsupdate=yes\ncache-ttl=0\nquery-cache-ttl=0\n\
             negquery-cache-ttl=0\nzone-cache-refresh-interval=0\n",
            database.display(),
            folder.display()
        );
        fs::write(folder.join("pdns.conf"), text).expect("the folder is ours");
        Self::new("pdns_server", folder, port, zones)
    }

    fn new(program: &'static str, folder: PathBuf, port: u16, zones: &[TestZone]) -> Self {
        let zones = zones.iter().map(|zone| zone.name).collect();
        Self { port, program, folder, process: None, zones }
    }

    /// Starts the server and waits until it serves its zones.
    pub(super) fn start(&mut self) {
        let conf = self.folder.join("server.conf");
        let conf = conf.to_str().expect("the path is text");
        let config_folder = format!("--config-dir={}", self.folder.display());
        let command = CommandLine::new(self.program);
        let command = match self.program {
            "named" => command.args(["-g", "-c", conf]),
            "pdns_server" => command.args([config_folder.as_str()]),
            _ => command.args(["-c", conf]),
        };
        let process = ChildProcess::start(&command, self.program, &self.folder);
        let mut process = process.unwrap_or_else(|why| panic!("{why}"));
        for zone in &self.zones {
            let is_served = waited_until(|| {
                let has_ended = process.exit_status().is_ok_and(|status| status.is_some());
                assert!(!has_ended, "{}", process.last_error_lines(5));
                zone::records(self.port, zone).is_some()
            });
            assert!(is_served, "{}", process.last_error_lines(5));
        }
        self.process = Some(process);
    }

    /// Ends the server at once.
    pub(super) fn kill(&mut self) {
        self.process = None;
    }

    /// Returns the records of a zone.
    pub(super) fn records(&self, zone: &str) -> std::collections::BTreeSet<String> {
        zone::records_when_served(self.port, zone)
    }
}

/// Path of the tables of PowerDNS in its package for SQLite.
const POWERDNS_TABLES: &str = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql";

/// Makes the database of PowerDNS at `path`, with all keys and `zones`.
fn fill_powerdns(path: &Path, zones: &[TestZone]) -> rusqlite::Result<()> {
    let database = Connection::open(path)?;
    let tables = fs::read_to_string(POWERDNS_TABLES).expect("the package has its tables");
    database.execute_batch(&tables)?;
    for TestKey { name, algorithm, secret } in KEYS {
        let algorithm = algorithm.to_lowercase();
        let row = "INSERT INTO tsigkeys (name, algorithm, secret) VALUES (?, ?, ?)";
        database.execute(row, (name, algorithm, secret))?;
    }
    for (number, TestZone { name, key, records }) in (1_u32..).zip(zones) {
        assert_eq!(*records, "", "a zone of PowerDNS has no records at first");
        let name = name.trim_end_matches('.');
        let row = "INSERT INTO domains (id, name, type) VALUES (?, ?, 'NATIVE')";
        database.execute(row, (number, name))?;
        let soa = format!("ns.{name} admin.{name} 1 3600 600 86400 60");
        for (kind, content) in [("SOA", soa.as_str()), ("NS", "ns.invalid")] {
            let row = "INSERT INTO records (domain_id, name, type, content, ttl) \
                       VALUES (?, ?, ?, ?, 300)";
            database.execute(row, (number, name, kind, content))?;
        }
        if let Some(key) = key {
            let row = "INSERT INTO domainmetadata (domain_id, kind, content) \
                       VALUES (?, 'TSIG-ALLOW-DNSUPDATE', ?)";
            database.execute(row, (number, key))?;
        }
    }
    Ok(())
}

fn write_zones(folder: &Path, zones: &[TestZone]) {
    fs::create_dir_all(folder).expect("the folder is ours");
    for TestZone { name, records, .. } in zones {
        let text = format!(
            "$TTL 300\n@ IN SOA ns.{name} admin.{name} 1 3600 600 86400 60\n@ IN NS ns.invalid.\n\
             {records}\n"
        );
        fs::write(folder.join(format!("{name}zone")), text).expect("the folder is ours");
    }
}
