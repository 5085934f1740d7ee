//! Error that ends a command of the tools.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// Error that ends a command, by its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolError {
    /// Invalid request of the user: the text has all problems.
    Usage(String),
    /// Operation that the machine or the peer refused, or that failed, with its error.
    Failed(String),
}

/// Result of an operation of a tool.
pub type ToolResult<T> = Result<T, ToolError>;

impl ToolError {
    /// Returns the exit code of a command that ends with this error.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }

    /// Returns a function that converts the cause of a failure:
    /// `.map_err(ToolError::cannot("write to", "standard output"))`.
    pub fn cannot<E: fmt::Display>(tried: &str, on: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |cause| Self::Failed(format!("cannot {tried} {on}: {cause}"))
    }

    /// Returns the error that contains all `problems` of a request, a line each; nothing if there
    /// is none.
    pub fn refuse(problems: &[String]) -> ToolResult<()> {
        if problems.is_empty() { Ok(()) } else { Err(Self::Usage(problems.join("\n"))) }
    }

    /// Creates an error for invalid arguments, with the reason `why`.
    pub fn usage(why: impl Into<String>) -> Self {
        Self::Usage(why.into())
    }

    /// Creates an error of a failed operation with the message "cannot `tried`: `cause`".
    pub fn failed(tried: impl fmt::Display, cause: impl fmt::Display) -> Self {
        Self::Failed(format!("cannot {tried}: {cause}"))
    }

    /// Creates an error of a failed operation from a complete message.
    pub fn from_message(message: impl fmt::Display) -> Self {
        Self::Failed(message.to_string())
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl core::error::Error for ToolError {}
