//! MariaDB and MySQL: many rows in one statement, as one round trip each.
//!
//! Texts travel as octets (`SET NAMES binary`): tables made by Kea have whatever character set their
//! server had, and a host name that it lacks must not spoil the leases around it. Times travel in
//! UTC.

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Params, SslOpts};

use super::driver::{Column, Driver, Kind, Table, Value, Visit};
use super::error::SqlError;
use super::settings::Settings;

/// Rows in one statement: 18 columns of so many rows stay below the 65,535 values that one may have.
const ROWS_MAX: usize = 1000;

/// What the protocol calls them: dead lock, lock wait time-out, node of a cluster not ready.
const CONFLICTS: [u16; 2] = [1213, 1205];
const NOT_READY: u16 = 1047;

/// A connection.
pub(super) struct Mysql {
    connection: Conn,
    place: String,
}

impl Mysql {
    /// Connects.
    pub(super) fn connect(settings: &Settings) -> Result<Self, SqlError> {
        let place = settings.to_string();
        let tls = settings
            .trust_anchor
            .clone()
            .map(|path| SslOpts::default().with_root_cert_path(Some(path)));
        let socket = settings.socket.as_ref().map(|path| path.display().to_string());
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(settings.host.clone()))
            .tcp_port(settings.port())
            .socket(socket)
            .prefer_socket(false)
            .user(Some(settings.user.clone()))
            .pass(Some(settings.password.clone()))
            .db_name(Some(settings.name.clone()))
            .tcp_connect_timeout(Some(settings.connect_timeout))
            .read_timeout(settings.read_timeout)
            .write_timeout(settings.write_timeout)
            .ssl_opts(tls)
            .init(vec![
                "SET time_zone = '+00:00'",
                "SET NAMES binary",
                // Rows that are not there are not locked: two servers would lock each other out.
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            ]);
        let connection =
            Conn::new(options).map_err(|error| failed(format!("open {place}"), &error))?;
        Ok(Self { connection, place })
    }

    /// Inserts rows, and makes `changes` to those that are there. How many that changed.
    fn write(&mut self, table: &Table, values: Vec<Value>, changes: &str) -> Result<u64, SqlError> {
        let width = table.columns.len();
        let mut values = values.into_iter().map(value);
        let (mut left, mut count) = (values.len() / width, 0);
        while left > 0 {
            let rows = left.min(ROWS_MAX);
            let chunk = values.by_ref().take(rows * width).collect();
            self.connection
                .exec_drop(insert_statement(table, rows, changes), Params::Positional(chunk))
                .map_err(|error| self.failed("write leases to", &error))?;
            count += self.connection.affected_rows();
            left -= rows;
        }
        Ok(count)
    }

    /// Shows the rows to `visit` for which `condition` holds.
    fn select(
        &mut self,
        table: &Table,
        condition: &str,
        parameters: Params,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        let statement = select_statement(table, condition);
        let place = &self.place;
        let failed = |error: mysql::Error| failed(format!("read leases from {place}"), &error);
        let rows = self.connection.exec_iter(statement, parameters).map_err(failed)?;
        let mut values = Vec::new();
        for row in rows {
            values.clear();
            values.extend(row.map_err(failed)?.unwrap().into_iter().map(read));
            visit(&values)?;
        }
        Ok(())
    }

    fn failed(&self, tried: &str, error: &mysql::Error) -> SqlError {
        failed(format!("{tried} {}", self.place), error)
    }
}

impl Driver for Mysql {
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

    fn upsert(&mut self, table: &Table, values: Vec<Value>) -> Result<(), SqlError> {
        let changes = table
            .join_others(", ", |column| format!("{name} = VALUES({name})", name = column.name));
        self.write(table, values, &changes).map(drop)
    }

    fn insert(&mut self, table: &Table, values: Vec<Value>) -> Result<u64, SqlError> {
        // Counts no row: it is as it was.
        let no_change = format!("{key} = {name}.{key}", key = table.key().name, name = table.name);
        self.write(table, values, &no_change)
    }

    fn find(
        &mut self,
        table: &Table,
        column: &Column,
        values: Vec<Value>,
        is_locking: bool,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        let lock = if is_locking { " FOR UPDATE" } else { "" };
        let mut values = values.into_iter().map(value);
        while values.len() > 0 {
            let rows = values.len().min(ROWS_MAX);
            let chunk: Vec<_> = values.by_ref().take(rows).collect();
            let marks = vec!["?"; rows].join(", ");
            let condition = format!("WHERE {} IN ({marks}){lock}", column.name);
            self.select(table, &condition, Params::Positional(chunk), visit)?;
        }
        Ok(())
    }

