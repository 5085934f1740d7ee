//! What the three drivers do alike, and tables as they see them.

use super::error::SqlError;

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

/// A connection. Every function blocks until the database has answered.
pub(super) trait Driver: Send {
    /// Carries out statements without values, one after the other.
    fn run(&mut self, statement: &str) -> Result<(), SqlError>;

    /// The numbers in the first row that `query` finds; none when it finds no row.
    fn numbers(&mut self, query: &str) -> Result<Vec<i64>, SqlError>;

    /// Inserts rows or replaces the columns of those that are there. `values` holds all rows one
    /// after the other, no key twice.
    fn upsert(&mut self, table: &Table, values: Vec<Value>) -> Result<(), SqlError>;

    /// Inserts rows whose keys are not there; the others stay as they are. How many were inserted.
    /// `values` as above.
    fn insert(&mut self, table: &Table, values: Vec<Value>) -> Result<u64, SqlError>;

    /// Shows the rows to `visit` that have one of `values` in `column`. With `is_locking` nobody else
    /// changes them until the end of the transaction.
    fn find(
        &mut self,
        table: &Table,
        column: &Column,
        values: Vec<Value>,
        is_locking: bool,
        visit: Visit<'_>,
    ) -> Result<(), SqlError>;

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
