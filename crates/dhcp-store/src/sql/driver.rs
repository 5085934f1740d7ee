//! What the three drivers do alike, and tables as they see them.

use std::sync::Arc;

use super::error::SqlError;
use crate::database::Flush;
use crate::storage::Storage;

/// A value on its way to or from a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A number, a truth (0 or 1), or seconds since 1970.
    Integer(i64),
    /// Octets; MySQL's texts come as such.
    Octets(Vec<u8>),
    /// Text.
    Text(String),
}

/// What a column holds. The drivers turn it into types, casts and functions of their database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number of up to 63 bits.
    Number,
    /// A number that PostgreSQL keeps in 32 bits with a sign.
    Signed32,
    /// A number that PostgreSQL keeps in 16 bits with a sign.
    Signed16,
    /// Yes or no.
    Truth,
    /// A point in time, in whole seconds.
    Time,
    /// Octets.
    Octets,
    /// Text.
    Text,
    /// An IPv6 address, as octets or text: see [`Layout`](super::row::Layout).
    Address,
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Kea's name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

/// A table with its columns, the first of which is the key.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Kea's name.
    pub name: &'static str,
    /// The columns, in the order of their values.
    pub columns: &'static [Column],
}

impl Table {
    /// The key.
    pub(super) const fn key(&self) -> Column {
        self.columns[0]
    }

    /// The point in time that its rows have.
    pub(super) fn time(&self) -> Column {
        let time = self.columns.iter().find(|column| column.kind == Kind::Time);
        *time.expect("leases end")
    }

    /// The names of the columns, parted by commas.
    pub(super) fn names(&self) -> String {
        self.join(", ", |column| column.name.to_owned())
    }

    /// `text` of every column, parted by `by`.
    pub(super) fn join(&self, by: &str, text: impl Fn(&Column) -> String) -> String {
        self.columns.iter().map(text).collect::<Vec<_>>().join(by)
    }

    /// The same without the key.
    pub(super) fn join_others(&self, by: &str, text: impl Fn(&Column) -> String) -> String {
        self.columns[1..].iter().map(text).collect::<Vec<_>>().join(by)
    }
}

/// Takes rows one by one.
pub(super) type Visit<'v> = &'v mut dyn FnMut(&[Value]) -> Result<(), SqlError>;

/// Takes rows one by one, with the position of what they were found by.
pub(super) type VisitFound<'v> = &'v mut dyn FnMut(usize, &[Value]) -> Result<(), SqlError>;

/// The rows that have one of these values in this column.
#[derive(Debug)]
pub(super) struct Sought {
    pub(super) column: Column,
    pub(super) values: Vec<Value>,
    /// Nobody else changes them until the end of the transaction.
    pub(super) is_locked: bool,
}

/// Points in time, and the keys of the rows whose only one each becomes.
pub(super) type Renewals = Vec<(Value, Vec<Value>)>;

/// What a transaction ends with. Rows one after the other; no key twice.
#[derive(Debug, Default)]
pub(super) struct RowChanges {
    /// Rows with keys that are not there.
    pub(super) inserts: Vec<Value>,
    /// Rows with keys that are there.
    pub(super) updates: Vec<Value>,
    /// Rows of which nothing else changes.
    pub(super) renewals: Renewals,
    /// Keys.
    pub(super) deletions: Vec<Value>,
}

/// A connection. Every function blocks until the database has answered.
pub(super) trait Driver: Send {
    /// Carries out statements without values, one after the other.
    fn run(&mut self, statement: &str) -> Result<(), SqlError>;

    /// The numbers in the first row that `query` finds; none when it finds no row.
    fn numbers(&mut self, query: &str) -> Result<Vec<i64>, SqlError>;

    /// The rows that `query` finds, of two texts each; none where nothing is asked this way.
    fn pairs(&mut self, _query: &str) -> Result<Vec<(String, String)>, SqlError> {
        Ok(Vec::new())
    }

    /// Inserts rows or replaces the columns of those that are there. `values` holds all rows one
    /// after the other, no key twice.
    fn upsert(&mut self, table: &Table, values: Vec<Value>) -> Result<(), SqlError>;

    /// Inserts rows whose keys are not there; the others stay as they are. How many were inserted.
    /// `values` as above.
    fn insert(&mut self, table: &Table, values: Vec<Value>) -> Result<u64, SqlError>;

    /// Shows the rows to `visit` that are sought, all in one question where the database can; first
    /// it `begins` a transaction, if that is wanted.
    fn find(
        &mut self,
        begins: bool,
        table: &Table,
        sought: Vec<Sought>,
        visit: VisitFound<'_>,
    ) -> Result<(), SqlError>;

    /// Makes `changes` and commits them, all in one question where the database can. A row that is
    /// to be inserted and is there already is a conflict; then nothing is committed.
    fn commit(&mut self, table: &Table, changes: RowChanges) -> Result<(), SqlError>;

    /// Makes ready for [`Driver::commit`] to `table`, once for a connection: learns whether the leases
    /// that it inserts are counted by it or by the table's triggers; gives a log its length.
    fn prepare_commits(&mut self, _table: &Table) -> Result<(), SqlError> {
        Ok(())
    }

    /// From now on commits may be unsafe when they return, since what is given back makes them safe, over
    /// a file in `storage`; `None` when they go on as before.
    fn flush_beside(&mut self, _storage: &dyn Storage) -> Result<Option<Arc<dyn Flush>>, SqlError> {
        Ok(None)
    }

    /// From now on a transaction may be undone between two statements of one question without a word:
    /// nothing that must not happen then shares a question.
    fn part_writes(&mut self) {}

    /// Deletes the rows with these keys, as far as they are there.
    fn delete(&mut self, table: &Table, keys: Vec<Value>) -> Result<(), SqlError>;

    /// Shows up to `limit` rows to `visit`, in the order of their keys, after the key `after`.
    fn page(
        &mut self,
        table: &Table,
        after: Option<&Value>,
        limit: u32,
        visit: Visit<'_>,
    ) -> Result<(), SqlError>;
}
