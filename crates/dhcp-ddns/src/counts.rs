//! Counts of the updater, with the names of Kea's statistics.

/// Counts of updates: those of all updates, or those that one key signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyCounts {
    /// Updates sent (`update-sent`), each attempt counted.
    pub sent: u64,
    /// Answers received (`update-success`), whatever they say.
    pub success: u64,
    /// Updates without an answer in time (`update-timeout`).
    pub timeout: u64,
    /// Answers that were malformed or not signed as they should be (`update-error`).
    pub error: u64,
}

impl KeyCounts {
    /// Returns the counts with their names.
    #[must_use]
    pub const fn entries(&self) -> [(&'static str, u64); 4] {
        [
            ("update-sent", self.sent),
            ("update-success", self.success),
            ("update-timeout", self.timeout),
            ("update-error", self.error),
        ]
    }
}

/// Counts of all updates and requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdaterCounts {
    /// Counts of all updates.
    pub updates: KeyCounts,
    /// Updates sent with a signature (`update-signed`).
    pub signed: u64,
    /// Updates sent without a signature (`update-unsigned`).
    pub unsigned: u64,
    /// Counts of each key, in the order of the configuration.
    pub keys: Vec<KeyCounts>,
    /// Requests that were carried out completely.
    pub completed: u64,
    /// Requests that were given up: refused by a server, or for a name without a zone.
    pub failed: u64,
    /// Updates that a server refused for a reason that may pass: it is not authoritative for the
    /// zone, does not permit the update, or failed.
    pub refused: u64,
    /// Answers cut to a datagram, after which the update went over TCP.
    pub truncated: u64,
}
