//! Private server, or a folder for SQLite, with a database in it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use dhcp_store::RowDurability;
use dhcp_store::sql::{Database, Schema, SqlDatabaseKind, SqlSettings};
use testbed::database::{self, DatabaseEngine, PASSWORD, USER};
use testbed::proc::{process_stat, process_tree};

/// Number of writes whose median is the cost of a flush.
const FLUSHES: usize = 101;

/// Database that keeps the leases, with its server if it has one.
pub(crate) struct RoundsDatabase {
    server: Option<database::PrivateDatabase>,
    folder: PathBuf,
    /// Settings to connect to the database.
    pub(crate) settings: SqlSettings,
}

impl RoundsDatabase {
    /// Starts a server with an empty database; returns the reason if the server is not installed.
    pub(crate) fn new(backend: SqlDatabaseKind, is_durable: bool) -> Result<Self, String> {
        let engine = match backend {
            SqlDatabaseKind::Mysql => Some(DatabaseEngine::MariaDb),
            SqlDatabaseKind::Postgresql => Some(DatabaseEngine::PostgreSql),
            SqlDatabaseKind::Sqlite => None,
        };
        if let Some(reason) = engine.and_then(DatabaseEngine::missing) {
            return Err(reason);
        }
        let folder = std::env::temp_dir().join(format!("godwit-rounds-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let options = database::PrivateDatabaseSettings {
            is_durable,
            on_loopback: true,
            ..database::PrivateDatabaseSettings::default()
        };
        let server =
            engine.map(|engine| database::PrivateDatabase::start(engine, options)).transpose();
        let server = server.map_err(|error| error.to_string())?;
        let settings = match &server {
            None => SqlSettings {
                durability: if is_durable { RowDurability::Always } else { RowDurability::None },
                ..SqlSettings::new(backend, folder.join("leases").display().to_string())
            },
            Some(server) => {
                server.create("leases").map_err(|error| error.to_string())?;
                SqlSettings {
                    host: "127.0.0.1".to_owned(),
                    port: server.port(),
                    user: USER.to_owned(),
                    password: PASSWORD.to_owned(),
                    ..SqlSettings::new(backend, "leases")
                }
            }
        };
        let mut database = Database::open(&settings).map_err(|error| error.to_string())?;
        database.install(Schema::Current).map_err(|error| error.to_string())?;
        Ok(Self { server, folder, settings })
    }

    /// Returns the processor time that the server has used so far, in milliseconds.
    pub(crate) fn server_ms(&self) -> u64 {
        let pid = self.server.as_ref().and_then(database::PrivateDatabase::pid);
        let tree = pid.map(process_tree).unwrap_or_default();
        let of_all = tree.into_iter().filter_map(process_stat);
        of_all.map(|times| times.used_ticks() * 10).sum()
    }

    /// Returns the number of statements that MariaDB has executed so far; other servers do not
    /// count them.
    pub(crate) fn statements(&self) -> Option<u64> {
        let server = self.server.as_ref()?;
        if server.engine() != DatabaseEngine::MariaDb {
            return None;
        }
        let answer = server.query("leases", "SHOW GLOBAL STATUS LIKE 'Questions'").ok()?;
        answer.split_whitespace().next_back()?.parse().ok()
    }

    /// Returns the median cost of a flush of 4 KiB in this folder, in microseconds.
    pub(crate) fn flush_us(&self) -> f64 {
        let path = self.folder.join("flush");
        let mut file = fs::File::create(&path).expect("the folder can be written to");
        let mut times: Vec<f64> = (0..FLUSHES)
            .map(|_| {
                let begin = Instant::now();
                file.write_all(&[7; 4096]).expect("the file can be written to");
                file.sync_data().expect("the file can be flushed");
                begin.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let _ = fs::remove_file(&path);
        times[FLUSHES / 2]
    }
}

impl Drop for RoundsDatabase {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
