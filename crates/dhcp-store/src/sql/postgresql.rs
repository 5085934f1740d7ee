//! Driver for PostgreSQL: the values of a column travel as one array that one statement unpacks
//! (`unnest`), so that a few prepared statements serve any number of rows. Queries of one operation
//! are sent together.
//!
//! The driver's runtime is the calling thread alone, and runs only while a function here runs.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::connect;
use super::connect::postgresql::failed;
use super::driver::{
    Column, ColumnKind, RowChanges, RowComparison, RowCondition, RowSearch, SqlConnection,
    SqlTable, SqlValue, Visit, VisitRow,
};
use super::error::SqlError;
use super::settings::SqlSettings;

/// Maximum number of rows in one statement to PostgreSQL.
const ROWS_MAX: usize = 4000;

/// Connection to a PostgreSQL server, with its prepared statements.
pub(super) struct Postgresql {
    runtime: Runtime,
    client: Client,
    statements: HashMap<String, Statement>,
    description: String,
}

impl Postgresql {
    /// Connects to the PostgreSQL server of `settings`.
    pub(super) fn connect(settings: &SqlSettings) -> Result<Self, SqlError> {
        let description = settings.to_string();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| SqlError::new(format!("open {description}"), error))?;
        let client = connect::postgresql::connect(&runtime, settings)?;
        Ok(Self { runtime, client, statements: HashMap::new(), description })
    }

    fn failed(&self, tried: &str, error: &tokio_postgres::Error) -> SqlError {
        failed(format!("{tried} {}", self.description), error).lost(self.client.is_closed())
    }

    /// Executes a statement with one array of values for each of `columns`.
    fn write(
        &mut self,
        statement: &str,
        columns: &[Column],
        values: Vec<SqlValue>,
        tried: &str,
    ) -> Result<u64, SqlError> {
        let arrays = arrays(columns, values);
        let statement = self.prepared(statement, tried)?;
        let parameters: Vec<&(dyn ToSql + Sync)> = arrays.iter().map(Array::parameter).collect();
        let result = self.runtime.block_on(self.client.execute(&statement, &parameters));
        result.map_err(|error| self.failed(tried, &error))
    }

    /// Inserts rows into `table`, applies `conflict` to existing ones, and returns the number of
    /// written rows.
    fn insert_or(
        &mut self,
        table: &SqlTable,
        values: Vec<SqlValue>,
        conflict: &str,
    ) -> Result<u64, SqlError> {
        let statement = format!("{} {conflict}", insert_statement(table));
        let width = table.columns.len();
        let mut values = values.into_iter();
        let mut count = 0;
        while values.len() > 0 {
            let chunk = values.by_ref().take(ROWS_MAX * width).collect();
            count += self.write(&statement, table.columns, chunk, "write leases to")?;
        }
        Ok(count)
    }

    /// Returns the prepared statement `text`, which it prepares on first use. Prepared statements
    /// are few, since rows travel as arrays.
    fn prepared(&mut self, text: &str, tried: &str) -> Result<Statement, SqlError> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.runtime.block_on(self.client.prepare(text));
        let statement = statement.map_err(|error| self.failed(tried, &error))?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    fn show(&self, rows: &[Row], table: &SqlTable, visit: Visit<'_>) -> Result<(), SqlError> {
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

impl SqlConnection for Postgresql {
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

    fn pairs(&mut self, query: &str) -> Result<Vec<(String, String)>, SqlError> {
        let rows = self.runtime.block_on(self.client.query(query, &[]));
        let rows = rows.map_err(|error| self.failed("ask", &error))?;
        let pair = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
        rows.iter().map(pair).collect::<Result<_, _>>().map_err(|error| self.failed("ask", &error))
    }

    fn upsert(&mut self, table: &SqlTable, values: Vec<SqlValue>) -> Result<(), SqlError> {
        self.insert_or(table, values, &replacing(table)).map(drop)
    }

    fn insert(&mut self, table: &SqlTable, values: Vec<SqlValue>) -> Result<u64, SqlError> {
        self.insert_or(table, values, "ON CONFLICT DO NOTHING")
    }

    fn find(
        &mut self,
        begins: bool,
        table: &SqlTable,
        sought: Vec<RowSearch>,
        visit: VisitRow<'_>,
    ) -> Result<(), SqlError> {
        let tried = "read leases from";
        let mut prepared = Vec::with_capacity(sought.len());
        for RowSearch { column, values, is_locked } in sought {
            let lock = if is_locked { " FOR UPDATE" } else { "" };
            let statement = format!(
                "SELECT {} FROM {} WHERE {}{lock}",
                selected(table),
                table.name,
                is_any(&column, address_type(table))
            );
            prepared.push((self.prepared(&statement, tried)?, arrays(&[column], values)));
        }
        let begin = begins.then(|| plain_query(&self.client, "BEGIN"));
        let queries = prepared
            .iter()
            .map(|(statement, arrays)| prepared_query(&self.client, statement, arrays));
        let answers = self.runtime.block_on(together(begin.into_iter().chain(queries).collect()));
        for (at, rows) in answers.into_iter().enumerate() {
            let rows = rows.map_err(|error| self.failed(tried, &error))?;
            // The first answer is that of BEGIN.
            let at = at.saturating_sub(usize::from(begins));
            self.show(&rows, table, &mut |values| visit(at, values))?;
        }
        Ok(())
    }

    fn commit(&mut self, table: &SqlTable, changes: RowChanges) -> Result<(), SqlError> {
        let tried = "write leases to";
        let RowChanges { inserts, updates, renewals, deletions } = changes;
        let all = [
            (insert_statement(table), table.columns, inserts),
            (format!("{} {}", insert_statement(table), replacing(table)), table.columns, updates),
            (delete_statement(table), &table.columns[..1], deletions),
        ];
        let mut writes = Vec::with_capacity(all.len());
        for (statement, columns, values) in all {
            if !values.is_empty() {
                writes.push((self.prepared(&statement, tried)?, arrays(columns, values)));
            }
        }
        for (time, keys) in renewals {
            let statement = self.prepared(&renew_statement(table), tried)?;
            let mut values = arrays(&table.columns[..1], keys);
            values.extend(arrays(&[table.time()], vec![time]));
            writes.push((statement, values));
        }
        // After a failed statement, COMMIT rolls the transaction back.
        let commit = plain_query(&self.client, "COMMIT");
        let writes = writes
            .iter()
            .map(|(statement, arrays)| prepared_query(&self.client, statement, arrays));
        let answers = self.runtime.block_on(together(writes.chain([commit]).collect()));
        for answer in answers {
            answer.map_err(|error| {
                let is_there = error.code() == Some(&SqlState::UNIQUE_VIOLATION);
                let failed = self.failed(tried, &error);
                if is_there { failed.conflict(true) } else { failed }
            })?;
        }
        Ok(())
    }

    fn delete(&mut self, table: &SqlTable, keys: Vec<SqlValue>) -> Result<(), SqlError> {
        let statement = delete_statement(table);
        self.write(&statement, &table.columns[..1], keys, "delete leases from").map(drop)
    }

    fn select_rows(
        &mut self,
        table: &SqlTable,
        conditions: &[RowCondition],
        limit: Option<u32>,
        visit: Visit<'_>,
    ) -> Result<(), SqlError> {
        let tried = "read leases from";
        let statement = self.prepared(&conditional(table, conditions, limit), tried)?;
        let columns: Vec<Column> = conditions.iter().map(|condition| condition.column).collect();
        let arrays = if columns.is_empty() {
            Vec::new()
        } else {
            arrays(&columns, conditions.iter().map(|condition| condition.value.clone()).collect())
        };
        let parameters: Vec<&(dyn ToSql + Sync)> = arrays.iter().map(Array::parameter).collect();
        let rows = self.runtime.block_on(self.client.query(&statement, &parameters));
        let rows = rows.map_err(|error| self.failed(tried, &error))?;
        self.show(&rows, table, visit)
    }
}

/// Values of one column of several rows, as one parameter of a statement.
enum Array {
    Number(Vec<Option<i64>>),
    Octets(Vec<Option<Vec<u8>>>),
    Text(Vec<Option<String>>),
}

impl Array {
    fn new(column: &Column) -> Self {
        match column.kind {
            ColumnKind::Octets => Self::Octets(Vec::new()),
            ColumnKind::Text | ColumnKind::Address => Self::Text(Vec::new()),
            _ => Self::Number(Vec::new()),
        }
    }

    fn push(&mut self, value: SqlValue) {
        match (self, value) {
            (Self::Number(all), SqlValue::Integer(number)) => all.push(Some(number)),
            (Self::Octets(all), SqlValue::Octets(octets)) => all.push(Some(octets)),
            (Self::Text(all), SqlValue::Text(text)) => all.push(Some(text)),
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

/// Converts the values of rows in sequence to one array for each of their columns.
fn arrays(columns: &[Column], values: Vec<SqlValue>) -> Vec<Array> {
    let mut arrays: Vec<Array> = columns.iter().map(Array::new).collect();
    for (at, value) in values.into_iter().enumerate() {
        arrays[at % columns.len()].push(value);
    }
    arrays
}

/// Returns the PostgreSQL element type of a column's array.
const fn array_type(column: &Column) -> &'static str {
    match column.kind {
        ColumnKind::Octets => "bytea",
        ColumnKind::Text | ColumnKind::Address => "text",
        _ => "bigint",
    }
}

/// Returns the SQL expression that converts an array element to a value of the column.
fn from_array(element: &str, column: &Column, address_type: &str) -> String {
    match column.kind {
        ColumnKind::Number | ColumnKind::Octets | ColumnKind::Text => element.to_owned(),
        ColumnKind::Signed32 => format!("{element}::int"),
        ColumnKind::Signed16 => format!("{element}::smallint"),
        ColumnKind::Truth => format!("{element} <> 0"),
        ColumnKind::Time => format!("to_timestamp({element})"),
        ColumnKind::Address => format!("{element}::{address_type}"),
    }
}

/// Returns the PostgreSQL type of a table's addresses: tables of leases with a pool number use a
/// type for addresses, as do tables of reserved addresses that are not plain text.
fn address_type(table: &SqlTable) -> &'static str {
    let tells = ["pool_id", "excluded_prefix"];
    let is_current = table.columns.iter().any(|column| tells.contains(&column.name));
    if is_current { "inet" } else { "varchar" }
}

/// Returns the SQL statement that inserts rows into `table`.
fn insert_statement(table: &SqlTable) -> String {
    let parameters: Vec<String> = (1..)
        .zip(table.columns)
        .map(|(number, column)| format!("${number}::{}[]", array_type(column)))
        .collect();
    let parameters = parameters.join(", ");
    let elements = table.join(", ", |column| {
        from_array(&format!("v.{}", column.name), column, address_type(table))
    });
    format!(
        "INSERT INTO {} ({names}) SELECT {elements} FROM unnest({parameters}) AS v ({names})",
        table.name,
        names = table.names(),
    )
}

/// Returns the SQL clause that replaces an existing row of `table` by the inserted one.
fn replacing(table: &SqlTable) -> String {
    let changes =
        table.join_others(", ", |column| format!("{name} = excluded.{name}", name = column.name));
    format!("ON CONFLICT ({}) DO UPDATE SET {changes}", table.key().name)
}

/// Returns the SQL statement that sets the time of all rows of the first array to the one in the
/// second array.
fn renew_statement(table: &SqlTable) -> String {
    format!(
        "UPDATE {} SET {} = to_timestamp(($2::bigint[])[1]) WHERE {}",
        table.name,
        table.time().name,
        is_any(&table.key(), address_type(table))
    )
}

fn delete_statement(table: &SqlTable) -> String {
    let condition = is_any(&table.key(), address_type(table));
    format!("DELETE FROM {} WHERE {condition}", table.name)
}

/// Query on its way to PostgreSQL; a statement that changes rows yields none.
type QueryFuture<'q> = Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + 'q>>;

/// Returns a query of a prepared statement with arrays as parameters.
fn prepared_query<'q>(
    client: &'q Client,
    statement: &'q Statement,
    arrays: &'q [Array],
) -> QueryFuture<'q> {
    Box::pin(async move {
        let parameters: Vec<_> = arrays.iter().map(Array::parameter).collect();
        client.query(statement, &parameters).await
    })
}