    fn delete(&mut self, table: &Table, keys: Vec<Value>) -> Result<(), SqlError> {
        let mut keys = keys.into_iter().map(value);
        while keys.len() > 0 {
            let rows = keys.len().min(ROWS_MAX);
            let chunk = keys.by_ref().take(rows).collect();
            let marks = vec!["?"; rows].join(", ");
            let statement =
                format!("DELETE FROM {} WHERE {} IN ({marks})", table.name, table.key().name);
            self.connection
                .exec_drop(statement, Params::Positional(chunk))
                .map_err(|error| self.failed("delete leases from", &error))?;
        }
        Ok(())
    }

    fn page(
        &mut self,
        table: &Table,
        after: Option<&Value>,
        limit: u32,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        let key = table.key().name;
        let order = format!("ORDER BY {key} LIMIT {limit}");
        match after {
            Some(after) => {
                let parameters = Params::Positional(vec![value(after.clone())]);
                self.select(table, &format!("WHERE {key} > ? {order}"), parameters, visit)
            }
            None => self.select(table, &order, Params::Empty, visit),
        }
    }
}

/// Inserts `rows` rows; of those that are there `changes` are made.
fn insert_statement(table: &Table, rows: usize, changes: &str) -> String {
    let marks = format!("({})", table.join(", ", |column| mark(column).to_owned()));
    format!(
        "INSERT INTO {} ({}) VALUES {} ON DUPLICATE KEY UPDATE {changes}",
        table.name,
        table.names(),
        vec![marks.as_str(); rows].join(", "),
    )
}

const fn mark(column: &Column) -> &'static str {
    if matches!(column.kind, Kind::Time) { "FROM_UNIXTIME(?)" } else { "?" }
}

/// The columns of all rows for which `condition` holds.
fn select_statement(table: &Table, condition: &str) -> String {
    let columns = table.join(", ", |column| match column.kind {
        Kind::Time => format!("UNIX_TIMESTAMP({})", column.name),
        _ => column.name.to_owned(),
    });
    format!("SELECT {columns} FROM {} {condition}", table.name)
}

fn value(value: Value) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Integer(number) => mysql::Value::Int(number),
        Value::Octets(octets) => mysql::Value::Bytes(octets),
        Value::Text(text) => mysql::Value::Bytes(text.into_bytes()),
    }
}

fn read(value: mysql::Value) -> Value {
    match value {
        mysql::Value::Int(number) => Value::Integer(number),
        mysql::Value::UInt(number) => i64::try_from(number).map_or(Value::Null, Value::Integer),
        mysql::Value::Bytes(octets) => Value::Octets(octets),
        // No column of ours is any other.
        _ => Value::Null,
    }
}

/// A number, also from the text that a plain query brings.
fn number(value: mysql::Value) -> Option<i64> {
    match read(value) {
        Value::Integer(number) => Some(number),
        Value::Octets(octets) => std::str::from_utf8(&octets).ok()?.parse().ok(),
        Value::Null | Value::Text(_) => None,
    }
}

fn first_line(statement: &str) -> &str {
    statement.lines().next().unwrap_or_default()
}

fn failed(tried: String, error: &mysql::Error) -> SqlError {
    let code = match error {
        mysql::Error::MySqlError(error) => error.code,
        _ => 0,
    };
    SqlError::new(tried, error)
        .lost(code == NOT_READY || error.is_connectivity_error())
        .conflict(CONFLICTS.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table = Table {
        name: "t",
        columns: &[
            Column { name: "k", kind: Kind::Number },
            Column { name: "e", kind: Kind::Time },
        ],
    };

    #[test]
    fn one_statement_carries_many_rows() {
        assert_eq!(
            insert_statement(&TABLE, 2, "e = VALUES(e)"),
            "INSERT INTO t (k, e) VALUES (?, FROM_UNIXTIME(?)), (?, FROM_UNIXTIME(?)) \
             ON DUPLICATE KEY UPDATE e = VALUES(e)"
        );
        assert_eq!(
            select_statement(&TABLE, "WHERE k > ?"),
            "SELECT k, UNIX_TIMESTAMP(e) FROM t WHERE k > ?"
        );
    }
}
