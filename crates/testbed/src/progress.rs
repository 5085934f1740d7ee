//! Progress of a long test, for the program that started the test and sees the test's output only
//! at its end.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Name of the environment variable with the path of the file for a test's progress.
pub const PROGRESS_FILE: &str = "GODWIT_PROGRESS_FILE";

/// Minimum interval between two writes of a test's progress.
const PERIOD: Duration = Duration::from_millis(500);

/// Progress of a test: the number of finished cases, of all its cases.
#[derive(Debug)]
pub struct TestProgress {
    file: Option<PathBuf>,
    total: u64,
    last_written: Option<Instant>,
}

impl TestProgress {
    /// Returns the progress of a test with `total` cases. It writes nothing unless
    /// [`PROGRESS_FILE`] is set.
    pub fn new(total: u64) -> Self {
        Self { file: std::env::var_os(PROGRESS_FILE).map(PathBuf::from), total, last_written: None }
    }

    /// Writes the number `done` of the test's finished cases to the progress file.
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
