//! Child processes of a test run: programs with their output in a log, without input, for a limited
//! time.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::privilege::Privilege;

/// Name of the environment variable that identifies all processes that a test run starts.
pub(crate) const MARKER: &str = "GODWIT_TEST_RUN";

/// Process that has the marker of a test run in its environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Marked {
    /// Process id of the marked process.
    pub(crate) pid: u32,
    /// Command line of the process.
    pub(crate) words: String,
}

/// End of a child program: by itself or by the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// Exit status of a program that ended by itself.
    Status(ExitStatus),
    /// Timeout after which the test run ended the program.
    TimeOut,
}

impl ProgramEnd {
    /// Returns true if the program ended by itself with exit code 0.
    pub(crate) fn is_success(self) -> bool {
        matches!(self, Self::Status(status) if status.success())
    }

    /// Returns the program's end as text for the user.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Status(status) => status.to_string(),
            Self::TimeOut => "did not end in time".to_owned(),
        }
    }
}

/// Runs `command` with both outputs in the file `log`. Ends the program and every process marked
/// with `marker` if it takes longer than `limit`.
pub(crate) fn run(
    command: &mut Command,
    marker: &str,
    log: &Path,
    limit: Duration,
) -> Result<ProgramEnd, String> {
    run_watched(command, marker, log, limit, |_| (), || ())
}

/// Runs `command` as [`run`] does, passes the lines of its log to `each_line` while it runs, and
/// calls `look` several times a second.
pub(crate) fn run_watched(
    command: &mut Command,
    marker: &str,
    log: &Path,
    limit: Duration,
    mut each_line: impl FnMut(&str),
    mut look: impl FnMut(),
) -> Result<ProgramEnd, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", log.display());
    let output = File::create(log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let mut lines = GrowingFileLines { file: File::open(log).map_err(failed)?, begun: Vec::new() };
    command.stdout(output).stderr(errors);
    let watch = || {
        lines.pass_on(&mut each_line);
        look();
    };
    let end = wait_watched(command, marker, limit, watch)?;
    lines.pass_on(&mut each_line);
    Ok(end)
}

/// Reader of the new lines of a log file that a child process writes.
struct GrowingFileLines {
    file: File,
    /// Bytes of the log's last, incomplete line.
    begun: Vec<u8>,
}

impl GrowingFileLines {
    /// Passes the complete lines of the log to `each_line`. The next call reads data that cannot be
    /// read now.
    fn pass_on(&mut self, each_line: &mut impl FnMut(&str)) {
        drop(self.file.read_to_end(&mut self.begun));
        let Some(last) = self.begun.iter().rposition(|octet| *octet == b'\n') else { return };
        let rest = self.begun.split_off(last + 1);
        let whole = std::mem::replace(&mut self.begun, rest);
        String::from_utf8_lossy(&whole).lines().for_each(each_line);
    }
}

/// Runs `command` as [`run`] does, but leaves its outputs unchanged.
pub(crate) fn wait(
    command: &mut Command,
    marker: &str,
    limit: Duration,
) -> Result<ProgramEnd, String> {
    wait_watched(command, marker, limit, || ())
}

fn wait_watched(
    command: &mut Command,
    marker: &str,
    limit: Duration,
    mut watch: impl FnMut(),
) -> Result<ProgramEnd, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("cannot run {name}: {error}");
    let started = Instant::now();
    let mut child = command.stdin(Stdio::null()).env(MARKER, marker).spawn().map_err(failed)?;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(ProgramEnd::Status(status));
        }
        if started.elapsed() > limit {
            // It must not start other processes while the existing ones are ended.
            drop(child.kill());
            end_family(MARKER, marker);
            child.wait().map_err(failed)?;
            return Ok(ProgramEnd::TimeOut);
        }
        watch();
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

/// Returns all processes that have the marker of a test run in their environment, as far as this
/// user may see them.
pub(crate) fn marked(marker: &str) -> Vec<Marked> {
    marked_by(MARKER, marker)
}

