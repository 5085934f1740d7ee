//! Clippy in parallel with the jobs of a test run: it starts before them at the lowest priority, so
//! that it computes while they wait, and the run reads its result once they have ended.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::TestSession;
use super::child::MARKER;
use super::tally::CheckTally;
use crate::output;
use crate::tidy;

/// Clippy that is running, with its output in a log.
#[derive(Debug)]
pub(crate) struct RunningLints {
    child: Child,
    log: PathBuf,
}

impl RunningLints {
    /// Starts clippy for all targets of the workspace.
    pub(crate) fn start(session: &TestSession) -> Result<Self, String> {
        let clippy = tidy::clippy(&session.root);
        let log = session.log("lints");
        let failed = |error: std::io::Error| format!("{}: {error}", log.display());
        let output = File::create(&log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(clippy.get_program()).args(clippy.get_args());
        // The marker by which it is found and ended with the run.
        command.env(MARKER, &session.marker);
        command.current_dir(&session.root).stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn().map_err(|error| format!("cannot run clippy: {error}"))?;
        Ok(Self { child, log })
    }

    /// Waits for the end of clippy, prints its findings and returns them as one check.
    pub(crate) fn finish(mut self) -> Result<CheckTally, String> {
        let failed = |error: std::io::Error| format!("cannot wait for clippy: {error}");
        let is_clean = self.child.wait().map_err(failed)?.success();
        if !is_clean {
            output::print(fs::read_to_string(&self.log).unwrap_or_default());
            output::print_line("    cargo clippy found something; repeat with: cargo xtask tidy");
        }
        Ok(CheckTally::one(is_clean))
    }
}

impl Drop for RunningLints {
    fn drop(&mut self) {
        // After a run that ended early; without effect after a wait.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
