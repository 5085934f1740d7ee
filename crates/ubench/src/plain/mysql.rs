//! Driver of MariaDB and MySQL with the table of 2012.

use std::collections::HashMap;

use base::{ToolError, ToolResult};
use dhcp_store::sql::SqlSettings;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Params, Statement};

use super::StatementDriver;
use super::statement::{StatementArguments, StatementTemplate, StatementValue, create_table};
use crate::subject::BenchmarkSubject;

/// Connection to a MariaDB or MySQL server with the table of 2012.
pub(super) struct MysqlDriver {
    connection: Conn,
    statements: HashMap<String, Statement>,
}

fn failed(tried: &str) -> impl Fn(mysql::Error) -> ToolError + use<'_> {
    move |error| ToolError::failed(tried, error)
}

/// Returns the options of a connection to a MySQL server; it uses no database if `settings` name
/// none.
pub(crate) fn options(settings: &SqlSettings) -> OptsBuilder {
    let socket = settings.socket.as_ref().map(|path| path.display().to_string());
    let name = Some(settings.name.clone()).filter(|name| !name.is_empty());
    OptsBuilder::new()
        .ip_or_hostname(Some(settings.host.clone()))
        .tcp_port(settings.port())
        .socket(socket)
        .prefer_socket(false)
        .user(Some(settings.user.clone()))
        .pass(Some(settings.password.clone()))
        .db_name(name)
        .tcp_connect_timeout(Some(settings.connect_timeout))
}

impl MysqlDriver {
    /// Connects to the MySQL server; the first connection creates the table anew.
    pub(super) fn connect(
        settings: &SqlSettings,
        subject: &BenchmarkSubject,
        is_first: bool,
    ) -> ToolResult<Self> {
        let tried = format!("open {settings}");
        let connection = Conn::new(options(settings)).map_err(failed(&tried))?;
        let mut mysql = Self { connection, statements: HashMap::new() };
        if is_first {
            let engine = subject.engine.as_deref().unwrap_or("InnoDB");
            mysql.run("DROP TABLE IF EXISTS lease4")?;
            mysql.run(&create_table(subject.backend, engine, true))?;
        }
        Ok(mysql)
    }

    fn compiled(&mut self, text: &str) -> ToolResult<Statement> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.connection.prep(text).map_err(failed("prepare a statement"))?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }
}

fn parameters(arguments: StatementArguments<'_>) -> Params {
    let value = |value: &StatementValue| match value {
        StatementValue::Integer(number) => mysql::Value::Int(*number),
        StatementValue::Octets(octets) => mysql::Value::Bytes(octets.clone()),
    };
    Params::Positional(arguments.0.iter().map(value).collect())
}

impl StatementDriver for MysqlDriver {
    fn run(&mut self, statement: &str) -> ToolResult<()> {
        self.connection.query_drop(statement).map_err(failed(statement))
    }

    fn change(
        &mut self,
        statement: &StatementTemplate,
        arguments: StatementArguments<'_>,
    ) -> ToolResult<u64> {
        match &statement.compiled {
            Some(text) => {
                let compiled = self.compiled(text)?;
                self.connection.exec_drop(compiled, parameters(arguments))
            }
            None => self.connection.query_drop(statement.written_out(arguments)),
        }
        .map_err(failed("change a row"))?;
        Ok(self.connection.affected_rows())
    }

    fn find(
        &mut self,
        statement: &StatementTemplate,
        arguments: StatementArguments<'_>,
    ) -> ToolResult<u64> {
        let rows: Vec<mysql::Row> = match &statement.compiled {
            Some(text) => {
                let compiled = self.compiled(text)?;
                self.connection.exec(compiled, parameters(arguments))
            }
            None => self.connection.query(statement.written_out(arguments)),
        }
        .map_err(failed("look for a row"))?;
        Ok(rows.len() as u64)
    }
}
