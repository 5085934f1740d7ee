//! Rate at which data arrives, over the last round trip (RFC 5348 §6.2, erratum to RFC 4342 §8.3),
//! and round-trip time from the window counter (RFC 4342 §8.1).

use std::collections::VecDeque;

use super::counter;

/// Number of bins into which the meter of the receive rate divides a round trip.
const BINS_PER_RTT: u64 = 16;

/// Meter of the bytes of data that arrived in the last round trip.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceiveRateMeter {
    /// Begin of each bin in nanoseconds and the bytes that arrived in it, oldest first.
    bins: VecDeque<(u64, u64)>,
}

impl ReceiveRateMeter {
    pub(super) fn record_arrival(&mut self, now_ns: u64, data_len: usize, rtt_ns: u64) {
        let len = data_len as u64;
        match self.bins.back_mut() {
            Some((begin_ns, octets)) if now_ns < *begin_ns + rtt_ns / BINS_PER_RTT => {
                *octets += len;
            }
            _ => self.bins.push_back((now_ns, len)),
        }
        while self.bins.front().is_some_and(|(begin_ns, _)| begin_ns + rtt_ns <= now_ns) {
            self.bins.pop_front();
        }
    }

    /// Returns the receive rate in bytes per second over the round trip that ends at `now_ns`.
    pub(super) fn rate(&mut self, now_ns: u64, rtt_ns: u64) -> f64 {
        while self.bins.front().is_some_and(|(begin_ns, _)| begin_ns + rtt_ns <= now_ns) {
            self.bins.pop_front();
        }
        let octets: u64 = self.bins.iter().map(|(_, octets)| octets).sum();
        octets as f64 * 1e9 / rtt_ns.max(1) as f64
    }
}

/// Estimate of the round-trip time from window counters: four steps are one round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CounterRtt {
    /// Arrival time and window counter of the packet from which steps are counted.
    reference: Option<(u64, u8)>,
    smoothed_ns: Option<u64>,
}

impl CounterRtt {
    pub(super) const fn smoothed_ns(&self) -> Option<u64> {
        self.smoothed_ns
    }

    /// Sets the estimate to the connection's round-trip time, unless packets have given one
    /// already.
    pub(super) fn suggest(&mut self, rtt_ns: u64) {
        self.smoothed_ns.get_or_insert(rtt_ns);
    }

    pub(super) fn record_arrival(&mut self, now_ns: u64, ccval: u8) {
        let Some((since_ns, from)) = self.reference else {
            self.reference = Some((now_ns, ccval));
            return;
        };
        match counter::distance(from, ccval) {
            0..4 => (),
            4 => {
                let sample_ns = now_ns.saturating_sub(since_ns).max(1);
                self.smoothed_ns = Some(match self.smoothed_ns {
                    None => sample_ns,
                    Some(smoothed_ns) => (9 * smoothed_ns + sample_ns) / 10,
                });
                self.reference = Some((now_ns, ccval));
            }
            // A distance of five steps means five or more.
            _ => self.reference = Some((now_ns, ccval)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn rates_cover_the_last_round_trip_only() {
        let mut received = ReceiveRateMeter::default();
        for packet in 0..100 {
            received.record_arrival(packet * 10 * MS, 1_000, 100 * MS);
        }
        let rate = received.rate(990 * MS, 100 * MS);
        assert!((rate - 100_000.0).abs() < 1.0, "{rate}");
        // After an idle minute the first packet counts for itself, not for the minute.
        received.record_arrival(60_000 * MS, 1_000, 100 * MS);
        let rate = received.rate(60_000 * MS, 100 * MS);
        assert!((rate - 10_000.0).abs() < 1.0, "{rate}");
        assert!(received.bins.len() <= 17);
    }

    #[test]
    fn four_steps_of_the_counter_are_a_round_trip() {
        let mut rtt = CounterRtt::default();
        for step in 0..40 {
            rtt.record_arrival(step * 25 * MS, (step % 16) as u8);
        }
        assert_eq!(rtt.smoothed_ns(), Some(100 * MS));
        rtt.record_arrival(60_000 * MS, 12);
        assert_eq!(rtt.smoothed_ns(), Some(100 * MS));
    }
}
