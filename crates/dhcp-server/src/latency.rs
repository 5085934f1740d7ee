//! Response times by type of DHCP request: from the moment at which the kernel received the request
//! to the moment at which it accepted the reply.
//!
//! The shard reads no clock for this: a reply's time ends with the shard's next clock reading,
//! which follows the system call that sent the reply. Each shard writes counters of its own; the
//! reader adds them up.

use std::sync::Arc;

use base::time::NS_PER_S;
use base::{Counters, Now};
use dhcp_control::Latency;
use dhcp_engine::{MeasuredRequest, Protocol};

/// Number of bounds of the response times' buckets: two steps for each doubling, from 1 microsecond
/// to 16.8 seconds.
const BOUNDS: usize = 49;
/// Maximum number of sent replies whose response time waits for the next reading of the clock.
const WAITING_MAX: usize = 1_024;
/// Maximum plausible wait of a message in a socket, in nanoseconds. A longer one means that a clock
/// was set.
const WAIT_MAX_NS: u64 = 60 * NS_PER_S;

/// Returns the upper bound of the response times in bucket `index`, in microseconds: 1, 2, 3, 4, 6,
/// 8, 12 and so on.
const fn bound_us(index: usize) -> u64 {
    match index {
        0 => 1,
        _ => {
            let doublings = index.div_ceil(2);
            let whole = 1 << doublings;
            if index % 2 == 1 { whole } else { whole + whole / 2 }
        }
    }
}

/// Returns the index of the bucket of a reply with a response time of `us` microseconds; [`BOUNDS`]
/// for times beyond all bounds.
fn bucket_of(us: u64) -> usize {
    if us <= 2 {
        return usize::from(us == 2);
    }
    // The next doubling above `us`, and a test whether the bound halfway to it is large enough.
    let doublings = (us - 1).ilog2();
    let half = (1 << doublings) + (1_u64 << doublings) / 2;
    let index = 2 * doublings as usize + usize::from(us > half);
    index.min(BOUNDS)
}

/// Response times of one shard, by type of DHCP message.
#[derive(Debug)]
pub(crate) struct Latencies {
    kinds: Vec<LatencyCounters>,
}

#[derive(Debug, Default)]
struct LatencyCounters {
    /// Number of replies by bucket of their response time; the last bucket is for times beyond all
    /// bounds.
    buckets: Counters<{ BOUNDS + 1 }>,
    sum_us: Counters<1>,
}

impl Latencies {
    /// Creates zero counters of response times for the message types of `P`.
    pub(crate) fn new<P: Protocol>() -> Self {
        Self { kinds: P::RECEIVED_STATISTICS.iter().map(|_| LatencyCounters::default()).collect() }
    }

    fn record(&self, kind: usize, us: u64) {
        if let Some(kind) = self.kinds.get(kind) {
            kind.buckets.add(bucket_of(us), 1);
            kind.sum_us.add(0, us);
        }
    }

    /// Returns the response times summed over `shards`, without message types that have no reply.
    pub(crate) fn total<'l, P: Protocol>(
        shards: impl Iterator<Item = &'l Self> + Clone,
    ) -> Vec<Latency> {
        let of_kind = |(kind, &message): (usize, &&'static str)| {
            let mut counts = [0; BOUNDS + 1];
            let mut sum_us = 0;
            for shard in shards.clone() {
                let shard_latencies = &shard.kinds[kind];
                for (count, more) in counts.iter_mut().zip(shard_latencies.buckets.snapshot()) {
                    *count += more;
                }
                sum_us += shard_latencies.sum_us.value(0);
            }
            let buckets = (0..BOUNDS).map(|index| (bound_us(index), counts[index])).collect();
            let is_nonempty = counts.iter().any(|&count| count > 0);
            is_nonempty.then_some(Latency { message, buckets, beyond: counts[BOUNDS], sum_us })
        };
        P::RECEIVED_STATISTICS.iter().enumerate().filter_map(of_kind).collect()
    }
}

