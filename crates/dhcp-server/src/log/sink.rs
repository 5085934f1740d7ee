//! Sinks of log lines: a stream, the system log, or a file that is rotated.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dhcp_config::{LogDestination, LogOutput, LogSeverity};

use super::layout::{LogPattern, LogRecord, RecordTime};
use super::text::lines;
use crate::policy;

/// Minimum size in bytes at which a log file is rotated, as in log4cplus.
const ROTATION_MIN_BYTES: u64 = 200 << 10;
/// Mode of a log file, as with Kea's umask.
const MODE: u32 = 0o640;
/// Path of the system log's socket.
pub(crate) const SYSTEM_LOG: &str = "/dev/log";

/// Output of the server's log lines. Only the writer's thread writes to it.
#[derive(Debug)]
pub(super) struct LogSink {
    output: LogOutput,
    /// Name of the program in the system log.
    ident: String,
    layout: LogPattern,
    state: Mutex<LogSinkState>,
}

/// State of a log output, which is opened when the first line is to be written.
#[derive(Debug)]
enum LogSinkState {
    Closed,
    File {
        file: BufWriter<File>,
        len: u64,
    },
    SystemLog(UnixDatagram),
    /// State of a log output that cannot be opened; the failure has been reported.
    Broken,
}

impl LogSink {
    /// Creates the sink of the log output `output` for the root logger `ident`.
    pub(super) fn new(output: LogOutput, ident: String) -> Self {
        let is_system_log = matches!(output.destination, LogDestination::Syslog(_));
        let layout = LogPattern::new(&output.pattern, is_system_log);
        Self { output, ident, layout, state: Mutex::new(LogSinkState::Closed) }
    }

    /// Returns the configured log output of the sink.
    pub(super) const fn output(&self) -> &LogOutput {
        &self.output
    }

    /// Writes the log message `record`. If the output fails, the line goes to standard error.
    pub(super) fn write(&self, record: &LogRecord, utc_offset_s: i64) {
        for text in lines(&record.text) {
            let line = self.layout.line(record, &text, utc_offset_s);
            match &self.output.destination {
                LogDestination::Stdout => put(&mut io::stdout().lock(), &line),
                LogDestination::Stderr => put(&mut io::stderr().lock(), &line),
                LogDestination::Syslog(facility) => {
                    let facility = facility.as_deref().unwrap_or("local0");
                    let priority = facility_code(facility) * 8 + level_code(record.severity);
                    let time = system_log_time(record.wall_us, utc_offset_s);
                    let (ident, pid) = (&self.ident, std::process::id());
                    let datagram = format!("<{priority}>{time} {ident}[{pid}]: {line}");
                    self.or_stderr(&line, |state| send(state, &datagram));
                }
                LogDestination::File(name) => {
                    let path = policy::LOGS.path().join(name);
                    self.or_stderr(&line, |state| self.append(state, &path, &line));
                }
            }
        }
    }

    /// Writes buffered log lines to the file.
    pub(super) fn flush(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let LogSinkState::File { file, .. } = &mut *state
            && let Err(cause) = file.flush()
        {
            self.give_up(&mut state, &cause);
        }
    }

    /// Reports on standard error that the log output cannot be written, and writes the sink's
    /// buffered lines to standard error.
    fn give_up(&self, state: &mut LogSinkState, cause: &io::Error) {
        let what = match &self.output.destination {
            LogDestination::File(name) => policy::LOGS.path().join(name).display().to_string(),
            _ => SYSTEM_LOG.to_owned(),
        };
        put(&mut io::stderr().lock(), &format!("cannot write the log {what}: {cause}"));
        if let LogSinkState::File { file, .. } = std::mem::replace(state, LogSinkState::Broken) {
            let (_, rest) = file.into_parts();
            io::stderr().lock().write_all(&rest.unwrap_or_default()).ok();
        }
    }

    fn or_stderr(&self, line: &str, write: impl FnOnce(&mut LogSinkState) -> io::Result<()>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*state, LogSinkState::Broken) {
            let Err(cause) = write(&mut state) else { return };
            self.give_up(&mut state, &cause);
        }
        put(&mut io::stderr().lock(), line);
    }

    fn append(&self, state: &mut LogSinkState, path: &Path, line: &str) -> io::Result<()> {
        let added = line.len() as u64 + 1;
        if let LogSinkState::File { file, len } = state
            && self.output.max_size_bytes > 0
            && *len + added > self.output.max_size_bytes.max(ROTATION_MIN_BYTES)
        {
            file.flush()?;
            rotate(path, self.output.max_versions.max(1))?;
            *state = LogSinkState::Closed;
        }
        if !matches!(state, LogSinkState::File { .. }) {
            // A symbolic link in the folder must not lead to another file, nor a pipe without a
            // reader hold up the log.
            let flags = netio::file::NO_FOLLOW | netio::file::NON_BLOCKING;
            let mut options = OpenOptions::new();
            options.append(true).create(true).mode(MODE).custom_flags(flags);
            let file = options.open(path)?;
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(io::Error::other("it is not a regular file"));
            }
            let len = metadata.len();
            *state = LogSinkState::File { file: BufWriter::new(file), len };
        }
        let LogSinkState::File { file, len } = state else { unreachable!("it was just opened") };
        *len += added;
        file.write_all(line.as_bytes())?;
        file.write_all(b"\n")
    }
}

