//! Legal log (Kea's hook library `legal_log`): a line for every lease that a client was granted or
//! has given back, and for every change by a command.
//!
//! The log is a listener of the feed of lease events that holds replies: a reply leaves once its
//! lines are written to the file, so that a client never has a lease without a line, also if the
//! server is killed. Where lines cannot be written, on a full disk say, replies wait, unless
//! `on-failure` of `user-context.godwit.legal-log` is `serve`.

mod calendar;
mod command;
mod database;
mod entry;
mod exchange;
mod files;
mod formats;
mod rotation_scripts;
mod syslog;
mod v4;
mod v6;
mod writer;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use dhcp_config::{DhcpConfig, LegalLogFailure};
use dhcp_control::{CommandAnswer, ResultCode};
use dhcp_events::{FallBehindPolicy, LeaseEvent};
use dhcp_ha::ROWS;
use dhcp_lease::Family;
use netio::Clock;
use serde_json::Value;

use super::{EventListener, FeedFacts, ScriptPool};
use crate::ServerError;
use crate::leases::lease_of_row;
use crate::service::DaemonFamily;
use entry::LogEntry;
use exchange::{ExchangeEvents, exchanges};
use formats::LineFormats;
pub(crate) use writer::LegalLogCounts;
use writer::LegalLogWriter;

/// Name of the logger of the legal log below the root, as in Kea.
const LEGAL_LOG: &str = "legal-log-hooks";
/// Time between two attempts to write lines that could not be written.
const RETRY: Duration = Duration::from_millis(200);

/// Family whose exchanges the legal log describes.
pub(crate) trait LegalLogFamily: Family {
    /// Appends the entries about the leases of an exchange to `entries`; `is_logged` tells if those
    /// of the subnet with an `id` are logged.
    fn entries(
        exchange: &ExchangeEvents<'_, Self>,
        formats: &mut LineFormats,
        is_logged: &dyn Fn(u32) -> bool,
        entries: &mut Vec<LogEntry>,
    );
}

/// Legal log of the server, which its listener, the supervisor and the statistics share.
pub(crate) struct LegalLogService {
    /// Log by the configuration in force; `None` if it has none.
    open: Mutex<Option<OpenLog>>,
    counts: Arc<LegalLogCounts>,
    /// Scripts that run; `None` if this process cannot run any.
    scripts: Option<Arc<ScriptPool>>,
}

/// Legal log with an open destination.
struct OpenLog {
    writer: LegalLogWriter,
    rules: LogRules,
}

/// Rules for the entries of the legal log.
struct LogRules {
    formats: LineFormats,
    /// Numbers (`id`) of the subnets whose leases are not logged, ascending.
    silent_subnets: Vec<u32>,
    on_failure: LegalLogFailure,
}

impl LogRules {
    fn new<P: DaemonFamily>(config: &DhcpConfig<P>, settings: &dhcp_config::LegalLog) -> Self {
        let mut silent_subnets = settings.silent_subnets.clone();
        silent_subnets.sort_unstable();
        Self {
            formats: LineFormats::new(settings, P::client_classes(config)),
            silent_subnets,
            on_failure: config.global.godwit.legal_log.on_failure,
        }
    }
}

impl LegalLogService {
    /// Returns a service without a log. Scripts of its logs run in `scripts`.
    pub(crate) fn new(scripts: Option<&Arc<ScriptPool>>) -> Self {
        Self { open: Mutex::default(), counts: Arc::default(), scripts: scripts.cloned() }
    }

    /// Returns the live counts of the log's entries.
    pub(crate) fn counts(&self) -> Arc<LegalLogCounts> {
        Arc::clone(&self.counts)
    }

    /// Opens the log that `config` asks for, or changes the open one. A log that `config` does not
    /// have stays open until [`LegalLogService::close_unless`].
    ///
    /// # Errors
    ///
    /// [`ServerError::LegalLog`] if its file or database cannot be opened: the log stays as it is.
    pub(crate) fn follow<P: DaemonFamily>(
        &self,
        config: &DhcpConfig<P>,
    ) -> Result<(), ServerError> {
        let global = &config.global;
        let Some(settings) = &global.legal_log else { return Ok(()) };
        let rules = LogRules::new::<P>(config, settings);
        let is_same = self.lock().as_ref().is_some_and(|log| log.writer.is_for(global, settings));
        let (counts, scripts) = (self.counts(), self.scripts.as_ref());
        let new = || LegalLogWriter::open(global, settings, P::NAME, counts, scripts);
        let writer = if is_same { None } else { Some(new()?) };
        let mut open = self.lock();
        *open = match (open.take(), writer) {
            (Some(mut log), Some(mut writer)) => {
                writer.take_over(&mut log.writer);
                Some(OpenLog { writer, rules })
            }
            (Some(log), None) => Some(OpenLog { rules, ..log }),
            (None, writer) => writer.map(|writer| OpenLog { writer, rules }),
        };
        Ok(())
    }

    /// Closes the log unless `config` has one. Its listener must have ended.
    pub(crate) fn close_unless<P: DaemonFamily>(&self, config: &DhcpConfig<P>) {
        if config.global.legal_log.is_none()
            && let Some(mut log) = self.lock().take()
        {
            log.writer.give_up();
        }
    }

