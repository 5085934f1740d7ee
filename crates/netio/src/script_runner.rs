//! Process that runs scripts for a server whose own process may run none.
//!
//! [`ScriptRunner::fork`] splits the process while it has one thread and all its rights; the server
//! confines itself afterwards ([`crate::confine`]). The new process has no socket of the server: it
//! reads requests from a socket pair, starts the scripts, kills those that take too long, and
//! writes one report for each. It ends once the server has closed its end. Sources: fork(2),
//! pidfd_open(2).
#![allow(unsafe_code, reason = "fork, _exit, sigaction, kill, pidfd_open")]

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::ready::{PollFd, poll};

/// Length of a report in bytes: the number of the call, a kind and a value.
const REPORT_LEN: usize = 16;
/// Number of bytes that the process reads at a time.
const READ_LEN: usize = 65_536;

/// Outcome of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptOutcome {
    /// End with this exit status.
    Exited(i32),
    /// End by this signal, which the runner did not send.
    Signaled(i32),
    /// End by the runner, since the script took too long.
    Killed,
    /// No start, for the reason with this error number of the system.
    NotStarted(i32),
}

impl ScriptOutcome {
    /// Returns the number of the call that `report` is about, and its outcome.
    fn from_report(report: [u8; REPORT_LEN]) -> (u64, Self) {
        let report = u128::from_ne_bytes(report);
        let value = (report as u32).cast_signed();
        let outcome = match (report >> 32) as u32 {
            0 => Self::Exited(value),
            1 => Self::Signaled(value),
            2 => Self::Killed,
            _ => Self::NotStarted(value),
        };
        ((report >> 64) as u64, outcome)
    }

    /// Returns the report about call `number`.
    fn report(self, number: u64) -> [u8; REPORT_LEN] {
        let (kind, value): (u32, i32) = match self {
            Self::Exited(status) => (0, status),
            Self::Signaled(signal) => (1, signal),
            Self::Killed => (2, 0),
            Self::NotStarted(error) => (3, error),
        };
        let outcome = u64::from(kind) << 32 | u64::from(value.cast_unsigned());
        (u128::from(number) << 64 | u128::from(outcome)).to_ne_bytes()
    }
}

/// Call of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptRequest<'r> {
    /// Number of the call, by which its outcome is reported.
    pub number: u64,
    /// Path of the script.
    pub script: &'r Path,
    /// Only argument of the script.
    pub argument: &'r [u8],
    /// Whole environment of the script, each variable `NAME=VALUE` with a NUL after it.
    pub variables: &'r [u8],
    /// Time after which the script is killed.
    pub limit: Duration,
}

impl ScriptRequest<'_> {
    /// Returns the request in bytes, its length before it. Neither path nor argument has a NUL.
    fn octets(&self) -> io::Result<Vec<u8>> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let script = self.script.as_os_str().as_bytes();
        if script.contains(&0) || self.argument.contains(&0) {
            return Err(invalid());
        }
        let limit_ms = u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX);
        let (number, limit_ms) = (self.number.to_ne_bytes(), limit_ms.to_ne_bytes());
        let parts = [&number[..], &limit_ms, script, b"\0", self.argument, b"\0", self.variables];
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let len = u32::try_from(len).map_err(|_| invalid())?;
        let mut octets = len.to_ne_bytes().to_vec();
        parts.iter().for_each(|part| octets.extend_from_slice(part));
        Ok(octets)
    }
}

/// Closes all file descriptors but those of the standard streams and of `socket`: what the parent
/// closes must be closed.
fn close_all_but(socket: &UnixStream) {
    let kept = socket.as_raw_fd().cast_unsigned();
    for (first, last) in [(3, kept.saturating_sub(1)), (kept + 1, u32::MAX)] {
        if first <= last {
            // SAFETY: nothing in this process uses the descriptors. An error, of a kernel before
            // 5.9, leaves them open.
            unsafe { libc::close_range(first, last, 0) };
        }
    }
}

/// Connection to the process that runs scripts.
#[derive(Debug)]
pub struct ScriptRunner(UnixStream);

