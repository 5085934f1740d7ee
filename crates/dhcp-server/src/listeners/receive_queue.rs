//! Limits of the receive queue at a socket that receives new exchanges, in bytes and in time: a
//! burst may fill a large queue, sustained overload only a small one.
//!
//! Clients that all start at once, after a power cut for instance, get their leases soonest when
//! their messages may wait: clients that find no room come again after seconds, in waves with
//! pauses in which the server is idle (RFC 2131 section 4.1). Under sustained overload the same
//! room would only make every message late. The difference is whether messages keep arriving faster
//! than they are read: the queue of a burst grows for as long as the burst takes and then shrinks,
//! however long it is; a queue that grows, or is full, for [`STANDING_NS`] is a standing queue (RFC
//! 8289 section 3). The server drops messages that waited too long in a standing queue, so that it
//! serves later ones while their clients still wait for the reply. A burst may wait until its
//! clients come again by themselves; the server then answers the later of a client's messages.

use base::time::NS_PER_MS;

/// Size of a burst's receive queue in bytes of kernel memory: 100,000 messages of
/// [`MESSAGE_BYTES`]. The kernel takes the memory only when messages wait.
pub(crate) const BURST_BYTES: usize = 128 << 20;
/// Upper limit of a standing receive queue (one under sustained overload), in bytes of kernel
/// memory.
pub(crate) const STANDING_BYTES: usize = 8 << 20;
/// Lower limit of a standing receive queue, in bytes, so that a shard that is late once loses no
/// messages.
const STANDING_LEAST_BYTES: usize = 256 << 10;
/// Time in nanoseconds for which more messages must arrive than are read until the receive queue
/// counts as standing: longer than it takes the clients of a burst to send again for the first
/// time: two seconds, and as long as the burst took (RFC 2131 section 4.1). The queue stops being
/// standing when it was emptied and no message found it full for [`CALM_NS`].
const STANDING_NS: u64 = 2_500 * NS_PER_MS;
const CALM_NS: u64 = 200 * NS_PER_MS;
/// Maximum wait of messages in a standing receive queue, in nanoseconds: the queue's size is the
/// number of messages read in this time.
const STANDING_WAIT_NS: u64 = 250 * NS_PER_MS;
/// Age in nanoseconds from which on messages of a standing receive queue are dropped: they arrived
/// before the queue was known to be a standing one.
const PATIENCE_STANDING_NS: u64 = 2 * STANDING_WAIT_NS;
/// Age in nanoseconds from which on messages are dropped from a receive queue that is not emptied:
/// clients send again after three to five seconds (RFC 2131 section 4.1), or sooner (RFC 9915
/// section 7.6).
const PATIENCE_NS: u64 = 3_000 * NS_PER_MS;
/// Kernel memory in bytes that a waiting message takes, for one of 200 to 600 bytes that came over
/// a veth pair. Interfaces whose drivers receive into pages take more.
const MESSAGE_BYTES: u64 = 1_280;
/// Interval in nanoseconds between checks of a receive queue that no read empties.
const LOOK_NS: u64 = 100 * NS_PER_MS;
/// Number of consecutive checks without growth after which a receive queue counts as no longer
/// growing. A single one may be an effect of the kernel, which gives memory back in steps of a
/// quarter of the queue's size.
const LULLS: u32 = 2;

/// Result of a read from a listener's socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketReadResult {
    /// Number of messages that the read returned.
    pub(crate) messages: usize,
    /// True if the read did not empty the receive queue.
    pub(crate) is_more: bool,
}

/// Backlog of a receive queue that no read has emptied, or of a standing queue.
#[derive(Clone, Copy, Debug)]
struct QueueBacklog {
    looked_ns: u64,
    /// Kernel memory of the queue in use in bytes, and count of messages that found no room, at the
    /// last check.
    queue: (usize, u32),
    /// Time since which more messages arrived at the queue than were read, in monotonic
    /// nanoseconds.
    growing_since_ns: u64,
    /// Number of messages read from the queue since `growing_since_ns`.
    read: u64,
    /// Number of consecutive checks that found no growth of the queue.
    lulls: u32,
    /// Time when a message last found no room in the queue, in monotonic nanoseconds.
    refused_ns: u64,
    is_standing: bool,
}

