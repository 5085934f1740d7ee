//! Common interface of the three SQL drivers, and the tables as drivers see them.

use std::sync::Arc;

use super::error::SqlError;
use crate::database::Flush;
use crate::storage::Storage;

/// Value on its way to or from a column of a database table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlValue {
    /// Value NULL of SQL.
    Null,
    /// Number, truth value (0 or 1), or seconds since 1970 in a column.
    Integer(i64),
    /// Bytes; MySQL's texts come in this form.
    Octets(Vec<u8>),
    /// Text value of a column.
    Text(String),
}

/// Kind of the values of a database column. The drivers map it to types, casts and functions of
/// their database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Number of up to 63 bits in the column.
    Number,
    /// Number that PostgreSQL keeps in 32 bits with a sign.
    Signed32,
    /// Number that PostgreSQL keeps in 16 bits with a sign.
    Signed16,
    /// Truth value of a column.
    Truth,
    /// Time of a column, in whole seconds.
    Time,
    /// Bytes of a column.
    Octets,
    /// Text of a column.
    Text,
    /// IPv6 address, as bytes or text: see [`RowLayout`](super::row::RowLayout).
    Address,
}

/// Column of one of Kea's database tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column in Kea's tables.
    pub name: &'static str,
    /// Kind of the column's values.
    pub kind: ColumnKind,
}

/// Database table with its columns, the first of which is the key.
#[derive(Clone, Copy, Debug)]
pub struct SqlTable {
    /// Name of the table in Kea's schema.
    pub name: &'static str,
    /// Columns of the table, in the order of a row's values.
    pub columns: &'static [Column],
}

impl SqlTable {
    /// Returns the key column of the table.
    pub(super) const fn key(&self) -> Column {
        self.columns[0]
    }

    /// Returns the column of the table with the time of its rows.
    pub(super) fn time(&self) -> Column {
        let time = self.columns.iter().find(|column| column.kind == ColumnKind::Time);
        *time.expect("leases end")
    }

    /// Returns the names of the table's columns, separated by commas.
    pub(super) fn names(&self) -> String {
        self.join(", ", |column| column.name.to_owned())
    }

    /// Returns `text` of every column of the table, separated by `by`.
    pub(super) fn join(&self, by: &str, text: impl Fn(&Column) -> String) -> String {
        self.columns.iter().map(text).collect::<Vec<_>>().join(by)
    }

    /// Returns `text` of every column of the table except the key, separated by `by`.
    pub(super) fn join_others(&self, by: &str, text: impl Fn(&Column) -> String) -> String {
        self.columns[1..].iter().map(text).collect::<Vec<_>>().join(by)
    }
}

/// Callback that takes the rows that a query finds, one by one.
pub(super) type Visit<'v> = &'v mut dyn FnMut(&[SqlValue]) -> Result<(), SqlError>;

/// Callback that takes the rows that searches find, one by one, with the position of the search
/// that found them.
pub(super) type VisitRow<'v> = &'v mut dyn FnMut(usize, &[SqlValue]) -> Result<(), SqlError>;

/// Search for the rows that have one of the given values in the given column.
#[derive(Debug)]
pub(super) struct RowSearch {
    pub(super) column: Column,
    pub(super) values: Vec<SqlValue>,
    /// True if no other connection may change the rows until the end of the transaction.
    pub(super) is_locked: bool,
}

/// Condition on a row: a comparison of one of its columns with a value.
#[derive(Clone, Debug)]
pub(super) struct RowCondition {
    pub(super) column: Column,
    pub(super) comparison: RowComparison,
    pub(super) value: SqlValue,
}

/// RowComparison of a row's column with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowComparison {
    /// The column has the value.
    Equal,
    /// The column has the text, which is in lower case, in letters of any case.
    EqualInLowerCase,
    /// The column's value is above this one.
    Above,
    /// The column's value is below this one.
    Below,
}

impl RowComparison {
    /// Returns the SQL operator of the comparison.
    pub(super) const fn operator(self) -> &'static str {
        match self {
            Self::Equal | Self::EqualInLowerCase => "=",
            Self::Above => ">",
            Self::Below => "<",
        }
    }
}