impl ScriptRunner {
    /// Starts the process, which kills scripts that run longer than their limit. Call it while this
    /// process has one thread.
    ///
    /// # Errors
    ///
    /// The error of `socketpair(2)` or `fork(2)`.
    pub fn fork() -> io::Result<Self> {
        let (own, other) = UnixStream::pair()?;
        // SAFETY: the caller has one thread, so the child has no lock that another thread holds. It
        // never returns from here: `_exit` runs none of the parent's destructors.
        match crate::check(unsafe { libc::fork() })? {
            0 => {
                drop(own);
                close_all_but(&other);
                outlive_signals();
                serve(other);
                // SAFETY: the call does not return and has no precondition.
                unsafe { libc::_exit(0) }
            }
            _ => Ok(Self(own)),
        }
    }

    /// Requests a call of a script.
    ///
    /// # Errors
    ///
    /// The error of a write to the process, which has ended then;
    /// [`io::ErrorKind::InvalidInput`] if path or argument has a NUL.
    pub fn send(&self, request: &ScriptRequest<'_>) -> io::Result<()> {
        (&self.0).write_all(&request.octets()?)
    }

    /// Waits for the outcome of a script, in the order in which scripts end. Returns it with the
    /// number of its call.
    ///
    /// # Errors
    ///
    /// The error of a read from the process, which has ended then.
    pub fn receive(&self) -> io::Result<(u64, ScriptOutcome)> {
        let mut report = [0; REPORT_LEN];
        (&self.0).read_exact(&mut report)?;
        Ok(ScriptOutcome::from_report(report))
    }

