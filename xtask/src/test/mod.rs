//! Command `cargo xtask test`: every check that must pass, suite by suite.
//!
//! The run builds the test programs once; their jobs then run side by side ([`schedule`]), each in
//! a sandbox of its own ([`sandbox`]). After a failed job it shows the end of its log and the
//! command that repeats it, and goes on. The last line is always `N passed, M failed, K skipped`.

mod busy;
mod changed;
pub(crate) mod child;
mod clean_up;
mod clients;
pub(crate) mod crash;
pub(crate) mod dccp_linux;
pub(crate) mod dccp_worlds;
pub(crate) mod debian;
pub(crate) mod differ;
pub(crate) mod ha;
pub(crate) mod hostile;
mod job;
mod leftovers;
mod lints;
mod linux;
pub(crate) mod long;
mod main_job;
pub(crate) mod pages;
pub(crate) mod privilege;
mod programs;
mod progress;
mod receive_queue;
mod sandbox;
mod schedule;
pub(crate) mod setup;
pub(crate) mod tally;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::output;
use crate::package;
use crate::tidy::{self, CheckExtent, CrateSuite};
use busy::BusyMachine;
pub(crate) use busy::{WORD as BUSY_WORD, keep_busy};
use clean_up::CleanUp;
pub(crate) use clean_up::{WORD as CLEAN_UP_WORD, clean_up_after};
use job::JobResult;
use lints::RunningLints;
use main_job::JobUser;
use privilege::Privilege;
use programs::BuildOutputs;
use sandbox::Sandbox;
use tally::CheckTally;

/// Options of the command `cargo xtask test`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// True if the run must not install packages on the machine.
    pub(crate) is_install_skipped: bool,
    /// Names of the suites to run; all when empty.
    pub(crate) suites: Vec<String>,
    /// Git revision since which a crate must have changed to be tested.
    pub(crate) changed_since: Option<String>,
    /// Number of times that the run executes the tests.
    pub(crate) repetitions: u32,
    /// True if other processes keep the machine busy during the tests.
    pub(crate) is_busy: bool,
}

impl Default for TestOptions {
    fn default() -> Self {
        Self {
            is_install_skipped: false,
            suites: Vec::new(),
            changed_since: None,
            repetitions: 1,
            is_busy: false,
        }
    }
}

/// Test run: folders, marker and options that its suites share.
pub(crate) struct TestSession {
    /// Folder of the workspace.
    pub(crate) root: PathBuf,
    /// Folder of the run's logs.
    pub(crate) logs: PathBuf,
    /// Folder of the run's temporary files, removed at the end.
    pub(crate) temporary: PathBuf,
    /// Marker of the run, in the environment ([`child::MARKER`]) of all its child processes.
    pub(crate) marker: String,
    pub(crate) privilege: Privilege,
    /// True if a test whose tool or privilege is missing must fail.
    pub(crate) requires_tools: bool,
    /// Process that ends leftovers of the run and removes its temporary files, also when a signal
    /// ends the run.
    _clean_up: CleanUp,
}

impl TestSession {
    pub(crate) fn begin(root: &Path) -> Result<Self, String> {
        let logs = build_folder(root).join("xtask");
        let marker = format!("{}", std::process::id());
        // Short, because paths of sockets have at most 107 bytes.
        let temporary = std::env::temp_dir().join(format!("godwit-{marker}"));
        for folder in [&logs, &temporary] {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        open_to_all(&temporary)?;
        let privilege = Privilege::detect();
        let root = root.to_owned();
        let clean_up = CleanUp::start(&marker, &temporary)?;
        receive_queue::lengthen(privilege, &temporary);
        Ok(Self {
            root,
            logs,
            temporary,
            marker,
            privilege,
            requires_tools: false,
            _clean_up: clean_up,
        })
    }

    /// Returns the path of the log of the suite `name`.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }

    /// Returns a command for the cargo that runs xtask, in the folder of the workspace.
    pub(crate) fn cargo(&self) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.current_dir(&self.root);
        command
    }

    /// Returns the environment variables of the test programs.
    fn environment(&self) -> Vec<(String, String)> {
        let mut pairs = vec![
            (child::MARKER, self.marker.clone()),
            ("TMPDIR", self.temporary.display().to_string()),
            ("GODWIT_DATABASE_TEMPLATES", self.temporary.join("databases").display().to_string()),
            (debian::VARIABLE, debian::path(&self.root).display().to_string()),
            (clients::VARIABLE, clients::path(&self.root).display().to_string()),
            (linux::VARIABLE, linux::path(&self.root).display().to_string()),
            ("RUST_BACKTRACE", "1".to_owned()),
        ];
        if self.requires_tools {
            pairs.push(("GODWIT_REQUIRE_TOOLS", "1".to_owned()));
        }
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Makes the folder of the job `name` and returns the job's sandbox.
    fn sandbox(&self, name: &str) -> Result<Sandbox, String> {
        let temporary = self.temporary.join(name);
        let report = self.temporary.join(format!("{name}.left"));
        fs::create_dir_all(&temporary).map_err(|e| format!("{}: {e}", temporary.display()))?;
        open_to_all(&temporary)?;
        let build = build_folder(&self.root);
        let checkout = self.root.clone();
        let looks = sandbox::LOOKS;
        Ok(Sandbox { checkout, build, temporary, is_in_memory: true, looks, report })
    }
}

/// Changes the permissions of `folder` so that programs that have dropped their privileges can
/// write to it.
fn open_to_all(folder: &Path) -> Result<(), String> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777))
        .map_err(|error| format!("{}: {error}", folder.display()))
}

