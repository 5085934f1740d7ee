//! Progress of a long test, for the program that started it: the output of a test is seen when it
//! ends.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Environment variable with the file that the progress is written to.
pub const PROGRESS_FILE: &str = "GODWIT_PROGRESS_FILE";

/// Time between two notes.
const PERIOD: Duration = Duration::from_millis(500);

/// Cases that are done, of all cases of a test.
#[derive(Debug)]
pub struct Progress {
    file: Option<PathBuf>,
    total: u64,
    noted: Option<Instant>,
}

impl Progress {
    /// The progress of a test with `total` cases; nothing is written unless [`PROGRESS_FILE`] is
    /// set.
    #[must_use]
    pub fn of(total: u64) -> Self {
        Self { file: std::env::var_os(PROGRESS_FILE).map(PathBuf::from), total, noted: None }
    }

    /// Notes that `done` cases are done.
    pub fn note(&mut self, done: u64) {
        let Some(file) = &self.file else { return };
        if self.noted.is_some_and(|noted| noted.elapsed() < PERIOD) {
            return;
        }
        self.noted = Some(Instant::now());
        // Progress that cannot be shown is no reason to fail.
        fs::write(file, format!("{done} {}", self.total)).ok();
    }
}
