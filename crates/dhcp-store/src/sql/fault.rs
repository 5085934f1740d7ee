//! Error codes of database servers by their meaning for a round: connect again, repeat the round at
//! once, repeat it without the row that does not fit, or give up.
//!
//! Codes that are in no table here count as permanent: the round is repeated over a new connection,
//! too, since that loses nothing, but the caller cannot expect success.

use crate::database::DatabaseFault;

/// Error codes of MariaDB and MySQL after which this connection, or this node, is useless.
const MYSQL_CONNECTION_LOST: [u16; 22] = [
    // Too many connections, of all and of this user; this host is blocked.
    1040, 1203, 1226, 1129,
    // A node of a cluster that is not ready, or not with the others.
    1047, // The server ends; the connection was cut, or a user ended it.
    1053, 1079, 1152, 1927, 3169, 4031, // The network.
    1158, 1159, 1160, 1161, 1184,
    // Galera: the commit failed because the node lost the others.
    1180, // Read-only: `read_only`, a transaction, a server, and MySQL's groups.
    1290, 1792, 1836, 3100, 3796,
];

/// Error codes of MariaDB and MySQL after which the round (a transaction with lease rows) may be
/// repeated at once: lock wait timeout, deadlock (also Galera's, at a statement or at the commit),
/// a row changed since it was read, an interrupted statement, a transaction that its replication
/// group rolled back, a row that another connection has just inserted.
const MYSQL_CONFLICTS: [u16; 6] = [1205, 1213, 1020, 1317, 3101, 1062];

/// Error codes of MariaDB and MySQL for errors that a value causes and whose SQLSTATEs do not show
/// this: data truncated, no such character, wrong value, check failed, expression out of range,
/// JSON nested too deep for a stack.
const MYSQL_DATA: [u16; 7] = [1265, 1300, 1366, 1411, 3819, 4025, 1436];
/// Classes of SQLSTATEs that a value causes: data exceptions, violated constraints and checks of
/// views, and errors that an operator's trigger raises.
const DATA_CLASSES: [&str; 4] = ["22", "23", "44", "45"];
/// PostgreSQL's SQLSTATE for an error that an operator's trigger raises.
const POSTGRESQL_RAISED: &str = "P0001";

/// PostgreSQL's SQLSTATEs after which this connection, or this server, is useless.
const POSTGRESQL_CONNECTION_LOST: [&str; 9] = [
    // Read-only: a standby, or a server that has become one.
    "25006", // A session that was idle for too long, in a transaction and outside.
    "25P03", "57P05", // Whether a statement was carried out is not known.
    "40003", // Too many connections.
    "53300",
    // Ended by an administrator, by a crash; starting or ending; the database was dropped.
    "57P01", "57P02", "57P03", "57P04",
];
/// PostgreSQL's class of SQLSTATEs for connection exceptions.
const POSTGRESQL_CONNECTION_LOST_CLASS: &str = "08";

/// PostgreSQL's SQLSTATEs after which the round (a transaction with lease rows) may be repeated at
/// once: serialization failure, deadlock, integrity at the end of a transaction, a lock that was
/// not free, an interrupted statement, a row that another connection has just inserted.
const POSTGRESQL_CONFLICTS: [&str; 6] = ["40001", "40P01", "40002", "55P03", "57014", "23505"];

/// PostgreSQL's class of SQLSTATEs for limits that a value exceeds: the size of an index entry, the
/// depth of a nesting.
const POSTGRESQL_LIMITS_CLASS: &str = "54";

fn is_of_data(state: &str) -> bool {
    DATA_CLASSES.iter().any(|class| state.starts_with(class))
}

/// Returns the kind of fault that MariaDB or MySQL means by `code` with the SQLSTATE `state`.
pub(super) fn from_mysql(code: u16, state: &str) -> DatabaseFault {
    match code {
        _ if MYSQL_CONNECTION_LOST.contains(&code) => DatabaseFault::ConnectionLost,
        _ if MYSQL_CONFLICTS.contains(&code) => DatabaseFault::Conflict,
        _ if MYSQL_DATA.contains(&code) || is_of_data(state) => DatabaseFault::Data,
        _ => DatabaseFault::Permanent,
    }
}

/// Returns the kind of fault that PostgreSQL means by the SQLSTATE `state`.
pub(super) fn from_postgresql(state: &str) -> DatabaseFault {
    match state {
        _ if state.starts_with(POSTGRESQL_CONNECTION_LOST_CLASS) => DatabaseFault::ConnectionLost,
        _ if POSTGRESQL_CONNECTION_LOST.contains(&state) => DatabaseFault::ConnectionLost,
        _ if POSTGRESQL_CONFLICTS.contains(&state) => DatabaseFault::Conflict,
        POSTGRESQL_RAISED => DatabaseFault::Data,
        _ if is_of_data(state) || state.starts_with(POSTGRESQL_LIMITS_CLASS) => DatabaseFault::Data,
        _ => DatabaseFault::Permanent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_mariadb_and_mysql_have_their_meaning() {
        for (code, fault) in [
            (1047, DatabaseFault::ConnectionLost),
            (1053, DatabaseFault::ConnectionLost),
            (1180, DatabaseFault::ConnectionLost),
            (1290, DatabaseFault::ConnectionLost),
            (1836, DatabaseFault::ConnectionLost),
            (1927, DatabaseFault::ConnectionLost),
            (1205, DatabaseFault::Conflict),
            (1213, DatabaseFault::Conflict),
            (1062, DatabaseFault::Conflict),
            // Access denied, no such table, no more space.
            (1045, DatabaseFault::Permanent),
            (1146, DatabaseFault::Permanent),
            (1021, DatabaseFault::Permanent),
        ] {
            assert_eq!(from_mysql(code, "HY000"), fault, "{code}");
        }
        // Data too long, no such state of leases, a value that is no JSON, no such character.
        for (code, state) in
            [(1406, "22001"), (1452, "23000"), (3140, "22032"), (1366, "HY000"), (1644, "45000")]
        {
            assert_eq!(from_mysql(code, state), DatabaseFault::Data, "{code}");
        }
        assert_eq!(from_mysql(1062, "23000"), DatabaseFault::Conflict, "a row where none was");
        assert!(MYSQL_CONNECTION_LOST.iter().all(|code| !MYSQL_CONFLICTS.contains(code)));
    }

    #[test]
    fn states_of_postgresql_have_their_meaning() {
        for (state, fault) in [
            ("08006", DatabaseFault::ConnectionLost),
            ("25006", DatabaseFault::ConnectionLost),
            ("53300", DatabaseFault::ConnectionLost),
            ("57P01", DatabaseFault::ConnectionLost),
            ("57P03", DatabaseFault::ConnectionLost),
            ("40001", DatabaseFault::Conflict),
            ("40P01", DatabaseFault::Conflict),
            ("23505", DatabaseFault::Conflict),
            // Too long, a zero in a text or in JSON, no such state of leases, too long for an
            // index.
            ("22001", DatabaseFault::Data),
            ("22021", DatabaseFault::Data),
            ("22P05", DatabaseFault::Data),
            ("23503", DatabaseFault::Data),
            ("54000", DatabaseFault::Data),
            // A trigger of the operator.
            ("P0001", DatabaseFault::Data),
            // No password, no such table, no more space.
            ("28P01", DatabaseFault::Permanent),
            ("42P01", DatabaseFault::Permanent),
            ("53100", DatabaseFault::Permanent),
        ] {
            assert_eq!(from_postgresql(state), fault, "{state}");
        }
    }
}