/// Returns the path of the folder in which cargo builds the workspace `root`.
pub(crate) fn build_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Test suite of `cargo xtask test`: a crate's tests, or a kind of check.
enum TestSuite {
    Setup,
    Tidy,
    Build,
    Lints,
    Crate(CrateSuite),
    Documentation,
    Job(JobUser),
    Packages,
    Leftovers,
}

impl TestSuite {
    fn name(&self) -> &str {
        match self {
            Self::Setup => "setup",
            Self::Tidy => "tidy",
            Self::Build => "build",
            Self::Lints => "lints",
            Self::Crate(suite) => &suite.name,
            Self::Documentation => "documentation",
            Self::Job(JobUser::Root) => "job-namespaces",
            Self::Job(JobUser::Unprivileged) => "job-loopback",
            Self::Packages => "packages",
            Self::Leftovers => "leftovers",
        }
    }

    const fn needs_build(&self) -> bool {
        matches!(self, Self::Crate(..) | Self::Job(_) | Self::Packages)
    }
}

/// Returns all test suites in the order in which they run.
fn all_suites(root: &Path) -> Result<Vec<TestSuite>, String> {
    let mut suites = vec![TestSuite::Setup, TestSuite::Tidy, TestSuite::Build, TestSuite::Lints];
    suites.extend(tidy::crates_from_below(root)?.into_iter().map(TestSuite::Crate));
    suites.push(TestSuite::Documentation);
    suites.extend([TestSuite::Job(JobUser::Root), TestSuite::Job(JobUser::Unprivileged)]);
    suites.push(TestSuite::Packages);
    suites.push(TestSuite::Leftovers);
    Ok(suites)
}

/// Returns the names of all suites.
pub(crate) fn suite_names(root: &Path) -> Result<Vec<String>, String> {
    Ok(all_suites(root)?.iter().map(|suite| suite.name().to_owned()).collect())
}

/// Returns the test suites that `options` choose.
fn chosen_suites(root: &Path, options: &TestOptions) -> Result<Vec<TestSuite>, String> {
    let mut suites = all_suites(root)?;
    let is_known = |name: &&String| suites.iter().any(|suite| suite.name() == *name);
    if let Some(unknown) = options.suites.iter().find(|name| !is_known(name)) {
        return Err(format!("no suite is called {unknown}; `cargo xtask test --list` names them"));
    }
    let mut chosen: Option<BTreeSet<String>> = None;
    if !options.suites.is_empty() {
        chosen = Some(options.suites.iter().cloned().collect());
    }
    if let Some(revision) = &options.changed_since {
        let mut changed = changed::suites(root, revision)?;
        output::print_line(format_args!(
            "changed since {revision}: {}",
            Vec::from_iter(changed.clone()).join(", ")
        ));
        changed.extend(["tidy", "lints", "leftovers"].map(str::to_owned));
        chosen.get_or_insert_default().extend(changed);
    }
    if let Some(names) = chosen {
        let is_chosen = |suite: &TestSuite| names.contains(suite.name());
        let needs_build = suites.iter().any(|suite| is_chosen(suite) && suite.needs_build());
        suites.retain(|suite| is_chosen(suite) || needs_build && matches!(suite, TestSuite::Build));
    }
    Ok(suites)
}

/// Runs the test suites that `options` choose, and returns true if none failed.
pub(crate) fn run(root: &Path, options: &TestOptions) -> Result<bool, String> {
    let suites = chosen_suites(root, options)?;
    let mut session = TestSession::begin(root)?;
    print_privilege(&session);
    session.requires_tools = session.privilege.is_root() && !options.is_install_skipped;
    let mut run = TestRunState { session, built: BuildOutputs::default(), results: Vec::new() };
    let mut total = CheckTally::default();
    let mut folders = Vec::new();
    for suite in suites.iter().filter(|suite| is_once(suite)) {
        let tally = run.timed(suite.name(), |run| run.run_once(suite, options));
        total += tally;
        if matches!(suite, TestSuite::Setup) {
            let may_install = !options.is_install_skipped;
            folders.push((debian::FOLDER, debian::start(&run.session, may_install)));
            folders.push((clients::FOLDER, clients::start(&run.session, may_install)));
            folders.push((linux::FOLDER, linux::start(&run.session, may_install)));
        }
        if tally.failed > 0 && matches!(suite, TestSuite::Build) {
            output::print_line(total);
            return Ok(false);
        }
    }
    for (name, folder) in folders {
        total += run.timed(name, |_| folder.finish());
    }
    let has_lints = suites.iter().any(|suite| matches!(suite, TestSuite::Lints));
    let mut lints = has_lints.then(|| RunningLints::start(&run.session));
    let busy =
        if options.is_busy { Some(BusyMachine::start(&run.session.temporary)?) } else { None };
    for number in 1..=options.repetitions {
        let mut tally = CheckTally::default();
        tally += run.run_crates(&suites);
        let runs_alone =
            |suite: &&TestSuite| matches!(suite, TestSuite::Job(_) | TestSuite::Packages);
        for suite in suites.iter().filter(runs_alone) {
            tally += run.timed(suite.name(), |run| run.run_job(suite));
        }
        if let Some(lints) = lints.take() {
            tally += run.timed(TestSuite::Lints.name(), |_| lints?.finish());
        }
        if options.repetitions > 1 {
            output::print_line(format_args!("run {number} of {}: {tally}", options.repetitions));
        }
        total += tally;
    }
    drop(busy);
    if suites.iter().any(|suite| matches!(suite, TestSuite::Leftovers)) {
        total += run.timed("leftovers", |run| Ok(leftovers::check(&run.results)));
    }
    schedule::print_slowest(&run.results);
    drop(run);
    output::print_line(total);
    Ok(total.failed == 0)
}

