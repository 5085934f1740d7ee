//! Tests of the log from the macros to a file.

use std::fs;
use std::sync::MutexGuard;

use dhcp_config::{LogDestination, LogOutput};
use testkit::TempFolder;

use super::*;

mod messages;

/// Waits until no other test has a log that `tracing` speaks to. A log that is configured decides
/// for all messages of the process which of them are wanted, those of other threads' logs too.
fn alone() -> MutexGuard<'static, ()> {
    static LOGS: Mutex<()> = Mutex::new(());
    LOGS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn to_file(path: &std::path::Path, pattern: &str) -> Logger {
    let output = LogOutput {
        destination: LogDestination::File(path.to_str().unwrap().to_owned()),
        flush: false,
        max_size_bytes: 0,
        max_versions: 0,
        pattern: pattern.to_owned(),
    };
    Logger {
        name: "kea-dhcp4".to_owned(),
        severity: LogSeverity::Info,
        debug_level: 0,
        outputs: vec![output],
    }
}

/// Returns the lines that `log_messages` logs at a server of `family` whose `loggers` write to the
/// file at `path`, and removes the file.
fn written(
    family: &'static str,
    path: &std::path::Path,
    loggers: &[Logger],
    log_messages: impl FnOnce(),
) -> String {
    let _alone = alone();
    let (log, writing) = Log::new(family, 64);
    log.configure(loggers);
    let log = Arc::new(log);
    tracing::subscriber::with_default(Tap(Arc::clone(&log)), log_messages);
    log.flush();
    drop(log);
    writing.join().unwrap();
    let text = fs::read_to_string(path).unwrap_or_default();
    fs::remove_file(path).ok();
    text
}

#[test]
fn debug_levels_and_what_is_fatal_are_told_by_fields() {
    let folder = TempFolder::new("log-fields");
    let path = folder.path().join("log");
    let mut logger = to_file(&path, "%p %c %m");
    (logger.severity, logger.debug_level) = (LogSeverity::Debug, 15);
    let log_messages = || {
        tracing::debug!(target: "packets", id = "IN", debuglevel = 15_u64, "text");
        tracing::debug!(target: "packets", id = "OUT", debuglevel = 16_u64, "text");
        tracing::debug!(target: "packets", "without a level");
        tracing::error!(target: DAEMON, id = "DHCPX_SERVER_FAILED", fatal = true, "why");
        tracing::error!(target: DAEMON, "an error");
    };
    let expected = "DEBUG kea-dhcp4.packets IN text\nDEBUG kea-dhcp4.packets without a level\n\
                    FATAL kea-dhcp4.dhcp4 DHCP4_SERVER_FAILED why\n\
                    ERROR kea-dhcp4.dhcp4 an error\n";
    assert_eq!(written("dhcp4", &path, &[logger.clone()], log_messages), expected);
    logger.severity = LogSeverity::Fatal;
    let fatal = "FATAL kea-dhcp4.dhcp4 DHCP4_SERVER_FAILED why\n";
    assert_eq!(written("dhcp4", &path, &[logger.clone()], log_messages), fatal);
    logger.severity = LogSeverity::None;
    assert_eq!(written("dhcp4", &path, &[logger], log_messages), "");
}

#[test]
fn what_is_said_early_is_written_by_the_loggers_once_they_are_configured() {
    let _alone = alone();
    let folder = TempFolder::new("log-early");
    let path = folder.path().join("log");
    let (log, writing) = Log::new("dhcp4", 64);
    let log = Arc::new(log);
    let (mut to_file, mut to_stderr) = (to_file(&path, "%p %c %m"), to_file(&path, ""));
    to_file.severity = LogSeverity::Warn;
    to_stderr.outputs[0].destination = LogDestination::Stderr;
    tracing::subscriber::with_default(Tap(Arc::clone(&log)), || {
        tracing::warn!(target: DAEMON, id = "DHCPX_CONFIG_UNSUPPORTED", "early");
        tracing::info!(target: DAEMON, "nobody wants this");
        log.configure(&[to_file.clone()]);
        tracing::warn!(target: DAEMON, "late");
        // Another configuration has no early messages to write.
        log.configure(&[to_stderr]);
        log.configure(&[to_file]);
    });
    log.flush();
    let expected =
        "WARN kea-dhcp4.dhcp4 DHCP4_CONFIG_UNSUPPORTED early\nWARN kea-dhcp4.dhcp4 late\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    drop(log);
    writing.join().unwrap();
}

