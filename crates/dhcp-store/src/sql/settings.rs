//! Settings to reach an SQL database.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::log::RowDurability;

/// Kind of an SQL database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlDatabaseKind {
    /// MariaDB or MySQL server.
    Mysql,
    /// PostgreSQL server.
    Postgresql,
    /// SQLite database in a file.
    Sqlite,
}

impl SqlDatabaseKind {
    /// All kinds of SQL databases.
    pub const ALL: [Self; 3] = [Self::Mysql, Self::Postgresql, Self::Sqlite];

    /// Returns the name that `kea-admin` uses for the kind of database.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Postgresql => "pgsql",
            Self::Sqlite => "sqlite",
        }
    }

    /// Returns the default TCP port of database servers of this kind.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Mysql => 3306,
            Self::Postgresql => 5432,
            Self::Sqlite => 0,
        }
    }
}

impl fmt::Display for SqlDatabaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mysql => "MySQL",
            Self::Postgresql => "PostgreSQL",
            Self::Sqlite => "SQLite",
        })
    }
}

/// Required level of TLS for a database connection (Kea's `ssl-mode`, with the meanings of
/// PostgreSQL's `sslmode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatabaseSslMode {
    /// Connection without TLS.
    Disable,
    /// TLS if the database server offers it and it works; else none.
    Prefer,
    /// TLS is required for the connection. With a trust anchor the server's certificate has to come
    /// from it.
    Require,
    /// TLS is required, with a server certificate that comes from the trust anchor.
    VerifyCa,
    /// TLS is required, with a server certificate that comes from the trust anchor and names the
    /// requested host.
    VerifyFull,
}

impl DatabaseSslMode {
    /// All levels of TLS, from the weakest to the strongest.
    pub const ALL: [Self; 5] =
        [Self::Disable, Self::Prefer, Self::Require, Self::VerifyCa, Self::VerifyFull];

    /// Returns the name that Kea and PostgreSQL use for the level of TLS.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    /// Returns the level of TLS that Kea calls `name`; `None` for an unknown name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Address and credentials of a database, as in Kea's `lease-database`.
#[derive(Clone, PartialEq, Eq)]
pub struct SqlSettings {
    /// Kind of the SQL database.
    pub backend: SqlDatabaseKind,
    /// Name of the database; for SQLite the path of the file.
    pub name: String,
    /// Name or address of the database host; for PostgreSQL also the folder of its socket.
    pub host: String,
    /// TCP port of the database server; the kind's default port if `None`.
    pub port: Option<u16>,
    /// Further hosts of the same database, with their ports: nodes of a cluster, or standby
    /// servers. `host` is the first host.
    pub hosts: Vec<(String, Option<u16>)>,
    /// Path of the socket of a MariaDB or MySQL server on this machine, used instead of host and
    /// port.
    pub socket: Option<PathBuf>,
    /// Name of the user at the database server.
    pub user: String,
    /// Password of the database user; empty for none.
    pub password: String,
    /// Time limit of connecting to the database.
    pub connect_timeout: Duration,
    /// Time that MariaDB or MySQL may leave a statement without an answer; `None` for no limit.
    pub read_timeout: Option<Duration>,
    /// Time that sending a statement to MariaDB or MySQL may take; `None` for no limit.
    pub write_timeout: Option<Duration>,
    /// Time that data sent to PostgreSQL may stay unacknowledged by TCP; the system's default if
    /// `None`.
    pub tcp_user_timeout: Option<Duration>,
    /// Required level of TLS for the connection; if `None`, [`SqlSettings::tls`] derives it from
    /// the other settings.
    pub ssl_mode: Option<DatabaseSslMode>,
    /// Path of the file or folder with the certificates of the authorities that must have signed
    /// the database server's certificate (Kea's `trust-anchor`).
    pub trust_anchor: Option<PathBuf>,
    /// Path of the client's certificate, with the chain up to its authority.
    pub cert_file: Option<PathBuf>,
    /// Path of the key of the client's certificate.
    pub key_file: Option<PathBuf>,
    /// Ciphers that a TLS connection may use, by OpenSSL's names, separated by colons (Kea's
    /// `cipher-list`).
    pub cipher_list: Option<String>,
    /// Setting `synchronous` of SQLite: [`RowDurability::Always`] is its FULL, or NORMAL if
    /// [`LeaseDatabaseConnection::flush`](crate::database::LeaseDatabaseConnection::flush) leaves
    /// flushes of the log to the caller; [`RowDurability::Interval`] its NORMAL,
    /// [`RowDurability::None`] its OFF. Database servers have settings of their own.
    pub durability: RowDurability,
    /// Number of pages that SQLite's write-ahead log collects before SQLite writes the pages to the
    /// database file; 0: SQLite writes them when the file is opened and closed.
    pub log_pages: u32,
}

/// Default number of pages in SQLite's write-ahead log, 32 MiB: SQLite writes a page that many
/// rounds have changed to the database file only once, and flushes the file then.
const LOG_PAGES: u32 = 8192;

impl SqlSettings {
    /// Creates settings for a database called `name` on this machine, with Kea's timeouts.
    #[must_use]
    pub fn new(backend: SqlDatabaseKind, name: impl Into<String>) -> Self {
        Self {
            backend,
            name: name.into(),
            host: "localhost".to_owned(),
            port: None,
            hosts: Vec::new(),
            socket: None,
            user: String::new(),
            password: String::new(),
            connect_timeout: Duration::from_secs(5),
            read_timeout: None,
            write_timeout: None,
            tcp_user_timeout: None,
            ssl_mode: None,
            trust_anchor: None,
            cert_file: None,
            key_file: None,
            cipher_list: None,
            durability: RowDurability::Always,
            log_pages: LOG_PAGES,
        }
    }

