//! Sorted values with samples of them, for fast searches. A search reads one or two cache lines
//! that are not in the processor's cache already, however many values there are.
//!
//! The samples are every `STEP`th value; further levels are samples of the samples, until few are
//! left. The upper levels stay in the cache. A binary search, by contrast, reads from all over the
//! values.

use alloc::vec::Vec;

/// Number of values per sample on each level of [`Firsts`].
const STEP: usize = 16;

/// Search structure over values in ascending order.
#[derive(Clone, Debug)]
pub struct Firsts<A> {
    /// Levels of the search structure: the values, then samples of the values, then samples of the
    /// samples.
    levels: Vec<Vec<A>>,
}

impl<A> Default for Firsts<A> {
    fn default() -> Self {
        Self { levels: Vec::new() }
    }
}

impl<A: Copy + Ord> Firsts<A> {
    /// Creates the search structure of `values`, which must ascend.
    pub fn new(values: impl Iterator<Item = A>) -> Self {
        let mut levels = Vec::new();
        let mut level: Vec<A> = values.collect();
        while level.len() > STEP {
            let samples = level.iter().copied().step_by(STEP).collect();
            levels.push(core::mem::replace(&mut level, samples));
        }
        levels.push(level);
        Self { levels }
    }

    /// Returns the number of stored values that are less than or equal to `value`.
    pub fn count_through(&self, value: A) -> usize {
        let mut levels = self.levels.iter().rev();
        let through = |part: &[A]| part.partition_point(|&first| first <= value);
        let mut count = levels.next().map_or(0, |level| through(level));
        for level in levels {
            let Some(sample) = count.checked_sub(1) else { return 0 };
            let start = sample * STEP;
            let part = &level[start..level.len().min(start + STEP)];
            count = start + through(part);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn it_counts_as_a_scan_does() {
        let mut random = Random::from_seed(5);
        for len in [0, 1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 300, 4_095, 4_096, 4_097] {
            // The same value may appear several times.
            let mut values: Vec<u32> =
                (0..len).map(|_| 10 + random.below(2 * len) as u32).collect();
            values.sort_unstable();
            let firsts = Firsts::new(values.iter().copied());
            for value in 0..=2 * len as u32 + 11 {
                let scanned = values.iter().filter(|&&first| first <= value).count();
                assert_eq!(firsts.count_through(value), scanned, "{value} of {len}");
            }
        }
        assert_eq!(Firsts::<u128>::default().count_through(7), 0);
    }
}
