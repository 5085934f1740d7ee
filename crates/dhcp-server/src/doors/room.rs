//! How much may wait at a socket where exchanges begin, and for how long: much of a burst, little of what
//! comes all the time.
//!
//! Clients that all come at once, after a power cut say, are served soonest when they may wait: those
//! that find no room come again after seconds, in waves with pauses in which nobody is served (RFC 2131
//! section 4.1). Where more comes than can be served all the time, the same room would only make every
//! message late. What tells them apart is whether more goes on coming than is read: the queue of a burst
//! grows for as long as the burst takes and shrinks from then on, however long it is; one that grows, or
//! is full, for [`STANDING_NS`] stands (RFC 8289 section 3). Whoever waits there for long is left unread,
//! so that those behind are served while they still want it. A burst may wait until its clients come again
//! by themselves; the later one of a client's messages is answered then.

use base::time::NS_PER_MS;

/// Kernel memory for a burst: 100,000 messages of [`MESSAGE_BYTES`]. It is taken when they wait and no
/// sooner.
pub(crate) const BURST_BYTES: usize = 128 << 20;
/// The most once a queue stands.
pub(crate) const STANDING_BYTES: usize = 8 << 20;
/// The least then, for a reader that comes late once.
const STANDING_LEAST_BYTES: usize = 256 << 10;
/// A queue stands when more came than was read for so long: longer than it takes the clients of a burst
/// to come again for the first time, two seconds and their own length (RFC 2131 section 4.1). It stands until it
/// was emptied and nobody found it full for [`CALM_NS`].
const STANDING_NS: u64 = 2_500 * NS_PER_MS;
const CALM_NS: u64 = 200 * NS_PER_MS;
/// What is read in so long may wait in a queue that stands.
const STANDING_WAIT_NS: u64 = 250 * NS_PER_MS;
/// What waited longer there is left: what came before it was known to stand.
const PATIENCE_STANDING_NS: u64 = 2 * STANDING_WAIT_NS;
/// What waited longer in a queue that is not emptied is left: clients come again after three to five
/// seconds (RFC 2131 section 4.1), or sooner (RFC 9915 section 7.6).
const PATIENCE_NS: u64 = 3_000 * NS_PER_MS;
/// What the kernel takes for a message of 200 to 600 octets that came over a veth pair; interfaces whose
/// drivers receive into pages take more.
const MESSAGE_BYTES: u64 = 1_280;
/// How often a queue that no read empties is looked at.
const LOOK_NS: u64 = 100 * NS_PER_MS;
/// So many looks in a row that find no more than before end a growth. One may be the kernel's, which
/// gives memory back in lumps of a quarter of the room.
const LULLS: u32 = 2;

/// What a read found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Messages that were read.
    pub(crate) messages: usize,
    /// It did not empty the queue.
    pub(crate) is_more: bool,
}

/// A queue that no read has emptied, or one that stands.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    looked_ns: u64,
    /// Kernel memory in use, and messages that found no room, when it was looked at.
    queue: (usize, u32),
    /// Since when more came than was read.
    growing_since_ns: u64,
    /// Messages read since then.
    read: u64,
    /// Looks in a row that found no more than before.
    lulls: u32,
    /// When somebody found no room for the last time.
    refused_ns: u64,
    is_standing: bool,
}

/// The queue at one socket, as reads show it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    waiting: Option<Waiting>,
    /// The operator says how much room there is.
    is_fixed: bool,
}

impl Room {
    /// Room that stays as it is.
    pub(crate) const FIXED: Self = Self { waiting: None, is_fixed: true };

    /// For how long messages may have waited to be served; `None`: for any time.
    pub(crate) fn patience_ns(&self) -> Option<u64> {
        let patience_of = |waiting: &Waiting| {
            if waiting.is_standing { PATIENCE_STANDING_NS } else { PATIENCE_NS }
        };
        self.waiting.as_ref().map(patience_of)
    }

