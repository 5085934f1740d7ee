//! Queue of notices about single DHCP messages from a shard to the thread that logs them. A shard
//! copies only the outcome and the message. It allocates nothing once its buffers exist, and never
//! waits for the logging thread: notices that do not fit are counted and lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dhcp_engine::{InterfaceNames, v4, v6};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;

use super::{NoticeOf, wants_v4, wants_v6};
use crate::log::LogTopicLevels;

/// Size of the buffer for the DHCP messages of one shard's notices, in bytes.
const OCTETS_MAX: usize = 8 << 20;
/// Maximum number of waiting notices of one shard.
const NOTICES_MAX: usize = 32_768;

/// Outcome of a DHCP message of either family, with the message's ingress.
#[derive(Clone, Copy, Debug)]
pub(super) enum FamilyMessageOutcome {
    V4(NoticeOf<V4>, v4::Ingress),
    V6(NoticeOf<V6>, v6::Ingress),
}

/// Notice about one DHCP message, which is the next `len` bytes of the buffer.
#[derive(Clone, Copy, Debug)]
struct RecordedNotice {
    outcome: FamilyMessageOutcome,
    wall_us: u64,
    len: usize,
}

/// Notices about DHCP messages, in their order.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notices: Vec<RecordedNotice>,
    octets: Vec<u8>,
    names: Arc<InterfaceNames>,
}

impl Notes {
    /// Allocates buffers of full size for notices; the kernel provides memory only as far as they
    /// were ever filled.
    pub(super) fn with_room() -> Self {
        Self {
            notices: Vec::with_capacity(NOTICES_MAX),
            octets: Vec::with_capacity(OCTETS_MAX),
            names: Arc::default(),
        }
    }

    /// Adds a notice about the DHCP message `octets` if there is room for it; returns true if there
    /// was.
    fn push(&mut self, outcome: FamilyMessageOutcome, wall_us: u64, octets: &[u8]) -> bool {
        let has_room = self.notices.len() < self.notices.capacity()
            && self.octets.len() + octets.len() <= self.octets.capacity();
        if has_room {
            self.notices.push(RecordedNotice { outcome, wall_us, len: octets.len() });
            self.octets.extend_from_slice(octets);
        }
        has_room
    }

    fn clear(&mut self) {
        self.notices.clear();
        self.octets.clear();
    }

    /// Returns the outcomes of the noticed DHCP messages, with their times in microseconds since
    /// 1970 and the messages.
    pub(super) fn iter(&self) -> impl Iterator<Item = (FamilyMessageOutcome, u64, &[u8])> {
        let mut rest = &self.octets[..];
        self.notices.iter().map(move |&RecordedNotice { outcome, wall_us, len }| {
            let (octets, after) = rest.split_at(len);
            rest = after;
            (outcome, wall_us, octets)
        })
    }

    /// Returns the names of the machine's interfaces.
    pub(super) fn names(&self) -> &InterfaceNames {
        &self.names
    }
}

/// Signal that wakes the thread that logs notices.
#[derive(Debug, Default)]
pub(super) struct NoticeSignal {
    state: Mutex<NoticeSignalState>,
    condition: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct NoticeSignalState {
    is_set: bool,
    is_last: bool,
}

impl NoticeSignal {
    fn lock(&self) -> MutexGuard<'_, NoticeSignalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        self.lock().is_set = true;
        self.condition.notify_one();
    }

    /// Makes the thread that logs notices end after the remaining ones.
    pub(super) fn notify_end(&self) {
        *self.lock() = NoticeSignalState { is_set: true, is_last: true };
        self.condition.notify_one();
    }

    /// Waits for the signal, at most for `at_most`; returns true if the thread that logs notices is
    /// to end.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let state = self.lock();
        let waited = self.condition.wait_timeout_while(state, at_most, |state| !state.is_set);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_set = false;
        state.is_last
    }
}

/// Mailbox with the notices of one shard that wait to be logged.
#[derive(Debug)]
pub(crate) struct Mailbox {
    notes: Mutex<Notes>,
    lost_count: AtomicU64,
    signal: Arc<NoticeSignal>,
}

impl Mailbox {
    pub(super) fn new(signal: Arc<NoticeSignal>) -> Self {
        Self { notes: Mutex::default(), lost_count: AtomicU64::new(0), signal }
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, outcome: FamilyMessageOutcome, wall_us: u64, octets: &[u8]) {
        let mut notes = self.lock();
        if notes.notices.capacity() == 0 {
            let names = Arc::clone(&notes.names);
            *notes = Notes { names, ..Notes::with_room() };
        }
        let was_empty = notes.notices.is_empty();
        let has_room = notes.push(outcome, wall_us, octets);
        drop(notes);
        if !has_room {
            self.lost_count.fetch_add(1, Ordering::Relaxed);
        } else if was_empty {
            self.signal.notify();
        }
    }

    /// Exchanges the waiting notices for the buffers of `notes`, whose content is dropped; returns
    /// the number of notices lost since the last call.
    pub(super) fn take(&self, notes: &mut Notes) -> u64 {
        notes.clear();
        let mut waiting = self.lock();
        notes.names = Arc::clone(&waiting.names);
        std::mem::swap(&mut *waiting, notes);
        self.lost_count.swap(0, Ordering::Relaxed)
    }
}

