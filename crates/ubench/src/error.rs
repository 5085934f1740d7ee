//! Errors of the crate: in the arguments, or in the environment.

use std::fmt;

/// Reason why nothing was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UbenchError {
    /// Invalid arguments; nothing was started.
    Usage(String),
    /// Failed operation.
    Failed(String),
}

impl UbenchError {
    /// Creates an error for invalid arguments.
    pub fn usage(why: impl Into<String>) -> Self {
        Self::Usage(why.into())
    }

    /// Creates the error "cannot `tried`: `came_of_it`".
    pub fn failed(tried: impl fmt::Display, came_of_it: impl fmt::Display) -> Self {
        Self::Failed(format!("cannot {tried}: {came_of_it}"))
    }

    /// Creates an error from a complete message.
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
