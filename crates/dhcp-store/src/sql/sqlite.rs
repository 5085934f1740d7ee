//! Driver for SQLite: a statement per row, prepared once, in the transaction of the caller.
//!
//! A commit appends to SQLite's write-ahead log without a flush; [`Flush`] flushes the log from any
//! thread, so that the next transaction need not wait for the flush.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, Value as SqliteValue, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql, ffi, params_from_iter};

use super::driver::{
    RowChanges, RowComparison, RowCondition, RowSearch, SqlConnection, SqlTable, SqlValue, Visit,
    VisitRow,
};
use super::error::SqlError;
use super::settings::SqlSettings;
use crate::database::{DatabaseError, DatabaseFault, Flush};
use crate::log::RowDurability;
use crate::storage::{LogFile, Storage};

/// Size of SQLite's page cache in KiB: the inner pages and the newest ones of some million leases.
const CACHE_KIB: i64 = 64 << 10;
/// Number of cached pages while SQLite's write-ahead log is lengthened: so few that the others go
/// to the log.
const LENGTHENING_CACHE_PAGES: i64 = 64;

/// Connection to an open SQLite database file.
pub(super) struct Sqlite {
    connection: Connection,
    description: String,
    log_pages: u32,
    flushes_commits: bool,
}

impl Sqlite {
    /// Opens the SQLite file of `settings`, and creates an empty file if it is missing.
    pub(super) fn open(settings: &SqlSettings) -> Result<Self, SqlError> {
        let description = settings.to_string();
        let flushing = match settings.durability {
            RowDurability::Always => "FULL",
            RowDurability::Interval(_) => "NORMAL",
            RowDurability::None => "OFF",
        };
        let open = || {
            let connection = Connection::open(&settings.name)?;
            connection.busy_timeout(settings.connect_timeout)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", flushing)?;
            connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
            // The server may lack permission to write to the system's folder of temporary files.
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            connection.pragma_update(None, "wal_autocheckpoint", settings.log_pages)?;
            // The log may contain commits of a process that died before it flushed them. A reader
            // takes them for safe now, so they are made safe first.
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
            Ok(connection)
        };
        let connection = open().map_err(|error| failed(format!("open {description}"), &error))?;
        Ok(Self {
            connection,
            description,
            log_pages: settings.log_pages,
            flushes_commits: settings.durability == RowDurability::Always,
        })
    }

    /// Writes SQLite's write-ahead log to its full length, with pages of a transaction that is
    /// rolled back, so that commits overwrite existing bytes: to flush a file that has grown, file
    /// systems also write its length and the positions of its blocks, which takes longer than the
    /// rest of the flush.
    fn lengthen_log(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        let page_octets: i64 =
            connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let octets = (i64::from(self.log_pages) + LENGTHENING_CACHE_PAGES) * page_octets;
        connection.pragma_update(None, "cache_size", LENGTHENING_CACHE_PAGES)?;
        let whole = connection.unchecked_transaction()?;
        whole.execute_batch(&format!(
            "CREATE TABLE log_length (octets);
             INSERT INTO log_length VALUES (zeroblob({octets}));"
        ))?;
        whole.rollback()?;
        // This commit changes nothing: it flushes the rows above now, not with the first lease.
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        connection.pragma_update(None, "user_version", version)
    }

    /// Executes the prepared statement `statement` once for every `width` values, all or none of
    /// them, and returns the number of changed rows.
    fn write(&self, statement: &str, width: usize, values: &[SqlValue]) -> rusqlite::Result<usize> {
        // Without a transaction SQLite would flush once per statement.
        let whole = if self.connection.is_autocommit() {
            Some(self.connection.unchecked_transaction()?)
        } else {
            None
        };
        let mut statement = self.connection.prepare_cached(statement)?;
        let mut count = 0;
        for row in values.chunks_exact(width) {
            count += statement.execute(params_from_iter(row))?;
        }
        whole.map_or(Ok(()), |whole| whole.commit())?;
        Ok(count)
    }

    /// Passes the rows of `table` that `statement` finds to `visit`.
    fn select(
        &self,
        statement: &str,
        parameters: impl IntoIterator<Item: ToSql>,
        table: &SqlTable,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        let failed = |error: rusqlite::Error| self.failed("read leases from", &error);
        let mut statement = self.connection.prepare_cached(statement).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(parameters)).map_err(failed)?;
        let mut values = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            values.clear();
            for at in 0..table.columns.len() {
                values.push(read(row.get_ref(at).map_err(failed)?));
            }
            visit(&values)?;
        }
        Ok(())
    }

    fn failed(&self, tried: &str, error: &rusqlite::Error) -> SqlError {
        failed(format!("{tried} {}", self.description), error)
    }
}

