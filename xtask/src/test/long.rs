//! Long test suites with any number of cases, of which the test command runs a sample:
//! `cargo xtask crash`, `cargo xtask ha`, `cargo xtask hostile`, `cargo xtask differ` and `cargo
//! xtask dccp-linux`.
//!
//! A suite is some tests of one integration program. They read the number of cases and the seed
//! from their environment, and print their results on lines that begin with the name of the
//! command. The run shows such a line as soon as it is in the log of the suite.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::TestSession;
use super::child;
use super::programs::{self, BuildOutputs};
use super::progress::{self, SuiteProgress};
use super::tally::{CheckTally, read_output};
use crate::output;

/// Maximum time for the start and end of a long suite, without its cases.
const SUITE_LIMIT: Duration = Duration::from_secs(300);

/// Long suite: a group of tests of a crate's integration program.
pub(super) struct LongSuite {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    pub(super) tests: &'static [&'static str],
}

/// Command of long suites, such as `crash`, with its suites.
pub(crate) struct LongSuites {
    /// Name of the xtask command. The tests print their results on lines that begin with this name.
    pub(crate) command: &'static str,
    pub(super) suites: &'static [LongSuite],
    /// Flag of the command for the number of cases.
    pub(crate) count_flag: &'static str,
    /// Default number of cases of each suite.
    pub(crate) count_default: u64,
    /// Names of the environment variables that the tests read: numbers of cases, and the seed.
    pub(super) count_variables: &'static [&'static str],
    pub(super) seed_variables: &'static [&'static str],
    /// Name of the environment variable with the parts to run, if suites consist of parts: `--only`
    /// may then name parts, which the tests know.
    pub(super) part_variable: Option<&'static str>,
    /// Maximum time of a suite for each case.
    pub(super) case_limit: Duration,
}

/// Request of the user: number of cases, seed and suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SuiteRequest {
    /// Number of cases for each suite.
    pub(crate) count: u64,
    /// Seed from which the random cases follow.
    pub(crate) seed: u64,
    /// Name of the only suite to run, or of the parts to run.
    pub(crate) only: Option<String>,
}

/// Runs the long suites that `request` chooses, and returns true if none failed.
pub(crate) fn run(root: &Path, long: &LongSuites, request: &SuiteRequest) -> Result<bool, String> {
    let (suites, parts) = choose(long, request)?;
    let mut session = TestSession::begin(root)?;
    session.requires_tools = session.privilege.is_root();
    let built = programs::build_integration_programs(&session, "build-long")?;
    let mut total = CheckTally::default();
    for suite in suites {
        total += run_suite(&session, long, suite, request, parts, &built)?;
    }
    drop(session);
    output::print_line(total);
    Ok(total.failed == 0)
}

/// Returns the long suites to run, and the parts of them to run if not all.
fn choose<'a>(
    long: &LongSuites,
    request: &'a SuiteRequest,
) -> Result<(Vec<&'static LongSuite>, Option<&'a str>), String> {
    let all = long.suites.iter();
    let Some(only) = request.only.as_deref() else { return Ok((all.collect(), None)) };
    let named: Vec<&LongSuite> = all.clone().filter(|suite| suite.name == only).collect();
    if !named.is_empty() {
        return Ok((named, None));
    }
    if long.part_variable.is_some() {
        return Ok((all.collect(), Some(only)));
    }
    let names: Vec<&str> = all.map(|suite| suite.name).collect();
    Err(format!("there is no such suite; there are {}", names.join(", ")))
}

