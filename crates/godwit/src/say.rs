//! Output of the commands that have only a few lines to say, and how such a command ends.

use std::fmt::Display;
use std::process::ExitCode;

use netio::{stderr, stdout};

/// Writes a line to the standard output.
///
/// # Errors
///
/// Why the output does not take it, in words.
pub(crate) fn line(text: impl Display) -> Result<(), String> {
    stdout::print_line(&text.to_string())
        .map_err(|error| format!("cannot write to standard output: {error}"))
}

/// Returns the exit code of a command that came to `done`, after printing the error, if any.
pub(crate) fn ended(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            stderr::print_line(format_args!("error: {problem}"));
            ExitCode::FAILURE
        }
    }
}
