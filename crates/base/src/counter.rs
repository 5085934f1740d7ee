//! Counters written by one shard and read by any thread.

use core::sync::atomic::{AtomicU64, Ordering};

/// Block of `N` counters with a single writer. The writer pays a plain load and store, no locked
/// instruction; readers see values that are each exact but not taken at one instant.
#[derive(Debug)]
#[repr(align(128))]
pub struct Counters<const N: usize> {
    values: [AtomicU64; N],
}

impl<const N: usize> Default for Counters<N> {
    fn default() -> Self {
        Self { values: [const { AtomicU64::new(0) }; N] }
    }
}

impl<const N: usize> Counters<N> {
    /// Adds `amount` to counter `index` of the block. Only the owning shard may call this.
    pub fn add(&self, index: usize, amount: u64) {
        let value = &self.values[index];
        value.store(value.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    /// Returns the present value of counter `index` of the block.
    pub fn value(&self, index: usize) -> u64 {
        self.values[index].load(Ordering::Relaxed)
    }

    /// Returns the present values of all counters of the block.
    pub fn snapshot(&self) -> [u64; N] {
        core::array::from_fn(|index| self.value(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_index() {
        let counters = Counters::<3>::default();
        counters.add(1, 2);
        counters.add(1, 3);
        assert_eq!(counters.snapshot(), [0, 5, 0]);
    }
}
