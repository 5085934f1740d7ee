//! Periodic reports of several generators added up: a report for each second that all of them have
//! reported.

use std::collections::BTreeMap;

use crate::perfdhcp::text::Standing;

/// Counts of the seconds that not all generators have reported yet.
#[derive(Debug)]
pub(crate) struct PartialSecondCounts {
    generators: usize,
    /// Number of generators that have ended, and the sum of their final counts.
    ended: (usize, Standing),
    reported: BTreeMap<u64, (usize, Standing)>,
}

fn add(sum: &mut Standing, other: &Standing) {
    for (mine, theirs) in sum.iter_mut().zip(other) {
        mine.resize(mine.len().max(theirs.len()), 0);
        for (count, more) in mine.iter_mut().zip(theirs) {
            *count += more;
        }
    }
}

impl PartialSecondCounts {
    /// Creates the counts for `generators` generators, none of which has reported anything.
    pub(crate) fn new(generators: usize) -> Self {
        Self { generators, ended: (0, Standing::default()), reported: BTreeMap::new() }
    }

    /// Adds the counts that one more generator reports after `second` seconds.
    pub(crate) fn record_report(&mut self, second: u64, standing: &Standing) {
        let entry = self.reported.entry(second).or_insert_with(|| self.ended.clone());
        entry.0 += 1;
        add(&mut entry.1, standing);
    }

    /// Adds the final counts of a generator that ended, whose last report was for `last_second`.
    /// They count for all seconds after the last one that it reported.
    pub(crate) fn record_end(&mut self, last_second: u64, standing: &Standing) {
        for (_, entry) in self.reported.range_mut(last_second + 1..) {
            entry.0 += 1;
            add(&mut entry.1, standing);
        }
        self.ended.0 += 1;
        add(&mut self.ended.1, standing);
    }

    /// Removes and returns the earliest second that all generators have reported, with the sum of
    /// their counts.
    pub(crate) fn take(&mut self) -> Option<(u64, Standing)> {
        let first = self.reported.first_entry()?;
        if first.get().0 < self.generators {
            return None;
        }
        let (second, (_, standing)) = first.remove_entry();
        Some((second, standing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(count: u64) -> Standing {
        [vec![count, 1], vec![count], Vec::new(), vec![0]]
    }

    #[test]
    fn a_second_is_complete_when_all_have_told_of_it_or_ended() {
        let mut all = PartialSecondCounts::new(3);
        for generator in [1, 10] {
            all.record_report(1, &standing(generator));
            all.record_report(2, &standing(2 * generator));
        }
        assert!(all.take().is_none());
        all.record_report(1, &standing(100));
        assert_eq!(all.take(), Some((1, [vec![111, 3], vec![111], Vec::new(), vec![0]])));
        // The third one ends after its first second, the others go on.
        all.record_end(1, &standing(150));
        assert_eq!(all.take(), Some((2, [vec![172, 3], vec![172], Vec::new(), vec![0]])));
        all.record_report(3, &standing(3));
        assert!(all.take().is_none());
        all.record_end(2, &standing(25));
        let (second, sum) = all.take().unwrap();
        assert_eq!((second, &sum[0]), (3, &vec![178, 3]));
        assert!(all.take().is_none());
    }
}