/// Returns a query of the SQL statement `statement` without values.
fn plain_query<'q>(client: &'q Client, statement: &'q str) -> QueryFuture<'q> {
    Box::pin(async move { client.batch_execute(statement).await.map(|()| Vec::new()) })
}

/// Sends all queries to PostgreSQL, in order, before it waits for the answers.
async fn together(
    mut queries: Vec<QueryFuture<'_>>,
) -> Vec<Result<Vec<Row>, tokio_postgres::Error>> {
    let mut answers: Vec<_> = queries.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut is_pending = false;
        for (query, answer) in queries.iter_mut().zip(&mut answers) {
            if answer.is_none() {
                match query.as_mut().poll(context) {
                    Poll::Ready(result) => *answer = Some(result),
                    Poll::Pending => is_pending = true,
                }
            }
        }
        if is_pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    answers.into_iter().flatten().collect()
}

/// Returns the SQL list of a table's columns, in the form that [`read`] reads.
fn selected(table: &SqlTable) -> String {
    table.join(", ", |column| match column.kind {
        ColumnKind::Octets | ColumnKind::Text => column.name.to_owned(),
        ColumnKind::Time => format!("extract(epoch FROM {})::bigint", column.name),
        ColumnKind::Truth => format!("{}::int::bigint", column.name),
        ColumnKind::Address if address_type(table) == "inet" => format!("host({})", column.name),
        ColumnKind::Address => column.name.to_owned(),
        _ => format!("{}::bigint", column.name),
    })
}

