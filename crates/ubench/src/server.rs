//! Database servers for a measurement: private ones that the measurement starts, and those that the
//! user names. On both, the measurement creates two databases and drops them again; it changes
//! nothing else except the safety of the server's transactions, which it restores.

use std::time::{Duration, Instant};

use base::{ToolError, ToolResult};
use dhcp_store::sql::{self, Schema};
use mysql::Conn;
use mysql::prelude::Queryable;
use testbed::database as private;

use crate::plain::{Pgsql, mysql_options};
use crate::subject::{BenchmarkSubject, ChangeSafety, SubjectBackend, Tables};

/// Time that a database server may take to count the last statements of a closed connection.
const COUNT_LIMIT: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Database server that the user names.
#[derive(Clone, Debug)]
pub struct UserServer {
    /// Address and credentials of the server; `name` is the prefix of the names of the databases.
    pub settings: sql::SqlSettings,
}

/// Database server with two empty databases for the measurement.
#[derive(Debug)]
pub(crate) struct DatabaseServer {
    backend: SubjectBackend,
    settings: sql::SqlSettings,
    /// Private server that the measurement started, which ends when it is dropped.
    private: Option<private::PrivateDatabase>,
    /// Flush setting of MySQL before the measurement, to be restored.
    initial_flush_setting: Option<String>,
}

impl DatabaseServer {
    /// Starts a private database server of the kind `backend`.
    pub(crate) fn start(backend: SubjectBackend) -> ToolResult<Self> {
        let engine = engine(backend);
        let server =
            private::PrivateDatabase::start(engine, private::PrivateDatabaseSettings::default())
                .map_err(ToolError::from_message)?;
        let (host, socket) = match backend {
            SubjectBackend::Mysql => ("localhost".to_owned(), Some(server.socket())),
            _ => (server.socket().display().to_string(), None),
        };
        let settings = sql::SqlSettings {
            host,
            port: (backend == SubjectBackend::Pgsql).then(|| server.socket_port()),
            socket,
            user: private::USER.to_owned(),
            password: private::PASSWORD.to_owned(),
            ..sql::SqlSettings::new(kind(backend), "godwit_ubench")
        };
        let server = Self { backend, settings, private: Some(server), initial_flush_setting: None };
        server.make()?;
        Ok(server)
    }

    /// Returns the reason why no private server of the kind `backend` can be started; `None` if one
    /// can.
    pub(crate) fn missing(backend: SubjectBackend) -> Option<String> {
        engine(backend).missing()
    }

    /// Connects to the database server `user_server`, which runs already, and creates the
    /// databases.
    pub(crate) fn use_existing(
        backend: SubjectBackend,
        user_server: &UserServer,
    ) -> ToolResult<Self> {
        let settings = user_server.settings.clone();
        let mut server = Self { backend, settings, private: None, initial_flush_setting: None };
        if backend == SubjectBackend::Mysql {
            server.initial_flush_setting =
                server.value("SELECT @@innodb_flush_log_at_trx_commit")?;
        }
        server.make()?;
        Ok(server)
    }

    /// Returns the version that the database server reports.
    pub(crate) fn version(&self) -> ToolResult<String> {
        let query = match self.backend {
            SubjectBackend::Mysql => "SELECT VERSION()",
            _ => "SHOW server_version",
        };
        Ok(self.value(query)?.unwrap_or_default())
    }

    fn name(&self, tables: Tables) -> String {
        match tables {
            Tables::Kea => format!("{}_kea", self.settings.name),
            Tables::Ubench2012 => format!("{}_2012", self.settings.name),
        }
    }

    fn make(&self) -> ToolResult<()> {
        for tables in [Tables::Kea, Tables::Ubench2012] {
            self.run("", &format!("CREATE DATABASE {}", self.name(tables)))?;
        }
        let settings = sql::SqlSettings { name: self.name(Tables::Kea), ..self.settings.clone() };
        let mut database = sql::Database::open(&settings).map_err(ToolError::from_message)?;
        database.install(Schema::Current).map_err(ToolError::from_message)
    }

    /// Returns the settings to reach Kea's tables, after setting the database server to the safety
    /// of changes that `subject` requires.
    pub(crate) fn settings(&self, subject: &BenchmarkSubject) -> ToolResult<sql::SqlSettings> {
        self.set(subject)?;
        Ok(sql::SqlSettings { name: self.name(Tables::Kea), ..self.settings.clone() })
    }

    /// Returns the settings to reach the table of 2012, after setting the database server to the
    /// safety of changes that `subject` requires.
    pub(crate) fn plain_settings(
        &self,
        subject: &BenchmarkSubject,
    ) -> ToolResult<sql::SqlSettings> {
        if self.backend == SubjectBackend::Mysql {
            self.set(subject)?;
        }
        Ok(sql::SqlSettings { name: self.name(Tables::Ubench2012), ..self.settings.clone() })
    }