/// State of the receive queue at one socket, as reads show it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SocketQueueState {
    waiting: Option<QueueBacklog>,
    /// True if the operator has set the size of the queue.
    is_fixed: bool,
}

impl SocketQueueState {
    /// State of a receive queue whose size the operator has set.
    pub(crate) const FIXED: Self = Self { waiting: None, is_fixed: true };

    /// Returns the maximum time in nanoseconds that messages may have waited in the queue to be
    /// served; `None` for any time.
    pub(crate) fn max_age_ns(&self) -> Option<u64> {
        let patience_of = |waiting: &QueueBacklog| {
            if waiting.is_standing { PATIENCE_STANDING_NS } else { PATIENCE_NS }
        };
        self.waiting.as_ref().map(patience_of)
    }

    /// Records a read from the socket at `mono_ns`. `queue` returns the bytes that wait now, and
    /// the count of messages that found no room since the socket was opened. Returns the new size
    /// of the queue in bytes when that changes.
    pub(crate) fn after_read(
        &mut self,
        read: SocketReadResult,
        mono_ns: u64,
        queue: impl FnOnce() -> Option<(usize, u32)>,
    ) -> Option<usize> {
        if self.is_fixed {
            return None;
        }
        if !read.is_more && !self.waiting.is_some_and(|waiting| waiting.is_standing) {
            self.waiting = None;
            return None;
        }
        let waiting = self.waiting.get_or_insert_with(|| QueueBacklog::since(mono_ns));
        waiting.read += read.messages as u64;
        if mono_ns.saturating_sub(waiting.looked_ns) < LOOK_NS {
            return None;
        }
        let was_standing = waiting.is_standing;
        let bytes = waiting.look(mono_ns, queue()?);
        if was_standing {
            let is_calm = mono_ns.saturating_sub(waiting.refused_ns) >= CALM_NS;
            if read.is_more || !is_calm {
                return None;
            }
            self.waiting = None;
            return Some(BURST_BYTES);
        }
        bytes
    }
}

impl QueueBacklog {
    const fn since(mono_ns: u64) -> Self {
        Self {
            looked_ns: mono_ns,
            queue: (0, 0),
            growing_since_ns: mono_ns,
            read: 0,
            lulls: 0,
            refused_ns: mono_ns,
            is_standing: false,
        }
    }

