//! What the person at the terminal sees while a run goes on: one live line, or plain lines where
//! the output is not a terminal.

use std::io::{IsTerminal, Write};
use std::time::Instant;

/// Writes progress to the standard error output.
#[derive(Debug)]
pub struct Progress {
    is_live: bool,
    began: Instant,
    /// Characters on the live line.
    shown: usize,
    /// Columns of the terminal.
    columns: usize,
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress {
    /// A live line when the standard error output is a terminal, plain lines otherwise.
    #[must_use]
    pub fn new() -> Self {
        let is_live = std::io::stderr().is_terminal();
        let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).unwrap_or(80);
        Self { is_live, began: Instant::now(), shown: 0, columns }
    }

    /// What is being done right now. Only on a terminal; the next one replaces it.
    pub fn step(&mut self, words: &str) {
        if self.is_live {
            let line = format!("[{:>3} s] {words}", self.began.elapsed().as_secs());
            let line: String = line.chars().take(self.columns - 1).collect();
            self.shown = line.chars().count();
            write(&format!("\r\x1b[K{line}"));
        }
    }

    /// Something that was done: on a terminal it is part of the live line, elsewhere a line.
    pub fn done(&mut self, words: &str) {
        if self.is_live {
            self.step(words);
        } else {
            write(&format!("[{:>3} s] {words}\n", self.began.elapsed().as_secs()));
        }
    }

    /// Something that stays to be read everywhere.
    pub fn say(&mut self, words: &str) {
        self.clear();
        write(&format!("{words}\n"));
    }

    /// Takes the live line away.
    pub fn clear(&mut self) {
        if self.is_live && self.shown > 0 {
            write("\r\x1b[K");
            self.shown = 0;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A closed standard error output is no reason to end a measurement.
fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}
