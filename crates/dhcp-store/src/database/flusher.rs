//! The thread that flushes beside the rounds, and when it is worth to leave a flush to it.
//!
//! Of 64 clients that each wait for their answer a round takes all, and while it is flushed there is
//! nothing to do. Done in two parts, the first is flushed while the second is carried out, and its
//! clients are back when that is done: from then on a flush costs no time as long as it is shorter than
//! a part. A part costs a transaction, so parts are no smaller than [`CHANGES_MIN`]; and where a flush
//! takes longer than all of a round, two flushes in its place would be slower.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::contract::DatabaseError;
use super::flushes::Flushes;
use crate::log::{Bell, Clock, Doorbell};

/// Changes that are worth a transaction of their own.
const CHANGES_MIN: u64 = 32;
/// A part takes so much of the time of a flush at least, in thirds.
const PART_THIRDS: u64 = 2;

/// Who flushes.
#[derive(Debug)]
pub(super) struct Flusher {
    flushes: Arc<Flushes>,
    bell: Bell,
    stops: AtomicBool,
    /// What a flush takes.
    flush_ns: Average,
    /// What a change takes.
    change_ns: Average,
}

impl Flusher {
    pub(super) fn new(flushes: Arc<Flushes>) -> Self {
        Self {
            flushes,
            bell: Bell::default(),
            stops: AtomicBool::new(false),
            flush_ns: Average::default(),
            change_ns: Average::default(),
        }
    }

    /// Flushes what it is rung for, until it is stopped, and rings `writer` when that fails.
    pub(super) fn run(&self, writer: &Bell, clock: &Clock) {
        self.bell.listen();
        while !self.stops.load(Ordering::SeqCst) {
            if self.bell.answer() && self.flush(clock).is_err() {
                writer.ring();
            }
            if !self.bell.is_rung() && !self.stops.load(Ordering::SeqCst) {
                std::thread::park();
            }
        }
    }

    pub(super) fn stop(&self) {
        self.stops.store(true, Ordering::SeqCst);
        self.bell.ring();
    }

    /// Flushes at once.
    pub(super) fn flush(&self, clock: &Clock) -> Result<(), DatabaseError> {
        let begin_ns = clock().mono_ns;
        // What an earlier flush has taken along takes no time.
        if self.flushes.flush()? {
            self.flush_ns.add(clock().mono_ns.saturating_sub(begin_ns));
        }
        Ok(())
    }

    /// A part of so many changes was done in `time_ns` and others may follow: has it flushed, here or
    /// beside them.
    pub(super) fn follow(&self, changes: usize, time_ns: u64, others_wait: bool, clock: &Clock) {
        if changes as u64 >= CHANGES_MIN / 2 {
            self.change_ns.add(time_ns / changes as u64);
        }
        if !self.flushes.are_wanted() {
            return;
        }
        let is_short = time_ns.saturating_mul(2) < self.flush_ns.get();
        if is_short && !others_wait && !self.flushes.are_busy() {
            // What failed is seen by the next part.
            let _ = self.flush(clock);
        } else {
            self.bell.ring();
        }
    }

    /// Changes of the first part of a round.
    pub(super) fn changes_max(&self) -> Option<u32> {
        let (flush_ns, change_ns) = (self.flush_ns.get(), self.change_ns.get());
        if flush_ns == 0 || change_ns == 0 {
            return None;
        }
        let changes = flush_ns.saturating_mul(PART_THIRDS) / (3 * change_ns);
        u32::try_from(changes.max(CHANGES_MIN)).ok()
    }
}

/// A moving average that single ones hardly move.
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
    use crate::log::Shards;

    fn flusher(flush_us: u64, change_us: u64) -> Flusher {
        let flusher = Flusher::new(Arc::new(Flushes::new(Shards::new(1, |_| {}), None)));
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
        let new = Flusher::new(Arc::new(Flushes::new(Shards::new(1, |_| {}), None)));
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
