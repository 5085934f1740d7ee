//! Treatment of leases that end: how long they are remembered, and whether sweeps reclaim them
//! (Kea's `expired-leases-processing`).

/// Treatment of ended leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// Seconds for which a released lease is shown as released before it counts as reclaimed (Kea's
    /// `reclaim-timer-wait-time`); 0: sweeps leave ended leases alone until an operator has them
    /// reclaimed or a client needs the address.
    pub reclaim_wait_s: u32,
    /// Seconds after its end for which a reclaimed lease is remembered, so that its client can have
    /// it again (Kea's `hold-reclaimed-time`).
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
    /// Returns true if a released lease is remembered for its client.
    #[must_use]
    pub const fn has_affinity(&self) -> bool {
        self.is_remembering && self.hold_reclaimed_s > 0
    }
}
