//! Value of the lease table that is replaced rarely and that all threads read without waiting.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

/// Number of chunks of doubling size: enough for any number of published values.
const CHUNKS: usize = 40;

type Chunk<T> = OnceLock<Box<[OnceLock<T>]>>;

/// Value of the lease table that was published last, readable without waiting. Earlier values stay,
/// since a thread may be reading them, so a value that is published often must be small.
pub(crate) struct LatestValue<T> {
    chunks: [Chunk<T>; CHUNKS],
    /// Number of values that were published.
    count: AtomicUsize,
}

impl<T> LatestValue<T> {
    pub(crate) fn new(first: T) -> Self {
        let this = Self { chunks: [const { OnceLock::new() }; CHUNKS], count: AtomicUsize::new(0) };
        this.publish(first);
        this
    }

    /// Returns the value published last.
    pub(crate) fn get(&self) -> &T {
        let count = self.count.load(Ordering::Acquire);
        let chunk = self.chunks[count.ilog2() as usize].get();
        let value = chunk.and_then(|chunk| chunk[count - (1 << count.ilog2())].get());
        value.expect("what is counted was published")
    }

    /// Replaces the value by `value` for all readers. Callers take turns.
    pub(crate) fn publish(&self, value: T) {
        let count = self.count.load(Ordering::Relaxed) + 1;
        let size = 1 << count.ilog2();
        let chunk = self.chunks[count.ilog2() as usize]
            .get_or_init(|| (0..size).map(|_| OnceLock::new()).collect());
        assert!(chunk[count - size].set(value).is_ok(), "one publishes at a time");
        self.count.store(count, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_is_seen() {
        let published = LatestValue::new(0);
        for value in 1..=1_000 {
            assert_eq!(*published.get(), value - 1);
            published.publish(value);
        }
        assert_eq!(*published.get(), 1_000);
    }
}
