//! Log-linear histogram of unsigned values (as HdrHistogram by Gil Tene): each power of two is cut
//! into 1024 equal buckets, so a bucket is never wider than 1/1024 of its values.
//!
//! Recording is one subtraction, one shift and one increment; merging is addition, hence exact.

use alloc::vec;
use alloc::vec::Vec;

/// Number of bits of resolution below the leading one bit of a value.
const PRECISION_BITS: u32 = 10;
const SUB_BUCKETS: usize = 1 << PRECISION_BITS;

/// Histogram that counts values with a relative error of at most 1/1024. The caller chooses the
/// unit of the values; Godwit uses nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    limit: u64,
}

/// Returns the index of the bucket that counts `value`.
const fn bucket_of(value: u64) -> usize {
    if value < 2 * SUB_BUCKETS as u64 {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - PRECISION_BITS;
    (shift as usize) * SUB_BUCKETS + (value >> shift) as usize
}

/// Returns the largest value that falls into bucket `index`.
const fn upper_edge(index: usize) -> u64 {
    if index < 2 * SUB_BUCKETS {
        return index as u64;
    }
    let shift = index / SUB_BUCKETS - 1;
    let mantissa = (index - shift * SUB_BUCKETS) as u128;
    (((mantissa + 1) << shift) - 1) as u64
}

/// Exact values of a [`Histogram`] that its buckets do not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramTotals {
    /// Sum of all values that the histogram counted.
    pub sum: u128,
    /// Smallest value that the histogram counted.
    pub min: u64,
    /// Largest value that the histogram counted.
    pub max: u64,
}

impl Histogram {
    /// Creates a histogram for values up to `limit`; larger values are counted as `limit` (and
    /// `max` still returns the true value). One hundred seconds in nanoseconds take 220 KiB.
    pub fn up_to(limit: u64) -> Self {
        Self {
            buckets: vec![0; bucket_of(limit) + 1],
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            limit,
        }
    }

    /// Creates a histogram from the parts of another: pairs of an index in [`Histogram::buckets`]
    /// and the count there, and `totals`, which are ignored when nothing was counted. Returns
    /// `None` when the parts contradict each other.
    pub fn from_counts(
        limit: u64,
        counts: impl IntoIterator<Item = (usize, u64)>,
        totals: HistogramTotals,
    ) -> Option<Self> {
        let HistogramTotals { sum, min, max } = totals;
        let mut whole = Self::up_to(limit);
        for (index, count) in counts {
            let bucket = whole.buckets.get_mut(index)?;
            *bucket = bucket.checked_add(count)?;
            whole.count = whole.count.checked_add(count)?;
        }
        if whole.count == 0 {
            return Some(whole);
        }
        let is_filled = |&count: &u64| count > 0;
        let ends = [min, max].map(|value| Some(bucket_of(value.min(limit))));
        let range =
            u128::from(min) * u128::from(whole.count)..=u128::from(max) * u128::from(whole.count);
        let is_sound = min <= max
            && whole.buckets.iter().position(is_filled) == ends[0]
            && whole.buckets.iter().rposition(is_filled) == ends[1]
            && range.contains(&sum);
        is_sound.then_some(Self { sum, min, max, ..whole })
    }

    /// Counts one value in its bucket. Allocates nothing.
    pub fn record(&mut self, value: u64) {
        self.buckets[bucket_of(value.min(self.limit))] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all counts of the histogram `other`.
    ///
    /// # Panics
    ///
    /// If the two have different limits.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.limit, other.limit, "histograms of different limits do not add");
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the number of values that the histogram counted.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest counted value, exact; `None` if the histogram is empty.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest counted value, exact; `None` if the histogram is empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the sum of the counted values, exact.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the mean of the counted values, exact up to rounding; `None` if the histogram is
    /// empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the value at `quantile` (0 to 1): the upper edge of the bucket that holds the value
    /// of rank ceil(quantile × count), never above the true maximum. `None` if the histogram is
    /// empty.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let exact = quantile.clamp(0.0, 1.0) * self.count as f64;
        let floor = exact as u64;
        let rank = (floor + u64::from((floor as f64) < exact)).max(1);
        let (first, filled) = self.filled();
        let mut seen = 0;
        for (offset, &bucket) in filled.iter().enumerate() {
            seen += bucket;
            if seen >= rank {
                let index = first + offset;
                let is_overflow = index + 1 == self.buckets.len();
                return Some(if is_overflow { self.max } else { upper_edge(index).min(self.max) });
            }
        }
        Some(self.max)
    }

