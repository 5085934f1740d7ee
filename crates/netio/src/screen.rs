//! View that fills the terminal and is redrawn repeatedly. It needs a terminal of ECMA-48 with an
//! alternate screen.
#![allow(unsafe_code, reason = "ioctl")]

use std::io;

use crate::{check, stdout};

/// Escape sequence (ECMA-48) that switches to the alternate screen and hides the cursor; the next
/// constant switches back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// Escape sequence that moves to the first line; the next constants erase to the end of the line
/// and of the screen.
const HOME: &str = "\x1b[H";
const LINE_END: &str = "\x1b[K\n";
const SCREEN_END: &str = "\x1b[J";

/// Alternate screen of the terminal, left when the value is dropped.
#[derive(Debug)]
pub struct Screen(());

/// Size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenSize {
    /// Number of the terminal's columns.
    pub columns: usize,
    /// Number of the terminal's rows.
    pub rows: usize,
}

/// Returns the size of the terminal at the standard output; `None` if there is no terminal, or its
/// size is unknown.
pub fn size() -> Option<ScreenSize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: `size` outlives the call, which writes nothing else.
    let result = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ as _, &raw mut size) };
    check(result).ok()?;
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    (columns > 0 && rows > 0).then_some(ScreenSize { columns, rows })
}

impl Screen {
    /// Switches the terminal to the alternate screen.
    ///
    /// # Errors
    ///
    /// The error of the output.
    pub fn enter() -> io::Result<Self> {
        stdout::write(ENTER).map(|()| Self(()))
    }

    /// Shows the lines of `text` on the screen and nothing else.
    ///
    /// # Errors
    ///
    /// The error of the output.
    pub fn show(&self, text: &str) -> io::Result<()> {
        stdout::write(&frame(text))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // If the terminal has gone, there is nothing to switch back.
        stdout::write(LEAVE).ok();
    }
}

/// Returns the characters and escape sequences that make a terminal show the lines of `text`.
fn frame(text: &str) -> String {
    let mut frame = HOME.to_owned();
    for line in text.lines() {
        frame.push_str(line);
        frame.push_str(LINE_END);
    }
    frame + SCREEN_END
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_frame_left_is_erased() {
        assert_eq!(frame("one\n\ntwo\n"), "\x1b[Hone\x1b[K\n\x1b[K\ntwo\x1b[K\n\x1b[J");
        assert_eq!(frame(""), "\x1b[H\x1b[J");
    }
}
