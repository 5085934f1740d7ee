//! Treatment of leases that end: how long the table remembers them, and whether sweeps reclaim them
//! (Kea's `expired-leases-processing`).

/// Treatment of leases that have ended (Kea's `expired-leases-processing`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// Time for which a released lease is shown as released before it counts as reclaimed, in
    /// seconds (Kea's `reclaim-timer-wait-time`); 0: sweeps leave ended leases alone until an
    /// operator has them reclaimed or a client needs the address.
    pub reclaim_wait_s: u32,
    /// Time after its end for which a reclaimed lease is remembered, in seconds, so that its client
    /// can have it again (Kea's `hold-reclaimed-time`).
    pub hold_reclaimed_s: u32,
    /// True if reclaimed leases are remembered (Kea's `flush-reclaimed-timer-wait-time` is not 0);
    /// otherwise they are deleted.
    pub is_remembering: bool,
}

impl Default for Expiry {
    fn default() -> Self {
        Self { reclaim_wait_s: 10, hold_reclaimed_s: 3600, is_remembering: true }
    }
}

impl Expiry {
    /// Returns true if a released lease is remembered for its client (lease affinity).
    #[must_use]
    pub const fn has_affinity(&self) -> bool {
        self.is_remembering && self.hold_reclaimed_s > 0
    }
}
