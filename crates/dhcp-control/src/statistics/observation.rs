//! One statistic of a server with its samples over time.

use std::collections::VecDeque;

/// Limit of the samples that a statistic keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleLimit {
    /// Maximum number of samples; at least one is kept.
    Count(usize),
    /// Maximum age of samples relative to the newest, in microseconds.
    Age(u64),
}

/// Value of a statistic at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatisticSample {
    pub(super) value: i128,
    pub(super) wall_us: u64,
}

/// One statistic of a server with its samples, newest first.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    /// Count of the server when it was last read.
    raw: i128,
    /// Count of the server at the last reset; values of the statistic are counted from there.
    offset: i128,
    samples: VecDeque<StatisticSample>,
    limit: SampleLimit,
    /// True if a command removed the statistic and its count has not changed since.
    is_removed: bool,
}

impl Observation {
    pub(super) fn new(raw: i128, wall_us: u64, limit: SampleLimit) -> Self {
        let samples = VecDeque::from([StatisticSample { value: raw, wall_us }]);
        Self { raw, offset: 0, samples, limit, is_removed: false }
    }

    /// Records that the server's count is `raw` at the time `wall_us`.
    pub(super) fn observe(&mut self, raw: i128, wall_us: u64) {
        if raw == self.raw {
            return;
        }
        self.raw = raw;
        if self.is_removed {
            self.is_removed = false;
            self.samples.clear();
        }
        self.samples
            .push_front(StatisticSample { value: raw.saturating_sub(self.offset), wall_us });
        self.cut();
    }

    /// Restarts the statistic at 0, with one sample of that value.
    pub(super) fn reset(&mut self, wall_us: u64) {
        self.offset = self.raw;
        self.samples.clear();
        self.samples.push_front(StatisticSample { value: 0, wall_us });
    }

    /// Ends the statistic's history, as if Kea deleted it and added it again: the value restarts at
    /// 0 if `from_zero`, else it stays.
    pub(super) fn restart(&mut self, wall_us: u64, limit: SampleLimit, from_zero: bool) {
        *self = Self::new(self.raw, wall_us, limit);
        if from_zero {
            self.reset(wall_us);
        }
    }

    /// Hides the statistic until its count changes; it then counts from the present value.
    pub(super) fn remove(&mut self) {
        self.offset = self.raw;
        self.is_removed = true;
    }

    pub(super) fn set_limit(&mut self, limit: SampleLimit) {
        self.limit = limit;
        self.cut();
    }

    /// Returns the samples of the statistic, newest first; `None` if a command removed it.
    pub(super) fn samples(&self) -> Option<impl Iterator<Item = &StatisticSample>> {
        (!self.is_removed).then(|| self.samples.iter())
    }

    fn cut(&mut self) {
        let newest = self.samples.front().map_or(0, |sample| sample.wall_us);
        let too_many = |samples: &VecDeque<StatisticSample>| match self.limit {
            SampleLimit::Count(count) => samples.len() > count.max(1),
            SampleLimit::Age(age_us) => {
                samples.back().is_some_and(|sample| newest.saturating_sub(sample.wall_us) > age_us)
            }
        };
        while too_many(&self.samples) {
            self.samples.pop_back();
        }
    }
}