/// Sending end of a [`Mailbox`], with which a shard records notices.
#[derive(Debug)]
pub(crate) struct NoticeRecorder {
    mailbox: Arc<Mailbox>,
    topic_levels: LogTopicLevels,
    /// Time of the next notices on the wall clock, in microseconds since 1970.
    wall_us: u64,
}

impl NoticeRecorder {
    pub(crate) const fn new(mailbox: Arc<Mailbox>) -> Self {
        Self { mailbox, topic_levels: LogTopicLevels::NONE, wall_us: 0 }
    }

    /// Sets the names of the machine's interfaces for the notices' log lines.
    pub(crate) fn set_names(&self, names: Arc<InterfaceNames>) {
        self.mailbox.lock().names = names;
    }

    /// Sets the topics of which the shard records notices from now on.
    pub(crate) const fn set_topic_levels(&mut self, topic_levels: LogTopicLevels) {
        self.topic_levels = topic_levels;
    }

    /// Sets the time of the next notices to `wall_us`, in microseconds since 1970.
    pub(crate) const fn set_time(&mut self, wall_us: u64) {
        self.wall_us = wall_us;
    }

    /// Returns true if a logger takes any notice of this shard.
    pub(crate) const fn is_enabled(&self) -> bool {
        self.topic_levels.is_any()
    }

    /// Records a notice about the DHCPv4 message `octets`, if a logger takes it.
    pub(crate) fn note_v4(&self, notice: NoticeOf<V4>, octets: &[u8], ingress: v4::Ingress) {
        if wants_v4(self.topic_levels, notice) {
            self.mailbox.put(FamilyMessageOutcome::V4(notice, ingress), self.wall_us, octets);
        }
    }

    /// Records a notice about the DHCPv6 message `octets`, if a logger takes it.
    pub(crate) fn note_v6(&self, notice: NoticeOf<V6>, octets: &[u8], ingress: v6::Ingress) {
        if wants_v6(self.topic_levels, notice, octets) {
            self.mailbox.put(FamilyMessageOutcome::V6(notice, ingress), self.wall_us, octets);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::loggers::LogTopic;
    use std::net::{Ipv4Addr, SocketAddrV4};

    use dhcp_engine::Notice;
    use dhcp_engine::v4::{Destination, Ingress};

    use super::*;

    const RELAY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 67);

    fn ingress() -> Ingress {
        Ingress::routed(RELAY, Ipv4Addr::new(10, 0, 0, 2))
    }

    fn sent() -> NoticeOf<V4> {
        Notice::Sent {
            destination: Destination::Relay(RELAY),
            request: dhcp_engine::MeasuredRequest::default(),
        }
    }

    #[test]
    fn notices_cost_no_allocation_and_those_without_room_are_counted() {
        let mailbox = Arc::new(Mailbox::new(Arc::default()));
        let mut recorder = NoticeRecorder::new(Arc::clone(&mailbox));
        recorder.set_topic_levels(LogTopicLevels::NONE.with(LogTopic::Leases, 0));
        recorder.set_time(7);
        let octets = [1; 300];
        // The first notice allocates the buffers.
        recorder.note_v4(sent(), &octets, ingress());
        let counted = allocation_counter::measure(|| {
            for _ in 1..NOTICES_MAX + 5 {
                recorder.note_v4(sent(), &octets, ingress());
                // No logger takes the arrival of a message.
                recorder.note_v4(Notice::Received, &octets, ingress());
            }
        });
        assert_eq!(counted.count_total, 0, "{counted:?}");
        let recorded_count = NOTICES_MAX.min(OCTETS_MAX / octets.len());
        let mut notes = Notes::with_room();
        assert_eq!(mailbox.take(&mut notes), (NOTICES_MAX + 5 - recorded_count) as u64, "lost");
        assert_eq!(notes.iter().count(), recorded_count);
        let is_expected = |(outcome, at_us, message): (FamilyMessageOutcome, u64, &[u8])| {
            let is_sent = matches!(outcome, FamilyMessageOutcome::V4(Notice::Sent { .. }, _));
            is_sent && at_us == 7 && message == octets
        };
        assert!(notes.iter().all(is_expected));
        // The exchanged buffers are used from now on.
        let counted = allocation_counter::measure(|| recorder.note_v4(sent(), &octets, ingress()));
        assert_eq!(counted.count_total, 0, "{counted:?}");
        assert_eq!((mailbox.take(&mut notes), notes.iter().count()), (0, 1));
    }

    #[test]
    fn nothing_is_noted_while_nobody_listens() {
        let mailbox = Arc::new(Mailbox::new(Arc::default()));
        let recorder = NoticeRecorder::new(Arc::clone(&mailbox));
        recorder.note_v4(sent(), &[1], ingress());
        let mut notes = Notes::default();
        assert_eq!((mailbox.take(&mut notes), notes.iter().count()), (0, 0));
    }
}
