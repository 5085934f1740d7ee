//! Settings and states that a database server reports, as names and values.

use std::collections::BTreeMap;

use super::super::database::Database;
use super::super::error::SqlError;
use super::super::settings::SqlDatabaseKind;

/// Names of a database server's settings and states, with their values.
pub(in crate::sql) type Facts = BTreeMap<String, String>;

/// SQL queries to MariaDB and MySQL for settings and states; a Galera node also reports the state
/// of its cluster.
const MYSQL: [&str; 2] = [
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'innodb_flush_log_at_trx_commit', \
     'log_bin', 'sync_binlog', 'innodb_doublewrite', 'innodb_flush_method', 'wsrep_on', 'wsrep_provider_options', \
     'wsrep_dirty_reads')",
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_local_state', \
     'wsrep_local_state_comment', 'wsrep_cluster_status')",
];

/// SQL queries to PostgreSQL for its settings and states.
const POSTGRESQL: [&str; 1] = ["SELECT name, setting FROM pg_settings WHERE name IN \
     ('fsync', 'synchronous_commit', 'full_page_writes', 'default_transaction_read_only') \
     UNION ALL SELECT 'in_recovery', pg_is_in_recovery()::text"];

/// State of a Galera node that has all data of its cluster, and does not delay other nodes.
const SYNCED: &str = "4";

/// Settings with which a database server may lose commits in a power cut, each with the values that
/// have this effect.
const FORGETTING: [(&str, &[&str]); 6] = [
    ("innodb_flush_log_at_trx_commit", &["0", "2"]),
    ("innodb_doublewrite", &["OFF", "DETECT_ONLY"]),
    ("fsync", &["off"]),
    ("synchronous_commit", &["off"]),
    ("full_page_writes", &["off"]),
    ("innodb_flush_method", &["nosync", "littlesync"]),
];

/// Options of Galera with which two parts of a cluster continue alone, each with leases of its own.
const SPLITTING: [&str; 2] = ["pc.ignore_sb", "pc.ignore_quorum"];

/// Queries the server of `database` for its settings and states.
///
/// # Errors
///
/// Returns the error of a query.
pub(in crate::sql) fn facts(
    database: &mut Database,
    backend: SqlDatabaseKind,
) -> Result<Facts, SqlError> {
    let queries: &[&str] = match backend {
        SqlDatabaseKind::Mysql => &MYSQL,
        SqlDatabaseKind::Postgresql => &POSTGRESQL,
        SqlDatabaseKind::Sqlite => &[],
    };
    let mut facts = Facts::new();
    for query in queries {
        facts.extend(database.pairs(query)?);
    }
    Ok(facts)
}

fn is(facts: &Facts, name: &str, value: &str) -> bool {
    facts.get(name).is_some_and(|other| other.eq_ignore_ascii_case(value))
}

/// Returns true if the server that reported `facts` is a node of a Galera cluster.
pub(in crate::sql) fn is_of_cluster(facts: &Facts) -> bool {
    is(facts, "wsrep_on", "ON")
}

/// Returns the reason why leases cannot be written at the server that reported `facts`; `None` if
/// they can.
pub(in crate::sql) fn objection(facts: &Facts) -> Option<String> {
    if is(facts, "in_recovery", "true") {
        return Some("it is a standby".to_owned());
    }
    let read_only = ["read_only", "default_transaction_read_only"];
    if let Some(name) = read_only.into_iter().find(|name| is(facts, name, "on")) {
        return Some(format!("it is read-only ({name})"));
    }
    if !is_of_cluster(facts) {
        return None;
    }
    if !is(facts, "wsrep_cluster_status", "Primary") {
        return Some(
            "its part of the Galera cluster is not the primary component (wsrep_cluster_status)"
                .to_owned(),
        );
    }
    if !is(facts, "wsrep_ready", "ON") {
        return Some("the node is not ready (wsrep_ready)".to_owned());
    }
    if !is(facts, "wsrep_local_state", SYNCED) {
        let state = facts.get("wsrep_local_state_comment").map_or("unknown", String::as_str);
        return Some(format!("the node is not synced: its state is {state}"));
    }
    None
}

