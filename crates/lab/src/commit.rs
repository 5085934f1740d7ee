//! Search for the commit that this program was built from.
//!
//! A build script could report it, but every test would be built anew after every commit. The
//! program's own file suffices: it is in the work tree that it was built from, and git remembers
//! where HEAD was when the file was written.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the environment variable with the commit for builds outside of a work tree, read at the
/// build and when a plan is run.
const VARIABLE: &str = "GODWIT_COMMIT";

/// Returns the commit of this program, 12 digits, or the variable's value; empty when it is
/// unknown.
pub(crate) fn commit() -> String {
    let variable =
        env::var(VARIABLE).ok().or_else(|| option_env!("GODWIT_COMMIT").map(str::to_owned));
    variable.filter(|commit| !commit.is_empty()).or_else(executable_commit).unwrap_or_default()
}

fn executable_commit() -> Option<String> {
    let file = env::current_exe().ok()?;
    let written = fs::metadata(&file).ok()?.modified().ok()?;
    head_at(file.parent()?, written)
}

/// Returns the commit of HEAD at `time`, in the work tree around `folder`; `None` when there is no
/// work tree or git does not remember.
fn head_at(folder: &Path, time: SystemTime) -> Option<String> {
    let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    // A measurement as root in another user's folder should have its commit, too.
    let output = Command::new("git")
        .args(["-c", "safe.directory=*", "-C"])
        .arg(folder)
        .args(["rev-parse", "--verify", "--short=12", &format!("HEAD@{{{seconds}}}")])
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    // Git warns when it remembers nothing as old, and names its oldest.
    let is_sure = output.status.success() && output.stderr.is_empty();
    (is_sure && !commit.is_empty()).then_some(commit)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_program_is_of_the_commit_that_was_there_when_it_was_written() {
        let temporary = TempFolder::new("commit");
        let folder = temporary.path();
        let git = |date: u64, words: &[&str]| {
            let date = format!("{date} +0000");
            let output = Command::new("git")
                .arg("-C")
                .arg(folder)
                .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
                .args(words)
                .env("GIT_COMMITTER_DATE", &date)
                .env("GIT_AUTHOR_DATE", &date)
                .env("GIT_CEILING_DIRECTORIES", env::temp_dir())
                .output()
                .expect("git is installed");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let at = |seconds| head_at(folder, UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(1_700_000_000), None, "no work tree");
        git(1_700_000_000, &["init", "-q"]);
        let mut commits = Vec::new();
        for date in [1_700_000_100, 1_700_000_200] {
            git(date, &["commit", "-q", "--allow-empty", "-m", "x"]);
            commits.push(git(date, &["rev-parse", "--short=12", "HEAD"]));
        }
        assert_eq!(at(1_700_000_150).as_ref(), commits.first());
        assert_eq!(at(1_700_000_250).as_ref(), commits.last());
        assert_ne!(commits[0], commits[1]);
        assert_eq!(at(1_700_000_050), None, "older than all that is remembered");
    }
}
