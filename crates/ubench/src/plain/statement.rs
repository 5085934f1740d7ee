//! Table and statements of 2012, in three dialects, prepared or with the values inside.
//!
//! These are the differences to that program: identities are bytes in all databases, since
//! arbitrary bytes are not text; statements omit the columns that a database fills in by itself;
//! and the update gets a valid time.

use crate::subject::Backend;
use crate::workload::{
    self, CREATED_LIFETIME_S, HOSTNAME, LONG_CLIENT_ID, Step, UPDATED_LIFETIME_S,
};

/// Value of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Number, or seconds since 1970.
    Integer(i64),
    /// Bytes.
    Octets(Vec<u8>),
}

/// Values of a statement, in the order of its marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'v>(pub(crate) &'v [Value]);

/// Statement with marks for its values.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// Text of the statement, with `?` for a value and `@` for a time.
    template: &'static str,
    backend: Backend,
    /// Statement with the database's own marks, to be prepared once; `None` if values are written
    /// out.
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

/// Returns the statement that creates the table; `engine` is MySQL's, `is_logged` is false for
/// PostgreSQL's third setting.
pub(crate) fn create_table(backend: Backend, engine: &str, is_logged: bool) -> String {
    let (serial, number, hwaddr, client_id, time) = match backend {
        Backend::Mysql => {
            ("SERIAL", "INT UNSIGNED", "VARBINARY(20)", "VARBINARY(128)", "TIMESTAMP")
        }
        Backend::Pgsql => ("BIGSERIAL", "BIGINT", "BYTEA", "BYTEA", "TIMESTAMP WITH TIME ZONE"),
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

/// Statements of all steps.
pub(crate) struct Texts {
    create: Prepared,
    searches: [Prepared; 3],
    update: Prepared,
    delete: Prepared,
}

impl Texts {
    pub(crate) fn new(backend: Backend, is_compiled: bool) -> Self {
        let prepared = |template| Prepared::new(backend, template, is_compiled);
        Self {
            create: prepared(INSERT),
            searches: COLUMNS_BY.map(prepared),
            update: prepared(UPDATE),
            delete: prepared(DELETE),
        }
    }

    pub(crate) const fn of(&self, step: Step) -> &Prepared {
        match step {
            Step::Create => &self.create,
            Step::Search => &self.searches[0],
            Step::SearchHardware => &self.searches[1],
            Step::SearchClientId => &self.searches[2],
            Step::Update => &self.update,
            Step::Delete => &self.delete,
        }
    }
}

/// Returns the values of one operation.
pub(crate) fn values(step: Step, number: u32, wall_s: u64) -> Vec<Value> {
    let addr = Value::Integer(u32::from(workload::address(number)).into());
    let now = Value::Integer(wall_s.cast_signed());
    match step {
        Step::Create => vec![
            addr,
            Value::Octets(workload::long_hardware(number).to_vec()),
            Value::Octets(workload::long_client_id(number).to_vec()),
            Value::Integer(CREATED_LIFETIME_S.into()),
            Value::Integer(0),
            now,
            Value::Integer(0),
        ],
        Step::Search | Step::Delete => vec![addr],
        Step::SearchHardware => vec![Value::Octets(workload::long_hardware(number).to_vec())],
        Step::SearchClientId => vec![Value::Octets(workload::long_client_id(number).to_vec())],
        Step::Update => vec![Value::Integer(UPDATED_LIFETIME_S.into()), now, addr],
    }
}

impl Prepared {
    fn new(backend: Backend, template: &'static str, is_compiled: bool) -> Self {
        let mut prepared = Self { template, backend, compiled: None };
        if is_compiled {
            let mut count = 0;
            let marked = prepared.fill(|_| {
                count += 1;
                if backend == Backend::Pgsql { format!("${count}") } else { "?".to_owned() }
            });
            prepared.compiled = Some(marked);
        }
        prepared
    }

    /// Returns the statement with the values written out.
    pub(crate) fn written_out(&self, arguments: Arguments<'_>) -> String {
        self.fill(|at| match &arguments.0[at] {
            Value::Integer(number) => number.to_string(),
            Value::Octets(octets) => {
                let mut text = String::with_capacity(2 * LONG_CLIENT_ID + 12);
                text.push_str(if self.backend == Backend::Pgsql { "'\\x" } else { "X'" });
                for octet in octets {
                    const DIGITS: &[u8; 16] = b"0123456789abcdef";
                    text.push(DIGITS[usize::from(octet >> 4)].into());
                    text.push(DIGITS[usize::from(octet & 15)].into());
                }
                text.push_str(if self.backend == Backend::Pgsql { "'::bytea" } else { "'" });
                text
            }
        })
    }

    /// Returns the template with every mark replaced by the result of `mark` for its position.
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
                ('@', Backend::Mysql) => text.push_str(&format!("FROM_UNIXTIME({value})")),
                ('@', Backend::Pgsql) => text.push_str(&format!("to_timestamp({value}::bigint)")),
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

    fn update(backend: Backend, is_compiled: bool) -> Prepared {
        Texts::new(backend, is_compiled).of(Step::Update).clone()
    }

    #[test]
    fn statements_are_marked_as_each_database_wants_it() {
        let compiled = |backend| update(backend, true).compiled.unwrap();
        assert_eq!(
            compiled(Backend::Mysql),
            "UPDATE lease4 SET valid_lft = ?, cltt = FROM_UNIXTIME(?) WHERE addr = ?"
        );
        assert_eq!(
            compiled(Backend::Pgsql),
            "UPDATE lease4 SET valid_lft = $1, cltt = to_timestamp($2::bigint) WHERE addr = $3"
        );
        assert_eq!(
            compiled(Backend::Sqlite),
            "UPDATE lease4 SET valid_lft = ?, cltt = ? WHERE addr = ?"
        );
    }

    #[test]
    fn values_are_written_out() {
        let values = values(Step::Update, 5, 77);
        assert_eq!(
            update(Backend::Mysql, false).written_out(Arguments(&values)),
            "UPDATE lease4 SET valid_lft = 1002, cltt = FROM_UNIXTIME(77) WHERE addr = 16777221"
        );
        let octets = [Value::Octets(vec![0, 0x9a, 0xff])];
        let search = |backend| {
            let texts = Texts::new(backend, false);
            let text = texts.of(Step::SearchHardware).written_out(Arguments(&octets));
            text.split_once("WHERE ").unwrap().1.to_owned()
        };
        assert_eq!(search(Backend::Sqlite), "hwaddr = X'009aff'");
        assert_eq!(search(Backend::Pgsql), "hwaddr = '\\x009aff'::bytea");
    }

    #[test]
    fn every_statement_has_a_mark_for_each_value() {
        for step in Step::ALL {
            let marks = Texts::new(Backend::Sqlite, true).of(step).compiled.clone().unwrap();
            assert_eq!(marks.matches('?').count(), values(step, 1, 1).len(), "{marks}");
        }
    }
}
