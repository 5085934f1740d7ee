//! The error of a database: what was tried and what came of it.

use std::fmt;

/// What a database did not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    tried: String,
    came_of_it: String,
    is_lost: bool,
    is_conflict: bool,
}

impl SqlError {
    /// "cannot `tried`: `came_of_it`".
    pub(super) fn new(tried: impl Into<String>, came_of_it: impl fmt::Display) -> Self {
        let came_of_it = came_of_it.to_string();
        Self { tried: tried.into(), came_of_it, is_lost: false, is_conflict: false }
    }

    /// The connection is gone.
    pub(super) const fn lost(mut self, is_lost: bool) -> Self {
        self.is_lost = is_lost;
        self
    }

    /// Another transaction was in the way.
    pub(super) const fn conflict(mut self, is_conflict: bool) -> Self {
        self.is_conflict = is_conflict;
        self
    }

    /// Whether a new connection may help.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Whether the whole transaction may be tried again at once: a dead lock, a failed
    /// certification (Galera), a serialization failure, a busy SQLite file.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        self.is_conflict
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.tried, self.came_of_it)
    }
}

impl std::error::Error for SqlError {}
