//! One statistic over time.

use std::collections::VecDeque;

/// How many samples are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// At most so many, and never none.
    Count(usize),
    /// Those at most so many microseconds older than the newest.
    Age(u64),
}

/// A value at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) value: i128,
    pub(super) wall_us: u64,
}

/// A statistic with its samples, newest first.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    /// What the server counted when it was last looked at.
    raw: i128,
    /// What `raw` was at the last reset; values are counted from there.
    offset: i128,
    samples: VecDeque<Sample>,
    limit: Limit,
    /// Removed, and not changed since.
    is_removed: bool,
}

impl Observation {
    pub(super) fn new(raw: i128, wall_us: u64, limit: Limit) -> Self {
        let samples = VecDeque::from([Sample { value: raw, wall_us }]);
        Self { raw, offset: 0, samples, limit, is_removed: false }
    }

    /// The server counts `raw` now.
    pub(super) fn observe(&mut self, raw: i128, wall_us: u64) {
        if raw == self.raw {
            return;
        }
        self.raw = raw;
        if self.is_removed {
            self.is_removed = false;
            self.samples.clear();
        }
        self.samples.push_front(Sample { value: raw.saturating_sub(self.offset), wall_us });
        self.cut();
    }

    /// Counting starts again at 0, with one sample that says so.
    pub(super) fn reset(&mut self, wall_us: u64) {
        self.offset = self.raw;
        self.samples.clear();
        self.samples.push_front(Sample { value: 0, wall_us });
    }

    /// Its history ends, as of a statistic that Kea deletes and adds again: what it counts starts at
    /// 0 if `from_zero`, else it goes on with its value.
    pub(super) fn restart(&mut self, wall_us: u64, limit: Limit, from_zero: bool) {
        *self = Self::new(self.raw, wall_us, limit);
        if from_zero {
            self.reset(wall_us);
        }
    }

    /// It is gone until it changes, and counts from here then.
    pub(super) fn remove(&mut self) {
        self.offset = self.raw;
        self.is_removed = true;
    }

    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
        self.cut();
    }

    /// The samples, newest first; `None` when it was removed.
    pub(super) fn samples(&self) -> Option<impl Iterator<Item = &Sample>> {
        (!self.is_removed).then(|| self.samples.iter())
    }

    fn cut(&mut self) {
        let newest = self.samples.front().map_or(0, |sample| sample.wall_us);
        let too_many = |samples: &VecDeque<Sample>| match self.limit {
            Limit::Count(count) => samples.len() > count.max(1),
            Limit::Age(age_us) => {
                samples.back().is_some_and(|sample| newest.saturating_sub(sample.wall_us) > age_us)
            }
        };
        while too_many(&self.samples) {
            self.samples.pop_back();
        }
    }
}
