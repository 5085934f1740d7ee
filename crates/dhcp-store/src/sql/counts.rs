//! Counts of leases by subnet and state in Kea's tables: many new leases are counted by one
//! statement for each table of counts.
//!
//! Kea's tables count leases by subnet and state, in triggers. MariaDB runs triggers row by row,
//! and they cost nearly as much as the rows. The triggers of this crate's own tables skip new
//! leases in a session that declares that it counts them ([`DECLARE_COUNTING`]); the session then
//! changes the counts in the same transaction as the rows.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::driver::{SqlTable, SqlValue};
use super::schema::Schema;

/// Statement that declares that the session counts new leases itself, instead of the table's
/// triggers.
pub(super) const DECLARE_COUNTING: &str = "SET @godwit_counts_leases=1";
/// Statement that ends the declaration of [`DECLARE_COUNTING`].
pub(super) const END_COUNTING: &str = "SET @godwit_counts_leases=NULL";

/// Returns the SQL query that finds out if the insert trigger of `table` skips leases that the
/// session counts itself.
pub(super) fn trigger_query(table: &SqlTable) -> String {
    format!(
        "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema=DATABASE() \
         AND event_object_table='{}' AND event_manipulation='INSERT' \
         AND action_statement LIKE '%@godwit_counts_leases IS NULL%'",
        table.name
    )
}

/// Table in which Kea counts leases.
struct LeaseCountTable {
    name: &'static str,
    /// Columns that the table of counts has in common with the table of leases.
    by: &'static [&'static str],
    /// States of the leases that the table counts.
    states: &'static [i64],
}

const V4: LeaseCountTable =
    LeaseCountTable { name: "lease4_stat", by: &["subnet_id", "state"], states: &[0, 1] };
const V4_POOL: LeaseCountTable = LeaseCountTable {
    name: "lease4_pool_stat",
    by: &["subnet_id", "pool_id", "state"],
    states: &[0, 1],
};
const V6_KEA22: LeaseCountTable = LeaseCountTable {
    name: "lease6_stat",
    by: &["subnet_id", "lease_type", "state"],
    states: &[0, 1],
};
/// Table that counts DHCPv6 leases, registered addresses (RFC 9686) included.
const V6: LeaseCountTable = LeaseCountTable { states: &[0, 1, 4], ..V6_KEA22 };
const V6_POOL: LeaseCountTable = LeaseCountTable {
    name: "lease6_pool_stat",
    by: &["subnet_id", "pool_id", "lease_type", "state"],
    states: &[0, 1],
};

/// Returns the SQL statements that count all leases in the tables of `schema` anew, as Kea's
/// `kea-admin stats-recount` does.
pub(super) fn recount(schema: Schema) -> Vec<String> {
    let of_tables: [(&str, &[LeaseCountTable]); 2] = match schema {
        Schema::Kea22 => [("lease4", &[V4]), ("lease6", &[V6_KEA22])],
        Schema::Current => [("lease4", &[V4, V4_POOL]), ("lease6", &[V6, V6_POOL])],
    };
    let mut statements = Vec::new();
    for (table, counters) in of_tables {
        for LeaseCountTable { name, by, states } in counters {
            let by = by.join(", ");
            let states: Vec<String> = states.iter().map(ToString::to_string).collect();
            statements.push(format!("DELETE FROM {name}"));
            statements.push(format!(
                "INSERT INTO {name} ({by}, leases) SELECT {by}, COUNT(*) FROM {table} \
                 WHERE state IN ({}) GROUP BY {by}",
                states.join(", ")
            ));
        }
    }
    statements
}

fn counters(table: &SqlTable) -> &'static [LeaseCountTable] {
    let has_pools = table.columns.iter().any(|column| column.name == "pool_id");
    match (table.name, has_pools) {
        ("lease4", true) => &[V4, V4_POOL],
        ("lease4", false) => &[V4],
        ("lease6", true) => &[V6, V6_POOL],
        ("lease6", false) => &[V6_KEA22],
        _ => &[],
    }
}

/// Returns the statements that add the leases `rows` of `table` to the tables of counts, to run in
/// order. Every session changes the counts in the order of their columns.
pub(super) fn counting(table: &SqlTable, rows: &[SqlValue]) -> Vec<String> {
    counters(table).iter().filter_map(|counter| counter.statement(table, rows)).collect()
}

