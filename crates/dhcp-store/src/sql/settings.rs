//! How a database is reached.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::log::Durability;

/// The kind of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// MariaDB or MySQL.
    Mysql,
    /// PostgreSQL.
    Postgresql,
    /// A file of SQLite's.
    Sqlite,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mysql, Self::Postgresql, Self::Sqlite];

    /// As `kea-admin` calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Postgresql => "pgsql",
            Self::Sqlite => "sqlite",
        }
    }

    /// The port that servers of this kind listen on when nothing else is said.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Mysql => 3306,
            Self::Postgresql => 5432,
            Self::Sqlite => 0,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mysql => "MySQL",
            Self::Postgresql => "PostgreSQL",
            Self::Sqlite => "SQLite",
        })
    }
}

/// Where a database is and how to get in, as in Kea's `lease-database`.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Its kind.
    pub backend: Backend,
    /// Name of the database; the path of the file for SQLite.
    pub name: String,
    /// Name or address of the host; for PostgreSQL also the folder of its socket.
    pub host: String,
    /// Port of the server; the usual one when `None`.
    pub port: Option<u16>,
    /// The socket of a MariaDB or MySQL server on this machine, instead of host and port.
    pub socket: Option<PathBuf>,
    /// Who.
    pub user: String,
    /// Empty for none.
    pub password: String,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long MariaDB or MySQL may leave a statement without an answer; `None` for ever.
    pub read_timeout: Option<Duration>,
    /// How long a statement may take to be sent to MariaDB or MySQL; `None` for ever.
    pub write_timeout: Option<Duration>,
    /// The certificates by which MariaDB or MySQL is believed; TLS is used when there are some.
    pub trust_anchor: Option<PathBuf>,
    /// What SQLite flushes: [`Durability::Always`] is its FULL, [`Durability::Interval`] its
    /// NORMAL, [`Durability::None`] its OFF. Servers have settings of their own.
    pub durability: Durability,
}

impl Settings {
    /// A database called `name` on this machine, with Kea's time-outs.
    #[must_use]
    pub fn new(backend: Backend, name: impl Into<String>) -> Self {
        Self {
            backend,
            name: name.into(),
            host: "localhost".to_owned(),
            port: None,
            socket: None,
            user: String::new(),
            password: String::new(),
            connect_timeout: Duration::from_secs(5),
            read_timeout: None,
            write_timeout: None,
            trust_anchor: None,
            durability: Durability::Always,
        }
    }

    /// The port, or the usual one.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.unwrap_or_else(|| self.backend.port())
    }
}

/// The place without the password.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.backend, &self.socket) {
            (Backend::Sqlite, _) => write!(f, "SQLite file {}", self.name),
            (backend, Some(socket)) => {
                write!(f, "{backend} database {} at {}", self.name, socket.display())
            }
            (backend, None) => {
                write!(f, "{backend} database {} at {} port {}", self.name, self.host, self.port())
            }
        }
    }
}

/// The same: passwords stay out of logs.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let settings = Settings {
            user: "kea".to_owned(),
            password: "secret".to_owned(),
            ..Settings::new(Backend::Mysql, "leases")
        };
        let shown = format!("{settings} {settings:?}");
        assert!(shown.contains("MySQL database leases at localhost port 3306"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
