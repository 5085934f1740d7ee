//! Driver for MariaDB and MySQL: many rows in one statement, and many statements in one round trip.
//!
//! Statements are text, with bytes and texts in hexadecimal: prepared statements would have to be
//! prepared for every number of rows, and would be sent one by one.
//!
//! A Galera cluster is an exception. If another node overtakes a transaction there between two
//! statements of one query, the cluster undoes the transaction, executes the later statements by
//! themselves, and the query succeeds (MariaDB 10.11). So every statement that follows a lock is
//! sent alone.
//!
//! Texts travel as bytes (`SET NAMES binary`): tables made by Kea have the default character set of
//! their database server, and a host name that does not fit it must not make other leases fail.
//! Times travel in UTC.

use std::fmt::Write;

use mysql::Conn;
use mysql::prelude::Queryable;

use super::connect;
use super::connect::mysql::failed;
use super::counts;
use super::driver::{
    Column, ColumnKind, RowChanges, RowComparison, RowCondition, RowSearch, SqlConnection,
    SqlTable, SqlValue, Visit, VisitRow,
};
use super::error::SqlError;
use super::settings::SqlSettings;

/// Maximum number of rows in one statement to MariaDB or MySQL. MariaDB converts a list of a
/// thousand values after `IN` to a temporary table, and then may read all rows of the leases to
/// join them.
const ROWS_MAX: usize = 500;
/// Size in bytes of the SQL statements in one query from which on no further statement is added:
/// servers accept at least a megabyte.
const TEXT_MAX: usize = 256 << 10;

/// Connection to a MariaDB or MySQL server.
pub(super) struct Mysql {
    connection: Conn,
    description: String,
    /// True if the connection sends statements after a lock alone; see
    /// [`SqlConnection::part_writes`].
    parts_writes: bool,
    /// Name of the table whose new leases this connection counts, because the table's trigger skips
    /// them.
    counted: Option<&'static str>,
}

impl Mysql {
    /// Connects to the MariaDB or MySQL server of `settings`.
    pub(super) fn connect(settings: &SqlSettings) -> Result<Self, SqlError> {
        let connection = connect::mysql::connect(settings)?;
        Ok(Self {
            connection,
            description: settings.to_string(),
            parts_writes: false,
            counted: None,
        })
    }

    /// Executes `statements` in one query and returns the number of rows that they changed. After a
    /// failed statement the server does not execute the later ones.
    fn carry_out(&mut self, statements: &str, tried: &str) -> Result<u64, SqlError> {
        let description = &self.description;
        let failed = |error: mysql::Error| failed(format!("{tried} {description}"), &error);
        let mut results = self.connection.query_iter(statements).map_err(failed)?;
        let mut count = 0;
        while let Some(mut result) = results.iter() {
            count += result.affected_rows();
            result.try_for_each(|row| row.map(drop)).map_err(failed)?;
        }
        Ok(count)
    }

    /// Inserts rows into `table`, applies `changes` to existing ones, and returns the number of
    /// changed rows.
    fn write(
        &mut self,
        table: &SqlTable,
        values: &[SqlValue],
        changes: &str,
    ) -> Result<u64, SqlError> {
        let mut statements = StatementBatch::default();
        statements.insert(table, values, changes);
        let texts = statements.texts.iter();
        texts.map(|text| self.carry_out(text, "write leases to")).sum()
    }

    /// Passes the rows of `table` that `statements` find to `visit`, with the position of the
    /// statement.
    fn select(
        &mut self,
        table: &SqlTable,
        statements: &str,
        visit: VisitRow<'_>,
    ) -> Result<(), SqlError> {
        let description = &self.description;
        let failed =
            |error: mysql::Error| failed(format!("read leases from {description}"), &error);
        let mut results = self.connection.query_iter(statements).map_err(failed)?;
        let (mut values, mut at) = (Vec::new(), 0);
        while let Some(rows) = results.iter() {
            for row in rows {
                values.clear();
                let row = row.map_err(failed)?.unwrap();
                let columns = row.into_iter().zip(table.columns);
                values.extend(columns.map(|(value, column)| read(value, column)));
                visit(at, &values)?;
            }
            at += 1;
        }
        Ok(())
    }

