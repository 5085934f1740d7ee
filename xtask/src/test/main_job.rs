//! Test of the lab's main job, a short measurement: once as root in network namespaces, once as
//! `nobody` on loopback.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::TestSession;
use super::child;
use super::privilege::Privilege;
use super::sandbox::Sandbox;
use super::tally::CheckTally;
use crate::output;

/// Name of a measurement plan that is short enough for a test.
const PLAN: &str = "dhcp4-smoke";
const LIMIT: Duration = Duration::from_secs(1800);
/// Number of checks of the lab's main job for one user, which count as failed if the job cannot
/// run.
const CHECK_COUNT: usize = 4;
/// Number of a user that owns nothing (Debian's `nobody` and `nogroup`).
const NOBODY: &str = "65534";

/// User that runs the lab's main job, which decides the network topology of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobUser {
    /// Root, who runs the job in network namespaces.
    Root,
    /// User without privileges, who runs the job on loopback.
    Unprivileged,
}

impl JobUser {
    /// Returns the value of `topology` in the summary of the user's job.
    const fn topology(self) -> &'static str {
        match self {
            Self::Root => "veth",
            Self::Unprivileged => "loopback",
        }
    }
}

/// Runs the main job as `user` and checks the files that it wrote.
pub(crate) fn run(
    session: &TestSession,
    godwit: Option<&Path>,
    user: JobUser,
) -> Result<CheckTally, String> {
    let Some(godwit) = godwit else {
        output::print_line("    there is no godwit binary to run");
        return Ok(CheckTally { failed: CHECK_COUNT, ..CheckTally::default() });
    };
    if user == JobUser::Root && !session.privilege.is_root() {
        output::print_line("    left out: namespaces need root or passwordless sudo");
        return Ok(CheckTally::left_out(CHECK_COUNT));
    }
    let name = format!("job-{}", user.topology());
    // The results are read after the job has ended.
    let sandbox = Sandbox { is_in_memory: false, looks: 1, ..session.sandbox(&name)? };
    let folder = sandbox.temporary.clone();
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    // Other users may have no access to the build folder.
    let copy = folder.join("godwit");
    fs::copy(godwit, &copy).map_err(failed)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).map_err(failed)?;

    let mut command = job_command(session, &copy, &sandbox, user);
    let log = session.log(&name);
    let end = child::run(&mut command, &session.marker, &log, LIMIT)?;
    let tally = judge(end, &folder, user);
    if tally.failed > 0 {
        output::print_line(format_args!(
            "    godwit lab run {PLAN}: {}; log: {}",
            end.describe(),
            log.display()
        ));
        output::print(child::last_lines(&log, 60));
        let copy = session.logs.join(&name);
        output::print_line(format_args!("    its files are kept in {}", copy.display()));
        drop(fs::remove_dir_all(&copy));
        copy_folder(&folder, &copy);
    }
    let removal = format!("rm -rf '{}'", folder.display());
    drop(session.privilege.shell(&removal).status());
    Ok(tally)
}

fn job_command(session: &TestSession, godwit: &Path, sandbox: &Sandbox, user: JobUser) -> Command {
    let folder = &sandbox.temporary;
    let mut environment = session.environment();
    let home = folder.display().to_string();
    for name in ["HOME", "TMPDIR"] {
        environment.retain(|(other, _)| other != name);
        environment.push((name.to_owned(), home.clone()));
    }
    let mut command = match (user, session.privilege) {
        (JobUser::Unprivileged, Privilege::Root) => {
            let setpriv = Path::new("setpriv");
            let mut command = sandbox.command(session.privilege, &environment, folder, setpriv);
            command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
            command.args(["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]);
            command.arg(godwit);
            command
        }
        (JobUser::Unprivileged, _) => {
            sandbox.command(Privilege::None, &environment, folder, godwit)
        }
        (JobUser::Root, privilege) => sandbox.command(privilege, &environment, folder, godwit),
    };
    command.args(["lab", "run", PLAN, "--json"]);
    command
}

fn judge(end: child::ProgramEnd, folder: &Path, user: JobUser) -> CheckTally {
    let mut tally = CheckTally::default();
    tally.check(end.is_success(), &format!("the job ends with exit code 0: {}", end.describe()));
    let page = find(folder, "report.html").and_then(|path| fs::read_to_string(path).ok());
    let is_page = page.is_some_and(|text| text.contains("<svg") && text.contains("</html>"));
    tally.check(is_page, "report.html is a whole page with charts");
    let summary = find(folder, "summary.json")
        .and_then(|path| fs::read_to_string(path).ok())
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .unwrap_or(Value::Null);
    tally.check(every_server_gave_leases(&summary), "summary.json has a rate of leases per server");
    let topology = user.topology();
    let ran_there = summary["environment"]["topology"] == topology;
    tally.check(ran_there, &format!("the job ran on {topology}"));
    tally
}

/// Returns the newest file called `name` below `folder`.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut paths = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && entry.file_name() == name => paths.push(path),
                _ => {}
            }
        }
    }
    paths.into_iter().max_by_key(|path| fs::metadata(path).and_then(|data| data.modified()).ok())
}

/// Returns true if the lab's summary has results and each has a confirmed rate. The rate of the
/// limit responder (a program that returns every datagram) is elsewhere and does not count.
fn every_server_gave_leases(summary: &Value) -> bool {
    let results = summary["results"].as_array().map_or(&[][..], Vec::as_slice);
    let gave = |result: &Value| result["leases_per_s"].as_f64().is_some_and(|rate| rate > 0.0);
    !results.is_empty() && results.iter().all(gave)
}

fn copy_folder(from: &Path, to: &Path) {
    drop(fs::create_dir_all(to));
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => copy_folder(&entry.path(), &target),
            Ok(kind) if kind.is_file() && entry.file_name() != "godwit" => {
                drop(fs::copy(entry.path(), target));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rates_of_servers_count() {
        let gave = |text: &str| every_server_gave_leases(&serde_json::from_str(text).unwrap());
        assert!(gave(r#"{"results": [{"leases_per_s": 3}, {"leases_per_s": 7.5}]}"#));
        assert!(!gave(r#"{"results": [{"leases_per_s": 3}, {"leases_per_s": null}]}"#));
        assert!(!gave(r#"{"results": [], "limit": {"leases_per_s": 9}}"#));
        assert!(!gave("null"));
    }
}
