//! Progress of a long test, for the program that started it: that sees the output of a test only at
//! its end.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Name of the environment variable with the file for the progress.
pub const PROGRESS_FILE: &str = "GODWIT_PROGRESS_FILE";

/// Interval between two notes.
const PERIOD: Duration = Duration::from_millis(500);

/// Number of finished cases, of all cases of a test.
#[derive(Debug)]
pub struct TestProgress {
    file: Option<PathBuf>,
    total: u64,
    last_written: Option<Instant>,
}

impl TestProgress {
    /// Returns the progress of a test with `total` cases. It writes nothing unless
    /// [`PROGRESS_FILE`] is set.
    #[must_use]
    pub fn new(total: u64) -> Self {
        Self { file: std::env::var_os(PROGRESS_FILE).map(PathBuf::from), total, last_written: None }
    }

    /// Writes that `done` cases are finished.
    pub fn write(&mut self, done: u64) {
        let Some(file) = &self.file else { return };
        if self.last_written.is_some_and(|noted| noted.elapsed() < PERIOD) {
            return;
        }
        self.last_written = Some(Instant::now());
        // A failure to show progress must not fail the test.
        fs::write(file, format!("{done} {}", self.total)).ok();
    }
}
