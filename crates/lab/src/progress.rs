//! Progress of a run at the terminal: a bar with the time that is left, or plain lines where the
//! output is not a terminal. The run's folder has the same messages, for readers elsewhere.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

use measure::record::RunRecord;
use netio::stderr;

use crate::journal::{JournalEntryKind, RunJournal};
use crate::runner::time::duration;

/// Number of characters of the progress bar between its brackets.
const BAR: usize = 12;

/// Writer of progress to the standard error output, and to the folder of a run.
#[derive(Debug)]
pub struct ProgressWriter {
    is_live: bool,
    began: Instant,
    /// Expected end of the current run, in seconds; `None` when unknown.
    ends_at_s: Option<f64>,
    /// Number of characters on the live line of the terminal.
    line_chars: usize,
    /// Number of columns of the terminal.
    columns: usize,
    journal: Option<RunJournal>,
}

impl Default for ProgressWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl ProgressWriter {
    /// Creates a writer with a live line when the standard error output is a terminal, with plain
    /// lines otherwise.
    #[must_use]
    pub fn new() -> Self {
        let is_live = std::io::stderr().is_terminal();
        let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).unwrap_or(80);
        Self {
            is_live,
            began: Instant::now(),
            ends_at_s: None,
            line_chars: 0,
            columns,
            journal: None,
        }
    }

    /// Starts the clock of the progress bar for a run that takes `whole_s` seconds.
    pub fn start_clock(&mut self, whole_s: f64) {
        self.began = Instant::now();
        self.ends_at_s = Some(whole_s);
    }

    /// Corrects the time that is left of the run to `left_s` seconds from now on.
    pub fn set_remaining(&mut self, left_s: f64) {
        self.ends_at_s = Some(self.began.elapsed().as_secs_f64() + left_s);
    }

    /// Also writes all further progress to the progress file in `folder`, which need not exist yet;
    /// `run` has the data known of the run.
    pub(crate) fn start_journal(&mut self, folder: &Path, run: &RunRecord) {
        self.journal = Some(RunJournal::new(folder, run));
    }

    /// Ends the progress file of the run in its result folder.
    pub(crate) fn end_journal(&mut self) {
        self.journal = None;
        self.ends_at_s = None;
    }

    fn note(&mut self, kind: JournalEntryKind, words: &str) {
        let at_s = self.began.elapsed().as_secs_f64();
        self.journal.iter_mut().for_each(|journal| journal.record(at_s, kind, words));
    }

    /// Shows the step in progress in `words`, on a terminal only; the next step replaces it.
    pub fn step(&mut self, words: &str) {
        self.note(JournalEntryKind::Step, words);
        self.show(words);
    }

    fn show(&mut self, words: &str) {
        if self.is_live {
            let elapsed_s = self.began.elapsed().as_secs_f64();
            let line = live_line(elapsed_s, self.ends_at_s, words, self.columns);
            self.line_chars = line.chars().count();
            stderr::print(format_args!("\r\x1b[K{line}"));
        }
    }

    /// Reports a finished step: on a terminal as part of the live line, elsewhere as a line.
    pub fn finish_step(&mut self, words: &str) {
        self.note(JournalEntryKind::Done, words);
        if self.is_live {
            self.show(words);
        } else {
            let times = times(self.began.elapsed().as_secs_f64(), self.ends_at_s);
            stderr::print_line(format_args!("[{times}] {words}"));
        }
    }

    /// Prints a message that remains visible on the terminal and in the run's progress file.
    pub fn print(&mut self, words: &str) {
        self.note(JournalEntryKind::Said, words);
        self.clear();
        stderr::print_line(words);
    }

    /// Removes the live line from the terminal.
    pub fn clear(&mut self) {
        if self.is_live && self.line_chars > 0 {
            stderr::print("\r\x1b[K");
            self.line_chars = 0;
        }
    }
}

impl Drop for ProgressWriter {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Formats the elapsed, the whole and the remaining time of a run, as far as the end is known.
fn times(elapsed_s: f64, ends_at_s: Option<f64>) -> String {
    let Some(ends_at_s) = ends_at_s else { return format!("{elapsed_s:>3.0} s") };
    let left_s = (ends_at_s - elapsed_s).max(0.0);
    let whole_s = ends_at_s.max(elapsed_s);
    format!("{elapsed_s:>3.0} of {whole_s:.0} s, {} left", duration(left_s))
}

/// Formats the line of a terminal with `columns` columns: a bar, times, words.
fn live_line(elapsed_s: f64, ends_at_s: Option<f64>, words: &str, columns: usize) -> String {
    let times = times(elapsed_s, ends_at_s);
    let line = match ends_at_s {
        None => format!("[{times}] {words}"),
        Some(ends_at_s) => {
            let share = if ends_at_s > 0.0 { (elapsed_s / ends_at_s).min(1.0) } else { 1.0 };
            let full = (share * BAR as f64) as usize;
            format!("[{}{}] {times}: {words}", "#".repeat(full), "-".repeat(BAR - full))
        }
    };
    line.chars().take(columns.saturating_sub(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_time_in_all_and_the_time_left() {
        assert_eq!(times(5.2, None), "  5 s");
        assert_eq!(times(35.0, Some(165.0)), " 35 of 165 s, 2 min 10 s left");
        assert_eq!(times(170.0, Some(165.0)), "170 of 170 s, 0 s left");
        let line = |elapsed_s| live_line(elapsed_s, Some(100.0), "search godwit: 9/s", 80);
        assert_eq!(line(0.0), "[------------]   0 of 100 s, 1 min 40 s left: search godwit: 9/s");
        assert_eq!(line(50.0), "[######------]  50 of 100 s, 50 s left: search godwit: 9/s");
        assert_eq!(line(130.0), "[############] 130 of 130 s, 0 s left: search godwit: 9/s");
        assert_eq!(live_line(5.0, None, "words", 80), "[  5 s] words");
        for columns in [0, 1, 20, 80] {
            let words = "ä".repeat(90);
            let length = live_line(9.0, Some(99.0), &words, columns).chars().count();
            assert_eq!(length, columns.saturating_sub(1));
        }
    }
}
