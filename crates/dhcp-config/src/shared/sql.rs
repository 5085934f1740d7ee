//! SQL databases of leases and reservations: values, and the keys for connections to their servers.
//!
//! Parts of Kea's manual to read first: "Lease Database Configuration", "Hosts Database
//! Configuration".

use super::control::SecretSource;
use super::sockets::secret;
use super::types::OnFail;
use crate::context::ParseContext;
use crate::fields::MapReader;
use crate::source::SourcePosition;

/// Kind of a lease database: the value of `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseKind {
    /// Memfile: leases in memory, changes appended to a CSV file.
    Memfile,
    /// SQL database: leases or reservations in tables.
    Sql(SqlKind),
}

/// SQL database of leases or reservations, with the settings of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlDatabase {
    /// Kind of the database (`type`).
    pub kind: SqlKind,
    /// Name of the database, or path of SQLite's file (`name`). Default `kea`, as in Kea.
    pub name: String,
    /// Host of the database server (`host`); for PostgreSQL also the folder of its socket. Default
    /// `localhost`.
    pub host: String,
    /// Port of the database server (`port`), the usual one when `None`.
    pub port: Option<u16>,
    /// User of the database connection (`user`).
    pub user: String,
    /// Password of the database connection (`password` or `password-file`); empty when neither is
    /// set.
    pub password: SecretSource,
    /// Time limit to connect to the database server, in seconds (`connect-timeout`). Default 5 s.
    pub connect_timeout_s: u32,
    /// Time limit to read from a MySQL connection, in seconds (`read-timeout`); 0, the default, for
    /// none.
    pub read_timeout_s: u32,
    /// Time limit to write to a MySQL connection, in seconds (`write-timeout`); 0, the default, for
    /// none.
    pub write_timeout_s: u32,
    /// Time limit for TCP acknowledgments of a PostgreSQL connection, in seconds
    /// (`tcp-user-timeout`); 0, the default, for the system's.
    pub tcp_user_timeout_s: u32,
    /// TLS certificates and options of the database connection.
    pub tls: SqlTls,
    /// Number of attempts to connect to the database again (`max-reconnect-tries`); 0, the default,
    /// for none.
    pub max_reconnect_tries: u32,
    /// Time between two attempts to connect to the database again, in milliseconds
    /// (`reconnect-wait-time`). Default 0.
    pub reconnect_wait_time_ms: u32,
    /// Reaction to a lost database connection, during and after the attempts to connect again
    /// (`on-fail`).
    pub on_fail: OnFail,
    /// True if the server retries the first connection to the database as it does a lost one
    /// (`retry-on-startup`).
    pub retries_on_startup: bool,
    /// True if the server must not write to the database, for reservations (`readonly`).
    pub is_readonly: bool,
}

base::named! {
    /// Kind of an SQL database of leases or reservations. Names are values of `type` in the
    /// configuration.
    pub enum SqlKind {
        /// MariaDB or MySQL database.
        Mysql = "mysql",
        /// PostgreSQL database.
        Postgresql = "postgresql",
        /// SQLite database in a file, which Kea does not have.
        Sqlite = "sqlite",
    }
}

/// TLS certificates and options of a connection to a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlTls {
    /// File of the certificates that sign the database server's certificate (`trust-anchor`).
    pub trust_anchor: Option<String>,
    /// File of this client's certificate (`cert-file`).
    pub cert_file: Option<String>,
    /// File of the private key for this client's certificate (`key-file`).
    pub key_file: Option<String>,
    /// Permitted TLS ciphers of a MySQL connection (`cipher-list`).
    pub cipher_list: Option<String>,
    /// TLS mode of a PostgreSQL connection (`ssl-mode`).
    pub mode: Option<SslMode>,
}

/// TLS mode of a PostgreSQL connection (`ssl-mode`), with the meanings of PostgreSQL's library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Connection without TLS.
    Disable,
    /// TLS when the database server has it.
    Prefer,
    /// TLS with any database server, whatever its certificate.
    Require,
    /// TLS, if a trusted authority has signed the database server's certificate.
    VerifyCa,
    /// TLS, if a trusted authority has signed the database server's certificate for the name that
    /// the connection uses.
    VerifyFull,
}

const SSL_MODES: [(&str, SslMode); 5] = [
    ("disable", SslMode::Disable),
    ("prefer", SslMode::Prefer),
    ("require", SslMode::Require),
    ("verify-ca", SslMode::VerifyCa),
    ("verify-full", SslMode::VerifyFull),
];

/// Keys of a database map whose values are texts for the connection.
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
/// Keys of a database map whose values are numbers, each with its maximum and, when only one kind
/// of database has the key, that kind.
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

/// Default name of a database, as in Kea.
const DEFAULT_NAME: &str = "kea";
/// Kea's default time limit to connect to a database, in seconds.
const DEFAULT_CONNECT_TIMEOUT_S: u32 = 5;

impl SqlDatabase {
    /// Creates the settings of a database of `kind` called `name`, with Kea's defaults.
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

/// Reads the settings of a connection to a database of `kind` from a database map. Kea accepts the
/// keys for a memfile, too, so every one is checked, whatever the kind.
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

/// Returns the connection keys that a database map sets, with their positions.
fn set_keys(fields: &mut MapReader<'_>) -> Vec<(&'static str, SourcePosition)> {
    let numbers = NUMBERS.iter().map(|(key, ..)| *key);
    let keys = TEXTS.into_iter().chain(FLAGS).chain(numbers).chain(["ssl-mode"]);
    keys.filter_map(|key| fields.take(key).map(|entry| (key, entry.at))).collect()
}

/// Reads the numbers of a database map; also returns the keys of numbers that this kind of database
/// does not have.
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
