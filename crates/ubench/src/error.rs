//! What can go wrong: the arguments, or the environment.

use std::fmt;

/// Why nothing was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UbenchError {
    /// What was asked for does not make sense; nothing was started.
    Usage(String),
    /// Something was tried and did not work.
    Failed(String),
}

impl UbenchError {
    /// Arguments that do not make sense.
    pub fn usage(why: impl Into<String>) -> Self {
        Self::Usage(why.into())
    }

    /// "cannot `tried`: `came_of_it`".
    pub fn failed(tried: impl fmt::Display, came_of_it: impl fmt::Display) -> Self {
        Self::Failed(format!("cannot {tried}: {came_of_it}"))
    }

    /// Takes a message that is whole.
    pub fn said(message: impl fmt::Display) -> Self {
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
