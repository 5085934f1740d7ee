//! Log messages: Kea's logger names, severities, outputs and layouts, off the packet path.
//!
//! Code logs with the macros of `tracing`. The target is a logger's name below the root logger
//! `kea-dhcp4` or `kea-dhcp6` ([`DAEMON`] is the child that is named like
//! the family), and the field `id` is Kea's message identifier (`DHCPX_` stands for `DHCP4_` or
//! `DHCP6_`). The message goes into a bounded queue, from which a thread writes it. Messages that
//! do not fit are counted, and the log reports the count. Nothing is logged per packet unless a
//! logger's settings demand it.
//!
//! Further fields with a meaning: `debuglevel` is Kea's, from which on a message of DEBUG is
//! written; `fatal` makes an error one that ends the server; `at_us` is the time of an event that
//! is logged later.

mod layout;
mod levels;
mod routes;
mod sink;
mod text;
mod writer;

use crate::loggers::DAEMON;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::thread;

use dhcp_config::{ConfigProblem, LogSeverity, Logger, Severity};
use dhcp_control::IpVersion;
use netio::Clock;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record as SpanRecord};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

pub(crate) use layout::{LogPattern, LogRecord};
pub(crate) use levels::LogTopicLevels;
use routes::Routes;
pub(crate) use sink::{SYSTEM_LOG, facility_code, system_log_time};
use text::EventFields;
use writer::LogWriterItem;

/// Maximum number of log messages that wait for the writer's thread.
const QUEUE_CAPACITY: usize = 4_096;

/// Formats a count with its noun, as in "1 subnet" or "2 subnets".
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns the message identifier `id` as the server of `version` logs it: `DHCPX_` stands for
/// `DHCP4_` or `DHCP6_`.
#[must_use]
pub fn identifier(id: &str, version: IpVersion) -> String {
    text::identifier(id, &format!("dhcp{}", version.number()))
}

/// Log of this process, once it is started.
static LOG: OnceLock<Arc<Log>> = OnceLock::new();

thread_local! {
    /// True for a thread that waits while the log's queue is full instead of losing messages.
    static WAITS_FOR_ROOM: Cell<bool> = const { Cell::new(false) };
}

/// Makes the calling thread wait while the log's queue is full, so that it loses no message.
pub(crate) fn wait_for_room_in_this_thread() {
    WAITS_FOR_ROOM.set(true);
}

/// Levels of detail about single DHCP messages, for shards to read.
static TOPIC_LEVELS: AtomicU32 = AtomicU32::new(LogTopicLevels::NONE.to_bits());

/// State of the server's log, up to the queue of the writer's thread.
#[derive(Debug)]
struct Log {
    /// Name of the server's family, `dhcp4` or `dhcp6`.
    family: &'static str,
    routes: RwLock<Arc<Routes>>,
    /// True if `routes` come from loggers of the server's configuration.
    is_configured: AtomicBool,
    queue: SyncSender<LogWriterItem>,
    /// Log messages from before the loggers were configured; `None` after that.
    early: Mutex<Option<Vec<EarlyMessage>>>,
    /// Number of log messages that found the queue full since the last report.
    dropped: Arc<AtomicU64>,
}

/// Log message from before the loggers were configured.
#[derive(Debug)]
struct EarlyMessage {
    target: &'static str,
    level: Level,
    record: LogRecord,
}

/// Starts the log of this process with the default loggers: everything from INFO up goes to
/// standard error. Only the first call in a process has an effect.
pub(crate) fn start(family: &'static str) {
    LOG.get_or_init(|| {
        let log = Arc::new(Log::new(family, QUEUE_CAPACITY).0);
        // Another subscriber can only be that of a test, which then receives our messages.
        tracing::subscriber::set_global_default(Tap(Arc::clone(&log))).ok();
        log
    });
}

/// Configures the log to use `loggers` from now on.
pub(crate) fn configure(loggers: &[Logger]) {
    if let Some(log) = LOG.get() {
        log.configure(loggers);
        TOPIC_LEVELS.store(log.routes().topic_levels().to_bits(), Ordering::Relaxed);
    }
}

/// Returns true if the server's configuration has loggers.
pub(crate) fn is_configured() -> bool {
    LOG.get().is_some_and(|log| log.is_configured.load(Ordering::Relaxed))
}

/// Returns the levels of detail about single DHCP messages that loggers take. It costs one atomic
/// load.
pub(crate) fn topic_levels() -> LogTopicLevels {
    LogTopicLevels::from_bits(TOPIC_LEVELS.load(Ordering::Relaxed))
}

