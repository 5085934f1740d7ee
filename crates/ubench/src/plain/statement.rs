//! SQL table and statements of 2012 in three dialects, prepared or with the values written out.
//!
//! These are the differences to that program: identities are bytes in all databases, since
//! arbitrary bytes are not text; statements omit the columns that a database fills in by itself;
//! and the update gets a valid time.

use crate::subject::SubjectBackend;
use crate::workload::{
    self, CREATED_LIFETIME_S, HOSTNAME, LONG_CLIENT_ID, UPDATED_LIFETIME_S, WorkloadStep,
};

/// Value of an SQL statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StatementValue {
    /// Whole number, or seconds since 1970.
    Integer(i64),
    /// Byte string.
    Octets(Vec<u8>),
}

/// Values of an SQL statement, in the order of its marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementArguments<'v>(pub(crate) &'v [StatementValue]);

/// SQL statement with marks for its values.
#[derive(Clone, Debug)]
pub(crate) struct StatementTemplate {
    /// Text of the SQL statement, with `?` for a value and `@` for a time.
    template: &'static str,
    backend: SubjectBackend,
    /// SQL statement with the database's own marks, to be prepared once; `None` if values are
    /// written out.
    pub(crate) compiled: Option<String>,
}

const INSERT: &str = "INSERT INTO lease4 (addr, hwaddr, client_id, valid_lft, recycle_time, cltt, \
    pool_id, fixed, hostname, fqdn_fwd, fqdn_rev) \
    VALUES (?, ?, ?, ?, ?, @, ?, FALSE, 'foo', FALSE, FALSE)";
const COLUMNS_BY: [&str; 3] = [
    "SELECT addr, hwaddr, client_id, valid_lft, recycle_time, cltt, pool_id, fixed, hostname, \
     fqdn_fwd, fqdn_rev FROM lease4 WHERE addr = ?",
    "SELECT addr, hwaddr, client_id, valid_lft, recycle_time, cltt, pool_id, fixed, hostname, \
     fqdn_fwd, fqdn_rev FROM lease4 WHERE hwaddr = ?",
    "SELECT addr, hwaddr, client_id, valid_lft, recycle_time, cltt, pool_id, fixed, hostname, \
     fqdn_fwd, fqdn_rev FROM lease4 WHERE client_id = ?",
];
const UPDATE: &str = "UPDATE lease4 SET valid_lft = ?, cltt = @ WHERE addr = ?";
const DELETE: &str = "DELETE FROM lease4 WHERE addr = ?";

/// Returns the SQL statement that creates the table of 2012; `engine` is MySQL's storage engine,
/// `is_logged` is false for PostgreSQL's `UNLOGGED` tables.
pub(crate) fn create_table(backend: SubjectBackend, engine: &str, is_logged: bool) -> String {
    let (serial, number, hwaddr, client_id, time) = match backend {
        SubjectBackend::Mysql => {
            ("SERIAL", "INT UNSIGNED", "VARBINARY(20)", "VARBINARY(128)", "TIMESTAMP")
        }
        SubjectBackend::Pgsql => {
            ("BIGSERIAL", "BIGINT", "BYTEA", "BYTEA", "TIMESTAMP WITH TIME ZONE")
        }
        _ => ("SERIAL", "INT UNSIGNED", "VARCHAR(20)", "VARCHAR(128)", "TIMESTAMP"),
    };
    let unlogged = if is_logged { "" } else { "UNLOGGED " };
    let engine = if engine.is_empty() { String::new() } else { format!(" ENGINE = {engine}") };
    format!(
        "CREATE {unlogged}TABLE lease4 (lease_id {serial}, addr {number} UNIQUE, hwaddr {hwaddr}, \
         client_id {client_id}, valid_lft BIGINT, recycle_time BIGINT DEFAULT 0, cltt {time}, \
         pool_id BIGINT, fixed BOOL, hostname VARCHAR(255), fqdn_fwd BOOL DEFAULT FALSE, \
         fqdn_rev BOOL DEFAULT FALSE, options TEXT, comments TEXT){engine}"
    )
}

/// SQL statements for the operations of all steps.
pub(crate) struct StepStatements {
    create: StatementTemplate,
    searches: [StatementTemplate; 3],
    update: StatementTemplate,
    delete: StatementTemplate,
}

impl StepStatements {
    pub(crate) fn new(backend: SubjectBackend, is_compiled: bool) -> Self {
        let prepared = |template| StatementTemplate::new(backend, template, is_compiled);
        Self {
            create: prepared(INSERT),
            searches: COLUMNS_BY.map(prepared),
            update: prepared(UPDATE),
            delete: prepared(DELETE),
        }
    }

    pub(crate) const fn statement(&self, step: WorkloadStep) -> &StatementTemplate {
        match step {
            WorkloadStep::Create => &self.create,
            WorkloadStep::Search => &self.searches[0],
            WorkloadStep::SearchHardware => &self.searches[1],
            WorkloadStep::SearchClientId => &self.searches[2],
            WorkloadStep::Update => &self.update,
            WorkloadStep::Delete => &self.delete,
        }
    }
}

