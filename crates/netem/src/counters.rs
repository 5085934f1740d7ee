//! Counters of an emulated link. At any time received plus duplicated packets equal the sum of sent
//! ones, dropped ones (by any cause) and the backlog.

/// Counts of a link's packets by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Count of packets that the link received.
    pub received: u64,
    /// Count of packets that the link sent.
    pub sent: u64,
    /// Bytes of the packets that the link sent.
    pub sent_bytes: u64,
    /// Count of copies that the link made of packets.
    pub duplicated: u64,
    /// Count of packets in which the link changed a bit.
    pub corrupted: u64,
    /// Count of packets that overtook others by `reorder`.
    pub reordered: u64,
    /// Count of packets that the link marked (ECN) instead of dropping them.
    pub marked: u64,
    /// Count of packets that the loss model dropped.
    pub lost: u64,
    /// Count of packets dropped because the netem stage held `limit` packets.
    pub over_limit: u64,
    /// Count of packets dropped because the queue of the token bucket was full.
    pub over_bucket_limit: u64,
    /// Count of packets dropped because they need more tokens than the bucket can hold.
    pub too_long: u64,
}

impl LinkCounters {
    /// Returns the count of packets that the link dropped for any cause.
    pub const fn dropped(&self) -> u64 {
        self.lost + self.over_limit + self.over_bucket_limit + self.too_long
    }
}

/// Packets that are in the link: they wait for their due time or for tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Count of the packets in the link.
    pub packets: usize,
    /// Bytes of the packets in the link.
    pub bytes: usize,
}