    fn failed(&self, tried: &str, error: &mysql::Error) -> SqlError {
        failed(format!("{tried} {}", self.description), error)
    }
}

impl SqlConnection for Mysql {
    fn run(&mut self, statement: &str) -> Result<(), SqlError> {
        self.connection.query_drop(statement).map_err(|error| {
            self.failed(&format!("carry out `{}` at", first_line(statement)), &error)
        })
    }

    fn numbers(&mut self, query: &str) -> Result<Vec<i64>, SqlError> {
        let row: Option<mysql::Row> =
            self.connection.query_first(query).map_err(|e| self.failed("ask", &e))?;
        Ok(row.map(mysql::Row::unwrap).unwrap_or_default().into_iter().filter_map(number).collect())
    }

    fn pairs(&mut self, query: &str) -> Result<Vec<(String, String)>, SqlError> {
        self.connection.query(query).map_err(|error| self.failed("ask", &error))
    }

    fn upsert(&mut self, table: &SqlTable, values: Vec<SqlValue>) -> Result<(), SqlError> {
        self.write(table, &values, &replacing(table)).map(drop)
    }

    fn insert(&mut self, table: &SqlTable, values: Vec<SqlValue>) -> Result<u64, SqlError> {
        // This assignment changes no row, so the server does not count it.
        let no_change = format!(
            " ON DUPLICATE KEY UPDATE {key} = {name}.{key}",
            key = table.key().name,
            name = table.name
        );
        self.write(table, &values, &no_change)
    }

    fn find(
        &mut self,
        begins: bool,
        table: &SqlTable,
        sought: Vec<RowSearch>,
        visit: VisitRow<'_>,
    ) -> Result<(), SqlError> {
        let mut statements = StatementBatch::default();
        if begins {
            statements.add("BEGIN");
        }
        // Position of the search of each statement; the first statement is no search if it begins a
        // transaction.
        let mut origins = vec![0; usize::from(begins)];
        let select = selecting(table);
        for (at, sought) in sought.iter().enumerate() {
            let lock = if sought.is_locked { " FOR UPDATE" } else { "" };
            let first = format!("{select} WHERE {} IN ", sought.column.name);
            for some in sought.values.chunks(ROWS_MAX) {
                statements.list(&first, some, lock);
                statements.ends_text |= sought.is_locked && self.parts_writes;
                origins.push(at);
            }
        }
        let mut first = 0;
        for (text, count) in statements.texts.iter().zip(&statements.counts) {
            self.select(table, text, &mut |at, values| visit(origins[first + at], values))?;
            first += count;
        }
        Ok(())
    }

    fn commit(&mut self, table: &SqlTable, changes: RowChanges) -> Result<(), SqlError> {
        let mut statements =
            StatementBatch { are_parted: self.parts_writes, ..StatementBatch::default() };
        // If each statement is sent alone, the statements for the tables of counts cost more than
        // they save.
        let counts = self.counted == Some(table.name) && !self.parts_writes;
        if counts && !changes.inserts.is_empty() {
            statements.add(counts::DECLARE_COUNTING);
            statements.insert(table, &changes.inserts, "");
            statements.add(counts::END_COUNTING);
            let counting = counts::counting(table, &changes.inserts);
            counting.iter().for_each(|statement| statements.add(statement));
        } else {
            statements.insert(table, &changes.inserts, "");
        }
        statements.insert(table, &changes.updates, &replacing(table));
        for (time, keys) in &changes.renewals {
            statements.renew(table, time, keys);
        }
        statements.delete(table, &changes.deletions);
        statements.add("COMMIT");
        let mut texts = statements.texts.iter();
        let done = texts.try_for_each(|text| self.carry_out(text, "write leases to").map(drop));
        if done.is_err() && counts {
            // A connection on which this fails, too, is no longer a session.
            let _ = self.run(counts::END_COUNTING);
        }
        done
    }