/// Returns the SQL condition that a column has one of the values of the first array.
fn is_any(column: &Column, address_type: &str) -> String {
    let cast = match column.kind {
        ColumnKind::Address if address_type == "inet" => "::inet[]",
        _ => "",
    };
    format!("{} = ANY($1::{}[]{cast})", column.name, array_type(column))
}

/// Returns the SQL statement that selects the rows of `table` that fulfil all `conditions`, whose
/// values are in one array each.
fn conditional(table: &SqlTable, conditions: &[RowCondition], limit: Option<u32>) -> String {
    let texts = (1..).zip(conditions).map(|(number, condition)| {
        let RowCondition { column, comparison, .. } = condition;
        let element = format!("(${number}::{}[])[1]", array_type(column));
        let value = from_array(&element, column, address_type(table));
        let operator = comparison.operator();
        match comparison {
            RowComparison::EqualInLowerCase => format!("lower({}) {operator} {value}", column.name),
            _ => format!("{} {operator} {value}", column.name),
        }
    });
    let texts: Vec<String> = texts.collect();
    let clause = if texts.is_empty() { "" } else { " WHERE " };
    let limit = limit.map_or_else(String::new, |limit| format!(" LIMIT {limit}"));
    format!(
        "SELECT {columns} FROM {name}{clause}{conditions} ORDER BY {name}.{key}{limit}",
        columns = selected(table),
        name = table.name,
        conditions = texts.join(" AND "),
        key = table.key().name
    )
}