/// Flush of SQLite's write-ahead log that a connection writes.
#[derive(Debug)]
struct LogFlush {
    file: Arc<dyn LogFile>,
    path: PathBuf,
}

impl Flush for LogFlush {
    fn flush(&self) -> Result<(), DatabaseError> {
        self.file.sync_data().map_err(|error| DatabaseError {
            fault: DatabaseFault::ConnectionLost,
            operation: "flush the log of the lease database",
            cause: format!("{}: {error}", self.path.display()),
        })
    }
}

impl SqlConnection for Sqlite {
    fn run(&mut self, statement: &str) -> Result<(), SqlError> {
        let first = statement.lines().next().unwrap_or_default();
        self.connection
            .execute_batch(statement)
            .map_err(|error| self.failed(&format!("carry out `{first}` at"), &error))
    }

    fn numbers(&mut self, query: &str) -> Result<Vec<i64>, SqlError> {
        let ask = || {
            let mut statement = self.connection.prepare(query)?;
            let width = statement.column_count();
            let mut rows = statement.query([])?;
            match rows.next()? {
                Some(row) => (0..width).map(|at| row.get(at)).collect(),
                None => Ok(Vec::new()),
            }
        };
        ask().map_err(|error| self.failed("ask", &error))
    }

    fn upsert(&mut self, table: &SqlTable, values: Vec<SqlValue>) -> Result<(), SqlError> {
        let statement = upsert_statement(table);
        self.write(&statement, table.columns.len(), &values)
            .map(drop)
            .map_err(|error| self.failed("write leases to", &error))
    }

    fn insert(&mut self, table: &SqlTable, values: Vec<SqlValue>) -> Result<u64, SqlError> {
        let statement = format!("{} ON CONFLICT DO NOTHING", insert_statement(table));
        self.write(&statement, table.columns.len(), &values)
            .map(|count| count as u64)
            .map_err(|error| self.failed("write leases to", &error))
    }

    fn find(
        &mut self,
        begins: bool,
        table: &SqlTable,
        sought: Vec<RowSearch>,
        visit: VisitRow<'_>,
    ) -> Result<(), SqlError> {
        if begins {
            // This locks the whole file, and so every row.
            self.run("BEGIN IMMEDIATE")?;
        }
        for (at, RowSearch { column, values, .. }) in sought.into_iter().enumerate() {
            let statement =
                format!("SELECT {} FROM {} WHERE {} = ?", table.names(), table.name, column.name);
            values.iter().try_for_each(|value| {
                self.select(&statement, Some(value), table, &mut |values| visit(at, values))
            })?;
        }
        Ok(())
    }

    fn commit(&mut self, table: &SqlTable, changes: RowChanges) -> Result<(), SqlError> {
        let width = table.columns.len();
        let written = self.write(&insert_statement(table), width, &changes.inserts);
        written.map_err(|error| {
            let exists = is_key_taken(&error);
            let failed = self.failed("write leases to", &error);
            if exists { failed.conflict(true) } else { failed }
        })?;
        if !changes.updates.is_empty() {
            self.upsert(table, changes.updates)?;
        }
        let statement = format!(
            "UPDATE {} SET {} = ? WHERE {} = ?",
            table.name,
            table.time().name,
            table.key().name
        );
        for (time, keys) in changes.renewals {
            let rows = keys.into_iter().flat_map(|key| [time.clone(), key]);
            let rows: Vec<SqlValue> = rows.collect();
            self.write(&statement, 2, &rows)
                .map_err(|error| self.failed("write leases to", &error))?;
        }
        if !changes.deletions.is_empty() {
            self.delete(table, changes.deletions)?;
        }
        self.run("COMMIT")
    }

    fn prepare_commits(&mut self, _table: &SqlTable) -> Result<(), SqlError> {
        let empty = "PRAGMA wal_checkpoint(TRUNCATE)";
        if self.flushes_commits {
            // After a failed flush, a part of the log may be on the disk, whatever a reader sees
            // now: after a power cut SQLite would take that part for newer than the database.
            self.connection
                .query_row(empty, [], |_| Ok(()))
                .map_err(|error| self.failed("empty the log of", &error))?;
        }
        if self.flushes_commits && self.log_pages > 0 && self.lengthen_log().is_err() {
            // Then commits are slower, but they work; the disk may be full, so the log takes no
            // space from others.
            let _ = self.connection.query_row(empty, [], |_| Ok(()));
        }
        self.connection
            .pragma_update(None, "cache_size", -CACHE_KIB)
            .map_err(|error| self.failed("open", &error))
    }

