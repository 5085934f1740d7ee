//! Time limits of exchanges.

/// Time limits of an exchange, in nanoseconds: until when it is on time, and until when it is
/// watched.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeTimeLimits {
    /// Longest time from an exchange's due time to its last reply, in nanoseconds, for which it is
    /// on time.
    pub deadline_ns: u64,
    /// Time after its deadline for which the generator still watches an exchange, in nanoseconds,
    /// to tell late replies from lost ones.
    pub grace_ns: u64,
}

impl ExchangeTimeLimits {
    /// Returns the time from the due time for which an exchange is watched, in nanoseconds.
    pub const fn watched_ns(self) -> u64 {
        self.deadline_ns + self.grace_ns
    }
}
