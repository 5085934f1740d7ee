//! Offset of another machine's clock from this machine's clock, from requests and replies (RFC 5905
//! section 8).
//!
//! One round trip gives the difference of the clocks to within half of the time that its packets
//! were under way: if the request had taken all of that time and the reply none, or the other way
//! round, the difference would be off by so much and no more. So the round trip with the least
//! delay is the most exact, and the others are thrown away.

/// Maximum uncertainty of an [`Offset`] that needs no remark, in nanoseconds.
pub const UNCERTAINTY_MAX_NS: u64 = 1_000_000;

/// Times of a request and its reply, in nanoseconds: the outer times (`asked_ns`, `answered_ns`) on
/// this machine's clock, the inner ones (`received_ns`, `sent_ns`) on the other machine's.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    /// Time at which the request left this machine, in nanoseconds of this machine's clock.
    pub asked_ns: u64,
    /// Time at which the request arrived at the other machine, in nanoseconds of the other
    /// machine's clock.
    pub received_ns: u64,
    /// Time at which the reply left the other machine, in nanoseconds of the other machine's clock.
    pub sent_ns: u64,
    /// Time at which the reply arrived at this machine, in nanoseconds of this machine's clock.
    pub answered_ns: u64,
}

/// Offset of another machine's clock from this machine's clock, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Nanoseconds to add to a time of this machine's clock to get the time of the other machine's
    /// clock.
    pub ns: i64,
    /// Greatest error of `ns`, in nanoseconds.
    pub uncertainty_ns: u64,
}

impl RoundTrip {
    /// Returns the time that request and reply were under way together, in nanoseconds.
    const fn delay_ns(self) -> u64 {
        let all_ns = self.answered_ns.saturating_sub(self.asked_ns);
        all_ns.saturating_sub(self.sent_ns.saturating_sub(self.received_ns))
    }

    fn offset(self) -> Offset {
        let apart = |theirs: u64, ours: u64| i128::from(theirs) - i128::from(ours);
        let sum = apart(self.received_ns, self.asked_ns) + apart(self.sent_ns, self.answered_ns);
        // The other machine cannot have booted three centuries before this one.
        let ns = i64::try_from(sum.div_euclid(2)).unwrap_or(i64::MAX);
        Offset { ns, uncertainty_ns: self.delay_ns().div_ceil(2) }
    }
}

impl Offset {
    /// Returns the offset that several round trips give together; `None` if `trips` is empty.
    pub fn from_round_trips(trips: &[RoundTrip]) -> Option<Self> {
        trips.iter().min_by_key(|trip| trip.delay_ns()).map(|trip| trip.offset())
    }

    /// Converts a time of this machine's clock to a time of the other machine's clock, in
    /// nanoseconds.
    pub const fn there(self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.ns)
    }

    /// Converts a time of the other machine's clock to a time of this machine's clock, in
    /// nanoseconds.
    pub const fn here(self, there_ns: u64) -> u64 {
        there_ns.saturating_sub_signed(self.ns)
    }
}

#[cfg(test)]
mod tests {
    use crate::Random;

    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn the_true_offset_is_never_further_away_than_the_uncertainty() {
        let mut random = Random::from_seed(17);
        for _ in 0..2_000 {
            let boot_ns = random.below(1 << 50);
            let offset_ns = (random.below(1 << 51) as i64) - boot_ns as i64;
            let there = |here_ns: u64| here_ns.saturating_add_signed(offset_ns);
            let mut now_ns = boot_ns + 1_000;
            let count = random.below(20) + 1;
            let trips: Vec<RoundTrip> = (0..count)
                .map(|_| {
                    let mut pass = |most: u64| {
                        now_ns += random.below(most);
                        now_ns
                    };
                    let asked_ns = pass(1_000_000);
                    let received_ns = there(pass(5_000_000));
                    let sent_ns = there(pass(50_000));
                    RoundTrip { asked_ns, received_ns, sent_ns, answered_ns: pass(3_000_000) }
                })
                .collect();
            let offset = Offset::from_round_trips(&trips).unwrap();
            assert!(
                offset.ns.abs_diff(offset_ns) <= offset.uncertainty_ns,
                "{offset:?} {offset_ns}"
            );
            let least = trips.iter().map(|trip| trip.delay_ns()).min().unwrap();
            assert_eq!(offset.uncertainty_ns, least.div_ceil(2));
            let error = offset.there(now_ns).abs_diff(there(now_ns));
            assert!(error <= offset.uncertainty_ns);
        }
        assert_eq!(Offset::from_round_trips(&[]), None);
    }

    #[test]
    fn of_a_symmetric_way_the_offset_is_exact() {
        let trip =
            RoundTrip { asked_ns: 100, received_ns: 5_150, sent_ns: 5_170, answered_ns: 220 };
        let ahead = Offset { ns: 5_000, uncertainty_ns: 50 };
        assert_eq!(Offset::from_round_trips(&[trip]), Some(ahead));
        assert_eq!((ahead.there(100), ahead.here(5_100)), (5_100, 100));
        let back =
            RoundTrip { asked_ns: 5_150, received_ns: 200, sent_ns: 220, answered_ns: 5_270 };
        assert_eq!(
            Offset::from_round_trips(&[back]),
            Some(Offset { ns: -5_000, uncertainty_ns: 50 })
        );
    }
}