fn run_suite(
    session: &TestSession,
    long: &LongSuites,
    suite: &LongSuite,
    request: &SuiteRequest,
    parts: Option<&str>,
    built: &BuildOutputs,
) -> Result<CheckTally, String> {
    let program = built.integration_program(suite.package)?;
    let log = session.log(&format!("{}-{}", long.command, suite.name));
    let mut command = Command::new(&program.executable);
    command
        .args(["--exact", "--show-output", "--test-threads=1"])
        .args(suite.tests)
        .current_dir(&program.folder)
        .envs(session.environment())
        .envs(long.count_variables.iter().map(|name| (name, request.count.to_string())))
        .envs(long.seed_variables.iter().map(|name| (name, request.seed.to_string())))
        .envs(long.part_variable.zip(parts));
    let started = Instant::now();
    let count = u32::try_from(request.count).unwrap_or(u32::MAX);
    let limit = SUITE_LIMIT.saturating_add(long.case_limit.saturating_mul(count));
    let file = log.with_extension("progress");
    command.env(progress::FILE, &file);
    let mut watch = SuiteProgress::new(suite.name, suite.tests.len(), file);
    let look = || watch.look(started.elapsed()).into_iter().for_each(output::print_line);
    let begin = format!("{}: ", long.command);
    let show = |line: &str| {
        if let Some(counts) = line.strip_prefix(&begin) {
            output::print_line(format_args!("    {counts}"));
        }
    };
    let end = child::run_watched(&mut command, &session.marker, &log, limit, show, look)?;
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    let (mut tally, reasons) = read_output(&text);
    let is_whole = tally.passed + tally.skipped == suite.tests.len();
    if !(end.is_success() && is_whole) {
        tally.failed = tally.failed.max(1);
    }
    output::print_line(format_args!(
        "{:<20} {:>7.1} s   {tally}",
        suite.name,
        started.elapsed().as_secs_f64()
    ));
    reasons.iter().for_each(|reason| output::print_line(format_args!("    left out: {reason}")));
    if tally.failed > 0 {
        output::print_line(format_args!(
            "    {}; the whole log: {}",
            end.describe(),
            log.display()
        ));
        output::print(child::last_lines(&log, 30));
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{crash, dccp_linux, dccp_worlds, differ, ha, hostile};
    use super::*;

    #[test]
    fn every_suite_has_a_name_of_its_own_and_tests_that_exist() {
        let crates = crate::workspace_root().join("crates");
        for long in [
            &crash::SUITES,
            &ha::SUITES,
            &hostile::SUITES,
            &differ::SUITES,
            &dccp_linux::SUITES,
            &dccp_worlds::SUITES,
        ] {
            let names: BTreeSet<&str> = long.suites.iter().map(|suite| suite.name).collect();
            assert_eq!(names.len(), long.suites.len());
            for suite in long.suites {
                let is_there = |test: &&str| {
                    let mut parts = test.rsplit("::");
                    let (name, folder) = (parts.next().unwrap_or(test), test.split("::").next());
                    let tests = crates.join(suite.package).join("tests").join(folder.unwrap_or(""));
                    contains(&tests, &format!("fn {name}("))
                };
                let missing: Vec<_> = suite.tests.iter().filter(|test| !is_there(test)).collect();
                assert_eq!(missing, [&""; 0], "{}", suite.name);
            }
        }
    }

    /// Returns true if a file in `folder` or below it contains `text`.
    fn contains(folder: &Path, text: &str) -> bool {
        fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
            let path = entry.path();
            let is_in = || fs::read_to_string(&path).is_ok_and(|content| content.contains(text));
            if path.is_dir() { contains(&path, text) } else { is_in() }
        })
    }

    #[test]
    fn an_unknown_suite_is_refused() {
        let request = SuiteRequest { count: 1, seed: 1, only: Some("none".to_owned()) };
        let refusal = run(Path::new("/"), &crash::SUITES, &request).unwrap_err();
        assert!(refusal.contains("server-v4"));
    }

    #[test]
    fn only_names_a_suite_or_parts_where_there_are_parts() {
        let choice = |long: &LongSuites, only: Option<&str>| {
            let request = SuiteRequest { count: 1, seed: 1, only: only.map(str::to_owned) };
            choose(long, &request).map(|(suites, parts)| (suites.len(), parts.map(str::to_owned)))
        };
        assert_eq!(choice(&crash::SUITES, Some("server-v4")), Ok((1, None)));
        assert_eq!(choice(&crash::SUITES, None), Ok((crash::SUITES.suites.len(), None)));
        assert_eq!(choice(&dccp_linux::SUITES, Some("linux-6.1")), Ok((1, None)));
        assert_eq!(choice(&dccp_linux::SUITES, Some("echo")), Ok((1, Some("echo".to_owned()))));
    }
}