    fn prepare_commits(&mut self, table: &SqlTable) -> Result<(), SqlError> {
        let counts_rows_itself = self.numbers(&counts::trigger_query(table))?.first() == Some(&1);
        self.counted = counts_rows_itself.then_some(table.name);
        Ok(())
    }

    fn part_writes(&mut self) {
        self.parts_writes = true;
    }

    fn delete(&mut self, table: &SqlTable, keys: Vec<SqlValue>) -> Result<(), SqlError> {
        let mut statements = StatementBatch::default();
        statements.delete(table, &keys);
        let mut texts = statements.texts.iter();
        texts.try_for_each(|text| self.carry_out(text, "delete leases from").map(drop))
    }

    fn select_rows(
        &mut self,
        table: &SqlTable,
        conditions: &[RowCondition],
        limit: Option<u32>,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        let statement = conditional(table, conditions, limit);
        self.select(table, &statement, &mut |_, values| visit(values))
    }
}

/// SQL statements, combined into as few texts as possible; each text takes one round trip.
#[derive(Debug, Default)]
struct StatementBatch {
    texts: Vec<String>,
    /// Number of statements in each text of the batch.
    counts: Vec<usize>,
    /// True if each text of the batch has one statement only.
    are_parted: bool,
    /// True if the next statement begins another text.
    ends_text: bool,
}

impl StatementBatch {
    /// Returns the text of the batch to which the next statement is appended.
    fn next(&mut self) -> &mut String {
        match self.texts.last() {
            Some(text) if text.len() < TEXT_MAX && !self.are_parted && !self.ends_text => {}
            _ => {
                self.ends_text = false;
                self.texts.push(String::new());
                self.counts.push(0);
            }
        }
        let (Some(text), Some(count)) = (self.texts.last_mut(), self.counts.last_mut()) else {
            unreachable!("a text was pushed");
        };
        if *count > 0 {
            text.push(';');
        }
        *count += 1;
        text
    }

    fn add(&mut self, statement: &str) {
        self.next().push_str(statement);
    }

    /// Adds a statement of `first`, the values in parentheses, and `last` to the batch.
    fn list(&mut self, first: &str, values: &[SqlValue], last: &str) {
        let text = self.next();
        text.push_str(first);
        let mut before = '(';
        for value in values {
            text.push(before);
            literal(text, value);
            before = ',';
        }
        text.push(')');
        text.push_str(last);
    }

    /// Adds statements that insert rows into `table`, with `end` after the last row of each.
    fn insert(&mut self, table: &SqlTable, values: &[SqlValue], end: &str) {
        let width = table.columns.len();
        let mut rows = values.chunks_exact(width).peekable();
        while rows.peek().is_some() {
            let text = self.next();
            let begin = text.len();
            let _ = write!(text, "INSERT INTO {} ({}) VALUES ", table.name, table.names());
            let mut before = "(";
            for row in rows.by_ref().take(ROWS_MAX) {
                for (value, column) in row.iter().zip(table.columns) {
                    text.push_str(before);
                    before = ",";
                    if column.kind == ColumnKind::Time {
                        text.push_str("FROM_UNIXTIME(");
                        literal(text, value);
                        text.push(')');
                    } else {
                        literal(text, value);
                    }
                }
                before = "),(";
                if text.len() - begin > TEXT_MAX {
                    break;
                }
            }
            text.push(')');
            text.push_str(end);
        }
    }

    fn renew(&mut self, table: &SqlTable, time: &SqlValue, keys: &[SqlValue]) {
        let (name, key) = (table.time().name, table.key().name);
        let mut first = format!("UPDATE {} SET {name}=FROM_UNIXTIME(", table.name);
        literal(&mut first, time);
        let _ = write!(first, ") WHERE {key} IN ");
        keys.chunks(ROWS_MAX).for_each(|some| self.list(&first, some, ""));
    }

    fn delete(&mut self, table: &SqlTable, keys: &[SqlValue]) {
        let first = format!("DELETE FROM {} WHERE {} IN ", table.name, table.key().name);
        keys.chunks(ROWS_MAX).for_each(|some| self.list(&first, some, ""));
    }
}

