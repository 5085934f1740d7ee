//! Databases of leases and reservations: values, and the keys for connections to their servers.
//!
//! Parts of Kea's manual to read first: "Lease Database Configuration", "Hosts Database
//! Configuration".

use super::control::SecretSource;
use super::sockets::secret;
use super::types::OnFail;
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::source::SourcePosition;

/// Value of `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseKind {
    /// Leases in memory, changes appended to a CSV file.
    Memfile,
    /// Tables in a database.
    Sql(SqlKind),
}

/// Database with tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlDatabase {
    /// `type`.
    pub kind: SqlKind,
    /// `name` of the database, or of SQLite's file. Default `kea`, as in Kea.
    pub name: String,
    /// `host`; for PostgreSQL also the folder of its socket. Default `localhost`.
    pub host: String,
    /// `port`, the usual one when `None`.
    pub port: Option<u16>,
    /// `user`.
    pub user: String,
    /// `password` or `password-file`; empty when neither is set.
    pub password: SecretSource,
    /// `connect-timeout`. Default 5 s.
    pub connect_timeout_s: u32,
    /// `read-timeout` of a MySQL connection; 0, the default, for none.
    pub read_timeout_s: u32,
    /// `write-timeout` of a MySQL connection; 0, the default, for none.
    pub write_timeout_s: u32,
    /// `tcp-user-timeout` of a PostgreSQL connection; 0, the default, for the system's.
    pub tcp_user_timeout_s: u32,
    /// TLS keys of the connection.
    pub tls: SqlTls,
    /// `max-reconnect-tries`: attempts to connect again; 0, the default, for none.
    pub max_reconnect_tries: u32,
    /// `reconnect-wait-time`: time between two attempts. Default 0.
    pub reconnect_wait_time_ms: u32,
    /// `on-fail`: reaction to a lost connection, during and after the attempts to connect again.
    pub on_fail: OnFail,
    /// `retry-on-startup`: true if the first connection is tried again as a lost one is.
    pub retries_on_startup: bool,
    /// `readonly`: true if the server must not write (reservations).
    pub is_readonly: bool,
}

/// Kind of a [`SqlDatabase`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlKind {
    /// MariaDB or MySQL.
    Mysql,
    /// PostgreSQL.
    Postgresql,
    /// SQLite file, which Kea does not have.
    Sqlite,
}

impl SqlKind {
    /// Returns the word in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Postgresql => "postgresql",
            Self::Sqlite => "sqlite",
        }
    }
}

/// Certificates and options of a TLS connection to a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlTls {
    /// `trust-anchor`: file of the certificates that sign the server's certificate.
    pub trust_anchor: Option<String>,
    /// `cert-file`: certificate of this client.
    pub cert_file: Option<String>,
    /// `key-file`: key of that certificate.
    pub key_file: Option<String>,
    /// `cipher-list` (MySQL).
    pub cipher_list: Option<String>,
    /// `ssl-mode` (PostgreSQL).
    pub mode: Option<SslMode>,
}

/// `ssl-mode`, with the meanings of PostgreSQL's library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Plain text.
    Disable,
    /// TLS when the server has it.
    Prefer,
    /// TLS with any server.
    Require,
    /// TLS, if a trusted authority has signed the server's certificate.
    VerifyCa,
    /// TLS, if a trusted authority has signed the server's certificate for the name that it is
    /// reached by.
    VerifyFull,
}

const SSL_MODES: [(&str, SslMode); 5] = [
    ("disable", SslMode::Disable),
    ("prefer", SslMode::Prefer),
    ("require", SslMode::Require),
    ("verify-ca", SslMode::VerifyCa),
    ("verify-full", SslMode::VerifyFull),
];

/// Keys of a database map with texts for the connection.
const TEXTS: [&str; 8] = [
    "host",
    "user",
    "password",
    "password-file",
    "trust-anchor",
    "cert-file",
    "key-file",
    "cipher-list",
];
/// Keys of a database map with numbers, each with its maximum and, when only one kind of database
/// has it, that kind.
const NUMBERS: [(&str, i64, Option<SqlKind>); 7] = [
    ("port", 65_535, None),
    ("connect-timeout", u32::MAX as i64, None),
    ("read-timeout", u32::MAX as i64, Some(SqlKind::Mysql)),
    ("write-timeout", u32::MAX as i64, Some(SqlKind::Mysql)),
    ("tcp-user-timeout", u32::MAX as i64, Some(SqlKind::Postgresql)),
    ("max-reconnect-tries", i64::MAX, None),
    ("reconnect-wait-time", u32::MAX as i64, None),
];
const FLAGS: [&str; 2] = ["readonly", "retry-on-startup"];

