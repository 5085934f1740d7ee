//! Programs that run with their output in a log, without input, for a limited time.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::privilege::Privilege;

/// Name of the environment variable that identifies all processes started here.
pub(crate) const MARKER: &str = "GODWIT_TEST_RUN";

/// Process that carries the marker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Marked {
    /// Process id.
    pub(crate) pid: u32,
    /// Command line of the process.
    pub(crate) words: String,
}

/// End of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Exit status of a program that ended by itself.
    Status(ExitStatus),
    /// Timeout after which the program was ended.
    TimeOut,
}

impl End {
    /// Returns true if the program ended by itself with exit code 0.
    pub(crate) fn is_success(self) -> bool {
        matches!(self, Self::Status(status) if status.success())
    }

    /// Returns the end as text.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Status(status) => status.to_string(),
            Self::TimeOut => "did not end in time".to_owned(),
        }
    }
}

/// Runs `command` with both outputs in the file `log`. Ends it and every process marked with
/// `marker` when it takes longer than `limit`.
pub(crate) fn run(
    command: &mut Command,
    marker: &str,
    log: &Path,
    limit: Duration,
) -> Result<End, String> {
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
) -> Result<End, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", log.display());
    let output = File::create(log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let mut lines = Lines { file: File::open(log).map_err(failed)?, begun: Vec::new() };
    command.stdout(output).stderr(errors);
    let watch = || {
        lines.pass_on(&mut each_line);
        look();
    };
    let end = wait_watched(command, marker, limit, watch)?;
    lines.pass_on(&mut each_line);
    Ok(end)
}

/// Lines of a growing file.
struct Lines {
    file: File,
    /// Bytes of the last, incomplete line.
    begun: Vec<u8>,
}

impl Lines {
    /// Passes on the lines that are complete. The next call reads data that cannot be read now.
    fn pass_on(&mut self, each_line: &mut impl FnMut(&str)) {
        drop(self.file.read_to_end(&mut self.begun));
        let Some(last) = self.begun.iter().rposition(|octet| *octet == b'\n') else { return };
        let rest = self.begun.split_off(last + 1);
        let whole = std::mem::replace(&mut self.begun, rest);
        String::from_utf8_lossy(&whole).lines().for_each(each_line);
    }
}

/// Runs `command` as [`run`] does, with its outputs unchanged.
pub(crate) fn wait(command: &mut Command, marker: &str, limit: Duration) -> Result<End, String> {
    wait_watched(command, marker, limit, || ())
}

fn wait_watched(
    command: &mut Command,
    marker: &str,
    limit: Duration,
    mut watch: impl FnMut(),
) -> Result<End, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("cannot run {name}: {error}");
    let started = Instant::now();
    let mut child = command.stdin(Stdio::null()).env(MARKER, marker).spawn().map_err(failed)?;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(End::Status(status));
        }
        if started.elapsed() > limit {
            // It must not start other processes while the existing ones are ended.
            drop(child.kill());
            end_family(MARKER, marker);
            child.wait().map_err(failed)?;
            return Ok(End::TimeOut);
        }
        watch();
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

/// Returns all processes that carry the marker of a run, as far as this user may see them.
pub(crate) fn marked(marker: &str) -> Vec<Marked> {
    marked_by(MARKER, marker)
}

/// Returns all processes with `marker` in the environment variable `name`.
pub(crate) fn marked_by(name: &str, marker: &str) -> Vec<Marked> {
    let entry = format!("{name}={marker}");
    let mut found = Vec::new();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        if environment.split(|octet| *octet == 0).any(|variable| variable == entry.as_bytes()) {
            let words = fs::read(folder.join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            found.push(Marked { pid, words: words.trim().to_owned() });
        }
    }
    found.sort();
    found
}

/// Number of looks, and the pause between them, before a process counts as lasting: a killed
/// process is visible until its new parent has waited for it.
const LOOKS: u32 = 40;
const LOOK_PAUSE: Duration = Duration::from_millis(250);

