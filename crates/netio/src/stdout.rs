//! Standard output of a program, which may be a pipe without a reader, or a file on a full disk:
//! the macros of the standard library panic then.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use base::{ToolError, ToolResult};

use crate::{NetError, signal};

/// True once the reader of the standard output has closed its end.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Writes `text` to the standard output, at once. A closed pipe (`| head -1`) is no error: its
/// reader has read enough. It requests the end of the command as a signal does
/// ([`crate::signal::Signals::stop`]).
///
/// # Errors
///
/// Another error of the output.
pub fn print(text: &str) -> Result<(), NetError> {
    write(text).map_err(NetError::on("write to", "standard output"))
}

/// Writes `text` as [`print()`] does.
///
/// # Errors
///
/// The kernel's error of the output, without the action that failed.
pub fn write(text: &str) -> io::Result<()> {
    if put(&mut io::stdout().lock(), text)? == PipeReaderState::Closed {
        IS_CLOSED.store(true, Ordering::Release);
        signal::ask_to_stop();
    }
    Ok(())
}

/// Writes `text` as [`print()`] does, and a line end.
///
/// # Errors
///
/// The errors of [`print()`].
pub fn print_line(text: &str) -> Result<(), NetError> {
    print(&format!("{text}\n"))
}

/// Writes `text` as [`print()`] does, and on a terminal with the colors that `paint` adds to it,
/// unless the environment refuses colors (`NO_COLOR`, `CLICOLOR`, `TERM=dumb`).
///
/// # Errors
///
/// The errors of [`print()`].
pub fn print_painted(text: &str, paint: impl FnOnce(&str) -> String) -> Result<(), NetError> {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => print(text),
        _ => print(&paint(text)),
    }
}

/// Prints `text` as [`print_painted`] does, and writes the text of `json` as a line to the file
/// that `path` names; for `-` prints that line alone.
///
/// # Errors
///
/// The errors of [`print()`] and of the file.
pub fn print_or_write(
    path: Option<&Path>,
    json: impl FnOnce() -> String,
    text: &str,
    paint: impl FnOnce(&str) -> String,
) -> ToolResult<()> {
    if let Some(path) = path {
        if path.as_os_str() == "-" {
            return Ok(print_line(&json())?);
        }
        fs::write(path, json() + "\n").map_err(ToolError::cannot("write", path.display()))?;
    }
    Ok(print_painted(text, paint)?)
}

/// Returns true if a write has found the standard output closed by its reader.
pub fn is_closed() -> bool {
    IS_CLOSED.load(Ordering::Acquire)
}

/// State of the reader of the standard output after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PipeReaderState {
    Reading,
    Closed,
}

fn put(output: &mut impl Write, text: &str) -> io::Result<PipeReaderState> {
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => Ok(PipeReaderState::Reading),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(PipeReaderState::Closed),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output that fails with one kind of error.
    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _octets: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn only_a_reader_that_has_gone_is_no_error() {
        for text in ["text", ""] {
            let closed = put(&mut Failing(io::ErrorKind::BrokenPipe), text);
            assert_eq!(closed.unwrap(), PipeReaderState::Closed);
        }
        let full = put(&mut Failing(io::ErrorKind::StorageFull), "text");
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(put(&mut Vec::new(), "text").unwrap(), PipeReaderState::Reading);
    }
}
