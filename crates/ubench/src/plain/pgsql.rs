//! Driver of PostgreSQL with a table like that of 2012; `dhcp-ubench` of 2012 had none for
//! PostgreSQL.

use std::collections::HashMap;

use base::{ToolError, ToolResult};
use dhcp_store::sql::SqlSettings;
use tokio::runtime::Runtime;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage, Statement};

use super::StatementDriver;
use super::statement::{StatementArguments, StatementTemplate, StatementValue, create_table};
use crate::subject::{BenchmarkSubject, ChangeSafety};

/// Connection to a PostgreSQL server, with a runtime on the caller's thread.
pub(crate) struct Pgsql {
    runtime: Runtime,
    client: Client,
    statements: HashMap<String, Statement>,
}

fn failed(tried: &str) -> impl Fn(tokio_postgres::Error) -> ToolError + use<'_> {
    move |error| {
        let message = error.as_db_error().map(ToString::to_string);
        ToolError::failed(tried, message.unwrap_or_else(|| error.to_string()))
    }
}

impl Pgsql {
    /// Connects to the PostgreSQL server of `settings`.
    pub(crate) fn open(settings: &SqlSettings) -> ToolResult<Self> {
        let tried = format!("open {settings}");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| ToolError::failed(&tried, error))?;
        let mut config = Config::new();
        config
            .host(&settings.host)
            .port(settings.port())
            .user(&settings.user)
            .password(&settings.password)
            .dbname(&settings.name)
            .connect_timeout(settings.connect_timeout);
        let client = runtime.block_on(async {
            let (client, connection) = config.connect(NoTls).await?;
            // The next statement sees the end of the connection.
            tokio::spawn(async { drop(connection.await) });
            Ok(client)
        });
        Ok(Self { client: client.map_err(failed(&tried))?, runtime, statements: HashMap::new() })
    }

    /// Connects to the PostgreSQL server; the first connection creates the table anew.
    pub(super) fn connect(
        settings: &SqlSettings,
        subject: &BenchmarkSubject,
        is_first: bool,
    ) -> ToolResult<Self> {
        let mut pgsql = Self::open(settings)?;
        let is_committed = if subject.mode == ChangeSafety::Async { "off" } else { "on" };
        pgsql.run(&format!("SET synchronous_commit = {is_committed}"))?;
        if is_first {
            pgsql.run("DROP TABLE IF EXISTS lease4")?;
            pgsql.run(&create_table(subject.backend, "", subject.mode != ChangeSafety::Other))?;
        }
        Ok(pgsql)
    }

    /// Returns the first value of the first row that `query` finds.
    pub(crate) fn value(&mut self, query: &str) -> ToolResult<Option<String>> {
        let messages = self.runtime.block_on(self.client.simple_query(query));
        Ok(messages.map_err(failed(query))?.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(ToOwned::to_owned),
            _ => None,
        }))
    }

    fn compiled(&mut self, text: &str, arguments: StatementArguments<'_>) -> ToolResult<Statement> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let type_of = |value: &StatementValue| match value {
            StatementValue::Integer(_) => Type::INT8,
            StatementValue::Octets(_) => Type::BYTEA,
        };
        let types: Vec<Type> = arguments.0.iter().map(type_of).collect();
        let statement = self.runtime.block_on(self.client.prepare_typed(text, &types));
        let statement = statement.map_err(failed("prepare a statement"))?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Executes an SQL statement with its values written out, and returns the number of its rows.
    fn plain(&self, text: &str, tried: &str) -> ToolResult<u64> {
        let messages = self.runtime.block_on(self.client.simple_query(text));
        let rows = messages.map_err(failed(tried))?.into_iter().find_map(|message| match message {
            SimpleQueryMessage::CommandComplete(rows) => Some(rows),
            _ => None,
        });
        Ok(rows.unwrap_or(0))
    }
}

fn parameters(arguments: StatementArguments<'_>) -> Vec<&(dyn ToSql + Sync)> {
    fn parameter(value: &StatementValue) -> &(dyn ToSql + Sync) {
        match value {
            StatementValue::Integer(number) => number,
            StatementValue::Octets(octets) => octets,
        }
    }
    arguments.0.iter().map(parameter).collect()
}

impl StatementDriver for Pgsql {
    fn run(&mut self, statement: &str) -> ToolResult<()> {
        self.runtime.block_on(self.client.batch_execute(statement)).map_err(failed(statement))
    }

    fn change(
        &mut self,
        statement: &StatementTemplate,
        arguments: StatementArguments<'_>,
    ) -> ToolResult<u64> {
        let tried = "change a row";
        let Some(text) = &statement.compiled else {
            return self.plain(&statement.written_out(arguments), tried);
        };
        let compiled = self.compiled(text, arguments)?;
        let parameters = parameters(arguments);
        let changed = self.runtime.block_on(self.client.execute(&compiled, &parameters));
        changed.map_err(failed(tried))
    }

    fn find(
        &mut self,
        statement: &StatementTemplate,
        arguments: StatementArguments<'_>,
    ) -> ToolResult<u64> {
        let tried = "look for a row";
        let Some(text) = &statement.compiled else {
            return self.plain(&statement.written_out(arguments), tried);
        };
        let compiled = self.compiled(text, arguments)?;
        let parameters = parameters(arguments);
        let rows = self.runtime.block_on(self.client.query(&compiled, &parameters));
        rows.map(|rows| rows.len() as u64).map_err(failed(tried))
    }
}
