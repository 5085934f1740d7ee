//! Progress of a long test suite: its tests write the number of finished cases into a file, one
//! test after the other.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Name of the environment variable with the path of the progress file, which the tests read:
/// `testbed::progress::PROGRESS_FILE`.
pub(super) const FILE: &str = "GODWIT_PROGRESS_FILE";

/// Time between two progress lines of a suite.
const PERIOD: Duration = Duration::from_secs(10);

/// Progress of one long suite.
#[derive(Debug)]
pub(super) struct SuiteProgress {
    suite: &'static str,
    tests: usize,
    file: PathBuf,
    /// Number of finished tests of the suite; the next field is the number of finished cases of the
    /// present test.
    finished: usize,
    done: u64,
    next: Duration,
}

impl SuiteProgress {
    /// Starts to watch the progress of `suite`, which has `tests` tests, in `file`.
    pub(super) fn new(suite: &'static str, tests: usize, file: PathBuf) -> Self {
        // The file of an earlier run does not count.
        fs::remove_file(&file).ok();
        Self { suite, tests, file, finished: 0, done: 0, next: PERIOD }
    }

    /// Returns a progress line for the user if one is due after `elapsed`.
    pub(super) fn look(&mut self, elapsed: Duration) -> Option<String> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        self.take(&text, elapsed)
    }

    fn take(&mut self, text: &str, elapsed: Duration) -> Option<String> {
        let (done, total) = text.split_once(' ')?;
        let (done, total): (u64, u64) = (done.parse().ok()?, total.parse().ok()?);
        // A smaller number comes from the next test.
        self.finished += usize::from(done < self.done);
        self.done = done;
        if elapsed < self.next {
            return None;
        }
        self.next = elapsed + PERIOD;
        let share = (self.finished as f64 + done as f64 / total.max(1) as f64) / self.tests as f64;
        let left_s = match share {
            0.0 => return None,
            _ => (elapsed.as_secs_f64() * (1.0 - share) / share).round().max(0.0) as u64,
        };
        let (minutes, seconds) = (left_s / 60, left_s % 60);
        let percent = (share * 100.0).round() as u64;
        Some(format!("{:<20} {percent:>3} %, {minutes} min {seconds:02} s left", self.suite))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_cases_of_all_tests() {
        let mut watch = SuiteProgress::new("leases-sqlite", 2, PathBuf::from("/nowhere/progress"));
        let mut progress = |text: &str, seconds| watch.take(text, Duration::from_secs(seconds));
        assert_eq!(progress("", 20), None);
        assert_eq!(progress("0 1000", 20), None);
        let line = progress("500 1000", 40).unwrap();
        assert_eq!(line, "leases-sqlite         25 %, 2 min 00 s left");
        assert_eq!(progress("600 1000", 45), None, "every ten seconds");
        assert_eq!(progress("10", 60), None);
        let line = progress("100 1000", 110).unwrap();
        assert_eq!(line, "leases-sqlite         55 %, 1 min 30 s left");
    }
}