/// Returns true if the suite runs once, before the tests that may be repeated.
fn is_once(suite: &TestSuite) -> bool {
    matches!(
        suite,
        TestSuite::Setup | TestSuite::Tidy | TestSuite::Build | TestSuite::Documentation
    )
}

fn print_privilege(session: &TestSession) {
    match session.privilege {
        Privilege::Root => output::print_line("running as root: nothing is left out"),
        Privilege::Sudo => {
            output::print_line("running with passwordless sudo: nothing is left out")
        }
        Privilege::None => output::print_line(
            "running without root: packages are not installed, and tests that need network \
             namespaces or a tool that is missing are left out and counted as skipped",
        ),
    }
}

/// State of a test run while its suites run.
struct TestRunState {
    session: TestSession,
    built: BuildOutputs,
    results: Vec<JobResult>,
}

impl TestRunState {
    /// Runs `work` and prints the line of the suite `name`. A suite that cannot run counts as one
    /// failure.
    fn timed(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<CheckTally, String>,
    ) -> CheckTally {
        output::print_line(format_args!("{name} ..."));
        let started = Instant::now();
        let tally = work(self).unwrap_or_else(|reason| {
            output::print_line(format_args!("    {reason}"));
            CheckTally::one(false)
        });
        output::print_line(format_args!(
            "{name:<16} {:>7.1} s   {tally}",
            started.elapsed().as_secs_f64()
        ));
        tally
    }

    fn run_once(&mut self, suite: &TestSuite, options: &TestOptions) -> Result<CheckTally, String> {
        match suite {
            TestSuite::Setup => setup::run(&self.session, !options.is_install_skipped),
            TestSuite::Tidy => {
                let verdict = tidy::run(&self.session.root, CheckExtent::Cargo)?;
                Ok(CheckTally { passed: verdict.passed, failed: verdict.failed, skipped: 0 })
            }
            TestSuite::Build => {
                let (built, tally) = programs::build(&self.session)?;
                self.built = built;
                Ok(tally)
            }
            TestSuite::Documentation => {
                let names = tidy::crates_with_examples(&self.session.root)?;
                programs::run_documentation(&self.session, &names)
            }
            TestSuite::Lints
            | TestSuite::Crate(_)
            | TestSuite::Job(_)
            | TestSuite::Packages
            | TestSuite::Leftovers => Ok(CheckTally::default()),
        }
    }

    /// Runs the jobs of all crates among `suites` in parallel.
    fn run_crates(&mut self, suites: &[TestSuite]) -> CheckTally {
        let mut jobs = Vec::new();
        let mut tally = CheckTally::default();
        for suite in suites {
            let TestSuite::Crate(suite) = suite else { continue };
            match job::jobs_of(suite, &self.built) {
                Ok(suite_jobs) => jobs.extend(suite_jobs),
                Err(reason) => {
                    output::print_line(format_args!("    {reason}"));
                    tally += CheckTally::one(false);
                }
            }
        }
        if jobs.is_empty() {
            return tally;
        }
        let started = Instant::now();
        match schedule::run(&self.session, jobs) {
            Ok(results) => {
                results.iter().for_each(|result| tally += result.tally);
                let processor_s: f64 =
                    results.iter().map(|result| result.processor_time.as_secs_f64()).sum();
                output::print_line(format_args!(
                    "{} jobs side by side in {:.1} s, {processor_s:.0} CPU-s",
                    results.len(),
                    started.elapsed().as_secs_f64()
                ));
                self.results.extend(results);
            }
            Err(reason) => {
                output::print_line(format_args!("    {reason}"));
                tally += CheckTally::one(false);
            }
        }
        tally
    }

    fn run_job(&mut self, suite: &TestSuite) -> Result<CheckTally, String> {
        let godwit = self.built.godwit.as_deref();
        match suite {
            TestSuite::Job(user) => main_job::run(&self.session, godwit, *user),
            TestSuite::Packages => package::run_suite(&self.session, godwit),
            _ => Ok(CheckTally::default()),
        }
    }
}
