//! Error type of the lab, with exit codes.

use std::fmt;

use netio::NetError;
use testbed::TestbedError;

/// Error of the lab with a text for the user, by the action that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabError {
    /// Mistake in the arguments, the plan or a configuration. Exit code 2.
    Usage(String),
    /// Step that failed during the run: no permission, a missing program, a port in use. Exit code
    /// 1.
    Failed(String),
    /// Request of the user to stop. Exit code 130.
    Interrupted,
}

/// Result of an operation of the lab.
pub(crate) type LabResult<T> = Result<T, LabError>;

impl LabError {
    /// Returns the exit code of the process for this error.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
            Self::Interrupted => 130,
        }
    }

    /// Makes the error "cannot `what`: `error`".
    pub fn cannot(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::Failed(format!("cannot {what}: {error}"))
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(words) | Self::Failed(words) => f.write_str(words),
            Self::Interrupted => f.write_str("interrupted; nothing is left behind"),
        }
    }
}

impl std::error::Error for LabError {}

impl From<NetError> for LabError {
    fn from(error: NetError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<TestbedError> for LabError {
    fn from(error: TestbedError) -> Self {
        Self::Failed(error.to_string())
    }
}
