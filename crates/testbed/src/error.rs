//! The one error of this crate: something of the environment did not work.

use std::fmt;

/// What was tried, on what, and what came of it: one sentence for the person at the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestbedError {
    tried: String,
    came_of_it: String,
}

impl TestbedError {
    /// "`tried`: `came_of_it`", both without a full stop.
    pub fn new(tried: impl Into<String>, came_of_it: impl fmt::Display) -> Self {
        let came_of_it = came_of_it.to_string();
        Self { tried: tried.into(), came_of_it: came_of_it.trim().to_owned() }
    }
}

impl fmt::Display for TestbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tried, self.came_of_it)
    }
}

impl std::error::Error for TestbedError {}
