//! Child processes of the lab with their output in files: started in a process group of their own,
//! ended by this group.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use crate::command::CommandLine;
use crate::error::{TestbedError, TestbedResult};
use crate::topology::allowed_cpus;

/// Interval at which a waiting loop checks if a child process has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Running child process of the lab. Dropping it kills its whole process group.
///
/// The child leads its own process group, so that Ctrl-C at the terminal reaches only the lab, and
/// the kernel kills it when this process ends for any reason.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    name: String,
    stderr: PathBuf,
    status: Option<ExitStatus>,
    /// True if the child process ends when its standard input is closed
    /// ([`ChildProcess::start_held`]).
    ends_with_stdin: bool,
}

impl ChildProcess {
    /// Starts `command` as a child process, with its outputs in `NAME.out` and `NAME.err` in
    /// `folder`.
    ///
    /// # Errors
    /// The files cannot be created, or the program cannot be started.
    pub fn start(command: &CommandLine, name: &str, folder: &Path) -> TestbedResult<Self> {
        Self::start_with(command, name, folder, Stdio::null())
    }

    /// Starts a child process that runs for as long as its standard input is open, and ends in
    /// order when that is closed: for example one that runs a program on another machine, where no
    /// signal reaches it.
    ///
    /// # Errors
    /// As for [`ChildProcess::start`].
    pub fn start_held(command: &CommandLine, name: &str, folder: &Path) -> TestbedResult<Self> {
        let mut started = Self::start_with(command, name, folder, Stdio::piped())?;
        started.ends_with_stdin = true;
        Ok(started)
    }

    fn start_with(
        command: &CommandLine,
        name: &str,
        folder: &Path,
        input: Stdio,
    ) -> TestbedResult<Self> {
        let create = |suffix: &str| {
            let path = folder.join(format!("{name}.{suffix}"));
            File::create(&path)
                .map(|file| (file, path.clone()))
                .map_err(|e| TestbedError::new(format!("cannot create {}", path.display()), e))
        };
        let ((out, _), (err, stderr)) = (create("out")?, create("err")?);
        // setpriv sets the parent-death signal and becomes the program: the process id stays.
        let wrapped = command.clone().with_prefix(&["setpriv", "--pdeathsig", "KILL", "--"]);
        let mut command = wrapped.to_command();
        command.stdin(input).stdout(out).stderr(err).process_group(0);
        let child = spawn(command).map_err(|e| wrapped.not_started(&e))?;
        Ok(Self { child, name: name.to_owned(), stderr, status: None, ends_with_stdin: false })
    }

    /// Returns the process ID of the child, which is also that of its process group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the name that the child got at its start.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the exit status of the child process, or `None` while it runs.
    ///
    /// # Errors
    /// The kernel does not know the child; that is a defect of the lab.
    pub fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
            if self.status.is_some() {
                // Kill processes that the child left in its group at once: later another group
                // could have the number.
                signal_group(self.pid(), "KILL");
            }
        }
        Ok(self.status)
    }

    /// Waits until the child process ends, or until `give_up`, called every few milliseconds,
    /// returns true; returns `None` then.
    ///
    /// # Errors
    /// The kernel does not know the child; that is a defect of the lab.
    pub fn wait(&mut self, mut give_up: impl FnMut() -> bool) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.exit_status()? {
                return Ok(Some(status));
            }
            if give_up() {
                return Ok(None);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Sends SIGTERM to the child, or closes the standard input of a held child, then sends SIGKILL
    /// to the whole group after `grace`. Returns the exit status of the child.
    pub fn stop(&mut self, grace: Duration) -> Option<ExitStatus> {
        if let Ok(None) = self.exit_status() {
            if self.ends_with_stdin {
                drop(self.child.stdin.take())
            } else {
                signal_group(self.pid(), "TERM")
            }
            let until = Instant::now() + grace;
            let _ = self.wait(|| Instant::now() >= until);
        }
        self.kill();
        self.status
    }

    /// Sends SIGKILL to the child's whole process group, and waits for the child itself.
    pub fn kill(&mut self) {
        if let Ok(None) = self.exit_status() {
            signal_group(self.pid(), "KILL");
            self.status = self.child.wait().ok();
        }
    }

    /// Returns the last `lines` lines of the child's standard error, for a message.
    pub fn last_error_lines(&self, lines: usize) -> String {
        let text = std::fs::read(&self.stderr).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Command to start as a child process, and the channel for the child.
struct SpawnRequest {
    command: Command,
    reply: Sender<io::Result<Child>>,
}

/// Starts `command` in a thread that lives as long as this process: the kernel sends the
/// parent-death signal when the thread that started a child ends (PR_SET_PDEATHSIG(2const)), and
/// the caller may be a thread that ends before its child is needed no longer.
fn spawn(command: Command) -> io::Result<Child> {
    static STARTER: OnceLock<Sender<SpawnRequest>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (sender, requests) = channel::<SpawnRequest>();
        std::thread::spawn(move || {
            for SpawnRequest { mut command, reply } in requests {
                // The caller waits for the child.
                let _ = reply.send(command.spawn());
            }
        });
        sender
    });
    let (reply, child) = channel();
    let ended = || io::Error::other("the thread that starts programs has ended");
    starter.send(SpawnRequest { command, reply }).map_err(|_| ended())?;
    child.recv().map_err(|_| ended())?
}

