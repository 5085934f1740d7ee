//! Receive rates of the last round trips and the limit for the sender that follows from them, and
//! detection of data-limited senders (RFC 5348 §4.3, §8.2).

/// Largest number of receive rates kept; more are never needed (RFC 5348 §8.2.2).
const RATES_MAX: usize = 3;

/// Set of the last reported receive rates, X_recv_set of RFC 5348.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveRates {
    /// Time of each report in nanoseconds, and its rate in bytes per second.
    rates: [Option<(u64, f64)>; RATES_MAX],
}

impl ReceiveRates {
    /// Returns a set of receive rates that does not limit the sender (X_recv_set with infinity, RFC
    /// 5348 §4.2).
    pub(super) const fn unlimited() -> Self {
        Self { rates: [Some((0, f64::INFINITY)), None, None] }
    }

    /// Returns the set with only the receive rate `rate`, in bytes per second.
    pub(super) const fn only(now_ns: u64, rate: f64) -> Self {
        Self { rates: [Some((now_ns, rate)), None, None] }
    }

    pub(super) fn max(&self) -> f64 {
        self.rates.iter().flatten().fold(0.0, |max, &(_, rate)| max.max(rate))
    }

    /// Adds a receive rate and drops rates older than two round trips.
    pub(super) fn update(&mut self, now_ns: u64, rate: f64, rtt_ns: u64) {
        for slot in &mut self.rates {
            let is_old = |&(reported_ns, rate): &(u64, f64)| {
                rate.is_infinite() || reported_ns + 2 * rtt_ns < now_ns
            };
            if slot.as_ref().is_some_and(is_old) {
                *slot = None;
            }
        }
        let oldest = (0..RATES_MAX).min_by_key(|&index| self.rates[index].map_or(0, |rate| rate.0));
        self.rates[oldest.unwrap_or(0)] = Some((now_ns, rate));
    }

    /// Replaces the set by the greatest of its rates and `rate` (Maximize X_recv_set of RFC 5348).
    pub(super) fn maximize(&mut self, now_ns: u64, rate: f64) {
        // The infinite rate means "no limit yet"; no feedback reported it.
        let reported = self.rates.iter().flatten().filter(|(_, rate)| rate.is_finite());
        let max = reported.fold(rate, |max, &(_, rate)| max.max(rate));
        *self = Self::only(now_ns, max);
    }

    pub(super) fn halve(&mut self) {
        for (_, rate) in self.rates.iter_mut().flatten() {
            *rate /= 2.0;
        }
    }
}

/// Times at which the sender last sent all that congestion control allowed (RFC 5348 §8.2.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DataLimit {
    not_limited: [Option<u64>; 2],
    /// Time at which the packet was sent that the last feedback acknowledged, in nanoseconds.
    covered_ns: Option<u64>,
}

impl DataLimit {
    /// Records that congestion control makes data wait at `now_ns`.
    pub(super) fn is_not_limited(&mut self, now_ns: u64) {
        let is_covered = |at: Option<u64>| {
            at.is_none_or(|at_ns| self.covered_ns.is_some_and(|covered_ns| at_ns <= covered_ns))
        };
        let slot = usize::from(!is_covered(self.not_limited[0]));
        self.not_limited[slot] = Some(now_ns);
    }

    /// Processes feedback about all packets up to one that was sent at `sent_ns`. Returns true if
    /// lack of data limited the sender all the time since the feedback before.
    pub(super) fn feedback(&mut self, sent_ns: u64) -> bool {
        let since_ns = self.covered_ns;
        self.covered_ns = Some(sent_ns);
        let is_inside = |at: Option<u64>| {
            at.is_some_and(|at_ns| at_ns <= sent_ns && since_ns.is_none_or(|since| since < at_ns))
        };
        let is_limited = !self.not_limited.iter().any(|&at| is_inside(at));
        if self.not_limited[0].is_none_or(|at_ns| at_ns <= sent_ns)
            && self.not_limited[1].is_some_and(|at_ns| at_ns > sent_ns)
        {
            self.not_limited = [self.not_limited[1], None];
        }
        is_limited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_live_for_two_round_trips() {
        let mut rates = ReceiveRates::unlimited();
        assert!(rates.max().is_infinite());
        rates.update(100, 5.0, 10);
        rates.update(110, 3.0, 10);
        assert_eq!(rates.max(), 5.0);
        rates.update(121, 2.0, 10);
        assert_eq!(rates.max(), 3.0);
        rates.halve();
        rates.maximize(122, 1.2);
        assert_eq!(rates.max(), 1.5);
    }

    #[test]
    fn the_sender_is_limited_while_it_never_had_to_wait() {
        let mut limit = DataLimit::default();
        assert!(limit.feedback(10));
        limit.is_not_limited(15);
        limit.is_not_limited(25);
        assert!(!limit.feedback(20));
        assert!(!limit.feedback(30), "the later one counts for the later feedback");
        assert!(limit.feedback(40));
    }
}
