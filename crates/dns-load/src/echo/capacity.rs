//! Responder with a limited capacity, to test searches for the highest rate of a server.

use base::time::NS_PER_S;

/// Number of picoseconds in a nanosecond: rounding to nanoseconds would make the times of answers
/// drift.
const PS_PER_NS: u128 = 1_000;

/// Limited capacity of a DNS responder: answers per second, and queries that may wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Rate of the responder's answers per second.
    pub per_s: f64,
    /// Largest number of queries that wait for an answer; the responder drops further queries.
    pub queue: u32,
}

impl Capacity {
    /// Returns the share of the capacity that one of `threads` threads has: of the answers, and a
    /// queue of its own.
    #[must_use]
    pub fn share(self, threads: u32) -> Self {
        Self { per_s: self.per_s / f64::from(threads), ..self }
    }
}

/// Token bucket of a responder that holds one token, and queries in a row that wait for the next
/// token.
#[derive(Clone, Copy, Debug)]
pub struct CapacityBucket {
    interval_ps: u128,
    queue: u128,
    /// Time at which the next token of the bucket is available, in picoseconds.
    free_ps: u128,
}

impl CapacityBucket {
    /// Creates a bucket of this capacity with its token and no waiting query.
    pub fn new(capacity: Capacity) -> Self {
        let interval_ps = NS_PER_S as f64 * PS_PER_NS as f64 / capacity.per_s;
        Self { interval_ps: (interval_ps as u128).max(1), queue: capacity.queue.into(), free_ps: 0 }
    }

    /// Returns the time at which the responder answers the query that comes at `now_ns`, in
    /// nanoseconds of the same clock; `None` when too many queries wait. Queries come in the order
    /// of time.
    pub fn admit(&mut self, now_ns: u64) -> Option<u64> {
        let now_ps = u128::from(now_ns) * PS_PER_NS;
        let start_ps = self.free_ps.max(now_ps);
        if (start_ps - now_ps).div_ceil(self.interval_ps) > self.queue {
            return None;
        }
        self.free_ps = start_ps + self.interval_ps;
        Some(start_ps.div_ceil(PS_PER_NS) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_leave_at_the_rate_and_the_queue_ends() {
        let mut bucket = CapacityBucket::new(Capacity { per_s: 1_000.0, queue: 2 });
        let times: Vec<_> = (0..6).map(|_| bucket.admit(5_000_000)).collect();
        let ms = |ms: u64| Some(ms * 1_000_000);
        assert_eq!(times, [ms(5), ms(6), ms(7), None, None, None]);
        assert_eq!(bucket.admit(6_000_000), ms(8), "one has left");
        assert_eq!(bucket.admit(6_000_001), None);
        assert_eq!(bucket.admit(90_000_000), ms(90), "no tokens are saved");
        let third = Capacity { per_s: 3_000.0, queue: 2 }.share(3);
        assert_eq!(third, Capacity { per_s: 1_000.0, queue: 2 });
    }

    #[test]
    fn as_many_leave_as_the_rate_says() {
        let mut bucket = CapacityBucket::new(Capacity { per_s: 30_000.0, queue: 1 });
        let end_ns = 36 * NS_PER_S;
        let (mut now_ns, mut count) = (0, 0_u32);
        while now_ns < end_ns {
            count += u32::from(bucket.admit(now_ns).is_some());
            now_ns += 3_333;
        }
        // One more token was in the bucket at first, and one query waits at the end.
        assert!((1_079_000..=1_080_002).contains(&count), "{count}");
    }
}
