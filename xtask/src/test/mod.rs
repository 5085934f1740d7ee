//! `cargo xtask test`: everything that must hold, suite by suite, each with its time.
//!
//! A suite that fails shows the end of its log and the run goes on. The last line is always
//! `N passed, M failed, K skipped`.

mod child;
pub(crate) mod crash;
mod leftovers;
mod main_job;
pub(crate) mod pages;
mod privilege;
mod programs;
mod setup;
mod tally;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::tidy;
use leftovers::Snapshot;
use main_job::As;
use privilege::Privilege;
use programs::Built;
use tally::Tally;

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Leave the machine's packages as they are.
    pub(crate) is_install_skipped: bool,
    /// Only these suites; all when empty.
    pub(crate) suites: Vec<String>,
}

/// One run of the suites.
pub(crate) struct Session {
    /// The workspace.
    root: PathBuf,
    /// Where logs go.
    logs: PathBuf,
    /// Where tests write; removed at the end.
    temporary: PathBuf,
    /// The value of the marker that all children carry.
    marker: String,
    privilege: Privilege,
    /// Whether a test whose tool or privilege is missing must fail.
    requires_tools: bool,
}

impl Session {
    fn begin(root: &Path) -> Result<Self, String> {
        let logs = root.join("target/xtask");
        let marker = format!("{}", std::process::id());
        let temporary = std::env::temp_dir().join(format!("godwit-test-{marker}"));
        for folder in [&logs, &temporary] {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        // Programs that have given up their privileges write here too.
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o777))
            .map_err(|error| format!("{}: {error}", temporary.display()))?;
        let privilege = Privilege::detect();
        let root = root.to_owned();
        Ok(Self { root, logs, temporary, marker, privilege, requires_tools: false })
    }

    /// The log of a suite.
    fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }

    /// The cargo that runs this program, in the workspace.
    fn cargo(&self) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.current_dir(&self.root);
        command
    }

    /// What programs of tests find in their environment.
    fn environment(&self) -> Vec<(String, String)> {
        let mut pairs = vec![
            (child::MARKER, self.marker.clone()),
            ("TMPDIR", self.temporary.display().to_string()),
            ("RUST_BACKTRACE", "1".to_owned()),
        ];
        if self.requires_tools {
            pairs.push(("GODWIT_REQUIRE_TOOLS", "1".to_owned()));
        }
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let script = format!("rm -rf '{}'", self.temporary.display());
        drop(self.privilege.shell(&script).status());
    }
}

/// A suite: its name and what it does.
enum Suite {
    Setup,
    Tidy,
    Build,
    Crate(String, PathBuf),
    Documentation,
    Job(As),
    Leftovers,
}

impl Suite {
    fn name(&self) -> &str {
        match self {
            Self::Setup => "setup",
            Self::Tidy => "tidy",
            Self::Build => "build",
            Self::Crate(name, _) => name,
            Self::Documentation => "documentation",
            Self::Job(As::Root) => "job-namespaces",
            Self::Job(As::Anybody) => "job-loopback",
            Self::Leftovers => "leftovers",
        }
    }

    const fn needs_build(&self) -> bool {
        matches!(self, Self::Crate(..) | Self::Documentation | Self::Job(_))
    }
}

/// All suites in their order.
fn all_suites(root: &Path) -> Result<Vec<Suite>, String> {
    let mut suites = vec![Suite::Setup, Suite::Tidy, Suite::Build];
    let crates = tidy::crates_from_below(root)?;
    suites.extend(crates.into_iter().map(|(name, folder)| Suite::Crate(name, folder)));
    let jobs = [Suite::Job(As::Root), Suite::Job(As::Anybody)];
    suites.push(Suite::Documentation);
    suites.extend(jobs);
    suites.push(Suite::Leftovers);
    Ok(suites)
}

/// The names of all suites.
pub(crate) fn suite_names(root: &Path) -> Result<Vec<String>, String> {
    Ok(all_suites(root)?.iter().map(|suite| suite.name().to_owned()).collect())
}

/// Runs the suites; true when nothing failed.
pub(crate) fn run(root: &Path, wish: &Wish) -> Result<bool, String> {
    let mut suites = all_suites(root)?;
    if let Some(unknown) =
        wish.suites.iter().find(|name| !suites.iter().any(|suite| suite.name() == *name))
    {
        return Err(format!("no suite is called {unknown}; `cargo xtask test --list` names them"));
    }
    if !wish.suites.is_empty() {
        let is_wished = |suite: &Suite| wish.suites.iter().any(|name| name == suite.name());
        let needs_build = suites.iter().any(|suite| is_wished(suite) && suite.needs_build());
        suites.retain(|suite| is_wished(suite) || needs_build && matches!(suite, Suite::Build));
    }
    let mut session = Session::begin(root)?;
    say_privilege(&session);
    session.requires_tools = session.privilege.is_root() && !wish.is_install_skipped;
    let before = Snapshot::take(&session);
    let mut total = Tally::default();
    let mut built = Built::default();
    for suite in &suites {
        println!("{} ...", suite.name());
        let started = Instant::now();
        let outcome = run_suite(&session, suite, wish, &mut built, &before);
        let tally = outcome.unwrap_or_else(|reason| {
            println!("    {reason}");
            Tally::one(false)
        });
        println!("{:<16} {:>7.1} s   {tally}", suite.name(), started.elapsed().as_secs_f64());
        total += tally;
    }
    drop(session);
    println!("{total}");
    Ok(total.failed == 0)
}

fn say_privilege(session: &Session) {
    match session.privilege {
        Privilege::Root => println!("running as root: nothing is left out"),
        Privilege::Sudo => println!("running with passwordless sudo: nothing is left out"),
        Privilege::None => println!(
            "running without root: packages are not installed, and tests that need network \
             namespaces or a tool that is missing are left out and counted as skipped"
        ),
    }
}

fn run_suite(
    session: &Session,
    suite: &Suite,
    wish: &Wish,
    built: &mut Built,
    before: &Snapshot,
) -> Result<Tally, String> {
    match suite {
        Suite::Setup => setup::run(session, !wish.is_install_skipped),
        Suite::Tidy => {
            let verdict = tidy::run(&session.root, false)?;
            Ok(Tally { passed: verdict.passed, failed: verdict.failed, skipped: 0 })
        }
        Suite::Build => {
            let (done, tally) = programs::build(session)?;
            *built = done;
            Ok(tally)
        }
        Suite::Crate(name, folder) => programs::run_crate(session, name, folder, built),
        Suite::Documentation => programs::run_documentation(session),
        Suite::Job(user) => main_job::run(session, built.godwit.as_deref(), *user),
        Suite::Leftovers => Ok(leftovers::check(session, before)),
    }
}
