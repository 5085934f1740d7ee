//! Standard error of a program, which may be a pipe without a reader: the macros of the standard
//! library panic then.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use base::ToolResult;

/// Beginnings of lines that have a color on a terminal, each with its escape sequence (ECMA-48,
/// SGR).
const COLORED: [(&str, &str); 3] =
    [("error:", "\x1b[1;31m"), ("fell short:", "\x1b[1;31m"), ("warning:", "\x1b[33m")];
/// Escape sequence that ends a color.
const PLAIN: &str = "\x1b[0m";

/// Writes `text` to the standard error. A failure is ignored: there is nowhere left to report it.
pub fn print(text: impl Display) {
    let mut text = text.to_string();
    if AutoStream::choice(&io::stderr()) != ColorChoice::Never {
        text = painted(&text);
    }
    // One write, so that the lines of several threads do not mix.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Returns `text` with its beginning colored, if it is an error or a warning.
fn painted(text: &str) -> String {
    for (word, color) in COLORED {
        if let Some(rest) = text.strip_prefix(word) {
            return format!("{color}{word}{PLAIN}{rest}");
        }
    }
    text.to_owned()
}

/// Writes `text` to the standard error as [`print()`] does, and a line end.
pub fn print_line(text: impl Display) {
    print(format_args!("{text}\n"));
}

/// Writes each line of `text` to the standard error as an error of its own.
pub fn print_errors(text: impl Display) {
    for line in text.to_string().lines() {
        print_line(format_args!("error: {line}"));
    }
}

/// Returns the exit code of a command that ended as `done` says; prints the error of one that
/// failed.
pub fn exit_code(done: ToolResult<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        print_line(format_args!("error: {error}"));
        ExitCode::from(error.exit_code())
    })
}

/// Returns the exit code of a command as [`exit_code`] does; prints each line of the error as an
/// error of its own.
pub fn exit_code_with_errors(done: ToolResult<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        print_errors(&error);
        ExitCode::from(error.exit_code())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_warnings_begin_in_color() {
        assert_eq!(painted("error: no\n"), "\x1b[1;31merror:\x1b[0m no\n");
        assert_eq!(painted("warning: slow"), "\x1b[33mwarning:\x1b[0m slow");
        for plain in ["an error: no", "round 1", ""] {
            assert_eq!(painted(plain), plain);
        }
    }
}
