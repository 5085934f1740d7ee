//! PostgreSQL: the values of a column travel as one array, and one statement takes them apart.
//!
//! The driver's runtime is a single thread, the caller's own, which it has only while a function
//! here runs.

use std::collections::HashMap;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

use super::driver::{Column, Driver, Kind, Table, Value, Visit};
use super::error::SqlError;
use super::settings::Settings;

/// Rows in one statement.
const ROWS_MAX: usize = 4000;

/// A connection.
pub(super) struct Postgresql {
    runtime: Runtime,
    client: Client,
    statements: HashMap<String, Statement>,
    place: String,
}

impl Postgresql {
    /// Connects.
    pub(super) fn connect(settings: &Settings) -> Result<Self, SqlError> {
        let place = settings.to_string();
        let tried = || format!("open {place}");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| SqlError::new(tried(), error))?;
        let mut config = Config::new();
        config
            .host(&settings.host)
            .port(settings.port())
            .user(&settings.user)
            .password(&settings.password)
            .dbname(&settings.name)
            .options("-c timezone=UTC")
            .connect_timeout(settings.connect_timeout.max(Duration::from_secs(1)));
        let client = runtime.block_on(async {
            let (client, connection) = config.connect(NoTls).await?;
            // Its end is seen by the next statement.
            tokio::spawn(async { drop(connection.await) });
            Ok(client)
        });
        let client = client.map_err(|error: tokio_postgres::Error| {
            failed(tried(), &error).lost(error.as_db_error().is_none())
        })?;
        Ok(Self { runtime, client, statements: HashMap::new(), place })
    }

    fn failed(&self, tried: &str, error: &tokio_postgres::Error) -> SqlError {
        failed(format!("{tried} {}", self.place), error).lost(self.client.is_closed())
    }

    /// Carries out a statement with one array for each of `columns`.
    fn write(
        &mut self,
        statement: &str,
        columns: &[Column],
        values: Vec<Value>,
        tried: &str,
    ) -> Result<u64, SqlError> {
        let arrays = arrays(columns, values);
        let statement = self.prepared(statement, tried)?;
        let parameters: Vec<&(dyn ToSql + Sync)> = arrays.iter().map(Array::parameter).collect();
        let result = self.runtime.block_on(self.client.execute(&statement, &parameters));
        result.map_err(|error| self.failed(tried, &error))
    }

    /// Inserts rows; of those that are there becomes what `conflict` says. How many were written.
    fn insert_or(
        &mut self,
        table: &Table,
        values: Vec<Value>,
        conflict: &str,
    ) -> Result<u64, SqlError> {
        let statement = insert_statement(table, conflict);
        let width = table.columns.len();
        let mut values = values.into_iter();
        let mut count = 0;
        while values.len() > 0 {
            let chunk = values.by_ref().take(ROWS_MAX * width).collect();
            count += self.write(&statement, table.columns, chunk, "write leases to")?;
        }
        Ok(count)
    }

    /// A statement, prepared when it is needed first. There are few, since rows travel as arrays.
    fn prepared(&mut self, text: &str, tried: &str) -> Result<Statement, SqlError> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.runtime.block_on(self.client.prepare(text));
        let statement = statement.map_err(|error| self.failed(tried, &error))?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Shows what `statement` finds.
    fn select(
        &mut self,
        statement: &str,
        (column, values): (&Column, Vec<Value>),
        table: &Table,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        let tried = "read leases from";
        let arrays = arrays(&[*column], values);
        let statement = self.prepared(statement, tried)?;
        let parameters: Vec<&(dyn ToSql + Sync)> = arrays.iter().map(Array::parameter).collect();
        let rows = self.runtime.block_on(self.client.query(&statement, &parameters));
        let rows = rows.map_err(|error| self.failed(tried, &error))?;
        self.show(&rows, table, visit)
    }

    fn show(&self, rows: &[Row], table: &Table, visit: Visit<'_>) -> Result<(), SqlError> {
        let mut values = Vec::new();
        for row in rows {
            values.clear();
            for (at, column) in table.columns.iter().enumerate() {
                let value = read(row, at, column);
                values.push(value.map_err(|error| self.failed("read leases from", &error))?);
            }
            visit(&values)?;
        }
        Ok(())
    }
}

