//! System log as the destination of the legal log.

use std::io;
use std::os::unix::net::UnixDatagram;

use dhcp_config::{LegalLogSyslog, LogSeverity};
use netio::Clock;

use super::entry::LogEntry;
use crate::log::{LogPattern, LogRecord, SYSTEM_LOG, facility_code, system_log_time};

/// Code of the severity INFO in the system log (RFC 5424 §6.2.1).
const INFO: u8 = 6;

/// Connection to the system log for the lines of the legal log.
#[derive(Debug)]
pub(super) struct SystemLog {
    socket: Option<UnixDatagram>,
    /// Path of the system log's socket.
    path: &'static str,
    priority: u8,
    /// Name of the server, as Kea calls it.
    server: String,
    layout: LogPattern,
}

impl SystemLog {
    /// Returns the system log by `settings` for the server `server`; the first line connects.
    pub(super) fn new(settings: &LegalLogSyslog, server: &str) -> Self {
        let facility = settings.facility.as_deref().unwrap_or("local0");
        Self {
            socket: None,
            path: SYSTEM_LOG,
            priority: facility_code(facility) * 8 + INFO,
            server: server.to_owned(),
            layout: LogPattern::new(&settings.pattern, true),
        }
    }

    /// Returns a system log that does not exist.
    #[cfg(test)]
    pub(super) fn missing(settings: &LegalLogSyslog) -> Self {
        Self { path: "/nonexistent/log", ..Self::new(settings, "kea-dhcp4") }
    }

    /// Sends the text of `entry` to the system log.
    ///
    /// # Errors
    ///
    /// The reason why the system log did not take it.
    pub(super) fn send(&mut self, entry: &LogEntry, wall_us: u64) -> Result<(), String> {
        let text = String::from_utf8_lossy(&entry.text);
        let record = LogRecord {
            wall_us,
            severity: LogSeverity::Info,
            logger: format!("{}.legal-log-0", self.server),
            thread: "legal-log".to_owned(),
            text: format!("LEGAL_LOG_SYSLOG {text}"),
        };
        let utc_offset_s = Clock::utc_offset_s(wall_us / 1_000_000);
        let line = self.layout.line(&record, &record.text, utc_offset_s);
        let time = system_log_time(wall_us, utc_offset_s);
        let datagram = format!("<{}>{time} {}: {line}", self.priority, self.server);
        self.send_datagram(datagram.as_bytes())
            .map_err(|cause| format!("error writing to the system log {}: {cause}", self.path))
    }

    fn send_datagram(&mut self, datagram: &[u8]) -> io::Result<()> {
        if let Some(socket) = &self.socket
            && socket.send(datagram).is_ok()
        {
            return Ok(());
        }
        // The system log may have been restarted.
        let socket = UnixDatagram::unbound()?;
        socket.connect(self.path)?;
        socket.send(datagram)?;
        self.socket = Some(socket);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    #[test]
    fn datagrams_are_keas_and_the_system_log_may_start_again() {
        let temporary = TempFolder::new("legal-syslog");
        let path = temporary.path().join("log");
        let listen = || UnixDatagram::bind(&path).unwrap();
        let received = |socket: &UnixDatagram| {
            let mut buffer = [0; 1_000];
            let len = socket.recv(&mut buffer).unwrap();
            String::from_utf8_lossy(&buffer[..len]).into_owned()
        };
        let settings = |facility: Option<&str>, pattern: &str| LegalLogSyslog {
            facility: facility.map(str::to_owned),
            pattern: pattern.to_owned(),
        };
        let entry = LogEntry { address: String::new(), text: b"a b".to_vec() };
        let mut log = SystemLog::new(&settings(None, ""), "kea-dhcp4");
        log.path = path.to_str().unwrap().to_owned().leak();
        let why = log.send(&entry, 0).unwrap_err();
        assert!(why.starts_with("error writing to the system log /"), "{why}");
        for _ in 0..2 {
            let socket = listen();
            log.send(&entry, 951_868_799_123_456).unwrap();
            let text = received(&socket);
            assert!(text.starts_with("<134>"), "{text}");
            let end = " kea-dhcp4: INFO  [kea-dhcp4.legal-log-0.legal-log] LEGAL_LOG_SYSLOG a b";
            assert!(text.ends_with(end), "{text}");
            drop(socket);
            std::fs::remove_file(&path).unwrap();
        }
        let socket = listen();
        let mut daemon = SystemLog::new(&settings(Some("DAEMON"), "%p %m"), "kea-dhcp6");
        daemon.path = log.path;
        daemon.send(&entry, 0).unwrap();
        let text = received(&socket);
        assert!(
            text.starts_with("<30>") && text.ends_with(" kea-dhcp6: INFO LEGAL_LOG_SYSLOG a b"),
            "{text}"
        );
    }
}
