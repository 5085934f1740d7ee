//! Error of an SQL database: the operation that failed, and the database's message.

use std::fmt;

use crate::database::DatabaseFault;

/// Failed operation of an SQL database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    operation: String,
    cause: String,
    fault: DatabaseFault,
}

impl SqlError {
    /// Creates the error "cannot `tried`: `came_of_it`", permanent unless a later call changes
    /// that.
    pub(super) fn new(tried: impl Into<String>, came_of_it: impl fmt::Display) -> Self {
        let came_of_it = came_of_it.to_string();
        Self { operation: tried.into(), cause: came_of_it, fault: DatabaseFault::Permanent }
    }

    /// Returns the error with the kind of failure `fault`.
    pub(super) const fn with(mut self, fault: DatabaseFault) -> Self {
        self.fault = fault;
        self
    }

    /// Marks the error as a lost connection if `is_connection_lost`, and otherwise leaves its kind.
    pub(super) const fn lost(self, is_connection_lost: bool) -> Self {
        if is_connection_lost { self.with(DatabaseFault::ConnectionLost) } else { self }
    }

    /// Marks the error as a conflict with another transaction if `is_conflict`.
    pub(super) const fn conflict(self, is_conflict: bool) -> Self {
        if is_conflict { self.with(DatabaseFault::Conflict) } else { self }
    }

    /// Returns the kind of the failed operation's fault, by what the caller can do about it.
    #[must_use]
    pub const fn fault(&self) -> DatabaseFault {
        self.fault
    }

    /// Returns the database's message about the failed operation, without the name of the
    /// operation.
    pub(super) fn cause(&self) -> &str {
        &self.cause
    }

    /// Returns true if a new database connection may help, possibly to another host.
    #[must_use]
    pub const fn is_connection_lost(&self) -> bool {
        matches!(self.fault, DatabaseFault::ConnectionLost)
    }

    /// Returns true if the whole database transaction may be tried again at once: a deadlock, a
    /// failed certification (Galera), a serialization failure, a busy SQLite file.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self.fault, DatabaseFault::Conflict)
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.operation, self.cause)
    }
}

impl std::error::Error for SqlError {}