    /// Records the state of the receive queue at `mono_ns`. Returns its new size in bytes when it
    /// becomes a standing one.
    fn look(&mut self, mono_ns: u64, queue: (usize, u32)) -> Option<usize> {
        let (before, refused_before) = std::mem::replace(&mut self.queue, queue);
        self.looked_ns = mono_ns;
        if queue.1 != refused_before {
            self.refused_ns = mono_ns;
        }
        let has_grown = queue.0 > before || queue.1 != refused_before;
        self.lulls = if has_grown { 0 } else { self.lulls + 1 };
        if self.lulls >= LULLS {
            (self.growing_since_ns, self.read) = (mono_ns, 0);
            return None;
        }
        let growing_ns = mono_ns.saturating_sub(self.growing_since_ns);
        if growing_ns < STANDING_NS {
            return None;
        }
        self.is_standing = true;
        let messages =
            u128::from(self.read) * u128::from(STANDING_WAIT_NS) / u128::from(growing_ns);
        let bytes = usize::try_from(messages * u128::from(MESSAGE_BYTES)).unwrap_or(STANDING_BYTES);
        Some(bytes.clamp(STANDING_LEAST_BYTES, STANDING_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Model of a socket's receive queue in steps of 10 ms, each of which reads 160 messages.
    struct SocketQueueModel {
        room: SocketQueueState,
        room_bytes: usize,
        now_ms: u64,
        messages: u64,
        refused: u32,
        /// Changes of the queue's size, each as the time in milliseconds since the model's start
        /// and the new size in bytes.
        changes: Vec<(u64, usize)>,
    }

    const READ: u64 = 160;

    impl SocketQueueModel {
        fn of(room: SocketQueueState) -> Self {
            let (room_bytes, changes) = (BURST_BYTES, Vec::new());
            Self { room, room_bytes, now_ms: 0, messages: 0, refused: 0, changes }
        }

        /// Adds `arrivals` messages to the queue in each step until `end_ms`.
        fn run(&mut self, end_ms: u64, arrivals: u64) -> &mut Self {
            while self.now_ms < end_ms {
                self.now_ms += 10;
                let most = (self.room_bytes as u64 / MESSAGE_BYTES).max(self.messages);
                let came = self.messages + arrivals;
                self.refused += u32::try_from(came.saturating_sub(most)).unwrap();
                let messages = came.min(most);
                let read = messages.min(READ);
                self.messages = messages - read;
                let reading = SocketReadResult {
                    messages: usize::try_from(read).unwrap(),
                    is_more: self.messages > 0,
                };
                let queue = (self.messages * MESSAGE_BYTES) as usize;
                let new_bytes = self
                    .room
                    .after_read(reading, self.now_ms * NS_PER_MS, || Some((queue, self.refused)));
                self.room_bytes = new_bytes.unwrap_or(self.room_bytes);
                self.changes.extend(new_bytes.map(|bytes| (self.now_ms, bytes)));
            }
            self
        }
    }

    /// Returns true if `bytes` is about the memory of the messages read in `ms` milliseconds, at
    /// 16,000 messages per second.
    fn is_room_of(bytes: usize, ms: u64) -> bool {
        bytes.abs_diff((16 * ms * MESSAGE_BYTES) as usize) < bytes / 8
    }

    #[test]
    fn a_queue_that_goes_on_growing_stands() {
        let mut queue = SocketQueueModel::of(SocketQueueState::default());
        queue.run(2_400, 200);
        assert_eq!((&queue.changes[..], queue.room.max_age_ns()), (&[][..], Some(PATIENCE_NS)));
        queue.run(9_000, 200);
        let [(at_ms, bytes)] = queue.changes[..] else { panic!("{:?}", queue.changes) };
        assert!((2_500..=2_620).contains(&at_ms) && is_room_of(bytes, 250), "{:?}", queue.changes);
        assert_eq!(queue.room.max_age_ns(), Some(PATIENCE_STANDING_NS));
    }

    #[test]
    fn a_full_queue_stands() {
        let mut queue = SocketQueueModel::of(SocketQueueState::default());
        queue.run(3_500, 20_000);
        assert!(queue.refused > 0);
        assert_eq!(queue.room.max_age_ns(), Some(PATIENCE_STANDING_NS), "{:?}", queue.changes);
    }

    #[test]
    fn a_burst_may_wait_until_its_clients_come_again() {
        let mut queue = SocketQueueModel::of(SocketQueueState::default());
        // 50,000 messages at once, and then many of them again.
        queue.run(500, 1_000).run(3_000, 0);
        assert_eq!(queue.room.max_age_ns(), Some(PATIENCE_NS));
        queue.run(5_000, 180).run(6_500, 10);
        assert_eq!((&queue.changes[..], queue.room.max_age_ns()), (&[][..], None));
        assert_eq!(queue.messages, 0);
    }

    #[test]
    fn there_is_room_for_a_burst_again_once_nobody_finds_it_full() {
        let mut queue = SocketQueueModel::of(SocketQueueState::default());
        queue.run(3_500, 2_000);
        let changes = queue.changes.len();
        // Messages that waited too long were dropped: the queue is empty for a moment.
        queue.messages = 0;
        queue.run(3_550, 0).run(4_000, 2_000);
        assert_eq!(queue.changes.len(), changes, "{:?}", queue.changes);
        queue.messages = 0;
        queue.run(6_500, 0);
        let [(at_ms, bytes)] = queue.changes[changes..] else { panic!("{:?}", queue.changes) };
        assert!((4_200..=4_400).contains(&at_ms), "{at_ms}");
        assert_eq!((bytes, queue.room.max_age_ns()), (BURST_BYTES, None));
    }

    #[test]
    fn room_that_the_operator_gave_stays() {
        let mut queue = SocketQueueModel::of(SocketQueueState::FIXED);
        queue.run(4_000, 2_000).run(9_000, 0);
        assert_eq!((&queue.changes[..], queue.room.max_age_ns()), (&[][..], None));
    }

    #[test]
    fn a_reader_that_is_slow_keeps_a_little_room() {
        let mut waiting = QueueBacklog { read: 5, ..QueueBacklog::since(0) };
        assert_eq!(waiting.look(STANDING_NS, (1, 0)), Some(STANDING_LEAST_BYTES));
        waiting.read = 1_000_000;
        assert_eq!(waiting.look(STANDING_NS, (2, 0)), Some(STANDING_BYTES));
    }
}