/// Returns all processes with `marker` in the environment variable `name`.
pub(crate) fn marked_by(name: &str, marker: &str) -> Vec<Marked> {
    look_for(name, marker).0
}

/// Returns all processes with `marker` in the environment variable `name`, and true if the
/// environment of some process cannot be seen yet.
fn look_for(name: &str, marker: &str) -> (Vec<Marked>, bool) {
    let entry = format!("{name}={marker}");
    let (mut processes, mut is_one_hidden) = (Vec::new(), false);
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        if environment.split(|octet| *octet == 0).any(|variable| variable == entry.as_bytes()) {
            let words = fs::read(folder.join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            processes.push(Marked { pid, words: words.trim().to_owned() });
        } else if environment.is_empty() {
            is_one_hidden |= is_between_programs(&folder);
        }
    }
    processes.sort();
    (processes, is_one_hidden)
}

/// Returns true if the process in the folder `folder` of `/proc` is executing another program whose
/// arguments and environment are not visible yet. Kernel threads and processes that have ended
/// never have them (proc_pid_stat(5)).
fn is_between_programs(folder: &Path) -> bool {
    /// Flag `PF_KTHREAD` of the kernel, for a kernel thread.
    const KERNEL_THREAD: u32 = 0x0020_0000;
    let has_words = fs::read(folder.join("cmdline")).map_or(true, |words| !words.is_empty());
    let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
    // Behind the name, which may have spaces: the state, and the flags as the seventh.
    let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let has_ended = fields.next().is_none_or(|state| ["Z", "X"].contains(&state));
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u32>().ok()).unwrap_or(0);
    !has_words && !has_ended && flags & KERNEL_THREAD == 0
}

/// Number of checks of `/proc` before a process counts as one that lasts: a process that was killed
/// is visible until it has had the processor and its new parent has waited for it. The next
/// constant is the pause between two checks.
const LASTING_LOOKS: u32 = 480;
const LOOK_PAUSE: Duration = Duration::from_millis(250);
/// Greatest number of searches in `/proc` for processes that are to be ended.
const LOOKS: u32 = 40;

/// Returns the processes with `marker` in the environment variable `name` that do not end within
/// [`LASTING_LOOKS`] looks.
pub(crate) fn lasting(name: &str, marker: &str) -> Vec<Marked> {
    let mut processes = marked_by(name, marker);
    for _ in 0..LASTING_LOOKS {
        if processes.is_empty() {
            break;
        }
        thread::sleep(LOOK_PAUSE);
        let now = marked_by(name, marker);
        processes.retain(|process| now.contains(process));
    }
    processes
}

/// Ends all processes with `marker` in the environment variable `name`, including those that such a
/// process started before its end.
pub(crate) fn end_family(name: &str, marker: &str) {
    // One look may pass the place of a process before that begins.
    let mut quiet_looks = 0;
    for _ in 0..LOOKS {
        let (processes, is_one_hidden) = look_for(name, marker);
        end_all(&processes);
        quiet_looks = if processes.is_empty() && !is_one_hidden { quiet_looks + 1 } else { 0 };
        if quiet_looks == 2 {
            break;
        }
        if is_one_hidden {
            thread::sleep(LOOK_PAUSE);
        }
    }
}

/// Ends `processes`, each by its process id.
pub(crate) fn end_all(processes: &[Marked]) {
    for process in processes {
        let script = format!("kill -KILL {} 2>/dev/null", process.pid);
        drop(Privilege::detect().shell(&script).stdin(Stdio::null()).status());
    }
}

