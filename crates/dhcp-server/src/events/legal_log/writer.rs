//! Writer of the legal log: entries that wait, and their destination.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dhcp_config::{GlobalSettings, GodwitLegalLog, LegalLog, LegalLogDestination};
use netio::Clock;

use super::database::LogTable;
use super::entry::{LogEntry, timestamp};
use super::files::LogFiles;
use super::rotation_scripts::RotationScripts;
use super::syslog::SystemLog;
use super::{LEGAL_LOG, report_failure};
use crate::ServerError;
use crate::events::script_pool::ScriptPool;
use crate::policy;

/// Counts of entries of the legal log.
#[derive(Debug, Default)]
pub(crate) struct LegalLogCounts {
    written: AtomicU64,
    failures: AtomicU64,
    lost: AtomicU64,
    /// True if the server has, or has had, a log.
    is_in_use: AtomicBool,
}

impl LegalLogCounts {
    /// Returns the counts, each with its name; `None` if the server has never had a log.
    pub(crate) fn entries(&self) -> Option<[(&'static str, u64); 3]> {
        self.is_in_use.load(Ordering::Relaxed).then(|| {
            [
                ("written", self.written.load(Ordering::Relaxed)),
                ("failed-attempts", self.failures.load(Ordering::Relaxed)),
                ("lost", self.lost.load(Ordering::Relaxed)),
            ]
        })
    }
}

/// Destination of the entries.
enum EntryDestination {
    Files(Box<LogFiles>),
    SystemLog(SystemLog),
    Table(Box<LogTable>),
}

/// Writer of the legal log.
pub(super) struct LegalLogWriter {
    destination: EntryDestination,
    /// Settings that the destination was opened with.
    settings: (LegalLogDestination, GodwitLegalLog),
    timestamp_format: String,
    /// Entries that have not been written.
    waiting: VecDeque<LogEntry>,
    counts: Arc<LegalLogCounts>,
    /// True if the last attempt failed, which has been reported.
    has_failed: bool,
}

impl LegalLogWriter {
    /// Opens the destination of `settings` for the server of the family `family` (`dhcp4`), whose
    /// scripts run in `scripts`.
    ///
    /// # Errors
    ///
    /// [`ServerError::LegalLog`] with the reason why it cannot be opened.
    pub(super) fn open(
        config: &GlobalSettings,
        settings: &LegalLog,
        family: &str,
        counts: Arc<LegalLogCounts>,
        scripts: Option<&Arc<ScriptPool>>,
    ) -> Result<Self, ServerError> {
        let destination = match &settings.destination {
            LegalLogDestination::Files(files) => {
                let folder = files.folder.as_ref().map(Into::into);
                let folder = folder.unwrap_or_else(|| policy::LEGAL_LOG.path());
                let is_flushed = config.godwit.legal_log.is_flushed;
                let now_s = Clock::now().wall_s();
                let scripts = RotationScripts::new(files, scripts);
                let files = LogFiles::open(files.clone(), folder, is_flushed, scripts, now_s);
                EntryDestination::Files(Box::new(files.map_err(ServerError::LegalLog)?))
            }
            LegalLogDestination::Syslog(syslog) => {
                EntryDestination::SystemLog(SystemLog::new(syslog, &format!("kea-{family}")))
            }
            LegalLogDestination::Database(database) => {
                EntryDestination::Table(Box::new(LogTable::open(config, database)?))
            }
        };
        counts.is_in_use.store(true, Ordering::Relaxed);
        Ok(Self {
            destination,
            settings: (settings.destination.clone(), config.godwit.legal_log),
            timestamp_format: settings.timestamp_format.clone(),
            waiting: VecDeque::new(),
            counts,
            has_failed: false,
        })
    }

    /// Returns true if the writer is what [`Self::open`] would open.
    pub(super) fn is_for(&self, config: &GlobalSettings, settings: &LegalLog) -> bool {
        let (destination, own) = &self.settings;
        *destination == settings.destination
            && own.is_flushed == config.godwit.legal_log.is_flushed
            && self.timestamp_format == settings.timestamp_format
    }

