//! Results of one step (create, search, update or delete) in one run, as the operations record
//! them.

use base::Histogram;

/// Largest latency in the histogram, in nanoseconds; longer latencies count with this value.
const LATENCY_LIMIT_NS: u64 = 100_000_000_000;

/// Results of one step (create, search, update or delete) in one run of a benchmark, as the
/// operations record them.
#[derive(Clone, Debug)]
pub(crate) struct StepRunResult {
    /// Duration of each operation from its begin to its end, in nanoseconds.
    pub(crate) latency_ns: Histogram,
    /// Number of operations that found no lease.
    pub(crate) misses: u64,
    /// Time from the begin of the step's first operation to the end of its last one, in
    /// nanoseconds.
    pub(crate) time_ns: u64,
    /// Result of each operation, in order, true for a hit; `None` if the output does not need the
    /// results.
    pub(crate) marks: Option<Vec<bool>>,
}

impl StepRunResult {
    /// Creates empty results of a step; with `keeps_marks` they keep the result of every operation.
    pub(crate) fn new(keeps_marks: bool) -> Self {
        Self {
            latency_ns: Histogram::up_to(LATENCY_LIMIT_NS),
            misses: 0,
            time_ns: 0,
            marks: keeps_marks.then(Vec::new),
        }
    }

    /// Records the result of one operation: a hit, or a miss.
    pub(crate) fn record_result(&mut self, is_hit: bool) {
        self.misses += u64::from(!is_hit);
        if let Some(marks) = &mut self.marks {
            marks.push(is_hit);
        }
    }

    /// Adds the results of `other`, which cover the same time.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.latency_ns.merge(&other.latency_ns);
        self.misses += other.misses;
        self.time_ns = self.time_ns.max(other.time_ns);
        if let (Some(marks), Some(others)) = (&mut self.marks, &other.marks) {
            marks.extend_from_slice(others);
        }
    }
}