/// Returns the last `count` lines of a log, indented, and for a test program also the lines from
/// its first failure on.
pub(crate) fn last_lines(log: &Path, count: usize) -> String {
    let octets = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&octets);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len().saturating_sub(count);
    let failure = lines.iter().position(|line| *line == "failures:").unwrap_or(last).min(last);
    let first_end = (failure + count).min(last);
    let excerpt = lines[failure..first_end].iter().chain(&lines[last..]);
    excerpt.map(|line| format!("    | {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn output_and_status_are_kept() {
        let folder = TempFolder::new("child-output");
        let log = folder.path().join("log");
        let mut command = Command::new("sh");
        command.args(["-c", "echo a; echo b >&2; read c || echo no input; exit 3"]);
        let end = run(&mut command, "output", &log, Duration::from_secs(300)).unwrap();
        assert!(!end.is_success());
        assert_eq!(last_lines(&log, 2), "    | b\n    | no input\n");
        fs::write(&log, "1\nfailures:\n2\n3\n4\n5\n").unwrap();
        let expected = ["failures:", "2", "4", "5"].map(|line| format!("    | {line}\n"));
        assert_eq!(last_lines(&log, 2), expected.concat());
    }

    #[test]
    fn lines_are_passed_on_while_the_program_runs() {
        let folder = TempFolder::new("child-lines");
        let log = folder.path().join("log");
        let marker = log.with_extension("marker");
        let mut command = Command::new("sh");
        // It ends once its first line was passed on.
        let script =
            format!("echo a; until test -e {}; do sleep 0.01; done; printf b", marker.display());
        command.args(["-c", &script]);
        let mut lines = Vec::new();
        let keep = |line: &str| {
            fs::write(&marker, "").unwrap();
            lines.push(line.to_owned());
        };
        let limit = Duration::from_secs(300);
        let end = run_watched(&mut command, "lines", &log, limit, keep, || ());
        assert!(end.unwrap().is_success());
        // Text without a line end is not a line.
        assert_eq!(lines, ["a"]);
    }

    #[test]
    fn a_program_that_starts_others_all_the_time_is_ended_with_all_of_them() {
        let folder = TempFolder::new("child-family");
        let log = folder.path().join("log");
        let marker = format!("family-{}", std::process::id());
        let mut command = Command::new("sh");
        let script = "while :; do (sleep 1000 & sleep 1000) & sleep 0.01; done";
        command.args(["-c", script]);
        let end = run(&mut command, &marker, &log, Duration::from_millis(300)).unwrap();
        assert_eq!(end, ProgramEnd::TimeOut);
        assert_all_end(&marker);
    }

    /// Asserts that all processes with the marker `marker` end: a killed orphan stays visible until
    /// its new parent has waited for it.
    fn assert_all_end(marker: &str) {
        let started = Instant::now();
        while !marked(marker).is_empty() && started.elapsed() < Duration::from_secs(300) {
            thread::yield_now();
        }
        assert_eq!(marked(marker), []);
    }

    #[test]
    fn after_its_time_a_program_is_ended_with_its_children() {
        let folder = TempFolder::new("child-time");
        let log = folder.path().join("log");
        let marker = format!("time-{}", std::process::id());
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & sleep 1000"]);
        let end = run(&mut command, &marker, &log, Duration::from_millis(300)).unwrap();
        assert_eq!(end, ProgramEnd::TimeOut);
        assert_all_end(&marker);
    }

    #[test]
    fn a_process_between_two_programs_is_told_from_those_that_have_none() {
        let temporary = TempFolder::new("child-between");
        let folder = temporary.path();
        let is_between = |stat: &str, words: &str| {
            fs::write(folder.join("stat"), stat).unwrap();
            fs::write(folder.join("cmdline"), words).unwrap();
            is_between_programs(folder)
        };
        let running = "7 (a) b) R 1 7 7 0 -1 4194304 0";
        assert!(is_between(running, ""));
        assert!(!is_between(running, "sleep\0"));
        assert!(!is_between("7 (sh) Z 1 7 7 0 -1 4194304 0", ""));
        assert!(!is_between("2 (kthreadd) S 0 0 0 0 -1 2129984 0", ""));
        fs::remove_dir_all(folder).unwrap();
        assert!(!is_between_programs(folder), "it is gone");
    }
}
