//! Output of commands that print only a few lines, and the exit codes of such commands.

use std::fmt::Display;
use std::process::ExitCode;

use netio::{stderr, stdout};

/// Writes a line to the standard output.
///
/// # Errors
///
/// The reason of a failed write, as text.
pub(crate) fn print_line(text: impl Display) -> Result<(), String> {
    stdout::print_line(&text.to_string()).map_err(|error| error.to_string())
}

/// Returns the exit code for the result `done` of a command, after printing the error, if any.
pub(crate) fn exit_code(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            stderr::print_line(format_args!("error: {problem}"));
            ExitCode::FAILURE
        }
    }
}
