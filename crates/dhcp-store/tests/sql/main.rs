//! Leases in real databases: private MariaDB and PostgreSQL servers, and SQLite files.
//!
//! What is not installed is left out with a line `skipped: `, or fails with
//! `GODWIT_REQUIRE_TOOLS=1`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod bulk;
mod contract;
mod schema;

use std::path::{Path, PathBuf};

use dhcp_store::sql::{Backend, Database, Settings};
use testbed::database::{self, Engine, PASSWORD, USER};

/// A place for databases of one kind, gone with the value.
pub(crate) struct Place {
    backend: Backend,
    server: Option<database::Database>,
    folder: PathBuf,
}

impl Place {
    /// Starts what `backend` needs; `None` where that is not installed.
    pub(crate) fn new(backend: Backend, label: &str) -> Option<Self> {
        let engine = match backend {
            Backend::Mysql => Some(Engine::MariaDb),
            Backend::Postgresql => Some(Engine::PostgreSql),
            Backend::Sqlite => None,
        };
        if let Some(reason) = engine.and_then(Engine::missing) {
            skip(&reason);
            return None;
        }
        let settings = database::Settings {
            is_durable: false,
            on_loopback: true,
            ..database::Settings::default()
        };
        let server = engine.map(|engine| database::Database::start(engine, settings).unwrap());
        let name = format!("godwit-sql-{label}-{}-{}", backend.name(), std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Some(Self { backend, server, folder })
    }

    /// Makes an empty database, and says how to get in.
    pub(crate) fn create(&self, name: &str) -> Settings {
        let Some(server) = &self.server else {
            return Settings::new(Backend::Sqlite, self.folder.join(name).display().to_string());
        };
        server.create(name).unwrap();
        Settings {
            host: "127.0.0.1".to_owned(),
            port: server.port(),
            user: USER.to_owned(),
            password: PASSWORD.to_owned(),
            ..Settings::new(self.backend, name)
        }
    }

    /// The server, which SQLite has none of.
    pub(crate) fn server(&self) -> &database::Database {
        self.server.as_ref().unwrap()
    }

    /// A folder for files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Says why a test is left out, unless it must not be.
pub(crate) fn skip(reason: &str) {
    let required = std::env::var_os("GODWIT_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!required, "{reason}");
    println!("skipped: {reason}");
}

pub(crate) fn open(settings: &Settings) -> Database {
    Database::open(settings).unwrap_or_else(|error| panic!("{error}"))
}
