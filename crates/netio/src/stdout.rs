//! Standard output of a program, which may be a pipe without a reader, or a file on a full disk:
//! the macros of the standard library panic then.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};

use crate::signal;

/// True once the reader of the standard output has closed its end.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Writes `text` to the standard output, at once. A closed pipe (`| head -1`) is no error: its
/// reader has read enough. It requests the end of the command as a signal does
/// ([`crate::signal::Signals::stop`]).
///
/// # Errors
///
/// Another error of the output.
pub fn print(text: &str) -> io::Result<()> {
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
pub fn print_line(text: &str) -> io::Result<()> {
    print(&format!("{text}\n"))
}

/// Writes `text` as [`print()`] does, and on a terminal with the colors that `paint` adds to it,
/// unless the environment refuses colors (`NO_COLOR`, `CLICOLOR`, `TERM=dumb`).
///
/// # Errors
///
/// The errors of [`print()`].
pub fn print_painted(text: &str, paint: impl FnOnce(&str) -> String) -> io::Result<()> {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => print(text),
        _ => print(&paint(text)),
    }
}

/// Returns true if a write has found the standard output closed by its reader.
#[must_use]
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
