//! Standard output of the xtask commands, which may be a pipe whose reader has closed its end
//! (`| head`): the macros of the standard library panic then. `netio` has this for the products;
//! xtask is built without `netio`.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Prints `text` and a line end. Prints nothing more once the reader of the output has closed its
/// end; the command continues to its verdict.
pub(crate) fn print_line(text: impl Display) {
    print(format_args!("{text}\n"));
}

/// Prints `text` to the standard output as [`print_line`] does, without a line end.
pub(crate) fn print(text: impl Display) {
    if cfg!(test) {
        // The test harness collects what the macros of the standard library print, and no more.
        std::print!("{text}");
        return;
    }
    write(&mut io::stdout().lock(), text).expect("standard output takes text");
}

fn write(output: &mut impl Write, text: impl Display) -> io::Result<()> {
    match write!(output, "{text}").and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_without_a_reader_is_no_error_and_a_full_disk_is_one() {
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        write(&mut writer, "a\n").unwrap();
        let mut full = std::fs::File::create("/dev/full").unwrap();
        assert_eq!(write(&mut full, "a\n").unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
