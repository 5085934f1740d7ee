//! Tests with other programs that keep the machine busy before a run.

use std::process::{Child, Command, Stdio};

use super::{LabTestFolder, output_text};

/// Process that computes until it is dropped.
struct ComputingProcess(Child);

impl ComputingProcess {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        Self(command.spawn().expect("a shell"))
    }
}

impl Drop for ComputingProcess {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn other_programs_are_named_before_a_run_unless_nobody_asks() {
    let test_folder = LabTestFolder::new("other-load");
    test_folder.more("tiny", "");
    let _busy = ComputingProcess::start();
    let output = test_folder.lab(&["run", "tiny"]);
    let told = output_text(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("warning: Before the run other programs used "), "{told}");
    let summary =
        std::fs::read_to_string(test_folder.results()[0].join("summary.json")).expect("one");
    assert!(summary.contains("Before the run other programs used "), "{summary}");

    let output = test_folder.lab(&["run", "tiny", "--ignore-load", "--results", "others"]);
    let told = output_text(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(!told.contains("Before the run"), "{told}");
}
