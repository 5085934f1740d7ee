//! Errors of the micro-benchmarks: invalid arguments, or operations that failed.

use std::fmt;

/// Reason why the micro-benchmark measured nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UbenchError {
    /// Invalid arguments, with the reason; the measurement did not start.
    Usage(String),
    /// Operation that failed, with the error.
    Failed(String),
}

impl UbenchError {
    /// Creates an error for invalid arguments, with the reason `why`.
    pub fn usage(why: impl Into<String>) -> Self {
        Self::Usage(why.into())
    }

    /// Creates an error of a failed operation with the message "cannot `tried`: `came_of_it`".
    pub fn failed(tried: impl fmt::Display, came_of_it: impl fmt::Display) -> Self {
        Self::Failed(format!("cannot {tried}: {came_of_it}"))
    }

    /// Creates an error of a failed operation from a complete message.
    pub fn from_message(message: impl fmt::Display) -> Self {
        Self::Failed(message.to_string())
    }
}

impl fmt::Display for UbenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for UbenchError {}