/// Returns notes for the operator about the settings of the server that reported `facts`, one line
/// each.
pub(in crate::sql) fn weaknesses(facts: &Facts) -> Vec<String> {
    let forgets = "a power cut may lose acknowledged leases";
    let mut notes = Vec::new();
    for (name, values) in FORGETTING {
        if let Some(value) = values.iter().find(|value| is(facts, name, value)) {
            notes.push(format!("{name} is {value}: {forgets}"));
        }
    }
    let syncs = facts.get("sync_binlog").map_or("1", String::as_str);
    if is(facts, "log_bin", "ON") && syncs != "1" {
        notes.push(format!("log_bin is on and sync_binlog is {syncs}: {forgets}"));
    }
    if !is_of_cluster(facts) {
        return notes;
    }
    let options = facts.get("wsrep_provider_options").map_or("", String::as_str);
    let options = options.split(';').filter_map(|option| option.split_once('='));
    for (name, value) in options {
        let (name, value) = (name.trim(), value.trim());
        if SPLITTING.contains(&name) && matches!(value, "true" | "yes" | "1" | "on") {
            notes.push(format!(
                "{name} is {value}: a cluster that splits may assign an address twice"
            ));
        }
    }
    if is(facts, "wsrep_dirty_reads", "ON") {
        notes.push(
            "wsrep_dirty_reads is ON: a node without connection to the others returns old leases"
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Facts {
        let pair = |word: &str| {
            let (name, value) = word.split_once(':').unwrap();
            (name.to_owned(), value.to_owned())
        };
        text.split(' ').filter(|word| !word.is_empty()).map(pair).collect()
    }

    const NODE: &str = "wsrep_on:ON wsrep_ready:ON wsrep_cluster_status:Primary \
                        wsrep_local_state:4 wsrep_local_state_comment:Synced";

    #[test]
    fn nodes_that_cannot_be_written_to_are_passed_over_with_a_reason() {
        assert_eq!(objection(&facts("read_only:OFF wsrep_on:OFF wsrep_ready:OFF")), None);
        assert_eq!(objection(&facts(NODE)), None);
        assert!(is_of_cluster(&facts(NODE)));
        for (from, to, words) in [
            ("Primary", "non-Primary", "not the primary component"),
            ("ready:ON", "ready:OFF", "not ready"),
            ("state:4", "state:2", "its state is Synced"),
        ] {
            let why = objection(&facts(&NODE.replace(from, to))).unwrap();
            assert!(why.contains(words), "{why}");
        }
        for (facts_text, words) in [
            ("in_recovery:true", "standby"),
            ("default_transaction_read_only:on", "read-only (default_transaction_read_only)"),
            ("read_only:ON", "read-only (read_only)"),
        ] {
            let why = objection(&facts(facts_text)).unwrap();
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn what_weakens_is_told() {
        let strong = "innodb_flush_log_at_trx_commit:1 innodb_doublewrite:ON log_bin:OFF \
                      sync_binlog:0 fsync:on synchronous_commit:remote_write full_page_writes:on";
        assert_eq!(weaknesses(&facts(strong)), Vec::<String>::new());
        let weak = "innodb_flush_log_at_trx_commit:2 innodb_doublewrite:OFF log_bin:ON \
                    sync_binlog:0 fsync:off synchronous_commit:off full_page_writes:off";
        assert_eq!(weaknesses(&facts(weak)).len(), 6);
        let mut node = facts(NODE);
        let options = "gcache.size = 8M; pc.ignore_quorum = false; pc.ignore_sb = true; x";
        node.insert("wsrep_provider_options".to_owned(), options.to_owned());
        let notes = weaknesses(&node);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].starts_with("pc.ignore_sb is true: "), "{notes:?}");
    }
}