impl LeaseCountTable {
    /// Returns the statement that adds `rows` to this table of counts; `None` if none of the rows
    /// counts.
    fn statement(&self, table: &SqlTable, rows: &[SqlValue]) -> Option<String> {
        let position = |name: &&str| table.columns.iter().position(|column| column.name == *name);
        let by: Vec<usize> = self.by.iter().filter_map(position).collect();
        assert_eq!(by.len(), self.by.len(), "leases have all columns that they are counted by");
        let mut counts = BTreeMap::<Vec<i64>, u64>::new();
        for row in rows.chunks_exact(table.columns.len()) {
            let number = |&at: &usize| match row[at] {
                SqlValue::Integer(number) => number,
                _ => 0,
            };
            let key: Vec<i64> = by.iter().map(number).collect();
            if key.last().is_some_and(|state| self.states.contains(state)) {
                *counts.entry(key).or_default() += 1;
            }
        }
        if counts.is_empty() {
            return None;
        }
        let mut text = format!("INSERT INTO {} ({},leases) VALUES ", self.name, self.by.join(","));
        let mut before = "(";
        for (key, count) in counts {
            for number in key {
                let _ = write!(text, "{before}{number}");
                before = ",";
            }
            let _ = write!(text, ",{count}");
            before = "),(";
        }
        text.push_str(") ON DUPLICATE KEY UPDATE leases=leases+VALUES(leases)");
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::driver::{Column, ColumnKind};

    const COLUMNS: &[Column] = &[
        Column { name: "address", kind: ColumnKind::Address },
        Column { name: "subnet_id", kind: ColumnKind::Number },
        Column { name: "state", kind: ColumnKind::Number },
        Column { name: "lease_type", kind: ColumnKind::Number },
        Column { name: "pool_id", kind: ColumnKind::Number },
    ];

    fn row([subnet, state, kind, pool]: [i64; 4]) -> Vec<SqlValue> {
        let numbers = [subnet, state, kind, pool].map(SqlValue::Integer);
        [SqlValue::Null].into_iter().chain(numbers).collect()
    }

    #[test]
    fn rows_are_counted_by_their_places() {
        let rows = [[7, 0, 0, 2], [3, 0, 0, 2], [7, 0, 0, 1], [7, 2, 0, 1], [7, 4, 0, 1]].map(row);
        let table = SqlTable { name: "lease6", columns: COLUMNS };
        assert_eq!(
            counting(&table, &rows.concat()),
            [
                "INSERT INTO lease6_stat (subnet_id,lease_type,state,leases) VALUES \
                 (3,0,0,1),(7,0,0,2),(7,0,4,1) ON DUPLICATE KEY UPDATE leases=leases+VALUES(leases)",
                "INSERT INTO lease6_pool_stat (subnet_id,pool_id,lease_type,state,leases) VALUES \
                 (3,2,0,0,1),(7,1,0,0,1),(7,2,0,0,1) \
                 ON DUPLICATE KEY UPDATE leases=leases+VALUES(leases)",
            ]
        );
        // These are tables as in Kea 2.2, which has neither pools nor registered addresses.
        let table = SqlTable { name: "lease6", columns: &COLUMNS[..4] };
        let rows = [[7, 0, 0, 2], [7, 4, 0, 2]].map(|numbers| row(numbers)[..4].to_vec());
        assert_eq!(
            counting(&table, &rows.concat()),
            ["INSERT INTO lease6_stat (subnet_id,lease_type,state,leases) VALUES (7,0,0,1) \
              ON DUPLICATE KEY UPDATE leases=leases+VALUES(leases)"]
        );
    }

    #[test]
    fn what_does_not_count_makes_no_statement() {
        let table = SqlTable { name: "lease4", columns: &COLUMNS[..3] };
        let row = [SqlValue::Integer(1), SqlValue::Integer(7), SqlValue::Integer(2)];
        assert!(counting(&table, &row).is_empty());
        assert!(counting(&SqlTable { name: "hosts", columns: COLUMNS }, &[]).is_empty());
    }
}
