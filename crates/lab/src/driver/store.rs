//! Where a server keeps its leases, in the words of its configuration and of `godwit db`.

use std::path::PathBuf;

use measure::plan::Store;
use serde_json::{Value, json};
use testbed::database::{Engine, PASSWORD, USER};

/// The lease file in a server's folder. Leases of databases are written there to be looked at.
pub(crate) const LEASE_FILE: &str = "leases.csv";
/// What Kea's servers do without a database: they ask again so often, at such intervals in
/// milliseconds, and go on serving meanwhile. Its default is to give up at once.
const RECONNECT_TRIES: u32 = 600;
const RECONNECT_WAIT_MS: u32 = 100;

/// Where leases are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorePlace {
    /// In a file of the server's folder.
    Memfile,
    /// In this file of SQLite's.
    Sqlite(PathBuf),
    /// In a database of a server on this machine.
    Database {
        /// Which server.
        engine: Engine,
        /// The name of the database.
        name: String,
        /// Its port on the loopback interface of the measured server's network.
        port: u16,
        /// Nobody else writes to it.
        is_exclusive: bool,
    },
}

impl StorePlace {
    /// Kea's `lease-database`. SQLite's file stands elsewhere, as Kea has none.
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
                    Engine::MariaDb => Store::Mysql.name(),
                    Engine::PostgreSql => Store::Postgresql.name(),
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

    /// What Godwit's own part of the configuration says of the store; `None` when nothing.
    pub(super) fn godwits_own(&self) -> Option<Value> {
        match self {
            Self::Memfile => None,
            Self::Sqlite(file) => Some(json!({ "sqlite": file.to_string_lossy() })),
            Self::Database { is_exclusive, .. } => Some(json!({ "exclusive": is_exclusive })),
        }
    }

    /// The store as plans call it.
    #[must_use]
    pub fn store(&self) -> Store {
        match self {
            Self::Memfile => Store::Memfile,
            Self::Sqlite(_) => Store::Sqlite,
            Self::Database { engine: Engine::MariaDb, .. } => Store::Mysql,
            Self::Database { engine: Engine::PostgreSql, .. } => Store::Postgresql,
        }
    }
}

/// The program behind a store; `None` when none is needed beside the server.
#[must_use]
pub fn engine(store: Store) -> Option<Engine> {
    match store {
        Store::Memfile | Store::Sqlite => None,
        Store::Mysql => Some(Engine::MariaDb),
        Store::Postgresql => Some(Engine::PostgreSql),
    }
}