    /// Returns the TCP port of the first host, or the default port of the database's kind.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.unwrap_or_else(|| self.backend.port())
    }

    /// Returns the number of configured database hosts.
    #[must_use]
    pub const fn host_count(&self) -> usize {
        1 + self.hosts.len()
    }

    /// Returns the settings that reach host number `number`, counted from 0; numbers beyond the
    /// last host start again.
    #[must_use]
    pub fn at_host(&self, number: usize) -> Self {
        let mut settings = Self { hosts: Vec::new(), ..self.clone() };
        if let Some(further) = (number % self.host_count()).checked_sub(1) {
            (settings.host, settings.port) = self.hosts[further].clone();
            settings.socket = None;
        }
        settings
    }

    /// Returns the required level of TLS: the configured `ssl-mode`, or the level that Kea derives
    /// from the certificate files. A connection over a socket of this machine has none.
    #[must_use]
    pub fn tls(&self) -> DatabaseSslMode {
        let is_local = self.socket.is_some() || self.host.starts_with('/');
        if is_local || self.backend == SqlDatabaseKind::Sqlite {
            return DatabaseSslMode::Disable;
        }
        let is_requested =
            self.cert_file.is_some() || self.key_file.is_some() || self.cipher_list.is_some();
        self.ssl_mode.unwrap_or_else(|| match self.backend {
            _ if self.trust_anchor.is_some() => DatabaseSslMode::VerifyCa,
            _ if is_requested => DatabaseSslMode::Require,
            // PostgreSQL's own library does the same.
            SqlDatabaseKind::Postgresql => DatabaseSslMode::Prefer,
            _ => DatabaseSslMode::Disable,
        })
    }
}

/// Prints the address of the database without the password.
impl fmt::Display for SqlSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.backend, &self.socket) {
            (SqlDatabaseKind::Sqlite, _) => write!(f, "SQLite file {}", self.name),
            (backend, Some(socket)) => {
                write!(f, "{backend} database {} at {}", self.name, socket.display())
            }
            (backend, None) => {
                write!(f, "{backend} database {} at {} port {}", self.name, self.host, self.port())
            }
        }
    }
}

/// Prints the address of the database as `Display` does: passwords must not get into logs.
impl fmt::Debug for SqlSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let settings = SqlSettings {
            user: "kea".to_owned(),
            password: "secret".to_owned(),
            ..SqlSettings::new(SqlDatabaseKind::Mysql, "leases")
        };
        let text = format!("{settings} {settings:?}");
        assert!(text.contains("MySQL database leases at localhost port 3306"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn files_say_how_much_tls_there_is() {
        let plain = SqlSettings::new(SqlDatabaseKind::Mysql, "leases");
        assert_eq!(plain.tls(), DatabaseSslMode::Disable);
        assert_eq!(
            SqlSettings::new(SqlDatabaseKind::Postgresql, "leases").tls(),
            DatabaseSslMode::Prefer
        );
        let believed = SqlSettings { trust_anchor: Some("ca.pem".into()), ..plain.clone() };
        assert_eq!(believed.tls(), DatabaseSslMode::VerifyCa);
        let strict =
            SqlSettings { ssl_mode: Some(DatabaseSslMode::VerifyFull), ..believed.clone() };
        assert_eq!(strict.tls(), DatabaseSslMode::VerifyFull);
        assert_eq!(
            SqlSettings { socket: Some("s".into()), ..strict }.tls(),
            DatabaseSslMode::Disable
        );
        let with_certificate = SqlSettings { cert_file: Some("me.pem".into()), ..plain };
        assert_eq!(with_certificate.tls(), DatabaseSslMode::Require);
        assert!(
            DatabaseSslMode::ALL
                .into_iter()
                .all(|mode| DatabaseSslMode::from_name(mode.name()) == Some(mode))
        );
        assert_eq!(DatabaseSslMode::from_name("allow"), None);
    }

    #[test]
    fn hosts_are_counted_round() {
        let settings = SqlSettings {
            socket: Some("s".into()),
            hosts: vec![("two".to_owned(), None), ("three".to_owned(), Some(7))],
            ..SqlSettings::new(SqlDatabaseKind::Mysql, "leases")
        };
        let text_of = |number| settings.at_host(number).to_string();
        assert_eq!(text_of(0), "MySQL database leases at s");
        assert_eq!(text_of(1), "MySQL database leases at two port 3306");
        assert_eq!(text_of(5), "MySQL database leases at three port 7");
        assert_eq!(settings.host_count(), 3);
    }
}
