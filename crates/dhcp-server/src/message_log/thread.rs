//! Thread that logs lines about single DHCP messages.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

use super::recorder::{FamilyMessageOutcome, Mailbox, Notes, NoticeSignal};
use super::{MessageLogWriter, PendingRequests, log_notice_v4, log_notice_v6};
use crate::ServerError;
use crate::log;
use crate::loggers::DAEMON;

/// Time in which notices about DHCP messages gather, so that a shard seldom has to wake the thread.
const GATHERING: Duration = Duration::from_millis(5);
/// Maximum sleep of the thread, after which it checks for lost notices.
const WAIT: Duration = Duration::from_secs(1);

/// Mailboxes of all shards, with the thread that logs their notices once it was needed.
#[derive(Debug)]
pub(crate) struct MessageLog {
    mailboxes: Vec<Arc<Mailbox>>,
    signal: Arc<NoticeSignal>,
    thread: Option<JoinHandle<()>>,
}

impl MessageLog {
    /// Creates mailboxes of notices for `shards` shards.
    pub(crate) fn new(shards: usize) -> Self {
        let signal = Arc::<NoticeSignal>::default();
        let mailboxes = (0..shards).map(|_| Arc::new(Mailbox::new(Arc::clone(&signal)))).collect();
        Self { mailboxes, signal, thread: None }
    }

    /// Returns the mailbox of notices of shard number `shard`.
    pub(crate) fn mailbox(&self, shard: usize) -> Arc<Mailbox> {
        Arc::clone(&self.mailboxes[shard])
    }

    /// Starts the thread if a logger takes lines about single DHCP messages and it does not run
    /// yet.
    ///
    /// # Errors
    ///
    /// [`ServerError::System`] if the system refuses a thread.
    pub(crate) fn start_if_enabled(&mut self) -> Result<(), ServerError> {
        if self.thread.is_some() || !log::topic_levels().is_any() {
            return Ok(());
        }
        let (mailboxes, signal) = (self.mailboxes.clone(), Arc::clone(&self.signal));
        let thread = Builder::new()
            .name("narrator".to_owned())
            .spawn(move || log_until_end(&mailboxes, &signal))
            .map_err(|cause| ServerError::System { tried: "start a thread", cause })?;
        self.thread = Some(thread);
        Ok(())
    }

    /// Ends the thread of the message log after it has logged all notices. Shards must have ended.
    pub(crate) fn stop(self) {
        if let Some(thread) = self.thread {
            self.signal.notify_end();
            thread.join().expect("a thread that panics ends the process");
        }
    }
}

fn log_until_end(mailboxes: &[Arc<Mailbox>], signal: &NoticeSignal) {
    // If this thread waits, only the mailboxes fill up.
    log::wait_for_room_in_this_thread();
    let mut notes = Notes::with_room();
    let mut pending_requests: Vec<PendingRequests> =
        mailboxes.iter().map(|_| PendingRequests::default()).collect();
    loop {
        let is_last = signal.wait(WAIT);
        if !is_last {
            sleep(GATHERING);
        }
        for (mailbox, pending_requests) in mailboxes.iter().zip(&mut pending_requests) {
            let count = mailbox.take(&mut notes);
            log_notices(&notes, pending_requests);
            if count > 0 {
                tracing::warn!(
                    target: DAEMON,
                    id = "LOG_MESSAGES_DROPPED",
                    "{count} messages about single packets were lost: the log is too slow for them"
                );
            }
        }
        if is_last {
            return;
        }
    }
}

/// Logs all of `notes`; `pending_requests` keeps DHCPv6 requests as long as their log lines need
/// them.
pub(super) fn log_notices(notes: &Notes, pending_requests: &mut PendingRequests) {
    let topic_levels = log::topic_levels();
    for (outcome, at_us, octets) in notes.iter() {
        let writer = MessageLogWriter { topic_levels, names: notes.names(), at_us };
        match outcome {
            FamilyMessageOutcome::V4(notice, ingress) => {
                log_notice_v4(writer, notice, octets, ingress)
            }
            FamilyMessageOutcome::V6(notice, ingress) => {
                log_notice_v6(writer, notice, octets, ingress, pending_requests)
            }
        }
    }
}