impl Driver for Postgresql {
    fn run(&mut self, statement: &str) -> Result<(), SqlError> {
        let first = statement.lines().next().unwrap_or_default();
        let result = self.runtime.block_on(self.client.batch_execute(statement));
        result.map_err(|error| self.failed(&format!("carry out `{first}` at"), &error))
    }

    fn numbers(&mut self, query: &str) -> Result<Vec<i64>, SqlError> {
        let row = self.runtime.block_on(self.client.query_opt(query, &[]));
        let row = row.map_err(|error| self.failed("ask", &error))?;
        let Some(row) = row else { return Ok(Vec::new()) };
        (0..row.len())
            .map(|at| row.try_get::<_, i64>(at).map_err(|error| self.failed("understand", &error)))
            .collect()
    }

    fn upsert(&mut self, table: &Table, values: Vec<Value>) -> Result<(), SqlError> {
        let changes = table
            .join_others(", ", |column| format!("{name} = excluded.{name}", name = column.name));
        let conflict = format!("({}) DO UPDATE SET {changes}", table.key().name);
        self.insert_or(table, values, &conflict).map(drop)
    }

    fn insert(&mut self, table: &Table, values: Vec<Value>) -> Result<u64, SqlError> {
        self.insert_or(table, values, "DO NOTHING")
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
        let statement = format!(
            "SELECT {} FROM {} WHERE {}{lock}",
            selected(table),
            table.name,
            is_any(column, address_type(table))
        );
        self.select(&statement, (column, values), table, visit)
    }

    fn delete(&mut self, table: &Table, keys: Vec<Value>) -> Result<(), SqlError> {
        let key = table.key();
        let condition = is_any(&key, address_type(table));
        let statement = format!("DELETE FROM {} WHERE {condition}", table.name);
        self.write(&statement, &[key], keys, "delete leases from").map(drop)
    }

    fn page(
        &mut self,
        table: &Table,
        after: Option<&Value>,
        limit: u32,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        let statement = page_statement(table, after.is_some(), limit);
        let Some(after) = after else {
            let rows = self.runtime.block_on(self.client.query(&statement, &[]));
            let rows = rows.map_err(|error| self.failed("read leases from", &error))?;
            return self.show(&rows, table, visit);
        };
        self.select(&statement, (&table.key(), vec![after.clone()]), table, visit)
    }
}

/// The values of one column.
enum Array {
    Number(Vec<Option<i64>>),
    Octets(Vec<Option<Vec<u8>>>),
    Text(Vec<Option<String>>),
}

impl Array {
    fn new(column: &Column) -> Self {
        match column.kind {
            Kind::Octets => Self::Octets(Vec::new()),
            Kind::Text | Kind::Address => Self::Text(Vec::new()),
            _ => Self::Number(Vec::new()),
        }
    }

    fn push(&mut self, value: Value) {
        match (self, value) {
            (Self::Number(all), Value::Integer(number)) => all.push(Some(number)),
            (Self::Octets(all), Value::Octets(octets)) => all.push(Some(octets)),
            (Self::Text(all), Value::Text(text)) => all.push(Some(text)),
            (Self::Number(all), _) => all.push(None),
            (Self::Octets(all), _) => all.push(None),
            (Self::Text(all), _) => all.push(None),
        }
    }

    fn parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Number(all) => all,
            Self::Octets(all) => all,
            Self::Text(all) => all,
        }
    }
}

/// Rows one after the other as one array for each of their columns.
fn arrays(columns: &[Column], values: Vec<Value>) -> Vec<Array> {
    let mut arrays: Vec<Array> = columns.iter().map(Array::new).collect();
    for (at, value) in values.into_iter().enumerate() {
        arrays[at % columns.len()].push(value);
    }
    arrays
}

/// The type of the elements that a column's array has.
const fn array_type(column: &Column) -> &'static str {
    match column.kind {
        Kind::Octets => "bytea",
        Kind::Text | Kind::Address => "text",
        _ => "bigint",
    }
}

/// An element of a column's array as a value of the column.
fn from_array(element: &str, column: &Column, address_type: &str) -> String {
    match column.kind {
        Kind::Number | Kind::Octets | Kind::Text => element.to_owned(),
        Kind::Signed32 => format!("{element}::int"),
        Kind::Signed16 => format!("{element}::smallint"),
        Kind::Truth => format!("{element} <> 0"),
        Kind::Time => format!("to_timestamp({element})"),
        Kind::Address => format!("{element}::{address_type}"),
    }
}