/// Returns the SQL clause that replaces an existing row of `table` by the inserted one.
fn replacing(table: &SqlTable) -> String {
    let changes =
        table.join_others(",", |column| format!("{name}=VALUES({name})", name = column.name));
    format!(" ON DUPLICATE KEY UPDATE {changes}")
}

/// Returns the SQL statement that selects the columns of `table`, without a condition.
fn selecting(table: &SqlTable) -> String {
    let columns = table.join(",", |column| match column.kind {
        ColumnKind::Time => format!("UNIX_TIMESTAMP({})", column.name),
        _ => column.name.to_owned(),
    });
    format!("SELECT {columns} FROM {}", table.name)
}

/// Returns the SQL statement that selects the rows of `table` that fulfil all `conditions`.
fn conditional(table: &SqlTable, conditions: &[RowCondition], limit: Option<u32>) -> String {
    let mut statement = selecting(table);
    let mut before = " WHERE ";
    for RowCondition { column, comparison, value } in conditions {
        let _ = write!(statement, "{before}{} {} ", column.name, comparison.operator());
        before = " AND ";
        let is_characters = matches!(value, SqlValue::Text(_));
        if *comparison == RowComparison::EqualInLowerCase && is_characters {
            // Characters are compared in the column's collation, bytes one by one. Kea's tables
            // have collations in which letters of both cases are equal.
            statement.push_str("_utf8mb4 ");
        }
        literal(&mut statement, value);
    }
    let _ = write!(statement, " ORDER BY {}", table.key().name);
    if let Some(limit) = limit {
        let _ = write!(statement, " LIMIT {limit}");
    }
    statement
}

/// Appends `value` as an SQL literal to `text`. The value's contents cannot end the literal early.
fn literal(text: &mut String, value: &SqlValue) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let octets = match value {
        SqlValue::Null => return text.push_str("NULL"),
        SqlValue::Integer(number) => {
            let _ = write!(text, "{number}");
            return;
        }
        SqlValue::Octets(octets) => octets.as_slice(),
        SqlValue::Text(text) => text.as_bytes(),
    };
    text.push_str("x'");
    for octet in octets {
        text.push(char::from(DIGITS[usize::from(octet >> 4)]));
        text.push(char::from(DIGITS[usize::from(octet & 15)]));
    }
    text.push('\'');
}

/// Converts a value of `column` from the MySQL driver, which comes as text, to an [`SqlValue`].
fn read(value: mysql::Value, column: &Column) -> SqlValue {
    match value {
        mysql::Value::Bytes(octets) => match column.kind {
            ColumnKind::Octets | ColumnKind::Text | ColumnKind::Address => SqlValue::Octets(octets),
            _ => parsed(&octets).map_or(SqlValue::Null, SqlValue::Integer),
        },
        other => number(other).map_or(SqlValue::Null, SqlValue::Integer),
    }
}

/// Converts a value from the MySQL driver to a number.
fn number(value: mysql::Value) -> Option<i64> {
    match value {
        mysql::Value::Int(number) => Some(number),
        mysql::Value::UInt(number) => i64::try_from(number).ok(),
        mysql::Value::Bytes(octets) => parsed(&octets),
        // None of our columns has another type.
        _ => None,
    }
}

fn parsed(octets: &[u8]) -> Option<i64> {
    std::str::from_utf8(octets).ok()?.parse().ok()
}

