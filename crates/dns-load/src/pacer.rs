//! Due times of a generator thread's queries: by a schedule, or as soon as there is room among the
//! queries that wait for an answer, as in dnsperf.

use std::ops::Range;

use load::Schedule;

/// Source of a thread's due times, with the number of queries that may still be begun.
pub(crate) struct QueryPacer {
    kind: QueryPacing,
    /// Number of queries that the thread may still begin.
    remaining: u64,
    /// Time at which the thread began the last of a limited number of queries, in nanoseconds of
    /// the monotonic clock.
    ran_out_ns: Option<u64>,
}

enum QueryPacing {
    Scheduled(Schedule),
    /// Window: at most `most` queries wait for an answer at a time, and the next leaves as soon as
    /// there is room.
    Window {
        most: u64,
        start_ns: u64,
        end_ns: u64,
    },
}

impl QueryPacer {
    /// Creates the due times of `schedule`, at most `count`.
    pub(crate) fn scheduled(schedule: Schedule, count: Option<u64>) -> Self {
        Self::new(QueryPacing::Scheduled(schedule), count)
    }

    /// Creates due times within `times_ns` whenever fewer than `most` queries wait, at most
    /// `count`.
    pub(crate) fn window(most: u64, times_ns: Range<u64>, count: Option<u64>) -> Self {
        let Range { start: start_ns, end: end_ns } = times_ns;
        Self::new(QueryPacing::Window { most, start_ns, end_ns }, count)
    }

    const fn new(kind: QueryPacing, count: Option<u64>) -> Self {
        let remaining = match count {
            Some(count) => count,
            None => u64::MAX,
        };
        Self { kind, remaining, ran_out_ns: None }
    }

    /// Takes the due time of the next query that may be begun at `now_ns` while `waiting` queries
    /// wait for an answer.
    pub(crate) fn take_due_ns(&mut self, now_ns: u64, waiting: u64) -> Option<u64> {
        if self.remaining == 0 {
            return None;
        }
        let due_ns = match &mut self.kind {
            QueryPacing::Scheduled(schedule) => schedule.take(now_ns),
            QueryPacing::Window { most, start_ns, end_ns } => {
                ((*start_ns..*end_ns).contains(&now_ns) && waiting < *most).then_some(now_ns)
            }
        }?;
        self.remaining -= 1;
        if self.remaining == 0 {
            self.ran_out_ns = Some(now_ns);
        }
        Some(due_ns)
    }

    /// Returns the latest time at which to look for the next query, in nanoseconds; `None` when no
    /// more queries come.
    pub(crate) fn next_ns(&self, now_ns: u64, waiting: u64) -> Option<u64> {
        match &self.kind {
            _ if self.remaining == 0 => None,
            QueryPacing::Scheduled(schedule) => schedule.next_due_ns(),
            QueryPacing::Window { end_ns, .. } if now_ns >= *end_ns => None,
            QueryPacing::Window { most, start_ns, .. } if waiting < *most => {
                Some(now_ns.max(*start_ns))
            }
            QueryPacing::Window { end_ns, .. } => Some(*end_ns),
        }
    }

    /// Ends the due times at `end_ns`, in nanoseconds of the monotonic clock.
    pub(crate) fn end_at(&mut self, end_ns: u64) {
        match &mut self.kind {
            QueryPacing::Scheduled(schedule) => schedule.end_at(end_ns),
            QueryPacing::Window { end_ns: end, .. } => *end = (*end).min(end_ns),
        }
    }

    /// Returns the time at which the last query of a limited number was begun, in nanoseconds of
    /// the monotonic clock; `None` before that.
    pub(crate) const fn ran_out_ns(&self) -> Option<u64> {
        self.ran_out_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_a_query_whenever_there_is_room() {
        let mut pacer = QueryPacer::window(2, 100..200, Some(3));
        assert_eq!((pacer.take_due_ns(99, 0), pacer.next_ns(99, 0)), (None, Some(100)));
        assert_eq!(pacer.take_due_ns(100, 0), Some(100));
        assert_eq!(pacer.take_due_ns(110, 2), None, "two wait");
        assert_eq!(pacer.next_ns(110, 2), Some(200));
        assert_eq!(pacer.take_due_ns(120, 1), Some(120));
        assert_eq!((pacer.take_due_ns(130, 0), pacer.ran_out_ns()), (Some(130), Some(130)));
        assert_eq!((pacer.take_due_ns(140, 0), pacer.next_ns(140, 0)), (None, None));
        let mut pacer = QueryPacer::window(1, 0..200, None);
        pacer.end_at(50);
        assert_eq!((pacer.take_due_ns(50, 0), pacer.next_ns(50, 0)), (None, None));
    }
}
