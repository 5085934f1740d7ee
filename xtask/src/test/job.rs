//! Job of a test run: a test program or some of its tests, run in parallel with others and judged
//! by its output.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::TestSession;
use super::child::{self, ProgramEnd};
use super::programs::{BuildOutputs, TestProgram};
use super::sandbox::Sandbox;
use super::tally::{CheckTally, read_output};
use crate::tidy::{CrateSuite, JobDivision};

/// Maximum time of a job, on a machine with much other load.
const LIMIT: Duration = Duration::from_secs(1800);
/// Number of tests of one job that run at a time.
const THREADS: &str = "2";
/// Name of the environment variable that identifies the processes of one job.
pub(crate) const JOB_MARKER: &str = "GODWIT_TEST_JOB";

/// Tests of a test program that a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TestSelection {
    /// All tests of the program.
    All,
    /// Tests of one module of the program, by their full names.
    Module {
        /// Name of the tests' module.
        name: String,
        /// Full names of the module's tests.
        tests: Vec<String>,
    },
    /// Single test of the program, by its full name.
    Test(String),
}

/// Job of a test run that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Name of the crate, which is the suite that the job counts for.
    pub(crate) suite: String,
    /// Test program that the job runs.
    pub(crate) program: TestProgram,
    /// Tests of the program that the job runs.
    pub(crate) tests: TestSelection,
    /// Path of the `godwit` binary, which tests of the product start.
    pub(crate) godwit: Option<PathBuf>,
}

impl Job {
    /// Returns the name of the job for lists and file names.
    pub(crate) fn name(&self) -> String {
        match &self.tests {
            TestSelection::Test(test) => format!("{} {test}", self.suite),
            TestSelection::Module { name, .. } => format!("{} {name}::*", self.suite),
            TestSelection::All if self.program.is_integration => {
                format!("{} (integration)", self.suite)
            }
            TestSelection::All => format!("{} (unit, {})", self.suite, self.program.target),
        }
    }

    /// Returns the command by which a user repeats the job.
    fn repetition(&self) -> String {
        let target = if self.program.is_integration { "--test main" } else { "--lib" };
        let command = format!("cargo test -p {} {target}", self.suite);
        match &self.tests {
            TestSelection::Test(test) => format!("{command} {test} -- --exact --show-output"),
            TestSelection::Module { name, .. } => format!("{command} {name}:: -- --show-output"),
            TestSelection::All => command,
        }
    }

    /// Starts the job as number `number` of this test run.
    pub(crate) fn start(self, session: &TestSession, number: usize) -> Result<RunningJob, String> {
        let words: Vec<String> =
            self.name().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect();
        let log = session.log(&format!("test-{}", words.join("-")));
        let sandbox = session.sandbox(&number.to_string())?;
        let marker = format!("{}-{number}", session.marker);
        let temporary = sandbox.temporary.display().to_string();
        let mut environment = session.environment();
        environment.retain(|(name, _)| name != "TMPDIR");
        environment.push(("TMPDIR".to_owned(), temporary));
        environment.push((JOB_MARKER.to_owned(), marker.clone()));
        let manifest = self.program.folder.display().to_string();
        environment.push(("CARGO_MANIFEST_DIR".to_owned(), manifest));
        environment.extend(
            self.godwit.iter().map(|path| ("GODWIT_BIN".to_owned(), path.display().to_string())),
        );
        let program = &self.program;
        let mut command =
            sandbox.command(session.privilege, &environment, &program.folder, &program.executable);
        command.arg("--show-output");
        match &self.tests {
            TestSelection::Test(test) => command.args(["--exact", test]),
            TestSelection::Module { tests, .. } => {
                command.args(["--test-threads", THREADS, "--exact"]).args(tests)
            }
            TestSelection::All => command.args(["--test-threads", THREADS]),
        };
        let failed = |error: std::io::Error| format!("{}: {error}", log.display());
        let output = File::create(&log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
        let child = child.map_err(|error| format!("cannot start {}: {error}", self.name()))?;
        Ok(RunningJob { job: self, child, marker, sandbox, log, started: Instant::now() })
    }
}

/// Job of a test run that is running.
#[derive(Debug)]
pub(crate) struct RunningJob {
    job: Job,
    child: Child,
    marker: String,
    sandbox: Sandbox,
    log: PathBuf,
    started: Instant,
}

/// Result of a job that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobResult {
    /// Name of the job for lists and file names.
    pub(crate) name: String,
    /// Name of the suite that the job counts for.
    pub(crate) suite: String,
    /// Time from the job's start to its end.
    pub(crate) duration: Duration,
    /// Processor time of the job's processes.
    pub(crate) processor_time: Duration,
    /// Counts of the job's tests by result.
    pub(crate) tally: CheckTally,
    /// Reasons for which tests were skipped.
    pub(crate) skip_reasons: Vec<String>,
    /// Kinds and names of the job's leftovers: processes, namespaces, files.
    pub(crate) leftovers: Vec<String>,
    /// Lines that explain the job's failure; empty if it passed.
    pub(crate) failure: Vec<String>,
}

