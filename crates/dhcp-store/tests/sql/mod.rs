//! Leases in real databases: private MariaDB and PostgreSQL servers, and SQLite files.
//!
//! Tests whose server is not installed print a line `skipped: `, or fail with
//! `GODWIT_REQUIRE_TOOLS=1`.

mod authority;
mod bulk;
mod contract;
mod counts;
mod fail_over;
mod hosts;
mod hosts_administration;
mod log;
mod race;
mod schema;
mod tls;
mod trips;
#[path = "../../examples/rounds/wire.rs"]
mod wire;

use std::path::Path;
use std::time::Duration;

use dhcp_store::sql::{Database, SqlDatabaseKind, SqlSettings};
use testbed::database::{self, DatabaseEngine, PASSWORD, USER};
use testkit::TempFolder;

/// Place for databases of one kind, which are removed with the value.
pub(crate) struct SqlTestDatabases {
    backend: SqlDatabaseKind,
    server: Option<database::PrivateDatabase>,
    folder: TempFolder,
}

impl SqlTestDatabases {
    /// Starts the server that `backend` needs; returns `None` if it is not installed.
    pub(crate) fn new(backend: SqlDatabaseKind, label: &str) -> Option<Self> {
        Self::with(backend, label, |_| Vec::new())
    }

    /// Starts the server with further settings of its own, as `name=value`; the folder exists
    /// before they are made.
    pub(crate) fn with(
        backend: SqlDatabaseKind,
        label: &str,
        options: impl FnOnce(&Path) -> Vec<String>,
    ) -> Option<Self> {
        let engine = match backend {
            SqlDatabaseKind::Mysql => Some(DatabaseEngine::MariaDb),
            SqlDatabaseKind::Postgresql => Some(DatabaseEngine::PostgreSql),
            SqlDatabaseKind::Sqlite => None,
        };
        if let Some(reason) = engine.and_then(DatabaseEngine::missing) {
            testkit::skip(reason);
            return None;
        }
        let settings = database::PrivateDatabaseSettings {
            is_durable: false,
            on_loopback: true,
            ..database::PrivateDatabaseSettings::default()
        };
        // The server may run as another user.
        let folder = TempFolder::open_to_others(&format!("sql-{label}-{}", backend.name()));
        let options = options(folder.path());
        let start =
            |engine| database::PrivateDatabase::start_with(engine, settings, &options).unwrap();
        let server = engine.map(start);
        Some(Self { backend, server, folder })
    }

    /// Creates an empty database, and returns the settings to reach it.
    pub(crate) fn create(&self, name: &str) -> SqlSettings {
        let Some(server) = &self.server else {
            return SqlSettings::new(
                SqlDatabaseKind::Sqlite,
                self.folder.path().join(name).display().to_string(),
            );
        };
        server.create(name).unwrap();
        SqlSettings {
            host: "127.0.0.1".to_owned(),
            port: server.port(),
            user: USER.to_owned(),
            password: PASSWORD.to_owned(),
            // A machine with many other tests may let a server wait.
            connect_timeout: Duration::from_secs(300),
            ..SqlSettings::new(self.backend, name)
        }
    }

    /// Returns the server; SQLite has none.
    pub(crate) fn server(&self) -> &database::PrivateDatabase {
        self.server.as_ref().unwrap()
    }

    /// Returns the server, to be ended and started.
    pub(crate) fn server_mut(&mut self) -> &mut database::PrivateDatabase {
        self.server.as_mut().unwrap()
    }

    /// Returns a folder for files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

pub(crate) fn open(settings: &SqlSettings) -> Database {
    Database::open(settings).unwrap_or_else(|error| panic!("{error}"))
}