fn first_line(statement: &str) -> &str {
    statement.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: SqlTable = SqlTable {
        name: "t",
        columns: &[
            Column { name: "k", kind: ColumnKind::Number },
            Column { name: "e", kind: ColumnKind::Time },
            Column { name: "h", kind: ColumnKind::Text },
        ],
    };

    fn row(key: i64, text: &str) -> [SqlValue; 3] {
        [SqlValue::Integer(key), SqlValue::Integer(9), SqlValue::Text(text.to_owned())]
    }

    #[test]
    fn one_round_trip_carries_many_statements_and_rows() {
        let mut statements = StatementBatch::default();
        statements.insert(&TABLE, &[row(1, "a'b\\"), row(2, "")].concat(), "");
        statements.insert(&TABLE, &row(-3, "c"), &replacing(&TABLE));
        statements.renew(
            &TABLE,
            &SqlValue::Integer(7),
            &[SqlValue::Integer(5), SqlValue::Integer(6)],
        );
        statements.delete(&TABLE, &[SqlValue::Octets(vec![0, 255]), SqlValue::Null]);
        statements.add("COMMIT");
        assert_eq!(
            statements.texts,
            ["INSERT INTO t (k, e, h) VALUES (1,FROM_UNIXTIME(9),x'6127625c'),\
              (2,FROM_UNIXTIME(9),x'');\
              INSERT INTO t (k, e, h) VALUES (-3,FROM_UNIXTIME(9),x'63') \
              ON DUPLICATE KEY UPDATE e=VALUES(e),h=VALUES(h);\
              UPDATE t SET e=FROM_UNIXTIME(7) WHERE k IN (5,6);\
              DELETE FROM t WHERE k IN (x'00ff',NULL);COMMIT"]
        );
        assert_eq!(statements.counts, [5]);
        assert_eq!(selecting(&TABLE), "SELECT k,UNIX_TIMESTAMP(e),h FROM t");
    }

    #[test]
    fn rows_are_selected_by_conditions() {
        let condition = |column, comparison, value| RowCondition { column, comparison, value };
        assert_eq!(
            conditional(&TABLE, &[], None),
            "SELECT k,UNIX_TIMESTAMP(e),h FROM t ORDER BY k"
        );
        let above = condition(TABLE.columns[0], RowComparison::Above, SqlValue::Integer(7));
        let name = SqlValue::Text("a'b".to_owned());
        let named = condition(TABLE.columns[2], RowComparison::EqualInLowerCase, name.clone());
        let exact = condition(TABLE.columns[2], RowComparison::Equal, name);
        assert_eq!(
            conditional(&TABLE, &[above, named, exact], Some(3)),
            "SELECT k,UNIX_TIMESTAMP(e),h FROM t WHERE k > 7 AND h = _utf8mb4 x'612762' \
             AND h = x'612762' ORDER BY k LIMIT 3"
        );
    }

    #[test]
    fn statements_are_parted_where_one_may_be_undone_without_the_next() {
        let mut statements = StatementBatch { are_parted: true, ..StatementBatch::default() };
        statements.insert(&TABLE, &row(1, "a"), "");
        statements.delete(&TABLE, &[SqlValue::Integer(2)]);
        statements.add("COMMIT");
        assert_eq!(statements.counts, [1, 1, 1]);
        assert_eq!(statements.texts[1..], ["DELETE FROM t WHERE k IN (2)", "COMMIT"]);

        let mut statements = StatementBatch::default();
        statements.add("BEGIN");
        statements.list("SELECT k FROM t WHERE k IN ", &[SqlValue::Integer(1)], " FOR UPDATE");
        statements.ends_text = true;
        statements.list("SELECT k FROM t WHERE k IN ", &[SqlValue::Integer(2)], " FOR UPDATE");
        statements.add("COMMIT");
        assert_eq!(statements.counts, [2, 2]);
    }

    #[test]
    fn what_is_too_much_for_one_goes_in_several() {
        let mut statements = StatementBatch::default();
        let long = "x".repeat(50 << 10);
        let rows: Vec<SqlValue> = (0..6).flat_map(|key| row(key, &long)).collect();
        statements.insert(&TABLE, &rows, "");
        let many: Vec<SqlValue> = (0..2 * ROWS_MAX as i64).map(SqlValue::Integer).collect();
        statements.delete(&TABLE, &many);
        // Three rows of 100 KiB each fill a text.
        assert_eq!(statements.counts, [1, 1, 2]);
        let all = statements.texts.concat();
        let counts = ["INSERT", "FROM_UNIXTIME", "DELETE"].map(|word| all.matches(word).count());
        assert_eq!(counts, [2, 6, 2]);
    }
}