/// Returns the monotonic time in nanoseconds at which the kernel received a message. `wall_ns` is
/// the kernel's time of receipt since 1970, if it is known.
pub(crate) fn since_ns(now: Now, wall_ns: Option<u64>) -> u64 {
    let waited_ns = wall_ns.map_or(0, |wall_ns| (now.wall_us * 1_000).saturating_sub(wall_ns));
    if waited_ns > WAIT_MAX_NS { now.mono_ns } else { now.mono_ns.saturating_sub(waited_ns) }
}

/// Replies that a shard has sent since it last read the clock.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    waiting: Vec<MeasuredRequest>,
    latencies: Arc<Latencies>,
    last_ns: u64,
}

impl Stopwatch {
    /// Creates a stopwatch that writes response times into `latencies`.
    pub(crate) fn new(latencies: Arc<Latencies>) -> Self {
        Self { waiting: Vec::with_capacity(WAITING_MAX), latencies, last_ns: 0 }
    }

    /// Records that a reply to the DHCP request `request` has just been sent.
    pub(crate) fn note(&mut self, request: MeasuredRequest) {
        if self.waiting.len() == WAITING_MAX {
            // The times are too short by less than a batch, which is better than growing.
            self.settle(self.last_ns);
        }
        self.waiting.push(request);
    }

    /// Uses the reading `now_ns` of the monotonic clock as the time at which the kernel accepted
    /// all recorded replies.
    pub(crate) fn settle(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
        for request in self.waiting.drain(..) {
            let us = now_ns.saturating_sub(request.since_ns) / 1_000;
            self.latencies.record(request.kind, us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;
    use dhcp_lease::v4::V4;

    #[test]
    fn each_time_is_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(bound_us), [1, 2, 3, 4, 6, 8, 12]);
        assert_eq!(bound_us(BOUNDS - 1), 1 << 24 | 1 << 23);
        let mut random = Random::from_seed(8);
        let few = (0..5_000).chain((0..BOUNDS).flat_map(|at| [bound_us(at), bound_us(at) + 1]));
        let many = std::iter::repeat_with(|| random.next_u64() >> random.below(64));
        for us in few.chain(many.take(100_000)) {
            let slowly = (0..BOUNDS).find(|&index| us <= bound_us(index)).unwrap_or(BOUNDS);
            assert_eq!(bucket_of(us), slowly, "{us}");
        }
    }

    #[test]
    fn answers_are_timed_by_the_next_reading_and_shards_are_added_up() {
        let shards = [(); 2].map(|()| Arc::new(Latencies::new::<V4>()));
        for (at, shard) in shards.iter().enumerate() {
            let mut watch = Stopwatch::new(Arc::clone(shard));
            for number in 0..3_000 {
                watch.note(MeasuredRequest { since_ns: 1_000_000, ..MeasuredRequest::default() });
                if number % 1_000 == 999 {
                    // Times of 5 and 6 microseconds.
                    watch.settle(1_005_000 + 1_000 * at as u64);
                }
            }
            watch.note(MeasuredRequest::default());
        }
        let total = Latencies::total::<V4>(shards.iter().map(|shard| &**shard));
        assert_eq!(total.len(), 1);
        let buckets: Vec<_> = total[0].buckets.iter().filter(|bucket| bucket.1 > 0).collect();
        assert_eq!(
            (total[0].message, buckets, total[0].beyond),
            ("discover", vec![&(6, 6_000)], 0)
        );
        assert_eq!(total[0].sum_us, 3_000 * 5 + 3_000 * 6);
    }

    #[test]
    fn a_clock_that_was_set_tells_nothing() {
        let now = Now { mono_ns: 100 * NS_PER_S, wall_us: 2_000_000_000 };
        let at = |wall_ns| since_ns(now, wall_ns);
        assert_eq!(at(None), now.mono_ns);
        assert_eq!(at(Some(now.wall_us * 1_000 - 500)), now.mono_ns - 500);
        assert_eq!(at(Some(now.wall_us * 1_000 + 500)), now.mono_ns);
        assert_eq!(at(Some(1)), now.mono_ns);
    }
}
