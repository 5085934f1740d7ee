//! Time as a value. The drivers read clocks; all other code receives a [`Now`].

/// Reading of the monotonic clock and the wall clock, taken together, usually once per batch of
/// packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    /// Time of the monotonic clock in nanoseconds since an arbitrary origin, for deadlines and
    /// latencies.
    pub mono_ns: u64,
    /// Time of the wall clock in microseconds since 1970-01-01T00:00:00Z, for times that are
    /// stored.
    pub wall_us: u64,
}

/// Number of nanoseconds in one second.
pub const NS_PER_S: u64 = 1_000_000_000;
/// Number of nanoseconds in one millisecond.
pub const NS_PER_MS: u64 = 1_000_000;
/// Number of microseconds in one second.
pub const US_PER_S: u64 = 1_000_000;

/// Converts nanoseconds to seconds.
pub const fn seconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_S as f64
}

impl Now {
    /// Returns the time of the wall clock in whole seconds since 1970.
    pub const fn wall_s(self) -> u64 {
        self.wall_us / US_PER_S
    }

    /// Returns this time with both clocks moved forward by `ns` nanoseconds, as a virtual clock
    /// moves.
    #[must_use]
    pub const fn after_ns(self, ns: u64) -> Self {
        Self { mono_ns: self.mono_ns + ns, wall_us: self.wall_us + ns / 1_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_move_together() {
        let now = Now { mono_ns: 5, wall_us: 1_999_999 };
        assert_eq!(now.wall_s(), 1);
        let later = now.after_ns(1_000);
        assert_eq!(later, Now { mono_ns: 1_005, wall_us: 2_000_000 });
        assert_eq!(later.wall_s(), 2);
    }
}