/// The type of addresses: the tables with a pool's number have a type made for them.
fn address_type(table: &Table) -> &'static str {
    let is_current = table.columns.iter().any(|column| column.name == "pool_id");
    if is_current { "inet" } else { "varchar" }
}

/// Inserts rows; of those that are there becomes what `conflict` says.
fn insert_statement(table: &Table, conflict: &str) -> String {
    let parameters: Vec<String> = (1..)
        .zip(table.columns)
        .map(|(number, column)| format!("${number}::{}[]", array_type(column)))
        .collect();
    let parameters = parameters.join(", ");
    let elements = table.join(", ", |column| {
        from_array(&format!("v.{}", column.name), column, address_type(table))
    });
    format!(
        "INSERT INTO {} ({names}) SELECT {elements} FROM unnest({parameters}) AS v ({names}) \
         ON CONFLICT {conflict}",
        table.name,
        names = table.names(),
    )
}

/// The columns of a table, as [`read`] reads them.
fn selected(table: &Table) -> String {
    table.join(", ", |column| match column.kind {
        Kind::Octets | Kind::Text => column.name.to_owned(),
        Kind::Time => format!("extract(epoch FROM {})::bigint", column.name),
        Kind::Truth => format!("{}::int::bigint", column.name),
        Kind::Address if address_type(table) == "inet" => format!("host({})", column.name),
        Kind::Address => column.name.to_owned(),
        _ => format!("{}::bigint", column.name),
    })
}

/// Whether a column has one of the values of the first array.
fn is_any(column: &Column, address_type: &str) -> String {
    let cast = match column.kind {
        Kind::Address if address_type == "inet" => "::inet[]",
        _ => "",
    };
    format!("{} = ANY($1::{}[]{cast})", column.name, array_type(column))
}

fn page_statement(table: &Table, is_after: bool, limit: u32) -> String {
    let key = table.key();
    let condition = if is_after {
        let first = from_array("v", &key, address_type(table));
        format!(
            " WHERE {} > (SELECT {first} FROM unnest($1::{}[]) AS v)",
            key.name,
            array_type(&key)
        )
    } else {
        String::new()
    };
    format!(
        "SELECT {columns} FROM {name}{condition} ORDER BY {name}.{key} LIMIT {limit}",
        columns = selected(table),
        name = table.name,
        key = key.name
    )
}

fn read(row: &Row, at: usize, column: &Column) -> Result<Value, tokio_postgres::Error> {
    Ok(match column.kind {
        Kind::Octets => row.try_get::<_, Option<Vec<u8>>>(at)?.map_or(Value::Null, Value::Octets),
        Kind::Text | Kind::Address => {
            row.try_get::<_, Option<String>>(at)?.map_or(Value::Null, Value::Text)
        }
        _ => row.try_get::<_, Option<i64>>(at)?.map_or(Value::Null, Value::Integer),
    })
}

fn failed(tried: String, error: &tokio_postgres::Error) -> SqlError {
    let conflicts = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
    let is_conflict = error.code().is_some_and(|code| conflicts.contains(code));
    // The driver's own words only say that the database said something.
    let words = match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => std::error::Error::source(error)
            .map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")),
    };
    SqlError::new(tried, words).conflict(is_conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table = Table {
        name: "t",
        columns: &[
            Column { name: "k", kind: Kind::Address },
            Column { name: "e", kind: Kind::Time },
            Column { name: "f", kind: Kind::Truth },
        ],
    };

    #[test]
    fn a_column_travels_as_an_array() {
        assert_eq!(
            insert_statement(&TABLE, "(k) DO UPDATE SET e = excluded.e, f = excluded.f"),
            "INSERT INTO t (k, e, f) SELECT v.k::varchar, to_timestamp(v.e), v.f <> 0 \
             FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS v (k, e, f) \
             ON CONFLICT (k) DO UPDATE SET e = excluded.e, f = excluded.f"
        );
        assert_eq!(
            page_statement(&TABLE, true, 9),
            "SELECT k, extract(epoch FROM e)::bigint, f::int::bigint FROM t \
             WHERE k > (SELECT v::varchar FROM unnest($1::text[]) AS v) ORDER BY t.k LIMIT 9"
        );
    }
}
