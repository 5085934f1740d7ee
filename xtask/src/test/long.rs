//! `cargo xtask crash`, `cargo xtask hostile` and `cargo xtask differ`: long suites, of which the test command runs a
//! sample, with as many cases as one likes.
//!
//! A suite is some tests of one integration program, which read how many cases and which seed from
//! their environment and print what came of them on lines that begin with the name of the command.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Session;
use super::child;
use super::programs::{self, Built};
use super::tally::{Tally, read_output};

/// Longer than any suite takes to begin and end.
const SUITE_LIMIT: Duration = Duration::from_secs(300);

/// Some tests of the integration program of a crate.
pub(super) struct Suite {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    pub(super) tests: &'static [&'static str],
}

/// A command with its suites.
pub(crate) struct LongSuites {
    /// Name of the command. The tests print what came of them on lines that begin with it.
    pub(crate) command: &'static str,
    pub(super) suites: &'static [Suite],
    /// Flag for the number of cases.
    pub(crate) count_flag: &'static str,
    /// Cases of each suite where nothing is said.
    pub(crate) count_default: u64,
    /// Environment variables that the tests read: numbers of cases, and the seed.
    pub(super) count_variables: &'static [&'static str],
    pub(super) seed_variables: &'static [&'static str],
    /// Longer than any suite takes for a case.
    pub(super) case_limit: Duration,
}

/// Cases, seed and suite that the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SuiteRequest {
    /// How many cases for each suite.
    pub(crate) count: u64,
    /// Where they are drawn from.
    pub(crate) seed: u64,
    /// Only the suite of this name.
    pub(crate) only: Option<String>,
}

/// Runs the suites; true when nothing failed.
pub(crate) fn run(root: &Path, long: &LongSuites, request: &SuiteRequest) -> Result<bool, String> {
    let is_wished = |suite: &&Suite| request.only.as_ref().is_none_or(|name| name == suite.name);
    let suites: Vec<&Suite> = long.suites.iter().filter(is_wished).collect();
    if suites.is_empty() {
        let names: Vec<&str> = long.suites.iter().map(|suite| suite.name).collect();
        return Err(format!("there is no such suite; there are {}", names.join(", ")));
    }
    let mut session = Session::begin(root)?;
    session.requires_tools = session.privilege.is_root();
    let built = programs::build_integration_programs(&session, "build-long")?;
    let mut total = Tally::default();
    for suite in suites {
        total += run_suite(&session, long, suite, request, &built)?;
    }
    drop(session);
    println!("{total}");
    Ok(total.failed == 0)
}

fn run_suite(
    session: &Session,
    long: &LongSuites,
    suite: &Suite,
    request: &SuiteRequest,
    built: &Built,
) -> Result<Tally, String> {
    let program = built.integration_program(suite.package)?;
    let log = session.log(&format!("{}-{}", long.command, suite.name));
    let mut command = Command::new(&program.executable);
    command
        .args(["--exact", "--show-output", "--test-threads=1"])
        .args(suite.tests)
        .current_dir(&program.folder)
        .envs(session.environment())
        .envs(long.count_variables.iter().map(|name| (name, request.count.to_string())))
        .envs(long.seed_variables.iter().map(|name| (name, request.seed.to_string())));
    let started = Instant::now();
    let count = u32::try_from(request.count).unwrap_or(u32::MAX);
    let limit = SUITE_LIMIT.saturating_add(long.case_limit.saturating_mul(count));
    let end = child::run(&mut command, &session.marker, &log, limit)?;
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    let (mut tally, reasons) = read_output(&text);
    let is_whole = tally.passed + tally.skipped == suite.tests.len();
    if !(end.is_success() && is_whole) {
        tally.failed = tally.failed.max(1);
    }
    println!("{:<20} {:>7.1} s   {tally}", suite.name, started.elapsed().as_secs_f64());
    reasons.iter().for_each(|reason| println!("    left out: {reason}"));
    let begin = format!("{}: ", long.command);
    text.lines().filter_map(|line| line.strip_prefix(&begin)).for_each(|counts| {
        println!("    {counts}");
    });
    if tally.failed > 0 {
        println!("    {}; the whole log: {}", end.describe(), log.display());
        print!("{}", child::last_lines(&log, 30));
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{crash, differ, hostile};
    use super::*;

    #[test]
    fn every_suite_has_a_name_of_its_own_and_tests_that_exist() {
        let crates = crate::workspace_root().join("crates");
        for long in [&crash::SUITES, &hostile::SUITES, &differ::SUITES] {
            let names: BTreeSet<&str> = long.suites.iter().map(|suite| suite.name).collect();
            assert_eq!(names.len(), long.suites.len());
            for suite in long.suites {
                let is_there = |test: &&str| {
                    let mut parts = test.rsplit("::");
                    let (name, folder) = (parts.next().unwrap_or(test), test.split("::").next());
                    let tests = crates.join(suite.package).join("tests").join(folder.unwrap_or(""));
                    fs::read_dir(tests).into_iter().flatten().flatten().any(|file| {
                        let text = fs::read_to_string(file.path()).unwrap_or_default();
                        text.contains(&format!("fn {name}("))
                    })
                };
                let missing: Vec<_> = suite.tests.iter().filter(|test| !is_there(test)).collect();
                assert_eq!(missing, [&""; 0], "{}", suite.name);
            }
        }
    }

    #[test]
    fn an_unknown_suite_is_refused() {
        let request = SuiteRequest { count: 1, seed: 1, only: Some("none".to_owned()) };
        let refusal = run(Path::new("/"), &crash::SUITES, &request).unwrap_err();
        assert!(refusal.contains("server-v4"));
    }
}
