//! Thread that flushes a lease database while the next round runs, and the decision when to leave a
//! flush to this thread.
//!
//! A round takes the requests of all 64 clients that wait for their replies, and while it is
//! flushed there is nothing to do. Done in two parts, the first part is flushed while the second is
//! carried out, and the clients of the first are back when the second is done: from then on a flush
//! costs no time as long as it is shorter than a part. A part costs a transaction, so parts are no
//! smaller than [`CHANGES_MIN`]; and where a flush takes longer than a whole round, two flushes
//! instead of one would be slower.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::contract::DatabaseError;
use super::flushes::Flushes;
use crate::log::{Clock, ThreadWakeup, WriterWakeup};

/// Minimum number of lease changes in a round part, since each part costs a database transaction.
const CHANGES_MIN: u64 = 32;
/// Minimum duration of a round part, in thirds of the duration of a database flush.
const PART_THIRDS: u64 = 2;

/// State of the flushing thread: its wake-up and the durations that it has measured.
#[derive(Debug)]
pub(super) struct Flusher {
    flushes: Arc<Flushes>,
    wakeup: ThreadWakeup,
    stops: AtomicBool,
    /// Average duration of a flush of the database, in nanoseconds.
    flush_ns: Average,
    /// Average duration of a lease change in a transaction, in nanoseconds.
    change_ns: Average,
}

impl Flusher {
    pub(super) fn new(flushes: Arc<Flushes>) -> Self {
        Self {
            flushes,
            wakeup: ThreadWakeup::default(),
            stops: AtomicBool::new(false),
            flush_ns: Average::default(),
            change_ns: Average::default(),
        }
    }

    /// Runs the flushing thread: flushes the database whenever the thread is woken, until it is
    /// stopped, and wakes `writer` when a flush fails.
    pub(super) fn run(&self, writer: &ThreadWakeup, clock: &Clock) {
        self.wakeup.register_thread();
        while !self.stops.load(Ordering::SeqCst) {
            if self.wakeup.take_pending() && self.flush(clock).is_err() {
                writer.wake();
            }
            if !self.wakeup.is_pending() && !self.stops.load(Ordering::SeqCst) {
                std::thread::park();
            }
        }
    }

    pub(super) fn stop(&self) {
        self.stops.store(true, Ordering::SeqCst);
        self.wakeup.wake();
    }

    /// Flushes the database's commits at once on the calling thread, and records the duration.
    pub(super) fn flush(&self, clock: &Clock) -> Result<(), DatabaseError> {
        let begin_ns = clock().mono_ns;
        // A commit that an earlier flush has made safe takes no time.
        if self.flushes.flush()? {
            self.flush_ns.add(clock().mono_ns.saturating_sub(begin_ns));
        }
        Ok(())
    }

    /// Flushes a round part of `changes` changes that was done in `time_ns`: on the calling thread,
    /// or on the flushing thread if `others_wait`.
    pub(super) fn flush_part(
        &self,
        changes: usize,
        time_ns: u64,
        others_wait: bool,
        clock: &Clock,
    ) {
        if changes as u64 >= CHANGES_MIN / 2 {
            self.change_ns.add(time_ns / changes as u64);
        }
        if !self.flushes.is_flush_pending() {
            return;
        }
        let is_short = time_ns.saturating_mul(2) < self.flush_ns.get();
        if is_short && !others_wait && !self.flushes.is_flushing() {
            // The next part sees the failure.
            let _ = self.flush(clock);
        } else {
            self.wakeup.wake();
        }
    }

    /// Returns the number of lease changes for the first part of a round; `None` while the
    /// durations of flushes and changes are unknown.
    pub(super) fn changes_max(&self) -> Option<u32> {
        let (flush_ns, change_ns) = (self.flush_ns.get(), self.change_ns.get());
        if flush_ns == 0 || change_ns == 0 {
            return None;
        }
        let changes = flush_ns.saturating_mul(PART_THIRDS) / (3 * change_ns);
        u32::try_from(changes.max(CHANGES_MIN)).ok()
    }
}

/// Moving average of durations, with so small a weight of the newest that a single value hardly
/// changes it.
#[derive(Debug, Default)]
struct Average(AtomicU64);

impl Average {
    const WEIGHT: u64 = 8;

    fn add(&self, value: u64) {
        let before = self.get();
        let next = match before {
            0 => value,
            _ => (before * (Self::WEIGHT - 1) + value.min(before.saturating_mul(2))) / Self::WEIGHT,
        };
        self.0.store(next.max(1), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::SharedLogState;

    fn flusher(flush_us: u64, change_us: u64) -> Flusher {
        let flusher = Flusher::new(Arc::new(Flushes::new(SharedLogState::new(1, |_| {}), None)));
        flusher.flush_ns.add(flush_us * 1000);
        flusher.change_ns.add(change_us * 1000);
        flusher
    }

    #[test]
    fn parts_take_about_as_long_as_their_flushes_and_are_worth_a_transaction() {
        assert_eq!(flusher(140, 0).changes_max(), Some(93_333), "as good as never parted");
        assert_eq!(flusher(140, 6).changes_max(), Some(32));
        assert_eq!(flusher(20, 6).changes_max(), Some(32));
        assert_eq!(flusher(600, 6).changes_max(), Some(66));
        assert_eq!(flusher(2_000, 6).changes_max(), Some(222), "64 clients stay together");
        let new = Flusher::new(Arc::new(Flushes::new(SharedLogState::new(1, |_| {}), None)));
        assert_eq!(new.changes_max(), None, "nothing is known yet");
    }

    #[test]
    fn a_single_slow_flush_hardly_moves_the_average() {
        let average = Average::default();
        average.add(100_000);
        average.add(20_000_000);
        assert_eq!(average.get(), 112_500);
        (0..100).for_each(|_| average.add(1_000_000));
        assert!(average.get() > 900_000, "what stays slow counts");
    }
}