/// Returns the values for the SQL statement of `step` on record `number`.
pub(crate) fn values(step: WorkloadStep, number: u32, wall_s: u64) -> Vec<StatementValue> {
    let addr = StatementValue::Integer(u32::from(workload::address(number)).into());
    let now = StatementValue::Integer(wall_s.cast_signed());
    match step {
        WorkloadStep::Create => vec![
            addr,
            StatementValue::Octets(workload::long_hardware(number).to_vec()),
            StatementValue::Octets(workload::long_client_id(number).to_vec()),
            StatementValue::Integer(CREATED_LIFETIME_S.into()),
            StatementValue::Integer(0),
            now,
            StatementValue::Integer(0),
        ],
        WorkloadStep::Search | WorkloadStep::Delete => vec![addr],
        WorkloadStep::SearchHardware => {
            vec![StatementValue::Octets(workload::long_hardware(number).to_vec())]
        }
        WorkloadStep::SearchClientId => {
            vec![StatementValue::Octets(workload::long_client_id(number).to_vec())]
        }
        WorkloadStep::Update => vec![StatementValue::Integer(UPDATED_LIFETIME_S.into()), now, addr],
    }
}

impl StatementTemplate {
    fn new(backend: SubjectBackend, template: &'static str, is_compiled: bool) -> Self {
        let mut prepared = Self { template, backend, compiled: None };
        if is_compiled {
            let mut count = 0;
            let marked = prepared.fill(|_| {
                count += 1;
                if backend == SubjectBackend::Pgsql { format!("${count}") } else { "?".to_owned() }
            });
            prepared.compiled = Some(marked);
        }
        prepared
    }

    /// Returns the SQL statement with the values written out.
    pub(crate) fn written_out(&self, arguments: StatementArguments<'_>) -> String {
        self.fill(|at| match &arguments.0[at] {
            StatementValue::Integer(number) => number.to_string(),
            StatementValue::Octets(octets) => {
                let mut text = String::with_capacity(2 * LONG_CLIENT_ID + 12);
                text.push_str(if self.backend == SubjectBackend::Pgsql { "'\\x" } else { "X'" });
                for octet in octets {
                    const DIGITS: &[u8; 16] = b"0123456789abcdef";
                    text.push(DIGITS[usize::from(octet >> 4)].into());
                    text.push(DIGITS[usize::from(octet & 15)].into());
                }
                text.push_str(if self.backend == SubjectBackend::Pgsql { "'::bytea" } else { "'" });
                text
            }
        })
    }

    /// Returns the SQL template with every mark replaced by the result of `mark` for its position.
    fn fill(&self, mut mark: impl FnMut(usize) -> String) -> String {
        let mut text = String::with_capacity(self.template.len() + 2 * LONG_CLIENT_ID);
        let mut at = 0;
        for letter in self.template.chars() {
            if letter != '?' && letter != '@' {
                text.push(letter);
                continue;
            }
            let value = mark(at);
            at += 1;
            match (letter, self.backend) {
                ('@', SubjectBackend::Mysql) => text.push_str(&format!("FROM_UNIXTIME({value})")),
                ('@', SubjectBackend::Pgsql) => {
                    text.push_str(&format!("to_timestamp({value}::bigint)"))
                }
                _ => text.push_str(&value),
            }
        }
        text
    }
}

const _: () = assert!(HOSTNAME.len() == 3, "the statement has the host name written out");

#[cfg(test)]
mod tests {
    use super::*;

    fn update(backend: SubjectBackend, is_compiled: bool) -> StatementTemplate {
        StepStatements::new(backend, is_compiled).statement(WorkloadStep::Update).clone()
    }

    #[test]
    fn statements_are_marked_as_each_database_wants_it() {
        let compiled = |backend| update(backend, true).compiled.unwrap();
        assert_eq!(
            compiled(SubjectBackend::Mysql),
            "UPDATE lease4 SET valid_lft = ?, cltt = FROM_UNIXTIME(?) WHERE addr = ?"
        );
        assert_eq!(
            compiled(SubjectBackend::Pgsql),
            "UPDATE lease4 SET valid_lft = $1, cltt = to_timestamp($2::bigint) WHERE addr = $3"
        );
        assert_eq!(
            compiled(SubjectBackend::Sqlite),
            "UPDATE lease4 SET valid_lft = ?, cltt = ? WHERE addr = ?"
        );
    }

    #[test]
    fn values_are_written_out() {
        let values = values(WorkloadStep::Update, 5, 77);
        assert_eq!(
            update(SubjectBackend::Mysql, false).written_out(StatementArguments(&values)),
            "UPDATE lease4 SET valid_lft = 1002, cltt = FROM_UNIXTIME(77) WHERE addr = 16777221"
        );
        let octets = [StatementValue::Octets(vec![0, 0x9a, 0xff])];
        let search = |backend| {
            let texts = StepStatements::new(backend, false);
            let text = texts
                .statement(WorkloadStep::SearchHardware)
                .written_out(StatementArguments(&octets));
            text.split_once("WHERE ").unwrap().1.to_owned()
        };
        assert_eq!(search(SubjectBackend::Sqlite), "hwaddr = X'009aff'");
        assert_eq!(search(SubjectBackend::Pgsql), "hwaddr = '\\x009aff'::bytea");
    }

    #[test]
    fn every_statement_has_a_mark_for_each_value() {
        for step in WorkloadStep::ALL {
            let marks = StepStatements::new(SubjectBackend::Sqlite, true)
                .statement(step)
                .compiled
                .clone()
                .unwrap();
            assert_eq!(marks.matches('?').count(), values(step, 1, 1).len(), "{marks}");
        }
    }
}