/// Kea's default name of a database.
const DEFAULT_NAME: &str = "kea";
/// Default time to connect, seconds.
const DEFAULT_CONNECT_TIMEOUT_S: u32 = 5;

impl SqlDatabase {
    /// Returns a database of `kind` called `name`, with Kea's defaults.
    #[must_use]
    pub fn new(kind: SqlKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            host: "localhost".to_owned(),
            port: None,
            user: String::new(),
            password: SecretSource::Text(String::new()),
            connect_timeout_s: DEFAULT_CONNECT_TIMEOUT_S,
            read_timeout_s: 0,
            write_timeout_s: 0,
            tcp_user_timeout_s: 0,
            tls: SqlTls::default(),
            max_reconnect_tries: 0,
            reconnect_wait_time_ms: 0,
            on_fail: OnFail::StopRetryExit,
            retries_on_startup: false,
            is_readonly: false,
        }
    }
}

/// Reads the connection to a database of `kind`; returns `None` when the kind is not known. Kea
/// accepts the keys for a memfile, too, so every one is checked, whatever the kind.
pub(super) fn read(
    fields: &mut MapReader<'_>,
    kind: Option<DatabaseKind>,
    findings: &mut ParseContext,
) -> SqlDatabase {
    let set_keys = set_keys(fields);
    let sql_kind = match kind {
        Some(DatabaseKind::Sql(kind)) => kind,
        _ => SqlKind::Mysql,
    };
    let mut database = SqlDatabase::new(sql_kind, DEFAULT_NAME);
    let mut text = |key| {
        let text = fields.text(key, findings).filter(|text| !text.value.is_empty());
        text.map(|text| text.value.to_owned())
    };
    if let Some(host) = text("host") {
        database.host = host;
    }
    database.user = text("user").unwrap_or_default();
    database.tls = SqlTls {
        trust_anchor: text("trust-anchor"),
        cert_file: text("cert-file"),
        key_file: text("key-file"),
        cipher_list: text("cipher-list"),
        mode: None,
    };
    database.tls.mode = fields.word("ssl-mode", &SSL_MODES, false, findings);
    if let Some(password) = secret(fields, ["password", "password-file"], findings) {
        database.password = password.value;
    }
    let (numbers, refused) = numbers(fields, kind, findings);
    let [port, connect, read, write, tcp_user, tries, wait] = numbers;
    database.port = port.filter(|&port| port > 0).map(|port| port as u16);
    database.connect_timeout_s = connect.map_or(DEFAULT_CONNECT_TIMEOUT_S, saturating);
    database.read_timeout_s = read.map_or(0, saturating);
    database.write_timeout_s = write.map_or(0, saturating);
    database.tcp_user_timeout_s = tcp_user.map_or(0, saturating);
    database.max_reconnect_tries = tries.map_or(0, saturating);
    database.reconnect_wait_time_ms = wait.map_or(0, saturating);
    let flags = FLAGS.map(|key| fields.boolean(key, findings).is_some_and(|flag| flag.value));
    [database.is_readonly, database.retries_on_startup] = flags;
    if kind == Some(DatabaseKind::Memfile) {
        for (key, at) in set_keys.into_iter().filter(|(key, _)| !refused.contains(key)) {
            findings.warn(at, format!("`{key}` has no effect on a memfile"));
        }
    }
    database
}

fn saturating(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the keys that are set, with their positions.
fn set_keys(fields: &mut MapReader<'_>) -> Vec<(&'static str, SourcePosition)> {
    let numbers = NUMBERS.iter().map(|(key, ..)| *key);
    let keys = TEXTS.into_iter().chain(FLAGS).chain(numbers).chain(["ssl-mode"]);
    keys.filter_map(|key| fields.take(key).map(|entry| (key, entry.at))).collect()
}

/// Reads the numbers; also returns the keys of numbers that this kind of database does not have.
fn numbers(
    fields: &mut MapReader<'_>,
    kind: Option<DatabaseKind>,
    findings: &mut ParseContext,
) -> ([Option<i64>; NUMBERS.len()], Vec<&'static str>) {
    let mut refused = Vec::new();
    let numbers = NUMBERS.map(|(key, most, only)| {
        let number = fields.integer(key, 0..=most, findings)?;
        if let Some(only) = only
            && kind.is_some_and(|kind| kind != DatabaseKind::Sql(only))
            && number.value > 0
        {
            let message = format!("`{key}` is for `{}` databases", only.name());
            findings.error(number.at, message);
            refused.push(key);
        }
        Some(number.value)
    });
    (numbers, refused)
}
