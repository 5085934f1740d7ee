//! A job: a program of tests or one test of it, started beside others and judged by what it printed.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::Session;
use super::child::{self, End};
use super::programs::{Built, TestProgram};
use super::sandbox::Sandbox;
use super::tally::{Tally, read_output};

/// Longest time for a job, on a machine that has much else to do.
const LIMIT: Duration = Duration::from_secs(1800);
/// Environment variable by which the processes of one job are found.
pub(crate) const JOB_MARKER: &str = "GODWIT_TEST_JOB";

/// A job that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Name of the crate, which is the suite that the job counts for.
    pub(crate) suite: String,
    /// Program of tests.
    pub(crate) program: TestProgram,
    /// The one test that the job runs; all tests of the program when there is none.
    pub(crate) test: Option<String>,
    /// The `godwit` binary, which tests of the product start.
    pub(crate) godwit: Option<PathBuf>,
}

impl Job {
    /// Returns the name of the job in lists and files.
    pub(crate) fn name(&self) -> String {
        match &self.test {
            Some(test) => format!("{} {test}", self.suite),
            None if self.program.is_integration => format!("{} (integration)", self.suite),
            None => format!("{} (unit, {})", self.suite, self.program.target),
        }
    }

    /// Returns the command that repeats the job.
    fn repetition(&self) -> String {
        let target = if self.program.is_integration { "--test main" } else { "--lib" };
        match &self.test {
            Some(test) => {
                format!("cargo test -p {} {target} {test} -- --exact --show-output", self.suite)
            }
            None => format!("cargo test -p {} {target}", self.suite),
        }
    }

    /// Starts the job as the one with `number` in this run.
    pub(crate) fn start(self, session: &Session, number: usize) -> Result<RunningJob, String> {
        let words: Vec<String> =
            self.name().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect();
        let log = session.log(&format!("test-{}", words.join("-")));
        let sandbox = session.sandbox(&format!("job-{number}"))?;
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
        match &self.test {
            Some(test) => command.args(["--exact", test]),
            None => command.args(["--test-threads", "2"]),
        };
        let failed = |error: std::io::Error| format!("{}: {error}", log.display());
        let output = File::create(&log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
        let child = child.map_err(|error| format!("cannot start {}: {error}", self.name()))?;
        Ok(RunningJob { job: self, child, marker, sandbox, log, started: Instant::now() })
    }
}

/// A job whose program runs.
#[derive(Debug)]
pub(crate) struct RunningJob {
    job: Job,
    child: Child,
    marker: String,
    sandbox: Sandbox,
    log: PathBuf,
    started: Instant,
}

/// A job that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobResult {
    /// Name of the job.
    pub(crate) name: String,
    /// Suite that it counts for.
    pub(crate) suite: String,
    /// Time from its start to its end.
    pub(crate) duration: Duration,
    /// Its tests by outcome.
    pub(crate) tally: Tally,
    /// Reasons for which tests were skipped.
    pub(crate) skip_reasons: Vec<String>,
    /// Kinds and names of what it left behind: processes, namespaces, files.
    pub(crate) leftovers: Vec<String>,
    /// Lines that explain its failure; none when it held.
    pub(crate) failure: Vec<String>,
}

impl RunningJob {
    /// Returns the result once the program has ended or has been ended after its time.
    pub(crate) fn poll(&mut self) -> Result<Option<JobResult>, String> {
        let failed = |error: std::io::Error| format!("cannot wait for a job: {error}");
        let end = match self.child.try_wait().map_err(failed)? {
            Some(status) => End::Status(status),
            None if self.started.elapsed() > LIMIT => {
                child::end_all(&child::marked_by(JOB_MARKER, &self.marker));
                drop(self.child.kill());
                self.child.wait().map_err(failed)?;
                End::TimeOut
            }
            None => return Ok(None),
        };
        let duration = self.started.elapsed();
        let octets = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&octets);
        let (mut tally, skip_reasons) = read_output(&text);
        if !end.is_success() {
            tally.failed = tally.failed.max(1);
        } else if self.job.test.is_some() && tally == Tally::default() {
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
            tally,
            skip_reasons,
            leftovers,
            failure,
        }))
    }

    /// Returns what the job left behind, and ends the processes among it.
    fn leftovers(&self) -> Vec<String> {
        let mut found = self.sandbox.leftovers();
        let processes = child::lasting(JOB_MARKER, &self.marker);
        found.extend(processes.iter().map(|each| format!("process {} {}", each.pid, each.words)));
        child::end_all(&processes);
        found
    }
}

/// Returns the jobs of a suite: each test of an integration program that waits for real programs is
/// a job, any other program is one as a whole.
pub(crate) fn jobs_of(
    suite: &str,
    folder: &std::path::Path,
    is_split: bool,
    built: &Built,
) -> Result<Vec<Job>, String> {
    let mut jobs = Vec::new();
    for program in built.programs.iter().filter(|program| program.folder == folder) {
        let job = |test: Option<String>| Job {
            suite: suite.to_owned(),
            program: program.clone(),
            test,
            godwit: built.godwit.clone(),
        };
        if is_split && program.is_integration {
            jobs.extend(program.tests()?.into_iter().map(|test| job(Some(test))));
        } else {
            jobs.push(job(None));
        }
    }
    Ok(jobs)
}