/// Writes a log line to a standard stream. If the stream is broken, there is no one to report the
/// error to.
fn put(stream: &mut impl Write, line: &str) {
    writeln!(stream, "{line}").and_then(|()| stream.flush()).ok();
}

fn send(state: &mut LogSinkState, datagram: &str) -> io::Result<()> {
    if !matches!(state, LogSinkState::SystemLog(_)) {
        let socket = UnixDatagram::unbound()?;
        socket.connect(SYSTEM_LOG)?;
        *state = LogSinkState::SystemLog(socket);
    }
    let LogSinkState::SystemLog(socket) = state else { unreachable!("it was just connected") };
    // The system log may have been restarted.
    if socket.send(datagram.as_bytes()).is_err() {
        socket.connect(SYSTEM_LOG)?;
        socket.send(datagram.as_bytes())?;
    }
    Ok(())
}

/// Renames the log file `log` to `log.1`, that to `log.2` and so on up to the first number that is
/// free, `log.VERSIONS` at most.
fn rotate(path: &Path, versions: u32) -> io::Result<()> {
    let numbered = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    // Only existing files are moved, so that a large number of versions costs nothing.
    let free = (1..versions).find(|&number| fs::symlink_metadata(numbered(number)).is_err());
    for number in (1..free.unwrap_or(versions)).rev() {
        fs::rename(numbered(number), numbered(number + 1))?;
    }
    fs::rename(path, numbered(1))
}

/// Returns the time `wall_us` microseconds after 1970 as a line of the system log has it, in a zone
/// `utc_offset_s` seconds east of Greenwich.
pub(crate) fn system_log_time(wall_us: u64, utc_offset_s: i64) -> String {
    RecordTime::new(wall_us, utc_offset_s).format("%b %e %T")
}

/// Returns the code of a system log facility (RFC 5424 §6.2.1); an unknown name stands for
/// `local0`, Kea's default.
pub(crate) fn facility_code(name: &str) -> u8 {
    const NAMES: [&str; 24] = [
        "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron",
        "authpriv", "ftp", "ntp", "audit", "alert", "clock", "local0", "local1", "local2",
        "local3", "local4", "local5", "local6", "local7",
    ];
    let name = name.to_ascii_lowercase();
    NAMES.iter().position(|other| *other == name).map_or(16, |at| at as u8)
}

const fn level_code(severity: LogSeverity) -> u8 {
    match severity {
        LogSeverity::None | LogSeverity::Fatal => 2,
        LogSeverity::Error => 3,
        LogSeverity::Warn => 4,
        LogSeverity::Info => 6,
        LogSeverity::Debug => 7,
    }
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn a_file_is_rotated_before_it_outgrows_its_size() {
        let temporary = TempFolder::new("sink");
        let folder = temporary.path();
        let path = folder.join("server.log");
        let output = LogOutput {
            destination: LogDestination::File(path.to_str().unwrap().to_owned()),
            flush: true,
            max_size_bytes: ROTATION_MIN_BYTES,
            max_versions: 2,
            pattern: "%m".to_owned(),
        };
        let sink = LogSink::new(output, "kea-dhcp4".to_owned());
        for number in 0..30_000 {
            let record = LogRecord {
                wall_us: 0,
                severity: LogSeverity::Info,
                logger: String::new(),
                thread: String::new(),
                text: format!("message number {number:06}"),
            };
            sink.write(&record, 0);
        }
        sink.flush();
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["server.log", "server.log.1", "server.log.2"]);
        let mut text = String::new();
        for name in names.iter().rev() {
            let part = fs::read_to_string(folder.join(name)).unwrap();
            assert!(part.len() as u64 <= ROTATION_MIN_BYTES);
            text.push_str(&part);
        }
        let last: Vec<&str> = text.lines().collect();
        let first = 30_000 - last.len();
        for (at, line) in last.iter().enumerate() {
            assert_eq!(*line, format!("message number {:06}", first + at), "in order, none lost");
        }
    }

    #[test]
    fn links_pipes_and_folders_are_no_log_files() {
        let temporary = TempFolder::new("links");
        let folder = temporary.path();
        fs::create_dir_all(folder.join("folder")).unwrap();
        let path = |name: &str| folder.join(name);
        fs::write(path("precious"), "precious").unwrap();
        std::os::unix::fs::symlink(path("precious"), path("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        for name in ["link", "pipe", "folder"] {
            let output = LogOutput {
                destination: LogDestination::File(path(name).display().to_string()),
                flush: true,
                max_size_bytes: 0,
                max_versions: 1,
                pattern: "%m".to_owned(),
            };
            let sink = LogSink::new(output, "kea-dhcp4".to_owned());
            let mut state = LogSinkState::Closed;
            assert!(sink.append(&mut state, &path(name), "line").is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(path("precious")).unwrap(), "precious");
    }

    #[test]
    fn a_large_number_of_versions_costs_nothing() {
        let temporary = TempFolder::new("versions");
        let folder = temporary.path();
        let path = folder.join("log");
        for text in ["first", "second", "third"] {
            fs::write(&path, text).unwrap();
            rotate(&path, u32::MAX).unwrap();
        }
        let part = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let parts = ["log.1", "log.2", "log.3"].map(part);
        assert_eq!(parts, ["third", "second", "first"]);
    }

    #[test]
    fn facilities_have_their_codes() {
        assert_eq!(
            ["kern", "daemon", "local0", "LOCAL7", "?"].map(facility_code),
            [0, 3, 16, 23, 16]
        );
    }
}
