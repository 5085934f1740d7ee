//! Leases so young that they are repeated instead of renewed (Kea's `cache-threshold`, reference
//! §5.2): no row is written and the client learns what is left.

use base::Now;
use dhcp_config::{GodwitSettings, LeaseDatabase};
use dhcp_lease::contract::SlotView;
use dhcp_lease::{Family, INFINITE_LIFETIME_S, Occupancy, Owner};

/// Up to which age leases are repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatPolicy {
    /// Part of the lifetime; 0 = never.
    pub threshold: f64,
    /// Seconds at most.
    pub max_age_s: Option<u32>,
}

impl RepeatPolicy {
    /// The policy of a configuration, of which the part of the lifetime and the bound are the
    /// subnet's. A lease in a database that others write to is never repeated: whether it is the
    /// client's still is known there alone, and asked with the row that a renewal writes.
    #[must_use]
    pub fn of(
        threshold: f64,
        max_age_s: Option<u32>,
        (database, godwit): (&LeaseDatabase, &GodwitSettings),
    ) -> Self {
        let is_shared = database.is_shared(&godwit.lease_database);
        Self { threshold: if is_shared { 0.0 } else { threshold }, max_age_s }
    }

    /// Seconds since the lease in `slot` was written, when it is the asking client's, runs, was
    /// given for `wanted_s` and is young enough.
    #[must_use]
    pub fn age_s<F: Family>(&self, now: Now, slot: &SlotView<F>, wanted_s: u32) -> Option<u32> {
        let is_running = slot.occupancy == Occupancy::Leased && slot.owner == Owner::Asking;
        let is_on = 0.0 < self.threshold && self.threshold <= 1.0;
        if !is_running || !is_on || slot.valid_lifetime_s != wanted_s || self.max_age_s == Some(0) {
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

/// What is left of a lifetime after `age_s`.
#[must_use]
pub const fn remaining_s(lifetime_s: u32, age_s: u32) -> u32 {
    if lifetime_s == INFINITE_LIFETIME_S { lifetime_s } else { lifetime_s.saturating_sub(age_s) }
}