    fn set(&self, subject: &BenchmarkSubject) -> ToolResult<()> {
        if self.backend == SubjectBackend::Mysql {
            let level = match subject.mode {
                ChangeSafety::Sync => 1,
                ChangeSafety::Async => 2,
                ChangeSafety::Other => 0,
            };
            return self.run("", &format!("SET GLOBAL innodb_flush_log_at_trx_commit = {level}"));
        }
        let name = self.name(Tables::Kea);
        let is_committed = if subject.mode == ChangeSafety::Async { "off" } else { "on" };
        let logged = if subject.mode == ChangeSafety::Other { "UNLOGGED" } else { "LOGGED" };
        self.run(&name, &format!("ALTER DATABASE {name} SET synchronous_commit = {is_committed}"))?;
        ["lease4", "lease4_stat", "lease4_pool_stat"]
            .iter()
            .try_for_each(|table| self.run(&name, &format!("ALTER TABLE {table} SET {logged}")))
    }

    /// Returns the number of flushes of the server's transaction log so far; `None` if the server
    /// does not report it.
    pub(crate) fn flushes(&self) -> Option<u64> {
        match self.backend {
            SubjectBackend::Mysql => {
                let status = |name: &str| {
                    let query = format!(
                        "SELECT variable_value FROM information_schema.global_status \
                         WHERE variable_name = '{name}'"
                    );
                    self.value(&query).ok().flatten()?.parse().ok()
                };
                status("INNODB_OS_LOG_FSYNCS").or_else(|| status("INNODB_DATA_FSYNCS"))
            }
            _ => {
                self.wait_until_alone();
                self.value("SELECT wal_sync FROM pg_stat_wal").ok().flatten()?.parse().ok()
            }
        }
    }

    /// Waits until other connections to the server have ended: PostgreSQL counts the work of a
    /// connection at its end.
    fn wait_until_alone(&self) {
        let query = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname LIKE '{}%'",
            self.settings.name
        );
        let until = Instant::now() + COUNT_LIMIT;
        while Instant::now() < until
            && self.value(&query).is_ok_and(|count| count.as_deref() != Some("0"))
        {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn maintenance(&self) -> sql::SqlSettings {
        let name = if self.backend == SubjectBackend::Mysql { "" } else { "postgres" };
        sql::SqlSettings { name: name.to_owned(), ..self.settings.clone() }
    }

    /// Executes `statement` on the database `name`; on no database if `name` is empty.
    fn run(&self, name: &str, statement: &str) -> ToolResult<()> {
        let settings = match name {
            "" => self.maintenance(),
            name => sql::SqlSettings { name: name.to_owned(), ..self.settings.clone() },
        };
        match self.backend {
            SubjectBackend::Mysql => Conn::new(mysql_options(&settings))
                .and_then(|mut connection| connection.query_drop(statement))
                .map_err(|error| ToolError::failed(statement, error)),
            _ => Pgsql::open(&settings)?.value(statement).map(drop),
        }
    }

    fn value(&self, query: &str) -> ToolResult<Option<String>> {
        let settings = self.maintenance();
        match self.backend {
            SubjectBackend::Mysql => Conn::new(mysql_options(&settings))
                .and_then(|mut connection| connection.query_first(query))
                .map_err(|error| ToolError::failed(query, error)),
            _ => Pgsql::open(&settings)?.value(query),
        }
    }
}

impl Drop for DatabaseServer {
    fn drop(&mut self) {
        if self.private.is_some() {
            return;
        }
        // A destructor cannot report errors; the names of the remaining databases show their
        // origin.
        for tables in [Tables::Kea, Tables::Ubench2012] {
            let _ = self.run("", &format!("DROP DATABASE {}", self.name(tables)));
        }
        if let Some(level) = &self.initial_flush_setting {
            let _ = self.run("", &format!("SET GLOBAL innodb_flush_log_at_trx_commit = {level}"));
        }
    }
}

const fn kind(backend: SubjectBackend) -> sql::SqlDatabaseKind {
    match backend {
        SubjectBackend::Mysql => sql::SqlDatabaseKind::Mysql,
        SubjectBackend::Pgsql => sql::SqlDatabaseKind::Postgresql,
        _ => sql::SqlDatabaseKind::Sqlite,
    }
}

const fn engine(backend: SubjectBackend) -> private::DatabaseEngine {
    match backend {
        SubjectBackend::Mysql => private::DatabaseEngine::MariaDb,
        _ => private::DatabaseEngine::PostgreSql,
    }
}
