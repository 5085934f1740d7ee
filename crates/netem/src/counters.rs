//! What a link has done so far. With the backlog the sums hold at any time: received and duplicated
//! is sent, dropped by any cause, and backlog.

/// Packets by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came in.
    pub received: u64,
    /// Packets that went out.
    pub sent: u64,
    /// Octets that went out.
    pub sent_bytes: u64,
    /// Copies that were made.
    pub duplicated: u64,
    /// Packets that had a bit changed.
    pub corrupted: u64,
    /// Packets that overtook the others.
    pub reordered: u64,
    /// Packets that were marked in place of a loss.
    pub marked: u64,
    /// Dropped by the loss model.
    pub lost: u64,
    /// Dropped because the netem stage was full.
    pub over_limit: u64,
    /// Dropped because the queue of the token bucket was full.
    pub over_bucket_limit: u64,
    /// Dropped because the token bucket never has tokens for so long a packet.
    pub too_long: u64,
}

impl Counters {
    /// Packets dropped by any cause.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.lost + self.over_limit + self.over_bucket_limit + self.too_long
    }
}

/// What is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Their octets.
    pub bytes: usize,
}