    /// Returns the index of the first bucket with a count, and the buckets from there to the last
    /// such bucket.
    fn filled(&self) -> (usize, &[u64]) {
        if self.count == 0 {
            return (0, &[]);
        }
        let [first, last] = [self.min, self.max].map(|value| bucket_of(value.min(self.limit)));
        (first, &self.buckets[first..=last])
    }

    /// Returns the limit of the histogram: the largest value that has a bucket of its own.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the count of every bucket, ascending. The buckets have the limits of those of
    /// HdrHistogram with three significant digits and 1 as its lowest value.
    pub fn buckets(&self) -> &[u64] {
        &self.buckets
    }

    /// Returns the non-empty buckets as (upper edge, count), ascending. A histogram is stored as
    /// these pairs.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (first, filled) = self.filled();
        filled
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0)
            .map(move |(offset, &count)| (upper_edge(first + offset), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn edges_and_buckets_agree() {
        let mut random = Random::from_seed(3);
        for _ in 0..100_000 {
            let value = random.next_u64() >> random.below(64);
            let index = bucket_of(value);
            let edge = upper_edge(index);
            assert!(edge >= value, "{value} in {index} with edge {edge}");
            assert!((edge - value) as f64 <= value as f64 / 1024.0, "{value} {edge}");
            assert_eq!(bucket_of(edge), index);
        }
    }

    #[test]
    fn quantiles_agree_with_sorting() {
        let mut random = Random::from_seed(4);
        let mut histogram = Histogram::up_to(100_000_000_000);
        let mut values: Vec<u64> =
            (0..20_000).map(|_| random.next_u64() >> (28 + random.below(30))).collect();
        for &value in &values {
            histogram.record(value);
        }
        values.sort_unstable();
        for quantile in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let rank = ((quantile * values.len() as f64).ceil() as usize).max(1);
            let truth = values[rank - 1];
            let got = histogram.quantile(quantile).unwrap();
            assert!(
                got >= truth && (got - truth) as f64 <= truth as f64 / 1000.0 + 1.0,
                "{quantile}: {got} {truth}"
            );
        }
        assert_eq!(histogram.max(), values.last().copied());
        assert_eq!(histogram.min(), values.first().copied());
    }

    #[test]
    fn values_over_the_limit_keep_their_maximum() {
        let mut histogram = Histogram::up_to(1_000);
        histogram.record(5_000_000);
        assert_eq!(histogram.quantile(0.99), Some(5_000_000));
        let mut other = Histogram::up_to(1_000);
        other.record(1);
        other.merge(&histogram);
        assert_eq!((other.count(), other.min(), other.max()), (2, Some(1), Some(5_000_000)));
        assert_eq!(Histogram::up_to(10).quantile(0.5), None);
    }

    #[test]
    fn a_histogram_is_put_together_again_and_no_contradiction_passes() {
        let mut random = Random::from_seed(5);
        let counts = |histogram: &Histogram| -> Vec<(usize, u64)> {
            let all = histogram.buckets().iter().copied().enumerate();
            all.filter(|&(_, count)| count > 0).collect()
        };
        for values in 0..200 {
            let mut whole = Histogram::up_to(1_000_000);
            for _ in 0..values {
                whole.record(random.next_u64() >> random.below(64));
            }
            let ends = (whole.min().unwrap_or(0), whole.max().unwrap_or(0));
            let restored = |sum, min, max| {
                let totals = HistogramTotals { sum, min, max };
                Histogram::from_counts(1_000_000, counts(&whole), totals)
            };
            assert_eq!(restored(whole.sum(), ends.0, ends.1), Some(whole.clone()));
            if ends.0 < ends.1 {
                assert_eq!(restored(whole.sum(), ends.1, ends.0), None);
            }
            if values > 0 {
                assert_eq!(restored(u128::MAX, ends.0, ends.1), None);
            }
        }
        let of = |value: u64| HistogramTotals { sum: value.into(), min: value, max: value };
        assert_eq!(Histogram::from_counts(10, [(11, 1)], of(11)), None, "beyond the limit");
        assert_eq!(Histogram::from_counts(10, [(3, 1), (3, u64::MAX)], of(3)), None);
        assert_eq!(Histogram::from_counts(10, [(3, 1)], of(4)), None);
    }
}
