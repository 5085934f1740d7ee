//! Thread that writes log messages to their sinks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use dhcp_config::LogSeverity;
use netio::Clock;

use super::layout::LogRecord;
use super::sink::LogSink;

/// Item of the queue of the log writer's thread.
#[derive(Debug)]
pub(super) enum LogWriterItem {
    /// Log message and the sinks that it goes to.
    Record(LogRecord, Arc<[Arc<LogSink>]>),
    /// Request to flush these log sinks, and to signal when all earlier messages are written.
    Flush(Vec<Arc<LogSink>>, SyncSender<()>),
}

/// Writes log messages from `messages` until all senders are gone, and reports the number of
/// `dropped` messages at the sinks of the next one. Sinks are flushed only when no further message
/// waits.
pub(super) fn write(messages: &Receiver<LogWriterItem>, dropped: &AtomicU64) {
    let mut unflushed_sinks: Vec<Arc<LogSink>> = Vec::new();
    while let Ok(first) = messages.recv() {
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                LogWriterItem::Record(record, to) => {
                    report_dropped(&to, &record, dropped);
                    put(&to, &record);
                    for sink in to.iter() {
                        if !unflushed_sinks.iter().any(|other| Arc::ptr_eq(other, sink)) {
                            unflushed_sinks.push(Arc::clone(sink));
                        }
                    }
                }
                LogWriterItem::Flush(sinks, done) => {
                    // Sinks of an earlier configuration may buffer earlier lines, too.
                    sinks.iter().chain(&unflushed_sinks).for_each(|sink| sink.flush());
                    done.send(()).ok();
                }
            }
            next = messages.try_recv().ok();
        }
        unflushed_sinks.drain(..).filter(|sink| sink.output().flush).for_each(|sink| sink.flush());
    }
}

fn put(sinks: &[Arc<LogSink>], record: &LogRecord) {
    let utc_offset_s = Clock::utc_offset_s(record.wall_us / 1_000_000);
    sinks.iter().for_each(|sink| sink.write(record, utc_offset_s));
}

fn report_dropped(sinks: &[Arc<LogSink>], next: &LogRecord, dropped: &AtomicU64) {
    let count = dropped.swap(0, Ordering::Relaxed);
    if count > 0 {
        let text = format!(
            "LOG_MESSAGES_DROPPED {count} messages were lost: more at once than the log can hold"
        );
        put(sinks, &LogRecord { severity: LogSeverity::Warn, text, ..next.clone() });
    }
}
