//! Result folders made for a test, and runs of `godwit lab` in them.

pub(crate) mod runs;
pub(crate) mod slower;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use measure::summary::RunSummary;
use testkit::TempFolder;

pub(crate) const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");

/// Folder of one test, in which it makes results and runs `godwit lab`.
pub(crate) struct TestResultsFolder(TempFolder);

impl TestResultsFolder {
    /// Makes an empty folder.
    pub(crate) fn new(name: &str) -> Self {
        Self(TempFolder::open_to_others(&format!("results-{name}")))
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Makes a result folder with a summary that `change` has changed.
    pub(crate) fn result(&self, name: &str, change: impl FnOnce(&mut RunSummary)) -> String {
        let text = include_str!("../../../report/tests/data/summary.json");
        let mut summary: RunSummary = serde_json::from_str(text).expect("a summary");
        for result in &mut summary.results {
            result.segmentation = Some(true);
        }
        if let Some(noise) = &mut summary.noise {
            noise.typical_percent = 3.0;
        }
        change(&mut summary);
        self.file(name, &serde_json::to_string(&summary).expect("JSON"))
    }

    /// Makes a result folder whose summary is this text.
    pub(crate) fn file(&self, name: &str, summary: &str) -> String {
        std::fs::create_dir_all(self.path().join(name)).expect("a folder");
        std::fs::write(self.path().join(name).join("summary.json"), summary).expect("a file");
        name.to_owned()
    }

    /// Runs `godwit lab` with these words, and returns its output.
    pub(crate) fn lab(&self, words: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command.args(["-k", "10", "1800", GODWIT, "lab"]).args(words);
        command.current_dir(self.path()).stdin(Stdio::null()).output().expect("timeout starts")
    }

    /// Returns true if the file or folder exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path().join(path).exists()
    }
}

/// Returns exit code, standard output and standard error.
pub(crate) fn outcome(output: &Output) -> (Option<i32>, String, String) {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}
