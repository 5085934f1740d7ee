//! Error type of the crate `testbed`: a failure of a measurement's environment.

use std::fmt;

use base::ToolError;

/// Failure of a measurement's environment: the action, its object, and the reason, as one sentence
/// for the user at the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestbedError {
    action: String,
    cause: String,
}

/// Result of an operation of a testbed.
pub(crate) type TestbedResult<T> = Result<T, TestbedError>;

impl TestbedError {
    /// Makes the error "`tried`: `came_of_it`", both without a full stop.
    pub fn new(tried: impl Into<String>, came_of_it: impl fmt::Display) -> Self {
        let came_of_it = came_of_it.to_string();
        Self { action: tried.into(), cause: came_of_it.trim().to_owned() }
    }
}

impl fmt::Display for TestbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.action, self.cause)
    }
}

impl std::error::Error for TestbedError {}

impl From<TestbedError> for ToolError {
    fn from(error: TestbedError) -> Self {
        Self::Failed(error.to_string())
    }
}