    /// Takes note of a read at `mono_ns`; `queue` says what waits now, and how many found no room since
    /// the socket was opened. How much room there is to be from now on, when that changes.
    pub(crate) fn after_read(
        &mut self,
        read: Reading,
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
        let waiting = self.waiting.get_or_insert_with(|| Waiting::since(mono_ns));
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

impl Waiting {
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

    /// Takes note of the queue; the room for it when it stands.
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

    /// A socket's queue in steps of 10 ms, of which each reads 160 messages.
    struct Queue {
        room: Room,
        room_bytes: usize,
        now_ms: u64,
        messages: u64,
        refused: u32,
        /// All changes of the room, with their times.
        told: Vec<(u64, usize)>,
    }

    const READ: u64 = 160;

    impl Queue {
        fn of(room: Room) -> Self {
            let (room_bytes, told) = (BURST_BYTES, Vec::new());
            Self { room, room_bytes, now_ms: 0, messages: 0, refused: 0, told }
        }

        /// `arrivals` messages in each step until `end_ms`.
        fn run(&mut self, end_ms: u64, arrivals: u64) -> &mut Self {
            while self.now_ms < end_ms {
                self.now_ms += 10;
                let most = (self.room_bytes as u64 / MESSAGE_BYTES).max(self.messages);
                let came = self.messages + arrivals;
                self.refused += u32::try_from(came.saturating_sub(most)).unwrap();
                let messages = came.min(most);
                let read = messages.min(READ);
                self.messages = messages - read;
                let reading = Reading {
                    messages: usize::try_from(read).unwrap(),
                    is_more: self.messages > 0,
                };
                let queue = (self.messages * MESSAGE_BYTES) as usize;
                let told = self
                    .room
                    .after_read(reading, self.now_ms * NS_PER_MS, || Some((queue, self.refused)));
                self.room_bytes = told.unwrap_or(self.room_bytes);
                self.told.extend(told.map(|bytes| (self.now_ms, bytes)));
            }
            self
        }
    }

    /// What 16,000 messages a second read in so many milliseconds take.
    fn is_room_of(bytes: usize, ms: u64) -> bool {
        bytes.abs_diff((16 * ms * MESSAGE_BYTES) as usize) < bytes / 8
    }

    #[test]
    fn a_queue_that_goes_on_growing_stands() {
        let mut queue = Queue::of(Room::default());
        queue.run(2_400, 200);
        assert_eq!((&queue.told[..], queue.room.patience_ns()), (&[][..], Some(PATIENCE_NS)));
        queue.run(9_000, 200);
        let [(at_ms, bytes)] = queue.told[..] else { panic!("{:?}", queue.told) };
        assert!((2_500..=2_620).contains(&at_ms) && is_room_of(bytes, 250), "{:?}", queue.told);
        assert_eq!(queue.room.patience_ns(), Some(PATIENCE_STANDING_NS));
    }

    #[test]
    fn a_full_queue_stands() {
        let mut queue = Queue::of(Room::default());
        queue.run(3_500, 20_000);
        assert!(queue.refused > 0);
        assert_eq!(queue.room.patience_ns(), Some(PATIENCE_STANDING_NS), "{:?}", queue.told);
    }

    #[test]
    fn a_burst_may_wait_until_its_clients_come_again() {
        let mut queue = Queue::of(Room::default());
        // 50,000 at once, and many of them again.
        queue.run(500, 1_000).run(3_000, 0);
        assert_eq!(queue.room.patience_ns(), Some(PATIENCE_NS));
        queue.run(5_000, 180).run(6_500, 10);
        assert_eq!((&queue.told[..], queue.room.patience_ns()), (&[][..], None));
        assert_eq!(queue.messages, 0);
    }

    #[test]
    fn there_is_room_for_a_burst_again_once_nobody_finds_it_full() {
        let mut queue = Queue::of(Room::default());
        queue.run(3_500, 2_000);
        let told = queue.told.len();
        // Whoever waited for long was left: it is empty for a moment.
        queue.messages = 0;
        queue.run(3_550, 0).run(4_000, 2_000);
        assert_eq!(queue.told.len(), told, "{:?}", queue.told);
        queue.messages = 0;
        queue.run(6_500, 0);
        let [(at_ms, bytes)] = queue.told[told..] else { panic!("{:?}", queue.told) };
        assert!((4_200..=4_400).contains(&at_ms), "{at_ms}");
        assert_eq!((bytes, queue.room.patience_ns()), (BURST_BYTES, None));
    }

    #[test]
    fn room_that_the_operator_gave_stays() {
        let mut queue = Queue::of(Room::FIXED);
        queue.run(4_000, 2_000).run(9_000, 0);
        assert_eq!((&queue.told[..], queue.room.patience_ns()), (&[][..], None));
    }

    #[test]
    fn a_reader_that_is_slow_keeps_a_little_room() {
        let mut waiting = Waiting { read: 5, ..Waiting::since(0) };
        assert_eq!(waiting.look(STANDING_NS, (1, 0)), Some(STANDING_LEAST_BYTES));
        waiting.read = 1_000_000;
        assert_eq!(waiting.look(STANDING_NS, (2, 0)), Some(STANDING_BYTES));
    }
}
