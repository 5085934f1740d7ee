//! Window counter in the CCVal field (RFC 4342 §8.1): it counts quarters of a round trip, so that
//! the receiver can separate loss events without knowing the round-trip time.

/// Number of steps of the window counter (CCVal, RFC 4342 §8.1) in a round trip.
const STEPS_PER_RTT: u64 = 4;
/// Largest number of steps of the window counter (CCVal, RFC 4342 §8.1) between two packets in a
/// row.
const STEP_MAX: u64 = 5;

/// Window counter (CCVal, RFC 4342 §8.1) of a CCID 3 sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowCounter {
    value: u8,
    /// Value of the window counter in the latest packet.
    sent: u8,
    changed_ns: Option<u64>,
}

impl WindowCounter {
    /// Returns the window counter of a data packet that leaves at `now_ns`.
    pub(super) fn at(&mut self, now_ns: u64, rtt_ns: u64) -> u8 {
        self.advance(now_ns, rtt_ns);
        self.sent = self.value;
        self.value
    }

    fn advance(&mut self, now_ns: u64, rtt_ns: u64) {
        let Some(changed_ns) = self.changed_ns else {
            self.changed_ns = Some(now_ns);
            return;
        };
        let quarters = now_ns.saturating_sub(changed_ns) * STEPS_PER_RTT / rtt_ns.max(1);
        if quarters > 0 {
            // An acknowledgement may have advanced it since the latest packet.
            let room = STEP_MAX.saturating_sub(u64::from(distance(self.sent, self.value)));
            self.step(quarters.min(room) as u8, now_ns);
        }
    }

    /// Advances the window counter after the acknowledgement of a packet with counter `value`: a
    /// round trip has passed since that packet.
    pub(super) fn acknowledged(&mut self, value: u8, now_ns: u64) {
        let least = value.wrapping_add(4) & 15;
        let missing = least.wrapping_sub(self.value) & 15;
        if (1..=4).contains(&missing) {
            self.step(missing, now_ns);
        }
    }

    fn step(&mut self, steps: u8, now_ns: u64) {
        self.value = self.value.wrapping_add(steps) & 15;
        self.changed_ns = Some(now_ns);
    }
}

/// Returns the number of steps from the window counter `from` to `to`, 0 to 15.
pub(super) const fn distance(from: u8, to: u8) -> u8 {
    to.wrapping_sub(from) & 15
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn tfrc_05_the_counter_of_the_vector() {
        let mut counter = WindowCounter::default();
        let values =
            [0, 20, 25, 30, 80, 105, 400, 900, 910, 2_000].map(|ms| counter.at(ms * MS, 100 * MS));
        assert_eq!(values, [0, 0, 1, 1, 3, 4, 9, 14, 14, 3]);
    }

    #[test]
    fn tfrc_05_an_acknowledged_counter_is_a_round_trip_ago() {
        let mut counter = WindowCounter { value: 14, sent: 14, changed_ns: Some(0) };
        counter.acknowledged(13, 1);
        assert_eq!(counter.value, 1);
        counter.acknowledged(13, 1);
        counter.acknowledged(12, 1);
        assert_eq!(counter.value, 1, "never back");
    }

    #[test]
    fn tfrc_05_an_acknowledgement_and_time_together_are_five_steps_at_most() {
        let mut counter = WindowCounter::default();
        assert_eq!(counter.at(0, 100 * MS), 0);
        counter.acknowledged(0, MS);
        assert_eq!(counter.at(90 * MS, 100 * MS), 5);
        counter.acknowledged(5, 91 * MS);
        assert_eq!(counter.at(92 * MS, 100 * MS), 9);
    }
}
