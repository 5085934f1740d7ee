//! The log from the macros to a file.

use std::fs;

use dhcp_config::{LogDestination, LogOutput};

use super::*;

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

fn path(label: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("godwit-log-{label}-{}", std::process::id()))
}

#[test]
fn what_is_said_is_written_with_its_identifier_and_in_single_lines() {
    let path = path("said");
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
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_full_queue_drops_and_says_how_many() {
    let path = path("full");
    let loggers = [to_file(&path, "%m")];
    let routes = Arc::new(Routes::new("dhcp4", &loggers));
    let (queue, messages) = sync_channel(3);
    let dropped = Arc::<AtomicU64>::default();
    // Nobody writes yet.
    let log =
        Log { family: "dhcp4", routes: RwLock::new(routes), queue, dropped: Arc::clone(&dropped) };
    let log = Arc::new(log);
    tracing::subscriber::with_default(Tap(Arc::clone(&log)), || {
        for number in 0..10 {
            tracing::info!(target: "leases", "message {number}");
        }
    });
    drop(log);
    writer::write(&messages, &dropped);
    let written = fs::read_to_string(&path).unwrap();
    let expected = "LOG_MESSAGES_DROPPED 7 messages were lost: too many at once\n\
                    message 0\nmessage 1\nmessage 2\n";
    assert_eq!(written, expected);
    fs::remove_file(&path).unwrap();
}