    /// Ends the connection: the process starts the scripts that were requested and ends; running
    /// scripts go on.
    pub fn close(&self) {
        // An error means that the process has ended already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Script that runs.
struct RunningScript {
    /// Number of the call.
    number: u64,
    child: Child,
    /// Descriptor that can be read when the script has ended.
    end: OwnedFd,
    /// Time at which the script is killed; `None` if the clock does not reach it.
    deadline: Option<Instant>,
    is_killed: bool,
}

extern "C" fn ignore(_signal: libc::c_int) {}

/// Makes the signals that end a server, and that a terminal or service manager sends to all its
/// processes, have no effect: the server's own end ends this process. Scripts get the usual
/// actions, as handlers do not survive execve(2).
fn outlive_signals() {
    // SAFETY: an all-zero sigaction is valid; the handler touches nothing; the old action is not
    // asked for. A failure leaves the usual action.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Runs requested scripts until the server has closed its end of `socket`.
fn serve(mut socket: UnixStream) {
    let mut input = Vec::new();
    let mut running: Vec<RunningScript> = Vec::new();
    loop {
        let (ends, has_request) = wait(&socket, &running);
        for at in ends.into_iter().rev() {
            let mut ended = running.swap_remove(at);
            let outcome = ended.child.wait().map_or(ScriptOutcome::Killed, |status| {
                match (status.code(), status.signal()) {
                    _ if ended.is_killed => ScriptOutcome::Killed,
                    (Some(code), _) => ScriptOutcome::Exited(code),
                    (None, signal) => ScriptOutcome::Signaled(signal.unwrap_or_default()),
                }
            });
            // The server has gone if it does not read.
            let _ = socket.write_all(&outcome.report(ended.number));
        }
        kill_overdue(&mut running);
        if !has_request {
            continue;
        }
        let before = input.len();
        input.resize(before + READ_LEN, 0);
        let count = socket.read(&mut input[before..]).unwrap_or_default();
        input.truncate(before + count);
        while let Some(request) = take_request(&mut input) {
            let Some((number, limit, request)) = split_request(&request) else { continue };
            match start(number, limit, request) {
                Ok(script) => running.push(script),
                Err(error) => {
                    let error = error.raw_os_error().unwrap_or_default();
                    let _ = socket.write_all(&ScriptOutcome::NotStarted(error).report(number));
                }
            }
        }
        if count == 0 {
            return;
        }
    }
}

/// Waits for a request, the end of a script or the next deadline. Returns the positions of scripts
/// that have ended, ascending, and true if the socket has something to read.
fn wait(socket: &UnixStream, running: &[RunningScript]) -> (Vec<usize>, bool) {
    let deadlines =
        running.iter().filter(|script| !script.is_killed).filter_map(|script| script.deadline);
    let timeout = deadlines.min().map(|deadline| {
        let left = deadline.saturating_duration_since(Instant::now());
        u64::try_from(left.as_nanos()).unwrap_or(u64::MAX)
    });
    let mut fds = vec![PollFd::readable(socket)];
    fds.extend(running.iter().map(|script| PollFd::readable(&script.end)));
    if poll(&mut fds, timeout).is_err() {
        return (Vec::new(), false);
    }
    let ends = fds[1..].iter().enumerate().filter(|(_, fd)| fd.is_readable());
    (ends.map(|(at, _)| at).collect(), fds[0].is_readable())
}

/// Kills the scripts that have run for too long, with the processes that they have started.
fn kill_overdue(running: &mut [RunningScript]) {
    let now = Instant::now();
    let is_overdue = |script: &&mut RunningScript| {
        !script.is_killed && script.deadline.is_some_and(|deadline| deadline <= now)
    };
    for script in running.iter_mut().filter(is_overdue) {
        script.is_killed = true;
        let group = script.child.id().cast_signed();
        // SAFETY: the call has no memory arguments. The child is not reaped, so its number, which
        // is also that of its process group, belongs to no other process.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Takes the first complete request out of `input`, without its length.
fn take_request(input: &mut Vec<u8>) -> Option<Vec<u8>> {
    let len = u32::from_ne_bytes(*input.first_chunk()?) as usize;
    let end = len.checked_add(4).filter(|&end| end <= input.len())?;
    let request = input[4..end].to_vec();
    input.drain(..end);
    Some(request)
}

/// Splits a request into the number of the call, its limit, and the rest; `None` if it is too
/// short, which no request of this module is.
fn split_request(request: &[u8]) -> Option<(u64, Duration, &[u8])> {
    let (number, rest) = request.split_first_chunk()?;
    let (limit_ms, rest) = rest.split_first_chunk()?;
    let limit = Duration::from_millis(u64::from_ne_bytes(*limit_ms));
    Some((u64::from_ne_bytes(*number), limit, rest))
}

/// Starts the script of `request` as the call `number`.
fn start(number: u64, limit: Duration, request: &[u8]) -> io::Result<RunningScript> {
    let mut parts = request.split(|&octet| octet == 0);
    let mut next = || parts.next().map(OsStr::from_bytes).unwrap_or_default();
    let mut command = Command::new(next());
    command.arg(next()).env_clear().current_dir("/").stdin(Stdio::null()).process_group(0);
    for variable in parts.filter(|variable| !variable.is_empty()) {
        let equals = variable.iter().position(|&octet| octet == b'=').unwrap_or(variable.len());
        let (name, value) = variable.split_at(equals);
        let value = value.get(1..).unwrap_or_default();
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
    }
    let mut child = command.spawn()?;
    // SAFETY: the call has no memory arguments; on success it returns a new descriptor, which this
    // process owns.
    let end = unsafe {
        let raw = libc::syscall(libc::SYS_pidfd_open, child.id(), 0);
        crate::check(raw as libc::c_int).map(|raw| OwnedFd::from_raw_fd(raw))
    };
    match end {
        Ok(end) => {
            let deadline = Instant::now().checked_add(limit);
            Ok(RunningScript { number, child, end, deadline, is_killed: false })
        }
        Err(error) => {
            // Without the descriptor (Linux before 5.3) nothing would reap the script in time.
            child.kill().and_then(|()| child.wait())?;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use testkit::TempFolder;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn request<'r>(number: u64, script: &'r Path, variables: &'r [u8]) -> ScriptRequest<'r> {
        ScriptRequest { number, script, argument: b"point", variables, limit: LONG }
    }

    fn script(folder: &TempFolder, name: &str, text: &str) -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_process_keeps_no_descriptor_open() {
        let (mut reader, writer) = io::pipe().unwrap();
        let _runner = ScriptRunner::fork().unwrap();
        drop(writer);
        // The end of the pipe comes once nobody has the other side.
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn scripts_have_their_argument_and_these_variables_only() {
        let folder = TempFolder::new("scripts");
        let output = folder.path().join("output");
        let text = format!(
            "#!/bin/sh\n/usr/bin/env > {0}.env\necho \"$#$1\" > {0}\npwd >> {0}\n\
                            /bin/readlink /proc/self/fd/0 >> {0}\nexit 7\n",
            output.display()
        );
        let path = script(&folder, "script", &text);
        let runner = ScriptRunner::fork().unwrap();
        runner.send(&request(9, &path, b"A=1=2\0B=\0")).unwrap();
        assert_eq!(runner.receive().unwrap(), (9, ScriptOutcome::Exited(7)));
        assert_eq!(fs::read_to_string(&output).unwrap(), "1point\n/\n/dev/null\n");
        let variables = fs::read_to_string(output.with_extension("env")).unwrap();
        let mut variables: Vec<&str> = variables.lines().collect();
        variables.sort_unstable();
        // The shell itself adds its folder.
        variables.retain(|variable| !variable.starts_with("PWD=") && !variable.starts_with("_="));
        assert_eq!(variables, ["A=1=2", "B="]);
    }

    #[test]
    fn ends_of_all_kinds_are_reported() {
        let folder = TempFolder::new("scripts-ends");
        let killed = script(&folder, "killed", "#!/bin/sh\nkill -9 $$\n");
        let hanging =
            script(&folder, "hanging", "#!/bin/sh\nwhile true; do /bin/sleep 600; done\n");
        let broken = script(&folder, "broken", "\u{1}\u{2}");
        let runner = ScriptRunner::fork().unwrap();
        let outcome = |path: &Path| {
            let limit = if path == hanging { Duration::from_millis(300) } else { LONG };
            let number = u64::MAX - 1;
            runner.send(&ScriptRequest { limit, ..request(number, path, b"") }).unwrap();
            let (ended, outcome) = runner.receive().unwrap();
            assert_eq!(ended, number);
            outcome
        };
        let with_nul = ScriptRequest { argument: b"a\0b", ..request(1, &killed, b"") };
        assert_eq!(runner.send(&with_nul).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(outcome(&killed), ScriptOutcome::Signaled(libc::SIGKILL));
        assert_eq!(outcome(&hanging), ScriptOutcome::Killed);
        assert_eq!(outcome(&broken), ScriptOutcome::NotStarted(libc::ENOEXEC));
        assert_eq!(outcome(Path::new("/no/such")), ScriptOutcome::NotStarted(libc::ENOENT));
        fs::set_permissions(&killed, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(outcome(&killed), ScriptOutcome::NotStarted(libc::EACCES));
    }

    #[test]
    fn many_scripts_run_at_the_same_time_and_none_is_lost() {
        const COUNT: usize = 64;
        let folder = TempFolder::new("scripts-many");
        // Each waits until all have begun.
        let text = format!(
            "#!/bin/sh\n: > {0}/begun-$N\n\
                            until [ -e {0}/begun-{1} ]; do :; done\n",
            folder.path().display(),
            COUNT - 1
        );
        let path = script(&folder, "script", &text);
        let runner = ScriptRunner::fork().unwrap();
        for number in 0..COUNT as u64 {
            let variables = format!("N={number}\0");
            runner.send(&request(number, &path, variables.as_bytes())).unwrap();
        }
        let mut ended = Vec::new();
        for _ in 0..COUNT {
            let (number, outcome) = runner.receive().unwrap();
            assert_eq!(outcome, ScriptOutcome::Exited(0));
            ended.push(number);
        }
        ended.sort_unstable();
        assert_eq!(ended, Vec::from_iter(0..COUNT as u64));
        runner.close();
        runner.receive().unwrap_err();
    }
}
