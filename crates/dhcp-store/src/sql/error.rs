//! The error of a database: what was tried and what came of it.

use std::fmt;

use crate::database::Fault;

/// What a database did not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    tried: String,
    came_of_it: String,
    fault: Fault,
}

impl SqlError {
    /// "cannot `tried`: `came_of_it`"; permanent until something else is said.
    pub(super) fn new(tried: impl Into<String>, came_of_it: impl fmt::Display) -> Self {
        let came_of_it = came_of_it.to_string();
        Self { tried: tried.into(), came_of_it, fault: Fault::Permanent }
    }

    /// The same, with what can be done about it.
    pub(super) const fn with(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self
    }

    /// The connection is gone, whatever was said.
    pub(super) const fn lost(self, is_lost: bool) -> Self {
        if is_lost { self.with(Fault::Lost) } else { self }
    }

    /// Another transaction was in the way.
    pub(super) const fn conflict(self, is_conflict: bool) -> Self {
        if is_conflict { self.with(Fault::Conflict) } else { self }
    }

    /// What can be done about it.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        self.fault
    }

    /// What came of it, without what was tried.
    pub(super) fn cause(&self) -> &str {
        &self.came_of_it
    }

    /// Whether a new connection may help, be it to another host.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self.fault, Fault::Lost)
    }

    /// Whether the whole transaction may be tried again at once: a dead lock, a failed
    /// certification (Galera), a serialization failure, a busy SQLite file.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self.fault, Fault::Conflict)
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.tried, self.came_of_it)
    }
}

impl std::error::Error for SqlError {}
