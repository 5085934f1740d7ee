//! Error type of this crate: a failure of the environment.

use std::fmt;

/// Failed action, its object, and the reason: one sentence for the user at the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestbedError {
    tried: String,
    came_of_it: String,
}

impl TestbedError {
    /// Makes the error "`tried`: `came_of_it`", both without a full stop.
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