    fn defer_flushes(&mut self, storage: &dyn Storage) -> Result<Option<Arc<dyn Flush>>, SqlError> {
        let path = self.connection.path().filter(|path| self.flushes_commits && !path.is_empty());
        let Some(path) = path else { return Ok(None) };
        let path = PathBuf::from(format!("{path}-wal"));
        // If the log cannot be opened, each commit flushes.
        let Ok(Some(file)) = storage.open(&path) else { return Ok(None) };
        // This makes it safe that the log was emptied.
        file.sync_data()
            .map_err(|error| SqlError::new(format!("flush {}", path.display()), error))?;
        // With this setting SQLite still flushes the head of a log that begins again, and a log
        // before it is copied into the database (`sqlite3WalFrames`, `walCheckpoint`).
        self.connection
            .pragma_update(None, "synchronous", "NORMAL")
            .map_err(|error| self.failed("open", &error))?;
        Ok(Some(Arc::new(LogFlush { file, path })))
    }

    fn delete(&mut self, table: &SqlTable, keys: Vec<SqlValue>) -> Result<(), SqlError> {
        let statement = format!("DELETE FROM {} WHERE {} = ?", table.name, table.key().name);
        self.write(&statement, 1, &keys)
            .map(drop)
            .map_err(|error| self.failed("delete leases from", &error))
    }

    fn select_rows(
        &mut self,
        table: &SqlTable,
        conditions: &[RowCondition],
        limit: Option<u32>,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        let condition = |condition: &RowCondition| {
            let operator = condition.comparison.operator();
            match condition.comparison {
                RowComparison::EqualInLowerCase => {
                    format!("lower({}) {operator} ?", condition.column.name)
                }
                _ => format!("{} {operator} ?", condition.column.name),
            }
        };
        let texts: Vec<String> = conditions.iter().map(condition).collect();
        let clause = if texts.is_empty() { "" } else { " WHERE " };
        let limit = limit.map_or_else(String::new, |limit| format!(" LIMIT {limit}"));
        let statement = format!(
            "SELECT {} FROM {}{clause}{} ORDER BY {}{limit}",
            table.names(),
            table.name,
            texts.join(" AND "),
            table.key().name
        );
        let values = conditions.iter().map(|condition| &condition.value);
        self.select(&statement, values, table, visit)
    }
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(SqliteValue::Null),
            Self::Integer(number) => ToSqlOutput::Owned(SqliteValue::Integer(*number)),
            Self::Octets(octets) => ToSqlOutput::Borrowed(ValueRef::Blob(octets)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn read(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Integer(number) => SqlValue::Integer(number),
        ValueRef::Text(octets) | ValueRef::Blob(octets) => SqlValue::Octets(octets.to_owned()),
        ValueRef::Null | ValueRef::Real(_) => SqlValue::Null,
    }
}

fn insert_statement(table: &SqlTable) -> String {
    let marks = table.join(", ", |_| "?".to_owned());
    format!("INSERT INTO {} ({}) VALUES ({marks})", table.name, table.names())
}

fn upsert_statement(table: &SqlTable) -> String {
    let changes =
        table.join_others(", ", |column| format!("{name} = excluded.{name}", name = column.name));
    let insert = insert_statement(table);
    format!("{insert} ON CONFLICT ({}) DO UPDATE SET {changes}", table.key().name)
}

fn failed(tried: String, error: &rusqlite::Error) -> SqlError {
    let code = error.sqlite_error_code();
    let fault = match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => DatabaseFault::Conflict,
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig) => {
            DatabaseFault::Data
        }
        _ => DatabaseFault::Permanent,
    };
    SqlError::new(tried, error).with(fault)
}

/// Returns true if the SQLite error says that a row with the key exists already.
fn is_key_taken(error: &rusqlite::Error) -> bool {
    let codes = [ffi::SQLITE_CONSTRAINT_PRIMARYKEY, ffi::SQLITE_CONSTRAINT_UNIQUE];
    let rowid = ffi::SQLITE_CONSTRAINT_ROWID;
    error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == rowid || codes.contains(&error.extended_code))
}