#[test]
fn a_flush_hands_over_lines_of_outputs_that_are_no_longer_configured() {
    let folder = TempFolder::new("log-former");
    let path = folder.path().join("log");
    let logger = to_file(&path, "%m");
    let sink = Arc::new(sink::LogSink::new(logger.outputs[0].clone(), "kea-dhcp4".to_owned()));
    let record = LogRecord {
        wall_us: 0,
        severity: LogSeverity::Info,
        logger: "kea-dhcp4".to_owned(),
        thread: String::new(),
        text: "before".to_owned(),
    };
    let (queue, messages) = sync_channel(2);
    let (done, flushed) = sync_channel(1);
    queue.send(LogWriterItem::Record(record, Arc::new([sink]))).unwrap();
    // The configuration in force has no outputs.
    queue.send(LogWriterItem::Flush(Vec::new(), done)).unwrap();
    let writing = thread::spawn(move || writer::write(&messages, &AtomicU64::new(0)));
    flushed.recv().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    drop(queue);
    writing.join().unwrap();
    assert_eq!(text, "before\n");
}

/// Collects the source files of this crate below `folder`, without tests.
fn sources(folder: &std::path::Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.ends_with("tests") {
            sources(&entry, files);
        } else if entry.is_file() && !entry.ends_with("tests.rs") {
            files.push(entry);
        }
    }
}

#[test]
fn every_message_has_an_identifier() {
    let mut files = Vec::new();
    sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut count = 0;
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("tracing::") {
            let call = &text[at + "tracing::".len()..];
            let names = ["trace!(", "debug!(", "info!(", "warn!(", "error!("];
            let Some(name) = names.iter().find(|name| call.starts_with(**name)) else { continue };
            let message = call[name.len()..].split('"').collect::<Vec<_>>();
            // Only target and fields precede the text.
            let fields = match message[..] {
                [target, _, fields, id, ..] if target.trim() == "target:" => {
                    let own = fields.trim_start_matches(',').trim();
                    if own == "id =" { format!("id = {id}") } else { own.to_owned() }
                }
                [fields, ..] => fields.to_owned(),
                [] => String::new(),
            };
            let has_id = fields.split(',').any(|field| {
                let field = field.trim();
                field == "id" || field.starts_with("id =")
            });
            assert!(has_id, "{}: {name}{fields}: no identifier", path.display());
            count += 1;
        }
    }
    assert!(count > 50, "{count} messages");
}

#[test]
fn what_is_said_is_written_with_its_identifier_and_in_single_lines() {
    let _alone = alone();
    let folder = TempFolder::new("log-said");
    let path = folder.path().join("log");
    let (log, writing) = Log::new("dhcp4", 64);
    log.configure(&[to_file(&path, "%p %c %t %m")]);
    let log = Arc::new(log);
    tracing::subscriber::with_default(Tap(Arc::clone(&log)), || {
        tracing::info!(target: DAEMON, id = "DHCPX_STARTED", "version {}", 1);
        tracing::warn!(target: "commands", id = "COMMAND_X", count = 3, "two\nlines \x1b[1m");
        tracing::debug!(target: "commands", "nobody wants this");
        tracing::error!(target: "leases", "bare");
    });
    log.flush();
    let thread = thread::current().name().unwrap().to_owned();
    let expected = format!(
        "INFO kea-dhcp4.dhcp4 {thread} DHCP4_STARTED version 1\n\
         WARN kea-dhcp4.commands {thread} COMMAND_X two\n\
         WARN kea-dhcp4.commands {thread} lines \\x1b[1m count=3\n\
         ERROR kea-dhcp4.leases {thread} bare\n"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    drop(log);
    writing.join().unwrap();
}

#[test]
fn a_full_queue_drops_and_says_how_many() {
    let _alone = alone();
    let folder = TempFolder::new("log-full");
    let path = folder.path().join("log");
    let loggers = [to_file(&path, "%m")];
    let routes = Arc::new(Routes::new("dhcp4", &loggers));
    let (queue, messages) = sync_channel(3);
    let dropped = Arc::<AtomicU64>::default();
    // No thread writes yet.
    let log = Log {
        family: "dhcp4",
        routes: RwLock::new(routes),
        is_configured: AtomicBool::new(true),
        queue,
        early: Mutex::new(None),
        dropped: Arc::clone(&dropped),
    };
    let log = Arc::new(log);
    tracing::subscriber::with_default(Tap(Arc::clone(&log)), || {
        for number in 0..10 {
            tracing::info!(target: "leases", "message {number}");
        }
    });
    drop(log);
    writer::write(&messages, &dropped);
    let written = fs::read_to_string(&path).unwrap();
    let expected = "LOG_MESSAGES_DROPPED 7 messages were lost: more at once than the log can \
                    hold\nmessage 0\nmessage 1\nmessage 2\n";
    assert_eq!(written, expected);
}
