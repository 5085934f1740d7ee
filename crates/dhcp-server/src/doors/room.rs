//! How much may wait at a socket where exchanges begin: much of a burst, little of what comes all the
//! time.
//!
//! Clients that all come at once, after a power cut say, are served soonest when they may wait: those
//! that find no room come again after seconds, in waves with pauses in which nobody is served (RFC 2131
//! section 4.1). Where more comes than can be served all the time, the same room would only make every
//! message late. The difference is that of RFC 8289 section 3: a queue that empties again, and one that
//! stands.

use base::time::NS_PER_MS;

/// Kernel memory for a burst: at 768 octets each 87,000 messages. It is taken when they wait and no
/// sooner.
pub(crate) const BURST_BYTES: usize = 64 << 20;
/// The same once a queue stands: 10,000 messages, 100 ms at 100,000/s.
pub(crate) const STANDING_BYTES: usize = 8 << 20;
/// A queue stands when it was not empty for so long.
const STANDING_NS: u64 = 500 * NS_PER_MS;

/// The queue at one socket, as reads show it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    /// Since when no read has emptied it.
    waiting_since_ns: Option<u64>,
    is_standing: bool,
    /// The operator says how much room there is.
    is_fixed: bool,
}

impl Room {
    /// Room that stays as it is.
    pub(crate) const FIXED: Self =
        Self { waiting_since_ns: None, is_standing: false, is_fixed: true };

    /// A read at `mono_ns` has left more behind (`is_more`), or nothing. How much room there is to be
    /// from now on, when that changes.
    pub(crate) const fn after_read(&mut self, is_more: bool, mono_ns: u64) -> Option<usize> {
        if self.is_fixed {
            return None;
        }
        if !is_more {
            self.waiting_since_ns = None;
            if self.is_standing {
                self.is_standing = false;
                return Some(BURST_BYTES);
            }
            return None;
        }
        match self.waiting_since_ns {
            None => self.waiting_since_ns = Some(mono_ns),
            Some(since_ns) => {
                if !self.is_standing && mono_ns.saturating_sub(since_ns) >= STANDING_NS {
                    self.is_standing = true;
                    return Some(STANDING_BYTES);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = NS_PER_MS;

    #[test]
    fn a_burst_has_room_and_a_queue_that_stands_has_little() {
        let mut room = Room::default();
        for at_ms in [0, 100, 499] {
            assert_eq!(room.after_read(true, at_ms * MS), None);
        }
        assert_eq!(room.after_read(true, 500 * MS), Some(STANDING_BYTES));
        assert_eq!(room.after_read(true, 9_000 * MS), None, "told once");
        assert_eq!(room.after_read(false, 9_001 * MS), Some(BURST_BYTES));
        assert_eq!(room.after_read(false, 9_002 * MS), None);
    }

    #[test]
    fn room_that_the_operator_gave_stays() {
        let mut room = Room::FIXED;
        for at_ms in [0, 500, 9_000] {
            assert_eq!(room.after_read(true, at_ms * MS), None);
        }
        assert_eq!(room.after_read(false, 9_001 * MS), None);
    }

    #[test]
    fn a_queue_that_empties_now_and_then_does_not_stand() {
        let mut room = Room::default();
        for at_ms in (0..10_000).step_by(100) {
            assert_eq!(room.after_read(at_ms % 400 != 0, at_ms * MS), None);
        }
    }
}
