//! Progress of the parts, as lines that appear at once.

use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::parts::RoundPart;

/// Progress of a run: the number of its parts, and the time that they took.
pub(super) struct LinuxRunProgress {
    began: Instant,
    parts: usize,
    expected_s: f64,
    /// True if lines bypass the capture of the test runner, for a waiting user.
    is_live: bool,
    done: Mutex<FinishedParts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct FinishedParts {
    parts: usize,
    /// Expected seconds of the finished parts.
    expected_s: f64,
}

impl LinuxRunProgress {
    pub(super) fn new(parts: &[RoundPart], is_live: bool) -> Self {
        if is_live {
            // The test runner has printed the name of the test without an end of line.
            write("\n");
        }
        let expected_s = parts.iter().map(|part| part.expected_s()).sum();
        let (began, parts, done) = (Instant::now(), parts.len(), Mutex::default());
        Self { began, parts, expected_s, is_live, done }
    }

    /// Prints a line that `cargo xtask dccp-linux` shows.
    pub(super) fn say(&self, line: &str) {
        if self.is_live {
            write(&format!("dccp-linux: {line}\n"));
        } else {
            println!("dccp-linux: {line}");
        }
    }

    /// Prints the result of a part, the number of finished parts, and the time until all are
    /// finished.
    pub(super) fn ended(&self, part: RoundPart, took: Duration, output_text: &str) {
        let done = {
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.parts += 1;
            done.expected_s += part.expected_s();
            *done
        };
        let passed_s = self.began.elapsed().as_secs_f64();
        let left_s = time_left(passed_s, done.expected_s, self.expected_s);
        self.say(&format!(
            "{:>3} of {}, {} passed, about {} left: {part}: {output_text}, {:.1} s",
            done.parts,
            self.parts,
            minutes(passed_s),
            minutes(left_s),
            took.as_secs_f64(),
        ));
    }
}

/// Writes to the standard output past the capture of the test runner.
fn write(text: &str) {
    let mut output = std::io::stdout();
    // Without a reader nothing is lost.
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

/// Returns the seconds until all is done, if `done_s` of the expected `expected_s` took `passed_s`.
fn time_left(passed_s: f64, done_s: f64, expected_s: f64) -> f64 {
    passed_s * (expected_s - done_s).max(0.0) / done_s.max(f64::MIN_POSITIVE)
}

/// Formats seconds as minutes and seconds.
fn minutes(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[test]
fn the_time_left_follows_from_the_pace_so_far() {
    // Twice as slow as expected.
    assert_eq!(minutes(time_left(60.0, 30.0, 300.0)), "9:00");
    assert_eq!(minutes(time_left(61.0, 300.0, 300.0)), "0:00");
}