/// Returns the processes with `marker` in the environment variable `name` that do not end.
pub(crate) fn lasting(name: &str, marker: &str) -> Vec<Marked> {
    let mut found = marked_by(name, marker);
    for _ in 0..LOOKS {
        if found.is_empty() {
            break;
        }
        thread::sleep(LOOK_PAUSE);
        let now = marked_by(name, marker);
        found.retain(|process| now.contains(process));
    }
    found
}

/// Ends all processes with `marker` in the environment variable `name`, including those that one of
/// them started before its end.
pub(crate) fn end_family(name: &str, marker: &str) {
    for _ in 0..LOOKS {
        let found = marked_by(name, marker);
        if found.is_empty() {
            break;
        }
        end_all(&found);
    }
}

/// Ends processes, each by its own id.
pub(crate) fn end_all(processes: &[Marked]) {
    for process in processes {
        let script = format!("kill -KILL {} 2>/dev/null", process.pid);
        drop(Privilege::detect().shell(&script).stdin(Stdio::null()).status());
    }
}

/// Returns the last lines of a log, indented, and for a test program also those from its first
/// failure on.
pub(crate) fn last_lines(log: &Path, count: usize) -> String {
    let octets = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&octets);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len().saturating_sub(count);
    let failure = lines.iter().position(|line| *line == "failures:").unwrap_or(last).min(last);
    let first_end = (failure + count).min(last);
    let shown = lines[failure..first_end].iter().chain(&lines[last..]);
    shown.map(|line| format!("    | {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("godwit-child-{name}-{}", std::process::id()))
    }

    #[test]
    fn output_and_status_are_kept() {
        let log = log("output");
        let mut command = Command::new("sh");
        command.args(["-c", "echo a; echo b >&2; read c || echo no input; exit 3"]);
        let end = run(&mut command, "output", &log, Duration::from_secs(60)).unwrap();
        assert!(!end.is_success());
        assert_eq!(last_lines(&log, 2), "    | b\n    | no input\n");
        fs::write(&log, "1\nfailures:\n2\n3\n4\n5\n").unwrap();
        let expected = ["failures:", "2", "4", "5"].map(|line| format!("    | {line}\n"));
        assert_eq!(last_lines(&log, 2), expected.concat());
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn lines_are_passed_on_while_the_program_runs() {
        let log = log("lines");
        let told = log.with_extension("told");
        let mut command = Command::new("sh");
        // It ends once its first line was passed on.
        let script =
            format!("echo a; until test -e {}; do sleep 0.01; done; printf b", told.display());
        command.args(["-c", &script]);
        let mut lines = Vec::new();
        let keep = |line: &str| {
            fs::write(&told, "").unwrap();
            lines.push(line.to_owned());
        };
        let limit = Duration::from_secs(300);
        let end = run_watched(&mut command, "lines", &log, limit, keep, || ());
        assert!(end.unwrap().is_success());
        // Text without a line end is not a line.
        assert_eq!(lines, ["a"]);
        fs::remove_file(log).unwrap();
        fs::remove_file(told).unwrap();
    }

    #[test]
    fn a_program_that_starts_others_all_the_time_is_ended_with_all_of_them() {
        let log = log("family");
        let marker = format!("family-{}", std::process::id());
        let mut command = Command::new("sh");
        let script = "while :; do (sleep 1000 & sleep 1000) & sleep 0.01; done";
        command.args(["-c", script]);
        let end = run(&mut command, &marker, &log, Duration::from_millis(300)).unwrap();
        assert_eq!(end, End::TimeOut);
        assert_eq!(lasting(MARKER, &marker), []);
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn after_its_time_a_program_is_ended_with_its_children() {
        let log = log("time");
        let marker = format!("time-{}", std::process::id());
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & sleep 1000"]);
        let end = run(&mut command, &marker, &log, Duration::from_millis(300)).unwrap();
        assert_eq!(end, End::TimeOut);
        // A killed orphan stays visible until its new parent has waited for it.
        let started = Instant::now();
        while !marked(&marker).is_empty() && started.elapsed() < Duration::from_secs(300) {
            thread::yield_now();
        }
        assert_eq!(marked(&marker), []);
        fs::remove_file(log).unwrap();
    }
}
