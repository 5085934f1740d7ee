//! Rows of Kea's table `logs`, into which the legal log writes.

use std::fmt::Write as _;

use base::Hex;

use super::database::Database;
use super::error::SqlError;
use super::settings::SqlDatabaseKind;

/// Row of the table `logs`; the database adds the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// Address of the lease, a prefix with its length; empty if there is none.
    pub address: String,
    /// Text about the lease, without the character U+0000.
    pub log: String,
}

impl Database {
    /// Inserts `rows` into the table `logs`, all or none of them.
    ///
    /// # Errors
    ///
    /// Returns the error of the database.
    pub fn insert_log_rows(&mut self, rows: &[LogRow]) -> Result<(), SqlError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.run(&insertion(self.kind(), rows))
    }
}

/// Returns the statement that inserts `rows`. Texts are hexadecimal digits in it, so that no
/// character has a meaning.
fn insertion(kind: SqlDatabaseKind, rows: &[LogRow]) -> String {
    let literal = |text: &str| {
        let digits = Hex(text.as_bytes());
        match kind {
            SqlDatabaseKind::Postgresql => format!("convert_from('\\x{digits}'::bytea, 'UTF8')"),
            SqlDatabaseKind::Mysql | SqlDatabaseKind::Sqlite => format!("x'{digits}'"),
        }
    };
    let mut statement = "INSERT INTO logs(address, log) VALUES ".to_owned();
    for (row, number) in rows.iter().zip(0..) {
        let comma = if number > 0 { ", " } else { "" };
        let _ = write!(statement, "{comma}({}, {})", literal(&row.address), literal(&row.log));
    }
    statement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_digits_in_a_statement() {
        let row = |address: &str, log: &str| LogRow { address: address.into(), log: log.into() };
        let rows = [row("::1", "a'\\"), row("", "ü")];
        assert_eq!(
            insertion(SqlDatabaseKind::Mysql, &rows),
            "INSERT INTO logs(address, log) VALUES (x'3a3a31', x'61275c'), (x'', x'c3bc')"
        );
        assert_eq!(
            insertion(SqlDatabaseKind::Postgresql, &rows[1..]),
            "INSERT INTO logs(address, log) VALUES (convert_from('\\x'::bytea, 'UTF8'), \
             convert_from('\\xc3bc'::bytea, 'UTF8'))"
        );
    }
}