/// New end times of lease rows, each with the keys of the rows that get it.
pub(super) type Renewals = Vec<(SqlValue, Vec<SqlValue>)>;

/// Changes of rows with which a transaction ends. The rows are in sequence, and no key occurs
/// twice.
#[derive(Debug, Default)]
pub(super) struct RowChanges {
    /// Values of the rows to insert, whose keys do not exist.
    pub(super) inserts: Vec<SqlValue>,
    /// Values of the rows to replace, whose keys exist.
    pub(super) updates: Vec<SqlValue>,
    /// Times of the rows of which only the time changes.
    pub(super) renewals: Renewals,
    /// Keys of the rows to delete.
    pub(super) deletions: Vec<SqlValue>,
}

/// Connection of a driver to an SQL database. Every function blocks until the database has
/// answered.
pub(super) trait SqlConnection: Send {
    /// Executes statements without values on the database, in order.
    fn run(&mut self, statement: &str) -> Result<(), SqlError>;

    /// Returns the numbers in the first row that the SQL query `query` finds; none if it finds no
    /// row.
    fn numbers(&mut self, query: &str) -> Result<Vec<i64>, SqlError>;

    /// Returns the rows that the SQL query `_query` finds, of two texts each; none for a database
    /// that has no such queries.
    fn pairs(&mut self, _query: &str) -> Result<Vec<(String, String)>, SqlError> {
        Ok(Vec::new())
    }

    /// Inserts rows into `table`, or replaces the columns of existing ones. `values` holds all rows
    /// in sequence, and no key occurs twice.
    fn upsert(&mut self, table: &SqlTable, values: Vec<SqlValue>) -> Result<(), SqlError>;

    /// Inserts rows into `table` whose keys do not exist, leaves the others as they are, and
    /// returns the number of inserted rows. `values` holds all rows in sequence, and no key occurs
    /// twice.
    fn insert(&mut self, table: &SqlTable, values: Vec<SqlValue>) -> Result<u64, SqlError>;

    /// Passes the rows that the searches `sought` find to `visit`, with one query if the database
    /// can; begins a transaction first if `begins` is true.
    fn find(
        &mut self,
        begins: bool,
        table: &SqlTable,
        sought: Vec<RowSearch>,
        visit: VisitRow<'_>,
    ) -> Result<(), SqlError>;

    /// Writes the changes of the rows of `table` and commits the transaction, with one query if the
    /// database can. An inserted row that exists already is a conflict; then nothing is committed.
    fn commit(&mut self, table: &SqlTable, changes: RowChanges) -> Result<(), SqlError>;

    /// Prepares [`SqlConnection::commit`] to `table`, once for a connection: finds out if the
    /// connection or the table's triggers count inserted leases, and gives a log file its full
    /// length.
    fn prepare_commits(&mut self, _table: &SqlTable) -> Result<(), SqlError> {
        Ok(())
    }

    /// Permits that commits are not durable yet when they return: the returned flush makes them
    /// durable, through a file in `storage`. Returns `None` if commits stay durable on return.
    fn defer_flushes(
        &mut self,
        _storage: &dyn Storage,
    ) -> Result<Option<Arc<dyn Flush>>, SqlError> {
        Ok(None)
    }

    /// Declares that from now on a transaction may be undone silently between two statements of one
    /// query: the driver then combines no statements for which that would be wrong.
    fn part_writes(&mut self) {}

    /// Deletes the rows of `table` that have one of the keys `keys`.
    fn delete(&mut self, table: &SqlTable, keys: Vec<SqlValue>) -> Result<(), SqlError>;

    /// Passes the rows of `table` that fulfil all `conditions` to `visit`, in the order of their
    /// keys, at most `limit` of them.
    fn select_rows(
        &mut self,
        table: &SqlTable,
        conditions: &[RowCondition],
        limit: Option<u32>,
        visit: Visit<'_>,
    ) -> Result<(), SqlError>;
}
