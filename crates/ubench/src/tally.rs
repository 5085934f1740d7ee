//! What one step of one run came to, and who takes it down.

use base::Histogram;

/// Latencies above this are counted as this, nanoseconds.
const LATENCY_LIMIT_NS: u64 = 100_000_000_000;

/// One step of one run.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// How long each operation took, from its begin until it counted as done, nanoseconds.
    pub(crate) latency_ns: Histogram,
    /// Operations that found nothing.
    pub(crate) misses: u64,
    /// From the begin of the first operation until the last one was done.
    pub(crate) time_ns: u64,
    /// Whether each operation hit, in their order, when somebody wants to draw them.
    pub(crate) marks: Option<Vec<bool>>,
}

impl Tally {
    /// Nothing yet; `keeps_marks`: what every operation came to is kept.
    pub(crate) fn new(keeps_marks: bool) -> Self {
        Self {
            latency_ns: Histogram::up_to(LATENCY_LIMIT_NS),
            misses: 0,
            time_ns: 0,
            marks: keeps_marks.then(Vec::new),
        }
    }

    /// An operation has hit, or not.
    pub(crate) fn found(&mut self, is_hit: bool) {
        self.misses += u64::from(!is_hit);
        if let Some(marks) = &mut self.marks {
            marks.push(is_hit);
        }
    }

    /// Adds what another one counted over the same time.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.latency_ns.merge(&other.latency_ns);
        self.misses += other.misses;
        self.time_ns = self.time_ns.max(other.time_ns);
        if let (Some(marks), Some(others)) = (&mut self.marks, &other.marks) {
            marks.extend_from_slice(others);
        }
    }
}
