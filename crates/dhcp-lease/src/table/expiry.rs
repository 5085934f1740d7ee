//! What becomes of leases that end: how long they are remembered, and whether anybody takes them
//! back (Kea's `expired-leases-processing`).

/// How ended leases are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// Seconds for which a lease given back is shown as such before it counts as reclaimed (Kea's
    /// `reclaim-timer-wait-time`); 0: sweeps leave ended leases alone until they are told to reclaim
    /// them, or somebody needs the address.
    pub reclaim_wait_s: u32,
    /// Seconds after its end for which a reclaimed lease is remembered, for its client to have it
    /// back (Kea's `hold-reclaimed-time`).
    pub hold_reclaimed_s: u32,
    /// Whether reclaimed leases are remembered at all (Kea's `flush-reclaimed-timer-wait-time` is
    /// not 0); else they are deleted.
    pub is_remembering: bool,
}

impl Default for Expiry {
    fn default() -> Self {
        Self { reclaim_wait_s: 10, hold_reclaimed_s: 3600, is_remembering: true }
    }
}

impl Expiry {
    /// Whether a lease that its client gives back is kept for it.
    #[must_use]
    pub const fn has_affinity(&self) -> bool {
        self.is_remembering && self.hold_reclaimed_s > 0
    }
}
