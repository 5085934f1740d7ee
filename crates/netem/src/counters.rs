//! Counters of a link. With the backlog the sums hold at any time: received plus duplicated equals
//! sent, dropped by any cause, and backlog.

/// Counts of packets by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets that the link received.
    pub received: u64,
    /// Packets that the link sent.
    pub sent: u64,
    /// Bytes of the packets that the link sent.
    pub sent_bytes: u64,
    /// Copies that the link made.
    pub duplicated: u64,
    /// Packets in which the link changed a bit.
    pub corrupted: u64,
    /// Packets that overtook the others.
    pub reordered: u64,
    /// Packets that were marked instead of lost.
    pub marked: u64,
    /// Packets dropped by the loss model.
    pub lost: u64,
    /// Packets dropped because the netem stage was full.
    pub over_limit: u64,
    /// Packets dropped because the queue of the token bucket was full.
    pub over_bucket_limit: u64,
    /// Packets dropped because they need more tokens than the bucket can hold.
    pub too_long: u64,
}

impl LinkCounters {
    /// Returns the number of packets dropped by any cause.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.lost + self.over_limit + self.over_bucket_limit + self.too_long
    }
}

/// Packets under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: usize,
    /// Bytes of the packets.
    pub bytes: usize,
}