    /// Adds `entries` to those to be written; entries without text are none.
    pub(super) fn add(&mut self, entries: impl IntoIterator<Item = LogEntry>) {
        self.waiting.extend(entries.into_iter().filter(|entry| !entry.text.is_empty()));
    }

    /// Moves the waiting entries of `other`, the writer before a reload, to this one.
    pub(super) fn take_over(&mut self, other: &mut Self) {
        self.waiting.append(&mut other.waiting);
    }

    /// Writes the waiting entries; returns true if none waits any more. Reports the first failure
    /// of several in a row, and its end.
    pub(super) fn write(&mut self) -> bool {
        let result = self.try_write();
        match result {
            Ok(()) if self.has_failed => {
                self.has_failed = false;
                tracing::info!(
                    target: LEGAL_LOG,
                    id = "LEGAL_LOG_WRITES_AGAIN",
                    "the legal log is written again"
                );
            }
            Ok(()) => {}
            Err(why) => {
                self.counts.failures.fetch_add(1, Ordering::Relaxed);
                if !std::mem::replace(&mut self.has_failed, true) {
                    report_failure(&why);
                }
            }
        }
        self.waiting.is_empty()
    }

    /// Gives the waiting entries up, and counts them.
    pub(super) fn give_up(&mut self) {
        let count = self.waiting.len() as u64;
        self.counts.lost.fetch_add(count, Ordering::Relaxed);
        self.waiting.clear();
    }

    fn try_write(&mut self) -> Result<(), String> {
        while !self.waiting.is_empty() {
            let wall_us = Clock::now().wall_us;
            let (count, refusal) = match &mut self.destination {
                EntryDestination::Files(files) => {
                    let time = timestamp(wall_us, &self.timestamp_format);
                    let mut lines = Vec::new();
                    self.waiting.iter().for_each(|entry| entry.append_lines(&time, &mut lines));
                    files.append(&lines, wall_us / 1_000_000)?;
                    (self.waiting.len(), None)
                }
                EntryDestination::SystemLog(log) => {
                    self.waiting.iter().take(1).try_for_each(|entry| log.send(entry, wall_us))?;
                    (1, None)
                }
                EntryDestination::Table(table) => {
                    let insertion = table.insert(self.waiting.make_contiguous())?;
                    (insertion.count, insertion.refusal)
                }
            };
            self.waiting.drain(..count.min(self.waiting.len()));
            match refusal {
                None => drop(self.counts.written.fetch_add(count as u64, Ordering::Relaxed)),
                Some(why) => {
                    self.counts.lost.fetch_add(1, Ordering::Relaxed);
                    report_failure(&why);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dhcp_config::LegalLogSyslog;

    use super::*;

    /// Returns a writer to a system log that does not exist.
    fn writer() -> LegalLogWriter {
        let settings = LegalLogSyslog::default();
        let destination = LegalLogDestination::Syslog(settings.clone());
        LegalLogWriter {
            destination: EntryDestination::SystemLog(SystemLog::missing(&settings)),
            settings: (destination, GodwitLegalLog::default()),
            timestamp_format: String::new(),
            waiting: VecDeque::new(),
            counts: Arc::default(),
            has_failed: false,
        }
    }

    fn entry(text: &str) -> LogEntry {
        LogEntry { address: String::new(), text: text.as_bytes().to_vec() }
    }

    #[test]
    fn entries_wait_until_they_are_written_or_given_up() {
        let mut first = writer();
        first.add([entry("a"), entry(""), entry("b")]);
        assert!(!first.write() && !first.write());
        let mut second = writer();
        second.take_over(&mut first);
        assert!(first.write(), "nothing waits any more");
        let counts = &first.counts;
        assert_eq!(counts.entries(), None);
        counts.is_in_use.store(true, Ordering::Relaxed);
        assert_eq!(counts.entries().unwrap()[1], ("failed-attempts", 2));
        second.counts.is_in_use.store(true, Ordering::Relaxed);
        assert!(!second.write());
        second.give_up();
        assert!(second.write());
        let expected = [("written", 0), ("failed-attempts", 1), ("lost", 2)];
        assert_eq!(second.counts.entries(), Some(expected));
    }
}
