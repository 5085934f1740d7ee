//! A program's standard error, which may be a pipe without a reader: the macros of the standard
//! library panic then.

use std::fmt::Display;
use std::io::{self, Write as _};

/// Writes `text` to the standard error. A failure is ignored: there is nowhere left to report it.
pub fn print(text: impl Display) {
    // One write, so that the lines of several threads do not mix.
    let _ = io::stderr().lock().write_all(text.to_string().as_bytes());
}

/// Writes the text of [`print`] and a line end.
pub fn print_line(text: impl Display) {
    print(format_args!("{text}\n"));
}
