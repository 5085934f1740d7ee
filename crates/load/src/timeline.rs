//! Counts of exchanges by short intervals, so that an interruption of the server can be seen next
//! to the rates before and after it.

use crate::ExchangeTimeLimits;

/// Reply that a client waits for in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwaitedReply {
    /// Reply that offers a lease (DHCPOFFER, ADVERTISE).
    Offer,
    /// Reply that grants the offered lease or the renewed one (DHCPACK, REPLY).
    Grant,
}

base::counts! {
    /// Counts of exchanges in one interval of a time line.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct TimelinePoint {
        /// Number of exchanges that came due in the interval.
        pub due: u64,
        /// Number of exchanges completed on time in the interval, with any due time.
        pub completed: u64,
        /// Number of exchanges that came due in the interval and were not completed on time.
        pub missed: u64,
        /// Numbers of exchanges rejected in the interval, with any due time, by a reply that
        /// carries no lease: instead of the offer, and instead of the grant.
        pub rejected: [u64; 2],
        /// Numbers of exchanges that came due in the interval and were lost: without an offer, and
        /// without the grant.
        pub unanswered: [u64; 2],
        /// Number of exchanges that came due in the interval and left.
        pub sent: u64,
        /// Number of exchanges that got a reply in the interval that ends an exchange, also a late
        /// one or a refusal, with any due time.
        pub answered: u64,
        /// Number of exchanges that came due in the interval, left and never got a reply.
        pub silent: u64,
    }
}

/// Time line of a run: counts of exchanges in intervals of equal length. Exchanges after the last
/// interval count in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    start_ns: u64,
    interval_ns: u64,
    points: Vec<TimelinePoint>,
}

impl Timeline {
    /// Creates a time line from `start_ns` on of `count` intervals of `interval_ns` nanoseconds. A
    /// time line without intervals, or with a length of 0, counts nothing.
    pub fn new(start_ns: u64, interval_ns: u64, count: usize) -> Self {
        let count = if interval_ns == 0 { 0 } else { count };
        Self { start_ns, interval_ns, points: vec![TimelinePoint::default(); count] }
    }

    /// Creates a time line of intervals of `interval_ns` nanoseconds that reach from `start_ns` to
    /// the time at which the last exchange of a run of `duration_ns` is no longer watched; without
    /// an interval it counts nothing.
    pub fn for_run(
        start_ns: u64,
        interval_ns: Option<u64>,
        duration_ns: u64,
        limits: ExchangeTimeLimits,
    ) -> Self {
        let Some(interval_ns) = interval_ns.filter(|&ns| ns > 0) else { return Self::default() };
        let whole_ns = duration_ns + limits.watched_ns();
        Self::new(start_ns, interval_ns, whole_ns.div_ceil(interval_ns) as usize + 1)
    }

    fn at(&mut self, ns: u64) -> Option<&mut TimelinePoint> {
        let last = self.points.len().checked_sub(1)?;
        let index = ns.saturating_sub(self.start_ns) / self.interval_ns;
        self.points.get_mut((index as usize).min(last))
    }

    /// Counts an exchange that came due at `due_ns`.
    pub fn record_due(&mut self, due_ns: u64) {
        if let Some(point) = self.at(due_ns) {
            point.due += 1;
        }
    }

    /// Counts an exchange that was completed on time at `answered_ns`.
    pub fn record_completed(&mut self, answered_ns: u64) {
        if let Some(point) = self.at(answered_ns) {
            point.completed += 1;
        }
    }

    /// Counts an exchange due at `due_ns` that was not completed on time.
    pub fn record_missed(&mut self, due_ns: u64) {
        if let Some(point) = self.at(due_ns) {
            point.missed += 1;
        }
    }

    /// Counts an exchange that was rejected at `answered_ns` by a reply instead of `awaited`.
    pub fn record_rejected(&mut self, awaited: AwaitedReply, answered_ns: u64) {
        if let Some(point) = self.at(answered_ns) {
            point.rejected[awaited as usize] += 1;
        }
    }

    /// Counts an exchange due at `due_ns` that was lost because `awaited` did not come. The
    /// exchange counts as missed, too.
    pub fn record_unanswered(&mut self, awaited: AwaitedReply, due_ns: u64) {
        if let Some(point) = self.at(due_ns) {
            point.unanswered[awaited as usize] += 1;
        }
    }

    /// Counts an exchange due at `due_ns` that left; `is_silent` when no reply to it ever came.
    pub fn record_sent(&mut self, due_ns: u64, is_silent: bool) {
        if let Some(point) = self.at(due_ns) {
            point.sent += 1;
            point.silent += u64::from(is_silent);
        }
    }

    /// Counts an exchange that got a reply at `answered_ns`, in time or not, with the expected
    /// content or a refusal.
    pub fn record_answered(&mut self, answered_ns: u64) {
        if let Some(point) = self.at(answered_ns) {
            point.answered += 1;
        }
    }

    /// Adds the counts of another thread's time line over the same intervals.
    pub fn merge(&mut self, other: &Self) {
        if self.points.is_empty() {
            self.clone_from(other);
            return;
        }
        for (mine, theirs) in self.points.iter_mut().zip(&other.points) {
            mine.merge(theirs);
        }
    }

    /// Returns the beginning of the time line's first interval, in nanoseconds of the monotonic
    /// clock.
    pub const fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Returns the length of each interval of the time line, in nanoseconds.
    pub const fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Returns the intervals of the time line in order; none when nothing is counted.
    pub fn points(&self) -> &[TimelinePoint] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_are_counted_where_they_were_due_or_answered() {
        let mut one = Timeline::new(1_000, 100, 3);
        for due_ns in [1_000, 1_099, 1_100] {
            one.record_due(due_ns);
        }
        one.record_completed(1_250);
        one.record_missed(1_099);
        one.record_completed(9_999);
        let point = |due, completed, missed| TimelinePoint {
            due,
            completed,
            missed,
            ..TimelinePoint::default()
        };
        assert_eq!(one.points(), [point(2, 0, 1), point(1, 0, 0), point(0, 2, 0)]);
        let mut sum = Timeline::default();
        sum.merge(&one);
        sum.merge(&one);
        assert_eq!(sum.points()[0], point(4, 0, 2));
        assert_eq!((sum.start_ns(), sum.interval_ns()), (1_000, 100));
    }

    #[test]
    fn rejections_count_when_they_came_and_losses_when_they_were_due() {
        let mut one = Timeline::new(1_000, 100, 3);
        one.record_rejected(AwaitedReply::Offer, 1_199);
        one.record_rejected(AwaitedReply::Grant, 1_200);
        one.record_unanswered(AwaitedReply::Offer, 1_000);
        one.record_unanswered(AwaitedReply::Grant, 1_100);
        let mut sum = one.clone();
        sum.merge(&one);
        let rejected: Vec<[u64; 2]> = sum.points().iter().map(|point| point.rejected).collect();
        assert_eq!(rejected, [[0, 0], [2, 0], [0, 2]]);
        let unanswered = sum.points().iter().map(|point| point.unanswered);
        assert_eq!(unanswered.collect::<Vec<_>>(), [[2, 0], [0, 2], [0, 0]]);
    }

    #[test]
    fn without_intervals_nothing_is_counted() {
        for mut none in [Timeline::default(), Timeline::new(5, 0, 9), Timeline::new(5, 9, 0)] {
            none.record_due(7);
            none.record_completed(7);
            none.record_missed(7);
            none.record_rejected(AwaitedReply::Offer, 7);
            none.record_unanswered(AwaitedReply::Grant, 7);
            assert_eq!(none.points(), []);
        }
    }
}