/// Describes an exit status as "exited with code 3" or "was killed by signal 9".
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// Sends the signal `signal`, such as `TERM`, to every existing process of the process group
/// `group`.
pub(crate) fn signal_group(group: u32, signal: &str) {
    // `kill` of the shell always exists, and a missing group is not a failure.
    let script = format!("kill -s {signal} -- -{group}");
    let _ = CommandLine::new("sh").arg("-c").arg(script).to_command().output();
}

/// Pinning of the calling process to one processor. Dropping it restores the earlier processors.
#[derive(Debug)]
#[must_use = "dropped, the process may run anywhere again"]
pub struct PinnedSelf {
    previous_cpus: Vec<usize>,
}

/// Pins the calling process (all its threads, and processes that it starts from now on by default)
/// to one processor.
///
/// # Errors
/// `taskset` is missing or refuses.
pub fn pin_self(cpu: usize) -> TestbedResult<PinnedSelf> {
    let before = allowed_cpus();
    pin_threads(&[cpu])?;
    Ok(PinnedSelf { previous_cpus: before })
}

fn pin_threads(cpus: &[usize]) -> TestbedResult<()> {
    let list = cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let pid = std::process::id().to_string();
    CommandLine::new("taskset").args(["-acp", &list, &pid]).run().map(drop)
}

impl Drop for PinnedSelf {
    fn drop(&mut self) {
        // The earlier processors are still allowed, unless another process has restricted them
        // meanwhile.
        let _ = pin_threads(&self.previous_cpus);
    }
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    /// Environment variable that marks the process which runs only this test: in a process with
    /// other tests, their threads come and go while it is pinned.
    const ALONE: &str = "GODWIT_PINNED_ALONE";

    #[test]
    fn a_process_that_was_pinned_may_run_anywhere_again() {
        if std::env::var_os(ALONE).is_none() {
            let name = "process::tests::a_process_that_was_pinned_may_run_anywhere_again";
            let mut alone = Command::new(std::env::current_exe().unwrap());
            let output = alone.args(["--exact", name]).env(ALONE, "1").output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
            return;
        }
        let before = allowed_cpus();
        let pinned = pin_self(before[0]).unwrap();
        assert_eq!(allowed_cpus(), before[..1]);
        drop(pinned);
        assert_eq!(allowed_cpus(), before);
    }

    fn shell(script: &str) -> CommandLine {
        CommandLine::new("sh").arg("-c").arg(script)
    }

    #[test]
    fn a_child_outlives_the_thread_that_started_it() {
        let temporary = TempFolder::new("process-thread");
        let folder = temporary.path();
        let start = || {
            let script = shell("echo runs; cat; exit 4");
            let child = ChildProcess::start_held(&script, "x", folder).unwrap();
            while !std::fs::read_to_string(folder.join("x.out")).unwrap().contains("runs") {
                std::thread::sleep(LOOK_EVERY);
            }
            child
        };
        let mut child = std::thread::scope(|scope| scope.spawn(start).join().unwrap());
        // The script ends when its input is closed.
        let status = child.stop(Duration::from_secs(60)).unwrap();
        assert_eq!(describe(status), "exited with code 4");
    }

    #[test]
    fn output_and_status_are_kept() {
        let temporary = TempFolder::new("process-output");
        let folder = temporary.path();
        let mut child =
            ChildProcess::start(&shell("echo out; echo a >&2; echo b >&2; exit 4"), "x", folder)
                .unwrap();
        let status = child.wait(|| false).unwrap().unwrap();
        assert_eq!(describe(status), "exited with code 4");
        assert_eq!(std::fs::read_to_string(folder.join("x.out")).unwrap(), "out\n");
        assert_eq!(child.last_error_lines(1), "b");
    }

    #[test]
    fn a_child_that_ignores_the_polite_signal_is_killed_with_its_group() {
        let temporary = TempFolder::new("process-kill");
        let folder = temporary.path();
        let script = "trap '' TERM; sleep 1000 & echo $! >grandchild; mv grandchild ready; wait";
        let script = format!("cd '{}'; {script}; sleep 1000", folder.display());
        let mut child = ChildProcess::start(&shell(&script), "x", folder).unwrap();
        let ready = folder.join("ready");
        child.wait(|| ready.exists()).unwrap();
        let grandchild = std::fs::read_to_string(&ready).unwrap();
        let status = child.stop(Duration::from_millis(50)).unwrap();
        assert_eq!(describe(status), "was killed by signal 9");
        // A process reaches the killed state by itself: wait for that, not for a time.
        let stat = format!("/proc/{}/stat", grandchild.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|s| !s.contains(") Z ")) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_missing_program_is_named() {
        let temporary = TempFolder::new("process-missing");
        let folder = temporary.path();
        let mut child =
            ChildProcess::start(&CommandLine::new("godwit-no-such"), "x", folder).unwrap();
        child.wait(|| false).unwrap();
        assert!(child.last_error_lines(1).contains("godwit-no-such"));
    }
}
