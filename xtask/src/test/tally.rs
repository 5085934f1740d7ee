//! Counts of passed, failed and skipped checks of a test run, suite by suite.

use std::fmt;
use std::ops::AddAssign;

use crate::output;

/// Checks of a suite, counted by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckTally {
    /// Number of checks that passed.
    pub(crate) passed: usize,
    /// Number of checks that failed.
    pub(crate) failed: usize,
    /// Number of checks that could not run on this machine.
    pub(crate) skipped: usize,
}

impl CheckTally {
    /// Returns the tally of one check, passed if `holds`.
    pub(crate) fn one(holds: bool) -> Self {
        Self { passed: usize::from(holds), failed: usize::from(!holds), skipped: 0 }
    }

    /// Returns the tally of `count` skipped checks.
    pub(crate) fn left_out(count: usize) -> Self {
        Self { skipped: count, ..Self::default() }
    }

    /// Counts one check, and prints `what` if `holds` is false.
    pub(crate) fn check(&mut self, holds: bool, what: &str) {
        if !holds {
            output::print_line(format_args!("    does not hold: {what}"));
        }
        *self += Self::one(holds);
    }
}

impl AddAssign for CheckTally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for CheckTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Parses the output of a test program with `--show-output`: its result lines, and the tests that
/// printed `skipped: ` and returned. Returns the counts and the reasons, each once.
pub(crate) fn read_output(text: &str) -> (CheckTally, Vec<String>) {
    let mut tally = CheckTally::default();
    let mut reasons: Vec<String> = Vec::new();
    let mut skipped_tests = 0;
    let mut is_counted = true;
    for line in text.lines() {
        if line.starts_with("---- ") && line.ends_with(" ----") {
            is_counted = false;
        } else if let Some(reason) = line.strip_prefix("skipped: ") {
            skipped_tests += usize::from(!is_counted);
            is_counted = true;
            if !reasons.iter().any(|known| known == reason) {
                reasons.push(reason.to_owned());
            }
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            tally += read_counts(counts);
        }
    }
    // A test that skips itself counts as passed in its program.
    let skipped_tests = skipped_tests.min(tally.passed);
    tally.passed -= skipped_tests;
    tally.skipped += skipped_tests;
    (tally, reasons)
}

/// Parses the counts in a result line such as `ok. 3 passed; 0 failed; 1 ignored; ...`
fn read_counts(text: &str) -> CheckTally {
    let count = |name: &str| {
        text.split(['.', ';'])
            .find_map(|part| part.trim().strip_suffix(name)?.trim().parse().ok())
            .unwrap_or(0)
    };
    CheckTally { passed: count("passed"), failed: count("failed"), skipped: count("ignored") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_summed() {
        let text = "running 4 tests\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.00s\n\
            test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(read_output(text).0, CheckTally { passed: 14, failed: 3, skipped: 1 });
        assert_eq!(read_output("killed\n").0, CheckTally::default());
    }

    #[test]
    fn tests_that_skip_themselves_have_not_passed() {
        let text = "successes:\n\n---- a stdout ----\nskipped: no tshark\nskipped: no tshark\n\n\
            ---- b stdout ----\nskipped: no root\n\n---- c stdout ----\nfine\n\n\
            test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let (tally, reasons) = read_output(text);
        assert_eq!(tally, CheckTally { passed: 3, failed: 0, skipped: 2 });
        assert_eq!(reasons, ["no tshark", "no root"]);
    }
}
