//! Driver of SQLite with the table of 2012.

use std::time::Duration;

use base::{ToolError, ToolResult};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::StatementDriver;
use super::statement::{StatementArguments, StatementTemplate, StatementValue, create_table};
use crate::open::SubjectEnvironment;
use crate::subject::{BenchmarkSubject, ChangeSafety, SqliteJournalMode};

/// Open SQLite file with the table of 2012.
pub(super) struct SqliteDriver {
    connection: Connection,
    delay: Duration,
    is_in_transaction: bool,
}

fn failed(tried: &str) -> impl Fn(rusqlite::Error) -> ToolError + use<'_> {
    move |error| ToolError::failed(tried, error)
}

impl SqliteDriver {
    /// Creates an SQLite file with the table of 2012.
    pub(super) fn open(
        subject: &BenchmarkSubject,
        environment: &SubjectEnvironment<'_>,
    ) -> ToolResult<Self> {
        let path = match environment.file {
            Some(path) => path.to_owned(),
            None => environment.folder.join("ubench.sqlite"),
        };
        let open = || {
            let connection = Connection::open(&path)?;
            let journal = subject.journal.unwrap_or(SqliteJournalMode::Wal).name();
            connection.pragma_update(None, "journal_mode", journal)?;
            let flushing = match subject.mode {
                ChangeSafety::Sync => "FULL",
                ChangeSafety::Async => "OFF",
                ChangeSafety::Other => "NORMAL",
            };
            connection.pragma_update(None, "synchronous", flushing)?;
            connection.execute_batch(&create_table(subject.backend, "", true))?;
            Ok(connection)
        };
        let tried = format!("create a table in {}", path.display());
        let connection = open().map_err(failed(&tried))?;
        let delay =
            if subject.mode == ChangeSafety::Sync { environment.delay } else { Duration::ZERO };
        Ok(Self { connection, delay, is_in_transaction: false })
    }

    /// Pauses for the delay of a flush after a change outside a transaction.
    fn flushed(&self) {
        if !self.is_in_transaction && !self.delay.is_zero() {
            std::thread::sleep(self.delay);
        }
    }
}

impl ToSql for StatementValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Integer(number) => ToSqlOutput::from(*number),
            Self::Octets(octets) => ToSqlOutput::Borrowed(ValueRef::Blob(octets)),
        })
    }
}

impl StatementDriver for SqliteDriver {
    fn run(&mut self, statement: &str) -> ToolResult<()> {
        self.connection.execute_batch(statement).map_err(failed(statement))?;
        self.is_in_transaction = statement == "BEGIN";
        self.flushed();
        Ok(())
    }

    fn change(
        &mut self,
        statement: &StatementTemplate,
        arguments: StatementArguments<'_>,
    ) -> ToolResult<u64> {
        let changed = match &statement.compiled {
            Some(text) => self
                .connection
                .prepare_cached(text)
                .and_then(|mut compiled| compiled.execute(params_from_iter(arguments.0))),
            None => self.connection.execute(&statement.written_out(arguments), []),
        };
        let changed = changed.map_err(failed("change a row"))?;
        self.flushed();
        Ok(changed as u64)
    }

    fn find(
        &mut self,
        statement: &StatementTemplate,
        arguments: StatementArguments<'_>,
    ) -> ToolResult<u64> {
        let count = |rows: &mut rusqlite::Rows<'_>| {
            let mut count = 0;
            while let Some(row) = rows.next()? {
                // Reading a lease needs all columns.
                for column in 0..11 {
                    std::hint::black_box(row.get_ref(column)?);
                }
                count += 1;
            }
            Ok(count)
        };
        let result = match &statement.compiled {
            Some(text) => self.connection.prepare_cached(text).and_then(|mut compiled| {
                count(&mut compiled.query(params_from_iter(arguments.0))?)
            }),
            None => self
                .connection
                .prepare(&statement.written_out(arguments))
                .and_then(|mut plain| count(&mut plain.query([])?)),
        };
        result.map_err(failed("look for a row"))
    }
}
