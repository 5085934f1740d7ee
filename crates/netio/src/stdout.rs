//! A program's standard output, which may be a pipe that nobody reads any more, or a file on a full
//! disk: the macros of the standard library panic then.

use std::io::{self, Write};

/// Writes `text` to the standard output, at once. Whoever closed the pipe (`| head -1`) has read
/// enough: that is no error, and what a program goes on to do and its exit code stay the same.
///
/// # Errors
///
/// Why the output does not take it otherwise.
pub fn print(text: &str) -> io::Result<()> {
    put(&mut io::stdout().lock(), text)
}

/// [`print`] with the end of a line.
///
/// # Errors
///
/// As [`print`].
pub fn print_line(text: &str) -> io::Result<()> {
    print(&format!("{text}\n"))
}

fn put(output: &mut impl Write, text: &str) -> io::Result<()> {
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output that fails with one kind of error.
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
        assert!(put(&mut Failing(io::ErrorKind::BrokenPipe), "text").is_ok());
        assert!(put(&mut Failing(io::ErrorKind::BrokenPipe), "").is_ok());
        let full = put(&mut Failing(io::ErrorKind::StorageFull), "text");
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
