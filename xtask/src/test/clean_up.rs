//! Process that cleans up after a test run, whether the run ends by itself or by a signal that it
//! cannot handle.
//!
//! It runs this program itself, with a first argument of its own. Its standard input is a pipe
//! whose other end only the run has, so it reads the end of the file when the run is gone. It has
//! its own process group, because Ctrl-C in a terminal goes to the whole foreground group.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::child;
use super::privilege::Privilege;
use super::receive_queue;

/// First argument of an xtask process that cleans up.
pub(crate) const WORD: &str = "clean-up-after";
/// Number of searches for processes of the test run: a process may start another one before it is
/// killed.
const LOOKS: u32 = 40;
/// Pause between two searches for processes of the test run.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// Process that waits for the end of a test run. Dropping the value makes the process clean up and
/// waits for its end.
#[derive(Debug)]
pub(crate) struct CleanUp {
    process: Child,
}

impl CleanUp {
    /// Starts the clean-up process for the run with the marker `marker` and the folder `temporary`
    /// of temporary files.
    pub(crate) fn start(marker: &str, temporary: &Path) -> Result<Self, String> {
        // The build may have replaced the file itself.
        let mut command = Command::new("/proc/self/exe");
        command.arg(WORD).arg(marker).arg(temporary).stdin(Stdio::piped()).process_group(0);
        let process = command.spawn();
        let process = process.map_err(|e| format!("cannot start the process that cleans up: {e}"));
        Ok(Self { process: process? })
    }
}

impl Drop for CleanUp {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        drop(self.process.wait());
    }
}

/// Waits for the end of `input`, then ends all processes that carry `marker`, restores the length
/// of the kernel's queues and removes the folder `temporary`.
pub(crate) fn clean_up_after(mut input: impl Read, marker: &str, temporary: &Path) {
    let mut rest = Vec::new();
    drop(input.read_to_end(&mut rest));
    for _ in 0..LOOKS {
        let processes = child::marked(marker);
        child::end_all(&processes);
        if processes.is_empty() {
            break;
        }
        thread::sleep(LOOK_PAUSE);
    }
    receive_queue::restore(Privilege::detect(), temporary);
    if fs::symlink_metadata(temporary).is_ok() {
        // A database server that gave up its privileges left files of another user here.
        let mut command = Privilege::detect().command("rm", &[]);
        drop(command.arg("-rf").arg(temporary).stdin(Stdio::null()).status());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_end_of_a_run_its_processes_and_files_are_gone() {
        let marker = format!("clean-up-{}", std::process::id());
        let temporary = std::env::temp_dir().join(format!("godwit-{marker}"));
        fs::create_dir_all(&temporary).unwrap();
        let ready = temporary.join("ready");
        let script = format!("sleep 1000 & : >'{}'; wait; false", ready.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).env(child::MARKER, &marker).stdin(Stdio::null());
        let mut shell = shell.spawn().unwrap();
        while !ready.exists() {
            thread::yield_now();
        }
        // Between the shell and the program that it starts, a process has no environment.
        while !child::marked(&marker).iter().any(|process| process.words == "sleep 1000") {
            thread::yield_now();
        }
        assert_eq!(child::marked(&marker).len(), 2);
        let (input, output) = std::io::pipe().unwrap();
        let (of_run, folder) = (marker.clone(), temporary.clone());
        let cleaner = thread::spawn(move || clean_up_after(input, &of_run, &folder));
        // The run counts as running while the pipe has another end.
        assert!(shell.try_wait().unwrap().is_none() && temporary.exists());
        drop(output);
        assert!(!shell.wait().unwrap().success());
        cleaner.join().unwrap();
        assert_eq!(child::lasting(child::MARKER, &marker), []);
        assert!(!temporary.exists());
    }
}