    /// Writes the lines about `command`, which was answered by `answer`. What cannot be written now
    /// comes before the next line.
    pub(crate) fn record_command<P: DaemonFamily>(&self, command: &Value, answer: &CommandAnswer) {
        if answer.result != ResultCode::Success {
            return;
        }
        let mut open = self.lock();
        let Some(OpenLog { writer, rules }) = &mut *open else { return };
        let is_logged = |id: u32| rules.silent_subnets.binary_search(&id).is_err();
        let now_s = Clock::now().wall_s();
        let command = &with_fields::<P>(command);
        let entries = command::entries(command, answer.arguments.as_ref(), now_s, &is_logged);
        if !entries.is_empty() {
            writer.add(entries);
            writer.write();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<OpenLog>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the entries about `events` to those to be written.
    fn add<P: DaemonFamily>(&self, events: &[LeaseEvent<P>]) {
        let mut open = self.lock();
        let Some(OpenLog { writer, rules }) = &mut *open else { return };
        let LogRules { formats, silent_subnets, .. } = rules;
        let is_logged = |id: u32| silent_subnets.binary_search(&id).is_err();
        let mut entries = Vec::new();
        for exchange in exchanges(events) {
            P::entries(&exchange, formats, &is_logged, &mut entries);
        }
        writer.add(entries);
    }

    /// Writes the waiting entries, or gives them up if `is_ending` or the settings permit it.
    /// Returns false if some still wait.
    fn write(&self, is_ending: bool) -> bool {
        let mut open = self.lock();
        let Some(OpenLog { writer, rules }) = &mut *open else { return true };
        let is_written = writer.write();
        let gives_up = is_ending || rules.on_failure == LegalLogFailure::Serve;
        if !is_written && gives_up {
            writer.give_up();
        }
        is_written || gives_up
    }
}

/// Listener of lease events for the legal log.
pub(crate) struct LegalLogListener {
    service: Arc<LegalLogService>,
    /// True from the moment on at which the server, or the log, ends: lines that cannot be written
    /// are given up then, and the replies that wait for them never leave if the server ends.
    is_ending: Arc<AtomicBool>,
}

impl LegalLogListener {
    /// Returns the listener of `service`.
    pub(crate) fn new(service: Arc<LegalLogService>) -> Self {
        Self { service, is_ending: Arc::default() }
    }
}

impl<P: DaemonFamily> EventListener<P> for LegalLogListener {
    fn name(&self) -> &'static str {
        "legal-log"
    }

    fn policy(&self) -> FallBehindPolicy {
        FallBehindPolicy::HoldReplies
    }

    fn wants_answers(&self) -> bool {
        true
    }

    fn begin(&mut self, facts: &FeedFacts) {
        self.is_ending = Arc::clone(&facts.is_ending);
    }

    fn take(&mut self, events: &[LeaseEvent<P>]) {
        self.service.add(events);
        while !self.service.write(self.is_ending.load(Ordering::Acquire)) {
            thread::sleep(RETRY);
        }
    }
}

/// Logs that lines cannot be written, with the reason `why`.
fn report_failure(why: &str) {
    tracing::error!(
        target: LEGAL_LOG,
        id = "LEGAL_LOG_STORE_WRITE_ERROR",
        "Could not write to the legal store: {why}"
    );
}

/// Returns `command` with the fields of the leases that it has as rows of a lease file, which
/// partners send.
fn with_fields<P: DaemonFamily>(command: &Value) -> Cow<'_, Value> {
    let arguments = &command["arguments"];
    let rows = arguments.get(ROWS).and_then(Value::as_array);
    let Some(rows) = rows.filter(|_| arguments["origin"] == "ha-partner") else {
        return Cow::Borrowed(command);
    };
    let mut leases = arguments["leases"].as_array().cloned().unwrap_or_default();
    let of_rows = rows.iter().filter_map(|row| lease_of_row::<P>(row.as_str()?));
    leases.extend(of_rows.map(|lease| P::to_json(&lease)));
    let mut command = command.clone();
    command["arguments"]["leases"] = Value::Array(leases);
    Cow::Owned(command)
}

#[cfg(test)]
mod tests {
    use dhcp_lease::v4::V4;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rows_of_a_partner_have_lines() {
        let row = "192.0.2.7,02:00:00:00:00:07,,600,1600,1,0,0,host,0,,0";
        for (origin, lines) in [("ha-partner", 1), ("user", 0)] {
            let arguments = json!({ "rows": [row, 5, "x"], "origin": origin });
            let command = json!({ "command": "lease4-bulk-apply", "arguments": arguments });
            let command = with_fields::<V4>(&command);
            let entries = command::entries(&command, None, 1_000, &|_| true);
            assert_eq!(entries.len(), lines, "{origin}");
            let text = "HA partner updated information on the lease of address: 192.0.2.7 to a \
                        device with hardware address: 02:00:00:00:00:07";
            let is_it = |entry: &LogEntry| entry.text.starts_with(text.as_bytes());
            assert!(entries.iter().all(is_it), "{:?}", String::from_utf8_lossy(&entries[0].text));
        }
    }
}