/// Logs a problem of a configuration, in one log message.
pub(crate) fn problem(problem: &ConfigProblem) {
    let (id, line) = (problem.identifier(), problem.line());
    match problem.severity {
        Severity::Error => tracing::error!(target: DAEMON, id, "{line}"),
        Severity::Warning => tracing::warn!(target: DAEMON, id, "{line}"),
    }
}

/// Lowers the priority of the calling thread below that of threads that serve clients; `what`
/// describes the thread in the warning.
pub(crate) fn give_way(what: &str) {
    if let Err(cause) = netio::thread::give_way() {
        tracing::warn!(
            target: DAEMON,
            id = "DHCPX_THREAD_PRIORITY_FAILED",
            "cannot lower the priority of the thread for {what}: {cause} (continuing)"
        );
    }
}

/// Waits until all log messages so far are written.
pub(crate) fn flush() {
    if let Some(log) = LOG.get() {
        log.flush();
    }
}

impl Log {
    /// Creates a log for `family` and the thread that writes it, which ends with the log.
    fn new(family: &'static str, capacity: usize) -> (Self, thread::JoinHandle<()>) {
        let (queue, messages) = sync_channel(capacity);
        let dropped = Arc::<AtomicU64>::default();
        let dropped_count = Arc::clone(&dropped);
        let writing = thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || writer::write(&messages, &dropped_count))
            .expect("a process that starts may have a thread");
        let routes = RwLock::new(Arc::new(Routes::new(family, &[])));
        let is_configured = AtomicBool::new(false);
        let early = Mutex::new(Some(Vec::new()));
        (Self { family, routes, is_configured, queue, early, dropped }, writing)
    }

    fn configure(&self, loggers: &[Logger]) {
        let routes = Arc::new(Routes::new(self.family, loggers));
        self.is_configured.store(!loggers.is_empty(), Ordering::Relaxed);
        *self.routes.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&routes);
        tracing::callsite::rebuild_interest_cache();
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner).take();
        for EarlyMessage { target, level, record } in early.into_iter().flatten() {
            // All early messages have gone to standard error already.
            let elsewhere = routes.sinks_elsewhere(target, level);
            if !elsewhere.is_empty() && routes.wants(target, record.severity, 0) {
                self.put(LogWriterItem::Record(record, elsewhere));
            }
        }
    }

    /// Keeps the log message `record` for loggers that are not configured yet.
    fn keep_early(&self, target: &'static str, level: Level, record: &LogRecord) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(records) = early.as_mut().filter(|records| records.len() < QUEUE_CAPACITY / 2) {
            records.push(EarlyMessage { target, level, record: record.clone() });
        }
    }

    fn routes(&self) -> Arc<Routes> {
        Arc::clone(&self.routes.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, message: LogWriterItem) {
        if WAITS_FOR_ROOM.get() {
            self.queue.send(message).ok();
        } else if self.queue.try_send(message).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn flush(&self) {
        let (sender, flushed) = sync_channel(1);
        // A flush waits for room, unlike messages.
        if self.queue.send(LogWriterItem::Flush(self.routes().all(), sender)).is_ok() {
            flushed.recv().ok();
        }
    }

    fn take(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let routes = self.routes();
        let Some(sinks) = routes.sinks(metadata.target(), *metadata.level()) else { return };
        let mut collected = EventFields::default();
        event.record(&mut collected);
        let severity = match routes::severity(*metadata.level()) {
            LogSeverity::Error if collected.is_fatal => LogSeverity::Fatal,
            other => other,
        };
        if !routes.wants(metadata.target(), severity, collected.debug_level) {
            return;
        }
        let thread = thread::current();
        let record = LogRecord {
            wall_us: collected.at_us.unwrap_or_else(|| Clock::now().wall_us),
            severity,
            logger: routes.name(metadata.target()),
            thread: thread.name().unwrap_or("unnamed").to_owned(),
            text: collected.into_text(self.family),
        };
        if !self.is_configured.load(Ordering::Relaxed) {
            self.keep_early(metadata.target(), *metadata.level(), &record);
        }
        self.put(LogWriterItem::Record(record, sinks));
    }
}

/// Subscriber of `tracing` that feeds the server's log. Spans are ignored.
struct Tap(Arc<Log>);

impl Subscriber for Tap {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && self.0.routes().sinks(metadata.target(), *metadata.level()).is_some()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.0.routes().most_detailed())
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &SpanRecord<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.0.take(event);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// Returns Kea's name of a log severity.
const fn severity_name(severity: LogSeverity) -> &'static str {
    match severity {
        LogSeverity::None => "NONE",
        LogSeverity::Fatal => "FATAL",
        LogSeverity::Error => "ERROR",
        LogSeverity::Warn => "WARN",
        LogSeverity::Info => "INFO",
        LogSeverity::Debug => "DEBUG",
    }
}

#[cfg(test)]
mod tests;
