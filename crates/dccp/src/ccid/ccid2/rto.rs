//! Round-trip time and retransmission timeout like TCP's (RFC 6298), without a least timeout of one
//! second (RFC 4341 §5).

/// Retransmission timeout before the first sample of the round-trip time, in nanoseconds
/// (RFC 6298 §2.1).
const INITIAL_NS: u64 = 1_000_000_000;
/// Least retransmission timeout, in nanoseconds. With a shorter one, the other end's delayed
/// acknowledgement would look like a loss.
const LEAST_NS: u64 = 200_000_000;
/// Greatest retransmission timeout after backing off, in nanoseconds.
const GREATEST_NS: u64 = 60_000_000_000;

/// Estimator of a CCID 2 sender's round-trip time and of the retransmission timeout (RTO, RFC 6298)
/// that follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rto {
    smoothed_ns: Option<u64>,
    variation_ns: u64,
    backoff: u32,
}

impl Rto {
    pub(super) const fn new() -> Self {
        Self { smoothed_ns: None, variation_ns: 0, backoff: 0 }
    }

    pub(super) const fn smoothed_ns(&self) -> Option<u64> {
        self.smoothed_ns
    }

    /// Returns the current retransmission timeout in nanoseconds.
    pub(super) fn timeout_ns(&self) -> u64 {
        let base = match self.smoothed_ns {
            None => INITIAL_NS,
            Some(smoothed) => (smoothed + 4 * self.variation_ns).max(LEAST_NS),
        };
        base.saturating_mul(1 << self.backoff.min(16)).min(GREATEST_NS)
    }

    /// Adds a sample of the round-trip time in nanoseconds, and ends the backoff.
    pub(super) fn sample(&mut self, rtt_ns: u64) {
        self.backoff = 0;
        match self.smoothed_ns {
            None => {
                self.smoothed_ns = Some(rtt_ns);
                self.variation_ns = rtt_ns / 2;
            }
            Some(smoothed) => {
                self.variation_ns = (3 * self.variation_ns + smoothed.abs_diff(rtt_ns)) / 4;
                self.smoothed_ns = Some((7 * smoothed + rtt_ns) / 8);
            }
        }
    }

    /// Doubles the retransmission timeout, after it has expired.
    pub(super) const fn back_off(&mut self) {
        self.backoff += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn follows_rfc_6298() {
        let mut rto = Rto::new();
        assert_eq!(rto.timeout_ns(), 1_000 * MS);
        rto.sample(100 * MS);
        assert_eq!(rto.timeout_ns(), 300 * MS);
        rto.sample(180 * MS);
        assert_eq!(rto.smoothed_ns(), Some(110 * MS));
        assert_eq!(rto.timeout_ns(), (110 + 4 * 57) * MS + 2 * MS);
        rto.back_off();
        rto.back_off();
        assert_eq!(rto.timeout_ns(), 4 * 340 * MS);
        rto.sample(110 * MS);
        assert!(rto.timeout_ns() < 340 * MS);
        for _ in 0..40 {
            rto.back_off();
        }
        assert_eq!(rto.timeout_ns(), GREATEST_NS);
    }
}
