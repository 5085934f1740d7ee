//! A view that fills the terminal and is drawn again and again. What a terminal of ECMA-48 knows, and
//! its other screen, are enough for it.

use std::io;

use crate::stdout;

/// The other screen without a cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// To the first line; to the end of the line; to the end of the screen.
const HOME: &str = "\x1b[H";
const LINE_END: &str = "\x1b[K\n";
const SCREEN_END: &str = "\x1b[J";

/// The terminal's other screen, until the value goes.
#[derive(Debug)]
pub struct Screen(());

impl Screen {
    /// Turns to it.
    ///
    /// # Errors
    ///
    /// Why the output does not take it.
    pub fn enter() -> io::Result<Self> {
        stdout::print(ENTER).map(|()| Self(()))
    }

    /// Shows the lines of `text` and nothing else.
    ///
    /// # Errors
    ///
    /// Why the output does not take it.
    pub fn show(&self, text: &str) -> io::Result<()> {
        stdout::print(&frame(text))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that has gone needs no going back.
        stdout::print(LEAVE).ok();
    }
}

/// What a terminal is sent, so that it shows the lines of `text`.
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