impl RunningJob {
    /// Returns the job's result once the program has ended or was ended after its time; `None`
    /// before.
    pub(crate) fn poll(&mut self) -> Result<Option<JobResult>, String> {
        let failed = |error: std::io::Error| format!("cannot wait for a job: {error}");
        let end = match self.child.try_wait().map_err(failed)? {
            Some(status) => ProgramEnd::Status(status),
            None if self.started.elapsed() > LIMIT => {
                drop(self.child.kill());
                child::end_family(JOB_MARKER, &self.marker);
                self.child.wait().map_err(failed)?;
                ProgramEnd::TimeOut
            }
            None => return Ok(None),
        };
        let duration = self.started.elapsed();
        let octets = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&octets);
        let (mut tally, skip_reasons) = read_output(&text);
        if !end.is_success() {
            tally.failed = tally.failed.max(1);
        } else if self.job.tests != TestSelection::All && tally == CheckTally::default() {
            tally.failed = 1;
        }
        let mut failure = Vec::new();
        if tally.failed > 0 {
            let name = self.job.name();
            failure.push(format!("{name}: {}; log: {}", end.describe(), self.log.display()));
            failure.push(format!("repeat with: {}", self.job.repetition()));
            failure.extend(child::last_lines(&self.log, 60).lines().map(str::to_owned));
        }
        let leftovers = self.leftovers();
        drop(fs::remove_dir_all(&self.sandbox.temporary));
        Ok(Some(JobResult {
            name: self.job.name(),
            suite: self.job.suite.clone(),
            duration,
            processor_time: self.sandbox.processor_time(),
            tally,
            skip_reasons,
            leftovers,
            failure,
        }))
    }

    /// Returns the leftovers of the job (processes, namespaces, files), and ends the processes
    /// among them.
    fn leftovers(&self) -> Vec<String> {
        let mut leftovers = self.sandbox.leftovers();
        let processes = child::lasting(JOB_MARKER, &self.marker);
        leftovers
            .extend(processes.iter().map(|each| format!("process {} {}", each.pid, each.words)));
        child::end_family(JOB_MARKER, &self.marker);
        leftovers
    }
}

/// Returns the jobs of the suite of one crate.
pub(crate) fn jobs_of(suite: &CrateSuite, built: &BuildOutputs) -> Result<Vec<Job>, String> {
    let mut jobs = Vec::new();
    for program in built.programs.iter().filter(|program| program.folder == suite.folder) {
        let split = if program.is_integration { suite.split } else { JobDivision::Whole };
        let selections = match split {
            JobDivision::Whole => vec![TestSelection::All],
            JobDivision::ByModule => modules(program.tests()?),
            JobDivision::ByTest => program.tests()?.into_iter().map(TestSelection::Test).collect(),
        };
        jobs.extend(selections.into_iter().map(|tests| Job {
            suite: suite.name.clone(),
            program: program.clone(),
            tests,
            godwit: built.godwit.clone(),
        }));
    }
    Ok(jobs)
}

/// Groups tests by the first part of their names, their module.
fn modules(tests: Vec<String>) -> Vec<TestSelection> {
    let mut by_module: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for test in tests {
        let module = test.split("::").next().unwrap_or_default().to_owned();
        by_module.entry(module).or_default().push(test);
    }
    by_module.into_iter().map(|(name, tests)| TestSelection::Module { name, tests }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_grouped_by_module() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let module = |name: &str, tests: &[&str]| TestSelection::Module {
            name: name.to_owned(),
            tests: names(tests),
        };
        assert_eq!(
            modules(names(&["a::x", "b::c::y", "a::z"])),
            [module("a", &["a::x", "a::z"]), module("b", &["b::c::y"])]
        );
    }
}
