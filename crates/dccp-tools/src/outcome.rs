//! Results of DCCP commands, their exit codes, and their output.

use base::{ToolError, ToolResult};

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

/// Prints `text` to the standard output; an error is a [`ToolError::Failed`].
pub(crate) fn print_text(text: &str) -> ToolResult<()> {
    netio::stdout::write(text).map_err(|error| ToolError::failed("print", error))
}
