//! Leases so young that they are repeated instead of renewed (Kea's `cache-threshold`, Kea
//! reference §5.2): the server writes no row, and the client gets the remaining lifetime.

use base::Now;
use dhcp_config::{GodwitSettings, LeaseDatabase};
use dhcp_lease::contract::SlotView;
use dhcp_lease::{Family, INFINITE_LIFETIME_S, SlotOccupancy, SlotOwner};

/// Largest age at which the server repeats leases of a subnet instead of renewing them (Kea's
/// `cache-threshold` and `cache-max-age`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatPolicy {
    /// Share of a lease's lifetime, 0 to 1, during which the server repeats the lease in replies
    /// instead of renewing it (Kea's `cache-threshold`); 0: never.
    pub threshold: f64,
    /// Largest age of a lease that the server repeats, in seconds (Kea's `cache-max-age`).
    pub max_age_s: Option<u32>,
}

impl RepeatPolicy {
    /// Returns the policy for repeating leases of a subnet. `threshold` is the subnet's
    /// `cache-threshold`, `max_age_s` its `cache-max-age`. A lease in a database that other servers
    /// write to is never repeated: only the database knows if the lease is still the client's, and
    /// the row that a renewal writes finds that out.
    #[must_use]
    pub fn new(
        threshold: f64,
        max_age_s: Option<u32>,
        database: &LeaseDatabase,
        godwit: &GodwitSettings,
    ) -> Self {
        let is_shared = database.is_shared(&godwit.lease_database);
        Self { threshold: if is_shared { 0.0 } else { threshold }, max_age_s }
    }

    /// Returns the seconds since the lease in `slot` was written, when the lease is the requesting
    /// client's, runs, was given for `lifetime_s` and is young enough to be repeated
    /// (`cache-threshold`, `cache-max-age`).
    #[must_use]
    pub fn age_s<F: Family>(&self, now: Now, slot: &SlotView<F>, lifetime_s: u32) -> Option<u32> {
        let is_running =
            slot.occupancy == SlotOccupancy::Leased && slot.owner == SlotOwner::Requester;
        let is_on = 0.0 < self.threshold && self.threshold <= 1.0;
        if !is_running || !is_on || slot.valid_lifetime_s != lifetime_s || self.max_age_s == Some(0)
        {
            return None;
        }
        let age_s = u32::try_from(now.wall_s().checked_sub(slot.cltt_s)?).ok()?;
        if slot.valid_lifetime_s == INFINITE_LIFETIME_S {
            return Some(age_s);
        }
        let limit_s = (self.threshold * f64::from(slot.valid_lifetime_s)) as u32;
        let is_young = limit_s > 0
            && age_s <= limit_s
            && self.max_age_s.is_none_or(|max_s| age_s <= max_s)
            && age_s < slot.valid_lifetime_s;
        is_young.then_some(age_s)
    }
}

/// Returns the seconds that are left of a lease of `lifetime_s` after `age_s`.
#[must_use]
pub const fn remaining_s(lifetime_s: u32, age_s: u32) -> u32 {
    if lifetime_s == INFINITE_LIFETIME_S { lifetime_s } else { lifetime_s.saturating_sub(age_s) }
}
