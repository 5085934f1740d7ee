//! Results of DCCP commands, their exit codes, and their output.

/// Result of a command that ran without an error: done, fallen short or interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DccpCommandOutcome {
    /// Command that has done all its work.
    Done,
    /// Command that ran but achieved less than requested, such as a lower rate.
    FellShort,
    /// Command that a signal has ended.
    Interrupted,
}

impl DccpCommandOutcome {
    /// Returns the exit code of the command.
    pub(crate) fn code(self) -> u8 {
        match self {
            // A reader that has closed the output has all that it wanted.
            Self::Interrupted if netio::stdout::is_closed() => 0,
            Self::Done => 0,
            Self::FellShort => 3,
            Self::Interrupted => 130,
        }
    }
}

/// Error of a command: invalid flags, or a failure while the command ran.
#[derive(Debug)]
pub enum ToolError {
    /// Invalid flags, with the reason.
    Usage(String),
    /// Error while the command ran, with its reason.
    Failed(String),
}

impl ToolError {
    /// Returns the exit code for the error: 2 for invalid flags, otherwise 1.
    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ToolError {}

impl From<dccp_link::DccpError> for ToolError {
    fn from(error: dccp_link::DccpError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Prints `text` to the standard output; an error is a [`ToolError::Failed`].
pub(crate) fn print_text(text: &str) -> Result<(), ToolError> {
    netio::stdout::print(text).map_err(|error| ToolError::Failed(format!("cannot print: {error}")))
}