fn read(row: &Row, at: usize, column: &Column) -> Result<SqlValue, tokio_postgres::Error> {
    Ok(match column.kind {
        ColumnKind::Octets => {
            row.try_get::<_, Option<Vec<u8>>>(at)?.map_or(SqlValue::Null, SqlValue::Octets)
        }
        ColumnKind::Text | ColumnKind::Address => {
            row.try_get::<_, Option<String>>(at)?.map_or(SqlValue::Null, SqlValue::Text)
        }
        _ => row.try_get::<_, Option<i64>>(at)?.map_or(SqlValue::Null, SqlValue::Integer),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: SqlTable = SqlTable {
        name: "t",
        columns: &[
            Column { name: "k", kind: ColumnKind::Address },
            Column { name: "e", kind: ColumnKind::Time },
            Column { name: "f", kind: ColumnKind::Truth },
        ],
    };

    #[test]
    fn a_column_travels_as_an_array() {
        assert_eq!(
            format!("{} {}", insert_statement(&TABLE), replacing(&TABLE)),
            "INSERT INTO t (k, e, f) SELECT v.k::varchar, to_timestamp(v.e), v.f <> 0 \
             FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS v (k, e, f) \
             ON CONFLICT (k) DO UPDATE SET e = excluded.e, f = excluded.f"
        );
        let condition = |at: usize, comparison, value| RowCondition {
            column: TABLE.columns[at],
            comparison,
            value,
        };
        let after = condition(0, RowComparison::Above, SqlValue::Text("::1".to_owned()));
        assert_eq!(
            conditional(&TABLE, &[after], Some(9)),
            "SELECT k, extract(epoch FROM e)::bigint, f::int::bigint FROM t \
             WHERE k > ($1::text[])[1]::varchar ORDER BY t.k LIMIT 9"
        );
        let named = condition(0, RowComparison::EqualInLowerCase, SqlValue::Text("a".to_owned()));
        let is_set = condition(2, RowComparison::Equal, SqlValue::Integer(1));
        let statement = conditional(&TABLE, &[named, is_set], None);
        let (_, clause) = statement.split_once(" WHERE ").expect("it has conditions");
        assert_eq!(
            clause,
            "lower(k) = ($1::text[])[1]::varchar AND f = ($2::bigint[])[1] <> 0 ORDER BY t.k"
        );
        assert!(conditional(&TABLE, &[], None).ends_with(" FROM t ORDER BY t.k"));
    }
}
