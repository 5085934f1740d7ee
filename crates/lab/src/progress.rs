//! What the person at the terminal sees while a run goes on: one live line, or plain lines where
//! the output is not a terminal. The same goes to the run's folder, for who looks at it from elsewhere.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

use measure::record::Run;
use netio::stderr;

use crate::journal::{Journal, Kind};

/// Writes progress to the standard error output, and to the folder of a run.
#[derive(Debug)]
pub struct Progress {
    is_live: bool,
    began: Instant,
    /// Characters on the live line.
    shown: usize,
    /// Columns of the terminal.
    columns: usize,
    journal: Option<Journal>,
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
        Self { is_live, began: Instant::now(), shown: 0, columns, journal: None }
    }

    /// From now on what happens is also told in `folder`, which need not be there yet; `run` is what is
    /// known of the run.
    pub(crate) fn tell(&mut self, folder: &Path, run: &Run) {
        self.journal = Some(Journal::new(folder, run));
    }

    /// The run that was told of is over.
    pub(crate) fn tell_no_more(&mut self) {
        self.journal = None;
    }

    fn note(&mut self, kind: Kind, words: &str) {
        let at_s = self.began.elapsed().as_secs_f64();
        self.journal.iter_mut().for_each(|journal| journal.note(at_s, kind, words));
    }

    /// What is being done right now. Only on a terminal; the next one replaces it.
    pub fn step(&mut self, words: &str) {
        self.note(Kind::Step, words);
        self.show(words);
    }

    fn show(&mut self, words: &str) {
        if self.is_live {
            let line = format!("[{:>3} s] {words}", self.began.elapsed().as_secs());
            let line: String = line.chars().take(self.columns - 1).collect();
            self.shown = line.chars().count();
            stderr::print(format_args!("\r\x1b[K{line}"));
        }
    }

    /// Something that was done: on a terminal it is part of the live line, elsewhere a line.
    pub fn done(&mut self, words: &str) {
        self.note(Kind::Done, words);
        if self.is_live {
            self.show(words);
        } else {
            stderr::print_line(format_args!("[{:>3} s] {words}", self.began.elapsed().as_secs()));
        }
    }

    /// Something that stays to be read everywhere.
    pub fn say(&mut self, words: &str) {
        self.note(Kind::Said, words);
        self.clear();
        stderr::print_line(words);
    }

    /// Takes the live line away.
    pub fn clear(&mut self) {
        if self.is_live && self.shown > 0 {
            stderr::print("\r\x1b[K");
            self.shown = 0;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
