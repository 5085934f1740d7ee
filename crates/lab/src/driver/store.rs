//! Stores of a measured server's leases, in the words of its configuration and of `godwit db`.

use std::path::PathBuf;

use measure::plan::LeaseStoreKind;
use serde_json::{Value, json};
use testbed::database::{DatabaseEngine, PASSWORD, USER};

/// Name of the lease file in a server's folder. For the check of leases the lab also writes the
/// leases of a database to this file.
pub(crate) const LEASE_FILE: &str = "leases.csv";
/// Values of Kea's `max-reconnect-tries` and `reconnect-wait-time` (milliseconds) for a database;
/// its servers continue to serve meanwhile. Kea's default is to give up at once.
const RECONNECT_TRIES: u32 = 600;
const RECONNECT_WAIT_MS: u32 = 100;

/// Location of the store in which a server keeps its leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// Lease file in the server's folder.
    Memfile,
    /// SQLite database file at this path.
    Sqlite(PathBuf),
    /// Database of a database server on this machine.
    Database {
        /// Kind of the database server, such as MariaDB.
        engine: DatabaseEngine,
        /// Name of the database with the leases.
        name: String,
        /// Port of the database on the loopback interface of the measured server's network.
        port: u16,
        /// True if no other server writes to the database with the leases.
        is_exclusive: bool,
    },
}

impl StoreLocation {
    /// Returns Kea's `lease-database` for the store. The configuration names an SQLite file
    /// elsewhere, as Kea has no such store.
    pub(super) fn lease_database(&self, lease_file: String) -> Value {
        match self {
            Self::Memfile | Self::Sqlite(_) => json!({
                "type": "memfile",
                "persist": true,
                "name": lease_file,
                "lfc-interval": 0
            }),
            Self::Database { engine, name, port, .. } => json!({
                "type": match engine {
                    DatabaseEngine::MariaDb => LeaseStoreKind::Mysql.name(),
                    DatabaseEngine::PostgreSql => LeaseStoreKind::Postgresql.name(),
                },
                "name": name,
                "host": "127.0.0.1",
                "port": port,
                "user": USER,
                "password": PASSWORD,
                "max-reconnect-tries": RECONNECT_TRIES,
                "reconnect-wait-time": RECONNECT_WAIT_MS,
                "on-fail": "serve-retry-continue"
            }),
        }
    }

    /// Returns the settings for the store that only Godwit has; `None` when there are none.
    pub(super) fn godwit_settings(&self) -> Option<Value> {
        match self {
            Self::Memfile => None,
            Self::Sqlite(file) => Some(json!({ "sqlite": file.to_string_lossy() })),
            Self::Database { is_exclusive, .. } => Some(json!({ "exclusive": is_exclusive })),
        }
    }

    /// Returns the kind of the store as plans name it.
    pub fn store(&self) -> LeaseStoreKind {
        match self {
            Self::Memfile => LeaseStoreKind::Memfile,
            Self::Sqlite(_) => LeaseStoreKind::Sqlite,
            Self::Database { engine: DatabaseEngine::MariaDb, .. } => LeaseStoreKind::Mysql,
            Self::Database { engine: DatabaseEngine::PostgreSql, .. } => LeaseStoreKind::Postgresql,
        }
    }
}

/// Returns the kind of database server that `store` needs; `None` when it needs none.
pub fn engine(store: LeaseStoreKind) -> Option<DatabaseEngine> {
    match store {
        LeaseStoreKind::Memfile | LeaseStoreKind::Sqlite => None,
        LeaseStoreKind::Mysql => Some(DatabaseEngine::MariaDb),
        LeaseStoreKind::Postgresql => Some(DatabaseEngine::PostgreSql),
    }
}
