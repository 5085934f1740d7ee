//! Table `logs` of a database as the destination of the legal log.

use dhcp_config::{GlobalSettings, SqlDatabase};
use dhcp_store::sql::{Database, LogRow, SqlError, SqlSettings};

use super::entry::LogEntry;
use crate::ServerError;
use crate::leases;

/// Largest length of a row's text, in bytes, as in the column of Kea's table.
const TEXT_MAX: usize = 65_535;
/// Maximum number of rows in one statement.
const ROWS_MAX: usize = 256;

/// Connection to the database of the legal log, opened again when it is lost.
pub(super) struct LogTable {
    settings: SqlSettings,
    connection: Option<Database>,
    /// Number of rows to insert one by one, since the database refused one of them.
    single_rows: usize,
}

/// Result of an insertion of rows.
#[derive(Debug, Default)]
pub(super) struct Insertion {
    /// Number of entries that are done with.
    pub(super) count: usize,
    /// Reason why the database refuses the only entry; it will never take it.
    pub(super) refusal: Option<String>,
}

impl LogTable {
    /// Connects to `database`.
    ///
    /// # Errors
    ///
    /// The password's file cannot be read, or the database cannot be reached although the settings
    /// do not let the server start without it (`retry-on-startup`).
    pub(super) fn open(
        config: &GlobalSettings,
        database: &SqlDatabase,
    ) -> Result<Self, ServerError> {
        let mut settings = leases::sql_settings(config, database)?;
        // The hosts of the lease database are another database's.
        settings.hosts = Vec::new();
        let mut table = Self { settings, connection: None, single_rows: 0 };
        match table.connect() {
            Ok(_) => {}
            Err(error) if database.retries_on_startup => super::report_failure(&error.to_string()),
            Err(error) => return Err(ServerError::LegalLog(error.to_string())),
        }
        Ok(table)
    }

    /// Inserts the first of `entries`.
    ///
    /// # Errors
    ///
    /// The reason why the database did not take them.
    pub(super) fn insert(&mut self, entries: &[LogEntry]) -> Result<Insertion, String> {
        let count_max = if self.single_rows > 0 { 1 } else { ROWS_MAX };
        let rows: Vec<LogRow> = entries.iter().take(count_max).map(row).collect();
        let count = rows.len();
        let inserted = self.connect().and_then(|connection| connection.insert_log_rows(&rows));
        let is_refused = inserted.as_ref().is_err_and(|error| !error.is_connection_lost());
        match inserted {
            Ok(()) => {
                self.single_rows = self.single_rows.saturating_sub(count);
                Ok(Insertion { count, refusal: None })
            }
            Err(error) if is_refused && count == 1 => {
                self.single_rows = self.single_rows.saturating_sub(1);
                Ok(Insertion { count, refusal: Some(error.to_string()) })
            }
            Err(_) if is_refused => {
                self.single_rows = count;
                Ok(Insertion::default())
            }
            Err(error) => {
                // Another attempt needs another connection.
                self.connection = None;
                Err(error.to_string())
            }
        }
    }

    fn connect(&mut self) -> Result<&mut Database, SqlError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => Database::open(&self.settings)?,
        };
        Ok(self.connection.insert(connection))
    }
}

/// Returns the row of `entry`. A text that the column cannot keep is cut.
fn row(entry: &LogEntry) -> LogRow {
    let mut log = String::from_utf8_lossy(&entry.text).replace('\0', "\u{fffd}");
    log.truncate(log.floor_char_boundary(TEXT_MAX));
    LogRow { address: entry.address.clone(), log }
}
